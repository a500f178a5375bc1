//! The exact reader: a text whose every token has one reading.
//!
//! It takes JSON and the deviations that leave no doubt: comments, commas too many, raw line breaks,
//! single quotes, bare names, the literals of other languages. A text ends at its first unescaped
//! quotation mark. At anything else it stops and leaves the field to the guided reader, so nothing
//! that it returns was guessed.

use super::follow::{may_end, prose_begins};
use super::repair::{Notes, Repair};
use super::schema::{Object, Schema};
use super::source::{JsonSource, Literal, NameStyle, Quote, literal};
use super::text::decode;
use super::tree::{DEEPEST, FrameKind, Node, Stack};

/// What a reader made of the text from one opening bracket on.
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
pub(super) fn read(
    source: &JsonSource<'_>,
    root: &Schema,
    base: &Object,
    start: usize,
    implied: bool,
) -> Result<Parsed, Inexact> {
    let mut stack = Stack::new(root, base);
    let mut notes = Notes::default();
    let mut want = ExactExpected::Value;
    let mut alien = false;
    let mut pos = start;
    if implied {
        stack.open_object();
        notes.add(Repair::MissingBracket);
        want = ExactExpected::Name;
    }
    loop {
        let (at, comment) = source.gap(pos);
        if comment {
            notes.add(Repair::Comment);
        }
        pos = at;
        let Some(byte) = source.at(pos) else { break };
        let inexact = Err(Inexact { at: pos });
        if !matches!(want, ExactExpected::Value) && prose_begins(source, &stack.frames, pos) {
            break;
        }
        if source.frame_ends(pos) {
            // A fence in place of a value is its quotation mark.
            if matches!(want, ExactExpected::Value) && byte == b'`' {
                return inexact;
            }
            break;
        }
        if matches!(byte, b'}' | b']')
            && matches!(stack.frames.as_slice(), [root] if !may_end(source, root, start, pos + 1))
        {
            return inexact;
        }
        match want {
            ExactExpected::Name => match byte {
                b'}' => {
                    notes_comma(source, pos, &mut notes);
                    stack.close();
                    pos += 1;
                    want = ExactExpected::After;
                }
                _ => {
                    let Some((name, next)) = member_name(source, pos, &mut notes) else {
                        if name_is_cut(source, pos) {
                            pos = source.bytes.len();
                            break;
                        }
                        return inexact;
                    };
                    alien |= is_alien(&stack, &name);
                    stack.name(&name);
                    pos = next;
                    want = ExactExpected::Value;
                }
            },
            ExactExpected::Value => match byte {
                b'{' | b'[' if stack.frames.len() >= DEEPEST => {
                    let Some(end) = source.skip_deep(pos) else {
                        pos = source.bytes.len();
                        break;
                    };
                    stack.add(Node::Hole);
                    pos = end;
                    want = ExactExpected::After;
                }
                b'{' => {
                    stack.open_object();
                    pos += 1;
                    want = ExactExpected::Name;
                }
                b'[' => {
                    stack.open_list();
                    pos += 1;
                }
                b']' if stack.top().is_some_and(|frame| !frame.is_object()) => {
                    notes_comma(source, pos, &mut notes);
                    stack.close();
                    pos += 1;
                    want = ExactExpected::After;
                }
                b'"' | b'\'' => {
                    let quote = if byte == b'"' { Quote::Double } else { Quote::Single };
                    let Some(end) = text_end(source, pos + 1, byte) else {
                        stack.cut_in_text();
                        pos = source.bytes.len();
                        break;
                    };
                    if quote == Quote::Single {
                        notes.add(Repair::OtherQuotes);
                    }
                    let inside = &source.bytes[pos + 1..end];
                    stack.add(decode(inside, quote, &mut notes).map_or(Node::Hole, Node::Text));
                    pos = end + 1;
                    want = ExactExpected::After;
                }
                _ => {
                    let end = source.word_end(pos);
                    if end == source.bytes.len() {
                        pos = end;
                        break;
                    }
                    let Some((word, proper)) = literal(&source.bytes[pos..end]) else { return inexact };
                    if !proper {
                        notes.add(Repair::ForeignLiteral);
                    }
                    stack.add(node(word));
                    pos = end;
                    want = ExactExpected::After;
                }
            },
            ExactExpected::After => {
                let Some(frame) = stack.top() else { return inexact };
                let object = frame.is_object();
                match byte {
                    b',' => want = if object { ExactExpected::Name } else { ExactExpected::Value },
                    b'}' if object => stack.close(),
                    b']' if !object => stack.close(),
                    _ => return inexact,
                }
                pos += 1;
            }
        }
        if let Some(node) = stack.done() {
            return Ok(Parsed { node, end: pos, closed: true, elided: false, exact: true, doubt: None, notes });
        }
    }
    // Names of the root in an element of it mean that brackets are missing before the end, and then
    // this is not where the text was cut.
    if alien {
        return Err(Inexact { at: pos });
    }
    Ok(Parsed { node: stack.cut(), end: pos, closed: false, elided: false, exact: true, doubt: None, notes })
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
