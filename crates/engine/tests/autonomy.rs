//! What each level of autonomy does with each kind of action, and how a level is chosen, changed, and kept.

use serde_json::{Value, json};
use trimtab_engine::{Effect, Input, Output, Prepared, Session, check_command, step};
use trimtab_vocab::checkpoint::CommandDecision;
use trimtab_vocab::event::{BannerFact, CheckpointFact, LoadedFile, ModelFact, RequestFact, SessionFact, Status};
use trimtab_vocab::{
    Applying, Approve, Autonomy, AutonomyChoice, AutonomySettings, CallId, CommandClass, Control, Fact, FileLoss,
    FileState, FileWrite, FolderTrust, ListedServer, Message, ModelFacts, ModelSettings, Part, Reply, Request,
    RequestId, Role, Rule, RuleVerdict, RunSettings, Sandbox, ServerTool, StopReason, ToolCall, Usage,
};

const LEVELS: [Autonomy; 3] = Autonomy::ALL;

fn id() -> RequestId {
    "r1".parse().expect("an id")
}

fn settings() -> RunSettings {
    let facts = ModelFacts { window: 100_000, ..ModelFacts::default() };
    let models = ModelSettings { model: "a/b".into(), facts, ..ModelSettings::default() };
    RunSettings { models, trust: FolderTrust::WHOLE, ..RunSettings::default() }
}

fn at(level: Autonomy) -> RunSettings {
    RunSettings { autonomy: AutonomySettings { level: Some(level), limit: None }, ..settings() }
}

struct Play {
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    outputs: Vec<Output>,
    /// Most of the file would be lost.
    loses: bool,
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

    /// A session whose model was called once. It has read `read.txt`.
    fn begun(settings: RunSettings) -> Self {
        let mut play = Self { session: Session::default(), log: Vec::new(), outputs: Vec::new(), loses: false };
        play.feed(Input::Opened { folder: "/p".into() });
        play.say("go", settings);
        play
    }

    fn say(&mut self, text: &str, settings: RunSettings) {
        self.feed(Input::Said { request: Box::new(Request::new(id(), text, settings)) });
        self.feed(Input::Admitted { request: id() });
        let read = LoadedFile { path: "read.txt".into(), text: "a".into(), hash: Some("aa".into()) };
        let tool = |name: &str, read_only: bool| ServerTool {
            name: name.into(),
            description: "A tool.".into(),
            input_schema: json!({"type": "object"}),
            read_only,
            destructive: false,
        };
        let tools = Some(vec![tool("echo", false), tool("look", true)]);
        let server = ListedServer { name: "helper".into(), tools, ..ListedServer::default() };
        self.feed(Input::Loaded {
            request: id(),
            files: vec![read],
            missing: Vec::new(),
            absent: Vec::new(),
            instructions: None,
            instruction_files: Vec::new(),
            servers: Some(vec![server]),
            unread: Vec::new(),
        });
    }

    fn call(&self) -> CallId {
        let calls = self.outputs.iter().rev().find_map(|output| match output {
            Output::Effect(Effect::CallModel { call, .. }) => Some(call.clone()),
            _ => None,
        });
        calls.expect("a call")
    }

    /// The model asks for one tool.
    fn asks_for(&mut self, tool: &str, input: &Value) {
        let wish = ToolCall { id: "toolu_1".into(), name: tool.into(), input: input.clone(), broken: None };
        self.reply(vec![Part::ToolUse(wish)], StopReason::ToolUse);
        let prepares = self.outputs.iter().rev().find_map(|output| match output {
            Output::Effect(Effect::Prepare { call, change, .. }) => Some((call.clone(), change.path().to_owned())),
            _ => None,
        });
        if let Some((call, path)) = prepares {
            let state = |hash: &str| Some(FileState { hash: hash.into(), mode: 0o644 });
            let (before, after) = match tool {
                "delete_file" => (state("aa"), None),
                _ => (None, state("bb")),
            };
            let losses = FileLoss { path: path.clone(), lost: 9, lines: 10 };
            let write = FileWrite { path, before, after, added: 1, removed: 0, modified: 0 };
            let prepared = Prepared::Ready {
                writes: vec![write],
                diffs: vec!["+b".into()],
                hunks: vec![1],
                versions: Vec::new(),
                losses: if self.loses { vec![losses] } else { Vec::new() },
                unsaved: Vec::new(),
            };
            self.feed(Input::Prepared { call, prepared });
        }
    }

    fn reply(&mut self, parts: Vec<Part>, stop: StopReason) {
        let message = Message { role: Role::Assistant, parts };
        let reply = Reply { message, stop_reason: Some(stop), usage: Usage::default() };
        self.feed(Input::Replied { call: self.call(), reply, raw: None, warnings: Vec::new() });
    }

    fn choose(&mut self, level: Autonomy) {
        let action = Control::Autonomy(AutonomyChoice { level, surface: Some("tui".into()) });
        self.feed(Input::Controlled { request: None, action });
    }

    /// The same session after a kill: nothing but its log is left.
    fn again(self) -> Self {
        let session = Session::replay(self.log.iter().map(|(request, fact)| (request.as_ref(), fact)));
        Self { session, log: self.log, outputs: Vec::new(), loses: self.loses }
    }

    fn questions(&self) -> usize {
        let opened = |fact: &Fact| matches!(fact, Fact::Checkpoint(CheckpointFact::Opened { .. }));
        self.log.iter().filter(|(_, fact)| opened(fact)).count()
    }

    fn is_open(&self) -> bool {
        let resolved = |fact: &Fact| matches!(fact, Fact::Checkpoint(CheckpointFact::Resolved { .. }));
        self.questions() > self.log.iter().filter(|(_, fact)| resolved(fact)).count()
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

    fn class(&self) -> Option<CommandClass> {
        self.outputs.iter().rev().find_map(|output| match output {
            Output::Effect(Effect::Run { plan, .. }) => Some(plan.run().automatic),
            _ => None,
        })?
    }

    fn status(&self) -> Option<Status> {
        self.log.iter().rev().find_map(|(_, fact)| match fact {
            Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
            _ => None,
        })
    }

    /// How an action ended: it ran without a question, after one that was answered automatically, was refused, or is
    /// still asked about.
    fn outcome(&self) -> Outcome {
        match (self.acts(), self.questions() > 0, self.is_open()) {
            (true, false, _) => Outcome::Ran,
            (true, true, false) => Outcome::Approved,
            (false, true, false) => Outcome::Denied,
            (false, true, true) => Outcome::Open,
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ran,
    Approved,
    Denied,
    Open,
}

/// Whether an action asks at each level.
struct Case {
    what: &'static str,
    tool: &'static str,
    input: Value,
    /// At careful, standard, and trusting.
    asks: [bool; 3],
    /// `--approve auto` may answer it.
    is_approvable: bool,
    loses: bool,
}

fn case(what: &'static str, tool: &'static str, input: Value, asks: [bool; 3], is_approvable: bool) -> Case {
    Case { what, tool, input, asks, is_approvable, loses: false }
}

fn run(what: &'static str, line: &str, asks: [bool; 3]) -> Case {
    case(what, "run_command", json!({"command": line}), asks, true)
}

fn cases() -> Vec<Case> {
    const NEVER: [bool; 3] = [false, false, false];
    const CAREFUL: [bool; 3] = [true, false, false];
    const USUAL: [bool; 3] = [true, true, false];
    const ALWAYS: [bool; 3] = [true, true, true];
    let write = |path: &str| json!({"path": path, "content": "x"});
    vec![
        case("read", "read_file", json!({"path": "a.txt"}), NEVER, true),
        run("read-only command", "ls -la", CAREFUL),
        run("check", "cargo test", USUAL),
        run("unknown program", "./build/app --fast", USUAL),
        run("line that no table understands", "for f in $(ls); do echo $f > out.txt; done", USUAL),
        run("inline code", "python3 -c 'print(1)'", USUAL),
        run("network", "curl https://example.org", ALWAYS),
        run("package", "npm install left-pad", ALWAYS),
        run("secret in a command", "cat .env", ALWAYS),
        run("outside the folder", "cat ../other/a.txt", ALWAYS),
        run("deleting command", "rm a.txt", ALWAYS),
        run("repository", "git commit -m x", ALWAYS),
        run("control file in a command", "echo x > AGENTS.md", ALWAYS),
        case("leaving the sandbox", "run_command", json!({"command": "ls", "outside": "because"}), ALWAYS, false),
        case("new host", "fetch_url", json!({"url": "https://example.org/"}), ALWAYS, false),
        case("secret", "read_file", json!({"path": ".env"}), ALWAYS, false),
        case("edit", "write_file", write("a.txt"), CAREFUL, true),
        Case { loses: true, ..case("doubtful edit", "write_file", write("a.txt"), ALWAYS, false) },
        case("delete read", "delete_file", json!({"path": "read.txt"}), USUAL, true),
        case("delete unread", "delete_file", json!({"path": "a.txt"}), ALWAYS, false),
        case("control file", "write_file", write(".github/x.yml"), ALWAYS, false),
        case("instruction file", "write_file", write("AGENTS.md"), ALWAYS, false),
        case("MCP call", "mcp__helper__echo", json!({"text": "a"}), ALWAYS, false),
        case("read-only MCP call", "mcp__helper__look", json!({}), NEVER, true),
    ]
}

#[test]
fn each_level_asks_about_what_it_says_whoever_is_there() {
    let people = [(true, Approve::Ask), (false, Approve::Ask), (false, Approve::Auto), (false, Approve::Deny)];
    for Case { what, tool, input, asks, is_approvable, loses } in cases() {
        for (level, asks) in LEVELS.into_iter().zip(asks) {
            for (attended, approve) in people {
                let mut play = Play::begun(RunSettings { attended, approve, ..at(level) });
                play.loses = loses;
                play.asks_for(tool, &input);
                let expected = match approve {
                    _ if !asks => Outcome::Ran,
                    Approve::Deny => Outcome::Denied,
                    Approve::Auto if is_approvable => Outcome::Approved,
                    Approve::Ask | Approve::Auto => Outcome::Open,
                };
                assert_eq!(play.outcome(), expected, "{what} at {level:?}, {approve:?}, attended: {attended}");
                let ends = expected == Outcome::Open && !attended;
                assert_eq!(play.status(), ends.then_some(Status::NeedsUser), "{what} at {level:?}, {approve:?}");
            }
        }
    }
}

#[test]
fn a_folder_that_is_not_trusted_asks_at_every_level() {
    for level in LEVELS {
        let mut play = Play::begun(RunSettings { trust: FolderTrust::default(), ..at(level) });
        play.asks_for("run_command", &json!({"command": "ls"}));
        assert!(!play.acts() && play.is_open(), "{level:?}");
    }
}

#[test]
fn what_runs_without_an_approval_has_the_fence_of_its_class() {
    for (line, class) in [("ls", CommandClass::Read), ("cargo test", CommandClass::Check), ("./x", CommandClass::Check)]
    {
        let mut play = Play::begun(at(Autonomy::Trusting));
        play.asks_for("run_command", &json!({"command": line}));
        assert_eq!(play.class(), Some(class), "{line}");
    }
    let mut without = at(Autonomy::Trusting);
    without.commands.sandbox = Sandbox::Off;
    let mut play = Play::begun(without);
    play.asks_for("run_command", &json!({"command": "./x"}));
    assert_eq!(play.outcome(), Outcome::Open, "without a sandbox, nothing holds it");
}

#[test]
fn what_the_user_has_set_to_ask_asks_at_every_level() {
    let trusting = at(Autonomy::Trusting);
    let with = |change: fn(&mut RunSettings), tool: &str, input: &Value| {
        let mut settings = trusting.clone();
        change(&mut settings);
        let mut play = Play::begun(settings);
        play.asks_for(tool, input);
        play.outcome()
    };
    let (edit, delete) = (json!({"path": "a.txt", "content": "x"}), json!({"path": "read.txt"}));
    let run = |line: &str| json!({"command": line});
    assert_eq!(with(|settings| settings.files.apply = Applying::Ask, "write_file", &edit), Outcome::Open);
    assert_eq!(with(|settings| settings.files.confirm_chosen = true, "delete_file", &delete), Outcome::Open);
    let asks = |settings: &mut RunSettings| settings.commands.apply_chosen = true;
    for (line, outcome) in [("ls", Outcome::Ran), ("cargo test", Outcome::Open), ("./x", Outcome::Open)] {
        assert_eq!(with(asks, "run_command", &run(line)), outcome, "{line}");
    }
    let lists = |settings: &mut RunSettings| settings.commands.asked = vec!["make".into()];
    assert_eq!(with(lists, "run_command", &run("X=1 make all")), Outcome::Open);
    let denies = |settings: &mut RunSettings| settings.commands.denied = vec!["deploy now".into()];
    assert_eq!(with(denies, "run_command", &run("deploy $(cat what)")), Outcome::Open, "it may be denied");
    let auto = |settings: &mut RunSettings| {
        settings.autonomy.level = Some(Autonomy::Careful);
        (settings.files.apply_chosen, settings.commands.apply) = (true, Applying::Auto);
    };
    assert_eq!(with(auto, "write_file", &edit), Outcome::Open, "auto does not loosen careful");
    assert_eq!(with(auto, "run_command", &run("cargo test")), Outcome::Open);
    let rules = |settings: &mut RunSettings| {
        settings.autonomy.level = Some(Autonomy::Careful);
        let (tool, pattern, folder) = ("run_command".into(), "cargo test".into(), None);
        settings.known.rules = vec![Rule { verdict: RuleVerdict::Allow, tool, pattern, folder }];
    };
    assert_eq!(with(rules, "run_command", &run("cargo test")), Outcome::Ran, "the user's own rule counts");
}

#[test]
fn a_project_limits_every_choice() {
    let mut settings = at(Autonomy::Trusting);
    settings.autonomy.limit = Some(Autonomy::Careful);
    let mut play = Play::begun(settings);
    play.choose(Autonomy::Trusting);
    play.asks_for("run_command", &json!({"command": "ls"}));
    assert_eq!(play.outcome(), Outcome::Open);
}

#[test]
fn a_change_during_a_request_counts_from_the_next_decision_on_and_survives_a_kill() {
    let mut play = Play::begun(settings());
    play.choose(Autonomy::Careful);
    let mut play = play.again();
    assert_eq!(play.session.autonomy(), Some(Autonomy::Careful));
    let call = "c1".parse::<CallId>().expect("an id");
    let wish = ToolCall { id: "t".into(), name: "run_command".into(), input: json!({"command": "ls"}), broken: None };
    let message = Message { role: Role::Assistant, parts: vec![Part::ToolUse(wish)] };
    let reply = Reply { message, stop_reason: Some(StopReason::ToolUse), usage: Usage::default() };
    play.feed(Input::Replied { call, reply, raw: None, warnings: Vec::new() });
    assert_eq!(play.outcome(), Outcome::Open, "a read-only command asks now");
    // Nobody approves something by going through the levels.
    play.choose(Autonomy::Trusting);
    let rule = Rule { verdict: RuleVerdict::Allow, tool: "run_command".into(), pattern: "x".into(), folder: None };
    play.feed(Input::RuleAdded { rule });
    assert_eq!(play.outcome(), Outcome::Open);
    let recorded: Vec<_> = play
        .log
        .iter()
        .filter_map(|(_, fact)| match fact {
            Fact::Session(SessionFact::Autonomy { level, by, surface }) => {
                Some((*level, by.as_str(), surface.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(recorded, [(Autonomy::Careful, "user", Some("tui")), (Autonomy::Trusting, "user", Some("tui"))]);
    play.choose(Autonomy::Trusting);
    let again = play.log.iter().filter(|(_, fact)| matches!(fact, Fact::Session(SessionFact::Autonomy { .. }))).count();
    assert_eq!(again, 2, "the same choice is no change");
}

#[test]
fn a_level_that_comes_with_a_request_counts_for_the_session() {
    let mut play = Play { session: Session::default(), log: Vec::new(), outputs: Vec::new(), loses: false };
    play.feed(Input::Opened { folder: "/p".into() });
    let autonomy = Some(AutonomyChoice { level: Autonomy::Careful, surface: Some("run".into()) });
    let request = Request { autonomy, ..Request::new(id(), "go", settings()) };
    play.feed(Input::Said { request: Box::new(request) });
    assert_eq!(play.session.autonomy(), Some(Autonomy::Careful));
    assert_eq!(play.again().session.autonomy(), Some(Autonomy::Careful));
}

#[test]
fn a_model_that_nobody_knows_edits_after_a_question_until_somebody_chooses_a_level() {
    let mut unknown = settings();
    unknown.models.facts.known = false;
    let edit = json!({"path": "a.txt", "content": "x"});
    for (level, outcome) in
        [(None, Outcome::Open), (Some(Autonomy::Standard), Outcome::Ran), (Some(Autonomy::Trusting), Outcome::Ran)]
    {
        let mut settings = unknown.clone();
        settings.autonomy.level = level;
        let mut play = Play::begun(settings);
        play.asks_for("write_file", &edit);
        assert_eq!(play.outcome(), outcome, "{level:?}");
    }
}

#[test]
fn trusting_continues_up_to_a_hundred_calls_unless_the_user_has_set_a_limit() {
    let calls = |settings: RunSettings| {
        let mut play = Play::begun(settings);
        for number in 0..140 {
            if play.is_open() || play.status().is_some() {
                break;
            }
            let wish = ToolCall {
                id: format!("t{number}"),
                name: "update_steps".into(),
                input: json!({"steps": [{"text": format!("step {number}"), "completed": false}]}),
                broken: None,
            };
            play.reply(vec![Part::ToolUse(wish)], StopReason::ToolUse);
        }
        let told =
            |fact: &Fact| matches!(fact, Fact::Banner(BannerFact { text, .. }) if text.contains("continues up to 100"));
        let told = play.log.iter().filter(|(_, fact)| told(fact)).count();
        let assessed = |fact: &Fact| matches!(fact, Fact::Request(RequestFact::Assessing { .. }));
        let before = play.log.iter().position(|(_, fact)| assessed(fact)).expect("it ends at a limit");
        let called = |(_, fact): &&(Option<RequestId>, Fact)| matches!(fact, Fact::Model(ModelFact::Called { .. }));
        (play.log[..before].iter().filter(called).count(), told)
    };
    assert_eq!(calls(at(Autonomy::Standard)), (25, 0));
    assert_eq!(calls(at(Autonomy::Trusting)), (100, 1));
    let mut chosen = at(Autonomy::Trusting);
    (chosen.models.max_steps, chosen.models.steps_chosen) = (5, true);
    assert_eq!(calls(chosen), (5, 0));
}

#[test]
fn what_is_checked_is_what_each_level_does() {
    let decide = |level: Autonomy, line: &str| check_command(&at(level), &[], "/p", line).decision;
    for (line, decisions) in [
        ("ls", [CommandDecision::Ask, CommandDecision::Auto, CommandDecision::Auto]),
        ("cargo test", [CommandDecision::Ask, CommandDecision::Ask, CommandDecision::Auto]),
        ("./build/app", [CommandDecision::Ask, CommandDecision::Ask, CommandDecision::Auto]),
        ("curl example.org", [CommandDecision::Ask; 3]),
        ("rm -rf /", [CommandDecision::Deny; 3]),
        ("trimtab config set autonomy trusting", [CommandDecision::Deny; 3]),
        ("trimtab control autonomy trusting", [CommandDecision::Deny; 3]),
        ("trimtab run --autonomy=trusting x", [CommandDecision::Deny; 3]),
        ("echo 'autonomy = \"trusting\"' > .trimtab/config.toml", [CommandDecision::Deny; 3]),
    ] {
        assert_eq!(LEVELS.map(|level| decide(level, line)), decisions, "{line}");
    }
}
