//! `trimtab control`: controls a running request from another terminal.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trimtab_host::{Client, JobRow, JobState, Manner, RequestDraft, SendTo, WhenBusy};
use trimtab_vocab::{CallId, Control as Action, Mode, Problem, ProblemKind, SessionId};

use super::follow::{Attendance, OutputForm, follow};
use super::output::note;
use super::run::ApproveArg;
use super::{CliOutcome, background, place};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  trimtab control pause                     pause after this step
  trimtab control steer \"only the tests\"    send text to the running request
  trimtab control cancel                    cancel the running request";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ControlArgs {
    /// Action to take
    action: ActionArgument,
    /// Text for `steer` and `edit-summary`, the call for `stop-tool`, or the level for `autonomy`
    #[arg(value_name = "TEXT")]
    words: Option<String>,
    /// Control this session [default: the running one in this folder]
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ActionArgument {
    /// Stop the request and keep its results
    Cancel,
    /// Pause after this step
    Pause,
    /// Continue a paused request
    Resume,
    /// Skip the current step
    Skip,
    /// Send text that the model sees at its next step
    Steer,
    /// Start the work that was discussed in the latest session
    Implement,
    /// Stop one tool call and continue with the rest
    StopTool,
    /// Continue the running command in the background
    Background,
    /// Set how much the session does without asking: careful, standard, or trusting
    Autonomy,
    /// Replace the last summary of the conversation
    EditSummary,
    /// Restore the conversation that the last summary replaced
    UndoSummary,
}

impl ControlArgs {
    /// What was talked about becomes a request of its own, and is followed like any other.
    async fn implement(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (profile, client) = place::open(&[])?;
        let client = client.on("control");
        let latest = client.sessions().list(None).await?.into_iter().find(|row| match &self.session {
            Some(session) => row.id == *session,
            None => row.folder == folder,
        });
        let Some(row) = latest else {
            return Err(Problem::new(ProblemKind::NotFound, "There is no session to continue.")
                .hint("`trimtab sessions list --all` lists all sessions."));
        };
        let asking = Attendance::from_approve(ApproveArg::Ask, false);
        let manner = Manner { attended: asking == Attendance::AtTheTerminal, ..Manner::default() };
        let text = self.words.unwrap_or_else(|| crate::words::IMPLEMENT.into());
        let draft = RequestDraft {
            mode: Mode::Implement,
            when_busy: WhenBusy::Exactly(None),
            literal: true,
            ..RequestDraft::new(text, manner)
        };
        let say = client.compose(&profile, &row.folder, draft).await?;
        let sent = client.send(SendTo::Session(row.id), say).await?;
        let outcome = follow(&client, &sent, 0, OutputForm::Text, asking).await?;
        background::end_with_program(&client).await;
        Ok(outcome)
    }

    /// It belongs to the session, so it need not run.
    async fn set_autonomy(self) -> Result<CliOutcome, Problem> {
        let level = words::autonomy_level(&self.words.unwrap_or_default()).map_err(|wrong| {
            Problem::new(ProblemKind::Usage, wrong).hint("For example: trimtab control autonomy careful")
        })?;
        let folder = place::folder(self.dir.as_deref())?;
        let (profile, client) = place::open(&[])?;
        let client = client.on("control");
        let session = match self.session {
            Some(session) => session,
            None => client.sessions().latest(&folder).await?.map(|row| row.id).ok_or_else(no_session_here)?,
        };
        let folder = client.sessions().get(&session).await?.folder;
        client.requests().set_autonomy(&session, level).await?;
        let limit = client.permissions().profile_in(profile, &folder).await?.hands.autonomy_limit;
        note(&format!("Session {session}. {}", words::autonomy_set(level, limit)));
        Ok(CliOutcome::Done)
    }

    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let needs = |what: &str, example: &str| {
            let action = example.split(' ').next().unwrap_or(example);
            Problem::new(ProblemKind::Usage, format!("`{action}` needs {what}."))
                .hint(format!("For example: trimtab control {example}"))
        };
        let needs_call = || needs("the ID of the tool call", "stop-tool c3t1");
        let words = || self.words.clone().filter(|words| !words.trim().is_empty());
        let action = match self.action {
            ActionArgument::Cancel => Action::Cancel,
            ActionArgument::Pause => Action::Pause,
            ActionArgument::Resume => Action::Resume,
            ActionArgument::Skip => Action::Skip,
            ActionArgument::Steer => {
                Action::Steer { text: words().ok_or_else(|| needs("a text", "steer \"only the tests\""))? }
            }
            ActionArgument::StopTool => {
                let named = words().ok_or_else(needs_call)?;
                let call: CallId = named.parse().map_err(|_| needs_call())?;
                Action::StopTool { call }
            }
            ActionArgument::Background => Action::Background { call: None },
            ActionArgument::EditSummary => {
                let example = "edit-summary \"The parser is done. The tests are next.\"";
                Action::EditSummary { text: words().ok_or_else(|| needs("a text", example))? }
            }
            ActionArgument::UndoSummary => Action::UndoSummary,
            ActionArgument::Implement => return self.implement().await,
            ActionArgument::Autonomy => return self.set_autonomy().await,
        };
        let folder = place::folder(self.dir.as_deref())?;
        let (_, client) = place::open(&[])?;
        let about_the_past = matches!(self.action, ActionArgument::EditSummary | ActionArgument::UndoSummary);
        if action == Action::Cancel {
            return cancel(&client, self.session, &folder).await;
        }
        let session = match self.session {
            Some(session) => session,
            None if about_the_past => match client.sessions().latest(&folder).await? {
                Some(row) => row.id,
                None => return Err(no_session_here()),
            },
            None => {
                let running = |job: &JobRow| job.folder == folder && job.state == JobState::Running;
                let jobs = client.requests().list(false).await?;
                let is_interrupted = jobs.iter().any(|job| is_interrupted(job) && job.folder == folder);
                let found = jobs.into_iter().find(running).map(|job| job.session);
                found.ok_or_else(|| nothing_runs(is_interrupted))?
            }
        };
        client.requests().control(&session, None, action).await?;
        note(&format!("Sent to session {session}."));
        Ok(CliOutcome::Done)
    }
}

fn no_session_here() -> Problem {
    Problem::new(ProblemKind::NotFound, words::NO_SESSION_HERE)
        .hint("Start one with `trimtab run \"…\"`, or name one: `trimtab sessions list --all` lists them.")
}

fn is_interrupted(job: &JobRow) -> bool {
    job.state == JobState::Interrupted
}

fn nothing_runs(is_interrupted: bool) -> Problem {
    let hint = match is_interrupted {
        true => "A request was interrupted here: `trimtab resume` continues it, `trimtab control cancel` ends it.",
        false => "`trimtab jobs` lists running requests. Choose one with --session.",
    };
    Problem::new(ProblemKind::NotFound, "No request is running in this folder.").hint(hint)
}

/// Cancels what runs, or what was interrupted when its process ended, and waits until it has ended.
async fn cancel(client: &Client, session: Option<SessionId>, folder: &str) -> Result<CliOutcome, Problem> {
    let jobs = client.requests().list(false).await?;
    let is_here = |job: &&JobRow| match &session {
        Some(session) => job.session == *session,
        None => job.folder == folder,
    };
    let running = jobs.iter().filter(is_here).find(|job| job.state == JobState::Running);
    let found = running.or_else(|| jobs.iter().filter(is_here).find(|job| is_interrupted(job)));
    let Some(job) = found else {
        let Some(session) = session else { return Err(nothing_runs(false)) };
        client.requests().control(&session, None, Action::Cancel).await?;
        note(&format!("Sent to session {session}."));
        return Ok(CliOutcome::Done);
    };
    let was_interrupted = is_interrupted(job);
    let has_ended = client.requests().cancel(&job.session, &job.request).await?;
    note(&match (was_interrupted, has_ended) {
        (true, true) => format!("Cancelled the interrupted request in session {}.", job.session),
        _ => format!("Sent to session {}.", job.session),
    });
    Ok(CliOutcome::Done)
}
