//! `trimtab review`: a read-only review of a diff.

mod report;
mod sarif;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use trimtab_host::config::Flag;
use trimtab_host::{
    Client, Manner, RequestDraft, ReviewDraft, ReviewForm, ReviewSource, ReviewSubject, SendTo, Sent, WhenBusy,
};
use trimtab_vocab::event::Status;
use trimtab_vocab::{Approve, CheckedFindings, FindingSeverity, Problem, ProblemKind, ReviewFinding, UnreviewedFile};

use super::follow::{Attendance, OutcomeObject, OutputForm, follow};
use super::output::{note, print, print_json};
use super::run::{self, ApproveArg, dollars};
use super::standard_input::{self, PipedInput, StandardInput};
use super::{CliOutcome, background, changes, local_model, place};

const EXAMPLES: &str = "\
Examples:
  trimtab review                                     review the uncommitted changes, with new files
  trimtab review --base main                         review the commits of this branch
  trimtab review --commit HEAD \"Is it thread-safe?\"  review one commit, and answer a question
  git diff main... -- src | trimtab review           review a diff from a pipe
  trimtab review --base main --fail-on high          fail if a finding is high or critical
  trimtab review --base main --sarif > review.sarif  write a report for code scanning

The model can read files of the folder. It cannot edit files or run commands.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReviewArgs {
    /// What to look for, in quotes (`-` reads a diff from standard input)
    #[arg(value_name = "TEXT")]
    words: Vec<OsString>,
    /// Review the commits since this branch, tag, or commit
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["commit", "uncommitted"])]
    base: Option<String>,
    /// Review one commit
    #[arg(long, value_name = "REVISION", conflicts_with = "uncommitted")]
    commit: Option<String>,
    /// Review staged, unstaged, and untracked changes
    #[arg(long)]
    uncommitted: bool,
    /// Print one JSON object: findings, cost, session, and status
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print a SARIF 2.1.0 report
    #[arg(long)]
    sarif: bool,
    /// Exit with code 1 if a finding in the diff is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<SeverityArg>,
    /// Use this model
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Set how much the model thinks before it answers
    #[arg(long, value_name = "LEVEL", value_parser = ["auto", "off", "minimal", "low", "medium", "high", "max"])]
    effort: Option<String>,
    /// Limit the cost of the review in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Trust the folder and its instruction files for this run
    #[arg(long)]
    trust: bool,
    /// Review in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SeverityArg {
    Critical,
    High,
    Medium,
    Low,
}

impl From<SeverityArg> for FindingSeverity {
    fn from(severity: SeverityArg) -> Self {
        match severity {
            SeverityArg::Critical => Self::Critical,
            SeverityArg::High => Self::High,
            SeverityArg::Medium => Self::Medium,
            SeverityArg::Low => Self::Low,
        }
    }
}

/// What is printed to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportForm {
    Text,
    Json,
    Sarif,
}

/// A review that is over.
struct FinishedReview {
    subject: ReviewSubject,
    left_out: Vec<UnreviewedFile>,
    /// Summary and findings; none if the model gave no valid answer, so that nothing was reviewed.
    result: Option<(String, CheckedFindings)>,
    /// What came of the request; none if nothing was sent.
    object: Option<Value>,
    cost_usd: Option<f64>,
}

impl FinishedReview {
    /// There was nothing to review.
    fn without_changes(subject: ReviewSubject) -> Self {
        let left_out = subject.left_out.clone();
        let result = Some(("There are no changes to review.".to_owned(), CheckedFindings::default()));
        Self { subject, left_out, result, object: None, cost_usd: None }
    }

    fn findings(&self) -> &[ReviewFinding] {
        self.result.as_ref().map_or(&[], |(_, checked)| &checked.findings)
    }

    fn print(&self, form: ReportForm) -> Result<(), Problem> {
        match (form, &self.result) {
            (ReportForm::Text, Some((summary, checked))) => print(&report::text(summary, checked, self.cost_usd)),
            (ReportForm::Json, _) => print_json(&self.json()),
            (ReportForm::Sarif, Some((summary, checked))) => {
                print_json(&sarif::document(&self.subject, summary, checked, &self.left_out))
            }
            (ReportForm::Text | ReportForm::Sarif, None) => Ok(()),
        }
    }

    /// The object for programs. Without an answer, the findings are null: an empty list would say that nothing was found.
    fn json(&self) -> Value {
        let mut object = self.object.clone().unwrap_or_else(|| json!({"status": Status::Completed}));
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, _| !matches!(name.as_str(), "answer" | "changes"));
        }
        let result = self.result.as_ref();
        object["summary"] = json!(result.map(|(summary, _)| summary));
        object["findings"] = json!(result.map(|(_, checked)| &checked.findings));
        object["notInDiff"] = json!(result.map(|(_, checked)| &checked.not_in_diff));
        object["leftOut"] = json!(self.left_out);
        object
    }
}

impl ReviewArgs {
    pub(super) async fn execute(mut self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let form = match (self.json, self.sarif) {
            (true, _) => ReportForm::Json,
            (_, true) => ReportForm::Sarif,
            _ => ReportForm::Text,
        };
        let (input, focus) = self.take_words()?;
        let piped = match input {
            Some(input) => standard_input::read_piped(input)?,
            None => PipedInput::None,
        };
        let (mut profile, client) = place::open(&self.flags())?;
        let client = client.on("review");
        let source = self.source();
        let (subject, is_piped) = match piped {
            PipedInput::Text(text) => (ReviewSubject::from_text(&text).ok_or_else(no_diff)?, true),
            PipedInput::Empty => {
                note("Standard input is empty. To review the uncommitted changes, add --uncommitted.");
                (ReviewSubject::default(), true)
            }
            PipedInput::None => {
                let found = client.changes_to_review(&profile, &folder, self.trust, &source).await;
                (found.map_err(|why| why.into_problem(&folder))?, false)
            }
        };
        if subject.diff.files.is_empty() {
            report::note_left_out(&subject.left_out);
            FinishedReview::without_changes(subject).print(form)?;
            return Ok(CliOutcome::Done);
        }
        let reads = self.trust || client.permissions().trusts(&profile, &folder).await?;
        if !reads {
            note("note: The folder is not trusted, so the model sees only the diff. Use --trust to let it read files.");
        }
        let asking = Attendance::from_approve(ApproveArg::Ask, form != ReportForm::Text);
        local_model::choose(&client, &mut profile, asking == Attendance::AtTheTerminal).await?;
        let said =
            if is_piped { recorded("(diff from standard input)", &focus) } else { recorded(&option(&source), &focus) };
        let manner = Manner {
            attended: asking == Attendance::AtTheTerminal,
            approve: Approve::Ask,
            trust: self.trust,
            ..Manner::default()
        };
        let request = RequestDraft { when_busy: WhenBusy::Exactly(None), ..RequestDraft::new(said, manner) };
        let draft = ReviewDraft { request, focus, form: ReviewForm::Findings, reads };
        let (composed, left_out) = client.compose_review(&profile, &folder, &subject, draft).await?;
        report::note_left_out(&left_out);
        let sent = client.send(SendTo::New { folder }, composed).await?;
        let outcome = follow(&client, &sent, 0, OutputForm::Quiet, asking).await?;
        let review = finish(&client, &sent, outcome, subject, left_out).await?;
        review.print(form)?;
        client.leave(&sent.session).await;
        background::end_with_program(&client).await;
        changes::tidy(&client, profile.limits.keeping).await;
        self.outcome(outcome, &review)
    }

    /// How the review ends: as its request did; then by whether there is an answer, and by the findings.
    fn outcome(&self, outcome: CliOutcome, review: &FinishedReview) -> Result<CliOutcome, Problem> {
        if outcome != CliOutcome::Finished(Status::Completed) {
            return Ok(outcome);
        }
        if review.result.is_none() {
            return Err(Problem::new(
                ProblemKind::NotDone,
                "The model gave no valid findings, so nothing was reviewed.",
            )
            .hint("Try again, or choose another model with --model."));
        }
        let Some(limit) = self.fail_on.map(FindingSeverity::from) else { return Ok(outcome) };
        let severe = review.findings().iter().filter(|finding| finding.severity >= limit).count();
        if severe == 0 {
            return Ok(outcome);
        }
        note(&format!("{} at or above {}.", trimtab_vocab::format::plural(severe, "finding"), limit.name()));
        Ok(CliOutcome::Found)
    }

    /// The words of the user, and whether a diff may come from standard input: `-` asks for one, and an option that names
    /// changes rules it out.
    fn take_words(&mut self) -> Result<(Option<StandardInput>, String), Problem> {
        let mut words = std::mem::take(&mut self.words);
        let is_named = words.last().is_some_and(|word| word == "-");
        if is_named {
            words.pop();
        }
        let names_changes = self.base.is_some() || self.commit.is_some() || self.uncommitted;
        if is_named && names_changes {
            return Err(Problem::new(ProblemKind::Usage, "`-` reads the diff, so no other changes can be named.")
                .hint("Leave `-` out, or leave --base, --commit, and --uncommitted out."));
        }
        let input = match (is_named, names_changes) {
            (true, _) => Some(StandardInput::Named),
            (_, true) => None,
            _ => Some(StandardInput::IfPiped),
        };
        let focus = run::joined(words).map(run::read_prompt).transpose()?.unwrap_or_default();
        Ok((input, focus.trim().to_owned()))
    }

    fn source(&self) -> ReviewSource {
        match (&self.base, &self.commit) {
            (Some(base), _) => ReviewSource::Base(base.clone()),
            (_, Some(commit)) => ReviewSource::Commit(commit.clone()),
            _ => ReviewSource::Uncommitted,
        }
    }

    fn flags(&self) -> Vec<Flag> {
        let flag = |path, option, value: Option<String>| value.map(|value| Flag { path, option, value });
        let budget = self.budget.map(|budget| budget.to_string());
        let flags = [
            flag("model", "--model", self.model.clone()),
            flag("effort", "--effort", self.effort.clone()),
            flag("limits.budget_usd", "--budget", budget),
        ];
        flags.into_iter().flatten().collect()
    }
}

/// Reads from the log what came of the request.
async fn finish(
    client: &Client,
    sent: &Sent,
    outcome: CliOutcome,
    subject: ReviewSubject,
    left_out: Vec<UnreviewedFile>,
) -> Result<FinishedReview, Problem> {
    let mut object = OutcomeObject::default();
    let mut after = 0;
    loop {
        let page = client.sessions().events(&sent.session, after).await?;
        let Some(seq) = page.last().and_then(|event| event.seq) else { break };
        after = seq;
        page.iter()
            .filter(|event| event.request.as_ref() == Some(&sent.request))
            .for_each(|event| object.observe(event));
    }
    let is_complete = outcome == CliOutcome::Finished(Status::Completed);
    let result = object.summary().filter(|_| is_complete).and_then(|answer| subject.check(answer));
    let value = object.value(sent, outcome, true, trimtab_host::now());
    let cost_usd = value["costUsd"].as_f64();
    Ok(FinishedReview { subject, left_out, result, object: Some(value), cost_usd })
}

/// The option that names these changes.
fn option(source: &ReviewSource) -> String {
    match source {
        ReviewSource::Uncommitted => String::new(),
        ReviewSource::Base(base) => format!("--base {base}"),
        ReviewSource::Commit(commit) => format!("--commit {commit}"),
    }
}

/// What the session has as the message of the user: what would start the same review in the terminal UI.
fn recorded(option: &str, focus: &str) -> String {
    ["/review", option, focus].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn no_diff() -> Problem {
    Problem::new(ProblemKind::Usage, "Standard input is not a diff: no file and hunk (`@@ … @@`) was found in it.")
        .hint("Pipe a unified diff: git diff main... | trimtab review")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_recorded_as_what_would_be_typed() {
        assert_eq!(recorded(&option(&ReviewSource::Uncommitted), ""), "/review");
        assert_eq!(recorded(&option(&ReviewSource::Base("main".into())), "the tests"), "/review --base main the tests");
    }

    #[test]
    fn without_an_answer_the_findings_are_null_and_never_empty() {
        let subject = ReviewSubject::default;
        let failed =
            FinishedReview { subject: subject(), left_out: Vec::new(), result: None, object: None, cost_usd: None };
        assert_eq!((&failed.json()["findings"], &failed.json()["notInDiff"]), (&Value::Null, &Value::Null));
        let empty = FinishedReview::without_changes(subject());
        assert_eq!((&empty.json()["findings"], &empty.json()["status"]), (&json!([]), &json!("completed")));
    }
}
