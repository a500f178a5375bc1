//! A model that plays a recording, and a recorder for any other.
//!
//! A recording is a text file with one exchange per line:
//!
//! ```json
//! {"when":"hello","reply":[{"thinking":"…"},{"text":"Hi"},{"pauseMs":40},{"text":" there."},{"stop":"end_turn"}]}
//! ```
//!
//! The model keeps no place in the file, for a place would be lost with the process. The prompt
//! says how far the conversation is: after `n` replies comes line `n`, unless that line's `when`
//! is not in what was said since the last reply; then it is the first line whose `when` is. A line with a
//! `system` is for prompts whose system text, or a note in the conversation, has these words. A line with `first` is
//! taken before any other wherever both fit: the calls of workers come in no order. A recording may also fail: `{"fault":{…}}` ends the reply with that problem, `{"cut":true}` breaks it off.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;
use trimtab_vocab::event::PromptNote;
use trimtab_vocab::{Fault, Message, Part, Problem, ProblemKind, Prompt, Retry, Role, StopReason, ToolResult, Usage};

use super::{DrawOrder, DrawnImage, Listed, Model, PieceStream, ReplyPiece, ServerFacts};

/// What `trimtab demo` plays; known under the name `replay/demo`.
const DEMO: &str = include_str!("demo.jsonl");

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Exchange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    first: bool,
    reply: Vec<ReplayMoment>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ReplayMoment {
    Text(String),
    Thinking(String),
    Signature(String),
    Redacted(String),
    Tool {
        id: String,
        name: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
        /// The arguments unchanged, if they are not JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broken: Option<String>,
    },
    PauseMs(u64),
    Usage(Usage),
    Stop(StopReason),
    Fault(Fault),
    Cut(bool),
}

/// Plays a recording.
pub(super) struct Replay {
    exchanges: Vec<Exchange>,
}

impl Replay {
    pub(super) fn open(name: &str) -> Result<Self, Problem> {
        if name == "demo" {
            return Self::parse(DEMO, Path::new("the demo"));
        }
        let path = Path::new(name);
        let text = std::fs::read_to_string(path).map_err(|error| {
            Problem::new(ProblemKind::NotFound, format!("The recording {} cannot be read: {error}.", path.display()))
                .hint("Name a recording as replay/PATH, or use replay/demo.")
        })?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Problem> {
        let mut exchanges = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            exchanges.push(serde_json::from_str(line).map_err(|error| {
                Problem::new(
                    ProblemKind::Settings,
                    format!("Line {} of the recording {} cannot be read: {error}.", number + 1, path.display()),
                )
                .hint("Each line is one exchange: {\"reply\":[{\"text\":\"…\"},{\"stop\":\"end_turn\"}]}.")
            })?);
        }
        Ok(Self { exchanges })
    }

    fn choose(&self, prompt: &Prompt) -> Option<&Exchange> {
        let last = since_reply(prompt).iter().map(|message| all_words(message)).collect::<Vec<_>>().join("\n");
        let told = |words: &str| {
            prompt.system.contains(words) || prompt.messages.iter().any(|message| all_words(message).contains(words))
        };
        let fits = |exchange: &&Exchange| {
            exchange.when.as_ref().is_none_or(|when| last.contains(when.as_str()))
                && exchange.system.as_ref().is_none_or(|system| told(system))
        };
        if let Some(exchange) = self.exchanges.iter().filter(|exchange| exchange.first).find(fits) {
            return Some(exchange);
        }
        let is_conditional = |exchange: &&Exchange| exchange.when.is_some() || exchange.system.is_some();
        let replies = prompt.messages.iter().filter(|message| message.role == Role::Assistant).count();
        self.exchanges.get(replies).filter(fits).or_else(|| self.exchanges.iter().filter(is_conditional).find(fits))
    }
}

/// The messages since the last reply: the user's text or a tool's result, then notes.
fn since_reply(prompt: &Prompt) -> &[Arc<Message>] {
    let replied = prompt.messages.iter().rposition(|message| message.role == Role::Assistant);
    &prompt.messages[replied.map_or(0, |reply| reply + 1)..]
}

fn all_words(message: &Message) -> String {
    let words = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::ToolResult(ToolResult { content, .. }) => Some(content.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

impl Model for Replay {
    fn dialect(&self) -> &'static str {
        "replay"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let Some(exchange) = self.choose(prompt) else {
            let problem = Problem::new(ProblemKind::NotFound, "The recording has no reply for this.")
                .hint("Make a recording with the setting `record`, or ask what this one expects.");
            return stream::iter([Err(Fault { problem, retry: Retry::Never })]).boxed();
        };
        let moments = exchange.reply.clone();
        stream::unfold((moments.into_iter(), Player::default()), |(mut moments, mut player)| async move {
            loop {
                let piece = match moments.next() {
                    Some(ReplayMoment::PauseMs(millis)) => {
                        tokio::time::sleep(Duration::from_millis(millis)).await;
                        continue;
                    }
                    Some(moment) => player.play(moment)?,
                    None => player.end()?,
                };
                return Some((piece, (moments, player)));
            }
        })
        .boxed()
    }
}

/// Numbers the parts: a new kind of moment begins a new part.
#[derive(Default)]
struct Player {
    block: u32,
    kind: Option<&'static str>,
    ended: bool,
}

impl Player {
    fn play(&mut self, moment: ReplayMoment) -> Option<Result<ReplyPiece, Fault>> {
        Some(Ok(match moment {
            ReplayMoment::Text(text) => ReplyPiece::Text { block: self.part("text"), text },
            ReplayMoment::Thinking(text) => ReplyPiece::Thinking { block: self.part("thinking"), text },
            ReplayMoment::Signature(text) => ReplyPiece::Signature { block: self.part("thinking"), text },
            ReplayMoment::Redacted(data) => {
                self.kind = None;
                ReplyPiece::Redacted { block: self.part("redacted"), data }
            }
            ReplayMoment::Tool { id, name, input, broken } => {
                self.kind = None;
                let arguments = broken.unwrap_or_else(|| input.to_string());
                ReplyPiece::Tool { block: self.part("tool"), id: Some(id), name: Some(name), arguments }
            }
            ReplayMoment::Usage(usage) => ReplyPiece::Usage(usage),
            ReplayMoment::Stop(reason) => ReplyPiece::Stop(reason),
            ReplayMoment::Fault(fault) => {
                self.ended = true;
                return Some(Err(fault));
            }
            ReplayMoment::Cut(_) => return None,
            ReplayMoment::PauseMs(_) => unreachable!("pauses are taken by the caller"),
        }))
    }

    fn part(&mut self, kind: &'static str) -> u32 {
        if self.kind != Some(kind) {
            self.kind = Some(kind);
            self.block += 1;
        }
        self.block
    }

    fn end(&mut self) -> Option<Result<ReplyPiece, Fault>> {
        (!std::mem::replace(&mut self.ended, true)).then_some(Ok(ReplyPiece::End))
    }
}

/// Passes a reply on and writes it down once it is complete.
pub(super) struct Recorder {
    inner: Arc<dyn Model>,
    file: PathBuf,
}

impl Recorder {
    /// Makes sure that the file can be written before anything is paid for.
    pub(super) fn new(inner: Arc<dyn Model>, file: PathBuf) -> Result<Self, Problem> {
        std::fs::OpenOptions::new().create(true).append(true).open(&file).map_err(|error| {
            Problem::new(ProblemKind::Settings, format!("The recording {} cannot be written: {error}.", file.display()))
                .hint("Name another file with the setting `record`, or leave it empty.")
        })?;
        Ok(Self { inner, file })
    }
}

#[async_trait]
impl Model for Recorder {
    fn dialect(&self) -> &'static str {
        self.inner.dialect()
    }

    async fn count_tokens(&self, prompt: &Prompt) -> Result<Option<u64>, Fault> {
        self.inner.count_tokens(prompt).await
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        self.inner.list().await
    }

    async fn describe(&self, is_known: bool) -> Option<ServerFacts> {
        self.inner.describe(is_known).await
    }

    async fn draw(&self, order: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        self.inner.draw(order).await
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let mut said = since_reply(prompt).iter().map(|message| all_words(message));
        let when = said.rfind(|words| !words.starts_with(PromptNote::MARK)).filter(|words| words.len() <= 200);
        let tape = Tape { moments: Vec::new(), tools: Vec::new(), last: None };
        let file = self.file.clone();
        stream::unfold((self.inner.stream(prompt), tape, when, file), |(mut pieces, mut tape, when, file)| async move {
            let piece = pieces.next().await?;
            match &piece {
                Ok(ReplyPiece::End) => {
                    let exchange = Exchange { when: when.clone(), system: None, first: false, reply: tape.finish() };
                    // The reply is paid for; it is worth more than its recording.
                    if let Err(error) = append(&file, &exchange).await {
                        tracing::error!(%error, file = %file.display(), "the exchange is not recorded");
                    }
                }
                Ok(piece) => tape.note(piece),
                Err(_) => {}
            }
            Some((piece, (pieces, tape, when, file)))
        })
        .boxed()
    }
}

struct Tape {
    moments: Vec<ReplayMoment>,
    tools: Vec<(u32, usize, String)>,
    last: Option<Instant>,
}

impl Tape {
    fn note(&mut self, piece: &ReplyPiece) {
        let now = Instant::now();
        let pause = self.last.replace(now).map_or(0, |last| now.duration_since(last).as_millis() as u64);
        if pause > 0 {
            self.moments.push(ReplayMoment::PauseMs(pause));
        }
        match piece {
            ReplyPiece::Text { text, .. } if text.is_empty() => {}
            ReplyPiece::Text { text, .. } => self.moments.push(ReplayMoment::Text(text.clone())),
            ReplyPiece::Thinking { text, .. } => self.moments.push(ReplayMoment::Thinking(text.clone())),
            ReplyPiece::Signature { text, .. } => self.moments.push(ReplayMoment::Signature(text.clone())),
            ReplyPiece::Tool { block, id, name, arguments } => {
                match self.tools.iter_mut().find(|tool| tool.0 == *block) {
                    Some((_, _, whole)) => whole.push_str(arguments),
                    None => {
                        self.tools.push((*block, self.moments.len(), arguments.clone()));
                        self.moments.push(ReplayMoment::Tool {
                            id: id.clone().unwrap_or_default(),
                            name: name.clone().unwrap_or_default(),
                            input: Value::Null,
                            broken: None,
                        });
                    }
                }
            }
            ReplyPiece::Usage(usage) => self.moments.push(ReplayMoment::Usage(*usage)),
            ReplyPiece::Stop(reason) => self.moments.push(ReplayMoment::Stop(reason.clone())),
            ReplyPiece::Redacted { data, .. } => self.moments.push(ReplayMoment::Redacted(data.clone())),
            ReplyPiece::Alive | ReplyPiece::Progress(_) | ReplyPiece::Warning(_) | ReplyPiece::End => {}
        }
    }

    fn finish(&mut self) -> Vec<ReplayMoment> {
        for (_, place, arguments) in &self.tools {
            if let Some(ReplayMoment::Tool { input, broken, .. }) = self.moments.get_mut(*place) {
                match serde_json::from_str(arguments) {
                    Ok(json) => *input = json,
                    Err(_) => *broken = Some(arguments.clone()),
                }
            }
        }
        std::mem::take(&mut self.moments)
    }
}

async fn append(file: &Path, exchange: &Exchange) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(exchange)?;
    line.push(b'\n');
    let mut file = tokio::fs::OpenOptions::new().create(true).append(true).open(file).await?;
    file.write_all(&line).await?;
    file.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Assembly;
    use trimtab_vocab::Reply;

    fn prompt(messages: &[Message]) -> Prompt {
        let messages = messages.iter().cloned().map(Arc::new).collect();
        Prompt { model: "m".into(), messages, max_output_tokens: 9, ..Prompt::default() }
    }

    async fn ask(model: &dyn Model, messages: &[Message]) -> Result<Reply, Fault> {
        let mut pieces = model.stream(&prompt(messages));
        let mut assembly = Assembly::default();
        while let Some(piece) = pieces.next().await {
            assembly.push(piece?)?;
        }
        assembly.finish()
    }

    #[tokio::test]
    async fn the_conversation_says_which_line_comes_next() {
        let tape = Replay::parse(
            "{\"reply\":[{\"text\":\"one\"}]}\n\n{\"when\":\"two\",\"reply\":[{\"text\":\"2\"},{\"stop\":\"end_turn\"}]}\n",
            Path::new("x"),
        )
        .expect("parses");
        let first = ask(&tape, &[Message::user("hi")]).await.expect("replies");
        assert_eq!(first.message.text(), "one");
        let talk = [Message::user("hi"), Message::assistant("one"), Message::user("and two?")];
        let second = ask(&tape, &talk).await.expect("replies");
        assert_eq!((second.message.text().as_str(), second.stop_reason), ("2", Some(StopReason::EndTurn)));
        let fault = ask(&tape, &[Message::user("a"), Message::assistant("b"), Message::user("c")]).await;
        assert_eq!(fault.expect_err("nothing fits").problem.kind, ProblemKind::NotFound);
    }

    #[tokio::test]
    async fn a_recording_can_break_off_and_fail() {
        let tape = Replay::parse("{\"reply\":[{\"text\":\"ha\"},{\"cut\":true}]}", Path::new("x")).expect("parses");
        assert_eq!(ask(&tape, &[]).await.expect_err("cut").problem.kind, ProblemKind::Truncated);
        let line =
            r#"{"reply":[{"fault":{"problem":{"kind":"overloaded","message":"busy"},"retry":{"retry":"never"}}}]}"#;
        let tape = Replay::parse(line, Path::new("x")).expect("parses");
        assert_eq!(ask(&tape, &[]).await.expect_err("fault").problem.message, "busy");
    }

    #[tokio::test]
    async fn what_is_recorded_plays_the_same() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("tape.jsonl");
        let source = r#"{"reply":[{"thinking":"hm"},{"signature":"s"},{"text":"a"},{"text":"b"},{"redacted":"b3BhcXVl"},{"tool":{"id":"t","name":"read","input":{"path":"x"}}},{"tool":{"id":"u","name":"read","broken":"{\"pa"}},{"usage":{"inputTokens":3,"outputTokens":4}},{"stop":"tool_use"}]}"#;
        let original = Arc::new(Replay::parse(source, Path::new("x")).expect("parses"));
        let recorder = Recorder::new(original, file.clone()).expect("can be written");
        let heard = ask(&recorder, &[Message::user("go")]).await.expect("replies");
        let played = Replay::open(file.to_str().expect("utf-8")).expect("opens");
        assert_eq!(ask(&played, &[Message::user("go")]).await.expect("replies"), heard);
    }

    #[test]
    fn a_broken_recording_names_its_line() {
        let problem = Replay::parse("{\"reply\":[]}\nnonsense", Path::new("tape")).err().expect("refused");
        assert!(problem.message.starts_with("Line 2 of the recording tape"), "{}", problem.message);
    }

    #[test]
    fn the_demo_is_a_good_recording() {
        assert!(Replay::open("demo").is_ok());
    }
}
