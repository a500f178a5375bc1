//! Memories, which later sessions get.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, patch};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use trimtab_vocab::{MemoryEntry, MemoryId};

use super::Shared;
use super::extract::{Id, JsonBody, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let entry = example();
    let id = |operation: RouteOperation| operation.path::<MemoryId>("id", "The memory.", "r01kabcdefghjkmnq-m1");
    let list = RouteOperation::new("get", "listMemory", "memory", "List memories, oldest first")
        .query::<MemoryQuery>()
        .gives::<MemoryList>(StatusCode::OK, "The memories.", json!({"entries": [entry]}));
    let add = RouteOperation::new("post", "addMemory", "memory", "Add a memory, replacing one with the same content")
        .takes::<New>(json!({"text": "I prefer tabs"}))
        .gives::<MemoryEntry>(StatusCode::CREATED, "The memory.", entry.clone());
    let edit = id(RouteOperation::new("patch", "editMemory", "memory", "Change a memory's text or scope"))
        .takes::<Edited>(json!({"text": "I prefer spaces", "folder": null}))
        .gives::<MemoryEntry>(StatusCode::OK, "The memory as it is now.", entry);
    let remove =
        id(RouteOperation::new("delete", "deleteMemory", "memory", "Delete a memory")).gives_nothing("Deleted.");
    api.add("/memory", get(entries).post(remember), vec![list, add]).add(
        "/memory/{id}",
        patch(change).delete(forget),
        vec![edit, remove],
    )
}

fn example() -> Value {
    json!({"id": "r01kabcdefghjkmnq-m1", "text": "My name is Ada", "session": "s01kabcdefghjkmnp",
           "request": "r01kabcdefghjkmnq", "made": "2026-11-15T08:30:00.125Z"})
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryQuery {
    /// Only entries that contain all these words.
    #[serde(alias = "query")]
    q: Option<String>,
    /// Only memories that apply in this folder.
    folder: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MemoryList {
    entries: Vec<MemoryEntry>,
}

async fn entries(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<MemoryQuery>,
) -> Result<Json<MemoryList>, Failure> {
    let words = wanted.q.unwrap_or_default();
    let entries = server.client.memory().list(wanted.folder.as_deref(), &words).await?;
    Ok(Json(MemoryList { entries }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct New {
    /// What, in a sentence of 500 bytes at most.
    #[schemars(length(min = 1, max = 500))]
    text: String,
    /// The folder that it applies to. Absent: everywhere.
    #[serde(default)]
    folder: Option<String>,
}

async fn remember(
    State(server): State<Shared>,
    JsonBody(new): JsonBody<New>,
) -> Result<(StatusCode, Json<MemoryEntry>), Failure> {
    let entry = server.client.memory().add(&new.text, new.folder).await?;
    Ok((StatusCode::CREATED, Json(entry)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edited {
    /// The new text. Absent: no change.
    #[serde(default)]
    #[schemars(length(min = 1, max = 500))]
    text: Option<String>,
    /// The new folder. `null`: everywhere. Absent: no change.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    folder: Option<Option<String>>,
}

/// Null is a value where absent is none.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

async fn change(
    State(server): State<Shared>,
    Id(id): Id<MemoryId>,
    JsonBody(edited): JsonBody<Edited>,
) -> Result<Json<MemoryEntry>, Failure> {
    Ok(Json(server.client.memory().edit(&id, edited.text.as_deref(), edited.folder).await?))
}

async fn forget(State(server): State<Shared>, Id(id): Id<MemoryId>) -> Result<StatusCode, Failure> {
    server.client.memory().forget(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
