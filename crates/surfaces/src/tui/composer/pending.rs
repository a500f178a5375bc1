//! What a person said while something ran: shown until it is taken up, and theirs to take back until then.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::chip::Draft;
use crate::diff::visible;
use crate::tui::theme::{Name, Theme};

/// When it reaches what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As soon as it can: it steers.
    Now,
    /// When that has ended.
    Later,
}

/// Something that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What whoever sent it knows it by; empty: it was not sent yet.
    pub id: String,
    /// What was said.
    pub draft: Draft,
    /// When it is taken up.
    pub when: When,
}

/// Everything that waits, in the order in which it was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    waiting: Vec<Waiting>,
}

impl Pending {
    /// Adds something.
    pub fn push(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    /// All of it.
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest that waits for an end, to be sent now.
    pub fn take_next(&mut self) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.when == When::Later)?;
        Some(self.waiting.remove(at))
    }

    /// The latest one, to be edited.
    pub fn take_last(&mut self) -> Option<Waiting> {
        self.waiting.pop()
    }

    /// Removes what was taken up.
    pub fn remove(&mut self, id: &str) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.id == id)?;
        Some(self.waiting.remove(at))
    }

    /// Rows that it wants.
    pub fn height(&self, most: u16) -> u16 {
        u16::try_from(self.waiting.len()).unwrap_or(u16::MAX).min(most)
    }

    /// Draws one row each; `edit` is the key that takes the latest back.
    pub fn draw(&self, area: Rect, buf: &mut Buffer, theme: &Theme, edit: &str) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        // The latest are shown where not all can be: those are the ones that can still be changed.
        let first = self.waiting.len().saturating_sub(usize::from(area.height));
        for (row, (place, waiting)) in (area.y..).zip(self.waiting.iter().enumerate().skip(first)) {
            let (sign, name) = match waiting.when {
                When::Now => ("↳ steer ", Name::Accent),
                When::Later => ("⋯ next  ", Name::Dim),
            };
            let mut room = usize::from(area.width);
            let (x, _) = buf.set_stringn(area.x, row, sign, room, theme.style(name));
            room -= usize::from(x - area.x);
            let line = visible(waiting.draft.line().as_bytes());
            let hint = match place + 1 == self.waiting.len() && !edit.is_empty() {
                true => format!("  {edit} to edit"),
                false => String::new(),
            };
            let for_line = if room > hint.len() + 8 { room - hint.len() } else { room };
            let (x, _) = buf.set_stringn(x, row, &line, for_line, theme.style(Name::Text));
            let room = usize::from(area.right() - x);
            if room >= hint.len() {
                buf.set_stringn(x, row, &hint, room, theme.style(Name::Dim));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Palette;

    fn waiting(id: &str, text: &str, when: When) -> Waiting {
        Waiting { id: id.into(), draft: Draft::new(text), when }
    }

    fn pending() -> Pending {
        let mut pending = Pending::default();
        pending.push(waiting("1", "use tabs", When::Now));
        pending.push(waiting("2", "then run\nthe tests", When::Later));
        pending.push(waiting("3", "and \u{1b}[31mcommit", When::Later));
        pending
    }

    #[test]
    fn what_waits_is_shown_with_when_it_is_taken_up() {
        let area = Rect::new(0, 0, 50, 3);
        let mut buf = Buffer::empty(area);
        pending().draw(area, &mut buf, &Theme::new(Palette::Plain), "alt-up");
        let row = |y| (0..50).map(|x| buf[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        insta::assert_snapshot!((0..3).map(row).collect::<Vec<_>>().join("\n"), @"
        ↳ steer use tabs
        ⋯ next  then run the tests
        ⋯ next  and ^[[31mcommit  alt-up to edit
        ");
        for (width, height) in (0..30).flat_map(|width| (0..4).map(move |height| (width, height))) {
            let area = Rect::new(0, 0, width, height);
            pending().draw(area, &mut Buffer::empty(area), &Theme::new(Palette::Plain), "alt-up");
        }
    }

    #[test]
    fn the_latest_comes_back_to_be_edited_and_the_oldest_goes_first() {
        let mut pending = pending();
        assert_eq!(pending.take_last().map(|waiting| waiting.id), Some("3".into()));
        assert_eq!(pending.take_next().map(|waiting| waiting.id), Some("2".into()));
        assert_eq!(pending.take_next(), None, "what steers does not wait for an end");
        assert_eq!(pending.remove("1").map(|waiting| waiting.when), Some(When::Now));
        assert!(pending.is_empty());
    }
}
