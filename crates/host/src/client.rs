//! The interface of the host for surfaces.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use trimtab_engine::Input;
use trimtab_vocab::{
    AssistantRequest, CheckpointId, Machine, Problem, ProblemKind, RefKey, RequestId, SessionId, WhileRunning,
};
use trimtab_world::clock::{self, Clock, SystemClock};
use trimtab_world::models::{Model, ModelRegistry, Registry};
use trimtab_world::store::{
    JobRow, JobState, LocalFiles, NewInput, NewJob, PostgresStore, SqliteStore, Store, StoreError, tasks_session,
};

use crate::actor;
use crate::background::LiveCommands;
use crate::buffers::OpenEditors;
use crate::compose::{ComposedRequest, NO_FOLDER};
use crate::config::Profile;
use crate::effects::written;
use crate::endings::Endings;
use crate::hub::{Hub, SessionWatch};
use crate::import::refuse_imported;
use crate::local_models::FoundModel;
use crate::mcp::McpServers;
use crate::model_notes::ModelNotes;
use crate::roster::Roster;
use crate::snapshot::Latest;
use crate::workers::CopyGates;
use crate::workspace::{LocalWorkspace, Workspace, Workspaces};

/// Words above this many bytes are refused: no model reads them, and a file is a better place.
pub const LONGEST_TEXT: usize = 16 * 1024 * 1024;

/// What sessions are run against.
#[derive(Clone)]
pub struct World {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Finds models by name.
    pub models: Arc<dyn ModelRegistry>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What touches folders, session by session.
    pub workspaces: Workspaces,
}

impl World {
    /// What touches the folder of a session.
    pub(crate) fn workspace(&self, session: &SessionId) -> Arc<dyn Workspace> {
        (self.workspaces)(session)
    }
}

pub(crate) struct ActorContext {
    pub(crate) world: World,
    pub(crate) hub: Hub,
    pub(crate) roster: Roster,
    pub(crate) job_limit: u32,
    pub(crate) copying: CopyGates,
    pub(crate) endings: Endings,
    pub(crate) latest: Latest,
    /// The commands that run in this process.
    pub(crate) commands: LiveCommands,
    /// The editors that have sessions open.
    pub(crate) editors: OpenEditors,
    /// The user's settings file, if there is one to be read again.
    pub(crate) settings: Option<PathBuf>,
    /// The machine that it runs on.
    pub(crate) machine: Machine,
    /// The providers, where they come from settings.
    providers: Option<Arc<Providers>>,
    /// What was found out about models, where there is a data folder.
    pub(crate) notes: Option<ModelNotes>,
    /// MCP servers, where there is a data folder.
    pub(crate) servers: Option<Arc<McpServers>>,
    /// The model that the user chose among those that were found on this machine.
    pub(crate) chosen: Mutex<Option<FoundModel>>,
    /// Notices about calls that were already shown, by session. Each is shown once.
    pub(crate) told: Mutex<BTreeSet<(SessionId, String)>>,
}

/// The providers of the settings. They can change between calls, for example if the user sets another key.
struct Providers(RwLock<Registry>);

impl ModelRegistry for Providers {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, Problem> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).find(name)
    }
}

/// Where a request goes.
#[derive(Debug, Clone)]
pub enum SendTo {
    /// In a new session in this folder.
    New { folder: String },
    /// In a session that exists.
    Session(SessionId),
    /// To the task assistant, put like this. A request about the tasks that still runs or waits is replaced, because
    /// its result would be stale.
    Assistant(Box<AssistantRequest>),
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub checkpoint: CheckpointId,
    /// One of the choices.
    pub choice: String,
    /// Words that come with it.
    pub text: Option<String>,
    /// Who answers, for the record.
    pub by: String,
}

/// The session and request in which the results appear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub session: SessionId,
    pub request: RequestId,
}

/// The door to sessions. Cheap to clone; the sessions that this process runs end with the last clone.
#[derive(Clone)]
pub struct Client {
    inner: Arc<ClientInner>,
    /// Where the user uses it, for the record.
    pub(crate) surface: Option<&'static str>,
}

struct ClientInner {
    deps: Arc<ActorContext>,
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.deps.roster.dismiss();
    }
}

/// Facts about the machine that the client runs on; empty in a simulation.
#[derive(Default)]
struct LocalContext {
    settings: Option<PathBuf>,
    machine: Machine,
    providers: Option<Arc<Providers>>,
    notes: Option<ModelNotes>,
    editors: OpenEditors,
    servers: Option<Arc<McpServers>>,
}

/// Why nothing was sent.
enum Unsent {
    /// It was sent before.
    Known(Sent),
    Problem(Problem),
}

impl From<Problem> for Unsent {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// A model name that cannot be used, with where it was set.
fn with_origin(mut problem: Problem, origin: Option<&str>) -> Problem {
    if let (ProblemKind::Usage, Some(origin)) = (problem.kind, origin) {
        problem.message = format!("{} ({origin}).", problem.message.trim_end_matches('.'));
    }
    problem
}

/// Store errors reach people as problems; which folder it is, they know from `trimtab doctor`.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    error.problem(Path::new("the data folder"))
}

/// The variables that hold keys, which no command gets.
fn key_variables(profile: &Profile) -> Vec<String> {
    let keys = profile.providers.values().flat_map(|provider| {
        provider.key_env.iter().chain(&provider.extras.variables).cloned().collect::<Vec<String>>()
    });
    keys.chain(profile.external.search.iter().filter_map(|service| service.key_env.clone())).collect()
}

/// The folder access of this machine, with what these settings hide from commands.
pub(crate) fn local_workspace(profile: &Profile) -> LocalWorkspace {
    let own: Vec<PathBuf> = profile.hands.machine.own.iter().map(PathBuf::from).collect();
    LocalWorkspace::new(std::env::vars_os(), &own).private(key_variables(profile))
}

impl Client {
    /// Opens the data folder and prepares the model clients. Makes no network call.
    pub fn open(profile: &Profile) -> Result<Self, Problem> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store: Arc<dyn Store> = match profile.store_url() {
            None => SqliteStore::open(&profile.data, Arc::clone(&clock)).map(|store| Arc::new(store) as _),
            Some(url) => PostgresStore::open(&url, &profile.data, Arc::clone(&clock)).map(|store| Arc::new(store) as _),
        }
        .map_err(|error| error.problem(&profile.data))?;
        let keys = key_variables(profile);
        let local = local_workspace(profile).limited(profile.hands.limits).ready().with_caches(&profile.data);
        let local = local.searching(profile.external.search.clone());
        let editors = OpenEditors::default();
        let providers = Arc::new(Providers(RwLock::new(profile.registry())));
        let models: Arc<dyn ModelRegistry> = Arc::<Providers>::clone(&providers);
        let world = World { store, models, clock, workspaces: editors.over(Arc::new(local)) };
        let home = PathBuf::from(&profile.hands.machine.home);
        let servers = McpServers::new(profile.external.servers.clone(), home, LocalFiles::new(&profile.data), keys);
        let servers = servers.watching(&profile.file);
        let own = LocalContext {
            settings: Some(profile.file.clone()),
            machine: profile.hands.machine.clone(),
            providers: Some(providers),
            notes: Some(ModelNotes::new(&profile.data)),
            editors,
            servers: Some(Arc::new(servers)),
        };
        Ok(Self::over(world, profile.limits.jobs, own))
    }

    /// The same, used at this surface: `run`, `tui`, `http`, … Answers are recorded with it.
    #[must_use]
    pub fn on(self, surface: &'static str) -> Self {
        Self { surface: Some(surface), ..self }
    }

    /// Calls the providers of these settings from the next call on, in sessions that run as well.
    pub fn renew(&self, profile: &Profile) {
        if let Some(Providers(registry)) = self.inner.deps.providers.as_deref() {
            *registry.write().unwrap_or_else(PoisonError::into_inner) = profile.registry();
        }
    }

    /// A client over any world; this is where simulations come in.
    pub fn with(world: World, job_limit: u32) -> Self {
        Self::over(world, job_limit, LocalContext::default())
    }

    fn over(world: World, job_limit: u32, local: LocalContext) -> Self {
        let LocalContext { settings, machine, providers, notes, editors, servers } = local;
        let deps = Arc::new(ActorContext {
            world,
            hub: Hub::default(),
            roster: Roster::default(),
            job_limit,
            copying: CopyGates::default(),
            endings: Endings::default(),
            latest: Latest::default(),
            commands: LiveCommands::default(),
            editors,
            settings,
            machine,
            providers,
            notes,
            servers,
            chosen: Mutex::default(),
            told: Mutex::default(),
        });
        Self { inner: Arc::new(ClientInner { deps }), surface: None }
    }

    pub(crate) fn deps(&self) -> &Arc<ActorContext> {
        &self.inner.deps
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.inner.deps.world.clock.as_ref()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.inner.deps.world.store.as_ref()
    }

    /// Sends a request. When this returns, the request is durable.
    pub async fn send(&self, target: SendTo, composed: ComposedRequest) -> Result<Sent, Problem> {
        self.send_as(target, composed, clock::request_id(self.clock())).await
    }

    /// Sends a request under an ID from [`crate::new_request`] that the caller has stored before. After a kill, the
    /// ID tells whether the request was accepted.
    pub async fn send_as(
        &self,
        target: SendTo,
        composed: ComposedRequest,
        request: RequestId,
    ) -> Result<Sent, Problem> {
        self.take_in(target, composed, request, None).await.map_err(|error| match error {
            Unsent::Problem(problem) => problem,
            Unsent::Known(_) => store_problem(StoreError::Taken),
        })
    }

    /// Sends a request to a session, at most once for each `key`. A repeated call gets the first result. A different
    /// request with the same key is refused.
    pub async fn send_once(&self, session: &SessionId, composed: ComposedRequest, key: &str) -> Result<Sent, Problem> {
        let request = clock::request_named(session, key);
        let print = composed.fingerprint();
        match self.take_in(SendTo::Session(session.clone()), composed, request, Some(&print)).await {
            Ok(sent) => Ok(sent),
            Err(Unsent::Known(sent)) => {
                let known = self.store().text(&RefKey::print_of(&sent.request)).await.map_err(store_problem)?;
                match known.is_none_or(|known| known == print) {
                    true => Ok(sent),
                    false => Err(Problem::new(ProblemKind::Usage, "This key was used for another message.")
                        .hint("Use a new key for each message. The earlier message is unchanged.")),
                }
            }
            Err(Unsent::Problem(problem)) => Err(problem),
        }
    }

    async fn take_in(
        &self,
        target: SendTo,
        composed: ComposedRequest,
        request: RequestId,
        print: Option<&str>,
    ) -> Result<Sent, Unsent> {
        check_text(composed.text())?;
        let world = &self.inner.deps.world;
        world
            .models
            .find(&composed.settings().models.model)
            .map_err(|problem| with_origin(problem, composed.model_origin()))?;
        if composed.has_images() && !composed.settings().models.vision_model.is_empty() {
            world.models.find(&composed.settings().models.vision_model)?;
        }
        let job = NewJob { request: request.clone(), text: actor::first_words(composed.text()) };
        let (mut said, mut keeps) = composed.into_request(request.clone());
        keeps.extend(print.map(|print| (RefKey::print_of(&request), print.to_owned())));
        let (known, folder) = match target {
            SendTo::New { folder } => (None, folder),
            SendTo::Session(session) => {
                check_session(&session)?;
                refuse_imported(self.store(), &session).await?;
                let row = world.store.session(&session).await.map_err(store_problem)?;
                let idle = row.as_ref().map(|row| self.clock().now().millis().saturating_sub(row.updated.millis()));
                // Less than a minute does not count as a pause.
                said.pause_s = idle.and_then(|idle| u64::try_from(idle / 1_000).ok()).filter(|pause| *pause >= 60);
                (Some(session), row.map(|row| row.folder).unwrap_or_default())
            }
            SendTo::Assistant(ask) => {
                said.ask = Some(ask);
                said.while_running = Some(WhileRunning::Replace);
                (self.requests().asking_session().await?, NO_FOLDER.to_owned())
            }
        };
        let payload = written(&Input::Said { request: Box::new(said) });
        let input = NewInput { payload, job: Some(job), keeps, ..NewInput::default() };
        self.changes().finish_moves(&folder).await?;
        let session = match known {
            None => self.sessions().create(folder, Some(input)).await?,
            Some(session) => match world.store.enqueue(&session, input).await {
                Err(StoreError::Taken) => return Err(Unsent::Known(Sent { session, request })),
                done => done.map(|()| session).map_err(store_problem)?,
            },
        };
        self.resume(&session);
        Ok(Sent { session, request })
    }

    /// Continues the unfinished work of a session.
    pub fn resume(&self, session: &SessionId) {
        let deps = &self.inner.deps;
        deps.roster.want(session, |wake| tokio::spawn(actor::run(Arc::clone(deps), session.clone(), wake)));
    }

    /// Makes this process a server. Continues what an earlier server left unfinished, and returns the number of
    /// sessions. Sessions that another process runs are left to it.
    pub async fn serve(&self) -> Result<usize, Problem> {
        self.store().serve();
        // With a shared store, it may be a session of another machine, in a folder that this one does not have.
        let is_here = |folder: &str| folder.is_empty() || Path::new(folder).is_dir();
        let is_left = |job: &JobRow| job.served && job.state != JobState::Running && is_here(&job.folder);
        let left: BTreeSet<SessionId> =
            self.requests().list(false).await?.into_iter().filter(is_left).map(|job| job.session).collect();
        left.iter().for_each(|session| self.resume(session));
        Ok(left.len())
    }

    /// The facts of a session after `after`, then live.
    pub fn watch(&self, session: &SessionId, after: u64) -> SessionWatch {
        let deps = &self.inner.deps;
        SessionWatch::new(Arc::clone(deps), session.clone(), after)
    }
}

/// No process runs the session of the tasks: each change of tasks writes its log directly.
pub(crate) fn check_session(session: &SessionId) -> Result<(), Problem> {
    if *session == tasks_session() {
        return Err(Problem::new(
            ProblemKind::Usage,
            "This session stores the history of your tasks and takes no messages.",
        )
        .hint("`trimtab tasks undo` and `redo` move that history, `trimtab tasks changes` shows it."));
    }
    Ok(())
}

pub(crate) fn check_text(text: &str) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(Problem::new(ProblemKind::Usage, "The request is empty.").hint("Type a request."));
    }
    if text.len() > LONGEST_TEXT {
        return Err(Problem::new(ProblemKind::Usage, "The request is too large: the limit is 16 MB.").hint(
            "Put the text into a file of the folder and name the file in the request. Nothing was sent or stored.",
        ));
    }
    Ok(())
}
