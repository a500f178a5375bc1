//! Requests of all sessions, with their state.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{JobRow, JobState};
use trimtab_vocab::event::Status;
use trimtab_vocab::{RequestId, SessionId, Time};

use super::Shared;
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let jobs = RouteOperation::new("get", "listJobs", "jobs", "List requests, newest first")
        .query::<JobsWanted>()
        .gives::<Jobs>(StatusCode::OK, "The requests.", json!({"jobs": []}));
    api.add("/jobs", get(list_jobs), vec![jobs])
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
    request: RequestId,
    /// The session that it belongs to.
    session: SessionId,
    /// The session's folder.
    folder: String,
    /// Its first words.
    text: String,
    /// Whether it waits, runs, or has ended.
    state: JobStatus,
    /// When it was received.
    created: Time,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum JobStatus {
    Queued,
    Running,
    Interrupted,
    Completed,
    NotDone,
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
            JobState::Finished(Status::NotDone) => JobStatus::NotDone,
            JobState::Finished(Status::Failed) => JobStatus::Failed,
            JobState::Finished(Status::Cancelled) => JobStatus::Cancelled,
            JobState::Finished(Status::NeedsUser) => JobStatus::NeedsUser,
            JobState::Finished(Status::Limit) => JobStatus::Limit,
        };
        let JobRow { request, session, folder, text, created, .. } = row;
        Self { request, session, folder, text, state, created }
    }
}

async fn list_jobs(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<JobsWanted>,
) -> Result<Json<Jobs>, Failure> {
    let jobs = server.client.requests().list(wanted.all.unwrap_or(false)).await?;
    Ok(Json(Jobs { jobs: jobs.into_iter().map(Job::from).collect() }))
}
