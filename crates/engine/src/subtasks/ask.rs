//! The questions about sub-tasks, and what follows from their answers.

use trimtab_vocab::checkpoint::{Ask, ChoiceRole, ChoiceText};
use trimtab_vocab::event::Status;
use trimtab_vocab::wording::permission::NamedFiles;
use trimtab_vocab::wording::{AnswerLabel, BreakdownNote, QuestionTitle, StrategyNote};
use trimtab_vocab::{
    BreakdownOption, ExecutionOrder, Granularity, MergeConflict, MergeObstacle, RunSettings, StrategyOption, SubTask,
    SubTaskPlan,
};

use super::plan;
use crate::questions::{self, CheckpointDraft, choice};
use crate::record::SubtaskRun;
use crate::record::names::choice::{
    AGAIN, COARSE, DECIDE, DECLINE, EDIT, FINE, KEEP_A, KEEP_B, LEAVE_OTHER, LEAVE_OUT, MEDIUM, MERGE, RETRY,
    RETRY_MODEL, SKIP, START_A, START_B, START_C, STOP,
};
use crate::transition::Transition;

/// Bytes of a side of a conflict that a question shows.
const SHOWN_SIDE: usize = 16 * 1024;
/// Files that a question about a merge names.
pub(super) const FILES_NAMED: usize = 3;

/// The ways to break a request down.
pub(super) fn breakdown_options(plan: &SubTaskPlan, settings: &RunSettings) -> Vec<BreakdownOption> {
    let fine = plan.tasks.len();
    let option = |(granularity, count): (Granularity, usize)| {
        let (tokens_each, truncation_risk) = plan::reply_size(settings, fine, count);
        let notes = match granularity {
            Granularity::Fine => [BreakdownNote::LowestRisk, BreakdownNote::BestParallelism, BreakdownNote::MoreCalls],
            Granularity::Medium => [BreakdownNote::Balance, BreakdownNote::ModerateRisk, BreakdownNote::SomeCalls],
            Granularity::Coarse => {
                [BreakdownNote::FewerCalls, BreakdownNote::HigherRisk, BreakdownNote::LittleParallelism]
            }
        };
        BreakdownOption {
            granularity,
            tasks: u32::try_from(count).unwrap_or(u32::MAX),
            tokens_each,
            truncation_risk,
            notes: notes.iter().map(ToString::to_string).collect(),
        }
    };
    plan::sizes(plan).into_iter().map(option).collect()
}

/// Asks how finely the request is broken down.
pub(super) fn ask_breakdown(step: &mut Transition<'_>, run: &SubtaskRun, settings: &RunSettings) {
    let (suggested, reason) = plan::suggested(&run.plan, settings);
    let options = breakdown_options(&run.plan, settings);
    let question = CheckpointDraft {
        ask: Ask::Breakdown { call: run.call.clone(), options, suggested, reason },
        title: QuestionTitle::Breakdown,
        choices: vec![
            choice(FINE, AnswerLabel::UseA).with_role(ChoiceRole::Secondary),
            choice(MEDIUM, AnswerLabel::UseB).with_role(ChoiceRole::Secondary),
            choice(COARSE, AnswerLabel::UseC).with_role(ChoiceRole::Secondary),
            choice(DECIDE, AnswerLabel::LetAiDecide).with_role(ChoiceRole::Primary),
        ],
    };
    questions::open(step, question);
}

/// The granularity that an answer means.
pub(super) fn granularity(choice: &str) -> Option<Granularity> {
    match choice {
        FINE => Some(Granularity::Fine),
        MEDIUM => Some(Granularity::Medium),
        COARSE => Some(Granularity::Coarse),
        _ => None,
    }
}

/// The order that an answer means.
pub(super) fn order(choice: &str) -> Option<ExecutionOrder> {
    match choice {
        START_A => Some(ExecutionOrder::DependencyGraph),
        START_B => Some(ExecutionOrder::Sequential),
        START_C => Some(ExecutionOrder::Parallel),
        _ => None,
    }
}

/// The ways to carry a plan out.
pub(super) fn strategies(plan: &SubTaskPlan, settings: &RunSettings) -> Vec<StrategyOption> {
    let waiting = plan.tasks.iter().filter(|task| !task.depends_on.is_empty()).count();
    let together = plan.tasks.len() - waiting;
    let option = |order: ExecutionOrder, speed, risk: &str, note: StrategyNote| StrategyOption {
        execution_order: order,
        speed,
        cost_usd: plan::estimated(plan.clone(), order, settings).estimated_cost,
        risk: risk.to_owned(),
        note: note.to_string(),
    };
    let graph = match (together, waiting) {
        (_, 0) => StrategyNote::AllTogether(together),
        (_, 1) => StrategyNote::OneWaits(together),
        _ => StrategyNote::SomeWait(together, waiting),
    };
    vec![
        option(ExecutionOrder::DependencyGraph, 2, "Medium", graph),
        option(ExecutionOrder::Sequential, 1, "Low", StrategyNote::Safest),
        option(ExecutionOrder::Parallel, 3, "High", StrategyNote::Loose),
    ]
}

/// Asks how to run the plan. `delegated`: a model wants it, and can do the work itself.
pub(super) fn ask_plan(
    step: &mut Transition<'_>,
    run: &SubtaskRun,
    settings: &RunSettings,
    delegated: bool,
    what: &str,
) {
    let plan = plan::estimated(run.plan.clone(), ExecutionOrder::DependencyGraph, settings);
    let reserve_usd = step.session.budget().map(|budget| (budget - step.session.spent()).max(0.0));
    let text = plan::as_text(&plan);
    let no = match delegated {
        true => choice(DECLINE, AnswerLabel::NoSubtasks).with_role(ChoiceRole::Dismiss),
        false => choice(STOP, AnswerLabel::Cancel).with_role(ChoiceRole::Dismiss),
    };
    let question = CheckpointDraft {
        title: QuestionTitle::SubtaskPlan(what.to_owned(), plan.tasks.len()),
        ask: Ask::SubtaskPlan {
            call: run.call.clone(),
            strategies: strategies(&plan, settings),
            plan,
            text,
            reserve_usd,
        },
        choices: vec![
            choice(EDIT, AnswerLabel::EditPlan).with_text(ChoiceText::Required).with_role(ChoiceRole::Secondary),
            choice(START_A, AnswerLabel::StartA).with_role(ChoiceRole::Primary),
            choice(START_B, AnswerLabel::StartB).with_role(ChoiceRole::Secondary),
            choice(START_C, AnswerLabel::StartC).with_role(ChoiceRole::Secondary),
            no,
        ],
    };
    questions::open(step, question);
}

/// Asks what to do about a failed sub-task. The others continue.
pub(super) fn ask_about_failure(step: &mut Transition<'_>, run: &SubtaskRun, task: &SubTask, reason: String) {
    let depend = plan::dependents(&run.plan, &task.id).into_iter();
    let dependents: Vec<String> = depend.map(|other| format!("{}. {}", other.id, other.name())).collect();
    let question = CheckpointDraft {
        title: QuestionTitle::SubtaskFailed(task.id.clone(), task.name().to_owned(), reason.clone()),
        ask: Ask::SubtaskFailed {
            call: run.call.clone(),
            subtask: task.id.clone(),
            name: task.name().to_owned(),
            reason,
            dependents,
        },
        choices: vec![
            choice(RETRY, AnswerLabel::RetrySubtask).with_role(ChoiceRole::Primary),
            choice(RETRY_MODEL, AnswerLabel::RetryModel)
                .with_text(ChoiceText::Required)
                .with_role(ChoiceRole::Secondary),
            choice(EDIT, AnswerLabel::EditInstruction).with_text(ChoiceText::Required).with_role(ChoiceRole::Secondary),
            choice(SKIP, AnswerLabel::SkipSubtask).with_role(ChoiceRole::Secondary),
            choice(STOP, AnswerLabel::StopAll).with_role(ChoiceRole::Dismiss),
        ],
    };
    questions::open(step, question);
}

/// Asks which of two changes is kept.
pub(super) fn ask_about_conflict(step: &mut Transition<'_>, run: &SubtaskRun, conflict: MergeConflict, remaining: u32) {
    let name = |id: &str| run.plan.task(id).map_or_else(|| id.to_owned(), |task| format!("{id}. {}", task.name()));
    let first = match conflict.against.last() {
        Some(id) => AnswerLabel::KeepTask(name(id)),
        None => AnswerLabel::KeepMine,
    };
    let second = AnswerLabel::KeepTask(name(&conflict.subtask));
    let is_long = [&conflict.base, &conflict.ours, &conflict.theirs].iter().any(|side| side.len() > SHOWN_SIDE);
    let partial = conflict.partial || is_long;
    let cut = |text: &str| text[..text.floor_char_boundary(SHOWN_SIDE)].to_owned();
    let shown = MergeConflict {
        base: cut(&conflict.base),
        ours: cut(&conflict.ours),
        theirs: cut(&conflict.theirs),
        partial,
        ..conflict.clone()
    };
    let mut choices = vec![
        choice(KEEP_A, first).with_role(ChoiceRole::Secondary),
        choice(KEEP_B, second).with_role(ChoiceRole::Secondary),
        choice(EDIT, AnswerLabel::EditMerge).with_text(ChoiceText::Required).with_role(ChoiceRole::Secondary),
    ];
    // A model that sees a part of a file would write a part of it.
    if !partial {
        choices.push(choice(MERGE, AnswerLabel::ModelMerge).with_role(ChoiceRole::Primary));
    }
    choices.push(choice(STOP, AnswerLabel::StopAll).with_role(ChoiceRole::Dismiss));
    let question = CheckpointDraft {
        title: QuestionTitle::MergeConflict(conflict.path, name(&conflict.subtask)),
        ask: Ask::MergeConflict { call: run.call.clone(), conflict: Box::new(shown), remaining },
        choices,
    };
    questions::ask(step, question, Status::NeedsUser);
}

/// Asks what to do about a merge that cannot go through as it is.
pub(super) fn ask_about_obstacle(step: &mut Transition<'_>, run: &SubtaskRun, obstacle: MergeObstacle) {
    let order = run.merge_order();
    let without = |id: &str, files: &[String]| {
        let has_others = order.paths().any(|path| !files.iter().any(|left| left == path));
        let named = NamedFiles::new(files.iter().map(String::as_str), FILES_NAMED).filter(|_| has_others)?;
        let label = AnswerLabel::MergeWithout(named);
        Some(choice(id, label).with_role(ChoiceRole::Secondary).with_text(ChoiceText::No))
    };
    let mut choices = vec![choice(AGAIN, AnswerLabel::MergeAgain).with_role(ChoiceRole::Primary)];
    choices.extend(without(LEAVE_OUT, &obstacle.files));
    choices.extend(without(LEAVE_OTHER, &obstacle.others));
    choices.push(choice(STOP, AnswerLabel::DiscardChanges).with_role(ChoiceRole::Dismiss));
    let question = CheckpointDraft {
        title: QuestionTitle::MergeBlocked(obstacle.reason.clone()),
        ask: Ask::MergeBlocked { call: run.call.clone(), obstacle: Box::new(obstacle) },
        choices,
    };
    // Whoever asks here continues with the other calls, and ends the request for now if nobody is there.
    questions::open(step, question);
}
