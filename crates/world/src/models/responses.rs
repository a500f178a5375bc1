//! The Responses API, for OpenAI's own models.
//!
//! A reply is a list of items (reasoning, messages, function calls); a message has parts. Nothing is stored with the
//! provider: reasoning arrives encrypted and is sent back unchanged, before the items that it led to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::{Fault, Format, Part, Problem, ProblemKind, Prompt, Retry, Role, StopReason, ToolSpec, Usage};

use super::effort::{self, Took};
use super::http::{self, ApiKey, ErrorMeaning, Framing, Outgoing, SentEvent, fault, printable};
use super::openai::server::ServerKind;
use super::openai::{ModelName, OpenAi, strict};
use super::server_word::ServerAddress;
use super::{
    DrawOrder, DrawnImage, Listed, Model, PieceStream, ReplyPiece, RequestExtras, ServerFacts, server_word,
    with_warning,
};

const DIALECT: &str = "responses";
/// The API refuses a smaller limit.
const SMALLEST_LIMIT: u32 = 16;
/// No honest reply has more items, nor an item more parts; what is remembered of each must not fill
/// the memory.
const MOST_ITEMS: u32 = 10_000;
const MOST_PARTS: u32 = 1_000;
/// Ids are short.
const LONGEST_ID: usize = 1_000;
/// A count of tokens is small.
const LARGEST_ANSWER: usize = 64 * 1024;

pub(super) struct Responses {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
    pub(super) extras: Arc<RequestExtras>,
}

#[async_trait]
impl Model for Responses {
    fn dialect(&self) -> &'static str {
        DIALECT
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let mut body = ResponsesBody::new(&self.model, prompt).run(prompt);
        if ServerKind::at(&self.base_url).takes_cache_keys() && !prompt.cache_key.is_empty() {
            body.prompt_cache_key = Some(&prompt.cache_key);
        }
        let outgoing =
            http::RequestBody::json(&body).map(|body| self.outgoing("/responses", "text/event-stream", body));
        let took = Took::from_word(prompt, effort_word(&self.model, prompt));
        let pieces = http::converse(prompt, outgoing, Framing::Events, ResponsesReader::default(), self.idle);
        with_warning(effort::note(prompt, &self.model, took), pieces)
    }

    async fn count_tokens(&self, prompt: &Prompt) -> Result<Option<u64>, Fault> {
        let body = http::RequestBody::json(&ResponsesBody::new(&self.model, prompt))?;
        let outgoing = self.outgoing("/responses/input_tokens", "application/json", body);
        match http::fetch(outgoing, self.idle, LARGEST_ANSWER).await {
            Ok(answer) => Ok(answer.get("input_tokens").and_then(Value::as_u64)),
            // Other servers with this API may not count tokens.
            Err(fault) if fault.problem.kind == ProblemKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn describe(&self, is_known: bool) -> Option<ServerFacts> {
        let server = ServerKind::at(&self.base_url);
        let nearby = server == ServerKind::Local;
        let asks = nearby || (server == ServerKind::Other && !is_known);
        let address = ServerAddress { base_url: &self.base_url, key: self.key.as_ref(), extras: &self.extras };
        if asks { Some(server_word::ask(address, &self.model, nearby).await) } else { None }
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        self.beside().list().await
    }

    async fn draw(&self, order: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        self.beside().draw(order).await
    }
}

impl Responses {
    /// The provider's other API, for calls that both share.
    fn beside(&self) -> OpenAi {
        OpenAi {
            base_url: self.base_url.clone(),
            key: self.key.clone(),
            model: self.model.clone(),
            idle: self.idle,
            extras: Arc::clone(&self.extras),
        }
    }

    fn outgoing(&self, path: &str, accept: &str, body: http::RequestBody) -> Outgoing {
        Outgoing {
            url: format!("{}{path}", self.base_url.trim_end_matches('/')),
            headers: vec![("accept", accept.into())],
            key: self.key.clone().map(ApiKey::Bearer),
            body,
            extras: Arc::clone(&self.extras),
        }
    }
}

// ---- what is sent ----

#[derive(Serialize)]
struct ResponsesBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<ResponsesItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ResponsesReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(flatten)]
    run: Option<ResponsesRun>,
}

/// Fields that only a call for a reply has.
#[derive(Serialize)]
struct ResponsesRun {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    include: &'static [&'static str],
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
struct ResponsesReasoning {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// The effort word; none for a model that does not think, or if no effort is set.
fn effort_word(model: &str, prompt: &Prompt) -> Option<&'static str> {
    if kind(model) == ModelFamily::Plain {
        return None;
    }
    effort::responses_word(ModelName::new(model), prompt)
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesItem<'a> {
    Message { role: &'static str, content: Vec<ResponsesContent<'a>> },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: String },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
    Reasoning(ReasoningItem),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesContent<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String, detail: &'static str },
    OutputText { text: &'a str },
}

/// Reasoning as it is sent back. Only what the API takes: it refuses the `status` that it gives itself.
#[derive(Serialize, Deserialize)]
struct ReasoningItem {
    id: String,
    /// Must be there, if only empty.
    #[serde(default)]
    summary: Vec<Value>,
    #[serde(default, skip_serializing_if = "nothing")]
    content: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encrypted_content: Option<String>,
}

fn nothing(content: &Option<Vec<Value>>) -> bool {
    content.as_ref().is_none_or(Vec::is_empty)
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
struct TextOptions<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextFormat<'a> {
    JsonObject,
    JsonSchema { name: String, schema: &'a Value, strict: bool },
}

impl<'a> ResponsesBody<'a> {
    fn new(model: &'a str, prompt: &'a Prompt) -> Self {
        ResponsesBody {
            model,
            instructions: &prompt.system,
            input: input(prompt, kind(model) != ModelFamily::Plain),
            tools: prompt.tools.iter().map(|spec| tool(spec)).collect(),
            text: prompt.format.as_ref().map(|format| TextOptions { format: text_format(format) }),
            reasoning: effort_word(model, prompt)
                .map(|effort| ResponsesReasoning { effort, summary: (effort != "none").then_some("auto") }),
            prompt_cache_key: None,
            run: None,
        }
    }

    fn run(self, prompt: &Prompt) -> Self {
        let kind = kind(self.model);
        let run = ResponsesRun {
            max_output_tokens: prompt.max_output_tokens.max(SMALLEST_LIMIT),
            temperature: prompt.temperature.filter(|_| kind != ModelFamily::Reasoning),
            // A model that does not reason refuses to be asked for it.
            include: if kind == ModelFamily::Plain { &[] } else { &["reasoning.encrypted_content"] },
            store: false,
            stream: true,
        };
        ResponsesBody { run: Some(run), ..self }
    }
}

/// What a model's name says about it: the API refuses settings that a model does not support, instead of ignoring
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelFamily {
    /// Thinks before it speaks, and takes no temperature.
    Reasoning,
    /// Takes a temperature, and nothing about reasoning.
    Plain,
    /// Not one of OpenAI's names; it is sent what was asked for.
    Unknown,
}

fn kind(model: &str) -> ModelFamily {
    // Routers put the maker before the name, fine-tuning puts `ft:`.
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let number = |prefix: &str| {
        let digits = name.strip_prefix(prefix)?;
        digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse::<u32>().ok()
    };
    match number("gpt-") {
        Some(0..=4) => return ModelFamily::Plain,
        Some(_) if name.contains("-chat") => return ModelFamily::Plain,
        Some(_) => return ModelFamily::Reasoning,
        None => {}
    }
    if name.starts_with("chatgpt-") {
        ModelFamily::Plain
    } else if number("o").is_some() || name.starts_with("codex-") || name.starts_with("gpt-oss") {
        ModelFamily::Reasoning
    } else {
        ModelFamily::Unknown
    }
}

/// The conversation; with the model's reasoning only for one that reasons, as others refuse it.
fn input(prompt: &Prompt, reasons: bool) -> Vec<ResponsesItem<'_>> {
    let mut items = Vec::new();
    if prompt.format == Some(Format::Json) && !mentions_json(prompt) {
        // The API demands the word in the conversation; the instructions do not count.
        items.push(ResponsesItem::Message {
            role: "developer",
            content: vec![ResponsesContent::InputText { text: "Answer with one JSON object." }],
        });
    }
    for message in &prompt.messages {
        let start = items.len();
        for part in &message.parts {
            match part {
                Part::Text { text } if text.trim().is_empty() => {}
                Part::Text { text } if message.role == Role::Assistant => {
                    say(&mut items, start, "assistant", ResponsesContent::OutputText { text });
                }
                Part::Text { text } => say(&mut items, start, "user", ResponsesContent::InputText { text }),
                // An assistant message cannot contain an image.
                Part::Image { .. } if message.role == Role::Assistant => {}
                Part::Image { image, media_type } => {
                    let content = match prompt.images.get(image) {
                        Some(data) => ResponsesContent::InputImage {
                            image_url: format!("data:{media_type};base64,{data}"),
                            detail: "auto",
                        },
                        None => ResponsesContent::InputText { text: "[image missing]" },
                    };
                    say(&mut items, start, "user", content);
                }
                Part::Thinking { signature: Some(item), by, .. } | Part::RedactedThinking { data: item, by } => {
                    let ours = reasons && by.as_deref() == Some(DIALECT);
                    items.extend(ours.then(|| serde_json::from_str(item).ok()).flatten().map(ResponsesItem::Reasoning));
                }
                Part::Thinking { .. } => {}
                Part::ToolUse(call) => items.push(ResponsesItem::FunctionCall {
                    call_id: &call.id,
                    name: &call.name,
                    // A server may refuse the whole conversation for arguments that are not JSON. The result says
                    // what was wrong with them.
                    arguments: if call.broken.is_some() { "{}".into() } else { call.input.to_string() },
                }),
                Part::ToolResult(result) => {
                    items.push(ResponsesItem::FunctionCallOutput {
                        call_id: &result.tool_use_id,
                        output: &result.content,
                    });
                }
            }
        }
        // Reasoning that led to nothing is refused, together with the whole conversation.
        while items.len() > start && matches!(items.last(), Some(ResponsesItem::Reasoning(_))) {
            items.pop();
        }
    }
    items
}

/// Appends to the last message if it has the same role, and begins another otherwise.
fn say<'a>(items: &mut Vec<ResponsesItem<'a>>, start: usize, role: &'static str, content: ResponsesContent<'a>) {
    if items.len() > start
        && let Some(ResponsesItem::Message { content: said, .. }) = items.last_mut()
    {
        said.push(content);
        return;
    }
    items.push(ResponsesItem::Message { role, content: vec![content] });
}

fn mentions_json(prompt: &Prompt) -> bool {
    let mentions = |text: &str| text.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"json"));
    prompt.messages.iter().flat_map(|message| &message.parts).any(|part| match part {
        Part::Text { text } => mentions(text),
        _ => false,
    })
}

fn tool(spec: &ToolSpec) -> ResponsesTool<'_> {
    ResponsesTool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.input_schema,
        // Unsaid, it would be true, and every schema that is not strict would be refused.
        strict: strict::allows(&spec.input_schema),
    }
}

fn text_format(format: &Format) -> TextFormat<'_> {
    match format {
        Format::Json => TextFormat::JsonObject,
        Format::Schema { name, schema } => {
            let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
            let name: String = name.chars().map(plain).take(64).collect();
            let name = if name.is_empty() { "reply".into() } else { name };
            TextFormat::JsonSchema { name, schema, strict: strict::allows(schema) }
        }
    }
}

// ---- what comes back ----

/// Where an event belongs: by the number of its item or, where a server gives none, by the item's id.
#[derive(Deserialize, Default)]
struct ItemPlace {
    #[serde(default)]
    output_index: Option<u32>,
    #[serde(default)]
    item_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum ResponsesEvent {
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        #[serde(flatten)]
        place: ItemPlace,
        item: Value,
    },
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        #[serde(flatten)]
        place: ItemPlace,
        item: Value,
    },
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        #[serde(flatten)]
        place: ItemPlace,
        #[serde(default)]
        content_index: u32,
        delta: String,
    },
    #[serde(rename = "response.output_text.done")]
    TextDone {
        #[serde(flatten)]
        place: ItemPlace,
        #[serde(default)]
        content_index: u32,
        text: String,
    },
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta {
        #[serde(flatten)]
        place: ItemPlace,
        #[serde(default)]
        content_index: u32,
        delta: String,
    },
    #[serde(rename = "response.refusal.done")]
    RefusalDone {
        #[serde(flatten)]
        place: ItemPlace,
        #[serde(default)]
        content_index: u32,
        refusal: String,
    },
    #[serde(rename = "response.reasoning_summary_text.delta")]
    SummaryDelta {
        #[serde(flatten)]
        place: ItemPlace,
        #[serde(default)]
        summary_index: u32,
        delta: String,
    },
    #[serde(rename = "response.reasoning_text.delta")]
    ReasoningDelta {
        #[serde(flatten)]
        place: ItemPlace,
        #[serde(default)]
        content_index: u32,
        delta: String,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta {
        #[serde(flatten)]
        place: ItemPlace,
        delta: String,
    },
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone {
        #[serde(flatten)]
        place: ItemPlace,
        arguments: String,
    },
    #[serde(rename = "response.completed", alias = "response.incomplete")]
    Ended { response: Value },
    #[serde(rename = "response.failed")]
    Failed { response: Value },
    #[serde(rename = "error")]
    Error {
        #[serde(flatten)]
        error: Value,
    },
    /// `response.created`, starts and ends of parts, repetitions, and future events.
    #[serde(other)]
    Unknown,
}

/// The events that must not be skipped when they cannot be read, or a reply with a hole in it would
/// pass for whole.
const TELLING: [&str; 14] = [
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.refusal.delta",
    "response.refusal.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
];

/// Reads the events in order, with the state that later ones need.
#[derive(Default)]
struct ResponsesReader {
    items: BTreeMap<u32, OpenItem>,
    /// The numbers of items that only have ids.
    numbers: BTreeMap<String, u32>,
    called: bool,
    refused: bool,
}

/// An item as far as it has come.
enum OpenItem {
    /// The words of each part.
    Message(BTreeMap<u32, String>),
    Reasoning(Thoughts),
    Call(ResponsesCall),
    /// A kind that this version does not know; what comes of it is not ours to read either.
    Unknown,
}

#[derive(Default)]
struct Thoughts {
    /// Where the last of them came from: a part of the summary, or of the reasoning itself.
    last: Option<(ImageSource, u32)>,
    done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageSource {
    Summary,
    Reasoning,
}

#[derive(Default)]
struct ResponsesCall {
    id: Option<String>,
    name: Option<String>,
    /// What came in pieces, or whole.
    arguments: String,
    /// What stood in the item when it began, in case nothing else comes.
    first: String,
    told: bool,
}

impl http::EventReader for ResponsesReader {
    fn read(&mut self, sent: &SentEvent) -> Result<Vec<ReplyPiece>, Fault> {
        // Many send this after the end, and some where an end is missing; it proves nothing.
        if sent.data.trim() == "[DONE]" {
            return Ok(vec![ReplyPiece::Alive]);
        }
        let event: ResponsesEvent = match serde_json::from_str(&sent.data) {
            Ok(event) => event,
            Err(error) => return unreadable(sent, &error),
        };
        let pieces = match event {
            ResponsesEvent::ItemAdded { place, item } => {
                let index = self.place_of_item(&place, &item)?;
                self.begin(index, &item)?
            }
            ResponsesEvent::ItemDone { place, item } => {
                let index = self.place_of_item(&place, &item)?;
                self.finish(index, &item)?
            }
            ResponsesEvent::TextDelta { place, content_index, delta } => {
                let index = self.index(&place)?;
                self.words(index, content_index, delta)?
            }
            ResponsesEvent::TextDone { place, content_index, text } => {
                let index = self.index(&place)?;
                self.all_words(index, content_index, &text)?
            }
            ResponsesEvent::RefusalDelta { place, content_index, delta } => {
                self.refused = true;
                let index = self.index(&place)?;
                self.words(index, content_index, delta)?
            }
            ResponsesEvent::RefusalDone { place, content_index, refusal } => {
                self.refused = true;
                let index = self.index(&place)?;
                self.all_words(index, content_index, &refusal)?
            }
            ResponsesEvent::SummaryDelta { place, summary_index, delta } => {
                let index = self.index(&place)?;
                self.think(index, (ImageSource::Summary, summary_index), delta)?
            }
            ResponsesEvent::ReasoningDelta { place, content_index, delta } => {
                let index = self.index(&place)?;
                self.think(index, (ImageSource::Reasoning, content_index), delta)?
            }
            ResponsesEvent::ArgumentsDelta { place, delta } => {
                let index = self.index(&place)?;
                self.arguments(index, delta)?
            }
            ResponsesEvent::ArgumentsDone { place, arguments } => {
                let index = self.index(&place)?;
                self.all_arguments(index, &arguments)?
            }
            ResponsesEvent::Ended { response } => self.end(&response),
            ResponsesEvent::Failed { response } => return Err(failure(response.get("error").unwrap_or(&Value::Null))),
            ResponsesEvent::Error { error } => return Err(failure(error.get("error").unwrap_or(&error))),
            ResponsesEvent::Unknown => Vec::new(),
        };
        self.called |= pieces.iter().any(|piece| matches!(piece, ReplyPiece::Tool { .. }));
        Ok(if pieces.is_empty() { vec![ReplyPiece::Alive] } else { pieces })
    }

    fn read_whole(&mut self, document: &Value) -> Option<Result<Vec<ReplyPiece>, Fault>> {
        if let Some(error) = document.get("error").filter(|error| !error.is_null()) {
            return Some(Err(failure(error)));
        }
        let items = document.get("output")?.as_array().filter(|items| !items.is_empty())?;
        Some(self.whole(document, items))
    }
}

impl ResponsesReader {
    fn whole(&mut self, response: &Value, items: &[Value]) -> Result<Vec<ReplyPiece>, Fault> {
        let mut pieces = Vec::new();
        for (index, item) in (0..).zip(items) {
            pieces.extend(self.finish(index, item)?);
        }
        self.called |= pieces.iter().any(|piece| matches!(piece, ReplyPiece::Tool { .. }));
        pieces.extend(self.end(response));
        Ok(pieces)
    }

    /// The number of an item that begins or ends. llama.cpp gives none, and names a call only by its `call_id`.
    fn place_of_item(&mut self, place: &ItemPlace, item: &Value) -> Result<u32, Fault> {
        let named = |name| Some(text_at(item, name)).filter(|id| !id.is_empty());
        let id = named("id").or_else(|| named("call_id")).or(place.item_id.as_deref());
        self.number(place.output_index, id)
    }

    /// The number of the item that a piece belongs to. One that names no item belongs to the last.
    fn index(&mut self, place: &ItemPlace) -> Result<u32, Fault> {
        match (place.output_index, place.item_id.as_deref()) {
            (None, None) => Ok(self.items.last_key_value().map_or(0, |(last, _)| *last)),
            (index, id) => self.number(index, id),
        }
    }

    fn number(&mut self, index: Option<u32>, id: Option<&str>) -> Result<u32, Fault> {
        if let Some(index) = index {
            return Ok(index);
        }
        if let Some(known) = id.and_then(|id| self.numbers.get(id)) {
            return Ok(*known);
        }
        let next = self.items.keys().chain(self.numbers.values()).max().map_or(0, |last| last.saturating_add(1));
        block(next, 0)?;
        // An id that no honest item has is not worth its memory.
        if let Some(id) = id.filter(|id| id.len() <= LONGEST_ID) {
            self.numbers.insert(id.to_owned(), next);
        }
        Ok(next)
    }

    fn arguments(&mut self, index: u32, delta: String) -> Result<Vec<ReplyPiece>, Fault> {
        let block = block(index, 0)?;
        Ok(match self.call(index)? {
            Some(call) if !delta.is_empty() => vec![call.more(block, delta)],
            _ => Vec::new(),
        })
    }

    fn all_arguments(&mut self, index: u32, arguments: &str) -> Result<Vec<ReplyPiece>, Fault> {
        let block = block(index, 0)?;
        match self.call(index)? {
            Some(call) if !arguments.is_empty() => {
                let rest = call.rest(arguments)?;
                Ok(vec![call.more(block, rest)])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn begin(&mut self, index: u32, item: &Value) -> Result<Vec<ReplyPiece>, Fault> {
        block(index, 0)?;
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                self.message(index)?;
            }
            Some("reasoning") => {
                self.thoughts(index)?;
            }
            Some("function_call") => {
                let call = self.call(index)?.ok_or_else(|| mixed(index))?;
                call.name_after(item);
                call.first = text_at(item, "arguments").to_owned();
            }
            _ => {
                self.items.entry(index).or_insert(OpenItem::Unknown);
            }
        }
        Ok(Vec::new())
    }

    /// The item is complete, and contains everything that has not arrived yet.
    fn finish(&mut self, index: u32, item: &Value) -> Result<Vec<ReplyPiece>, Fault> {
        let block = block(index, 0)?;
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                let parts = item.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let mut pieces = Vec::new();
                for (part, content) in (0..).zip(parts) {
                    match content.get("type").and_then(Value::as_str) {
                        Some("output_text") => pieces.extend(self.all_words(index, part, text_at(content, "text"))?),
                        Some("refusal") => {
                            self.refused = true;
                            pieces.extend(self.all_words(index, part, text_at(content, "refusal"))?);
                        }
                        _ => {}
                    }
                }
                Ok(pieces)
            }
            Some("reasoning") => Ok(match self.thoughts(index)? {
                Some(thoughts) => thoughts.finish(block, item),
                None => Vec::new(),
            }),
            Some("function_call") => {
                let Some(call) = self.call(index)? else { return Ok(Vec::new()) };
                call.name_after(item);
                let whole = text_at(item, "arguments");
                // A call that was cut off before its first argument is not one without arguments.
                if text_at(item, "status") == "incomplete" && whole.is_empty() && call.arguments.is_empty() {
                    return Ok(Vec::new());
                }
                let rest = call.rest(whole)?;
                Ok(vec![call.more(block, rest)])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The message at this place, begun if need be; none if the place is taken by what is not ours.
    fn message(&mut self, index: u32) -> Result<Option<&mut BTreeMap<u32, String>>, Fault> {
        match self.items.entry(index).or_insert_with(|| OpenItem::Message(BTreeMap::new())) {
            OpenItem::Message(parts) => Ok(Some(parts)),
            OpenItem::Unknown => Ok(None),
            _ => Err(mixed(index)),
        }
    }

    fn thoughts(&mut self, index: u32) -> Result<Option<&mut Thoughts>, Fault> {
        match self.items.entry(index).or_insert_with(|| OpenItem::Reasoning(Thoughts::default())) {
            OpenItem::Reasoning(thoughts) => Ok(Some(thoughts)),
            OpenItem::Unknown => Ok(None),
            _ => Err(mixed(index)),
        }
    }

    fn call(&mut self, index: u32) -> Result<Option<&mut ResponsesCall>, Fault> {
        match self.items.entry(index).or_insert_with(|| OpenItem::Call(ResponsesCall::default())) {
            OpenItem::Call(call) => Ok(Some(call)),
            OpenItem::Unknown => Ok(None),
            _ => Err(mixed(index)),
        }
    }

    fn words(&mut self, index: u32, part: u32, text: String) -> Result<Vec<ReplyPiece>, Fault> {
        let block = block(index, part)?;
        let Some(parts) = self.message(index)? else { return Ok(Vec::new()) };
        parts.entry(part).or_default().push_str(&text);
        Ok(vec![ReplyPiece::Text { block, text }])
    }

    /// All the words of a part. Those that have come already stand: they have been shown.
    fn all_words(&mut self, index: u32, part: u32, whole: &str) -> Result<Vec<ReplyPiece>, Fault> {
        block(index, part)?;
        let Some(parts) = self.message(index)? else { return Ok(Vec::new()) };
        let said = parts.get(&part).map_or("", String::as_str);
        match whole.strip_prefix(said) {
            Some(rest) if !rest.is_empty() => {
                let rest = rest.to_owned();
                self.words(index, part, rest)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn think(&mut self, index: u32, from: (ImageSource, u32), text: String) -> Result<Vec<ReplyPiece>, Fault> {
        let block = block(index, 0)?;
        Ok(match self.thoughts(index)? {
            Some(thoughts) if !text.is_empty() => vec![thoughts.more(block, from, text)],
            _ => Vec::new(),
        })
    }

    fn end(&mut self, response: &Value) -> Vec<ReplyPiece> {
        let mut pieces = Vec::new();
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let incomplete = reason.or((text_at(response, "status") == "incomplete").then_some("incomplete"));
        if incomplete.is_none() {
            // A call whose arguments never came has those that it began with, which may be none.
            for (index, item) in &mut self.items {
                if let (OpenItem::Call(call), Ok(block)) = (item, block(*index, 0))
                    && !call.told
                {
                    let first = std::mem::take(&mut call.first);
                    pieces.push(call.more(block, first));
                    self.called = true;
                }
            }
        }
        pieces.extend(response.get("usage").and_then(usage).map(ReplyPiece::Usage));
        pieces.push(ReplyPiece::Stop(match incomplete {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::ContentFiltered,
            Some(other) => StopReason::Other(printable(other, 60)),
            None if self.called => StopReason::ToolUse,
            // The model itself declined; its words say why.
            None if self.refused => StopReason::ContentFiltered,
            None => StopReason::EndTurn,
        }));
        pieces.push(ReplyPiece::End);
        pieces
    }
}

impl Thoughts {
    /// Parts of a summary are paragraphs.
    fn more(&mut self, block: u32, from: (ImageSource, u32), text: String) -> ReplyPiece {
        let another = self.last.is_some_and(|last| last != from);
        self.last = Some(from);
        ReplyPiece::Thinking { block, text: if another { format!("\n\n{text}") } else { text } }
    }

    /// The item is sent back unchanged, so it is the signature of its own summary. Without encrypted content, the
    /// provider would look it up in its storage, where it is not.
    fn finish(&mut self, block: u32, item: &Value) -> Vec<ReplyPiece> {
        if std::mem::replace(&mut self.done, true) {
            return Vec::new();
        }
        let mut pieces = Vec::new();
        let texts = |name: &str| item.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if self.last.is_none() {
            let source = if texts("summary").is_empty() { ImageSource::Reasoning } else { ImageSource::Summary };
            let name = if source == ImageSource::Summary { "summary" } else { "content" };
            for (part, content) in (0..).zip(texts(name)) {
                let text = text_at(content, "text");
                if !text.is_empty() {
                    pieces.push(self.more(block, (source, part), text.to_owned()));
                }
            }
        }
        let returns = !text_at(item, "id").is_empty()
            && (!text_at(item, "encrypted_content").is_empty() || !texts("content").is_empty());
        if returns {
            let text = item.to_string();
            pieces.push(match self.last {
                Some(_) => ReplyPiece::Signature { block, text },
                None => ReplyPiece::Redacted { block, data: text },
            });
        }
        pieces
    }
}

impl ResponsesCall {
    fn name_after(&mut self, item: &Value) {
        let known = |name: &str| Some(text_at(item, name)).filter(|text| !text.is_empty()).map(str::to_owned);
        self.id = known("call_id").or_else(|| known("id")).or(self.id.take());
        self.name = known("name").or(self.name.take());
    }

    fn more(&mut self, block: u32, arguments: String) -> ReplyPiece {
        self.told = true;
        self.arguments.push_str(&arguments);
        ReplyPiece::Tool { block, id: self.id.clone(), name: self.name.clone(), arguments }
    }

    /// The rest of the arguments. If they differ from what has arrived, the call is ambiguous, and a tool must not
    /// run on a guess.
    fn rest(&self, whole: &str) -> Result<String, Fault> {
        let whole = match (whole.is_empty(), self.arguments.is_empty()) {
            (true, true) => &self.first,
            (true, false) => return Ok(String::new()),
            (false, _) => whole,
        };
        if let Some(rest) = whole.strip_prefix(self.arguments.as_str()) {
            return Ok(rest.to_owned());
        }
        let value = |text: &str| serde_json::from_str::<Value>(text).ok();
        if value(whole).is_some_and(|whole| value(&self.arguments) == Some(whole)) {
            return Ok(String::new());
        }
        let name = printable(self.name.as_deref().unwrap_or("a tool"), 60);
        let message = format!("The provider sent two different sets of arguments for one call of {name}.");
        Err(fault(ProblemKind::Protocol, message, Retry::Later { after_ms: None }))
    }
}

/// Items and their parts in one order. A place beyond the bounds is that of no honest reply.
fn block(index: u32, part: u32) -> Result<u32, Fault> {
    if index >= MOST_ITEMS || part >= MOST_PARTS {
        let message = format!(
            "The provider's reply has more than {MOST_ITEMS} items, or one of more than {MOST_PARTS} parts; it was cut off."
        );
        return Err(fault(ProblemKind::Protocol, message, Retry::Never));
    }
    Ok(index * MOST_PARTS + part)
}

fn text_at<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn mixed(index: u32) -> Fault {
    let message = format!("The provider mixed two kinds of content in item {index} of its reply.");
    fault(ProblemKind::Protocol, message, Retry::Never)
}

fn usage(figures: &Value) -> Option<Usage> {
    figures.as_object()?;
    let figure = |place: &str| figures.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    Some(Usage {
        input_tokens: figure("/input_tokens"),
        cached_tokens: figure("/input_tokens_details/cached_tokens"),
        cache_write_tokens: figure("/input_tokens_details/cache_write_tokens"),
        output_tokens: figure("/output_tokens"),
        ..Usage::default()
    })
}

fn unreadable(sent: &SentEvent, error: &serde_json::Error) -> Result<Vec<ReplyPiece>, Fault> {
    let json = serde_json::from_str::<Value>(&sent.data).ok();
    let kind = json.as_ref().and_then(|event| event.get("type")).and_then(Value::as_str).unwrap_or(&sent.name);
    if !kind.is_empty() && !TELLING.contains(&kind) {
        return Ok(vec![ReplyPiece::Alive]);
    }
    Err(http::unreadable(error, &sent.data))
}

/// An error within the stream. It has a code, or at least a type; one that has neither is taken for a
/// passing one, as the API's own advice for those is to try again.
fn failure(error: &Value) -> Fault {
    let codes = ["code", "type"].map(|name| text_at(error, name));
    let code = codes.into_iter().find(|code| !code.is_empty());
    let meaning = codes.into_iter().find_map(ErrorMeaning::from_code).unwrap_or(match code {
        Some(_) => ErrorMeaning { kind: ProblemKind::Refused, may_pass: false, hint: None },
        None => ErrorMeaning { kind: ProblemKind::Overloaded, may_pass: true, hint: None },
    });
    let said = text_at(error, "message");
    let code = printable(code.unwrap_or("an error"), 60);
    let mut problem = Problem::new(meaning.kind, format!("The provider stopped with {code}: {}", printable(said, 500)));
    problem.hint = meaning.hint.map(str::to_owned);
    Fault { problem, retry: if meaning.may_pass { Retry::Later { after_ms: asked_wait(said) } } else { Retry::Never } }
}

/// How long to wait, from the only place where an error within a stream says it: `Please try again in
/// 1m2.5s.`
fn asked_wait(message: &str) -> Option<u64> {
    let (_, mut rest) = message.split_once("try again in ")?;
    let mut wait = None;
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit() && c != '.') {
        let Ok(number) = rest[..end].parse::<f64>() else { break };
        let (unit, after) =
            rest[end..].split_at(rest[end..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len() - end));
        let scale = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            _ => break,
        };
        wait = Some(wait.unwrap_or(0.0) + number * scale);
        rest = after;
    }
    wait.filter(|wait: &f64| wait.is_finite()).map(|wait| wait as u64)
}
