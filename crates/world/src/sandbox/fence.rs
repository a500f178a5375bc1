//! The fence: a process that shuts itself in and becomes the command.
//!
//! On Linux there are three layers, none of which needs rights that an ordinary person lacks:
//!
//! * **Namespaces** (`fence/namespaces.rs`): a view of the file system in which everything but the
//!   folder is read-only and secrets are empty, devices and terminals of its own (`fence/devices.rs`), a
//!   network without a way out, and no System V memory shared with others.
//! * **Landlock** (`fence/paths.rs`): the kernel refuses to write, or read secrets, by path. It also
//!   keeps signals and traces inside.
//! * **A filter for system calls** (`fence/calls.rs`): no sockets that lead to other programs, and none
//!   of the calls by which the other layers could be taken down.
//!
//! On macOS there is one, *Seatbelt* (`fence/seatbelt.rs`): a profile that refuses what it does not name.
//!
//! Each layer is there even where another one does the same, since each is missing somewhere: user
//! namespaces on hardened systems and in containers, Landlock on kernels before 5.13. Without any
//! layer that keeps writes inside, or any that keeps the network out, a command is not started.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod devices;
mod git;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "it is compiled for its tests"))]
mod other;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "it is compiled for its tests"))]
mod seatbelt;

use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[cfg(target_os = "linux")]
use self::linux as system;
#[cfg(not(target_os = "linux"))]
use self::other as system;
use super::wire::{Order, Ready};

/// What people keep secrets in, below their home.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/op",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    "Library/Keychains",
];

/// The secrets that there may be in `home`.
pub(super) fn secrets(home: &Path) -> Vec<PathBuf> {
    SECRETS.iter().map(|name| home.join(name)).collect()
}

/// The whole life of a fence.
pub(super) fn main() -> ExitCode {
    // What is said after the command has taken over standard output must go another way.
    let Ok(voice) = std::io::stdout().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut voice = std::fs::File::from(voice);
    let mut text = Vec::new();
    let order: Order = match std::io::stdin().read_to_end(&mut text).map(|_| serde_json::from_slice(&text)) {
        Ok(Ok(order)) => order,
        _ => return ExitCode::FAILURE,
    };
    let mut say = |ready: &Ready| {
        let mut line = serde_json::to_vec(ready).unwrap_or_default();
        line.push(b'\n');
        let _ = voice.write_all(&line);
    };
    let ready = system::shut_in(&order);
    say(&ready);
    if order.probe && matches!(ready, Ready::Fenced(_)) {
        return ExitCode::SUCCESS;
    }
    if matches!(ready, Ready::Fenced(_)) {
        let failure = git::variables(&order).map_or_else(|why| why, |variables| become_command(&order, variables));
        say(&Ready::Failed(failure));
    }
    ExitCode::FAILURE
}

/// Comes back only to say why it could not. `variables` keep git from running what a repository names.
fn become_command(order: &Order, variables: Vec<(String, String)>) -> String {
    if let Err(error) = std::env::set_current_dir(&order.cwd) {
        return format!("The command cannot run in {}: {error}.", order.cwd.display());
    }
    let Ok(output) = std::io::stderr().as_fd().try_clone_to_owned() else {
        return "The command has no place to write to.".into();
    };
    let argv = system::argv(order);
    let Some((program, arguments)) = argv.split_first() else { return "There is no program to run.".into() };
    let input = match order.terminal {
        true => match terminal() {
            Ok(input) => input,
            Err(error) => return format!("The command cannot be given a terminal: {error}."),
        },
        false => Stdio::null(),
    };
    let mut command = new(program);
    command.args(arguments).stdin(input).stdout(Stdio::from(output)).stderr(Stdio::inherit());
    // Whoever reads it sees where the command runs, not where the supervisor was started.
    command.env("PWD", &order.cwd).env_remove("OLDPWD");
    if let Some(temp) = &order.temp {
        command.env("TMPDIR", temp).env("TMP", temp).env("TEMP", temp);
    }
    if order.terminal {
        command.env("TERM", "xterm-256color");
    }
    if order.plain_git {
        for name in git::REMOVED {
            command.env_remove(name);
        }
        command.envs(variables);
    }
    let error = command.exec();
    let program = order.argv.first().map_or("", String::as_str);
    match error.kind() {
        std::io::ErrorKind::NotFound if program.contains('/') && order.cwd.join(program).exists() => {
            format!("{program} cannot be run: the interpreter that it names is not there.")
        }
        // A folder of PATH that may not be entered counts as a refusal, although the program is nowhere.
        std::io::ErrorKind::NotFound => format!("{program}: there is no such program."),
        std::io::ErrorKind::PermissionDenied if !is_anywhere(program) => {
            format!("{program}: there is no such program.")
        }
        std::io::ErrorKind::PermissionDenied => format!("{program} may not be executed."),
        _ => format!("{program} cannot be run: {error}."),
    }
}

/// Standard error, which is a terminal, becomes the one of this session, and is what the command reads from.
fn terminal() -> std::io::Result<Stdio> {
    let terminal = std::io::stderr().as_fd().try_clone_to_owned()?;
    rustix::process::ioctl_tiocsctty(&terminal)?;
    Ok(Stdio::from(terminal))
}

fn is_anywhere(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program.contains('/') || std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

#[expect(clippy::disallowed_methods, reason = "this process becomes the command; run.rs has started it")]
fn new(program: &str) -> Command {
    Command::new(program)
}
