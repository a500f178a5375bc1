//! `trimtab changes`, `rewind` and `forward`: the change history of a session.

mod messages;
mod rewind;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use trimtab_host::compare::LineStats;
use trimtab_host::config::Keeping;
use trimtab_host::{Client, Expired, History, Set};
use trimtab_vocab::format;
use trimtab_vocab::{FileWrite, Problem, ProblemKind, SessionId, Time};

pub(super) use rewind::{ForwardArgs, Rewind, named_parts};

use super::diff::{DiffFormat, show};
use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};
use crate::diff::LoadedDiff;
use crate::diff::counted;
use crate::words::{self, effects, sentence};

/// Where the history is.
#[derive(Debug, Default, Args)]
pub(super) struct HistoryArgs {
    /// Use this session [default: the latest one in this folder]
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Use this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl HistoryArgs {
    pub(super) async fn find(&self, client: &Client) -> Result<SessionId, Problem> {
        if let Some(session) = &self.session {
            return Ok(client.sessions().get(session).await?.id);
        }
        let folder = place::folder(self.dir.as_deref())?;
        client.sessions().latest(&folder).await?.map(|row| row.id).ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, words::NO_SESSION_HERE)
                .hint("`trimtab sessions list --all` lists all sessions. Name one with --session.")
        })
    }
}

/// Sessions in which it is looked for changes, newest first, where the latest one has none.
const LOOKED_AT: usize = 20;

impl HistoryArgs {
    /// Where the latest session has nothing to move, says which one has: somebody who asked a question since their
    /// last change means the change.
    pub(super) async fn point_elsewhere(&self, client: &Client, session: &SessionId) -> Result<(), Problem> {
        if self.session.is_some() {
            return Ok(());
        }
        let folder = place::folder(self.dir.as_deref())?;
        let rows = client.sessions().list(Some(&folder)).await?;
        for row in rows.iter().filter(|row| row.id != *session).take(LOOKED_AT) {
            let history = client.changes().history(&row.id).await?;
            if history.in_force > 0 && history.sets.iter().any(|set| set.lent.is_none() && !set.expired) {
                let title = sanitize(&row.title);
                note(&format!("Session {} has changes ({title}): trimtab changes --session {0}", row.id));
                break;
            }
        }
        Ok(())
    }
}

/// The history at rest. A move that was cut off, or a wish for one that nobody has taken up, is seen to
/// first, so that what is shown is how the files are; the person is told.
pub(super) async fn at_rest(client: &Client, session: &SessionId) -> Result<History, Problem> {
    let (history, began) = client.changes().settled_history(session).await?;
    if let Some(began) = began {
        let (all, now) = (history.sets.len(), history.in_force);
        let refused = history.refused.as_ref().filter(|refused| refused.at > began);
        let why = match refused {
            None => String::new(),
            Some(refused) => format!(" It cannot be finished: {}", sentence(&refused.reason)),
        };
        note(&format!("An undo was interrupted: {now} of {all} changes are applied.{why}"));
    }
    Ok(history)
}

/// Lets old contents of files go, as the settings say, and tells. That it fails is no failure of what was done.
pub(super) async fn tidy(client: &Client, keeping: Keeping) {
    match client.changes().expire(keeping).await {
        Ok(expired) => {
            for Expired { session, changes, reason } in expired {
                let what = format::plural(changes, "change");
                note(&format!("{what} of session {session} can no longer be undone: {reason}."));
            }
        }
        Err(problem) => note(&format!("Cannot delete old file contents: {}", problem.message)),
    }
}

fn stats(set: &Set) -> LineStats {
    let sum = |of: fn(&FileWrite) -> u64| set.writes.iter().map(of).sum();
    LineStats { added: sum(|one| one.added), removed: sum(|one| one.removed), modified: sum(|one| one.modified) }
}

/// `Change #3 - 2 files (+45 -12) - $0.02 - 3s ago`
fn line(set: &Set, number: usize, now: Time) -> String {
    let (files, LineStats { added, removed, .. }) = (set.writes.len(), stats(set));
    let cost = set.cost.map(|cost| format!(" - {}", format::dollars(cost))).unwrap_or_default();
    let files = format::plural(files, "file");
    format!("Change #{number} - {files} (+{added} -{removed}){cost} - {}", format::age(set.time, now))
}

const EXAMPLES: &str = "\
Examples:
  trimtab changes             list changes, newest first
  trimtab changes 3           show change #3 as a diff
  trimtab rewind              undo the latest change";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ChangesArgs {
    /// Change to show in full with numbered hunks (number or ID)
    change: Option<String>,
    /// Print one JSON object per change set
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    format: DiffFormat,
    #[command(flatten)]
    place: HistoryArgs,
}

impl ChangesArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let history = at_rest(&client, &session).await?;
        if let Some(wanted) = &self.change {
            let set = find_set(&history, wanted)?;
            show(&LoadedDiff::load(&client, &session, &set.writes).await?, &self.format)?;
            if let Some(line) = set.by.as_deref().and_then(effects::unkept) {
                note(&line);
            }
            return Ok(CliOutcome::Done);
        }
        let now = trimtab_host::now();
        let number_of = |set: &Set| {
            let of = set.undoes.as_ref()?;
            Some(history.sets.iter().position(|other| other.id == *of)? + 1)
        };
        for (at, set) in history.sets.iter().enumerate().rev() {
            if self.json {
                let LineStats { added, removed, modified } = stats(set);
                print_json(&json!({
                    "number": at + 1, "changeSet": set.id, "time": set.time, "files": set.files(),
                    "totalStats": {"added": added, "removed": removed, "modified": modified}, "costUsd": set.cost,
                    "applied": at < history.in_force, "current": at + 1 == history.in_force,
                    "undoes": set.undoes, "expired": set.expired, "inherited": set.inherited, "handedOffTo": set.lent,
                    "command": set.by.as_ref().map(|by| &by.command), "late": set.by.as_ref().is_some_and(|by| by.late),
                    "alongside": set.by.as_ref().map(|by| &by.alongside),
                    "unkept": set.by.as_ref().map(|by| &by.unkept), "more": set.by.as_ref().map_or(0, |by| by.more),
                }))?;
                continue;
            }
            let mark = if at + 1 == history.in_force { "●" } else { "○" };
            let of = number_of(set).map(|of| format!(" (undoes a part of #{of})")).unwrap_or_default();
            let gone = if at < history.in_force { "" } else { " (undone)" };
            let of_other = set.lent.is_some() && set.lent == history.forked_from;
            let from = if set.inherited && !of_other { " (from an earlier session)" } else { "" };
            let to = match &set.lent {
                Some(other) if of_other => format!(" (of session {other})"),
                Some(child) => format!(" (now in session {child})"),
                None => String::new(),
            };
            let lost = if set.expired { " (expired: cannot be undone)" } else { "" };
            print(&format!("{mark} {}{of}{from}{to}{gone}{lost}\n", line(set, at + 1, now)))?;
            if let Some(by) = &set.by {
                let late = if by.late { " (interrupted; may include changes by others)" } else { "" };
                let beside = effects::alongside(by).map(|beside| format!(" ({beside})")).unwrap_or_default();
                print(&format!("    by the command {}{late}{beside}\n", one_line(&by.command)))?;
            }
            for write in &set.writes {
                let FileWrite { added, removed, modified, .. } = *write;
                print(&format!("    {}  {}\n", write.path, counted(LineStats { added, removed, modified })))?;
            }
            if let Some(line) = set.by.as_deref().and_then(effects::unkept) {
                print(&format!("    {line}\n"))?;
            }
        }
        if let (Some((count, why)), false) = (history.unobserved, self.json) {
            let commands = format::plural(count, "command");
            note(&format!("File changes of {commands} were not recorded: {}.", why.words()));
        }
        if history.sets.is_empty() && !self.json {
            print("No files were changed in this session.\n")?;
            self.place.point_elsewhere(&client, &session).await?;
        }
        Ok(CliOutcome::Done)
    }
}

/// A command line as a list shows it.
fn one_line(command: &str) -> String {
    let mut line = command.lines().next().unwrap_or_default().to_owned();
    let cut = line.floor_char_boundary(100);
    if cut < line.len() || command.lines().count() > 1 {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// The set with this number or id.
pub(super) fn find_set<'a>(history: &'a History, wanted: &str) -> Result<&'a Set, Problem> {
    let number = wanted.trim_start_matches('#').parse::<usize>().ok();
    let by_number = number.and_then(|number| history.sets.get(number.checked_sub(1)?));
    by_number.or_else(|| history.sets.iter().find(|set| set.id.as_str() == wanted)).ok_or_else(|| {
        Problem::new(ProblemKind::NotFound, format!("Unknown change {wanted}.")).hint("`trimtab changes` lists them.")
    })
}
