//! The entries of a conversation as lines: words of the answer on standard output, everything else on standard error.

use std::time::Duration;

use tokio::time::Instant;
use trimtab_vocab::event::{Level, Status, ToolStatus};
use trimtab_vocab::format;
use trimtab_vocab::{Answer, Problem, ProblemKind, Rule, StepStatus, Time};

use super::{OutputForm, choice_line};
use crate::cli::output::{no_colour, note, note_ink, note_part, print, print_exact, problem, sanitize, shows_thinking};
use crate::cli::{handoff, memory};
use crate::conversation::Elapsed;
use crate::conversation::{
    AppliedChange, CallRetry, CommandProgress, Conversation, Entry, EntryChange, EntryUpdate, MessageVia, ModelReply,
    PlanProgress, ReplyState, RequestSummary, SessionNotice, ToolRun, UserMessage,
};
use crate::output::{Ink, StdStream};
use crate::structured_answer;
use crate::words::conversation as entry_words;
use crate::words::{self, effects, one_line, tool_line};

/// How to start a step that the answer suggests.
const NEXT_STEP: &str = "To start one of them: trimtab run --continue \"…\"";
/// Blanks the line that the cursor is in.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// Standard output and standard error, while a request is followed.
pub(super) struct RunOutput {
    pub(super) form: OutputForm,
    /// Standard output is a terminal: words appear as they come.
    is_live: bool,
    /// Standard error is a terminal: a line there can move.
    pub(super) is_moving: bool,
    pub(super) line: MovingLine,
    streamed: StreamedWords,
    answered: bool,
}

/// The line that says what is being done, and for how long.
pub(super) struct MovingLine {
    pub(super) label: String,
    pub(super) elapsed: Elapsed,
    is_drawn: bool,
    began: Instant,
    /// When a failed call is made again.
    again_at: Option<Instant>,
}

impl MovingLine {
    /// How long the request took, where its beginning was seen.
    pub(super) fn took(&self, now: Time) -> Option<Duration> {
        self.elapsed.is_known().then(|| self.elapsed.at(now))
    }
}

/// Words of a reply that were shown as they came.
#[derive(Default)]
struct StreamedWords {
    /// What was shown of the reply that is coming.
    shown: String,
    /// What had been shown of the reply that broke off before it; it is not shown again.
    shown_before: String,
    /// The last line on standard output has no end yet.
    line_is_open: bool,
}

impl StreamedWords {
    /// What of a piece is not on the screen yet. A reply that is asked for again often begins as the one
    /// that broke off; as long as it does, there is nothing new.
    fn push(&mut self, words: &str) -> String {
        self.shown.push_str(words);
        if self.shown_before.is_empty() {
            return words.to_owned();
        }
        if self.shown_before.len() > self.shown.len() && self.shown_before.starts_with(&self.shown) {
            return String::new();
        }
        let before = std::mem::take(&mut self.shown_before);
        match self.shown.strip_prefix(&before) {
            Some(rest) => rest.to_owned(),
            None => self.shown.clone(),
        }
    }
}

impl RunOutput {
    pub(super) fn new(form: OutputForm) -> Self {
        Self {
            form,
            is_live: form == OutputForm::Text && StdStream::Out.is_terminal(),
            is_moving: form != OutputForm::Json && StdStream::Err.is_terminal(),
            line: MovingLine {
                label: String::new(),
                elapsed: Elapsed::default(),
                is_drawn: false,
                began: Instant::now(),
                again_at: None,
            },
            streamed: StreamedWords::default(),
            answered: false,
        }
    }

    pub(super) fn show_update(&mut self, conversation: &Conversation, update: &EntryUpdate) -> Result<(), Problem> {
        let is_new = update.change == EntryChange::Added;
        match conversation.entry(update.at) {
            Entry::UserMessage(message) => self.user_message(message),
            Entry::Reply(reply) => self.reply(reply, &update.change)?,
            Entry::Tool(tool) => self.tool(tool, &update.change, conversation.is_in_series(&tool.call)),
            Entry::Commands(series) => {
                if let EntryChange::Progress(progress) = &update.change {
                    entry_words::series_lines(series, progress).iter().for_each(|line| self.say(line));
                }
            }
            Entry::Change(change) if is_new => self.changed(change),
            Entry::PlanStep(step) => self.plan_step(step)?,
            Entry::Todos(todos) => {
                for todo in todos {
                    self.say(&format!("  [{}] {}", if todo.completed { "x" } else { " " }, todo.text));
                }
            }
            Entry::Subtasks(board) => {
                let lines = match &update.change {
                    EntryChange::SubtasksStarted => words::subtasks::started(board),
                    EntryChange::SubtaskMoved(id) => {
                        board.task(id).and_then(words::subtasks::moved).into_iter().collect()
                    }
                    _ => Vec::new(),
                };
                lines.iter().for_each(|line| self.say(&sanitize(line)));
            }
            Entry::Retry(retry) => self.retry(retry)?,
            Entry::Banner { level, text } => {
                let mark = if *level == Level::Info { "note" } else { "warning" };
                self.say(&format!("{mark}: {}", sanitize(text)));
            }
            Entry::Image(fact) => words::of_picture(fact).iter().for_each(|line| self.say(line)),
            Entry::Notice(notice) => self.notice(notice),
            Entry::Answer { answer, .. } => self.answer(answer)?,
            Entry::Summary(summary) => self.summary(conversation, summary)?,
            // A question is told by whoever asks it, and a plan with the question about it.
            Entry::Question(_) | Entry::Plan(_) | Entry::Change(_) => {}
        }
        Ok(())
    }

    fn user_message(&mut self, message: &UserMessage) {
        match &message.via {
            MessageVia::Answer(checkpoint) => {
                self.say(&format!("Used as the answer to the pending question ({checkpoint})."));
            }
            MessageVia::Joined => self.say("Sent to the running request. The model sees it at its next step. (Use --queue or --replace to change this.)"),
            MessageVia::Request(_) | MessageVia::Steered => {}
        }
    }

    fn reply(&mut self, reply: &ModelReply, change: &EntryChange) -> Result<(), Problem> {
        if *change == EntryChange::Ended && shows_thinking() && !reply.thinking.trim().is_empty() {
            self.say("Thought:");
            reply.thinking.trim().lines().for_each(|line| self.say(&format!("  | {}", sanitize(line))));
        }
        match change {
            EntryChange::Said(words) if self.is_live => self.stream(words),
            EntryChange::Ended if reply.state == ReplyState::Partial => {
                if self.streamed.shown.is_empty() && !reply.text.is_empty() {
                    self.quote(&reply.text);
                    return Ok(());
                }
                self.end_line()
            }
            // Words before tools are on the way to an answer, not the answer.
            EntryChange::Ended if reply.before_tools => {
                if self.streamed.shown.is_empty() && !reply.text.trim().is_empty() {
                    self.say(&sanitize(reply.text.trim()));
                    return Ok(());
                }
                self.end_shown()
            }
            _ => Ok(()),
        }
    }

    /// Prints the words of the reply that is coming, where they were not shown as they came.
    pub(super) fn show_rest(&mut self, conversation: &Conversation) {
        if self.is_live || self.form != OutputForm::Text {
            return;
        }
        let last = conversation.entries().iter().rev().find_map(|placed| match &placed.entry {
            Entry::Reply(reply) => Some(reply),
            _ => None,
        });
        if let Some(reply) = last.filter(|reply| reply.state == ReplyState::Live && !reply.text.trim().is_empty()) {
            // Nobody may be there to read it any more.
            let _ = print_exact(&with_line_end(reply.text.clone()));
        }
    }

    fn stream(&mut self, words: &str) -> Result<(), Problem> {
        self.clear_line();
        let added = self.streamed.push(words);
        if !added.is_empty() {
            print(&added)?;
            self.streamed.line_is_open = !added.ends_with('\n');
        }
        Ok(())
    }

    fn tool(&mut self, tool: &ToolRun, change: &EntryChange, is_in_series: bool) {
        match change {
            // A call that began before this process did has no name here.
            // The board tells what comes of it, line by line.
            EntryChange::Added if tool.name == "delegate" => {}
            EntryChange::Added if !tool.name.is_empty() => {
                self.streamed.shown.clear();
                let line = tool_line(&tool.name, &tool.input);
                self.say(&format!("· {line}"));
                self.line.label = line;
            }
            EntryChange::Output(text) if self.is_moving => {
                self.clear_line();
                // A line that is drawn over and over becomes a line each time.
                note_part(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            EntryChange::CommandEnded => {
                // Whoever could not watch it sees what it came to.
                let unseen = if self.is_moving || is_in_series { "" } else { tool.preview.as_str() };
                unseen.lines().for_each(|line| self.say(&format!("  | {}", sanitize(line))));
                if let Some(CommandProgress { unobserved: Some(why), .. }) = tool.command {
                    self.say(&format!("  {}", entry_words::unobserved(why)));
                }
            }
            EntryChange::Ended => self.tool_ended(tool),
            _ => {}
        }
    }

    fn tool_ended(&mut self, tool: &ToolRun) {
        let word = match tool.status {
            None | Some(ToolStatus::Ok | ToolStatus::Partial) => return,
            Some(ToolStatus::Blocked) => "denied:",
            Some(ToolStatus::Interrupted) if tool.command.is_none() => "not run:",
            Some(ToolStatus::Interrupted) => "stopped:",
            Some(ToolStatus::Error) => "failed:",
        };
        let line = if tool.name.is_empty() { String::new() } else { tool_line(&tool.name, &tool.input) };
        let why: String = words::result_for_person(&tool.result).unwrap_or_default().chars().take(200).collect();
        // What only the model has to know says nothing here; the request's end does.
        if line.is_empty() && why.is_empty() {
            return;
        }
        let gap = if line.is_empty() || why.is_empty() { "" } else { ": " };
        self.say(&format!("  {word} {line}{gap}{why}"));
    }

    fn changed(&mut self, change: &AppliedChange) {
        if let Some(by) = &change.by {
            return effects::after(&change.files, by, effects::UNDO_IN_SHELL).iter().for_each(|line| self.say(line));
        }
        for file in &change.files {
            let what = match (file.is_new, file.is_deleted) {
                (true, _) => "created",
                (_, true) => "deleted",
                _ => "changed",
            };
            self.say(&format!("  {what} {}{}", file.path, words::line_counts(file)));
        }
    }

    fn plan_step(&mut self, step: &PlanProgress) -> Result<(), Problem> {
        let is_on_screen = !self.streamed.shown.is_empty();
        self.end_shown()?;
        match step.status {
            StepStatus::Running => self.say(&entry_words::step_began(step)),
            StepStatus::Skipped => self.say(&entry_words::step_skipped(step)),
            // The model's words are on the screen where they appear as they come.
            StepStatus::Done | StepStatus::Failed if is_on_screen || step.note.is_empty() => {}
            // Those of the last step are the answer, which follows.
            StepStatus::Done if step.number == step.of => {}
            StepStatus::Done => self.say(&format!("  done: {}", step.note)),
            StepStatus::Failed => self.say(&format!("  not done: {}", step.note)),
        }
        Ok(())
    }

    fn retry(&mut self, retry: &CallRetry) -> Result<(), Problem> {
        if retry.is_over {
            self.line.again_at = None;
            return Ok(());
        }
        if retry.error.kind == ProblemKind::Loading {
            // The moving line says so, and for how long.
            if !self.is_moving {
                self.say(entry_words::LOADING_MODEL);
            }
            return Ok(());
        }
        self.streamed.shown_before = std::mem::take(&mut self.streamed.shown);
        self.end_line()?;
        self.line.again_at = Some(Instant::now() + Duration::from_millis(retry.in_ms));
        self.say(&entry_words::retry(retry));
        Ok(())
    }

    fn notice(&mut self, notice: &SessionNotice) {
        match notice {
            SessionNotice::Handoff { child, changes, prefill } => {
                self.answered = true;
                let told = handoff::in_words(child, *changes, prefill.as_deref());
                self.say(&sanitize(told.trim_end()));
            }
            SessionNotice::Extended => self.say(words::EXTENDED),
            SessionNotice::Background(notice) => self.say(&format!("  {}", words::background_notice(notice))),
            SessionNotice::Refused { reason } => self.say(reason),
            SessionNotice::Intent { phrase } => self.say(&entry_words::intent(phrase)),
            SessionNotice::Rule(rule) if rule.tool != Rule::TRUST => self.say(&format!("  new rule: {rule}")),
            SessionNotice::Memory(fact) => memory::in_words(fact).iter().for_each(|words| self.say(words)),
            SessionNotice::Rule(_)
            | SessionNotice::Inherited { .. }
            | SessionNotice::Forked { .. }
            | SessionNotice::Loaded
            | SessionNotice::Compressed { .. }
            | SessionNotice::Chosen
            | SessionNotice::Moved { .. }
            | SessionNotice::MoveRefused { .. }
            | SessionNotice::Tasks(_) => {}
        }
    }

    fn answer(&mut self, answer: &Answer) -> Result<(), Problem> {
        self.clear_line();
        self.answered = true;
        if matches!(self.form, OutputForm::Object { .. } | OutputForm::Quiet) {
            return Ok(());
        }
        let StreamedWords { shown, shown_before, .. } = &self.streamed;
        let is_on_screen = self.is_live && *shown == answer.summary && shown_before.is_empty();
        self.end_shown()?;
        if !is_on_screen {
            print_exact(&with_line_end(answer.summary.clone()))?;
        }
        let sections = structured_answer::sections(&answer.sections);
        if !sections.is_empty() {
            let gap = if answer.summary.trim().is_empty() { "" } else { "\n" };
            print_exact(&with_line_end(format!("{gap}{sections}")))?;
        }
        // Steps that the answer itself lists are not listed a second time.
        let is_listed = |text: &str| answer.summary.contains(text.trim());
        let steps = answer.next_steps.iter().map(|next| (next, words::step_text(&next.input_text)));
        let (listed, others): (Vec<_>, Vec<_>) = steps.partition(|(_, text)| is_listed(text));
        if !listed.is_empty() {
            self.say(NEXT_STEP);
        }
        for (next, text) in others {
            let command = format!("trimtab run --continue {}", words::quoted(&text));
            let label = next.label();
            let name = if label == text { String::new() } else { format!("{}: ", one_line(&label)) };
            self.say(&format!("next: {name}{command}"));
        }
        Ok(())
    }

    fn summary(&mut self, conversation: &Conversation, summary: &RequestSummary) -> Result<(), Problem> {
        self.end_shown()?;
        self.clear_line();
        let work = match summary.status {
            Status::NotDone => summary.work.facts(),
            // The request is not over, and its changes are listed above.
            Status::NeedsUser => None,
            _ => summary.work.line(),
        };
        if let Some(line) = work {
            self.say(&line);
        }
        match (summary.status, &summary.error) {
            (Status::NotDone, Some(error)) => {
                note(&error.message);
                error.hint.iter().for_each(|hint| note(&format!("  {hint}")));
            }
            (_, Some(error)) => problem(error),
            (Status::Cancelled, None) => note("Cancelled. The partial answer is saved."),
            (Status::NeedsUser | Status::Limit, None) if conversation.open_questions().count() > 1 => {
                note("Waiting for your answers. Reply with `trimtab answer CHECKPOINT CHOICE`:");
                for asked in conversation.open_questions() {
                    note(&format!("    {}  {}", asked.checkpoint, sanitize(&one_line(&asked.title))));
                }
                note("`trimtab checkpoints` lists their choices.");
            }
            (Status::NeedsUser | Status::Limit, None) if let Some(asked) = conversation.open_question() => {
                note("Waiting for your answer. Reply with `trimtab answer CHOICE`:");
                asked.choices.iter().for_each(|choice| note(&choice_line(choice)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends words that were shown as they came.
    pub(super) fn end_shown(&mut self) -> Result<(), Problem> {
        self.streamed.shown.clear();
        self.end_line()
    }

    fn end_line(&mut self) -> Result<(), Problem> {
        if std::mem::take(&mut self.streamed.line_is_open) {
            print("\n")?;
        }
        Ok(())
    }

    /// Shows words that had come before an interruption; they are not the answer.
    fn quote(&mut self, words: &str) {
        self.say("Before the interruption, the model wrote:");
        for line in sanitize(words).lines() {
            note(&format!("  | {line}"));
        }
    }

    pub(super) fn say(&mut self, line: &str) {
        if self.form != OutputForm::Json {
            self.clear_line();
            // Should nobody read our output any more, the next word of it will tell.
            let _ = self.end_line();
            note(line);
        }
    }

    /// Redraws the moving line.
    pub(super) fn tick(&mut self) {
        if !self.is_moving || !self.streamed.shown.is_empty() || self.answered || self.line.label.is_empty() {
            return;
        }
        let elapsed = self.line.took(trimtab_host::now()).unwrap_or_else(|| self.line.began.elapsed());
        let label = match self.line.again_at.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(left) => format!("{}...", entry_words::trying_again(left.as_millis() as u64)),
            None => self.line.label.clone(),
        };
        let mut ink = Ink::default();
        ink.control(CLEAR_LINE);
        if !no_colour() {
            ink.control("\u{1b}[2m");
        }
        ink.add(&format!("{} {}", one_line(&label), format::running_time(elapsed)));
        ink.control("\u{1b}[0m");
        note_ink(&ink);
        self.line.is_drawn = true;
    }

    pub(super) fn clear_line(&mut self) {
        if std::mem::take(&mut self.line.is_drawn) {
            let mut ink = Ink::default();
            ink.control(CLEAR_LINE);
            note_ink(&ink);
        }
    }
}

fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
