//! The sessions that this process runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use trimtab_vocab::{RequestId, SessionId};

/// One entry per actor. An actor may leave only if no message arrived since it last looked. Both happen under one
/// lock, so no message is lost between an actor's last look and its end.
#[derive(Default)]
pub(crate) struct Roster {
    entries: Mutex<HashMap<SessionId, RosterEntry>>,
    /// Sessions that are run here for the sake of one request.
    own: Mutex<HashMap<SessionId, RequestId>>,
}

struct RosterEntry {
    wake: Arc<Notify>,
    wakes: u64,
    task: JoinHandle<()>,
}

impl Drop for RosterEntry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Roster {
    /// Wakes the session's actor, or starts one.
    pub(crate) fn want(&self, session: &SessionId, start: impl FnOnce(Arc<Notify>) -> JoinHandle<()>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // An actor that panicked never left.
        entries.retain(|_, entry| !entry.task.is_finished());
        if let Some(entry) = entries.get_mut(session) {
            entry.wakes += 1;
            entry.wake.notify_one();
            return;
        }
        let wake = Arc::new(Notify::new());
        let task = start(Arc::clone(&wake));
        entries.insert(session.clone(), RosterEntry { wake, wakes: 0, task });
    }

    /// Takes an actor off the roster, unless it was asked for since `seen`.
    pub(crate) fn leave(&self, session: &SessionId, seen: &mut u64) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        match entries.get(session) {
            Some(entry) if entry.wakes != *seen => {
                *seen = entry.wakes;
                false
            }
            _ => {
                entries.remove(session);
                true
            }
        }
    }

    /// From now on this process runs the session for the sake of this request.
    pub(crate) fn run_for(&self, session: &SessionId, request: &RequestId) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), request.clone());
    }

    /// The request for which this process runs the session; none: it runs all of them.
    pub(crate) fn own_request(&self, session: &SessionId) -> Option<RequestId> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    /// Ends every actor where it stands.
    pub(crate) fn dismiss(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
