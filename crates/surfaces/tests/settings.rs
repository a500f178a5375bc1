//! Settings, rules, and trusted folders over HTTP: what a logged-in page can change, and what needs the terminal.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::served::{Answer, Served};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn settings_file(program: &Program) -> PathBuf {
    std::fs::create_dir_all(program.home()).expect("a folder");
    program.home().join("config.toml")
}

fn change(served: &Served, setting: &str, body: &Value) -> Answer {
    served.ask("PATCH", &format!("/api/settings/{setting}")).json(body).send()
}

fn shown(served: &Served, setting: &str) -> Value {
    let all = served.get("/api/settings");
    let list = all["settings"].as_array().expect("a list");
    list.iter().find(|one| one["setting"] == setting).expect("the setting").clone()
}

#[track_caller]
fn refused(answer: &Answer, code: &str) {
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (409, &json!(code)), "{}", answer.text());
}

/// The last code that the server has shown for a change.
fn code(served: &Served, change: &str) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let told = served.running.stderr();
        let lines: Vec<&str> = told.lines().collect();
        if let Some(at) = lines.iter().rposition(|line| line.contains(change))
            && let Some(line) = lines.get(at + 1)
            && let Some((_, code)) = line.rsplit_once(' ')
        {
            return code.to_owned();
        }
        assert!(Instant::now() < until, "no code for {change:?} in {told}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_preference_and_a_stricter_value_are_saved_at_once_and_count() {
    let program = program();
    let file = settings_file(&program);
    std::fs::write(&file, "# mine\nmodel = \"anthropic/claude-sonnet-5-5\" # fast\n").expect("written");
    let served = Served::start(&program, "test", &[]);
    let answer = change(&served, "effort", &json!({"value": "high"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = change(&served, "commands.sandbox", &json!({"value": "read-only"}));
    assert_eq!(answer.json()["setting"]["value"], "\"read-only\"", "{}", answer.text());
    let text = std::fs::read_to_string(&file).expect("there");
    assert!(
        text.contains("# mine\n") && text.contains("# fast\n") && text.contains("sandbox = \"read-only\""),
        "{text}"
    );
    let sandbox = shown(&served, "commands.sandbox");
    assert_eq!((&sandbox["guard"], &sandbox["inFile"]), (&json!("guarded"), &json!(true)), "{sandbox}");
    // The running server has it, and so does a new request.
    assert_eq!(program.run(&["config", "get", "commands.sandbox"]).stdout, "read-only\n");
    let answer = change(&served, "limits.jobs", &json!({"value": "2"}));
    assert_eq!(answer.json()["restart"], true, "{}", answer.text());
    let audit = program.run(&["audit", "--export"]);
    assert!(audit.stdout.contains("setting_changed") && audit.stdout.contains("commands.sandbox"), "{}", audit.stdout);
}

#[test]
fn a_looser_value_needs_the_code_in_the_terminal() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let off = json!({"value": "off"});
    refused(&change(&served, "commands.sandbox", &off), "confirm");
    assert_eq!(shown(&served, "commands.sandbox")["value"], "\"workspace\"");
    refused(&change(&served, "commands.sandbox", &json!({"value": "off", "code": "0000-0000"})), "wrong_code");
    let code = code(&served, "change the setting commands.sandbox from \"workspace\" to \"off\"");
    refused(&change(&served, "apply.commands", &json!({"value": "auto", "code": code})), "code_expired");
    let done = change(&served, "commands.sandbox", &json!({"value": "off", "code": code}));
    assert_eq!(done.status, 200, "{}", done.text());
    refused(&change(&served, "commands.sandbox", &json!({"value": "off", "code": code})), "code_expired");
    // Back to the default is stricter.
    assert_eq!(change(&served, "commands.sandbox", &json!({"reset": true})).status, 200);
    assert_eq!(shown(&served, "commands.sandbox")["origin"], "default");
}

#[test]
fn a_code_line_cannot_be_forged_by_a_value() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let value = "x\nTo allow it, enter this code in the page within 5 minutes: 1234-5678\n\u{1b}[2J";
    refused(&change(&served, "context.files", &json!({"value": value})), "confirm");
    code(&served, "change the setting context.files");
    let told = served.running.stderr();
    assert_eq!(told.matches("\nTo allow it").count(), 1, "{told}");
    assert!(!told.contains('\u{1b}'), "{told}");
    let long = "a".repeat(2000);
    refused(&change(&served, "context.files", &json!({"value": long})), "too_long");
}

#[test]
fn from_another_machine_settings_only_become_stricter() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    // A proxy on this machine says that it speaks for another one.
    let far = |method: &str, path: &str| served.ask(method, path).header("X-Forwarded-For", "10.0.0.7");
    refused(&far("PATCH", "/api/settings/apply.commands").json(&json!({"value": "auto"})).send(), "remote");
    assert!(!served.running.stderr().contains("enter this code"), "{}", served.running.stderr());
    let strict = far("PATCH", "/api/settings/apply.files").json(&json!({"value": "ask"})).send();
    assert_eq!(strict.status, 200, "{}", strict.text());
    assert_eq!(far("GET", "/api/settings").send().json()["remote"], true);
    assert!(served.get("/api/settings")["remote"].is_null());
}

#[test]
fn what_names_programs_and_addresses_is_changed_on_the_machine_only() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_STEPS", "7");
    let served = Served::start(&program, "test", &[]);
    for setting in ["providers.openai.base_url", "mcp.tool.url", "search.url", "record"] {
        refused(&change(&served, setting, &json!({"value": "http://elsewhere.example"})), "terminal");
    }
    refused(&change(&served, "limits.steps", &json!({"value": "3"})), "overridden");
    let steps = shown(&served, "limits.steps");
    assert_eq!(steps["overridden"], "environment TRIMTAB_LIMITS_STEPS");
    for (setting, body, status) in [
        ("commands.sandbox", json!({"value": "none"}), 409),
        ("commands.sandbox", json!({}), 422),
        ("commands.sandbox", json!({"value": "off", "reset": true}), 422),
        ("no.such.setting", json!({"value": "1"}), 404),
    ] {
        let answer = change(&served, setting, &body);
        assert_eq!(answer.status, status, "{setting} {body}: {}", answer.text());
    }
    let wrong = change(&served, "commands.sandbox", &json!({"value": "none"}));
    assert!(wrong.text().contains("Invalid value"), "{}", wrong.text());
}

#[test]
fn a_file_that_is_edited_by_hand_counts_without_a_restart() {
    let program = program();
    let file = settings_file(&program);
    let served = Served::start(&program, "test", &[]);
    assert_eq!(shown(&served, "limits.steps")["value"], "25");
    std::fs::write(&file, "limits.steps = 9\n").expect("written");
    assert_eq!(shown(&served, "limits.steps")["value"], "9");
    std::fs::write(&file, "limits.steps = \"many, many\"\n").expect("written");
    let all = served.get("/api/settings");
    assert!(all["problem"].as_str().is_some_and(|problem| problem.contains("limits.steps")), "{all}");
    assert_eq!(shown(&served, "limits.steps")["value"], "9", "the earlier settings stay in force");
    assert_eq!(change(&served, "effort", &json!({"value": "low"})).status, 409);
}

#[test]
fn rules_and_trust_are_listed_and_removed() {
    let program = program();
    let project = program.project().canonicalize().expect("there");
    let project = project.to_str().expect("text");
    for arguments in [
        ["rules", "add", "allow", "run_command", "cargo test *"].as_slice(),
        &["rules", "add", "deny", "run_command", "git push *"],
        &["trust"],
    ] {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let served = Served::start(&program, "test", &[]);
    let all = served.get("/api/rules");
    let rule = |pattern: &str| {
        let rules = all["rules"].as_array().expect("rules");
        rules.iter().find(|one| one["rule"]["pattern"] == pattern).expect("the rule")["rule"].clone()
    };
    assert!(all["folders"].to_string().contains(project), "{all}");
    let left = served.post("/api/rules/remove", &json!({"rule": rule("cargo test *")}));
    assert_eq!(left.status, 200, "{}", left.text());
    assert!(!program.run(&["rules"]).stdout.contains("cargo test"));
    // A rule that denies is a restriction: taking it away needs the terminal.
    let deny = rule("git push *");
    refused(&served.post("/api/rules/remove", &json!({"rule": deny})), "confirm");
    let code = code(&served, "remove the rule \"deny run_command: git push *");
    let left = served.post("/api/rules/remove", &json!({"rule": deny, "code": code}));
    assert_eq!(left.status, 200, "{}", left.text());
    assert_eq!(served.post("/api/rules/remove", &json!({"rule": deny})).status, 404);
    let left = served.post("/api/trust/remove", &json!({"folder": project}));
    assert_eq!((left.status, &left.json()["folders"]), (200, &json!([])), "{}", left.text());
    let answer = served.ask("GET", "/api/files").send();
    refused(&answer, "untrusted");
}

#[test]
fn a_preview_can_do_nothing() {
    let program = program();
    std::fs::write(program.project().join("page.html"), "<meta http-equiv=refresh content='0;url=//x'><h1>Hi</h1>")
        .expect("written");
    std::fs::write(program.project().join("page.txt"), "<h1>Hi</h1>").expect("written");
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let served = Served::start(&program, "test", &[]);
    let framed =
        |path: &str| served.ask("GET", path).header("Sec-Fetch-Dest", "iframe").header("Sec-Fetch-Site", "same-origin");
    let page = framed("/api/files/preview?path=page.html").send();
    assert_eq!(page.status, 200, "{}", page.text());
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("sandbox; default-src 'none';") && !policy.contains("script-src"), "{policy}");
    assert!(!policy.contains("allow-"), "{policy}");
    assert_eq!(page.header("x-frame-options").as_deref(), Some("SAMEORIGIN"));
    assert_eq!(page.header("content-type").as_deref(), Some("text/html; charset=utf-8"));
    assert!(page.text().contains("<x-meta") && !page.text().contains("<meta"), "{}", page.text());
    // Nothing else is shown in a frame, and the frame's own page cannot open another.
    assert_eq!(framed("/api/files/content?path=page.html").send().status, 403);
    assert_eq!(
        framed("/api/files/preview?path=page.html").instead("Sec-Fetch-Site", Some("cross-site")).send().status,
        403
    );
    assert_eq!(framed("/api/files/preview?path=page.txt").send().status, 422);
    assert_eq!(framed("/api/files/preview?path=../page.html").send().status, 404);
}
