//! The level of autonomy: the one that was chosen in the session, or else that of the settings, and never above what
//! the project allows.

use trimtab_vocab::{Applying, Autonomy, RunSettings};

use super::{RunningRequest, Session};

impl Session {
    /// The level that a person chose in this session, or in the one that it continues.
    pub fn autonomy(&self) -> Option<Autonomy> {
        self.permissions.autonomy
    }

    /// The level in force for a request with these settings.
    pub fn autonomy_for(&self, settings: &RunSettings) -> Autonomy {
        settings.autonomy_under(self.permissions.autonomy)
    }

    /// Whether the level was chosen, in the session or in the settings.
    pub(crate) fn has_chosen_autonomy(&self, settings: &RunSettings) -> bool {
        self.permissions.autonomy.or(settings.autonomy.level).is_some()
    }

    /// Model calls that a request may make. The level *trusting* raises the limit unless the user has set it.
    pub(crate) fn step_limit(&self, active: &RunningRequest) -> u32 {
        let settings = &active.request.settings;
        settings.steps_at(self.autonomy_for(settings)).saturating_add(active.calls.more_steps)
    }
}

/// Whether commands that are known to be safe run without a question, also those that an answer proposes: `apply.commands` decides at *standard*, and at *trusting* only if the user has set it.
pub(crate) fn applies_commands(level: Autonomy, settings: &RunSettings) -> bool {
    let asks = settings.commands.apply == Applying::Ask;
    match level {
        Autonomy::Careful => false,
        Autonomy::Standard => !asks,
        Autonomy::Trusting => !(asks && settings.commands.apply_chosen),
    }
}
