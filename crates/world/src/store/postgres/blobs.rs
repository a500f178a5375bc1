//! Bytes by name in the database: each content once, packed.
//!
//! A transaction that names bytes locks them against being removed, and one that removes bytes locks them before it looks
//! whether they have a name left.

use std::collections::HashSet;

use async_trait::async_trait;
use trimtab_vocab::{RefKey, SessionId};

use super::super::encoding::{pack, unpack};
use super::super::{BlobStore, FileSpace, Result};
use super::transaction::Tx;
use super::{PostgresStore, read_id, signed, unsigned};

#[async_trait]
impl BlobStore for PostgresStore {
    async fn keep_all(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        let session = session.clone();
        self.write(async move |tx| {
            for (key, bytes) in &keeps {
                insert_bytes(tx, &session, key, bytes).await?;
            }
            Ok(())
        })
        .await
    }

    async fn file_space(&self) -> Result<Vec<FileSpace>> {
        self.read(async |tx| {
            let sql = "SELECT r.session, count(*), sum(b.size)::bigint, sum(length(b.data))::bigint
                       FROM refs r JOIN blobs b USING (hash)
                       WHERE r.key >= 'file-' AND r.key < 'file.' GROUP BY r.session ORDER BY r.session";
            let rows = tx.rows(sql, &[]).await?;
            let space = |row: &tokio_postgres::Row| {
                let number = |at: usize| unsigned(row.get(at));
                Ok(FileSpace { session: read_id(row, 0)?, contents: number(1), bytes: number(2), packed: number(3) })
            };
            rows.iter().map(space).collect()
        })
        .await
    }

    async fn ref_keys(&self, session: &SessionId) -> Result<Vec<RefKey>> {
        let session = session.clone();
        self.read(async move |tx| {
            let rows = tx.rows("SELECT key FROM refs WHERE session = $1", &[&session.as_str()]).await?;
            rows.iter().map(|row| read_id(row, 0)).collect()
        })
        .await
    }

    async fn bytes(&self, session: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>> {
        let (session, key) = (session.cloned(), key.clone());
        self.read(async move |tx| {
            let sql = "SELECT b.hash, b.size, b.data FROM refs r JOIN blobs b USING (hash)
                       WHERE r.key = $1 AND ($2::text IS NULL OR r.session = $2) LIMIT 1";
            let found = tx.row(sql, &[&key.as_str(), &session.as_ref().map(SessionId::as_str)]).await?;
            let unpacked = |row: tokio_postgres::Row| {
                unpack(row.get(0), usize::try_from(row.get::<_, i64>(1)).unwrap_or(0), row.get(2))
            };
            found.map(unpacked).transpose()
        })
        .await
    }
}

/// Stores each text once, by its hash, and points its name there.
pub(super) async fn insert_texts(tx: &Tx<'_>, session: &SessionId, keeps: &[(RefKey, String)]) -> Result<()> {
    for (key, text) in keeps {
        insert_bytes(tx, session, key, text.as_bytes()).await?;
    }
    Ok(())
}

async fn insert_bytes(tx: &Tx<'_>, session: &SessionId, key: &RefKey, bytes: &[u8]) -> Result<()> {
    let hash = blake3::hash(bytes);
    let hash: &[u8] = hash.as_bytes();
    let mut packed = None;
    // If somebody else stores the same at this moment, it is there the second time.
    while tx.row("SELECT 1 FROM blobs WHERE hash = $1 FOR KEY SHARE", &[&hash]).await?.is_none() {
        let data = match packed.take() {
            Some(data) => data,
            None => pack(bytes)?,
        };
        let sql = "INSERT INTO blobs (hash, size, data) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING";
        if tx.execute(sql, &[&hash, &signed(bytes.len() as u64), &data]).await? > 0 {
            break;
        }
        packed = Some(data);
    }
    let (key, session) = (key.as_str(), session.as_str());
    let before = tx.row("SELECT hash FROM refs WHERE key = $1 AND session = $2", &[&key, &session]).await?;
    let sql = "INSERT INTO refs (key, session, hash) VALUES ($1, $2, $3)
               ON CONFLICT (key, session) DO UPDATE SET hash = excluded.hash";
    tx.execute(sql, &[&key, &session, &hash]).await?;
    // What a name stood for before goes, unless another name stands for it too.
    match before.map(|row| row.get::<_, Vec<u8>>(0)).filter(|before| before != hash) {
        Some(before) => delete_unnamed(tx, vec![before]).await,
        None => Ok(()),
    }
}

/// Removes those of these bytes that have no name any more.
pub(super) async fn delete_unnamed(tx: &Tx<'_>, hashes: Vec<Vec<u8>>) -> Result<()> {
    if hashes.is_empty() {
        return Ok(());
    }
    tx.execute("SELECT 1 FROM blobs WHERE hash = ANY($1) ORDER BY hash FOR UPDATE", &[&hashes]).await?;
    // A statement of its own: it sees the names that others gave until the lock was there.
    let sql = "DELETE FROM blobs b WHERE b.hash = ANY($1) AND NOT EXISTS (SELECT 1 FROM refs r WHERE r.hash = b.hash)";
    tx.execute(sql, &[&hashes]).await.map(drop)
}

/// Forgets the contents of a session's files, except these.
pub(super) async fn forget_files(tx: &Tx<'_>, session: &SessionId, except: &HashSet<RefKey>) -> Result<()> {
    let except: Vec<&str> = except.iter().map(RefKey::as_str).collect();
    let sql = "DELETE FROM refs WHERE session = $1 AND key >= 'file-' AND key < 'file.' AND key <> ALL($2)
               RETURNING hash";
    let gone = tx.rows(sql, &[&session.as_str(), &except]).await?;
    delete_unnamed(tx, gone.iter().map(|row| row.get(0)).collect()).await
}
