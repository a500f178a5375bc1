//! Snapshots of the files before and after a command, and the difference.
//!
//! The snapshot before a command is durable before the command starts: first the bytes of the files, then their list
//! with the ID of the call. So a new process can compare after a kill. The transaction that reports the result also
//! marks the snapshot as used, because the same call may run again and must not be compared with the files before its
//! first run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use trimtab_engine::proposal::compare;
use trimtab_vocab::format;
use trimtab_vocab::{
    CallId, CommandRun, FileEffects, FileWrite, RefKey, SessionId, SnapshotLimits, Unobserved, WhyUnkept,
};
use trimtab_world::store::{Store, StoreError};
use trimtab_world::workspace::snapshot::{self, Snapshot, SnapshotDiff, Uncovered};

use crate::StreamController;
use crate::client::ActorContext;
use crate::workspace::SnapshotRequest;

/// Bytes that become durable together.
const TOGETHER: usize = 8 * 1024 * 1024;
/// Files of a set whose lines are counted, and the largest of them.
const COUNTED: usize = 1_000;
const LARGEST_PICTURE: usize = 256 * 1024;
/// Bytes of all diffs of a set.
const DIFFS: usize = 256 * 1024;
/// Paths that are made read-only for one command. Each is a mount.
const MOST_READ_ONLY: usize = 256;
/// Paths that a reason names.
const NAMED: usize = 3;

/// The last snapshot, so that the next command only reads what has changed since. One for all sessions: it is
/// large, and commands of several sessions seldom alternate.
#[derive(Default)]
pub(crate) struct Latest(Mutex<Option<Noted>>);

#[derive(Clone)]
struct Noted {
    session: SessionId,
    snapshot: Arc<Snapshot>,
    /// The list that is stored, if one is. After a command it is still the one from before.
    listed: Option<StoredList>,
    /// The stored command that the snapshot was taken for. When file contents expire, this expires with them, so a
    /// content that is gone is never taken for stored.
    watched: String,
}

/// A snapshot whose list is stored.
#[derive(Clone)]
struct StoredList {
    snapshot: Arc<Snapshot>,
    hash: String,
}

impl StoredList {
    fn read(list: &[u8]) -> Option<Self> {
        let snapshot = Arc::new(Snapshot::read(list)?);
        Some(Self { snapshot, hash: trimtab_world::store::hash(list) })
    }
}

impl Latest {
    fn set(&self, noted: Noted) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(noted);
    }

    fn noted(&self, session: &SessionId) -> Option<Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|noted| noted.session == *session)
    }
}

/// How it was before a command.
pub(crate) enum FolderBefore {
    /// It is known, and durably so.
    Noted(NotedFolder),
    /// It is not known.
    Unobserved(Unobserved),
    /// The user stopped it.
    Stopped,
}

/// A folder whose files are noted.
pub(crate) struct NotedFolder {
    listed: StoredList,
    /// What was the last that any session was about to write.
    written: u64,
}

/// The stored note of a command that is about to run.
fn begun_note(call: &CallId, written: u64) -> String {
    format!("{call} {written}")
}

/// The stored note of a command that is about to run without a snapshot.
fn unobserved_note(call: &CallId) -> String {
    format!("{call} unobserved")
}

/// The stored note of a command whose end is reported. It names the list that is stored beside it.
fn ended_note(call: &CallId, stored: &str) -> String {
    format!("{call} ended {stored}")
}

/// What becomes durable with the report of a command.
pub(crate) fn ended(session: &SessionId, call: &CallId, before: Option<&FolderBefore>) -> Vec<(RefKey, String)> {
    match before {
        Some(FolderBefore::Noted(noted)) => vec![(RefKey::watched_in(session), ended_note(call, &noted.listed.hash))],
        _ => Vec::new(),
    }
}

/// Notes how the files are. When this returns, a command may change them: this is on the disk, and so is all that was
/// written before, such as the intent to run the command.
pub(crate) async fn before(
    deps: &ActorContext,
    session: &SessionId,
    call: &CallId,
    folder: &str,
    watch: SnapshotLimits,
    stop: &StreamController,
) -> Result<FolderBefore, StoreError> {
    let known = latest(deps, session).await?;
    let written = deps.world.store.last_writing().await?;
    // What the session wrote matters to its first snapshot only, and to read all of it takes a while.
    let doubt = known.snapshot.notes_nothing() && {
        let own = deps.world.store.own_writings(session).await?;
        own.iter().flat_map(|set| &set.writes).any(snapshot::decides)
    };
    let (folder, snapshot) = (folder.to_owned(), Arc::clone(&known.snapshot));
    let request = SnapshotRequest { folder, known: snapshot, watch, afterwards: false, doubt };
    let taken = tokio::select! {
        biased;
        () = stop.aborted() => return Ok(FolderBefore::Stopped),
        taken = take(deps, session, request) => taken?,
    };
    let unobserved = match &taken {
        None => Some(Unobserved::Unreadable),
        Some(snapshot) if snapshot.is_cut() => Some(Unobserved::TooManyFiles),
        Some(snapshot) if snapshot.is_late() => Some(Unobserved::TooSlow),
        Some(_) => None,
    };
    let snapshot = match (taken, unobserved) {
        (Some(snapshot), None) => snapshot,
        (_, why) => {
            let note = (RefKey::watched_in(session), unobserved_note(call).into_bytes());
            deps.world.store.keep_all(session, vec![note]).await?;
            return Ok(FolderBefore::Unobserved(why.unwrap_or(Unobserved::Unreadable)));
        }
    };
    let watched = begun_note(call, written);
    let mut keeps = vec![(RefKey::watched_in(session), watched.clone().into_bytes())];
    let snapshot = Arc::new(snapshot);
    let is_same = |listed: &&StoredList| listed.snapshot.has_list_of(&snapshot);
    let listed = match known.listed.as_ref().filter(is_same) {
        Some(listed) => StoredList { snapshot: Arc::clone(&snapshot), hash: listed.hash.clone() },
        None => {
            let list = snapshot.write();
            let hash = trimtab_world::store::hash(&list);
            if known.listed.is_none_or(|listed| listed.hash != hash) {
                keeps.push((RefKey::snapshot_of(session), list));
            }
            StoredList { snapshot: Arc::clone(&snapshot), hash }
        }
    };
    deps.world.store.keep_all(session, keeps).await?;
    let session = session.clone();
    deps.latest.set(Noted { session, snapshot, listed: Some(listed.clone()), watched });
    Ok(FolderBefore::Noted(NotedFolder { listed, written }))
}

/// Absolute paths that a command without approval must not write, because undo could not restore them. Or why the
/// user must be asked first: the command names such a file, or writing there cannot be prevented.
pub(crate) fn read_only(before: Option<&FolderBefore>, run: &CommandRun) -> Result<Vec<String>, String> {
    let snapshot = match before {
        Some(FolderBefore::Noted(noted)) => &noted.listed.snapshot,
        Some(FolderBefore::Unobserved(why)) => return Err(format!("Undo cannot cover this command: {}.", why.words())),
        Some(FolderBefore::Stopped) | None => return Err("Undo cannot cover this command.".to_owned()),
    };
    let uncovered = snapshot.uncovered();
    let at_risk: Vec<&Uncovered> = uncovered.iter().filter(|one| one.ask || is_named(one, run)).collect();
    if !at_risk.is_empty() {
        return Err(format!("Undo cannot restore {} if this command changes it.", named(&at_risk)));
    }
    if uncovered.len() > MOST_READ_ONLY {
        return Err(format!("Undo cannot restore {}.", named(&uncovered.iter().collect::<Vec<_>>())));
    }
    Ok(uncovered.iter().map(|one| Path::new(&run.folder).join(&one.path).to_string_lossy().into_owned()).collect())
}

/// Notes after a command without approval: which secrets it could not see, because an empty file may have misled it,
/// and what was read-only for it if it failed.
pub(crate) fn notes(before: Option<&FolderBefore>, has_failed: bool) -> Vec<String> {
    let Some(FolderBefore::Noted(noted)) = before else { return Vec::new() };
    let (hidden, others): (Vec<&Uncovered>, Vec<&Uncovered>) =
        noted.listed.snapshot.uncovered().iter().partition(|one| one.why == WhyUnkept::Secret);
    let name = |one: &&Uncovered| format!("`{}`", one.path.display().to_string().escape_debug());
    let mut notes = Vec::new();
    if !hidden.is_empty() {
        let names = format::first(&hidden.iter().map(name).collect::<Vec<_>>(), NAMED);
        notes.push(format!("Hidden from this command because it ran without approval: {names}."));
    }
    if has_failed && !others.is_empty() {
        notes.push(format!("Read-only for this command, because undo cannot restore it: {}.", named(&others)));
    }
    notes
}

/// Whether the words of a command name it or something in it. This only decides whether to ask before or to fail
/// later: it cannot be written in either case.
fn is_named(one: &Uncovered, run: &CommandRun) -> bool {
    let whole = Path::new(&run.folder).join(&one.path);
    run.command.split(|c: char| c.is_whitespace() || "\"'=;&|<>(),:".contains(c)).filter(|word| !word.is_empty()).any(
        |word| {
            let plain: std::path::PathBuf = Path::new(&run.cwd).join(word).components().collect();
            plain.starts_with(&whole)
        },
    )
}

fn named(uncovered: &[&Uncovered]) -> String {
    format::first(&uncovered.iter().map(|one| one.to_string()).collect::<Vec<_>>(), NAMED)
}

/// What a command did to the files since then.
pub(crate) async fn after(
    deps: &ActorContext,
    session: &SessionId,
    call: &CallId,
    folder: &str,
    watch: SnapshotLimits,
    before: FolderBefore,
) -> Result<FileEffects, StoreError> {
    let (now, compared, listed) = match compared(deps, session, folder, watch, before).await? {
        Ok(compared) => compared,
        Err(effects) => return Ok(effects),
    };
    let watched = ended_note(call, &listed.hash);
    deps.latest.set(Noted { session: session.clone(), snapshot: Arc::new(now), listed: Some(listed), watched });
    pictured(deps.world.store.as_ref(), session, compared).await
}

/// The files now, their difference to before, and the stored list of before. Or what is known without that.
async fn compared(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    watch: SnapshotLimits,
    before: FolderBefore,
) -> Result<Result<(Snapshot, SnapshotDiff, StoredList), FileEffects>, StoreError> {
    let NotedFolder { listed, written } = match before {
        FolderBefore::Noted(noted) => noted,
        FolderBefore::Unobserved(why) => return Ok(Err(FileEffects::unobserved(why))),
        FolderBefore::Stopped => return Ok(Err(FileEffects::default())),
    };
    let (known, doubt) = (Arc::clone(&listed.snapshot), false);
    let request = SnapshotRequest { folder: folder.to_owned(), known, watch, afterwards: true, doubt };
    let Some(now) = take(deps, session, request).await? else {
        return Ok(Err(FileEffects::unobserved(Unobserved::Unreadable)));
    };
    let mut compared = snapshot::compare(&listed.snapshot, &now);
    // In this order, because other sessions announce what they write before they write it, so every change that is
    // seen is known.
    compared.leave_out(Path::new(folder), &deps.world.store.writings(session, written).await?);
    Ok(Ok((now, compared, listed)))
}

/// The snapshot before an interrupted command.
pub(crate) async fn noted_before(
    deps: &ActorContext,
    session: &SessionId,
    call: &CallId,
) -> Result<FolderBefore, StoreError> {
    let watched = stored_note(deps, session).await?;
    let list = deps.world.store.bytes(Some(session), &RefKey::snapshot_of(session)).await?;
    let written = watched.split_once(' ').filter(|(of, _)| *of == call.as_str()).and_then(|(_, n)| n.parse().ok());
    let noted = list.and_then(|list| Some((StoredList::read(&list)?, written?)));
    Ok(match noted {
        Some((listed, written)) => FolderBefore::Noted(NotedFolder { listed, written }),
        // It was killed before that, and so the command cannot have begun.
        None => FolderBefore::Unobserved(Unobserved::NotNoted),
    })
}

/// Stores the snapshot before a command so that it outlasts the snapshots of later commands.
pub(crate) async fn keep_apart(
    deps: &ActorContext,
    session: &SessionId,
    call: &CallId,
    noted: &NotedFolder,
) -> Result<(), StoreError> {
    let list = (RefKey::background_snapshot_of(session, call), noted.listed.snapshot.write());
    let note = (RefKey::background_note_of(session, call), noted.written.to_string().into_bytes());
    deps.world.store.keep_all(session, vec![list, note]).await
}

/// The snapshot before a background command that ended with an earlier owner.
pub(crate) async fn kept_apart(
    deps: &ActorContext,
    session: &SessionId,
    call: &CallId,
) -> Result<FolderBefore, StoreError> {
    let store = &deps.world.store;
    let list = store.bytes(Some(session), &RefKey::background_snapshot_of(session, call)).await?;
    let note = store.bytes(Some(session), &RefKey::background_note_of(session, call)).await?;
    let written = note.and_then(|note| String::from_utf8(note).ok()?.parse().ok());
    let noted = list.and_then(|list| Some((StoredList::read(&list)?, written?)));
    Ok(match noted {
        Some((listed, written)) => FolderBefore::Noted(NotedFolder { listed, written }),
        None => FolderBefore::Unobserved(Unobserved::NotNoted),
    })
}

/// What becomes durable with the report of a background command: its snapshot is used.
pub(crate) fn apart_ended(session: &SessionId, call: &CallId) -> Vec<(RefKey, String)> {
    let keys = [RefKey::background_snapshot_of(session, call), RefKey::background_note_of(session, call)];
    keys.map(|key| (key, String::new())).to_vec()
}

/// What a background command did to the files. Other commands have run meanwhile, so the last snapshot stays theirs.
pub(crate) async fn after_apart(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    watch: SnapshotLimits,
    before: FolderBefore,
) -> Result<FileEffects, StoreError> {
    match compared(deps, session, folder, watch, before).await? {
        Ok((_, compared, _)) => pictured(deps.world.store.as_ref(), session, compared).await,
        Err(effects) => Ok(effects),
    }
}

/// What the background commands of a session have changed so far, of the files that these writes begin with.
pub(crate) async fn changed_so_far(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    writes: &[FileWrite],
) -> Result<Vec<(CallId, FileEffects)>, StoreError> {
    let mut changed = Vec::new();
    for call in deps.commands.in_background(session) {
        let FolderBefore::Noted(NotedFolder { listed, written }) = kept_apart(deps, session, &call).await? else {
            continue;
        };
        let now = writes.iter().map(|write| (PathBuf::from(&write.path), write.before.clone()));
        let mut compared = listed.snapshot.compare_with(now);
        compared.leave_out(Path::new(folder), &deps.world.store.writings(session, written).await?);
        if !compared.writes.is_empty() {
            changed.push((call, pictured(deps.world.store.as_ref(), session, compared).await?));
        }
    }
    Ok(changed)
}

/// What is stored of the last command that was watched; empty: nothing.
async fn stored_note(deps: &ActorContext, session: &SessionId) -> Result<String, StoreError> {
    let watched = deps.world.store.bytes(Some(session), &RefKey::watched_in(session)).await?;
    Ok(watched.and_then(|watched| String::from_utf8(watched).ok()).unwrap_or_default())
}

/// The last snapshot of a session, or an empty one.
async fn latest(deps: &ActorContext, session: &SessionId) -> Result<Noted, StoreError> {
    let watched = stored_note(deps, session).await?;
    if let Some(noted) = deps.latest.noted(session).filter(|noted| noted.watched == watched) {
        return Ok(noted);
    }
    let list = deps.world.store.bytes(Some(session), &RefKey::snapshot_of(session)).await?;
    let listed = list.and_then(|list| StoredList::read(&list));
    let snapshot = listed.as_ref().map(|listed| Arc::clone(&listed.snapshot)).unwrap_or_default();
    Ok(Noted { session: session.clone(), snapshot, listed, watched })
}

/// Looks at the files and stores the bytes of those that are not stored yet.
async fn take(
    deps: &ActorContext,
    session: &SessionId,
    request: SnapshotRequest,
) -> Result<Option<Snapshot>, StoreError> {
    let (sender, mut kept) = mpsc::channel::<(String, Vec<u8>)>(16);
    let store = async {
        let (mut batch, mut bytes, mut seen) = (Vec::new(), 0, HashSet::new());
        while let Some((hash, content)) = kept.recv().await {
            bytes += content.len();
            let key = RefKey::file_of(session, &hash);
            if seen.insert(hash) {
                batch.push((key, content));
            }
            if bytes >= TOGETHER {
                deps.world.store.keep_soon(session, std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            deps.world.store.keep_soon(session, batch).await?;
        }
        Ok::<(), StoreError>(())
    };
    // If the store fails, the receiver is gone and the scan ends.
    let workspace = deps.world.workspace(session);
    let taking = async { Ok(workspace.take_snapshot(request, sender).await) };
    let (taken, ()) = tokio::try_join!(taking, store)?;
    Ok(taken)
}

/// Adds what people see of the changes.
async fn pictured(store: &dyn Store, session: &SessionId, compared: SnapshotDiff) -> Result<FileEffects, StoreError> {
    let SnapshotDiff { mut writes, unkept, more } = compared;
    let (mut diffs, mut left) = (vec![String::new(); writes.len()], DIFFS);
    for (write, diff) in writes.iter_mut().zip(&mut diffs).take(COUNTED) {
        let (before, after) = bytes_of(store, session, write).await?;
        let is_text = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().is_none_or(|bytes| bytes.len() <= LARGEST_PICTURE && !bytes.contains(&0))
        };
        if !is_text(&before) || !is_text(&after) {
            continue;
        }
        let (shown, stats) = compare::patch(&write.path, before.as_deref(), after.as_deref());
        (write.added, write.removed, write.modified) = (stats.added, stats.removed, stats.modified);
        if shown.len() <= left {
            left -= shown.len();
            *diff = shown;
        }
    }
    Ok(FileEffects { writes, diffs, unkept, more, unobserved: None })
}

type Both = (Option<Vec<u8>>, Option<Vec<u8>>);

async fn bytes_of(store: &dyn Store, session: &SessionId, write: &FileWrite) -> Result<Both, StoreError> {
    let mut both = [None, None];
    for (bytes, state) in both.iter_mut().zip([&write.before, &write.after]) {
        if let Some(state) = state {
            *bytes = store.bytes(Some(session), &RefKey::file_of(session, &state.hash)).await?;
        }
    }
    Ok(both.into())
}
