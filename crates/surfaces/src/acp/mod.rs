//! The Agent Client Protocol on standard input and output: sessions in an editor.
//!
//! Protocol version 1, a JSON-RPC message per line. The protocol's types stay in this folder. Files and commands stay
//! Trimtab's own: nothing is written or run through the client, so that undo and the sandbox hold.

mod buffers;
mod commands;
mod options;
mod peer;
mod prompt;
mod questions;
mod servers;
mod session;
mod tool_calls;
mod updates;
mod wire;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::rpc::RequestId as RpcId;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodTerminal, AuthenticateRequest, AuthenticateResponse, CancelNotification,
    CancelRequestNotification, CloseSessionRequest, DeleteSessionRequest, Error, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    McpCapabilities, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest, ResumeSessionRequest,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionInfo,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use trimtab_host::config::{self, Profile};
use trimtab_host::{Client, NO_FOLDER};
use trimtab_vocab::{Problem, ProblemKind, SessionId};

use crate::bounded_lines::{InputLine, LineReader};
use buffers::ClientBuffers;
use peer::{Peer, written};
use servers::GivenServers;
use session::{EditorContext, HandedOver, OpenSession, SessionCall, problem_error};
use wire::{BrokenMessage, Incoming, LONGEST_LINE, RawParams, bad_params, invalid, params, unknown_method};

/// Sessions that one client can have open.
const OPEN_SESSIONS: usize = 64;
/// Calls that wait for a session.
const CALLS: usize = 16;
/// How long to wait for the end of a session's work before it is deleted.
const DELETE_PATIENCE: Duration = Duration::from_secs(2);
/// How long sessions that were closed or deleted have to end, once the client is gone.
const CLOSE_PATIENCE: Duration = Duration::from_secs(4);
/// Sessions of one page of a list.
const PAGE: usize = 1_000;

/// Serves one client until its input ends.
pub(crate) async fn serve(
    client: Client,
    profile: Profile,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (peer, writing) = Peer::new(output);
    let ending = client.clone();
    let agent = EditorAgent {
        client,
        profile,
        peer,
        initialized: None,
        sessions: HashMap::new(),
        closing: HashMap::new(),
        deleting: JoinSet::new(),
    };
    tokio::pin!(writing);
    let ended = tokio::select! {
        biased;
        // The client no longer reads.
        written = &mut writing => written,
        // What is left is written, and then it ends.
        read = agent.run(input) => match read {
            Ok(()) => writing.await,
            Err(error) => Err(error),
        },
    };
    ending.requests().end_workers().await;
    ended
}

/// What the client can do.
#[derive(Debug, Clone, Copy)]
struct ClientAbilities {
    has_forms: bool,
    /// It hands out the texts of its buffers.
    has_buffers: bool,
}

struct SessionHandle {
    calls: mpsc::Sender<SessionCall>,
    task: JoinHandle<HandedOver>,
}

/// The agent of one client.
struct EditorAgent {
    client: Client,
    profile: Profile,
    peer: Peer,
    initialized: Option<ClientAbilities>,
    sessions: HashMap<SessionId, SessionHandle>,
    /// Sessions that were told to close, and may not have yet.
    closing: HashMap<SessionId, JoinHandle<HandedOver>>,
    /// Sessions that are being deleted.
    deleting: JoinSet<()>,
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    New,
    /// With its conversation.
    Load,
    /// Without its conversation, which the client has.
    Resume,
}

/// Whether the answer to a request is there, or a session sends it later.
enum Handled {
    Answer(Value),
    Later,
}

impl EditorAgent {
    async fn run(mut self, input: impl AsyncBufRead + Unpin) -> io::Result<()> {
        let mut lines = LineReader::new(input, LONGEST_LINE);
        while let Some(line) = lines.next().await? {
            let message = match line {
                InputLine::Text(line) => wire::parse(line),
                InputLine::TooLong => Err(BrokenMessage::too_long()),
            };
            match message {
                Ok(Incoming::Request { id, method, params }) => self.request(id, &method, params).await,
                Ok(Incoming::Notification { method, params }) => self.notification(&method, params).await,
                Ok(Incoming::Response { id, answer }) => self.peer.answered(&id, answer),
                Err(BrokenMessage { id, error }) => self.peer.refuse(&id, Err(*error)).await,
            }
        }
        // The requests of open sessions stay where they are, and continue when a session is opened again.
        for (session, handle) in self.sessions {
            self.client.use_buffers(&session, None);
            self.client.servers().use_in(&session, Vec::new());
            handle.task.abort();
            let _ = handle.task.await;
        }
        // What the client has closed is cancelled before the program ends, and what it has deleted is gone.
        let _ = tokio::time::timeout(CLOSE_PATIENCE, async {
            for task in self.closing.into_values() {
                let _ = task.await;
            }
            while self.deleting.join_next().await.is_some() {}
        })
        .await;
        // Background commands end with the program.
        self.client.commands().end_all().await;
        self.peer.finish().await;
        Ok(())
    }

    async fn request(&mut self, id: RpcId, method: &str, params: RawParams) {
        if let Err(error) = self.peer.take(&id) {
            return self.peer.refuse(&id, Err(error)).await;
        }
        match self.handle(&id, method, params).await {
            Ok(Handled::Answer(answer)) => self.peer.respond(&id, Ok(answer)).await,
            Ok(Handled::Later) => {}
            Err(error) => self.peer.respond(&id, Err(error)).await,
        }
    }

    async fn handle(&mut self, id: &RpcId, method: &str, raw: RawParams) -> Result<Handled, Error> {
        if method == "initialize" {
            return self.initialize(params(raw)?).map(Handled::Answer);
        }
        if self.initialized.is_none() {
            return Err(invalid("The connection is not initialized. Send `initialize` first."));
        }
        match method {
            "authenticate" => self.authenticate(params(raw)?).map(Handled::Answer),
            "session/new" => self.new_session(id, raw).await,
            "session/load" => {
                let servers = GivenServers::read(raw.as_deref())?;
                let LoadSessionRequest { session_id, cwd, .. } = params(raw)?;
                self.open(id, &session_id.0, &cwd, (Opening::Load, servers)).await
            }
            "session/resume" => {
                let servers = GivenServers::read(raw.as_deref())?;
                let ResumeSessionRequest { session_id, cwd, .. } = params(raw)?;
                self.open(id, &session_id.0, &cwd, (Opening::Resume, servers)).await
            }
            "session/list" => self.list(params(raw)?).await.map(Handled::Answer),
            "session/delete" => self.delete(id, params(raw)?).await,
            "session/close" => {
                let CloseSessionRequest { session_id, .. } = params(raw)?;
                let session = session_named(&session_id.0)?;
                self.pass_on(&session, SessionCall::Close { id: Some(id.clone()) }).await?;
                self.closing.retain(|_, task| !task.is_finished());
                if let Some(handle) = self.sessions.remove(&session) {
                    self.closing.insert(session, handle.task);
                }
                Ok(Handled::Later)
            }
            "session/prompt" => {
                let PromptRequest { session_id, prompt, .. } = params(raw)?;
                let call = SessionCall::Prompt { id: id.clone(), blocks: prompt };
                self.pass_on(&session_named(&session_id.0)?, call).await
            }
            "session/set_mode" => {
                let SetSessionModeRequest { session_id, mode_id, .. } = params(raw)?;
                let call = SessionCall::SetMode { id: id.clone(), mode: options::mode_named(&mode_id.0)? };
                self.pass_on(&session_named(&session_id.0)?, call).await
            }
            "session/set_config_option" => {
                let SetSessionConfigOptionRequest { session_id, config_id, value, .. } = params(raw)?;
                let value = value.as_value_id().ok_or_else(|| bad_params("This option takes one of its values."))?;
                let call = SessionCall::SetOption {
                    id: id.clone(),
                    option: config_id.0.to_string(),
                    value: value.0.to_string(),
                };
                self.pass_on(&session_named(&session_id.0)?, call).await
            }
            other => Err(unknown_method(other)),
        }
    }

    /// Notifications get no answer, not even a wrong one.
    async fn notification(&mut self, method: &str, raw: RawParams) {
        match method {
            "session/cancel" => {
                let Ok(CancelNotification { session_id, .. }) = params(raw) else { return };
                if let Ok(session) = session_named(&session_id.0) {
                    let _ = self.pass_on(&session, SessionCall::Cancel).await;
                }
            }
            "$/cancel_request" => {
                let Ok(CancelRequestNotification { request_id, .. }) = params(raw) else { return };
                let sessions: Vec<SessionId> = self.sessions.keys().cloned().collect();
                for session in sessions {
                    let _ = self.pass_on(&session, SessionCall::CancelRequest(request_id.clone())).await;
                }
            }
            _ => {}
        }
    }

    fn initialize(&mut self, request: InitializeRequest) -> Result<Value, Error> {
        let abilities = request.client_capabilities;
        let has_forms = abilities.elicitation.as_ref().is_some_and(|elicitation| elicitation.supports_form());
        let has_buffers = abilities.fs.read_text_file;
        self.initialized = Some(ClientAbilities { has_forms, has_buffers });
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        let agent = Implementation::new("trimtab", env!("CARGO_PKG_VERSION")).title("Trimtab".to_owned());
        let mut methods = Vec::new();
        if abilities.auth.terminal {
            methods.push(AuthMethod::Terminal(
                AuthMethodTerminal::new(SETUP, "Set up a model")
                    .args(vec!["--setup".to_owned()])
                    .description("Opens Trimtab in a terminal, which asks for a key or finds a model".to_owned()),
            ));
        }
        let response = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(agent)
            .auth_methods(methods);
        Ok(written(response))
    }

    /// The setup happens in a terminal; this only says whether it was done.
    fn authenticate(&mut self, request: AuthenticateRequest) -> Result<Value, Error> {
        if *request.method_id.0 != *SETUP {
            return Err(bad_params(format!("Unknown method \"{}\".", request.method_id.0.escape_debug())));
        }
        self.reload_settings()?;
        self.profile.ready_model().map_err(|problem| problem_error(&problem))?;
        Ok(written(AuthenticateResponse::new()))
    }

    /// Reads the settings again: a key or a model may have been added since.
    fn reload_settings(&mut self) -> Result<(), Error> {
        self.profile = config::load(&[]).map_err(|problem| problem_error(&problem))?;
        self.client.renew(&self.profile);
        Ok(())
    }

    async fn new_session(&mut self, id: &RpcId, raw: RawParams) -> Result<Handled, Error> {
        let servers = GivenServers::read(raw.as_deref())?;
        let NewSessionRequest { cwd, .. } = params(raw)?;
        let folder = real_folder(&cwd)?;
        self.reload_settings()?;
        if self.profile.model.is_none() && trimtab_host::local_model(&self.profile).await.is_none() {
            let Err(problem) = self.profile.ready_model() else { return Err(Error::internal_error()) };
            return Err(problem_error(&problem));
        }
        self.make_room()?;
        let session = self.client.sessions().open(folder.clone()).await.map_err(|problem| problem_error(&problem))?;
        Ok(self.start(id, session, folder, (Opening::New, servers), None))
    }

    /// Opens a session that exists, in its own folder only: the folder decides what may be read and changed.
    async fn open(
        &mut self,
        id: &RpcId,
        session: &str,
        cwd: &Path,
        opening: (Opening, GivenServers),
    ) -> Result<Handled, Error> {
        let session = session_named(session)?;
        let row = self.client.sessions().get(&session).await.map_err(|problem| problem_error(&problem))?;
        if session.is_worker() || row.folder == NO_FOLDER {
            return Err(bad_params(format!("The session {session} cannot be opened in an editor.")));
        }
        let folder = real_folder(cwd)?;
        if folder != row.folder {
            return Err(bad_params(format!(
                "The session {session} belongs to the folder {}, not to {folder}. Open that folder to continue it.",
                row.folder
            )));
        }
        self.reload_settings()?;
        self.sessions.retain(|_, handle| !handle.task.is_finished());
        let before = match self.sessions.remove(&session) {
            Some(handle) => {
                let _ = handle.calls.send(SessionCall::HandOver).await;
                Some(handle.task)
            }
            None => self.closing.remove(&session),
        };
        self.make_room()?;
        Ok(self.start(id, session, folder, opening, before))
    }

    fn make_room(&mut self) -> Result<(), Error> {
        self.sessions.retain(|_, handle| !handle.task.is_finished());
        match self.sessions.len() < OPEN_SESSIONS {
            true => Ok(()),
            false => {
                Err(invalid(format!("Too many sessions are open: the limit is {OPEN_SESSIONS}. Close one first.")))
            }
        }
    }

    /// Starts the task of a session, after the one that the session had before. It answers the request that opens it,
    /// before anything else and after the conversation that is loaded.
    fn start(
        &mut self,
        id: &RpcId,
        session: SessionId,
        folder: String,
        (opening, given): (Opening, GivenServers),
        before: Option<JoinHandle<HandedOver>>,
    ) -> Handled {
        let abilities = self.initialized.unwrap_or(ClientAbilities { has_forms: false, has_buffers: false });
        let (client, profile, peer) = (self.client.clone(), self.profile.clone(), self.peer.clone());
        let context = EditorContext { client, profile, peer, has_forms: abilities.has_forms };
        let (calls, waiting) = mpsc::channel(CALLS);
        let opened = SessionOpening {
            context,
            has_buffers: abilities.has_buffers,
            session: session.clone(),
            folder,
            opening,
            given,
            before,
        };
        let task = tokio::spawn(opened.serve(id.clone(), waiting));
        self.sessions.insert(session, SessionHandle { calls, task });
        Handled::Later
    }

    async fn pass_on(&mut self, session: &SessionId, call: SessionCall) -> Result<Handled, Error> {
        let closed = || bad_params(format!("The session {session} is not open. Load or resume it first."));
        let handle = self.sessions.get(session).ok_or_else(closed)?;
        handle.calls.send(call).await.map_err(|_| closed())?;
        Ok(Handled::Later)
    }

    async fn list(&self, request: ListSessionsRequest) -> Result<Value, Error> {
        let from: usize = match &request.cursor {
            Some(cursor) => {
                cursor.parse().map_err(|_| bad_params("Invalid cursor. Use `nextCursor` of the last page."))?
            }
            None => 0,
        };
        let folder = request.cwd.as_deref().map(real_folder).transpose()?;
        let rows = self.client.sessions().list(folder.as_deref()).await.map_err(|problem| problem_error(&problem))?;
        let mut rows = rows.into_iter().filter(|row| row.folder != NO_FOLDER).skip(from);
        let page: Vec<SessionInfo> = rows
            .by_ref()
            .take(PAGE)
            .map(|row| {
                let title = (!row.title.is_empty()).then(|| row.title.clone());
                SessionInfo::new(row.id.to_string(), row.folder).title(title).updated_at(row.updated.to_string())
            })
            .collect();
        let next = rows.next().is_some().then(|| (from + page.len()).to_string());
        Ok(written(ListSessionsResponse::new(page).next_cursor(next)))
    }

    /// Deletes a session, beside what the client does meanwhile.
    async fn delete(&mut self, id: &RpcId, request: DeleteSessionRequest) -> Result<Handled, Error> {
        let session = session_named(&request.session_id.0)?;
        let open = match self.sessions.remove(&session) {
            Some(handle) => {
                let _ = handle.calls.send(SessionCall::Close { id: None }).await;
                Some(handle.task)
            }
            None => self.closing.remove(&session),
        };
        let (client, peer, id) = (self.client.clone(), self.peer.clone(), id.clone());
        while self.deleting.try_join_next().is_some() {}
        self.deleting.spawn(async move {
            if let Some(open) = open {
                let _ = open.await;
            }
            let deleted = delete_when_idle(&client, &session).await;
            peer.respond(&id, deleted.map(|()| json!({})).map_err(|problem| problem_error(&problem))).await;
        });
        Ok(Handled::Later)
    }
}

/// Deletes a session. The work of one that was just closed takes a moment to end.
async fn delete_when_idle(client: &Client, session: &SessionId) -> Result<(), Problem> {
    let until = Instant::now() + DELETE_PATIENCE;
    loop {
        match client.sessions().delete(session).await {
            Err(problem) if problem.kind == ProblemKind::Busy && Instant::now() < until => {
                tokio::time::sleep(DELETE_PATIENCE / 40).await;
            }
            ended => return ended,
        }
    }
}

/// The ID of the terminal setup.
const SETUP: &str = "setup";

/// A session that is about to be open.
struct SessionOpening {
    context: EditorContext,
    has_buffers: bool,
    session: SessionId,
    folder: String,
    opening: Opening,
    given: GivenServers,
    /// The task that the session has had until now.
    before: Option<JoinHandle<HandedOver>>,
}

impl SessionOpening {
    async fn serve(self, id: RpcId, calls: mpsc::Receiver<SessionCall>) -> HandedOver {
        let Self { context, has_buffers, session, folder, opening, given, before } = self;
        // What a closed session lets go of must not be what this one holds.
        let before = match before {
            Some(task) => task.await.unwrap_or_default(),
            None => HandedOver::default(),
        };
        let (client, peer) = (context.client.clone(), context.peer.clone());
        if has_buffers {
            let buffers = ClientBuffers { peer: peer.clone(), session: session.clone() };
            client.use_buffers(&session, Some(Arc::new(buffers)));
        }
        let GivenServers { servers, mut notes } = given;
        notes.extend(client.servers().use_in(&session, servers));
        let mut opened = OpenSession::new(context, session.clone(), folder, before);
        let read = opened.read_log(opening == Opening::Load).await;
        let (options, modes) = (opened.option_list(), opened.options().modes());
        let answer = match (read, opening) {
            (Err(problem), _) => {
                opened.give_up(&problem).await;
                peer.respond(&id, Err(problem_error(&problem))).await;
                return HandedOver::default();
            }
            (Ok(()), Opening::New) => {
                written(NewSessionResponse::new(session.to_string()).modes(modes).config_options(options))
            }
            (Ok(()), Opening::Load) => written(LoadSessionResponse::new().modes(modes).config_options(options)),
            (Ok(()), Opening::Resume) => written(ResumeSessionResponse::new().modes(modes).config_options(options)),
        };
        peer.respond(&id, Ok(answer)).await;
        if !notes.is_empty() {
            opened.say(&notes.join("\n")).await;
        }
        opened.show_pending_servers().await;
        if opening != Opening::New
            && let Err(problem) = opened.take_up().await
        {
            tracing::warn!(%session, "its work cannot be continued: {problem}");
        }
        opened.run(calls).await
    }
}

fn session_named(id: &str) -> Result<SessionId, Error> {
    id.parse().map_err(|_| bad_params(format!("Invalid session ID \"{}\".", id.escape_debug())))
}

/// The folder, with its links resolved.
fn real_folder(path: &Path) -> Result<String, Error> {
    let wrong = |why: &str| bad_params(format!("The folder {} {why}.", path.display().to_string().escape_debug()));
    if !path.is_absolute() {
        return Err(wrong("is not an absolute path"));
    }
    let real = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong("does not exist"),
        _ => wrong(&format!("cannot be used: {error}")),
    })?;
    if !real.is_dir() {
        return Err(wrong("is not a folder"));
    }
    real.into_os_string().into_string().map_err(|_| wrong("has a name that is not valid UTF-8"))
}
