//! Sub-tasks with the real engine, host and database: one request, several workers, one change.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::sync::Notify;
use trimtab_host::{Answered, Client, Manner, RequestDraft, SendTo, Sent, World, shared_workspace};
use trimtab_testkit::plain_workspace::PlainWorkspace;
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, RequestFact, Status, SubtaskFact};
use trimtab_vocab::{
    Applying, Control, Event, Fact, Fault, Machine, ModelFacts, ModelSettings, OnConflict, Prices, Problem, Prompt,
    RunSettings, SessionId, StopReason, SubtaskControl, SubtaskSettings, SubtaskStart, SubtaskStatus, Usage,
};
use trimtab_world::clock::{Clock, SystemClock};
use trimtab_world::models::{DrawOrder, DrawnImage, Model, ModelRegistry, PieceStream, ReplyPiece};
use trimtab_world::store::SqliteStore;

/// What a model says.
#[derive(Clone)]
enum Said {
    Text(&'static str),
    Tool(&'static str, Value),
    Fail,
}

type Script = Arc<dyn Fn(&str, usize) -> Vec<Said> + Send + Sync>;

/// Models that answer by what they are told. Each call notes when it begins and ends, and waits for its gate.
#[derive(Clone)]
struct Workers {
    plan: Value,
    script: Script,
    calls: Arc<Mutex<BTreeMap<String, usize>>>,
    log: Arc<Mutex<Vec<String>>>,
    prompts: Arc<Mutex<Vec<(String, Prompt)>>>,
    gates: Arc<Mutex<BTreeMap<String, Arc<Notify>>>>,
}

fn write(path: &str, content: &str) -> Said {
    Said::Tool("write_file", json!({"path": path, "content": content}))
}

impl Workers {
    fn new(plan: Value, script: impl Fn(&str, usize) -> Vec<Said> + Send + Sync + 'static) -> Self {
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
    fn gate(&self, task: &str) -> Arc<Notify> {
        let gate = Arc::new(Notify::new());
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), Arc::clone(&gate));
        gate
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn prompt(&self, task: &str) -> Prompt {
        let prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
        prompts.iter().find(|(name, _)| name == task).map(|(_, prompt)| prompt.clone()).expect("it was called")
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
            false => first
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
                    Said::Fail => {
                        let problem = Problem::new(trimtab_vocab::ProblemKind::Refused, "no more of this");
                        pieces.push(Err(Fault { problem, retry: trimtab_vocab::Retry::Never }));
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
struct Play {
    home: tempfile::TempDir,
    models: Workers,
    client: Client,
    world: World,
    settings: RunSettings,
}

fn open(home: &Path, models: &Workers, jobs: u32) -> (Client, World) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = SqliteStore::open(&home.join("data"), Arc::clone(&clock)).expect("a store");
    let workspaces = shared_workspace(PlainWorkspace::default());
    let world = World { store: Arc::new(store), models: Arc::new(models.clone()), clock, workspaces };
    (Client::with(world.clone(), jobs), world)
}

impl Play {
    fn new(models: Workers, start: SubtaskStart, files: &[(&str, &str)]) -> Self {
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
            trusted: true,
            subtasks: SubtaskSettings { start: Some(start), ..SubtaskSettings::default() },
            machine: Machine { workers: home.path().join("copies").display().to_string(), ..Machine::default() },
            ..RunSettings::default()
        };
        Self { home, models, client, world, settings }
    }

    async fn say(&self, text: &str) -> Sent {
        let say = self.world.say(RequestDraft::new(text, Manner::default()), None, self.settings.clone());
        let folder = self.home.path().join("project").display().to_string();
        self.client.send(SendTo::New { folder }, say).await.expect("is taken in")
    }

    /// Waits for an event, from the beginning of the log.
    async fn until(&self, session: &SessionId, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
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

    async fn end(&self, sent: &Sent) -> (Status, Vec<Event>) {
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
    async fn answer(&self, sent: &Sent, is_it: impl Fn(&Ask) -> bool, choice: &str, text: Option<&str>) -> Event {
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

    fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.home.path().join("project").join(path)).ok()
    }

    /// Waits until there are so many entries where the copies are; they are removed behind everything else.
    async fn until_copies(&self, count: usize) {
        let entries = || std::fs::read_dir(self.home.path().join("copies")).map_or(0, |entries| entries.count());
        let gone = async {
            while entries() != count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), gone).await;
        assert!(waited.is_ok(), "{} entries instead of {count}", entries());
    }
}

fn statuses(events: &[Event], id: &str) -> Vec<SubtaskStatus> {
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

fn task(title: &str, files: &[&str], depends_on: &[u32]) -> Value {
    let instruction = format!("TASK {title}: do it");
    json!({"title": title, "instruction": instruction, "files": files, "depends_on": depends_on, "kind": "reasoning", "each": false})
}

fn plan(tasks: &[Value]) -> Value {
    json!({"thought": "", "tasks": tasks})
}

/// The documented example: three that need nothing of each other, one after all of them, one after that.
fn auth() -> Workers {
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

#[tokio::test]
async fn five_tasks_run_by_what_they_depend_on_and_become_one_change() {
    let models = auth();
    let gates = ["user", "token", "hash"].map(|name| models.gate(name));
    let play = Play::new(models, SubtaskStart::Ask, &[("main.rs", "fn main() {}\n")]);
    let sent = play.say("Create authentication for main.rs").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_a", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { title, choices, .. }) = &asked.fact else { panic!("no") };
    assert_eq!(
        title,
        "📋 Execution Plan: \"Create authentication for main.rs\"\nFound 5 sub-tasks. Choose execution strategy:"
    );
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["Edit Plan", "Start A", "Start B", "Start C", "Cancel"]);
    // Three begin before any of them ends.
    while play.models.log().iter().filter(|line| line.ends_with("begins")).count() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(play.models.log().iter().filter(|line| line.ends_with("ends")).count(), 1, "{:?}", play.models.log());
    assert_eq!(play.file("user.rs"), None, "nothing is written before it is merged");
    gates.iter().for_each(|gate| gate.notify_one());
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    for (file, text) in [
        ("user.rs", "struct User;\n"),
        ("token.rs", "struct Token;\n"),
        ("hash.rs", "fn hash() {}\n"),
        ("middleware.rs", "fn check() {}\n"),
        ("main.rs", "fn main() {}\n"),
    ] {
        assert_eq!(play.file(file).as_deref(), Some(text), "{file}");
    }
    let at = |what: &str| play.models.log().iter().position(|line| line == what).unwrap_or_else(|| panic!("{what}"));
    for before in ["user ends", "token ends", "hash ends"] {
        assert!(at(before) < at("middleware begins"), "{:?}", play.models.log());
    }
    assert!(at("middleware ends") < at("review begins"));
    // A worker sees its instruction and what the tasks before it came to, and nothing of the conversation.
    let prompt = play.models.prompt("middleware");
    let words = prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
    assert!(
        words.contains("1. user (changed: user.rs): It is done.") && !words.contains("Create authentication"),
        "{words}"
    );
    let applied = events.iter().filter(|event| event.fact.kind() == "change.applied").count();
    assert_eq!(applied, 1, "one change");
    play.until_copies(0).await;
    for id in ["1", "2", "3", "4", "5"] {
        assert_eq!(statuses(&events, id), [SubtaskStatus::Running, SubtaskStatus::Completed], "{id}");
    }
    let Some(Fact::Request(RequestFact::Finished { usage, .. })) = events.last().map(|event| &event.fact) else {
        panic!("no end")
    };
    // One call for the plan, two for each of three, three for the fourth, one for the last.
    assert_eq!(usage.input_tokens, 1_100, "the sum is that of the parts");
    let control = Control::Rewind { steps: 1, on_conflict: OnConflict::Refuse };
    play.client.requests().control(&sent.session, None, control).await.expect("wanted");
    play.until(&sent.session, |event| event.fact.kind() == "change.reverted").await;
    assert_eq!(play.file("user.rs"), None, "one undo takes all of it back");
    assert_eq!(play.file("main.rs").as_deref(), Some("fn main() {}\n"));
}

/// Two tasks that rewrite the same line.
fn clashing() -> Workers {
    Workers::new(plan(&[task("loud", &[], &[]), task("polite", &[], &[]), task("third", &[], &[])]), |name, number| {
        match (name, number) {
            ("merge", _) => vec![Said::Text("```\nprint('Hello, sir!')\nprint('bye')\n```")],
            ("loud", 1) => vec![write("a.py", "print('HELLO')\nprint('bye')\n")],
            ("polite", 1) => vec![write("a.py", "print('hello, sir')\nprint('bye')\n")],
            ("third", 1) => vec![write("b.py", "pass\n")],
            _ => vec![Said::Text("Done.")],
        }
    })
}

async fn settled(choice: &str, text: Option<&str>) -> (Status, Option<String>, Vec<Event>) {
    let play = Play::new(clashing(), SubtaskStart::Loose, &[("a.py", "print('hello')\nprint('bye')\n")]);
    let sent = play.say("Change the greeting in a.py").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::MergeConflict { .. }), choice, text).await;
    let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::MergeConflict { conflict, .. }, .. }) = &asked.fact else {
        panic!("no conflict")
    };
    assert_eq!(conflict.base, "print('hello')\nprint('bye')\n");
    assert_eq!(conflict.ours, "print('HELLO')\nprint('bye')\n");
    assert_eq!(conflict.theirs, "print('hello, sir')\nprint('bye')\n");
    assert_eq!((conflict.subtask.as_str(), conflict.against.as_slice()), ("2", ["1".to_owned()].as_slice()));
    if choice == "merge" {
        play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
    }
    let (status, events) = play.end(&sent).await;
    (status, play.file("a.py"), events)
}

#[tokio::test]
async fn a_conflict_is_shown_with_both_sides_and_settled_each_way() {
    for (choice, text, becomes) in [
        ("keep_a", None, "print('HELLO')\nprint('bye')\n"),
        ("keep_b", None, "print('hello, sir')\nprint('bye')\n"),
        ("edit", Some("print('hi')\n"), "print('hi')\n"),
        ("merge", None, "print('Hello, sir!')\nprint('bye')\n"),
    ] {
        let (status, file, _) = settled(choice, text).await;
        assert_eq!((status, file.as_deref()), (Status::Completed, Some(becomes)), "{choice}");
    }
}

#[tokio::test]
async fn a_failed_task_is_tried_again_then_asked_about_and_the_others_are_kept() {
    let models = Workers::new(
        plan(&[task("good", &[], &[]), task("bad", &[], &[]), task("after", &[], &[2])]),
        |name, number| match (name, number) {
            ("bad", 1 | 2) => vec![Said::Fail],
            ("bad", 3) => vec![write("bad.txt", "at last\n")],
            ("good", 1) => vec![write("good.txt", "good\n")],
            ("after", 1) => vec![write("after.txt", "after\n")],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create good.txt, bad.txt and after.txt").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "retry", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::SubtaskFailed { dependents, reason, .. }, .. }) =
        &asked.fact
    else {
        panic!("no")
    };
    assert_eq!((dependents.as_slice(), reason.as_str()), (["3. after".to_owned()].as_slice(), "no more of this"));
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    assert_eq!(play.file("bad.txt").as_deref(), Some("at last\n"));
    assert_eq!(play.file("after.txt").as_deref(), Some("after\n"));
    let good = play.models.log().iter().filter(|line| *line == "good begins").count();
    assert_eq!(good, 2, "what was done is not done again: {:?}", play.models.log());
    let (running, failed) = (SubtaskStatus::Running, SubtaskStatus::Failed);
    let all = [running, failed, running, failed, SubtaskStatus::Pending, running, SubtaskStatus::Completed];
    assert_eq!(statuses(&events, "2"), all);
    let retried = play.models.prompts.lock().expect("free");
    let again: Vec<&Prompt> = retried.iter().filter(|(name, _)| name == "bad").map(|(_, prompt)| prompt).collect();
    let words = again[1].messages.iter().map(|message| message.text()).collect::<String>();
    assert!(words.contains("The last attempt failed: no more of this"), "{words}");
}

#[tokio::test]
async fn a_skipped_task_takes_those_that_depend_on_it_with_it() {
    let models = Workers::new(
        plan(&[task("good", &[], &[]), task("bad", &[], &[]), task("after", &[], &[2])]),
        |name, number| match (name, number) {
            ("bad", _) => vec![Said::Fail],
            ("good", 1) => vec![write("good.txt", "good\n")],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create good.txt, bad.txt and after.txt").await;
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "skip", None).await;
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("good.txt").as_deref()), (Status::Completed, Some("good\n")));
    assert_eq!(statuses(&events, "3"), [SubtaskStatus::Skipped]);
}

#[tokio::test]
async fn a_question_of_a_worker_is_answered_where_the_request_runs_and_the_others_go_on() {
    let models = Workers::new(
        plan(&[task("asks", &[], &[]), task("works", &[], &[]), task("more", &[], &[])]),
        |name, number| match (name, number) {
            ("asks", 1) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            ("asks", 2) => vec![write("color.txt", "blue\n")],
            ("works", 1) => vec![write("works.txt", "x\n")],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create color.txt and works.txt").await;
    let is_done = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "2" && fact.status == SubtaskStatus::Completed);
    play.until(&sent.session, is_done).await;
    let open = play.client.requests().checkpoints().await.expect("the list");
    assert_eq!(open.len(), 1, "it is asked once");
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, choices, worker, .. }) = &open[0].fact else {
        panic!("no")
    };
    let worker = worker.as_deref().expect("of a worker");
    assert_eq!((title.as_str(), worker.subtask.as_str(), worker.name.as_str()), ("Which color?", "1", "asks"));
    let blue = choices.iter().find(|choice| choice.label == "blue").expect("offered").id.clone();
    let answer = Answered { checkpoint: checkpoint.clone(), choice: blue, text: None, by: "user".into() };
    play.client.requests().answer(&open[0].session, answer).await.expect("passed on");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("color.txt").as_deref()), (Status::Completed, Some("blue\n")));
    let (running, asks) = (SubtaskStatus::Running, SubtaskStatus::NeedsUser);
    assert_eq!(statuses(&events, "1"), [running, asks, running, SubtaskStatus::Completed]);
}

#[tokio::test]
async fn a_killed_run_goes_on_and_what_was_done_is_not_done_again() {
    let models = auth();
    let gates = ["token", "hash"].map(|name| models.gate(name));
    let mut play = Play::new(models, SubtaskStart::Parallel, &[("main.rs", "fn main() {}\n")]);
    play.settings.subtasks.models.clear();
    let sent = play.say("Create authentication for main.rs").await;
    let is_done = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.status == SubtaskStatus::Completed);
    play.until(&sent.session, is_done).await;
    // The process ends while the others are at work.
    let Play { home, models, client, world, settings } = play;
    drop((client, world));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (client, world) = open(home.path(), &models, 10);
    let play = Play { home, models, client, world, settings };
    gates.iter().for_each(|gate| gate.notify_one());
    play.client.resume(&sent.session);
    let (status, _) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let user = play.models.log().iter().filter(|line| *line == "user begins").count();
    assert_eq!(user, 2, "{:?}", play.models.log());
    for file in ["user.rs", "token.rs", "hash.rs", "middleware.rs"] {
        assert!(play.file(file).is_some(), "{file}");
    }
    play.until_copies(0).await;
}

#[tokio::test]
async fn one_slot_for_requests_is_enough_and_no_more_than_wanted_run_at_once() {
    let mut play = Play::new(auth(), SubtaskStart::Parallel, &[]);
    let (client, world) = open(play.home.path(), &play.models, 1);
    (play.client, play.world) = (client, world);
    let sent = play.say("Create authentication in new files").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let mut open = 0_i32;
    for line in play.models.log() {
        open += if line.ends_with("begins") { 1 } else { -1 };
        assert!(open <= 1, "{:?}", play.models.log());
    }
}

#[tokio::test]
async fn a_stop_ends_all_workers_and_changes_nothing() {
    let models = auth();
    let _gates = ["user", "token", "hash"].map(|name| models.gate(name));
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create authentication in new files").await;
    let is_running = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "2" && fact.status == SubtaskStatus::Running);
    play.until(&sent.session, is_running).await;
    play.client.requests().control(&sent.session, None, Control::Cancel).await.expect("wanted");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("user.rs")), (Status::Cancelled, None));
    let workers: Vec<SessionId> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Subtask(fact) => fact.worker.clone(),
            _ => None,
        })
        .collect();
    for worker in workers {
        let is_end = |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { .. }));
        play.until(&worker, is_end).await;
    }
}

#[tokio::test]
async fn the_merged_change_is_asked_about_where_changes_are() {
    let mut play = Play::new(auth(), SubtaskStart::Sequential, &[]);
    play.settings.files.apply = Applying::Ask;
    let sent = play.say("Create authentication in new files").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "never", None).await;
    assert!(matches!(&asked.fact, Fact::Checkpoint(CheckpointFact::Opened { worker: None, .. })));
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("user.rs")), (Status::NotDone, None));
}

#[tokio::test]
async fn a_model_delegates_and_reads_what_came_of_it() {
    let models = Workers::new(Value::Null, |name, number| match (name, number) {
        ("main", 1) => {
            let tasks = [json!({"instruction": "TASK one: write it"}), json!({"instruction": "TASK two: write it"})];
            vec![Said::Tool("delegate", json!({"tasks": tasks}))]
        }
        ("one", 1) => vec![write("one.txt", "1\n")],
        ("two", 1) => vec![write("two.txt", "2\n")],
        ("main", _) => vec![Said::Text("Both are written.")],
        _ => vec![Said::Text("Written.")],
    });
    let mut play = Play::new(models, SubtaskStart::Ask, &[]);
    play.settings.subtasks.start = None;
    let sent = play.say("Create one.txt and two.txt in parallel").await;
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_a", None).await;
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("one.txt").as_deref()), (Status::Completed, Some("1\n")));
    let prompts = play.models.prompts.lock().expect("free");
    let last = prompts.iter().rev().find(|(name, _)| name == "main").map(|(_, prompt)| prompt).expect("called");
    let read = format!("{:?}", last.messages);
    assert!(read.contains("agent_1_1") && read.contains("agent_2_2"), "{read}");
    let offered = |name: &str| {
        let (_, prompt) = prompts.iter().find(|(known, _)| known == name).expect("called");
        prompt.tools.iter().any(|tool| tool.name == "delegate")
    };
    assert!(offered("main") && !offered("one"), "a worker cannot delegate");
}

#[tokio::test]
async fn an_edited_plan_is_what_runs_and_one_task_can_be_left_out() {
    let play = Play::new(auth(), SubtaskStart::Ask, &[]);
    let sent = play.say("Create authentication in new files").await;
    let text = "1. user\n   TASK user: do it\n3. hash\n   TASK hash: do it\n   after: 1\n";
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "edit", Some(text)).await;
    let is_edited = |ask: &Ask| matches!(ask, Ask::SubtaskPlan { plan, .. } if plan.tasks.len() == 2);
    play.answer(&sent, is_edited, "start_b", None).await;
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("hash.rs").is_some(), play.file("token.rs")), (Status::Completed, true, None));
    assert!(!play.models.log().iter().any(|line| line.starts_with("token")));
}

#[tokio::test]
async fn one_worker_is_skipped_while_the_others_work() {
    let models = auth();
    let _gate = models.gate("hash");
    let play = Play::new(models, SubtaskStart::Loose, &[]);
    let sent = play.say("Create authentication in new files").await;
    let is_running = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "3" && fact.status == SubtaskStatus::Running);
    play.until(&sent.session, is_running).await;
    let action = Control::Subtask { subtask: "3".into(), action: SubtaskControl::Skip };
    play.client.requests().control(&sent.session, None, action).await.expect("wanted");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("hash.rs"), play.file("user.rs").is_some()), (Status::Completed, None, true));
    assert_eq!(statuses(&events, "3").last(), Some(&SubtaskStatus::Skipped));
}

#[tokio::test]
async fn a_large_plan_is_offered_in_three_sizes_and_the_chosen_one_runs() {
    for (choice, count) in [("fine", 6), ("medium", 3), ("coarse", 2), ("decide", 2)] {
        let tasks: Vec<Value> = (1..=6).map(|number| task(&format!("part{number}"), &[], &[])).collect();
        let play = Play::new(
            Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]),
            SubtaskStart::Ask,
            &[],
        );
        let sent = play.say("Look at everything in this folder").await;
        let asked = play.answer(&sent, |ask| matches!(ask, Ask::Breakdown { .. }), choice, None).await;
        let Fact::Checkpoint(CheckpointFact::Opened { title, choices, .. }) = &asked.fact else { panic!("no") };
        assert_eq!(title, "📊 Task Breakdown Options\nYour request can be broken down in different ways:");
        let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
        assert_eq!(labels, ["Use A", "Use B", "Use C", "Let AI decide"]);
        let is_plan = |ask: &Ask| matches!(ask, Ask::SubtaskPlan { plan, .. } if plan.tasks.len() == count);
        play.answer(&sent, is_plan, "start_c", None).await;
        assert_eq!(play.end(&sent).await.0, Status::Completed, "{choice}");
    }
}

#[tokio::test]
async fn one_instruction_for_many_files_is_a_worker_for_each_and_one_change() {
    let files = ["a.txt", "b.txt", "c.txt", "d.txt"];
    let each = json!({"title": "Shout", "instruction": "TASK shout: shout", "files": files, "depends_on": [], "kind": "simple", "each": true});
    let models = Workers::new(plan(&[each]), |_, _| vec![Said::Text("Nothing to do.")]);
    let play = Play::new(models, SubtaskStart::Parallel, &files.map(|file| (file, "hello\n")));
    let sent = play.say("Shout in every file").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let prompts = play.models.prompts.lock().expect("free");
    let seen: Vec<Vec<&str>> = prompts
        .iter()
        .filter(|(name, _)| name == "shout")
        .map(|(_, prompt)| {
            let words = prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
            files.into_iter().filter(|file| words.contains(&format!("[Loaded {file}]"))).collect()
        })
        .collect();
    assert_eq!(seen.len(), 4, "a call for each file");
    for file in files {
        assert!(seen.contains(&vec![file]), "{file} alone: {seen:?}");
    }
}

#[tokio::test]
async fn no_more_workers_run_at_once_than_are_set() {
    let tasks: Vec<Value> = (1..=5).map(|number| task(&format!("part{number}"), &[], &[])).collect();
    let mut play = Play::new(
        Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]),
        SubtaskStart::Parallel,
        &[],
    );
    play.settings.subtasks.parallel = 2;
    let sent = play.say("Look at everything in this folder").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let (mut running, mut most) = (Vec::new(), 0);
    for event in &events {
        if let Fact::Subtask(SubtaskFact { subtask, status, .. }) = &event.fact {
            running.retain(|known| known != subtask);
            if *status == SubtaskStatus::Running {
                running.push(subtask.clone());
            }
            most = most.max(running.len());
        }
    }
    assert_eq!(most, 2);
}

#[tokio::test]
async fn what_a_worker_writes_down_is_read_by_another() {
    let models = Workers::new(plan(&[task("writes", &[], &[]), task("reads", &[], &[1])]), |name, number| {
        match (name, number) {
            ("writes", 1) => vec![Said::Tool("write_shared", json!({"key": "port", "value": 8123}))],
            ("reads", 1) => vec![Said::Tool("read_shared", json!({}))],
            _ => vec![Said::Text("Done.")],
        }
    });
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Look at everything in this folder").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let prompts = play.models.prompts.lock().expect("free");
    let last = prompts.iter().rev().find(|(name, _)| name == "reads").map(|(_, prompt)| prompt).expect("called");
    let read = format!("{:?}", last.messages);
    assert!(read.contains("subtask-context") && read.contains("8123") && read.contains("stepOutputs"), "{read}");
}

#[tokio::test]
async fn without_a_user_a_question_waits_and_the_answer_continues_the_worker() {
    let models =
        Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, number| match (name, number) {
            // The second is the one of the other request.
            ("asks", 1 | 2) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            ("asks", 3) => vec![write("color.txt", "blue\n")],
            _ => vec![Said::Text("Done.")],
        });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.attended = false;
    let sent = play.say("Create color.txt").await;
    assert_eq!(play.end(&sent).await.0, Status::NeedsUser);
    let open = play.client.requests().checkpoints().await.expect("the list");
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, .. }) = &open[0].fact else { panic!("no") };
    let blue = choices.iter().find(|choice| choice.label == "blue").expect("offered").id.clone();
    // A worker that waits keeps its copy, with the mark that it is whole.
    play.until_copies(2).await;
    let worker = play.world.store.sessions(None).await.expect("all").into_iter().find(|row| row.id.is_worker());
    assert!(worker.is_some(), "there is one");
    // Others that start meanwhile sweep up after those that have ended, and not after this one.
    let other = play.say("Look at everything in this folder").await;
    play.end(&other).await;
    let answer = Answered { checkpoint: checkpoint.clone(), choice: blue, text: None, by: "user".into() };
    play.client.requests().answer(&sent.session, answer).await.expect("passed on");
    let is_end =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Completed, .. }));
    play.until(&sent.session, is_end).await;
    assert_eq!(play.file("color.txt").as_deref(), Some("blue\n"));
}

#[tokio::test]
async fn a_worker_that_waits_for_the_user_is_stopped_with_the_request_and_deleted_with_the_session() {
    let models = Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, _| match name {
        "asks" => vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))],
        _ => vec![Said::Text("Done.")],
    });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.attended = false;
    let sent = play.say("Create color.txt").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::NeedsUser);
    let cancel = play.client.requests().control(&sent.session, Some(sent.request.clone()), Control::Cancel);
    cancel.await.expect("wanted");
    let worker = events.iter().find_map(|event| match &event.fact {
        Fact::Subtask(fact) if fact.subtask == "1" => fact.worker.clone(),
        _ => None,
    });
    let worker = worker.expect("a worker");
    let is_cancelled =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Cancelled, .. }));
    play.until(&worker, is_cancelled).await;
    play.until(&sent.session, is_cancelled).await;
    assert!(play.client.requests().checkpoints().await.expect("the list").is_empty());
    let deleted = async {
        while play.client.sessions().delete(&sent.session).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), deleted).await.expect("deleted");
    assert!(play.world.store.session(&worker).await.expect("a look").is_none());
}
