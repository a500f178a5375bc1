//! The exact reader: a text whose every token has one reading.
//!
//! It takes JSON and the deviations that leave no doubt: comments, commas too many, raw line breaks,
//! single quotes, bare names, the literals of other languages. A text ends at its first unescaped
//! quotation mark. At anything else it stops and leaves the field to the guided reader, so nothing
//! that it returns was guessed.

use super::follow::{may_end, prose_begins};
use super::repair::{Notes, Repair};
use super::schema::{Object, Schema};
use super::source::{Literal, NameStyle, Quote, Source, literal};
use super::text::decode;
use super::tree::{DEEPEST, Kind, Node, Stack};

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

enum Want {
    Name,
    Value,
    After,
}

/// Reads from an opening bracket, or from a first name if `implied`.
pub(super) fn read(
    source: &Source<'_>,
    root: &Schema,
    base: &Object,
    start: usize,
    implied: bool,
) -> Result<Parsed, Inexact> {
    let mut stack = Stack::new(root, base);
    let mut notes = Notes::default();
    let mut want = Want::Value;
    let mut alien = false;
    let mut pos = start;
    if implied {
        stack.open_object();
        notes.add(Repair::MissingBracket);
        want = Want::Name;
    }
    loop {
        let (at, comment) = source.gap(pos);
        if comment {
            notes.add(Repair::Comment);
        }
        pos = at;
        let Some(byte) = source.at(pos) else { break };
        let inexact = Err(Inexact { at: pos });
        if !matches!(want, Want::Value) && prose_begins(source, &stack.frames, pos) {
            break;
        }
        if source.frame_ends(pos) {
            // A fence in place of a value is its quotation mark.
            if matches!(want, Want::Value) && byte == b'`' {
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
            Want::Name => match byte {
                b'}' => {
                    notes_comma(source, pos, &mut notes);
                    stack.close();
                    pos += 1;
                    want = Want::After;
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
                    want = Want::Value;
                }
            },
            Want::Value => match byte {
                b'{' | b'[' if stack.frames.len() >= DEEPEST => {
                    let Some(end) = source.skip_deep(pos) else {
                        pos = source.bytes.len();
                        break;
                    };
                    stack.add(Node::Hole);
                    pos = end;
                    want = Want::After;
                }
                b'{' => {
                    stack.open_object();
                    pos += 1;
                    want = Want::Name;
                }
                b'[' => {
                    stack.open_list();
                    pos += 1;
                }
                b']' if stack.top().is_some_and(|frame| !frame.is_object()) => {
                    notes_comma(source, pos, &mut notes);
                    stack.close();
                    pos += 1;
                    want = Want::After;
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
                    want = Want::After;
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
                    want = Want::After;
                }
            },
            Want::After => {
                let Some(frame) = stack.top() else { return inexact };
                let object = frame.is_object();
                match byte {
                    b',' => want = if object { Want::Name } else { Want::Value },
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
fn notes_comma(source: &Source<'_>, pos: usize, notes: &mut Notes) {
    let before = source.bytes[..pos].iter().rev().take(256).find(|b| !b.is_ascii_whitespace());
    if before == Some(&b',') {
        notes.add(Repair::ExtraComma);
    }
}

fn is_alien(stack: &Stack<'_>, name: &str) -> bool {
    let Some((top, outer)) = stack.frames.split_last() else { return false };
    top.element
        && !top.knows(name)
        && outer.iter().any(|frame| matches!(frame.kind, Kind::Object(_)) && frame.knows(name))
}

/// A name with its colon, exactly read.
fn member_name(source: &Source<'_>, pos: usize, notes: &mut Notes) -> Option<(String, usize)> {
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
fn name_is_cut(source: &Source<'_>, pos: usize) -> bool {
    let end = match source.at(pos) {
        // No name has brackets in it; what has is text.
        Some(b'"' | b'\'') if source.bytes[pos..].iter().take(64).any(|b| matches!(b, b'}' | b']')) => return false,
        Some(mark @ (b'"' | b'\'')) => text_end(source, pos + 1, mark).map(|end| end + 1),
        _ => Some(source.word_end(pos)),
    };
    end.is_none_or(|end| source.skip(end) == source.bytes.len())
}

/// A name of any length with any escapes, as JSON allows it.
fn proper_name(source: &Source<'_>, pos: usize, notes: &mut Notes) -> Option<(String, usize)> {
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
pub(super) fn text_end(source: &Source<'_>, from: usize, mark: u8) -> Option<usize> {
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
