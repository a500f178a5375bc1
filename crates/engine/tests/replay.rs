//! Any inputs, in any order, sensible or not: state is a fold of facts, and the engine never
//! contradicts itself.

use proptest::prelude::*;
use serde_json::json;
use trimtab_engine::{Effect, Input, Interrupted, Narrowed, Output, Partial, Phase, Prepared, Ran, Session, step};
use trimtab_vocab::event::{Fact, RequestFact, ToolStatus};
use trimtab_vocab::{
    AgentText, ApprovalMode, CallId, ChangePart, CheckpointId, Control, Copilot, Fault, FileEffects, FileState,
    FileWrite, FolderTrust, HookEvent, KnownAtStart, ListedAgent, ListedHook, ListedServer, ListedSkill, Message, Mode,
    ModelFacts, ModelSettings, Pace, Part, Prices, Problem, ProblemKind, ReadResult, Reply, Request, RequestId, Retry,
    Role, Rule, RuleVerdict, RunSettings, ServerTool, SkillText, SnapshotSettings, StopReason, TimerId, ToolCall,
    Unkept, Usage, WhileRunning, WhyUnkept,
};

fn request_id(n: u8) -> RequestId {
    format!("r{n}").parse().expect("an id")
}

/// A hook for every event.
fn hooks() -> Vec<ListedHook> {
    let hook = |event: HookEvent| ListedHook {
        event,
        command: "check".into(),
        hash: event.name().into(),
        timeout_s: 9,
        ..ListedHook::default()
    };
    HookEvent::ALL.into_iter().map(hook).collect()
}

/// The end of a hook: no objection, a refusal, or a failure.
fn any_hook_end() -> impl Strategy<Value = Input> {
    (1_u64..9, prop_oneof![Just(0), Just(2), Just(7)]).prop_map(|(run, code)| {
        let output = format!("\n\u{1e}trimtab-hook {code}\nbecause");
        Input::HookRan { run: CallId::hook(run), ran: Ran { output, ..Ran::default() }, effects: None }
    })
}

/// Inputs as hostile as a queue can make them: wrong calls, repeated requests, stray timers.
fn any_input() -> impl Strategy<Value = Input> {
    let id = (0_u8..4).prop_map(request_id);
    let call = (1_u64..6).prop_map(CallId::nth);
    let partial = prop_oneof![
        Just(None),
        "[a-z ]{0,9}".prop_map(|text| Some(Partial {
            message: Message::assistant(text),
            raw: None,
            usage: Usage::default()
        })),
    ];
    let stop = prop_oneof![
        Just(None),
        Just(Some(StopReason::EndTurn)),
        Just(Some(StopReason::MaxTokens)),
        Just(Some(StopReason::ToolUse)),
        Just(Some(StopReason::Other("odd".into()))),
    ];
    let retry = prop_oneof![
        Just(Retry::Never),
        Just(Retry::Later { after_ms: None }),
        Just(Retry::Later { after_ms: Some(9) })
    ];
    prop_oneof![
        2 => (id.clone(), prop::option::of(0.0_f64..0.02), any::<bool>(), any_copilot(), any_mode()).prop_map(
            |(id, budget_usd, attended, copilot, mode)| {
            let prices = Some(Prices { input: 3.0, cached: 0.3, cache_write: 3.75, output: 15.0 });
            let facts = ModelFacts { prices, ..ModelFacts::default() };
            // Which of the other settings it has, its budget decides: the dice need not be thrown again.
            let odd = budget_usd.is_some_and(|budget| (budget * 1e6) as u64 % 2 == 1);
            let window = if odd { 1_200 } else { 32_768 };
            let facts = ModelFacts { window, ..facts };
            let settings = RunSettings {
                models: ModelSettings {
                    retries: 2,
                    facts,
                    budget_usd: budget_usd.filter(|budget| *budget > 0.01),
                    max_steps: if odd { 2 } else { 25 },
                    ..ModelSettings::default()
                },
                snapshot: SnapshotSettings { files: 10, mb: 1 },
                known: KnownAtStart { hooks: if odd { hooks() } else { Vec::new() }, ..KnownAtStart::default() },
                attended,
                trust: FolderTrust { trusted: !odd || attended, ..FolderTrust::default() },
                copilot: if odd { Copilot::default() } else { copilot },
                ..RunSettings::default()
            };
            let while_running = match (budget_usd.unwrap_or_default() * 1e7) as u64 % 4 {
                0 => None,
                1 => Some(WhileRunning::Steer),
                2 => Some(WhileRunning::Queue),
                _ => Some(WhileRunning::Replace),
            };
            let mode = if odd && attended { Mode::Plan } else { mode };
            let text = format!("words of {id} about src/a.rs and @b.rs. Then go ahead");
            Input::Said { request: Box::new(Request { mode, while_running, ..Request::new(id, text, settings) }) }
        }),
        1 => (prop::option::of(id.clone()), any_control()).prop_map(|(request, action)| Input::Controlled { request, action }),
        3 => any_tool_input(),
        3 => id.clone().prop_map(|request| Input::Admitted { request }),
        1 => (id, 0_u32..99).prop_map(|(request, ahead)| Input::Held { request, ahead }),
        4 => (call.clone(), any_wishes()).prop_map(|(call, message)| {
            let reply = Reply { message, stop_reason: Some(StopReason::ToolUse), usage: Usage::default() };
            Input::Replied { call, reply, raw: None, warnings: vec![] }
        }),
        3 => (call.clone(), "[a-z]{0,9}", stop).prop_map(|(call, text, stop_reason)| {
            let usage = Usage { cost_usd: Some(0.004), ..Usage::default() };
            let reply = Reply { message: Message::assistant(text), stop_reason, usage };
            Input::Replied { call, reply, raw: None, warnings: vec![] }
        }),
        2 => (call.clone(), retry, partial.clone()).prop_map(|(call, retry, partial)| {
            let problem = Problem::new(ProblemKind::Overloaded, "busy");
            Input::CallFailed { call, fault: Fault { problem, retry }, partial }
        }),
        1 => (call.clone(), partial.clone()).prop_map(|(call, partial)| Input::CallAborted { call, partial }),
        2 => (1_u64..6).prop_map(|n| Input::TimerFired { timer: TimerId::before_call(n) }),
        1 => prop::collection::vec((call, partial), 0..2).prop_map(|calls| Input::Woke {
            interrupted: calls.into_iter().map(|(call, partial)| Interrupted { call, partial }).collect(),
        }),
        4 => (0_u8..4, 1_u32..6, "raise|stop|dance|allow|always|never|wait|trust|no|continue|tell|again|skip|o1|other|\
              submit|approve|modify|replan|cancel|retry|satisfied|needs_changes|start_over|talk",
              prop::option::of("0|1|9|x|\\[\\{\"title\":\"new\"\\}\\]")).prop_map(|(id, n, choice, text)| {
            Input::Answered { checkpoint: CheckpointId::nth(&request_id(id), n), choice, text, by: "user".into(), surface: None, instructions: Vec::new() }
        }),
        1 => Just(Input::Opened { folder: "/project".into() }),
    ]
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![5 => Just(Mode::Auto), 2 => Just(Mode::Plan), 1 => Just(Mode::Chat), 1 => Just(Mode::Implement)]
}

fn any_copilot() -> impl Strategy<Value = Copilot> {
    let approval = prop_oneof![
        Just(ApprovalMode::None),
        Just(ApprovalMode::BeforeStep),
        Just(ApprovalMode::AfterStep),
        Just(ApprovalMode::Both)
    ];
    (approval, any::<[bool; 5]>()).prop_map(|(approval_mode, [planning, approves, talks, slow, goes_on])| Copilot {
        approval_mode,
        enable_planning: planning,
        plan_approval: approves,
        conversational: talks,
        pace: if slow { Pace::Incremental } else { Pace::Autonomous },
        auto_continue: goes_on,
        ..Copilot::default()
    })
}

/// A reply that asks for tools of every kind, some of them impossible.
fn any_wishes() -> impl Strategy<Value = Message> {
    let wish = prop_oneof![
        Just(("read_file", json!({"path": "a"}))),
        Just(("search", json!({"pattern": "x"}))),
        Just(("write_file", json!({"path": "a", "content": "b"}))),
        Just(("delete_file", json!({"path": "a"}))),
        Just(("run_command", json!({"command": "make"}))),
        Just(("mcp__helper__echo", json!({"text": "a"}))),
        Just(("find_tool", json!({"query": "repeat a text"}))),
        Just(("use_tool", json!({"name": "mcp__helper__echo", "input": {}}))),
        Just(("fetch_url", json!({"url": "http://example.org/"}))),
        Just(("set_steps", json!({"steps": ["one"]}))),
        Just(("propose_plan", json!({"steps": ["one", {"title": "two", "dependsOn": [1]}]}))),
        Just(("ask_user", json!({"question": "?", "options": ["a"]}))),
        Just(("read_ref", json!({"key": "ref:x"}))),
        Just(("dance", json!({}))),
        Just(("read_file", json!({"file": 1}))),
    ];
    prop::collection::vec(wish, 1..4).prop_map(|wishes| {
        let wish = |(number, (name, input)): (usize, (&str, serde_json::Value))| {
            Part::ToolUse(ToolCall { id: format!("t{number}"), name: name.into(), input, broken: None })
        };
        Message { role: Role::Assistant, parts: wishes.into_iter().enumerate().map(wish).collect() }
    })
}

/// A command wrote one file, and another that was not kept.
fn effects(after: Option<FileState>) -> Box<FileEffects> {
    let write = FileWrite { path: "a".into(), before: None, after, added: 1, removed: 0, modified: 0 };
    let unkept = vec![Unkept { path: "big".into(), why: WhyUnkept::Large }];
    Box::new(FileEffects { writes: vec![write], diffs: vec!["+b".into()], unkept, ..FileEffects::default() })
}

/// What comes of tools, whether or not they were asked for.
fn any_tool_input() -> impl Strategy<Value = Input> {
    let call = (1_u64..6, 1_usize..4).prop_map(|(n, tool)| CallId::tool(&CallId::nth(n), tool));
    let state = |hash: &str| Some(FileState { hash: hash.into(), mode: 0o644 });
    prop_oneof![
        (0_u8..4).prop_map(|id| Input::Loaded {
            request: request_id(id),
            files: vec![],
            missing: vec![],
            absent: vec![],
            instructions: None,
            instruction_files: Vec::new(),
            servers: None,
            unread: Vec::new(),
        }),
        (any::<bool>(), any::<bool>(), proptest::option::of(call.clone())).prop_map(|(pending, known, call)| {
            let tool = ServerTool {
                name: "echo".into(),
                description: "Repeats a text.".into(),
                input_schema: json!({"type": "object"}),
                read_only: false,
                destructive: false,
            };
            let tools = known.then(|| vec![tool]);
            let server = ListedServer { name: "helper".into(), pending, tools, ..ListedServer::default() };
            Input::ServersListed { servers: vec![server], call }
        }),
        (0_u8..4, any::<bool>(), any::<bool>()).prop_map(|(id, project, called)| {
            let skill = ListedSkill { name: "pdf".into(), hash: "1f".into(), project, ..ListedSkill::default() };
            let text = SkillText { skill: skill.clone(), text: "Read it.".into(), body_from: 0, files: Vec::new() };
            Input::SkillsListed { request: request_id(id), skills: vec![skill], called: called.then(|| Box::new(text)) }
        }),
        (0_u8..4, any::<bool>(), any::<bool>()).prop_map(|(id, project, called)| {
            let agent = ListedAgent { name: "docs".into(), hash: "1f".into(), project, ..ListedAgent::default() };
            let text = AgentText { agent: agent.clone(), text: "Write it.".into(), body_from: 0 };
            let called = if called { vec![text] } else { Vec::new() };
            Input::AgentsListed { request: request_id(id), agents: vec![agent], called, problem: None }
        }),
        call.clone().prop_map(|call| Input::AgentsRead { call, agents: Vec::new(), problem: Some("gone".into()) }),
        any_hook_end(),
        Just(Input::Left { reason: "exit".into() }),
        call.clone().prop_map(|call| Input::SkillRead { call, skill: None, problem: Some("gone".into()) }),
        call.clone().prop_map(|call| Input::ServerAnswered {
            call,
            seen: ReadResult { status: ToolStatus::Ok, text: "done".into(), images: vec![], files: vec![] },
        }),
        call.clone().prop_map(|call| Input::Looked {
            call,
            seen: ReadResult { status: ToolStatus::Ok, text: "seen".into(), images: vec![], files: vec![] },
        }),
        call.clone().prop_map(move |call| {
            let writes = vec![FileWrite {
                path: "a".into(),
                before: None,
                after: state("1"),
                added: 1,
                removed: 0,
                modified: 0,
            }];
            Input::Prepared {
                call,
                prepared: Prepared::Ready {
                    writes,
                    diffs: vec!["+b".into()],
                    hunks: vec![2],
                    versions: Vec::new(),
                    losses: Vec::new(),
                    unsaved: Vec::new(),
                },
            }
        }),
        call.clone().prop_map(|call| Input::Prepared { call, prepared: Prepared::Refused { reason: "no".into() } }),
        (0_u8..4, 1_u32..4, 0_u32..3).prop_map(|(id, n, hunk)| {
            let parts = vec![ChangePart { path: "a".into(), hunks: vec![hunk] }];
            Input::Chosen { checkpoint: CheckpointId::nth(&request_id(id), n), parts, by: "user".into(), surface: None }
        }),
        (call.clone(), 1_u32..3, any::<bool>()).prop_map(move |(call, hunk, bad)| {
            let (path, after) = ("a".to_owned(), state("4"));
            let writes = vec![FileWrite { path, before: None, after, added: 1, removed: 0, modified: 0 }];
            let (diffs, left) = (vec!["+b".into()], vec!["+c".into()]);
            let narrowed = match bad {
                true => Narrowed::Refused { reason: "no".into() },
                false => Narrowed::Ready { writes, diffs, left },
            };
            Input::Narrowed { call, parts: vec![ChangePart { path: "a".into(), hunks: vec![hunk] }], narrowed }
        }),
        (call.clone(), any::<bool>())
            .prop_map(|(call, bad)| Input::Applied { call, problem: bad.then(|| "no".into()) }),
        call.clone().prop_map(|call| Input::Overdue { call }),
        (call.clone(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(move |(call, stopped, lost, wrote)| {
            let ran = Ran { exit_code: Some(0), stopped, lost, output: "ran".into(), ..Ran::default() };
            Input::Ran { call, ran, effects: wrote.then(|| effects(state("2"))) }
        }),
        call.clone().prop_map(move |call| Input::BackgroundChanged { call, effects: effects(state("5")) }),
        call.prop_map(move |call| Input::Surveyed { call, effects: effects(state("3")) }),
        Just(Input::RuleAdded { rule: Rule::trust("/project") }),
        Just(Input::RuleAdded {
            rule: Rule {
                verdict: RuleVerdict::Allow,
                tool: "run_command".into(),
                pattern: "make".into(),
                folder: None
            },
        }),
        Just(Input::RuleRemoved { rule: Rule::trust("/project") }),
    ]
}

fn any_control() -> impl Strategy<Value = Control> {
    let call = (1_u64..6, 1_usize..4).prop_map(|(n, tool)| CallId::tool(&CallId::nth(n), tool));
    prop_oneof![
        2 => Just(Control::Cancel),
        1 => Just(Control::Pause),
        1 => Just(Control::Resume),
        1 => Just(Control::Skip),
        1 => Just(Control::Steer { text: "steer".into() }),
        1 => call.prop_map(|call| Control::StopTool { call }),
        1 => Just(Control::EditSummary { text: "short".into() }),
        1 => Just(Control::UndoSummary),
        1 => any::<bool>().prop_map(|attended| Control::Adjust {
            approve: None, attended: Some(attended), max_steps: Some(3), trusted: None,
        }),
    ]
}

/// Whether every tool use is answered in the next message, and nothing else is.
fn is_valid(messages: &[std::sync::Arc<Message>]) -> bool {
    let ids = |message: &Message, uses: bool| -> Vec<String> {
        let id = |part: &Part| match part {
            Part::ToolUse(call) if uses => Some(call.id.clone()),
            Part::ToolResult(result) if !uses => Some(result.tool_use_id.clone()),
            _ => None,
        };
        message.parts.iter().filter_map(id).collect()
    };
    let mut open = Vec::new();
    for message in messages {
        if ids(message, false) != open {
            return false;
        }
        open = ids(message, true);
    }
    open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn replay_equals_live_after_every_step(inputs in prop::collection::vec(any_input(), 0..40)) {
        let mut session = Session::default();
        let mut facts: Vec<(Option<RequestId>, Fact)> = Vec::new();
        let mut ended: Vec<RequestId> = Vec::new();
        for input in inputs {
            // The inbox writes inputs down; what comes out of it must be what went in.
            let written = serde_json::to_string(&input).expect("writes");
            prop_assert_eq!(&serde_json::from_str::<Input>(&written).expect("reads"), &input);
            for output in step(&mut session, input) {
                match output {
                    Output::Event { request, fact } => {
                        match (&request, &fact) {
                            (Some(id), Fact::Request(RequestFact::Finished { .. })) => {
                                prop_assert!(!ended.contains(id), "{id} ended twice");
                                ended.push(id.clone());
                            }
                            (Some(id), Fact::Request(RequestFact::Reopened {})) => {
                                prop_assert!(ended.contains(id), "{id} was reopened before its end");
                                ended.retain(|ended| ended != id);
                            }
                            _ => {}
                        }
                        facts.push((request, fact));
                    }
                    Output::Effect(Effect::CallModel { prompt, .. }) => {
                        prop_assert!(!prompt.messages.is_empty(), "a prompt without words");
                        prop_assert!(is_valid(&prompt.messages), "{:?}", prompt.messages);
                        prop_assert_eq!(prompt.messages.last().map(|last| last.role), Some(trimtab_vocab::Role::User));
                    }
                    Output::Effect(_) | Output::Keep { .. } | Output::KeepOnly { .. } | Output::Child(_) | Output::Audit { .. } | Output::Tell { .. } => {}
                }
            }
            let replayed = Session::replay(facts.iter().map(|(request, fact)| (request.as_ref(), fact)));
            prop_assert_eq!(&replayed, &session);
            let between = session.active().map(|active| active.phase.clone());
            // Only a hook before the end, or before a summary, lets a reply wait.
            let is_left = between == Some(Phase::Replied) && !session.waits_for_hook();
            prop_assert!(!is_left, "a reply was left unattended");
        }
    }
}
