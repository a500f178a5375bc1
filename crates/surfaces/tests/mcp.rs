//! MCP servers with the real binary: configuration, approval, calls, and that nothing outlives the program. This test's
//! own executable is the scripted server.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

#[path = "mcp/approval.rs"]
mod approval;
#[path = "mcp/calls.rs"]
mod calls;
#[path = "mcp/conformance.rs"]
mod conformance;
#[path = "mcp/editor.rs"]
mod editor;
#[path = "mcp/elicitation.rs"]
mod elicitation;
#[path = "mcp/lives.rs"]
mod lives;
#[path = "mcp/login.rs"]
mod login;
#[path = "mcp/offers.rs"]
mod offers;
#[path = "mcp/peers.rs"]
mod peers;
#[path = "mcp/scene.rs"]
mod scene;
#[path = "mcp/serve.rs"]
mod serve;

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;

use trimtab_testkit::mcp::{SERVE, serve as serve_scripted};

type Check = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, folder, behaviors @ ..] = arguments.as_slice()
        && first == SERVE
    {
        return serve_scripted(&PathBuf::from(folder), behaviors);
    }
    if let [first, url] = arguments.as_slice()
        && first == conformance::CLIENT
    {
        conformance::play_client(url);
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let groups = [
        approval::CHECKS,
        calls::CHECKS,
        conformance::CHECKS,
        editor::CHECKS,
        elicitation::CHECKS,
        lives::CHECKS,
        login::CHECKS,
        offers::CHECKS,
        peers::CHECKS,
        serve::CHECKS,
    ];
    let checks = groups.into_iter().flatten();
    let chosen: Vec<&Check> = checks
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())))
        .collect();
    let mut failed = Vec::new();
    println!("\nrunning {} tests", chosen.len());
    for (name, check) in &chosen {
        let answer = catch_unwind(check);
        println!("test {name} ... {}", if answer.is_ok() { "ok" } else { "FAILED" });
        if answer.is_err() {
            failed.push(*name);
        }
    }
    println!("\ntest result: {} passed; {} failed {failed:?}\n", chosen.len() - failed.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Names of checks are the names of their functions.
#[macro_export]
macro_rules! checks {
    ($($check:ident),* $(,)?) => {
        pub(crate) const CHECKS: &[$crate::Check] = &[$((stringify!($check), $check)),*];
    };
}
