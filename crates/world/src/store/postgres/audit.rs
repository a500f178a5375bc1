//! The trail in the database.

use async_trait::async_trait;
use trimtab_vocab::Time;

use super::super::audit::{BEFORE_THE_FIRST, hash_of};
use super::super::{AuditEntry, AuditKey, AuditLine, AuditStore, Result};
use super::transaction::Tx;
use super::{PostgresStore, signed, unsigned};

/// Appends to the trail as part of any transaction. All that append wait for each other, as each line has the hash of
/// the one before.
pub(super) async fn append(tx: &Tx<'_>, key: Option<AuditKey>, entries: &[AuditEntry], now: Time) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut n = unsigned(tx.lock("audit").await?);
    let last = tx.row("SELECT hash FROM audit ORDER BY n DESC LIMIT 1", &[]).await?;
    let mut prev = last.map_or_else(|| BEFORE_THE_FIRST.to_owned(), |row| row.get(0));
    for entry in entries {
        n += 1;
        let line = entry.line(n, now, &prev);
        prev = hash_of(&line, n, key);
        tx.execute("INSERT INTO audit (n, line, hash) VALUES ($1, $2, $3)", &[&signed(n), &line, &prev]).await?;
    }
    tx.execute("UPDATE counters SET value = $1 WHERE name = 'audit'", &[&signed(n)]).await.map(drop)
}

#[async_trait]
impl AuditStore for PostgresStore {
    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>> {
        self.read(async move |tx| {
            let sql = "SELECT n, line, hash FROM audit WHERE n > $1 ORDER BY n LIMIT $2";
            let rows = tx.rows(sql, &[&signed(after), &i64::from(limit)]).await?;
            let line =
                |row: &tokio_postgres::Row| AuditLine { n: unsigned(row.get(0)), line: row.get(1), hash: row.get(2) };
            Ok(rows.iter().map(line).collect())
        })
        .await
    }

    async fn audit_written(&self) -> Result<u64> {
        self.read(async |tx| {
            let sql = "SELECT value FROM counters WHERE name = 'audit'";
            Ok(unsigned(tx.one(sql, &[]).await?.get(0)))
        })
        .await
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<()> {
        let (key, now) = (self.audit_key, self.clock.now());
        self.write(async move |tx| append(tx, key, std::slice::from_ref(&entry), now).await).await
    }

    fn audit_key(&self) -> Option<AuditKey> {
        self.audit_key
    }
}
