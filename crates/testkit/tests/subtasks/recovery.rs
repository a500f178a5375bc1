//! Failures, retries, and kills.

use trimtab_vocab::{TaskKind, WorkerModel};

use super::play::*;

#[tokio::test]
async fn a_failed_task_is_tried_again_then_asked_about_and_the_others_are_kept() {
    let models = Workers::new(
        plan(&[task("good", &[], &[]), task("bad", &[], &[]), task("after", &[], &[2])]),
        |name, number| match (name, number) {
            ("bad", 1 | 2) => vec![Said::Fail],
            ("bad", 3) => vec![write("bad.txt", "at last\n")],
            ("good", 1) => vec![write("good.txt", "good\n")],
            ("after", 1) => vec![write("after.txt", "after\n")],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create good.txt, bad.txt and after.txt").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "retry", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::SubtaskFailed { dependents, reason, .. }, .. }) =
        &asked.fact
    else {
        panic!("no")
    };
    assert_eq!((dependents.as_slice(), reason.as_str()), (["3. after".to_owned()].as_slice(), "no more of this"));
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    assert_eq!(play.file("bad.txt").as_deref(), Some("at last\n"));
    assert_eq!(play.file("after.txt").as_deref(), Some("after\n"));
    let good = play.models.log().iter().filter(|line| *line == "good begins").count();
    assert_eq!(good, 2, "what was done is not done again: {:?}", play.models.log());
    let (running, failed) = (SubtaskStatus::Running, SubtaskStatus::Failed);
    let pending = SubtaskStatus::Pending;
    let all = [running, failed, pending, running, failed, pending, running, SubtaskStatus::Completed];
    assert_eq!(statuses(&events, "2"), all);
    let retried = play.models.prompts.lock().expect("free");
    let again: Vec<&Prompt> = retried.iter().filter(|(name, _)| name == "bad").map(|(_, prompt)| prompt).collect();
    let words = again[1].messages.iter().map(|message| message.text()).collect::<String>();
    assert!(words.contains("The last attempt failed: no more of this"), "{words}");
}

#[tokio::test]
async fn a_skipped_task_takes_those_that_depend_on_it_with_it() {
    let models = Workers::new(
        plan(&[task("good", &[], &[]), task("bad", &[], &[]), task("after", &[], &[2])]),
        |name, number| match (name, number) {
            ("bad", _) => vec![Said::Fail],
            ("good", 1) => vec![write("good.txt", "good\n")],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create good.txt, bad.txt and after.txt").await;
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "skip", None).await;
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("good.txt").as_deref()), (Status::Completed, Some("good\n")));
    assert_eq!(statuses(&events, "3"), [SubtaskStatus::Skipped]);
}

#[tokio::test]
async fn a_killed_run_goes_on_and_what_was_done_is_not_done_again() {
    let models = auth();
    let gates = ["token", "hash"].map(|name| models.gate(name));
    let mut play = Play::new(models, SubtaskStart::Parallel, &[("main.rs", "fn main() {}\n")]);
    play.settings.subtasks.models.clear();
    let sent = play.say("Create authentication for main.rs").await;
    let is_done = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.status == SubtaskStatus::Completed);
    play.until(&sent.session, is_done).await;
    // The process ends while the others are at work.
    let Play { home, models, client, world, settings } = play;
    drop((client, world));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (client, world) = open(home.path(), &models, 10);
    let play = Play { home, models, client, world, settings };
    gates.iter().for_each(|gate| gate.notify_one());
    play.client.resume(&sent.session);
    let (status, _) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let user = play.models.log().iter().filter(|line| *line == "user begins").count();
    assert_eq!(user, 2, "{:?}", play.models.log());
    for file in ["user.rs", "token.rs", "hash.rs", "middleware.rs"] {
        assert!(play.file(file).is_some(), "{file}");
    }
    play.until_no_copies().await;
}

#[tokio::test]
async fn a_failed_task_is_tried_with_another_model_or_another_instruction() {
    for (choice, text) in [("retry_model", "m/small"), ("edit", "TASK bad: do less")] {
        let models =
            Workers::new(plan(&[task("good", &[], &[]), task("bad", &[], &[])]), |name, number| match (name, number) {
                ("bad", 1 | 2) => vec![Said::Fail],
                ("bad", 3) => vec![write("bad.txt", "at last\n")],
                _ => vec![Said::Text("Done.")],
            });
        let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
        let small = WorkerModel { model: "m/small".into(), facts: play.settings.models.facts };
        play.settings.subtasks.models.insert(TaskKind::Simple, small);
        let sent = play.say("Create good.txt and bad.txt").await;
        play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), choice, Some(text)).await;
        let (status, _) = play.end(&sent).await;
        assert_eq!((status, play.file("bad.txt").as_deref()), (Status::Completed, Some("at last\n")), "{choice}");
        let prompts = play.models.prompts_of("bad");
        let third = &prompts[2];
        let words = third.messages.iter().map(|message| message.text()).collect::<String>();
        match choice {
            "edit" => assert!(words.contains(text) && prompts[1].model == third.model, "{words}"),
            _ => assert_eq!((prompts[1].model.as_str(), third.model.as_str()), ("m/large", text)),
        }
    }
}
