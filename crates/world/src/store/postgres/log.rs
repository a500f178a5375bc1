//! The log in the database, and the transactions that write it.

use std::collections::HashMap;

use async_trait::async_trait;
use trimtab_vocab::{CallId, Event, RequestId, SessionId, Time};

use super::super::encoding::{read_event, status_text, written};
use super::super::{AuditKey, Commit, Lease, LogStore, RecordedCall, Result};
use super::blobs::{forget_files, insert_texts};
use super::inbox::tell;
use super::leases::{demand_lease, rest};
use super::rules::change_rules;
use super::sessions::insert_child;
use super::transaction::Tx;
use super::{PostgresStore, audit, memory, plain, read_id, signed, unsigned, writings};

/// What a commit needs beside its contents.
struct CommitContext {
    now: Time,
    served: bool,
    audit_key: Option<AuditKey>,
}

async fn commit(tx: &Tx<'_>, lease: &Lease, commit: &Commit, at: &CommitContext) -> Result<()> {
    demand_lease(tx, lease).await?;
    let session = lease.session();
    insert_texts(tx, session, &commit.keeps).await?;
    if let Some(needed) = &commit.keep_only {
        forget_files(tx, session, needed).await?;
    }
    insert_events(tx, session, &commit.events).await?;
    if !commit.consumed.is_empty() {
        tx.execute("DELETE FROM inbox WHERE id = ANY($1)", &[&commit.consumed]).await?;
    }
    for call in &commit.closed_calls {
        let sql = "DELETE FROM partials WHERE session = $1 AND call = $2";
        tx.execute(sql, &[&session.as_str(), &call.as_str()]).await?;
    }
    move_requests(tx, commit).await?;
    move_checkpoints(tx, session, commit).await?;
    change_rules(tx, &commit.rules, at.now).await?;
    for entry in &commit.remembered {
        memory::put(tx, entry).await?;
    }
    for child in &commit.children {
        insert_child(tx, child, at.now).await?;
    }
    tell(tx, Some(session), &commit.tell, at.now, at.served).await?;
    // A cleanup does not count as use of the session.
    let used = commit.keep_only.is_none().then_some(at.now.millis());
    let title = commit.title.as_deref().map(plain);
    let sql = "UPDATE sessions SET updated = COALESCE($2, updated), title = COALESCE($3, title) WHERE id = $1";
    tx.execute(sql, &[&session.as_str(), &used, &title]).await?;
    // All sessions share these counts, so they are held for the shortest time.
    writings::note(tx, session, &commit.writing, commit.moving).await?;
    audit::append(tx, at.audit_key, &commit.audit, at.now).await
}

async fn move_requests(tx: &Tx<'_>, commit: &Commit) -> Result<()> {
    for (request, status) in &commit.finished {
        let sql = "UPDATE jobs SET status = $2, running = 0 WHERE request = $1";
        tx.execute(sql, &[&request.as_str(), &status_text(*status)]).await?;
    }
    for request in &commit.reopened {
        let sql = "UPDATE jobs SET status = NULL, asked = NULL WHERE request = $1";
        tx.execute(sql, &[&request.as_str()]).await?;
    }
    for request in &commit.resting {
        rest(tx, request).await?;
    }
    Ok(())
}

async fn move_checkpoints(tx: &Tx<'_>, session: &SessionId, commit: &Commit) -> Result<()> {
    let forget = "DELETE FROM checkpoints WHERE id = $1";
    for (id, event) in &commit.opened {
        // One that is opened again is the latest.
        tx.execute(forget, &[&id.as_str()]).await?;
        let sql = "INSERT INTO checkpoints (id, session, request, event) VALUES ($1, $2, $3, $4)";
        let request = event.request.as_ref().map(RequestId::as_str);
        tx.execute(sql, &[&id.as_str(), &session.as_str(), &request, &written(event)?]).await?;
    }
    for id in &commit.resolved {
        tx.execute(forget, &[&id.as_str()]).await?;
    }
    for request in &commit.closed {
        tx.execute("DELETE FROM checkpoints WHERE request = $1", &[&request.as_str()]).await?;
    }
    Ok(())
}

#[async_trait]
impl LogStore for PostgresStore {
    /// Waits for the disk of the server also when it need not: a server that crashes takes with it what it had not
    /// written, and the process that runs the session lives on.
    async fn commit(&self, lease: &Lease, changes: Commit) -> Result<()> {
        let at = CommitContext { now: self.clock.now(), served: self.serves(), audit_key: self.audit_key };
        let lease = lease.clone();
        self.write(async move |tx| commit(tx, &lease, &changes, &at).await).await
    }

    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()> {
        let (lease, call, text) = (lease.clone(), call.clone(), text.to_owned());
        self.write(async move |tx| {
            demand_lease(tx, &lease).await?;
            let sql = "INSERT INTO partials (session, call, text) VALUES ($1, $2, $3)";
            tx.execute(sql, &[&lease.session().as_str(), &call.as_str(), &text.as_bytes()]).await.map(drop)
        })
        .await
    }

    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>> {
        let session = session.clone();
        self.read(async move |tx| {
            let sql = "SELECT call, string_agg(text, '' ORDER BY id) FROM partials WHERE session = $1
                       GROUP BY call ORDER BY call COLLATE \"C\"";
            let rows = tx.rows(sql, &[&session.as_str()]).await?;
            // Each piece was whole characters.
            let text = |row: &tokio_postgres::Row| String::from_utf8_lossy(row.get(1)).into_owned();
            rows.iter().map(|row| Ok((read_id(row, 0)?, text(row)))).collect()
        })
        .await
    }

    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>> {
        let session = session.clone();
        self.read(async move |tx| {
            let sql = "SELECT event FROM events WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3";
            let rows = tx.rows(sql, &[&session.as_str(), &signed(after), &i64::from(limit)]).await?;
            rows.iter().map(|row| read_event(row.get(0))).collect()
        })
        .await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<u64> {
        let session = session.clone();
        self.read(async move |tx| last_seq(tx, &session).await).await
    }

    async fn recent_calls(&self, sessions: u32, facts: u32) -> Result<Vec<RecordedCall>> {
        self.read(async move |tx| {
            // Replies can be long, and only the way they ended counts: the server finds that without sending them.
            let sql = "SELECT e.session, CASE WHEN strpos(e.event, '\"type\":\"usage\"') > 0 THEN e.event END,
                              strpos(e.event, '\"stopReason\":\"max_tokens\"') > 0
                       FROM (SELECT id, updated FROM sessions ORDER BY updated DESC LIMIT $1) s
                       JOIN events e ON e.session = s.id
                       WHERE e.seq > (SELECT max(seq) FROM events l WHERE l.session = s.id) - $2
                       AND (strpos(e.event, '\"type\":\"usage\"') > 0 OR strpos(e.event, '\"type\":\"reply.saved\"') > 0)
                       ORDER BY s.updated DESC, s.id, e.seq";
            let rows = tx.rows(sql, &[&i64::from(sessions), &i64::from(facts)]).await?;
            let (mut calls, mut truncated) = (Vec::new(), HashMap::new());
            for row in &rows {
                let session: &str = row.get(0);
                let Some(line) = row.get::<_, Option<&str>>(1) else {
                    truncated.insert(session, row.get::<_, bool>(2));
                    continue;
                };
                let truncated = truncated.remove(session).unwrap_or(false);
                let call = RecordedCall::all_in([&read_event(line)?]).pop();
                calls.extend(call.map(|call| RecordedCall { truncated, ..call }));
            }
            Ok(calls)
        })
        .await
    }
}

pub(super) async fn last_seq(tx: &Tx<'_>, session: &SessionId) -> Result<u64> {
    let sql = "SELECT coalesce(max(seq), 0) FROM events WHERE session = $1";
    Ok(unsigned(tx.one(sql, &[&session.as_str()]).await?.get(0)))
}

/// All events of a session, one after the other.
pub(super) async fn all_events(tx: &Tx<'_>, session: &SessionId) -> Result<Vec<Event>> {
    let rows = tx.rows("SELECT event FROM events WHERE session = $1 ORDER BY seq", &[&session.as_str()]).await?;
    rows.iter().map(|row| read_event(row.get(0))).collect()
}

pub(super) async fn insert_events(tx: &Tx<'_>, session: &SessionId, events: &[Event]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let numbers: Vec<Option<i64>> = events.iter().map(|event| event.seq.map(signed)).collect();
    let lines = events.iter().map(written).collect::<Result<Vec<String>>>()?;
    let sql = "INSERT INTO events (session, seq, event) SELECT $1, * FROM unnest($2::bigint[], $3::text[])";
    tx.execute(sql, &[&session.as_str(), &numbers, &lines]).await.map(drop)
}
