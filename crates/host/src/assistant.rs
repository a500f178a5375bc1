//! Requests about the user's tasks: the session that they go to, and the view of the tasks that they get.

use std::sync::Arc;

use trimtab_engine::Input;
use trimtab_engine::assistant::{self, TaskSelection};
use trimtab_engine::tasks::{self, Moment};
use trimtab_vocab::{Annotated, AutoMode, Control, Problem, RequestId, SessionId};
use trimtab_world::store::TaskBook;

use crate::actor::ActorError;
use crate::client::{ActorContext, store_problem};
use crate::effects::ActorHandle;
use crate::handles::Requests;
use crate::tasks::{task_session, when};

/// A session with a longer log is left for a new one, because the whole log is read before the session runs.
const LONG: u64 = 600;

impl Requests<'_> {
    /// The session in which something was last asked about the tasks, unless it has grown long and nothing in it
    /// waits for an answer.
    pub(crate) async fn asking_session(self) -> Result<Option<SessionId>, Problem> {
        let Some(session) = self.latest_asking_session().await? else { return Ok(None) };
        let is_long = !self.0.store().events(&session, LONG, 1).await.map_err(store_problem)?.is_empty();
        let waits = self.checkpoints().await?.iter().any(|open| open.session == session);
        Ok((!is_long || waits).then_some(session))
    }

    async fn latest_asking_session(self) -> Result<Option<SessionId>, Problem> {
        let rows = self.0.sessions().list(Some("")).await?;
        Ok(rows.into_iter().map(|row| row.id).find(|id| *id != task_session()))
    }

    /// Records how many of the last proposed operations the user applied; 0 if they rejected them. A failure here
    /// must not fail the decision itself.
    pub async fn decide_tasks(self, applied: usize) {
        let applied = u32::try_from(applied).unwrap_or(u32::MAX);
        let told = async {
            match self.latest_asking_session().await? {
                Some(session) => self.control(&session, None, Control::DecideTasks { applied }).await,
                None => Ok(()),
            }
        };
        if let Err(problem) = told.await {
            tracing::warn!(%problem, "the assistant could not be told what became of its proposal");
        }
    }
}

/// Looks at the tasks for a request.
pub(crate) async fn view(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    request: RequestId,
    wanted: TaskSelection,
    settings: AutoMode,
) -> Result<(), ActorError> {
    let (book, moment, zone) = load_tasks(&deps, &settings).await?;
    let view = assistant::view(&book.tasks, moment, &zone, &wanted);
    let _ = reporter.mailbox.send(Input::TasksViewed { request, view: Box::new(view) }).await;
    Ok(())
}

/// Finds out what operations would do.
pub(crate) async fn judge(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    request: RequestId,
    operations: Vec<Annotated>,
    settings: AutoMode,
) -> Result<(), ActorError> {
    let (book, moment, _) = load_tasks(&deps, &settings).await?;
    let judged = tasks::try_out(&book.tasks, book.next, operations, moment).dry_run(settings.limits);
    let _ = reporter.mailbox.send(Input::TasksJudged { request, judged: Box::new(judged) }).await;
    Ok(())
}

async fn load_tasks(deps: &ActorContext, settings: &AutoMode) -> Result<(TaskBook, Moment, String), ActorError> {
    let zone = when::zone(&settings.timezone).map_err(ActorError::SetUp)?;
    let now = deps.world.clock.now();
    let moment = Moment { now, today: when::day(now, &zone) };
    let name = zone.iana_name().unwrap_or("local").to_owned();
    let book = deps.world.store.tasks(false).await.map_err(ActorError::Store)?;
    Ok((book, moment, name))
}
