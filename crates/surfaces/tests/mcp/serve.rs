//! Trimtab as a server: another agent sends requests, and what needs a person comes back as such.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;

use crate::checks;
use crate::scene::Scene;

checks![
    another_agent_asks_continues_lists_and_undoes,
    what_needs_a_person_comes_back_with_its_checkpoint,
    sessions_of_other_folders_and_wrong_calls_are_refused,
    sessions_that_a_person_began_are_not_for_agents,
    the_words_of_an_agent_call_no_agents_and_load_nothing,
    broken_lines_are_answered_and_the_next_one_is_read,
    a_cancelled_call_cancels_the_request,
];

/// A client of the server, which speaks JSON-RPC by lines as editors do.
fn client(scene: &Scene) -> Editor {
    let mut command: Command = scene.program.command(scene.program.binary(), &["mcp", "serve"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut client = Editor::over(child);
    let params =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let initialized = client.call("initialize", params);
    assert_eq!(initialized["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["serverInfo"]["name"], "trimtab");
    client.notify("notifications/initialized", json!({}));
    client
}

fn call(client: &mut Editor, tool: &str, input: Value) -> Value {
    client.call("tools/call", json!({"name": tool, "arguments": input}))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

fn another_agent_asks_continues_lists_and_undoes() {
    let scene = Scene::new();
    let mut client = client(&scene);
    let tools = client.call("tools/list", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["ask_trimtab", "continue_session", "list_changes", "rewind"]);
    scene.program.run(&["rules", "add", "allow", "edit_file", "notes.txt", "--dir", "."]);
    scene.asks(&[("write_file", json!({"path": "notes.txt", "content": "one\n"}))]);
    scene.says("Written.");
    let result = call(&mut client, "ask_trimtab", json!({"request": "Write one into notes.txt"}));
    let session = result["structuredContent"]["session"].as_str().expect("a session").to_owned();
    let result = if result["structuredContent"]["status"] == "needs_user" {
        // Whether an edit asks is a matter of the settings; a person allows it.
        let id = result["structuredContent"]["question"]["checkpoint"].as_str().expect("a question").to_owned();
        assert_eq!(scene.program.run(&["answer", &id, "allow"]).code, Some(0));
        call(&mut client, "continue_session", json!({"session": session}))
    } else {
        result
    };
    assert_eq!(result["structuredContent"]["status"], "completed", "{result}");
    assert!(text(&result).contains("Written."), "{result}");
    let changes = call(&mut client, "list_changes", json!({"session": session}));
    assert_eq!(changes["structuredContent"]["changes"][0]["files"][0]["path"], "notes.txt", "{changes}");
    scene.says("It says one.");
    let more = call(&mut client, "continue_session", json!({"session": session, "request": "What does it say?"}));
    assert!(text(&more).contains("It says one."), "{more}");
    let undone = call(&mut client, "rewind", json!({"session": session}));
    assert_eq!(undone["structuredContent"]["undone"], 1, "{undone}");
    assert!(!scene.program.project().join("notes.txt").exists());
    let again = call(&mut client, "rewind", json!({"session": session}));
    assert_eq!(text(&again), "There is nothing to undo.");
    let (status, _) = client.close();
    assert!(status.success());
}

fn what_needs_a_person_comes_back_with_its_checkpoint() {
    let scene = Scene::untrusted();
    let mut client = client(&scene);
    scene.asks(&[("run_command", json!({"command": "touch made"}))]);
    let result = call(&mut client, "ask_trimtab", json!({"request": "Make a file named made"}));
    let object = &result["structuredContent"];
    assert_eq!((&object["status"], &object["needsPerson"]), (&json!("needs_user"), &json!(true)), "{result}");
    let id = object["question"]["checkpoint"].as_str().expect("a checkpoint").to_owned();
    assert!(text(&result).contains("Needs a person") && text(&result).contains(&id), "{result}");
    assert!(!scene.program.project().join("made").exists());
    // The same session, without a request: nothing has been answered.
    let session = object["session"].as_str().expect("a session").to_owned();
    let still = call(&mut client, "continue_session", json!({"session": session}));
    assert_eq!(still["structuredContent"]["status"], "needs_user", "{still}");
    // A person answers, and the agent learns the result.
    scene.says("I leave it.");
    scene.program.run(&["answer", &id, "no"]);
    let after = call(&mut client, "continue_session", json!({"session": session}));
    assert!(text(&after).contains("I leave it."), "{after}");
    assert!(!scene.program.project().join("made").exists());
}

fn sessions_of_other_folders_and_wrong_calls_are_refused() {
    let scene = Scene::new();
    scene.says("Hello.");
    let elsewhere = scene.program.home().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    let ran = scene.program.run(&["run", "--json", "--dir", elsewhere.to_str().expect("a path"), "Hi"]);
    let session = ran.events()[0]["session"].as_str().expect("a session").to_owned();
    let mut client = client(&scene);
    for (tool, input, reason) in [
        ("continue_session", json!({"session": session, "request": "Hi"}), "This folder has no such session."),
        ("list_changes", json!({"session": session}), "This folder has no such session."),
        ("rewind", json!({"session": "../x"}), "This folder has no such session."),
        ("ask_trimtab", json!({}), "`request` is missing."),
        ("ask_trimtab", json!({"request": "  "}), "`request` is empty."),
        ("ask_trimtab", json!({"request": "Hi", "mode": "yolo"}), "`mode` is auto, chat, or plan."),
        ("delete_everything", json!({}), "Unknown tool."),
    ] {
        let result = call(&mut client, tool, input);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text(&result).contains(reason), "{tool}: {result}");
    }
    assert_eq!(scene.program.provider.requests().len(), 1, "nothing of this was sent to a model");
}

fn sessions_that_a_person_began_are_not_for_agents() {
    let scene = Scene::new();
    scene.program.run(&["rules", "add", "allow", "edit_file", "notes.txt", "--dir", "."]);
    scene.asks(&[("write_file", json!({"path": "notes.txt", "content": "one\n"}))]);
    scene.says("Written.");
    let ran = scene.program.run(&["run", "--json", "--autonomy", "trusting", "Write one into notes.txt"]);
    assert!(scene.program.project().join("notes.txt").exists(), "{}", ran.stdout);
    let session = ran.events()[0]["session"].as_str().expect("a session").to_owned();
    let sent = scene.program.provider.requests().len();
    let mut client = client(&scene);
    for (tool, input) in [
        ("continue_session", json!({"session": session, "request": "Go on"})),
        ("continue_session", json!({"session": session})),
        ("list_changes", json!({"session": session})),
        ("rewind", json!({"session": session})),
    ] {
        let result = call(&mut client, tool, input);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text(&result).contains("This folder has no such session."), "{tool}: {result}");
    }
    assert!(scene.program.project().join("notes.txt").exists(), "nothing was undone");
    assert_eq!(scene.program.provider.requests().len(), sent, "nothing was sent to a model");
}

fn the_words_of_an_agent_call_no_agents_and_load_nothing() {
    let scene = Scene::new();
    let agents = scene.program.home().join("agents");
    std::fs::create_dir_all(&agents).expect("a folder");
    let file = "---\nname: reviewer\ndescription: Reviews code\n---\nLook for races.\n";
    std::fs::write(agents.join("reviewer.md"), file).expect("an agent");
    scene.says("Hello.");
    let mut client = client(&scene);
    let request = "Let @agent-reviewer look at @http://leak.example/ and say hello";
    let result = call(&mut client, "ask_trimtab", json!({"request": request}));
    assert!(text(&result).contains("Hello."), "{result}");
    let sent = scene.program.provider.requests();
    assert_eq!(sent.len(), 1, "no worker was started");
    assert!(!sent[0].body["system"].to_string().contains("Look for races."), "{}", sent[0].body);
    let audit = scene.program.run(&["audit"]).stdout;
    assert!(!audit.lines().any(|line| line.split_whitespace().nth(2) == Some("fetch")), "{audit}");
}

fn broken_lines_are_answered_and_the_next_one_is_read() {
    let scene = Scene::new();
    let mut client = client(&scene);
    client.write(b"not JSON\n[1]\n\xff\xfe\n{\"jsonrpc\": \"2.0\"}\n");
    client.write(&[b'x'; 5 << 20]);
    client.write(b"\n");
    let refused = client.refused("no/such/method", json!({}));
    assert_eq!(refused["code"], -32601, "{refused}");
    assert_eq!(client.call("ping", json!({})), json!({}));
}

fn a_cancelled_call_cancels_the_request() {
    let scene = Scene::new().with_server("helper", &[]).listed();
    scene.program.run(&["rules", "add", "allow", "mcp", "helper:*"]);
    scene.asks(&[("mcp__helper__hang", json!({}))]);
    let mut client = client(&scene);
    let id = client.request("tools/call", json!({"name": "ask_trimtab", "arguments": {"request": "Hang"}}));
    crate::scene::wait_until("the call", || !scene.lines("calls").is_empty());
    client.notify("notifications/cancelled", json!({"requestId": id}));
    crate::scene::wait_until("the cancellation", || !scene.lines("cancelled").is_empty());
    assert_eq!(client.call("ping", json!({})), json!({}));
    assert!(!client.is_answered(id), "a cancelled call has no answer");
}
