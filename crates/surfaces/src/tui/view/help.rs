//! All keys and commands.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::Outcome;
use super::pager::{self, Pager};
use crate::tui::command::COMMANDS;
use crate::tui::keys::{Action, Input, KeyMap};
use crate::tui::text::wrap;
use crate::tui::theme::{Name, Theme};

/// The help.
#[derive(Debug, Default)]
pub(in crate::tui) struct Help {
    pager: Pager,
}

impl Help {
    pub(super) fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        if self.pager.input(input, keys) {
            return Outcome::Moved;
        }
        let Input::Key(chord) = input else { return Outcome::Moved };
        let closes =
            matches!(keys.action(*chord), Some(Action::Interrupt | Action::Quit | Action::Help | Action::Send));
        if closes || chord.typed() == Some('q') { Outcome::Close } else { Outcome::Moved }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, keys: &KeyMap) -> Option<Position> {
        let inner = pager::frame(area, buf, theme, "Help", "↑ ↓ moves · esc closes");
        let rows = rows(usize::from(inner.width), theme, keys);
        let from = self.pager.fit(rows.len(), usize::from(inner.height));
        pager::put(inner, buf, &rows[from..]);
        None
    }
}

fn rows(width: usize, theme: &Theme, keys: &KeyMap) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut row = |key: &str, words: &str| {
        let line = Line::from(vec![
            Span::styled(format!("  {key:22} "), theme.style(Name::Key)),
            Span::styled(words.to_owned(), theme.style(Name::Text)),
        ]);
        rows.extend(wrap(&line, width, 4));
    };
    row("esc esc", "the changes: look at them, take them back");
    row("1 … 9", "answer a question that is open");
    row("alt-1 … alt-3", "take a next step that was offered");
    row("@", "name a file; / calls a command, # adds a tag, ! runs a command of yours");
    let mut group = None;
    for line in keys.help() {
        if group != Some(line.group) {
            group = Some(line.group);
            rows.push(Line::default());
            rows.push(Line::styled(line.group.title(), theme.style(Name::Heading)));
        }
        let one = Line::from(vec![
            Span::styled(format!("  {:22} ", line.keys), theme.style(Name::Key)),
            Span::styled(line.help, theme.style(Name::Text)),
        ]);
        rows.extend(wrap(&one, width, 4));
    }
    rows.push(Line::default());
    rows.push(Line::styled("Commands", theme.style(Name::Heading)));
    for command in COMMANDS {
        let one = Line::from(vec![
            Span::styled(format!("  /{:21} ", command.name), theme.style(Name::Key)),
            Span::styled(command.help, theme.style(Name::Text)),
        ]);
        rows.extend(wrap(&one, width, 4));
    }
    rows
}
