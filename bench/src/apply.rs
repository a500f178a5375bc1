//! A set of ten thousand files, a file of a gibibyte, and a large file that a person has edited since: what
//! they cost in time and in memory.
//!
//! The set is one `rewind` over as many changes. Together its files have 100 MB, so memory that grows with
//! the bytes of a set shows.

use std::path::Path;
use std::time::{Duration, Instant};

use trimtab_testkit::program::{Program, Running};
use trimtab_testkit::provider::{Answer, Reply};

use crate::table::Table;

/// Files in the set, and how many of them one reply makes.
const FILES: usize = 10_000;
const EACH: usize = 100;
/// Bytes of each.
const SIZE: usize = 10_000;
/// How often a process is asked for the memory that it needed so far.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub fn measure(binary: &Path, table: &mut Table) {
    many_files(binary, table);
    one_large_file(binary, table);
    a_merge(binary, table);
}

/// Waits for the end of a program; the most memory that it needed, in bytes.
fn peak(running: &Running) -> u64 {
    let status = format!("/proc/{}/status", running.id());
    let mut most = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        // What has ended has no memory left to tell of.
        let Some(kilobytes) = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()) else {
            return most;
        };
        most = most.max(kilobytes * 1_024);
        std::thread::sleep(LOOK_EVERY);
    }
}

fn many_files(binary: &Path, table: &mut Table) {
    let program = Program::new(binary);
    program.provider.drop_bodies();
    for round in 0..FILES / EACH {
        let mut reply = Reply::new().text([format!("Round {round}.")]);
        for number in round * EACH..(round + 1) * EACH {
            // No two alike: the store keeps each text once.
            let line = format!("file {number}, and some words to fill its lines with\\n");
            let content = line.repeat(SIZE / line.len());
            let input = format!("{{\"path\":\"d{}/f{number}.txt\",\"content\":\"{content}\"}}", number % 300);
            reply = reply.tool(format!("toolu_{number}"), "write_file", [input]);
        }
        program.provider.push(Answer::anthropic(reply));
    }
    program.provider.always(Answer::anthropic(Reply::new().text(["✅ GOAL ACHIEVED\nDone."])));
    let began = Instant::now();
    let arguments = ["run", "--trust", "--max-steps", "1000", "--model", "anthropic/unknown-model", "Make them"];
    let running = program.spawn(&arguments);
    let whole = peak(&running);
    let ended = running.wait();
    let made = began.elapsed();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    table.size("memory of a run that makes 10,000 files", whole, "one change each, 100 MB of text");
    let small = program.spawn(&["rewind", "1"]);
    let beside = peak(&small);
    small.wait();
    for (what, arguments) in
        [("10,000 files taken back as one set", ["rewind", "10000"]), ("and redone", ["forward", "10000"])]
    {
        let began = Instant::now();
        let running = program.spawn(&arguments);
        let most = peak(&running);
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        table.durations(what, vec![began.elapsed()], Some(("making them", made)));
        table.size("  its memory", most, &format!("{:.1} x that of one file", most as f64 / beside as f64));
    }
}

fn one_large_file(binary: &Path, table: &mut Table) {
    let program = Program::new(binary);
    let huge = std::fs::File::create(program.project().join("huge.txt")).expect("a file");
    huge.set_len(1 << 30).expect("a size");
    std::fs::write(program.project().join("large.txt"), "a line of a large file\n".repeat(2_000_000)).expect("a file");
    for (name, code) in [("huge.txt", Some(1)), ("large.txt", Some(0))] {
        let edit = format!("{{\"kind\":\"whole_file\",\"path\":\"{name}\",\"content\":\"x\\n\"}}");
        std::fs::write(program.project().join("edit.json"), edit).expect("a file");
        let began = Instant::now();
        let running = program.spawn(&["apply-edit", "edit.json"]);
        let most = peak(&running);
        let ended = running.wait();
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        let (what, size) =
            if code == Some(0) { ("a file of 46 MB replaced", 46) } else { ("a file of 1 GiB refused", 1_074) };
        table.durations(what, vec![began.elapsed()], None);
        table.size("  its memory", most, &format!("the file has {size} MB"));
    }
}

/// A model would edit, delete and move a file of a gibibyte; and a change of a large file is taken back, as it
/// was left and with an edit of a person that it is merged with.
fn a_merge(binary: &Path, table: &mut Table) {
    let program = Program::new(binary);
    let run = |replies: Vec<Reply>| {
        replies.into_iter().for_each(|reply| program.provider.push(Answer::anthropic(reply)));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        let running =
            program.spawn(&["run", "--trust", "--approve", "auto", "--model", "anthropic/unknown-model", "Go"]);
        let most = peak(&running);
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        most
    };
    let small = run(Vec::new());
    let huge = std::fs::File::create(program.project().join("huge.txt")).expect("a file");
    huge.set_len(1 << 30).expect("a size");
    let edit = |path: &str| {
        format!("{{\"path\":\"{path}\",\"blocks\":[{{\"search\":\"the first line\\n\",\"replace\":\"another\\n\"}}]}}")
    };
    let tools = Reply::new()
        .tool("toolu_1", "edit_file", [edit("huge.txt")])
        .tool("toolu_2", "delete_file", ["{\"path\":\"huge.txt\"}"])
        .tool("toolu_3", "move_file", ["{\"from\":\"huge.txt\",\"to\":\"moved.txt\"}"]);
    let most = run(vec![tools]);
    assert!(program.project().join("huge.txt").exists(), "it is refused");
    let beside = |most: u64| format!("{:.1} x that of a run without files", most as f64 / small as f64);
    table.size("memory of an edit, a deletion and a move of 1 GiB that are refused", most, &beside(most));
    let path = program.project().join("large.txt");
    let lines: String = (0..300_000).map(|n| format!("line {n} of a large file, with some words\n")).collect();
    std::fs::write(&path, format!("the first line\n{lines}")).expect("a file");
    run(vec![Reply::new().tool("toolu_4", "edit_file", [edit("large.txt")])]);
    let rewind = || {
        let began = Instant::now();
        let running = program.spawn(&["rewind"]);
        let most = peak(&running);
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        (began.elapsed(), most)
    };
    let (plain, plain_memory) = rewind();
    assert_eq!(program.spawn(&["forward"]).wait().code, Some(0));
    let mut edited = std::fs::read_to_string(&path).expect("a text");
    edited.push_str("a line of a person's own\n");
    std::fs::write(&path, &edited).expect("a file");
    let (merged, memory) = rewind();
    let text = std::fs::read_to_string(&path).expect("a text");
    assert!(text.starts_with("the first line\n") && text.ends_with("of a person's own\n"), "it is merged");
    table.durations(
        "a change of a 13 MB file taken back over a later edit",
        vec![merged],
        Some(("without one", plain)),
    );
    table.size("  its memory", memory, &format!("{:.1} x that without an edit", memory as f64 / plain_memory as f64));
}
