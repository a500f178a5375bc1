//! Answers of models without tools that are damaged, cut off, or without effect.

use trimtab_testkit::scenario::{only, play};

/// Where the content ends cannot be told by the rules: an odd number of marks.
const DAMAGED: &str =
    r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5" long"},{"path":"b.txt","content":"x"}]}"#;
const REPAIRED: &str =
    r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5\" long"},{"path":"b.txt","content":"x"}]}"#;

const SHOWN: &[&str] = &[
    "stage",
    "model.called",
    "model.failed",
    "bug",
    "banner",
    "answer",
    "checkpoint.opened",
    "change.applied",
    "tool.finished",
    "request.finished",
];

#[test]
fn what_the_rules_cannot_read_a_model_repairs_once() {
    let log = play(&format!(
        "
        % tools=false
        % repairs=1
        > make two files
        < {DAMAGED}
        ?^ You repair damaged JSON.
        ?~ Errors:\\n- Not JSON: expected `,` or `}}` at line 1 column 64.\\n- fileChanges: something in it could not be read
        ? {DAMAGED}
        < {REPAIRED}
        ! allow
        ! allow
        "
    ));
    insta::assert_snapshot!(only(&log, SHOWN), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"intake","label":"📂 Loaded 1 file"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 stage {"stage":"repairing","label":"Repairing the answer..."}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1,"purpose":"repair"}
    r1 bug {"kind":"JSON","by":"script","message":"Auto-detected: Response required JSON cleanup"}
    r1 answer {"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5\" long"},{"path":"b.txt","content":"x"}],"recovered":["unescaped quotation mark kept","repaired by a model, and checked against what was said"],"mended":true}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Create a.txt?","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c2t1","tool":"write_file","input":{"path":"a.txt","content":"5\" long"},"class":"doubtful","reason":"it comes from a damaged answer that had to be repaired","ruleText":"allow edit_file: a.txt (in PROJECT)","rule":{"verdict":"allow","tool":"edit_file","pattern":"a.txt"},"proposal":"r1-p-c2t1"}
    r1 change.applied {"changeSet":"r1-x-c2t1","position":0,"files":[{"path":"a.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 tool.finished {"call":"c2t1","status":"ok","preview":"Created a.txt (1 lines)."}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"Create b.txt?","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c2t2","tool":"write_file","input":{"path":"b.txt","content":"x"},"class":"doubtful","reason":"it comes from a damaged answer that had to be repaired","ruleText":"allow edit_file: b.txt (in PROJECT)","rule":{"verdict":"allow","tool":"edit_file","pattern":"b.txt"},"proposal":"r1-p-c2t2"}
    r1 change.applied {"changeSet":"r1-x-c2t1","position":0,"files":[{"path":"b.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 tool.finished {"call":"c2t2","status":"ok","preview":"Created b.txt (1 lines)."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    5" long--- b.txt
    x
    "#);
}

#[test]
fn without_repair_no_call_is_made_and_the_person_decides() {
    let log = play(&format!(
        "
        % tools=false
        % repairs=0
        > make two files
        < {DAMAGED}
        ! continue
        "
    ));
    insta::assert_snapshot!(only(&log, SHOWN), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"intake","label":"📂 Loaded 1 file"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 bug {"kind":"JSON","by":"script","message":"Auto-detected: Response required JSON cleanup"}
    r1 banner {"level":"warning","text":"⚠ AI response had errors - Recovery succeeded!"}
    r1 banner {"level":"warning","text":"Recovered: 1 file change(s)."}
    r1 banner {"level":"warning","text":"The content below may be incomplete."}
    r1 banner {"level":"warning","text":"🚫 BLOCKED: 1 file change(s) from damaged response."}
    r1 banner {"level":"warning","text":"A change could not be read reliably. NO changes have been applied."}
    r1 answer {"summary":"Two.","fileChanges":[{"path":"b.txt","content":"x"}],"blocked":true,"recovered":["unescaped quotation mark kept","fileChanges: left out, not certain"],"mended":true,"incomplete":true}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"recovery","title":"AI response had errors","choices":[{"id":"retry","label":"🔄 Retry","number":1,"text":"optional","role":"primary"},{"id":"continue","label":"✓ Continue","number":2,"text":"optional","role":"primary"}],"about":"recovery","blockedChanges":1}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

/// Plays the damaged answer with a repair that comes to this.
fn repaired_with(reply: &str) -> String {
    play(&format!(
        "
        % tools=false
        % repairs=1
        > make two files
        < {DAMAGED}
        ?^ You repair damaged JSON.
        {reply}
        ! continue
        "
    ))
}

#[test]
fn a_repair_that_fails_lies_or_is_cut_changes_nothing() {
    let replies = [
        "<!! refused: no",
        "<! overloaded: busy",
        "<! timeout: nothing was heard for 300 seconds",
        "<~ {\"summary\":\"Tw",
        "< I cannot do that.",
        "< {\"summary\":\"Two.\",\"fileChanges\":[{\"path\":\"a.txt\",\"content\":\"evil\"},{\"path\":\"b.txt\",\"content\":\"x\"}]}",
        "< {\"summary\":\"Two.\",\"fileChanges\":[{\"path\":\"a.txt\",\"delete\":true},{\"path\":\"b.txt\",\"content\":\"x\"}]}",
        "< {\"summary\":\"Two.\",\"fileChanges\":[{\"path\":\"b.txt\",\"content\":\"x\"}],\"commands\":[{\"command\":\"rm -rf ~\"}]}",
        "< {\"summary\":\"Two.\",\"fileChanges\":[{\"path\":\"a.txt\",\"content\":\"5 [max_tokens]",
    ];
    for reply in replies {
        let log = repaired_with(reply);
        assert_eq!(log.matches("model.called").count(), 2, "{reply}: {log}");
        assert!(log.contains("🚫 BLOCKED: 1 file change(s) from damaged response."), "{reply}: {log}");
        assert!(log.contains(r#""title":"AI response had errors""#), "{reply}: {log}");
        assert!(!log.contains("change.applied") && !log.contains("command.started"), "{reply}: {log}");
        assert!(log.contains(r#"request.finished {"status":"completed""#), "{reply}: {log}");
    }
}

#[test]
fn a_repair_goes_on_after_the_program_was_killed() {
    let log = play(&format!(
        "
        % tools=false
        % repairs=1
        > make two files
        < {DAMAGED}
        <… {{\"summary\":
        ^K
        ?^ You repair damaged JSON.
        < {REPAIRED}
        ! allow
        ! allow
        "
    ));
    let called: Vec<&str> = log.lines().filter(|line| line.contains("model.called")).collect();
    assert_eq!(called.iter().filter(|line| line.contains(r#""purpose":"repair""#)).count(), 2, "{log}");
    assert!(log.contains("--- a.txt\n5\" long--- b.txt\nx"), "{log}");
}

#[test]
fn a_repair_can_be_cancelled_and_leaves_the_conversation_whole() {
    let log = play(&format!(
        "
        % tools=false
        % repairs=1
        > make two files
        < {DAMAGED}
        <… {{\"summary\":
        ^C
        > and now
        ?- You repair
        ?- 5\\\" long
        < {{\"summary\":\"Well.\"}}
        "
    ));
    assert!(log.contains(r#"r1 request.finished {"status":"cancelled""#), "{log}");
    assert!(log.contains(r#"r2 request.finished {"status":"completed""#), "{log}");
    assert!(!log.contains("change.applied"), "{log}");
}

#[test]
fn a_cut_answer_is_not_repaired() {
    let log = play(
        r#"
        % tools=false
        % repairs=1
        > make files
        < {"summary":"Making.","fileChanges":[{"path":"a.txt","content":"5" long"},{"path":"b.txt","content":"b"
        ! continue
        "#,
    );
    assert_eq!(log.matches("model.called").count(), 1, "{log}");
    assert!(log.contains("Response was truncated!") && !log.contains("change.applied"), "{log}");
}

#[test]
fn an_answer_of_which_nothing_can_be_read_can_only_be_tried_again() {
    let log = play(
        r#"
        % tools=false
        > say something
        < {"summary": "a" "b"}
        ! retry
        ? [Your last reply was cut off, and none of it was applied. Send it again, complete, or in smaller parts.]
        < {"summary":"Better."}
        "#,
    );
    insta::assert_snapshot!(only(&log, &["bug", "banner", "answer", "checkpoint.opened", "request.finished"]), @r#"
    r1 bug {"kind":"JSON","by":"script","message":"Auto-detected: Response could not be read"}
    r1 banner {"level":"error","text":"The AI response could not be read. Nothing was applied."}
    r1 answer {"summary":"{\"summary\": \"a\" \"b\"}","blocked":true}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"recovery","title":"AI response had errors","choices":[{"id":"retry","label":"🔄 Retry","number":1,"text":"optional","role":"primary"}],"about":"recovery","blockedChanges":0}
    r1 answer {"summary":"Better."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn next_steps_as_plain_texts_are_read_and_leave_a_bug() {
    let log = play(
        r#"
        % tools=false
        > say something
        < {"summary":"Said.","nextSteps":["run tests"]}
        "#,
    );
    insta::assert_snapshot!(only(&log, &["bug", "answer"]), @r#"
    r1 bug {"kind":"Other","by":"script","message":"Auto-detected: nextSteps were plain texts, not objects with html and inputText"}
    r1 answer {"summary":"Said.","nextSteps":[{"html":"run tests","inputText":"run tests"}],"recovered":["nextSteps: plain text in place of an object"]}
    "#);
}

const CUT: &str =
    r#"{"summary":"Making.","fileChanges":[{"path":"a.txt","content":"a"},{"path":"b.txt","content":"b [max_tokens]"#;

#[test]
fn at_the_output_limit_a_request_can_simply_stop() {
    let log = play(&format!(
        "
        % tools=false
        % on_max_tokens=stop
        > make files
        < {CUT}
        "
    ));
    assert!(log.contains("🚫 BLOCKED: 1 file change(s) from truncated response."), "{log}");
    assert!(!log.contains("checkpoint.opened") && !log.contains("change.applied"), "{log}");
    assert!(log.contains(r#"request.finished {"status":"completed""#), "{log}");
}

#[test]
fn at_the_output_limit_a_model_can_go_on_by_itself_but_not_for_ever() {
    let log = play(&format!(
        "
        % tools=false
        % on_max_tokens=auto_continue
        > make files
        < {CUT}
        ? [Your last reply was cut off, and none of it was applied. Send it again, complete, or in smaller parts.]
        < {CUT}
        < {CUT}
        < {CUT}
        ! continue
        "
    ));
    assert_eq!(log.matches("model.called").count(), 4, "{log}");
    assert_eq!(log.matches("checkpoint.opened").count(), 1, "{log}");
    assert!(!log.contains("change.applied"), "{log}");
}

#[test]
fn words_that_were_cut_off_and_went_on_are_one_answer() {
    let log = play(
        "
        % on_max_tokens=auto_continue
        > count
        < 2, 3, 5, [max_tokens]
        ? [Your reply was cut off at the output limit. Continue exactly where it stopped, without repeating anything.]
        <  7, 11, [max_tokens]
        <  13.
        ",
    );
    let answers: Vec<&str> = log.lines().filter(|line| line.contains(" answer ")).collect();
    assert_eq!(answers, [r#"r1 answer {"summary":"2, 3, 5, 7, 11, 13."}"#]);
}

#[test]
fn whole_changes_of_a_cut_answer_can_be_applied_one_by_one_where_that_is_allowed() {
    let log = play(
        r#"
        % tools=false
        % allow_recovered_changes=true
        > make files
        < {"summary":"Making.","fileChanges":[{"path":"a.txt","content":"a"},{"path":"b.txt","content":"b"},{"path":"c.txt","content":"c [max_tokens]
        ! apply
        ! allow
        ! never
        ?~ The user does not allow this.
        < {"summary":"Well."}
        "#,
    );
    insta::assert_snapshot!(only(&log, &["checkpoint.opened", "change.applied", "tool.finished", "request.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"recovery","title":"Response was truncated!","choices":[{"id":"retry","label":"🔄 Retry","number":1,"text":"optional","role":"primary"},{"id":"continue","label":"✓ Continue","number":2,"text":"optional","role":"primary"},{"id":"apply","label":"Apply the recovered changes, one by one","number":3,"text":"optional","role":"primary"}],"about":"recovery","blockedChanges":2}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"Create a.txt?","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"write_file","input":{"path":"a.txt","content":"a"},"class":"edit","reason":"it comes from a reply that was cut off","ruleText":"allow edit_file: a.txt (in PROJECT)","rule":{"verdict":"allow","tool":"edit_file","pattern":"a.txt"},"proposal":"r1-p-c1t1"}
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"a.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Created a.txt (1 lines)."}
    r1 checkpoint.opened {"checkpoint":"r1-k3","kind":"permission","title":"Create b.txt?","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t2","tool":"write_file","input":{"path":"b.txt","content":"b"},"class":"edit","reason":"it comes from a reply that was cut off","ruleText":"allow edit_file: b.txt (in PROJECT)","rule":{"verdict":"allow","tool":"edit_file","pattern":"b.txt"},"proposal":"r1-p-c1t2"}
    r1 tool.finished {"call":"c1t2","status":"blocked","preview":"The user does not allow this. Do not try it again; choose another way or ask."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    a
    "#);
}

#[test]
fn signs_of_a_cut_count_in_a_whole_answer_only_where_a_person_is_strict() {
    let script = |heuristics: &str, reply: &str| {
        play(&format!("% tools=false\n% heuristics={heuristics}\n> make a file\n< {reply}\n! continue\n"))
    };
    let short = r#"{"summary":"s","fileChanges":[{"path":"a.txt","content":"a"}]}"#;
    let unknown = format!("{short} [something_else]");
    for (heuristics, reply, applied) in
        [("normal", short, true), ("strict", short, false), ("normal", unknown.as_str(), false)]
    {
        if applied {
            let log = play(&format!("% tools=false\n% heuristics={heuristics}\n> make a file\n< {reply}\n"));
            assert!(log.contains("change.applied"), "{heuristics} {reply}: {log}");
        } else {
            let log = script(heuristics, reply);
            assert!(
                !log.contains("change.applied") && log.contains("Response was truncated!"),
                "{heuristics} {reply}: {log}"
            );
        }
    }
}

#[test]
fn a_diff_without_effect_is_not_needed_or_wrong_as_the_setting_says() {
    let script = |noop: &str, diff: &str, rest: &str| {
        play(&format!(
            "--- a.txt\nalpha\n--- dialogue\n% noop={noop}\n> change a.txt\n<@ apply_diff {{\"path\":\"a.txt\",\"diff\":\"{diff}\"}}\n{rest}\n< I cannot change it.\n"
        ))
    };
    let done = r"@@ -1 +1 @@\n-omega\n+alpha\n";
    let unmatched = r"@@ -1 +1 @@\n-omega\n+beta\n";
    let run_together = r"@@ -1 +1 @@\n-alpha+beta\n";
    for (noop, diff, skipped) in [
        ("classify", done, true),
        ("classify", unmatched, false),
        ("classify", run_together, false),
        ("block", done, false),
        ("skip", done, true),
        ("skip", unmatched, true),
        ("skip", run_together, false),
    ] {
        let rest = match skipped {
            true if diff == done => "?~ Already in place, nothing to do.",
            true => "?~ Skipped, not needed.",
            false => "?~ was not changed",
        };
        let log = script(noop, diff, rest);
        assert_eq!(
            log.contains(r#"bug {"kind":"Other","by":"script","message":"Auto-detected: Malformed diff."#),
            !skipped,
            "{noop} {diff}: {log}"
        );
        assert_eq!(log.contains("🚫 BLOCKED: a diff without effect."), !skipped, "{noop} {diff}: {log}");
        assert!(!log.contains("change.applied"), "{noop} {diff}: {log}");
    }
}

#[test]
fn a_diff_of_which_a_part_is_there_already_is_not_skipped() {
    play(
        r#"
        --- a.txt
        one
        two
        three
        four
        five
        --- dialogue
        > change a.txt
        <@ apply_diff {"path":"a.txt","diff":"@@ -1,2 +1,2 @@\n one\n-zwei\n+two\n@@ -4,2 +4,2 @@\n four\n-five\n+FIVE\n"}
        ?~ Hunk 1 may be applied already
        ?- Already in place
        < I cannot change it.
        "#,
    );
}
