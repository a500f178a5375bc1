//! Damaged answers: no bytes make the reader panic, what it says follows from itself, and a prefix of a
//! valid answer is never taken for a whole one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trimtab_engine::proposal::recover::mended;
use trimtab_engine::proposal::recover::{Stop, recover};

fuzz_target!(|data: &[u8]| {
    let read = recover(data, Stop::Complete);
    assert!(read.blocked || !read.truncated, "what was cut is blocked");
    assert!(read.found || read.said.is_empty());
    let cut = recover(data, Stop::MaxTokens);
    assert!(cut.truncated && cut.blocked);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = mended::complaints(text, &read);
    // What was read for certain, written out as JSON, is read as the same again.
    if read.found && !read.truncated {
        let again = serde_json::to_string(&read.said).expect("a map of texts");
        let second = recover(again.as_bytes(), Stop::Complete);
        assert_eq!(second.said, read.said);
        // And it is believed as a repair of itself, if of anything.
        let _ = mended::believed(text, &read, &again);
    }
});
