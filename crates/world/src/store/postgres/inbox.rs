//! The inbox in the database.

use async_trait::async_trait;
use trimtab_vocab::{SessionId, Time};

use super::super::{InboxStore, InputRow, NewInput, Recipient, Result, StoreError};
use super::blobs::insert_texts;
use super::transaction::Tx;
use super::{PostgresStore, plain, read_id};

#[async_trait]
impl InboxStore for PostgresStore {
    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()> {
        let (session, now, served) = (session.clone(), self.clock.now(), self.serves());
        self.write(async move |tx| {
            let used = (!input.housekeeping).then_some(now.millis());
            let sql = "UPDATE sessions SET updated = COALESCE($2, updated) WHERE id = $1";
            if tx.execute(sql, &[&session.as_str(), &used]).await? == 0 {
                return Err(StoreError::NoSession(session.clone()));
            }
            insert_input(tx, &session, &input, now, served).await
        })
        .await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>> {
        let session = session.clone();
        self.read(async move |tx| {
            let sql = "SELECT id, payload FROM inbox WHERE session = $1 ORDER BY id";
            let rows = tx.rows(sql, &[&session.as_str()]).await?;
            Ok(rows.iter().map(|row| InputRow { id: row.get(0), payload: row.get(1) }).collect())
        })
        .await
    }
}

/// Puts inputs into the inboxes of other sessions than `from`.
pub(super) async fn tell(
    tx: &Tx<'_>,
    from: Option<&SessionId>,
    told: &[(Recipient, NewInput)],
    now: Time,
    served: bool,
) -> Result<()> {
    for (recipient, input) in told {
        let rows = match recipient {
            // It must not be deleted before its input is there.
            Recipient::Session(id) => {
                tx.rows("SELECT id FROM sessions WHERE id = $1 FOR KEY SHARE", &[&id.as_str()]).await?
            }
            Recipient::OtherBusy => {
                let sql = "SELECT id FROM sessions WHERE ($1::text IS NULL OR id <> $1) AND id IN
                           (SELECT session FROM jobs WHERE status IS NULL UNION SELECT session FROM checkpoints)
                           ORDER BY id FOR KEY SHARE";
                tx.rows(sql, &[&from.map(SessionId::as_str)]).await?
            }
        };
        for row in rows {
            insert_input(tx, &read_id(&row, 0)?, input, now, served).await?;
        }
    }
    Ok(())
}

pub(super) async fn insert_input(
    tx: &Tx<'_>,
    session: &SessionId,
    input: &NewInput,
    now: Time,
    served: bool,
) -> Result<()> {
    let id = session.as_str();
    tx.execute("INSERT INTO inbox (session, payload) VALUES ($1, $2)", &[&id, &input.payload]).await?;
    if let Some(job) = &input.job {
        let sql = "INSERT INTO jobs (request, session, text, created, served) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (request) DO NOTHING";
        let values = (job.request.as_str(), plain(&job.text), now.millis());
        if tx.execute(sql, &[&values.0, &id, &values.1, &values.2, &served]).await? == 0 {
            return Err(StoreError::Taken);
        }
    }
    insert_texts(tx, session, &input.keeps).await
}
