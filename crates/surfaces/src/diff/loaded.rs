//! Changes with their bytes, as the store has them.

use trimtab_host::compare::{self, LineStats};
use trimtab_host::{Client, RewindPlan};
use trimtab_vocab::{FileState, FileWrite, Problem, SessionId};

use super::{DiffFile, DiffState};

/// A file that changed, with its bytes.
#[derive(Debug)]
pub(crate) struct LoadedDiff {
    path: String,
    from: Option<String>,
    before: Option<(Vec<u8>, u32)>,
    after: Option<(Vec<u8>, u32)>,
}

impl LoadedDiff {
    /// The bytes of what was written or would be. A file that stands elsewhere unchanged was moved.
    pub(crate) async fn load(client: &Client, session: &SessionId, writes: &[FileWrite]) -> Result<Vec<Self>, Problem> {
        let hash = |state: &Option<FileState>| state.as_ref().map(|state| state.hash.clone());
        let made = |write: &FileWrite| write.before.is_none() && write.after.is_some();
        let gone = |write: &FileWrite| write.before.is_some() && write.after.is_none();
        let mut sources: Vec<&FileWrite> = writes.iter().filter(|write| gone(write)).collect();
        let mut loaded = Vec::new();
        for write in writes.iter().filter(|write| !gone(write)) {
            let moved = sources.iter().position(|source| made(write) && hash(&source.before) == hash(&write.after));
            let source = moved.map(|at| sources.remove(at));
            let before = source.map_or(&write.before, |source| &source.before);
            loaded.push(Self {
                path: write.path.clone(),
                from: source.map(|source| source.path.clone()),
                before: bytes(client, session, before).await?,
                after: bytes(client, session, &write.after).await?,
            });
        }
        for write in sources {
            let before = bytes(client, session, &write.before).await?;
            loaded.push(Self { path: write.path.clone(), from: None, before, after: None });
        }
        Ok(loaded)
    }

    /// What a rewind would do. Its files may be those of the session that it goes back to.
    pub(crate) async fn load_rewind(
        client: &Client,
        session: &SessionId,
        plan: &RewindPlan,
    ) -> Result<Vec<Self>, Problem> {
        match plan.target() {
            Some(target) => match Self::load(client, target, &plan.writes).await {
                Ok(loaded) => Ok(loaded),
                Err(_) => Self::load(client, session, &plan.writes).await,
            },
            None => Self::load(client, session, &plan.writes).await,
        }
    }

    /// A change that is made up.
    #[cfg(test)]
    pub(crate) fn made_up(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Self {
        let state = |bytes: &[u8]| (bytes.to_vec(), 0o644);
        Self { path: path.into(), from: None, before: before.map(state), after: after.map(state) }
    }

    pub(crate) fn change(&self) -> DiffFile<'_> {
        let (before, after) = (state(&self.before), state(&self.after));
        DiffFile { path: &self.path, from: self.from.as_deref(), before, after }
    }

    /// Where it is, and where it was if that was elsewhere.
    pub(crate) fn name(&self) -> String {
        self.from.as_ref().map_or_else(|| self.path.clone(), |from| format!("{from} → {}", self.path))
    }

    /// The change as a patch; what has no lines is said in the words of `git`, so that nothing is missing.
    pub(crate) fn patch(&self) -> (String, LineStats) {
        let (before, after) = (state(&self.before), state(&self.after));
        let (text, stats) = compare::patch(&self.path, before.map(|state| state.bytes), after.map(|state| state.bytes));
        let from = self.from.as_ref().unwrap_or(&self.path);
        let (old, new) = (before.map(|state| state.mode & 0o7777), after.map(|state| state.mode & 0o7777));
        let mut head = Vec::new();
        if self.from.is_some() {
            head.extend([format!("rename from {from}"), format!("rename to {}", self.path)]);
        }
        match (old, new) {
            (None, Some(mode)) if text.is_empty() => head.push(format!("new file mode 100{mode:o}")),
            (Some(mode), None) if text.is_empty() => head.push(format!("deleted file mode 100{mode:o}")),
            (Some(old), Some(new)) if old != new => {
                head.extend([format!("old mode 100{old:o}"), format!("new mode 100{new:o}")]);
            }
            _ => {}
        }
        if head.is_empty() {
            return (text, stats);
        }
        (format!("diff --git a/{from} b/{}\n{}\n{text}", self.path, head.join("\n")), stats)
    }
}

fn state(side: &Option<(Vec<u8>, u32)>) -> Option<DiffState<'_>> {
    side.as_ref().map(|(bytes, mode)| DiffState { bytes, mode: *mode })
}

async fn bytes(
    client: &Client,
    session: &SessionId,
    state: &Option<FileState>,
) -> Result<Option<(Vec<u8>, u32)>, Problem> {
    match state {
        Some(state) => Ok(Some((client.changes().file(session, &state.hash).await?, state.mode))),
        None => Ok(None),
    }
}

/// The files of a proposal's operations.
pub(crate) fn written(operations: &[serde_json::Value]) -> Vec<FileWrite> {
    operations.iter().filter_map(|one| serde_json::from_value(one.clone()).ok()).collect()
}
