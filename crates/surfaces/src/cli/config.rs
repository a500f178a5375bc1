//! `trimtab config`: the settings in force.

use clap::Args;
use serde_json::json;
use trimtab_host::config::{self, KEYS};
use trimtab_vocab::{Problem, ProblemKind};

use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab config            show every effective setting
  trimtab config sandbox    show and explain settings that contain \"sandbox\"
  TRIMTAB_COMMANDS_SANDBOX=read-only trimtab run \"Look around\"    override one setting for one run";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Config {
    /// Show only settings whose names contain this, with their descriptions
    name: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let mut profile = match config::load(&[]) {
            Ok(profile) => profile,
            Err(problem) => return self.without_profile(problem),
        };
        if let Ok(folder) = place::folder(None)
            && std::path::Path::new(&folder).join(".trimtab/config.toml").exists()
        {
            profile = place::open(&[])?.1.permissions().profile_in(profile, &folder).await?;
        }
        let shown: Vec<_> = profile.shown().into_iter().filter(|one| self.wants(&one.path)).collect();
        if let (Some(name), true) = (&self.name, shown.is_empty()) {
            return Err(Problem::new(ProblemKind::NotFound, format!("No setting has `{name}` in its name."))
                .hint("`trimtab config` lists them all."));
        }
        let width = shown.iter().map(|one| one.path.len() + one.value.len() + 3).filter(|width| *width < 60).max();
        for one in &shown {
            if self.json {
                print_json(&json!({"setting": one.path, "value": one.value, "origin": one.origin}))?;
            } else {
                let line = format!("{} = {}", one.path, one.value);
                print(&format!(
                    "{:<width$}  # {}\n",
                    sanitize(&line),
                    sanitize(&one.origin),
                    width = width.unwrap_or(0)
                ))?;
                if let Some(about) = self.name.as_ref().and_then(|_| about(&one.path)) {
                    print(&about)?;
                }
            }
        }
        for name in profile.stray_variables() {
            note(&format!("note: Unknown environment variable {name}"));
        }
        for problem in crate::tui::check(&profile) {
            note(&format!("note: {} {}", problem.message, problem.hint.unwrap_or_default()));
        }
        if !self.json && self.name.is_none() {
            let found = if profile.file.exists() { "" } else { " (does not exist yet)" };
            print(&format!(
                "\nSettings file: {}{found}\nData folder: {}\n",
                profile.file.display(),
                profile.data.display()
            ))?;
        }
        Ok(CliOutcome::Done)
    }
}

impl Config {
    fn wants(&self, path: &str) -> bool {
        self.name.as_ref().is_none_or(|name| path.contains(name.as_str()))
    }

    /// What there is to set, where the settings themselves cannot be read: whoever has mistyped one looks for it here.
    fn without_profile(self, problem: Problem) -> Result<CliOutcome, Problem> {
        for key in KEYS.iter().filter(|key| !self.json && self.wants(key.path)) {
            print(&format!("{} = {}  # default\n", key.path, key.default))?;
            print(&about(key.path).unwrap_or_default())?;
        }
        Err(problem)
    }
}

/// What a setting is for, what it takes and how the environment names it.
fn about(path: &str) -> Option<String> {
    let key = config::key_of(path)?;
    let (takes, variable) = (key.kind.takes(), config::env_name(path));
    Some(format!("    {} Expected {takes}.\n    In the environment: {variable}\n", key.help))
}
