//! Tokens and dollars, in all, by model and by day.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_vocab::event::UsageFact;
use trimtab_vocab::{Date, Fact, SessionId, Time, Usage, WorkerSpending};

use super::Shared;
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let usage = RouteOperation::new("get", "getUsage", "usage", "Show tokens and cost in total, by model, and by day")
        .query::<UsageWanted>()
        .gives::<UsageTotals>(
            StatusCode::OK,
            "Tokens and dollars.",
            json!({"total": {"inputTokens": 0, "cachedTokens": 0,
            "outputTokens": 0}, "calls": 0, "models": [], "days": []}),
        )
        .fails(404);
    api.add("/usage", get(get_usage), vec![usage])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UsageWanted {
    /// Only of this session.
    session: Option<SessionId>,
    /// Time zone of the days, as minutes east of UTC.
    #[schemars(range(min = -1080, max = 1080))]
    offset: Option<i32>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct UsageTotals {
    total: Usage,
    /// Calls of models.
    calls: u64,
    /// By model, in the order of their names.
    models: Vec<UsedBy>,
    /// Usage by day, oldest first.
    days: Vec<UsedOn>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UsedOn {
    day: Date,
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
    calls: u64,
    /// What it used.
    usage: Usage,
}

async fn get_usage(
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
        let mut workers = WorkerSpending::default();
        loop {
            let page = server.client.sessions().events(&session.id, after).await?;
            let Some(last) = page.last().and_then(|event| event.seq) else { break };
            after = last;
            for event in page {
                let of_worker = workers.observe(&event).map(|(model, usage)| (model.to_owned(), usage, 0));
                let spent = match event.fact {
                    // A late cost of a worker belongs to a call that is already counted.
                    Fact::Usage(UsageFact { model, usage, worker, .. }) => {
                        Some((model, usage, u64::from(worker.is_none())))
                    }
                    _ => of_worker,
                };
                let Some((model, usage, calls)) = spent else { continue };
                used.total += usage;
                used.calls += calls;
                let by = models.entry(model.clone()).or_insert(UsedBy { model, calls: 0, usage: Usage::default() });
                by.calls += calls;
                by.usage += usage;
                let day = day(event.time, offset);
                let on = days.entry(day).or_insert(UsedOn { day, calls: 0, usage: Usage::default() });
                on.calls += calls;
                on.usage += usage;
            }
        }
    }
    used.models = models.into_values().collect();
    used.days = days.into_values().collect();
    Ok(Json(used))
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
