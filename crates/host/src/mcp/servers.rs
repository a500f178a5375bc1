//! The servers that this process has connected, shared by its sessions.
//!
//! The list of a server's tools is kept in the data folder, so that a session has it before the server is connected.
//! A server is connected beside the first request that could use it, or when it is called.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::Instant;
use trimtab_vocab::{ListedServer, Rule, ServerPrompt, ServerResource, ServerTool, SessionId};
use trimtab_world::mcp::{CallAsker, Connection, McpAddress, McpError, OfferList, ToolAnswer};
use trimtab_world::sandbox::server::ServerProcess;
use trimtab_world::store::LocalFiles;

use crate::config;
use crate::settings_reload::{self, SettingsStamp};

use super::entries::{
    self, EditorServer, MOST_SERVERS, ProjectContext, ProjectServers, ServerEntry, ServerSource, ServerStanding,
};

/// The longest wait after a server could not be connected.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often a list is asked for again at most.
const BETWEEN_LISTS: Duration = Duration::from_millis(500);

/// All servers of this process.
pub(crate) struct McpServers {
    user: RwLock<UserServers>,
    /// The servers of editors, by the sessions that they have open.
    editors: Mutex<HashMap<SessionId, Vec<ServerEntry>>>,
    variables: BTreeMap<String, String>,
    environment: Vec<(OsString, OsString)>,
    /// Names of variables that hold keys of providers.
    private: Vec<String>,
    home: PathBuf,
    pub(super) files: LocalFiles,
    slots: Mutex<BTreeMap<String, Arc<ServerSlot>>>,
    /// Servers that are being connected beside a request.
    begun: Mutex<BTreeSet<String>>,
    /// Counts what may change a listing.
    changed: watch::Sender<u64>,
}

/// The servers of the user's settings.
struct UserServers {
    entries: Vec<ServerEntry>,
    /// The settings file that they were read from, as it was then.
    stamp: SettingsStamp,
}

/// A server that may be connected.
#[derive(Default)]
struct ServerSlot {
    /// The folder that names it, or the session whose editor does; absent for a server of the user, which is one for all.
    place: Option<String>,
    state: AsyncMutex<SlotState>,
    problem: Mutex<Option<String>>,
}

#[derive(Default)]
struct SlotState {
    connection: Option<Arc<Connection>>,
    failures: u32,
    /// Not tried again before this.
    not_before: Option<Instant>,
}

/// What a server offers besides tools, as it was listed last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownOffers {
    #[serde(default)]
    pub(crate) resources: Vec<ServerResource>,
    #[serde(default)]
    pub(crate) prompts: Vec<ServerPrompt>,
}

/// A server in a folder, and whether it may be started.
#[derive(Debug, Clone)]
pub struct PlacedServer {
    pub entry: ServerEntry,
    pub standing: ServerStanding,
    pub(crate) folder: String,
    /// The session that it is for, if its editor names it.
    pub(crate) session: Option<SessionId>,
}

impl PlacedServer {
    /// Where it may be used: in a folder, or in a session; absent: everywhere.
    fn place(&self) -> Option<String> {
        match self.entry.source {
            ServerSource::User => None,
            ServerSource::Project => Some(self.folder.clone()),
            ServerSource::Editor => self.session.as_ref().map(SessionId::to_string),
        }
    }

    /// The server's name among those of this process.
    fn key(&self) -> String {
        match self.place() {
            None => self.entry.hash.clone(),
            Some(place) => format!("{} {place}", self.entry.hash),
        }
    }
}

impl McpServers {
    /// `private`: names of variables that hold keys of providers.
    pub(crate) fn new(user: Vec<ServerEntry>, home: PathBuf, files: LocalFiles, private: Vec<String>) -> Self {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let text = |(name, value): &(OsString, OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
        let variables = environment.iter().filter_map(text).collect();
        let (slots, begun, changed) = (Mutex::default(), Mutex::default(), watch::Sender::new(0));
        let user = RwLock::new(UserServers { entries: user, stamp: None });
        let editors = Mutex::default();
        Self { user, editors, variables, environment, private, home, files, slots, begun, changed }
    }

    /// The same, read from this file just now.
    pub(crate) fn watching(self, file: &Path) -> Self {
        self.user.write().unwrap_or_else(PoisonError::into_inner).stamp = settings_reload::stamp(file);
        self
    }

    /// Reads the user's servers again if the settings file has changed, because another process may have switched one off.
    /// A file that cannot be parsed, because it is being written, changes nothing.
    pub(crate) fn reload(&self, file: &Path) {
        let stamp = settings_reload::stamp(file);
        let mut user = self.user.write().unwrap_or_else(PoisonError::into_inner);
        if user.stamp == stamp {
            return;
        }
        match config::load(&[]) {
            Ok(profile) => *user = UserServers { entries: profile.external.servers, stamp },
            Err(problem) => {
                tracing::warn!(message = problem.message, "the settings cannot be read; they stay as they were")
            }
        }
    }

    /// Ends the connections to servers of the user, of a folder, and of a session's editor that may no longer be used as
    /// they are: they were switched off, or their entries have changed. A call that runs keeps its connection until it
    /// ends.
    pub(crate) fn release(&self, folder: &str, session: Option<&SessionId>, placed: &[PlacedServer]) {
        let session = session.map(SessionId::to_string);
        let is_on =
            |key: &str| placed.iter().any(|server| server.standing == ServerStanding::On && server.key() == key);
        self.keep_slots(|key, place| {
            place.is_some_and(|place| place != folder && Some(place) != session.as_deref()) || is_on(key)
        });
    }

    fn keep_slots(&self, is_kept: impl Fn(&str, Option<&str>) -> bool) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|key, slot| {
            let is_kept = is_kept(key, slot.place.as_deref());
            if !is_kept {
                begun.remove(key);
            }
            is_kept
        });
    }

    /// Uses the servers of an editor in a session, and no longer those that it named before. Says which are not used, and
    /// why: a sentence each.
    pub(crate) fn use_in(&self, session: &SessionId, given: Vec<EditorServer>) -> Vec<String> {
        let user = self.user.read().unwrap_or_else(PoisonError::into_inner).entries.clone();
        let (mut entries, mut notes) = (Vec::<ServerEntry>::new(), Vec::new());
        for (at, server) in given.into_iter().enumerate() {
            if at == MOST_SERVERS {
                notes.push(format!("Only the first {MOST_SERVERS} MCP servers of the editor are used."));
                break;
            }
            let name = entries::excerpt(&server.name);
            let has =
                |entries: &[ServerEntry], entry: &ServerEntry| entries.iter().any(|other| other.name == entry.name);
            let why = match server.entry() {
                Ok(entry) if has(&user, &entry) => "your settings have a server with this name.".to_owned(),
                Ok(entry) if has(&entries, &entry) => "another server has this name.".to_owned(),
                Ok(entry) => {
                    entries.push(entry);
                    continue;
                }
                Err(problem) => problem,
            };
            notes.push(format!("The editor's MCP server {name} is not used: {why}"));
        }
        let mut editors = self.editors.lock().unwrap_or_else(PoisonError::into_inner);
        match entries.is_empty() {
            true => drop(editors.remove(session)),
            false => drop(editors.insert(session.clone(), entries)),
        }
        drop(editors);
        let session = session.to_string();
        self.keep_slots(|_, place| place != Some(session.as_str()));
        notes
    }

    /// Whether an editor passes servers to a session.
    pub(crate) fn has_given(&self, session: &SessionId) -> bool {
        self.editors.lock().unwrap_or_else(PoisonError::into_inner).contains_key(session)
    }

    /// The user's servers, those of the editor of a session, and those of a folder that is trusted. Of two with one name,
    /// the first counts.
    pub(crate) fn placed(
        &self,
        trusted: Option<&str>,
        session: Option<&SessionId>,
        rules: &[Rule],
    ) -> (Vec<PlacedServer>, Vec<String>) {
        let ProjectServers { entries, mut problems } = match trusted {
            Some(folder) => entries::read_project(ProjectContext {
                folder: Path::new(folder),
                variables: &self.variables,
                private: &self.private,
            }),
            None => ProjectServers::default(),
        };
        let folder = trusted.unwrap_or_default();
        let mut all = self.user.read().unwrap_or_else(PoisonError::into_inner).entries.clone();
        let editors = self.editors.lock().unwrap_or_else(PoisonError::into_inner);
        let given = session.filter(|_| trusted.is_some()).and_then(|session| editors.get(session)).cloned();
        drop(editors);
        if trusted.is_some() {
            all.iter_mut().for_each(|entry| entry.name_files(&self.cwd(entry.source, folder), Path::new(folder)));
        }
        for entry in entries {
            if !all.iter().any(|other| other.name == entry.name) {
                all.push(entry);
                continue;
            }
            problems.push(format!(
                "{}, server {}: not used, because your settings have a server with this name.",
                entries::PROJECT_FILE,
                entry.name
            ));
        }
        // Last, so that a rule for a server of the folder never speaks for one that an editor calls the same.
        for mut entry in given.unwrap_or_default() {
            let name = entry.name.clone();
            let bound = entry.bind_files(Path::new(folder));
            match (all.iter().any(|other| other.name == name), bound) {
                (false, Ok(())) => all.push(entry),
                (true, _) => problems.push(format!(
                    "The editor's MCP server {name} is not used: your settings or {} have a server with this name.",
                    entries::PROJECT_FILE
                )),
                (_, Err(why)) => problems.push(format!("The editor's MCP server {name} is not used: {why}")),
            }
        }
        let placed = |entry: ServerEntry| {
            let standing = entry.standing(folder, rules);
            PlacedServer { entry, standing, folder: folder.to_owned(), session: session.cloned() }
        };
        (all.into_iter().map(placed).collect(), problems)
    }

    /// Where a server starts.
    fn cwd(&self, source: ServerSource, folder: &str) -> PathBuf {
        match source {
            ServerSource::User => self.home.clone(),
            ServerSource::Project | ServerSource::Editor => PathBuf::from(folder),
        }
    }

    /// The servers as a session sees them. Nothing is started for it.
    pub(crate) fn listing(&self, placed: &[PlacedServer]) -> Vec<ListedServer> {
        let listed = |server: &PlacedServer| {
            let name = server.entry.name.clone();
            let files = server.entry.files.iter().map(|file| file.path.clone()).collect();
            let project = server.entry.source != ServerSource::User;
            let listed = ListedServer { name, project, files, ..ListedServer::default() };
            match server.standing {
                ServerStanding::Off => None,
                // The editor's own conversation asks about it.
                ServerStanding::Pending if server.entry.source == ServerSource::Editor => None,
                ServerStanding::Pending => Some(ListedServer { pending: true, ..listed }),
                ServerStanding::On => {
                    let tools = self.known_tools(server);
                    let problem = self.problem(server).filter(|_| tools.is_none());
                    Some(ListedServer { tools, problem, ..listed })
                }
            }
        };
        placed.iter().filter_map(listed).collect()
    }

    /// The tools as they were listed last.
    pub(crate) fn known_tools(&self, server: &PlacedServer) -> Option<Vec<ServerTool>> {
        serde_json::from_str(&self.files.read(&file_of(server))?).ok()
    }

    /// The resources and prompts as they were listed last.
    pub(crate) fn known_offers(&self, server: &PlacedServer) -> Option<KnownOffers> {
        serde_json::from_str(&self.files.read(&offers_file_of(server))?).ok()
    }

    fn problem(&self, server: &PlacedServer) -> Option<String> {
        self.slot(server).problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn slot(&self, server: &PlacedServer) -> Arc<ServerSlot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(ServerSlot { place: server.place(), ..ServerSlot::default() });
        Arc::clone(slots.entry(server.key()).or_insert_with(new))
    }

    /// Comes again whenever a listing may have changed.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Begins to connect servers that may be used, each once, and waits for none.
    pub(crate) fn begin(self: &Arc<Self>, placed: &[PlacedServer]) {
        for server in placed.iter().filter(|server| server.standing == ServerStanding::On) {
            let is_new = self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(server.key());
            if is_new {
                let (servers, server) = (Arc::clone(self), server.clone());
                tokio::spawn(async move { servers.list(&server).await });
            }
        }
    }

    /// Connects a server if it is not, and lists its tools.
    pub(crate) async fn list(
        self: &Arc<Self>,
        server: &PlacedServer,
    ) -> Result<(Vec<ServerTool>, Vec<String>), McpError> {
        let connection = self.connect(server).await?;
        self.refresh(server, &connection).await
    }

    /// Lists again what the server offers. If that fails, the old list stays.
    async fn refresh(
        &self,
        server: &PlacedServer,
        connection: &Connection,
    ) -> Result<(Vec<ServerTool>, Vec<String>), McpError> {
        let mut listed = connection.tools(server.entry.trusts_annotations).await?;
        if self.known_tools(server).as_ref() != Some(&listed.tools) {
            let text = serde_json::to_string(&listed.tools).unwrap_or_default();
            if let Err(error) = self.files.write(&file_of(server), &text) {
                tracing::warn!(%error, "the tools of an MCP server cannot be kept");
            }
            self.changed.send_modify(|times| *times += 1);
        }
        // After the tools, because requests wait for those.
        let OfferList { resources, prompts, notes } = connection.offers().await;
        listed.notes.extend(notes);
        let offers = KnownOffers { resources, prompts };
        if self.known_offers(server).as_ref() != Some(&offers) {
            let text = serde_json::to_string(&offers).unwrap_or_default();
            if let Err(error) = self.files.write(&offers_file_of(server), &text) {
                tracing::warn!(%error, "the resources and prompts of an MCP server cannot be kept");
            }
        }
        Ok((listed.tools, listed.notes))
    }

    /// The connection to a server, which is made if there is none.
    pub(crate) async fn connect(self: &Arc<Self>, server: &PlacedServer) -> Result<Arc<Connection>, McpError> {
        if server.standing != ServerStanding::On {
            let name = &server.entry.name;
            return Err(McpError::NotConnected(format!("The MCP server {name} is not approved, or is off.")));
        }
        let slot = self.slot(server);
        let mut state = slot.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        state.connection = None;
        let known = slot.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(left), Some(problem)) =
            (state.not_before.and_then(|time| time.checked_duration_since(Instant::now())), known)
        {
            let seconds = left.as_secs() + 1;
            return Err(McpError::NotConnected(format!("{problem} Next retry in {seconds} s.")));
        }
        if !has_approved_files(server).await {
            return Err(McpError::NotConnected(format!(
                "A file that the MCP server {} runs has changed since you approved the server.",
                server.entry.name
            )));
        }
        let opened = Connection::open(&self.address(server)).await;
        // What it wrote to its standard error differs each time, and a listing must not.
        let problem = opened.as_ref().err().map(|error| reported(&server.entry.name, error));
        let had_problem = {
            let mut known = slot.problem.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *known, problem.clone())
        };
        if had_problem != problem {
            self.changed.send_modify(|times| *times += 1);
        }
        match opened {
            Ok(connection) => {
                self.note_login(server, None);
                let connection = Arc::new(connection);
                *state = SlotState { connection: Some(Arc::clone(&connection)), ..SlotState::default() };
                self.follow(server, &connection);
                Ok(connection)
            }
            // Only a login helps, and after one there is nothing to wait for.
            Err(McpError::LoginNeeded(refused)) => {
                *state = SlotState::default();
                self.note_login(server, Some(&refused));
                self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&server.key());
                Err(McpError::LoginNeeded(refused))
            }
            Err(error) => {
                state.failures += 1;
                let pause = Duration::from_secs(1 << state.failures.min(6)).min(LONGEST_PAUSE);
                state.not_before = Some(Instant::now() + pause);
                Err(error)
            }
        }
    }

    /// Lists the tools again whenever the server says that they have changed.
    fn follow(self: &Arc<Self>, server: &PlacedServer, connection: &Arc<Connection>) {
        let (servers, server) = (Arc::downgrade(self), server.clone());
        let (connection, mut changes) = (Arc::downgrade(connection), connection.changes());
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let (Some(servers), Some(connection)) = (servers.upgrade(), connection.upgrade()) else { return };
                if let Err(error) = servers.refresh(&server, &connection).await {
                    tracing::info!(%error, "a changed list of tools could not be read");
                }
                drop((servers, connection));
                // A server that reports changes without end must not keep this busy.
                tokio::time::sleep(BETWEEN_LISTS).await;
            }
        });
    }

    /// Calls a tool of a server in a folder.
    pub(crate) async fn call(
        self: &Arc<Self>,
        server: &PlacedServer,
        tool: &str,
        input: Map<String, Value>,
        asker: Option<CallAsker>,
    ) -> Result<ToolAnswer, McpError> {
        let called = self.connect(server).await?.call(tool, input, asker).await;
        match &called {
            Err(McpError::LoginNeeded(refused)) => self.note_login(server, Some(refused)),
            Ok(_) => self.note_login(server, None),
            Err(_) => {}
        }
        called
    }

    /// Lets a server that was given up be connected at once.
    pub(super) async fn retry(&self, server: &PlacedServer) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&server.key());
        let slot = self.slot(server);
        let mut state = slot.state.lock().await;
        *slot.problem.lock().unwrap_or_else(PoisonError::into_inner) = None;
        (state.failures, state.not_before) = (0, None);
    }

    fn address(&self, server: &PlacedServer) -> McpAddress {
        let entry = &server.entry;
        if entry.argv.is_empty() {
            let (url, headers) = (entry.url.clone(), entry.headers.clone());
            return McpAddress::Http { url, headers, login: self.login_file(server) };
        }
        let own = entry.environment.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
        McpAddress::Process(ServerProcess {
            argv: entry.argv.clone(),
            cwd: self.cwd(entry.source, &server.folder),
            environment: self.environment.clone(),
            private: self.private.clone(),
            own: own.collect(),
        })
    }
}

/// Why a server cannot be used, as sessions list it.
fn reported(name: &str, error: &McpError) -> String {
    match error {
        McpError::LoginNeeded(_) => format!("{} `trimtab mcp login {name}` logs you in.", error.reason()),
        error => error.reason().to_owned(),
    }
}

/// Whether the files that a server of a project or an editor runs are as the user has approved them. They are read again just before
/// the start, because the request that wants the server may have changed them since it began.
async fn has_approved_files(server: &PlacedServer) -> bool {
    if server.entry.source == ServerSource::User {
        return true;
    }
    let (entry, folder) = (server.entry.clone(), PathBuf::from(&server.folder));
    let read = move || entry.named_files(&folder, &folder).is_ok_and(|files| files == entry.files);
    tokio::task::spawn_blocking(read).await.unwrap_or(false)
}

/// Where the tools of a server are kept. What the server says counts or does not, so that is part of the name. Sessions of
/// an editor share the tools of its servers.
fn file_of(server: &PlacedServer) -> String {
    let folder = if server.entry.source == ServerSource::User { "" } else { server.folder.as_str() };
    let ServerEntry { hash, trusts_annotations, .. } = &server.entry;
    LocalFiles::name("mcp-tools", &format!("{hash} {folder} {trusts_annotations}"))
}

/// Where its resources and prompts are kept.
fn offers_file_of(server: &PlacedServer) -> String {
    let folder = if server.entry.source == ServerSource::User { "" } else { server.folder.as_str() };
    LocalFiles::name("mcp-offers", &format!("{} {folder}", server.entry.hash))
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::RuleVerdict;

    use super::*;
    use crate::mcp::UserServer;

    /// A server that is not there.
    fn servers(data: &std::path::Path) -> Arc<McpServers> {
        let server = UserServer { url: "http://127.0.0.1:1/mcp".into(), is_enabled: true, ..UserServer::default() };
        let entry = server.entry("gone", &BTreeMap::new());
        Arc::new(McpServers::new(vec![entry], data.to_owned(), LocalFiles::new(data), vec!["MY_KEY".to_owned()]))
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_tried_again_after_a_pause_and_sessions_are_told() {
        let data = tempfile::tempdir().expect("a folder");
        let servers = servers(data.path());
        let (placed, problems) = servers.placed(None, None, &[]);
        assert!(problems.is_empty());
        let before = servers.listing(&placed);
        assert_eq!((before[0].tools.is_none(), before[0].problem.is_none()), (true, true), "nothing is known yet");
        let mut changes = servers.changes();
        let first = servers.connect(&placed[0]).await.err().expect("not there").to_string();
        let second = servers.connect(&placed[0]).await.err().expect("not tried").to_string();
        assert!(!first.contains("retry") && second.contains("Next retry in 2 s."), "{first} {second}");
        assert!(changes.has_changed().expect("open"));
        changes.mark_unchanged();
        assert!(servers.listing(&placed)[0].problem.is_some());
    }

    #[tokio::test]
    async fn a_list_that_was_kept_is_there_before_the_server_is_connected() {
        let data = tempfile::tempdir().expect("a folder");
        let servers = servers(data.path());
        let (placed, _) = servers.placed(None, None, &[]);
        let kept = r#"[{"name": "echo", "inputSchema": {}}]"#;
        LocalFiles::new(data.path()).write(&file_of(&placed[0]), kept).expect("kept");
        servers.connect(&placed[0]).await.err().expect("not there");
        let listed = servers.listing(&placed);
        assert_eq!(listed[0].tools.as_ref().map(Vec::len), Some(1), "a failure keeps the old list");
        assert_eq!(listed[0].problem, None);
        LocalFiles::new(data.path()).write(&file_of(&placed[0]), "damaged").expect("kept");
        assert!(servers.listing(&placed)[0].tools.is_none());
    }

    #[test]
    fn keys_of_providers_stay_with_the_program() {
        let data = tempfile::tempdir().expect("a folder");
        let servers = servers(data.path());
        let server = UserServer { command: vec!["serve".into()], is_enabled: true, ..UserServer::default() };
        let entry = server.entry("own", &BTreeMap::new());
        let placed = PlacedServer { entry, standing: ServerStanding::On, folder: String::new(), session: None };
        let McpAddress::Process(process) = servers.address(&placed) else { panic!("a process") };
        assert_eq!(process.private, ["MY_KEY"]);
        let file = data.path().join(".mcp.json");
        std::fs::write(&file, r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "${MY_KEY}"}}}}"#).expect("writes");
        let (placed, problems) = servers.placed(Some(&data.path().display().to_string()), None, &[]);
        assert_eq!((placed.len(), problems.len()), (1, 1), "the folder's server is not used: {problems:?}");
        assert!(problems[0].contains("$MY_KEY"), "{problems:?}");
    }

    #[test]
    fn a_server_that_is_off_or_has_changed_is_let_go_and_others_stay() {
        let data = tempfile::tempdir().expect("a folder");
        let servers = servers(data.path());
        let project = |name: &str, folder: &str, standing| {
            let mut entry =
                UserServer { url: "http://127.0.0.1:1/".into(), ..UserServer::default() }.entry(name, &BTreeMap::new());
            entry.source = ServerSource::Project;
            PlacedServer { entry, standing, folder: folder.to_owned(), session: None }
        };
        let (user, _) = servers.placed(None, None, &[]);
        let (here, there) = (project("a", "/p", ServerStanding::On), project("a", "/q", ServerStanding::On));
        let changed = project("b", "/p", ServerStanding::On);
        let slots = [&user[0], &here, &there, &changed].map(|server| Arc::downgrade(&servers.slot(server)));
        servers.begun.lock().expect("begun").insert(here.key());
        let is_there = || slots.each_ref().map(|slot| slot.upgrade().is_some());
        servers.release("/p", None, &[user[0].clone(), here.clone(), changed]);
        assert_eq!(is_there(), [true; 4], "all of them may be used");
        let off = PlacedServer { standing: ServerStanding::Off, ..here.clone() };
        servers.release("/p", None, &[user[0].clone(), off]);
        assert_eq!(is_there(), [true, false, true, false]);
        assert!(!servers.begun.lock().expect("begun").contains(&here.key()), "it can be connected again");
        servers.release("/p", None, &[]);
        assert_eq!(is_there(), [false, false, true, false], "the user's own is off, too");
    }

    #[tokio::test]
    async fn a_file_that_changes_after_the_approval_was_checked_is_not_run() {
        let data = tempfile::tempdir().expect("a folder");
        let servers = servers(data.path());
        let folder = data.path().display().to_string();
        let write = |name: &str, text: &str| std::fs::write(data.path().join(name), text).expect("writes");
        write("serve.sh", "exit 1");
        write(".mcp.json", r#"{"mcpServers": {"a": {"command": "sh", "args": ["serve.sh"]}}}"#);
        let (mut placed, _) = servers.placed(Some(&folder), None, &[]);
        let mut server = placed.pop().expect("the folder's server");
        server.standing = ServerStanding::On;
        // Not `connect`: if it went wrong, it would start this test's own executable as a supervisor, which runs this again.
        assert!(has_approved_files(&server).await);
        write("serve.sh", "touch stolen");
        assert!(!has_approved_files(&server).await);
    }

    #[test]
    fn servers_of_an_editor_are_there_in_its_session_only_and_until_it_is_closed() {
        let data = tempfile::tempdir().expect("a folder");
        let servers = servers(data.path());
        let folder = data.path().display().to_string();
        std::fs::write(data.path().join(".mcp.json"), r#"{"mcpServers": {"notes": {"command": "x"}}}"#)
            .expect("writes");
        std::fs::write(data.path().join("serve.js"), "").expect("writes");
        let [one, other] = ["s01kabcdefghjkmnp", "s01kabcdefghjkmnq"].map(|id| id.parse::<SessionId>().expect("an ID"));
        let named = |name: &str| EditorServer {
            name: name.into(),
            command: vec!["node".into(), "serve.js".into()],
            ..EditorServer::default()
        };
        let given = ["notes", "helper", "gone", "helper", ""].map(named);
        let notes = servers.use_in(&one, given.to_vec());
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].contains("gone is not used: your settings have a server with this name"), "{notes:?}");
        let placed = |session, rules: &[Rule]| servers.placed(Some(&folder), Some(session), rules).0;
        let sources = |session| placed(session, &[]).iter().map(|server| server.entry.source).collect::<Vec<_>>();
        // The folder's server of the same name counts first.
        assert_eq!(sources(&one), [ServerSource::User, ServerSource::Project, ServerSource::Editor]);
        assert_eq!(sources(&other), [ServerSource::User, ServerSource::Project]);
        assert!(servers.placed(None, Some(&one), &[]).0.iter().all(|server| server.entry.source == ServerSource::User));
        let pending = placed(&one, &[]).remove(2);
        assert_eq!(pending.standing, ServerStanding::Pending);
        assert_eq!(servers.listing(&placed(&one, &[])).len(), 2, "the editor's own conversation asks about it");
        let rules = [pending.entry.rule(&folder, RuleVerdict::Allow)];
        let listed = servers.listing(&placed(&one, &rules)).remove(2);
        assert!(listed.project && !listed.pending, "a rule must be limited to the folder");
        assert_eq!(listed.files, ["serve.js"], "an edit of it asks");
        let slot = Arc::downgrade(&servers.slot(&placed(&one, &rules)[2]));
        servers.release(&folder, Some(&other), &placed(&other, &rules));
        assert!(slot.upgrade().is_some(), "the other session has nothing to do with it");
        std::fs::write(data.path().join("serve.js"), "steal()").expect("writes");
        assert_eq!(placed(&one, &rules)[2].standing, ServerStanding::Pending, "its file has changed");
        assert!(servers.use_in(&one, Vec::new()).is_empty());
        assert!(slot.upgrade().is_none());
        assert_eq!(sources(&one), [ServerSource::User, ServerSource::Project]);
    }
}
