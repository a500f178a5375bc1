//! A tool that was used: one line, and what a person wants to see of what it did.

use std::sync::Arc;

use ratatui::text::{Line, Span};
use serde_json::Value;
use trimtab_vocab::event::{ChangedFile, ToolStatus};
use trimtab_vocab::format;
use trimtab_vocab::{CHECK_TOOL, CallId, FileWrite};

use super::entry::signed;
use crate::conversation::CommandProgress;
use crate::diff::LoadedDiff;
use crate::tui::diffs;
use crate::tui::text::{cut, first_line};
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;
use crate::words::{result_for_person, whole_result_for_person, wrap};

/// Rows of a command's output while it runs.
const WINDOW: usize = 5;
/// Rows of it that are left when it has ended.
const LEFT: usize = 4;
/// Rows of a change that are shown with it.
const GLIMPSE: usize = 60;
/// Rows that say why a tool failed.
const MOST_WHY: usize = 3;
/// Bytes of output that are kept to be shown while a command runs.
const KEPT: usize = 16 * 1024;

/// A tool that is or was used.
#[derive(Debug)]
pub(in crate::tui) struct ToolEntry {
    pub(in crate::tui) call: CallId,
    pub(in crate::tui) name: String,
    pub(in crate::tui) input: Value,
    pub(in crate::tui) status: Option<ToolStatus>,
    pub(in crate::tui) preview: String,
    /// A person is asked whether it may.
    pub(super) is_waiting: bool,
    /// It is one of several commands, whose block has the output.
    pub(super) is_in_series: bool,
    /// It is a command: what ran, and how it ended.
    pub(super) command: Option<CommandEntry>,
    /// Files that it would write or has written.
    pub(super) writes: Vec<FileWrite>,
    /// Their bytes were asked for.
    pub(super) is_asked: bool,
    pub(super) diff: Option<Arc<Vec<LoadedDiff>>>,
    pub(super) changed: Vec<ChangedFile>,
    /// Lines about what a command did to files.
    pub(super) effects: Vec<String>,
}

/// A command that a tool runs, with the end of its output.
#[derive(Debug, Default)]
pub(super) struct CommandEntry {
    pub(super) output: String,
    /// Lines that came in all, those that are not kept among them.
    lines: usize,
    pub(super) run: CommandProgress,
}

impl CommandEntry {
    pub(super) fn push(&mut self, text: &str) {
        self.output.push_str(text);
        self.lines += text.matches('\n').count();
        if self.output.len() > 2 * KEPT {
            let cut = self.output.floor_char_boundary(self.output.len() - KEPT);
            self.output.drain(..cut);
        }
    }
}

impl ToolEntry {
    pub(super) fn new(call: CallId, name: String, input: Value) -> Self {
        Self {
            call,
            name,
            input,
            status: None,
            preview: String::new(),
            is_waiting: false,
            is_in_series: false,
            command: None,
            writes: Vec::new(),
            is_asked: false,
            diff: None,
            changed: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Whether a person is asked about it, and nothing has come of it.
    pub(super) fn is_asked_about(&self) -> bool {
        self.is_waiting && self.command.is_none() && self.status.is_none()
    }

    fn is_command(&self) -> bool {
        matches!(self.name.as_str(), "run_command" | CHECK_TOOL)
    }

    /// Whether it is an edit that was in place already.
    fn changed_nothing(&self) -> bool {
        let is_edit = matches!(self.name.as_str(), "edit_file" | "apply_diff" | "write_file");
        is_edit && self.status == Some(ToolStatus::Ok) && self.writes.is_empty() && self.changed.is_empty()
    }

    /// Whether it has ended, and what it changed can be drawn.
    pub(super) fn is_done(&self) -> bool {
        self.status.is_some() && (self.writes.is_empty() || self.changed.is_empty() || self.diff.is_some())
    }

    pub(super) fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        let (sign, name) = match self.status {
            None => ("○", StyleName::Accent),
            Some(ToolStatus::Ok | ToolStatus::Partial) if self.failed() => ("✗", StyleName::Bad),
            Some(ToolStatus::Ok | ToolStatus::Partial) => ("●", StyleName::Good),
            Some(ToolStatus::Blocked) => ("⊘", StyleName::Warning),
            Some(ToolStatus::Interrupted) => ("■", StyleName::Warning),
            Some(ToolStatus::Error) => ("✗", StyleName::Bad),
        };
        // A change that failed has changed nothing; a command that failed has run all the same.
        let is_over = matches!(self.status, Some(ToolStatus::Ok | ToolStatus::Partial))
            || self.command.as_ref().is_some_and(|command| command.run.is_over);
        let tense = match (is_over, self.is_waiting) {
            (true, _) => Tense::Past,
            (false, true) => Tense::Infinitive,
            (false, false) => Tense::Present,
        };
        let (verb, what) = match self.undone() {
            Some(word) if self.is_command() => (word.to_owned(), words(&self.name, &self.input, tense).1),
            Some(word) => {
                let (verb, what) = words(&self.name, &self.input, Tense::Infinitive);
                (format!("{word} {}", verb.trim_start_matches("Wants to ")), what)
            }
            None if self.status == Some(ToolStatus::Error) && self.command.is_none() => {
                let (verb, what) = words(&self.name, &self.input, Tense::Infinitive);
                (verb.replacen("Wants to", "Could not", 1), what)
            }
            None if self.changed_nothing() => {
                ("No change needed in".to_owned(), words(&self.name, &self.input, tense).1)
            }
            None => words(&self.name, &self.input, tense),
        };
        let facts = self.facts();
        let room = width.saturating_sub(4 + verb.len() + facts.chars().count());
        let mut spans = vec![Span::styled(verb, style(StyleName::Strong))];
        if !what.is_empty() {
            spans.push(Span::raw(" "));
            spans.push(Span::styled(first_line(&what, room.max(12)), style(StyleName::Code)));
        }
        if !facts.is_empty() {
            spans.push(Span::styled(format!("  {facts}"), style(StyleName::Dim)));
        }
        let mut rows = signed(sign, name, spans, width, theme);
        match (&self.command, &self.diff) {
            (Some(command), _) => rows.extend(self.output(command, width, theme)),
            (None, Some(files)) if !self.changed.is_empty() => {
                rows.extend(diffs::glimpse(files, width, theme, GLIMPSE))
            }
            _ => {}
        }
        rows.extend(self.effects.iter().flat_map(|line| effect(line, width, theme)));
        if matches!(self.status, Some(ToolStatus::Error | ToolStatus::Blocked | ToolStatus::Interrupted))
            && self.command.is_none()
        {
            // The sentences after the first tell the model what to try instead.
            let why = result_for_person(&self.preview).unwrap_or_default();
            let why = match (self.status, why.split_once(". ")) {
                (Some(ToolStatus::Error), Some((first, _))) => first,
                _ => why.as_str(),
            };
            if !why.is_empty() {
                rows.extend(effect(why, width, theme).into_iter().take(MOST_WHY));
            }
        }
        rows
    }

    /// Its rows with all that is known of what came of it.
    pub(super) fn whole(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut rows = self.lines(width, theme);
        rows.truncate(1);
        rows.extend(self.whole_input(width, theme));
        if let Some(files) = self.diff.as_ref().filter(|_| !self.changed.is_empty()) {
            rows.extend(diffs::glimpse(files, width, theme, usize::MAX));
        } else {
            let text = sanitize_cells(whole_result_for_person(&self.preview).trim_end());
            for line in text.lines() {
                let line = Line::from(vec![
                    Span::styled("  │ ", theme.style(StyleName::Frame)),
                    Span::styled(line.to_owned(), theme.style(StyleName::Text)),
                ]);
                rows.extend(wrap(&line, width, 4));
            }
        }
        rows.extend(self.effects.iter().flat_map(|line| effect(line, width, theme)));
        rows
    }

    /// What was asked for, where the line of the tool has no room for it.
    fn whole_input(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (_, what) = words(&self.name, &self.input, Tense::Past);
        let what = sanitize_cells(what.trim());
        if what.lines().count() < 2 && what.chars().count() + 30 < width {
            return Vec::new();
        }
        let row = |line: &str| {
            let sign = Span::styled("  ▏ ", theme.style(StyleName::Frame));
            wrap(&Line::from(vec![sign, Span::styled(line.to_owned(), theme.style(StyleName::Code))]), width, 4)
        };
        what.lines().flat_map(row).collect()
    }

    /// What is said of a call that never began.
    fn undone(&self) -> Option<&'static str> {
        let began = self.command.is_some() || !self.changed.is_empty();
        match self.status? {
            ToolStatus::Blocked if !began => Some("Denied:"),
            ToolStatus::Interrupted if !began && self.is_command() => Some("Not run:"),
            ToolStatus::Interrupted if !began && !is_look(&self.name) => Some("Not done:"),
            _ => None,
        }
    }

    fn failed(&self) -> bool {
        self.command.as_ref().is_some_and(|command| command.run.is_over && command.run.exit_code != Some(0))
    }

    /// What is said at the end of its line.
    fn facts(&self) -> String {
        let mut facts = Vec::new();
        if let Some(command) = &self.command {
            match (command.run.exit_code, &command.run.signal) {
                _ if command.run.timed_out => facts.push("timed out".to_owned()),
                (Some(0), _) => {}
                (Some(code), _) => facts.push(format!("exit code {code}")),
                (None, Some(signal)) => facts.push(format!("ended by {signal}")),
                (None, None) => {}
            }
            facts.extend(command.run.took.map(format::duration));
        } else if self.status == Some(ToolStatus::Ok) && self.changed.is_empty() && is_look(&self.name) {
            facts.push(format::plural(self.preview.lines().count(), "line"));
        }
        match self.status {
            Some(ToolStatus::Interrupted) if self.undone().is_none() => facts.push("stopped".into()),
            _ => {}
        }
        for file in self.changed.iter().take(1) {
            facts.push(format!("+{} −{}", file.added, file.removed));
        }
        facts.join(" · ")
    }

    fn output(&self, command: &CommandEntry, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        if command.run.is_over && self.is_in_series {
            return Vec::new();
        }
        let text = if command.run.is_over && !self.preview.trim().is_empty() { &self.preview } else { &command.output };
        let text = sanitize_cells(text.trim_end());
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let most = if command.run.is_over { LEFT } else { WINDOW };
        let hidden = lines.len().saturating_sub(most);
        let above = command.lines.max(lines.len()).saturating_sub(lines.len() - hidden);
        let row = |line: &str| {
            Line::from(vec![
                Span::styled("  │ ", theme.style(StyleName::Frame)),
                Span::styled(cut(line, width.saturating_sub(4)), theme.style(StyleName::Dim)),
            ])
        };
        let mut rows = Vec::new();
        if hidden > 0 {
            rows.push(row(&format!("… {} above", format::plural(above, "line"))));
        }
        rows.extend(lines[hidden..].iter().map(|line| row(line)));
        rows
    }
}

/// What is known of files that a command changed.
fn effect(line: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let words = vec![Span::styled(sanitize_cells(line.trim()), theme.style(StyleName::Dim))];
    signed(" ", StyleName::Dim, words, width, theme)
}

fn is_look(name: &str) -> bool {
    matches!(
        name,
        "read_file" | "list_files" | "find_files" | "search" | "fetch_url" | "web_search" | "read_ref" | "use_skill"
    )
}

/// When something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) enum Tense {
    /// It would be, if a person lets it.
    Infinitive,
    Present,
    Past,
}

/// What a tool does, in words: what, and with what.
pub(in crate::tui) fn words(name: &str, input: &Value, tense: Tense) -> (String, String) {
    let field = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (infinitive, now, then, what) = match name {
        "read_file" => ("read", "Reading", "Read", field("path")),
        "list_files" => {
            let path = Some(field("path")).filter(|path| !path.is_empty()).unwrap_or_else(|| ".".into());
            ("list", "Listing", "Listed", path)
        }
        "find_files" => ("look for", "Looking for", "Looked for", field("pattern")),
        "search" => ("search for", "Searching for", "Searched for", field("pattern")),
        "fetch_url" => ("fetch", "Fetching", "Fetched", field("url")),
        "web_search" => ("search the web for", "Searching the web for", "Searched the web for", field("query")),
        "use_skill" => ("load the skill", "Loading the skill", "Loaded the skill", field("name")),
        "read_ref" => ("read", "Reading", "Read", field("key")),
        "edit_file" | "apply_diff" => ("change", "Changing", "Changed", field("path")),
        "write_file" => ("write", "Writing", "Wrote", field("path")),
        "delete_file" => ("delete", "Deleting", "Deleted", field("path")),
        "move_file" => ("move", "Moving", "Moved", format!("{} → {}", field("from"), field("to"))),
        "run_command" if input.get("background") == Some(&Value::Bool(true)) => {
            ("start", "Starting", "Started", field("command"))
        }
        "run_command" => ("run", "Running", "Ran", field("command")),
        CHECK_TOOL => ("run the check", "Checking:", "Checked:", field("command")),
        "ask_user" => ("ask", "Asking", "Asked", field("question")),
        "set_steps" => ("write the steps", "Writing the steps", "Wrote the steps", String::new()),
        "delegate" => ("run sub-tasks", "Running sub-tasks", "Ran sub-tasks", String::new()),
        "propose_plan" => ("plan", "Planning", "Planned", String::new()),
        _ => {
            let line = crate::words::tool_line(name, input);
            let (name, what) = line.split_once(' ').unwrap_or((&line, ""));
            return (sanitize_cells(name), what.to_owned());
        }
    };
    let verb = match tense {
        Tense::Infinitive => format!("Wants to {infinitive}"),
        Tense::Present => now.to_owned(),
        Tense::Past => then.to_owned(),
    };
    (verb, what)
}
