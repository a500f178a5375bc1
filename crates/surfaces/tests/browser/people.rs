//! Whoever the person is: what they read with, press with, how wide their page is and which way it is read.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

use super::{asks, node, program, says, walks};

/// Walks, and does something whenever the walk asks for more.
#[track_caller]
fn told(mut page: Command, mut more: impl FnMut()) {
    let mut page = page.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("starts");
    for line in BufReader::new(page.stdout.take().expect("a pipe")).lines() {
        assert_eq!(line.expect("a line"), "more");
        more();
    }
    assert!(page.wait().expect("ends").success());
}

#[test]
fn every_view_can_be_used_by_everybody_at_every_width() {
    let program = program();
    let name = "extraordinarily_long_file_name_that_no_narrow_page_has_room_for.txt";
    let long = "words_without_an_end_".repeat(12);
    program.provider.push(asks("write_file", &json!({"path": name, "content": format!("one\n{long}\n")})));
    let command = format!("echo very-long-command {long} > made.txt");
    program.provider.push(asks("run_command", &json!({"command": command})));
    let gate = program.provider.gate();
    let wide = "| A table that is wide | and another column | and a third one | and the last |\n|---|---|---|---|\n";
    let row = format!("| {} | `{long}` | x | y |\n", "some words ".repeat(6));
    let code = format!("```rust\nfn main() {{ println!(\"{long}\"); }}\n```\n");
    let chart = "```chart\n{\"type\":\"bar\",\"data\":{\"labels\":[\"a\",\"b\"],\"datasets\":[{\"label\":\"n\",\"data\":[1,2]}]}}\n```\n";
    let rest = format!("\n> {long}\n\n- one\n- {long}\n\n{code}\n{chart}\n# A heading\n\nhttps://example.com/{long}\n");
    program.provider.push(Answer::anthropic(Reply::new().text([wide, &row, &rest])).gated(&gate));
    gate.release(5);
    let still = program.provider.gate();
    program.provider.push(says("Slow.").gated(&still));
    let served = Served::start(&program, "test", &[]);
    told(node("views.mjs", &[&served.login]), || gate.open());
}

#[test]
fn everything_is_reached_and_answered_by_the_keyboard_alone() {
    let program = program();
    let steps = json!([{"title": "Write a"}, {"title": "Write b"}, {"title": "Write c"}]);
    program.provider.push(asks("propose_plan", &json!({"summary": "Two files.", "steps": steps})));
    program.provider.push(asks("run_command", &json!({"command": "echo made > made.txt"})));
    program.provider.push(says("b is written."));
    program.provider.push(says("a is written."));
    let served = Served::start(&program, "test", &[]);
    walks(node("keyboard.mjs", &[&served.login]));
    assert_eq!(std::fs::read_to_string(program.project().join("made.txt")).expect("is there"), "made\n");
    let sent = program.provider.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    assert!(sent.contains("Write b first"), "as the keyboard edited it");
}

#[test]
fn words_and_pages_are_laid_out_the_way_they_are_read() {
    let program = program();
    program.provider.push(asks("run_command", &json!({"command": "echo שלום > greeting.txt"})));
    program.provider.push(says(
        "הקובץ `greeting.txt` נכתב, כמו שביקשת.\n\n- ראשון\n- שני\n\nThis paragraph is English, and ends with a stop.\n\n> مرحبا بالعالم\n\n\
         ```python\n# הערה בעברית\nprint(\"مرحبا\")\n```\n",
    ));
    let served = Served::start(&program, "test", &[]);
    walks(node("directions.mjs", &[&served.login]));
}

#[test]
fn nothing_jumps_while_words_arrive() {
    let program = program();
    program.provider.push(says(&"Some words of an earlier answer.\n\n".repeat(12)));
    let pieces: Vec<String> = (0..40)
        .map(|n| match n % 8 {
            0 => format!("\n## Part {n}\n\n"),
            1 => "A paragraph that is written ".to_owned(),
            2 => "piece by **piece**, with `code` in it.\n\n".to_owned(),
            3 => "- one\n- two\n".to_owned(),
            4 => "\n```rust\nfn main() {\n".to_owned(),
            5 => "    println!(\"words\");\n}\n```\n\n".to_owned(),
            6 => "| a | b |\n|---|---|\n".to_owned(),
            _ => "| 1 | 2 |\n\n".to_owned(),
        })
        .collect();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(pieces.iter().map(String::as_str))).gated(&gate));
    gate.release(3);
    let served = Served::start(&program, "test", &[]);
    told(node("steady.mjs", &[&served.login]), || gate.release(1));
}
