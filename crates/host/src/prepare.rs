//! Computes what a change would do to the files, and stores both states, before the user is asked.

use std::collections::BTreeMap;

use trimtab_engine::proposal::compare::{self, LineStats};
use trimtab_engine::proposal::edit::{self, Edit, FileAfter, NewContent, RefusalKind};
use trimtab_engine::{MergeOrder, Narrowed, NoEffect, Prepared, ProposedChange, merge};
use trimtab_vocab::{ChangePart, FileLoss, FileState, FileWrite, RefKey, SessionId, visible};
use trimtab_world::store::{Store, StoreError};

use crate::client::ActorContext;
use crate::workers;
use crate::workspace::{FileNow, Workspace};

/// The mode of a file that is new.
const NEW_FILE: u32 = 0o644;

/// What a change would make of the files, or why it cannot be made.
pub(crate) async fn prepare(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    change: &ProposedChange,
    seen: &BTreeMap<String, String>,
) -> Result<Prepared, StoreError> {
    let workspace = deps.world.workspace(session);
    let workspace = workspace.as_ref();
    if let ProposedChange::Save { folder: place, pictures } = change {
        return save(deps, session, folder, place, pictures).await;
    }
    if let ProposedChange::Merge(order) = change {
        return merged(deps, session, folder, order).await;
    }
    let pairs = match change {
        ProposedChange::Edit(edit) => match edited(workspace, folder, edit, seen).await {
            Ok(pairs) => pairs,
            Err(refused) => return Ok(refused),
        },
        other => match placed(workspace, folder, other, seen).await {
            Ok(pairs) => pairs,
            Err(reason) => return Ok(Prepared::Refused { reason }),
        },
    };
    // An edit names what it takes away; a whole text only leaves it out.
    let replaces = matches!(change, ProposedChange::Edit(Edit::WholeFile { .. }));
    let losses = if replaces { pairs.iter().filter_map(BeforeAfter::loss).collect() } else { Vec::new() };
    store_all(deps, session, folder, pairs, losses).await
}

/// The changes of workers, brought together.
async fn merged(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    order: &MergeOrder,
) -> Result<Prepared, StoreError> {
    let workspace = deps.world.workspace(session);
    let store = deps.world.store.as_ref();
    let merged = workers::merge_parts(store, workspace.as_ref(), folder, order, merge::Prefer::Neither).await?;
    let (files, conflicts) = match merged {
        Ok(merged) => merged,
        Err(obstacle) => return Ok(Prepared::Blocked { obstacle }),
    };
    if !conflicts.is_empty() {
        return Ok(Prepared::Conflicts { conflicts });
    }
    if let Some(obstacle) = workers::file_and_folder(&files) {
        return Ok(Prepared::Blocked { obstacle });
    }
    let pair = |file: workers::MergedFile| {
        let mode = file.after.as_ref().map_or(NEW_FILE, |(_, mode)| *mode);
        let after = file.after.map(|(bytes, _)| bytes);
        BeforeAfter { path: file.path, before: file.before, after, mode, is_unsaved: file.is_unsaved }
    };
    let is_change = |pair: &BeforeAfter| {
        let before = pair.before.as_ref().map(|(bytes, state)| (bytes, state.mode));
        before != pair.after.as_ref().map(|bytes| (bytes, pair.mode))
    };
    let pairs: Vec<BeforeAfter> = files.into_iter().map(pair).filter(is_change).collect();
    if pairs.is_empty() {
        let reason = "The folder has all of these changes already.".to_owned();
        return Ok(Prepared::NoEffect { why: NoEffect::InPlace, reason });
    }
    let losses = pairs.iter().filter_map(BeforeAfter::loss).collect();
    store_all(deps, session, folder, pairs, losses).await
}

/// Stores both states of each file, so that what is approved is what is applied.
async fn store_all(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    pairs: Vec<BeforeAfter>,
    losses: Vec<FileLoss>,
) -> Result<Prepared, StoreError> {
    let workspace = deps.world.workspace(session);
    let unsaved = pairs.iter().filter(|pair| pair.is_unsaved).map(|pair| pair.path.clone()).collect();
    let files = match compare_all(pairs) {
        Ok(files) => files,
        Err(reason) => return Ok(Prepared::Refused { reason }),
    };
    let (mut writes, mut diffs, mut hunks, mut keeps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for file in files {
        keeps.extend(file.contents.into_iter().map(|(hash, bytes)| (RefKey::file_of(session, &hash), bytes)));
        hunks.push(file.hunks);
        writes.push(file.write);
        diffs.push(file.diff);
    }
    deps.world.store.keep_all(session, keeps).await?;
    let versions = workspace.version_paths(folder, writes.iter().map(|write| write.path.clone()).collect()).await;
    Ok(Prepared::Ready { writes, diffs, hunks, versions, losses, unsaved })
}

/// A file before and after a change.
pub(crate) struct BeforeAfter {
    path: String,
    before: Option<(Vec<u8>, FileState)>,
    after: Option<Vec<u8>>,
    /// The mode of the file afterwards.
    mode: u32,
    /// The user's editor has changes of it that are not saved.
    is_unsaved: bool,
}

impl BeforeAfter {
    /// What would be lost of it, if that is most of it.
    fn loss(&self) -> Option<FileLoss> {
        let (before, after) = (self.before.as_ref().map(|(bytes, _)| bytes)?, self.after.as_ref()?);
        let (lost, lines) = compare::dropped(before, after)?;
        let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
        Some(FileLoss { path: self.path.clone(), lost: count(lost), lines: count(lines) })
    }
}

/// A file before and after a change, with what lists and approvals show of it.
pub(crate) struct ComparedFile {
    pub(crate) write: FileWrite,
    pub(crate) diff: String,
    pub(crate) hunks: u32,
    /// Both contents by their hashes.
    pub(crate) contents: Vec<(String, Vec<u8>)>,
}

impl From<BeforeAfter> for ComparedFile {
    fn from(BeforeAfter { path, before, after, mode, .. }: BeforeAfter) -> Self {
        let bytes = before.as_ref().map(|(bytes, _)| bytes.as_slice());
        let all = merge::hunks(bytes.unwrap_or_default(), after.as_deref().unwrap_or_default()).len();
        let hunks = u32::try_from(all).unwrap_or(u32::MAX);
        let (diff, LineStats { added, removed, modified }) = compare::patch(&path, bytes, after.as_deref());
        let mut contents = Vec::new();
        let mut state = |bytes: Vec<u8>, mode: u32| {
            let hash = trimtab_world::store::hash(&bytes);
            contents.push((hash.clone(), bytes));
            FileState { hash, mode }
        };
        let after = after.map(|bytes| state(bytes, mode));
        let before = before.map(|(bytes, known)| state(bytes, known.mode));
        Self { write: FileWrite { path, before, after, added, removed, modified }, diff, hunks, contents }
    }
}

/// What a change does to each of its files, or why one of them is not made.
pub(crate) fn compare_all(pairs: Vec<BeforeAfter>) -> Result<Vec<ComparedFile>, String> {
    match pairs.iter().find_map(|pair| unfit(&pair.path, pair.before.is_some())) {
        Some(reason) => Err(reason),
        None => Ok(pairs.into_iter().map(ComparedFile::from).collect()),
    }
}

/// Why an edit was not made.
pub(crate) struct Unedited {
    /// The file that it is for.
    path: String,
    pub(crate) reason: String,
    /// The class of the reason, if the edit itself is it and not a file.
    kind: Option<RefusalKind>,
}

/// What an edit makes of its files: all of them, or none.
pub(crate) async fn edit_files(
    workspace: &dyn Workspace,
    folder: &str,
    edit: &Edit,
    seen: &BTreeMap<String, String>,
) -> Result<Vec<BeforeAfter>, Unedited> {
    let builds_on = matches!(edit, Edit::SearchReplace { .. } | Edit::UnifiedDiff { .. });
    let mut files: Vec<(String, FileNow)> = Vec::new();
    for name in edit.paths() {
        let refused = |reason| Unedited { path: name.clone(), reason, kind: None };
        let now = read(workspace, folder, &name).await.map_err(refused)?;
        // Two names of one file would be two changes, of which the second undoes the first.
        if let Some((other, _)) = files.iter().find(|(_, known)| known.real == now.real) {
            return Err(refused(format!("{other} and {name} are the same file. Give one edit for each file.")));
        }
        if let Some(reason) = stale(&now.path, text_hash(&now).as_deref(), builds_on, seen.get(&name)) {
            return Err(refused(reason));
        }
        files.push((name, now));
    }
    let path = files.first().map(|(_, now)| now.path.clone()).unwrap_or_default();
    // An edit is made on the text that the user sees. What is on the disk is what undo restores.
    let bytes = |now: &FileNow| now.unsaved.clone().or_else(|| now.content.as_ref().map(|(bytes, _)| bytes.clone()));
    let before: Vec<(String, Option<Vec<u8>>)> = files.iter().map(|(name, now)| (name.clone(), bytes(now))).collect();
    let given = before.iter().map(|(name, bytes)| (name.clone(), bytes.as_deref())).collect();
    let refused = |refusal: edit::EditRefusal| Unedited { path, reason: refusal.reason, kind: Some(refusal.kind) };
    let all = edit::apply(edit, &given).map_err(refused)?;
    let mode_of = |name: &str| {
        let state = files.iter().find(|(known, _)| known == name).and_then(|(_, now)| now.content.as_ref());
        state.map(|(_, state)| state.mode)
    };
    let modes: Vec<u32> = all
        .iter()
        .map(|file| mode_of(&file.path).or(file.from.as_deref().and_then(mode_of)).unwrap_or(NEW_FILE))
        .collect();
    let mut pairs = Vec::with_capacity(all.len());
    for (FileAfter { path, after, .. }, mode) in all.into_iter().zip(modes) {
        let Some(at) = files.iter().position(|(name, _)| *name == path) else { continue };
        let (_, now) = files.swap_remove(at);
        let after = match after {
            NewContent::Write(bytes) => Some(bytes),
            NewContent::Delete => None,
        };
        let is_unsaved = now.unsaved.is_some();
        pairs.push(BeforeAfter { path: now.path, before: now.content, after, mode, is_unsaved });
    }
    Ok(pairs)
}

async fn edited(
    workspace: &dyn Workspace,
    folder: &str,
    edit: &Edit,
    seen: &BTreeMap<String, String>,
) -> Result<Vec<BeforeAfter>, Prepared> {
    edit_files(workspace, folder, edit, seen).await.map_err(|Unedited { path, reason, kind }| match kind {
        None => Prepared::Refused { reason },
        Some(kind) => {
            let reason = format!("{path} was not changed: {reason}");
            match no_effect(edit, kind) {
                Some(why) => Prepared::NoEffect { why, reason },
                None => Prepared::Refused { reason },
            }
        }
    })
}

/// What deleting or moving a file makes of it.
async fn placed(
    workspace: &dyn Workspace,
    folder: &str,
    change: &ProposedChange,
    seen: &BTreeMap<String, String>,
) -> Result<Vec<BeforeAfter>, String> {
    let now = read(workspace, folder, change.path()).await?;
    if let Some(reason) = stale(&now.path, text_hash(&now).as_deref(), false, seen.get(change.path())) {
        return Err(reason);
    }
    let FileNow { path, content, unsaved, .. } = now;
    let is_unsaved = unsaved.is_some();
    let Some((bytes, state)) = content else { return Err(format!("There is no file {path}.")) };
    let mode = state.mode;
    let gone = BeforeAfter { path, before: Some((bytes.clone(), state)), after: None, mode, is_unsaved };
    let ProposedChange::Move { to, .. } = change else { return Ok(vec![gone]) };
    match read(workspace, folder, to).await? {
        FileNow { path, content: None, unsaved: new, .. } => {
            // The text that the user sees moves. It may meet one that was never saved.
            let after = Some(unsaved.unwrap_or(bytes));
            Ok(vec![gone, BeforeAfter { path, before: None, after, mode, is_unsaved: new.is_some() }])
        }
        FileNow { path, .. } => Err(format!("{path} exists already; nothing was moved.")),
    }
}

/// What a part of a change makes of the files: from the states that were stored, so that it is the change which was
/// looked at. The hunks are those that people see, as everywhere.
pub(crate) async fn narrow(
    store: &dyn Store,
    session: &SessionId,
    whole: &[FileWrite],
    parts: &[ChangePart],
) -> Result<Narrowed, StoreError> {
    let (mut writes, mut diffs, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let path = part.path.clone();
        let refused = |what: &str| Ok(Narrowed::Refused { reason: format!("{path} was not changed: {what}.") });
        let Some(write) = whole.iter().find(|write| write.path == part.path) else {
            return refused("it is not in the proposal");
        };
        let mut sides = [None, None];
        for (side, state) in sides.iter_mut().zip([&write.before, &write.after]) {
            let Some(state) = state else { continue };
            *side = store.bytes(Some(session), &RefKey::file_of(session, &state.hash)).await?;
            if side.is_none() {
                return refused("one of its versions is no longer stored");
            }
        }
        let [before, after] = sides;
        let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let all = u32::try_from(merge::hunks(old, new).len()).unwrap_or(u32::MAX);
        let unwanted: Vec<u32> = match part.hunks.is_empty() {
            true => Vec::new(),
            false => (1..=all).filter(|number| !part.hunks.contains(number)).collect(),
        };
        // A file that is made or goes is one hunk, so that a part of it is a file that stays.
        let (Some(state), false) = (&write.after, unwanted.is_empty()) else {
            diffs.push(compare::patch(&path, before.as_deref(), after.as_deref()).0);
            left.push(String::new());
            writes.push(write.clone());
            continue;
        };
        let Ok(made) = merge::without(old, new, &unwanted) else { return refused("it has no such hunk") };
        let (diff, LineStats { added, removed, modified }) = compare::patch(&path, before.as_deref(), Some(&made));
        left.push(compare::patch(&path, Some(&made), after.as_deref()).0);
        diffs.push(diff);
        let after = Some(keep(store, session, made, state.mode).await?);
        writes.push(FileWrite { path, before: write.before.clone(), after, added, removed, modified });
    }
    Ok(Narrowed::Ready { writes, diffs, left })
}

/// Numbers of pictures in a folder at most.
const LAST_PICTURE: u32 = 9_999;

/// What saving pictures would make of the folder: each gets the first name that is free, and nothing that is there
/// is touched.
async fn save(
    deps: &ActorContext,
    session: &SessionId,
    folder: &str,
    place: &str,
    pictures: &[(RefKey, String)],
) -> Result<Prepared, StoreError> {
    let (workspace, store) = (deps.world.workspace(session), deps.world.store.as_ref());
    let workspace = workspace.as_ref();
    let place = place.trim().trim_end_matches('/');
    let (mut made, mut number): (Vec<ComparedFile>, u32) = (Vec::new(), 0);
    for (key, media_type) in pictures {
        // A fork shows the pictures of its parent, where they are stored.
        let Some(bytes) = store.bytes(None, key).await? else {
            return Ok(Prepared::Refused { reason: format!("The image ref:{key} is no longer stored.") });
        };
        let path = loop {
            number += 1;
            if number > LAST_PICTURE {
                let reason = format!("{place} already has {LAST_PICTURE} images. Choose another folder.");
                return Ok(Prepared::Refused { reason });
            }
            let name = format!("image-{number:03}.{}", trimtab_vocab::extension(media_type));
            let wanted = if place.is_empty() { name } else { format!("{place}/{name}") };
            match read(workspace, folder, &wanted).await {
                Ok(FileNow { path, content: None, .. }) => break path,
                Ok(_) => {}
                // A directory or link with that name also blocks it. A path outside the folder stays refused for
                // every number.
                Err(reason) => return Ok(Prepared::Refused { reason }),
            }
        };
        let new = BeforeAfter { path, before: None, after: Some(bytes), mode: NEW_FILE, is_unsaved: false };
        match compare_all(vec![new]) {
            Ok(files) => made.extend(files),
            Err(reason) => return Ok(Prepared::Refused { reason }),
        }
    }
    let (mut writes, mut diffs, mut keeps) = (Vec::new(), Vec::new(), Vec::new());
    for file in made {
        keeps.extend(file.contents.into_iter().map(|(hash, bytes)| (RefKey::file_of(session, &hash), bytes)));
        writes.push(file.write);
        diffs.push(file.diff);
    }
    store.keep_all(session, keeps).await?;
    // A picture is saved or left out, never a part of it.
    let hunks = vec![1; writes.len()];
    let versions = workspace.version_paths(folder, writes.iter().map(|write| write.path.clone()).collect()).await;
    Ok(Prepared::Ready { writes, diffs, hunks, versions, losses: Vec::new(), unsaved: Vec::new() })
}

/// Why an edit that was refused would have had no effect, if that is the reason.
fn no_effect(edit: &Edit, kind: RefusalKind) -> Option<NoEffect> {
    match kind {
        RefusalKind::NoChange | RefusalKind::AlreadyApplied => match edit {
            Edit::UnifiedDiff { .. } => Some(NoEffect::Done),
            Edit::SearchReplace { .. } | Edit::WholeFile { .. } => Some(NoEffect::InPlace),
        },
        _ if !matches!(edit, Edit::UnifiedDiff { .. }) => None,
        RefusalKind::NotFound => Some(NoEffect::Unmatched),
        RefusalKind::Malformed | RefusalKind::RunTogether => Some(NoEffect::Malformed),
        _ => None,
    }
}

/// A file to change, unless its path is misleading for the user who approves it.
async fn read(workspace: &dyn Workspace, folder: &str, path: &str) -> Result<FileNow, String> {
    let now = workspace.read(folder, path).await?;
    if let Some(reason) = now.silence() {
        return Err(reason);
    }
    match trimtab_engine::hidden_by_links(path, folder, &now.real) {
        Some(refusal) => Err(refusal.into()),
        None => Ok(now),
    }
}

/// Why no file of this name is made: lists and terminals would show it as something else, or it would be
/// taken for something of ours that a killed run has left. One that is there already may be changed.
fn unfit(path: &str, is_there: bool) -> Option<String> {
    if is_there {
        return None;
    }
    if path.chars().any(char::is_control) {
        return Some(format!("{} was not created: its name contains control characters.", path.escape_debug()));
    }
    if let Some(why) = path.split('/').find_map(deceives) {
        let shown: String =
            path.chars().flat_map(|c| if is_unseen(c) { c.escape_unicode().collect() } else { vec![c] }).collect();
        return Some(format!("`{shown}` was not created: {why}. Choose another name."));
    }
    let ours = path.split('/').any(|part| part.to_lowercase().starts_with(".trimtab-"));
    ours.then(|| {
        format!("{path} was not created: names that begin with .trimtab- are reserved for unfinished changes.")
    })
}

/// Why a name is misleading for people or programs. A user who wants such a file can create it; a model that creates
/// one is mistaken or malicious.
fn deceives(name: &str) -> Option<&'static str> {
    if name.starts_with('-') {
        return Some("programs would read a name that begins with `-` as an option");
    }
    if name.chars().any(is_unseen) {
        return Some("its name contains invisible characters");
    }
    (name.trim() != name).then_some("its name begins or ends with a space")
}

/// Characters that are not shown, or that change the order in which others are.
fn is_unseen(c: char) -> bool {
    // It only chooses how an emoji looks.
    c != '\u{fe0f}' && visible::is_hidden(c)
}

/// Why a change rests on a file as it no longer is. `builds_on`: it needs the text that was there.
fn stale(path: &str, now: Option<&str>, builds_on: bool, seen: Option<&String>) -> Option<String> {
    match (now, seen) {
        (Some(now), Some(seen)) if now != *seen => {
            Some(format!("{path} was not changed: it has changed since you last read it. Read it again first."))
        }
        (None, Some(_)) if builds_on => Some(format!("{path} no longer exists. Find out what happened to it.")),
        _ => None,
    }
}

/// The hash of the text that an edit is made on.
fn text_hash(now: &FileNow) -> Option<String> {
    let on_disk = || now.content.as_ref().map(|(_, state)| state.hash.clone());
    now.unsaved.as_deref().map(trimtab_world::store::hash).or_else(on_disk)
}

pub(crate) async fn keep(
    store: &dyn Store,
    session: &SessionId,
    bytes: Vec<u8>,
    mode: u32,
) -> Result<FileState, StoreError> {
    let hash = trimtab_world::store::hash(&bytes);
    store.keep(session, &RefKey::file_of(session, &hash), bytes).await?;
    Ok(FileState { hash, mode })
}
