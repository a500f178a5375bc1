//! What is in force where the server works: its folder, the settings with their origins, the pills.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{Pills, config};
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
    api.add("/settings", get(settings_in_force), vec![settings]).add("/pills", get(known_pills), vec![pills])
}

#[derive(Debug, Serialize, JsonSchema)]
struct Settings {
    /// Where a session works if it is not said where.
    folder: String,
    /// The settings file. It may not exist yet.
    file: String,
    /// What could be said first, if the model at hand can only do something in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    idea: Option<Idea>,
    settings: Vec<Setting>,
}

/// Something that a person could say.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Idea {
    /// The words.
    pub(crate) text: String,
    /// How they are meant.
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
    /// What may follow the name.
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
