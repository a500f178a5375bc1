//! What was said before: going back and forth in it.

use super::chip::ComposerDraft;

/// What is kept in memory.
pub(crate) const MOST: usize = 1_000;

/// Earlier drafts, the oldest first, and where in them a person is.
#[derive(Debug, Clone, Default)]
pub(super) struct DraftHistory {
    said: Vec<ComposerDraft>,
    /// Which one is shown, and what was being written before.
    shown: Option<(usize, ComposerDraft)>,
}

impl DraftHistory {
    pub(super) fn set(&mut self, said: Vec<ComposerDraft>) {
        let from = said.len().saturating_sub(MOST);
        self.said = said.into_iter().skip(from).collect();
        self.shown = None;
    }

    /// The latest first, each text once.
    pub(super) fn distinct(&self) -> Vec<&ComposerDraft> {
        let mut seen = std::collections::HashSet::new();
        self.said.iter().rev().filter(|draft| seen.insert(draft.line())).collect()
    }

    /// Adds what was said; saying the same again adds nothing.
    pub(super) fn add(&mut self, draft: ComposerDraft) {
        self.shown = None;
        if self.said.last() != Some(&draft) && !draft.is_empty() {
            self.said.push(draft);
        }
        if self.said.len() > MOST {
            self.said.remove(0);
        }
    }

    /// What is shown was changed: it is a draft of its own now.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }

    /// The one before; what is being written is kept for the way back.
    pub(super) fn older(&mut self, now: impl FnOnce() -> ComposerDraft) -> Option<ComposerDraft> {
        let at = match &self.shown {
            Some((at, _)) => at.checked_sub(1)?,
            None => self.said.len().checked_sub(1)?,
        };
        let now = self.shown.take().map_or_else(now, |(_, kept)| kept);
        self.shown = Some((at, now));
        self.said.get(at).cloned()
    }

    /// The one after, at last what was being written.
    pub(super) fn newer(&mut self) -> Option<ComposerDraft> {
        let (at, kept) = self.shown.take()?;
        if at + 1 >= self.said.len() {
            return Some(kept);
        }
        self.shown = Some((at + 1, kept));
        self.said.get(at + 1).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_and_forth_returns_to_what_was_being_written() {
        let mut history = DraftHistory::default();
        for text in ["a", "b", "b", " "] {
            history.add(ComposerDraft::new(text));
        }
        let distinct = |history: &DraftHistory| history.distinct().iter().map(|draft| draft.text()).collect::<Vec<_>>();
        history.add(ComposerDraft::new("a"));
        assert_eq!(distinct(&history), ["a", "b"], "a search lists each text once, the latest first");
        history.said.pop();
        let now = || ComposerDraft::new("draft");
        assert_eq!(history.newer(), None);
        assert_eq!(history.older(now), Some(ComposerDraft::new("b")));
        assert_eq!(history.older(now), Some(ComposerDraft::new("a")));
        assert_eq!(history.older(now), None, "there is no older one");
        assert_eq!(history.newer(), Some(ComposerDraft::new("b")));
        assert_eq!(history.newer(), Some(ComposerDraft::new("draft")));
        assert_eq!(history.newer(), None);
    }
}
