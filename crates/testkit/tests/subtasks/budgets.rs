//! What sub-tasks may cost: the reserve, the share of each worker, and when the user is asked.

use super::play::*;

fn set_aside(events: &[Event], id: &str) -> f64 {
    let of = |event: &Event| match &event.fact {
        Fact::Subtask(fact) if fact.subtask == id => fact.reserved_usd,
        _ => None,
    };
    events.iter().find_map(of).unwrap_or_else(|| panic!("nothing is set aside for {id}"))
}

fn cost(events: &[Event], id: &str) -> f64 {
    let of = |event: &Event| match &event.fact {
        Fact::Subtask(fact) if fact.subtask == id => fact.usage.cost_usd,
        _ => None,
    };
    events.iter().rev().find_map(of).expect("it cost something")
}

#[tokio::test]
async fn the_reserve_is_shown_and_what_a_worker_does_not_use_goes_to_the_next() {
    let models = Workers::new(plan(&[task("first", &[], &[]), task("second", &[], &[])]), |_, _| {
        vec![Said::Text("Nothing had to be done.")]
    });
    let mut play = Play::new(models, SubtaskStart::Ask, &[]);
    play.settings.models.budget_usd = Some(1.0);
    let sent = play.say("Look at everything in this folder").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_b", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::SubtaskPlan { reserve_usd, .. }, .. }) = &asked.fact else {
        panic!("no plan")
    };
    let reserve = reserve_usd.expect("there is a budget");
    assert!(reserve < 1.0 && reserve > 0.99, "the call for the plan is paid: {reserve}");
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let started = events.iter().find_map(|event| match &event.fact {
        Fact::Subtasks(SubtasksFact::Started { reserved_usd, .. }) => *reserved_usd,
        _ => None,
    });
    assert_eq!(started, Some(reserve));
    let (first, second) = (set_aside(&events, "1"), set_aside(&events, "2"));
    assert!((first - reserve / 2.0).abs() < 1e-9, "{first} of {reserve}");
    assert!((second - (reserve - cost(&events, "1"))).abs() < 1e-9, "{second}: all that is left");
}

/// Workers whose share is too small for a single call.
fn poor() -> Play {
    // Every byte of a prompt counts as a token where the budget is checked.
    let long: String = (0..3_400).map(|number| format!("item{number} ")).collect();
    let tasks: Vec<Value> = (1..=4).map(|number| task(&format!("part{number}: {long}"), &[], &[])).collect();
    let models = Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]);
    let mut play = Play::new(models, SubtaskStart::Sequential, &[]);
    play.settings.models.budget_usd = Some(0.036);
    play
}

#[tokio::test]
async fn a_worker_that_would_pass_its_share_asks_and_continues_with_what_it_is_given() {
    let play = poor();
    let sent = play.say("Look at everything in this folder").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::Budget { .. }), "raise", Some("0.5")).await;
    let Fact::Checkpoint(CheckpointFact::Opened { worker: Some(worker), ask: Ask::Budget { budget_usd, .. }, .. }) =
        &asked.fact
    else {
        panic!("not of a worker: {asked:?}")
    };
    assert!(*budget_usd < 0.02, "its share, and not the whole: {budget_usd}");
    let worker = worker.session.clone();
    let events = play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    let (running, asks) = (SubtaskStatus::Running, SubtaskStatus::NeedsUser);
    assert_eq!(statuses(&events, "1"), [running, asks, running, SubtaskStatus::Completed]);
    let is_raise = |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Resolved { text: Some(text), .. }) if text == "0.5");
    play.until(&worker, is_raise).await;
    play.client.requests().control(&sent.session, None, Control::Cancel).await.expect("wanted");
    play.end(&sent).await;
}

#[tokio::test]
async fn an_amount_that_is_none_is_refused_and_the_question_stays() {
    let play = poor();
    let sent = play.say("Look at everything in this folder").await;
    let is_budget = |ask: &Ask| matches!(ask, Ask::Budget { .. });
    play.answer(&sent, is_budget, "raise", Some("plenty")).await;
    play.answer(&sent, is_budget, "raise", Some("0.5")).await;
    play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    play.client.requests().control(&sent.session, None, Control::Cancel).await.expect("wanted");
    play.end(&sent).await;
}

#[tokio::test]
async fn without_a_user_a_worker_at_its_share_waits_and_is_not_paid_for_twice() {
    let mut play = poor();
    play.settings.attended = false;
    let sent = play.say("Look at everything in this folder").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::NeedsUser);
    assert_eq!(statuses(&events, "1"), [SubtaskStatus::Running, SubtaskStatus::NeedsUser]);
    let open = play.client.requests().checkpoints().await.expect("the list");
    assert!(matches!(&open[0].fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::Budget { .. }, .. })));
}

fn delegating() -> Workers {
    Workers::new(Value::Null, |name, number| match (name, number) {
        ("main", 1) => {
            let tasks = [json!({"instruction": "TASK one: write it"}), json!({"instruction": "TASK two: write it"})];
            vec![Said::Tool("delegate", json!({"tasks": tasks}))]
        }
        _ => vec![Said::Text("Written.")],
    })
}

fn plan_questions(events: &[Event]) -> usize {
    let is_plan = |event: &&Event| {
        matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::SubtaskPlan { .. }, .. }))
    };
    events.iter().filter(is_plan).count()
}

#[tokio::test]
async fn workers_start_without_a_question_only_within_the_amount_that_is_set() {
    for (offer, approve) in [(SubtaskOffer::Auto, Approve::Ask), (SubtaskOffer::Ask, Approve::Auto)] {
        let mut play = Play::new(delegating(), SubtaskStart::Ask, &[]);
        (play.settings.subtasks.start, play.settings.subtasks.offer, play.settings.approve) = (None, offer, approve);
        let sent = play.say("Look at everything in parallel").await;
        let (_, events) = play.end(&sent).await;
        assert_eq!(plan_questions(&events), 0, "{offer:?}");
        let mut play = Play::new(delegating(), SubtaskStart::Ask, &[]);
        (play.settings.subtasks.start, play.settings.subtasks.offer, play.settings.approve) = (None, offer, approve);
        play.settings.subtasks.auto_usd = 0.001;
        let sent = play.say("Look at everything in parallel").await;
        play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "decline", None).await;
        let (_, events) = play.end(&sent).await;
        assert!(!events.iter().any(|event| event.fact.kind() == "subtask"), "nothing was started");
    }
}
