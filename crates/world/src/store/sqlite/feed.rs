//! Changes by other processes. SQLite reports them, but only when polled.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};
use trimtab_vocab::SessionId;

use super::super::{ChangeFeed, Result};
use super::SqliteStore;

/// How often to look.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The interval once nothing was written for a while: an idle screen must cost next to nothing, and this is still
/// fast enough for a user.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Polls without news after which the interval grows.
const IN_VAIN: u32 = 100;

/// All who wait in this process look together, because one look answers all of them.
#[derive(Debug, Default)]
pub(super) struct Feed {
    last: tokio::sync::Mutex<Option<(Instant, u64)>>,
    /// Sessions that this process runs. While there are any, a request to stop them must be noticed at once.
    held: Mutex<HashSet<SessionId>>,
}

impl Feed {
    pub(super) fn hold(&self, session: &SessionId) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone());
    }

    pub(super) fn release(&self, session: &SessionId) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    fn pause(&self, polls: u32) -> Duration {
        let is_idle = self.held.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if is_idle && polls >= IN_VAIN { IDLE_POLL_INTERVAL } else { POLL_INTERVAL }
    }
}

impl SqliteStore {
    /// Polls, unless another caller has polled since `before`.
    async fn poll(&self, before: Option<Instant>) -> Result<u64> {
        let mut last = self.feed.last.lock().await;
        if let Some((at, version)) = *last
            && before.is_some_and(|before| at > before)
        {
            return Ok(version);
        }
        let at = Instant::now();
        let poll = |connection: &mut rusqlite::Connection| {
            Ok(connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)
        };
        let version = self.writer.run(poll).await?;
        *last = Some((at, version));
        Ok(version)
    }
}

#[async_trait]
impl ChangeFeed for SqliteStore {
    async fn changed(&self, since: Option<u64>) -> Result<u64> {
        if since.is_none() {
            return self.poll(None).await;
        }
        let mut polls = 0;
        loop {
            let before = self.feed.last.lock().await.map_or_else(Instant::now, |(at, _)| at);
            sleep_until(before + self.feed.pause(polls)).await;
            let version = self.poll(Some(before)).await?;
            if Some(version) != since {
                return Ok(version);
            }
            polls += 1;
        }
    }
}
