//! `trimtab tasks list`, `show` and `search`.

use clap::Args;
use trimtab_host::TaskList;
use trimtab_vocab::{Category, Item, Priority, Problem, ProblemKind, TaskId, View};

use super::{CategoryName, PriorityName, draw, task};
use crate::cli::number::whole;
use crate::cli::output::{print, print_ink, print_json};
use crate::cli::paint::Palette;
use crate::diff::DiffLine;
use crate::output::StdStream;

/// Prints lines in the colours that standard output has.
pub(super) fn show(lines: &[DiffLine]) -> Result<(), Problem> {
    print_ink(&Palette::for_stream(StdStream::Out).paint(lines))
}

/// The width of the terminal, if there is one.
pub(super) fn width() -> Option<usize> {
    StdStream::Out.columns()
}

#[derive(Debug, Default, Args)]
#[group(skip)]
pub(super) struct TaskListArgs {
    /// List only tasks due today
    #[arg(long, group = "view")]
    today: bool,
    /// List only tasks due this week (Monday to Sunday)
    #[arg(long, group = "view")]
    week: bool,
    /// List only overdue tasks
    #[arg(long, group = "view")]
    overdue: bool,
    /// List only tasks without a day
    #[arg(long, group = "view")]
    backlog: bool,
    /// Include done tasks
    #[arg(long, group = "view")]
    all: bool,
    /// Include only tasks with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Include only tasks with this priority
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<PriorityName>,
    /// Include only tasks of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<CategoryName>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl TaskListArgs {
    fn view(&self) -> View {
        match self {
            Self { today: true, .. } => View::Today,
            Self { week: true, .. } => View::Week,
            Self { overdue: true, .. } => View::Overdue,
            Self { backlog: true, .. } => View::Backlog,
            Self { all: true, .. } => View::All,
            _ => View::Open,
        }
    }

    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let view = self.view();
        let mut items = tasks.items(view).await?;
        let tag = self.tag.as_ref().map(|tag| tag.trim_start_matches('#').to_lowercase());
        let (priority, category) = (self.priority.map(Priority::from), self.category.map(Category::from));
        items.retain(|Item { task, .. }| {
            tag.as_ref().is_none_or(|tag| task.tags.iter().any(|own| own.to_lowercase() == *tag))
                && priority.is_none_or(|priority| task.priority == priority)
                && category.is_none_or(|category| task.category == category)
        });
        if self.json {
            return items.iter().try_for_each(print_json);
        }
        if items.is_empty() {
            let nothing = match view {
                View::Today => "There are no tasks for today.",
                View::Week => "There are no tasks for this week.",
                View::Overdue => "There are no overdue tasks.",
                View::Backlog => "There are no tasks without a day.",
                View::Open => "There are no open tasks. `trimtab tasks add \"…\" --on tomorrow` adds one.",
                View::All => "There are no tasks. `trimtab tasks add \"…\" --on tomorrow` adds one.",
            };
            return print(&format!("{nothing}\n"));
        }
        show(&draw::grouped(&items, tasks.moment().today, width()))
    }
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Task number
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let task = task(tasks, self.id).await?;
        if self.json { print_json(&task) } else { show(&draw::whole(&task, tasks.moment().today)) }
    }
}

#[derive(Debug, Args)]
pub(super) struct TaskSearchArgs {
    /// Words or their beginnings to search for
    #[arg(required = true)]
    words: Vec<String>,
    /// Limit the number of results
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<u32>)]
    limit: u32,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl TaskSearchArgs {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let words = self.words.join(" ");
        if !words.contains(char::is_alphanumeric) {
            return Err(Problem::new(ProblemKind::Usage, "There is nothing to search for.")
                .hint("Give one or more words or their beginnings."));
        }
        let found = tasks.search(&words, self.limit).await?;
        if self.json {
            return found.iter().try_for_each(print_json);
        }
        if found.is_empty() {
            return print("No task contains all these words.\n");
        }
        let items: Vec<Item> = found
            .into_iter()
            .map(|task| Item { date: task.scheduled_for, done: task.completed, overdue: false, task })
            .collect();
        show(&draw::listed(&items, tasks.moment().today, width()))
    }
}
