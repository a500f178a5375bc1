//! `trimtab resume`: continues an interrupted request.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trimtab_host::{Answered, Client, JobRow, JobState, Sent};
use trimtab_vocab::checkpoint::{Ask, CommandsAsk};
use trimtab_vocab::event::{CheckpointFact, RequestFact, Status};
use trimtab_vocab::{ApprovalClass, Control, Event, Fact, Problem, ProblemKind};

use super::ask::{self, ConfirmBy};
use super::changes::at_rest;
use super::checkpoints::last_seq;
use super::follow::{ASKED_ELSEWHERE, Attendance, OutputForm, Recap, describe, follow, follow_resumed, is_parked};
use super::number::whole;
use super::output::{note, print_json};
use super::question::Answering;
use super::run::{ApproveArg, dollars};
use super::{CliOutcome, background, place};

/// How long the session may take to hear of the terms of this call. One that another process runs, which has been
/// stopped, hears of them when that one goes on.
const PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  trimtab resume                   continue an interrupted request
  trimtab resume --max-steps 50    continue after reaching the model-call limit";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Resume {
    /// Session or request to resume [default: the latest unfinished request in this folder]
    id: Option<String>,
    /// Print events as JSON lines and nothing else
    #[arg(long)]
    json: bool,
    /// Choose how to handle approval prompts
    #[arg(long, value_enum, default_value = "ask")]
    approve: ApproveArg,
    /// Raise the limit of model calls and continue
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    max_steps: Option<u32>,
    /// Raise the budget in US dollars and continue
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Trust the folder for this run
    #[arg(long)]
    trust: bool,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Resume {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (mut profile, client) = place::open(&[])?;
        let client = client.on("resume");
        // A request that began with a model of this machine finds it where it is now.
        if let (None, Some(found)) = (&profile.model, trimtab_host::local_model(&profile).await) {
            client.use_found(&mut profile, &found);
        }
        let job = self.choose(&client, &folder).await?;
        let sent = Sent { session: job.session, request: job.request };
        let asking = Attendance::from_approve(self.approve, self.json);
        // Looked at before anything goes on: what comes after it is news.
        let behind = Recap::load(&client, &sent).await?;
        at_rest(&client, &sent.session).await?;
        // What is asked of somebody at another screen may be answered from here as well.
        let is_asking = job.state == JobState::Running && !asked(&client, &sent).await?.is_empty();
        match job.state {
            state if is_asking || matches!(state, JobState::Finished(Status::NeedsUser | Status::Limit)) => {
                let after = last_seq(&client, &sent.session).await?;
                self.adjust(&client, &sent, asking).await?;
                // Rules and settings may answer what was asked, now that somebody looks at it again.
                let _ = tokio::time::timeout(PATIENCE, heard(&client, &sent, after)).await;
                let outcome = self.go_on(&client, &sent, &behind, asking).await?;
                background::end_with_program(&client).await;
                ask::offer(&client, &profile, &sent, ConfirmBy { approve: self.approve, json: self.json, asking })
                    .await?;
                return Ok(outcome);
            }
            JobState::Finished(_) if !self.json => {
                note("No unfinished request in this folder. The latest request:");
            }
            JobState::Finished(_) => {}
            _ => self.adjust(&client, &sent, asking).await?,
        }
        let outcome = follow_resumed(&client, &sent, &behind, OutputForm::from_json_flag(self.json), asking).await?;
        ask::offer(&client, &profile, &sent, ConfirmBy { approve: self.approve, json: self.json, asking }).await?;
        Ok(outcome)
    }

    /// The request goes on under the terms of this call. Also wakes it.
    async fn adjust(&self, client: &Client, sent: &Sent, asking: Attendance) -> Result<(), Problem> {
        let action = Control::Adjust {
            approve: Some(self.approve.into()),
            attended: Some(asking == Attendance::AtTheTerminal),
            max_steps: self.max_steps,
            trusted: self.trust.then_some(true),
        };
        client.requests().control(&sent.session, Some(sent.request.clone()), action).await
    }

    /// What waits for a person goes on once it is answered: by the options of this call, or at the
    /// terminal. Otherwise it stays open.
    async fn go_on(
        &self,
        client: &Client,
        sent: &Sent,
        behind: &Recap,
        asking: Attendance,
    ) -> Result<CliOutcome, Problem> {
        // Looked at before what is asked: what somebody else answers from here on is news.
        let after = last_seq(client, &sent.session).await?;
        let open = asked(client, sent).await?;
        let mut is_answered = false;
        // The options may answer several questions: one of the request, and those of its workers.
        for event in &open {
            let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, ask, worker, .. }) = &event.fact else {
                continue;
            };
            let Some((choice, text, by)) = self.option_answer(ask, worker.is_some()) else { continue };
            let answer = Answered { checkpoint: checkpoint.clone(), choice, text, by: by.to_owned() };
            client.requests().answer(&sent.session, answer).await?;
            is_answered = true;
        }
        let form = OutputForm::from_json_flag(self.json);
        if is_answered {
            if !self.json {
                behind.tell_all();
            }
            return follow(client, sent, after, form, asking).await;
        }
        let Some(Event { fact: Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, ask, .. }), .. }) =
            open.first()
        else {
            return follow_resumed(client, sent, behind, form, asking).await;
        };
        let given = match asking {
            Attendance::AtTheTerminal => {
                behind.tell_all();
                open.first().into_iter().for_each(describe);
                Answering::begin(choices, ask, true).answer().await
            }
            _ => None,
        };
        let Some((choice, text)) = given else {
            if !is_parked(client, sent).await? {
                // It waits for whoever is at another screen, for as long as that takes; a script does not.
                return still_asked(open.first(), behind, self.json);
            }
            return follow_resumed(client, sent, behind, form, Attendance::Nobody).await;
        };
        let by = CheckpointFact::PERSON.to_owned();
        let answer = Answered { checkpoint: checkpoint.clone(), choice, text, by };
        client.requests().answer(&sent.session, answer).await?;
        follow(client, sent, after, form, asking).await
    }

    /// What the options of this call answer to a question: the choice, its text, and who gives the answer.
    fn option_answer(&self, ask: &Ask, is_workers: bool) -> Option<(String, Option<String>, &'static str)> {
        let (auto, person) = ("approve auto", CheckpointFact::PERSON);
        // A question of an earlier version does not say what is approved. Some permissions only a person can give.
        let needs_person = ask.class().is_none_or(ApprovalClass::needs_person);
        let is_auto = self.approve == ApproveArg::Auto;
        let (choice, text, by) = match ask {
            // The options are about the request. What a worker asks is about its sub-task.
            Ask::StepLimit | Ask::Budget { .. } | Ask::Pause if is_workers => return None,
            Ask::StepLimit if self.max_steps.is_some() => ("continue", None, person),
            Ask::Budget { .. } => ("raise", Some(self.budget?.to_string()), person),
            Ask::Trust { .. } if self.trust => ("trust", None, person),
            Ask::Pause => ("continue", None, person),
            Ask::Permission(_) if is_auto && !needs_person => ("allow", None, auto),
            Ask::Commands(CommandsAsk::Offered { .. }) if is_auto => ("run", None, auto),
            Ask::Begin | Ask::StepBefore(_) | Ask::StepAfter(_) | Ask::Understanding { .. } if is_auto => {
                ("continue", None, auto)
            }
            _ => return None,
        };
        Some((choice.to_owned(), text, by))
    }

    /// The newest unfinished request that is meant; failing that, the newest.
    async fn choose(&self, client: &Client, folder: &str) -> Result<JobRow, Problem> {
        let is_meant = |job: &JobRow| match &self.id {
            Some(id) => job.session.as_str() == id || job.request.as_str() == id,
            None => job.folder == folder,
        };
        let is_open = |job: &JobRow| !matches!(job.state, JobState::Finished(_));
        let mut jobs: Vec<JobRow> = client.requests().list(true).await?.into_iter().filter(is_meant).collect();
        let place = jobs.iter().position(is_open).unwrap_or(0);
        if jobs.is_empty() {
            let what = match &self.id {
                Some(id) => format!("Unknown session or request {id}."),
                None => "There is nothing to resume in this folder.".to_owned(),
            };
            return Err(Problem::new(ProblemKind::NotFound, what).hint(
                "`trimtab jobs` lists unfinished requests of every folder, and `trimtab sessions list --all` lists all sessions.",
            ));
        }
        Ok(jobs.swap_remove(place))
    }
}

/// What a request asks.
async fn asked(client: &Client, sent: &Sent) -> Result<Vec<Event>, Problem> {
    let all = client.requests().checkpoints().await?;
    let mut open: Vec<Event> = all.into_iter().filter(|event| event.request.as_ref() == Some(&sent.request)).collect();
    // Its own questions come before those of its workers.
    let is_workers =
        |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { worker: Some(_), .. }));
    open.sort_by_key(is_workers);
    Ok(open)
}

/// Says what is asked, and leaves it open.
fn still_asked(open: Option<&Event>, behind: &Recap, json: bool) -> Result<CliOutcome, Problem> {
    if let Some(event) = open {
        match json {
            true => print_json(event)?,
            false => {
                behind.tell_all();
                describe(event);
                note(ASKED_ELSEWHERE);
            }
        }
    }
    Ok(CliOutcome::Finished(Status::NeedsUser))
}

/// Waits until the terms of this call are recorded.
async fn heard(client: &Client, sent: &Sent, after: u64) {
    let mut watch = client.watch(&sent.session, after);
    while let Ok(event) = watch.next().await {
        let is_adjusted = matches!(event.fact, Fact::Request(RequestFact::Adjusted { tools: None, model: None, .. }));
        if is_adjusted && event.request.as_ref() == Some(&sent.request) {
            return;
        }
    }
}
