//! Command lines: none makes the judge panic, and without a rule that allows something nothing runs by itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trimtab_engine::proposal::command::{Decision, Policy, judge};

fuzz_target!(|line: &str| {
    let mut policy = Policy::new("/home/u/project", "/home/u");
    policy.sandboxed = true;
    let verdict = judge(line, &policy);
    assert!(!verdict.reason.is_empty());
    if verdict.decision == Decision::Auto {
        if let Some(line) = &verdict.rewritten {
            let again = judge(line, &policy);
            assert_eq!((again.decision, again.class), (verdict.decision, verdict.class), "{line:?}");
            assert_eq!(again.rewritten, None, "what runs needs no further change: {line:?}");
        }
        let nothing = policy.only(Vec::new());
        assert_ne!(judge(line, &nothing).decision, Decision::Auto, "nothing is allowed, and {line:?} would run");
    }
});
