//! The text of a reply that another process receives: it saves the text in pieces, and this process reads them.

use trimtab_vocab::event::{Fact, ModelFact, ReplyFact};
use trimtab_vocab::{CallId, Event, RequestId, SessionId};
use trimtab_world::store::{Result, Store};

use crate::client::ActorContext;

/// Facts before the end of a log among which the beginning of a running call is looked for.
const RECENT: u64 = 200;

/// What of the running replies of a session was passed on.
#[derive(Debug, Default)]
pub(crate) struct WordsElsewhere {
    /// The running calls that were seen, each with its request and the bytes of its text that were passed on.
    calls: Vec<(CallId, Option<RequestId>, usize)>,
}

impl WordsElsewhere {
    /// What is saved of the running replies of a session. Nothing if this process runs it, or nobody does.
    pub(crate) async fn saved(deps: &ActorContext, session: &SessionId) -> Result<Vec<(CallId, String)>> {
        let store = deps.world.store.as_ref();
        if deps.hub.owns(session) {
            return Ok(Vec::new());
        }
        let saved = store.partials(session).await?;
        let is_live = !saved.is_empty() && store.is_run(session).await? && !deps.hub.owns(session);
        Ok(if is_live { saved } else { Vec::new() })
    }

    /// The part that was not passed on yet, as the live facts that the other process tells itself.
    pub(crate) async fn take(
        &mut self,
        deps: &ActorContext,
        session: &SessionId,
        saved: Vec<(CallId, String)>,
    ) -> Result<Vec<Event>> {
        self.calls.retain(|(call, ..)| saved.iter().any(|(other, _)| other == call));
        let mut events = Vec::new();
        for (call, text) in saved {
            let at = match self.calls.iter().position(|(other, ..)| *other == call) {
                Some(at) => at,
                None => {
                    let request = request_of(deps.world.store.as_ref(), session, &call).await?;
                    self.calls.push((call.clone(), request, 0));
                    self.calls.len() - 1
                }
            };
            let (_, request, known) = &mut self.calls[at];
            let Some(more) = text.get(*known..).filter(|more| !more.is_empty()) else { continue };
            let fact = ReplyFact::Delta { call, text: more.to_owned(), thinking: String::new(), progress: None }.into();
            *known = text.len();
            let (time, session, request) = (deps.world.clock.now(), session.clone(), request.clone());
            events.push(Event { seq: None, time, session, request, fact });
        }
        Ok(events)
    }
}

/// The request that a running call belongs to.
async fn request_of(store: &dyn Store, session: &SessionId, call: &CallId) -> Result<Option<RequestId>> {
    let last = store.last_seq(session).await?;
    let recent = store.events(session, last.saturating_sub(RECENT), RECENT as u32).await?;
    let began =
        |event: &&Event| matches!(&event.fact, Fact::Model(ModelFact::Called { call: began, .. }) if began == call);
    Ok(recent.iter().rfind(began).and_then(|event| event.request.clone()))
}
