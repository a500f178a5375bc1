//! `trimtab run`: one request.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;
use trimtab_host::config::Flag;
use trimtab_host::{Client, LONGEST_TEXT, Manner, PillMiss, RequestDraft, SendTo, WhenBusy};
use trimtab_vocab::{Autonomy, Mode, Problem, ProblemKind, SessionId, SubtaskStart, WhileRunning};

use super::background;
use super::changes;
use super::follow::{Attendance, OutputForm, follow};
use super::handoff::quoted;
use super::number::whole;
use super::output::note;
use super::standard_input::{self, StandardInput};
use super::{CliOutcome, local_model, place};
use crate::picture;
use crate::words;

const EXAMPLES: &str = "\
Examples:
  trimtab run \"Why does the build fail?\"          print the answer to standard output
  git diff | trimtab run \"Review this\"            add piped input to the request
  trimtab run --output json \"Fix the test\"        print one JSON object at the end
  trimtab run --continue \"Now add a test\"         continue the latest session
  trimtab run --mode plan \"Add a dark theme\"      approve a plan before anything changes
  trimtab run --agent reviewer \"Check my diff\"    hand the request to an agent
  trimtab run --schema out.json \"List all TODOs\"  print one JSON value that fits the schema
  trimtab run --trust --approve auto --budget 0.50 \"Fix the failing test\"  run unattended";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    /// The request, in quotes (`-` reads it from standard input; other piped input joins the request)
    #[arg(value_name = "PROMPT")]
    words: Vec<OsString>,
    /// Choose what to print to standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputArg,
    /// Print events as JSON lines and nothing else (same as `--output events`)
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// Set the mode of the request
    #[arg(long, value_enum, default_value = "auto")]
    mode: ModeArgument,
    /// Use this model
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Set how much the model thinks before it answers
    #[arg(long, value_name = "LEVEL", value_parser = ["auto", "off", "minimal", "low", "medium", "high", "max"])]
    effort: Option<String>,
    #[command(flatten)]
    workers: WorkerArgs,
    /// Continue this session
    #[arg(long, value_name = "ID", conflicts_with = "continue_latest")]
    session: Option<SessionId>,
    /// Continue the latest session in this folder
    #[arg(long = "continue")]
    continue_latest: bool,
    /// Attach an image (repeatable)
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// Limit the number of model calls
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    max_steps: Option<u32>,
    /// Limit the cost of the session in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Trust the folder and its instruction files for this run
    #[arg(long)]
    trust: bool,
    /// Choose how to handle approval prompts
    #[arg(long, value_enum, default_value = "ask")]
    approve: ApproveArg,
    /// Set how much the session does without asking
    #[arg(long, value_enum, value_name = "LEVEL")]
    autonomy: Option<AutonomyArg>,
    /// Print only one JSON value that is valid against this JSON Schema
    #[arg(long, value_name = "FILE", conflicts_with = "steer")]
    schema: Option<PathBuf>,
    /// Send the text to the running request of the session
    #[arg(long, conflicts_with_all = ["queue", "replace"])]
    steer: bool,
    /// Queue the request behind the running one
    #[arg(long, conflicts_with = "replace")]
    queue: bool,
    /// Cancel the running request of the session and start this one
    #[arg(long)]
    replace: bool,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Who works on the request.
#[derive(Debug, Args)]
struct WorkerArgs {
    /// Break the request down into sub-tasks for several workers
    #[arg(long, value_enum, value_name = "HOW")]
    subtasks: Option<SubtasksArgument>,
    /// Hand the request to this agent, which works as a sub-task
    #[arg(long, value_name = "NAME", conflicts_with = "subtasks")]
    agent: Option<String>,
}

/// What goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputArg {
    /// Print the answer
    Text,
    /// Print one JSON object at the end: answer, changes, cost, session, and status
    Json,
    /// Print every event as a line of JSON
    Events,
}

/// How approval prompts are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ApproveArg {
    /// Prompt at the terminal, or exit with code 3 or 4 if there is none
    Ask,
    /// Approve everything the policy allows to be auto-approved
    Auto,
    /// Deny every prompt
    Deny,
}

/// How much a session does without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum AutonomyArg {
    /// Ask before edits and before every command
    Careful,
    /// Apply edits, run read-only commands, and ask before other commands
    Standard,
    /// Run sandboxed commands that undo covers
    Trusting,
}

impl From<AutonomyArg> for Autonomy {
    fn from(level: AutonomyArg) -> Self {
        match level {
            AutonomyArg::Careful => Self::Careful,
            AutonomyArg::Standard => Self::Standard,
            AutonomyArg::Trusting => Self::Trusting,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ModeArgument {
    /// Do what the request needs
    Auto,
    /// Answer without tools
    Chat,
    /// Read and plan without changing anything
    Plan,
}

/// How a request is broken down into sub-tasks.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum SubtasksArgument {
    /// Run independent sub-tasks at the same time, and the others after them
    Parallel,
    /// Run the sub-tasks one after the other
    Sequential,
    /// Run all sub-tasks at once, and resolve conflicts at the end
    Loose,
    /// Show the plan, and ask how to run it
    Ask,
    /// Run the request as one task
    Off,
}

impl From<SubtasksArgument> for SubtaskStart {
    fn from(argument: SubtasksArgument) -> Self {
        match argument {
            SubtasksArgument::Parallel => Self::Parallel,
            SubtasksArgument::Sequential => Self::Sequential,
            SubtasksArgument::Loose => Self::Loose,
            SubtasksArgument::Ask => Self::Ask,
            SubtasksArgument::Off => Self::Off,
        }
    }
}

impl RunArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        // What comes from a pipe, or from the end of another session, nobody may have said of themselves.
        let json = self.json || self.output == OutputArg::Events;
        let prompt = prompt_of(self.words);
        // A text calls a pill only if somebody typed how it begins.
        let literal = !matches!(prompt, GivenPrompt::Typed { .. });
        let mut typed_bytes = None;
        let (said, typed) = match prompt {
            GivenPrompt::None => (None, false),
            GivenPrompt::Input => (Some(read_prompt("-".into())?), false),
            GivenPrompt::Typed { text, input } => {
                let text = read_prompt(text)?;
                match standard_input::read(input)? {
                    Some(input) => {
                        typed_bytes = Some(text.trim_end().len());
                        (Some(standard_input::joined(&text, &input)?), false)
                    }
                    None => (Some(text), true),
                }
            }
        };
        let goes_on = self.continue_latest || self.session.is_some();
        if said.as_ref().map_or(!goes_on, |said| said.trim().is_empty()) {
            return Err(empty());
        }
        let mut flags = Vec::new();
        if let Some(model) = self.model {
            flags.push(Flag { path: "model", option: "--model", value: model });
        }
        if let Some(effort) = self.effort {
            flags.push(Flag { path: "effort", option: "--effort", value: effort });
        }
        if let Some(steps) = self.max_steps {
            flags.push(Flag { path: "limits.steps", option: "--max-steps", value: steps.to_string() });
        }
        if let Some(budget) = self.budget {
            flags.push(Flag { path: "limits.budget_usd", option: "--budget", value: budget.to_string() });
        }
        let images = self.image.iter().map(|file| picture::read(file)).collect::<Result<_, _>>()?;
        let (mut profile, client) = place::open(&flags)?;
        let client = client.on("run");
        let keeping = profile.limits.keeping;
        let ask = Attendance::from_approve(self.approve, json);
        let mode = self.mode.into();
        let session = match self.session {
            Some(session) => Some(session),
            None if self.continue_latest => Some(latest_session(&client, &folder).await?),
            None => None,
        };
        let text = match said {
            Some(text) => text,
            None => prefilled(&client, session.as_ref()).await?,
        };
        let folder = match &session {
            Some(session) => folder_of(&client, session).await?,
            None => folder,
        };
        let attended = ask == Attendance::AtTheTerminal;
        local_model::choose(&client, &mut profile, attended).await?;
        let schema = self.schema.as_deref().map(read_schema).transpose()?;
        let form = match self.output {
            OutputArg::Json => OutputForm::Object { has_schema: schema.is_some() },
            OutputArg::Text | OutputArg::Events => OutputForm::new(json, schema.is_some()),
        };
        let (approve, trust) = (self.approve.into(), self.trust);
        let subtasks = self.workers.subtasks.map(SubtaskStart::from);
        let autonomy = self.autonomy.map(Autonomy::from);
        let (agent, piped) = (self.workers.agent, !typed);
        let manner = Manner {
            attended,
            approve,
            trust,
            autonomy,
            schema,
            subtasks,
            agent,
            piped,
            typed: typed_bytes,
            ..Manner::default()
        };
        let when_busy = match (self.steer, self.queue, self.replace) {
            (true, ..) => WhenBusy::Exactly(Some(WhileRunning::Steer)),
            (_, true, _) => WhenBusy::Exactly(Some(WhileRunning::Queue)),
            (.., true) => WhenBusy::Exactly(Some(WhileRunning::Replace)),
            _ => WhenBusy::AsConfigured,
        };
        let draft = RequestDraft { mode, images, when_busy, literal, ..RequestDraft::new(text, manner) };
        let say = client.compose(&profile, &folder, draft).await?;
        if let Some(miss) = say.pill_miss() {
            note(pill_note(miss).as_ref());
        }
        let target = session.map_or(SendTo::New { folder }, SendTo::Session);
        let sent = client.send(target, say).await?;
        let outcome = follow(&client, &sent, 0, form, ask).await?;
        client.leave(&sent.session).await;
        background::end_with_program(&client).await;
        changes::tidy(&client, keeping).await;
        Ok(outcome)
    }
}

/// The JSON Schema in a file.
fn read_schema(file: &Path) -> Result<Value, Problem> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Problem::new(ProblemKind::Usage, format!("The schema {} cannot be read: {error}.", file.display()))
            .hint("Check the path that --schema names.")
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Problem::new(ProblemKind::Usage, format!("The schema {} is not JSON: {error}.", file.display()))
            .hint("Write a JSON Schema, for example {\"type\": \"object\", \"properties\": {…}}.")
    })
}

/// Words that look like a pill and call none go to the model unchanged; the person should know.
fn pill_note(miss: &PillMiss) -> Cow<'static, str> {
    match miss {
        PillMiss::Almost(name) => format!("note: Unknown pill, sent as plain text. Did you mean /{name}?").into(),
        PillMiss::Untrusted => {
            "note: Unknown pill, sent as plain text. Pills of an untrusted folder are not read.".into()
        }
    }
}

/// What the input of a session begins with, which a person takes as it is by saying nothing else.
async fn prefilled(client: &Client, session: Option<&SessionId>) -> Result<String, Problem> {
    let prefill = match session {
        Some(session) => client.sessions().prefill(session).await?,
        None => None,
    };
    let text = prefill.ok_or_else(empty)?;
    note(&format!("Input from the earlier session:\n{}", quoted(&text)));
    Ok(text)
}

async fn folder_of(client: &Client, session: &SessionId) -> Result<String, Problem> {
    let found = client.sessions().list(None).await?.into_iter().find(|row| row.id == *session);
    found.map(|row| row.folder).ok_or_else(|| {
        Problem::new(ProblemKind::NotFound, words::no_session(session))
            .hint("`trimtab sessions list --all` lists all sessions.")
    })
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Auto => Self::Auto,
            ModeArgument::Chat => Self::Chat,
            ModeArgument::Plan => Self::Plan,
        }
    }
}

impl From<ApproveArg> for trimtab_vocab::Approve {
    fn from(approve: ApproveArg) -> Self {
        match approve {
            ApproveArg::Ask => Self::Ask,
            ApproveArg::Auto => Self::Auto,
            ApproveArg::Deny => Self::Deny,
        }
    }
}

async fn latest_session(client: &Client, folder: &str) -> Result<SessionId, Problem> {
    match client.sessions().latest(folder).await? {
        Some(row) => Ok(row.id),
        None => {
            Err(Problem::new(ProblemKind::Usage, words::NO_SESSION_TO_CONTINUE).hint("Omit --continue to start one."))
        }
    }
}

/// Where a request comes from.
enum GivenPrompt {
    None,
    /// All of it from standard input.
    Input,
    /// From the arguments, with what standard input has, if it has something.
    Typed {
        text: OsString,
        input: StandardInput,
    },
}

/// A minus at the end of a request asks for standard input in so many words.
fn prompt_of(mut words: Vec<OsString>) -> GivenPrompt {
    let named = words.len() > 1 && words.last().is_some_and(|word| word == "-");
    if named {
        words.pop();
    }
    let input = if named { StandardInput::Named } else { StandardInput::IfPiped };
    match joined(words) {
        None => GivenPrompt::None,
        Some(text) if text == "-" => GivenPrompt::Input,
        Some(text) => GivenPrompt::Typed { text, input },
    }
}

/// Words that were given without quotation marks are one request all the same.
pub(super) fn joined(words: Vec<OsString>) -> Option<OsString> {
    words.into_iter().reduce(|mut all, word| {
        all.push(" ");
        all.push(word);
        all
    })
}

fn empty() -> Problem {
    Problem::new(ProblemKind::Usage, "The request is empty.")
        .hint("Give a request, for example: trimtab run \"Why does the build fail?\"")
}

/// An amount of money, as an option takes it; the settings know what is too little.
pub(super) fn dollars(text: &str) -> Result<f64, String> {
    text.trim_start_matches('$').parse().map_err(|_| "expected dollars, such as 0.50".to_owned())
}

pub(super) fn read_prompt(given: OsString) -> Result<String, Problem> {
    let bytes = if given == "-" {
        let mut bytes = Vec::new();
        // One byte more than is allowed tells that there is more.
        let limit = LONGEST_TEXT as u64 + 1;
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(|error| {
            Problem::new(ProblemKind::Usage, format!("Standard input cannot be read: {error}."))
                .hint("Give the request as an argument instead.")
        })?;
        bytes
    } else {
        given.into_encoded_bytes()
    };
    let size = bytes.len();
    String::from_utf8(bytes).map_err(|error| {
        // A cut at the limit may split a character; then size is the problem, not the text.
        if size > LONGEST_TEXT {
            return Problem::new(ProblemKind::Usage, "The request is too large: the limit is 16 MB.")
                .hint("Put the text into a file of the folder and name the file in the request.");
        }
        let at = error.utf8_error().valid_up_to();
        Problem::new(ProblemKind::Usage, format!("The request is not valid UTF-8 (byte {at})."))
            .hint("Convert it first, for example with `iconv -f latin1 -t utf-8`.")
    })
}
