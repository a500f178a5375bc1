//! Flows after a router's decision, with the decision said by hand. After every input the log is folded again
//! and must give the same session.

use serde_json::{Value, json};
use trimtab_vocab::event::{CheckpointFact, PlanFact, RequestFact, RouteDecision, RouteFact, Status};
use trimtab_vocab::{
    Analysis, ApprovalMode, Approve, CallId, CheckpointId, Control, Copilot, Fact, Message, Mode, ModelSettings, Part,
    Prompt, Question, Reply, Request, RequestId, Role, RunSettings, StepStatus, StopReason, ToolCall, Usage,
};

use crate::record::Session;
use crate::step::test_step;
use crate::{Effect, Input, Interrupted, Output, step, turn};

mod words;

struct Talk {
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    /// The model call that is open.
    call: Option<(CallId, Prompt)>,
}

fn id() -> RequestId {
    "r1".parse().expect("an id")
}

fn route(decision: RouteDecision, complexity: u8, analysis: Option<Analysis>) -> RouteFact {
    let (reason, categories) = (String::new(), Vec::new());
    RouteFact {
        decision,
        confidence: 0.9,
        complexity,
        categories,
        reason,
        entities: None,
        filter: None,
        category: None,
        analysis,
    }
}

fn asking(questions: &[&str]) -> Option<Analysis> {
    let question = |text: &&str| Question { text: (*text).into(), ..Question::default() };
    Some(Analysis { questions: questions.iter().map(question).collect(), ..Analysis::default() })
}

fn settings(copilot: Copilot) -> RunSettings {
    RunSettings {
        models: ModelSettings { model: "m/n".into(), ..ModelSettings::default() },
        trust: trimtab_vocab::FolderTrust::WHOLE,
        copilot,
        ..RunSettings::default()
    }
}

impl Talk {
    fn begin(route: RouteFact, settings: RunSettings) -> Self {
        let mut talk = Self { session: Session::default(), log: Vec::new(), call: None };
        talk.feed(Input::Opened { folder: "/p".into() });
        let (text, mode) = ("make it better", Mode::Auto);
        let request = Request { mode, ..Request::new(id(), text, settings) };
        talk.feed(Input::Said { request: Box::new(request) });
        let outputs = test_step(&mut talk.session, |step| {
            step.emit(Some(&id()), route);
            turn::load_or_next(step);
        });
        talk.take(outputs);
        talk
    }

    fn feed(&mut self, input: Input) {
        let outputs = step(&mut self.session, input);
        self.take(outputs);
    }

    fn take(&mut self, outputs: Vec<Output>) {
        let mut effects = Vec::new();
        for output in outputs {
            match output {
                Output::Event { request, fact } => self.log.push((request, fact)),
                Output::Effect(effect) => effects.push(effect),
                Output::Keep { .. } | Output::KeepOnly { .. } | Output::Child(_) | Output::Audit { .. } => {}
                Output::Tell { .. } => {}
            }
        }
        let again = Session::replay(self.log.iter().map(|(request, fact)| (request.as_ref(), fact)));
        assert_eq!(again, self.session, "the log gives another session");
        for effect in effects {
            match effect {
                Effect::CallModel { call, prompt, .. } => self.call = Some((call, *prompt)),
                Effect::Load { request, .. } => {
                    let (files, missing, absent) = (Vec::new(), Vec::new(), Vec::new());
                    self.feed(Input::Loaded {
                        request,
                        files,
                        missing,
                        absent,
                        instructions: None,
                        instruction_files: Vec::new(),
                        servers: None,
                        unread: Vec::new(),
                    });
                }
                Effect::Wait { timer, .. } => self.feed(Input::TimerFired { timer }),
                // The first admission is what the tests take the place of.
                Effect::Admit { request } if self.log.len() > 4 => self.feed(Input::Admitted { request }),
                _ => {}
            }
        }
    }

    fn answer(&mut self, choice: &str, text: Option<&str>) {
        let checkpoint = self.open().expect("a question").0;
        let (choice, text) = (choice.to_owned(), text.map(str::to_owned));
        self.feed(Input::Answered {
            checkpoint,
            choice,
            text,
            by: "user".into(),
            surface: None,
            instructions: Vec::new(),
        });
    }

    /// What is asked: its id, its kind and its title.
    fn open(&self) -> Option<(CheckpointId, String, String)> {
        let id = self.session.own_checkpoints().next()?.0.clone();
        self.log.iter().rev().find_map(|(_, fact)| match fact {
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, title, .. }) if *checkpoint == id => {
                let kind = serde_json::to_value(kind).expect("JSON").as_str().expect("a name").to_owned();
                Some((id.clone(), kind, title.clone()))
            }
            _ => None,
        })
    }

    fn asked(&self) -> String {
        self.open().map(|(_, kind, title)| format!("{kind}: {title}")).unwrap_or_default()
    }

    fn says(&mut self, words: &str) {
        self.replies(vec![Part::Text { text: words.into() }], StopReason::EndTurn);
    }

    fn uses(&mut self, name: &str, input: Value) {
        let call = ToolCall { id: "t1".into(), name: name.into(), input, broken: None };
        self.replies(vec![Part::ToolUse(call)], StopReason::ToolUse);
    }

    fn replies(&mut self, parts: Vec<Part>, stop: StopReason) {
        let (call, _) = self.call.take().expect("the model is called");
        let message = Message { role: Role::Assistant, parts };
        let reply = Reply { message, stop_reason: Some(stop), usage: Usage::default() };
        self.feed(Input::Replied { call, reply, raw: None, warnings: Vec::new() });
    }

    /// All that the model is sent, as text.
    fn prompt(&self) -> String {
        let (_, prompt) = self.call.as_ref().expect("the model is called");
        let said: Vec<String> = prompt.messages.iter().map(|message| message.text()).collect();
        format!("{}\n{}", prompt.system, said.join("\n"))
    }

    fn offered(&self) -> Vec<&str> {
        self.call.iter().flat_map(|(_, prompt)| &prompt.tools).map(|tool| tool.name.as_str()).collect()
    }

    /// The owner is gone, and another one takes over from the log alone.
    fn dies(&mut self) {
        self.session = Session::replay(self.log.iter().map(|(request, fact)| (request.as_ref(), fact)));
        self.call = None;
        let interrupted =
            self.session.under_way().into_iter().map(|call| Interrupted { call, partial: None }).collect();
        self.feed(Input::Woke { interrupted });
    }

    fn ended(&self) -> Option<(Status, Option<&str>)> {
        self.log.iter().rev().find_map(|(_, fact)| match fact {
            Fact::Request(RequestFact::Finished { status, reason, .. }) => Some((*status, reason.as_deref())),
            _ => None,
        })
    }

    /// The steps that began or ended, in order.
    fn steps(&self) -> Vec<(String, StepStatus)> {
        let step = |(_, fact): &'_ (Option<RequestId>, Fact)| match fact {
            Fact::Plan(PlanFact::Step { title, status, .. }) => Some((title.clone(), *status)),
            _ => None,
        };
        self.log.iter().filter_map(step).collect()
    }
}

const TWO: &str = r#"{"steps":["One","Two"]}"#;

fn two() -> Value {
    serde_json::from_str(TWO).expect("JSON")
}

#[test]
fn questions_come_before_any_call_and_their_answers_reach_the_planner() {
    let clarify = route(RouteDecision::Clarify, 60, asking(&["Which database?", "For whom?"]));
    let mut talk = Talk::begin(clarify, settings(Copilot::default()));
    assert!(talk.call.is_none(), "nobody is called before the answer");
    assert_eq!(talk.asked(), "clarification: 2 questions before we start.");
    talk.dies();
    assert!(talk.call.is_none() && talk.open().is_some(), "the question survives");
    talk.answer("submit", None);
    assert!(talk.open().is_some(), "a submission without words is none");
    talk.answer("submit", Some("1: SQLite; 2: the team"));
    let prompt = talk.prompt();
    assert!(
        prompt.contains("Question: Which database?\nAnswer: SQLite\nQuestion: For whom?\nAnswer: the team"),
        "{prompt}"
    );
    assert!(talk.offered().contains(&"propose_plan"));
    talk.uses("propose_plan", two());
    assert_eq!(talk.asked(), "plan: Approve this plan of 2 steps?");
    talk.answer("approve", None);
    assert!(
        talk.prompt().contains("- Clarification: Question: Which database? Answer: SQLite"),
        "steps know what was decided"
    );
    let clarifications = talk.log.iter().filter(|(_, fact)| fact.kind() == "checkpoint.opened").count();
    assert_eq!(clarifications, 2, "asked once, in the first round");
}

#[test]
fn skipped_questions_are_waived_and_assumptions_are_stated() {
    let mut talk = Talk::begin(route(RouteDecision::Clarify, 60, None), settings(Copilot::default()));
    assert_eq!(talk.asked(), "clarification: What exactly should be done?");
    talk.answer("skip", None);
    let prompt = talk.prompt();
    assert!(
        prompt.contains("does not want to answer:\n- What exactly should be done?\nMake sensible assumptions"),
        "{prompt}"
    );
}

#[test]
fn what_is_known_to_be_missing_is_asked_for() {
    let analysis = Analysis { missing: vec!["purpose".into(), "constraints".into()], ..Analysis::default() };
    let talk = Talk::begin(route(RouteDecision::Clarify, 60, Some(analysis)), settings(Copilot::default()));
    let opened = talk.log.iter().find(|(_, fact)| fact.kind() == "checkpoint.opened").expect("a question");
    let body = serde_json::to_value(&opened.1).expect("JSON");
    assert_eq!(body["questions"][0], json!({"id": "q1", "text": "What is it for, and who will use it?"}));
    assert_eq!(body["questions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn without_a_person_a_question_ends_the_run_stays_open_and_answers_itself_never() {
    for approve in [Approve::Ask, Approve::Auto] {
        let settings = RunSettings { attended: false, approve, ..settings(Copilot::default()) };
        let mut talk = Talk::begin(route(RouteDecision::Clarify, 60, asking(&["Which?"])), settings);
        assert_eq!(talk.ended(), Some((Status::NeedsUser, None)));
        assert_eq!(talk.asked(), "clarification: Which?");
        talk.answer("submit", Some("this one"));
        assert!(talk.prompt().contains("Answer: this one"), "it goes on");
    }
    let settings = RunSettings { attended: false, approve: Approve::Deny, ..settings(Copilot::default()) };
    let talk = Talk::begin(route(RouteDecision::Clarify, 60, asking(&["Which?"])), settings);
    assert!(talk.prompt().contains("does not want to answer"), "where everything is refused, so is an answer");
}

#[test]
fn questions_of_a_direct_task_lead_to_the_work_itself() {
    let mut talk = Talk::begin(route(RouteDecision::Direct, 10, asking(&["Which?"])), settings(Copilot::default()));
    talk.answer("submit", Some("this one"));
    assert!(talk.offered().contains(&"edit_file"));
    let talk = Talk::begin(route(RouteDecision::Chat, 10, asking(&["Which?"])), settings(Copilot::default()));
    assert!(talk.open().is_none(), "in a conversation the model asks in words");
}

#[test]
fn planning_and_its_approval_follow_the_settings() {
    let plan = || route(RouteDecision::Plan, 60, None);
    let mut talk = Talk::begin(plan(), settings(Copilot { plan_approval: false, ..Copilot::default() }));
    talk.uses("propose_plan", two());
    assert_eq!(talk.steps(), [("One".to_owned(), StepStatus::Running)], "carried out at once");
    let talk = Talk::begin(plan(), settings(Copilot { enable_planning: false, ..Copilot::default() }));
    assert!(talk.offered().contains(&"edit_file") && !talk.prompt().contains("This is plan mode"));
    let clarify = route(RouteDecision::Clarify, 60, None);
    let mut talk = Talk::begin(clarify, settings(Copilot { enable_planning: false, ..Copilot::default() }));
    talk.answer("skip", None);
    assert!(talk.offered().contains(&"edit_file"));
    let auto = RunSettings { approve: Approve::Auto, attended: false, ..settings(Copilot::default()) };
    let mut talk = Talk::begin(plan(), auto);
    talk.uses("propose_plan", two());
    assert_eq!(talk.steps(), [("One".to_owned(), StepStatus::Running)], "an approval may be given beforehand");
    let started = talk.log.iter().find_map(|(_, fact)| match fact {
        Fact::Plan(PlanFact::Started { by, .. }) => Some(by.as_str()),
        _ => None,
    });
    assert_eq!(started, Some("approve auto"), "and the record says by whom");
    let deny = RunSettings { approve: Approve::Deny, attended: false, ..settings(Copilot::default()) };
    let mut talk = Talk::begin(plan(), deny);
    talk.uses("propose_plan", two());
    assert_eq!((talk.ended(), talk.steps().len()), (Some((Status::Cancelled, None)), 0));
}

#[test]
fn a_routed_plan_is_asked_for_once_more_and_words_may_still_be_the_answer() {
    let mut talk = Talk::begin(route(RouteDecision::Plan, 60, None), settings(Copilot::default()));
    talk.says("I would begin with the tests.");
    assert!(talk.prompt().contains("[no plan was proposed. Call propose_plan with its steps"), "{}", talk.prompt());
    talk.says("Nothing has to be done.");
    assert_eq!(talk.ended(), Some((Status::Completed, None)));
}

#[test]
fn a_simple_task_needs_no_approval_before_it_runs_unless_a_person_wants_one() {
    let simple = || Some(Analysis { steps: 1, files: 1, ..Analysis::default() });
    let complex = || Some(Analysis { steps: 5, ..Analysis::default() });
    for (mode, auto, analysis, asks) in [
        (ApprovalMode::Both, true, simple(), false),
        (ApprovalMode::Both, false, simple(), true),
        (ApprovalMode::BeforeStep, false, simple(), true),
        (ApprovalMode::AfterStep, false, simple(), false),
        (ApprovalMode::None, false, simple(), false),
        (ApprovalMode::BeforeStep, true, complex(), true),
        (ApprovalMode::BeforeStep, true, None, true),
    ] {
        let copilot = Copilot { approval_mode: mode, auto_approve_simple: auto, ..Copilot::default() };
        let mut talk = Talk::begin(route(RouteDecision::Direct, 10, analysis), settings(copilot));
        assert_eq!(talk.open().is_some(), asks, "{mode:?} {auto}");
        if asks {
            assert_eq!(talk.asked(), "step: Start this? make it better");
            talk.answer("continue", None);
        }
        assert!(talk.offered().contains(&"edit_file"));
    }
}

/// Plays a plan of two steps; what happened, in order: `?` a question, `>` a step that begins.
fn positions(mode: ApprovalMode) -> String {
    let copilot = Copilot { approval_mode: mode, plan_approval: false, ..Copilot::default() };
    let mut talk = Talk::begin(route(RouteDecision::Plan, 60, None), settings(copilot));
    talk.uses("propose_plan", two());
    while talk.ended().is_none() {
        match talk.open() {
            Some(_) => talk.answer("continue", None),
            None => talk.says("Done."),
        }
    }
    let mark = |fact: &Fact| match fact {
        Fact::Checkpoint(CheckpointFact::Opened { .. }) => Some("?"),
        Fact::Plan(PlanFact::Step { status: StepStatus::Running, .. }) => Some(">"),
        _ => None,
    };
    talk.log.iter().filter_map(|(_, fact)| mark(fact)).collect()
}

#[test]
fn each_approval_mode_asks_where_it_says() {
    assert_eq!(positions(ApprovalMode::None), ">>");
    assert_eq!(positions(ApprovalMode::BeforeStep), "?>?>");
    assert_eq!(positions(ApprovalMode::AfterStep), ">?>?");
    assert_eq!(positions(ApprovalMode::Both), "?>??>?");
}

#[test]
fn a_kill_at_any_point_of_a_plan_loses_and_repeats_nothing() {
    // Without a kill, and with one before every single input.
    let play = |dies: bool| {
        let copilot = Copilot { approval_mode: ApprovalMode::Both, ..Copilot::default() };
        let mut talk = Talk::begin(route(RouteDecision::Clarify, 60, asking(&["Which?"])), settings(copilot));
        let mut planned = false;
        for _ in 0..64 {
            if talk.ended().is_some() {
                break;
            }
            if dies {
                talk.dies();
            }
            match talk.open().map(|(_, kind, _)| kind).as_deref() {
                Some("clarification") => talk.answer("submit", Some("this one")),
                Some("plan") => talk.answer("approve", None),
                Some(_) => talk.answer("continue", None),
                None if !planned => {
                    planned = true;
                    talk.uses("propose_plan", two());
                }
                None => talk.says("Done."),
            }
        }
        let steps = talk.steps();
        let asked = talk.log.iter().filter(|(_, fact)| fact.kind() == "checkpoint.opened").count();
        (talk.ended().map(|(status, _)| status), steps, asked)
    };
    assert_eq!(play(true), play(false));
    assert_eq!(play(true).0, Some(Status::Completed));
    assert_eq!(play(true).1.len(), 4);
}

#[test]
fn a_model_without_tools_plans_in_the_fixed_form_and_is_told_what_is_wrong() {
    let mut plain = settings(Copilot::default());
    plain.models.facts.tools = false;
    let mut talk = Talk::begin(route(RouteDecision::Plan, 60, None), plain);
    assert!(talk.offered().is_empty() && talk.prompt().contains("dependsOn: number[]"));
    talk.says(r#"Sure! {"steps":[{"title":"a","dependsOn":[2]},{"title":"b","dependsOn":[1]}]}"#);
    assert!(talk.prompt().contains("[these steps wait for each other"), "{}", talk.prompt());
    talk.says("<think>{\"steps\":[\"no\"]}</think>```json\n{\"summary\":\"s\",\"steps\":[\"One\",\"Two\"]}\n```");
    assert_eq!(talk.asked(), "plan: Approve this plan of 2 steps?");
    talk.answer("approve", None);
    talk.says(r#"{"summary":"One is done."}"#);
    talk.says(r#"{"summary":"All is done."}"#);
    assert_eq!(talk.ended(), Some((Status::Completed, None)));
    assert_eq!(talk.steps().len(), 4);
}

proptest::proptest! {
    /// Whatever the user and a model do at each turn, and wherever the program dies: the log gives the same session
    /// (which every input checks), nothing is tried that changes anything while planning, no step runs while another
    /// does, and what is asked can be answered.
    #[test]
    fn any_walk_through_a_flow_keeps_its_promises(
        start in 0_usize..4, approval in 0_usize..4, moves in proptest::collection::vec(0_u8..=255, 0..60),
    ) {
        let decision =
            [RouteDecision::Clarify, RouteDecision::Plan, RouteDecision::Direct, RouteDecision::Plan][start];
        let mode = [ApprovalMode::None, ApprovalMode::BeforeStep, ApprovalMode::AfterStep, ApprovalMode::Both][approval];
        let copilot = Copilot { approval_mode: mode, plan_approval: start != 3, ..Copilot::default() };
        let mut talk = Talk::begin(route(decision, 50, None), settings(copilot));
        for (number, one) in moves.into_iter().enumerate() {
            if one % 16 == 0 {
                talk.dies();
            }
            if one % 16 == 1 {
                talk.feed(Input::Controlled { request: None, action: Control::Pause });
            }
            let Some(active) = talk.session.active() else { break };
            if let Some((_, kind, _)) = talk.open() {
                let (id, open) = talk.session.own_checkpoints().next().expect("one is open");
                proptest::prop_assert_eq!(&open.request, &active.request.id);
                let (checkpoint, choices) = (id.clone(), open.choices.clone());
                let choice = choices[usize::from(one) % choices.len()].id.clone();
                let text = match (kind.as_str(), one % 3) {
                    ("plan", 0) => Some(r#"[{"op":"add","title":"New"}]"#.to_owned()),
                    _ => Some(format!("words {number}")),
                };
                talk.feed(Input::Answered { checkpoint, choice, text, by: "user".into(), surface: None, instructions: Vec::new() });
            } else if talk.call.is_some() {
                let planning = active.path() == Some(RouteDecision::Plan);
                match one % 5 {
                    0 => talk.uses("propose_plan", two()),
                    1 if planning => talk.uses("write_file", json!({"path": "a", "content": ""})),
                    2 => talk.says("STEP FAILED. No."),
                    3 => talk.says("1. this\n2. that"),
                    _ => talk.says("Done."),
                }
            }
            let running = talk.session.active().map_or(0, |active| {
                active.flow.statuses.values().filter(|status| **status == StepStatus::Running).count()
            });
            proptest::prop_assert!(running <= 1);
            let prepared = talk.log.iter().any(|(_, fact)| matches!(fact, Fact::Proposal(_) | Fact::Command(_)));
            proptest::prop_assert!(!prepared, "something was tried");
            if talk.session.active().is_some() {
                proptest::prop_assert!(talk.open().is_some() || talk.call.is_some(), "nothing can move any more");
            }
        }
    }
}
