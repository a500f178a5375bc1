//! Commands that continue in the background.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_vocab::{BackgroundId, BackgroundRow, BackgroundText, LoopbackName, SessionId};

use super::Shared;
use super::extract::{Id, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let id = |operation: RouteOperation| operation.path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp");
    let command =
        |operation: RouteOperation| id(operation).path::<BackgroundId>("command", "The background command.", "b1");
    let list = id(RouteOperation::new("get", "listCommands", "sessions", "List the background commands of a session"))
        .gives::<BackgroundList>(StatusCode::OK, "The commands, oldest first.", json!({"commands": []}));
    let output =
        command(RouteOperation::new("get", "readCommandOutput", "sessions", "Read the output of a background command"))
            .query::<OutputWanted>()
            .gives::<BackgroundText>(StatusCode::OK, "A part of the output.", json!({"text": "", "next": 0}));
    let stop = command(RouteOperation::new("post", "stopCommand", "sessions", "Stop a background command"))
        .gives::<BackgroundRow>(
        StatusCode::ACCEPTED,
        "The command as it was. The session's events report its end.",
        json!({
            "id": "b1", "session": "s01kabcdefghjkmnp", "call": "c1t1", "command": "npm run dev",
            "started": "2026-01-02T03:04:05.000Z", "ref": "output-r1-c1t1",
        }),
    );
    let open = command(RouteOperation::new(
        "post",
        "openPort",
        "sessions",
        "Open a port of a background command for a browser on the server's machine",
    ))
    .query::<PortWanted>()
    .gives::<OpenedPort>(
        StatusCode::OK,
        "The address. It works on the machine of the server while the command runs.",
        json!({"url": "http://localhost:5173"}),
    );
    api.add("/sessions/{id}/commands", get(list_commands), vec![list])
        .add("/sessions/{id}/commands/{command}", get(read_output), vec![output])
        .add("/sessions/{id}/commands/{command}/stop", post(stop_command), vec![stop])
        .add("/sessions/{id}/commands/{command}/open", post(open_port), vec![open])
}

#[derive(Debug, Serialize, JsonSchema)]
struct BackgroundList {
    commands: Vec<BackgroundRow>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutputWanted {
    /// Offset of the first byte to read. The default is the end of the output.
    since: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PortWanted {
    /// Port that the command listens on. The default is the first one.
    port: Option<u16>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OpenedPort {
    url: String,
}

/// The session and the command of a path.
type CommandPath = Path<(String, String)>;

fn parsed(Path((session, command)): CommandPath) -> Result<(SessionId, BackgroundId), Failure> {
    let unknown = || Failure::not_found("This background command does not exist.");
    Ok((session.parse().map_err(|_| unknown())?, command.parse().map_err(|_| unknown())?))
}

async fn list_commands(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<BackgroundList>, Failure> {
    server.client.sessions().get(&id).await?;
    Ok(Json(BackgroundList { commands: server.client.commands().list(&id).await? }))
}

async fn read_output(
    State(server): State<Shared>,
    path: CommandPath,
    QueryArgs(wanted): QueryArgs<OutputWanted>,
) -> Result<Json<BackgroundText>, Failure> {
    let (session, command) = parsed(path)?;
    server.client.sessions().get(&session).await?;
    Ok(Json(server.client.commands().output(&session, &command, wanted.since).await?))
}

async fn stop_command(
    State(server): State<Shared>,
    path: CommandPath,
) -> Result<(StatusCode, Json<BackgroundRow>), Failure> {
    let (session, command) = parsed(path)?;
    server.client.sessions().get(&session).await?;
    Ok((StatusCode::ACCEPTED, Json(server.client.commands().stop(&session, &command).await?)))
}

/// The page's cookies belong to the name that it is called by, so the server of the command gets the other one.
async fn open_port(
    State(server): State<Shared>,
    path: CommandPath,
    headers: HeaderMap,
    QueryArgs(wanted): QueryArgs<PortWanted>,
) -> Result<Json<OpenedPort>, Failure> {
    let (session, command) = parsed(path)?;
    server.client.sessions().get(&session).await?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let called = host.split(':').next().unwrap_or_default();
    let name = match called.eq_ignore_ascii_case(LoopbackName::Localhost.as_str()) {
        true => LoopbackName::Address,
        false => LoopbackName::Localhost,
    };
    Ok(Json(OpenedPort { url: server.client.commands().open_port(&session, &command, wanted.port, name).await? }))
}
