//! Finds the model for a name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use trimtab_vocab::{Problem, ProblemKind};

use super::anthropic::Anthropic;
use super::gemini::Gemini;
use super::ollama::Ollama;
use super::openai::OpenAi;
use super::replay::{Recorder, Replay};
use super::responses::Responses;
use super::{Model, RequestExtras, http};

/// How a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The Messages API.
    Anthropic,
    /// Chat Completions.
    OpenAi,
    /// The Responses API.
    Responses,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
    /// A recording.
    Replay,
}

/// A model provider.
#[derive(Debug, Clone)]
pub struct Provider {
    /// How it speaks.
    pub dialect: Dialect,
    pub base_url: String,
    /// The environment variable that holds its key, if it needs one.
    pub key_env: Option<String>,
    /// The key, if it was found.
    pub key: Option<SecretString>,
    /// What its requests hold beside that.
    pub extras: Arc<RequestExtras>,
}

/// Finds models by name.
pub trait ModelRegistry: Send + Sync {
    /// The model called `provider/name`.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, Problem>;
}

/// The providers of the settings.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// By name.
    pub providers: BTreeMap<String, Provider>,
    /// The timeout of a silent call.
    pub idle: Duration,
    /// Write every exchange to this file, for a later replay.
    pub record: Option<PathBuf>,
}

/// A model's name with the provider that it is known for.
fn with_provider(name: &str) -> String {
    let known = [("claude", "anthropic"), ("gpt", "openai"), ("grok", "xai"), ("gemini", "gemini")];
    match known.iter().find(|(beginning, _)| name.starts_with(beginning)) {
        Some((_, provider)) => format!("{provider}/{name}"),
        None => "anthropic/claude-sonnet-5-5".to_owned(),
    }
}

impl ModelRegistry for Registry {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, Problem> {
        let Some((provider, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty()) else {
            return Err(Problem::new(ProblemKind::Usage, format!("Invalid model name `{name}`.")).hint(format!(
                "A model is named PROVIDER/NAME, for example {}. `trimtab models` lists the available models.",
                with_provider(name)
            )));
        };
        let Some(settings) = self.providers.get(provider) else {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            return Err(Problem::new(
                ProblemKind::Usage,
                format!("Unknown provider `{provider}` in the model name `{name}`."),
            )
            .hint(format!("The providers are {}. Add others under [providers] in the settings.", known.join(", "))));
        };
        let needs_key = settings.key_env.as_ref().filter(|_| settings.key.is_none());
        if let Some(variable) = needs_key {
            return Err(Problem::new(ProblemKind::NoKey, format!("No API key is set for {provider}."))
                .hint(format!("Set {variable}, choose another model with --model, or try `trimtab demo`.")));
        }
        if let Some(variable) = settings.extras.missing.first() {
            let message = format!("The settings of {provider} name ${variable}, which is not set.");
            return Err(Problem::new(ProblemKind::NoKey, message)
                .hint(format!("Set {variable}, or change headers, query or body of [providers.{provider}].")));
        }
        let (base_url, key, model, idle) =
            (settings.base_url.clone(), settings.key.clone(), model.to_owned(), self.idle);
        let extras = Arc::clone(&settings.extras);
        if settings.dialect != Dialect::Replay {
            http::prepare(&base_url);
        }
        let found: Arc<dyn Model> = match settings.dialect {
            Dialect::Anthropic => Arc::new(Anthropic { base_url, key, model, idle, extras }),
            Dialect::OpenAi => Arc::new(OpenAi { base_url, key, model, idle, extras }),
            Dialect::Responses => Arc::new(Responses { base_url, key, model, idle, extras }),
            Dialect::Gemini => Arc::new(Gemini { base_url, key, model, idle, extras }),
            Dialect::Ollama => Arc::new(Ollama { base_url, key, model, idle, extras }),
            Dialect::Replay => Arc::new(Replay::open(&model)?),
        };
        Ok(match &self.record {
            Some(file) => Arc::new(Recorder::new(found, file.clone())?),
            None => found,
        })
    }
}
