//! `trimtab ask`: the assistant over your tasks.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Args, ValueEnum};
use trimtab_host::config::{Flag, Profile};
use trimtab_host::{ApplyOperations, Client, Manner, NO_FOLDER, NotApplied, RequestDraft, SendTo, Sent, TaskList};
use trimtab_vocab::event::{ProposalFact, ProposalKind, RequestFact, Status};
use trimtab_vocab::{
    Applied, Applying, AssistantRequest, Fact, Mode, Operation, Previewed, Problem, ProblemKind, RequestId, SessionId,
    TaskAuthor, TaskCounts, Via,
};

use super::follow::{Attendance, OutputForm, follow};
use super::output::{note, note_part, print, print_json};
use super::run::{ApproveArg, dollars, joined, read_prompt};
use super::tasks::{listed, not_applied};
use super::{CliOutcome, keyboard, local_model, place};

const EXAMPLES: &str = "\
Examples:
  trimtab ask \"What is on this week?\"
  trimtab ask \"Move everything today to tomorrow\"    propose changes
  trimtab ask --apply 1,3                            apply the first and the third";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AskArgs {
    /// Question or request, in quotes (`-` reads standard input)
    #[arg(value_name = "PROMPT", required_unless_present_any = ["apply", "reject"])]
    words: Vec<OsString>,
    /// Set the mode of the request
    #[arg(long, value_enum, default_value = "auto")]
    mode: AskMode,
    /// Apply the last proposal, or only the operations with these numbers
    #[arg(long, value_name = "NUMBERS", num_args = 0..=1, default_missing_value = "all", conflicts_with_all = ["words", "reject"])]
    apply: Option<String>,
    /// Reject the last proposal
    #[arg(long, conflicts_with = "words")]
    reject: bool,
    /// Confirm an --apply that touches many tasks
    #[arg(long, requires = "apply")]
    yes: bool,
    /// Print events as JSON lines and nothing else (the last line has the result)
    #[arg(long)]
    json: bool,
    /// Use this model
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Limit the cost of the session in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Choose how to handle proposed changes
    #[arg(long, value_enum, default_value = "ask")]
    approve: AskApprove,
}

/// The modes of `run`, with what they mean for tasks.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AskMode {
    /// Answer, propose changes, or ask a question, as the request needs
    Auto,
    /// Answer without proposing changes
    Chat,
    /// Propose changes
    Plan,
}

impl From<AskMode> for Mode {
    fn from(mode: AskMode) -> Self {
        match mode {
            AskMode::Auto => Self::Auto,
            AskMode::Chat => Self::Chat,
            AskMode::Plan => Self::Plan,
        }
    }
}

/// The values of `run --approve`, with what they mean for tasks.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AskApprove {
    /// Ask at the terminal which changes to apply, or keep them for --apply
    Ask,
    /// Apply all changes except deletes
    Auto,
    /// Reject all changes
    Deny,
}

impl From<AskApprove> for ApproveArg {
    fn from(approve: AskApprove) -> Self {
        match approve {
            AskApprove::Ask => Self::Ask,
            AskApprove::Auto => Self::Auto,
            AskApprove::Deny => Self::Deny,
        }
    }
}

impl AskArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let mut flags = Vec::new();
        if let Some(model) = &self.model {
            flags.push(Flag { path: "model", option: "--model", value: model.clone() });
        }
        if let Some(budget) = self.budget {
            flags.push(Flag { path: "limits.budget_usd", option: "--budget", value: budget.to_string() });
        }
        let (mut profile, client) = place::open(&flags)?;
        let tasks = client.tasks(&profile.tasks)?;
        if self.apply.is_some() || self.reject {
            return self.decide(&client, &tasks).await;
        }
        let prompt = joined(self.words).unwrap_or_default();
        // What comes from a pipe nobody may have said of themselves.
        let typed = prompt != "-";
        let text = read_prompt(prompt)?;
        let approve = ApproveArg::from(self.approve);
        let asking = Attendance::from_approve(approve, self.json);
        let attended = asking == Attendance::AtTheTerminal;
        local_model::choose(&client, &mut profile, attended).await?;
        let manner = Manner { attended, approve: approve.into(), piped: !typed, ..Manner::default() };
        let draft = RequestDraft { mode: self.mode.into(), literal: true, ..RequestDraft::new(text, manner) };
        let say = client.compose(&profile, NO_FOLDER, draft).await?;
        let ask = AssistantRequest { via: Via::Cli, ..AssistantRequest::default() };
        let sent = client.send(SendTo::Assistant(Box::new(ask)), say).await?;
        let outcome = follow(&client, &sent, 0, OutputForm::from_json_flag(self.json), asking).await?;
        offer(&client, &profile, &sent, ConfirmBy { approve, json: self.json, asking }).await?;
        Ok(outcome)
    }

    /// What was proposed last is applied, or not.
    async fn decide(self, client: &Client, tasks: &TaskList) -> Result<CliOutcome, Problem> {
        let Some(proposed) = latest(client).await? else {
            return Err(Problem::new(ProblemKind::NotFound, "There is no pending proposal.")
                .hint("Ask for a change first, for example `trimtab ask \"Move everything today to tomorrow\"`."));
        };
        let Some(chosen) = self.apply else {
            client.requests().decide_tasks(0).await;
            settle(client, &proposed).await?;
            note("Nothing was changed.");
            return Ok(CliOutcome::Done);
        };
        let chosen = choose(&proposed.operations, &chosen)?;
        let applied = apply(tasks, &proposed, &chosen, self.yes).await.map_err(not_applied)?;
        told(client, &proposed, &applied, self.json).await?;
        Ok(CliOutcome::Done)
    }
}

/// Operations that wait to be applied.
struct PendingOperations {
    session: SessionId,
    request: RequestId,
    operations: Vec<Previewed>,
}

/// Who says whether they are.
pub(super) struct ConfirmBy {
    pub(super) approve: ApproveArg,
    pub(super) json: bool,
    pub(super) asking: Attendance,
}

/// Shows what a request proposes, and applies what the person wants of it. A request that proposes no changes of
/// tasks is left alone.
pub(super) async fn offer(client: &Client, profile: &Profile, sent: &Sent, how: ConfirmBy) -> Result<(), Problem> {
    let Some(proposed) = proposed_by(client, sent).await? else { return Ok(()) };
    let valid = proposed.operations.iter().filter(|one| one.valid).count();
    if !how.json && !proposed.operations.is_empty() {
        listed(&proposed.operations).lines().for_each(note);
    }
    if valid == 0 {
        return Ok(());
    }
    let auto =
        how.approve == ApproveArg::Auto || profile.tasks.applying == Applying::Auto && how.approve != ApproveArg::Deny;
    let tasks = client.tasks(&profile.tasks)?;
    let chosen = match how.asking {
        _ if how.approve == ApproveArg::Deny => {
            client.requests().decide_tasks(0).await;
            return settle(client, &proposed).await;
        }
        _ if auto => without_deletes(&proposed.operations, how.json),
        Attendance::AtTheTerminal => ask_which(&proposed.operations).await,
        _ => {
            if !how.json {
                note(
                    "Nothing has changed yet. `trimtab ask --apply` applies all, `--apply 1,3` applies some, and `--reject` discards all.",
                );
            }
            return Ok(());
        }
    };
    if chosen.is_empty() {
        if !auto {
            client.requests().decide_tasks(0).await;
            settle(client, &proposed).await?;
            note("Nothing was changed.");
        }
        return Ok(());
    }
    let applied = match apply(&tasks, &proposed, &chosen, false).await {
        Err(NotApplied::Unconfirmed(dry_run)) if !auto => {
            dry_run.warnings.iter().for_each(|warning| note(warning));
            let said = read_line("Type `yes` to confirm: ").await;
            if said.as_deref().map(str::trim) != Some("yes") {
                client.requests().decide_tasks(0).await;
                settle(client, &proposed).await?;
                note("Nothing was changed.");
                return Ok(());
            }
            apply(&tasks, &proposed, &chosen, true).await
        }
        other => other,
    };
    told(client, &proposed, &applied.map_err(not_applied)?, how.json).await
}

/// The last proposal of a request, as its log has it.
async fn proposed_by(client: &Client, sent: &Sent) -> Result<Option<PendingOperations>, Problem> {
    let (mut found, mut done, mut after) = (None, false, 0);
    loop {
        let page = client.sessions().events(&sent.session, after).await?;
        let Some(last) = page.last().and_then(|event| event.seq) else { break };
        after = last;
        for event in page.iter().filter(|event| event.request.as_ref() == Some(&sent.request)) {
            match &event.fact {
                Fact::Proposal(ProposalFact::Opened { kind: ProposalKind::Tasks, operations, .. }) => {
                    let read = |one: &serde_json::Value| serde_json::from_value(one.clone()).ok();
                    found = Some(operations.iter().filter_map(read).collect::<Vec<Previewed>>());
                }
                Fact::Proposal(ProposalFact::Resolved { .. }) => found = None,
                Fact::Request(RequestFact::Finished { status, .. }) => done = *status == Status::Completed,
                _ => {}
            }
        }
    }
    let (session, request) = (sent.session.clone(), sent.request.clone());
    Ok(found.filter(|_| done).map(|operations| PendingOperations { session, request, operations }))
}

/// What was proposed last of all, if nobody has decided on it.
async fn latest(client: &Client) -> Result<Option<PendingOperations>, Problem> {
    let jobs = client.requests().list(true).await?;
    for job in jobs.into_iter().filter(|job| job.folder.is_empty()).take(20) {
        let sent = Sent { session: job.session, request: job.request };
        if let Some(proposed) = proposed_by(client, &sent).await? {
            return Ok(Some(proposed));
        }
    }
    Ok(None)
}

/// The operations that numbers name.
fn choose(operations: &[Previewed], numbers: &str) -> Result<Vec<Operation>, Problem> {
    let numbers = numbers.trim();
    let all = || operations.iter().filter(|one| one.valid).filter_map(|one| one.op.operation().cloned()).collect();
    if numbers == "all" {
        return Ok(all());
    }
    let wrong = |what: String| Problem::new(ProblemKind::Usage, what).hint("Nothing was changed. Name them like 1,3.");
    let mut chosen = BTreeSet::new();
    for number in numbers.split([',', ' ']).filter(|number| !number.is_empty()) {
        let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let one = at.and_then(|at| operations.get(at).map(|one| (at, one)));
        match one {
            Some((at, one)) if one.valid => drop(chosen.insert(at)),
            Some(_) => return Err(wrong(format!("Operation {number} cannot be applied."))),
            None => return Err(wrong(format!("There is no operation {number}."))),
        }
    }
    Ok(chosen.iter().filter_map(|at| operations[*at].op.operation().cloned()).collect())
}

/// Whatever is not a delete: those are only ever a person's own doing.
fn without_deletes(operations: &[Previewed], json: bool) -> Vec<Operation> {
    let valid: Vec<Operation> =
        operations.iter().filter(|one| one.valid).filter_map(|one| one.op.operation().cloned()).collect();
    let chosen: Vec<Operation> = valid.iter().filter(|operation| !operation.is_delete()).cloned().collect();
    if chosen.len() < valid.len() && !json {
        note("Deletes are not applied automatically. Name their numbers with `trimtab ask --apply`.");
    }
    chosen
}

async fn ask_which(operations: &[Previewed]) -> Vec<Operation> {
    loop {
        let Some(line) = read_line("Apply? y: all valid ones, 1,3: only these, n: none [n] ").await else {
            return Vec::new();
        };
        let answer = match line.trim().to_lowercase().as_str() {
            "" | "n" | "no" | "none" => return Vec::new(),
            "y" | "yes" | "a" | "all" => choose(operations, "all"),
            numbers => choose(operations, numbers),
        };
        match answer {
            Ok(chosen) => return chosen,
            Err(problem) => note(&problem.message),
        }
    }
}

/// A line from the terminal; none at the end of input, which is no answer. What was typed before the question was
/// there does not answer it.
async fn read_line(question: &str) -> Option<String> {
    keyboard::settle().await;
    note_part(question);
    keyboard::line().await
}

/// Applies what was chosen, under a name of its own: whoever was killed between this and the record of it, and
/// applies again, changes nothing twice.
async fn apply(
    tasks: &TaskList,
    proposed: &PendingOperations,
    chosen: &[Operation],
    confirmed: bool,
) -> Result<Applied, NotApplied> {
    let is_chosen = |one: &Previewed| one.op.operation().is_some_and(|operation| chosen.contains(operation));
    let ticks: String = proposed.operations.iter().map(|one| if is_chosen(one) { 'x' } else { '-' }).collect();
    let key = Some(format!("ask-{}-{ticks}{}", proposed.request, if confirmed { "-yes" } else { "" }));
    let operations = chosen.iter().map(|operation| serde_json::to_value(operation).unwrap_or_default()).collect();
    tasks.apply(ApplyOperations { operations, by: TaskAuthor::Assistant, key, confirmed }).await
}

/// Says what was applied, to the person and to the record.
async fn told(client: &Client, proposed: &PendingOperations, applied: &Applied, json: bool) -> Result<(), Problem> {
    client.requests().decide_tasks(applied.results.iter().filter(|result| result.ok).count()).await;
    settle(client, proposed).await?;
    if json {
        return print_json(applied);
    }
    let TaskCounts { created, updated, deleted, completed } = applied.summary;
    let failed = applied.results.iter().filter(|result| !result.ok).count();
    let mut line = format!("{created} created, {updated} updated, {completed} completed, {deleted} deleted");
    if failed > 0 {
        line += &format!("; {failed} failed, because the tasks have changed since");
    }
    print(&format!("{line}. `trimtab tasks undo` undoes it.\n"))
}

/// Waits until the record has it: the program may end right after.
async fn settle(client: &Client, proposed: &PendingOperations) -> Result<(), Problem> {
    let mut watch = client.watch(&proposed.session, 0);
    let resolved = async {
        loop {
            let event = watch.next().await?;
            if event.request.as_ref() == Some(&proposed.request)
                && matches!(&event.fact, Fact::Proposal(ProposalFact::Resolved { .. }))
            {
                return Ok(());
            }
        }
    };
    // Another process may run the session; it will take it up.
    tokio::time::timeout(std::time::Duration::from_secs(5), resolved).await.unwrap_or(Ok(()))
}
