//! The database that several machines share: PostgreSQL 15 and newer.
//!
//! One thread with a runtime of its own holds all connections. What is handed to it is done to its end, also when its
//! caller gives up, and heartbeats come in time whatever the rest of the process does.

mod address;
mod audit;
mod blobs;
mod inbox;
mod jobs;
mod leases;
mod log;
mod memory;
mod presence;
mod rules;
mod schema;
mod sessions;
mod tasks;
mod tls;
mod tokens;
mod transaction;
mod trouble;
mod writings;

use std::borrow::Cow;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio_postgres::Row;

use self::address::Address;
use self::transaction::{Database, Tx};
use super::encoding::unpack;
use super::{AuditKey, ChangeFeed, Result, Store, StoreError, make_private_folder};
use crate::clock::Clock;

/// Connections for transactions; one more listens.
const CONNECTIONS: usize = 8;
/// Callers beyond these wait for a place.
const QUEUE: usize = 64;
/// How long the end of a process waits for what it has begun.
const FAREWELL: Duration = Duration::from_secs(5);
/// What every connection begins with. A transaction that says nothing more holds its locks no longer than that.
const TUNE: &str = "SET idle_in_transaction_session_timeout = '5s'";

type LocalWork = Pin<Box<dyn Future<Output = ()>>>;
/// Work for the thread of the store.
type Order = Box<dyn FnOnce(Rc<Database>) -> LocalWork + Send>;

/// The store on a server.
pub struct PostgresStore {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<std::thread::JoinHandle<()>>,
    news: watch::Receiver<u64>,
    /// It is a server: what it leaves unfinished, the next one continues.
    serving: AtomicBool,
    clock: Arc<dyn Clock>,
    audit_key: Option<AuditKey>,
}

impl PostgresStore {
    /// Connects to the database at `url`, making or upgrading its tables as needed. Blocks until it is done. What belongs
    /// to this machine alone, such as drafts, stays in `folder`.
    pub fn open(url: &str, folder: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let address = Address::parse(url)?;
        make_private_folder(folder).map_err(|error| StoreError::ReadOnly(error.to_string()))?;
        let owner = owner_name(clock.chance());
        let (orders, taken) = mpsc::channel(QUEUE);
        let (opened, result) = std::sync::mpsc::channel();
        let (tell, news) = watch::channel(0);
        let thread = std::thread::Builder::new().name("store-postgres".to_owned());
        let thread = thread.spawn(move || serve(address, owner, tell, taken, &opened)).map_err(failed)?;
        let audit_key = result.recv().map_err(failed)??;
        let serving = AtomicBool::new(false);
        Ok(Self { orders: Some(orders), thread: Some(thread), news, serving, clock, audit_key })
    }

    /// Runs a transaction that writes.
    async fn write<T: Send + 'static>(&self, work: impl AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static) -> Result<T> {
        self.order(async move |database: &Database| database.write(work).await).await
    }

    /// Runs statements that only read, each for itself.
    async fn read<T: Send + 'static>(&self, work: impl AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static) -> Result<T> {
        self.order(async move |database: &Database| database.read(work).await).await
    }

    /// Runs statements that read one state of the database.
    async fn read_snapshot<T: Send + 'static>(
        &self,
        work: impl AsyncFn(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.order(async move |database: &Database| database.read_snapshot(work).await).await
    }

    async fn order<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let order: Order = Box::new(move |database| {
            Box::pin(async move {
                // The caller may be gone; the work is done anyway.
                let _ = answer.send(work(&database).await);
            })
        });
        let ended = || StoreError::Io("the store is shut down".into());
        self.orders.as_ref().ok_or_else(ended)?.send(order).await.map_err(|_| ended())?;
        answered.await.map_err(|_| StoreError::Io("a transaction of the store failed unexpectedly".into()))?
    }

    fn serves(&self) -> bool {
        self.serving.load(Ordering::Relaxed)
    }
}

impl Drop for PostgresStore {
    /// Work that was handed over is finished before the store is gone, and what it owns is free at once.
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The life of the thread.
fn serve(
    address: Address,
    owner: String,
    news: watch::Sender<u64>,
    mut orders: mpsc::Receiver<Order>,
    opened: &std::sync::mpsc::Sender<Result<Option<AuditKey>>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = opened.send(Err(failed(error)));
            return;
        }
    };
    let local = LocalSet::new();
    runtime.block_on(local.run_until(async move {
        let mut moments = news.subscribe();
        let ready = async {
            let (database, audit_key) = prepare(address, owner).await?;
            presence::enter(&database).await?;
            Ok::<_, StoreError>((Rc::new(database), audit_key))
        };
        let (database, audit_key) = match ready.await {
            Ok(ready) => ready,
            Err(error) => {
                let _ = opened.send(Err(error));
                return;
            }
        };
        let presence = tokio::task::spawn_local(presence::keep_up(Rc::clone(&database), news));
        // Nobody may read before this process hears of what others write.
        if !presence::listening(&mut moments).await {
            let silent = "PostgreSQL does not answer to LISTEN";
            let hint = "Connect to the server directly, or through a pooler in session mode.";
            let _ = opened.send(Err(trouble::trouble(silent, hint)));
            return;
        }
        let _ = opened.send(Ok(audit_key));
        let mut running = JoinSet::new();
        while let Some(order) = orders.recv().await {
            running.spawn_local(order(Rc::clone(&database)));
            while running.try_join_next().is_some() {}
        }
        let finish = async {
            while running.join_next().await.is_some() {}
            presence.abort();
            let _ = presence.await;
            presence::leave(&database).await
        };
        if !matches!(tokio::time::timeout(FAREWELL, finish).await, Ok(Ok(()))) {
            tracing::warn!("PostgreSQL was not told that this process ends; its sessions are free in a few seconds");
        }
    }));
}

/// Connects once, and brings the tables into the format of this version.
async fn prepare(address: Address, owner: String) -> Result<(Database, Option<AuditKey>)> {
    let (client, connection) = match address.config.connect(address.tls.clone()).await {
        Ok(connected) => connected,
        Err(error) => return Err(trouble::connect_error(&error, &address)),
    };
    let connection = tokio::spawn(connection);
    let prepared = schema::prepare(client, &address).await;
    connection.abort();
    let (channel, audit_key) = prepared?;
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(address.config.clone(), address.tls.clone(), manager);
    let tune = Hook::async_fn(|client, _| {
        Box::pin(async move { client.batch_execute(TUNE).await.map_err(HookError::Backend) })
    });
    let pool = Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).post_create(tune);
    let pool = pool.build().map_err(|error| StoreError::Io(error.to_string()))?;
    Ok((Database { pool, address, owner, channel, marks: AtomicU64::new(0) }, audit_key))
}

/// The name of this process among all that share the database. The random part makes a used process ID harmless.
fn owner_name(chance: u64) -> String {
    let host = rustix::system::uname();
    let host: String =
        host.nodename().to_string_lossy().chars().filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c)).collect();
    format!("{host}/{}/{chance:016x}", std::process::id())
}

/// An owner in words for the user.
fn describe(owner: &str) -> String {
    let mut parts = owner.split('/');
    let (host, process) = (parts.next().unwrap_or(owner), parts.next().unwrap_or("?"));
    format!("process {process} on {host}")
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Io(error.to_string())
}

/// PostgreSQL refuses texts with this character.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Numbers are signed there; none of ours is that large.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn read_id<T: std::str::FromStr>(row: &Row, column: usize) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    let text: &str = row.get(column);
    text.parse().map_err(|error| StoreError::Corrupt(format!("{text}: {error}")))
}

#[async_trait]
impl ChangeFeed for PostgresStore {
    async fn changed(&self, since: Option<u64>) -> Result<u64> {
        let mut news = self.news.clone();
        let Some(since) = since else { return Ok(*news.borrow()) };
        let moment = news.wait_for(|moment| *moment != since).await;
        moment.map(|moment| *moment).map_err(|_| StoreError::Io("the store is shut down".into()))
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn check(&self) -> Result<Vec<String>> {
        self.read_snapshot(async |tx| schema::check(tx, unpack).await).await
    }
}
