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
pub(super) struct EventFrame {
    /// Its place in the log, if it has one.
    pub(super) seq: Option<u64>,
    /// What is sent.
    pub(super) bytes: Bytes,
}

impl EventFrame {
    pub(super) fn new(event: &Event) -> Self {
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
    open: Arc<Mutex<HashMap<SessionId, Arc<EventFeed>>>>,
}

/// What all who watch a session share.
#[derive(Debug)]
struct EventFeed {
    frames: broadcast::Sender<EventFrame>,
    /// The words of the reply that is coming, which are in no log yet; whoever comes late gets them at once.
    so_far: Mutex<Option<Event>>,
}

impl EventFeed {
    /// What is to come, and what is not in the log of what came.
    fn join(&self) -> (broadcast::Receiver<EventFrame>, Option<EventFrame>) {
        let so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        (self.frames.subscribe(), so_far.as_ref().map(EventFrame::new))
    }

    fn send(&self, event: &Event) {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        trimtab_host::said(&mut so_far, event);
        // Nobody may be watching just now.
        drop(self.frames.send(EventFrame::new(event)));
    }
}

impl Feeds {
    /// Takes part in watching a session; whoever is first has seen its log up to `seen`. Words that are still
    /// coming are given along as far as they have come.
    pub(super) fn join(
        &self,
        client: &Client,
        session: &SessionId,
        seen: u64,
    ) -> (broadcast::Receiver<EventFrame>, Option<EventFrame>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = open.get(session) {
            return feed.join();
        }
        let (frames, receiver) = broadcast::channel(QUEUE);
        let feed = Arc::new(EventFeed { frames, so_far: Mutex::default() });
        open.insert(session.clone(), Arc::clone(&feed));
        tokio::spawn(self.clone().follow(client.clone(), session.clone(), seen, feed));
        (receiver, None)
    }

    async fn follow(self, client: Client, session: SessionId, seen: u64, feed: Arc<EventFeed>) {
        let mut watch = client.watch(&session, seen);
        loop {
            match tokio::time::timeout(LINGER, watch.next()).await {
                Ok(Ok(event)) => feed.send(&event),
                Ok(Err(problem)) => {
                    // The session cannot be run any further here, or the log cannot be read just now.
                    let data = serde_json::to_string(&Failure::from(problem).body()).unwrap_or_default();
                    let bytes = format!("event: problem\ndata: {data}\n\n").into();
                    drop(feed.frames.send(EventFrame { seq: None, bytes }));
                    tokio::time::sleep(LINGER).await;
                }
                Err(_) => {}
            }
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if feed.frames.receiver_count() == 0 {
                open.remove(&session);
                return;
            }
        }
    }
}
