//! `trimtab apply-edit`: one edit, exactly or not at all.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use trimtab_vocab::event::Status;
use trimtab_vocab::{Problem, ProblemKind};

use super::output::print_json;
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab apply-edit edit.json --dry-run    report what it would do
  echo '{\"kind\":\"whole_file\",\"path\":\"a.txt\",\"content\":\"hello\\n\"}' | trimtab apply-edit -";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ApplyEdit {
    /// Edit as a JSON file (`-` reads standard input)
    edit: PathBuf,
    /// Report what the edit would do without applying it
    #[arg(long)]
    dry_run: bool,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl ApplyEdit {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        match trimtab_host::apply_edit(&folder, &read(&self.edit)?, self.dry_run).await {
            Ok(files) => {
                print_json(&json!({"applied": true, "files": files}))?;
                Ok(CliOutcome::Done)
            }
            Err(reason) => {
                print_json(&json!({"applied": false, "reason": reason}))?;
                Ok(CliOutcome::Finished(Status::Failed))
            }
        }
    }
}

/// The bytes of a file, or of standard input.
pub(super) fn read(file: &std::path::Path) -> Result<Vec<u8>, Problem> {
    let cannot = |error: std::io::Error| {
        Problem::new(ProblemKind::Usage, format!("{} cannot be read: {error}.", file.display()))
            .hint("Name a file, or `-` for standard input.")
    };
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(cannot)?;
    } else {
        bytes = std::fs::read(file).map_err(cannot)?;
    }
    Ok(bytes)
}
