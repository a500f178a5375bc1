//! Tokens in the database.

use async_trait::async_trait;
use tokio_postgres::Row;
use trimtab_vocab::Time;

use super::super::{AccessStore, Result, StoreError, TokenKind, TokenRow};
use super::transaction::Tx;
use super::{PostgresStore, plain};

async fn add(tx: &Tx<'_>, hash: &str, row: &TokenRow) -> Result<()> {
    let now = row.created.millis();
    tx.execute("DELETE FROM tokens WHERE expires <= $1", &[&now]).await?;
    let sql =
        "INSERT INTO tokens (hash, name, kind, created, expires) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    let (name, kind, expires) = (plain(&row.name), row.kind.name(), row.expires.map(Time::millis));
    match tx.execute(sql, &[&hash, &name, &kind, &now, &expires]).await? {
        0 => Err(StoreError::Taken),
        _ => Ok(()),
    }
}

const COLUMNS: &str = "SELECT name, kind, created, expires FROM tokens";

fn read(row: &Row) -> TokenRow {
    TokenRow {
        name: row.get(0),
        // A kind from a newer version gives no access here: an unknown login is worth least.
        kind: TokenKind::named(row.get(1)).unwrap_or(TokenKind::Login),
        created: Time::from_millis(row.get(2)),
        expires: row.get::<_, Option<i64>>(3).map(Time::from_millis),
    }
}

#[async_trait]
impl AccessStore for PostgresStore {
    async fn add_token(&self, hash: &str, row: TokenRow) -> Result<()> {
        let hash = hash.to_owned();
        self.write(async move |tx| add(tx, &hash, &row).await).await
    }

    async fn token(&self, hash: &str) -> Result<Option<TokenRow>> {
        let hash = hash.to_owned();
        self.read(async move |tx| {
            Ok(tx.row(&format!("{COLUMNS} WHERE hash = $1"), &[&plain(&hash)]).await?.as_ref().map(read))
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.read(async |tx| {
            let rows = tx.rows(&format!("{COLUMNS} ORDER BY created, name"), &[]).await?;
            Ok(rows.iter().map(read).collect())
        })
        .await
    }

    async fn exchange_token(&self, login: &str, hash: &str, row: TokenRow) -> Result<bool> {
        let (login, hash) = (login.to_owned(), hash.to_owned());
        self.write(async move |tx| {
            let sql = "DELETE FROM tokens WHERE hash = $1 AND kind = $2 AND (expires IS NULL OR expires > $3)";
            let values = (plain(&login), TokenKind::Login.name(), row.created.millis());
            if tx.execute(sql, &[&values.0, &values.1, &values.2]).await? == 0 {
                return Ok(false);
            }
            add(tx, &hash, &row).await?;
            Ok(true)
        })
        .await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write(async move |tx| Ok(tx.execute("DELETE FROM tokens WHERE name = $1", &[&plain(&name)]).await? > 0))
            .await
    }
}
