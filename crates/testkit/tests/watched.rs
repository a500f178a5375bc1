//! What commands do to files, as the log tells it and as the model is told.

use trimtab_testkit::scenario::{only, play};

#[test]
fn a_command_is_a_change_set_with_its_origin() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % watch=100
        % approve=auto
        > work
        <@ run_command {"command":"sed -i s/alpha/beta/ a.txt; echo new > b.txt"}
        ?~ Exit code 0.
        ?~ Files changed: a.txt (+1 -1); new: b.txt.
        <@ run_command {"command":"cat a.txt"}
        ?~ Exit code 0.\nbeta
        ?- deleted
        <@ run_command {"command":"mv b.txt c.txt; chmod +x a.txt"}
        ?~ Files changed: a.txt (+0 -0); new: c.txt; deleted: b.txt.
        < Done.
        "#
    ), &["change.applied"]), @r#"
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"by":{"command":"sed -i s/alpha/beta/ a.txt; echo new > b.txt","call":"c1t1","writes":[{"path":"a.txt","before":{"hash":"ac678d92b3d739773d18cd952cfcea443fa4a5a98ffc9554b66795bb22d5532d","mode":420},"after":{"hash":"488c11dd70fcd9ee40dd3e30ca2bd7be9b899ba4cce90aa65d85e3491f316e1f","mode":420},"added":1,"removed":1,"modified":1},{"path":"b.txt","after":{"hash":"79d1d8da0b625035cdbfc9d51841030861b9f4cf7c5abbe442a8d13efc352170","mode":420},"added":1,"removed":0,"modified":0}],"diff":"diff-r1-x-c1t1"},"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false},{"path":"b.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 change.applied {"changeSet":"r1-x-c3t1","position":1,"by":{"command":"mv b.txt c.txt; chmod +x a.txt","call":"c3t1","writes":[{"path":"a.txt","before":{"hash":"488c11dd70fcd9ee40dd3e30ca2bd7be9b899ba4cce90aa65d85e3491f316e1f","mode":420},"after":{"hash":"488c11dd70fcd9ee40dd3e30ca2bd7be9b899ba4cce90aa65d85e3491f316e1f","mode":493},"added":0,"removed":0,"modified":0},{"path":"b.txt","before":{"hash":"79d1d8da0b625035cdbfc9d51841030861b9f4cf7c5abbe442a8d13efc352170","mode":420},"added":0,"removed":1,"modified":0},{"path":"c.txt","after":{"hash":"79d1d8da0b625035cdbfc9d51841030861b9f4cf7c5abbe442a8d13efc352170","mode":420},"added":1,"removed":0,"modified":0}],"diff":"diff-r1-x-c3t1"},"files":[{"path":"a.txt","added":0,"removed":0,"modified":0,"isNew":false,"isDeleted":false},{"path":"b.txt","added":0,"removed":1,"modified":0,"isNew":false,"isDeleted":true},{"path":"c.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    --- a.txt
    beta
    --- c.txt
    new
    "#);
}

#[test]
fn stopped_by_a_person_it_is_recorded_what_a_command_had_done() {
    insta::assert_snapshot!(only(&play(
        r#"
        % watch=100
        % approve=auto
        > work
        <@ run_command {"command":"echo half > a.txt; sleep 1000"}
        @ command.started
        = for i in $(seq 1000); do test -s a.txt && break; sleep 0.02; done
        ^C
        "#
    ), &["change.applied", "command.finished", "request.finished"]), @r#"
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"by":{"command":"echo half > a.txt; sleep 1000","call":"c1t1","writes":[{"path":"a.txt","after":{"hash":"6f635fbae39425317e78b33c549019a72ee32e2e867c1dd1d823109e2db29777","mode":420},"added":1,"removed":0,"modified":0}],"diff":"diff-r1-x-c1t1"},"files":[{"path":"a.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 command.finished {"call":"c1t1","command":"echo half > a.txt; sleep 1000","timedOut":false,"preview":""}
    r1 request.finished {"status":"cancelled","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    --- a.txt
    half
    "#);
}

#[test]
fn after_a_kill_what_a_command_had_done_is_recorded_before_anything_is_asked() {
    insta::assert_snapshot!(only(&play(
        r#"
        % watch=100
        % approve=auto
        > work
        <@ run_command {"command":"echo half > a.txt; sleep 1000"}
        @ command.started
        = for i in $(seq 1000); do test -s a.txt && break; sleep 0.02; done
        ^K
        ! skip
        ?~ The result is unknown
        ?~ New: a.txt.
        < I see.
        "#
    ), &["change.applied", "checkpoint.opened", "checkpoint.resolved", "tool.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? echo half > a.txt; sleep 1000","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"echo half > a.txt; sleep 1000"},"class":"command","reason":"`>` writes to `a.txt`","ruleText":"allow run_command: echo half > a.txt; sleep 1000 (in PROJECT)","plan":{"argv":["sh","-c","echo half > a.txt; sleep 1000"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"echo half > a.txt; sleep 1000"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"approve auto"}
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"by":{"command":"echo half > a.txt; sleep 1000","call":"c1t1","late":true,"writes":[{"path":"a.txt","after":{"hash":"6f635fbae39425317e78b33c549019a72ee32e2e867c1dd1d823109e2db29777","mode":420},"added":1,"removed":0,"modified":0}],"diff":"diff-r1-x-c1t1"},"files":[{"path":"a.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"unknown","title":"Trimtab was interrupted while this command was running, so its result is unknown: echo half > a.txt; sleep 1000","choices":[{"id":"skip","label":"Continue without it","number":1,"text":"no","role":"reject_once"},{"id":"again","label":"Run it again","number":2,"text":"no","role":"allow_once"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"outcome","call":"c1t1","class":"unknown_outcome","command":"echo half > a.txt; sleep 1000"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"skip","by":"user"}
    r1 tool.finished {"call":"c1t1","status":"error","preview":"Trimtab was interrupted while this command was running. The result is unknown, and the command may have done part of its work. It was not run again. New: a.txt."}
    --- a.txt
    half
    "#);
}

#[test]
fn in_a_folder_with_too_many_files_the_command_runs_and_it_is_said() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- b.txt
        beta
        --- dialogue
        % watch=1
        > work
        <@ run_command {"command":"echo x > a.txt"}
        ! allow
        ?~ What it did to files was not recorded
        < Done.
        "#
    ), &["change.applied", "command.finished"]), @r#"
    r1 command.finished {"call":"c1t1","command":"echo x > a.txt","exitCode":0,"timedOut":false,"preview":"","unobserved":"too_many_files"}
    --- a.txt
    x
    --- b.txt
    beta
    "#);
}
