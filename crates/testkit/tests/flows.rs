//! What a person and the copilot agree on, with the real engine, host, database and files: plans, steps,
//! conversations, and whether a person is content.

use trimtab_testkit::scenario::{only, play};

#[test]
fn in_plan_mode_the_engine_itself_refuses_every_effect() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % mode=plan
        % commands=auto
        > change everything
        ?+ This is plan mode
        <@ write_file {"path":"a.txt","content":"beta\n"}
        <@ edit_file {"path":"a.txt","blocks":[{"search":"alpha","replace":"beta"}]}
        <@ delete_file {"path":"a.txt"}
        <@ move_file {"from":"a.txt","to":"b.txt"}
        <@ run_command {"command":"git status"}
        <@ fetch_url {"url":"https://example.org/"}
        <@ read_file {"path":"a.txt"}
        ?~ This is plan mode: nothing is changed or run.
        ?~ 1\talpha
        < Nothing can be done here, and nothing has to be.
        "#
    ), &["tool.finished", "proposal.opened", "command.started", "checkpoint.opened", "request.finished"]), @r#"
    r1 tool.finished {"call":"c1t1","status":"blocked","preview":"This is plan mode: nothing is changed or run. Say what you would do."}
    r1 tool.finished {"call":"c1t2","status":"blocked","preview":"This is plan mode: nothing is changed or run. Say what you would do."}
    r1 tool.finished {"call":"c1t3","status":"blocked","preview":"This is plan mode: nothing is changed or run. Say what you would do."}
    r1 tool.finished {"call":"c1t4","status":"blocked","preview":"This is plan mode: nothing is changed or run. Say what you would do."}
    r1 tool.finished {"call":"c1t5","status":"blocked","preview":"This is plan mode: nothing is changed or run. Say what you would do."}
    r1 tool.finished {"call":"c1t6","status":"blocked","preview":"This is plan mode: nothing is changed or run. Say what you would do."}
    r1 tool.finished {"call":"c1t7","status":"ok","preview":"1\talpha"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    alpha
    "#);
}

#[test]
fn an_approved_plan_is_carried_out_step_by_step_in_the_order_of_its_dependencies() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=plan
        > add two files
        <@ propose_plan {"summary":"Two files.","steps":[{"title":"Write b","files":["b.txt"],"dependsOn":[2]},{"title":"Write a","details":"One line.","estimate":"a minute"}],"assumptions":["Text files."]}
        ! approve
        ?~ [PLAN STEP 1 of 2] Write a
        ?~ One line.
        ?~ 2. Write b (later)
        ?^ copilot that works in the user's folder
        <@ write_file {"path":"a.txt","content":"a\n"}
        < a is written.
        ?~ [PLAN STEP 2 of 2] Write b
        ?~ 1. Write a (done)
        ?~ This is the last step
        <@ write_file {"path":"b.txt","content":"b\n"}
        < Both files are there.
        "#
    ), &["plan.proposed", "checkpoint.opened", "checkpoint.resolved", "plan.started", "plan.step", "stage", "steps", "change.applied", "answer", "request.finished"]), @r#"
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 stage {"stage":"routing","label":"Routing intent to files tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 plan.proposed {"version":1,"summary":"Two files.","steps":[{"id":"s1","title":"Write a","details":"One line.","estimate":"a minute"},{"id":"s2","title":"Write b","files":["b.txt"],"dependsOn":["s1"]}],"assumptions":["Text files."],"by":"model"}
    r1 stage {"stage":"planning","label":"Waiting for the plan to be approved..."}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"plan","title":"Approve this plan of 2 steps?","choices":[{"id":"approve","label":"Approve","number":1,"text":"optional","role":"primary"},{"id":"modify","label":"Modify","number":2,"text":"required","role":"secondary"},{"id":"replan","label":"Re-plan","number":3,"text":"optional","role":"secondary"},{"id":"cancel","label":"Cancel","number":4,"text":"no","role":"dismiss"}],"about":"plan","version":1,"summary":"Two files.","steps":[{"id":"s1","title":"Write a","details":"One line.","estimate":"a minute"},{"id":"s2","title":"Write b","files":["b.txt"],"dependsOn":["s1"]}],"assumptions":["Text files."]}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"approve","by":"user"}
    r1 plan.started {"version":1,"by":"user"}
    r1 steps {"todos":[{"text":"Write a","completed":false},{"text":"Write b","completed":false}]}
    r1 stage {"stage":"running","label":"Step 1 of 2: Write a"}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"Write a","status":"running"}
    r1 change.applied {"changeSet":"r1-x-c2t1","position":0,"files":[{"path":"a.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"Write a","status":"done","note":"a is written."}
    r1 steps {"todos":[{"text":"Write a","completed":true},{"text":"Write b","completed":false}]}
    r1 stage {"stage":"running","label":"Step 2 of 2: Write b"}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Write b","status":"running"}
    r1 change.applied {"changeSet":"r1-x-c4t1","position":1,"files":[{"path":"b.txt","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Write b","status":"done","note":"Both files are there."}
    r1 steps {"todos":[{"text":"Write a","completed":true},{"text":"Write b","completed":true}]}
    r1 stage {"stage":"summarizing","label":"Synthesizing final intelligence..."}
    r1 answer {"summary":"Both files are there.","todos":[{"text":"Write a","completed":true},{"text":"Write b","completed":true}],"synthesis":{"id":"synthesis_r1","text":"Both files are there."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":50,"cachedTokens":0,"outputTokens":25}}
    --- a.txt
    a
    --- b.txt
    b
    "#);
}

#[test]
fn commands_that_a_step_proposes_run_before_the_step_ends() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        % mode=plan
        > look at it
        <@ propose_plan {"steps":["Look","Sum up"]}
        ! approve
        ?~ [PLAN STEP 1 of 2] Look
        < Two looks:\n\n🖥 `cat a.txt`\n🖥 `cat b.txt`
        ! run
        ?~ Command 1/2 ✓
        < Continue.
        ?~ Command 2/2 ✗
        < It is not there, and that is fine.
        ?~ [PLAN STEP 2 of 2] Sum up
        < One of two files is there.\n\nNext steps:\n- Write b.txt
        "#
    ), &["checkpoint.opened", "plan.step", "answer", "request.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"plan","title":"Approve this plan of 2 steps?","choices":[{"id":"approve","label":"Approve","number":1,"text":"optional","role":"primary"},{"id":"modify","label":"Modify","number":2,"text":"required","role":"secondary"},{"id":"replan","label":"Re-plan","number":3,"text":"optional","role":"secondary"},{"id":"cancel","label":"Cancel","number":4,"text":"no","role":"dismiss"}],"about":"plan","version":1,"summary":"","steps":[{"id":"s1","title":"Look"},{"id":"s2","title":"Sum up"}]}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"Look","status":"running"}
    r1 answer {"summary":"Two looks:\n\n🖥 `cat a.txt`\n🖥 `cat b.txt`","todos":[{"text":"Look","completed":false},{"text":"Sum up","completed":false}],"commands":[{"command":"cat a.txt","description":""},{"command":"cat b.txt","description":""}],"synthesis":{"id":"synthesis_r1","text":"Two looks:\n\n🖥 `cat a.txt`\n🖥 `cat b.txt`"}}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"confirm","title":"The reply suggests 2 commands. Run them?","choices":[{"id":"run","label":"Run 2 cmds","number":1,"text":"optional","role":"primary"},{"id":"each","label":"One by one","number":2,"text":"optional","role":"primary"},{"id":"skip","label":"Skip","number":3,"text":"optional","role":"dismiss"}],"about":"series","commands":[{"command":"cat a.txt","shown":"cat a.txt","decision":"auto","reason":""},{"command":"cat b.txt","shown":"cat b.txt","decision":"auto","reason":""}]}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"Look","status":"done","note":"It is not there, and that is fine."}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Sum up","status":"running"}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Sum up","status":"done","note":"One of two files is there. Next steps: - Write b.txt"}
    r1 answer {"summary":"One of two files is there.\n\nNext steps:\n- Write b.txt","todos":[{"text":"Look","completed":true},{"text":"Sum up","completed":true}],"nextSteps":[{"html":"Write b.txt","inputText":"Write b.txt"}],"synthesis":{"id":"synthesis_r1","text":"One of two files is there.\n\nNext steps:\n- Write b.txt"}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":50,"cachedTokens":0,"outputTokens":25}}
    --- a.txt
    alpha
    "#);
}

#[test]
fn a_plan_is_modified_in_words_and_as_a_list_until_it_is_approved() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=plan
        > look at the files
        <@ propose_plan {"steps":["Write a","Write b","Write c"]}
        ! modify leave c out
        ?~ [The user wants version 1 of the plan changed:]
        ?~ leave c out
        ?~ 3. Write c
        <@ propose_plan {"steps":["Write a","Write b"]}
        ! modify [{"op":"remove","step":"s9"}]
        @ banner
        ! modify [{"op":"reorder","order":["s2","s1"]},{"op":"edit","step":"s1","title":"Write a last"}]
        @ checkpoint.opened
        ^K
        ! approve
        ?~ [PLAN STEP 1 of 2] Write b
        < b.
        ?~ [PLAN STEP 2 of 2] Write a last
        < Done.
        "#
    ), &["plan.proposed", "banner", "checkpoint.resolved", "plan.started", "plan.step", "request.finished"]), @r#"
    r1 plan.proposed {"version":1,"summary":"","steps":[{"id":"s1","title":"Write a"},{"id":"s2","title":"Write b"},{"id":"s3","title":"Write c"}],"by":"model"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"modify","text":"leave c out","by":"user"}
    r1 plan.proposed {"version":2,"summary":"","steps":[{"id":"s1","title":"Write a"},{"id":"s2","title":"Write b"}],"by":"model"}
    r1 banner {"level":"warning","text":"There is no step \"s9\" in this plan."}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"modify","text":"[{\"op\":\"reorder\",\"order\":[\"s2\",\"s1\"]},{\"op\":\"edit\",\"step\":\"s1\",\"title\":\"Write a last\"}]","by":"user"}
    r1 plan.proposed {"version":3,"summary":"","steps":[{"id":"s2","title":"Write b"},{"id":"s1","title":"Write a last"}],"by":"user"}
    r1 checkpoint.resolved {"checkpoint":"r1-k3","choice":"approve","by":"user"}
    r1 plan.started {"version":3,"by":"user"}
    r1 plan.step {"step":"s2","number":1,"of":2,"title":"Write b","status":"running"}
    r1 plan.step {"step":"s2","number":1,"of":2,"title":"Write b","status":"done","note":"b."}
    r1 plan.step {"step":"s1","number":2,"of":2,"title":"Write a last","status":"running"}
    r1 plan.step {"step":"s1","number":2,"of":2,"title":"Write a last","status":"done","note":"Done."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    "#);
}

#[test]
fn another_plan_is_asked_for_with_the_reason_and_a_cancelled_one_ends() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=plan
        > write files
        <@ propose_plan {"steps":["Write a"]}
        ! replan too simple
        ?~ [The user does not want version 1 of the plan. They say: too simple]
        ?~ 1. Write a
        <@ propose_plan {"steps":["Write z"]}
        ! cancel
        "#
    ), &["plan.proposed", "checkpoint.resolved", "plan.step", "request.finished"]), @r#"
    r1 plan.proposed {"version":1,"summary":"","steps":[{"id":"s1","title":"Write a"}],"by":"model"}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"replan","text":"too simple","by":"user"}
    r1 plan.proposed {"version":2,"summary":"","steps":[{"id":"s1","title":"Write z"}],"by":"model"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"cancel","by":"user"}
    r1 request.finished {"status":"cancelled","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn a_plan_told_in_words_is_asked_for_as_a_plan() {
    play(
        r#"
        % mode=plan
        > write files
        < 1. Write a\n2. Write b
        ?~ [no plan was proposed. Call propose_plan with its steps
        <@ propose_plan {"steps":[{"title":"a","dependsOn":[2]},{"title":"b","dependsOn":[1]}]}
        ?~ these steps wait for each other, so that none can begin: 1 (a), 2 (b).
        <@ propose_plan {"steps":["a"]}
        ! approve
        < Done.
        "#,
    );
}

#[test]
fn at_a_step_a_person_goes_on_guides_leaves_out_or_stops() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=plan
        % copilot.approval_mode=before_step
        > write files
        <@ propose_plan {"steps":["One","Two","Three"]}
        ! approve
        ! tell use tabs
        ?~ use tabs
        ?~ [PLAN STEP 1 of 3] One
        < One is done.
        ! skip
        ! continue
        ?~ 2. Two (left out by the user)
        ?~ - use tabs
        < Three is done.
        > and now stop
        <@ propose_plan {"steps":["Four","Five"]}
        ! approve
        ! continue
        < Four is done.
        ! stop
        "#
    ), &["plan.step", "checkpoint.resolved", "steps", "answer", "request.finished"]), @r#"
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"approve","by":"user"}
    r1 steps {"todos":[{"text":"One","completed":false},{"text":"Two","completed":false},{"text":"Three","completed":false}]}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"tell","text":"use tabs","by":"user"}
    r1 plan.step {"step":"s1","number":1,"of":3,"title":"One","status":"running"}
    r1 plan.step {"step":"s1","number":1,"of":3,"title":"One","status":"done","note":"One is done."}
    r1 steps {"todos":[{"text":"One","completed":true},{"text":"Two","completed":false},{"text":"Three","completed":false}]}
    r1 checkpoint.resolved {"checkpoint":"r1-k3","choice":"skip","by":"user"}
    r1 plan.step {"step":"s2","number":2,"of":3,"title":"Two","status":"skipped"}
    r1 steps {"todos":[{"text":"One","completed":true},{"text":"Two","completed":false},{"text":"Three","completed":false}]}
    r1 checkpoint.resolved {"checkpoint":"r1-k4","choice":"continue","by":"user"}
    r1 plan.step {"step":"s3","number":3,"of":3,"title":"Three","status":"running"}
    r1 plan.step {"step":"s3","number":3,"of":3,"title":"Three","status":"done","note":"Three is done."}
    r1 steps {"todos":[{"text":"One","completed":true},{"text":"Two","completed":false},{"text":"Three","completed":true}]}
    r1 answer {"summary":"Three is done.","todos":[{"text":"One","completed":true},{"text":"Two","completed":false},{"text":"Three","completed":true}],"synthesis":{"id":"synthesis_r1","text":"Three is done."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":30,"cachedTokens":0,"outputTokens":15}}
    r2 checkpoint.resolved {"checkpoint":"r2-k1","choice":"approve","by":"user"}
    r2 steps {"todos":[{"text":"Four","completed":false},{"text":"Five","completed":false}]}
    r2 checkpoint.resolved {"checkpoint":"r2-k2","choice":"continue","by":"user"}
    r2 plan.step {"step":"s1","number":1,"of":2,"title":"Four","status":"running"}
    r2 plan.step {"step":"s1","number":1,"of":2,"title":"Four","status":"done","note":"Four is done."}
    r2 steps {"todos":[{"text":"Four","completed":true},{"text":"Five","completed":false}]}
    r2 checkpoint.resolved {"checkpoint":"r2-k3","choice":"stop","by":"user"}
    r2 request.finished {"status":"cancelled","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10},"reason":"stopped_by_user"}
    "#);
}

#[test]
fn a_step_that_cannot_be_done_is_put_to_the_person() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=plan
        > write files
        <@ propose_plan {"steps":["One","Two"]}
        ! approve
        < **STEP FAILED** There is no compiler.
        ! tell use the other one
        ?~ use the other one
        ?~ [PLAN STEP 1 of 2] One
        < STEP FAILED It is not there either.
        ! skip
        ?~ 1. One (left out by the user)
        < Two is done, One is not.
        "#
    ), &["plan.step", "checkpoint.opened", "request.finished"]), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"plan","title":"Approve this plan of 2 steps?","choices":[{"id":"approve","label":"Approve","number":1,"text":"optional","role":"primary"},{"id":"modify","label":"Modify","number":2,"text":"required","role":"secondary"},{"id":"replan","label":"Re-plan","number":3,"text":"optional","role":"secondary"},{"id":"cancel","label":"Cancel","number":4,"text":"no","role":"dismiss"}],"about":"plan","version":1,"summary":"","steps":[{"id":"s1","title":"One"},{"id":"s2","title":"Two"}]}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"running"}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"failed","note":"**STEP FAILED** There is no compiler."}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"step","title":"Step 1 of 2 could not be done: One","choices":[{"id":"retry","label":"Retry","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Retry differently","number":2,"text":"required","role":"secondary"},{"id":"skip","label":"Continue without it","number":3,"text":"optional","role":"dismiss"},{"id":"stop","label":"Stop here","number":4,"text":"no","role":"dismiss"}],"about":"stepFailed","step":"s1","number":1,"of":2,"details":""}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"running"}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"failed","note":"STEP FAILED It is not there either."}
    r1 checkpoint.opened {"checkpoint":"r1-k3","kind":"step","title":"Step 1 of 2 could not be done: One","choices":[{"id":"retry","label":"Retry","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Retry differently","number":2,"text":"required","role":"secondary"},{"id":"skip","label":"Continue without it","number":3,"text":"optional","role":"dismiss"},{"id":"stop","label":"Stop here","number":4,"text":"no","role":"dismiss"}],"about":"stepFailed","step":"s1","number":1,"of":2,"details":""}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"skipped"}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Two","status":"running"}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Two","status":"done","note":"Two is done, One is not."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    "#);
}

#[test]
fn a_pause_lets_the_step_end_and_what_is_said_then_counts() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=plan
        % files=ask
        > write files
        <@ propose_plan {"steps":["One","Two"]}
        ! approve
        <@ write_file {"path":"a.txt","content":"a\n"}
        @ checkpoint.opened
        ^P
        ! allow
        < One is done.
        ! tell in English
        ?~ in English
        ?~ [PLAN STEP 2 of 2] Two
        < Two is done.
        "#
    ), &["request.pausing", "plan.step", "checkpoint.resolved", "request.finished"]), @r#"
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"approve","by":"user"}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"running"}
    r1 request.pausing {}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"allow","by":"user"}
    r1 plan.step {"step":"s1","number":1,"of":2,"title":"One","status":"done","note":"One is done."}
    r1 checkpoint.resolved {"checkpoint":"r1-k3","choice":"tell","text":"in English","by":"user"}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Two","status":"running"}
    r1 plan.step {"step":"s2","number":2,"of":2,"title":"Two","status":"done","note":"Two is done."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":40,"cachedTokens":0,"outputTokens":20}}
    --- a.txt
    a
    "#);
}

#[test]
fn a_pause_can_be_switched_off_and_a_stop_at_one_says_who_stopped() {
    let log = play(
        r#"
        % mode=plan
        % files=ask
        > write files
        <@ propose_plan {"steps":["One","Two"]}
        ! approve
        <@ write_file {"path":"a.txt","content":"a\n"}
        @ checkpoint.opened
        ^P
        ! allow
        < One is done.
        ! stop
        % copilot.pause_enabled=false
        > write files
        <@ propose_plan {"steps":["One"]}
        ! approve
        <@ write_file {"path":"a.txt","content":"b\n"}
        @ checkpoint.opened
        ^P
        ! allow
        < Done.
        "#,
    );
    assert!(log.contains(r#"r1 request.finished {"status":"cancelled","usage":{"inputTokens":30,"cachedTokens":0,"outputTokens":15},"reason":"stopped_by_user"}"#), "{log}");
    assert!(log.contains(r#"r2 banner {"level":"info","text":"Pausing is disabled (copilot.pause_enabled). Use cancel to stop the request."}"#), "{log}");
    assert!(log.contains(r#"r2 request.finished {"status":"completed""#), "{log}");
}

#[test]
fn a_conversation_turns_into_work_when_the_person_says_so() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % copilot.conversational=true
        > Help me design a log-in
        ?^ The user wants to discuss first
        < I can help! What method do you prefer?
        > OAuth with Google and GitHub. How would you build it?
        < With a library. Session storage?
        > JWT tokens. Don't build it yet
        < Here's what I understand: OAuth with Google and GitHub, JWT tokens.
        > Yes, implement it
        ?^ Compile the conversation into requirements
        ?+ OAuth with Google and GitHub
        ? [Compile this conversation into requirements: the JSON object, and nothing else.]
        < {"summary":"A log-in.","requirements":["Log in with OAuth"],"decisions":["OAuth with Google and GitHub"],"open":[]}
        ! tell also JWT tokens
        ?~ also JWT tokens
        < {"summary":"A log-in.","requirements":["Log in with OAuth"],"decisions":["OAuth with Google and GitHub","JWT tokens"]}
        @ checkpoint.opened
        ^K
        ! continue
        ?~ [The user agrees. The work to do:]
        ?~ - JWT tokens
        ?+ This is plan mode
        <@ propose_plan {"steps":["Write it"]}
        ! approve
        ?~ - OAuth with Google and GitHub
        <@ write_file {"path":"login.txt","content":"oauth\n"}
        < It is there.
        > what next
        ?^ copilot that works in the user's folder
        < Nothing.
        "#
    ), &["route", "intent", "requirements", "checkpoint.opened", "plan.step", "tool.started", "request.finished"]), @r#"
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user wants to discuss first"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user wants to discuss first"}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r3 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user wants to discuss first"}
    r3 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r4 intent {"intent":"implement","phrase":"implement","accepted":true}
    r4 route {"decision":"plan","confidence":1.0,"complexity":0,"categories":["files"],"reason":"the user said “implement”: the discussed work starts"}
    r4 requirements {"summary":"A log-in.","requirements":["Log in with OAuth"],"decisions":["OAuth with Google and GitHub"]}
    r4 checkpoint.opened {"checkpoint":"r4-k1","kind":"confirm","title":"Here's what I understand: A log-in.","choices":[{"id":"continue","label":"Yes, go ahead","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Not quite, let me explain","number":2,"text":"required","role":"secondary"},{"id":"talk","label":"Keep talking","number":3,"text":"no","role":"dismiss"}],"about":"understanding","requirements":{"summary":"A log-in.","requirements":["Log in with OAuth"],"decisions":["OAuth with Google and GitHub"]}}
    r4 requirements {"summary":"A log-in.","requirements":["Log in with OAuth"],"decisions":["OAuth with Google and GitHub","JWT tokens"]}
    r4 checkpoint.opened {"checkpoint":"r4-k2","kind":"confirm","title":"Here's what I understand: A log-in.","choices":[{"id":"continue","label":"Yes, go ahead","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Not quite, let me explain","number":2,"text":"required","role":"secondary"},{"id":"talk","label":"Keep talking","number":3,"text":"no","role":"dismiss"}],"about":"understanding","requirements":{"summary":"A log-in.","requirements":["Log in with OAuth"],"decisions":["OAuth with Google and GitHub","JWT tokens"]}}
    r4 tool.started {"call":"c6t1","name":"propose_plan","input":{"steps":["Write it"]}}
    r4 checkpoint.opened {"checkpoint":"r4-k3","kind":"plan","title":"Approve this plan of 1 step?","choices":[{"id":"approve","label":"Approve","number":1,"text":"optional","role":"primary"},{"id":"modify","label":"Modify","number":2,"text":"required","role":"secondary"},{"id":"replan","label":"Re-plan","number":3,"text":"optional","role":"secondary"},{"id":"cancel","label":"Cancel","number":4,"text":"no","role":"dismiss"}],"about":"plan","version":1,"summary":"","steps":[{"id":"s1","title":"Write it"}]}
    r4 plan.step {"step":"s1","number":1,"of":1,"title":"Write it","status":"running"}
    r4 tool.started {"call":"c7t1","name":"write_file","input":{"path":"login.txt","content":"oauth\n"}}
    r4 plan.step {"step":"s1","number":1,"of":1,"title":"Write it","status":"done","note":"It is there."}
    r4 request.finished {"status":"completed","usage":{"inputTokens":50,"cachedTokens":0,"outputTokens":25}}
    r5 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r5 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    --- login.txt
    oauth
    "#);
}

#[test]
fn going_over_to_work_can_be_switched_off_taken_back_and_wanted_without_words() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=chat
        % copilot.enable_planning=false
        > build me a tower
        < Of what?
        % copilot.allow_execution_transition=false
        > of wood, go ahead
        < We only talk.
        % mode=implement
        > now
        % mode=chat
        % copilot.allow_execution_transition=true
        > go ahead
        < A tower of wood, I think.
        ! talk
        > how tall would it be?
        < 3 m.
        % mode=implement
        > Implement what we have talked about.
        < {"summary":"A tower of wood, 3 m."}
        ! continue
        <@ write_file {"path":"tower.txt","content":"wood\n"}
        < It stands.
        "#
    ), &["route", "intent", "requirements", "bug", "checkpoint.opened", "checkpoint.resolved", "request.finished"]), @r#"
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 intent {"intent":"implement","phrase":"go ahead","accepted":false}
    r2 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r3 request.finished {"status":"failed","error":{"kind":"settings","message":"Switching from conversation to execution is disabled.","hint":"Set copilot.allow_execution_transition = true, or ask for the work in a separate request."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    r4 intent {"intent":"implement","phrase":"go ahead","accepted":true}
    r4 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"the user said “go ahead”: the discussed work starts"}
    r4 bug {"kind":"requirements","by":"engine","message":"the model sent the requirements as text, not as JSON"}
    r4 requirements {"summary":"A tower of wood, I think."}
    r4 checkpoint.opened {"checkpoint":"r4-k1","kind":"confirm","title":"Here's what I understand: A tower of wood, I think.","choices":[{"id":"continue","label":"Yes, go ahead","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Not quite, let me explain","number":2,"text":"required","role":"secondary"},{"id":"talk","label":"Keep talking","number":3,"text":"no","role":"dismiss"}],"about":"understanding","requirements":{"summary":"A tower of wood, I think."}}
    r4 checkpoint.resolved {"checkpoint":"r4-k1","choice":"talk","by":"user"}
    r4 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r5 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r5 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r6 intent {"intent":"implement","accepted":true}
    r6 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"the user asked to start the work"}
    r6 requirements {"summary":"A tower of wood, 3 m."}
    r6 checkpoint.opened {"checkpoint":"r6-k1","kind":"confirm","title":"Here's what I understand: A tower of wood, 3 m.","choices":[{"id":"continue","label":"Yes, go ahead","number":1,"text":"optional","role":"primary"},{"id":"tell","label":"Not quite, let me explain","number":2,"text":"required","role":"secondary"},{"id":"talk","label":"Keep talking","number":3,"text":"no","role":"dismiss"}],"about":"understanding","requirements":{"summary":"A tower of wood, 3 m."}}
    r6 checkpoint.resolved {"checkpoint":"r6-k1","choice":"continue","by":"user"}
    r6 request.finished {"status":"completed","usage":{"inputTokens":30,"cachedTokens":0,"outputTokens":15}}
    --- tower.txt
    wood
    "#);
}

#[test]
fn a_conversation_turns_into_work_at_the_words_that_a_person_has_set() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % mode=chat
        % copilot.enable_planning=false
        % copilot.triggers=["ship it"]
        > a tower of wood
        < How tall?
        > 3 m, go ahead
        < Say more.
        > don't ship it yet
        < As you like.
        > should we ship it?
        < You decide.
        > Fine, Ship it!
        < {"summary":"A tower of wood, 3 m."}
        ! continue
        <@ write_file {"path":"tower.txt","content":"wood\n"}
        < It stands.
        "#
    ), &["route", "intent"]), @r#"
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r2 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r3 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r4 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the user chose chat mode"}
    r5 intent {"intent":"implement","phrase":"ship it","accepted":true}
    r5 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"the user said “ship it”: the discussed work starts"}
    --- tower.txt
    wood
    "#);
}

#[test]
fn nothing_talked_about_cannot_be_implemented() {
    let log = play("% mode=implement\n> now");
    assert!(log.contains("There is nothing to carry out yet."), "{log}");
}

#[test]
fn work_that_needs_changes_is_done_again_with_the_feedback_until_the_person_is_content() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % copilot.approval_mode=after_step
        > write a
        <@ write_file {"path":"a.txt","content":"one\n"}
        < a is written.
        ! needs_changes
        @ banner
        ! needs_changes make it two
        ?+ a is written.
        ?~ write a\n\nUser Feedback: make it two
        <@ write_file {"path":"a.txt","content":"two\n"}
        < Now it is two.
        ! needs_changes in capitals
        ?~ write a\n\nUser Feedback: make it two\n\nUser Feedback: in capitals
        <@ write_file {"path":"a.txt","content":"TWO\n"}
        < Now it is TWO.
        @ checkpoint.opened
        ^K
        ! start_over
        ?- User Feedback
        ?- Now it is two.
        ?- in capitals
        ?+ write a
        ?~ An earlier attempt changed these files, and they are as it left them: a.txt
        <@ read_file {"path":"a.txt"}
        <@ write_file {"path":"a.txt","content":"1\n"}
        < Done.
        ! satisfied
        "#
    ), &["checkpoint.opened", "checkpoint.resolved", "answer", "request.finished"]), @r#"
    r1 answer {"summary":"a is written.","synthesis":{"id":"synthesis_r1","text":"a is written."}}
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"satisfaction","title":"Does this result meet your needs?","choices":[{"id":"satisfied","label":"Yes, done","number":1,"text":"no","role":"primary"},{"id":"needs_changes","label":"Needs changes","number":2,"text":"required","role":"secondary"},{"id":"start_over","label":"Start over","number":3,"text":"no","role":"secondary"}],"about":"satisfaction","result":"a is written."}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"needs_changes","text":"make it two","by":"user"}
    r1 answer {"summary":"Now it is two.","synthesis":{"id":"synthesis_r1","text":"Now it is two."}}
    r1 checkpoint.opened {"checkpoint":"r1-k2","kind":"satisfaction","title":"Does this result meet your needs?","choices":[{"id":"satisfied","label":"Yes, done","number":1,"text":"no","role":"primary"},{"id":"needs_changes","label":"Needs changes","number":2,"text":"required","role":"secondary"},{"id":"start_over","label":"Start over","number":3,"text":"no","role":"secondary"}],"about":"satisfaction","result":"Now it is two."}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"needs_changes","text":"in capitals","by":"user"}
    r1 answer {"summary":"Now it is TWO.","synthesis":{"id":"synthesis_r1","text":"Now it is TWO."}}
    r1 checkpoint.opened {"checkpoint":"r1-k3","kind":"satisfaction","title":"Does this result meet your needs?","choices":[{"id":"satisfied","label":"Yes, done","number":1,"text":"no","role":"primary"},{"id":"needs_changes","label":"Needs changes","number":2,"text":"required","role":"secondary"},{"id":"start_over","label":"Start over","number":3,"text":"no","role":"secondary"}],"about":"satisfaction","result":"Now it is TWO."}
    r1 checkpoint.resolved {"checkpoint":"r1-k3","choice":"start_over","by":"user"}
    r1 answer {"summary":"Done.","synthesis":{"id":"synthesis_r1","text":"Done."}}
    r1 checkpoint.opened {"checkpoint":"r1-k4","kind":"satisfaction","title":"Does this result meet your needs?","choices":[{"id":"satisfied","label":"Yes, done","number":1,"text":"no","role":"primary"},{"id":"needs_changes","label":"Needs changes","number":2,"text":"required","role":"secondary"},{"id":"start_over","label":"Start over","number":3,"text":"no","role":"secondary"}],"about":"satisfaction","result":"Done."}
    r1 checkpoint.resolved {"checkpoint":"r1-k4","choice":"satisfied","by":"user"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":80,"cachedTokens":0,"outputTokens":40}}
    --- a.txt
    1
    "#);
}

#[test]
fn nobody_is_asked_to_be_content_where_nothing_was_done_or_nobody_is_there() {
    let log = play(
        r#"
        % copilot.approval_mode=after_step
        > what is it
        < A thing.
        % attended=false
        > write a
        <@ write_file {"path":"a.txt","content":"one\n"}
        < Done.
        "#,
    );
    assert!(!log.contains("checkpoint.opened"), "{log}");
}

#[test]
fn at_the_incremental_pace_a_person_says_continue() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % copilot.pace=incremental
        > do four things
        ?^ list ALL its steps in your first response, complete only 1-2 of them
        <@ set_steps {"steps":[{"text":"A","completed":true},"B","C","D"]}
        ?~ 3 steps are open.
        <@ set_steps {"steps":[{"text":"A","completed":true},{"text":"B","completed":true},"C","D"]}
        ?~ This is enough for one turn. Stop here
        < A and B are done.
        > continue
        <@ set_steps {"steps":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},{"text":"D","completed":true}]}
        < All is done.
        > three more at once
        <@ set_steps {"steps":[{"text":"E","completed":true},{"text":"F","completed":true},{"text":"G","completed":true},"H"]}
        < Three are done.
        "#
    ), &["steps", "answer", "bug", "request.finished"]), @r#"
    r1 steps {"todos":[{"text":"A","completed":true},{"text":"B","completed":false},{"text":"C","completed":false},{"text":"D","completed":false}]}
    r1 steps {"todos":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":false},{"text":"D","completed":false}]}
    r1 answer {"summary":"A and B are done.","todos":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":false},{"text":"D","completed":false}],"nextSteps":[{"html":"Continue to next step","inputText":"continue"}],"synthesis":{"id":"synthesis_r1","text":"A and B are done."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":30,"cachedTokens":0,"outputTokens":15}}
    r2 steps {"todos":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},{"text":"D","completed":true}]}
    r2 answer {"summary":"All is done.","todos":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},{"text":"D","completed":true}],"synthesis":{"id":"synthesis_r2","text":"All is done."}}
    r2 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    r3 steps {"todos":[{"text":"E","completed":true},{"text":"F","completed":true},{"text":"G","completed":true},{"text":"H","completed":false}]}
    r3 bug {"kind":"pace","by":"engine","message":"3 steps were completed in one turn; 2 at most were agreed"}
    r3 answer {"summary":"Three are done.","todos":[{"text":"E","completed":true},{"text":"F","completed":true},{"text":"G","completed":true},{"text":"H","completed":false}],"nextSteps":[{"html":"Continue to next step","inputText":"continue"}],"synthesis":{"id":"synthesis_r3","text":"Three are done."}}
    r3 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn continue_can_be_said_by_itself_and_be_paused() {
    insta::assert_snapshot!(only(&play(
        r#"
        --- dialogue
        % copilot.pace=incremental
        % copilot.auto_continue=true
        % commands=ask
        > do four things
        <@ set_steps {"steps":[{"text":"A","completed":true},"B","C","D"]}
        < A is done.
        ? continue
        <@ run_command {"command":"touch b"}
        @ checkpoint.opened
        ^P
        ! allow
        ! continue
        <@ set_steps {"steps":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},"D"]}
        < C is done.
        ? continue
        <@ set_steps {"steps":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},{"text":"D","completed":true}]}
        < All is done.
        "#
    ), &["request.steered", "request.pausing", "checkpoint.resolved", "answer", "request.finished"]), @r#"
    r1 answer {"summary":"A is done.","todos":[{"text":"A","completed":true},{"text":"B","completed":false},{"text":"C","completed":false},{"text":"D","completed":false}],"nextSteps":[{"html":"Continue to next step","inputText":"continue"}],"synthesis":{"id":"synthesis_r1","text":"A is done."}}
    r1 request.steered {"text":"continue","by":"auto_continue"}
    r1 request.pausing {}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 checkpoint.resolved {"checkpoint":"r1-k2","choice":"continue","by":"user"}
    r1 answer {"summary":"C is done.","todos":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},{"text":"D","completed":false}],"nextSteps":[{"html":"Continue to next step","inputText":"continue"}],"synthesis":{"id":"synthesis_r1","text":"C is done."}}
    r1 request.steered {"text":"continue","by":"auto_continue"}
    r1 answer {"summary":"All is done.","todos":[{"text":"A","completed":true},{"text":"B","completed":true},{"text":"C","completed":true},{"text":"D","completed":true}],"synthesis":{"id":"synthesis_r1","text":"All is done."}}
    r1 request.finished {"status":"completed","usage":{"inputTokens":70,"cachedTokens":0,"outputTokens":35}}
    --- b
    "#);
}

#[test]
fn a_form_with_open_steps_offers_to_go_on_at_any_pace_and_goes_on_by_itself_where_that_is_set() {
    let form = |done: &str, summary: &str| {
        let todos: Vec<String> =
            "ABC".chars().map(|step| format!(r#"{{"text":"{step}","completed":{}}}"#, done.contains(step))).collect();
        format!(r#"{{"summary":"{summary}","todos":[{}]}}"#, todos.join(","))
    };
    let (one, two, three) = (form("A", "A is done."), form("AB", "B is done."), form("ABC", "All is done."));
    let offered = play(&format!("% tools=false\n> do three things\n< {one}\n"));
    let answer = only(&offered, &["answer"]);
    assert!(answer.contains(r#""nextSteps":[{"html":"Continue to next step","inputText":"continue"}]"#), "{answer}");
    let whole = play(&format!(
        "% tools=false\n% copilot.auto_continue=true\n> do three things\n< {one}\n? continue\n< {two}\n? continue\n< {three}\n"
    ));
    let said = only(&whole, &["request.received", "request.steered", "request.finished"]);
    assert_eq!(said.matches("request.received").count(), 1, "{said}");
    assert_eq!(said.matches(r#"request.steered {"text":"continue","by":"auto_continue"}"#).count(), 2, "{said}");
}

#[test]
fn continue_is_not_said_where_nothing_moves() {
    play(
        r#"
        % copilot.pace=incremental
        % copilot.auto_continue=true
        > do two things
        <@ set_steps {"steps":["A","B"]}
        < I am stuck.
        "#,
    );
}
