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
        policy.allow.clear();
        assert_ne!(judge(line, &policy).decision, Decision::Auto, "nothing is allowed, and {line:?} would run");
    }
});
