//! What is in force where the server works: its folder, the settings with their origins, the pills, the extensions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{Extension, Pills, config};
use trimtab_vocab::Mode;

use super::Shared;
use super::extract::QueryArgs;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let settings = RouteOperation::new("get", "getSettings", "about", "Show effective settings with their origin")
        .gives::<Settings>(
            StatusCode::OK,
            "The settings. Change them in files or the environment.",
            json!({"folder": "/home/me/project", "file": "/home/me/.trimtab/config.toml", "settings": [{
                "setting": "limits.steps", "value": "25", "origin": "default", "help": "Maximum number of model calls per request.",
                "expected": "a whole number from 1 to 10000", "variable": "TRIMTAB_LIMITS_STEPS"}]}),
        );
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
        "MCP servers, skills, agents, commands, hooks, and instructions: what is loaded, pending, or ignored, and why.",
        json!({"trusted": true, "problems": [], "extensions": [{"kind": "skill", "name": "pdf",
                "description": "Read PDF files", "state": "loaded",
                "source": "user", "origin": "/home/me/.claude/skills/pdf/SKILL.md", "reasons": []}]}),
    );
    let api = api.add("/extensions", get(known_extensions), vec![extensions]);
    api.add("/settings", get(settings_in_force), vec![settings]).add("/pills", get(known_pills), vec![pills])
}

#[derive(Debug, Serialize, JsonSchema)]
struct Settings {
    /// The default folder for new sessions.
    folder: String,
    /// The settings file, which might not exist yet.
    file: String,
    /// A first request to suggest, if the model is a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    idea: Option<Idea>,
    settings: Vec<Setting>,
}

/// A suggested request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Idea {
    /// What clicking it writes into the message box.
    pub(crate) text: String,
    /// The mode of the request.
    pub(crate) mode: Mode,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Setting {
    /// Its name.
    setting: String,
    /// Its value, as TOML writes it.
    value: String,
    /// Where it comes from.
    origin: String,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The expected value, as the end of a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    /// The environment variable that overrides the file.
    variable: String,
}

async fn settings_in_force(State(server): State<Shared>) -> Json<Settings> {
    let describe = |one: config::Shown| {
        let key = config::key_of(&one.path);
        Setting {
            help: key.map(|key| key.help.to_owned()),
            expected: key.map(|key| key.kind.takes()),
            variable: config::env_name(&one.path),
            setting: one.path,
            value: one.value,
            origin: one.origin,
        }
    };
    let settings = server.profile.shown().into_iter().map(describe).collect();
    let file = server.profile.file.display().to_string();
    Json(Settings { folder: server.folder.clone(), file, idea: server.idea.clone(), settings })
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
    let trusted = server.client.permissions().trusts(&server.profile, folder).await?;
    let pills = Pills::load(&server.profile, trusted.then_some(folder));
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
    /// `mcp`, `skill`, `agent`, `command`, `pill`, `hook`, or `instructions`.
    kind: &'static str,
    name: String,
    /// What it is for; empty if it does not say so.
    description: String,
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
    let found = server.client.extensions(&server.profile, folder).await?;
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
