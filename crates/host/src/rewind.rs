//! Computes what a move of the history would do to the current files, and stores it, before any file is touched.

use trimtab_engine::merge::{self, Clash, File, Prefer};
use trimtab_engine::proposal::compare::{self, LineStats};
use trimtab_engine::{Compared, RewindPath, RewindPreview, RewindStep};
use trimtab_vocab::event::Conflict;
use trimtab_vocab::format;
use trimtab_vocab::{FileState, OnConflict, RefKey, SessionId};
use trimtab_world::store::{Store, StoreError};

use crate::prepare::keep;
use crate::workspace::Workspace;

/// Conflicts that are shown; one is enough to refuse.
const SHOWN: usize = 20;
/// Bytes of each side of a conflict that are shown.
const SIDE: usize = 2_000;

/// Computes what a move would do to the files, or why it is not possible. It works file by file, so a move of ten
/// thousand files is never in memory at once.
pub async fn walk(
    store: &dyn Store,
    workspace: &dyn Workspace,
    session: &SessionId,
    folder: &str,
    ways: Vec<RewindPath>,
    on_conflict: OnConflict,
) -> Result<Compared, StoreError> {
    let walker = RewindWalk { store, workspace, session, folder, prefer: prefer(on_conflict) };
    let (mut walked, mut conflicts, mut all) = (Vec::new(), Vec::new(), 0);
    for way in &ways {
        match walker.along(way).await? {
            Ok(steps) => walked.extend(steps),
            Err(RewindObstacle::Reason(reason)) => return Ok(Compared::Refused { reason, conflicts: Vec::new() }),
            Err(RewindObstacle::Clashes(clashes)) => {
                all += clashes.len();
                let room = SHOWN.saturating_sub(conflicts.len());
                conflicts.extend(clashes.into_iter().take(room).map(|clash| shown(&way.path, clash)));
            }
        }
    }
    if conflicts.is_empty() {
        return Ok(Compared::Ready { walked });
    }
    let mut files: Vec<&str> = conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    files.dedup();
    let places = format::plural(all, "place");
    let reason = format!("Your later edits conflict in {places} ({}). Nothing was changed.", format::first(&files, 3));
    Ok(Compared::Refused { reason, conflicts })
}

fn prefer(on_conflict: OnConflict) -> Prefer {
    match on_conflict {
        OnConflict::Refuse => Prefer::Neither,
        OnConflict::KeepMine => Prefer::Left,
        OnConflict::DiscardMine => Prefer::Right,
    }
}

/// Why a file cannot go its way.
enum RewindObstacle {
    Reason(String),
    Clashes(Vec<Clash>),
}

struct RewindWalk<'a> {
    store: &'a dyn Store,
    workspace: &'a dyn Workspace,
    session: &'a SessionId,
    folder: &'a str,
    prefer: Prefer,
}

/// A file at some point of a move. Stored bytes are loaded when they are needed.
struct At {
    state: Option<FileState>,
    /// Bytes that came from the folder.
    fresh: Option<Vec<u8>>,
}

impl RewindWalk<'_> {
    /// The legs that are not as the history says.
    async fn along(&self, way: &RewindPath) -> Result<Result<Vec<RewindPreview>, RewindObstacle>, StoreError> {
        let is_as_left = |state: &Option<FileState>| {
            way.steps.first().is_some_and(|rewind_step| rewind_step.from == *state && rewind_step.hunks.is_empty())
        };
        // What a command made of a file may be a link, or a folder: then it is not a file that could be read.
        let itself = self.workspace.itself(self.folder, &way.path).await.filter(is_as_left);
        let read = match itself {
            Some(state) => Ok(At { state, fresh: None }),
            None => self.workspace.read_saved(self.folder, &way.path).await.map(|now| {
                let (fresh, state) = now.content.unzip();
                At { state, fresh }
            }),
        };
        let mut at = match read {
            Ok(at) => at,
            // A file that a command made too large to be read can still be replaced by what it was.
            Err(reason) => match self.workspace.state(self.folder, &way.path).await {
                state @ Some(_) if is_as_left(&state) => At { state, fresh: None },
                _ => return Ok(Err(RewindObstacle::Reason(format!("{reason} Nothing was changed.")))),
            },
        };
        let mut walked = Vec::new();
        for rewind_step in &way.steps {
            if at.state == rewind_step.from && rewind_step.hunks.is_empty() {
                // As the history left it: nothing has to be looked at. The sides of an undo are recorded anyway.
                at = At { state: rewind_step.to.clone(), fresh: None };
                walked.push((rewind_step, rewind_step.from.clone(), at.state.clone(), None));
                continue;
            }
            let (from, bytes) = (at.state.clone(), self.bytes_of(&mut at).await?);
            let (base, wanted) = match self.sides(rewind_step, &way.path).await? {
                Ok(sides) => sides,
                Err(reason) => return Ok(Err(RewindObstacle::Reason(reason))),
            };
            fn file<'a>(state: &Option<FileState>, bytes: &'a Option<Vec<u8>>) -> Option<File<'a>> {
                Some(File { bytes: bytes.as_deref()?, mode: state.as_ref()?.mode })
            }
            let wanted_state = rewind_step.to.as_ref().or(rewind_step.from.as_ref()).cloned();
            let merged = merge::merge_files(
                file(&rewind_step.from, &base),
                file(&from, &bytes),
                file(&wanted_state, &wanted),
                self.prefer,
            );
            let merged = match merged {
                Ok(merged) => merged,
                Err(clashes) => return Ok(Err(RewindObstacle::Clashes(clashes))),
            };
            let stats = counted(bytes.as_deref(), merged.as_ref().map(|(bytes, _)| bytes.as_slice()));
            // What is there now must be there to come back to.
            if let (Some(bytes), Some(state)) = (bytes, &from) {
                keep(self.store, self.session, bytes, state.mode).await?;
            }
            let to = match merged {
                Some((bytes, mode)) => Some(keep(self.store, self.session, bytes, mode).await?),
                None => None,
            };
            walked.push((rewind_step, from, to.clone(), Some(stats)));
            at = At { state: to, fresh: None };
        }
        let mut found = Vec::new();
        for (rewind_step, from, to, counts) in walked {
            let LineStats { added, removed, modified } = match counts {
                Some(counts) => counts,
                None if !way.is_undo => continue,
                None => self.counts(&from, &to).await?,
            };
            let (change_set, path) = (rewind_step.change_set.clone(), way.path.clone());
            found.push(RewindPreview { change_set, path, from, to, added, removed, modified });
        }
        Ok(Ok(found))
    }

    async fn bytes_of(&self, at: &mut At) -> Result<Option<Vec<u8>>, StoreError> {
        match (at.fresh.take(), &at.state) {
            (Some(bytes), _) => Ok(Some(bytes)),
            (None, Some(state)) => self.stored(&state.hash).await,
            (None, None) => Ok(None),
        }
    }

    async fn stored(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.bytes(Some(self.session), &RefKey::file_of(self.session, hash)).await
    }

    /// Both ends of a leg, as the history has them.
    async fn sides(
        &self,
        rewind_step: &RewindStep,
        path: &str,
    ) -> Result<Result<(Option<Vec<u8>>, Option<Vec<u8>>), String>, StoreError> {
        let mut sides = Vec::new();
        for state in [&rewind_step.from, &rewind_step.to] {
            let bytes = match state {
                Some(state) => self.stored(&state.hash).await?,
                None => None,
            };
            if state.is_some() && bytes.is_none() {
                return Ok(Err(format!(
                    "The earlier version of {path} is no longer stored, so this cannot be undone. Nothing was changed."
                )));
            }
            sides.push(bytes);
        }
        let (to, from) = (sides.pop().flatten(), sides.pop().flatten());
        if rewind_step.hunks.is_empty() {
            return Ok(Ok((from, to)));
        }
        let (old, new) = (to.as_deref().unwrap_or_default(), from.as_deref().unwrap_or_default());
        let all = merge::hunks(old, new).len();
        Ok(match merge::without(old, new, &rewind_step.hunks) {
            // All of them: a file that the set has made goes too.
            Ok(_) if (1..=all).all(|number| rewind_step.hunks.contains(&(number as u32))) => Ok((from, to)),
            Ok(part) => Ok((from, Some(part))),
            Err(_) if all == 0 => Err(format!("{path} has no separate hunks. Undo the whole file.")),
            Err(wrong) => {
                Err(format!("There is no hunk {wrong} in {path}: the change has {all}. Nothing was changed."))
            }
        })
    }

    async fn counts(&self, from: &Option<FileState>, to: &Option<FileState>) -> Result<LineStats, StoreError> {
        let mut sides = Vec::new();
        for state in [from, to] {
            sides.push(match state {
                Some(state) => self.stored(&state.hash).await?,
                None => None,
            });
        }
        Ok(counted(sides[0].as_deref(), sides[1].as_deref()))
    }
}

/// Changed lines; a file that is not text has none.
fn counted(before: Option<&[u8]>, after: Option<&[u8]>) -> LineStats {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    match compare::is_binary(before) || compare::is_binary(after) {
        true => LineStats::default(),
        false => LineStats::count(&compare::blocks(before, after)),
    }
}

/// A clash as people see it.
fn shown(path: &str, clash: Clash) -> Conflict {
    let whole = |reason: &str| Conflict {
        path: path.to_owned(),
        reason: format!("{path} {reason}"),
        first_line: None,
        lines: 0,
        base: None,
        mine: None,
        wanted: None,
    };
    match clash {
        Clash::NoText => whole("was edited since and is not text, so it cannot be merged."),
        Clash::TooLarge => whole("was edited since, and is too large to be merged."),
        Clash::Existence => whole("was edited, created, or deleted since, in conflict with this undo or redo."),
        Clash::Mode => whole("has other permissions since, in conflict with this undo or redo."),
        Clash::Lines { left, base, ours, theirs } => {
            let (first, lines) = (left.start as u64 + 1, left.len() as u64);
            let place = match lines {
                0 => format!("before line {first}"),
                1 => format!("line {first}"),
                _ => format!("lines {first} to {}", first + lines - 1),
            };
            Conflict {
                path: path.to_owned(),
                reason: format!("{path}, {place}: your later edit conflicts with this undo or redo."),
                first_line: Some(first),
                lines,
                base: Some(side(&base)),
                mine: Some(side(&ours)),
                wanted: Some(side(&theirs)),
            }
        }
    }
}

fn side(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let end = text.floor_char_boundary(SIDE);
    if end == text.len() {
        text.into_owned()
    } else {
        format!("{}\n[... {} bytes more ...]\n", &text[..end], text.len() - end)
    }
}
