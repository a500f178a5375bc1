//! Checks a provider's key, stores it, and uses it from the next call on.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use trimtab_host::Client;
use trimtab_host::config::{self, Profile};
use trimtab_vocab::{Problem, ProblemKind};

use super::message::Msg;
use super::setup::Secret;

pub(super) struct KeyKeeper {
    pub(super) client: Client,
    pub(super) profile: Arc<Mutex<Profile>>,
    pub(super) messages: mpsc::Sender<Msg>,
    pub(super) provider: &'static str,
}

impl KeyKeeper {
    /// Stores a key unless its provider refuses it. A provider that cannot be reached does not keep a person from going
    /// on, but they are told that nothing was checked.
    pub(super) async fn keep(self, key: Secret) -> Result<Option<Msg>, Problem> {
        let before = self.profile.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let variable = before.providers.get(self.provider).and_then(|provider| provider.key_env.clone());
        if let Some(name) = variable.filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
            let message = format!("{name} is set in the environment and overrides this. Unset it.");
            return Ok(Some(Msg::NotReady(message)));
        }
        let checked = trimtab_host::check_key(&before, self.provider, key.expose()).await;
        if let Err(problem) = &checked
            && problem.kind == ProblemKind::Auth
        {
            let message = format!("{} does not accept this key. It was not saved. Paste another one.", self.provider);
            return Ok(Some(Msg::NotReady(message)));
        }
        match self.store(&before, key.expose()) {
            Ok(model) => drop(self.messages.send(Msg::Ready(model)).await),
            Err(problem) => return Ok(Some(Msg::NotReady(problem.message))),
        }
        let unchecked = |problem: Problem| {
            let message = problem.message.trim_end_matches('.').to_owned();
            Msg::Warned(format!(
                "The key is saved but not checked, because {} cannot be asked: {message}.",
                self.provider
            ))
        };
        Ok(checked.err().map(unchecked))
    }

    /// Says which model answers from now on.
    fn store(&self, before: &Profile, key: &str) -> Result<String, Problem> {
        config::keep_key(before, self.provider, key)?;
        let mut profile = config::load(&[])?;
        profile.copilot.auto_continue = before.copilot.auto_continue;
        // A user who enters a key wants to use the models of its provider.
        let is_of = |model: &String| model.split_once('/').is_some_and(|(name, _)| name == self.provider);
        if !profile.model.as_ref().is_some_and(is_of) {
            profile.model = config::default_model(self.provider).or(profile.model);
        }
        let model = profile.ready_model()?;
        self.client.renew(&profile);
        *self.profile.lock().unwrap_or_else(PoisonError::into_inner) = profile;
        Ok(model)
    }
}
