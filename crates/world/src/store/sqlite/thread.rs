//! A thread that owns a connection and runs one job after the other. Transactions that wait for the disk and are in the
//! queue at the same time wait for it once.

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::super::{Result, StoreError};

/// Work that is done and answered in its turn.
type StoreWork = Box<dyn FnOnce(&mut Connection) + Send>;
/// A transaction whose answer says that the disk has it.
type DurableWork = Box<dyn FnOnce(&mut Connection, Synchronous) -> Unanswered + Send>;

enum StoreOrder {
    Plain(StoreWork),
    Durable(DurableWork),
}

/// Whether a transaction waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Synchronous {
    /// It does, and everything that was written before is on the disk then, because all is in one file.
    Full,
    /// The next one that waits takes it along.
    Normal,
}

/// A transaction that is over and whose caller does not know yet.
struct Unanswered {
    is_written: bool,
    /// Takes whether the disk has it.
    tell: Box<dyn FnOnce(Result<()>)>,
}

pub(super) struct DatabaseThread {
    work: Option<mpsc::Sender<StoreOrder>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Callers beyond these wait for a place.
const QUEUE: usize = 64;

impl DatabaseThread {
    pub(super) fn start(name: &str, mut connection: Connection) -> Result<Self> {
        let (work, mut orders) = mpsc::channel::<StoreOrder>(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let mut together = Vec::new();
                while orders.blocking_recv_many(&mut together, QUEUE) > 0 {
                    carry_out(&mut connection, std::mem::take(&mut together));
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
        self.order(StoreOrder::Plain(order), answered).await
    }

    /// Runs a transaction. When this returns, the disk has it.
    pub(super) async fn run_durably<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let order: DurableWork = Box::new(move |connection, synchronous| {
            let done = transact(connection, synchronous, work);
            let is_written = done.is_ok();
            let tell = move |on_disk: Result<()>| {
                let _ = answer.send(done.and_then(|value| on_disk.map(|()| value)));
            };
            Unanswered { is_written, tell: Box::new(tell) }
        });
        self.order(StoreOrder::Durable(order), answered).await
    }

    async fn order<T>(&self, order: StoreOrder, answered: oneshot::Receiver<Result<T>>) -> Result<T> {
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

/// Carries out orders one after the other. Of those that wait for the disk, only the last one does, and the others are
/// answered after it: a wait takes milliseconds, and many workers would wait in a row.
fn carry_out(connection: &mut Connection, orders: Vec<StoreOrder>) {
    let last = orders.iter().rposition(|order| matches!(order, StoreOrder::Durable(_)));
    let mut earlier: Vec<Unanswered> = Vec::new();
    for (at, order) in orders.into_iter().enumerate() {
        match order {
            StoreOrder::Plain(work) => work(connection),
            StoreOrder::Durable(work) if Some(at) != last => earlier.push(work(connection, Synchronous::Normal)),
            StoreOrder::Durable(work) => {
                let ended = work(connection, Synchronous::Full);
                // One that was refused has written nothing and waited for nothing.
                let has_others = earlier.iter().any(|ended| ended.is_written);
                let on_disk = if ended.is_written || !has_others { Ok(()) } else { wait_for_disk(connection) };
                earlier.drain(..).for_each(|ended| (ended.tell)(on_disk.clone()));
                (ended.tell)(Ok(()));
            }
        }
    }
}

/// Waits until the disk has everything that was written: a transaction that changes nothing but is written.
fn wait_for_disk(connection: &mut Connection) -> Result<()> {
    transact(connection, Synchronous::Full, |tx| {
        let version: u32 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok(tx.pragma_update(None, "user_version", version)?)
    })
}

/// Each transaction says itself whether it waits for the disk, so that none does as the one before it did.
pub(super) fn transact<T>(
    connection: &mut Connection,
    synchronous: Synchronous,
    work: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let synchronous = match synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn opened(folder: &std::path::Path) -> Connection {
        let connection = Connection::open(folder.join("db")).expect("opens");
        connection.pragma_update(None, "journal_mode", "WAL").expect("is set");
        connection.execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER)").expect("is made");
        connection
    }

    fn count(folder: &std::path::Path) -> u32 {
        opened(folder).query_row("SELECT count(*) FROM t", [], |row| row.get(0)).expect("is read")
    }

    /// An order that is answered through a channel with its number, whether it waited itself, and whether it went well.
    fn order(number: u32, fails: bool, told: &mpsc::Sender<(u32, Synchronous, bool)>) -> StoreOrder {
        let told = told.clone();
        StoreOrder::Durable(Box::new(move |connection, synchronous| {
            let done = transact(connection, synchronous, |tx| {
                tx.execute("INSERT INTO t VALUES (?1)", [number])?;
                if fails { Err(StoreError::Taken) } else { Ok(()) }
            });
            let is_written = done.is_ok();
            let tell = move |on_disk: Result<()>| {
                told.send((number, synchronous, done.and(on_disk).is_ok())).expect("is heard");
            };
            Unanswered { is_written, tell: Box::new(tell) }
        }))
    }

    #[test]
    fn transactions_that_are_there_together_wait_for_the_disk_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut connection = opened(folder.path());
        let (told, heard) = mpsc::channel();
        let (at_once, before_the_disk) = (told.clone(), heard);
        let look =
            StoreOrder::Plain(Box::new(move |_| at_once.send((0, Synchronous::Normal, true)).expect("is heard")));
        let orders = vec![order(1, false, &told), look, order(2, true, &told), order(3, false, &told)];
        carry_out(&mut connection, orders);
        drop(told);
        use Synchronous::{Full, Normal};
        let heard: Vec<_> = before_the_disk.into_iter().collect();
        assert_eq!(heard, [(0, Normal, true), (1, Normal, true), (2, Normal, false), (3, Full, true)]);
        assert_eq!(count(folder.path()), 2, "what failed is not there");
    }

    #[test]
    fn a_refused_transaction_at_the_end_leaves_the_others_on_the_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut connection = opened(folder.path());
        let (told, heard) = mpsc::channel();
        let wal = folder.path().join("db-wal");
        let before = std::fs::metadata(&wal).expect("a log").len();
        carry_out(&mut connection, vec![order(1, false, &told), order(2, true, &told)]);
        let heard: Vec<_> = heard.try_iter().collect();
        assert_eq!(heard, [(1, Synchronous::Normal, true), (2, Synchronous::Full, false)]);
        // A page of the table and the page that makes SQLite wait, each with its header of 24 bytes.
        let grown = std::fs::metadata(&wal).expect("a log").len() - before;
        assert_eq!(grown, 2 * (4_096 + 24), "nothing waited for the disk");
        assert_eq!(count(folder.path()), 1);
        // Alone, it has nothing to wait for.
        let before = std::fs::metadata(&wal).expect("a log").len();
        carry_out(&mut connection, vec![order(3, true, &told)]);
        assert_eq!(std::fs::metadata(&wal).expect("a log").len(), before);
    }
}
