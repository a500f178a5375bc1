//! Bytes by name in the database: each content once, packed.

use std::collections::HashSet;

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Transaction, params};
use trimtab_vocab::{RefKey, SessionId};

use super::super::encoding::{pack, unpack};
use super::super::{BlobStore, FileSpace, Result};
use super::{SqliteStore, read_id};

#[async_trait]
impl BlobStore for SqliteStore {
    async fn keep_all(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        let session = session.clone();
        self.write(move |tx| insert_all(tx, &session, &keeps)).await
    }

    async fn keep_soon(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        let session = session.clone();
        self.write_soon(move |tx| insert_all(tx, &session, &keeps)).await
    }

    async fn file_space(&self) -> Result<Vec<FileSpace>> {
        self.read(|tx| {
            let mut statement = tx.prepare(
                "SELECT r.session, COUNT(*), SUM(b.size), SUM(LENGTH(b.data)) FROM refs r JOIN blobs b USING (hash)
                 WHERE r.key >= 'file-' AND r.key < 'file.' GROUP BY r.session",
            )?;
            let rows = statement.query_map([], |row| {
                let (contents, bytes, packed) = (row.get(1)?, row.get(2)?, row.get(3)?);
                Ok(FileSpace { session: read_id(row, 0)?, contents, bytes, packed })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn ref_keys(&self, session: &SessionId) -> Result<Vec<RefKey>> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement = tx.prepare_cached("SELECT key FROM refs WHERE session = ?1")?;
            let keys = statement.query_map([session.as_str()], |row| read_id::<RefKey>(row, 0))?;
            Ok(keys.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn bytes(&self, session: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>> {
        let (session, key) = (session.cloned(), key.clone());
        self.read(move |tx| {
            let found: Option<(Vec<u8>, usize, Vec<u8>)> = tx
                .prepare_cached(
                    "SELECT b.hash, b.size, b.data FROM refs r JOIN blobs b USING (hash)
                     WHERE r.key = ?1 AND (?2 IS NULL OR r.session = ?2) LIMIT 1",
                )?
                .query_row(params![key.as_str(), session.as_ref().map(SessionId::as_str)], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()?;
            found.map(|(hash, size, packed)| unpack(&hash, size, &packed)).transpose()
        })
        .await
    }
}

/// Removes bytes without a name.
pub(super) const DELETE_UNNAMED: &str =
    "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM refs WHERE hash = ?1)";

/// Stores each text once, by its hash, and points its name there.
pub(super) fn insert_texts(tx: &Transaction<'_>, session: &SessionId, keeps: &[(RefKey, String)]) -> Result<()> {
    keeps.iter().try_for_each(|(key, text)| insert_bytes(tx, session, key, text.as_bytes()))
}

fn insert_all(tx: &Transaction<'_>, session: &SessionId, keeps: &[(RefKey, Vec<u8>)]) -> Result<()> {
    keeps.iter().try_for_each(|(key, bytes)| insert_bytes(tx, session, key, bytes))
}

pub(super) fn insert_bytes(tx: &Transaction<'_>, session: &SessionId, key: &RefKey, bytes: &[u8]) -> Result<()> {
    let hash = blake3::hash(bytes);
    let known: Option<i64> = tx
        .prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?
        .query_row([hash.as_bytes()], |row| row.get(0))
        .optional()?;
    if known.is_none() {
        let packed = pack(bytes)?;
        tx.prepare_cached("INSERT INTO blobs (hash, size, data) VALUES (?1, ?2, ?3)")?.execute(params![
            hash.as_bytes(),
            bytes.len(),
            packed
        ])?;
    }
    let before: Option<Vec<u8>> = tx
        .prepare_cached("SELECT hash FROM refs WHERE key = ?1 AND session = ?2")?
        .query_row([key.as_str(), session.as_str()], |row| row.get(0))
        .optional()?;
    tx.prepare_cached(
        "INSERT INTO refs (key, session, hash) VALUES (?1, ?2, ?3)
         ON CONFLICT (key, session) DO UPDATE SET hash = excluded.hash",
    )?
    .execute(params![key.as_str(), session.as_str(), hash.as_bytes()])?;
    // What a name stood for before goes, unless another name stands for it too.
    if let Some(before) = before.filter(|before| before != hash.as_bytes()) {
        tx.prepare_cached(DELETE_UNNAMED)?.execute([before])?;
    }
    Ok(())
}

/// Forgets the contents of a session's files, except these.
pub(super) fn forget_files(tx: &Transaction<'_>, session: &SessionId, except: &HashSet<RefKey>) -> Result<()> {
    let mut find =
        tx.prepare_cached("SELECT key, hash FROM refs WHERE session = ?1 AND key >= 'file-' AND key < 'file.'")?;
    let rows = find.query_map([session.as_str()], |row| Ok((read_id::<RefKey>(row, 0)?, row.get::<_, Vec<u8>>(1)?)))?;
    for (key, hash) in rows.collect::<rusqlite::Result<Vec<_>>>()? {
        if !except.contains(&key) {
            tx.prepare_cached("DELETE FROM refs WHERE key = ?1 AND session = ?2")?
                .execute([key.as_str(), session.as_str()])?;
            tx.prepare_cached(DELETE_UNNAMED)?.execute([hash])?;
        }
    }
    Ok(())
}
