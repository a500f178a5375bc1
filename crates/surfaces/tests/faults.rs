//! One set of five files, and everything that can happen to it: the program is killed at every system
//! call that touches the folder, the disk is full, broken or read-only at every one of them. Afterwards
//! all five files are as before or all are as after, the history says which, and nothing is left behind.
//!
//! The set is a `rewind` over five changes: they are taken back as one.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use trimtab_testkit::program::{Ended, Program, Running};
use trimtab_testkit::provider::{Answer, Reply};

/// Overwrites two files, makes one in a new folder, deletes one with its folder, moves one.
const WORK: &str = r#"{"reply":[{"tool":{"id":"t0","name":"read_file","input":{"path":"old/c.txt"}}},{"stop":"tool_use"}]}
{"reply":[{"tool":{"id":"t1","name":"edit_file","input":{"path":"a.txt","blocks":[{"search":"alpha","replace":"ALPHA"}]}}},{"tool":{"id":"t2","name":"write_file","input":{"path":"new/deep/b.txt","content":"beta\n"}}},{"tool":{"id":"t3","name":"delete_file","input":{"path":"old/c.txt"}}},{"tool":{"id":"t4","name":"move_file","input":{"from":"d.txt","to":"sub/d.txt"}}},{"tool":{"id":"t5","name":"edit_file","input":{"path":"sub/e.txt","blocks":[{"search":"epsilon","replace":"EPSILON"}]}}},{"stop":"tool_use"}]}
{"reply":[{"text":"It is done."},{"stop":"end_turn"}]}
"#;

/// Every file below a folder, and every folder, with what is in it.
type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("is below it").to_owned();
            if path.is_dir() {
                tree.insert(name, None);
                folders.push(path);
            } else {
                tree.insert(name, Some(std::fs::read(&path).expect("a file")));
            }
        }
    }
    tree
}

fn put(folder: &Path, tree: &Tree) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    for (name, content) in tree {
        match content {
            None => std::fs::create_dir_all(folder.join(name)).expect("a folder"),
            Some(bytes) => std::fs::write(folder.join(name), bytes).expect("a file"),
        }
    }
}

/// A program that has made its five changes, and can be put back to that moment any number of times.
struct World {
    program: Program,
    home: Tree,
    /// The files before the changes.
    original: Tree,
    /// The files with all five of them.
    changed: Tree,
    /// Every path in the project that a whole rewind uses, for strace to watch.
    paths: BTreeSet<String>,
    /// The system calls that it makes there.
    calls: BTreeSet<String>,
}

impl World {
    fn new() -> Self {
        let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        let project = program.project();
        for (name, text) in
            [("a.txt", "alpha\n"), ("old/c.txt", "gamma\n"), ("d.txt", "delta\n"), ("sub/e.txt", "epsilon\n")]
        {
            let path = project.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let original = tree(&project);
        let tape = program.home().with_file_name("tape.jsonl");
        std::fs::write(&tape, WORK).expect("a file");
        let model = format!("replay/{}", tape.display());
        let ran = program.run(&["run", "--trust", "--approve", "auto", "--model", &model, "Work"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let (changed, home) = (tree(&project), tree(&program.home()));
        assert_eq!(program.run(&["changes", "--json"]).events().len(), 5);
        let mut world = Self { program, home, original, changed, paths: BTreeSet::new(), calls: BTreeSet::new() };
        world.learn_paths();
        world
    }

    fn reset(&self) {
        put(&self.program.home(), &self.home);
        put(&self.program.project(), &self.changed);
    }

    /// Runs the rewind once under strace and notes which names it uses. They are the same each time: they
    /// come from the session, and that is put back.
    fn learn_paths(&mut self) {
        self.reset();
        let log = self.program.home().with_file_name("strace.log");
        let file = log.display().to_string();
        let ended = self.strace(&["-y", "-s", "4096", "-o", &file, "-e", "trace=%file,%desc"], &["rewind", "5"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(tree(&self.program.project()), self.original);
        let project = self.program.project().canonicalize().expect("a folder").display().to_string();
        for line in std::fs::read_to_string(&log).expect("a log").lines() {
            // `openat(7</…/project>, "a.txt"` and `write(9</…/project/.trimtab-….part>`.
            let folders = line.split('<').skip(1).filter_map(|rest| rest.split('>').next());
            let folders: Vec<&str> = folders.filter(|path| path.starts_with(&project)).collect();
            if folders.is_empty() {
                continue;
            }
            // `932   openat(…`
            self.calls
                .extend(line.split_whitespace().nth(1).and_then(|call| call.split('(').next()).map(str::to_owned));
            self.paths.extend(folders.iter().map(|path| (*path).to_owned()));
            if let (Some(folder), Some(name)) = (folders.first(), line.split('"').nth(1)) {
                self.paths.insert(format!("{folder}/{name}"));
            }
        }
        self.paths.retain(|path| !path.ends_with("(deleted)") && !path.ends_with("/."));
        self.calls.retain(|call| call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        assert!(self.paths.len() > 10, "{:?}", self.paths);
    }

    fn strace(&self, options: &[&str], arguments: &[&str]) -> Ended {
        let binary = self.program.binary().display().to_string();
        let mut all = vec!["-f", "-qq"];
        all.extend(options);
        all.push(&binary);
        all.extend(arguments);
        let mut command = self.program.command(Path::new("strace"), &all);
        Running::new(command.spawn().expect("strace is installed by scripts/test")).wait()
    }

    /// Rewinds all five, with something done to the `nth` call of this kind that touches the project. `None`:
    /// there are fewer of them.
    ///
    /// One kind of call at a time: strace counts each kind by itself.
    fn rewind_with(&self, call: &str, nth: u64, what: &str) -> Option<Ended> {
        let log = self.program.home().with_file_name("strace.log");
        let file = log.display().to_string();
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{what}:when={nth}"));
        let mut options = vec!["-o", &file, "-e", &trace, "-e", &inject];
        for path in &self.paths {
            options.extend(["-P", path]);
        }
        let ended = self.strace(&options, &["rewind", "5"]);
        let log = std::fs::read_to_string(&log).expect("a log");
        (log.contains("INJECTED") || log.contains("killed by SIGKILL")).then_some(ended)
    }

    /// How many of the five the history says are in force.
    fn in_force(&self) -> (usize, Ended) {
        let listed = self.program.run(&["changes", "--json"]);
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        (listed.events().iter().filter(|set| set["applied"] == true).count(), listed)
    }

    /// All or nothing, and the history says which; then the rest of the way works as if nothing had been.
    fn check(&self, place: &str) -> usize {
        let (in_force, _) = self.in_force();
        let files = tree(&self.program.project());
        match in_force {
            5 => assert_eq!(files, self.changed, "{place}: the history says that nothing was taken back"),
            0 => assert_eq!(files, self.original, "{place}: the history says that all was taken back"),
            other => panic!("{place}: {other} of five changes are in force"),
        }
        let (command, wanted) = if in_force == 5 { ("rewind", &self.original) } else { ("forward", &self.changed) };
        let again = self.program.run(&[command, "5"]);
        assert_eq!(again.code, Some(0), "{place}: {command}: {}", again.stderr);
        assert_eq!(&tree(&self.program.project()), wanted, "{place}: {command}");
        in_force
    }
}

/// Every call when `TRIMTAB_KILLS` is set, every `some`th otherwise.
fn stride(some: u64) -> usize {
    usize::try_from(if std::env::var_os("TRIMTAB_KILLS").is_some() { 1 } else { some }).expect("is small")
}

#[test]
fn killed_at_any_call_that_touches_the_folder_all_five_files_change_or_none() {
    let world = World::new();
    let (mut kills, mut before, mut after) = (0, 0, 0);
    for call in &world.calls {
        for nth in (1..).step_by(stride(6)) {
            world.reset();
            if world.rewind_with(call, nth, "signal=SIGKILL").is_none() {
                break;
            }
            kills += 1;
            let place = format!("killed at {call} number {nth}");
            // Whatever is called next finishes it.
            match kills % 3 {
                0 => drop(world.program.run(&["resume"])),
                1 => drop(world.program.run(&["changes"])),
                _ => {}
            }
            match world.check(&place) {
                0 => after += 1,
                _ => before += 1,
            }
        }
    }
    println!("{kills} kills at {:?}: {before} left all as before, {after} all as after", world.calls);
    assert!(kills >= 10, "only {kills} kills");
}

/// Calls with which the program changes anything, the database too.
const CALLS: [&str; 9] = ["openat", "write", "pwrite64", "fsync", "fdatasync", "unlink", "renameat2", "fcntl", "futex"];

#[test]
fn killed_at_any_call_at_all_the_next_rewind_finishes_it() {
    let world = World::new();
    let mut kills = 0;
    for call in CALLS {
        for nth in (1..).step_by(stride(16)) {
            world.reset();
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=SIGKILL:when={nth}"));
            let ended = world.strace(&["-o", "/dev/null", "-e", &trace, "-e", &inject], &["rewind", "5"]);
            if ended.code == Some(0) {
                break;
            }
            kills += 1;
            let place = format!("killed at {call} number {nth} of all");
            // The same wish again: it is done once, however far the first one came.
            let again = world.program.run(&["rewind", "5"]);
            assert_eq!(tree(&world.program.project()), world.original, "{place}: {}", again.stderr);
            assert_eq!(world.in_force().0, 0, "{place}");
            let nothing_left = again.stderr.contains("There is no change to undo.");
            assert!(again.code == Some(0) || nothing_left, "{place}: {}", again.stderr);
            world.check(&place);
        }
    }
    println!("{kills} kills");
    assert!(kills >= 5, "only {kills} kills");
}

#[test]
fn after_a_kill_resume_says_where_the_history_stands() {
    let world = World::new();
    world.reset();
    // The first exchange of names: one file is as after, four are as before.
    world.rewind_with("renameat2", 2, "signal=SIGKILL").expect("it renames");
    assert_ne!(tree(&world.program.project()), world.changed);
    let resumed = world.program.run(&["resume"]);
    let said = "An undo was interrupted: 0 of 5 changes are applied.";
    assert!(resumed.stderr.contains(said), "{}", resumed.stderr);
    assert_eq!(tree(&world.program.project()), world.original);
    let again = world.program.run(&["resume"]);
    assert!(!again.stderr.contains("cut off"), "it is said once: {}", again.stderr);
}

#[test]
fn after_a_kill_the_next_request_waits_until_the_move_is_finished() {
    let world = World::new();
    world.reset();
    world.rewind_with("renameat2", 2, "signal=SIGKILL").expect("it renames");
    world.program.provider.always(Answer::anthropic(Reply::new().text(["Yes."])));
    let model = ["--model", "anthropic/claude-sonnet-4-5"];
    let ended = world.program.run(&["run", "--continue", "--trust", model[0], model[1], "Is it done?"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"), "{}", ended.stderr);
    assert_eq!(tree(&world.program.project()), world.original);
    let sent = world.program.provider.requests()[0].body["messages"].to_string();
    assert!(sent.contains("[The user undid the change of a.txt.]"), "the model knows: {sent}");
    assert_eq!(world.in_force().0, 0);
}

#[test]
fn a_move_that_was_cut_off_is_taken_back_when_a_file_was_edited_since() {
    let world = World::new();
    world.reset();
    world.rewind_with("renameat2", 2, "signal=SIGKILL").expect("it renames");
    std::fs::write(world.program.project().join("sub/e.txt"), "mine\n").expect("a file");
    let listed = world.program.run(&["changes"]);
    assert!(listed.stderr.contains("cannot be finished: sub/e.txt"), "{}", listed.stderr);
    assert!(listed.stderr.contains("5 of 5 changes are applied."), "{}", listed.stderr);
    let mut wanted = world.changed.clone();
    wanted.insert("sub/e.txt".into(), Some(b"mine\n".to_vec()));
    assert_eq!(tree(&world.program.project()), wanted);
}

#[test]
fn a_full_broken_or_read_only_disk_at_any_call_changes_nothing_and_is_said() {
    let world = World::new();
    let (mut faults, mut refused) = (0, 0);
    for (error, words) in
        [("ENOSPC", "No space left on device"), ("EIO", "Input/output error"), ("EROFS", "Read-only file system")]
    {
        for call in ["openat", "write", "fsync", "renameat", "renameat2", "mkdirat", "unlinkat", "fchmod"] {
            for nth in (1..).step_by(stride(4)) {
                world.reset();
                let Some(ended) = world.rewind_with(call, nth, &format!("error={error}")) else { break };
                faults += 1;
                let place = format!("{error} at {call} number {nth}");
                let files = tree(&world.program.project());
                if ended.code == Some(0) {
                    // What is left to do when all files are in place, such as removing what was kept and
                    // folders that have become empty, may fail: nobody's file depends on it.
                    let files_of = |tree: &Tree| -> Tree {
                        let is_file =
                            |(name, content): &(&PathBuf, &Option<Vec<u8>>)| content.is_some() && !is_ours(name);
                        tree.iter().filter(is_file).map(|(name, content)| (name.clone(), content.clone())).collect()
                    };
                    assert_eq!(files_of(&files), files_of(&world.original), "{place}: it says that all is done");
                    continue;
                }
                refused += 1;
                assert_eq!(ended.code, Some(1), "{place}: {}", ended.stderr);
                assert!(ended.stderr.contains(words), "{place}: {}", ended.stderr);
                assert_eq!(files, world.changed, "{place}: {}", ended.stderr);
                world.check(&place);
            }
        }
    }
    println!("{faults} faults, {refused} of them refused the set");
    assert!(refused >= 10, "only {refused} refusals of {faults}");
}

fn is_ours(name: &Path) -> bool {
    name.components().any(|part| part.as_os_str().to_string_lossy().starts_with(".trimtab-"))
}
