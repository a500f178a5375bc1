//! Logs in memory, and news of them.

use async_trait::async_trait;
use std::time::Duration;

use trimtab_vocab::{CallId, Event, SessionId};
use trimtab_world::store::{ChangeFeed, Commit, Lease, LogStore, RecordedCall, Result, StoreError};

use super::{MemoryStore, State};

/// How often a process looks for what others wrote.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[async_trait]
impl LogStore for MemoryStore {
    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<()> {
        self.write(|state, owner| {
            state.demand(owner, lease)?;
            let id = lease.session();
            let log = state.events.entry(id.clone()).or_default();
            for event in commit.events {
                let expected = log.last().and_then(|last| last.seq).unwrap_or(0) + 1;
                if event.seq != Some(expected) {
                    let complaint = format!("{id}: {:?} follows {}", event.seq, expected - 1);
                    state.seen.broken.push(complaint);
                    return Err(StoreError::Corrupt("a gap".into()));
                }
                log.push(event);
            }
            let before = state.inbox.len();
            state.inbox.retain(|(input, session, _)| !(session == id && commit.consumed.contains(input)));
            if before - state.inbox.len() != commit.consumed.len() {
                state.complain(format!("{id}: an input was taken up twice"));
            }
            state.texts.extend(commit.keeps);
            if let Some(needed) = &commit.keep_only {
                let prefix = format!("file-{id}-");
                state.bytes.retain(|key, _| !key.as_str().starts_with(&prefix) || needed.contains(key));
            }
            state.change_rules(commit.rules);
            for entry in commit.remembered {
                state.remember(entry);
            }
            state.put_audit(&commit.audit);
            match commit.moving {
                true if !commit.writing.is_empty() => drop(state.writing.moving.insert(id.clone())),
                true => {}
                false => drop(state.writing.moving.remove(id)),
            }
            for set in commit.writing {
                state.writing.last += 1;
                state.writing.sets.push((state.writing.last, id.clone(), set));
            }
            for call in commit.closed_calls {
                state.partials.remove(&(id.clone(), call));
            }
            for (request, status) in commit.finished {
                if let Some(job) = state.jobs.get_mut(&request) {
                    (job.status, job.running, job.resting) = (Some(status), false, false);
                }
            }
            for request in commit.reopened {
                if let Some(job) = state.jobs.get_mut(&request) {
                    (job.status, job.asked) = (None, None);
                }
            }
            for request in commit.resting {
                if let Some(job) = state.jobs.get_mut(&request).filter(|job| job.status.is_none()) {
                    (job.running, job.resting, job.asked) = (false, true, None);
                }
            }
            state.checkpoints.extend(commit.opened);
            for id in commit.resolved {
                state.checkpoints.remove(&id);
            }
            for request in &commit.closed {
                state.checkpoints.retain(|_, event| event.request.as_ref() != Some(request));
            }
            for child in commit.children {
                if state.sessions.contains_key(&child.row.id) {
                    state.complain(format!("{}: was made twice", child.row.id));
                }
                state.put_child(child);
            }
            state.tell(Some(id), commit.tell);
            if let (Some(title), Some(row)) = (commit.title, state.sessions.get_mut(id)) {
                row.title = title;
            }
            Ok(())
        })
        .await
    }

    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()> {
        self.write(|state, owner| {
            state.demand(owner, lease)?;
            state.partials.entry((lease.session().clone(), call.clone())).or_default().push_str(text);
            Ok(())
        })
        .await
    }

    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>> {
        self.operate(|state, _| {
            let mine = state.partials.iter().filter(|((of, _), _)| of == session);
            Ok(mine.map(|((_, call), text)| (call.clone(), text.clone())).collect())
        })
        .await
    }

    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>> {
        self.operate(|state, _| {
            let log = state.events.get(session).map(Vec::as_slice).unwrap_or_default();
            Ok(log.iter().skip(after as usize).take(limit as usize).cloned().collect())
        })
        .await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<u64> {
        self.operate(|state, _| Ok(state.events.get(session).map_or(0, |log| log.len() as u64))).await
    }

    async fn recent_calls(&self, sessions: u32, facts: u32) -> Result<Vec<RecordedCall>> {
        self.operate(|state, _| {
            let mut rows: Vec<_> = state.sessions.values().collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.updated));
            let logs = rows.iter().take(sessions as usize).filter_map(|row| state.events.get(&row.id));
            let last = |log: &Vec<Event>| log.len().saturating_sub(facts as usize);
            Ok(logs.flat_map(|log| RecordedCall::all_in(&log[last(log)..])).collect())
        })
        .await
    }
}

#[async_trait]
impl ChangeFeed for MemoryStore {
    async fn changed(&self, since: Option<u64>) -> Result<u64> {
        loop {
            if since.is_some() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            // As SQLite has it: what one wrote oneself does not count.
            let version = |state: &mut State, owner| {
                Ok(state.processes.writes.iter().filter(|(by, _)| **by != owner).map(|(_, n)| n).sum())
            };
            let version: u64 = self.operate(version).await?;
            if Some(version) != since {
                return Ok(version);
            }
        }
    }
}
