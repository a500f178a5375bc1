//! How fast answers are read: whole ones, damaged ones, and ones made to take long.

use std::fmt::Write as _;
use std::hint::black_box;

use serde_json::{Value, json};
use trimtab_engine::proposal::recover::{ReplyStop, recover};

use super::damage::Case;

/// Bytes read in a second, and how long the worst inputs take.
pub(super) fn table(cases: &[Case]) -> String {
    let mut out = String::new();
    let changes: Vec<Value> = (0..400).map(|n| json!({"path": format!("f{n}"), "content": content(n)})).collect();
    let large = json!({"summary": "Large.", "fileChanges": changes});
    let valid = large.to_string().into_bytes();
    let _ = writeln!(
        out,
        "recover, valid, {:.1} MB              {:>8.1} MB/s (aim: 100)",
        valid.len() as f64 / 1e6,
        rate(&[&valid])
    );
    let pretty = serde_json::to_vec_pretty(&large).unwrap_or_default();
    let _ = writeln!(out, "recover, valid and pretty           {:>8.1} MB/s (aim: 100)", rate(&[&pretty]));
    let quotes = large.to_string().replacen("\\\"", "\"", 200).into_bytes();
    let _ = writeln!(out, "recover, large, marks not escaped   {:>8.1} MB/s (aim: 30)", rate(&[&quotes]));
    let comma = large.to_string().replacen("},{", "}{", 1).into_bytes();
    let _ = writeln!(out, "recover, large, one comma missing   {:>8.1} MB/s (aim: 30)", rate(&[&comma]));
    let damaged: Vec<&Vec<u8>> = cases.iter().map(|case| &case.bytes).collect();
    let _ = writeln!(out, "recover, all damaged answers        {:>8.1} MB/s (aim: 30)", rate(&damaged));
    for piece in [
        "[",
        "{",
        "{\"a\":",
        "[{\"a\":",
        "\\\"",
        "\"",
        "{\"summary\":",
        "{\"summary\":\"",
        "```",
        "<think>",
        "'",
        "/*",
        "\",\"",
        "{\"commands\":[{\"command\":\"x\",",
        "\n{\"summary\":\"a",
    ] {
        let input = piece.repeat(1_000_000 / piece.len());
        let took = 1.0 / rate(&[&input.as_bytes().to_vec()]) * input.len() as f64 / 1e3;
        let _ = writeln!(out, "recover, 1 MB of {piece:<30?} {took:>8.1} ms (aim: 50)");
    }
    out
}

fn content(n: usize) -> String {
    let (_, text) = super::bases::FILES[n % super::bases::FILES.len()];
    text.repeat(4)
}

fn rate(inputs: &[&Vec<u8>]) -> f64 {
    let bytes: usize = inputs.iter().map(|input| input.len()).sum();
    let mut best = f64::MAX;
    for _ in 0..7 {
        let began = worked();
        for input in inputs {
            black_box(recover(black_box(input), ReplyStop::Unknown));
        }
        best = best.min(worked() - began);
    }
    bytes as f64 / 1e6 / best
}

/// Seconds for which this thread has had a processor: what else the machine does is not measured.
fn worked() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
