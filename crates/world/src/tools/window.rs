//! Numbered lines of a text, as many as fit.

use trimtab_vocab::event::ToolStatus;

/// Lines that are shown at once.
const MOST_LINES: u64 = 2_000;
/// Bytes that are shown at once.
const MOST_BYTES: usize = 30 * 1024;
/// Characters of each line that are shown.
pub(super) const LONGEST_LINE: usize = 2_000;

/// The part of a text that is shown.
pub(super) struct Window {
    first: u64,
    most: u64,
    shown: u64,
    text: String,
    is_full: bool,
    cut_lines: u64,
    notes: Vec<String>,
}

impl Window {
    /// `limit` lines from `offset` on. Zero, which models send for "no matter", means none given.
    pub(super) fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        let most = limit.filter(|limit| *limit > 0).unwrap_or(MOST_LINES).min(MOST_LINES);
        Self {
            first: offset.unwrap_or(1).max(1),
            most,
            shown: 0,
            text: String::new(),
            is_full: false,
            cut_lines: 0,
            notes: Vec::new(),
        }
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether a further line may fit.
    pub(super) fn has_room(&self) -> bool {
        !self.is_full && self.shown < self.most
    }

    /// The next line, without its end. Whether it fitted.
    pub(super) fn push(&mut self, line: &str) -> bool {
        if self.shown == self.most {
            self.is_full = true;
        }
        if self.is_full {
            return false;
        }
        let end = line.char_indices().nth(LONGEST_LINE).map(|(end, _)| end);
        let shown = &line[..end.unwrap_or(line.len())];
        let mark = if end.is_some() { "… [cut]" } else { "" };
        // PostgreSQL takes no NUL in a text, and it means nothing to a model.
        let shown = shown.replace('\0', "\u{2400}");
        let numbered = format!("{}\t{shown}{mark}\n", self.first + self.shown);
        if self.text.len() + numbered.len() > MOST_BYTES {
            self.is_full = true;
            return false;
        }
        self.text.push_str(&numbered);
        self.shown += 1;
        self.cut_lines += u64::from(end.is_some());
        true
    }

    /// Something to know about the text, said after it.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// What the model reads. `whole` says of what the lines are a part ("120 lines"), `more` whether
    /// any follow.
    pub(super) fn finish(mut self, whole: &str, more: bool) -> (ToolStatus, String) {
        let last = self.first + self.shown.saturating_sub(1);
        if self.cut_lines > 0 {
            self.text.push_str(&format!(
                "[Lines are cut at {LONGEST_LINE} characters: {} here. Use `search` to see the parts that matter.]\n",
                self.cut_lines
            ));
        }
        for note in &self.notes {
            self.text.push_str(&format!("[{note}]\n"));
        }
        if more {
            self.text.push_str(&format!(
                "[Lines {} to {last} of {whole}. Read on with offset {}.]",
                self.first,
                last + 1
            ));
        } else if self.first > 1 {
            self.text.push_str(&format!("[Lines {} to {last} of {whole}: the end.]", self.first));
        }
        let is_part = more || self.cut_lines > 0;
        let text = self.text.trim_end_matches('\n').to_owned();
        (if is_part { ToolStatus::Partial } else { ToolStatus::Ok }, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_shown_with_numbers_and_nothing_else() {
        let mut window = Window::new(None, None);
        assert!(window.push("one") && window.push(""));
        let (status, text) = window.finish("2 lines", false);
        assert_eq!((status, text.as_str()), (ToolStatus::Ok, "1\tone\n2\t"));
    }

    #[test]
    fn a_window_closes_at_its_lines_and_at_its_bytes() {
        let mut window = Window::new(Some(0), Some(1_000_000));
        assert!((0..2_000).all(|_| window.push("x")));
        assert!(!window.has_room() && !window.push("x"));
        let mut window = Window::new(None, None);
        let pushed = (0..2_000).take_while(|_| window.push(&"x".repeat(1_000))).count();
        assert_eq!(pushed, 30);
        let (status, text) = window.finish("100 lines", true);
        assert_eq!(status, ToolStatus::Partial);
        assert!(text.ends_with("[Lines 1 to 30 of 100 lines. Read on with offset 31.]"), "{text}");
    }

    #[test]
    fn a_long_line_is_cut_between_characters_where_one_can_see_it() {
        let mut window = Window::new(None, None);
        window.push(&"ä".repeat(2_001));
        window.push(&"ä".repeat(2_000));
        let (status, text) = window.finish("2 lines", false);
        assert_eq!(status, ToolStatus::Partial);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], format!("1\t{}… [cut]", "ä".repeat(2_000)));
        assert_eq!(lines[1], format!("2\t{}", "ä".repeat(2_000)));
        assert!(lines[2].starts_with("[Lines are cut at 2000 characters: 1 here."), "{}", lines[2]);
    }
}
