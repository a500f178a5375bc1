//! `trimtab memory`: lists, adds, edits, and deletes memories.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use trimtab_host::Client;
use trimtab_vocab::format;
use trimtab_vocab::{MemoryEntry, MemoryFact, MemoryId, Problem, ProblemKind};

use super::output::{print, print_json};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab memory                                         list all memories
  trimtab memory add \"We use tabs\" --dir .               add a memory for this folder only
  trimtab memory delete ID";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MemoryArgs {
    #[command(subcommand)]
    command: Option<MemoryCommand>,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// List all memories, oldest first
    List {
        /// List only memories that apply to this folder
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Search memories
    Search {
        /// Words to search for
        #[arg(required = true)]
        words: Vec<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a memory
    Add {
        /// Text of the memory, one sentence
        text: String,
        /// Limit to this folder [default: everywhere]
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a memory's text or scope
    Edit {
        /// ID of the memory, or its beginning
        id: String,
        /// New text
        text: Option<String>,
        /// Limit the memory to this folder
        #[arg(long, value_name = "FOLDER", conflicts_with = "everywhere")]
        dir: Option<PathBuf>,
        /// Apply the memory everywhere
        #[arg(long)]
        everywhere: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a memory
    Delete {
        /// ID of the memory, or its beginning
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl MemoryArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let folder = |dir: Option<PathBuf>| dir.map(|dir| place::folder(Some(&dir))).transpose();
        match self.command.unwrap_or(MemoryCommand::List { dir: None, json: false }) {
            MemoryCommand::List { dir, json } => {
                let entries = client.memory().list(folder(dir)?.as_deref(), "").await?;
                if entries.is_empty() && !json {
                    print(
                        "There are no memories yet. Trimtab adds one when you write something lasting (\"My name is …\"). Or add one with `trimtab memory add`.\n",
                    )?;
                }
                entries.iter().try_for_each(|entry| show(entry, json))?;
            }
            MemoryCommand::Search { words, json } => {
                let entries = client.memory().list(None, &words.join(" ")).await?;
                if entries.is_empty() && !json {
                    print("No memory contains these words.\n")?;
                }
                entries.iter().try_for_each(|entry| show(entry, json))?;
            }
            MemoryCommand::Add { text, dir, json } => {
                let entry = client.memory().add(&text, folder(dir)?).await?;
                told("Remembered", &entry, json)?;
            }
            MemoryCommand::Edit { id, text, dir, everywhere, json } => {
                let id = find(&client, &id).await?;
                let place = match folder(dir)? {
                    Some(folder) => Some(Some(folder)),
                    None => everywhere.then_some(None),
                };
                if text.is_none() && place.is_none() {
                    return Err(Problem::new(ProblemKind::Usage, "There is nothing to change.")
                        .hint("Give the new text, --dir FOLDER, or --everywhere."));
                }
                let entry = client.memory().edit(&id, text.as_deref(), place).await?;
                told("Updated", &entry, json)?;
            }
            MemoryCommand::Delete { id, json } => {
                let id = find(&client, &id).await?;
                let entry = client.memory().forget(&id).await?;
                told("Forgotten", &entry, json)?;
            }
        }
        Ok(CliOutcome::Done)
    }
}

/// What is told of it while a request runs.
pub(super) fn in_words(fact: &MemoryFact) -> Option<String> {
    let (what, entries) = match fact {
        MemoryFact::Recalled { entries } => ("Recalled from earlier sessions", entries),
        MemoryFact::Noted { entries } => ("Remembered for later sessions", entries),
    };
    if entries.is_empty() {
        return None;
    }
    let lines: String = entries.iter().map(|entry| format!("\n  - {}", entry.text.replace('\n', " "))).collect();
    Some(format!("{what} (manage with `trimtab memory`):{lines}"))
}

/// The entry whose name is given, or begins so.
async fn find(client: &Client, name: &str) -> Result<MemoryId, Problem> {
    let all = client.memory().list(None, "").await?;
    if let Some(entry) = all.iter().find(|entry| entry.id.as_str() == name) {
        return Ok(entry.id.clone());
    }
    let fits: Vec<&MemoryEntry> = all.iter().filter(|entry| entry.id.as_str().starts_with(name)).collect();
    match fits.as_slice() {
        [entry] if !name.is_empty() => Ok(entry.id.clone()),
        [] => Err(Problem::new(ProblemKind::NotFound, format!("There is no memory {name}."))
            .hint("`trimtab memory list` lists all memories with their IDs.")),
        _ => Err(Problem::new(
            ProblemKind::Usage,
            format!("{} begin with {name}.", format::plural(fits.len(), "memory")),
        )
        .hint("Type more of the ID.")),
    }
}

fn show(entry: &MemoryEntry, json: bool) -> Result<(), Problem> {
    if json {
        return print_json(entry);
    }
    let from = match &entry.session {
        Some(session) => format!(" in session {session}"),
        None => String::new(),
    };
    let place = entry.folder.as_deref().map_or_else(|| "everywhere".into(), |folder| format!("in {folder}"));
    let when = format::age(entry.edited.unwrap_or(entry.made), trimtab_host::now());
    print(&format!("{}  {}\n    applies {place} · added {when}{from}\n", entry.id, entry.text))
}

fn told(what: &str, entry: &MemoryEntry, json: bool) -> Result<(), Problem> {
    if json {
        return print_json(entry);
    }
    print(&format!("{what}: {} ({})\n", entry.text, entry.folder.as_deref().unwrap_or("everywhere")))
}
