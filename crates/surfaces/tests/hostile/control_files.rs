//! Edits of files that other programs run or obey.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

/// Files that other programs run or obey: an edit of them asks, with default settings.
mod plain_edits {
    use serde_json::{Value, json};
    use trimtab_testkit::program::{Ended, Program};
    use trimtab_testkit::provider::{Answer, Reply};

    use crate::planted::user;

    fn program() -> Program {
        Program::new(env!("CARGO_BIN_EXE_trimtab"))
    }

    fn write(program: &Program, path: &str, text: &str) {
        let path = program.project().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("writes");
    }

    /// Has the model do this with default settings, and nobody there.
    fn does(program: &Program, calls: &[(&str, Value)]) -> Ended {
        let mut reply = Reply::new().text(["I work on it."]);
        for (number, (tool, input)) in calls.iter().enumerate() {
            reply = reply.tool(format!("toolu_{number}"), *tool, [input.to_string()]);
        }
        program.provider.push(Answer::anthropic(reply));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        program.run(&["run", "--json", "--trust", "go"])
    }

    fn class(run: &Ended) -> Value {
        let events = run.events();
        let opened = events.iter().find(|event| event["type"] == "checkpoint.opened");
        opened.map(|event| event["class"].clone()).unwrap_or_default()
    }

    #[test]
    fn a_plain_edit_never_becomes_what_another_program_runs() {
        for path in [
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".husky/pre-commit",
            ".vscode/tasks.json",
            ".venv/bin/activate",
            "node_modules/.bin/tsc",
            "gradlew",
            ".devcontainer.json",
            ".mcp.json",
            ".nvim.lua",
            "mise.toml",
            "lefthook.yml",
            "Jenkinsfile",
            ".forgejo/workflows/x.yml",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".tmux.conf",
            "CLAUDE.md",
        ] {
            let program = program();
            let run = does(&program, &[("write_file", json!({"path": path, "content": "evil\n"}))]);
            assert_eq!(run.code, Some(3), "{path}: {}", run.stderr);
            assert_eq!(class(&run), "control_file", "{path}");
            assert!(!program.project().join(path).exists(), "{path} was written unasked");
        }
    }

    #[test]
    fn a_repository_under_another_name_is_not_changed_unasked() {
        let blocks = json!([{"search": "\tbare = false", "replace": "\tbare = false\n\tfsmonitor = id"}]);
        for (tool, input) in [
            ("edit_file", json!({"path": ".bare/config", "blocks": blocks})),
            ("write_file", json!({"path": ".bare/hooks/pre-commit", "content": "id\n"})),
        ] {
            let program = program();
            write(&program, ".git", "gitdir: ./.bare\n");
            write(&program, ".bare/HEAD", "ref: refs/heads/main\n");
            write(&program, ".bare/config", "[core]\n\tbare = false\n");
            std::fs::create_dir_all(program.project().join(".bare/objects")).expect("a folder");
            std::fs::create_dir_all(program.project().join(".bare/refs")).expect("a folder");
            let run = does(&program, &[(tool, input)]);
            assert_eq!((run.code, class(&run)), (Some(3), json!("control_file")), "{tool}: {}", run.stderr);
            let config = std::fs::read_to_string(program.project().join(".bare/config")).expect("reads");
            assert!(!config.contains("fsmonitor"), "{config}");
            assert!(!program.project().join(".bare/hooks").exists());
        }
    }

    /// Lets the model rewrite a file that it has read; it must ask, and what it would have written must be what git runs.
    #[track_caller]
    fn asks_before_git_obeys(config: &str, files: &[(&str, &str)], path: &str, content: &str, use_it: &str) {
        let program = program();
        assert!(user(&program, "git init -q ."), "a repository");
        let git_config = program.project().join(".git/config");
        let settings = std::fs::read_to_string(&git_config).expect("reads") + config;
        std::fs::write(&git_config, settings).expect("writes");
        for (path, text) in files.iter().chain([&("a.txt", "a\n")]) {
            write(&program, path, text);
        }
        assert!(user(&program, &format!("chmod +x {path}")));
        let outside = program.project().parent().expect("a folder above").join("pwned");
        let content = content.replace("OUTSIDE", &outside.display().to_string());
        let input = json!({"path": path, "content": content});
        let run = does(&program, &[("read_file", json!({"path": path})), ("write_file", input)]);
        assert_eq!((run.code, class(&run)), (Some(3), json!("control_file")), "{config}: {}", run.stderr);
        user(&program, use_it);
        assert!(!outside.exists(), "{config}: {path} was written unasked");
        write(&program, path, &content);
        user(&program, use_it);
        assert!(outside.exists(), "{config}: git would run it");
    }

    #[test]
    fn no_spelling_of_the_hooks_folder_is_edited_unasked() {
        let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm one";
        let hook = "#!/bin/sh\nid > OUTSIDE\n";
        for value in ["tools/hk ; c", "tools/hk # c", "\"tools\"/hk", "to\\\nols/hk"] {
            let config = format!("[core]\n\thooksPath = {value}\n");
            let files = [("tools/hk/pre-commit", "#!/bin/sh\n")];
            asks_before_git_obeys(&config, &files, "tools/hk/pre-commit", hook, commit);
        }
        let files = [("inc.cfg", "[core]\nhooksPath = tools/hk\n"), ("tools/hk/pre-commit", "#!/bin/sh\n")];
        let config = "[include]\n\tpath = ../inc.cfg\n";
        asks_before_git_obeys(config, &files, "tools/hk/pre-commit", hook, commit);
    }

    #[test]
    fn included_settings_are_never_edited_unasked() {
        let evil = "[core]\n\tfsmonitor = \"id > OUTSIDE; false\"\n";
        let files = [("inc.cfg", "[include]\n\tpath = sub/two.cfg # c\n"), ("sub/two.cfg", "# two\n")];
        for (value, path) in
            [("../inc.cfg", "inc.cfg"), ("\"../inc.cfg\" ; x", "inc.cfg"), ("../inc.cfg # c", "sub/two.cfg")]
        {
            let config = format!("[include]\n\tpath = {value}\n");
            asks_before_git_obeys(&config, &files, path, evil, "git status");
        }
        let config = "[core]\n\tfsmonitor = ./tools/watch.sh\n";
        let files = [("tools/watch.sh", "#!/bin/sh\nexit 1\n")];
        asks_before_git_obeys(config, &files, "tools/watch.sh", "#!/bin/sh\nid > OUTSIDE\n", "git status");
    }

    #[test]
    fn what_a_linked_control_file_leads_to_is_never_edited_unasked() {
        for (link, to, path) in [("CLAUDE.md", "docs/g.md", "docs/g.md"), (".vscode", "cfg", "cfg/tasks.json")] {
            let program = program();
            write(&program, path, "old\n");
            std::os::unix::fs::symlink(to, program.project().join(link)).expect("linked");
            let input = json!({"path": path, "content": "evil\n"});
            let run = does(&program, &[("read_file", json!({"path": path})), ("write_file", input)]);
            assert_eq!((run.code, class(&run)), (Some(3), json!("control_file")), "{path}: {}", run.stderr);
            assert_eq!(std::fs::read_to_string(program.project().join(path)).expect("reads"), "old\n");
        }
    }

    #[test]
    fn four_plain_files_never_make_a_folder_a_repository() {
        let program = program();
        let file = |path: &str, content: &str| ("write_file", json!({"path": path, "content": content}));
        let run = does(
            &program,
            &[
                file("docs/HEAD", "ref: refs/heads/main\n"),
                file("docs/config", "[core]\n\tfsmonitor = id\n"),
                file("docs/objects/x", "x\n"),
                file("docs/refs/x", "x\n"),
            ],
        );
        assert_eq!((run.code, class(&run)), (Some(3), json!("control_file")), "{}", run.stderr);
        let whole = ["HEAD", "objects", "refs"].iter().all(|name| program.project().join("docs").join(name).exists());
        assert!(!whole, "the last file that makes it a repository is asked about");
    }

    #[test]
    fn a_file_is_never_emptied_unasked() {
        let program = program();
        write(&program, "notes.txt", "years of work\n");
        let read = ("read_file", json!({"path": "notes.txt"}));
        let run = does(&program, &[read, ("write_file", json!({"path": "notes.txt", "content": ""}))]);
        assert_eq!((run.code, class(&run)), (Some(3), json!("delete")), "{}", run.stderr);
        let kept = std::fs::read_to_string(program.project().join("notes.txt")).expect("reads");
        assert_eq!(kept, "years of work\n");
    }

    #[test]
    fn an_ordinary_edit_asks_nothing() {
        let program = program();
        for path in ["src/main.rs", "Makefile", "package.json", "docs/config", "HEAD", ".gitignore"] {
            let run = does(&program, &[("write_file", json!({"path": path, "content": "x\n"}))]);
            assert_eq!(run.code, Some(0), "{path}: {}", run.stdout);
        }
    }
}
