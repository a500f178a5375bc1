//! `trimtab config`: the settings in force.

use clap::Args;
use serde_json::json;
use trimtab_host::config;
use trimtab_vocab::Problem;

use super::output::{calm, note, print, print_json};
use super::{Outcome, place};

#[derive(Debug, Args)]
pub(super) struct Config {
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let mut profile = config::load(&[])?;
        if let Ok(folder) = place::folder(None)
            && std::path::Path::new(&folder).join(".trimtab/config.toml").exists()
            && (profile.trusts(&folder) || place::open(&[])?.1.trusts(&folder).await?)
        {
            profile = profile.in_project(&folder)?;
        }
        let shown = profile.shown();
        let width = shown.iter().map(|one| one.path.len() + one.value.len() + 3).filter(|width| *width < 60).max();
        for one in &shown {
            if self.json {
                print_json(&json!({"setting": one.path, "value": one.value, "origin": one.origin}))?;
            } else {
                let line = format!("{} = {}", one.path, one.value);
                print(&format!("{:<width$}  # {}\n", calm(&line), calm(&one.origin), width = width.unwrap_or(0)))?;
            }
        }
        for name in profile.stray_variables() {
            note(&format!("note: the environment variable {name} sets nothing"));
        }
        for problem in crate::tui::check(&profile) {
            note(&format!("note: {} {}", problem.message, problem.hint.unwrap_or_default()));
        }
        if !self.json {
            let found = if profile.file.exists() { "" } else { " (not there yet)" };
            print(&format!(
                "\nSettings file: {}{found}\nData folder: {}\n",
                profile.file.display(),
                profile.data.display()
            ))?;
        }
        Ok(Outcome::Done)
    }
}
