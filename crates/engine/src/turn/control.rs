//! The user's control of a running request.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{ContextFact, Level, RequestFact, SessionFact, Status};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{AutonomyChoice, Control, LearnedFacts, Purpose, RequestId, Role};

use super::{answers, background, batch, call_again, finish, stop, withdraw};
use crate::record::Phase;
use crate::transition::Transition;
use crate::{assistant, handoff, history, pictures, subtasks, workers};

/// Does what the user wants.
pub(crate) fn controlled(step: &mut Transition<'_>, wanted: Option<RequestId>, action: Control) {
    if action == Control::Cancel && subtasks::keep_finished(step, wanted.as_ref()) {
        return;
    }
    carry_out(step, wanted, action);
}

/// Cancels a request, because the user wants something else in its place.
pub(crate) fn cancel(step: &mut Transition<'_>, request: RequestId) {
    carry_out(step, Some(request), Control::Cancel);
}

/// Does as told. What no longer fits has no consequences: it is not an error to be late.
fn carry_out(step: &mut Transition<'_>, wanted: Option<RequestId>, action: Control) {
    match action {
        Control::Rewind { steps, on_conflict } => return history::wanted(step, -i64::from(steps), on_conflict),
        Control::Forward { steps, on_conflict } => return history::wanted(step, i64::from(steps), on_conflict),
        Control::UndoPart { change_set, parts, on_conflict } => {
            return history::part_unwanted(step, &change_set, parts, on_conflict);
        }
        Control::DecideTasks { applied } => return assistant::decided(step, applied),
        Control::SelectImages { images, selected } => return pictures::select(step, images, selected),
        Control::Subtask { subtask, action } => return subtasks::control(step, &subtask, action),
        Control::Background { call } => return background::move_running(step, call.as_ref()),
        Control::StopCommand { id, by } => return background::stop(step, id.as_ref(), by),
        Control::Autonomy(choice) => return choose_autonomy(step, choice),
        Control::Handoff => return handoff_wanted(step),
        Control::Extend => return extension_wanted(step),
        _ => {}
    }
    if let Control::EditSummary { .. } | Control::UndoSummary = action {
        return summary(step, action);
    }
    if let (Control::Adjust { approve, attended, max_steps, trusted }, Some(request)) = (&action, &wanted) {
        let (approve, attended, max_steps) = (*approve, *attended, *max_steps);
        // A folder that holds more than a project is not trusted by an option.
        let folder = step.session.folder().unwrap_or_default();
        let machine = step.session.unfinished(request).map(|active| &active.request.settings.machine);
        let trusted = trusted.filter(|_| machine.is_none_or(|machine| !crate::permit::is_broad(folder, machine)));
        if step.session.unfinished(request).is_some() {
            let (tools, learned, model) = (None, LearnedFacts::default(), None);
            let adjusted = RequestFact::Adjusted { approve, attended, max_steps, trusted, tools, learned, model };
            step.emit(Some(request), adjusted);
            // The copies of workers are trusted as they are.
            workers::tell_all(step, request, &Control::Adjust { approve, attended, max_steps, trusted: None });
        }
        return;
    }
    // A worker that is stopped while its copy of the folder is being made.
    if action == Control::Cancel && step.session.lineage().role.is_some() && !step.session.has_requests() {
        return step.emit(None, SessionFact::Dismissed {});
    }
    if let (Control::Cancel, Some(parked)) = (&action, wanted.as_ref().filter(|wanted| step.session.is_parked(wanted)))
    {
        return leave_parked(step, parked);
    }
    let Some(active) = step.session.active() else { return };
    let running = active.request.id.clone();
    let phase = active.phase.clone();
    if wanted.as_ref().is_some_and(|wanted| *wanted != running) {
        if let (Control::Cancel, Some(wanted)) = (action, wanted) {
            withdraw(step, &wanted);
        }
        return;
    }
    if matches!(phase, Phase::Stopping { .. }) {
        return;
    }
    match action {
        Control::Cancel => {
            step.emit(Some(&running), RequestFact::Stopping {});
            tell(step, &running, Notice::Interrupted);
            stop(step);
        }
        Control::Pause => {
            if !active.request.settings.copilot.pause_enabled {
                tell(step, &running, Notice::PausingIsOff);
            } else if !active.steering.pausing {
                step.emit(Some(&running), RequestFact::Pausing {});
            }
        }
        Control::Resume => resume(step, &running),
        Control::Skip => match phase {
            Phase::Tools => batch::skip(step),
            // Waiting for a provider can be skipped too.
            Phase::BackingOff { .. } => call_again(step),
            _ => tell(step, &running, Notice::NothingToSkip),
        },
        Control::Steer { text } => {
            let text = text.trim().to_owned();
            if !text.is_empty() {
                workers::steer(step, &running, text);
            }
        }
        Control::StopTool { call } => batch::stop_tool(step, &call),
        Control::Adjust { .. }
        | Control::EditSummary { .. }
        | Control::UndoSummary
        | Control::Rewind { .. }
        | Control::Forward { .. }
        | Control::UndoPart { .. }
        | Control::DecideTasks { .. }
        | Control::SelectImages { .. }
        | Control::Autonomy(_)
        | Control::Handoff
        | Control::Background { .. }
        | Control::StopCommand { .. }
        | Control::Subtask { .. }
        | Control::Extend => {}
    }
}

/// The user wants the session to ask more or less. It counts from the next decision on, also for workers; an open
/// question stays open.
pub(crate) fn choose_autonomy(step: &mut Transition<'_>, choice: AutonomyChoice) {
    let AutonomyChoice { level, surface } = &choice;
    if step.session.autonomy() == Some(*level) {
        return;
    }
    let running = step.session.active().map(|active| active.request.id.clone());
    let (level, surface, by) = (*level, surface.clone(), "user".to_owned());
    step.emit(running.as_ref(), SessionFact::Autonomy { level, by, surface });
    let requests: Vec<RequestId> = step.session.all_unfinished().map(|active| active.request.id.clone()).collect();
    for request in requests {
        workers::tell_all(step, &request, &Control::Autonomy(choice.clone()));
    }
}

/// Ends a request that waits for an answer, because the user canceled it.
fn leave_parked(step: &mut Transition<'_>, parked: &RequestId) {
    step.emit(Some(parked), RequestFact::Reopened {});
    batch::leave(step, parked);
    finish(step, parked, Status::Cancelled, None);
}

/// Ends everything that runs, is queued, or waits for an answer. Complete replies are kept.
pub(crate) fn leave_all(step: &mut Transition<'_>) {
    let waiting: Vec<RequestId> = step.session.waiting().map(|waiting| waiting.id.clone()).collect();
    waiting.iter().for_each(|waiting| withdraw(step, waiting));
    if let Some(active) = step.session.active() {
        let (request, is_answered) = (active.request.id.clone(), active.batch.is_none());
        let last = step.session.conversation().last();
        let is_answered = is_answered && last.is_some_and(|last| last.role == Role::Assistant);
        batch::leave(step, &request);
        finish(step, &request, if is_answered { Status::Completed } else { Status::Cancelled }, None);
    }
    let parked: Vec<RequestId> = step.session.parked().iter().map(|parked| parked.request.id.clone()).collect();
    parked.iter().for_each(|parked| leave_parked(step, parked));
    // Pending operations on tasks.
    assistant::decided(step, 0);
}

fn resume(step: &mut Transition<'_>, running: &RequestId) {
    let resting = step
        .session
        .own_checkpoints()
        .find(|(_, open)| open.request == *running && open.ask == Ask::Pause)
        .map(|(id, _)| id.clone());
    match resting {
        Some(id) => answers::answered(step, &id, answers::CONTINUE.into(), None, answers::Answerer::person()),
        None if step.session.active().is_some_and(|active| active.steering.pausing) => {
            step.emit(Some(running), RequestFact::Resumed { wish: true });
        }
        None => {}
    }
}

/// The last summary is edited or undone, between two requests or during one.
fn summary(step: &mut Transition<'_>, action: Control) {
    let request = step.session.active().map(|active| active.request.id.clone());
    let Some(source) = step.session.last_summary().cloned() else { return };
    // While a new one is being made, the old one is what it is made beside.
    if step.session.active().is_some_and(|active| active.phase.purpose() == Some(&Purpose::Summary)) {
        return;
    }
    match action {
        Control::EditSummary { text } => {
            let summary = super::context::edited(&text, &source);
            step.emit(request.as_ref(), ContextFact::Edited { source, summary });
        }
        _ => step.emit(request.as_ref(), ContextFact::Restored { source }),
    }
}

fn tell(step: &mut Transition<'_>, request: &RequestId, notice: Notice) {
    step.notify(request, Level::Info, notice);
}

/// The user wants the session handed off, asked or not.
fn handoff_wanted(step: &mut Transition<'_>) {
    if let Some(id) = handoff::open_question(step.session) {
        return answers::answered(step, &id, handoff::HANDOFF.into(), None, answers::Answerer::person());
    }
    match handoff::objection(step.session, None) {
        Some(reason) => step.emit(None, SessionFact::Refused { reason: reason.to_string() }),
        None => handoff::hand_off(step, None),
    }
}

/// The user wants the session extended, asked or not.
fn extension_wanted(step: &mut Transition<'_>) {
    if let Some(id) = handoff::open_question(step.session) {
        return answers::answered(step, &id, handoff::EXTEND.into(), None, answers::Answerer::person());
    }
    handoff::extend(step, None, None);
}
