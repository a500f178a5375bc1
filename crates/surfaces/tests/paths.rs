//! Every kind of path, and what is done about it: the rows of `docs/decisions/0015-paths.md`, with the real
//! binary.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

/// A project with one of each kind in it, and something beside it that nobody may touch.
fn program() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let project = program.project();
    let outside = project.with_file_name("outside");
    let files = [
        "a.txt",
        "sub/b.txt",
        ".env",
        ".env.example",
        ".bashrc",
        ".ssh/config",
        "key.pem",
        ".git/config",
        ".git/hooks/old",
        ".trimtab/notes",
        ".github/workflows/ci.yml",
        "read-only.txt",
        "new\nline.txt",
        "../outside/c.txt",
    ];
    for name in files {
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        // Settings that git cannot read would make every edit ask.
        let text = if name == ".git/config" { "[core]\none\n" } else { "one\n" };
        std::fs::write(path, text).expect("a file");
    }
    let link = |target: &str, name: &str| symlink(target, project.join(name)).expect("a link");
    link("a.txt", "to-inside");
    link("sub", "to-folder");
    link("../outside/c.txt", "to-outside");
    link("../outside", "to-outside-folder");
    link("nowhere", "dangling");
    link("loop", "loop");
    link(".git", "to-git");
    link(".git/hooks", "to-hooks");
    link(".trimtab", "to-own");
    link(".env", "to-env");
    std::fs::hard_link(project.join("a.txt"), project.join("hard.txt")).expect("a link");
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(project.join("read-only.txt"), read_only).expect("a mode");
    let fifo = program.command(Path::new("mkfifo"), &["fifo"]).status().expect("mkfifo runs");
    assert!(fifo.success());
    drop(UnixListener::bind(project.join("socket")).expect("a socket"));
    std::fs::create_dir(outside.join("d")).expect("a folder");
    program
}

fn outside(program: &Program) -> Vec<String> {
    let folder = program.project().with_file_name("outside");
    let mut seen: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .flatten()
        .map(|entry| format!("{:?} {:?}", entry.file_name(), std::fs::read_to_string(entry.path()).ok()))
        .collect();
    seen.sort();
    seen
}

/// What comes of one tool call under `apply.files = auto`: its status, or `asks`; and what the model is told.
fn with(tool: &str, input: &Value) -> (String, String, Program) {
    let program = program();
    let reply = Reply::new().tool("toolu_1", tool, [input.to_string()]);
    program.provider.push(Answer::anthropic(reply));
    program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
    let before = outside(&program);
    let ended = program.run(&["run", "--json", "--trust", "work"]);
    assert_eq!(outside(&program), before, "{tool} {input}: nothing outside is touched");
    let events = ended.events();
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).cloned();
    let last = program.provider.requests().last().expect("a request").body["messages"].to_string();
    let status = match (of("tool.finished"), of("checkpoint.opened")) {
        (_, Some(_)) => "asks".to_owned(),
        (Some(finished), None) => finished["status"].as_str().unwrap_or("none").to_owned(),
        (None, None) => format!("nothing: {}", ended.stderr),
    };
    (status, last, program)
}

fn edit(path: &str) -> Value {
    json!({"path": path, "blocks": [{"search": "one", "replace": "two"}]})
}

fn check(tool: &str, rows: &[(&str, &str)], input: impl Fn(&str) -> Value) {
    let mut wrong = Vec::new();
    for (path, wanted) in rows {
        let (status, told, _) = with(tool, &input(path));
        if status != *wanted {
            wrong.push(format!("{tool} {path:?}: {status} and not {wanted}; {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_may_be_read() {
    let rows = [
        ("a.txt", "ok"),
        ("sub/../a.txt", "ok"),
        ("../outside/c.txt", "error"),
        ("/etc/passwd", "error"),
        ("to-inside", "ok"),
        ("to-folder/b.txt", "ok"),
        ("to-outside", "error"),
        ("to-outside-folder/c.txt", "error"),
        ("dangling", "error"),
        ("loop", "error"),
        (".git/config", "ok"),
        (".bashrc", "ok"),
        (".env", "asks"),
        (".ENV", "asks"),
        (".env.example", "ok"),
        (".ssh/config", "asks"),
        ("key.pem", "asks"),
        (".trimtab/notes", "ok"),
        ("to-env", "error"),
        ("fifo", "error"),
        ("socket", "error"),
        ("sub", "error"),
        ("new\nline.txt", "ok"),
        ("read-only.txt", "ok"),
        ("hard.txt", "ok"),
    ];
    check("read_file", &rows, |path| json!({"path": path}));
}

#[test]
fn what_may_be_edited_under_auto() {
    let rows = [
        ("a.txt", "ok"),
        ("sub/../a.txt", "ok"),
        ("to-folder/../a.txt", "ok"),
        ("../outside/c.txt", "error"),
        ("to-inside", "ok"),
        ("to-outside", "error"),
        ("to-outside-folder/c.txt", "error"),
        ("dangling", "error"),
        ("loop", "error"),
        (".git/config", "asks"),
        (".GIT/config", "error"),
        ("to-git/config", "error"),
        (".trimtab/notes", "blocked"),
        (".Trimtab/notes", "blocked"),
        ("sub/../.trimtab/notes", "blocked"),
        ("to-own/notes", "error"),
        (".bashrc", "asks"),
        (".github/workflows/ci.yml", "asks"),
        (".env", "asks"),
        ("to-env", "error"),
        (".ssh/config", "asks"),
        ("key.pem", "asks"),
        ("fifo", "error"),
        ("socket", "error"),
        ("sub", "error"),
        ("new\nline.txt", "ok"),
        ("read-only.txt", "error"),
        ("hard.txt", "ok"),
    ];
    check("edit_file", &rows, edit);
}

#[test]
fn what_may_be_made_under_auto() {
    let rows = [
        ("new.txt", "ok"),
        ("new/deep/x.txt", "ok"),
        ("to-folder/x.txt", "ok"),
        ("to-outside-folder/x.txt", "error"),
        ("dangling", "error"),
        ("a.txt/x", "error"),
        (".git/hooks/pre-commit", "asks"),
        ("to-git/hooks/pre-commit", "error"),
        // What `..` means here, only the link tells: it is `.git/x`.
        ("to-hooks/../x", "error"),
        (".git/../to-hooks/../x", "error"),
        (".zprofile", "asks"),
        (".env.local", "asks"),
        (".trimtab/config.toml", "blocked"),
        (".trimtab-x.tmp", "error"),
        ("bell\u{7}.txt", "error"),
        ("new\nname.txt", "error"),
        ("naïve 🦀.txt", "ok"),
    ];
    check("write_file", &rows, |path| json!({"path": path, "content": "x\n"}));
}

#[test]
fn what_may_be_deleted_and_moved() {
    // A deletion asks in any case, unless it cannot be done at all.
    let rows = [
        ("a.txt", "asks"),
        ("to-outside", "error"),
        (".git/config", "asks"),
        (".trimtab/notes", "blocked"),
        ("fifo", "error"),
        ("sub", "error"),
    ];
    check("delete_file", &rows, |path| json!({"path": path}));
    let rows = [
        ("moved.txt", "ok"),
        ("sub/b.txt", "error"),
        ("../outside/x.txt", "error"),
        ("to-outside-folder/x.txt", "error"),
        (".git/hooks/pre-commit", "asks"),
        ("to-git/hooks/pre-commit", "error"),
        (".trimtab/x", "blocked"),
        (".bash_login", "asks"),
        ("bell\u{7}.txt", "error"),
    ];
    check("move_file", &rows, |to| json!({"from": "a.txt", "to": to}));
}

#[test]
fn a_link_is_never_deleted_or_moved_in_place_of_its_target() {
    for (tool, input) in
        [("delete_file", json!({"path": "to-inside"})), ("move_file", json!({"from": "to-inside", "to": "moved.txt"}))]
    {
        let program = program();
        let reply = Reply::new().tool("toolu_1", tool, [input.to_string()]);
        program.provider.push(Answer::anthropic(reply));
        assert_eq!(program.run(&["rules", "add", "allow", "delete_file", "to-inside"]).code, Some(0));
        program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
        let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "work"]);
        let events = ended.events();
        let finished = events.iter().find(|event| event["type"] == "tool.finished").expect("it ends");
        assert_eq!(finished["status"], "error", "{tool}");
        let is_link = |name: &str| program.project().join(name).is_symlink();
        assert!(is_link("to-inside") && program.project().join("a.txt").is_file(), "{tool}");
    }
}

#[test]
fn a_command_that_runs_by_itself_is_not_led_out_by_a_link() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_COMMANDS", "auto");
    let commands = ["cat to-inside", "cat to-outside", "ls to-outside-folder/"];
    let calls = commands.iter().enumerate().fold(Reply::new(), |reply, (n, command)| {
        reply.tool(format!("toolu_{n}"), "run_command", [json!({"command": command}).to_string()])
    });
    program.provider.push(Answer::anthropic(calls));
    program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
    let ended = program.run(&["run", "--json", "--trust", "work"]);
    let told: Vec<String> = ended
        .events()
        .iter()
        .filter(|event| event["type"] == "tool.finished")
        .map(|event| format!("{} {}", event["status"].as_str().unwrap_or_default(), event["preview"]))
        .collect();
    assert_eq!(told.len(), commands.len(), "{told:?}");
    assert!(told[0].starts_with("ok"), "{told:?}");
    for led_out in &told[1..] {
        assert!(led_out.starts_with("error"), "{led_out}");
        assert!(led_out.contains("is outside the folder through a link, to "), "{led_out}");
    }
    let decision = |command: &str| {
        let checked = program.run(&["check-command", command]).stdout;
        serde_json::from_str::<Value>(&checked).expect("JSON")["decision"].clone()
    };
    assert_eq!([decision(commands[0]), decision(commands[1])], [json!("auto"), json!("ask")]);
}

#[test]
fn a_search_passes_secrets_by_and_says_so() {
    let (status, told, _) = with("search", &json!({"pattern": "one"}));
    assert_eq!(status, "ok");
    assert!(told.contains("a.txt") && told.contains("files that may hold keys or passwords"), "{told}");
    assert!(!told.contains(".env:") && !told.contains("key.pem") && !told.contains(".ssh"), "{told}");
    let (status, ..) = with("search", &json!({"pattern": "one", "path": ".env"}));
    assert_eq!(status, "asks");
}

#[test]
fn a_yes_to_all_changes_is_no_yes_to_files_of_care() {
    for (path, wanted) in [("a.txt", Some(0)), (".bashrc", Some(3)), (".git/config", Some(3))] {
        let program = program();
        assert_eq!(program.run(&["rules", "add", "allow", "edit_file", "*"]).code, Some(0));
        let reply = Reply::new().tool("toolu_1", "edit_file", [edit(path).to_string()]);
        program.provider.push(Answer::anthropic(reply));
        program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
        assert_eq!(program.run(&["run", "--trust", "work"]).code, wanted, "{path}");
    }
    let program = program();
    assert_eq!(program.run(&["rules", "add", "allow", "edit_file", ".bashrc"]).code, Some(0));
    let reply = Reply::new().tool("toolu_1", "edit_file", [edit(".bashrc").to_string()]);
    program.provider.push(Answer::anthropic(reply));
    program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
    assert_eq!(program.run(&["run", "--trust", "work"]).code, Some(0), "a rule that names it counts");
}

#[test]
fn a_rule_about_a_folder_says_nothing_about_what_lies_beside_it() {
    for (tool, input) in [("edit_file", edit("sub/../.bashrc")), ("read_file", json!({"path": "sub/../.env"}))] {
        let program = program();
        assert_eq!(program.run(&["rules", "add", "allow", tool, "sub/*"]).code, Some(0));
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", tool, [input.to_string()])));
        assert_eq!(program.run(&["run", "--trust", "work"]).code, Some(3), "{input}");
    }
    let program = program();
    assert_eq!(program.run(&["rules", "add", "deny", "edit_file", "a.txt"]).code, Some(0));
    let reply = Reply::new().tool("toolu_1", "edit_file", [edit("sub/../a.txt").to_string()]);
    program.provider.push(Answer::anthropic(reply));
    program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
    assert_eq!(program.run(&["run", "--trust", "work"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("a file"), "one\n");
}

#[test]
fn what_a_person_edits_by_hand() {
    let program = program();
    let before = outside(&program);
    let apply = |path: &str| {
        let edit = json!({"kind": "search_replace", "path": path, "blocks": [{"search": "one", "replace": "two"}]});
        let ended = program.run_with_input(&["apply-edit", "-"], edit.to_string().as_bytes());
        let said = ended.events().remove(0);
        assert_eq!(said["applied"], ended.code == Some(0));
        (said["applied"] == true, said["reason"].as_str().unwrap_or_default().to_owned())
    };
    for path in ["sub/b.txt", ".bashrc", ".env", ".git/config", "hard.txt", "new\nline.txt"] {
        assert_eq!(apply(path), (true, String::new()), "{path}: there is nobody else to ask");
    }
    for (path, reason) in [
        ("../outside/c.txt", "is outside the folder"),
        ("to-outside", "is outside the folder"),
        (".trimtab/notes", "own settings"),
        ("to-own/notes", "through a link"),
        ("to-git/config", "through a link"),
        ("fifo", "not a regular file"),
        ("socket", "not a regular file"),
        ("/dev/null", "is outside the folder"),
        ("sub", "is a directory"),
        ("read-only.txt", "read-only"),
        ("loop", "symbolic links"),
    ] {
        let (applied, said) = apply(path);
        assert!(!applied && said.contains(reason), "{path}: {said}");
    }
    assert_eq!(outside(&program), before);
    let text = |name: &str| std::fs::read_to_string(program.project().join(name)).expect("a file");
    assert_eq!(
        (text("hard.txt").as_str(), text("a.txt").as_str()),
        ("two\n", "one\n"),
        "the other name keeps its bytes"
    );
    assert_eq!(program.project().join("a.txt").metadata().expect("a file").nlink(), 1);
}

#[test]
fn a_file_of_a_gibibyte_is_refused_and_not_loaded() {
    let program = program();
    let huge = std::fs::File::create(program.project().join("huge.txt")).expect("a file");
    huge.set_len(1 << 30).expect("a size");
    let edit = edit("huge.txt");
    let edit = json!({"kind": "search_replace", "path": "huge.txt", "blocks": edit["blocks"]});
    let edit_file = program.project().join("edit.json");
    std::fs::write(&edit_file, edit.to_string()).expect("a file");
    // Less memory than the file has bytes, threads and their stacks included.
    let line = format!("ulimit -v 900000; exec {} apply-edit edit.json", program.binary().display());
    let ended = program.command(Path::new("sh"), &["-c", &line]).output().expect("sh runs");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(said.contains("larger than the 64 MB that can be changed"), "{said}");
}
