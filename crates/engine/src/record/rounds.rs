//! Whether the rounds of a request make progress. A round is a reply and the results of its tools.

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::FileWrite;

use super::{Batch, BatchItem};
use crate::record::excerpt::timeless;
use crate::tools::REPEATED;

/// How the result of an edit begins whose text is there already.
pub(crate) const ALREADY_IN_PLACE: &str = "Already in place, nothing to do";

/// Rounds without progress that are tolerated when the model repeats several calls.
const PATIENCE: u32 = 3;
/// Rounds without progress that are tolerated when the model repeats exactly the same calls, or was told that it
/// repeats itself.
const PATIENCE_WITH_THE_SAME: u32 = 1;

/// The progress of a request, round by round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoundHistory {
    /// The files that the request has changed, as it left them: the same call means something else once they differ.
    files: BTreeMap<String, Option<String>>,
    /// What the files were when the last reply came.
    state: u64,
    /// How often each call was made, in the state that it was made in.
    calls: BTreeMap<u64, u32>,
    /// How often a call had the same result in the same state.
    results: BTreeMap<u64, u32>,
    /// Replies in words.
    words: BTreeSet<u64>,
    /// The last calls.
    last: u64,
    /// Rounds in a row that brought nothing new.
    idle: u32,
    /// The model was warned about repeating itself, without progress since.
    warned: bool,
    /// The last reply says in words what an earlier one has said.
    says_the_same: bool,
}

/// Whether calls repeat earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// They may bring something new.
    None,
    /// They had the same result so often, and the model has not been told.
    Again { times: u32 },
    /// The model was warned and still repeats itself.
    Endless,
}

impl RoundHistory {
    /// A reply has come.
    pub(super) fn replied(&mut self, words: &str, has_calls: bool) {
        self.state = hash(&self.files.iter().map(|(path, hash)| format!("{path}\0{hash:?}\0")).collect::<String>());
        self.says_the_same = !has_calls && !self.words.insert(hash(words.trim()));
    }

    pub(super) fn changed(&mut self, writes: &[FileWrite]) {
        let after = |write: &FileWrite| write.after.as_ref().map(|after| after.hash.clone());
        self.files.extend(writes.iter().map(|write| (write.path.clone(), after(write))));
    }

    /// The calls of a reply have all ended.
    pub(super) fn close(&mut self, batch: &Batch) {
        let (mut is_new, mut is_refused) = (false, false);
        for item in batch.calls() {
            let Some(done) = item.done() else { continue };
            if done.content.starts_with(REPEATED) {
                is_refused = true;
                continue;
            }
            let (call, result) = (self.call(item), self.result(item));
            *self.calls.entry(call).or_default() += 1;
            let times = self.results.entry(result).or_default();
            *times += 1;
            is_new |= *times == 1 && !done.content.starts_with(ALREADY_IN_PLACE);
        }
        self.last = hash(&batch.signature());
        self.warned = !is_new && (self.warned || is_refused);
        self.idle = if is_new || is_refused { 0 } else { self.idle + 1 };
    }

    /// Starts over: the user wants it to continue, or the model no longer sees its earlier results.
    pub(super) fn restart(&mut self) {
        *self = Self { files: std::mem::take(&mut self.files), ..Self::default() };
    }

    /// Whether these calls, which are still to be made, only repeat what was done.
    pub(crate) fn repetition(&self, batch: &Batch) -> Repetition {
        let times = batch.calls().map(|item| self.calls.get(&self.call(item)).copied().unwrap_or(0)).min();
        let Some(times @ 1..) = times else { return Repetition::None };
        let is_same = self.last == hash(&batch.signature());
        let patience = if is_same || self.warned { PATIENCE_WITH_THE_SAME } else { PATIENCE };
        match self.idle >= patience {
            false => Repetition::None,
            true if self.warned => Repetition::Endless,
            true => Repetition::Again { times },
        }
    }

    /// Whether these calls had the same results before.
    pub(crate) fn is_known(&self, batch: &Batch) -> bool {
        batch.calls().all(|item| self.results.contains_key(&self.result(item)))
    }

    /// Whether the last reply, which calls nothing, says what an earlier one of the request has said.
    pub(crate) fn says_the_same(&self) -> bool {
        self.says_the_same
    }

    /// Whether the request has changed files.
    pub(crate) fn has_changed_files(&self) -> bool {
        !self.files.is_empty()
    }

    fn call(&self, item: &BatchItem) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.state.to_le_bytes()).update(item.call.name.as_bytes()).update(b"\0");
        // Writing to a hash cannot fail.
        let _ = serde_json::to_writer(&mut hasher, &item.call.input);
        number(&hasher)
    }

    fn result(&self, item: &BatchItem) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.call(item).to_le_bytes());
        if let Some(done) = item.done() {
            hasher.update(&[1, done.status as u8]).update(timeless(&done.content).as_bytes());
        }
        number(&hasher)
    }
}

fn hash(text: &str) -> u64 {
    number(blake3::Hasher::new().update(text.as_bytes()))
}

fn number(hasher: &blake3::Hasher) -> u64 {
    hasher.finalize().as_bytes()[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trimtab_vocab::event::ToolStatus;
    use trimtab_vocab::{CallId, FileState, ToolCall};

    use super::*;
    use crate::record::{Progress, ToolOutcome};

    fn batch(path: &str) -> Batch {
        let input = json!({"path": path});
        let call = ToolCall { id: "1".into(), name: "read_file".into(), input, broken: None };
        Batch::new(&CallId::nth(1), std::iter::once(call), crate::tools::registry()).expect("a call")
    }

    /// Makes the calls, unless they are seen to repeat others; what was seen.
    fn round(rounds: &mut RoundHistory, path: &str, result: &str) -> Repetition {
        rounds.replied("", true);
        let mut batch = batch(path);
        let found = rounds.repetition(&batch);
        let content = if found == Repetition::None { result.to_owned() } else { format!("{REPEATED}.]") };
        let status = ToolStatus::Ok;
        batch.items[0].progress = Progress::Done(ToolOutcome { status, content, images: Vec::new() });
        rounds.close(&batch);
        found
    }

    #[test]
    fn cycles_of_any_length_are_noticed_and_end() {
        for length in 1..=12 {
            let mut rounds = RoundHistory::default();
            let mut warned_at = None;
            let ended_at = (0..100)
                .find(|number| match round(&mut rounds, &format!("{}.txt", number % length), "the same") {
                    Repetition::None => false,
                    Repetition::Again { .. } => {
                        warned_at.get_or_insert(*number);
                        false
                    }
                    Repetition::Endless => true,
                })
                .expect("it ends");
            let warned_at = warned_at.expect("it was told first");
            assert!(warned_at <= length + 3 && ended_at <= warned_at + 2, "{length}: {warned_at}, {ended_at}");
        }
    }

    #[test]
    fn what_changes_may_be_looked_at_as_often_as_one_likes() {
        let mut rounds = RoundHistory::default();
        for number in 0..100 {
            assert_eq!(round(&mut rounds, "a.txt", &format!("{number}%")), Repetition::None);
        }
    }

    #[test]
    fn the_same_test_after_another_edit_is_no_repetition() {
        let mut rounds = RoundHistory::default();
        for number in 0..100 {
            let after = Some(FileState { hash: format!("{number}"), mode: 0 });
            let write = FileWrite { path: "a.rs".into(), before: None, after, added: 1, removed: 0, modified: 0 };
            rounds.changed(&[write]);
            assert_eq!(round(&mut rounds, "test", "1 failed"), Repetition::None);
            assert_eq!(round(&mut rounds, "test", "1 failed"), Repetition::None, "and once more");
        }
        assert!(rounds.has_changed_files());
    }

    #[test]
    fn a_change_that_is_made_and_taken_back_again_and_again_is_a_cycle() {
        let mut rounds = RoundHistory::default();
        let ended = (0..40).any(|number: u32| {
            let hash = if number.is_multiple_of(2) { "new" } else { "old" };
            let found = round(&mut rounds, hash, "Changed a.rs: +1 -1 lines.");
            let after = Some(FileState { hash: hash.into(), mode: 0 });
            rounds.changed(&[FileWrite {
                path: "a.rs".into(),
                before: None,
                after,
                added: 1,
                removed: 1,
                modified: 0,
            }]);
            found == Repetition::Endless
        });
        assert!(ended);
    }

    #[test]
    fn words_that_were_said_before_are_noticed_and_something_new_in_between_counts() {
        let mut rounds = RoundHistory::default();
        rounds.replied("Let me look.", false);
        assert!(!rounds.says_the_same());
        rounds.replied("Let me look again.", false);
        assert!(!rounds.says_the_same());
        rounds.replied("Let me look.\n", false);
        assert!(rounds.says_the_same());
    }
}
