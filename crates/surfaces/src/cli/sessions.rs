//! `trimtab sessions`: what was said earlier.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::{Client, SessionRow};
use trimtab_vocab::event::{AnswerFact, BannerFact, CommandsFact, ReplyFact, RequestFact, Status};
use trimtab_vocab::{Event, Fact, Problem, ProblemKind, SessionId};

use super::output::{age, calm, print, print_json};
use super::{Outcome, place};

#[derive(Debug, Args)]
pub(super) struct Sessions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The sessions of the folder, newest first
    List {
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

impl Sessions {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let (_, client) = place::open(&[])?;
        match self.action {
            Action::List { all, json, dir } => list(&client, all, json, dir).await?,
            Action::Show { id } => show(&client, &id).await?,
            Action::Export { id, .. } => export(&client, &id).await?,
            Action::Delete { id } => {
                client.delete(&id).await?;
                print(&format!("Session {id} is deleted.\n"))?;
            }
        }
        Ok(Outcome::Done)
    }
}

fn object(row: &SessionRow) -> serde_json::Value {
    json!({"id": row.id, "folder": row.folder, "title": row.title, "created": row.created, "updated": row.updated})
}

async fn list(client: &Client, all: bool, json: bool, dir: Option<PathBuf>) -> Result<(), Problem> {
    let folder = if all { None } else { Some(place::folder(dir.as_deref())?) };
    let rows = client.sessions(folder.as_deref()).await?;
    let now = trimtab_host::now();
    for row in &rows {
        if json {
            print_json(&object(row))?;
        } else {
            let place = if all { format!("  {}", row.folder) } else { String::new() };
            print(&format!("{}  {:>8}  {}{}\n", row.id, age(row.updated, now), calm(&row.title), calm(&place)))?;
        }
    }
    if rows.is_empty() && !json {
        let place = if all { "" } else { " in this folder (--all lists every folder)" };
        print(&format!("There are no sessions yet{place}.\n"))?;
    }
    Ok(())
}

async fn find(client: &Client, id: &SessionId) -> Result<SessionRow, Problem> {
    client.sessions(None).await?.into_iter().find(|row| row.id == *id).ok_or_else(|| {
        Problem::new(ProblemKind::NotFound, "There is no such session.")
            .hint("`trimtab sessions list --all` shows the sessions there are.")
    })
}

async fn all_events(client: &Client, id: &SessionId) -> Result<Vec<Event>, Problem> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let page = client.events(id, events.last().and_then(|event| event.seq).unwrap_or(0)).await?;
        if page.is_empty() {
            return Ok(events);
        }
        events.extend(page);
    }
}

async fn show(client: &Client, id: &SessionId) -> Result<(), Problem> {
    let row = find(client, id).await?;
    print(&format!("{}\n{} · {}\n", calm(&row.title), row.id, calm(&row.folder)))?;
    for event in all_events(client, id).await? {
        if let Some(text) = in_words(&event.fact) {
            print(&format!("\n{}\n", calm(&text)))?;
        }
    }
    Ok(())
}

/// A fact as the conversation shows it.
fn in_words(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::Request(RequestFact::Received { text, .. }) => format!("> {}", text.trim_end().replace('\n', "\n> ")),
        Fact::Answer(AnswerFact { answer }) => answer.summary.trim_end().to_owned(),
        Fact::Reply(ReplyFact::Saved { partial: true, message, .. }) => {
            format!("{}\n[The reply broke off here.]", message.text().trim_end())
        }
        Fact::Commands(CommandsFact { progress, .. }) if !progress.is_empty() => progress.clone(),
        Fact::Banner(BannerFact { text, .. }) => format!("[{text}]"),
        Fact::Request(RequestFact::Finished { status: Status::Cancelled, .. }) => "[Cancelled.]".to_owned(),
        Fact::Request(RequestFact::Finished { error: Some(error), .. }) => format!("[Failed: {}]", error.message),
        _ => return None,
    })
}

async fn export(client: &Client, id: &SessionId) -> Result<(), Problem> {
    let row = find(client, id).await?;
    super::export::export(client, &row, &object(&row)).await
}
