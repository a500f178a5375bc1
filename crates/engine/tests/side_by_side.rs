//! What runs beside the work: background commands and hooks that end while something else runs, or after their request.

use serde_json::{Value, json};
use trimtab_engine::{Detached, Effect, Input, Interrupted, Output, Ran, Session, step};
use trimtab_vocab::event::{ByCommand, ChangeFact, RequestFact, SessionFact, ToolFact};
use trimtab_vocab::{
    Applying, BackgroundReason, CallId, CommandSettings, Control, Fact, FileEffects, FileState, FileWrite, FolderTrust,
    HookEvent, HookFact, KnownAtStart, ListedHook, Message, ModelFacts, ModelSettings, Part, Reply, Request, RequestId,
    Role, RunSettings, Sandbox, SnapshotLimits, SnapshotSettings, StopReason, ToolCall, Usage,
};

struct Play {
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    /// What came of the last input.
    outputs: Vec<Output>,
}

impl Play {
    fn new() -> Self {
        let mut play =
            Self { session: Session::new("s1".parse().expect("an ID")), log: Vec::new(), outputs: Vec::new() };
        play.feed(Input::Opened { folder: "/p".into() });
        play
    }

    fn feed(&mut self, input: Input) {
        self.outputs = step(&mut self.session, input);
        self.log.extend(self.outputs.iter().filter_map(|output| match output {
            Output::Event { request, fact } => Some((request.clone(), fact.clone())),
            _ => None,
        }));
        let mut replayed = Session::new("s1".parse().expect("an ID"));
        self.log.iter().for_each(|(request, fact)| replayed.fold(request.as_ref(), fact));
        assert_eq!(replayed, self.session);
    }

    /// The process was killed, and another one continues.
    fn kill(&mut self) {
        let interrupted = self.session.under_way();
        let interrupted = interrupted.into_iter().map(|call| Interrupted { call, partial: None }).collect();
        self.feed(Input::Woke { interrupted });
    }

    fn say(&mut self, id: &str, hooks: Vec<ListedHook>) {
        let models = ModelSettings {
            model: "a/b".into(),
            facts: ModelFacts { window: 100_000, ..ModelFacts::default() },
            ..ModelSettings::default()
        };
        let settings = RunSettings {
            models,
            trust: FolderTrust::WHOLE,
            known: KnownAtStart { hooks, ..KnownAtStart::default() },
            commands: CommandSettings { apply: Applying::Auto, sandbox: Sandbox::Off, ..CommandSettings::default() },
            snapshot: SnapshotSettings { files: 10, mb: 1 },
            ..RunSettings::default()
        };
        self.feed(Input::Said { request: Box::new(Request::new(request(id), "go", settings)) });
    }

    fn admit(&mut self, id: &str) {
        self.feed(Input::Admitted { request: request(id) });
    }

    fn load(&mut self, id: &str) {
        self.feed(Input::Loaded {
            request: request(id),
            files: Vec::new(),
            missing: Vec::new(),
            absent: Vec::new(),
            instructions: None,
            instruction_files: Vec::new(),
            servers: None,
            unread: Vec::new(),
        });
    }

    /// The model asks for a tool.
    fn ask_for(&mut self, tool: &str, input: Value) {
        let call = self.effect(|effect| match effect {
            Effect::CallModel { call, .. } => Some(call.clone()),
            _ => None,
        });
        let wish = ToolCall { id: "t".into(), name: tool.into(), input, broken: None };
        let message = Message { role: Role::Assistant, parts: vec![Part::ToolUse(wish)] };
        let reply = Reply { message, stop_reason: Some(StopReason::ToolUse), usage: Usage::default() };
        self.feed(Input::Replied { call: call.expect("a model is called"), reply, raw: None, warnings: Vec::new() });
    }

    fn effect<T>(&self, wanted: impl Fn(&Effect) -> Option<T>) -> Option<T> {
        self.outputs.iter().find_map(|output| match output {
            Output::Effect(effect) => wanted(effect),
            _ => None,
        })
    }

    fn count(&self, wanted: fn(&Effect) -> bool) -> usize {
        let effects = self.outputs.iter().filter(|output| matches!(output, Output::Effect(effect) if wanted(effect)));
        effects.count()
    }

    fn hook(&self) -> Option<CallId> {
        self.effect(|effect| match effect {
            Effect::RunHook { run, .. } => Some(run.clone()),
            _ => None,
        })
    }

    /// The model runs a command, and the user allows it.
    fn run(&mut self, command: &str) -> CallId {
        self.ask_for("run_command", json!({"command": command}));
        let open = self.session.own_checkpoints().next().map(|(id, _)| id.clone());
        if let Some(checkpoint) = open {
            let (choice, text, by, surface) = ("allow".into(), None, "user".into(), None);
            self.feed(Input::Answered { checkpoint, choice, text, by, surface, instructions: Vec::new() });
        }
        let started = self.effect(|effect| match effect {
            Effect::Run { call, .. } => Some(call.clone()),
            _ => None,
        });
        started.unwrap_or_else(|| panic!("`{command}` runs: {:?}", self.outputs))
    }

    fn detach(&mut self, call: &CallId) {
        let watch = Some(SnapshotLimits { files: 10, bytes: 1 << 20, whole: false });
        let detached = Detached {
            why: BackgroundReason::Moved,
            ready: None,
            ports: Vec::new(),
            output: String::new(),
            output_bytes: 0,
            watch,
        };
        self.feed(Input::Detached { call: call.clone(), detached });
    }

    fn end(&mut self, call: &CallId, writes: Vec<FileWrite>) {
        let effects = Some(Box::new(FileEffects { writes, ..FileEffects::default() }));
        self.feed(Input::Ran { call: call.clone(), ran: Ran { exit_code: Some(0), ..Ran::default() }, effects });
    }

    /// The change sets that commands made, as `command: path before→after`.
    fn sets(&self) -> Vec<String> {
        let state = |state: &Option<FileState>| state.as_ref().map_or("-", |state| &state.hash).to_owned();
        let shown = |by: &ByCommand| {
            let writes =
                by.writes.iter().map(|one| format!("{} {}→{}", one.path, state(&one.before), state(&one.after)));
            format!("{}: {}", by.command, writes.collect::<Vec<_>>().join(", "))
        };
        let of = |fact: &Fact| match fact {
            Fact::Change(ChangeFact::Applied(change)) => change.by.as_deref().map(shown),
            _ => None,
        };
        self.log.iter().filter_map(|(_, fact)| of(fact)).collect()
    }
}

fn request(id: &str) -> RequestId {
    id.parse().expect("an ID")
}

fn hook(event: HookEvent, allows_on_failure: bool) -> ListedHook {
    ListedHook {
        event,
        matcher: "*".into(),
        command: "check".into(),
        hash: "1f".into(),
        timeout_s: 9,
        allows_on_failure,
        ..ListedHook::default()
    }
}

fn write(path: &str, before: &str, after: &str) -> FileWrite {
    let state = |hash: &str| (!hash.is_empty()).then(|| FileState { hash: hash.into(), mode: 0o644 });
    FileWrite { path: path.into(), before: state(before), after: state(after), added: 1, removed: 0, modified: 0 }
}

fn hook_end(run: CallId, code: i32) -> Input {
    let output = format!("\n\u{1e}trimtab-hook {code}\nno");
    Input::HookRan { run, ran: Ran { output, ..Ran::default() }, effects: None }
}

#[test]
fn a_hook_that_outlasts_its_request_decides_nothing_about_the_next() {
    let mut play = Play::new();
    let hooks = || vec![hook(HookEvent::UserPromptSubmit, false)];
    play.say("r1", hooks());
    play.admit("r1");
    let first = play.hook().expect("the hook of the first request");
    play.feed(Input::Controlled { request: None, action: Control::Cancel });
    play.say("r2", hooks());
    play.admit("r2");
    let second = play.hook().expect("the hook of the second request");
    play.feed(Input::HookRan { run: first, ran: Ran { stopped: true, ..Ran::default() }, effects: None });
    assert_eq!(play.count(|effect| matches!(effect, Effect::Load { .. } | Effect::CallModel { .. })), 0);
    let ended = play.log.iter().rev().find(|(_, fact)| matches!(fact, Fact::Hook(HookFact::Finished { .. })));
    assert_eq!(ended.and_then(|(of, _)| of.clone()), Some(request("r1")), "it is recorded with its own request");
    play.feed(hook_end(second, 2));
    let is_over = |(of, fact): &(Option<RequestId>, Fact)| {
        *of == Some(request("r2")) && matches!(fact, Fact::Request(RequestFact::Finished { .. }))
    };
    assert!(play.log.iter().any(is_over), "the hook of the second request refuses it: {:?}", play.log.last());
}

#[test]
fn a_call_whose_hook_was_lost_in_a_kill_starts_once() {
    for (tool, input) in [
        ("run_command", json!({"command": "make all"})),
        ("write_file", json!({"path": "a", "content": "b"})),
        ("read_file", json!({"path": "a"})),
    ] {
        let mut play = Play::new();
        play.say("r1", vec![hook(HookEvent::PreToolUse, true)]);
        play.admit("r1");
        play.load("r1");
        play.ask_for(tool, input);
        assert!(play.hook().is_some(), "{tool} is checked");
        play.kill();
        let starts = play.count(|effect| {
            matches!(
                effect,
                Effect::Run { .. } | Effect::Prepare { .. } | Effect::Read { .. } | Effect::InspectEffects { .. }
            )
        });
        let asks = play.session.own_checkpoints().count();
        assert_eq!(starts + asks, 1, "{tool}: {:?}", play.outputs);
        assert_eq!(play.count(|effect| matches!(effect, Effect::InspectEffects { .. })), 0, "{tool} has not run yet");
    }
    let mut play = Play::new();
    play.say("r1", vec![hook(HookEvent::UserPromptSubmit, true)]);
    play.admit("r1");
    assert!(play.hook().is_some());
    play.kill();
    assert_eq!(play.count(|effect| matches!(effect, Effect::Load { .. })), 1, "{:?}", play.outputs);
}

/// A server runs in the background, and a build in the foreground.
fn two_commands() -> (Play, CallId, CallId) {
    let mut play = Play::new();
    play.say("r1", Vec::new());
    play.admit("r1");
    play.load("r1");
    let server = play.run("npm run dev");
    play.detach(&server);
    let build = play.run("npm run build");
    (play, server, build)
}

#[test]
fn each_change_is_in_one_set_where_a_background_command_ends_during_another() {
    let (mut play, server, build) = two_commands();
    // It sees what the build has written so far as well.
    play.end(&server, vec![write("log", "", "l1"), write("out", "o1", "o2")]);
    play.end(&build, vec![write("log", "", "l1"), write("out", "o1", "o3")]);
    assert_eq!(play.sets(), ["npm run dev: log -→l1, out o1→o2", "npm run build: out o2→o3"]);
    // The same where the build is cut off and looked at by another owner.
    let (mut play, server, build) = two_commands();
    play.end(&server, vec![write("log", "", "l1")]);
    let writes = vec![write("log", "", "l1"), write("out", "o1", "o3")];
    play.feed(Input::Surveyed { call: build, effects: Box::new(FileEffects { writes, ..FileEffects::default() }) });
    assert_eq!(play.sets(), ["npm run dev: log -→l1", "npm run build: out o1→o3"]);
}

#[test]
fn changes_that_may_be_those_of_a_background_command_are_marked() {
    let (mut play, _, build) = two_commands();
    play.end(&build, vec![write("out", "o1", "o2")]);
    let marked = play.log.iter().find_map(|(_, fact)| match fact {
        Fact::Change(ChangeFact::Applied(change)) => change.by.as_ref().map(|by| by.alongside.clone()),
        _ => None,
    });
    assert_eq!(marked.expect("a set").iter().map(ToString::to_string).collect::<Vec<_>>(), ["b1"]);
    let told = play.log.iter().rev().find_map(|(_, fact)| match fact {
        Fact::Tool(ToolFact::Finished { preview, .. }) => Some(preview.as_str()),
        _ => None,
    });
    assert!(
        told.is_some_and(|told| told.contains("[In the background: b1. Some of these file changes may be theirs.]"))
    );
}

#[test]
fn a_session_with_a_background_command_is_not_handed_off() {
    let (mut play, server, build) = two_commands();
    play.end(&build, Vec::new());
    let call = play.effect(|effect| match effect {
        Effect::CallModel { call, .. } => Some(call.clone()),
        _ => None,
    });
    let (message, stop_reason) = (Message::assistant("Built."), Some(StopReason::EndTurn));
    let reply = Reply { message, stop_reason, usage: Usage::default() };
    play.feed(Input::Replied { call: call.expect("a call"), reply, raw: None, warnings: Vec::new() });
    assert!(play.session.active().is_none());
    play.feed(Input::Controlled { request: None, action: Control::Handoff });
    let refused = play.log.iter().find_map(|(_, fact)| match fact {
        Fact::Session(SessionFact::Refused { reason }) => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(refused, Some("Commands are running in the background: b1. Stop them first, then try again."));
    play.end(&server, vec![write("log", "", "l1")]);
    play.feed(Input::Controlled { request: None, action: Control::Handoff });
    let handed = play.log.iter().find_map(|(_, fact)| match fact {
        Fact::Session(SessionFact::Handoff { change_sets, .. }) => Some(change_sets.len()),
        _ => None,
    });
    assert_eq!(handed, Some(1), "its changes go with the history");
}
