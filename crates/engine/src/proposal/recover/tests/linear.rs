//! Hostile texts: the work grows no faster than the text, and the stack not at all.

use super::super::{ReplyStop, counted};

/// What one byte may cost: a few passes over it by each reader, and some that came to nothing.
const STEPS_PER_BYTE: u64 = 80;

/// Steps for a text of about so many bytes.
fn steps(unit: &str, bytes: usize) -> (u64, usize) {
    let text = unit.repeat(bytes / unit.len() + 1);
    (counted(text.as_bytes(), ReplyStop::Unknown).1, text.len())
}

#[test]
fn work_grows_no_faster_than_the_text() {
    let units = [
        "[",
        "{",
        "{\"a\":",
        "{\"summary\":",
        "{\"summary\":\"",
        "{\"todos\":[",
        "{\"todos\":[{\"text\":\"",
        "\"",
        "'",
        "\"\"",
        "\\",
        "\\\"",
        "{\\\"",
        "\"{\\\"",
        "```",
        "```json\n{",
        "<think>",
        "</think>",
        "<think>\n",
        "\n<think>",
        "<response>",
        "<",
        "</",
        "<|",
        "{\"a\":1}",
        "{\"a\":1,",
        "{\"summary\":\"x\"}",
        "{\"summary\":\"x\",",
        "{\"summary\":\"x\" ",
        "{summary:",
        "{summary: x, ",
        "}",
        "]",
        "}{",
        "],",
        ",",
        ":",
        "//",
        "/*",
        "\"//",
        "\",//\n",
        "#",
        "\"#",
        " #\"",
        "{\"summary\":\"a\",\"todos\":[",
        "{\"summary\":\"a\",\"todos\":[\"",
        "\"summary\":\"x\",\n",
        "\n\"summary\":\"",
        "\n\"todos\":[",
        "{'summary':'it's ",
        "'{\"",
        "“",
        "{“summary”:“",
        "{\"summary\":\"\"\"",
        "\"\"\"",
        "{\"summary\":\"a\"+\"",
        "{\"a\":[{\"b\":",
        "{\"response\":\"{\\\"",
        "...",
        "{\"summary\":...",
        "{\"fileChanges\":[{\"path\":\"a\",\"content\":\"x\" ",
        "{\"summary\":x ",
        "{\"summary\":\"x\",\"summary\":",
        "\u{0}",
        "\u{feff}",
        "{\"summary\": \"x\"   \n\n   ",
        "\"   \n   ",
        "\"}}}}]]]]",
        "{\"a\":\"b\",\"c\":d ",
        "{\"commands\":\"[{",
        "null",
        "{\"x\": {\"x\": [",
    ];
    let mut slow = Vec::new();
    for unit in units {
        for (head, tail) in [
            ("", ""),
            ("{\"summary\":\"", "\"}"),
            ("{\"todos\":[{\"text\":\"", ""),
            ("{\"fileChanges\":[{\"path\":\"a\",\"content\":\"", "\"}]}"),
        ] {
            let run = |bytes: usize| {
                let text = format!("{head}{}{tail}", unit.repeat(bytes / unit.len() + 1));
                (counted(text.as_bytes(), ReplyStop::Unknown).1, text.len() as u64)
            };
            // Eight times the text, at most eight times the work: no more steps per byte. What
            // decides is the bound, as a short text may be read by a shorter way.
            for bytes in [4_000, 32_000] {
                let (steps, bytes) = run(bytes);
                if steps > bytes * STEPS_PER_BYTE {
                    slow.push(format!("{head:?} {unit:?} {tail:?}: {steps} steps for {bytes} bytes"));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{} are too slow:\n{}", slow.len(), slow.join("\n"));
}

#[test]
fn a_quarter_of_a_megabyte_of_brackets_is_read_on_a_small_stack() {
    let read = || {
        for unit in ["[", "{", "{\"a\":", "{\"summary\":", "{\"todos\":[", "[{\"todos\":["] {
            let (steps, bytes) = steps(unit, 256 * 1024);
            assert!(steps < bytes as u64 * STEPS_PER_BYTE, "{unit}: {steps} steps");
        }
    };
    std::thread::Builder::new().stack_size(256 * 1024).spawn(read).expect("starts").join().expect("survives");
}

#[test]
fn a_deep_answer_keeps_what_is_not_deep() {
    let deep =
        format!("{{\"summary\":\"s\",\"extra\":{}{},\"todos\":[\"a\"]}}", "[".repeat(100_000), "]".repeat(100_000));
    let got = super::super::recover(deep.as_bytes(), ReplyStop::Unknown);
    assert_eq!(got.answer.summary, "s");
    assert_eq!(got.answer.todos.len(), 1);
    assert!(!got.truncated);
}
