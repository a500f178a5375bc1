//! Requests: their status, their questions, and the user's control of them.

use std::time::{Duration, Instant};

use trimtab_engine::Input;
use trimtab_vocab::event::SessionFact;
use trimtab_vocab::{
    Autonomy, AutonomyChoice, ChangePart, CheckpointId, Control, Event, Fact, Problem, ProblemKind, RequestId,
    SessionId,
};
use trimtab_world::store::{JobRow, JobState, NewInput};

use crate::client::{Answered, check_session, store_problem};
use crate::effects::written;
use crate::handles::Requests;
use crate::hub::POLL_INTERVAL;

/// How long the process that runs a request may take to end it.
const CANCEL_PATIENCE: Duration = Duration::from_secs(10);

impl Requests<'_> {
    /// Controls a request; none: the running one.
    pub async fn control(
        self,
        session: &SessionId,
        request: Option<RequestId>,
        action: Control,
    ) -> Result<(), Problem> {
        check_session(session)?;
        self.tell(session, &Input::Controlled { request, action }).await
    }

    /// The level of autonomy that was chosen in a session.
    pub async fn autonomy(self, session: &SessionId) -> Result<Option<Autonomy>, Problem> {
        Ok(self.0.sessions().folded(session).await?.autonomy())
    }

    /// Makes a session ask more or less from its next decision on, and waits until it is recorded.
    pub async fn set_autonomy(self, session: &SessionId, level: Autonomy) -> Result<(), Problem> {
        let surface = self.0.surface.map(str::to_owned);
        let last = self.0.store().last_seq(session).await.map_err(store_problem)?;
        if self.autonomy(session).await? == Some(level) {
            return Ok(());
        }
        self.control(session, None, Control::Autonomy(AutonomyChoice { level, surface })).await?;
        let mut watch = self.0.watch(session, last);
        let recorded = async {
            loop {
                if let Fact::Session(SessionFact::Autonomy { .. }) = watch.next().await?.fact {
                    return Ok(());
                }
            }
        };
        tokio::time::timeout(CANCEL_PATIENCE, recorded)
            .await
            .unwrap_or_else(|_| Err(crate::rewind_requests::unanswered()))
    }

    /// Runs a session for the sake of this request: once it has ended, what waits behind it is left to the processes
    /// that have sent it.
    pub fn run_for(self, session: &SessionId, request: &RequestId) {
        self.0.deps().roster.run_for(session, request);
    }

    /// Waits until the workers that were stopped here have ended and their copies of the folder are removed, a few
    /// seconds at most. Every surface calls it before it exits.
    pub async fn end_workers(self) {
        self.0.deps().endings.wait().await;
    }

    /// Cancels a request and waits until it and its workers have ended; whether it has. A request whose owner is gone
    /// is ended here.
    pub async fn cancel(self, session: &SessionId, request: &RequestId) -> Result<bool, Problem> {
        self.control(session, Some(request.clone()), Control::Cancel).await?;
        let until = Instant::now() + CANCEL_PATIENCE;
        loop {
            match self.get(request).await?.map(|job| job.state) {
                None | Some(JobState::Finished(_)) => {
                    self.end_workers().await;
                    return Ok(true);
                }
                Some(_) if Instant::now() > until => return Ok(false),
                Some(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Answers what waits for the user.
    pub async fn answer(self, session: &SessionId, answer: Answered) -> Result<(), Problem> {
        let Answered { checkpoint, choice, text, by } = answer;
        let surface = self.0.surface.map(str::to_owned);
        self.tell(session, &Input::Answered { checkpoint, choice, text, by, surface, instructions: Vec::new() }).await
    }

    /// Whether these are parts of the change that a checkpoint asks about: files, or hunks of them.
    pub async fn check_parts(
        self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        parts: &[ChangePart],
    ) -> Result<(), Problem> {
        let folded = self.0.sessions().folded(session).await?;
        match trimtab_engine::objection_to_part(&folded, checkpoint, parts) {
            Some(reason) => Err(Problem::new(ProblemKind::Usage, reason).hint(format!(
                "Nothing was answered. `trimtab diff {checkpoint}` shows the hunks with their numbers."
            ))),
            None => Ok(()),
        }
    }

    /// Allows these parts of a proposed change and nothing else. A part that does not exist is refused, and the
    /// question stays open.
    pub async fn apply_parts(
        self,
        session: &SessionId,
        checkpoint: &CheckpointId,
        parts: Vec<ChangePart>,
        by: &str,
    ) -> Result<(), Problem> {
        self.check_parts(session, checkpoint, &parts).await?;
        let surface = self.0.surface.map(str::to_owned);
        self.tell(session, &Input::Chosen { checkpoint: checkpoint.clone(), parts, by: by.into(), surface }).await
    }

    /// Puts an input into a session's inbox and wakes the session. When this returns, the input is durable.
    async fn tell(self, session: &SessionId, input: &Input) -> Result<(), Problem> {
        let input = NewInput { payload: written(input), ..NewInput::default() };
        self.0.store().enqueue(session, input).await.map_err(store_problem)?;
        self.0.resume(session);
        Ok(())
    }

    /// The open checkpoints of all sessions: the events that opened them.
    pub async fn checkpoints(self) -> Result<Vec<Event>, Problem> {
        let mut open = self.0.store().checkpoints().await.map_err(store_problem)?;
        // What a worker asks is asked in the session that it works for.
        open.retain(|event| !event.session.is_worker());
        Ok(open)
    }

    /// Whether this control waits in the inbox. One that stays was left by a process that was killed.
    pub async fn has_pending_control(self, session: &SessionId, control: &Control) -> Result<bool, Problem> {
        let rows = self.0.store().inbox(session).await.map_err(store_problem)?;
        let is_it = |payload: &str| matches!(serde_json::from_str(payload), Ok(Input::Controlled { action, .. }) if action == *control);
        Ok(rows.iter().any(|row| is_it(&row.payload)))
    }

    /// Requests, newest first: the unfinished ones, or all.
    pub async fn list(self, all: bool) -> Result<Vec<JobRow>, Problem> {
        let mut jobs = self.0.store().jobs(all).await.map_err(store_problem)?;
        // A worker's request is a part of the one that it works for.
        jobs.retain(|job| !job.session.is_worker());
        Ok(jobs)
    }

    /// The status of a request; none if it was never accepted.
    pub async fn get(self, request: &RequestId) -> Result<Option<JobRow>, Problem> {
        self.0.store().job(request).await.map_err(store_problem)
    }
}
