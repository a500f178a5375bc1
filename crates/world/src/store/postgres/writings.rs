//! The files that sessions are about to write, in the database.

use async_trait::async_trait;
use trimtab_vocab::{FileSet, SessionId};

use super::super::encoding::{KEPT_WRITINGS, written};
use super::super::{Result, StoreError, WritingStore};
use super::transaction::Tx;
use super::{PostgresStore, read_id, signed, unsigned};

/// Notes what a session is about to write, and whether it moves its history by that.
pub(super) async fn note(tx: &Tx<'_>, session: &SessionId, sets: &[FileSet], moving: bool) -> Result<()> {
    if !moving {
        let sql = "UPDATE writings SET moves = false WHERE session = $1 AND moves";
        tx.execute(sql, &[&session.as_str()]).await?;
    }
    if sets.is_empty() {
        return Ok(());
    }
    // The numbers are in the order in which the sets become visible, because whoever numbers waits for the one before.
    let mut n = tx.lock("writings").await?;
    for set in sets {
        n += 1;
        let sql = "INSERT INTO writings (n, session, files, moves) VALUES ($1, $2, $3, $4)";
        tx.execute(sql, &[&n, &session.as_str(), &written(set)?, &moving]).await?;
    }
    tx.execute("DELETE FROM writings WHERE n <= $1 AND NOT moves", &[&(n - KEPT_WRITINGS)]).await?;
    tx.execute("UPDATE counters SET value = $1 WHERE name = 'writings'", &[&n]).await.map(drop)
}

fn sets_of(rows: &[tokio_postgres::Row]) -> Result<Vec<FileSet>> {
    let broken = |error| StoreError::Corrupt(format!("what was written: {error}"));
    rows.iter().map(|row| serde_json::from_str(row.get(0)).map_err(broken)).collect()
}

#[async_trait]
impl WritingStore for PostgresStore {
    async fn last_writing(&self) -> Result<u64> {
        self.read(async |tx| {
            let sql = "SELECT value FROM counters WHERE name = 'writings'";
            Ok(unsigned(tx.one(sql, &[]).await?.get(0)))
        })
        .await
    }

    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>> {
        let but = but.clone();
        self.read(async move |tx| {
            let sql = "SELECT files FROM writings WHERE n > $1 AND session <> $2 ORDER BY n";
            sets_of(&tx.rows(sql, &[&signed(after), &but.as_str()]).await?)
        })
        .await
    }

    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>> {
        let session = session.clone();
        self.read(async move |tx| {
            let sql = "SELECT files FROM writings WHERE session = $1 ORDER BY n";
            sets_of(&tx.rows(sql, &[&session.as_str()]).await?)
        })
        .await
    }

    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>> {
        let folder = folder.to_owned();
        self.read(async move |tx| {
            let sql = "SELECT DISTINCT s.id FROM writings w JOIN sessions s ON s.id = w.session
                       WHERE w.moves AND s.folder = $1
                       AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.session = w.session AND j.status IS NULL)";
            tx.rows(sql, &[&folder]).await?.iter().map(|row| read_id(row, 0)).collect()
        })
        .await
    }
}
