//! The terminal UI in plain lines, for screen readers and for terminals that cannot be drawn over: a line is read,
//! what comes of it is told in lines, and questions are asked in lines.

use trimtab_host::config::Profile;
use trimtab_host::{Client, Manner, RequestDraft, SendTo, WhenBusy};
use trimtab_vocab::{Mode, Problem, SessionId};

use super::follow::{Attendance, OutputForm, follow};
use super::output::{note, note_part, problem};
use super::{CliOutcome, keyboard, local_model};
use crate::words;

/// Talks until the input ends or the person leaves.
pub(super) async fn talk(
    mut profile: Profile,
    folder: String,
    session: Option<SessionId>,
) -> Result<CliOutcome, Problem> {
    let client = Client::open(&profile)?.on("plain");
    local_model::choose(&client, &mut profile, true).await.unwrap_or_else(|error| problem(&error));
    note(
        "Trimtab in plain lines. Type a request. /quit quits, /chat, /plan, and /auto set the mode, \
         and /effort LEVEL sets the effort.",
    );
    let (mut session, mut mode) = (session, Mode::Auto);
    loop {
        note_part("> ");
        let Some(line) = keyboard::line().await else { return Ok(CliOutcome::Done) };
        match line.trim() {
            "" => continue,
            "/quit" | "/exit" => return Ok(CliOutcome::Done),
            "/auto" => mode = Mode::Auto,
            "/chat" => mode = Mode::Chat,
            "/plan" => mode = Mode::Plan,
            text if let Some(level) = text.strip_prefix("/effort") => {
                match words::effort_level(level) {
                    Ok(level) => profile.limits.effort = level,
                    Err(expected) => note(&expected),
                }
                note(&words::effort_set(profile.limits.effort));
            }
            text => {
                let told = say(&client, &profile, &folder, text, mode, &mut session).await;
                match told {
                    // The program was told to go away.
                    Ok(outcome @ CliOutcome::Left(_)) => return Ok(outcome),
                    Ok(_) => {}
                    Err(error) => problem(&error),
                }
            }
        }
    }
}

async fn say(
    client: &Client,
    profile: &Profile,
    folder: &str,
    text: &str,
    mode: Mode,
    session: &mut Option<SessionId>,
) -> Result<CliOutcome, Problem> {
    // Nothing runs while a line is read, so there is nothing that it could interrupt.
    let when_busy = WhenBusy::Exactly(None);
    let draft = RequestDraft { mode, when_busy, ..RequestDraft::new(text, Manner::attended()) };
    let say = client.compose(profile, folder, draft).await?;
    let target = match session {
        Some(session) => SendTo::Session(session.clone()),
        None => SendTo::New { folder: folder.to_owned() },
    };
    let sent = client.send(target, say).await?;
    *session = Some(sent.session.clone());
    follow(client, &sent, 0, OutputForm::Text, Attendance::AtTheTerminal).await
}
