//! The trail in the database.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Transaction, params};
use trimtab_vocab::Time;

use super::super::audit::{BEFORE_THE_FIRST, hash_of};
use super::super::{AuditEntry, AuditKey, AuditLine, AuditStore, Result};
use super::SqliteStore;

/// Appends to the trail as part of any transaction.
pub(super) fn append(tx: &Transaction<'_>, key: Option<AuditKey>, entries: &[AuditEntry], now: Time) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let last: Option<String> = tx
        .prepare_cached("SELECT hash FROM audit ORDER BY n DESC LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let (mut n, mut prev) = (written(tx)?, last.unwrap_or_else(|| BEFORE_THE_FIRST.to_owned()));
    let mut add = tx.prepare_cached("INSERT INTO audit (n, line, hash) VALUES (?1, ?2, ?3)")?;
    for entry in entries {
        n += 1;
        let line = entry.line(n, now, &prev);
        prev = hash_of(&line, n, key);
        add.execute(params![n, line, prev])?;
    }
    Ok(())
}

fn lines(tx: &Transaction<'_>, after: u64, limit: u32) -> Result<Vec<AuditLine>> {
    let mut statement = tx.prepare_cached("SELECT n, line, hash FROM audit WHERE n > ?1 ORDER BY n LIMIT ?2")?;
    let rows = statement.query_map(params![after, limit], |row| {
        Ok(AuditLine { n: row.get(0)?, line: row.get(1)?, hash: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many lines were ever written. SQLite keeps count of it apart from the lines, so that lines which were
/// taken off the end are missed.
pub(super) fn written(tx: &Transaction<'_>) -> Result<u64> {
    let count = tx
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(count.unwrap_or(0))
}

#[async_trait]
impl AuditStore for SqliteStore {
    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>> {
        self.read(move |tx| lines(tx, after, limit)).await
    }

    async fn audit_written(&self) -> Result<u64> {
        self.read(written).await
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<()> {
        let (key, now) = (self.audit_key, self.clock.now());
        self.write(move |tx| append(tx, key, &[entry], now)).await
    }

    fn audit_key(&self) -> Option<AuditKey> {
        self.audit_key
    }
}
