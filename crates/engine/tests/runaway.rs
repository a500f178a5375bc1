//! What follows when a model repeated itself without end: another try with other words to choose from, and no third.

use trimtab_engine::{Effect, Input, Output, Partial, Session, step};
use trimtab_vocab::event::{RequestFact, Status};
use trimtab_vocab::{
    CallId, Fact, Fault, Message, ModelSettings, Problem, ProblemKind, Prompt, Request, RequestId, Retry, RunSettings,
    Usage,
};

struct Play {
    session: Session,
    log: Vec<(Option<RequestId>, Fact)>,
    called: Vec<(CallId, Prompt)>,
}

impl Play {
    fn feed(&mut self, input: Input) {
        let mut waits = Vec::new();
        for output in step(&mut self.session, input) {
            match output {
                Output::Event { request, fact } => self.log.push((request, fact)),
                Output::Effect(Effect::CallModel { call, prompt, .. }) => self.called.push((call, *prompt)),
                Output::Effect(Effect::Wait { timer, millis, .. }) => waits.push((timer, millis)),
                _ => {}
            }
        }
        for (timer, millis) in waits {
            assert_eq!(millis, 0, "there is nothing to wait for");
            self.feed(Input::TimerFired { timer });
        }
    }

    fn begin(temperature: Option<f64>) -> Self {
        let id: RequestId = "r1".parse().expect("an id");
        let models = ModelSettings { model: "a/b".into(), temperature, ..ModelSettings::default() };
        let settings = RunSettings { models, ..RunSettings::default() };
        let mut play = Self { session: Session::default(), log: Vec::new(), called: Vec::new() };
        play.feed(Input::Said { request: Box::new(Request::new(id.clone(), "hello", settings)) });
        play.feed(Input::Admitted { request: id });
        play
    }

    fn run_away(&mut self) {
        let (call, _) = self.called.last().cloned().expect("a call");
        let problem = Problem::new(ProblemKind::Repetition, "It repeats itself.");
        let fault = Fault { problem, retry: Retry::Later { after_ms: None } };
        let partial =
            Some(Partial { message: Message::assistant("and so on, and so on"), raw: None, usage: Usage::default() });
        self.feed(Input::CallFailed { call, fault, partial });
    }

    /// The same session after a kill: nothing but its log is left.
    fn again(self) -> Self {
        let session = Session::replay(self.log.iter().map(|(request, fact)| (request.as_ref(), fact)));
        Self { session, ..self }
    }

    fn ended(&self) -> Option<Status> {
        self.log.iter().find_map(|(_, fact)| match fact {
            Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
            _ => None,
        })
    }
}

#[test]
fn the_second_try_has_another_temperature_and_a_penalty_and_is_the_last() {
    for (before, after) in [(None, 1.0), (Some(0.0), 1.0), (Some(1.0), 0.6)] {
        let mut play = Play::begin(before);
        let sampling = |play: &Play| play.called.last().map(|(_, prompt)| (prompt.temperature, prompt.repeat_penalty));
        assert_eq!(sampling(&play), Some((before, None)));
        play.run_away();
        assert_eq!(sampling(&play), Some((Some(after), Some(1.2))));
        assert_eq!(play.ended(), None);
        play.run_away();
        assert_eq!((play.called.len(), play.ended()), (2, Some(Status::Failed)));
    }
}

#[test]
fn a_kill_does_not_make_another_try() {
    let mut play = Play::begin(None);
    play.run_away();
    let mut play = play.again();
    play.run_away();
    assert_eq!((play.called.len(), play.ended()), (2, Some(Status::Failed)));
}
