//! Owners, requests and open questions in memory.

use async_trait::async_trait;
use trimtab_vocab::{Event, RequestId, SessionId};
use trimtab_world::store::{Admission, Claim, JobRow, JobStore, Lease, LeaseStore, Result, StoreError};

use super::{Job, MemoryStore};

#[async_trait]
impl LeaseStore for MemoryStore {
    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        self.write(|state, owner| {
            if !state.sessions.contains_key(session) {
                return Err(StoreError::NoSession(session.clone()));
            }
            let (holder, token) = state.processes.leases.get(session).copied().unwrap_or((None, 0));
            if holder != Some(owner) && state.is_alive(holder) {
                return Ok(Claim::Held { by: "another process".into() });
            }
            state.processes.leases.insert(session.clone(), (Some(owner), token + 1));
            state.jobs.values_mut().filter(|job| job.row.session == *session).for_each(|job| {
                job.running = false;
            });
            Ok(Claim::Granted(Lease::new(session.clone(), token + 1)))
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.write(|state, owner| {
            if state.demand(owner, lease).is_ok() {
                state.processes.leases.insert(lease.session().clone(), (None, lease.token()));
            }
            Ok(())
        })
        .await
    }

    async fn is_run(&self, session: &SessionId) -> Result<bool> {
        self.write(|state, _| {
            let (holder, _) = state.processes.leases.get(session).copied().unwrap_or((None, 0));
            Ok(state.is_alive(holder))
        })
        .await
    }

    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission> {
        self.write(|state, owner| {
            state.demand(owner, lease)?;
            state.next_asked += 1;
            let next = state.next_asked;
            let Some(job) = state.jobs.get_mut(request) else {
                return Err(StoreError::NoSession(lease.session().clone()));
            };
            let mine = *job.asked.get_or_insert(next);
            let is_ahead = |(id, job): &(&RequestId, &Job)| {
                let earlier = job.asked.is_some_and(|asked| asked < mine);
                *id != request
                    && job.status.is_none()
                    && (job.running || earlier)
                    && state.session_is_owned(&job.row.session)
            };
            let ahead = state.jobs.iter().filter(is_ahead).count() as u32;
            if ahead >= limit {
                return Ok(Admission::Held { ahead });
            }
            if let Some(job) = state.jobs.get_mut(request) {
                (job.running, job.resting) = (true, false);
            }
            state.seen.most_running = state.seen.most_running.max(state.running());
            Ok(Admission::Granted)
        })
        .await
    }
}

#[async_trait]
impl JobStore for MemoryStore {
    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>> {
        self.operate(|state, _| {
            let wanted = state.jobs.values().rev().filter(|job| all || job.status.is_none());
            Ok(wanted.map(|job| state.job_row(job)).collect())
        })
        .await
    }

    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>> {
        self.operate(|state, _| Ok(state.jobs.get(request).map(|job| state.job_row(job)))).await
    }

    async fn has_open_request(&self, session: &SessionId) -> Result<bool> {
        self.operate(|state, _| Ok(state.jobs.values().any(|job| job.row.session == *session && job.status.is_none())))
            .await
    }

    async fn checkpoints(&self) -> Result<Vec<Event>> {
        self.operate(|state, _| Ok(state.checkpoints.values().cloned().collect())).await
    }
}
