//! One call of a real dialect over a real socket, heard to its end: what every wire test begins with.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use trimtab_vocab::{Fault, Message, Part, ProblemKind, Prompt, Reply, Retry};
use trimtab_world::models::{Assembly, Model, ReplyPiece};

use crate::provider::{Answer, FakeProvider};

/// Longer than any test waits for a provider that answers.
pub const PATIENT: Duration = Duration::from_secs(60);
/// Short, for tests of silence.
pub const IMPATIENT: Duration = Duration::from_millis(200);
/// A call that takes longer did not end in bounded time.
pub const BOUND: Duration = Duration::from_secs(40);
/// The same call may do better, whenever.
pub const LATER: Retry = Retry::Later { after_ms: None };
/// Words whose characters take one to four bytes, to be split anywhere.
pub const WORDS: [&str; 3] = ["Grö", "ße 🦀 –", " naïve"];

/// How a call came out.
#[derive(Debug)]
pub struct Outcome {
    /// The whole reply, or why there is none.
    pub end: Result<Reply, Fault>,
    /// The words that had come.
    pub words: String,
    /// The message as far as it had come.
    pub partial: Message,
    /// What a person should know about the call.
    pub warnings: Vec<String>,
    /// Every piece, in order.
    pub pieces: Vec<ReplyPiece>,
}

impl Outcome {
    /// The reply.
    ///
    /// # Panics
    /// When there is none.
    pub fn reply(self) -> Reply {
        self.end.expect("a complete reply")
    }

    /// Why there is no reply.
    ///
    /// # Panics
    /// When there is one.
    pub fn fault(self) -> Fault {
        self.end.expect_err("a fault")
    }

    /// What a person is told to do about it.
    ///
    /// # Panics
    /// When nothing is said.
    pub fn hint(self) -> String {
        self.fault().problem.hint.expect("a hint")
    }
}

/// Makes a call and listens to its end.
///
/// # Panics
/// When it does not end.
pub async fn ask(model: &dyn Model, prompt: &Prompt) -> Outcome {
    tokio::time::timeout(BOUND, async {
        let mut stream = model.stream(prompt);
        let (mut assembly, mut pieces) = (Assembly::new(model.dialect()), Vec::new());
        let fault = loop {
            match stream.next().await {
                None => break None,
                Some(Err(fault)) => break Some(fault),
                Some(Ok(piece)) => {
                    pieces.push(piece.clone());
                    if let Err(fault) = assembly.push(piece) {
                        break Some(fault);
                    }
                }
            }
        };
        let (words, partial) = (assembly.words().to_owned(), assembly.partial());
        let warnings = assembly.warnings().to_vec();
        let end = fault.map_or_else(|| assembly.finish(), Err);
        Outcome { end, words, partial, warnings, pieces }
    })
    .await
    .expect("a call that ends")
}

/// Whether a call may be made again whose stream had this event, which cannot be read: one that was damaged on its way
/// may come whole the next time, one in another form will not.
pub fn again(event: &str) -> Retry {
    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(event);
    if serde_json::from_str::<serde_json::Value>(data).is_ok() { Retry::Never } else { LATER }
}

/// A short prompt for this model.
pub fn prompt(model: &str, messages: Vec<Message>) -> Prompt {
    Prompt {
        model: model.into(),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        max_output_tokens: 256,
        ..Prompt::default()
    }
}

/// An answer that says [`WORDS`], to be cut after every byte.
pub struct Cuts {
    pub answer: Answer,
    /// Where what carries each of the words is complete.
    pub ends: [usize; 3],
    /// From here on the provider has said that this was all; none: only its last byte says so.
    pub told: Option<usize>,
    /// How many first bytes are no whole answer.
    pub lengths: usize,
    /// What was sent before the cut arrives for sure: the connection is closed, not torn.
    pub exact: bool,
}

impl Cuts {
    /// Finds where each of the words is carried, in a stream whose pieces end with `end`; `carried` is how a piece
    /// stands in it.
    ///
    /// # Panics
    /// When a piece does not stand in it.
    pub fn new(answer: Answer, end: &str, carried: impl Fn(&str) -> String) -> Self {
        let stream = String::from_utf8(answer.body_bytes()).expect("text");
        let ends = WORDS.map(|piece| end_of(&stream, &carried(piece), end));
        Self { lengths: stream.len(), answer, ends, told: None, exact: false }
    }

    /// The provider says that this was all where this stands, before the last byte.
    ///
    /// # Panics
    /// When it does not stand in the stream.
    pub fn told(self, by: &str, end: &str) -> Self {
        let stream = String::from_utf8(self.answer.body_bytes()).expect("text");
        Self { told: Some(end_of(&stream, by, end)), ..self }
    }

    /// Makes the call once for every byte, each time cut after it: no cut is taken for an end, no half character is
    /// shown, no tool is called, and the call may be made again. Then once with the whole answer.
    ///
    /// # Panics
    /// When any of this does not hold.
    pub async fn try_all(&self, provider: &FakeProvider, model: &dyn Model, cut: fn(Answer, usize) -> Answer) {
        let hello = prompt("any", vec![Message::user("Hello")]);
        let told = self.told.unwrap_or(usize::MAX);
        for bytes in 0..self.lengths {
            provider.push(cut(self.answer.clone(), bytes));
            let outcome = ask(model, &hello).await;
            let place = format!("cut after {bytes} bytes: {outcome:?}");
            let arrived = WORDS.iter().zip(self.ends).filter(|(_, end)| *end <= bytes).map(|(piece, _)| *piece);
            let sent: String = arrived.collect();
            assert!(sent.starts_with(&outcome.words), "{place}");
            assert!(!self.exact || sent == outcome.words, "{place}");
            assert!(!place.contains('\u{fffd}'), "{place}");
            assert!(!outcome.partial.parts.iter().any(|part| matches!(part, Part::ToolUse(_))), "{place}");
            match outcome.end {
                Ok(reply) => {
                    assert!(bytes >= told, "{place}");
                    assert_eq!(reply.message.text(), WORDS.concat(), "{place}");
                }
                Err(fault) => {
                    assert!(bytes >= told || !outcome.pieces.contains(&ReplyPiece::End), "{place}");
                    assert!(!self.exact || bytes < told, "{place}");
                    assert!(matches!(fault.problem.kind, ProblemKind::Network | ProblemKind::Truncated), "{place}");
                    assert_eq!(fault.retry, LATER, "{place}");
                }
            }
        }
        provider.push(self.answer.clone());
        assert_eq!(ask(model, &hello).await.reply().message.text(), WORDS.concat());
    }
}

fn end_of(stream: &str, what: &str, end: &str) -> usize {
    let start = stream.find(what).expect("it stands in the stream");
    start + stream[start..].find(end).expect("its piece ends") + end.len()
}
