//! When a conversation reaches its limit, the user decides: it continues in a new session (handoff), here in full
//! (extend), or unchanged.
//!
//! A handoff is one transaction: the new session, with its copy of the change history, becomes durable together with
//! the fact that names it, or neither does. A change set can be moved only in the session that has it last, so the
//! same change is never undone twice.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::checkpoint::{Ask, ChoiceText};
use trimtab_vocab::event::{
    Change as Moved, ChangeFact, ChangedFile, ContextFact, ContextLimit, Inherited, Level, SessionFact, Stage,
    StageFact, Status, StepsFact,
};
use trimtab_vocab::wording::{AnswerLabel, ContextFillWords, Notice, Objection, QuestionTitle, StageLabel};
use trimtab_vocab::{
    Approve, ChangeSetId, CheckpointId, ContextStrategy, ExtensionId, Fact, ModelFacts, RequestId, SessionId,
};

pub use text::{context, prefill};

use crate::questions::{self, CheckpointDraft, choice};
use crate::record::{ChangeSet, Session};
use crate::transition::Transition;

/// The answer that continues in a new session.
pub const HANDOFF: &str = "handoff";
/// The answer that continues here with all of it.
pub const EXTEND: &str = "extend";
/// The answer that changes nothing.
pub const CANCEL: &str = "cancel";

pub use crate::output::Child;

/// How full the conversation is.
pub(crate) struct ContextFill {
    /// Tokens of the next prompt.
    pub(crate) used: u64,
    /// Tokens that it may have.
    pub(crate) room: u64,
    /// What is known of the model.
    pub(crate) facts: ModelFacts,
}

impl ContextFill {
    /// Whether older turns are to be summarized now. They are, before the user is asked, unless the user wants to be
    /// asked first or wants the complete conversation.
    pub(crate) fn is_to_be_summed_up(&self, session: &Session) -> bool {
        let Some(active) = session.active().filter(|active| !active.compression.fits) else { return false };
        let before_asking = active.request.settings.context.strategy == ContextStrategy::Both
            && !active.compression.told_full
            && session.lineage().extensions == 0;
        self.used > self.room || (before_asking && self.is_nearly_full(session))
    }

    fn is_nearly_full(&self, session: &Session) -> bool {
        let Some(active) = session.active() else { return false };
        let window = self.facts.window;
        window > 0 && self.used as f64 >= active.request.settings.context.handoff_at * window as f64
    }

    /// Which limit is nearly reached, if the user does not know yet: how much of it is used, and how much
    /// there is. With an extension, the window is full when it is full.
    fn limit(&self, session: &Session) -> Option<(ContextLimit, u64, u64)> {
        let active = session.active().filter(|active| !active.compression.told_full)?;
        let settings = &active.request.settings.context;
        if settings.strategy == ContextStrategy::Compress {
            return None;
        }
        let documents = 1 + u64::from(session.lineage().extensions);
        let (stored, storage) = (session.memory().stored, (u64::from(settings.session_mb) << 20) * documents);
        if storage > 0 && stored as f64 >= settings.handoff_at * storage as f64 {
            return Some((ContextLimit::Storage, stored, storage));
        }
        // At the first words of a session there is nothing that a new one could leave behind.
        if session.memory().exchanges == 0 && active.calls.steps == 0 {
            return None;
        }
        let full = if documents > 1 { self.used > self.room } else { self.is_nearly_full(session) };
        full.then_some((ContextLimit::Window, self.used, self.facts.window))
    }
}

/// Asks how to continue, if necessary; returns whether the request waits now. A handoff never happens automatically:
/// if no one can be asked, a notice is shown, and the work continues.
pub(crate) fn ask(step: &mut Transition<'_>, fill: &ContextFill) -> bool {
    let Some((limit, used, of)) = fill.limit(step.session) else { return false };
    let Some(active) = step.session.active() else { return false };
    let (request, settings) = (active.request.id.clone(), &active.request.settings);
    let is_asked = settings.attended && settings.approve == Approve::Ask;
    let summed_up = active.compression.fits;
    step.emit(Some(&request), ContextFact::Full { limit, used, of });
    let percent = used.saturating_mul(100) / of.max(1);
    let what = match limit {
        ContextLimit::Storage => ContextFillWords::Storage(percent),
        _ if summed_up => ContextFillWords::Summarized(percent),
        _ => ContextFillWords::Window(percent),
    };
    if !is_asked {
        step.notify(&request, Level::Warning, Notice::ContextFull(what));
        return false;
    }
    let question = CheckpointDraft {
        ask: Ask::Handoff { limit, used, of },
        title: QuestionTitle::Handoff(what),
        choices: vec![
            choice(HANDOFF, AnswerLabel::Handoff),
            choice(EXTEND, AnswerLabel::Extend),
            choice(CANCEL, AnswerLabel::CarryOn).with_text(ChoiceText::Optional),
        ],
    };
    questions::ask(step, question, Status::NeedsUser);
    true
}

/// The question how to continue, if it is open and nothing else is in progress.
pub(crate) fn open_question(session: &Session) -> Option<CheckpointId> {
    let free = |request: &RequestId| session.active().is_none_or(|active| active.request.id == *request);
    let mut open =
        session.own_checkpoints().filter(|(_, open)| matches!(open.ask, Ask::Handoff { .. }) && free(&open.request));
    open.next().map(|(id, _)| id.clone())
}

/// Why the session cannot be handed off now, on behalf of this request or of none.
pub(crate) fn objection(session: &Session, request: Option<&RequestId>) -> Option<Objection> {
    let is_busy = session.active().is_some_and(|active| Some(&active.request.id) != request);
    if is_busy {
        return Some(Objection::Busy);
    }
    if session.is_moving() {
        return Some(Objection::HistoryMoves);
    }
    // What a command changes later would stay in the history of this session, where the new one cannot undo it.
    let running: Vec<&str> = session.running_background().map(|command| command.id.as_str()).collect();
    if !running.is_empty() {
        return Some(Objection::RunsInBackground(running.join(", ")));
    }
    if !session.has_requests() {
        return Some(Objection::NothingSaid);
    }
    session.id().is_none().then_some(Objection::Nameless)
}

/// The documented order: the text, the change history, the new session, its input.
pub(crate) fn hand_off(step: &mut Transition<'_>, request: Option<&RequestId>) {
    let Some(parent) = step.session.id().cloned() else { return };
    let stage = |step: &mut Transition<'_>, stage, label: StageLabel| {
        step.emit(request, StageFact { stage, label: label.to_string() });
    };
    stage(step, Stage::Summarizing, StageLabel::HandoffContext);
    let text = context(step.session);
    let prefill = prefill(step.session);
    let history = inherited(step.session);
    let transferring = match history.len() {
        1 => StageLabel::TransferringOne,
        changes => StageLabel::Transferring(changes),
    };
    stage(step, Stage::Running, transferring);
    let child = SessionId::child_of(&parent, step.session.lineage().handoffs + 1);
    stage(step, Stage::Running, StageLabel::CreatingSession(child.to_string()));
    stage(step, Stage::Finishing, StageLabel::Prefilling);
    let states = history.iter().filter(|set| !set.expired).flat_map(|set| &set.writes);
    let states = states.flat_map(|write| [&write.before, &write.after]).flatten();
    let files: BTreeSet<String> = states.map(|state| state.hash.clone()).collect();
    let change_sets: Vec<ChangeSetId> = history.iter().map(|set| set.change.change_set.clone()).collect();
    let folder = step.session.folder().unwrap_or_default().to_owned();
    let mut facts: Vec<Fact> = vec![
        SessionFact::Opened { folder: folder.clone(), parent_session_id: Some(parent.clone()), imported: None }.into(),
    ];
    facts.extend(history.into_iter().map(|set| Fact::from(ChangeFact::Inherited(Box::new(set)))));
    if !step.session.todos().is_empty() {
        facts.push(StepsFact { todos: step.session.todos().to_vec() }.into());
    }
    let referenced = step.session.memory().referenced.clone();
    // A new session is the same purse.
    let spent_usd = Some(step.session.spent()).filter(|spent| *spent > 0.0);
    let budget_usd = match request.and_then(|request| step.session.unfinished(request)) {
        Some(active) => step.session.budget_of(active),
        None => step.session.lineage().budget_usd,
    };
    let raised_usd = step.session.raised_budget();
    let prefilled = prefill.clone();
    let inherited = SessionFact::Inherited {
        from: parent,
        text,
        prefill: prefilled,
        referenced,
        spent_usd,
        budget_usd,
        raised_usd,
    };
    facts.push(inherited.into());
    // What the user chose for this work counts for the rest of it.
    if let Some(level) = step.session.autonomy() {
        facts.push(SessionFact::Autonomy { level, by: "engine".into(), surface: None }.into());
    }
    step.spawn_child(Child { id: child.clone(), folder, facts, files: files.into_iter().collect() });
    step.emit(request, SessionFact::Handoff { child, change_sets, prefill });
}

/// The sets that a new session gets: all but those that another one has already.
fn inherited(session: &Session) -> Vec<Inherited> {
    let lent = &session.lineage().lent;
    let free = |(at, set): (usize, &ChangeSet)| (!lent.contains_key(&set.id)).then(|| (at, set.clone()));
    let sets: Vec<(usize, ChangeSet)> = session.history().iter().enumerate().filter_map(free).collect();
    let in_force = sets.iter().filter(|(at, _)| *at < session.in_force()).count();
    let position = i32::try_from(in_force).unwrap_or(i32::MAX) - 1;
    let inherited = |(_, set): (usize, ChangeSet)| Inherited {
        change: Moved {
            change_set: set.id,
            files: set.writes.iter().map(ChangedFile::from).collect(),
            position,
            by: None,
            message: None,
        },
        writes: set.writes,
        expired: set.expired,
        made: None,
        cost_usd: None,
        undoes: None,
    };
    sets.into_iter().map(inherited).collect()
}

/// Continues here: with one more document, and with the last summarized turns restored, if they fit. If nothing runs,
/// they are restored in any case, because the next call makes everything fit.
pub(crate) fn extend(step: &mut Transition<'_>, request: Option<&RequestId>, room: Option<(u64, u64)>) {
    let Some(id) = step.session.id() else { return };
    let extension = ExtensionId::nth(id, step.session.lineage().extensions + 1);
    step.emit(request, SessionFact::Extended { extension });
    let fits = match (step.session.active().is_some(), room, step.session.undoing_adds()) {
        (false, _, Some(_)) => true,
        (true, Some((used, room)), Some(more)) => used + more <= room,
        _ => false,
    };
    if let Some(source) = step.session.last_summary().filter(|_| fits).cloned() {
        step.emit(request, ContextFact::Restored { source });
    }
}

/// A session that had taken over was deleted. What it had handed on stays where it is.
pub(crate) fn child_gone(step: &mut Transition<'_>, child: SessionId, handed_on: BTreeMap<ChangeSetId, SessionId>) {
    if step.session.lineage().children.contains(&child) {
        step.emit(None, SessionFact::Reclaimed { child, handed_on });
    }
}

/// Why a set cannot be moved here: another session has it.
pub(crate) fn lent(session: &Session, set: &ChangeSetId) -> Option<Objection> {
    let child = session.lineage().lent.get(set)?;
    let number = session.history().iter().position(|other| other.id == *set).map_or(0, |at| at + 1);
    if session.lineage().is_fork && session.lineage().parent.as_ref() == Some(child) {
        return Some(Objection::MadeBeforeFork(number, child.to_string()));
    }
    Some(Objection::HandedOff(number, child.to_string()))
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::event::{AnswerFact, ReplyFact, RequestFact};
    use trimtab_vocab::{Answer, CallId, ContextSettings, Message, Mode, ModelSettings, RunSettings, Usage};

    use crate::step::test_step;

    use super::*;

    /// A session at work under these settings.
    fn session(context: ContextSettings) -> Session {
        let mut session = Session::new("s1".parse().expect("an id"));
        let request = "r1".parse().expect("an id");
        let settings = Box::new(RunSettings { context, ..RunSettings::default() });
        let (text, refs, images, mode) = ("x".into(), Vec::new(), Vec::new(), Mode::Auto);
        let (tags, pill, while_running) = (Vec::new(), None, None);
        let received = RequestFact::Received {
            text,
            refs,
            images,
            mode,
            tags,
            pill,
            ask: None,
            picture: None,
            while_running,
            pause_s: None,
            settings,
        };
        session.fold(Some(&request), &received.into());
        assert_eq!(fill(99_000).limit(&session), None, "nothing could be left behind yet");
        session.fold(Some(&request), &AnswerFact { answer: Answer::default() }.into());
        session
    }

    fn fill(used: u64) -> ContextFill {
        ContextFill { used, room: 90_000, facts: ModelFacts { window: 100_000, ..ModelFacts::default() } }
    }

    #[test]
    fn the_window_is_nearly_full_from_the_documented_part_on() {
        let plain = session(ContextSettings::default());
        assert_eq!(fill(84_999).limit(&plain), None);
        assert_eq!(fill(85_000).limit(&plain), Some((ContextLimit::Window, 85_000, 100_000)));
        let later = session(ContextSettings { handoff_at: 0.9, ..ContextSettings::default() });
        assert_eq!(fill(85_000).limit(&later), None);
        let never = session(ContextSettings { strategy: ContextStrategy::Compress, ..ContextSettings::default() });
        assert_eq!(fill(99_000).limit(&never), None);
    }

    /// The session that is handed off to, and a request in it with this budget.
    fn child_of(parent: &mut Session, request: Option<&RequestId>, budget_usd: Option<f64>) -> Session {
        let outputs = test_step(parent, |step| hand_off(step, request));
        let child = outputs.into_iter().find_map(|output| match output {
            crate::Output::Child(child) => Some(*child),
            _ => None,
        });
        let Child { id, facts, .. } = child.expect("a child");
        let mut child = Session::new(id);
        facts.iter().for_each(|fact| child.fold(None, fact));
        let settings = Box::new(RunSettings {
            models: ModelSettings { budget_usd, ..ModelSettings::default() },
            ..RunSettings::default()
        });
        let received = RequestFact::Received {
            text: "go on".into(),
            refs: Vec::new(),
            images: Vec::new(),
            mode: Mode::Auto,
            tags: Vec::new(),
            pill: None,
            ask: None,
            picture: None,
            while_running: None,
            pause_s: None,
            settings,
        };
        child.fold(Some(&"r2".parse().expect("an id")), &received.into());
        child
    }

    #[test]
    fn a_new_session_is_the_same_purse() {
        let request: RequestId = "r1".parse().expect("an id");
        let mut parent = session(ContextSettings::default());
        parent.fold(
            Some(&request),
            &ReplyFact::Saved {
                call: CallId::nth(1),
                raw: None,
                stop_reason: None,
                usage: Usage { cost_usd: Some(0.75), ..Usage::default() },
                message: Message::user("x"),
                partial: false,
                text_calls: 0,
                unasked_text: false,
            }
            .into(),
        );
        let mut child = child_of(&mut parent, Some(&request), Some(1.0));
        assert_eq!((child.spent(), child.budget()), (0.75, Some(1.0)), "what is spent counts");
        assert_eq!(child.usage().cost_usd, None, "but is not the child's own cost");
        let request: RequestId = "r2".parse().expect("an id");
        let grandchild = child_of(&mut child, Some(&request), None);
        assert_eq!((grandchild.spent(), grandchild.budget()), (0.75, Some(1.0)), "the budget goes with the work");
        let free = child_of(&mut session(ContextSettings::default()), None, None);
        assert_eq!((free.spent(), free.budget()), (0.0, None));
    }

    #[test]
    fn a_person_is_told_once_per_request_and_with_an_extension_only_when_it_is_full() {
        let mut known = session(ContextSettings::default());
        known.fold(None, &ContextFact::Full { limit: ContextLimit::Window, used: 1, of: 1 }.into());
        assert_eq!(fill(99_000).limit(&known), None);
        let mut extended = session(ContextSettings::default());
        extended.fold(None, &SessionFact::Extended { extension: "s1-e1".parse().expect("an id") }.into());
        assert_eq!(fill(90_000).limit(&extended), None);
        assert!(!fill(90_000).is_to_be_summed_up(&extended), "it is kept whole as long as it fits");
        assert!(fill(90_001).is_to_be_summed_up(&extended));
        assert!(fill(90_001).limit(&extended).is_some());
    }
}
