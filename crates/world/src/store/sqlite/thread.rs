//! A thread that owns a connection and runs one job after the other.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::super::{Result, StoreError};

type StoreWork = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) struct DatabaseThread {
    work: Option<mpsc::Sender<StoreWork>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Callers beyond these wait for a place.
const QUEUE: usize = 64;

impl DatabaseThread {
    pub(super) fn start(name: &str, mut connection: Connection) -> Result<Self> {
        let (work, mut orders) = mpsc::channel::<StoreWork>(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while let Some(order) = orders.blocking_recv() {
                    order(&mut connection);
                }
            })
            .map_err(|error| StoreError::Io(error.to_string()))?;
        Ok(Self { work: Some(work), thread: Some(thread) })
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let order: StoreWork = Box::new(move |connection| {
            // The caller may be gone; the work is done anyway.
            let _ = answer.send(work(connection));
        });
        let ended = || StoreError::Io("the store is shut down".into());
        self.work.as_ref().ok_or_else(ended)?.send(order).await.map_err(|_| ended())?;
        answered.await.map_err(|_| StoreError::Io("a transaction of the store failed unexpectedly".into()))?
    }
}

impl Drop for DatabaseThread {
    /// Work that was handed over is finished before the store is gone.
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
