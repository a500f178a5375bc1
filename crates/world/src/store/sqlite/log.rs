//! The log in the database, and the transactions that write it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use rusqlite::{Transaction, params};
use trimtab_vocab::event::SubtaskFact;
use trimtab_vocab::{CallId, Event, RequestId, SessionId};

use super::super::encoding::{read_event, status_text, written};
use super::super::traits::about_worker;
use super::super::{Commit, Lease, LogStore, RecordedCall, Result};
use super::blobs::{forget_files, insert_texts};
use super::inbox::tell;
use super::leases::{demand_lease, rest};
use super::rules::change_rules;
use super::sessions::insert_child;
use super::{SqliteStore, audit, memory, read_id, writings};

#[async_trait]
impl LogStore for SqliteStore {
    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<()> {
        let (lease, owner, now) = (lease.clone(), Arc::clone(&self.owner), self.clock.now());
        let (audit_key, served) = (self.audit_key, self.serving.load(Ordering::Relaxed));
        let is_relaxed = commit.relaxed_durability;
        let work = move |tx: &Transaction<'_>| {
            demand_lease(tx, owner.as_ref(), &lease)?;
            let session = lease.session();
            insert_texts(tx, session, &commit.keeps)?;
            if let Some(needed) = &commit.keep_only {
                forget_files(tx, session, needed)?;
            }
            insert_events(tx, session, &commit.events)?;
            let mut take = tx.prepare_cached("DELETE FROM inbox WHERE id = ?1")?;
            for id in &commit.consumed {
                take.execute([id])?;
            }
            let mut close = tx.prepare_cached("DELETE FROM partials WHERE session = ?1 AND call = ?2")?;
            for call in &commit.closed_calls {
                close.execute([session.as_str(), call.as_str()])?;
            }
            let mut end = tx.prepare_cached("UPDATE jobs SET status = ?2, running = 0 WHERE request = ?1")?;
            for (request, status) in &commit.finished {
                end.execute([request.as_str(), status_text(*status).as_str()])?;
            }
            let mut reopen = tx.prepare_cached("UPDATE jobs SET status = NULL, asked = NULL WHERE request = ?1")?;
            for request in &commit.reopened {
                reopen.execute([request.as_str()])?;
            }
            commit.resting.iter().try_for_each(|request| rest(tx, request))?;
            let mut open = tx.prepare_cached(
                "INSERT OR REPLACE INTO checkpoints (id, session, request, event) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (id, event) in &commit.opened {
                let request = event.request.as_ref().map(RequestId::as_str);
                open.execute(params![id.as_str(), session.as_str(), request, written(event)?])?;
            }
            let mut resolve = tx.prepare_cached("DELETE FROM checkpoints WHERE id = ?1")?;
            for id in &commit.resolved {
                resolve.execute([id.as_str()])?;
            }
            let mut forget = tx.prepare_cached("DELETE FROM checkpoints WHERE request = ?1")?;
            for request in &commit.closed {
                forget.execute([request.as_str()])?;
            }
            change_rules(tx, &commit.rules, now)?;
            commit.remembered.iter().try_for_each(|entry| memory::put(tx, entry))?;
            audit::append(tx, audit_key, &commit.audit, now)?;
            writings::note(tx, session, &commit.writing, commit.moving)?;
            for child in &commit.children {
                insert_child(tx, child, now)?;
            }
            tell(tx, Some(session), &commit.tell, now, served)?;
            // A cleanup does not count as use of the session.
            let used = commit.keep_only.is_none().then_some(now.millis());
            tx.prepare_cached(
                "UPDATE sessions SET updated = COALESCE(?2, updated), title = COALESCE(?3, title) WHERE id = ?1",
            )?
            .execute(params![session.as_str(), used, commit.title])?;
            Ok(())
        };
        match is_relaxed {
            true => self.write_soon(work).await,
            false => self.write(work).await,
        }
    }

    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()> {
        let (lease, call, text) = (lease.clone(), call.clone(), text.to_owned());
        let owner = Arc::clone(&self.owner);
        self.write(move |tx| {
            demand_lease(tx, owner.as_ref(), &lease)?;
            tx.prepare_cached("INSERT INTO partials (session, call, text) VALUES (?1, ?2, ?3)")?.execute([
                lease.session().as_str(),
                call.as_str(),
                &text,
            ])?;
            Ok(())
        })
        .await
    }

    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement =
                tx.prepare_cached("SELECT call, text FROM partials WHERE session = ?1 ORDER BY call, id")?;
            let mut rows = statement.query([session.as_str()])?;
            let mut joined: Vec<(CallId, String)> = Vec::new();
            while let Some(row) = rows.next()? {
                let (call, text): (CallId, String) = (read_id(row, 0)?, row.get(1)?);
                match joined.last_mut() {
                    Some((last, whole)) if *last == call => whole.push_str(&text),
                    _ => joined.push((call, text)),
                }
            }
            Ok(joined)
        })
        .await
    }

    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement =
                tx.prepare_cached("SELECT event FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3")?;
            let mut rows = statement.query(params![session.as_str(), after, limit])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                events.push(read_event(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
            }
            Ok(events)
        })
        .await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<u64> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement = tx.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE session = ?1")?;
            Ok(statement.query_row([session.as_str()], |row| row.get(0))?)
        })
        .await
    }

    async fn last_subtask(&self, session: &SessionId, worker: &SessionId) -> Result<Option<SubtaskFact>> {
        let (session, worker) = (session.clone(), worker.clone());
        self.read(move |tx| {
            // SQLite finds the name of the worker without reading the facts as JSON.
            let sql = "SELECT event FROM events WHERE session = ?1 AND instr(event, ?2) ORDER BY seq DESC";
            let mut statement = tx.prepare_cached(sql)?;
            let mut rows = statement.query([session.as_str(), &format!("\"{worker}\"")])?;
            while let Some(row) = rows.next()? {
                let event = read_event(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
                if let Some(found) = about_worker(event, &worker) {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        })
        .await
    }

    async fn recent_calls(&self, sessions: u32, facts: u32) -> Result<Vec<RecordedCall>> {
        self.read(move |tx| {
            let mut latest = tx.prepare("SELECT id FROM sessions ORDER BY updated DESC LIMIT ?1")?;
            let ids = latest.query_map([sessions], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
            // Replies can be long, and only the way they ended counts: SQLite finds that without reading them as JSON.
            let mut found = tx.prepare(
                "SELECT CASE WHEN instr(event, '\"type\":\"usage\"') THEN event END,
                 instr(event, '\"stopReason\":\"max_tokens\"') > 0 FROM events
                 WHERE session = ?1 AND seq > (SELECT max(seq) FROM events WHERE session = ?1) - ?2
                 AND (instr(event, '\"type\":\"usage\"') OR instr(event, '\"type\":\"reply.saved\"')) ORDER BY seq",
            )?;
            let mut calls = Vec::new();
            for id in ids {
                let mut rows = found.query(params![id, facts])?;
                let mut truncated = false;
                while let Some(row) = rows.next()? {
                    let Some(line) = row.get::<_, Option<String>>(0)? else {
                        truncated = row.get(1)?;
                        continue;
                    };
                    let call = RecordedCall::all_in([&read_event(&line)?]).pop();
                    calls.extend(call.map(|call| RecordedCall { truncated: std::mem::take(&mut truncated), ..call }));
                }
            }
            Ok(calls)
        })
        .await
    }
}

pub(super) fn insert_events(tx: &Transaction<'_>, session: &SessionId, events: &[Event]) -> Result<()> {
    let mut add = tx.prepare_cached("INSERT INTO events (session, seq, event) VALUES (?1, ?2, ?3)")?;
    for event in events {
        add.execute(params![session.as_str(), event.seq, written(event)?])?;
    }
    Ok(())
}
