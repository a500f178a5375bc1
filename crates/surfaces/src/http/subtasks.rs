//! The sub-tasks of a session. What is done about them goes through `control`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use trimtab_vocab::SessionId;

use super::Shared;
use super::extract::Id;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use crate::subtask_log::SubtaskLog;

pub(super) fn routes(api: Api) -> Api {
    let list = RouteOperation::new("get", "listSubtasks", "sessions", "List the sub-tasks of a session")
        .path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp")
        .gives::<SubtaskList>(
            StatusCode::OK,
            "The sub-tasks as documents, in the order of their plan.",
            json!({"subtasks": [], "context": {"docType": "subtask-context", "parentSessionId": "s01kabcdefghjkmnp",
                "sharedData": {}, "stepOutputs": {}}}),
        );
    api.add("/sessions/{id}/subtasks", get(list_subtasks), vec![list])
}

#[derive(Debug, Serialize, JsonSchema)]
struct SubtaskList {
    /// One document for each sub-task, as an export has them (`docType` is `subtask`).
    subtasks: Vec<Value>,
    /// What the workers share (`docType` is `subtask-context`).
    context: Value,
}

async fn list_subtasks(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<SubtaskList>, Failure> {
    server.client.sessions().get(&id).await?;
    let SubtaskLog { documents, .. } = SubtaskLog::read(&server.client, &id).await?;
    Ok(Json(SubtaskList { subtasks: documents.all(), context: documents.context(&id) }))
}
