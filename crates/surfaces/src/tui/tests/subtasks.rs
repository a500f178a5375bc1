//! Sub-tasks: their board while they run, and what is asked about them.

use serde_json::{Value, json};

use trimtab_vocab::{Control, SubtaskControl, SubtaskStart};

use super::Stage;
use crate::tui::message::{Cmd, Msg};

fn task(id: usize, title: &str, depends_on: &[&str]) -> Value {
    json!({"id": id.to_string(), "title": title, "instruction": title, "model": "test/model", "dependsOn": depends_on})
}

fn plan() -> Value {
    let tasks = [
        task(1, "Create user model", &[]),
        task(2, "Create login route", &[]),
        task(3, "Create auth middleware", &["1", "2"]),
    ];
    json!({"tasks": tasks, "executionOrder": "dependency-graph", "estimatedTimeMs": 0, "costRange": [0.01, 0.04]})
}

fn begun(width: u16, height: u16, plan: &Value) -> Stage {
    let mut stage = Stage::new(width, height);
    stage.said("Add authentication");
    stage.fact(json!({"type": "subtasks.planned", "plan": plan, "by": "model"}));
    stage.fact(json!({"type": "subtasks.started", "executionOrder": "dependency-graph"}));
    stage
}

fn moved(stage: &mut Stage, id: &str, status: &str, progress: f64) {
    stage.fact(json!({"type": "subtask", "subtask": id, "status": status, "progress": progress, "model": "test/model",
        "usage": {"inputTokens": 1, "cachedTokens": 0, "outputTokens": 1, "costUsd": 0.0123}, "attempt": 1}));
}

/// The rows from the board's heading to the input.
fn board(stage: &mut Stage) -> Vec<String> {
    let screen = stage.screen();
    let rows = screen.lines().skip_while(|row| !row.starts_with("🔄")).take_while(|row| !row.starts_with('─'));
    rows.map(str::to_owned).collect()
}

#[test]
fn the_board_shows_how_far_each_sub_task_is_until_all_are_over() {
    let mut stage = begun(90, 24, &plan());
    moved(&mut stage, "1", "running", 0.0);
    moved(&mut stage, "2", "running", 0.0);
    let first = board(&mut stage).len();
    stage.now += 12_000;
    moved(&mut stage, "1", "running", 0.5);
    moved(&mut stage, "2", "completed", 1.0);
    insta::assert_snapshot!(stage.screen(), @"
    › Add authentication

    • ▶ 1. Create user model (test/model)
    • ▶ 2. Create login route (test/model)
    • ✓ 2. Create login route · 12 s · $0.01

    ⠋ Starting... 12.0 s  esc stops
    🔄 Running 3 sub-tasks in parallel...  alt-w opens them
    ▶ 1. Create user model      ██████████░░░░░░░░░░  50%  12 s · $0.01
    ✓ 2. Create login route     ████████████████████ 100%  12 s · $0.01
    Waiting: 3. Create auth middleware (depends on 1, 2)
    ──────────────────────────────────────────────────────────────────────────────────────────
    › Steer the running request…
    auto · standard · model · ~/boat · ⎇ main · 4 tokens · $0.02                        ? help
    ");
    assert_eq!(board(&mut stage).len(), first, "nothing moves while the tasks do");
    moved(&mut stage, "1", "completed", 1.0);
    moved(&mut stage, "3", "running", 0.25);
    assert_eq!(board(&mut stage).len(), first, "a task that starts takes the row in which it waited");
    moved(&mut stage, "3", "completed", 1.0);
    assert_eq!(board(&mut stage), Vec::<String>::new(), "it is over");
}

#[test]
fn a_board_before_the_start_or_after_the_end_of_its_request_is_not_shown() {
    let mut stage = Stage::new(80, 24);
    stage.said("Add authentication");
    stage.fact(json!({"type": "subtasks.planned", "plan": plan(), "by": "model"}));
    assert_eq!(board(&mut stage), Vec::<String>::new());
    stage.fact(json!({"type": "subtasks.started", "executionOrder": "sequential"}));
    assert_eq!(board(&mut stage)[0], "🔄 Running 3 sub-tasks one after the other...  alt-w opens them");
    stage.fact(json!({"type": "request.finished", "status": "cancelled", "usage": {}}));
    assert_eq!(board(&mut stage), Vec::<String>::new());
}

#[test]
fn a_long_board_is_bounded_and_follows_what_is_not_over() {
    let tasks: Vec<Value> = (1..=20).map(|number| task(number, &format!("Task {number}"), &[])).collect();
    let plan = json!({"tasks": tasks, "executionOrder": "dependency-graph", "estimatedTimeMs": 0});
    let mut stage = begun(60, 24, &plan);
    for number in 1..=10 {
        moved(&mut stage, &number.to_string(), "completed", 1.0);
    }
    moved(&mut stage, "11", "running", 0.5);
    insta::assert_snapshot!(board(&mut stage).join("\n"), @"
    🔄 Running 20 sub-tasks in parallel...  alt-w opens them
    ▶ 11. Task 11 ██████████░░░░░░░░░░  50%  0 ms · $0.01
      12. Task 12 ░░░░░░░░░░░░░░░░░░░░   0%
      13. Task 13 ░░░░░░░░░░░░░░░░░░░░   0%
      14. Task 14 ░░░░░░░░░░░░░░░░░░░░   0%
      15. Task 15 ░░░░░░░░░░░░░░░░░░░░   0%
      16. Task 16 ░░░░░░░░░░░░░░░░░░░░   0%
    … 14 more
    ");
    let mut low = begun(60, 10, &plan);
    assert_eq!(board(&mut low), Vec::<String>::new(), "a low screen keeps the conversation");
}

fn asked(kind: &str, title: &str, choices: Value, ask: Value) -> Value {
    let mut whole = json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": kind, "title": title,
        "choices": choices, "call": "c1"});
    whole.as_object_mut().expect("an object").extend(ask.as_object().expect("an object").clone());
    whole
}

#[test]
fn the_ways_to_break_a_request_down_are_listed_with_their_figures() {
    let mut stage = Stage::new(90, 24);
    stage.said("Add authentication");
    let option = |granularity: &str, tasks: u32, risk: f64| {
        json!({"granularity": granularity, "tasks": tasks, "tokensEach": 800, "truncationRisk": risk,
            "notes": ["one note", "another"]})
    };
    let choices = json!([{"id": "fine", "label": "Use A", "role": "secondary"},
        {"id": "medium", "label": "Use B", "role": "secondary"}, {"id": "coarse", "label": "Use C", "role": "secondary"},
        {"id": "decide", "label": "Let AI decide", "role": "primary"}]);
    let options = [option("fine", 5, 0.05), option("medium", 3, 0.2), option("coarse", 2, 0.45)];
    let ask = json!({"about": "breakdown", "options": options, "suggested": "medium", "reason": "replies stay short"});
    let title = "📊 Task Breakdown Options\nYour request can be broken down in different ways:";
    stage.asked(asked("confirm", title, choices, ask));
    insta::assert_snapshot!(stage.screen(), @"
    › Add authentication
    ──────────────────────────────────────────────────────────────────────────────────────────
    Sub-tasks
    📊 Task Breakdown Options
    Your request can be broken down in different ways:
    A) Fine-grained (Recommended): 5 sub-tasks, ~800 tokens each, truncation risk 5%
         one note · another
    B) Medium: 3 sub-tasks, ~800 tokens each, truncation risk 20%
         one note · another
    C) Coarse: 2 sub-tasks, ~800 tokens each, truncation risk 45%
         one note · another
    “Let AI decide” would choose B: replies stay short.
      1. Use A
      2. Use B
      3. Use C
    › 4. Let AI decide
    number or enter to answer · tab adds a note · alt-q later · esc stops
    auto · standard · model · ~/boat · ⎇ main                                           ? help
    ");
}

fn execution() -> Value {
    let strategy = |order: &str, speed: u32, risk: &str| json!({"executionOrder": order, "speed": speed, "costUsd": 0.02, "risk": risk, "note": "a note"});
    let choices = json!([{"id": "edit", "label": "Edit Plan", "text": "required", "role": "secondary"},
        {"id": "start_a", "label": "Start A", "role": "primary"}, {"id": "start_b", "label": "Start B", "role": "secondary"},
        {"id": "start_c", "label": "Start C", "role": "secondary"}, {"id": "stop", "label": "Cancel", "role": "dismiss"}]);
    let strategies =
        [strategy("dependency-graph", 2, "Medium"), strategy("sequential", 1, "Low"), strategy("parallel", 3, "High")];
    let text = "1. Create user model\n2. Create login route\n3. Create auth middleware\n   after: 1, 2\n";
    let title = "📋 Execution Plan: \"Add authentication\"\nFound 3 sub-tasks. Choose execution strategy:";
    asked(
        "plan",
        title,
        choices,
        json!({"about": "subtaskPlan", "plan": plan(), "strategies": strategies, "text": text}),
    )
}

#[test]
fn a_plan_of_sub_tasks_is_shown_and_edited_as_text() {
    let mut stage = Stage::new(80, 30);
    stage.said("Add authentication");
    stage.asked(execution());
    insta::assert_snapshot!(stage.screen(), @r#"
    › Add authentication
    ────────────────────────────────────────────────────────────────────────────────
    Sub-tasks
    📋 Execution Plan: "Add authentication"
    Found 3 sub-tasks. Choose execution strategy:
    1. Create user model (test/model)
    2. Create login route (test/model)
    3. Create auth middleware (test/model)
         after 1, 2
    A) Parallel (Recommended)  Speed: ⚡⚡  Cost: $0.02  Risk: Medium
         a note
    B) Sequential  Speed: ⚡  Cost: $0.02  Risk: Low
         a note
    C) Fast & Loose  Speed: ⚡⚡⚡  Cost: $0.02  Risk: High
         a note
    Estimated cost: $0.01 to $0.04 (from typical usage).
      1. Edit Plan
    › 2. Start A
      3. Start B
      4. Start C
      5. Cancel
    number or enter to answer · e edits the plan · tab adds a note … esc stops
    auto · standard · model · ~/boat · ⎇ main                                 ? help
    "#);
    assert!(stage.key("e").is_empty());
    stage.write("x");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!(answer.choice, "edit");
    let text = answer.text.as_deref().expect("the plan");
    assert!(text.starts_with("1. Create user model\n2. Create login route\n"), "{text}");
    assert!(text.trim_end().ends_with('x'), "{text}");
}

#[test]
fn a_long_plan_is_scrolled_before_it_can_be_started() {
    let mut stage = Stage::new(80, 16);
    stage.said("Add authentication");
    stage.asked(execution());
    assert!(stage.screen().contains("more rows"), "{}", stage.screen());
    assert!(stage.key("2").is_empty(), "it was not read");
    for _ in 0..10 {
        stage.key("space");
    }
    assert!(stage.screen().contains("Estimated cost: $0.01 to $0.04"), "{}", stage.screen());
    let cmds = stage.key("2");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!(answer.choice, "start_a");
}

fn conflict(partial: bool) -> Value {
    let choices = json!([{"id": "keep_a", "label": "Keep 1. loud", "role": "secondary"},
        {"id": "keep_b", "label": "Keep 2. polite", "role": "secondary"},
        {"id": "edit", "label": "Edit", "text": "required", "role": "secondary"},
        {"id": "merge", "label": "Let the model merge", "role": "primary"}]);
    let conflict = json!({"path": "a.py", "subtask": "2", "against": ["1"], "base": "print('hello')\n",
        "ours": "print('HELLO')\n", "theirs": "print('hello, sir')\n", "partial": partial});
    asked(
        "confirm",
        "a.py has conflicting changes.",
        choices,
        json!({"about": "mergeConflict", "conflict": conflict, "remaining": 1}),
    )
}

#[test]
fn a_conflict_shows_both_sides_and_an_edit_starts_from_the_second() {
    let mut stage = Stage::new(80, 24);
    stage.said("Change the greeting");
    stage.asked(conflict(false));
    insta::assert_snapshot!(stage.screen(), @"
    › Change the greeting
    ────────────────────────────────────────────────────────────────────────────────
    Conflict
    a.py has conflicting changes.
    Before:
      | print('hello')
    A, sub-task 1:
      | print('HELLO')
    B, sub-task 2:
      | print('hello, sir')
    1 more conflict follows.
      1. Keep 1. loud
      2. Keep 2. polite
      3. Edit
    › 4. Let the model merge
    number or enter to answer · e edits the text · tab adds a note … esc stops
    auto · standard · model · ~/boat · ⎇ main                                 ? help
    ");
    stage.key("3");
    stage.write("# ");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("edit", Some("print('hello, sir')\n# ")));
}

#[test]
fn an_edit_does_not_start_from_a_text_that_is_not_whole() {
    let mut stage = Stage::new(80, 24);
    stage.said("Change the greeting");
    stage.asked(conflict(true));
    stage.key("3");
    stage.write("pass");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!(answer.text.as_deref(), Some("pass"));
}

#[test]
fn a_failed_sub_task_says_what_is_skipped_with_it() {
    let mut stage = Stage::new(80, 24);
    stage.said("Add authentication");
    let choices = json!([{"id": "retry", "label": "Retry", "role": "primary"},
        {"id": "edit", "label": "Edit instruction", "text": "required"}, {"id": "skip", "label": "Skip"}]);
    let ask = json!({"about": "subtaskFailed", "subtask": "2", "name": "Create login route", "reason": "No reply.",
        "dependents": ["3. Create auth middleware"]});
    stage.asked(asked("step", "Sub-task 2 failed twice: Create login route. No reply.", choices, ask));
    insta::assert_snapshot!(stage.screen(), @"
    › Add authentication
    ────────────────────────────────────────────────────────────────────────────────
    Sub-task failed
    Sub-task 2 failed twice: Create login route. No reply.
    Skipping it also skips: 3. Create auth middleware
    › 1. Retry
      2. Edit instruction
      3. Skip
    number or enter to answer · tab adds a note · alt-q later · esc stops
    auto · standard · model · ~/boat · ⎇ main                                 ? help
    ");
}

#[test]
fn a_question_of_a_worker_says_whose_it_is() {
    let mut stage = begun(80, 24, &plan());
    moved(&mut stage, "1", "running", 0.5);
    moved(&mut stage, "2", "needs_user", 0.25);
    let choices = json!([{"id": "o1", "label": "red"}, {"id": "o2", "label": "blue"}]);
    let worker = json!({"subtask": "2", "name": "Create login route", "session": "s2", "checkpoint": "k9"});
    stage.asked(asked("clarification", "Which color?", choices, json!({"about": "question", "worker": worker})));
    insta::assert_snapshot!(stage.screen(), @"
    › Add authentication

    • ▶ 1. Create user model (test/model)
    • ? 2. Create login route waits for your answer

    🔄 Running 3 sub-tasks in parallel...  alt-w opens them
    ▶ 1. Create user model      ██████████░░░░░░░░░░  50%  1.0 s · $0.01
    ? 2. Create login route     █████░░░░░░░░░░░░░░░  25%  1.0 s · $0.01
    Waiting: 3. Create auth middleware (depends on 1, 2)
    ────────────────────────────────────────────────────────────────────────────────
    Question
    Sub-task 2: Create login route asks
    Which color?
    › 1. red
      2. blue
    number or enter to answer · tab adds a note · alt-q later · esc stops
    auto · standard · model · ~/boat · ⎇ main · 4 tokens · $0.02              ? help
    ");
}

/// A fact of a worker's session.
fn of_worker(stage: &mut Stage, seq: u64, fact: Value) -> Vec<Cmd> {
    let mut whole = json!({"seq": seq, "time": trimtab_vocab::Time::from_millis(stage.now), "session": "s-w1", "request": "r-s-w1"});
    whole.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
    stage.tell(Msg::WorkerEvents(vec![serde_json::from_value(whole).expect("an event")]))
}

fn at_work(stage: &mut Stage, id: &str, status: &str) {
    stage.fact(json!({"type": "subtask", "subtask": id, "status": status, "progress": 0.5, "model": "test/model",
        "usage": {"inputTokens": 1, "cachedTokens": 0, "outputTokens": 1}, "attempt": 1, "worker": "s-w1"}));
}

#[test]
fn a_worker_is_opened_from_the_board_and_the_board_is_there_again_after_it() {
    let mut stage = begun(80, 20, &plan());
    at_work(&mut stage, "1", "running");
    stage.key("alt-w");
    let shown = stage.view();
    let shown: Vec<&str> = shown.lines().filter(|row| !row.is_empty()).collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    🔄 Running 3 sub-tasks in parallel...
    › ▶ 1. Create user model      ██████████░░░░░░░░░░  50%  0 ms
        2. Create login route     ░░░░░░░░░░░░░░░░░░░░   0%
      Waiting: 3. Create auth middleware (depends on 1, 2)
      1. Create user model
      running · test/model
      2 tokens
    ↑ ↓ select · enter open · t steer · s stop · x skip · r retry … esc close
    ");
    let session: trimtab_vocab::SessionId = "s-w1".parse().expect("an id");
    assert_eq!(stage.key("enter"), [Cmd::WatchWorker(session)]);
    of_worker(
        &mut stage,
        1,
        json!({"type": "request.received", "text": "Create the user model",
        "settings": {"model": "test/model", "maxSteps": 25}}),
    );
    let open = stage.view();
    assert!(open.contains("› Create the user model") && open.contains("esc back to the sub-tasks"), "{open}");
    assert_eq!(stage.key("esc"), [Cmd::LeaveWorker]);
    assert!(stage.view().starts_with("🔄 Running 3 sub-tasks in parallel..."), "{}", stage.view());
    stage.key("esc");
    assert!(stage.app.cover().is_none());
}

#[test]
fn the_board_shows_the_reserve_of_the_chosen_task_and_what_of_it_is_not_merged() {
    let mut stage = begun(80, 20, &plan());
    let moved = |status: &str, more: Value| {
        let mut fact = json!({"type": "subtask", "subtask": "1", "status": status, "progress": 0.5, "model": "test/model",
            "usage": {"inputTokens": 1, "cachedTokens": 0, "outputTokens": 1}, "attempt": 1, "worker": "s-w1"});
        fact.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        fact
    };
    stage.fact(moved("running", json!({"reservedUsd": 0.5})));
    stage.key("alt-w");
    assert!(stage.view().contains("  reserved: $0.50\n"), "{}", stage.view());
    stage.fact(moved("completed", json!({"leftBehind": {"files": ["new.txt"], "more": 0, "ignored": 2}})));
    let shown = stage.view();
    assert!(shown.contains("  not merged: wrote new.txt; 2 ignored paths\n") && !shown.contains("reserved"), "{shown}");
}

#[test]
fn keys_on_the_board_act_on_the_chosen_task_where_that_is_possible() {
    let control = |id: &str, action| Cmd::Control(Control::Subtask { subtask: id.into(), action });
    let mut stage = begun(80, 20, &plan());
    at_work(&mut stage, "1", "running");
    stage.key("alt-w");
    assert!(stage.key("r").is_empty(), "it runs");
    assert!(stage.view().contains("Not possible now: sub-task 1 is running."), "{}", stage.view());
    assert_eq!(stage.key("p"), [control("1", SubtaskControl::Pause)]);
    assert_eq!(stage.key("p"), [control("1", SubtaskControl::Resume)]);
    stage.key("t");
    stage.write("only the tests");
    assert_eq!(stage.key("enter"), [control("1", SubtaskControl::Steer { text: "only the tests".into() })]);
    assert_eq!(stage.key("s"), [control("1", SubtaskControl::Stop)]);
    at_work(&mut stage, "1", "failed");
    assert_eq!(stage.key("r"), [control("1", SubtaskControl::Retry { model: None, instruction: None })]);
    stage.key("down");
    assert_eq!(stage.key("x"), [control("2", SubtaskControl::Skip)]);
    stage.key("enter");
    assert!(stage.view().contains("It has not started"), "{}", stage.view());
    stage.fact(json!({"type": "request.finished", "status": "cancelled", "usage": {}}));
    assert!(stage.view().starts_with("0 of 3 sub-tasks completed."), "{}", stage.view());
    assert!(stage.key("s").is_empty() && stage.view().contains("The request has ended."), "{}", stage.view());
}

#[test]
fn a_command_breaks_a_request_down_and_without_words_opens_the_board() {
    let mut stage = Stage::new(80, 20);
    stage.write("/subtasks");
    stage.key("esc");
    stage.key("enter");
    assert!(stage.app.cover().is_none());
    stage.write("/subtasks Add tests");
    let cmds = stage.key("enter");
    let sent = cmds.iter().find_map(|cmd| match cmd {
        Cmd::Send(sent) => Some(sent),
        _ => None,
    });
    let sent = sent.expect("it is sent");
    assert_eq!((sent.draft.text(), sent.subtasks), ("Add tests".to_owned(), Some(SubtaskStart::Ask)));
}
