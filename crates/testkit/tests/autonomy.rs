//! Levels of autonomy in a session: chosen before, during, and after a request, kept by a kill, and handed on; with the
//! real engine, host, database and files.

use trimtab_testkit::scenario::{only, play_unmeasured as play};

const KINDS: [&str; 5] =
    ["session.autonomy", "checkpoint.opened", "checkpoint.resolved", "command.started", "change.applied"];

/// What happened, without what each fact holds.
fn kinds(log: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().find(|word| KINDS.contains(word)).map(str::to_owned);
    only(log, &KINDS).lines().filter_map(words).collect()
}

#[test]
fn a_level_that_is_lowered_during_a_request_counts_for_its_next_call() {
    let log = play(
        r#"
--- dialogue
> do it
<@ write_file {"path":"a.txt","content":"a\n"}
#
<… I will
^L careful
^K
<@ write_file {"path":"b.txt","content":"b\n"}
! allow
< Done.
"#,
    );
    let expected = ["change.applied", "session.autonomy", "checkpoint.opened", "checkpoint.resolved", "change.applied"];
    assert_eq!(kinds(&log), expected, "{log}");
    assert!(log.contains(r#""autonomy":"careful""#), "the question knows its level: {log}");
}

#[test]
fn a_level_stays_in_force_for_the_next_request_and_in_a_fork() {
    let log = play(
        r#"
--- dialogue
> hello
< Hi.
^L careful
> write a.txt
<@ write_file {"path":"a.txt","content":"a\n"}
! allow
< Done.
^F answer
> write b.txt
<@ write_file {"path":"b.txt","content":"b\n"}
! allow
< Done.
"#,
    );
    assert_eq!(kinds(&log).iter().filter(|kind| *kind == "checkpoint.opened").count(), 3, "once in the copy: {log}");
}

#[test]
fn a_level_is_handed_on_with_the_work() {
    let log = play(
        r#"
--- dialogue
> hello
< Hi.
^L careful
> thanks
< You are welcome.
^H
@ session.handoff
> write b.txt
<@ write_file {"path":"b.txt","content":"b\n"}
! allow
< Done.
"#,
    );
    assert!(log.contains(r#"session.autonomy {"level":"careful","by":"engine"}"#), "{log}");
    assert!(kinds(&log).contains(&"checkpoint.opened".to_owned()), "{log}");
}

#[test]
fn a_raise_does_not_answer_an_open_question() {
    let log = play(
        r#"
--- dialogue
% autonomy=careful
> write a.txt
<@ write_file {"path":"a.txt","content":"a\n"}
^L trusting
! allow
<@ write_file {"path":"b.txt","content":"b\n"}
#
< Done.
"#,
    );
    let expected = ["checkpoint.opened", "session.autonomy", "checkpoint.resolved", "change.applied", "change.applied"];
    assert_eq!(kinds(&log), expected, "{log}");
    assert!(log.contains(r#""choice":"allow","by":"user""#), "{log}");
}

#[test]
fn a_limit_of_the_project_holds_for_every_choice() {
    let log = play(
        r#"
--- dialogue
% autonomy_limit=careful
> hello
< Hi.
^L trusting
> write a.txt
<@ write_file {"path":"a.txt","content":"a\n"}
! allow
< Done.
"#,
    );
    assert!(kinds(&log).contains(&"checkpoint.opened".to_owned()), "{log}");
}
