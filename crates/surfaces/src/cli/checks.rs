//! `trimtab checks`: lists the checks after edits, and approves those of a folder.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::config::Profile;
use trimtab_host::{CheckStanding, Checks, Client, KnownCheck};
use trimtab_vocab::{CheckSource, Problem, ProblemKind, Rule};

use super::output::{note, print, print_json};
use super::{CliOutcome, approval, place};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  trimtab checks                     list the checks of this folder and whether they run
  trimtab checks enable project-1    approve a check that the folder's settings name
  trimtab config set checks.mode on  run checks without asking";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ChecksArgs {
    #[command(subcommand)]
    command: Option<ChecksCommand>,
    /// Use the checks of this folder [default: the current one]
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ChecksCommand {
    /// List the checks of this folder and whether they run
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show a check of this folder and approve it
    Enable {
        /// Name of the check
        name: String,
        /// Approve without asking
        #[arg(long)]
        yes: bool,
    },
    /// Stop using a check of this folder
    Disable {
        /// Name of the check
        name: String,
    },
}

impl ChecksArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        let folder = place::folder(self.dir.as_deref())?;
        let profile = client.permissions().profile_in(profile, &folder).await?;
        let checks = client.checks(&profile, &folder).await?;
        let rules = client.permissions().rules().await?;
        let setup = CheckSetup { profile, client, folder, checks, rules };
        match self.command.unwrap_or(ChecksCommand::List { json: false }) {
            ChecksCommand::List { json } => setup.list(json).await,
            ChecksCommand::Enable { name, yes } => setup.enable(&name, yes).await,
            ChecksCommand::Disable { name } => setup.disable(&name).await,
        }
    }
}

struct CheckSetup {
    profile: Profile,
    client: Client,
    folder: String,
    checks: Checks,
    rules: Vec<Rule>,
}

impl CheckSetup {
    fn standing(&self, check: &KnownCheck) -> CheckStanding {
        check.standing(&self.profile, self.checks.mode, &self.folder, &self.rules)
    }

    async fn list(&self, json: bool) -> Result<CliOutcome, Problem> {
        let trusted = self.client.permissions().trusts(&self.profile, &self.folder).await?;
        if !json {
            let standings: Vec<CheckStanding> = self.checks.known.iter().map(|check| self.standing(check)).collect();
            print(&format!("{}\n", words::checks::list(&self.checks, &standings, trusted)))?;
            return Ok(CliOutcome::Done);
        }
        for check in &self.checks.known {
            let (listed, standing) = (&check.listed, self.standing(check));
            print_json(&json!({
                "name": check.name, "command": listed.command, "source": listed.source, "mode": self.checks.mode,
                "status": standing.name(), "reason": standing.reason(), "after": listed.after, "files": listed.files,
                "hash": Some(&listed.hash).filter(|hash| !hash.is_empty()),
            }))?;
        }
        for ignored in &self.checks.ignored {
            note(&format!("note: {}", words::sanitize(ignored)));
        }
        Ok(CliOutcome::Done)
    }

    fn find(&self, name: &str) -> Result<&KnownCheck, Problem> {
        let names: Vec<&str> = self.checks.known.iter().map(|check| check.name.as_str()).collect();
        let hint = match names.is_empty() {
            true => words::checks::NONE.to_owned(),
            false => format!("Checks of this folder: {}.", names.join(", ")),
        };
        let unknown = || Problem::new(ProblemKind::NotFound, format!("Unknown check {name}.")).hint(hint);
        let check = self.checks.named(name).ok_or_else(unknown)?;
        if check.listed.source != CheckSource::Project {
            let problem = format!("{} needs no approval: the folder's settings do not name it.", check.name);
            return Err(Problem::new(ProblemKind::Usage, problem)
                .hint("Set checks.mode and checks.commands with `trimtab config set`."));
        }
        Ok(check)
    }

    async fn enable(&self, name: &str, yes: bool) -> Result<CliOutcome, Problem> {
        let check = self.find(name)?;
        let name = &check.name;
        print(&format!("{}\n", words::checks::described(check)))?;
        if self.rules.contains(&Rule::check(&self.folder, &check.listed, trimtab_vocab::RuleVerdict::Allow)) {
            print(&format!("{name} is approved already.\n"))?;
            return Ok(CliOutcome::Done);
        }
        if yes || approval::ask("check", "checks", name).await? {
            self.client.decide_check(check, &self.folder, true).await?;
            approval::report(name, &self.folder)?;
        }
        Ok(CliOutcome::Done)
    }

    async fn disable(&self, name: &str) -> Result<CliOutcome, Problem> {
        let check = self.find(name)?;
        self.client.decide_check(check, &self.folder, false).await?;
        print(&format!("{} is off.\n", check.name))?;
        Ok(CliOutcome::Done)
    }
}
