//! Standing rules in the database.

use async_trait::async_trait;
use trimtab_vocab::Time;

use super::super::{NewInput, Recipient, Result, RuleChange, RuleStore};
use super::PostgresStore;
use super::inbox::tell;
use super::transaction::Tx;

#[async_trait]
impl RuleStore for PostgresStore {
    async fn rules(&self) -> Result<Vec<String>> {
        self.read(async |tx| {
            let rows = tx.rows("SELECT rule FROM rules ORDER BY created, n", &[]).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
        .await
    }

    async fn change_rules(&self, change: RuleChange, told: Vec<(Recipient, NewInput)>) -> Result<()> {
        let (now, served) = (self.clock.now(), self.serves());
        self.write(async move |tx| {
            change_rules(tx, &change, now).await?;
            tell(tx, None, &told, now, served).await
        })
        .await
    }
}

pub(super) async fn change_rules(tx: &Tx<'_>, change: &RuleChange, now: Time) -> Result<()> {
    for rule in &change.added {
        let sql = "INSERT INTO rules (rule, created) VALUES ($1, $2) ON CONFLICT (rule) DO NOTHING";
        tx.execute(sql, &[rule, &now.millis()]).await?;
    }
    for rule in &change.removed {
        tx.execute("DELETE FROM rules WHERE rule = $1", &[rule]).await?;
    }
    Ok(())
}
