//! Runs a command: the only code that starts one.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use trimtab_vocab::{CommandClass, CommandPlan, CommandRun, Overtime, Sandbox};

use super::caches::PackageCaches;
use super::collect::Collected;
use super::environment::{home, passed_on, tools};
use super::listings::ListingCache;
use super::networks::{NetworkHolder, SessionNetwork};
use super::ready::{LeftFolder, ReadySupervisor, wait_for_end};
use super::scan::{ScanTarget, scan_again};
use super::supervise::{EARLY, HOLDER};
use super::temp_folder::remove;
use super::wire::{
    CommandEnding, EmptiedHomes, FenceSetup, Fences, GitGuard, HostMessage, OrderedNetwork, ResourceLimits, RunOrder,
    ScannedFolder, SupervisorReport,
};
use super::{SUPERVISE, fence};

/// Once all processes of a command are gone, its output is in the pipe. A process that still holds the other end
/// cannot delay the result longer than this.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// How commands are run here.
#[derive(Debug, Clone)]
pub struct SandboxSetup {
    /// The program that becomes the supervisor: this one.
    pub launcher: PathBuf,
    /// The variables to choose from for a command.
    pub environment: Vec<(OsString, OsString)>,
    /// Files and folders that a fenced command must not read: this program's own, and secrets.
    pub hidden: Vec<PathBuf>,
    /// Names of variables that hold this program's own keys. No command gets them.
    pub private: Vec<String>,
    /// What one command may use.
    pub limits: CommandLimits,
    /// Listings of the folders in which commands have run.
    pub listings: ListingCache,
    /// The supervisor for the next command, if one is started ahead.
    pub ready: Option<ReadySupervisor>,
    /// Who holds the networks of sessions, if they have any.
    pub networks: Option<NetworkHolder>,
    /// The network that the next command shares with others of its session.
    pub network: Option<CommandNetwork>,
    /// Where approved commands write what they add to package caches. Without it, they cannot.
    pub caches: Option<PackageCaches>,
}

/// The network of a session, as one of its commands gets it.
#[derive(Debug, Clone)]
pub struct CommandNetwork {
    pub network: Arc<SessionNetwork>,
    /// Variables that lead programs to the proxy.
    pub variables: Vec<(String, String)>,
}

/// The limits of one command. `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Address space of one process, in bytes. Programs with a garbage collector reserve far more than
    /// they use, so this is for people who know what they run.
    pub memory: Option<u64>,
    /// Processor seconds of one process.
    pub cpu_s: Option<u64>,
    /// The size of one file that it writes, in bytes.
    pub file_size: Option<u64>,
    /// The limit of processes at a time. It applies only if the command has its own namespaces: elsewhere, all
    /// processes of the user would count.
    pub processes: Option<u64>,
    /// Bytes of what it writes that are kept; of more, the beginning and the end.
    pub output: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self { memory: None, cpu_s: None, file_size: Some(16 << 30), processes: Some(4096), output: 2 << 20 }
    }
}

impl SandboxSetup {
    /// With this very program as the launcher, these variables, and what is usually secret hidden.
    pub fn new(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment: Vec<(OsString, OsString)> = environment.into_iter().collect();
        let hidden = home(&environment).map(|home| fence::secrets(&home)).unwrap_or_default();
        let launcher = this_executable();
        Self {
            launcher,
            environment,
            hidden,
            private: Vec::new(),
            limits: CommandLimits::default(),
            listings: ListingCache::default(),
            ready: None,
            networks: None,
            network: None,
            caches: None,
        }
    }

    /// Starts a supervisor for the next sandboxed command, if one is wanted and none waits. Does not block.
    pub fn prepare(&self) {
        if let Some(ready) = &self.ready {
            let variables = self.variables(Sandbox::Workspace);
            ready.prepare(self.launcher.clone(), variables, self.networks.clone());
        }
    }

    /// The variables that a command gets.
    fn variables(&self, sandbox: Sandbox) -> Vec<(OsString, OsString)> {
        passed_on(self.environment.iter().cloned(), sandbox, &self.private)
    }

    fn order(&self, run: &CommandRun) -> RunOrder {
        RunOrder {
            argv: run.argv.clone(),
            cwd: run.cwd.clone().into(),
            folder: run.folder.clone().into(),
            // A timeout of zero is a mistake.
            timeout_ms: run.timeout_s.max(1).saturating_mul(1000),
            attended: run.attended,
            git: GitGuard { plain: run.plain_git, folders: run.git_folders.iter().map(PathBuf::from).collect() },
            terminal: run.terminal,
            sandbox: run.sandbox,
            automatic: run.automatic,
            writes_repository: run.writes_repository,
            home: EmptiedHomes { homes: home(&self.environment).into_iter().collect(), kept: tools(&self.environment) },
            scan_follows: false,
            is_init: false,
            hidden: self.hidden.clone(),
            read_only: Vec::new(),
            limits: ResourceLimits {
                memory: self.limits.memory,
                cpu_s: self.limits.cpu_s,
                file_size: self.limits.file_size,
                processes: self.limits.processes,
            },
            fence: FenceSetup::default(),
            network: self.network.as_ref().filter(|_| run.automatic != Some(CommandClass::Read)).map(ordered),
            caches: None,
        }
    }
}

fn ordered(network: &CommandNetwork) -> OrderedNetwork {
    let (holder, number, inode) = network.network.place();
    OrderedNetwork { holder, number, inode, variables: network.variables.clone() }
}

/// What became of a command.
#[derive(Debug, Clone, Default)]
pub struct CommandOutcome {
    /// With what it exited, if it did.
    pub exit_code: Option<i32>,
    /// By which signal it ended, if by one.
    pub signal: Option<i32>,
    /// Its time was up.
    pub timed_out: bool,
    pub stopped: bool,
    /// How long it took.
    pub took: Duration,
    /// Its standard output and standard error, in order.
    pub output: Collected,
    /// Processes that it had left running, and that were killed.
    pub left: u32,
    /// Processes that hang in the kernel and could not be killed.
    pub stuck: u32,
    /// Protected paths of the folder that are not as they were before.
    pub touched: Vec<String>,
    /// Control files that it had made, and that have other names now.
    pub undone: Vec<String>,
    /// Which fences were up; none if it was not started.
    pub fences: Option<Fences>,
    /// Why it was not started, if it was not.
    pub not_started: Option<String>,
    /// It was to run automatically and was not started, because a fence that it needs is missing. The reason.
    pub blocked: Option<String>,
    /// Its supervisor is gone: how it ended, whether it has, and if it was quick, whether it was started at
    /// all, is not known.
    pub lost: bool,
}

impl CommandOutcome {
    fn not_started(why: impl Into<String>) -> Self {
        Self { not_started: Some(why.into()), ..Self::default() }
    }
}

/// The messages of a running command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandReport<'t> {
    /// It runs as this process, perhaps in a network of its own.
    Started { pid: u32, own_network: bool },
    /// It has written this.
    Output(&'t [u8]),
    /// Its time is up, and it still runs: the user decides.
    Overdue,
}

/// Runs `plan`. `tell` gets the output as it arrives, and the command waits while `tell` is busy. `overtime` receives
/// the decision about a command that is overdue. When `stop` fires, the returned future is dropped, or this program
/// ends in any way, the command and everything that it has started are killed at once.
pub async fn run(
    plan: &CommandPlan,
    setup: &SandboxSetup,
    tell: impl FnMut(CommandReport<'_>),
    stop: impl Future<Output = ()>,
    overtime: mpsc::Receiver<Overtime>,
) -> CommandOutcome {
    let run = plan.run();
    if run.argv.is_empty() {
        return CommandOutcome::not_started("There is no command to run.");
    }
    let hash = || blake3::hash(run.sealed().as_bytes()).to_hex().to_string();
    if plan.fingerprint().is_some_and(|approved| approved != hash()) {
        return CommandOutcome::not_started("The command differs from the approved command.");
    }
    // What is gone needs no guard, and could not have one.
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let read_only = plan.read_only().iter().map(PathBuf::from).filter(is_there).collect();
    let caches = setup.caches.as_ref().filter(|_| run.sandbox == Sandbox::Workspace);
    // It is held until the command has ended.
    let lease = caches.and_then(|caches| caches.lease(run, home(&setup.environment).as_deref()));
    let caches = lease.as_ref().map(|lease| lease.ordered.clone());
    let order = RunOrder { read_only, caches, ..setup.order(run) };
    carry_out(order, setup, tell, stop, overtime).await
}

/// Which fences can be put up on this machine. It takes a few milliseconds.
pub async fn probe(setup: &SandboxSetup) -> Fences {
    let folder = std::env::temp_dir();
    let order = RunOrder {
        cwd: folder.clone(),
        // Nothing is written there; mounts are tried in the private temporary folder.
        folder,
        timeout_ms: 10_000,
        sandbox: Sandbox::ReadOnly,
        hidden: setup.hidden.clone(),
        fence: FenceSetup { probe: true, ..FenceSetup::default() },
        ..RunOrder::default()
    };
    let (_, overtime) = mpsc::channel(1);
    let outcome = carry_out(order, setup, |_| {}, std::future::pending(), overtime).await;
    let why = outcome.not_started.unwrap_or_else(|| "It could not be tried out.".into());
    outcome.fences.unwrap_or_else(|| Fences::none(&why))
}

pub(super) async fn carry_out(
    mut order: RunOrder,
    setup: &SandboxSetup,
    mut tell: impl FnMut(CommandReport<'_>),
    stop: impl Future<Output = ()>,
    mut overtime: mpsc::Receiver<Overtime>,
) -> CommandOutcome {
    let mut stop = pin!(stop);
    let mut waiting = setup.ready.as_ref().filter(|_| order.begins_early());
    loop {
        match attempt(&order, setup, waiting.take(), &mut tell, &mut stop, &mut overtime).await {
            StartAttempt::Over(outcome) => {
                if outcome.fences.as_ref().is_some_and(|fences| fences.namespaces) {
                    setup.prepare();
                }
                return *outcome;
            }
            // Once only: without namespaces there is nothing to be halfway in.
            StartAttempt::NoNamespaces(why) => order.fence.no_namespaces = Some(why),
            // Once only: the next one is not taken from those that wait.
            StartAttempt::Gone => {}
            // Once only: what is not prepared fits.
            StartAttempt::Unfit => order.fence.unprepared = true,
        }
    }
}

/// Says that the command runs.
fn begun(pid: i32, fences: Fences, tell: &mut impl FnMut(CommandReport<'_>)) -> (Option<i32>, Option<Fences>) {
    let own_network = fences.namespaces && fences.network.holds();
    tell(CommandReport::Started { pid: pid.unsigned_abs(), own_network });
    (Some(pid), Some(fences))
}

enum StartAttempt {
    Over(Box<CommandOutcome>),
    NoNamespaces(String),
    /// The supervisor that had waited ended, or was told to, before it started the command.
    Gone,
    /// What the supervisor had prepared does not fit the order.
    Unfit,
}

impl From<CommandOutcome> for StartAttempt {
    fn from(outcome: CommandOutcome) -> Self {
        StartAttempt::Over(Box::new(outcome))
    }
}

async fn attempt(
    order: &RunOrder,
    setup: &SandboxSetup,
    ready: Option<&ReadySupervisor>,
    tell: &mut impl FnMut(CommandReport<'_>),
    mut stop: &mut Pin<&mut impl Future<Output = ()>>,
    overtime: &mut mpsc::Receiver<Overtime>,
) -> StartAttempt {
    let SupervisorProcess { had_waited, mut control, report, mut written, left } =
        match take_or_start_supervisor(order, setup, ready) {
            Ok(supervisor) => supervisor,
            Err(why) => return CommandOutcome::not_started(why).into(),
        };
    let mut reports = BufReader::new(report).lines();
    let mut outcome =
        CommandOutcome { output: Collected::keeping(setup.limits.output / 2), ..CommandOutcome::default() };
    let mut started = None;
    let (mut taken, mut temp): (bool, Option<PathBuf>) = (false, None);
    let mut open = true;
    let stopped = tokio::select! {
        biased;
        () = &mut stop => true,
        sent = pass_on(&mut control, order, setup) => match sent {
            Ok(()) => false,
            Err(why) => return CommandOutcome::not_started(format!("The command cannot be passed on: {why}.")).into(),
        }
    };
    let mut control = Some(control).filter(|_| !stopped);
    let mut chunk = vec![0; 64 * 1024];
    let began = tokio::time::Instant::now();
    let ending = loop {
        tokio::select! {
            biased;
            () = &mut stop, if control.is_some() => control = None,
            Some(overtime) = overtime.recv() => {
                if let Some(control) = &mut control {
                    // A few bytes: the pipe has room for them.
                    let _ = send(control, &HostMessage::Overtime(overtime)).await;
                }
            }
            report = reports.next_line() => {
                let report = report.ok().flatten().and_then(|line| serde_json::from_str(&line).ok());
                let again = another_attempt(report.as_ref(), order, had_waited, taken);
                // Who was told to stop starts nothing else.
                if let Some(again) = again.filter(|_| control.is_some()) {
                    remove_left(temp.filter(|_| report.is_none())).await;
                    return again;
                }
                match report {
                    Some(SupervisorReport::Temporary(folder)) => {
                        left.note(&folder);
                        temp = Some(folder);
                    }
                    Some(SupervisorReport::Unfit) => break Err("The sandbox could not be prepared for this command.".into()),
                    Some(SupervisorReport::Taken) => taken = true,
                    Some(SupervisorReport::Started { pid, fences }) => (started, outcome.fences) = begun(pid, fences, tell),
                    Some(SupervisorReport::Overdue) => tell(CommandReport::Overdue),
                    Some(SupervisorReport::Rescan) => {
                        let found = scanned(order.folder.clone(), ScanTarget::Control, setup).await;
                        if let Some(control) = &mut control {
                            let _ = send(control, &HostMessage::Scanned(found)).await;
                        }
                    }
                    Some(SupervisorReport::NotStarted { why }) => break Err(why),
                    Some(SupervisorReport::Blocked { why }) => {
                        outcome.blocked = Some(why.clone());
                        break Err(why);
                    }
                    Some(SupervisorReport::NoNamespaces { why }) => break Err(why),
                    Some(SupervisorReport::Ended(ending)) => break Ok(ending),
                    Some(SupervisorReport::Dismissed) => {
                        break Err("The supervisor was ended before the command was started.".into());
                    }
                    None => {
                        outcome.lost = taken;
                        remove_left(temp.take_if(|_| !taken)).await;
                        break Err("The supervisor ended before the command was started.".into());
                    }
                }
            }
            count = written.read(&mut chunk), if open => match count {
                Ok(count @ 1..) => {
                    tell(CommandReport::Output(&chunk[..count]));
                    outcome.output.push(&chunk[..count]);
                    // A command that never stops writing would otherwise keep timers, and so a stop, waiting.
                    tokio::task::yield_now().await;
                }
                Ok(0) | Err(_) => open = false,
            },
        }
    };
    outcome.took = began.elapsed();
    let end = tokio::time::Instant::now() + DRAIN_TIMEOUT;
    while open && let Ok(Ok(count @ 1..)) = tokio::time::timeout_at(end, written.read(&mut chunk)).await {
        tell(CommandReport::Output(&chunk[..count]));
        outcome.output.push(&chunk[..count]);
    }
    // It removes the temporary folder now, and a thread waits for its end.
    conclude(outcome, ending, control.is_none(), started, temp).await.into()
}

/// Removes the temporary folder of a supervisor that has ended without.
async fn remove_left(temp: Option<PathBuf>) {
    if let Some(temp) = temp {
        let _ = tokio::task::spawn_blocking(move || remove(&temp)).await;
    }
}

/// Whether a report, or the end without one, asks for another attempt: nothing was started then.
fn another_attempt(
    report: Option<&SupervisorReport>,
    order: &RunOrder,
    had_waited: bool,
    taken: bool,
) -> Option<StartAttempt> {
    match report {
        Some(SupervisorReport::Unfit) if !order.fence.unprepared => Some(StartAttempt::Unfit),
        Some(SupervisorReport::NoNamespaces { why }) if order.fence.no_namespaces.is_none() => {
            Some(StartAttempt::NoNamespaces(why.clone()))
        }
        Some(SupervisorReport::Dismissed) if had_waited => Some(StartAttempt::Gone),
        None if had_waited && !taken => Some(StartAttempt::Gone),
        _ => None,
    }
}

/// Sends the order, and what is in the folder.
async fn pass_on(control: &mut ChildStdin, order: &RunOrder, setup: &SandboxSetup) -> Result<(), serde_json::Error> {
    let wanted = order.wanted();
    // The order may be longer than a pipe. A supervisor that cannot be written to has ended.
    send(control, &RunOrder { scan_follows: wanted.is_some(), ..order.clone() }).await?;
    let Some(wanted) = wanted else { return Ok(()) };
    // Meanwhile the supervisor starts, and the fence does what does not depend on the folder.
    let found = scanned(order.folder.clone(), wanted, setup).await;
    send(control, &HostMessage::Scanned(found)).await
}

/// The outcome of a command whose supervisor has reported its end, or why there is none.
async fn conclude(
    outcome: CommandOutcome,
    ending: Result<CommandEnding, String>,
    stopped: bool,
    started: Option<i32>,
    temp: Option<PathBuf>,
) -> CommandOutcome {
    match ending {
        Ok(CommandEnding { exit_code, signal, timed_out, stopped, left, stuck, touched, undone }) => {
            CommandOutcome { exit_code, signal, timed_out, stopped, left, stuck, touched, undone, ..outcome }
        }
        Err(_) if outcome.lost => {
            let _ = tokio::task::spawn_blocking(move || clean_up(started, temp)).await;
            outcome
        }
        Err(_) if stopped => {
            let why = Some("It was stopped before it was started.".into());
            CommandOutcome { not_started: why, stopped: true, fences: None, ..outcome }
        }
        Err(why) => CommandOutcome { not_started: Some(why), fences: None, ..outcome },
    }
}

/// A thread waits for its end.
struct SupervisorProcess {
    /// It was started before there was an order.
    had_waited: bool,
    control: ChildStdin,
    report: ChildStdout,
    /// What the command writes, on both of its streams.
    written: ChildStderr,
    left: LeftFolder,
}

fn take_or_start_supervisor(
    order: &RunOrder,
    setup: &SandboxSetup,
    ready: Option<&ReadySupervisor>,
) -> Result<SupervisorProcess, String> {
    let failed = |error| format!("The supervisor {} cannot be started: {error}.", setup.launcher.display());
    let environment = setup.variables(order.sandbox);
    let holder = order.network.as_ref().map(|network| network.holder);
    if let Some(waiting) = ready.and_then(|ready| ready.take(&setup.launcher, &environment, holder)) {
        return Ok(SupervisorProcess {
            had_waited: true,
            control: ChildStdin::from_std(waiting.control).map_err(failed)?,
            report: ChildStdout::from_std(waiting.report).map_err(failed)?,
            written: ChildStderr::from_std(waiting.written).map_err(failed)?,
            left: waiting.left,
        });
    }
    let mut command = supervisor_command(&setup.launcher, &environment, order.begins_early(), holder);
    let mut process = command.spawn().map_err(failed)?;
    let (control, report, written) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
    let left = wait_for_end(process);
    match (control, report, written) {
        (Some(control), Some(report), Some(written)) => Ok(SupervisorProcess {
            had_waited: false,
            control: ChildStdin::from_std(control).map_err(failed)?,
            report: ChildStdout::from_std(report).map_err(failed)?,
            written: ChildStderr::from_std(written).map_err(failed)?,
            left,
        }),
        _ => Err("The supervisor has no pipes.".into()),
    }
}

/// The program as a supervisor. One that begins early puts its command behind a fence with namespaces.
pub(super) fn supervisor_command(
    launcher: &Path,
    environment: &[(OsString, OsString)],
    begins_early: bool,
    holder: Option<u32>,
) -> std::process::Command {
    let mut command = program(launcher);
    command
        .arg(SUPERVISE)
        .args(holder.map(|holder| format!("{HOLDER}{holder}")))
        .args(begins_early.then_some(EARLY))
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// This program as one of its helpers.
pub(super) fn program(launcher: &Path) -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    #[expect(clippy::disallowed_methods, reason = "this is the place where commands are started")]
    let mut command = std::process::Command::new(launcher);
    command.arg0(NAME);
    command
}

/// What commands must be kept from in a folder. None if the supervisor has to scan itself, which takes longer.
async fn scanned(folder: PathBuf, wanted: ScanTarget, setup: &SandboxSetup) -> Option<ScannedFolder> {
    let listings = setup.listings.clone();
    let scanning = tokio::task::spawn_blocking(move || {
        let folder = folder.canonicalize().ok()?;
        let scan = scan_again(&folder, wanted, &listings);
        Some(ScannedFolder { folder, scan })
    });
    // A path that is not UTF-8 cannot be sent.
    scanning.await.ok().flatten().filter(|found| serde_json::to_vec(found).is_ok())
}

/// A supervisor that cannot be written to shows it by its silence. The error is about the message.
async fn send(control: &mut ChildStdin, message: &impl Serialize) -> Result<(), serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let _ = control.write_all(&line).await;
    Ok(())
}

/// The supervisor was killed, so this cleans up as far as possible.
fn clean_up(pid: Option<i32>, temp: Option<PathBuf>) {
    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    if let Some(temp) = temp {
        remove(&temp);
    }
}

/// How the program's helpers are listed among processes.
const NAME: &str = "trimtab";

fn this_executable() -> PathBuf {
    // This name stays true when the program is replaced by a newer one while it runs.
    #[cfg(target_os = "linux")]
    return PathBuf::from("/proc/self/exe");
    #[cfg(not(target_os = "linux"))]
    return std::env::current_exe().unwrap_or_default();
}

/// This program, started again with a new task.
pub(super) fn this_program() -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    #[expect(clippy::disallowed_methods, reason = "this is the place where commands are started")]
    let mut command = std::process::Command::new(this_executable());
    command.arg0(NAME);
    command
}
