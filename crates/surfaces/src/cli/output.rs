//! Words for people, objects for programs.
//!
//! Every function here writes foreign text visibly, so that callers need not think of it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::text::Line;
use serde::Serialize;
use trimtab_vocab::{Problem, ProblemKind};

use crate::output::{Ink, StdStream};
pub(super) use crate::palette::no_colour;
pub(super) use crate::words::sanitize;
use crate::words::wrap;

const CLOSED: &str = "standard output was closed";

/// Writes to standard output, whole.
pub(super) fn print(text: &str) -> Result<(), Problem> {
    print_ink(&Ink::text(text))
}

/// Writes styled text to standard output.
pub(super) fn print_ink(ink: &Ink) -> Result<(), Problem> {
    StdStream::Out.write(ink).map_err(unwritten)
}

/// Writes a text to standard output that programs read: unchanged, unless a terminal shows it.
pub(super) fn print_exact(text: &str) -> Result<(), Problem> {
    StdStream::Out.write_exact(text).map_err(unwritten)
}

/// Writes a text to standard output unchanged, because the person asked for that.
pub(super) fn print_raw(text: &str) -> Result<(), Problem> {
    StdStream::Out.write_raw(text).map_err(unwritten)
}

fn unwritten(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Problem::new(ProblemKind::Internal, CLOSED),
        _ => Problem::new(ProblemKind::Store, format!("Standard output cannot be written: {error}."))
            .hint("Is the disk full? The request is saved. Continue with `trimtab resume`."),
    }
}

/// Whether a problem is only that nobody reads us any more.
pub(super) fn is_closed_pipe(problem: &Problem) -> bool {
    problem.message == CLOSED
}

/// Writes one object as a line.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Problem> {
    let line = serde_json::to_string(value)
        .map_err(|error| Problem::new(ProblemKind::Internal, format!("The output cannot be written: {error}.")))?;
    print_exact(&(line + "\n"))
}

/// Writes a line to standard error; a closed standard error is no reason to stop.
pub(super) fn note(line: &str) {
    note_part(&format!("{line}\n"));
}

/// Writes a part of a line to standard error.
pub(super) fn note_part(text: &str) {
    note_ink(&Ink::text(text));
}

/// Writes styled text to standard error.
pub(super) fn note_ink(ink: &Ink) {
    let _ = StdStream::Err.write(ink);
}

/// Tells a problem: what happened, then what to do.
pub(super) fn problem(problem: &Problem) {
    let columns = StdStream::Err.columns().filter(|_| StdStream::Err.is_terminal());
    let told = folded(&format!("error: {}", sanitize(&problem.message)), columns);
    let mut ink = Ink::default();
    match told.strip_prefix("error:").filter(|_| columns.is_some() && !no_colour()) {
        Some(rest) => {
            ink.style("1;31");
            ink.add("error:");
            ink.control("\u{1b}[0m");
            ink.add(rest);
        }
        None => ink.add(&told),
    }
    ink.control("\n");
    note_ink(&ink);
    if let Some(hint) = &problem.hint {
        note(&folded(&format!("  {}", sanitize(hint)), columns));
    }
}

/// Words in lines that fit a terminal of that width, broken between words and indented; the whole where there is none,
/// for whoever reads it there breaks lines in their own way.
fn folded(text: &str, columns: Option<usize>) -> String {
    let Some(width) = columns.filter(|width| *width >= 20) else { return text.to_owned() };
    let rows = text.lines().flat_map(|line| wrap(&Line::from(line.to_owned()), width, 2));
    rows.map(|row| row.to_string()).collect::<Vec<_>>().join("\n")
}

/// Whether the thinking of models is shown whole; the settings say so once.
static SHOWS_THINKING: AtomicBool = AtomicBool::new(false);

pub(super) fn show_thinking(on: bool) {
    SHOWS_THINKING.store(on, Ordering::Relaxed);
}

pub(in crate::cli) fn shows_thinking() -> bool {
    SHOWS_THINKING.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_broken_between_words_on_a_terminal_and_nowhere_else() {
        let text = "  Set a key, or start a model on this machine.";
        assert_eq!(folded(text, None), text);
        assert_eq!(folded(text, Some(30)), "  Set a key, or start a model\n  on this machine.");
    }
}
