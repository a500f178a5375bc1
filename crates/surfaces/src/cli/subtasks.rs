//! `trimtab subtasks`: the sub-tasks of a session, and what a user wants of one of them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::Value;
use trimtab_host::{Client, JobState};
use trimtab_vocab::event::{BannerFact, Level, RequestFact};
use trimtab_vocab::format::{self, Plural};
use trimtab_vocab::{Control, CopyStats, Fact, LeftBehind, Problem, ProblemKind, SessionId, SubtaskControl};

use super::checkpoints::{last_seq, question_lines};
use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};
use crate::subtask_log::SubtaskLog;
use crate::words::{self, subtasks};

/// How long a session may take to do what is wanted.
const PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  trimtab run --subtasks ask \"Add tests for every module\"  break a request down
  trimtab subtasks                                         show the progress of each sub-task
  trimtab subtasks show 2                                  show one sub-task in full
  trimtab subtasks retry 2 --model openai/gpt-5            retry with another model
  trimtab subtasks stop 2                                  stop one sub-task";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SubtasksArgs {
    /// Action to take
    #[arg(default_value = "list")]
    action: SubtaskAction,
    /// Number of the sub-task, as in the list
    #[arg(value_name = "NUMBER", required_if_eq_any = [("action", "show"), ("action", "retry"), ("action", "skip"), ("action", "stop"), ("action", "pause"), ("action", "resume"), ("action", "steer")])]
    id: Option<String>,
    /// Text for `steer`
    #[arg(value_name = "TEXT")]
    words: Option<String>,
    /// Use this model for `retry`
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Use this instruction for `retry`
    #[arg(long, value_name = "TEXT")]
    instruction: Option<String>,
    /// Use this session [default: the latest in this folder]
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Print one JSON object per sub-task
    #[arg(long)]
    json: bool,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SubtaskAction {
    /// List the sub-tasks of a session
    List,
    /// Show one sub-task in full
    Show,
    /// Retry a failed or skipped sub-task
    Retry,
    /// Skip a sub-task and the sub-tasks that depend on it
    Skip,
    /// Stop a sub-task (the others continue)
    Stop,
    /// Pause a sub-task after its current step
    Pause,
    /// Continue a paused sub-task
    Resume,
    /// Send text that the worker sees at its next step
    Steer,
}

impl SubtasksArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (_, client) = place::open(&[])?;
        let client = client.on("subtasks");
        let session = match self.session {
            Some(session) => session,
            None => match client.sessions().latest(&folder).await? {
                Some(row) => row.id,
                None => {
                    return Err(Problem::new(ProblemKind::NotFound, words::NO_SESSION_HERE).hint(
                        "Start one with `trimtab run \"…\"`, or name one: `trimtab sessions list --all` lists them.",
                    ));
                }
            },
        };
        let log = SubtaskLog::read(&client, &session).await?;
        let SubtaskLog { board, documents, models, .. } = &log;
        if documents.is_empty() {
            return Err(Problem::new(ProblemKind::NotFound, format!("The session {session} has no sub-tasks."))
                .hint("Break a request down with `trimtab run --subtasks ask \"…\"`."));
        }
        let id = self.id.unwrap_or_default();
        let hint = "`trimtab subtasks` lists them with their status.";
        let known = || log.document(&id).map_err(|problem| problem.hint(hint));
        let action = match self.action {
            SubtaskAction::List if self.json => {
                documents.all().iter().try_for_each(print_json)?;
                print_json(&documents.context(&session))?;
                return Ok(CliOutcome::Done);
            }
            SubtaskAction::List => {
                let now = client.sessions().now();
                for line in board.iter().flat_map(|board| subtasks::board_lines(board, now)) {
                    print(&format!("{}\n", sanitize(&line)))?;
                }
                let open = client.requests().checkpoints().await?;
                let questions: Vec<String> = open
                    .iter()
                    .filter(|event| event.session == session)
                    .filter_map(|event| question_lines(event, now))
                    .collect();
                if !questions.is_empty() {
                    print(&format!("\n{}\nAnswer with: trimtab answer CHECKPOINT CHOICE\n", questions.join("")))?;
                }
                return Ok(CliOutcome::Done);
            }
            SubtaskAction::Show if self.json => return print_json(known()?).map(|()| CliOutcome::Done),
            SubtaskAction::Show => return show(known()?).map(|()| CliOutcome::Done),
            SubtaskAction::Retry if self.model.as_ref().is_some_and(|model| !models.contains(model)) => {
                return Err(unknown_model(&self.model.unwrap_or_default(), models));
            }
            SubtaskAction::Retry => SubtaskControl::Retry { model: self.model, instruction: self.instruction },
            SubtaskAction::Skip => SubtaskControl::Skip,
            SubtaskAction::Stop => SubtaskControl::Stop,
            SubtaskAction::Pause => SubtaskControl::Pause,
            SubtaskAction::Resume => SubtaskControl::Resume,
            SubtaskAction::Steer => SubtaskControl::Steer {
                text: self.words.filter(|words| !words.trim().is_empty()).ok_or_else(|| {
                    Problem::new(ProblemKind::Usage, "`steer` needs a text for the worker.")
                        .hint("For example: trimtab subtasks steer 2 \"only the tests\"")
                })?,
            },
        };
        log.check(&id, &action).map_err(|problem| problem.hint(hint))?;
        let jobs = client.requests().list(false).await?;
        let is_running = jobs.iter().any(|job| job.session == session && job.state == JobState::Running);
        note(&carry_out(&client, &session, &log, &id, action).await?);
        if !is_running {
            // No other process removes the copy of a worker that was stopped here.
            client.requests().end_workers().await;
            note("Nothing runs in this session. Continue it with `trimtab resume`.");
        }
        Ok(CliOutcome::Done)
    }
}

/// Does something about a sub-task, and says what came of it.
async fn carry_out(
    client: &Client,
    session: &SessionId,
    log: &SubtaskLog,
    id: &str,
    action: SubtaskControl,
) -> Result<String, Problem> {
    let mut parent = client.watch(session, log.last);
    let mut worker = match log.worker(id) {
        Some(worker) => Some(client.watch(&worker, last_seq(client, &worker).await?)),
        None => None,
    };
    let subtask = id.to_owned();
    client.requests().control(session, None, Control::Subtask { subtask, action: action.clone() }).await?;
    let heard = async {
        loop {
            let event = match &mut worker {
                Some(worker) => tokio::select! { event = parent.next() => event?, event = worker.next() => event? },
                None => parent.next().await?,
            };
            match &event.fact {
                // A refusal stands in the log of the request.
                Fact::Banner(BannerFact { level: Level::Warning, text }) if event.session == *session => {
                    return Err(Problem::new(ProblemKind::Usage, text.clone()));
                }
                fact => {
                    if let Some(said) = effect(id, &action, fact) {
                        return Ok(said);
                    }
                }
            }
        }
    };
    let sent = || format!("Sent `{}` for sub-task {id}. `trimtab subtasks` shows its status.", action_name(&action));
    tokio::time::timeout(PATIENCE, heard).await.unwrap_or_else(|_| Ok(sent()))
}

/// What a fact says about the effect of an action on a sub-task.
fn effect(id: &str, action: &SubtaskControl, fact: &Fact) -> Option<String> {
    use SubtaskControl::{Pause, Resume, Retry, Skip, Steer, Stop};
    match (action, fact) {
        (Stop | Skip, Fact::Subtask(fact)) if fact.subtask == id && fact.status.is_over() => {
            Some(format!("Sub-task {id} is {}.", fact.status))
        }
        (Retry { .. }, Fact::Subtask(fact)) if fact.subtask == id => Some(format!("Sub-task {id} starts again.")),
        (Pause, Fact::Request(RequestFact::Pausing {})) => {
            Some(format!("Sub-task {id} pauses after its current step."))
        }
        (Resume, Fact::Request(RequestFact::Resumed { .. })) => Some(format!("Sub-task {id} continues.")),
        (Steer { .. }, Fact::Request(RequestFact::Steered { .. })) => {
            Some(format!("The worker of sub-task {id} has your message."))
        }
        _ => None,
    }
}

fn action_name(action: &SubtaskControl) -> &'static str {
    match action {
        SubtaskControl::Retry { .. } => "retry",
        SubtaskControl::Skip => "skip",
        SubtaskControl::Stop => "stop",
        SubtaskControl::Pause => "pause",
        SubtaskControl::Resume => "resume",
        SubtaskControl::Steer { .. } => "steer",
    }
}

fn unknown_model(model: &str, models: &BTreeSet<String>) -> Problem {
    let known: Vec<&String> = models.iter().collect();
    Problem::new(ProblemKind::Usage, format!("The model {model} (option --model) is not set up for sub-tasks."))
        .hint(format!("The models of this request are {}.", format::list(&known)))
}

fn show(document: &Value) -> Result<(), Problem> {
    let text = |value: &Value| sanitize(value.as_str().unwrap_or_default()).into_owned();
    let names = |value: &Value| {
        let all = value.as_array().into_iter().flatten();
        all.map(|name| text(name.get("path").unwrap_or(name))).collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![format!("{}. {}", text(&document["subtaskId"]), text(&document["title"]))];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name}: {value}"));
        }
    };
    line("status", text(document.get("detail").unwrap_or(&document["status"])));
    line("model", text(&document["model"]));
    line("depends on", names(&document["dependencies"]));
    line("files", names(&document["input"]["contextFiles"]));
    line("changed", names(&document["output"]["fileChanges"]));
    let left: LeftBehind = serde_json::from_value(document["output"]["notMerged"].clone()).unwrap_or_default();
    line("not merged", sanitize(&left.to_string()).into_owned());
    line("error", text(&document["error"]));
    let reserved = document["reservedUsd"].as_f64().map(|cost| format::ExactDollars(cost).to_string());
    line("reserved", reserved.unwrap_or_default());
    line("copy", copy_line(&document["copy"]));
    line("session", text(&document["worker"]));
    line("instruction", text(&document["input"]["instruction"]).replace('\n', "\n    "));
    line("summary", text(&document["output"]["summary"]).replace('\n', "\n    "));
    print(&format!("{}\n", lines.join("\n")))
}

/// What the copy of the folder took.
fn copy_line(copy: &Value) -> String {
    let Ok(copy) = serde_json::from_value::<CopyStats>(copy.clone()) else { return String::new() };
    let git = if copy.has_git { ", with git" } else { "" };
    let shared =
        if copy.cloned_bytes > 0 { format!(" ({} cloned)", format::size(copy.cloned_bytes)) } else { String::new() };
    let took = format::duration(Duration::from_millis(copy.millis));
    format!("{}, {}{shared} in {took}{git}", Plural::new(copy.files, "file"), format::size(copy.bytes))
}
