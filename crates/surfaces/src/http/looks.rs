//! What is looked up on demand: traces, stored texts, jobs, costs, the trail.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trimtab_host::{JobRow, JobState};
use trimtab_vocab::event::{Status, UsageFact};
use trimtab_vocab::{Date, Event, Fact, RefKey, RequestId, SessionId, Time, Usage, picture_type};

use super::Shared;
use super::extract::{Id, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

/// What one answer may hold of a log.
const PAGE: u32 = 1000;

pub(super) fn routes(api: Api) -> Api {
    let trace = RouteOperation::new("get", "getTrace", "sessions", "How answers came about: the events of a session")
        .path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp")
        .query::<TraceWanted>()
        .gives::<Trace>(StatusCode::OK, "The events, in order.", json!({"events": [], "next": null}));
    let text = RouteOperation::new("get", "getRef", "refs", "A stored text, or bytes")
        .path::<RefKey>("key", "What events name it, without `ref:`.", "reply-s01kabcdefghjkmnp-c1")
        .gives_other::<String>(StatusCode::OK, "The bytes as they are stored.", "application/octet-stream");
    let jobs = RouteOperation::new("get", "listJobs", "jobs", "Requests, newest first")
        .query::<JobsWanted>()
        .gives::<Jobs>(StatusCode::OK, "The requests.", json!({"jobs": []}));
    let usage = RouteOperation::new("get", "getUsage", "usage", "What was used, in all, by model and by day")
        .query::<UsageWanted>()
        .gives::<UsageTotals>(
            StatusCode::OK,
            "Tokens and dollars.",
            json!({"total": {"inputTokens": 0, "cachedTokens": 0,
            "outputTokens": 0}, "calls": 0, "models": [], "days": []}),
        )
        .fails(404);
    let audit = RouteOperation::new("get", "getAudit", "audit", "The trail of what was decided and done")
        .query::<AuditWanted>()
        .gives::<Audit>(
            StatusCode::OK,
            "Its lines, oldest first. Each names the BLAKE3 hash of the line before it.",
            json!({"entries": [{"n": 1, "time": "2026-11-15T08:30:00.125Z", "action": "router_decision", "prev": ""}],
                   "next": null}),
        );
    api.add("/sessions/{id}/trace", get(trace_of), vec![trace])
        .add("/refs/{key}", get(stored), vec![text])
        .add("/jobs", get(all_jobs), vec![jobs])
        .add("/usage", get(used), vec![usage])
        .add("/audit", get(trail), vec![audit])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceWanted {
    /// Only what came after the event with this `seq`.
    #[schemars(range(max = 999_999_999_999_999_999_u64))]
    after: Option<u64>,
    /// Only what is about this request.
    request: Option<RequestId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Trace {
    /// The events, in order.
    events: Vec<Event>,
    /// `after` for the next page; null: this is the last one.
    next: Option<u64>,
}

async fn trace_of(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    QueryArgs(wanted): QueryArgs<TraceWanted>,
) -> Result<Json<Trace>, Failure> {
    server.client.sessions().get(&id).await?;
    let mut events = server.client.sessions().page(&id, wanted.after.unwrap_or(0), PAGE).await?;
    let next = if events.len() == PAGE as usize { events.last().and_then(|event| event.seq) } else { None };
    if let Some(request) = wanted.request {
        events.retain(|event| event.request.as_ref() == Some(&request));
    }
    Ok(Json(Trace { events, next }))
}

async fn stored(State(server): State<Shared>, Id(key): Id<RefKey>) -> Result<Response, Failure> {
    let bytes = server.client.refs().bytes(&key).await?;
    // Whatever it is, a browser must not take it for a page. A picture that was made is shown as what its first
    // bytes say, and only if they say that it is one that can hold no script.
    let kind = if key.is_picture() { picture_type(&bytes) } else { None };
    Ok((StatusCode::OK, [("content-type", kind.unwrap_or("application/octet-stream"))], bytes).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JobsWanted {
    /// Finished ones too.
    all: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Jobs {
    /// The requests.
    jobs: Vec<Job>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Job {
    /// The request.
    request: RequestId,
    /// Where it belongs.
    session: SessionId,
    /// Where it works.
    folder: String,
    /// Its first words.
    text: String,
    /// How it stands.
    state: JobStatus,
    /// When it came.
    created: Time,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum JobStatus {
    Queued,
    Running,
    Interrupted,
    Completed,
    Failed,
    Cancelled,
    NeedsUser,
    Limit,
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        let state = match row.state {
            JobState::Queued => JobStatus::Queued,
            JobState::Running => JobStatus::Running,
            JobState::Interrupted => JobStatus::Interrupted,
            JobState::Finished(Status::Completed) => JobStatus::Completed,
            JobState::Finished(Status::Failed) => JobStatus::Failed,
            JobState::Finished(Status::Cancelled) => JobStatus::Cancelled,
            JobState::Finished(Status::NeedsUser) => JobStatus::NeedsUser,
            JobState::Finished(Status::Limit) => JobStatus::Limit,
        };
        let JobRow { request, session, folder, text, created, .. } = row;
        Self { request, session, folder, text, state, created }
    }
}

async fn all_jobs(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<JobsWanted>,
) -> Result<Json<Jobs>, Failure> {
    let jobs = server.client.requests().list(wanted.all.unwrap_or(false)).await?;
    Ok(Json(Jobs { jobs: jobs.into_iter().map(Job::from).collect() }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UsageWanted {
    /// Only of this session.
    session: Option<SessionId>,
    /// Where a day begins: so many minutes before it does in Greenwich.
    #[schemars(range(min = -1080, max = 1080))]
    offset: Option<i32>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct UsageTotals {
    /// All of it.
    total: Usage,
    /// Calls of models.
    calls: u64,
    /// By model, in the order of their names.
    models: Vec<UsedBy>,
    /// By day on which something was used, oldest first.
    days: Vec<UsedOn>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UsedOn {
    /// The day.
    day: Date,
    /// Calls on it.
    calls: u64,
    /// What they used.
    usage: Usage,
}

/// The day of a time where days begin so many minutes earlier than in Greenwich.
fn day(time: Time, offset: i32) -> Date {
    const MINUTE: i64 = 60_000;
    Date::from_days((time.millis() + i64::from(offset) * MINUTE).div_euclid(24 * 60 * MINUTE))
}

#[derive(Debug, Serialize, JsonSchema)]
struct UsedBy {
    /// `provider/name`.
    model: String,
    /// Calls of it.
    calls: u64,
    /// What it used.
    usage: Usage,
}

async fn used(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<UsageWanted>,
) -> Result<Json<UsageTotals>, Failure> {
    let sessions = match wanted.session {
        Some(id) => vec![server.client.sessions().get(&id).await?],
        None => server.client.sessions().list(None).await?,
    };
    let offset = wanted.offset.unwrap_or(0).clamp(-1080, 1080);
    let (mut used, mut models, mut days) = (UsageTotals::default(), BTreeMap::<String, UsedBy>::new(), BTreeMap::new());
    for session in sessions {
        // What a fork has of its parent is counted there.
        let mut after = session.forked.unwrap_or(0);
        loop {
            let page = server.client.sessions().events(&session.id, after).await?;
            let Some(last) = page.last().and_then(|event| event.seq) else { break };
            after = last;
            for event in page {
                let Fact::Usage(UsageFact { model, usage, .. }) = event.fact else { continue };
                used.total += usage;
                used.calls += 1;
                let by = models.entry(model.clone()).or_insert(UsedBy { model, calls: 0, usage: Usage::default() });
                by.calls += 1;
                by.usage += usage;
                let day = day(event.time, offset);
                let on = days.entry(day).or_insert(UsedOn { day, calls: 0, usage: Usage::default() });
                on.calls += 1;
                on.usage += usage;
            }
        }
    }
    used.models = models.into_values().collect();
    used.days = days.into_values().collect();
    Ok(Json(used))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditWanted {
    /// Only what comes after this line.
    #[schemars(range(max = 999_999_999_999_999_999_u64))]
    after: Option<u64>,
    /// So many lines at most.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Audit {
    /// The lines, oldest first, each an object with `n`, `time`, `action`, `prev` and what the action adds.
    entries: Vec<serde_json::Map<String, Value>>,
    /// `after` for the next page; null: this is the last one.
    next: Option<u64>,
}

async fn trail(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<AuditWanted>,
) -> Result<Json<Audit>, Failure> {
    let limit = wanted.limit.unwrap_or(PAGE).clamp(1, PAGE);
    let lines = server.client.admin().audit_lines(wanted.after.unwrap_or(0), limit).await?;
    let next = if lines.len() == limit as usize { lines.last().map(|line| line.n) } else { None };
    let entries = lines.iter().filter_map(|line| serde_json::from_str(&line.line).ok()).collect();
    Ok(Json(Audit { entries, next }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evening_belongs_to_the_day_where_the_person_is() {
        let late: Time = "2026-11-15T23:30:00.000Z".parse().expect("a time");
        assert_eq!(day(late, 0).to_string(), "2026-11-15");
        assert_eq!(day(late, 60).to_string(), "2026-11-16");
        let early: Time = "2026-11-16T04:00:00.000Z".parse().expect("a time");
        assert_eq!(day(early, -300).to_string(), "2026-11-15");
    }
}
