//! `trimtab recover`: prints the parts of a damaged answer that are certain.

use std::path::PathBuf;

use clap::Args;
use trimtab_vocab::Problem;
use trimtab_vocab::event::Status;

use super::CliOutcome;
use super::apply_edit::read;
use super::output::print_json;

const EXAMPLES: &str = "\
Examples:
  trimtab recover answer.txt             recover a saved answer
  trimtab ref REPLY | trimtab recover -  recover a raw reply";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Recover {
    /// Saved answer, any bytes (`-` reads standard input)
    file: PathBuf,
}

impl Recover {
    pub(super) fn execute(self) -> Result<CliOutcome, Problem> {
        let (report, found) = trimtab_host::recover(&read(&self.file)?);
        print_json(&report)?;
        Ok(if found { CliOutcome::Done } else { CliOutcome::Finished(Status::Failed) })
    }
}
