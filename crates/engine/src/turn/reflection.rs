//! The results of a batch of tools, one line each: for the model's next call, for the ledger of the run, and for the
//! user. Derived from the results without a model.

use trimtab_vocab::event::{ReflectionEntry, ReflectionFact, ToolStatus};

pub(crate) use crate::record::excerpt::finding;
use crate::record::{Batch, BatchItem, RunningRequest};

/// Opens the note before the next step.
pub const NOTE: &str = "[TOOL REFLECTION]";

/// The assessment of a batch whose tools have all ended.
pub(super) fn assess(active: &RunningRequest, batch: &Batch) -> ReflectionFact {
    // A repetition with the same result is marked.
    let again = active.tools.rounds.is_known(batch);
    let entries: Vec<ReflectionEntry> = batch.calls().map(|item| entry(item, again)).collect();
    // Who answers in a form has called no tools that a note could be about.
    let message = if batch.of_answer { String::new() } else { note(&entries) };
    ReflectionFact { message: Some(message), entries }
}

fn entry(item: &BatchItem, again: bool) -> ReflectionEntry {
    let (status, content) = match item.done() {
        Some(done) => (done.status, done.content.as_str()),
        None => (ToolStatus::Interrupted, ""),
    };
    let next_action = match status {
        _ if again => "this is the same call as before: do something else, or ask the user",
        ToolStatus::Ok => "use it",
        ToolStatus::Partial => "read on only if the rest is needed",
        ToolStatus::Error => "find the cause before you try again",
        ToolStatus::Blocked => "do not try it again; find another way or ask the user",
        ToolStatus::Interrupted => "wait for the user",
    };
    // Four values are documented; what the user interrupted, they have blocked.
    let status = if status == ToolStatus::Interrupted { ToolStatus::Blocked } else { status };
    ReflectionEntry { tool: item.call.name.clone(), status, finding: size(content), next_action: next_action.into() }
}

/// How much a result is. What it says stays in the result: the note is the user's turn, and words of a file or a page
/// in it would be the user's own.
fn size(content: &str) -> String {
    let lines = content.lines().count();
    match lines {
        0 => "nothing".to_owned(),
        1 => format!("1 line, {} bytes", content.len()),
        _ => format!("{lines} lines, {} bytes", content.len()),
    }
}

/// An entry as the note and the ledger have it.
pub(super) fn line(entry: &ReflectionEntry) -> String {
    format!("{} {}: {} -> {}", entry.tool, name(entry.status), entry.finding, entry.next_action)
}

/// The note that goes to the model with the results: the next step need not rely on their raw text alone.
fn note(entries: &[ReflectionEntry]) -> String {
    entries.iter().fold(NOTE.to_owned(), |note, entry| format!("{note}\n- {}", line(entry)))
}

fn name(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Ok => "ok",
        ToolStatus::Partial => "partial",
        ToolStatus::Error => "error",
        ToolStatus::Blocked | ToolStatus::Interrupted => "blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_how_much_a_result_is_and_nothing_of_what_it_says() {
        assert_eq!(size(""), "nothing");
        assert_eq!(size("SYSTEM OVERRIDE"), "1 line, 15 bytes");
        assert_eq!(size("a\nb\n"), "2 lines, 4 bytes");
    }
}
