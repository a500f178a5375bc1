//! The events of workers, beside those of the request that they work for.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use trimtab_host::Client;
use trimtab_vocab::{Event, Fact, Problem, SessionId, SubtaskStatus};

use crate::cli::output::print_json;

/// Events that wait to be printed.
const QUEUE: usize = 64;

/// Follows the workers of a request. Each of their events is printed once, with its sub-task.
pub(super) struct WorkerFollower {
    client: Client,
    workers: BTreeMap<SessionId, FollowedWorker>,
    told: mpsc::Sender<Event>,
    heard: mpsc::Receiver<Event>,
    tasks: JoinSet<()>,
}

struct FollowedWorker {
    subtask: String,
    /// The fact that was printed last.
    last: u64,
    is_over: bool,
}

impl WorkerFollower {
    pub(super) fn new(client: Client) -> Self {
        let (told, heard) = mpsc::channel(QUEUE);
        Self { client, workers: BTreeMap::new(), told, heard, tasks: JoinSet::new() }
    }

    /// Takes an event of the request in. A worker that has started is followed from its beginning on. Of one that has
    /// ended, all is printed, so that its end follows what it did.
    pub(super) async fn observe(&mut self, event: &Event) -> Result<(), Problem> {
        let Fact::Subtask(fact) = &event.fact else { return Ok(()) };
        let Some(worker) = fact.worker.clone() else { return Ok(()) };
        if !self.workers.contains_key(&worker) {
            self.start(worker.clone(), fact.subtask.clone());
        }
        if fact.status.is_over() || fact.status == SubtaskStatus::Failed {
            self.print_rest(&worker).await?;
            self.workers.get_mut(&worker).into_iter().for_each(|known| known.is_over = true);
        }
        Ok(())
    }

    fn start(&mut self, worker: SessionId, subtask: String) {
        let watch = self.client.watch(&worker, 0);
        self.workers.insert(worker, FollowedWorker { subtask, last: 0, is_over: false });
        let (mut watch, told) = (watch, self.told.clone());
        self.tasks.spawn(async move {
            while let Ok(event) = watch.next().await {
                if told.send(event).await.is_err() {
                    return;
                }
            }
        });
    }

    /// The next event of a worker; never, if there are none.
    pub(super) async fn next(&mut self) -> Event {
        match self.heard.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// Prints an event of a worker.
    pub(super) fn print(&mut self, event: &Event) -> Result<(), Problem> {
        let Some(worker) = self.workers.get_mut(&event.session) else { return Ok(()) };
        // What is not recorded is of the moment, and means nothing afterwards.
        if worker.is_over || event.seq.is_some_and(|seq| seq <= worker.last) {
            return Ok(());
        }
        worker.last = event.seq.unwrap_or(worker.last);
        let mut written = json!(event);
        written["subtask"] = json!(worker.subtask);
        print_json(&written)
    }

    /// Prints what is recorded and was not printed yet.
    pub(super) async fn finish(&mut self) -> Result<(), Problem> {
        self.tasks.abort_all();
        while let Ok(event) = self.heard.try_recv() {
            self.print(&event)?;
        }
        let workers: Vec<SessionId> = self.workers.keys().cloned().collect();
        for worker in workers {
            self.print_rest(&worker).await?;
        }
        Ok(())
    }

    async fn print_rest(&mut self, worker: &SessionId) -> Result<(), Problem> {
        while let Some(last) = self.workers.get(worker).filter(|known| !known.is_over).map(|known| known.last) {
            let page = self.client.sessions().events(worker, last).await?;
            if page.is_empty() {
                break;
            }
            page.iter().try_for_each(|event| self.print(event))?;
        }
        Ok(())
    }
}
