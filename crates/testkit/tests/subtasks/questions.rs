//! What workers ask, and what the user does to them.

use super::play::*;

#[tokio::test]
async fn a_question_of_a_worker_is_answered_where_the_request_runs_and_the_others_go_on() {
    let models = Workers::new(
        plan(&[task("asks", &[], &[]), task("works", &[], &[]), task("more", &[], &[])]),
        |name, number| match (name, number) {
            ("asks", 1) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            ("asks", 2) => vec![write("color.txt", "blue\n")],
            ("works", 1) => vec![write("works.txt", "x\n")],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create color.txt and works.txt").await;
    let is_done = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "2" && fact.status == SubtaskStatus::Completed);
    play.until(&sent.session, is_done).await;
    let asks = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "1" && fact.status == SubtaskStatus::NeedsUser);
    play.until(&sent.session, asks).await;
    let open = play.client.requests().checkpoints().await.expect("the list");
    assert_eq!(open.len(), 1, "it is asked once");
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, choices, worker, .. }) = &open[0].fact else {
        panic!("no")
    };
    let worker = worker.as_deref().expect("of a worker");
    assert_eq!((title.as_str(), worker.subtask.as_str(), worker.name.as_str()), ("Which color?", "1", "asks"));
    let blue = choices.iter().find(|choice| choice.label == "blue").expect("offered").id.clone();
    let answer = Answered { checkpoint: checkpoint.clone(), choice: blue, text: None, by: "user".into() };
    play.client.requests().answer(&open[0].session, answer).await.expect("passed on");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("color.txt").as_deref()), (Status::Completed, Some("blue\n")));
    let (running, asks) = (SubtaskStatus::Running, SubtaskStatus::NeedsUser);
    assert_eq!(statuses(&events, "1"), [running, asks, running, SubtaskStatus::Completed]);
}

#[tokio::test]
async fn without_a_user_a_question_waits_and_the_answer_continues_the_worker() {
    let models =
        Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, number| match (name, number) {
            ("asks", 1) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            // The second call is that of another request.
            ("asks", 3) => vec![write("color.txt", "blue\n")],
            _ => vec![Said::Text("Done.")],
        });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.attended = false;
    let sent = play.say("Create color.txt").await;
    assert_eq!(play.end(&sent).await.0, Status::NeedsUser);
    let open = play.client.requests().checkpoints().await.expect("the list");
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, .. }) = &open[0].fact else { panic!("no") };
    let blue = choices.iter().find(|choice| choice.label == "blue").expect("offered").id.clone();
    assert_eq!(play.copies(), 3, "a worker that waits keeps its copy, with its mark and its list of files");
    let worker = play.world.store.sessions(None).await.expect("all").into_iter().find(|row| row.id.is_worker());
    assert!(worker.is_some(), "there is one");
    // Others that start meanwhile sweep up after those that have ended, and not after this one.
    let other = play.say("Look at everything in this folder").await;
    assert_eq!(play.end(&other).await.0, Status::Completed);
    let answer = Answered { checkpoint: checkpoint.clone(), choice: blue, text: None, by: "user".into() };
    play.client.requests().answer(&sent.session, answer).await.expect("passed on");
    let is_end =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Completed, .. }));
    play.until(&sent.session, is_end).await;
    assert_eq!(play.file("color.txt").as_deref(), Some("blue\n"));
}

#[tokio::test]
async fn a_worker_that_waits_for_the_user_is_stopped_with_the_request_and_deleted_with_the_session() {
    let models = Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, _| match name {
        "asks" => vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))],
        _ => vec![Said::Text("Done.")],
    });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.attended = false;
    let sent = play.say("Create color.txt").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::NeedsUser);
    let cancel = play.client.requests().control(&sent.session, Some(sent.request.clone()), Control::Cancel);
    cancel.await.expect("wanted");
    let worker = events.iter().find_map(|event| match &event.fact {
        Fact::Subtask(fact) if fact.subtask == "1" => fact.worker.clone(),
        _ => None,
    });
    let worker = worker.expect("a worker");
    let is_cancelled =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Cancelled, .. }));
    play.until(&worker, is_cancelled).await;
    play.until(&sent.session, is_cancelled).await;
    assert!(play.client.requests().checkpoints().await.expect("the list").is_empty());
    let deleted = async {
        while play.client.sessions().delete(&sent.session).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), deleted).await.expect("deleted");
    assert!(play.world.store.session(&worker).await.expect("a look").is_none());
}

#[tokio::test]
async fn a_stop_ends_all_workers_and_changes_nothing() {
    let models = auth();
    let _gates = ["user", "token", "hash"].map(|name| models.gate(name));
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create authentication in new files").await;
    let is_running = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "2" && fact.status == SubtaskStatus::Running);
    play.until(&sent.session, is_running).await;
    play.client.requests().control(&sent.session, None, Control::Cancel).await.expect("wanted");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("user.rs")), (Status::Cancelled, None));
    let workers: Vec<SessionId> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Subtask(fact) => fact.worker.clone(),
            _ => None,
        })
        .collect();
    for worker in workers {
        // One whose copy was still being made never got its request.
        let is_end = |event: &Event| matches!(event.fact.kind().as_str(), "request.finished" | "session.dismissed");
        play.until(&worker, is_end).await;
    }
}

#[tokio::test]
async fn one_worker_is_skipped_while_the_others_work() {
    let models = auth();
    let _gate = models.gate("hash");
    let play = Play::new(models, SubtaskStart::Loose, &[]);
    let sent = play.say("Create authentication in new files").await;
    let is_running = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "3" && fact.status == SubtaskStatus::Running);
    play.until(&sent.session, is_running).await;
    let action = Control::Subtask { subtask: "3".into(), action: SubtaskControl::Skip };
    play.client.requests().control(&sent.session, None, action).await.expect("wanted");
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("hash.rs"), play.file("user.rs").is_some()), (Status::Completed, None, true));
    assert_eq!(statuses(&events, "3").last(), Some(&SubtaskStatus::Skipped));
}

#[tokio::test]
async fn a_question_is_answered_from_another_process() {
    let models =
        Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, number| match (name, number) {
            ("asks", 1) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            ("asks", 2) => vec![write("color.txt", "blue\n")],
            _ => vec![Said::Text("Done.")],
        });
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create color.txt").await;
    play.until_status(&sent, "1", SubtaskStatus::NeedsUser).await;
    // Its own store on the same data folder: it owns neither the session nor the worker.
    let (other, _world) = open(play.home.path(), &play.models, 10);
    let asked = other.requests().checkpoints().await.expect("the list");
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, .. }) = &asked[0].fact else { panic!("no") };
    let blue = choices.iter().find(|choice| choice.label == "blue").expect("offered").id.clone();
    let answer = Answered { checkpoint: checkpoint.clone(), choice: blue, text: None, by: "user".into() };
    other.requests().answer(&sent.session, answer).await.expect("passed on");
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    assert_eq!(play.file("color.txt").as_deref(), Some("blue\n"));
}

#[tokio::test]
async fn an_answer_to_a_waiting_worker_survives_a_kill_before_the_request_continues() {
    let models =
        Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, number| match (name, number) {
            ("asks", 1) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            ("asks", 2) => vec![write("color.txt", "blue\n")],
            _ => vec![Said::Text("Done.")],
        });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.attended = false;
    let sent = play.say("Create color.txt").await;
    assert_eq!(play.end(&sent).await.0, Status::NeedsUser);
    let gate = play.models.gate("asks");
    let open_questions = play.client.requests().checkpoints().await.expect("the list");
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, .. }) = &open_questions[0].fact else {
        panic!("no")
    };
    let blue = choices.iter().find(|choice| choice.label == "blue").expect("offered").id.clone();
    let answer = Answered { checkpoint: checkpoint.clone(), choice: blue, text: None, by: "user".into() };
    play.client.requests().answer(&sent.session, answer).await.expect("passed on");
    play.until(&sent.session, |event| event.fact.kind() == "request.reopened").await;
    // The process ends while the worker's next call is under way.
    let Play { home, models, client, world, settings } = play;
    drop((client, world));
    gate.notify_one();
    let (client, world) = open(home.path(), &models, 10);
    let play = Play { home, models, client, world, settings };
    play.client.resume(&sent.session);
    let is_end =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Completed, .. }));
    play.until(&sent.session, is_end).await;
    assert_eq!(play.file("color.txt").as_deref(), Some("blue\n"));
}

#[tokio::test]
async fn a_sub_task_of_a_request_that_waits_for_the_user_is_skipped_by_control() {
    let models =
        Workers::new(plan(&[task("asks", &[], &[]), task("works", &[], &[])]), |name, number| match (name, number) {
            ("asks", _) => {
                vec![Said::Tool("ask_user", json!({"question": "Which color?", "options": ["red", "blue"]}))]
            }
            ("works", 1) => vec![write("works.txt", "x\n")],
            _ => vec![Said::Text("Done.")],
        });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.attended = false;
    let sent = play.say("Create works.txt").await;
    assert_eq!(play.end(&sent).await.0, Status::NeedsUser);
    let action = Control::Subtask { subtask: "1".into(), action: SubtaskControl::Skip };
    play.client.requests().control(&sent.session, None, action).await.expect("wanted");
    let is_end =
        |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { status: Status::Completed, .. }));
    play.until(&sent.session, is_end).await;
    assert_eq!(play.file("works.txt").as_deref(), Some("x\n"));
    play.until_no_copies().await;
}

#[tokio::test]
async fn what_the_user_says_about_approvals_later_holds_for_workers_that_run() {
    let models =
        Workers::new(plan(&[task("one", &[], &[]), task("two", &[], &[])]), |name, number| match (name, number) {
            ("one", 1) => vec![Said::Tool("run_command", json!({"command": "frob --all"}))],
            _ => vec![Said::Text("Done.")],
        });
    let gate = models.gate("one");
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.approve = Approve::Auto;
    let sent = play.say("Look at everything in this folder").await;
    let has_begun =
        |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "1" && fact.copy.is_some());
    let events = play.until(&sent.session, has_begun).await;
    let Some(Fact::Subtask(SubtaskFact { worker: Some(worker), .. })) = events.last().map(|event| &event.fact) else {
        panic!("no worker")
    };
    let action = Control::Adjust { approve: Some(Approve::Deny), attended: None, max_steps: None, trusted: None };
    play.client.requests().control(&sent.session, Some(sent.request.clone()), action).await.expect("wanted");
    play.until(worker, |event| event.fact.kind() == "request.adjusted").await;
    gate.notify_one();
    let is_end = |event: &Event| matches!(event.fact, Fact::Request(RequestFact::Finished { .. }));
    let of_worker = play.until(worker, is_end).await;
    assert!(!of_worker.iter().any(|event| event.fact.kind() == "command.started"), "{of_worker:?}");
}

#[tokio::test]
async fn words_to_the_request_reach_the_workers_that_run_and_those_that_come_later() {
    let models = Workers::new(plan(&[task("first", &[], &[]), task("second", &[], &[1])]), |name, number| {
        match (name, number) {
            ("first", 1) => vec![write("first.txt", "first\n")],
            _ => vec![Said::Text("Done.")],
        }
    });
    let gate = models.gate("first");
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create first.txt and more").await;
    let has_copy =
        |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "1" && fact.copy.is_some());
    play.until(&sent.session, has_copy).await;
    let steer = Control::Steer { text: "In British English".into() };
    play.client.requests().control(&sent.session, Some(sent.request.clone()), steer).await.expect("sent");
    play.until(&sent.session, |event| event.fact.kind() == "request.steered").await;
    gate.notify_one();
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let heard = |name: &str| {
        let all: Vec<Prompt> = play.models.prompts_of(name);
        let texts =
            |prompt: &Prompt| prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
        all.iter().filter(|prompt| texts(prompt).contains("In British English")).count()
    };
    assert!(heard("first") >= 1, "the worker that ran");
    assert!(heard("second") >= 1, "the worker that came later");
}

#[tokio::test]
async fn one_worker_is_paused_after_its_step_and_continues_while_the_others_work() {
    let models =
        Workers::new(plan(&[task("one", &[], &[]), task("two", &[], &[])]), |name, number| match (name, number) {
            ("one", 1) => vec![write("one.txt", "1\n")],
            ("two", 1) => vec![write("two.txt", "2\n")],
            _ => vec![Said::Text("Written.")],
        });
    let gate = models.gate("one");
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create one.txt and two.txt").await;
    let has_begun =
        |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.subtask == "1" && fact.copy.is_some());
    let events = play.until(&sent.session, has_begun).await;
    let worker = events.iter().rev().find_map(|event| match &event.fact {
        Fact::Subtask(fact) if fact.subtask == "1" => fact.worker.clone(),
        _ => None,
    });
    let worker = worker.expect("a worker");
    while !play.models.log().contains(&"one begins".to_owned()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let control = |action| Control::Subtask { subtask: "1".into(), action };
    play.client.requests().control(&sent.session, None, control(SubtaskControl::Pause)).await.expect("wanted");
    play.until(&worker, |event| event.fact.kind() == "request.pausing").await;
    gate.notify_one();
    play.until_status(&sent, "2", SubtaskStatus::Completed).await;
    play.until_status(&sent, "1", SubtaskStatus::NeedsUser).await;
    assert_eq!(play.models.prompts_of("one").len(), 1, "the step that was under way was finished, and no other begun");
    play.client.requests().control(&sent.session, None, control(SubtaskControl::Resume)).await.expect("wanted");
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    assert_eq!((play.file("one.txt").as_deref(), play.file("two.txt").as_deref()), (Some("1\n"), Some("2\n")));
}
