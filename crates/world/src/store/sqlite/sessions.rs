//! Sessions in the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use trimtab_vocab::{Event, SessionId, Time};

use super::super::{NewInput, Recipient, Result, SeededSession, SessionQuery, SessionRow, SessionStore, StoreError};
use super::inbox::{insert_input, tell};
use super::log::insert_events;
use super::{SqliteStore, read_id};

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()> {
        let served = self.serving.load(Ordering::Relaxed);
        self.write(move |tx| {
            insert_session(tx, &row)?;
            for input in &inputs {
                insert_input(tx, &row.id, input, row.created, served)?;
            }
            Ok(())
        })
        .await
    }

    async fn create_child(&self, child: SeededSession) -> Result<()> {
        let now = self.clock.now();
        self.write(move |tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
            if tx.query_row(sql, [child.row.id.as_str()], |row| row.get(0))? {
                return Err(StoreError::Taken);
            }
            insert_child(tx, &child, now)
        })
        .await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        let id = id.clone();
        self.read(move |tx| {
            let sql = format!("{SESSION_COLUMNS} WHERE id = ?1");
            Ok(tx.query_row(&sql, [id.as_str()], read_session).optional()?)
        })
        .await
    }

    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>> {
        let folder = folder.map(str::to_owned);
        self.read(move |tx| {
            let sql = format!("{SESSION_COLUMNS} {LISTED}");
            let mut statement = tx.prepare(&sql)?;
            let rows = statement.query_map([folder], read_session)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>> {
        let folder = folder.map(str::to_owned);
        self.read(move |tx| {
            let sql = format!("{SESSION_COLUMNS} {LISTED}");
            let rows: Vec<SessionRow> =
                tx.prepare(&sql)?.query_map([folder], read_session)?.collect::<rusqlite::Result<_>>()?;
            // Most facts are neither a request nor an answer: SQLite passes over them without reading them as JSON.
            let mut said = tx.prepare(
                "SELECT event FROM events WHERE session = ?1 AND (instr(event, '\"type\":\"request.received\"')
                 OR instr(event, '\"type\":\"request.joined\"') OR instr(event, '\"type\":\"answer\"'))",
            )?;
            let mut found = Vec::new();
            for row in rows {
                let mut missing = wanted.clone();
                missing.see_title(&row.title);
                let mut lines = said.query([row.id.as_str()])?;
                while let Some(line) = lines.next()?.filter(|_| !missing.is_found()) {
                    let line: String = line.get(0)?;
                    if let Ok(event) = serde_json::from_str::<Event>(&line) {
                        missing.observe(&event.fact);
                    }
                }
                if missing.is_found() {
                    found.push(row);
                }
            }
            Ok(found)
        })
        .await
    }

    async fn delete_session(&self, id: &SessionId, seen: u64, notice: NewInput) -> Result<()> {
        let (id, owner, now) = (id.clone(), Arc::clone(&self.owner), self.clock.now());
        self.write(move |tx| {
            let holder: Option<Option<String>> = tx
                .query_row("SELECT owner FROM leases WHERE session = ?1", [id.as_str()], |row| row.get(0))
                .optional()?;
            if let Some(Some(name)) = holder
                && owner.is_alive(&name)
            {
                return Err(StoreError::InUse(owner.describe(&name)));
            }
            let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE session = ?1 AND seq > ?2)";
            if tx.query_row(sql, params![id.as_str(), seen], |row| row.get(0))? {
                return Err(StoreError::InUse("another process".into()));
            }
            for table in ["events", "inbox", "partials", "checkpoints", "jobs", "leases", "refs", "writings"] {
                tx.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [id.as_str()])?;
            }
            tx.execute("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM refs)", [])?;
            let parent = tx
                .query_row(
                    "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent
                     WHERE s.id = ?1 AND s.forked IS NULL",
                    [id.as_str()],
                    |row| read_id::<SessionId>(row, 0),
                )
                .optional()?;
            if let Some(parent) = &parent {
                tell(tx, None, &[(Recipient::Session(parent.clone()), notice.clone())], now, false)?;
            }
            let heirs = "UPDATE sessions SET parent = ?2 WHERE parent = ?1 AND forked IS NULL";
            tx.execute(heirs, params![id.as_str(), parent.as_ref().map(SessionId::as_str)])?;
            match tx.execute("DELETE FROM sessions WHERE id = ?1", [id.as_str()])? {
                0 => Err(StoreError::NoSession(id.clone())),
                _ => Ok(()),
            }
        })
        .await
    }
}

pub(super) fn insert_session(tx: &Transaction<'_>, row: &SessionRow) -> Result<()> {
    tx.execute(
        "INSERT INTO sessions (id, folder, title, created, updated, parent, forked) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            row.id.as_str(),
            row.folder,
            row.title,
            row.created.millis(),
            row.updated.millis(),
            row.parent.as_ref().map(SessionId::as_str),
            row.forked
        ],
    )?;
    Ok(())
}

/// Makes a session with its log; what it shares with its parent is stored once. It is as new as its parent
/// becomes by the same step, and younger: of the two it is listed first. Without a parent, it is as old as it says.
pub(super) fn insert_child(tx: &Transaction<'_>, child: &SeededSession, now: Time) -> Result<()> {
    let Some(parent) = &child.row.parent else {
        insert_session(tx, &child.row)?;
        return insert_events(tx, &child.row.id, &child.events);
    };
    insert_session(tx, &SessionRow { created: now, updated: now, ..child.row.clone() })?;
    insert_events(tx, &child.row.id, &child.events)?;
    let mut share = tx.prepare_cached(
        "INSERT INTO refs (key, session, hash) SELECT ?1, ?2, hash FROM refs WHERE key = ?3 AND session = ?4",
    )?;
    for (there, here) in &child.shares {
        share.execute([here.as_str(), child.row.id.as_str(), there.as_str(), parent.as_str()])?;
    }
    Ok(())
}

pub(super) fn read_session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: read_id(row, 0)?,
        folder: row.get(1)?,
        title: row.get(2)?,
        created: Time::from_millis(row.get(3)?),
        updated: Time::from_millis(row.get(4)?),
        parent: row.get::<_, Option<String>>(5)?.map(|_| read_id(row, 5)).transpose()?,
        forked: row.get(6)?,
    })
}

pub(super) const SESSION_COLUMNS: &str = "SELECT id, folder, title, created, updated, parent, forked FROM sessions";

/// Of one folder if it is given; those first that were used last, and of these the youngest.
pub(super) const LISTED: &str = "WHERE ?1 IS NULL OR folder = ?1 ORDER BY updated DESC, created DESC, id DESC";
