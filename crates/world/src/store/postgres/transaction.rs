//! Transactions that are tried again, and never done twice.
//!
//! A transaction that lost against another one, or whose connection broke before its end, has changed nothing and
//! runs again. Each leaves a mark. If the connection breaks while it commits, the mark tells what became of it.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{Client, Object, Pool};
use tokio::time::{Instant, sleep};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, RowStream};

use super::super::{Result, StoreError};
use super::address::Address;
use super::trouble::{Meaning, meaning, pool_error, store_error, trouble};

/// For how long a server that is not there is waited for: a restart with recovery takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// The wait between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a transaction may lose against others.
const CONFLICTS: u32 = 100;

/// The values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections of this process, as the transactions of the store see them.
pub(super) struct Database {
    pub(super) pool: Pool,
    pub(super) address: Address,
    /// The name under which this process owns leases.
    pub(super) owner: String,
    /// Where changes are announced.
    pub(super) channel: String,
    /// The marks that were left so far.
    pub(super) marks: AtomicU64,
}

/// A transaction, or a connection that only reads.
pub(super) struct Tx<'a> {
    client: &'a Client,
    pub(super) owner: &'a str,
    failed: Cell<Option<Meaning>>,
    quiet: Cell<bool>,
}

impl Tx<'_> {
    pub(super) async fn rows(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>> {
        let statement = self.client.prepare_cached(sql).await.map_err(|error| self.note(&error))?;
        self.client.query(&statement, values).await.map_err(|error| self.note(&error))
    }

    pub(super) async fn row(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// The only row of a statement that always has one.
    pub(super) async fn one(&self, sql: &str, values: Values<'_>) -> Result<Row> {
        self.row(sql, values).await?.ok_or_else(|| StoreError::Corrupt("a row is missing in the database".into()))
    }

    pub(super) async fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64> {
        let statement = self.client.prepare_cached(sql).await.map_err(|error| self.note(&error))?;
        self.client.execute(&statement, values).await.map_err(|error| self.note(&error))
    }

    /// The rows of a statement, as they come.
    pub(super) async fn stream(&self, sql: &str, values: Values<'_>) -> Result<RowStream> {
        let statement = self.client.prepare_cached(sql).await.map_err(|error| self.note(&error))?;
        self.client.query_raw(&statement, values.iter().copied()).await.map_err(|error| self.note(&error))
    }

    /// Several statements without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<()> {
        self.client.batch_execute(sql).await.map_err(|error| self.note(&error))
    }

    /// Keeps others from counting here until the end of the transaction, and returns the present count.
    pub(super) async fn lock(&self, counter: &str) -> Result<i64> {
        let sql = "SELECT value FROM counters WHERE name = $1 FOR UPDATE";
        Ok(self.one(sql, &[&counter]).await?.get(0))
    }

    /// Nothing changes that anybody waits for, so nobody is told. Who asks again and again would wake all others.
    pub(super) fn hush(&self) {
        self.quiet.set(true);
    }

    fn note(&self, error: &Error) -> StoreError {
        self.failed.set(Some(meaning(error)));
        store_error(error)
    }
}

/// What came of one try.
enum Attempt<T> {
    Done(Result<T>),
    /// It has changed nothing.
    Again(Meaning, StoreError),
    /// The connection broke while it committed.
    Unknown(T, String),
}

impl Database {
    /// Runs a transaction that writes. When this returns, the server has it on its disk, and others are told.
    pub(super) async fn write<T>(&self, work: impl AsyncFn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let mut tries = Tries::default();
        loop {
            let client = self.connection(&mut tries).await?;
            match self.attempt(client, &work).await {
                Attempt::Done(result) => return result,
                Attempt::Again(meaning, error) => tries.pause(meaning, error).await?,
                Attempt::Unknown(value, mark) => {
                    if self.is_committed(&mark).await? {
                        return Ok(value);
                    }
                }
            }
        }
    }

    async fn attempt<T>(&self, client: Lent, work: &impl AsyncFn(&Tx<'_>) -> Result<T>) -> Attempt<T> {
        let mark = format!("{}/{}", self.owner, self.marks.fetch_add(1, Ordering::Relaxed));
        let begin = format!("BEGIN; INSERT INTO commits (mark) VALUES ('{mark}')");
        if let Err(error) = client.batch_execute(&begin).await {
            return Attempt::Again(meaning(&error), store_error(&error));
        }
        let tx = Tx { client: &client, owner: &self.owner, failed: Cell::default(), quiet: Cell::default() };
        match work(&tx).await {
            Ok(value) => {
                let end = match tx.quiet.get() {
                    true => "COMMIT".to_owned(),
                    false => format!("NOTIFY {}, '{}'; COMMIT", self.channel, self.owner),
                };
                match client.batch_execute(&end).await {
                    Ok(()) => {
                        client.give_back();
                        Attempt::Done(Ok(value))
                    }
                    Err(error) if meaning(&error) == Meaning::Lost => Attempt::Unknown(value, mark),
                    // The server said no: nothing was committed.
                    Err(error) => settle(meaning(&error), store_error(&error)),
                }
            }
            Err(error) => {
                let failed = tx.failed.get();
                if client.batch_execute("ROLLBACK").await.is_ok() {
                    client.give_back();
                }
                settle(failed.unwrap_or(Meaning::Final), error)
            }
        }
    }

    /// Runs statements that only read, each for itself.
    pub(super) async fn read<T>(&self, work: impl AsyncFn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let mut tries = Tries::default();
        loop {
            let client = self.connection(&mut tries).await?;
            let tx = Tx { client: &client, owner: &self.owner, failed: Cell::default(), quiet: Cell::default() };
            let done = work(&tx).await;
            match (done, tx.failed.get()) {
                (Err(error), Some(meaning)) if meaning != Meaning::Final => tries.pause(meaning, error).await?,
                (done, _) => {
                    client.give_back();
                    return done;
                }
            }
        }
    }

    /// Runs statements that read one state of the database.
    pub(super) async fn read_snapshot<T>(&self, work: impl AsyncFn(&Tx<'_>) -> Result<T>) -> Result<T> {
        self.read(async |tx| {
            tx.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
            let read = work(tx).await;
            // After an error, the state of the connection matters more than its words.
            let ended = tx.batch("ROLLBACK").await;
            let read = read?;
            ended.map(|()| read)
        })
        .await
    }

    async fn connection(&self, tries: &mut Tries) -> Result<Lent> {
        loop {
            match self.pool.get().await {
                Ok(client) => return Ok(Lent(Some(client))),
                Err(error) => {
                    let (meaning, error) = pool_error(&error, &self.address);
                    match meaning {
                        Meaning::Final => return Err(error),
                        _ => tries.pause(Meaning::Lost, error).await?,
                    }
                }
            }
        }
    }

    /// Whether the transaction with this mark was committed. If it was not, it never will be.
    async fn is_committed(&self, mark: &str) -> Result<bool> {
        let asked = self.read(async |tx| {
            // While that transaction is still open, this waits for its end. The server ends it, as nobody goes on with it.
            let void = "INSERT INTO commits (mark, void) VALUES ($1, true) ON CONFLICT (mark) DO NOTHING";
            tx.execute(void, &[&mark]).await?;
            Ok(!tx.one("SELECT void FROM commits WHERE mark = $1", &[&mark]).await?.get::<_, bool>(0))
        });
        asked.await.map_err(|error| {
            trouble(
                format!("The connection to PostgreSQL was lost during a commit, and its outcome is not known: {error}"),
                "Check the server, then look at the session again. Nothing was written twice.",
            )
        })
    }
}

fn settle<T>(meaning: Meaning, error: StoreError) -> Attempt<T> {
    match meaning {
        Meaning::Final => Attempt::Done(Err(error)),
        meaning => Attempt::Again(meaning, error),
    }
}

/// A connection out of the pool. It goes back only if it was given back: one in an unknown state is closed, also if
/// the work on it panics, because the next transaction would continue the one that it left behind.
struct Lent(Option<Client>);

impl Lent {
    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Deref for Lent {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.0.as_ref().expect("only giving it back takes it, and that ends it")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.take().map(Object::take);
    }
}

/// How often and for how long an operation was tried.
struct Tries {
    began: Instant,
    conflicts: u32,
}

impl Default for Tries {
    fn default() -> Self {
        Self { began: Instant::now(), conflicts: 0 }
    }
}

impl Tries {
    /// Waits before the next try, or gives up with the error.
    async fn pause(&mut self, meaning: Meaning, error: StoreError) -> Result<()> {
        match meaning {
            Meaning::Conflict if self.conflicts < CONFLICTS => {
                self.conflicts += 1;
                // Those that met each other must not meet again.
                let spread = getrandom::u32().unwrap_or(0) % (4 * self.conflicts.min(16));
                sleep(Duration::from_millis(u64::from(spread))).await;
                Ok(())
            }
            Meaning::Lost if self.began.elapsed() < PATIENCE => {
                tracing::warn!(%error, "PostgreSQL is not reachable, trying again");
                sleep(PAUSE).await;
                Ok(())
            }
            _ => Err(error),
        }
    }
}
