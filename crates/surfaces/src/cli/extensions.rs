//! `trimtab extensions`: everything that is loaded, pending, or ignored.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use trimtab_vocab::Problem;

use super::output::{note, print, print_json};
use super::{CliOutcome, place};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  trimtab extensions               list all extensions with their state
  trimtab extensions --kind agent  list only agents
  trimtab extensions --json        print one JSON object per line";

const KINDS: [&str; 7] = ["mcp", "skill", "agent", "command", "pill", "hook", "instructions"];

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExtensionsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// List only extensions of this kind
    #[arg(long, value_name = "KIND", value_parser = KINDS)]
    kind: Option<String>,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl ExtensionsArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (profile, client) = place::open(&[])?;
        let mut found = client.extensions(&profile, &folder).await?;
        if let Some(kind) = &self.kind {
            found.list.retain(|extension| extension.kind.name() == kind);
        }
        if !self.json {
            print(&format!("{}\n", words::sanitize(&words::extensions::extensions(&found))))?;
            return Ok(CliOutcome::Done);
        }
        for extension in &found.list {
            print_json(&json!({
                "kind": extension.kind.name(), "name": extension.name, "description": extension.description,
                "state": extension.state.name(), "source": extension.source, "origin": extension.origin,
                "reasons": extension.reasons,
            }))?;
        }
        found.problems.iter().for_each(|problem| note(&format!("note: {problem}")));
        if !found.trusted {
            note("note: The folder is not trusted, so Trimtab reads nothing in it (`trimtab trust`).");
        }
        Ok(CliOutcome::Done)
    }
}
