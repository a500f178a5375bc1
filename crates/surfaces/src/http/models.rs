//! The models to choose from.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use trimtab_vocab::ProblemKind;

use super::Shared;
use super::openapi::{Api, RouteOperation};
use super::setup::model_in_force;

/// Time for a provider to answer. The others are listed without it.
const PATIENCE: Duration = Duration::from_secs(6);
/// Models of one provider.
const MOST_MODELS: usize = 500;

pub(super) fn routes(api: Api) -> Api {
    let list = RouteOperation::new("get", "listModels", "about", "List the models of every configured provider")
        .gives::<ModelList>(
        StatusCode::OK,
        "The models. Providers that do not answer are in `problems`.",
        json!({"model": "anthropic/claude-sonnet-5-5", "problems": [],
                "models": [{"model": "anthropic/claude-sonnet-5-5", "images": true, "thinking": true}]}),
    );
    api.add("/models", get(list_models), vec![list])
}

#[derive(Debug, Serialize, JsonSchema)]
struct ModelList {
    /// The default model, as `provider/name`. Absent: none is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    models: Vec<ListedModel>,
    /// Problems with providers that could not be reached, one sentence each.
    problems: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedModel {
    /// `provider/name`.
    model: String,
    /// It reads images.
    images: bool,
    /// It can think before it answers.
    thinking: bool,
}

async fn list_models(State(server): State<Shared>) -> Json<ModelList> {
    let mut profile = (*server.profile()).clone();
    if let Some(found) = server.client.chosen_model() {
        profile.use_found(&found);
    }
    let providers = profile.providers.keys().filter(|name| profile.is_set_up(name));
    let asked = providers.map(|name| async {
        let listed = tokio::time::timeout(PATIENCE, trimtab_host::list_models(&profile, name)).await;
        (name.as_str(), listed)
    });
    let (mut names, mut problems) = (Vec::new(), Vec::new());
    for (provider, listed) in join_all(asked).await {
        match listed {
            Ok(Ok(models)) => {
                names.extend(models.into_iter().take(MOST_MODELS).map(|model| format!("{provider}/{}", model.name)));
            }
            // A local server that nobody has set up does not have to run.
            Ok(Err(problem))
                if problem.kind == ProblemKind::Network
                    && profile.providers.get(provider).is_some_and(|known| known.key.is_none()) => {}
            Ok(Err(problem)) => problems.push(format!("{provider}: {}", problem.message)),
            Err(_) => problems.push(format!("{provider} did not answer within {} seconds.", PATIENCE.as_secs())),
        }
    }
    let model = model_in_force(&server);
    if let Some(model) = model.as_ref().filter(|model| !names.contains(model)) {
        names.insert(0, model.clone());
    }
    let describe = |model: String| {
        let facts = profile.facts(&model);
        ListedModel { model, images: facts.images, thinking: facts.thinking }
    };
    Json(ModelList { model, models: names.into_iter().map(describe).collect(), problems })
}
