//! All keys and commands.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::slash::{COMMANDS, SlashSurface};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::theme::{StyleName, Theme};
use crate::words::wrap;

/// Columns for keys.
const KEYS: usize = 22;

#[derive(Debug, Default)]
pub(in crate::tui) struct Help {
    pager: Pager,
}

impl Help {
    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if self.pager.input(input, keys) {
            return ViewOutcome::Moved;
        }
        let TerminalInput::Key(chord) = input else { return ViewOutcome::Moved };
        let closes = matches!(
            keys.action(*chord),
            Some(KeyAction::Interrupt | KeyAction::Quit | KeyAction::Help | KeyAction::Send)
        );
        if closes || chord.typed() == Some('q') { ViewOutcome::Close } else { ViewOutcome::Moved }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, keys: &KeyMap) -> Option<Position> {
        let inner = pager::frame(area, buf, theme, "Help", "↑ ↓ scroll · esc close");
        let rows = rows(usize::from(inner.width), theme, keys);
        let from = self.pager.fit(rows.len(), usize::from(inner.height));
        pager::put(inner, buf, &rows[from..]);
        None
    }
}

fn rows(width: usize, theme: &Theme, keys: &KeyMap) -> Vec<Line<'static>> {
    let row = |key: &str, words: &str| row(key, words, width, theme);
    let mut rows = row("esc esc", "go back to an earlier message");
    rows.extend(row("1 … 9", "answer the question"));
    rows.extend(row("alt-1 … alt-3", "choose a suggested next step"));
    rows.extend(row("@", "add a file; / starts a command, # adds a tag, ! runs your own command"));
    let mut group = None;
    for line in keys.help() {
        if group != Some(line.group) {
            group = Some(line.group);
            rows.push(Line::default());
            rows.push(Line::styled(line.group.title(), theme.style(StyleName::Heading)));
        }
        // A terminal that types letters with Alt has another way to each of them.
        let twin = twin(line.name).map(|name| format!("/{name}"));
        let keys: Vec<String> = [line.keys].into_iter().filter(|keys| !keys.is_empty()).chain(twin).collect();
        rows.extend(row(&keys.join(", "), line.help));
    }
    rows.push(Line::default());
    rows.push(Line::styled("Commands", theme.style(StyleName::Heading)));
    for command in COMMANDS.iter().filter(|command| command.is_on(SlashSurface::Terminal)) {
        let aliases: Vec<String> = command.aliases.iter().map(|alias| format!("/{alias}")).collect();
        let also = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
        rows.extend(row(&format!("/{}", command.name), &format!("{}{also}", command.help)));
    }
    rows
}

/// The command that does the same as a key.
fn twin(action: &str) -> Option<&'static str> {
    let name = if action == "mode" { "plan" } else { action.trim_end_matches("-pending") };
    COMMANDS.iter().map(|command| command.name).find(|command| *command == name)
}

/// A key and what it does, side by side; keys that need more than their column have a row of their own.
fn row(key: &str, words: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let cell = Span::styled(format!("  {key:KEYS$} "), theme.style(StyleName::Key));
    let words = Span::styled(words.to_owned(), theme.style(StyleName::Text));
    if key.width() <= KEYS {
        return wrap(&Line::from(vec![cell, words]), width, KEYS + 3);
    }
    let below = Line::from(vec![Span::raw(" ".repeat(KEYS + 3)), words]);
    wrap(&Line::from(cell), width, 4).into_iter().chain(wrap(&below, width, KEYS + 3)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Palette;

    fn lines(key: &str, words: &str) -> Vec<String> {
        let rows = row(key, words, 60, &Theme::new(Palette::Plain));
        rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn whatever_alt_does_has_another_key_or_a_command() {
        for line in KeyMap::default().help() {
            let has_other_key = line.keys.split(", ").any(|key| !key.starts_with("alt-"));
            assert!(has_other_key || twin(line.name).is_some(), "{} has only {}", line.name, line.keys);
        }
        assert_eq!((twin("edit-pending"), twin("undo")), (Some("edit"), None));
    }

    #[test]
    fn what_keys_do_stands_in_a_column_of_its_own() {
        let column = " ".repeat(25);
        assert_eq!(lines("tab", "send it later"), ["  tab                    send it later"]);
        let long = lines("@", "name a file; / calls a command, # adds a tag");
        assert_eq!(
            long,
            [format!("  @{}name a file; / calls a command, #", " ".repeat(22)), format!("{column}adds a tag")]
        );
        let many = lines("shift-enter, alt-enter, ctrl-j", "begin a new line");
        assert_eq!(many, ["  shift-enter, alt-enter, ctrl-j".to_owned(), format!("{column}begin a new line")]);
    }
}
