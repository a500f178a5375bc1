//! What a process finishes behind its requests: stopped workers end, and their copies of the folder are removed. Every
//! surface waits for it before it exits, so that nothing of it is left to the next run.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// How long a process waits for it before it exits. The next run removes what is left then.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Tasks that belong to no actor, because an actor that has nothing else to do ends before them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Endings(Arc<watch::Sender<usize>>);

/// One of them. It also counts as over if it is dropped with the runtime.
struct CountedTask(Endings);

impl Drop for CountedTask {
    fn drop(&mut self) {
        self.0.0.send_modify(|running| *running -= 1);
    }
}

impl Endings {
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.send_modify(|running| *running += 1);
        let counted = CountedTask(self.clone());
        drop(tokio::spawn(async move {
            work.await;
            drop(counted);
        }));
    }

    /// Waits until all are over, a few seconds at most.
    pub(crate) async fn wait(&self) {
        let mut running = self.0.subscribe();
        // An error would mean that nobody is left to count.
        let _ = tokio::time::timeout(PATIENCE, running.wait_for(|running| *running == 0)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_process_waits_for_all_that_it_ends_and_for_nothing_else() {
        let endings = Endings::default();
        endings.wait().await;
        let ended = Arc::new(AtomicU32::new(0));
        for millis in [30, 10] {
            let ended = Arc::clone(&ended);
            endings.spawn(async move {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        endings.wait().await;
        assert_eq!(ended.load(Ordering::Relaxed), 2);
        endings.wait().await;
    }
}
