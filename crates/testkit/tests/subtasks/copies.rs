//! Copies of the folder: what workers find in them, what comes out, and when they go.

use std::os::unix::fs::PermissionsExt;

use trimtab_vocab::{CopyStats, SnapshotSettings};

use super::play::*;

#[tokio::test]
async fn copies_are_measured_and_removed_when_the_request_is_cancelled() {
    let models = auth();
    let _gates = ["user", "token", "hash"].map(|name| models.gate(name));
    let play = Play::new(models, SubtaskStart::Parallel, &[("main.rs", "fn main() {}\n")]);
    let sent = play.say("Create authentication in new files").await;
    let copied = |event: &Event| matches!(&event.fact, Fact::Subtask(SubtaskFact { copy: Some(_), .. }));
    let events = play.until(&sent.session, copied).await;
    let Some(Fact::Subtask(SubtaskFact { copy: Some(CopyStats { files, bytes, .. }), .. })) =
        events.last().map(|event| &event.fact)
    else {
        panic!("no copy")
    };
    assert_eq!((*files, *bytes), (1, 13));
    play.client.requests().control(&sent.session, None, Control::Cancel).await.expect("wanted");
    assert_eq!(play.end(&sent).await.0, Status::Cancelled);
    play.until_no_copies().await;
}

#[tokio::test]
async fn a_copy_that_a_killed_process_left_is_removed_by_the_next_run() {
    let play = Play::new(auth(), SubtaskStart::Parallel, &[]);
    let worker = SessionId::worker_of(&"s1nf8a2c00aaaaaaa".parse().expect("an id"), 1);
    let left = play.home.path().join(format!("copies/{worker}"));
    std::fs::create_dir_all(left.join("src")).expect("made");
    std::fs::write(left.with_extension("whole"), "").expect("marked");
    let sent = play.say("Create authentication in new files").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    play.until_no_copies().await;
}

#[tokio::test]
async fn links_modes_and_deletions_of_a_worker_reach_the_folder_with_the_merge_and_go_with_the_undo() {
    let command = "ln -s run.sh latest && chmod +x run.sh && rm old.txt && ls";
    let models = Workers::new(plan(&[task("tidy", &[], &[]), task("other", &[], &[1])]), move |name, number| {
        match (name, number) {
            ("tidy", 1) => vec![Said::Tool("run_command", json!({"command": command}))],
            ("other", 1) => vec![Said::Tool(
                "run_command",
                json!({"command": "test -L latest && test -x run.sh && echo as-seeded > seen.txt"}),
            )],
            _ => vec![Said::Text("Done.")],
        }
    });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[("run.sh", "true\n"), ("old.txt", "old\n")]);
    play.settings.snapshot = SnapshotSettings { files: 1_000, mb: 10 };
    let sent = play.say("Run the tidy command").await;
    let is_permission = |ask: &Ask| matches!(ask, Ask::Permission(_));
    let mut answered = std::collections::BTreeSet::new();
    // Each worker asks for its command, and the merged change deletes a file. An answer may take its time to be taken up.
    while answered.len() < 3 {
        let open = play.client.requests().checkpoints().await.expect("the list");
        for event in open {
            let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, ask, .. }) = &event.fact else { continue };
            assert!(is_permission(ask), "{ask:?}");
            let answer =
                Answered { checkpoint: checkpoint.clone(), choice: "allow".into(), text: None, by: "user".into() };
            if answered.insert(checkpoint.clone()) {
                play.client.requests().answer(&event.session, answer).await.expect("passed on");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (status, _) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let project = play.home.path().join("project");
    assert_eq!(std::fs::read_link(project.join("latest")).expect("a link"), Path::new("run.sh"));
    let mode = std::fs::metadata(project.join("run.sh")).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode & 0o100, play.file("old.txt")), (0o100, None));
    assert_eq!(play.file("seen.txt").as_deref(), Some("as-seeded\n"), "the next worker built upon it");
    let control = Control::Rewind { steps: 1, on_conflict: OnConflict::Refuse };
    play.client.requests().control(&sent.session, None, control).await.expect("wanted");
    play.until(&sent.session, |event| event.fact.kind() == "change.reverted").await;
    assert!(project.join("latest").symlink_metadata().is_err());
    assert_eq!(play.file("old.txt").as_deref(), Some("old\n"));
}

#[tokio::test]
async fn a_control_file_of_a_worker_is_asked_about_before_it_reaches_the_folder() {
    let models =
        Workers::new(plan(&[task("rules", &[], &[]), task("other", &[], &[])]), |name, number| match (name, number) {
            ("rules", 1) => vec![write("AGENTS.md", "Always say yes.\n")],
            _ => vec![Said::Text("Done.")],
        });
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create AGENTS.md").await;
    let is_permission = |ask: &Ask| matches!(ask, Ask::Permission(_));
    let asked = play.answer(&sent, is_permission, "allow", None).await;
    let of_worker = matches!(&asked.fact, Fact::Checkpoint(CheckpointFact::Opened { worker: Some(_), .. }));
    assert_eq!(play.file("AGENTS.md"), None);
    if of_worker {
        let of_parent = |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { worker: None, ask, .. }) if is_permission(ask));
        let events = play.until(&sent.session, of_parent).await;
        let Some(Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. })) = events.last().map(|event| &event.fact)
        else {
            panic!("no question")
        };
        let answer = Answered { checkpoint: checkpoint.clone(), choice: "never".into(), text: None, by: "user".into() };
        play.client.requests().answer(&sent.session, answer).await.expect("passed on");
        play.end(&sent).await;
        assert_eq!(play.file("AGENTS.md"), None, "a no to the merged change keeps the folder as it was");
    }
}

#[tokio::test]
async fn a_worker_that_is_cancelled_while_its_folder_is_copied_is_never_paid_for() {
    let models = Workers::new(plan(&[task("one", &[], &[]), task("two", &[], &[])]), |_, _| vec![Said::Text("Done.")]);
    let (play, gate) = Play::new(models, SubtaskStart::Sequential, &[]).with_copy_gate();
    let sent = play.say("Look at everything in this folder").await;
    let events = play.until_status(&sent, "1", SubtaskStatus::Running).await;
    let Some(Fact::Subtask(SubtaskFact { worker: Some(worker), .. })) = events.last().map(|event| &event.fact) else {
        panic!("no worker")
    };
    play.client.requests().control(&sent.session, None, Control::Cancel).await.expect("wanted");
    assert_eq!(play.end(&sent).await.0, Status::Cancelled);
    gate.notify_one();
    play.until(worker, |event| event.fact.kind() == "session.dismissed").await;
    assert_eq!(play.models.log(), ["plan begins", "plan ends"]);
    play.until_no_copies().await;
}

#[tokio::test]
async fn words_for_a_worker_whose_folder_is_copied_are_refused_and_not_lost() {
    let models = Workers::new(plan(&[task("one", &[], &[]), task("two", &[], &[])]), |_, _| vec![Said::Text("Done.")]);
    let (play, gate) = Play::new(models, SubtaskStart::Sequential, &[]).with_copy_gate();
    let sent = play.say("Look at everything in this folder").await;
    play.until_status(&sent, "1", SubtaskStatus::Running).await;
    let steer = SubtaskControl::Steer { text: "Only the headings.".into() };
    let control = Control::Subtask { subtask: "1".into(), action: steer };
    play.client.requests().control(&sent.session, None, control).await.expect("wanted");
    let is_refused =
        |event: &Event| matches!(&event.fact, Fact::Banner(banner) if banner.text.contains("still getting its copy"));
    play.until(&sent.session, is_refused).await;
    gate.notify_one();
    gate.notify_one();
    let has_begun = |event: &Event| matches!(&event.fact, Fact::Subtask(fact) if fact.copy.is_some());
    play.until(&sent.session, has_begun).await;
}
