//! The scenes that each client plays, and what it must have been shown in each.

use std::path::Path;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;

pub(crate) const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Everything that a client does. Answers are kinds of options, and choices of forms.
pub(crate) fn play(folder: &Path, has_forms: bool, server: &Path, calls: &Path) -> Value {
    let says = |name: &str, text: &str, answers: &[&str]| json!({"name": name, "do": "prompt", "text": text, "answers": answers});
    let sets_mode = |name: &str, value: &str| json!({"name": name, "do": "mode", "value": value});
    let does = |name: &str| json!({"name": name, "do": name});
    let resource = json!({"uri": format!("file://{}/notes.md", folder.display()), "text": "embedded words"});
    let content = json!([
        {"type": "text", "text": "say hello to"},
        {"type": "image", "data": IMAGE, "mimeType": "image/png"},
        {"type": "resource", "resource": resource},
    ]);
    // Who rejects once is asked what to do instead: in a form, or in a message that the next prompt answers.
    let rejection: &[&str] = if has_forms { &["reject_once", "stop"] } else { &["reject_once"] };
    let mut scenes = vec![
        json!({"name": "content", "do": "prompt", "blocks": content}),
        says("allow once", "run it", &["allow_once"]),
        says("allow always", "keep it", &["allow_always"]),
        says("allowed by rule", "keep it", &[]),
        says("reject once", "remove it", rejection),
        says("stop", "2", &[]),
        says("reject always", "drop it", &["reject_always"]),
        says("rejected by rule", "drop it", &[]),
        says("edit", "edit it", &[]),
        says("changes", "/changes", &[]),
        says("undo", "/rewind", &[]),
    ];
    if has_forms {
        scenes.retain(|scene| scene["name"] != "stop");
    }
    let asked = |scenes: &mut Vec<Value>, name: &str, text: &str, answers: &[(&str, &str)]| {
        if has_forms {
            let choices: Vec<&str> = answers.iter().map(|(choice, _)| *choice).collect();
            return scenes.push(says(name, text, &choices));
        }
        scenes.push(says(name, text, &[]));
        for (at, (_, number)) in answers.iter().enumerate() {
            scenes.push(says(&format!("{name} answer {}", at + 1), number, &[]));
        }
    };
    asked(&mut scenes, "question", "ask me", &[("o1", "1")]);
    scenes.push(sets_mode("plan mode", "plan"));
    asked(&mut scenes, "plan", "plan it", &[("approve", "approve")]);
    scenes.push(sets_mode("auto mode", "auto"));
    asked(&mut scenes, "subtasks", "/subtasks Write left.txt and right.txt", &[("start_a", "start_a")]);
    scenes.extend([
        says("approve server", "/mcp enable helper", &[]),
        says("use server", "use the helper", &["allow_once"]),
        json!({"name": "cancel", "do": "cancel", "text": "be slow"}),
        json!({"name": "model", "do": "option", "id": "model", "value": "anthropic/claude-haiku-4-5"}),
        does("list"),
        does("close"),
        does("load"),
        says("after load", "say hello", &[]),
        does("resume"),
        says("after resume", "say hello", &[]),
    ]);
    let server = json!({"name": "helper", "command": "node", "args": [server, calls], "env": []});
    let state = calls.with_file_name("acpx-state");
    json!({"forms": has_forms, "servers": [server], "state": state, "scenes": scenes})
}

/// What a client has seen, scene by scene.
pub(crate) struct Shown(Value);

impl Shown {
    pub(crate) fn read(line: &str) -> Self {
        Self(serde_json::from_str(line).expect("JSON"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0["scenes"].as_array().into_iter().flatten().any(|scene| scene["name"] == name)
    }

    #[track_caller]
    pub(crate) fn scene(&self, name: &str) -> &Value {
        let scenes = self.0["scenes"].as_array().expect("scenes");
        scenes.iter().find(|scene| scene["name"] == name).unwrap_or_else(|| panic!("{name}: {:#}", self.0))
    }

    /// A scene that ended its turn, and whose words have this part.
    #[track_caller]
    fn ended(&self, name: &str, part: &str) -> &Value {
        let scene = self.scene(name);
        assert_eq!(scene["result"], "end_turn", "{name}: {scene:#}");
        assert_eq!(scene["unasked"], json!([]), "{name}: not everything was asked: {scene:#}");
        assert!(scene["text"].as_str().expect("text").contains(part), "{name} has no \"{part}\": {scene:#}");
        scene
    }
}

fn count(scene: &Value, field: &str) -> usize {
    scene[field].as_array().map_or(0, Vec::len)
}

/// The statuses of the tool calls whose ID or kind is this.
fn statuses(scene: &Value, what: &str) -> Vec<String> {
    let calls = scene["calls"].as_object().cloned().unwrap_or_default();
    let is_it = |(id, call): &(&String, &Value)| id.starts_with(what) || call["kind"] == what;
    calls.iter().filter(is_it).map(|(_, call)| call["status"].as_str().unwrap_or_default().to_owned()).collect()
}

pub(crate) fn check_scenes(program: &Program, shown: &Shown, has_forms: bool) {
    let content = shown.ended("content", "Hello.");
    assert!(content["commands"].as_array().expect("commands").contains(&json!("rewind")), "{content:#}");
    check_permissions(program, shown, has_forms);
    let edit = shown.ended("edit", "Finished: edit it.");
    assert_eq!(statuses(edit, "edit"), ["completed"], "{edit:#}");
    shown.ended("changes", "hello.txt");
    shown.ended("undo", "Undid hello.txt.");
    let text = std::fs::read_to_string(program.project().join("hello.txt")).expect("reads");
    assert_eq!(text, "hello world\n", "the edit was undone");
    check_questions(program, shown, has_forms);
    shown.ended("approve server", "Approved helper as shown");
    let used = shown.ended("use server", "Finished: use the helper.");
    assert_eq!(count(used, "permissions"), 1, "{used:#}");
    assert_eq!(shown.scene("cancel")["result"], "cancelled");
    assert_eq!(shown.scene("model")["result"], "anthropic/claude-haiku-4-5");
    let load = shown.scene("load");
    assert_eq!(load["result"], "loaded");
    if shown.has("list") {
        for words in ["run it", "ask me", "plan it"] {
            assert!(load["user"].as_str().expect("text").contains(words), "{words}: {load:#}");
        }
        assert!(load["text"].as_str().expect("text").contains("Finished: use the helper."), "{load:#}");
        assert_eq!(shown.scene("resume")["user"], "", "nothing is told again");
    }
    shown.ended("after load", "Hello.");
    assert_eq!(shown.scene("resume")["result"], "resumed");
    shown.ended("after resume", "Hello.");
}

fn check_permissions(program: &Program, shown: &Shown, has_forms: bool) {
    let allowed = shown.ended("allow once", "Finished: run it.");
    let kinds = json!(["allow_once", "allow_always", "reject_once", "reject_always"]);
    assert_eq!(allowed["permissions"][0]["kinds"], kinds, "{allowed:#}");
    assert_eq!(statuses(allowed, "execute"), ["completed"]);
    assert!(program.project().join("made").exists(), "it was allowed once, and its removal was rejected");
    assert_eq!(count(shown.ended("allow always", "Finished: keep it."), "permissions"), 1);
    let by_rule = shown.ended("allowed by rule", "Finished: keep it.");
    assert_eq!(count(by_rule, "permissions"), 0, "{by_rule:#}");
    assert_eq!(statuses(by_rule, "execute"), ["completed"]);
    let rejected = shown.scene("reject once");
    assert_eq!((count(rejected, "permissions"), statuses(rejected, "execute")), (1, vec!["failed".to_owned()]));
    let stopped = shown.scene(if has_forms { "reject once" } else { "stop" });
    assert_eq!(stopped["result"], "cancelled", "{stopped:#}");
    let rejected = shown.ended("reject always", "Finished: drop it.");
    assert_eq!((count(rejected, "permissions"), statuses(rejected, "execute")), (1, vec!["failed".to_owned()]));
    let by_rule = shown.ended("rejected by rule", "Finished: drop it.");
    assert_eq!((count(by_rule, "permissions"), statuses(by_rule, "execute")), (0, vec!["failed".to_owned()]));
    assert!(program.project().join("kept").exists());
}

fn check_questions(program: &Program, shown: &Shown, has_forms: bool) {
    let last = |name: &str, answers: usize| match has_forms {
        true => name.to_owned(),
        false => format!("{name} answer {answers}"),
    };
    shown.ended(&last("question", 1), "Finished: ask me.");
    if has_forms {
        assert_eq!(count(shown.scene("question"), "forms"), 1);
    } else {
        assert_eq!(count(shown.ended("question", "Which one?"), "forms"), 0);
    }
    let plan = shown.ended("plan", "");
    assert_eq!(plan["plans"][0], json!(["pending Look", "pending Think"]), "{plan:#}");
    let followed = shown.ended(&last("plan", 1), "Finished: plan it.\n\nFinished: plan it.");
    let plans = followed["plans"].to_string();
    assert!(plans.contains("in_progress Look") && plans.contains("completed Think"), "{followed:#}");
    let ran = shown.ended(&last("subtasks", 1), "");
    assert_eq!(statuses(ran, "subtask-"), ["completed", "completed"], "{ran:#}");
    for name in ["left", "right"] {
        let text = std::fs::read_to_string(program.project().join(format!("{name}.txt"))).expect("merged");
        assert_eq!(text, format!("{name}\n"));
    }
}
