//! `trimtab pills`: the workflows that can be called by name.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use trimtab_host::{PillKind, Pills};
use trimtab_vocab::Problem;

use super::output::{note, print, print_json};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab pills                      list the workflows available here
  trimtab run \"/review src/main.rs\"  run one";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PillsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Trust the folder for this run, so that its own pills are read
    #[arg(long)]
    trust: bool,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl PillsArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (profile, client) = place::open(&[])?;
        let trusted = self.trust || client.permissions().trusts(&profile, &folder).await?;
        let pills = match self.trust {
            true => Pills::load(&profile, Some(folder.as_str())),
            false => client.pills(&profile, &folder).await?,
        };
        let lines: Vec<(String, String, String)> = pills
            .list()
            .map(|(name, known)| {
                let call = format!("/{name} {}", known.definition.arguments);
                let kind =
                    Some(known.kind).filter(|kind| *kind != PillKind::Pill).map(|kind| format!(" {}", kind.name()));
                let from = format!("{}{} {}", known.source.name(), kind.unwrap_or_default(), known.file.display());
                (call.trim_end().to_owned(), known.definition.description.clone(), from)
            })
            .collect();
        let width = lines.iter().map(|(call, ..)| call.chars().count()).max().unwrap_or(0);
        if self.json {
            for (name, known) in pills.list() {
                let pill = &known.definition;
                print_json(&json!({
                    "name": name, "description": pill.description, "arguments": pill.arguments, "mode": pill.mode,
                    "tools": pill.tools, "categories": pill.categories, "source": known.source.name(),
                    "kind": known.kind.name(), "notes": known.notes,
                    "file": known.file.display().to_string(),
                }))?;
            }
            for wrong in &pills.wrong {
                print_json(&json!({"file": wrong.file.display().to_string(), "problem": wrong.problem}))?;
            }
        } else {
            for (call, description, from) in &lines {
                print(&format!("{call:<width$}  {description}\n{:<width$}  {from}\n", ""))?;
            }
            if lines.is_empty() {
                let own = profile.file.with_file_name("pills");
                print(&format!(
                    "There are no pills yet. Write one as {}/NAME.md, or in .trimtab/pills/ of a folder.\n",
                    own.display()
                ))?;
            }
            for wrong in &pills.wrong {
                note(&format!("warning: {}: {}", wrong.file.display(), wrong.problem));
            }
        }
        if !trusted {
            note("note: The folder is not trusted, so its own pills are not read (`trimtab trust`, or --trust).");
        }
        Ok(CliOutcome::Done)
    }
}
