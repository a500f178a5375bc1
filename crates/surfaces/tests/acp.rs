//! The Agent Client Protocol: the real binary, and an editor that does what a test says.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply, Request};

/// An editor that shows forms.
fn with_forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn untrusted() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    program
}

fn program() -> Program {
    let mut program = untrusted();
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

/// An editor with a session.
fn open(program: &Program, capabilities: Value) -> (Editor, String) {
    let mut editor = Editor::start(program);
    editor.initialize(capabilities);
    let session = editor.open(&folder(program));
    (editor, session)
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The ID of the one open question.
fn checkpoint(program: &Program) -> String {
    let listed = program.run(&["checkpoints", "--json"]).events();
    assert_eq!(listed.len(), 1, "{listed:?}");
    listed[0]["checkpoint"].as_str().expect("an ID").to_owned()
}

/// What a tool call has become: its first message with all later ones.
fn tool_call(editor: &Editor, kind: &str) -> Value {
    let mut call = editor.updates("tool_call").into_iter().find(|call| call["kind"] == kind).expect("a tool call");
    for update in editor.updates("tool_call_update") {
        if update["toolCallId"] == call["toolCallId"] {
            for (name, value) in update.as_object().expect("an object") {
                call[name] = value.clone();
            }
        }
    }
    call
}

#[test]
fn initialize_names_what_holds_and_nothing_else() {
    let program = program();
    let mut editor = Editor::start(&program);
    let early = editor.refused("session/list", json!({}));
    assert_eq!(early["code"], -32600, "{early}");
    let answer = editor.initialize(json!({"auth": {"terminal": true}}));
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentInfo"]["name"], "trimtab");
    let abilities = &answer["agentCapabilities"];
    assert_eq!(abilities["loadSession"], true);
    assert_eq!(abilities["promptCapabilities"], json!({"image": true, "audio": false, "embeddedContext": true}));
    assert_eq!(abilities["mcpCapabilities"], json!({"http": true, "sse": false}));
    assert_eq!(abilities["sessionCapabilities"], json!({"list": {}, "delete": {}, "resume": {}, "close": {}}));
    assert_eq!(
        (&answer["authMethods"][0]["type"], &answer["authMethods"][0]["id"]),
        (&json!("terminal"), &json!("setup"))
    );
    let (status, stderr) = editor.close();
    assert!(status.success() && stderr.is_empty(), "{status} {stderr}");
}

#[test]
fn a_prompt_streams_thoughts_and_words_and_ends() {
    let program = program();
    let reply = Reply::new().thinking(["Let me ", "see."], "sig").text(["Hel", "lo."]);
    program.provider.push(Answer::anthropic(reply));
    let (mut editor, session) = open(&program, json!({}));
    assert_eq!(editor.say(&session, "Say hello"), "end_turn");
    assert_eq!(editor.text("agent_thought_chunk"), "Let me see.");
    assert_eq!(editor.text("agent_message_chunk"), "Hello.");
    let chunks = editor.updates("agent_message_chunk");
    assert!(chunks.iter().all(|chunk| chunk["messageId"] == chunks[0]["messageId"] && chunk["messageId"].is_string()));
    assert!(editor.updates("user_message_chunk").is_empty(), "the editor shows its own prompt");
    let usage = editor.updates("usage_update").pop().expect("usage");
    assert!(usage["size"].as_u64() > usage["used"].as_u64(), "{usage}");
    assert_eq!(usage["cost"]["currency"], "USD");
    let commands = editor.updates("available_commands_update").pop().expect("commands");
    assert!(
        commands["availableCommands"].as_array().expect("a list").iter().any(|command| command["name"] == "rewind")
    );
    let (status, stderr) = editor.close();
    assert!(status.success() && stderr.is_empty(), "{status} {stderr}");
}

#[test]
fn a_provider_that_fails_is_an_error_of_the_prompt() {
    let program = program();
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    program.provider.push(Answer::json(401, body));
    let (mut editor, session) = open(&program, json!({}));
    let id = editor.prompt(&session, "Say hello");
    let answer = editor.answer_to(id);
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    assert!(answer["error"]["data"]["hint"].is_string(), "{answer}");
}

#[test]
fn a_command_is_a_permission_with_the_rule_in_its_options_and_runs_once_it_is_allowed() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "echo one; touch made"})));
    program.provider.push(says("It is made."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    let asked = editor.asked("session/request_permission");
    assert_eq!(asked["params"]["sessionId"], json!(session));
    let call = &asked["params"]["toolCall"];
    assert_eq!(call["status"], "pending");
    assert_eq!(call["title"], "Run this command? echo one; touch made");
    let options = asked["params"]["options"].as_array().expect("options");
    let kinds: Vec<&str> = options.iter().filter_map(|option| option["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
    let always = options[1]["name"].as_str().expect("a name");
    assert!(always.starts_with("Always allow (adds the rule: allow run_command"), "{always}");
    assert!(options[3]["name"].as_str().expect("a name").contains("deny run_command"), "{options:?}");
    assert!(!program.project().join("made").exists() && !editor.is_answered(prompt));
    editor.choose(&asked, "allow");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(program.project().join("made").exists());
    let call = tool_call(&editor, "execute");
    assert_eq!((&call["status"], &call["title"]), (&json!("completed"), &json!("echo one; touch made")));
    assert!(call["content"][0]["content"]["text"].as_str().expect("output").contains("one"), "{call}");
    let text = editor.text("agent_message_chunk");
    assert!(text.ends_with("It is made.") && text.contains("`/rewind` undoes the changes"), "{text}");
}

#[test]
fn a_command_that_is_rejected_does_not_run_and_the_model_learns_it() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("Then not."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    let asked = editor.asked("session/request_permission");
    editor.choose(&asked, "never");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(!program.project().join("made").exists());
    assert_eq!(tool_call(&editor, "execute")["status"], "failed");
    let rules = program.run(&["rules"]);
    assert!(rules.stdout.contains("touch made"), "{}", rules.stdout);
}

#[test]
fn an_option_that_was_not_offered_is_no_answer() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    let asked = editor.asked("session/request_permission");
    editor.choose(&asked, "outside");
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled", "the turn ends, and the question waits");
    assert!(!program.project().join("made").exists());
    checkpoint(&program);
}

#[test]
fn trust_is_a_permission() {
    let program = untrusted();
    program.provider.push(uses("read_file", &json!({"path": "hello.txt"})));
    program.provider.push(says("It greets."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "What is in hello.txt?");
    let asked = editor.asked("session/request_permission");
    let title = asked["params"]["toolCall"]["title"].as_str().expect("a title");
    assert!(title.contains(folder(&program).to_str().expect("a path")), "{title}");
    let options = asked["params"]["options"].as_array().expect("options");
    let kinds: Vec<&str> = options.iter().filter_map(|option| option["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_always", "reject_once"]);
    let option = options[0]["optionId"].as_str().expect("an ID").to_owned();
    editor.choose(&asked, &option);
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    let call = tool_call(&editor, "read");
    assert_eq!(call["status"], "completed");
    assert_eq!(call["locations"][0]["path"], json!(folder(&program).join("hello.txt")));
    assert!(program.run(&["rules"]).stdout.contains("trust"), "the rule is added");
}

#[test]
fn an_edit_is_a_diff_with_whole_texts_and_an_absolute_path() {
    let program = program();
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(says("Done."));
    let (mut editor, session) = open(&program, json!({}));
    let ended = editor.say(&session, "Change hello.txt to say hello there");
    assert_eq!(ended, "end_turn");
    let call = tool_call(&editor, "edit");
    assert_eq!(call["status"], "completed", "{call}");
    let path = folder(&program).join("hello.txt");
    let diff = json!({"type": "diff", "path": path, "oldText": "hello world\n", "newText": "hello there\n"});
    assert_eq!(call["content"], json!([diff]));
    assert_eq!(call["locations"], json!([{"path": path}]));
}

#[test]
fn an_edit_that_needs_approval_shows_its_diff_in_the_question() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(says("Done."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Change hello.txt to say hello there");
    let asked = editor.asked("session/request_permission");
    let content = asked["params"]["toolCall"]["content"].as_array().expect("content");
    assert!(content.iter().any(|part| part["type"] == "diff" && part["newText"] == "hello there\n"), "{content:?}");
    assert_eq!(std::fs::read_to_string(program.project().join("hello.txt")).expect("reads"), "hello world\n");
    editor.choose(&asked, "allow");
    editor.result(prompt);
    assert_eq!(std::fs::read_to_string(program.project().join("hello.txt")).expect("reads"), "hello there\n");
    let call = tool_call(&editor, "edit");
    assert_eq!(call["content"].as_array().map(Vec::len), Some(1), "the question is gone from the call: {call}");
}

#[test]
fn cancel_ends_a_running_prompt() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says("Never seen.").gated(&gate));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Think for long");
    program.provider.block_on(program.provider.wait_for_requests(1));
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");
    program.provider.push(says("Back."));
    assert_eq!(editor.say(&session, "Are you there?"), "end_turn");
}

#[test]
fn cancel_right_after_a_prompt_cancels_it() {
    let program = program();
    program.provider.always(Answer::silent());
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Think for long");
    editor.notify("$/cancel_request", json!({"requestId": prompt}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");
}

#[test]
fn cancel_at_a_permission_leaves_it_open_for_other_surfaces() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    let asked = editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");
    editor.wait_for("the request is withdrawn", |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == asked["id"]
    });
    editor.answer(&asked, json!({"outcome": {"outcome": "cancelled"}}));
    let open = checkpoint(&program);
    // An answer elsewhere is reflected here.
    let answering = program.spawn(&["answer", &open, "allow"]);
    wait_until("the words of the model", || editor.text("agent_message_chunk").contains("It is made."));
    answering.wait();
    assert!(program.project().join("made").exists());
    assert_eq!(tool_call(&editor, "execute")["status"], "completed");
}

#[test]
fn a_prompt_after_cancel_asks_again_and_a_second_cancel_ends_the_request() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");
    let prompt = editor.prompt(&session, "Be careful");
    editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");
    editor.notify("session/cancel", json!({"sessionId": session}));
    wait_until("the request ends", || program.run(&["checkpoints", "--json"]).stdout.is_empty());
    assert!(!program.project().join("made").exists());
    assert_eq!(program.provider.requests().len(), 1);
}

#[test]
fn an_answer_elsewhere_closes_the_question_here() {
    let program = program();
    program.provider.push(uses("run_command", &json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    let (mut editor, session) = open(&program, json!({}));
    let prompt = editor.prompt(&session, "Make it");
    let asked = editor.asked("session/request_permission");
    let answering = program.spawn(&["answer", &checkpoint(&program), "allow"]);
    editor.wait_for("the request is withdrawn", |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == asked["id"]
    });
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    answering.wait();
    // The late answer of the editor changes nothing.
    editor.choose(&asked, "never");
    editor.call("session/list", json!({}));
    assert!(!program.run(&["rules"]).stdout.contains("touch made"));
}

fn ask_which() -> Answer {
    uses("ask_user", &json!({"question": "Which database?", "options": ["SQLite", "PostgreSQL"]}))
}

/// What the model was told last.
fn last_message(program: &Program) -> String {
    let requests: Vec<Request> = program.provider.requests();
    let messages = requests.last().expect("a request").body["messages"].clone();
    messages.as_array().expect("messages").last().expect("one").to_string()
}

#[test]
fn a_question_is_a_form_where_the_editor_shows_forms() {
    let program = program();
    program.provider.push(ask_which());
    program.provider.push(says("SQLite it is."));
    let (mut editor, session) = open(&program, with_forms());
    let prompt = editor.prompt(&session, "Set up a database");
    let asked = editor.asked("elicitation/create");
    let form = &asked["params"];
    assert_eq!((&form["mode"], &form["sessionId"]), (&json!("form"), &json!(session)));
    assert!(form["message"].as_str().expect("a message").contains("Which database?"), "{form}");
    let choice = &form["requestedSchema"]["properties"]["choice"];
    assert_eq!(choice["oneOf"][0], json!({"const": "o1", "title": "SQLite"}), "{form}");
    editor.answer(&asked, json!({"action": "accept", "content": {"choice": "o1"}}));
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(last_message(&program).contains("SQLite"), "{}", last_message(&program));
}

#[test]
fn a_form_with_text_alone_answers_in_words_and_a_declined_one_waits() {
    let program = program();
    program.provider.push(ask_which());
    program.provider.push(says("MariaDB it is."));
    let (mut editor, session) = open(&program, with_forms());
    let prompt = editor.prompt(&session, "Set up a database");
    let asked = editor.asked("elicitation/create");
    editor.answer(&asked, json!({"action": "decline"}));
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    checkpoint(&program);
    // The next prompt that is no answer asks again.
    let prompt = editor.prompt(&session, "MariaDB");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(last_message(&program).contains("MariaDB"));
}

#[test]
fn without_forms_a_question_is_a_message_and_the_next_prompt_answers_it() {
    let program = program();
    program.provider.push(ask_which());
    let (mut editor, session) = open(&program, json!({}));
    assert_eq!(editor.say(&session, "Set up a database"), "end_turn");
    let text = editor.text("agent_message_chunk");
    assert!(text.contains("Which database?") && text.contains("1. SQLite (`o1`)"), "{text}");
    program.provider.push(says("PostgreSQL it is."));
    assert_eq!(editor.say(&session, "2"), "end_turn");
    assert!(last_message(&program).contains("PostgreSQL"), "{}", last_message(&program));
    assert!(editor.text("agent_message_chunk").contains("PostgreSQL it is."));
}

#[test]
fn a_plan_is_shown_approved_and_followed() {
    let program = program();
    program.provider.push(uses("propose_plan", &json!({"summary": "Two files.", "steps": ["Write a", "Write b"]})));
    let (mut editor, session) = open(&program, with_forms());
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    let prompt = editor.prompt(&session, "Write two files");
    let asked = editor.asked("elicitation/create");
    let plan = editor.updates("plan").pop().expect("a plan");
    let titles: Vec<&Value> =
        plan["entries"].as_array().expect("entries").iter().map(|entry| &entry["content"]).collect();
    assert_eq!(titles, ["Write a", "Write b"]);
    assert!(asked["params"]["message"].as_str().expect("a message").contains("Two files."));
    for (step, path) in [("s1", "a"), ("s2", "b")] {
        program.provider.push(uses("write_file", &json!({"path": path, "content": step})));
        program.provider.push(says("Done."));
    }
    program.provider.always(says("Done."));
    editor.answer(&asked, json!({"action": "accept", "content": {"choice": "approve"}}));
    while !editor.is_answered(prompt) {
        let open = editor.messages().into_iter().filter(|message| message["method"] == "elicitation/create").count();
        if open > 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let statuses = |plan: &Value| {
        let entries = plan["entries"].as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["status"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let plans = editor.updates("plan");
    assert!(plans.iter().any(|plan| statuses(plan).contains(&"in_progress".to_owned())), "{plans:?}");
    assert!(plans.iter().any(|plan| statuses(plan).contains(&"completed".to_owned())), "{plans:?}");
}

#[test]
fn a_session_is_listed_loaded_resumed_closed_and_deleted() {
    let program = program();
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(Answer::anthropic(Reply::new().thinking(["Hm."], "sig").text(["Done."])));
    let (mut editor, session) = open(&program, json!({}));
    editor.say(&session, "Change hello.txt to say hello there");
    editor.close();

    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let listed = editor.call("session/list", json!({"cwd": folder(&program)}));
    let row = &listed["sessions"][0];
    assert_eq!((&row["sessionId"], &row["cwd"]), (&json!(session), &json!(folder(&program))));
    assert!(row["title"].is_string() && row["updatedAt"].as_str().is_some_and(|time| time.ends_with('Z')), "{row}");
    assert!(listed.get("nextCursor").is_none());
    let elsewhere = editor.call("session/list", json!({"cwd": program.home()}));
    assert_eq!(elsewhere["sessions"], json!([]));

    let parent = folder(&program).parent().expect("a parent").to_owned();
    let other = editor.refused("session/load", json!({"sessionId": session, "cwd": parent, "mcpServers": []}));
    assert_eq!(other["code"], -32602);
    assert!(other["message"].as_str().expect("words").contains("belongs to the folder"), "{other}");

    let loaded = json!({"sessionId": session, "cwd": folder(&program), "mcpServers": []});
    let answer = editor.call("session/load", loaded.clone());
    assert_eq!(answer["modes"]["currentModeId"], "auto");
    assert_eq!(editor.text("user_message_chunk"), "Change hello.txt to say hello there");
    assert_eq!(editor.text("agent_thought_chunk"), "Hm.");
    assert_eq!(editor.text("agent_message_chunk").trim(), "Done.");
    let call = tool_call(&editor, "edit");
    assert_eq!((&call["status"], &call["content"][0]["newText"]), (&json!("completed"), &json!("hello there\n")));
    let order: Vec<String> = editor
        .messages()
        .iter()
        .filter_map(|message| message["params"]["update"]["sessionUpdate"].as_str().map(str::to_owned))
        .collect();
    let at = |kind: &str| order.iter().position(|known| known == kind).expect("it is there");
    assert!(at("user_message_chunk") < at("tool_call") && at("tool_call") < at("agent_thought_chunk"), "{order:?}");
    assert!(at("agent_thought_chunk") < at("agent_message_chunk"), "{order:?}");

    let before = editor.messages().len();
    editor.call("session/resume", json!({"sessionId": session, "cwd": folder(&program)}));
    let after: Vec<Value> = editor.messages().split_off(before);
    assert!(after.iter().all(|message| message["params"]["update"]["sessionUpdate"] != "user_message_chunk"));
    program.provider.push(says("Again."));
    assert_eq!(editor.say(&session, "Once more"), "end_turn");

    editor.call("session/close", json!({"sessionId": session}));
    let closed = editor.refused("session/prompt", json!({"sessionId": session, "prompt": []}));
    assert!(closed["message"].as_str().expect("words").contains("is not open"), "{closed}");
    editor.call("session/delete", json!({"sessionId": session}));
    let listed = editor.call("session/list", json!({}));
    assert_eq!(listed["sessions"], json!([]));
    assert_eq!(editor.refused("session/load", loaded)["code"], -32002);
}

#[test]
fn mode_model_and_effort_are_options_and_reach_the_request() {
    let mut program = program();
    program.set("TRIMTAB_MODEL", "anthropic/claude-sonnet-4-5");
    program.set("TRIMTAB_MODELS_VISION", "anthropic/claude-haiku-4-5");
    program.provider.always(says("Hello."));
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let opened = editor.call("session/new", json!({"cwd": folder(&program), "mcpServers": []}));
    let session = opened["sessionId"].as_str().expect("an ID").to_owned();
    let options = opened["configOptions"].as_array().expect("options");
    let value =
        |id: &str| options.iter().find(|option| option["id"] == id).map(|option| option["currentValue"].clone());
    assert_eq!(value("mode"), Some(json!("auto")));
    assert_eq!(value("model"), Some(json!("anthropic/claude-sonnet-4-5")));
    assert_eq!(value("effort"), Some(json!("auto")));
    let set = |editor: &mut Editor, id: &str, value: &str| {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        editor.call("session/set_config_option", params)
    };
    assert_eq!(value("autonomy"), Some(json!("standard")));
    let answer = set(&mut editor, "autonomy", "careful");
    assert!(answer["configOptions"].to_string().contains(r#""currentValue":"careful""#), "{answer}");
    let wrong = json!({"sessionId": session, "configId": "autonomy", "value": "yolo"});
    assert_eq!(editor.refused("session/set_config_option", wrong)["code"], -32602);
    assert_eq!(editor.say(&session, "/autonomy standard"), "end_turn");
    let answer = set(&mut editor, "model", "anthropic/claude-haiku-4-5");
    assert!(answer["configOptions"].to_string().contains(r#""currentValue":"anthropic/claude-haiku-4-5""#), "{answer}");
    set(&mut editor, "mode", "chat");
    assert_eq!(editor.updates("current_mode_update").pop().expect("an update")["currentModeId"], "chat");
    editor.say(&session, "Say hello");
    let request = program.provider.requests().pop().expect("a request");
    assert_eq!(request.body["model"], "claude-haiku-4-5");
    assert!(request.body.get("tools").is_none(), "chat has no tools");
    let wrong =
        editor.refused("session/set_config_option", json!({"sessionId": session, "configId": "mode", "value": "x"}));
    assert_eq!(wrong["code"], -32602);
    let wrong = editor.refused("session/set_mode", json!({"sessionId": session, "modeId": "x"}));
    assert_eq!(wrong["code"], -32602);
    assert_eq!(editor.say(&session, "/model anthropic/claude-opus-4-5"), "end_turn");
    editor.say(&session, "Say hello");
    assert_eq!(program.provider.requests().pop().expect("a request").body["model"], "claude-opus-4-5");
}

#[test]
fn slash_commands_undo_and_redo() {
    let program = program();
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(says("Done."));
    let (mut editor, session) = open(&program, json!({}));
    editor.say(&session, "Change hello.txt to say hello there");
    let text = || std::fs::read_to_string(program.project().join("hello.txt")).expect("reads");
    assert_eq!(editor.say(&session, "/changes"), "end_turn");
    assert!(
        editor.text("agent_message_chunk").contains("#1 1 file (+1 −1): hello.txt"),
        "{}",
        editor.text("agent_message_chunk")
    );
    assert_eq!(editor.say(&session, "/rewind"), "end_turn");
    assert_eq!(text(), "hello world\n");
    assert!(editor.text("agent_message_chunk").contains("Undid hello.txt."));
    assert_eq!(editor.say(&session, "/rewind"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("There is nothing to undo."));
    assert_eq!(editor.say(&session, "/forward 1"), "end_turn");
    assert_eq!(text(), "hello there\n");
    assert_eq!(program.provider.requests().len(), 2, "no command calls the model");
}

#[test]
fn images_and_embedded_files_reach_the_model() {
    let program = program();
    program.provider.push(says("I see."));
    let (mut editor, session) = open(&program, json!({}));
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let uri = format!("file://{}", folder(&program).join("notes.md").display());
    let prompt = json!([
        {"type": "text", "text": "Compare"},
        {"type": "image", "data": image, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": uri, "text": "the embedded words", "mimeType": "text/markdown"}},
    ]);
    let id = editor.request("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(editor.result(id)["stopReason"], "end_turn");
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains(image) && sent.contains("image/png"), "{sent}");
    assert!(sent.contains("Content of notes.md") && sent.contains("the embedded words"), "{sent}");
}

#[test]
fn a_prompt_while_another_runs_steers_it_and_both_end() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(uses("read_file", &json!({"path": "hello.txt"})).gated(&gate));
    program.provider.push(says("In French: bonjour."));
    let (mut editor, session) = open(&program, json!({}));
    let first = editor.prompt(&session, "Translate hello.txt");
    program.provider.block_on(program.provider.wait_for_requests(1));
    let second = editor.prompt(&session, "Into French");
    wait_until("the text is recorded", || {
        let shown = program.run(&["sessions", "show", &session]).stdout;
        shown.contains("Into French")
    });
    gate.open();
    assert_eq!(editor.result(first)["stopReason"], "end_turn");
    assert_eq!(editor.result(second)["stopReason"], "end_turn");
    assert!(program.provider.requests()[1].body["messages"].to_string().contains("Into French"));
    assert!(editor.updates("user_message_chunk").is_empty(), "the editor shows both already");
}

#[test]
fn a_message_from_elsewhere_is_shown() {
    let program = program();
    program.provider.push(says("Hello."));
    program.provider.push(says("Hello to you as well."));
    let (mut editor, session) = open(&program, json!({}));
    editor.say(&session, "Say hello");
    let run = program.run(&["run", "--session", &session, "From the terminal"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    wait_until("the message", || editor.text("user_message_chunk") == "From the terminal");
    wait_until("the answer", || editor.text("agent_message_chunk").contains("Hello to you as well."));
}

#[test]
fn what_cannot_be_used_is_refused_with_its_reason() {
    let program = program();
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let server = json!([{"type": "sse", "name": "github", "url": "https://example.org/sse", "headers": []}]);
    editor.call("session/new", json!({"cwd": folder(&program), "mcpServers": server, "additionalDirectories": null}));
    wait_until("the notice", || editor.text("agent_message_chunk").contains("MCP server github is not used"));
    // Entries that the protocol's types would drop silently.
    let refused = editor.refused("session/new", json!({"cwd": folder(&program), "mcpServers": [{"odd": 1}]}));
    assert_eq!(refused["code"], -32602, "{refused}");
    let empty = json!([{"name": "empty", "command": "", "args": [], "env": []}]);
    editor.call("session/new", json!({"cwd": folder(&program), "mcpServers": empty}));
    wait_until("the notice", || editor.text("agent_message_chunk").contains("empty is not used: it has no command"));
    for cwd in [json!("relative"), json!("/no/such/folder"), json!(folder(&program).join("hello.txt")), json!(7)] {
        assert_eq!(editor.refused("session/new", json!({"cwd": cwd, "mcpServers": []}))["code"], -32602);
    }
    let more = json!({"cwd": folder(&program), "mcpServers": [], "additionalDirectories": ["/tmp"]});
    assert_eq!(editor.refused("session/new", more)["code"], -32602);
    let unknown = json!({"sessionId": "s01kabcdefghjkmnp", "cwd": folder(&program), "mcpServers": []});
    assert_eq!(editor.refused("session/load", unknown)["code"], -32002);
    let odd = json!({"sessionId": "../etc", "cwd": folder(&program), "mcpServers": []});
    assert_eq!(editor.refused("session/load", odd)["code"], -32602);
    assert_eq!(editor.refused("session/fork", json!({}))["code"], -32601);
    assert_eq!(editor.refused("authenticate", json!({"methodId": "x"}))["code"], -32602);
}

#[test]
fn without_a_model_the_editor_learns_how_to_set_one_up() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    let mut editor = Editor::start(&program);
    editor.initialize(json!({"auth": {"terminal": true}}));
    let refused = editor.refused("session/new", json!({"cwd": folder(&program), "mcpServers": []}));
    assert_eq!(refused["code"], -32000, "{refused}");
    assert!(refused["message"].as_str().expect("words").contains("No model is set up."), "{refused}");
}

/// Answers the editor's reads with this text until a prompt is answered; how often it was asked.
fn serve_buffer(editor: &mut Editor, prompt: i64, text: &str, choices: &[&str]) -> Vec<Value> {
    let is_old = |message: &Value| message["method"] == "session/request_permission" && choices.is_empty();
    let old = editor.messages().into_iter().filter(is_old).map(|message| message["id"].clone());
    let (mut answered, mut permissions) = (old.collect::<Vec<Value>>(), Vec::new());
    let began = Instant::now();
    while !editor.is_answered(prompt) {
        assert!(began.elapsed() < Duration::from_secs(60), "{:#?}", editor.messages());
        for message in editor.messages() {
            if answered.contains(&message["id"]) || message.get("method").is_none() {
                continue;
            }
            if message["method"] == "fs/read_text_file" {
                answered.push(message["id"].clone());
                editor.answer(&message, json!({"content": text}));
            } else if message["method"] == "session/request_permission" {
                answered.push(message["id"].clone());
                let choice = choices[permissions.len()];
                permissions.push(message.clone());
                editor.choose(&message, choice);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    permissions
}

fn with_buffers() -> Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}})
}

#[test]
fn an_edit_of_an_unsaved_buffer_asks_and_is_made_on_the_text_of_the_buffer() {
    let program = program();
    program.provider.push(uses("read_file", &json!({"path": "hello.txt"})));
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(says("Done."));
    let (mut editor, session) = open(&program, with_buffers());
    let prompt = editor.prompt(&session, "Change hello.txt to say hello there");
    let unsaved = "hello world\nmy unsaved line\n";
    let asked = serve_buffer(&mut editor, prompt, unsaved, &["allow"]);
    assert_eq!(asked.len(), 1, "{asked:?}");
    let question = asked[0]["params"]["toolCall"]["content"].to_string();
    assert!(question.contains("hello.txt has unsaved changes in your editor"), "{question}");
    let options = asked[0]["params"]["options"].to_string();
    assert!(!options.contains("allow_always"), "no rule speaks for unsaved changes: {options}");
    let seen = program.provider.requests()[1].body["messages"].to_string();
    assert!(seen.contains("my unsaved line"), "the model reads the buffer: {seen}");
    let text = || std::fs::read_to_string(program.project().join("hello.txt")).expect("reads");
    assert_eq!(text(), "hello there\nmy unsaved line\n");
    let wrote = editor.messages().into_iter().any(|message| message["method"] == "fs/write_text_file");
    assert!(!wrote, "files stay Trimtab's own");
    // Undo restores what was on the disk.
    let undo = editor.prompt(&session, "/rewind");
    serve_buffer(&mut editor, undo, "hello there\nmy unsaved line\n", &[]);
    assert_eq!(text(), "hello world\n");
}

#[test]
fn a_session_that_is_loaded_right_after_it_was_closed_still_has_its_buffers() {
    let program = program();
    let (mut editor, session) = open(&program, with_buffers());
    for _ in 0..5 {
        editor.request("session/close", json!({"sessionId": session}));
        editor.call("session/load", json!({"sessionId": session, "cwd": folder(&program), "mcpServers": []}));
    }
    program.provider.push(uses("read_file", &json!({"path": "hello.txt"})));
    program.provider.push(says("Read."));
    let prompt = editor.prompt(&session, "Read hello.txt");
    serve_buffer(&mut editor, prompt, "hello world\nmy unsaved line\n", &[]);
    let seen = program.provider.requests()[1].body["messages"].to_string();
    assert!(seen.contains("my unsaved line"), "{seen}");
}

#[test]
fn a_rejected_edit_of_an_unsaved_buffer_leaves_the_file_alone() {
    let program = program();
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(says("Then not."));
    let (mut editor, session) = open(&program, with_buffers());
    let prompt = editor.prompt(&session, "Change hello.txt to say hello there");
    let asked = serve_buffer(&mut editor, prompt, "hello world\nmine\n", &["never"]);
    assert_eq!(asked.len(), 1);
    assert_eq!(std::fs::read_to_string(program.project().join("hello.txt")).expect("reads"), "hello world\n");
}

#[test]
fn a_saved_buffer_is_edited_without_a_question() {
    let program = program();
    let edit = json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]});
    program.provider.push(uses("edit_file", &edit));
    program.provider.push(says("Done."));
    let (mut editor, session) = open(&program, with_buffers());
    let prompt = editor.prompt(&session, "Change hello.txt to say hello there");
    // Some editors leave out the last line end.
    let asked = serve_buffer(&mut editor, prompt, "hello world", &[]);
    assert!(asked.is_empty());
    assert_eq!(std::fs::read_to_string(program.project().join("hello.txt")).expect("reads"), "hello there\n");
}

/// A plan of two sub-tasks, and workers that write a file each.
fn crew() -> Program {
    let program = program();
    let task = |title: &str| {
        json!({"title": title, "instruction": format!("TASK {title}: do it"), "files": [format!("{title}.txt")],
            "depends_on": [], "kind": "reasoning", "each": false})
    };
    let plan = json!({"thought": "", "tasks": [task("left"), task("right")]}).to_string();
    program.provider.answer_with(move |request| {
        let body = request.body.to_string();
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let is_first = !messages.iter().any(|message| message["role"] == "assistant");
        let worker = ["left", "right"].into_iter().find(|name| body.contains(&format!("TASK {name}:")));
        match worker {
            _ if body.contains("You break a request about") => says(&plan),
            Some(name) if is_first => {
                uses("write_file", &json!({"path": format!("{name}.txt"), "content": format!("{name}\n")}))
            }
            _ => says("Done."),
        }
    });
    program
}

#[test]
fn each_sub_task_is_a_tool_call_and_the_merge_is_approved_in_the_editor() {
    let program = crew();
    let (mut editor, session) = open(&program, with_forms());
    let prompt = editor.prompt(&session, "/subtasks Write left.txt and right.txt");
    let (mut answered, began) = (Vec::new(), Instant::now());
    while !editor.is_answered(prompt) {
        assert!(began.elapsed() < Duration::from_secs(60), "{:#?}", editor.messages());
        for message in editor.messages() {
            if answered.contains(&message["id"]) || message.get("method").is_none() || message.get("id").is_none() {
                continue;
            }
            answered.push(message["id"].clone());
            if message["method"] == "elicitation/create" {
                let options = message["params"]["requestedSchema"]["properties"]["choice"]["oneOf"].clone();
                let ids: Vec<&str> =
                    options.as_array().into_iter().flatten().filter_map(|one| one["const"].as_str()).collect();
                let wanted = ["decide", "start_a", "satisfied"].into_iter().find(|id| ids.contains(id));
                let wanted = wanted.unwrap_or_else(|| panic!("{ids:?}"));
                editor.answer(&message, json!({"action": "accept", "content": {"choice": wanted}}));
            } else {
                editor.choose(&message, "allow");
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    for name in ["left", "right"] {
        let text = std::fs::read_to_string(program.project().join(format!("{name}.txt"))).expect("merged");
        assert_eq!(text, format!("{name}\n"));
    }
    let calls = editor.updates("tool_call");
    let workers: Vec<&Value> =
        calls.iter().filter(|call| call["toolCallId"].as_str().is_some_and(|id| id.starts_with("subtask-"))).collect();
    assert_eq!(workers.len(), 2, "{calls:?}");
    for worker in workers {
        let updates = editor.updates("tool_call_update");
        let last = updates.iter().rfind(|update| update["toolCallId"] == worker["toolCallId"]).expect("an update");
        assert_eq!(last["status"], "completed", "{last}");
    }
}
