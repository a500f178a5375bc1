//! Requests and open questions in the database.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row};
use trimtab_vocab::{Event, RequestId, SessionId, Time};

use super::super::encoding::{read_event, read_status};
use super::super::{JobRow, JobState, JobStore, Liveness, Result};
use super::{SqliteStore, read_id};

#[async_trait]
impl JobStore for SqliteStore {
    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>> {
        let owner = Arc::clone(&self.owner);
        self.read(move |tx| {
            let which = "WHERE ?1 OR j.status IS NULL ORDER BY j.created DESC, j.rowid DESC";
            let mut statement = tx.prepare(&format!("{JOBS} {which}"))?;
            let rows = statement.query_map([all], |row| read_job(row, owner.as_ref()))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>> {
        let (owner, request) = (Arc::clone(&self.owner), request.clone());
        self.read(move |tx| {
            let mut statement = tx.prepare_cached(&format!("{JOBS} WHERE j.request = ?1"))?;
            Ok(statement.query_row([request.as_str()], |row| read_job(row, owner.as_ref())).optional()?)
        })
        .await
    }

    async fn has_open_request(&self, session: &SessionId) -> Result<bool> {
        let session = session.clone();
        self.read(move |tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE session = ?1 AND status IS NULL)";
            Ok(tx.prepare_cached(sql)?.query_row([session.as_str()], |row| row.get(0))?)
        })
        .await
    }

    async fn checkpoints(&self) -> Result<Vec<Event>> {
        self.read(|tx| {
            let mut statement = tx.prepare("SELECT event FROM checkpoints ORDER BY rowid")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.map(|line| read_event(&line?)).collect()
        })
        .await
    }
}

/// What is known of requests, one row each.
pub(super) const JOBS: &str =
    "SELECT j.request, j.session, s.folder, j.text, j.created, j.status, j.asked, j.running, l.owner, j.served
     FROM jobs j JOIN sessions s ON s.id = j.session LEFT JOIN leases l ON l.session = j.session";

/// A row of [`JOBS`].
pub(super) fn read_job(row: &Row<'_>, owner: &dyn Liveness) -> rusqlite::Result<JobRow> {
    let status: Option<String> = row.get(5)?;
    let began = row.get::<_, Option<i64>>(6)?.is_some();
    let running: bool = row.get(7)?;
    let holder: Option<String> = row.get(8)?;
    let owned = holder.is_some_and(|name| owner.is_alive(&name));
    let state = match status {
        Some(status) => JobState::Finished(read_status(status)),
        None if running && owned => JobState::Running,
        None if (began || running) && !owned => JobState::Interrupted,
        None => JobState::Queued,
    };
    Ok(JobRow {
        request: read_id(row, 0)?,
        session: read_id(row, 1)?,
        folder: row.get(2)?,
        text: row.get(3)?,
        created: Time::from_millis(row.get(4)?),
        state,
        served: row.get(9)?,
    })
}
