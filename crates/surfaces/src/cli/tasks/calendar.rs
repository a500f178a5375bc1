//! `trimtab tasks import` and `export`.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use trimtab_host::{Imported, TaskList};
use trimtab_vocab::format;
use trimtab_vocab::{Problem, ProblemKind, Where};

use super::not_applied;
use crate::cli::output::{note, print, print_exact, print_json};

#[derive(Debug, Args)]
pub(super) struct Import {
    /// iCalendar file (`-` reads standard input)
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Calendars of more bytes are refused; one more is read to notice.
const LARGEST: u64 = 16 * 1024 * 1024 + 1;

impl Import {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let unreadable = |error: std::io::Error| {
            Problem::new(ProblemKind::Usage, format!("The calendar {} cannot be read: {error}.", self.file.display()))
                .hint("Name a file, or - for standard input.")
        };
        let mut bytes = Vec::new();
        let source: Box<dyn Read> = match self.file.as_os_str() == "-" {
            true => Box::new(std::io::stdin()),
            false => Box::new(std::fs::File::open(&self.file).map_err(unreadable)?),
        };
        source.take(LARGEST).read_to_end(&mut bytes).map_err(unreadable)?;
        let Imported { applied, skipped, known } = tasks.import(&bytes).await.map_err(not_applied)?;
        let made = applied.as_ref().map_or(0, |applied| applied.summary.created);
        if self.json {
            let skipped: Vec<_> =
                skipped.iter().map(|one| json!({ "title": one.title, "reason": one.reason })).collect();
            let change_set = applied.and_then(|applied| applied.change_set);
            return print_json(
                &json!({ "created": made, "known": known, "skipped": skipped, "changeSet": change_set }),
            );
        }
        for one in &skipped {
            let title = if one.title.is_empty() { "Entry without a title" } else { &one.title };
            note(&format!("{title}: {}.", one.reason));
        }
        let known = if known > 0 { format!(" ({known} already existed)") } else { String::new() };
        print(&format!("Added {}{known}.\n", format::plural(made, "task")))
    }
}

#[derive(Debug, Args)]
pub(super) struct Export {
    /// Include only open tasks
    #[arg(long)]
    open: bool,
    /// Include only tasks with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
}

impl Export {
    pub(super) async fn execute(self, tasks: &TaskList) -> Result<(), Problem> {
        let wanted = Where { completed: self.open.then_some(false), tag: self.tag, ..Where::default() };
        print_exact(&tasks.export(&wanted).await?)
    }
}
