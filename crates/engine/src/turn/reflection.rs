//! What came of a batch of tools, in a line each: for the model before its next step, for the ledger
//! of the run, and for the person. Derived from the results; no model is asked.

use trimtab_vocab::event::{ReflectionEntry, ReflectionFact, ToolStatus};

use super::outcome;
use crate::record::{Batch, BatchItem, RunningRequest};

/// Characters of a finding.
const FINDING: usize = 120;

/// Opens the note before the next step.
pub const NOTE: &str = "[TOOL REFLECTION]";

/// The assessment of a batch whose tools have all ended.
pub(super) fn assess(active: &RunningRequest, batch: &Batch) -> ReflectionFact {
    // The same again with the same end is told apart from the first time.
    let again = active.repeat.as_ref().is_some_and(|repeat| repeat.signature == batch.signature());
    ReflectionFact { entries: batch.items.iter().map(|item| entry(item, again)).collect() }
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
        ToolStatus::Error => "find out why before trying again",
        ToolStatus::Blocked => "do not try it again; choose another way or ask the user",
        ToolStatus::Interrupted => "wait for the user",
    };
    // Four values are documented; what a person interrupted, they have blocked.
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

/// The first words of a result. How a command ended says little without what it wrote.
pub(crate) fn finding(content: &str) -> String {
    let mut lines = content.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("(nothing)");
    let line = match lines.next() {
        Some(second) if first.starts_with(outcome::EXIT_CODE) => format!("{first} {second}"),
        _ => first.to_owned(),
    };
    let mut words: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(FINDING).collect();
    if line.chars().count() > FINDING {
        words.pop();
        words.push('…');
    }
    words
}

/// An entry as the note and the ledger have it.
pub(crate) fn line(entry: &ReflectionEntry) -> String {
    format!("{} {}: {} -> {}", entry.tool, name(entry.status), entry.finding, entry.next_action)
}

/// The note that goes to the model with the results: the next step need not rely on their raw text alone.
pub(crate) fn note(entries: &[ReflectionEntry]) -> String {
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

    #[test]
    fn a_finding_is_the_first_line_that_says_something_and_is_short() {
        assert_eq!(finding("\n\n  hello\nworld"), "hello");
        assert_eq!(finding(""), "(nothing)");
        assert_eq!(
            finding("Exit code 1. It took 2 s.\n\nerror: no such file\nmore"),
            "Exit code 1. It took 2 s. error: no such file"
        );
        assert_eq!(finding("Exit code 0."), "Exit code 0.");
        assert_eq!(finding(&"é".repeat(500)).chars().count(), FINDING);
    }
}
