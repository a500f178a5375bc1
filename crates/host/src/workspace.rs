//! Access to the folder: read, write, and run. A trait, so that simulations can replace it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};
use trimtab_engine::Ran;
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::format;
use trimtab_vocab::{
    BuildFolders, CommandPlan, CopyStats, FilePlan, FileState, LeftBehind, LoopbackName, NetworkAccess, NetworkPlan,
    Overtime, ReadOp, ReadResult, Sandbox, SessionId, SnapshotLimits,
};
use trimtab_world::models::SearchService;
use trimtab_world::network::{CommandAccess, PortForward};
use trimtab_world::sandbox::run::{self, SandboxSetup};
use trimtab_world::sandbox::{CommandNetwork, Fence};
use trimtab_world::tools::{self, ReadScope};
use trimtab_world::workspace::snapshot::{self, Keep, Snapshot, SnapshotOrder};
use trimtab_world::workspace::{Folder, copy as copies, write};

use crate::networks::{OpenNetwork, SessionNetworks};
use crate::{StreamController, links, version_area};

/// A file as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNow {
    /// Relative to the folder, `/` between its parts, as it is kept in records.
    pub path: String,
    /// Where that is when all links are followed.
    pub real: String,
    /// Its bytes and state; absent: there is no such file.
    pub content: Option<(Vec<u8>, FileState)>,
    /// Its text in the user's editor, where that is not what the disk has.
    pub unsaved: Option<Vec<u8>>,
    /// The user's editor does not answer, so nobody knows whether it has another text.
    pub is_editor_silent: bool,
}

impl FileNow {
    /// Why the file must not be changed just now, if the user's editor may have another text of it.
    pub(crate) fn silence(&self) -> Option<String> {
        let path = &self.path;
        self.is_editor_silent.then(|| {
            format!("{path} was not changed: your editor does not answer whether it has unsaved changes of this file.")
        })
    }
}

/// Loads the bytes of a set by their hash, one file after the other: a set of ten thousand files is never in memory
/// at once.
#[async_trait]
pub trait Contents: Send + Sync {
    /// The bytes with this hash, if they are there.
    async fn bytes(&self, hash: &str) -> Option<Vec<u8>>;
}

#[async_trait]
impl Contents for BTreeMap<String, Vec<u8>> {
    async fn bytes(&self, hash: &str) -> Option<Vec<u8>> {
        self.get(hash).cloned()
    }
}

/// A look at all files of a folder.
#[derive(Debug, Clone)]
pub struct SnapshotRequest {
    pub folder: String,
    /// The files that are already stored.
    pub known: Arc<Snapshot>,
    /// How much is noted.
    pub watch: SnapshotLimits,
    /// A command has run since `known` was taken.
    pub afterwards: bool,
    /// The session may affect what counts as made by a build.
    pub doubt: bool,
}

/// What touches the folder.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Sees something. Ends when it is no longer waited for.
    async fn perform_read(&self, folder: &str, op: &ReadOp) -> ReadResult;
    /// Similar paths for a path that does not exist, the likeliest first. None if it exists, or if that must not be
    /// revealed.
    async fn absent(&self, folder: &str, path: &str) -> Option<Vec<String>> {
        let _ = (folder, path);
        None
    }
    /// The session is at rest: what was kept for its commands is given back.
    async fn rest(&self, session: &SessionId) {
        let _ = session;
    }
    /// Opens a port in the network of a session's commands for a browser on this machine; a sentence when that cannot be.
    async fn open_port(&self, session: &SessionId, port: u16, name: LoopbackName) -> Result<PortForward, String> {
        let _ = (session, port, name);
        Err("This session has no network.".to_owned())
    }
    /// Reads a file that is to be changed; a sentence when that cannot be.
    async fn read(&self, folder: &str, path: &str) -> Result<FileNow, String>;

    /// A file as the disk has it, whatever the user's editor shows.
    async fn read_saved(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        self.read(folder, path).await
    }

    /// The state of a file that may be too large to be read, if there is one and it can be found out.
    async fn state(&self, folder: &str, path: &str) -> Option<FileState> {
        let _ = (folder, path);
        None
    }
    /// The type of a path that is not a plain file, without following links: a link, or nothing because a directory
    /// is in its place or a link is on the way.
    async fn itself(&self, folder: &str, path: &str) -> Option<Option<FileState>> {
        let _ = (folder, path);
        None
    }
    /// Those of these paths that belong to version control, by the folder's structure.
    async fn version_paths(&self, folder: &str, paths: Vec<String>) -> Vec<String> {
        let _ = (folder, paths);
        Vec::new()
    }
    /// Writes a set of files, all or none; a sentence when that cannot be. Called again after a crash,
    /// it finishes what was begun.
    async fn write(&self, plan: &FilePlan, contents: Arc<dyn Contents>) -> Result<(), String>;
    /// Runs a command until it ends or is stopped. Sends its output as it arrives, and a message when its time is up;
    /// `overtime` receives the decision about that.
    async fn run(
        &self,
        plan: &CommandPlan,
        tell: &(dyn for<'t> Fn(CommandUpdate<'t>) + Send + Sync),
        stop: &StreamController,
        overtime: mpsc::Receiver<Overtime>,
    ) -> EndedCommand;
    /// Scans all files of a folder and sends the bytes of unknown ones, by their hash. Returns nothing if that is not
    /// possible. Ends when the receiver is gone.
    async fn take_snapshot(&self, request: SnapshotRequest, kept: mpsc::Sender<(String, Vec<u8>)>) -> Option<Snapshot> {
        drop((request, kept));
        Some(Snapshot::default())
    }
    /// The figures of a worker's copy of a folder, if it is there, whole.
    async fn whole_copy(&self, copy: &str) -> Option<CopyStats> {
        let _ = copy;
        None
    }
    /// Makes a copy of a folder with these changes; a sentence without its end when that cannot be.
    async fn make_copy(
        &self,
        original: &str,
        copy: &str,
        changes: Vec<CopiedFile>,
        dependencies: BuildFolders,
    ) -> Result<CopyStats, String> {
        let _ = (original, copy, changes, dependencies);
        Err("there is no place for it".to_owned())
    }
    /// The names of the copies in this place.
    async fn copies(&self, place: &str) -> Vec<String> {
        let _ = place;
        Vec::new()
    }
    /// What was made or deleted in a copy of a folder beside these changes.
    async fn left_behind(&self, copy: &str, original: &str, known: BTreeSet<String>) -> LeftBehind {
        let _ = (copy, original, known);
        LeftBehind::default()
    }
    /// Removes a copy.
    async fn drop_copy(&self, copy: &str) {
        let _ = copy;
    }
}

/// A file of a copy that is not as in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFile {
    pub path: String,
    /// Its bytes and its mode; none: it is not there.
    pub content: Option<(Vec<u8>, u32)>,
}

/// Finds the workspace of a session. It is asked whenever one is needed: an editor with unsaved buffers comes and goes
/// while its session lives.
pub type Workspaces = Arc<dyn Fn(&SessionId) -> Arc<dyn Workspace> + Send + Sync>;

/// One workspace for every session.
pub fn shared_workspace(workspace: impl Workspace + 'static) -> Workspaces {
    let workspace: Arc<dyn Workspace> = Arc::new(workspace);
    Arc::new(move |_| Arc::clone(&workspace))
}

struct Handing(mpsc::Sender<(String, Vec<u8>)>);

impl Keep for Handing {
    fn keep(&mut self, hash: &str, bytes: Vec<u8>) {
        let _ = self.0.blocking_send((hash.to_owned(), bytes));
    }

    fn is_over(&self) -> bool {
        self.0.is_closed()
    }
}

/// The messages of a running command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandUpdate<'t> {
    /// It runs as this process, perhaps in a network of its own.
    Started { pid: u32, own_network: bool },
    /// It has written this.
    Output(&'t str),
    /// Its time is up, and it still runs.
    Overdue,
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedCommand {
    /// The result; its output is still to be read.
    pub ran: Ran,
    /// Its output, as far as it is kept.
    pub output: Vec<u8>,
    /// Bytes that it wrote and that are not kept.
    pub dropped: u64,
}

/// Bytes of a file that can be changed at most.
const LARGEST_FILE: usize = 64 * 1024 * 1024;

/// The hands of a real machine.
pub struct LocalWorkspace {
    setup: SandboxSetup,
    /// The search service, if one is set up.
    search: Option<SearchService>,
    /// Copies that may be made or removed at the same time, one for each core: many workers begin and end together, and a
    /// thread for each of them would leave no time for the sessions.
    copying: LazyLock<Semaphore>,
    networks: SessionNetworks,
}

impl LocalWorkspace {
    /// Hands that run commands with these variables and hide these files from them.
    pub fn new(environment: impl IntoIterator<Item = (OsString, OsString)>, own: &[PathBuf]) -> Self {
        let mut setup = SandboxSetup::new(environment);
        setup.hidden.extend(own.iter().cloned());
        // Counted when it is first needed, because that reads several files.
        let copying = || Semaphore::new(std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
        Self { setup, search: None, copying: LazyLock::new(copying), networks: SessionNetworks::default() }
    }

    /// The same, with commands that never get these variables: they hold the keys of providers.
    #[must_use]
    pub fn private(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.setup.private.extend(names);
        self
    }

    /// The same, with the supervisor of the next command started ahead, for callers that run several commands.
    #[must_use]
    pub fn ready(mut self) -> Self {
        self.setup.ready = Some(trimtab_world::sandbox::ReadySupervisor::default());
        self.setup.networks = Some(self.networks.holder.clone());
        self
    }

    /// The same, with approved commands that can add to package caches. What they add stays in this data folder.
    #[must_use]
    pub fn with_caches(mut self, data: &Path) -> Self {
        self.setup.caches = Some(trimtab_world::sandbox::PackageCaches::new(data));
        self
    }

    /// The same, with this service for searches of the web.
    #[must_use]
    pub fn searching(mut self, service: Option<SearchService>) -> Self {
        self.search = service;
        self
    }

    /// The same with limits for commands.
    #[must_use]
    pub fn limited(mut self, limits: trimtab_world::sandbox::CommandLimits) -> Self {
        self.setup.limits = limits;
        self
    }
}

impl LocalWorkspace {
    /// The network of the session, with what this command may reach; nothing if the command has its own.
    async fn network_for(&self, plan: &CommandPlan) -> Result<Option<(Arc<OpenNetwork>, CommandAccess)>, String> {
        let Some(NetworkPlan { session, policy }) = plan.network() else { return Ok(None) };
        let open = self.networks.of_session(session, &self.setup.launcher).await?;
        let access = open.proxy.admit(policy.clone()).ok_or("No password can be made for it.")?;
        Ok(Some((open, access)))
    }
}

#[async_trait]
impl Workspace for LocalWorkspace {
    async fn perform_read(&self, folder: &str, op: &ReadOp) -> ReadResult {
        if let ReadOp::WebSearch { query } = op {
            return tools::search_web(self.search.as_ref(), query).await;
        }
        match ReadScope::open(Path::new(folder)) {
            Ok(place) => tools::perform_read(&place, op).await,
            Err(error) => ReadResult {
                status: ToolStatus::Error,
                text: format!("The folder {folder} cannot be opened: {error}."),
                images: Vec::new(),
                files: Vec::new(),
            },
        }
    }

    async fn rest(&self, session: &SessionId) {
        self.networks.close(session).await;
    }

    async fn open_port(&self, session: &SessionId, port: u16, name: LoopbackName) -> Result<PortForward, String> {
        let open = self.networks.of_session(session, &self.setup.launcher).await?;
        let forward = PortForward::start(Arc::clone(&open.network), port, name).await;
        forward.map_err(|error| format!("No port of this machine can be opened: {error}."))
    }

    async fn absent(&self, folder: &str, path: &str) -> Option<Vec<String>> {
        tools::absent(&ReadScope::open(Path::new(folder)).ok()?, path).await
    }

    async fn read(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        let (folder, path) = (folder.to_owned(), path.to_owned());
        aside(move || {
            let opened =
                Folder::open(&folder).map_err(|error| format!("The folder {folder} cannot be opened: {error}."))?;
            let cannot = |error: io::Error| match error.kind() {
                io::ErrorKind::FileTooLarge => {
                    let most = LARGEST_FILE >> 20;
                    format!("{path} is larger than the {most} MB that can be changed. Use a command for it.")
                }
                // The system's own refusals have a number.
                io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                    format!("{path} is outside the folder. Only files in the folder can be changed.")
                }
                _ => format!("{path} cannot be read: {error}."),
            };
            let content = opened.read(&path, LARGEST_FILE).map_err(cannot)?;
            let real = opened.place_of(&path).map_err(cannot)?.to_string_lossy().into_owned();
            // What `..` means depends on the links before it, so the text alone does not tell.
            let climbs = Path::new(&path).components().any(|part| part == Component::ParentDir);
            let name = if climbs { real.clone() } else { relative(opened.path(), Path::new(&path)) };
            Ok(FileNow { path: name, real, content, unsaved: None, is_editor_silent: false })
        })
        .await
    }

    async fn state(&self, folder: &str, path: &str) -> Option<FileState> {
        let (folder, path) = (folder.to_owned(), path.to_owned());
        tokio::task::spawn_blocking(move || Folder::open(folder).ok()?.state(path).ok()?).await.ok()?
    }

    async fn itself(&self, folder: &str, path: &str) -> Option<Option<FileState>> {
        let (folder, path) = (folder.to_owned(), path.to_owned());
        tokio::task::spawn_blocking(move || Folder::open(folder).ok()?.itself(path)).await.ok()?
    }

    async fn whole_copy(&self, copy: &str) -> Option<CopyStats> {
        let copy = PathBuf::from(copy);
        tokio::task::spawn_blocking(move || copies::whole(&copy)).await.unwrap_or_default()
    }

    async fn make_copy(
        &self,
        original: &str,
        copy: &str,
        changes: Vec<CopiedFile>,
        dependencies: BuildFolders,
    ) -> Result<CopyStats, String> {
        let (original, copy) = (PathBuf::from(original), PathBuf::from(copy));
        let _turn = self.copying.acquire().await;
        aside(move || {
            let make = || {
                let mut made = copies::copy_folder(&original, &copy, dependencies)?;
                for CopiedFile { path, content } in &changes {
                    made.seed(&copy, path, content.as_ref().map(|(bytes, mode)| (bytes.as_slice(), *mode)))?;
                }
                copies::set_whole(&copy, made)
            };
            make().map_err(|error: copies::CopyError| {
                copies::remove(&copy);
                error.to_string()
            })
        })
        .await
    }

    async fn copies(&self, place: &str) -> Vec<String> {
        let place = PathBuf::from(place);
        tokio::task::spawn_blocking(move || copies::all(&place)).await.unwrap_or_default()
    }

    async fn left_behind(&self, copy: &str, original: &str, known: BTreeSet<String>) -> LeftBehind {
        let (copy, original) = (PathBuf::from(copy), PathBuf::from(original));
        tokio::task::spawn_blocking(move || copies::left_behind(&copy, &original, &known)).await.unwrap_or_default()
    }

    async fn drop_copy(&self, copy: &str) {
        let copy = PathBuf::from(copy);
        let _turn = self.copying.acquire().await;
        let _ = tokio::task::spawn_blocking(move || copies::remove(&copy)).await;
    }

    async fn version_paths(&self, folder: &str, paths: Vec<String>) -> Vec<String> {
        let (folder, all) = (PathBuf::from(folder), paths.clone());
        // What cannot be looked at counts as such a path: then the user is asked.
        tokio::task::spawn_blocking(move || version_area::among(&folder, &paths)).await.unwrap_or(all)
    }

    async fn write(&self, plan: &FilePlan, contents: Arc<dyn Contents>) -> Result<(), String> {
        let plan = plan.clone();
        let runtime = tokio::runtime::Handle::current();
        aside(move || {
            let folder = &plan.set().folder;
            let opened =
                Folder::open(folder).map_err(|error| format!("The folder {folder} cannot be opened: {error}."))?;
            let find = |hash: &str| runtime.block_on(contents.bytes(hash));
            write::apply(&opened, &plan, &find).map(drop).map_err(|refused| format!("{refused} {}", refused.hint()))
        })
        .await
    }

    async fn run(
        &self,
        plan: &CommandPlan,
        tell: &(dyn for<'t> Fn(CommandUpdate<'t>) + Send + Sync),
        stop: &StreamController,
        overtime: mpsc::Receiver<Overtime>,
    ) -> EndedCommand {
        let planned = plan.clone();
        let led_out = tokio::task::spawn_blocking(move || links::refusal(&planned));
        let (led_out, network) = tokio::join!(led_out, self.network_for(plan));
        if let Ok(Some(reason)) = led_out {
            let reason = format!("{reason}. Name that path itself, so that the user can be asked.");
            return EndedCommand {
                ran: Ran { not_started: Some(reason), ..Ran::default() },
                output: Vec::new(),
                dropped: 0,
            };
        }
        let is_proxied = plan.network().is_some_and(|plan| plan.policy.access != NetworkAccess::Off);
        let access = network.as_ref().ok().and_then(Option::as_ref).map(|(_, access)| access);
        let command_network = network.as_ref().ok().and_then(Option::as_ref).map(|(open, access)| CommandNetwork {
            network: Arc::clone(&open.network),
            variables: if is_proxied { access.variables() } else { Vec::new() },
        });
        let setup = SandboxSetup { network: command_network, ..self.setup.clone() };
        let mut text = Utf8::default();
        let tell = |told: run::CommandReport<'_>| match told {
            run::CommandReport::Output(bytes) => tell(CommandUpdate::Output(&text.push(bytes))),
            run::CommandReport::Started { pid, own_network } => tell(CommandUpdate::Started { pid, own_network }),
            run::CommandReport::Overdue => tell(CommandUpdate::Overdue),
        };
        let outcome = run::run(plan, &setup, tell, stop.aborted(), overtime).await;
        let mut notes = Vec::new();
        if outcome.left > 0 {
            notes.push(format!("{} processes that it had left running were ended.", outcome.left));
        }
        if outcome.stuck > 0 {
            notes.push(format!("{} processes hang in the kernel and could not be ended.", outcome.stuck));
        }
        if !outcome.touched.is_empty() {
            notes.push(format!("It changed protected files: {}.", listed(&outcome.touched)));
        }
        if !outcome.undone.is_empty() {
            let made = listed(&outcome.undone);
            notes.push(format!("It created control files, which were renamed to end in .blocked: {made}."));
        }
        // An approved command runs with the layers that are available, and the user is told which are not.
        let is_fenced = plan.run().sandbox != Sandbox::Off;
        for (what, fence) in outcome.fences.iter().filter(|_| is_fenced).flat_map(|fences| fences.each()) {
            if let Fence::Missing { why } = fence {
                notes.push(format!("The sandbox did not keep it from {what}: {why}."));
            }
        }
        let is_joined = outcome.fences.as_ref().is_none_or(|fences| fences.session_network);
        match &network {
            Err(why) => notes.push(format!("It had no network: {why}")),
            Ok(Some(_)) if !is_joined => {
                notes.push("It had no network: the session's network cannot be entered.".into())
            }
            Ok(_) => {}
        }
        let hosts = access.map(CommandAccess::attempts).unwrap_or_default();
        let (output, dropped) = (outcome.output.bytes(), outcome.output.dropped());
        let ran = Ran {
            exit_code: outcome.exit_code,
            signal: outcome.signal,
            timed_out: outcome.timed_out,
            stopped: outcome.stopped,
            lost: outcome.lost,
            not_started: outcome.not_started,
            blocked: outcome.blocked,
            took_ms: u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
            notes,
            hosts,
            ..Ran::default()
        };
        EndedCommand { ran, output, dropped }
    }

    async fn take_snapshot(&self, request: SnapshotRequest, kept: mpsc::Sender<(String, Vec<u8>)>) -> Option<Snapshot> {
        let SnapshotRequest { folder, known, watch, afterwards, doubt } = request;
        let files = usize::try_from(watch.files).unwrap_or(usize::MAX);
        let op = move || {
            let folder = Folder::open(&folder).ok()?;
            let (folder, known) = (&folder, &*known);
            let order =
                SnapshotOrder { folder, known, files, bytes: watch.bytes, afterwards, whole: watch.whole, doubt };
            snapshot::take(&order, &mut Handing(kept))
        };
        tokio::task::spawn_blocking(op).await.ok()?
    }
}

/// Some of the paths, and how many more there are.
fn listed(paths: &[String]) -> String {
    format::first(paths, 20)
}

/// A path without `..` as records keep it: relative to the folder, without detours in its spelling.
fn relative(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir | Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts.join("/")
}

/// Work that waits for a disk is done beside the runtime, and to its end.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(format!("The work was not finished: {error}.")),
    }
}

/// Bytes as they come, as text: a character that is split between two pieces waits for its rest.
#[derive(Default)]
struct Utf8 {
    rest: Vec<u8>,
}

impl Utf8 {
    fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut text = String::new();
        let mut from = 0;
        loop {
            match std::str::from_utf8(&self.rest[from..]) {
                Ok(good) => {
                    text.push_str(good);
                    from = self.rest.len();
                    break;
                }
                Err(error) => {
                    let good = from + error.valid_up_to();
                    text.push_str(&String::from_utf8_lossy(&self.rest[from..good]));
                    from = good;
                    match error.error_len() {
                        Some(bad) => {
                            text.push('\u{fffd}');
                            from += bad;
                        }
                        None => break,
                    }
                }
            }
        }
        self.rest.drain(..from);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_split_between_pieces_comes_whole() {
        let mut text = Utf8::default();
        let crab = "🦀".as_bytes();
        assert_eq!(text.push(&[b'a', crab[0], crab[1]]), "a");
        assert_eq!(text.push(&crab[2..]), "🦀");
        assert_eq!(text.push(&[0xff, b'b']), "\u{fffd}b");
    }

    #[test]
    fn paths_are_kept_relative_and_plain() {
        let folder = Path::new("/p");
        for (path, kept) in [("a/b", "a/b"), ("./a//b", "a/b"), ("/p/a", "a")] {
            assert_eq!(relative(folder, Path::new(path)), kept);
        }
    }
}
