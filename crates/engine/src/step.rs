//! The entry point: an input goes in, facts and effects come out.

use trimtab_vocab::event::SessionFact;
use trimtab_vocab::{Fact, FileRewind, Problem, RequestId, SessionId};

use crate::record::Session;
use crate::transition::Transition;
use crate::turn::answers::Answerer;
use crate::{Input, Output, assistant, handoff, history, intake, pictures, subtasks, turn};

/// Decides what follows from `input`. An input that no longer fits (the late result of a call that
/// was given up, a second cancel) has no consequences: it is not an error to be late.
pub fn step(session: &mut Session, input: Input) -> Vec<Output> {
    let mut step = Transition::new(session);
    match input {
        Input::Opened { folder } => {
            if step.session.folder().is_none() {
                step.emit(None, SessionFact::Opened { folder, parent_session_id: None, imported: None });
            }
        }
        Input::Said { request } => intake::take_in(&mut step, *request),
        Input::Controlled { request, action } => turn::control::controlled(&mut step, request, action),
        Input::Answered { checkpoint, choice, text, by, surface, instructions } => {
            turn::instructions::bind(&mut step, &checkpoint, &choice, &instructions);
            turn::answers::answered(&mut step, &checkpoint, choice, text, Answerer { by, surface });
        }
        Input::Chosen { checkpoint, parts, by, surface } => {
            turn::answers::chosen(&mut step, &checkpoint, &parts, Answerer { by, surface });
        }
        Input::Admitted { request } => turn::admitted(&mut step, &request),
        Input::Held { request, ahead } => turn::held(&mut step, &request, ahead),
        Input::Replied { call, reply, raw, warnings } => turn::replied(&mut step, &call, reply, raw, warnings),
        Input::CallFailed { call, fault, partial } => turn::failed(&mut step, &call, fault, partial),
        Input::CallAborted { call, partial } => turn::aborted(&mut step, &call, partial),
        Input::Titled { request, title, model, usage } => {
            turn::title::titled(&mut step, &request, &title, model, usage)
        }
        Input::Renamed { title } => turn::title::renamed(&mut step, title),
        Input::Loaded { request, files, missing, absent, instructions, instruction_files, servers, unread } => {
            let loaded = turn::LoadedContext { files, missing, instructions, instruction_files, servers, unread };
            turn::loaded(&mut step, &request, loaded, &absent);
        }
        Input::NestedFound { request, files } => turn::instructions::nested(&mut step, &request, files),
        Input::SkillsListed { request, skills, called } => {
            turn::skills::listed(&mut step, &request, skills, called);
        }
        Input::SkillRead { call, skill, problem } => turn::skills::read(&mut step, &call, skill, problem),
        Input::AgentsListed { request, agents, called, problem } => {
            turn::agents::listed(&mut step, &request, agents, &called, problem);
        }
        Input::AgentsRead { call, agents, problem } => turn::agents::read(&mut step, &call, &agents, problem),
        Input::ServersListed { servers, call } => turn::servers::listed(&mut step, servers, call.as_ref()),
        Input::ServerAnswered { call, seen } => turn::servers::answered(&mut step, &call, seen),
        Input::Looked { call, seen } => turn::batch::read_finished(&mut step, &call, seen),
        Input::Drawn { call, time, pictures, fault } => pictures::drawn(&mut step, &call, time, pictures, fault),
        Input::Prepared { call, prepared } => turn::batch::prepared(&mut step, &call, prepared),
        Input::Narrowed { call, parts, narrowed } => turn::choosing::narrowed(&mut step, &call, &parts, narrowed),
        Input::Applied { call, problem } => turn::batch::applied(&mut step, &call, problem),
        Input::Compared { compared } => history::compared(&mut step, compared),
        Input::Expire { change_sets, reason } => history::expire(&mut step, &change_sets, reason),
        Input::ChildGone { child, handed_on } => handoff::child_gone(&mut step, child, handed_on),
        Input::Restored { problem } => history::restored(&mut step, problem),
        Input::Ran { call, ran, effects } => turn::batch::ran(&mut step, &call, ran, effects.as_deref()),
        Input::Left { reason } => turn::hooks::left(&mut step, &reason),
        Input::HookRan { run, ran, effects } => turn::hooks::ended(&mut step, &run, &ran, effects.as_deref()),
        Input::Surveyed { call, effects } => turn::batch::effects_inspected(&mut step, &call, &effects),
        Input::Detached { call, detached } => turn::background::detached(&mut step, &call, detached),
        Input::BackgroundNews { call, ready, ports } => turn::background::news(&mut step, &call, ready, &ports),
        Input::BackgroundChanged { call, effects } => turn::background::changed(&mut step, &call, &effects),
        Input::Overdue { call } => turn::overtime::overdue(&mut step, &call),
        Input::ServerAsked { call, question } => turn::elicitation::asked(&mut step, &call, *question),
        Input::RuleAdded { rule } => turn::answers::rule_added(&mut step, rule),
        Input::Listed { lists } => turn::answers::listed(&mut step, &lists),
        Input::RuleRemoved { rule } => turn::answers::rule_removed(&mut step, rule),
        Input::TasksViewed { request, view } => assistant::viewed(&mut step, &request, view),
        Input::TasksJudged { request, judged } => assistant::judged(&mut step, &request, *judged),
        Input::WorkerReported { worker, report } => subtasks::reported(&mut step, &worker, report),
        Input::TimerFired { timer } => turn::timer_fired(&mut step, &timer),
        Input::Woke { interrupted } => turn::woke(&mut step, interrupted),
    }
    outputs(step)
}

/// The outputs of a transition, after the turn has done its deferred work.
fn outputs(mut step: Transition<'_>) -> Vec<Output> {
    while let Some(next) = step.take_next() {
        turn::resume(&mut step, next);
    }
    turn::hooks::notify(&mut step);
    let session = &*step.session;
    let reports = subtasks::worker::reports(session, step.so_far());
    let mut outputs = step.into_outputs();
    outputs.extend(reports);
    outputs
}

/// Ends a request because the program failed at it: at `input`, if that is known. So a defect is reported to the user
/// instead of recurring at every start.
pub fn give_up(session: &mut Session, input: Option<Input>, problem: Problem) -> Vec<Output> {
    let mut step = Transition::new(session);
    turn::give_up(&mut step, input, problem);
    outputs(step)
}

/// Ends everything that runs or waits in a session that was folded from another one up to its fact `at`, and records
/// the origin: how the log of a fork continues.
///
/// With `rewound`, the user went back to an earlier message, and these changes of files were undone for it.
pub fn fork(
    session: &mut Session,
    from: &SessionId,
    at: u64,
    rewound: Option<Vec<FileRewind>>,
) -> Vec<(Option<RequestId>, Fact)> {
    let mut step = Transition::new(session);
    turn::control::leave_all(&mut step);
    let text = match &rewound {
        Some(moved) if !moved.is_empty() => REWOUND,
        _ => FORKED,
    };
    step.emit(None, SessionFact::Forked { from: from.clone(), at, message: Some(text.to_owned()), rewound });
    let fact = |output| match output {
        Output::Event { request, fact } => Some((request, fact)),
        _ => None,
    };
    outputs(step).into_iter().filter_map(fact).collect()
}

/// The note to the model about a fork.
const FORKED: &str = "[The user forked this conversation here. It continues without the messages after this point. The original session may have changed files in the folder since then, so read a file again before you rely on it.]";

/// The note to the model when the files went back with the conversation.
const REWOUND: &str = "[The user went back to this point of the conversation. It continues without the messages after it. The changes that were made to files since then were undone, so read a file again before you rely on it.]";

/// Lets a test emit facts and continue from them, if their room is not what is tested.
#[cfg(test)]
pub(crate) fn test_step(session: &mut Session, act: impl FnOnce(&mut Transition<'_>)) -> Vec<Output> {
    let mut step = Transition::new(session);
    act(&mut step);
    outputs(step)
}
