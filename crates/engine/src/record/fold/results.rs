//! The form of tool results in the conversation.

use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{INTERRUPT_TOOL, Message, Part, Role, ToolResult};

use crate::record::{Batch, BatchItem, ToolOutcome};

/// The placeholder for a result that never arrived.
pub(super) const INTERRUPTED: fn(&str) -> ToolResult = |id| ToolResult::interrupt(id);
/// The placeholder for a result that is still to arrive.
pub(super) const PASSED_OVER: fn(&str) -> ToolResult = |id| ToolResult::pending(id);

pub(super) fn is_interrupt(content: &str) -> bool {
    content.starts_with(INTERRUPT_TOOL)
}

/// One user message with a result for every tool use, in the model's order, and what goes with them.
pub(super) fn results(
    batch: &Batch,
    missing: fn(&str) -> ToolResult,
    note: Option<String>,
    words: Vec<String>,
) -> Message {
    let mut parts = Vec::with_capacity(batch.items.len() + 1);
    let mut pictures = Vec::new();
    for item in batch.calls() {
        let id = item.call.id.as_str();
        parts.push(Part::ToolResult(match item.done() {
            None => missing(id),
            Some(ToolOutcome { status: ToolStatus::Ok | ToolStatus::Partial, content, images }) => {
                pictures.extend(
                    images
                        .iter()
                        .map(|image| Part::Image { image: image.key.clone(), media_type: image.media_type.clone() }),
                );
                ToolResult::success(id, content)
            }
            Some(ToolOutcome { content, .. }) => ToolResult::error(id, content),
        }));
    }
    append_checks(batch, &mut parts);
    parts.append(&mut pictures);
    parts.extend(note.into_iter().chain(words).map(|text| Part::Text { text }));
    Message { role: Role::User, parts }
}

/// The model has not called the checks, so their results follow in the result of the last call that succeeded. As a text
/// of their own, words of a compiler would be the user's.
fn append_checks(batch: &Batch, parts: &mut [Part]) {
    let done = batch.checks().filter_map(BatchItem::done).map(|done| done.content.as_str());
    let told: Vec<&str> = done.filter(|content| !is_interrupt(content)).collect();
    let results = parts.iter_mut().rev().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    let mut results: Vec<&mut ToolResult> = results.collect();
    let place = results.iter().position(|result| result.is_error != Some(true)).unwrap_or_default();
    if let Some(result) = results.get_mut(place).filter(|_| !told.is_empty()) {
        result.content = format!("{}\n\n{}", result.content.trim_end(), told.join("\n"));
    }
}

/// Tool results as text, because they have no matching call in the conversation.
pub(super) fn in_words(message: Message, named: bool) -> Message {
    let parts = message.parts.into_iter().map(|part| match part {
        Part::ToolResult(result) if !named => Part::Text { text: result.content },
        Part::ToolResult(result) => Part::Text { text: result.late() },
        other => other,
    });
    Message { role: message.role, parts: parts.collect() }
}
