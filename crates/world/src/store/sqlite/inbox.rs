//! The inbox in the database.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use rusqlite::{Transaction, params};
use trimtab_vocab::{SessionId, Time};

use super::super::{InboxStore, InputRow, NewInput, Recipient, Result, StoreError};
use super::blobs::insert_texts;
use super::{SqliteStore, read_id};

#[async_trait]
impl InboxStore for SqliteStore {
    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()> {
        let (session, now, served) = (session.clone(), self.clock.now(), self.serving.load(Ordering::Relaxed));
        let is_relaxed = input.relaxed_durability;
        let work = move |tx: &Transaction<'_>| {
            let known = tx
                .prepare_cached("UPDATE sessions SET updated = COALESCE(?2, updated) WHERE id = ?1")?
                .execute(params![session.as_str(), (!input.housekeeping).then_some(now.millis())])?;
            if known == 0 {
                return Err(StoreError::NoSession(session.clone()));
            }
            insert_input(tx, &session, &input, now, served)
        };
        match is_relaxed {
            true => self.write_soon(work).await,
            false => self.write(work).await,
        }
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>> {
        let session = session.clone();
        // Read where it is written: an owner must see what it has just put there itself.
        self.writer
            .run(move |connection| {
                let mut statement =
                    connection.prepare_cached("SELECT id, payload FROM inbox WHERE session = ?1 ORDER BY id")?;
                let rows = statement
                    .query_map([session.as_str()], |row| Ok(InputRow { id: row.get(0)?, payload: row.get(1)? }))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await
    }
}

/// Puts inputs into the inboxes of other sessions than `from`.
pub(super) fn tell(
    tx: &Transaction<'_>,
    from: Option<&SessionId>,
    told: &[(Recipient, NewInput)],
    now: Time,
    served: bool,
) -> Result<()> {
    for (recipient, input) in told {
        let (sql, id) = match recipient {
            Recipient::Session(id) => ("SELECT id FROM sessions WHERE id = ?1", Some(id)),
            Recipient::OtherBusy => (
                "SELECT session FROM (SELECT session FROM jobs WHERE status IS NULL UNION SELECT session FROM checkpoints)
                 WHERE ?1 IS NULL OR session <> ?1",
                from,
            ),
        };
        let mut find = tx.prepare_cached(sql)?;
        let found = find.query_map([id.map(SessionId::as_str)], |row| read_id::<SessionId>(row, 0))?;
        for session in found.collect::<rusqlite::Result<Vec<_>>>()? {
            insert_input(tx, &session, input, now, served)?;
        }
    }
    Ok(())
}

pub(super) fn insert_input(
    tx: &Transaction<'_>,
    session: &SessionId,
    input: &NewInput,
    now: Time,
    served: bool,
) -> Result<()> {
    tx.prepare_cached("INSERT INTO inbox (session, payload) VALUES (?1, ?2)")?
        .execute([session.as_str(), &input.payload])?;
    if let Some(job) = &input.job {
        let added = tx
            .prepare_cached(
                "INSERT OR IGNORE INTO jobs (request, session, text, created, served) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![job.request.as_str(), session.as_str(), job.text, now.millis(), served])?;
        if added == 0 {
            return Err(StoreError::Taken);
        }
    }
    insert_texts(tx, session, &input.keeps)
}
