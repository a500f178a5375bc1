//! Model calls: what each is for, what becomes of its reply, and which tools it is offered.

use trimtab_engine::{Effect, Input, Output, Session, step};
use trimtab_vocab::event::{ModelFact, OfferedTools, ReplyFact};
use trimtab_vocab::{
    CallId, Fact, Message, Mode, ModelSettings, Part, Prompt, Purpose, Reply, Request, RequestId, Role, RunSettings,
    StopReason, Usage,
};

const PURPOSES: [&str; 10] = [
    "requirements",
    "route",
    "summary",
    "repair",
    "image.prompts",
    "ask.route",
    "ask.chat",
    "ask.propose",
    "ask.repair",
    "ask.summary",
];

fn id(name: &str) -> RequestId {
    name.parse().expect("an id")
}

/// Says something, and gives what follows once there is room.
fn said(session: &mut Session, name: &str, text: &str, mode: Mode) -> Vec<Output> {
    let settings = RunSettings {
        models: ModelSettings { model: "m/x".into(), ..ModelSettings::default() },
        trusted: true,
        ..RunSettings::default()
    };
    let request = Request { mode, ..Request::new(id(name), text, settings) };
    step(session, Input::Said { request: Box::new(request) });
    let mut outputs = step(session, Input::Admitted { request: id(name) });
    if outputs.iter().any(|output| matches!(output, Output::Effect(Effect::Load { .. }))) {
        outputs = step(
            session,
            Input::Loaded {
                request: id(name),
                files: Vec::new(),
                missing: Vec::new(),
                absent: Vec::new(),
                instructions: None,
                instruction_files: Vec::new(),
            },
        );
    }
    outputs
}

fn replied(session: &mut Session, text: &str) -> Vec<Output> {
    let call = session.open_call().expect("a call").clone();
    let message = Message { role: Role::Assistant, parts: vec![Part::Text { text: text.into() }] };
    let reply = Reply { message, stop_reason: Some(StopReason::EndTurn), usage: Usage::default() };
    step(session, Input::Replied { call, reply, raw: None, warnings: Vec::new() })
}

/// What the record says of the tools, and the prompt that goes out with it.
fn called(outputs: &[Output]) -> (Option<OfferedTools>, Prompt) {
    let recorded = outputs.iter().find_map(|output| match output {
        Output::Event { fact: Fact::Model(ModelFact::Called { tools, .. }), .. } => Some(tools.clone()),
        _ => None,
    });
    let prompt = outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::CallModel { prompt, .. }) => Some(Prompt::clone(prompt)),
        _ => None,
    });
    (recorded.expect("a record"), prompt.expect("a call"))
}

#[test]
fn tools_are_recorded_when_they_change_and_not_again() {
    let mut session = Session::default();
    step(&mut session, Input::Opened { folder: "/p".into() });
    let (first, prompt) = called(&said(&mut session, "r1", "Fix the failing test in a.rs", Mode::Auto));
    let first = first.expect("recorded with the first call");
    let names: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(first.names, names);
    assert!(names.contains(&"read_file") && !first.hash.is_empty());
    replied(&mut session, "Done.");
    let (same, _) = called(&said(&mut session, "r2", "Fix the failing test in b.rs", Mode::Auto));
    assert_eq!(same, None, "the same tools are recorded once");
    replied(&mut session, "Done.");
    let (none, prompt) = called(&said(&mut session, "r3", "Thanks!", Mode::Chat));
    assert!(prompt.tools.is_empty());
    assert_eq!(none, Some(OfferedTools::default()), "that there are none is a change, too");
    replied(&mut session, "You are welcome.");
    let (again, _) = called(&said(&mut session, "r4", "Fix the failing test in c.rs", Mode::Auto));
    assert_eq!(again, Some(first));
}

#[test]
fn a_reply_that_is_not_for_the_conversation_never_enters_it() {
    let names = PURPOSES.into_iter().map(Some).chain([None, Some("of-a-newer-version")]);
    for name in names {
        let purpose = Purpose::from(name.map(str::to_owned));
        let mut session = Session::default();
        step(&mut session, Input::Opened { folder: "/p".into() });
        said(&mut session, "r1", "Fix the failing test", Mode::Auto);
        let (request, call) = (id("r1"), CallId::nth(9));
        let before = session.conversation().len();
        let model = ModelFact::Called {
            call: call.clone(),
            model: "m/x".into(),
            attempt: 1,
            purpose: purpose.clone(),
            tools: None,
            notes: Vec::new(),
        };
        session.fold(Some(&request), &model.into());
        let reply = ReplyFact::Saved {
            call,
            raw: None,
            stop_reason: Some(StopReason::EndTurn),
            usage: Usage::default(),
            message: Message::assistant("words"),
            partial: false,
        };
        session.fold(Some(&request), &reply.into());
        let enters = matches!(purpose, Purpose::Turn | Purpose::Requirements | Purpose::Other(_));
        assert_eq!(session.conversation().len() > before, enters, "{purpose}");
        assert_eq!(session.active().expect("it runs").calls.steps, u32::from(enters), "{purpose}");
    }
}
