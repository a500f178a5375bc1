//! What comes next, and how well it fits the open objects.
//!
//! Every repair asks this question: would the text continue as the schema says if the value ended here? The lookahead
//! is one token, with the closing brackets before it.

use super::schema::Schema;
use super::source::{JsonSource, NameStyle};
use super::tree::{DEEPEST, FrameKind, JsonFrame, Node};

/// How well a place fits. Later is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlaceFit {
    /// Not at all.
    No,
    /// A field comes that was there before.
    Again,
    /// Something of an outer object comes, or brackets do not match: one was lost.
    Outer,
    /// The text ends.
    End,
    /// As JSON goes, but not by a name of the schema.
    Weak,
    /// By a name of the schema that is due here.
    Strong,
}

/// How the text from `pos` on fits after a value in the innermost of these frames.
pub(super) fn follow(source: &JsonSource<'_>, frames: &[JsonFrame<'_>], pos: usize) -> PlaceFit {
    FollowState { source, frames, depth: frames.len(), mended: false, words: false }.from(pos)
}

#[derive(Clone, Copy)]
struct FollowState<'a, 't, 's> {
    source: &'a JsonSource<'t>,
    frames: &'a [JsonFrame<'s>],
    depth: usize,
    /// A closing bracket did not match.
    mended: bool,
    /// Stray words were passed.
    words: bool,
}

impl FollowState<'_, '_, '_> {
    fn from(mut self, mut pos: usize) -> PlaceFit {
        for _ in 0..DEEPEST * 2 {
            let end = pos;
            pos = self.source.skip(pos);
            let Some(byte) = self.source.at(pos) else {
                return match self.depth {
                    0 => self.graded(PlaceFit::Strong),
                    _ if self.words => PlaceFit::No,
                    _ => PlaceFit::End,
                };
            };
            if self.depth == 0 {
                let fit = after_root(self.source, self.frames, pos);
                // With brackets missing, words on the same line may as well be those of a text.
                let same_line = !self.source.bytes[end..pos].contains(&b'\n');
                return if self.mended && same_line && fit == PlaceFit::Weak { PlaceFit::No } else { fit };
            }
            if self.source.frame_ends(pos) || prose_begins(self.source, &self.frames[..self.depth], pos) {
                return PlaceFit::End;
            }
            let inside = self.depth < self.frames.len();
            match byte {
                b'}' | b']' => {
                    pos += 1;
                    if let Some(fit) = self.closing(byte == b'}', pos) {
                        return fit;
                    }
                }
                b',' | b';' => {
                    let next = self.source.skip(pos + 1);
                    match self.source.at(next) {
                        None => return PlaceFit::End,
                        Some(b'}' | b']' | b',') => pos = next,
                        Some(_) if self.dots_end(next) => return PlaceFit::Weak,
                        Some(_) => match member(self.source, &self.frames[..self.depth], next, true, inside) {
                            PlaceFit::No => match self.past_words(next) {
                                Some(after) => pos = after,
                                None => return PlaceFit::No,
                            },
                            fit => return self.graded(fit),
                        },
                    }
                }
                _ if inside && self.dots_end(pos) => return PlaceFit::Weak,
                _ if !inside && self.next_text(end, pos) => return self.graded(PlaceFit::Weak),
                _ => match member(self.source, &self.frames[..self.depth], pos, false, inside) {
                    // Without a comma only a name of the schema will do.
                    fit @ (PlaceFit::Strong | PlaceFit::Outer) => return self.graded(fit),
                    _ => match self.past_words(pos).filter(|_| inside) {
                        Some(after) => pos = after,
                        None => return PlaceFit::No,
                    },
                },
            }
        }
        PlaceFit::No
    }

    /// Dots as a placeholder: another token comes after them.
    fn dots_end(&self, pos: usize) -> bool {
        let Some(len) = self.source.dots(pos) else { return false };
        let next = self.source.skip(pos + len);
        self.source.at(next).is_none_or(|b| matches!(b, b',' | b'}' | b']' | b'{'))
    }

    /// Whether the next text of a list begins here, on its own line, with the comma before it left out: it ends on that
    /// line, where the list or its next text follows. Texts on one line may as well be one with marks in it.
    fn next_text(&self, end: usize, pos: usize) -> bool {
        const LONGEST: usize = 256;
        let Some((frame, _)) = self.frames[..self.depth].split_last() else { return false };
        let texts =
            matches!(frame.kind, FrameKind::List(_)) && frame.items.iter().all(|item| matches!(item, Node::Text(_)));
        if !texts || self.source.at(pos) != Some(b'"') || !self.source.bytes[end..pos].contains(&b'\n') {
            return false;
        }
        let rest = &self.source.bytes[pos + 1..self.source.bytes.len().min(pos + LONGEST)];
        let Some(len) = rest.iter().position(|b| matches!(b, b'"' | b'\\' | b'\n')) else { return false };
        self.source.count(len);
        let close = pos + 1 + len;
        let next = self.source.skip(close + 1);
        rest[len] == b'"'
            && match self.source.at(next) {
                Some(b']' | b',') => true,
                Some(b'"') => self.source.bytes[close..next].contains(&b'\n'),
                _ => false,
            }
    }

    /// After a few stray words between tokens, once.
    fn past_words(&mut self, pos: usize) -> Option<usize> {
        const LONGEST: usize = 32;
        let rest = self.source.bytes.get(pos..)?;
        let len = rest.iter().take(LONGEST).take_while(|b| b.is_ascii_alphabetic() || **b == b' ').count();
        let token = rest.get(len).is_some_and(|b| matches!(b, b'"' | b'{' | b'}' | b']' | b','));
        if self.words || len == 0 || !token {
            return None;
        }
        self.words = true;
        self.mended = true;
        Some(pos + len)
    }

    /// Takes a closing bracket. The first that does not match may be one too many as well as a sign
    /// of missing ones; the better of the two counts.
    fn closing(&mut self, object: bool, pos: usize) -> Option<PlaceFit> {
        if self.frames[self.depth - 1].is_object() == object {
            self.depth -= 1;
            return None;
        }
        let outer = self.frames[..self.depth].iter().rposition(|frame| frame.is_object() == object);
        let first = !self.mended;
        self.mended = true;
        let outer = outer?;
        if first {
            let extra = self.from(pos);
            let missing = Self { depth: outer, ..*self }.from(pos);
            return Some(extra.max(missing).min(PlaceFit::Outer));
        }
        self.depth = outer;
        None
    }

    fn graded(&self, fit: PlaceFit) -> PlaceFit {
        if self.mended { fit.min(PlaceFit::Outer) } else { fit }
    }
}

/// How well a member of the innermost frame begins here, after a comma or without; `inside`: what
/// comes before it was inside an inner frame.
fn member(source: &JsonSource<'_>, frames: &[JsonFrame<'_>], pos: usize, comma: bool, inside: bool) -> PlaceFit {
    let Some((frame, outer)) = frames.split_last() else { return PlaceFit::No };
    let after_object = inside || matches!(frame.items.last(), Some(Node::Object(_)));
    if source.at(pos) == Some(b'{') {
        return object_begins(source, frame, outer, pos);
    }
    let name = source.name(pos);
    if let Some(name) = name.as_ref().filter(|name| !name.colon || name.style == NameStyle::HalfQuoted) {
        // A name that is damaged itself, but after a comma.
        let due = comma && frame.unseen(name.text).is_some_and(|schema| begins(source, schema, name.next));
        if due && source.skip(name.next) < source.bytes.len() {
            return PlaceFit::Outer;
        }
    }
    let named = name.filter(|name| name.colon && name.style != NameStyle::HalfQuoted);
    match (frame.kind, named) {
        (FrameKind::Object(_), Some(name)) => match frame.unseen(name.text) {
            Some(schema) if begins(source, schema, name.next) => PlaceFit::Strong,
            Some(_) => PlaceFit::Weak,
            None if frame.knows(name.text) => PlaceFit::Again,
            None if outer_name(source, outer, name.text, name.next) => PlaceFit::Outer,
            None if name.style == NameStyle::Proper => PlaceFit::Weak,
            None => PlaceFit::No,
        },
        (FrameKind::Object(_), None) => PlaceFit::No,
        (FrameKind::List(item), Some(name)) => {
            let inner = item.object().is_some_and(|object| object.find(name.text).is_some());
            if inner || outer_name(source, outer, name.text, name.next) { PlaceFit::Outer } else { PlaceFit::No }
        }
        (FrameKind::List(item), None) => match source.at(pos) {
            Some(b'[') => PlaceFit::Weak,
            // Anything else after an object is unlikely in a list of objects.
            Some(_) if after_object && item.object().is_some() => PlaceFit::No,
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'-' => {
                let word = &source.bytes[pos..source.word_end(pos)];
                if super::source::literal(word).is_some() { PlaceFit::Weak } else { PlaceFit::No }
            }
            _ if source.quote(pos).is_some() => PlaceFit::Weak,
            _ => PlaceFit::No,
        },
    }
}

/// A field of the object that a value of this kind is, or is a list of.
fn field<'s>(item: &'s Schema, name: &str) -> Option<&'s Schema> {
    let object = item.object()?;
    let (at, _) = object.find(name)?;
    Some(&object.fields[at].schema)
}

fn object_begins(source: &JsonSource<'_>, frame: &JsonFrame<'_>, outer: &[JsonFrame<'_>], pos: usize) -> PlaceFit {
    let first = source.name(source.skip(pos + 1));
    let name = first.filter(|name| name.colon);
    let known = |item: &Schema| name.as_ref().is_some_and(|name| field(item, name.text).is_some());
    // A name that lost its colon.
    if let (FrameKind::List(item), Some(bare)) = (frame.kind, first.as_ref().filter(|name| !name.colon))
        && field(item, bare.text).is_some_and(|schema| begins(source, schema, bare.next))
    {
        return PlaceFit::Outer;
    }
    match frame.kind {
        FrameKind::List(item) if known(item) => PlaceFit::Strong,
        FrameKind::List(_) if name.is_some() || source.at(source.skip(pos + 1)) == Some(b'}') => PlaceFit::Weak,
        FrameKind::List(item) => {
            if item.object().is_some() {
                PlaceFit::No
            } else {
                PlaceFit::Weak
            }
        }
        FrameKind::Object(object) => match outer.last().map(|frame| frame.kind) {
            // The object before this one was not closed.
            Some(FrameKind::List(item)) if known(item) => PlaceFit::Outer,
            // The list that both are in was not opened, or closed too early.
            _ if frame.key.as_ref().and_then(|key| key.field).is_some_and(|at| known(&object.fields[at].schema)) => {
                PlaceFit::Outer
            }
            _ => {
                let root = outer.iter().chain([frame]).find(|frame| frame.is_object());
                let again = root.zip(name).is_some_and(|(root, name)| root.knows(name.text));
                if again { PlaceFit::Outer } else { PlaceFit::No }
            }
        },
    }
}

/// Whether a name is due in one of these objects.
pub(super) fn outer_name(source: &JsonSource<'_>, frames: &[JsonFrame<'_>], name: &str, value: usize) -> bool {
    frames.iter().any(|frame| frame.unseen(name).is_some_and(|schema| begins(source, schema, value)))
}

/// Whether the root may end before this place. Nothing comes after it to prove its end, so what
/// comes is asked whether it disproves it.
pub(super) fn may_end(source: &JsonSource<'_>, root: &JsonFrame<'_>, start: usize, end: usize) -> bool {
    if goes_on(source, std::slice::from_ref(root), end) {
        return false;
    }
    let next = past_brackets(source, end);
    match source.at(next) {
        Some(mark @ (b'"' | b'\'')) => start > 0 && source.at(start - 1) == Some(mark),
        Some(b'\\') => false,
        Some(b',') => another_may_begin(source, source.skip(next + 1)),
        _ => true,
    }
}

/// Whether prose begins here on a new line, and no open object continues after it.
pub(super) fn prose_begins(source: &JsonSource<'_>, frames: &[JsonFrame<'_>], pos: usize) -> bool {
    const FAR: usize = 512;
    if !source.at(pos).is_some_and(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    let before = source.bytes[..pos].iter().rev().take(64).find(|b| !matches!(b, b' ' | b'\t'));
    if before != Some(&b'\n') || source.name(pos).is_some_and(|name| name.colon) {
        return false;
    }
    let rest = &source.bytes[pos..];
    let near = &rest[..rest.len().min(FAR)];
    let line = near.iter().position(|b| *b == b'\n').unwrap_or(near.len());
    source.count(near.len());
    let words = near[..line].iter().filter(|b| **b == b' ').count() > 0;
    let known = |at: usize| {
        let name = source.name(pos + at).filter(|name| name.colon);
        name.is_some_and(|name| frames.iter().any(|frame| frame.knows(name.text)))
    };
    let marks = near.iter().enumerate().filter(|(_, b)| **b == b'"').map(|(at, _)| at).take(16);
    // A new object, if it comes before the next name, is another try.
    let again = near.iter().position(|b| *b == b'{').unwrap_or(near.len());
    words && !marks.take_while(|at| *at < again).any(known)
}

/// Whether a field that is still due comes in the same breath.
fn goes_on(source: &JsonSource<'_>, frames: &[JsonFrame<'_>], end: usize) -> bool {
    const FAR: usize = 128;
    let rest = source.bytes.get(end..).unwrap_or_default();
    let near = &rest[..rest.len().min(FAR)];
    // Another object is another breath.
    let opens = |at: usize| source.name(source.skip(end + at + 1)).is_some_and(|name| name.colon);
    let other = near.iter().enumerate().position(|(at, b)| *b == b'\n' || (*b == b'{' && opens(at)));
    let near = other.map_or(near, |at| &near[..at]);
    source.count(near.len());
    let commas = near.iter().enumerate().filter(|(_, b)| **b == b',').take(8);
    commas.into_iter().any(|(at, _)| {
        let name = source.name(source.skip(end + at + 1));
        name.filter(|name| name.colon && matches!(name.style, NameStyle::Proper | NameStyle::OtherQuotes))
            .is_some_and(|name| outer_name(source, frames, name.text, name.next))
    })
}

/// After a comma: another object, or prose.
fn another_may_begin(source: &JsonSource<'_>, pos: usize) -> bool {
    match source.at(pos) {
        Some(b'{') => {
            let inside = source.skip(pos + 1);
            source.at(inside) == Some(b'}') || source.name(inside).is_some_and(|name| name.colon)
        }
        _ => source.quote(pos).is_none(),
    }
}

/// After brackets too many at the end.
fn past_brackets(source: &JsonSource<'_>, pos: usize) -> usize {
    let mut pos = source.skip(pos);
    for _ in 0..16 {
        if !matches!(source.at(pos), Some(b'}' | b']')) {
            break;
        }
        pos = source.skip(pos + 1);
    }
    pos
}

fn after_root(source: &JsonSource<'_>, frames: &[JsonFrame<'_>], pos: usize) -> PlaceFit {
    if goes_on(source, frames, pos) {
        return PlaceFit::No;
    }
    let pos = past_brackets(source, pos);
    if source.frame_ends(pos) {
        return PlaceFit::Strong;
    }
    match source.at(pos) {
        Some(b',')
            if source.at(source.skip(pos + 1)) == Some(b'{') && another_may_begin(source, source.skip(pos + 1)) =>
        {
            PlaceFit::Weak
        }
        Some(b',') => PlaceFit::No,
        Some(b'"' | b'\'' | b'\\' | b':') => PlaceFit::No,
        _ => PlaceFit::Weak,
    }
}

/// Whether a value of this kind may begin here.
pub(super) fn begins(source: &JsonSource<'_>, schema: &Schema, pos: usize) -> bool {
    let pos = source.skip(pos);
    let Some(byte) = source.at(pos) else { return true };
    if source.quote(pos).is_some() || source.starts(pos, b"null") || source.starts(pos, b"None") {
        return true;
    }
    match schema {
        Schema::Any => true,
        Schema::Text(_) => false,
        Schema::Truth => matches!(byte, b't' | b'f' | b'T' | b'F' | b'0' | b'1'),
        Schema::Number => byte.is_ascii_digit() || byte == b'-',
        Schema::List(_) => matches!(byte, b'[' | b'{'),
        Schema::Object(_) => byte == b'{',
    }
}
