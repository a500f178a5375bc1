//! Models, whoever serves them.
//!
//! A dialect turns a [`Prompt`] into one provider's bytes and that provider's bytes into
//! [`Piece`]s; everything after that (putting pieces together, noticing a cut, bounding size and
//! silence) is done once, here. A dialect is one file. Dropping the stream ends the call.

mod anthropic;
mod assembly;
mod http;
mod registry;
mod replay;

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use trimtab_vocab::{Fault, Problem, ProblemKind, Prompt, Retry, StopReason, Usage};

pub use assembly::Assembly;
pub use registry::{Dialect, Models, Provider, Registry};

/// A piece of a reply, as it comes. `block` says which part of the message it belongs to: parts
/// may come interleaved, and their order is the order of their numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// More words.
    Text {
        /// The part.
        block: u32,
        /// The words.
        text: String,
    },
    /// More reasoning.
    Thinking {
        /// The part.
        block: u32,
        /// The reasoning.
        text: String,
    },
    /// More of the proof that goes with reasoning.
    Signature {
        /// The part.
        block: u32,
        /// The proof.
        text: String,
    },
    /// Reasoning in the provider's own encoding.
    Redacted {
        /// The part.
        block: u32,
        /// The encoded bytes.
        data: String,
    },
    /// More of a wish to use a tool.
    Tool {
        /// The part.
        block: u32,
        /// Its id, when it is told.
        id: Option<String>,
        /// The tool's name, when it is told.
        name: Option<String>,
        /// More of the arguments, as JSON text.
        arguments: String,
    },
    /// What the call cost so far; later figures replace earlier ones.
    Usage(Usage),
    /// Why the model stopped; the last word counts.
    Stop(StopReason),
    /// The provider says that this is all. Without it, a reply is cut.
    End,
}

/// A reply on its way.
pub type PieceStream = BoxStream<'static, Result<Piece, Fault>>;

/// Something that answers prompts.
pub trait Model: Send + Sync {
    /// Makes the call. Nothing is sent before the stream is polled.
    fn stream(&self, prompt: &Prompt) -> PieceStream;
}

/// Ends a stream that says nothing for too long.
fn with_patience(pieces: PieceStream, idle: Duration) -> PieceStream {
    futures_util::stream::unfold(Some(pieces), move |pieces| async move {
        let mut pieces = pieces?;
        match tokio::time::timeout(idle, pieces.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(pieces))),
            Ok(Some(Err(fault))) => Some((Err(fault), None)),
            Err(_) => Some((Err(stalled(idle)), None)),
        }
    })
    .boxed()
}

fn stalled(idle: Duration) -> Fault {
    let problem =
        Problem::new(ProblemKind::Stalled, format!("The provider sent nothing for {} seconds.", idle.as_secs()))
            .hint("Check the connection, or raise limits.api_timeout_s for a slow model.");
    Fault { problem, retry: Retry::Later { after_ms: None } }
}
