//! Leases on sessions, and slots for running requests.
//!
//! Whoever needs both the row of a lease and the row of its session locks them in this order, so that transactions wait
//! for each other and never in a circle.

use std::time::Duration;

use async_trait::async_trait;
use trimtab_vocab::{RequestId, SessionId};

use super::super::{Admission, Claim, Lease, LeaseStore, Result, StoreError};
use super::presence::LIVES;
use super::transaction::Tx;
use super::{PostgresStore, describe, schema, signed, unsigned};

/// The owner of a session, if one lives, and the token of the last lease. Until the end of the transaction, it stays
/// so.
pub(super) async fn lock_lease(tx: &Tx<'_>, session: &SessionId) -> Result<(Option<String>, i64)> {
    let id = session.as_str();
    let sql = "INSERT INTO leases (session, token) VALUES ($1, 0) ON CONFLICT (session) DO NOTHING";
    tx.execute(sql, &[&id]).await?;
    let sql = format!(
        "SELECT CASE WHEN l.owner = $2 OR EXISTS (SELECT 1 FROM owners o WHERE o.name = l.owner AND {LIVES})
                THEN l.owner END, l.token
         FROM leases l WHERE l.session = $1 FOR UPDATE OF l"
    );
    let row = tx.one(&sql, &[&id, &tx.owner]).await?;
    Ok((row.get(0), row.get(1)))
}

async fn claim(tx: &Tx<'_>, session: &SessionId, serves: bool) -> Result<Claim> {
    schema::demand_format(tx).await?;
    let (owner, token) = lock_lease(tx, session).await?;
    let id = session.as_str();
    if tx.row("SELECT 1 FROM sessions WHERE id = $1 FOR KEY SHARE", &[&id]).await?.is_none() {
        return Err(StoreError::NoSession(session.clone()));
    }
    // A process keeps one actor per session: if it asks again, the one before has failed.
    if let Some(owner) = owner.filter(|owner| owner != tx.owner) {
        tx.hush();
        return Ok(Claim::Held { by: describe(&owner) });
    }
    let token = token + 1;
    tx.execute("UPDATE leases SET owner = $2, token = $3 WHERE session = $1", &[&id, &tx.owner, &token]).await?;
    // Requests of the last owner are not running and must get a slot again. One that rests has none. What a server has
    // begun, the next server continues automatically.
    let sql = "UPDATE jobs SET running = CASE running WHEN 2 THEN 2 ELSE 0 END, served = served OR $2
               WHERE session = $1 AND status IS NULL";
    tx.execute(sql, &[&id, &serves]).await?;
    Ok(Claim::Granted(Lease::new(session.clone(), unsigned(token))))
}

/// A waiting request stays active, uses no slot, and asks for one again like any other.
pub(super) async fn rest(tx: &Tx<'_>, request: &RequestId) -> Result<()> {
    let sql = "UPDATE jobs SET running = 2, asked = NULL WHERE request = $1 AND status IS NULL";
    tx.execute(sql, &[&request.as_str()]).await.map(drop)
}

async fn admit(tx: &Tx<'_>, request: &RequestId, limit: u32) -> Result<Admission> {
    let id = request.as_str();
    // One at a time, on all machines: two that count at once would both find the last slot free.
    let next = tx.lock("asked").await? + 1;
    let first = tx.execute("UPDATE jobs SET asked = $2 WHERE request = $1 AND asked IS NULL", &[&id, &next]).await?;
    if first > 0 {
        tx.execute("UPDATE counters SET value = $1 WHERE name = 'asked'", &[&next]).await?;
    }
    let sql = format!(
        "SELECT count(*) FROM jobs j JOIN leases l ON l.session = j.session
         WHERE j.status IS NULL AND j.request <> $1 AND l.owner IS NOT NULL AND j.asked IS NOT NULL
           AND (j.running = 1 OR j.asked < (SELECT asked FROM jobs WHERE request = $1))
           AND (l.owner = $2 OR EXISTS (SELECT 1 FROM owners o WHERE o.name = l.owner AND {LIVES}))"
    );
    let ahead: i64 = tx.one(&sql, &[&id, &tx.owner]).await?.get(0);
    let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
    if ahead >= limit {
        tx.hush();
        return Ok(Admission::Held { ahead });
    }
    tx.execute("UPDATE jobs SET running = 1 WHERE request = $1", &[&id]).await?;
    Ok(Admission::Granted)
}

/// Refuses unless the lease is the last one and this process has it. Until the end of the transaction, nobody else can
/// get one.
pub(super) async fn demand_lease(tx: &Tx<'_>, lease: &Lease) -> Result<()> {
    let sql = "SELECT 1 FROM leases WHERE session = $1 AND token = $2 AND owner = $3 FOR SHARE";
    let values = (lease.session().as_str(), signed(lease.token()));
    match tx.row(sql, &[&values.0, &values.1, &tx.owner]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::LeaseLost),
    }
}

#[async_trait]
impl LeaseStore for PostgresStore {
    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        let (session, serves) = (session.clone(), self.serves());
        self.write(async move |tx| claim(tx, &session, serves).await).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write(async move |tx| {
            let sql = "UPDATE leases SET owner = NULL WHERE session = $1 AND token = $2 AND owner = $3";
            let values = (lease.session().as_str(), signed(lease.token()));
            tx.execute(sql, &[&values.0, &values.1, &tx.owner]).await.map(drop)
        })
        .await
    }

    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission> {
        let (lease, request) = (lease.clone(), request.clone());
        self.write(async move |tx| {
            demand_lease(tx, &lease).await?;
            admit(tx, &request, limit).await
        })
        .await
    }

    async fn is_run(&self, session: &SessionId) -> Result<bool> {
        let session = session.clone();
        self.read(async move |tx| {
            let sql = format!(
                "SELECT 1 FROM leases l WHERE l.session = $1
                 AND (l.owner = $2 OR EXISTS (SELECT 1 FROM owners o WHERE o.name = l.owner AND {LIVES}))"
            );
            Ok(tx.row(&sql, &[&session.as_str(), &tx.owner]).await?.is_some())
        })
        .await
    }

    fn pace(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn serve(&self) {
        self.serving.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
