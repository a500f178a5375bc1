//! Turns in an editor: what they show, how they end, and what editors do in the middle of one. The real binary, and editors
//! that do what a test says.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder(&program).to_str().expect("a path"));
    program
}

fn folder(program: &Program) -> PathBuf {
    program.project().canonicalize().expect("a folder")
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn uses(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().tool("toolu_1", name, [input.to_string()]))
}

fn edits(search: &str, replace: &str) -> Answer {
    uses("edit_file", &json!({"path": "hello.txt", "blocks": [{"search": search, "replace": replace}]}))
}

fn hello(program: &Program) -> String {
    std::fs::read_to_string(program.project().join("hello.txt")).expect("reads")
}

fn started(program: &Program, capabilities: Value) -> Editor {
    let mut editor = Editor::start(program);
    editor.initialize(capabilities);
    editor
}

/// An editor with a session.
fn open(program: &Program, capabilities: Value) -> (Editor, String) {
    let mut editor = started(program, capabilities);
    let session = editor.open(&folder(program));
    (editor, session)
}

fn place(program: &Program, session: &str) -> Value {
    json!({"sessionId": session, "cwd": folder(program), "mcpServers": []})
}

fn with_forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn with_buffers() -> Value {
    json!({"fs": {"readTextFile": true}})
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_end_of_a_reply_is_the_end_of_the_turn() {
    let program = program();
    let (mut editor, session) = open(&program, json!({}));
    for (stop, reason) in [("refusal", "refusal"), ("max_tokens", "max_tokens"), ("end_turn", "end_turn")] {
        let reply = || Answer::anthropic(Reply::new().text(["Some words."]).stop(stop));
        // A reply that is cut off is continued first.
        program.provider.always(reply());
        assert_eq!(editor.say(&session, "Say something"), reason);
    }
}

#[test]
fn the_error_of_a_prompt_names_what_to_do_in_the_editor() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_RETRIES", "0");
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    program.provider.always(Answer::json(529, body));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Say hello");
    let error = editor.answer_to(prompt)["error"].clone();
    let message = error["message"].as_str().expect("words");
    assert!(message.contains("/model") && !message.contains("--"), "{message}");
}

#[test]
fn a_limit_of_steps_ends_the_turn_and_the_next_prompt_continues() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_STEPS", "2");
    program.provider.push(uses("read_file", &json!({"path": "hello.txt"})));
    program.provider.push(uses("list_files", &json!({})));
    program.provider.push(says("Half is done."));
    let (mut editor, session) = open(&program, json!({}));
    assert_eq!(editor.say(&session, "Read it"), "max_turn_requests");
    let text = editor.text("agent_message_chunk");
    assert!(text.contains("The limit of 2 model calls was reached.") && text.contains("Stop here"), "{text}");
    program.provider.push(says("All is done."));
    assert_eq!(editor.say(&session, "1"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("All is done."));
}

#[test]
fn a_budget_is_asked_about_in_a_form() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_BUDGET_USD", "0.0001");
    let (mut editor, session) = open(&program, with_forms());
    let prompt = editor.prompt(&session, "Do much");
    let asked = editor.asked("elicitation/create");
    let message = asked["params"]["message"].as_str().expect("a message");
    assert!(message.contains("exceed the budget of"), "{message}");
    editor.answer(&asked, json!({"action": "accept", "content": {"choice": "stop"}}));
    editor.result(prompt);
    assert!(program.provider.requests().is_empty(), "nothing was spent");
}

#[test]
fn todos_are_the_plan_of_the_editor() {
    let program = program();
    let steps = json!({"steps": [{"text": "Read it", "completed": true}, {"text": "Fix it"}]});
    program.provider.push(uses("set_steps", &steps));
    program.provider.push(says("One is left."));
    let (mut editor, session) = open(&program, json!({}));
    assert_eq!(editor.say(&session, "Fix it"), "end_turn");
    let plan = editor.updates("plan").pop().expect("a plan");
    let entries: Vec<String> = plan["entries"].as_array().expect("entries").iter().map(ToString::to_string).collect();
    assert!(entries[0].contains("Read it") && entries[0].contains("completed"), "{entries:?}");
    assert!(entries[1].contains("Fix it") && entries[1].contains("pending"), "{entries:?}");
    assert!(editor.updates("tool_call").is_empty(), "the list is not a tool call as well");
}

#[test]
fn the_output_of_a_command_is_shown_while_it_runs() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_COMMANDS", "auto");
    program.set("TRIMTAB_COMMANDS_ALLOW", "sh");
    let command = "sh -c 'echo first; until [ -e go.txt ]; do sleep 0.05; done; echo second'";
    program.provider.push(uses("run_command", &json!({"command": command})));
    program.provider.push(says("It ran."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Run it");
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(60), "{:#?}", editor.messages());
        if let Some(asked) =
            editor.messages().into_iter().find(|message| message["method"] == "session/request_permission")
            && editor.updates("tool_call_update").iter().all(|update| update["status"] != "in_progress")
        {
            editor.choose(&asked, "allow");
        }
        let is_live = |update: &Value| update["status"] == "in_progress" && update.to_string().contains("first");
        if editor.updates("tool_call_update").iter().any(is_live) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!editor.is_answered(prompt));
    std::fs::write(program.project().join("go.txt"), "").expect("writes");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    let last = editor.updates("tool_call_update").pop().expect("an update");
    assert!(last["status"] == "completed" && last.to_string().contains("second"), "{last}");
}

#[test]
fn workflows_commands_and_skills_of_the_folder_are_offered_and_called() {
    let program = program();
    let file = |path: &str, text: &str| {
        let path = program.project().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
        std::fs::write(path, text).expect("writes");
    };
    file(".trimtab/pills/news.md", "---\ndescription: Summarize\narguments: [since]\n---\nWhat changed since $1?\n");
    file(".claude/commands/tidy.md", "Tidy up $ARGUMENTS.\n");
    file(".agents/skills/notes/SKILL.md", "---\nname: notes\ndescription: Write notes\n---\nGroup the commits.\n");
    assert_eq!(program.run(&["trust"]).code, Some(0));
    program.provider.always(says("Done."));
    let (mut editor, session) = open(&program, json!({}));
    let update = editor.wait_for("the commands", |message| {
        message["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    let commands = update["params"]["update"]["availableCommands"].as_array().cloned().unwrap_or_default();
    let find = |name: &str| commands.iter().find(|command| command["name"] == name);
    for name in ["news", "tidy", "notes", "changes", "rewind", "forward", "handoff", "model"] {
        assert!(find(name).is_some(), "{name}: {commands:?}");
    }
    assert_eq!(find("news").expect("it")["input"]["hint"], "[since]");
    assert_eq!(editor.say(&session, "/news Monday"), "end_turn");
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("What changed since Monday?"), "{sent}");
}

#[test]
fn a_handoff_names_the_session_that_continues() {
    let program = program();
    program.provider.always(says("We fixed the parser."));
    let (mut editor, session) = open(&program, json!({}));
    editor.say(&session, "Fix the parser");
    assert_eq!(editor.say(&session, "/handoff"), "end_turn");
    let text = editor.text("agent_message_chunk");
    let child = text.split("Handed off to session ").nth(1).expect("a session").split('.').next().expect("an ID");
    editor.call("session/load", place(&program, child));
    assert_eq!(editor.say(child, "Go on"), "end_turn");
}

#[test]
fn a_question_of_a_sub_task_is_a_permission_of_its_session() {
    let program = program();
    let task = json!({"title": "left", "instruction": "TASK left: do it", "files": [], "depends_on": [],
        "kind": "reasoning", "each": false});
    let other = json!({"title": "right", "instruction": "TASK right: do it", "files": [], "depends_on": [],
        "kind": "reasoning", "each": false});
    let plan = json!({"thought": "", "tasks": [task, other]}).to_string();
    program.provider.answer_with(move |request| {
        let body = request.body.to_string();
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let is_first = !messages.iter().any(|message| message["role"] == "assistant");
        match body.contains("TASK left:") && is_first {
            _ if body.contains("You break a request about") => says(&plan),
            true => uses("run_command", &json!({"command": "mkdir inner"})),
            false => says("Done."),
        }
    });
    let (mut editor, session) = open(&program, with_forms());
    let prompt = editor.prompt(&session, "/subtasks Do both");
    let start = editor.asked("elicitation/create");
    editor.answer(&start, json!({"action": "accept", "content": {"choice": "start_a"}}));
    let asked = editor.asked("session/request_permission");
    assert_eq!(asked["params"]["sessionId"], json!(session), "a permission of the parent");
    let call = &asked["params"]["toolCall"];
    assert!(call["toolCallId"].as_str().expect("an ID").starts_with("subtask-"), "{call}");
    let title = call["title"].as_str().expect("a title");
    assert!(title.contains("left") && title.contains("mkdir inner"), "{title}");
    editor.choose(&asked, "allow");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
}

#[test]
fn a_session_that_is_loaded_while_its_prompt_runs_keeps_running() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says("Still here.").gated(&gate));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Think for long");
    program.provider.block_on(program.provider.wait_for_requests(1));
    for method in ["session/load", "session/resume", "session/load"] {
        editor.call(method, place(&program, &session));
    }
    assert!(!editor.is_answered(prompt), "the prompt is not cancelled");
    assert_eq!(editor.text("user_message_chunk"), "Think for long".repeat(2), "each load shows it");
    gate.open();
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk").matches("Still here.").count(), 1);
    assert_eq!(program.provider.requests().len(), 1, "nothing was asked twice");
}

#[test]
fn a_session_that_is_loaded_at_a_permission_asks_it_again() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    let first = editor.asked("session/request_permission");
    let load = editor.request("session/load", place(&program, &session));
    editor.wait_for("the first one is withdrawn", |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == first["id"]
    });
    editor.result(load);
    let second = editor.asked("session/request_permission");
    // The answer to the question that was withdrawn does not count.
    editor.choose(&first, "never");
    editor.choose(&second, "allow");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(program.project().join("made").exists());
}

#[test]
fn options_outlive_a_session_that_is_loaded_again() {
    let program = program();
    let (mut editor, session) = open(&program, json!({}));
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    let loaded = editor.call("session/load", place(&program, &session));
    assert_eq!(loaded["modes"]["currentModeId"], "plan");
}

#[test]
fn two_editors_share_a_session() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    program.provider.push(says("Hello to both."));
    let (mut first, session) = open(&program, json!({}));
    let mut second = started(&program, json!({}));
    second.call("session/load", place(&program, &session));
    let prompt = first.prompt(&session, "Make it");
    let here = first.asked("session/request_permission");
    let there = second.asked("session/request_permission");
    second.choose(&there, "allow");
    first.wait_for("the question is withdrawn", |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == here["id"]
    });
    assert_eq!(first.result(prompt)["stopReason"], "end_turn");
    wait_until("the other editor shows it", || second.text("agent_message_chunk").contains("It is made."));
    assert!(second.text("user_message_chunk").contains("Make it"));
    assert_eq!(second.say(&session, "Say hello"), "end_turn");
    wait_until("the first editor shows it", || first.text("agent_message_chunk").contains("Hello to both."));
    assert_eq!(first.text("user_message_chunk"), "Say hello");
}

#[test]
fn an_editor_that_has_a_session_open_takes_over_when_the_other_one_is_killed() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    let (mut first, session) = open(&program, json!({}));
    let mut second = started(&program, json!({}));
    second.call("session/load", place(&program, &session));
    first.prompt(&session, "Make it");
    first.asked("session/request_permission");
    let asked = second.asked("session/request_permission");
    first.kill();
    second.choose(&asked, "allow");
    wait_until("the request ends", || second.text("agent_message_chunk").contains("It is made."));
    assert!(program.project().join("made").exists());
}

#[test]
fn a_session_that_is_deleted_right_before_the_editor_ends_is_gone() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says("Never seen.").gated(&gate));
    let (mut editor, session) = open(&program, json!({}));
    editor.prompt(&session, "Think for long");
    program.provider.block_on(program.provider.wait_for_requests(1));
    editor.request("session/delete", json!({"sessionId": session}));
    let (status, stderr) = editor.close();
    assert!(status.success() && stderr.is_empty(), "{status} {stderr}");
    let mut again = started(&program, json!({}));
    assert_eq!(again.call("session/list", json!({}))["sessions"], json!([]));
}

#[test]
fn a_file_that_is_moved_onto_a_new_buffer_asks() {
    let program = program();
    program.provider.push(uses("move_file", &json!({"from": "hello.txt", "to": "new.txt"})));
    program.provider.always(says("Done."));
    let (mut editor, session) = open(&program, with_buffers());
    let prompt = editor.prompt(&session, "Move hello.txt to new.txt");
    let (mut answered, mut is_asked, began) = (Vec::new(), false, Instant::now());
    while !editor.is_answered(prompt) {
        assert!(began.elapsed() < Duration::from_secs(60), "{:#?}", editor.messages());
        for message in editor.messages() {
            if message.get("method").is_none() || message.get("id").is_none() || answered.contains(&message["id"]) {
                continue;
            }
            answered.push(message["id"].clone());
            if message["method"] == "fs/read_text_file" {
                let is_new = message["params"]["path"].as_str().is_some_and(|path| path.ends_with("new.txt"));
                let text = if is_new { "never saved\n" } else { "hello world\n" };
                editor.answer(&message, json!({"content": text}));
            } else {
                is_asked |= message.to_string().contains("new.txt has unsaved changes in your editor");
                editor.choose(&message, "never");
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(is_asked && !program.project().join("new.txt").exists());
}

#[test]
fn cancel_without_a_prompt_and_cancel_after_the_end_do_nothing() {
    let program = program();
    program.provider.always(says("Hello."));
    let (mut editor, session) = open(&program, json!({}));
    let cancel = json!({"sessionId": session});
    editor.notify("session/cancel", cancel.clone());
    editor.notify("session/cancel", json!({"sessionId": "s01kabcdefghjkmnp"}));
    editor.notify("session/cancel", json!(7));
    assert_eq!(editor.say(&session, "Say hello"), "end_turn");
    (0..20).for_each(|_| editor.notify("session/cancel", cancel.clone()));
    assert_eq!(editor.say(&session, "Say hello again"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk").trim().replace("\n\n", " "), "Hello. Hello.");
}

#[test]
fn cancels_and_prompts_in_any_order_end_every_prompt() {
    let program = program();
    program.provider.always(says("Hello."));
    let (mut editor, session) = open(&program, json!({}));
    let mut prompts = Vec::new();
    for round in 0..12 {
        prompts.push(editor.prompt(&session, &format!("Say hello {round}")));
        if round % 2 == 0 {
            editor.notify("session/cancel", json!({"sessionId": session}));
        }
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_millis(30));
        }
    }
    for prompt in prompts {
        let stop = editor.result(prompt)["stopReason"].clone();
        assert!(stop == "end_turn" || stop == "cancelled", "{stop}");
    }
    wait_until("all requests end", || program.run(&["jobs", "--json"]).stdout.is_empty());
    assert_eq!(editor.say(&session, "Say hello once more"), "end_turn");
}

#[test]
fn prompts_that_are_too_large_are_refused_and_the_session_goes_on() {
    let program = program();
    program.provider.always(says("Hello."));
    let (mut editor, session) = open(&program, json!({}));
    let refused = |editor: &mut Editor, prompt: Value| {
        let error = editor.refused("session/prompt", json!({"sessionId": session, "prompt": prompt}));
        (error["code"].clone(), error["message"].as_str().unwrap_or_default().to_owned())
    };
    let image = json!({"type": "image", "mimeType": "image/png",
        "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="});
    let (code, message) = refused(&mut editor, json!(vec![image; 9]));
    assert!(code == -32602 && message.contains("at most 8 images"), "{message}");
    let (code, message) = refused(&mut editor, json!([{"type": "text", "text": "long ".repeat(5_000_000)}]));
    assert_eq!(code, -32602, "{message}");
    let (code, _) = refused(&mut editor, json!([]));
    assert_eq!(code, -32602);
    let (code, _) = refused(&mut editor, json!([{"type": "text", "text": " \n "}]));
    assert_eq!(code, -32602);
    // A large text is kept whole, and the model gets its beginning and its end.
    assert_eq!(editor.say(&session, &"word ".repeat(200_000)), "end_turn");
}

#[test]
fn links_with_relative_and_foreign_paths_are_words() {
    let program = program();
    program.provider.always(says("Hello."));
    let (mut editor, session) = open(&program, json!({}));
    let link = |uri: &str| json!({"type": "resource_link", "name": "x", "uri": uri});
    let blocks = json!([link("hello.txt"), link("../secret.txt"), link("file:///etc/passwd"), link("file://%00")]);
    let id = editor.request("session/prompt", json!({"sessionId": session, "prompt": blocks}));
    assert_eq!(editor.result(id)["stopReason"], "end_turn");
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("file:///etc/passwd") && !sent.contains("root:"), "no file was read: {sent}");
}

#[test]
fn unknown_options_and_values_are_refused() {
    let program = program();
    let (mut editor, session) = open(&program, json!({}));
    let set = |editor: &mut Editor, id: Value, value: Value| {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        editor.refused("session/set_config_option", params)
    };
    let unknown = set(&mut editor, json!("temperature"), json!("hot"));
    assert!(unknown["message"].as_str().is_some_and(|text| text.contains("Expected mode, model, effort")), "{unknown}");
    for (id, value) in
        [("effort", json!("huge")), ("model", json!("none/such")), ("mode", json!(true)), ("", json!(""))]
    {
        assert_eq!(set(&mut editor, json!(id), value)["code"], -32602);
    }
}

#[test]
fn an_editor_that_does_not_answer_for_its_buffers_gets_no_edit() {
    let program = program();
    program.provider.push(edits("hello world", "hello there"));
    program.provider.always(says("Then not."));
    let (mut editor, session) = open(&program, with_buffers());
    let prompt = editor.prompt(&session, "Change hello.txt to say hello there");
    editor.answer_to(prompt);
    assert_eq!(hello(&program), "hello world\n");
    let told = program.provider.requests()[1].body["messages"].to_string();
    assert!(told.contains("your editor does not answer whether it has unsaved changes"), "{told}");
}

#[test]
fn a_merge_of_sub_tasks_is_made_on_the_text_of_the_buffer_after_a_question() {
    let program = program();
    std::fs::write(program.project().join("hello.txt"), "one\ntwo\nthree\nfour\nfive\n").expect("writes");
    let task = |title: &str| {
        json!({"title": title, "instruction": format!("TASK {title}: do it"), "files": [], "depends_on": [],
            "kind": "reasoning", "each": false})
    };
    let plan = json!({"thought": "", "tasks": [task("left"), task("right")]}).to_string();
    program.provider.answer_with(move |request| {
        let body = request.body.to_string();
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let is_first = !messages.iter().any(|message| message["role"] == "assistant");
        match body.contains("TASK left:") && is_first {
            _ if body.contains("You break a request about") => says(&plan),
            true => edits("one", "ONE"),
            false => says("Done."),
        }
    });
    let (mut editor, session) = open(&program, json!({"fs": {"readTextFile": true}, "elicitation": {"form": {}}}));
    let prompt = editor.prompt(&session, "/subtasks Change the first line");
    let buffer = "one\ntwo\nthree\nfour\nFIVE, unsaved\n";
    let (mut answered, mut questions, began) = (Vec::new(), String::new(), Instant::now());
    while !editor.is_answered(prompt) {
        assert!(began.elapsed() < Duration::from_secs(60), "{:#?}", editor.messages());
        for message in editor.messages() {
            if message.get("method").is_none() || message.get("id").is_none() || answered.contains(&message["id"]) {
                continue;
            }
            answered.push(message["id"].clone());
            match message["method"].as_str().expect("a method") {
                "fs/read_text_file" => editor.answer(&message, json!({"content": buffer})),
                "elicitation/create" => {
                    editor.answer(&message, json!({"action": "accept", "content": {"choice": "start_a"}}));
                }
                _ => {
                    questions.push_str(&message.to_string());
                    editor.choose(&message, "allow");
                }
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(questions.contains("hello.txt has unsaved changes in your editor"), "{questions}");
    assert_eq!(hello(&program), "ONE\ntwo\nthree\nfour\nFIVE, unsaved\n");
}
