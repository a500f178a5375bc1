//! A supervisor that is started before its order, with a fence that waits beneath it.
//!
//! Starting a program takes longer than setting up the sandbox, and a command needs two more processes than itself.
//! So once a command has run, the supervisor of the next one is started in advance. The namespaces that it has
//! entered are empty: no processes, no network, no shared memory. The fence has its devices, its list of processes, and a
//! view of the mounts, which is not used if a mount has changed since. The files are arranged when the order arrives, and
//! only the order has the command's permissions. One is enough: concurrent commands start their own.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::networks::NetworkHolder;
use super::run::supervisor_command;
use super::supervise::remove;
use super::wire::SupervisorReport;

/// More than what a supervisor reports before it has an order.
const LONGEST_REPORT: u64 = 64 * 1024;

type Environment = Vec<(OsString, OsString)>;

/// The supervisor that waits for an order, if there is one. It ends when the last of these is dropped, when this
/// program ends in any way, and when no order arrives for half a minute.
#[derive(Debug, Clone, Default)]
pub struct ReadySupervisor(Arc<Mutex<Option<WaitingSupervisor>>>);

/// A thread waits for the end of the process.
#[derive(Debug)]
pub(super) struct WaitingSupervisor {
    pub(super) control: ChildStdin,
    pub(super) report: ChildStdout,
    pub(super) written: ChildStderr,
    pid: u32,
    launcher: PathBuf,
    environment: Environment,
    /// The process whose user namespace it has joined.
    holder: Option<u32>,
}

impl ReadySupervisor {
    /// Whether one waits.
    pub fn is_waiting(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// The one that waits. One that was started as another program, or with other variables, is ended instead, and so is
    /// one that could not enter the network that is wanted.
    pub(super) fn take(
        &self,
        launcher: &Path,
        environment: &[(OsString, OsString)],
        holder: Option<u32>,
    ) -> Option<WaitingSupervisor> {
        let waiting = lock(&self.0).take();
        let fits = |waiting: &WaitingSupervisor| holder.is_none() || waiting.holder == holder;
        waiting.filter(fits).filter(|waiting| waiting.launcher == launcher && waiting.environment == environment)
    }

    /// Starts one, if none waits. The caller does not wait for that; where it fails, the next command starts its own.
    pub(super) fn prepare(&self, launcher: PathBuf, environment: Environment, networks: Option<NetworkHolder>) {
        if self.is_waiting() {
            return;
        }
        let ready = Arc::downgrade(&self.0);
        let attend = move || {
            // The next command may want the network of its session, which takes two more processes than the first one has.
            let holder = networks.and_then(|networks| networks.start(&launcher).ok());
            let Ok(mut process) = supervisor_command(&launcher, &environment, true, holder).spawn() else { return };
            let pid = process.id();
            let waiting = with_pipes(&mut process, launcher, environment, holder);
            // If no user of it is left, its pipe closes here, and it ends.
            if let Some(ready) = ready.upgrade() {
                *lock(&ready) = waiting;
            }
            let ended = process.wait();
            let waiting = ready.upgrade().and_then(|ready| lock(&ready).take_if(|waiting| waiting.pid == pid));
            // One that was not killed has removed it.
            let was_killed = ended.is_ok_and(|status| status.signal().is_some());
            if let Some(waiting) = waiting.filter(|_| was_killed) {
                remove_temporary(waiting.report);
            }
        };
        let _ = std::thread::Builder::new().name("ready-supervisor".into()).spawn(attend);
    }
}

/// Removes the temporary folder of a supervisor that has ended, which one that was killed could not.
fn remove_temporary(report: ChildStdout) {
    let lines = BufReader::new(report.take(LONGEST_REPORT)).lines().map_while(Result::ok);
    for report in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
        if let SupervisorReport::Temporary(folder) = report {
            remove(&folder);
        }
    }
}

fn with_pipes(
    process: &mut Child,
    launcher: PathBuf,
    environment: Environment,
    holder: Option<u32>,
) -> Option<WaitingSupervisor> {
    let (control, report, written) = (process.stdin.take()?, process.stdout.take()?, process.stderr.take()?);
    Some(WaitingSupervisor { control, report, written, pid: process.id(), launcher, environment, holder })
}

fn lock(ready: &Mutex<Option<WaitingSupervisor>>) -> MutexGuard<'_, Option<WaitingSupervisor>> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}
