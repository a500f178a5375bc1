//! `trimtab resume`: go on where something was cut off.

use std::path::PathBuf;

use clap::Args;
use trimtab_host::{Client, JobRow, JobState, Sent};
use trimtab_vocab::{Problem, ProblemKind};

use super::follow::{Asking, Form, follow};
use super::output::note;
use super::run::Approve;
use super::{Outcome, place};

#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The session or request to go on with; without it, the folder's latest unfinished request
    id: Option<String>,
    /// Print every event as a line of JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// What happens where a person would be asked
    #[arg(long, value_enum, default_value = "ask")]
    approve: Approve,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Resume {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (_, client) = place::open(&[])?;
        let job = self.choose(&client, &folder).await?;
        match job.state {
            JobState::Finished(_) if !self.json => {
                note("Nothing is unfinished here; this is how the latest request ended:");
            }
            JobState::Finished(_) => {}
            _ => client.resume(&job.session),
        }
        let sent = Sent { session: job.session, request: job.request };
        follow(&client, &sent, 0, Form::of(self.json), Asking::of(self.approve, self.json)).await
    }

    /// The newest unfinished request that is meant; failing that, the newest.
    async fn choose(&self, client: &Client, folder: &str) -> Result<JobRow, Problem> {
        let is_meant = |job: &JobRow| match &self.id {
            Some(id) => job.session.as_str() == id || job.request.as_str() == id,
            None => job.folder == folder,
        };
        let is_open = |job: &JobRow| !matches!(job.state, JobState::Finished(_));
        let mut jobs: Vec<JobRow> = client.jobs(true).await?.into_iter().filter(is_meant).collect();
        let place = jobs.iter().position(is_open).unwrap_or(0);
        if jobs.is_empty() {
            let what = match &self.id {
                Some(id) => format!("There is no session or request called {id}."),
                None => "There is nothing to resume in this folder.".to_owned(),
            };
            return Err(Problem::new(ProblemKind::NotFound, what).hint(
                "`trimtab jobs` lists unfinished requests of every folder; `trimtab sessions list` all sessions.",
            ));
        }
        Ok(jobs.swap_remove(place))
    }
}
