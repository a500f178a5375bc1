//! Sessions in the database.

use async_trait::async_trait;
use futures_util::TryStreamExt;
use tokio_postgres::Row;
use trimtab_vocab::{Event, SessionId, Time};

use super::super::{NewInput, Recipient, Result, SeededSession, SessionQuery, SessionRow, SessionStore, StoreError};
use super::blobs::delete_unnamed;
use super::inbox::{insert_input, tell};
use super::leases::lock_lease;
use super::log::insert_events;
use super::transaction::Tx;
use super::trouble::store_error;
use super::{PostgresStore, describe, plain, read_id, signed, unsigned};

const SESSION_COLUMNS: &str =
    "SELECT s.id, s.folder, s.title, s.created, s.updated, s.parent, s.forked FROM sessions s";
/// Of one folder if it is given; those first that were used last, and of these the youngest.
const LISTED: &str =
    "WHERE $1::text IS NULL OR s.folder = $1 ORDER BY s.updated DESC, s.created DESC, s.id COLLATE \"C\" DESC";
/// What people and models say, by an index. Most facts are neither a request nor an answer.
const SAID: &str = "SELECT e.session, e.event FROM events e JOIN sessions s ON s.id = e.session
    WHERE ($1::text IS NULL OR s.folder = $1) AND (strpos(e.event, '\"type\":\"request.received\"') > 0
        OR strpos(e.event, '\"type\":\"request.joined\"') > 0 OR strpos(e.event, '\"type\":\"answer\"') > 0)";

#[async_trait]
impl SessionStore for PostgresStore {
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()> {
        let served = self.serves();
        self.write(async move |tx| {
            insert_session(tx, &row).await?;
            for input in &inputs {
                insert_input(tx, &row.id, input, row.created, served).await?;
            }
            Ok(())
        })
        .await
    }

    async fn create_child(&self, child: SeededSession) -> Result<()> {
        let now = self.clock.now();
        self.write(async move |tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = $1)";
            if tx.one(sql, &[&child.row.id.as_str()]).await?.get(0) {
                return Err(StoreError::Taken);
            }
            insert_child(tx, &child, now).await
        })
        .await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        let id = id.clone();
        self.read(async move |tx| {
            let sql = format!("{SESSION_COLUMNS} WHERE s.id = $1");
            tx.row(&sql, &[&id.as_str()]).await?.as_ref().map(read_session).transpose()
        })
        .await
    }

    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>> {
        let folder = folder.map(str::to_owned);
        self.read(async move |tx| listed(tx, folder.as_deref()).await).await
    }

    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>> {
        let folder = folder.map(str::to_owned);
        self.read_snapshot(async move |tx| {
            let rows = listed(tx, folder.as_deref()).await?;
            let seen = |row: &SessionRow| {
                let mut missing = wanted.clone();
                missing.see_title(&row.title);
                (row.id.to_string(), missing)
            };
            let mut missing: std::collections::HashMap<String, SessionQuery> = rows.iter().map(seen).collect();
            // One after the other: together they may be larger than the memory.
            let said = tx.stream(SAID, &[&folder]).await?;
            let mut said = std::pin::pin!(said);
            while let Some(line) = said.try_next().await.map_err(|error| store_error(&error))? {
                let Some(missing) = missing.get_mut(line.get::<_, &str>(0)).filter(|it| !it.is_found()) else {
                    continue;
                };
                if let Ok(event) = serde_json::from_str::<Event>(line.get(1)) {
                    missing.observe(&event.fact);
                }
            }
            Ok(rows
                .into_iter()
                .filter(|row| missing.get(row.id.as_str()).is_some_and(SessionQuery::is_found))
                .collect())
        })
        .await
    }

    async fn delete_session(&self, id: &SessionId, seen: u64, notice: NewInput) -> Result<()> {
        let (id, now) = (id.clone(), self.clock.now());
        self.write(async move |tx| delete(tx, &id, seen, &notice, now).await).await
    }
}

async fn delete(tx: &Tx<'_>, session: &SessionId, seen: u64, notice: &NewInput, now: Time) -> Result<()> {
    let id = session.as_str();
    if let (Some(owner), _) = lock_lease(tx, session).await? {
        return Err(StoreError::InUse(describe(&owner)));
    }
    if tx.row("SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", &[&id]).await?.is_none() {
        return Err(StoreError::NoSession(session.clone()));
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE session = $1 AND seq > $2)";
    if tx.one(sql, &[&id, &signed(seen)]).await?.get(0) {
        return Err(StoreError::InUse("another process".into()));
    }
    for table in ["events", "inbox", "partials", "checkpoints", "jobs", "leases", "writings"] {
        tx.execute(&format!("DELETE FROM {table} WHERE session = $1"), &[&id]).await?;
    }
    let named = tx.rows("DELETE FROM refs WHERE session = $1 RETURNING hash", &[&id]).await?;
    delete_unnamed(tx, named.iter().map(|row| row.get(0)).collect()).await?;
    let sql = "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent WHERE s.id = $1 AND s.forked IS NULL";
    let parent: Option<SessionId> = tx.row(sql, &[&id]).await?.map(|row| read_id(&row, 0)).transpose()?;
    if let Some(parent) = &parent {
        tell(tx, None, &[(Recipient::Session(parent.clone()), notice.clone())], now, false).await?;
    }
    let heirs = "UPDATE sessions SET parent = $2 WHERE parent = $1 AND forked IS NULL";
    tx.execute(heirs, &[&id, &parent.as_ref().map(SessionId::as_str)]).await?;
    tx.execute("DELETE FROM sessions WHERE id = $1", &[&id]).await.map(drop)
}

async fn listed(tx: &Tx<'_>, folder: Option<&str>) -> Result<Vec<SessionRow>> {
    let rows = tx.rows(&format!("{SESSION_COLUMNS} {LISTED}"), &[&folder]).await?;
    rows.iter().map(read_session).collect()
}

pub(super) async fn insert_session(tx: &Tx<'_>, row: &SessionRow) -> Result<()> {
    let sql = "INSERT INTO sessions (id, folder, title, created, updated, parent, forked)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let (id, parent) = (row.id.as_str(), row.parent.as_ref().map(SessionId::as_str));
    let (created, updated) = (row.created.millis(), row.updated.millis());
    let (folder, title, forked) = (plain(&row.folder), plain(&row.title), row.forked.map(signed));
    tx.execute(sql, &[&id, &folder, &title, &created, &updated, &parent, &forked]).await.map(drop)
}

/// Makes a session with its log; what it shares with its parent is stored once. It is as new as its parent
/// becomes by the same step, and younger: of the two it is listed first.
pub(super) async fn insert_child(tx: &Tx<'_>, child: &SeededSession, now: Time) -> Result<()> {
    insert_session(tx, &SessionRow { created: now, updated: now, ..child.row.clone() }).await?;
    insert_events(tx, &child.row.id, &child.events).await?;
    let Some(parent) = &child.row.parent else { return Ok(()) };
    for (there, here) in &child.shares {
        // Locked, so that the parent's own copy of the name cannot take the bytes along when it goes.
        let sql = "SELECT b.hash FROM refs r JOIN blobs b USING (hash)
                   WHERE r.key = $1 AND r.session = $2 FOR KEY SHARE OF b";
        let Some(row) = tx.row(sql, &[&there.as_str(), &parent.as_str()]).await? else { continue };
        let sql = "INSERT INTO refs (key, session, hash) VALUES ($1, $2, $3)";
        tx.execute(sql, &[&here.as_str(), &child.row.id.as_str(), &row.get::<_, &[u8]>(0)]).await?;
    }
    Ok(())
}

fn read_session(row: &Row) -> Result<SessionRow> {
    Ok(SessionRow {
        id: read_id(row, 0)?,
        folder: row.get(1),
        title: row.get(2),
        created: Time::from_millis(row.get(3)),
        updated: Time::from_millis(row.get(4)),
        parent: row.get::<_, Option<&str>>(5).map(|_| read_id(row, 5)).transpose()?,
        forked: row.get::<_, Option<i64>>(6).map(unsigned),
    })
}
