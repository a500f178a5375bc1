//! The facts that later sessions remember, in the database.

use async_trait::async_trait;
use trimtab_vocab::{MemoryEntry, MemoryId};

use super::super::encoding::written;
use super::super::memory::{MemoryChange, same};
use super::super::{RecallStore, Result, StoreError};
use super::transaction::Tx;
use super::{PostgresStore, audit, plain};

async fn one(tx: &Tx<'_>, id: &MemoryId) -> Result<Option<MemoryEntry>> {
    let row = tx.row("SELECT entry FROM memory WHERE id = $1", &[&id.as_str()]).await?;
    row.map(|row| read(row.get(0))).transpose()
}

/// Replaces an entry with the same text.
pub(super) async fn put(tx: &Tx<'_>, entry: &MemoryEntry) -> Result<()> {
    // Two that remember the same at once wait for each other.
    tx.lock("memory").await?;
    let (same, text, id) = (same(&entry.text), written(entry)?, entry.id.as_str());
    let (same, folder) = (plain(&same), entry.folder.as_deref().map(plain));
    let sql = "DELETE FROM memory WHERE folder IS NOT DISTINCT FROM $1 AND same = $2 AND id <> $3";
    tx.execute(sql, &[&folder, &same, &id]).await?;
    let sql = "INSERT INTO memory (id, folder, same, entry) VALUES ($1, $2, $3, $4)
               ON CONFLICT (id) DO UPDATE SET folder = excluded.folder, same = excluded.same, entry = excluded.entry";
    tx.execute(sql, &[&id, &folder, &same, &text]).await.map(drop)
}

fn read(text: &str) -> Result<MemoryEntry> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("an entry of the memory: {error}")))
}

#[async_trait]
impl RecallStore for PostgresStore {
    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>> {
        let folder = folder.map(str::to_owned);
        self.read(async move |tx| {
            let sql = "SELECT entry FROM memory WHERE $1::text IS NULL OR folder IS NULL OR folder = $1
                       ORDER BY n DESC LIMIT $2";
            let rows = tx.rows(sql, &[&folder, &i64::from(limit)]).await?;
            rows.iter().rev().map(|row| read(row.get(0))).collect()
        })
        .await
    }

    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>> {
        let id = id.clone();
        self.read(async move |tx| one(tx, &id).await).await
    }

    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>> {
        let (key, now) = (self.audit_key, self.clock.now());
        self.write(async move |tx| {
            tx.lock("memory").await?;
            let (id, told) = (change.id().clone(), change.audit());
            let Some((entry, goes)) = change.clone().apply(one(tx, &id).await?) else { return Ok(None) };
            match goes {
                true => tx.execute("DELETE FROM memory WHERE id = $1", &[&id.as_str()]).await.map(drop)?,
                false => put(tx, &entry).await?,
            }
            audit::append(tx, key, &[told], now).await?;
            Ok(Some(entry))
        })
        .await
    }
}
