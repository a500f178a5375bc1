//! Command lines that must not run without a question. Each is run by the real binary with `apply.commands = "auto"`,
//! which asks nobody about what the policy lets through.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::fs;

use serde_json::json;
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

const KEPT: &str = "fn main() {}\n";
const SECRET: &str = "TOKEN=canary-4711";

/// A project with a file to lose, a secret, and programs that would do harm.
fn project() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    fs::create_dir_all(program.home()).expect("a folder");
    fs::write(program.home().join("config.toml"), "[apply]\ncommands = \"auto\"\n").expect("writes");
    for folder in ["src", "node_modules/.bin", "a:b", "build"] {
        fs::create_dir_all(program.project().join(folder)).expect("a folder");
    }
    for (name, text) in [
        ("src/main.rs", KEPT),
        (".env", SECRET),
        ("x.sh", "echo ran > RAN\n"),
        ("args.txt", "--junitxml=src/main.rs\n"),
        ("x.py", "x = 1\n"),
        ("package.json", "{\"name\": \"x\", \"version\": \"1.0.0\"}\n"),
    ] {
        fs::write(program.project().join(name), text).expect("writes");
    }
    program
}

fn run(program: &Program, line: &str) -> Ended {
    let call = Reply::new().tool("toolu_1", "run_command", [json!({"command": line}).to_string()]);
    program.provider.push(Answer::anthropic(call));
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    program.run(&["run", "--json", "--trust", "go"])
}

/// The line asks, and nothing of it has run.
fn asks(line: &str) {
    let program = project();
    let ended = run(&program, line);
    assert_eq!(ended.code, Some(3), "{line} did not ask: {}{}", ended.stdout, ended.stderr);
    assert!(ended.events().iter().all(|event| event["type"] != "command.started"), "{line} ran");
    assert_eq!(fs::read_to_string(program.project().join("src/main.rs")).expect("is there"), KEPT, "{line}");
    assert!(!program.project().join("RAN").exists(), "{line}");
    let sent: String = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!sent.contains("canary-4711"), "{line} sent a secret to the model");
}

#[test]
fn tree_never_writes_its_listing_over_a_file() {
    for line in
        ["tree -Io x src/main.rs", "tree -Po x src/main.rs", "tree -Lo 2 src/main.rs", "tree -faIo x src/main.rs"]
    {
        asks(line);
    }
}

#[test]
fn git_never_takes_an_output_file_for_a_format() {
    for line in [
        "git log --format --output=a:b/../src/main.rs",
        "git show --format --output=a:b/../src/main.rs",
        "git diff --format --output=a:b/../src/main.rs",
    ] {
        asks(line);
    }
}

#[test]
fn no_program_runs_commands_from_its_input() {
    for line in [
        "echo 'echo ran > RAN' | zsh -V",
        "zsh -V < x.sh",
        "echo 'echo ran > RAN' | npx -V",
        "npx -V < x.sh",
        "cat x.sh | sh",
        "cat x.sh | xargs sh",
        "gradle -V",
        "cat x.py | python3",
    ] {
        asks(line);
    }
}

#[test]
fn a_flag_never_hides_as_the_value_of_another_one() {
    for line in [
        "pylint --disable '--init-hook=open(\"RAN\", \"w\")' x.py",
        "pylint --enable --load-plugins=x x.py",
        "flake8 -v --exclude --output-file=src/main.rs .",
        "flake8 --exclude --config=x .",
        "mocha --testNamePattern --reporter=xunit --testNamePattern --reporter-option=output=src/main.rs",
        "rspec -f -e --out=src/main.rs",
        "sort -k -osrc/main.rs x.py",
        "grep -e --file=.env x.py",
    ] {
        asks(line);
    }
}

#[test]
fn a_package_manager_never_runs_a_program_under_the_name_of_a_script() {
    for line in [
        "yarn run rimraf src",
        "yarn run del-cli src",
        "yarn run shx rm src/main.rs",
        "yarn workspace a run rimraf src",
        "yarn run printenv",
        "pnpm run -w env",
    ] {
        asks(line);
    }
}

#[test]
fn cmake_never_builds_a_second_target() {
    asks("cmake --build build --target check deploy");
}

#[test]
fn a_file_never_adds_arguments() {
    for line in
        ["pytest @args.txt", "dotnet build @args.txt", "mypy @args.txt", "tsc @args.txt", "ruff check @args.txt"]
    {
        asks(line);
    }
}

#[test]
fn a_line_that_names_a_secret_never_shows_it() {
    for line in [
        "grep -rn '' --include=.env .",
        "grep -rn '' '--include=.e*' .",
        "rg -. '' -g .env",
        "rg -. '' -g=.env",
        "git log -L1,20:.env",
        "cat .e*",
        "cat .env*",
        "for f in .env; do cat \"$f\"; done",
        "cat $(echo .env)",
        "find . -name x -exec cat .env {} +",
    ] {
        asks(line);
    }
}

#[test]
fn a_glob_never_becomes_an_option() {
    let program = project();
    fs::write(program.project().join("-osrc"), "b\na\n").expect("writes");
    fs::write(program.project().join("--files0-from=x.py"), "").expect("writes");
    let ended = run(&program, "sort * && wc -c *");
    let events = ended.events();
    let started = events.iter().find(|event| event["type"] == "command.started").expect("it ran");
    assert_eq!(started["argv"][2], "sort ./* && wc -c ./*", "what ran is recorded");
    assert_eq!(fs::read_to_string(program.project().join("src/main.rs")).expect("is there"), KEPT);
    for line in ["touch *", "cp * build", "cargo test *", "* x", "sort $(cat x.sh)", "cat ../*", "cat .*", "ls *(e:x:)"]
    {
        asks(line);
    }
}

#[test]
fn words_from_a_file_never_become_arguments() {
    for line in [
        "cat args.txt | xargs cat",
        "echo /etc/passwd | xargs cat",
        "cat $(cat args.txt)",
        "find . | xargs sort",
        "find . -exec sort -o {} {} ;",
        "find . -exec uniq {} +",
        "for PATH in .; do ls; done",
        "for f in a; do $f; rm $f; done",
    ] {
        asks(line);
    }
}

#[test]
fn check_command_says_what_a_session_does() {
    let program = project();
    for line in ["ls src", "wc -l *.py", "make test", "rm x", "cat .env", "git push", "trimtab rules add x"] {
        let checked = program.run(&["check-command", "--", line]);
        let said: serde_json::Value = serde_json::from_str(&checked.stdout).expect("JSON");
        let ended = run(&program, line);
        let started = ended.events().iter().any(|event| event["type"] == "command.started");
        assert_eq!(said["decision"] == "auto", started, "{line}: {said}");
        assert_eq!(said["class"].is_string(), started, "{line}: {said}");
    }
    // A trusted project can be stricter, and then both are.
    fs::create_dir_all(program.project().join(".trimtab")).expect("a folder");
    fs::write(program.project().join(".trimtab/config.toml"), "[commands]\nask = [\"ls\"]\n").expect("writes");
    let trusted = program.run(&["trust"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
    let checked = program.run(&["check-command", "ls src"]);
    assert!(checked.stdout.contains("\"ask\""), "{}", checked.stdout);
    assert_eq!(run(&program, "ls src").code, Some(3));
}

#[test]
fn words_known_only_at_run_time_never_lead_out_of_the_folder() {
    use serde_json::json;
    use trimtab_testkit::program::Program;
    use trimtab_testkit::provider::{Answer, Reply};

    for line in ["find d -type f | xargs cat", "cat $(find d -type f)", "cat $(find links -type l)"] {
        let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        let project = program.project();
        let other = project.parent().expect("a folder").join("other");
        for folder in [&other, &project.join("d/a .."), &project.join("d/a ../other"), &project.join("links")] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(other.join("x"), "ELSEWHERE\n").expect("writes");
        std::fs::write(project.join("d/a ../other/x"), "").expect("writes");
        std::os::unix::fs::symlink("../../other/x", project.join("links/x")).expect("a link");
        let call = Reply::new().tool("toolu_1", "run_command", [json!({"command": line}).to_string()]);
        program.provider.push(Answer::anthropic(call));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        let run = program.run(&["run", "--json", "--trust", "go"]);
        let sent: String = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(!run.stdout.contains("ELSEWHERE") && !sent.contains("ELSEWHERE"), "{line}");
    }
}
