//! Words for people, objects for programs.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use ratatui::text::Line;
use serde::Serialize;
use trimtab_vocab::{Problem, ProblemKind, Time};

pub(super) use crate::palette::no_colour;
use crate::tui::text::wrap;

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

/// Words of others as a sentence, so that another one may follow.
pub(crate) fn sentence(text: &str) -> Cow<'_, str> {
    let ends = text.trim_end().ends_with(['.', '!', '?', '…']);
    if ends { Cow::Borrowed(text) } else { Cow::Owned(format!("{}.", text.trim_end())) }
}

/// How a call failed, as a sentence; what failed the same way just before is not told at length again.
pub(crate) fn failed(before: &mut String, message: &str) -> String {
    if before == message {
        return "Failed again in the same way.".to_owned();
    }
    message.clone_into(before);
    sentence(message).into_owned()
}

/// Text from elsewhere, fit for a terminal: control characters could move the cursor, change the
/// title or worse.
pub(crate) fn calm(text: &str) -> Cow<'_, str> {
    let is_wild = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(is_wild) {
        Cow::Owned(text.chars().map(|c| if is_wild(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// How long ago something was, in a word or two.
pub(crate) fn age(then: Time, now: Time) -> String {
    let seconds = (now.millis() - then.millis()).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..172_800 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(calm("a\u{1b}]0;x\u{7}b\r\u{9b}31m"), "a\u{fffd}]0;x\u{fffd}b\u{fffd}\u{fffd}31m");
        assert_eq!(calm("two\n\tlines é 🦀"), "two\n\tlines é 🦀");
        assert_eq!(calm("x\u{202e}txt.exe"), "x\u{fffd}txt.exe");
    }

    #[test]
    fn what_fails_in_the_same_way_is_told_at_length_once() {
        let mut before = String::new();
        assert_eq!(failed(&mut before, "No connection"), "No connection.");
        assert_eq!(failed(&mut before, "No connection"), "Failed again in the same way.");
        assert_eq!(failed(&mut before, "It broke."), "It broke.");
    }

    #[test]
    fn problems_are_broken_between_words_on_a_terminal_and_nowhere_else() {
        let text = "  Set a key, or start a model on this machine.";
        assert_eq!(folded(text, None), text);
        assert_eq!(folded(text, Some((30, 24))), "  Set a key, or start a model\n  on this machine.");
    }

    #[test]
    fn ages_are_short() {
        let at = |seconds: i64| age(Time::from_millis(0), Time::from_millis(seconds * 1_000));
        assert_eq!([at(5), at(90), at(7_200), at(400_000)], ["5s ago", "1m ago", "2h ago", "4d ago"]);
        assert_eq!(age(Time::from_millis(9_000), Time::from_millis(0)), "0s ago");
    }
}
