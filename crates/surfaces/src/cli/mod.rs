//! The command line: one file per command.

mod apply_edit;
mod ask;
mod audit;
mod changes;
mod check_command;
mod checkpoints;
mod config;
mod control;
mod demo;
mod diff;
mod doctor;
mod follow;
mod handoff;
mod images;
mod jobs;
mod keyboard;
mod lines;
mod local_model;
mod manual;
mod memory;
mod models;
mod output;
mod paint;
mod pills;
pub(crate) mod place;
mod question;
mod recover;
mod ref_text;
mod resume;
mod rules;
mod run;
mod screen;
mod serve;
mod sessions;
mod stats;
mod tasks;
mod telemetry;
mod token;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use trimtab_vocab::event::Status;
use trimtab_vocab::{Problem, ProblemKind};

/// An AI copilot that you keep a hand on: nothing is lost, nothing happens behind your back,
/// everything can be undone.
#[derive(Debug, Parser)]
#[command(name = "trimtab", version, max_term_width = 100, arg_required_else_help = true, after_help = EXAMPLES)]
struct CliArgs {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    screen: screen::ScreenArgs,
}

const EXAMPLES: &str = "\
Examples:
  trimtab                             work in this folder, in the terminal
  trimtab demo                        see it work, without a key or a network
  trimtab run \"What is a trim tab?\"   ask one thing
  git diff | trimtab run -            ask what stands on standard input
  trimtab changes                     see what was changed; `trimtab rewind` takes it back
  trimtab resume                      go on where a request was cut off
  trimtab doctor                      see what is set up, and what is missing

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 needs a person, 4 limit reached, 130 cancelled.";

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// See it work, with a recorded model: no key, no network
    Demo(demo::Demo),
    /// Make one request; the answer goes to standard output, progress to standard error
    Run(run::RunArgs),
    /// Go on with the latest unfinished request of the folder
    Resume(resume::Resume),
    /// List what waits for an answer
    Checkpoints(checkpoints::Checkpoints),
    /// Answer what waits, and go on
    Answer(checkpoints::AnswerArgs),
    /// List what was changed, newest first, or show one change
    Changes(changes::ChangesArgs),
    /// Show what was changed, line by line
    Diff(diff::DiffArgs),
    /// Take changes back
    Rewind(changes::Rewind),
    /// Bring changes forward that were taken back
    Forward(changes::ForwardArgs),
    /// Say something to a request that runs: pause, steer, skip, cancel
    Control(control::ControlArgs),
    /// List the requests that run or wait
    Jobs(jobs::JobsArgs),
    /// List, show, fork, rename, export or delete earlier sessions
    Sessions(sessions::SessionsArgs),
    /// Go on in a new session, with a summary, the open tasks and the change history
    Handoff(handoff::Handoff),
    /// Go on in this session with its whole conversation
    Extend(handoff::Extend),
    /// Trust a folder: its files may be read, changed and sent to the model
    Trust(rules::TrustArgs),
    /// List, make or remove rules about what is allowed
    Rules(rules::RulesArgs),
    /// Say whether a command would run by itself, ask or be refused, and why
    CheckCommand(check_command::CheckCommand),
    /// List the models that a provider offers, and what is known about them
    Models(models::ModelsArgs),
    /// Show the settings in force, what each is for and where it comes from
    Config(config::Config),
    /// Check what is set up, and look for damage
    Doctor(doctor::Doctor),
    /// Count how requests ended, what was allowed, what tools did
    Stats(stats::StatsArgs),
    /// Show the trail of what was decided and done, and check that nobody has touched it
    Audit(audit::AuditArgs),
    /// Serve the HTTP API and the browser interface
    Serve(serve::Serve),
    /// Make, list or revoke tokens for the server
    Token(token::TokenArgs),
    /// Your own tasks: list, add, done, edit, delete, search, undo
    Tasks(tasks::TasksArgs),
    /// Ask about your tasks, or have changes to them proposed
    Ask(ask::AskArgs),
    /// What is remembered of you and your work: list, search, add, edit, delete
    Memory(memory::MemoryArgs),
    /// Pictures: list, make, regenerate, select, save
    Images(images::Images),
    /// List the workflows that can be called by name
    Pills(pills::PillsArgs),
    /// Apply one edit to the folder, exactly or not at all
    ApplyEdit(apply_edit::ApplyEdit),
    /// Read a saved model answer, however damaged: what is certain of it
    Recover(recover::Recover),
    /// Print a stored text: a reply as it came, or a request too large to send
    Ref(ref_text::Ref),
    /// Print what a shell needs to complete command lines
    Completions(manual::Completions),
    /// Print the manual page
    Manual(manual::Manual),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CliOutcome {
    /// It did what it was asked to.
    Done,
    /// It followed a request to this end.
    Finished(Status),
    /// It was told to go away by this signal; the request can be resumed.
    Left(i32),
}

impl CliOutcome {
    fn code(self) -> u8 {
        match self {
            Self::Done | Self::Finished(Status::Completed) => 0,
            Self::Finished(Status::Failed | Status::NotDone) => 1,
            Self::Finished(Status::NeedsUser) => 3,
            Self::Finished(Status::Limit) => 4,
            Self::Finished(Status::Cancelled) => 130,
            Self::Left(signal) => 128 + u8::try_from(signal).unwrap_or(0),
        }
    }
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    if let Some(ended) = trimtab_host::supervise() {
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
        _ => match CliArgs::try_parse() {
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
            CliCommand::Images(command) => command.execute().await,
            CliCommand::Tasks(command) => command.execute().await,
            CliCommand::Ask(command) => command.execute().await,
            CliCommand::Memory(command) => command.execute().await,
            CliCommand::Sessions(command) => command.execute().await,
            CliCommand::Jobs(command) => command.execute().await,
            CliCommand::Checkpoints(command) => command.execute().await,
            CliCommand::Answer(command) => command.execute().await,
            CliCommand::Handoff(command) => command.execute().await,
            CliCommand::Extend(command) => command.execute().await,
            CliCommand::Control(command) => command.execute().await,
            CliCommand::Rules(command) => command.execute().await,
            CliCommand::Trust(command) => command.execute().await,
            CliCommand::Stats(command) => command.execute().await,
            CliCommand::CheckCommand(command) => command.execute().await,
            CliCommand::ApplyEdit(command) => command.execute().await,
            CliCommand::Recover(command) => command.execute(),
            CliCommand::Changes(command) => command.execute().await,
            CliCommand::Diff(command) => command.execute().await,
            CliCommand::Rewind(command) => command.execute().await,
            CliCommand::Forward(command) => command.execute().await,
            CliCommand::Models(command) => command.execute().await,
            CliCommand::Ref(command) => command.execute().await,
            CliCommand::Config(command) => command.execute().await,
            CliCommand::Doctor(command) => command.execute().await,
            CliCommand::Serve(command) => command.execute().await,
            CliCommand::Token(command) => command.execute().await,
            CliCommand::Audit(command) => command.execute().await,
            CliCommand::Demo(command) => command.execute().await,
            CliCommand::Completions(command) => command.execute(),
            CliCommand::Manual(command) => command.execute(),
        }
    });
    // A read of standard input that is still waiting must not hold the process.
    runtime.shutdown_background();
    match ended {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(problem) => fail(&problem),
    }
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
        output::note(&format!("\nTo ask for something, say: trimtab run \"{words}\""));
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
    use clap::CommandFactory;

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
}
