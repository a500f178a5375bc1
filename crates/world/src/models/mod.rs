//! Models of all providers.
//!
//! A dialect turns a [`Prompt`] into one provider's bytes and that provider's bytes into
//! [`ReplyPiece`]s; everything after that (putting pieces together, noticing a cut, bounding size and
//! silence) is done once, here. A dialect is one file, or one folder. Dropping the stream ends the call.

mod anthropic;
mod assembly;
mod discover;
mod effort;
mod extras;
mod gemini;
mod http;
mod limits;
mod ollama;
mod openai;
mod registry;
mod replay;
mod responses;
mod server_word;
mod think_tags;
mod web_search;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use trimtab_vocab::event::PromptProgress;
use trimtab_vocab::format;
use trimtab_vocab::{Fault, Problem, ProblemKind, Prompt, Retry, StopReason, Usage};

pub use assembly::Assembly;
pub use discover::{LocalServer, LocalServerKind, find_servers, identify, server_root};
pub use extras::{ExtraFields, RequestExtras};
pub(crate) use http::{causes, client as http_client, is_loopback, printable};
pub use registry::{Dialect, ModelRegistry, Provider, Registry};
pub use web_search::{SearchKind, SearchService};

/// A piece of a reply, as it comes. `block` says which part of the message it belongs to: parts
/// may come interleaved, and their order is the order of their numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyPiece {
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
    /// A part of a tool call.
    Tool {
        /// The part.
        block: u32,
        /// Its ID, once known.
        id: Option<String>,
        /// The tool's name, once known.
        name: Option<String>,
        /// More of the arguments, as JSON text.
        arguments: String,
    },
    /// What the call cost so far; later figures replace earlier ones.
    Usage(Usage),
    /// Why the model stopped; the last word counts.
    Stop(StopReason),
    /// How much of the prompt the model has read.
    Progress(PromptProgress),
    /// Nothing new, only a sign of life: a provider that pings while its model thinks is not silent.
    Alive,
    /// Something that the user should know about this call.
    Warning(String),
    /// The provider says that this is all. Without it, a reply is cut.
    End,
}

/// A reply on its way.
pub type PieceStream = BoxStream<'static, Result<ReplyPiece, Fault>>;

/// Something that answers prompts.
#[async_trait]
pub trait Model: Send + Sync {
    /// What it speaks. Proofs of reasoning are sent back only to the dialect that they came from.
    fn dialect(&self) -> &'static str;

    /// Makes the call. Nothing is sent before the stream is polled; dropping it ends the call.
    fn stream(&self, prompt: &Prompt) -> PieceStream;

    /// How many tokens a prompt has, where the provider can say.
    async fn count_tokens(&self, _: &Prompt) -> Result<Option<u64>, Fault> {
        Ok(None)
    }

    /// The models that the provider of this one offers.
    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        Ok(Vec::new())
    }

    /// What the server says about the model; empty where it was asked and said nothing, none where it was not asked.
    /// `is_known`: the catalog knows the model, so that only a server nearby is worth asking.
    async fn describe(&self, _is_known: bool) -> Option<ServerFacts> {
        None
    }

    /// Makes pictures.
    async fn draw(&self, _: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        let problem = Problem::new(ProblemKind::Refused, "This model does not generate images.")
            .hint("Set models.image to another model.");
        Err(Fault { problem, retry: Retry::Never })
    }
}

/// What a server reports about a model; the rest is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFacts {
    /// Tokens it can take in and give, together, as it was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// Whether its template knows tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// How many weights it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
}

impl ServerFacts {
    /// This, and what another source says where this one is silent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            window: self.window.or(other.window),
            max_output: self.max_output.or(other.max_output),
            tools: self.tools.or(other.tools),
            images: self.images.or(other.images),
            parameters: self.parameters.or(other.parameters),
        }
    }
}

/// Whether an address is on this machine or near it, where questions cost nothing.
pub fn is_nearby(base_url: &str) -> bool {
    openai::server::ServerKind::at(base_url) == openai::server::ServerKind::Local
}

/// A model as its provider lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its name, without the provider's.
    pub name: String,
    /// Its limits of input and output tokens, if the provider reports them.
    pub window: Option<u64>,
}

/// Pictures to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawOrder {
    /// The description of the image.
    pub prompt: String,
    pub count: u32,
    /// For example `1024x1024`; absent: the provider's default.
    pub size: Option<String>,
}

/// A picture that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnImage {
    pub bytes: Vec<u8>,
    /// For example `image/png`, by its first bytes.
    pub media_type: &'static str,
    /// The prompt as the provider rewrote it, if it reports that.
    pub revised_prompt: Option<String>,
}

/// A reply that begins with something that the user should know.
fn with_warning(warning: Option<String>, pieces: PieceStream) -> PieceStream {
    match warning {
        Some(text) => futures_util::stream::iter([Ok(ReplyPiece::Warning(text))]).chain(pieces).boxed(),
        None => pieces,
    }
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
    let problem = Problem::new(
        ProblemKind::Stalled,
        format!("The provider sent nothing for {}.", format::plural(idle.as_secs(), "second")),
    )
    .hint("Check the connection, or raise limits.api_timeout_s for a slow model.");
    Fault { problem, retry: Retry::Later { after_ms: None } }
}
