//! Sessions that fill their limit, and what a person makes of it: a handoff, an extension, neither.

use trimtab_testkit::scenario::play;

/// The lines of these kinds.
fn only(log: &str, kinds: &[&str]) -> String {
    let wanted = |line: &&str| {
        let kind = line.split(' ').nth(1).unwrap_or_default();
        line.starts_with("=== ") || kinds.contains(&kind)
    };
    log.lines().filter(wanted).collect::<Vec<_>>().join("\n")
}

fn count(log: &str, kind: &str) -> usize {
    log.lines().filter(|line| line.contains(&format!(" {kind} "))).count()
}

/// A field of the first fact of a kind.
fn number(log: &str, kind: &str, field: &str) -> u64 {
    let line = log.lines().find(|line| line.contains(&format!(" {kind} "))).expect("such a fact");
    let at = line.find('{').expect("fields");
    let fields: serde_json::Value = serde_json::from_str(&line[at..]).expect("JSON");
    fields[field].as_u64().expect("a number")
}

/// Words of about so many bytes that say nothing.
fn filler(bytes: usize) -> String {
    "plain words that only fill the window ".repeat(bytes / 38 + 1)
}

/// A log without the words that say nothing.
fn short(log: &str) -> String {
    let mut log = log.to_owned();
    let twice = filler(1).repeat(2);
    while log.contains(&twice) {
        log = log.replace(&twice, &filler(1));
    }
    log
}

/// A request in a window of this size, answered with `cancel` if that is asked.
fn in_a_window(settings: &str, is_asked: bool) -> String {
    let answer = if is_asked { "! cancel\n" } else { "" };
    // At the first words of a session nobody is asked. Words that take more than half of the window are sent all the same.
    play(&format!("% input_tokens=1000000\n{settings}\n> hello\n< Hello.\n> {}\n{answer}< Done.\n", filler(255_000)))
}

#[test]
fn at_84_percent_of_the_window_nobody_is_asked_and_at_85_a_person_is() {
    // How many tokens it takes does not depend on the window, but a little on the name of the folder.
    let ask = "% strategy=ask";
    let used = number(&in_a_window(&format!("% window=200000\n% handoff_at=0.1\n{ask}"), true), "context.full", "used");
    let window_for = |tenths: u64| used * 1000 / tenths;
    let at_84 = in_a_window(&format!("% window={}\n{ask}", window_for(845)), false);
    assert_eq!((count(&at_84, "context.full"), count(&at_84, "checkpoint.opened")), (0, 0));
    let at_85 = in_a_window(&format!("% window={}\n{ask}", window_for(855)), true);
    assert_eq!((count(&at_85, "context.full"), count(&at_85, "checkpoint.opened")), (1, 1));
    let at_85 = in_a_window(&format!("% window={}\n% strategy=compress", window_for(855)), false);
    assert_eq!(count(&at_85, "context.full"), 0, "with this strategy nobody is asked");
}

#[test]
fn at_84_percent_of_the_document_nobody_is_asked_and_at_85_a_person_is() {
    let megabyte = 1 << 20;
    let steps = |bytes: usize| {
        let once = "x".repeat(200_000);
        let mut script = String::from("% session_mb=1\n% window=10000000\n% strategy=ask\n");
        for _ in 0..bytes / 200_000 {
            script += &format!("> {once}\n< \n");
        }
        script + &format!("> {}\n", "x".repeat(bytes % 200_000))
    };
    let below = play(&(steps(megabyte * 85 / 100) + "< Done.\n"));
    assert_eq!(count(&below, "context.full"), 0);
    let above = play(&(steps(megabyte * 85 / 100 + 1) + "! cancel\n< Done.\n"));
    assert_eq!(only(&above, &["context.full"]), r#"r5 context.full {"limit":"storage","used":891290,"of":1048576}"#);
}

#[test]
fn the_question_says_when_to_use_which_and_cancel_carries_on() {
    let log = in_a_window("% window=56000\n% strategy=ask", true);
    let kinds = ["checkpoint.opened", "checkpoint.resolved", "request.finished"];
    let used = number(&log, "context.full", "used").to_string();
    insta::assert_snapshot!(only(&log, &kinds).replace(&used, "USED"), @r#"
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 checkpoint.opened {"checkpoint":"r2-k1","kind":"handoff","title":"The conversation fills 89% of the context window. How do you want to continue?","choices":[{"id":"handoff","label":"Continue in a new session with a summary, the open to-dos, and the change history (faster answers, a fresh start)","number":1,"text":"optional","role":"primary"},{"id":"extend","label":"Continue here with the complete conversation (answers may become slower)","number":2,"text":"optional","role":"primary"},{"id":"cancel","label":"Continue here unchanged","number":3,"text":"optional","role":"dismiss"}],"about":"handoff","limit":"window","used":USED,"of":56000}
    r2 checkpoint.resolved {"checkpoint":"r2-k1","choice":"cancel","by":"user"}
    r2 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn without_a_person_nobody_is_asked_and_the_work_goes_on() {
    for settings in ["% attended=false", "% approve=auto", "% approve=deny"] {
        let log = in_a_window(&format!("% window=56000\n{settings}"), false);
        assert_eq!(count(&log, "checkpoint.opened"), 0, "{settings}");
        assert!(log.contains("This run is not interactive"), "{settings}");
        assert!(log.contains(r#"request.finished {"status":"completed""#), "{settings}");
    }
}

/// Four requests, the first of which changes a file, that fill 87% of the window; and what comes then. The
/// scripted model counts next to nothing, so that half of what was said before is counted.
fn long(settings: &str, then: &str) -> String {
    let words = filler(233_400);
    let steps = r#"[{"text":"read it","completed":true},{"text":"mend the odd head"},{"text":"run the tests"}]"#;
    let script = format!(
        "--- a.txt
alpha
--- dialogue
% window=100000
% input_tokens=1000000
{settings}
> remark one: change @a.txt. {words} end of remark one
<@ edit_file {{\"path\":\"a.txt\",\"blocks\":[{{\"search\":\"alpha\",\"replace\":\"beta\"}}]}}
<@ set_steps {{\"steps\":{steps}}}
<@ run_command {{\"command\":\"ls missing.txt$X\"}}
#
! allow
< Changed it.
> remark two. {words}
< Two.
> remark three. {words}
< Three.
> remark four. {words}
{then}"
    );
    play(&script)
}

#[test]
fn a_handoff_hands_over_the_documented_text_the_changes_and_the_open_tasks() {
    let log = long(
        "% strategy=ask",
        "! handoff\n> go on\n?+ ## HANDOFF CONTEXT\n?- remark one\n? go on\n< Went on.\n^B 1\n@ change.reverted\n",
    );
    let kinds = [
        "stage",
        "session.opened",
        "session.handoff",
        "session.inherited",
        "change.inherited",
        "change.reverted",
        "steps",
        "request.finished",
        "checkpoint.resolved",
    ];
    let files = &log[log.find("--- a.txt").unwrap_or(0)..];
    insta::assert_snapshot!(format!("{}\n{files}", only(&short(&log), &kinds)), @r###"
    - session.opened {}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"intake","label":"Analyzing..."}
    r1 stage {"stage":"intake","label":"📂 Loaded 1 file"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 steps {"todos":[{"text":"read it","completed":true},{"text":"mend the odd head","completed":false},{"text":"run the tests","completed":false}]}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 stage {"stage":"summarizing","label":"Synthesizing final intelligence..."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    r2 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r2 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r2 stage {"stage":"running","label":"Waiting for the model..."}
    r2 stage {"stage":"finishing","label":"Finishing..."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r3 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r3 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r3 stage {"stage":"running","label":"Waiting for the model..."}
    r3 stage {"stage":"finishing","label":"Finishing..."}
    r3 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r4 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r4 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r4 stage {"stage":"running","label":"Waiting for the model..."}
    r4 checkpoint.resolved {"checkpoint":"r4-k1","choice":"handoff","by":"user"}
    r4 stage {"stage":"summarizing","label":"Generating the handoff context..."}
    r4 stage {"stage":"running","label":"Transferring the change history: 1 change..."}
    r4 stage {"stage":"running","label":"Creating the session s2..."}
    r4 stage {"stage":"finishing","label":"Prefilling its input with the open to-dos..."}
    r4 session.handoff {"child":"s2","changeSets":["r1-x-c1t1"],"prefill":"remark four. plain words that only fill the window plain words that …\n\nStill to do:\n1. mend the odd head\n2. run the tests"}
    r4 request.finished {"status":"completed","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    === session s2
    - session.opened {"parentSessionId":"s"}
    - change.inherited {"changeSet":"r1-x-c1t1","position":0,"writes":[{"path":"a.txt","before":{"mode":420},"after":{"mode":420},"added":1,"removed":1,"modified":1}],"made":"2027-01-15T08:00:00.000Z"}
    - steps {"todos":[{"text":"read it","completed":true},{"text":"mend the odd head","completed":false},{"text":"run the tests","completed":false}]}
    - session.inherited {"from":"s","text":"## HANDOFF CONTEXT\n\n**Parent Session:** s\n**Project:** project\n**Total Exchanges:** 3\n**Tokens Used:** 40 in / 20 out\n\n### SESSION SUMMARY\nThree.\n\n### FILES MODIFIED (1 files)\n- `a.txt` (+1/-1)\n\n### FILES REFERENCED (context attached during session)\n- `a.txt`\n\n### CURRENT TASKS (continue these - priority order)\n1. [ ] mend the odd head\n2. [ ] run the tests\n\n### COMPLETED TASKS\n- [x] read it\n\n### RECENT CONVERSATION\nUser: remark two. plain words that only fill the window plain words that only …\nAI: Two.\nUser: remark three. plain words that only fill the window plain words that onl…\nAI: Three.\nUser: remark four. plain words that only fill the window plain words that only…\nAI: (not answered yet)\n\n### RECENT ERRORS/ISSUES\n(none)\n\n### FAILED CLI COMMANDS\n- `ls missing.txt$X`: ls: cannot access 'missing.txt': No such file or directory\n\n### INSTRUCTIONS\n1. Continue working on CURRENT TASKS in priority order\n2. Read the FILES MODIFIED if you need context on what was changed\n3. Read the FILES REFERENCED if you need the source content\n4. Check RECENT ERRORS if there are issues to address\n5. IMPORTANT: When outputting fileChanges, use the EXACT file paths listed above\n","prefill":"remark four. plain words that only fill the window plain words that …\n\nStill to do:\n1. mend the odd head\n2. run the tests","referenced":["a.txt"]}
    r5 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r5 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r5 stage {"stage":"running","label":"Waiting for the model..."}
    r5 stage {"stage":"finishing","label":"Finishing..."}
    r5 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    - change.reverted {"changeSet":"r1-x-c1t1","position":-1}
    --- a.txt
    alpha
    "###);
}

#[test]
fn an_extension_keeps_the_whole_conversation_and_makes_no_session() {
    let log = long(
        "% strategy=ask",
        "! extend\n?+ remark one\n?+ remark three\n?- HANDOFF CONTEXT\n< Four.\n> go on\n?+ remark one\n< Went on.\n^B 1\n@ change.reverted\n",
    );
    let kinds = ["session.extended", "session.handoff", "context.full", "context.compressed", "change.reverted"];
    insta::assert_snapshot!(only(&log, &kinds).replace(char::is_numeric, "0"), @r#"
    r0 context.full {"limit":"window","used":00000,"of":000000}
    r0 session.extended {"extension":"s-e0"}
    - change.reverted {"changeSet":"r0-x-c0t0","position":-0}
    "#);
    assert!(log.ends_with("--- a.txt\nalpha\n"), "what was changed before can be taken back");
}

#[test]
fn older_turns_are_summed_up_first_and_a_person_is_asked_if_that_is_not_enough() {
    let enough = long("", "?- end of remark one\n< Four.\n");
    assert_eq!((count(&enough, "context.compressed"), count(&enough, "context.full")), (1, 0));
    let large = filler(190_000);
    let script = format!(
        "% window=40000\n% input_tokens=1000000\n> one. {}\n< One.\n> two.\n< Two.\n> three. {large}\n! extend\n?+ three.\n< Three.\n",
        filler(2_000)
    );
    let log = play(&script);
    let kinds = ["context.compressed", "context.full", "checkpoint.resolved", "session.extended"];
    let seen: Vec<&str> =
        log.lines().filter_map(|line| line.split(' ').nth(1)).filter(|kind| kinds.contains(kind)).collect();
    assert_eq!(seen, ["context.compressed", "context.full", "checkpoint.resolved", "session.extended"]);
    assert!(log.contains("of the context window, even after compression. How do you want to continue?"));
}

#[test]
fn what_was_summed_up_is_put_back_by_an_extension() {
    let log = long(
        "",
        "?- end of remark one\n< Four.\n^E\n@ context.restored\n% window=400000\n> and now\n?+ end of remark one\n< All of it.\n",
    );
    assert_eq!((count(&log, "session.extended"), count(&log, "context.compressed")), (1, 1));
}

#[test]
fn the_question_survives_the_end_of_the_program() {
    let log =
        long("% strategy=ask", "@ checkpoint.opened\n^K\n! handoff\n> go on\n?+ ## HANDOFF CONTEXT\n< Went on.\n");
    assert_eq!(count(&log, "session.handoff"), 1);
    assert_eq!(count(&log, "context.full"), 1);
}

#[test]
fn a_handoff_on_demand_leaves_the_changes_to_the_child_alone() {
    let script = r#"
        --- a.txt
        alpha
        --- dialogue
        > change @a.txt
        <@ edit_file {"path":"a.txt","blocks":[{"search":"alpha","replace":"beta"}]}
        #
        < Changed it.
        ^H
        @ session.handoff
        ^H
        @ session.refused
    "#;
    insta::assert_snapshot!(only(&play(script), &["session.opened", "session.handoff", "change.inherited", "session.refused"]), @r#"
    - session.opened {}
    - session.handoff {"child":"s2","changeSets":["r1-x-c1t1"]}
    === session s2
    - session.opened {"parentSessionId":"s"}
    - change.inherited {"changeSet":"r1-x-c1t1","position":0,"writes":[{"path":"a.txt","before":{"mode":420},"after":{"mode":420},"added":1,"removed":1,"modified":1}],"made":"2027-01-15T08:00:00.000Z"}
    - session.refused {"reason":"This session is empty. There is nothing to hand off."}
    "#);
}

#[test]
fn five_sessions_rewind_to_the_first_state_of_the_folder() {
    let mut script = String::from("--- a.txt\nzero\n--- b.txt\nkept\n--- dialogue\n");
    for (number, (from, to)) in
        ["zero", "one", "two", "three", "four"].iter().zip(["one", "two", "three", "four", "five"]).enumerate()
    {
        let more = if number == 2 { "<@ delete_file {\"path\":\"b.txt\"}\n" } else { "" };
        script += &format!(
            "> step {number} of @a.txt and @b.txt\n<@ edit_file {{\"path\":\"a.txt\",\"blocks\":[{{\"search\":\"{from}\",\"replace\":\"{to}\"}}]}}\n\
             <@ write_file {{\"path\":\"n{number}.txt\",\"content\":\"{to}\\\\n\"}}\n{more}#\n"
        );
        script += if number == 2 { "! allow\n< Done.\n" } else { "< Done.\n" };
        if number < 4 {
            script += "^H\n@ session.handoff\n";
        }
    }
    script += "^B 99\n";
    script += &"@ change.reverted\n".repeat(11);
    let log = play(&script);
    assert_eq!(count(&log, "session.handoff"), 4);
    assert_eq!(count(&log, "change.inherited"), 2 + 4 + 7 + 9, "each session gets all that was before");
    assert_eq!(&log[log.find("--- a.txt").expect("the files")..], "--- a.txt\nzero\n--- b.txt\nkept\n");
}

#[test]
fn a_handoff_makes_the_prompt_smaller_and_an_extension_does_not() {
    let asked_again = |choice: &str| {
        let answers = if choice == "extend" { "< Four.\n" } else { "" };
        let log = long("% strategy=ask", &format!("! {choice}\n{answers}> go on\n< Went on.\n"));
        let line = log.lines().rfind(|line| line.contains(" usage ")).expect("a call").to_owned();
        let fields: serde_json::Value = serde_json::from_str(&line[line.find('{').expect("fields")..]).expect("JSON");
        fields["contextTokens"].as_u64().expect("tokens")
    };
    let (handed_off, extended) = (asked_again("handoff"), asked_again("extend"));
    assert!(handed_off * 10 < extended, "{handed_off} {extended}");
}
