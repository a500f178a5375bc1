//! The facts that later sessions remember, in the database.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Transaction, params};
use trimtab_vocab::{MemoryEntry, MemoryId, Time};

use super::super::encoding::written;
use super::super::memory::{MemoryChange, same};
use super::super::{AuditKey, RecallStore, Result, StoreError};
use super::{SqliteStore, audit};

fn list(tx: &Transaction<'_>, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>> {
    let mut statement = tx.prepare_cached(
        "SELECT entry FROM memory WHERE ?1 IS NULL OR folder IS NULL OR folder = ?1 ORDER BY n DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![folder, limit], |row| row.get::<_, String>(0))?;
    let mut entries = rows.map(|row| read(&row?)).collect::<Result<Vec<_>>>()?;
    entries.reverse();
    Ok(entries)
}

fn one(tx: &Transaction<'_>, id: &MemoryId) -> Result<Option<MemoryEntry>> {
    let text: Option<String> = tx
        .prepare_cached("SELECT entry FROM memory WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    text.as_deref().map(read).transpose()
}

/// Replaces an entry with the same text.
pub(super) fn put(tx: &Transaction<'_>, entry: &MemoryEntry) -> Result<()> {
    let (same, text) = (same(&entry.text), written(entry)?);
    tx.prepare_cached("DELETE FROM memory WHERE folder IS ?1 AND same = ?2 AND id <> ?3")?.execute(params![
        entry.folder,
        same,
        entry.id.as_str()
    ])?;
    tx.prepare_cached(
        "INSERT INTO memory (id, folder, same, entry) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET folder = excluded.folder, same = excluded.same, entry = excluded.entry",
    )?
    .execute(params![entry.id.as_str(), entry.folder, same, text])?;
    Ok(())
}

fn carry_out(
    tx: &Transaction<'_>,
    key: Option<AuditKey>,
    change: MemoryChange,
    now: Time,
) -> Result<Option<MemoryEntry>> {
    let (id, told) = (change.id().clone(), change.audit());
    let Some((entry, goes)) = change.apply(one(tx, &id)?) else { return Ok(None) };
    match goes {
        true => {
            tx.prepare_cached("DELETE FROM memory WHERE id = ?1")?.execute([id.as_str()])?;
        }
        false => put(tx, &entry)?,
    }
    audit::append(tx, key, &[told], now)?;
    Ok(Some(entry))
}

fn read(text: &str) -> Result<MemoryEntry> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("an entry of the memory: {error}")))
}

#[async_trait]
impl RecallStore for SqliteStore {
    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>> {
        let folder = folder.map(str::to_owned);
        self.read(move |tx| list(tx, folder.as_deref(), limit)).await
    }

    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>> {
        let id = id.clone();
        self.read(move |tx| one(tx, &id)).await
    }

    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>> {
        let now = self.clock.now();
        let key = self.audit_key;
        self.write(move |tx| carry_out(tx, key, change, now)).await
    }
}
