//! What of a request is shown, and how: the words of its answer, a line for what happens meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use trimtab_host::{Client, Sent};
use trimtab_vocab::event::{
    AnswerFact, BannerFact, ChangeFact, CheckpointFact, Choice, CommandFact, CommandsFact, IntentFact, Level,
    ModelFact, PlanFact, ProposalFact, ReplyFact, RequestFact, RuleFact, SessionFact, StageFact, Status, StepsFact,
    ToolFact, ToolStatus,
};
use trimtab_vocab::{
    CallId, CheckpointId, Event, Fact, FileWrite, Message, Part, Problem, Rule, SeriesState, StepStatus,
};

use super::{Attendance, OutputForm, choice_line, describe};
use crate::cli::diff::glimpse;
use crate::cli::output::{calm, failed, no_colour, note, note_ink, note_part, print, print_exact, print_json, problem};
use crate::cli::{CliOutcome, handoff, memory};
use crate::diff::{LoadedDiff, written};
use crate::output::{Ink, StdStream};
use crate::structured_answer::{self, StructuredAnswer};
use crate::words::elapsed::{Elapsed, in_words};
use crate::words::{self, effects, one_line, tool_line};

pub(super) struct RunPrinter {
    form: OutputForm,
    /// Standard output is a terminal: words appear as they come.
    live: bool,
    /// Standard error is a terminal: a line there can move.
    moving: bool,
    /// What was shown of the reply that is coming.
    shown: String,
    /// What had been shown of the reply that broke off before it; it is not shown again.
    shown_before: String,
    /// How the last call failed, if nothing was heard since.
    failure: String,
    /// When a failed call is made again.
    again_at: Option<Instant>,
    /// It was said that what commands do to files is not seen.
    unobserved: bool,
    /// The last line on standard output has no end yet.
    line_is_open: bool,
    label: String,
    line_is_drawn: bool,
    began: Instant,
    elapsed: Elapsed,
    answered: bool,
    /// The choices of what was asked and not answered.
    asked: Option<Vec<Choice>>,
    /// A call whose words are not for the person.
    aside: Option<CallId>,
    /// The change that was proposed last.
    proposed: Vec<FileWrite>,
    /// The model answers in the form of those without tools,
    in_form: bool,
    /// and which of what it says is words.
    speech: StructuredAnswer,
    /// Tools that run, by call.
    tools: BTreeMap<CallId, String>,
    /// The step of a plan that is carried out; 0: none yet.
    step: u32,
    /// What was recorded before this is known already, and not shown.
    since: u64,
    /// The fact that was seen last.
    last: Option<u64>,
}

/// What a script says that ends because somebody at another screen is asked.
pub(in crate::cli) const ASKED_ELSEWHERE: &str =
    "It is asked at another screen, and stays open: answer it there, or with `trimtab answer`.";
/// Blanks the line that the cursor is in.
const CLEAR_LINE: &str = "\r\u{1b}[K";
/// Lines of a change that are shown before a question.
const SHOWN_DIFF: usize = 60;

pub(super) fn wants_tools(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::ToolUse(_)))
}

pub(super) fn status_word(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Blocked => "denied:",
        ToolStatus::Interrupted => "stopped:",
        _ => "failed:",
    }
}

impl RunPrinter {
    pub(super) fn new(form: OutputForm) -> Self {
        let terminal = |is: bool| is && form == OutputForm::Text;
        Self {
            form,
            live: terminal(StdStream::Out.is_terminal()),
            moving: terminal(StdStream::Err.is_terminal()),
            shown: String::new(),
            shown_before: String::new(),
            failure: String::new(),
            again_at: None,
            unobserved: false,
            line_is_open: false,
            label: String::new(),
            line_is_drawn: false,
            began: Instant::now(),
            elapsed: Elapsed::default(),
            answered: false,
            asked: None,
            aside: None,
            proposed: Vec::new(),
            in_form: false,
            speech: StructuredAnswer::default(),
            tools: BTreeMap::new(),
            step: 0,
            since: 0,
            last: None,
        }
    }

    /// A screen that shows nothing of what was recorded before `seq`.
    pub(super) fn since(form: OutputForm, seq: u64) -> Self {
        Self { since: seq, ..Self::new(form) }
    }

    /// Says what is asked, with the change it is about.
    pub(super) async fn announce(&mut self, client: &Client, event: &Event, checkpoint: &CheckpointId) {
        if self.form != OutputForm::Text {
            return;
        }
        self.say("");
        let writes = std::mem::take(&mut self.proposed);
        match LoadedDiff::load(client, &event.session, &writes).await {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                let rest = format!("`trimtab diff {checkpoint} --all` shows all of it.");
                note_ink(&glimpse(&files, SHOWN_DIFF, &rest));
            }
            // The question is asked all the same; whoever answers knows what they have not seen.
            Err(missing) => problem(&missing),
        }
        describe(event);
    }

    pub(super) fn show_plan(&mut self, fact: &PlanFact) -> Result<(), Problem> {
        let PlanFact::Step { number, of, title, status, note: words, .. } = fact else { return Ok(()) };
        let live = !self.shown.is_empty();
        self.end_shown()?;
        self.step = *number;
        match status {
            StepStatus::Running => self.say(&format!("Step {number} of {of}: {title}")),
            StepStatus::Skipped => self.say(&format!("Step {number} of {of} is left out: {title}")),
            // The model's words are on the screen where they appear as they come.
            StepStatus::Done | StepStatus::Failed if live || words.is_empty() => {}
            // Those of the last step are the answer, which follows.
            StepStatus::Done if number == of => {}
            StepStatus::Done => self.say(&format!("  done: {words}")),
            StepStatus::Failed => self.say(&format!("  not done: {words}")),
        }
        Ok(())
    }

    /// The words were passed on to a request that cannot go on without an answer: says which.
    pub(super) async fn still_open(&mut self, client: &Client, sent: &Sent) -> Result<CliOutcome, Problem> {
        let open = client.requests().checkpoints().await?;
        if self.form == OutputForm::Text {
            self.say("It waits for an answer first:");
            open.iter().filter(|event| event.request.as_ref() == Some(&sent.request)).for_each(describe);
            note("It stays open, whatever happens: see `trimtab checkpoints`, and go on with `trimtab answer`.");
        }
        Ok(CliOutcome::Finished(Status::NeedsUser))
    }

    /// It cannot go on before somebody answers what is asked at another screen: says so, and whether that is the end of
    /// it. A person at the terminal may wait; a script does not, and its words are not lost.
    pub(super) fn held_up(&mut self, open: &Event, asking: Attendance) -> Result<bool, Problem> {
        let ends = asking != Attendance::AtTheTerminal;
        match self.form {
            // What is asked of this request itself was printed as it came.
            OutputForm::Json if self.last != open.seq => print_json(open)?,
            OutputForm::Json => {}
            OutputForm::Text => {
                self.say("It waits for an answer first:");
                describe(open);
                note(
                    "Answer it where it is asked, or with `trimtab answer`; `trimtab checkpoints` lists what is open.",
                );
                if ends {
                    note("What you said is kept, and has its turn after the answer.");
                }
            }
        }
        Ok(ends)
    }

    /// It is asked at another screen, where somebody has taken the request up: says so.
    pub(super) fn asked_elsewhere(&mut self, open: &Event) {
        if self.form == OutputForm::Text {
            self.say("");
            describe(open);
            note(ASKED_ELSEWHERE);
        }
    }

    fn show_tool(&mut self, fact: &ToolFact) {
        match fact {
            ToolFact::Started { call, name, input } => {
                let line = tool_line(name, input);
                self.say(&format!("· {line}"));
                self.label.clone_from(&line);
                self.tools.insert(call.clone(), line);
            }
            ToolFact::Finished { call, status, preview, .. } => {
                let line = self.tools.remove(call).unwrap_or_default();
                if !matches!(status, ToolStatus::Ok | ToolStatus::Partial) {
                    let why: String = words::result_for_person(preview).unwrap_or_default().chars().take(200).collect();
                    // A call that began before this process did has no line here.
                    let gap = if line.is_empty() || why.is_empty() { "" } else { ": " };
                    self.say(&format!("  {} {line}{gap}{why}", status_word(*status)));
                }
            }
            ToolFact::Stopping { .. } => {}
        }
    }

    /// The block of lines after each of several commands, and the tally at their end.
    fn show_commands(&mut self, fact: &CommandsFact) {
        let CommandsFact { series, progress, .. } = fact;
        if !progress.is_empty() && series.total > 1 {
            progress.lines().for_each(|line| self.say(line));
        }
        if series.state == SeriesState::Done && series.total > 1 {
            let (ok, failed, done, total) = (series.ok, series.failed, series.done, series.total);
            self.say(&format!("🖥 CLI Execution  ✓ {ok}  ✗ {failed}  {done}/{total} ({}%)", series.percent));
        }
    }

    pub(super) fn show(&mut self, event: &Event) -> Result<Option<Status>, Problem> {
        let finished = match &event.fact {
            Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
            _ => None,
        };
        self.elapsed.observe(event);
        self.last = event.seq.or(self.last);
        match self.form {
            OutputForm::Json => print_json(event)?,
            OutputForm::Text if event.seq.is_some_and(|seq| seq < self.since) => {
                self.pass(&event.fact);
                return Ok(finished);
            }
            OutputForm::Text => self.show_in_words(&event.fact)?,
        }
        if finished.is_some() && self.moving && self.elapsed.is_known() {
            note(&format!("Took {}.", in_words(self.elapsed.at(event.time))));
        }
        Ok(finished)
    }

    /// Takes note of what is not shown, for what comes after it.
    fn pass(&mut self, fact: &Fact) {
        match fact {
            Fact::Stage(StageFact { label, .. }) => self.label.clone_from(label),
            Fact::Request(RequestFact::Received { images, settings, .. }) => {
                self.in_form = structured_answer::is_used(settings, !images.is_empty());
            }
            Fact::Tool(ToolFact::Started { call, name, input }) => {
                self.tools.insert(call.clone(), tool_line(name, input));
            }
            Fact::Tool(ToolFact::Finished { call, .. }) => drop(self.tools.remove(call)),
            Fact::Command(CommandFact::Finished { unobserved: Some(_), .. }) => self.unobserved = true,
            Fact::Plan(PlanFact::Step { number, .. }) => self.step = *number,
            Fact::Proposal(ProposalFact::Opened { operations, .. }) => self.proposed = written(operations),
            Fact::Change(ChangeFact::Applied(_)) => self.proposed.clear(),
            Fact::Checkpoint(fact) => self.see_asked(fact),
            _ => {}
        }
    }

    fn see_asked(&mut self, fact: &CheckpointFact) {
        self.asked = match fact {
            CheckpointFact::Opened { choices, .. } => Some(choices.clone()),
            CheckpointFact::Resolved { .. } => None,
        };
    }

    fn show_in_words(&mut self, fact: &Fact) -> Result<(), Problem> {
        if matches!(fact, Fact::Reply(_)) {
            self.failure.clear();
        }
        match fact {
            Fact::Stage(StageFact { label, .. }) => self.label.clone_from(label),
            Fact::Request(RequestFact::Received { .. }) => self.pass(fact),
            Fact::Request(RequestFact::Joined { checkpoint: Some(checkpoint), .. }) => {
                self.say(&format!("Taken as the answer to what is asked ({checkpoint})."));
            }
            Fact::Request(RequestFact::Joined { .. }) => {
                self.say("Passed on to the request that runs: the model reads it at its next step (--queue and --replace do otherwise).");
            }
            // A summary of the conversation is not said to the person.
            Fact::Reply(ReplyFact::Delta { call, .. }) if self.aside.as_ref() == Some(call) => {}
            Fact::Reply(ReplyFact::Delta { text, .. }) if self.live => {
                let words = self.speech.take(text).into_owned();
                if !words.is_empty() {
                    self.clear_line();
                }
                self.shown.push_str(&words);
                let news = self.news(&words);
                if !news.is_empty() {
                    print(&news)?;
                    self.line_is_open = !news.ends_with('\n');
                }
            }
            Fact::Model(ModelFact::Called { call, purpose, .. }) => {
                self.again_at = None;
                self.aside = (!purpose.is_turn()).then(|| call.clone());
                self.speech = StructuredAnswer::new(self.in_form);
                // What an earlier call said has been read, and is no part of what this one says.
                if self.in_form && self.aside.is_none() {
                    self.end_shown()?;
                }
            }
            Fact::Reply(ReplyFact::Saved { call, .. }) if self.aside.as_ref() == Some(call) => {}
            Fact::Reply(ReplyFact::Saved { partial: false, message, .. }) if wants_tools(message) => {
                // Words before tools are on the way to an answer, not the answer.
                if self.shown.is_empty() && !message.text().trim().is_empty() {
                    self.say(&calm(message.text().trim()));
                } else {
                    self.end_shown()?;
                }
            }
            Fact::Tool(fact) => self.show_tool(fact),
            Fact::Image(fact) => {
                if let Some(line) = words::of_picture(fact) {
                    self.say(&line);
                }
            }
            Fact::Command(CommandFact::Output { text, .. }) if self.moving => {
                self.clear_line();
                // A line that is drawn over and over becomes a line each time.
                note_part(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            Fact::Command(CommandFact::Finished { preview, unobserved, .. }) => {
                // Whoever could not watch it sees what it came to.
                let unseen = if self.moving { "" } else { preview.as_str() };
                for line in unseen.lines() {
                    self.say(&format!("  | {}", calm(line)));
                }
                if let Some(why) = unobserved.filter(|_| !self.unobserved) {
                    self.unobserved = true;
                    self.say(&format!("  what commands do to files is not recorded here: {}", why.words()));
                }
            }
            Fact::Change(ChangeFact::Applied(change)) if let Some(by) = &change.by => {
                effects::after(change, by).iter().for_each(|line| self.say(line));
            }
            Fact::Change(ChangeFact::Applied(change)) => {
                self.proposed.clear();
                for file in &change.files {
                    let what = match (file.is_new, file.is_deleted) {
                        (true, _) => "created",
                        (_, true) => "deleted",
                        _ => "changed",
                    };
                    self.say(&format!("  {what} {} (+{} -{})", file.path, file.added, file.removed));
                }
            }
            Fact::Proposal(ProposalFact::Opened { operations, .. }) => {
                self.proposed = written(operations);
            }
            Fact::Commands(fact) => self.show_commands(fact),
            Fact::Memory(fact) => {
                if let Some(words) = memory::in_words(fact) {
                    self.say(&words);
                }
            }
            Fact::Rule(RuleFact::Added { rule }) if rule.tool != Rule::TRUST => {
                self.say(&format!("  new rule: {rule}"))
            }
            // A plan is listed once, and then each step is told as it begins and ends.
            Fact::Steps(_) if self.step > 0 => {}
            Fact::Plan(fact) => self.show_plan(fact)?,
            Fact::Intent(IntentFact { phrase, accepted: true, .. }) if !phrase.is_empty() => {
                self.say(&format!("Heard “{phrase}”: going over from talk to work."));
            }
            Fact::Steps(StepsFact { todos }) => {
                for todo in todos {
                    self.say(&format!("  [{}] {}", if todo.completed { "x" } else { " " }, todo.text));
                }
            }
            Fact::Reply(ReplyFact::Saved { partial: true, message, .. }) => {
                let text = message.text();
                let words = StructuredAnswer::new(self.in_form).take(&text).into_owned();
                if self.shown.is_empty() && (!self.in_form || !words.is_empty()) {
                    self.quote(&words);
                } else {
                    self.end_line()?;
                }
            }
            Fact::Model(ModelFact::Failed { error, retry_in_ms, .. }) => {
                self.shown_before = std::mem::take(&mut self.shown);
                self.end_line()?;
                self.again_at = retry_in_ms.map(|millis| Instant::now() + Duration::from_millis(millis));
                if let Some(millis) = retry_in_ms {
                    let when = match millis {
                        0 => "now".to_owned(),
                        millis => format!("in {:.1} s", *millis as f64 / 1_000.0),
                    };
                    let what = failed(&mut self.failure, &error.message);
                    self.say(&format!("{what} Trying again {when}."));
                }
            }
            Fact::Checkpoint(fact) => self.see_asked(fact),
            Fact::Session(SessionFact::Handoff { child, change_sets, prefill }) => {
                self.answered = true;
                let told = handoff::in_words(child, change_sets.len(), prefill.as_deref());
                self.say(&calm(told.trim_end()));
            }
            Fact::Session(SessionFact::Extended { .. }) => self.say(words::EXTENDED),
            Fact::Session(SessionFact::Refused { reason }) => self.say(reason),
            Fact::Banner(BannerFact { level, text }) => {
                let mark = if *level == Level::Info { "note" } else { "warning" };
                self.say(&format!("{mark}: {}", calm(text)));
            }
            Fact::Answer(AnswerFact { answer }) => {
                self.clear_line();
                self.answered = true;
                if self.live && self.shown == answer.summary && self.shown_before.is_empty() {
                    self.end_shown()?;
                } else {
                    self.end_shown()?;
                    print_exact(&with_line_end(answer.summary.clone()))?;
                }
                let sections = structured_answer::sections(&answer.sections);
                if !sections.is_empty() {
                    let gap = if answer.summary.trim().is_empty() { "" } else { "\n" };
                    print_exact(&with_line_end(format!("{gap}{sections}")))?;
                }
                for next in &answer.next_steps {
                    let text = words::step_text(&next.input_text);
                    let command = format!("trimtab run --continue {}", words::quoted(&text));
                    let label = next.label();
                    let name = if label == text { String::new() } else { format!("{}: ", one_line(&label)) };
                    self.say(&format!("next: {name}{command}"));
                }
            }
            Fact::Request(RequestFact::Finished { status, error, .. }) => {
                self.end_shown()?;
                self.clear_line();
                match (status, error) {
                    (_, Some(error)) => problem(error),
                    (Status::Cancelled, None) => note("Cancelled. What was said is kept in the session."),
                    (Status::NeedsUser | Status::Limit, None) if let Some(choices) = &self.asked => {
                        note("It stays open, whatever happens. Go on with `trimtab answer CHOICE`:");
                        choices.iter().for_each(|choice| note(&choice_line(choice)));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What of a piece is not on the screen yet. A reply that is asked for again often begins as the one
    /// that broke off; as long as it does, there is nothing new.
    fn news(&mut self, text: &str) -> String {
        if self.shown_before.is_empty() {
            return text.to_owned();
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

    /// Ends a line of words that were shown as they came.
    fn end_shown(&mut self) -> Result<(), Problem> {
        self.shown.clear();
        self.end_line()
    }

    fn end_line(&mut self) -> Result<(), Problem> {
        if std::mem::take(&mut self.line_is_open) {
            print("\n")?;
        }
        Ok(())
    }

    /// Shows words that had come before an interruption; they are not the answer.
    fn quote(&mut self, words: &str) {
        self.say("Before the interruption, the model had said:");
        for line in calm(words).lines() {
            note(&format!("  | {line}"));
        }
    }

    pub(super) fn say(&mut self, line: &str) {
        if self.form == OutputForm::Text {
            self.clear_line();
            // Should nobody read our output any more, the next word of it will tell.
            let _ = self.end_line();
            note(line);
        }
    }

    /// Redraws the moving line: what is being done, and for how long.
    pub(super) fn tick(&mut self) {
        if !self.moving || !self.shown.is_empty() || self.answered || self.label.is_empty() {
            return;
        }
        let elapsed = if self.elapsed.is_known() { self.elapsed.at(trimtab_host::now()) } else { self.began.elapsed() };
        let seconds = elapsed.as_secs_f64();
        let label = match self.again_at.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(left) => format!("Trying again in {:.1} s...", left.as_secs_f64()),
            None => self.label.clone(),
        };
        let mut ink = Ink::default();
        ink.control(CLEAR_LINE);
        if !no_colour() {
            ink.control("\u{1b}[2m");
        }
        ink.add(&format!("{} {seconds:.1}s", one_line(&label)));
        ink.control("\u{1b}[0m");
        note_ink(&ink);
        self.line_is_drawn = true;
    }

    pub(super) fn clear_line(&mut self) {
        if std::mem::take(&mut self.line_is_drawn) {
            let mut ink = Ink::default();
            ink.control(CLEAR_LINE);
            note_ink(&ink);
        }
    }

    pub(super) fn leave(&mut self, number: i32) -> CliOutcome {
        self.say("Stopped; nothing is lost. `trimtab resume` goes on from here.");
        CliOutcome::Left(number)
    }
}

pub(super) fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
