//! Whether a person has seen all of what they are asked about: what does not fit is paged through before it can be
//! allowed.

use trimtab_vocab::event::CheckpointKind;

use super::{DialogOutcome, QuestionDialog};

/// How far the rows of a question were read.
#[derive(Debug, Default)]
pub(super) struct ReadProgress {
    /// The first row that is shown.
    pub(super) top: usize,
    /// Rows that were shown at once.
    page: usize,
    /// All rows.
    all: usize,
    /// The last row has been on the screen.
    is_whole: bool,
    /// What is shown now was drawn. Until then no key reads on, or rows would be passed over unseen.
    is_drawn: bool,
}

impl ReadProgress {
    /// So many rows are shown of all; where they begin.
    pub(super) fn show(&mut self, all: usize, page: usize) -> usize {
        (self.all, self.page) = (all, page);
        self.top = self.top.min(all.saturating_sub(page));
        self.is_whole |= self.top + page >= all;
        self.is_drawn = true;
        self.top
    }

    /// Rows below those that are shown.
    pub(super) fn below(&self) -> usize {
        self.all.saturating_sub(self.top + self.page)
    }

    /// Whether there is more than fits.
    pub(super) fn is_long(&self) -> bool {
        self.all > self.page
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// All of it was read elsewhere.
    pub(super) fn finish(&mut self) {
        self.is_whole = true;
    }

    pub(super) fn forward(&mut self) -> DialogOutcome {
        if std::mem::take(&mut self.is_drawn) {
            self.top += self.page.saturating_sub(1).max(1).min(self.below());
        }
        DialogOutcome::Moved
    }

    pub(super) fn back(&mut self) -> DialogOutcome {
        self.top = self.top.saturating_sub(self.page.saturating_sub(1).max(1));
        DialogOutcome::Moved
    }
}

impl QuestionDialog {
    /// Whether an answer cannot be given yet, because not all of what it lets happen was on the screen.
    pub(super) fn is_disabled(&self, at: usize) -> bool {
        let asks = matches!(self.kind, CheckpointKind::Permission | CheckpointKind::Plan | CheckpointKind::Confirm);
        asks && self.choices.get(at).is_some_and(|choice| choice.role.consents()) && !self.reading.is_whole()
    }

    /// The whole change was read in its own view.
    pub(in crate::tui) fn finish_reading(&mut self) {
        self.reading.finish();
    }

    /// Whether something that is asked about has not been on the screen.
    pub(super) fn is_unread(&self) -> bool {
        (0..self.choices.len()).any(|at| self.is_disabled(at))
    }
}
