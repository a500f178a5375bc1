//! Whole requests, from the words to the log, with the real engine, host and database.

use trimtab_testkit::scenario::play;

#[test]
fn a_plain_request_is_answered() {
    insta::assert_snapshot!(play(
        "
        --- notes.txt
        untouched
        --- dialogue
        > hello
        ? hello
        < Hi | there.
        "
    ), @"");
}

#[test]
fn a_second_request_sees_the_first() {
    insta::assert_snapshot!(play(
        "
        > one
        < first
        > two
        ? two
        < second
        "
    ), @"");
}

#[test]
fn a_failed_call_is_made_again_and_the_answer_is_whole() {
    insta::assert_snapshot!(play(
        "
        > hello
        <! overloaded: busy
        ? hello
        < Hi.
        "
    ), @"");
}

#[test]
fn a_cut_reply_is_kept_but_is_not_the_answer() {
    insta::assert_snapshot!(play(
        "
        > hello
        <~ Hi the
        ? hello
        < Hi there.
        "
    ), @"");
}

#[test]
fn a_refused_call_fails_the_request_at_once() {
    insta::assert_snapshot!(play(
        "
        > hello
        <!! refused: no such model
        "
    ), @"");
}

#[test]
fn a_cancelled_request_keeps_the_words_and_the_next_one_knows() {
    insta::assert_snapshot!(play(
        "
        > tell me a long story
        <… Once upon | a time
        ^C
        > shorter
        ? shorter
        < The end.
        "
    ), @"");
}

#[test]
fn a_killed_program_makes_the_call_again_and_shows_what_had_come() {
    insta::assert_snapshot!(play(
        "
        > tell me a story
        <… Once upon
        ^K
        ? tell me a story
        < Once upon a time.
        "
    ), @"");
}

#[test]
fn a_program_killed_again_and_again_still_comes_to_the_end() {
    insta::assert_snapshot!(play(
        "
        > go on
        <… a
        ^K
        <… ab
        ^K
        <… abc
        ^K
        < abcd
        "
    ), @"");
}

#[test]
fn a_reply_at_the_output_limit_is_truncated() {
    insta::assert_snapshot!(play(
        "
        > list all primes
        < 2, 3, 5, [max_tokens]
        "
    ), @"");
}
