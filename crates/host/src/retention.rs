//! The storage for old file contents, and its cleanup: oldest first, always reported, and never what an unfinished
//! move or an open question needs.

use std::collections::HashMap;
use std::time::Duration;

use trimtab_engine::Input;
use trimtab_vocab::event::ChangeFact;
use trimtab_vocab::{ChangeSetId, Fact, Problem, SessionId};
use trimtab_world::store::{FileSpace, NewInput};

use crate::client::store_problem;
use crate::config::Keeping;
use crate::effects::written;
use crate::handles::SessionChanges;
use crate::history::History;

const DAY: i64 = 24 * 60 * 60 * 1000;
/// How long the process that runs the session may take. If it takes longer, the next cleanup tries again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Changes that can no longer be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// Where they were made.
    pub session: SessionId,
    pub changes: usize,
    pub reason: String,
}

impl SessionChanges<'_> {
    /// What sessions hold of files, for undo.
    pub async fn file_space(self) -> Result<Vec<FileSpace>, Problem> {
        self.0.store().file_space().await.map_err(store_problem)
    }

    /// Lets old contents of files go, as the settings say. The newest change of all is kept in any case.
    pub async fn expire(self, keeping: Keeping) -> Result<Vec<Expired>, Problem> {
        let space: HashMap<SessionId, FileSpace> =
            self.file_space().await?.into_iter().map(|space| (space.session.clone(), space)).collect();
        let most = u64::from(keeping.megabytes) << 20;
        let total: u64 = space.values().map(|space| space.packed).sum();
        let mut surplus = if most == 0 { 0 } else { total.saturating_sub(most) };
        let cutoff = crate::now().millis() - i64::from(keeping.days) * DAY;
        let is_old = |millis: i64| keeping.days > 0 && millis < cutoff;
        let mut expired = Vec::new();
        let rows = self.0.sessions().list(None).await?;
        let newest = rows.first().map(|row| row.id.clone());
        for row in rows.into_iter().rev() {
            // A session that is younger than any change may be has none that is too old.
            let Some(space) = space.get(&row.id).filter(|_| surplus > 0 || is_old(row.created.millis())) else {
                continue;
            };
            let history = self.history(&row.id).await?;
            let (by_age, by_size) = choose(&history, space, is_old, &mut surplus, newest.as_ref() == Some(&row.id));
            let reasons = [
                (by_age, format!("older than {} days (history.keep_days)", keeping.days)),
                (by_size, format!("more than {} MB of old contents (history.max_mb)", keeping.megabytes)),
            ];
            if reasons.iter().all(|(sets, _)| sets.is_empty()) {
                // What was built over or refused cannot be undone anyway, and goes without a word.
                self.ask_to_expire(&row.id, Vec::new(), String::new()).await?;
            }
            for (sets, reason) in reasons.into_iter().filter(|(sets, _)| !sets.is_empty()) {
                let changes = self.expire_sets(&row.id, history.last, sets, reason.clone()).await?;
                expired.extend((changes > 0).then(|| Expired { session: row.id.clone(), changes, reason }));
            }
        }
        Ok(expired)
    }

    async fn ask_to_expire(
        self,
        session: &SessionId,
        change_sets: Vec<ChangeSetId>,
        reason: String,
    ) -> Result<(), Problem> {
        let payload = written(&Input::Expire { change_sets, reason });
        let input = NewInput { payload, housekeeping: true, ..NewInput::default() };
        self.0.store().enqueue(session, input).await.map_err(store_problem)?;
        self.0.resume(session);
        Ok(())
    }

    /// Has the session record that these are gone; how many it agreed to.
    async fn expire_sets(
        self,
        session: &SessionId,
        last: u64,
        change_sets: Vec<ChangeSetId>,
        reason: String,
    ) -> Result<usize, Problem> {
        let mut watch = self.0.watch(session, last);
        self.ask_to_expire(session, change_sets.clone(), reason).await?;
        let told = async {
            loop {
                if let Fact::Change(ChangeFact::Expired { change_sets: gone, .. }) = watch.next().await?.fact
                    && gone.iter().all(|set| change_sets.contains(set))
                {
                    return Ok::<_, Problem>(gone.len());
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap_or(Ok(0))
    }
}

/// The sets of a session that are too old, and of the others the oldest that are too much.
fn choose(
    history: &History,
    space: &FileSpace,
    is_old: impl Fn(i64) -> bool,
    surplus: &mut u64,
    is_newest: bool,
) -> (Vec<ChangeSetId>, Vec<ChangeSetId>) {
    let held: Vec<_> = history.sets.iter().filter(|set| !set.expired).collect();
    // About what one set takes: how much of it others share, only the store could tell.
    let each = space.packed / (held.len() as u64).max(1);
    let kept = usize::from(is_newest);
    let (mut by_age, mut by_size) = (Vec::new(), Vec::new());
    for set in &held[..held.len().saturating_sub(kept)] {
        if is_old(set.time.millis()) {
            by_age.push(set.id.clone());
        } else if *surplus > 0 {
            by_size.push(set.id.clone());
        } else {
            continue;
        }
        *surplus = surplus.saturating_sub(each.max(1));
    }
    (by_age, by_size)
}
