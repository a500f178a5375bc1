//! Edits that somebody should look at first, and models that repeat themselves; with the real engine, host, database and
//! files.

use trimtab_testkit::scenario::{only, play_unmeasured as play};

const GREET: &str = "--- greet.py\nimport sys\n\n\ndef greet(name):\n    return \"Hello, \" + name\n\n\nif __name__ == \"__main__\":\n    print(greet(sys.argv[1]))\n    sys.exit(0)\n";

/// A script about greet.py, after its settings.
fn about_greet(settings: &str, dialogue: &str) -> String {
    let settings: String = settings.split_whitespace().map(|setting| format!("% {setting}\n")).collect();
    play(&format!("\n{GREET}--- dialogue\n{settings}{dialogue}"))
}

const READ: &str = "<@ read_file {\"path\":\"greet.py\"}\n#\n";
const REPLACE: &str = "<@ write_file {\"path\":\"greet.py\",\"content\":\"This is a new greet.py file.\\n\"}\n";

#[test]
fn a_write_that_drops_most_of_a_file_asks_although_edits_apply_automatically() {
    let log = about_greet(
        "",
        &format!("> add a farewell\n{READ}{REPLACE}! wait keep the rest\n?~ keep the rest\n< I see.\n"),
    );
    assert!(log.contains(r#""class":"doubtful","reason":"it would drop 6 of the 6 lines of greet.py""#), "{log}");
    assert!(!log.contains("change.applied"), "{log}");
    let log = about_greet("", &format!("> add a farewell\n{READ}{REPLACE}! allow\n< Done.\n"));
    assert!(log.contains("change.applied"), "a person may want it: {log}");
}

#[test]
fn without_a_person_a_doubtful_stays_open_also_under_approve_auto() {
    for settings in ["attended=false", "attended=false approve=auto"] {
        let log = about_greet(settings, &format!("> add a farewell\n{READ}{REPLACE}"));
        assert!(log.contains(r#""status":"needs_user""#) && !log.contains("change.applied"), "{settings}: {log}");
    }
    let log =
        about_greet("approve=deny", &format!("> add a farewell\n{READ}{REPLACE}?~ does not allow this\n< Well.\n"));
    assert!(!log.contains("change.applied"), "{log}");
}

#[test]
fn a_write_that_no_request_asked_for_asks() {
    let write = "<@ write_file {\"path\":\"notes.txt\",\"content\":\"notes\\n\"}\n";
    let log = about_greet("attended=false approve=auto", &format!("> Call list_files now.\n{write}"));
    assert!(log.contains(r#""class":"doubtful","reason":"the request does not ask for file changes""#), "{log}");
    assert!(log.contains(r#""status":"needs_user""#) && !log.contains("change.applied"), "{log}");
    let log = about_greet("", &format!("> Write notes.txt\n{write}#\n< Done.\n"));
    assert!(log.contains("change.applied") && !log.contains("checkpoint.opened"), "{log}");
}

#[test]
fn a_change_from_an_answer_whose_reading_was_a_guess_asks() {
    let damaged = r#"{"summary":"Made.","fileChanges":[{"path":"a.txt","content":"say "hi" now"}]}"#;
    let log = play(&format!("\n--- dialogue\n% tools=false\n% repairs=0\n> make a.txt\n< {damaged}\n! allow\n"));
    assert!(log.contains(r#""reason":"it comes from a damaged answer that had to be repaired""#), "{log}");
    assert!(log.contains(r#""mended":true"#) && log.contains("change.applied"), "{log}");
    let trailing = r#"{"summary":"Made.","fileChanges":[{"path":"a.txt","content":"hi"},],}"#;
    let log = play(&format!("\n--- dialogue\n% tools=false\n% repairs=0\n> make a.txt\n< {trailing}\n"));
    assert!(log.contains("change.applied") && !log.contains("checkpoint.opened"), "a comma is no guess: {log}");
}

#[test]
fn a_model_that_nobody_knows_asks_before_its_edits_until_the_user_says_otherwise() {
    let write = |name: &str| format!("<@ write_file {{\"path\":\"{name}\",\"content\":\"x\\n\"}}\n");
    let log = about_greet(
        "known=false",
        &format!("> make a.txt\n{}! always\n{}#\n< Done.\n", write("a.txt"), write("b.txt")),
    );
    assert!(log.contains(r#""class":"edit","reason":"scripted/model is not in the catalog"#), "{log}");
    assert_eq!(log.matches("checkpoint.opened").count(), 1, "the rule is remembered: {log}");
    assert_eq!(log.matches("change.applied").count(), 2, "{log}");
    for settings in ["known=false files_chosen=true", "known=false approve=auto", "known=true"] {
        let log = about_greet(settings, &format!("> make a.txt\n{}#\n< Done.\n", write("a.txt")));
        assert!(log.contains("change.applied") && log.contains(r#""status":"completed""#), "{settings}: {log}");
    }
    let log = about_greet("known=false attended=false", &format!("> make a.txt\n{}", write("a.txt")));
    assert!(log.contains(r#""status":"needs_user""#), "{log}");
}

#[test]
fn words_of_our_prompts_are_refused_as_the_text_of_a_file() {
    let log = play(
        r#"
        --- dialogue
        > make a.txt
        <@ write_file {"path":"a.txt","content":"the whole new file"}
        ?~ only stands for the text of the file. Send the real text
        <@ write_file {"path":"a.txt","content":"<content>"}
        ?~ only stands for the text of the file.
        <@ write_file {"path":"a.txt","content":"content\n"}
        ?~ Created a.txt
        < Done.
        "#,
    );
    assert_eq!(log.matches("change.applied").count(), 1, "{log}");
}

#[test]
fn an_answer_in_a_form_that_is_sent_again_ends_the_request() {
    let answer = r#"{"summary":"Done.","fileChanges":[{"path":"missing.txt","diff":"@@\n-a\n+b\n"}]}"#;
    let log = play(&format!("\n--- dialogue\n% tools=false\n% noop=block\n> change it\n< {answer}\n< {answer}\n"));
    assert_eq!(only(&log, &["answer"]).matches("answer {").count(), 1, "it is shown once: {log}");
    assert!(
        log.contains("The model kept repeating itself and made no progress.") && log.contains(r#""status":"not_done""#),
        "{log}"
    );
}

#[test]
fn an_answer_in_a_form_whose_change_is_there_already_is_done() {
    let answer = r#"{"summary":"Made.","fileChanges":[{"path":"a.txt","diff":"@@ -1 +1 @@\\n-omega\\n+alpha\\n"}]}"#;
    let log = play(&format!("\n--- a.txt\nalpha\n--- dialogue\n% tools=false\n> change @a.txt\n< {answer}\n"));
    assert!(log.contains("Already in place, nothing to do.") && log.contains(r#""status":"completed""#), "{log}");
}

#[test]
fn a_file_that_comes_back_as_it_was_shown_is_no_change() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        > change @a.txt
        < {"summary":"Done.","fileChanges":[{"path":"a.txt","content":"alpha\n"}]}
        ?~ what you sent for a.txt is the same as the file is now
        < {"summary":"It says alpha now."}
        "#,
    );
    assert!(log.contains(r#""status":"not_done""#), "{log}");
}

#[test]
fn words_that_announce_more_and_come_again_are_not_waited_for_any_longer() {
    play(
        "
        > work
        < Let me look at it. [stop_sequence]
        ? Continue.
        < Let me look at it. [stop_sequence]
        ",
    );
}

fn runaway() -> String {
    "She loved Stories, a creature who loved Stories. ".repeat(120)
}

#[test]
fn a_reply_that_repeats_itself_is_stopped_kept_and_tried_once_more() {
    let log = play(&format!("\n--- dialogue\n> tell a story\n< {}\n< A story.\n", runaway()));
    let saved = only(&log, &["reply.saved"]);
    assert_eq!(saved.matches("reply.saved").count(), 2, "{saved}");
    assert!(saved.contains(r#""partial":true"#) && saved.contains("She loved Stories"), "what came is kept: {saved}");
    let failed = only(&log, &["model.failed"]);
    assert!(
        failed.contains("The model repeated itself. Its reply was stopped.") && failed.contains(r#""retryInMs":0"#)
    );
    assert!(log.contains(r#""status":"completed""#), "{log}");
    let conversation = only(&log, &["answer"]);
    assert!(conversation.contains("A story.") && !conversation.contains("She loved"), "{conversation}");
}

#[test]
fn a_model_that_repeats_itself_twice_ends_the_request_with_what_it_said() {
    let log = play(&format!("\n--- dialogue\n> tell a story\n< {0}\n< {0}\n", runaway()));
    assert!(log.contains(r#""status":"failed","error":{"kind":"repetition""#), "{log}");
    assert_eq!(only(&log, &["model.called"]).matches("model.called").count(), 2, "{log}");
}

#[test]
fn a_runaway_in_the_arguments_of_a_tool_is_stopped_and_hundreds_of_equal_lines_are_written() {
    let write = |count: usize| {
        let content = "print('hello world')\\n".repeat(count);
        format!("<@ write_file {{\"path\":\"many.py\",\"content\":\"{content}\"}}\n")
    };
    let log = play(&format!("\n--- dialogue\n> write many.py\n{0}#\n{0}#\n", write(1_500)));
    assert!(log.contains(r#""status":"failed","error":{"kind":"repetition""#), "it was not stopped");
    assert!(!log.contains("change.applied"), "nothing is written");
    let log = play(&format!("\n--- dialogue\n> write many.py\n{}#\n< Done.\n", write(300)));
    assert!(log.contains("change.applied"), "{}", only(&log, &["model.failed"]));
}

#[test]
fn after_a_kill_the_second_try_is_still_the_last() {
    let log = play(&format!("\n--- dialogue\n> tell a story\n< {0}\n<… {1}\n^K\n< {0}\n", runaway(), "A sto"));
    assert!(log.contains(r#""status":"failed","error":{"kind":"repetition""#), "{log}");
}
