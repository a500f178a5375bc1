//! `trimtab ref`: a stored text. A terminal shows its control characters spelled out; pipes and files get it unchanged.

use clap::Args;
use trimtab_vocab::{Problem, ProblemKind, RefKey};

use super::output::{print_exact, print_raw};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab ref reply-s1m7grpfvbxsfz587-c1    show the raw text of a reply";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ref {
    /// Key of the text, with or without `ref:`
    key: String,
    /// Print control characters unchanged, even to a terminal
    #[arg(long)]
    raw: bool,
}

impl Ref {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let name = self.key.strip_prefix("ref:").unwrap_or(&self.key);
        let key: RefKey = name.parse().map_err(|error| {
            Problem::new(ProblemKind::Usage, format!("{error}."))
                .hint("Events name stored texts, for example `raw` of `reply.saved`.")
        })?;
        let (_, client) = place::open(&[])?;
        let text = client.refs().text(&key).await?;
        if self.raw {
            print_raw(&text)?
        } else {
            print_exact(&text)?
        }
        Ok(CliOutcome::Done)
    }
}
