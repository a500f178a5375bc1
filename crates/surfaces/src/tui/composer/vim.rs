//! The composer with the keys of Vim: a mode in which letters are commands, and one in which they are text.

use super::text::{left, line_end, line_start, right, word_end, word_left, word_next};
use super::{Composer, ComposerOutcome};
use crate::tui::keys::KeyAction;

/// Which mode it is in, and what was typed of a command so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::tui) struct VimState {
    pub(super) is_normal: bool,
    /// `d`, `c` or `g`, which wait for the next letter.
    pending: Option<char>,
}

impl VimState {
    /// The mode, as the status line names it.
    pub(in crate::tui) fn name(self) -> &'static str {
        if self.is_normal { "NORMAL" } else { "INSERT" }
    }
}

/// Vim's keys.
impl Composer {
    /// Switches Vim's keys on or off. They begin with text, because most messages are typed and sent.
    pub fn set_vim(&mut self, on: bool) {
        self.vim = on.then(VimState::default);
    }

    /// The mode, if Vim's keys are on.
    pub fn vim_mode(&self) -> Option<&'static str> {
        self.vim.map(VimState::name)
    }

    /// Esc goes from text to commands. With nothing written there is nothing to command, so it means what it means
    /// elsewhere, such as stopping a request.
    pub(super) fn vim_escape(&mut self) -> Option<ComposerOutcome> {
        let vim = self.vim.as_mut()?;
        let was_pending = vim.pending.take().is_some();
        if vim.is_normal || self.editor.text().is_empty() {
            return was_pending.then_some(ComposerOutcome::Moved);
        }
        vim.is_normal = true;
        let (text, at) = (self.editor.text(), self.editor.cursor());
        let to = if at > line_start(text, at) { left(text, at) } else { at };
        self.editor.move_cursor(to);
        Some(ComposerOutcome::Moved)
    }

    /// What a letter does while letters are commands; nothing if they are text.
    pub(super) fn vim_letter(&mut self, c: char) -> Option<ComposerOutcome> {
        let vim = self.vim.as_mut().filter(|vim| vim.is_normal)?;
        if let Some(first) = vim.pending.take() {
            return Some(self.vim_two(first, c));
        }
        if matches!(c, 'd' | 'c' | 'g') {
            vim.pending = Some(c);
            return Some(ComposerOutcome::Moved);
        }
        self.vim_change(c).or_else(|| self.vim_move(c)).or_else(|| match c {
            // These begin a command line or the help where nothing is written.
            '/' | '!' if self.is_empty() => {
                self.vim_insert();
                None
            }
            '?' if self.is_empty() => None,
            _ => Some(ComposerOutcome::Moved),
        })
    }

    fn vim_insert(&mut self) -> ComposerOutcome {
        self.vim.iter_mut().for_each(|vim| *vim = VimState::default());
        ComposerOutcome::Moved
    }

    fn vim_insert_at(&mut self, at: usize) -> ComposerOutcome {
        self.editor.move_cursor(at);
        self.vim_insert()
    }

    /// Commands that go somewhere.
    fn vim_move(&mut self, c: char) -> Option<ComposerOutcome> {
        if let 'j' | 'k' = c {
            return Some(self.go_by_row(c == 'k'));
        }
        let (text, at) = (self.editor.text(), self.editor.cursor());
        let (start, end) = (line_start(text, at), line_end(text, at));
        let to = match c {
            'h' => {
                if at > start {
                    left(text, at)
                } else {
                    at
                }
            }
            'l' => {
                if at < end {
                    right(text, at)
                } else {
                    at
                }
            }
            'w' => word_next(text, at),
            'b' => word_left(text, at),
            'e' => word_end(text, at),
            '0' => start,
            '^' => end.min(start + text[start..end].len() - text[start..end].trim_start().len()),
            '$' => {
                if end > start {
                    left(text, end)
                } else {
                    end
                }
            }
            'G' => text.len(),
            _ => return None,
        };
        self.editor.move_cursor(to);
        self.goal = None;
        Some(ComposerOutcome::Moved)
    }

    /// Commands that change the text, or go over to writing.
    fn vim_change(&mut self, c: char) -> Option<ComposerOutcome> {
        let (text, at) = (self.editor.text(), self.editor.cursor());
        let (start, end) = (line_start(text, at), line_end(text, at));
        Some(match c {
            'i' => self.vim_insert(),
            'a' => self.vim_insert_at(if at < end { right(text, at) } else { at }),
            'I' => self.vim_insert_at(start),
            'A' => self.vim_insert_at(end),
            'o' => {
                self.editor.replace(end..end, "\n");
                self.vim_insert();
                self.after_change()
            }
            'O' => {
                self.editor.replace(start..start, "\n");
                self.vim_insert_at(start);
                self.after_change()
            }
            'x' => self.vim_cut(at..if at < end { right(text, at) } else { at }),
            'D' => self.vim_cut(at..end),
            'C' => {
                self.vim_insert();
                self.vim_cut(at..end)
            }
            'u' => self.edit(KeyAction::Undo),
            'p' => self.vim_put(true),
            'P' => self.vim_put(false),
            _ => return None,
        })
    }

    /// Commands of two letters.
    fn vim_two(&mut self, first: char, second: char) -> ComposerOutcome {
        let (text, at) = (self.editor.text(), self.editor.cursor());
        let (start, end) = (line_start(text, at), line_end(text, at));
        let part = match (first, second) {
            ('g', 'g') => {
                self.editor.move_cursor(0);
                return ComposerOutcome::Moved;
            }
            // A line goes with its end, the last one with the end before it.
            ('d', 'd') if end < text.len() => start..end + 1,
            ('d', 'd') => start.saturating_sub(1)..end,
            ('c', 'c') => start..end,
            ('d', 'w') => at..word_next(text, at).min(end.max(at)),
            // Vim changes a word without the blanks after it.
            ('c', 'w') => at..after(text, word_end(text, at)).min(end),
            ('d' | 'c', 'e') => at..after(text, word_end(text, at)).min(end),
            ('d' | 'c', 'b') => word_left(text, at)..at,
            ('d' | 'c', '$') => at..end,
            ('d' | 'c', '0') => start..at,
            _ => return ComposerOutcome::Moved,
        };
        if first == 'c' {
            self.vim_insert();
        }
        let outcome = self.vim_cut(part);
        if (first, second) == ('d', 'd') {
            self.go_to_line_start();
        }
        outcome
    }

    fn go_to_line_start(&mut self) {
        let to = line_start(self.editor.text(), self.editor.cursor());
        self.editor.move_cursor(to);
    }

    fn vim_cut(&mut self, part: std::ops::Range<usize>) -> ComposerOutcome {
        if part.is_empty() {
            return ComposerOutcome::Moved;
        }
        let is_normal = self.vim.is_some_and(|vim| vim.is_normal);
        self.editor.cut_part(part);
        let (text, at) = (self.editor.text(), self.editor.cursor());
        // A command stands on a letter, and behind the last one there is none.
        if is_normal && at == line_end(text, at) && at > line_start(text, at) {
            let to = left(text, at);
            self.editor.move_cursor(to);
        }
        self.after_change()
    }

    fn vim_put(&mut self, is_after: bool) -> ComposerOutcome {
        let Some(cut) = self.editor.last_cut().map(str::to_owned) else { return ComposerOutcome::Moved };
        let (text, at) = (self.editor.text(), self.editor.cursor());
        let (start, end) = (line_start(text, at), line_end(text, at));
        let line = cut.strip_suffix('\n').or_else(|| cut.strip_prefix('\n'));
        match line {
            Some(line) if is_after => self.editor.replace(end..end, &format!("\n{line}")),
            Some(line) => {
                self.editor.replace(start..start, &format!("{line}\n"));
                self.editor.move_cursor(start);
            }
            None => {
                let to = if is_after && at < end { right(text, at) } else { at };
                self.editor.replace(to..to, &cut);
            }
        }
        let changed = self.after_change();
        if line.is_some() {
            self.go_to_line_start();
        }
        changed
    }
}

/// The place behind the letter at a place.
fn after(text: &str, at: usize) -> usize {
    if at < text.len() { right(text, at) } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::{KeyMap, TerminalInput};

    /// The text and the place of the cursor after these keys, and the mode.
    fn typed(before: &str, keys: &str) -> (String, &'static str) {
        let map = KeyMap::default();
        let mut composer = Composer::new(".");
        composer.set_vim(true);
        let mut press = |key: &str| {
            composer.input(&TerminalInput::Key(key.parse().expect("a key")), &map);
        };
        for c in before.chars() {
            match c {
                '\n' => press("ctrl-j"),
                ' ' => press("space"),
                c => press(&c.to_string()),
            }
        }
        for c in keys.chars() {
            match c {
                '<' => press("esc"),
                ' ' => press("space"),
                c => press(&c.to_string()),
            }
        }
        let (text, at) = (composer.editor.text(), composer.editor.cursor());
        (format!("{}|{}", &text[..at], &text[at..]), composer.vim_mode().expect("a mode"))
    }

    #[test]
    fn letters_move_and_change_as_in_vim() {
        for (before, keys, after) in [
            ("one two three", "<", "one two thre|e"),
            ("one two three", "<0w", "one |two three"),
            ("one two three", "<bb", "one |two three"),
            ("one two three", "<0e", "on|e two three"),
            ("one two three", "<0ee", "one tw|o three"),
            ("one two three", "<0$", "one two thre|e"),
            ("one two three", "<0llh", "o|ne two three"),
            ("one two three", "<0x", "|ne two three"),
            ("one two three", "<x", "one two thr|e"),
            ("one two three", "<0dw", "|two three"),
            ("one two three", "<0wD", "one| "),
            ("one\ntwo\nthree", "<kdd", "one\n|three"),
            ("one\ntwo\nthree", "<dd", "one\n|two"),
            ("one\ntwo", "<0k", "|one\ntwo"),
            ("one\ntwo", "<ggdd", "|two"),
            ("one two", "<0dwu", "|one two"),
            ("one two", "<0xp", "no|e two"),
            ("one\ntwo", "<kddp", "two\n|one"),
            ("one\ntwo", "<ddP", "|two\none"),
            ("größe", "<0x", "|röße"),
        ] {
            let expected = (after.to_owned(), "NORMAL");
            assert_eq!(typed(before, keys), expected, "{before:?} {keys}");
        }
    }

    #[test]
    fn commands_go_over_to_writing_and_esc_goes_back() {
        for (before, keys, after) in [
            ("one two", "<0iX", "X|one two"),
            ("one two", "<0aX", "oX|ne two"),
            ("one two", "<0AX", "one twoX|"),
            ("one two", "<IX", "X|one two"),
            ("one two", "<0oX", "one two\nX|"),
            ("one two", "<0OX", "X|\none two"),
            ("one two", "<0cwX", "X| two"),
            ("one two", "<ccX", "X|"),
            ("one two", "<0wCX", "one X|"),
            ("", "<i", "i|"),
        ] {
            assert_eq!(typed(before, keys), (after.to_owned(), "INSERT"), "{before:?} {keys}");
        }
    }
}
