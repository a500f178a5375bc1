//! Sub-tasks in a real browser: the plan is started, a conflict and a merge that cannot be made are settled in each way,
//! and the board stays.

use serde_json::json;
use trimtab_testkit::provider::Request;
use trimtab_testkit::served::Served;

use super::flows::trusting;
use super::{asks, node, says, walks};

#[test]
fn a_plan_of_sub_tasks_is_started_and_its_conflict_is_settled_on_the_page() {
    let program = trusting();
    let greeting = program.project().join("a.py");
    std::fs::write(&greeting, "print('hello')\nprint('bye')\n").expect("writes");
    program.provider.answer_with(|request: &Request| {
        let body = request.body.to_string();
        let is_second_call = body.contains("tool_result");
        // The later requests of the session name themselves; the first one does not.
        let of = [" fourth", " third", " second"].into_iter().find(|of| body.contains(&format!("{of} greeting")));
        let of = of.unwrap_or_default();
        let file = |word: String| format!("print('{word}')\nprint('bye')\n");
        if body.contains("Two people changed") {
            return says(&format!("```\n{}```", file("HELLO fourth, sir".into())));
        }
        if body.contains("Change the") {
            // Results of earlier requests of the session are in the conversation, too.
            let last = request.body["messages"].as_array().and_then(|messages| messages.last());
            let task = |name: &str| json!({"title": name, "instruction": format!("TASK {name}: the{of} greeting")});
            return match last.is_some_and(|last| last.to_string().contains("tool_result")) {
                true => says("The greeting is changed."),
                false => asks("delegate", &json!({"tasks": [task("loud"), task("polite")]})),
            };
        }
        let content = match body.contains("TASK loud") {
            true => file(format!("HELLO{of}")),
            false => file(format!("hello{of}, sir")),
        };
        match is_second_call {
            true => says("Written."),
            false => asks("write_file", &json!({"path": "a.py", "content": content})),
        }
    });
    let served = Served::start(&program, "test", &[]);
    walks(node("subtasks.mjs", &[&served.login, &greeting.to_string_lossy()]));
    let written = std::fs::read_to_string(&greeting).expect("is there");
    assert_eq!(written.trim_end(), "print('HELLO fourth, sir')\nprint('bye')");
}

#[test]
fn sub_tasks_are_started_steered_opened_and_stopped_on_the_page() {
    let program = trusting();
    let (first, second) = (program.provider.gate(), program.provider.gate());
    let opens = first.clone();
    let task = |name: &str, after: &[u32]| {
        json!({"title": name, "instruction": format!("TASK {name}: do it"), "files": [], "depends_on": after,
            "kind": "reasoning", "each": false})
    };
    let plan = json!({"thought": "", "tasks": [task("first", &[]), task("second", &[]), task("third", &[1, 2])]});
    program.provider.answer_with(move |request: &Request| {
        // The walk lets the first worker go on.
        if request.path == "/release" {
            opens.open();
            return trimtab_testkit::provider::Answer::json(200, json!({}));
        }
        let body = request.body.to_string();
        match () {
            () if body.contains("You break a request about") => says(&plan.to_string()),
            () if body.contains("tool_result") => says("Written."),
            () if body.contains("TASK first") => {
                asks("write_file", &json!({"path": "first.txt", "content": "1\n"})).gated(&first)
            }
            () => says("Not yet.").gated(&second),
        }
    });
    let served = Served::start(&program, "test", &[]);
    let release = format!("{}/release", program.provider.url());
    walks(node("board.mjs", &[&served.login, &release]));
    let written = std::fs::read_to_string(program.project().join("first.txt")).expect("is there");
    assert_eq!(written, "1\n");
}

#[test]
fn a_merge_that_cannot_be_made_is_settled_on_the_page() {
    let program = trusting();
    program.provider.answer_with(|request: &Request| {
        let body = request.body.to_string();
        let of =
            ["third", "second"].into_iter().find(|of| body.contains(&format!("the {of} notes"))).unwrap_or("first");
        if body.contains("Write the") {
            let last = request.body["messages"].as_array().and_then(|messages| messages.last());
            let task = |name: &str| json!({"title": name, "instruction": format!("TASK {name}: the {of} notes")});
            return match last.is_some_and(|last| last.to_string().contains("tool_result")) {
                true => says("The notes are written."),
                false => asks("delegate", &json!({"tasks": [task("file"), task("folder")]})),
            };
        }
        let (path, content) = match body.contains("TASK file") {
            true => (of.to_owned(), "a file\n"),
            false => (format!("{of}/notes.txt"), "in a folder\n"),
        };
        match body.contains("tool_result") {
            true => says("Written."),
            false => asks("write_file", &json!({"path": path, "content": content})),
        }
    });
    let served = Served::start(&program, "test", &[]);
    let folder = program.project();
    walks(node("blocked.mjs", &[&served.login, &folder.to_string_lossy()]));
    assert!(folder.join("first").is_file() && folder.join("second/notes.txt").is_file());
}
