//! Runs commands between two snapshots of their folder. A command that goes to the background is reported twice: its call
//! ends with what it has written so far, and the task that runs it stays with the actor until the command ends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use trimtab_engine::terminal::{OutputPattern, Readable, local_ports, readable};
use trimtab_engine::{BackgroundWait, Detached, Input, Ran};
use trimtab_vocab::event::CommandFact;
use trimtab_vocab::{
    BackgroundReason, CallId, CommandPlan, Event, OpenPort, Overtime, ReadyWhen, RefKey, RequestId, Sandbox, SessionId,
    SnapshotLimits,
};
use trimtab_world::sandbox::{listening_ports, own_listening_ports};
use trimtab_world::store::StoreError;

use crate::StreamController;
use crate::actor::ActorError;
use crate::background::LiveOutput;
use crate::client::ActorContext;
use crate::effects::ActorHandle;
use crate::hub::Update;
use crate::snapshot::{self, FolderBefore};
use crate::tools::{report, report_and_keep};
use crate::workspace::{CommandUpdate, EndedCommand};

/// Bytes of a command's output that are shown as they come, at most.
const LIVE: usize = 4 * 1024 * 1024;
/// Bytes of it that are passed on to be looked at, at most.
const PASSED_ON: usize = 64 * 1024;
/// Bytes of it that are always shown whole.
const SHOWN_WHOLE: usize = 1024;

/// How long a background command may take to be ready before its call ends.
const READY_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether it is ready, and later whether it has opened ports.
const LOOK_OFTEN: Duration = Duration::from_millis(100);
const LOOK_SELDOM: Duration = Duration::from_secs(1);
/// How often the output of a background command is stored, if it has grown.
const SAVE: Duration = Duration::from_secs(10);
/// Bytes of an output that are searched once more together with what follows them.
const OVERLAP: u64 = 4 * 1024;

/// A command to start, and how it is controlled.
pub(crate) struct CommandStart {
    pub(crate) plan: CommandPlan,
    pub(crate) watch: Option<SnapshotLimits>,
    pub(crate) overtime: mpsc::Receiver<Overtime>,
    /// It is to continue in the background.
    pub(crate) detach: mpsc::Receiver<BackgroundReason>,
    pub(crate) background: Option<BackgroundWait>,
}

pub(crate) struct CommandOrder {
    pub(crate) request: RequestId,
    pub(crate) call: CallId,
    pub(crate) folder: String,
    pub(crate) start: CommandStart,
}

/// Runs a command and reports what it wrote and changed.
pub(crate) async fn run_command(
    deps: &ActorContext,
    reporter: &ActorHandle,
    order: CommandOrder,
    controller: &StreamController,
) -> Result<(), ActorError> {
    let CommandOrder { request, call, folder, start } = order;
    let CommandStart { plan, watch, overtime, mut detach, background } = start;
    let session = reporter.lease.session();
    let before = match watch {
        Some(watch) => Some(snapshot::before(deps, session, &call, &folder, watch, controller).await?),
        None => None,
    };
    if let Some(FolderBefore::Stopped) = before {
        let ran = Ran { stopped: true, ..Ran::default() };
        return report(deps, reporter, &Input::Ran { call, ran, effects: None }).await;
    }
    let must_be_covered = watch.is_some_and(|watch| watch.whole);
    let plan = match must_be_covered.then(|| snapshot::read_only(before.as_ref(), plan.run())) {
        None => plan,
        Some(Ok(paths)) => plan.guarded(paths),
        Some(Err(reason)) => {
            let keeps = snapshot::ended(session, &call, before.as_ref());
            let ran = Ran { blocked: Some(reason), ..Ran::default() };
            return report_and_keep(deps, reporter, &Input::Ran { call, ran, effects: None }, keeps).await;
        }
    };
    let live = deps.commands.add(session, &call);
    let (due, mut dues) = watch::channel(0_u32);
    let shown = AtomicUsize::new(0);
    let tell = |told: CommandUpdate<'_>| match told {
        CommandUpdate::Started { pid, own_network } => live.output.set_process(pid, own_network),
        CommandUpdate::Output(text) => {
            live.output.push(text);
            // Live output is for watchers, and more than this is too much to watch.
            if shown.fetch_add(text.len(), Ordering::Relaxed) <= LIVE {
                show(deps, session, &request, &call, text);
            }
        }
        CommandUpdate::Overdue => due.send_modify(|times| *times += 1),
    };
    let workspace = deps.world.workspace(session);
    let mut watched = CommandWatch::new(deps, reporter, &request, &call, &live.output, background, plan.run().sandbox);
    let ended = {
        let mut running = std::pin::pin!(workspace.run(&plan, &tell, controller, overtime));
        loop {
            tokio::select! {
                biased;
                ended = &mut running => break ended,
                Ok(()) = dues.changed(), if !watched.is_detached => {
                    // Not into the inbox: a command does not outlive whom it tells.
                    let _ = reporter.mailbox.send(Input::Overdue { call: call.clone() }).await;
                }
                Some(why) = detach.recv(), if !watched.is_detached => {
                    watched.detach(why, watch, before.as_ref()).await?;
                }
                () = watched.next_look() => watched.look(watch, before.as_ref()).await?,
            }
        }
    };
    let is_detached = watched.is_detached;
    let key = (plan.run().archive || is_detached).then(|| RefKey::output_of(&request, &call));
    let mut ran = read(deps, session, ended, key, is_detached).await?;
    if must_be_covered {
        ran.notes.extend(snapshot::notes(before.as_ref(), ran.exit_code != Some(0)));
    }
    let keeps = match is_detached {
        true => snapshot::apart_ended(session, &call),
        false => snapshot::ended(session, &call, before.as_ref()),
    };
    let effects = match watch.zip(before) {
        Some((watch, before)) if is_detached => {
            Some(Box::new(snapshot::after_apart(deps, session, &folder, watch, before).await?))
        }
        Some((watch, before)) => Some(Box::new(snapshot::after(deps, session, &call, &folder, watch, before).await?)),
        None => None,
    };
    if let Some(effects) = effects.as_ref().filter(|_| !is_detached) {
        for (call, effects) in snapshot::changed_so_far(deps, session, &folder, &effects.writes).await? {
            report(deps, reporter, &Input::BackgroundChanged { call, effects: Box::new(effects) }).await?;
        }
    }
    report_and_keep(deps, reporter, &Input::Ran { call, ran, effects }, keeps).await
}

/// Sends output to the current watchers of the session.
fn show(deps: &ActorContext, session: &SessionId, request: &RequestId, call: &CallId, text: &str) {
    let fact = CommandFact::Output { call: Some(call.clone()), text: text.to_owned() }.into();
    let time = deps.world.clock.now();
    let event = Event { seq: None, time, session: session.clone(), request: Some(request.clone()), fact };
    deps.hub.publish(session, Update::Event(Arc::new(event)));
}

/// Finds the file changes of a background command that ended with an earlier owner.
pub(crate) async fn inspect_background(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    call: CallId,
    folder: String,
    watch: SnapshotLimits,
) -> Result<(), ActorError> {
    let session = reporter.lease.session();
    // A process that is about to exit waits for it.
    let inspected = deps.commands.add(session, &call);
    inspected.output.set_detached();
    let before = snapshot::kept_apart(&deps, session, &call).await?;
    let effects = Box::new(snapshot::after_apart(&deps, session, &folder, watch, before).await?);
    let keeps = snapshot::apart_ended(session, &call);
    report_and_keep(&deps, &reporter, &Input::Surveyed { call, effects }, keeps).await
}

/// Watches a command that is to go, or went, to the background.
struct CommandWatch<'a> {
    deps: &'a ActorContext,
    reporter: &'a ActorHandle,
    request: &'a RequestId,
    call: &'a CallId,
    output: &'a LiveOutput,
    /// It was started to continue in the background.
    is_background: bool,
    is_detached: bool,
    ready: Option<Readiness>,
    is_ready: bool,
    /// How much of its output was searched for what makes it ready.
    searched: u64,
    sandbox: Sandbox,
    ports: BTreeSet<u16>,
    until: Instant,
    next: Instant,
    /// When its output was stored last, and how much there was.
    saved: (Instant, u64),
}

enum Readiness {
    Port(u16),
    Output(OutputPattern),
}

impl<'a> CommandWatch<'a> {
    fn new(
        deps: &'a ActorContext,
        reporter: &'a ActorHandle,
        request: &'a RequestId,
        call: &'a CallId,
        output: &'a LiveOutput,
        background: Option<BackgroundWait>,
        sandbox: Sandbox,
    ) -> Self {
        let now = Instant::now();
        let is_background = background.is_some();
        let ready = background.and_then(|wait| wait.ready).map(|ready| match ready {
            ReadyWhen::Port(port) => Readiness::Port(port),
            ReadyWhen::Output(text) => Readiness::Output(OutputPattern::new(&text)),
        });
        // Outside of the sandbox, a port that is in use already is not the command's.
        let ports = match (sandbox, &ready) {
            (Sandbox::Off, Some(Readiness::Port(_))) => listening_ports(std::process::id()),
            _ => BTreeSet::new(),
        };
        let (until, next, saved) = (now + READY_PATIENCE, now + LOOK_OFTEN, (now, 0));
        Self {
            deps,
            reporter,
            request,
            call,
            output,
            is_background,
            is_detached: false,
            ready,
            is_ready: false,
            searched: 0,
            sandbox,
            ports,
            until,
            next,
            saved,
        }
    }

    /// Comes when there is something to look for again. A command in the foreground costs nothing.
    async fn next_look(&self) {
        match self.is_background || self.is_detached {
            true => tokio::time::sleep_until(self.next).await,
            false => std::future::pending().await,
        }
    }

    async fn look(&mut self, watch: Option<SnapshotLimits>, before: Option<&FolderBefore>) -> Result<(), ActorError> {
        self.next = Instant::now() + if self.is_detached { LOOK_SELDOM } else { LOOK_OFTEN };
        if !self.is_detached {
            self.is_ready = self.looks_ready().await;
            if self.is_ready || Instant::now() >= self.until {
                self.detach(BackgroundReason::Started, watch, before).await?;
            }
            return Ok(());
        }
        let ready = !self.is_ready && self.looks_ready().await;
        self.is_ready |= ready;
        let ports = self.new_ports().await;
        if ready || !ports.is_empty() {
            let news = Input::BackgroundNews { call: self.call.clone(), ready, ports };
            let _ = self.reporter.mailbox.send(news).await;
        }
        self.save().await
    }

    /// Lets the call end; the command continues.
    async fn detach(
        &mut self,
        why: BackgroundReason,
        watch: Option<SnapshotLimits>,
        before: Option<&FolderBefore>,
    ) -> Result<(), ActorError> {
        let session = self.reporter.lease.session();
        let noted = match before {
            Some(FolderBefore::Noted(noted)) => Some(noted),
            _ => None,
        };
        if let Some(noted) = noted {
            snapshot::keep_apart(self.deps, session, self.call, noted).await?;
        }
        let ports = self.new_ports().await;
        let (bytes, end) = self.output.kept();
        let mut output = readable(&bytes).text;
        shorten(&mut output);
        let output_bytes = if end > output.len() as u64 { end } else { 0 };
        let ready = self.ready.is_some().then_some(self.is_ready);
        let watch = watch.filter(|_| noted.is_some());
        let detached = Detached { why, ready, ports, output, output_bytes, watch };
        self.is_detached = true;
        self.output.set_detached();
        report(self.deps, self.reporter, &Input::Detached { call: self.call.clone(), detached }).await
    }

    async fn looks_ready(&mut self) -> bool {
        match &self.ready {
            None => false,
            Some(Readiness::Port(port)) => self.listens().await.contains(port) && !self.ports.contains(port),
            Some(Readiness::Output(pattern)) => {
                // What was searched before is not searched again, apart from a little that may belong to what follows.
                let (text, end) = self.output.read_from(self.searched.saturating_sub(OVERLAP));
                let is_new = end > self.searched;
                self.searched = end;
                is_new && pattern.is_in(&readable(&text).text)
            }
        }
    }

    /// The ports that the command listens on, or outside the sandbox all ports with a listener. They are read in a
    /// thread, because a command may have thousands of processes and files.
    async fn listens(&self) -> BTreeSet<u16> {
        let reading = match self.output.process() {
            Some((pid, true)) => tokio::task::spawn_blocking(move || own_listening_ports(pid)),
            Some((_, false)) | None if self.sandbox == Sandbox::Off => {
                tokio::task::spawn_blocking(|| listening_ports(std::process::id()))
            }
            _ => return BTreeSet::new(),
        };
        reading.await.unwrap_or_default()
    }

    /// Ports that it has opened since the last look: in its own network all of them, else those that its output names and
    /// somebody listens on.
    async fn new_ports(&mut self) -> Vec<OpenPort> {
        let own_network = self.output.process().is_some_and(|(_, own)| own);
        let mut found = self.listens().await;
        // The output is searched only if there is a listener.
        if !own_network && !found.is_empty() {
            let named = local_ports(&readable(&self.output.kept().0).text);
            let waited = self.ready.iter().find_map(|ready| match ready {
                Readiness::Port(port) => Some(*port).filter(|_| self.is_ready),
                Readiness::Output(_) => None,
            });
            found.retain(|port| named.contains(port) || waited == Some(*port));
        }
        let new: Vec<u16> = found.into_iter().filter(|port| !self.ports.contains(port)).collect();
        self.ports.extend(&new);
        new.into_iter().map(|port| OpenPort { port, reachable: !own_network, ..OpenPort::default() }).collect()
    }

    /// Stores the output from time to time, for other processes and for a kill.
    async fn save(&mut self) -> Result<(), ActorError> {
        let (at, bytes) = self.saved;
        if at.elapsed() < SAVE || self.output.end() == bytes {
            return Ok(());
        }
        let (kept, end) = self.output.kept();
        let key = RefKey::output_of(self.request, self.call);
        self.deps.world.store.keep(self.reporter.lease.session(), &key, kept).await?;
        self.saved = (Instant::now(), end);
        Ok(())
    }
}

/// Head and tail are more than the model or the user is shown.
fn shorten(text: &mut String) {
    if text.len() > PASSED_ON {
        let (head, tail) =
            (text.floor_char_boundary(PASSED_ON / 2), text.ceil_char_boundary(text.len() - PASSED_ON / 2));
        text.replace_range(head..tail, "\n");
    }
}

/// Reads what a command has written, and stores it if not all of it will be shown, or if `always`.
async fn read(
    deps: &ActorContext,
    session: &SessionId,
    ended: EndedCommand,
    key: Option<RefKey>,
    always: bool,
) -> Result<Ran, StoreError> {
    let EndedCommand { mut ran, output, dropped } = ended;
    let Readable { mut text, is_whole, is_binary } = readable(&output);
    let total = text.len() as u64 + dropped;
    shorten(&mut text);
    if dropped > 0 || total > text.len() as u64 {
        ran.output_bytes = total;
    }
    if let Some(key) = key.filter(|_| always || !is_whole || dropped > 0 || text.len() > SHOWN_WHOLE) {
        deps.world.store.keep_soon(session, vec![(key.clone(), output)]).await?;
        if is_binary {
            ran.notes.push(format!("The bytes are saved as ref:{key}."));
        }
        ran.raw = Some(key);
    }
    if dropped > 0 {
        ran.notes.push(format!("The output was too long: {dropped} bytes from the middle were discarded."));
    }
    ran.output = text;
    Ok(ran)
}
