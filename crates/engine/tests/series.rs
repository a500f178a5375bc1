//! A series of commands, killed at every single point: no command is begun twice by itself, and it comes to an end.

use std::collections::{BTreeMap, VecDeque};

use trimtab_engine::{Effect, Input, Interrupted, Output, Ran, Session, step};
use trimtab_vocab::event::{CheckpointFact, RequestFact, Status};
use trimtab_vocab::{
    Applying, CheckpointId, CommandSettings, Fact, FolderTrust, Message, ModelFacts, ModelSettings, Prompt, Reply,
    Request, RequestId, RunSettings, StopReason, Usage,
};

const COMMANDS: [&str; 3] = ["touch one", "touch two", "touch three"];

/// A model that goes on whenever it is asked, and a world in which every command succeeds.
struct Drive {
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    inputs: VecDeque<Input>,
    begun: BTreeMap<String, u32>,
    open: Vec<CheckpointId>,
    ended: Option<Status>,
}

impl Drive {
    fn new() -> Self {
        let settings = RunSettings {
            models: ModelSettings {
                model: "a/b".into(),
                facts: ModelFacts { window: 100_000, ..ModelFacts::default() },
                ..ModelSettings::default()
            },
            trust: FolderTrust::WHOLE,
            commands: CommandSettings { apply: Applying::Auto, ..CommandSettings::default() },
            ..RunSettings::default()
        };
        let id = "r1".parse().expect("an id");
        let request = Request::new(id, "go", settings);
        let inputs = [Input::Opened { folder: "/p".into() }, Input::Said { request: Box::new(request) }];
        Self {
            session: Session::default(),
            log: Vec::new(),
            inputs: inputs.into(),
            begun: BTreeMap::new(),
            open: Vec::new(),
            ended: None,
        }
    }

    /// Takes one input up; the effects that it asks for are answered later.
    fn one(&mut self, input: Input) -> Vec<Input> {
        let mut answers = Vec::new();
        for output in step(&mut self.session, input) {
            match output {
                Output::Event { request, fact } => {
                    match &fact {
                        Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) => {
                            self.open.push(checkpoint.clone());
                        }
                        Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                            self.open.retain(|open| open != checkpoint);
                        }
                        Fact::Request(RequestFact::Finished { status, .. }) => self.ended = Some(*status),
                        _ => {}
                    }
                    self.log.push((request, fact));
                }
                Output::Effect(effect) => answers.extend(self.answer(effect)),
                Output::Keep { .. }
                | Output::KeepOnly { .. }
                | Output::Child(_)
                | Output::Audit { .. }
                | Output::Tell { .. } => {}
            }
        }
        answers
    }

    fn answer(&mut self, effect: Effect) -> Option<Input> {
        Some(match effect {
            Effect::Admit { request } => Input::Admitted { request },
            Effect::Load { request, .. } => Input::Loaded {
                request,
                files: Vec::new(),
                missing: Vec::new(),
                absent: Vec::new(),
                instructions: None,
                instruction_files: Vec::new(),
                servers: None,
                unread: Vec::new(),
            },
            Effect::CallModel { call, prompt, .. } => {
                let message = Message::assistant(said(&prompt));
                let reply = Reply { message, stop_reason: Some(StopReason::EndTurn), usage: Usage::default() };
                Input::Replied { call, reply, raw: None, warnings: Vec::new() }
            }
            Effect::Run { call, plan, .. } => {
                *self.begun.entry(plan.run().command.clone()).or_default() += 1;
                Input::Ran { call, ran: Ran { exit_code: Some(0), ..Ran::default() }, effects: None }
            }
            _ => return None,
        })
    }

    /// Goes on until nothing is left to do; a kill after so many inputs loses whatever was under way.
    fn go(mut self, kill_after: Option<usize>, on_unknown: &str) -> Self {
        let mut taken = 0;
        loop {
            let next = match self.inputs.pop_front() {
                Some(input) => input,
                None if self.ended.is_some() => return self,
                None => {
                    let checkpoint = self.open.first().cloned().expect("a question, for nothing else is left");
                    let choice = on_unknown.to_owned();
                    Input::Answered {
                        checkpoint,
                        choice,
                        text: None,
                        by: "user".into(),
                        surface: None,
                        instructions: Vec::new(),
                    }
                }
            };
            let answers = self.one(next);
            taken += 1;
            if kill_after == Some(taken) {
                self.session = Session::replay(self.log.iter().map(|(request, fact)| (request.as_ref(), fact)));
                let gone = self.session.under_way().into_iter();
                let interrupted = gone.map(|call| Interrupted { call, partial: None }).collect();
                self.inputs.push_front(Input::Woke { interrupted });
            } else {
                self.inputs.extend(answers);
            }
            assert!(taken < 200, "it does not come to an end");
        }
    }
}

fn said(prompt: &Prompt) -> String {
    let last = prompt.messages.last().map(|message| message.text()).unwrap_or_default();
    match () {
        () if last.contains("All commands have run") => "All is done.".to_owned(),
        () if last.contains("Progress: ") => "Fine. Continue.".to_owned(),
        () => COMMANDS.map(|command| format!("🖥 {command}")).join("\n"),
    }
}

#[test]
fn killed_at_any_point_no_command_of_a_series_runs_twice_by_itself() {
    let whole = Drive::new().go(None, "skip");
    assert_eq!(whole.ended, Some(Status::Completed));
    assert_eq!(whole.begun, COMMANDS.map(|command| (command.to_owned(), 1)).into());
    for point in 1..60 {
        let killed = Drive::new().go(Some(point), "skip");
        assert_eq!(killed.ended, Some(Status::Completed), "killed after {point}");
        assert_eq!(killed.begun, whole.begun, "killed after {point}");
    }
}

#[test]
fn a_person_may_run_the_one_again_whose_end_nobody_saw() {
    let mut again = 0;
    for point in 1..60 {
        let killed = Drive::new().go(Some(point), "again");
        assert_eq!(killed.ended, Some(Status::Completed), "killed after {point}");
        let most = killed.begun.values().max().copied().unwrap_or(0);
        assert!(most <= 2 && killed.begun.values().sum::<u32>() <= 4, "killed after {point}: {:?}", killed.begun);
        again += u32::from(most == 2);
    }
    assert_eq!(again, 3, "once for each command");
}
