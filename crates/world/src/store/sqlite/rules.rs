//! Standing rules in the database.

use async_trait::async_trait;
use rusqlite::{Transaction, params};
use trimtab_vocab::{SessionId, Time};

use super::super::{Result, RuleChange, RuleStore};
use super::SqliteStore;

#[async_trait]
impl RuleStore for SqliteStore {
    async fn rules(&self) -> Result<Vec<String>> {
        self.read(|tx| {
            let mut statement = tx.prepare("SELECT rule FROM rules ORDER BY created, rowid")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn change_rules(&self, change: RuleChange) -> Result<()> {
        let now = self.clock.now();
        self.write(move |tx| change_rules(tx, &change, None, now)).await
    }
}

pub(super) fn change_rules(tx: &Transaction<'_>, change: &RuleChange, by: Option<&SessionId>, now: Time) -> Result<()> {
    for rule in &change.added {
        tx.execute("INSERT OR IGNORE INTO rules (rule, created) VALUES (?1, ?2)", params![rule, now.millis()])?;
    }
    for rule in &change.removed {
        tx.execute("DELETE FROM rules WHERE rule = ?1", [rule])?;
    }
    for payload in &change.tell {
        tx.execute(
            "INSERT INTO inbox (session, payload) SELECT session, ?1 FROM
             (SELECT session FROM jobs WHERE status IS NULL UNION SELECT session FROM checkpoints)
             WHERE ?2 IS NULL OR session <> ?2",
            params![payload, by.map(SessionId::as_str)],
        )?;
    }
    Ok(())
}
