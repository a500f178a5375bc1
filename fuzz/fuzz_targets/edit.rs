//! Diffs on files, the diff being what stands behind the last zero byte: no pair makes the applier panic, and what
//! it writes can be explained line by line: every line of the result stands in the file or is added by the diff.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use trimtab_engine::proposal::edit::{After, Edit, FileAfter, Files, apply};

fuzz_target!(|data: &[u8]| {
    let Some(at) = data.iter().rposition(|byte| *byte == 0) else { return };
    let (file, Ok(diff)) = (&data[..at], std::str::from_utf8(&data[at + 1..])) else { return };
    let edit = Edit::UnifiedDiff { path: "a.txt".into(), diff: diff.into() };
    // The other files of a patch are the same, or are not there.
    let given = |before| -> Files<'_> { edit.paths().into_iter().map(|path| (path, before)).collect() };
    let _ = apply(&edit, &given(None));
    let all = apply(&edit, &given(Some(file))).unwrap_or_default();
    let [FileAfter { after: After::Write(after), .. }] = &all[..] else { return };
    assert_ne!(after, &file, "a diff without effect is refused");
    // A byte order mark belongs to the file and to no line, which would have to be told apart here.
    if diff.contains('\u{feff}') || file.starts_with("\u{feff}".as_bytes()) {
        return;
    }
    if after.is_empty() {
        return;
    }
    let trimmed = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let known: BTreeSet<String> = file
        .split(|b| matches!(b, b'\n' | b'\r'))
        .map(trimmed)
        .chain(diff.split(['\n', '\r']).map(|line| line.trim().trim_start_matches(['+', ' ']).trim().to_owned()))
        .chain(diff.split(['\n', '\r']).map(|line| line.strip_prefix('+').unwrap_or(line).trim().to_owned()))
        .collect();
    // Behind the last line end there is no line.
    let after = after.strip_suffix(b"\n").unwrap_or(after);
    for line in after.split(|b| matches!(b, b'\n' | b'\r')) {
        assert!(known.contains(&trimmed(line)), "{:?} comes from nowhere", String::from_utf8_lossy(line));
    }
});
