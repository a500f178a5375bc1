//! A whole test in one string: files, then a dialogue between a person and a scripted model.
//!
//! ```text
//! --- src/main.rs
//! fn main() {}
//! --- tasks
//! {"op":"create","title":"Call Bob"}   the person's tasks, an operation each
//! --- dialogue
//! > hello              the person says something and waits for its end
//! ? hello              the model's next prompt must end with these words
//! < Hi |there.         the model answers, in two pieces
//! < Hi [max_tokens]    and stops for this reason instead of end_turn
//! <! overloaded: busy  the call fails and may be tried again
//! <!! refused: no      the call fails for good
//! <~ Hal               the model says this and the connection is cut
//! <… Hal               the model says this and then nothing more
//! <%                   the program fails at the call, by a defect of its own
//! <@ search {"pattern":"x"}   the model asks for a tool; several lines in a row are one reply, which `#` ends
//! <+ I will look.      and says this before it
//! ?~ 3 matches         somewhere in the last message of the prompt, results included, stands this
//! ?+ 3 matches         somewhere in the prompt stands this
//! ?- 3 matches         nowhere in the prompt stands this
//! ?^ Copilot           the system prompt holds this
//! ! allow              the person answers what is asked
//! ! wait use b         and says something with it
//! !# a.txt:1 b.txt     the person allows these parts of a proposed change: hunks, or whole files
//! ^C                   the person cancels what runs
//! ^K                   the program is killed and started again
//! ^P ^R ^X             pause, resume, skip
//! ^S only tests        steer
//! ^T c1t1              stop one tool
//! ^G                   let the running command continue in the background
//! ^Q b1                stop a background command
//! ^L careful           choose a level of autonomy
//! ^U                   undo the last summary
//! ^H ^E                hand off, extend; after a handoff the person goes on in the new session
//! ^F answer            fork at the last fact of this kind, or at the last fact there is; the person goes on in the fork
//! ^N Trim tabs         the person gives the session this name
//! ^B 2                 rewind so many change sets
//! @ command.started    wait for such a fact
//! % attended=false     settings of what is said from here on
//! % while_running=steer   and what it does to a request that runs
//! % ask={}              what is said from here on is asked about the person's tasks, in this way
//! % image=m/p           pictures are made by this model; what their prompts say decides how that goes
//! % picture={"wish":"save","images":["$1"],"folder":"a"}   what is said next wants this of the gallery
//! ^A                   the person applies all operations that were proposed last and may be
//! = echo > a.txt       the person does this in the folder
//! ```
//!
//! Calls that sum up the conversation are not in the script: they are answered with a poor summary.
//! Lines that answer the model stand after the words that cause the call. [`play`] runs it with the
//! real engine, host and database, and gives back the facts and the files as text, for an inline
//! snapshot. That replaying the log gives the live state is checked by the host itself in every
//! build that is tested.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use tokio::sync::Notify;
use trimtab_host::{
    Answered, Client, Manner, Pills, RequestDraft, SendTo, Sent, WhenBusy, World, config, shared_workspace,
};
use trimtab_vocab::event::{CheckpointFact, RequestFact, SessionFact};
use trimtab_vocab::{
    AssistantRequest, AutoMode, Autonomy, AutonomyChoice, ChangePart, Control, Event, Fact, Fault, FolderTrust,
    Message, Mode, ModelFacts, ModelSettings, OnConflict, Part, Problem, ProblemKind, Prompt, RequestId, Retry,
    RunSettings, SessionId, StopReason, StoppedBy, Time, Usage, WhileRunning,
};
use trimtab_world::clock::{Clock, SystemClock};
use trimtab_world::models::{DrawOrder, DrawnImage, Model, ModelRegistry, PieceStream, ReplyPiece};
use trimtab_world::store::SqliteStore;

mod pictures;
mod tasks;

use crate::plain_workspace::PlainWorkspace;
use crate::validity::invalid;

/// What the scripted model does at its next call.
#[derive(Debug, Clone, Default)]
struct Turn {
    expects: Vec<Expectation>,
    says: Vec<String>,
    tools: Vec<(String, String)>,
    end: Ending,
}

/// What must be true of the prompt.
#[derive(Debug, Clone)]
enum Expectation {
    EndsWith(String),
    LastHolds(String),
    Holds(String),
    Lacks(String),
    SystemHolds(String),
}

impl Expectation {
    /// What is wrong with the prompt, if something is.
    fn complaint(&self, prompt: &Prompt) -> Option<String> {
        let last = prompt.messages.last();
        let whole = |message: &Message| {
            let part = |part: &Part| match part {
                Part::Text { text } => text.clone(),
                Part::ToolResult(result) => result.content.clone(),
                Part::ToolUse(call) => call.input.to_string(),
                Part::Image { image, .. } => format!("[picture {image}]"),
                _ => String::new(),
            };
            message.parts.iter().map(part).collect::<Vec<_>>().join("\n")
        };
        let last_words = last.map(|message| message.text()).unwrap_or_default();
        let last_whole = last.map(|message| whole(message)).unwrap_or_default();
        match self {
            Self::EndsWith(words) if !last_words.ends_with(words) => {
                Some(format!("the prompt ends with {last_words:?}, not with {words:?}"))
            }
            Self::LastHolds(words) if !last_whole.contains(words) => {
                Some(format!("the last message is {last_whole:?}, without {words:?}"))
            }
            Self::Holds(words) | Self::Lacks(words) => {
                let all: Vec<String> = prompt.messages.iter().map(|message| whole(message)).collect();
                let all = format!("{}\n{}", prompt.system, all.join("\n"));
                let wanted = matches!(self, Self::Holds(_));
                (all.contains(words) != wanted).then(|| format!("{words:?} in the prompt is {}: {all}", !wanted))
            }
            Self::SystemHolds(words) if !prompt.system.contains(words) => {
                Some(format!("the system prompt is {:?}, without {words:?}", prompt.system))
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Default)]
enum Ending {
    #[default]
    Cut,
    Stop(StopReason),
    Fault(Fault),
    Silence,
    Panic,
}

enum Move {
    ComposedRequest(String),
    Answer(String, Option<String>),
    Control(Control),
    Kill,
    Await(String),
    Set(String, String),
    Do(String),
    Fork(Option<String>),
    Choose(Vec<ChangePart>),
    Rename(String),
    Apply,
}

struct Script {
    files: Vec<(String, String)>,
    tasks: Vec<Value>,
    moves: Vec<Move>,
    turns: VecDeque<Turn>,
}

/// Plays a scenario; the facts and the files, as text. Panics where the script is broken or the
/// program does not do what the script says.
pub fn play(scenario: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(Stage::build(parse(scenario)).perform())
}

/// The same, without the size of the conversation: the folder's name is part of it, which differs from run to run.
pub fn play_unmeasured(scenario: &str) -> String {
    let line = |line: &str| match line.split_once(",\"contextTokens\":") {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => line.to_owned(),
    };
    play(scenario).split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn parse(scenario: &str) -> Script {
    let mut script = Script { files: Vec::new(), tasks: Vec::new(), moves: Vec::new(), turns: VecDeque::new() };
    let mut section: Option<String> = None;
    let mut pending = Turn::default();
    for line in scenario.lines().map(|line| line.strip_prefix("        ").unwrap_or(line)) {
        if let Some(name) = line.trim().strip_prefix("--- ") {
            section = Some(name.to_owned());
            if name != "dialogue" && name != "tasks" {
                script.files.push((name.to_owned(), String::new()));
            }
            continue;
        }
        match section.as_deref() {
            Some("dialogue") | None => parse_line(line.trim(), &mut script, &mut pending),
            Some("tasks") if line.trim().is_empty() => {}
            Some("tasks") => script.tasks.push(serde_json::from_str(line).expect("an operation")),
            Some(_) => {
                if let Some((_, text)) = script.files.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    end_tools(&mut script, &mut pending);
    script
}

/// A reply with tools is over when something else follows.
fn end_tools(script: &mut Script, pending: &mut Turn) {
    if !pending.tools.is_empty() {
        let turn = Turn { end: Ending::Stop(StopReason::ToolUse), ..std::mem::take(pending) };
        script.turns.push_back(turn);
    }
}

fn parse_line(line: &str, script: &mut Script, pending: &mut Turn) {
    // `\n` is the end of a line, and `\\n` is how JSON writes one.
    let unescaped = |piece: &str| piece.replace("\\\\n", "\0").replace("\\n", "\n").replace('\0', "\\n");
    let pieces = |words: &str| words.split('|').map(unescaped).collect::<Vec<_>>();
    let (sign, rest) = line.split_once(' ').unwrap_or((line, ""));
    if sign == "<@" {
        let (name, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
        pending.tools.push((name.to_owned(), input.to_owned()));
        return;
    }
    end_tools(script, pending);
    let expects = std::mem::take(&mut pending.expects);
    let said_before = std::mem::take(&mut pending.says);
    let mut turn = |says: Vec<String>, end: Ending| {
        script.turns.push_back(Turn { expects: expects.clone(), says, tools: Vec::new(), end });
    };
    let mut expect = |expectation| {
        pending.expects = expects.clone();
        pending.expects.push(expectation);
    };
    match (sign, rest) {
        ("", _) | ("#", _) => {
            pending.expects = expects;
            pending.says = said_before;
        }
        (">", words) => script.moves.push(Move::ComposedRequest(words.to_owned())),
        ("?", words) => expect(Expectation::EndsWith(words.to_owned())),
        ("?~", words) => expect(Expectation::LastHolds(words.replace("\\n", "\n").replace("\\t", "\t"))),
        ("?+", words) => expect(Expectation::Holds(words.to_owned())),
        ("?-", words) => expect(Expectation::Lacks(words.to_owned())),
        ("?^", words) => expect(Expectation::SystemHolds(words.to_owned())),
        ("<+", words) => {
            pending.expects = expects;
            pending.says = vec![words.to_owned()];
        }
        ("!", words) => {
            let (choice, text) = words.split_once(' ').map_or((words, None), |(choice, text)| (choice, Some(text)));
            script.moves.push(Move::Answer(choice.to_owned(), text.map(str::to_owned)));
        }
        ("!#", words) => {
            let part = |word: &str| match word.rsplit_once(':') {
                Some((path, hunk)) => {
                    ChangePart { path: path.to_owned(), hunks: vec![hunk.parse().expect("a hunk's number")] }
                }
                None => ChangePart { path: word.to_owned(), hunks: Vec::new() },
            };
            script.moves.push(Move::Choose(words.split_whitespace().map(part).collect()));
        }
        ("^C", _) => script.moves.push(Move::Control(Control::Cancel)),
        ("^P", _) => script.moves.push(Move::Control(Control::Pause)),
        ("^R", _) => script.moves.push(Move::Control(Control::Resume)),
        ("^X", _) => script.moves.push(Move::Control(Control::Skip)),
        ("^L", level) => {
            let level = Autonomy::named(level).expect("a level");
            script.moves.push(Move::Control(Control::Autonomy(AutonomyChoice { level, surface: None })));
        }
        ("^U", _) => script.moves.push(Move::Control(Control::UndoSummary)),
        ("^H", _) => script.moves.push(Move::Control(Control::Handoff)),
        ("^E", _) => script.moves.push(Move::Control(Control::Extend)),
        ("^B", steps) => {
            let steps = steps.parse().expect("a number");
            script.moves.push(Move::Control(Control::Rewind { steps, on_conflict: OnConflict::Refuse }));
        }
        ("^S", words) => script.moves.push(Move::Control(Control::Steer { text: words.to_owned() })),
        ("^T", call) => script.moves.push(Move::Control(Control::StopTool { call: call.parse().expect("a call") })),
        ("^G", _) => script.moves.push(Move::Control(Control::Background { call: None })),
        ("^Q", id) => {
            let (id, by) = (Some(id.parse().expect("a background command")), StoppedBy::User);
            script.moves.push(Move::Control(Control::StopCommand { id, by }));
        }
        ("^F", kind) => script.moves.push(Move::Fork(Some(kind.to_owned()).filter(|kind| !kind.is_empty()))),
        ("^N", title) => script.moves.push(Move::Rename(title.to_owned())),
        ("^K", _) => script.moves.push(Move::Kill),
        ("^A", _) => script.moves.push(Move::Apply),
        ("@", kind) => script.moves.push(Move::Await(kind.to_owned())),
        ("%", setting) => {
            let (name, value) = setting.split_once('=').expect("NAME=VALUE");
            script.moves.push(Move::Set(name.to_owned(), value.to_owned()));
        }
        ("=", command) => script.moves.push(Move::Do(command.to_owned())),
        ("<", words) => {
            let (words, reason) = match words.strip_suffix(']').and_then(|words| words.rsplit_once(" [")) {
                Some((words, reason)) => (words, StopReason::from(reason.to_owned())),
                None => (words, StopReason::EndTurn),
            };
            turn(pieces(words), Ending::Stop(reason));
        }
        ("<~", words) => turn(pieces(words), Ending::Cut),
        ("<%", _) => turn(Vec::new(), Ending::Panic),
        ("<…", words) => turn(pieces(words), Ending::Silence),
        ("<!", words) => turn(Vec::new(), Ending::Fault(fault(words, Retry::Later { after_ms: Some(1) }))),
        ("<!!", words) => turn(Vec::new(), Ending::Fault(fault(words, Retry::Never))),
        _ => panic!("this line means nothing: {line}"),
    }
}

fn fault(words: &str, retry: Retry) -> Fault {
    let (kind, message) = words.split_once(": ").expect("KIND: MESSAGE");
    let kind: ProblemKind = serde_json::from_value(kind.into()).expect("a kind of problem");
    Fault { problem: Problem::new(kind, message), retry }
}

#[derive(Clone, Default)]
struct ScriptedModels {
    turns: Arc<Mutex<VecDeque<Turn>>>,
    /// The model was called although the script had no more for it.
    overrun: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    /// What was to be summed up.
    summed_up: Arc<Mutex<Vec<String>>>,
    complaints: Arc<Mutex<Vec<String>>>,
    /// Rings when the model has said what it had to say and fallen silent.
    silent: Arc<Notify>,
    easel: pictures::Easel,
}

impl ModelRegistry for ScriptedModels {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Model for ScriptedModels {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    async fn draw(&self, order: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        self.easel.draw(order, &self.silent).await
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        if prompt.system.starts_with("You summarize a part") || prompt.system.starts_with("You get summaries") {
            let inputs = prompt.messages.iter().map(|message| message.text());
            self.summed_up.lock().unwrap_or_else(PoisonError::into_inner).extend(inputs);
            let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
            let text = "They talked about things.".to_owned();
            let pieces = [
                ReplyPiece::Text { block: 0, text },
                ReplyPiece::Usage(usage),
                ReplyPiece::Stop(StopReason::EndTurn),
                ReplyPiece::End,
            ];
            return stream::iter(pieces.map(Ok)).boxed();
        }
        let turn = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(Turn { expects, says, tools, end }) = turn else {
            self.overrun.store(true, Ordering::Relaxed);
            panic!("the model was called once more than the script says");
        };
        let complaints = expects.iter().filter_map(|expectation| expectation.complaint(prompt));
        let complaints: Vec<String> = complaints.chain(invalid(prompt)).collect();
        if !complaints.is_empty() {
            self.complaints.lock().unwrap_or_else(PoisonError::into_inner).extend(complaints.clone());
            self.overrun.store(true, Ordering::Relaxed);
            panic!("{}", complaints.join("; "));
        }
        if let Ending::Panic = end {
            panic!("as the script says");
        }
        let mut pieces: Vec<Result<ReplyPiece, Fault>> =
            says.into_iter().map(|text| Ok(ReplyPiece::Text { block: 0, text })).collect();
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        for (at, (name, input)) in tools.into_iter().enumerate() {
            let block = u32::try_from(at + 1).expect("few");
            let id = format!("toolu_{number}_{}", at + 1);
            pieces.push(Ok(ReplyPiece::Tool { block, id: Some(id), name: Some(name), arguments: input }));
        }
        let mut falls_silent = false;
        match end {
            Ending::Cut | Ending::Panic => {}
            Ending::Silence => falls_silent = true,
            Ending::Fault(fault) => pieces.push(Err(fault)),
            Ending::Stop(reason) => {
                let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
                pieces.extend([Ok(ReplyPiece::Usage(usage)), Ok(ReplyPiece::Stop(reason)), Ok(ReplyPiece::End)]);
            }
        }
        let silent = Arc::clone(&self.silent);
        let rest = stream::once(async move {
            if falls_silent {
                silent.notify_one();
                std::future::pending::<()>().await;
            }
        })
        .filter_map(|()| std::future::ready(None));
        stream::iter(pieces).chain(rest).boxed()
    }
}

/// A clock that stands still: times in a snapshot would differ from run to run.
struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Time {
        Time::from_millis(1_800_000_000_000)
    }

    fn chance(&self) -> u64 {
        SystemClock.chance()
    }
}

struct Stage {
    home: tempfile::TempDir,
    models: ScriptedModels,
    moves: Vec<Move>,
    client: Client,
    world: World,
    sent: Vec<Sent>,
    settings: RunSettings,
    mode: Mode,
    while_running: Option<WhileRunning>,
    /// How the tasks are asked about, if they are.
    ask: Option<AssistantRequest>,
    /// What the next words want of the gallery, `$1` being its first picture.
    picture: Option<String>,
    tasks: Vec<Value>,
    /// The sessions, each handed off to the next; the last is where the person is.
    sessions: Vec<SessionId>,
    /// The session that the next move is made in, if it is another one.
    child: Option<SessionId>,
    /// What has been seen of the log.
    seen: u64,
    /// The request whose end is waited for.
    awaited: Option<RequestId>,
}

const PATIENCE: Duration = Duration::from_secs(60);

impl Stage {
    fn build(script: Script) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        for (name, text) in &script.files {
            let path = home.path().join("project").join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let models = ScriptedModels { turns: Arc::new(Mutex::new(script.turns)), ..ScriptedModels::default() };
        let (client, world) = start(home.path(), &models);
        let facts = ModelFacts { window: 200_000, max_output: 8_192, images: true, ..ModelFacts::default() };
        let auto_mode = AutoMode { timezone: "UTC".into(), ..AutoMode::default() };
        let called = ModelSettings { model: "scripted/model".into(), facts, ..ModelSettings::default() };
        let settings = RunSettings { models: called, trust: FolderTrust::WHOLE, auto_mode, ..RunSettings::default() };
        std::fs::create_dir_all(home.path().join("project")).expect("a folder");
        let (moves, sent) = (script.moves, Vec::new());
        Self {
            home,
            models,
            moves,
            client,
            world,
            sent,
            settings,
            mode: Mode::Auto,
            while_running: None,
            ask: None,
            picture: None,
            tasks: script.tasks,
            sessions: Vec::new(),
            child: None,
            seen: 0,
            awaited: None,
        }
    }

    async fn perform(mut self) -> String {
        self.fill().await;
        let moves = std::mem::take(&mut self.moves);
        let mut moves = moves.into_iter().peekable();
        while let Some(next) = moves.next() {
            if let Some(child) = self.child.take() {
                (self.seen, self.awaited) = (0, None);
                self.sessions.push(child);
            }
            let killed = matches!(next, Move::Kill);
            match next {
                Move::ComposedRequest(words) => self.say(words).await,
                Move::Control(action) => {
                    let session = self.session();
                    self.client.requests().control(&session, None, action.clone()).await.expect("is passed on");
                    if matches!(
                        action,
                        Control::Pause | Control::Steer { .. } | Control::UndoSummary | Control::Autonomy(_)
                    ) {
                        self.settle().await;
                        continue;
                    }
                }
                Move::Answer(choice, text) => {
                    if !self.answer(choice, text).await {
                        continue;
                    }
                }
                Move::Choose(parts) => self.choose(parts).await,
                Move::Await(kind) => {
                    self.wait_for(&kind).await;
                    continue;
                }
                Move::Set(name, value) => {
                    self.set(&name, &value);
                    continue;
                }
                Move::Apply => {
                    self.apply().await;
                    continue;
                }
                Move::Fork(kind) => {
                    self.fork(kind).await;
                    continue;
                }
                Move::Rename(title) => {
                    let session = self.session();
                    self.client.sessions().rename(&session, &title).await.expect("a name");
                    continue;
                }
                Move::Do(command) => {
                    let folder = self.home.path().join("project");
                    // The program goes on meanwhile: what the person does may be to wait for something.
                    let done = tokio::process::Command::new("sh").args(["-c", &command]).current_dir(folder).status();
                    assert!(done.await.expect("a shell").success(), "{command}");
                    continue;
                }
                Move::Kill => {
                    // Nothing is said, nothing is saved: whatever ran is gone.
                    let session = self.session();
                    (self.client, self.world) = start(self.home.path(), &self.models);
                    self.client.resume(&session);
                }
            }
            match moves.peek() {
                Some(Move::Await(_)) => {}
                // What waited for an answer before the kill still does.
                Some(Move::Answer(..) | Move::Choose(_))
                    if killed && !self.client.requests().checkpoints().await.expect("the list").is_empty() => {}
                Some(Move::Control(
                    Control::UndoSummary | Control::Handoff | Control::Extend | Control::Rewind { .. },
                )) => self.wait_for_end().await,
                // A level can be chosen at any time: while a model is silent, or when a request has ended or asks.
                Some(Move::Control(Control::Autonomy(_))) => {
                    let models = self.models.clone();
                    tokio::select! {
                        () = models.silent.notified() => tokio::time::sleep(Duration::from_millis(400)).await,
                        () = self.wait_for_end() => {}
                    }
                }
                Some(Move::Control(_) | Move::Kill) => self.wait_for_silence().await,
                _ => self.wait_for_end().await,
            }
        }
        let complaints = self.models.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        let summed_up = self.models.summed_up.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(!summed_up.iter().any(|text| text.contains("[CONVERSATION SUMMARY]")), "a summary was summed up again");
        let left = self.models.turns.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert_eq!(left, 0, "the model was called less often than the script says");
        assert!(!self.models.overrun.load(Ordering::Relaxed), "the model was not called as the script says");
        self.report().await
    }

    /// Where the person is.
    fn session(&self) -> SessionId {
        self.sessions.last().cloned().expect("something was said")
    }

    /// A fact was seen; the person follows where it leads.
    fn note(&mut self, event: &Event) {
        self.seen = event.seq.unwrap_or(self.seen);
        if let Fact::Session(SessionFact::Handoff { child, .. }) = &event.fact {
            self.child = Some(child.clone());
        }
    }

    /// Allows parts of what the newest open question is about.
    async fn choose(&mut self, parts: Vec<ChangePart>) {
        let open = self.client.requests().checkpoints().await.expect("the list");
        let event = open.last().expect("something is asked");
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) = &event.fact else { return };
        let so_far = self.client.sessions().events(&event.session, self.seen).await.expect("the log");
        self.seen = so_far.last().and_then(|event| event.seq).unwrap_or(self.seen);
        self.awaited.clone_from(&event.request);
        self.client.requests().apply_parts(&event.session, checkpoint, parts, "user").await.expect("is a part");
    }

    async fn fork(&mut self, kind: Option<String>) {
        let session = self.session();
        let log = self.client.sessions().events(&session, 0).await.expect("the log");
        let at = kind.map(|kind| log.iter().rfind(|event| event.fact.kind() == kind).expect("such a fact").seq);
        let fork = self.client.sessions().fork(&session, at.flatten()).await.expect("a fork");
        let facts = self.client.sessions().events(&fork, 0).await.expect("the log");
        (self.seen, self.awaited) = (facts.len() as u64, None);
        self.sessions.push(fork);
        let after = self.client.sessions().events(&session, 0).await.expect("the log");
        assert_eq!(after[..log.len()], log, "the parent is left as it was");
    }

    async fn say(&mut self, text: String) {
        let settings = self.settings.clone();
        if let Some(ask) = self.ask.clone() {
            let draft = RequestDraft { mode: self.mode, ..RequestDraft::new(text, Manner::default()) };
            let say = self.world.say(draft, None, settings);
            let sent = self.client.send(SendTo::Assistant(Box::new(ask)), say).await.expect("is taken in");
            self.awaited = Some(sent.request.clone());
            if self.sessions.last() != Some(&sent.session) {
                self.sessions.push(sent.session.clone());
            }
            self.sent.push(sent);
            return;
        }
        let target = match self.sessions.last() {
            Some(session) => SendTo::Session(session.clone()),
            None => SendTo::New { folder: self.home.path().join("project").display().to_string() },
        };
        let project = self.home.path().join("project").display().to_string();
        let home = BTreeMap::from([("TRIMTAB_HOME".to_owned(), self.home.path().join("user").display().to_string())]);
        let profile = config::load_from(&home, &[]).expect("settings");
        let pills = Pills::load(&profile, self.settings.trust.trusted.then_some(project.as_str()));
        let pill = pills.called(&text).expect("a pill that can be run");
        let when_busy = WhenBusy::Exactly(self.while_running);
        let mut draft = RequestDraft { mode: self.mode, when_busy, ..RequestDraft::new(text, Manner::default()) };
        if let Some(mut wish) = self.picture.take() {
            let gallery = match self.sessions.last() {
                Some(session) => self.client.gallery().list(session).await.expect("a gallery"),
                None => Vec::new(),
            };
            for (number, picture) in (1..).zip(&gallery) {
                wish = wish.replace(&format!("\"${number}\""), &format!("\"{}\"", picture.id));
            }
            draft.picture = Some(serde_json::from_str(&wish).expect("a wish"));
        }
        let say = self.world.say(draft, pill, settings);
        let sent = self.client.send(target, say).await.expect("is taken in");
        self.awaited = Some(sent.request.clone());
        if self.sessions.is_empty() {
            self.sessions.push(sent.session.clone());
        }
        self.sent.push(sent);
    }

    /// Answers the newest open question; whether it is a request of this session that goes on.
    async fn answer(&mut self, choice: String, text: Option<String>) -> bool {
        let open = self.client.requests().checkpoints().await.expect("the list");
        let Some(event) = open.last() else { panic!("nothing is asked that could be answered with {choice}") };
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, .. }) = &event.fact else { return false };
        assert!(choices.iter().any(|known| known.id == choice), "{choice} is not one of {choices:?}");
        let answer = Answered { checkpoint: checkpoint.clone(), choice, text, by: "user".into() };
        // What was asked before is not waited for again.
        let so_far = self.client.sessions().events(&event.session, self.seen).await.expect("the log");
        self.seen = so_far.last().and_then(|event| event.seq).unwrap_or(self.seen);
        self.awaited.clone_from(&event.request);
        self.client.requests().answer(&event.session, answer).await.expect("is passed on");
        true
    }

    fn set(&mut self, name: &str, value: &str) {
        let settings = &mut self.settings;
        match name {
            "attended" => settings.attended = value == "true",
            "trusted" => settings.trust.trusted = value == "true",
            "timeout" => settings.commands.timeout_s = value.parse().expect("seconds"),
            "archive" => settings.commands.archive_output = value == "true",
            "autonomy" => settings.autonomy.level = Autonomy::named(value),
            "autonomy_limit" => settings.autonomy.limit = Autonomy::named(value),
            "commands_chosen" => settings.commands.apply_chosen = value == "true",
            "steps" => settings.models.max_steps = value.parse().expect("a number"),
            "window" => settings.models.facts.window = value.parse().expect("a number"),
            "tools" => settings.models.facts.tools = value == "true",
            "known" => settings.models.facts.known = value == "true",
            "files_chosen" => settings.files.apply_chosen = value == "true",
            "files" => settings.files.apply = serde_json::from_value(value.into()).expect("auto or ask"),
            "commands" => settings.commands.apply = serde_json::from_value(value.into()).expect("auto or ask"),
            "approve" => settings.approve = serde_json::from_value(value.into()).expect("ask, auto or deny"),
            "watch" => (settings.snapshot.files, settings.snapshot.mb) = (value.parse().expect("a number"), 16),
            "dialog" => settings.commands.dialog = serde_json::from_value(value.into()).expect("auto, full or compact"),
            "confirm_deletes" => settings.files.confirm_deletes = value == "true",
            "synthesis" => settings.style.synthesis_list = value == "list",
            "repairs" => settings.style.recovery.repairs = value.parse().expect("a number"),
            "on_max_tokens" => {
                settings.style.recovery.on_max_tokens =
                    serde_json::from_value(value.into()).expect("stop, ask or auto_continue")
            }
            "allow_recovered_changes" => settings.style.recovery.allow_recovered_changes = value == "true",
            "heuristics" => settings.style.recovery.strict_heuristics = value == "strict",
            "noop" => {
                settings.style.recovery.noop = serde_json::from_value(value.into()).expect("classify, block or skip")
            }
            "ask" => self.ask = Some(serde_json::from_str(value).expect("how it is asked")),
            "image" => settings.image.model = value.into(),
            "image_batch" => settings.image.batch = serde_json::from_value(value.into()).expect("a way"),
            "picture" => self.picture = Some(value.to_owned()),
            "budget" => settings.models.budget_usd = Some(value.parse().expect("dollars")),
            "prices" => settings.models.facts.prices = Some(serde_json::from_str(value).expect("prices")),
            "mode" => self.mode = serde_json::from_value(value.into()).expect("a mode"),
            "while_running" => {
                self.while_running = Some(serde_json::from_value(value.into()).expect("what a new message does"));
            }
            "handoff_at" => settings.context.handoff_at = value.parse().expect("a number"),
            "strategy" => settings.context.strategy = serde_json::from_value(value.into()).expect("a strategy"),
            "input_tokens" => settings.context.input_tokens = value.parse().expect("a number"),
            "session_mb" => settings.context.session_mb = value.parse().expect("a number"),
            name if name.starts_with("assistant.") => {
                let mut changed = serde_json::to_value(&settings.auto_mode).expect("settings are JSON");
                let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
                changed[&name["assistant.".len()..]] = value;
                settings.auto_mode = serde_json::from_value(changed).expect("a setting of the assistant");
            }
            name if name.starts_with("copilot.") => {
                let mut copilot = serde_json::to_value(&settings.copilot).expect("settings are JSON");
                let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
                copilot[&name["copilot.".len()..]] = value;
                settings.copilot = serde_json::from_value(copilot).expect("a setting of the copilot");
            }
            _ => panic!("there is no setting {name}"),
        }
    }

    /// Waits for the end of the last request, or until it asks something.
    async fn wait_for_end(&mut self) {
        let session = self.session();
        let mut watch = self.client.watch(&session, self.seen);
        let end = async {
            loop {
                let event = watch.next().await.expect("a fact");
                self.note(&event);
                let is_end = match &event.fact {
                    Fact::Request(RequestFact::Joined { into, .. }) if event.request == self.awaited => {
                        self.awaited = Some(into.clone());
                        false
                    }
                    Fact::Request(RequestFact::Finished { .. }) => event.request == self.awaited,
                    Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) => {
                        let open = self.client.requests().checkpoints().await.expect("the list");
                        self.settings.attended
                            && open.iter().any(|open| matches!(&open.fact, Fact::Checkpoint(CheckpointFact::Opened { checkpoint: id, .. }) if id == checkpoint))
                    }
                    _ => false,
                };
                if is_end {
                    return;
                }
            }
        };
        let ended = tokio::time::timeout(PATIENCE, end).await;
        let complaints = self.models.complaints.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        assert!(ended.is_ok(), "the request does not come to an end\n{complaints}\n{}", self.report().await);
    }

    /// Waits for a fact of a kind that was not seen yet.
    async fn wait_for(&mut self, kind: &str) {
        let session = self.session();
        let mut watch = self.client.watch(&session, self.seen);
        let seen = async {
            loop {
                let event = watch.next().await.expect("a fact");
                self.note(&event);
                if let Fact::Request(RequestFact::Joined { into, .. }) = &event.fact
                    && event.request == self.awaited
                {
                    self.awaited = Some(into.clone());
                }
                let value = serde_json::to_value(&event.fact).expect("a fact is JSON");
                if value["type"] == kind {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("there is no {kind}"));
    }

    /// Lets what was said reach the session.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(60)).await;
    }

    /// Waits until the model has fallen silent and what it said is saved.
    async fn wait_for_silence(&self) {
        tokio::time::timeout(PATIENCE, self.models.silent.notified()).await.expect("the model falls silent");
        tokio::time::sleep(Duration::from_millis(400)).await;
    }

    async fn report(&self) -> String {
        let mut text = String::new();
        for (number, session) in self.sessions.iter().chain(&self.child).enumerate() {
            if number > 0 {
                let _ = writeln!(text, "=== session s{}", number + 1);
            }
            for event in self.client.sessions().events(session, 0).await.expect("the log") {
                if let Fact::Checkpoint(fact) = &event.fact {
                    crate::questions::check(fact).unwrap_or_else(|wrong| panic!("{wrong}"));
                }
                let _ = writeln!(text, "{}", self.line(&event));
            }
        }
        text.push_str(&files(&self.home.path().join("project")));
        text.push_str(&self.models.easel.report());
        text = pictures::numbered(text);
        if self.ask.is_some() {
            text.push_str(&self.tasks_and_trail().await);
        }
        text
    }

    /// A fact without what differs from run to run, and without what says nothing.
    fn line(&self, event: &Event) -> String {
        let mut value = serde_json::to_value(&event.fact).expect("a fact is JSON");
        let fields = value.as_object_mut().expect("a fact is an object");
        let kind = fields.shift_remove("type").and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
        fields.shift_remove("settings");
        // What a model is told is asserted on the prompt itself.
        fields.shift_remove("notes");
        fields.shift_remove("folder");
        // What a model is told of its tools is nothing that a scenario is about.
        if kind == "model.called" {
            fields.shift_remove("tools");
        }
        // It counts the facts before it.
        if kind == "request.finished" {
            fields.shift_remove("done");
        }
        // An estimate counts the folder's name, which differs from run to run.
        let is_estimated = |usage: &serde_json::Map<String, Value>| usage.get("estimated") == Some(&Value::Bool(true));
        if is_estimated(fields) {
            fields.shift_remove("inputTokens");
        }
        if let Some(usage) = fields.get_mut("usage").and_then(Value::as_object_mut).filter(|usage| is_estimated(usage))
        {
            usage.shift_remove("inputTokens");
        }
        // It holds the folder's name, which differs from run to run.
        fields.shift_remove("fingerprint");
        if let Some(rule) = fields.get_mut("rule").and_then(|rule| rule.as_object_mut()) {
            rule.shift_remove("folder");
        }
        for operation in fields.get_mut("operations").and_then(|list| list.as_array_mut()).into_iter().flatten() {
            // Of a task, all its fields before and after: what an operation does is another test's matter.
            operation.as_object_mut().and_then(|operation| operation.shift_remove("preview"));
            for state in ["before", "after"] {
                if let Some(state) = operation.get_mut(state).and_then(|state| state.as_object_mut()) {
                    state.shift_remove("hash");
                }
            }
        }
        for write in fields.get_mut("writes").and_then(|list| list.as_array_mut()).into_iter().flatten() {
            for state in ["before", "after"] {
                if let Some(state) = write.get_mut(state).and_then(|state| state.as_object_mut()) {
                    state.shift_remove("hash");
                }
            }
        }
        // What the model is sent because of it is another test's matter.
        fields.shift_remove("headings");
        if kind != "bug" && kind != "reply.saved" {
            fields.shift_remove("message");
        }
        fields.shift_remove("files");
        if kind == "change.applied" {
            let change = serde_json::to_value(&event.fact).expect("a fact is JSON");
            fields.insert("files".into(), change["files"].clone());
        }
        fields.retain(|_, field| !(field.is_null() || field.as_array().is_some_and(Vec::is_empty)));
        let project = self.home.path().join("project").display().to_string();
        let mut line = format!("{kind} {value}").replace(&project, "PROJECT");
        for (number, sent) in self.sent.iter().enumerate() {
            line = line.replace(sent.request.as_str(), &format!("r{}", number + 1));
        }
        for (number, session) in self.sessions.iter().chain(&self.child).enumerate() {
            let name = if number == 0 { "s".to_owned() } else { format!("s{}", number + 1) };
            line = line.replace(session.as_str(), &name);
        }
        let who = event.request.as_ref().and_then(|id| self.sent.iter().position(|sent| sent.request == *id));
        format!("{} {line}", who.map_or("-".to_owned(), |number| format!("r{}", number + 1)))
    }
}

/// Of a log only the facts of these kinds, and the files: for scenarios whose whole log would hide the point.
pub fn only(log: &str, kinds: &[&str]) -> String {
    let wanted = |line: &&str| {
        let kind = line.split(' ').nth(1).unwrap_or_default();
        line.starts_with("---") || !line.starts_with(['r', '-']) || kinds.contains(&kind)
    };
    log.lines().filter(wanted).collect::<Vec<_>>().join("\n")
}

fn start(home: &Path, models: &ScriptedModels) -> (Client, World) {
    let clock: Arc<dyn Clock> = Arc::new(Frozen);
    let store = SqliteStore::open(&home.join("data"), Arc::clone(&clock)).expect("a store");
    let workspaces = shared_workspace(PlainWorkspace::default());
    let world = World { store: Arc::new(store), models: Arc::new(models.clone()), clock, workspaces };
    (Client::with(world.clone(), 10), world)
}

fn files(folder: &Path) -> String {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("inside").display().to_string();
                found.push(format!("--- {name}\n{}", std::fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
    found.sort();
    found.concat()
}
