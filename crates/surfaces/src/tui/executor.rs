//! Runs the screen's commands with the host's client, away from the screen. Results come back as messages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use trimtab_host::config::Profile;
use trimtab_host::{Agents, Client, ComposedRequest, JobState, LocalFiles, Manner, RequestDraft, SendTo, WhenBusy};
use trimtab_vocab::{Approve, Control, LoopbackName, Mode, Problem, ProblemKind, SessionId, WhileRunning};

use super::composer::keep::{DraftKeeper, SaidFile};
use super::composer::{CompletionSource, ComposerDraft, DraftKind, files};
use super::key_keeper::KeyKeeper;
use super::keys::TerminalInput;
use super::last_session::LastSession;
use super::message::{Cmd, Msg, OutgoingMessage, UpdateContext};
use super::picker::PickerItem;
use super::server_login::LoginPlace;
use super::status_command::StatusProgram;
use crate::diff::LoadedDiff;
use crate::picture;

/// Facts that are read at once while a session is opened.
const QUEUE: usize = 64;

/// Carries wishes out.
pub(super) struct Executor {
    client: Client,
    profile: Arc<Mutex<Profile>>,
    folder: String,
    messages: mpsc::Sender<Msg>,
    /// Where the draft is written down, and what was said before.
    keeper: DraftKeeper,
    said: SaidFile,
    last_session: LastSession,
    /// The session that is watched.
    session: Option<SessionId>,
    watching: Option<JoinHandle<()>>,
    /// Tells what a worker does.
    worker: Option<JoinHandle<()>>,
}

/// What is said where no server of this machine has a model.
const NO_LOCAL_MODEL: &str = "No model server is running on this machine. Start llama.cpp, Ollama, LM Studio, or vLLM with a model, \
                              or type its address.";

/// What can be called by `/name`, with what it is for.
pub(super) fn workflows(pills: &trimtab_host::Pills) -> Vec<(String, String)> {
    pills.list().map(|(name, pill)| (name, pill.definition.description.clone())).collect()
}

impl Executor {
    pub(super) fn new(
        client: Client,
        profile: Profile,
        folder: String,
        keeper: DraftKeeper,
        said: SaidFile,
        last_session: LastSession,
    ) -> (Self, mpsc::Receiver<Msg>) {
        let (messages, heard) = mpsc::channel(QUEUE);
        let profile = Arc::new(Mutex::new(profile));
        (
            Self {
                client,
                profile,
                folder,
                messages,
                keeper,
                said,
                last_session,
                session: None,
                watching: None,
                worker: None,
            },
            heard,
        )
    }

    /// Records a command of the person's own in the audit trail.
    pub(super) async fn note_shell(&self, command: &str) -> Result<(), Problem> {
        self.client.admin().audit_shell(&self.folder, command).await
    }

    /// Ends when the draft is written down. A person who left by themselves begins anew the next time. What is still to be
    /// ended is the client's.
    pub(super) async fn close(self, by_person: bool) -> Client {
        let Self { client, keeper, watching, worker, last_session, session, .. } = self;
        if by_person {
            last_session.clear();
        }
        [watching, worker].into_iter().flatten().for_each(|task| task.abort());
        keeper.close().await;
        // After the draft, because whoever takes the session over reads it.
        if !by_person {
            last_session.release();
        }
        if let Some(session) = session.filter(|_| by_person) {
            client.leave(&session).await;
        }
        client
    }

    /// Does something in the background, and tells what came of it.
    fn spawn(&self, work: impl Future<Output = Result<Option<Msg>, Problem>> + Send + 'static) {
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let told = work.await.unwrap_or_else(|problem| Some(Msg::Failed(problem)));
            if let Some(told) = told {
                let _ = messages.send(told).await;
            }
        });
    }

    fn profile(&self) -> Profile {
        self.profile.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the screen's fold is given with a message: the time, and a name for a request that may follow from it.
    pub(super) fn context(&self) -> UpdateContext {
        UpdateContext { now: trimtab_host::now(), request: trimtab_host::new_request() }
    }

    /// Does something to the session that is shown, if there is one.
    fn in_session<W>(&self, work: impl FnOnce(Client, SessionId) -> W)
    where
        W: Future<Output = Result<Option<Msg>, Problem>> + Send + 'static,
    {
        if let Some(session) = self.session.clone() {
            self.spawn(work(self.client.clone(), session));
        }
    }

    fn change_profile(&self, change: impl FnOnce(&mut Profile)) {
        change(&mut self.profile.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Carries out what needs neither the terminal nor the end of the program.
    pub(super) fn run(&mut self, cmd: Cmd) {
        match cmd {
            Cmd::Send(outgoing) => self.send(*outgoing),
            Cmd::Keep(kept) => self.keeper.change(*kept),
            Cmd::Paste => self.paste(),
            Cmd::ShowStatus(known) => {
                let profile = self.profile();
                let directory = PathBuf::from(&profile.hands.machine.home);
                let program = StatusProgram { command: profile.tui.status_command, directory };
                self.spawn(async move { Ok(Some(Msg::Status(program.run(&known).await))) });
            }
            Cmd::Answer(answer) => self.in_session(|client, session| async move {
                client.requests().answer(&session, answer).await.map(|()| None)
            }),
            Cmd::AllowParts { checkpoint, parts } => self.in_session(|client, session| async move {
                client.requests().apply_parts(&session, &checkpoint, parts, "user").await.map(|_| None)
            }),
            Cmd::Control(control) => self.in_session(|client, session| async move {
                client.requests().control(&session, None, control).await.map(|()| None)
            }),
            Cmd::Withdraw(request) => self.in_session(|client, session| async move {
                client.requests().control(&session, Some(request), Control::Cancel).await.map(|()| None)
            }),
            Cmd::Open(session) => self.open(session),
            Cmd::New => self.begin_anew(),
            Cmd::LoadDiff { call, writes } => self.in_session(|client, session| async move {
                // Without its bytes a change is told by its counts alone.
                let files = LoadedDiff::load(&client, &session, &writes).await.unwrap_or_default();
                Ok(Some(Msg::Diff { call, files: Arc::new(files) }))
            }),
            Cmd::LoadSet { set, writes } => self.in_session(|client, session| async move {
                let files = LoadedDiff::load(&client, &session, &writes).await?;
                Ok(Some(Msg::SetDiff { set, files: Arc::new(files) }))
            }),
            Cmd::LoadHistory => self.in_session(|client, session| async move {
                Ok(Some(Msg::History(Box::new(client.changes().history(&session).await?))))
            }),
            Cmd::LoadRewindPoints | Cmd::LoadRewindPlan(_) | Cmd::Rewind { .. } => self.run_rewind(cmd),
            Cmd::WatchWorker(session) => {
                self.leave_worker();
                self.worker = Some(tokio::spawn(follow_worker(self.client.clone(), session, self.messages.clone())));
            }
            Cmd::LeaveWorker => self.leave_worker(),
            Cmd::LoadWorkerDiff { session, call, writes } => {
                let client = self.client.clone();
                self.spawn(async move {
                    let files = LoadedDiff::load(&client, &session, &writes).await.unwrap_or_default();
                    Ok(Some(Msg::WorkerDiff { session, call, files: Arc::new(files) }))
                });
            }
            Cmd::LoadSessions { .. }
            | Cmd::Fork { .. }
            | Cmd::Rename { .. }
            | Cmd::Export(_)
            | Cmd::ExportText { .. }
            | Cmd::Forget { .. } => self.run_on_sessions(cmd),
            Cmd::Program(words) => {
                let folder = self.folder.clone();
                self.spawn(async move { program(words, &folder).await.map(|text| Some(Msg::Printed(text))) });
            }
            Cmd::Offer(CompletionSource::Files) => self.offer_files(),
            Cmd::Offer(CompletionSource::Commands) => self.offer_workflows(),
            Cmd::KeepKey { provider, key } => {
                let keeper = self.key_keeper(provider);
                self.spawn(async move { keeper.keep(key).await });
            }
            Cmd::Local => self.use_local_model(None),
            Cmd::Address(address) => self.use_local_model(Some(address)),
            Cmd::Effort(effort) => self.change_profile(|profile| profile.limits.effort = effort),
            Cmd::Demo => {
                let model = "replay/demo".to_owned();
                self.change_profile(|profile| profile.model = Some(model.clone()));
                self.tell(Msg::Ready(model));
            }
            Cmd::LoadModels => self.load_models(),
            Cmd::LoadBackground | Cmd::LoadOutput(_) | Cmd::StopCommand(_) | Cmd::OpenPort(_) => {
                self.run_on_background(cmd)
            }
            Cmd::LoadServers | Cmd::LoadExtensions => self.list_extensions(cmd),
            Cmd::LogIn { .. } | Cmd::LogOut { .. } => self.change_login(cmd),
            Cmd::AutoContinue(on) => self.change_profile(|profile| profile.copilot.auto_continue = on),
            Cmd::Model(name) => {
                if let Err(problem) = self.profile().check_model(&name) {
                    return self.tell(Msg::Failed(problem));
                }
                self.change_profile(|profile| profile.model = Some(name.clone()));
                self.tell(Msg::Model(name));
            }
            // These are for the screen itself.
            Cmd::Offer(_)
            | Cmd::Copy(_)
            | Cmd::Edit(_)
            | Cmd::Shell(_)
            | Cmd::Notify(_)
            | Cmd::Plan(_)
            | Cmd::Redraw
            | Cmd::Suspend
            | Cmd::Quit => {}
        }
    }

    /// Lists the messages to go back to, shows what going back would do, or goes back.
    fn run_rewind(&mut self, cmd: Cmd) {
        match cmd {
            Cmd::LoadRewindPoints => self.in_session(|client, session| async move {
                let (points, can_undo) = client.sessions().rewind_points(&session).await?;
                Ok(Some(Msg::RewindPoints { points, can_undo }))
            }),
            Cmd::LoadRewindPlan(before) => self.in_session(move |client, session| async move {
                let plan = Box::new(client.sessions().rewind_plan(&session, before).await?);
                // Without the bytes, the preview names the files alone.
                let files = LoadedDiff::load_rewind(&client, &session, &plan).await.unwrap_or_default();
                Ok(Some(Msg::RewindPlan { plan, files: Arc::new(files) }))
            }),
            Cmd::Rewind { before, scope, on_conflict } => self.in_session(move |client, session| async move {
                let done = client.sessions().rewind_to(&session, before, scope, on_conflict).await?;
                Ok(Some(Msg::Rewound(Box::new(done))))
            }),
            _ => {}
        }
    }

    /// Lists background commands, shows the output of one, or ends one.
    fn run_on_background(&mut self, cmd: Cmd) {
        match cmd {
            Cmd::LoadBackground => self.in_session(|client, session| async move {
                Ok(Some(Msg::Background(client.commands().list(&session).await?)))
            }),
            Cmd::LoadOutput(id) => self.in_session(|client, session| async move {
                let text = client.commands().output(&session, &id, None).await?.text;
                Ok(Some(Msg::CommandOutput { id, text }))
            }),
            Cmd::StopCommand(id) => self.in_session(|client, session| async move {
                client.commands().stop(&session, &id).await?;
                Ok(Some(Msg::Background(client.commands().list(&session).await?)))
            }),
            Cmd::OpenPort(id) => self.in_session(|client, session| async move {
                client.commands().open_port(&session, &id, None, LoopbackName::Localhost).await?;
                Ok(Some(Msg::Background(client.commands().list(&session).await?)))
            }),
            _ => {}
        }
    }

    /// Lists what extends Trimtab in this folder.
    fn list_extensions(&mut self, cmd: Cmd) {
        match cmd {
            Cmd::LoadServers => {
                let (client, profile, folder) = (self.client.clone(), self.profile(), self.folder.clone());
                self.spawn(async move {
                    let (servers, problems) = client.servers().list(&profile, &folder).await?;
                    let with_login = |server| (client.servers().login_state(&server), server);
                    let servers: Vec<_> =
                        servers.into_iter().map(with_login).map(|(login, server)| (server, login)).collect();
                    Ok(Some(Msg::Told(crate::words::servers(&servers, &problems))))
                });
            }
            Cmd::LoadExtensions => {
                let (client, profile, folder) = (self.client.clone(), self.profile(), self.folder.clone());
                self.spawn(async move {
                    let found = client.extensions(&profile, &folder).await?;
                    Ok(Some(Msg::Told(crate::words::extensions::extensions(&found))))
                });
            }
            _ => {}
        }
    }

    /// Logs in to an MCP server, or out of it.
    fn change_login(&self, cmd: Cmd) {
        let place = LoginPlace {
            client: self.client.clone(),
            profile: self.profile(),
            folder: self.folder.clone(),
            messages: self.messages.clone(),
        };
        self.spawn(place.run(cmd));
    }

    /// Carries out what is about sessions of the folder, shown or not.
    fn run_on_sessions(&self, cmd: Cmd) {
        let (client, folder, messages) = (self.client.clone(), self.folder.clone(), self.messages.clone());
        self.spawn(async move {
            match cmd {
                Cmd::LoadSessions { query } => sessions(&client, &folder, query).await.map(Some),
                Cmd::Fork { session, at, words } => {
                    let session = client.sessions().fork(&session, at).await?;
                    Ok(Some(Msg::Forked { session, words }))
                }
                Cmd::Rename { session, title, query } => {
                    let title = client.sessions().rename(&session, &title).await?;
                    let _ = messages.send(Msg::Told(format!("Renamed the session to “{title}”."))).await;
                    sessions(&client, &folder, query).await.map(Some)
                }
                Cmd::Export(session) => {
                    let file = export(&client, &session, Path::new(&folder)).await?;
                    Ok(Some(Msg::Told(format!("Exported the session to {file}."))))
                }
                Cmd::ExportText { session, text } => {
                    let file = export_text(&session, &text, Path::new(&folder)).await?;
                    Ok(Some(Msg::Told(format!("Exported the session to {file}."))))
                }
                Cmd::Forget { session, query } => {
                    client.sessions().delete(&session).await?;
                    sessions(&client, &folder, query).await.map(Some)
                }
                _ => Ok(None),
            }
        });
    }

    fn leave_worker(&mut self) {
        if let Some(task) = self.worker.take() {
            task.abort();
        }
    }

    fn paste(&self) {
        let local_files = LocalFiles::new(&self.profile().data);
        self.spawn(async move {
            let told = super::clipboard::read(&local_files).await.map(|text| Msg::Input(TerminalInput::Paste(text)));
            let nothing = "Cannot read the clipboard here. Paste with your terminal's key.";
            Ok(Some(told.unwrap_or_else(|| Msg::NotReady(nothing.into()))))
        });
    }

    /// No session is shown from here on.
    fn begin_anew(&mut self) {
        self.session = None;
        self.last_session.clear();
        if let Some(watching) = self.watching.take() {
            watching.abort();
        }
    }

    fn offer_files(&self) {
        let (client, profile, folder) = (self.client.clone(), self.profile(), self.folder.clone());
        self.spawn(async move {
            // Nothing of a folder is read before the person trusts it, the names of its files included.
            if !client.permissions().trusts(&profile, &folder).await? {
                return Ok(None);
            }
            let resources = client.servers().known_resources(&profile, &folder).await.unwrap_or_default();
            let resources = resources
                .into_iter()
                .map(|(server, resource)| PickerItem::noted(format!("{server}:{}", resource.uri), resource.name));
            let (place, trusted) = (PathBuf::from(&folder), folder);
            let agents = move || Agents::of_profile(&profile, Some(&trusted));
            let agents = tokio::task::spawn_blocking(agents).await.unwrap_or_default();
            let files = files(place, &agents).await;
            let all: Vec<PickerItem> = files.iter().cloned().chain(resources).collect();
            Ok(Some(Msg::Files(Arc::new(all))))
        });
    }

    /// Lists the workflows again: prompts of MCP servers are known once a server was connected.
    fn offer_workflows(&self) {
        let (client, profile, folder) = (self.client.clone(), self.profile(), self.folder.clone());
        self.spawn(async move { Ok(Some(Msg::Workflows(workflows(&client.pills(&profile, &folder).await?)))) });
    }

    /// Works with a model of this machine, or of a server at an address, from now on.
    fn use_local_model(&self, address: Option<String>) {
        let (client, messages) = (self.client.clone(), self.messages.clone());
        let (mut profile, shared) = (self.profile(), Arc::clone(&self.profile));
        self.spawn(async move {
            let found = match address {
                Some(address) => trimtab_host::model_at(&profile, &address).await.map_err(|problem| problem.message),
                None => trimtab_host::local_model(&profile).await.ok_or_else(|| NO_LOCAL_MODEL.to_owned()),
            };
            let found = match found {
                Ok(found) => found,
                Err(problem) => return Ok(Some(Msg::NotReady(problem))),
            };
            client.use_found(&mut profile, &found);
            let remembered = trimtab_host::remember_found(&profile, &found);
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = profile;
            let _ = messages.send(Msg::Ready(found.model)).await;
            Ok(remembered.err().map(Msg::Failed))
        });
    }

    fn load_models(&self) {
        let profile = self.profile();
        for name in profile.providers.keys().filter(|name| profile.is_set_up(name)) {
            let (profile, name) = (profile.clone(), name.clone());
            self.spawn(async move {
                let is_used = profile.model.as_ref().is_some_and(|model| model.starts_with(&format!("{name}/")));
                match models(&profile, &name).await {
                    Ok(found) => Ok(Some(found)),
                    // A server on this machine that nobody uses need not run.
                    Err(_) if !is_used && profile.providers.get(&name).is_some_and(|one| one.key.is_none()) => Ok(None),
                    Err(problem) => Err(Problem { message: format!("{name}: {}", problem.message), ..problem }),
                }
            });
        }
    }

    fn key_keeper(&self, provider: &'static str) -> KeyKeeper {
        let (client, profile, messages) = (self.client.clone(), Arc::clone(&self.profile), self.messages.clone());
        KeyKeeper { client, profile, messages, provider }
    }

    fn tell(&self, told: Msg) {
        self.spawn(async move { Ok(Some(told)) });
    }

    fn send(&mut self, outgoing: OutgoingMessage) {
        let OutgoingMessage { request, draft, mode, while_running, session, subtasks, autonomy } = outgoing;
        let session = session.or_else(|| self.session.clone());
        let kept = self.keeper.written();
        // What cannot be kept for the next time is in the session all the same.
        let _ = self.said.add(&draft);
        let (client, profile, folder, messages) =
            (self.client.clone(), self.profile(), self.folder.clone(), self.messages.clone());
        tokio::spawn(async move {
            let target = session.map_or(SendTo::New { folder: folder.clone() }, SendTo::Session);
            let told = async {
                let manner = Manner { subtasks, autonomy, ..Manner::attended() };
                let composed = compose(&client, &profile, &folder, &draft, (mode, while_running, manner)).await?;
                // Words that are taken in while the draft still has them would be said twice after a kill.
                kept.await.map_err(unkept)?;
                client.send_as(target, composed, request.clone()).await
            };
            match told.await {
                Ok(sent) => drop(messages.send(Msg::Sent(sent)).await),
                Err(problem) => {
                    // What was written must not be lost with the attempt.
                    let _ = messages.send(Msg::Unsent { request, draft }).await;
                    let _ = messages.send(Msg::Failed(problem)).await;
                }
            }
        });
    }

    /// A session was made by what was said: it is watched from its beginning.
    pub(super) fn made(&mut self, session: &SessionId) {
        if self.session.is_none() {
            self.session = Some(session.clone());
            self.last_session.put(session);
            self.watch(session.clone(), 0);
        }
    }

    /// Shows a session: all that its log has, then what happens.
    fn open(&mut self, session: SessionId) {
        self.last_session.put(&session);
        self.session = Some(session.clone());
        if let Some(watching) = self.watching.take() {
            watching.abort();
        }
        let (client, messages) = (self.client.clone(), self.messages.clone());
        self.watching = Some(tokio::spawn(async move {
            let mut last = 0;
            loop {
                match client.sessions().events(&session, last).await {
                    Ok(page) if page.is_empty() => break,
                    Ok(page) => {
                        last = page.last().and_then(|event| event.seq).unwrap_or(last);
                        if messages.send(Msg::Events(page)).await.is_err() {
                            return;
                        }
                    }
                    Err(problem) => return drop(messages.send(Msg::Lost(problem)).await),
                }
            }
            let _ = messages.send(Msg::CaughtUp).await;
            if let Err(problem) = go_on(&client, &session).await {
                let _ = messages.send(Msg::Failed(problem)).await;
            }
            follow(client, session, last, messages).await;
        }));
    }

    fn watch(&mut self, session: SessionId, after: u64) {
        if let Some(watching) = self.watching.take() {
            watching.abort();
        }
        let (client, messages) = (self.client.clone(), self.messages.clone());
        self.watching = Some(tokio::spawn(follow(client, session, after, messages)));
    }
}

/// The sessions of a folder that fit what is searched.
async fn sessions(client: &Client, folder: &str, query: String) -> Result<Msg, Problem> {
    let (tags, words) = tags_and_words(&query);
    let rows = match query.trim().is_empty() {
        true => client.sessions().list(Some(folder)).await?,
        false => client.sessions().search(Some(folder), &tags, &words).await?,
    };
    let jobs = client.requests().list(false).await?;
    Ok(Msg::Sessions { query, rows, jobs })
}

/// Writes a session into a new file of the folder; its name.
async fn export(client: &Client, session: &SessionId, folder: &Path) -> Result<String, Problem> {
    let name = format!("trimtab-{session}.json");
    let trouble = |error: std::io::Error| {
        Problem::new(ProblemKind::Store, format!("{name} cannot be written: {error}."))
            .hint("`trimtab sessions export` writes it to standard output.")
    };
    let row = client.sessions().get(session).await?;
    let mut pieces = crate::export::pieces(client.clone(), row);
    // Whatever has that name already is somebody's.
    let new = tokio::fs::OpenOptions::new().write(true).create_new(true).open(folder.join(&name)).await;
    let mut file = new.map_err(trouble)?;
    while let Some(piece) = pieces.recv().await {
        file.write_all(piece?.as_bytes()).await.map_err(trouble)?;
    }
    file.flush().await.map_err(trouble)?;
    Ok(name)
}

/// Writes a conversation into a new file of the folder.
async fn export_text(session: &SessionId, text: &str, folder: &Path) -> Result<String, Problem> {
    let name = format!("trimtab-{session}.md");
    let trouble = |error: std::io::Error| {
        Problem::new(ProblemKind::Store, format!("{name} cannot be written: {error}."))
            .hint("`trimtab sessions export` writes the session to standard output, as JSON.")
    };
    let new = tokio::fs::OpenOptions::new().write(true).create_new(true).open(folder.join(&name)).await;
    let mut file = new.map_err(trouble)?;
    file.write_all(text.as_bytes()).await.map_err(trouble)?;
    file.flush().await.map_err(trouble)?;
    Ok(name)
}

/// The largest output of a command line that is shown.
const MOST_PRINTED: usize = 64 * 1024;
/// Command lines that take longer wait for something that does not come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// What a command of the command line prints in the folder. It reads the settings itself, as everywhere.
async fn program(words: &[&str], folder: &str) -> Result<String, Problem> {
    let line = format!("trimtab {}", words.join(" "));
    let trouble = |why: String| {
        Problem::new(ProblemKind::Internal, format!("`{line}` did not run: {why}."))
            .hint(format!("Run `{line}` in a shell."))
    };
    let own = std::env::current_exe().map_err(|error| trouble(error.to_string()))?;
    let child = tokio::process::Command::new(own)
        .args(words)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = match tokio::time::timeout(PATIENCE, child).await {
        Ok(ended) => ended.map_err(|error| trouble(error.to_string()))?,
        Err(_) => return Err(trouble("it took too long".to_owned())),
    };
    let mut text = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    text.truncate(text.floor_char_boundary(MOST_PRINTED));
    Ok(format!("{line}\n{}", text.trim_end()))
}

/// The models of a provider, with what is known of them.
async fn models(profile: &Profile, provider: &str) -> Result<Msg, Problem> {
    let mut models = Vec::new();
    for model in trimtab_host::list_models(profile, provider).await? {
        let name = format!("{provider}/{}", model.name);
        let facts = profile.catalog.facts(&name);
        let price = match facts.prices {
            Some(prices) => format!(", ${} in, ${} out per million tokens", prices.input, prices.output),
            None => String::new(),
        };
        let window = model.window.unwrap_or(facts.window) / 1_000;
        models.push(PickerItem::noted(name, format!("{window}k tokens{price}")));
    }
    Ok(Msg::Models(models))
}

/// Tells every fact of a session from here on.
async fn follow(client: Client, session: SessionId, after: u64, messages: mpsc::Sender<Msg>) {
    let mut watch = client.watch(&session, after);
    loop {
        match watch.next().await {
            Ok(event) => {
                if messages.send(Msg::Events(vec![event])).await.is_err() {
                    return;
                }
            }
            Err(problem) => {
                let _ = messages.send(Msg::Lost(problem)).await;
                // What went wrong may pass, as a full disk does; the log is still there.
                tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            }
        }
    }
}

/// Tells all that a worker has done and does.
async fn follow_worker(client: Client, session: SessionId, messages: mpsc::Sender<Msg>) {
    let mut watch = client.watch(&session, 0);
    while let Ok(event) = watch.next().await {
        if messages.send(Msg::WorkerEvents(vec![event])).await.is_err() {
            return;
        }
    }
}

fn unkept(error: String) -> Problem {
    let message = format!("The message was not sent, because it could not be saved ({error}).");
    Problem::new(ProblemKind::Internal, message).hint("Free some disk space, then send it again.")
}

/// Goes on with whatever was cut off in a session. A person is there from now on.
async fn go_on(client: &Client, session: &SessionId) -> Result<(), Problem> {
    let open = client.requests().list(false).await?.into_iter().find(|job| job.session == *session);
    match open {
        Some(job) if !matches!(job.state, JobState::Finished(_)) => {
            let action =
                Control::Adjust { approve: Some(Approve::Ask), attended: Some(true), max_steps: None, trusted: None };
            client.requests().control(session, Some(job.request), action).await
        }
        _ => {
            client.resume(session);
            Ok(())
        }
    }
}

/// What a person says, with what is in force for it.
async fn compose(
    client: &Client,
    profile: &Profile,
    folder: &str,
    draft: &ComposerDraft,
    (mode, while_running, manner): (Mode, Option<WhileRunning>, Manner),
) -> Result<ComposedRequest, Problem> {
    let images = draft.images().into_iter().map(|file| picture::read(&at(folder, file))).collect::<Result<_, _>>()?;
    // Where nothing runs on the screen, nothing is meant.
    let when_busy = WhenBusy::Exactly(while_running);
    // A pill is called by a key, not by how a text begins.
    let literal = draft.kind != DraftKind::Slash;
    let words = RequestDraft { mode, images, when_busy, literal, ..RequestDraft::new(draft.text(), manner) };
    client.compose(profile, folder, words).await
}

fn at(folder: &str, file: &Path) -> PathBuf {
    Path::new(folder).join(file)
}

/// `#tag` and words, apart.
fn tags_and_words(query: &str) -> (Vec<String>, String) {
    let (tags, words): (Vec<&str>, Vec<&str>) = query.split_whitespace().partition(|word| word.starts_with('#'));
    let tags = tags.iter().map(|tag| tag.trim_start_matches('#').to_owned()).filter(|tag| !tag.is_empty());
    (tags.collect(), words.join(" "))
}

#[cfg(test)]
mod tests;
