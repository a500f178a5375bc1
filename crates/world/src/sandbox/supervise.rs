//! The supervisor: a process that outlives the command and makes sure that no other process does.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use serde::Serialize;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until, timeout};
use trimtab_vocab::{Overtime, Sandbox};

use super::fence::{MountWatch, NamespaceError};
use super::protect::{Aftermath, Protected};
use super::run::this_program;
use super::temp_folder::TempFolder;
use super::terminal::{self, Terminal};
use super::tree::{Reaped, Tree};
use super::wire::{CommandEnding, FenceReport, HostMessage, RunOrder, ScannedFolder, SupervisorReport};
use super::{fence, inherited_fds, networks, proof, server};

/// The second argument that makes the process a fence.
const FENCE: &str = "fence";

/// The argument of a supervisor that begins before it has its order.
pub(super) const EARLY: &str = "early";

/// What precedes the number of the process that holds the networks of sessions, in an argument of a supervisor.
pub(super) const HOLDER: &str = "holder=";

/// How long a supervisor waits for its order. A model seldom takes longer from one command to the next.
pub(super) const READY: Duration = Duration::from_secs(30);

/// How long a command may take to end once its time is up.
const GRACE: Duration = Duration::from_secs(2);

/// How long the processes that a command leaves running may take to end. A `tee` at the end of a redirection is still
/// writing then; a server is not going to end.
pub(super) const LINGER: Duration = Duration::from_millis(250);

/// How long the host may take to read what is left in the terminal of a command that is over.
const LAST_READING: Duration = Duration::from_secs(5);

/// How long the host may take to look at the folder. It gives up before that.
const LONGEST_SCAN: Duration = Duration::from_secs(10);

/// An order is a command line and some paths. What is longer is not one.
const LONGEST_ORDER: usize = 32 * 1024 * 1024;

/// The whole life of a supervisor, and of a fence. The program's `main` calls it when its first
/// argument is [`SUPERVISE`](super::SUPERVISE), before it does anything else.
pub fn main() -> ExitCode {
    match std::env::args_os().nth(2).as_deref().and_then(OsStr::to_str) {
        Some(FENCE) => return fence::main(),
        Some(proof::BREAK) => return proof::break_out(),
        Some(proof::OUTLIVE) => return proof::outlive(),
        _ if networks::is_wanted() => return networks::main(),
        _ if server::is_wanted() => return server::main(),
        _ => {}
    }
    inherited_fds::close();
    // The host handles a Ctrl-C at the terminal. It must not end the process that cleans up.
    let _ = rustix::process::setsid();
    Tree::watch_over_orphans();
    let begins_early = std::env::args_os().skip(2).any(|argument| argument == EARLY);
    let holder = std::env::args().skip(2).find_map(|argument| argument.strip_prefix(HOLDER)?.parse().ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.ok().and_then(|runtime| runtime.block_on(supervise(begins_early, holder))) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// `holder`: the process that holds the networks of sessions, as far as it is known before the order.
async fn supervise(begins_early: bool, holder: Option<u32>) -> Option<()> {
    let mut control = HostPipe::open()?;
    let mut temp = TempFolder::default();
    let prepared = begins_early.then(|| Preparation::begin(&mut temp, holder));
    let mut order = tokio::select! {
        // Mounts first: the kernel reports each change once.
        biased;
        () = mounts_change(prepared.as_ref()) => {
            tell(&SupervisorReport::Unfit);
            return Some(());
        }
        order = timeout(READY, control.order()) => order.ok()??,
    };
    if begins_early && !order.begins_early() {
        return None;
    }
    order.fence.supervisor = std::process::id();
    let started = true_folder(&mut order);
    if prepared.as_ref().is_some_and(|prepared| !prepared.fits(&order, &temp)) {
        tell(&SupervisorReport::Unfit);
        return Some(());
    }
    let (entered, fence) = prepared.map_or_else(|| (None, None), |prepared| (Some(prepared.entered), prepared.fence));
    if order.sandbox != Sandbox::Off && order.fence.no_namespaces.is_none() {
        match entered.unwrap_or_else(|| fence::found(holder)) {
            Ok(()) => order.is_init = true,
            Err(NamespaceError::Unavailable(why)) => order.fence.no_namespaces = Some(why),
            Err(NamespaceError::Halfway(why)) => {
                tell(&SupervisorReport::NoNamespaces { why });
                return Some(());
            }
        }
    }
    let started = started.and_then(|()| if order.sandbox == Sandbox::Off { Ok(()) } else { temp.make() });
    let started = started.and_then(|()| {
        order.fence.temp = temp.path().map(Path::to_owned);
        let shares_devices = temp.path().is_some_and(fence::is_shared_device) || fence::is_shared_device(&order.folder);
        fence.unwrap_or_else(|| start(order.terminal, order.is_init.then_some(shares_devices)))
    });
    match started {
        Err(why) => tell(&SupervisorReport::NotStarted { why }),
        Ok(mut started) => {
            tell(&SupervisorReport::Taken);
            keep_hidden(&mut order);
            let passed_on = started.pass_on(&order);
            let scanned = if order.scan_follows { control.scanned().await } else { None };
            if control.stopped {
                started.tree.kill();
                tell(&SupervisorReport::Dismissed);
            } else {
                let (protected, marks) = Protected::prepare(&order, scanned);
                let passed_on = passed_on.and_then(|()| started.pass_on(&marks));
                started.ear = None;
                attend(&mut control, &order, protected, passed_on, &mut started).await;
            }
        }
    }
    Some(())
}

/// What a supervisor does before it has its order.
struct Preparation {
    /// Whether it is in namespaces.
    entered: Result<(), NamespaceError>,
    /// The fence that waits, if it is.
    fence: Option<Result<Started, String>>,
    /// The list of mounts as it was before. The fence has a view of it, which must not be older than the command.
    mounts: Option<MountWatch>,
    shares_devices: bool,
}

impl Preparation {
    fn begin(temp: &mut TempFolder, holder: Option<u32>) -> Self {
        let entered = fence::found(holder);
        let mounts = MountWatch::open();
        let shares_devices = std::env::temp_dir().canonicalize().is_ok_and(|base| fence::is_shared_device(&base));
        let fence = entered.is_ok().then(|| start(false, Some(shares_devices)));
        // Meanwhile the fence starts. An error is reported with the order.
        let _ = temp.make();
        Self { entered, fence, mounts, shares_devices }
    }

    /// Whether the fence that waits can be used for an order.
    fn fits(&self, order: &RunOrder, temp: &TempFolder) -> bool {
        let same_mounts = self.mounts.as_ref().is_some_and(|mounts| !mounts.has_changed());
        // Whoever tidies up temporary files may have removed a folder that waits.
        let has_temp = temp.path().is_none_or(Path::is_dir);
        let fits_devices = self.shares_devices || !fence::is_shared_device(&order.folder);
        has_temp && (self.fence.is_none() || same_mounts && fits_devices)
    }
}

/// Comes when a mount comes or goes. A fence that waits must not hold on to what the user unmounts.
async fn mounts_change(prepared: Option<&Preparation>) {
    match prepared.and_then(|prepared| prepared.mounts.as_ref()) {
        Some(mounts) => mounts.change().await,
        None => std::future::pending().await,
    }
}

/// Sees the command to its end, undoes what could not be prevented, and reports.
async fn attend(
    control: &mut HostPipe,
    order: &RunOrder,
    mut protected: Protected,
    passed_on: Result<(), String>,
    started: &mut Started,
) {
    let outcome = match passed_on {
        Ok(()) => run(control, order, started).await,
        Err(why) => Err(SupervisorReport::NotStarted { why }),
    };
    if !started.voice.is_alone() {
        started.tree.kill();
    }
    // The host looks at the folder meanwhile. The mounts of the fence need not be gone: nothing is left that could use
    // them, and the kernel takes them off what is removed.
    let (aftermath, _removed) = if order.is_scanned_afterwards() {
        control.ask_to_rescan();
        let removed = protected.remove_placeholders();
        (protected.finish(control.rescanned().await), removed)
    } else {
        let aftermath = protected.finish(None);
        (aftermath, protected.remove_placeholders())
    };
    let Aftermath { touched, undone } = aftermath;
    // First the report: to take down mounts, to close what was removed, or to remove a large temporary folder, takes its
    // time.
    tell(&match outcome {
        Ok(ending) => SupervisorReport::Ended(CommandEnding { touched, undone, ..ending }),
        Err(report) => report,
    });
    started.tree.kill();
}

async fn run(
    control: &mut HostPipe,
    order: &RunOrder,
    started: &mut Started,
) -> Result<CommandEnding, SupervisorReport> {
    let not_started = |why: String| SupervisorReport::NotStarted { why };
    let child = signal(SignalKind::child());
    let mut child = child.map_err(|error| not_started(format!("Signals cannot be received: {error}.")))?;
    let Started { tree, main, ours, voice, .. } = started;
    let ready = tokio::select! {
        ready = voice.ready() => ready,
        () = control.stop() => None,
    };
    let output = std::io::stderr().as_fd().try_clone_to_owned();
    let terminal = ours.take().zip(output.ok()).map(|(ours, output)| Terminal::relay(ours, output));
    // The command, or the relay of its terminal, has the pipe now. It must end with its last writer.
    release_output();
    let fences = match ready {
        Some(FenceReport::Fenced(fences)) => fences,
        ready => {
            let stuck = tree.kill();
            return match ready {
                Some(FenceReport::Halfway(why)) => Err(SupervisorReport::NoNamespaces { why }),
                Some(FenceReport::Blocked(why)) => Err(SupervisorReport::Blocked { why }),
                Some(FenceReport::Failed(why)) => Err(SupervisorReport::NotStarted { why }),
                // The fence is gone, so what it has said is all. It says that the fences are up before it starts anything.
                _ if control.stopped => match timeout(LINGER, voice.ready()).await {
                    Ok(None) => Err(SupervisorReport::Dismissed),
                    _ => Ok(CommandEnding { stopped: true, stuck, ..CommandEnding::default() }),
                },
                // It was killed, or could not go on. Another one may.
                _ if order.begins_early() => Err(SupervisorReport::Unfit),
                _ => Err(not_started("The sandbox failed before the command was started.".into())),
            };
        }
    };
    tell(&SupervisorReport::Started { pid: main.as_raw_nonzero().get(), fences });
    let timed_out = !in_time(control, order, tree, voice, &mut child).await;
    let mut ending = CommandEnding { timed_out, ..CommandEnding::default() };
    if ending.timed_out {
        tree.ask_to_end();
        tokio::select! {
            () = control.stop() => {}
            _ = timeout(GRACE, main_ends(tree, voice, &mut child)) => {}
        }
    }
    let end = Instant::now() + LINGER;
    while tree.ended.is_some() && !control.stopped && tree.reap() != Reaped::All && Instant::now() < end {
        tokio::select! {
            () = control.stop() => {}
            _ = child.recv() => {}
            () = sleep_until(end) => {}
        }
    }
    // The remaining process is the fence, which ends on its own and no longer shares anything with the command.
    if !voice.is_alone() || terminal.is_some() {
        ending.stuck = tree.kill();
    }
    if let Some(terminal) = terminal {
        let is_free = !control.stopped && ending.stuck == 0;
        terminal.close(if is_free { LAST_READING } else { LINGER }).await;
    }
    ending.stopped = control.stopped;
    (ending.exit_code, ending.signal, ending.left) = match voice.over().await {
        Some((exit_code, signal, left)) => (exit_code, signal, left),
        None => (
            tree.ended.and_then(|status| status.exit_status()),
            tree.ended.and_then(|status| status.terminating_signal()),
            tree.left,
        ),
    };
    Ok(ending)
}

/// Waits for the end of the command or of its time. Returns whether it ended, or was stopped, in time. In attended runs,
/// it continues when its time is up, until the user decides.
async fn in_time(
    control: &mut HostPipe,
    order: &RunOrder,
    tree: &mut Tree,
    voice: &mut Voice,
    child: &mut Signal,
) -> bool {
    let mut end = Instant::now().checked_add(Duration::from_millis(order.timeout_ms));
    loop {
        tokio::select! {
            overtime = control.overtime() => match overtime {
                None => return true,
                Some(Overtime::Seconds(seconds)) => end = Instant::now().checked_add(Duration::from_secs(seconds)),
                Some(Overtime::Unlimited) => end = None,
                Some(Overtime::None) => return false,
            },
            () = main_ends(tree, voice, child) => return true,
            () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => match order.attended {
                true => {
                    tell(&SupervisorReport::Overdue);
                    end = None;
                }
                false => return false,
            },
        }
    }
}

/// Resolves when the command has ended: it was reaped, or the fence reports that it and all other processes are gone.
async fn main_ends(tree: &mut Tree, voice: &mut Voice, child: &mut Signal) {
    tokio::select! {
        () = tree.main_ends(child) => {}
        () = voice.left_alone() => {}
    }
}

struct Started {
    tree: Tree,
    main: Pid,
    /// The supervisor's end of the terminal.
    ours: Option<OwnedFd>,
    voice: Voice,
    ear: Option<ChildStdin>,
}

impl Started {
    /// Tells the fence what to do. If it dies while it listens, what it says, or does not say, tells.
    fn pass_on(&mut self, what: &impl Serialize) -> Result<(), String> {
        let mut line = serde_json::to_vec(what).map_err(|error| format!("The order cannot be passed on: {error}."))?;
        line.push(b'\n');
        let _ = self.ear.as_mut().map(|ear| ear.write_all(&line));
        Ok(())
    }
}

/// Starts a fence, which will become the command, or its parent, once it has its order. `apart`: this process is in
/// namespaces; whether the command works in the folder of devices.
fn start(has_terminal: bool, apart: Option<bool>) -> Result<Started, String> {
    let failed = |error: std::io::Error| format!("The sandbox cannot start: {error}.");
    let (ours, theirs) = has_terminal.then(terminal::open).transpose()?.unzip();
    let mut fence = this_program()
        .args([super::SUPERVISE, FENCE])
        .args(apart.map(|shares_devices| if shares_devices { fence::SHARING_DEVICES } else { fence::APART }))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(theirs.map_or_else(Stdio::inherit, Stdio::from))
        .spawn()
        .map_err(failed)?;
    let main = i32::try_from(fence.id()).ok().and_then(Pid::from_raw).ok_or("A process without a number.")?;
    let tree = Tree::new(main, apart.is_some());
    let ear = fence.stdin.take();
    let words = fence.stdout.take().ok_or("The sandbox process has no output.")?;
    let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(words)).map_err(failed)?;
    let voice = Voice { pipe, read: Vec::new(), fenced: None, over: None };
    Ok(Started { tree, main, ours, voice, ear })
}

/// What the fence says.
struct Voice {
    pipe: pipe::Receiver,
    read: Vec<u8>,
    /// That the fences are up, once it has said it.
    fenced: Option<FenceReport>,
    /// How the command ended, and how many processes it has left.
    over: Option<(Option<i32>, Option<i32>, u32)>,
}

impl Voice {
    async fn next(&mut self) -> Option<FenceReport> {
        let line = next_line(&mut self.pipe, &mut self.read).await?;
        serde_json::from_slice(&line).ok()
    }

    /// How it went. One that becomes the command falls silent by that, and so does one that is killed meanwhile.
    async fn ready(&mut self) -> Option<FenceReport> {
        loop {
            match self.next().await {
                Some(ready @ FenceReport::Fenced(_)) => self.fenced = Some(ready),
                Some(FenceReport::Running) | None => return self.fenced.take(),
                ready => return ready,
            }
        }
    }

    /// How the command ended, if the fence has seen it.
    async fn over(&mut self) -> Option<(Option<i32>, Option<i32>, u32)> {
        if self.over.is_none()
            && let Some(FenceReport::Over { exit_code, signal, left }) = timeout(LINGER, self.next()).await.ok()?
        {
            self.over = Some((exit_code, signal, left));
        }
        self.over
    }

    /// Comes when the fence says that the command has ended and has left no process. In its namespace all orphans are
    /// its children, so that it knows.
    async fn left_alone(&mut self) {
        if self.over.is_none()
            && let Some(FenceReport::Over { exit_code, signal, left }) = self.next().await
        {
            self.over = Some((exit_code, signal, left));
        }
        if !self.is_alone() {
            std::future::pending::<()>().await;
        }
    }

    fn is_alone(&self) -> bool {
        matches!(self.over, Some((_, _, 0)))
    }
}

pub(super) fn tell(report: &SupervisorReport) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        // The host may be gone. The cleanup continues anyway.
        let _ = std::io::stdout().write_all(&line).and_then(|()| std::io::stdout().flush());
    }
}

/// Lets go of the pipe that the command writes to.
pub(super) fn release_output() {
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stderr(null.as_fd());
    }
}

/// Fences are put around what a path leads to, not around a link on the way.
fn true_folder(order: &mut RunOrder) -> Result<(), String> {
    let shown = order.folder.display();
    let folder = order.folder.canonicalize().map_err(|error| format!("The folder {shown} cannot be used: {error}."))?;
    order.folder = folder;
    Ok(())
}

/// The hidden paths that exist, and their targets. Once the home is emptied, links in it can no longer be followed.
fn keep_hidden(order: &mut RunOrder) {
    let is_missing = |path: &PathBuf| {
        path.symlink_metadata()
            .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
    };
    // Seatbelt goes by names, and refuses what comes later, too.
    order.hidden.retain(|path| cfg!(not(target_os = "linux")) || !is_missing(path));
    let real: Vec<PathBuf> = order.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    order.hidden.extend(real);
    order.hidden.sort();
    order.hidden.dedup();
}

/// The pipe from the host: the command may run while the host holds it.
struct HostPipe {
    pipe: pipe::Receiver,
    signals: [Signal; 3],
    stopped: bool,
    /// What was read of the next line.
    read: Vec<u8>,
}

impl HostPipe {
    fn open() -> Option<Self> {
        let stdin = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        let pipe = pipe::Receiver::from_owned_fd(stdin).ok()?;
        let [term, int, hup] = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Some(Self { pipe, signals: [term.ok()?, int.ok()?, hup.ok()?], stopped: false, read: Vec::new() })
    }

    /// The first line. None if there will be none.
    async fn order(&mut self) -> Option<RunOrder> {
        serde_json::from_slice(&self.line().await?).ok()
    }

    /// The next line. None if the pipe is closed in any way, or if the supervisor itself is to end.
    async fn line(&mut self) -> Option<Vec<u8>> {
        let [term, int, hup] = &mut self.signals;
        tokio::select! {
            // Signals first, because a supervisor that must end takes no order that arrives at the same moment.
            biased;
            _ = term.recv() => None,
            _ = int.recv() => None,
            _ = hup.recv() => None,
            line = next_line(&mut self.pipe, &mut self.read) => line,
        }
    }

    /// What the host says about the command's time. None when the command is to be killed.
    async fn overtime(&mut self) -> Option<Overtime> {
        if self.stopped {
            return None;
        }
        let message = self.line().await.and_then(|line| serde_json::from_slice(&line).ok());
        let Some(HostMessage::Overtime(overtime)) = message else {
            self.stopped = true;
            return None;
        };
        Some(overtime)
    }

    /// What the host finds in the folder. None if it is gone, cannot look, or is busy with something else.
    async fn scanned(&mut self) -> Option<ScannedFolder> {
        let answer = async {
            loop {
                let Some(line) = self.line().await else {
                    self.stopped = true;
                    return None;
                };
                match serde_json::from_slice(&line).ok()? {
                    HostMessage::Scanned(found) => return found,
                    // The command has ended just as its time was extended.
                    HostMessage::Overtime(_) => {}
                }
            }
        };
        timeout(LONGEST_SCAN, answer).await.ok().flatten()
    }

    fn ask_to_rescan(&self) {
        if !self.stopped {
            tell(&SupervisorReport::Rescan);
        }
    }

    /// What it finds there after the command, once it was asked.
    async fn rescanned(&mut self) -> Option<ScannedFolder> {
        if self.stopped { None } else { self.scanned().await }
    }

    /// Comes when the command is to be killed.
    async fn stop(&mut self) {
        while self.overtime().await.is_some() {}
    }
}

/// The next line; none if the pipe is closed. What was read of it is kept if it is no longer waited for.
async fn next_line(pipe: &mut pipe::Receiver, read: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut looked = 0;
    loop {
        if let Some(end) = read[looked..].iter().position(|byte| *byte == b'\n') {
            return Some(read.drain(..=looked + end).collect());
        }
        looked = read.len();
        if pipe.read_buf(read).await.ok()? == 0 || read.len() > LONGEST_ORDER {
            return None;
        }
    }
}
