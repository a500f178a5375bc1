//! The user's tasks in the database: one row each, a full-text index, and stored answers for repeated requests.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Transaction, params};
use trimtab_vocab::{Event, SessionId, Task, TaskId, TaskWrite, Time};

use super::super::encoding::{read_event, written};
use super::super::tasks::{TaskBook, TaskChange, TaskChanged, TaskKey, TaskWork, tasks_session, words};
use super::super::{AuditKey, Result, SessionRow, StoreError, TaskStore};
use super::log::insert_events;
use super::sessions::insert_session;
use super::{SqliteStore, audit};

fn book(tx: &Transaction<'_>, with_log: bool) -> Result<TaskBook> {
    let mut book = TaskBook { next: 1, ..TaskBook::default() };
    let mut statement = tx.prepare_cached("SELECT task FROM tasks ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let task = read(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
        book.tasks.insert(task.id, task);
    }
    let last: Option<TaskId> =
        tx.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'tasks'", [], |row| row.get(0)).optional()?;
    book.next = last.unwrap_or(0) + 1;
    let session = tasks_session();
    book.seq = tx
        .prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM events WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get(0))?;
    if with_log {
        let mut statement = tx.prepare_cached("SELECT event FROM events WHERE session = ?1 ORDER BY seq")?;
        let mut rows = statement.query([session.as_str()])?;
        while let Some(row) = rows.next()? {
            book.log.push(read_event(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
        }
    }
    Ok(book)
}

fn one(tx: &Transaction<'_>, id: TaskId) -> Result<Option<Task>> {
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    let text: Option<String> =
        tx.prepare_cached("SELECT task FROM tasks WHERE id = ?1")?.query_row([id], |row| row.get(0)).optional()?;
    text.as_deref().map(read).transpose()
}

fn search(tx: &Transaction<'_>, text: &str, limit: u32) -> Result<Vec<Task>> {
    let words: Vec<String> = words(text).iter().map(|word| format!("\"{word}\"*")).collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    // A hit in the title says more than one in the tags, and that more than one in the notes.
    let mut statement = tx.prepare_cached(
        "SELECT task FROM task_words JOIN tasks ON tasks.id = task_words.rowid WHERE task_words MATCH ?1
         ORDER BY bm25(task_words, 10.0, 1.0, 5.0), tasks.id DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![words.join(" "), limit], |row| row.get::<_, String>(0))?;
    rows.map(|row| read(&row?)).collect()
}

fn carry_out(tx: &Transaction<'_>, audit_key: Option<AuditKey>, change: TaskChange) -> Result<TaskChanged> {
    let TaskChange { now, key, with_log, work } = change;
    if let Some(key) = &key
        && let Some(known) = known(tx, key, now)?
    {
        return Ok(known);
    }
    let TaskWork { writes, events, audit: entries, keep, answer } = work(book(tx, with_log)?);
    writes.iter().try_for_each(|write| put(tx, write))?;
    record(tx, &events, now)?;
    audit::append(tx, audit_key, &entries, now)?;
    if let Some(key) = key.filter(|_| keep) {
        remember(tx, &key, &answer, now)?;
    }
    Ok(TaskChanged::Done { answer, events })
}

fn read(text: &str) -> Result<Task> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("a task cannot be read: {error}")))
}

fn put(tx: &Transaction<'_>, TaskWrite { id, after, .. }: &TaskWrite) -> Result<()> {
    tx.prepare_cached("DELETE FROM task_words WHERE rowid = ?1")?.execute([id])?;
    let Some(task) = after else {
        tx.prepare_cached("DELETE FROM tasks WHERE id = ?1")?.execute([id])?;
        return Ok(());
    };
    tx.prepare_cached(
        "INSERT INTO tasks (id, task) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET task = excluded.task",
    )?
    .execute(params![id, written(task)?])?;
    tx.prepare_cached("INSERT INTO task_words (rowid, title, notes, tags) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![id, task.title, task.notes, task.tags.join(" ")])?;
    Ok(())
}

fn record(tx: &Transaction<'_>, events: &[Event], now: Time) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let session: SessionId = tasks_session();
    let known = tx
        .prepare_cached("UPDATE sessions SET updated = ?2 WHERE id = ?1")?
        .execute(params![session.as_str(), now.millis()])?;
    if known == 0 {
        let title = "Tasks".to_owned();
        let folder = String::new();
        let row = SessionRow::new(session.clone(), folder, title, now);
        insert_session(tx, &row)?;
    }
    insert_events(tx, &session, events)
}

fn known(tx: &Transaction<'_>, key: &TaskKey, now: Time) -> Result<Option<TaskChanged>> {
    tx.prepare_cached("DELETE FROM task_keys WHERE created <= ?1")?.execute([now.millis() - key.life_ms])?;
    let found: Option<(String, String)> = tx
        .prepare_cached("SELECT print, answer FROM task_keys WHERE name = ?1")?
        .query_row([&key.name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.map(|(print, answer)| match print == key.print {
        true => TaskChanged::Known { answer },
        false => TaskChanged::Reused,
    }))
}

fn remember(tx: &Transaction<'_>, key: &TaskKey, answer: &str, now: Time) -> Result<()> {
    tx.prepare_cached("INSERT INTO task_keys (name, print, answer, created) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key.name, key.print, answer, now.millis()])?;
    tx.prepare_cached(
        "DELETE FROM task_keys WHERE rowid NOT IN (SELECT rowid FROM task_keys ORDER BY rowid DESC LIMIT ?1)",
    )?
    .execute([key.most.max(1)])?;
    Ok(())
}

#[async_trait]
impl TaskStore for SqliteStore {
    async fn tasks(&self, with_log: bool) -> Result<TaskBook> {
        self.read(move |tx| book(tx, with_log)).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>> {
        self.read(move |tx| one(tx, id)).await
    }

    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>> {
        let words = words.to_owned();
        self.read(move |tx| search(tx, &words, limit)).await
    }

    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged> {
        let key = self.audit_key;
        self.write(move |tx| carry_out(tx, key, change)).await
    }
}
