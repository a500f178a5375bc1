//! Changes of files drawn for people: pure functions from two states of a file to styled lines.
//!
//! A [`LineSpan`] says what its text *is* (an added word, a comment on a removed line), not which colour it has.
//! The command line turns spans into what the terminal takes; another surface has other means.
//! Everything of a file goes through `visible`, so no span can steer a terminal.

mod content;
mod draw;
mod heading;
mod loaded;
mod stat;
pub(crate) mod syntax;
pub(crate) mod visible;
mod words;

pub use draw::draw;
pub(crate) use loaded::{LoadedDiff, written};
pub use stat::{counted, stat};
pub use syntax::SyntaxToken;
pub(crate) use visible::visible;

/// From so many columns on, two states stand side by side.
pub const WIDE: usize = 140;

/// A line on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffLine {
    /// Its parts, from left to right.
    pub spans: Vec<LineSpan>,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineSpan {
    /// What is drawn; never anything that steers a terminal.
    pub text: String,
    pub style: DiffStyle,
}

/// What a part of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffStyle {
    /// Its part in the change.
    pub role: DiffRole,
    /// What kind of word it is in its language.
    pub token: SyntaxToken,
}

/// The part that something plays in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffRole {
    /// Unchanged content.
    #[default]
    Same,
    /// The name of a file.
    Title,
    /// The name of a hunk.
    Hunk,
    /// A line number, a border.
    Frame,
    /// A count of what was added.
    More,
    /// A count of what was removed.
    Less,
    /// Something said about the content.
    Note,
    /// A mark for something in the content that cannot be drawn.
    Mark,
    /// Part of a line that was added.
    Added,
    /// A word within such a line that is new.
    AddedWord,
    /// Part of a line that was removed.
    Removed,
    /// A word within such a line that went.
    RemovedWord,
}

/// One state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffState<'a> {
    pub bytes: &'a [u8],
    /// Its mode, the kind of file with it where that is known.
    pub mode: u32,
}

/// A file that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffFile<'a> {
    pub path: &'a str,
    /// Where it was, if that was elsewhere.
    pub from: Option<&'a str>,
    /// What it was; absent: there was none.
    pub before: Option<DiffState<'a>>,
    /// What it is; absent: there is none.
    pub after: Option<DiffState<'a>>,
}

/// How two states stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One below the other.
    Inline,
    /// Next to each other.
    SideBySide,
}

/// How a change is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffView {
    /// Columns there are.
    pub width: usize,
    /// How the states stand.
    pub layout: Layout,
    /// Whether kinds of words are found; without colours they would be for nothing.
    pub syntax: bool,
    /// Lines that may be drawn.
    pub most_lines: usize,
    /// How a person gets to see what was left out.
    pub rest: String,
    pub heads: HunkHeads,
    /// Whether the ground of changed lines reaches to the edge.
    pub fills: bool,
}

/// What stands above the hunks of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkHeads {
    /// The name under which a command takes the hunk: `@@ src/a.rs:2 @@`.
    Names,
    /// Which one it is, and where.
    Places,
    /// Nothing but a sign between two hunks: the lines have numbers.
    Signs,
}

impl DiffView {
    /// The layout for so many columns, unless one was asked for.
    pub fn layout_for(width: usize, wanted: Option<Layout>) -> Layout {
        wanted.unwrap_or(if width >= WIDE { Layout::SideBySide } else { Layout::Inline })
    }
}

impl DiffLine {
    /// Its text without styles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    pub(crate) fn add(&mut self, text: impl Into<String>, role: DiffRole) {
        self.push(text.into(), DiffStyle { role, token: SyntaxToken::Text });
    }

    pub(crate) fn push(&mut self, text: String, style: DiffStyle) {
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text += &text,
            _ if text.is_empty() => {}
            _ => self.spans.push(LineSpan { text, style }),
        }
    }
}

#[cfg(test)]
mod tests;
