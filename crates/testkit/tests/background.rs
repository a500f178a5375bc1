//! Background commands as dialogues: what is recorded, what the model is told, and what a kill leaves.

use trimtab_testkit::scenario::{only, play_unmeasured as play};

const FACTS: &[&str] = &[
    "command.started",
    "command.background",
    "command.ready",
    "command.stopping",
    "command.finished",
    "tool.finished",
];

#[test]
fn a_background_command_returns_when_it_is_ready_and_is_stopped_by_the_model() {
    insta::assert_snapshot!(only(&play(
        r#"
        > start
        <@ run_command {"command":"echo ready now; sleep 1000$X","background":true,"ready":"ready now","name":"web"}
        ! allow
        @ command.background
        ?+ Running in the background as b1. It is ready.
        ?+ - b1 `echo ready now; sleep 1000$X` (web) is running and ready.
        <@ read_output {"id":"b1"}
        ?+ ready now
        <@ stop_command {"id":"b1"}
        ?+ b1 was stopped.
        < Done.
        @ request.finished
        "#
    ), FACTS), @r#"
    r1 command.started {"call":"c1t1","command":"echo ready now; sleep 1000$X","argv":["sh","-c","echo ready now; sleep 1000$X"],"cwd":"PROJECT","background":true}
    r1 command.background {"call":"c1t1","id":"b1","command":"echo ready now; sleep 1000$X","name":"web","why":"started","ref":"output-r1-c1t1"}
    r1 command.ready {"call":"c1t1","id":"b1"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Running in the background as b1. It is ready. read_output shows its output, stop_command ends it. It ends with the session at the latest.\nready now\n"}
    r1 tool.finished {"call":"c2t1","status":"ok","preview":"[b1 is running. since=10 reads what follows.]\nready now\n"}
    r1 command.stopping {"call":"c1t1","id":"b1","by":"model"}
    r1 command.finished {"call":"c1t1","command":"echo ready now; sleep 1000$X","signal":"SIGTERM","timedOut":false,"preview":"ready now\n","ref":"output-r1-c1t1","background":{"id":"b1","why":"model"}}
    r1 tool.finished {"call":"c3t1","status":"ok","preview":"b1 was stopped."}
    "#);
}

/// A command in the background was run, whatever becomes of it.
#[test]
fn a_request_to_start_something_in_the_background_is_done() {
    let log = play(
        r#"
        > Start the server
        <@ run_command {"command":"echo ready now; sleep 1001$X","background":true,"ready":"ready now"}
        ! allow
        @ command.background
        < The server runs on port 8765.
        @ request.finished
        "#,
    );
    let end = log.lines().rfind(|line| line.contains(" request.finished ")).expect("an end");
    assert!(end.contains(r#""status":"completed""#), "{log}");
}

#[test]
fn the_user_moves_a_command_to_the_background_and_stops_it_later() {
    insta::assert_snapshot!(only(&play(
        r#"
        > build
        <@ run_command {"command":"sleep 1000$X"}
        ! allow
        @ command.started
        ^G
        @ command.background
        ?+ The user moved the command to the background. It runs as b1.
        < It builds.
        ^Q b1
        @ command.finished
        > what now?
        ?+ b1 `sleep 1000$X` was stopped by the user.
        < Nothing.
        "#
    ), FACTS), @r#"
    r1 command.started {"call":"c1t1","command":"sleep 1000$X","argv":["sh","-c","sleep 1000$X"],"cwd":"PROJECT"}
    r1 command.background {"call":"c1t1","id":"b1","command":"sleep 1000$X","why":"moved","ref":"output-r1-c1t1"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"The user moved the command to the background. It runs as b1. read_output shows its output, stop_command ends it. It ends with the session at the latest."}
    r1 command.stopping {"call":"c1t1","id":"b1","by":"user"}
    r1 command.finished {"call":"c1t1","command":"sleep 1000$X","signal":"SIGTERM","timedOut":false,"preview":"","ref":"output-r1-c1t1","background":{"id":"b1","why":"user"}}
    "#);
}

#[test]
fn a_kill_ends_it_and_the_model_and_the_user_are_told() {
    insta::assert_snapshot!(only(&play(
        r#"
        > start
        <@ run_command {"command":"echo up; sleep 1000$X","background":true,"ready":"up"}
        ! allow
        @ command.background
        <… Half
        @ model.called
        ^K
        ?+ ended with Trimtab, which was interrupted. It was not started again.
        < It is gone.
        "#
    ), FACTS), @r#"
    r1 command.started {"call":"c1t1","command":"echo up; sleep 1000$X","argv":["sh","-c","echo up; sleep 1000$X"],"cwd":"PROJECT","background":true}
    r1 command.background {"call":"c1t1","id":"b1","command":"echo up; sleep 1000$X","why":"started","ref":"output-r1-c1t1"}
    r1 command.ready {"call":"c1t1","id":"b1"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Running in the background as b1. It is ready. read_output shows its output, stop_command ends it. It ends with the session at the latest.\nup\n"}
    r1 command.stopping {"call":"c1t1","id":"b1","by":"program"}
    r1 command.finished {"call":"c1t1","command":"echo up; sleep 1000$X","timedOut":false,"preview":"","background":{"id":"b1","why":"killed"}}
    "#);
}

#[test]
fn a_command_whose_time_is_up_continues_in_the_background() {
    insta::assert_snapshot!(only(&play(
        r#"
        % timeout=1
        > work
        <@ run_command {"command":"sleep 1000$X"}
        ! allow
        @ checkpoint.opened
        ! background
        @ command.background
        ?+ Its time was up. It continues in the background as b1.
        <@ stop_command {"id":"b1"}
        ?+ b1 was stopped.
        < Done.
        @ request.finished
        "#
    ), FACTS), @r#"
    r1 command.started {"call":"c1t1","command":"sleep 1000$X","argv":["sh","-c","sleep 1000$X"],"cwd":"PROJECT"}
    r1 command.background {"call":"c1t1","id":"b1","command":"sleep 1000$X","why":"overtime","ref":"output-r1-c1t1"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Its time was up. It continues in the background as b1. read_output shows its output, stop_command ends it. It ends with the session at the latest."}
    r1 command.stopping {"call":"c1t1","id":"b1","by":"model"}
    r1 command.finished {"call":"c1t1","command":"sleep 1000$X","signal":"SIGTERM","timedOut":false,"preview":"","ref":"output-r1-c1t1","background":{"id":"b1","why":"model"}}
    r1 tool.finished {"call":"c2t1","status":"ok","preview":"b1 was stopped."}
    "#);
}

#[test]
fn a_cancelled_request_leaves_its_background_commands_and_unknown_ids_are_refused() {
    play(
        r#"
        > start
        <@ run_command {"command":"echo up; sleep 1000$X","background":true,"ready":"up"}
        ! allow
        @ command.background
        <… Half
        ^C
        > is it there?
        ?+ - b1 `echo up; sleep 1000$X` is running and ready.
        <@ read_output {"id":"b7"}
        ?+ This session has no background command b7. Running: b1.
        <@ stop_command {"id":"b1"}
        ?+ b1 was stopped.
        < Done.
        "#,
    );
}
