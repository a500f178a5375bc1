//! The settings in force with their origins, and changes of them. A change that makes Trimtab less strict needs a code
//! from the terminal ([`super::confirmation`]).

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, patch};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::config::{self, ChangeEffect, Profile, SettingGuard, SettingKind};
use trimtab_vocab::Mode;

use super::Shared;
use super::access::Authenticated;
use super::extract::{Id, JsonBody};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

/// Bytes of a value at most.
const LONGEST_VALUE: usize = 16 * 1024;

pub(super) fn routes(api: Api) -> Api {
    let steps = json!({
        "setting": "limits.steps", "value": "25", "origin": "default", "help": "Maximum number of model calls per request.",
        "expected": "a whole number from 1 to 10000", "variable": "TRIMTAB_LIMITS_STEPS", "kind": "integer",
        "least": 1.0, "most": 10000.0, "guard": "guarded", "default": "25"});
    let show = RouteOperation::new("get", "getSettings", "about", "Show effective settings with their origin")
        .gives::<Settings>(
            StatusCode::OK,
            "The settings.",
            json!({"folder": "/home/me/project", "file": "/home/me/.trimtab/config.toml", "settings": [steps]}),
        );
    let change = RouteOperation::new("patch", "changeSetting", "about", "Change a setting in the settings file")
        .path::<String>("key", "The setting.", "limits.steps")
        .takes::<SettingUpdate>(json!({"value": "20"}))
        .gives::<SavedSetting>(
            StatusCode::OK,
            "The setting as it is now. A change that makes Trimtab less strict answers 409 with the code `confirm`, and needs the code that `trimtab serve` prints.",
            json!({"setting": steps, "restart": false}),
        )
        .fails(409);
    api.add("/settings", get(settings_in_force), vec![show]).add("/settings/{key}", patch(change_setting), vec![change])
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
    /// The page is used from another machine: settings can only be made stricter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    remote: bool,
    /// Why the settings file could not be read. The settings are those from before.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
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
#[serde(rename_all = "camelCase")]
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
    /// What a form for it looks like.
    kind: SettingForm,
    /// The values to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<f64>,
    /// Who can change it where.
    guard: GuardName,
    /// The default, as TOML writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// The settings file sets it, so it can be reset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_file: bool,
    /// What overrides the settings file, such as an environment variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    overridden: Option<String>,
    /// A change counts after the server is started again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    restart: bool,
}

/// What a form for a setting looks like.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SettingForm {
    Text,
    Choice,
    Integer,
    Number,
    Switch,
    List,
    Table,
}

/// Who can change a setting where.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum GuardName {
    /// Anybody who is logged in.
    Preference,
    /// Anybody who is logged in can make it stricter. Making it looser needs the code in the terminal.
    Guarded,
    /// Only `trimtab config set` and the settings file.
    Terminal,
}

fn describe(profile: &Profile, shown: config::Shown) -> Setting {
    let key = config::key_of(&shown.path);
    let kind = key.map(|key| key.kind);
    let (least, most) = match kind {
        #[allow(clippy::cast_precision_loss, reason = "no setting has a bound that large")]
        Some(SettingKind::Int(least, most)) => (Some(least as f64), Some(most as f64)),
        Some(SettingKind::Float(least, most)) => (Some(least), Some(most)),
        _ => (None, None),
    };
    Setting {
        help: key.map(|key| key.help.to_owned()),
        expected: kind.map(SettingKind::takes),
        variable: config::env_name(&shown.path),
        kind: kind.map_or(SettingForm::Text, form_of),
        choices: match kind {
            Some(SettingKind::Choice(choices)) => choices.iter().map(|choice| (*choice).to_owned()).collect(),
            _ => Vec::new(),
        },
        least,
        most,
        guard: match config::guard_of(&shown.path) {
            SettingGuard::Preference => GuardName::Preference,
            SettingGuard::Guarded => GuardName::Guarded,
            SettingGuard::Terminal => GuardName::Terminal,
        },
        default: key.map(|key| key.default.to_owned()),
        in_file: config::is_in_file(profile, &shown.path),
        overridden: config::overriding(profile, &shown.path),
        restart: config::needs_restart(&shown.path),
        setting: shown.path,
        value: shown.value,
        origin: shown.origin,
    }
}

fn form_of(kind: SettingKind) -> SettingForm {
    match kind {
        SettingKind::Text => SettingForm::Text,
        SettingKind::Choice(_) => SettingForm::Choice,
        SettingKind::Int(..) => SettingForm::Integer,
        SettingKind::Float(..) => SettingForm::Number,
        SettingKind::Bool => SettingForm::Switch,
        SettingKind::List | SettingKind::Phrases | SettingKind::Rules => SettingForm::List,
        SettingKind::Numbers(..) | SettingKind::Texts | SettingKind::Headers | SettingKind::Fields => {
            SettingForm::Table
        }
    }
}

async fn settings_in_force(State(server): State<Shared>, Extension(who): Extension<Authenticated>) -> Json<Settings> {
    let profile = server.profile();
    let settings = profile.shown().into_iter().map(|shown| describe(&profile, shown)).collect();
    let problem = server.profile.problem().map(|problem| match problem.hint {
        Some(hint) => format!("{} {hint}", problem.message),
        None => problem.message,
    });
    Json(Settings {
        folder: server.folder.clone(),
        file: profile.file.display().to_string(),
        idea: server.idea.clone(),
        remote: !who.is_local,
        problem,
        settings,
    })
}

/// A new value, or a reset.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SettingUpdate {
    /// The new value, written as for `trimtab config set`.
    value: Option<String>,
    /// Removes the setting from the settings file, so that its default counts.
    #[serde(default)]
    reset: bool,
    /// The code that `trimtab serve` printed for this change.
    code: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SavedSetting {
    setting: Setting,
    /// The change counts after the server is started again.
    restart: bool,
}

async fn change_setting(
    State(server): State<Shared>,
    Extension(who): Extension<Authenticated>,
    Id(path): Id<String>,
    JsonBody(update): JsonBody<SettingUpdate>,
) -> Result<Json<SavedSetting>, Failure> {
    let SettingUpdate { value, reset, code } = update;
    if value.is_some() == reset {
        return Err(Failure::unprocessable("Give either a value or `reset`."));
    }
    if value.as_ref().is_some_and(|value| value.len() > LONGEST_VALUE) {
        return Err(Failure::unprocessable("A value has at most 16 KB."));
    }
    if config::key_of(&path).is_none() {
        return Err(Failure::not_found(format!("There is no setting {path}.")));
    }
    let profile = server.profile();
    // Over a file that cannot be read, nothing can be compared.
    if let Some(problem) = server.profile.problem() {
        return Err(problem.into());
    }
    if let Some(origin) = config::overriding(&profile, &path) {
        let message = format!("{path} comes from {origin}, which overrides the settings file.");
        return Err(Failure::new(StatusCode::CONFLICT, "overridden", message)
            .hint("Start the server without it, and change the setting again."));
    }
    let effect = config::effect_of(&profile, &path, value.as_deref())?;
    match effect {
        ChangeEffect::Harmless | ChangeEffect::Stricter => {}
        ChangeEffect::Looser => {
            let before = profile.shown().into_iter().find(|shown| shown.path == path).map(|shown| shown.value);
            let before = before.unwrap_or_default();
            let change = match &value {
                Some(value) => format!("change the setting {path} from {before} to {value:?}"),
                None => format!("reset the setting {path} from {before} to its default"),
            };
            server.confirmations.check(&who, &change, code.as_deref())?;
        }
        ChangeEffect::Refused => {
            return Err(Failure::new(
                StatusCode::CONFLICT,
                "terminal",
                format!("{path} can only be changed on the machine itself."),
            )
            .hint(format!("Run `trimtab config set {path} VALUE` there.")));
        }
    }
    server.client.admin().change_setting(&path, value.as_deref(), effect).await?;
    server.profile.reload(&server.client).await;
    let profile = server.profile();
    let shown = profile.shown().into_iter().find(|shown| shown.path == path);
    let shown = shown.ok_or_else(|| Failure::not_found(format!("There is no setting {path}.")))?;
    let setting = describe(&profile, shown);
    Ok(Json(SavedSetting { restart: setting.restart, setting }))
}
