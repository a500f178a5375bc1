//! Tokens in the database.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use trimtab_vocab::Time;

use super::super::{AccessStore, Result, StoreError, TokenKind, TokenRow};
use super::SqliteStore;

fn add(tx: &Transaction<'_>, hash: &str, row: &TokenRow) -> Result<()> {
    let now = row.created.millis();
    tx.execute("DELETE FROM tokens WHERE expires <= ?1", [now])?;
    let added = tx.execute(
        "INSERT OR IGNORE INTO tokens (hash, name, kind, created, expires) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![hash, row.name, row.kind.name(), now, row.expires.map(Time::millis)],
    )?;
    if added == 0 { Err(StoreError::Taken) } else { Ok(()) }
}

const COLUMNS: &str = "SELECT name, kind, created, expires FROM tokens";

fn read(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let kind: String = row.get(1)?;
    let expires: Option<i64> = row.get(3)?;
    Ok(TokenRow {
        name: row.get(0)?,
        // A kind from a newer version gives no access here: an unknown login is worth least.
        kind: TokenKind::named(&kind).unwrap_or(TokenKind::Login),
        created: Time::from_millis(row.get(2)?),
        expires: expires.map(Time::from_millis),
    })
}

fn find(tx: &Transaction<'_>, hash: &str) -> Result<Option<TokenRow>> {
    Ok(tx.prepare_cached(&format!("{COLUMNS} WHERE hash = ?1"))?.query_row([hash], read).optional()?)
}

fn list(tx: &Transaction<'_>) -> Result<Vec<TokenRow>> {
    let mut statement = tx.prepare(&format!("{COLUMNS} ORDER BY created, name"))?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// One token gives way to another, once.
fn exchange(tx: &Transaction<'_>, old: &str, new: &str, row: &TokenRow) -> Result<bool> {
    let taken = tx.execute(
        "DELETE FROM tokens WHERE hash = ?1 AND kind = ?2 AND (expires IS NULL OR expires > ?3)",
        params![old, TokenKind::Login.name(), row.created.millis()],
    )?;
    if taken == 0 {
        return Ok(false);
    }
    add(tx, new, row)?;
    Ok(true)
}

fn revoke(tx: &Transaction<'_>, name: &str) -> Result<bool> {
    Ok(tx.execute("DELETE FROM tokens WHERE name = ?1", [name])? > 0)
}

#[async_trait]
impl AccessStore for SqliteStore {
    async fn add_token(&self, hash: &str, row: TokenRow) -> Result<()> {
        let hash = hash.to_owned();
        self.write(move |tx| add(tx, &hash, &row)).await
    }

    async fn token(&self, hash: &str) -> Result<Option<TokenRow>> {
        let hash = hash.to_owned();
        self.read(move |tx| find(tx, &hash)).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.read(list).await
    }

    async fn exchange_token(&self, login: &str, hash: &str, row: TokenRow) -> Result<bool> {
        let (login, hash) = (login.to_owned(), hash.to_owned());
        self.write(move |tx| exchange(tx, &login, &hash, &row)).await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write(move |tx| revoke(tx, &name)).await
    }
}
