//! The signal that stops a call.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells everybody who works on a call that it is to end. Clones share one state, and it never
/// goes back.
#[derive(Debug, Clone)]
pub struct StreamController {
    signal: Arc<watch::Sender<bool>>,
}

impl StreamController {
    /// Nothing is aborted yet.
    pub fn new() -> Self {
        Self { signal: Arc::new(watch::Sender::new(false)) }
    }

    /// Ends the call; once is enough, twice is harmless.
    pub fn abort(&self) {
        self.signal.send_replace(true);
    }

    /// Whether the call is to end.
    pub fn is_aborted(&self) -> bool {
        *self.signal.borrow()
    }

    /// A receiver that reads true from the abort on, whenever it was taken.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.signal.subscribe()
    }

    /// Waits until the call is to end.
    pub async fn aborted(&self) {
        let mut signal = self.subscribe();
        // The sender lives as long as `self`, so this cannot fail before the signal comes.
        let _ = signal.wait_for(|aborted| *aborted).await;
    }
}

impl Default for StreamController {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_abort_is_seen_by_every_clone_and_every_later_subscriber() {
        let controller = StreamController::new();
        assert!(!controller.is_aborted());
        let clone = controller.clone();
        let waiting = tokio::spawn(async move { clone.aborted().await });
        std::thread::spawn({
            let controller = controller.clone();
            move || controller.abort()
        })
        .join()
        .expect("aborts");
        waiting.await.expect("is told");
        controller.abort();
        assert!(controller.is_aborted());
        assert!(*controller.subscribe().borrow());
        controller.aborted().await;
    }
}
