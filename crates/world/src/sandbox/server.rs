//! MCP servers as processes: a supervisor that ends with whoever talks to the server, and takes everything along that
//! the server has started.
//!
//! The server gets the supervisor's own standard input, output, and error. The supervisor keeps only a copy of the
//! reading end of the input, and never reads from it: when the last writer is gone, because the host closes it or dies
//! in whatever way, the kernel reports a hang-up. So there is no message that a killed host could fail to send.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;
use trimtab_vocab::Sandbox;

use super::environment::passed_on;
use super::run::this_program;
use super::tree::Tree;
use super::{SUPERVISE, inherited_fds};

/// The second argument that makes the process the supervisor of a server.
const SERVER: &str = "server";
/// What follows is the server's own command line.
const COMMAND: &str = "--";

/// How long a server may take to end once nobody talks to it any more,
const GRACE: Duration = Duration::from_secs(2);
/// and once it is asked to.
const LAST_GRACE: Duration = Duration::from_secs(1);

/// A server to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProcess {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The variables to choose from: only those that tools are known to need are passed on.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of variables that hold keys of this program. They are not passed on under any name.
    pub private: Vec<String>,
    /// Variables that it gets in any case.
    pub own: Vec<(String, String)>,
}

impl ServerProcess {
    /// What the server sees.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut all = passed_on(self.environment.iter().cloned(), Sandbox::Workspace, &self.private);
        all.extend(self.own.iter().map(|(name, value)| (name.into(), value.into())));
        all
    }
}

/// The pipes of a server that runs.
pub struct ServerPipes {
    /// When this is closed, the server ends.
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    pub supervisor: Child,
}

/// Starts a server beneath a supervisor.
pub fn start(server: &ServerProcess) -> io::Result<ServerPipes> {
    let mut command = tokio::process::Command::from(this_program());
    command
        .args([SUPERVISE, SERVER, COMMAND])
        .args(&server.argv)
        .env_clear()
        .envs(server.variables())
        .current_dir(&server.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut supervisor = command.spawn()?;
    let pipes = (supervisor.stdin.take(), supervisor.stdout.take(), supervisor.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the pipes of the process are missing"));
    };
    Ok(ServerPipes { stdin, stdout, stderr, supervisor })
}

/// Whether this process was started as the supervisor of a server. It may have been restarted to close files that it
/// had inherited, which puts one argument before.
pub(super) fn is_wanted() -> bool {
    std::env::args_os().skip(2).take(2).any(|argument| argument == SERVER)
}

/// The life of the supervisor of a server.
pub(super) fn main() -> ExitCode {
    inherited_fds::close();
    // A Ctrl-C at the terminal is for the host, which closes the server's input when it ends.
    let _ = rustix::process::setsid();
    Tree::watch_over_orphans();
    let argv: Vec<OsString> = std::env::args_os().skip_while(|argument| argument != COMMAND).skip(1).collect();
    let Some((program, arguments)) = argv.split_first() else { return ExitCode::FAILURE };
    #[expect(clippy::disallowed_methods, reason = "the user has approved this command line")]
    let mut command = std::process::Command::new(program);
    let started = command.args(arguments).process_group(0).spawn();
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            eprintln!("Cannot start {}: {error}.", program.to_string_lossy());
            return ExitCode::FAILURE;
        }
    };
    let (Some(main), Ok(input)) =
        (i32::try_from(server.id()).ok().and_then(Pid::from_raw), io::stdin().as_fd().try_clone_to_owned())
    else {
        return ExitCode::FAILURE;
    };
    let mut tree = Tree::new(main, false);
    // The pipes must end with the server, so the supervisor lets go of its own ends.
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(null.as_fd());
        let _ = rustix::stdio::dup2_stderr(null.as_fd());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(attend(&mut tree, input));
        // The thread that waits for the hang-up may wait on.
        runtime.shutdown_background();
    }
    tree.kill();
    let code = tree.ended.and_then(|status| status.exit_status()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}

/// Waits until the server has ended or is to end, and gives it the time to end well.
async fn attend(tree: &mut Tree, input: OwnedFd) {
    let signals = [SignalKind::child(), SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut child), Ok(mut term), Ok(mut int), Ok(mut hup)] = signals.map(signal) else { return };
    tokio::select! {
        () = tree.main_ends(&mut child) => return,
        () = hung_up(input) => {}
        _ = term.recv() => return,
        _ = int.recv() => return,
        _ = hup.recv() => return,
    }
    if timeout(GRACE, tree.main_ends(&mut child)).await.is_err() {
        tree.ask_to_end();
        let _ = timeout(LAST_GRACE, tree.main_ends(&mut child)).await;
    }
}

/// Comes when nobody is left who could write to a pipe. A thread waits for it, because the runtime reports only that
/// there is something to read, which is the server's.
async fn hung_up(input: OwnedFd) {
    let (sender, gone) = oneshot::channel();
    let wait = move || {
        loop {
            let mut watched = [PollFd::new(&input, PollFlags::empty())];
            match poll(&mut watched, None) {
                Err(Errno::INTR) => {}
                Ok(_) if watched[0].revents().is_empty() => {}
                _ => break,
            }
        }
        let _ = sender.send(());
    };
    // Without the thread, the end of the host would go unnoticed, so the server ends then.
    if std::thread::Builder::new().name("hang-up".into()).spawn(wait).is_ok() {
        let _ = gone.await;
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_server_gets_what_its_entry_names_and_no_key_under_any_name() {
        let server = ServerProcess {
            argv: Vec::new(),
            cwd: PathBuf::from("/"),
            environment: ["PATH", "RUST_MODELS", "GITHUB_TOKEN"]
                .map(|name| (OsString::from(name), "x".into()))
                .to_vec(),
            private: vec!["RUST_MODELS".to_owned()],
            own: vec![("GITHUB_TOKEN".to_owned(), "y".to_owned())],
        };
        let all = server.variables();
        let value =
            |wanted: &str| all.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str());
        assert_eq!(value("PATH"), Some(OsStr::new("x")));
        assert_eq!(value("RUST_MODELS"), None, "a key of a provider under a name that is passed on otherwise");
        assert_eq!(value("GITHUB_TOKEN"), Some(OsStr::new("y")));
    }
}
