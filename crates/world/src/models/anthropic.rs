//! Anthropic's Messages API.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::{
    Fault, Format, Message, Part, ProblemKind, Prompt, RefKey, Retry, Role, StopReason, ToolSpec, Usage,
};

use super::effort::{self, ClaudeEffort, Took};
use super::http::{self, ApiKey, Framing, Outgoing, SentEvent, fault, printable};
use super::openai::server::ServerKind;
use super::server_word::ServerAddress;
use super::{Listed, Model, PieceStream, ReplyPiece, RequestExtras, ServerFacts, server_word, with_warning};

const VERSION: &str = "2023-06-01";
/// Lets a request say what to do with reasoning whose past has changed.
const BINDING: &str = "thinking-binding-controls-2026-08-01";
/// No honest reply has more; what is remembered of each must not fill the memory.
const MOST_BLOCKS: usize = 10_000;
/// The smallest thinking budget that the API accepts.
const LEAST_THINKING: u32 = 1_024;
/// Tokens that a reply needs beside its reasoning.
const LEAST_WORDS: u32 = 1_024;
/// The limit for lists of models and token counts, which are small.
const LARGEST_ANSWER: usize = 8 * 1024 * 1024;
/// Pages of a list at most, more than any provider has.
const MOST_PAGES: usize = 20;

pub(super) struct Anthropic {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
    pub(super) extras: Arc<RequestExtras>,
}

#[async_trait]
impl Model for Anthropic {
    fn dialect(&self) -> &'static str {
        "anthropic"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let outgoing = http::RequestBody::json(&self.body(prompt).run(prompt))
            .map(|body| self.outgoing("/v1/messages", "text/event-stream", body));
        let pieces = http::converse(prompt, outgoing, Framing::Events, AnthropicReader::default(), self.idle);
        with_warning(effort_note(&self.model, prompt), pieces)
    }

    async fn count_tokens(&self, prompt: &Prompt) -> Result<Option<u64>, Fault> {
        let body = http::RequestBody::json(&self.body(prompt))?;
        let outgoing = self.outgoing("/v1/messages/count_tokens", "application/json", body);
        match http::fetch(outgoing, self.idle, LARGEST_ANSWER).await {
            Ok(answer) => Ok(answer.get("input_tokens").and_then(Value::as_u64)),
            // Other servers with this API may not count tokens.
            Err(fault) if fault.problem.kind == ProblemKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn describe(&self, _: bool) -> Option<ServerFacts> {
        let nearby = ServerKind::at(&self.base_url) == ServerKind::Local;
        let address = ServerAddress { base_url: &self.base_url, key: self.key.as_ref(), extras: &self.extras };
        if nearby { Some(server_word::ask_props(address).await) } else { None }
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let mut listed = Vec::new();
        let mut after = String::new();
        for _ in 0..MOST_PAGES {
            let path = format!("/v1/models?limit=1000{after}");
            let outgoing = self.outgoing(&path, "application/json", http::RequestBody::Nothing);
            let page: ModelPage = serde_json::from_value(http::fetch(outgoing, self.idle, LARGEST_ANSWER).await?)
                .map_err(|error| {
                    let message = format!("The provider's list of models cannot be read: {error}.");
                    fault(ProblemKind::Protocol, message, Retry::Never)
                })?;
            let named = page.data.into_iter().filter_map(|model| Some((model.id?, model.max_input_tokens)));
            listed.extend(named.map(|(name, window)| Listed { name, window }));
            // A name that does not fit into an address as it is names no model.
            let plain = |id: &String| id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
            let Some(last) = page.last_id.filter(plain).filter(|_| page.has_more) else { break };
            after = format!("&after_id={last}");
        }
        Ok(listed)
    }
}

impl Anthropic {
    fn body<'a>(&'a self, prompt: &'a Prompt) -> AnthropicBody<'a> {
        // Gateways that speak this API refuse the field.
        let ttl = (prompt.long_cache && is_anthropic(&self.base_url)).then_some("1h");
        AnthropicBody::new(&self.model, prompt, CacheControl { r#type: "ephemeral", ttl })
    }

    fn outgoing(&self, path: &str, accept: &str, body: http::RequestBody) -> Outgoing {
        let mut headers = vec![("accept", accept.into()), ("anthropic-version", VERSION.into())];
        if Generation::for_model(&self.model).binds_thinking() {
            headers.push(("anthropic-beta", BINDING.into()));
        }
        Outgoing {
            url: format!("{}{path}", self.base_url.trim_end_matches('/')),
            headers,
            key: self.key.clone().map(|key| ApiKey::Header("x-api-key", key)),
            body,
            extras: Arc::clone(&self.extras),
        }
    }
}

/// Whether an address is Anthropic's own.
fn is_anthropic(base_url: &str) -> bool {
    reqwest::Url::parse(base_url).is_ok_and(|url| url.host_str() == Some("api.anthropic.com"))
}

#[derive(Deserialize)]
struct ModelPage {
    data: Vec<AnthropicModelEntry>,
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct AnthropicModelEntry {
    id: Option<String>,
    max_input_tokens: Option<u64>,
}

// ---- what is sent ----

#[derive(Serialize)]
struct AnthropicBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Marked<AnthropicTool<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Marked<AnthropicBlock<'a>>>,
    messages: Vec<AnthropicMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "OutputConfig::is_empty")]
    output_config: OutputConfig<'a>,
    #[serde(flatten)]
    run: Option<AnthropicRun>,
}

/// Fields that only a call for a reply has.
#[derive(Serialize)]
struct AnthropicRun {
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    stream: bool,
}

/// Something that may end a part of the prompt which is worth keeping until the next call.
#[derive(Serialize)]
struct Marked<T> {
    #[serde(flatten)]
    inner: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize, Clone, Copy)]
struct CacheControl {
    r#type: &'static str,
    /// Unsaid, five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: Role,
    content: Vec<Marked<AnthropicBlock<'a>>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlock<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: AnthropicImageSource<'a>,
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

#[derive(Serialize)]
struct AnthropicImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    /// As many tokens as are set aside for it.
    Enabled { budget_tokens: u32 },
    /// As much as the model sees fit.
    Adaptive {
        display: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<BlockBinding>,
    },
    /// Not at all.
    Disabled,
    /// Not before the reply, only between tools.
    BetweenTools,
}

#[derive(Serialize)]
struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

impl OutputConfig<'_> {
    fn is_empty(&self) -> bool {
        self.effort.is_none() && self.format.is_none()
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputFormat<'a> {
    JsonSchema { schema: &'a Value },
}

impl<'a> AnthropicBody<'a> {
    fn new(model: &'a str, prompt: &'a Prompt, cache: CacheControl) -> Self {
        let generation = Generation::for_model(model);
        let told = effort::claude((generation.0, generation.1), model, prompt);
        let thinking = thinking(generation, told, prompt);
        let format = match &prompt.format {
            Some(Format::Schema { schema, .. }) if generation.holds_to_schemas() && can_hold(schema) => {
                Some(OutputFormat::JsonSchema { schema })
            }
            _ => None,
        };
        let effort = match told {
            ClaudeEffort::Word(word) => Some(word),
            _ => None,
        };
        let mut body = AnthropicBody {
            model,
            tools: prompt.tools.iter().map(|spec| unmarked(tool(spec))).collect(),
            system: Some(&prompt.system)
                .filter(|system| !system.trim().is_empty())
                .map(|text| unmarked(AnthropicBlock::Text { text }))
                .into_iter()
                .collect(),
            messages: wire_messages(prompt),
            thinking,
            output_config: OutputConfig { effort, format },
            run: None,
        };
        body.mark(cache);
        body
    }

    /// Marks what the next call will begin with as well: the tools, the instructions, and the
    /// conversation up to now. The message before the last reply was marked by the call before this one;
    /// marked again, it is found however much has been said since, for the API looks back only some
    /// blocks from each mark. Those are the four marks that it allows.
    fn mark(&mut self, control: CacheControl) {
        let tool = self.tools.last_mut().map(|tool| &mut tool.cache_control);
        let system = self.system.last_mut().map(|system| &mut system.cache_control);
        let replied = self.messages.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
        let (before, since) = self.messages.split_at_mut(replied);
        let ends = before.last_mut().into_iter().chain(since.last_mut());
        let users = ends.filter(|message| message.role == Role::User);
        let said = users.filter_map(|message| message.content.last_mut()).map(|block| &mut block.cache_control);
        for mark in tool.into_iter().chain(system).chain(said) {
            *mark = Some(control);
        }
    }

    fn run(self, prompt: &Prompt) -> Self {
        // A model that thinks accepts no temperature, and the highest is 1.
        let thinks = !matches!(self.thinking, None | Some(Thinking::Disabled));
        let takes_temperature = !thinks && Generation::for_model(self.model).takes_temperature();
        let run = AnthropicRun {
            max_tokens: prompt.max_output_tokens,
            temperature: prompt.temperature.filter(|_| takes_temperature).map(|temperature| temperature.min(1.0)),
            stream: true,
        };
        AnthropicBody { run: Some(run), ..self }
    }
}

fn thinking(generation: Generation, told: ClaudeEffort, prompt: &Prompt) -> Option<Thinking> {
    let binds = generation.binds_thinking();
    let adaptive = || Thinking::Adaptive {
        // Unsaid, the newer ones show nothing of it.
        display: "summarized",
        // Instructions and tools may change within a conversation; better no earlier reasoning than no reply.
        block_binding: binds.then_some(BlockBinding { prefix_mismatch_behavior: "drop_block" }),
    };
    match told {
        ClaudeEffort::Budget(tokens) => {
            thinking_budget(prompt, tokens).map(|budget_tokens| Thinking::Enabled { budget_tokens })
        }
        ClaudeEffort::Disabled => Some(Thinking::Disabled),
        ClaudeEffort::BetweenTools => Some(Thinking::BetweenTools),
        ClaudeEffort::Word(_) => Some(adaptive()),
        ClaudeEffort::Unsaid | ClaudeEffort::Unsupported => binds.then(adaptive),
    }
}

/// What the user should know about the effort that they chose, where the model cannot have it.
fn effort_note(model: &str, prompt: &Prompt) -> Option<String> {
    let generation = Generation::for_model(model);
    let took = match effort::claude((generation.0, generation.1), model, prompt) {
        ClaudeEffort::Unsupported => Took::Nothing,
        ClaudeEffort::Word(word) => Took::from_word(prompt, Some(word)),
        _ => Took::AsItIs,
    };
    effort::note(prompt, model, took)
}

/// The tokens to think with, if there is room for any. They count as part of the reply, whose limit may
/// be all that is left of a budget: it is not for us to raise.
fn thinking_budget(prompt: &Prompt, tokens: u32) -> Option<u32> {
    let most = prompt.max_output_tokens.saturating_sub(LEAST_WORDS);
    (tokens > 0 && most >= LEAST_THINKING).then(|| tokens.clamp(LEAST_THINKING, most))
}

/// When a model was made, by its name: 4.8 for `claude-opus-4-8`. What older ones take, newer ones
/// refuse, and the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Generation(u32, u32);

impl Generation {
    fn for_model(model: &str) -> Self {
        let Some((_, name)) = model.rsplit_once("claude-") else {
            // Another vendor's model, which gets the oldest form of the API.
            return Self(0, 0);
        };
        // A date is not part of the version.
        let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() < 3);
        let mut parts = name.split(['-', '.', '@', ':']).skip_while(|part| number(part).is_none()).map(number);
        match parts.next() {
            Some(Some(major)) => Self(major, parts.next().flatten().unwrap_or(0)),
            // Names without numbers came after those with them.
            _ => Self(5, 0),
        }
    }

    fn takes_temperature(self) -> bool {
        self < Self(4, 7)
    }

    /// Refuses its own reasoning if anything before it has changed, unless it may drop it.
    fn binds_thinking(self) -> bool {
        self > Self(5, 0)
    }

    /// Can be held to a schema to the letter.
    fn holds_to_schemas(self) -> bool {
        self >= Self(4, 5)
    }
}

/// Whether the API can hold a model to a schema. It refuses a schema with anything in it that it cannot
/// enforce, or with too many choices; what is left out here is asked for in words only.
fn can_hold(schema: &Value) -> bool {
    const KNOWN: &str = "type title description properties required additionalProperties items enum const";
    let Some(words) = schema.as_object() else { return false };
    let properties = words.get("properties").and_then(Value::as_object);
    let required = words.get("required").and_then(Value::as_array);
    let demanded = |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
    let known = words.keys().all(|word| KNOWN.split(' ').any(|known| known == word));
    let fits = match words.get("type").and_then(Value::as_str) {
        Some("object") => {
            words.get("additionalProperties") == Some(&Value::Bool(false))
                && properties.is_some_and(|properties| properties.keys().all(demanded))
        }
        Some("array") => words.contains_key("items"),
        Some(_) => true,
        None => words.contains_key("enum") || words.contains_key("const"),
    };
    let fields = properties.into_iter().flat_map(serde_json::Map::values);
    known && fits && fields.chain(words.get("items")).all(can_hold)
}

fn tool(spec: &ToolSpec) -> AnthropicTool<'_> {
    AnthropicTool { name: &spec.name, description: &spec.description, input_schema: &spec.input_schema }
}

fn unmarked<T>(inner: T) -> Marked<T> {
    Marked { inner, cache_control: None }
}

fn wire_messages(prompt: &Prompt) -> Vec<AnthropicMessage<'_>> {
    prompt
        .messages
        .iter()
        .map(|message| wire_message(message, &prompt.images))
        .filter(|m| !m.content.is_empty())
        .collect()
}

fn wire_message<'a>(message: &'a Message, images: &'a BTreeMap<RefKey, Arc<str>>) -> AnthropicMessage<'a> {
    let blocks = message.parts.iter().filter_map(|part| block(message.role, part, images));
    let mut content: Vec<_> = blocks.map(unmarked).collect();
    // The API wants the results before anything else that is said.
    content.sort_by_key(|block| !matches!(block.inner, AnthropicBlock::ToolResult { .. }));
    AnthropicMessage { role: message.role, content }
}

/// Blank text blocks and empty messages are refused by the API, and so is thinking without its
/// signature; neither says anything.
fn block<'a>(role: Role, part: &'a Part, images: &'a BTreeMap<RefKey, Arc<str>>) -> Option<AnthropicBlock<'a>> {
    static NOTHING: LazyLock<Value> = LazyLock::new(|| Value::Object(serde_json::Map::new()));
    Some(match part {
        Part::Text { text } if text.trim().is_empty() => return None,
        Part::Text { text } => AnthropicBlock::Text { text },
        Part::Thinking { text, signature: Some(signature), by } if is_ours(by) => {
            AnthropicBlock::Thinking { thinking: text, signature }
        }
        Part::RedactedThinking { data, by } if is_ours(by) => AnthropicBlock::RedactedThinking { data },
        Part::Thinking { .. } | Part::RedactedThinking { .. } => return None,
        // An assistant message cannot contain an image.
        Part::Image { .. } if role == Role::Assistant => return None,
        Part::Image { image, media_type } => match images.get(image) {
            Some(data) => AnthropicBlock::Image { source: AnthropicImageSource { r#type: "base64", media_type, data } },
            None => AnthropicBlock::Text { text: "[image missing]" },
        },
        Part::ToolUse(call) => AnthropicBlock::ToolUse {
            id: &call.id,
            name: &call.name,
            // Arguments that were not JSON cannot be sent back as they were: the API wants an object.
            input: if call.broken.is_some() { &NOTHING } else { &call.input },
        },
        Part::ToolResult(result) => AnthropicBlock::ToolResult {
            tool_use_id: &result.tool_use_id,
            content: &result.content,
            is_error: result.is_error,
        },
    })
}

fn is_ours(by: &Option<String>) -> bool {
    by.as_deref().is_none_or(|by| by == "anthropic")
}

// ---- what comes back ----

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: StartedMessage,
    },
    ContentBlockStart {
        index: u32,
        content_block: StartedBlock,
    },
    ContentBlockDelta {
        index: u32,
        delta: AnthropicDelta,
    },
    ContentBlockStop {},
    MessageDelta {
        #[serde(default)]
        delta: StopPart,
        usage: Option<AnthropicUsage>,
    },
    MessageStop {
        #[serde(default)]
        stop_reason: Value,
    },
    Error {
        error: WireError,
    },
    /// `ping` and future events.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct StartedMessage {
    usage: Option<AnthropicUsage>,
}

/// A reply in one document.
#[derive(Deserialize)]
struct WholeMessage {
    content: Vec<StartedBlock>,
    stop_reason: Option<String>,
    usage: Option<AnthropicUsage>,
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
enum AnthropicDelta {
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
struct AnthropicUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
}

/// How long cache writes are kept.
#[derive(Deserialize, Default, Clone, Copy)]
struct CacheCreation {
    #[serde(default)]
    ephemeral_1h_input_tokens: u64,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Reads the events in order, with the state that later ones need.
#[derive(Default)]
struct AnthropicReader {
    usage: AnthropicUsage,
    blocks: BTreeMap<u32, OpenBlock>,
}

/// What a block began as.
enum OpenBlock {
    Part,
    /// With an input that came whole, until a delta says otherwise.
    Tool(Option<String>),
    /// A kind that this version does not know; its deltas are not ours to read either.
    Unknown,
}

impl http::EventReader for AnthropicReader {
    fn read(&mut self, sent: &SentEvent) -> Result<Vec<ReplyPiece>, Fault> {
        let event: AnthropicEvent = match serde_json::from_str(&sent.data) {
            Ok(event) => event,
            Err(error) => return self.unreadable(sent, &error),
        };
        Ok(match event {
            AnthropicEvent::MessageStart { message } => vec![self.count(message.usage)],
            AnthropicEvent::ContentBlockStart { index, content_block } => self.start(index, content_block)?,
            AnthropicEvent::ContentBlockDelta { index, delta } => self.delta(index, delta)?,
            AnthropicEvent::MessageDelta { delta, usage } => {
                let mut pieces = vec![self.count(usage)];
                pieces.extend(delta.stop_reason.map(|reason| ReplyPiece::Stop(stop_reason(reason))));
                pieces
            }
            AnthropicEvent::MessageStop { stop_reason: reason } => self.end(reason.as_str()),
            AnthropicEvent::Error { error } => return Err(error_event(&error)),
            AnthropicEvent::ContentBlockStop {} | AnthropicEvent::Unknown => vec![ReplyPiece::Alive],
        })
    }

    fn read_whole(&mut self, document: &Value) -> Option<Result<Vec<ReplyPiece>, Fault>> {
        if let Some(error) = document.get("error").and_then(|error| WireError::deserialize(error).ok()) {
            return Some(Err(error_event(&error)));
        }
        let message = WholeMessage::deserialize(document).ok().filter(|message| message.stop_reason.is_some())?;
        Some(self.message(message))
    }
}

impl AnthropicReader {
    fn message(&mut self, message: WholeMessage) -> Result<Vec<ReplyPiece>, Fault> {
        let mut pieces = vec![self.count(message.usage)];
        for (block, content) in (0..).zip(message.content) {
            pieces.extend(self.start(block, content)?);
        }
        pieces.extend(self.end(message.stop_reason.as_deref()));
        Ok(pieces)
    }

    fn start(&mut self, block: u32, started: StartedBlock) -> Result<Vec<ReplyPiece>, Fault> {
        if self.blocks.len() >= MOST_BLOCKS {
            let message = format!("The provider's reply has more than {MOST_BLOCKS} parts; it was cut off.");
            return Err(fault(ProblemKind::Protocol, message, Retry::Never));
        }
        let (begun, pieces) = match started {
            StartedBlock::Text { text } => (OpenBlock::Part, vec![ReplyPiece::Text { block, text }]),
            StartedBlock::Thinking { thinking, signature } => (
                OpenBlock::Part,
                vec![ReplyPiece::Thinking { block, text: thinking }, ReplyPiece::Signature { block, text: signature }],
            ),
            StartedBlock::RedactedThinking { data } => (OpenBlock::Part, vec![ReplyPiece::Redacted { block, data }]),
            StartedBlock::ToolUse { id, name, input } => {
                let nothing = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
                let whole = (!nothing).then(|| input.to_string());
                (
                    OpenBlock::Tool(whole),
                    vec![ReplyPiece::Tool { block, id: Some(id), name: Some(name), arguments: String::new() }],
                )
            }
            StartedBlock::Unknown => (OpenBlock::Unknown, vec![ReplyPiece::Alive]),
        };
        self.blocks.insert(block, begun);
        Ok(pieces)
    }

    fn delta(&mut self, block: u32, delta: AnthropicDelta) -> Result<Vec<ReplyPiece>, Fault> {
        let whole = match self.blocks.get_mut(&block) {
            Some(OpenBlock::Unknown) => return Ok(vec![ReplyPiece::Alive]),
            Some(OpenBlock::Tool(whole)) => Some(whole),
            Some(OpenBlock::Part) => None,
            None => {
                let message = format!("The provider continued part {block} of its reply, which it had not started.");
                return Err(fault(ProblemKind::Protocol, message, Retry::Later { after_ms: None }));
            }
        };
        Ok(vec![match delta {
            AnthropicDelta::TextDelta { text } => ReplyPiece::Text { block, text },
            AnthropicDelta::ThinkingDelta { thinking } => ReplyPiece::Thinking { block, text: thinking },
            AnthropicDelta::SignatureDelta { signature } => ReplyPiece::Signature { block, text: signature },
            AnthropicDelta::InputJsonDelta { partial_json } => {
                if let Some(whole) = whole.filter(|_| !partial_json.is_empty()) {
                    *whole = None;
                }
                ReplyPiece::Tool { block, id: None, name: None, arguments: partial_json }
            }
            AnthropicDelta::Unknown => return Ok(vec![ReplyPiece::Alive]),
        }])
    }

    fn end(&mut self, reason: Option<&str>) -> Vec<ReplyPiece> {
        let whole = std::mem::take(&mut self.blocks).into_iter().filter_map(|(block, begun)| match begun {
            OpenBlock::Tool(whole) => {
                whole.map(|arguments| ReplyPiece::Tool { block, id: None, name: None, arguments })
            }
            OpenBlock::Part | OpenBlock::Unknown => None,
        });
        whole
            .chain(reason.map(|reason| ReplyPiece::Stop(stop_reason(reason.to_owned()))))
            .chain([ReplyPiece::End])
            .collect()
    }

    /// An unreadable `message_stop` still ends the message; an unreadable event of a kind that carries
    /// content must not be skipped, or a reply with a hole in it would pass for whole.
    fn unreadable(&mut self, sent: &SentEvent, error: &serde_json::Error) -> Result<Vec<ReplyPiece>, Fault> {
        let json = serde_json::from_str::<Value>(&sent.data).ok();
        let kind = json.as_ref().and_then(|event| event.get("type")).and_then(Value::as_str).unwrap_or(&sent.name);
        match kind {
            "message_stop" => Ok(self.end(None)),
            "message_start" | "message_delta" | "content_block_start" | "content_block_delta" | "error" | "" => {
                Err(http::unreadable(error, &sent.data))
            }
            _ => Ok(vec![ReplyPiece::Alive]),
        }
    }

    /// Figures come in parts, at the start and at the end; the newest of each counts.
    fn count(&mut self, new: Option<AnthropicUsage>) -> ReplyPiece {
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
        usage.cache_creation = new.cache_creation.or(usage.cache_creation);
        ReplyPiece::Usage(self.figures())
    }

    fn figures(&self) -> Usage {
        let cached = self.usage.cache_read_input_tokens.unwrap_or(0);
        let written = self.usage.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            // The API counts cached tokens beside the input, we count them as part of it.
            input_tokens: self.usage.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written),
            cached_tokens: cached,
            cache_write_tokens: written,
            cache_write_1h_tokens: self.usage.cache_creation.unwrap_or_default().ephemeral_1h_input_tokens.min(written),
            output_tokens: self.usage.output_tokens.unwrap_or(0),
            ..Usage::default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_in_the_cache_is_asked_of_anthropic_alone() {
        let prompt = Prompt { long_cache: true, system: "Be brief.".into(), ..Prompt::default() };
        for (base_url, ttl) in [
            ("https://api.anthropic.com", Some("1h")),
            ("https://api.anthropic.com/", Some("1h")),
            ("https://gateway.example.com/anthropic", None),
            ("https://api.anthropic.com.example.com", None),
            ("http://127.0.0.1:8080", None),
        ] {
            let model = Anthropic {
                base_url: base_url.into(),
                key: None,
                model: "claude-sonnet-4-5".into(),
                idle: Duration::from_secs(1),
                extras: Arc::default(),
            };
            let body = serde_json::to_value(model.body(&prompt)).expect("writes");
            let mark = &body["system"][0]["cache_control"];
            assert_eq!((mark["type"].as_str(), mark["ttl"].as_str()), (Some("ephemeral"), ttl), "{base_url}");
        }
    }
}
