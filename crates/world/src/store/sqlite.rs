//! The embedded database.
//!
//! One thread owns the connection that writes and takes whole transactions as closures, so a
//! transaction is never half-awaited: a caller that goes away does not take it along. A second
//! connection, opened when first needed, reads without standing in the writer's way.

mod admission;
mod audit;
mod memory;
mod schema;
mod tasks;
mod thread;
mod tokens;
mod writings;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use trimtab_vocab::event::Status;
use trimtab_vocab::{CallId, Event, FileSet, MemoryEntry, MemoryId, RefKey, RequestId, SessionId, Task, TaskId, Time};

use self::thread::DatabaseThread;
use super::owner::Owner;
use super::{
    Admission, AuditEntry, AuditKey, AuditLine, Claim, Commit, FileSpace, InputRow, JobRow, JobState, Lease,
    MemoryChange, NewInput, Recipient, Result, RuleChange, SeededSession, SessionQuery, SessionRow, Store, StoreError,
    TaskBook, TaskChange, TaskChanged, TokenRow,
};
use crate::clock::Clock;

/// The store in a folder of its own.
pub struct SqliteStore {
    file: PathBuf,
    owner: Arc<Owner>,
    clock: Arc<dyn Clock>,
    writer: DatabaseThread,
    reader: OnceLock<DatabaseThread>,
    audit_key: Option<AuditKey>,
}

impl SqliteStore {
    /// Opens the store in `folder`, making or upgrading it as needed.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let denied = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::StorageFull => StoreError::Full,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(error.to_string())
            }
            _ => StoreError::Io(error.to_string()),
        };
        make_private_folder(folder).map_err(denied)?;
        let file = folder.join("trimtab.db");
        make_private_file(&file).map_err(denied)?;
        let mut connection = Connection::open(&file)?;
        schema::prepare(&mut connection)?;
        let audit_key = match AuditKey::find(folder).map_err(denied)? {
            Some(key) => Some(key),
            None => {
                let written = transact(&mut connection, "FULL", audit::written)?;
                AuditKey::make(folder, written).map_err(denied)?
            }
        };
        let owner = Arc::new(Owner::enter(folder, clock.chance()).map_err(denied)?);
        let writer = DatabaseThread::start("store-writer", connection)?;
        Ok(Self { file, owner, clock, writer, reader: OnceLock::new(), audit_key })
    }

    /// Runs a transaction that writes.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(move |connection| transact(connection, "FULL", work)).await
    }

    /// Runs a transaction that writes, and does not wait for the disk: the next one that does takes it along, since
    /// both are in one file.
    async fn write_soon<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(move |connection| transact(connection, "NORMAL", work)).await
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

/// Each transaction says itself whether it waits for the disk, so that none does as the one before it did.
fn transact<T>(
    connection: &mut Connection,
    synchronous: &str,
    work: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    connection.pragma_update(None, "synchronous", synchronous)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

/// Only the user may look into the folder: it holds conversations.
fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Nor into the database, whatever the folder lets people do. SQLite gives its other files the same mode.
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
                // One that belongs to somebody else stays as it is.
                let _ = std::fs::set_permissions(&one, std::fs::Permissions::from_mode(0o600));
            }
        }
        Ok(())
    }
    #[cfg(not(unix))]
    options.open(file).map(drop)
}

fn demand_lease(tx: &Transaction<'_>, owner: &Owner, lease: &Lease) -> Result<()> {
    let holder: Option<(Option<String>, u64)> = tx
        .prepare_cached("SELECT owner, token FROM leases WHERE session = ?1")?
        .query_row([lease.session().as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match holder {
        Some((Some(name), token)) if name == owner.name() && token == lease.token() => Ok(()),
        _ => Err(StoreError::LeaseLost),
    }
}

fn insert_session(tx: &Transaction<'_>, row: &SessionRow) -> Result<()> {
    tx.execute(
        "INSERT INTO sessions (id, folder, title, created, updated, parent, forked) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            row.id.as_str(),
            row.folder,
            row.title,
            row.created.millis(),
            row.updated.millis(),
            row.parent.as_ref().map(SessionId::as_str),
            row.forked
        ],
    )?;
    Ok(())
}

fn insert_events(tx: &Transaction<'_>, session: &SessionId, events: &[Event]) -> Result<()> {
    let mut add = tx.prepare_cached("INSERT INTO events (session, seq, event) VALUES (?1, ?2, ?3)")?;
    for event in events {
        let line = serde_json::to_string(event).map_err(|error| StoreError::Io(error.to_string()))?;
        add.execute(params![session.as_str(), event.seq, line])?;
    }
    Ok(())
}

/// Makes a session with its log; what it shares with its parent is stored once. It is as new as its parent
/// becomes by the same step, and younger: of the two it is listed first.
fn insert_child(tx: &Transaction<'_>, child: &SeededSession, now: Time) -> Result<()> {
    insert_session(tx, &SessionRow { created: now, updated: now, ..child.row.clone() })?;
    insert_events(tx, &child.row.id, &child.events)?;
    let Some(parent) = &child.row.parent else { return Ok(()) };
    let mut share = tx.prepare_cached(
        "INSERT INTO refs (key, session, hash) SELECT ?1, ?2, hash FROM refs WHERE key = ?3 AND session = ?4",
    )?;
    for (there, here) in &child.shares {
        share.execute([here.as_str(), child.row.id.as_str(), there.as_str(), parent.as_str()])?;
    }
    Ok(())
}

fn insert_input(tx: &Transaction<'_>, session: &SessionId, input: &NewInput, now: Time, served: bool) -> Result<()> {
    tx.prepare_cached("INSERT INTO inbox (session, payload) VALUES (?1, ?2)")?
        .execute([session.as_str(), &input.payload])?;
    if let Some(job) = &input.job {
        let added = tx
            .prepare_cached(
                "INSERT OR IGNORE INTO jobs (request, session, text, created, served) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![job.request.as_str(), session.as_str(), job.text, now.millis(), served])?;
        if added == 0 {
            return Err(StoreError::Taken);
        }
    }
    insert_texts(tx, session, &input.keeps)
}

/// Removes bytes that no name stands for.
const DELETE_UNNAMED: &str = "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM refs WHERE hash = ?1)";

/// Stores each text once, by its hash, and points its name there.
fn insert_texts(tx: &Transaction<'_>, session: &SessionId, keeps: &[(RefKey, String)]) -> Result<()> {
    keeps.iter().try_for_each(|(key, text)| insert_bytes(tx, session, key, text.as_bytes()))
}

fn insert_bytes(tx: &Transaction<'_>, session: &SessionId, key: &RefKey, bytes: &[u8]) -> Result<()> {
    let hash = blake3::hash(bytes);
    let known: Option<i64> = tx
        .prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?
        .query_row([hash.as_bytes()], |row| row.get(0))
        .optional()?;
    if known.is_none() {
        let packed = zstd::bulk::compress(bytes, 3).map_err(|error| StoreError::Io(error.to_string()))?;
        tx.prepare_cached("INSERT INTO blobs (hash, size, data) VALUES (?1, ?2, ?3)")?.execute(params![
            hash.as_bytes(),
            bytes.len(),
            packed
        ])?;
    }
    let before: Option<Vec<u8>> = tx
        .prepare_cached("SELECT hash FROM refs WHERE key = ?1 AND session = ?2")?
        .query_row([key.as_str(), session.as_str()], |row| row.get(0))
        .optional()?;
    tx.prepare_cached(
        "INSERT INTO refs (key, session, hash) VALUES (?1, ?2, ?3)
         ON CONFLICT (key, session) DO UPDATE SET hash = excluded.hash",
    )?
    .execute(params![key.as_str(), session.as_str(), hash.as_bytes()])?;
    // What a name stood for before goes, unless another name stands for it too.
    if let Some(before) = before.filter(|before| before != hash.as_bytes()) {
        tx.prepare_cached(DELETE_UNNAMED)?.execute([before])?;
    }
    Ok(())
}

/// Forgets the contents of a session's files, except these.
fn forget_files(tx: &Transaction<'_>, session: &SessionId, except: &HashSet<RefKey>) -> Result<()> {
    let mut find =
        tx.prepare_cached("SELECT key, hash FROM refs WHERE session = ?1 AND key >= 'file-' AND key < 'file.'")?;
    let rows = find.query_map([session.as_str()], |row| Ok((read_id::<RefKey>(row, 0)?, row.get::<_, Vec<u8>>(1)?)))?;
    for (key, hash) in rows.collect::<rusqlite::Result<Vec<_>>>()? {
        if !except.contains(&key) {
            tx.prepare_cached("DELETE FROM refs WHERE key = ?1 AND session = ?2")?
                .execute([key.as_str(), session.as_str()])?;
            tx.prepare_cached(DELETE_UNNAMED)?.execute([hash])?;
        }
    }
    Ok(())
}

/// Puts inputs into the inboxes of other sessions than `from`.
fn tell(
    tx: &Transaction<'_>,
    from: Option<&SessionId>,
    told: &[(Recipient, NewInput)],
    now: Time,
    served: bool,
) -> Result<()> {
    for (recipient, input) in told {
        let (sql, id) = match recipient {
            Recipient::Session(id) => ("SELECT id FROM sessions WHERE id = ?1", Some(id)),
            Recipient::OtherBusy => (
                "SELECT session FROM (SELECT session FROM jobs WHERE status IS NULL UNION SELECT session FROM checkpoints)
                 WHERE ?1 IS NULL OR session <> ?1",
                from,
            ),
        };
        let mut find = tx.prepare_cached(sql)?;
        let found = find.query_map([id.map(SessionId::as_str)], |row| read_id::<SessionId>(row, 0))?;
        for session in found.collect::<rusqlite::Result<Vec<_>>>()? {
            insert_input(tx, &session, input, now, served)?;
        }
    }
    Ok(())
}

fn change_rules(tx: &Transaction<'_>, change: &RuleChange, now: Time) -> Result<()> {
    for rule in &change.added {
        tx.execute("INSERT OR IGNORE INTO rules (rule, created) VALUES (?1, ?2)", params![rule, now.millis()])?;
    }
    for rule in &change.removed {
        tx.execute("DELETE FROM rules WHERE rule = ?1", [rule])?;
    }
    Ok(())
}

fn unpack(hash: &[u8], size: usize, packed: &[u8]) -> Result<Vec<u8>> {
    let damaged = || StoreError::Corrupt("a stored text does not match its hash".into());
    let bytes = zstd::bulk::decompress(packed, size).map_err(|_| damaged())?;
    if blake3::hash(&bytes).as_bytes() != hash {
        return Err(damaged());
    }
    Ok(bytes)
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

fn read_session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: read_id(row, 0)?,
        folder: row.get(1)?,
        title: row.get(2)?,
        created: Time::from_millis(row.get(3)?),
        updated: Time::from_millis(row.get(4)?),
        parent: row.get::<_, Option<String>>(5)?.map(|_| read_id(row, 5)).transpose()?,
        forked: row.get(6)?,
    })
}

const SESSION_COLUMNS: &str = "SELECT id, folder, title, created, updated, parent, forked FROM sessions";
/// Of one folder if it is given; those first that were used last, and of these the youngest.
const LISTED: &str = "WHERE ?1 IS NULL OR folder = ?1 ORDER BY updated DESC, created DESC, id DESC";

fn status_text(status: Status) -> String {
    match serde_json::to_value(status) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

fn read_event(text: &str) -> Result<Event> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("an event cannot be read: {error}")))
}

/// What is known of requests, one row each.
const JOBS: &str =
    "SELECT j.request, j.session, s.folder, j.text, j.created, j.status, j.asked, j.running, l.owner, j.served
     FROM jobs j JOIN sessions s ON s.id = j.session LEFT JOIN leases l ON l.session = j.session";

/// A row of [`JOBS`].
fn read_job(row: &Row<'_>, owner: &Owner) -> rusqlite::Result<JobRow> {
    let status: Option<String> = row.get(5)?;
    let began = row.get::<_, Option<i64>>(6)?.is_some();
    let running: bool = row.get(7)?;
    let holder: Option<String> = row.get(8)?;
    let owned = holder.is_some_and(|name| owner.is_alive(&name));
    let state = match status {
        Some(status) => JobState::Finished(serde_json::from_value(status.into()).unwrap_or(Status::Failed)),
        None if running && owned => JobState::Running,
        None if began && !owned => JobState::Interrupted,
        None => JobState::Queued,
    };
    Ok(JobRow {
        request: read_id(row, 0)?,
        session: read_id(row, 1)?,
        folder: row.get(2)?,
        text: row.get(3)?,
        created: Time::from_millis(row.get(4)?),
        state,
        served: row.get(9)?,
    })
}

#[async_trait]
impl Store for SqliteStore {
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()> {
        let served = self.owner.serves();
        self.write(move |tx| {
            insert_session(tx, &row)?;
            for input in &inputs {
                insert_input(tx, &row.id, input, row.created, served)?;
            }
            Ok(())
        })
        .await
    }

    async fn create_child(&self, child: SeededSession) -> Result<()> {
        let now = self.clock.now();
        self.write(move |tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
            if tx.query_row(sql, [child.row.id.as_str()], |row| row.get(0))? {
                return Err(StoreError::Taken);
            }
            insert_child(tx, &child, now)
        })
        .await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        let id = id.clone();
        self.read(move |tx| {
            let sql = format!("{SESSION_COLUMNS} WHERE id = ?1");
            Ok(tx.query_row(&sql, [id.as_str()], read_session).optional()?)
        })
        .await
    }

    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>> {
        let folder = folder.map(str::to_owned);
        self.read(move |tx| {
            let sql = format!("{SESSION_COLUMNS} {LISTED}");
            let mut statement = tx.prepare(&sql)?;
            let rows = statement.query_map([folder], read_session)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>> {
        let folder = folder.map(str::to_owned);
        self.read(move |tx| {
            let sql = format!("{SESSION_COLUMNS} {LISTED}");
            let rows: Vec<SessionRow> =
                tx.prepare(&sql)?.query_map([folder], read_session)?.collect::<rusqlite::Result<_>>()?;
            // Most facts are neither a request nor an answer: SQLite passes over them without reading them as JSON.
            let mut said = tx.prepare(
                "SELECT event FROM events WHERE session = ?1 AND (instr(event, '\"type\":\"request.received\"')
                 OR instr(event, '\"type\":\"request.joined\"') OR instr(event, '\"type\":\"answer\"'))",
            )?;
            let mut found = Vec::new();
            for row in rows {
                let mut missing = wanted.clone();
                missing.see_title(&row.title);
                let mut lines = said.query([row.id.as_str()])?;
                while let Some(line) = lines.next()?.filter(|_| !missing.is_found()) {
                    let line: String = line.get(0)?;
                    if let Ok(event) = serde_json::from_str::<Event>(&line) {
                        missing.observe(&event.fact);
                    }
                }
                if missing.is_found() {
                    found.push(row);
                }
            }
            Ok(found)
        })
        .await
    }

    async fn delete_session(&self, id: &SessionId, seen: u64, news: NewInput) -> Result<()> {
        let (id, owner, now) = (id.clone(), Arc::clone(&self.owner), self.clock.now());
        self.write(move |tx| {
            let holder: Option<Option<String>> = tx
                .query_row("SELECT owner FROM leases WHERE session = ?1", [id.as_str()], |row| row.get(0))
                .optional()?;
            if let Some(Some(name)) = holder
                && owner.is_alive(&name)
            {
                return Err(StoreError::InUse(Owner::describe(&name)));
            }
            let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE session = ?1 AND seq > ?2)";
            if tx.query_row(sql, params![id.as_str(), seen], |row| row.get(0))? {
                return Err(StoreError::InUse("another process".into()));
            }
            for table in ["events", "inbox", "partials", "checkpoints", "jobs", "leases", "refs", "writings"] {
                tx.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [id.as_str()])?;
            }
            tx.execute("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM refs)", [])?;
            let parent = tx
                .query_row(
                    "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent
                     WHERE s.id = ?1 AND s.forked IS NULL",
                    [id.as_str()],
                    |row| read_id::<SessionId>(row, 0),
                )
                .optional()?;
            if let Some(parent) = &parent {
                tell(tx, None, &[(Recipient::Session(parent.clone()), news.clone())], now, false)?;
            }
            let heirs = "UPDATE sessions SET parent = ?2 WHERE parent = ?1 AND forked IS NULL";
            tx.execute(heirs, params![id.as_str(), parent.as_ref().map(SessionId::as_str)])?;
            match tx.execute("DELETE FROM sessions WHERE id = ?1", [id.as_str()])? {
                0 => Err(StoreError::NoSession),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()> {
        let (session, now, served) = (session.clone(), self.clock.now(), self.owner.serves());
        self.write(move |tx| {
            let known = tx
                .prepare_cached("UPDATE sessions SET updated = COALESCE(?2, updated) WHERE id = ?1")?
                .execute(params![session.as_str(), (!input.housekeeping).then_some(now.millis())])?;
            if known == 0 {
                return Err(StoreError::NoSession);
            }
            insert_input(tx, &session, &input, now, served)
        })
        .await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>> {
        let session = session.clone();
        // Read where it is written: an owner must see what it has just put there itself.
        self.writer
            .run(move |connection| {
                let mut statement =
                    connection.prepare_cached("SELECT id, payload FROM inbox WHERE session = ?1 ORDER BY id")?;
                let rows = statement
                    .query_map([session.as_str()], |row| Ok(InputRow { id: row.get(0)?, payload: row.get(1)? }))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await
    }

    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        let (session, owner) = (session.clone(), Arc::clone(&self.owner));
        self.write_soon(move |tx| admission::claim(tx, &owner, session)).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let (lease, owner) = (lease.clone(), Arc::clone(&self.owner));
        self.write_soon(move |tx| {
            tx.execute(
                "UPDATE leases SET owner = NULL WHERE session = ?1 AND token = ?2 AND owner = ?3",
                params![lease.session().as_str(), lease.token(), owner.name()],
            )?;
            Ok(())
        })
        .await
    }

    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<()> {
        let (lease, owner, now) = (lease.clone(), Arc::clone(&self.owner), self.clock.now());
        let audit_key = self.audit_key;
        let on_the_way = commit.relaxed_durability;
        let work = move |tx: &Transaction<'_>| {
            demand_lease(tx, &owner, &lease)?;
            let session = lease.session();
            insert_texts(tx, session, &commit.keeps)?;
            if let Some(needed) = &commit.keep_only {
                forget_files(tx, session, needed)?;
            }
            insert_events(tx, session, &commit.events)?;
            let mut take = tx.prepare_cached("DELETE FROM inbox WHERE id = ?1")?;
            for id in &commit.consumed {
                take.execute([id])?;
            }
            let mut close = tx.prepare_cached("DELETE FROM partials WHERE session = ?1 AND call = ?2")?;
            for call in &commit.closed_calls {
                close.execute([session.as_str(), call.as_str()])?;
            }
            let mut end = tx.prepare_cached("UPDATE jobs SET status = ?2, running = 0 WHERE request = ?1")?;
            for (request, status) in &commit.finished {
                end.execute([request.as_str(), status_text(*status).as_str()])?;
            }
            let mut reopen = tx.prepare_cached("UPDATE jobs SET status = NULL, asked = NULL WHERE request = ?1")?;
            for request in &commit.reopened {
                reopen.execute([request.as_str()])?;
            }
            commit.resting.iter().try_for_each(|request| admission::rest(tx, request))?;
            let mut open = tx.prepare_cached(
                "INSERT OR REPLACE INTO checkpoints (id, session, request, event) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (id, event) in &commit.opened {
                let line = serde_json::to_string(event).map_err(|error| StoreError::Io(error.to_string()))?;
                let request = event.request.as_ref().map(RequestId::as_str);
                open.execute(params![id.as_str(), session.as_str(), request, line])?;
            }
            let mut resolve = tx.prepare_cached("DELETE FROM checkpoints WHERE id = ?1")?;
            for id in &commit.resolved {
                resolve.execute([id.as_str()])?;
            }
            let mut forget = tx.prepare_cached("DELETE FROM checkpoints WHERE request = ?1")?;
            for request in &commit.closed {
                forget.execute([request.as_str()])?;
            }
            change_rules(tx, &commit.rules, now)?;
            commit.remembered.iter().try_for_each(|entry| memory::put(tx, entry))?;
            audit::append(tx, audit_key, &commit.audit, now)?;
            writings::note(tx, session, &commit.writing, commit.moving)?;
            for child in &commit.children {
                insert_child(tx, child, now)?;
            }
            tell(tx, Some(session), &commit.tell, now, owner.serves())?;
            // What only tidies up is no use of the session.
            let used = commit.keep_only.is_none().then_some(now.millis());
            tx.prepare_cached(
                "UPDATE sessions SET updated = COALESCE(?2, updated), title = COALESCE(?3, title) WHERE id = ?1",
            )?
            .execute(params![session.as_str(), used, commit.title])?;
            Ok(())
        };
        match on_the_way {
            true => self.write_soon(work).await,
            false => self.write(work).await,
        }
    }

    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission> {
        let (lease, request, owner) = (lease.clone(), request.clone(), Arc::clone(&self.owner));
        self.write_soon(move |tx| {
            demand_lease(tx, &owner, &lease)?;
            admission::admit(tx, &owner, &request, limit)
        })
        .await
    }

    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()> {
        let (lease, call, text) = (lease.clone(), call.clone(), text.to_owned());
        let owner = Arc::clone(&self.owner);
        self.write(move |tx| {
            demand_lease(tx, &owner, &lease)?;
            tx.prepare_cached("INSERT INTO partials (session, call, text) VALUES (?1, ?2, ?3)")?.execute([
                lease.session().as_str(),
                call.as_str(),
                &text,
            ])?;
            Ok(())
        })
        .await
    }

    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement =
                tx.prepare_cached("SELECT call, text FROM partials WHERE session = ?1 ORDER BY call, id")?;
            let mut rows = statement.query([session.as_str()])?;
            let mut joined: Vec<(CallId, String)> = Vec::new();
            while let Some(row) = rows.next()? {
                let (call, text): (CallId, String) = (read_id(row, 0)?, row.get(1)?);
                match joined.last_mut() {
                    Some((last, whole)) if *last == call => whole.push_str(&text),
                    _ => joined.push((call, text)),
                }
            }
            Ok(joined)
        })
        .await
    }

    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement =
                tx.prepare_cached("SELECT event FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3")?;
            let mut rows = statement.query(params![session.as_str(), after, limit])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                events.push(read_event(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
            }
            Ok(events)
        })
        .await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<u64> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement = tx.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE session = ?1")?;
            Ok(statement.query_row([session.as_str()], |row| row.get(0))?)
        })
        .await
    }

    fn serve(&self) {
        self.owner.serve();
    }

    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>> {
        let owner = Arc::clone(&self.owner);
        self.read(move |tx| {
            let which = "WHERE ?1 OR j.status IS NULL ORDER BY j.created DESC, j.rowid DESC";
            let mut statement = tx.prepare(&format!("{JOBS} {which}"))?;
            let rows = statement.query_map([all], |row| read_job(row, &owner))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>> {
        let (owner, request) = (Arc::clone(&self.owner), request.clone());
        self.read(move |tx| {
            let mut statement = tx.prepare_cached(&format!("{JOBS} WHERE j.request = ?1"))?;
            Ok(statement.query_row([request.as_str()], |row| read_job(row, &owner)).optional()?)
        })
        .await
    }

    async fn checkpoints(&self) -> Result<Vec<Event>> {
        self.read(|tx| {
            let mut statement = tx.prepare("SELECT event FROM checkpoints ORDER BY rowid")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.map(|line| read_event(&line?)).collect()
        })
        .await
    }

    async fn keep_all(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        let session = session.clone();
        self.write(move |tx| keeps.iter().try_for_each(|(key, bytes)| insert_bytes(tx, &session, key, bytes))).await
    }

    async fn file_space(&self) -> Result<Vec<FileSpace>> {
        self.read(|tx| {
            let mut statement = tx.prepare(
                "SELECT r.session, COUNT(*), SUM(b.size), SUM(LENGTH(b.data)) FROM refs r JOIN blobs b USING (hash)
                 WHERE r.key >= 'file-' AND r.key < 'file.' GROUP BY r.session",
            )?;
            let rows = statement.query_map([], |row| {
                let (contents, bytes, packed) = (row.get(1)?, row.get(2)?, row.get(3)?);
                Ok(FileSpace { session: read_id(row, 0)?, contents, bytes, packed })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn ref_keys(&self, session: &SessionId) -> Result<Vec<RefKey>> {
        let session = session.clone();
        self.read(move |tx| {
            let mut statement = tx.prepare_cached("SELECT key FROM refs WHERE session = ?1")?;
            let keys = statement.query_map([session.as_str()], |row| read_id::<RefKey>(row, 0))?;
            Ok(keys.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn rules(&self) -> Result<Vec<String>> {
        self.read(|tx| {
            let mut statement = tx.prepare("SELECT rule FROM rules ORDER BY created, rowid")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    async fn change_rules(&self, change: RuleChange, told: Vec<(Recipient, NewInput)>) -> Result<()> {
        let (now, served) = (self.clock.now(), self.owner.serves());
        self.write(move |tx| {
            change_rules(tx, &change, now)?;
            tell(tx, None, &told, now, served)
        })
        .await
    }

    async fn last_writing(&self) -> Result<u64> {
        self.read(writings::last).await
    }

    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>> {
        let but = but.clone();
        self.read(move |tx| writings::since(tx, &but, after)).await
    }

    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>> {
        let session = session.clone();
        self.read(move |tx| writings::writings_of(tx, &session)).await
    }

    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>> {
        let folder = folder.to_owned();
        self.read(move |tx| writings::moving(tx, &folder)).await
    }

    async fn bytes(&self, session: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>> {
        let (session, key) = (session.cloned(), key.clone());
        self.read(move |tx| {
            let found: Option<(Vec<u8>, usize, Vec<u8>)> = tx
                .prepare_cached(
                    "SELECT b.hash, b.size, b.data FROM refs r JOIN blobs b USING (hash)
                     WHERE r.key = ?1 AND (?2 IS NULL OR r.session = ?2) LIMIT 1",
                )?
                .query_row(params![key.as_str(), session.as_ref().map(SessionId::as_str)], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()?;
            found.map(|(hash, size, packed)| unpack(&hash, size, &packed)).transpose()
        })
        .await
    }

    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>> {
        let folder = folder.map(str::to_owned);
        self.read(move |tx| memory::list(tx, folder.as_deref(), limit)).await
    }

    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>> {
        let id = id.clone();
        self.read(move |tx| memory::one(tx, &id)).await
    }

    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>> {
        let now = self.clock.now();
        let key = self.audit_key;
        self.write(move |tx| memory::change(tx, key, change, now)).await
    }

    async fn tasks(&self, with_log: bool) -> Result<TaskBook> {
        self.read(move |tx| tasks::book(tx, with_log)).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>> {
        self.read(move |tx| tasks::one(tx, id)).await
    }

    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>> {
        let words = words.to_owned();
        self.read(move |tx| tasks::search(tx, &words, limit)).await
    }

    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged> {
        let key = self.audit_key;
        self.write(move |tx| tasks::change(tx, key, change)).await
    }

    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>> {
        self.read(move |tx| audit::lines(tx, after, limit)).await
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<()> {
        let (key, now) = (self.audit_key, self.clock.now());
        self.write(move |tx| audit::append(tx, key, &[entry], now)).await
    }

    fn audit_key(&self) -> Option<AuditKey> {
        self.audit_key
    }

    async fn audit_written(&self) -> Result<u64> {
        self.read(audit::written).await
    }

    async fn add_token(&self, hash: &str, row: TokenRow) -> Result<()> {
        let hash = hash.to_owned();
        self.write(move |tx| tokens::add(tx, &hash, &row)).await
    }

    async fn token(&self, hash: &str) -> Result<Option<TokenRow>> {
        let hash = hash.to_owned();
        self.read(move |tx| tokens::find(tx, &hash)).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.read(tokens::list).await
    }

    async fn exchange_token(&self, login: &str, hash: &str, row: TokenRow) -> Result<bool> {
        let (login, hash) = (login.to_owned(), hash.to_owned());
        self.write(move |tx| tokens::exchange(tx, &login, &hash, &row)).await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write(move |tx| tokens::revoke(tx, &name)).await
    }

    async fn version(&self) -> Result<u64> {
        self.writer.run(|connection| Ok(connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.read(|tx| schema::check(tx, unpack)).await
    }
}

#[cfg(test)]
mod tests {
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
        let now = Time::from_millis(0);
        let row = SessionRow {
            id: session.clone(),
            folder: "/a".into(),
            title: String::new(),
            created: now,
            updated: now,
            parent: None,
            forked: None,
        };
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
