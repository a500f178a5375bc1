//! `trimtab tasks changes`, `undo` and `redo`.

use clap::Args;
use serde_json::json;
use trimtab_host::{NotMoved, TaskList, TaskMove, TaskSet};
use trimtab_vocab::format;
use trimtab_vocab::{ChangeSetId, OnConflict, Problem, ProblemKind, TaskAuthor, TaskWrite};

use super::preview::differences;
use crate::cli::number::whole;
use crate::cli::output::{print, print_json};

/// What is done about tasks that were changed since.
#[derive(Debug, Args)]
struct TaskConflictArgs {
    /// Keep your changes where they conflict, and undo or redo the rest
    #[arg(long, conflicts_with = "discard_mine")]
    keep_mine: bool,
    /// Overwrite your changes where they conflict
    #[arg(long)]
    discard_mine: bool,
}

impl TaskConflictArgs {
    fn on_conflict(&self) -> OnConflict {
        match (self.keep_mine, self.discard_mine) {
            (true, _) => OnConflict::KeepMine,
            (_, true) => OnConflict::DiscardMine,
            _ => OnConflict::Refuse,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct TaskChangesArgs {
    /// Limit the number of results
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>)]
    limit: usize,
    /// Print one JSON object per change
    #[arg(long)]
    json: bool,
}

impl TaskChangesArgs {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let history = tasks.history().await?;
        let (sets, in_force, now) = (history.sets(), history.in_force(), tasks.moment().now);
        for (number, set) in sets.iter().enumerate().rev().take(self.limit) {
            let taken_back = number >= in_force;
            if self.json {
                print_json(&json!({
                    "changeSet": set.id, "time": set.time, "by": set.by, "summary": set.summary,
                    "inForce": !taken_back, "undoes": set.undoes, "writes": set.writes,
                }))?;
                continue;
            }
            let by = match set.by {
                TaskAuthor::Person | TaskAuthor::Other => "",
                TaskAuthor::Assistant => ", by the assistant",
                TaskAuthor::Import => ", from a calendar",
            };
            let state = if taken_back { ", undone" } else { "" };
            let text = format!("{}  {}{by}{state}\n{}", set.id, format::age(set.time, now), several(&set.writes));
            print(&text)?;
        }
        if sets.is_empty() && !self.json {
            print("Nothing was changed yet.\n")?;
        }
        Ok(())
    }
}

fn words(write: &TaskWrite) -> String {
    match (&write.before, &write.after) {
        (None, Some(task)) => format!("+ #{} {}", task.id, task.title),
        (Some(task), None) => format!("- #{} {}", task.id, task.title),
        (Some(before), Some(after)) => format!("~ #{} {}{}", after.id, after.title, differences(before, after)),
        (None, None) => format!("#{}", write.id),
    }
}

#[derive(Debug, Args)]
pub(super) struct TaskUndoArgs {
    /// Number of changes to undo
    #[arg(value_name = "N", default_value_t = 1, value_parser = whole::<u32>)]
    steps: u32,
    /// Undo only this change, named as in `changes`
    #[arg(long, value_name = "CHANGE", conflicts_with = "steps")]
    change: Option<ChangeSetId>,
    #[command(flatten)]
    mine: TaskConflictArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TaskUndoArgs {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let way = match self.change {
            Some(change) => TaskMove::Undo(change),
            None => TaskMove::Back(self.steps as usize),
        };
        let moved = tasks.move_history(way, self.mine.on_conflict()).await.map_err(|why| not_moved(why, "undo"))?;
        told("Undone", &moved, true, self.json)
    }
}

#[derive(Debug, Args)]
pub(super) struct Redo {
    /// Number of changes to redo
    #[arg(value_name = "N", default_value_t = 1, value_parser = whole::<u32>)]
    steps: u32,
    #[command(flatten)]
    mine: TaskConflictArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Redo {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let way = TaskMove::Forward(self.steps as usize);
        let moved = tasks.move_history(way, self.mine.on_conflict()).await.map_err(|why| not_moved(why, "redo"))?;
        told("Redone", &moved, false, self.json)
    }
}

/// What a move did to the tasks.
fn told(what: &str, moved: &[TaskSet], back: bool, json: bool) -> Result<(), Problem> {
    for set in moved {
        // A set that undoes another one went forward itself.
        let turned = |write: &TaskWrite| match back && set.undoes.is_none() {
            true => TaskWrite { id: write.id, before: write.after.clone(), after: write.before.clone() },
            false => write.clone(),
        };
        let writes: Vec<TaskWrite> = set.writes.iter().map(turned).collect();
        if json {
            print_json(&json!({ "changeSet": set.id, "undoes": set.undoes, "writes": writes }))?;
            continue;
        }
        print(&format!("{what}:\n{}", several(&writes)))?;
    }
    Ok(())
}

/// The first few writes, a line each.
fn several(writes: &[TaskWrite]) -> String {
    let mut text: String = writes.iter().take(5).map(|write| format!("    {}\n", words(write))).collect();
    if writes.len() > 5 {
        text += &format!("    … and {} more\n", writes.len() - 5);
    }
    text
}

fn not_moved(why: NotMoved, how: &str) -> Problem {
    match why {
        NotMoved::Nothing => Problem::new(ProblemKind::Usage, format!("There is no task change to {how}."))
            .hint("`trimtab tasks changes` lists all changes."),
        NotMoved::Unknown => Problem::new(ProblemKind::NotFound, "There is no such applied change.")
            .hint("`trimtab tasks changes` lists their names."),
        NotMoved::Conflicts(conflicts) => {
            let one = |conflict: &trimtab_vocab::TaskConflict| {
                format!("#{} {} ({})", conflict.id, conflict.title, conflict.fields.join(", "))
            };
            let tasks: Vec<String> = conflicts.iter().take(5).map(one).collect();
            Problem::new(ProblemKind::Usage, format!("Tasks were changed since: {}.", tasks.join("; ")))
                .hint("Nothing was changed. --keep-mine keeps them, --discard-mine overwrites them.")
        }
        NotMoved::Problem(problem) => problem,
    }
}
