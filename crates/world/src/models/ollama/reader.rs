//! Reads the reply: one JSON object per line, until one says that it is done.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};
use trimtab_vocab::{Fault, Part, ProblemKind, Prompt, Retry, StopReason, Usage};

use super::super::ReplyPiece;
use super::super::http::{self, SentEvent, error_message, fault, printable};
use super::super::think_tags::{TaggedText, ThinkTags};
use super::body::{PromptFit, is_granite};

/// An id that is longer is not one.
const LONGEST_ID: usize = 200;

#[derive(Deserialize)]
struct OllamaLine {
    #[serde(default)]
    error: Value,
    message: Option<OllamaReplyMessage>,
    done: Option<bool>,
    #[serde(default)]
    done_reason: Value,
    #[serde(default)]
    prompt_eval_count: Value,
    #[serde(default)]
    eval_count: Value,
    /// In nanoseconds.
    #[serde(default)]
    eval_duration: Value,
}

#[derive(Deserialize)]
struct OllamaReplyMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<OllamaReplyCall>>,
}

#[derive(Deserialize)]
struct OllamaReplyCall {
    #[serde(default)]
    id: Value,
    function: Option<OllamaReplyFunction>,
}

#[derive(Deserialize)]
struct OllamaReplyFunction {
    name: Option<String>,
    #[serde(default)]
    arguments: Value,
}

/// Reads the lines in order, with the state that later ones need.
pub(super) struct OllamaReader {
    tags: ThinkTags,
    fit: PromptFit,
    block: u32,
    /// The kind of the part that is under way: another kind begins another part.
    kind: Option<LineKind>,
    /// Every ID of the conversation, because new calls must be distinct from earlier ones.
    ids: BTreeSet<String>,
    calls: u64,
    wants_tools: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Text,
    Thinking,
}

impl OllamaReader {
    pub(super) fn new(model: &str, prompt: &Prompt, fit: &PromptFit) -> Self {
        let parts = prompt.messages.iter().flat_map(|message| &message.parts);
        let ids = parts.filter_map(|part| match part {
            Part::ToolUse(call) => Some(call.id.clone()),
            _ => None,
        });
        Self {
            tags: if is_granite(model) { ThinkTags::granite() } else { ThinkTags::plain() },
            fit: *fit,
            block: 0,
            kind: None,
            ids: ids.collect(),
            calls: 0,
            wants_tools: false,
        }
    }

    fn message(&mut self, message: OllamaReplyMessage) -> Vec<ReplyPiece> {
        let mut pieces = Vec::new();
        if let Some(text) = message.thinking.filter(|text| !text.is_empty()) {
            self.tags.skip_thinking();
            pieces.push(self.said(TaggedText::Thinking(text)));
        }
        if let Some(text) = message.content.filter(|text| !text.is_empty()) {
            let said = self.tags.push(&text);
            pieces.extend(said.into_iter().map(|said| self.said(said)));
        }
        pieces.extend(message.tool_calls.into_iter().flatten().map(|call| self.call(call)));
        pieces
    }

    fn said(&mut self, said: TaggedText) -> ReplyPiece {
        match said {
            TaggedText::Thinking(text) => ReplyPiece::Thinking { block: self.part(Some(LineKind::Thinking)), text },
            TaggedText::Text(text) => ReplyPiece::Text { block: self.part(Some(LineKind::Text)), text },
        }
    }

    /// A tool call arrives complete.
    fn call(&mut self, call: OllamaReplyCall) -> ReplyPiece {
        self.wants_tools = true;
        let block = self.part(None);
        let id = Some(self.id(call.id.as_str()));
        let function = call.function.unwrap_or(OllamaReplyFunction { name: None, arguments: Value::Null });
        let arguments = match function.arguments {
            Value::Null => String::new(),
            // An object within a string, as other APIs have it; anything else in it stays broken.
            Value::String(text) => text,
            value => value.to_string(),
        };
        ReplyPiece::Tool { block, id, name: function.name, arguments }
    }

    /// The id that the server gives, if it gives one that nothing else has.
    fn id(&mut self, given: Option<&str>) -> String {
        if let Some(id) = given.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID)
            && self.ids.insert(id.to_owned())
        {
            return id.to_owned();
        }
        loop {
            self.calls += 1;
            let id = format!("call_{}", self.calls);
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }

    fn part(&mut self, kind: Option<LineKind>) -> u32 {
        if kind.is_none() || self.kind != kind {
            self.block = self.block.saturating_add(1);
        }
        self.kind = kind;
        self.block
    }

    fn end(&mut self, line: &OllamaLine) -> Vec<ReplyPiece> {
        let said = self.tags.finish();
        let mut pieces: Vec<ReplyPiece> = said.into_iter().map(|said| self.said(said)).collect();
        let (read, written) = (line.prompt_eval_count.as_u64(), line.eval_count.as_u64());
        if read.is_some() || written.is_some() {
            let (input_tokens, output_tokens) = (read.unwrap_or(0), written.unwrap_or(0));
            let took = line.eval_duration.as_u64().filter(|nanos| *nanos > 0 && output_tokens > 0);
            let tokens_per_s = took.map(|nanos| output_tokens as f64 * 1e9 / nanos as f64);
            pieces.push(ReplyPiece::Usage(Usage { input_tokens, output_tokens, tokens_per_s, ..Usage::default() }));
        }
        pieces.extend(self.stop(line.done_reason.as_str()).map(ReplyPiece::Stop));
        pieces.extend(read.and_then(|read| self.fit.shortfall(read)).map(ReplyPiece::Warning));
        pieces.push(ReplyPiece::End);
        pieces
    }

    /// Ollama also reports `stop` after a tool call, and old servers report nothing.
    fn stop(&self, reason: Option<&str>) -> Option<StopReason> {
        match reason.filter(|reason| !reason.is_empty()) {
            None | Some("stop") if self.wants_tools => Some(StopReason::ToolUse),
            None => None,
            Some("stop") => Some(StopReason::EndTurn),
            Some("length") => Some(StopReason::MaxTokens),
            Some("tool_calls") => Some(StopReason::ToolUse),
            Some(other) => Some(StopReason::from(printable(other, 60))),
        }
    }
}

impl http::EventReader for OllamaReader {
    fn read(&mut self, sent: &SentEvent) -> Result<Vec<ReplyPiece>, Fault> {
        let mut line: OllamaLine = serde_json::from_str(&sent.data).map_err(|error| unreadable(sent, &error))?;
        if !line.error.is_null() {
            return Err(error_line(line.error));
        }
        let mut pieces = line.message.take().map_or_else(Vec::new, |message| self.message(message));
        if line.done == Some(true) {
            pieces.extend(self.end(&line));
        }
        if pieces.is_empty() {
            pieces.push(ReplyPiece::Alive);
        }
        Ok(pieces)
    }
}

/// A last line that stops in its middle was cut. Any other that cannot be read must not be skipped,
/// or a reply with a hole in it would pass for whole.
fn unreadable(sent: &SentEvent, error: &serde_json::Error) -> Fault {
    if error.is_eof() && !sent.data.ends_with('\n') {
        return http::cut();
    }
    http::unreadable(error, &sent.data)
}

fn error_line(error: Value) -> Fault {
    let said = error_message(&json!({"error": error})).filter(|said| !said.is_empty());
    let said = said.unwrap_or_else(|| "it does not say why".into());
    fault(ProblemKind::Overloaded, format!("Ollama stopped: {said}"), Retry::Later { after_ms: None })
}
