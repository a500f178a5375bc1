//! The embedded database.
//!
//! One thread owns the writing connection and runs whole transactions as closures, so a transaction is never
//! half-awaited, and a canceled caller does not abort it. A second connection, opened when first needed, reads
//! without blocking the writer.

mod audit;
mod blobs;
mod feed;
mod inbox;
mod jobs;
mod leases;
mod log;
mod memory;
mod rules;
mod schema;
mod sessions;
mod tasks;
mod thread;
mod tokens;
mod writings;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

use self::feed::Feed;
use self::thread::{DatabaseThread, Synchronous, transact};
use super::encoding::unpack;
use super::owner::Owner;
use super::{AuditKey, Liveness, Result, Store, StoreError, make_private_folder};
use crate::clock::Clock;

/// The store in a folder.
pub struct SqliteStore {
    file: PathBuf,
    owner: Arc<dyn Liveness>,
    /// It is a server: what it leaves unfinished, the next one continues.
    serving: AtomicBool,
    feed: Feed,
    clock: Arc<dyn Clock>,
    writer: DatabaseThread,
    reader: OnceLock<DatabaseThread>,
    audit_key: Option<AuditKey>,
}

impl SqliteStore {
    /// Opens the store in `folder`, making or upgrading it as needed.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let chance = clock.chance();
        Self::build(folder, clock, |folder| Ok(Arc::new(Owner::enter(folder, chance).map_err(denied)?)))
    }

    /// The same, with another way to tell which owners are alive.
    pub fn open_as(folder: &Path, clock: Arc<dyn Clock>, owner: Arc<dyn Liveness>) -> Result<Self> {
        Self::build(folder, clock, |_| Ok(owner))
    }

    fn build(
        folder: &Path,
        clock: Arc<dyn Clock>,
        enter: impl FnOnce(&Path) -> Result<Arc<dyn Liveness>>,
    ) -> Result<Self> {
        make_private_folder(folder).map_err(denied)?;
        let file = folder.join("trimtab.db");
        make_private_file(&file).map_err(denied)?;
        let mut connection = Connection::open(&file)?;
        schema::prepare(&mut connection)?;
        let audit_key = match AuditKey::find(folder).map_err(denied)? {
            Some(key) => Some(key),
            None => {
                let written = transact(&mut connection, Synchronous::Full, audit::written)?;
                AuditKey::make(folder, written).map_err(denied)?
            }
        };
        let owner = enter(folder)?;
        let writer = DatabaseThread::start("store-writer", connection)?;
        let (serving, feed) = (AtomicBool::new(false), Feed::default());
        Ok(Self { file, owner, serving, feed, clock, writer, reader: OnceLock::new(), audit_key })
    }

    /// Runs a transaction that writes. When this returns, the disk has it.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run_durably(work).await
    }

    /// Runs a transaction that writes, and does not wait for the disk: the next one that does takes it along, since
    /// both are in one file.
    async fn write_soon<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(move |connection| transact(connection, Synchronous::Normal, work)).await
    }

    /// Runs a transaction that only reads.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let reader = match self.reader.get() {
            Some(reader) => reader,
            None => {
                let connection = Connection::open(&self.file)?;
                schema::tune(&connection)?;
                let started = DatabaseThread::start("store-reader", connection)?;
                self.reader.get_or_init(|| started)
            }
        };
        reader
            .run(move |connection| {
                let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
                work(&transaction)
            })
            .await
    }
}

fn denied(error: std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full,
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly(error.to_string())
        }
        _ => StoreError::Io(error.to_string()),
    }
}

/// Makes the database private, with any permissions of the folder. SQLite gives its other files the same mode.
fn make_private_file(file: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(0o600);
        options.open(file)?;
        let name = file.as_os_str().to_owned();
        for end in ["", "-wal", "-shm"] {
            let mut one = name.clone();
            one.push(end);
            let Ok(found) = std::fs::metadata(&one) else { continue };
            if found.permissions().mode() & 0o077 != 0 {
                // The file of another user stays unchanged.
                let _ = std::fs::set_permissions(&one, std::fs::Permissions::from_mode(0o600));
            }
        }
        Ok(())
    }
    #[cfg(not(unix))]
    options.open(file).map(drop)
}

fn read_id<T: std::str::FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

#[async_trait]
impl Store for SqliteStore {
    async fn check(&self) -> Result<Vec<String>> {
        self.read(|tx| schema::check(tx, unpack)).await
    }
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::{SessionId, Time};

    use super::super::{InboxStore, NewInput, SessionRow, SessionStore};
    use super::*;
    use crate::clock::SystemClock;

    async fn limit_pages(store: &SqliteStore, pages: u32) {
        store
            .writer
            .run(move |connection| Ok(connection.pragma_update(None, "max_page_count", pages)?))
            .await
            .expect("is set");
    }

    #[tokio::test]
    async fn a_full_disk_is_told_and_what_was_there_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path(), Arc::new(SystemClock)).expect("opens");
        let session: SessionId = "s1".parse().expect("an id");
        let row = SessionRow::new(session.clone(), "/a".into(), String::new(), Time::from_millis(0));
        let input = |payload: String| NewInput { payload, ..NewInput::default() };
        store.create_session(row, vec![input("kept".into())]).await.expect("is made");
        limit_pages(&store, 1).await;
        let large = "x".repeat(2_000_000);
        assert_eq!(store.enqueue(&session, input(large.clone())).await, Err(StoreError::Full));
        assert_eq!(store.inbox(&session).await.expect("is read").len(), 1);
        limit_pages(&store, 1 << 30).await;
        store.enqueue(&session, input(large)).await.expect("there is room again");
        assert_eq!(store.inbox(&session).await.expect("is read").len(), 2);
    }
}
