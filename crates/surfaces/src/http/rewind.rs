//! Going back to an earlier message of a session.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_vocab::event::{ChangedFile, Conflict};
use trimtab_vocab::{OnConflict, RequestId, RewindScope, SessionId, Time};

use super::Shared;
use super::extract::{Id, JsonBody};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let id = |operation: RouteOperation| operation.path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp");
    let list = id(RouteOperation::new(
        "get",
        "listRewindPoints",
        "changes",
        "List the messages that the conversation can go back to, oldest first",
    ))
    .gives::<RewindPoints>(StatusCode::OK, "The messages.", json!({"messages": [], "canUndo": false}));
    let rewind = id(RouteOperation::new(
        "post",
        "rewindTo",
        "changes",
        "Go back to before a message: the conversation, the files, or both",
    ))
    .takes::<NewRewind>(json!({"before": 12, "scope": "both"}))
    .gives::<RewindResult>(
        StatusCode::OK,
        "The session in which the conversation continues. If nothing changed, `refused` says why.",
        json!({"session": "s01kabcdefghjkmnr", "parentSessionId": "s01kabcdefghjkmnp", "text": "Fix the test",
            "files": [], "refused": null, "conflicts": []}),
    )
    .fails(409);
    api.add("/sessions/{id}/rewind-points", get(points), vec![list]).add(
        "/sessions/{id}/rewind-to",
        post(rewind_to),
        vec![rewind],
    )
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RewindPoints {
    messages: Vec<RewindMessage>,
    /// The session was made by going back, and that can be undone.
    can_undo: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RewindMessage {
    /// Its event.
    seq: u64,
    request: RequestId,
    time: Time,
    text: String,
    /// Number of change sets between it and the next message.
    changes: usize,
}

async fn points(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<RewindPoints>, Failure> {
    server.client.sessions().get(&id).await?;
    let (points, can_undo) = server.client.sessions().rewind_points(&id).await?;
    let message = |point: trimtab_host::RewindPoint| RewindMessage {
        seq: point.seq,
        request: point.request,
        time: point.time,
        text: point.text,
        changes: point.changes,
    };
    Ok(Json(RewindPoints { messages: points.into_iter().map(message).collect(), can_undo }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewRewind {
    /// The event of the message. Absent: undo the rewind that made this session.
    #[serde(default)]
    before: Option<u64>,
    /// What is restored. Default: both.
    #[serde(default)]
    scope: RewindScope,
    /// What to do if the same lines were edited since.
    #[serde(default)]
    on_conflict: OnConflict,
    /// Report what would change, and change nothing.
    #[serde(default)]
    preview: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RewindResult {
    /// The session in which the conversation continues.
    session: SessionId,
    /// The session that went back. It keeps every message.
    parent_session_id: SessionId,
    /// The message, to be edited and sent again.
    text: Option<String>,
    /// What happens to each file.
    files: Vec<ChangedFile>,
    /// Why nothing changed.
    refused: Option<String>,
    /// Where edits of a person stand in the way.
    conflicts: Vec<Conflict>,
}

async fn rewind_to(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    JsonBody(wanted): JsonBody<NewRewind>,
) -> Result<Json<RewindResult>, Failure> {
    let NewRewind { before, scope, on_conflict, preview } = wanted;
    let sessions = server.client.sessions();
    sessions.get(&id).await?;
    if preview {
        let plan = sessions.rewind_plan(&id, before).await?;
        let files = if scope.has_files() { plan.writes.iter().map(ChangedFile::from).collect() } else { Vec::new() };
        let (text, refused) = (plan.point.map(|point| point.text), plan.blocked);
        let (session, conflicts) = (id.clone(), Vec::new());
        return Ok(Json(RewindResult { session, parent_session_id: id, text, files, refused, conflicts }));
    }
    let done = sessions.rewind_to(&id, before, scope, on_conflict).await?;
    let files = done.writes.iter().map(ChangedFile::from).collect();
    let (refused, conflicts) = done.refused.unzip();
    Ok(Json(RewindResult {
        session: done.session,
        parent_session_id: id,
        text: done.text,
        files,
        refused,
        conflicts: conflicts.unwrap_or_default(),
    }))
}
