//! The terminal UI in plain lines, for screen readers and for terminals that cannot be drawn over: a line is read,
//! what comes of it is told in lines, and questions are asked in lines.

use trimtab_host::config::Profile;
use trimtab_host::{Client, Manner, RequestDraft, SendTo, WhenBusy};
use trimtab_vocab::{Autonomy, Mode, Problem, ProblemKind, SessionId};

use super::follow::{Attendance, OutputForm, follow};
use super::output::{note, note_part, problem, sanitize};
use super::{CliOutcome, background, keyboard, local_model};
use crate::slash::{self, SlashCommand, SlashReading, SlashSurface};
use crate::words;

/// A talk in lines.
struct PlainTalk {
    client: Client,
    profile: Profile,
    folder: String,
    session: Option<SessionId>,
    mode: Mode,
    /// The level that was chosen before there was a session.
    autonomy: Option<Autonomy>,
    /// Workflows that can be called by name.
    workflows: Vec<String>,
    /// A line that looked like a command and was refused. Typed again, it is a message.
    refused: String,
}

/// Talks until the input ends or the person leaves.
pub(super) async fn talk(
    mut profile: Profile,
    folder: String,
    session: Option<SessionId>,
    request: Option<String>,
    autonomy: Option<Autonomy>,
) -> Result<CliOutcome, Problem> {
    let client = Client::open(&profile)?.on("plain");
    local_model::choose(&client, &mut profile, true).await.unwrap_or_else(|error| problem(&error));
    keyboard::ask_for_colors();
    note("Trimtab in plain lines. Type a request. /help lists the commands, and /quit quits.");
    let pills = client.pills(&profile, &folder).await?;
    let workflows = pills.list().map(|(name, _)| name).collect();
    let refused = String::new();
    let mut talk = PlainTalk { client, profile, folder, session, mode: Mode::Auto, autonomy, workflows, refused };
    if let Some(request) = request
        && let Some(outcome) = talk.send(&request, talk.mode, true).await
    {
        return Ok(outcome);
    }
    loop {
        note_part("> ");
        let outcome = match keyboard::line().await {
            Some(line) => talk.take(line.trim()).await,
            None => Some(CliOutcome::Done),
        };
        if let Some(outcome) = outcome {
            if matches!(outcome, CliOutcome::Done) {
                background::end_with_program(&talk.client).await;
            }
            return Ok(outcome);
        }
    }
}

impl PlainTalk {
    /// Does what a line says; how the program ends, if it does.
    async fn take(&mut self, line: &str) -> Option<CliOutcome> {
        let refused = std::mem::take(&mut self.refused);
        if line.is_empty() {
            return None;
        }
        let is_workflow = |name: &str| self.workflows.iter().any(|known| known == name);
        match slash::read(line, SlashSurface::Plain, is_workflow) {
            SlashReading::Run(command) => self.run(command).await,
            SlashReading::Message => self.send(line, self.mode, false).await,
            SlashReading::Refused(_) if refused == line => self.send(line, self.mode, true).await,
            SlashReading::Refused(why) => {
                note(&format!("{why} Type it again to send it as a message."));
                line.clone_into(&mut self.refused);
                None
            }
        }
    }

    async fn run(&mut self, command: SlashCommand) -> Option<CliOutcome> {
        match command {
            SlashCommand::Quit => return Some(CliOutcome::Done),
            SlashCommand::Help => {
                for row in slash::COMMANDS.iter().filter(|row| row.is_on(SlashSurface::Plain)) {
                    note(&format!("  /{:<12} {}", row.name, row.help));
                }
            }
            SlashCommand::New => {
                self.session = None;
                note("Your next message starts a new session.");
            }
            SlashCommand::Mode(mode, text) if text.is_empty() => {
                self.mode = mode;
                note("The mode applies to the next request.");
            }
            SlashCommand::Mode(mode, text) => return self.send(&text, mode, true).await,
            SlashCommand::Init => return self.send(slash::INIT, self.mode, true).await,
            SlashCommand::Review(what) => return self.send(&slash::review(&what), self.mode, false).await,
            SlashCommand::Background => {
                list_background(&self.client, self.session.as_ref()).await.unwrap_or_else(|error| problem(&error));
            }
            SlashCommand::StopCommand(id) => {
                let stopped = stop_background(&self.client, self.session.as_ref(), &id).await;
                stopped.unwrap_or_else(|error| problem(&error));
            }
            SlashCommand::Effort(level) => {
                match words::effort_level(&level) {
                    Ok(level) => self.profile.limits.effort = level,
                    Err(expected) => note(&expected),
                }
                note(&words::effort_set(self.profile.limits.effort));
            }
            SlashCommand::Autonomy(level) => {
                let (profile, session) = (&self.profile, self.session.as_ref());
                match set_autonomy(&self.client, profile, &self.folder, &level, session).await {
                    Ok(chosen) => self.autonomy = chosen.or(self.autonomy),
                    Err(error) => problem(&error),
                }
            }
            SlashCommand::Model(name) if name.is_empty() => {
                note(&format!("The model is {}.", self.profile.model.as_deref().unwrap_or("not set")));
            }
            SlashCommand::Model(name) => match self.profile.check_model(&name) {
                Ok(()) => {
                    note(&format!("{name} is used from the next request on."));
                    self.profile.model = Some(name);
                }
                Err(error) => problem(&error),
            },
            SlashCommand::Program(arguments) => {
                if let Err(error) = print_program(arguments, &self.folder).await {
                    note(&format!("Could not run `trimtab {}`: {error}.", arguments.join(" ")));
                }
            }
            // The table offers no other here.
            _ => {}
        }
        None
    }

    /// Sends a message. A text that is taken literally calls no workflow.
    async fn send(&mut self, text: &str, mode: Mode, literal: bool) -> Option<CliOutcome> {
        match self.say(text, mode, literal).await {
            // The program was told to go away.
            Ok(outcome @ CliOutcome::Left(_)) => return Some(outcome),
            Ok(_) => {}
            Err(error) => problem(&error),
        }
        None
    }

    async fn say(&mut self, text: &str, mode: Mode, literal: bool) -> Result<CliOutcome, Problem> {
        // Nothing runs while a line is read, so there is nothing that it could interrupt.
        let when_busy = WhenBusy::Exactly(None);
        let manner = Manner { autonomy: self.autonomy, ..Manner::attended() };
        let draft = RequestDraft { mode, when_busy, literal, ..RequestDraft::new(text, manner) };
        let say = self.client.compose(&self.profile, &self.folder, draft).await?;
        let target = match &self.session {
            Some(session) => SendTo::Session(session.clone()),
            None => SendTo::New { folder: self.folder.clone() },
        };
        let sent = self.client.send(target, say).await?;
        // The session has it now.
        self.autonomy = None;
        self.session = Some(sent.session.clone());
        follow(&self.client, &sent, 0, OutputForm::Text, Attendance::AtTheTerminal).await
    }
}

/// Runs a command of the command line, which prints for itself.
async fn print_program(arguments: &[&str], folder: &str) -> std::io::Result<()> {
    let mut child = tokio::process::Command::new(std::env::current_exe()?)
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .spawn()?;
    child.wait().await.map(drop)
}

async fn list_background(client: &Client, session: Option<&SessionId>) -> Result<(), Problem> {
    let rows = match session {
        Some(session) => client.commands().list(session).await?,
        None => Vec::new(),
    };
    let now = trimtab_host::now();
    rows.iter().for_each(|row| note(&sanitize(&words::background_line(row, now))));
    if rows.is_empty() {
        note(words::NONE_RUNNING);
    }
    Ok(())
}

async fn stop_background(client: &Client, session: Option<&SessionId>, id: &str) -> Result<(), Problem> {
    let (Some(session), Ok(id)) = (session, id.parse()) else {
        note(words::NONE_RUNNING);
        return Ok(());
    };
    let row = client.commands().stop(session, &id).await?;
    note(&sanitize(&format!("Stopping {id}: {}", row.command)));
    Ok(())
}

/// Shows the levels of autonomy, or sets one: in the session, or for the one that the next line starts.
async fn set_autonomy(
    client: &Client,
    profile: &Profile,
    folder: &str,
    typed: &str,
    session: Option<&SessionId>,
) -> Result<Option<Autonomy>, Problem> {
    let limit = client.permissions().profile_in(profile.clone(), folder).await?.hands.autonomy_limit;
    if typed.trim().is_empty() {
        let chosen = match session {
            Some(session) => client.requests().autonomy(session).await?,
            None => None,
        };
        let level = chosen.or(profile.hands.autonomy).unwrap_or_default().within(limit);
        note(&words::autonomy_levels(level));
        return Ok(None);
    }
    let level = words::autonomy_level(typed).map_err(|wrong| Problem::new(ProblemKind::Usage, wrong))?;
    if let Some(session) = session {
        client.requests().set_autonomy(session, level).await?;
    }
    note(&words::autonomy_set(level, limit));
    Ok(Some(level).filter(|_| session.is_none()))
}
