//! What the entries of a conversation add to the transcript. What events mean for the rest of the screen is not told
//! here.

use trimtab_vocab::event::{Level, RequestFact, Status};
use trimtab_vocab::format;
use trimtab_vocab::{Answer, BackgroundReason, CallId, Event, Fact, Pill, StepStatus, Todo};

use super::held::{HeldMessage, MessageTurn};
use super::tool::CommandEntry;
use super::{LineMark, ReplyEntry, ThoughtEntry, ToolEntry, Transcript, TranscriptEntry};
use crate::conversation::{
    AppliedChange, BackgroundNotice, Conversation, Entry, EntryChange, EntryUpdate, MessageVia, ModelReply,
    PlanProgress, ReplyState, RequestSummary, SessionNotice, ToolRun, UserMessage,
};
use crate::words::conversation as entry_words;
use crate::words::{self, effects};

pub(super) fn show_update(
    transcript: &mut Transcript,
    conversation: &Conversation,
    event: &Event,
    update: &EntryUpdate,
) {
    let change = &update.change;
    let is_new = *change == EntryChange::Added;
    if is_new && !matches!(conversation.entry(update.at), Entry::Retry(_) | Entry::UserMessage(_)) {
        tell_retries(transcript);
    }
    match conversation.entry(update.at) {
        Entry::UserMessage(message) => user_message(transcript, event, message),
        Entry::Reply(reply) => reply_changed(transcript, reply, change),
        Entry::Tool(tool) => tool_changed(transcript, tool, change, conversation.is_in_series(&tool.call)),
        Entry::Commands(series) => {
            if let EntryChange::Progress(progress) = change {
                block_of(transcript, &entry_words::series_progress(series, progress));
            }
        }
        Entry::Change(change) if is_new => changed(transcript, change),
        Entry::Question(asked) if *change == EntryChange::Ended => {
            if let Some(line) = entry_words::answered(asked) {
                transcript.note(LineMark::Quiet, line);
            }
        }
        Entry::PlanStep(step) => plan_step(transcript, step),
        Entry::Todos(todos) => todos_changed(transcript, todos),
        Entry::Subtasks(board) => {
            if let EntryChange::SubtaskMoved(id) = change
                && let Some(line) = board.task(id).and_then(words::subtasks::moved)
            {
                transcript.note(LineMark::Info, line);
            }
        }
        // The live line counts down; one line is left of all of them.
        Entry::Retry(retry) if is_new => {
            let times = transcript.retries.take().map_or(0, |(times, _)| times);
            transcript.retries = Some((times + 1, retry.error.message.clone()));
        }
        Entry::Banner { level, text } => {
            let mark = if *level == Level::Info { LineMark::Info } else { LineMark::Warning };
            transcript.note(mark, text.clone());
        }
        Entry::Image(fact) => {
            if let Some(line) = words::of_picture(fact) {
                transcript.note(LineMark::Info, line.trim().to_owned());
            }
        }
        Entry::Notice(notice) => noticed(transcript, notice),
        Entry::Answer { answer, said_by } => answered(transcript, answer, said_by.as_ref()),
        Entry::Summary(summary) => ended(transcript, summary),
        // What is asked stands in its dialog, and a plan with it.
        Entry::Change(_) | Entry::Question(_) | Entry::Retry(_) | Entry::Plan(_) => {}
    }
}

/// Of several retries in a row, one line stays.
fn tell_retries(transcript: &mut Transcript) {
    if let Some((times, why)) = transcript.retries.take() {
        let again = if times == 1 { "Retried once".to_owned() } else { format!("Retried {times} times") };
        transcript.note(LineMark::Quiet, format!("{again}: {}", words::sentence(&why)));
    }
}

fn block_of(transcript: &mut Transcript, lines: &[String]) {
    if !lines.is_empty() {
        transcript.entries.push(TranscriptEntry::Block { lines: lines.to_vec() });
    }
}

/// What a message that begins with a slash calls.
fn called(pill: &Pill) -> String {
    let what = if pill.skill.is_some() { "loads the skill" } else { "calls" };
    format!("{what} {}", pill.from)
}

fn user_message(transcript: &mut Transcript, event: &Event, message: &UserMessage) {
    let into = match &event.fact {
        Fact::Request(RequestFact::Joined { into, .. }) => Some(into),
        _ => event.request.as_ref(),
    };
    let (note, turn) = match &message.via {
        MessageVia::Request(pill) => {
            let request = event.request.clone().filter(|request| transcript.held.is_busy(Some(request)));
            (pill.as_ref().map(|pill| called(pill)), request.map(MessageTurn::Queued))
        }
        MessageVia::Answer(_) => (Some("taken as your answer".to_owned()), None),
        MessageVia::Steered if message.by != "user" => return,
        MessageVia::Joined | MessageVia::Steered => (None, into.cloned().map(MessageTurn::Steers)),
    };
    let (text, outputs) =
        (message.text.clone(), event.request.as_ref().and_then(|id| transcript.sent_outputs.remove(id)));
    match turn {
        Some(turn) => transcript.held.hold(HeldMessage { text, note, outputs, reason: None, turn }),
        None => transcript.entries.push(TranscriptEntry::Said { text, note, outputs }),
    }
}

fn reply_changed(transcript: &mut Transcript, reply: &ModelReply, change: &EntryChange) {
    match change {
        EntryChange::Said(words) | EntryChange::Completed(words) => {
            if transcript.reply(&reply.call).is_none() {
                transcript.entries.push(TranscriptEntry::Reply(ReplyEntry::new(reply.call.clone())));
            }
            transcript.reply(&reply.call).into_iter().for_each(|entry| entry.push(words));
        }
        EntryChange::Abandoned => transcript.reply(&reply.call).into_iter().for_each(ReplyEntry::end),
        EntryChange::Ended => {
            thought(transcript, reply);
            transcript.reply(&reply.call).into_iter().for_each(ReplyEntry::end);
            if reply.state == ReplyState::Partial && !reply.text.trim().is_empty() && !transcript.is_stopping {
                transcript.note(LineMark::Quiet, entry_words::REPLY_BROKE_OFF);
            }
        }
        // What was shown as it came stays.
        _ => {}
    }
}

/// What a model thought stands before what it said. Where it was not seen as it came and the reply is printed already, it
/// comes after it.
fn thought(transcript: &mut Transcript, reply: &ModelReply) {
    if reply.thinking.trim().is_empty() {
        return;
    }
    if let Some(thought) = transcript.thought(&reply.call) {
        thought.text.clone_from(&reply.thinking);
        return;
    }
    let is_of_reply = |entry: &TranscriptEntry| matches!(entry, TranscriptEntry::Reply(entry) if entry.call == reply.call && !entry.is_begun);
    let at = transcript.entries.iter().rposition(is_of_reply).filter(|at| *at >= transcript.printed);
    let at = at.unwrap_or(transcript.entries.len());
    let mut thought = ThoughtEntry::new(reply.call.clone(), transcript.shows_thinking);
    thought.text.clone_from(&reply.thinking);
    thought.end(None);
    transcript.entries.insert(at, TranscriptEntry::Thought(thought));
}

fn tool_changed(transcript: &mut Transcript, tool: &ToolRun, change: &EntryChange, is_in_series: bool) {
    if *change == EntryChange::Added {
        // Steps, plans and questions have places of their own.
        if !matches!(tool.name.as_str(), "set_steps" | "propose_plan" | "ask_user" | "") {
            let entry = ToolEntry::new(tool.call.clone(), tool.name.clone(), tool.input.clone());
            transcript.entries.push(TranscriptEntry::Tool(Box::new(entry)));
        }
        return;
    }
    let Some(entry) = transcript.tool(&tool.call) else { return };
    match change {
        EntryChange::CommandStarted => {
            entry.command = Some(CommandEntry::default());
            if tool.command.as_ref().is_some_and(|command| command.is_edited) {
                entry.effects.push("as you have edited it".into());
                entry.input.clone_from(&tool.input);
            }
        }
        EntryChange::Output(text) => entry.command.iter_mut().for_each(|command| command.push(text)),
        EntryChange::CommandEnded => {
            entry.is_in_series = is_in_series;
            let run = tool.command.clone().unwrap_or_default();
            entry.effects.extend(run.unobserved.map(entry_words::unobserved));
            entry.command.get_or_insert_default().run = run;
            entry.preview.clone_from(&tool.preview);
        }
        EntryChange::Proposed => entry.writes.clone_from(&tool.writes),
        EntryChange::FilesChanged => entry.changed.clone_from(&tool.changed),
        EntryChange::Waiting => entry.is_waiting = tool.is_waiting,
        EntryChange::Ended | EntryChange::Abandoned => {
            entry.status = tool.status;
            entry.preview.clone_from(&tool.preview);
        }
        _ => {}
    }
}

fn changed(transcript: &mut Transcript, change: &AppliedChange) {
    match (&change.call, &change.by) {
        (Some(call), Some(by)) => {
            let lines = effects::after(&change.files, by, "");
            transcript.tool(call).into_iter().for_each(|tool| tool.effects.extend(lines.iter().cloned()));
        }
        (Some(_), None) => {}
        (None, _) => {
            transcript.note(LineMark::Info, format!("Changed {}", entry_words::file_names(&change.files)));
        }
    }
}

fn plan_step(transcript: &mut Transcript, step: &PlanProgress) {
    let number = entry_words::step_number(step);
    let (mark, line) = match step.status {
        StepStatus::Running => (LineMark::Info, entry_words::step_began(step)),
        StepStatus::Skipped => (LineMark::Quiet, entry_words::step_skipped(step)),
        StepStatus::Failed => (LineMark::Warning, format!("{number} is not done: {}. {}", step.title, step.note)),
        StepStatus::Done => (LineMark::Good, format!("{number} is done: {}", step.title)),
    };
    transcript.note(mark, line);
}

/// The list as it is now stands in the panel; what is kept for later is the first and the last of it.
fn todos_changed(transcript: &mut Transcript, todos: &[Todo]) {
    let is_news = todos.iter().all(|todo| !todo.completed) || todos.iter().all(|todo| todo.completed);
    if is_news {
        let line = |todo: &Todo| format!("  {} {}", if todo.completed { "☑" } else { "☐" }, todo.text);
        block_of(transcript, &todos.iter().map(line).collect::<Vec<_>>());
    }
}

fn noticed(transcript: &mut Transcript, notice: &SessionNotice) {
    let (mark, line) = match notice {
        SessionNotice::Handoff { child, changes, .. } => {
            let changes = match changes {
                0 => String::new(),
                &all => format!(" It includes {}.", format::plural(all, "change")),
            };
            (LineMark::Info, format!("The work continues in a new session, {child}.{changes}"))
        }
        SessionNotice::Inherited { text, .. } => {
            return block_of(transcript, &words::handoff_summary(text));
        }
        SessionNotice::Forked { from, is_rewind: true } => (LineMark::Info, words::rewound_from(from)),
        SessionNotice::Forked { from, is_rewind: false } => (LineMark::Info, format!("Forked from session {from}.")),
        SessionNotice::Extended => (LineMark::Info, words::EXTENDED.to_owned()),
        SessionNotice::Refused { reason } | SessionNotice::MoveRefused { reason } => {
            (LineMark::Warning, reason.clone())
        }
        SessionNotice::Intent { phrase } => (LineMark::Info, entry_words::intent(phrase)),
        SessionNotice::Compressed { before, after } => {
            let line = words::compressed(*before, *after);
            (LineMark::Quiet, format!("{line}. The full text stays in the transcript."))
        }
        SessionNotice::Moved { undone, files } => {
            let what = if *undone { "Undid" } else { "Redid" };
            (LineMark::Info, format!("{what}: {}", entry_words::file_names(files)))
        }
        // The line of the tool and the row below say so.
        SessionNotice::Background(BackgroundNotice::Started {
            why: BackgroundReason::Started | BackgroundReason::Unknown,
            ..
        }) => return,
        SessionNotice::Background(notice) => {
            let mark = if notice.is_failure() { LineMark::Warning } else { LineMark::Info };
            (mark, words::background_notice(notice))
        }
        SessionNotice::Rule(_)
        | SessionNotice::Memory(_)
        | SessionNotice::Loaded
        | SessionNotice::Chosen
        | SessionNotice::Tasks(_) => return,
    };
    transcript.note(mark, line);
}

fn answered(transcript: &mut Transcript, answer: &Answer, said_by: Option<&CallId>) {
    let summary = answer.summary.trim();
    match said_by.and_then(|call| transcript.reply(call)) {
        Some(reply) => reply.becomes(summary),
        None if summary.is_empty() => {}
        None => {
            let mut reply = ReplyEntry::new(last_call(transcript));
            reply.push(&answer.summary);
            reply.end();
            transcript.entries.push(TranscriptEntry::Reply(reply));
        }
    }
    if !answer.sections.is_empty() || !answer.next_steps.is_empty() {
        transcript.entries.push(TranscriptEntry::Answer { answer: Box::new(answer.clone()) });
    }
}

fn last_call(transcript: &Transcript) -> CallId {
    let call = transcript.entries.iter().rev().find_map(|entry| match entry {
        TranscriptEntry::Reply(reply) => Some(reply.call.clone()),
        TranscriptEntry::Tool(tool) => Some(tool.call.clone()),
        _ => None,
    });
    // Any name does: nothing is looked up by it.
    call.unwrap_or_else(|| "answer".parse().unwrap_or_else(|_| unreachable!("a plain word is a name")))
}

fn ended(transcript: &mut Transcript, summary: &RequestSummary) {
    let is_warned = matches!(transcript.entries.last(), Some(TranscriptEntry::Note { mark: LineMark::Warning, .. }));
    transcript.entries.push(TranscriptEntry::Ended {
        is_warned,
        status: summary.status,
        error: summary.error.clone(),
        took: summary.took,
        usage: summary.usage,
        done: match summary.status {
            Status::NotDone => summary.work.facts(),
            _ => summary.work.line(),
        },
    });
}
