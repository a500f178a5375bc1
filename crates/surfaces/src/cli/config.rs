//! `trimtab config`: the settings in force, and changes to the user's settings file.

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::config::{self, KEYS, SettingChange};
use trimtab_vocab::{Problem, ProblemKind};

use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab config                       show every effective setting
  trimtab config sandbox               show and explain settings that contain \"sandbox\"
  trimtab config set effort high       change a setting
  trimtab config unset model           use the default again
  TRIMTAB_EFFORT=high trimtab run \"…\"  override a setting for one run";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Config {
    #[command(subcommand)]
    action: Option<ConfigAction>,
    /// Show only settings whose names contain this, with their descriptions
    name: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Print the value of one setting
    Get {
        /// Full name of the setting
        name: String,
    },
    /// Change a setting in your settings file
    Set {
        /// Full name of the setting
        name: String,
        /// New value (separate the entries of a list with commas)
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a setting from your settings file, so that its default applies
    Unset {
        /// Full name of the setting
        name: String,
    },
}

impl ConfigAction {
    fn execute(self) -> Result<CliOutcome, Problem> {
        match self {
            Self::Get { name } => {
                let profile = config::load(&[])?;
                let shown = profile.shown().into_iter().find(|one| one.path == name).ok_or_else(|| {
                    Problem::new(ProblemKind::NotFound, format!("Unknown setting {name}."))
                        .hint("`trimtab config` lists them all.")
                })?;
                let text = serde_json::from_str::<String>(&shown.value).unwrap_or(shown.value);
                print(&format!("{}\n", sanitize(&text)))?;
            }
            Self::Set { name, value } => report(&config::set_value(&config::environment(), &name, &value)?)?,
            Self::Unset { name } => report(&config::unset_value(&config::environment(), &name)?)?,
        }
        Ok(CliOutcome::Done)
    }
}

/// Prints a change, and what overrides it.
fn report(change: &SettingChange) -> Result<(), Problem> {
    let (path, file) = (&change.path, change.file.display().to_string());
    let value = change.value.as_deref().map(config::without_password);
    let line = match (&value, change.is_written) {
        (Some(value), true) => format!("Set {path} = {value} in {file}."),
        (Some(value), false) => format!("{path} = {value} is already set in {file}."),
        (None, true) => format!("Removed {path} from {file}."),
        (None, false) => format!("{file} does not set {path}."),
    };
    print(&format!("{}\n", sanitize(&line)))?;
    let profile = config::load(&[])?;
    let shown = profile.shown().into_iter().find(|one| one.path == *path);
    let shown = shown.filter(|one| Some(&one.value) != change.value.as_ref());
    if let Some((variable, one)) = shown.as_ref().and_then(|one| Some((one.origin.strip_prefix("environment ")?, one)))
    {
        note(&format!("note: {} in the environment overrides it with {}.", sanitize(variable), sanitize(&one.value)));
    }
    for problem in crate::tui::check(&profile) {
        note(&format!("note: {} {}", problem.message, problem.hint.unwrap_or_default()));
    }
    Ok(())
}

impl Config {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        if let Some(action) = self.action {
            return action.execute();
        }
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
