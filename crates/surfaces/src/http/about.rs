//! What a folder offers: its pills and extensions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::Extension;
use trimtab_vocab::ServerResource;

use super::Shared;
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let pills =
        RouteOperation::new("get", "listPills", "about", "List pills").query::<FolderQuery>().gives::<PillList>(
            StatusCode::OK,
            "Your own pills, the pills of the folder if it is trusted, and the prompts of its MCP servers.",
            json!({"pills": [{"name": "review", "description": "Look at the last change", "arguments": "[what]"}]}),
        );
    let resources = RouteOperation::new("get", "listResources", "about", "List resources of MCP servers")
        .query::<FolderQuery>()
        .gives::<ResourceNames>(
            StatusCode::OK,
            "The resources that a request can name with `@`, as far as they are known. Nothing is started for it.",
            json!({"resources": [{"mention": "docs:file:///readme.md", "server": "docs", "uri": "file:///readme.md",
                "name": "Readme", "isTemplate": false}]}),
        );
    let extensions = RouteOperation::new("get", "listExtensions", "about", "List extensions")
        .query::<FolderQuery>()
        .gives::<ExtensionList>(
        StatusCode::OK,
        "MCP servers, skills, agents, commands, hooks, and instructions: what is loaded, pending, or ignored, and why.",
        json!({"trusted": true, "problems": [], "extensions": [{"kind": "skill", "name": "pdf",
                "description": "Read PDF files", "state": "loaded",
                "source": "user", "origin": "/home/me/.claude/skills/pdf/SKILL.md", "reasons": []}]}),
    );
    let api = api.add("/extensions", get(known_extensions), vec![extensions]);
    api.add("/resources", get(known_resources), vec![resources]).add("/pills", get(known_pills), vec![pills])
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
    let pills = server.client.pills(&server.profile(), folder).await?;
    let known = pills.list().map(|(name, known)| PillInfo {
        name,
        description: known.definition.description.clone(),
        arguments: known.definition.arguments.clone(),
    });
    Ok(Json(PillList { pills: known.collect() }))
}

#[derive(Debug, Serialize, JsonSchema)]
struct ResourceNames {
    resources: Vec<ResourceInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResourceInfo {
    /// What follows the `@` in a request.
    mention: String,
    server: String,
    uri: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    /// The address has placeholders such as `{id}`.
    is_template: bool,
}

async fn known_resources(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<FolderQuery>,
) -> Result<Json<ResourceNames>, Failure> {
    let folder = wanted.folder.as_deref().unwrap_or(&server.folder);
    let found = server.client.servers().known_resources(&server.profile(), folder).await?;
    let info = |(server, resource): (String, ServerResource)| ResourceInfo {
        mention: format!("{server}:{}", resource.uri),
        server,
        uri: resource.uri,
        name: resource.name,
        description: resource.description,
        is_template: resource.is_template,
    };
    Ok(Json(ResourceNames { resources: found.into_iter().map(info).collect() }))
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
    /// `mcp`, `skill`, `agent`, `command`, `pill`, `prompt`, `hook`, or `instructions`.
    kind: &'static str,
    name: String,
    /// What it is for; empty if it does not say so.
    description: String,
    /// `loaded`, `login` (a server that needs a login), `pending`, or `ignored`.
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
        description: extension.description,
        state: extension.state.name(),
        source: extension.source,
        origin: extension.origin,
        reasons: extension.reasons,
    };
    let extensions = found.list.into_iter().map(info).collect();
    Ok(Json(ExtensionList { extensions, trusted: found.trusted, problems: found.problems }))
}
