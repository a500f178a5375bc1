//! `trimtab rewind` and `forward`: moves along the history, whole sets or parts of one.

use clap::Args;
use trimtab_host::{Client, History, JobState};
use trimtab_vocab::event::{Change, ChangeFact, Conflict, Status};
use trimtab_vocab::format;
use trimtab_vocab::{ChangePart, Control, OnConflict, Problem, ProblemKind, SessionId};

use super::messages::MessageArgs;
use super::{HistoryArgs, at_rest, find_set};
use crate::cli::number::positive;
use crate::cli::output::{note, print, sanitize};
use crate::cli::{CliOutcome, place};
use crate::words::{self, effects};

/// What is done where the same lines were edited since.
#[derive(Debug, Args)]
struct EditConflictArgs {
    /// Keep your edits where they conflict, and undo or redo the rest
    #[arg(long, conflicts_with = "discard_mine")]
    keep_mine: bool,
    /// Overwrite your conflicting edits (`forward` or `rewind` restores them)
    #[arg(long)]
    discard_mine: bool,
}

impl EditConflictArgs {
    fn on_conflict(&self) -> OnConflict {
        match (self.keep_mine, self.discard_mine) {
            (true, _) => OnConflict::KeepMine,
            (_, true) => OnConflict::DiscardMine,
            _ => OnConflict::Refuse,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  trimtab rewind                               undo the latest change
  trimtab rewind 3                             undo the latest three changes
  trimtab rewind --change 3 --file src/a.rs    undo one file of change #3
  trimtab rewind --change 3 --hunk src/a.rs:2  undo one hunk of change #3
  trimtab rewind --messages                    list the messages that you can go back to
  trimtab rewind --to 4 --preview              preview going back to before message 4
  trimtab rewind --to 4                        restore the files and the conversation
  trimtab rewind --undo                        undo the rewind to a message
  trimtab forward                              redo the latest undone change";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Rewind {
    /// How many changes to undo, or with --file or --hunk, the change to undo a part of [default: 1]
    #[arg(value_name = "N", value_parser = positive)]
    number: Option<u32>,
    /// Undo a part of this change, with --file or --hunk [default: the latest change]
    #[arg(long, value_name = "CHANGE", value_parser = positive, conflicts_with = "number")]
    change: Option<u32>,
    /// Undo only this file of a change
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// Undo only this hunk of a change, numbered as in `changes CHANGE`
    #[arg(long = "hunk", value_name = "PATH:K")]
    hunks: Vec<String>,
    #[command(flatten)]
    back: MessageArgs,
    #[command(flatten)]
    mine: EditConflictArgs,
    #[command(flatten)]
    place: HistoryArgs,
}

impl Rewind {
    pub(in crate::cli) async fn execute(self) -> Result<CliOutcome, Problem> {
        self.check()?;
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        if self.back.is_given() {
            return self.back.execute(&client, &session, self.mine.on_conflict()).await;
        }
        end_interrupted(&client, &session).await?;
        let history = at_rest(&client, &session).await?;
        let on_conflict = self.mine.on_conflict();
        let parts = parts(&self.files, &self.hunks)?;
        if parts.is_empty() {
            let steps = self.number.unwrap_or(1);
            let undone = history.sets.len() - history.in_force;
            note_fewer(steps, history.in_force, "undo");
            let ended = move_history(&client, &session, &history, Control::Rewind { steps, on_conflict }).await?;
            if history.in_force == 0 {
                if undone > 0 {
                    note(&format!("`trimtab forward {undone}` redoes {}.", format::plural(undone, "undone change")));
                }
                self.place.point_elsewhere(&client, &session).await?;
            }
            return Ok(ended);
        }
        if let (Some(number), None) = (self.number, self.change) {
            note(&format!("note: {number} names change #{number} here, as in --change {number}."));
        }
        let number = self.change.or(self.number).map_or(history.in_force, |number| number as usize);
        let set = find_set(&history, &number.to_string())?;
        let change_set = set.id.clone();
        move_history(&client, &session, &history, Control::UndoPart { change_set, parts, on_conflict }).await
    }
}

impl Rewind {
    /// Refuses the number of a change without a part of it, which would be taken for a number of changes.
    fn check(&self) -> Result<(), Problem> {
        match self.change {
            Some(change) if self.files.is_empty() && self.hunks.is_empty() => {
                Err(Problem::new(ProblemKind::Usage, "--change needs --file or --hunk.").hint(format!(
                    "`trimtab changes {change}` shows the files and hunks of the change. `trimtab rewind N` undoes the latest N changes."
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Whoever undoes the changes of a request whose process has ended does not want it to continue.
pub(super) async fn end_interrupted(client: &Client, session: &SessionId) -> Result<(), Problem> {
    let jobs = client.requests().list(false).await?;
    let interrupted = jobs.into_iter().find(|job| job.session == *session && job.state == JobState::Interrupted);
    if let Some(job) = interrupted {
        client.requests().cancel(session, &job.request).await?;
        note("Cancelled the request that was interrupted in this session.");
    }
    Ok(())
}

/// The parts that are named: files, and hunks as `PATH:K`.
pub(in crate::cli) fn named_parts(named: &[String]) -> Result<Vec<ChangePart>, Problem> {
    let is_hunk = |name: &&String| name.rsplit_once(':').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    let (hunks, files): (Vec<&String>, Vec<&String>) = named.iter().partition(is_hunk);
    let owned = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    parts(&owned(files), &owned(hunks))
}

/// The parts that are named, each file once.
fn parts(files: &[String], hunks: &[String]) -> Result<Vec<ChangePart>, Problem> {
    let mut parts: Vec<ChangePart> = Vec::new();
    for path in files {
        if parts.iter().all(|part| part.path != *path) {
            parts.push(ChangePart { path: path.clone(), hunks: Vec::new() });
        }
    }
    let whole = parts.len();
    for named in hunks {
        let read = named.rsplit_once(':').and_then(|(path, number)| Some((path, number.parse::<u32>().ok()?)));
        let Some((path, number)) = read else {
            return Err(Problem::new(ProblemKind::Usage, format!("{named} does not name a hunk.")).hint(
                "Name the file and the hunk's number, as in src/main.rs:2; `trimtab changes N` shows the numbers.",
            ));
        };
        match parts.iter_mut().position(|part| part.path == path) {
            Some(at) if at < whole => {}
            Some(at) => parts[at].hunks.push(number),
            None => parts.push(ChangePart { path: path.to_owned(), hunks: vec![number] }),
        }
    }
    Ok(parts)
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct ForwardArgs {
    /// How many changes to redo
    #[arg(value_name = "N", default_value_t = 1, value_parser = positive)]
    steps: u32,
    #[command(flatten)]
    mine: EditConflictArgs,
    #[command(flatten)]
    place: HistoryArgs,
}

impl ForwardArgs {
    pub(in crate::cli) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let history = at_rest(&client, &session).await?;
        let (steps, on_conflict) = (self.steps, self.mine.on_conflict());
        let undone = history.sets.len() - history.in_force;
        note_fewer(steps, undone, "redo");
        let ended = move_history(&client, &session, &history, Control::Forward { steps, on_conflict }).await?;
        if undone == 0 {
            note("`trimtab changes` lists the changes and which of them are undone.");
        }
        Ok(ended)
    }
}

/// Reports how many changes there are, if more were asked for.
fn note_fewer(asked: u32, there: usize, what: &str) {
    if there > 0 && asked as usize > there {
        let verb = format::verb(there, "is", "are");
        note(&format!("There {verb} only {} to {what}.", format::plural(there, "change")));
    }
}

/// Moves the history and says what that did.
async fn move_history(
    client: &Client,
    session: &SessionId,
    history: &History,
    control: Control,
) -> Result<CliOutcome, Problem> {
    let moved = client.changes().move_history(session, history.last, control).await?;
    for fact in &moved.changes {
        let (ChangeFact::Applied(change) | ChangeFact::Reverted(change) | ChangeFact::Reapplied(change)) = fact else {
            continue;
        };
        tell(fact, change)?;
        let set = history.sets.iter().find(|set| set.id == change.change_set);
        if let Some(line) = set.and_then(|set| set.by.as_deref()).and_then(effects::unkept) {
            note(&format!("That command {line}"));
        }
    }
    let Some((reason, conflicts)) = moved.refused else { return Ok(CliOutcome::Done) };
    note(&reason);
    if !conflicts.is_empty() {
        note(&sanitize(&in_words(&conflicts)));
    }
    Ok(CliOutcome::Finished(Status::Failed))
}

fn tell(fact: &ChangeFact, change: &Change) -> Result<(), Problem> {
    let word = match fact {
        ChangeFact::Reapplied(_) => "Redid",
        ChangeFact::Applied(_) => "Undid a part of the change:",
        _ => "Undid",
    };
    for file in &change.files {
        print(&format!("{word} {}{}\n", file.path, words::line_counts(file)))?;
    }
    if let ChangeFact::Applied(_) = fact {
        print(&format!("This is now change #{}. `trimtab rewind` undoes it.\n", change.position + 1))?;
    }
    Ok(())
}

/// Conflicts with their three sides, marked as merge tools mark them, and the ways out.
pub(super) fn in_words(conflicts: &[Conflict]) -> String {
    let mut text = String::new();
    for conflict in conflicts {
        text += &format!("\n{}\n", conflict.reason);
        if let (Some(base), Some(mine), Some(wanted)) = (&conflict.base, &conflict.mine, &conflict.wanted) {
            for (mark, side) in [("<<<<<<< yours", mine), ("||||||| after the change", base), ("=======", wanted)] {
                text += &format!("{mark}\n{}", side.replace("\r\n", "\n"));
                if !side.is_empty() && !side.ends_with('\n') {
                    text.push('\n');
                }
            }
            text += ">>>>>>> after the undo\n";
        }
    }
    text + "\nChange these lines back to how they were after the change, or use an option: --keep-mine keeps your \
            lines and undoes the rest. --discard-mine replaces your lines, and `trimtab forward` restores them."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_once_each_and_a_whole_file_counts_over_its_hunks() {
        let named = |files: &[&str], hunks: &[&str]| {
            let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            parts(&owned(files), &owned(hunks))
        };
        let part = |path: &str, hunks: &[u32]| ChangePart { path: path.into(), hunks: hunks.to_vec() };
        let read = named(&["a", "a"], &["b:1", "a:2", "b:3", "c:d:4"]).expect("parts");
        assert_eq!(read, [part("a", &[]), part("b", &[1, 3]), part("c:d", &[4])]);
        for wrong in ["a", "a:", "a:x", "a:-1"] {
            assert!(named(&[], &[wrong]).is_err(), "{wrong}");
        }
    }
}
