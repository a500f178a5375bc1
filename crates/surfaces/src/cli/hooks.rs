//! `trimtab hooks`: lists hooks, and approves those of a folder.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::config::Profile;
use trimtab_host::{Client, HookStanding, KnownHook};
use trimtab_vocab::{Problem, ProblemKind};

use super::output::{note, print, print_json};
use super::{CliOutcome, approval, place};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  trimtab hooks                                list your hooks and the hooks of this folder
  trimtab hooks enable project:PostToolUse-1   show a hook of this folder and approve it
  trimtab hooks disable project:PostToolUse-1  stop using it";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HooksArgs {
    #[command(subcommand)]
    command: Option<HooksCommand>,
    /// Use the hooks of this folder [default: the current one]
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum HooksCommand {
    /// List your hooks and the hooks of this folder
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show a hook of this folder and approve it
    Enable {
        /// Name of the hook
        name: String,
        /// Approve without asking
        #[arg(long)]
        yes: bool,
    },
    /// Stop using a hook of this folder
    Disable {
        /// Name of the hook
        name: String,
    },
}

impl HooksArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        let folder = place::folder(self.dir.as_deref())?;
        let setup = HookSetup { profile, client, folder };
        match self.command.unwrap_or(HooksCommand::List { json: false }) {
            HooksCommand::List { json } => setup.list(json).await,
            HooksCommand::Enable { name, yes } => setup.enable(&name, yes).await,
            HooksCommand::Disable { name } => setup.disable(&name).await,
        }
    }
}

struct HookSetup {
    profile: Profile,
    client: Client,
    folder: String,
}

impl HookSetup {
    async fn list(&self, json: bool) -> Result<CliOutcome, Problem> {
        let hooks = self.client.hooks(&self.profile, &self.folder).await?;
        let rules = self.client.permissions().rules().await?;
        let trusted = self.client.permissions().trusts(&self.profile, &self.folder).await?;
        if !json {
            print(&format!("{}\n", words::hooks::list(&hooks, &self.folder, &rules, trusted)))?;
            return Ok(CliOutcome::Done);
        }
        for hook in &hooks.known {
            let listed = &hook.listed;
            print_json(&json!({
                "name": hook.name, "event": listed.event, "matcher": listed.matcher, "command": listed.command,
                "status": hook.standing(&self.folder, &rules).name(), "source": hook.source(), "file": hook.file,
                "timeoutS": listed.timeout_s, "onFailure": words::hooks::on_failure(listed), "files": listed.files,
                "problem": listed.problem, "hash": listed.hash,
            }))?;
        }
        for ignored in &hooks.ignored {
            note(&format!("note: {}: {}", ignored.file.display(), ignored.problem));
        }
        Ok(CliOutcome::Done)
    }

    async fn find(&self, name: &str) -> Result<KnownHook, Problem> {
        let hooks = self.client.hooks(&self.profile, &self.folder).await?;
        let names: Vec<&str> = hooks.known.iter().map(|hook| hook.name.as_str()).collect();
        let hint = match names.is_empty() {
            true => words::hooks::NONE.to_owned(),
            false => format!("Hooks of this folder: {}.", names.join(", ")),
        };
        let unknown = || Problem::new(ProblemKind::NotFound, format!("Unknown hook {name}.")).hint(hint);
        let hook = hooks.named(name).cloned().ok_or_else(unknown)?;
        if !hook.listed.needs_approval() {
            let file = hook.file.display();
            return Err(Problem::new(
                ProblemKind::Usage,
                format!("{} is your own hook, which is always on.", hook.name),
            )
            .hint(format!("Edit {file} to change it.")));
        }
        Ok(hook)
    }

    async fn enable(&self, name: &str, yes: bool) -> Result<CliOutcome, Problem> {
        let hook = self.find(name).await?;
        let name = &hook.name;
        print(&format!("{}\n", words::hooks::described(&hook)))?;
        let rules = self.client.permissions().rules().await?;
        if hook.standing(&self.folder, &rules) == HookStanding::On {
            print(&format!("{name} is on already.\n"))?;
            return Ok(CliOutcome::Done);
        }
        if yes || approval::ask("hook", "hooks", name).await? {
            self.client.decide_hook(&hook, &self.folder, true).await?;
            approval::report(name, &self.folder)?;
        }
        Ok(CliOutcome::Done)
    }

    async fn disable(&self, name: &str) -> Result<CliOutcome, Problem> {
        let hook = self.find(name).await?;
        self.client.decide_hook(&hook, &self.folder, false).await?;
        print(&format!("{} is off.\n", hook.name))?;
        Ok(CliOutcome::Done)
    }
}
