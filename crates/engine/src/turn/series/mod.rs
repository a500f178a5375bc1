//! Several commands in one answer: they run one after the other, each with its permission check. After each one, the
//! model sees the result and says how to continue.

pub mod verdict;

use trimtab_vocab::checkpoint::{Ask, CommandDecision, CommandsAsk, OfferedCommand};
use trimtab_vocab::event::{AnswerFact, CommandsFact, Level, RequestFact, Stage, Status, ToolStatus};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::{AnswerLabel, Notice, Objection, QuestionTitle, StageLabel};
use trimtab_vocab::{Answer, Approve, CallId, RequestId, Series, SeriesResult, SeriesState, StopReason};

use super::answers::{self, CheckpointDraft};
use super::{batch, finish, next, reflection};
use crate::permit::{self, Ruling};
use crate::proposal::command::visible;
use crate::proposal::recover::{ReplyStop, recover};
use crate::record::series::{LONGEST, MOST, is_too_much, numbers};
use crate::record::{BatchItem, RunningRequest, ToolOutcome, applies_commands};
use crate::transition::Transition;
use verdict::{SeriesContext, SeriesVerdict};

/// Warns if an answer has more commands than are run.
pub(super) fn warn(step: &mut Transition<'_>, request: &RequestId, answer: &Answer) {
    let commands: Vec<String> = answer.commands.iter().map(|proposal| proposal.command.clone()).collect();
    if is_too_much(&commands) {
        step.notify(request, Level::Warning, Notice::TooManyCommands(commands.len(), MOST, LONGEST / 1024));
    }
}

fn series(step: &Transition<'_>) -> Option<(RequestId, Series)> {
    let active = step.session.active()?;
    Some((active.request.id.clone(), active.series.clone()?))
}

fn say(step: &mut Transition<'_>, request: &RequestId, series: Series, progress: String, reason: String) {
    let message = message(step, request, &series);
    step.emit(Some(request), CommandsFact { series, progress, reason, message });
}

/// What the model is sent about a series that now stands so: of the rest that is left, or of the command that ended.
fn message(step: &Transition<'_>, request: &RequestId, series: &Series) -> Option<String> {
    let active = step.session.active().filter(|active| active.request.id == *request && series.current.is_none())?;
    match series.state {
        SeriesState::Left => note_of_rest(series),
        SeriesState::Judging | SeriesState::Done => {
            let item = active.batch.as_ref().filter(|batch| batch.of_series)?.items.first()?;
            Some(report(series, item, item.done()?))
        }
        _ => None,
    }
}

/// An answer has commands: a single one goes to the permission check at once, several are offered first, unless a
/// setting runs safe ones automatically.
pub(super) fn begin(step: &mut Transition<'_>) {
    let Some((request, series)) = series(step) else { return };
    let Some(active) = step.session.active() else { return };
    if series.total < 2 || applies_commands(permit::command_level(step.session, active), &active.request.settings) {
        return start(step);
    }
    let (approve, count) = (answers::approve(active), series.total);
    let commands = series.remaining.iter().filter_map(|command| foreseen(step, command)).collect();
    let question = CheckpointDraft {
        ask: Ask::Commands(CommandsAsk::Offered { commands }),
        title: QuestionTitle::CommandsOffered(Plural::new(count, "command")),
        choices: vec![
            answers::choice(answers::RUN, AnswerLabel::RunAll(count)),
            answers::choice(answers::EACH, AnswerLabel::OneByOne),
            answers::leave(AnswerLabel::Skip),
        ],
    };
    let choice = match approve {
        Approve::Ask => return answers::ask(step, question, Status::NeedsUser),
        Approve::Auto => answers::RUN,
        Approve::Deny => answers::SKIP,
    };
    let Some(checkpoint) = answers::open(step, question) else { return };
    let by = if choice == answers::RUN { "approve auto" } else { "approve deny" };
    answers::resolve(step, &request, checkpoint, choice, by);
    match choice {
        answers::RUN => answers::go_on(step),
        _ => {
            leave(step, &request);
        }
    }
}

/// Why such a choice will not do.
pub(crate) fn objection(active: &RunningRequest, choice: &str, text: Option<&str>) -> Option<Objection> {
    let (numbers, offered) = (numbers(choice, text)?, active.series.as_ref()?.remaining.len());
    let wrong = numbers.iter().find(|number| !(1..=offered).contains(*number))?;
    Some(Objection::NoSuchCommand(*wrong, offered))
}

/// The message to the model about commands that the user left out.
pub(super) fn left_out(active: &RunningRequest, choice: &str, text: Option<&str>) -> Option<String> {
    let (_, left) = active.series.clone()?.only(&numbers(choice, text)?);
    let left: Vec<String> = left.iter().map(|command| format!("`{command}`")).collect();
    (!left.is_empty()).then(|| format!("[The user runs only some of your commands. Not run: {}.]", left.join(", ")))
}

/// What will happen to a command once its turn comes, as far as that is known now.
fn foreseen(step: &Transition<'_>, command: &str) -> Option<OfferedCommand> {
    let active = step.session.active()?;
    let (decision, reason) = match permit::judge_agreed(step.session, active, command) {
        Ruling::Go(_) => (CommandDecision::Auto, String::new()),
        Ruling::Ask { reason, .. } => (CommandDecision::Ask, reason.to_string()),
        Ruling::Refuse(refusal) => (CommandDecision::Deny, refusal.to_string()),
    };
    Some(OfferedCommand { command: command.to_owned(), shown: visible(command), decision, reason })
}

/// Continues after an answer. Returns whether there was something to continue.
pub(super) fn go_on(step: &mut Transition<'_>) -> bool {
    let due = series(step).is_some_and(|(_, series)| series.state == SeriesState::Running && series.current.is_none());
    if due {
        start(step);
    }
    due
}

/// The next command goes to the permit.
fn start(step: &mut Transition<'_>) {
    let Some((request, series)) = series(step) else { return };
    let call = CallId::tool(&CallId::nth(step.session.next_call() - 1), 0);
    let series = Series { state: SeriesState::Running, ..series.begun(call) };
    step.enter(&request, Stage::Running, StageLabel::Command(series.done + 1, series.total));
    say(step, &request, series, String::new(), String::new());
    // Folding it has made a batch from the command.
    batch::begin(step);
}

/// The command has ended, one way or the other: the model hears of it.
pub(super) fn ran(step: &mut Transition<'_>) {
    let Some((request, series)) = series(step) else { return };
    let Some(active) = step.session.active() else { return };
    let Some(item) = active.batch.as_ref().and_then(|batch| batch.items.first()) else { return };
    let Some(done) = item.done() else { return };
    let command = item.command().unwrap_or_default().to_owned();
    let (_, output) = parts(item, done);
    let preview = if output.trim().is_empty() { String::new() } else { reflection::finding(output) };
    let ok = done.status == ToolStatus::Ok;
    let skipped = done.status == ToolStatus::Blocked;
    let series = series.with(SeriesResult { command, ok, skipped, preview });
    let state = if series.total == 1 { SeriesState::Done } else { SeriesState::Judging };
    let progress = series.progress(&head(output));
    say(step, &request, Series { state, ..series }, progress, String::new());
    next(step);
}

/// The text to the model about a command beside its status, such as the files that it changed, and its output. If the
/// output is too long, both are one text.
fn parts<'a>(item: &'a BatchItem, done: &'a ToolOutcome) -> (&'a str, &'a str) {
    let rest = match done.content.split_once('\n') {
        Some((first, rest)) if first.starts_with("Exit code ") => rest,
        None if done.content.starts_with("Exit code ") => "",
        _ => return ("", &done.content),
    };
    let Some(output) = item.output.as_deref() else { return ("", rest) };
    match rest.strip_suffix(output) {
        Some(notes) if notes.is_empty() || notes.ends_with('\n') || output.is_empty() => (notes.trim_end(), output),
        _ => ("", rest),
    }
}

/// As much of an output as the user sees in the block of lines.
fn head(output: &str) -> String {
    const LINES: usize = 12;
    const LONGEST: usize = 1_200;
    let mut lines: Vec<&str> = output.trim_end().lines().collect();
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    let mut text = lines.join("\n");
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    if more > 0 { format!("{text}\n… {more} more lines") } else { text }
}

/// The message to the model when a command has ended.
fn report(series: &Series, item: &BatchItem, done: &ToolOutcome) -> String {
    let Some(last) = series.results.last() else { return String::new() };
    let (notes, output) = parts(item, done);
    let ended =
        done.content.lines().next().filter(|line| !last.ok && line.starts_with("Exit code ")).unwrap_or_default();
    let notes = if notes.is_empty() { String::new() } else { format!("\n{notes}") };
    if series.state == SeriesState::Done {
        if matches!(done.status, ToolStatus::Blocked | ToolStatus::Interrupted) {
            return format!("The command did not run, or did not finish: `{}`\n\n{}", last.command, done.content);
        }
        return feedback(&last.command, output, ended) + &notes;
    }
    let mut text = series.progress(output);
    if !ended.is_empty() {
        text.push_str(&format!("\n{ended}"));
    }
    text.push_str(&notes);
    text.push_str(&reminder(series));
    text
}

/// The documented message about a single command.
fn feedback(command: &str, output: &str, ended: &str) -> String {
    // A fence must be longer than any in what it holds.
    let mut fence = "```".to_owned();
    while output.contains(&fence) {
        fence.push('`');
    }
    let output = Some(output.trim_end()).filter(|output| !output.is_empty()).unwrap_or("(no output)");
    let text =
        format!("I ran the command: `{command}`\n\nOutput:\n{fence}\n{output}\n{fence}\n\nPlease analyze this output.");
    if ended.is_empty() { text } else { format!("{text}\n({ended})") }
}

/// What still waits, and how to decide on it.
fn reminder(series: &Series) -> String {
    let mut text = String::new();
    match series.remaining.is_empty() {
        true => text.push_str("\n\nAll commands have run. Summarize the results"),
        false => {
            text.push_str("\n\nThe remaining commands, in order:");
            for command in &series.remaining {
                text.push_str(&format!("\n- `{command}`"));
            }
            text.push_str("\nDecide how to continue");
        }
    }
    text.push_str(match series.remaining.is_empty() {
        true => {
            ", or run another one with a JSON object of the type {verdict: \"run\", command: string, reason: string}."
        }
        false => {
            " with a JSON object of the type {verdict: \"continue\" | \"stop\" | \"run\", command: string, reason: string}: \
             continue runs the next one, stop pauses, run runs the one in command first."
        }
    });
    text
}

/// The message to the model when the rest was skipped.
fn note_of_rest(series: &Series) -> Option<String> {
    let rest: Vec<String> = series.remaining.iter().map(|command| format!("`{command}`")).collect();
    (!rest.is_empty()).then(|| format!("[Not run: {}.]", rest.join(", ")))
}

/// The model has spoken while its verdict is waited for. Whether that was all that its words are for.
pub(super) fn replied(step: &mut Transition<'_>, request: &RequestId, words: &str, stop: Option<&StopReason>) -> bool {
    let Some((_, series)) = series(step).filter(|(_, series)| series.state == SeriesState::Judging) else {
        return false;
    };
    let Some(active) = step.session.active() else { return false };
    let last = series.results.last().map(|result| result.command.clone()).unwrap_or_default();
    let standing = SeriesContext { last: &last, remaining: &series.remaining };
    let form = active
        .answers_in_form()
        .then(|| recover(words.as_bytes(), stop.map_or(ReplyStop::Unknown, ReplyStop::from)))
        .filter(|read| read.found);
    let cut = stop == Some(&StopReason::MaxTokens) || form.as_ref().is_some_and(|read| read.truncated || read.blocked);
    let said = match (form, verdict::structured(words)) {
        _ if cut => SeriesVerdict::Pause("the model's reply was cut off".into()),
        (_, Some(said)) => said,
        (Some(read), None) if !read.answer.file_changes.is_empty() => {
            if series.remaining.is_empty() {
                return ended(step, request, series);
            }
            return change_first(step, request, read.answer, &series);
        }
        (Some(read), None) => {
            let proposed: Vec<String> = read.answer.commands.iter().map(|one| one.command.trim().to_owned()).collect();
            let mut text = read.answer.summary;
            read.answer.sections.iter().for_each(|section| text.push_str(&format!("\n{}", section.content)));
            verdict::verdict(&text, &proposed, standing)
        }
        (None, None) => verdict::verdict(words, &[], standing),
    };
    match said {
        SeriesVerdict::Run(commands) if is_too_much(&commands) || is_too_much(&series.remaining) => {
            pause(step, request, series, "the model proposes more commands than you can review".into());
        }
        SeriesVerdict::Run(commands) => {
            let series = Series { state: SeriesState::Running, ..series.first(commands) };
            say(step, request, series, String::new(), String::new());
            start(step);
        }
        _ if series.remaining.is_empty() => return ended(step, request, series),
        SeriesVerdict::Continue => start(step),
        SeriesVerdict::Pause(reason) => pause(step, request, series, reason),
    }
    true
}

/// All have run, and the model's words are its answer.
fn ended(step: &mut Transition<'_>, request: &RequestId, series: Series) -> bool {
    say(step, request, Series { state: SeriesState::Done, ..series }, String::new(), String::new());
    false
}

/// The model wants to mend files before it decides: they are changed, and it is asked again.
fn change_first(step: &mut Transition<'_>, request: &RequestId, answer: Answer, series: &Series) -> bool {
    step.emit(Some(request), AnswerFact { answer });
    let text = reminder(series).trim_start().to_owned();
    step.emit(Some(request), RequestFact::Steered { text, by: "engine".into() });
    batch::begin(step);
    true
}

fn pause(step: &mut Transition<'_>, request: &RequestId, series: Series, reason: String) {
    let series = Series { state: SeriesState::Paused, ..series };
    let (done, total, rest) = (series.done, series.total, series.remaining.len());
    let upcoming = series.remaining.first().cloned().unwrap_or_default();
    let ask = CommandsAsk::Paused { reason: reason.clone(), remaining: series.remaining.clone() };
    say(step, request, series, String::new(), reason);
    let question = CheckpointDraft {
        ask: Ask::Commands(ask),
        title: QuestionTitle::CommandsPaused(done, total, rest),
        choices: vec![
            answers::choice(answers::CONTINUE, AnswerLabel::GoOnWith(upcoming)),
            answers::choice(answers::TELL, AnswerLabel::TellModel),
            answers::leave(AnswerLabel::LeaveRest),
        ],
    };
    let Some(active) = step.session.active() else { return };
    if answers::approve(active) != Approve::Deny {
        return answers::ask(step, question, Status::NeedsUser);
    }
    let Some(checkpoint) = answers::open(step, question) else { return };
    answers::resolve(step, request, checkpoint, answers::SKIP, "approve deny");
    leave(step, request);
}

/// The message to the model when its commands are skipped, and a plan continues without them.
pub(super) const LEFT: &str = "[The user skipped these commands. Continue without them.]";

/// Nothing more of it runs: the request ends, unless it is a step of a plan.
fn leave(step: &mut Transition<'_>, request: &RequestId) {
    left(step, request);
    match step.session.active().is_some_and(|active| active.flow.is_under_way()) {
        true => super::nudge(step, request, LEFT),
        false => finish(step, request, Status::Completed, None),
    }
}

/// What has not run is left.
pub(super) fn left(step: &mut Transition<'_>, request: &RequestId) {
    let Some(series) = step.session.unfinished(request).and_then(|active| active.series.clone()) else { return };
    say(step, request, Series { state: SeriesState::Left, current: None, ..series }, String::new(), String::new());
}
