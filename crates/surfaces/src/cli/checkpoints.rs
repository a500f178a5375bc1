//! `trimtab checkpoints` and `trimtab answer`: what waits for a person.

use std::path::{Path, PathBuf};

use clap::Args;
use trimtab_host::{Answered, Client, Sent};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, CheckpointKind};
use trimtab_vocab::format;
use trimtab_vocab::{CheckpointId, Control, Event, Fact, Problem, ProblemKind, SessionId, Time};

use super::ask::{self, ConfirmBy};
use super::changes::named_parts;
use super::follow::{Attendance, OutputForm, choice_line, follow};
use super::output::{print, print_json};
use super::run::ApproveArg;
use super::{CliOutcome, place};
use crate::words::{details, shell_hints, subtasks};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Checkpoints {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Checkpoints {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let open = client.requests().checkpoints().await?;
        let now = trimtab_host::now();
        for event in &open {
            if self.json {
                print_json(event)?;
            } else {
                question_lines(event, now).iter().try_for_each(|text| print(text))?;
            }
        }
        match open.is_empty() {
            true if !self.json => print("There are no pending questions.\n")?,
            false if !self.json => print(
                "\nAnswer with: trimtab answer CHECKPOINT CHOICE. If only one is pending in this folder, CHOICE is enough.\n",
            )?,
            _ => {}
        }
        Ok(CliOutcome::Done)
    }
}

/// An open question with its answers.
pub(super) fn question_lines(event: &Event, now: Time) -> Option<String> {
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, choices, ask, worker, .. }) = &event.fact else {
        return None;
    };
    let choices: String = choices.iter().map(|choice| format!("{}\n", choice_line(choice))).collect();
    let lines = details(ask).into_iter().chain(shell_hints(checkpoint, ask));
    let more: String = lines.map(|line| format!("  {line}\n")).collect();
    let whose = worker.as_deref().map(|worker| format!("  {}\n", subtasks::asks(worker))).unwrap_or_default();
    Some(format!("{checkpoint}  {}\n{whose}  {title}\n{more}{choices}", format::age(event.time, now)))
}

const EXAMPLES: &str = "\
Examples:
  trimtab checkpoints                        list all pending questions
  trimtab answer allow                       answer the only pending question
  trimtab answer wait --text \"Use src/\"      tell the model what to do instead
  trimtab answer allow --only src/a.rs:2     allow only the second hunk of a change";

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
#[command(after_help = EXAMPLES)]
pub(super) struct AnswerArgs {
    /// Checkpoint from `trimtab checkpoints` [default: the only pending one in this folder]
    checkpoint: Option<CheckpointId>,
    /// Choice to make
    choice: String,
    /// Add text to the choice (for several questions, a JSON object)
    #[arg(long)]
    text: Option<String>,
    /// Allow only this file or hunk of the proposed change (repeatable)
    #[arg(long, value_name = "PATH[:HUNK]", conflicts_with_all = ["text", "edits"])]
    only: Vec<String>,
    /// Edit the steps of a plan with this JSON file (`-` reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    edits: Option<PathBuf>,
    /// Choose what follows the choice `reject`
    #[arg(long, value_parser = ["replan", "cancel"])]
    next: Option<String>,
    /// Print events as JSON lines and nothing else
    #[arg(long)]
    json: bool,
    /// Choose how to handle further approval prompts
    #[arg(long, value_enum, default_value = "ask")]
    approve: ApproveArg,
}

impl AnswerArgs {
    pub(super) async fn execute(mut self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("answer");
        let event = match &self.checkpoint {
            Some(wanted) => find(&client, wanted).await?,
            None => find_only(&client).await?,
        };
        let (Some(request), Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, choices, ask, .. })) =
            (&event.request, &event.fact)
        else {
            return Err(Problem::new(ProblemKind::Internal, "This checkpoint does not belong to a request."));
        };
        // `reject` is one word for two of a plan's choices.
        let rejects = *kind == CheckpointKind::Plan && self.choice == "reject";
        match self.next.take() {
            next if rejects => self.choice = next.unwrap_or_else(|| "replan".into()),
            Some(_) => {
                return Err(Problem::new(ProblemKind::Usage, "--next goes with the choice `reject` of a plan."));
            }
            None => {}
        }
        // A part is applied; that is what allowing it means.
        let is_offered = choices.iter().any(|choice| choice.id == "apply");
        if !self.only.is_empty() && self.choice == "apply" && !is_offered {
            self.choice = "allow".into();
        }
        if !choices.iter().any(|choice| choice.id == self.choice) {
            let known: Vec<&str> = choices.iter().map(|choice| choice.id.as_str()).collect();
            return Err(Problem::new(ProblemKind::Usage, format!("`{}` is not one of the choices.", self.choice))
                .hint(format!("Choose one of: {}.", known.join(", "))));
        }
        if let (Some(text), Ask::Budget { spent_usd: spent, .. }) = (&self.text, ask) {
            let wanted = text.trim().trim_start_matches('$').parse::<f64>().ok();
            if wanted.is_none_or(|wanted| !wanted.is_finite() || wanted <= *spent) {
                return Err(Problem::new(ProblemKind::Usage, format!("Invalid budget `{text}`.")).hint(format!(
                    "Give a number of dollars above the {} already spent.",
                    format::ExactDollars(*spent)
                )));
            }
        }
        let text = match &self.edits {
            Some(file) => Some(read_edits(file, &self.choice)?),
            None => self.text,
        };
        if !self.only.is_empty() && self.choice != "allow" {
            return Err(Problem::new(ProblemKind::Usage, "--only goes with the choice `allow` of a proposed change."));
        }
        let parts = named_parts(&self.only)?;
        if !parts.is_empty() {
            client.requests().check_parts(&event.session, checkpoint, &parts).await?;
        }
        let sent = Sent { session: event.session.clone(), request: request.clone() };
        let after = last_seq(&client, &sent.session).await?;
        // Somebody else may have answered it meanwhile, and all that came of it may be there already: nothing would follow.
        find(&client, checkpoint).await?;
        let asking = Attendance::from_approve(self.approve, self.json);
        let action = Control::Adjust {
            approve: Some(self.approve.into()),
            attended: Some(asking == Attendance::AtTheTerminal),
            max_steps: None,
            trusted: None,
        };
        client.requests().control(&sent.session, Some(sent.request.clone()), action).await?;
        if parts.is_empty() {
            let answer = Answered { checkpoint: checkpoint.clone(), choice: self.choice, text, by: "user".into() };
            client.requests().answer(&sent.session, answer).await?;
        } else {
            client.requests().apply_parts(&sent.session, checkpoint, parts, "user").await?;
        }
        let outcome = follow(&client, &sent, after, OutputForm::from_json_flag(self.json), asking).await?;
        ask::offer(&client, &profile, &sent, ConfirmBy { approve: self.approve, json: self.json, asking }).await?;
        Ok(outcome)
    }
}

/// Edits of a plan; what is wrong with the steps themselves, the engine says.
fn read_edits(file: &Path, choice: &str) -> Result<String, Problem> {
    if choice != "modify" {
        return Err(Problem::new(ProblemKind::Usage, "--edits goes with the choice `modify` of a plan."));
    }
    let shown = file.display();
    let read =
        if file == Path::new("-") { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    let text = read.map_err(|error| Problem::new(ProblemKind::Usage, format!("{shown} cannot be read: {error}.")))?;
    let is_list = matches!(serde_json::from_str(&text), Ok(serde_json::Value::Array(_) | serde_json::Value::Object(_)));
    match is_list {
        true => Ok(text),
        false => Err(Problem::new(ProblemKind::Usage, format!("{shown} is not a list of steps.")).hint(
            r#"For example: [{"op":"remove","step":2}], or the whole list: [{"id":"s1"},{"title":"A new step"}]"#,
        )),
    }
}

async fn find(client: &Client, wanted: &CheckpointId) -> Result<Event, Problem> {
    let is_wanted = |event: &Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if checkpoint == wanted);
    client.requests().checkpoints().await?.into_iter().find(is_wanted).ok_or_else(|| {
        Problem::new(ProblemKind::NotFound, format!("There is no pending checkpoint {wanted}."))
            .hint("It may have been answered elsewhere. `trimtab checkpoints` lists pending questions.")
    })
}

/// Pending questions that a hint names.
const IDS_NAMED: usize = 5;

/// What waits in this folder, if it is one thing.
async fn find_only(client: &Client) -> Result<Event, Problem> {
    let folder = place::folder(None)?;
    let mut open = Vec::new();
    for event in client.requests().checkpoints().await? {
        if client.sessions().get(&event.session).await?.folder == folder {
            open.push(event);
        }
    }
    let hint = "`trimtab checkpoints` lists pending questions in every folder. Answer with `trimtab answer CHECKPOINT CHOICE`.";
    match (open.pop(), open.len()) {
        (Some(event), 0) => Ok(event),
        (None, _) => {
            Err(Problem::new(ProblemKind::NotFound, "There is no pending question in this folder.").hint(hint))
        }
        (Some(last), others) => {
            let message = format!("{} questions are pending in this folder. Name one of them.", others + 1);
            let id = |event: &Event| match &event.fact {
                Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) => Some(checkpoint.to_string()),
                _ => None,
            };
            let ids: Vec<String> = open.iter().chain([&last]).rev().filter_map(id).take(IDS_NAMED).collect();
            let hint = format!("Newest first: {}. {hint}", ids.join(", "));
            Err(Problem::new(ProblemKind::Usage, message).hint(hint))
        }
    }
}

/// What has happened before the answer is not shown again.
pub(super) async fn last_seq(client: &Client, session: &SessionId) -> Result<u64, Problem> {
    let mut last = 0;
    loop {
        match client.sessions().events(session, last).await?.last() {
            Some(event) => last = event.seq.unwrap_or(last),
            None => return Ok(last),
        }
    }
}
