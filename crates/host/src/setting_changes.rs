//! Changes of settings by a surface that is not the user's own terminal. The audit trail has each of them.

use serde_json::json;
use trimtab_vocab::{Problem, ProblemKind};

use crate::config::{self, ChangeEffect, SettingChange};
use crate::handles::Admin;

impl Admin<'_> {
    /// Changes a setting in the user's file, or resets it to its default. The trail has it first. The caller has checked
    /// the effect of the change, and that the user wants it.
    pub async fn change_setting(
        self,
        path: &str,
        text: Option<&str>,
        effect: ChangeEffect,
    ) -> Result<SettingChange, Problem> {
        let effect = match effect {
            ChangeEffect::Harmless => "preference",
            ChangeEffect::Stricter => "stricter",
            ChangeEffect::Looser => "confirmed",
            ChangeEffect::Refused => return Err(refused(path)),
        };
        self.tell_trail("setting_changed", json!({"setting": path, "value": text, "effect": effect})).await?;
        let (path, text) = (path.to_owned(), text.map(str::to_owned));
        let change = move || {
            let variables = config::environment();
            match text {
                Some(text) => config::set_value(&variables, &path, &text),
                None => config::unset_value(&variables, &path),
            }
        };
        tokio::task::spawn_blocking(change).await.unwrap_or_else(|error| {
            Err(Problem::new(ProblemKind::Internal, format!("The settings could not be changed: {error}.")))
        })
    }
}

fn refused(path: &str) -> Problem {
    Problem::new(ProblemKind::Usage, format!("{path} can only be changed on the machine itself."))
        .hint(format!("Run `trimtab config set {path} VALUE` there."))
}
