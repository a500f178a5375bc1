//! Standing rules and trusted folders.

use trimtab_engine::Input;
use trimtab_vocab::{Problem, Rule};
use trimtab_world::store::RuleChange;

use crate::actor::{self, written_rule};
use crate::client::store_problem;
use crate::config::Profile;
use crate::handles::Permissions;

impl Permissions<'_> {
    /// The user's permanent rules.
    pub async fn rules(self) -> Result<Vec<Rule>, Problem> {
        let written = self.0.store().rules().await.map_err(store_problem)?;
        Ok(actor::read_rules(&written))
    }

    /// Makes a rule, or removes it.
    pub async fn change_rule(self, rule: &Rule, add: bool) -> Result<(), Problem> {
        self.0.admin().tell_rule(rule, add).await?;
        let mut change = RuleChange::default();
        let told = if add {
            change.added.push(written_rule(rule));
            Input::RuleAdded { rule: rule.clone() }
        } else {
            change.removed.push(written_rule(rule));
            Input::RuleRemoved { rule: rule.clone() }
        };
        let tell = vec![actor::told(&told)];
        self.0.store().change_rules(change, tell).await.map_err(store_problem)
    }

    /// Whether the settings or a rule trust a folder.
    pub async fn trusts(self, profile: &Profile, folder: &str) -> Result<bool, Problem> {
        if profile.trusts(folder) {
            return Ok(true);
        }
        Ok(trimtab_engine::trusts(&self.rules().await?, folder, &self.0.deps().machine))
    }

    /// The settings in force in a folder: its own make them stricter, if it is trusted.
    pub async fn profile_in(self, profile: Profile, folder: &str) -> Result<Profile, Problem> {
        match self.trusts(&profile, folder).await? {
            true => profile.in_project(folder),
            false => Ok(profile),
        }
    }

    /// Whether trusting this folder would trust more than a project.
    pub fn is_broad(self, folder: &str) -> bool {
        trimtab_engine::is_broad(folder, &self.0.deps().machine)
    }
}
