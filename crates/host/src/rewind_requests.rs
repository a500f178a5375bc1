//! Requests that a surface waits for: moves of the change history, handoffs, and extensions.
//!
//! The process that runs the session handles them, and the result is read from the log.

use std::time::{Duration, Instant};

use trimtab_engine::Input;
use trimtab_vocab::event::{ChangeFact, Conflict, SessionFact};
use trimtab_vocab::{Control, Fact, Problem, ProblemKind, SessionId};

use crate::client::store_problem;
use crate::compose::NO_FOLDER;
use crate::handles::{SessionChanges, Sessions};
use crate::history::History;

/// How long the process that runs the session may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a new request waits for a move that another process performs.
const NOT_FOR_EVER: Duration = Duration::from_secs(10);
/// How long nothing may happen in a session before its log is read again.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The result of a move of the history.
#[derive(Debug, Clone, Default)]
pub struct Moved {
    /// The sets that were moved, in order.
    pub changes: Vec<ChangeFact>,
    /// Why it did not move; no file was touched.
    pub refused: Option<(String, Vec<Conflict>)>,
}

pub(crate) fn unanswered() -> Problem {
    Problem::new(ProblemKind::Busy, "The session does not answer.").hint("Another process runs it; see `trimtab jobs`.")
}

impl SessionChanges<'_> {
    /// Whether a move of the change history, or the end of one, waits in the inbox. One that stays was left by a
    /// process that was killed; [`crate::Client::resume`] finishes it.
    async fn has_history_wish(self, session: &SessionId) -> Result<bool, Problem> {
        let rows = self.0.store().inbox(session).await.map_err(store_problem)?;
        Ok(rows.iter().any(|row| {
            matches!(
                serde_json::from_str(&row.payload),
                Ok(Input::Restored { .. }
                    | Input::Controlled {
                        action: Control::Rewind { .. } | Control::Forward { .. } | Control::UndoPart { .. },
                        ..
                    })
            )
        }))
    }

    /// The history after pending moves. An interrupted or unprocessed move is finished first, so that the history
    /// matches the files; then the last fact before that is returned, too.
    pub async fn settled_history(self, session: &SessionId) -> Result<(History, Option<u64>), Problem> {
        let until = Instant::now() + PATIENCE;
        let mut began = None;
        loop {
            // In this order, because a move that is processed in between shows in the log.
            let is_wished = self.has_history_wish(session).await?;
            let history = self.history(session).await?;
            if !is_wished && !history.is_moving {
                return Ok((history, began));
            }
            if Instant::now() > until {
                return Err(unanswered());
            }
            began.get_or_insert(history.last);
            let mut watch = self.0.watch(session, history.last);
            self.0.resume(session);
            if let Ok(fact) = tokio::time::timeout(POLL_INTERVAL, watch.next()).await {
                fact?;
            }
        }
    }

    /// Finishes the interrupted moves in a folder, because the next request must not find its files half moved. Waits
    /// a limited time for a move that another process performs.
    pub async fn finish_moves(self, folder: &str) -> Result<(), Problem> {
        if folder == NO_FOLDER {
            return Ok(());
        }
        for session in self.0.store().moving(folder).await.map_err(store_problem)? {
            match tokio::time::timeout(NOT_FOR_EVER, self.settled_history(&session)).await {
                Ok(Ok(_)) => {}
                Ok(Err(problem)) => tracing::warn!(%session, "its history cannot be read: {problem}"),
                Err(_) => tracing::warn!(%session, "its undo or redo has not finished yet"),
            }
        }
        Ok(())
    }

    /// Moves the history, which is settled after the fact `last`.
    pub async fn move_history(self, session: &SessionId, last: u64, control: Control) -> Result<Moved, Problem> {
        self.0.requests().control(session, None, control).await?;
        let mut watch = self.0.watch(session, last);
        let (mut moved, mut target) = (Moved::default(), None);
        let ends = async {
            loop {
                let Fact::Change(fact) = watch.next().await?.fact else { continue };
                let position = match &fact {
                    ChangeFact::Moving { position, .. } => {
                        target = Some(*position);
                        continue;
                    }
                    ChangeFact::Expired { .. } | ChangeFact::Inherited(_) => continue,
                    ChangeFact::Refused { reason, conflicts } => {
                        moved.refused = Some((reason.clone(), conflicts.clone()));
                        return Ok(moved);
                    }
                    ChangeFact::Applied(change) | ChangeFact::Reverted(change) | ChangeFact::Reapplied(change) => {
                        change.position
                    }
                };
                moved.changes.push(fact);
                if target == Some(position) {
                    return Ok::<_, Problem>(moved);
                }
            }
        };
        tokio::time::timeout(PATIENCE, ends).await.unwrap_or_else(|_| Err(unanswered()))
    }
}

impl Sessions<'_> {
    /// Hands the session off or extends it: the resulting fact, or why not.
    pub async fn settle(self, session: &SessionId, last: u64, control: Control) -> Result<SessionFact, Problem> {
        // A control that a killed process left behind is processed, not sent twice.
        match self.0.requests().has_pending_control(session, &control).await? {
            true => self.0.resume(session),
            false => self.0.requests().control(session, None, control).await?,
        }
        let mut watch = self.0.watch(session, last);
        let told = async {
            loop {
                if let Fact::Session(
                    fact @ (SessionFact::Refused { .. } | SessionFact::Handoff { .. } | SessionFact::Extended { .. }),
                ) = watch.next().await?.fact
                {
                    return Ok(fact);
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap_or_else(|_| Err(unanswered()))
    }
}
