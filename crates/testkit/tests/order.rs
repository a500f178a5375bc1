//! What one turn does, in its order, and where it stops: with the real engine, host, database and files.

use trimtab_testkit::scenario::{only, play};

/// What happened, by name alone.
fn kinds(log: &str) -> String {
    let kind = |line: &str| line.split(' ').nth(1).unwrap_or_default().to_owned();
    let facts = log.lines().take_while(|line| !line.starts_with("--- "));
    facts.map(kind).collect::<Vec<_>>().join("\n")
}

#[test]
fn one_turn_runs_in_the_documented_order() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        > put beta into a.txt
        ?+ alpha
        < {"summary":"Changed.","todos":[{"text":"Change it","completed":true}],"fileChanges":[{"path":"a.txt","content":"beta\\n"}]}
        "#,
    );
    insta::assert_snapshot!(kinds(&log), @"
    session.opened
    request.received
    stage
    route
    stage
    stage
    context.loaded
    stage
    stage
    model.called
    reply.saved
    usage
    steps
    answer
    tool.started
    proposal.opened
    proposal.resolved
    change.applied
    tool.finished
    reflection
    request.finished
    ");
    assert!(log.ends_with("--- a.txt\nbeta\n"), "{log}");
}

#[test]
fn a_task_of_fewer_than_three_steps_is_done_in_one_turn_even_where_steps_are_taken_one_by_one() {
    let log = play(
        r#"
        --- dialogue
        % copilot.pace=incremental
        > rename it
        <@ set_steps {"steps":[{"text":"Rename it","completed":true},{"text":"Say so","completed":true}]}
        ?- This is enough for one turn
        < Renamed.
        "#,
    );
    insta::assert_snapshot!(only(&log, &["answer", "plan.proposed", "plan.step", "bug", "request.finished"]), @r#"
    r1 answer {"summary":"Renamed.","todos":[{"text":"Rename it","completed":true},{"text":"Say so","completed":true}],"synthesis":{"id":"synthesis_r1","text":"Renamed."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn changes_of_files_apply_at_once_or_wait_for_a_person_as_is_set() {
    let log = play(
        r#"
        % files=auto
        > make a.txt
        <@ write_file {"path":"a.txt","content":"a\n"}
        < Made.
        % files=ask
        > make b.txt
        <@ write_file {"path":"b.txt","content":"b\n"}
        = test -f a.txt && test ! -e b.txt
        ! allow
        < Made too.
        "#,
    );
    let asked: Vec<&str> = log.lines().filter(|line| line.contains(" checkpoint.opened ")).collect();
    assert_eq!(asked.len(), 1, "{log}");
    assert!(asked[0].starts_with("r2 ") && asked[0].contains(r#""title":"Create b.txt?""#), "{log}");
    assert!(log.ends_with("--- a.txt\na\n--- b.txt\nb\n"), "{log}");
}

#[test]
fn what_is_right_is_applied_and_can_be_taken_back_and_what_is_suspect_is_blocked_with_its_reason() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- b.txt
        beta
        --- dialogue
        % tools=false
        > change both
        < {"summary":"Changed.","fileChanges":[{"path":"a.txt","diff":"@@ -1 +1 @@\\n-alpha\\n+ALPHA\\n"},{"path":"b.txt","content":"// ... rest unchanged ...\\n"}]}
        ?~ b.txt was not changed
        < {"summary":"Only a.txt."}
        = grep -q ALPHA a.txt && grep -q beta b.txt
        ^B 1
        @ change.reverted
        "#,
    );
    insta::assert_snapshot!(only(&log, &["change.applied", "change.reverted", "tool.finished", "banner", "bug"]), @r#"
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Changed a.txt: +1 -1 lines."}
    r1 tool.finished {"call":"c1t2","status":"error","preview":"b.txt was not changed: The new text leaves text out: `// ... rest unchanged ...` stands for lines that would be lost. Write them all, or change less."}
    - change.reverted {"changeSet":"r1-x-c1t1","position":-1}
    --- a.txt
    alpha
    --- b.txt
    beta
    "#);
}

/// One answer changes three files, one of them twice; another changes one more; then so many changes are taken back.
fn rewound(sets: &str) -> String {
    let script = r#"
        --- a.txt
        alpha
        --- c.txt
        gone
        --- dialogue
        % tools=false
        > change @a.txt, drop @c.txt, make another
        < {"summary":"One.","fileChanges":[{"path":"a.txt","content":"beta\\n"},{"path":"new.txt","content":"new\\n"},{"path":"c.txt","delete":true},{"path":"a.txt","diff":"@@ -1 +1 @@\\n-beta\\n+gamma\\n"}]}
        ! allow
        > and one more
        < {"summary":"Two.","fileChanges":[{"path":"d.txt","content":"d\\n"}]}
        = grep -q gamma a.txt && test -f d.txt -a -f new.txt -a ! -e c.txt
        ^B SETS
        @ change.reverted
        "#;
    play(&script.replace("SETS", sets))
}

#[test]
fn all_files_that_one_answer_changes_are_one_change_and_are_taken_back_together() {
    let log = rewound("1");
    let told = |line: &str| {
        let told: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2)?).ok()?;
        Some(format!("{} at {}", told["changeSet"].as_str()?, told["position"]))
    };
    let sets: Vec<String> = only(&log, &["change.applied", "change.reverted"]).lines().filter_map(told).collect();
    let one = ["r1-x-c1t1 at 0", "r1-x-c1t1 at 0", "r1-x-c1t1 at 0", "r1-x-c1t4 at 1"];
    assert_eq!(sets, [one.as_slice(), &["r2-x-c2t1 at 2", "r2-x-c2t1 at 1"]].concat());
    assert!(log.ends_with("--- a.txt\ngamma\n--- new.txt\nnew\n"), "{log}");
    let log = rewound("3");
    assert!(log.ends_with("--- a.txt\nalpha\n--- c.txt\ngone\n"), "{log}");
}

#[test]
fn at_the_single_pace_a_person_is_asked_after_each_round_of_tools() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % copilot.pace=single
        > work on a.txt
        <@ read_file {"path":"a.txt"}
        <@ search {"pattern":"alpha"}
        ! continue
        ?~ 1\talpha
        <@ write_file {"path":"b.txt","content":"b\n"}
        ! tell that is enough
        ? that is enough
        < Well.
        > once more
        <@ search {"pattern":"beta"}
        ! stop
        "#,
    );
    insta::assert_snapshot!(only(&log, &["request.pausing", "checkpoint.opened", "checkpoint.resolved", "model.called", "answer", "request.finished"]), @r#"
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 request.pausing {}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"step","title":"Paused after this step.","choices":[{"id":"continue","label":"Continue","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Continue differently","number":2,"text":"required","role":"secondary"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"pause"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"continue","by":"user"}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r1 request.pausing {}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"step","title":"Paused after this step.","choices":[{"id":"continue","label":"Continue","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Continue differently","number":2,"text":"required","role":"secondary"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"pause"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"tell","text":"that is enough","by":"user"}
    r1 model.called {"call":"c3","model":"scripted/model","attempt":1}
    r1 answer {"summary":"Well.","synthesis":{"id":"synthesis_r1","text":"Well."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":30,"cachedTokens":0,"outputTokens":15}}
    r2 model.called {"call":"c4","model":"scripted/model","attempt":1}
    r2 request.pausing {}
    r2 checkpoint.opened {"checkpoint":"r2-k1","kind":"step","title":"Paused after this step.","choices":[{"id":"continue","label":"Continue","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Continue differently","number":2,"text":"required","role":"secondary"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"pause"}
    r2 checkpoint.resolved {"checkpoint":"r2-k1","choice":"stop","by":"user"}
    r2 request.finished {"status":"cancelled","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"reason":"stopped_by_user"}
    --- a.txt
    alpha
    --- b.txt
    b
    "#);
}

#[test]
fn at_the_single_pace_a_run_without_a_person_ends_after_one_round_and_can_go_on() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % copilot.pace=single
        % attended=false
        > look at a.txt
        <@ read_file {"path":"a.txt"}
        ! continue
        ?~ 1\talpha
        < It says alpha.
        "#,
    );
    insta::assert_snapshot!(only(&log, &["request.finished", "request.reopened", "answer"]), @r#"
    r1 request.finished {"status":"needs_user","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r1 request.reopened {}
    r1 answer {"summary":"It says alpha.","synthesis":{"id":"synthesis_r1","text":"It says alpha."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    alpha
    "#);
}

#[test]
fn the_work_is_summed_up_by_the_model_or_as_a_list_as_is_set() {
    let summed_up = |synthesis: &str| {
        let log = play(&format!(
            "--- a.txt\nalpha\n--- dialogue\n% synthesis={synthesis}\n> look\n<@ read_file {{\"path\":\"a.txt\"}}\n< It says alpha.\n"
        ));
        let line = log.lines().find(|line| line.contains(" answer ")).expect("an answer").to_owned();
        let answer: serde_json::Value = serde_json::from_str(&line["r1 answer ".len()..]).expect("JSON");
        (answer["summary"].clone(), answer["synthesis"]["text"].clone())
    };
    assert_eq!(summed_up("model"), ("It says alpha.".into(), "It says alpha.".into()));
    let list = "Based on the tool executions:\n- 1 alpha\n";
    assert_eq!(summed_up("list"), ("It says alpha.".into(), list.into()));
}

#[test]
fn the_agent_is_told_to_say_its_plan_first_and_it_is_on_record_before_the_first_tool() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > look
        ?^ Before the first tool call, say in one or two sentences what you will do.
        <+ I read a.txt and say what it holds.
        <@ read_file {"path":"a.txt"}
        < It says alpha.
        "#,
    );
    let at = |what: &str| log.find(what).unwrap_or_else(|| panic!("{what}: {log}"));
    assert!(at("I read a.txt and say what it holds.") < at("tool.started"), "{log}");
}
