//! From the signal to the closed connection, while a reply streams and while it is silent.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply, anthropic};

use crate::ROUNDS;
use crate::table::{Table, median};

pub fn measure(binary: &Path, table: &mut Table) {
    let mut killed: Vec<Duration> = (0..ROUNDS).map(|_| time_to_close(binary, Signal::KILL, false)).collect();
    killed.sort();
    let beside = median(&killed);
    for (what, busy) in
        [("cancel to closed connection, silent stream", false), ("cancel to closed connection, busy stream", true)]
    {
        let times = (0..ROUNDS).map(|_| time_to_close(binary, Signal::INT, busy)).collect();
        table.durations(what, times, Some(("SIGKILL", beside)));
    }
    let times = (0..ROUNDS).map(|_| time_to_end_a_command(binary)).collect();
    table.durations("cancel to no process left, `sleep 1000`", times, Some(("SIGKILL", beside)));
    let times = (0..ROUNDS).map(|_| time_to_end_five_looks(binary)).collect();
    table.durations("cancel to five closed connections", times, Some(("SIGKILL", beside)));
}

/// From the signal until nothing of the command is left.
pub fn time_to_end_a_command(binary: &Path) -> Duration {
    const WORDS: &str = "sleep 98743";
    let program = Program::new(binary);
    let input = format!("{{\"command\":\"sh -c '{WORDS} & {WORDS}'\",\"timeout_s\":1000}}");
    program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", "run_command", [input])));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "Wait"]);
    running.wait_for_line("command.started");
    while count(WORDS) < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    running.signal(Signal::INT);
    while count(WORDS) > 0 {
        std::thread::sleep(Duration::from_micros(200));
    }
    let ended = began.elapsed();
    running.wait();
    ended
}

/// Processes that are just this command.
fn count(words: &str) -> usize {
    let is_it = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == words
    };
    std::fs::read_dir("/proc").into_iter().flatten().flatten().map(is_it).filter(|is| *is).count()
}

/// From the signal until the last of five silent pages is no longer waited for.
fn time_to_end_five_looks(binary: &Path) -> Duration {
    let program = Program::new(binary);
    program.provider.on_path("/slow", Answer::silent());
    let host = program.provider.url().trim_start_matches("http://").to_owned();
    assert_eq!(program.run(&["rules", "add", "allow", "fetch_url", &host]).code, Some(0));
    let reply = (1..=5).fold(Reply::new(), |reply, number| {
        reply.tool(format!("toolu_{number}"), "fetch_url", [format!("{{\"url\":\"http://{host}/slow?{number}\"}}")])
    });
    program.provider.push(Answer::anthropic(reply));
    let running = program.spawn(&["run", "--json", "--trust", "Fetch"]);
    program.provider.block_on(program.provider.wait_for_requests(6));
    std::thread::sleep(Duration::from_millis(20));
    let began = Instant::now();
    running.signal(Signal::INT);
    let closed = (1..=5).map(|index| program.provider.block_on(program.provider.closed(index)));
    let last = closed.max().unwrap_or(began);
    running.wait();
    last.saturating_duration_since(began)
}

/// From the signal until the connection of a streamed reply is closed.
pub fn time_to_close(binary: &Path, signal: Signal, busy: bool) -> Duration {
    let program = Program::new(binary);
    let opening = [anthropic::message_start(&trimtab_vocab::Usage::default()), anthropic::text_start(0)];
    let events: Vec<String> = opening.into_iter().chain(vec![anthropic::text_delta(0, "word "); 20]).collect();
    let answer = Answer::events(events);
    let answer = if busy {
        // A reply that says the same again and again would be ended as a runaway before it is canceled.
        let words: String = (0..2_000).map(|number| format!("word{number} ")).collect();
        answer.then_forever(anthropic::text_delta(0, &words))
    } else {
        let all = answer.body_bytes().len();
        answer.stall_after(all)
    };
    program.provider.push(answer);
    let running = program.spawn(&["run", "--json", "What is Trimtab?"]);
    running.wait_for_line("reply.delta");
    std::thread::sleep(Duration::from_millis(20));
    let began = Instant::now();
    running.signal(signal);
    let closed = program.provider.block_on(program.provider.closed(0));
    closed.saturating_duration_since(began)
}
