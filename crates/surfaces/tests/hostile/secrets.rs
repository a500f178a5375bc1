//! Secrets of the folder that commands and reads must not show: by unusual names, in deep places, by a second name, and
//! from the history of the repository.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::process::Command;

use serde_json::json;
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

use super::fences::{make, program, push, write};

const CANARY: &str = "canary-70adface";

/// Names that usually hold secrets, and that 0.1 took for plain files.
const UNUSUAL: &[&str] = &[
    "prod.env",
    "secrets.env",
    ".env_prod",
    ".envrc.local",
    "service-account-prod.json",
    "google-credentials.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "prod.tfvars",
    "kubeconfig",
    ".docker/config.json",
    "putty.ppk",
    "config/master.key",
];

/// Places in folders that tools make.
const DEEP: &[&str] =
    &["node_modules/a/.env", "node_modules/@a/b/c/.env", ".next/standalone/.env", "target/debug/out/prod.env"];

fn sent(program: &Program) -> String {
    program.provider.requests().iter().map(|request| request.body.to_string()).collect()
}

fn run(program: &Program, line: &str) -> Ended {
    push(program, line);
    program.run(&["run", "--json", "--trust", "go"])
}

#[track_caller]
fn unseen(program: &Program, ended: &Ended) {
    let sent = sent(program);
    assert!(!sent.contains(CANARY) && !ended.stdout.contains(CANARY), "{sent}\n{}", ended.stdout);
}

#[test]
fn secrets_by_any_usual_name_and_at_any_depth_are_never_seen_by_a_command() {
    let program = program("");
    for path in UNUSUAL.iter().chain(DEEP) {
        write(&program, path, CANARY);
    }
    write(&program, "target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    write(&program, "plain.txt", "plain words");
    write(&program, ".env.example", "EXAMPLE=words");
    let ended = run(&program, "grep -rn '' .");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(sent(&program).contains("plain words") && sent(&program).contains("EXAMPLE=words"), "{}", sent(&program));
    unseen(&program, &ended);
    let ended = make(&program, "grep -rn canary .; true");
    assert!(program.project().join("ran").exists(), "{} {}", ended.stdout, ended.stderr);
    unseen(&program, &ended);
}

#[test]
fn secrets_by_any_usual_name_are_never_read_or_searched_unasked() {
    for path in UNUSUAL {
        let program = program("");
        write(&program, path, CANARY);
        let call = |tool: &str, input: &serde_json::Value| {
            program.provider.push(Answer::anthropic(Reply::new().tool("toolu_0", tool, [input.to_string()])));
            program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
            program.run(&["run", "--json", "--trust", "--approve", "auto", "go"])
        };
        let searched = call("search", &json!({"pattern": "canary"}));
        unseen(&program, &searched);
        let read = call("read_file", &json!({"path": path}));
        assert_eq!(read.code, Some(3), "{path}: {}", read.stdout);
        unseen(&program, &read);
    }
}

#[test]
fn a_second_name_of_a_secret_is_never_seen_by_a_command() {
    let program = program("");
    write(&program, ".env", CANARY);
    std::fs::create_dir_all(program.project().join("docs")).expect("a folder");
    std::fs::hard_link(program.project().join(".env"), program.project().join("docs/notes.txt")).expect("a link");
    for line in ["cat docs/notes.txt", "grep -rn '' ."] {
        let ended = run(&program, line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        unseen(&program, &ended);
    }
}

/// A repository that tracks one secret, has deleted another, and has one in its stash.
fn repository() -> Program {
    let program = program("");
    write(&program, "Prod.env", CANARY);
    write(&program, ".env", CANARY);
    write(&program, "src.txt", "first words\n");
    write(&program, ".env.example", "KEY=first-example\n");
    let script = "git init -q -b main . && git config user.name a && git config user.email a@b && git add -Af . && \
        git commit -qm one && git rm -q Prod.env && echo second words > src.txt && echo KEY=second-example > .env.example && \
        git commit -qam two && printf canary-70adface-more > .env && echo stashed words > src.txt && git stash -q && \
        printf canary-70adface-new > .env && echo third words > src.txt";
    let mut shell = Command::new("bash");
    shell.args(["-ec", script]).current_dir(program.project()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let done = shell.output().expect("bash");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

#[test]
fn git_never_shows_a_tracked_or_deleted_secret_unasked() {
    let program = repository();
    for (line, shows) in [
        ("git diff", "third words"),
        ("git diff HEAD~1", "first words"),
        ("git log -p", "KEY=second-example"),
        ("git log -p --all -S canary", "commit"),
        ("git show", "second words"),
        ("git show HEAD~1 | head -100", "first words"),
        ("git stash show -p", "stashed words"),
        ("git grep -n canary HEAD~1", "Binary file"),
        ("git grep -n words HEAD~1", "first words"),
    ] {
        let ended = run(&program, line);
        let last = program.provider.requests().last().expect("a request").body["messages"].to_string();
        assert_eq!(ended.code, Some(0), "{line}: {} {}", ended.stderr, ended.stdout);
        assert!(last.contains(shows), "{line}: {last}");
        assert!(!last.contains(CANARY), "{line}: {last}");
    }
}

#[test]
fn git_never_shows_a_secret_by_its_hash_or_as_text_unasked() {
    let program = repository();
    let plain = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(program.project()).output().expect("git");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    let blob = plain(&["rev-parse", "HEAD~1:Prod.env"]);
    let commit = plain(&["rev-parse", "--short", "HEAD"]);
    for line in [
        format!("git show {blob}"),
        format!("git cat-file -p {}", &blob[..8]),
        format!("git cat-file blob {blob}"),
        format!("git diff {blob} {}", plain(&["rev-parse", "HEAD:src.txt"])),
        "git show HEAD~1:Prod.env".to_owned(),
        "git log -p --text".to_owned(),
        "git log -p --binary".to_owned(),
        "git grep -a canary HEAD~1".to_owned(),
        "git blame .env".to_owned(),
        "git log -L1,1:.env".to_owned(),
        "git ls-files -s | cut -d' ' -f2 | xargs git cat-file -p".to_owned(),
        "git show $(git rev-list --objects --all | cut -d' ' -f1)".to_owned(),
    ] {
        let input = json!({"command": line}).to_string();
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_0", "run_command", [input])));
        let ended = program.run(&["run", "--json", "--trust", "go"]);
        unseen(&program, &ended);
        assert_eq!(ended.code, Some(3), "{line}: {}", ended.stdout);
    }
    for (line, shows) in [
        (format!("git show {commit}"), "second words"),
        ("grep -n show $(git ls-files src.txt) .env.example".to_owned(), "Exit code 1"),
        ("git ls-files | xargs wc -l".to_owned(), "total"),
    ] {
        let ended = run(&program, &line);
        assert_eq!(ended.code, Some(0), "{line}: {} {}", ended.stdout, ended.stderr);
        assert!(sent(&program).contains(shows), "{line}: {}", ended.stdout);
    }
}
