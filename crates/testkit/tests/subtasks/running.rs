//! Plans, their order, and what comes of them.

use trimtab_vocab::event::PlanFact;
use trimtab_vocab::{ExecutionOrder, StepStatus, TaskKind, WorkerModel};

use super::play::*;

#[tokio::test]
async fn five_tasks_run_by_what_they_depend_on_and_become_one_change() {
    let models = auth();
    let gates = ["user", "token", "hash"].map(|name| models.gate(name));
    let play = Play::new(models, SubtaskStart::Ask, &[("main.rs", "fn main() {}\n")]);
    let sent = play.say("Create authentication for main.rs").await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_a", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { title, choices, .. }) = &asked.fact else { panic!("no") };
    assert_eq!(
        title,
        "📋 Execution Plan: \"Create authentication for main.rs\"\nFound 5 sub-tasks. Choose execution strategy:"
    );
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["Edit Plan", "Start A", "Start B", "Start C", "Cancel"]);
    // Three begin before any of them ends.
    while play.models.log().iter().filter(|line| line.ends_with("begins")).count() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(play.models.log().iter().filter(|line| line.ends_with("ends")).count(), 1, "{:?}", play.models.log());
    assert_eq!(play.file("user.rs"), None, "nothing is written before it is merged");
    gates.iter().for_each(|gate| gate.notify_one());
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    for (file, text) in [
        ("user.rs", "struct User;\n"),
        ("token.rs", "struct Token;\n"),
        ("hash.rs", "fn hash() {}\n"),
        ("middleware.rs", "fn check() {}\n"),
        ("main.rs", "fn main() {}\n"),
    ] {
        assert_eq!(play.file(file).as_deref(), Some(text), "{file}");
    }
    let at = |what: &str| play.models.log().iter().position(|line| line == what).unwrap_or_else(|| panic!("{what}"));
    for before in ["user ends", "token ends", "hash ends"] {
        assert!(at(before) < at("middleware begins"), "{:?}", play.models.log());
    }
    assert!(at("middleware ends") < at("review begins"));
    // A worker sees its instruction and what the tasks before it came to, and nothing of the conversation.
    let prompt = play.models.prompt("middleware");
    let words = prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
    assert!(
        words.contains("1. user (changed: user.rs): It is done.") && !words.contains("Create authentication"),
        "{words}"
    );
    let applied = events.iter().filter(|event| event.fact.kind() == "change.applied").count();
    assert_eq!(applied, 1, "one change");
    play.until_no_copies().await;
    for id in ["1", "2", "3", "4", "5"] {
        assert_eq!(statuses(&events, id), [SubtaskStatus::Running, SubtaskStatus::Completed], "{id}");
    }
    let Some(Fact::Request(RequestFact::Finished { usage, .. })) = events.last().map(|event| &event.fact) else {
        panic!("no end")
    };
    // One call for the plan, two for each of three, three for the fourth, one for the last.
    assert_eq!(usage.input_tokens, 1_100, "the sum is that of the parts");
    let control = Control::Rewind { steps: 1, on_conflict: OnConflict::Refuse };
    play.client.requests().control(&sent.session, None, control).await.expect("wanted");
    play.until(&sent.session, |event| event.fact.kind() == "change.reverted").await;
    assert_eq!(play.file("user.rs"), None, "one undo takes all of it back");
    assert_eq!(play.file("main.rs").as_deref(), Some("fn main() {}\n"));
}

#[tokio::test]
async fn an_edited_plan_is_what_runs_and_one_task_can_be_left_out() {
    let play = Play::new(auth(), SubtaskStart::Ask, &[]);
    let sent = play.say("Create authentication in new files").await;
    let text = "1. user\n   TASK user: do it\n3. hash\n   TASK hash: do it\n   after: 1\n";
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "edit", Some(text)).await;
    let is_edited = |ask: &Ask| matches!(ask, Ask::SubtaskPlan { plan, .. } if plan.tasks.len() == 2);
    play.answer(&sent, is_edited, "start_b", None).await;
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("hash.rs").is_some(), play.file("token.rs")), (Status::Completed, true, None));
    assert!(!play.models.log().iter().any(|line| line.starts_with("token")));
}

#[tokio::test]
async fn each_start_runs_its_strategy() {
    for (choice, order) in [
        ("start_a", ExecutionOrder::DependencyGraph),
        ("start_b", ExecutionOrder::Sequential),
        ("start_c", ExecutionOrder::Parallel),
    ] {
        let models = auth();
        let gate = (order == ExecutionOrder::Parallel).then(|| models.gate("hash"));
        let play = Play::new(models, SubtaskStart::Ask, &[("main.rs", "fn main() {}\n")]);
        let sent = play.say("Create authentication for main.rs").await;
        play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), choice, None).await;
        if let Some(gate) = gate {
            while !play.models.log().contains(&"middleware begins".to_owned()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            gate.notify_one();
        }
        let (status, events) = play.end(&sent).await;
        assert_eq!(status, Status::Completed, "{choice}");
        let started: Vec<ExecutionOrder> = events
            .iter()
            .filter_map(|event| match &event.fact {
                Fact::Subtasks(SubtasksFact::Started { execution_order, .. }) => Some(*execution_order),
                _ => None,
            })
            .collect();
        assert_eq!(started, [order], "{choice}");
        let log = play.models.log();
        let begun = |name: &str| log.iter().position(|line| *line == format!("{name} begins")).expect("it began");
        let ended = |name: &str| log.iter().rposition(|line| *line == format!("{name} ends")).expect("it ended");
        match order {
            ExecutionOrder::DependencyGraph => assert!(ended("hash") < begun("middleware"), "{log:?}"),
            ExecutionOrder::Sequential => {
                let pairs = [("user", "token"), ("token", "hash"), ("hash", "middleware"), ("middleware", "review")];
                assert!(pairs.iter().all(|(one, next)| ended(one) < begun(next)), "{log:?}");
            }
            // Dependencies do not count where conflicts are settled at the merge.
            ExecutionOrder::Parallel => assert!(begun("middleware") < ended("hash"), "{log:?}"),
        }
    }
}

#[tokio::test]
async fn each_worker_is_called_with_its_own_model_and_only_its_instruction() {
    let of_kind = |name: &str, kind: &str, files: &[&str]| {
        let mut task = task(name, files, &[]);
        task["kind"] = json!(kind);
        task
    };
    let tasks = [
        of_kind("format", "simple", &["a.txt"]),
        of_kind("think", "reasoning", &["b.txt"]),
        of_kind("check", "review", &[]),
    ];
    let models = Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]);
    let mut play = Play::new(models, SubtaskStart::Parallel, &[("a.txt", "alpha\n"), ("b.txt", "beta\n")]);
    for (kind, model) in [(TaskKind::Simple, "m/small"), (TaskKind::Review, "m/strict")] {
        let of = WorkerModel { model: model.into(), facts: play.settings.models.facts };
        play.settings.subtasks.models.insert(kind, of);
    }
    let sent = play.say("Look at everything in this folder").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    for (name, model, own) in
        [("format", "m/small", "alpha"), ("think", "m/large", "beta"), ("check", "m/strict", "TASK check")]
    {
        let prompts = play.models.prompts_of(name);
        assert_eq!(prompts.len(), 1, "{name}: one call");
        assert_eq!(prompts[0].model, model, "{name}");
        let words = prompts[0].messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
        assert!(words.contains(own), "{words}");
        let foreign = ["alpha", "beta", "TASK format", "TASK think", "TASK check", "Look at everything"];
        let is_own = |part: &str| part == own || part == format!("TASK {name}");
        assert!(foreign.iter().all(|part| is_own(part) || !words.contains(part)), "{name}: {words}");
        assert_eq!(words.contains("This is a review of work that others have done."), name == "check", "{words}");
    }
}

#[tokio::test]
async fn a_task_waits_for_a_file_that_another_has_except_where_all_run_at_once() {
    for (start, waits) in [(SubtaskStart::Parallel, true), (SubtaskStart::Loose, false)] {
        let tasks = [task("one", &["a.txt"], &[]), task("two", &["a.txt"], &[]), task("other", &["b.txt"], &[])];
        let models = Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]);
        let gate = models.gate("one");
        let play = Play::new(models, start, &[("a.txt", "a\n"), ("b.txt", "b\n")]);
        let sent = play.say("Look at a.txt and b.txt").await;
        // The one with another file is done while the first is at work.
        play.until_status(&sent, "3", SubtaskStatus::Completed).await;
        if !waits {
            play.until_status(&sent, "2", SubtaskStatus::Completed).await;
        }
        assert_eq!(play.models.log().contains(&"two begins".to_owned()), !waits, "{:?}", play.models.log());
        gate.notify_one();
        assert_eq!(play.end(&sent).await.0, Status::Completed);
        let log = play.models.log();
        let at = |what: &str| log.iter().position(|line| line == what).unwrap_or_else(|| panic!("{what}: {log:?}"));
        assert_eq!(at("one ends") < at("two begins"), waits, "{log:?}");
    }
}

#[tokio::test]
async fn a_large_plan_is_offered_in_three_sizes_and_the_chosen_one_runs() {
    for (choice, count) in [("fine", 6), ("medium", 3), ("coarse", 2), ("decide", 2)] {
        let tasks: Vec<Value> = (1..=6).map(|number| task(&format!("part{number}"), &[], &[])).collect();
        let play = Play::new(
            Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]),
            SubtaskStart::Ask,
            &[],
        );
        let sent = play.say("Look at everything in this folder").await;
        let asked = play.answer(&sent, |ask| matches!(ask, Ask::Breakdown { .. }), choice, None).await;
        let Fact::Checkpoint(CheckpointFact::Opened { title, choices, .. }) = &asked.fact else { panic!("no") };
        assert_eq!(title, "📊 Task Breakdown Options\nYour request can be broken down in different ways:");
        let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
        assert_eq!(labels, ["Use A", "Use B", "Use C", "Let AI decide"]);
        let is_plan = |ask: &Ask| matches!(ask, Ask::SubtaskPlan { plan, .. } if plan.tasks.len() == count);
        play.answer(&sent, is_plan, "start_c", None).await;
        assert_eq!(play.end(&sent).await.0, Status::Completed, "{choice}");
    }
}

#[tokio::test]
async fn one_instruction_for_many_files_is_a_worker_for_each_and_one_change() {
    let files = ["a.txt", "b.txt", "c.txt", "d.txt"];
    let each = json!({"title": "Shout", "instruction": "TASK shout: shout", "files": files, "depends_on": [], "kind": "simple", "each": true});
    let models = Workers::new(plan(&[each]), |_, _| vec![Said::Text("Nothing to do.")]);
    let play = Play::new(models, SubtaskStart::Parallel, &files.map(|file| (file, "hello\n")));
    let sent = play.say("Shout in every file").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let prompts = play.models.prompts.lock().expect("free");
    let seen: Vec<Vec<&str>> = prompts
        .iter()
        .filter(|(name, _)| name == "shout")
        .map(|(_, prompt)| {
            let words = prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
            files.into_iter().filter(|file| words.contains(&format!("[Loaded {file}]"))).collect()
        })
        .collect();
    assert_eq!(seen.len(), 4, "a call for each file");
    for file in files {
        assert!(seen.contains(&vec![file]), "{file} alone: {seen:?}");
    }
}

#[tokio::test]
async fn no_more_workers_run_at_once_than_are_set() {
    let tasks: Vec<Value> = (1..=5).map(|number| task(&format!("part{number}"), &[], &[])).collect();
    let mut play = Play::new(
        Workers::new(plan(&tasks), |_, _| vec![Said::Text("Nothing had to be done.")]),
        SubtaskStart::Parallel,
        &[],
    );
    play.settings.subtasks.parallel = 2;
    let sent = play.say("Look at everything in this folder").await;
    let (status, events) = play.end(&sent).await;
    assert_eq!(status, Status::Completed);
    let (mut running, mut most) = (Vec::new(), 0);
    for event in &events {
        if let Fact::Subtask(SubtaskFact { subtask, status, .. }) = &event.fact {
            running.retain(|known| known != subtask);
            if *status == SubtaskStatus::Running {
                running.push(subtask.clone());
            }
            most = most.max(running.len());
        }
    }
    assert_eq!(most, 2);
}

#[tokio::test]
async fn one_slot_for_requests_is_enough_and_no_more_than_wanted_run_at_once() {
    let mut play = Play::new(auth(), SubtaskStart::Parallel, &[]);
    let (client, world) = open(play.home.path(), &play.models, 1);
    (play.client, play.world) = (client, world);
    let sent = play.say("Create authentication in new files").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let mut open = 0_i32;
    for line in play.models.log() {
        open += if line.ends_with("begins") { 1 } else { -1 };
        assert!(open <= 1, "{:?}", play.models.log());
    }
}

#[tokio::test]
async fn a_model_delegates_and_reads_what_came_of_it() {
    let models = Workers::new(Value::Null, |name, number| match (name, number) {
        ("main", 1) => {
            let tasks = [json!({"instruction": "TASK one: write it"}), json!({"instruction": "TASK two: write it"})];
            vec![Said::Tool("delegate", json!({"tasks": tasks}))]
        }
        ("one", 1) => vec![write("one.txt", "1\n")],
        ("two", 1) => vec![write("two.txt", "2\n")],
        ("main", _) => vec![Said::Text("Both are written.")],
        _ => vec![Said::Text("Written.")],
    });
    let mut play = Play::new(models, SubtaskStart::Ask, &[]);
    play.settings.subtasks.start = None;
    let sent = play.say("Create one.txt and two.txt in parallel").await;
    play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_a", None).await;
    let (status, _) = play.end(&sent).await;
    assert_eq!((status, play.file("one.txt").as_deref()), (Status::Completed, Some("1\n")));
    let prompts = play.models.prompts.lock().expect("free");
    let last = prompts.iter().rev().find(|(name, _)| name == "main").map(|(_, prompt)| prompt).expect("called");
    let read = format!("{:?}", last.messages);
    assert!(read.contains("agent_1_1") && read.contains("agent_2_2"), "{read}");
    let offered = |name: &str| {
        let (_, prompt) = prompts.iter().find(|(known, _)| known == name).expect("called");
        prompt.tools.iter().any(|tool| tool.name == "delegate")
    };
    assert!(offered("main") && !offered("one"), "a worker cannot delegate");
}

#[tokio::test]
async fn what_a_worker_writes_down_is_read_by_another() {
    let models = Workers::new(plan(&[task("writes", &[], &[]), task("reads", &[], &[1])]), |name, number| {
        match (name, number) {
            ("writes", 1) => vec![Said::Tool("write_shared", json!({"key": "port", "value": 8123}))],
            ("reads", 1) => vec![Said::Tool("read_shared", json!({}))],
            _ => vec![Said::Text("Done.")],
        }
    });
    let play = Play::new(models, SubtaskStart::Parallel, &[]);
    let sent = play.say("Look at everything in this folder").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let prompts = play.models.prompts.lock().expect("free");
    let last = prompts.iter().rev().find(|(name, _)| name == "reads").map(|(_, prompt)| prompt).expect("called");
    let read = format!("{:?}", last.messages);
    assert!(read.contains("subtask-context") && read.contains("8123") && read.contains("stepOutputs"), "{read}");
}

/// A model that plans three steps for different files, and writes them.
fn planner() -> Workers {
    Workers::new(Value::Null, |name, number| {
        let step = |name: &str| json!({"title": format!("TASK {name}: write it"), "files": [format!("{name}.txt")]});
        match (name, number) {
            ("main", 1) => {
                let steps = [step("one"), step("two"), step("three")];
                vec![Said::Tool("propose_plan", json!({"summary": "Three files", "steps": steps}))]
            }
            ("one", 1) => vec![write("one.txt", "1\n")],
            ("two", 1) => vec![write("two.txt", "2\n")],
            ("three", 1) => vec![write("three.txt", "3\n")],
            _ => vec![Said::Text("Written.")],
        }
    })
}

fn done_steps(events: &[Event]) -> usize {
    let is_done = |event: &&Event| {
        let Fact::Plan(PlanFact::Step { status, .. }) = &event.fact else { return false };
        *status == StepStatus::Done
    };
    events.iter().filter(is_done).count()
}

#[tokio::test]
async fn a_plan_whose_steps_can_run_apart_is_offered_as_sub_tasks() {
    let mut play = Play::new(planner(), SubtaskStart::Ask, &[]);
    play.settings.subtasks.start = None;
    let sent = play.say_in("Create three files", Mode::Plan).await;
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::Plan { .. }), "subtasks", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { choices, .. }) = &asked.fact else { panic!("no") };
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
    assert!(labels.contains(&"Run as sub-tasks"), "{labels:?}");
    let asked = play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "start_a", None).await;
    let Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::SubtaskPlan { plan, .. }, choices, .. }) = &asked.fact
    else {
        panic!("no")
    };
    assert_eq!(plan.tasks.len(), 3);
    assert_eq!(choices.last().map(|choice| choice.label.as_str()), Some("Work without sub-tasks"));
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("three.txt").as_deref()), (Status::Completed, Some("3\n")));
    assert_eq!(done_steps(&events), 3, "the steps of the plan are done");
    assert_eq!(events.iter().filter(|event| event.fact.kind() == "change.applied").count(), 1, "one change");
}

#[tokio::test]
async fn a_request_for_sub_tasks_in_plan_mode_runs_the_approved_plan_as_sub_tasks() {
    for choice in ["start_a", "decline"] {
        let play = Play::new(planner(), SubtaskStart::Ask, &[]);
        let sent = play.say_in("Create three files", Mode::Plan).await;
        play.answer(&sent, |ask| matches!(ask, Ask::Plan { .. }), "approve", None).await;
        play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), choice, None).await;
        let (status, events) = play.end(&sent).await;
        assert_eq!((status, play.file("three.txt").as_deref()), (Status::Completed, Some("3\n")), "{choice}");
        let has_workers = events.iter().any(|event| event.fact.kind() == "subtask");
        assert_eq!(has_workers, choice == "start_a", "one plan, and it is the user's");
    }
}

#[tokio::test]
async fn a_plan_that_cannot_run_as_sub_tasks_says_why() {
    let models = Workers::new(Value::Null, |name, number| match (name, number) {
        ("main", 1) => {
            let steps = [json!({"title": "Write it", "files": ["one.txt"]})];
            vec![Said::Tool("propose_plan", json!({"summary": "One file", "steps": steps}))]
        }
        ("main", 2) => vec![write("one.txt", "1\n")],
        _ => vec![Said::Text("Written.")],
    });
    let play = Play::new(models, SubtaskStart::Ask, &[]);
    let sent = play.say_in("Create one file", Mode::Plan).await;
    play.answer(&sent, |ask| matches!(ask, Ask::Plan { .. }), "approve", None).await;
    let (status, events) = play.end(&sent).await;
    assert_eq!((status, play.file("one.txt").as_deref()), (Status::Completed, Some("1\n")));
    let told = format!("{events:?}");
    assert!(told.contains("No sub-tasks: this plan has fewer than 3 steps"), "{told}");
}

#[tokio::test]
async fn a_plan_is_carried_out_step_by_step_where_sub_tasks_are_declined_or_off() {
    for offer in [SubtaskOffer::Ask, SubtaskOffer::Off] {
        let mut play = Play::new(planner(), SubtaskStart::Ask, &[]);
        (play.settings.subtasks.start, play.settings.subtasks.offer) = (None, offer);
        let sent = play.say_in("Create three files", Mode::Plan).await;
        if offer == SubtaskOffer::Ask {
            play.answer(&sent, |ask| matches!(ask, Ask::Plan { .. }), "subtasks", None).await;
            play.answer(&sent, |ask| matches!(ask, Ask::SubtaskPlan { .. }), "decline", None).await;
        } else {
            let asked = play.answer(&sent, |ask| matches!(ask, Ask::Plan { .. }), "approve", None).await;
            let Fact::Checkpoint(CheckpointFact::Opened { choices, .. }) = &asked.fact else { panic!("no") };
            assert!(!choices.iter().any(|choice| choice.id == "subtasks"));
        }
        let (status, events) = play.end(&sent).await;
        assert_eq!((status, play.file("three.txt").as_deref()), (Status::Completed, Some("3\n")), "{offer:?}");
        assert!(!events.iter().any(|event| event.fact.kind() == "subtask"), "no worker was started");
        assert_eq!(done_steps(&events), 3);
    }
}

#[tokio::test]
async fn calls_are_recorded_for_the_estimates_of_the_next_plan() {
    let play = Play::new(auth(), SubtaskStart::Parallel, &[]);
    let sent = play.say("Create authentication in new files").await;
    assert_eq!(play.end(&sent).await.0, Status::Completed);
    let calls = play.world.store.recent_calls(40, 400).await.expect("the calls");
    assert_eq!(calls.len(), 11, "those of the workers count");
    assert!(calls.iter().all(|call| call.model == "m/large" && call.usage.output_tokens == 10 && !call.truncated));
    assert!(play.world.store.recent_calls(1, 400).await.expect("the calls").len() < 11, "bounded by sessions");
}
