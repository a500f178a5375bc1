//! The fence: a process that shuts itself in and becomes the command.
//!
//! On Linux there are three layers, none of which needs rights that an ordinary person lacks:
//!
//! * **Namespaces** (`fence/namespaces.rs`): a view of the file system in which everything but the
//!   folder is read-only and secrets are empty, devices and terminals of its own (`fence/devices.rs`), for automatic
//!   commands an empty home (`fence/home.rs`), no other processes, a network without a way out, and no System V memory
//!   shared with others. The fence is the first process there (`fence/init.rs`): when it ends, all others do.
//! * **Landlock** (`fence/paths.rs`): the kernel refuses to write, or read secrets, by path. It also
//!   keeps signals and traces inside.
//! * **A filter for system calls** (`fence/calls.rs`): no sockets that lead to other programs, and none
//!   of the calls by which the other layers could be taken down.
//!
//! On macOS there is one, *Seatbelt* (`fence/seatbelt.rs`): a profile that refuses what it does not name.
//!
//! Each layer is there even where another one does the same, since each is missing somewhere: user
//! namespaces on hardened systems and in containers, Landlock on kernels before 5.13. Without any
//! layer that keeps writes inside, or any that keeps the network out, a command is not started. One that nobody was
//! asked about is started only where every fence holds.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod devices;
mod git;
#[cfg(target_os = "linux")]
mod home;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no process namespaces"))]
mod init;
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

use std::ffi::OsStr;
use std::io::{BufRead, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde::de::DeserializeOwned;

#[cfg(target_os = "linux")]
use self::linux as system;
#[cfg(target_os = "linux")]
pub(super) use self::linux::{MountWatch, is_shared_device};
#[cfg(target_os = "linux")]
pub(super) use self::namespaces::{NamespaceError, found, hold_networks, session_network, socket_in};
#[cfg(not(target_os = "linux"))]
use self::other as system;
#[cfg(not(target_os = "linux"))]
pub(super) use self::other::{
    NoMountWatch as MountWatch, NoNamespaces as NamespaceError, found, hold_networks, is_shared_device,
    session_network, socket_in,
};
use super::wire::{FenceReport, FolderMarks, RunOrder};

/// Waits for what the supervisor makes of the folder; nothing if it is gone.
type NextMarks<'f> = &'f mut dyn FnMut() -> Option<FolderMarks>;

const NO_SUPERVISOR: &str = "The supervisor of the command has ended.";

/// What people keep secrets in, below their home.
const SECRETS: &[&str] = &[
    ".Xauthority",
    ".anthropic",
    ".aws",
    ".azure",
    ".bash_history",
    ".bitcoin",
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/BraveSoftware",
    ".config/Bitwarden",
    ".config/Signal",
    ".config/Slack",
    ".config/chromium",
    ".config/composer/auth.json",
    ".config/containers",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/microsoft-edge",
    ".config/op",
    ".config/openai",
    ".config/rclone",
    ".config/sops",
    ".config/vivaldi",
    ".docker",
    ".electrum",
    ".ethereum",
    ".gem/credentials",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".huggingface",
    ".kube",
    ".local/share/keyrings",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".oci",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google",
    "Library/Cookies",
    "Library/Keychains",
    "snap/chromium",
    "snap/firefox",
];

/// The secrets that there may be in `home`.
pub(super) fn secrets(home: &Path) -> Vec<PathBuf> {
    SECRETS.iter().map(|name| home.join(name)).collect()
}

/// The third argument of a fence whose supervisor has entered namespaces,
pub(super) const APART: &str = "apart";
/// and of one whose command works in the folder of devices.
pub(super) const SHARING_DEVICES: &str = "sharing-devices";

/// Where a path leads to. Most of those that are asked for are not there, which one call tells; to follow a path takes
/// one for each part.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    path.symlink_metadata().ok()?;
    path.canonicalize().ok()
}

/// The whole life of a fence.
pub(super) fn main() -> ExitCode {
    // What is said after the command has taken over standard output must go another way.
    let Ok(voice) = std::io::stdout().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut voice = std::fs::File::from(voice);
    // The order may come much later; what does not depend on it is done until then.
    let apart = match std::env::args_os().nth(3).as_deref().and_then(OsStr::to_str) {
        Some(APART) => Some(system::step_apart(false)),
        Some(SHARING_DEVICES) => Some(system::step_apart(true)),
        _ => None,
    };
    let mut told = std::io::stdin().lock();
    let Some(order) = next::<RunOrder>(&mut told) else { return ExitCode::FAILURE };
    let mut say = |ready: &FenceReport| {
        let mut line = serde_json::to_vec(ready).unwrap_or_default();
        line.push(b'\n');
        let _ = voice.write_all(&line);
    };
    let fences = match system::shut_in(&order, apart, &mut || next(&mut told)) {
        FenceReport::Fenced(fences) => fences,
        ready => {
            say(&ready);
            return ExitCode::FAILURE;
        }
    };
    if let Some(why) = order.automatic.and_then(|_| fences.first_missing()) {
        say(&FenceReport::Blocked(why));
        return ExitCode::FAILURE;
    }
    if order.fence.probe {
        say(&FenceReport::Fenced(fences));
        return ExitCode::SUCCESS;
    }
    #[cfg(target_os = "linux")]
    if order.is_init {
        // What is started from here on, this process's files, which lead out, are closed to.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
    let variables = match git::variables(&order) {
        Ok(variables) => variables,
        Err(why) => {
            say(&FenceReport::Blocked(why));
            return ExitCode::FAILURE;
        }
    };
    let proxied = order.network.iter().filter(|_| fences.session_network).flat_map(|network| &network.variables);
    let mut command = match command(&order, variables, proxied) {
        Ok(command) => command,
        Err(why) => {
            say(&FenceReport::Failed(why));
            return ExitCode::FAILURE;
        }
    };
    say(&FenceReport::Fenced(fences));
    if order.is_init {
        match command.spawn() {
            Ok(child) => {
                say(&FenceReport::Running);
                drop(command);
                if !order.terminal {
                    // It shall end with the last process of the command, not with this one.
                    super::supervise::release_output();
                }
                say(&init::wait_for(&child));
                return ExitCode::SUCCESS;
            }
            Err(error) => say(&FenceReport::Failed(why_not(&order, &error))),
        }
    } else {
        let error = command.exec();
        say(&FenceReport::Failed(why_not(&order, &error)));
    }
    ExitCode::FAILURE
}

/// What the supervisor tells next; nothing if it is gone.
fn next<T: DeserializeOwned>(told: &mut impl BufRead) -> Option<T> {
    let mut line = Vec::new();
    told.read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// The command, ready to be started. `variables` keep git from running what a repository names, and `proxied` ones lead
/// programs to the proxy.
fn command<'o>(
    order: &RunOrder,
    variables: Vec<(String, String)>,
    proxied: impl Iterator<Item = &'o (String, String)>,
) -> Result<Command, String> {
    std::env::set_current_dir(&order.cwd)
        .map_err(|error| format!("The command cannot run in {}: {error}.", order.cwd.display()))?;
    let output = std::io::stderr().as_fd().try_clone_to_owned();
    let output = output.map_err(|error| format!("The command has no place to write to: {error}."))?;
    let argv = system::argv(order);
    let (program, arguments) = argv.split_first().ok_or("There is no command to run.")?;
    let input = match order.terminal {
        true => terminal().map_err(|error| format!("The command cannot be given a terminal: {error}."))?,
        false => Stdio::null(),
    };
    let mut command = new(program);
    command.args(arguments).stdin(input).stdout(Stdio::from(output)).stderr(Stdio::inherit());
    // `PWD` is where the command runs, not where the supervisor was started.
    command.env("PWD", &order.cwd).env_remove("OLDPWD");
    if let Some(temp) = &order.fence.temp {
        command.env("TMPDIR", temp).env("TMP", temp).env("TEMP", temp);
    }
    if order.terminal {
        command.env("TERM", "xterm-256color");
    }
    command.envs(proxied.map(|(name, value)| (name, value)));
    if order.automatic.is_some() {
        command.envs([git::ACROSS_MOUNTS]);
    }
    if order.git.plain {
        for name in git::REMOVED {
            command.env_remove(name);
        }
        command.envs(variables);
    }
    Ok(command)
}

fn why_not(order: &RunOrder, error: &std::io::Error) -> String {
    let program = order.argv.first().map_or("", String::as_str);
    match error.kind() {
        std::io::ErrorKind::NotFound if program.contains('/') && order.cwd.join(program).exists() => {
            format!("{program} cannot be run: the interpreter that it names is not there.")
        }
        // A folder of PATH that may not be entered counts as a refusal, although the program is nowhere.
        std::io::ErrorKind::NotFound => format!("{program}: command not found."),
        std::io::ErrorKind::PermissionDenied if !is_anywhere(program) => {
            format!("{program}: command not found.")
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
