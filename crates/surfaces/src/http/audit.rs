//! The trail of what was decided and done.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::{LOG_PAGE, Shared};

pub(super) fn routes(api: Api) -> Api {
    let audit =
        RouteOperation::new("get", "getAudit", "audit", "Show the audit trail").query::<AuditWanted>().gives::<Audit>(
            StatusCode::OK,
            "Its entries, oldest first. Each one has the BLAKE3 hash of the entry before it.",
            json!({"entries": [{"n": 1, "time": "2026-11-15T08:30:00.125Z", "action": "router_decision", "prev": ""}],
                   "next": null}),
        );
    api.add("/audit", get(get_audit), vec![audit])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditWanted {
    /// Only what comes after this line.
    #[schemars(range(max = 999_999_999_999_999_999_u64))]
    after: Option<u64>,
    /// Maximum number of lines.
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

async fn get_audit(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<AuditWanted>,
) -> Result<Json<Audit>, Failure> {
    let limit = wanted.limit.unwrap_or(LOG_PAGE).clamp(1, LOG_PAGE);
    let lines = server.client.admin().audit_lines(wanted.after.unwrap_or(0), limit).await?;
    let next = if lines.len() == limit as usize { lines.last().map(|line| line.n) } else { None };
    let entries = lines.iter().filter_map(|line| serde_json::from_str(&line.line).ok()).collect();
    Ok(Json(Audit { entries, next }))
}
