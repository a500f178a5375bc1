//! Words for people, objects for programs.

use std::io::{self, IsTerminal, Write};

use ratatui::text::Line;
use serde::Serialize;
use trimtab_vocab::{Problem, ProblemKind};

pub(super) use crate::palette::no_colour;
use crate::words::wrap;
pub(super) use crate::words::{age, calm, failed};

const CLOSED: &str = "standard output was closed";

/// Writes to standard output, whole.
pub(super) fn print(text: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Problem::new(ProblemKind::Internal, CLOSED),
        _ => Problem::new(ProblemKind::Store, format!("Standard output cannot be written: {error}."))
            .hint("Is the disk full? The request itself is safe: see `trimtab resume`."),
    })
}

/// Whether a problem is only that nobody reads us any more.
pub(super) fn is_closed_pipe(problem: &Problem) -> bool {
    problem.message == CLOSED
}

/// Writes one object as a line.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Problem> {
    let line = serde_json::to_string(value)
        .map_err(|error| Problem::new(ProblemKind::Internal, format!("The output cannot be written: {error}.")))?;
    print(&(line + "\n"))
}

/// Writes a line to standard error; a closed standard error is no reason to stop.
pub(super) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Tells a problem: what happened, then what to do.
pub(super) fn problem(problem: &Problem) {
    let (bold, plain) = if io::stderr().is_terminal() && !no_colour() { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    let columns = if io::stderr().is_terminal() { crossterm::terminal::size().ok() } else { None };
    let told = folded(&format!("error: {}", calm(&problem.message)), columns);
    note(&told.replacen("error:", &format!("{bold}error:{plain}"), 1));
    if let Some(hint) = &problem.hint {
        note(&folded(&format!("  {}", calm(hint)), columns));
    }
}

/// Words in lines that fit a terminal of that size, broken between words and indented; the whole where there is none,
/// for whoever reads it there breaks lines in their own way.
fn folded(text: &str, size: Option<(u16, u16)>) -> String {
    let Some(width) = size.map(|(columns, _)| usize::from(columns)).filter(|width| *width >= 20) else {
        return text.to_owned();
    };
    let rows = text.lines().flat_map(|line| wrap(&Line::from(line.to_owned()), width, 2));
    rows.map(|row| row.to_string()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_broken_between_words_on_a_terminal_and_nowhere_else() {
        let text = "  Set a key, or start a model on this machine.";
        assert_eq!(folded(text, None), text);
        assert_eq!(folded(text, Some((30, 24))), "  Set a key, or start a model\n  on this machine.");
    }
}
