//! All that a surface sees.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use trimtab_engine::{Input, Session};
use trimtab_vocab::{
    ChangePart, CheckpointId, Control, Event, ImageRef, Machine, Mode, PictureWish, Pill, Problem, ProblemKind, RefKey,
    Request, RequestId, Rule, RunSettings, SessionId, WhileRunning,
};
use trimtab_world::clock::{self, Clock, SystemClock};
use trimtab_world::models::{Model, ModelRegistry, Registry};
use trimtab_world::store::{
    JobRow, JobState, NewInput, NewJob, RuleChange, SessionQuery, SessionRow, SqliteStore, Store, StoreError, hash,
    tasks_session,
};

use crate::actor::{self, written_rule};
use crate::config::Profile;
use crate::effects::written;
use crate::history::{self, History};
use crate::hub::{Hub, SessionWatch};
use crate::roster::Roster;
use crate::snapshot::Latest;
use crate::workspace::{LocalWorkspace, Workspace, Workspaces, shared_workspace};

/// Words above this many bytes are refused: no model reads them, and a file is a better place.
pub const LONGEST_TEXT: usize = 16 * 1024 * 1024;

/// What sessions are run against.
#[derive(Clone)]
pub struct World {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Who is asked.
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
    pub(crate) latest: Latest,
    /// The person's settings file, if there is one to be read again.
    pub(crate) settings: Option<PathBuf>,
    /// The machine that it runs on.
    pub(crate) machine: Machine,
    /// The providers, where they come from settings.
    providers: Option<Arc<Providers>>,
}

/// The providers of the settings. They may be others from one call to the next: somebody gave another key.
struct Providers(RwLock<Registry>);

impl ModelRegistry for Providers {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, Problem> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).find(name)
    }
}

/// What a person says.
#[derive(Debug, Clone)]
pub struct Say {
    /// The words.
    pub text: String,
    /// The path they chose.
    pub mode: Mode,
    /// What is in force.
    pub settings: RunSettings,
    /// Pictures, each with its media type and its bytes in base64.
    pub images: Vec<(String, String)>,
    /// The workflow that the words call.
    pub pill: Option<Pill>,
    /// What it does to a request of the session that runs; absent: it waits for its turn.
    pub while_running: Option<WhileRunning>,
    /// What it wants of the gallery of pictures.
    pub picture: Option<PictureWish>,
}

impl Say {
    /// Words, and nothing else.
    pub fn new(text: impl Into<String>, settings: RunSettings) -> Self {
        let (text, images, pill, while_running) = (text.into(), Vec::new(), None, None);
        Self { text, mode: Mode::Auto, settings, images, pill, while_running, picture: None }
    }
}

/// Where it is said.
#[derive(Debug, Clone)]
pub enum SendTo {
    /// In a new session in this folder.
    New {
        /// The folder.
        folder: String,
    },
    /// In a session that exists.
    Session(SessionId),
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// To what.
    pub checkpoint: CheckpointId,
    /// One of the choices.
    pub choice: String,
    /// Words that come with it.
    pub text: Option<String>,
    /// Who answers, for the record.
    pub by: String,
}

/// Where to look for what comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The session.
    pub session: SessionId,
    /// The request.
    pub request: RequestId,
}

/// The door to sessions. Cheap to clone; the sessions that this process runs end with the last clone.
#[derive(Clone)]
pub struct Client {
    inner: Arc<ClientInner>,
    /// Where a person uses it, for the record.
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

/// What a client knows of the machine that it runs on; a simulation has none of it.
#[derive(Default)]
struct LocalContext {
    settings: Option<PathBuf>,
    machine: Machine,
    providers: Option<Arc<Providers>>,
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

/// Store errors reach people as problems; which folder it is, they know from `trimtab doctor`.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    error.problem(Path::new("the data folder"))
}

impl Client {
    /// Opens the data folder and makes ready to call models; calls nobody.
    pub fn open(profile: &Profile) -> Result<Self, Problem> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store =
            SqliteStore::open(&profile.data, Arc::clone(&clock)).map_err(|error| error.problem(&profile.data))?;
        let own: Vec<PathBuf> = profile.hands.machine.own.iter().map(PathBuf::from).collect();
        let keys = profile.providers.values().filter_map(|provider| provider.key_env.clone());
        let local = LocalWorkspace::new(std::env::vars_os(), &own).private(keys).limited(profile.hands.limits);
        let providers = Arc::new(Providers(RwLock::new(profile.registry())));
        let models: Arc<dyn ModelRegistry> = Arc::<Providers>::clone(&providers);
        let world = World { store: Arc::new(store), models, clock, workspaces: shared_workspace(local) };
        let own = LocalContext {
            settings: Some(profile.file.clone()),
            machine: profile.hands.machine.clone(),
            providers: Some(providers),
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

    fn over(world: World, job_limit: u32, LocalContext { settings, machine, providers }: LocalContext) -> Self {
        let deps = Arc::new(ActorContext {
            world,
            hub: Hub::default(),
            roster: Roster::default(),
            job_limit,
            latest: Latest::default(),
            settings,
            machine,
            providers,
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

    /// Takes in what a person says. When this returns, it cannot be lost any more.
    pub async fn send(&self, target: SendTo, say: Say) -> Result<Sent, Problem> {
        self.send_as(target, say, clock::request_id(self.clock())).await
    }

    /// The same, under a name from [`crate::new_request`] that whoever says it has noted before: after a kill, it tells
    /// them whether the words were taken in.
    pub async fn send_as(&self, target: SendTo, say: Say, request: RequestId) -> Result<Sent, Problem> {
        self.take_in(target, say, request, None).await.map_err(|error| match error {
            Unsent::Problem(problem) => problem,
            Unsent::Known(_) => store_problem(StoreError::Taken),
        })
    }

    /// The same, in a session, at most once for each `key`: whoever asks again gets what the first asking got, and
    /// whoever asks for something else with the same key is refused.
    pub async fn send_once(&self, session: &SessionId, say: Say, key: &str) -> Result<Sent, Problem> {
        let request = clock::request_named(session, key);
        let said = serde_json::json!([say.text, say.mode, say.images, say.picture]);
        let print = hash(said.to_string().as_bytes());
        match self.take_in(SendTo::Session(session.clone()), say, request, Some(&print)).await {
            Ok(sent) => Ok(sent),
            Err(Unsent::Known(sent)) => {
                let known = self.store().text(&RefKey::print_of(&sent.request)).await.map_err(store_problem)?;
                match known.is_none_or(|known| known == print) {
                    true => Ok(sent),
                    false => Err(Problem::new(ProblemKind::Usage, "This key was used for another message.")
                        .hint("Send each new message with a key of its own; the one before stands as it was said.")),
                }
            }
            Err(Unsent::Problem(problem)) => Err(problem),
        }
    }

    async fn take_in(&self, target: SendTo, say: Say, request: RequestId, print: Option<&str>) -> Result<Sent, Unsent> {
        check_text(&say.text)?;
        let world = &self.inner.deps.world;
        world.models.find(&say.settings.model)?;
        if !say.images.is_empty() && !say.settings.vision_model.is_empty() {
            world.models.find(&say.settings.vision_model)?;
        }
        let job = NewJob { request: request.clone(), text: actor::first_words(&say.text) };
        let mut images = Vec::new();
        let mut keeps: Vec<(RefKey, String)> =
            print.map(|print| (RefKey::print_of(&request), print.to_owned())).into_iter().collect();
        for (number, (media_type, base64)) in say.images.into_iter().enumerate() {
            let key = RefKey::image_of(&request, number);
            images.push(ImageRef { key: key.clone(), media_type });
            keeps.push((key, base64));
        }
        let (mode, pill, while_running) = (say.mode, say.pill.map(Box::new), say.while_running);
        let picture = say.picture.map(Box::new);
        let said = Request {
            images,
            mode,
            pill,
            while_running,
            picture,
            ..Request::new(request.clone(), say.text, say.settings)
        };
        let payload = written(&Input::Said { request: Box::new(said) });
        let input = NewInput { payload, job: Some(job), keeps, housekeeping: false };
        let session = match target {
            SendTo::New { folder } => {
                self.finish_moves(&folder).await?;
                self.create(folder, Some(input)).await?
            }
            SendTo::Session(session) => {
                check_session(&session)?;
                if let Some(row) = world.store.session(&session).await.map_err(store_problem)? {
                    self.finish_moves(&row.folder).await?;
                }
                match world.store.enqueue(&session, input).await {
                    Err(StoreError::Taken) => return Err(Unsent::Known(Sent { session, request })),
                    done => done.map_err(store_problem)?,
                }
                session
            }
        };
        self.resume(&session);
        Ok(Sent { session, request })
    }

    /// Begins a session in which nothing is said yet.
    pub async fn open_session(&self, folder: String) -> Result<SessionId, Problem> {
        let session = self.create(folder, None).await?;
        self.resume(&session);
        Ok(session)
    }

    pub(crate) async fn create(&self, folder: String, said: Option<NewInput>) -> Result<SessionId, Problem> {
        let world = &self.inner.deps.world;
        let id = clock::session_id(world.clock.as_ref());
        let now = world.clock.now();
        let opened = NewInput { payload: written(&Input::Opened { folder: folder.clone() }), ..NewInput::default() };
        let title = String::new();
        let row = SessionRow { id: id.clone(), folder, title, created: now, updated: now, parent: None, forked: None };
        world
            .store
            .create_session(row, [Some(opened), said].into_iter().flatten().collect())
            .await
            .map_err(store_problem)?;
        Ok(id)
    }

    /// Tells a running request what to do; without a request, whichever is running.
    pub async fn control(
        &self,
        session: &SessionId,
        request: Option<RequestId>,
        action: Control,
    ) -> Result<(), Problem> {
        check_session(session)?;
        self.tell(session, &Input::Controlled { request, action }).await
    }

    /// Answers what waits for a person.
    pub async fn answer(&self, session: &SessionId, answer: Answered) -> Result<(), Problem> {
        let Answered { checkpoint, choice, text, by } = answer;
        let surface = self.surface.map(str::to_owned);
        self.tell(session, &Input::Answered { checkpoint, choice, text, by, surface }).await
    }

    /// Whether these are parts of the change that a checkpoint asks about: files, or hunks of them.
    pub async fn check_parts(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        parts: &[ChangePart],
    ) -> Result<(), Problem> {
        let folded = self.folded(session).await?;
        match trimtab_engine::objection_to_part(&folded, checkpoint, parts) {
            Some(reason) => Err(Problem::new(ProblemKind::Usage, reason).hint(format!(
                "Nothing was answered. `trimtab diff {checkpoint}` shows the hunks with their numbers."
            ))),
            None => Ok(()),
        }
    }

    /// Allows these parts of a proposed change, and nothing else of it. What is no part of it is refused, and the
    /// question stays open.
    pub async fn apply_parts(
        &self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        parts: Vec<ChangePart>,
        by: &str,
    ) -> Result<(), Problem> {
        self.check_parts(session, checkpoint, &parts).await?;
        let surface = self.surface.map(str::to_owned);
        self.tell(session, &Input::Chosen { checkpoint: checkpoint.clone(), parts, by: by.into(), surface }).await
    }

    /// Puts something into a session's inbox and has it taken up. When this returns, it cannot be lost any more.
    async fn tell(&self, session: &SessionId, input: &Input) -> Result<(), Problem> {
        let input = NewInput { payload: written(input), ..NewInput::default() };
        self.store().enqueue(session, input).await.map_err(store_problem)?;
        self.resume(session);
        Ok(())
    }

    /// What waits for a person, in every session: the events that opened it.
    pub async fn checkpoints(&self) -> Result<Vec<Event>, Problem> {
        self.store().checkpoints().await.map_err(store_problem)
    }

    /// Goes on with whatever is unfinished in a session.
    pub fn resume(&self, session: &SessionId) {
        let deps = &self.inner.deps;
        deps.roster.want(session, |wake| tokio::spawn(actor::run(Arc::clone(deps), session.clone(), wake)));
    }

    /// This process is a server from now on. Goes on with what an earlier server left unfinished, in so many
    /// sessions; what another process runs is left to it.
    pub async fn serve(&self) -> Result<usize, Problem> {
        self.store().serve();
        let is_left = |job: &JobRow| job.served && job.state != JobState::Running;
        let left: BTreeSet<SessionId> =
            self.jobs(false).await?.into_iter().filter(is_left).map(|job| job.session).collect();
        left.iter().for_each(|session| self.resume(session));
        Ok(left.len())
    }

    /// Whether a wish to move the change history, or the end of a move, waits to be taken up. One that
    /// stays was left by a process that was killed; [`Client::resume`] sees to it.
    pub async fn has_history_wish(&self, session: &SessionId) -> Result<bool, Problem> {
        let rows = self.store().inbox(session).await.map_err(store_problem)?;
        Ok(rows.iter().any(|row| {
            matches!(
                serde_json::from_str(&row.payload),
                Ok(Input::Restored { .. }
                    | Input::Controlled {
                        action: Control::Rewind { .. } | Control::Forward { .. } | Control::UndoPart { .. },
                        ..
                    })
            )
        }))
    }

    /// Whether such a wish waits to be taken up; one that stays was left by a process that was killed.
    pub async fn has_wish(&self, session: &SessionId, wish: &Control) -> Result<bool, Problem> {
        let rows = self.store().inbox(session).await.map_err(store_problem)?;
        let is_it = |payload: &str| matches!(serde_json::from_str(payload), Ok(Input::Controlled { action, .. }) if action == *wish);
        Ok(rows.iter().any(|row| is_it(&row.payload)))
    }

    /// What the input of a session begins with, until somebody says something in it.
    pub async fn prefill(&self, session: &SessionId) -> Result<Option<String>, Problem> {
        Ok(self.folded(session).await?.lineage().prefill.clone())
    }

    /// A session as its log tells it.
    pub(crate) async fn folded(&self, session: &SessionId) -> Result<Session, Problem> {
        let mut folded = Session::new(session.clone());
        self.fold_on(session, &mut folded, 0).await?;
        Ok(folded)
    }

    /// Folds what was recorded after `last`, and says which is the last fact now.
    pub(crate) async fn fold_on(&self, session: &SessionId, folded: &mut Session, last: u64) -> Result<u64, Problem> {
        let mut last = last;
        loop {
            let page = self.events(session, last).await?;
            for event in &page {
                folded.fold(event.request.as_ref(), &event.fact);
                last = event.seq.unwrap_or(last);
            }
            if page.is_empty() {
                return Ok(last);
            }
        }
    }

    /// The facts of a session after `after`, then live.
    pub fn watch(&self, session: &SessionId, after: u64) -> SessionWatch {
        let deps = &self.inner.deps;
        SessionWatch::new(&deps.hub, Arc::clone(&deps.world.store), session.clone(), after)
    }

    /// One page of a session's log after `after`; empty at its end.
    pub async fn events(&self, session: &SessionId, after: u64) -> Result<Vec<Event>, Problem> {
        self.page(session, after, 1000).await
    }

    /// A page of so many facts at most.
    pub async fn page(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>, Problem> {
        self.store().events(session, after, limit).await.map_err(store_problem)
    }

    /// One session, as lists show it.
    pub async fn session(&self, id: &SessionId) -> Result<SessionRow, Problem> {
        let row = self.store().session(id).await.map_err(store_problem)?;
        row.ok_or_else(|| store_problem(StoreError::NoSession))
    }

    /// Sessions, newest first; of one folder if it is given. The one that holds the history of tasks is none to
    /// choose from: nobody talks in it.
    pub async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>, Problem> {
        let mut rows = self.store().sessions(folder).await.map_err(store_problem)?;
        rows.retain(|row| row.id != tasks_session());
        Ok(rows)
    }

    /// Those among them in which somebody said or was told all of this: tags of requests, words of anybody.
    pub async fn search(&self, folder: Option<&str>, tags: &[String], words: &str) -> Result<Vec<SessionRow>, Problem> {
        let wanted = SessionQuery::new(tags, words);
        self.store().search(folder, wanted).await.map_err(store_problem)
    }

    /// The session of a folder that was used last. One that was handed off goes on elsewhere, and is passed over; one
    /// that was forked goes on as well as the fork.
    pub async fn latest(&self, folder: &str) -> Result<Option<SessionRow>, Problem> {
        let rows = self.sessions(Some(folder)).await?;
        let parents: HashSet<SessionId> =
            rows.iter().filter(|row| row.forked.is_none()).filter_map(|row| row.parent.clone()).collect();
        Ok(rows.into_iter().find(|row| !parents.contains(&row.id)))
    }

    /// Forgets a session.
    pub async fn delete(&self, id: &SessionId) -> Result<(), Problem> {
        // What had been handed off to it goes back to where it came from, unless it was handed on to a session
        // that is still there.
        let History { mut handed_on, last, .. } = match history::read(self.store(), id).await {
            // What cannot be read any more must be possible to forget.
            Err(StoreError::Corrupt(_)) => History { last: i64::MAX.unsigned_abs(), ..History::default() },
            read => read.map_err(store_problem)?,
        };
        let mut gone = HashSet::new();
        for heir in handed_on.values() {
            if !gone.contains(heir) && self.store().session(heir).await.map_err(store_problem)?.is_none() {
                gone.insert(heir.clone());
            }
        }
        handed_on.retain(|_, heir| !gone.contains(heir));
        let payload = written(&Input::ChildGone { child: id.clone(), handed_on });
        let tell = NewInput { payload, ..NewInput::default() };
        self.store().delete_session(id, last, tell).await.map_err(store_problem)
    }

    /// Requests, newest first: the unfinished ones, or all.
    pub async fn jobs(&self, all: bool) -> Result<Vec<JobRow>, Problem> {
        self.store().jobs(all).await.map_err(store_problem)
    }

    /// How one request stands; none if it was never taken in.
    pub async fn job(&self, request: &RequestId) -> Result<Option<JobRow>, Problem> {
        self.store().job(request).await.map_err(store_problem)
    }

    /// A stored text.
    pub async fn text(&self, key: &RefKey) -> Result<String, Problem> {
        let found = self.store().text(key).await.map_err(store_problem)?;
        found.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, format!("Nothing is stored as ref:{key}."))
                .hint("The event that mentions a ref has its exact name.")
        })
    }

    /// Stored bytes, which may be no text.
    pub async fn stored(&self, key: &RefKey) -> Result<Vec<u8>, Problem> {
        let found = self.store().bytes(None, key).await.map_err(store_problem)?;
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("Nothing is stored as ref:{key}.")))
    }

    /// The bytes of a file as a session has read or written it.
    pub async fn file(&self, session: &SessionId, hash: &str) -> Result<Vec<u8>, Problem> {
        let key = RefKey::file_of(session, hash);
        let found = self.store().bytes(Some(session), &key).await.map_err(store_problem)?;
        found.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, "A state of a changed file is not stored any more.")
                .hint("`trimtab doctor` looks for damage.")
        })
    }

    /// What a person has decided once and for all.
    pub async fn rules(&self) -> Result<Vec<Rule>, Problem> {
        let written = self.store().rules().await.map_err(store_problem)?;
        Ok(actor::read_rules(&written))
    }

    /// Makes a rule, or removes it.
    pub async fn change_rule(&self, rule: &Rule, add: bool) -> Result<(), Problem> {
        self.tell_rule(rule, add).await?;
        let mut change = RuleChange::default();
        let told = if add {
            change.added.push(written_rule(rule));
            Input::RuleAdded { rule: rule.clone() }
        } else {
            change.removed.push(written_rule(rule));
            Input::RuleRemoved { rule: rule.clone() }
        };
        let tell = vec![actor::told(&told)];
        self.store().change_rules(change, tell).await.map_err(store_problem)
    }

    /// Looks for damage in the store; says what it finds.
    pub async fn check(&self) -> Result<Vec<String>, Problem> {
        self.store().check().await.map_err(store_problem)
    }
}

/// Nobody runs the session of the tasks: whatever changes them writes its log itself.
pub(crate) fn check_session(session: &SessionId) -> Result<(), Problem> {
    if *session == tasks_session() {
        return Err(Problem::new(
            ProblemKind::Usage,
            "This session holds the history of your tasks; nobody talks in it.",
        )
        .hint("`trimtab tasks undo` and `redo` move that history, `trimtab tasks changes` shows it."));
    }
    Ok(())
}

pub(crate) fn check_text(text: &str) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(
            Problem::new(ProblemKind::Usage, "The request is empty.").hint("Say what you would like to have done.")
        );
    }
    if text.len() > LONGEST_TEXT {
        return Err(Problem::new(ProblemKind::Usage, "The request is too large: the limit is 16 MB.").hint(
            "Put the text into a file of the folder and name the file in the request. Nothing was sent or stored.",
        ));
    }
    Ok(())
}
