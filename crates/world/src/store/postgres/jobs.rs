//! Requests and open questions in the database.

use async_trait::async_trait;
use tokio_postgres::Row;
use trimtab_vocab::{Event, RequestId, SessionId, Time};

use super::super::encoding::{read_event, read_status};
use super::super::{JobRow, JobState, JobStore, Result};
use super::presence::LIVES;
use super::{PostgresStore, read_id};

#[async_trait]
impl JobStore for PostgresStore {
    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>> {
        self.read(async move |tx| {
            let sql = format!("{} WHERE $2 OR j.status IS NULL ORDER BY j.created DESC, j.n DESC", jobs_query());
            tx.rows(&sql, &[&tx.owner, &all]).await?.iter().map(read_job).collect()
        })
        .await
    }

    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>> {
        let request = request.clone();
        self.read(async move |tx| {
            let sql = format!("{} WHERE j.request = $2", jobs_query());
            tx.row(&sql, &[&tx.owner, &request.as_str()]).await?.as_ref().map(read_job).transpose()
        })
        .await
    }

    async fn has_open_request(&self, session: &SessionId) -> Result<bool> {
        let session = session.clone();
        self.read(async move |tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE session = $1 AND status IS NULL)";
            Ok(tx.one(sql, &[&session.as_str()]).await?.get(0))
        })
        .await
    }

    async fn checkpoints(&self) -> Result<Vec<Event>> {
        self.read(async |tx| {
            let rows = tx.rows("SELECT event FROM checkpoints ORDER BY n", &[]).await?;
            rows.iter().map(|row| read_event(row.get(0))).collect()
        })
        .await
    }
}

/// What is known of requests, one row each, as the process `$1` sees it.
fn jobs_query() -> String {
    format!(
        "SELECT j.request, j.session, s.folder, j.text, j.created, j.status, j.asked IS NOT NULL, j.running <> 0,
                coalesce(l.owner = $1 OR EXISTS (SELECT 1 FROM owners o WHERE o.name = l.owner AND {LIVES}), false),
                j.served
         FROM jobs j JOIN sessions s ON s.id = j.session LEFT JOIN leases l ON l.session = j.session"
    )
}

fn read_job(row: &Row) -> Result<JobRow> {
    let status: Option<String> = row.get(5);
    let (began, running, owned): (bool, bool, bool) = (row.get(6), row.get(7), row.get(8));
    let state = match status {
        Some(status) => JobState::Finished(read_status(status)),
        None if running && owned => JobState::Running,
        None if (began || running) && !owned => JobState::Interrupted,
        None => JobState::Queued,
    };
    Ok(JobRow {
        request: read_id(row, 0)?,
        session: read_id(row, 1)?,
        folder: row.get(2),
        text: row.get(3),
        created: Time::from_millis(row.get(4)),
        state,
        served: row.get(9),
    })
}
