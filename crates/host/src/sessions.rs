//! Creates, finds, reads, and deletes sessions.

use std::collections::{BTreeMap, HashSet};

use trimtab_engine::{Input, Session};
use trimtab_vocab::{Event, Problem, SessionId, Time};
use trimtab_world::clock;
use trimtab_world::store::{NewInput, SessionQuery, SessionRow, StoreError, tasks_session};

use crate::client::store_problem;
use crate::effects::written;
use crate::handles::Sessions;
use crate::history::{self, History};

/// Whether lists show a session. Sessions of workers belong to the session that they work for, and the session with
/// the history of tasks has no conversation.
fn is_listed(row: &SessionRow) -> bool {
    row.id != tasks_session() && !row.id.is_worker()
}

impl Sessions<'_> {
    /// Creates a session without a request.
    pub async fn open(self, folder: String) -> Result<SessionId, Problem> {
        let session = self.create(folder, None).await?;
        self.0.resume(&session);
        Ok(session)
    }

    pub(crate) async fn create(self, folder: String, said: Option<NewInput>) -> Result<SessionId, Problem> {
        let world = &self.0.deps().world;
        let id = clock::session_id(world.clock.as_ref());
        let now = world.clock.now();
        let opened = NewInput { payload: written(&Input::Opened { folder: folder.clone() }), ..NewInput::default() };
        let title = String::new();
        let row = SessionRow::new(id.clone(), folder, title, now);
        world
            .store
            .create_session(row, [Some(opened), said].into_iter().flatten().collect())
            .await
            .map_err(store_problem)?;
        Ok(id)
    }

    /// The initial text of a session's input, until its first request.
    pub async fn prefill(self, session: &SessionId) -> Result<Option<String>, Problem> {
        Ok(self.folded(session).await?.lineage().prefill.clone())
    }

    /// A session, folded from its log.
    pub(crate) async fn folded(self, session: &SessionId) -> Result<Session, Problem> {
        let mut folded = Session::new(session.clone());
        self.fold_on(session, &mut folded, 0).await?;
        Ok(folded)
    }

    /// Folds what was recorded after `last`, and says which is the last fact now.
    pub(crate) async fn fold_on(self, session: &SessionId, folded: &mut Session, last: u64) -> Result<u64, Problem> {
        let mut last = last;
        loop {
            let page = self.events(session, last).await?;
            for event in &page {
                folded.fold(event.request.as_ref(), &event.fact);
                last = event.seq.unwrap_or(last);
            }
            if page.is_empty() {
                return Ok(last);
            }
        }
    }

    /// One page of a session's log after `after`; empty at its end.
    pub async fn events(self, session: &SessionId, after: u64) -> Result<Vec<Event>, Problem> {
        self.page(session, after, 1000).await
    }

    /// A page of at most `limit` facts.
    pub async fn page(self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>, Problem> {
        self.0.store().events(session, after, limit).await.map_err(store_problem)
    }

    /// One session, as lists show it.
    pub async fn get(self, id: &SessionId) -> Result<SessionRow, Problem> {
        let row = self.0.store().session(id).await.map_err(store_problem)?;
        row.ok_or_else(|| store_problem(StoreError::NoSession(id.clone())))
    }

    /// Sessions, newest first; of one folder if it is given.
    pub async fn list(self, folder: Option<&str>) -> Result<Vec<SessionRow>, Problem> {
        let mut rows = self.0.store().sessions(folder).await.map_err(store_problem)?;
        rows.retain(is_listed);
        Ok(rows)
    }

    /// What time it is where sessions run.
    pub fn now(self) -> Time {
        self.0.clock().now()
    }

    /// The listed sessions whose requests have all these tags, and whose title, requests, or answers contain all these
    /// words.
    pub async fn search(self, folder: Option<&str>, tags: &[String], words: &str) -> Result<Vec<SessionRow>, Problem> {
        let wanted = SessionQuery::new(tags, words);
        let mut rows = self.0.store().search(folder, wanted).await.map_err(store_problem)?;
        rows.retain(is_listed);
        Ok(rows)
    }

    /// The session of a folder that was used last. A session that was handed off is skipped, because it continues
    /// elsewhere. A session that was forked is not.
    pub async fn latest(self, folder: &str) -> Result<Option<SessionRow>, Problem> {
        let rows = self.list(Some(folder)).await?;
        let parents: HashSet<SessionId> =
            rows.iter().filter(|row| row.forked.is_none()).filter_map(|row| row.parent.clone()).collect();
        Ok(rows.into_iter().find(|row| !parents.contains(&row.id)))
    }

    /// Forgets a session.
    pub async fn delete(self, id: &SessionId) -> Result<(), Problem> {
        // What had been handed off to it goes back to where it came from, unless it was handed on to a session
        // that is still there.
        let History { mut handed_on, last, .. } = match history::read(self.0.store(), id).await {
            // A session that can no longer be read must still be deletable.
            Err(StoreError::Corrupt(_)) => History { last: i64::MAX.unsigned_abs(), ..History::default() },
            read => read.map_err(store_problem)?,
        };
        let mut gone = HashSet::new();
        for heir in handed_on.values() {
            if !gone.contains(heir) && self.0.store().session(heir).await.map_err(store_problem)?.is_none() {
                gone.insert(heir.clone());
            }
        }
        handed_on.retain(|_, heir| !gone.contains(heir));
        let payload = written(&Input::ChildGone { child: id.clone(), handed_on });
        let tell = NewInput { payload, ..NewInput::default() };
        let all = self.0.store().sessions(None).await.map_err(store_problem)?;
        self.0.store().delete_session(id, last, tell).await.map_err(store_problem)?;
        // The session of these workers is gone.
        for worker in all.into_iter().filter(|row| row.id.is_worker() && row.parent.as_ref() == Some(id)) {
            let last = self.0.store().last_seq(&worker.id).await.map_err(store_problem)?;
            let payload = written(&Input::ChildGone { child: worker.id.clone(), handed_on: BTreeMap::new() });
            let tell = NewInput { payload, ..NewInput::default() };
            self.0.store().delete_session(&worker.id, last, tell).await.map_err(store_problem)?;
        }
        Ok(())
    }
}
