//! Commands, run for real. The test's own executable is the launcher: `main` becomes a supervisor
//! when it is asked to, just as the product's does.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]
#![allow(clippy::unwrap_used, reason = "the whole program is a test")]

#[path = "sandbox/automatic.rs"]
mod automatic;
#[cfg(target_os = "linux")]
#[path = "sandbox/caches.rs"]
mod caches;
#[cfg(target_os = "linux")]
#[path = "sandbox/escapes.rs"]
mod escapes;
#[path = "sandbox/fences.rs"]
mod fences;
#[path = "sandbox/lives.rs"]
mod lives;
#[cfg(target_os = "linux")]
#[path = "sandbox/networks.rs"]
mod networks;
#[cfg(target_os = "linux")]
#[path = "sandbox/ready.rs"]
mod ready;
#[path = "sandbox/scene.rs"]
mod scene;
#[path = "sandbox/terminals.rs"]
mod terminals;

use std::panic::catch_unwind;
use std::process::ExitCode;

use trimtab_world::sandbox::{SUPERVISE, supervise};

type Check = (&'static str, fn());

fn main() -> ExitCode {
    let first = std::env::args().nth(1);
    match first.as_deref() {
        Some(SUPERVISE) => return supervise::main(),
        Some(scene::HOST) => return scene::host(),
        Some(scene::HOST_ATTENDED) => return scene::attended_host(),
        #[cfg(target_os = "linux")]
        Some(networks::NETWORKED_HOST) => return networks::networked_host(),
        Some(fences::WITHOUT_LANDLOCK) => return fences::without_landlock(),
        Some(fences::WITHOUT_MOUNTS) => return fences::without_mounts(),
        _ => {}
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let checks = lives::CHECKS.iter().chain(terminals::CHECKS).chain(fences::CHECKS).chain(automatic::CHECKS);
    #[cfg(target_os = "linux")]
    let checks = checks.chain(caches::CHECKS).chain(escapes::CHECKS).chain(ready::CHECKS).chain(networks::CHECKS);
    let chosen: Vec<&Check> =
        checks.filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|part| name.contains(part))).collect();
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
macro_rules! checks {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CHECKS: &[crate::Check] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use checks;
