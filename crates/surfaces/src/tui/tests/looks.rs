//! Views that cover the screen, and bars that come and go.

use serde_json::json;
use trimtab_host::{JobRow, JobState, SessionRow};
use trimtab_vocab::Time;

use super::{Stage, at_work, permission};
use crate::tui::message::{Cmd, Msg};

#[test]
fn what_took_how_long_is_a_waterfall() {
    let mut stage = Stage::new(80, 12);
    stage.said("Tidy up");
    stage.fact(json!({"type": "model.called", "call": "c0", "model": "test/model", "attempt": 1}));
    stage.now += 4_000;
    stage.fact(json!({"type": "reply.saved", "call": "c0", "message": {"role": "assistant", "parts": []},
        "usage": {"inputTokens": 1_000, "outputTokens": 204}}));
    stage.fact(json!({"type": "tool.started", "call": "c1", "name": "read_file", "input": {"path": "a.txt"}}));
    stage.now += 500;
    stage.fact(json!({"type": "tool.finished", "call": "c1", "status": "error", "preview": "no such file"}));
    stage.fact(permission());
    stage.now += 3_500;
    stage.fact(json!({"type": "checkpoint.resolved", "checkpoint": "k1", "choice": "allow", "by": "user"}));
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
    stage.key("alt-t");
    insta::assert_snapshot!(stage.view(), @"
    How long each call took
    › Tidy up                                                                  8.0 s
      model test/model               ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇                        4.0 s
      tool  Reading a.txt                              ▇▇                     500 ms
      asked Run this command? rm -r…                     ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇      3.5 s






    ↑ ↓ scroll · g first · G last · esc close
    ");
    stage.app.size.width = 20;
    for row in stage.view().lines() {
        assert!(row.chars().count() <= 20, "{row}");
    }
    stage.key("esc");
    assert!(stage.app.view.is_none());
}

fn row(id: &str, title: &str) -> SessionRow {
    SessionRow::new(id.parse().expect("a name"), "/boat".into(), title.into(), Time::from_millis(0))
}

fn sessions(stage: &mut Stage, query: &str, rows: &[(&str, &str)]) {
    let jobs = vec![JobRow {
        request: "r9".parse().expect("a name"),
        session: "s2".parse().expect("a name"),
        folder: "/boat".into(),
        text: String::new(),
        state: JobState::Running,
        served: false,
        created: Time::from_millis(0),
    }];
    let rows = rows.iter().map(|(id, title)| row(id, title)).collect();
    stage.tell(Msg::Sessions { query: query.into(), rows, jobs });
}

#[test]
fn sessions_are_searched_where_they_are_kept_and_the_last_word_counts() {
    let mut stage = Stage::new(80, 10);
    assert!(stage.key("alt-s").contains(&Cmd::LoadSessions { query: String::new() }));
    sessions(&mut stage, "", &[("s1", "Paint the hull"), ("s2", "Fix the failing test")]);
    insta::assert_snapshot!(stage.view(), @"
    Sessions in this folder
    Search:                                                                      2/2
    › Paint the hull        1s ago · current
      Fix the failing test  1s ago · running





    enter open · alt-f fork · alt-r rename · alt-x delete · alt-e export · esc close
    ");
    assert!(stage.key("o").contains(&Cmd::LoadSessions { query: "o".into() }));
    assert!(stage.key("a").contains(&Cmd::LoadSessions { query: "oa".into() }));
    sessions(&mut stage, "o", &[("s3", "Too late")]);
    assert!(!stage.view().contains("Too late"), "what was asked for before the last letter");
    sessions(&mut stage, "oa", &[("s2", "Fix the failing test")]);
    let view = stage.view();
    assert!(view.contains("Fix the failing test") && !view.contains("Paint"), "found by what was said in it: {view}");
    assert!(stage.key("enter").contains(&Cmd::Open("s2".parse().expect("a name"))));
}

#[test]
fn a_session_is_forgotten_only_after_a_second_key_and_the_one_on_the_screen_is_left_first() {
    let mut stage = Stage::new(80, 10);
    stage.key("alt-s");
    sessions(&mut stage, "", &[("s1", "Paint the hull"), ("s2", "Fix the failing test")]);
    let forgotten = |cmds: &[Cmd]| cmds.iter().any(|cmd| matches!(cmd, Cmd::Forget { .. }));
    assert!(!forgotten(&stage.key("alt-x")));
    assert!(stage.view().contains("Forget “Paint the hull”?"), "{}", stage.view());
    assert!(!forgotten(&stage.key("q")));
    stage.key("esc");
    assert!(stage.view().contains("Fix the failing test"), "{}", stage.view());
    stage.key("alt-x");
    let cmds = stage.key("y");
    assert_eq!(cmds[0], Cmd::New, "{cmds:?}");
    assert!(forgotten(&cmds) && stage.app.session.is_none());
    stage.tell(Msg::Failed(trimtab_vocab::Problem::new(trimtab_vocab::ProblemKind::Store, "It is in use.")));
    assert!(stage.view().contains("It is in use."), "{}", stage.view());
}

#[test]
fn the_bar_of_an_answer_is_there_only_while_its_beginning_is_not() {
    for (lines, is_there) in [(2, false), (12, true)] {
        let mut stage = Stage::new(80, 20);
        stage.said("Explain");
        let text: String = (0..lines).map(|number| format!("Line {number}.\n\n")).collect();
        stage.fact(json!({"type": "model.called", "call": "c0", "model": "test/model", "attempt": 1}));
        stage.fact(json!({"type": "reply.delta", "call": "c0", "text": text}));
        stage.fact(json!({"type": "answer", "summary": text, "sections": [], "todos": [], "fileChanges": [],
            "commands": [], "nextSteps": []}));
        stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
        stage.screen();
        let screen = stage.screen();
        assert_eq!(screen.contains("See details"), is_there, "{screen}");
        assert_ne!(screen.contains("\nLine 0."), is_there, "{screen}");
    }
}

#[test]
fn a_change_that_failed_is_not_called_a_change() {
    let mut stage = Stage::new(80, 20);
    at_work(&mut stage);
    stage.fact(json!({"type": "tool.started", "call": "c5", "name": "edit_file", "input": {"path": "a.txt"}}));
    stage.fact(json!({"type": "tool.finished", "call": "c5", "status": "error", "preview": "a.txt was not changed"}));
    let screen = stage.screen();
    assert!(screen.contains("✗ Could not change a.txt"), "{screen}");
}

#[test]
fn an_edit_that_was_in_place_already_is_not_called_a_change() {
    let mut stage = Stage::new(80, 20);
    at_work(&mut stage);
    stage.fact(json!({"type": "tool.started", "call": "c5", "name": "edit_file", "input": {"path": "a.txt"}}));
    stage.fact(json!({"type": "tool.finished", "call": "c5", "status": "ok", "preview": "Already in place."}));
    let screen = stage.screen();
    assert!(screen.contains("● No change needed in a.txt"), "{screen}");
}

#[test]
fn an_answer_has_its_sections_its_programs_and_what_was_done() {
    let mut stage = Stage::new(60, 40);
    stage.said("Mend it");
    stage.fact(json!({"type": "change.applied", "changeSet": "x1", "position": 0, "files": [
        {"path": "src/a.rs", "added": 3, "removed": 1, "modified": 1, "isNew": false, "isDeleted": false}]}));
    for code in [0, 1] {
        stage.fact(
            json!({"type": "command.finished", "command": "make", "exitCode": code, "timedOut": false, "preview": ""}),
        );
    }
    stage.fact(json!({"type": "answer", "summary": "Mended.", "todos": [], "fileChanges": [], "commands": [],
        "sections": [{"heading": "Why", "content": "It was *wrong*.", "codeBlocks": []},
            {"heading": "How", "content": "Like this:", "codeBlocks": [{"language": "rust", "code": "let a = 1;\n"}]}],
        "nextSteps": [{"html": "Test it", "inputText": "Run the tests"}]}));
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {"inputTokens": 38_000,
        "outputTokens": 16}}));
    insta::assert_snapshot!(stage.screen(), @"
    › Mend it

    • Changed src/a.rs

    Mended.

    Why
    It was wrong.

    How
    Like this:

      let a = 1;

    → alt-1 Test it: “Run the tests”

    ✓ Done · 38,016 tokens
      Changed src/a.rs (+3 −1) · ran 2 commands, 1 failed
    ────────────────────────────────────────────────────────────
    › Ask Trimtab to do something…
    auto · standard · model · ~/boat · ⎇ main             ? help
    ");
}

#[test]
fn an_answer_in_a_form_is_words_as_it_comes_and_no_json() {
    let mut stage = Stage::new(60, 16);
    let facts = json!({"window": 1000, "maxOutput": 100, "tools": false, "images": false, "thinking": false});
    stage.fact(json!({"type": "request.received", "text": "Mend it", "settings": {"model": "a/b", "facts": facts}}));
    stage.fact(json!({"type": "model.called", "call": "c1", "model": "a/b", "attempt": 1}));
    stage.fact(json!({"type": "reply.delta", "call": "c1", "text": "{\"summary\": \"It is men"}));
    let screen = stage.screen();
    assert!(screen.contains("It is men") && !screen.contains("summary"), "{screen}");
    let form = "{\"summary\": \"It is mended.\", \"nextSteps\": []}";
    stage.fact(json!({"type": "reply.delta", "call": "c1", "text": &form[22..]}));
    let saved = |call: &str, text: &str| json!({"type": "reply.saved", "call": call, "message": {"role": "assistant", "parts": [{"type": "text", "text": text}]}});
    stage.fact(saved("c1", form));
    stage.fact(json!({"type": "answer", "summary": "It is mended."}));
    // What decides on commands has no words for the person.
    stage.fact(saved("c2", "{\"verdict\":\"continue\"}"));
    insta::assert_snapshot!(stage.screen(), @"
    › Mend it

    It is mended.

    ⠋ Writing... 0.0 s · ~11 tokens  esc stops
    ────────────────────────────────────────────────────────────
    › Steer the running request…
    auto · standard · b · ~/boat · ⎇ main                 ? help
    ");
}

#[test]
fn after_a_talk_one_key_goes_over_to_the_work() {
    let mut stage = Stage::new(100, 20);
    stage.app.status.mode = trimtab_vocab::Mode::Chat;
    assert!(!stage.screen().contains("starts the work"), "nothing was said yet");
    stage.said("Let us think about a log-in");
    assert!(!stage.screen().contains("starts the work"), "it is being answered");
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
    assert!(stage.screen().contains("alt-i starts the work"), "{}", stage.screen());
    let cmds = stage.key("alt-i");
    let is_sent = |cmd: &Cmd| matches!(cmd, Cmd::Send(outgoing) if outgoing.mode == trimtab_vocab::Mode::Implement);
    assert!(cmds.iter().any(is_sent), "{cmds:?}");
}

#[test]
fn talk_that_comes_first_by_a_setting_goes_over_by_the_same_key_unless_that_is_off() {
    let offered = |copilot: serde_json::Value, mode: &str, decision: &str| {
        let mut stage = Stage::new(100, 20);
        stage.app.status.mode = if mode == "chat" { trimtab_vocab::Mode::Chat } else { trimtab_vocab::Mode::Auto };
        stage.fact(
            json!({"type": "request.received", "text": "A log-in", "mode": mode, "settings": {"copilot": copilot}}),
        );
        stage.fact(json!({"type": "route", "decision": decision, "confidence": 1.0, "complexity": 0, "categories": [],
            "reason": ""}));
        stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
        stage.screen().contains("alt-i starts the work")
    };
    assert!(offered(json!({"conversational": true}), "auto", "chat"));
    assert!(!offered(json!({"conversational": true}), "auto", "direct"), "the work is done");
    assert!(!offered(json!({}), "auto", "chat"), "an answer in words is no talk");
    assert!(offered(json!({}), "chat", "chat"));
    let off = json!({"conversational": true, "allow_execution_transition": false});
    assert!(!offered(off.clone(), "auto", "chat") && !offered(off, "chat", "chat"));
}

#[test]
fn how_to_pause_is_told_unless_that_is_off() {
    for enabled in [true, false] {
        let mut stage = Stage::new(100, 20);
        stage.fact(
            json!({"type": "request.received", "text": "Work", "settings": {"copilot": {"pause_enabled": enabled}}}),
        );
        for call in ["c1", "c2"] {
            stage.fact(json!({"type": "model.called", "call": call, "model": "test/model", "attempt": 1}));
        }
        assert_eq!(stage.screen().contains("alt-p pauses"), enabled, "{}", stage.screen());
    }
}

#[test]
fn a_session_is_forked_before_anything_that_was_said() {
    let mut stage = Stage::new(80, 12);
    stage.said("Paint the hull");
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
    stage.fact_of("r2", json!({"type": "request.received", "text": "In red", "settings": {}}));
    stage.fact_of("r2", json!({"type": "request.finished", "status": "completed", "usage": {}}));
    stage.write("/fork");
    stage.key("enter");
    let view = stage.view();
    let places: Vec<&str> = view.lines().skip(2).take(3).map(str::trim_start).collect();
    assert!(places[0].starts_with("› At the end"), "{view}");
    assert_eq!(places[1..], ["Before: In red", "Before: Paint the hull"], "the latest first");
    stage.key("down");
    let session: trimtab_vocab::SessionId = "s1".parse().expect("a name");
    let cmds = stage.key("enter");
    let before = Cmd::Fork { session, at: Some(2), words: Some("In red".into()) };
    assert!(cmds.contains(&before), "{cmds:?}");
    let cmds = stage.tell(Msg::Forked { session: "s5".parse().expect("a name"), words: Some("In red".into()) });
    assert!(cmds.contains(&Cmd::Open("s5".parse().expect("a name"))), "{cmds:?}");
    assert_eq!(stage.app.composer.draft().text(), "In red", "to be said in another way");
}

#[test]
fn a_session_can_be_named_forked_and_written_into_a_file_from_the_list() {
    let mut stage = Stage::new(80, 10);
    stage.key("alt-s");
    sessions(&mut stage, "", &[("s2", "Fix the failing test")]);
    let session: trimtab_vocab::SessionId = "s2".parse().expect("a name");
    assert!(stage.key("alt-e").contains(&Cmd::Export(session.clone())));
    assert!(stage.key("alt-f").contains(&Cmd::Fork { session: session.clone(), at: None, words: None }));
    stage.key("alt-r");
    stage.write("s");
    assert!(stage.view().contains("Fix the failing tests"), "{}", stage.view());
    let named = Cmd::Rename { session, title: "Fix the failing tests".into(), query: String::new() };
    let cmds = stage.key("enter");
    assert!(cmds.contains(&named), "{cmds:?}");
    stage.tell(Msg::Told("Renamed the session to “Fix the failing tests”.".into()));
    assert!(stage.view().contains("to “Fix the failing tests”"), "{}", stage.view());
}

#[test]
fn an_answer_that_leaves_a_banner_out_is_shown_once_and_without_it() {
    for words in ["✅ GOAL ACHIEVED\nAll is mended.", "All is mended."] {
        let mut stage = Stage::new(60, 20);
        stage.said("Mend it");
        stage.fact(json!({"type": "reply.saved", "call": "c1", "stopReason": "end_turn", "usage": {},
            "message": {"role": "assistant", "parts": [{"type": "text", "text": words}]}}));
        stage.fact(json!({"type": "answer", "summary": "All is mended."}));
        stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
        let screen = stage.screen();
        assert_eq!(screen.matches("All is mended.").count(), 1, "{screen}");
        assert!(!screen.contains("GOAL"), "{screen}");
    }
    // What is printed already stays, and is not said again.
    let mut stage = Stage::new(60, 20);
    stage.said("Mend it");
    stage.fact(json!({"type": "reply.delta", "call": "c1", "text": "✅ GOAL ACHIEVED\n\nAll is mended.\n\nBy me."}));
    stage.screen();
    stage.fact(json!({"type": "reply.saved", "call": "c1", "stopReason": "end_turn", "usage": {}, "message":
        {"role": "assistant", "parts": [{"type": "text", "text": "✅ GOAL ACHIEVED\n\nAll is mended.\n\nBy me."}]}}));
    stage.fact(json!({"type": "answer", "summary": "All is mended.\n\nBy me."}));
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
    let screen = stage.screen();
    assert_eq!(screen.matches("All is mended.").count(), 1, "{screen}");
}

#[test]
fn the_time_that_a_question_waits_is_not_that_of_its_tool() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    stage.asked(permission());
    stage.now += 5_000;
    stage.fact(json!({"type": "checkpoint.resolved", "checkpoint": "k1", "choice": "allow", "by": "user"}));
    stage.now += 200;
    stage.fact(json!({"type": "tool.finished", "call": "c1", "status": "ok", "preview": "x"}));
    let now = Time::from_millis(stage.now);
    let spans: Vec<(&str, i64)> = stage.app.trace.spans().map(|span| (span.kind, span.millis(now))).collect();
    assert_eq!(spans.last(), Some(&("asked", 6_000)));
    assert!(spans.contains(&("tool", 200)), "{spans:?}");
}
