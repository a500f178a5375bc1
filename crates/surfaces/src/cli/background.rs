//! `trimtab ps` and `trimtab stop-command`: commands that continue in the background.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use trimtab_host::Client;
use trimtab_vocab::{BackgroundId, BackgroundRow, Problem, ProblemKind, SessionId};

use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};
use crate::words;

/// How long the process that runs a command may take to end it.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

const PS_EXAMPLES: &str = "\
Examples:
  trimtab ps              list the background commands of this folder's sessions
  trimtab ps --all        include all folders
  trimtab stop-command b1";

#[derive(Debug, Args)]
#[command(after_help = PS_EXAMPLES)]
pub(super) struct PsArgs {
    /// Include all folders
    #[arg(long)]
    all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl PsArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (_, client) = place::open(&[])?;
        let rows = client.commands().running_in(Some(folder.as_str()).filter(|_| !self.all)).await?;
        let now = trimtab_host::now();
        for row in &rows {
            if self.json {
                print_json(&serde_json::json!(row))?;
            } else {
                print(&format!("{}\n", sanitize(&format!("{}  {}", row.session, words::background_line(row, now)))))?;
            }
        }
        if rows.is_empty() && !self.json {
            print(&format!("{}\n", words::NONE_RUNNING))?;
        }
        Ok(CliOutcome::Done)
    }
}

const STOP_EXAMPLES: &str = "\
Examples:
  trimtab stop-command b1
  trimtab stop-command b1 --session s1m7ptyknxrz8zv2w";

#[derive(Debug, Args)]
#[command(after_help = STOP_EXAMPLES)]
pub(super) struct StopCommandArgs {
    /// Background command, as `trimtab ps` lists it
    id: BackgroundId,
    /// Use this session instead of the one in this folder that has the command
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl StopCommandArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = match self.session.clone() {
            Some(session) => session,
            None => self.find(&client).await?,
        };
        let row = client.commands().stop(&session, &self.id).await?;
        if !row.is_running() {
            let state = words::background_state(&row, trimtab_host::now());
            print(&format!("{} is not running: it {}.\n", self.id, sanitize(&state)))?;
            return Ok(CliOutcome::Done);
        }
        let until = Instant::now() + STOP_PATIENCE;
        while Instant::now() < until {
            let rows = client.commands().list(&session).await?;
            if !rows.iter().any(|row| row.id == self.id && row.is_running()) {
                print(&format!("Stopped {}: {}\n", self.id, sanitize(&row.command)))?;
                return Ok(CliOutcome::Done);
            }
            tokio::time::sleep(POLL).await;
        }
        Err(Problem::new(ProblemKind::Internal, format!("{} is still running.", self.id))
            .hint("The process that runs it may be suspended. It ends with that process."))
    }

    /// The one session of the folder in which such a command runs.
    async fn find(&self, client: &Client) -> Result<SessionId, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let rows = client.commands().running_in(Some(&folder)).await?;
        let sessions: Vec<SessionId> =
            rows.into_iter().filter(|row| row.id == self.id).map(|row| row.session).collect();
        match sessions.as_slice() {
            [session] => Ok(session.clone()),
            [] => {
                Err(Problem::new(ProblemKind::NotFound, format!("No background command {} is running here.", self.id))
                    .hint("`trimtab ps --all` lists the background commands of all folders."))
            }
            several => {
                let names: Vec<&str> = several.iter().map(SessionId::as_str).collect();
                Err(Problem::new(ProblemKind::Usage, format!("Several sessions run a command {}.", self.id))
                    .hint(format!("Choose one with --session: {}.", names.join(", "))))
            }
        }
    }
}

/// Ends the background commands of this process, which is about to exit, and says which.
pub(super) async fn end_with_program(client: &Client) {
    let ended: Vec<BackgroundRow> = client.commands().end_all().await;
    if let Some(text) = words::ended_with_program(&ended) {
        note(&sanitize(&text));
    }
}
