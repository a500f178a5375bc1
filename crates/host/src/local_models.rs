//! Models that run on this machine: which servers are there, and how one of them becomes the model in force.
//!
//! No server is asked while a model or a key is set, so the first request does not wait for one.

use std::sync::PoisonError;

use trimtab_vocab::{Problem, ProblemKind};
use trimtab_world::models::{Dialect, LocalServer, LocalServerKind, Provider, find_servers, identify, server_root};

use crate::Client;
use crate::config::{self, Profile};

/// Where llama.cpp listens besides its usual port.
const LLAMA_CPP_TOO: &str = "http://127.0.0.1:9931";
/// The surface of `trimtab serve`.
const HTTP: &str = "http";
/// The name in the settings for a server of no known kind.
const OTHER_SERVER: &str = "local";

/// A model of a server, and how its provider is set to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// `provider/name`.
    pub model: String,
    /// The display name of its server.
    pub server: String,
    pub base_url: String,
    /// How it speaks.
    pub dialect: Dialect,
    /// The server is loading its model.
    pub loading: bool,
    /// The other models that it has.
    pub others: Vec<String>,
}

impl FoundModel {
    fn new(profile: &Profile, server: &LocalServer) -> Option<Self> {
        let is_ollama = server.kind == LocalServerKind::Ollama;
        let dialect = if is_ollama { Dialect::Ollama } else { Dialect::OpenAi };
        let provider = profile.name_for(server.kind.provider(), dialect, &server.base_url);
        let model = server.model()?;
        let (_, name) = model.split_once('/')?;
        Some(Self {
            model: format!("{provider}/{name}"),
            server: server.kind.title().to_owned(),
            base_url: server.base_url.clone(),
            dialect,
            loading: server.loading,
            others: server.models.iter().skip(1).cloned().collect(),
        })
    }

    /// The same server with another of its models, `provider/name`; none where it does not have that one.
    pub fn with_model(mut self, model: &str) -> Option<Self> {
        if self.model == model {
            return Some(self);
        }
        let (provider, name) = model.split_once('/')?;
        let (own, first) = self.model.split_once('/')?;
        let at = self.others.iter().position(|other| own == provider && other == name)?;
        self.others[at] = first.to_owned();
        self.model = model.to_owned();
        Some(self)
    }

    /// The provider that serves it.
    pub fn provider(&self) -> &str {
        self.model.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Its description in one line.
    pub fn line(&self) -> String {
        let state = if self.loading { ", still loading" } else { "" };
        format!("{} at {} ({}{state})", self.server, self.base_url, self.model)
    }
}

/// The models that the servers of this machine offer, one of each server. Everything is asked at once, for less than
/// half a second.
pub async fn local_models(profile: &Profile) -> Vec<FoundModel> {
    let mut places = Vec::new();
    for kind in LocalServerKind::ALL {
        let Some(provider) = profile.providers.get(kind.provider()) else { continue };
        places.extend(server_root(&provider.base_url).map(|root| (kind, root)));
        if kind == LocalServerKind::LlamaCpp && config::is_built_in_address(kind.provider(), &provider.base_url) {
            places.push((kind, LLAMA_CPP_TOO.to_owned()));
        }
    }
    find_servers(&places).await.iter().filter_map(|server| FoundModel::new(profile, server)).collect()
}

/// The model that is used when none is set and no key is there.
pub async fn local_model(profile: &Profile) -> Option<FoundModel> {
    local_models(profile).await.into_iter().next()
}

/// The model of a server at an address that the user typed.
pub async fn model_at(profile: &Profile, address: &str) -> Result<FoundModel, Problem> {
    let no_server = |message: String| {
        Problem::new(ProblemKind::Network, message)
            .hint("Start the server, and check the address and the port, for example 127.0.0.1:8080.")
    };
    let root = server_root(address).ok_or_else(|| no_server(format!("\"{}\" is not an address.", address.trim())))?;
    if let Some(found) = identify(&root).await.and_then(|server| FoundModel::new(profile, &server)) {
        return Ok(found);
    }
    // Any server with OpenAI's interface and a model is accepted.
    let (base_url, dialect) = (format!("{root}/v1"), Dialect::OpenAi);
    let provider = profile.name_for(OTHER_SERVER, dialect, &base_url);
    let mut profile = profile.clone();
    profile.reach(&provider, dialect, &base_url);
    let listed = crate::list_models(&profile, &provider).await;
    let listed =
        listed.map_err(|problem| no_server(format!("No model server answers at {root}: {}", problem.message)))?;
    let mut names = listed.into_iter().map(|listed| listed.name);
    let first = names.next().ok_or_else(|| no_server(format!("The server at {root} has no model.")))?;
    Ok(FoundModel {
        model: format!("{provider}/{first}"),
        server: "A model server".to_owned(),
        base_url,
        dialect,
        loading: false,
        others: names.collect(),
    })
}

/// Writes a model that was found into the user's settings, with its address where that is not the usual one.
pub fn remember_found(profile: &Profile, found: &FoundModel) -> Result<(), Problem> {
    let is_usual = config::is_built_in_address(found.provider(), &found.base_url);
    let is_new_ollama = found.dialect == Dialect::Ollama && found.provider() != LocalServerKind::Ollama.provider();
    let address = config::ProviderAddress {
        provider: found.provider(),
        base_url: &found.base_url,
        // A provider without a kind speaks OpenAI's interface.
        kind: is_new_ollama.then_some("ollama"),
    };
    config::keep_model(profile, &found.model, (!is_usual).then_some(address))
}

impl Profile {
    /// Uses a model that was found, in these settings alone.
    pub fn use_found(&mut self, found: &FoundModel) {
        self.model = Some(found.model.clone());
        self.reach(found.provider(), found.dialect, &found.base_url);
    }

    /// The provider that can be set to an address: this one, or another name where this one has a key or headers for
    /// another server.
    fn name_for(&self, provider: &str, dialect: Dialect, base_url: &str) -> String {
        let is_free = |name: &String| {
            self.providers.get(name).is_none_or(|known| {
                let is_open = known.key.is_none() && known.key_env.is_none() && has_no_extras(known);
                speaks(known, dialect) && (is_open || is_same_server(&known.base_url, base_url))
            })
        };
        let mut names =
            std::iter::once(provider.to_owned()).chain((2_u32..).map(|number| format!("{provider}{number}")));
        names.find(is_free).unwrap_or_else(|| provider.to_owned())
    }

    /// Sets a provider to an address. Its key and headers go only to the server that they were set for.
    fn reach(&mut self, provider: &str, dialect: Dialect, base_url: &str) {
        let known = self.providers.get(provider).cloned();
        let known = known.filter(|known| speaks(known, dialect) && is_same_server(&known.base_url, base_url));
        let open =
            Provider { dialect, base_url: String::new(), key_env: None, key: None, extras: std::sync::Arc::default() };
        let reached = Provider { base_url: base_url.to_owned(), ..known.unwrap_or(open) };
        self.providers.insert(provider.to_owned(), reached);
    }
}

fn is_same_server(one: &str, other: &str) -> bool {
    server_root(one).is_some_and(|root| server_root(other) == Some(root))
}

/// Both of OpenAI's interfaces stand below the same address.
fn speaks(provider: &Provider, dialect: Dialect) -> bool {
    let is_responses = provider.dialect == Dialect::Responses && dialect == Dialect::OpenAi;
    provider.dialect == dialect || is_responses
}

fn has_no_extras(provider: &Provider) -> bool {
    let extras = &provider.extras;
    let is_plain = extras.headers.is_empty() && extras.query.is_empty() && extras.body.0.is_empty();
    is_plain && extras.variables.is_empty() && extras.missing.is_empty()
}

impl Client {
    /// Uses a model that was found from the next request on, wherever no model is set.
    pub fn use_found(&self, profile: &mut Profile, found: &FoundModel) {
        profile.use_found(found);
        self.renew(profile);
        *self.deps().chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
    }

    /// The model that the user chose among those that were found.
    pub fn chosen_model(&self) -> Option<FoundModel> {
        self.deps().chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets a model of this machine if the settings have none: the chosen one, or the first that is found. Over HTTP
    /// only the chosen one, because the page offers the choice to the user.
    pub(crate) async fn with_local_model(&self, profile: &mut Profile) {
        if profile.model.is_some() {
            return;
        }
        let found = match self.chosen_model() {
            Some(found) => Some(found),
            None if self.surface == Some(HTTP) => None,
            None => local_model(profile).await,
        };
        if let Some(found) = found {
            let is_known = profile.providers.get(found.provider()).is_some_and(|one| one.base_url == found.base_url);
            profile.use_found(&found);
            if !is_known {
                self.renew(profile);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn profile(settings: &str) -> (tempfile::TempDir, Profile) {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("config.toml"), settings).expect("written");
        let variables = BTreeMap::from([
            ("TRIMTAB_HOME".to_owned(), home.path().display().to_string()),
            ("LOCAL_KEY".to_owned(), "a-secret-key".to_owned()),
        ]);
        let profile = config::load_from(&variables, &[]).expect("loads");
        (home, profile)
    }

    fn found(profile: &Profile, kind: LocalServerKind, base_url: &str) -> FoundModel {
        let models = vec!["one".to_owned(), "two".to_owned()];
        let server = LocalServer { kind, base_url: base_url.to_owned(), models, loading: false };
        FoundModel::new(profile, &server).expect("a model")
    }

    #[test]
    fn a_key_stays_with_the_address_that_it_was_set_for() {
        let settings = "[providers.llamacpp]\nbase_url = \"http://10.0.0.5:8080/v1/\"\napi_key_env = \"LOCAL_KEY\"\n";
        let (_home, mut profile) = profile(settings);
        let same = found(&profile, LocalServerKind::LlamaCpp, "http://10.0.0.5:8080/v1");
        assert_eq!(same.model, "llamacpp/one");
        let other = found(&profile, LocalServerKind::LlamaCpp, "http://10.0.0.6:8080/v1");
        assert_eq!(other.model, "llamacpp2/one");
        profile.use_found(&other);
        let new = &profile.providers["llamacpp2"];
        assert_eq!((new.base_url.as_str(), new.key.is_none()), ("http://10.0.0.6:8080/v1", true));
        assert_eq!(profile.providers["llamacpp"].base_url, "http://10.0.0.5:8080/v1/");
        profile.use_found(&same);
        assert!(profile.providers["llamacpp"].key.is_some(), "its own server still gets it");
        let open = found(&profile, LocalServerKind::Vllm, "http://10.0.0.6:8000/v1");
        assert_eq!(open.model, "vllm/one", "a provider without a key may move");
    }

    #[test]
    fn headers_are_not_sent_to_a_typed_address_either() {
        let (_home, mut profile) =
            profile("[providers.local]\nbase_url = \"http://10.0.0.5:1/v1\"\nheaders = { \"x-token\" = \"secret\" }\n");
        assert_eq!(profile.name_for("local", Dialect::OpenAi, "http://10.0.0.6:1/v1"), "local2");
        profile.reach("local", Dialect::OpenAi, "http://10.0.0.6:1/v1");
        assert!(has_no_extras(&profile.providers["local"]));
    }

    #[test]
    fn another_ollama_is_remembered_with_its_kind() {
        let settings = "[providers.ollama]\nbase_url = \"http://10.0.0.5:11434\"\napi_key_env = \"LOCAL_KEY\"\n";
        let (home, profile) = profile(settings);
        let other = found(&profile, LocalServerKind::Ollama, "http://10.0.0.6:11434");
        assert_eq!(other.model, "ollama2/one");
        remember_found(&profile, &other).expect("kept");
        let kept = std::fs::read_to_string(home.path().join("config.toml")).expect("settings");
        let added = "\n[providers.ollama2]\nkind = \"ollama\"\nbase_url = \"http://10.0.0.6:11434\"\n";
        assert_eq!(kept, format!("model = \"ollama2/one\"\n{settings}{added}"));
    }

    #[test]
    fn any_model_of_a_server_can_be_chosen() {
        let (_home, profile) = profile("");
        let server = found(&profile, LocalServerKind::Ollama, "http://127.0.0.1:11434");
        let second = server.clone().with_model("ollama/two").expect("it has that one");
        assert_eq!((second.model.as_str(), second.others.as_slice()), ("ollama/two", &["one".to_owned()][..]));
        assert_eq!(server.clone().with_model("ollama/one"), Some(server.clone()));
        assert_eq!(server.clone().with_model("ollama/three"), None);
        assert_eq!(server.with_model("vllm/two"), None);
    }
}
