//! The line at the bottom: where one is, with whom, how, and what it has cost so far.

use ratatui::text::{Line, Span};
use serde_json::{Value, json};
use trimtab_vocab::event::{RequestFact, RouteDecision, RouteFact, SessionFact, UsageFact};
use trimtab_vocab::format;
use trimtab_vocab::{Autonomy, Effort, Event, Fact, Mode, Usage, WorkerSpending};
use unicode_width::UnicodeWidthStr;

use crate::tui::autonomy::AutonomySwitch;
use crate::tui::status_command::StatusCommand;
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;

/// What the line can show, in the order in which it does by default.
pub(in crate::tui) const PARTS: [&str; 12] = [
    "mode", "autonomy", "model", "effort", "folder", "branch", "context", "tokens", "cached", "speed", "cost",
    "session",
];

/// The same by importance: what goes first where there is little room stands last.
const IMPORTANT: [&str; 12] = [
    "mode", "model", "autonomy", "context", "cost", "effort", "folder", "branch", "tokens", "speed", "cached",
    "session",
];

/// What is known.
#[derive(Debug, Default)]
pub(in crate::tui) struct StatusLine {
    pub(in crate::tui) mode: Mode,
    pub(in crate::tui) model: String,
    /// How much the model thinks from the next request on; absent: as its provider sees fit.
    pub(in crate::tui) effort: Option<Effort>,
    pub(in crate::tui) folder: String,
    pub(in crate::tui) branch: Option<String>,
    pub(in crate::tui) autonomy: AutonomySwitch,
    pub(in crate::tui) budget: Option<f64>,
    /// What is shown, by name.
    pub(in crate::tui) parts: Vec<String>,
    /// The user's own program, which is shown instead.
    pub(in crate::tui) own: Option<StatusCommand>,
    /// The folder as it is called everywhere.
    pub(in crate::tui) directory: String,
    pub(in crate::tui) known: SessionFigures,
}

/// What is known of the session.
#[derive(Debug, Default)]
pub(in crate::tui) struct SessionFigures {
    title: String,
    context: Option<(u64, u64)>,
    usage: Usage,
    workers: WorkerSpending,
    /// Tokens in a second, of the last reply that tells.
    speed: Option<f64>,
    talk: Talk,
}

/// Whether what is talked about can be carried out by a key.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Talk {
    /// Where a person chose to talk.
    #[default]
    ByMode,
    /// Talk comes first by a setting.
    First,
    /// So it is, and the last request was talk.
    Talked,
    /// Going over to work is switched off.
    Only,
}

impl StatusLine {
    /// Whether what was talked about can be carried out.
    pub(in crate::tui) fn offers_work(&self) -> bool {
        match self.known.talk {
            Talk::Talked => true,
            Talk::Only => false,
            Talk::ByMode | Talk::First => self.mode == Mode::Chat,
        }
    }

    /// What is known of another session is not true of this one.
    pub(in crate::tui) fn begin_session(&mut self) {
        self.known = SessionFigures::default();
        self.autonomy.begin_session();
    }

    pub(in crate::tui) fn observe(&mut self, event: &Event) {
        if let Some((_, spent)) = self.known.workers.observe(event) {
            self.known.usage += spent;
        }
        match &event.fact {
            Fact::Usage(UsageFact { usage, context_tokens, context_window, .. }) => {
                self.known.usage += *usage;
                self.known.speed = usage.tokens_per_s.or(self.known.speed);
                if let (Some(used), Some(window)) = (context_tokens, context_window) {
                    self.known.context = Some((*used, *window));
                }
            }
            Fact::Session(SessionFact::Titled { title, .. }) => self.known.title.clone_from(title),
            Fact::Session(SessionFact::Autonomy { level, .. }) => self.autonomy.record(*level),
            Fact::Request(RequestFact::Received { settings, .. }) => {
                if !settings.models.model.is_empty() {
                    self.model.clone_from(&settings.models.model);
                }
                self.budget = settings.models.budget_usd.or(self.budget);
                self.autonomy.limit = settings.autonomy.limit;
                let copilot = &settings.copilot;
                self.known.talk = match (copilot.allow_execution_transition, copilot.conversational) {
                    (false, _) => Talk::Only,
                    (true, true) => Talk::First,
                    (true, false) => Talk::ByMode,
                };
            }
            Fact::Route(RouteFact { decision: RouteDecision::Chat, .. }) if self.known.talk == Talk::First => {
                self.known.talk = Talk::Talked;
            }
            _ => {}
        }
    }

    fn part(&self, name: &str) -> Option<(String, StyleName)> {
        Some(match name {
            "mode" => {
                let word = match self.mode {
                    Mode::Auto => "auto",
                    Mode::Chat => "chat",
                    Mode::Plan => "plan",
                    Mode::Implement => "implement",
                };
                (word.to_owned(), StyleName::Accent)
            }
            "model" => (self.model.rsplit('/').next().unwrap_or_default().to_owned(), StyleName::Text),
            "effort" => (format!("effort {}", self.effort?.name()), StyleName::Dim),
            "cached" => {
                let percent = self.known.usage.cached_percent().filter(|_| self.known.usage.cached_tokens > 0)?;
                (format!("{percent}% cached"), StyleName::Dim)
            }
            "speed" => (format!("{} tok/s", format::number(self.known.speed?.round() as u64)), StyleName::Dim),
            "folder" => (self.folder.clone(), StyleName::Dim),
            "branch" => (format!("⎇ {}", self.branch.as_ref()?), StyleName::Dim),
            // A plan changes nothing at any level.
            "autonomy" if self.mode == Mode::Plan => return None,
            "autonomy" => {
                let level = self.autonomy.level();
                let style = if level == Autonomy::Trusting { StyleName::Warning } else { StyleName::Dim };
                (level.name().to_owned(), style)
            }
            "context" => {
                let (used, window) = self.known.context.filter(|(_, window)| *window > 0)?;
                let percent = used * 100 / window;
                let name = if percent >= 85 { StyleName::Warning } else { StyleName::Dim };
                (format!("context {percent}%"), name)
            }
            "tokens" => {
                let tokens = self.known.usage.input_tokens + self.known.usage.output_tokens;
                let about = if self.known.usage.estimated { "~" } else { "" };
                (
                    format!("{about}{}", format::plural(Some(tokens).filter(|tokens| *tokens > 0)?, "token")),
                    StyleName::Dim,
                )
            }
            "cost" => match (self.known.usage.cost_usd, self.budget) {
                (Some(cost), budget) => {
                    let about = if self.known.usage.estimated { "~" } else { "" };
                    let of = budget.map(|budget| format!(" of {}", format::dollars(budget))).unwrap_or_default();
                    (format!("{about}{}{of}", format::dollars(cost)), StyleName::Dim)
                }
                (None, _) => return None,
            },
            "session" => (Some(self.known.title.clone()).filter(|title| !title.is_empty())?, StyleName::Dim),
            _ => return None,
        })
    }

    /// The title of the session.
    pub(in crate::tui) fn title(&self) -> &str {
        &self.known.title
    }

    /// All that is known, a line for each.
    pub(in crate::tui) fn report(&self, session: Option<&str>) -> Vec<String> {
        let usage = &self.known.usage;
        let mut rows: Vec<(&str, String)> = Vec::new();
        rows.extend(session.map(|session| ("session", format!("{session}  {}", self.known.title))));
        rows.push((
            "folder",
            [Some(self.folder.clone()), self.part("branch").map(|part| part.0)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("  "),
        ));
        rows.push(("model", self.model.clone()));
        rows.push(("effort", self.effort.map_or("auto", Effort::name).to_owned()));
        rows.extend(self.part("mode").map(|part| ("mode", part.0)));
        rows.extend(self.part("autonomy").map(|part| ("autonomy", part.0)));
        if let Some((used, window)) = self.known.context.filter(|(_, window)| *window > 0) {
            let (percent, used) = (used * 100 / window, format::number(used));
            rows.push(("context", format!("{used} of {} tokens ({percent}%)", format::number(window))));
        }
        let about = if usage.estimated { "~" } else { "" };
        let cached = usage.cached_percent().map(|percent| format!(" ({percent}% cached)")).unwrap_or_default();
        let (read, written) = (format::number(usage.input_tokens), format::number(usage.output_tokens));
        rows.push(("tokens", format!("{about}{read} in{cached}, {about}{written} out")));
        rows.extend(self.part("cost").map(|part| ("cost", part.0)));
        rows.extend(self.part("speed").map(|part| ("speed", part.0)));
        let rows = rows.into_iter().filter(|(_, value)| !value.trim().is_empty());
        rows.map(|(name, value)| format!("  {name:<10} {}", value.trim_end())).collect()
    }

    /// What the user's own program is to be given, if it is to run now.
    pub(in crate::tui) fn news(&mut self, session: Option<&str>) -> Option<String> {
        self.own.as_ref()?;
        let known = self.as_json(session).to_string();
        self.own.as_mut().and_then(|own| own.due(known))
    }

    /// Shows what the user's own program has printed.
    pub(in crate::tui) fn show(&mut self, line: String) {
        if let Some(own) = &mut self.own {
            own.ended(line);
        }
    }

    /// What is known, under the names that status line programs of others read, and under those of this program.
    fn as_json(&self, session: Option<&str>) -> Value {
        let usage = &self.known.usage;
        let (used, window) = self.known.context.unzip();
        let percent = self.known.context.filter(|(_, window)| *window > 0).map(|(used, window)| used * 100 / window);
        json!({
            "hook_event_name": "Status",
            "version": env!("CARGO_PKG_VERSION"),
            "session_id": session,
            "session_name": Some(&self.known.title).filter(|title| !title.is_empty()),
            "cwd": self.directory,
            "workspace": {"current_dir": self.directory, "project_dir": self.directory},
            "model": {"id": self.model, "display_name": self.model.rsplit('/').next()},
            "cost": {"total_cost_usd": usage.cost_usd, "budget_usd": self.budget, "estimated": usage.estimated},
            "context_window": {"used_tokens": used, "context_window_size": window, "used_percentage": percent},
            "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
            "tokens_per_second": self.known.speed,
            "mode": self.part("mode").map(|part| part.0),
            "autonomy": self.autonomy.level().name(),
            "effort": self.effort.map(Effort::name),
            "branch": self.branch,
        })
    }

    /// As many parts as there is room for, in their order; the less important ones are the first to go.
    pub(in crate::tui) fn line(&self, width: usize, theme: &Theme, hint: &str) -> Line<'static> {
        let tail = if hint.is_empty() { 0 } else { hint.width() + 3 };
        if let Some(own) = self.own.as_ref().and_then(StatusCommand::line) {
            let text = cut(&sanitize_cells(own), width.saturating_sub(tail).max(1));
            return with_hint(vec![Span::styled(text, theme.style(StyleName::Dim))], width, theme, hint);
        }
        let place = |name: &str| IMPORTANT.iter().position(|other| *other == name).unwrap_or(usize::MAX);
        let mut parts: Vec<(usize, usize, String, StyleName)> = Vec::new();
        for (at, name) in self.parts.iter().enumerate() {
            if let Some((text, style)) = self.part(name).filter(|(text, _)| !text.is_empty()) {
                parts.push((place(name), at, sanitize_cells(&text), style));
            }
        }
        parts.sort_by_key(|(importance, ..)| *importance);
        let mut used = 0;
        let mut shown: Vec<(usize, String, StyleName)> = Vec::new();
        for (_, at, text, style) in parts {
            let gap = if shown.is_empty() { 0 } else { 3 };
            // The most important one stays, if only in part.
            let text = if shown.is_empty() { cut(&text, width) } else { text };
            if shown.is_empty() || used + gap + text.width() + tail <= width {
                used += gap + text.width();
                shown.push((at, text, style));
            }
        }
        shown.sort_by_key(|(at, ..)| *at);
        let mut spans = Vec::new();
        for (_, text, style) in shown {
            if !spans.is_empty() {
                spans.push(Span::styled(" · ", theme.style(StyleName::Dim)));
            }
            spans.push(Span::styled(text, theme.style(style)));
        }
        with_hint(spans, width, theme, hint)
    }
}

/// The line with a hint at its end, if there is room for it.
fn with_hint(mut spans: Vec<Span<'static>>, width: usize, theme: &Theme, hint: &str) -> Line<'static> {
    let used: usize = spans.iter().map(Span::width).sum();
    if !hint.is_empty() && used + hint.width() + 3 <= width {
        spans.push(Span::raw(" ".repeat(width - used - hint.width())));
        spans.push(Span::styled(hint.to_owned(), theme.style(StyleName::Dim)));
    }
    Line::from(spans)
}
