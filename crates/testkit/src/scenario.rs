//! A whole test in one string: files, then a dialogue between a person and a scripted model.
//!
//! ```text
//! --- src/main.rs
//! fn main() {}
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
//! ^C                   the person cancels what runs
//! ^K                   the program is killed and started again
//! ```
//!
//! Lines that answer the model stand after the words that cause the call. [`play`] runs it with the
//! real engine, host and database, and gives back the facts and the files as text, for an inline
//! snapshot. That replaying the log gives the live state is checked by the host itself in every
//! build that is tested.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use tokio::sync::Notify;
use trimtab_host::{Client, Say, Sent, Target, World};
use trimtab_vocab::event::RequestFact;
use trimtab_vocab::{
    Control, Event, Fact, Fault, Mode, Problem, ProblemKind, Prompt, Retry, RunSettings, StopReason, Time, Usage,
};
use trimtab_world::clock::{Clock, SystemClock};
use trimtab_world::models::{Model, Models, Piece, PieceStream};
use trimtab_world::store::SqliteStore;

/// What the scripted model does at its next call.
#[derive(Debug, Clone, Default)]
struct Turn {
    expects: Option<String>,
    says: Vec<String>,
    end: Ending,
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
    Say(String),
    Cancel,
    Kill,
}

struct Script {
    files: Vec<(String, String)>,
    moves: Vec<Move>,
    turns: VecDeque<Turn>,
}

/// Plays a scenario; the facts and the files, as text. Panics where the script is broken or the
/// program does not do what the script says.
pub fn play(scenario: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(Stage::build(parse(scenario)).perform())
}

fn parse(scenario: &str) -> Script {
    let mut script = Script { files: Vec::new(), moves: Vec::new(), turns: VecDeque::new() };
    let mut section: Option<String> = None;
    let mut expects = None;
    for line in scenario.lines().map(|line| line.strip_prefix("        ").unwrap_or(line)) {
        if let Some(name) = line.trim().strip_prefix("--- ") {
            section = Some(name.to_owned());
            if name != "dialogue" {
                script.files.push((name.to_owned(), String::new()));
            }
            continue;
        }
        match section.as_deref() {
            Some("dialogue") | None => parse_line(line.trim(), &mut script, &mut expects),
            Some(_) => {
                if let Some((_, text)) = script.files.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    script
}

fn parse_line(line: &str, script: &mut Script, expects: &mut Option<String>) {
    let pieces = |words: &str| words.split('|').map(|piece| piece.replace("\\n", "\n")).collect::<Vec<_>>();
    let mut turn = |says: Vec<String>, end: Ending| {
        script.turns.push_back(Turn { expects: expects.take(), says, end });
    };
    match line.split_once(' ').unwrap_or((line, "")) {
        ("", _) | ("#", _) => {}
        (">", words) => script.moves.push(Move::Say(words.to_owned())),
        ("?", words) => *expects = Some(words.to_owned()),
        ("^C", _) => script.moves.push(Move::Cancel),
        ("^K", _) => script.moves.push(Move::Kill),
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
    /// Rings when the model has said what it had to say and fallen silent.
    silent: Arc<Notify>,
}

impl Models for ScriptedModels {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(self.clone()))
    }
}

impl Model for ScriptedModels {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let turn = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(Turn { expects, says, end }) = turn else {
            self.overrun.store(true, Ordering::Relaxed);
            panic!("the model was called once more than the script says");
        };
        let last = prompt.messages.last().map(|message| message.text()).unwrap_or_default();
        if let Some(words) = expects.filter(|words| !last.ends_with(words)) {
            self.overrun.store(true, Ordering::Relaxed);
            panic!("the prompt ends with {last:?}, not with {words:?}");
        }
        if let Ending::Panic = end {
            panic!("as the script says");
        }
        let mut pieces: Vec<Result<Piece, Fault>> =
            says.into_iter().map(|text| Ok(Piece::Text { block: 0, text })).collect();
        let mut falls_silent = false;
        match end {
            Ending::Cut | Ending::Panic => {}
            Ending::Silence => falls_silent = true,
            Ending::Fault(fault) => pieces.push(Err(fault)),
            Ending::Stop(reason) => {
                let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
                pieces.extend([Ok(Piece::Usage(usage)), Ok(Piece::Stop(reason)), Ok(Piece::End)]);
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
    sent: Vec<Sent>,
}

const PATIENCE: Duration = Duration::from_secs(20);

impl Stage {
    fn build(script: Script) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        for (name, text) in &script.files {
            let path = home.path().join("project").join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let models = ScriptedModels { turns: Arc::new(Mutex::new(script.turns)), ..ScriptedModels::default() };
        let client = start(home.path(), &models);
        Self { home, models, moves: script.moves, client, sent: Vec::new() }
    }

    async fn perform(mut self) -> String {
        let moves = std::mem::take(&mut self.moves);
        let mut moves = moves.into_iter().peekable();
        while let Some(next) = moves.next() {
            match next {
                Move::Say(words) => self.say(words).await,
                Move::Cancel => {
                    let Sent { session, .. } = self.last();
                    self.client.control(&session, None, Control::Cancel).await.expect("is passed on");
                }
                Move::Kill => {
                    // Nothing is said, nothing is saved: whatever ran is gone.
                    let Sent { session, .. } = self.last();
                    self.client = start(self.home.path(), &self.models);
                    self.client.resume(&session);
                }
            }
            match moves.peek() {
                Some(Move::Cancel | Move::Kill) => self.wait_for_silence().await,
                _ => self.wait_for_end().await,
            }
        }
        let left = self.models.turns.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert_eq!(left, 0, "the model was called less often than the script says");
        assert!(!self.models.overrun.load(Ordering::Relaxed), "the model was not called as the script says");
        self.report().await
    }

    fn last(&self) -> Sent {
        self.sent.last().cloned().expect("something was said")
    }

    async fn say(&mut self, text: String) {
        let settings = RunSettings { model: "scripted/model".into(), ..RunSettings::default() };
        let target = match self.sent.last() {
            Some(sent) => Target::Session(sent.session.clone()),
            None => Target::New { folder: self.home.path().join("project").display().to_string() },
        };
        let sent = self
            .client
            .send(target, Say { text, mode: Mode::Auto, settings, images: Vec::new() })
            .await
            .expect("is taken in");
        self.sent.push(sent);
    }

    async fn wait_for_end(&self) {
        let Sent { session, request } = self.last();
        let mut watch = self.client.watch(&session, 0);
        let end = async {
            loop {
                let event = watch.next().await.expect("a fact");
                let is_end = matches!(event.fact, Fact::Request(RequestFact::Finished { .. }));
                if is_end && event.request.as_ref() == Some(&request) {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, end).await.expect("the request comes to an end");
    }

    /// Waits until the model has fallen silent and what it said is saved.
    async fn wait_for_silence(&self) {
        tokio::time::timeout(PATIENCE, self.models.silent.notified()).await.expect("the model falls silent");
        tokio::time::sleep(Duration::from_millis(400)).await;
    }

    async fn report(&self) -> String {
        let session = self.last().session;
        let events = self.client.events(&session, 0).await.expect("the log");
        let mut text = String::new();
        for event in events {
            let _ = writeln!(text, "{}", self.line(&event));
        }
        text.push_str(&files(&self.home.path().join("project")));
        text
    }

    /// A fact without what differs from run to run, and without what says nothing.
    fn line(&self, event: &Event) -> String {
        let mut value = serde_json::to_value(&event.fact).expect("a fact is JSON");
        let fields = value.as_object_mut().expect("a fact is an object");
        let kind = fields.shift_remove("type").and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
        fields.shift_remove("settings");
        fields.shift_remove("folder");
        fields.retain(|_, field| !(field.is_null() || field.as_array().is_some_and(Vec::is_empty)));
        let mut line = format!("{kind} {value}");
        for (number, sent) in self.sent.iter().enumerate() {
            line = line.replace(sent.request.as_str(), &format!("r{}", number + 1)).replace(sent.session.as_str(), "s");
        }
        let who = event.request.as_ref().and_then(|id| self.sent.iter().position(|sent| sent.request == *id));
        format!("{} {line}", who.map_or("-".to_owned(), |number| format!("r{}", number + 1)))
    }
}

fn start(home: &Path, models: &ScriptedModels) -> Client {
    let clock: Arc<dyn Clock> = Arc::new(Frozen);
    let store = SqliteStore::open(&home.join("data"), Arc::clone(&clock)).expect("a store");
    Client::with(World { store: Arc::new(store), models: Arc::new(models.clone()), clock }, 10)
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
