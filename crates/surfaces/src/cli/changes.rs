//! `trimtab changes`, `rewind` and `forward`: the change history of a session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use trimtab_host::Client;
use trimtab_host::compare::Stats;
use trimtab_vocab::event::{ByCommand, Change, ChangeFact, ChangedFile, CommandFact, ProposalFact, Status, UsageFact};
use trimtab_vocab::{ChangeSetId, Control, Fact, FileWrite, Problem, ProblemKind, SessionId, Time, Unobserved};

use super::diff::{Loaded, Looks, show, written};
use super::effects;
use super::output::{age, calm, note, print, print_json};
use super::{Outcome, place};
use crate::diff::counted;

/// Where the history is.
#[derive(Debug, Args)]
pub(super) struct Where {
    /// The session; without it, the folder's latest one
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// The folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Where {
    pub(super) async fn find(&self, client: &Client) -> Result<SessionId, Problem> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let folder = place::folder(self.dir.as_deref())?;
        client.sessions(Some(&folder)).await?.into_iter().next().map(|row| row.id).ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, "There is no session in this folder.")
                .hint("`trimtab sessions list` shows all; name one with --session.")
        })
    }
}

/// A change set as it is shown.
#[derive(Debug, Clone)]
struct Set {
    id: ChangeSetId,
    change: Change,
    time: Time,
    cost: Option<f64>,
    writes: Vec<FileWrite>,
}

/// The history as the log tells it.
#[derive(Debug, Default)]
pub(super) struct History {
    sets: Vec<Set>,
    /// How many of them are in force.
    in_force: usize,
    /// A move that was begun and is not over.
    is_moving: bool,
    /// Why the last wish to move was refused, and where in the log that is.
    refused: Option<(u64, String)>,
    /// Commands of which it is not known what they did to files, and why of the last one.
    unobserved: Option<(u64, Unobserved)>,
    last: u64,
}

impl History {
    async fn of(client: &Client, session: &SessionId) -> Result<Self, Problem> {
        let mut history = Self::default();
        let mut cost: Option<f64> = None;
        let mut proposed: BTreeMap<ChangeSetId, Vec<FileWrite>> = BTreeMap::new();
        let mut target = None;
        loop {
            let page = client.events(session, history.last).await?;
            if page.is_empty() {
                return Ok(history);
            }
            for event in page {
                history.last = event.seq.unwrap_or(history.last);
                match event.fact {
                    Fact::Usage(UsageFact { usage, .. }) => {
                        cost = usage.cost_usd.map(|more| cost.unwrap_or(0.0) + more).or(cost);
                    }
                    Fact::Proposal(ProposalFact::Opened { call: Some(call), operations, .. }) => {
                        if let Some(request) = &event.request {
                            proposed.insert(ChangeSetId::of(request, &call), written(&operations));
                        }
                    }
                    Fact::Command(CommandFact::Finished { unobserved: Some(why), .. }) => {
                        history.unobserved = Some((history.unobserved.map_or(1, |(count, _)| count + 1), why));
                    }
                    Fact::Change(ChangeFact::Applied(change)) => {
                        history.sets.truncate(history.in_force);
                        let proposed = proposed.remove(&change.change_set).unwrap_or_default();
                        let writes = change.by.as_ref().map_or(proposed, |by| by.writes.clone());
                        let (id, cost) = (change.change_set.clone(), cost.take());
                        history.sets.push(Set { id, change, time: event.time, cost, writes });
                        history.in_force = history.sets.len();
                    }
                    Fact::Change(ChangeFact::Moving { position }) => {
                        target = Some(position);
                        history.is_moving = true;
                    }
                    Fact::Change(ChangeFact::Refused { reason }) => {
                        history.is_moving = false;
                        history.refused = Some((history.last, reason));
                    }
                    Fact::Change(ChangeFact::Reverted(change) | ChangeFact::Reapplied(change)) => {
                        history.in_force = usize::try_from(change.position + 1).unwrap_or(0);
                        history.is_moving &= target != Some(change.position);
                    }
                    _ => {}
                }
            }
        }
    }
}

impl History {
    /// What a change set wrote, by its number or its id.
    pub(super) fn find(&self, wanted: &str) -> Result<&[FileWrite], Problem> {
        let number = wanted.trim_start_matches('#').parse::<usize>().ok();
        let by_number = number.and_then(|number| self.sets.get(number.checked_sub(1)?));
        let found = by_number.or_else(|| self.sets.iter().find(|set| set.id.as_str() == wanted));
        found.map(|set| set.writes.as_slice()).ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, format!("There is no change called {wanted}."))
                .hint("`trimtab changes` lists them.")
        })
    }

    /// What all sets in force come to: each file as it was before the first and is after the last.
    pub(super) fn net(&self) -> Vec<FileWrite> {
        let mut files: BTreeMap<&str, FileWrite> = BTreeMap::new();
        for write in self.sets.iter().take(self.in_force).flat_map(|set| &set.writes) {
            files
                .entry(&write.path)
                .and_modify(|file| file.after.clone_from(&write.after))
                .or_insert_with(|| write.clone());
        }
        files.into_values().filter(|file| file.before != file.after).collect()
    }
}

/// The history at rest. A move that was cut off, or a wish for one that nobody has taken up, is seen to
/// first, so that what is shown is how the files are; the person is told.
pub(super) async fn settled(client: &Client, session: &SessionId) -> Result<u64, Problem> {
    Ok(at_rest(client, session).await?.last)
}

pub(super) async fn at_rest(client: &Client, session: &SessionId) -> Result<History, Problem> {
    let until = Instant::now() + PATIENCE;
    let mut began = None;
    loop {
        // In this order: a wish that is taken up in between shows in the log.
        let is_wished = client.has_history_wish(session).await?;
        let history = History::of(client, session).await?;
        if !is_wished && !history.is_moving {
            if let Some(began) = began {
                let (all, now) = (history.sets.len(), history.in_force);
                let refused = history.refused.as_ref().filter(|(at, _)| *at > began);
                let how = match refused {
                    None => "is finished now".to_owned(),
                    Some((_, reason)) => format!("could not be finished: {reason}"),
                };
                note(&calm(&format!(
                    "A move of the change history was cut off; it {how}. {now} of {all} changes are in force."
                )));
            }
            return Ok(history);
        }
        if Instant::now() > until {
            return Err(unanswered());
        }
        began.get_or_insert(history.last);
        let mut watch = client.watch(session, history.last);
        client.resume(session);
        if let Ok(fact) = tokio::time::timeout(LOOK_AGAIN, watch.next()).await {
            fact?;
        }
    }
}

fn unanswered() -> Problem {
    Problem::new(ProblemKind::Busy, "The session does not answer.").hint("Another process runs it; see `trimtab jobs`.")
}

impl Set {
    fn stats(&self) -> Stats {
        let sum = |of: fn(&ChangedFile) -> u64| self.change.files.iter().map(of).sum();
        Stats { added: sum(|file| file.added), removed: sum(|file| file.removed), modified: sum(|file| file.modified) }
    }

    fn by(&self) -> Option<&ByCommand> {
        self.change.by.as_deref()
    }

    /// `Change #3 - 2 files (+45 -12) - $0.02 - 3s ago`
    fn line(&self, number: usize, now: Time) -> String {
        let (files, Stats { added, removed, .. }) = (self.change.files.len(), self.stats());
        let cost = self.cost.map(|cost| format!(" - ${cost:.2}")).unwrap_or_default();
        let plural = if files == 1 { "" } else { "s" };
        format!("Change #{number} - {files} file{plural} (+{added} -{removed}){cost} - {}", age(self.time, now))
    }
}

#[derive(Debug, Args)]
pub(super) struct Changes {
    /// Show one of them whole: its number or its id
    change: Option<String>,
    /// One JSON object per change set
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    looks: Looks,
    #[command(flatten)]
    place: Where,
}

impl Changes {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let history = at_rest(&client, &session).await?;
        if let Some(wanted) = &self.change {
            let writes = history.find(wanted)?;
            show(&Loaded::of(&client, &session, writes).await?, &self.looks)?;
            if let Some(line) =
                history.sets.iter().find(|set| set.writes == writes).and_then(Set::by).and_then(effects::unkept)
            {
                note(&line);
            }
            return Ok(Outcome::Done);
        }
        let now = trimtab_host::now();
        for (at, set) in history.sets.iter().enumerate().rev() {
            if self.json {
                let Stats { added, removed, modified } = set.stats();
                print_json(&json!({
                    "number": at + 1, "changeSet": set.id, "time": set.time, "files": set.change.files,
                    "totalStats": {"added": added, "removed": removed, "modified": modified}, "costUsd": set.cost,
                    "applied": at < history.in_force, "current": at + 1 == history.in_force,
                    "command": set.by().map(|by| &by.command), "late": set.by().is_some_and(|by| by.late),
                    "unkept": set.by().map(|by| &by.unkept), "more": set.by().map_or(0, |by| by.more),
                }))?;
                continue;
            }
            let mark = if at + 1 == history.in_force { "●" } else { "○" };
            let gone = if at < history.in_force { "" } else { " (taken back)" };
            print(&calm(&format!("{mark} {}{gone}\n", set.line(at + 1, now))))?;
            if let Some(by) = set.by() {
                let late = if by.late { " (cut off; what others changed meanwhile is among it)" } else { "" };
                print(&calm(&format!("    by the command {}{late}\n", one_line(&by.command))))?;
            }
            for file in &set.change.files {
                let ChangedFile { added, removed, modified, .. } = *file;
                let counts = counted(Stats { added, removed, modified });
                print(&calm(&format!("    {}  {counts}\n", file.path)))?;
            }
            if let Some(line) = set.by().and_then(effects::unkept) {
                print(&format!("    {line}\n"))?;
            }
        }
        if let (Some((count, why)), false) = (history.unobserved, self.json) {
            let plural = if count == 1 { "" } else { "s" };
            note(&format!("What {count} command{plural} did to files was not recorded: {}.", why.words()));
        }
        if history.sets.is_empty() && !self.json {
            print("No files were changed in this session.\n")?;
        }
        Ok(Outcome::Done)
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

#[derive(Debug, Args)]
pub(super) struct Rewind {
    /// How many change sets to take back
    #[arg(default_value_t = 1)]
    steps: u32,
    #[command(flatten)]
    place: Where,
}

impl Rewind {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        travel(&self.place, Control::Rewind { steps: self.steps }).await
    }
}

#[derive(Debug, Args)]
pub(super) struct Forward {
    /// How many change sets to bring forward again
    #[arg(default_value_t = 1)]
    steps: u32,
    #[command(flatten)]
    place: Where,
}

impl Forward {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        travel(&self.place, Control::Forward { steps: self.steps }).await
    }
}

/// Whoever runs the session should have moved its history by then.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing may happen in a session before its log is read again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Moves the history and says what that did.
async fn travel(place: &Where, wish: Control) -> Result<Outcome, Problem> {
    let (_, client) = place::open(&[])?;
    let session = place.find(&client).await?;
    let history = at_rest(&client, &session).await?;
    let last = history.last;
    client.control(&session, None, wish).await?;
    let mut watch = client.watch(&session, last);
    let mut target = None;
    let moved = async {
        loop {
            match watch.next().await?.fact {
                Fact::Change(ChangeFact::Moving { position }) => target = Some(position),
                Fact::Change(ChangeFact::Refused { reason }) => return Ok(Some(reason)),
                Fact::Change(fact @ (ChangeFact::Reverted(_) | ChangeFact::Reapplied(_))) => {
                    let (word, change) = match fact {
                        ChangeFact::Reverted(change) => ("took back", change),
                        ChangeFact::Reapplied(change) => ("brought forward", change),
                        _ => continue,
                    };
                    for file in &change.files {
                        print(&calm(&format!("{word} {} (+{} -{})\n", file.path, file.added, file.removed)))?;
                    }
                    let unkept = history.sets.iter().find(|set| set.id == change.change_set).and_then(Set::by);
                    if let Some(line) = unkept.and_then(effects::unkept) {
                        note(&format!("That command {line}"));
                    }
                    if target == Some(change.position) {
                        return Ok::<_, Problem>(None);
                    }
                }
                _ => {}
            }
        }
    };
    match tokio::time::timeout(PATIENCE, moved).await {
        Ok(refused) => match refused? {
            None => Ok(Outcome::Done),
            Some(reason) => {
                note(&calm(&reason));
                Ok(Outcome::Finished(Status::Failed))
            }
        },
        Err(_) => Err(unanswered()),
    }
}
