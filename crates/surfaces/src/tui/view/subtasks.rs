//! The sub-tasks of a request: what each is at, what a user wants of one of them, and the conversation of its worker.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use trimtab_vocab::{CallId, Control, Event, FileWrite, SessionId, SubtaskControl, SubtaskStatus, Time};

use super::ViewOutcome;
use super::pager;
use super::transcript::Whole;
use crate::conversation::{BoardTask, SubtaskBoard};
use crate::diff::LoadedDiff;
use crate::tui::composer::{Composer, ComposerOutcome as Typed};
use crate::tui::keys::{Chord, KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::pane::subtasks::status_style;
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::tui::transcript::Transcript;
use crate::words::sanitize_cells;
use crate::words::subtasks::{board_lines, heading, task_details};
use crate::words::wrap;

/// The board, or the conversation of a worker on it.
#[derive(Debug)]
pub(in crate::tui) struct SubtasksView {
    board: SubtaskBoard,
    chosen: usize,
    /// Words for the worker of the chosen task, while they are written.
    words: Option<Box<Composer>>,
    /// Tasks that were paused here.
    paused: Vec<String>,
    told: Option<String>,
    worker: Option<WorkerTranscript>,
}

/// The conversation of a worker as it goes on.
#[derive(Debug)]
struct WorkerTranscript {
    session: SessionId,
    transcript: Transcript,
    whole: Whole,
}

impl SubtasksView {
    /// The first that is not over is chosen.
    pub(in crate::tui) fn new(board: SubtaskBoard) -> Self {
        let chosen = board.tasks.iter().position(|task| !task.status.is_over()).unwrap_or(0);
        Self { board, chosen, words: None, paused: Vec::new(), told: None, worker: None }
    }

    /// The board stands otherwise than before.
    pub(in crate::tui) fn set(&mut self, board: &SubtaskBoard) {
        self.board.clone_from(board);
        self.chosen = self.chosen.min(self.board.tasks.len().saturating_sub(1));
    }

    /// Takes in what the worker does whose conversation is open. The changes whose bytes are wanted.
    pub(in crate::tui) fn observe(&mut self, events: &[Event]) -> Vec<(CallId, Vec<FileWrite>)> {
        let Some(worker) = &mut self.worker else { return Vec::new() };
        let mut wanted = Vec::new();
        for event in events.iter().filter(|event| event.session == worker.session) {
            worker.transcript.observe(event);
            wanted.extend(worker.transcript.wanted_diffs());
        }
        worker.whole.renew();
        wanted
    }

    pub(in crate::tui) fn set_diff(&mut self, session: &SessionId, call: &CallId, files: Arc<Vec<LoadedDiff>>) {
        if let Some(worker) = self.worker.as_mut().filter(|worker| worker.session == *session) {
            worker.transcript.set_diff(call, files);
            worker.whole.renew();
        }
    }

    fn task(&self) -> Option<&BoardTask> {
        self.board.tasks.get(self.chosen)
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if let Some(words) = &mut self.words {
            match words.input(input, keys) {
                Typed::Send(draft) | Typed::Queue(draft) => {
                    self.words = None;
                    let text = draft.text();
                    return match text.trim().is_empty() {
                        true => ViewOutcome::Moved,
                        false => self.control(SubtaskControl::Steer { text }, "The worker sees it at its next step."),
                    };
                }
                Typed::Passed(Some(KeyAction::Interrupt | KeyAction::Quit)) => self.words = None,
                _ => {}
            }
            return ViewOutcome::Moved;
        }
        if let Some(worker) = &mut self.worker
            && worker.whole.scrolls(input, keys)
        {
            return ViewOutcome::Moved;
        }
        let TerminalInput::Key(chord) = input else { return ViewOutcome::Moved };
        self.told = None;
        let leaves = matches!(keys.action(*chord), Some(KeyAction::Interrupt | KeyAction::Quit | KeyAction::Subtasks));
        match (leaves || chord.typed() == Some('q'), self.worker.is_some()) {
            (true, true) => {
                self.worker = None;
                ViewOutcome::Run(Cmd::LeaveWorker)
            }
            (true, false) => ViewOutcome::Close,
            (false, _) => self.pressed(*chord, keys),
        }
    }

    fn pressed(&mut self, chord: Chord, keys: &KeyMap) -> ViewOutcome {
        let last = self.board.tasks.len().saturating_sub(1);
        let in_list = self.worker.is_none();
        match (chord.typed(), keys.action(chord)) {
            (Some('j'), _) | (_, Some(KeyAction::Down)) if in_list => self.chosen = (self.chosen + 1).min(last),
            (Some('k'), _) | (_, Some(KeyAction::Up)) if in_list => self.chosen = self.chosen.saturating_sub(1),
            (_, Some(KeyAction::Send)) if in_list => return self.open_worker(),
            (Some('s'), _) => return self.control(SubtaskControl::Stop, "Stopping it. The others continue."),
            (Some('x'), _) => return self.control(SubtaskControl::Skip, "Skipping it and its dependents."),
            (Some('r'), _) => {
                let again = SubtaskControl::Retry { model: None, instruction: None };
                return self.control(again, "Starting it again.");
            }
            (Some('p'), _) => return self.pause(),
            (Some('t'), _) => match self.task().is_some_and(|task| task.status.is_at_work()) && self.is_live() {
                true => self.words = Some(Box::new(Composer::for_words())),
                false => self.told = Some(self.not_now()),
            },
            _ => {}
        }
        ViewOutcome::Moved
    }

    fn open_worker(&mut self) -> ViewOutcome {
        let Some(session) = self.task().and_then(|task| task.worker.clone()) else {
            self.told = Some("It has not started, so it has no conversation yet.".into());
            return ViewOutcome::Moved;
        };
        let (transcript, whole) = (Transcript::default(), Whole::new());
        self.worker = Some(WorkerTranscript { session: session.clone(), transcript, whole });
        ViewOutcome::Run(Cmd::WatchWorker(session))
    }

    fn pause(&mut self) -> ViewOutcome {
        let Some(id) = self.task().map(|task| task.id.clone()) else { return ViewOutcome::Moved };
        match self.paused.iter().position(|paused| *paused == id) {
            Some(at) => {
                self.paused.remove(at);
                self.control(SubtaskControl::Resume, "Continuing it.")
            }
            None => {
                let outcome = self.control(SubtaskControl::Pause, "Pausing it after its current step.");
                if matches!(outcome, ViewOutcome::Run(_)) {
                    self.paused.push(id);
                }
                outcome
            }
        }
    }

    fn is_live(&self) -> bool {
        self.board.order.is_some() && self.board.ended.is_none()
    }

    /// What is wanted of the chosen task, where that is possible.
    fn control(&mut self, action: SubtaskControl, told: &str) -> ViewOutcome {
        let Some(task) = self.task() else { return ViewOutcome::Moved };
        let is_possible = self.is_live()
            && match action {
                SubtaskControl::Skip => !task.status.is_over(),
                SubtaskControl::Stop => task.status.is_at_work() || task.status == SubtaskStatus::Pending,
                SubtaskControl::Retry { .. } => {
                    matches!(task.status, SubtaskStatus::Failed | SubtaskStatus::Skipped | SubtaskStatus::Stopped)
                }
                SubtaskControl::Pause | SubtaskControl::Resume | SubtaskControl::Steer { .. } => {
                    task.status.is_at_work()
                }
            };
        if !is_possible {
            self.told = Some(self.not_now());
            return ViewOutcome::Moved;
        }
        let subtask = task.id.clone();
        self.told = Some(told.to_owned());
        ViewOutcome::Run(Cmd::Control(Control::Subtask { subtask, action }))
    }

    fn not_now(&self) -> String {
        match self.task() {
            Some(_) if !self.is_live() => "The request has ended.".to_owned(),
            Some(task) => {
                format!("Not possible now: sub-task {} is {}.", task.id, crate::words::subtasks::status(task.status))
            }
            None => String::new(),
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, now: Time) -> Option<Position> {
        let field = u16::from(self.words.is_some()) * 3;
        let above = Rect { height: area.height.saturating_sub(field), ..area };
        match self.worker.is_some() {
            true => self.draw_worker(above, buf, theme, now),
            false => self.draw_board(above, buf, theme, now),
        }
        let words = self.words.as_mut()?;
        words.draw(Rect { y: area.y + above.height, height: field.min(area.height), ..area }, buf, theme)
    }

    fn hint(&self, keys: &str) -> String {
        match (&self.words, &self.told) {
            (Some(_), _) => "enter send to the worker · esc cancel".to_owned(),
            (None, Some(told)) => sanitize_cells(told),
            (None, None) => keys.to_owned(),
        }
    }

    fn draw_board(&self, area: Rect, buf: &mut Buffer, theme: &Theme, now: Time) {
        let hint = self.hint("↑ ↓ select · enter open · t steer · s stop · x skip · r retry · p pause · esc close");
        let inner = pager::frame(area, buf, theme, &heading(&self.board), &hint);
        let width = usize::from(inner.width);
        let mut rows = Vec::new();
        for (at, (line, task)) in board_lines(&self.board, now).iter().skip(1).zip(&self.board.tasks).enumerate() {
            let (mark, name) = match at == self.chosen {
                true => ("›", StyleName::Selected),
                false => (" ", status_style(task.status)),
            };
            rows.push(Line::styled(cut(&format!("{mark} {}", sanitize_cells(line)), width), theme.style(name)));
        }
        let details = self.task().map(task_details).unwrap_or_default();
        let style = theme.style(StyleName::Dim);
        let details = details.iter().map(|line| Line::styled(format!("  {}", sanitize_cells(line)), style));
        let details: Vec<Line<'static>> = details.flat_map(|line| wrap(&line, width, 4)).collect();
        let height = usize::from(inner.height);
        // The list keeps at least half of the screen, and the chosen row is on it.
        let room = rows.len().min(height.saturating_sub(details.len() + 1).max(height / 2));
        let from = (self.chosen + 1).saturating_sub(room).min(rows.len().saturating_sub(room));
        let mut shown: Vec<Line<'static>> = rows.drain(from..from + room).collect();
        shown.push(Line::default());
        shown.extend(details);
        pager::put(inner, buf, &shown);
    }

    fn draw_worker(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, now: Time) {
        let keys = self.hint("↑ ↓ scroll · t steer · s stop · x skip · r retry · p pause · esc back to the sub-tasks");
        let title = board_lines(&self.board, now).get(self.chosen + 1).map(|line| sanitize_cells(line));
        let title = title.unwrap_or_default();
        if let Some(worker) = &mut self.worker {
            worker.whole.draw_rows(area, buf, theme, (&title, &keys), &mut worker.transcript);
        }
    }
}
