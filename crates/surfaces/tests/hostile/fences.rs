//! Commands that run automatically: what they must not read, see, write, or outlive.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

const CANARY: &str = "canary-51c0ffee";

const AUTO: &str = "[apply]\ncommands = \"auto\"\n";

pub(crate) fn program(settings: &str) -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("config.toml"), format!("{AUTO}{settings}")).expect("writes");
    program
}

/// The model asks for one command.
pub(crate) fn push(program: &Program, command: &str) {
    let reply = Reply::new().text(["I look."]);
    let input = json!({"command": command}).to_string();
    program.provider.push(Answer::anthropic(reply.tool("toolu_0", "run_command", [input])));
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
}

/// Runs what a `Makefile` says, without a question.
pub(crate) fn make(program: &Program, recipe: &str) -> Ended {
    write(program, "Makefile", &format!("test:\n\t@touch ran; {}\n", recipe.replace('$', "$$")));
    push(program, "make test");
    program.run(&["run", "--trust", "go"])
}

pub(crate) fn write(program: &Program, path: &str, text: &str) {
    let path = program.project().join(path);
    std::fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
    std::fs::write(path, text).expect("writes");
}

/// Everything that the model was sent.
fn sent(program: &Program) -> String {
    program.provider.requests().iter().map(|request| request.body.to_string()).collect()
}

#[track_caller]
fn ran(program: &Program, ended: &Ended) {
    assert!(program.project().join("ran").exists(), "it ran: {} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_providers_key_never_reaches_a_command_whatever_its_variable_is_called() {
    let corp =
        "[providers.corp]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\napi_key_env = \"RUSTIC_ACCESS\"\n";
    let mut program = program(corp);
    program.set("RUSTIC_ACCESS", CANARY);
    let ended = make(&program, "env");
    ran(&program, &ended);
    assert!(sent(&program).contains("GIT_TERMINAL_PROMPT=0"), "{}", sent(&program));
    assert!(!sent(&program).contains(CANARY), "{}", sent(&program));
}

#[test]
fn variables_that_nobody_listed_never_reach_a_command() {
    let mut program = program("");
    for name in ["MYSQL_PWD", "SSHPASS", "SLACK_WEBHOOK_URL", "JWT", "SENTRY_DSN", "MY_CREDS", "FOO_BAR", "HUNTER2"] {
        program.set(name, CANARY);
    }
    let ended = make(&program, "env; cat /proc/self/environ /proc/1/environ /proc/$PPID/environ | tr '\\0' '\\n'");
    ran(&program, &ended);
    assert!(sent(&program).contains("GIT_TERMINAL_PROMPT=0"));
    assert!(!sent(&program).contains(CANARY), "{}", sent(&program));
}

#[test]
fn key_files_in_the_home_folder_cannot_be_read() {
    let program = program("");
    let home = program.project().parent().expect("the home of the tests").to_owned();
    for path in [
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".gemini/oauth_creds.json",
        ".config/github-copilot/hosts.json",
        ".vault-token",
        ".my.cnf",
        ".bash_history",
        ".terraform.d/credentials.tfrc.json",
        ".m2/settings.xml",
        ".gradle/gradle.properties",
        ".config/rclone/rclone.conf",
        ".config/containers/auth.json",
        ".config/sops/age/keys.txt",
        ".cache/huggingface/token",
        "snap/firefox/common/key4.db",
        ".config/vivaldi/Default/Login Data",
        ".thunderbird/x/logins.json",
        ".electrum/wallets/default_wallet",
        ".Xauthority",
        ".cargo/credentials.toml",
        "notes/passwords.txt",
    ] {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
        std::fs::write(path, CANARY).expect("writes");
    }
    let ended = make(&program, "grep -rn '' $HOME --include=* --exclude-dir=project; grep -c . Makefile; true");
    ran(&program, &ended);
    assert!(!sent(&program).contains(CANARY), "{}", sent(&program));
}

#[test]
fn secret_files_in_the_folder_are_absent_for_a_plain_grep() {
    let program = program("");
    for path in [".env", "web/.env.local", ".ssh/id_rsa", "deploy.key"] {
        write(&program, path, CANARY);
    }
    write(&program, "plain.txt", "plain words");
    push(&program, "grep -rn '' .");
    let ended = program.run(&["run", "--trust", "go"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(sent(&program).contains("plain words"), "{}", sent(&program));
    assert!(!sent(&program).contains(CANARY), "{}", sent(&program));
}

#[test]
fn command_lines_of_other_processes_are_not_seen() {
    let program = program("");
    let mut other = Command::new("sh")
        .args(["-c", "sleep 60; true", &format!("--password={CANARY}")])
        .stdin(Stdio::null())
        .spawn()
        .expect("a process");
    let ended = make(&program, "grep -aoh 'canary-51[a-z0-9]*' /proc/[0-9]*/cmdline; true");
    let _ = other.kill();
    let _ = other.wait();
    ran(&program, &ended);
    assert!(!sent(&program).contains(CANARY), "{}", sent(&program));
}

#[test]
fn a_command_that_only_reads_writes_nothing() {
    let program = program("");
    write(&program, "old.txt", "old");
    for command in ["grep -rn '' .", "cat old.txt", "ls -la"] {
        push(&program, command);
        assert_eq!(program.run(&["run", "--trust", "go"]).code, Some(0), "{command}");
    }
    let names: Vec<_> =
        std::fs::read_dir(program.project()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["old.txt"]);
}

#[test]
fn without_user_namespaces_nothing_runs_automatically() {
    let program = program("");
    std::fs::create_dir_all(program.project().join(".git/hooks")).expect("a folder");
    write(&program, ".git/config", "[core]\n");
    let recipe =
        "touch ran; echo x > .git/hooks/pre-commit; echo x >> .git/config; mkdir -p .trimtab; chmod 777 $$HOME";
    write(&program, "Makefile", &format!("test:\n\t@{recipe}\n"));
    push(&program, "make test");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let binary = program.binary().to_string_lossy().into_owned();
    let arguments = ["-U", "-r", "sh", "-c", script, &binary, "run", "--trust", "go"];
    let Ok(done) = program.command(Path::new("unshare"), &arguments).output() else { return };
    if done.status.code() == Some(1) && program.provider.requests().is_empty() {
        return println!("user namespaces cannot be switched off here");
    }
    assert!(!program.provider.requests().is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    for path in ["ran", ".git/hooks/pre-commit", ".trimtab"] {
        assert!(!program.project().join(path).exists(), "{path}: {}", String::from_utf8_lossy(&done.stdout));
    }
    assert_eq!(std::fs::read_to_string(program.project().join(".git/config")).expect("reads"), "[core]\n");
}

/// Chains of processes, of which each starts the next one and ends; after a time, they write a file.
const STORM: &str = "#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(void) {
  time_t start = time(0);
  for (int chain = 0; chain < 150; chain++)
    if (fork() == 0)
      for (;;) {
        if (time(0) > start + 8) creat(\"late\", 0644);
        if (time(0) > start + 30 || fork() > 0) _exit(0);
      }
  sleep(30);
}
";

/// Puts the program into the project, unless there is no compiler.
fn build_storm(program: &Program) -> bool {
    write(program, "storm.c", STORM);
    let built = Command::new("cc").args(["storm.c", "-o", "storm"]).current_dir(program.project()).status();
    built.is_ok_and(|built| built.success())
}

#[test]
fn a_fork_storm_never_outlives_its_time_limit() {
    let program = program("[commands]\ntimeout_s = 4\n");
    if !build_storm(&program) {
        return println!("there is no compiler here");
    }
    let began = Instant::now();
    let ended = make(&program, "./storm");
    ran(&program, &ended);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    std::thread::sleep(Duration::from_secs(9).saturating_sub(began.elapsed()));
    assert!(!program.project().join("late").exists());
}

#[test]
fn a_fork_storm_never_outlives_a_killed_host() {
    let program = program("");
    if !build_storm(&program) {
        return println!("there is no compiler here");
    }
    write(&program, "Makefile", "test:\n\t@touch ran; ./storm\n");
    push(&program, "make test");
    let running = program.spawn(&["run", "--trust", "go"]);
    let began = Instant::now();
    while !program.project().join("ran").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never ran");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    running.signal(rustix::process::Signal::KILL);
    running.wait();
    std::thread::sleep(Duration::from_secs(9));
    assert!(!program.project().join("late").exists());
}

#[test]
fn the_doctor_never_takes_a_missing_fence_for_a_note() {
    let program = program("");
    let fine = program.run(&["doctor"]);
    assert!(fine.stdout.contains("ok       sandbox: read-only commands cannot write in the folder"), "{}", fine.stdout);
    assert!(!fine.stdout.contains("problem  sandbox"), "{}", fine.stdout);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let binary = program.binary().to_string_lossy().into_owned();
    let Ok(done) = program.command(Path::new("unshare"), &["-U", "-r", "sh", "-c", script, &binary, "doctor"]).output()
    else {
        return;
    };
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    if said.is_empty() {
        return println!("user namespaces cannot be switched off here");
    }
    assert!(said.contains("problem  sandbox: not proven: builds and tests cannot write control files"), "{said}");
    assert_eq!(done.status.code(), Some(1));
}
