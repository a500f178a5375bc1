//! Background commands: a command whose call has ended and that continues until it exits, is stopped, or its session's
//! owner ends. It is never started again automatically.

use trimtab_vocab::event::{CommandFact, Level, ToolFact, ToolStatus};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{
    BackgroundEnd, BackgroundEndReason, BackgroundId, BackgroundReason, CallId, FileEffects, FileState, FileWrite,
    OpenPort, RefKey, RequestId, StoppedBy,
};

use super::batch::{self, find};
use super::{guard, outcome, overtime, prompt, watched};
use crate::fragment::Fragment;
use crate::record::{BackgroundCommand, Batch, BatchItem, EndedBackground, Progress, Session};
use crate::tools::{BackgroundStart, ToolAction};
use crate::transition::Transition;
use crate::{Detached, Effect, Ran};

/// Background commands of a session that run at the same time.
const MOST_RUNNING: usize = 8;
/// Ended ones that the model is still told about.
const ENDED_TOLD: usize = 4;
/// Bytes of the note about them, and of a command in it.
const NOTE: usize = 4 * 1024;
const COMMAND: usize = 120;

/// Why no command can be started in the background now, for the model.
pub(super) fn objection(session: &Session) -> Option<String> {
    if session.lineage().role.is_some() {
        return Some("A worker cannot run commands in the background. Run it without `background`.".to_owned());
    }
    (session.running_background().count() >= MOST_RUNNING)
        .then(|| format!("{MOST_RUNNING} commands already run in the background. End one with stop_command first."))
}

/// The user wants the running command in the background.
pub(super) fn move_running(step: &mut Transition<'_>, call: Option<&CallId>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let movable = |item: &&BatchItem| {
        item.progress == Progress::Acting && item.command().is_some() && call.is_none_or(|call| item.call_id == *call)
    };
    let batch = active.batch.as_ref().filter(|batch| is_movable(step.session, batch));
    let Some(found) = batch.and_then(|batch| batch.items.iter().find(movable)).map(|item| item.call_id.clone()) else {
        return step.notify(&request, Level::Info, Notice::NothingToMove);
    };
    if step.session.running_background().count() >= MOST_RUNNING {
        return step.notify(&request, Level::Warning, Notice::TooManyInBackground(MOST_RUNNING));
    }
    step.request(Effect::Detach { call: found, why: BackgroundReason::Moved });
}

/// Whether the commands of a batch can continue in the background. The next command of a series waits for the one before
/// it, and the folder of a worker goes with its request.
pub(super) fn is_movable(session: &Session, batch: &Batch) -> bool {
    !batch.of_series && session.lineage().role.is_none()
}

/// A command whose time is up can continue in the background.
pub(super) fn is_offered(session: &Session) -> bool {
    let batch = session.active().and_then(|active| active.batch.as_ref());
    batch.is_some_and(|batch| is_movable(session, batch)) && session.running_background().count() < MOST_RUNNING
}

/// A command continues in the background: its call ends.
pub(crate) fn detached(step: &mut Transition<'_>, call: &CallId, detached: Detached) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(command) = item.command().filter(|_| item.progress == Progress::Acting).map(str::to_owned) else { return };
    overtime::settle(step, call);
    let Detached { why, ready, ports, output, output_bytes, watch } = detached;
    let id = BackgroundId::nth(step.session.background().len() + 1);
    let name = match item.action.as_deref() {
        Ok(ToolAction::Run { background: Some(BackgroundStart { name, .. }), .. }) => name.clone(),
        _ => None,
    };
    let key = RefKey::output_of(&request, call);
    let started =
        CommandFact::Background { call: call.clone(), id: id.clone(), command, name, why, output: key.clone(), watch };
    step.emit(Some(&request), started);
    note_state(step, call, ready == Some(true), &ports);
    let facts = step.session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let most = guard::limit(&facts).min(guard::FOR_MODELS);
    let mut text = result(&id, why, ready, &ports);
    if !output.is_empty() {
        let room = most.saturating_sub(text.len() + 1);
        text = format!("{text}\n{}", guard::preview(&output, output_bytes, room, None));
    }
    let (status, full, images, files) = (ToolStatus::Ok, None, Vec::new(), Vec::new());
    step.emit(Some(&request), ToolFact::Finished { call: call.clone(), status, preview: text, full, images, files });
    batch::proceed(step);
}

fn result(id: &BackgroundId, why: BackgroundReason, ready: Option<bool>, ports: &[OpenPort]) -> String {
    let mut text = match why {
        BackgroundReason::Moved => format!("The user moved the command to the background. It runs as {id}."),
        BackgroundReason::Overtime => format!("Its time was up. It continues in the background as {id}."),
        BackgroundReason::Started | BackgroundReason::Unknown => format!("Running in the background as {id}."),
    };
    match ready {
        Some(true) => text.push_str(" It is ready."),
        Some(false) => text.push_str(" It was not ready after 10 s and may still be starting."),
        None => {}
    }
    for port in ports {
        text.push_str(&format!(" {}.", port_words(*port)));
    }
    text.push_str(" read_output shows its output, stop_command ends it. It ends with the session at the latest.");
    text
}

/// A port in a sentence without its end.
fn port_words(port: OpenPort) -> String {
    match port.url() {
        Some(url) => format!("It listens on {url}"),
        None => format!(
            "It listens on port {} in the session's sandbox: your other commands reach it at localhost:{}, the user cannot",
            port.port, port.port
        ),
    }
}

/// A background command is ready, or listens on a port.
pub(crate) fn news(step: &mut Transition<'_>, call: &CallId, ready: bool, ports: &[OpenPort]) {
    note_state(step, call, ready, ports);
}

fn note_state(step: &mut Transition<'_>, call: &CallId, ready: bool, ports: &[OpenPort]) {
    let Some(BackgroundCommand { id, request, ready: was_ready, ports: known, .. }) =
        step.session.background_of(call).cloned()
    else {
        return;
    };
    if ready && !was_ready {
        step.emit(Some(&request), CommandFact::Ready { call: call.clone(), id: id.clone() });
    }
    for port in ports.iter().filter(|port| !known.iter().any(|known| known.port == port.port)) {
        step.emit(Some(&request), CommandFact::Port { call: call.clone(), id: id.clone(), port: *port });
    }
}

/// A command ended. Whether it was in the background.
pub(crate) fn ended(step: &mut Transition<'_>, call: &CallId, ran: &Ran, effects: Option<&FileEffects>) -> bool {
    let Some(command) = step.session.background_of(call).cloned() else { return false };
    if let Some(effects) = effects {
        record(step, &command, effects, false);
    }
    // It was asked to end, not timed out.
    let ran = &Ran { timed_out: false, ..ran.clone() };
    let why = match command.stopping {
        Some(by) => by.into(),
        None if ran.lost => BackgroundEndReason::Killed,
        None if ran.stopped => BackgroundEndReason::User,
        None => BackgroundEndReason::Exited,
    };
    finish(step, &command, why, ran, effects.and_then(|effects| effects.unobserved));
    true
}

fn finish(
    step: &mut Transition<'_>,
    command: &BackgroundCommand,
    why: BackgroundEndReason,
    ran: &Ran,
    unobserved: Option<trimtab_vocab::Unobserved>,
) {
    let background = Some(BackgroundEnd { id: command.id.clone(), why });
    let finished = outcome::finished(&command.call, command.command.clone(), ran, unobserved, background);
    step.emit(Some(&command.request), finished);
    let waiting: Vec<CallId> = step
        .session
        .active()
        .and_then(|active| active.batch.as_ref())
        .into_iter()
        .flat_map(|batch| &batch.items)
        .filter(|item| item.progress == Progress::Started && stops(item, &command.id))
        .map(|item| item.call_id.clone())
        .collect();
    for call in waiting {
        answer_stop(step, &call, &command.id);
        batch::proceed(step);
    }
}

fn stops(item: &BatchItem, of: &BackgroundId) -> bool {
    matches!(item.action.as_deref(), Ok(ToolAction::StopCommand { id }) if id == of)
}

/// A background command has changed files that something else is about to change.
pub(crate) fn changed(step: &mut Transition<'_>, call: &CallId, effects: &FileEffects) {
    // A set that is added while the history is moved would change what the move is about.
    let command = step.session.background_of(call).filter(|_| !step.session.is_moving()).cloned();
    if let Some(command) = command {
        record(step, &command, effects, false);
    }
}

/// Records the file changes of a background command, apart from those that the session's own history explains.
fn record(step: &mut Transition<'_>, command: &BackgroundCommand, effects: &FileEffects, late: bool) {
    let effects = unexplained(step.session, command.first_set, effects);
    watched::record(step, &command.request, &command.call, &command.command, &effects, late);
}

/// The changes that no other change set accounts for, of a command that began when the sets from `first` on were not
/// there. While it ran, edits and other commands of the session changed files as well, and each is in the history once.
/// A file that both have changed goes from what the history left to what is there now.
pub(super) fn unexplained(session: &Session, first: usize, effects: &FileEffects) -> FileEffects {
    let mut own = FileEffects { writes: Vec::new(), diffs: Vec::new(), ..effects.clone() };
    let shown = effects.diffs.iter().cloned().chain(std::iter::repeat(String::new()));
    for (write, diff) in effects.writes.iter().zip(shown) {
        let (before, diff) = match left_by_history(session, first, &write.path) {
            Some(left) if left == write.after => continue,
            // The diff was made with another beginning.
            Some(left) if left != write.before => (left, String::new()),
            _ => (write.before.clone(), diff),
        };
        own.writes.push(FileWrite { before, ..write.clone() });
        own.diffs.push(diff);
    }
    own
}

/// How the history left a file that one of its sets from `first` on names.
fn left_by_history(session: &Session, first: usize, path: &str) -> Option<Option<FileState>> {
    let (sets, in_force) = (session.history(), session.in_force());
    let of_file = |index: usize| sets[index].writes.iter().rev().find(|write| write.path == path);
    let is_moved = (first..sets.len()).any(|index| of_file(index).is_some());
    let done = || (0..in_force).rev().find_map(of_file).map(|write| write.after.clone());
    let undone = || (in_force..sets.len()).find_map(of_file).map(|write| write.before.clone());
    is_moved.then(|| done().or_else(undone)).flatten()
}

/// The file changes of a command are known that ended with an earlier owner. Whether it was in the background.
pub(crate) fn inspected(step: &mut Transition<'_>, call: &CallId, effects: &FileEffects) -> bool {
    let Some(command) = step.session.background_of(call).cloned() else { return false };
    record(step, &command, effects, true);
    finish(step, &command, BackgroundEndReason::Killed, &Ran::default(), effects.unobserved);
    true
}

/// A new owner: the background commands ended with the last one.
pub(super) fn woke(step: &mut Transition<'_>) {
    let running: Vec<BackgroundCommand> = step.session.running_background().cloned().collect();
    for command in running {
        let BackgroundCommand { call, id, request, .. } = &command;
        if command.stopping != Some(StoppedBy::Program) {
            let (call, id, by) = (call.clone(), id.clone(), StoppedBy::Program);
            step.emit(Some(request), CommandFact::Stopping { call, id, by });
        }
        match command.watch {
            Some(watch) => step.request(Effect::InspectBackground { call: call.clone(), watch }),
            None => finish(step, &command, BackgroundEndReason::Killed, &Ran::default(), None),
        }
    }
}

/// Ends a background command, or all of them.
pub(crate) fn stop(step: &mut Transition<'_>, wanted: Option<&BackgroundId>, by: StoppedBy) {
    let is_wanted = |command: &&BackgroundCommand| wanted.is_none_or(|wanted| command.id == *wanted);
    let found: Vec<BackgroundCommand> = step.session.running_background().filter(is_wanted).cloned().collect();
    if let (true, Some(wanted), Some(active)) = (found.is_empty(), wanted, step.session.active()) {
        let request = active.request.id.clone();
        return step.notify(&request, Level::Info, Notice::NoSuchBackground(wanted.to_string()));
    }
    for BackgroundCommand { call, id, request, stopping, .. } in found {
        if stopping.is_none() {
            step.emit(Some(&request), CommandFact::Stopping { call: call.clone(), id, by });
        }
        step.request(Effect::EndBackground { call });
    }
}

/// The model ends a background command. Its call ends with the command.
pub(super) fn stop_by_model(step: &mut Transition<'_>, call: &CallId, id: &BackgroundId) {
    match step.session.background().iter().find(|command| command.id == *id) {
        Some(command) if command.is_running() => stop(step, Some(id), StoppedBy::Model),
        _ => answer_stop(step, call, id),
    }
}

fn answer_stop(step: &mut Transition<'_>, call: &CallId, id: &BackgroundId) {
    let (status, text) = match step.session.background().iter().find(|command| command.id == *id) {
        Some(BackgroundCommand { ended: Some(ended), .. }) => (ToolStatus::Ok, format!("{id} {}.", ended_words(ended))),
        Some(_) => (ToolStatus::Ok, format!("{id} is being ended.")),
        None => (ToolStatus::Error, unknown(step.session, id)),
    };
    batch::finished(step, call, status, text);
}

fn unknown(session: &Session, id: &BackgroundId) -> String {
    let running: Vec<&str> = session.running_background().map(|command| command.id.as_str()).collect();
    match running.as_slice() {
        [] => format!("This session has no background command {id}. None is running."),
        running => format!("This session has no background command {id}. Running: {}.", running.join(", ")),
    }
}

/// The model reads the output of a background command.
pub(super) fn read_output(
    step: &mut Transition<'_>,
    request: RequestId,
    call: CallId,
    id: &BackgroundId,
    since: Option<u64>,
) {
    let Some(command) = step.session.background().iter().find(|command| command.id == *id) else {
        let text = unknown(step.session, id);
        return batch::finished(step, &call, ToolStatus::Error, text);
    };
    let (of, stored, id) = (command.call.clone(), command.output.clone(), id.clone());
    let facts = step.session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let limit = guard::limit(&facts) - 512;
    step.request(Effect::ReadOutput { request, call, of, id, stored, since, limit });
}

/// The note for the model about background commands, sent when it changes.
pub(super) fn fragment(session: &Session) -> Fragment {
    let is_over = |command: &&BackgroundCommand| !is_told_running(command);
    let ended = session.background().iter().filter(is_over).count();
    let mut skipped = ended.saturating_sub(ENDED_TOLD);
    let mut lines = Vec::new();
    for command in session.background() {
        if !is_told_running(command) && skipped > 0 {
            skipped -= 1;
            continue;
        }
        lines.push(line(command));
    }
    let text = if lines.is_empty() { String::new() } else { format!("Background commands:\n{}", lines.join("\n")) };
    Fragment::volatile("background", text, NOTE, "There are no background commands.")
}

/// One that ended with Trimtab is over, although its file changes are not known yet.
fn is_told_running(command: &BackgroundCommand) -> bool {
    command.is_running() && command.stopping != Some(StoppedBy::Program)
}

fn line(command: &BackgroundCommand) -> String {
    let text = command.command.lines().next().unwrap_or_default();
    let text = &text[..text.floor_char_boundary(COMMAND)];
    let name = command.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let state = match &command.ended {
        Some(ended) => ended_words(ended),
        None if is_told_running(command) => running_words(command),
        None => KILLED.to_owned(),
    };
    format!("- {} `{text}`{name} {state}.", command.id)
}

const KILLED: &str = "ended with Trimtab, which was interrupted. It was not started again";

fn running_words(command: &BackgroundCommand) -> String {
    let mut text = "is running".to_owned();
    if command.ready {
        text.push_str(" and ready");
    }
    for port in &command.ports {
        text = format!("{text}. {}", port_words(*port));
    }
    text
}

fn ended_words(ended: &EndedBackground) -> String {
    match (ended.why, ended.exit_code, &ended.signal) {
        (BackgroundEndReason::Model, ..) => "was stopped".to_owned(),
        (BackgroundEndReason::User, ..) => "was stopped by the user".to_owned(),
        (BackgroundEndReason::Session, ..) => "ended with its session. It was not started again".to_owned(),
        (BackgroundEndReason::Killed, ..) => KILLED.to_owned(),
        (_, Some(code), _) => format!("exited with code {code}. read_output shows its output"),
        (_, None, Some(signal)) => format!("was killed by {signal}. read_output shows its output"),
        (_, None, None) => "ended".to_owned(),
    }
}
