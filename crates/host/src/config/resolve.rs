//! From what was written to what it means.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toml::Value;
use trimtab_vocab::{Problem, ProblemKind, RunSettings};
use trimtab_world::models::{Dialect, Provider, Registry};

use super::raw::{Origin, Raw};

/// The settings in force.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Where the user's file is, whether or not it exists.
    pub file: PathBuf,
    /// Where everything is kept.
    pub data: PathBuf,
    /// The model that works, if one is set or can be told from the keys there are.
    pub model: Option<String>,
    /// Bounds.
    pub limits: Limits,
    /// Who serves models.
    pub providers: BTreeMap<String, Provider>,
    /// Where exchanges are recorded.
    pub record: Option<PathBuf>,
    raw: Raw,
}

/// Bounds of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Model calls of one request.
    pub steps: u32,
    /// Requests at once.
    pub jobs: u32,
    /// Tokens of one reply.
    pub max_output_tokens: u32,
    /// Silence of a call.
    pub api_timeout: Duration,
    /// Tries after the first.
    pub retries: u32,
}

/// One setting as `trimtab config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub path: String,
    /// Its value, as TOML.
    pub value: String,
    /// Where it comes from.
    pub origin: String,
}

impl Profile {
    pub(super) fn resolve(raw: Raw, file: PathBuf, data: PathBuf, variables: &BTreeMap<String, String>) -> Self {
        let providers = resolve_providers(&raw, variables);
        let model = Some(text(&raw, "model")).filter(|name| !name.is_empty()).or_else(|| first_with_key(&providers));
        let record = Some(text(&raw, "record")).filter(|name| !name.is_empty()).map(PathBuf::from);
        let limits = Limits {
            steps: number(&raw, "limits.steps"),
            jobs: number(&raw, "limits.jobs"),
            max_output_tokens: number(&raw, "limits.max_output_tokens"),
            api_timeout: Duration::from_secs(number(&raw, "limits.api_timeout_s").into()),
            retries: number(&raw, "limits.retries"),
        };
        Self { file, data, model, limits, providers, record, raw }
    }

    /// What steers a request, or what to do when no model is set up.
    pub fn run_settings(&self) -> Result<RunSettings, Problem> {
        let Some(model) = self.model.clone() else {
            return Err(Problem::new(ProblemKind::NoKey, "No model is set up.").hint(
                "Set ANTHROPIC_API_KEY, or `model = \"PROVIDER/NAME\"` in the settings, or give --model PROVIDER/NAME. \
                 `trimtab demo` shows everything without a key.",
            ));
        };
        Ok(RunSettings {
            model,
            max_steps: self.limits.steps,
            max_output_tokens: self.limits.max_output_tokens,
            retries: self.limits.retries,
        })
    }

    /// The models these settings give.
    pub fn registry(&self) -> Registry {
        Registry { providers: self.providers.clone(), idle: self.limits.api_timeout, record: self.record.clone() }
    }

    /// Environment variables that look like settings and set nothing.
    pub fn stray_variables(&self) -> &[String] {
        &self.raw.stray
    }

    /// Every setting with its value and origin.
    pub fn shown(&self) -> Vec<Shown> {
        let show = |(path, value, origin): (&str, &Value, &Origin)| Shown {
            path: path.to_owned(),
            value: value.to_string(),
            origin: origin.to_string(),
        };
        let (providers, rest): (Vec<_>, Vec<_>) =
            self.raw.iter().map(show).partition(|shown| shown.path.starts_with("providers."));
        rest.into_iter().chain(providers).collect()
    }
}

fn resolve_providers(raw: &Raw, variables: &BTreeMap<String, String>) -> BTreeMap<String, Provider> {
    let mut providers = BTreeMap::new();
    for (path, ..) in raw.iter() {
        let Some((name, _)) = path.strip_prefix("providers.").and_then(|rest| rest.split_once('.')) else { continue };
        if providers.contains_key(name) {
            continue;
        }
        let field = |field: &str| text(raw, &format!("providers.{name}.{field}"));
        let dialect = match field("kind").as_str() {
            "replay" => Dialect::Replay,
            _ => Dialect::Anthropic,
        };
        let key_env = Some(field("api_key_env")).filter(|name| !name.is_empty());
        let key =
            key_env.as_ref().and_then(|name| variables.get(name)).map(|key| key.trim()).filter(|key| !key.is_empty());
        let provider =
            Provider { dialect, base_url: field("base_url"), key: key.map(|key| key.to_owned().into()), key_env };
        providers.insert(name.to_owned(), provider);
    }
    providers
}

fn first_with_key(providers: &BTreeMap<String, Provider>) -> Option<String> {
    let (_, default) = super::DEFAULT_MODELS
        .iter()
        .find(|(name, _)| providers.get(*name).is_some_and(|provider| provider.key.is_some()))?;
    Some((*default).to_owned())
}

fn text(raw: &Raw, path: &str) -> String {
    raw.get(path).and_then(|(value, _)| value.as_str()).unwrap_or_default().to_owned()
}

fn number(raw: &Raw, path: &str) -> u32 {
    let value = raw.get(path).and_then(|(value, _)| value.as_integer()).unwrap_or_default();
    u32::try_from(value).unwrap_or(u32::MAX)
}
