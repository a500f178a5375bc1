//! Rounds of model and tool: what the program adds to each, and whether the two-thousandth costs more
//! than the first.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

use crate::table::{Table, median};

const MANY: usize = 2_000;
const SAMPLE: usize = 100;

pub fn measure(binary: &Path, table: &mut Table) {
    twenty(binary, table);
    overhead(binary, table);
    let (times, whole, _) = own_times(binary, runs);
    table.durations("a round's own time, command included", times, Some(("the whole run", whole)));
    many(binary, table, "a round", asks);
    many(binary, table, "a round with a command", runs);
}

/// A reply that runs a command, another one each time.
pub fn runs(number: usize) -> Answer {
    let input = format!("{{\"command\":\"echo {number}\"}}");
    let words = format!("I say {number}.");
    Answer::anthropic(Reply::new().text([words]).tool(format!("toolu_{number}"), "run_command", [input]))
}

/// A reply that asks for a line of a file, another one each time.
pub fn asks(number: usize) -> Answer {
    let input = format!("{{\"path\":\"data.txt\",\"offset\":{},\"limit\":20}}", number % 5_000 + 1);
    let words = format!("I read on, from line {number}.");
    Answer::anthropic(Reply::new().text([words]).tool(format!("toolu_{number}"), "read_file", [input]))
}

pub fn project(program: &Program) {
    let lines: String = (1..=6_000).map(|n| format!("line {n} of the file, with some words in it\n")).collect();
    std::fs::write(program.project().join("data.txt"), lines).expect("a file");
}

/// A task of twenty rounds, from the start of the process to its end, beside one that is answered at once.
fn twenty(binary: &Path, table: &mut Table) {
    let run = |rounds: usize| {
        let mut times: Vec<Duration> = (0..7).map(|_| task(binary, rounds)).collect();
        times.sort();
        times
    };
    let one = median(&run(0));
    table.durations("20 rounds of model and tool, start to end", run(20), Some(("a task of one call", one)));
}

/// A task of so many rounds, from the start of the process to its end.
pub fn task(binary: &Path, rounds: usize) -> Duration {
    let program = Program::new(binary);
    project(&program);
    (0..rounds).for_each(|number| program.provider.push(asks(number)));
    program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
    let began = Instant::now();
    let ended = program.run(&["run", "--trust", "--max-steps", "100", "Read the file"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    began.elapsed()
}

/// From the last byte of a reply to the first byte of the next request, with one look in between.
fn overhead(binary: &Path, table: &mut Table) {
    let (gaps, whole, first) = own_times(binary, asks);
    table.durations("a round's own time, look included", gaps, Some(("the whole run", whole)));
    table.size("first request of a task, tools included", first, "aim: at most 10 kB");
    let program = Program::new(binary);
    program.provider.always(Answer::anthropic(Reply::new().text(["Hi."])));
    program.run(&["run", "--mode", "chat", "What is Trimtab?"]);
    table.size("first request of a conversation", program.provider.times()[0].2 as u64, "aim: under 2 kB");
}

/// The own time of each of sixty rounds, that of the whole run, and the size of its first request.
pub fn own_times(binary: &Path, asks: fn(usize) -> Answer) -> (Vec<Duration>, Duration, u64) {
    let program = Program::new(binary);
    project(&program);
    (0..60).for_each(|number| program.provider.push(asks(number)));
    program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
    let began = Instant::now();
    let ended = program.run(&["run", "--trust", "--max-steps", "100", "Read the file"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let whole = began.elapsed();
    let times = program.provider.times();
    (gaps(&times), whole, times[0].2 as u64)
}

fn gaps(times: &[(Instant, Option<Instant>, usize)]) -> Vec<Duration> {
    times.windows(2).filter_map(|pair| Some(pair[1].0.saturating_duration_since(pair[0].1?))).collect()
}

/// Two thousand rounds in one session: the last hundred beside the first hundred.
fn many(binary: &Path, table: &mut Table, what: &str, asks: fn(usize) -> Answer) {
    let program = Program::new(binary);
    project(&program);
    program.provider.drop_bodies();
    (0..MANY).for_each(|number| program.provider.push(asks(number)));
    program.provider.always(Answer::anthropic(Reply::new().text(["✅ GOAL ACHIEVED\nDone."])));
    let running = program.spawn(&[
        "run",
        "--json",
        "--trust",
        "--max-steps",
        "10000",
        "--model",
        "anthropic/unknown-model",
        "Read",
    ]);
    let database = || {
        let size = |name: &str| std::fs::metadata(program.home().join(name)).map_or(0, |file| file.len());
        size("trimtab.db") + size("trimtab.db-wal")
    };
    let (mut memory, mut stored) = (Vec::new(), Vec::new());
    for part in 1..=4 {
        // The patience of one wait is short; a part takes longer.
        for tenth in 1..=50 {
            let count = (part - 1) * MANY / 4 + tenth * MANY / 200;
            program.provider.block_on(program.provider.wait_for_requests_silently(count));
        }
        memory.push(resident(running.id()));
        stored.push(database());
    }
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let gaps = gaps(&program.provider.times());
    let middle = |part: &[Duration]| {
        let mut part = part.to_vec();
        part.sort();
        median(&part)
    };
    let (first, last) = (middle(&gaps[SAMPLE..2 * SAMPLE]), middle(&gaps[gaps.len() - SAMPLE..]));
    let connections: BTreeSet<usize> = program.provider.requests().iter().map(|request| request.connection).collect();
    let beside = Some(("one of the first hundreds", first));
    table.durations(&format!("{what} of the last hundred of 2,000"), vec![last], beside);
    println!("{what}: {} connections to the provider in 2,000 rounds", connections.len());
    let ratio = |new: u64, old: u64| {
        format!("{:.2} x after 500 rounds ({:.1} MB)", new as f64 / old.max(1) as f64, old as f64 / 1e6)
    };
    table.size(&format!("{what}: memory after 2,000 rounds"), memory[3], &ratio(memory[3], memory[0]));
    table.size(&format!("{what}: database after 2,000 rounds"), stored[3], &ratio(stored[3], stored[0]));
    let growth: Vec<String> = stored.iter().map(|size| format!("{:.1}", *size as f64 / 1e6)).collect();
    println!("database after 500, 1,000, 1,500, 2,000 rounds: {} MB", growth.join(", "));
}

fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1_024
}
