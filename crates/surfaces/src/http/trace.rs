//! The events of a session, page by page.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_vocab::{Event, RequestId, SessionId};

use super::extract::{Id, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::{LOG_PAGE, Shared};

pub(super) fn routes(api: Api) -> Api {
    let trace = RouteOperation::new("get", "getTrace", "sessions", "Show the events of a session")
        .path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp")
        .query::<TraceWanted>()
        .gives::<Trace>(StatusCode::OK, "The events, in order.", json!({"events": [], "next": null}));
    api.add("/sessions/{id}/trace", get(get_trace), vec![trace])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceWanted {
    /// Only events after this `seq`.
    #[schemars(range(max = 999_999_999_999_999_999_u64))]
    after: Option<u64>,
    /// Show only this request.
    request: Option<RequestId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Trace {
    /// The events, in order.
    events: Vec<Event>,
    /// `after` for the next page; null: this is the last one.
    next: Option<u64>,
}

async fn get_trace(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    QueryArgs(wanted): QueryArgs<TraceWanted>,
) -> Result<Json<Trace>, Failure> {
    server.client.sessions().get(&id).await?;
    let mut events = server.client.sessions().page(&id, wanted.after.unwrap_or(0), LOG_PAGE).await?;
    let next = if events.len() == LOG_PAGE as usize { events.last().and_then(|event| event.seq) } else { None };
    if let Some(request) = wanted.request {
        events.retain(|event| event.request.as_ref() == Some(&request));
    }
    Ok(Json(Trace { events, next }))
}
