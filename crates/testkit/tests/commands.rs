//! Several commands of one answer, one after the other, under the model's eyes.

use trimtab_testkit::scenario::play;

/// The facts of these kinds, and the files.
fn only(log: &str, kinds: &[&str]) -> String {
    let wanted = |line: &&str| {
        let mut words = line.split(' ');
        let is_fact = line.starts_with("r1 ") || line.starts_with("r2 ") || line.starts_with("- ");
        !is_fact || words.nth(1).is_some_and(|kind| kinds.contains(&kind))
    };
    log.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

#[test]
fn commands_run_one_at_a_time_and_each_waits_for_the_models_word_on_the_one_before() {
    insta::assert_snapshot!(only(&play(
        r#"
        % tools=false
        > set it up
        < {"summary":"Three steps.","commands":[{"command":"mkdir -p app"},{"command":"touch app/a"},{"command":"ls app"}]}
        ! run
        ?~ Command 1/3 ✓\n`mkdir -p app`\nOutput: (no output)\nProgress: ✓ 1 succeeded, ✗ 0 failed\nRemaining: touch app/a, ls app
        ?~ - `touch app/a`\n- `ls app`
        < Directory created. Continue.
        ?~ Command 2/3 ✓\n`touch app/a`
        < {"verdict":"continue","command":"","reason":"fine"}
        ?~ Command 3/3 ✓\n`ls app`\nOutput: a\nProgress: ✓ 3 succeeded, ✗ 0 failed\nRemaining: (none)
        < {"summary":"All is set up."}
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "commands", "command.started", "answer", "request.finished"]), @r#"
    r1 answer {"summary":"Three steps.","commands":[{"command":"mkdir -p app","description":""},{"command":"touch app/a","description":""},{"command":"ls app","description":""}]}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"confirm","title":"The reply suggests 3 commands. Run them?","choices":[{"id":"run","label":"Run 3 cmds","number":1,"text":"optional","role":"primary"},{"id":"each","label":"One by one","number":2,"text":"optional","role":"primary"},{"id":"skip","label":"Skip","number":3,"text":"optional","role":"dismiss"}],"about":"series","commands":[{"command":"mkdir -p app","shown":"mkdir -p app","decision":"auto","reason":""},{"command":"touch app/a","shown":"touch app/a","decision":"auto","reason":""},{"command":"ls app","shown":"ls app","decision":"auto","reason":""}]}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"run","by":"user"}
    r1 commands {"state":"running","total":3,"done":0,"ok":0,"failed":0,"percent":0,"current":{"call":"c1t0","command":"mkdir -p app"},"remaining":["touch app/a","ls app"],"agreed":true}
    r1 command.started {"call":"c1t0","command":"mkdir -p app","argv":["mkdir","-p","app"],"cwd":"PROJECT","automatic":"check"}
    r1 commands {"state":"judging","total":3,"done":1,"ok":1,"failed":0,"percent":33,"results":[{"command":"mkdir -p app","ok":true,"preview":""}],"remaining":["touch app/a","ls app"],"agreed":true,"progress":"Command 1/3 ✓\n`mkdir -p app`\nOutput: (no output)\nProgress: ✓ 1 succeeded, ✗ 0 failed\nRemaining: touch app/a, ls app"}
    r1 commands {"state":"running","total":3,"done":1,"ok":1,"failed":0,"percent":33,"results":[{"command":"mkdir -p app","ok":true,"preview":""}],"current":{"call":"c2t0","command":"touch app/a"},"remaining":["ls app"],"agreed":true}
    r1 command.started {"call":"c2t0","command":"touch app/a","argv":["touch","app/a"],"cwd":"PROJECT","automatic":"check"}
    r1 commands {"state":"judging","total":3,"done":2,"ok":2,"failed":0,"percent":66,"results":[{"command":"mkdir -p app","ok":true,"preview":""},{"command":"touch app/a","ok":true,"preview":""}],"remaining":["ls app"],"agreed":true,"progress":"Command 2/3 ✓\n`touch app/a`\nOutput: (no output)\nProgress: ✓ 2 succeeded, ✗ 0 failed\nRemaining: ls app"}
    r1 commands {"state":"running","total":3,"done":2,"ok":2,"failed":0,"percent":66,"results":[{"command":"mkdir -p app","ok":true,"preview":""},{"command":"touch app/a","ok":true,"preview":""}],"current":{"call":"c3t0","command":"ls app"},"agreed":true}
    r1 command.started {"call":"c3t0","command":"ls app","argv":["ls","app"],"cwd":"PROJECT","automatic":"read"}
    r1 commands {"state":"judging","total":3,"done":3,"ok":3,"failed":0,"percent":100,"results":[{"command":"mkdir -p app","ok":true,"preview":""},{"command":"touch app/a","ok":true,"preview":""},{"command":"ls app","ok":true,"preview":"a"}],"agreed":true,"progress":"Command 3/3 ✓\n`ls app`\nOutput: a\nProgress: ✓ 3 succeeded, ✗ 0 failed\nRemaining: (none)"}
    r1 commands {"state":"done","total":3,"done":3,"ok":3,"failed":0,"percent":100,"results":[{"command":"mkdir -p app","ok":true,"preview":""},{"command":"touch app/a","ok":true,"preview":""},{"command":"ls app","ok":true,"preview":"a"}],"agreed":true}
    r1 answer {"summary":"All is set up."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    --- app/a
    "#);
}

#[test]
fn a_single_command_of_several_is_run_by_its_number_and_the_others_are_not() {
    let log = play(
        r#"
        % tools=false
        > set it up
        < {"summary":"Three steps.","commands":[{"command":"mkdir -p app"},{"command":"touch made"},{"command":"touch app/a"}]}
        ! run 4
        @ banner
        ! run [2]
        ?+ I ran the command: `touch made`
        ?~ [The user runs only some of your commands. Not run: `mkdir -p app`, `touch app/a`.]
        < {"summary":"As you like."}
        "#,
    );
    assert_eq!(started(&log), ["touch made"]);
    assert!(log.contains("There is no command 4; they are numbered from 1 to 3."), "{log}");
    assert!(log.ends_with("--- made\n"), "{log}");
}

const KINDS: [&str; 6] =
    ["checkpoint.opened", "checkpoint.resolved", "command.started", "rule.added", "answer", "request.finished"];

/// The commands that were started, in order.
fn started(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| line.split_once(" command.started ")?.1.split("\"command\":\"").nth(1))
        .map(|rest| rest.split("\",\"argv\"").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn stop_pauses_and_keeps_what_remains_until_a_person_goes_on() {
    let log = play(
        r#"
        % tools=false
        > go
        < {"summary":"Two.","commands":[{"command":"mkdir a"},{"command":"mkdir b"}]}
        ! run
        < stop
        ! continue
        ?~ Command 2/2 ✓
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["mkdir a", "mkdir b"]);
    let paused = log.lines().find(|line| line.contains(r#""state":"paused""#)).expect("it paused");
    assert!(paused.contains(r#""remaining":["mkdir b"]"#) && paused.contains(r#""reason":"stop""#), "{paused}");
    assert!(log.contains(r#""title":"Paused after command 1/2; 1 left.""#), "{log}");
}

#[test]
fn an_error_that_is_mentioned_pauses_and_the_rest_can_be_left() {
    let log = play(
        r#"
        % tools=false
        > go
        < {"summary":"Two.","commands":[{"command":"ls missing"},{"command":"mkdir b"}]}
        ! run
        ?~ Command 1/2 ✗\n`ls missing`
        ?~ Progress: ✓ 0 succeeded, ✗ 1 failed
        < There was an error; better look at it first.
        ! skip
        > and now
        ?+ [Not run: `mkdir b`.]
        < {"summary":"Nothing."}
        "#,
    );
    assert_eq!(started(&log), ["ls missing"]);
    assert!(log.contains(r#""state":"left""#) && log.contains(r#"r1 request.finished {"status":"completed""#), "{log}");
}

#[test]
fn words_after_a_pause_go_to_the_model_which_decides_again() {
    let log = play(
        r#"
        % tools=false
        > go
        < {"summary":"Two.","commands":[{"command":"mkdir a"},{"command":"mkdir b"}]}
        ! run
        < Hm.
        ! tell it is fine
        ? it is fine
        < continue
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["mkdir a", "mkdir b"]);
}

#[test]
fn a_failed_mkdir_is_looked_into_mended_and_tried_again() {
    // The path's parent is a file; the model looks where it is, and makes the folder elsewhere.
    let log = play(
        r#"
        --- app
        not a folder
        --- dialogue
        % tools=false
        > set it up
        < {"summary":"Making.","commands":[{"command":"mkdir app/assets"},{"command":"ls src"}]}
        ! run
        ?~ Command 1/2 ✗\n`mkdir app/assets`
        < {"verdict":"run","command":"pwd","reason":"look where we are"}
        ?~ Command 2/3 ✓\n`pwd`
        < The parent is a file. Let me fix the path: `mkdir -p src/assets`
        ?~ Command 3/4 ✓\n`mkdir -p src/assets`\nOutput: (no output)\nProgress: ✓ 2 succeeded, ✗ 1 failed\nRemaining: ls src
        < continue
        ?~ Command 4/4 ✓\n`ls src`\nOutput: assets
        < {"summary":"The folder is there."}
        "#,
    );
    assert_eq!(started(&log), ["mkdir app/assets", "pwd", "mkdir -p src/assets", "ls src"]);
    assert!(log.contains(r#""state":"done","total":4,"done":4,"ok":3,"failed":1,"percent":100"#), "{log}");
}

#[test]
fn fix_command_output_and_next_fix_repeat_until_the_check_passes() {
    // With automatic commands the loop needs nobody; two errors, two fixes, and a passing run.
    let log = play(
        r#"
        --- a.txt
        bad bad
        --- dialogue
        % tools=false
        % commands=auto
        > make it good @a.txt
        < {"summary":"First.","fileChanges":[{"path":"a.txt","content":"good bad\\n"}],"commands":[{"command":"grep -c bad a.txt"}]}
        ?~ I ran the command: `grep -c bad a.txt`\n\nOutput:\n```\n1\n```\n\nPlease analyze this output.
        < {"summary":"One more.","fileChanges":[{"path":"a.txt","content":"good good\\n"}],"commands":[{"command":"grep -c bad a.txt"}]}
        ?~ I ran the command: `grep -c bad a.txt`\n\nOutput:\n```\n0\n```\n\nPlease analyze this output.
        < {"summary":"All is good now."}
        "#,
    );
    assert_eq!(started(&log).len(), 2);
    assert!(!log.contains("checkpoint.opened"), "{log}");
    assert!(log.ends_with("--- a.txt\ngood good\n"), "{log}");
}

#[test]
fn automatic_commands_run_by_themselves_and_the_others_ask_with_the_three_short_answers() {
    insta::assert_snapshot!(only(&play(
        r#"
        % tools=false
        % commands=auto
        > go
        < {"summary":"Three.","commands":[{"command":"mkdir a"},{"command":"echo x > a/when"},{"command":"rmdir a"}]}
        < continue
        ! allow
        < continue
        ! skip
        ?~ Command 3/3 –\n`rmdir a`\nOutput: [Skipped by the user. Continue with what comes next.]
        < {"summary":"Done."}
        "#
    ), &KINDS), @r#"
    r1 answer {"summary":"Three.","commands":[{"command":"mkdir a","description":""},{"command":"echo x > a/when","description":""},{"command":"rmdir a","description":""}]}
    r1 command.started {"call":"c1t0","command":"mkdir a","argv":["mkdir","a"],"cwd":"PROJECT","automatic":"check"}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? echo x > a/when","choices":[{"id":"allow","label":"Run Once","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Add & Run","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"skip","label":"Skip","number":3,"key":"n","text":"no","role":"reject_once"}],"about":"tool","call":"c2t0","tool":"run_command","input":{"command":"echo x > a/when"},"class":"command","reason":"`>` writes to `a/when`","ruleText":"allow run_command: echo x > a/when (in PROJECT)","plan":{"argv":["sh","-c","echo x > a/when"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"echo x > a/when"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 command.started {"call":"c2t0","command":"echo x > a/when","argv":["sh","-c","echo x > a/when"],"cwd":"PROJECT"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"Run this command? rmdir a","choices":[{"id":"allow","label":"Run Once","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"skip","label":"Skip","number":3,"key":"n","text":"no","role":"reject_once"}],"about":"tool","call":"c3t0","tool":"run_command","input":{"command":"rmdir a"},"class":"command","reason":"`rmdir` deletes or overwrites files","plan":{"argv":["rmdir","a"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"rmdir a"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"skip","by":"user"}
    r1 answer {"summary":"Done."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    --- a/when
    x
    "#);
}

#[test]
fn a_single_command_has_no_button_and_its_output_goes_to_the_model() {
    let log = play(
        r#"
        % tools=false
        > go
        < {"summary":"One.","commands":[{"command":"echo hi"}]}
        ! allow
        ?~ I ran the command: `echo hi`\n\nOutput:\n```\nhi\n```\n\nPlease analyze this output.
        < {"summary":"It says hi."}
        "#,
    );
    assert!(!log.contains("Run 1 cmds") && log.contains(r#""label":"Run Once""#), "{log}");
}

#[test]
fn lines_with_the_sign_are_commands_of_a_model_with_tools_too() {
    let log = play(
        r#"
        % commands=auto
        > make it
        < Made.\n\n🖥 mkdir a\n🖥 ls a
        ?~ Command 1/2 ✓\n`mkdir a`
        <@ list_files {}
        ?~ a/
        < Continue.
        ?~ Command 2/2 ✓\n`ls a`
        < All done.
        "#,
    );
    assert_eq!(started(&log), ["mkdir a", "ls a"]);
    assert!(log.contains(r#""commands":[{"command":"mkdir a","description":""},{"command":"ls a","description":""}]"#));
}

#[test]
fn add_and_run_makes_a_rule_of_the_persons_own_and_the_second_time_nobody_is_asked() {
    let log = play(
        r#"
        % tools=false
        % commands=auto
        > go
        < {"summary":"One.","commands":[{"command":"sh -c true"}]}
        ! always
        < {"summary":"Again.","commands":[{"command":"sh -c true"}]}
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log).len(), 2);
    assert_eq!(log.matches("checkpoint.opened").count(), 1, "{log}");
    assert!(
        log.contains(r#"rule.added {"rule":{"verdict":"allow","tool":"run_command","pattern":"sh -c true"}}"#),
        "{log}"
    );
}

#[test]
fn a_prefix_that_a_table_knows_is_offered_and_covers_its_safe_uses_only() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        > go
        < {"summary":"One.","commands":[{"command":"cat a.txt"}]}
        ! always_prefix
        < {"summary":"Again.","commands":[{"command":"cat -n a.txt"}]}
        < {"summary":"Other.","commands":[{"command":"cat ../other"}]}
        ! skip
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["cat a.txt", "cat -n a.txt"], "{log}");
    assert_eq!(log.matches("checkpoint.opened").count(), 2, "{log}");
    let added: Vec<&str> = log.lines().filter(|line| line.contains("rule.added")).collect();
    assert_eq!(added.len(), 1, "{log}");
    assert!(added[0].contains(r#"{"verdict":"allow","tool":"run_command","pattern":"cat *"}"#), "{log}");
    // Every form stands beside its rule, and those of a line that no table knows are not offered.
    let opened: Vec<&str> = log.lines().filter(|line| line.contains("checkpoint.opened")).collect();
    for form in ["always_prefix", "always_everywhere", "always_prefix_everywhere"] {
        assert!(opened[0].contains(&format!(r#""id":"{form}""#)), "{log}");
        assert!(!opened[1].contains(&format!(r#""id":"{form}""#)), "{log}");
    }
}

#[test]
fn a_form_of_always_can_be_chosen_after_a_kill_and_covers_the_exact_command() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        > go
        < {"summary":"One.","commands":[{"command":"cat a.txt"}]}
        @ checkpoint.opened
        ^K
        ! always_everywhere
        < {"summary":"Again.","commands":[{"command":"cat a.txt"}]}
        < {"summary":"Other.","commands":[{"command":"cat -n a.txt"}]}
        ! skip
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["cat a.txt", "cat a.txt"], "{log}");
    assert!(
        log.contains(r#"rule.added {"rule":{"verdict":"allow","tool":"run_command","pattern":"cat a.txt"}}"#),
        "{log}"
    );
}

#[test]
fn what_deletes_can_be_allowed_once_only() {
    let log = play(
        r#"
        --- x
        1
        --- dialogue
        > go
        <@ run_command {"command":"rm x"}
        ! allow
        < Done.
        "#,
    );
    let asked = log.lines().find(|line| line.contains("checkpoint.opened")).expect("it asks");
    assert!(!asked.contains("\"always\"") && !asked.contains("ruleText") && asked.contains("\"never\""), "{asked}");
}

#[test]
fn an_edited_command_is_judged_anew_and_the_model_is_told() {
    insta::assert_snapshot!(only(&play(
        r#"
        > go
        <@ run_command {"command":"date > a.txt"}
        ! allow echo hi > b.txt
        ! allow
        ?~ Exit code 0.\n[The user edited this command; it was: `date > a.txt`]
        < Done.
        "#
    ), &KINDS), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? date > a.txt","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"date > a.txt"},"class":"command","reason":"`>` writes to `a.txt`","ruleText":"allow run_command: date > a.txt (in PROJECT)","plan":{"argv":["sh","-c","date > a.txt"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"date > a.txt"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","text":"echo hi > b.txt","by":"user"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"Run this command? echo hi > b.txt","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"echo hi > b.txt"},"class":"command","reason":"`>` writes to `b.txt`","ruleText":"allow run_command: echo hi > b.txt (in PROJECT)","plan":{"argv":["sh","-c","echo hi > b.txt"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"editedFrom":"date > a.txt","rule":{"verdict":"allow","tool":"run_command","pattern":"echo hi > b.txt"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"allow","by":"user"}
    r1 command.started {"call":"c1t1","command":"echo hi > b.txt","argv":["sh","-c","echo hi > b.txt"],"cwd":"PROJECT","editedFrom":"date > a.txt"}
    r1 answer {"summary":"Done.","synthesis":{"id":"synthesis_r1","text":"Done."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- b.txt
    hi
    "#);
}

#[test]
fn a_kill_never_runs_a_command_of_a_series_twice() {
    let log = play(
        r#"
        % tools=false
        % commands=auto
        > go
        < {"summary":"Two.","commands":[{"command":"touch one"},{"command":"touch two"}]}
        <… Contin
        ^K
        < continue
        ?~ Command 2/2 ✓
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["touch one", "touch two"]);
}

#[test]
fn without_a_person_a_series_stays_open_and_an_answer_goes_on_with_it() {
    let log = play(
        r#"
        % tools=false
        % attended=false
        > go
        < {"summary":"Two.","commands":[{"command":"touch one"},{"command":"touch two"}]}
        > another
        < {"summary":"Yes."}
        ! run
        < stop
        ! continue
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["touch one", "touch two"]);
    assert_eq!(log.matches(r#""status":"needs_user""#).count(), 2, "{log}");
}

#[test]
fn approve_auto_runs_them_and_approve_deny_leaves_them() {
    let log = play(
        r#"
        % tools=false
        % attended=false
        % approve=auto
        > go
        < {"summary":"Two.","commands":[{"command":"touch one"},{"command":"touch two > x"}]}
        < continue
        < {"summary":"Done."}
        % approve=deny
        > again
        < {"summary":"Two.","commands":[{"command":"touch three"},{"command":"touch four"}]}
        "#,
    );
    assert_eq!(started(&log), ["touch one", "touch two > x"]);
    assert!(
        log.contains(r#"r2 checkpoint.resolved {"checkpoint":"r2-k1","choice":"skip","by":"approve deny"}"#),
        "{log}"
    );
    assert!(log.contains(r#"r2 request.finished {"status":"completed""#), "{log}");
}

#[test]
fn commands_wait_for_the_changes_they_were_meant_for() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        % commands=auto
        > change a.txt
        < {"summary":"Done.","fileChanges":[{"path":"a.txt","diff":"@@ -1 +1 @@\\n-gamma\\n+beta\\n"}],"commands":[{"command":"cat a.txt"},{"command":"ls"}]}
        ?+ a.txt was not changed
        ?+ [Not run: `cat a.txt`, `ls`.]
        < {"summary":"I give up."}
        "#,
    );
    assert!(started(&log).is_empty(), "{log}");
}

#[test]
fn in_plan_mode_and_in_a_conversation_no_command_is_proposed() {
    for mode in ["plan", "chat"] {
        let log = play(&format!("% mode={mode}\n% approve=auto\n> go\n< Do this.\\n🖥 touch one\n"));
        assert!(started(&log).is_empty() && !log.contains("checkpoint.opened"), "{log}");
    }
}

#[test]
fn files_that_a_verdict_changes_first_are_changed_and_the_series_goes_on() {
    let log = play(
        r#"
        % tools=false
        % commands=auto
        > go
        < {"summary":"Two.","commands":[{"command":"cat a.txt"},{"command":"cat a.txt b.txt"}]}
        ?~ Command 1/2 ✗
        < {"summary":"It is missing; I add both.","fileChanges":[{"path":"a.txt","content":"a\\n"},{"path":"b.txt","content":"b\\n"}]}
        ?~ Created b.txt
        ?~ - `cat a.txt b.txt`
        < continue
        ?~ Command 2/2 ✓
        < {"summary":"Done."}
        "#,
    );
    assert_eq!(started(&log), ["cat a.txt", "cat a.txt b.txt"]);
}

#[test]
fn a_terminal_is_given_to_who_asks_for_it_and_shown_before() {
    let log = play(
        r#"
        > go
        <@ run_command {"command":"echo terminal: $TERMINAL","terminal":true}
        ! allow
        ?~ terminal: yes
        <@ run_command {"command":"echo terminal: $TERMINAL","terminal":null}
        ! allow
        ?~ terminal: no
        < Done.
        "#,
    );
    let asked: Vec<bool> = log
        .lines()
        .filter(|line| line.contains("checkpoint.opened"))
        .map(|line| line.contains(r#""timeoutS":120,"terminal":true}"#))
        .collect();
    assert_eq!(asked, [true, false], "{log}");
}

#[test]
fn leaving_the_sandbox_is_a_permission_of_its_own() {
    let log = play(
        r#"
        % commands=auto
        > go
        <@ run_command {"command":"ls"}
        #
        <@ run_command {"command":"ls","outside":"it needs the network"}
        ! always
        #
        <@ run_command {"command":"ls","outside":"once more"}
        #
        <@ run_command {"command":"ls -a","outside":"another one"}
        ! never
        ?~ The user does not allow this
        < Done.
        "#,
    );
    let asked: Vec<&str> = log.lines().filter(|line| line.contains("checkpoint.opened")).collect();
    assert_eq!(asked.len(), 2, "{log}");
    assert!(asked[0].contains("Run this command outside the sandbox? ls") && asked[0].contains(r#""sandbox":"off""#));
    assert!(asked[0].contains("The model says: it needs the network"), "{}", asked[0]);
    assert!(log.contains(r#"rule.added {"rule":{"verdict":"allow","tool":"run_outside","pattern":"ls"}}"#), "{log}");
}

#[test]
fn a_rule_for_the_sandbox_does_not_reach_outside_and_a_refusal_does() {
    let log = play(
        r#"
        > go
        <@ run_command {"command":"date -u$X"}
        ! always
        #
        <@ run_command {"command":"date -u$X","outside":"no clock in here"}
        ! allow
        #
        <@ run_command {"command":"date -R$X"}
        ! never
        #
        <@ run_command {"command":"date -R$X","outside":"please"}
        ?~ Blocked by the user's rule
        < Done.
        "#,
    );
    assert_eq!(log.matches("checkpoint.opened").count(), 3, "{log}");
}

#[test]
fn more_commands_than_anybody_reads_are_not_run_and_that_is_said() {
    let commands: Vec<String> = (0..101).map(|n| format!(r#"{{"command":"touch f{n}"}}"#)).collect();
    let log = play(&format!(
        "% tools=false\n% commands=auto\n> go\n< {{\"summary\":\"Many.\",\"commands\":[{}]}}\n",
        commands.join(",")
    ));
    assert!(started(&log).is_empty() && log.contains("The reply has 101 commands"), "{log}");
    assert!(log.contains(r#"request.finished {"status":"completed""#), "{log}");
}

#[test]
fn the_signs_of_an_assessment_are_not_proposals() {
    let log = play(
        r#"
        % commands=auto
        % steps=1
        > go
        <@ list_files {}
        < GOAL NOT ACHIEVED\n🖥 touch one
        ! continue
        < Done.
        "#,
    );
    assert!(started(&log).is_empty(), "{log}");
}

/// A command that says in the sandbox what fences make programs say, and works outside.
const FENCED: &str =
    r#"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"#;

fn fenced(rest: &str) -> String {
    play(&format!("> go\n<@ run_command {}\n! allow\n{rest}", serde_json::json!({"command": FENCED})))
}

#[test]
fn a_command_that_failed_because_of_the_sandbox_runs_outside_once_where_a_person_says_so() {
    let log =
        fenced("! outside\n?~ Exit code 0.\n?~ the user then ran it once outside the sandbox\n?~ it works\n< Done.\n");
    let kinds = [
        "checkpoint.opened",
        "checkpoint.resolved",
        "command.started",
        "command.finished",
        "tool.finished",
        "rule.added",
    ];
    insta::assert_snapshot!(only(&log, &kinds), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"},"class":"command","reason":"`$SANDBOX` is expanded by the shell","ruleText":"allow run_command: test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; } (in PROJECT)","plan":{"argv":["sh","-c","test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 command.started {"call":"c1t1","command":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","argv":["sh","-c","test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"],"cwd":"PROJECT"}
    r1 command.finished {"call":"c1t1","command":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","exitCode":3,"timedOut":false,"preview":"touch: /opt/x: Read-only file system\n"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"This command failed, possibly because of the sandbox: test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","choices":[{"id":"outside","label":"Run unsandboxed","number":1,"text":"no","role":"allow_once"},{"id":"skip","label":"Skip","number":2,"text":"no","role":"reject_once"}],"about":"outside","call":"c1t1","class":"leave_sandbox","command":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","sign":"touch: /opt/x: Read-only file system","plan":{"argv":["sh","-c","test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"],"cwd":"PROJECT","sandbox":"off","timeoutS":120},"result":{"status":"error","preview":"Exit code 3.\ntouch: /opt/x: Read-only file system\n"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"outside","by":"user"}
    r1 command.started {"call":"c1t1","command":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","argv":["sh","-c","test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }"],"cwd":"PROJECT","sandbox":"off"}
    r1 command.finished {"call":"c1t1","command":"test $SANDBOX = off && echo it works || { echo 'touch: /opt/x: Read-only file system'; exit 3; }","exitCode":0,"timedOut":false,"preview":"it works\n"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Exit code 0.\n[It failed in the sandbox; the user then ran it once outside the sandbox, with this result.]\nit works\n"}
    "#);
}

#[test]
fn a_command_that_a_person_leaves_fails_as_it_did_and_is_not_offered_again() {
    let command = serde_json::json!({"command": FENCED});
    let log = fenced(&format!(
        "! skip\n?~ Exit code 3.\n?~ Read-only file system\n<@ run_command {command}\n! allow\n?~ Exit code 3.\n< Done.\n"
    ));
    assert_eq!(started(&log).len(), 2, "{log}");
    assert_eq!(log.matches(r#""about":"outside""#).count(), 1, "{log}");
}

#[test]
fn the_offer_to_run_outside_outlives_the_program_and_so_does_what_the_command_came_to() {
    let log = fenced("@ command.finished\n^K\n! skip\n?~ Exit code 3.\n?~ Read-only file system\n< Done.\n");
    assert_eq!(started(&log).len(), 1, "{log}");
    let log = fenced("@ command.finished\n^K\n! outside\n?~ it works\n< Done.\n");
    assert_eq!(started(&log).len(), 2, "{log}");
}

#[test]
fn a_stop_at_the_offer_leaves_the_command_as_it_ended() {
    let log = fenced("@ command.finished\n@ checkpoint.opened\n^C\n");
    assert_eq!(started(&log).len(), 1, "{log}");
    assert!(log.contains(r#"request.finished {"status":"cancelled""#), "{log}");
    assert!(log.contains(r#""status":"error","preview":"Exit code 3."#), "{log}");
}

#[test]
fn nobody_is_offered_anything_where_nobody_is_there_or_the_rules_refuse() {
    let run = serde_json::json!({"command": FENCED});
    // By a rule or a setting, in a script: the model sees how it failed, and may ask for itself.
    for approve in ["auto", "deny"] {
        let log = play(&format!("% attended=false\n% approve={approve}\n> go\n<@ run_command {run}\n< Done.\n"));
        assert!(!log.contains(r#""about":"outside""#), "{approve}: {log}");
    }
    // Whoever has answered from elsewhere is somebody.
    let log =
        play(&format!("% attended=false\n> go\n<@ run_command {run}\n! allow\n! outside\n?~ it works\n< Done.\n"));
    assert_eq!(started(&log).len(), 2, "{log}");
}

#[test]
fn commands_that_are_left_out_in_a_step_of_a_plan_leave_the_plan_under_way() {
    let log = play(
        r#"
        % tools=false
        % mode=plan
        > set it up
        < {"summary":"Two steps.","steps":["Make the folder","Say so"]}
        ! approve
        ?~ [PLAN STEP 1 of 2] Make the folder
        < {"summary":"Two commands.","commands":[{"command":"mkdir app"},{"command":"touch app/a"}]}
        ! skip
        ?~ [The user skipped these commands. Continue without them.]
        < {"summary":"Then nothing is made."}
        ?~ [PLAN STEP 2 of 2] Say so
        ?~ 1. Make the folder (done)
        < {"summary":"It is said."}
        "#,
    );
    assert_eq!(started(&log), Vec::<String>::new(), "{log}");
    let commands: Vec<&str> = log.lines().filter(|line| line.starts_with("r1 commands ")).collect();
    assert!(commands.last().is_some_and(|last| last.contains(r#""state":"left""#)), "{commands:?}");
    let steps = only(&log, &["plan.step", "request.finished"]);
    assert_eq!(steps.matches(r#""status":"done""#).count(), 2, "{steps}");
    assert!(steps.contains(r#""status":"completed""#), "{steps}");
}
