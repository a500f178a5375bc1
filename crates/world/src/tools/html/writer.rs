//! Writes the text and the markup before it.

use super::{HtmlTag, entities, plain};

/// Deeper lists and quotations are shown like this one.
const DEEPEST_SHOWN: usize = 6;
/// A longer address leads to a tracker, or holds a picture.
const LONGEST_HREF: usize = 300;
/// Nested tables that are distinguished.
const MOST_TABLES: usize = 32;

/// Writes words and remembers the markup before the next one.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    before: PendingSpace,
    /// Numbers of ordered lists, none for the others; how deep lists are beyond what is shown.
    lists: Vec<Option<u32>>,
    deeper_lists: usize,
    quotes: usize,
    preformatted: usize,
    link: Option<Link>,
    /// For each table that is open, in which cell of its row it is; 0 is before the first.
    cells: Vec<usize>,
    deeper_tables: usize,
}

/// The pending markup before the next word.
#[derive(Default, Clone)]
struct PendingSpace {
    lines: usize,
    space: bool,
    marker: Option<String>,
    cells: usize,
}

struct Link {
    href: String,
    start: usize,
    before: PendingSpace,
}

impl Writer {
    pub(super) fn open(&mut self, tag: &HtmlTag<'_>) {
        match tag.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block(2);
                let level = usize::from(tag.name.as_bytes()[1] - b'0');
                self.before.marker = Some(format!("{} ", "#".repeat(level)));
            }
            "ul" | "ol" | "menu" => {
                self.block(2);
                if self.lists.len() < DEEPEST_SHOWN {
                    self.lists.push((tag.name == "ol").then_some(0));
                } else {
                    self.deeper_lists += 1;
                }
            }
            "li" => {
                self.line();
                self.before.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{number}. ")
                    }
                    _ => "- ".to_owned(),
                });
            }
            "blockquote" => {
                self.block(2);
                self.quotes += 1;
            }
            "pre" => {
                self.block(2);
                self.preformatted += 1;
            }
            "a" => {
                self.end_link();
                if let Some(href) = tag.value {
                    self.link = Some(Link { href: plain(href), start: self.out.len(), before: self.before.clone() });
                }
            }
            "img" => {
                let alt = tag.value.map(plain).unwrap_or_default();
                if !alt.is_empty() {
                    self.text(&format!("[image: {alt}]"));
                }
            }
            "br" if self.preformatted > 0 => self.out.push('\n'),
            "hr" => {
                self.block(2);
                self.text("---");
                self.block(2);
            }
            "table" => {
                self.block(2);
                if self.cells.len() < MOST_TABLES {
                    self.cells.push(0);
                } else {
                    self.deeper_tables += 1;
                }
            }
            "tr" => {
                self.line();
                self.before.cells = 0;
                if let Some(cell) = self.cells.last_mut() {
                    *cell = 0;
                }
            }
            "td" | "th" => {
                self.before.space = true;
                if let Some(cell) = self.cells.last_mut() {
                    self.before.cells += usize::from(*cell > 0);
                    *cell += 1;
                }
            }
            name => self.boundary(name),
        }
    }

    pub(super) fn close(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.before.marker = None;
                self.block(2);
            }
            "ul" | "ol" | "menu" => {
                if self.deeper_lists > 0 {
                    self.deeper_lists -= 1;
                } else {
                    self.lists.pop();
                }
                self.before.marker = None;
                self.block(2);
            }
            "li" => {
                self.before.marker = None;
                self.line();
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.block(2);
            }
            "pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                // The page's own blank lines, and the line that this one is on.
                self.out.truncate(self.out.trim_end().len());
                self.block(2);
            }
            "a" => self.end_link(),
            "table" => {
                if self.deeper_tables > 0 {
                    self.deeper_tables -= 1;
                } else {
                    self.cells.pop();
                }
                self.before.cells = 0;
                self.block(2);
            }
            "tr" => {
                self.before.cells = 0;
                self.line();
            }
            name => self.boundary(name),
        }
    }

    /// The start or end of an element without a meaning.
    fn boundary(&mut self, name: &str) {
        let is_in_cell = self.cells.last().is_some_and(|cell| *cell > 0);
        match name {
            // A row stays on its line.
            "p" | "div" | "br" | "section" | "article" if is_in_cell => self.before.space = true,
            "p" | "dl" | "figure" | "form" | "fieldset" | "details" => self.block(2),
            "br" | "div" | "section" | "article" | "main" | "header" | "footer" | "nav" | "aside" | "address"
            | "dt" | "dd" | "caption" | "figcaption" | "summary" | "body" | "option" | "legend" | "thead" | "tbody" => {
                self.line();
            }
            "button" | "label" | "select" | "input" | "textarea" => self.before.space = true,
            _ => {}
        }
    }

    /// The next word begins a new line.
    fn line(&mut self) {
        self.before.lines = self.before.lines.max(1);
    }

    /// The next word begins after this many line ends. A list is kept together.
    fn block(&mut self, lines: usize) {
        let lines = if self.lists.is_empty() { lines } else { 1 };
        self.before.lines = self.before.lines.max(lines);
    }

    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let plain = memchr::memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
            rest[..plain].chars().for_each(|c| self.character(c));
            rest = &rest[plain..];
            if !rest.is_empty() {
                let (c, length) = entities::decode(rest).unwrap_or(('&', 1));
                self.character(c);
                rest = &rest[length..];
            }
        }
    }

    fn character(&mut self, c: char) {
        if self.preformatted > 0 && c.is_whitespace() {
            // The first line break of such a text belongs to its tag.
            if c != '\r' && !(c == '\n' && self.before.lines > 0) {
                self.settle();
                self.out.push(if matches!(c, '\n' | '\t') { c } else { ' ' });
            }
        } else if c.is_whitespace() {
            self.before.space = true;
        } else if !(c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}')) {
            // What cannot be seen is left out: it only hides things from people.
            self.settle();
            self.out.push(c);
        }
    }

    /// Writes the pending markup before the next word.
    fn settle(&mut self) {
        let PendingSpace { lines, space, marker, cells } = std::mem::take(&mut self.before);
        let is_first = self.out.is_empty();
        if !is_first && lines > 0 {
            self.out.extend(std::iter::repeat_n('\n', lines.min(2)));
        }
        if is_first || lines > 0 {
            (0..self.quotes.min(DEEPEST_SHOWN)).for_each(|_| self.out.push_str("> "));
            let depth = self.lists.len().saturating_sub(usize::from(marker.is_some()));
            (0..depth).for_each(|_| self.out.push_str("  "));
        }
        if cells > 0 {
            (0..cells).for_each(|_| self.out.push_str(" | "));
        } else if space && lines == 0 && !is_first && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
        if let Some(marker) = marker {
            self.out.push_str(&marker);
        }
    }

    /// The address of a link, if it says more than its words.
    fn end_link(&mut self) {
        let Some(Link { href, start, before }) = self.link.take() else { return };
        let Some(text) = self.out.get(start..).map(str::trim).filter(|text| !text.is_empty()) else { return };
        if href.starts_with('#') && matches!(text, "#" | "¶" | "§" | "🔗") {
            // A handle by which a heading can be linked to is not part of it.
            self.out.truncate(start);
            self.before = before;
            return;
        }
        let scheme = href.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let leads_somewhere = match scheme.as_deref() {
            Some("http" | "https") => true,
            Some(scheme) => scheme.contains(['/', '?', '#', '.']),
            None => !href.is_empty() && !href.starts_with('#'),
        };
        let says_more = text != href && text != href.trim_start_matches("https://").trim_end_matches('/');
        if leads_somewhere && says_more && href.len() <= LONGEST_HREF && self.preformatted == 0 {
            self.out.push_str(&format!(" ({href})"));
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.end_link();
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        self.out
    }
}
