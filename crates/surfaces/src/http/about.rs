//! What a folder offers: its pills and extensions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{Extension, Pills};

use super::Shared;
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let pills =
        RouteOperation::new("get", "listPills", "about", "List pills").query::<FolderQuery>().gives::<PillList>(
            StatusCode::OK,
            "Your own pills, and the pills of the folder if it is trusted.",
            json!({"pills": [{"name": "review", "description": "Look at the last change", "arguments": "[what]"}]}),
        );
    let extensions = RouteOperation::new("get", "listExtensions", "about", "List extensions")
        .query::<FolderQuery>()
        .gives::<ExtensionList>(
        StatusCode::OK,
        "MCP servers, skills, commands, and instructions: what is loaded, pending, or ignored, and why.",
        json!({"trusted": true, "problems": [], "extensions": [{"kind": "skill", "name": "pdf", "state": "loaded",
                "source": "user", "origin": "/home/me/.claude/skills/pdf/SKILL.md", "reasons": []}]}),
    );
    let api = api.add("/extensions", get(known_extensions), vec![extensions]);
    api.add("/pills", get(known_pills), vec![pills])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FolderQuery {
    /// The folder of the session; without it, the server's own.
    folder: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PillList {
    pills: Vec<PillInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PillInfo {
    /// What it is called by, without the `/`.
    name: String,
    /// What it is for.
    description: String,
    /// The arguments after the name.
    arguments: String,
}

async fn known_pills(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<FolderQuery>,
) -> Result<Json<PillList>, Failure> {
    let folder = wanted.folder.as_deref().unwrap_or(&server.folder);
    let trusted = server.client.permissions().trusts(&server.profile(), folder).await?;
    let pills = Pills::load(&server.profile(), trusted.then_some(folder));
    let known = pills.list().map(|(name, known)| PillInfo {
        name,
        description: known.definition.description.clone(),
        arguments: known.definition.arguments.clone(),
    });
    Ok(Json(PillList { pills: known.collect() }))
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExtensionList {
    extensions: Vec<ExtensionInfo>,
    /// Whether the folder is trusted. Trimtab reads nothing from an untrusted folder.
    trusted: bool,
    /// Problems with whole files.
    problems: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExtensionInfo {
    /// `mcp`, `skill`, `command`, `pill`, or `instructions`.
    kind: &'static str,
    name: String,
    /// `loaded`, `pending`, or `ignored`.
    state: &'static str,
    /// `user`, `project`, or `editor`.
    source: &'static str,
    /// The file that it comes from, or the command line of a server.
    origin: String,
    /// Why it is not in use, or what of it is not followed.
    reasons: Vec<String>,
}

async fn known_extensions(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<FolderQuery>,
) -> Result<Json<ExtensionList>, Failure> {
    let folder = wanted.folder.as_deref().unwrap_or(&server.folder);
    let found = server.client.extensions(&server.profile(), folder).await?;
    let info = |extension: Extension| ExtensionInfo {
        kind: extension.kind.name(),
        name: extension.name,
        state: extension.state.name(),
        source: extension.source,
        origin: extension.origin,
        reasons: extension.reasons,
    };
    let extensions = found.list.into_iter().map(info).collect();
    Ok(Json(ExtensionList { extensions, trusted: found.trusted, problems: found.problems }))
}
