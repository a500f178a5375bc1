//! The files that sessions are about to write, in the database.

use async_trait::async_trait;
use rusqlite::{Transaction, params};
use trimtab_vocab::{FileSet, SessionId};

use super::super::encoding::{KEPT_WRITINGS as KEPT, written};
use super::super::{Result, StoreError, WritingStore};
use super::{SqliteStore, read_id};

/// Notes what a session is about to write, and whether it moves its history by that.
pub(super) fn note(tx: &Transaction<'_>, session: &SessionId, sets: &[FileSet], moving: bool) -> Result<()> {
    if !moving {
        tx.prepare_cached("UPDATE writings SET moves = 0 WHERE session = ?1 AND moves")?.execute([session.as_str()])?;
    }
    for set in sets {
        tx.prepare_cached("INSERT INTO writings (session, files, moves) VALUES (?1, ?2, ?3)")?.execute(params![
            session.as_str(),
            written(set)?,
            moving
        ])?;
        tx.prepare_cached("DELETE FROM writings WHERE n <= ?1 AND NOT moves")?
            .execute([tx.last_insert_rowid() - KEPT])?;
    }
    Ok(())
}

fn moving(tx: &Transaction<'_>, folder: &str) -> Result<Vec<SessionId>> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT s.id FROM writings w JOIN sessions s ON s.id = w.session
         WHERE w.moves AND s.folder = ?1
         AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.session = w.session AND j.status IS NULL)",
    )?;
    let rows = statement.query_map([folder], |row| read_id(row, 0))?;
    rows.map(|row| Ok(row?)).collect()
}

fn last(tx: &Transaction<'_>) -> Result<u64> {
    let sql = "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'writings'), 0)";
    Ok(tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn since(tx: &Transaction<'_>, but: &SessionId, after: u64) -> Result<Vec<FileSet>> {
    let mut statement = tx.prepare_cached("SELECT files FROM writings WHERE n > ?1 AND session <> ?2 ORDER BY n")?;
    let rows = statement.query_map(params![after, but.as_str()], |row| row.get::<_, String>(0))?;
    rows.map(|row| set_of(&row?)).collect()
}

fn writings_of(tx: &Transaction<'_>, session: &SessionId) -> Result<Vec<FileSet>> {
    let mut statement = tx.prepare_cached("SELECT files FROM writings WHERE session = ?1 ORDER BY n")?;
    let rows = statement.query_map([session.as_str()], |row| row.get::<_, String>(0))?;
    rows.map(|row| set_of(&row?)).collect()
}

fn set_of(text: &str) -> Result<FileSet> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("what was written: {error}")))
}

#[async_trait]
impl WritingStore for SqliteStore {
    async fn last_writing(&self) -> Result<u64> {
        self.read(last).await
    }

    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>> {
        let but = but.clone();
        self.read(move |tx| since(tx, &but, after)).await
    }

    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>> {
        let session = session.clone();
        self.read(move |tx| writings_of(tx, &session)).await
    }

    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>> {
        let folder = folder.to_owned();
        self.read(move |tx| moving(tx, &folder)).await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use trimtab_vocab::{FileSet, SessionId};

    use super::super::schema;
    use super::*;

    fn put(tx: &Transaction<'_>, session: &SessionId, set: &FileSet) -> Result<()> {
        note(tx, session, std::slice::from_ref(set), false)
    }

    #[test]
    fn what_others_write_is_told_in_order_and_only_the_latest_is_kept() {
        let mut database = Connection::open_in_memory().expect("opens");
        schema::prepare(&mut database).expect("is prepared");
        let tx = database.transaction().expect("begins");
        let [mine, theirs]: [SessionId; 2] = ["s1", "s2"].map(|id| id.parse().expect("an id"));
        let set = |n: i64| FileSet {
            change_set: format!("x{n}").parse().expect("a name"),
            folder: "/p".into(),
            writes: Vec::new(),
        };
        assert_eq!(last(&tx).expect("is read"), 0);
        put(&tx, &mine, &set(1)).expect("is written");
        put(&tx, &theirs, &set(2)).expect("is written");
        put(&tx, &theirs, &set(3)).expect("is written");
        assert_eq!(since(&tx, &mine, 0).expect("is read"), [set(2), set(3)]);
        assert_eq!(since(&tx, &mine, 2).expect("is read"), [set(3)]);
        assert_eq!(since(&tx, &theirs, 0).expect("is read"), [set(1)]);
        for n in 4..=KEPT + 10 {
            put(&tx, &theirs, &set(n)).expect("is written");
        }
        assert_eq!(last(&tx).expect("is read"), (KEPT + 10) as u64);
        let kept = since(&tx, &mine, 0).expect("is read");
        assert_eq!((kept.len(), kept.first()), (KEPT as usize, Some(&set(11))));
    }
}
