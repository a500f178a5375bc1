//! The user's tasks in the database: one row each with its words, and stored answers for repeated requests.

use async_trait::async_trait;
use trimtab_vocab::{Event, Task, TaskId, TaskWrite, Time};

use super::super::encoding::written;
use super::super::tasks::{TaskBook, TaskChange, TaskChanged, TaskKey, TaskWork, split, tasks_session, words};
use super::super::{AuditKey, Result, SessionRow, StoreError, TaskStore};
use super::log::{all_events, insert_events, last_seq};
use super::sessions::insert_session;
use super::transaction::Tx;
use super::{PostgresStore, audit, signed, unsigned};

async fn book(tx: &Tx<'_>, with_log: bool) -> Result<TaskBook> {
    let mut book = TaskBook { next: 1, ..TaskBook::default() };
    for row in tx.rows("SELECT task FROM tasks ORDER BY id", &[]).await? {
        let task = read(row.get(0))?;
        book.tasks.insert(task.id, task);
    }
    let last: i64 = tx.one("SELECT value FROM counters WHERE name = 'tasks'", &[]).await?.get(0);
    book.next = unsigned(last) + 1;
    book.seq = last_seq(tx, &tasks_session()).await?;
    if with_log {
        book.log = all_events(tx, &tasks_session()).await?;
    }
    Ok(book)
}

/// A text as the index has it: without the marks of letters, whatever the locale of the server.
const FOLDED: &str = "regexp_replace(normalize($1, NFD), '[\u{300}-\u{36f}]', '', 'g')";

async fn fold(tx: &Tx<'_>, text: &str) -> Result<String> {
    Ok(tx.one(&format!("SELECT {FOLDED}"), &[&split(text).collect::<Vec<_>>().join(" ")]).await?.get(0))
}

async fn search(tx: &Tx<'_>, text: &str, limit: u32) -> Result<Vec<Task>> {
    let words = words(text);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let folded = fold(tx, &words.join(" ")).await?;
    let query = folded.split_whitespace().map(|word| format!("'{word}':*")).collect::<Vec<_>>().join(" & ");
    // A hit in the title says more than one in the tags, and that more than one in the notes.
    let sql = "SELECT task FROM tasks WHERE words @@ $1::text::tsquery
               ORDER BY ts_rank('{0, 0.1, 0.5, 1.0}', words, $1::text::tsquery) DESC, id DESC LIMIT $2";
    let rows = tx.rows(sql, &[&query, &i64::from(limit)]).await?;
    rows.iter().map(|row| read(row.get(0))).collect()
}

async fn carry_out(tx: &Tx<'_>, audit_key: Option<AuditKey>, change: &TaskChange) -> Result<TaskChanged> {
    let TaskChange { now, key, with_log, work } = change;
    tx.lock("tasks").await?;
    if let Some(key) = key
        && let Some(known) = known(tx, key, *now).await?
    {
        return Ok(known);
    }
    let TaskWork { writes, events, audit: entries, keep, answer } = work(book(tx, *with_log).await?);
    for write in &writes {
        put(tx, write).await?;
    }
    record(tx, &events, *now).await?;
    if let Some(key) = key.as_ref().filter(|_| keep) {
        remember(tx, key, &answer, *now).await?;
    }
    audit::append(tx, audit_key, &entries, *now).await?;
    Ok(TaskChanged::Done { answer, events })
}

fn read(text: &str) -> Result<Task> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("a task cannot be read: {error}")))
}

async fn put(tx: &Tx<'_>, TaskWrite { id, after, .. }: &TaskWrite) -> Result<()> {
    let id = signed(*id);
    let Some(task) = after else {
        return tx.execute("DELETE FROM tasks WHERE id = $1", &[&id]).await.map(drop);
    };
    let (title, tags) = (fold(tx, &task.title).await?, fold(tx, &task.tags.join(" ")).await?);
    let notes = fold(tx, &task.notes).await?;
    // No word is in all places of a text at once, and a text longer than the index takes is found by its beginning.
    let sql =
        "INSERT INTO tasks (id, task, words) VALUES ($1, $2, setweight(to_tsvector('simple', left($3, 100000)), 'A')
                   || setweight(to_tsvector('simple', left($4, 100000)), 'B')
                   || setweight(to_tsvector('simple', left($5, 100000)), 'C'))
               ON CONFLICT (id) DO UPDATE SET task = excluded.task, words = excluded.words";
    tx.execute(sql, &[&id, &written(task)?, &title, &tags, &notes]).await?;
    let sql = "UPDATE counters SET value = greatest(value, $1) WHERE name = 'tasks'";
    tx.execute(sql, &[&id]).await.map(drop)
}

async fn record(tx: &Tx<'_>, events: &[Event], now: Time) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let session = tasks_session();
    let sql = "UPDATE sessions SET updated = $2 WHERE id = $1";
    if tx.execute(sql, &[&session.as_str(), &now.millis()]).await? == 0 {
        insert_session(tx, &SessionRow::new(session.clone(), String::new(), "Tasks".to_owned(), now)).await?;
    }
    insert_events(tx, &session, events).await
}

async fn known(tx: &Tx<'_>, key: &TaskKey, now: Time) -> Result<Option<TaskChanged>> {
    tx.execute("DELETE FROM task_keys WHERE created <= $1", &[&(now.millis() - key.life_ms)]).await?;
    let found = tx.row("SELECT print, answer FROM task_keys WHERE name = $1", &[&key.name]).await?;
    Ok(found.map(|row| match row.get::<_, &str>(0) == key.print {
        true => TaskChanged::Known { answer: row.get(1) },
        false => TaskChanged::Reused,
    }))
}

async fn remember(tx: &Tx<'_>, key: &TaskKey, answer: &str, now: Time) -> Result<()> {
    let sql = "INSERT INTO task_keys (name, print, answer, created) VALUES ($1, $2, $3, $4)";
    tx.execute(sql, &[&key.name, &key.print, &answer, &now.millis()]).await?;
    let sql = "DELETE FROM task_keys WHERE n NOT IN (SELECT n FROM task_keys ORDER BY n DESC LIMIT $1)";
    tx.execute(sql, &[&i64::from(key.most.max(1))]).await.map(drop)
}

#[async_trait]
impl TaskStore for PostgresStore {
    async fn tasks(&self, with_log: bool) -> Result<TaskBook> {
        self.read_snapshot(async move |tx| book(tx, with_log).await).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        self.read(async move |tx| {
            let row = tx.row("SELECT task FROM tasks WHERE id = $1", &[&id]).await?;
            row.map(|row| read(row.get(0))).transpose()
        })
        .await
    }

    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>> {
        let words = words.to_owned();
        self.read(async move |tx| search(tx, &words, limit).await).await
    }

    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged> {
        let key = self.audit_key;
        self.write(async move |tx| carry_out(tx, key, &change).await).await
    }
}
