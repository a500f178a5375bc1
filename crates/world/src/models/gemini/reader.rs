//! Reads the reply.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use trimtab_vocab::{Fault, Message, Part, ProblemKind, Retry, StopReason, Usage};

use super::body::{ALONE, ON_CALL, ON_TEXT};
use crate::models::ReplyPiece;
use crate::models::http::{self, SentEvent, fault, printable};

/// No honest reply has more parts; what is remembered of each must not fill the memory.
const MOST_BLOCKS: u32 = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk {
    #[serde(default)]
    candidates: Vec<GeminiCandidate>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<UsageMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    #[serde(default)]
    index: u32,
    #[serde(default)]
    content: CandidateContent,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize, Default)]
struct CandidateContent {
    #[serde(default)]
    parts: Vec<CandidatePart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CandidatePart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<CalledFunction>,
}

#[derive(Deserialize)]
struct CalledFunction {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
}

impl UsageMetadata {
    fn figures(&self) -> Usage {
        let input = self.prompt_token_count.unwrap_or(0);
        Usage {
            input_tokens: input.saturating_add(self.tool_use_prompt_token_count.unwrap_or(0)),
            cached_tokens: self.cached_content_token_count.unwrap_or(0).min(input),
            output_tokens: self
                .candidates_token_count
                .unwrap_or(0)
                .saturating_add(self.thoughts_token_count.unwrap_or(0)),
            ..Usage::default()
        }
    }
}

/// Reads the chunks in order, with the state that later ones need.
pub(super) struct GeminiReader {
    /// The IDs of the conversation and of this reply.
    taken: BTreeSet<String>,
    next: u32,
    open: Option<(OpenPart, u32)>,
    called: bool,
    /// How many calls were given an id here.
    numbered: u64,
    finish: Option<StopReason>,
}

/// A part that the next chunk may continue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenPart {
    Words,
    Thoughts,
}

impl http::EventReader for GeminiReader {
    fn read(&mut self, sent: &SentEvent) -> Result<Vec<ReplyPiece>, Fault> {
        let data = sent.data.trim();
        if data.is_empty() {
            return Ok(vec![ReplyPiece::Alive]);
        }
        let value: Value = serde_json::from_str(data).map_err(|error| http::unreadable(&error, data))?;
        let mut pieces = self.value(&value)?;
        if pieces.is_empty() {
            pieces.push(ReplyPiece::Alive);
        }
        Ok(pieces)
    }

    /// Without `alt=sse`, which a gateway may drop, the chunks come as one array.
    fn read_whole(&mut self, document: &Value) -> Option<Result<Vec<ReplyPiece>, Fault>> {
        let chunks = document.as_array().map_or(std::slice::from_ref(document), Vec::as_slice);
        let is_ours = |chunk: &Value| {
            ["candidates", "promptFeedback", "usageMetadata", "error"].iter().any(|name| chunk.get(name).is_some())
        };
        chunks.iter().all(is_ours).then(|| self.whole(chunks))
    }

    fn over(&mut self) -> Vec<ReplyPiece> {
        match self.finish.take() {
            Some(reason) => vec![ReplyPiece::Stop(reason), ReplyPiece::End],
            None => Vec::new(),
        }
    }

    fn said_all(&self) -> bool {
        self.finish.is_some()
    }
}

impl GeminiReader {
    pub(super) fn after(messages: &[Arc<Message>]) -> Self {
        let parts = messages.iter().flat_map(|message| &message.parts);
        let ids = parts.filter_map(|part| match part {
            Part::ToolUse(call) => Some(call.id.clone()),
            _ => None,
        });
        Self { taken: ids.collect(), next: 0, open: None, called: false, numbered: 0, finish: None }
    }

    fn whole(&mut self, chunks: &[Value]) -> Result<Vec<ReplyPiece>, Fault> {
        let mut pieces = Vec::new();
        for chunk in chunks {
            pieces.extend(self.value(chunk)?);
        }
        pieces.extend(http::EventReader::over(self));
        Ok(pieces)
    }

    fn value(&mut self, value: &Value) -> Result<Vec<ReplyPiece>, Fault> {
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(stopped(value, error));
        }
        let chunk = GeminiChunk::deserialize(value).map_err(|error| http::unreadable(&error, &value.to_string()))?;
        self.chunk(chunk)
    }

    fn chunk(&mut self, chunk: GeminiChunk) -> Result<Vec<ReplyPiece>, Fault> {
        let mut pieces = Vec::new();
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            let reason = printable(&reason, 60);
            pieces.push(ReplyPiece::Warning(format!("The provider blocked the prompt ({reason}).")));
            self.finish = Some(StopReason::ContentFiltered);
        }
        // One reply was requested; other candidates are ignored.
        if let Some(candidate) = chunk.candidates.into_iter().find(|candidate| candidate.index == 0) {
            for part in candidate.content.parts {
                self.part(part, &mut pieces)?;
            }
            if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(self.stop_reason(&reason, candidate.finish_message.as_deref())?);
            }
        }
        pieces.extend(chunk.usage_metadata.map(|usage| ReplyPiece::Usage(usage.figures())));
        Ok(pieces)
    }

    fn part(&mut self, part: CandidatePart, pieces: &mut Vec<ReplyPiece>) -> Result<(), Fault> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty() && !part.thought);
        let text = part.text.unwrap_or_default();
        if part.thought {
            if !text.is_empty() {
                let block = self.block(Some(OpenPart::Thoughts))?;
                pieces.push(ReplyPiece::Thinking { block, text });
            }
            return Ok(());
        }
        let is_signed = signature.is_some();
        if let Some(signature) = signature {
            let place = match (&part.function_call, text.is_empty()) {
                (Some(_), _) => ON_CALL,
                (None, false) => ON_TEXT,
                (None, true) => ALONE,
            };
            let block = self.block(None)?;
            pieces.push(ReplyPiece::Redacted { block, data: format!("{place}{signature}") });
        }
        if !text.is_empty() {
            let block = self.block(Some(OpenPart::Words))?;
            pieces.push(ReplyPiece::Text { block, text });
            // A part with a signature stays apart from those without.
            if is_signed {
                self.open = None;
            }
        }
        if let Some(call) = part.function_call {
            pieces.push(self.call(call)?);
        }
        Ok(())
    }

    /// The part that a piece continues, or a new one.
    fn block(&mut self, kind: Option<OpenPart>) -> Result<u32, Fault> {
        if let (Some(kind), Some((open, block))) = (kind, self.open)
            && kind == open
        {
            return Ok(block);
        }
        if self.next >= MOST_BLOCKS {
            let message = format!("The provider's reply has more than {MOST_BLOCKS} parts; it was cut off.");
            return Err(fault(ProblemKind::Protocol, message, Retry::Never));
        }
        let block = self.next;
        self.next += 1;
        self.open = kind.map(|kind| (kind, block));
        Ok(block)
    }

    /// Older models give calls no IDs, but results need them.
    fn call(&mut self, call: CalledFunction) -> Result<ReplyPiece, Fault> {
        self.called = true;
        let block = self.block(None)?;
        let mut id = call.id;
        if id.is_empty() || id.len() > 1_000 || !self.taken.insert(id.clone()) {
            loop {
                self.numbered += 1;
                id = format!("call_{}", self.numbered);
                if self.taken.insert(id.clone()) {
                    break;
                }
            }
        }
        let arguments = if call.args.is_null() { String::new() } else { call.args.to_string() };
        Ok(ReplyPiece::Tool { block, id: Some(id), name: Some(call.name), arguments })
    }

    fn stop_reason(&self, reason: &str, said: Option<&str>) -> Result<StopReason, Fault> {
        Ok(match reason {
            "STOP" if self.called => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => StopReason::ContentFiltered,
            // The model's own mistake; it may do better the next time.
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
                let said = said.map(|said| format!(": {}", printable(said, 300))).unwrap_or_default();
                let message = format!("The model asked for a tool in a form that cannot be read ({reason}){said}");
                return Err(fault(ProblemKind::Protocol, message, Retry::Later { after_ms: None }));
            }
            other => StopReason::Other(printable(other, 60)),
        })
    }
}

/// An error within the stream, which has the form of any other.
fn stopped(document: &Value, error: &Value) -> Fault {
    let later = Retry::Later { after_ms: http::retry_info(document) };
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    let (kind, retry, ..) = http::by_status(status, later);
    let name = error.get("status").and_then(Value::as_str).unwrap_or("an error");
    let said = http::error_message(document).unwrap_or_default();
    fault(kind, format!("The provider stopped with {}: {said}", printable(name, 60)), retry)
}
