//! `trimtab tasks`: the person's own list.

mod calendar;
mod change;
mod draw;
mod history;
mod preview;
mod queries;

use clap::{Args, Subcommand, ValueEnum};
use trimtab_host::{NotApplied, TaskList};
use trimtab_vocab::{Category, Previewed, Priority, Problem, ProblemKind, Repeat};

use super::{CliOutcome, place};

pub(super) use preview::listed;

const EXAMPLES: &str = "\
Examples:
  trimtab tasks                              list open tasks
  trimtab tasks add Pay rent --on 2099-01-31 --repeat monthly
  trimtab tasks done 1
  trimtab tasks undo";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TasksArgs {
    #[command(subcommand)]
    action: Option<TasksAction>,
}

#[derive(Debug, Subcommand)]
enum TasksAction {
    /// List open tasks by due date [default]
    List(queries::TaskListArgs),
    /// Show one task in full
    Show(queries::Show),
    /// Search tasks, best match first
    Search(queries::TaskSearchArgs),
    /// Add a task
    Add(change::Add),
    /// Mark tasks as done
    Done(change::TaskDoneArgs),
    /// Edit tasks
    Edit(change::TaskEditArgs),
    /// Delete tasks
    Delete(change::Delete),
    /// Apply operations from a JSON file, or preview them
    Apply(change::TaskApplyArgs),
    /// Import tasks from an iCalendar file
    Import(calendar::Import),
    /// Export tasks as iCalendar
    Export(calendar::Export),
    /// List changes, newest first
    Changes(history::TaskChangesArgs),
    /// Undo changes
    Undo(history::TaskUndoArgs),
    /// Redo undone changes
    Redo(history::Redo),
}

impl TasksArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let tasks = client.tasks(&profile.tasks)?;
        match self.action.unwrap_or(TasksAction::List(queries::TaskListArgs::default())) {
            TasksAction::List(list) => list.execute(&tasks).await?,
            TasksAction::Show(show) => show.execute(&tasks).await?,
            TasksAction::Search(search) => search.execute(&tasks).await?,
            TasksAction::Add(add) => add.execute(&tasks).await?,
            TasksAction::Done(done) => done.execute(&tasks).await?,
            TasksAction::Edit(edit) => edit.execute(&tasks).await?,
            TasksAction::Delete(delete) => delete.execute(&tasks).await?,
            TasksAction::Apply(apply) => apply.execute(&tasks).await?,
            TasksAction::Import(import) => import.execute(&tasks).await?,
            TasksAction::Export(export) => export.execute(&tasks).await?,
            TasksAction::Changes(changes) => changes.execute(&tasks).await?,
            TasksAction::Undo(undo) => undo.execute(&tasks).await?,
            TasksAction::Redo(redo) => redo.execute(&tasks).await?,
        }
        Ok(CliOutcome::Done)
    }
}

/// How much a task matters, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PriorityName {
    Low,
    Medium,
    High,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::Low => Self::Low,
            PriorityName::Medium => Self::Medium,
            PriorityName::High => Self::High,
        }
    }
}

/// What kind of thing a task is, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CategoryName {
    Habit,
    Goal,
    Task,
    Event,
}

impl From<CategoryName> for Category {
    fn from(name: CategoryName) -> Self {
        match name {
            CategoryName::Habit => Self::Habit,
            CategoryName::Goal => Self::Goal,
            CategoryName::Task => Self::Task,
            CategoryName::Event => Self::Event,
        }
    }
}

/// A rhythm, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RepeatName {
    None,
    Daily,
    Weekdays,
    Weekly,
    Monthly,
    Yearly,
}

impl From<RepeatName> for Repeat {
    fn from(name: RepeatName) -> Self {
        match name {
            RepeatName::None => Self::None,
            RepeatName::Daily => Self::Daily,
            RepeatName::Weekdays => Self::Weekdays,
            RepeatName::Weekly => Self::Weekly,
            RepeatName::Monthly => Self::Monthly,
            RepeatName::Yearly => Self::Yearly,
        }
    }
}

/// Why nothing was applied, in words.
pub(super) fn not_applied(why: NotApplied) -> Problem {
    match why {
        NotApplied::Invalid(validation) => {
            let wrong = validation.results.iter().flat_map(|result| &result.errors);
            let texts: Vec<&str> = wrong.map(|error| advice(error)).collect();
            let message = match texts.is_empty() {
                true => "There is no operation to apply.".to_owned(),
                false => format!("Not possible: {}.", texts.join("; ")),
            };
            Problem::new(ProblemKind::Usage, message).hint("Nothing was changed.")
        }
        NotApplied::Unconfirmed(dry_run) => Problem::new(ProblemKind::Usage, dry_run.warnings.join(" "))
            .hint("Nothing was changed. Repeat it with --yes to confirm. `trimtab tasks undo` undoes it."),
        NotApplied::KeyReused => {
            Problem::new(ProblemKind::Usage, "This key was used for other operations in the last ten minutes.")
                .hint("Nothing was changed. Use a new key for new operations.")
        }
        NotApplied::Problem(problem) => problem,
    }
}

/// The words for people of an error.
fn advice(error: &str) -> &str {
    match error.split_once(": ") {
        // What the wire calls by its field has an option here.
        Some(("missing_anchor", _)) => "a repeating task needs a first day (--on)",
        Some((_, advice)) => advice,
        None => error,
    }
}

/// Why an operation of a dry run cannot be applied.
fn reasons(previewed: &Previewed) -> String {
    previewed.errors.iter().map(|error| advice(error)).collect::<Vec<_>>().join("; ")
}

/// A task that must be there.
async fn task(tasks: &TaskList, id: u64) -> Result<trimtab_vocab::Task, Problem> {
    tasks.get(id).await?.ok_or_else(|| missing(id))
}

fn missing(id: u64) -> Problem {
    Problem::new(ProblemKind::NotFound, format!("There is no task #{id}."))
        .hint("`trimtab tasks list --all` shows them all with their numbers.")
}
