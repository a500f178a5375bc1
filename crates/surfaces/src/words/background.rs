//! Texts about background commands, shared by every surface.

use trimtab_vocab::{BackgroundEndReason, BackgroundReason, BackgroundRow, Time, format};

use crate::conversation::BackgroundNotice;

/// Bytes of a command in a line.
const COMMAND: usize = 80;
/// What a list of none says.
pub(crate) const NONE_RUNNING: &str = "No background commands are running.";
/// The hint for `/stop` without an ID.
pub(crate) const WHICH_COMMAND: &str = "Invalid ID. /ps lists the background commands and their IDs.";

/// What happened to a background command.
pub(crate) fn background_notice(notice: &BackgroundNotice) -> String {
    match notice {
        BackgroundNotice::Started { id, command, why } => {
            let command = short(command);
            match why {
                BackgroundReason::Moved => format!("Moved to the background as {id}: {command}"),
                BackgroundReason::Overtime => format!("Continues in the background as {id}: {command}"),
                BackgroundReason::Started | BackgroundReason::Unknown => {
                    format!("Running in the background as {id}: {command}")
                }
            }
        }
        BackgroundNotice::Port { id, port } => match port.url() {
            Some(url) => format!("{id} listens on {url}"),
            None => format!(
                "{id} listens on port {} in the sandbox. To open it in your browser, press `o` in `/ps`.",
                port.port
            ),
        },
        BackgroundNotice::Ended { id, command, why, exit_code, signal } => {
            format!("{id} {}: {}", end_words(*why, *exit_code, signal.as_deref()), short(command))
        }
    }
}

fn end_words(why: BackgroundEndReason, exit_code: Option<i32>, signal: Option<&str>) -> String {
    match (why, exit_code, signal) {
        (BackgroundEndReason::Model, ..) => "was stopped by the model".to_owned(),
        (BackgroundEndReason::User, ..) => "was stopped".to_owned(),
        (BackgroundEndReason::Session, ..) => "ended with the session".to_owned(),
        (BackgroundEndReason::Killed, ..) => "ended when Trimtab was interrupted. It was not started again".to_owned(),
        (_, Some(code), _) => format!("exited with code {code}"),
        (_, None, Some(signal)) => format!("was killed by {signal}"),
        (_, None, None) => "ended".to_owned(),
    }
}

fn short(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    let cut = line.floor_char_boundary(COMMAND);
    let more = if cut < command.len() { "…" } else { "" };
    format!("{}{more}", &line[..cut])
}

/// The state of a background command in a few words: `started 5 min ago, port 5173 in its sandbox`.
pub(crate) fn background_state(row: &BackgroundRow, now: Time) -> String {
    if let Some(why) = row.why {
        return end_words(why, row.exit_code, row.signal.as_deref());
    }
    let mut text = format!("started {}", format::age(row.started, now));
    if row.ready {
        text.push_str(", ready");
    }
    for port in &row.ports {
        match port.url() {
            Some(url) => text.push_str(&format!(", {url}")),
            None => text.push_str(&format!(", port {} in its sandbox", port.port)),
        }
    }
    text
}

/// A background command in a line: its ID, its name, its state, and its command, which a narrow screen cuts.
pub(crate) fn background_line(row: &BackgroundRow, now: Time) -> String {
    let name = row.name.as_ref().map(|name| format!("{name}  ")).unwrap_or_default();
    format!("{}  {name}{}  {}", row.id, background_state(row, now), short(&row.command))
}

/// The note about commands that ended with the program.
pub(crate) fn ended_with_program(rows: &[BackgroundRow]) -> Option<String> {
    let names: Vec<String> = rows.iter().map(|row| format!("{} ({})", row.id, short(&row.command))).collect();
    (!names.is_empty()).then(|| format!("Ended background commands: {}.", names.join(", ")))
}
