//! The changes of files between two snapshots.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use trimtab_vocab::{FileSet, FileState, FileWrite, Unkept, WhyUnkept};

use super::{Snapshot, SnapshotContent, SnapshotEntry};

/// Files that are named of those that cannot be undone.
const NAMED: usize = 20;
/// Files of one change set at most.
const WRITES: usize = 100_000;

/// The difference between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotDiff {
    /// What can be undone; lines are not counted yet.
    pub writes: Vec<FileWrite>,
    /// What cannot, the first of them.
    pub unkept: Vec<Unkept>,
    pub more: u64,
}

/// What happened to the files between `before` and `after`, in the order of their paths.
pub fn compare(before: &Snapshot, after: &Snapshot) -> SnapshotDiff {
    let mut compared = SnapshotDiff::default();
    let mut old = before.entries.iter().peekable();
    let mut new = after.entries.iter().peekable();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((old, _)), Some((new, _))) => old.cmp(new),
        };
        let was = if order.is_le() { old.next() } else { None };
        let is = if order.is_ge() { new.next() } else { None };
        let Some(path) = was.or(is).map(|(path, _)| path.as_path()) else { break };
        let (was, is) = (was.map(|(_, entry)| entry), is.map(|(_, entry)| entry));
        if was.is_none() && before.is_unknown(path) {
            compared.unkept(path, WhyUnkept::Ignored);
            continue;
        }
        compared.add(path, was, is);
    }
    for (path, why) in before.folders.iter().filter(|(path, _)| !after.folders.contains_key(*path)) {
        compared.unkept(&path.join(""), *why);
    }
    if after.is_cut || after.is_late {
        compared.more += 1;
    }
    compared
}

impl Snapshot {
    /// What happened to these files since the snapshot, by the states that they have now. A file of which it does not say
    /// whether it was there is left out.
    pub fn compare_with(&self, now: impl IntoIterator<Item = (PathBuf, Option<FileState>)>) -> SnapshotDiff {
        let is_whole = !self.is_cut && !self.is_late;
        let is_uncovered = |path: &Path| self.uncovered.iter().any(|one| path.starts_with(&one.path));
        let is_known = |path: &Path| {
            self.entries.contains_key(path) || (is_whole && !self.is_unknown(path) && !is_uncovered(path))
        };
        let (paths, states): (Vec<PathBuf>, Vec<Option<FileState>>) =
            now.into_iter().filter(|(path, _)| is_known(path)).unzip();
        let was = paths.iter().filter_map(|path| Some((path.clone(), self.entries.get(path)?.clone())));
        let before = Self { entries: was.collect(), ..Self::default() };
        let is = paths.iter().cloned().zip(states).filter_map(|(path, state)| Some((path, state?)));
        let SnapshotDiff { writes, .. } = compare(&before, &Self::from_states(is));
        SnapshotDiff { writes, ..SnapshotDiff::default() }
    }
}

impl SnapshotDiff {
    /// Leaves out changes that others made to the files of the folder meanwhile, as far as they explain the file's
    /// state. A file that was also changed otherwise stays in the result.
    pub fn leave_out(&mut self, folder: &Path, meanwhile: &[FileSet]) {
        if meanwhile.is_empty() {
            return;
        }
        let mut ways: HashMap<PathBuf, Vec<&FileWrite>> = HashMap::new();
        for set in meanwhile {
            for write in &set.writes {
                ways.entry(Path::new(&set.folder).join(&write.path)).or_default().push(write);
            }
        }
        self.writes.retain(|seen| {
            let way = ways.get(&folder.join(&seen.path)).map(Vec::as_slice).unwrap_or_default();
            // A write that was announced and not done, or done before, does not continue the file's state.
            let step = |now, write: &&FileWrite| if write.before == now { write.after.clone() } else { now };
            way.iter().fold(seen.before.clone(), step) != seen.after
        });
    }

    fn add(&mut self, path: &Path, was: Option<&SnapshotEntry>, is: Option<&SnapshotEntry>) {
        let states = |entry: Option<&SnapshotEntry>| -> Result<Option<FileState>, WhyUnkept> {
            match entry.map(|entry| &entry.content) {
                None => Ok(None),
                Some(SnapshotContent::Kept { state, .. } | SnapshotContent::Seen(state)) => Ok(Some(state.clone())),
                Some(SnapshotContent::Unkept(why)) => Err(*why),
            }
        };
        match (states(was), states(is)) {
            (Ok(before), Ok(after)) if before == after => {}
            (Ok(before), Ok(after)) => match (path.to_str(), self.writes.len() < WRITES) {
                (Some(name), true) => {
                    let path = name.to_owned();
                    self.writes.push(FileWrite { path, before, after, added: 0, removed: 0, modified: 0 });
                }
                (Some(_), false) => self.unkept(path, WhyUnkept::Full),
                (None, _) => self.unkept(path, WhyUnkept::Name),
            },
            // Of what was not read only the stamp tells.
            _ if was.map(|entry| entry.stamp) == is.map(|entry| entry.stamp) => {}
            (Err(why), _) | (_, Err(why)) => self.unkept(path, why),
        }
    }

    fn unkept(&mut self, path: &Path, why: WhyUnkept) {
        if self.unkept.len() < NAMED {
            self.unkept.push(Unkept { path: path.to_string_lossy().into_owned(), why });
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::FileStamp;
    use super::*;

    /// A snapshot of files: their names, and what is known of each. A number is a hash, anything else a reason.
    fn snapshot(files: &[(&str, &str)]) -> Snapshot {
        let entry = |(n, (path, known)): (usize, &(&str, &str))| {
            let content = match known.strip_prefix('?') {
                Some(_) => SnapshotContent::Unkept(WhyUnkept::Large),
                None => SnapshotContent::Kept {
                    state: FileState { hash: (*known).to_owned(), mode: 0o644 },
                    read: n as i64,
                },
            };
            // The stamp of a file that was not read is all that there is: `?1` and `?2` differ by it.
            let size = known.len() as u64 + u64::from(known.ends_with('2'));
            let stamp = FileStamp { size, modified: 1, changed: 1, inode: 1, mode: 0o644 };
            (PathBuf::from(path), SnapshotEntry { stamp, content })
        };
        Snapshot { entries: files.iter().enumerate().map(entry).collect(), ..Snapshot::default() }
    }

    fn told(before: &[(&str, &str)], after: &[(&str, &str)]) -> String {
        let SnapshotDiff { writes, unkept, more } = compare(&snapshot(before), &snapshot(after));
        let state = |state: &Option<FileState>| state.as_ref().map_or("-".to_owned(), |state| state.hash.clone());
        let mut lines: Vec<String> = writes
            .iter()
            .map(|write| format!("{} {}>{}", write.path, state(&write.before), state(&write.after)))
            .collect();
        lines.extend(unkept.iter().map(|file| format!("{}!", file.path)));
        lines.extend((more > 0).then(|| format!("+{more}")));
        lines.join(" ")
    }

    #[test]
    fn files_are_made_changed_and_deleted_in_the_order_of_their_paths() {
        assert_eq!(told(&[], &[]), "");
        assert_eq!(told(&[("a", "1")], &[("a", "1")]), "");
        assert_eq!(told(&[], &[("b", "1"), ("a", "2")]), "a ->2 b ->1");
        assert_eq!(told(&[("a", "1"), ("c", "3")], &[("b", "1"), ("c", "4")]), "a 1>- b ->1 c 3>4");
    }

    #[test]
    fn of_what_was_not_read_the_stamp_tells() {
        assert_eq!(told(&[("a", "?1")], &[("a", "?1")]), "");
        assert_eq!(told(&[("a", "?1")], &[("a", "?2")]), "a!");
        assert_eq!(told(&[("a", "?1")], &[]), "a!");
        assert_eq!(told(&[], &[("a", "?1")]), "a!");
        // It grew out of what is kept, or shrank into it: one of the two states is missing.
        assert_eq!(told(&[("a", "1")], &[("a", "?1")]), "a!");
        assert_eq!(told(&[("a", "?2")], &[("a", "1")]), "a!");
    }

    #[test]
    fn what_others_did_meanwhile_is_left_out_where_it_tells_how_a_file_became_what_it_is() {
        let state = |hash: &str| (hash != "-").then(|| FileState { hash: hash.to_owned(), mode: 0o644 });
        let set = |folder: &str, path: &str, before: &str, after: &str| FileSet {
            change_set: "x1".parse().expect("a name"),
            folder: folder.to_owned(),
            writes: vec![FileWrite {
                path: path.to_owned(),
                before: state(before),
                after: state(after),
                added: 0,
                removed: 0,
                modified: 0,
            }],
        };
        let left = |before: &str, after: &str, meanwhile: &[FileSet]| {
            let file = |hash| if hash == "-" { vec![] } else { vec![("a", hash)] };
            let mut compared = compare(&snapshot(&file(before)), &snapshot(&file(after)));
            compared.leave_out(Path::new("/p"), meanwhile);
            compared.writes.len()
        };
        assert_eq!(left("1", "2", &[set("/p", "a", "1", "2")]), 0);
        assert_eq!(left("-", "2", &[set("/p", "a", "-", "2")]), 0, "made");
        assert_eq!(left("1", "-", &[set("/p", "a", "1", "-")]), 0, "deleted");
        assert_eq!(left("1", "3", &[set("/p", "a", "1", "2"), set("/p", "a", "2", "3")]), 0, "one after the other");
        assert_eq!(
            left("2", "3", &[set("/p", "a", "1", "2"), set("/p", "a", "2", "3")]),
            0,
            "the first was done before"
        );
        assert_eq!(
            left("1", "2", &[set("/p", "a", "1", "2"), set("/p", "a", "7", "8")]),
            0,
            "the other one was refused"
        );
        assert_eq!(left("1", "2", &[set("/", "p/a", "1", "2")]), 0, "by a session of the folder above");
        // Whatever is not told by that was the command's, or may have been.
        assert_eq!(left("1", "3", &[set("/p", "a", "1", "2")]), 1);
        assert_eq!(left("1", "3", &[set("/p", "a", "2", "3")]), 1);
        assert_eq!(left("1", "2", &[set("/p", "b", "1", "2")]), 1);
        assert_eq!(left("1", "2", &[set("/q", "a", "1", "2")]), 1);
        assert_eq!(left("1", "2", &[]), 1);
    }

    #[test]
    fn many_that_cannot_be_undone_are_counted() {
        let names: Vec<String> = (10..60).map(|n| n.to_string()).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "?1")).collect();
        let SnapshotDiff { unkept, more, .. } = compare(&Snapshot::default(), &snapshot(&files));
        assert_eq!((unkept.len(), more), (NAMED, 50 - NAMED as u64));
    }
}
