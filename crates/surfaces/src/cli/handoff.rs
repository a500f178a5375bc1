//! `trimtab handoff` and `trimtab extend`: continue in a new session, or in this one with the complete conversation.

use clap::Args;
use serde_json::json;
use trimtab_host::Client;
use trimtab_vocab::event::{SessionFact, Status};
use trimtab_vocab::format;
use trimtab_vocab::{Control, Problem, SessionId};

use super::changes::{HistoryArgs, at_rest};
use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};
use crate::words::EXTENDED;

const EXAMPLES: &str = "\
Examples:
  trimtab handoff                         continue the latest session in a new one
  trimtab run --continue \"What is left?\"  send a request to the new session";

const EXTEND_EXAMPLES: &str = "\
Examples:
  trimtab extend                 keep the complete conversation of the latest session
  trimtab extend --session ID    keep that of another session

Trimtab then summarizes messages only if the conversation no longer fits into the context window.
`trimtab handoff` starts a new session with a summary instead. See `trimtab help sessions`.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Handoff {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: HistoryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXTEND_EXAMPLES)]
pub(super) struct Extend {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: HistoryArgs,
}

impl Handoff {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let SessionFact::Handoff { child, change_sets, prefill } = settle(&client, &session, Control::Handoff).await?
        else {
            return Ok(CliOutcome::Finished(Status::Failed));
        };
        if self.json {
            print_json(&json!({
                "session": child, "parentSessionId": session, "changeSets": change_sets, "prefill": prefill,
            }))?;
        } else {
            print(&sanitize(&in_words(&child, change_sets.len(), prefill.as_deref())))?;
        }
        Ok(CliOutcome::Done)
    }
}

impl Extend {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let SessionFact::Extended { extension } = settle(&client, &session, Control::Extend).await? else {
            return Ok(CliOutcome::Finished(Status::Failed));
        };
        if self.json {
            print_json(&json!({"session": session, "extension": extension}))?;
        } else {
            print(&format!("{EXTENDED}\n"))?;
        }
        Ok(CliOutcome::Done)
    }
}

/// Passes the wish on, and waits for what comes of it.
async fn settle(client: &Client, session: &SessionId, control: Control) -> Result<SessionFact, Problem> {
    let last = at_rest(client, session).await?.last;
    let came = client.sessions().settle(session, last, control).await?;
    if let SessionFact::Refused { reason } = &came {
        note(reason);
    }
    Ok(came)
}

/// Where the work goes on, and how.
pub(super) fn in_words(child: &SessionId, change_sets: usize, prefill: Option<&str>) -> String {
    let changes = match change_sets {
        0 => String::new(),
        all => format!(" It includes {}, which you can undo there.", format::plural(all, "change")),
    };
    let mut text = format!("Handed off to session {child}.{changes}\n");
    match prefill {
        Some(prefill) => {
            text += &format!("Its input is:\n{}\n", quoted(prefill));
            text += &format!("Send it: trimtab run --session {child}\n");
            text += &format!("Or send another request: trimtab run --session {child} \"…\"\n");
        }
        None => text += &format!("Continue there: trimtab run --session {child} \"…\"\n"),
    }
    text
}

/// A text as a person's own words are shown.
pub(super) fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
