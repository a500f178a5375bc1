//! Any inputs, in any order, sensible or not: state is a fold of facts, and the engine never
//! contradicts itself.

use proptest::prelude::*;
use trimtab_engine::{Effect, Input, Interrupted, Output, Partial, Phase, Session, step};
use trimtab_vocab::event::{Fact, RequestFact};
use trimtab_vocab::{
    CallId, CheckpointId, Control, Fault, Message, Mode, ModelFacts, Prices, Problem, ProblemKind, Reply, Request,
    RequestId, Retry, RunSettings, StopReason, TimerId, Usage,
};

fn request_id(n: u8) -> RequestId {
    format!("r{n}").parse().expect("an id")
}

/// Inputs as hostile as a queue can make them: wrong calls, repeated requests, stray timers.
fn any_input() -> impl Strategy<Value = Input> {
    let id = (0_u8..4).prop_map(request_id);
    let call = (1_u64..6).prop_map(CallId::nth);
    let partial = prop_oneof![
        Just(None),
        "[a-z ]{0,9}".prop_map(|text| Some(Partial { message: Message::assistant(text), raw: None })),
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
        2 => (id.clone(), prop::option::of(0.0_f64..0.02), any::<bool>()).prop_map(|(id, budget_usd, attended)| {
            let prices = Some(Prices { input: 3.0, cached: 0.3, cache_write: 3.75, output: 15.0 });
            let facts = ModelFacts { prices, ..ModelFacts::default() };
            let settings = RunSettings { retries: 2, facts, budget_usd, attended, ..RunSettings::default() };
            Input::Said { request: Request { text: format!("words of {id}"), id, refs: vec![], images: vec![], mode: Mode::Auto, settings } }
        }),
        1 => prop::option::of(id.clone()).prop_map(|request| Input::Controlled { request, action: Control::Cancel }),
        3 => id.clone().prop_map(|request| Input::Admitted { request }),
        1 => (id, 0_u32..99).prop_map(|(request, ahead)| Input::Held { request, ahead }),
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
        2 => (0_u8..4, 1_u32..3, "raise|stop|dance", prop::option::of("0|1|9|x")).prop_map(|(id, n, choice, text)| {
            Input::Answered { checkpoint: CheckpointId::nth(&request_id(id), n), choice, text, by: "user".into() }
        }),
        1 => Just(Input::Opened { folder: "/project".into() }),
    ]
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
                        prop_assert_eq!(prompt.messages.last().map(|last| last.role), Some(trimtab_vocab::Role::User));
                    }
                    Output::Effect(_) | Output::Keep { .. } => {}
                }
            }
            let replayed = Session::replay(facts.iter().map(|(request, fact)| (request.as_ref(), fact)));
            prop_assert_eq!(&replayed, &session);
            let between = session.active().map(|active| active.phase.clone());
            prop_assert!(between != Some(Phase::Replied), "a reply was left unattended");
        }
    }
}
