//! The current action, its duration, and how to stop it.

use std::time::Duration;

use ratatui::text::{Line, Span};
use trimtab_vocab::event::{
    CheckpointFact, CommandFact, ModelFact, PlanFact, ReplyFact, RequestFact, SessionFact, StageFact, ToolFact,
};
use trimtab_vocab::format;
use trimtab_vocab::{Autonomy, Event, Fact, ProblemKind, RequestId, RunSettings, StepStatus, Time};

use crate::conversation::{Elapsed, is_under_way};
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::tui::transcript;
use crate::words::conversation::retrying;
use crate::words::{reply_label, sanitize_cells};

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
    /// The settings of the request, which say how many there may be at each level of autonomy.
    settings: Option<Box<RunSettings>>,
    /// The level that was chosen in the session.
    autonomy: Option<Autonomy>,
    /// The step of a plan that is carried out: its number, and how many there are. The list of steps has its title.
    step: Option<(u32, u32)>,
    /// What is being done began then.
    since: Option<Time>,
    /// Characters that the current call has written, thinking among them.
    written: usize,
    /// A failed call, and when it is made again.
    retry: Option<RetryWait>,
    retries: u32,
    is_stopping: bool,
    is_pausing: bool,
    /// Pausing is switched off.
    is_restless: bool,
    /// Questions that it waits for.
    asked: u32,
    /// Counts ticks, for what moves.
    ticks: usize,
    /// Requests that wait for their turn.
    pub(in crate::tui) waiting: Vec<(RequestId, String)>,
}

/// A call that failed and is made again.
#[derive(Debug)]
struct RetryWait {
    at: Time,
    /// How often the call has failed.
    number: u32,
    message: String,
}

/// A token has about so many characters; the exact number comes when the call has ended.
pub(in crate::tui) const TOKEN: usize = 4;

/// The part of the limit of calls from which on the calls are counted on the screen, in percent.
const NEAR_LIMIT: u32 = 80;

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
                self.settings = Some(settings.clone());
                self.is_restless = !settings.copilot.pause_enabled;
            }
            return;
        }
        if let Fact::Session(SessionFact::Autonomy { level, .. }) = &event.fact {
            self.autonomy = Some(*level);
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
            if !is_under_way(&event.fact) || (self.request.is_some() && !is_waiting) {
                return;
            }
            self.waiting.retain(|(waiting, _)| waiting != request);
            let settings = self.settings.take();
            self.begin(event, self.most_calls);
            self.settings = settings;
        }
        self.elapsed.observe(event);
        match &event.fact {
            Fact::Stage(StageFact { label, .. }) => self.now_doing(label.clone(), event),
            Fact::Model(ModelFact::Called { purpose, .. }) => {
                (self.retry, self.written) = (None, 0);
                if purpose.is_turn() {
                    self.calls += 1;
                }
                // A stage follows where there is another thing to do than to wait.
                self.now_doing("Waiting for the model...".to_owned(), event);
            }
            // The stage says that the model is being loaded, and the clock beside it for how long.
            Fact::Model(ModelFact::Failed { retry_in_ms: Some(_), error, .. })
                if error.kind == ProblemKind::Loading =>
            {
                self.calls = self.calls.saturating_sub(1);
            }
            Fact::Model(ModelFact::Failed { retry_in_ms: Some(millis), error, .. }) => {
                let wait = i64::try_from(*millis).unwrap_or(i64::MAX);
                let at = Time::from_millis(event.time.millis().saturating_add(wait));
                self.retries += 1;
                self.retry = Some(RetryWait { at, number: self.retries, message: error.message.clone() });
                self.calls = self.calls.saturating_sub(1);
            }
            Fact::Reply(fact) => {
                self.retries = 0;
                if let ReplyFact::Delta { text, thinking, .. } = fact {
                    self.written += text.chars().count() + thinking.chars().count();
                }
                if let Some(label) = reply_label(fact) {
                    self.now_doing(label, event);
                }
            }
            Fact::Tool(ToolFact::Started { name, input, title, .. }) => {
                let (verb, what) = transcript::tool_words(title.as_ref().unwrap_or(name), input);
                self.written = 0;
                self.now_doing(format!("{verb} {}", what.lines().next().unwrap_or_default()), event);
            }
            Fact::Command(CommandFact::Started { .. }) => self.since = Some(event.time),
            Fact::Tool(ToolFact::Finished { .. }) => self.now_doing("Working...".to_owned(), event),
            Fact::Plan(PlanFact::Step { number, of, status: StepStatus::Running, .. }) => {
                self.step = Some((*number, *of));
            }
            Fact::Checkpoint(CheckpointFact::Opened { .. }) => self.asked += 1,
            Fact::Checkpoint(CheckpointFact::Resolved { .. }) => {
                self.asked = self.asked.saturating_sub(1);
                self.since = Some(event.time);
            }
            Fact::Request(RequestFact::Stopping {}) => self.is_stopping = true,
            Fact::Request(RequestFact::Pausing {}) => self.is_pausing = true,
            Fact::Request(RequestFact::Resumed { .. }) => self.is_pausing = false,
            Fact::Request(RequestFact::Adjusted { max_steps: Some(most), .. }) => self.most_calls = *most,
            Fact::Request(RequestFact::Finished { .. }) => {
                let waiting = std::mem::take(&mut self.waiting);
                let (settings, autonomy) = (self.settings.take(), self.autonomy);
                *self = Self { waiting, most_calls: self.most_calls, settings, autonomy, ..Self::default() };
            }
            _ => {}
        }
    }

    fn begin(&mut self, event: &Event, most_calls: u32) {
        let waiting = std::mem::take(&mut self.waiting);
        let autonomy = self.autonomy;
        *self = Self { request: event.request.clone(), most_calls, waiting, autonomy, ..Self::default() };
        self.now_doing("Starting...".to_owned(), event);
        self.elapsed.observe(event);
    }

    /// Something else is being done from here on. The same again goes on with its clock.
    fn now_doing(&mut self, label: String, event: &Event) {
        let kind = |label: &str| label.split(char::is_numeric).next().map(str::to_owned);
        if kind(&self.label) != kind(&label) || self.since.is_none() {
            self.since = Some(event.time);
        }
        self.label = label;
    }

    /// How long it is worked on.
    fn elapsed(&self, now: Time) -> Duration {
        if self.elapsed.is_known() { self.elapsed.at(now) } else { Duration::ZERO }
    }

    /// What is being done, in words.
    fn label(&self, now: Time) -> String {
        let left = |retry: &RetryWait| retry.at.millis() - now.millis();
        match &self.retry {
            _ if self.is_stopping => "Stopping...".to_owned(),
            Some(retry) if left(retry) > 0 => {
                let wait = retrying(left(retry).unsigned_abs(), retry.number);
                // The countdown comes first, because what does not fit is cut at the end.
                format!("{wait}: {}", sanitize_cells(&retry.message))
            }
            _ => sanitize_cells(&self.label),
        }
    }

    /// What is known of it beside the words.
    fn facts(&self, now: Time) -> Vec<String> {
        let own = self.since.map_or(0, |since| now.millis() - since.millis());
        let own = Duration::from_millis(u64::try_from(own).unwrap_or(0));
        let waits = self.retry.as_ref().is_some_and(|retry| retry.at > now);
        // A countdown needs no second clock.
        let mut facts: Vec<String> = (!waits).then(|| format::running_time(own)).into_iter().collect();
        if self.written >= TOKEN {
            facts.push(format!("~{}", format::plural(self.written / TOKEN, "token")));
        }
        if let Some((number, of)) = &self.step {
            facts.push(format!("step {number} of {of}"));
        } else {
            let raised = |settings: &RunSettings| settings.steps_at(settings.autonomy_under(self.autonomy));
            let most = self.settings.as_deref().map_or(0, raised).max(self.most_calls);
            if self.calls * 100 >= most.max(1) * NEAR_LIMIT {
                facts.push(format!("call {} of {}", self.calls, most.max(self.calls)));
            }
        }
        let all = self.elapsed(now);
        if all.as_secs() > own.as_secs() + 9 {
            facts.push(format!("{} in total", format::running_time(all)));
        }
        if self.is_pausing {
            facts.push("pauses after this step".into());
        }
        facts
    }

    /// Moves what moves.
    pub(in crate::tui) fn tick(&mut self) {
        self.ticks = self.ticks.wrapping_add(1);
    }

    /// The line that says what is being done.
    /// What a tool does stands above it, if that is on the screen.
    pub(in crate::tui) fn lines(&self, width: usize, theme: &Theme, now: Time, is_told: bool) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        if !self.is_running() {
            return Vec::new();
        }
        let label = if is_told && !self.is_stopping { "Working...".to_owned() } else { self.label(now) };
        let keys = match (self.is_stopping, width >= 80 && self.calls > 1 && !self.is_restless) {
            (true, _) => "",
            (false, true) => "  esc stops · alt-p pauses",
            (false, false) => "  esc stops",
        };
        let facts = format!(" {}", self.facts(now).join(" · "));
        let room = width.saturating_sub(2 + keys.len());
        let facts = cut(&facts, room.saturating_sub(4));
        let label = cut(&label, room.saturating_sub(facts.chars().count()).max(4));
        vec![Line::from(vec![
            Span::styled(format!("{} ", SPINNER[self.ticks % SPINNER.len()]), style(StyleName::Accent)),
            Span::styled(label, style(StyleName::Text)),
            Span::styled(facts, style(StyleName::Dim)),
            Span::styled(keys, style(StyleName::Dim)),
        ])]
    }
}
