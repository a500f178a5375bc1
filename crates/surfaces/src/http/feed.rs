//! Carries the facts of a session to all who watch it over HTTP.
//!
//! However many watch, a session is followed once and each fact is written out once; a watcher takes
//! the finished bytes. The queue between the two is bounded: who falls out of it reads what it missed
//! from the log, a page at a time and only as fast as it takes the bytes, so a slow reader costs a page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::broadcast;
use trimtab_host::Client;
use trimtab_vocab::{Event, SessionId};

use super::failure::Failure;

/// Facts that a watcher may be behind before it has to read the log.
const QUEUE: usize = 512;
/// How soon a session that nobody watches any more is no longer followed.
const LINGER: Duration = Duration::from_secs(1);

/// A fact as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// Its place in the log, if it has one.
    pub(super) seq: Option<u64>,
    /// What is sent.
    pub(super) bytes: Bytes,
}

impl Frame {
    pub(super) fn of(event: &Event) -> Self {
        let data = serde_json::to_string(event).unwrap_or_default();
        let text = match event.seq {
            Some(seq) => format!("id: {seq}\ndata: {data}\n\n"),
            None => format!("data: {data}\n\n"),
        };
        Self { seq: event.seq, bytes: text.into() }
    }
}

/// The sessions that are watched.
#[derive(Debug, Clone, Default)]
pub(super) struct Feeds {
    open: Arc<Mutex<HashMap<SessionId, broadcast::Sender<Frame>>>>,
}

impl Feeds {
    /// Takes part in watching a session; whoever is first has seen its log up to `seen`.
    pub(super) fn join(&self, client: &Client, session: &SessionId, seen: u64) -> broadcast::Receiver<Frame> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = open.get(session) {
            return feed.subscribe();
        }
        let (feed, receiver) = broadcast::channel(QUEUE);
        open.insert(session.clone(), feed.clone());
        tokio::spawn(self.clone().follow(client.clone(), session.clone(), seen, feed));
        receiver
    }

    async fn follow(self, client: Client, session: SessionId, seen: u64, feed: broadcast::Sender<Frame>) {
        let mut watch = client.watch(&session, seen);
        loop {
            match tokio::time::timeout(LINGER, watch.next()).await {
                Ok(Ok(event)) => drop(feed.send(Frame::of(&event))),
                Ok(Err(problem)) => {
                    // The session cannot be run any further here, or the log cannot be read just now.
                    let data = serde_json::to_string(&Failure::from(problem).body()).unwrap_or_default();
                    let bytes = format!("event: problem\ndata: {data}\n\n").into();
                    drop(feed.send(Frame { seq: None, bytes }));
                    tokio::time::sleep(LINGER).await;
                }
                Err(_) => {}
            }
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if feed.receiver_count() == 0 {
                open.remove(&session);
                return;
            }
        }
    }
}
