//! What a person approves is what runs: the approval names the hash of all that decides what is executed.

use trimtab_engine::{Effect, Input, Output, Session, step};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, CommandFact};
use trimtab_vocab::{
    CallId, CheckpointId, Fact, FolderTrust, Message, ModelFacts, ModelSettings, Part, Reply, Request, RequestId, Role,
    RunSettings, StopReason, ToolCall, Usage,
};

type Log = Vec<(Option<RequestId>, Fact)>;

fn facts(outputs: &[Output]) -> Log {
    let fact = |output: &Output| match output {
        Output::Event { request, fact } => Some((request.clone(), fact.clone())),
        _ => None,
    };
    outputs.iter().filter_map(fact).collect()
}

fn call_of(outputs: &[Output]) -> Option<CallId> {
    outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::CallModel { call, .. }) => Some(call.clone()),
        _ => None,
    })
}

/// A log that ends with a question about a command.
fn asked() -> (Log, CheckpointId) {
    let id: RequestId = "r1".parse().expect("an id");
    let facts_of_model = ModelFacts { window: 100_000, ..ModelFacts::default() };
    let settings = RunSettings {
        models: ModelSettings { model: "a/b".into(), facts: facts_of_model, ..ModelSettings::default() },
        trust: FolderTrust::WHOLE,
        ..RunSettings::default()
    };
    let request = Request::new(id.clone(), "go", settings);
    let mut session = Session::default();
    let mut log = Log::new();
    let mut call = None;
    let loaded = Input::Loaded {
        request: id.clone(),
        files: Vec::new(),
        missing: Vec::new(),
        absent: Vec::new(),
        instructions: None,
        instruction_files: Vec::new(),
        servers: None,
        unread: Vec::new(),
    };
    let begin = [
        Input::Opened { folder: "/p".into() },
        Input::Said { request: Box::new(request) },
        Input::Admitted { request: id },
        loaded,
    ];
    for input in begin {
        let outputs = step(&mut session, input);
        call = call_of(&outputs).or(call);
        log.extend(facts(&outputs));
    }
    let wish = ToolCall {
        id: "toolu_1".into(),
        name: "run_command".into(),
        input: serde_json::json!({"command": "make all"}),
        broken: None,
    };
    let message = Message { role: Role::Assistant, parts: vec![Part::ToolUse(wish)] };
    let reply = Reply { message, stop_reason: Some(StopReason::ToolUse), usage: Usage::default() };
    let call = call.expect("the model is called");
    log.extend(facts(&step(&mut session, Input::Replied { call, reply, raw: None, warnings: Vec::new() })));
    let checkpoint = log.iter().find_map(|(_, fact)| match fact {
        Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) => Some(checkpoint.clone()),
        _ => None,
    });
    (log, checkpoint.expect("it asks"))
}

fn answered(log: &Log, checkpoint: &CheckpointId) -> Vec<Output> {
    let mut session = Session::replay(log.iter().map(|(request, fact)| (request.as_ref(), fact)));
    let (checkpoint, choice) = (checkpoint.clone(), "allow".to_owned());
    step(
        &mut session,
        Input::Answered { checkpoint, choice, text: None, by: "user".into(), surface: None, instructions: Vec::new() },
    )
}

fn runs(outputs: &[Output]) -> Option<&trimtab_vocab::CommandPlan> {
    outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::Run { plan, .. }) => Some(plan),
        _ => None,
    })
}

#[test]
fn an_approval_names_the_hash_of_what_runs() {
    let (log, checkpoint) = asked();
    let approved = log.iter().find_map(|(_, fact)| match fact {
        Fact::Checkpoint(CheckpointFact::Opened { ask, .. }) => ask.fingerprint().map(str::to_owned),
        _ => None,
    });
    let outputs = answered(&log, &checkpoint);
    assert_eq!(runs(&outputs).expect("it runs").fingerprint().map(str::to_owned), approved);
    let recorded = facts(&outputs).into_iter().find_map(|(_, fact)| match fact {
        Fact::Command(CommandFact::Started { fingerprint, .. }) => fingerprint,
        _ => None,
    });
    assert_eq!(recorded, approved);
}

#[test]
fn what_differs_from_what_was_approved_does_not_run_but_asks_again() {
    // The question showed other arguments, another folder, a stricter sandbox or a shorter time: the hash that it
    // names is not the one of what would run now.
    let (mut log, checkpoint) = asked();
    for (_, fact) in &mut log {
        if let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::Permission(ask), .. }) = fact {
            ask.fingerprint = Some("0".repeat(64));
        }
    }
    let outputs = answered(&log, &checkpoint);
    assert!(runs(&outputs).is_none());
    let again = |(_, fact): &(Option<RequestId>, Fact)| matches!(fact, Fact::Checkpoint(CheckpointFact::Opened { .. }));
    assert!(facts(&outputs).iter().any(again), "it asks again");
    let (mut log, checkpoint) = asked();
    for (_, fact) in &mut log {
        if let Fact::Request(trimtab_vocab::event::RequestFact::Received { settings, .. }) = fact {
            settings.commands.sandbox = trimtab_vocab::Sandbox::Off;
        }
    }
    assert!(runs(&answered(&log, &checkpoint)).is_none(), "other terms than those that were shown");
}
