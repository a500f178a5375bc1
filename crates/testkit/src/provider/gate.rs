//! Lets an answer out chunk by chunk.

use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::patiently;

/// Holds the chunks of one answer back until the test releases them, so that the test can act at
/// an exact point of a stream. Clones share one state. See [`super::FakeProvider::gate`].
#[derive(Debug, Clone)]
pub struct Gate {
    handle: Handle,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    released: watch::Sender<usize>,
    sent: watch::Sender<Vec<Instant>>,
}

impl Gate {
    pub(super) fn new(handle: Handle) -> Self {
        let state = State { released: watch::Sender::new(0), sent: watch::Sender::new(Vec::new()) };
        Self { handle, state: Arc::new(state) }
    }

    /// Lets this many more chunks out.
    pub fn release(&self, chunks: usize) {
        self.state.released.send_modify(|released| *released = released.saturating_add(chunks));
    }

    /// Lets everything out from now on.
    pub fn open(&self) {
        self.state.released.send_replace(usize::MAX);
    }

    /// When the chunk with this number (from 1) was handed to the socket; waits for it.
    ///
    /// # Panics
    /// When it is not sent.
    pub async fn sent(&self, chunks: usize) -> Instant {
        let mut sent = self.state.sent.subscribe();
        let what = format!("chunk {chunks} to be sent");
        patiently(&self.handle, what, async move {
            let sent = sent.wait_for(|sent| sent.len() >= chunks).await;
            sent.ok().and_then(|sent| sent.get(chunks.saturating_sub(1)).copied())
        })
        .await
        .expect("chunks are counted from 1")
    }

    /// Waits until the chunk with this index may go.
    pub(super) async fn pass(&self, index: usize) {
        // The sender lives as long as `self`, so this ends only with the release.
        let _ = self.state.released.subscribe().wait_for(|released| *released > index).await;
    }

    pub(super) fn note_sent(&self) {
        self.state.sent.send_modify(|sent| sent.push(Instant::now()));
    }
}
