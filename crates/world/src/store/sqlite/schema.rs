//! The tables, their migrations, and their checks.

use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::super::{Result, StoreError};

/// Marks the file as ours ("trim").
const APPLICATION: u32 = 0x7472_696d;

/// Each entry brings the format from its index to the next. Entries are never changed once
/// released; a new format is a new entry.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, folder TEXT NOT NULL, title TEXT NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX sessions_by_folder ON sessions (folder, updated);
    CREATE TABLE events (
        session TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (session, seq)
    ) WITHOUT ROWID;
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, payload TEXT NOT NULL
    );
    CREATE INDEX inbox_by_session ON inbox (session, id);
    CREATE TABLE leases (session TEXT PRIMARY KEY, owner TEXT, token INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE jobs (
        request TEXT PRIMARY KEY, session TEXT NOT NULL, text TEXT NOT NULL, created INTEGER NOT NULL,
        asked INTEGER, running INTEGER NOT NULL DEFAULT 0, status TEXT
    );
    CREATE INDEX jobs_open ON jobs (session) WHERE status IS NULL;
    CREATE INDEX jobs_by_session ON jobs (session);
    CREATE TABLE partials (id INTEGER PRIMARY KEY, session TEXT NOT NULL, call TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX partials_by_call ON partials (session, call, id);
    CREATE TABLE checkpoints (
        id TEXT PRIMARY KEY, session TEXT NOT NULL, request TEXT, event TEXT NOT NULL
    );
    CREATE INDEX checkpoints_by_session ON checkpoints (session);
    CREATE TABLE blobs (hash BLOB PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL);
    CREATE TABLE refs (key TEXT PRIMARY KEY, session TEXT NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;
    CREATE INDEX refs_by_session ON refs (session);
    CREATE INDEX refs_by_hash ON refs (hash);
",
    "
    CREATE TABLE rules (rule TEXT PRIMARY KEY, created INTEGER NOT NULL);
",
    "
    ALTER TABLE sessions ADD COLUMN parent TEXT;
",
    "
    CREATE TABLE audit (n INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL, hash TEXT NOT NULL);
    CREATE TABLE tokens (
        hash TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
        created INTEGER NOT NULL, expires INTEGER
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL);
    CREATE VIRTUAL TABLE task_words USING fts5 (
        title, notes, tags, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE TABLE task_keys (
        name TEXT PRIMARY KEY, print TEXT NOT NULL, answer TEXT NOT NULL, created INTEGER NOT NULL
    );
",
    "
    CREATE TABLE memory (
        n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, folder TEXT, same TEXT NOT NULL, entry TEXT NOT NULL
    );
    CREATE INDEX memory_by_folder ON memory (folder, n);
    ALTER TABLE jobs ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
",
    // A fork tells of the same stored texts as its parent, under the same names, and keeps them when the parent goes.
    "
    ALTER TABLE sessions ADD COLUMN forked INTEGER;
    CREATE TABLE names (
        key TEXT NOT NULL, session TEXT NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (key, session)
    ) WITHOUT ROWID;
    INSERT INTO names SELECT key, session, hash FROM refs;
    DROP TABLE refs;
    ALTER TABLE names RENAME TO refs;
    CREATE INDEX refs_by_session ON refs (session);
    CREATE INDEX refs_by_hash ON refs (hash);
",
    "
    CREATE TABLE writings (n INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, files TEXT NOT NULL, moves INTEGER NOT NULL);
    CREATE INDEX writings_moving ON writings (session) WHERE moves;
",
];

pub(super) fn prepare(connection: &mut Connection) -> Result<()> {
    tune(connection)?;
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    if found == known {
        return Ok(());
    }
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    switch_to_wal(connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been quicker.
    let found: u32 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(found as usize) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", known)?;
    tx.commit()?;
    Ok(())
}

/// While several processes do this to a new file at once, SQLite answers "busy" without waiting.
fn switch_to_wal(connection: &Connection) -> Result<()> {
    let mut tries = 0;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL").map_err(StoreError::from) {
            Err(StoreError::Locked) if tries < 500 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// What every connection needs.
pub(super) fn tune(connection: &Connection) -> Result<()> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

pub(super) fn check(
    tx: &Transaction<'_>,
    unpack: impl Fn(&[u8], usize, &[u8]) -> Result<Vec<u8>>,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut statement = tx.prepare("PRAGMA integrity_check(20)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            found.push(line);
        }
    }
    let mut gaps =
        tx.prepare("SELECT session FROM events GROUP BY session HAVING MAX(seq) <> COUNT(*) OR MIN(seq) <> 1")?;
    for session in gaps.query_map([], |row| row.get::<_, String>(0))? {
        found.push(format!("the log of session {} has gaps", session?));
    }
    let mut lost = tx.prepare("SELECT key FROM refs WHERE hash NOT IN (SELECT hash FROM blobs)")?;
    for key in lost.query_map([], |row| row.get::<_, String>(0))? {
        found.push(format!("the text of ref:{} is missing", key?));
    }
    let mut blobs = tx.prepare("SELECT hash, size, data FROM blobs")?;
    let mut rows = blobs.query([])?;
    while let Some(row) = rows.next()? {
        let (hash, size, data): (Vec<u8>, usize, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if unpack(&hash, size, &data).is_err() {
            found.push("a stored text does not match its hash".into());
        }
    }
    Ok(found)
}
