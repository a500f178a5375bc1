//! The Messages API.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::{Fault, Message, Part, Problem, ProblemKind, Prompt, Retry, Role, StopReason, Usage};

use super::http::{self, fault, printable};
use super::{Model, Piece, PieceStream, with_patience};

const VERSION: &str = "2023-06-01";

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
        let body = match serde_json::to_vec(&Body::of(&self.model, prompt)) {
            Ok(body) => body,
            Err(error) => {
                let fault = fault(ProblemKind::Internal, format!("The request cannot be written: {error}."), Retry::Never);
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
        .boxed();
        with_patience(pieces, self.idle)
    }
}

fn bad_key() -> Fault {
    let problem = Problem::new(ProblemKind::Auth, "The key holds characters that no key has.")
        .hint("Set it again, without line breaks.");
    Fault { problem, retry: Retry::Never }
}

fn pieces_of(events: impl stream::Stream<Item = Result<String, Fault>> + Send + 'static) -> PieceStream {
    let mut reader = Reader::default();
    events
        .flat_map(move |event| {
            let pieces = match event.and_then(|data| reader.read(&data)) {
                Ok(pieces) => pieces.into_iter().map(Ok).collect(),
                Err(fault) => vec![Err(fault)],
            };
            stream::iter(pieces)
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
        Part::ToolResult(result) => Block::ToolResult {
            tool_use_id: &result.tool_use_id,
            content: &result.content,
            is_error: result.is_error,
        },
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
        #[serde(default)]
        usage: WireUsage,
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
    #[serde(default)]
    usage: WireUsage,
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
    /// Inputs that came whole with the start of their block, until a delta says otherwise.
    whole_inputs: BTreeMap<u32, String>,
}

impl Reader {
    fn read(&mut self, data: &str) -> Result<Vec<Piece>, Fault> {
        let event: WireEvent = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return unreadable(data, &error),
        };
        Ok(match event {
            WireEvent::MessageStart { message } => vec![self.count(message.usage)],
            WireEvent::ContentBlockStart { index, content_block } => self.start(index, content_block),
            WireEvent::ContentBlockDelta { index, delta } => self.delta(index, delta),
            WireEvent::MessageDelta { delta, usage } => {
                let mut pieces = vec![self.count(usage)];
                pieces.extend(delta.stop_reason.map(|reason| Piece::Stop(stop_reason(reason))));
                pieces
            }
            WireEvent::MessageStop { stop_reason: reason } => {
                let mut pieces: Vec<Piece> = std::mem::take(&mut self.whole_inputs)
                    .into_iter()
                    .map(|(block, arguments)| Piece::Tool { block, id: None, name: None, arguments })
                    .collect();
                pieces.extend(reason.as_str().map(|reason| Piece::Stop(stop_reason(reason.to_owned()))));
                pieces.push(Piece::End);
                pieces
            }
            WireEvent::Error { error } => return Err(error_event(&error)),
            WireEvent::ContentBlockStop {} | WireEvent::Unknown => Vec::new(),
        })
    }

    fn start(&mut self, block: u32, started: StartedBlock) -> Vec<Piece> {
        match started {
            StartedBlock::Text { text } => vec![Piece::Text { block, text }],
            StartedBlock::Thinking { thinking, signature } => {
                vec![Piece::Thinking { block, text: thinking }, Piece::Signature { block, text: signature }]
            }
            StartedBlock::RedactedThinking { data } => vec![Piece::Redacted { block, data }],
            StartedBlock::ToolUse { id, name, input } => {
                if input.as_object().is_some_and(|fields| !fields.is_empty()) {
                    self.whole_inputs.insert(block, input.to_string());
                }
                vec![Piece::Tool { block, id: Some(id), name: Some(name), arguments: String::new() }]
            }
            StartedBlock::Unknown => Vec::new(),
        }
    }

    fn delta(&mut self, block: u32, delta: Delta) -> Vec<Piece> {
        vec![match delta {
            Delta::TextDelta { text } => Piece::Text { block, text },
            Delta::ThinkingDelta { thinking } => Piece::Thinking { block, text: thinking },
            Delta::SignatureDelta { signature } => Piece::Signature { block, text: signature },
            Delta::InputJsonDelta { partial_json } => {
                if !partial_json.is_empty() {
                    self.whole_inputs.remove(&block);
                }
                Piece::Tool { block, id: None, name: None, arguments: partial_json }
            }
            Delta::Unknown => return Vec::new(),
        }]
    }

    /// Figures come in parts, at the start and at the end; the newest of each counts.
    fn count(&mut self, new: WireUsage) -> Piece {
        let usage = &mut self.usage;
        for (old, new) in [
            (&mut usage.input_tokens, new.input_tokens),
            (&mut usage.cache_creation_input_tokens, new.cache_creation_input_tokens),
            (&mut usage.cache_read_input_tokens, new.cache_read_input_tokens),
            (&mut usage.output_tokens, new.output_tokens),
        ] {
            *old = new.or(*old);
        }
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let written = usage.cache_creation_input_tokens.unwrap_or(0);
        Piece::Usage(Usage {
            // The API counts cached tokens beside the input, we count them as part of it.
            input_tokens: usage.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written),
            cached_tokens: cached,
            cache_write_tokens: written,
            output_tokens: usage.output_tokens.unwrap_or(0),
            cost_usd: None,
        })
    }
}

/// An unreadable `message_stop` still ends the message; an unreadable event of a kind that carries
/// content must not be skipped, or a reply with a hole in it would pass for whole.
fn unreadable(data: &str, error: &serde_json::Error) -> Result<Vec<Piece>, Fault> {
    let kind = serde_json::from_str::<Value>(data).ok();
    let kind = kind.as_ref().and_then(|event| event.get("type")).and_then(Value::as_str).unwrap_or("");
    match kind {
        "message_stop" => Ok(vec![Piece::End]),
        "message_start" | "message_delta" | "content_block_start" | "content_block_delta" | "error" | "" => Err(fault(
            ProblemKind::Protocol,
            format!("The provider sent an event that cannot be read ({error}): {}", printable(data, 120)),
            Retry::Later { after_ms: None },
        )),
        _ => Ok(Vec::new()),
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
        _ => (ProblemKind::Refused, Retry::Never),
    };
    let message = printable(&error.message, 500);
    fault(kind, format!("The provider stopped with {}: {message}", printable(&error.kind, 60)), retry)
}
