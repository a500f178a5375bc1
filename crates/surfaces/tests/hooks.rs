//! Hooks with the real binary and the real sandbox: checks that fail, formatters, approvals, and kills.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

fn program() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    assert_eq!(program.run(&["trust"]).code, Some(0));
    program
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    std::fs::write(path, text).expect("writes");
}

fn asks(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn sent(program: &Program) -> String {
    program.provider.requests().last().expect("a request").body.to_string()
}

/// A file of hooks with one entry.
fn file_with(event: &str, matcher: &str, entry: &Value) -> String {
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [entry]}]}}).to_string()
}

fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

/// Puts a hook into the user's own file.
fn own(program: &Program, event: &str, matcher: &str, entry: &Value) {
    put(&program.home().join("hooks.json"), &file_with(event, matcher, entry));
}

/// Puts a hook into the folder, and approves it.
fn of_project(program: &Program, event: &str, matcher: &str, entry: &Value) {
    put(&program.project().join(".claude/settings.json"), &file_with(event, matcher, entry));
    approve(program, &format!("project:{event}-1"));
}

fn approve(program: &Program, name: &str) -> Ended {
    let approved = program.run(&["hooks", "enable", name, "--yes"]);
    assert_eq!(approved.code, Some(0), "{} {}", approved.stdout, approved.stderr);
    approved
}

fn work(program: &Program, tool: &str, input: &Value) -> Ended {
    program.provider.push(asks(tool, input));
    program.provider.push(says("Done."));
    program.run(&["run", "--json", "--approve", "auto", "look around here"])
}

/// What is wrong with a hook, and what is said about it.
fn failures(program: &Program) -> Vec<(&'static str, Value, &'static str)> {
    let missing = program.project().join("no-such-program").display().to_string();
    vec![
        ("crash", command("echo broken >&2; exit 7"), "exit code 7: broken"),
        ("timeout", json!({"type": "command", "command": "sleep 77", "timeout": 1}), "took too long"),
        ("nonsense", command("echo fine"), "not JSON"),
        ("wrong answer", command(r#"echo '{"hookSpecificOutput":{"permissionDecision":"perhaps"}}'"#), "perhaps"),
        ("huge output", command("yes | head -c 9000000"), "too much"),
        ("killed", command("kill -9 $$"), "signal 9"),
        ("missing", command(&missing), "no such program"),
    ]
}

#[test]
fn a_check_that_fails_asks_a_person_and_refuses_in_a_script() {
    let program = program();
    put(&program.project().join("a.txt"), "one\n");
    let input = json!({"path": "a.txt"});
    let finished = |events: &[Value]| of(events, "tool.finished")[0]["preview"].as_str().expect("a text").to_owned();
    for is_project in [false, true] {
        for (what, entry, said) in failures(&program) {
            let case = format!("{what}, {}", if is_project { "project" } else { "user" });
            let token = case.replace([',', ' '], "-");
            let lenient = {
                let mut entry = entry.clone();
                entry["on_failure"] = json!("allow");
                entry
            };
            let set = |entry: &Value| match is_project {
                true => of_project(&program, "PreToolUse", "Read", entry),
                false => own(&program, "PreToolUse", "Read", entry),
            };
            // A script: the call is refused, and the model reads why.
            set(&entry);
            let ended = work(&program, "read_file", &input);
            assert_eq!(ended.code, Some(0), "{case}: {}", ended.stderr);
            let events = ended.events();
            let done = of(&events, "hook.finished");
            assert_eq!(done.len(), 1, "{case}");
            assert_eq!(done[0]["outcome"], "failed", "{case}");
            assert!(done[0]["reason"].as_str().expect("a reason").contains(said), "{case}: {}", done[0]);
            assert_eq!(of(&events, "tool.finished")[0]["status"], "blocked", "{case}");
            assert!(
                finished(&events).contains(said) && sent(&program).contains("This run cannot ask the user"),
                "{case}"
            );
            assert!(of(&events, "checkpoint.opened").is_empty(), "{case}");
            // Somebody is there: the same call asks, and a yes lets it through.
            let served = Served::start(&program, &token, &[]);
            let session = served.session();
            let mut stream = served.watch(&session, None);
            program.provider.push(asks("read_file", &input));
            program.provider.push(says("Done."));
            let message = json!({"text": "look around here"});
            served.post(&format!("/api/sessions/{session}/messages"), &message);
            let events: Vec<Value> = stream.until("checkpoint.opened").into_iter().map(|(_, event)| event).collect();
            let opened = events.last().expect("a question").clone();
            assert_eq!(opened["class"], "hook", "{case}: {opened}");
            assert!(opened.to_string().contains(said), "{case}: {opened}");
            assert!(!opened.to_string().contains("\"always\""), "{case}: no rule would answer it");
            let answer = json!({"checkpoint": opened["checkpoint"], "choice": "allow"});
            served.post(&format!("/api/sessions/{session}/answers"), &answer);
            let events: Vec<Value> = stream.until("request.finished").into_iter().map(|(_, event)| event).collect();
            assert!(finished(&events).contains("one"), "{case}: {}", finished(&events));
            assert!(of(&events, "hook.started").is_empty(), "{case}: it runs once for a call");
            drop(served);
            // A hook that says so may fail.
            set(&lenient);
            let ended = work(&program, "read_file", &input);
            assert!(finished(&ended.events()).contains("one"), "{case}: {}", ended.stdout);
            own(&program, "SessionEnd", "", &command("true"));
        }
    }
}

const FORMATTED: &str = "ZERO\nUNO\nTWO\nTHREE\nFOUR\nFIVE\n";

#[test]
fn a_formatter_joins_the_change_it_formats_and_the_model_is_told() {
    for is_project in [false, true] {
        let program = program();
        put(&program.project().join("a.txt"), "zero\none\ntwo\nthree\nfour\nfive\n");
        let entry = command(
            "read -r told; echo \"$told\" >&2; for f in *.txt; do tr a-z A-Z < $f > .new && cat .new > $f; rm .new; done",
        );
        match is_project {
            true => of_project(&program, "PostToolUse", "Edit|Write", &entry),
            false => own(&program, "PostToolUse", "Edit|Write", &entry),
        }
        program.provider.push(asks("read_file", &json!({"path": "a.txt"})));
        let edit = json!({"path": "a.txt", "blocks": [{"search": "one", "replace": "uno"}]});
        program.provider.push(asks("edit_file", &edit));
        program.provider.push(says("Done."));
        let ended = program.run(&["run", "--json", "--approve", "auto", "change the file a.txt"]);
        assert_eq!(ended.code, Some(0), "{} {}", ended.stderr, ended.stdout);
        assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("a file"), FORMATTED);
        let events = ended.events();
        assert_eq!(of(&events, "hook.started").len(), 1, "only after the edit");
        let told = of(&events, "tool.finished")[1]["preview"].as_str().expect("a text");
        assert!(told.contains("Changed a.txt") && told.contains("Then the hook") && told.contains("+UNO"), "{told}");
        let changes = of(&events, "change.applied");
        assert_eq!(changes.len(), 2);
        assert_eq!(changes[0]["changeSet"], changes[1]["changeSet"]);
        // The model knows the file as it is now.
        let mark = &of(&events, "tool.finished")[1]["files"][0];
        assert_eq!(mark["path"], "a.txt");
        let undone = program.run(&["rewind"]);
        assert_eq!(undone.code, Some(0), "{}", undone.stderr);
        assert_eq!(
            std::fs::read_to_string(program.project().join("a.txt")).expect("a file"),
            "zero\none\ntwo\nthree\nfour\nfive\n"
        );
        let redone = program.run(&["forward"]);
        assert_eq!(redone.code, Some(0), "{}", redone.stderr);
        assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("a file"), FORMATTED);
    }
}

#[test]
fn a_hook_refuses_with_a_reason_that_the_model_reads_and_knows_the_call() {
    let program = program();
    let check = "grep -q '\"command\":\"make all\"' || exit 0; echo 'Use make test instead.' >&2; exit 2";
    own(&program, "PreToolUse", "Bash", &command(check));
    let ended = work(&program, "run_command", &json!({"command": "make all"}));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(sent(&program).contains("Blocked by a hook: Use make test instead."), "{}", sent(&program));
    assert!(of(&ended.events(), "command.started").is_empty());
    let ended = work(&program, "run_command", &json!({"command": "ls"}));
    assert_eq!(of(&ended.events(), "hook.finished")[0]["outcome"], "passed");
    assert_eq!(of(&ended.events(), "command.started").len(), 1);
    let audit = program.run(&["audit", "--export"]).stdout;
    assert!(audit.contains("\"hook\"") && audit.contains("PreToolUse"), "{audit}");
}

#[test]
fn an_allowing_hook_answers_only_what_a_setting_could_and_only_from_the_users_file() {
    let allow = command(
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"fine"}}'"#,
    );
    let runs = |program: &Program, input: Value| {
        program.provider.push(asks("run_command", &input));
        program.provider.push(says("Done."));
        let ended = program.run(&["run", "--json", "run the script"]);
        !of(&ended.events(), "command.started").is_empty()
    };
    let plain = json!({"command": "sh ./script.sh"});
    let program = program();
    put(&program.project().join("script.sh"), "echo hi\n");
    assert!(!runs(&program, plain.clone()), "it asks without a hook");
    of_project(&program, "PreToolUse", "Bash", &allow);
    assert!(!runs(&program, plain.clone()), "a project cannot loosen anything");
    own(&program, "PreToolUse", "Bash", &allow);
    assert!(runs(&program, plain), "the user's own hook can");
    let outside = json!({"command": "sh ./script.sh", "outside": "because"});
    assert!(!runs(&program, outside), "leaving the sandbox is a person's decision");
}

#[test]
fn other_arguments_of_a_hook_are_judged_again_and_shown() {
    let program = program();
    let update = |line: &str| {
        command(&format!(
            r#"echo '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","updatedInput":{{"command":"{line}"}}}}}}'"#
        ))
    };
    own(&program, "PreToolUse", "Bash", &update("echo changed"));
    let ended = work(&program, "run_command", &json!({"command": "ls"}));
    let events = ended.events();
    assert_eq!(of(&events, "command.started")[0]["command"], "echo changed");
    assert!(ended.stdout.contains("gave run_command new arguments"), "{}", ended.stdout);
    // What a hook puts in its place is not what was harmless.
    own(&program, "PreToolUse", "Bash", &update("rm -rf /"));
    let ended = work(&program, "run_command", &json!({"command": "ls"}));
    assert!(of(&ended.events(), "command.started").is_empty(), "{}", ended.stdout);
    // A project's change of a call is seen by a person, or not made.
    own(&program, "SessionEnd", "", &command("true"));
    of_project(&program, "PreToolUse", "Bash", &update("echo changed"));
    let ended = work(&program, "run_command", &json!({"command": "ls"}));
    assert!(of(&ended.events(), "command.started").is_empty(), "{}", ended.stdout);
}

#[test]
fn nothing_of_a_hostile_folder_starts_before_its_hook_is_approved_and_a_changed_one_asks_again() {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let touched = program.home().join("touched");
    let script = program.project().join(".claude/check.sh");
    let hooks: Value = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Notification"]
        .iter()
        .map(|event| {
            let entry = command("sh \"$CLAUDE_PROJECT_DIR\"/.claude/check.sh");
            ((*event).to_owned(), json!([{"hooks": [entry]}]))
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    put(&program.project().join(".claude/settings.json"), &json!({"hooks": hooks}).to_string());
    put(&program.project().join("a.txt"), "one\n");
    put(&script, &format!("touch {}\n", touched.display()));
    let listed = program.run(&["hooks"]).stdout;
    assert!(!listed.contains("check.sh") && listed.contains("not trusted"), "{listed}");
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let ended = work(&program, "read_file", &json!({"path": "a.txt"}));
    assert!(of(&ended.events(), "hook.started").is_empty() && !touched.exists(), "{}", ended.stdout);
    assert!(ended.stdout.contains("Hooks of this folder that you have not approved"), "{}", ended.stdout);
    let listed = program.run(&["extensions"]).stdout;
    assert!(listed.contains("project:PreToolUse-1") && listed.contains("pending"), "{listed}");
    // An approval without a person is none.
    let refused = program.run(&["hooks", "enable", "project:PreToolUse-1"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stdout.contains(".claude/check.sh"), "{}", refused.stdout);
    // Approved, it runs, and the sandbox keeps it in the folder.
    approve(&program, "project:PreToolUse-1");
    let ended = work(&program, "read_file", &json!({"path": "a.txt"}));
    assert_eq!(of(&ended.events(), "hook.started").len(), 1, "{}", ended.stdout);
    assert!(!touched.exists(), "it cannot write outside of the folder");
    // Another script is another hook.
    put(&script, "exit 0\n");
    let ended = work(&program, "read_file", &json!({"path": "a.txt"}));
    assert!(of(&ended.events(), "hook.started").is_empty(), "{}", ended.stdout);
    let listed = program.run(&["hooks", "list", "--json"]).stdout;
    assert!(listed.lines().any(|line| line.contains("project:PreToolUse-1") && line.contains("pending")), "{listed}");
    approve(&program, "project:PreToolUse-1");
    let off = program.run(&["hooks", "disable", "project:PreToolUse-1"]);
    assert_eq!(off.code, Some(0), "{}", off.stderr);
    let ended = work(&program, "read_file", &json!({"path": "a.txt"}));
    assert!(of(&ended.events(), "hook.started").is_empty(), "{}", ended.stdout);
}

#[test]
fn a_hook_whose_end_nobody_saw_has_failed_and_is_not_run_again() {
    for event in ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"] {
        let program = program();
        put(&program.project().join("a.txt"), "one\n");
        let runs = program.home().join("runs");
        // Only its first run takes long, so that another one would be seen to end.
        let line = format!("test -s {0} && exit 0; echo run >> {0}; sleep 600", runs.display());
        own(&program, event, "", &command(&line));
        program.provider.push(asks("read_file", &json!({"path": "a.txt"})));
        program.provider.push(says("Done."));
        let running = program.spawn(&["run", "--json", "read the file a.txt"]);
        running.wait_for_line("hook.started");
        let began = Instant::now();
        while std::fs::read_to_string(&runs).unwrap_or_default().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(30), "{event}: it did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        running.signal(Signal::KILL);
        running.wait();
        let ended = program.run(&["resume", "--json"]);
        let events = ended.events();
        let failed: Vec<&Value> =
            of(&events, "hook.finished").into_iter().filter(|end| end["outcome"] == "failed").collect();
        assert_eq!(failed.len(), 1, "{event}: {} {}", ended.stdout, ended.stderr);
        assert!(failed[0]["reason"].as_str().expect("a reason").contains("end is not known"), "{event}");
        assert_eq!(std::fs::read_to_string(&runs).expect("a file"), "run\n", "{event}: it ran once");
        let finished = of(&events, "request.finished");
        assert_eq!(finished.len(), 1, "{event}: {}", ended.stdout);
        let result = of(&events, "tool.finished");
        match event {
            "PreToolUse" => assert_eq!(result[0]["status"], "blocked", "{event}"),
            _ => assert_eq!(result[0]["status"], "ok", "{event}"),
        }
    }
}

#[test]
fn hooks_about_the_request_add_to_it_refuse_it_and_make_it_continue() {
    let program = program();
    own(&program, "UserPromptSubmit", "", &command("echo 'The branch is called main.'"));
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--json", "say hello"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(sent(&program).contains("The branch is called main."), "{}", sent(&program));
    own(&program, "UserPromptSubmit", "", &command("grep -q secret && { echo 'No secrets.' >&2; exit 2; }; exit 0"));
    let calls = program.provider.requests().len();
    let ended = program.run(&["run", "--json", "say the secret"]);
    assert_eq!(program.provider.requests().len(), calls, "no model has read it");
    assert!(ended.code != Some(0) && ended.stdout.contains("No secrets."), "{}", ended.stdout);
    // The model continues until the hook is content, but not without end.
    own(&program, "Stop", "", &command("echo 'Run the tests first.' >&2; exit 2"));
    for _ in 0..6 {
        program.provider.push(says("All done."));
    }
    let calls = program.provider.requests().len();
    let ended = program.run(&["run", "--json", "say hello"]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stderr, ended.stdout);
    assert!(sent(&program).contains("Run the tests first."), "{}", sent(&program));
    assert_eq!(program.provider.requests().len() - calls, 4, "three times and no more");
}

#[test]
fn hooks_at_the_beginning_and_at_the_end_of_a_session_run_once() {
    let program = program();
    let log = program.home().join("log");
    for event in ["SessionStart", "SessionEnd"] {
        let line = format!("cat >> {}", log.display());
        let file = program.home().join("hooks.json");
        let old = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let mut hooks = old.unwrap_or_else(|| json!({"hooks": {}}));
        hooks["hooks"][event] = json!([{"hooks": [command(&line)]}]);
        put(&file, &hooks.to_string());
    }
    for times in [1, 2] {
        program.provider.push(says("Done."));
        let mut arguments = vec!["run", "--json", "say hello"];
        arguments.extend((times == 2).then_some("--continue"));
        let ended = program.run(&arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let told = std::fs::read_to_string(&log).expect("a log");
        assert_eq!(told.matches("\"SessionStart\"").count(), 1, "{told}");
        assert_eq!(told.matches("\"SessionEnd\"").count(), times, "{told}");
    }
}

#[test]
fn a_hook_answers_a_permission_before_it_is_asked_and_hears_of_the_question() {
    let decides = |behavior: &str| {
        let answer = json!({"hookSpecificOutput": {"decision": {"behavior": behavior, "message": "Not here."}}});
        command(&format!("echo '{answer}'"))
    };
    let program = program();
    put(&program.project().join("script.sh"), "echo hi\n");
    let run = |program: &Program| {
        program.provider.push(asks("run_command", &json!({"command": "sh ./script.sh"})));
        program.provider.push(says("Done."));
        program.run(&["run", "--json", "run the script"])
    };
    own(&program, "PermissionRequest", "Bash", &decides("deny"));
    let ended = run(&program);
    assert!(of(&ended.events(), "command.started").is_empty(), "{}", ended.stdout);
    assert!(sent(&program).contains("Blocked by a hook: Not here."), "{}", sent(&program));
    own(&program, "PermissionRequest", "Bash", &decides("allow"));
    let ended = run(&program);
    assert_eq!(of(&ended.events(), "checkpoint.resolved")[0]["by"], "hook", "{}", ended.stdout);
    assert_eq!(of(&ended.events(), "command.started").len(), 1, "{}", ended.stdout);
    // Whoever is asked is told elsewhere, too.
    let log = program.home().join("log");
    own(&program, "Notification", "", &command(&format!("cat > {}", log.display())));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    program.provider.push(asks("run_command", &json!({"command": "sh ./script.sh"})));
    served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "run the script"}));
    stream.until("hook.finished");
    let told = std::fs::read_to_string(&log).expect("a log");
    assert!(told.contains("permission_prompt") && told.contains("sh ./script.sh"), "{told}");
}

#[test]
fn a_broken_file_of_the_user_does_not_switch_its_checks_off() {
    let program = program();
    put(&program.project().join("a.txt"), "one\n");
    put(&program.home().join("hooks.json"), "{\"hooks\": {");
    let ended = work(&program, "read_file", &json!({"path": "a.txt"}));
    assert_eq!(of(&ended.events(), "tool.finished")[0]["status"], "blocked", "{}", ended.stdout);
    let listed = program.run(&["hooks"]).stdout;
    assert!(listed.contains("counts as failed"), "{listed}");
}
