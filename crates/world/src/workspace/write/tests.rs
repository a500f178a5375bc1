use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use trimtab_vocab::{Approval, Approved, FileSet, FileState, FileWrite};

use super::*;

mod races;

/// A folder, the bytes that the store would have, and a set.
struct World {
    base: tempfile::TempDir,
    folder: Folder,
    store: HashMap<String, Vec<u8>>,
    writes: Vec<FileWrite>,
}

impl World {
    fn new() -> Self {
        Self::on(tempfile::tempdir().unwrap())
    }

    /// Where nothing waits for a disk, if there is such a place: for sets of thousands.
    fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        Self::on(if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap())
    }

    fn on(base: tempfile::TempDir) -> Self {
        fs::create_dir(base.path().join("in")).unwrap();
        let folder = Folder::open(base.path().join("in")).unwrap();
        Self { base, folder, store: HashMap::new(), writes: Vec::new() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.path().join("in").join(path)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o644)).unwrap();
        self
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn state(&mut self, text: &str, mode: u32) -> FileState {
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        self.store.insert(hash.clone(), text.into());
        FileState { hash, mode }
    }

    fn change(&mut self, path: &str, before: Option<&str>, after: Option<&str>) -> &mut Self {
        self.change_mode(path, before.map(|text| (text, 0o644)), after.map(|text| (text, 0o644)))
    }

    fn change_mode(&mut self, path: &str, before: Option<(&str, u32)>, after: Option<(&str, u32)>) -> &mut Self {
        let before = before.map(|(text, mode)| self.state(text, mode));
        let after = after.map(|(text, mode)| self.state(text, mode));
        self.writes.push(FileWrite { path: path.into(), before, after, added: 0, removed: 0, modified: 0 });
        self
    }

    fn set(&self) -> FileSet {
        let folder = self.folder.path().to_str().unwrap().to_owned();
        FileSet { change_set: "s1".parse().unwrap(), folder, writes: self.writes.clone() }
    }

    fn run(&self, set: FileSet, gate: Gate<'_>) -> Result<WrittenSet, Refused> {
        let plan = FilePlan::new(Approved::witness(set, Approval::Answer));
        apply_at(&self.folder, &plan, &|hash| self.store.get(hash).cloned(), gate)
    }

    fn apply(&self) -> Result<WrittenSet, Refused> {
        self.run(self.set(), &|_, _| Ok(()))
    }

    fn apply_first(&self) -> Result<WrittenSet, Refused> {
        let plan = FilePlan::new(Approved::witness(self.set(), Approval::Answer)).as_first_attempt();
        apply(&self.folder, &plan, &|hash| self.store.get(hash).cloned())
    }

    fn undo(&self) -> Result<WrittenSet, Refused> {
        self.run(self.set().reversed("s2".parse().unwrap()), &|_, _| Ok(()))
    }

    /// Runs until the `k`th step and is killed there; whether it was.
    fn killed_at(&self, k: usize) -> bool {
        let count = Cell::new(0);
        let gate = |_: WriteStep, _: &str| {
            count.set(count.get() + 1);
            if count.get() > k {
                resume_unwind(Box::new("killed"));
            }
            Ok(())
        };
        catch_unwind(AssertUnwindSafe(|| self.run(self.set(), &gate))).is_err()
    }

    /// Every path below the folder, with its bytes and its mode.
    fn tree(&self) -> BTreeMap<String, String> {
        fn add(dir: &Path, base: &Path, tree: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
                let meta = fs::symlink_metadata(&path).unwrap();
                if meta.is_dir() {
                    tree.insert(name, "dir".into());
                    add(&path, base, tree);
                } else if meta.is_symlink() {
                    tree.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    tree.insert(name, format!("{:o} {text}", meta.mode() & 0o7777));
                }
            }
        }
        let mut tree = BTreeMap::new();
        add(&self.at(""), &self.at(""), &mut tree);
        tree
    }
}

#[test]
fn a_first_attempt_refuses_what_somebody_else_has_done_already() {
    for (before, after) in [(Some("old"), None), (None, Some("new")), (Some("old"), Some("new"))] {
        let mut world = World::new();
        world.file("other.txt", "o1");
        world.change("a.txt", before, after).change("other.txt", Some("o1"), Some("o2"));
        if let Some(text) = after {
            world.file("a.txt", text);
        }
        let tree = world.tree();
        let refused = world.apply_first().unwrap_err();
        assert!(matches!(&refused.why, Why::Conflict { path, .. } if path == "a.txt"), "{refused:?}");
        assert_eq!(world.tree(), tree, "what somebody else did is theirs: it is not taken back");
        // A killed run may have done just this, so a later attempt finishes the set.
        assert_eq!(world.apply().unwrap().files[0].how, ChangeKind::AlreadyDone);
    }
}

#[test]
fn a_first_attempt_that_cannot_read_a_file_leaves_what_somebody_else_has_done() {
    if rustix::process::geteuid().is_root() {
        return; // Root may read everything.
    }
    let mut world = World::new();
    world.file("a.txt", "new").file("locked.txt", "l1");
    world.change("a.txt", Some("old"), Some("new")).change("locked.txt", Some("l1"), Some("l2"));
    fs::set_permissions(world.at("locked.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    let refused = world.apply_first().unwrap_err();
    assert!(matches!(&refused.why, Why::System { path, .. } if path == "locked.txt"), "{refused:?}");
    assert_eq!(world.text("a.txt"), "new", "somebody else made this change");
}

#[test]
fn a_first_attempt_writes_files_that_are_as_they_were() {
    let mut world = World::new();
    world.file("a.txt", "old").file("same.txt", "same");
    world.change("a.txt", Some("old"), None).change("b.txt", None, Some("new"));
    world.change("same.txt", Some("same"), Some("same"));
    world.apply_first().unwrap();
    assert_eq!(
        (world.at("a.txt").exists(), world.text("b.txt"), world.text("same.txt")),
        (false, "new".into(), "same".into())
    );
}

/// One of each: two overwritten, one through a link, two made in new directories, one deleted with its directory, one chmod.
fn one_of_each() -> World {
    let mut world = World::new();
    world.file("a.txt", "a1").file("deep/b.txt", "b1").file("old/c.txt", "c1").file("tool.sh", "t").file("keep/k", "k");
    fs::create_dir(world.at("empty")).unwrap();
    symlink("deep/b.txt", world.at("link")).unwrap();
    world.change("a.txt", Some("a1"), Some("a2"));
    world.change("new/x/d.txt", None, Some("d2"));
    world.change("new/x/e.txt", None, Some("e2"));
    world.change("link", Some("b1"), Some("b2"));
    world.change("old/c.txt", Some("c1"), None);
    world.change("empty/f.txt", None, Some("f2"));
    world.change_mode("tool.sh", Some(("t", 0o644)), Some(("t", 0o755)));
    world
}

#[test]
fn a_set_is_written_and_taken_back_without_a_trace() {
    let world = one_of_each();
    let before = world.tree();
    let done = world.apply().unwrap();
    let how: Vec<ChangeKind> = done.files.iter().map(|file| file.how).collect();
    use ChangeKind::*;
    assert_eq!(how, [Overwritten, Created, Created, Overwritten, Deleted, Created, Overwritten]);
    let after: Vec<(String, String)> = world.tree().into_iter().collect();
    let text: Vec<String> = after.iter().map(|(path, what)| format!("{path} {what}")).collect();
    assert_eq!(
        text,
        [
            "a.txt 644 a2",
            "deep dir",
            "deep/b.txt 644 b2",
            "empty dir",
            "empty/f.txt 644 f2",
            "keep dir",
            "keep/k 644 k",
            "link -> deep/b.txt",
            "new dir",
            "new/x dir",
            "new/x/d.txt 644 d2",
            "new/x/e.txt 644 e2",
            "tool.sh 755 t",
        ]
    );
    world.undo().unwrap();
    let mut without_the_empty_one = before;
    without_the_empty_one.remove("empty");
    assert_eq!(world.tree(), without_the_empty_one);
}

#[test]
fn a_run_killed_at_any_step_is_finished_by_the_next() {
    let clean = one_of_each();
    clean.apply().unwrap();
    let after = clean.tree();
    let mut k = 0;
    loop {
        let world = one_of_each();
        let killed = world.killed_at(k);
        world.apply().unwrap_or_else(|refused| panic!("killed at {k}: {refused}"));
        assert_eq!(world.tree(), after, "killed at step {k}");
        if !killed {
            break;
        }
        k += 1;
    }
    assert!(k > 40, "only {k} steps were seen");
}

#[test]
fn a_run_killed_at_any_step_is_taken_back_when_a_file_has_changed_meanwhile() {
    let mut k = 0;
    loop {
        let world = one_of_each();
        let before = world.tree();
        let killed = world.killed_at(k);
        let left = world.tree();
        let complete = left.contains_key("new/x/d.txt") && !left.keys().any(|path| path.ends_with(".made"));
        // tool.sh is the last file: everything else may have been written by then.
        world.file("tool.sh", "edited");
        let refused = world.apply().unwrap_err();
        assert!(matches!(&refused.why, Why::Conflict { path, .. } if path == "tool.sh"), "{k}: {refused}");
        assert!(refused.is_clean(), "{k}: {refused}");
        let mut wanted = before;
        wanted.insert("tool.sh".into(), "644 edited".into());
        if complete {
            // Whose the directories are could no longer be known, so they stay, and are empty.
            wanted.extend([("new".into(), "dir".into()), ("new/x".into(), "dir".into())]);
        }
        assert_eq!(world.tree(), wanted, "killed at step {k}");
        if !killed {
            break;
        }
        k += 1;
    }
}

#[test]
fn a_run_killed_while_it_takes_back_is_taken_back_by_the_next() {
    let mut k = 0;
    loop {
        let world = one_of_each();
        let before = world.tree();
        // The second last step of the way forward, and then a conflict.
        assert!(world.killed_at(40));
        world.file("tool.sh", "edited");
        let killed = world.killed_at(k);
        assert!(world.apply().unwrap_err().is_clean());
        let mut wanted = before;
        wanted.insert("tool.sh".into(), "644 edited".into());
        assert_eq!(world.tree(), wanted, "killed at step {k}");
        if !killed {
            break;
        }
        k += 1;
    }
    assert!(k > 5, "only {k} steps were seen");
}

#[test]
fn an_error_at_any_step_leaves_either_all_or_nothing() {
    let clean = one_of_each();
    clean.apply().unwrap();
    let after = clean.tree();
    for k in 0..200 {
        let world = one_of_each();
        let before = world.tree();
        let count = Cell::new(0);
        let gate = |step: WriteStep, _: &str| {
            // Cleaning up may fail as it likes.
            count.set(count.get() + usize::from(step != WriteStep::Clean));
            if count.get() == k + 1 && step != WriteStep::Clean { Err(Errno::NOSPC) } else { Ok(()) }
        };
        let answer = world.run(world.set(), &gate);
        let tree = world.tree();
        match answer {
            Ok(_) => assert_eq!(tree, after, "failed at step {k}"),
            Err(refused) => {
                assert_eq!(tree, before, "failed at step {k}");
                assert!(refused.to_string().ends_with("Nothing was changed."), "{refused}");
                assert_eq!(refused.hint(), "Free some disk space, and try again.");
            }
        }
        if count.get() <= k {
            return;
        }
    }
    panic!("the steps have no end");
}

#[test]
fn a_rewind_is_refused_when_the_file_was_edited_since() {
    let mut world = World::new();
    world.file("a.txt", "a1").file("b.txt", "b1");
    world.change("a.txt", Some("a1"), Some("a2")).change("b.txt", Some("b1"), Some("b2"));
    world.apply().unwrap();
    world.file("b.txt", "b3");
    let refused = world.undo().unwrap_err();
    assert_eq!(refused.to_string(), "b.txt changed after the change was prepared. Nothing was changed.");
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("a2", "b3"));
}

#[test]
fn modes_are_kept_and_a_persons_chmod_is_no_conflict() {
    let mut world = World::new();
    world.file("a.sh", "a1");
    world.change("a.sh", Some("a1"), Some("a2"));
    fs::set_permissions(world.at("a.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    world.apply().unwrap();
    assert_eq!(world.tree()["a.sh"], "750 a2");
    let mut world = World::new();
    world.change_mode("b.sh", None, Some(("b", 0o4755)));
    world.apply().unwrap();
    assert_eq!(world.tree()["b.sh"], "755 b", "a set never makes a file set-user-id");
}

#[test]
fn a_read_only_file_is_refused_and_may_be_deleted() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    world.change_mode("a.txt", Some(("a1", 0o444)), Some(("a2", 0o444)));
    fs::set_permissions(world.at("a.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(world.apply().unwrap_err().why, Why::ReadOnly { .. }));
    assert_eq!(world.tree(), BTreeMap::from([("a.txt".into(), "444 a1".into())]));
    world.writes.clear();
    world.change_mode("a.txt", Some(("a1", 0o444)), None);
    world.apply().unwrap();
    world.undo().unwrap();
    assert_eq!(world.tree(), BTreeMap::from([("a.txt".into(), "444 a1".into())]));
}

#[test]
fn a_directory_that_may_not_be_written_changes_nothing() {
    if rustix::process::geteuid().is_root() {
        return; // Root may write everywhere; `an_error_at_any_step_leaves_either_all_or_nothing` covers the rest.
    }
    let mut world = World::new();
    world.file("a.txt", "a1").file("shut/b.txt", "b1");
    world.change("a.txt", Some("a1"), Some("a2")).change("shut/b.txt", Some("b1"), Some("b2"));
    fs::set_permissions(world.at("shut"), fs::Permissions::from_mode(0o555)).unwrap();
    let refused = world.apply().unwrap_err();
    fs::set_permissions(world.at("shut"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(&refused.why, Why::System { path, .. } if path == "shut/b.txt"));
    assert_eq!(world.text("a.txt"), "a1");
}

#[test]
fn links_that_lead_outside_or_nowhere_are_refused() {
    let mut world = World::new();
    fs::write(world.base.path().join("out.txt"), "o1").unwrap();
    symlink("../out.txt", world.at("out")).unwrap();
    symlink("nothing", world.at("dangling")).unwrap();
    world.file("a.txt", "a1");
    symlink("a.txt", world.at("link")).unwrap();
    let tree = world.tree();
    for (path, before, after) in [
        ("out", Some("o1"), Some("o2")),
        ("../out.txt", Some("o1"), Some("o2")),
        ("dangling", None, Some("x")),
        ("link", Some("a1"), None),
        ("a.txt/x", None, Some("x")),
        ("", None, Some("x")),
    ] {
        world.writes.clear();
        world.change("fine.txt", None, Some("fine")).change(path, before, after);
        assert!(world.apply().unwrap_err().is_clean(), "{path}");
        assert_eq!(world.tree(), tree, "{path}");
    }
    assert_eq!(fs::read_to_string(world.base.path().join("out.txt")).unwrap(), "o1");
}

#[test]
fn one_file_under_two_paths_is_refused() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    symlink("a.txt", world.at("link")).unwrap();
    world.change("a.txt", Some("a1"), Some("a2")).change("link", Some("a1"), Some("a3"));
    assert!(matches!(world.apply().unwrap_err().why, Why::Twice { .. }));
    assert_eq!(world.text("a.txt"), "a1");
}

#[test]
fn other_names_of_a_file_keep_their_bytes() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    world.change("a.txt", Some("a1"), Some("a2"));
    fs::hard_link(world.at("a.txt"), world.base.path().join("elsewhere")).unwrap();
    assert!(world.apply().unwrap().files[0].unlinked);
    assert_eq!(fs::read_to_string(world.base.path().join("elsewhere")).unwrap(), "a1");
}

#[test]
fn what_is_no_regular_file_is_refused_and_never_waited_for() {
    let mut world = World::new();
    world.change("fifo", Some("x"), Some("y")).change("dir", None, Some("z"));
    rustix::fs::mkfifoat(rustix::fs::CWD, world.at("fifo"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    assert!(matches!(world.apply().unwrap_err().why, Why::NotAFile { .. }));
    world.file("dir/mine", "1");
    world.writes.remove(0);
    assert!(matches!(world.apply().unwrap_err().why, Why::NotAFile { .. }));
}

#[test]
fn bytes_that_are_missing_or_damaged_are_never_written() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    world.change("a.txt", Some("a1"), Some("a2")).change("b.txt", None, Some("b2"));
    let hash = blake3::hash(b"b2").to_hex().to_string();
    world.store.insert(hash.clone(), b"damaged".to_vec());
    assert!(matches!(world.apply().unwrap_err().why, Why::NoContent { .. }));
    world.store.remove(&hash);
    assert!(matches!(world.apply().unwrap_err().why, Why::NoContent { .. }));
    assert_eq!(world.tree(), BTreeMap::from([("a.txt".into(), "644 a1".into())]));
}

#[test]
fn a_set_of_more_files_than_may_be_open_is_written() {
    use rustix::process::{Resource, getrlimit};
    let most = usize::try_from(getrlimit(Resource::Nofile).current.unwrap_or(1 << 20)).unwrap().min(1_500);
    let mut world = World::in_memory();
    // Many in few directories share what is open; for many directories more is allowed, if the system lets us.
    for n in 0..most + 100 {
        world.change(&format!("few{}/f{n}.txt", n % 20), None, Some("same"));
        world.change(&format!("many{n}/f.txt"), None, Some("same"));
    }
    world.apply().unwrap();
    assert_eq!(fs::read_dir(world.at("few7")).unwrap().count(), (most + 100 - 7).div_ceil(20));
    world.undo().unwrap();
    assert_eq!(world.tree().len(), 0);
}

/// A set that puts back what a command has made of a folder and of two files.
fn out_of_the_way() -> World {
    let mut world = World::new();
    symlink("/etc", world.at("d")).unwrap();
    world.file("f/x", "x1").file("f/deep/y", "y1").file("a.txt", "a1");
    fs::create_dir(world.at("g")).unwrap();
    world.change_mode("d", Some(("/etc", FileState::LINK)), None);
    world.change("d/a", None, Some("da")).change("d/deep/b", None, Some("db"));
    world.change("f", None, Some("f0")).change("f/x", Some("x1"), None).change("f/deep/y", Some("y1"), None);
    world.change("g", None, Some("g0")).change("a.txt", Some("a1"), Some("a2"));
    world
}

#[test]
fn what_is_in_the_way_goes_before_what_was_there_comes_back() {
    let clean = out_of_the_way();
    clean.apply().unwrap();
    let after = clean.tree();
    assert_eq!((clean.text("d/a").as_str(), clean.text("f").as_str(), clean.text("g").as_str()), ("da", "f0", "g0"));
    let mut k = 0;
    loop {
        let world = out_of_the_way();
        let killed = world.killed_at(k);
        world.apply().unwrap_or_else(|refused| panic!("killed at {k}: {refused}"));
        assert_eq!(world.tree(), after, "killed at step {k}");
        if !killed {
            break;
        }
        k += 1;
    }
}

#[test]
fn what_is_in_the_way_and_a_persons_own_is_kept() {
    for (path, text) in [("f/mine", "1"), ("f/x", "edited"), ("g/mine", "1"), ("a.txt", "edited")] {
        let world = out_of_the_way();
        world.file(path, text);
        let before = world.tree();
        let refused = world.apply().unwrap_err();
        assert!(refused.is_clean(), "{path}: {refused}");
        let mut now = world.tree();
        // Nothing is known of empty directories.
        now.entry("g".into()).or_insert("dir".into());
        assert_eq!(now, before, "{path}");
    }
}
