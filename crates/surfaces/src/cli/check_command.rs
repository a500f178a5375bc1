//! `trimtab check-command`: what a session with the present settings would do with a command.

use std::path::PathBuf;

use clap::Args;

use super::output::print_json;
use super::run::AutonomyArg;
use super::{CliOutcome, place};
use trimtab_host::config::Flag;
use trimtab_vocab::{Autonomy, Problem};

const EXAMPLES: &str = "\
Examples:
  trimtab check-command \"git status && rm -rf build\"    print auto, ask, or deny, with the reason";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckCommand {
    /// Command line (several words after `--` form one command)
    #[arg(required = true, num_args = 1.., allow_hyphen_values = true)]
    command: Vec<String>,
    /// Check as if your only rule allowed commands that begin with PREFIX
    #[arg(long, value_name = "PREFIX")]
    allow: Vec<String>,
    /// Check at this level of autonomy [default: the setting `autonomy`]
    #[arg(long, value_enum, value_name = "LEVEL")]
    autonomy: Option<AutonomyArg>,
    /// Check for this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl CheckCommand {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let level = self.autonomy.map(|level| Autonomy::from(level).name().to_owned());
        let flag = level.map(|value| Flag { path: "autonomy", option: "--autonomy", value });
        let (profile, client) = place::open(flag.as_slice())?;
        let profile = client.permissions().profile_in(profile, &folder).await?;
        let rules = client.permissions().rules().await?;
        let line = match self.command.as_slice() {
            [line] => line.clone(),
            words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        let allow = Some(self.allow).filter(|allow| !allow.is_empty());
        print_json(&trimtab_host::check_command(&profile, &rules, &folder, &line, allow))?;
        Ok(CliOutcome::Done)
    }
}

/// A word as a shell would have to be given it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
