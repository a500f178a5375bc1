//! The form of tool results in the conversation.

use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{INTERRUPT_TOOL, Message, Part, Role, ToolResult};

use crate::record::{Batch, ToolOutcome};

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
    for item in &batch.items {
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
    parts.append(&mut pictures);
    parts.extend(note.into_iter().chain(words).map(|text| Part::Text { text }));
    Message { role: Role::User, parts }
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
