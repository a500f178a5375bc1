//! `trimtab acp`: the Agent Client Protocol on standard input and output.

use clap::Args;
use tokio::io::BufReader;
use trimtab_vocab::{Problem, ProblemKind};

use super::screen::ScreenArgs;
use super::{CliOutcome, place};
use crate::acp;

const EXAMPLES: &str = "\
Your editor runs this command. In its agent settings, set the command `trimtab` and the
argument `acp`. For Zed, add this to settings.json:

  {\"agent_servers\": {\"Trimtab\": {\"type\": \"custom\", \"command\": \"trimtab\", \"args\": [\"acp\"]}}}

Examples:
  trimtab acp                      serve one editor until it closes standard input
  RUST_LOG=debug trimtab acp       log to standard error";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AcpArgs {
    /// Open the terminal UI to set up a model (editors run this in a terminal)
    #[arg(long)]
    setup: bool,
}

impl AcpArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        if self.setup {
            return ScreenArgs::default().execute().await;
        }
        let (profile, client) = place::open(&[])?;
        let client = client.on("acp");
        // What the editor sends is read in large pieces: a prompt may bring images.
        let input = BufReader::with_capacity(64 * 1024, tokio::io::stdin());
        match acp::serve(client, profile, input, tokio::io::stdout()).await {
            Ok(()) => Ok(CliOutcome::Done),
            // The editor is gone; the sessions are stored.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(CliOutcome::Done),
            Err(error) => {
                Err(Problem::new(ProblemKind::Internal, format!("The connection to the editor failed: {error}.")))
            }
        }
    }
}
