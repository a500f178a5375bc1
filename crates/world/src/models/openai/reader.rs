//! Reads the reply.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use trimtab_vocab::event::PromptProgress;
use trimtab_vocab::{Fault, Message, Part, Problem, ProblemKind, Retry, StopReason, Usage};

use crate::models::ReplyPiece;
use crate::models::http::{self, ErrorMeaning, SentEvent, fault, printable};
use crate::models::think_tags::{TaggedText, ThinkTags};

/// No honest reply asks for more at once; what is remembered of each must not fill the memory.
const MOST_CALLS: usize = 1_000;
/// The documented limit is 64.
const LONGEST_NAME: usize = 1_000;
/// Reasoning that is stored to be sent back must not be larger than a reply.
const LARGEST_KEPT: usize = 32 * 1024 * 1024;
/// Pieces of such reasoning at most.
const MOST_DETAILS: usize = 10_000;

/// The parts of a reply. A Chat Completions message has one of each of the first two.
const THINKING: u32 = 0;
const WORDS: u32 = 1;
const FIRST_CALL: u32 = 2;

const LATER: Retry = Retry::Later { after_ms: None };
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<WireChoice>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<OpenAiUsage>,
    #[serde(default, deserialize_with = "lenient")]
    x_groq: Option<Groq>,
    /// llama.cpp's.
    #[serde(default, deserialize_with = "lenient")]
    prompt_progress: Option<ReadSoFar>,
    #[serde(default, deserialize_with = "lenient")]
    timings: Option<Timings>,
}

#[derive(Deserialize)]
struct ReadSoFar {
    total: u64,
    processed: u64,
}

#[derive(Deserialize)]
struct Timings {
    predicted_per_second: f64,
}

#[derive(Deserialize)]
struct WireChoice {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<u64>,
    #[serde(default)]
    delta: Option<OpenAiDelta>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    error: Option<Value>,
    /// Moonshot puts it here.
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpenAiDelta {
    content: Option<DeltaText>,
    refusal: Option<String>,
    #[serde(deserialize_with = "lenient")]
    reasoning: Option<String>,
    #[serde(deserialize_with = "lenient")]
    reasoning_content: Option<String>,
    #[serde(deserialize_with = "lenient")]
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
    function_call: Option<FunctionDelta>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DeltaText {
    Text(String),
    /// Mistral's, when the model thinks.
    Parts(Vec<WordsPart>),
}

#[derive(Deserialize)]
struct WordsPart {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<DeltaText>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FunctionDelta {
    name: Option<String>,
    /// Text, documented; some servers send the object itself.
    arguments: Value,
}

#[derive(Deserialize)]
struct Groq {
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<OpenAiUsage>,
    #[serde(default, deserialize_with = "lenient")]
    error: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpenAiUsage {
    #[serde(deserialize_with = "lenient")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    total_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(deserialize_with = "lenient")]
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's.
    #[serde(deserialize_with = "lenient")]
    prompt_cache_hit_tokens: Option<u64>,
    /// OpenRouter's, in US dollars.
    #[serde(deserialize_with = "lenient")]
    cost: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    is_byok: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    cost_details: Option<CostDetails>,
    /// xAI's: ten thousand million ticks are a dollar.
    #[serde(deserialize_with = "lenient")]
    cost_in_usd_ticks: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "lenient")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionDetails {
    #[serde(deserialize_with = "lenient")]
    reasoning_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CostDetails {
    #[serde(deserialize_with = "lenient")]
    upstream_inference_cost: Option<f64>,
}

/// For fields beside the text: a figure that cannot be parsed is no reason to lose a reply.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or(None))
}

impl OpenAiUsage {
    /// None if there are no figures.
    fn figures(&self) -> Option<Usage> {
        if self.prompt_tokens.is_none() && self.completion_tokens.is_none() {
            return None;
        }
        let input = self.prompt_tokens.unwrap_or(0);
        let written = self.completion_tokens.unwrap_or(0);
        let thought = self.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens).unwrap_or(0);
        // xAI counts thinking beside the reply, the others within it; the total tells.
        let beside = self.total_tokens == Some(input.saturating_add(written).saturating_add(thought));
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens).or(self.prompt_cache_hit_tokens).unwrap_or(0);
        Some(Usage {
            input_tokens: input,
            cached_tokens: cached.min(input),
            cache_write_tokens: details.and_then(|details| details.cache_write_tokens).unwrap_or(0).min(input),
            output_tokens: if beside { written.saturating_add(thought) } else { written },
            cost_usd: self.cost_usd(),
            ..Usage::default()
        })
    }

    fn cost_usd(&self) -> Option<f64> {
        let behind = self.cost_details.as_ref().and_then(|details| details.upstream_inference_cost);
        // With a key of the user's own, the router charges its fee and the provider behind it the rest.
        let behind = behind.filter(|_| self.is_byok == Some(true)).unwrap_or(0.0);
        let cost = self.cost.map(|cost| cost + behind).or(self.cost_in_usd_ticks.map(|ticks| ticks / 1e10));
        cost.filter(|cost| cost.is_finite() && *cost >= 0.0)
    }
}

/// Reads the chunks in order, with the state that later ones need.
pub(super) struct OpenAiReader {
    /// The IDs of the conversation, and those of this reply once they are final.
    taken: BTreeSet<String>,
    calls: Vec<PartialCall>,
    /// Many servers pass thoughts on as the model wrote them: in its words, between tags.
    tags: ThinkTags,
    details: Vec<Value>,
    kept: usize,
    refused: bool,
    finish: Option<String>,
    /// Text came after the finish reason: this server sends it early, and only the end of the stream counts.
    early: bool,
    /// As the server measured it.
    tokens_per_s: Option<f64>,
}

/// A tool call as far as it has come.
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    /// Some of its arguments have come, so its name is whole.
    begun: bool,
}

impl http::EventReader for OpenAiReader {
    fn read(&mut self, sent: &SentEvent) -> Result<Vec<ReplyPiece>, Fault> {
        let data = sent.data.trim();
        if data.is_empty() {
            return Ok(vec![ReplyPiece::Alive]);
        }
        if data == "[DONE]" {
            return self.done();
        }
        let event: Value = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(_) if sent.name == "error" => return Err(stopped(&json!({"error": data}))),
            // Events have no names in this API: what has one is not ours to read.
            Err(_) if !matches!(sent.name.as_str(), "" | "message") => return Ok(vec![ReplyPiece::Alive]),
            Err(error) => return Err(http::unreadable(&error, data)),
        };
        if is_error(&event) || (sent.name == "error" && event.get("choices").is_none()) {
            return Err(stopped(&event));
        }
        if !event.is_object() {
            return Err(http::unreadable(&"it is not an object", data));
        }
        let chunk = Chunk::deserialize(event).map_err(|error| http::unreadable(&error, data))?;
        let mut pieces = self.chunk(chunk)?;
        if pieces.is_empty() {
            pieces.push(ReplyPiece::Alive);
        }
        Ok(pieces)
    }

    fn read_whole(&mut self, document: &Value) -> Option<Result<Vec<ReplyPiece>, Fault>> {
        if is_error(document) {
            return Some(Err(stopped(document)));
        }
        document.get("choices")?.as_array().filter(|choices| !choices.is_empty())?;
        Some(self.whole(document.clone()))
    }

    fn over(&mut self) -> Vec<ReplyPiece> {
        match self.finish.take() {
            Some(reason) => self.last_words(&reason),
            None => Vec::new(),
        }
    }

    fn said_all(&self) -> bool {
        self.finish.is_some() && !self.early
    }
}

impl OpenAiReader {
    pub(super) fn after(messages: &[Arc<Message>]) -> Self {
        let parts = messages.iter().flat_map(|message| &message.parts);
        let ids = parts.filter_map(|part| match part {
            Part::ToolUse(call) => Some(call.id.clone()),
            _ => None,
        });
        Self {
            taken: ids.collect(),
            calls: Vec::new(),
            tags: ThinkTags::plain(),
            details: Vec::new(),
            kept: 0,
            refused: false,
            finish: None,
            early: false,
            tokens_per_s: None,
        }
    }

    /// A reply in one document has a `message` where a piece of one has a `delta`.
    fn whole(&mut self, mut document: Value) -> Result<Vec<ReplyPiece>, Fault> {
        for choice in document.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(choice) = choice.as_object_mut()
                && let Some(message) = choice.remove("message")
            {
                choice.insert("delta".to_owned(), message);
            }
        }
        let start = printable(&document.to_string(), 120);
        let chunk = Chunk::deserialize(document).map_err(|error| http::unreadable(&error, &start))?;
        let mut pieces = self.chunk(chunk)?;
        let reason = self.finish.take().unwrap_or_else(|| "stop".to_owned());
        pieces.extend(self.last_words(&reason));
        Ok(pieces)
    }

    fn chunk(&mut self, chunk: Chunk) -> Result<Vec<ReplyPiece>, Fault> {
        let Chunk { choices, usage, x_groq, prompt_progress, timings } = chunk;
        self.tokens_per_s = timings.map(|timings| timings.predicted_per_second).or(self.tokens_per_s);
        if let Some(error) = x_groq.as_ref().and_then(|groq| groq.error.as_ref()) {
            return Err(stopped(&json!({"error": error})));
        }
        let mut figures = usage.or_else(|| x_groq.and_then(|groq| groq.usage));
        let mut pieces = Vec::new();
        let read = prompt_progress.filter(|read| read.total > 0 && read.processed <= read.total);
        if let Some(ReadSoFar { total, processed }) = read {
            pieces.push(ReplyPiece::Progress(PromptProgress { read_tokens: processed, prompt_tokens: total }));
        }
        let told = pieces.len();
        // One reply was requested; other choices are ignored.
        if let Some(choice) = choices.into_iter().flatten().find(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(error) = choice.error.filter(|error| !error.is_null()) {
                return Err(stopped(&json!({"error": error})));
            }
            self.delta(choice.delta.unwrap_or_default(), &mut pieces)?;
            self.early |= self.finish.is_some() && pieces.len() > told;
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(finished(reason)?);
            }
            figures = figures.or(choice.usage);
        }
        let figures = figures.and_then(|figures| figures.figures());
        let tokens_per_s = self.tokens_per_s.filter(|speed| speed.is_finite() && *speed > 0.0);
        pieces.extend(figures.map(|figures| ReplyPiece::Usage(Usage { tokens_per_s, ..figures })));
        Ok(pieces)
    }

    fn delta(&mut self, delta: OpenAiDelta, pieces: &mut Vec<ReplyPiece>) -> Result<(), Fault> {
        let OpenAiDelta {
            content,
            refusal,
            reasoning,
            reasoning_content,
            reasoning_details,
            tool_calls,
            function_call,
        } = delta;
        let details = reasoning_details.unwrap_or_default();
        // The same thoughts may come in several fields, for clients that know one of them.
        let said = |text: &String| !text.is_empty();
        let thoughts = reasoning.filter(said).or(reasoning_content.filter(said));
        let mut thoughts = thoughts.unwrap_or_else(|| details.iter().filter_map(thought).collect());
        self.keep(details)?;
        let mut words = String::new();
        take_apart(content, &mut words, &mut thoughts);
        if let Some(refusal) = refusal.filter(said) {
            self.refused = true;
            words += &refusal;
        }
        if !thoughts.is_empty() {
            self.tags.skip_thinking();
            pieces.push(ReplyPiece::Thinking { block: THINKING, text: thoughts });
        }
        pieces.extend(self.tags.push(&words).into_iter().map(piece_of));
        let legacy = function_call.map(|function| CallDelta { index: Some(0), id: None, function: Some(function) });
        for call in tool_calls.into_iter().flatten().chain(legacy) {
            pieces.extend(self.call(call)?);
        }
        Ok(())
    }

    /// More of a tool call.
    fn call(&mut self, delta: CallDelta) -> Result<Option<ReplyPiece>, Fault> {
        let FunctionDelta { name, arguments } = delta.function.unwrap_or_default();
        let (id, name) = (delta.id.unwrap_or_default(), name.unwrap_or_default());
        let arguments = match arguments {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        if id.is_empty() && name.is_empty() && arguments.is_empty() {
            return Ok(None);
        }
        let place = match self.known(delta.index, &id, &name) {
            Some(place) => place,
            None if self.calls.len() < MOST_CALLS => {
                self.calls.push(PartialCall {
                    index: delta.index,
                    id: String::new(),
                    name: String::new(),
                    begun: false,
                });
                self.calls.len() - 1
            }
            None => {
                let message = format!("The provider's reply asks for more than {MOST_CALLS} tools; it was cut off.");
                return Err(fault(ProblemKind::Protocol, message, Retry::Never));
            }
        };
        let call = &mut self.calls[place];
        // Some servers give each piece its own ID; the first one is the call's.
        let new_id = call.id.is_empty() && !id.is_empty();
        if new_id {
            call.id.clone_from(&id);
            self.kept += id.len();
        }
        // A name may come in pieces, or whole again and again.
        let new_name = !name.is_empty() && name != call.name;
        if new_name {
            call.name += &name;
        }
        if self.kept > LARGEST_KEPT || call.name.len() > LONGEST_NAME {
            return Err(too_much());
        }
        call.begun |= !arguments.is_empty();
        Ok(Some(ReplyPiece::Tool {
            block: block_of(place),
            id: new_id.then_some(id),
            name: new_name.then(|| call.name.clone()),
            arguments,
        }))
    }

    /// Which call a piece belongs to; none: a new one. The documented key is the index. Servers that
    /// leave it out are read by id, then by order; servers that give every call the same are found out
    /// by a piece that can only be the start of another call.
    fn known(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let last = self.calls.len().checked_sub(1);
        let place = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if id.is_empty() => last.filter(|_| name.is_empty()),
            None => self.calls.iter().position(|call| call.id == id).or(last.filter(|_| name.is_empty())),
        }?;
        let call = &self.calls[place];
        let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let other_name = call.begun && name != call.name;
        let another = !name.is_empty() && (other_id || other_name);
        (!another).then_some(place)
    }

    /// Keeps the details of the reasoning as they are to be sent back: whole, in their order. They
    /// come in pieces, like the words.
    fn keep(&mut self, details: Vec<Value>) -> Result<(), Fault> {
        for detail in details.into_iter().filter(Value::is_object) {
            self.kept += detail.to_string().len();
            if self.kept > LARGEST_KEPT || self.details.len() >= MOST_DETAILS {
                return Err(too_much());
            }
            match self.details.last_mut() {
                Some(last) if continues(last, &detail) => extend(last, detail),
                _ => self.details.push(detail),
            }
        }
        Ok(())
    }

    fn done(&mut self) -> Result<Vec<ReplyPiece>, Fault> {
        match self.finish.take() {
            Some(reason) => Ok(self.last_words(&reason)),
            None => Err(fault(
                ProblemKind::Truncated,
                "The provider ended its reply without a reason, so the reply may be incomplete.",
                LATER,
            )),
        }
    }

    /// What only the end of the reply settles.
    fn last_words(&mut self, reason: &str) -> Vec<ReplyPiece> {
        let mut pieces: Vec<ReplyPiece> = self.tags.finish().into_iter().map(piece_of).collect();
        for (place, call) in self.calls.iter().enumerate() {
            if !call.id.is_empty() && self.taken.insert(call.id.clone()) {
                continue;
            }
            // Results refer to these IDs, so each call needs a unique one.
            let id = (place..).map(|n| format!("call_{n}")).find(|id| !self.taken.contains(id)).unwrap_or_default();
            self.taken.insert(id.clone());
            pieces.push(ReplyPiece::Tool {
                block: block_of(place),
                id: Some(id),
                name: None,
                arguments: String::new(),
            });
        }
        if !self.details.is_empty() {
            let text = Value::Array(std::mem::take(&mut self.details)).to_string();
            pieces.push(ReplyPiece::Signature { block: THINKING, text });
        }
        pieces.push(ReplyPiece::Stop(self.stop_reason(reason)));
        pieces.push(ReplyPiece::End);
        pieces
    }

    fn stop_reason(&self, name: &str) -> StopReason {
        let reason = match name {
            "stop" | "eos" | "eos_token" => StopReason::EndTurn,
            "length" | "model_length" => StopReason::MaxTokens,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "content_filter" => StopReason::ContentFiltered,
            _ => StopReason::from(printable(name, 100)),
        };
        match reason {
            // Several servers always report `stop`.
            StopReason::EndTurn if !self.calls.is_empty() => StopReason::ToolUse,
            StopReason::EndTurn if self.refused => StopReason::ContentFiltered,
            reason => reason,
        }
    }
}

fn piece_of(said: TaggedText) -> ReplyPiece {
    match said {
        TaggedText::Thinking(text) => ReplyPiece::Thinking { block: THINKING, text },
        TaggedText::Text(text) => ReplyPiece::Text { block: WORDS, text },
    }
}

fn block_of(place: usize) -> u32 {
    // There are at most MOST_CALLS places.
    u32::try_from(place).unwrap_or(u32::MAX - FIRST_CALL) + FIRST_CALL
}

/// Words and thoughts, from one string or from parts of either kind.
fn take_apart(content: Option<DeltaText>, words: &mut String, thoughts: &mut String) {
    match content {
        None => {}
        Some(DeltaText::Text(text)) => *words += &text,
        Some(DeltaText::Parts(parts)) => {
            for part in parts {
                if matches!(part.r#type.as_deref(), None | Some("text" | "output_text")) {
                    *words += part.text.as_deref().unwrap_or_default();
                }
                let mut inner = String::new();
                take_apart(part.thinking, &mut inner, &mut String::new());
                *thoughts += &inner;
            }
        }
    }
}

/// The readable part of a detail of the reasoning.
fn thought(detail: &Value) -> Option<&str> {
    detail.get("text").or_else(|| detail.get("summary"))?.as_str()
}

/// Whether a detail continues the last one. Encrypted ones arrive complete.
fn continues(last: &Value, detail: &Value) -> bool {
    let same = |field| last.get(field) == detail.get(field);
    let readable = detail.get("type").is_some_and(|kind| kind == "reasoning.text" || kind == "reasoning.summary");
    readable && same("type") && same("index")
}

fn extend(last: &mut Value, detail: Value) {
    let (Value::Object(last), Value::Object(detail)) = (last, detail) else { return };
    for (field, value) in detail {
        match (last.get_mut(&field), value) {
            (Some(Value::String(whole)), Value::String(more)) if field == "text" || field == "summary" => {
                *whole += &more
            }
            (None | Some(Value::Null), value) => {
                last.insert(field, value);
            }
            _ => {}
        }
    }
}

/// A reason that is the end of a reply; the others tell that it broke off.
fn finished(reason: String) -> Result<String, Fault> {
    match reason.as_str() {
        "error" | "abort" | "insufficient_system_resource" => {
            let message = format!("The provider ended its reply early ({reason}).");
            Err(fault(ProblemKind::Overloaded, message, LATER))
        }
        _ => Ok(reason),
    }
}

fn is_error(event: &Value) -> bool {
    let told = match event.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    told || event.get("object").is_some_and(|object| object == "error")
}

/// What an error within the stream means, by its code, its status, or its type. The request had been
/// accepted, so an error that says nothing of its kind is the provider's own.
fn stopped(event: &Value) -> Fault {
    let error = event.get("error").filter(|error| error.is_object()).unwrap_or(event);
    let word = |field: &str| error.get(field).and_then(Value::as_str).filter(|word| !word.is_empty());
    let status = |field: &str| {
        let value = error.get(field)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|status| (400..600).contains(status))
    };
    let status = ["code", "status_code", "status"].into_iter().find_map(status);
    let (kind, retry, hint) = if let Some(meaning) = http::error_code(event).and_then(ErrorMeaning::from_code) {
        (meaning.kind, if meaning.may_pass { LATER } else { Retry::Never }, meaning.hint)
    } else if let Some(status) = status {
        let (kind, retry, _, hint) = http::by_status(status, LATER);
        (kind, retry, hint)
    } else {
        let (kind, retry) = match word("type").unwrap_or_default() {
            "invalid_request_error" | "BadRequestError" | "exceed_context_size_error" | "not_supported_error" => {
                (ProblemKind::Refused, Retry::Never)
            }
            "authentication_error" | "permission_error" => (ProblemKind::Auth, Retry::Never),
            "not_found_error" | "NotFoundError" => (ProblemKind::NotFound, Retry::Never),
            "rate_limit_error" => (ProblemKind::RateLimited, LATER),
            _ => (ProblemKind::Overloaded, LATER),
        };
        (kind, retry, None)
    };
    let said = http::error_message(event);
    let no_tools = said.as_deref().is_some_and(http::says_no_tools);
    let (kind, retry, hint) =
        if no_tools { (ProblemKind::NoTools, Retry::Never, Some(http::NO_TOOLS)) } else { (kind, retry, hint) };
    let name = word("type").or(word("code")).map(|name| printable(name, 60));
    let name = name.or(status.map(|status| format!("error {status}"))).unwrap_or_else(|| "an error".into());
    let message = said.map(|message| format!(": {message}")).unwrap_or_default();
    let mut problem = Problem::new(kind, format!("The provider stopped with {name}{message}"));
    problem.hint = hint.map(str::to_owned);
    Fault { problem, retry }
}

/// A chunk that cannot be read must not be skipped, or a reply with a hole in it would pass for whole.
fn too_much() -> Fault {
    let message = "The provider's reply is too large. It was cut off.";
    fault(ProblemKind::Protocol, message, Retry::Never)
}
