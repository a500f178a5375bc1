//! From the start of the process to the first request, one whole turn, and what it takes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trimtab_testkit::mcp::SERVE;
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

/// MCP servers of the user in the turns that have some.
const SERVERS: usize = 10;

/// Two short turns of the program, one after the other.
pub fn turns(binary: &Path) -> Turns {
    turns_of(Program::new(binary))
}

/// The same in a folder that the user trusts, with MCP servers, each a process of its own.
fn turns_with_servers(binary: &Path, count: usize) -> Turns {
    let program = Program::new(binary);
    let (own, folder) = (std::env::current_exe().expect("a path"), program.home().join("server"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (own, folder) = (own.display().to_string(), folder.display().to_string());
    assert_eq!(program.run(&["trust"]).code, Some(0));
    for number in 0..count {
        let added = program.run(&["mcp", "add", &format!("server-{number}"), "--", &own, SERVE, &folder]);
        assert_eq!(added.code, Some(0), "{}", added.stderr);
    }
    turns_of(program)
}

fn turns_of(program: Program) -> Turns {
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
    let (mut no_servers, mut servers) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        bare_starts.push(bare(binary));
        let turns = turns(binary);
        first.push(turns.first);
        again.push(turns.again);
        whole.extend([turns.whole, turns.whole_again]);
        (request, database) = (turns.request, turns.database);
        memory = memory.max(peak_memory(binary));
        // By turns, so that both see the same load.
        let (without, with) = (turns_with_servers(binary, 0), turns_with_servers(binary, SERVERS));
        no_servers[0].push(without.first);
        no_servers[1].push(without.again);
        servers[0].push(with.first);
        servers[1].push(with.again);
    }
    bare_starts.sort();
    let beside = median(&bare_starts);
    table.durations("process start to first request, new data", first, Some(("--version", beside)));
    table.durations("process start to first request, old data", again, Some(("--version", beside)));
    for (what, (mut without, with)) in ["new data", "old data"].into_iter().zip(no_servers.into_iter().zip(servers)) {
        without.sort();
        let beside = Some(("without servers", median(&without)));
        table.durations(&format!("the same with {SERVERS} MCP servers, {what}"), with, beside);
    }
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
