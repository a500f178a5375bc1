//! `trimtab import`: takes over what the user's other programs have on this machine.

use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use serde_json::json;
use trimtab_host::config::Profile;
use trimtab_host::{Client, ImportItem, ImportSource, ImportState};
use trimtab_vocab::format::Plural;
use trimtab_vocab::{Problem, ProblemKind};

use super::output::{note, print, print_json};
use super::{CliOutcome, keyboard, place};
use crate::output::StdStream;
use crate::words::{one_line, sanitize};

const EXAMPLES: &str = "\
Examples:
  trimtab import claude                list what Claude Code has, and choose
  trimtab import codex --only 1,3      import these entries
  trimtab import opencode --all        import everything new
  trimtab import gemini --dry-run      list without importing
  trimtab import claude --sessions     list earlier sessions, and choose";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ImportArgs {
    /// Tool to import from
    #[arg(value_enum)]
    from: ImportFrom,
    /// Import everything new
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// Import the entries with these numbers
    #[arg(long, value_name = "N,M", value_delimiter = ',')]
    only: Vec<usize>,
    /// List and import earlier sessions instead of settings
    #[arg(long)]
    sessions: bool,
    /// List without importing anything
    #[arg(long, conflicts_with_all = ["all", "only"])]
    dry_run: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ImportFrom {
    /// Read what Claude Code has in ~/.claude and ~/.claude.json
    Claude,
    /// Read what Codex has in ~/.codex
    Codex,
    /// Read what opencode has in ~/.config/opencode
    Opencode,
    /// Read what Gemini CLI has in ~/.gemini
    Gemini,
    /// Read the mcp.json of Visual Studio Code
    Vscode,
}

impl From<ImportFrom> for ImportSource {
    fn from(from: ImportFrom) -> Self {
        match from {
            ImportFrom::Claude => Self::Claude,
            ImportFrom::Codex => Self::Codex,
            ImportFrom::Opencode => Self::Opencode,
            ImportFrom::Gemini => Self::Gemini,
            ImportFrom::Vscode => Self::Vscode,
        }
    }
}

impl ImportArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        let source = self.from.into();
        let items = match self.sessions {
            true => client.importable_sessions(&profile, source).await?,
            false => client.importable(&profile, source).await?,
        };
        let is_chosen = self.all || !self.only.is_empty();
        if !self.json || !is_chosen {
            list(&items, self.json)?;
        }
        if !self.sessions && !self.json {
            let earlier = client.earlier_sessions(&profile, source).await?;
            if earlier > 0 {
                let (earlier, name) = (Plural::new(earlier as u64, "earlier session"), source.name());
                note(&format!("note: Found {earlier}. `trimtab import {name} --sessions` lists them."));
            }
        }
        let wanted = match (self.all, self.only.is_empty()) {
            (true, _) => numbers(&items),
            (_, false) => checked(&items, self.only)?,
            _ if self.dry_run || self.json || numbers(&items).is_empty() => return Ok(CliOutcome::Done),
            _ if std::io::stdin().is_terminal() && StdStream::Out.is_terminal() => asked(&items).await?,
            _ => {
                note("note: Nothing was changed. Choose with --all or --only N,M.");
                return Ok(CliOutcome::Done);
            }
        };
        take_over(&client, profile, &items, &wanted, self.json).await?;
        Ok(CliOutcome::Done)
    }
}

/// The numbers of what can be taken over.
fn numbers(items: &[ImportItem]) -> Vec<usize> {
    (1..).zip(items).filter(|(_, item)| item.state == ImportState::New).map(|(number, _)| number).collect()
}

fn checked(items: &[ImportItem], only: Vec<usize>) -> Result<Vec<usize>, Problem> {
    for number in &only {
        let item = number.checked_sub(1).and_then(|at| items.get(at));
        let wrong = match item.map(|item| item.state) {
            Some(ImportState::New | ImportState::Present) => continue,
            Some(ImportState::Ignored) => format!("Entry {number} cannot be imported."),
            None => format!("Entry {number} does not exist."),
        };
        return Err(
            Problem::new(ProblemKind::Usage, wrong).hint("Nothing was changed. The list shows what can be imported.")
        );
    }
    Ok(only)
}

async fn asked(items: &[ImportItem]) -> Result<Vec<usize>, Problem> {
    keyboard::discard();
    print("Which entries do you want to import? Numbers such as 1,3, `all`, or Enter for none: ")?;
    let typed = keyboard::line().await.unwrap_or_default();
    let typed = typed.trim();
    if typed.is_empty() || typed == "none" {
        return Ok(Vec::new());
    }
    if typed == "all" {
        return Ok(numbers(items));
    }
    let number = |word: &str| {
        let wrong =
            || Problem::new(ProblemKind::Usage, format!("`{word}` is not a number.")).hint("Nothing was changed.");
        word.parse::<usize>().map_err(|_| wrong())
    };
    let words = typed.split([',', ' ']).filter(|word| !word.is_empty());
    checked(items, words.map(number).collect::<Result<_, _>>()?)
}

fn list(items: &[ImportItem], json: bool) -> Result<(), Problem> {
    if items.is_empty() && !json {
        return print("Found nothing to import.\n");
    }
    for (number, item) in (1..).zip(items) {
        let ImportItem { kind, name, from, state, becomes, reasons, .. } = item;
        if json {
            print_json(&json!({
                "number": number, "kind": kind.name(), "name": name, "from": from.display().to_string(),
                "state": state.name(), "becomes": becomes, "reasons": reasons,
            }))?;
            continue;
        }
        let (kind, state) = (kind.name(), state.name());
        let mut text = format!("{number:>3}  {kind:<12} {:<32} {state:<8}", one_line(name));
        if !becomes.is_empty() {
            text.push_str(&format!(" → {}", one_line(becomes)));
        }
        for reason in reasons {
            text.push_str(&format!("\n     {}", one_line(reason)));
        }
        print(&format!("{}\n", sanitize(text.trim_end())))?;
    }
    Ok(())
}

async fn take_over(
    client: &Client,
    profile: Profile,
    items: &[ImportItem],
    wanted: &[usize],
    json: bool,
) -> Result<(), Problem> {
    let mut done = 0_u64;
    for (number, item) in (1..).zip(items).filter(|(number, _)| wanted.contains(number)) {
        if item.state != ImportState::New {
            continue;
        }
        client.import(&profile, item).await?;
        done += 1;
        if json {
            print_json(
                &json!({"imported": number, "kind": item.kind.name(), "name": item.name, "becomes": item.becomes}),
            )?;
        }
    }
    if !json {
        print(&format!("Imported {}.\n", Plural::new(done, "entry")))?;
    }
    Ok(())
}
