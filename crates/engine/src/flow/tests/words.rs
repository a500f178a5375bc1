//! Words reach the model: what the user says at any time, and where in its plan a request is.

use trimtab_vocab::event::AnswerFact;
use trimtab_vocab::{Fault, ModelFacts, Prices, Problem, ProblemKind, Retry, WhileRunning};

use super::*;
use crate::Partial;

fn steer(talk: &mut Talk, text: &str) {
    talk.feed(Input::Controlled { request: None, action: Control::Steer { text: text.into() } });
}

/// Another message in the same session.
fn say(talk: &mut Talk, name: &str, text: &str, while_running: Option<WhileRunning>) {
    let request = Request::new(name.parse().expect("an id"), text, settings(Copilot::default()));
    talk.feed(Input::Said { request: Box::new(Request { while_running, ..request }) });
}

fn direct(copilot: Copilot) -> Talk {
    Talk::begin(route(RouteDecision::Direct, 0, None), RunSettings { attended: true, ..settings(copilot) })
}

/// The model asks for a tool, and is cut off at the output limit.
fn cut_off(talk: &mut Talk) {
    let call = ToolCall { id: "t1".into(), name: "list_files".into(), input: json!({}), broken: None };
    talk.replies(vec![Part::Text { text: "I look".into() }, Part::ToolUse(call)], StopReason::MaxTokens);
}

#[test]
fn who_accepts_a_reply_that_was_cut_off_and_has_said_more_is_heard() {
    let mut talk = direct(Copilot::default());
    steer(&mut talk, "and in blue");
    cut_off(&mut talk);
    assert_eq!(talk.asked(), "recovery: Response was truncated!");
    talk.answer("continue", None);
    assert!(talk.prompt().contains("and in blue"), "{}", talk.prompt());
    cut_off(&mut talk);
    talk.answer("continue", Some("but shorter"));
    assert!(talk.prompt().contains("but shorter"), "{}", talk.prompt());
    cut_off(&mut talk);
    talk.answer("continue", None);
    assert_eq!(talk.ended(), Some((Status::Completed, None)), "who says nothing more accepts it");
}

/// Work that changed something, at the question whether the user is content.
fn at_the_question() -> Talk {
    let mut talk = direct(Copilot { approval_mode: ApprovalMode::AfterStep, ..Copilot::default() });
    talk.uses("run_command", json!({"command": "make"}));
    talk.answer("allow", None);
    make_ends(&mut talk);
    talk
}

/// The command has ended, and the model says so.
fn make_ends(talk: &mut Talk) {
    let call = CallId::tool(&CallId::nth(1), 1);
    let ran = crate::Ran { exit_code: Some(0), ..crate::Ran::default() };
    talk.feed(Input::Ran { call, ran, effects: None });
    talk.says("Done.");
    assert_eq!(talk.asked(), "satisfaction: Does this result meet your needs?");
}

#[test]
fn who_is_content_but_has_said_more_is_heard() {
    let mut talk = at_the_question();
    steer(&mut talk, "and in blue");
    talk.answer("satisfied", None);
    assert!(talk.prompt().contains("and in blue"), "{}", talk.prompt());
}

#[test]
fn who_is_content_and_was_heard_with_the_results_of_tools_is_not_heard_again() {
    let mut talk = direct(Copilot { approval_mode: ApprovalMode::AfterStep, ..Copilot::default() });
    talk.uses("run_command", json!({"command": "make"}));
    steer(&mut talk, "and in blue");
    talk.answer("allow", None);
    make_ends(&mut talk);
    talk.answer("satisfied", None);
    assert_eq!(talk.ended(), Some((Status::Completed, None)));
}

#[test]
fn who_starts_over_is_told_again_what_went_with_the_first_attempt() {
    let copilot = Copilot { approval_mode: ApprovalMode::AfterStep, ..Copilot::default() };
    let untrusted = RunSettings { attended: true, trust: trimtab_vocab::FolderTrust::default(), ..settings(copilot) };
    let mut talk = Talk::begin(route(RouteDecision::Direct, 0, None), untrusted);
    talk.uses("run_command", json!({"command": "make"}));
    talk.answer("trust", None);
    talk.answer("allow", None);
    make_ends(&mut talk);
    talk.answer("start_over", None);
    let prompt = talk.prompt();
    assert!(prompt.contains("The folder is /p.") && !prompt.contains("Done."), "{prompt}");
}

#[test]
fn a_message_at_a_question_about_the_work_answers_it() {
    let mut talk = at_the_question();
    say(&mut talk, "r2", "make it blue", Some(WhileRunning::Steer));
    assert!(talk.prompt().contains("User Feedback: make it blue"), "{}", talk.prompt());
    let mut talk = Talk::begin(route(RouteDecision::Clarify, 60, asking(&["For whom?"])), settings(Copilot::default()));
    say(&mut talk, "r2", "the team", Some(WhileRunning::Steer));
    assert!(talk.prompt().contains("Question: For whom?\nAnswer: the team"), "{}", talk.prompt());
    talk.uses("propose_plan", two());
    say(&mut talk, "r3", "leave two out", Some(WhileRunning::Steer));
    assert!(talk.prompt().contains("wants version 1 of the plan changed:]\nleave two out"), "{}", talk.prompt());
}

#[test]
fn what_nobody_heard_before_the_end_is_heard_with_the_next_request() {
    let mut talk = direct(Copilot::default());
    steer(&mut talk, "and in blue");
    talk.feed(Input::Controlled { request: None, action: Control::Cancel });
    let (call, _) = talk.call.take().expect("a call");
    talk.feed(Input::CallAborted { call, partial: None });
    assert_eq!(talk.ended(), Some((Status::Cancelled, None)));
    say(&mut talk, "r2", "hello", None);
    assert!(talk.prompt().contains("and in blue"), "{}", talk.prompt());
}

#[test]
fn a_request_that_goes_on_after_another_is_told_its_step_again() {
    let alone = RunSettings { attended: false, ..settings(Copilot::default()) };
    let mut talk = Talk::begin(route(RouteDecision::Plan, 60, None), alone);
    talk.uses("propose_plan", two());
    talk.answer("approve", None);
    talk.uses("ask_user", json!({"question": "Which?", "options": ["this", "that"]}));
    assert_eq!(talk.ended().map(|(status, _)| status), Some(Status::NeedsUser));
    say(&mut talk, "r2", "hello", None);
    talk.says("Hello.");
    talk.answer("o1", None);
    let prompt = talk.prompt();
    let (_, since) = prompt.rsplit_once("Hello.").expect("the other request stands between");
    assert!(since.contains("make it better") && since.contains("[PLAN STEP 1 of 2] One"), "{since}");
}

#[test]
fn a_request_that_goes_on_after_another_is_asked_again_how_far_it_came() {
    let facts = ModelFacts { prices: Some(Prices { input: 1.0, ..Prices::default() }), ..ModelFacts::default() };
    let models = settings(Copilot::default()).models;
    let models = ModelSettings { facts, max_steps: 1, budget_usd: Some(0.5), ..models };
    let alone = RunSettings { attended: false, models, ..settings(Copilot::default()) };
    let mut talk = Talk::begin(route(RouteDecision::Direct, 0, None), alone);
    talk.uses("set_steps", json!({"steps": ["one"]}));
    assert!(talk.prompt().contains("[STEP LIMIT]"), "{}", talk.prompt());
    let (call, _) = talk.call.take().expect("a call");
    let fault =
        Fault { problem: Problem::new(ProblemKind::Overloaded, "busy"), retry: Retry::Later { after_ms: None } };
    let usage = Usage { cost_usd: Some(1.0), ..Usage::default() };
    let partial = Some(Partial { message: Message::assistant(""), raw: None, usage });
    talk.feed(Input::CallFailed { call, fault, partial });
    assert_eq!(talk.ended().map(|(status, _)| status), Some(Status::Limit), "the budget is used up");
    say(&mut talk, "r2", "hello", None);
    talk.says("Hello.");
    talk.answer("raise", Some("9"));
    let prompt = talk.prompt();
    let (_, since) = prompt.rsplit_once("Hello.").expect("the other request stands between");
    assert!(since.contains("make it better") && since.contains("[STEP LIMIT]"), "{since}");
}

#[test]
fn a_plan_is_never_answered_with_what_the_model_said_to_another_request() {
    let copilot = Copilot { approval_mode: ApprovalMode::AfterStep, ..Copilot::default() };
    let alone = RunSettings { attended: false, ..settings(copilot) };
    let mut talk = Talk::begin(route(RouteDecision::Plan, 60, None), alone);
    talk.uses("propose_plan", json!({"steps": [{"title": "One"}]}));
    talk.answer("approve", None);
    talk.says("One is done.");
    assert_eq!(talk.ended().map(|(status, _)| status), Some(Status::NeedsUser));
    say(&mut talk, "r2", "hello", None);
    talk.says("Hello.");
    talk.answer("continue", None);
    let mut answers = talk.log.iter().filter_map(|(request, fact)| match fact {
        Fact::Answer(AnswerFact { answer }) if *request == Some(id()) => Some(answer.summary.as_str()),
        _ => None,
    });
    assert_eq!(answers.next_back(), Some("1 of 1 steps of the plan are done."));
}

#[test]
fn a_summary_in_the_middle_of_a_step_says_which_step_it_is() {
    let facts = ModelFacts { window: 6_000, max_output: 500, ..ModelFacts::default() };
    let mut small = RunSettings { attended: false, approve: Approve::Auto, ..settings(Copilot::default()) };
    small.models.facts = facts;
    small.models.max_steps = 100;
    let mut talk = Talk::begin(route(RouteDecision::Plan, 60, None), small);
    talk.uses("propose_plan", two());
    let mut summed_up = 0;
    for round in 0..80 {
        let system = &talk.call.as_ref().expect("a call").1.system;
        if system.starts_with("You summarize a part") || system.starts_with("You get summaries") {
            talk.says("They worked on it.");
            summed_up += 1;
            let prompt = talk.prompt();
            let (_, last) = prompt.rsplit_once("[CONVERSATION SUMMARY]").expect("a summary");
            assert!(last.contains("[PLAN STEP 1 of 2] One"), "{last}");
            if summed_up == 2 {
                return;
            }
        }
        // The reply is cut off at the output limit, and the step goes on.
        let words = format!("round {round} {}", "and so on ".repeat(150));
        talk.replies(vec![Part::Text { text: words }], StopReason::MaxTokens);
    }
    panic!("nothing was summed up");
}
