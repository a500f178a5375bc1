//! `trimtab recover`: what is certain of a saved model answer.

use std::path::PathBuf;

use clap::Args;
use trimtab_vocab::Problem;
use trimtab_vocab::event::Status;

use super::CliOutcome;
use super::apply_edit::read;
use super::output::print_json;

const EXAMPLES: &str = "\
Examples:
  trimtab recover answer.txt          what of a saved answer is certain
  trimtab ref REPLY | trimtab recover -  the same for a reply as it came";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Recover {
    /// The answer as it came, any bytes; `-` reads it from standard input
    file: PathBuf,
}

impl Recover {
    pub(super) fn execute(self) -> Result<CliOutcome, Problem> {
        let (report, found) = trimtab_host::recover(&read(&self.file)?);
        print_json(&report)?;
        Ok(if found { CliOutcome::Done } else { CliOutcome::Finished(Status::Failed) })
    }
}
