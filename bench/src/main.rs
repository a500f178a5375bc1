//! Measures the real binary and prints one table.
//!
//! `cargo build --release && cargo run --release -p trimtab-bench` runs everything; names of
//! measurements as arguments choose some. Each figure is the median of several runs, and each has something measured in
//! the same run beside it: absolute times say little on another machine. `corpus` alone tries the libraries on damaged
//! input, and `seeds FOLDER` writes that input down for libFuzzer to begin with; `models` alone gives small tasks to a real
//! model. `peers` starts other programs beside this one.
//! `beside BINARY` measures two builds of this program by turns, for example the present one and a release.

#![allow(clippy::disallowed_methods, reason = "a benchmark starts the program and looks at its files")]

mod acp;
mod apply;
mod beside;
mod cancel;
mod commands;
mod corpus;
mod diff;
mod models;
mod peers;
mod permission;
mod rounds;
mod screen;
mod serve;
mod startup;
mod subtasks;
mod table;
mod throughput;
mod watch;
mod web;
mod widgets;

use std::path::PathBuf;
use std::process::ExitCode;

use table::Table;
use trimtab_testkit::mcp::{SERVE, serve as serve_scripted};

/// How often each thing is measured.
const ROUNDS: usize = 31;

type Measurement = (&'static str, fn(&std::path::Path, &mut Table));

const MEASUREMENTS: &[Measurement] = &[
    ("startup", startup::measure),
    ("cancel", cancel::measure),
    ("commands", commands::measure),
    ("permission", permission::measure),
    ("rounds", rounds::measure),
    ("subtasks", subtasks::measure),
    ("throughput", throughput::measure),
    ("apply", apply::measure),
    ("diff", diff::measure),
    ("watch", watch::measure),
    ("widgets", widgets::measure),
    ("screen", screen::measure),
    ("serve", serve::measure),
    ("acp", acp::measure),
    ("web", web::measure),
    ("peers", peers::measure),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // This executable is also the MCP server that the program starts.
    if let [first, folder, behaviors @ ..] = wanted.as_slice()
        && first == SERVE
    {
        return serve_scripted(folder.as_ref(), behaviors);
    }
    // The corpus asks the libraries themselves and needs no binary. It is long, so it only runs by name.
    if wanted == ["corpus"] {
        corpus::run();
        return ExitCode::SUCCESS;
    }
    if let [name, folder] = wanted.as_slice()
        && name == "seeds"
    {
        return match corpus::write_seeds(folder.as_ref()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("The seeds cannot be written into {folder}: {error}.");
                ExitCode::from(2)
            }
        };
    }
    let Some(binary) = binary() else {
        eprintln!("There is no release binary. Run `cargo build --release` first, or set TRIMTAB_BINARY.");
        return ExitCode::from(2);
    };
    // A real model takes its time, so this only runs by name too.
    if wanted == ["models"] {
        return match models::measure(&binary) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("{why}");
                ExitCode::from(2)
            }
        };
    }
    if let [name, other] = wanted.as_slice()
        && name == "beside"
    {
        beside::run(&binary, other.as_ref());
        return ExitCode::SUCCESS;
    }
    let mut table = Table::default();
    for (name, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure(&binary, &mut table);
        }
    }
    print!("{table}");
    ExitCode::SUCCESS
}

fn binary() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TRIMTAB_BINARY") {
        return Some(named.into());
    }
    let beside = std::env::current_exe().ok()?.with_file_name("trimtab");
    beside.exists().then_some(beside)
}
