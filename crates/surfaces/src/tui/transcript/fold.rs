//! What facts add to the transcript. What they mean for the rest of the screen is not told here.

use std::time::Duration;

use trimtab_vocab::checkpoint::ChoiceText;
use trimtab_vocab::event::{
    AnswerFact, BannerFact, ChangeFact, CheckpointFact, CheckpointKind, CommandFact, CommandsFact, ContextFact,
    IntentFact, Level, ModelFact, PlanFact, ProposalFact, ReplyFact, RequestFact, SessionFact, StepsFact, ToolFact,
};
use trimtab_vocab::{Event, Fact, Message, Part, SeriesState, StepStatus};

use super::tool::CommandEntry;
use super::{LineMark, OpenQuestion, ReplyEntry, ToolEntry, Transcript, TranscriptEntry};
use crate::diff::grouped;
use crate::diff::written;
use crate::structured_answer::{self, StructuredAnswer};
use crate::words::{self, effects};

pub(super) fn fold_event(transcript: &mut Transcript, event: &Event) {
    if let Some(request) = &event.request {
        transcript.times.entry(request.clone()).or_default().observe(event);
    }
    if let (Some(request), Fact::Change(_) | Fact::Command(_)) = (&event.request, &event.fact) {
        transcript.done.entry(request.clone()).or_default().observe(&event.fact);
    }
    if matches!(event.fact, Fact::Reply(_) | Fact::Request(_)) {
        transcript.failure.clear();
    }
    match &event.fact {
        Fact::Request(fact) => requests(transcript, event, fact),
        Fact::Session(fact) => sessions(transcript, fact),
        Fact::Model(fact) => models(transcript, fact),
        Fact::Reply(fact) => replies(transcript, fact),
        Fact::Tool(fact) => tools(transcript, fact),
        Fact::Image(fact) => {
            if let Some(line) = words::of_picture(fact) {
                transcript.note(LineMark::Info, line.trim().to_owned());
            }
        }
        Fact::Command(fact) => commands(transcript, fact),
        Fact::Change(fact) => changes(transcript, fact),
        Fact::Proposal(ProposalFact::Opened { call: Some(call), operations, .. }) => {
            if let Some(tool) = transcript.tool(call) {
                tool.writes = written(operations);
            }
        }
        Fact::Commands(CommandsFact { series, progress, .. }) => {
            if !progress.is_empty() && series.total > 1 {
                transcript
                    .entries
                    .push(TranscriptEntry::Block { lines: progress.lines().map(str::to_owned).collect() });
            }
            if series.state == SeriesState::Done && series.total > 1 {
                let (ok, failed, done, total) = (series.ok, series.failed, series.done, series.total);
                let line = format!("🖥 CLI Execution  ✓ {ok}  ✗ {failed}  {done}/{total} ({}%)", series.percent);
                transcript.entries.push(TranscriptEntry::Block { lines: vec![line] });
            }
        }
        Fact::Plan(fact) => plans(transcript, fact),
        Fact::Intent(IntentFact { phrase, accepted: true, .. }) if !phrase.is_empty() => {
            transcript.note(LineMark::Info, format!("Heard “{phrase}”: going over from talk to work."));
        }
        Fact::Steps(StepsFact { todos }) if !transcript.in_plan => {
            let line =
                |todo: &trimtab_vocab::Todo| format!("  {} {}", if todo.completed { "☑" } else { "☐" }, todo.text);
            // The list as it is now stands in the panel; what is kept for later is the first and the last of it.
            let is_news = todos.iter().all(|todo| !todo.completed) || todos.iter().all(|todo| todo.completed);
            if is_news && !todos.is_empty() {
                transcript.entries.push(TranscriptEntry::Block { lines: todos.iter().map(line).collect() });
            }
        }
        Fact::Checkpoint(fact) => questions(transcript, fact),
        Fact::Context(ContextFact::Compressed { before, after, .. }) => {
            let (before, after) = (grouped(*before), grouped(*after));
            transcript.note(LineMark::Quiet, format!("Earlier turns were summed up: {before} → {after} tokens. Nothing is lost; the transcript has it all."));
        }
        Fact::Banner(BannerFact { level, text }) => {
            let mark = if *level == Level::Info { LineMark::Info } else { LineMark::Warning };
            transcript.note(mark, text.clone());
        }
        Fact::Answer(AnswerFact { answer }) => {
            let summary = answer.summary.trim();
            let is_said = !summary.is_empty() && last_reply(transcript).is_some_and(|reply| reply.comes_to(summary));
            if !is_said && !summary.is_empty() {
                let mut reply = ReplyEntry::new(last_call(transcript));
                reply.push(&answer.summary);
                reply.end();
                transcript.entries.push(TranscriptEntry::Reply(reply));
            }
            if !answer.sections.is_empty() || !answer.next_steps.is_empty() {
                transcript.entries.push(TranscriptEntry::Answer { answer: Box::new(answer.clone()) });
            }
        }
        _ => {}
    }
}

/// What was asked and what came of it. Of a permission the line of its tool tells enough.
fn questions(transcript: &mut Transcript, fact: &CheckpointFact) {
    match fact {
        CheckpointFact::Opened { checkpoint, kind, title, choices, ask } => {
            if *kind == CheckpointKind::Permission {
                // Trust in the folder is asked for by whatever is next; another permission names its tool.
                let call = ask.call();
                for tool in transcript.tools().filter(|tool| tool.status.is_none()) {
                    tool.is_waiting = call.is_none_or(|call| *call == tool.call);
                }
            }
            let asked = OpenQuestion {
                is_permission: *kind == CheckpointKind::Permission,
                title: title.clone(),
                choices: choices.clone(),
            };
            transcript.asked.insert(checkpoint.clone(), asked);
        }
        CheckpointFact::Resolved { checkpoint, choice, text, by, .. } => {
            transcript.tools().for_each(|tool| tool.is_waiting = false);
            let Some(asked) = transcript.asked.remove(checkpoint) else { return };
            let known = asked.choices.iter().find(|known| known.id == *choice);
            let label = known.map_or(choice, |known| &known.label);
            let is_text = known.is_some_and(|known| known.text == ChoiceText::Required);
            let who = if by == "user" { String::new() } else { format!(" (by {by})") };
            let words = text.as_deref().filter(|text| !text.starts_with(['{', '['])).unwrap_or_default();
            let answer = match (words.is_empty(), is_text) {
                (true, _) => label.clone(),
                (false, true) => words.to_owned(),
                (false, false) => format!("{label}: {words}"),
            };
            if !(asked.is_permission && by == "user" && words.is_empty()) {
                let title = asked.title.lines().next().unwrap_or_default();
                transcript.note(LineMark::Quiet, format!("{title} → {answer}{who}"));
            }
        }
    }
}

/// The last words of a model since the person spoke.
fn last_reply(transcript: &mut Transcript) -> Option<&mut ReplyEntry> {
    let mut since =
        transcript.entries.iter_mut().rev().take_while(|entry| !matches!(entry, TranscriptEntry::Said { .. }));
    since.find_map(|entry| if let TranscriptEntry::Reply(reply) = entry { Some(reply) } else { None })
}

fn last_call(transcript: &Transcript) -> trimtab_vocab::CallId {
    let call = transcript.entries.iter().rev().find_map(|entry| match entry {
        TranscriptEntry::Reply(reply) => Some(reply.call.clone()),
        TranscriptEntry::Tool(tool) => Some(tool.call.clone()),
        _ => None,
    });
    // Any name does: nothing is looked up by it.
    call.unwrap_or_else(|| "answer".parse().unwrap_or_else(|_| unreachable!("a plain word is a name")))
}

fn requests(transcript: &mut Transcript, event: &Event, fact: &RequestFact) {
    match fact {
        RequestFact::Received { text, pill, images, settings, .. } => {
            transcript.in_form = structured_answer::is_used(settings, !images.is_empty());
            let note = pill.as_ref().map(|pill| format!("calls the workflow {}", pill.from));
            transcript.entries.push(TranscriptEntry::Said { text: text.clone(), note });
        }
        RequestFact::Joined { text, checkpoint, .. } => {
            let note = match checkpoint {
                Some(_) => "taken as your answer",
                None => "passed on: the model reads it at its next step",
            };
            transcript.entries.push(TranscriptEntry::Said { text: text.clone(), note: Some(note.into()) });
        }
        RequestFact::Steered { text, by } if by == "user" => {
            transcript.entries.push(TranscriptEntry::Said { text: text.clone(), note: None });
        }
        RequestFact::Finished { status, error, usage, .. } => {
            finish_open(transcript);
            transcript.in_plan = false;
            let elapsed = event.request.as_ref().and_then(|request| transcript.times.get(request));
            let took = elapsed.filter(|elapsed| elapsed.is_known()).map(|elapsed| elapsed.at(event.time));
            let (error, usage) = (error.clone(), *usage);
            let done = event.request.as_ref().and_then(|request| transcript.done.get(request)?.line());
            transcript.entries.push(TranscriptEntry::Ended { status: *status, error, took, usage, done });
        }
        _ => {}
    }
}

/// What was under way and will not be told of any more.
fn finish_open(transcript: &mut Transcript) {
    let printed = transcript.printed.min(transcript.entries.len());
    for entry in &mut transcript.entries[printed..] {
        match entry {
            TranscriptEntry::Reply(reply) => reply.end(),
            TranscriptEntry::Tool(tool) if tool.status.is_none() => {
                tool.status = Some(trimtab_vocab::event::ToolStatus::Interrupted)
            }
            _ => {}
        }
    }
}

fn sessions(transcript: &mut Transcript, fact: &SessionFact) {
    match fact {
        SessionFact::Handoff { child, change_sets, .. } => {
            let changes = match change_sets.len() {
                0 => String::new(),
                1 => " 1 change went with it.".into(),
                all => format!(" {all} changes went with it."),
            };
            transcript.note(LineMark::Info, format!("The work goes on in a new session, {child}.{changes}"));
        }
        SessionFact::Inherited { text, .. } => {
            transcript.entries.push(TranscriptEntry::Block { lines: text.lines().map(str::to_owned).collect() });
        }
        SessionFact::Forked { from, .. } => transcript.note(LineMark::Info, format!("Forked from session {from}.")),
        SessionFact::Extended { .. } => transcript.note(LineMark::Info, words::EXTENDED),
        SessionFact::Refused { reason } => transcript.note(LineMark::Warning, reason.clone()),
        _ => {}
    }
}

fn models(transcript: &mut Transcript, fact: &ModelFact) {
    match fact {
        ModelFact::Called { call, purpose, .. } => {
            transcript.aside = purpose.as_ref().map(|_| call.clone());
        }
        ModelFact::Failed { call, error, retry_in_ms } => {
            if let Some(reply) = transcript.reply(call) {
                reply.end();
            }
            if let Some(millis) = retry_in_ms {
                let when = match millis {
                    0 => "now".to_owned(),
                    millis => format!("in {:.1} s", *millis as f64 / 1_000.0),
                };
                let what = words::failed(&mut transcript.failure, &error.message);
                transcript.note(LineMark::Warning, format!("{what} Trying again {when}."));
            }
        }
    }
}

fn replies(transcript: &mut Transcript, fact: &ReplyFact) {
    match fact {
        ReplyFact::Delta { call, .. } | ReplyFact::Saved { call, .. } if transcript.aside.as_ref() == Some(call) => {}
        ReplyFact::Delta { call, text } => {
            if transcript.reply(call).is_none() {
                let speech = StructuredAnswer::new(transcript.in_form);
                transcript.entries.push(TranscriptEntry::Reply(ReplyEntry::with_answer(call.clone(), speech)));
            }
            if let Some(reply) = transcript.reply(call) {
                reply.push(text);
            }
        }
        ReplyFact::Saved { call, message, partial, .. } => {
            let thought = thoughts(message);
            let words = message.text();
            let is_known = transcript.reply(call).is_some();
            if !thought.trim().is_empty() {
                let at = transcript
                    .entries
                    .iter()
                    .rposition(|entry| matches!(entry, TranscriptEntry::Reply(reply) if reply.call == *call));
                let at = at.filter(|at| {
                    *at >= transcript.printed
                        && matches!(&transcript.entries[*at], TranscriptEntry::Reply(reply) if !reply.is_begun)
                });
                let at = at.unwrap_or(transcript.entries.len());
                transcript.entries.insert(at, TranscriptEntry::Thought { text: thought });
            }
            if !is_known && !StructuredAnswer::new(transcript.in_form).take(&words).trim().is_empty() {
                let speech = StructuredAnswer::new(transcript.in_form);
                transcript.entries.push(TranscriptEntry::Reply(ReplyEntry::with_answer(call.clone(), speech)));
            }
            if let Some(reply) = transcript.reply(call) {
                reply.complete(&words);
                reply.end();
            }
            if *partial && !words.trim().is_empty() {
                transcript.note(LineMark::Quiet, "The reply broke off here.");
            }
        }
    }
}

fn thoughts(message: &Message) -> String {
    let thought = |part: &Part| if let Part::Thinking { text, .. } = part { Some(text.clone()) } else { None };
    message.parts.iter().filter_map(thought).collect::<Vec<_>>().join("\n")
}

fn tools(transcript: &mut Transcript, fact: &ToolFact) {
    match fact {
        ToolFact::Started { call, name, input } => {
            // Steps, plans and questions have places of their own. A tool that waited for its permission is told once.
            let is_told = !matches!(name.as_str(), "set_steps" | "propose_plan" | "ask_user");
            if is_told && transcript.tool(call).is_none() {
                let tool = ToolEntry::new(call.clone(), name.clone(), input.clone());
                transcript.entries.push(TranscriptEntry::Tool(Box::new(tool)));
            }
        }
        ToolFact::Finished { call, status, preview, .. } => {
            if let Some(tool) = transcript.tool(call) {
                tool.status = Some(*status);
                if tool.command.is_none() || tool.preview.is_empty() {
                    tool.preview.clone_from(preview);
                }
            }
        }
        ToolFact::Stopping { .. } => {}
    }
}

fn commands(transcript: &mut Transcript, fact: &CommandFact) {
    match fact {
        CommandFact::Started { call: Some(call), command, edited_from, .. } => {
            if let Some(tool) = transcript.tool(call) {
                tool.command = Some(CommandEntry::default());
                if edited_from.is_some() {
                    tool.effects.push("as you have edited it".into());
                    tool.input["command"] = command.clone().into();
                }
            }
        }
        CommandFact::Output { call: Some(call), text } => {
            if let Some(command) = transcript.tool(call).and_then(|tool| tool.command.as_mut()) {
                command.push(text);
            }
        }
        CommandFact::Finished { call, exit_code, signal, timed_out, duration_ms, preview, unobserved, .. } => {
            let told = unobserved.filter(|_| !std::mem::replace(&mut transcript.unobserved, true));
            let Some(tool) = call.as_ref().and_then(|call| transcript.tool(call)) else { return };
            let command = tool.command.get_or_insert_default();
            (command.exit_code, command.timed_out, command.is_over) = (*exit_code, *timed_out, true);
            command.signal.clone_from(signal);
            command.took = duration_ms.map(Duration::from_millis);
            tool.preview.clone_from(preview);
            if let Some(why) = told {
                tool.effects.push(format!("what commands do to files is not recorded here: {}", why.words()));
            }
        }
        _ => {}
    }
}

fn changes(transcript: &mut Transcript, fact: &ChangeFact) {
    let list = |files: &[trimtab_vocab::event::ChangedFile]| {
        let names: Vec<&str> = files.iter().take(5).map(|file| file.path.as_str()).collect();
        format!("{}{}", names.join(", "), if files.len() > 5 { ", …" } else { "" })
    };
    match fact {
        ChangeFact::Applied(change) => match &change.by {
            Some(by) => {
                let lines = effects::after(change, by);
                if let Some(tool) = transcript.tool(&by.call) {
                    tool.effects.extend(lines);
                }
            }
            None => {
                let open = transcript.entries.iter_mut().rev().find_map(|entry| match entry {
                    TranscriptEntry::Tool(tool) if !tool.writes.is_empty() && tool.changed.is_empty() => Some(tool),
                    _ => None,
                });
                match open {
                    Some(tool) => tool.changed.clone_from(&change.files),
                    None => transcript.note(LineMark::Info, format!("Changed {}", list(&change.files))),
                }
            }
        },
        ChangeFact::Reverted(change) => transcript.note(LineMark::Info, format!("Taken back: {}", list(&change.files))),
        ChangeFact::Reapplied(change) => {
            transcript.note(LineMark::Info, format!("Brought forward: {}", list(&change.files)))
        }
        ChangeFact::Refused { reason, .. } => transcript.note(LineMark::Warning, reason.clone()),
        ChangeFact::Moving { .. } | ChangeFact::Inherited(_) | ChangeFact::Expired { .. } => {}
    }
}

fn plans(transcript: &mut Transcript, fact: &PlanFact) {
    let PlanFact::Step { number, of, title, status, note, .. } = fact else { return };
    transcript.in_plan = true;
    match status {
        StepStatus::Running => transcript.note(LineMark::Info, format!("Step {number} of {of}: {title}")),
        StepStatus::Skipped => transcript.note(LineMark::Quiet, format!("Step {number} of {of} is left out: {title}")),
        StepStatus::Failed => {
            transcript.note(LineMark::Warning, format!("Step {number} of {of} is not done: {title}. {note}"))
        }
        StepStatus::Done => transcript.note(LineMark::Good, format!("Step {number} of {of} is done: {title}")),
    }
}
