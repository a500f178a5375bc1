//! Forks, names and exports of sessions.

use axum::Json;
use axum::body::Body as Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trimtab_vocab::SessionId;

use super::Shared;
use super::document::SessionInfo;
use super::extract::{Id, JsonBody};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::sessions::idempotency_key;
use crate::export::pieces;

pub(super) fn routes(api: Api) -> Api {
    let id = |operation: RouteOperation| operation.path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp");
    let rename = id(RouteOperation::new("patch", "renameSession", "sessions", "Rename a session"))
        .takes::<Changed>(json!({"title": "Trim tabs"}))
        .gives::<SessionInfo>(
            StatusCode::OK,
            "The session. A generated title never replaces this one.",
            json!({"id": "s01kabcdefghjkmnp", "docType": "chat", "parentSessionId": null, "forkedAt": null,
                "folder": "/home/me/project", "title": "Trim tabs", "created": "2026-11-15T08:30:00.125Z",
                "updated": "2026-11-15T08:30:04.017Z"}),
        )
        .fails(409);
    let fork = id(RouteOperation::new("post", "forkSession", "sessions", "Fork a session at a message"))
        .header(
            "Idempotency-Key",
            "Idempotency key: a request with the same key forks only once, and gets the same answer.",
            json!({"type": "string", "minLength": 1, "maxLength": 200}),
        )
        .takes::<NewFork>(json!({"at": 14}))
        .gives::<Forked>(
            StatusCode::CREATED,
            "The new session. The original is unchanged and keeps the undo history until the fork.",
            json!({"session": "s01kabcdefghjkmnr", "parentSessionId": "s01kabcdefghjkmnp", "at": 14}),
        )
        .fails(409);
    let export =
        id(RouteOperation::new("get", "exportSession", "sessions", "Export a session with all its events and changes"))
            .gives::<Value>(
                StatusCode::OK,
                "One object: what lists show of it, `events`, `bugs`, `extensions` and `changeHistory`.",
                json!({"id": "s01kabcdefghjkmnp", "docType": "chat", "events": [], "bugs": [], "extensions": [],
                "changeHistory": {"history": [], "position": -1}}),
            );
    api.add("/sessions/{id}", patch(change), vec![rename]).add("/sessions/{id}/fork", post(fork_it), vec![fork]).add(
        "/sessions/{id}/export",
        get(export_it),
        vec![export],
    )
}

/// The fields to change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Changed {
    /// The name: one line.
    #[schemars(length(min = 1, max = 120))]
    title: String,
}

async fn change(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    JsonBody(Changed { title }): JsonBody<Changed>,
) -> Result<Json<SessionInfo>, Failure> {
    server.client.sessions().rename(&id, &title).await?;
    Ok(Json(server.client.sessions().get(&id).await?.into()))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewFork {
    /// The `seq` of the last event of the fork. Default: all events.
    #[serde(default)]
    #[schemars(range(min = 1, max = 999_999_999_999_999_999_u64))]
    at: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Forked {
    /// The new session.
    session: SessionId,
    /// The session from which it was forked.
    parent_session_id: SessionId,
    /// So many events at its beginning are that session's. The end of a request counts as a part of its last words.
    at: u64,
}

async fn fork_it(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    headers: HeaderMap,
    JsonBody(NewFork { at }): JsonBody<NewFork>,
) -> Result<(StatusCode, Json<Forked>), Failure> {
    let session = match idempotency_key(&headers)? {
        Some(key) => server.client.sessions().fork_once(&id, at, key).await?,
        None => server.client.sessions().fork(&id, at).await?,
    };
    let at = server.client.sessions().get(&session).await?.forked.unwrap_or(0);
    Ok((StatusCode::CREATED, Json(Forked { session, parent_session_id: id, at })))
}

async fn export_it(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Response, Failure> {
    let row = server.client.sessions().get(&id).await?;
    let pieces = pieces(server.client.clone(), row);
    let stream = futures_util::stream::unfold(pieces, |mut pieces| async move {
        // What breaks off must not look whole.
        let piece = pieces.recv().await?.map_err(|problem| std::io::Error::other(problem.message));
        Some((piece, pieces))
    });
    let mut response = Bytes::from_stream(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"trimtab-{id}.json\"")) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
