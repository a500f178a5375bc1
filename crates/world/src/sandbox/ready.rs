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
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::networks::NetworkHolder;
use super::run::supervisor_command;
use super::supervise::READY;
use super::temp_folder::{SETTLED, remove, sweep};
use super::wire::SupervisorReport;

/// More than what a supervisor reports before it has an order.
const LONGEST_REPORT: u64 = 64 * 1024;

/// How often one that ends although it is wanted is replaced, at most, until one is asked for again.
const MOST_IN_A_ROW: usize = 4;
/// The time between the two.
const REST: Duration = Duration::from_millis(250);

/// Folders that killed processes have left are removed once.
static SWEPT: Once = Once::new();

type Environment = Vec<(OsString, OsString)>;

/// The supervisor that waits for an order, if there is one. It ends when the last of these is dropped, when this
/// program ends in any way, and when no order arrives for half a minute.
#[derive(Debug, Clone, Default)]
pub struct ReadySupervisor(Arc<Mutex<ReadyState>>);

#[derive(Debug, Default)]
struct ReadyState {
    waiting: Option<WaitingSupervisor>,
    /// One is being started.
    is_starting: bool,
    /// When one was asked for last.
    wanted: Option<Instant>,
}

/// The temporary folder of a supervisor, once it is known. A supervisor removes it last, after its report, so that one that
/// is killed then has left it.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftFolder(Arc<Mutex<Option<PathBuf>>>);

impl LeftFolder {
    pub(super) fn note(&self, folder: &Path) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    }

    fn remove(&self) {
        let folder = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        folder.iter().for_each(|folder| remove(folder));
    }
}

/// Waits for the end of a supervisor on a thread, and removes what one that was killed has left.
pub(super) fn wait_for_end(mut process: Child) -> LeftFolder {
    let left = LeftFolder::default();
    let known = left.clone();
    let wait = move || {
        if was_killed(process.wait()) {
            known.remove();
        }
    };
    let _ = std::thread::Builder::new().name("supervisor".into()).spawn(wait);
    left
}

fn was_killed(ended: std::io::Result<ExitStatus>) -> bool {
    ended.is_ok_and(|status| status.signal().is_some())
}

/// A thread waits for the end of the process.
#[derive(Debug)]
pub(super) struct WaitingSupervisor {
    pub(super) control: ChildStdin,
    pub(super) report: ChildStdout,
    pub(super) written: ChildStderr,
    pub(super) left: LeftFolder,
    pid: u32,
    launcher: PathBuf,
    environment: Environment,
    /// The process whose user namespace it has joined.
    holder: Option<u32>,
}

impl ReadySupervisor {
    /// Whether one waits.
    pub fn is_waiting(&self) -> bool {
        lock(&self.0).waiting.is_some()
    }

    /// The one that waits. One that was started as another program, or with other variables, is ended instead, and so is
    /// one that could not enter the network that is wanted.
    pub(super) fn take(
        &self,
        launcher: &Path,
        environment: &[(OsString, OsString)],
        holder: Option<u32>,
    ) -> Option<WaitingSupervisor> {
        let waiting = lock(&self.0).waiting.take();
        let fits = |waiting: &WaitingSupervisor| holder.is_none() || waiting.holder == holder;
        waiting.filter(fits).filter(|waiting| waiting.launcher == launcher && waiting.environment == environment)
    }

    /// Starts one, if none waits. The caller does not wait for that; where it fails, the next command starts its own. One
    /// that ends although it is wanted is replaced.
    pub(super) fn prepare(&self, launcher: PathBuf, environment: Environment, networks: Option<NetworkHolder>) {
        {
            let mut state = lock(&self.0);
            state.wanted = Some(Instant::now());
            if state.waiting.is_some() || std::mem::replace(&mut state.is_starting, true) {
                return;
            }
        }
        let start = SupervisorStart { ready: Arc::downgrade(&self.0), launcher, environment, networks };
        let attend = move || {
            for _ in 0..MOST_IN_A_ROW {
                if !start.attend() {
                    return;
                }
                // Mounts often change several at a time.
                std::thread::sleep(REST);
                if !start.is_wanted_again() {
                    return;
                }
            }
            start.give_up();
        };
        if std::thread::Builder::new().name("ready-supervisor".into()).spawn(attend).is_err() {
            lock(&self.0).is_starting = false;
        }
    }
}

/// How a supervisor is started ahead.
struct SupervisorStart {
    ready: Weak<Mutex<ReadyState>>,
    launcher: PathBuf,
    environment: Environment,
    networks: Option<NetworkHolder>,
}

impl SupervisorStart {
    /// Starts one and waits for its end. Whether nobody had taken it.
    fn attend(&self) -> bool {
        // The next command may want the network of its session, which takes two more processes than the first one has.
        let holder = self.networks.as_ref().and_then(|networks| networks.start(&self.launcher).ok());
        let started = supervisor_command(&self.launcher, &self.environment, true, holder).spawn().ok();
        let Some((mut process, waiting)) = started.and_then(|mut process| {
            let waiting = with_pipes(&mut process, self.launcher.clone(), self.environment.clone(), holder)?;
            Some((process, waiting))
        }) else {
            self.give_up();
            return false;
        };
        let (pid, left) = (waiting.pid, waiting.left.clone());
        match self.ready.upgrade() {
            Some(ready) => {
                let mut state = lock(&ready);
                (state.waiting, state.is_starting) = (Some(waiting), false);
            }
            // No user of it is left. Its pipe closes here, and not after its end, because it would wait for an order.
            None => drop(waiting),
        }
        SWEPT.call_once(|| sweep(&temp_base(&self.environment), SETTLED));
        let was_killed = was_killed(process.wait());
        let is_it = |waiting: &mut WaitingSupervisor| waiting.pid == pid;
        let unused = self.ready.upgrade().and_then(|ready| lock(&ready).waiting.take_if(is_it));
        let is_unused = unused.is_some();
        // One that was not killed has removed its folder. The folder of an unused one is not known yet.
        if was_killed {
            unused.into_iter().for_each(|waiting| note_temporary(waiting.report, &left));
            left.remove();
        }
        is_unused
    }

    /// Whether one was asked for so lately that one that has ended should wait still. If so, it is being started.
    fn is_wanted_again(&self) -> bool {
        let Some(ready) = self.ready.upgrade() else { return false };
        let mut state = lock(&ready);
        let is_recent = state.wanted.is_some_and(|wanted| wanted.elapsed() + REST < READY);
        is_recent && state.waiting.is_none() && !std::mem::replace(&mut state.is_starting, true)
    }

    fn give_up(&self) {
        self.ready.upgrade().iter().for_each(|ready| lock(ready).is_starting = false);
    }
}

/// Where supervisors with these variables make their temporary folders.
fn temp_base(environment: &Environment) -> PathBuf {
    let named = environment.iter().find(|(name, _)| name == "TMPDIR");
    named.map_or_else(|| PathBuf::from("/tmp"), |(_, base)| base.into())
}

/// Finds the temporary folder of a supervisor that has ended in what it had reported.
fn note_temporary(report: ChildStdout, left: &LeftFolder) {
    let lines = BufReader::new(report.take(LONGEST_REPORT)).lines().map_while(Result::ok);
    for report in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
        if let SupervisorReport::Temporary(folder) = report {
            left.note(&folder);
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
    let (pid, left) = (process.id(), LeftFolder::default());
    Some(WaitingSupervisor { control, report, written, left, pid, launcher, environment, holder })
}

fn lock(ready: &Mutex<ReadyState>) -> MutexGuard<'_, ReadyState> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}
