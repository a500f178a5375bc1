//! `trimtab completions` and `trimtab manual`: what packages install beside the program, from the same source as
//! `--help`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use trimtab_vocab::{Problem, ProblemKind};

use super::output::print_exact;
use super::{CliArgs, CliOutcome};

const COMPLETIONS: &str = "\
Examples:
  trimtab completions bash > ~/.local/share/bash-completion/completions/trimtab
  trimtab completions fish > ~/.config/fish/completions/trimtab.fish";

const MANUAL: &str = "\
Examples:
  trimtab manual | man -l -                      read the manual
  trimtab manual --into ~/.local/share/man/man1  install it for `man trimtab`";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(super) struct Completions {
    /// Shell to print completions for
    shell: Shell,
}

impl Completions {
    pub(super) fn execute(self) -> Result<CliOutcome, Problem> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut CliArgs::command(), "trimtab", &mut text);
        print_exact(&String::from_utf8_lossy(&text))?;
        Ok(CliOutcome::Done)
    }
}

#[derive(Debug, Args)]
#[command(after_help = MANUAL)]
pub(super) struct Manual {
    /// Write one page per command to this folder instead
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

impl Manual {
    pub(super) fn execute(self) -> Result<CliOutcome, Problem> {
        let command = CliArgs::command();
        let Some(folder) = self.into else {
            let mut text = Vec::new();
            Man::new(command).render(&mut text).map_err(|error| {
                Problem::new(ProblemKind::Internal, format!("The manual cannot be written: {error}."))
            })?;
            print_exact(&String::from_utf8_lossy(&text))?;
            return Ok(CliOutcome::Done);
        };
        clap_mangen::generate_to(command, &folder).map_err(|error| {
            let message = format!("The manual cannot be written into {}: {error}.", folder.display());
            Problem::new(ProblemKind::Usage, message).hint("Name an existing folder that you can write to.")
        })?;
        Ok(CliOutcome::Done)
    }
}
