//! Real folders, two snapshots, what is told of the difference.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use trimtab_vocab::{Approval, Approved, FilePlan, FileSet, FileState, FileWrite};

use super::super::{Folder, write};
use super::*;

/// Keeps bytes in memory, and counts how often that was asked for.
#[derive(Default)]
struct Store {
    bytes: BTreeMap<String, Vec<u8>>,
    read: usize,
    is_over: bool,
}

impl Keep for Store {
    fn keep(&mut self, hash: &str, bytes: Vec<u8>) {
        self.read += 1;
        self.bytes.insert(hash.to_owned(), bytes);
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

struct Scene {
    dir: tempfile::TempDir,
    store: Store,
    before: Snapshot,
    files: usize,
    bytes: u64,
    doubt: bool,
}

impl Scene {
    /// A folder with these files, looked at once.
    fn new(files: &[(&str, &str)]) -> Self {
        let (dir, store) = (tempfile::tempdir().unwrap(), Store::default());
        let mut scene = Self { dir, store, before: Snapshot::default(), files: 10_000, bytes: 1 << 30, doubt: false };
        files.iter().for_each(|(path, text)| scene.write(path, text));
        scene.look();
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn take(&mut self, afterwards: bool) -> Snapshot {
        let folder = Folder::open(self.dir.path()).unwrap();
        let order = SnapshotOrder {
            folder: &folder,
            known: &self.before,
            files: self.files,
            bytes: self.bytes,
            afterwards,
            whole: true,
            doubt: self.doubt,
        };
        take(&order, &mut self.store).unwrap()
    }

    fn look(&mut self) {
        self.before = self.take(false);
    }

    /// What undo could not bring back.
    fn uncovered(&self) -> Vec<String> {
        let mut all: Vec<String> = self.before.uncovered().iter().map(ToString::to_string).collect();
        all.sort();
        all
    }

    /// What has happened since.
    fn compared(&mut self) -> SnapshotDiff {
        let after = self.take(true);
        compare(&self.before, &after)
    }

    /// The same in short: `+` made, `-` gone, `*` changed, `m` mode, `!` not kept.
    fn told(&mut self) -> Vec<String> {
        let SnapshotDiff { writes, unkept, more } = self.compared();
        assert_eq!(more, 0);
        let line = |write: &FileWrite| {
            let sign = match (&write.before, &write.after) {
                (None, _) => '+',
                (_, None) => '-',
                (Some(before), Some(after)) if before.hash == after.hash => 'm',
                _ => '*',
            };
            format!("{sign}{}", write.path)
        };
        writes.iter().map(line).chain(unkept.iter().map(|file| format!("!{} {:?}", file.path, file.why))).collect()
    }

    /// Takes back what has happened since.
    fn undo(&mut self) {
        assert!(self.try_undo(), "it can be taken back");
    }

    /// The same, unless that would remove what nobody knows of.
    fn try_undo(&mut self) -> bool {
        let writes = self.compared().writes;
        let set = FileSet { change_set: "x1".parse().unwrap(), folder: String::new(), writes };
        let back = set.reversed("x1-back".parse().unwrap());
        let plan = FilePlan::new(Approved::witness(back, Approval::Answer));
        let folder = Folder::open(self.dir.path()).unwrap();
        let is_done = write::apply(&folder, &plan, &|hash| self.store.bytes.get(hash).cloned()).is_ok();
        assert!(!is_done || self.told().is_empty(), "everything is as it was: {:?}", self.told());
        is_done
    }
}

#[test]
fn what_is_made_changed_deleted_and_moved_is_told_and_can_be_undone() {
    let mut scene = Scene::new(&[("same", "1"), ("gone", "2"), ("deep/er/a", "3"), ("edited", "4")]);
    fs::remove_file(scene.path("gone")).unwrap();
    fs::rename(scene.path("deep/er/a"), scene.path("deep/b")).unwrap();
    scene.write("edited", "44");
    scene.write("new/in/dirs", "5");
    assert_eq!(scene.told(), ["+deep/b", "-deep/er/a", "*edited", "-gone", "+new/in/dirs"]);
    scene.undo();
    assert_eq!(fs::read_to_string(scene.path("deep/er/a")).unwrap(), "3");
    assert!(!scene.path("new").exists(), "directories that are empty now go too");
}

#[test]
fn a_change_of_the_same_size_within_the_clocks_step_is_seen() {
    let mut scene = Scene::new(&[("a", "one")]);
    scene.write("a", "two");
    // As if the clock had not moved on between the look and the change.
    let stamp = scene.take(true).entries[Path::new("a")].stamp;
    scene.before.entries.get_mut(Path::new("a")).unwrap().stamp = stamp;
    assert_eq!(scene.told(), ["*a"]);
}

#[test]
fn a_stamp_counts_only_when_the_file_was_at_rest_as_it_was_read() {
    let second = 1_000_000_000;
    let stamp = FileStamp { size: 1, modified: 10 * second, changed: 10 * second, inode: 1, mode: 0o644 };
    assert!(stamp.is_coarse(10 * second) && stamp.is_coarse(12 * second));
    assert!(!stamp.is_coarse(12 * second + 1));
    assert!(FileStamp { modified: 99 * second, ..stamp }.is_coarse(20 * second), "a time that is still to come");
    assert!(FileStamp { changed: 19 * second, ..stamp }.is_coarse(20 * second), "the modification was dated back");
}

#[test]
fn files_at_rest_are_not_read_again() {
    let mut scene = Scene::new(&[("a", "1"), ("b", "2"), ("c", "3")]);
    for entry in scene.before.entries.values_mut() {
        let SnapshotContent::Kept { read, .. } = &mut entry.content else { panic!("is kept") };
        *read += 10 * COARSE;
    }
    scene.store.read = 0;
    scene.write("b", "22");
    assert_eq!(scene.told(), ["*b"]);
    assert_eq!(scene.store.read, 1);
}

#[test]
fn what_only_has_another_time_or_another_inode_has_not_changed() {
    let mut scene = Scene::new(&[("a", "1"), ("b", "2")]);
    scene.write("a", "1");
    scene.write("b.new", "2");
    fs::rename(scene.path("b.new"), scene.path("b")).unwrap();
    assert_eq!(scene.told(), [""; 0]);
}

#[test]
fn modes_are_told_and_put_back() {
    let mut scene = Scene::new(&[("run.sh", "1")]);
    fs::set_permissions(scene.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(scene.told(), ["mrun.sh"]);
    scene.undo();
    assert_eq!(fs::metadata(scene.path("run.sh")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn links_are_links_and_never_followed() {
    let mut scene = Scene::new(&[("a", "1"), ("b", "2"), ("plain", "a")]);
    symlink("a", scene.path("link")).unwrap();
    symlink("nowhere", scene.path("gone")).unwrap();
    fs::create_dir(scene.path("dir")).unwrap();
    scene.write("dir/x", "x");
    scene.look();
    fs::remove_file(scene.path("link")).unwrap();
    symlink("b", scene.path("link")).unwrap();
    fs::remove_file(scene.path("gone")).unwrap();
    // A file becomes a link with the same bytes, and a link leads to a directory with files.
    fs::remove_file(scene.path("plain")).unwrap();
    symlink("a", scene.path("plain")).unwrap();
    symlink("dir", scene.path("way")).unwrap();
    let compared = scene.compared();
    let link = compared.writes.iter().find(|write| write.path == "link").unwrap();
    assert!(link.before.as_ref().is_some_and(FileState::is_link));
    assert_eq!(scene.told(), ["-gone", "*link", "mplain", "+way"]);
    scene.undo();
    assert_eq!(fs::read_link(scene.path("link")).unwrap(), Path::new("a"));
    assert_eq!(fs::read_link(scene.path("gone")).unwrap(), Path::new("nowhere"));
    assert!(fs::symlink_metadata(scene.path("plain")).unwrap().is_file());
    assert!(!scene.path("way").exists() && scene.path("dir/x").exists());
    assert_eq!(fs::read_to_string(scene.path("a")).unwrap(), "1", "nothing was written through a link");
}

#[test]
fn what_is_made_where_git_ignores_it_and_git_itself_is_not_seen() {
    let mut scene = Scene::new(&[(".gitignore", "target/\n*.log\n"), (".git/HEAD", "1"), ("target/x", "1")]);
    scene.write("target/y", "2");
    scene.write("a.log", "2");
    scene.write(".git/HEAD", "2");
    scene.write("seen", "2");
    assert_eq!(scene.told(), ["+seen"]);
}

#[test]
fn ignored_files_that_are_changed_or_deleted_come_back() {
    let mut scene = Scene::new(&[
        (".gitignore", "*.sqlite\ndata/\n"),
        ("prod.sqlite", "rows"),
        ("data/a", "1"),
        ("data/deep/b", "2"),
        ("note", "n"),
    ]);
    fs::copy(scene.path("note"), scene.path("prod.sqlite")).unwrap();
    fs::remove_dir_all(scene.path("data")).unwrap();
    assert_eq!(scene.told(), ["-data/a", "-data/deep/b", "*prod.sqlite"]);
    scene.undo();
    assert_eq!(fs::read_to_string(scene.path("prod.sqlite")).unwrap(), "rows");
    assert_eq!(fs::read_to_string(scene.path("data/deep/b")).unwrap(), "2");
}

#[test]
fn new_rules_neither_delete_nor_make_files() {
    let mut scene =
        Scene::new(&[(".gitignore", "*.log\n/out/\n"), ("a.log", "1"), ("out/deep/x", "1"), ("b.tmp", "1")]);
    scene.write(".gitignore", "*.tmp\n");
    scene.write("new", "1");
    scene.write("b.tmp", "2");
    assert_eq!(scene.told(), ["*.gitignore", "*b.tmp", "+new"]);
    fs::remove_file(scene.path(".gitignore")).unwrap();
    assert_eq!(scene.told(), ["-.gitignore", "*b.tmp", "+new"]);
}

#[test]
fn rules_that_an_edit_has_added_do_not_make_files_rebuildable() {
    let mut scene = Scene::new(&[("Cargo.toml", ""), ("target/notes", "1")]);
    scene.write(".gitignore", "target/\n");
    scene.look();
    fs::remove_dir_all(scene.path("target")).unwrap();
    assert_eq!(scene.told(), ["-target/notes"]);
}

#[test]
fn of_a_folder_that_a_build_makes_again_only_its_end_is_told() {
    let mut scene = Scene::new(&[("Cargo.toml", ""), (".gitignore", "target/\n"), ("target/debug/x", "1")]);
    scene.write("target/debug/x", "2");
    scene.write("target/debug/y", "2");
    assert_eq!(scene.told(), [""; 0]);
    assert_eq!(scene.uncovered(), [""; 0]);
    fs::remove_dir_all(scene.path("target")).unwrap();
    assert_eq!(scene.told(), ["!target/ Rebuildable"]);
}

#[test]
fn what_is_not_kept_is_named_with_its_reason() {
    let mut scene = Scene::new(&[(".env", "KEY=1"), ("a", "1"), ("b", "2"), ("idle.key", "3")]);
    let large = |scene: &Scene, path: &str, more: u64| {
        fs::File::create(scene.path(path)).unwrap().set_len(LARGEST + more).unwrap();
    };
    large(&scene, "large", 1);
    scene.write("grows", "1");
    scene.look();
    assert_eq!(
        scene.uncovered(),
        ["`.env` (5 B, secrets are not copied)", "`idle.key` (1 B, secrets are not copied)", "`large` (64 MB)",]
    );
    scene.write(".env", "KEY=22");
    large(&scene, "large", 2);
    large(&scene, "grows", 3);
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff");
    fs::write(scene.dir.path().join(odd), "1").unwrap();
    assert_eq!(scene.told(), ["*grows", "!.env Secret", "!large Large", "!odd\u{fffd} Name"]);
    assert!(!scene.store.bytes.values().any(|bytes| bytes.starts_with(b"KEY")), "secrets are not copied");
}

#[test]
fn a_file_that_a_command_makes_too_large_still_comes_back() {
    let mut scene = Scene::new(&[("a", "1")]);
    fs::File::create(scene.path("a")).unwrap().set_len(LARGEST + 1).unwrap();
    scene.undo();
    assert_eq!(fs::read_to_string(scene.path("a")).unwrap(), "1");
}

#[test]
fn an_ignored_directory_that_does_not_fit_is_left_out_as_a_whole() {
    let mut scene = Scene::new(&[(".gitignore", "data/\n"), ("data/a", "12345"), ("data/b", "12345"), ("c", "1")]);
    (scene.before, scene.bytes) = (Snapshot::default(), 15);
    scene.look();
    assert_eq!(scene.uncovered(), ["`data/` (10 B, ignored by git)"]);
    fs::remove_file(scene.path("data/a")).unwrap();
    assert_eq!(scene.told(), [""; 0], "nobody looks there");
    fs::remove_dir_all(scene.path("data")).unwrap();
    assert_eq!(scene.told(), ["!data/ Full"]);
}

#[test]
fn files_with_a_name_outside_are_uncovered_and_those_inside_are_not() {
    let outside = tempfile::tempdir().unwrap();
    let mut scene = Scene::new(&[
        (".gitignore", "node_modules/\ntarget/\n"),
        ("Cargo.toml", ""),
        ("package.json", "{}"),
        ("here", "1"),
        ("node_modules/lib/deep/index.js", "1"),
        ("node_modules/plain/index.js", "1"),
        ("target/debug/deps/x", "1"),
        ("there", "1"),
    ]);
    fs::hard_link(scene.path("here"), scene.path("again")).unwrap();
    fs::hard_link(scene.path("target/debug/deps/x"), scene.path("target/debug/x")).unwrap();
    fs::hard_link(scene.path("node_modules/lib/deep/index.js"), outside.path().join("store.js")).unwrap();
    scene.look();
    let words = "ignored by git, has a hard link outside the folder";
    assert_eq!(scene.uncovered(), [format!("`node_modules/lib/` ({words})")]);
    assert!(!scene.before.uncovered[0].ask);
    fs::hard_link(scene.path("there"), outside.path().join("there")).unwrap();
    fs::hard_link(scene.path("target/debug/x"), outside.path().join("x")).unwrap();
    scene.look();
    let all = [
        format!("`node_modules/lib/` ({words})"),
        format!("`target/` ({words})"),
        "`there` (1 B, has a hard link outside the folder)".to_owned(),
    ];
    assert_eq!(scene.uncovered(), all);
    let asks: Vec<_> = scene.before.uncovered.iter().filter(|one| one.ask).map(|one| one.path.clone()).collect();
    assert_eq!(asks, [Path::new("target")], "a build must write there");
}

#[test]
fn with_no_room_left_files_are_not_kept_and_it_is_their_turn_next_time() {
    let mut scene = Scene::new(&[]);
    for name in ["a", "b", "c"] {
        scene.write(name, "12345");
    }
    scene.bytes = 10;
    scene.look();
    let kept = |snapshot: &Snapshot| {
        snapshot.entries.values().filter(|entry| matches!(entry.content, SnapshotContent::Kept { .. })).count()
    };
    assert_eq!(kept(&scene.before), 2);
    for entry in scene.before.entries.values_mut() {
        if let SnapshotContent::Kept { read, .. } = &mut entry.content {
            *read += 10 * COARSE;
        }
    }
    scene.look();
    assert_eq!(kept(&scene.before), 3);
}

#[test]
fn what_cannot_be_read_is_neither_lost_nor_new() {
    let mut scene = Scene::new(&[("shut/a", "1"), ("b", "1")]);
    if fs::set_permissions(scene.path("shut"), fs::Permissions::from_mode(0o000)).is_err()
        || fs::read_dir(scene.path("shut")).is_ok()
    {
        // Whoever may read everything cannot be kept out.
        return;
    }
    let told = scene.told();
    scene.look();
    fs::set_permissions(scene.path("shut"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(told, [""; 0]);
    assert_eq!(scene.told(), ["!shut/a Ignored"]);
}

#[test]
fn pipes_and_sockets_are_passed_by_without_waiting() {
    let mut scene = Scene::new(&[("a", "1")]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    assert_eq!(scene.told(), [""; 0]);
}

#[test]
fn a_folder_with_more_files_than_wanted_is_cut_and_one_of_five_thousand_is_not() {
    let mut scene = Scene::new(&[]);
    for n in 0..5_000 {
        scene.write(&format!("{}/{n}", n % 50), "x");
    }
    scene.look();
    assert_eq!((scene.before.len(), scene.before.is_cut()), (5_000, false));
    fs::remove_dir_all(scene.path("7")).unwrap();
    scene.write("8/8", "y");
    let told = scene.told();
    assert_eq!(told.len(), 101);
    scene.undo();
    scene.files = 4_999;
    assert!(scene.take(false).is_cut());
}

#[test]
fn what_was_made_beyond_the_limit_does_not_hide_what_was_deleted() {
    let mut scene = Scene::new(&[("z/old", "1"), ("z/kept", "1")]);
    scene.files = 2;
    for n in 0..10 {
        scene.write(&format!("a{n}"), "1");
    }
    fs::remove_file(scene.path("z/old")).unwrap();
    let compared = scene.compared();
    let deleted: Vec<&str> =
        compared.writes.iter().filter(|write| write.after.is_none()).map(|write| write.path.as_str()).collect();
    assert_eq!(deleted, ["z/old"]);
    assert!(compared.more > 0, "there is more than is told");
}

#[test]
fn a_snapshot_is_stored_and_read_as_it_was() {
    let mut scene = Scene::new(&[(".gitignore", "x"), ("a/b", "1"), (".env", "2")]);
    symlink("a", scene.path("link")).unwrap();
    scene.look();
    // What could not be kept matters only to the command that comes next.
    scene.before.uncovered.clear();
    assert_eq!(Snapshot::read(&scene.before.write()), Some(scene.before.clone()));
    assert_eq!(Snapshot::read(b"{}"), None);
    let earlier = br#"{"entries": [], "rules": {}, "closed": []}"#;
    assert_eq!(Snapshot::read(earlier), None, "a list without ignored files would make them new");
}

#[test]
fn nobody_waits_for_it_and_it_ends() {
    let mut scene = Scene::new(&[("a", "1")]);
    scene.store.is_over = true;
    let folder = Folder::open(scene.dir.path()).unwrap();
    let order = SnapshotOrder {
        folder: &folder,
        known: &scene.before,
        files: 9,
        bytes: 9,
        afterwards: true,
        whole: false,
        doubt: false,
    };
    assert_eq!(take(&order, &mut scene.store), None);
}

#[test]
fn rules_that_the_session_wrote_do_not_take_folders_out_that_were_there_before() {
    let mut scene = Scene::new(&[(".gitignore", "dist/\n"), ("package.json", "{}"), ("dist/mine", "1")]);
    assert_eq!(scene.before.folders.len(), 1, "without a doubt it counts as built");
    (scene.before, scene.doubt) = (Snapshot::default(), true);
    scene.look();
    assert!(scene.before.folders.is_empty() && scene.before.entries.contains_key(Path::new("dist/mine")));
    // It stays so, and what comes into being later is a build's.
    scene.write("sub/package.json", "{}");
    scene.write("sub/dist/made", "1");
    scene.look();
    assert!(scene.before.entries.contains_key(Path::new("dist/mine")));
    assert_eq!(scene.before.folders.keys().collect::<Vec<_>>(), [Path::new("sub/dist")]);
    // One that did not fit is not let go either.
    (scene.before, scene.bytes) = (Snapshot::default(), 10);
    scene.write("dist/mine", "more than fits");
    for _ in 0..2 {
        scene.look();
        assert_eq!(scene.before.folders.get(Path::new("dist")), Some(&WhyUnkept::Full));
    }
}

/// RandomNumbers that are the same in each run.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Changes something, whatever is there. Each file that is written has another size than all before.
fn change(scene: &Scene, numbers: &mut RandomNumbers, size: &mut usize) {
    let names = ["a", "a.b", "a-b", "b", "c.log", "data", "deep", "z"];
    let path = |numbers: &mut RandomNumbers| {
        let depth = 1 + numbers.below(3);
        let parts: Vec<&str> = (0..depth).map(|_| names[numbers.below(names.len() as u64) as usize]).collect();
        scene.path(&parts.join("/"))
    };
    let (one, other) = (path(numbers), path(numbers));
    *size += 1;
    let _ = fs::create_dir_all(one.parent().unwrap());
    let _ = match numbers.below(8) {
        0..=2 => fs::write(&one, "x".repeat(*size)),
        3 => fs::remove_file(&one),
        4 => fs::remove_dir_all(&one),
        5 => fs::rename(&one, &other),
        6 => symlink("a", &one),
        _ if one.is_file() => fs::set_permissions(&one, fs::Permissions::from_mode(0o600 + (*size % 2) as u32 * 0o55)),
        _ => fs::create_dir(&one),
    };
}

#[test]
fn what_is_found_again_after_any_changes_is_what_a_first_look_finds_and_undo_brings_it_back() {
    let numbers = &mut RandomNumbers(27);
    let (size, mut undone, mut refused) = (&mut 1, 0, 0);
    for _ in 0..25 {
        let mut scene = Scene::new(&[(".gitignore", "*.log\ndata/\n")]);
        for _ in 0..12 {
            // As if the files had been left alone for a while.
            for entry in scene.before.entries.values_mut() {
                if let SnapshotContent::Kept { read, .. } = &mut entry.content {
                    *read += 10 * COARSE;
                }
            }
            (0..numbers.below(6)).for_each(|_| change(&scene, numbers, size));
            scene.look();
            assert_eq!(states(&scene.before), states_at_first(&mut scene));
            let files = files_in(scene.dir.path());
            (0..numbers.below(6)).for_each(|_| change(&scene, numbers, size));
            // An ignored file that was made in a folder that was a file before is in the way.
            if !scene.try_undo() {
                refused += 1;
                break;
            }
            undone += 1;
            let now = files_in(scene.dir.path());
            let lost: Vec<_> = files.iter().filter(|(path, file)| now.get(*path) != Some(file)).collect();
            assert!(lost.is_empty(), "{lost:?}");
        }
    }
    assert!(undone > 10 * refused, "{undone} undone, {refused} refused");
}

fn states(snapshot: &Snapshot) -> BTreeMap<PathBuf, FileState> {
    let state = |(path, entry): (&PathBuf, &SnapshotEntry)| match &entry.content {
        SnapshotContent::Kept { state, .. } => (path.clone(), state.clone()),
        other => panic!("{}: {other:?}", path.display()),
    };
    snapshot.entries.iter().map(state).collect()
}

fn states_at_first(scene: &mut Scene) -> BTreeMap<PathBuf, FileState> {
    let known = std::mem::take(&mut scene.before);
    let first = scene.take(false);
    scene.before = known;
    states(&first)
}

/// The files and links of a folder, with their bytes or targets, and modes.
fn files_in(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let (mut found, mut ahead) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = ahead.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                ahead.push(entry.path());
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap().into_os_string();
                found.insert(entry.path(), (target.as_bytes().to_vec(), 0));
            } else {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                found.insert(entry.path(), (fs::read(entry.path()).unwrap(), mode));
            }
        }
    }
    found
}
