//! `trimtab rules` and `trimtab trust`: what a person has decided once and for all.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use trimtab_host::{BROAD, broad_hint};
use trimtab_vocab::{BoundFile, HostPolicy, Problem, ProblemKind, Rule, RuleVerdict, host_pattern_objection};

use super::output::{print, print_json};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab rules                                            list the rules with their numbers
  trimtab rules add allow run_command \"cargo test *\"       run matching commands without asking
  trimtab rules add deny run_command \"git push *\" --dir .  never run them in this folder
  trimtab rules add allow network \"*.example.org\"          let commands reach these hosts
  trimtab rules remove 1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RulesArgs {
    #[command(subcommand)]
    command: Option<RulesCommand>,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// List the rules with their numbers
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a rule
    Add {
        /// Decision of the rule
        verdict: RuleKind,
        /// Tool: run_command, run_outside, read_file, edit_file, delete_file, move_file, fetch_url, web_search, mcp, or network
        tool: String,
        /// Command, path, host, or SERVER:TOOL to match (a trailing `*` matches anything)
        pattern: String,
        /// Limit to this folder [default: everywhere]
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
    /// Remove a rule
    Remove {
        /// Number of the rule in the list
        number: usize,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RuleKind {
    /// Allow without asking
    Allow,
    /// Ask, even if another rule allows it
    Ask,
    /// Deny without asking
    Deny,
}

/// The tools that rules are about.
const TOOLS: [&str; 10] = [
    "run_command",
    "run_outside",
    "read_file",
    "edit_file",
    "delete_file",
    "move_file",
    "fetch_url",
    "web_search",
    "mcp",
    HostPolicy::TOOL,
];

impl RulesArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        match self.command.unwrap_or(RulesCommand::List { json: false }) {
            RulesCommand::List { json } => {
                let rules = client.permissions().rules().await?;
                for (number, rule) in rules.iter().enumerate() {
                    match json {
                        true => print_json(rule)?,
                        false => print(&format!("{:>3}  {rule}\n", number + 1))?,
                    }
                }
                if rules.is_empty() && !json {
                    print("There are no rules. Answering a prompt with `always` adds one.\n")?;
                }
            }
            RulesCommand::Add { verdict, tool, pattern, dir } => {
                if !TOOLS.contains(&tool.as_str()) {
                    return Err(Problem::new(ProblemKind::Usage, format!("Unknown tool `{tool}`."))
                        .hint(format!("Name one of: {}.", TOOLS.join(", "))));
                }
                if let Some(hint) = host_pattern_objection(&pattern).filter(|_| tool == HostPolicy::TOOL) {
                    return Err(Problem::new(ProblemKind::Usage, format!("Invalid host `{pattern}`.")).hint(hint));
                }
                let folder = dir.map(|dir| place::folder(Some(&dir))).transpose()?;
                let verdict = match verdict {
                    RuleKind::Allow => RuleVerdict::Allow,
                    RuleKind::Ask => RuleVerdict::Ask,
                    RuleKind::Deny => RuleVerdict::Deny,
                };
                let rule = Rule { verdict, tool, pattern, folder };
                client.permissions().change_rule(&rule, true).await?;
                print(&format!("Added rule: {rule}.\n"))?;
                if let Some(note) = trimtab_host::unanswered_by(&profile, &rule) {
                    print(&format!("{note}\n"))?;
                }
            }
            RulesCommand::Remove { number } => {
                let rules = client.permissions().rules().await?;
                let Some(rule) = number.checked_sub(1).and_then(|at| rules.get(at)) else {
                    return Err(Problem::new(ProblemKind::NotFound, format!("There is no rule number {number}."))
                        .hint("`trimtab rules` lists them."));
                };
                client.permissions().change_rule(rule, false).await?;
                print(&format!("Removed rule: {rule}.\n"))?;
            }
        }
        Ok(CliOutcome::Done)
    }
}

const TRUST: &str = "\
Examples:
  trimtab trust              trust the current folder
  trimtab trust ../other     trust another folder";

#[derive(Debug, Args)]
#[command(after_help = TRUST)]
pub(super) struct TrustArgs {
    /// Folder to trust [default: the current one]
    folder: Option<PathBuf>,
    /// Stop trusting the folder
    #[arg(long)]
    remove: bool,
    /// Confirm a folder that is not a project by repeating its path
    #[arg(long, value_name = "PATH", conflicts_with = "remove")]
    confirm: Option<PathBuf>,
}

impl TrustArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.folder.as_deref())?;
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        let is_broad = client.permissions().is_broad(&folder);
        let confirmed = self.confirm.map(|path| place::folder(Some(&path))).transpose()?;
        if is_broad && !self.remove && confirmed.as_ref() != Some(&folder) {
            let problem = Problem::new(ProblemKind::Usage, format!("{folder} is not trusted: {BROAD}."));
            return Err(problem.hint(broad_hint(&folder)));
        }
        // A folder name with line breaks must not print a line that looks like ours.
        let shown = folder.replace(['\n', '\r'], "\u{23ce}");
        if self.remove {
            client.permissions().distrust(&folder).await?;
            print(&format!("{shown} is no longer trusted.\n"))?;
            return Ok(CliOutcome::Done);
        }
        let instructions: Vec<String> = client.permissions().trust(&profile, &folder).await?;
        let mut said = format!("Trusted {shown}. Its files can be read, changed, and sent to the model.\n");
        let sentences = [
            (Some(BoundFile::Skill), "Accepted skills: ", "Trimtab asks again when one changes."),
            (Some(BoundFile::Agent), "Accepted agents: ", "Trimtab asks again when one changes."),
            (None, "Accepted as instructions: ", "Trimtab asks again when they change."),
        ];
        for (kind, accepted, asked) in sentences {
            let files = instructions.iter().filter(|path| BoundFile::at(path) == kind);
            let names = files.map(String::as_str).collect::<Vec<_>>().join(", ").replace(['\n', '\r'], "\u{23ce}");
            if !names.is_empty() {
                said.push_str(&format!("{accepted}{names}. {asked}\n"));
            }
        }
        print(&said)?;
        Ok(CliOutcome::Done)
    }
}
