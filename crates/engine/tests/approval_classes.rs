//! Who may approve what: class by class, under each way to handle approvals, and after a kill.

use serde_json::{Value, json};
use trimtab_engine::{Effect, Input, Interrupted, Output, Prepared, Ran, Session, step};
use trimtab_vocab::event::{CheckpointFact, McpFact, RequestFact, Status, ToolFact};
use trimtab_vocab::{
    ApprovalClass, Approve, CallId, CheckpointId, CommandClass, CommandPlan, Fact, FileState, FileWrite, FolderTrust,
    HookEvent, KnownAtStart, ListedHook, ListedServer, Message, ModelFacts, ModelSettings, Part, Reply, Request,
    RequestId, Role, Rule, RuleVerdict, RunSettings, Sandbox, ServerTool, StopReason, ToolCall, Usage,
};

struct Play {
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    outputs: Vec<Output>,
}

impl Play {
    fn feed(&mut self, input: Input) {
        let outputs = step(&mut self.session, input);
        for output in &outputs {
            if let Output::Event { request, fact } = output {
                self.log.push((request.clone(), fact.clone()));
            }
        }
        self.outputs.extend(outputs);
    }

    /// A session of one request whose model asks for one tool.
    fn of(approve: Approve, tool: &str, input: &Value) -> Self {
        Self::with(approve, tool, input, server(), &[])
    }

    /// The same with this server and these rules.
    fn with(approve: Approve, tool: &str, input: &Value, server: ListedServer, rules: &[Rule]) -> Self {
        let known = KnownAtStart { rules: rules.to_vec(), ..KnownAtStart::default() };
        let settings = RunSettings { approve, known, attended: false, ..RunSettings::default() };
        Self::in_settings(settings, tool, input, server)
    }

    fn in_settings(settings: RunSettings, tool: &str, input: &Value, server: ListedServer) -> Self {
        let id: RequestId = "r1".parse().expect("an id");
        let facts = ModelFacts { window: 100_000, ..ModelFacts::default() };
        let models = ModelSettings { model: "a/b".into(), facts, ..ModelSettings::default() };
        let settings = RunSettings { models, trust: FolderTrust::WHOLE, ..settings };
        let mut play = Self { session: Session::default(), log: Vec::new(), outputs: Vec::new() };
        play.feed(Input::Opened { folder: "/p".into() });
        play.feed(Input::Said { request: Box::new(Request::new(id.clone(), "go", settings)) });
        play.feed(Input::Admitted { request: id.clone() });
        play.feed(Input::Loaded {
            request: id,
            files: Vec::new(),
            missing: Vec::new(),
            absent: Vec::new(),
            instructions: None,
            instruction_files: Vec::new(),
            servers: Some(vec![server]),
            unread: Vec::new(),
        });
        let call = play.outputs.iter().find_map(|output| match output {
            Output::Effect(Effect::CallModel { call, .. }) => Some(call.clone()),
            _ => None,
        });
        let wish = ToolCall { id: "toolu_1".into(), name: tool.into(), input: input.clone(), broken: None };
        let message = Message { role: Role::Assistant, parts: vec![Part::ToolUse(wish)] };
        let reply = Reply { message, stop_reason: Some(StopReason::ToolUse), usage: Usage::default() };
        play.feed(Input::Replied { call: call.expect("a call"), reply, raw: None, warnings: Vec::new() });
        play.prepare(tool);
        play
    }

    /// Finds out what a change would make of its file, if that is wanted.
    fn prepare(&mut self, tool: &str) {
        let prepares = self.outputs.iter().find_map(|output| match output {
            Output::Effect(Effect::Prepare { call, change, .. }) => Some((call.clone(), change.path().to_owned())),
            _ => None,
        });
        if let Some((call, path)) = prepares {
            let state = |hash: &str| Some(FileState { hash: hash.into(), mode: 0o644 });
            let (before, after) = match tool {
                "delete_file" => (state("aa"), None),
                _ => (None, state("bb")),
            };
            let write = FileWrite { path, before, after, added: 1, removed: 0, modified: 0 };
            let prepared = Prepared::Ready {
                writes: vec![write],
                diffs: vec!["+b".into()],
                hunks: vec![1],
                versions: Vec::new(),
                losses: Vec::new(),
                unsaved: Vec::new(),
            };
            self.feed(Input::Prepared { call, prepared });
        }
    }

    /// The hook that is to run.
    fn hook(&self) -> Option<CallId> {
        self.outputs.iter().rev().find_map(|output| match output {
            Output::Effect(Effect::RunHook { run, .. }) => Some(run.clone()),
            _ => None,
        })
    }

    /// The same session after a kill: nothing but its log is left.
    fn again(self) -> Self {
        let session = Session::replay(self.log.iter().map(|(request, fact)| (request.as_ref(), fact)));
        Self { session, log: self.log, outputs: Vec::new() }
    }

    fn asked(&self) -> Option<(CheckpointId, Option<ApprovalClass>)> {
        self.log.iter().rev().find_map(|(_, fact)| match fact {
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, ask, .. }) => Some((checkpoint.clone(), ask.class())),
            _ => None,
        })
    }

    fn is_answered(&self) -> bool {
        self.log.iter().any(|(_, fact)| matches!(fact, Fact::Checkpoint(CheckpointFact::Resolved { .. })))
    }

    fn needs_user(&self) -> bool {
        let ended =
            |fact: &Fact| matches!(fact, Fact::Request(RequestFact::Finished { status: Status::NeedsUser, .. }));
        self.log.iter().any(|(_, fact)| ended(fact))
    }

    fn acts(&self) -> bool {
        let acts = |effect: &Effect| {
            matches!(
                effect,
                Effect::Run { .. } | Effect::Apply { .. } | Effect::Read { .. } | Effect::CallServer { .. }
            )
        };
        self.outputs.iter().any(|output| matches!(output, Output::Effect(effect) if acts(effect)))
    }

    fn plan(&self) -> Option<&CommandPlan> {
        self.outputs.iter().rev().find_map(|output| match output {
            Output::Effect(Effect::Run { plan, .. }) => Some(plan),
            _ => None,
        })
    }

    fn answer(&mut self, choice: &str) {
        let (checkpoint, _) = self.asked().expect("a question");
        let (choice, by) = (choice.to_owned(), "user".to_owned());
        self.feed(Input::Answered {
            checkpoint,
            choice,
            text: None,
            by,
            surface: Some("tui".into()),
            instructions: Vec::new(),
        });
        let id: RequestId = "r1".parse().expect("an id");
        self.feed(Input::Admitted { request: id });
    }
}

/// A server with one tool.
fn server() -> ListedServer {
    let tool = ServerTool {
        name: "echo".into(),
        description: "Repeats a text.".into(),
        input_schema: json!({"type": "object"}),
        read_only: false,
        destructive: false,
    };
    let (tools, files) = (Some(vec![tool]), vec!["tools/helper.js".into()]);
    ListedServer { name: "helper".into(), tools, files, ..ListedServer::default() }
}

fn cases() -> Vec<(&'static str, Value, ApprovalClass)> {
    vec![
        ("run_command", json!({"command": "make all"}), ApprovalClass::Command),
        ("run_command", json!({"command": "ls", "outside": "because"}), ApprovalClass::LeaveSandbox),
        ("read_file", json!({"path": ".env"}), ApprovalClass::Secret),
        ("fetch_url", json!({"url": "https://example.org/"}), ApprovalClass::NewHost),
        ("mcp__helper__echo", json!({"text": "a"}), ApprovalClass::ServerCall),
        ("delete_file", json!({"path": "a.txt"}), ApprovalClass::DeleteUnread),
        ("write_file", json!({"path": ".github/x.yml", "content": "x"}), ApprovalClass::ControlFile),
        ("write_file", json!({"path": "AGENTS.md", "content": "x"}), ApprovalClass::ControlFile),
        ("write_file", json!({"path": "./tools/helper.js", "content": "x"}), ApprovalClass::ControlFile),
    ]
}

#[test]
fn approve_auto_answers_the_listed_classes_and_no_other() {
    for (tool, input, class) in cases() {
        for approve in [Approve::Ask, Approve::Auto, Approve::Deny] {
            let play = Play::of(approve, tool, &input);
            let (_, asked) = play.asked().unwrap_or_else(|| panic!("{tool} {input} asks"));
            assert_eq!(asked, Some(class), "{tool} {input}");
            let (answers, acts) = match approve {
                Approve::Ask => (false, false),
                Approve::Auto => (!class.needs_person(), !class.needs_person()),
                Approve::Deny => (true, false),
            };
            assert_eq!((play.is_answered(), play.acts()), (answers, acts), "{tool} {input} {approve:?}");
            assert_eq!(play.needs_user(), !answers, "{tool} {input} {approve:?}");
        }
    }
}

#[test]
fn a_person_may_answer_every_class_also_after_a_kill() {
    for (tool, input, class) in cases() {
        let mut play = Play::of(Approve::Auto, tool, &input);
        if class.needs_person() {
            play = play.again();
            play.answer("allow");
        }
        assert!(play.acts(), "{tool} {input}");
        let off = play.plan().is_some_and(|plan| plan.run().sandbox == Sandbox::Off);
        assert_eq!(off, class == ApprovalClass::LeaveSandbox, "{tool} {input}");
    }
}

#[test]
fn what_answered_in_a_persons_place_before_leaves_no_sandbox_now() {
    // A log of 0.1, in which `--approve auto` had let a command out.
    let play = Play::of(Approve::Auto, "run_command", &json!({"command": "ls", "outside": "because"}));
    let (checkpoint, _) = play.asked().expect("a question");
    let mut play = play.again();
    let (choice, by) = ("allow".to_owned(), "approve auto".to_owned());
    play.feed(Input::Answered { checkpoint, choice, text: None, by, surface: None, instructions: Vec::new() });
    play.feed(Input::Admitted { request: "r1".parse().expect("an id") });
    assert!(play.plan().is_none(), "nobody has decided that");
}

fn automatic(approve: Approve) -> (Play, CallId) {
    let play = Play::of(approve, "run_command", &json!({"command": "ls"}));
    let plan = play.plan().expect("what only reads runs automatically");
    assert_eq!(plan.run().automatic, Some(CommandClass::Read));
    let call = plan.run().call.clone();
    (play, call)
}

#[test]
fn what_could_not_be_fenced_in_waits_for_a_person_also_after_a_kill() {
    for approve in [Approve::Ask, Approve::Auto] {
        let (mut play, call) = automatic(approve);
        play.outputs.clear();
        let ran = Ran { blocked: Some("there are no user namespaces".into()), ..Ran::default() };
        play.feed(Input::Ran { call, ran, effects: None });
        assert_eq!(play.asked().map(|(_, class)| class), Some(Some(ApprovalClass::Unprotected)));
        assert!(!play.is_answered() && play.needs_user() && !play.acts(), "{approve:?}");
        let mut play = play.again();
        play.answer("allow");
        let run = play.plan().expect("the person lets it").run();
        assert_eq!((run.automatic, run.sandbox), (None, Sandbox::Workspace));
    }
}

#[test]
fn a_write_that_the_read_fence_stops_is_offered_the_ordinary_sandbox() {
    let ran = || Ran { exit_code: Some(1), output: "ls: x: Read-only file system\n".into(), ..Ran::default() };
    let (mut play, call) = automatic(Approve::Ask);
    play.outputs.clear();
    play.feed(Input::Ran { call, ran: ran(), effects: None });
    assert_eq!(play.asked().map(|(_, class)| class), Some(Some(ApprovalClass::Command)));
    assert!(play.needs_user() && !play.acts());
    let mut play = play.again();
    play.answer("widen");
    let run = play.plan().expect("the person lets it").run();
    assert_eq!((run.automatic, run.sandbox), (None, Sandbox::Workspace));
    let (mut play, call) = automatic(Approve::Auto);
    play.outputs.clear();
    play.feed(Input::Ran { call, ran: ran(), effects: None });
    let run = play.plan().expect("it stays in the sandbox, so the option may answer").run();
    assert_eq!((run.automatic, run.sandbox), (Some(CommandClass::Check), Sandbox::Workspace));
}

#[test]
fn a_server_that_is_listed_without_tools_keeps_none_of_an_earlier_one_of_its_name() {
    let mut play = Play::of(Approve::Ask, "run_command", &json!({"command": "make all"}));
    let unknown = ListedServer { tools: None, ..server() };
    play.feed(Input::ServersListed { servers: vec![unknown.clone()], call: None });
    let listed = play.log.iter().rev().find_map(|(_, fact)| match fact {
        Fact::Mcp(McpFact::Listed { servers, .. }) => Some(servers.clone()),
        _ => None,
    });
    assert_eq!(listed, Some(vec![unknown]));
}

#[test]
fn a_rule_for_one_server_allows_no_server_of_a_folder_that_takes_its_name() {
    let rule = |verdict, folder: Option<&str>| Rule {
        verdict,
        tool: "mcp".into(),
        pattern: "helper:*".into(),
        folder: folder.map(str::to_owned),
    };
    let allow = |folder| rule(RuleVerdict::Allow, folder);
    let calls = |project, rules: &[Rule]| {
        let server = ListedServer { project, ..server() };
        Play::with(Approve::Ask, "mcp__helper__echo", &json!({"text": "a"}), server, rules).acts()
    };
    assert!(calls(false, &[allow(None)]) && calls(false, &[allow(Some("/p"))]));
    assert!(!calls(true, &[allow(None)]), "meant for the user's own server");
    assert!(!calls(true, &[allow(Some("/q"))]), "meant for another folder");
    assert!(calls(true, &[allow(Some("/p"))]));
    assert!(!calls(true, &[allow(Some("/p")), rule(RuleVerdict::Deny, None)]), "a denial holds for each of that name");
}

#[test]
fn only_what_has_changed_is_recorded_and_from_then_on_the_prompt_stays_the_same() {
    let mut play = Play::of(Approve::Ask, "run_command", &json!({"command": "make all"}));
    let listed = |play: &Play| -> Vec<(Vec<String>, Vec<String>, bool)> {
        let names = |servers: &[ListedServer]| servers.iter().map(|server| server.name.clone()).collect::<Vec<_>>();
        let facts = play.log.iter().filter_map(|(_, fact)| match fact {
            Fact::Mcp(McpFact::Listed { servers, gone, deferred }) => Some((names(servers), gone.clone(), *deferred)),
            _ => None,
        });
        facts.collect()
    };
    let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(listed(&play), [(texts(&["helper"]), texts(&[]), false)]);
    let other = ListedServer { name: "other".into(), ..server() };
    let servers = vec![server(), other.clone()];
    play.feed(Input::ServersListed { servers: servers.clone(), call: None });
    assert_eq!(listed(&play)[1..], [(texts(&["other"]), texts(&[]), true)]);
    play.feed(Input::ServersListed { servers, call: None });
    assert_eq!(listed(&play).len(), 2, "nothing has changed");
    play.feed(Input::ServersListed { servers: vec![other], call: None });
    assert_eq!(listed(&play)[2..], [(texts(&[]), texts(&["helper"]), true)]);
}

#[test]
fn a_search_for_tools_names_the_servers_that_are_still_connecting() {
    let unknown = ListedServer { tools: None, ..server() };
    let mut play = Play::with(Approve::Ask, "find_tool", &json!({"query": "echo"}), unknown.clone(), &[]);
    let call = play.outputs.iter().find_map(|output| match output {
        Output::Effect(Effect::ListServers { call, .. }) => Some(call.clone()),
        _ => None,
    });
    let call = call.expect("the servers are asked");
    play.feed(Input::ServersListed { servers: vec![unknown], call: Some(call) });
    let found = play.log.iter().find_map(|(_, fact)| match fact {
        Fact::Tool(ToolFact::Finished { preview, .. }) => Some(preview.clone()),
        _ => None,
    });
    let found = found.expect("the search ends");
    assert!(found.contains("still connecting: helper"), "{found}");
}

fn check(matcher: &str) -> ListedHook {
    let (matcher, command, hash) = (matcher.into(), "check".into(), "1f".into());
    ListedHook { event: HookEvent::PreToolUse, matcher, command, hash, timeout_s: 9, ..ListedHook::default() }
}

#[test]
fn a_check_that_fails_needs_a_person_for_every_tool_also_after_a_kill() {
    for (tool, input, class) in cases() {
        for is_killed in [false, true] {
            let known = KnownAtStart { hooks: vec![check("*")], ..KnownAtStart::default() };
            let settings = RunSettings { approve: Approve::Auto, known, ..RunSettings::default() };
            let mut play = Play::in_settings(settings, tool, &input, server());
            let run = play.hook().unwrap_or_else(|| panic!("{tool} {input} is checked"));
            assert!(
                !play.acts() && play.asked().is_none(),
                "{tool} {input}: nothing happens before the check has ended"
            );
            if is_killed {
                play = play.again();
                let interrupted = play.session.under_way();
                let interrupted = interrupted.into_iter().map(|call| Interrupted { call, partial: None }).collect();
                play.feed(Input::Woke { interrupted });
            } else {
                play.feed(Input::HookRan { run, ran: Ran { timed_out: true, ..Ran::default() }, effects: None });
            }
            assert!(!play.acts(), "{tool} {input}");
            play.prepare(tool);
            let (_, asked) = play.asked().unwrap_or_else(|| panic!("{tool} {input} asks"));
            assert_eq!(asked, Some(if class.needs_person() { class } else { ApprovalClass::Hook }), "{tool} {input}");
            assert!(!play.acts() && !play.is_answered(), "{tool} {input}: no setting answers it");
            play.outputs.clear();
            play.answer("allow");
            assert!(play.acts() && play.hook().is_none(), "{tool} {input}: it is not checked again");
        }
    }
}

#[test]
fn a_check_is_of_the_tools_that_it_names_by_their_names_here_and_elsewhere() {
    let is_checked = |matcher: &str, tool: &str, input: Value| {
        let known = KnownAtStart { hooks: vec![check(matcher)], ..KnownAtStart::default() };
        let settings = RunSettings { known, ..RunSettings::default() };
        Play::in_settings(settings, tool, &input, server()).hook().is_some()
    };
    let echo = || json!({"text": "a"});
    assert!(is_checked("mcp__helper__.*", "mcp__helper__echo", echo()));
    assert!(!is_checked("mcp__other__.*", "mcp__helper__echo", echo()));
    let run = || json!({"command": "make all"});
    assert!(is_checked("Bash", "run_command", run()) && is_checked("run_command", "run_command", run()));
    assert!(!is_checked("Edit|Write", "run_command", run()));
    assert!(is_checked("Edit|Write", "write_file", json!({"path": "a", "content": "x"})));
}

#[test]
fn a_hook_of_a_folder_runs_only_as_it_was_approved() {
    let project = |hash: &str| ListedHook { project: true, hash: hash.into(), ..check("*") };
    let rule = |verdict| Rule::hook("/p", &project("1f"), verdict);
    let runs = |hash: &str, rules: Vec<Rule>| {
        let known = KnownAtStart { hooks: vec![project(hash)], rules, ..KnownAtStart::default() };
        let settings = RunSettings { known, ..RunSettings::default() };
        Play::in_settings(settings, "run_command", &json!({"command": "make all"}), server()).hook().is_some()
    };
    assert!(!runs("1f", Vec::new()) && runs("1f", vec![rule(RuleVerdict::Allow)]));
    assert!(!runs("2f", vec![rule(RuleVerdict::Allow)]), "another version");
    assert!(!runs("1f", vec![rule(RuleVerdict::Allow), rule(RuleVerdict::Deny)]));
    let elsewhere = Rule { folder: Some("/q".into()), ..rule(RuleVerdict::Allow) };
    assert!(!runs("1f", vec![elsewhere]));
}
