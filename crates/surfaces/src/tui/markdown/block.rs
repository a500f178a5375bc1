//! Blocks, line by line: what a line goes on with, ends or begins.
//!
//! A line is looked at once. A block is drawn when it ends, a line of a program at once; nothing that was drawn
//! changes. So the work is linear, and only the block at the end is ever laid out again.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::clean::clean;
use super::code::CodeFence;
use super::inline;
use super::lay::{self, BREAK, StyledRun};
use super::sign::{Marker, heading, indent, is_rule, marker};
use super::table::Table;
use crate::tui::theme::{StyleName, Theme};

/// Quotes and items within each other that are told apart.
const DEEPEST: usize = 12;
/// Bytes after which a paragraph is drawn, whether it has ended or not.
const LONGEST: usize = 3_000;
/// Columns that a text has at least, whatever it stands in.
const NARROWEST: usize = 4;
const BULLETS: [&str; 3] = ["•", "◦", "▪"];

/// Something that blocks stand in.
#[derive(Debug, Clone)]
enum MarkdownFrame {
    Quote,
    Item { indent: usize, sign: String, is_drawn: bool },
}

impl MarkdownFrame {
    /// The rest of a line that goes on with it.
    fn rest<'a>(&self, line: &'a str) -> Option<&'a str> {
        match self {
            Self::Quote => {
                let bare = line.trim_start_matches(' ');
                let rest = bare.strip_prefix('>').filter(|_| line.len() - bare.len() < 4)?;
                Some(rest.strip_prefix(' ').unwrap_or(rest))
            }
            Self::Item { .. } if line.trim().is_empty() => Some(""),
            Self::Item { indent: wanted, .. } => (indent(line) >= *wanted).then(|| &line[*wanted..]),
        }
    }
}

/// A list whose items come one after the other.
#[derive(Debug, Clone, Copy)]
struct MarkdownList {
    sign: char,
    next: u64,
}

#[derive(Debug, Clone)]
enum Leaf {
    None,
    Paragraph(String),
    Fence(Box<CodeFence>),
    Table(Box<Table>),
}

#[derive(Debug, Clone)]
pub(super) struct Blocks {
    width: usize,
    theme: Theme,
    frames: Vec<MarkdownFrame>,
    lists: Vec<MarkdownList>,
    leaf: Leaf,
    /// An empty line is due before the next block, in so many frames.
    gap: Option<usize>,
    has_drawn: bool,
    /// What is drawn may still grow: it is shown as it will probably look.
    is_guess: bool,
    lines: Vec<Line<'static>>,
}

impl Blocks {
    pub(super) fn new(width: usize, theme: Theme) -> Self {
        let (frames, lists, lines) = (Vec::new(), Vec::new(), Vec::new());
        Self { width, theme, frames, lists, leaf: Leaf::None, gap: None, has_drawn: false, is_guess: false, lines }
    }

    /// The lines that were drawn since this was last asked.
    pub(super) fn take(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.lines)
    }

    /// How it would look if it ended now, after a line that is not whole yet.
    pub(super) fn guess(&self, pending: &str) -> Vec<Line<'static>> {
        let mut copy = Self { lines: Vec::new(), is_guess: true, ..self.clone() };
        let pending = clean(pending);
        let is_hidden = match &copy.leaf {
            Leaf::Fence(fence) => pending.is_empty() || fence.may_end(&pending),
            _ => super::sign::may_be_sign(&pending),
        };
        if !is_hidden {
            copy.line(&pending);
        }
        copy.close();
        copy.lines
    }

    /// Nothing comes any more.
    pub(super) fn finish(&mut self) {
        self.close();
        self.leave(0);
        self.lists.clear();
        self.gap = Some(0);
    }

    /// Takes a line in, without its end.
    pub(super) fn line(&mut self, line: &str) {
        let line = clean(line);
        let mut rest: &str = &line;
        let mut depth = 0;
        for frame in &self.frames {
            let Some(inner) = frame.rest(rest) else { break };
            rest = inner;
            depth += 1;
        }
        let is_inside = depth == self.frames.len();
        if is_inside && matches!(self.leaf, Leaf::Fence(_)) {
            return self.program(rest);
        }
        if rest.trim().is_empty() {
            self.close();
            self.leave(depth);
            self.gap = Some(self.gap.map_or(depth, |before| before.min(depth)));
            return;
        }
        if is_inside {
            if self.goes_on(rest) {
                return;
            }
        } else if matches!(self.leaf, Leaf::Paragraph(_)) && !begins(rest) && !rest.starts_with('|') {
            // A line that forgot the signs of its quote or item still belongs to it.
            return self.text(rest);
        } else {
            self.close();
            self.leave(depth);
        }
        let rest = self.enter(rest).to_owned();
        self.begin(&rest);
    }

    /// Whether a line goes on with what is open, or makes it something else.
    fn goes_on(&mut self, rest: &str) -> bool {
        let bare = rest.trim();
        match &mut self.leaf {
            Leaf::Table(table) if Table::is_row(rest) && !begins(rest) => {
                let width = room(self.width, &self.frames);
                let drawn = table.add(rest, width, &self.theme);
                if !drawn.is_empty() {
                    self.emit(drawn.into_iter().map(|line| line.spans).collect());
                }
                true
            }
            Leaf::Paragraph(text) if indent(rest) < 4 => {
                let level = match bare.as_bytes() {
                    [b'=', .., b'='] if bare.bytes().all(|byte| byte == b'=') => 1,
                    [b'-', .., b'-'] if bare.bytes().all(|byte| byte == b'-') => 2,
                    _ => 0,
                };
                if level > 0 {
                    let text = std::mem::take(text);
                    self.leaf = Leaf::None;
                    self.heading(level, &joined(&text));
                    return true;
                }
                let (above, head) = text.rsplit_once('\n').map_or((None, text.as_str()), |(a, b)| (Some(a), b));
                let Some(table) = Table::begun(head, bare) else { return false };
                self.leaf = above.map_or(Leaf::None, |above| Leaf::Paragraph(above.to_owned()));
                self.close();
                self.leaf = Leaf::Table(Box::new(table));
                true
            }
            _ => false,
        }
    }

    /// Opens the quotes and items that a line begins; returns what stands in them.
    fn enter<'a>(&mut self, mut rest: &'a str) -> &'a str {
        while self.frames.len() < DEEPEST {
            let (blanks, bare) = (indent(rest), rest.trim_start_matches(' '));
            let found = marker(bare);
            let is_in_item = matches!(self.frames.last(), Some(MarkdownFrame::Item { .. }));
            if (blanks >= 4 && !(is_in_item && found.is_some())) || is_rule(bare) {
                break;
            }
            if let Some(inner) = bare.strip_prefix('>') {
                self.close();
                self.lists.truncate(self.frames.len());
                self.frames.push(MarkdownFrame::Quote);
                rest = inner.strip_prefix(' ').unwrap_or(inner);
                continue;
            }
            let Some(found) = found else { break };
            let after = &bare[found.len..];
            let is_interrupting = matches!(self.leaf, Leaf::Paragraph(_));
            if is_interrupting && (after.trim().is_empty() || found.number.is_some_and(|number| number != 1)) {
                break;
            }
            self.close();
            let inner = indent(after);
            // Five blanks or more begin a program within the item.
            let gap = if after.trim().is_empty() || inner > 4 { 1.min(inner) } else { inner };
            self.item(found, blanks + found.len + gap.max(1));
            rest = &after[gap..];
        }
        rest
    }

    fn item(&mut self, found: Marker, indent: usize) {
        let depth = self.frames.len();
        // Lists count by the frames that they stand in; frames without a list have a place all the same.
        self.lists.truncate(depth + 1);
        while self.lists.len() < depth {
            self.lists.push(MarkdownList { sign: ' ', next: 0 });
        }
        let start = found.number.unwrap_or(0);
        let goes_on = self.lists.get(depth).filter(|list| list.sign == found.sign).map(|list| list.next);
        let number = goes_on.unwrap_or(start);
        self.lists.truncate(depth);
        self.lists.push(MarkdownList { sign: found.sign, next: number.saturating_add(1) });
        let nested = self.frames.iter().filter(|frame| matches!(frame, MarkdownFrame::Item { .. })).count();
        let sign = match found.number {
            Some(_) => format!("{number}."),
            None => BULLETS[nested % BULLETS.len()].to_owned(),
        };
        self.frames.push(MarkdownFrame::Item { indent, sign, is_drawn: false });
    }

    /// Begins a block with a line, or goes on with a paragraph.
    fn begin(&mut self, rest: &str) {
        let (blanks, bare) = (indent(rest), rest.trim_start_matches(' '));
        if bare.trim().is_empty() {
            return;
        }
        if matches!(self.leaf, Leaf::Table(_)) {
            self.close();
        }
        let is_paragraph = matches!(self.leaf, Leaf::Paragraph(_));
        if blanks >= 4 && !is_paragraph {
            self.lists.truncate(self.frames.len());
            let runs = [StyledRun::new(&rest[4..], self.theme.style(StyleName::Code))];
            let width = room(self.width, &self.frames).saturating_sub(2);
            return self.emit(indented(lay::letters(&runs, width)));
        }
        if blanks < 4 {
            if let Some((level, text)) = heading(bare) {
                self.close();
                return self.heading(level, text);
            }
            if is_rule(bare) {
                self.close();
                let rule = "─".repeat(room(self.width, &self.frames).min(40));
                return self.emit(vec![vec![Span::styled(rule, self.theme.style(StyleName::Frame))]]);
            }
            if let Some(fence) = CodeFence::begun(bare, blanks, &self.theme) {
                self.close();
                self.lists.truncate(self.frames.len());
                self.leaf = Leaf::Fence(Box::new(fence));
                return;
            }
        }
        self.text(bare);
    }

    fn text(&mut self, line: &str) {
        let line = line.trim_start_matches(' ');
        match &mut self.leaf {
            Leaf::Paragraph(text) => {
                text.push('\n');
                *text += line;
            }
            _ => {
                self.close();
                self.lists.truncate(self.frames.len());
                self.leaf = Leaf::Paragraph(line.to_owned());
            }
        }
        if matches!(&self.leaf, Leaf::Paragraph(text) if text.len() > LONGEST) {
            self.close();
        }
    }

    fn program(&mut self, rest: &str) {
        let width = room(self.width, &self.frames).saturating_sub(2);
        let Leaf::Fence(fence) = &mut self.leaf else { return };
        if fence.is_end(rest) {
            self.leaf = Leaf::None;
            return;
        }
        let lines = fence.line(rest, width, &self.theme);
        self.emit(indented(lines));
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.lists.truncate(self.frames.len());
        let style = self.theme.style(if level <= 2 { StyleName::Heading } else { StyleName::Strong });
        let text = if self.is_guess { inline::closed(text) } else { text.to_owned() };
        let runs = inline::runs(&text, &self.theme, style);
        self.emit(lay::words(&runs, room(self.width, &self.frames)));
    }

    /// Draws the block that is open.
    fn close(&mut self) {
        let width = room(self.width, &self.frames);
        match std::mem::replace(&mut self.leaf, Leaf::None) {
            Leaf::None | Leaf::Fence(_) => {}
            Leaf::Table(mut table) => {
                let lines = table.draw(width, &self.theme);
                self.emit(lines.into_iter().map(|line| line.spans).collect());
            }
            // The head of a table comes before anything tells that it is one.
            Leaf::Paragraph(text) if self.is_guess && text.starts_with('|') && !text.contains('\n') => {
                let lines = Table::head(&text).draw(width, &self.theme);
                self.emit(lines.into_iter().map(|line| line.spans).collect());
            }
            Leaf::Paragraph(text) => {
                let is_first = matches!(self.frames.last(), Some(MarkdownFrame::Item { is_drawn: false, .. }));
                let text = if is_first { ticked(&text) } else { text };
                let text = joined(&text);
                let text = if self.is_guess { inline::closed(&text) } else { text };
                let in_quote = self.frames.iter().any(|frame| matches!(frame, MarkdownFrame::Quote));
                let style = if in_quote { self.theme.style(StyleName::Quote) } else { Style::default() };
                self.emit(lay::words(&inline::runs(&text, &self.theme, style), width));
            }
        }
    }

    /// Leaves frames until so many are left. An item in which nothing stood is drawn now.
    fn leave(&mut self, depth: usize) {
        if self.frames.len() <= depth {
            return;
        }
        if !self.is_guess && matches!(self.frames.last(), Some(MarkdownFrame::Item { is_drawn: false, .. })) {
            self.emit(vec![Vec::new()]);
        }
        self.frames.truncate(depth);
        self.lists.truncate(depth + 1);
        self.gap = self.gap.map(|before| before.min(depth));
    }

    /// Draws lines within the frames that are open.
    fn emit(&mut self, lines: Vec<Vec<Span<'static>>>) {
        if lines.is_empty() {
            return;
        }
        if let Some(depth) = self.gap.take().filter(|_| self.has_drawn) {
            let frames = &self.frames[..depth.min(self.frames.len())];
            let bars = frames.iter().filter(|frame| matches!(frame, MarkdownFrame::Quote)).count();
            let bar = Span::styled("▏".repeat(bars), self.theme.style(StyleName::Quote));
            self.lines.push(if bars > 0 { Line::from(bar) } else { Line::default() });
        }
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for frame in drawn(self.width, &self.frames) {
            match frame {
                MarkdownFrame::Quote => {
                    let bar = Span::styled("▏ ", self.theme.style(StyleName::Quote));
                    first.push(bar.clone());
                    rest.push(bar);
                }
                MarkdownFrame::Item { sign, is_drawn, .. } => {
                    let blank = Span::raw(" ".repeat(sign.width() + 1));
                    let mark = Span::styled(format!("{sign} "), self.theme.style(StyleName::Accent));
                    first.push(if *is_drawn { blank.clone() } else { mark });
                    rest.push(blank);
                }
            }
        }
        self.lines.extend(lay::prefixed(lines, &first, &rest));
        self.has_drawn = true;
        for frame in &mut self.frames {
            if let MarkdownFrame::Item { is_drawn, .. } = frame {
                *is_drawn = true;
            }
        }
    }
}

/// Whether a line begins something other than a paragraph.
fn begins(line: &str) -> bool {
    let bare = line.trim_start_matches(' ');
    let is_fence = ["```", "~~~"].iter().any(|sign| bare.starts_with(sign));
    bare.starts_with('>') || is_fence || is_rule(bare) || heading(bare).is_some() || marker(bare).is_some()
}

fn wide(frame: &MarkdownFrame) -> usize {
    match frame {
        MarkdownFrame::Quote => 2,
        MarkdownFrame::Item { sign, .. } => sign.width() + 1,
    }
}

/// The frames that there is room to draw, the innermost ones.
fn drawn(width: usize, frames: &[MarkdownFrame]) -> &[MarkdownFrame] {
    let mut from = 0;
    while frames[from..].iter().map(wide).sum::<usize>() + NARROWEST > width && from < frames.len() {
        from += 1;
    }
    &frames[from..]
}

/// The columns for what stands in the frames.
fn room(width: usize, frames: &[MarkdownFrame]) -> usize {
    width.saturating_sub(drawn(width, frames).iter().map(wide).sum()).max(1)
}

fn indented(lines: Vec<Vec<Span<'static>>>) -> Vec<Vec<Span<'static>>> {
    let put = |mut line: Vec<Span<'static>>| {
        if !line.is_empty() {
            line.insert(0, Span::raw("  "));
        }
        line
    };
    lines.into_iter().map(put).collect()
}

/// The lines of a paragraph as one. Their ends stay: who talks rather than sets type means them.
fn joined(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        whole += line.strip_suffix('\\').filter(|_| !is_last).unwrap_or(line).trim_end();
        if !is_last {
            whole.push(BREAK);
        }
    }
    whole
}

/// An item that can be ticked, as a box.
fn ticked(text: &str) -> String {
    for (sign, mark) in [("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")] {
        if let Some(rest) = text.strip_prefix(sign) {
            return format!("{mark}{rest}");
        }
    }
    text.to_owned()
}
