//! When a turn ends, and its result.

use trimtab_vocab::event::{AnswerFact, Level, Stage, Status};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::{Notice, StageLabel};
use trimtab_vocab::{Answer, CommandProposal, RequestId, Role, StopReason, Synthesis};

use super::goal::{BANNERS, judged, without_banners};
use super::{answer_schema, claims, finish, further, series};
use crate::calls::model;
use crate::flow::{pace, satisfaction};
use crate::record::{RunningRequest, Session};
use crate::transition::Transition;

pub(crate) use crate::record::names::bug::HOLLOW;

/// The message to the model when its text was cut off at the output limit and it continues automatically.
pub(super) const GO_ON: &str =
    "[Your reply was cut off at the output limit. Continue exactly where it stopped, without repeating anything.]";

/// Words that announce more work.
const PHRASES: [&str; 10] = [
    "let me",
    "i'll now",
    "i will now",
    "next, i",
    "continuing with",
    "moving on to",
    "i'll proceed",
    "let's",
    "i need to",
    "i should",
];

/// Whether words announce more work, by the documented list.
pub fn needs_continuation(words: &str) -> bool {
    let words = words.to_lowercase().replace('’', "'");
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Whether a reply without a stop reason is unfinished: its last words announce more work. "Let me
/// know" asks the user, and so does a question; neither announces anything.
pub(super) fn is_unfinished(words: &str) -> bool {
    let words = words.trim().to_lowercase().replace('’', "'");
    if words.ends_with('?') {
        return false;
    }
    let last = words.rfind("\n\n").map_or(words.as_str(), |at| &words[at..]);
    let last = last.trim_end_matches(['.', ':', '!', '…', ' ']);
    // A dot inside a name ends no sentence.
    let ends = [". ", "! ", "? ", "\n"].iter().filter_map(|end| last.rfind(end).map(|at| at + end.len()));
    let start = ends.max().unwrap_or(0);
    needs_continuation(&last[start..].replace("let me know", ""))
}

/// What the model is asked when the limit of steps is reached.
pub(crate) fn assessment(limit: u32) -> String {
    format!(
        "[STEP LIMIT] This request has used all of its {limit} steps. Do not call tools. Begin your reply with exactly \
         one of these lines:\n{}\n{}\n{}\nThen say in a few sentences what is done, what is left, and what you would do next.",
        BANNERS[0], BANNERS[1], BANNERS[2]
    )
}

/// `synthesis_<message id>`, or `agent_<n>_<message id>` for agent number n.
pub fn synthesis_id(message: &str, agent: Option<u32>) -> String {
    match agent {
        Some(number) => format!("agent_{number}_{message}"),
        None => format!("synthesis_{message}"),
    }
}

/// What tools found, as a list. Errors are not among the findings.
pub fn synthesis_list<'a>(findings: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::from("Based on the tool executions:\n");
    for finding in findings {
        text.push_str("- ");
        text.push_str(finding);
        text.push('\n');
    }
    text
}

fn synthesis(active: &RunningRequest, words: &str) -> Option<Synthesis> {
    if active.tools.used == 0 {
        return None;
    }
    let by_list = active.request.settings.style.synthesis_list || words.trim().is_empty();
    let text = if by_list {
        synthesis_list(active.tools.findings.iter().map(String::as_str))
    } else {
        words.trim().to_owned()
    };
    Some(Synthesis { id: synthesis_id(active.request.id.as_str(), None), text })
}

/// The turn is over: says what it came to, and ends the request.
pub(super) fn end(step: &mut Transition<'_>, words: &str, stop: Option<&StopReason>, status: Status) {
    if status == Status::Completed && answer_schema::settle(step, words) {
        return;
    }
    let Some(request) = answer(step, words, stop) else { return };
    // Folding the answer has made a series of the commands that its words mark.
    if status == Status::Completed && step.session.active().is_some_and(|active| active.series.is_some()) {
        return series::begin(step);
    }
    match status {
        Status::Completed => conclude(step, &request, words),
        _ => finish(step, &request, status, None),
    }
}

/// The answer is complete: the request ends with the status of its actions, unless something follows.
pub(super) fn conclude(step: &mut Transition<'_>, request: &RequestId, words: &str) {
    if pace::go_on(step) {
        return;
    }
    let (status, problem) = claims::ending(step.session, words);
    if status == Status::NotDone || !satisfaction::ask(step) {
        finish(step, request, status, problem);
    }
}

/// Says what the turn came to.
pub(crate) fn answer(
    step: &mut Transition<'_>,
    words: &str,
    stop: Option<&StopReason>,
) -> Option<trimtab_vocab::RequestId> {
    let active = step.session.active()?;
    let request = active.request.id.clone();
    let mut summary = without_banners(&put_together(step.session, words));
    let synthesis = synthesis(active, &summary);
    let (stage, label) = match synthesis {
        Some(_) => (Stage::Summarizing, StageLabel::Synthesizing),
        None => (Stage::Finishing, StageLabel::Finishing),
    };
    step.enter(&request, stage, label);
    if let Some(notice) = remark(step.session, stop, &summary) {
        step.notify(&request, Level::Warning, notice);
    }
    if let (true, Some(synthesis)) = (summary.trim().is_empty(), &synthesis) {
        summary.clone_from(&synthesis.text);
    }
    let truncated = stop == Some(&StopReason::MaxTokens);
    pace::check(step);
    let todos = step.session.todos().to_vec();
    let proposal = |command: String| CommandProposal { command, description: String::new() };
    let works = step.session.active().is_some_and(RunningRequest::proposes_commands) && !truncated;
    let marked = if works { series::verdict::marked(words) } else { Vec::new() };
    let commands = marked.into_iter().map(proposal).collect();
    // Of a list that was cut, the last item may be half a request.
    let offers = if truncated { Vec::new() } else { further::offers(&summary) };
    let next_steps = pace::next_steps(step.session, offers);
    let answer = Answer { summary, todos, commands, next_steps, truncated, synthesis, ..Answer::default() };
    series::warn(step, &request, &answer);
    step.emit(Some(&request), AnswerFact { answer });
    Some(request)
}

/// The text of a reply, joined with the cut-off replies that it continues.
fn put_together(session: &Session, words: &str) -> String {
    let mut pieces = vec![words.to_owned()];
    let mut rest = session.conversation();
    while let [before @ .., cut, nudge, _] = rest
        && nudge.role == Role::User
        && nudge.text() == GO_ON
    {
        pieces.push(cut.text());
        rest = &rest[..before.len() + 1];
    }
    pieces.reverse();
    pieces.concat()
}

/// The model has assessed its progress: one banner, its text, and a way to continue.
pub(super) fn assessed(step: &mut Transition<'_>, words: &str, stop: Option<&StopReason>) {
    let (words, banner) = judged(words);
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
    let level = if banner == BANNERS[0] { Level::Info } else { Level::Warning };
    step.notify(&request, level, Notice::Words(banner.into()));
    if answer(step, &words, stop).is_some() {
        super::answers::ask_for_more_steps(step);
    }
}

/// Which limit a reply was cut off at. The window is full where what the provider counted comes near it.
fn cut_off(session: &Session) -> Option<Notice> {
    let active = session.active()?;
    let (facts, wanted) = (model(&active.request).1, active.request.settings.models.max_output_tokens);
    Some(match session.conversation_tokens() {
        tokens if facts.window > 0 && tokens >= facts.window / 100 * 95 => {
            Notice::CutOffByWindow(Plural::new(facts.window, "token"))
        }
        _ if facts.max_output < wanted => Notice::CutOffByModel(Plural::new(facts.max_output, "token")),
        _ => Notice::CutOff(Plural::new(wanted, "token")),
    })
}

/// What the user must know about how a reply ended.
fn remark(session: &Session, stop: Option<&StopReason>, words: &str) -> Option<Notice> {
    Some(match stop {
        Some(StopReason::MaxTokens) => cut_off(session)?,
        Some(StopReason::ContentFiltered | StopReason::GuardrailIntervened) => Notice::Withheld,
        Some(StopReason::Other(reason)) => Notice::StoppedForOther(reason.to_string()),
        _ if words.trim().is_empty() => Notice::EmptyReply,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_documented_phrase_announces_more_work_in_any_case() {
        for phrase in PHRASES {
            assert!(needs_continuation(&format!("Well. {} look", phrase.to_uppercase())), "{phrase}");
        }
        assert!(needs_continuation("I’ll now look"));
        assert!(!needs_continuation("All done."));
    }

    #[test]
    fn fewer_finished_replies_are_taken_for_unfinished_ones_than_by_the_list() {
        let unfinished = [
            "Let me check the file.",
            "The test fails. I'll now fix it:",
            "Done with a.rs.\n\nMoving on to b.rs",
            "Next, I run the tests…",
            "I need to see the config",
        ];
        let finished = [
            "All done. Let me know if you need anything else.",
            "I should mention that the tests pass. Everything is in place.",
            "Let's call it a day? What do you think?",
            "I said \"let me\" earlier; that is done. The answer is 4.",
            "First I need to thank you. The bug is fixed.",
        ];
        for words in unfinished {
            assert!(is_unfinished(words), "{words}");
        }
        let mistaken = finished.iter().filter(|words| is_unfinished(words)).count();
        let by_list = finished.iter().filter(|words| needs_continuation(words)).count();
        assert_eq!((mistaken, by_list), (0, 5));
    }

    #[test]
    fn a_synthesis_names_its_message_and_lists_what_was_found() {
        assert_eq!(synthesis_id("m1", None), "synthesis_m1");
        assert_eq!(synthesis_id("m1", Some(2)), "agent_2_m1");
        assert_eq!(synthesis_list(["a", "b"]), "Based on the tool executions:\n- a\n- b\n");
    }
}
