//! `trimtab jobs`: what runs and what waits.

use clap::Args;
use serde_json::json;
use trimtab_host::{JobRow, JobState};
use trimtab_vocab::Problem;
use trimtab_vocab::event::Status;
use trimtab_vocab::format;

use super::output::{print, print_json, sanitize};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab jobs           list running, queued, and interrupted requests
  trimtab jobs --all     include finished requests";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct JobsArgs {
    /// Include finished requests
    #[arg(long)]
    all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl JobsArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let jobs = client.requests().list(self.all).await?;
        let now = trimtab_host::now();
        for job in &jobs {
            let state = state_of(job);
            if self.json {
                print_json(&json!({
                    "request": job.request, "session": job.session, "folder": job.folder,
                    "text": job.text, "state": state, "created": job.created,
                }))?;
            } else {
                let line = format!("{}  {state:<11}  {:>8}  {}", job.session, format::age(job.created, now), job.text);
                print(&format!("{}\n", sanitize(&line)))?;
            }
        }
        if jobs.is_empty() && !self.json {
            print("No requests are running or queued. `trimtab checkpoints` lists pending questions.\n")?;
        }
        Ok(CliOutcome::Done)
    }
}

fn state_of(job: &JobRow) -> &'static str {
    match job.state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Interrupted => "interrupted",
        JobState::Finished(Status::Completed) => "completed",
        JobState::Finished(Status::NotDone) => "not_done",
        JobState::Finished(Status::Failed) => "failed",
        JobState::Finished(Status::Cancelled) => "cancelled",
        JobState::Finished(Status::NeedsUser) => "needs_user",
        JobState::Finished(Status::Limit) => "limit",
    }
}
