//! One call of a real dialect over a real socket, heard to its end: what every wire test begins with.

use std::time::Duration;

use futures_util::StreamExt;
use trimtab_vocab::{Fault, Message, Prompt, Reply, Retry};
use trimtab_world::models::{Assembly, Model, Piece};

/// Longer than any test waits for a provider that answers.
pub const PATIENT: Duration = Duration::from_secs(60);
/// Short, for tests of silence.
pub const IMPATIENT: Duration = Duration::from_millis(200);
/// A call that takes longer did not end in bounded time.
pub const BOUND: Duration = Duration::from_secs(20);
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
    pub pieces: Vec<Piece>,
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
        let (mut assembly, mut pieces) = (Assembly::of(model.dialect()), Vec::new());
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
