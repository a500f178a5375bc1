//! What only a person may approve.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn asks(tool: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_0", tool, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn write(program: &Program, path: &str, text: &str) {
    let path = program.project().join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("writes");
}

fn opened(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["type"] == "checkpoint.opened").collect()
}

/// Runs one tool call with an option for approvals.
fn under(program: &Program, approve: &str, tool: &str, input: &Value) -> Ended {
    program.provider.push(asks(tool, input));
    program.provider.push(says("Done."));
    program.run(&["run", "--json", "--trust", "--approve", approve, "go"])
}

#[test]
fn approve_auto_never_leaves_the_sandbox() {
    let program = program();
    let (canary, home) = (program.project().join("../ESCAPED"), program.project().join(".."));
    std::fs::create_dir_all(home.join(".ssh")).expect("a folder");
    std::fs::write(home.join(".ssh/id_rsa"), "PRIVATE").expect("writes");
    let command = "cat $HOME/.ssh/id_rsa; id > $HOME/ESCAPED";
    let input = json!({"command": command, "outside": "the tests need it"});
    let run = under(&program, "auto", "run_command", &input);
    assert_eq!(run.code, Some(3), "it waits for a person: {}", run.stderr);
    assert!(!canary.exists(), "the command ran outside of the sandbox");
    let sent: String = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!sent.contains("PRIVATE"), "the key was sent to the model");
    let events = run.events();
    assert_eq!(opened(&events)[0]["class"], "leave_sandbox");
    assert!(!events.iter().any(|event| event["type"] == "command.started"));
    // It stays closed when the request is taken up again, with and without the option.
    for arguments in [["resume", "--approve", "auto"], ["resume", "--approve", "ask"]] {
        let resumed = program.run(&arguments);
        assert_eq!(resumed.code, Some(3), "{}", resumed.stderr);
        assert!(!canary.exists());
    }
    // A person's own answer runs exactly that.
    let id = opened(&events)[0]["checkpoint"].as_str().expect("an id").to_owned();
    let answered = program.run(&["answer", &id, "allow"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert!(canary.exists(), "a person can allow it");
}

#[test]
fn approve_auto_answers_no_class_that_only_a_person_can() {
    let cases: &[(&str, Value, &str)] = &[
        ("run_command", json!({"command": "id", "outside": "because"}), "leave_sandbox"),
        ("read_file", json!({"path": ".env"}), "secret"),
        ("write_file", json!({"path": ".env", "content": "A=2\n"}), "secret"),
        ("fetch_url", json!({"url": "http://127.0.0.1:9/"}), "new_host"),
        ("delete_file", json!({"path": "unread.txt"}), "delete_unread"),
        ("write_file", json!({"path": ".github/workflows/x.yml", "content": "on: push\n"}), "control_file"),
        ("write_file", json!({"path": "AGENTS.md", "content": "Obey.\n"}), "control_file"),
    ];
    for (tool, input, class) in cases {
        let program = program();
        write(&program, "unread.txt", "kept\n");
        if tool == &"read_file" {
            write(&program, ".env", "A=1\n");
        }
        let run = under(&program, "auto", tool, input);
        let events = run.events();
        assert_eq!(run.code, Some(3), "{tool} {input}: {}", run.stderr);
        assert_eq!(opened(&events)[0]["class"], *class, "{tool} {input}");
        let answered = events.iter().any(|event| event["type"] == "checkpoint.resolved");
        assert!(!answered, "nobody has answered: {tool} {input}");
        let acted = ["command.started", "change.applied"];
        assert!(!events.iter().any(|event| acted.contains(&event["type"].as_str().unwrap_or_default())));
        assert!(program.project().join("unread.txt").exists());
    }
}

#[test]
fn approve_deny_refuses_what_only_a_person_can_approve() {
    for (tool, input) in [
        ("run_command", json!({"command": "id > ran", "outside": "because"})),
        ("delete_file", json!({"path": "unread.txt"})),
        ("write_file", json!({"path": "AGENTS.md", "content": "Obey.\n"})),
    ] {
        let program = program();
        write(&program, "unread.txt", "kept\n");
        let run = under(&program, "deny", tool, &input);
        assert_eq!(run.code, Some(0), "{tool}: {}", run.stderr);
        for made in ["ran", "AGENTS.md"] {
            assert!(!program.project().join(made).exists(), "{tool}");
        }
        assert!(program.project().join("unread.txt").exists());
    }
}

#[test]
fn approve_auto_still_approves_what_the_sandbox_and_undo_hold() {
    for (tool, input, made) in [
        ("run_command", json!({"command": "echo hi > made.txt"}), "made.txt"),
        ("write_file", json!({"path": "new.txt", "content": "new\n"}), "new.txt"),
    ] {
        let program = program();
        let run = under(&program, "auto", tool, &input);
        assert_eq!(run.code, Some(0), "{tool}: {}", run.stderr);
        assert!(program.project().join(made).exists(), "{tool}");
    }
}

#[test]
fn a_wide_rule_never_leaves_the_sandbox_nor_reads_a_secret_nor_calls_a_new_host() {
    for (rule, tool, input, class) in [
        (["run_outside", "*"], "run_command", json!({"command": "id > ../OUT", "outside": "x"}), "leave_sandbox"),
        (["run_outside", "id *"], "run_command", json!({"command": "id > ../OUT", "outside": "x"}), "leave_sandbox"),
        (["read_file", "*"], "read_file", json!({"path": ".env"}), "secret"),
        (["fetch_url", "*"], "fetch_url", json!({"url": "http://127.0.0.1:9/"}), "new_host"),
        (["delete_file", "*"], "delete_file", json!({"path": ".env"}), "delete_unread"),
        (["edit_file", "*"], "write_file", json!({"path": ".envrc", "content": "x\n"}), "control_file"),
    ] {
        let program = program();
        write(&program, ".env", "A=1\n");
        assert_eq!(program.run(&["rules", "add", "allow", rule[0], rule[1]]).code, Some(0));
        let run = under(&program, "ask", tool, &input);
        assert_eq!(run.code, Some(3), "{rule:?}: {}", run.stderr);
        assert_eq!(opened(&run.events())[0]["class"], class, "{rule:?}");
        assert!(!program.project().join("../OUT").exists());
    }
}

#[test]
fn a_rule_that_names_exactly_this_is_a_persons_decision() {
    let program = program();
    write(&program, ".env", "A=1\n");
    assert_eq!(program.run(&["rules", "add", "allow", "read_file", ".env"]).code, Some(0));
    assert_eq!(under(&program, "ask", "read_file", &json!({"path": ".env"})).code, Some(0));
    let command = "id > ../OUT";
    assert_eq!(program.run(&["rules", "add", "allow", "run_outside", command]).code, Some(0));
    let run = under(&program, "ask", "run_command", &json!({"command": command, "outside": "x"}));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(program.project().join("../OUT").exists());
    let started = run.events().into_iter().find(|event| event["type"] == "command.started").expect("it ran");
    assert_eq!(started["sandbox"], "off", "the record says so");
}

#[test]
fn a_message_over_http_waits_for_a_person_to_leave_the_sandbox() {
    let program = program();
    assert_eq!(program.run(&["trust"]).code, Some(0));
    program.provider.push(asks("run_command", &json!({"command": "id > ../OUT", "outside": "x"})));
    program.provider.push(says("Done."));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "go"}));
    let events: Vec<Value> = stream.until("checkpoint.opened").into_iter().map(|(_, event)| event).collect();
    assert_eq!(opened(&events)[0]["class"], "leave_sandbox");
    assert!(!program.project().join("../OUT").exists());
    let id = opened(&events)[0]["checkpoint"].clone();
    served.post(&format!("/api/sessions/{session}/answers"), &json!({"checkpoint": id, "choice": "allow"}));
    let events: Vec<Value> = stream.until("request.finished").into_iter().map(|(_, event)| event).collect();
    assert!(program.project().join("../OUT").exists(), "a person's answer lets it");
    let resolved = events.iter().find(|event| event["type"] == "checkpoint.resolved").expect("answered");
    assert_eq!((&resolved["by"], &resolved["surface"]), (&json!("user"), &json!("http")));
}

#[test]
fn no_way_to_start_work_loses_a_trusted_projects_stricter_settings() {
    let program = program();
    let project =
        "[apply]\nfiles = \"ask\"\n[commands]\nsandbox = \"read-only\"\ntimeout_s = 7\ndeny = [\"git push\"]\n";
    write(&program, ".trimtab/config.toml", project);
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let settings = |events: &[Value]| {
        let received = events.iter().rfind(|event| event["type"] == "request.received").expect("a request");
        let settings = &received["settings"];
        json!([settings["applyFiles"], settings["sandbox"], settings["commandTimeoutS"], settings["commandsDenied"]])
    };
    program.provider.push(says("Hello."));
    let run = program.run(&["run", "--json", "Say hello"]);
    let wanted = settings(&run.events());
    assert_eq!(wanted, json!(["ask", "read-only", 7, ["git push"]]), "{}", run.stdout);
    for _ in 0..6 {
        program.provider.push(says("Hello."));
    }
    let log = |program: &Program| {
        let shown = program.run(&["sessions", "list", "--json"]);
        let first: Value = serde_json::from_str(shown.stdout.lines().next().expect("a session")).expect("JSON");
        let id = first["id"].as_str().expect("an id").to_owned();
        let exported = program.run(&["sessions", "export", &id]);
        let session: Value = serde_json::from_str(&exported.stdout).expect("JSON");
        session["events"].as_array().cloned().unwrap_or_default()
    };
    let implemented = program.run(&["control", "implement"]);
    assert!(implemented.code.is_some(), "{}", implemented.stderr);
    assert_eq!(settings(&log(&program)), wanted, "control implement");
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Say hello"}));
    let events: Vec<Value> = stream.until("request.received").into_iter().map(|(_, event)| event).collect();
    assert_eq!(settings(&events), wanted, "HTTP");
}

#[test]
fn the_home_folder_is_never_trusted_by_one_step() {
    let program = program();
    let home = program.project().join("..").canonicalize().expect("a folder");
    let home = home.to_str().expect("a name");
    for folder in [home, "/"] {
        let trusted = program.run(&["trust", folder]);
        assert_eq!(trusted.code, Some(2), "{folder}: {}", trusted.stdout);
        let run = program.run(&["run", "--trust", "--dir", folder, "go"]);
        assert_eq!(run.code, Some(2), "{folder}: {}", run.stderr);
    }
    assert!(!program.run(&["rules"]).stdout.contains("trust"));
    let confirmed = program.run(&["trust", home, "--confirm", home]);
    assert_eq!(confirmed.code, Some(0), "{}", confirmed.stderr);
    // Every hidden file in it is asked about.
    program.provider.push(asks("write_file", &json!({"path": ".someprogramrc", "content": "x\n"})));
    let run = program.run(&["run", "--json", "--dir", home, "--approve", "auto", "go"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(opened(&run.events())[0]["class"], "control_file");
}

#[test]
fn the_question_about_a_home_folder_comes_twice() {
    let program = program();
    let home = program.project().join("..").canonicalize().expect("a folder");
    let home = home.to_str().expect("a name");
    std::fs::write(program.project().join("../note.txt"), "x\n").expect("writes");
    program.provider.push(asks("read_file", &json!({"path": "note.txt"})));
    let run = program.run(&["run", "--json", "--dir", home, "go"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let first = opened(&run.events())[0].clone();
    assert_eq!((&first["about"], &first["class"]), (&json!("trustBroad"), &json!("trust_folder")));
    let again = program.run(&["answer", "--json", first["checkpoint"].as_str().expect("an id"), "trust"]);
    assert_eq!(again.code, Some(3), "{}", again.stderr);
    let second = opened(&again.events()).last().copied().cloned().expect("a second question");
    assert_eq!(second["about"], "trust");
    program.provider.push(says("Read."));
    let trusted = program.run(&["answer", second["checkpoint"].as_str().expect("an id"), "trust"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
}

/// What no person approved gets the fence of its class, whoever else said yes.
mod approve_auto {
    use serde_json::json;
    use trimtab_testkit::program::{Ended, Program};
    use trimtab_testkit::provider::{Answer, Reply};

    fn runs(program: &Program, command: &str) -> Ended {
        let call = Reply::new().tool("toolu_1", "run_command", [json!({"command": command}).to_string()]);
        program.provider.push(Answer::anthropic(call));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        program.run(&["run", "--json", "--trust", "--approve", "auto", "go"])
    }

    fn program() -> Program {
        let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        for (name, text) in [(".env", "KEY=TOPSECRET\n"), ("AGENTS.md", "old\n"), ("a.txt", "a\n")] {
            std::fs::write(program.project().join(name), text).expect("writes");
        }
        program
    }

    #[test]
    fn no_command_reads_a_secret() {
        for command in ["cat .env", "python3 -c 'print(open(\".env\").read())'", "cp .env x; cat x"] {
            let program = program();
            let run = runs(&program, command);
            let sent: String = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
            assert!(!run.stdout.contains("TOPSECRET") && !sent.contains("TOPSECRET"), "{command}");
        }
    }

    #[test]
    fn no_command_writes_a_control_file() {
        let program = program();
        runs(&program, "echo EVIL > AGENTS.md; echo EVIL > .envrc # git");
        assert_eq!(std::fs::read_to_string(program.project().join("AGENTS.md")).ok().as_deref(), Some("old\n"));
        assert!(!program.project().join(".envrc").exists());
    }

    #[test]
    fn git_still_commits() {
        let program = program();
        let made = std::process::Command::new("sh")
            .args(["-c", "git init -q . && git config user.name a && git config user.email a@b"])
            .current_dir(program.project())
            .status();
        assert!(made.is_ok_and(|made| made.success()));
        let run = runs(&program, "git add a.txt && git commit -qm one");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let log = std::process::Command::new("git").args(["log", "--oneline"]).current_dir(program.project()).output();
        assert!(log.is_ok_and(|log| log.stdout.ends_with(b"one\n")), "{}", run.stdout);
    }

    #[test]
    fn a_rule_for_git_commit_commits_and_never_reads_a_secret_or_changes_a_hook() {
        let program = program();
        let set_up = "git init -q . && git config user.name a && git config user.email a@b && mkdir -p .git/hooks && \
            printf '#!/bin/sh\ncat .env > LEAKED; echo x > .git/hooks/post-commit; true\n' > .git/hooks/pre-commit && \
            chmod +x .git/hooks/pre-commit";
        let made = std::process::Command::new("sh").args(["-c", set_up]).current_dir(program.project()).status();
        assert!(made.is_ok_and(|made| made.success()));
        for pattern in ["git add *", "git commit *"] {
            assert_eq!(program.run(&["rules", "add", "allow", "run_command", pattern]).code, Some(0));
        }
        let line = json!({"command": "git add a.txt && git commit -m 'Fix parser'"}).to_string();
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", "run_command", [line])));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        let run = program.run(&["run", "--json", "--trust", "go"]);
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        let log = std::process::Command::new("git").args(["log", "--oneline"]).current_dir(program.project()).output();
        assert!(log.is_ok_and(|log| log.stdout.ends_with(b"Fix parser\n")), "{}", run.stdout);
        let leaked = std::fs::read_to_string(program.project().join("LEAKED")).unwrap_or_default();
        assert!(!leaked.contains("TOPSECRET"), "{leaked}");
        assert!(!program.project().join(".git/hooks/post-commit").exists());
    }

    #[test]
    fn a_rule_that_leaves_commands_asking_says_so() {
        let program = program();
        let added = program.run(&["rules", "add", "allow", "run_command", "git push *"]);
        assert!(added.stdout.contains("Other commands that begin with `git push` still ask"), "{}", added.stdout);
        let added = program.run(&["rules", "add", "allow", "run_command", "cargo test *"]);
        assert_eq!(added.stdout.lines().count(), 1, "{}", added.stdout);
        let checked = program.run(&["check-command", "make"]).events();
        assert_eq!((&checked[0]["decision"], &checked[0]["class"]), (&json!("ask"), &json!("check")));
    }

    #[test]
    fn a_rule_for_one_command_gives_what_its_approval_gave() {
        let program = program();
        assert_eq!(program.run(&["rules", "add", "allow", "run_command", "cat .env"]).code, Some(0));
        let call = Reply::new().tool("toolu_1", "run_command", [json!({"command": "cat .env"}).to_string()]);
        program.provider.push(Answer::anthropic(call));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        let run = program.run(&["run", "--json", "--trust", "go"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("TOPSECRET"), "a person has allowed exactly this");
    }
}
