//! From the last byte of a reply that asks for a command to the question that is shown.

use std::path::Path;
use std::time::{Duration, Instant};

use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

use crate::ROUNDS;
use crate::table::Table;

pub fn measure(binary: &Path, table: &mut Table) {
    let times: Vec<Duration> = (0..ROUNDS).map(|_| time_to_ask(binary)).collect();
    table.durations("reply to the question for permission", times, None);
}

fn time_to_ask(binary: &Path) -> Duration {
    let program = Program::new(binary);
    let gate = program.provider.gate();
    let reply = Reply::new().tool("toolu_1", "run_command", ["{\"command\":\"make\"}"]);
    let chunks = trimtab_testkit::provider::anthropic::stream(&reply).len();
    program.provider.push(Answer::anthropic(reply).gated(&gate));
    let running = program.spawn(&["run", "--json", "--trust", "Build it"]);
    gate.release(chunks - 1);
    program.provider.block_on(gate.sent(chunks - 1));
    let began = Instant::now();
    gate.open();
    running.wait_for_line("checkpoint.opened");
    let asked = began.elapsed();
    running.wait();
    asked
}
