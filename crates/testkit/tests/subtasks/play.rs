//! A user at work in a folder, with models that answer by script.

pub(crate) use std::collections::BTreeMap;
pub(crate) use std::path::Path;
pub(crate) use std::sync::{Arc, Mutex, PoisonError};
pub(crate) use std::time::Duration;

pub(crate) use async_trait::async_trait;
pub(crate) use futures_util::stream::{self, StreamExt};
pub(crate) use serde_json::{Value, json};
pub(crate) use tokio::sync::Notify;
pub(crate) use trimtab_host::{
    Answered, Client, Manner, RequestDraft, SendTo, Sent, WhenBusy, World, shared_workspace,
};
pub(crate) use trimtab_testkit::plain_workspace::PlainWorkspace;
pub(crate) use trimtab_vocab::checkpoint::Ask;
pub(crate) use trimtab_vocab::event::{CheckpointFact, RequestFact, Status, SubtaskFact};
pub(crate) use trimtab_vocab::{
    Applying, Approve, Control, Event, Fact, Fault, FolderTrust, Machine, Mode, ModelFacts, ModelSettings, OnConflict,
    Prices, Problem, ProblemKind, Prompt, Retry, Rule, RuleVerdict, RunSettings, SessionId, StopReason, SubtaskControl,
    SubtaskOffer, SubtaskSettings, SubtaskStart, SubtaskStatus, SubtasksFact, Usage, WhileRunning,
};
pub(crate) use trimtab_world::clock::{Clock, SystemClock};
pub(crate) use trimtab_world::models::{DrawOrder, DrawnImage, Model, ModelRegistry, PieceStream, ReplyPiece};
pub(crate) use trimtab_world::store::SqliteStore;

/// What a model says.
#[derive(Clone)]
pub(crate) enum Said {
    Text(&'static str),
    Tool(&'static str, Value),
    /// The provider refuses for good.
    Fail,
    /// The provider asks to wait, or cannot be reached: the call is made again at once.
    Again(ProblemKind),
}

pub(crate) type Script = Arc<dyn Fn(&str, usize) -> Vec<Said> + Send + Sync>;

/// Models that answer by what they are told. Each call notes when it begins and ends, and waits for its gate.
#[derive(Clone)]
pub(crate) struct Workers {
    pub(crate) plan: Value,
    pub(crate) script: Script,
    pub(crate) calls: Arc<Mutex<BTreeMap<String, usize>>>,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) prompts: Arc<Mutex<Vec<(String, Prompt)>>>,
    pub(crate) gates: Arc<Mutex<BTreeMap<String, Arc<Notify>>>>,
}

pub(crate) fn write(path: &str, content: &str) -> Said {
    Said::Tool("write_file", json!({"path": path, "content": content}))
}

impl Workers {
    pub(crate) fn new(plan: Value, script: impl Fn(&str, usize) -> Vec<Said> + Send + Sync + 'static) -> Self {
        Self {
            plan,
            script: Arc::new(script),
            calls: Arc::default(),
            log: Arc::default(),
            prompts: Arc::default(),
            gates: Arc::default(),
        }
    }

    /// The calls for this task wait until the gate is opened.
    pub(crate) fn gate(&self, task: &str) -> Arc<Notify> {
        let gate = Arc::new(Notify::new());
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), Arc::clone(&gate));
        gate
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn prompt(&self, task: &str) -> Prompt {
        self.prompts_of(task).into_iter().next().expect("it was called")
    }

    pub(crate) fn prompts_of(&self, task: &str) -> Vec<Prompt> {
        let prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
        prompts.iter().filter(|(name, _)| name == task).map(|(_, prompt)| prompt.clone()).collect()
    }
}

impl ModelRegistry for Workers {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Model for Workers {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    async fn draw(&self, _: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        Ok(Vec::new())
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let first = prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
        let name = match prompt.system.starts_with("You break a request") {
            _ if prompt.system.starts_with("Two people changed") => "merge".to_owned(),
            true => "plan".to_owned(),
            // The instruction of a worker begins with its name.
            // The step of a plan that runs is the one that was sent last.
            false => first
                .rsplit("[PLAN STEP ")
                .next()
                .unwrap_or(&first)
                .split("TASK ")
                .nth(1)
                .and_then(|rest| rest.split([':', ' ', '\n']).next())
                .unwrap_or("main")
                .to_owned(),
        };
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).push((name.clone(), prompt.clone()));
        let gate = self.gates.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        let (log, plan) = (Arc::clone(&self.log), self.plan.to_string());
        let (calls, script) = (Arc::clone(&self.calls), Arc::clone(&self.script));
        let note = move |what: String| log.lock().unwrap_or_else(PoisonError::into_inner).push(what);
        stream::once(async move {
            note(format!("{name} begins"));
            if let Some(gate) = gate {
                gate.notified().await;
                gate.notify_one();
            }
            note(format!("{name} ends"));
            // A call that was cut off is made again, and counts once.
            let number = {
                let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
                let number = calls.entry(name.clone()).or_default();
                *number += 1;
                *number
            };
            let said = match name.as_str() {
                "plan" => vec![Said::Text("plan")],
                _ => script(&name, number),
            };
            let mut pieces = Vec::new();
            let mut stop = StopReason::EndTurn;
            for (at, said) in (0..).zip(said) {
                match said {
                    Said::Text("plan") => pieces.push(Ok(ReplyPiece::Text { block: at, text: plan.clone() })),
                    Said::Text(text) => pieces.push(Ok(ReplyPiece::Text { block: at, text: text.to_owned() })),
                    Said::Tool(tool, input) => {
                        stop = StopReason::ToolUse;
                        pieces.push(Ok(ReplyPiece::Tool {
                            block: at,
                            id: Some(format!("toolu_{name}_{number}_{at}")),
                            name: Some(tool.to_owned()),
                            arguments: input.to_string(),
                        }));
                    }
                    Said::Again(kind) => {
                        let problem = Problem::new(kind, "not now");
                        pieces.push(Err(Fault { problem, retry: Retry::Later { after_ms: Some(0) } }));
                        return stream::iter(pieces);
                    }
                    Said::Fail => {
                        let problem = Problem::new(ProblemKind::Refused, "no more of this");
                        pieces.push(Err(Fault { problem, retry: Retry::Never }));
                        return stream::iter(pieces);
                    }
                }
            }
            let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
            pieces.extend([Ok(ReplyPiece::Usage(usage)), Ok(ReplyPiece::Stop(stop)), Ok(ReplyPiece::End)]);
            stream::iter(pieces)
        })
        .flatten()
        .boxed()
    }
}

/// A person at work in a folder.
pub(crate) struct Play {
    pub(crate) home: tempfile::TempDir,
    pub(crate) models: Workers,
    pub(crate) client: Client,
    pub(crate) world: World,
    pub(crate) settings: RunSettings,
}

pub(crate) fn open(home: &Path, models: &Workers, jobs: u32) -> (Client, World) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = SqliteStore::open(&home.join("data"), Arc::clone(&clock)).expect("a store");
    let workspaces = shared_workspace(PlainWorkspace::default());
    let world = World { store: Arc::new(store), models: Arc::new(models.clone()), clock, workspaces };
    (Client::with(world.clone(), jobs), world)
}

impl Play {
    pub(crate) fn new(models: Workers, start: SubtaskStart, files: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let project = home.path().join("project");
        std::fs::create_dir_all(&project).expect("a folder");
        for (path, text) in files {
            std::fs::write(project.join(path), text).expect("written");
        }
        let (client, world) = open(home.path(), &models, 10);
        let prices = Some(Prices { input: 1.0, output: 5.0, ..Prices::default() });
        let facts = ModelFacts { window: 100_000, max_output: 8_192, tools: true, prices, ..ModelFacts::default() };
        let settings = RunSettings {
            models: ModelSettings { model: "m/large".into(), facts, ..ModelSettings::default() },
            trust: FolderTrust::WHOLE,
            subtasks: SubtaskSettings { start: Some(start), ..SubtaskSettings::default() },
            machine: Machine { workers: home.path().join("copies").display().to_string(), ..Machine::default() },
            ..RunSettings::default()
        };
        Self { home, models, client, world, settings }
    }

    /// The same, with copies of the folder that wait for a gate.
    pub(crate) fn with_copy_gate(mut self) -> (Self, Arc<Notify>) {
        let gate = Arc::new(Notify::new());
        let workspaces = shared_workspace(PlainWorkspace::default().with_copy_gate(Arc::clone(&gate)));
        self.world = World { workspaces, ..self.world };
        self.client = Client::with(self.world.clone(), 10);
        (self, gate)
    }

    pub(crate) async fn say(&self, text: &str) -> Sent {
        self.say_in(text, Mode::Auto).await
    }

    pub(crate) async fn say_in(&self, text: &str, mode: Mode) -> Sent {
        let draft = RequestDraft { mode, ..RequestDraft::new(text, Manner::default()) };
        let say = self.world.say(draft, None, self.settings.clone());
        let folder = self.home.path().join("project").display().to_string();
        self.client.send(SendTo::New { folder }, say).await.expect("is taken in")
    }

    /// Waits for an event, from the beginning of the log.
    pub(crate) async fn until(&self, session: &SessionId, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut watch = self.client.watch(session, 0);
        let mut events = Vec::new();
        let found = async {
            loop {
                let event = watch.next().await.expect("an event");
                let is_last = is_it(&event);
                events.push(event.clone());
                if is_last {
                    return;
                }
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), found).await;
        if waited.is_err() {
            let mut all: Vec<String> =
                events.iter().skip(3).map(|event| serde_json::to_string(event).expect("JSON")).collect();
            for event in events.clone() {
                let Fact::Subtask(SubtaskFact { worker: Some(worker), .. }) = event.fact else { continue };
                let of_worker = self.client.sessions().events(&worker, 0).await.expect("the log");
                all.extend(of_worker.iter().map(|event| serde_json::to_string(event).expect("JSON")));
            }
            all.extend(self.world.store.inbox(session).await.expect("an inbox").into_iter().map(|row| row.payload));
            panic!("it never came:\n{}\n{:?}", all.join("\n"), self.models.log());
        }
        events
    }

    pub(crate) async fn end(&self, sent: &Sent) -> (Status, Vec<Event>) {
        let is_end = |event: &Event| {
            event.request.as_ref() == Some(&sent.request)
                && matches!(event.fact, Fact::Request(RequestFact::Finished { .. }))
        };
        let events = self.until(&sent.session, is_end).await;
        let Some(Event { fact: Fact::Request(RequestFact::Finished { status, .. }), .. }) = events.last() else {
            panic!("no end")
        };
        (*status, events)
    }

    /// Waits until something like this is asked, and answers it.
    pub(crate) async fn answer(
        &self,
        sent: &Sent,
        is_it: impl Fn(&Ask) -> bool,
        choice: &str,
        text: Option<&str>,
    ) -> Event {
        let asked =
            |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask, .. }) if is_it(ask));
        let events = self.until(&sent.session, asked).await;
        let event = events.last().expect("one").clone();
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, .. }) = &event.fact else { panic!("no") };
        assert!(choices.iter().any(|known| known.id == choice), "{choice} is not one of {choices:?}");
        let (checkpoint, text) = (checkpoint.clone(), text.map(str::to_owned));
        let answer = Answered { checkpoint, choice: choice.into(), text, by: "user".into() };
        self.client.requests().answer(&sent.session, answer).await.expect("passed on");
        event
    }

    pub(crate) fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.home.path().join("project").join(path)).ok()
    }

    /// Waits until no worker has a copy any more.
    pub(crate) async fn until_no_copies(&self) {
        let gone = async {
            while self.copies() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the copies are removed");
    }

    /// Waits until a sub-task has this status.
    pub(crate) async fn until_status(&self, sent: &Sent, id: &str, wanted: SubtaskStatus) -> Vec<Event> {
        let is_it =
            |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == id && fact.status == wanted);
        self.until(&sent.session, is_it).await
    }

    pub(crate) fn copies(&self) -> usize {
        std::fs::read_dir(self.home.path().join("copies")).map_or(0, |entries| entries.count())
    }
}

pub(crate) fn statuses(events: &[Event], id: &str) -> Vec<SubtaskStatus> {
    let mut all: Vec<SubtaskStatus> = Vec::new();
    for event in events {
        if let Fact::Subtask(SubtaskFact { subtask, status, .. }) = &event.fact
            && subtask == id
            && all.last() != Some(status)
        {
            all.push(*status);
        }
    }
    all
}

pub(crate) fn task(title: &str, files: &[&str], depends_on: &[u32]) -> Value {
    let instruction = format!("TASK {title}: do it");
    json!({"title": title, "instruction": instruction, "files": files, "depends_on": depends_on, "kind": "reasoning", "each": false})
}

pub(crate) fn plan(tasks: &[Value]) -> Value {
    json!({"thought": "", "tasks": tasks})
}

/// The documented example: three that need nothing of each other, one after all of them, one after that.
pub(crate) fn auth() -> Workers {
    let tasks = [
        task("user", &[], &[]),
        task("token", &[], &[]),
        task("hash", &[], &[]),
        task("middleware", &[], &[1, 2, 3]),
        task("review", &[], &[4]),
    ];
    Workers::new(plan(&tasks), |name, number| match (name, number) {
        ("review", _) => vec![Said::Text("All is well.")],
        ("user", 1) => vec![write("user.rs", "struct User;\n")],
        ("token", 1) => vec![write("token.rs", "struct Token;\n")],
        ("hash", 1) => vec![write("hash.rs", "fn hash() {}\n")],
        ("middleware", 1) => vec![Said::Tool("read_file", json!({"path": "user.rs"}))],
        ("middleware", 2) => vec![write("middleware.rs", "fn check() {}\n")],
        _ => vec![Said::Text("It is done.")],
    })
}
