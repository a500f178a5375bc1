//! Several commands of one answer, as a person and a script meet them: the real binary, the real sandbox.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::Value;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn settings(program: &Program, text: &str) {
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("config.toml"), text).expect("writes");
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn checkpoint(events: &[Value]) -> String {
    let opened = events.iter().rfind(|event| event["type"] == "checkpoint.opened").expect("a question");
    opened["checkpoint"].as_str().expect("an id").to_owned()
}

#[test]
fn commands_of_an_answer_are_offered_and_run_under_the_models_eyes() {
    let program = program();
    let provider: &FakeProvider = &program.provider;
    provider.push(says("Three steps.\n\n🖥 mkdir -p app/assets\n🖥 touch app/made.txt\n🖥 ls app"));
    let asked = program.run(&["run", "--json", "--trust", "set it up"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    let events = asked.events();
    let id = checkpoint(&events);
    let listed = program.run(&["checkpoints"]);
    assert!(listed.stdout.contains("Run 3 cmds") && listed.stdout.contains("mkdir -p app/assets"), "{}", listed.stdout);
    assert!(!program.project().join("app").exists(), "nothing runs before the answer");
    provider.push(says("Directory created. Continue."));
    provider.push(says("Continue."));
    provider.push(says("All is set up."));
    let run = program.run(&["answer", &id, "run"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, "All is set up.\n");
    for line in [
        "Command 1/3 ✓",
        "`mkdir -p app/assets`",
        "Progress: ✓ 1 succeeded, ✗ 0 failed",
        "Remaining: touch app/made.txt, ls app",
        "Command 3/3 ✓",
        "Output: assets",
        "🖥 CLI Execution  ✓ 3  ✗ 0  3/3 (100%)",
    ] {
        assert!(run.stderr.lines().any(|shown| shown == line), "{line}: {}", run.stderr);
    }
    // What a command made is told to the model, and is nothing that it wrote.
    assert_eq!(run.stderr.lines().filter(|shown| *shown == "Output: (no output)").count(), 2, "{}", run.stderr);
    let told: String = provider.requests().iter().map(|request| request.body["messages"].to_string()).collect();
    assert!(
        told.contains(r"Output: (no output)\nProgress: ✓ 2 succeeded") && told.contains("New: app/made.txt."),
        "{told}"
    );
}

#[test]
fn an_edited_list_takes_effect_with_the_next_request_and_a_project_can_only_be_stricter() {
    let program = program();
    settings(&program, "autoApplyCli = true\ncliWhitelist = [\"pwd\"]\n");
    let ask = |program: &Program| {
        program.provider.push(says("🖥 ls"));
        program.run(&["run", "--json", "--trust", "look"])
    };
    assert_eq!(ask(&program).code, Some(3), "`ls` is not on the list");
    settings(&program, "autoApplyCli = true\ncliWhitelist = [\"pwd\", \"ls\"]\n");
    program.provider.push(says("🖥 ls"));
    program.provider.push(says("Seen."));
    let run = program.run(&["run", "--trust", "look"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "🖥 ls\nSeen.\n"), "{}", run.stderr);
    let folder = program.project().join(".trimtab");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.toml"), "[commands]\nask = [\"ls\"]\n").expect("writes");
    assert_eq!(ask(&program).code, Some(3), "the project wants to be asked");
    std::fs::write(folder.join("config.toml"), "[commands]\nallow = [\"rm\"]\n").expect("writes");
    let refused = program.run(&["run", "--trust", "look"]);
    assert!(
        refused.code != Some(0) && refused.stderr.contains("a project cannot set commands.allow"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_rule_that_an_answer_shows_is_the_rule_that_is_stored() {
    let program = program();
    let careful = ["run", "--json", "--trust", "--autonomy", "careful", "look"];
    let runs = |command: &str| {
        let input = serde_json::json!({ "command": command }).to_string();
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", "run_command", [input])));
        program.provider.push(says("Seen."));
    };
    runs("ls -l");
    let asked = program.run(&careful);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    let listed = program.run(&["checkpoints"]).stdout;
    for text in ["always_prefix Always allow ls *", "always_prefix_everywhere", "Other arguments still ask."] {
        assert!(listed.contains(text), "{text}: {listed}");
    }
    let question = asked.events().into_iter().rfind(|event| event["type"] == "checkpoint.opened").expect("a question");
    let choices = question["choices"].as_array().expect("choices");
    let shown = choices.iter().find(|choice| choice["id"] == "always_prefix_everywhere").expect("a form");
    assert_eq!((&shown["rule"]["pattern"], shown["rule"].get("folder")), (&Value::from("ls *"), None));
    assert_eq!(program.run(&["answer", "always_prefix_everywhere"]).code, Some(0));
    let rules = program.run(&["rules"]).stdout;
    assert!(rules.contains("allow run_command: ls * (everywhere)"), "{rules}");
    // It covers what the table knows of the program, and nothing that only begins like it.
    runs("ls -la");
    assert_eq!(program.run(&careful).code, Some(0));
    for (other, decision) in [("ls -a src", "auto"), ("ls; touch made", "ask"), ("ls ../..", "ask"), ("lsof", "ask")] {
        let checked = program.run(&["check-command", "--autonomy", "careful", other]).stdout;
        assert!(checked.contains(&format!(r#""decision":"{decision}""#)), "{other}: {checked}");
    }
}
