//! Workers of a request: whoever takes over the session of a killed process starts them again, and what they report
//! late changes nothing that they have finished.

use serde_json::json;
use trimtab_engine::{Effect, Input, Interrupted, Output, ProposedChange, Session, WorkerReport, step};
use trimtab_vocab::event::{CheckpointFact, Fact, Status};
use trimtab_vocab::{
    CallId, CheckpointId, FileState, FileWrite, KnownAtStart, LeftBehind, Machine, Message, Reply, Request, RequestId,
    Rule, RuleVerdict, RunSettings, SessionId, StopReason, SubtaskOffer, SubtaskStart, Usage,
};

fn started(outputs: &[Output]) -> Vec<SessionId> {
    let worker = |output: &Output| match output {
        Output::Effect(Effect::StartWorker(order)) => Some(order.worker.clone()),
        _ => None,
    };
    outputs.iter().filter_map(worker).collect()
}

fn asked(outputs: &[Output]) -> Option<CheckpointId> {
    outputs.iter().find_map(|output| match output {
        Output::Event { fact: Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }), .. } => {
            Some(checkpoint.clone())
        }
        _ => None,
    })
}

/// A new owner finds these calls under way.
fn woke(session: &mut Session) -> Vec<Output> {
    let lost = session.under_way().into_iter().map(|call| Interrupted { call, partial: None }).collect();
    step(session, Input::Woke { interrupted: lost })
}

/// A session whose request has just started two workers, with the rule that trusts its folder.
fn with_workers() -> (Session, Rule, Vec<SessionId>) {
    let trusts =
        Rule { verdict: RuleVerdict::Allow, tool: Rule::TRUST.into(), pattern: "*".into(), folder: Some("/p".into()) };
    let mut settings = RunSettings {
        known: KnownAtStart { rules: vec![trusts.clone()], ..KnownAtStart::default() },
        ..RunSettings::default()
    };
    settings.models.model = "m/x".into();
    settings.models.facts.window = 100_000;
    settings.subtasks.start = Some(SubtaskStart::Parallel);
    settings.subtasks.offer = SubtaskOffer::Auto;
    settings.subtasks.auto_usd = 1_000.0;
    settings.machine = Machine { workers: "/copies".into(), ..settings.machine };
    let mut session = Session::new("s1".parse().expect("an id"));
    let id: RequestId = "r1".parse().expect("an id");
    step(&mut session, Input::Opened { folder: "/p".into() });
    step(&mut session, Input::Said { request: Box::new(Request::new(id.clone(), "Write two files", settings)) });
    let mut outputs = step(&mut session, Input::Admitted { request: id.clone() });
    if outputs.iter().any(|output| matches!(output, Output::Effect(Effect::Load { .. }))) {
        outputs = step(&mut session, nothing_loaded(&id));
    }
    let call = outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::CallModel { call, .. }) => Some(call.clone()),
        _ => None,
    });
    let outputs = step(&mut session, planned(call.expect("a plan is asked for")));
    let workers = started(&outputs);
    assert_eq!(workers.len(), 2, "{outputs:?}");
    (session, trusts, workers)
}

fn nothing_loaded(request: &RequestId) -> Input {
    Input::Loaded {
        request: request.clone(),
        files: Vec::new(),
        missing: Vec::new(),
        absent: Vec::new(),
        instructions: None,
        instruction_files: Vec::new(),
        servers: None,
        unread: Vec::new(),
    }
}

fn planned(call: CallId) -> Input {
    let plan = json!({"tasks": [{"instruction": "Write a.txt"}, {"instruction": "Write b.txt"}]}).to_string();
    let (message, stop_reason) = (Message::assistant(plan), Some(StopReason::EndTurn));
    let reply = Reply { message, stop_reason, usage: Usage::default() };
    Input::Replied { call, reply, raw: None, warnings: Vec::new() }
}

#[test]
fn workers_start_again_under_a_new_owner() {
    let (mut session, _, workers) = with_workers();
    assert_eq!(started(&woke(&mut session)), workers);
}

#[test]
fn workers_start_again_while_the_instructions_of_a_folder_are_read_that_was_just_trusted() {
    let (mut session, trusts, workers) = with_workers();
    // Somebody else removes the rule while the process is dead, so that the next owner asks.
    step(&mut session, Input::RuleRemoved { rule: trusts });
    let checkpoint = asked(&woke(&mut session)).expect("whether the folder is trusted");
    assert_eq!(started(&woke(&mut session)), workers, "while the question is open");
    let (choice, by) = ("trust".to_owned(), "user".to_owned());
    let answer = Input::Answered { checkpoint, choice, text: None, by, surface: None, instructions: Vec::new() };
    let outputs = step(&mut session, answer);
    assert!(outputs.iter().any(|output| matches!(output, Output::Effect(Effect::Load { .. }))), "{outputs:?}");
    // This one is killed as well, before it has read them.
    assert_eq!(started(&woke(&mut session)), workers);
}

#[test]
fn what_a_finished_worker_costs_later_is_counted_and_its_work_is_merged() {
    let (mut session, _, workers) = with_workers();
    let report = |worker: &SessionId, report| Input::WorkerReported { worker: worker.clone(), report };
    let write = |path: &str| FileWrite {
        path: path.into(),
        before: None,
        after: Some(FileState { hash: "h".into(), mode: 0o644 }),
        added: 1,
        removed: 0,
        modified: 0,
    };
    let ended = |path: &str| WorkerReport::Ended {
        status: Status::Completed,
        summary: "Done.".into(),
        error: None,
        usage: Usage { input_tokens: 10, ..Usage::default() },
        writes: vec![write(path)],
        left_behind: LeftBehind { ignored: 2, ..LeftBehind::default() },
    };
    step(&mut session, report(&workers[0], ended("a.txt")));
    let usage = Usage { input_tokens: 15, ..Usage::default() };
    let outputs = step(&mut session, report(&workers[0], WorkerReport::Progress { progress: 1.0, usage }));
    let counted = outputs.iter().find_map(|output| match output {
        Output::Event { fact: Fact::Subtask(fact), .. } => Some((fact.usage.input_tokens, fact.left_behind.ignored)),
        _ => None,
    });
    assert_eq!(counted, Some((15, 2)), "{outputs:?}");
    let outputs = step(&mut session, report(&workers[1], ended("b.txt")));
    let merged = outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::Prepare { change: ProposedChange::Merge(order), .. }) => Some(order.parts.len()),
        _ => None,
    });
    assert_eq!(merged, Some(2), "{outputs:?}");
}
