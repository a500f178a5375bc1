//! `trimtab rewind --to`: goes back to an earlier message of the conversation, with the files.

use clap::{Args, ValueEnum};
use serde_json::json;
use trimtab_host::{Client, RewindDone, RewindPlan, RewindPoint};
use trimtab_vocab::event::{ChangedFile, Status};
use trimtab_vocab::{OnConflict, Problem, ProblemKind, RewindScope, SessionId, format};

use super::at_rest;
use super::rewind::{end_interrupted, in_words};
use crate::cli::CliOutcome;
use crate::cli::output::{note, print, print_json, sanitize};
use crate::diff::LoadedDiff;
use crate::words;

/// Characters of a message in the list.
const SHOWN: usize = 70;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnlyPart {
    Files,
    Conversation,
}

#[derive(Debug, Args)]
pub(super) struct MessageArgs {
    /// List the messages that you can go back to
    #[arg(long, conflicts_with_all = ["number", "files", "hunks", "to", "undo"])]
    messages: bool,
    /// Restore the state before this message, numbered as in --messages
    #[arg(long, value_name = "MESSAGE", conflicts_with_all = ["number", "files", "hunks", "undo"])]
    to: Option<usize>,
    /// Undo the last rewind to a message
    #[arg(long, conflicts_with_all = ["number", "files", "hunks"])]
    undo: bool,
    /// Restore only this
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<OnlyPart>,
    /// Show what --to or --undo would change, and change nothing
    #[arg(long)]
    preview: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl MessageArgs {
    pub(super) fn is_given(&self) -> bool {
        self.messages || self.to.is_some() || self.undo
    }

    fn scope(&self) -> RewindScope {
        match self.only {
            Some(OnlyPart::Files) => RewindScope::Files,
            Some(OnlyPart::Conversation) => RewindScope::Conversation,
            None => RewindScope::Both,
        }
    }

    pub(super) async fn execute(
        self,
        client: &Client,
        session: &SessionId,
        on_conflict: OnConflict,
    ) -> Result<CliOutcome, Problem> {
        let (points, _) = client.sessions().rewind_points(session).await?;
        if self.messages {
            return self.list(&points);
        }
        let before = self.to.map(|number| find(&points, number)).transpose()?.map(|point| point.seq);
        if self.preview {
            let plan = client.sessions().rewind_plan(session, before).await?;
            return self.show(client, session, &plan).await;
        }
        end_interrupted(client, session).await?;
        at_rest(client, session).await?;
        let done = client.sessions().rewind_to(session, before, self.scope(), on_conflict).await?;
        self.report(session, done)
    }

    fn list(&self, points: &[RewindPoint]) -> Result<CliOutcome, Problem> {
        let now = trimtab_host::now();
        for (at, point) in points.iter().enumerate() {
            let RewindPoint { seq, request, time, text, changes, .. } = point;
            if self.json {
                print_json(&json!({
                    "number": at + 1, "seq": seq, "request": request, "time": time, "text": text, "changes": changes,
                }))?;
                continue;
            }
            let line = text.trim().lines().next().unwrap_or_default();
            let cut: String = line.chars().take(SHOWN).collect();
            let more = if cut.len() < text.trim().len() { "…" } else { "" };
            let changes = match changes {
                0 => String::new(),
                changes => format!(", {}", format::plural(*changes, "change")),
            };
            print(&sanitize(&format!("{:>3}  {cut}{more}  ({}{changes})\n", at + 1, format::age(*time, now))))?;
        }
        if points.is_empty() && !self.json {
            print("This session has no messages yet.\n")?;
        }
        Ok(CliOutcome::Done)
    }

    /// Shows what going back would do to the files.
    async fn show(&self, client: &Client, session: &SessionId, plan: &RewindPlan) -> Result<CliOutcome, Problem> {
        let files: Vec<ChangedFile> = plan.writes.iter().map(ChangedFile::from).collect();
        if self.json {
            let text = plan.point.as_ref().map(|point| &point.text);
            print_json(&json!({ "text": text, "files": files, "blocked": plan.blocked, "lost": plan.lost }))?;
            return Ok(CliOutcome::Done);
        }
        if let Some(reason) = &plan.blocked {
            note(&format!("Files cannot go back: {reason}"));
        }
        match LoadedDiff::load_rewind(client, session, plan).await {
            Ok(loaded) => loaded.iter().try_for_each(|file| print(&sanitize(&file.patch().0)))?,
            // Without the bytes, the files are named.
            Err(_) => {
                for file in &files {
                    print(&sanitize(&format!("{}{}\n", file.path, words::line_counts(file))))?;
                }
            }
        }
        if files.is_empty() && plan.blocked.is_none() {
            note("No file changes.");
        }
        Ok(CliOutcome::Done)
    }

    fn report(&self, from: &SessionId, done: RewindDone) -> Result<CliOutcome, Problem> {
        let RewindDone { session, text, writes, refused } = done;
        let files: Vec<ChangedFile> = writes.iter().map(ChangedFile::from).collect();
        let ended = if refused.is_some() { CliOutcome::Finished(Status::Failed) } else { CliOutcome::Done };
        if self.json {
            let (refused, conflicts) = refused.unzip();
            print_json(&json!({
                "session": session, "from": from, "text": text, "files": files,
                "refused": refused, "conflicts": conflicts.unwrap_or_default(),
            }))?;
            return Ok(ended);
        }
        if let Some((reason, conflicts)) = refused {
            note(&reason);
            if !conflicts.is_empty() {
                note(&sanitize(&in_words(&conflicts)));
            }
            return Ok(ended);
        }
        for file in &files {
            print(&sanitize(&format!("Restored {}{}\n", file.path, words::line_counts(file))))?;
        }
        if session != *from {
            print(&format!("The conversation continues in session {session}. Session {from} keeps every message.\n"))?;
            note(&format!("Continue: trimtab --session {session}"));
        }
        Ok(ended)
    }
}

fn find(points: &[RewindPoint], number: usize) -> Result<&RewindPoint, Problem> {
    number.checked_sub(1).and_then(|at| points.get(at)).ok_or_else(|| {
        let all = format::plural(points.len(), "message");
        Problem::new(ProblemKind::NotFound, format!("Unknown message {number}. The session has {all}."))
            .hint("`trimtab rewind --messages` lists them.")
    })
}
