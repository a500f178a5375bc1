//! Model calls: what each is for, what becomes of its reply, and which tools it is offered.

use trimtab_engine::{Effect, Input, Interrupted, Output, Partial, Session, step};
use trimtab_vocab::event::{ModelFact, OfferedTools, ReplyFact, RequestFact, Status, UsageFact};
use trimtab_vocab::{
    CallId, Control, Effort, Fact, Fault, FolderTrust, Message, Mode, ModelFacts, ModelSettings, Part, Problem,
    ProblemKind, Prompt, Purpose, Reply, Request, RequestId, Retry, Role, RunSettings, StopReason, Usage,
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
        trust: FolderTrust::WHOLE,
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
                servers: None,
                unread: Vec::new(),
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
    replied(&mut session, "I cannot fix it: there is no such file.");
    let (same, _) = called(&said(&mut session, "r2", "Fix the failing test in b.rs", Mode::Auto));
    assert_eq!(same, None, "the same tools are recorded once");
    replied(&mut session, "I cannot fix it: there is no such file.");
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
            text_calls: 0,
            unasked_text: false,
        };
        session.fold(Some(&request), &reply.into());
        let enters = matches!(purpose, Purpose::Turn | Purpose::Requirements | Purpose::Other(_));
        assert_eq!(session.conversation().len() > before, enters, "{purpose}");
        assert_eq!(session.active().expect("it runs").calls.steps, u32::from(enters), "{purpose}");
    }
}

/// The figures of calls that did not reach their end.
fn unfinished(outputs: &[Output]) -> Vec<Usage> {
    let usage = |output: &Output| match output {
        Output::Event { fact: Fact::Usage(UsageFact { usage, unfinished: true, .. }), .. } => Some(*usage),
        _ => None,
    };
    outputs.iter().filter_map(usage).collect()
}

fn finished(outputs: &[Output]) -> Option<(Status, Usage)> {
    outputs.iter().find_map(|output| match output {
        Output::Event { fact: Fact::Request(RequestFact::Finished { status, usage, .. }), .. } => {
            Some((*status, *usage))
        }
        _ => None,
    })
}

fn started(session: &mut Session) -> CallId {
    step(session, Input::Opened { folder: "/p".into() });
    said(session, "r1", "Tell me about tides", Mode::Chat);
    session.open_call().expect("a call").clone()
}

#[test]
fn a_call_that_is_cancelled_or_breaks_off_counts_as_far_as_it_came() {
    let usage = Usage { input_tokens: 90, output_tokens: 7, cost_usd: Some(0.25), estimated: true, ..Usage::default() };
    let partial = || Some(Partial { message: Message::assistant("The tide"), raw: None, usage });
    let mut session = Session::default();
    let call = started(&mut session);
    let problem = Problem::new(ProblemKind::Truncated, "It broke off.");
    let fault = Fault { problem, retry: Retry::Later { after_ms: None } };
    let broken = step(&mut session, Input::CallFailed { call, fault, partial: partial() });
    assert_eq!(unfinished(&broken), [usage]);
    let timer = broken.iter().find_map(|output| match output {
        Output::Effect(Effect::Wait { timer, .. }) => Some(timer.clone()),
        _ => None,
    });
    step(&mut session, Input::TimerFired { timer: timer.expect("a wait") });
    let call = session.open_call().expect("another try").clone();
    step(&mut session, Input::Controlled { request: None, action: Control::Cancel });
    let cancelled = step(&mut session, Input::CallAborted { call, partial: partial() });
    assert_eq!(unfinished(&cancelled), [usage]);
    let (status, total) = finished(&cancelled).expect("an end");
    assert_eq!((status, total.input_tokens, total.output_tokens), (Status::Cancelled, 180, 14));
    assert!(total.estimated && total.cost_usd == Some(0.5), "{total:?}");
    assert_eq!(session.spent(), 0.5, "and the budget knows");
}

#[test]
fn a_call_that_cost_nothing_says_nothing() {
    let mut session = Session::default();
    let call = started(&mut session);
    let problem = Problem::new(ProblemKind::Network, "Connection refused.");
    let fault = Fault { problem, retry: Retry::Never };
    let partial = Some(Partial { message: Message::assistant(""), raw: None, usage: Usage::default() });
    let outputs = step(&mut session, Input::CallFailed { call, fault, partial });
    assert_eq!(unfinished(&outputs), []);
    assert_eq!(finished(&outputs).expect("an end").1, Usage::default());
}

#[test]
fn a_call_that_is_lost_with_the_program_is_estimated_once() {
    let mut session = Session::default();
    let call = started(&mut session);
    let partial = Some(Partial { message: Message::assistant("The tide is"), raw: None, usage: Usage::default() });
    let woke = Input::Woke { interrupted: vec![Interrupted { call, partial }] };
    let [lost] = unfinished(&step(&mut session, woke))[..] else { panic!("one call was lost") };
    assert!(lost.estimated && lost.input_tokens > 50 && lost.output_tokens >= 3, "{lost:?}");
    assert_eq!(unfinished(&step(&mut session, Input::Woke { interrupted: Vec::new() })), []);
    let call = session.open_call().expect("it is made again").clone();
    let told = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    let reply = Reply {
        message: Message::assistant("The tide is the sea's."),
        stop_reason: Some(StopReason::EndTurn),
        usage: told,
    };
    let outputs = step(&mut session, Input::Replied { call, reply, raw: None, warnings: Vec::new() });
    let total = finished(&outputs).expect("an end").1;
    assert_eq!(total.input_tokens, lost.input_tokens + 100);
    assert_eq!(total.output_tokens, lost.output_tokens + 20);
}

#[test]
fn a_server_that_loads_its_model_is_waited_for_without_using_up_retries() {
    let mut session = Session::default();
    started(&mut session);
    let mut waited = 0;
    let mut labels = 0;
    let outputs = loop {
        let call = session.open_call().expect("a call").clone();
        let problem = Problem::new(ProblemKind::Loading, "Loading model");
        let fault = Fault { problem, retry: Retry::Later { after_ms: None } };
        let outputs = step(&mut session, Input::CallFailed { call, fault, partial: None });
        let label = |output: &&Output| matches!(output, Output::Event { fact: Fact::Stage(fact), .. } if fact.label.contains("load the model"));
        labels += outputs.iter().filter(label).count();
        let wait = outputs.iter().find_map(|output| match output {
            Output::Effect(Effect::Wait { timer, millis, .. }) => Some((timer.clone(), *millis)),
            _ => None,
        });
        let Some((timer, millis)) = wait else { break outputs };
        assert!(waited >= 60_000 || session.active().is_some_and(|active| active.calls.failures == 0));
        waited += millis;
        step(&mut session, Input::TimerFired { timer });
    };
    assert_eq!(labels, 1, "it is said once");
    assert!((30 * 60_000..32 * 60_000).contains(&waited), "{waited}");
    assert_eq!(finished(&outputs).expect("an end").0, Status::Failed, "no wait is endless");
}

#[test]
fn a_reply_that_is_cut_off_names_the_limit_that_cut_it() {
    for (window, max_output, input_tokens, wanted) in [
        (2_048, 4_096, 1_990, "context window of 2,048 tokens is full"),
        (100_000, 512, 100, "512 tokens, the most this model writes at once (max_output in models.toml)"),
        (100_000, 8_192, 100, "1,000 tokens. Raise limits.max_output_tokens"),
    ] {
        let facts = ModelFacts { window, max_output, ..ModelFacts::default() };
        let models = ModelSettings { model: "m/x".into(), facts, max_output_tokens: 1_000, ..ModelSettings::default() };
        let settings = RunSettings { models, trust: FolderTrust::WHOLE, ..RunSettings::default() };
        let mut session = Session::default();
        step(&mut session, Input::Opened { folder: "/p".into() });
        let request = Request { mode: Mode::Chat, ..Request::new(id("r1"), "Tell me about tides", settings) };
        step(&mut session, Input::Said { request: Box::new(request) });
        step(&mut session, Input::Admitted { request: id("r1") });
        let call = session.open_call().expect("a call").clone();
        let usage = Usage { input_tokens, output_tokens: 58, ..Usage::default() };
        let reply = Reply { message: Message::assistant("The"), stop_reason: Some(StopReason::MaxTokens), usage };
        let outputs = step(&mut session, Input::Replied { call, reply, raw: None, warnings: Vec::new() });
        let told = |output: &Output| matches!(output, Output::Event { fact: Fact::Banner(fact), .. } if fact.text.contains(wanted));
        assert!(outputs.iter().any(told), "{wanted}: {outputs:?}");
    }
}

/// The prompt of a request that comes after a pause.
fn after(session: &mut Session, name: &str, pause_s: Option<u64>) -> Prompt {
    let effort = Some(Effort::High);
    let settings = RunSettings {
        models: ModelSettings { model: "m/x".into(), thinking_tokens: 512, effort, ..ModelSettings::default() },
        ..RunSettings::default()
    };
    let request = Request { mode: Mode::Chat, pause_s, ..Request::new(id(name), "Hello", settings) };
    step(session, Input::Said { request: Box::new(request) });
    let outputs = step(session, Input::Admitted { request: id(name) });
    let prompt = outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::CallModel { prompt, .. }) => Some(Prompt::clone(prompt)),
        _ => None,
    });
    replied(session, "Hi.");
    prompt.expect("a call")
}

#[test]
fn a_person_who_waits_longer_than_the_short_cache_gets_the_long_one_from_then_on() {
    let mut session = Session::default();
    step(&mut session, Input::Opened { folder: "/p".into() });
    let first = after(&mut session, "r1", None);
    assert_eq!((first.long_cache, first.effort), (false, Some(Effort::High)));
    assert!(!after(&mut session, "r2", Some(120)).long_cache, "the short one still holds");
    assert!(!after(&mut session, "r3", Some(40_000)).long_cache, "neither would hold so long");
    assert!(after(&mut session, "r4", Some(600)).long_cache);
    assert!(after(&mut session, "r5", None).long_cache, "whoever waited once waits again");
}
