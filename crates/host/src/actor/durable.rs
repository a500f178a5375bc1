//! The rows that become durable together with a fact.

use trimtab_engine::{Effect, Input};
use trimtab_vocab::event::{CheckpointFact, ModelFact, ReplyFact, RequestFact, RuleFact, SessionFact, Status};
use trimtab_vocab::{Event, Fact, MemoryEntry, MemoryFact, Remembered, Rule};
use trimtab_world::store::{Commit, NewInput, Recipient, RuleChange};

use crate::{audit, effects};

/// Characters of a name in lists.
const TITLE: usize = 80;

/// What else must become durable together with a fact.
pub(super) fn note(commit: &mut Commit, event: &Event, is_nameless: bool) {
    commit.audit.extend(audit::entry(event));
    match (&event.fact, &event.request) {
        (Fact::Request(RequestFact::Finished { status, .. }), Some(request)) => {
            commit.reopened.retain(|reopened| reopened != request);
            commit.finished.push((request.clone(), *status));
        }
        // Its words are another request's now; there is nothing left of it to be done.
        (Fact::Request(RequestFact::Joined { .. }), Some(request)) => {
            commit.finished.push((request.clone(), Status::Completed));
        }
        (Fact::Request(RequestFact::Reopened {}), Some(request)) => {
            commit.finished.retain(|(finished, _)| finished != request);
            commit.reopened.push(request.clone());
        }
        (Fact::Request(RequestFact::Received { text, .. }), _) if is_nameless => {
            commit.title.get_or_insert_with(|| first_words(text));
        }
        (Fact::Session(SessionFact::Titled { title, .. }), _) => commit.title = Some(title.clone()),
        (Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }), _) => {
            commit.opened.push((checkpoint.clone(), event.clone()));
        }
        (Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }), _) => {
            commit.resolved.push(checkpoint.clone());
        }
        (Fact::Rule(RuleFact::Added { rule }), Some(_)) => {
            // Made in this session; one that came from elsewhere belongs to no request and is stored already.
            commit.rules.added.push(written_rule(rule));
            commit.tell.push(told(&Input::RuleAdded { rule: rule.clone() }));
        }
        (Fact::Rule(RuleFact::Removed { rule }), Some(_)) => {
            commit.rules.removed.push(written_rule(rule));
            commit.tell.push(told(&Input::RuleRemoved { rule: rule.clone() }));
        }
        (Fact::Memory(MemoryFact::Noted { entries }), request) => {
            let entry = |noted: &Remembered| MemoryEntry {
                id: noted.id.clone(),
                text: noted.text.clone(),
                folder: noted.folder.clone(),
                session: Some(event.session.clone()),
                request: request.clone(),
                made: event.time,
                edited: None,
            };
            commit.remembered.extend(entries.iter().map(entry));
        }
        (Fact::Reply(ReplyFact::Saved { call, .. }) | Fact::Model(ModelFact::Failed { call, .. }), _) => {
            commit.closed_calls.push(call.clone());
        }
        _ => {}
    }
}

/// What every other session must hear that has something to do or to ask.
pub(crate) fn told(input: &Input) -> (Recipient, NewInput) {
    (Recipient::OtherBusy, NewInput { payload: effects::written(input), ..NewInput::default() })
}

/// Whether a commit need not wait for the disk: what follows from it waits, and what came in is on the disk or can be
/// found again.
pub(super) fn is_relaxed(commit: &Commit, effects: &[Effect]) -> bool {
    // The snapshot before a command waits, for all that was written before.
    let waits_itself = |effect: &Effect| matches!(effect, Effect::Run { watch: Some(_), .. });
    let takes_nothing_up = commit.consumed.is_empty() || effects.iter().any(waits_itself);
    takes_nothing_up && is_on_the_way(commit) && effects.iter().all(|effect| !effect.acts() || waits_itself(effect))
}

/// Whether a commit only records progress: no question, no end, and no change of the user's files.
fn is_on_the_way(commit: &Commit) -> bool {
    let Commit { finished, reopened, opened, resolved, children, tell, rules, remembered, keep_only, .. } = commit;
    let is_of_the_work = |event: &Event| !matches!(event.fact, Fact::Change(_) | Fact::Tasks(_) | Fact::Proposal(_));
    finished.is_empty()
        && reopened.is_empty()
        && opened.is_empty()
        && resolved.is_empty()
        && children.is_empty()
        && tell.is_empty()
        && remembered.is_empty()
        && *rules == RuleChange::default()
        && keep_only.is_none()
        && commit.events.iter().all(is_of_the_work)
}

/// Parses stored rules. A rule of a newer version is skipped, because its meaning is unknown.
pub(crate) fn read_rules(written: &[String]) -> Vec<Rule> {
    written.iter().filter_map(|rule| serde_json::from_str(rule).ok()).collect()
}

/// The stored form of a rule.
pub(crate) fn written_rule(rule: &Rule) -> String {
    serde_json::to_string(rule).expect("a rule is plain data")
}

/// The first line of a text, short enough for a list.
pub fn first_words(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut words: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TITLE + 1).collect();
    if words.chars().count() > TITLE {
        words.pop();
        words.push('…');
    }
    words
}
