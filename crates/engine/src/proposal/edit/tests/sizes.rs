//! Large and repetitive files take no more than a moment.

use super::*;
use std::time::{Duration, Instant};

/// Generous, since tests run unoptimised and beside others; what is quadratic takes minutes.
const MOMENT: Duration = Duration::from_secs(20);

fn within_a_moment(what: &str, run: impl FnOnce()) {
    let start = Instant::now();
    run();
    assert!(start.elapsed() < MOMENT, "{what} took {:?}", start.elapsed());
}

#[test]
fn large_files_and_edits_are_quick() {
    let lines: Vec<String> = (0..100_000).map(|n| format!("    line {n}")).collect();
    let file = lines.join("\n") + "\n";
    let many: String = (0..2_000).map(|n| format!("@@\n-    line {}\n+    new {n}\n", n * 50)).collect();
    within_a_moment("many hunks", || assert!(apply(&diff(&many), Some(file.as_bytes())).is_ok()));
    let all = lines.iter().map(|line| format!("-{line}\n+{line}!\n")).collect::<String>();
    within_a_moment("one huge hunk", || assert!(apply(&diff(&format!("@@\n{all}")), Some(file.as_bytes())).is_ok()));
    let other = file.replace("9", "8");
    within_a_moment("a huge block", || assert!(apply(&blocks(&[(&file, &other)]), Some(file.as_bytes())).is_ok()));
    within_a_moment("a huge block that is not there", || {
        assert!(apply(&blocks(&[(&other, &file)]), Some(file.as_bytes())).is_err());
    });
}

#[test]
fn repeated_lines_are_quick() {
    let file = "a\n".repeat(100_000);
    let spaced = " a\n".repeat(50_000);
    within_a_moment("exact", || assert!(apply(&blocks(&[(&file[..50_000], "b")]), Some(file.as_bytes())).is_err()));
    within_a_moment("indented", || assert!(apply(&blocks(&[(&spaced, "b")]), Some(file.as_bytes())).is_err()));
    let crooked = format!("{spaced}  a\n");
    within_a_moment("not uniform", || assert!(apply(&blocks(&[(&crooked, "b")]), Some(file.as_bytes())).is_err()));
    let unmarked = format!("@@\n{}+b\n", "a\n".repeat(50_000));
    within_a_moment("without markers", || assert!(apply(&diff(&unmarked), Some(file.as_bytes())).is_err()));
    within_a_moment("blank lines behind", || {
        let long = format!("@@\n-a\n+b\n{}", "\n".repeat(200_000));
        assert!(apply(&diff(&long), Some(b"a\n")).is_ok());
    });
    within_a_moment("one long line", || {
        let long = "-+".repeat(500_000);
        assert!(apply(&diff(&format!("@@\n-{long}\n+{long}x\n")), Some(format!("{long}y\n").as_bytes())).is_err());
    });
    within_a_moment("only marks", || {
        let marks = format!("{}--- a\n+++ b\n@@\n-a\n+b\n", "- x\n".repeat(100_000));
        assert!(apply(&diff(&marks), Some(b"a\n")).is_ok());
    });
}
