//! When the program itself fails, what a person said is kept and exactly that request ends.

use trimtab_engine::{Input, Output, Session, give_up, step};
use trimtab_vocab::event::{Fact, RequestFact, Status};
use trimtab_vocab::{Problem, ProblemKind, Request, RequestId, RunSettings};

fn said(id: &str) -> Input {
    let id: RequestId = id.parse().expect("an id");
    let text = format!("words of {id}");
    Input::Said { request: Box::new(Request::new(id, text, RunSettings::default())) }
}

fn fail_at(session: &mut Session, input: Option<Input>) -> Vec<String> {
    let outputs = give_up(session, input, Problem::new(ProblemKind::Internal, "a defect"));
    let line = |output: &Output| match output {
        Output::Event { request, fact: Fact::Request(RequestFact::Received { text, .. }) } => {
            Some(format!("{} received {text}", request.as_ref()?))
        }
        Output::Event { request, fact: Fact::Request(RequestFact::Finished { status: Status::Failed, .. }) } => {
            Some(format!("{} failed", request.as_ref()?))
        }
        Output::Event { fact: Fact::Bug(bug), .. } => Some(format!("bug {}", bug.kind)),
        Output::Effect(effect) => Some(format!("{effect:?}")),
        _ => None,
    };
    outputs.iter().filter_map(line).collect()
}

#[test]
fn words_that_could_not_be_taken_in_are_recorded_all_the_same() {
    let mut session = Session::default();
    let lines = fail_at(&mut session, Some(said("r1")));
    assert_eq!(lines, ["r1 received words of r1", "bug internal", "r1 failed"]);
    assert!(session.is_idle());
}

#[test]
fn a_request_that_runs_does_not_pay_for_the_failure_of_another() {
    let mut session = Session::default();
    step(&mut session, said("r1"));
    let lines = fail_at(&mut session, Some(said("r2")));
    assert_eq!(lines, ["r2 received words of r2", "bug internal", "r2 failed"]);
    assert_eq!(session.active().map(|active| active.request.id.as_str()), Some("r1"));
}

#[test]
fn a_failure_at_a_result_ends_the_running_request_and_its_call() {
    let mut session = Session::default();
    step(&mut session, said("r1"));
    step(&mut session, said("r2"));
    step(&mut session, Input::Admitted { request: "r1".parse().expect("an id") });
    let lines = fail_at(&mut session, None);
    assert_eq!(
        lines,
        ["bug internal", "Abort { call: CallId(\"c1\") }", "r1 failed", "Admit { request: RequestId(\"r2\") }",]
    );
}

#[test]
fn a_failure_with_nothing_running_is_only_told() {
    assert_eq!(fail_at(&mut Session::default(), None), ["bug internal"]);
}
