//! Drawing changes: large files, one long line, and what the first colours cost.
//!
//! Each size is drawn beside a tenth of it: ten times the input should take about ten times as long.

use std::path::Path;
use std::time::{Duration, Instant};

use trimtab_surfaces::diff::{DiffFile, DiffState, DiffView, HunkHeads, Layout, draw};

use crate::table::{Table, median};

const ROUNDS: usize = 5;

pub fn measure(_: &Path, table: &mut Table) {
    let numbered = |count: usize| -> String { (0..count).map(|n| format!("    let value_{n} = {n};\n")).collect() };
    let first = timed(&numbered(60), &numbered(60).replace("value_3", "other_3"), true);
    let again = timed(&numbered(60), &numbered(60).replace("value_3", "other_3"), true);
    table.durations("diff: the first one with colours", vec![first], Some(("the second", again)));
    grows("diff: 100,000 lines, every tenth changed", table, 100_000, |count| {
        (numbered(count), numbered(count).replace("0 = ", "0 := "))
    });
    grows("diff: 100,000 lines, all changed", table, 100_000, |count| {
        (numbered(count), numbered(count).replace("let", "const"))
    });
    grows("diff: 100,000 lines, nothing alike", table, 100_000, |count| {
        (numbered(count), (0..count).map(|n| format!("{:x}\n", n * 7_919)).collect())
    });
    grows("diff: one line of 1 MB", table, 1_000_000, |bytes| {
        let before = "x = 1; ".repeat(bytes / 7);
        let (head, tail) = before.split_at(before.len() / 2);
        (before.clone(), format!("{head}y{tail}"))
    });
}

fn grows(what: &str, table: &mut Table, size: usize, make: impl Fn(usize) -> (String, String)) {
    let times = |size: usize| -> Vec<Duration> {
        let (before, after) = make(size);
        (0..ROUNDS).map(|_| timed(&before, &after, false)).collect()
    };
    let mut tenth = times(size / 10);
    tenth.sort();
    table.durations(what, times(size), Some(("a tenth of it", median(&tenth))));
}

fn timed(before: &str, after: &str, syntax: bool) -> Duration {
    let (before, after) =
        (DiffState { bytes: before.as_bytes(), mode: 0o644 }, DiffState { bytes: after.as_bytes(), mode: 0o644 });
    let change = DiffFile { path: "a.rs", from: None, before: Some(before), after: Some(after) };
    let (layout, heads) = (Layout::Inline, HunkHeads::Names);
    let view =
        DiffView { width: 120, layout, syntax, most_lines: usize::MAX, rest: String::new(), heads, fills: false };
    let began = Instant::now();
    std::hint::black_box(draw(&change, &view));
    began.elapsed()
}
