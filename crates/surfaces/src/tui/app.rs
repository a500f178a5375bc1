//! The state of the screen: a fold over what happens. It acts on nothing by itself, has no clock and knows no
//! terminal; what should be done is a [`Cmd`].

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui::layout::Size;
use ratatui::text::Line;
use trimtab_host::Sent;
use trimtab_vocab::event::{CheckpointFact, CommandFact, RequestFact, SessionFact, Status};
use trimtab_vocab::{
    Autonomy, AutonomyChoice, CallId, CheckpointId, Control, Effort, Event, Fact, Mode, Problem, ProblemKind,
    RequestId, SessionId, SubtaskStart, Time, WhileRunning,
};

use super::composer::{
    CompletionSource, Composer, ComposerDraft, ComposerOutcome as Typed, DraftKind, SavedComposer, Sending,
};
use super::dialog::{self, Dialogs};
use super::keys::{Chord, Key, KeyAction, KeyMap, TerminalInput};
use super::message::{Cmd, Msg, OutgoingMessage, UpdateContext};
use super::pane::activity::Activity;
use super::pane::background::RunningCommands;
use super::pane::batch::CommandBatchPane;
use super::pane::status::StatusLine;
use super::pane::steps::Steps;
use super::pane::sticky::Sticky;
use super::picker::PickerItem;
use super::server_login;
use super::setup::SetupDialog;
use super::shell_output::ShellOutputs;
use super::theme::Theme;
use super::trace::TraceSpans;
use super::transcript::{LineMark, Transcript};
use super::view::{self, Overlay};
use crate::diff::LoadedDiff;
use crate::slash::{self, SlashCommand, SlashReading, SlashSurface};
use crate::words;

/// How long the second of two keys may take.
const TWICE: i64 = 1_500;
/// How long a hint stays.
const HINT: i64 = 4_000;

/// The screen.
#[derive(Debug)]
pub(super) struct App {
    pub(super) theme: Theme,
    pub(super) keys: KeyMap,
    pub(super) size: Size,
    pub(super) now: Time,
    pub(super) session: Option<SessionId>,
    pub(super) transcript: Transcript,
    pub(super) trace: TraceSpans,
    pub(super) activity: Activity,
    pub(super) steps: Steps,
    pub(super) batch: CommandBatchPane,
    pub(super) sticky: Sticky,
    pub(super) commands: RunningCommands,
    pub(super) status: StatusLine,
    pub(super) dialogs: Dialogs,
    pub(super) composer: Composer,
    pub(super) view: Option<Overlay>,
    pressed: PressedKeys,
    outbox: Outbox,
    pub(super) launch: LaunchOptions,
    /// What the person's own commands wrote, for the next message.
    pub(super) outputs: ShellOutputs,
}

/// What the last keys were, as far as the next one depends on it.
#[derive(Debug)]
struct PressedKeys {
    /// A hint at the bottom, and until when.
    hint: Option<(String, Time)>,
    /// When Ctrl-C was last pressed, and when Esc was.
    quit_at: Option<Time>,
    esc_at: Option<Time>,
    /// A text that looked like a command and was refused. Sent again, it is a message.
    refused: Option<String>,
    /// The last key was for a question, not for the input.
    is_answering: bool,
    is_focused: bool,
}

/// What goes out of the screen, and what has.
#[derive(Debug, Default)]
struct Outbox {
    cmds: Vec<Cmd>,
    while_running: WhileRunning,
    /// What the next message will be called.
    fresh: Option<RequestId>,
    /// What was said in the session, and the number of the fact that tells it.
    said: Vec<(u64, String)>,
    /// What was sent and is not known to have arrived, the oldest first.
    sending: Vec<Sending>,
    /// What the person wants the model to know with an answer that is on its way.
    note: Option<(CheckpointId, String)>,
}

/// How the program was started.
#[derive(Debug, Default)]
pub(super) struct LaunchOptions {
    /// What is done goes away with it, so there is nothing to come back to.
    pub(super) passing: bool,
    /// "Continue" is said by itself while steps are open.
    pub(super) auto_continue: bool,
    /// The file that keys are kept in.
    pub(super) keys_file: String,
    /// The model that was found on this machine, in a line; empty: none was.
    pub(super) found: String,
    /// Workflows that can be called by name.
    pub(super) workflows: Vec<String>,
    /// The colors that the terminal has.
    pub(super) palette: Option<crate::palette::Palette>,
    /// The styles of the theme file, as they are written there.
    pub(super) theme_file: BTreeMap<String, String>,
}

/// What the screen begins with.
#[derive(Debug)]
pub(super) struct AppOptions {
    pub(super) theme: Theme,
    pub(super) keys: KeyMap,
    pub(super) size: Size,
    pub(super) now: Time,
    pub(super) folder: PathBuf,
    pub(super) status: StatusLine,
    pub(super) while_running: WhileRunning,
    /// Workflows that can be called: name and what each is for.
    pub(super) pills: Vec<(String, String)>,
}

/// Whether a question could take it for an answer, or for a part of one.
fn could_answer(input: &TerminalInput, keys: &KeyMap) -> bool {
    match input {
        TerminalInput::Key(key) => {
            key.typed().is_some() || matches!(keys.action(*key), Some(KeyAction::Send | KeyAction::Queue))
        }
        TerminalInput::Paste(_) => true,
        _ => false,
    }
}

/// What is said to somebody who types text at a question.
const TEXT_BESIDE: &str = "Your text stays in the input. To answer, press a number.";

fn is_enter(input: &TerminalInput, keys: &KeyMap) -> bool {
    matches!(input, TerminalInput::Key(key) if keys.action(*key) == Some(KeyAction::Send))
}

/// Whether a key types a character and has no other meaning.
fn is_text(input: &TerminalInput, keys: &KeyMap) -> bool {
    matches!(input, TerminalInput::Key(key) if key.typed().is_some() && keys.action(*key).is_none())
}

/// What can be called by `/name`. A workflow comes before a command with its name.
fn commands_with(pills: Vec<(String, String)>) -> Arc<Vec<PickerItem>> {
    let mut commands = slash::offered(SlashSurface::Terminal);
    commands.retain(|(name, _)| !pills.iter().any(|(workflow, _)| workflow == name));
    let commands = commands.into_iter().map(|(name, help)| PickerItem::noted(name, help));
    let pills = pills.into_iter().map(|(name, help)| PickerItem::noted(name, help));
    Arc::new(pills.chain(commands).collect())
}

impl App {
    pub(super) fn new(setting: AppOptions) -> Self {
        let AppOptions { theme, keys, size, now, folder, status, while_running, pills } = setting;
        let mut composer = Composer::new(folder);
        let workflows: Vec<String> = pills.iter().map(|(name, _)| name.clone()).collect();
        composer.offer(CompletionSource::Commands, commands_with(pills));
        Self {
            theme,
            keys,
            size,
            now,
            session: None,
            transcript: Transcript::default(),
            trace: TraceSpans::default(),
            activity: Activity::default(),
            steps: Steps::default(),
            batch: CommandBatchPane::default(),
            sticky: Sticky::default(),
            commands: RunningCommands::default(),
            status,
            dialogs: Dialogs::default(),
            composer,
            view: None,
            pressed: PressedKeys {
                hint: None,
                quit_at: None,
                esc_at: None,
                refused: None,
                is_answering: false,
                is_focused: true,
            },
            outbox: Outbox { while_running, ..Outbox::default() },
            launch: LaunchOptions { workflows, ..LaunchOptions::default() },
            outputs: ShellOutputs::default(),
        }
    }

    /// Takes news in, and says what should be done.
    pub(super) fn update(&mut self, message: Msg, context: UpdateContext) -> Vec<Cmd> {
        let UpdateContext { now, request } = context;
        self.now = now;
        self.outbox.fresh = Some(request);
        if self.pressed.hint.as_ref().is_some_and(|(_, until)| *until < now) {
            self.pressed.hint = None;
        }
        self.pressed.quit_at = self.pressed.quit_at.filter(|at| now.millis() - at.millis() < TWICE);
        match message {
            Msg::Input(input) => self.input(&input),
            Msg::Tick => self.activity.tick(),
            Msg::Events(events) => events.iter().for_each(|event| self.observe(event)),
            Msg::CaughtUp => self.transcript.caught_up(usize::from(self.size.width), &self.theme),
            Msg::Sent(sent) => self.sent(sent),
            Msg::Unsent { request, draft } => {
                self.decided(&request);
                self.status.autonomy.failed();
                self.composer.give_back(&draft);
                self.keep();
            }
            Msg::Diff { call, files } => self.set_diff(&call, files),
            Msg::Sessions { query, rows, jobs } => {
                if let Some(Overlay::Sessions(view)) = &mut self.view {
                    view.set(&query, rows, &jobs, now);
                }
            }
            Msg::Printed(text) => {
                let lines = text.lines().enumerate();
                let indent =
                    |(at, line): (usize, &str)| if at == 0 { format!("$ {line}") } else { format!("  {line}") };
                self.transcript.block(lines.map(indent).collect());
            }
            Msg::ShellEnded(output) => {
                self.outputs.push(output);
                self.keep();
            }
            Msg::Forked { session, words } => {
                self.view = None;
                self.open(Some(session));
                if let Some(words) = words {
                    self.write(&ComposerDraft::new(words));
                }
            }
            message @ (Msg::RewindPoints { .. } | Msg::RewindPlan { .. } | Msg::Rewound(_)) => {
                self.show_rewind(message)
            }
            Msg::Told(text) => match &mut self.view {
                Some(Overlay::Sessions(view)) => view.tell(text),
                _ => self.transcript.note(LineMark::Good, text),
            },
            message @ (Msg::Background(_) | Msg::CommandOutput { .. }) => self.show_background(message),
            Msg::Models(models) => {
                if let Some(Overlay::Models(view)) = &mut self.view {
                    view.add(models);
                }
            }
            Msg::Edited(text) => self.edited(text),
            Msg::Workflows(pills) => {
                self.launch.workflows = pills.iter().map(|(name, _)| name.clone()).collect();
                self.composer.offer(CompletionSource::Commands, commands_with(pills));
            }
            Msg::Files(files) => self.composer.offer(CompletionSource::Files, files),
            Msg::Failed(problem) | Msg::Lost(problem) => self.failed(problem),
            Msg::Model(name) => {
                self.show_hint(format!("{name} is used from the next request on."));
                self.status.model = name;
            }
            Msg::Ready(model) => {
                self.view = None;
                self.transcript.note(LineMark::Good, format!("Ready: {model}. Ask Trimtab to do something."));
                self.status.model = model;
            }
            Msg::Warned(text) => self.transcript.note(LineMark::Warning, text),
            Msg::Status(line) => self.status.show(line),
            Msg::NotReady(problem) => match &mut self.view {
                Some(Overlay::Setup(setup)) => setup.failed(problem),
                _ => self.show_hint(problem),
            },
            Msg::History(history) => {
                if let Some(Overlay::Changes(view)) = &mut self.view {
                    let cmd = view.set(history);
                    self.outbox.cmds.extend(cmd);
                }
            }
            Msg::WorkerEvents(events) => self.observe_worker(&events),
            Msg::WorkerDiff { session, call, files } => {
                if let Some(Overlay::Subtasks(view)) = &mut self.view {
                    view.set_diff(&session, &call, files);
                }
            }
            Msg::SetDiff { set, files } => {
                if let Some(Overlay::Changes(view)) = &mut self.view {
                    view.set_files(set, files);
                }
            }
        }
        self.after_news(now)
    }

    /// What is due after any news.
    fn after_news(&mut self, now: Time) -> Vec<Cmd> {
        let due = self.status.autonomy.due(now);
        self.send_autonomy(due);
        self.dialogs.refresh(now, true);
        let session = self.session.as_ref().map(ToString::to_string);
        self.outbox.cmds.extend(self.status.news(session.as_deref()).map(Cmd::ShowStatus));
        std::mem::take(&mut self.outbox.cmds)
    }

    /// Shows background commands, or the output of one, if the person still looks at them.
    fn show_background(&mut self, told: Msg) {
        let Some(Overlay::Background(view)) = &mut self.view else { return };
        match told {
            Msg::Background(rows) => self.outbox.cmds.extend(view.set(rows)),
            Msg::CommandOutput { id, text } => self.outbox.cmds.extend(view.set_output(&id, &text)),
            _ => {}
        }
    }

    fn sent(&mut self, sent: Sent) {
        if self.session.is_none() {
            self.session = Some(sent.session);
        }
        self.decided(&sent.request);
        self.keep();
    }

    fn set_diff(&mut self, call: &CallId, files: Arc<Vec<LoadedDiff>>) {
        if let Some(dialog::DialogOutcome::ShowDiff(files, asked)) = self.dialogs.set_diff(call, &files)
            && self.view.is_none()
        {
            self.view = Some(Overlay::Diff(view::diff::DiffOverlay::new(files, asked)));
        }
        self.transcript.set_diff(call, files);
    }

    fn edited(&mut self, text: Option<String>) {
        match self.dialogs.current() {
            Some(dialog) => dialog.edited(text),
            None => {
                self.composer.edited(text);
                self.keep();
            }
        }
    }

    fn failed(&mut self, problem: Problem) {
        self.status.autonomy.failed();
        self.dialogs.reopen();
        let hint = problem.hint.map(|hint| format!("\n{}", words::hint_on_screen(&hint))).unwrap_or_default();
        match &mut self.view {
            Some(Overlay::Sessions(view)) => view.tell(problem.message),
            Some(Overlay::Rewind(view)) => view.failed(&problem.message, &hint),
            _ => self.transcript.note(LineMark::Bad, format!("{}{hint}", problem.message)),
        }
        // Whoever put the first question off is asked again once it matters.
        if let (ProblemKind::NoKey, None) = (problem.kind, &self.view) {
            self.set_up();
        }
    }

    /// Whether something on the screen moves by itself.
    pub(super) fn moves(&self) -> bool {
        let waits = self.pressed.hint.is_some() || self.pressed.quit_at.is_some() || self.dialogs.is_guarded(self.now);
        let waits = waits || self.status.autonomy.is_waiting();
        self.activity.is_running() || waits
    }

    /// Whether something was said in the session, and nothing is under way.
    pub(super) fn has_talked(&self) -> bool {
        self.session.is_some() && !self.transcript.entries().is_empty() && !self.activity.is_open()
    }

    /// A hint at the bottom for a while.
    pub(super) fn hint(&self) -> Option<&str> {
        self.pressed.hint.as_ref().map(|(text, _)| text.as_str())
    }

    fn run_servers(&mut self, words: &str) {
        match server_login::read(words) {
            Some(cmd) => self.emit(cmd),
            None => self.show_hint(server_login::USAGE),
        }
    }

    pub(super) fn show_hint(&mut self, text: impl Into<String>) {
        self.pressed.hint = Some((text.into(), Time::from_millis(self.now.millis() + HINT)));
    }

    pub(super) fn emit(&mut self, cmd: Cmd) {
        self.outbox.cmds.push(cmd);
    }

    /// The finished rows that are to be printed.
    pub(super) fn finished(&mut self, most: usize) -> Vec<Line<'static>> {
        self.transcript.finished(usize::from(self.size.width), &self.theme, most)
    }

    /// What is said when the person leaves.
    pub(super) fn leaving(&self, by_person: bool) -> Vec<Line<'static>> {
        let Some(session) = self.session.as_ref().filter(|_| !self.launch.passing) else { return Vec::new() };
        let line = match (self.activity.is_open(), by_person) {
            (true, true) => "The request is not finished. Nothing is lost. Continue with `trimtab`.".to_owned(),
            (true, false) => "Stopped. Nothing is lost. Continue with `trimtab`.".to_owned(),
            (false, _) => format!("Continue this session: trimtab --session {session}"),
        };
        vec![Line::default(), Line::styled(line, self.theme.style(super::theme::StyleName::Dim))]
    }

    /// Shows another session, or none yet.
    pub(super) fn open(&mut self, session: Option<SessionId>) {
        let shows_thinking = self.transcript.shows_thinking();
        self.transcript = if session.is_some() { Transcript::reading() } else { Transcript::default() };
        self.transcript.show_thinking(shows_thinking);
        (self.activity, self.batch, self.sticky, self.trace) = Default::default();
        self.commands = RunningCommands::default();
        self.dialogs.begin_session();
        self.outbox.said.clear();
        self.steps.begin_session();
        self.status.begin_session();
        self.session.clone_from(&session);
        self.outbox.cmds.push(session.map_or(Cmd::New, Cmd::Open));
    }

    /// Begins with a session.
    pub(super) fn begin(&mut self, session: SessionId, autonomy: Option<Autonomy>) -> Vec<Cmd> {
        self.open(Some(session));
        self.choose_at_start(autonomy);
        std::mem::take(&mut self.outbox.cmds)
    }

    /// Begins with a request that was given on the command line. The draft that an earlier start left stays in the input.
    pub(super) fn begin_with(&mut self, text: &str, request: RequestId) -> Vec<Cmd> {
        self.outbox.fresh = Some(request);
        if self.view.is_some() {
            // A model has to be chosen first.
            self.composer.give_back(&ComposerDraft::new(text));
        } else {
            self.send_message(ComposerDraft::new(text), self.status.mode, None);
        }
        std::mem::take(&mut self.outbox.cmds)
    }

    /// Takes a fact in.
    fn observe(&mut self, event: &Event) {
        if self.session.as_ref() != Some(&event.session) {
            return;
        }
        let live = !self.transcript.is_reading();
        if let (Some(seq), Fact::Request(RequestFact::Received { text, .. })) = (event.seq, &event.fact) {
            self.outbox.said.push((seq, text.clone()));
        }
        self.transcript.observe(event);
        self.trace.observe(event);
        self.activity.observe(event);
        self.steps.observe(event);
        self.batch.observe(event);
        self.sticky.observe(event);
        self.commands.observe(event);
        if let (true, Some(Overlay::Background(view)), Fact::Command(fact)) = (live, &mut self.view, &event.fact) {
            let load = match fact {
                CommandFact::Output { .. } => view.refresh_output(),
                _ => Some(Cmd::LoadBackground),
            };
            self.outbox.cmds.extend(load);
        }
        self.status.observe(event);
        self.dialogs.observe(event);
        self.dialogs.refresh(self.now, live);
        for (call, writes) in self.transcript.wanted_diffs() {
            self.emit(Cmd::LoadDiff { call, writes });
        }
        if let (Some(Overlay::Subtasks(view)), Some(board)) = (&mut self.view, self.transcript.last_board()) {
            view.set(board);
        }
        if matches!(event.fact, Fact::Change(_)) && matches!(self.view, Some(Overlay::Changes(_))) {
            self.emit(Cmd::LoadHistory);
        }
        if live {
            self.follow(event);
        }
    }

    /// What follows from news of the moment, and not from old ones.
    fn follow(&mut self, event: &Event) {
        match &event.fact {
            Fact::Session(SessionFact::Handoff { child, prefill, .. }) => {
                if let (Some(text), true) = (prefill, self.composer.is_empty()) {
                    self.composer.set_draft(&ComposerDraft::new(text.clone()));
                }
                let child = child.clone();
                self.open(Some(child));
            }
            Fact::Checkpoint(CheckpointFact::Opened { title, .. }) if !self.pressed.is_focused => {
                self.emit(Cmd::Notify(title.clone()));
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. })
                if self.outbox.note.as_ref().is_some_and(|(answered, _)| answered == checkpoint) =>
            {
                if let Some((_, note)) = self.outbox.note.take() {
                    self.send_message(ComposerDraft::new(note), self.status.mode, Some(WhileRunning::Steer));
                }
            }
            // Whoever stopped it knows.
            Fact::Request(RequestFact::Finished { status, .. })
                if !self.pressed.is_focused && *status != Status::Cancelled =>
            {
                self.emit(Cmd::Notify(words::notified_end(*status, self.status.title())));
            }
            _ => {}
        }
    }

    fn input(&mut self, input: &TerminalInput) {
        if let TerminalInput::Focus(focus) = input {
            self.pressed.is_focused = *focus;
            return;
        }
        let is_key = matches!(input, TerminalInput::Key(_));
        if let Some(view) = &mut self.view {
            let outcome = view.input(input, &self.keys);
            return self.viewed(outcome);
        }
        if is_key {
            self.pressed.is_focused = true;
        }
        let now = self.now;
        if let Some(dialog) = self.dialogs.current() {
            if dialog.is_guarded(now) && could_answer(input, &self.keys) {
                dialog.keep_quiet(now);
                return self.too_early(input);
            }
            if dialog.has_text_beside && is_enter(input, &self.keys) && !dialog.is_writing() {
                return self.show_hint(TEXT_BESIDE);
            }
            self.pressed.is_answering = is_key;
            let is_writing = dialog.is_writing();
            match dialog.input(input, &self.keys) {
                dialog::DialogOutcome::Moved if is_writing => self.keep(),
                // Whoever chooses an answer has left the text.
                dialog::DialogOutcome::Moved => dialog.has_text_beside = false,
                // Its words are kept until something else is written: a kill may still come before the fact.
                dialog::DialogOutcome::Answer(answer, note) => {
                    // A note that came before the answer would be taken for the answer.
                    self.outbox.note = note.map(|note| (answer.checkpoint.clone(), note));
                    self.emit(Cmd::Answer(answer));
                }
                dialog::DialogOutcome::Editor(text) => self.emit(Cmd::Edit(text)),
                dialog::DialogOutcome::EditPlan => {
                    let steps = dialog.plan().unwrap_or_default();
                    self.view = Some(Overlay::Plan(Box::new(view::plan::PlanEditor::new(steps))));
                }
                dialog::DialogOutcome::ShowDiff(files, asked) => {
                    self.view = Some(Overlay::Diff(view::diff::DiffOverlay::new(files, asked)));
                }
                dialog::DialogOutcome::Passed if matches!(input, TerminalInput::Paste(_)) => {
                    self.composer.input(input, &self.keys);
                    self.keep();
                    self.show_hint("The pasted text is in your draft. Answer the question first.");
                }
                // Text that was meant for the model must not end with an Enter that allows a command.
                dialog::DialogOutcome::Passed if is_text(input, &self.keys) => {
                    dialog.keep_quiet(now);
                    dialog.has_text_beside = true;
                    self.pressed.is_answering = false;
                    self.composer.input(input, &self.keys);
                    self.keep();
                    self.show_hint(TEXT_BESIDE);
                }
                dialog::DialogOutcome::Passed => self.act_on_key(input),
            }
            return;
        }
        if is_key {
            self.pressed.is_answering = false;
        }
        if let TerminalInput::Key(chord) = input
            && self.next_step(*chord)
        {
            return;
        }
        let stashed = self.composer.stashed();
        let outcome = self.composer.input(input, &self.keys);
        self.tell_about_draft(input, &outcome, stashed);
        match outcome {
            Typed::Passed(action) => self.act(action),
            Typed::Moved => self.pressed.quit_at = None,
            Typed::Changed => {
                self.pressed.quit_at = None;
                if self.pressed.refused.take().is_some() {
                    self.pressed.hint = None;
                }
                self.keep();
                if matches!(input, TerminalInput::Paste(_)) && self.composer.draft().has_paste() {
                    let key = self.keys.key(KeyAction::Open);
                    self.show_hint(format!("{key} opens the paste"));
                }
            }
            Typed::Send(draft) => {
                self.send(draft, self.outbox.while_running);
                self.keep();
            }
            Typed::Queue(draft) => {
                self.send(draft, WhileRunning::Queue);
                self.keep();
            }
            Typed::Editor(text) => self.emit(Cmd::Edit(text)),
        }
        if let Some(source) = self.composer.take_wish() {
            self.emit(Cmd::Offer(source));
        }
    }

    /// Takes a key that would have answered a question which has only just come up: what somebody writes goes on where
    /// they were writing, and nothing is sent from there.
    fn too_early(&mut self, input: &TerminalInput) {
        let is_written = matches!(input, TerminalInput::Paste(_))
            || matches!(input, TerminalInput::Key(key) if key.typed().is_some());
        if is_written && !self.pressed.is_answering {
            self.composer.input(input, &self.keys);
            return self.keep();
        }
        self.show_hint("A question appeared. That key did not answer it.");
    }

    /// The draft is another one, and has to outlive the program.
    pub(super) fn keep(&mut self) {
        let (answer, sending) = (self.dialogs.half(), self.outbox.sending.clone());
        self.emit(Cmd::Keep(Box::new(SavedComposer {
            answer,
            sending,
            outputs: self.outputs.kept(),
            ..self.composer.kept()
        })));
    }

    /// Goes on with what an earlier process left. What was on its way has not arrived: it stands in the input again,
    /// or is put away for later where other words stand.
    pub(super) fn restore(&mut self, kept: SavedComposer) {
        self.dialogs.restore(kept.answer.clone());
        self.outputs.restore(kept.outputs.clone());
        let lost = kept.sending.clone();
        self.composer.restore(kept);
        lost.iter().for_each(|sending| self.composer.give_back(&sending.draft));
    }

    /// A message has arrived, or could not be sent. Each takes its own time, so it need not be the oldest.
    fn decided(&mut self, request: &RequestId) {
        self.outbox.sending.retain(|sending| sending.request != *request);
    }

    /// Puts something into the input.
    pub(super) fn write(&mut self, draft: &ComposerDraft) {
        self.composer.set_draft(draft);
        self.keep();
    }

    /// Says what became of a draft, where nothing else shows it.
    fn tell_about_draft(&mut self, input: &TerminalInput, outcome: &Typed, stashed: usize) {
        let TerminalInput::Key(chord) = input else { return };
        let (action, is_moved) = (self.keys.action(*chord), *outcome == Typed::Moved);
        let key = self.keys.key(KeyAction::Stash);
        match (action, self.composer.stashed().cmp(&stashed)) {
            (Some(KeyAction::Stash), Ordering::Greater) => self.show_hint(format!("Draft stashed. {key} restores it.")),
            (Some(KeyAction::Stash), Ordering::Equal) if is_moved => self.show_hint("No draft is stashed."),
            (Some(KeyAction::Open), _) if is_moved => self.show_hint("The cursor is not on pasted text."),
            _ => {}
        }
    }

    fn act_on_key(&mut self, input: &TerminalInput) {
        if let TerminalInput::Key(chord) = input {
            self.act(self.keys.action(*chord));
        }
    }

    /// Alt and a number takes a next step that was offered.
    fn next_step(&mut self, chord: Chord) -> bool {
        let (Key::Char(digit @ '1'..='3'), true, false) = (chord.key, chord.alt, chord.ctrl) else { return false };
        let Some(text) = self.sticky.take(digit as usize - '1' as usize) else { return false };
        self.write(&ComposerDraft::new(text));
        true
    }

    /// Does what an action of the screen says.
    fn act(&mut self, action: Option<KeyAction>) {
        let twice = |at: Option<Time>, now: Time| at.is_some_and(|at| now.millis() - at.millis() < TWICE);
        let (quit_at, esc_at) = (self.pressed.quit_at.take(), self.pressed.esc_at.take());
        match action {
            Some(KeyAction::Interrupt) => self.interrupt(twice(esc_at, self.now)),
            Some(KeyAction::Quit) if twice(quit_at, self.now) => self.emit(Cmd::Quit),
            Some(KeyAction::Quit) => {
                self.pressed.quit_at = Some(self.now);
                let key = self.keys.key(KeyAction::Quit);
                let what = if self.activity.is_open() { "quits; a running request can be resumed" } else { "quits" };
                self.show_hint(format!("{key} again {what}"));
            }
            Some(KeyAction::Leave) => self.emit(Cmd::Quit),
            Some(KeyAction::CycleAutonomy) => self.cycle_autonomy(),
            Some(KeyAction::CycleMode) => {
                self.status.mode = match self.status.mode {
                    Mode::Auto | Mode::Implement => Mode::Chat,
                    Mode::Chat => Mode::Plan,
                    Mode::Plan => Mode::Auto,
                };
                self.show_hint(match self.status.mode {
                    Mode::Chat => "chat: answers without tools",
                    Mode::Plan => "plan: reads and plans, changes nothing",
                    _ => "auto: does what the request needs",
                });
            }
            Some(KeyAction::CycleEffort) => self.set_effort(Effort::next(self.status.effort)),
            Some(KeyAction::Thinking) => {
                let on = !self.transcript.shows_thinking();
                self.transcript.show_thinking(on);
                self.show_hint(if on { "Thinking is shown." } else { "Thinking is folded. ctrl-o shows it." });
            }
            Some(KeyAction::Transcript) => self.view = Some(Overlay::Transcript(view::transcript::Whole::new())),
            Some(KeyAction::Trace) => self.view = Some(Overlay::Trace(view::trace::Waterfall::new())),
            Some(KeyAction::Subtasks) => self.run(SlashCommand::Subtasks(String::new())),
            Some(KeyAction::Steps) => self.steps.is_shown = !self.steps.is_shown,
            Some(KeyAction::Help) => self.view = Some(Overlay::Help(view::help::Help::default())),
            Some(KeyAction::EditPending) => self.take_back(),
            Some(KeyAction::DropOutput) => {
                self.outputs.clear();
                self.keep();
            }
            Some(KeyAction::Paste) => self.emit(Cmd::Paste),
            Some(KeyAction::Redraw) => self.emit(Cmd::Redraw),
            Some(KeyAction::Suspend) => self.emit(Cmd::Suspend),
            Some(KeyAction::Questions) => self.dialogs.put_aside(),
            Some(KeyAction::Changes) => self.run(SlashCommand::Changes),
            Some(KeyAction::Rewind) => self.run(SlashCommand::Rewind),
            Some(KeyAction::Sessions) => self.run(SlashCommand::Sessions),
            Some(KeyAction::Implement) => self.run(SlashCommand::Implement),
            Some(KeyAction::Background) if self.commands.has_foreground() => {
                self.emit(Cmd::Control(Control::Background { call: None }));
            }
            Some(KeyAction::Background) => self.go_left(),
            Some(KeyAction::Pause) if self.activity.is_pausing() => self.run(SlashCommand::Control(Control::Resume)),
            Some(KeyAction::Pause) if self.activity.is_open() => self.run(SlashCommand::Control(Control::Pause)),
            _ => {}
        }
    }

    /// The key that moves a command to the background goes left where there is none, as it does in shells.
    fn go_left(&mut self) {
        let left = TerminalInput::Key(Chord { key: Key::Left, ctrl: false, alt: false, shift: false });
        self.composer.input(&left, &self.keys);
    }

    fn interrupt(&mut self, again: bool) {
        if self.batch.is_over() {
            return self.batch.close();
        }
        if self.activity.is_open() && !(self.activity.is_stopping() && again) {
            if !self.activity.is_stopping() {
                self.activity.stopping();
                self.emit(Cmd::Control(Control::Cancel));
            }
            return;
        }
        if self.dialogs.current().is_some() {
            // Nothing runs that could be stopped: the question waits, and the person goes on.
            return self.dialogs.put_aside();
        }
        if again {
            return self.run(SlashCommand::Rewind);
        }
        self.sticky.dismiss();
        self.pressed.esc_at = Some(self.now);
        if self.composer.is_empty() {
            let key = self.keys.key(KeyAction::Interrupt);
            self.show_hint(format!("{key} again goes back to an earlier message"));
        }
    }

    /// Takes the latest message that waits back to be edited.
    fn take_back(&mut self) {
        match self.activity.waiting.pop() {
            Some((request, text)) => {
                self.emit(Cmd::Withdraw(request));
                self.composer.set_aside();
                self.write(&ComposerDraft::new(text));
            }
            None => self.show_hint("No message is queued."),
        }
    }

    /// What the empty input says: what a message would do now.
    pub(super) fn input_hint(&self) -> &'static str {
        match self.outbox.while_running {
            _ if !self.activity.is_open() => "Ask Trimtab to do something…",
            WhileRunning::Steer => "Steer the running request…",
            WhileRunning::Queue => "Queue the next request…",
            WhileRunning::Replace => "Replace the running request…",
        }
    }

    fn send(&mut self, draft: ComposerDraft, while_running: WhileRunning) {
        // What was said of an earlier draft is over.
        (self.pressed.quit_at, self.pressed.esc_at, self.pressed.hint) = (None, None, None);
        if let Some(command) = draft.command() {
            return self.emit(Cmd::Shell(command));
        }
        let Some(draft) = self.command_or_message(draft) else { return };
        let mode = self.status.mode;
        let while_running = self.activity.is_open().then_some(while_running);
        self.send_message(draft, mode, while_running);
    }

    /// Runs the command that a draft is. What looks like one and is none goes nowhere, unless it is sent again.
    fn command_or_message(&mut self, mut draft: ComposerDraft) -> Option<ComposerDraft> {
        let refused = self.pressed.refused.take();
        if draft.kind != DraftKind::Slash {
            return Some(draft);
        }
        let text = draft.text();
        let is_workflow = |name: &str| self.launch.workflows.iter().any(|known| known == name);
        match slash::read(&text, SlashSurface::Terminal, is_workflow) {
            SlashReading::Run(command) => {
                self.pressed.hint = None;
                self.run(command);
                None
            }
            SlashReading::Message => Some(draft),
            SlashReading::Refused(_) if refused.as_ref() == Some(&text) => {
                draft.kind = DraftKind::Message;
                Some(draft)
            }
            SlashReading::Refused(why) => {
                self.composer.set_draft(&draft);
                self.composer.close_list();
                self.pressed.refused = Some(text);
                self.show_hint(format!("{why} Press Enter again to send it as a message."));
                None
            }
        }
    }

    /// Sends a message. That it is on its way is kept first: after a kill, nobody finds words in the input that were
    /// said already, and none are lost that were not.
    pub(super) fn send_message(&mut self, draft: ComposerDraft, mode: Mode, while_running: Option<WhileRunning>) {
        self.send_as(draft, mode, while_running, None);
    }

    fn send_as(
        &mut self,
        draft: ComposerDraft,
        mode: Mode,
        while_running: Option<WhileRunning>,
        subtasks: Option<SubtaskStart>,
    ) {
        let Some(request) = self.outbox.fresh.take() else { return self.composer.give_back(&draft) };
        let (draft, outputs) = self.outputs.add_to(draft);
        if let Some(outputs) = outputs {
            self.transcript.fold_outputs(request.clone(), outputs);
        }
        let session = self.session.clone();
        self.outbox.sending.push(Sending { request: request.clone(), draft: draft.clone() });
        self.keep();
        let autonomy = self.status.autonomy.take();
        self.emit(Cmd::Send(Box::new(OutgoingMessage {
            request,
            draft,
            mode,
            while_running,
            session,
            subtasks,
            autonomy,
        })));
    }

    /// Carries a command of the program itself out.
    pub(super) fn run(&mut self, command: SlashCommand) {
        match command {
            SlashCommand::Help => self.act(Some(KeyAction::Help)),
            SlashCommand::Transcript => self.act(Some(KeyAction::Transcript)),
            SlashCommand::Trace => self.act(Some(KeyAction::Trace)),
            SlashCommand::Steps => self.act(Some(KeyAction::Steps)),
            SlashCommand::Thinking => self.act(Some(KeyAction::Thinking)),
            SlashCommand::Effort(level) => match words::effort_level(&level) {
                Ok(effort) => self.set_effort(effort),
                Err(expected) => self.show_hint(expected),
            },
            SlashCommand::Autonomy(level) => self.set_autonomy(&level),
            SlashCommand::Sessions => {
                self.view = Some(Overlay::Sessions(Box::new(view::sessions::SessionsView::new(self.session.clone()))));
                self.emit(Cmd::LoadSessions { query: String::new() });
            }
            SlashCommand::New => {
                self.open(None);
                self.transcript.note(LineMark::Quiet, "Your next message starts a new session.");
            }
            SlashCommand::Mode(mode, words) => self.change_mode(mode, words),
            SlashCommand::Implement => {
                self.send_message(ComposerDraft::new(crate::words::IMPLEMENT), Mode::Implement, None);
            }
            SlashCommand::Subtasks(words) => self.subtasks(words),
            SlashCommand::AutoContinue => {
                self.launch.auto_continue = !self.launch.auto_continue;
                self.emit(Cmd::AutoContinue(self.launch.auto_continue));
                self.show_hint(match self.launch.auto_continue {
                    true => "Trimtab continues automatically while steps are open.",
                    false => "Trimtab waits for “continue” after each turn.",
                });
            }
            SlashCommand::Control(control) => self.control(control),
            SlashCommand::Resume if self.activity.is_pausing() => self.control(Control::Resume),
            SlashCommand::Resume => self.run(SlashCommand::Sessions),
            SlashCommand::Status => self.show_status(),
            SlashCommand::Copy(which) => self.copy(&which),
            SlashCommand::Theme(name) => self.change_theme(&name),
            SlashCommand::Init => self.request_text(slash::INIT.to_owned()),
            SlashCommand::Review(what) => self.request_review(&what),
            SlashCommand::EditQueued => self.take_back(),
            SlashCommand::Questions => self.act(Some(KeyAction::Questions)),
            SlashCommand::NextStep(number) => self.take_next_step(&number),
            SlashCommand::Program(_) if self.launch.passing => {
                self.show_hint("The demo has its own settings. Run `trimtab` in your own folder.");
            }
            SlashCommand::Program(words) => self.emit(Cmd::Program(words)),
            SlashCommand::Fork => match self.session.clone() {
                Some(session) => {
                    self.view = Some(Overlay::Fork(Box::new(view::fork::Fork::new(session, &self.outbox.said))))
                }
                None => self.show_hint(words::NO_SESSION_YET),
            },
            SlashCommand::Rename(title) if title.is_empty() => self.show_hint("/rename NAME renames this session."),
            SlashCommand::Rename(title) => match self.session.clone() {
                Some(session) => self.emit(Cmd::Rename { session, title, query: String::new() }),
                None => self.show_hint(words::NO_SESSION_YET),
            },
            SlashCommand::Servers(words) => self.run_servers(&words),
            SlashCommand::UndoChanges(_) | SlashCommand::RedoChanges(_) => self.run(SlashCommand::Changes),
            SlashCommand::Extensions => self.emit(Cmd::LoadExtensions),
            SlashCommand::Export(form) => self.export(&form),
            SlashCommand::Model(name) if name.is_empty() => {
                self.view = Some(Overlay::Models(Box::new(view::models::ModelsView::new())));
                self.emit(Cmd::LoadModels);
            }
            SlashCommand::Model(name) => self.emit(Cmd::Model(name)),
            SlashCommand::SetUp if self.launch.passing => {
                self.show_hint("The demo has its own model. Run `trimtab` in your own folder to choose one.")
            }
            SlashCommand::SetUp => {
                self.view = Some(Overlay::Setup(Box::new(SetupDialog::again(self.launch.keys_file.clone()))));
            }
            SlashCommand::Background => match self.session {
                Some(_) => {
                    self.view = Some(Overlay::Background(Box::default()));
                    self.emit(Cmd::LoadBackground);
                }
                None => self.show_hint(words::NONE_RUNNING),
            },
            SlashCommand::StopCommand(id) => match (&self.session, id.parse()) {
                (Some(_), Ok(id)) => self.emit(Cmd::StopCommand(id)),
                (Some(_), Err(_)) => self.show_hint(words::WHICH_COMMAND),
                (None, _) => self.show_hint(words::NONE_RUNNING),
            },
            SlashCommand::Changes => match self.session {
                Some(_) => {
                    self.view = Some(Overlay::Changes(Box::new(view::changes::ChangesView::new(self.now))));
                    self.emit(Cmd::LoadHistory);
                }
                None => self.show_hint("There are no changes yet."),
            },
            SlashCommand::Rewind => self.open_rewind(),
            #[cfg(debug_assertions)]
            SlashCommand::Panic => panic!("a defect, made on purpose"),
            SlashCommand::Quit => self.emit(Cmd::Quit),
        }
    }

    /// Sets the level that was typed; without one, shows the levels.
    fn set_autonomy(&mut self, typed: &str) {
        if typed.is_empty() {
            let levels = words::autonomy_levels(self.status.autonomy.level());
            return self.transcript.note(LineMark::Info, levels);
        }
        match words::autonomy_level(typed) {
            Ok(level) => self.choose_autonomy(level),
            Err(expected) => self.show_hint(expected),
        }
    }

    /// Breaks a request down, after the running one if there is one; without words, shows the sub-tasks.
    fn subtasks(&mut self, words: String) {
        if !words.is_empty() {
            let after = self.activity.is_open().then_some(WhileRunning::Queue);
            return self.send_as(ComposerDraft::new(words), self.status.mode, after, Some(SubtaskStart::Ask));
        }
        match self.transcript.last_board() {
            Some(board) => {
                self.view = Some(Overlay::Subtasks(Box::new(view::subtasks::SubtasksView::new(board.clone()))));
            }
            None => self.show_hint("No sub-tasks yet. /subtasks REQUEST breaks a request down."),
        }
    }

    fn observe_worker(&mut self, events: &[Event]) {
        let Some(Overlay::Subtasks(view)) = &mut self.view else { return };
        let Some(session) = events.first().map(|event| event.session.clone()) else { return };
        for (call, writes) in view.observe(events) {
            self.outbox.cmds.push(Cmd::LoadWorkerDiff { session: session.clone(), call, writes });
        }
    }

    fn set_effort(&mut self, effort: Option<Effort>) {
        self.status.effort = effort;
        self.emit(Cmd::Effort(effort));
        self.show_hint(words::effort_set(effort));
    }

    /// The key selects the next level, or plan and back.
    fn cycle_autonomy(&mut self) {
        let (mode, level) = self.status.autonomy.next(self.status.mode);
        self.status.mode = mode;
        let sent = self.status.autonomy.pick(level, self.now, self.session.is_some(), true);
        self.show_hint(match mode {
            Mode::Plan => "plan: reads and plans, changes nothing",
            _ => words::autonomy_hint(level, self.status.autonomy.limit),
        });
        self.send_autonomy(sent);
    }

    /// The session asks more or less from now on.
    fn choose_autonomy(&mut self, level: Autonomy) {
        let switch = &mut self.status.autonomy;
        let sent = switch.pick(level, self.now, self.session.is_some(), false);
        let hint = words::autonomy_set(level, switch.limit);
        self.show_hint(hint);
        self.send_autonomy(sent);
    }

    fn send_autonomy(&mut self, level: Option<Autonomy>) {
        if let Some(level) = level {
            let surface = Some("tui".to_owned());
            self.emit(Cmd::Control(Control::Autonomy(AutonomyChoice { level, surface })));
        }
    }

    /// The level that was given when the program was started.
    pub(super) fn choose_at_start(&mut self, autonomy: Option<Autonomy>) {
        if let Some(level) = autonomy {
            let sent = self.status.autonomy.pick(level, self.now, self.session.is_some(), false);
            self.send_autonomy(sent);
        }
    }

    /// Asks for a model before anything else.
    pub(super) fn set_up(&mut self) {
        let setup = SetupDialog::new(self.launch.keys_file.clone()).with_found(&self.launch.found);
        self.view = Some(Overlay::Setup(Box::new(setup)));
    }

    fn viewed(&mut self, outcome: view::ViewOutcome) {
        match outcome {
            view::ViewOutcome::Moved => {}
            view::ViewOutcome::Close => {
                let is_read = matches!(&self.view, Some(Overlay::Diff(diff)) if diff.is_read());
                self.view = None;
                if let Some(dialog) = self.dialogs.current().filter(|_| is_read) {
                    dialog.finish_reading();
                }
            }
            view::ViewOutcome::Run(cmd) => {
                if matches!(&cmd, Cmd::Forget { session, .. } if self.session.as_ref() == Some(session)) {
                    self.open(None);
                    self.transcript.note(LineMark::Quiet, "Deleted the session. Your next message starts a new one.");
                }
                self.emit(cmd);
            }
            view::ViewOutcome::Copy { entry, block } => self.copy_shown(entry, block),
            view::ViewOutcome::CloseWith(cmd) => {
                self.view = None;
                match cmd {
                    Cmd::Open(session) => self.open(Some(session)),
                    Cmd::Plan(steps) => {
                        let answer = self.dialogs.current().map(|dialog| dialog.answer_plan(&steps));
                        if let Some(dialog::DialogOutcome::Answer(answer, _)) = answer {
                            self.emit(Cmd::Answer(answer));
                        }
                    }
                    cmd => self.emit(cmd),
                }
            }
        }
    }
}
