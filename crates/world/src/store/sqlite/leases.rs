//! Leases on sessions, and slots for running requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Transaction, params};
use trimtab_vocab::{RequestId, SessionId};

use super::super::{Admission, Claim, Lease, LeaseStore, Liveness, Result, StoreError};
use super::SqliteStore;

fn claim(tx: &Transaction<'_>, owner: &dyn Liveness, session: SessionId, serves: bool) -> Result<Claim> {
    let known: Option<i64> =
        tx.query_row("SELECT 1 FROM sessions WHERE id = ?1", [session.as_str()], |row| row.get(0)).optional()?;
    if known.is_none() {
        return Err(StoreError::NoSession(session));
    }
    let holder: Option<(Option<String>, u64)> = tx
        .query_row("SELECT owner, token FROM leases WHERE session = ?1", [session.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let token = match holder {
        // A process keeps one actor per session: if it asks again, the one before has failed.
        Some((Some(name), _)) if name != owner.name() && owner.is_alive(&name) => {
            return Ok(Claim::Held { by: owner.describe(&name) });
        }
        Some((_, token)) => token + 1,
        None => 1,
    };
    tx.execute(
        "INSERT INTO leases (session, owner, token) VALUES (?1, ?2, ?3)
         ON CONFLICT (session) DO UPDATE SET owner = excluded.owner, token = excluded.token",
        params![session.as_str(), owner.name(), token],
    )?;
    // Requests of the last owner are not running and must get a slot again. One that rests has none. What a server has
    // begun, the next server continues automatically.
    tx.execute(
        "UPDATE jobs SET running = CASE running WHEN 2 THEN 2 ELSE 0 END, served = served OR ?2 WHERE session = ?1 AND status IS NULL",
        params![session.as_str(), serves],
    )?;
    Ok(Claim::Granted(Lease::new(session, token)))
}

/// A waiting request stays active, uses no slot, and asks for one again like any other.
pub(super) fn rest(tx: &Transaction<'_>, request: &RequestId) -> Result<()> {
    tx.prepare_cached("UPDATE jobs SET running = 2, asked = NULL WHERE request = ?1 AND status IS NULL")?
        .execute([request.as_str()])?;
    Ok(())
}

fn admit(tx: &Transaction<'_>, owner: &dyn Liveness, request: &RequestId, limit: u32) -> Result<Admission> {
    tx.execute(
        "UPDATE jobs SET asked = (SELECT COALESCE(MAX(asked), 0) + 1 FROM jobs) WHERE request = ?1 AND asked IS NULL",
        [request.as_str()],
    )?;
    let mut statement = tx.prepare_cached(
        "SELECT l.owner FROM jobs j JOIN leases l ON l.session = j.session
         WHERE j.status IS NULL AND j.request <> ?1 AND l.owner IS NOT NULL AND j.asked IS NOT NULL
           AND (j.running = 1 OR j.asked < (SELECT asked FROM jobs WHERE request = ?1))",
    )?;
    let mut alive: HashMap<String, bool> = HashMap::new();
    let mut ahead = 0;
    let mut rows = statement.query([request.as_str()])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        ahead += u32::from(*alive.entry(name).or_insert_with_key(|name| owner.is_alive(name)));
    }
    if ahead >= limit {
        return Ok(Admission::Held { ahead });
    }
    tx.execute("UPDATE jobs SET running = 1 WHERE request = ?1", [request.as_str()])?;
    Ok(Admission::Granted)
}

#[async_trait]
impl LeaseStore for SqliteStore {
    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        let (id, owner) = (session.clone(), Arc::clone(&self.owner));
        let serves = self.serving.load(Ordering::Relaxed);
        let claim = self.write_soon(move |tx| claim(tx, owner.as_ref(), id, serves)).await?;
        if let Claim::Granted(_) = &claim {
            self.feed.hold(session);
        }
        Ok(claim)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.feed.release(lease.session());
        let (lease, owner) = (lease.clone(), Arc::clone(&self.owner));
        self.write_soon(move |tx| {
            tx.execute(
                "UPDATE leases SET owner = NULL WHERE session = ?1 AND token = ?2 AND owner = ?3",
                params![lease.session().as_str(), lease.token(), owner.name()],
            )?;
            Ok(())
        })
        .await
    }

    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission> {
        let (lease, request, owner) = (lease.clone(), request.clone(), Arc::clone(&self.owner));
        self.write_soon(move |tx| {
            demand_lease(tx, owner.as_ref(), &lease)?;
            admit(tx, owner.as_ref(), &request, limit)
        })
        .await
    }

    async fn is_run(&self, session: &SessionId) -> Result<bool> {
        let (id, owner) = (session.clone(), Arc::clone(&self.owner));
        self.read(move |tx| {
            let holder: Option<Option<String>> = tx
                .query_row("SELECT owner FROM leases WHERE session = ?1", [id.as_str()], |row| row.get(0))
                .optional()?;
            Ok(holder.flatten().is_some_and(|name| name == owner.name() || owner.is_alive(&name)))
        })
        .await
    }

    fn serve(&self) {
        self.serving.store(true, Ordering::Relaxed);
    }
}

pub(super) fn demand_lease(tx: &Transaction<'_>, owner: &dyn Liveness, lease: &Lease) -> Result<()> {
    let holder: Option<(Option<String>, u64)> = tx
        .prepare_cached("SELECT owner, token FROM leases WHERE session = ?1")?
        .query_row([lease.session().as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match holder {
        Some((Some(name), token)) if name == owner.name() && token == lease.token() => Ok(()),
        _ => Err(StoreError::LeaseLost),
    }
}
