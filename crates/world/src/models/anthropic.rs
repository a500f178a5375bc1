//! The Messages API.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::{Fault, Message, Part, Problem, ProblemKind, Prompt, Retry, Role, StopReason, Usage};

use super::http::{self, SentEvent, fault, printable};
use super::{Model, Piece, PieceStream, with_patience};

const VERSION: &str = "2023-06-01";
/// No honest reply has more; what is remembered of each must not fill the memory.
const MOST_BLOCKS: usize = 10_000;

pub(super) struct Anthropic {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
}

impl Model for Anthropic {
    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let url = format!("{}/v1/messages", self.base_url.trim_end_matches('/'));
        let key = self.key.clone();
        let secret = self.key.clone();
        let body = match serde_json::to_vec(&Body::of(&self.model, prompt)) {
            Ok(body) => body,
            Err(error) => {
                let fault =
                    fault(ProblemKind::Internal, format!("The request cannot be written: {error}."), Retry::Never);
                return stream::iter([Err(fault)]).boxed();
            }
        };
        let pieces = stream::once(async move {
            let mut request = http::client()?
                .post(url)
                .header("content-type", "application/json")
                .header("accept", "text/event-stream")
                .header("anthropic-version", VERSION)
                .body(body);
            if let Some(key) = key {
                let mut value = reqwest::header::HeaderValue::from_str(key.expose_secret()).map_err(|_| bad_key())?;
                value.set_sensitive(true);
                request = request.header("x-api-key", value);
            }
            http::open_events(request).await
        })
        .flat_map(|opened| match opened {
            Ok(response) => pieces_of(http::events(response)),
            Err(fault) => stream::iter([Err(fault)]).boxed(),
        })
        .map(move |piece| match &secret {
            Some(key) => piece.map_err(|fault| http::without_key(fault, key.expose_secret())),
            None => piece,
        })
        .boxed();
        with_patience(pieces, self.idle)
    }
}

fn bad_key() -> Fault {
    let problem = Problem::new(ProblemKind::Auth, "The key holds characters that no key has.")
        .hint("Set it again, without line breaks.");
    Fault { problem, retry: Retry::Never }
}

/// Ends with the message. What comes after it says nothing, and a connection that breaks or stalls
/// there must not spoil a reply that is complete.
fn pieces_of(events: impl stream::Stream<Item = Result<SentEvent, Fault>> + Send + 'static) -> PieceStream {
    let mut reader = Reader::default();
    let pieces = events
        .flat_map(move |event| {
            let pieces = match event.and_then(|event| reader.read(&event)) {
                Ok(pieces) => pieces.into_iter().map(Ok).collect(),
                Err(fault) => vec![Err(fault)],
            };
            stream::iter(pieces)
        })
        .boxed();
    stream::unfold(Some(pieces), |pieces| async {
        let mut pieces = pieces?;
        let piece = pieces.next().await?;
        let rest = (piece != Ok(Piece::End)).then_some(pieces);
        Some((piece, rest))
    })
    .boxed()
}

// ---- what is sent ----

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    system: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Value,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
}

impl<'a> Body<'a> {
    fn of(model: &'a str, prompt: &'a Prompt) -> Self {
        Body {
            model,
            max_tokens: prompt.max_output_tokens,
            system: &prompt.system,
            messages: wire_messages(&prompt.messages),
            stream: true,
        }
    }
}

fn wire_messages(messages: &[Arc<Message>]) -> Vec<WireMessage<'_>> {
    messages
        .iter()
        .map(|message| WireMessage { role: message.role, content: message.parts.iter().filter_map(block).collect() })
        .filter(|message| !message.content.is_empty())
        .collect()
}

/// Blank text blocks and empty messages are refused by the API, and so is thinking without its
/// signature; neither says anything.
fn block(part: &Part) -> Option<Block<'_>> {
    static NOTHING: LazyLock<Value> = LazyLock::new(|| Value::Object(serde_json::Map::new()));
    Some(match part {
        Part::Text { text } if text.trim().is_empty() => return None,
        Part::Text { text } => Block::Text { text },
        Part::Thinking { text, signature: Some(signature) } => Block::Thinking { thinking: text, signature },
        Part::Thinking { signature: None, .. } => return None,
        Part::RedactedThinking { data } => Block::RedactedThinking { data },
        Part::ToolUse(call) => Block::ToolUse {
            id: &call.id,
            name: &call.name,
            // Arguments that were not JSON cannot be sent back as they were: the API wants an object.
            input: if call.broken.is_some() { &NOTHING } else { &call.input },
        },
        Part::ToolResult(result) => {
            Block::ToolResult { tool_use_id: &result.tool_use_id, content: &result.content, is_error: result.is_error }
        }
    })
}

// ---- what comes back ----

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireEvent {
    MessageStart {
        message: StartedMessage,
    },
    ContentBlockStart {
        index: u32,
        content_block: StartedBlock,
    },
    ContentBlockDelta {
        index: u32,
        delta: Delta,
    },
    ContentBlockStop {},
    MessageDelta {
        #[serde(default)]
        delta: StopPart,
        usage: Option<WireUsage>,
    },
    MessageStop {
        #[serde(default)]
        stop_reason: Value,
    },
    Error {
        error: WireError,
    },
    /// `ping`, and whatever comes next.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct StartedMessage {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StartedBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names are the wire's")]
enum Delta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize, Default)]
struct StopPart {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct WireUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Reads one event after the other; remembers what later ones build upon.
#[derive(Default)]
struct Reader {
    usage: WireUsage,
    blocks: BTreeMap<u32, Begun>,
}

/// What a block began as.
enum Begun {
    Part,
    /// With an input that came whole, until a delta says otherwise.
    Tool(Option<String>),
    /// A kind that this version does not know; its deltas are not ours to read either.
    Unknown,
}

impl Reader {
    fn read(&mut self, sent: &SentEvent) -> Result<Vec<Piece>, Fault> {
        let event: WireEvent = match serde_json::from_str(&sent.data) {
            Ok(event) => event,
            Err(error) => return self.unreadable(sent, &error),
        };
        Ok(match event {
            WireEvent::MessageStart { message } => vec![self.count(message.usage)],
            WireEvent::ContentBlockStart { index, content_block } => self.start(index, content_block)?,
            WireEvent::ContentBlockDelta { index, delta } => self.delta(index, delta)?,
            WireEvent::MessageDelta { delta, usage } => {
                let mut pieces = vec![self.count(usage)];
                pieces.extend(delta.stop_reason.map(|reason| Piece::Stop(stop_reason(reason))));
                pieces
            }
            WireEvent::MessageStop { stop_reason: reason } => self.end(reason.as_str()),
            WireEvent::Error { error } => return Err(error_event(&error)),
            WireEvent::ContentBlockStop {} | WireEvent::Unknown => self.alive(),
        })
    }

    fn start(&mut self, block: u32, started: StartedBlock) -> Result<Vec<Piece>, Fault> {
        if self.blocks.len() >= MOST_BLOCKS {
            let message = format!("The provider's reply has more than {MOST_BLOCKS} parts; it was cut off.");
            return Err(fault(ProblemKind::Protocol, message, Retry::Never));
        }
        let (begun, pieces) = match started {
            StartedBlock::Text { text } => (Begun::Part, vec![Piece::Text { block, text }]),
            StartedBlock::Thinking { thinking, signature } => (
                Begun::Part,
                vec![Piece::Thinking { block, text: thinking }, Piece::Signature { block, text: signature }],
            ),
            StartedBlock::RedactedThinking { data } => (Begun::Part, vec![Piece::Redacted { block, data }]),
            StartedBlock::ToolUse { id, name, input } => {
                let nothing = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
                let whole = (!nothing).then(|| input.to_string());
                (
                    Begun::Tool(whole),
                    vec![Piece::Tool { block, id: Some(id), name: Some(name), arguments: String::new() }],
                )
            }
            StartedBlock::Unknown => (Begun::Unknown, self.alive()),
        };
        self.blocks.insert(block, begun);
        Ok(pieces)
    }

    fn delta(&mut self, block: u32, delta: Delta) -> Result<Vec<Piece>, Fault> {
        let whole = match self.blocks.get_mut(&block) {
            Some(Begun::Unknown) => return Ok(self.alive()),
            Some(Begun::Tool(whole)) => Some(whole),
            Some(Begun::Part) => None,
            None => {
                let message = format!("The provider sent more of part {block} of its reply, which it never began.");
                return Err(fault(ProblemKind::Protocol, message, Retry::Later { after_ms: None }));
            }
        };
        Ok(vec![match delta {
            Delta::TextDelta { text } => Piece::Text { block, text },
            Delta::ThinkingDelta { thinking } => Piece::Thinking { block, text: thinking },
            Delta::SignatureDelta { signature } => Piece::Signature { block, text: signature },
            Delta::InputJsonDelta { partial_json } => {
                if let Some(whole) = whole.filter(|_| !partial_json.is_empty()) {
                    *whole = None;
                }
                Piece::Tool { block, id: None, name: None, arguments: partial_json }
            }
            Delta::Unknown => return Ok(self.alive()),
        }])
    }

    fn end(&mut self, reason: Option<&str>) -> Vec<Piece> {
        let whole = std::mem::take(&mut self.blocks).into_iter().filter_map(|(block, begun)| match begun {
            Begun::Tool(whole) => whole.map(|arguments| Piece::Tool { block, id: None, name: None, arguments }),
            Begun::Part | Begun::Unknown => None,
        });
        whole.chain(reason.map(|reason| Piece::Stop(stop_reason(reason.to_owned())))).chain([Piece::End]).collect()
    }

    /// An unreadable `message_stop` still ends the message; an unreadable event of a kind that carries
    /// content must not be skipped, or a reply with a hole in it would pass for whole.
    fn unreadable(&mut self, sent: &SentEvent, error: &serde_json::Error) -> Result<Vec<Piece>, Fault> {
        let json = serde_json::from_str::<Value>(&sent.data).ok();
        let kind = json.as_ref().and_then(|event| event.get("type")).and_then(Value::as_str).unwrap_or(&sent.name);
        match kind {
            "message_stop" => Ok(self.end(None)),
            "message_start" | "message_delta" | "content_block_start" | "content_block_delta" | "error" | "" => {
                Err(fault(
                    ProblemKind::Protocol,
                    format!("The provider sent an event that cannot be read ({error}): {}", printable(&sent.data, 120)),
                    Retry::Later { after_ms: None },
                ))
            }
            _ => Ok(self.alive()),
        }
    }

    /// Nothing new, only a sign of life: silence is measured between pieces, and a provider that
    /// pings while its model thinks is not silent.
    fn alive(&self) -> Vec<Piece> {
        vec![Piece::Usage(self.figures())]
    }

    /// Figures come in parts, at the start and at the end; the newest of each counts.
    fn count(&mut self, new: Option<WireUsage>) -> Piece {
        let new = new.unwrap_or_default();
        let usage = &mut self.usage;
        for (old, new) in [
            (&mut usage.input_tokens, new.input_tokens),
            (&mut usage.cache_creation_input_tokens, new.cache_creation_input_tokens),
            (&mut usage.cache_read_input_tokens, new.cache_read_input_tokens),
            (&mut usage.output_tokens, new.output_tokens),
        ] {
            *old = new.or(*old);
        }
        Piece::Usage(self.figures())
    }

    fn figures(&self) -> Usage {
        let cached = self.usage.cache_read_input_tokens.unwrap_or(0);
        let written = self.usage.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            // The API counts cached tokens beside the input, we count them as part of it.
            input_tokens: self.usage.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written),
            cached_tokens: cached,
            cache_write_tokens: written,
            output_tokens: self.usage.output_tokens.unwrap_or(0),
            cost_usd: None,
        }
    }
}

fn stop_reason(name: String) -> StopReason {
    match name.as_str() {
        "refusal" => StopReason::ContentFiltered,
        "model_context_window_exceeded" => StopReason::MaxTokens,
        _ => StopReason::from(name),
    }
}

fn error_event(error: &WireError) -> Fault {
    let later = Retry::Later { after_ms: None };
    let (kind, retry) = match error.kind.as_str() {
        "overloaded_error" | "api_error" | "timeout_error" => (ProblemKind::Overloaded, later),
        "rate_limit_error" => (ProblemKind::RateLimited, later),
        "authentication_error" | "permission_error" => (ProblemKind::Auth, Retry::Never),
        "not_found_error" => (ProblemKind::NotFound, Retry::Never),
        _ => (ProblemKind::Refused, Retry::Never),
    };
    let message = printable(&error.message, 500);
    fault(kind, format!("The provider stopped with {}: {message}", printable(&error.kind, 60)), retry)
}
