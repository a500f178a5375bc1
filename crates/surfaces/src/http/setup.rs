//! The first start in a browser: which model works, which servers of this machine have one, and the choice of one.
//!
//! A choice is only taken where no model is set up. Any other setting is changed in files and the environment only.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{FoundModel, config, local_models, model_at, remember_found};

use super::Shared;
use super::extract::JsonBody;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let found =
        json!({"model": "llamacpp/qwen2.5-coder", "server": "llama.cpp", "baseUrl": "http://127.0.0.1:8080/v1"});
    let look = RouteOperation::new("get", "getSetup", "about", "Show the current model, or the models to choose from")
        .gives::<ModelSetup>(
        StatusCode::OK,
        "Trimtab looks for servers on this machine only if no model is set up.",
        json!({"found": [found], "keys": "ANTHROPIC_API_KEY or OPENAI_API_KEY"}),
    );
    let choose = RouteOperation::new("post", "chooseModel", "about", "Choose a model if none is set up")
        .takes::<ModelChoice>(json!({"address": "127.0.0.1:8080"}))
        .gives::<ModelSetup>(
            StatusCode::OK,
            "The model for all requests. It is saved in the settings.",
            json!({"model": "llamacpp/qwen2.5-coder", "found": [], "keys": "ANTHROPIC_API_KEY or OPENAI_API_KEY"}),
        )
        .fails(409)
        .fails(502);
    api.add("/setup", get(setup).post(choose_model), vec![look, choose])
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ModelSetup {
    /// The model that works, as `provider/name`. Absent: none is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// What the servers of this machine have.
    found: Vec<LocalModel>,
    /// The environment variables whose key alone chooses a model, in words.
    keys: String,
    /// Why the model could not be saved to the settings, and which lines to add there.
    #[serde(skip_serializing_if = "Option::is_none")]
    unkept: Option<String>,
}

/// A model of a server on this machine.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LocalModel {
    /// `provider/name`.
    model: String,
    /// Who serves it.
    server: String,
    base_url: String,
    /// The server is still loading it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    loading: bool,
    /// The other models of the server, as `provider/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
}

impl From<FoundModel> for LocalModel {
    fn from(found: FoundModel) -> Self {
        let others = found.others.iter().map(|name| format!("{}/{name}", found.provider())).collect();
        let FoundModel { model, server, base_url, loading, .. } = found;
        Self { model, server, base_url, loading, others }
    }
}

/// One of the two.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ModelChoice {
    /// A model that was found, `provider/name`.
    model: Option<String>,
    /// Address of a server: `8080`, `127.0.0.1:8080`, `http://host:8000/v1`.
    address: Option<String>,
}

/// The model for messages that name none.
pub(super) fn model_in_force(server: &Shared) -> Option<String> {
    server.profile().model.clone().or_else(|| server.client.chosen_model().map(|found| found.model))
}

async fn setup(State(server): State<Shared>) -> Json<ModelSetup> {
    let model = model_in_force(&server);
    let found = if model.is_none() { local_models(&server.profile()).await } else { Vec::new() };
    let found = found.into_iter().map(LocalModel::from).collect();
    Json(ModelSetup { model, found, keys: config::key_variables(), unkept: None })
}

async fn choose_model(
    State(server): State<Shared>,
    JsonBody(choice): JsonBody<ModelChoice>,
) -> Result<Json<ModelSetup>, Failure> {
    if let Some(model) = model_in_force(&server) {
        return Err(Failure::new(StatusCode::CONFLICT, "settings", format!("A model is set up already: {model}."))
            .hint("Change it in the settings file, or send a message with another model."));
    }
    let found = match choice {
        ModelChoice { address: Some(address), model: None } => model_at(&server.profile(), &address).await?,
        ModelChoice { model: Some(model), address: None } => {
            let all = local_models(&server.profile()).await;
            let found = all.into_iter().find_map(|found| found.with_model(&model));
            found.ok_or_else(|| Failure::not_found(format!("No local server has the model {model}.")))?
        }
        _ => return Err(Failure::unprocessable("Give either a model or an address.")),
    };
    let mut profile = (*server.profile()).clone();
    server.client.use_found(&mut profile, &found);
    let unkept = remember_found(&server.profile(), &found).err().map(|problem| match problem.hint {
        Some(hint) => format!("{} {hint}", problem.message),
        None => problem.message,
    });
    Ok(Json(ModelSetup { model: Some(found.model), found: Vec::new(), keys: config::key_variables(), unkept }))
}
