//! The agent at work: tools, permissions, interrupts, context; with the real engine, host, database
//! and files. What each model call is sent is asserted in the dialogue; that every prompt is valid for
//! every provider is checked by the scripted model itself.

use trimtab_testkit::scenario::{only, play_unmeasured as play};

#[test]
fn tools_run_until_the_model_is_done() {
    insta::assert_snapshot!(play(
        r#"
        --- src/a.rs
        fn answer() -> u32 { 41 }
        --- dialogue
        > fix the answer
        ?^ copilot that works in the user's folder
        <+ I look first.
        <@ search {"pattern":"answer"}
        #
        <@ read_file {"path":"src/a.rs"}
        ?~ fn answer() -> u32 { 41 }
        <@ edit_file {"path":"src/a.rs","blocks":[{"search":"fn answer() -> u32 { 41 }","replace":"fn answer() -> u32 { 42 }"}]}
        ?~ Changed src/a.rs
        < The answer is 42 now.
        "#
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"fix the answer","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","stopReason":"tool_use","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"I look first."},{"type":"tool_use","id":"toolu_1_1","name":"search","input":{"pattern":"answer"}}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 tool.started {"call":"c1t1","name":"search","input":{"pattern":"answer"}}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"src/a.rs:1:fn answer() -> u32 { 41 }"}
    r1 reflection {"entries":[{"tool":"search","status":"ok","finding":"1 line, 36 bytes","next_action":"use it"}]}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c2","stopReason":"tool_use","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"tool_use","id":"toolu_2_1","name":"read_file","input":{"path":"src/a.rs"}}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 tool.started {"call":"c2t1","name":"read_file","input":{"path":"src/a.rs"}}
    r1 tool.finished {"call":"c2t1","status":"ok","preview":"1\tfn answer() -> u32 { 41 }"}
    r1 reflection {"entries":[{"tool":"read_file","status":"ok","finding":"1 line, 27 bytes","next_action":"use it"}]}
    r1 model.called {"call":"c3","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c3","stopReason":"tool_use","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"tool_use","id":"toolu_3_1","name":"edit_file","input":{"path":"src/a.rs","blocks":[{"search":"fn answer() -> u32 { 41 }","replace":"fn answer() -> u32 { 42 }"}]}}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 tool.started {"call":"c3t1","name":"edit_file","input":{"path":"src/a.rs","blocks":[{"search":"fn answer() -> u32 { 41 }","replace":"fn answer() -> u32 { 42 }"}]}}
    r1 proposal.opened {"proposal":"r1-p-c3t1","call":"c3t1","kind":"files","operations":[{"path":"src/a.rs","before":{"mode":420},"after":{"mode":420},"added":1,"removed":1,"modified":1,"diff":"--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-fn answer() -> u32 { 41 }\n+fn answer() -> u32 { 42 }\n","hunks":1,"errors":[]}],"version":1}
    r1 proposal.resolved {"proposal":"r1-p-c3t1","verdict":"approved"}
    r1 change.applied {"changeSet":"r1-x-c3t1","position":0,"files":[{"path":"src/a.rs","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    r1 tool.finished {"call":"c3t1","status":"ok","preview":"Changed src/a.rs: +1 -1 lines."}
    r1 reflection {"entries":[{"tool":"edit_file","status":"ok","finding":"1 line, 30 bytes","next_action":"use it"}]}
    r1 model.called {"call":"c4","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c4","raw":"reply-s-c4","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"The answer is 42 now."}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"summarizing","label":"Synthesizing final intelligence..."}
    r1 answer {"summary":"The answer is 42 now.","synthesis":{"id":"synthesis_r1","text":"The answer is 42 now."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    --- src/a.rs
    fn answer() -> u32 { 42 }
    "#);
}

#[test]
fn tool_results_go_back_as_one_user_message_with_a_reflection() {
    play(
        r#"
        --- a.txt
        alpha
        --- b.txt
        beta
        --- dialogue
        > read both
        <@ read_file {"path":"a.txt"}
        <@ read_file {"path":"b.txt"}
        <@ read_file {"path":"c.txt"}
        ?~ 1\talpha
        ?~ 1\tbeta
        ?~ [TOOL REFLECTION]
        ?~ - read_file ok: 1 line, 7 bytes -> use it
        ?~ - read_file error: 1 line
        ?~ -> find the cause before you try again
        < Done.
        "#,
    );
}

#[test]
fn allow_is_for_once_and_always_is_a_rule() {
    insta::assert_snapshot!(only(&play(
        r#"
        > run things
        <@ run_command {"command":"date +%N$X"}
        ! allow
        ?~ Exit code 0.
        <@ run_command {"command":"date +%N$X"}
        ! always
        <@ run_command {"command":"date +%N$X"}
        < Done.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "rule.added", "command.started", "answer"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? date +%N$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"date +%N$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: date +%N$X (in PROJECT)","plan":{"argv":["sh","-c","date +%N$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"date +%N$X"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 command.started {"call":"c1t1","command":"date +%N$X","argv":["sh","-c","date +%N$X"],"cwd":"PROJECT"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"Run this command? date +%N$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c2t1","tool":"run_command","input":{"command":"date +%N$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: date +%N$X (in PROJECT)","plan":{"argv":["sh","-c","date +%N$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"date +%N$X"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"always","by":"user"}
    r1 rule.added {"rule":{"verdict":"allow","tool":"run_command","pattern":"date +%N$X"}}
    r1 command.started {"call":"c2t1","command":"date +%N$X","argv":["sh","-c","date +%N$X"],"cwd":"PROJECT"}
    r1 command.started {"call":"c3t1","command":"date +%N$X","argv":["sh","-c","date +%N$X"],"cwd":"PROJECT"}
    r1 answer {"summary":"Done.","synthesis":{"id":"synthesis_r1","text":"Done."}}
    "#);
}

#[test]
fn never_is_a_rule_too_and_the_loop_goes_on() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > delete it
        <@ delete_file {"path":"a.txt"}
        ! never it is precious
        ?~ They say: it is precious
        <@ delete_file {"path":"a.txt"}
        ?~ Blocked by the user's rule
        < Then not.
        "#
    ), &["checkpoint.resolved", "rule.added", "tool.finished", "proposal.resolved", "change.applied"]), @r#"
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"never","text":"it is precious","by":"user"}
    r1 rule.added {"rule":{"verdict":"deny","tool":"delete_file","pattern":"a.txt"}}
    r1 proposal.resolved {"proposal":"r1-p-c1t1","verdict":"rejected"}
    r1 tool.finished {"call":"c1t1","status":"blocked","preview":"The user does not allow this. Do not try it again; choose another way or ask. They say: it is precious"}
    r1 tool.finished {"call":"c2t1","status":"blocked","preview":"Blocked by the user's rule (deny delete_file: a.txt (in PROJECT)). Do not try it again."}
    --- a.txt
    alpha
    "#);
}

#[test]
fn wait_ends_everything_with_the_documented_result_and_goes_on_with_new_words() {
    insta::assert_snapshot!(only(&play(
        r#"
        > make files
        <@ run_command {"command":"echo 1 > one.txt"}
        <@ run_command {"command":"echo 2 > two.txt"}
        <@ write_file {"path":"three.txt","content":"3"}
        ! wait use one file only
        ?~ [Request interrupted by user for tool use]
        ? use one file only
        <@ write_file {"path":"all.txt","content":"1 2 3\n"}
        < One file.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "banner", "tool.finished", "request.steered", "answer", "request.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? echo 1 > one.txt","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"echo 1 > one.txt"},"class":"command","reason":"`>` writes to `one.txt`","ruleText":"allow run_command: echo 1 > one.txt (in PROJECT)","plan":{"argv":["sh","-c","echo 1 > one.txt"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"echo 1 > one.txt"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"wait","text":"use one file only","by":"user"}
    r1 tool.finished {"call":"c1t1","status":"interrupted","preview":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}
    r1 tool.finished {"call":"c1t2","status":"interrupted","preview":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}
    r1 tool.finished {"call":"c1t3","status":"interrupted","preview":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}
    r1 banner {"level":"warning","text":"[Tool execution interrupted - waiting for user feedback]"}
    r1 request.steered {"text":"use one file only","by":"user"}
    r1 tool.finished {"call":"c2t1","status":"ok","preview":"Created all.txt (1 lines)."}
    r1 answer {"summary":"One file.","synthesis":{"id":"synthesis_r1","text":"One file."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":30,"cachedTokens":0,"outputTokens":15}}
    --- all.txt
    1 2 3
    "#);
}

#[test]
fn wait_without_words_waits_and_a_new_request_goes_on_from_there() {
    insta::assert_snapshot!(only(&play(
        r#"
        > make files
        <@ run_command {"command":"echo 1 > one.txt"}
        ! wait
        > something else
        ? something else
        < Yes.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "banner", "tool.finished", "answer", "request.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? echo 1 > one.txt","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"echo 1 > one.txt"},"class":"command","reason":"`>` writes to `one.txt`","ruleText":"allow run_command: echo 1 > one.txt (in PROJECT)","plan":{"argv":["sh","-c","echo 1 > one.txt"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"echo 1 > one.txt"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"wait","by":"user"}
    r1 tool.finished {"call":"c1t1","status":"interrupted","preview":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}
    r1 banner {"level":"warning","text":"[Tool execution interrupted - waiting for user feedback]"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"clarification","title":"What should be done differently?","choices":[{"id":"tell","label":"Answer in text","number":1,"text":"required","role":"secondary"},{"id":"stop","label":"Stop here","number":2,"text":"no","role":"dismiss"}],"about":"tell"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"stop","by":"new request"}
    r1 request.finished {"status":"cancelled","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 answer {"summary":"Yes."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn allowed_and_denied_tools_of_one_reply_keep_their_ids() {
    play(
        r#"
        --- a.txt
        alpha
        --- b.txt
        beta
        --- dialogue
        > delete both
        <@ delete_file {"path":"a.txt"}
        <@ delete_file {"path":"b.txt"}
        ! allow
        ! never
        ?~ Deleted a.txt.
        ?~ The user does not allow this
        < One is gone.
        "#,
    );
}

#[test]
fn a_new_rule_answers_what_is_already_asked() {
    insta::assert_snapshot!(only(&play(
        r#"
        > fetch
        <@ fetch_url {"url":"http://127.0.0.1:1/a"}
        <@ fetch_url {"url":"http://127.0.0.1:1/b"}
        ! always
        ?~ 127.0.0.1
        < Nothing there.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "rule.added", "stage"]), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Fetch this page from 127.0.0.1:1? http://127.0.0.1:1/a","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"fetch_url","input":{"url":"http://127.0.0.1:1/a"},"class":"new_host","reason":"127.0.0.1:1 is a new host, and is in this machine","ruleText":"allow fetch_url: 127.0.0.1:1 (in PROJECT)","rule":{"verdict":"allow","tool":"fetch_url","pattern":"127.0.0.1:1"}}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"permission","title":"Fetch this page from 127.0.0.1:1? http://127.0.0.1:1/b","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t2","tool":"fetch_url","input":{"url":"http://127.0.0.1:1/b"},"class":"new_host","reason":"127.0.0.1:1 is a new host, and is in this machine","ruleText":"allow fetch_url: 127.0.0.1:1 (in PROJECT)","rule":{"verdict":"allow","tool":"fetch_url","pattern":"127.0.0.1:1"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"always","by":"user"}
    r1 rule.added {"rule":{"verdict":"allow","tool":"fetch_url","pattern":"127.0.0.1:1"}}
    r1 stage {"stage":"running","label":"Interrogating 127.0.0.1:1..."}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"rule"}
    r1 stage {"stage":"running","label":"Interrogating 127.0.0.1:1..."}
    r1 stage {"stage":"summarizing","label":"Synthesizing final intelligence..."}
    "#);
}

#[test]
fn whose_page_is_being_read_is_told_also_where_the_request_names_it() {
    let log = only(&play("\n> Sum up @http://127.0.0.1:1/a\n< Nothing there.\n"), &["stage"]);
    assert!(log.contains(r#"{"stage":"intake","label":"Interrogating 127.0.0.1:1..."}"#), "{log}");
}

#[test]
fn repeated_allows_suggest_a_rule_and_never_make_one() {
    let log = play(
        r#"
        > run things
        <@ run_command {"command":"date +%N$X"}
        ! allow
        <@ run_command {"command":"date +%N$X"}
        ! allow
        <@ run_command {"command":"date +%N$X"}
        ! allow
        < Done.
        "#,
    );
    assert!(log.contains("You have allowed this 3 times"), "{log}");
    assert!(!log.contains("rule.added"), "{log}");
}

#[test]
fn without_a_person_what_asks_ends_the_run_and_goes_on_once_answered() {
    insta::assert_snapshot!(only(&play(
        r#"
        % attended=false
        > run it
        <@ run_command {"command":"echo hi$X"}
        ! allow
        ?~ hi
        < Done.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "request.finished", "request.reopened", "request.resumed", "command.started", "answer"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? echo hi$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"echo hi$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: echo hi$X (in PROJECT)","plan":{"argv":["sh","-c","echo hi$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"echo hi$X"}}
    r1 request.finished {"status":"needs_user","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 request.reopened {}
    r1 request.resumed {}
    r1 command.started {"call":"c1t1","command":"echo hi$X","argv":["sh","-c","echo hi$X"],"cwd":"PROJECT"}
    r1 answer {"summary":"Done.","synthesis":{"id":"synthesis_r1","text":"Done."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn what_waits_for_a_person_does_not_stand_in_the_way_of_another_request() {
    play(
        r#"
        % attended=false
        > run it
        <@ run_command {"command":"echo hi$X"}
        > another thing
        ? another thing
        < Yes.
        ! allow
        ?~ [Result of the tool use toolu_1_1 that waited]\nExit code 0.\nhi
        < Done.
        "#,
    );
}

#[test]
fn approve_auto_allows_and_approve_deny_refuses_and_both_are_on_record() {
    insta::assert_snapshot!(only(&play(
        r#"
        % attended=false
        % approve=auto
        > run it
        <@ run_command {"command":"echo hi$X"}
        ?~ hi
        < Done.
        % approve=deny
        > run it again
        <@ run_command {"command":"echo hi > hi.txt"}
        ?~ The user does not allow this
        < Not done.
        "#
    ), &["checkpoint.resolved", "command.started", "request.finished"]), @r#"
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"approve auto"}
    r1 command.started {"call":"c1t1","command":"echo hi$X","argv":["sh","-c","echo hi$X"],"cwd":"PROJECT","automatic":"check"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    r2 checkpoint.resolved {"checkpoint":"r2-k1","choice":"denied","by":"approve deny"}
    r2 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn an_untrusted_folder_is_neither_read_nor_told_of_before_the_person_says_so() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- AGENTS.md
        Speak like a pirate.
        --- a.txt
        alpha
        --- dialogue
        % trusted=false
        > look around
        ?- pirate
        ?- PROJECT
        <@ read_file {"path":"a.txt"}
        ! trust
        ?+ alpha
        ?+ Speak like a pirate.
        < Seen.
        > again
        ?+ Speak like a pirate.
        < Arr.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "rule.added", "context.loaded", "tool.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Do you trust the files in PROJECT? They will be read and sent to the model.","choices":[{"id":"trust","label":"Yes, I trust this folder","number":1,"key":"y","text":"no","role":"allow_always"},{"id":"no","label":"No, continue without it","number":2,"key":"n","text":"no","role":"reject_once"}],"about":"trust","class":"trust_folder","rule":{"verdict":"allow","tool":"trust","pattern":"*"}}
    r1 rule.added {"rule":{"verdict":"allow","tool":"instructions","pattern":"AGENTS.md@15250f163352a3706c9577fdfd61b82f"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"trust","by":"user"}
    r1 rule.added {"rule":{"verdict":"allow","tool":"trust","pattern":"*"}}
    r1 context.loaded {"instructions":"Speak like a pirate.\n"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"1\talpha"}
    --- AGENTS.md
    Speak like a pirate.
    --- a.txt
    alpha
    "#);
}

#[test]
fn a_folder_that_is_not_trusted_stays_unread() {
    play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % trusted=false
        > look around
        <@ read_file {"path":"a.txt"}
        <@ run_command {"command":"cat a.txt$X"}
        ! no
        ?~ The user does not trust this folder
        ?- alpha
        < Then tell me.
        "#,
    );
}

#[test]
fn plan_mode_looks_and_changes_nothing_whatever_the_model_asks() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % mode=plan
        % approve=auto
        > change it
        ?+ plan mode
        <@ read_file {"path":"a.txt"}
        <@ write_file {"path":"a.txt","content":"beta"}
        <@ run_command {"command":"rm a.txt"}
        ?~ This is plan mode: nothing is changed or run.
        < 1. Change a.txt.
        "#,
    );
    assert!(log.ends_with("--- a.txt\nalpha\n"), "{log}");
}

#[test]
fn a_conversation_has_no_tools_and_a_small_prompt() {
    play(
        r#"
        % mode=chat
        > what is a trim tab
        ?^ you have no tools
        < A small surface.
        "#,
    );
}

#[test]
fn the_step_limit_ends_in_an_assessment_with_one_banner_and_a_way_to_go_on() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % steps=2
        > work
        <@ read_file {"path":"a.txt"}
        <@ list_files {}
        #
        <@ search {"pattern":"alpha"}
        ?~ [STEP LIMIT] This request has used all of its 2 steps.
        < ⚠ GOAL PARTIALLY ACHIEVED\nHalf of it is done.
        ! continue
        ? Go on.
        < All of it is done now.
        "#
    ), &["request.assessing", "banner", "answer", "checkpoint.opened", "checkpoint.resolved", "request.finished"]), @r#"
    r1 request.assessing {}
    r1 banner {"level":"warning","text":"⚠ GOAL PARTIALLY ACHIEVED"}
    r1 answer {"summary":"Half of it is done.","synthesis":{"id":"synthesis_r1","text":"Half of it is done."}}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"confirm","title":"The limit of 2 model calls was reached.","choices":[{"id":"continue","label":"Continue for 2 more model calls","number":1,"text":"optional","role":"primary"},{"id":"stop","label":"Stop here","number":2,"text":"no","role":"dismiss"}],"about":"steps"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"continue","by":"user"}
    r1 answer {"summary":"All of it is done now.","synthesis":{"id":"synthesis_r1","text":"All of it is done now."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    --- a.txt
    alpha
    "#);
}

#[test]
fn a_banner_in_an_ordinary_turn_is_taken_out() {
    let log = play(
        "
        > hello
        < ✅ GOAL ACHIEVED\\nHi.
        ",
    );
    assert!(log.contains(r#"answer {"summary":"Hi."}"#), "{log}");
    assert!(!log.contains("banner"), "{log}");
    let log = play(
        "
        > hello
        < All fine. **✅ GOAL ACHIEVED**
        ",
    );
    assert!(log.contains(r#"answer {"summary":"All fine."}"#), "{log}");
    let log = play(
        r#"
        % tools=false
        > work
        < {"summary":"✅ GOAL ACHIEVED: all fine."}
        "#,
    );
    assert!(log.contains(r#"answer {"summary":"all fine."}"#), "{log}");
}

#[test]
fn a_hollow_tool_use_is_asked_about_once() {
    let log = play(
        "
        > work
        < I use a tool. [tool_use]
        ? [Your reply announced a tool call but did not contain one. Call the tool, or answer.]
        < I use it again. [tool_use]
        ",
    );
    assert!(log.contains("empty_tool_use") && log.contains(r#""status":"completed""#), "{log}");
}

#[test]
fn without_a_stop_reason_the_words_decide_whether_the_work_goes_on() {
    play(
        "
        > work
        < Let me look at it. [stop_sequence]
        ? Continue.
        < It is fine. [stop_sequence]
        > more
        < Let me look at it. [end_turn]
        ",
    );
}

#[test]
fn a_reply_that_was_cut_runs_none_of_its_tools() {
    // The script's tools always end with tool_use, so the cut is played by the provider in run.rs.
    let log = play(
        "
        > write
        < Half of [max_tokens]
        ",
    );
    assert!(log.contains(r#""truncated":true"#), "{log}");
}

#[test]
fn the_same_call_again_and_again_is_put_to_the_person() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > work
        <@ list_files {}
        #
        <@ read_file {"path":"a.txt"}
        # the same, three times in a row
        <@ read_file {"path":"a.txt"}
        ?~ this is the same call as before
        <@ read_file {"path":"a.txt"}
        ! tell look elsewhere
        ?~ [Not run: the user says what to do instead.]
        ? look elsewhere
        < I will.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "reflection"]), @r#"
    r1 reflection {"entries":[{"tool":"list_files","status":"ok","finding":"2 lines, 15 bytes","next_action":"use it"}]}
    r1 reflection {"entries":[{"tool":"read_file","status":"ok","finding":"1 line, 7 bytes","next_action":"use it"}]}
    r1 reflection {"entries":[{"tool":"read_file","status":"ok","finding":"1 line, 7 bytes","next_action":"this is the same call as before: do something else, or ask the user"}]}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"confirm","title":"The model made the same call 2 times with the same result: read_file {\"path\":\"a.txt\"}","choices":[{"id":"continue","label":"Allow it again","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Tell the model what to do instead","number":2,"text":"required","role":"secondary"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"repeat"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"tell","text":"look elsewhere","by":"user"}
    r1 reflection {"entries":[{"tool":"read_file","status":"error","finding":"1 line, 44 bytes","next_action":"find the cause before you try again"}]}
    --- a.txt
    alpha
    "#);
}

/// A model that goes through these calls again and again. The scenario fails if it is called more or less often.
fn circling(settings: &str, calls: &[&str], times: usize) -> String {
    let settings: String = settings.split(' ').map(|setting| format!("% {setting}\n")).collect();
    let rounds: String = (0..times).map(|number| format!("<@ {}\n#\n", calls[number % calls.len()])).collect();
    play(&format!("\n--- a.txt\nalpha\n--- b.txt\nbeta\n--- dialogue\n{settings}> work\n{rounds}"))
}

const READ_A: &str = r#"read_file {"path":"a.txt"}"#;
const READ_B: &str = r#"read_file {"path":"b.txt"}"#;
const LIST: &str = "list_files {}";

#[test]
fn without_a_person_a_model_that_goes_round_in_circles_is_told_so_once_and_then_the_request_ends() {
    for settings in ["attended=false", "attended=false approve=auto", "approve=deny"] {
        for (cycle, calls) in [(&[READ_A][..], 5), (&[READ_A, READ_B], 8), (&[LIST, READ_A, READ_B], 9)] {
            let log = circling(settings, cycle, calls);
            let told = only(&log, &["tool.finished"]);
            assert_eq!(told.matches("[Not run: this same call had the same result before, ").count(), 1, "{log}");
            assert!(log.contains("The model kept repeating itself and made no progress."), "{log}");
            assert!(log.contains(r#""status":"not_done","error":{"kind":"repetition""#), "nothing was changed: {log}");
            assert!(!log.contains(r#""about":"repeat""#) && !log.contains(r#""about":"steps""#), "{log}");
        }
    }
}

#[test]
fn a_person_is_asked_about_a_cycle_of_any_length() {
    for (cycle, calls) in [(&[READ_A, READ_B][..], 6), (&[LIST, READ_A, READ_B], 7)] {
        let log = circling("attended=true", cycle, calls);
        assert!(log.contains(r#""about":"repeat""#), "{log}");
    }
}

#[test]
fn at_the_last_step_the_limit_asks_and_not_the_repetition() {
    let log = play(&format!(
        "\n--- a.txt\nalpha\n--- dialogue\n% steps=3\n> work\n{}< I go round.\n",
        format!("<@ {READ_A}\n#\n").repeat(3)
    ));
    assert!(log.contains(r#""about":"steps""#) && !log.contains(r#""about":"repeat""#), "{log}");
}

#[test]
fn the_same_write_again_is_done_already_and_the_work_it_did_counts() {
    let write = r#"write_file {"path":"new.txt","content":"hello\n"}"#;
    let log = circling("attended=false", &[write], 5);
    assert!(log.contains("Already in place, nothing to do."), "{log}");
    assert_eq!(log.matches("change.applied").count(), 1, "{log}");
    assert!(log.contains(r#""status":"completed""#), "what was asked for is there: {log}");
}

#[test]
fn a_search_that_was_replaced_before_is_done_already() {
    play(
        r#"
        --- a.py
        def add(a, b):
            return a - b
        --- dialogue
        > fix add in a.py
        <@ read_file {"path":"a.py"}
        #
        <@ edit_file {"path":"a.py","blocks":[{"search":"    return a - b","replace":"    return a + b"}]}
        #
        <@ edit_file {"path":"a.py","blocks":[{"search":"    return a - b","replace":"    return a + b"}]}
        ?~ Already in place, nothing to do.
        < Done.
        "#,
    );
}

#[test]
fn a_test_may_run_after_each_edit_and_a_file_that_changes_may_be_read_as_often_as_it_does() {
    let rounds: String = (0..6)
        .map(|number| {
            format!(
                "<@ write_file {{\"path\":\"n.txt\",\"content\":\"{number}\\n\"}}\n#\n<@ read_file {{\"path\":\"a.txt\"}}\n#\n<@ read_file {{\"path\":\"n.txt\"}}\n#\n"
            )
        })
        .collect();
    let log =
        play(&format!("\n--- a.txt\nalpha\n--- dialogue\n% attended=false\n% steps=30\n> work\n{rounds}< Done.\n"));
    assert!(log.contains(r#""status":"completed""#) && !log.contains("Not run"), "{log}");
}

#[test]
fn a_steer_is_taken_up_at_the_next_step() {
    play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > work
        <@ run_command {"command":"sleep 0.3$X"}
        ! allow
        @ command.started
        ^S only the tests
        @ command.finished
        ?~ Exit code 0.
        ? only the tests
        < Only the tests.
        "#,
    );
}

#[test]
fn a_steer_during_the_last_reply_is_not_lost() {
    let log = play(
        "
        > work
        <… Almost do
        ^S and more
        ^C
        ",
    );
    assert!(log.contains("request.steered"), "{log}");
}

#[test]
fn a_pause_rests_after_the_step_and_goes_on_when_told() {
    insta::assert_snapshot!(only(&play(
        r#"
        > work
        <@ run_command {"command":"sleep 0.3; echo slept$X"}
        ! allow
        @ command.started
        ^P
        @ checkpoint.opened
        ! continue
        ?~ slept
        < Done.
        "#
    ), &["request.pausing", "tool.finished", "checkpoint.opened", "checkpoint.resolved", "request.resumed", "answer"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? sleep 0.3; echo slept$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"sleep 0.3; echo slept$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: sleep 0.3; echo slept$X (in PROJECT)","plan":{"argv":["sh","-c","sleep 0.3; echo slept$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"sleep 0.3; echo slept$X"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 request.pausing {}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Exit code 0.\nslept\n"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"step","title":"Paused after this step.","choices":[{"id":"continue","label":"Continue","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Continue differently","number":2,"text":"required","role":"secondary"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"pause"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"continue","by":"user"}
    r1 request.resumed {}
    r1 answer {"summary":"Done.","synthesis":{"id":"synthesis_r1","text":"Done."}}
    "#);
}

#[test]
fn one_tool_can_be_stopped_and_the_rest_goes_on() {
    play(
        r#"
        > work
        <@ run_command {"command":"sleep 1000$X"}
        <@ run_command {"command":"echo second$X"}
        ! allow
        @ command.started
        ^T c1t1
        @ checkpoint.opened
        ! allow
        ?~ [Stopped by the user. The other calls continue.]
        ?~ second
        < Done.
        "#,
    );
}

#[test]
fn what_runs_can_be_skipped() {
    play(
        r#"
        > work
        <@ run_command {"command":"sleep 1000$X"}
        <@ run_command {"command":"echo second$X"}
        ! allow
        @ command.started
        ^X
        ?~ [Skipped by the user. Continue with what comes next.]
        < Done.
        "#,
    );
}

#[test]
fn a_stop_ends_a_running_command_and_nothing_begins_after_it() {
    insta::assert_snapshot!(only(&play(
        r#"
        > work
        <@ run_command {"command":"sleep 1000$X"}
        <@ run_command {"command":"echo 2 > two.txt"}
        ! allow
        @ command.started
        ^C
        > go on
        ? go on
        < Yes.
        "#
    ), &["request.stopping", "command.started", "command.finished", "tool.finished", "banner", "request.finished"]), @r#"
    r1 command.started {"call":"c1t1","command":"sleep 1000$X","argv":["sh","-c","sleep 1000$X"],"cwd":"PROJECT"}
    r1 request.stopping {}
    r1 banner {"level":"info","text":"[Conversation interrupted]"}
    r1 tool.finished {"call":"c1t2","status":"interrupted","preview":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}
    r1 command.finished {"call":"c1t1","command":"sleep 1000$X","timedOut":false,"preview":""}
    r1 tool.finished {"call":"c1t1","status":"interrupted","preview":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}
    r1 request.finished {"status":"cancelled","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_command_whose_end_nobody_saw_is_asked_about_and_never_run_again_by_itself() {
    insta::assert_snapshot!(only(&play(
        r#"
        > work
        <@ run_command {"command":"sleep 1000$X"}
        ! allow
        @ command.started
        ^K
        ! skip
        ?~ The result is unknown
        < I see.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "command.started", "tool.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? sleep 1000$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"sleep 1000$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: sleep 1000$X (in PROJECT)","plan":{"argv":["sh","-c","sleep 1000$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"sleep 1000$X"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 command.started {"call":"c1t1","command":"sleep 1000$X","argv":["sh","-c","sleep 1000$X"],"cwd":"PROJECT"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"unknown","title":"Trimtab was interrupted while this command was running, so its result is unknown: sleep 1000$X","choices":[{"id":"skip","label":"Continue without it","number":1,"text":"no","role":"reject_once"},{"id":"again","label":"Run it again","number":2,"text":"no","role":"allow_once"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"outcome","call":"c1t1","class":"unknown_outcome","command":"sleep 1000$X"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"skip","by":"user"}
    r1 tool.finished {"call":"c1t1","status":"error","preview":"Trimtab was interrupted while this command was running. The result is unknown, and the command may have done part of its work. It was not run again."}
    "#);
}

#[test]
fn looks_are_taken_again_after_a_crash() {
    play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > work
        <@ read_file {"path":"a.txt"}
        <… I was just
        ^K
        ?~ alpha
        < Done.
        "#,
    );
}

#[test]
fn a_large_result_is_stored_first_and_shown_by_head_and_tail() {
    insta::assert_snapshot!(only(&play(
        r#"
        > print much
        <@ run_command {"command":"seq 1 30000$X"}
        ! allow
        ?~ bytes left out
        ?~ 30000\n[Full result saved as ref:output-
        < Seen.
        "#
    ), &["command.finished"]), @r#"r1 command.finished {"call":"c1t1","command":"seq 1 30000$X","exitCode":0,"timedOut":false,"preview":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n23\n24\n25\n26\n27\n28\n29\n30\n31\n32\n33\n34\n35\n36\n37\n38\n39\n40\n41\n42\n43\n44\n45\n46\n47\n48\n49\n50\n51\n52\n53\n54\n55\n56\n57\n58\n59\n60\n61\n62\n63\n64\n65\n66\n67\n68\n69\n70\n71\n72\n73\n74\n75\n76\n77\n78\n79\n80\n81\n82\n83\n84\n85\n86\n87\n88\n89\n90\n91\n92\n93\n94\n95\n96\n97\n98\n99\n100\n101\n102\n103\n104\n105\n106\n107\n108\n109\n110\n111\n112\n113\n114\n115\n116\n117\n118\n119\n120\n121\n122\n123\n124\n125\n126\n127\n128\n129\n130\n131\n132\n133\n134\n135\n136\n137\n138\n139\n140\n141\n142\n143\n144\n145\n146\n147\n148\n149\n150\n151\n152\n153\n154\n155\n156\n157\n158\n159\n160\n161\n162\n163\n164\n165\n166\n167\n168\n169\n170\n171\n172\n173\n174\n175\n176\n177\n178\n179\n180\n181\n182\n183\n184\n185\n186\n187\n188\n189\n190\n191\n192\n193\n194\n195\n196\n197\n198\n199\n200\n201\n202\n203\n204\n205\n206\n207\n208\n209\n210\n211\n212\n213\n214\n215\n216\n217\n218\n219\n220\n221\n222\n223\n224\n225\n226\n227\n228\n229\n230\n231\n232\n233\n234\n235\n236\n237\n238\n239\n240\n241\n242\n243\n244\n245\n246\n247\n248\n249\n250\n251\n252\n253\n254\n255\n256\n257\n258\n259\n260\n261\n262\n263\n264\n265\n266\n267\n268\n269\n270\n271\n272\n273\n274\n275\n276\n277\n278\n279\n280\n281\n282\n283\n284\n285\n286\n287\n288\n289\n290\n291\n292\n293\n294\n295\n296\n297\n298\n299\n300\n301\n302\n303\n304\n305\n306\n307\n308\n309\n310\n311\n312\n313\n314\n315\n316\n317\n318\n319\n320\n321\n322\n323\n324\n325\n326\n327\n328\n329\n330\n331\n332\n333\n334\n335\n336\n337\n338\n339\n340\n341\n342\n343\n344\n345\n346\n347\n348\n349\n350\n351\n352\n353\n354\n355\n356\n357\n358\n359\n360\n361\n362\n363\n364\n365\n366\n367\n368\n369\n370\n371\n372\n373\n374\n375\n376\n377\n378\n379\n380\n381\n382\n383\n384\n385\n386\n387\n388\n389\n390\n391\n392\n393\n394\n395\n396\n397\n398\n399\n400\n401\n402\n403\n404\n405\n406\n407\n408\n409\n410\n411\n412\n413\n414\n415\n416\n417\n418\n419\n420\n421\n422\n423\n424\n425\n426\n427\n428\n429\n430\n431\n432\n433\n434\n435\n436\n437\n438\n439\n440\n441\n442\n443\n444\n445\n[... 163881 of 168894 bytes left out ...]\n29444\n29445\n29446\n29447\n29448\n29449\n29450\n29451\n29452\n29453\n29454\n29455\n29456\n29457\n29458\n29459\n29460\n29461\n29462\n29463\n29464\n29465\n29466\n29467\n29468\n29469\n29470\n29471\n29472\n29473\n29474\n29475\n29476\n29477\n29478\n29479\n29480\n29481\n29482\n29483\n29484\n29485\n29486\n29487\n29488\n29489\n29490\n29491\n29492\n29493\n29494\n29495\n29496\n29497\n29498\n29499\n29500\n29501\n29502\n29503\n29504\n29505\n29506\n29507\n29508\n29509\n29510\n29511\n29512\n29513\n29514\n29515\n29516\n29517\n29518\n29519\n29520\n29521\n29522\n29523\n29524\n29525\n29526\n29527\n29528\n29529\n29530\n29531\n29532\n29533\n29534\n29535\n29536\n29537\n29538\n29539\n29540\n29541\n29542\n29543\n29544\n29545\n29546\n29547\n29548\n29549\n29550\n29551\n29552\n29553\n29554\n29555\n29556\n29557\n29558\n29559\n29560\n29561\n29562\n29563\n29564\n29565\n29566\n29567\n29568\n29569\n29570\n29571\n29572\n29573\n29574\n29575\n29576\n29577\n29578\n29579\n29580\n29581\n29582\n29583\n29584\n29585\n29586\n29587\n29588\n29589\n29590\n29591\n29592\n29593\n29594\n29595\n29596\n29597\n29598\n29599\n29600\n29601\n29602\n29603\n29604\n29605\n29606\n29607\n29608\n29609\n29610\n29611\n29612\n29613\n29614\n29615\n29616\n29617\n29618\n29619\n29620\n29621\n29622\n29623\n29624\n29625\n29626\n29627\n29628\n29629\n29630\n29631\n29632\n29633\n29634\n29635\n29636\n29637\n29638\n29639\n29640\n29641\n29642\n29643\n29644\n29645\n29646\n29647\n29648\n29649\n29650\n29651\n29652\n29653\n29654\n29655\n29656\n29657\n29658\n29659\n29660\n29661\n29662\n29663\n29664\n29665\n29666\n29667\n29668\n29669\n29670\n29671\n29672\n29673\n29674\n29675\n29676\n29677\n29678\n29679\n29680\n29681\n29682\n29683\n29684\n29685\n29686\n29687\n29688\n29689\n29690\n29691\n29692\n29693\n29694\n29695\n29696\n29697\n29698\n29699\n29700\n29701\n29702\n29703\n29704\n29705\n29706\n29707\n29708\n29709\n29710\n29711\n29712\n29713\n29714\n29715\n29716\n29717\n29718\n29719\n29720\n29721\n29722\n29723\n29724\n29725\n29726\n29727\n29728\n29729\n29730\n29731\n29732\n29733\n29734\n29735\n29736\n29737\n29738\n29739\n29740\n29741\n29742\n29743\n29744\n29745\n29746\n29747\n29748\n29749\n29750\n29751\n29752\n29753\n29754\n29755\n29756\n29757\n29758\n29759\n29760\n29761\n29762\n29763\n29764\n29765\n29766\n29767\n29768\n29769\n29770\n29771\n29772\n29773\n29774\n29775\n29776\n29777\n29778\n29779\n29780\n29781\n29782\n29783\n29784\n29785\n29786\n29787\n29788\n29789\n29790\n29791\n29792\n29793\n29794\n29795\n29796\n29797\n29798\n29799\n29800\n29801\n29802\n29803\n29804\n29805\n29806\n29807\n29808\n29809\n29810\n29811\n29812\n29813\n29814\n29815\n29816\n29817\n29818\n29819\n29820\n29821\n29822\n29823\n29824\n29825\n29826\n29827\n29828\n29829\n29830\n29831\n29832\n29833\n29834\n29835\n29836\n29837\n29838\n29839\n29840\n29841\n29842\n29843\n29844\n29845\n29846\n29847\n29848\n29849\n29850\n29851\n29852\n29853\n29854\n29855\n29856\n29857\n29858\n29859\n29860\n29861\n29862\n29863\n29864\n29865\n29866\n29867\n29868\n29869\n29870\n29871\n29872\n29873\n29874\n29875\n29876\n29877\n29878\n29879\n29880\n29881\n29882\n29883\n29884\n29885\n29886\n29887\n29888\n29889\n29890\n29891\n29892\n29893\n29894\n29895\n29896\n29897\n29898\n29899\n29900\n29901\n29902\n29903\n29904\n29905\n29906\n29907\n29908\n29909\n29910\n29911\n29912\n29913\n29914\n29915\n29916\n29917\n29918\n29919\n29920\n29921\n29922\n29923\n29924\n29925\n29926\n29927\n29928\n29929\n29930\n29931\n29932\n29933\n29934\n29935\n29936\n29937\n29938\n29939\n29940\n29941\n29942\n29943\n29944\n29945\n29946\n29947\n29948\n29949\n29950\n29951\n29952\n29953\n29954\n29955\n29956\n29957\n29958\n29959\n29960\n29961\n29962\n29963\n29964\n29965\n29966\n29967\n29968\n29969\n29970\n29971\n29972\n29973\n29974\n29975\n29976\n29977\n29978\n29979\n29980\n29981\n29982\n29983\n29984\n29985\n29986\n29987\n29988\n29989\n29990\n29991\n29992\n29993\n29994\n29995\n29996\n29997\n29998\n29999\n30000\n[Full result saved as ref:output-r1-c1t1]","ref":"output-r1-c1t1"}"#);
}

#[test]
fn a_file_that_changed_since_it_was_read_is_refused_until_it_is_read_again() {
    play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > change it
        <@ read_file {"path":"a.txt"}
        <@ ask_user {"question":"Ready?","options":["yes","no"]}
        = echo other > a.txt
        ! o1
        ?~ The user chooses: yes
        <@ edit_file {"path":"a.txt","blocks":[{"search":"other","replace":"beta"}]}
        ?~ it has changed since you last read it
        <@ read_file {"path":"a.txt"}
        <@ edit_file {"path":"a.txt","blocks":[{"search":"other","replace":"beta"}]}
        ?~ Changed a.txt
        < Done.
        "#,
    );
}

/// What was asked, and what became of the files.
fn asked(scenario: &str) -> String {
    let log = play(scenario);
    let titles = log.lines().filter(|line| line.contains(" checkpoint.opened "));
    let reason = |line: &str| {
        let from = line.find("\"reason\":\"").map(|at| &line[at + 10..]).unwrap_or_default();
        from.split('"').next().unwrap_or_default().to_owned()
    };
    let mut told: Vec<String> = titles.map(reason).collect();
    told.extend(log.split("\n--- ").skip(1).map(|file| file.trim_end().replace('\n', " = ")));
    told.join("; ")
}

#[test]
fn replacing_a_file_that_was_never_read_asks() {
    let replaced = asked(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > change it
        <@ write_file {"path":"a.txt","content":"beta\n"}
        ! allow
        < Done.
        "#,
    );
    assert_eq!(replaced, "it would replace a file that the model has not read; a.txt = beta");
    let read_before = asked(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > change it
        <@ read_file {"path":"a.txt"}
        <@ write_file {"path":"a.txt","content":"beta\n"}
        <@ write_file {"path":"new.txt","content":"new\n"}
        <@ write_file {"path":"new.txt","content":"newer\n"}
        < Done.
        "#,
    );
    assert_eq!(read_before, "a.txt = beta; new.txt = newer", "nobody is asked");
}

#[test]
fn where_nobody_is_there_a_file_that_was_never_read_is_read_first() {
    let read_first = asked(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % attended=false
        > change it
        <@ write_file {"path":"a.txt","content":"beta\n"}
        ?~ you have not read it
        <@ read_file {"path":"a.txt"}
        <@ write_file {"path":"a.txt","content":"beta\n"}
        < Done.
        "#,
    );
    assert_eq!(read_first, "a.txt = beta");
}

#[test]
fn deleting_asks_unless_a_setting_says_otherwise_and_the_file_was_read() {
    let scenario = |setting: &str, read: &str| {
        asked(&format!(
            "--- a.txt\nalpha\n--- keep.txt\nk\n--- dialogue\n{setting}> delete it\n{read}\
             <@ delete_file {{\"path\":\"a.txt\"}}\n! allow\n< Done.\n"
        ))
    };
    let read = "<@ read_file {\"path\":\"a.txt\"}\n#\n";
    assert_eq!(scenario("", read), "it would delete a file; keep.txt = k");
    assert_eq!(scenario("", ""), "it would delete a file that the model has not read; keep.txt = k");
    let off = "% confirm_deletes=false\n";
    assert_eq!(scenario(off, ""), "it would delete a file that the model has not read; keep.txt = k");
    let unasked = asked(
        r#"
        --- a.txt
        alpha
        --- keep.txt
        k
        --- dialogue
        % confirm_deletes=false
        > delete it
        <@ read_file {"path":"a.txt"}
        #
        <@ delete_file {"path":"a.txt"}
        < Done.
        "#,
    );
    assert_eq!(unasked, "keep.txt = k", "nobody is asked");
    assert_eq!(scenario("% confirm_deletes=false\n% files=ask\n", read), "it would delete a file; keep.txt = k");
}

#[test]
fn files_that_the_words_name_are_loaded_and_shown() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- src/a.rs
        fn a() {}
        --- b.txt
        beta
        --- dialogue
        > fix src/a.rs and @b.txt, not c/d/e.rs
        ?~ [Loaded src/a.rs]\n1\tfn a() {}
        ?~ 1\tbeta
        < I cannot fix it.
        "#
    ), &["stage", "context.loaded"]), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"intake","label":"Analyzing..."}
    r1 context.loaded {"missing":["c/d/e.rs"]}
    r1 stage {"stage":"intake","label":"📂 Loaded 2 files"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    --- b.txt
    beta
    --- src/a.rs
    fn a() {}
    "#);
}

#[test]
fn a_file_that_is_named_and_not_there_is_told_before_the_model_is_asked() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- src/note.rs
        fn a() {}
        --- dialogue
        > @alice: fix @src/nope.rs like @other/thing.md and @../away.txt, not src/plain.rs; mind @property and @types/node
        ?~ fix @src/nope.rs like
        < Done.
        "#
    ), &["banner", "context.loaded", "model.called"]), @r#"
    r1 context.loaded {"missing":["alice","src/nope.rs","other/thing.md","../away.txt","src/plain.rs","property","types/node"]}
    r1 banner {"level":"warning","text":"@src/nope.rs: no such file. Sent as plain text. Did you mean @src/note.rs?\n@other/thing.md: no such file. Sent as plain text.\n@../away.txt cannot be read. Sent as plain text."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    --- src/note.rs
    fn a() {}
    "#);
}

#[test]
fn files_move_and_vanish_only_as_they_are() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- b.txt
        beta
        --- dialogue
        > tidy up
        <@ move_file {"from":"a.txt","to":"b.txt"}
        ?~ b.txt exists already
        <@ move_file {"from":"a.txt","to":"c/d.txt"}
        < Moved.
        "#
    ), &["change.applied"]), @r#"
    r1 change.applied {"changeSet":"r1-x-c2t1","position":0,"files":[{"path":"a.txt","added":0,"removed":1,"modified":0,"isNew":false,"isDeleted":true},{"path":"c/d.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    --- b.txt
    beta
    --- c/d.txt
    alpha
    "#);
}

#[test]
fn the_programs_own_settings_are_out_of_reach_and_version_control_asks() {
    play(
        r#"
        > sneak
        <@ write_file {"path":".trimtab/config.toml","content":"x"}
        <@ write_file {"path":".git/hooks/pre-commit","content":"x"}
        ! never
        ?~ Files in .trimtab are the user's own settings
        ?~ The user does not allow this
        < Sorry.
        "#,
    );
}

#[test]
fn the_steps_of_the_work_are_shown() {
    let log = play(
        r#"
        > work
        <@ set_steps {"steps":[{"text":"one","completed":true},{"text":"two"}]}
        ?~ 1 steps are open
        < Done.
        "#,
    );
    assert!(
        log.contains(r#"steps {"todos":[{"text":"one","completed":true},{"text":"two","completed":false}]}"#),
        "{log}"
    );
}

#[test]
fn twenty_steps_with_permissions_a_wait_and_a_restart_end_right() {
    let mut script = String::from("--- notes.txt\nalpha\n--- dialogue\n> a long task\n");
    for step in 1..=6 {
        script += &format!("<@ search {{\"pattern\":\"alpha{step}\"}}\n#\n");
    }
    script += r#"
        <@ run_command {"command":"echo one >> log.txt"}
        ! allow
        ?~ Exit code 0.
        <@ write_file {"path":"a.txt","content":"a\n"}
        #
        <@ run_command {"command":"echo wrong >> log.txt"}
        <@ run_command {"command":"echo wronger >> log.txt"}
        ! wait say two instead
        ? say two instead
        <@ run_command {"command":"echo two >> log.txt"}
        ! allow
        <… I was just about to
        ^K
        ?~ Exit code 0.
        <@ run_command {"command":"echo three >> log.txt"}
        ! always
        <@ edit_file {"path":"a.txt","blocks":[{"search":"a","replace":"b"}]}
        #
"#;
    for step in 1..=7 {
        script += &format!("<@ read_file {{\"path\":\"notes.txt\",\"limit\":{step}}}\n#\n");
    }
    script += "< Twenty steps.\n";
    let log = play(&script);
    assert!(log.ends_with("--- a.txt\nb\n--- log.txt\none\ntwo\nthree\n--- notes.txt\nalpha\n"), "{log}");
    let replies = log.lines().filter(|line| line.contains(" reply.saved ") && !line.contains("\"partial\":true"));
    assert_eq!(replies.count(), 20);
    assert_eq!(log.lines().filter(|line| line.contains(" request.finished ")).count(), 1);
    assert!(log.contains(r#""status":"completed""#));
}

/// Files, names, numbers and steps that a long conversation is about; the examiner asks for each.
const PLANTED: [&str; 12] = [
    "src/http/head.rs",
    "parse_header_line",
    "HttpError::BadHead",
    "4217",
    "v2.13.7",
    "TRIM_LIMIT_KB",
    "tests/data/odd-name.json",
    "retryAfterMs",
    "0x7fff",
    "ABC-991",
    "./scripts/build.sh",
    "https://example.org/spec#part-3",
];

#[test]
fn a_summary_loses_no_name_no_number_no_open_step_and_can_be_undone() {
    let filler = "plain words that say nothing much at all and only fill the window ".repeat(60);
    let mut script = String::from("% window=8000\n");
    for (number, planted) in PLANTED.iter().enumerate() {
        script += &format!("> remark {number}: look at {planted} please. {filler}\n");
        if number == 2 {
            let steps = r#"[{"text":"mend the odd head"},{"text":"done thing","completed":true}]"#;
            script += &format!("<@ set_steps {{\"steps\":{steps}}}\n#\n");
        }
        script += &format!("< Noted {number}.\n");
    }
    // The examiner: whatever was planted is still there, word for word.
    script += "> what was all that about\n";
    for planted in
        PLANTED.iter().chain(&["mend the odd head", "[CONVERSATION SUMMARY]", "Source archived at ref:context-"])
    {
        script += &format!("?+ {planted}\n");
    }
    script += "? what was all that about\n< Everything.\n^U\n> and again\n?+ remark 10: look at ./scripts/build.sh please.\n< Yes.\n";
    let log = play(&script);
    let of = |kind: &str| log.lines().filter(|line| line.contains(kind)).count();
    assert!(of(" context.compressed ") >= 2, "{}", of(" context.compressed "));
    assert!(of(" context.restored ") == 1);
    assert_eq!(of(" request.finished {\"status\":\"completed\""), PLANTED.len() + 2);
}

#[test]
fn a_model_without_tools_answers_in_a_form_that_becomes_the_same_proposals() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        > change @a.txt
        ?^ You have no tools. Answer with one JSON object
        ?~ alpha
        < {"summary":"Done.","fileChanges":[{"path":"a.txt","diff":"@@ -1 +1 @@\\n-alpha\\n+beta\\n"},{"path":"new.txt","content":"new\\n"}],"commands":[{"command":"cat a.txt"}]}
        ! allow
        ?~ I ran the command: `cat a.txt`\n\nOutput:\n```\nbeta\n```\n\nPlease analyze this output.
        < {"summary":"It says beta."}
        "#
    ), &["answer", "bug", "checkpoint.opened", "change.applied", "tool.finished", "request.finished"]), @r#"
    r1 answer {"summary":"Done.","fileChanges":[{"path":"a.txt","diff":"@@ -1 +1 @@\n-alpha\n+beta\n"},{"path":"new.txt","content":"new\n"}],"commands":[{"command":"cat a.txt","description":""}]}
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Changed a.txt: +1 -1 lines."}
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"new.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 tool.finished {"call":"c1t2","status":"ok","preview":"Created new.txt (1 lines)."}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? cat a.txt","choices":[{"id":"allow","label":"Run Once","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Add & Run","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always","rule":{"verdict":"allow","tool":"run_command","pattern":"cat a.txt","folder":"PROJECT"},"covers":"This exact command, in this folder."},{"id":"skip","label":"Skip","number":3,"key":"n","text":"no","role":"reject_once"},{"id":"always_prefix","label":"Always allow cat *","number":5,"key":"p","confirm":true,"text":"no","role":"allow_always","rule":{"verdict":"allow","tool":"run_command","pattern":"cat *","folder":"PROJECT"},"covers":"`cat` in this folder with any arguments that Trimtab knows to be safe. Other arguments still ask.","variantOf":"always"},{"id":"always_everywhere","label":"Always allow everywhere","number":6,"confirm":true,"text":"no","role":"allow_always","rule":{"verdict":"allow","tool":"run_command","pattern":"cat a.txt"},"covers":"This exact command, in every folder that you trust.","variantOf":"always"},{"id":"always_prefix_everywhere","label":"Always allow cat * everywhere","number":7,"confirm":true,"text":"no","role":"allow_always","rule":{"verdict":"allow","tool":"run_command","pattern":"cat *"},"covers":"`cat` in every folder that you trust with any arguments that Trimtab knows to be safe. Other arguments still ask.","variantOf":"always"}],"about":"tool","call":"c1t0","tool":"run_command","input":{"command":"cat a.txt"},"class":"command","reason":"the answer only proposes it","ruleText":"allow run_command: cat a.txt (in PROJECT)","plan":{"argv":["cat","a.txt"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":120},"rule":{"verdict":"allow","tool":"run_command","pattern":"cat a.txt"}}
    r1 tool.finished {"call":"c1t0","status":"ok","preview":"Exit code 0.\nbeta\n"}
    r1 answer {"summary":"It says beta."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    beta
    --- new.txt
    new
    "#);
}

#[test]
fn a_form_that_was_cut_off_after_its_summary_says_what_was_recovered() {
    let log =
        play("% tools=false\n> make files\n< {\"summary\":\"Making.\",\"todos\":[{\"te [max_tokens]\n! continue\n");
    let told = only(&log, &["banner", "checkpoint.opened"]);
    assert!(told.contains("⚠ AI response had errors - Recovery succeeded!"), "{told}");
    assert!(told.contains("Recovered: the summary."), "{told}");
    assert!(told.contains("🔄 Retry") && told.contains("✓ Continue"), "{told}");
}

#[test]
fn what_went_wrong_with_the_wishes_of_a_form_goes_back_to_the_model() {
    play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % tools=false
        > change a.txt
        < Sure! {"summary":"Done.","fileChanges":[{"path":"a.txt","diff":"@@ -1 +1 @@\\n-gamma\\n+beta\\n"},],}
        ?~ a.txt was not changed
        < {"summary":"I cannot change it."}
        "#,
    );
}

#[test]
fn a_form_that_was_cut_off_is_blocked_and_the_person_decides() {
    insta::assert_snapshot!(only(&play(
        r#"
        % tools=false
        > make files
        < {"summary":"Making.","todos":[{"text":"one","completed":true}],"fileChanges":[{"path":"a.txt","content":"a"},{"path":"b.txt","content":"b [max_tokens]
        ! retry
        ? [Your last reply was cut off, and none of it was applied. Send it again, complete, or in smaller parts.]
        < {"summary":"Making less.","fileChanges":[{"path":"a.txt","content":"a\\n"}]}
        "#
    ), &["bug", "banner", "answer", "checkpoint.opened", "checkpoint.resolved", "change.applied", "request.finished"]), @r#"
    r1 bug {"kind":"Other","by":"script","message":"Response was truncated!"}
    r1 banner {"level":"warning","text":"⚠ AI response had errors - Recovery succeeded!"}
    r1 banner {"level":"warning","text":"Recovered: 1 todo(s), 1 file change(s)."}
    r1 banner {"level":"warning","text":"The content below may be incomplete."}
    r1 banner {"level":"warning","text":"🚫 BLOCKED: 1 file change(s) from truncated response."}
    r1 banner {"level":"warning","text":"The response was cut off mid-stream. NO changes have been applied."}
    r1 answer {"summary":"Making.","todos":[{"text":"one","completed":true}],"fileChanges":[{"path":"a.txt","content":"a"}],"truncated":true}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"recovery","title":"Response was truncated!","choices":[{"id":"retry","label":"🔄 Retry","number":1,"text":"optional","role":"primary"},{"id":"continue","label":"✓ Continue","number":2,"text":"optional","role":"primary"}],"about":"recovery","blockedChanges":1}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"retry","by":"user"}
    r1 answer {"summary":"Making less.","fileChanges":[{"path":"a.txt","content":"a\n"}]}
    r1 change.applied {"changeSet":"r1-x-c2t1","position":0,"files":[{"path":"a.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    a
    "#);
}

#[test]
fn a_form_that_was_cut_off_can_be_accepted_for_what_it_says() {
    let log = play(
        r#"
        % tools=false
        > make files
        < {"summary":"Making.","fileChanges":[{"path":"a.txt","content":"a"},{"path":"b [max_tokens]
        ! continue
        "#,
    );
    assert!(log.contains("🚫 BLOCKED: 1 file change(s) from truncated response."), "{log}");
    assert!(log.contains(r#"request.finished {"status":"completed""#), "{log}");
    assert!(!log.contains("change.applied") && !log.contains("--- a.txt"), "{log}");
}

#[test]
fn words_of_a_model_without_tools_are_an_answer_too() {
    let log = play(
        "
        % tools=false
        > what is it
        < It is plain.
        ",
    );
    assert!(log.contains(r#"answer {"summary":"It is plain."}"#), "{log}");
}

#[test]
fn of_the_looks_of_one_reply_the_quick_ones_begin_first_and_all_keep_their_places() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > look
        <@ search {"pattern":"alpha"}
        <@ list_files {}
        <@ read_file {"path":"a.txt"}
        ?~ a.txt:1:alpha
        < Seen.
        "#,
    );
    let started: Vec<&str> =
        log.lines().filter_map(|line| line.split("tool.started {\"call\":\"").nth(1)).map(|rest| &rest[..4]).collect();
    assert_eq!(started, ["c1t3", "c1t2", "c1t1"]);
    let reflected = log.lines().find(|line| line.contains(" reflection ")).expect("a reflection");
    let places = ["\"search\"", "\"list_files\"", "\"read_file\""].map(|name| reflected.find(name));
    assert!(places.is_sorted() && places[0].is_some(), "{reflected}");
}

#[test]
fn a_command_whose_time_is_up_goes_on_while_somebody_is_asked() {
    insta::assert_snapshot!(only(&play(
        r#"
        % timeout=1
        > work
        <@ run_command {"command":"sleep 3; echo went$X"}
        ! allow
        @ checkpoint.opened
        ! extend
        @ checkpoint.opened
        ! unlimited
        @ command.finished
        ?~ went
        < Done.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "command.started", "command.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? sleep 3; echo went$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"sleep 3; echo went$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: sleep 3; echo went$X (in PROJECT)","plan":{"argv":["sh","-c","sleep 3; echo went$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":1},"rule":{"verdict":"allow","tool":"run_command","pattern":"sleep 3; echo went$X"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 command.started {"call":"c1t1","command":"sleep 3; echo went$X","argv":["sh","-c","sleep 3; echo went$X"],"cwd":"PROJECT"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"confirm","title":"This command is still running after 1 s, its time limit: sleep 3; echo went$X","choices":[{"id":"extend","label":"Give it another 1 s","number":1,"text":"no","role":"primary"},{"id":"unlimited","label":"Let it run without a limit","number":2,"text":"no","role":"primary"},{"id":"background","label":"Continue in the background","number":3,"text":"no","role":"primary"},{"id":"end","label":"Stop the command","number":4,"text":"no","role":"dismiss"}],"about":"overtime","call":"c1t1","command":"sleep 3; echo went$X","timeoutS":1}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"extend","by":"user"}
    r1 checkpoint.opened {"checkpoint":"r1-k3","kind":"confirm","title":"This command is still running after 1 s, its time limit: sleep 3; echo went$X","choices":[{"id":"extend","label":"Give it another 1 s","number":1,"text":"no","role":"primary"},{"id":"unlimited","label":"Let it run without a limit","number":2,"text":"no","role":"primary"},{"id":"background","label":"Continue in the background","number":3,"text":"no","role":"primary"},{"id":"end","label":"Stop the command","number":4,"text":"no","role":"dismiss"}],"about":"overtime","call":"c1t1","command":"sleep 3; echo went$X","timeoutS":1}
    r1 checkpoint.resolved {"checkpoint":"r1-k3","choice":"unlimited","by":"user"}
    r1 command.finished {"call":"c1t1","command":"sleep 3; echo went$X","exitCode":0,"timedOut":false,"preview":"went\n"}
    "#);
}

#[test]
fn a_command_whose_time_is_up_can_be_stopped() {
    play(
        r#"
        % timeout=1
        > work
        <@ run_command {"command":"sleep 1000$X"}
        <@ run_command {"command":"echo second$X"}
        ! allow
        @ checkpoint.opened
        ! end
        @ checkpoint.opened
        ! allow
        ?~ [Stopped by the user at its timeout. The other calls continue.]
        ?~ second
        < Done.
        "#,
    );
}

#[test]
fn a_command_that_ends_by_itself_answers_whether_it_may_go_on() {
    insta::assert_snapshot!(only(&play(
        r#"
        % timeout=1
        > work
        <@ run_command {"command":"sleep 1.5; echo late$X"}
        ! allow
        @ command.finished
        ?~ late
        < Done.
        "#
    ), &["checkpoint.resolved", "tool.finished"]), @r#"
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"over","by":"command"}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Exit code 0.\nlate\n"}
    "#);
}

#[test]
fn a_kill_while_a_command_is_overdue_makes_its_end_unknown() {
    insta::assert_snapshot!(only(&play(
        r#"
        % timeout=1
        > work
        <@ run_command {"command":"sleep 1000$X"}
        ! allow
        @ checkpoint.opened
        ^K
        @ checkpoint.opened
        ! skip
        ?~ The result is unknown
        < I see.
        "#
    ), &["checkpoint.opened", "checkpoint.resolved"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"permission","title":"Run this command? sleep 1000$X","choices":[{"id":"allow","label":"Allow this time","number":1,"key":"y","text":"optional","role":"allow_once"},{"id":"always","label":"Always allow","number":2,"key":"a","confirm":true,"text":"optional","role":"allow_always"},{"id":"wait","label":"Wait and tell Trimtab what to do differently","number":3,"key":"n","text":"optional","role":"reject_once"},{"id":"never","label":"Never allow","number":4,"confirm":true,"text":"optional","role":"reject_always"}],"about":"tool","call":"c1t1","tool":"run_command","input":{"command":"sleep 1000$X"},"class":"command","reason":"`$X` is expanded by the shell","ruleText":"allow run_command: sleep 1000$X (in PROJECT)","plan":{"argv":["sh","-c","sleep 1000$X"],"cwd":"PROJECT","sandbox":"workspace","timeoutS":1},"rule":{"verdict":"allow","tool":"run_command","pattern":"sleep 1000$X"}}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"confirm","title":"This command is still running after 1 s, its time limit: sleep 1000$X","choices":[{"id":"extend","label":"Give it another 1 s","number":1,"text":"no","role":"primary"},{"id":"unlimited","label":"Let it run without a limit","number":2,"text":"no","role":"primary"},{"id":"background","label":"Continue in the background","number":3,"text":"no","role":"primary"},{"id":"end","label":"Stop the command","number":4,"text":"no","role":"dismiss"}],"about":"overtime","call":"c1t1","command":"sleep 1000$X","timeoutS":1}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"over","by":"command"}
    r1 checkpoint.opened {"checkpoint":"r1-k3","kind":"unknown","title":"Trimtab was interrupted while this command was running, so its result is unknown: sleep 1000$X","choices":[{"id":"skip","label":"Continue without it","number":1,"text":"no","role":"reject_once"},{"id":"again","label":"Run it again","number":2,"text":"no","role":"allow_once"},{"id":"stop","label":"Stop here","number":3,"text":"no","role":"dismiss"}],"about":"outcome","call":"c1t1","class":"unknown_outcome","command":"sleep 1000$X"}
    r1 checkpoint.resolved {"checkpoint":"r1-k3","choice":"skip","by":"user"}
    "#);
}

#[test]
fn without_a_person_a_command_is_ended_when_its_time_is_up() {
    insta::assert_snapshot!(only(&play(
        r#"
        % timeout=1
        % attended=false
        % approve=auto
        > work
        <@ run_command {"command":"echo begun; exec sleep 1000$X"}
        ?~ Timed out after 1 s and was stopped.
        < I see.
        "#
    ), &["command.finished", "tool.finished"]), @r#"
    r1 command.finished {"call":"c1t1","command":"echo begun; exec sleep 1000$X","signal":"SIGTERM","timedOut":true,"preview":"begun\n"}
    r1 tool.finished {"call":"c1t1","status":"error","preview":"Timed out after 1 s and was stopped. Ask for more time with timeout_s, do less at once, or ask the user to set commands.timeouts.\nbegun\n"}
    "#);
}

#[test]
fn a_model_without_tools_is_found_out_once_in_a_session_and_works_with_one_object() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > change @a.txt
        <!! no_tools: m does not support tools
        ?^ You have no tools. Answer with one JSON object
        <… {"summ
        ^K
        ?^ You have no tools. Answer with one JSON object
        < {"summary":"Changed.","fileChanges":[{"path":"a.txt","content":"beta\\n"}]}
        > once more, @a.txt
        ?^ You have no tools. Answer with one JSON object
        < {"summary":"Changed.","fileChanges":[{"path":"a.txt","content":"gamma\\n"}]}
        > hello
        < Hi.
        "#,
    );
    let kinds = ["model.called", "model.failed", "request.adjusted", "banner", "change.applied", "request.finished"];
    insta::assert_snapshot!(only(&log, &kinds), @r#"
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 model.failed {"call":"c1","error":{"kind":"no_tools","message":"m does not support tools"},"retryInMs":0}
    r1 request.adjusted {"tools":false}
    r1 banner {"level":"info","text":"scripted/model cannot use tools. It answers with one JSON object instead."}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":2}
    r1 model.failed {"call":"c2","error":{"kind":"interrupted","message":"Trimtab was interrupted while the model was answering."},"retryInMs":0}
    r1 model.called {"call":"c3","model":"scripted/model","attempt":2}
    r1 change.applied {"changeSet":"r1-x-c3t1","position":0,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    r1 request.finished {"status":"completed","usage":{"cachedTokens":0,"outputTokens":8,"estimated":true}}
    r2 model.called {"call":"c4","model":"scripted/model","attempt":1}
    r2 change.applied {"changeSet":"r2-x-c4t1","position":1,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r3 model.called {"call":"c5","model":"scripted/model","attempt":1}
    r3 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    --- a.txt
    gamma
    "#);
}

#[test]
fn tools_may_be_refused_in_the_middle_of_the_work() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > look at a.txt
        <@ read_file {"path":"a.txt"}
        <!! no_tools: m does not support tools
        ?^ You have no tools
        ?~ alpha
        < {"summary":"It says alpha."}
        "#,
    );
    insta::assert_snapshot!(only(&log, &["tool.finished", "request.adjusted", "answer", "request.finished"]), @r#"
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"1\talpha"}
    r1 request.adjusted {"tools":false}
    r1 answer {"summary":"It says alpha."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    alpha
    "#);
}
