//! `trimtab sessions`: what was said earlier.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::{Client, SessionRow};
use trimtab_vocab::event::{AnswerFact, BannerFact, CommandsFact, ReplyFact, RequestFact, SessionFact, Status};
use trimtab_vocab::{Event, Fact, Problem, ProblemKind, RequestId, SessionId, TaskWrite, TasksFact};

use super::output::{age, calm, print, print_exact, print_json};
use super::{CliOutcome, place};
use crate::export::{about, pieces};
use crate::structured_answer;
use crate::words::elapsed::{self, Elapsed};

const EXAMPLES: &str = "\
Examples:
  trimtab sessions list --search \"login form\"
  trimtab sessions show SESSION --numbers
  trimtab sessions fork SESSION --at 12      go another way from there
  trimtab run --session SESSION \"Go on\"";

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
    /// The sessions of the folder, newest first [default]
    List {
        /// Those with a request that is marked with this; may be given several times
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        /// Those in whose name, requests or answers all of these words stand
        #[arg(long, value_name = "WORDS")]
        search: Option<String>,
        /// Those of every folder
        #[arg(long)]
        all: bool,
        /// One JSON object per line
        #[arg(long)]
        json: bool,
        /// Another folder than the current one
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
    /// A session's conversation
    Show {
        /// The session
        id: SessionId,
        /// With the number of each message, for `fork --at`
        #[arg(long)]
        numbers: bool,
    },
    /// A new session that begins as this one was at a message; this one stays as it is
    Fork {
        /// The session
        id: SessionId,
        /// The last message that the fork has, as `show --numbers` numbers them; without it, all there are
        #[arg(long, value_name = "N")]
        at: Option<u64>,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Give a session a name
    Rename {
        /// The session
        id: SessionId,
        /// The name
        title: String,
    },
    /// A session with all its events and its change history, as one JSON object
    Export {
        /// The session
        id: SessionId,
        /// It is JSON anyway
        #[arg(long, hide = true)]
        json: bool,
    },
    /// Forget a session; this cannot be undone
    Delete {
        /// The session
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
                print(&format!("Session {id} is called \"{}\" now.\n", calm(&title)))?;
            }
            SessionsAction::Export { id, .. } => export(&client, &id).await?,
            SessionsAction::Delete { id } => {
                client.sessions().delete(&id).await?;
                print(&format!("Session {id} is deleted.\n"))?;
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
            let title = calm(&row.title);
            print(&format!("{}  {:>8}  {title}{from}{}\n", row.id, age(row.updated, now), calm(&place)))?;
        }
    }
    if rows.is_empty() && !json {
        let place = if all { "" } else { " in this folder (--all lists every folder)" };
        let what = if any { "There are no sessions yet" } else { "No session has all of that" };
        print(&format!("{what}{place}.\n"))?;
    }
    Ok(())
}

async fn find(client: &Client, id: &SessionId) -> Result<SessionRow, Problem> {
    client.sessions().get(id).await.map_err(|problem| match problem.kind {
        ProblemKind::NotFound => Problem::new(ProblemKind::NotFound, "There is no such session.")
            .hint("`trimtab sessions list --all` shows the sessions there are."),
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
        "Forked as session {fork}. Session {id} stays as it is.\nGo on there: trimtab run --session {fork} \"…\"\n"
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
    print(&format!("{}\n{} · {}\n", calm(&row.title), row.id, calm(&row.folder)))?;
    let mut times: BTreeMap<RequestId, Elapsed> = BTreeMap::new();
    match (&row.parent, row.forked) {
        (Some(parent), Some(at)) => print(&format!("Forked from session {parent} at {at}.\n"))?,
        (Some(parent), None) => print(&format!("Goes on from session {parent}.\n"))?,
        (None, _) => {}
    }
    for child in client.sessions().list(None).await?.iter().filter(|other| other.parent.as_ref() == Some(id)) {
        let what = if child.forked.is_some() { "Forked as" } else { "Goes on in" };
        print(&format!("{what} session {}.\n", child.id))?;
    }
    for event in all_events(client, id).await? {
        if let Some(text) = in_words(&event.fact) {
            let number = event.seq.filter(|_| numbers).map(|seq| format!("#{seq}\n")).unwrap_or_default();
            print(&format!("\n{number}{}\n", calm(&text)))?;
        }
        let Some(request) = &event.request else { continue };
        let elapsed = times.entry(request.clone()).or_default();
        elapsed.observe(&event);
        if let Fact::Request(RequestFact::Finished { .. }) = event.fact {
            print(&format!("[Took {}.]\n", elapsed::in_words(elapsed.at(event.time))))?;
        }
    }
    Ok(())
}

/// The numbers of the tasks that changed.
fn numbers(writes: &[TaskWrite]) -> String {
    writes.iter().map(|write| format!("#{}", write.id)).collect::<Vec<_>>().join(" ")
}

/// A fact as the conversation shows it.
fn in_words(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::Request(RequestFact::Received { text, pill: None, .. }) => quoted(text),
        Fact::Request(RequestFact::Received { text, pill: Some(pill), .. }) => {
            // What the model was sent belongs to the conversation as much as what the person typed.
            let sent = pill.text.replace('\n', "\n| ");
            format!("{}\n[The pill {} sends this:]\n| {sent}", quoted(text), pill.from)
        }
        Fact::Request(RequestFact::Joined { text, checkpoint, .. }) => {
            let what = if checkpoint.is_some() { "Taken as an answer." } else { "Passed on to the request that ran." };
            format!("{}\n[{what}]", quoted(text))
        }
        Fact::Answer(AnswerFact { answer }) => {
            let parts = [answer.summary.trim_end().to_owned(), structured_answer::sections(&answer.sections)];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
        }
        Fact::Reply(ReplyFact::Saved { partial: true, message, .. }) => {
            format!("{}\n[The reply broke off here.]", message.text().trim_end())
        }
        Fact::Commands(CommandsFact { progress, .. }) if !progress.is_empty() => progress.clone(),
        Fact::Session(SessionFact::Inherited { text, prefill, .. }) => match prefill {
            Some(prefill) => {
                format!("{}\n\nThe input begins with:\n{}", text.trim_end(), super::handoff::quoted(prefill))
            }
            None => text.trim_end().to_owned(),
        },
        Fact::Session(SessionFact::Handoff { child, .. }) => format!("[Handed off to session {child}.]"),
        Fact::Session(SessionFact::Forked { from, .. }) => format!("[Forked from session {from}.]"),
        Fact::Session(SessionFact::Extended { .. }) => "[The session was extended.]".to_owned(),
        Fact::Memory(fact) => format!("[{}]", super::memory::in_words(fact)?),
        Fact::Banner(BannerFact { text, .. }) => format!("[{text}]"),
        Fact::Tasks(TasksFact::Applied { writes, .. }) => format!("[Tasks changed: {}.]", numbers(writes)),
        Fact::Tasks(TasksFact::Reverted { writes, .. }) => format!("[Taken back: {}.]", numbers(writes)),
        Fact::Tasks(TasksFact::Reapplied { writes, .. }) => format!("[Brought forward: {}.]", numbers(writes)),
        Fact::Request(RequestFact::Finished { status: Status::Cancelled, .. }) => "[Cancelled.]".to_owned(),
        Fact::Request(RequestFact::Finished { error: Some(error), .. }) => format!("[Failed: {}]", error.message),
        _ => return None,
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
