//! Background commands: their output while they run, lists of them, and their end with the program.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use trimtab_engine::Input;
use trimtab_engine::terminal::readable;
use trimtab_vocab::event::{CommandFact, SessionFact, ToolStatus};
use trimtab_vocab::{
    BackgroundEnd, BackgroundId, BackgroundRow, BackgroundText, CallId, Control, Event, Fact, LoopbackName, OpenPort,
    Problem, ProblemKind, ReadResult, RefKey, SessionId, StoppedBy,
};
use trimtab_world::network::PortForward;
use trimtab_world::store::{NewInput, StoreError};

use crate::client::{ActorContext, check_session, store_problem};
use crate::effects::written;
use crate::handles::BackgroundCommands;
use crate::hub::POLL_INTERVAL;

/// Bytes of the end of a command's output that are kept while it runs.
const RING: usize = 1024 * 1024;
/// How long commands may take to end when the program does.
const END_PATIENCE: Duration = Duration::from_secs(6);
/// Facts that are read at once.
const PAGE: u32 = 1000;
/// Sessions whose background commands are kept in memory.
const MOST_KNOWN: usize = 64;
/// Bytes of output that a list or a page asks for at most.
const LONGEST_READ: usize = 256 * 1024;

/// The end of an output, with the position of its first byte in the whole.
#[derive(Debug, Default)]
struct OutputRing {
    bytes: VecDeque<u8>,
    start: u64,
}

impl OutputRing {
    fn push(&mut self, bytes: &[u8]) {
        let bytes_left = &bytes[bytes.len().saturating_sub(RING)..];
        self.start += (bytes.len() - bytes_left.len()) as u64;
        let over = (self.bytes.len() + bytes_left.len()).saturating_sub(RING);
        self.bytes.drain(..over);
        self.start += over as u64;
        self.bytes.extend(bytes_left);
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// At most `limit` bytes from `since` on, or the last ones, and the position of the first.
    fn read(&self, since: Option<u64>, limit: usize) -> (u64, Vec<u8>) {
        let end = self.end();
        let from = since.unwrap_or_else(|| end.saturating_sub(limit as u64)).clamp(self.start, end);
        let skipped = usize::try_from(from - self.start).unwrap_or(usize::MAX);
        (from, self.bytes.iter().skip(skipped).take(limit).copied().collect())
    }
}

/// The output of a command that runs here.
#[derive(Debug, Default)]
pub(crate) struct LiveOutput {
    ring: Mutex<OutputRing>,
    /// Its process, and whether that has its own network.
    pid: AtomicU32,
    own_network: AtomicBool,
    is_detached: AtomicBool,
    /// Its ports that the user opened. They close when it ends.
    opened: Mutex<Vec<PortForward>>,
}

impl LiveOutput {
    pub(crate) fn push(&self, text: &str) {
        lock(&self.ring).push(text.as_bytes());
    }

    pub(crate) fn set_process(&self, pid: u32, own_network: bool) {
        self.own_network.store(own_network, Ordering::Relaxed);
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// The process, and whether it has its own network; none before it runs.
    pub(crate) fn process(&self) -> Option<(u32, bool)> {
        let pid = self.pid.load(Ordering::Relaxed);
        (pid != 0).then(|| (pid, self.own_network.load(Ordering::Relaxed)))
    }

    /// A port of the command, with the way to it that the user opened.
    fn with_forward(&self, port: OpenPort) -> OpenPort {
        let opened = lock(&self.opened);
        let Some(open) = opened.iter().find(|open| open.port() == port.port) else {
            return OpenPort { forwarded: None, ..port };
        };
        OpenPort { forwarded: Some(open.local()), host: open.name(), ..port }
    }

    /// Has the open way to a port answer to this name; the address, if there is such a way.
    fn rename(&self, port: OpenPort, name: LoopbackName) -> Option<String> {
        let opened = lock(&self.opened);
        let open = opened.iter().find(|open| open.port() == port.port)?;
        open.rename(name);
        OpenPort { forwarded: Some(open.local()), host: name, ..port }.url()
    }

    pub(crate) fn set_detached(&self) {
        self.is_detached.store(true, Ordering::Relaxed);
    }

    /// All that is kept of it, and the position behind.
    pub(crate) fn kept(&self) -> (Vec<u8>, u64) {
        let ring = lock(&self.ring);
        (ring.read(Some(0), RING).1, ring.end())
    }

    pub(crate) fn end(&self) -> u64 {
        lock(&self.ring).end()
    }

    /// What is kept of it from a position on, and the position behind.
    pub(crate) fn read_from(&self, position: u64) -> (Vec<u8>, u64) {
        let ring = lock(&self.ring);
        (ring.read(Some(position), RING).1, ring.end())
    }
}

/// The commands that run in this process, and what was read of the logs of sessions about background commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveCommands {
    outputs: Arc<Mutex<OutputsByCall>>,
    /// Kept, because a view asks again with each line of output, and a log may be long.
    rows: Arc<Mutex<HashMap<SessionId, RowsSoFar>>>,
}

/// The background commands of a log up to an event.
#[derive(Debug, Clone, Default)]
struct RowsSoFar {
    seq: u64,
    rows: Vec<BackgroundRow>,
}

type OutputsByCall = HashMap<(SessionId, CallId), Arc<LiveOutput>>;

/// A command that runs; it leaves the list with this.
pub(crate) struct LiveCommand {
    list: LiveCommands,
    key: (SessionId, CallId),
    pub(crate) output: Arc<LiveOutput>,
}

impl Drop for LiveCommand {
    fn drop(&mut self) {
        lock(&self.list.outputs).remove(&self.key);
        lock(&self.output.opened).clear();
    }
}

impl LiveCommands {
    pub(crate) fn add(&self, session: &SessionId, call: &CallId) -> LiveCommand {
        let (key, output) = ((session.clone(), call.clone()), Arc::<LiveOutput>::default());
        lock(&self.outputs).insert(key.clone(), Arc::clone(&output));
        LiveCommand { list: self.clone(), key, output }
    }

    fn find(&self, session: &SessionId, call: &CallId) -> Option<Arc<LiveOutput>> {
        lock(&self.outputs).get(&(session.clone(), call.clone())).cloned()
    }

    /// The commands of a session that are in the background, in the order in which they were started.
    pub(crate) fn in_background(&self, session: &SessionId) -> BTreeSet<CallId> {
        let all = lock(&self.outputs);
        let detached = all.iter().filter(|(_, output)| output.is_detached.load(Ordering::Relaxed));
        detached.filter(|((of, _), _)| of == session).map(|((_, call), _)| call.clone()).collect()
    }

    /// The sessions with a command in the background.
    fn sessions(&self) -> BTreeSet<SessionId> {
        let all = lock(&self.outputs);
        let detached = all.iter().filter(|(_, output)| output.is_detached.load(Ordering::Relaxed));
        detached.map(|((session, _), _)| session.clone()).collect()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the output of a command: live if it runs here, or what is stored of it.
async fn read_output(
    deps: &ActorContext,
    session: &SessionId,
    of: &CallId,
    stored: &RefKey,
    since: Option<u64>,
    limit: usize,
) -> Result<(BackgroundText, bool), StoreError> {
    let live = deps.commands.find(session, of);
    let (from, bytes, wanted) = match &live {
        Some(live) => {
            let (from, bytes) = lock(&live.ring).read(since, limit);
            (from, bytes, since)
        }
        None => {
            let all = deps.world.store.bytes(Some(session), stored).await?.unwrap_or_default();
            // Of a long output not all is stored. A position behind what there is gets its end.
            let since = since.and_then(|since| usize::try_from(since).ok()).filter(|since| *since <= all.len());
            let from = since.unwrap_or(all.len().saturating_sub(limit));
            let rest = &all[from..];
            (from as u64, rest[..rest.len().min(limit)].to_vec(), since.map(|since| since as u64))
        }
    };
    let next = from + bytes.len() as u64;
    let dropped = from.saturating_sub(wanted.unwrap_or(0));
    Ok((BackgroundText { text: readable(&bytes).text, next, dropped }, live.is_some()))
}

/// The output of a background command as the model reads it.
pub(crate) async fn read_for_model(
    deps: &ActorContext,
    session: &SessionId,
    of: &CallId,
    id: &BackgroundId,
    stored: &RefKey,
    since: Option<u64>,
    limit: usize,
) -> Result<ReadResult, StoreError> {
    let (BackgroundText { text, next, dropped }, is_running) =
        read_output(deps, session, of, stored, since, limit).await?;
    let state = if is_running { "is running" } else { "has ended" };
    let mut shown = format!("[{id} {state}. since={next} reads what follows.]\n");
    if dropped > 0 {
        shown.push_str(&format!("[{dropped} bytes before this are not shown.]\n"));
    }
    match text.is_empty() {
        true => shown.push_str("[No output.]"),
        false => shown.push_str(&text),
    }
    Ok(ReadResult { status: ToolStatus::Ok, text: shown, images: Vec::new(), files: Vec::new() })
}

/// The background commands that a log tells of, oldest first.
fn fold_rows(rows: &mut Vec<BackgroundRow>, event: &Event) {
    // A fork has the log of another session up to here, and none of its processes.
    if let Fact::Session(SessionFact::Forked { .. }) = &event.fact {
        let running = rows.iter_mut().filter(|row| row.is_running());
        return running.for_each(|row| (row.ended, row.why) = (Some(event.time), Some(StoppedBy::Session.into())));
    }
    let Fact::Command(fact) = &event.fact else { return };
    let find = |rows: &mut Vec<BackgroundRow>, id: &BackgroundId, change: &dyn Fn(&mut BackgroundRow)| {
        rows.iter_mut().filter(|row| row.id == *id).for_each(change);
    };
    match fact {
        CommandFact::Background { call, id, command, name, output, .. } => rows.push(BackgroundRow {
            id: id.clone(),
            session: event.session.clone(),
            call: call.clone(),
            command: command.clone(),
            name: name.clone(),
            started: event.time,
            ready: false,
            ports: Vec::new(),
            ended: None,
            why: None,
            exit_code: None,
            signal: None,
            output: output.clone(),
        }),
        CommandFact::Ready { id, .. } => find(rows, id, &|row| row.ready = true),
        CommandFact::Port { id, port, .. } => find(rows, id, &|row| row.ports.push(*port)),
        CommandFact::Finished { background: Some(BackgroundEnd { id, why }), exit_code, signal, .. } => {
            find(rows, id, &|row| {
                (row.ended, row.why, row.exit_code) = (Some(event.time), Some(*why), *exit_code);
                row.signal.clone_from(signal);
            });
        }
        CommandFact::Stopping { id, by: StoppedBy::Program, .. } => {
            find(rows, id, &|row| (row.ended, row.why) = (Some(event.time), Some(StoppedBy::Program.into())));
        }
        CommandFact::Started { .. }
        | CommandFact::Output { .. }
        | CommandFact::Stopping { .. }
        | CommandFact::Finished { .. } => {}
    }
}

impl BackgroundCommands<'_> {
    /// The background commands of a session as its log tells of them, oldest first.
    async fn recorded(self, session: &SessionId) -> Result<Vec<BackgroundRow>, Problem> {
        let (store, known) = (self.0.store(), &self.0.deps().commands.rows);
        let RowsSoFar { seq: mut after, mut rows } = lock(known).get(session).cloned().unwrap_or_default();
        loop {
            let page = store.events(session, after, PAGE).await.map_err(store_problem)?;
            page.iter().for_each(|event| fold_rows(&mut rows, event));
            after = page.last().and_then(|event| event.seq).unwrap_or(after);
            if page.len() < PAGE as usize {
                break;
            }
        }
        let mut known = lock(known);
        if known.len() >= MOST_KNOWN && !known.contains_key(session) {
            known.clear();
        }
        known.insert(session.clone(), RowsSoFar { seq: after, rows: rows.clone() });
        drop(known);
        // The rows that a fork has from another session are its own.
        rows.iter_mut().filter(|row| row.session != *session).for_each(|row| row.session = session.clone());
        Ok(rows)
    }

    /// The background commands of a session, oldest first. Those of a process that was killed have ended with it.
    pub async fn list(self, session: &SessionId) -> Result<Vec<BackgroundRow>, Problem> {
        let mut rows = self.recorded(session).await?;
        let is_open = rows.iter().any(BackgroundRow::is_running);
        if is_open && !self.0.store().is_run(session).await.map_err(store_problem)? {
            let now = self.0.clock().now();
            let open = rows.iter_mut().filter(|row| row.is_running());
            open.for_each(|row| (row.ended, row.why) = (Some(now), Some(StoppedBy::Program.into())));
        }
        for row in rows.iter_mut().filter(|row| row.is_running()) {
            let Some(live) = self.0.deps().commands.find(session, &row.call) else { continue };
            row.ports.iter_mut().for_each(|port| *port = live.with_forward(*port));
        }
        Ok(rows)
    }

    /// Opens a port of a background command for a browser on this machine, and returns its address. It stays open while
    /// the command runs. Without a port, it is the command's first one. The browser reaches it under this name only.
    pub async fn open_port(
        self,
        session: &SessionId,
        id: &BackgroundId,
        port: Option<u16>,
        name: LoopbackName,
    ) -> Result<String, Problem> {
        let row = self.find(session, id).await?;
        let problem = |message: String, hint: &str| Problem::new(ProblemKind::Refused, message).hint(hint);
        if !row.is_running() {
            return Err(problem(format!("{id} has ended."), "`trimtab ps` lists the background commands that run."));
        }
        let known = row.ports.iter().find(|known| port.is_none_or(|port| known.port == port));
        let Some(known) = known else {
            let message = match port {
                Some(port) => format!("{id} does not listen on port {port}."),
                None => format!("{id} does not listen on a port."),
            };
            return Err(problem(message, "Wait until the command is ready, then try again."));
        };
        if let Some(url) = known.url().filter(|_| known.reachable) {
            return Ok(url);
        }
        let deps = self.0.deps();
        let Some(live) = deps.commands.find(session, &row.call) else {
            let hint = "Open it in the terminal or in the browser where the session runs.";
            return Err(problem(format!("{id} runs in another process of Trimtab."), hint));
        };
        if let Some(url) = live.rename(*known, name) {
            return Ok(url);
        }
        let told = json!({"op": "command", "session": session, "background": id, "port": known.port});
        self.0.admin().tell_trail("port_opened", told).await?;
        let opened = deps.world.workspace(session).open_port(session, known.port, name).await;
        let opened = opened.map_err(|why| problem(why, "Other commands of the session can still reach the port."))?;
        let url = OpenPort { forwarded: Some(opened.local()), host: name, ..*known }.url();
        // Somebody else may have opened it meanwhile.
        if let Some(url) = live.rename(*known, name) {
            return Ok(url);
        }
        lock(&live.opened).push(opened);
        // The command may have ended meanwhile, and with it whoever would close the port.
        if deps.commands.find(session, &row.call).is_none() {
            lock(&live.opened).clear();
        }
        Ok(url.unwrap_or_default())
    }

    /// The running background commands of a folder's sessions, or of all.
    pub async fn running_in(self, folder: Option<&str>) -> Result<Vec<BackgroundRow>, Problem> {
        let mut all = Vec::new();
        for session in self.0.store().sessions(folder).await.map_err(store_problem)? {
            // Only the process that runs a session can have commands of it.
            if self.0.store().is_run(&session.id).await.map_err(store_problem)? {
                all.extend(self.list(&session.id).await?.into_iter().filter(BackgroundRow::is_running));
            }
        }
        Ok(all)
    }

    /// A part of the output of a background command: live if it runs in this process, else as it was last stored.
    pub async fn output(
        self,
        session: &SessionId,
        id: &BackgroundId,
        since: Option<u64>,
    ) -> Result<BackgroundText, Problem> {
        let row = self.find(session, id).await?;
        let read = read_output(self.0.deps(), session, &row.call, &row.output, since, LONGEST_READ).await;
        Ok(read.map_err(store_problem)?.0)
    }

    /// Ends a background command, whichever process runs it. One that has ended is left.
    pub async fn stop(self, session: &SessionId, id: &BackgroundId) -> Result<BackgroundRow, Problem> {
        let row = self.find(session, id).await?;
        // If the process that ran it was killed, its end is not recorded yet. The next owner of the session does that.
        let is_open = self.recorded(session).await?.iter().any(|known| known.id == *id && known.is_running());
        if is_open {
            let action = Control::StopCommand { id: Some(id.clone()), by: StoppedBy::User };
            self.0.requests().control(session, None, action).await?;
        }
        Ok(row)
    }

    async fn find(self, session: &SessionId, id: &BackgroundId) -> Result<BackgroundRow, Problem> {
        check_session(session)?;
        self.list(session).await?.into_iter().find(|row| row.id == *id).ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, format!("Session {session} has no background command {id}."))
                .hint("`trimtab ps` lists the background commands of this folder.")
        })
    }

    /// Ends the background commands that run in this process, because it is about to exit, and waits a few seconds for
    /// that to be recorded. Returns those that were running.
    pub async fn end_all(self) -> Vec<BackgroundRow> {
        let (mut ended, live) = (Vec::new(), &self.0.deps().commands);
        for session in live.sessions() {
            ended.extend(self.list(&session).await.unwrap_or_default().into_iter().filter(BackgroundRow::is_running));
            let action = Control::StopCommand { id: None, by: StoppedBy::Session };
            let payload = written(&Input::Controlled { request: None, action });
            let input = NewInput { payload, ..NewInput::default() };
            if self.0.store().enqueue(&session, input).await.is_ok() {
                self.0.resume(&session);
            }
        }
        let until = Instant::now() + END_PATIENCE;
        let sessions: BTreeSet<SessionId> = ended.iter().map(|row| row.session.clone()).collect();
        while Instant::now() < until {
            let mut is_open = !live.sessions().is_empty();
            for session in &sessions {
                let rows = self.list(session).await.unwrap_or_default();
                is_open |= rows.iter().any(BackgroundRow::is_running);
            }
            if !is_open {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_the_end_and_its_positions() {
        let mut ring = OutputRing::default();
        ring.push(b"hello ");
        assert_eq!(ring.read(None, 100), (0, b"hello ".to_vec()));
        ring.push(b"world");
        assert_eq!(ring.read(Some(6), 100), (6, b"world".to_vec()));
        assert_eq!(ring.read(None, 3), (8, b"rld".to_vec()), "the end");
        assert_eq!(ring.read(Some(6), 2), (6, b"wo".to_vec()), "read on from 8");
        assert_eq!(ring.read(Some(99), 2), (11, Vec::new()), "nothing is there yet");
        let flood = vec![b'x'; 3 * RING + 7];
        ring.push(&flood);
        assert_eq!((ring.bytes.len(), ring.end()), (RING, 11 + flood.len() as u64));
        ring.push(b"end");
        assert_eq!(ring.bytes.len(), RING);
        assert_eq!(ring.read(Some(0), RING).0, ring.start, "what is gone is skipped");
        assert!(ring.read(None, 4).1.ends_with(b"end"));
    }

    #[test]
    fn a_command_is_listed_until_it_is_gone() {
        let (live, session) = (LiveCommands::default(), "s1".parse().expect("an ID"));
        let command = live.add(&session, &CallId::nth(1));
        assert!(live.sessions().is_empty(), "not in the background yet");
        command.output.set_detached();
        assert_eq!(live.sessions().len(), 1);
        drop(command);
        assert!(live.sessions().is_empty() && live.find(&session, &CallId::nth(1)).is_none());
    }
}
