//! What the user chooses for a session in the editor: the mode, the model, and the effort of its next requests.

use agent_client_protocol_schema::v1::{
    Error, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use trimtab_host::config::{self, Profile};
use trimtab_vocab::{Autonomy, Effort, Mode};

use super::wire::bad_params;
use crate::words::{autonomy_level, effort_level};

pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
pub(super) const EFFORT: &str = "effort";
pub(super) const AUTONOMY: &str = "autonomy";
/// The provider decides how much the model thinks.
const AUTO: &str = "auto";

/// The modes, each with its name and what it does.
const MODES: &[(Mode, &str, &str, &str)] = &[
    (Mode::Auto, "auto", "Auto", "Do what the request needs"),
    (Mode::Chat, "chat", "Chat", "Answer only, without tools"),
    (Mode::Plan, "plan", "Plan", "Read and plan, without changes"),
];

/// What the next requests of a session are made with.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestOptions {
    pub(super) mode: Mode,
    /// Another model than the one of the settings.
    pub(super) model: Option<String>,
    /// Another effort than the one of the settings.
    pub(super) effort: Option<Effort>,
    /// The level of autonomy that was chosen in the session.
    pub(super) autonomy: Option<Autonomy>,
    /// The level that its folder allows at most.
    pub(super) autonomy_limit: Option<Autonomy>,
}

/// The mode with this ID.
pub(super) fn mode_named(id: &str) -> Result<Mode, Error> {
    let found = MODES.iter().find(|(_, known, ..)| *known == id);
    found.map(|(mode, ..)| *mode).ok_or_else(|| {
        let known: Vec<&str> = MODES.iter().map(|(_, id, ..)| *id).collect();
        bad_params(format!("Unknown mode \"{}\". Expected {}.", id.escape_debug(), known.join(", ")))
    })
}

impl RequestOptions {
    pub(super) fn mode_id(&self) -> &'static str {
        let found = MODES.iter().find(|(mode, ..)| *mode == self.mode);
        found.map_or("auto", |(_, id, ..)| id)
    }

    /// The modes, for clients that do not know options.
    pub(super) fn modes(&self) -> SessionModeState {
        let mode = |(_, id, name, about): &(Mode, &'static str, &'static str, &'static str)| {
            SessionMode::new(*id, *name).description((*about).to_owned())
        };
        SessionModeState::new(self.mode_id(), MODES.iter().map(mode).collect())
    }

    /// All options with their current values.
    pub(super) fn list(&self, profile: &Profile) -> Vec<SessionConfigOption> {
        let mode = |(_, id, name, about): &(Mode, &'static str, &'static str, &'static str)| {
            SessionConfigSelectOption::new(*id, *name).description((*about).to_owned())
        };
        let modes: Vec<_> = MODES.iter().map(mode).collect();
        let mut options = vec![
            SessionConfigOption::select(MODE, "Mode", self.mode_id(), modes)
                .category(SessionConfigOptionCategory::Mode),
        ];
        let names = self.models(profile);
        if let Some(current) = self.model.clone().or_else(|| profile.model.clone()) {
            let models: Vec<_> =
                names.into_iter().map(|name| SessionConfigSelectOption::new(name.clone(), name)).collect();
            options.push(
                SessionConfigOption::select(MODEL, "Model", current, models)
                    .description("Use /model PROVIDER/NAME for a model that is not listed".to_owned())
                    .category(SessionConfigOptionCategory::Model),
            );
        }
        let levels = std::iter::once(AUTO).chain(Effort::ALL.map(Effort::name));
        let levels: Vec<_> = levels.map(|name| SessionConfigSelectOption::new(name, name)).collect();
        let effort = self.effort.or(profile.limits.effort).map_or(AUTO, Effort::name);
        options.push(
            SessionConfigOption::select(EFFORT, "Effort", effort, levels)
                .description("How much the model thinks".to_owned())
                .category(SessionConfigOptionCategory::ThoughtLevel),
        );
        let level = |level: Autonomy| {
            SessionConfigSelectOption::new(level.name(), level.name()).description(level.sentence().to_owned())
        };
        let current = self.level(profile).within(self.autonomy_limit);
        options.push(
            SessionConfigOption::select(AUTONOMY, "Autonomy", current.name(), Autonomy::ALL.map(level).to_vec())
                .description("How much the session does without asking".to_owned()),
        );
        options
    }

    /// The level that was chosen, or else that of the settings.
    pub(super) fn level(&self, profile: &Profile) -> Autonomy {
        self.autonomy.or(profile.hands.autonomy).unwrap_or_default()
    }

    /// The models of the settings, the default of each provider that is set up, and the current model. Listing what a
    /// provider serves would take a network call.
    fn models(&self, profile: &Profile) -> Vec<String> {
        let roles = &profile.roles;
        let set = [profile.model.clone(), roles.fast.clone(), roles.fallback.clone(), roles.vision.clone()];
        let ready = profile.providers.keys().filter(|name| profile.is_set_up(name));
        let ready = ready.filter_map(|name| config::default_model(name));
        let mut names: Vec<String> = Vec::new();
        for name in set.into_iter().flatten().chain(ready).chain(self.model.clone()) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Sets an option to one of its values.
    pub(super) fn set(&mut self, profile: &Profile, option: &str, value: &str) -> Result<(), Error> {
        match option {
            MODE => self.mode = mode_named(value)?,
            MODEL => {
                let known = self.models(profile);
                if !known.iter().any(|name| name == value) {
                    return Err(bad_params(format!(
                        "The model \"{}\" is not listed. Expected {}, or send `/model PROVIDER/NAME`.",
                        value.escape_debug(),
                        known.join(", ")
                    )));
                }
                self.model = Some(value.to_owned());
            }
            EFFORT => self.effort = effort_level(value).map_err(bad_params)?,
            AUTONOMY => self.autonomy = Some(autonomy_level(value).map_err(bad_params)?),
            other => {
                return Err(bad_params(format!(
                    "Unknown option \"{}\". Expected {MODE}, {MODEL}, {EFFORT}, or {AUTONOMY}.",
                    other.escape_debug()
                )));
            }
        }
        Ok(())
    }
}
