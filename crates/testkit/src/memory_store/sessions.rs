//! Sessions and their inboxes in memory.

use async_trait::async_trait;
use trimtab_vocab::SessionId;
use trimtab_world::store::{
    InboxStore, InputRow, NewInput, Recipient, Result, SeededSession, SessionQuery, SessionRow, SessionStore,
    StoreError,
};

use super::MemoryStore;

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()> {
        self.write(|state, _| {
            let id = row.id.clone();
            state.events.insert(id.clone(), Vec::new());
            state.sessions.insert(id.clone(), row);
            inputs.into_iter().for_each(|input| state.put_input(&id, input));
            Ok(())
        })
        .await
    }

    async fn create_child(&self, child: SeededSession) -> Result<()> {
        self.write(|state, _| {
            if state.sessions.contains_key(&child.row.id) {
                return Err(StoreError::Taken);
            }
            state.put_child(child);
            Ok(())
        })
        .await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        self.operate(|state, _| Ok(state.sessions.get(id).cloned())).await
    }

    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>> {
        self.operate(|state, _| {
            let mut rows: Vec<_> =
                state.sessions.values().filter(|row| folder.is_none_or(|it| it == row.folder)).cloned().collect();
            rows.sort_by(|a, b| (b.updated, b.created, &b.id).cmp(&(a.updated, a.created, &a.id)));
            Ok(rows)
        })
        .await
    }

    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>> {
        let rows = self.sessions(folder).await?;
        self.operate(|state, _| {
            let holds = |row: &SessionRow| {
                let mut missing = wanted.clone();
                missing.see_title(&row.title);
                state.events.get(&row.id).into_iter().flatten().for_each(|event| missing.observe(&event.fact));
                missing.is_found()
            };
            Ok(rows.into_iter().filter(holds).collect())
        })
        .await
    }

    async fn delete_session(&self, id: &SessionId, seen: u64, notice: NewInput) -> Result<()> {
        self.write(|state, _| {
            let last = state.events.get(id).and_then(|events| events.last()?.seq);
            if state.session_is_owned(id) || last > Some(seen) {
                return Err(StoreError::InUse("another process".into()));
            }
            let row = state.sessions.remove(id).ok_or_else(|| StoreError::NoSession(id.clone()))?;
            let handed_off = row.parent.filter(|_| row.forked.is_none());
            let parent = handed_off.filter(|parent| state.sessions.contains_key(parent));
            if let Some(parent) = &parent {
                state.tell(None, vec![(Recipient::Session(parent.clone()), notice)]);
            }
            let is_heir = |other: &&mut SessionRow| other.parent.as_ref() == Some(id) && other.forked.is_none();
            for heir in state.sessions.values_mut().filter(is_heir) {
                heir.parent.clone_from(&parent);
            }
            state.events.remove(id);
            state.inbox.retain(|(_, session, _)| session != id);
            state.jobs.retain(|_, job| job.row.session != *id);
            state.partials.retain(|(session, _), _| session != id);
            state.writing.sets.retain(|(_, session, _)| session != id);
            state.writing.moving.remove(id);
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl InboxStore for MemoryStore {
    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()> {
        self.write(|state, _| {
            if !state.sessions.contains_key(session) {
                return Err(StoreError::NoSession(session.clone()));
            }
            if state.knows(&input) {
                return Err(StoreError::Taken);
            }
            state.put_input(session, input);
            Ok(())
        })
        .await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>> {
        self.operate(|state, _| {
            let mine = state.inbox.iter().filter(|(_, of, _)| of == session);
            Ok(mine.map(|(id, _, payload)| InputRow { id: *id, payload: payload.clone() }).collect())
        })
        .await
    }
}
