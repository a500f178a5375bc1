//! Which model answers to which name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use trimtab_vocab::{Problem, ProblemKind};

use super::Model;
use super::anthropic::Anthropic;
use super::replay::{Recorder, Replay};

/// How a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The Messages API.
    Anthropic,
    /// A recording.
    Replay,
}

/// Somebody who serves models.
#[derive(Debug, Clone)]
pub struct Provider {
    /// How it speaks.
    pub dialect: Dialect,
    /// Where it is.
    pub base_url: String,
    /// The environment variable that holds its key, if it needs one.
    pub key_env: Option<String>,
    /// The key, if it was found.
    pub key: Option<SecretString>,
}

/// Whoever can be called by name.
pub trait Models: Send + Sync {
    /// The model called `provider/name`.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, Problem>;
}

/// The providers of the settings.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// By name.
    pub providers: BTreeMap<String, Provider>,
    /// A call that is silent for so long is given up.
    pub idle: Duration,
    /// Write every exchange to this file, for a later replay.
    pub record: Option<PathBuf>,
}

impl Models for Registry {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, Problem> {
        let Some((provider, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty()) else {
            return Err(Problem::new(ProblemKind::Usage, format!("`{name}` does not name a model."))
                .hint("A model is named PROVIDER/NAME, for example anthropic/claude-sonnet-4-5."));
        };
        let Some(settings) = self.providers.get(provider) else {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            return Err(Problem::new(ProblemKind::Usage, format!("There is no provider called `{provider}`."))
                .hint(format!("Known are {}; add others under [providers] in the settings.", known.join(", "))));
        };
        let found: Arc<dyn Model> = match settings.dialect {
            Dialect::Anthropic => {
                if let (None, Some(variable)) = (&settings.key, &settings.key_env) {
                    return Err(Problem::new(ProblemKind::NoKey, format!("There is no key for {provider}."))
                        .hint(format!("Set {variable}, choose another model with --model, or try `trimtab demo`.")));
                }
                Arc::new(Anthropic {
                    base_url: settings.base_url.clone(),
                    key: settings.key.clone(),
                    model: model.to_owned(),
                    idle: self.idle,
                })
            }
            Dialect::Replay => Arc::new(Replay::open(model)?),
        };
        Ok(match &self.record {
            Some(file) => Arc::new(Recorder::new(found, file.clone())?),
            None => found,
        })
    }
}
