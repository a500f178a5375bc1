//! Bytes in memory, and files that are about to be written.

use async_trait::async_trait;
use trimtab_vocab::{FileSet, RefKey, SessionId};
use trimtab_world::store::{BlobStore, FileSpace, Result, WritingStore};

use super::MemoryStore;

#[async_trait]
impl BlobStore for MemoryStore {
    async fn keep_all(&self, _: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        self.write(|state, _| {
            // A name stands for what was stored last, be it text or bytes.
            keeps.iter().for_each(|(key, _)| drop(state.texts.remove(key)));
            state.bytes.extend(keeps);
            Ok(())
        })
        .await
    }

    async fn file_space(&self) -> Result<Vec<FileSpace>> {
        self.operate(|state, _| {
            let of = |session: &SessionId| {
                let prefix = format!("file-{session}-");
                let mine = state.bytes.iter().filter(|(key, _)| key.as_str().starts_with(&prefix));
                let sizes: Vec<u64> = mine.map(|(_, bytes)| bytes.len() as u64).collect();
                let bytes = sizes.iter().sum();
                FileSpace { session: session.clone(), contents: sizes.len() as u64, bytes, packed: bytes }
            };
            Ok(state.sessions.keys().map(of).filter(|space| space.contents > 0).collect())
        })
        .await
    }

    /// What belongs to which session is not known here: all there is.
    async fn ref_keys(&self, _: &SessionId) -> Result<Vec<RefKey>> {
        self.operate(|state, _| Ok(state.texts.keys().chain(state.bytes.keys()).cloned().collect())).await
    }

    async fn bytes(&self, _: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>> {
        self.operate(|state, _| {
            let text = state.texts.get(key).map(|text| text.clone().into_bytes());
            Ok(text.or_else(|| state.bytes.get(key).cloned()))
        })
        .await
    }
}

#[async_trait]
impl WritingStore for MemoryStore {
    async fn last_writing(&self) -> Result<u64> {
        self.operate(|state, _| Ok(state.writing.last)).await
    }

    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>> {
        self.operate(|state, _| {
            let others = state.writing.sets.iter().filter(|(n, session, _)| *n > after && session != but);
            Ok(others.map(|(_, _, set)| set.clone()).collect())
        })
        .await
    }

    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>> {
        self.operate(|state, _| {
            let own = state.writing.sets.iter().filter(|(_, of, _)| of == session);
            Ok(own.map(|(_, _, set)| set.clone()).collect())
        })
        .await
    }

    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>> {
        self.operate(|state, _| {
            let is_free =
                |id: &&SessionId| !state.jobs.values().any(|job| job.row.session == **id && job.status.is_none());
            let is_there = |id: &&SessionId| state.sessions.get(*id).is_some_and(|row| row.folder == folder);
            Ok(state.writing.moving.iter().filter(is_free).filter(is_there).cloned().collect())
        })
        .await
    }
}
