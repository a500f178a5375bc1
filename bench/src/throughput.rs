//! How much a second reads and changes: answers, damaged answers, edits and the history of a session.
//!
//! Each is measured beside the plainest thing that touches the same bytes: reading JSON and nothing else, or
//! replacing a text in a string.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_engine::Session;
use trimtab_engine::proposal::edit::{Edit, SearchReplace, apply};
use trimtab_engine::proposal::recover::{ReplyStop, recover};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_vocab::Event;

use crate::table::Table;

const ROUNDS: usize = 9;

pub fn measure(binary: &Path, table: &mut Table) {
    answers(table);
    edits(table);
    history(binary, table);
}

/// An answer of about 2 MB with four hundred files in it.
fn answers(table: &mut Table) {
    let line = "    let \"value\" = compute(\"input\", 42); // a line of a file, with its marks\n";
    let changes: Vec<Value> = (0..400).map(|n| json!({"path": format!("f{n}"), "content": line.repeat(64)})).collect();
    let whole = json!({"summary": "Large.", "fileChanges": changes}).to_string();
    let plain = times(|| drop(black_box(serde_json::from_str::<Value>(black_box(&whole)))));
    let beside = Some(("reading it as JSON", plain));
    table.rate("answers read, whole", whole.len(), times(|| drop(read(&whole))), beside);
    for (what, damaged) in [
        ("answers recovered, a comma missing", whole.replacen("},{", "}{", 1)),
        ("answers recovered, 200 marks not escaped", whole.replacen("\\\"", "\"", 200)),
        ("answers recovered, cut off in the middle", whole[..whole.len() / 2].to_owned()),
    ] {
        table.rate(what, damaged.len(), times(|| drop(read(&damaged))), beside);
    }
}

fn read(answer: &str) -> impl Sized + use<> {
    black_box(recover(black_box(answer.as_bytes()), ReplyStop::Unknown))
}

/// A file of 20,000 lines with one place to be changed, near its end.
fn edits(table: &mut Table) {
    let file: String = (0..20_000).map(|n| format!("    let value_{n} = compute({n});\n")).collect();
    let (old, new) = ("    let value_19000 = compute(19000);", "    let value_19000 = compute(7);");
    let plain = times(|| drop(black_box(black_box(&file).replacen(old, new, 1))));
    let beside = Some(("replacing a text", plain));
    let block = SearchReplace { search: old.into(), replace: new.into() };
    let edit = Edit::SearchReplace { path: "a.rs".into(), blocks: vec![block] };
    table.rate("edits, lines searched and replaced", file.len(), times(|| done(&edit, &file)), beside);
    let context = |n: usize| format!("     let value_{n} = compute({n});\n");
    let diff = format!("@@ -1,3 +1,3 @@\n{}-{old}\n+{new}\n{}", context(18_999), context(19_001));
    let edit = Edit::UnifiedDiff { path: "a.rs".into(), diff };
    table.rate("edits, a diff with wrong numbers", file.len(), times(|| done(&edit, &file)), beside);
    let content = file.replacen(old, new, 1);
    let edit = Edit::WholeFile { path: "a.rs".into(), content };
    table.rate("edits, the whole file", file.len(), times(|| done(&edit, &file)), beside);
}

fn done(edit: &Edit, file: &str) {
    let files = [(edit.path().to_owned(), Some(file.as_bytes()))].into_iter().collect();
    let after = apply(black_box(edit), black_box(&files));
    assert!(after.is_ok(), "{after:?}");
    black_box(after).ok();
}

/// A session of 1,000 rounds: read from its lines and folded, and taken up again by a new process after a kill.
fn history(binary: &Path, table: &mut Table) {
    const MANY: usize = 1_000;
    let program = Program::new(binary);
    std::fs::write(program.project().join("data.txt"), "some words\n".repeat(2_000)).expect("a file");
    program.provider.drop_bodies();
    let asks = |n: usize| {
        let input = format!("{{\"path\":\"data.txt\",\"offset\":{},\"limit\":20}}", n % 1_900 + 1);
        Answer::anthropic(Reply::new().text([format!("From line {n}.")]).tool(format!("t{n}"), "read_file", [input]))
    };
    let gate = program.provider.gate();
    (0..MANY).for_each(|n| program.provider.push(asks(n)));
    program.provider.push(Answer::anthropic(Reply::new().text(["Never sent."])).gated(&gate));
    let words = ["run", "--json", "--trust", "--max-steps", "10000", "--model", "anthropic/unknown-model", "Read"];
    let running = program.spawn(&words);
    for tenth in 1..=100 {
        program.provider.block_on(program.provider.wait_for_requests_silently(tenth * MANY / 100 + 1));
    }
    running.signal(rustix::process::Signal::KILL);
    let shown = running.wait().stdout;
    // Words on their way have no number, and are not part of the history.
    let lines: String =
        shown.lines().filter(|line| line.starts_with("{\"seq\":")).flat_map(|line| [line, "\n"]).collect();
    let read = || -> Vec<Event> { lines.lines().map(|line| serde_json::from_str(line).expect("an event")).collect() };
    let events = read();
    assert!(events.len() > MANY, "a long session: {}", events.len());
    let plain = times(|| {
        lines.lines().for_each(|line| drop(black_box(serde_json::from_str::<Value>(line))));
    });
    let beside = Some(("reading them as JSON", plain));
    table.rate(
        &format!("events read, {} of them", events.len()),
        lines.len(),
        times(|| drop(black_box(read()))),
        beside,
    );
    let folded = times(|| {
        let facts = events.iter().map(|event| (event.request.as_ref(), &event.fact));
        drop(black_box(Session::replay(black_box(facts))));
    });
    table.rate("events folded to a session", lines.len(), folded, beside);
    program.provider.always(Answer::anthropic(Reply::new().text(["✅ GOAL ACHIEVED\nDone."])));
    let count = program.provider.times().len();
    let began = Instant::now();
    let resumed = program.spawn(&["resume", "--trust"]);
    program.provider.block_on(program.provider.wait_for_requests_silently(count + 1));
    let taken_up = began.elapsed();
    gate.open();
    assert_eq!(resumed.wait().code, Some(0));
    let bare = times(|| drop(program.run(&["--version"])));
    table.durations("killed after 1,000 rounds: resume to request", vec![taken_up], Some(("--version", bare)));
}

/// The best of several.
fn times(mut work: impl FnMut()) -> Duration {
    let each = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    each.min().unwrap_or_default()
}
