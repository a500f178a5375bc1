//! From the start of the process to the first request, one whole turn, and what it takes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

use crate::ROUNDS;
use crate::table::{Table, median};

/// Two turns in one fresh data folder.
pub struct Turns {
    /// From the start of the process to the first request, in an empty data folder.
    pub first: Duration,
    /// The same once more, with the data of the first turn.
    pub again: Duration,
    /// The whole first turn.
    pub whole: Duration,
    whole_again: Duration,
    request: u64,
    database: u64,
}

/// Two short turns of the program, one after the other.
pub fn turns(binary: &Path) -> Turns {
    let program = Program::new(binary);
    program.provider.always(Answer::anthropic(Reply::new().text(["Hel", "lo."])));
    let turn = || {
        let began = Instant::now();
        let count = program.provider.requests().len();
        let running = program.spawn(&["run", "What is Trimtab?"]);
        program.provider.block_on(program.provider.wait_for_requests(count + 1));
        let first = began.elapsed();
        assert_eq!(running.wait().code, Some(0));
        (first, began.elapsed())
    };
    let ((first, whole), (again, whole_again)) = (turn(), turn());
    let request = program.provider.requests()[0].raw.len() as u64;
    let database = std::fs::metadata(program.home().join("trimtab.db")).map_or(0, |file| file.len());
    Turns { first, again, whole, whole_again, request, database }
}

/// A start that does nothing.
pub fn bare(binary: &Path) -> Duration {
    time_of(Command::new(binary).arg("--version").stdout(Stdio::null()))
}

pub fn measure(binary: &Path, table: &mut Table) {
    let (mut bare_starts, mut first, mut whole, mut again) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut memory, mut request, mut database) = (0, 0, 0);
    for _ in 0..ROUNDS {
        bare_starts.push(bare(binary));
        let turns = turns(binary);
        first.push(turns.first);
        again.push(turns.again);
        whole.extend([turns.whole, turns.whole_again]);
        (request, database) = (turns.request, turns.database);
        memory = memory.max(peak_memory(binary));
    }
    bare_starts.sort();
    let beside = median(&bare_starts);
    table.durations("process start to first request, new data", first, Some(("--version", beside)));
    table.durations("process start to first request, old data", again, Some(("--version", beside)));
    table.durations("one turn, process start to end", whole, Some(("--version", beside)));
    table.size("peak memory of one turn", memory, "aim: under 30 MB");
    table.size("first request", request, "prompt and envelope");
    table.size("database after two turns", database, "");
    table.size("binary", std::fs::metadata(binary).map_or(0, |file| file.len()), "aim: under 40 MB");
}

fn time_of(command: &mut Command) -> Duration {
    let began = Instant::now();
    command.status().expect("the program runs");
    began.elapsed()
}

/// Held just before its end, the program says itself how large it has been.
fn peak_memory(binary: &Path) -> u64 {
    let program = Program::new(binary);
    let gate = program.provider.gate();
    let reply = Reply::new().text(vec!["word "; 200]);
    let chunks = trimtab_testkit::provider::anthropic::stream(&reply).len();
    program.provider.push(Answer::anthropic(reply).gated(&gate));
    let running = program.spawn(&["run", "What is Trimtab?"]);
    gate.release(chunks - 1);
    program.provider.block_on(gate.sent(chunks - 1));
    std::thread::sleep(Duration::from_millis(30));
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
    gate.open();
    running.wait();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1_024
}
