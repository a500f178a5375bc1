//! The command line: one file per command.

mod acp;
mod apply_edit;
mod approval;
mod ask;
mod audit;
mod background;
mod browser;
mod changes;
mod check_command;
mod checkpoints;
mod checks;
mod config;
mod control;
mod demo;
mod diff;
mod doctor;
mod extensions;
mod follow;
mod handoff;
mod help;
mod hooks;
mod images;
mod import;
mod jobs;
mod keyboard;
mod lines;
mod local_model;
mod manual;
mod mcp;
mod mcp_login;
mod mcp_serve;
mod memory;
mod models;
mod number;
mod output;
mod paint;
mod pills;
pub(crate) mod place;
mod question;
mod recover;
mod ref_text;
mod resume;
mod review;
mod rules;
mod run;
mod screen;
mod serve;
mod sessions;
mod standard_input;
mod stats;
mod subtasks;
mod tasks;
mod telemetry;
mod token;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use trimtab_vocab::event::Status;
use trimtab_vocab::{Problem, ProblemKind};

/// An AI copilot that you stay in control of: it edits files, runs commands, manages tasks, and generates images.
#[derive(Debug, Parser)]
#[command(
    name = "trimtab",
    version,
    override_usage = "trimtab [OPTIONS] [PROMPT]\n       trimtab <COMMAND>",
    max_term_width = 100,
    arg_required_else_help = true,
    // Before a command, these options would mean nothing: `trimtab --dir X run` must not work in another folder.
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
#[command(after_help = EXAMPLES)]
struct CliArgs {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    screen: screen::ScreenArgs,
}

const EXAMPLES: &str = "\
Examples:
  trimtab                             open the terminal UI in this folder
  trimtab \"Fix the failing test\"      open it and send a request
  trimtab demo                        see a demo, no key or network needed
  trimtab run \"Fix the failing test\"  run one request
  git diff | trimtab run \"Review it\"  add standard input to the request
  trimtab review --base main          review the commits of this branch
  trimtab changes                     list changes (`trimtab rewind` undoes them)
  trimtab resume                      continue an interrupted request
  trimtab doctor                      check the setup

Exit codes: 0 completed, 1 failed, 2 usage error, 3 waiting for your answer, 4 limit reached, 130 cancelled.";

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Show Trimtab at work with a recorded model (no key, no network)
    Demo(demo::Demo),
    /// Run one request without a UI
    Run(run::RunArgs),
    /// Resume the latest unfinished request in this folder
    Resume(resume::Resume),
    /// List pending questions and approvals
    Checkpoints(checkpoints::Checkpoints),
    /// Answer a pending question and continue
    Answer(checkpoints::AnswerArgs),
    /// List changes, newest first, or show one
    Changes(changes::ChangesArgs),
    /// Review a diff without changing anything
    Review(review::ReviewArgs),
    /// Show changes as a diff
    Diff(diff::DiffArgs),
    /// Undo changes
    Rewind(changes::Rewind),
    /// Redo undone changes
    Forward(changes::ForwardArgs),
    /// Control a running request: pause, steer, skip, cancel
    Control(control::ControlArgs),
    /// Show and control sub-tasks: list, retry, skip, stop, steer
    Subtasks(subtasks::SubtasksArgs),
    /// List running, queued, and interrupted requests
    Jobs(jobs::JobsArgs),
    /// List background commands
    Ps(background::PsArgs),
    /// Stop a background command
    StopCommand(background::StopCommandArgs),
    /// List, show, fork, rename, export, or delete sessions
    Sessions(sessions::SessionsArgs),
    /// Continue in a new session with a summary, open to-dos, and the change history
    Handoff(handoff::Handoff),
    /// Keep the complete conversation of a session that is almost full
    Extend(handoff::Extend),
    /// Trust a folder, so that its files can be read, changed, and sent to the model
    Trust(rules::TrustArgs),
    /// List, add, or remove permission rules
    Rules(rules::RulesArgs),
    /// List, add, approve, and check MCP servers
    Mcp(mcp::McpArgs),
    /// List hooks, and approve hooks of a project
    Hooks(hooks::HooksArgs),
    /// List the checks after edits and approve those of a folder
    Checks(checks::ChecksArgs),
    /// Explain whether a command would run automatically, ask, or be denied
    CheckCommand(check_command::CheckCommand),
    /// List the models of each provider
    Models(models::ModelsArgs),
    /// Show the effective settings and where each comes from, or change one
    Config(config::Config),
    /// Check the setup and look for problems
    Doctor(doctor::Doctor),
    /// Show statistics: requests, approvals, tools, cost
    Stats(stats::StatsArgs),
    /// Show the audit trail and verify it
    Audit(audit::AuditArgs),
    /// Start the HTTP API and the browser UI
    Serve(serve::Serve),
    /// Serve an editor over the Agent Client Protocol (standard input and output)
    Acp(acp::AcpArgs),
    /// Create, list, or revoke access tokens
    Token(token::TokenArgs),
    /// Manage your tasks: list, add, done, edit, delete, search, undo
    Tasks(tasks::TasksArgs),
    /// Ask about your tasks or request changes to them
    Ask(ask::AskArgs),
    /// Manage what Trimtab remembers: list, search, add, edit, delete
    Memory(memory::MemoryArgs),
    /// Generate and manage images: make, list, regenerate, select, save
    Images(images::Images),
    /// List pills and other workflows that you call with /NAME
    Pills(pills::PillsArgs),
    /// List extensions: MCP servers, skills, agents, commands, hooks, and instructions
    Extensions(extensions::ExtensionsArgs),
    /// Import rules, MCP servers, skills, and more from another tool
    Import(import::ImportArgs),
    /// Apply one edit to the folder, all or nothing
    ApplyEdit(apply_edit::ApplyEdit),
    /// Recover the intact parts of a damaged model answer
    Recover(recover::Recover),
    /// Show a stored text, such as a raw reply or an oversized request
    Ref(ref_text::Ref),
    /// Print shell completions
    Completions(manual::Completions),
    /// Print the manual page
    Manual(manual::Manual),
    /// Explain a command, or a topic such as permissions, undo, or models
    Help(help::HelpArgs),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CliOutcome {
    /// It did what it was asked to.
    Done,
    /// It followed a request to this end.
    Finished(Status),
    /// A review found what its `--fail-on` names.
    Found,
    /// It was told to go away by this signal; the request can be resumed.
    Left(i32),
}

impl CliOutcome {
    fn code(self) -> u8 {
        match self {
            Self::Done | Self::Finished(Status::Completed) => 0,
            Self::Finished(Status::Failed | Status::NotDone) | Self::Found => 1,
            Self::Finished(Status::NeedsUser) => 3,
            Self::Finished(Status::Limit) => 4,
            Self::Finished(Status::Cancelled) => 130,
            Self::Left(signal) => 128 + u8::try_from(signal).unwrap_or(0),
        }
    }
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    if let Some(ended) = trimtab_host::supervise().or_else(crate::tui::become_command) {
        return ended;
    }
    if std::env::var_os("RUST_LOG").is_some() {
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_writer(crate::output::Log::default)
            .with_ansi(false)
            .init();
    }
    let arguments = match std::env::args_os().len() {
        // On a terminal, nothing at all means: begin.
        ..=1 if screen::is_there() => CliArgs { command: None, screen: screen::ScreenArgs::default() },
        _ => match arguments() {
            Ok(arguments) => arguments,
            Err(error) => return misunderstood(&error),
        },
    };
    // One thread does: the work is waiting. The store has threads of its own.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let problem = Problem::new(ProblemKind::Internal, format!("The program cannot start: {error}."));
            return fail(&problem);
        }
    };
    let ended = runtime.block_on(async {
        let Some(command) = arguments.command else { return arguments.screen.execute().await };
        match command {
            CliCommand::Run(command) => command.execute().await,
            CliCommand::Resume(command) => command.execute().await,
            CliCommand::Pills(command) => command.execute().await,
            CliCommand::Extensions(command) => command.execute().await,
            CliCommand::Import(command) => command.execute().await,
            CliCommand::Images(command) => command.execute().await,
            CliCommand::Tasks(command) => command.execute().await,
            CliCommand::Ask(command) => command.execute().await,
            CliCommand::Memory(command) => command.execute().await,
            CliCommand::Sessions(command) => command.execute().await,
            CliCommand::Jobs(command) => command.execute().await,
            CliCommand::Ps(command) => command.execute().await,
            CliCommand::StopCommand(command) => command.execute().await,
            CliCommand::Checkpoints(command) => command.execute().await,
            CliCommand::Answer(command) => command.execute().await,
            CliCommand::Handoff(command) => command.execute().await,
            CliCommand::Extend(command) => command.execute().await,
            CliCommand::Control(command) => command.execute().await,
            CliCommand::Subtasks(command) => command.execute().await,
            CliCommand::Rules(command) => command.execute().await,
            CliCommand::Trust(command) => command.execute().await,
            CliCommand::Mcp(command) => command.execute().await,
            CliCommand::Hooks(command) => command.execute().await,
            CliCommand::Checks(command) => command.execute().await,
            CliCommand::Stats(command) => command.execute().await,
            CliCommand::CheckCommand(command) => command.execute().await,
            CliCommand::ApplyEdit(command) => command.execute().await,
            CliCommand::Recover(command) => command.execute(),
            CliCommand::Changes(command) => command.execute().await,
            CliCommand::Review(command) => command.execute().await,
            CliCommand::Diff(command) => command.execute().await,
            CliCommand::Rewind(command) => command.execute().await,
            CliCommand::Forward(command) => command.execute().await,
            CliCommand::Models(command) => command.execute().await,
            CliCommand::Ref(command) => command.execute().await,
            CliCommand::Config(command) => command.execute().await,
            CliCommand::Doctor(command) => command.execute().await,
            CliCommand::Serve(command) => command.execute().await,
            CliCommand::Acp(command) => command.execute().await,
            CliCommand::Token(command) => command.execute().await,
            CliCommand::Audit(command) => command.execute().await,
            CliCommand::Demo(command) => command.execute().await,
            CliCommand::Completions(command) => command.execute(),
            CliCommand::Manual(command) => command.execute(),
            CliCommand::Help(command) => command.execute(),
        }
    });
    // A read of standard input that is still waiting must not hold the process.
    runtime.shutdown_background();
    match ended {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(problem) => fail(&problem),
    }
}

/// Reads the arguments. Help lists the commands in groups.
fn arguments() -> Result<CliArgs, clap::Error> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let request = request_place(&words).map(|at| words.remove(at));
    if request.is_some() && words.len() == 1 {
        return Ok(CliArgs { command: None, screen: screen::ScreenArgs::with_request(request) });
    }
    let mut arguments = CliArgs::from_arg_matches(&help::grouped(CliArgs::command()).try_get_matches_from(words)?)?;
    if request.is_some() {
        arguments.screen.begin_with(request);
    }
    Ok(arguments)
}

/// Options of the terminal UI that take a value.
const WITH_VALUE: [&str; 4] = ["--session", "--model", "--autonomy", "--dir"];

/// Where a request stands in the place of a command: a first word with a blank in it. A single word is a command, and a
/// wrong one must not become a request that costs money.
fn request_place(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy()) {
        if WITH_VALUE.contains(&word.as_ref()) {
            at += 2;
        } else if word.starts_with('-') {
            at += 1;
        } else {
            return word.trim().contains(char::is_whitespace).then_some(at);
        }
    }
    None
}

/// Says what is wrong with the arguments, or what was asked about them. Whoever says what they want in place of a
/// command is told where it belongs.
fn misunderstood(error: &clap::Error) -> ExitCode {
    // Standard error may be closed; then there is nobody to tell.
    let _ = error.print();
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let given = error.get(ContextKind::InvalidSubcommand);
    if let (Some(ContextValue::String(given)), Some(first)) = (given, words.first())
        && given == first
    {
        let words = words.join(" ");
        output::note(&format!("\nTo run a request: trimtab run \"{words}\""));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn fail(problem: &Problem) -> ExitCode {
    // Whoever reads our output has gone; there is nobody to tell.
    if output::is_closed_pipe(problem) {
        return ExitCode::from(1);
    }
    output::problem(problem);
    match problem.kind {
        ProblemKind::Usage | ProblemKind::Settings => ExitCode::from(2),
        _ => ExitCode::from(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn every_end_has_its_documented_code() {
        let ends = [
            (Status::Completed, 0),
            (Status::NotDone, 1),
            (Status::Failed, 1),
            (Status::NeedsUser, 3),
            (Status::Limit, 4),
            (Status::Cancelled, 130),
        ];
        for (status, code) in ends {
            assert_eq!(CliOutcome::Finished(status).code(), code, "{status:?}");
        }
        assert_eq!(CliOutcome::Left(15).code(), 143);
    }

    #[test]
    fn every_option_with_a_value_is_known_before_a_request() {
        let command = CliArgs::command();
        let with_value = command.get_opts().filter(|option| option.get_action().takes_values());
        let names: Vec<String> = with_value.filter_map(|option| Some(format!("--{}", option.get_long()?))).collect();
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), WITH_VALUE);
    }

    #[test]
    fn only_a_first_word_with_a_blank_is_a_request() {
        let place = |line: &[&str]| request_place(&line.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(place(&["trimtab", "fix it"]), Some(1));
        assert_eq!(place(&["trimtab", "--model", "a b", "--plain", "fix it"]), Some(4));
        assert_eq!(place(&["trimtab", "--autonomy", "careful", "fix it"]), Some(3));
        assert_eq!(place(&["trimtab", "doctro"]), None, "a mistyped command is not taken for a request");
        assert_eq!(place(&["trimtab", "run", "fix it"]), None);
        assert_eq!(place(&["trimtab"]), None);
    }
}
