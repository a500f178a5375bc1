//! Nothing is lost: what a command that nobody was asked about destroys comes back, or the command does not reach it.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

/// A program whose commands run without a question where the policy allows it.
fn program(files: &[(&str, &str)]) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_APPLY_COMMANDS", "auto");
    for (path, text) in files {
        write(&program, path, text.as_bytes());
    }
    program
}

fn write(program: &Program, path: &str, bytes: &[u8]) {
    let path = program.project().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("is made");
    fs::write(path, bytes).expect("a file");
}

fn calls(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().text(["."]).tool("toolu_1", name, [input.to_string()]))
}

/// What comes of these commands, one after the other; nobody is there to be asked.
fn run(program: &Program, commands: &[&str]) -> Ended {
    for command in commands {
        program.provider.push(calls("run_command", json!({"command": command})));
    }
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    program.run(&["run", "--json", "--trust", "work"])
}

fn undo_all(program: &Program) {
    for _ in 0..4 {
        program.run(&["rewind"]);
    }
}

fn text(program: &Program, path: &str) -> Option<String> {
    fs::read_to_string(program.project().join(path)).ok()
}

const IGNORE: &str = "*.sqlite\ndata/\n*.bin\n";

#[test]
fn cp_over_an_ignored_file_is_never_final() {
    let program = program(&[(".gitignore", IGNORE), ("note.txt", "note"), ("prod.sqlite", "rows")]);
    run(&program, &["cp note.txt prod.sqlite"]);
    undo_all(&program);
    assert_eq!(text(&program, "prod.sqlite").as_deref(), Some("rows"));
}

#[test]
fn mv_over_a_large_file_is_never_final() {
    let program = program(&[("b.txt", "small")]);
    let large = vec![b'x'; 2 << 20];
    write(&program, "big.bin", &large);
    run(&program, &["mv b.txt big.bin"]);
    undo_all(&program);
    assert!(fs::read(program.project().join("big.bin")).expect("is there") == large);
    assert_eq!(text(&program, "b.txt").as_deref(), Some("small"));
}

#[test]
fn a_test_run_that_deletes_ignored_data_is_never_final() {
    let makefile = "test:\n\t@rm -rf data; echo gone > prod.sqlite\n";
    let program = program(&[
        ("Makefile", makefile),
        (".gitignore", IGNORE),
        ("data/a.csv", "1,2"),
        ("data/deep/b.csv", "3"),
        ("prod.sqlite", "rows"),
    ]);
    let ended = run(&program, &["make test"]);
    undo_all(&program);
    for (path, was) in [("data/a.csv", "1,2"), ("data/deep/b.csv", "3"), ("prod.sqlite", "rows")] {
        assert_eq!(text(&program, path).as_deref(), Some(was), "{path}: {}", ended.stderr);
    }
}

#[test]
fn a_file_too_large_for_undo_cannot_be_destroyed_unasked() {
    let makefile = "test:\n\t@rm -f prod.sqlite; : > prod.sqlite; rm -rf data; mv data elsewhere; echo ran > ran\n";
    let program = program(&[("Makefile", makefile), (".gitignore", IGNORE), ("note.txt", "note"), ("data/a", "1")]);
    let large = |path: &str| {
        let file = fs::File::create(program.project().join(path)).expect("a file");
        file.set_len(100 << 20).expect("as large as that");
    };
    large("prod.sqlite");
    large("data/b.bin");
    // The first names the file, and somebody must be asked; the second may run, and does not get at it.
    run(&program, &["cp note.txt prod.sqlite"]);
    run(&program, &["make test"]);
    for path in ["prod.sqlite", "data/b.bin"] {
        let size = fs::metadata(program.project().join(path)).map(|found| found.len()).ok();
        assert_eq!(size, Some(100 << 20), "{path}");
    }
}

#[test]
fn a_test_run_that_overwrites_a_file_with_a_huge_one_is_never_final() {
    let program = program(&[("Makefile", "test:\n\t@truncate -s 100M notes.txt\n"), ("notes.txt", "mine")]);
    run(&program, &["make test"]);
    undo_all(&program);
    assert_eq!(text(&program, "notes.txt").as_deref(), Some("mine"));
}

/// A project with a package whose file is also in a store that all projects share.
fn shared_store() -> (Program, tempfile::TempDir) {
    let makefile = "test:\n\t@echo evil >> node_modules/lib/index.js; chmod 777 node_modules/lib/index.js; \
                    echo evil >> kept/index.js; echo ran > ran\n";
    let program = program(&[
        ("Makefile", makefile),
        (".gitignore", "node_modules/\n"),
        ("evil.txt", "evil"),
        ("kept/README", "r"),
        ("node_modules/lib/index.js", "good"),
    ]);
    let store = tempfile::tempdir().expect("a store");
    fs::hard_link(program.project().join("node_modules/lib/index.js"), store.path().join("index.js")).expect("a link");
    fs::hard_link(store.path().join("index.js"), program.project().join("kept/index.js")).expect("a link");
    (program, store)
}

#[test]
fn hard_links_never_lead_out_of_the_folder() {
    for command in ["cp evil.txt node_modules/lib/index.js", "cp evil.txt kept/index.js", "make test"] {
        let (program, store) = shared_store();
        run(&program, &[command]);
        assert_eq!(fs::read_to_string(store.path().join("index.js")).expect("is there"), "good", "{command}");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(store.path().join("index.js")).expect("is there").permissions(),
        );
        assert_eq!(mode & 0o777, 0o644, "{command}");
    }
}

#[test]
fn package_folders_of_their_own_do_not_keep_tests_from_running() {
    let program = program(&[
        ("Makefile", "test:\n\t@echo cache > node_modules/.cache; echo ran > ran\n"),
        (".gitignore", "node_modules/\n"),
        ("node_modules/lib/index.js", "good"),
    ]);
    let ended = run(&program, &["make test"]);
    assert_eq!(text(&program, "ran").as_deref(), Some("ran\n"), "{}", ended.stderr);
}

/// Makes a file that never ends, of one kind or the other.
fn endless(path: &Path, kind: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("is made");
    match kind {
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().expect("runs").success()),
        _ => symlink("/dev/zero", path).expect("a link"),
    }
}

#[test]
fn ignore_files_that_never_end_do_not_hold_a_look_or_a_snapshot() {
    for place in [".gitignore", "sub/.ignore", ".git/info/exclude"] {
        for kind in ["fifo", "/dev/zero"] {
            let program = program(&[("a.txt", "needle"), ("sub/b.txt", "needle"), ("Makefile", "test:\n\t@true\n")]);
            endless(&program.project().join(place), kind);
            for (name, input) in [
                ("search", json!({"pattern": "needle"})),
                ("list_files", json!({"path": "."})),
                ("find_files", json!({"pattern": "**/*.txt"})),
                ("run_command", json!({"command": "make test"})),
            ] {
                program.provider.push(calls(name, input));
            }
            program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
            let start = Instant::now();
            let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "look"]);
            assert!(start.elapsed() < Duration::from_secs(20), "{place} {kind} took {:?}", start.elapsed());
            let told: String =
                program.provider.requests().iter().map(|request| request.body["messages"].to_string()).collect();
            assert!(told.contains("a.txt:1:needle"), "{place} {kind}: {told} {}", ended.stderr);
            assert!(told.contains("sub/b.txt"), "{place} {kind}: {told}");
        }
    }
}

#[test]
fn edits_make_no_files_whose_names_deceive() {
    let names = [
        "-rf",
        "src/--help",
        ".g\u{200b}it/config",
        "a\u{202e}txt.exe",
        "\u{feff}Makefile",
        "tag\u{e0041}.rs",
        "a ",
        " b/c",
    ];
    for name in names {
        let program = program(&[]);
        program.provider.push(calls("write_file", json!({"path": name, "content": "x"})));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        program.run(&["run", "--trust", "--approve", "auto", "work"]);
        assert!(!program.project().join(name).exists(), "{name:?}");
        let told = program.provider.requests().last().expect("a request").body["messages"].to_string();
        assert!(told.contains("was not created"), "{name:?}: {told}");
    }
}

/// What comes of these edits and then of a test run.
fn edit_and_test(program: &Program, edits: &[(&str, &str)]) -> Ended {
    for (path, content) in edits {
        program.provider.push(calls("write_file", json!({"path": path, "content": content})));
    }
    program.provider.push(calls("run_command", json!({"command": "make test"})));
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    program.run(&["run", "--json", "--trust", "--approve", "auto", "work"])
}

#[test]
fn edits_never_turn_undo_off_for_folders_that_were_there() {
    let folders = ["dist", "build", "target", "node_modules", ".venv", "x/out"];
    let own: Vec<String> = folders.iter().map(|folder| format!("{folder}/mine.txt")).collect();
    let makefile = "test:\n\t@rm -rf dist build target node_modules x/out; echo lost > .venv/mine.txt\n";
    let mut files = vec![("Makefile", makefile)];
    files.extend(own.iter().map(|path| (path.as_str(), "mine")));
    let program = program(&files);
    let edits = [
        (".gitignore", "dist/\nbuild/\ntarget/\nnode_modules/\n.venv/\n"),
        ("x/.gitignore", "out/\n"),
        ("package.json", "{}"),
        ("x/package.json", "{}"),
        ("Cargo.toml", ""),
        (".venv/pyvenv.cfg", ""),
    ];
    let ended = edit_and_test(&program, &edits);
    program.run(&["rewind"]);
    for path in &own {
        assert_eq!(text(&program, path).as_deref(), Some("mine"), "{path}: {}{}", ended.stdout, ended.stderr);
    }
}

#[test]
fn a_package_folder_by_name_alone_is_never_lost() {
    let makefile = "test:\n\t@rm -rf node_modules .venv\n";
    let own = ["node_modules/mine.txt", ".venv/mine.txt"];
    let program = program(&[
        ("Makefile", makefile),
        (".gitignore", "node_modules/\n.venv/\n"),
        (own[0], "mine"),
        (own[1], "mine"),
    ]);
    run(&program, &["make test"]);
    undo_all(&program);
    for path in own {
        assert_eq!(text(&program, path).as_deref(), Some("mine"), "{path}");
    }
}

#[test]
fn a_command_never_keeps_its_own_rewind_from_working() {
    let makefile = "test:\n\t@rm -f p1.txt; ln -sf /etc/passwd f.txt; rm -rf d; ln -s /etc d; rm -rf e; ln -s src e; \
                    rm g.txt; mkdir -p g.txt/deep; echo 1 > g.txt/deep/x; rm h.txt; mkdir h.txt; rm -rf k; echo 1 > k\n";
    let own = ["p1.txt", "f.txt", "d/a.txt", "d/deep/b.txt", "e/a.txt", "g.txt", "h.txt", "k/a.txt", "src/a.txt"];
    let mut files = vec![("Makefile", makefile)];
    files.extend(own.iter().map(|path| (*path, *path)));
    let program = program(&files);
    run(&program, &["make test"]);
    assert!(program.project().join("d").is_symlink() && program.project().join("g.txt").is_dir(), "it ran");
    let ended = program.run(&["rewind"]);
    for path in own {
        assert_eq!(text(&program, path).as_deref(), Some(path), "{path}: {}{}", ended.stdout, ended.stderr);
        assert!(!program.project().join(path).is_symlink(), "{path}");
    }
}

#[test]
fn a_rewind_never_overwrites_what_a_person_made_of_a_link_or_a_folder() {
    let makefile = "test:\n\t@ln -sf /etc/passwd f.txt; rm g.txt; mkdir g.txt; echo 1 > g.txt/x\n";
    let program = program(&[("Makefile", makefile), ("f.txt", "f"), ("g.txt", "g")]);
    run(&program, &["make test"]);
    write(&program, "g.txt/mine", b"mine");
    program.run(&["rewind"]);
    assert_eq!(text(&program, "g.txt/mine").as_deref(), Some("mine"));
    assert_eq!(text(&program, "g.txt/x").as_deref(), Some("1\n"), "all of it or nothing");
    assert!(program.project().join("f.txt").is_symlink(), "all of it or nothing");
}

#[test]
fn a_secret_is_never_hidden_without_a_word() {
    for end in ["true", "false"] {
        let makefile = format!("test:\n\t@cat .env; {end}\n");
        let program = program(&[("Makefile", &makefile), (".env", "KEY=hunter2")]);
        run(&program, &["make test"]);
        let told = program.provider.requests().last().expect("a request").body["messages"].to_string();
        assert!(told.contains("Hidden from this command because it ran without approval: `.env`."), "{told}");
        assert!(!told.contains("hunter2") && !told.contains("Read-only for this command"), "{told}");
    }
}
