//! Standing rules in the database.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use rusqlite::{Transaction, params};
use trimtab_vocab::Time;

use super::super::{NewInput, Recipient, Result, RuleChange, RuleStore};
use super::SqliteStore;
use super::inbox::tell;

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

    async fn change_rules(&self, change: RuleChange, told: Vec<(Recipient, NewInput)>) -> Result<()> {
        let (now, served) = (self.clock.now(), self.serving.load(Ordering::Relaxed));
        self.write(move |tx| {
            change_rules(tx, &change, now)?;
            tell(tx, None, &told, now, served)
        })
        .await
    }
}

pub(super) fn change_rules(tx: &Transaction<'_>, change: &RuleChange, now: Time) -> Result<()> {
    for rule in &change.added {
        tx.execute("INSERT OR IGNORE INTO rules (rule, created) VALUES (?1, ?2)", params![rule, now.millis()])?;
    }
    for rule in &change.removed {
        tx.execute("DELETE FROM rules WHERE rule = ?1", [rule])?;
    }
    Ok(())
}
