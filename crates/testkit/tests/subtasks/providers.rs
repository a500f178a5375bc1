//! Workers and their providers: rate limits, outages, and models that go round in circles.

use super::play::*;

fn parts(count: u32) -> Value {
    plan(&(1..=count).map(|number| task(&format!("part{number}"), &[], &[])).collect::<Vec<_>>())
}

/// How many workers may run at the same time, as it was recorded.
fn resized(events: &[Event]) -> Vec<(u32, String)> {
    let of = |event: &Event| match &event.fact {
        Fact::Subtasks(SubtasksFact::Resized { parallel, reason }) => Some((*parallel, reason.clone())),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[tokio::test]
async fn a_rate_limit_shrinks_the_pool_and_calls_that_go_well_refill_it() {
    let models = Workers::new(parts(6), |name, number| match (name, number) {
        ("part1", 1) => vec![Said::Again(ProblemKind::RateLimited)],
        _ => vec![Said::Text("Nothing had to be done.")],
    });
    let gates = ["part2", "part3", "part4"].map(|name| models.gate(name));
    let mut play = Play::new(models, SubtaskStart::Ask, &[]);
    play.settings.subtasks.parallel = 4;
    let sent = play.say("Look at everything in this folder").await;
    play.answer(&sent, |ask| matches!(ask, Ask::Breakdown { .. }), "fine", None).await;
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_a", None).await;
    // Three of four still run when the first is done, and only two may: nothing starts in its place.
    let events = play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    assert_eq!(resized(&events), [(2, "rate_limit".to_owned())]);
    assert_eq!(statuses(&events, "5"), []);
    gates.iter().for_each(|gate| gate.notify_one());
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let sizes = resized(&events);
    assert!(sizes[1..].iter().all(|(_, reason)| reason == "recovered"), "{sizes:?}");
    assert_eq!(sizes.iter().map(|(size, _)| *size).collect::<Vec<_>>(), [2, 3, 4]);
    let started =
        |id: &str| events.iter().position(|event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == id));
    let recovered = events.iter().position(|event| event.fact.kind() == "subtasks.resized");
    assert!(started("5") > recovered && started("6") > recovered);
}

#[tokio::test]
async fn a_worker_waits_for_a_provider_that_comes_back() {
    let models = Workers::new(parts(3), |name, number| match (name, number) {
        ("part1", 1 | 2) => vec![Said::Again(ProblemKind::Network)],
        ("part1", 3) => vec![write("part.txt", "1\n")],
        _ => vec![Said::Text("Done.")],
    });
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create part.txt").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("part.txt").as_deref()), (Status::Completed, Some("1\n")));
    assert_eq!(statuses(&events, "1"), [SubtaskStatus::Running, SubtaskStatus::Completed]);
    assert_eq!(resized(&events), [], "an outage is no rate limit");
}

#[tokio::test]
async fn a_provider_that_stays_away_fails_one_sub_task_and_the_user_decides() {
    let models = Workers::new(parts(3), |name, number| match (name, number) {
        ("part1", 1..=4) => vec![Said::Again(ProblemKind::Network)],
        ("part1", 5) => vec![write("part.txt", "1\n")],
        _ => vec![Said::Text("Done.")],
    });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.models.retries = 1;
    let sent = play.say("Create part.txt").await;
    // Two attempts with two calls each.
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "retry", None).await;
    assert!(matches!(&asked.fact, Fact::Checkpoint(CheckpointFact::Opened { title, .. }) if title.contains("not now")));
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("part.txt").as_deref()), (Status::Completed, Some("1\n")));
    let others = play.models.log().iter().filter(|line| line.starts_with("part2 begins")).count();
    assert_eq!(others, 1, "the others are not repeated: {:?}", play.models.log());
}

fn looping() -> Workers {
    Workers::new(plan(&[task("loops", &[], &[]), task("works", &[], &[])]), |name, number| match (name, number) {
        ("loops", _) => vec![Said::Tool("read_file", json!({"path": "a.txt"}))],
        ("works", 1) => vec![write("b.txt", "b\n")],
        _ => vec![Said::Text("Done.")],
    })
}

#[tokio::test]
async fn a_worker_that_repeats_itself_is_put_to_the_user_and_can_be_stopped_alone() {
    let play = Play::new(looping(), SubtaskStart::Parallel, &[("a.txt", "a\n")]);
    let sent = play.say("Create b.txt").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::Repeat), "stop", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { worker: Some(worker), .. }) = &asked.fact else { panic!("whose?") };
    assert_eq!(worker.name, "loops");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("b.txt").as_deref()), (Status::Completed, Some("b\n")));
    assert_eq!(statuses(&events, "1").last(), Some(&SubtaskStatus::Stopped));
}

#[tokio::test]
async fn without_a_user_a_worker_that_repeats_itself_fails_and_the_work_of_others_is_kept() {
    let mut play = Play::new(looping(), SubtaskStart::Parallel, &[("a.txt", "a\n")]);
    play.settings.attended = false;
    let sent = play.say("Create b.txt").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::NeedsUser);
    let calls = play.models.log().iter().filter(|line| *line == "loops begins").count();
    assert!(calls < 30, "{calls} calls");
    assert_eq!(statuses(&events, "1").last(), Some(&SubtaskStatus::Failed));
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "skip", None).await;
    let is_end =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Completed, .. }));
    play.until(&sent.session, is_end).await;
    assert_eq!(play.file("b.txt").as_deref(), Some("b\n"));
}
