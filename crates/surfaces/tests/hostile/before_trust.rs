//! What is read before a folder is trusted, and reads that never end.

mod reads {
    //! Nothing of a folder is opened before the person trusts it, and nothing in it is read without end afterwards.

    #![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::process::Command;

    use trimtab_testkit::program::Program;
    use trimtab_testkit::terminal::Terminal;

    /// Something else in place of `.git`.
    fn put_git(folder: &Path, kind: &str) {
        match kind {
            "fifo" => assert!(Command::new("mkfifo").arg(folder.join(".git")).status().expect("runs").success()),
            "/dev/zero" => symlink("/dev/zero", folder.join(".git")).expect("a link"),
            _ => {
                let elsewhere = folder.parent().expect("one").join("elsewhere");
                fs::create_dir_all(&elsewhere).expect("a folder");
                fs::write(elsewhere.join("HEAD"), "ref: refs/heads/somebody-elses\n").expect("a file");
                fs::write(folder.join(".git"), format!("gitdir: {}\n", elsewhere.display())).expect("a file");
            }
        }
    }

    fn trust(program: &mut Program) {
        let folder = program.project().canonicalize().expect("a folder");
        program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    }

    #[test]
    fn no_kind_of_git_file_holds_the_terminal_or_leads_elsewhere() {
        for kind in ["fifo", "/dev/zero", "pointer"] {
            for trusted in [false, true] {
                let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
                put_git(&program.project(), kind);
                if trusted {
                    trust(&mut program);
                }
                let terminal = Terminal::start(&program, &[], 100, 24);
                terminal.wait_for("press ? for all keys");
                assert!(!terminal.settled().contains("somebody-elses"), "{kind}, trusted: {trusted}");
            }
        }
    }

    #[test]
    fn the_branch_is_shown_once_the_folder_is_trusted_and_not_before() {
        let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        fs::create_dir(program.project().join(".git")).expect("a folder");
        fs::write(program.project().join(".git/HEAD"), "ref: refs/heads/topic\n").expect("a file");
        let terminal = Terminal::start(&program, &[], 140, 24);
        terminal.wait_for("press ? for all keys");
        assert!(!terminal.settled().contains("topic"));
        trust(&mut program);
        Terminal::start(&program, &[], 140, 24).wait_for("topic");
    }

    #[test]
    fn nothing_of_the_folder_is_opened_before_trust() {
        let place = tempfile::tempdir().expect("a folder");
        let (wrapper, log) = (place.path().join("trimtab"), place.path().join("opened"));
        let script = format!(
            "#!/bin/sh\nexec strace -f -qq -o {} -e trace=open,openat,openat2 {} \"$@\"\n",
            log.display(),
            env!("CARGO_BIN_EXE_trimtab")
        );
        fs::write(&wrapper, script).expect("a file");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("may run");
        let opened = |program: &Program| {
            let _ = fs::remove_file(&log);
            let terminal = Terminal::start(program, &[], 100, 24);
            terminal.wait_for("press ? for all keys");
            terminal.press("look at @no");
            terminal.wait_for("@no");
            let shown = terminal.settled();
            drop(terminal);
            let folder = program.project().canonicalize().expect("a folder");
            let text = fs::read_to_string(&log).expect("strace is installed by scripts/test");
            assert!(text.contains("openat("), "{text}");
            let inside: Vec<String> =
                text.lines().filter(|line| line.contains(&*folder.to_string_lossy())).map(str::to_owned).collect();
            (inside, shown)
        };
        let mut program = Program::new(&wrapper);
        fs::create_dir_all(program.project().join(".git/info")).expect("a folder");
        for (path, text) in [
            (".git/HEAD", "ref: refs/heads/topic\n"),
            (".git/info/exclude", "x\n"),
            (".gitignore", "y\n"),
            ("notes.md", ""),
        ] {
            fs::write(program.project().join(path), text).expect("a file");
        }
        let (inside, shown) = opened(&program);
        assert!(inside.is_empty(), "{inside:#?}");
        assert!(!shown.contains("notes.md"), "{shown}");
        trust(&mut program);
        let (inside, shown) = opened(&program);
        assert!(inside.iter().any(|line| line.contains(".git/HEAD")), "the test sees what is opened: {inside:#?}");
        assert!(shown.contains("notes.md"), "{shown}");
    }
}
