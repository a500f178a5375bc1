//! One question with tasks to choose from, and its answer.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::wording::{OwnWords, QuestionTitle};
use trimtab_vocab::{Choosable, Question, TaskId, TaskShown};

use super::{candidates, go_on};
use crate::flow::clarify::choices;
use crate::flow::{self, FlowQuestion, FlowWait};
use crate::record::{Assist, RunningRequest};
use crate::transition::Transition;

/// The question if the router found none.
pub(super) const DEFAULT_QUESTION: OwnWords = OwnWords::AsksWhich;
/// Options that are listed in a question's text.
const INLINE: usize = 5;
/// More options, not shown at first.
const MORE: usize = 20;
/// The question with what is offered, and what more there would be.
pub(super) fn question(
    active: &RunningRequest,
    assist: &Assist,
    text: &str,
    named: &[TaskId],
) -> (Question, Vec<Choosable>) {
    let settings = &active.request.settings.auto_mode;
    let shown = assist.view.as_ref().map(|view| &view.shown);
    let found = shown.map(|shown| candidates::candidates(&active.request.text, shown, named)).unwrap_or_default();
    let mut options: Vec<Choosable> =
        found.iter().take(settings.max_options as usize + MORE).map(|task| option(task)).collect();
    let more = options.split_off(options.len().min(settings.max_options as usize));
    let mut text = if text.trim().is_empty() { DEFAULT_QUESTION.into() } else { text.trim().to_owned() };
    if settings.inline_options && !options.is_empty() {
        let listed: Vec<String> = found.iter().take(INLINE).map(|task| inline(task)).collect();
        text = OwnWords::WithOptions(text, listed.join("; ")).into();
    }
    (Question { id: "q1".into(), text, options, several: true }, more)
}

fn option(task: &TaskShown) -> Choosable {
    let scheduled_for = task.scheduled_for.map(|date| date.to_string());
    Choosable { id: task.id.to_string(), title: task.title.clone(), scheduled_for }
}

fn inline(task: &TaskShown) -> String {
    let title: String = task.title.chars().take(40).collect();
    let day = task.scheduled_for.map(|date| format!(" @{date}")).unwrap_or_default();
    format!("#{} “{title}”{day}", task.id)
}

/// Asks what the router wants to know.
pub(super) fn ask(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(assist) = active.assist.as_deref() else { return };
    let questions = active.flow.analysis.as_ref().map(|analysis| analysis.questions.clone()).unwrap_or_default();
    let Some(asked) = questions.first() else { return };
    let ids: Vec<TaskId> = asked.options.iter().filter_map(|option| option.id.parse().ok()).collect();
    let (_, more) = question(active, assist, &asked.text, &ids);
    let more: Vec<Choosable> =
        more.into_iter().filter(|one| !asked.options.iter().any(|shown| shown.id == one.id)).collect();
    let sections = sections(assist, asked).into_iter().map(str::to_owned).collect();
    let asking = FlowQuestion {
        title: QuestionTitle::Words(asked.text.clone()),
        ask: Ask::Clarification { questions, sections: Some(sections), more_options: more },
        choices: choices(),
        // A question is not approved, it is answered.
        approving: None,
    };
    if flow::ask(step, asking) == FlowWait::Settled {
        go_on(step);
    }
}

/// What an answer may say: which tasks, which day, how much they matter. It stays one question.
fn sections(assist: &Assist, question: &Question) -> Vec<&'static str> {
    let lacks = |what: &[&str]| assist.missing.iter().any(|one| what.contains(&one.to_lowercase().as_str()));
    let mut sections = Vec::new();
    if !question.options.is_empty() {
        sections.push("ids");
    }
    if lacks(&["date", "time", "day", "when"]) {
        sections.push("date");
    }
    if lacks(&["priority"]) {
        sections.push("priority");
    }
    sections
}

#[cfg(test)]
mod tests {
    use crate::record::is_same_question as is_same;

    #[test]
    fn a_question_is_known_again_with_and_without_its_options() {
        assert!(is_same("Which one?", " which  one? Options: #1 “A”."));
        assert!(!is_same("Which one?", "When?") && !is_same("", ""));
    }
}
