//! `trimtab sessions`: lists, shows, forks, renames, exports, and deletes sessions.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::{Client, SessionRow};
use trimtab_vocab::event::Status;
use trimtab_vocab::format;
use trimtab_vocab::{Event, Problem, ProblemKind, SessionId, TaskWrite, TasksFact};

use super::number::whole;
use super::output::{print, print_exact, print_json, sanitize};
use super::{CliOutcome, place};
use crate::conversation::{Conversation, Entry, EntryChange, MessageVia, ReplyState, SessionNotice, UserMessage};
use crate::export::{about, pieces};
use crate::structured_answer;
use crate::words;
use crate::words::conversation::REPLY_BROKE_OFF;

const EXAMPLES: &str = "\
Examples:
  trimtab sessions list --search \"login form\"
  trimtab sessions show SESSION --numbers
  trimtab sessions fork SESSION --at 12      continue from message 12 in a copy
  trimtab run --session SESSION \"Continue\"";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SessionsArgs {
    #[command(subcommand)]
    action: Option<SessionsAction>,
}

/// What is shown where nothing is said.
const LATEST: SessionsAction =
    SessionsAction::List { tag: Vec::new(), search: None, all: false, json: false, dir: None };

#[derive(Debug, Subcommand)]
enum SessionsAction {
    /// List the sessions of this folder, newest first [default]
    List {
        /// List only sessions with this tag (repeatable)
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        /// List only sessions whose title, requests, or answers contain all these words
        #[arg(long, value_name = "WORDS")]
        search: Option<String>,
        /// Include sessions of other folders
        #[arg(long)]
        all: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        /// Use this folder instead of the current one
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
    /// Show the conversation of a session
    Show {
        /// Session ID
        id: SessionId,
        /// Show message numbers (for `fork --at`)
        #[arg(long)]
        numbers: bool,
    },
    /// Copy a session up to a message into a new session
    Fork {
        /// Session ID
        id: SessionId,
        /// Copy up to this message, as numbered by `show --numbers` [default: all]
        #[arg(long, value_name = "N", value_parser = whole::<u64>)]
        at: Option<u64>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Rename a session
    Rename {
        /// Session ID
        id: SessionId,
        /// New title
        title: String,
    },
    /// Export a session with its events and change history as JSON
    Export {
        /// Session ID
        id: SessionId,
        /// Accepted for consistency (exports are always JSON)
        #[arg(long, hide = true)]
        json: bool,
    },
    /// Delete a session permanently
    Delete {
        /// Session ID
        id: SessionId,
    },
}

impl SessionsArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        match self.action.unwrap_or(LATEST) {
            SessionsAction::List { tag, search, all, json, dir } => {
                let folder = if all { None } else { Some(place::folder(dir.as_deref())?) };
                list(&client, folder.as_deref(), &tag, search.as_deref().unwrap_or_default(), json).await?;
            }
            SessionsAction::Show { id, numbers } => show(&client, &id, numbers).await?,
            SessionsAction::Fork { id, at, json } => fork(&client, &id, at, json).await?,
            SessionsAction::Rename { id, title } => {
                find(&client, &id).await?;
                let title = client.sessions().rename(&id, &title).await?;
                print(&format!("Renamed session {id} to \"{}\".\n", sanitize(&title)))?;
            }
            SessionsAction::Export { id, .. } => export(&client, &id).await?,
            SessionsAction::Delete { id } => {
                client.sessions().delete(&id).await?;
                print(&format!("Deleted session {id}.\n"))?;
            }
        }
        Ok(CliOutcome::Done)
    }
}

async fn list(client: &Client, folder: Option<&str>, tags: &[String], words: &str, json: bool) -> Result<(), Problem> {
    let (all, any) = (folder.is_none(), tags.is_empty() && words.trim().is_empty());
    let rows =
        if any { client.sessions().list(folder).await? } else { client.sessions().search(folder, tags, words).await? };
    let now = trimtab_host::now();
    for row in &rows {
        if json {
            print_json(&about(row))?;
        } else {
            let place = if all { format!("  {}", row.folder) } else { String::new() };
            let from = match (&row.parent, row.forked) {
                (Some(parent), Some(at)) => format!("  (forked from {parent} at {at})"),
                (Some(parent), None) => format!("  (from {parent})"),
                (None, _) => String::new(),
            };
            let title = sanitize(&row.title);
            print(&format!("{}  {:>8}  {title}{from}{}\n", row.id, format::age(row.updated, now), sanitize(&place)))?;
        }
    }
    if rows.is_empty() && !json {
        let place = if all { "" } else { " in this folder (--all lists every folder)" };
        let what = if any { "There are no sessions yet" } else { "No session matches" };
        print(&format!("{what}{place}.\n"))?;
    }
    Ok(())
}

async fn find(client: &Client, id: &SessionId) -> Result<SessionRow, Problem> {
    client.sessions().get(id).await.map_err(|problem| match problem.kind {
        ProblemKind::NotFound => Problem::new(ProblemKind::NotFound, format!("Unknown session {id}."))
            .hint("`trimtab sessions list --all` lists all sessions."),
        _ => problem,
    })
}

async fn fork(client: &Client, id: &SessionId, at: Option<u64>, json: bool) -> Result<(), Problem> {
    find(client, id).await?;
    let fork = client.sessions().fork(id, at).await?;
    if json {
        let row = client.sessions().get(&fork).await?;
        return print_json(&json!({"session": fork, "parentSessionId": id, "at": row.forked}));
    }
    print(&format!(
        "Forked as session {fork}. Session {id} does not change.\nContinue there: trimtab run --session {fork} \"…\"\n"
    ))
}

async fn all_events(client: &Client, id: &SessionId) -> Result<Vec<Event>, Problem> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let page = client.sessions().events(id, events.last().and_then(|event| event.seq).unwrap_or(0)).await?;
        if page.is_empty() {
            return Ok(events);
        }
        events.extend(page);
    }
}

async fn show(client: &Client, id: &SessionId, numbers: bool) -> Result<(), Problem> {
    let row = find(client, id).await?;
    print(&format!("{}\n{} · {}\n", sanitize(&row.title), row.id, sanitize(&row.folder)))?;
    match (&row.parent, row.forked) {
        (Some(parent), Some(at)) => print(&format!("Forked from session {parent} at {at}.\n"))?,
        (Some(parent), None) if id.is_worker() => print(&format!("Worker of session {parent}.\n"))?,
        (Some(parent), None) => print(&format!("Continues session {parent}.\n"))?,
        (None, _) => {}
    }
    for child in client.sessions().list(None).await?.iter().filter(|other| other.parent.as_ref() == Some(id)) {
        let what = if child.forked.is_some() { "Forked as" } else { "Continued in" };
        print(&format!("{what} session {}.\n", child.id))?;
    }
    let mut conversation = Conversation::default();
    for event in all_events(client, id).await? {
        for update in conversation.observe(&event) {
            if let Some(text) = in_words(conversation.entry(update.at), &update.change) {
                let number = event.seq.filter(|_| numbers).map(|seq| format!("#{seq}\n")).unwrap_or_default();
                print(&format!("\n{number}{}\n", sanitize(&text)))?;
            }
            // A request that waits for an answer is not over.
            if let Entry::Summary(summary) = conversation.entry(update.at)
                && summary.status != Status::NeedsUser
            {
                print(&format!("[Took {}.]\n", format::duration(summary.took.unwrap_or_default())))?;
            }
        }
    }
    Ok(())
}

/// The numbers of the tasks that changed.
fn task_numbers(writes: &[TaskWrite]) -> String {
    writes.iter().map(|write| format!("#{}", write.id)).collect::<Vec<_>>().join(" ")
}

/// An entry as the conversation shows it.
fn in_words(entry: &Entry, change: &EntryChange) -> Option<String> {
    Some(match (entry, change) {
        (Entry::UserMessage(message), _) => user_message(message)?,
        (Entry::Answer { answer, .. }, _) => {
            let parts = [answer.summary.trim_end().to_owned(), structured_answer::sections(&answer.sections)];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
        }
        (Entry::Reply(reply), EntryChange::Ended) if reply.state == ReplyState::Partial => {
            format!("{}\n[{REPLY_BROKE_OFF}]", reply.text.trim_end())
        }
        (Entry::Commands(_), EntryChange::Progress(progress)) if !progress.is_empty() => progress.clone(),
        (Entry::Subtasks(board), EntryChange::SubtaskMoved(id)) => {
            let task = board.task(id).filter(|task| task.ended.is_some())?;
            let session = task.worker.as_ref().map(|worker| format!(" (session {worker})")).unwrap_or_default();
            format!("[{}{session}]", words::subtasks::moved(task)?)
        }
        (Entry::Notice(notice), _) => noticed(notice)?,
        (Entry::Banner { text, .. }, _) => format!("[{text}]"),
        (Entry::Summary(summary), _) => match (&summary.error, summary.status) {
            (_, Status::Cancelled) => "[Cancelled.]".to_owned(),
            (Some(error), Status::NotDone) => format!("[{}]", error.message),
            (Some(error), _) => format!("[Failed: {}]", error.message),
            (None, _) => return None,
        },
        (
            Entry::Reply(_)
            | Entry::Commands(_)
            | Entry::Tool(_)
            | Entry::Change(_)
            | Entry::Question(_)
            | Entry::Plan(_)
            | Entry::PlanStep(_)
            | Entry::Todos(_)
            | Entry::Subtasks(_)
            | Entry::Retry(_)
            | Entry::Image(_),
            _,
        ) => return None,
    })
}

fn user_message(message: &UserMessage) -> Option<String> {
    let text = quoted(&message.text);
    Some(match &message.via {
        MessageVia::Request(None) => text,
        MessageVia::Request(Some(pill)) => {
            // What the model was sent belongs to the conversation as much as what the person typed.
            let sent = pill.text.replace('\n', "\n| ");
            format!("{text}\n[The pill {} sends this:]\n| {sent}", pill.from)
        }
        MessageVia::Answer(_) => format!("{text}\n[Taken as an answer.]"),
        MessageVia::Joined => format!("{text}\n[Sent to the running request.]"),
        MessageVia::Steered => return None,
    })
}

fn noticed(notice: &SessionNotice) -> Option<String> {
    Some(match notice {
        SessionNotice::Inherited { text, prefill: Some(prefill) } => {
            let summary = words::handoff_summary(text).join("\n");
            format!("{summary}\n\nThe input is:\n{}", super::handoff::quoted(prefill))
        }
        SessionNotice::Inherited { text, prefill: None } => words::handoff_summary(text).join("\n"),
        SessionNotice::Handoff { child, .. } => format!("[Handed off to session {child}.]"),
        SessionNotice::Background(notice) => format!("[{}]", words::background_notice(notice)),
        SessionNotice::Forked { from, is_rewind: true } => format!("[{}]", words::rewound_from(from)),
        SessionNotice::Forked { from, is_rewind: false } => format!("[Forked from session {from}.]"),
        SessionNotice::Extended => "[The session was extended.]".to_owned(),
        SessionNotice::Memory(fact) => format!("[{}]", super::memory::in_words(fact)?),
        SessionNotice::Tasks(TasksFact::Applied { writes, .. }) => {
            format!("[Tasks changed: {}.]", task_numbers(writes))
        }
        SessionNotice::Tasks(TasksFact::Reverted { writes, .. }) => format!("[Undid: {}.]", task_numbers(writes)),
        SessionNotice::Tasks(TasksFact::Reapplied { writes, .. }) => {
            format!("[Redid: {}.]", task_numbers(writes))
        }
        SessionNotice::Refused { .. }
        | SessionNotice::Intent { .. }
        | SessionNotice::Rule(_)
        | SessionNotice::Loaded
        | SessionNotice::Compressed { .. }
        | SessionNotice::Chosen
        | SessionNotice::Moved { .. }
        | SessionNotice::MoveRefused { .. } => return None,
    })
}

fn quoted(text: &str) -> String {
    format!("> {}", text.trim_end().replace('\n', "\n> "))
}

async fn export(client: &Client, id: &SessionId) -> Result<(), Problem> {
    let mut pieces = pieces(client.clone(), find(client, id).await?);
    while let Some(piece) = pieces.recv().await {
        print_exact(&piece?)?;
    }
    Ok(())
}
