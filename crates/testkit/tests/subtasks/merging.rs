//! The changes of workers, merged into one.

use trimtab_vocab::ChangePart;
use trimtab_vocab::event::ChangeFact;

use super::play::*;

/// Two tasks that rewrite the same line.
fn clashing() -> Workers {
    Workers::new(plan(&[task("loud", &[], &[]), task("polite", &[], &[]), task("third", &[], &[])]), |name, number| {
        match (name, number) {
            ("merge", _) => vec![Said::Text("```\nprint('Hello, sir!')\nprint('bye')\n```")],
            ("loud", 1) => vec![write("a.py", "print('HELLO')\nprint('bye')\n")],
            ("polite", 1) => vec![write("a.py", "print('hello, sir')\nprint('bye')\n")],
            ("third", 1) => vec![write("b.py", "pass\n")],
            _ => vec![Said::Text("Done.")],
        }
    })
}

async fn settled(choice: &str, text: Option<&str>) -> (Status, Option<String>, Vec<Event>) {
    let play = Play::new(clashing(), SubtaskStart::Loose, &[("a.py", "print('hello')\nprint('bye')\n")]);
    let sent = play.say("Change the greeting in a.py").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::MergeConflict { .. }), choice, text).await;
    let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::MergeConflict { conflict, .. }, .. }) = &asked.fact else {
        panic!("no conflict")
    };
    assert_eq!(conflict.base, "print('hello')\nprint('bye')\n");
    assert_eq!(conflict.ours, "print('HELLO')\nprint('bye')\n");
    assert_eq!(conflict.theirs, "print('hello, sir')\nprint('bye')\n");
    assert_eq!((conflict.subtask.as_str(), conflict.against.as_slice()), ("2", ["1".to_owned()].as_slice()));
    if choice == "merge" {
        play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
    }
    let (status, events) = play.end(&sent).await;
    (status, play.file("a.py"), events)
}

#[tokio::test]
async fn a_conflict_is_shown_with_both_sides_and_settled_each_way() {
    for (choice, text, becomes) in [
        ("keep_a", None, "print('HELLO')\nprint('bye')\n"),
        ("keep_b", None, "print('hello, sir')\nprint('bye')\n"),
        ("edit", Some("print('hi')\n"), "print('hi')\n"),
        ("merge", None, "print('Hello, sir!')\nprint('bye')\n"),
    ] {
        let (status, file, _) = settled(choice, text).await;
        assert_eq!((status, file.as_deref()), (Status::Completed, Some(becomes)), "{choice}");
    }
}

#[tokio::test]
async fn the_merged_change_is_asked_about_where_changes_are() {
    let mut play = Play::new(auth(), SubtaskStart::Sequential, &[]);
    play.settings.files.apply = Applying::Ask;
    let sent = play.say("Create authentication in new files").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "never", None).await;
    assert!(matches!(&asked.fact, Fact::Checkpoint(CheckpointFact::Opened { worker: None, .. })));
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("user.rs")), (Status::NotDone, None));
}

#[tokio::test]
async fn a_file_that_the_user_changed_meanwhile_is_a_conflict_and_never_overwritten() {
    for (choice, becomes) in [("keep_a", Some("mine\n")), ("keep_b", Some("theirs\n"))] {
        let models = Workers::new(plan(&[task("edits", &[], &[]), task("other", &[], &[])]), |name, number| {
            match (name, number) {
                ("edits", 1) => vec![write("a.txt", "theirs\n")],
                _ => vec![Said::Text("Done.")],
            }
        });
        let gate = models.gate("other");
        let play = Play::new(models, SubtaskStart::Parallel, &[("a.txt", "base\n")]);
        let sent = play.say("Change a.txt").await;
        play.until_status(&sent, "1", SubtaskStatus::Completed).await;
        std::fs::write(play.home.path().join("project/a.txt"), "mine\n").expect("written");
        gate.notify_one();
        let asked = play.answer(&sent, |ask| matches!(ask, Ask::MergeConflict { .. }), choice, None).await;
        let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::MergeConflict { conflict, .. }, choices, .. }) =
            &asked.fact
        else {
            panic!("no conflict")
        };
        assert_eq!((conflict.base.as_str(), conflict.ours.as_str()), ("base\n", "mine\n"));
        assert!(conflict.against.is_empty() && choices[0].label == "Keep what is in the folder");
        assert_eq!(play.end(&sent).await.0, Status::Completed);
        assert_eq!(play.file("a.txt").as_deref(), becomes);
    }
}

#[tokio::test]
async fn a_deletion_and_an_edit_of_one_file_are_a_conflict() {
    for (choice, becomes) in [("keep_a", None), ("keep_b", Some("edited\n"))] {
        let models = Workers::new(plan(&[task("deletes", &[], &[]), task("edits", &[], &[])]), |name, number| {
            match (name, number) {
                ("deletes", 1) => vec![Said::Tool("delete_file", json!({"path": "a.txt"}))],
                ("edits", 1) => vec![write("a.txt", "edited\n")],
                _ => vec![Said::Text("Done.")],
            }
        });
        let play = Play::new(models, SubtaskStart::Loose, &[("a.txt", "base\n")]);
        let sent = play.say("Delete or change a.txt").await;
        let asked = play.answer(&sent, |ask| matches!(ask, Ask::MergeConflict { .. }), choice, None).await;
        let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::MergeConflict { conflict, .. }, .. }) = &asked.fact
        else {
            panic!("no conflict")
        };
        assert_eq!((conflict.ours.as_str(), conflict.theirs.as_str()), ("(no file)", "edited\n"));
        // To delete a file is asked about, whoever wanted it.
        if becomes.is_none() {
            play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
        }
        play.end(&sent).await;
        assert_eq!(play.file("a.txt").as_deref(), becomes, "{choice}");
    }
}

/// Two workers, one of which deletes a file.
fn deleting() -> Workers {
    Workers::new(plan(&[task("writes", &[], &[]), task("cleans", &[], &[])]), |name, number| match (name, number) {
        ("writes", 1) => vec![write("a.txt", "new\n")],
        ("cleans", 1) => vec![Said::Tool("delete_file", json!({"path": "keep.txt"}))],
        _ => vec![Said::Text("Done.")],
    })
}

#[tokio::test]
async fn a_rule_for_one_file_never_carries_the_rest_of_a_merge() {
    for apply in [Applying::Ask, Applying::Auto] {
        let mut play = Play::new(deleting(), SubtaskStart::Parallel, &[("a.txt", "old\n"), ("keep.txt", "dear\n")]);
        play.settings.files.apply = apply;
        let folder = Some(play.home.path().join("project").display().to_string());
        let (tool, pattern) = ("edit_file".into(), "a.txt".into());
        let rule = Rule { verdict: RuleVerdict::Allow, tool, pattern, folder };
        play.client.permissions().change_rule(&rule, true).await.expect("a rule");
        let sent = play.say("Change a.txt and clean up").await;
        let is_asked = |event: &Event| {
            matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::Permission(_), .. }))
        };
        play.until(&sent.session, is_asked).await;
        assert_eq!((play.file("a.txt").as_deref(), play.file("keep.txt").as_deref()), (Some("old\n"), Some("dear\n")));
        play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
        play.until(&sent.session, |event| event.fact.kind() == "change.applied").await;
        assert_eq!((play.file("a.txt").as_deref(), play.file("keep.txt")), (Some("new\n"), None), "{apply:?}");
    }
}

#[tokio::test]
async fn a_message_during_a_conflict_never_becomes_the_file() {
    let play = Play::new(clashing(), SubtaskStart::Loose, &[("a.py", "print('hello')\nprint('bye')\n")]);
    let sent = play.say("Change the greeting in a.py").await;
    play.until(&sent.session, |event| {
        matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::MergeConflict { .. }, .. }))
    })
    .await;
    let when_busy = WhenBusy::Exactly(Some(WhileRunning::Steer));
    let draft = RequestDraft { when_busy, ..RequestDraft::new("How long will this take?", Manner::default()) };
    let settings = RunSettings { subtasks: SubtaskSettings::default(), ..play.settings.clone() };
    let say = play.world.say(draft, None, settings);
    play.client.send(SendTo::Session(sent.session.clone()), say).await.expect("is taken in");
    let is_said =
        |event: &Event| serde_json::to_string(event).is_ok_and(|text| text.contains("How long will this take?"));
    let events = play.until(&sent.session, is_said).await;
    assert!(!events.iter().any(|event| event.fact.kind() == "subtasks.resolved"), "{:?}", events.last());
    play.answer(&sent, |ask| matches!(ask, Ask::MergeConflict { .. }), "keep_a", None).await;
    play.until(&sent.session, |event| event.fact.kind() == "change.applied").await;
    assert_eq!(play.file("a.py").as_deref(), Some("print('HELLO')\nprint('bye')\n"));
}

#[tokio::test]
async fn what_is_finished_is_kept_when_the_rest_is_stopped() {
    let models = Workers::new(
        plan(&[task("good", &[], &[]), task("bad", &[], &[]), task("last", &[], &[1, 2])]),
        |name, number| match (name, number) {
            ("good", 1) => vec![write("good.txt", "good\n")],
            ("bad", _) => vec![Said::Fail],
            _ => vec![Said::Text("Done.")],
        },
    );
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create good.txt and more").await;
    play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskFailed { .. }), "stop", None).await;
    play.until(&sent.session, |event| event.fact.kind() == "change.applied").await;
    let (_, events) = play.end(&sent).await;
    assert_eq!(play.file("good.txt").as_deref(), Some("good\n"));
    let last = |id: &str| statuses(&events, id).last().copied();
    assert_eq!(
        ["1", "2", "3"].map(last),
        [SubtaskStatus::Completed, SubtaskStatus::Stopped, SubtaskStatus::Stopped].map(Some)
    );
    play.until_no_copies().await;
}

#[tokio::test]
async fn a_merge_that_comes_too_late_is_made_again_and_loses_nothing() {
    let models =
        Workers::new(plan(&[task("last", &[], &[]), task("other", &[], &[])]), |name, number| match (name, number) {
            ("last", 1) => vec![write("a.txt", "one\ntwo\nthree\nfour\nFIVE\n")],
            ("other", 1) => vec![write("b.txt", "new\n")],
            _ => vec![Said::Text("Done.")],
        });
    let mut play = Play::new(models, SubtaskStart::Parallel, &[("a.txt", "one\ntwo\nthree\nfour\nfive\n")]);
    play.settings.files.apply = Applying::Ask;
    let sent = play.say("Change a.txt and create b.txt").await;
    let is_asked =
        |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::Permission(_), .. }));
    play.until(&sent.session, is_asked).await;
    let by_hand = "ONE\ntwo\nthree\nfour\nfive\n";
    std::fs::write(play.home.path().join("project/a.txt"), by_hand).expect("written");
    play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
    // What was allowed is not what would be written now.
    let asked = std::cell::Cell::new(0);
    let is_second = |event: &Event| {
        asked.set(asked.get() + u32::from(is_asked(event)));
        asked.get() == 2
    };
    let events = play.until(&sent.session, is_second).await;
    assert_eq!((play.file("a.txt").as_deref(), play.file("b.txt")), (Some(by_hand), None));
    let Some(Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. })) = events.last().map(|event| &event.fact)
    else {
        panic!("no question")
    };
    let answer = Answered { checkpoint: checkpoint.clone(), choice: "allow".into(), text: None, by: "user".into() };
    play.client.requests().answer(&sent.session, answer).await.expect("passed on");
    play.until(&sent.session, |event| event.fact.kind() == "change.applied").await;
    assert_eq!(play.file("a.txt").as_deref(), Some("ONE\ntwo\nthree\nfour\nFIVE\n"));
    assert_eq!(play.file("b.txt").as_deref(), Some("new\n"));
}

/// A worker that finishes, and one that waits for its gate.
fn half_done() -> Workers {
    Workers::new(plan(&[task("quick", &[], &[]), task("slow", &[], &[])]), |name, number| match (name, number) {
        ("quick", 1) => vec![write("quick.txt", "quick\n")],
        ("slow", 1) => vec![write("slow.txt", "slow\n")],
        _ => vec![Said::Text("Done.")],
    })
}

#[tokio::test]
async fn a_cancelled_request_keeps_what_its_sub_tasks_have_finished() {
    let models = half_done();
    let _gate = models.gate("slow");
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create quick.txt and slow.txt").await;
    play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    play.client.requests().control(&sent.session, Some(sent.request.clone()), Control::Cancel).await.expect("sent");
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Cancelled);
    assert_eq!((play.file("quick.txt").as_deref(), play.file("slow.txt")), (Some("quick\n"), None));
    assert_eq!(statuses(&events, "2").last(), Some(&SubtaskStatus::Stopped));
    play.until_no_copies().await;
}

#[tokio::test]
async fn a_second_cancel_discards_what_nobody_has_approved() {
    let models = half_done();
    let _gate = models.gate("slow");
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    play.settings.files.apply = Applying::Ask;
    let sent = play.say("Create quick.txt and slow.txt").await;
    play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    let cancel = || play.client.requests().control(&sent.session, Some(sent.request.clone()), Control::Cancel);
    cancel().await.expect("sent");
    let is_asked =
        |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::Permission(_), .. }));
    let events = play.until(&sent.session, is_asked).await;
    let Some(Fact::Checkpoint(CheckpointFact::Opened { title, .. })) = events.last().map(|event| &event.fact) else {
        panic!("no question")
    };
    assert_eq!(title, "Create quick.txt?");
    cancel().await.expect("sent");
    assert_eq!((play.end(&sent).await.0, play.file("quick.txt")), (Status::Cancelled, None));
}

#[tokio::test]
async fn a_model_that_delegated_is_not_called_again_after_a_cancel() {
    let parts = json!({"tasks": [{"title": "Quick", "instruction": "TASK quick: write quick.txt"},
        {"title": "Slow", "instruction": "TASK slow: write slow.txt"}]});
    let models = Workers::new(Value::Null, move |name, number| match (name, number) {
        ("main", 1) => vec![Said::Tool("delegate", parts.clone())],
        ("quick", 1) => vec![write("quick.txt", "quick\n")],
        _ => vec![Said::Text("Done.")],
    });
    let _gate = models.gate("slow");
    let mut play = Play::new(models, SubtaskStart::Parallel, &[]);
    (play.settings.subtasks.start, play.settings.subtasks.offer) = (None, SubtaskOffer::Auto);
    let sent = play.say("Write both files in parallel").await;
    play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    play.client.requests().control(&sent.session, Some(sent.request.clone()), Control::Cancel).await.expect("sent");
    assert_eq!(play.end(&sent).await.0, Status::Cancelled);
    assert_eq!(play.file("quick.txt").as_deref(), Some("quick\n"));
    let calls = play.models.log().iter().filter(|line| *line == "main begins").count();
    assert_eq!(calls, 1, "{:?}", play.models.log());
}

#[tokio::test]
async fn a_conflict_waits_for_an_answer_where_nobody_is() {
    for (choice, becomes) in [("keep_b", "print('hello, sir')"), ("merge", "print('Hello, sir!')")] {
        let mut play = Play::new(clashing(), SubtaskStart::Loose, &[("a.py", "print('hello')\nprint('bye')\n")]);
        play.settings.attended = false;
        let sent = play.say("Change the greeting in a.py").await;
        assert_eq!(play.end(&sent).await.0, Status::NeedsUser);
        play.answer(&sent, |ask| matches!(ask, Ask::MergeConflict { .. }), choice, None).await;
        if choice == "merge" {
            play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
        }
        play.until(&sent.session, |event| event.fact.kind() == "change.applied").await;
        assert_eq!(play.file("a.py"), Some(format!("{becomes}\nprint('bye')\n")), "{choice}");
    }
}

#[tokio::test]
async fn the_question_about_a_merge_names_what_it_deletes() {
    let play = Play::new(deleting(), SubtaskStart::Parallel, &[("keep.txt", "keep\n")]);
    let sent = play.say("Write a.txt and clean up").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "allow", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { title, .. }) = &asked.fact else { panic!("no question") };
    assert_eq!(title, "Change a.txt, and delete keep.txt?");
}

fn is_blocked(ask: &Ask) -> bool {
    matches!(ask, Ask::MergeBlocked { .. })
}

/// The title of a question, and what it offers.
fn offered(asked: &Event) -> (&str, Vec<(&str, &str)>) {
    let Fact::Checkpoint(CheckpointFact::Opened { title, choices, .. }) = &asked.fact else { panic!("no question") };
    (title, choices.iter().map(|choice| (choice.id.as_str(), choice.label.as_str())).collect())
}

#[tokio::test]
async fn a_file_and_a_folder_of_one_name_lose_no_work() {
    let both = [("leave_out", Some("a file\n"), None), ("leave_other", None, Some("in a folder\n"))];
    for (choice, file, nested) in both {
        let tasks = plan(&[task("file", &[], &[]), task("folder", &[], &[]), task("other", &[], &[])]);
        let models = Workers::new(tasks, |name, number| match (name, number) {
            ("file", 1) => vec![write("a", "a file\n")],
            ("folder", 1) => vec![write("a/b", "in a folder\n")],
            ("other", 1) => vec![write("other.txt", "other\n")],
            _ => vec![Said::Text("Done.")],
        });
        let play = Play::new(models, SubtaskStart::Parallel, &[]);
        let sent = play.say("Create a, a/b and other.txt").await;
        let asked = play.answer(&sent, is_blocked, choice, None).await;
        let title =
            "The changes of the sub-tasks are not merged yet. a cannot be a file and a folder at the same time.";
        let choices = [
            ("again", "Merge again"),
            ("leave_out", "Merge without a/b"),
            ("leave_other", "Merge without a"),
            ("stop", "Discard the changes"),
        ];
        assert_eq!(offered(&asked), (title, choices.to_vec()));
        let (status, events) = play.end(&sent).await;
        assert_eq!(status, Status::Completed);
        let there = ["a", "a/b", "other.txt"].map(|path| play.file(path));
        assert_eq!(there.each_ref().map(Option::as_deref), [file, nested, Some("other\n")], "{choice}");
        let answer = events.iter().find_map(|event| match &event.fact {
            Fact::Answer(fact) => Some(fact.answer.summary.clone()),
            _ => None,
        });
        let left = if choice == "leave_out" { "Not merged: a/b." } else { "Not merged: a." };
        assert!(answer.as_ref().is_some_and(|answer| answer.lines().any(|line| line == left)), "{answer:?}");
    }
}

/// Two workers with a file each, and a rule against one of them that comes when its worker is done.
async fn denied(choice: &str) -> (Play, Status) {
    let tasks = plan(&[task("one", &[], &[]), task("two", &[], &[]), task("slow", &[], &[])]);
    let models = Workers::new(tasks, |name, number| match (name, number) {
        ("one", 1) => vec![write("one.txt", "one\n")],
        ("two", 1) => vec![write("two.txt", "two\n")],
        _ => vec![Said::Text("Done.")],
    });
    let gate = models.gate("slow");
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Create one.txt and two.txt").await;
    play.until_status(&sent, "1", SubtaskStatus::Completed).await;
    play.until_status(&sent, "2", SubtaskStatus::Completed).await;
    let folder = Some(play.home.path().join("project").display().to_string());
    let (tool, pattern) = ("edit_file".into(), "two.txt".into());
    let rule = Rule { verdict: RuleVerdict::Deny, tool, pattern, folder };
    play.client.permissions().change_rule(&rule, true).await.expect("a rule");
    gate.notify_one();
    let is_asked =
        |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask, .. }) if is_blocked(ask));
    play.until(&sent.session, is_asked).await;
    assert_eq!((play.file("one.txt"), play.file("two.txt")), (None, None));
    play.client.permissions().change_rule(&rule, false).await.expect("no rule");
    let asked = play.answer(&sent, is_blocked, choice, None).await;
    let title = "The changes of the sub-tasks are not merged yet. Your rules do not allow changes to two.txt.";
    let choices = [("again", "Merge again"), ("leave_out", "Merge without two.txt"), ("stop", "Discard the changes")];
    assert_eq!(offered(&asked), (title, choices.to_vec()));
    let (status, _) = play.end(&sent).await;
    (play, status)
}

#[tokio::test]
async fn a_rule_against_one_file_does_not_discard_the_others() {
    for (choice, becomes, files) in [
        ("leave_out", Status::Completed, [Some("one\n"), None]),
        ("again", Status::Completed, [Some("one\n"), Some("two\n")]),
        ("stop", Status::Cancelled, [None, None]),
    ] {
        let (play, status) = denied(choice).await;
        let there = ["one.txt", "two.txt"].map(|path| play.file(path));
        assert_eq!((status, there.each_ref().map(Option::as_deref)), (becomes, files), "{choice}");
    }
}

#[tokio::test]
async fn a_merge_that_is_to_wait_can_be_made_later() {
    for attended in [true, false] {
        let mut play = Play::new(auth(), SubtaskStart::Parallel, &[]);
        (play.settings.files.apply, play.settings.attended) = (Applying::Ask, attended);
        let sent = play.say("Create authentication in new files").await;
        let is_permission = |ask: &Ask| matches!(ask, Ask::Permission(_));
        play.answer(&sent, is_permission, "wait", Some("Let me look first")).await;
        let asked = play.answer(&sent, is_blocked, "again", None).await;
        let title = "The changes of the sub-tasks are not merged yet. You chose to wait.";
        assert_eq!(offered(&asked), (title, vec![("again", "Merge again"), ("stop", "Discard the changes")]));
        assert_eq!(play.file("user.rs"), None);
        // It is asked about again, because nothing was allowed yet.
        let asked = std::cell::Cell::new(0);
        let is_second = |event: &Event| {
            let is_it =
                matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask, .. }) if is_permission(ask));
            asked.set(asked.get() + u32::from(is_it));
            asked.get() == 2
        };
        let events = play.until(&sent.session, is_second).await;
        let Some(Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. })) = events.last().map(|event| &event.fact)
        else {
            panic!("no question")
        };
        let answer = Answered { checkpoint: checkpoint.clone(), choice: "allow".into(), text: None, by: "user".into() };
        play.client.requests().answer(&sent.session, answer).await.expect("passed on");
        play.until(&sent.session, |event| event.fact.kind() == "change.applied").await;
        assert_eq!(play.file("user.rs").as_deref(), Some("struct User;\n"));
    }
}

#[tokio::test]
async fn a_rule_that_is_made_against_one_file_of_a_merge_leaves_the_others() {
    let play = Play::new(deleting(), SubtaskStart::Parallel, &[("keep.txt", "keep\n")]);
    let sent = play.say("Write a.txt and clean up").await;
    play.answer(&sent, |ask| matches!(ask, Ask::Permission(_)), "never", None).await;
    play.answer(&sent, is_blocked, "leave_out", None).await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    assert_eq!((play.file("a.txt").as_deref(), play.file("keep.txt").as_deref()), (Some("new\n"), Some("keep\n")));
}

#[tokio::test]
async fn a_merged_change_is_undone_by_file_and_by_hunk() {
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n9\n{last}\n");
    let (top, bottom) = (lines("ONE", "10"), lines("1", "TEN"));
    let tasks = [task("top", &[], &[]), task("bottom", &[], &[]), task("new", &[], &[])];
    let models = Workers::new(plan(&tasks), move |name, number| match (name, number) {
        ("top", 1) => vec![write("a.txt", &top)],
        ("bottom", 1) => vec![write("a.txt", &bottom)],
        ("new", 1) => vec![write("b.txt", "b\n")],
        _ => vec![Said::Text("Done.")],
    });
    let play = Play::new(models, SubtaskStart::Loose, &[("a.txt", &lines("1", "10"))]);
    let sent = play.say("Change a.txt and create b.txt").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("a.txt")), (Status::Completed, Some(lines("ONE", "TEN"))), "both are merged");
    let applied = events.iter().find_map(|event| match &event.fact {
        Fact::Change(ChangeFact::Applied(change)) => Some(change.change_set.clone()),
        _ => None,
    });
    let change_set = applied.expect("one change");
    let undo = async |part: ChangePart, sets: usize| {
        let (parts, on_conflict) = (vec![part], OnConflict::Refuse);
        let control = Control::UndoPart { change_set: change_set.clone(), parts, on_conflict };
        play.client.requests().control(&sent.session, None, control).await.expect("wanted");
        // What is undone is a change set of its own.
        let known = std::cell::Cell::new(0);
        let is_last = |event: &Event| {
            known.set(known.get() + usize::from(event.fact.kind() == "change.applied"));
            known.get() == sets
        };
        play.until(&sent.session, is_last).await;
    };
    // What one worker did to the file is undone, and what the other did stays.
    let hunk = ChangePart { path: "a.txt".into(), hunks: vec![2] };
    undo(hunk, 2).await;
    assert_eq!((play.file("a.txt"), play.file("b.txt").as_deref()), (Some(lines("ONE", "10")), Some("b\n")));
    undo(ChangePart { path: "b.txt".into(), hunks: Vec::new() }, 3).await;
    assert_eq!((play.file("a.txt"), play.file("b.txt")), (Some(lines("ONE", "10")), None));
}
