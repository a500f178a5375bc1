//! From the signal to the closed connection, while a reply streams and while it is silent.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, anthropic};

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
}

fn time_to_close(binary: &Path, signal: Signal, busy: bool) -> Duration {
    let program = Program::new(binary);
    let opening = [anthropic::message_start(&trimtab_vocab::Usage::default()), anthropic::text_start(0)];
    let events: Vec<String> = opening.into_iter().chain(vec![anthropic::text_delta(0, "word "); 20]).collect();
    let answer = Answer::events(events);
    let answer = if busy {
        answer.then_forever(anthropic::text_delta(0, "word "))
    } else {
        let all = answer.body_bytes().len();
        answer.stall_after(all)
    };
    program.provider.push(answer);
    let running = program.spawn(&["run", "--json", "What is a trim tab?"]);
    running.wait_for_line("reply.delta");
    std::thread::sleep(Duration::from_millis(20));
    let began = Instant::now();
    running.signal(signal);
    let closed = program.provider.block_on(program.provider.closed(0));
    closed.saturating_duration_since(began)
}
