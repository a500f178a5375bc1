//! The current action, its duration, and how to stop it.

use std::time::Duration;

use ratatui::text::{Line, Span};
use trimtab_vocab::event::{CheckpointFact, ModelFact, PlanFact, RequestFact, StageFact, ToolFact};
use trimtab_vocab::format;
use trimtab_vocab::{Event, Fact, ProblemKind, RequestId, StepStatus, Time};

use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::tui::transcript;
use crate::words::conversation::trying_again;
use crate::words::elapsed::Elapsed;
use crate::words::reply_label;
use crate::words::sanitize_cells;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The request that is worked on.
#[derive(Debug, Default)]
pub(in crate::tui) struct Activity {
    request: Option<RequestId>,
    elapsed: Elapsed,
    label: String,
    /// Calls of a model so far, and how many there may be.
    calls: u32,
    most_calls: u32,
    /// The step of a plan that is carried out: its number, how many there are, its title.
    step: Option<(u32, u32, String)>,
    /// When a failed call is made again.
    again_at: Option<Time>,
    is_stopping: bool,
    is_pausing: bool,
    /// Pausing is switched off.
    is_restless: bool,
    /// Questions that it waits for.
    asked: u32,
    /// Requests that wait for their turn.
    pub(in crate::tui) waiting: Vec<(RequestId, String)>,
}

impl Activity {
    /// Whether something is being done, or waits for a person.
    pub(in crate::tui) fn is_open(&self) -> bool {
        self.request.is_some()
    }

    /// Whether something is being done now: a clock runs.
    pub(in crate::tui) fn is_running(&self) -> bool {
        self.request.is_some() && self.asked == 0
    }

    /// A person wants it to pause after this step.
    pub(in crate::tui) fn is_pausing(&self) -> bool {
        self.is_pausing
    }

    /// A person wants it stopped.
    pub(in crate::tui) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Says at once what a person wants, before a fact tells that it was heard.
    pub(in crate::tui) fn stopping(&mut self) {
        self.is_stopping = true;
    }

    pub(in crate::tui) fn observe(&mut self, event: &Event) {
        if let Fact::Request(RequestFact::Received { text, settings, .. }) = &event.fact {
            let Some(request) = &event.request else { return };
            if self.request.is_some() {
                self.waiting.push((request.clone(), text.clone()));
            } else {
                self.begin(event, settings.models.max_steps);
                self.is_restless = !settings.copilot.pause_enabled;
            }
            return;
        }
        if let (Some(request), true) = (&event.request, self.request.is_none() || self.request != event.request) {
            let is_waiting = self.waiting.iter().any(|(waiting, _)| waiting == request);
            let is_over =
                matches!(event.fact, Fact::Request(RequestFact::Finished { .. } | RequestFact::Joined { .. }));
            if is_over {
                self.waiting.retain(|(waiting, _)| waiting != request);
                return;
            }
            let begins =
                matches!(event.fact, Fact::Request(RequestFact::Reopened {}) | Fact::Model(_) | Fact::Route(_));
            if !begins || (self.request.is_some() && !is_waiting) {
                return;
            }
            self.waiting.retain(|(waiting, _)| waiting != request);
            self.begin(event, self.most_calls);
        }
        self.elapsed.observe(event);
        match &event.fact {
            Fact::Stage(StageFact { label, .. }) => self.label.clone_from(label),
            Fact::Model(ModelFact::Called { purpose, .. }) => {
                self.again_at = None;
                if purpose.is_turn() {
                    self.calls += 1;
                }
            }
            // The stage says that the model is being loaded, and the clock beside it for how long.
            Fact::Model(ModelFact::Failed { retry_in_ms: Some(_), error, .. })
                if error.kind == ProblemKind::Loading =>
            {
                self.calls = self.calls.saturating_sub(1);
            }
            Fact::Model(ModelFact::Failed { retry_in_ms: Some(millis), .. }) => {
                let wait = i64::try_from(*millis).unwrap_or(i64::MAX);
                self.again_at = Some(Time::from_millis(event.time.millis().saturating_add(wait)));
                self.calls = self.calls.saturating_sub(1);
            }
            Fact::Reply(fact) => {
                if let Some(label) = reply_label(fact) {
                    self.label = label;
                }
            }
            Fact::Tool(ToolFact::Started { name, input, title, .. }) => {
                let (verb, what) = transcript::tool_words(title.as_ref().unwrap_or(name), input);
                self.label = format!("{verb} {}", what.lines().next().unwrap_or_default());
            }
            Fact::Tool(ToolFact::Finished { .. }) => "Working...".clone_into(&mut self.label),
            Fact::Plan(PlanFact::Step { number, of, title, status: StepStatus::Running, .. }) => {
                self.step = Some((*number, *of, title.clone()));
            }
            Fact::Checkpoint(CheckpointFact::Opened { .. }) => self.asked += 1,
            Fact::Checkpoint(CheckpointFact::Resolved { .. }) => self.asked = self.asked.saturating_sub(1),
            Fact::Request(RequestFact::Stopping {}) => self.is_stopping = true,
            Fact::Request(RequestFact::Pausing {}) => self.is_pausing = true,
            Fact::Request(RequestFact::Resumed { .. }) => self.is_pausing = false,
            Fact::Request(RequestFact::Adjusted { max_steps: Some(most), .. }) => self.most_calls = *most,
            Fact::Request(RequestFact::Finished { .. }) => {
                let waiting = std::mem::take(&mut self.waiting);
                *self = Self { waiting, most_calls: self.most_calls, ..Self::default() };
            }
            _ => {}
        }
    }

    fn begin(&mut self, event: &Event, most_calls: u32) {
        let waiting = std::mem::take(&mut self.waiting);
        *self = Self { request: event.request.clone(), most_calls, waiting, ..Self::default() };
        self.label = "Beginning...".to_owned();
        self.elapsed.observe(event);
    }

    /// How long it is worked on.
    fn elapsed(&self, now: Time) -> Duration {
        if self.elapsed.is_known() { self.elapsed.at(now) } else { Duration::ZERO }
    }

    /// The line, and those of requests that wait for their turn.
    pub(in crate::tui) fn lines(&self, width: usize, theme: &Theme, now: Time, frame: usize) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        let mut rows = Vec::new();
        if self.is_running() {
            let left = self.again_at.map(|at| at.millis() - now.millis()).filter(|left| *left > 0);
            let label = match left {
                _ if self.is_stopping => "Stopping...".to_owned(),
                Some(left) => format!("{}...", trying_again(left.unsigned_abs())),
                None => sanitize_cells(&self.label),
            };
            let mut facts = vec![format::running_time(self.elapsed(now))];
            if let Some((number, of, title)) = &self.step {
                facts.push(format!("step {number} of {of}: {}", sanitize_cells(title)));
            } else if self.calls > 0 {
                facts.push(format!("call {} of {}", self.calls, self.most_calls.max(self.calls)));
            }
            if self.is_pausing {
                facts.push("pauses after this step".into());
            }
            let keys = match (self.is_stopping, width >= 80 && self.calls > 1 && !self.is_restless) {
                (true, _) => "",
                (false, true) => "  esc stops · alt-p pauses",
                (false, false) => "  esc stops",
            };
            let facts = format!(" {}", facts.join(" · "));
            let room = width.saturating_sub(2 + keys.len());
            let facts = cut(&facts, room.saturating_sub(4));
            let label = cut(&label, room.saturating_sub(facts.chars().count()).max(4));
            rows.push(Line::from(vec![
                Span::styled(format!("{} ", SPINNER[frame % SPINNER.len()]), style(StyleName::Accent)),
                Span::styled(label, style(StyleName::Text)),
                Span::styled(facts, style(StyleName::Dim)),
                Span::styled(keys, style(StyleName::Dim)),
            ]));
        }
        for (_, text) in self.waiting.iter().take(3) {
            let line = format!("  waits: {}", text.lines().next().unwrap_or_default());
            rows.push(Line::from(Span::styled(cut(&sanitize_cells(&line), width), style(StyleName::Dim))));
        }
        if self.waiting.len() > 3 {
            let line = format!("  and {} more", self.waiting.len() - 3);
            rows.push(Line::from(Span::styled(line, style(StyleName::Dim))));
        }
        rows
    }
}
