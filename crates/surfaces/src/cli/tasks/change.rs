//! `trimtab tasks add`, `done`, `edit`, `delete` and `apply`.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use trimtab_host::{TaskList, operations_in};
use trimtab_vocab::format;
use trimtab_vocab::{
    Applied, DryRun, Operation, Problem, ProblemKind, RecurrenceFields, Task, TaskAuthor, TaskFields, TaskId,
};

use super::preview::listed;
use super::{CategoryName, PriorityName, RepeatName, draw, not_applied, task};
use crate::cli::number::whole;
use crate::cli::output::{print, print_json, sanitize};

/// Fields of a task.
#[derive(Debug, Default, Args)]
struct TaskFieldArgs {
    /// Set the day and time: 2026-11-20, tomorrow, "next friday 9am", none
    #[arg(long, value_name = "WHEN")]
    on: Option<String>,
    /// Set the time, such as 9:30, 5pm, or none
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Add notes
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Set the priority
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<PriorityName>,
    /// Set the category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<CategoryName>,
    /// Add a tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Repeat the task from its day on
    #[arg(long, value_name = "FREQUENCY")]
    repeat: Option<RepeatName>,
    /// Repeat every N days, weeks, months, or years
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    every: Option<u32>,
    /// Repeat on these weekdays, such as mon,thu
    #[arg(long, value_name = "DAYS", value_delimiter = ',')]
    days: Vec<String>,
    /// End the repetition on this day, or never [default: the end of the year]
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

impl TaskFieldArgs {
    /// The fields as the wire has them; the engine checks them.
    fn read(self, tasks: &TaskList) -> Result<TaskFields, Problem> {
        let mut fields = TaskFields { notes: self.notes, ..TaskFields::default() };
        let mut rhythm = RecurrenceFields::default();
        if let Some(on) = &self.on {
            let when = tasks.when(on)?;
            fields.scheduled_for = Some(when.date);
            fields.time_of_day = when.time.map(Some);
            rhythm = when.repeats.unwrap_or_default();
        }
        if let Some(at) = &self.at {
            let wrong = || {
                Problem::new(ProblemKind::Usage, format!("\"{}\" is not a time of day.", at.escape_debug()))
                    .hint("Use a time such as 9:30, 14:00, or 5pm, or none.")
            };
            let is_none = at.trim().eq_ignore_ascii_case("none");
            fields.time_of_day = Some(if is_none { None } else { Some(trimtab_host::clock(at).ok_or_else(wrong)?) });
        }
        fields.priority = self.priority.map(Into::into);
        fields.category = self.category.map(Into::into);
        if !self.tags.is_empty() {
            let tags = self.tags.iter().map(|tag| tag.trim().trim_start_matches('#').to_owned());
            fields.tags = Some(tags.filter(|tag| !tag.is_empty() && tag != "none").collect());
        }
        let mut recurrence = RecurrenceFields { interval: self.every.or(rhythm.interval), ..rhythm };
        recurrence.kind = self.repeat.map(Into::into).or(recurrence.kind);
        if !self.days.is_empty() {
            let wrong = |_| {
                Problem::new(ProblemKind::Usage, "Invalid days of the week.").hint("Use days such as --days mon,thu.")
            };
            let days: Vec<String> =
                self.days.iter().map(|day| day.trim().to_lowercase().chars().take(3).collect()).collect();
            recurrence.weekdays = Some(serde_json::from_value(days.into()).map_err(wrong)?);
            recurrence.kind = recurrence.kind.or(Some(trimtab_vocab::Repeat::Weekly));
        }
        if let Some(until) = &self.until {
            recurrence.until = Some(tasks.when(until)?.date);
        }
        if recurrence != RecurrenceFields::default() {
            fields.recurrence = Some(recurrence);
        }
        Ok(fields)
    }
}

/// What changed, for programs or for people.
fn told(applied: &Applied, json: bool, words: impl Fn(&Task) -> String) -> Result<(), Problem> {
    if json {
        return print_json(applied);
    }
    for result in &applied.results {
        match (&result.todo, &result.error) {
            (Some(task), None) => print(&format!("{}\n", sanitize(&words(task))))?,
            (_, Some(error)) => {
                let id = result.op.operation().and_then(Operation::id).unwrap_or_default();
                let why = if error == "not_found" { "There is no task" } else { "This cannot be done to task" };
                print(&format!("{why} #{id}.\n"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `on Mon, Nov 16 at 09:00, daily`.
fn when(task: &Task, tasks: &TaskList) -> String {
    let today = tasks.moment().today;
    let mut parts = Vec::new();
    if let Some(date) = task.scheduled_for {
        let time = task.time_of_day.map_or_else(String::new, |time| format!(" at {time}"));
        let day = match date.days() - today.days() {
            0 => "today".to_owned(),
            1 => "tomorrow".to_owned(),
            _ => format!("on {}", format::day(date, today)),
        };
        parts.push(day + &time);
    }
    if task.is_repeating() {
        parts.push(draw::rhythm(&task.recurrence));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Title of the task
    #[arg(required = true)]
    title: Vec<String>,
    #[command(flatten)]
    fields: TaskFieldArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let mut fields = self.fields.read(tasks)?;
        fields.title = Some(self.title.join(" "));
        let applied = tasks.apply_by_hand(&[Operation::Create { fields }], false).await.map_err(not_applied)?;
        told(&applied, self.json, |task| format!("Added #{}: {}{}", task.id, task.title, when(task, tasks)))
    }
}

#[derive(Debug, Args)]
pub(super) struct TaskEditArgs {
    /// Task numbers
    #[arg(required = true)]
    ids: Vec<TaskId>,
    /// Set a new title
    #[arg(long)]
    title: Option<String>,
    #[command(flatten)]
    fields: TaskFieldArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TaskEditArgs {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let mut fields = self.fields.read(tasks)?;
        fields.title = self.title;
        if fields.is_empty() {
            return Err(Problem::new(ProblemKind::Usage, "There is nothing to change.")
                .hint("Name a field, as in `trimtab tasks edit 3 --on friday --priority high`."));
        }
        let update = |id: &TaskId| Operation::Update { id: *id, fields: fields.clone() };
        let operations: Vec<Operation> = self.ids.iter().map(update).collect();
        existing(tasks, &self.ids).await?;
        let applied = tasks.apply_by_hand(&operations, false).await.map_err(not_applied)?;
        told(&applied, self.json, |task| format!("Changed #{}: {}{}", task.id, task.title, when(task, tasks)))
    }
}

/// A wrong number is more likely a slip than meant: nothing is done then.
async fn existing(tasks: &TaskList, ids: &[TaskId]) -> Result<(), Problem> {
    for id in ids {
        task(tasks, *id).await?;
    }
    Ok(())
}

#[derive(Debug, Args)]
pub(super) struct TaskDoneArgs {
    /// Task numbers
    #[arg(required = true)]
    ids: Vec<TaskId>,
    /// Mark this day of the task [default: today, else the last missed or the next day]
    #[arg(long, value_name = "DAY")]
    on: Option<String>,
    /// Mark the tasks as not done
    #[arg(long)]
    not: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TaskDoneArgs {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let on = self.on.as_deref().map(|day| tasks.when(day)).transpose()?.and_then(|when| when.date);
        let completed = Some(!self.not);
        let mut operations = Vec::new();
        for id in &self.ids {
            let task = task(tasks, *id).await?;
            operations.push(match task.is_repeating() {
                true => {
                    let date = on.or_else(|| tasks.due(&task, self.not));
                    let date = date.ok_or_else(|| {
                        Problem::new(ProblemKind::Usage, format!("Task #{id} has no matching day."))
                            .hint("Name the completed day with --on.")
                    })?;
                    Operation::CompleteOccurrence { id: *id, occurrence_date: date, completed }
                }
                false => Operation::Complete { id: *id, completed },
            });
        }
        let applied = tasks.apply_by_hand(&operations, false).await.map_err(not_applied)?;
        let (today, word) = (tasks.moment().today, if self.not { "Not done" } else { "Done" });
        let mut days = operations.iter().map(|operation| match operation {
            Operation::CompleteOccurrence { occurrence_date, .. } => Some(*occurrence_date),
            _ => None,
        });
        if self.json {
            return print_json(&applied);
        }
        for result in &applied.results {
            let day = days.next().flatten().map(|day| format!(" ({})", format::day(day, today)));
            if let Some(task) = &result.todo {
                let line = format!("{word} #{}: {}{}\n", task.id, task.title, day.unwrap_or_default());
                print(&line)?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// Task numbers
    #[arg(required = true)]
    ids: Vec<TaskId>,
    /// Confirm deleting many tasks
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Delete {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let mut titles = Vec::new();
        for id in &self.ids {
            titles.push(format!("#{id}: {}", task(tasks, *id).await?.title));
        }
        let operations: Vec<Operation> = self.ids.iter().map(|id| Operation::Delete { id: *id }).collect();
        let applied = tasks.apply_by_hand(&operations, self.yes).await.map_err(not_applied)?;
        if self.json {
            return print_json(&applied);
        }
        for title in titles {
            print(&format!("Deleted {title}\n"))?;
        }
        print("`trimtab tasks undo` restores it.\n")
    }
}

#[derive(Debug, Args)]
pub(super) struct TaskApplyArgs {
    /// JSON file with {"operations": […]} (`-` reads standard input)
    file: PathBuf,
    /// Preview without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Confirm changing many tasks
    #[arg(long)]
    yes: bool,
    /// Set an idempotency key, valid for ten minutes
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A larger file of operations is refused.
const LARGEST: u64 = 16 * 1024 * 1024;

impl TaskApplyArgs {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let operations = operations_in(read(&self.file)?);
        if self.dry_run {
            let dry_run = tasks.dry_run(operations).await?;
            return if self.json { print_json(&dry_run) } else { print(&previewed(&dry_run)) };
        }
        let (by, key, confirmed) = (TaskAuthor::Person, self.key, self.yes);
        let order = trimtab_host::ApplyOperations { operations, by, key, confirmed };
        let applied = tasks.apply(order).await.map_err(not_applied)?;
        if self.json {
            return print_json(&applied);
        }
        let failed = applied.results.iter().filter(|result| !result.ok).count();
        let counts = applied.summary;
        let mut line = format!(
            "{} created, {} updated, {} completed, {} deleted",
            counts.created, counts.updated, counts.completed, counts.deleted
        );
        if failed > 0 {
            line += &format!("; {failed} failed");
        }
        print(&format!("{line}.\n"))
    }
}

fn read(file: &std::path::Path) -> Result<Value, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::new(ProblemKind::Usage, format!("The file {} cannot be read: {error}.", file.display()))
            .hint("Name a file with {\"operations\": […]}, or - for standard input.")
    };
    let mut text = String::new();
    let source: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(file).map_err(unreadable)?),
    };
    source.take(LARGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST {
        return Err(Problem::new(ProblemKind::Usage, "The file of operations is too large: the limit is 16 MB."));
    }
    serde_json::from_str(&text).map_err(|error| {
        Problem::new(ProblemKind::Usage, format!("The file {} is not JSON: {error}.", file.display()))
            .hint("Write {\"operations\": [{\"op\": \"create\", \"title\": \"…\"}]}. Nothing was changed.")
    })
}

/// What would change, in words.
fn previewed(dry_run: &DryRun) -> String {
    let mut text = listed(&dry_run.results);
    for warning in &dry_run.warnings {
        text += &format!("Warning: {warning}\n");
    }
    text + "Nothing was changed.\n"
}
