//! The exact reader: for text whose every token has one reading.
//!
//! It accepts JSON and unambiguous deviations: comments, extra commas, raw line breaks, single quotes, bare names,
//! the literals of other languages. A string ends at its first unescaped quotation mark. At anything else it stops,
//! and the guided reader takes over, so nothing that it returns was guessed.

use std::ops::ControlFlow;

use super::follow::{may_end, prose_begins};
use super::repair::{Notes, Repair};
use super::schema::{Object, Schema};
use super::source::{JsonSource, Literal, NameStyle, Quote, literal};
use super::text::decode;
use super::tree::{DEEPEST, FrameKind, Node, Stack};

/// The result of reading the text from one opening bracket on.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    /// Where it stopped.
    pub(super) end: usize,
    /// The opening bracket was closed; otherwise the text ended before.
    pub(super) closed: bool,
    /// Dots stood for something.
    pub(super) elided: bool,
    /// Nothing in it was guessed.
    pub(super) exact: bool,
    /// Where the reader first could not be sure to be outside of a text.
    pub(super) doubt: Option<usize>,
    pub(super) notes: Notes,
}

/// Why the exact reader gave up, and where.
#[derive(Debug)]
pub(super) struct Inexact {
    pub(super) at: usize,
}

enum ExactExpected {
    Name,
    Value,
    After,
}

/// Reads from an opening bracket, or from a first name if `implied`.
pub(super) fn read<'a>(
    source: &'a JsonSource<'_>,
    root: &'a Schema,
    base: &'a Object,
    start: usize,
    implied: bool,
) -> Result<Parsed, Inexact> {
    let mut reader = ExactReader {
        source,
        stack: Stack::new(root, base),
        notes: Notes::default(),
        want: ExactExpected::Value,
        alien: false,
        start,
        pos: start,
    };
    if implied {
        reader.stack.open_object();
        reader.notes.add(Repair::MissingBracket);
        reader.want = ExactExpected::Name;
    }
    while reader.advance()?.is_continue() {
        if let Some(node) = reader.stack.done() {
            return Ok(parsed(node, reader.pos, true, reader.notes));
        }
    }
    // Names of the root in an element of it mean that brackets are missing before the end, and then
    // this is not where the text was cut.
    if reader.alien {
        return Err(reader.inexact());
    }
    Ok(parsed(reader.stack.cut(), reader.pos, false, reader.notes))
}

fn parsed(node: Node, end: usize, closed: bool, notes: Notes) -> Parsed {
    Parsed { node, end, closed, elided: false, exact: true, doubt: None, notes }
}

/// `Break` where the text ends before its opening bracket is closed.
type Advance = Result<ControlFlow<()>, Inexact>;

const MORE: Advance = Ok(ControlFlow::Continue(()));
const CUT: Advance = Ok(ControlFlow::Break(()));

struct ExactReader<'a, 't> {
    source: &'a JsonSource<'t>,
    stack: Stack<'a>,
    notes: Notes,
    want: ExactExpected,
    /// An element of a list has had a name that only an object around it knows.
    alien: bool,
    start: usize,
    pos: usize,
}

impl ExactReader<'_, '_> {
    fn inexact(&self) -> Inexact {
        Inexact { at: self.pos }
    }

    /// Reads one token.
    fn advance(&mut self) -> Advance {
        let source = self.source;
        let (at, comment) = source.gap(self.pos);
        if comment {
            self.notes.add(Repair::Comment);
        }
        self.pos = at;
        let Some(byte) = source.at(at) else { return CUT };
        let is_value = matches!(self.want, ExactExpected::Value);
        if !is_value && prose_begins(source, &self.stack.frames, at) {
            return CUT;
        }
        if source.frame_ends(at) {
            // A fence in place of a value is its quotation mark.
            return if is_value && byte == b'`' { Err(self.inexact()) } else { CUT };
        }
        if matches!(byte, b'}' | b']')
            && matches!(self.stack.frames.as_slice(), [root] if !may_end(source, root, self.start, at + 1))
        {
            return Err(self.inexact());
        }
        match self.want {
            ExactExpected::Name => self.name(byte),
            ExactExpected::Value => self.value(byte),
            ExactExpected::After => self.after_value(byte),
        }
    }

    fn name(&mut self, byte: u8) -> Advance {
        if byte == b'}' {
            return self.close();
        }
        let Some((name, next)) = member_name(self.source, self.pos, &mut self.notes) else {
            return if name_is_cut(self.source, self.pos) { self.cut() } else { Err(self.inexact()) };
        };
        self.alien |= is_alien(&self.stack, &name);
        self.stack.name(&name);
        self.pos = next;
        self.want = ExactExpected::Value;
        MORE
    }

    fn value(&mut self, byte: u8) -> Advance {
        match byte {
            b'{' | b'[' if self.stack.frames.len() >= DEEPEST => match self.source.skip_deep(self.pos) {
                Some(end) => self.add(Node::Hole, end),
                None => self.cut(),
            },
            b'{' => {
                self.stack.open_object();
                self.pos += 1;
                self.want = ExactExpected::Name;
                MORE
            }
            b'[' => {
                self.stack.open_list();
                self.pos += 1;
                MORE
            }
            b']' if self.stack.top().is_some_and(|frame| !frame.is_object()) => self.close(),
            b'"' => self.text(byte, Quote::Double),
            b'\'' => self.text(byte, Quote::Single),
            _ => self.word(),
        }
    }

    fn text(&mut self, mark: u8, quote: Quote) -> Advance {
        let Some(end) = text_end(self.source, self.pos + 1, mark) else {
            self.stack.cut_in_text();
            return self.cut();
        };
        if quote == Quote::Single {
            self.notes.add(Repair::OtherQuotes);
        }
        let inside = &self.source.bytes[self.pos + 1..end];
        let text = decode(inside, quote, &mut self.notes).map_or(Node::Hole, Node::Text);
        self.add(text, end + 1)
    }

    fn word(&mut self) -> Advance {
        let end = self.source.word_end(self.pos);
        if end == self.source.bytes.len() {
            return self.cut();
        }
        let Some((word, proper)) = literal(&self.source.bytes[self.pos..end]) else { return Err(self.inexact()) };
        if !proper {
            self.notes.add(Repair::ForeignLiteral);
        }
        self.add(node(word), end)
    }

    fn after_value(&mut self, byte: u8) -> Advance {
        let Some(frame) = self.stack.top() else { return Err(self.inexact()) };
        let object = frame.is_object();
        match byte {
            b',' => self.want = if object { ExactExpected::Name } else { ExactExpected::Value },
            b'}' if object => self.stack.close(),
            b']' if !object => self.stack.close(),
            _ => return Err(self.inexact()),
        }
        self.pos += 1;
        MORE
    }

    fn add(&mut self, node: Node, end: usize) -> Advance {
        self.stack.add(node);
        self.pos = end;
        self.want = ExactExpected::After;
        MORE
    }

    /// A closing bracket where a name or a value may stand.
    fn close(&mut self) -> Advance {
        notes_comma(self.source, self.pos, &mut self.notes);
        self.stack.close();
        self.pos += 1;
        self.want = ExactExpected::After;
        MORE
    }

    /// The text ends inside the token.
    fn cut(&mut self) -> Advance {
        self.pos = self.source.bytes.len();
        CUT
    }
}

pub(super) fn node(literal: Literal) -> Node {
    match literal {
        Literal::Null => Node::Null,
        Literal::Truth(truth) => Node::Truth(truth),
        Literal::Number(number) => Node::Number(number),
    }
}

/// A closing bracket right after a comma.
fn notes_comma(source: &JsonSource<'_>, pos: usize, notes: &mut Notes) {
    let before = source.bytes[..pos].iter().rev().take(256).find(|b| !b.is_ascii_whitespace());
    if before == Some(&b',') {
        notes.add(Repair::ExtraComma);
    }
}

fn is_alien(stack: &Stack<'_>, name: &str) -> bool {
    let Some((top, outer)) = stack.frames.split_last() else { return false };
    top.element
        && !top.knows(name)
        && outer.iter().any(|frame| matches!(frame.kind, FrameKind::Object(_)) && frame.knows(name))
}

/// A name with its colon, exactly read.
fn member_name(source: &JsonSource<'_>, pos: usize, notes: &mut Notes) -> Option<(String, usize)> {
    if let Some(name) = source.name(pos).filter(|name| name.colon) {
        match name.style {
            NameStyle::Proper => return proper_name(source, pos, notes),
            NameStyle::Bare => notes.add(Repair::BareKey),
            NameStyle::OtherQuotes if source.at(pos) == Some(b'\'') => notes.add(Repair::OtherQuotes),
            _ => return None,
        }
        return Some((name.text.to_owned(), name.next));
    }
    proper_name(source, pos, notes)
}

/// The text ends inside a name or before its colon.
fn name_is_cut(source: &JsonSource<'_>, pos: usize) -> bool {
    let end = match source.at(pos) {
        // No name has brackets in it; what has is text.
        Some(b'"' | b'\'') if source.bytes[pos..].iter().take(64).any(|b| matches!(b, b'}' | b']')) => return false,
        Some(mark @ (b'"' | b'\'')) => text_end(source, pos + 1, mark).map(|end| end + 1),
        _ => Some(source.word_end(pos)),
    };
    end.is_none_or(|end| source.skip(end) == source.bytes.len())
}

/// A name of any length with any escapes, as JSON allows it.
fn proper_name(source: &JsonSource<'_>, pos: usize, notes: &mut Notes) -> Option<(String, usize)> {
    if source.at(pos) != Some(b'"') {
        return None;
    }
    let end = text_end(source, pos + 1, b'"')?;
    let colon = source.skip(end + 1);
    if source.at(colon) != Some(b':') {
        return None;
    }
    let name = decode(&source.bytes[pos + 1..end], Quote::Double, notes).unwrap_or_default();
    Some((name, colon + 1))
}

/// The first unescaped mark.
pub(super) fn text_end(source: &JsonSource<'_>, from: usize, mark: u8) -> Option<usize> {
    let mut pos = from;
    loop {
        let rest = source.bytes.get(pos..)?;
        let Some(step) = rest.iter().position(|b| *b == mark || *b == b'\\') else {
            source.count(rest.len());
            return None;
        };
        source.count(step + 1);
        pos += step;
        if source.bytes[pos] == mark {
            return Some(pos);
        }
        pos += 2;
    }
}
