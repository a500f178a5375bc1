//! One entry of the transcript, and how it is drawn.

use std::time::Duration;

use ratatui::text::{Line, Span};
use trimtab_vocab::event::Status;
use trimtab_vocab::format;
use trimtab_vocab::{Answer, Problem, ProblemKind, Usage};

use super::{ReplyEntry, ThoughtEntry, ToolEntry};
use crate::structured_answer;
use crate::tui::markdown::render;
use crate::tui::pane::sticky::offered;
use crate::tui::shell_output::SentOutputs;
use crate::tui::text::wrapped;
use crate::tui::theme::{StyleName, Theme};
use crate::words::wrap;
use crate::words::{self, sanitize_cells};

/// One thing that was said or done.
#[derive(Debug)]
pub(in crate::tui) enum TranscriptEntry {
    /// The user's message, what became of it unless that is clear, and the outputs that were sent with it.
    Said { text: String, note: Option<String>, outputs: Option<SentOutputs> },
    /// A model's words.
    Reply(ReplyEntry),
    /// What a model thought before it spoke.
    Thought(ThoughtEntry),
    /// A tool that was used.
    Tool(Box<ToolEntry>),
    /// A notice for the user.
    Note { mark: LineMark, text: String },
    /// Lines that belong together: a list of steps, a block about a command.
    Block { lines: Vec<String> },
    /// What an answer has beside its words.
    Answer { answer: Box<Answer> },
    /// A request came to its end.
    Ended {
        status: Status,
        error: Option<Problem>,
        took: Option<Duration>,
        usage: Usage,
        done: Option<String>,
        is_warned: bool,
    },
}

/// What sort of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) enum LineMark {
    /// Said in passing.
    Quiet,
    /// Worth knowing.
    Info,
    /// It needs a look.
    Warning,
    /// It went wrong.
    Bad,
    /// It went well.
    Good,
}

impl LineMark {
    fn sign(self) -> (&'static str, StyleName) {
        match self {
            Self::Quiet => ("·", StyleName::Dim),
            Self::Info => ("•", StyleName::Accent),
            Self::Warning => ("!", StyleName::Warning),
            Self::Bad => ("✗", StyleName::Bad),
            Self::Good => ("✓", StyleName::Good),
        }
    }
}

/// A sign, a blank, and words that hang under their own beginning.
pub(in crate::tui) fn signed(
    sign: &str,
    sign_style: StyleName,
    words: Vec<Span<'static>>,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut spans = vec![Span::styled(format!("{sign} "), theme.style(sign_style))];
    spans.extend(words);
    wrap(&Line::from(spans), width, 2)
}

impl TranscriptEntry {
    /// Whether it will not change any more.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Reply(reply) => reply.is_done,
            Self::Tool(tool) => tool.is_done(),
            Self::Thought(thought) => thought.is_done,
            _ => true,
        }
    }

    /// Whether it stands close to its like, without a blank row.
    pub(super) fn is_close(&self) -> bool {
        matches!(self, Self::Tool(_) | Self::Note { .. } | Self::Thought(_) | Self::Ended { .. })
    }

    /// Its rows with nothing folded.
    pub(super) fn whole(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        match self {
            Self::Said { text, note, .. } => said((text, &[]), note.as_deref(), width, theme, usize::MAX),
            Self::Thought(thought) => thought.whole(width, theme),
            Self::Tool(tool) => tool.whole(width, theme),
            entry => entry.lines(width, theme),
        }
    }

    /// Its rows.
    pub(in crate::tui) fn lines(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        match self {
            Self::Said { text, note, outputs } => {
                let shown = outputs.as_ref().and_then(|outputs| outputs.folded(text)).unwrap_or((text, &[]));
                said(shown, note.as_deref(), width, theme, MOST_SAID)
            }
            Self::Reply(reply) => reply.lines(width, theme),
            Self::Thought(thought) => thought.lines(width, theme),
            Self::Tool(tool) => tool.lines(width, theme),
            Self::Note { mark, text } => {
                let (sign, name) = mark.sign();
                let words = if *mark == LineMark::Info { StyleName::Text } else { name };
                let mut rows = Vec::new();
                for (at, line) in sanitize_cells(text).lines().enumerate() {
                    let sign = if at == 0 { sign } else { " " };
                    rows.extend(signed(sign, name, vec![Span::styled(line.to_owned(), style(words))], width, theme));
                }
                rows
            }
            Self::Block { lines } => {
                lines.iter().flat_map(|line| wrapped(&sanitize_cells(line), style(StyleName::Dim), width)).collect()
            }
            Self::Answer { answer } => beside(answer, width, theme),
            Self::Ended { status, error, took, usage, done, is_warned } => {
                let mut rows = ended((*status, *is_warned), error.as_ref(), *took, usage, width, theme);
                if let Some(done) = done {
                    let words = vec![Span::styled(sanitize_cells(done), style(StyleName::Dim))];
                    rows.extend(signed(" ", StyleName::Dim, words, width, theme));
                }
                rows
            }
        }
    }
}

/// Rows of a message that are printed; a pasted log or the output of a command has more.
const MOST_SAID: usize = 24;

/// A message of the user and a line for each output in it, in at most so many rows.
fn said(
    (text, outputs): (&str, &[String]),
    note: Option<&str>,
    width: usize,
    theme: &Theme,
    most: usize,
) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for (at, line) in sanitize_cells(text.trim_end()).lines().enumerate() {
        let sign = if at == 0 { "›" } else { " " };
        let words = vec![Span::styled(line.to_owned(), theme.style(StyleName::Person))];
        rows.extend(signed(sign, StyleName::Person, words, width, theme));
    }
    let dim = |text: String| vec![Span::styled(text, theme.style(StyleName::Dim))];
    if rows.len() > most {
        let hidden = format::plural(rows.len() - (most - 4), "more line");
        rows.truncate(most - 4);
        rows.extend(signed(" ", StyleName::Dim, dim(format!("… {hidden} · ctrl-o")), width, theme));
    }
    for line in outputs.iter().map(String::as_str).chain(note) {
        rows.extend(signed(" ", StyleName::Dim, dim(sanitize_cells(line)), width, theme));
    }
    rows
}

/// What an answer has beside its words: changes and commands that it names, and what could be said next.
fn beside(answer: &Answer, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let style = |name| theme.style(name);
    let mut rows = Vec::new();
    for section in &answer.sections {
        if !rows.is_empty() {
            rows.push(Line::default());
        }
        rows.extend(wrapped(&sanitize_cells(&section.heading), style(StyleName::Heading), width));
        rows.extend(render(&structured_answer::body(section), u16::try_from(width).unwrap_or(u16::MAX), *theme));
    }
    let offers = &answer.next_steps[..answer.next_steps.len().min(3)];
    if !offers.is_empty() && !rows.is_empty() {
        rows.push(Line::default());
    }
    let key = |at: usize| Span::styled(format!("alt-{} ", at + 1), style(StyleName::Key));
    // Where the words have just listed them, the keys are enough.
    let listed = answer.sections.is_empty()
        && offers.iter().all(|next| answer.summary.contains(&next.input_text) && next.label() == next.input_text);
    if listed && !offers.is_empty() {
        let what = format::verb(offers.len(), "starts this next step", "starts one of these next steps");
        let keys: Vec<String> = (1..=offers.len()).map(|number| format!("alt-{number}")).collect();
        let words = vec![
            Span::styled(format::choices(&keys), style(StyleName::Key)),
            Span::styled(format!(" {what}"), style(StyleName::Dim)),
        ];
        rows.extend(signed("→", StyleName::Accent, words, width, theme));
        return rows;
    }
    for (at, next) in offers.iter().enumerate() {
        let words = vec![key(at), Span::styled(offered(next), style(StyleName::Text))];
        rows.extend(signed("→", StyleName::Accent, words, width, theme));
    }
    rows
}

fn ended(
    (status, is_warned): (Status, bool),
    error: Option<&Problem>,
    took: Option<Duration>,
    usage: &Usage,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let style = |name| theme.style(name);
    let mut facts = Vec::new();
    // A stop names its time itself.
    let stopped =
        took.filter(|_| status == Status::Cancelled).map(|took| format!("Stopped after {}", format::duration(took)));
    if let Some(took) = took.filter(|_| stopped.is_none()) {
        facts.push(format::duration(took));
    }
    let tokens = usage.input_tokens + usage.output_tokens;
    let about = if usage.estimated { "~" } else { "" };
    if tokens > 0 {
        facts.push(format!("{about}{}", format::plural(tokens, "token")));
    }
    if let Some(cost) = usage.cost_usd {
        facts.push(format!("{about}{}", format::dollars(cost)));
    }
    let facts = facts.join(" · ");
    // What was not done says so itself.
    let said = error.filter(|_| status == Status::NotDone).map(|problem| sanitize_cells(&problem.message));
    let (sign, name, word) = match status {
        // What the last line warns of is no success.
        Status::Completed if is_warned => ("!", StyleName::Warning, "Ended"),
        Status::Completed => ("✓", StyleName::Good, "Done"),
        Status::NotDone => ("✗", StyleName::Bad, "Not done"),
        Status::Failed => ("✗", StyleName::Bad, "Failed"),
        Status::Cancelled => ("■", StyleName::Warning, "Stopped"),
        Status::NeedsUser => ("?", StyleName::Warning, "Waiting for your answer"),
        Status::Limit => ("!", StyleName::Warning, "Reached a limit"),
    };
    let mut words = vec![Span::styled(said.or(stopped).unwrap_or_else(|| word.to_owned()), style(name))];
    if !facts.is_empty() {
        words.push(Span::styled(format!(" · {facts}"), style(StyleName::Dim)));
    }
    let end = signed(sign, name, words, width, theme);
    let mut rows = Vec::new();
    if let Some(problem) = error {
        if status == Status::NotDone {
            rows.extend(end.clone());
        } else {
            let words = vec![Span::styled(sanitize_cells(&problem.message), style(StyleName::Bad))];
            rows.extend(signed("✗", StyleName::Bad, words, width, theme));
        }
        if let Some(hint) = &problem.hint {
            rows.extend(signed(
                " ",
                StyleName::Dim,
                vec![Span::styled(sanitize_cells(&words::hint_on_screen(hint)), style(StyleName::Text))],
                width,
                theme,
            ));
        }
        if problem.kind == ProblemKind::Auth {
            let way = vec![
                Span::styled("/setup", style(StyleName::Key)),
                Span::styled(" changes the key.", style(StyleName::Text)),
            ];
            rows.extend(signed(" ", StyleName::Dim, way, width, theme));
        }
    }
    if error.is_none() || status != Status::NotDone {
        rows.extend(end);
    }
    rows
}
