//! Pills, tags, and a new message while a request runs, with the real engine, host and database.

use trimtab_testkit::scenario::play;

/// Only the lines of these kinds.
fn only(log: &str, kinds: &[&str]) -> String {
    let wanted = |line: &&str| kinds.contains(&line.split(' ').nth(1).unwrap_or_default());
    log.lines().filter(wanted).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_pill_costs_no_router_call_and_what_it_sends_is_recorded_in_full() {
    let log = play(
        r#"
        --- .trimtab/pills/review.md
        ---
        description: Review a file
        arguments: <file>
        categories: [files]
        ---
        Review $1 line by line.
        Say what is wrong.
        --- dialogue
        % copilot.intelligent_routing=aggressive
        > /review a.rs #careful
        ?- You classify a request
        ?+ Review a.rs line by line.
        ?+ Say what is wrong.
        ? #careful
        ?- /review
        < It is fine.
        "#,
    );
    insta::assert_snapshot!(only(&log, &["request.received", "route", "model.called", "answer"]), @r#"
    r1 request.received {"text":"/review a.rs #careful","mode":"auto","tags":["careful"],"pill":{"name":"review","from":"PROJECT/.trimtab/pills/review.md","text":"Review a.rs line by line.\nSay what is wrong.\n\n#careful","mode":"auto","categories":["files"]}}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files"],"reason":"the request starts the pill /review"}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 answer {"summary":"It is fine."}
    "#);
}

#[test]
fn a_pill_narrows_the_tools_and_the_model_is_told_so() {
    let log = play(
        r#"
        --- .trimtab/pills/look.md
        ---
        tools: [read_file, search]
        ---
        Look at it.
        --- a.txt
        hello
        --- dialogue
        > /look
        <@ run_command {"command":"rm a.txt"}
        <@ write_file {"path":"b.txt","content":"x"}
        <@ read_file {"path":"a.txt"}
        #
        ?~ The user's workflow /look does not allow run_command. It allows: read_file, search, set_steps, ask_user, read_ref.
        ?~ The user's workflow /look does not allow write_file.
        ?~ hello
        < Seen.
        "#,
    );
    insta::assert_snapshot!(only(&log, &["tool.finished", "request.finished"]), @r#"
    r1 tool.finished {"call":"c1t1","status":"blocked","preview":"The user's workflow /look does not allow run_command. It allows: read_file, search, set_steps, ask_user, read_ref."}
    r1 tool.finished {"call":"c1t2","status":"blocked","preview":"The user's workflow /look does not allow write_file. It allows: read_file, search, set_steps, ask_user, read_ref."}
    r1 tool.finished {"call":"c1t3","status":"ok","preview":"1\thello"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
    assert!(log.contains("--- a.txt") && !log.contains("--- b.txt"), "{log}");
}

#[test]
fn a_pill_may_choose_the_path() {
    let log = play(
        r#"
        --- .trimtab/pills/talk.md
        ---
        mode: chat
        ---
        Let us talk.
        --- dialogue
        > /talk about it
        ?^ This turn is a conversation
        ? about it
        < Gladly.
        "#,
    );
    assert!(log.contains(r#"r1 route {"decision":"chat""#), "{log}");
}

#[test]
fn the_pills_of_a_folder_that_is_not_trusted_are_ordinary_words() {
    let log = play(
        r#"
        --- .trimtab/pills/review.md
        ---
        ---
        Send everything.
        --- dialogue
        % trusted=false
        > /review it
        ? /review it
        ?- Send everything.
        < What do you mean?
        > /etc/hosts is a file
        ? /etc/hosts is a file
        < It is.
        "#,
    );
    assert!(!log.contains(r#""pill""#), "{log}");
}

#[test]
fn tags_are_recorded_and_some_choose_the_path() {
    let log = play(
        r#"
        --- dialogue
        % copilot.intelligent_routing=aggressive
        > Compare two formats #research #Formats
        ?+ Compare two formats #research #Formats
        ?- You classify a request
        < Done.
        > How would you do it? #plan
        ?+ This is plan mode
        <@ propose_plan {"steps":[{"title":"Do it"}]}
        "#,
    );
    insta::assert_snapshot!(only(&log, &["request.received", "route"]), @r#"
    r1 request.received {"text":"Compare two formats #research #Formats","mode":"auto","tags":["research","formats"]}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","web"],"reason":"the request has the tag #research"}
    r2 request.received {"text":"How would you do it? #plan","mode":"auto","tags":["plan"]}
    r2 route {"decision":"plan","confidence":1.0,"complexity":0,"categories":["files"],"reason":"the request has the tag #plan"}
    "#);
}

const BUSY: &[&str] = &[
    "request.received",
    "request.joined",
    "request.steered",
    "request.stopping",
    "checkpoint.resolved",
    "banner",
    "answer",
    "request.finished",
];

#[test]
fn a_message_to_a_request_that_runs_reaches_the_model_at_its_next_step() {
    let log = play(
        r#"
        --- dialogue
        % while_running=steer
        % approve=auto
        > Begin
        <@ run_command {"command":"sleep 0.3"}
        #
        ? only the tests #tests
        < Only the tests, then.
        @ command.started
        > only the tests #tests
        "#,
    );
    insta::assert_snapshot!(only(&log, BUSY), @r#"
    r1 request.received {"text":"Begin","mode":"auto"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"approve auto"}
    r2 request.joined {"text":"only the tests #tests","into":"r1","tags":["tests"]}
    r1 request.steered {"text":"only the tests #tests","by":"user"}
    r1 answer {"summary":"Only the tests, then.","synthesis":{"id":"synthesis_r1","text":"Only the tests, then."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn a_message_after_the_end_is_a_request_of_its_own_whatever_it_was_to_do() {
    for what in ["steer", "queue", "replace"] {
        let script = format!("\n--- dialogue\n% while_running={what}\n> One\n< 1.\n> Two\n? Two\n< 2.\n");
        let log = play(&script);
        assert!(log.contains(r#"r2 answer {"summary":"2."}"#), "{what}: {log}");
        assert!(!log.contains("request.joined") && !log.contains("banner"), "{what}: {log}");
    }
}

#[test]
fn a_message_may_wait_for_the_end_and_says_so() {
    let log = play(
        r#"
        --- dialogue
        % while_running=queue
        % approve=auto
        > One
        <@ run_command {"command":"sleep 0.3"}
        #
        ?- Two
        < 1.
        ? Two
        < 2.
        @ command.started
        > Two
        "#,
    );
    insta::assert_snapshot!(only(&log, BUSY), @r#"
    r1 request.received {"text":"One","mode":"auto"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"approve auto"}
    r2 request.received {"text":"Two","mode":"auto"}
    r2 banner {"level":"info","text":"Queued until the request before it ends."}
    r1 answer {"summary":"1.","synthesis":{"id":"synthesis_r1","text":"1."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    r2 answer {"summary":"2."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_message_may_take_the_place_of_what_runs_before_whatever_waits() {
    let log = play(
        r#"
        --- dialogue
        > One
        <… Hal
        @ model.called
        > Two
        @ stage
        % while_running=replace
        > Three
        ?+ One
        ? Three
        < 3.
        ? Two
        < 2.
        @ answer
        @ answer
        @ request.finished
        "#,
    );
    insta::assert_snapshot!(only(&log, BUSY), @r#"
    r1 request.received {"text":"One","mode":"auto"}
    r2 request.received {"text":"Two","mode":"auto"}
    r3 request.received {"text":"Three","mode":"auto","whileRunning":"replace"}
    r1 request.stopping {}
    r1 banner {"level":"info","text":"[Conversation interrupted]"}
    r1 request.finished {"status":"cancelled","usage":{"cachedTokens":0,"outputTokens":0,"estimated":true}}
    r3 answer {"summary":"3."}
    r3 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 answer {"summary":"2."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn words_answer_the_one_question_that_is_open() {
    for (said, told) in [("Green, please", "The user answers: Green, please"), ("red", "The user chooses: Red")] {
        let script = format!(
            "\n--- dialogue\n% while_running=steer\n% attended=false\n> Paint it\n\
             <@ ask_user {{\"question\":\"Which colour?\",\"options\":[\"Red\",\"Blue\"]}}\n#\n?~ {told}\n< Painted.\n> {said}\n"
        );
        let log = play(&script);
        assert!(log.contains("r2 request.joined"), "{log}");
        assert!(log.contains(r#"r1 answer {"summary":"Painted.""#), "{log}");
        assert!(!log.contains("r2 request.received"), "{log}");
    }
}

#[test]
fn words_never_give_a_permission_and_are_kept_until_it_is_given() {
    let log = play(
        r#"
        --- dialogue
        % while_running=steer
        % attended=false
        > Run it
        <@ run_command {"command":"echo hi > a.txt"}
        #
        ? yes, do it
        < Ran.
        > yes, do it
        @ request.steered
        = test ! -e a.txt
        ! allow
        "#,
    );
    insta::assert_snapshot!(only(&log, BUSY), @r#"
    r1 request.received {"text":"Run it","mode":"auto"}
    r1 request.finished {"status":"needs_user","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 request.joined {"text":"yes, do it","into":"r1"}
    r1 request.steered {"text":"yes, do it","by":"user"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 answer {"summary":"Ran.","synthesis":{"id":"synthesis_r1","text":"Ran."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn a_message_that_was_taken_in_survives_a_kill() {
    let log = play(
        r#"
        --- dialogue
        % while_running=steer
        > Begin
        <… Hal
        @ model.called
        > and the tests
        @ request.joined
        ^K
        ?+ Begin
        ? and the tests
        < Both.
        "#,
    );
    insta::assert_snapshot!(only(&log, BUSY), @r#"
    r1 request.received {"text":"Begin","mode":"auto"}
    r2 request.joined {"text":"and the tests","into":"r1"}
    r1 request.steered {"text":"and the tests","by":"user"}
    r1 answer {"summary":"Both."}
    r1 request.finished {"status":"completed","usage":{"cachedTokens":0,"outputTokens":5,"estimated":true}}
    "#);
}
