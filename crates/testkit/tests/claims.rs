//! A status is true: calls and files in text are carried out like any others, a missing deed is asked for once, and a
//! request that ends without what it asked for is not done.

use trimtab_testkit::scenario::{only, play};

const SHOWN: &[&str] = &["tool.started", "tool.finished", "change.applied", "bug", "plan.proposed", "request.finished"];

/// How a scenario's last request ended, and why.
fn end(script: &str) -> String {
    let log = play(script);
    let last = log.lines().rfind(|line| line.contains(" request.finished ")).expect("an end");
    let fact: serde_json::Value =
        serde_json::from_str(last.split_once("request.finished ").expect("a fact").1).expect("JSON");
    let why = fact["error"]["message"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{}{why}", fact["status"].as_str().unwrap_or_default())
}

#[test]
fn a_call_in_a_fence_is_carried_out_and_answered_as_a_call() {
    let log = play(
        r#"
        --- a.txt
        alpha
        --- dialogue
        > What does a.txt say?
        < I look.\n```json\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n```
        ?~ 1	alpha
        < It says alpha.
        "#,
    );
    let saved: Vec<&str> = log.lines().filter(|line| line.contains("reply.saved")).collect();
    assert!(
        saved[0].contains(r#"{"type":"text","text":"I look."},{"type":"tool_use","id":"t00001001""#),
        "{}",
        saved[0]
    );
    assert!(saved[0].contains(r#""textCalls":1"#) && !saved[0].contains("```"), "{}", saved[0]);
    insta::assert_snapshot!(only(&log, SHOWN), @r#"
    r1 tool.started {"call":"c1t1","name":"read_file","input":{"path":"a.txt"}}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"1\talpha"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- a.txt
    alpha
    "#);
}

#[test]
fn a_write_in_text_goes_through_the_same_permissions() {
    let script = |answer: &str| {
        format!(
            r#"
            --- keep.txt
            x
            --- dialogue
            % files=ask
            > Create hello.py that prints hi
            < <tool_call>\n{{"name": "write_file", "arguments": {{"path": "hello.py", "content": "print('hi')\\n"}}}}\n</tool_call>
            ! {answer}
            "#
        )
    };
    let allowed = play(&script("allow\n< As you like."));
    assert!(allowed.contains("checkpoint.opened") && allowed.contains("--- hello.py\nprint('hi')"), "{allowed}");
    assert_eq!(end(&script("allow\n< As you like.")), "completed");
    let denied = play(&script("wait"));
    assert!(!denied.contains("--- hello.py") && !denied.contains("not_done"), "the person has decided: {denied}");
}

#[test]
fn a_file_in_a_fence_becomes_the_change_that_it_is() {
    let log = play(
        r#"
        > Create hello.py that prints hi
        < Here is the file:\n\n```python\nprint('hi')\n```\n
        ?~ Created hello.py
        < Done.
        "#,
    );
    insta::assert_snapshot!(only(&log, SHOWN), @r#"
    r1 tool.started {"call":"c1t1","name":"write_file","input":{"path":"hello.py","content":"print('hi')\n"}}
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"hello.py","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"Created hello.py (1 lines)."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    --- hello.py
    print('hi')
    "#);
}

#[test]
fn code_in_an_explanation_a_part_of_a_file_and_a_cut_reply_change_nothing() {
    let explained = play(
        r#"
        --- a.py
        x = 1
        --- dialogue
        > How would you write a.py differently?
        < Like this:\n\n```python a.py\nx = 2\n```
        "#,
    );
    assert!(!explained.contains("change.applied"), "{explained}");
    let part = play(
        r#"
        --- a.py
        x = 1
        y = 2
        z = 3
        w = 4
        --- dialogue
        > Add a function f to a.py
        < ```python a.py\ndef f():\n    pass\n```
        ?~ Nothing was changed
        ?~ write_file
        < Sorry, I cannot do that.
        "#,
    );
    assert!(!part.contains("change.applied"), "{part}");
    let cut = play(
        r#"
        --- keep.txt
        x
        --- dialogue
        % on_max_tokens=ask
        > Create hello.py
        < ```python hello.py\nprint('hi')\n``` [max_tokens]
        "#,
    );
    assert!(!cut.contains("change.applied"), "{cut}");
}

#[test]
fn code_that_a_model_shows_after_its_own_change_is_not_applied_again() {
    let log = play(
        r#"
        --- a.py
        x = 1
        --- dialogue
        > Change x to 2 in a.py
        <@ write_file {"path":"a.py","content":"x = 2\n"}
        < Done, it now reads:\n```python a.py\nx = 3\n```
        "#,
    );
    assert_eq!(log.matches("change.applied").count(), 1);
    assert!(log.contains("--- a.py\nx = 2"), "{log}");
}

#[test]
fn a_missing_call_is_asked_for_once_and_then_the_request_is_not_done() {
    let log = play(
        r#"
        > Create hello.py that prints hi
        < I have created hello.py for you.
        ?~ Nothing was changed: your reply only describes it.
        ?~ Call the tool write_file with "path": "hello.py"
        < I have created hello.py. It prints hi.
        "#,
    );
    insta::assert_snapshot!(only(&log, SHOWN), @r#"
    r1 bug {"kind":"nothing_done","by":"engine","message":"the request asks for an action, and the reply has none; the model was reminded which call is missing"}
    r1 request.finished {"status":"not_done","error":{"kind":"not_done","message":"Not done: the model described a change but made none.","hint":"Ask again and name the file or the command, or choose another model with --model."},"usage":{"inputTokens":20,"cachedTokens":0,"outputTokens":10}}
    "#);
}

#[test]
fn a_model_that_acts_when_it_is_asked_to_is_done() {
    let script = r#"
        > Create hello.py that prints hi
        < You could write a small script.
        ?~ Nothing was changed
        <@ write_file {"path":"hello.py","content":"print('hi')\n"}
        < Created hello.py.
        "#;
    assert_eq!(end(script), "completed");
}

#[test]
fn a_tool_that_there_is_not_is_answered_with_those_that_there_are() {
    let script = r#"
        --- greet.py
        x = 1
        --- dialogue
        > Add a function farewell(name) to greet.py
        < ```json\n{"name": "farewell", "arguments": {"name": "Ada"}}\n```
        ?~ There is no tool named farewell. The tools are: read_file, list_files
        < ```json\n{"name": "farewell", "arguments": {"name": "Ada"}}\n```
        "#;
    assert_eq!(end(script), "not_done: Not done: the model called farewell, which is not a tool.");
}

#[test]
fn wrong_arguments_in_text_are_answered_with_the_schema() {
    let script = r#"
        > Create hello.py
        < {"name": "write_file", "arguments": {"file": "hello.py", "text": "x"}}
        ?~ missing field `path`
        <@ write_file {"path":"hello.py","content":"x\n"}
        < Done.
        "#;
    assert_eq!(end(script), "completed");
}

#[test]
fn a_command_that_was_only_described_is_not_done() {
    let script = r#"
        --- a.txt
        x
        --- dialogue
        > Run the tests
        < I ran the tests and all of them pass.
        ?~ Nothing was run
        < I ran the tests. They pass.
        "#;
    assert_eq!(end(script), "not_done: Not done: the model described a command but ran none.");
}

#[test]
fn a_file_that_was_only_claimed_beside_another_is_not_done() {
    let script = r#"
        > Create a.py and b.py
        <@ write_file {"path":"a.py","content":"x\n"}
        < I have created a.py. I have created b.py.
        ?~ b.py was not changed
        < I have created b.py.
        "#;
    assert_eq!(end(script), "not_done: Not done: the model reports a change to b.py but made none.");
}

#[test]
fn answers_questions_reasons_and_what_is_in_place_are_not_deeds_that_are_missing() {
    for dialogue in [
        "> What is in a.txt?\n< It holds an x.",
        "> Explain how to fix a.txt\n< Replace x by y.",
        "> Hello\n< Hello!",
        "> Write a haiku about files\n< Files rest in folders.",
        "> Fix the bug in a.txt\n< I cannot: there is no bug in it.",
        "> Fix the bug in a.txt\n< Which bug do you mean?",
        "> Replace y with x in a.txt\n< a.txt already says x; nothing to do.",
        "> Write a summary of a.txt\n< It is one letter.",
    ] {
        let script = format!("--- a.txt\nx\n--- dialogue\n{dialogue}\n");
        assert_eq!(end(&script), "completed", "{dialogue}");
    }
}

#[test]
fn a_plan_that_was_asked_for_and_never_came_is_not_done() {
    let script = r#"
        --- a.txt
        x
        --- dialogue
        % mode=plan
        > Refactor the parser in a.txt
        < First one looks at it.
        ?~ propose_plan
        < Then one changes it.
        "#;
    assert_eq!(end(script), "not_done: Not done: the model proposed no plan.");
    let answered = "--- a.txt\nx\n--- dialogue\n% mode=plan\n> What does a.txt hold?\n< An x.\n";
    assert_eq!(end(answered), "completed");
}

#[test]
fn a_plan_that_was_carried_out_in_words_alone_is_not_done() {
    let script = |second: &str| {
        format!(
            r#"
            --- a.txt
            x
            --- dialogue
            > Plan the new header
            <@ propose_plan {{"steps":[{{"title":"Read it"}},{{"title":"Put a header beside it","files":["b.txt"]}}]}}
            ! approve
            < I have read it.
            {second}
            < The plan is done.
            "#
        )
    };
    assert_eq!(end(&script("")), "not_done: Not done: the model described a change but made none.");
    let done = r#"<@ write_file {"path":"b.txt","content":"header\n"}"#;
    assert_eq!(end(&script(done)), "completed");
    let reads = r#"
        --- dialogue
        > Plan the new header
        <@ propose_plan {"steps":["Read it","Think about it"]}
        ! approve
        < I have read it.
        < A header would help.
        "#;
    assert_eq!(end(reads), "completed", "a plan that names neither files nor commands asks for none");
}

#[test]
fn models_that_answer_with_an_object_are_held_to_the_same() {
    let script = r#"
        --- a.txt
        x
        --- dialogue
        % tools=false
        > Change x to y in a.txt
        < {"summary":"I have changed a.txt."}
        ?~ in "fileChanges" an entry with "path": "a.txt"
        < {"summary":"I have changed a.txt."}
        "#;
    assert_eq!(end(script), "not_done: Not done: the model described a change but made none.");
    let in_fences = play(
        r#"
        --- keep.txt
        x
        --- dialogue
        % tools=false
        > Create hello.py that prints hi
        < Here it is:\n\n**hello.py**\n```python\nprint('hi')\n```\n
        "#,
    );
    assert!(
        in_fences.contains("--- hello.py\nprint('hi')") && in_fences.contains(r#""status":"completed""#),
        "{in_fences}"
    );
}

#[test]
fn a_file_that_was_to_be_made_is_missing_when_another_one_was_written() {
    let script = |second: &str| {
        format!(
            r#"
            --- keep.txt
            x
            --- dialogue
            > Create a.py and b.py that print hi
            <@ write_file {{"path": "a.py", "content": "print('hi')\n"}}
            ?~ a.py
            < Both files are there.
            ?~ b.py is still missing
            {second}
            "#
        )
    };
    assert_eq!(end(&script("< All done.")), "not_done: Not done: b.py was neither created nor changed.");
    assert_eq!(end(&script("< I cannot create b.py: it is not allowed here.")), "completed");
}
