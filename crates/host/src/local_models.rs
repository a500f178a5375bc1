//! Models that run on this machine: which servers are there, and how one of them becomes the model in force.
//!
//! Nothing is asked while a model is set or a key is there: the first request then needs no server of this machine.

use std::sync::PoisonError;

use trimtab_vocab::{Problem, ProblemKind};
use trimtab_world::models::{Dialect, LocalServer, LocalServerKind, Provider, find_servers, identify, server_root};

use crate::Client;
use crate::config::{self, Profile};

/// Where llama.cpp listens besides its usual port.
const LLAMA_CPP_TOO: &str = "http://127.0.0.1:9931";
/// What a server is called in the settings that is none of the known kinds.
const OTHER_SERVER: &str = "local";

/// A model of a server, and how its provider is set to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// `provider/name`.
    pub model: String,
    /// Who serves it, as people call it.
    pub server: String,
    pub base_url: String,
    /// The server is loading its model.
    pub loading: bool,
    /// The other models that it has.
    pub others: Vec<String>,
}

impl FoundModel {
    fn new(server: &LocalServer) -> Option<Self> {
        Some(Self {
            model: server.model()?,
            server: server.kind.title().to_owned(),
            base_url: server.base_url.clone(),
            loading: server.loading,
            others: server.models.iter().skip(1).cloned().collect(),
        })
    }

    /// The provider that serves it.
    pub fn provider(&self) -> &str {
        self.model.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// What is said of it in one line.
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
    find_servers(&places).await.iter().filter_map(FoundModel::new).collect()
}

/// The model that is used when none is set and no key is there.
pub async fn local_model(profile: &Profile) -> Option<FoundModel> {
    local_models(profile).await.into_iter().next()
}

/// The model of a server at an address that a person typed.
pub async fn model_at(profile: &Profile, address: &str) -> Result<FoundModel, Problem> {
    let no_server = |message: String| {
        Problem::new(ProblemKind::Network, message)
            .hint("Check the address and the port, for example 127.0.0.1:8080. The server must be running.")
    };
    let root = server_root(address).ok_or_else(|| no_server(format!("\"{}\" is not an address.", address.trim())))?;
    if let Some(found) = identify(&root).await.as_ref().and_then(FoundModel::new) {
        return Ok(found);
    }
    // Whoever speaks OpenAI's interface will do, if there is a model.
    let base_url = format!("{root}/v1");
    let mut profile = profile.clone();
    profile.reach(OTHER_SERVER, &base_url);
    let listed = crate::list_models(&profile, OTHER_SERVER).await;
    let listed =
        listed.map_err(|problem| no_server(format!("No model server answers at {root}: {}", problem.message)))?;
    let mut names = listed.into_iter().map(|listed| listed.name);
    let first = names.next().ok_or_else(|| no_server(format!("The server at {root} has no model.")))?;
    Ok(FoundModel {
        model: format!("{OTHER_SERVER}/{first}"),
        server: "A model server".to_owned(),
        base_url,
        loading: false,
        others: names.collect(),
    })
}

/// Writes a model that was found into the person's settings, with its address where that is not the usual one.
pub fn remember_found(profile: &Profile, found: &FoundModel) -> Result<(), Problem> {
    let is_usual = config::is_built_in_address(found.provider(), &found.base_url);
    config::keep_model(profile, &found.model, (!is_usual).then_some((found.provider(), found.base_url.as_str())))
}

impl Profile {
    /// Uses a model that was found, in these settings alone.
    pub fn use_found(&mut self, found: &FoundModel) {
        self.model = Some(found.model.clone());
        self.reach(found.provider(), &found.base_url);
    }

    fn reach(&mut self, provider: &str, base_url: &str) {
        let extras = std::sync::Arc::default;
        let open = || Provider {
            dialect: Dialect::OpenAi,
            base_url: String::new(),
            key_env: None,
            key: None,
            extras: extras(),
        };
        let provider = self.providers.entry(provider.to_owned()).or_insert_with(open);
        provider.base_url = base_url.to_owned();
    }
}

impl Client {
    /// Uses a model that was found from the next request on, wherever no model is set.
    pub fn use_found(&self, profile: &mut Profile, found: &FoundModel) {
        profile.use_found(found);
        self.renew(profile);
        *self.deps().chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
    }

    /// The model that a person chose among those that were found.
    pub fn chosen_model(&self) -> Option<FoundModel> {
        self.deps().chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The settings with a model of this machine, where they have none: the one that was chosen, or the first that is
    /// found.
    pub(crate) async fn with_local_model(&self, profile: &mut Profile) {
        if profile.model.is_some() {
            return;
        }
        let found = match self.chosen_model() {
            Some(found) => Some(found),
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
