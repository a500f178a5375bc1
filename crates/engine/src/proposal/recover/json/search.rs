//! Finds the object in the text: past reasoning, prose, drafts, and decoys, through wrappers.
//!
//! The search passes over the text once. At each bracket that may begin something it tries a reader, and continues
//! after what was read. Useless reading has a budget, so that a hostile text cannot make it slow.

mod beginnings;
mod finds;

use super::exact::{self, Parsed};
use super::follow::begins;
use super::guided;
use super::repair::{Notes, Repair};
use super::schema::{Object, Schema};
use super::source::{JsonSource, NameStyle, Quote};
use super::tags::{ReplyTag, Tags};
use super::text::decode;
use beginnings::{Promise, Wrappers};
pub(super) use finds::Find;
use finds::better;

/// How often strings within strings are opened.
const DEEPEST_TEXT: usize = 4;

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct SearchOutcome {
    pub(super) find: Option<Find>,
    /// The text ends with something open.
    pub(super) open_end: bool,
    pub(super) steps: u64,
}

/// Searches a text. `fuel`: how much work on it may prove useless.
pub(super) fn search(bytes: &[u8], schema: &Schema, level: usize, fuel: usize) -> SearchOutcome {
    let none = Object::new();
    let base = schema.object().unwrap_or(&none);
    let mut search = JsonSearch {
        source: JsonSource::new(bytes, fuel),
        tags: Tags::new(),
        schema,
        base,
        level,
        best: None,
        open_end: false,
        said: 0..0,
        enclosing: 0,
        exact: true,
        seen: false,
        broken: false,
        start: 0,
        passed: 0,
        wrappers: Wrappers::default(),
        steps: 0,
    };
    // Asked at each bracket, so found once: a long gap before the text would be passed each time.
    search.start = search.source.skip(0);
    search.run();
    let steps = search.steps + search.source.steps();
    SearchOutcome { find: search.best, open_end: search.open_end, steps }
}

struct JsonSearch<'a> {
    source: JsonSource<'a>,
    tags: Tags,
    schema: &'a Schema,
    base: &'a Object,
    level: usize,
    best: Option<Find>,
    open_end: bool,
    said: std::ops::Range<usize>,
    /// How far an incomplete object was read: everything before is inside it.
    enclosing: usize,
    /// Whether what is walked over was read exactly.
    exact: bool,
    /// Something with a name of the schema was met before.
    seen: bool,
    /// The last such thing broke off.
    broken: bool,
    /// Where the text begins.
    start: usize,
    /// Where the last thing that fits ends.
    passed: usize,
    wrappers: Wrappers,
    steps: u64,
}

impl JsonSearch<'_> {
    fn run(&mut self) {
        let mut pos = 0;
        while let Some(byte) = self.source.at(pos) {
            self.source.count(1);
            if let Some(tag) = self.tags.at(&self.source, pos) {
                pos = match tag {
                    ReplyTag::Thought(end) => end,
                    ReplyTag::ThoughtEnds(end) => {
                        // All before it was thought.
                        self.best = None;
                        self.open_end = false;
                        end
                    }
                    ReplyTag::Said(from, to) => {
                        self.said = from..to;
                        from
                    }
                    ReplyTag::Endless => {
                        self.open_end = true;
                        return;
                    }
                };
                continue;
            }
            pos = match byte {
                b'{' | b'[' => self.bracket(pos),
                b'"' | b'\'' => self.mark(pos, byte),
                _ => pos + 1,
            };
        }
    }

    /// Reads what begins with a bracket, and returns where to continue.
    fn bracket(&mut self, pos: usize) -> usize {
        if self.is_escaped(pos) {
            return if self.line_begins(pos) { self.text(pos, pos, b'"') } else { pos + 1 };
        }
        match self.promise(pos) {
            // What stands on the line where another broke off may be the rest of a text.
            Promise::Known if self.broken && !self.line_begins(pos) => pos + 1,
            Promise::Known => self.known(pos, false),
            Promise::Other => self.other(pos),
            Promise::Nothing => {
                self.open_end |= self.line_begins(pos) && self.source.skip(pos + 1) == self.source.bytes.len();
                pos + 1
            }
        }
    }

    fn known(&mut self, pos: usize, implied: bool) -> usize {
        let exact = self.source.solvent().then(|| exact::read(&self.source, self.schema, self.base, pos, implied));
        let parsed = match exact {
            Some(Ok(parsed)) => parsed,
            other => {
                let parsed = self.guided(pos, implied);
                if let Some(Err(inexact)) = other {
                    self.source.pay(inexact.at.saturating_sub(parsed.end));
                }
                parsed
            }
        };
        let end = parsed.end.max(pos + 1);
        let open = !parsed.closed && self.source.skip(end) == self.source.bytes.len();
        let found = self.find(&parsed, implied);
        self.seen = true;
        self.broken = !parsed.closed || parsed.doubt.is_some();
        match found {
            Some(find) => {
                let small = implied && find.filled < 2 && !parsed.closed && self.start != pos;
                self.open_end =
                    !find.closed || (self.enclosing > pos && self.source.skip(end) == self.source.bytes.len());
                if !small {
                    self.offer(find, pos);
                }
                end
            }
            None => {
                self.open_end |= open;
                // Prose may look like a bare name; a quoted one is meant, and what stands in its
                // texts is text.
                let bare = !implied && self.source.quote(self.source.skip(pos + 1)).is_none();
                if bare && self.source.pay(end - pos) { pos + 1 } else { end }
            }
        }
    }

    fn guided(&self, pos: usize, implied: bool) -> Parsed {
        let parsed = guided::read(&self.source, self.schema, self.base, pos, implied);
        let Some(doubt) = parsed.doubt.filter(|_| !parsed.closed) else { return parsed };
        // What came after the doubt led nowhere, so it is not believed: the text ends before.
        let sure = JsonSource::new(&self.source.bytes[..doubt], self.source.fuel());
        let before = guided::read(&sure, self.schema, self.base, pos, implied);
        self.source.count(usize::try_from(sure.steps()).unwrap_or(usize::MAX));
        Parsed { node: before.node, closed: false, ..parsed }
    }

    /// JSON that is not an answer, unless it wraps one.
    fn other(&mut self, pos: usize) -> usize {
        if !self.source.solvent() {
            return pos + 1;
        }
        match exact::read(&self.source, self.schema, self.base, pos, false) {
            Ok(parsed) => match self.find(&parsed, false) {
                Some(find) => {
                    self.open_end = !find.closed;
                    self.offer(find, pos);
                    parsed.end
                }
                None if parsed.closed => parsed.end,
                None => {
                    self.source.pay(parsed.end - pos);
                    pos + 1
                }
            },
            Err(inexact) => {
                self.source.pay(inexact.at - pos + 1);
                self.enclosing = self.enclosing.max(inexact.at);
                pos + 1
            }
        }
    }

    /// A quotation mark: the thing may be written as a text, or lack its opening bracket.
    fn mark(&mut self, pos: usize, mark: u8) -> usize {
        if pos > 0 && self.source.at(pos - 1) == Some(b'\\') {
            return pos + 1;
        }
        // After something with a name of the schema, a text in the middle of a line may be what is left of that.
        let apart = !self.seen || self.line_begins(pos);
        if apart && self.opens_text(pos, mark) && !self.is_member(pos) {
            return self.text(pos, pos + 1, mark);
        }
        if mark == b'"' && self.line_begins(pos) && matches!(self.schema, Schema::Object(_)) {
            let name = self.source.name(pos).filter(|name| name.colon && name.style == NameStyle::Proper);
            let due = name.and_then(|name| Some((self.base.find(name.text)?.0, name.next)));
            if due.is_some_and(|(at, next)| begins(&self.source, &self.base.fields[at].schema, next)) {
                return self.known(pos, true);
            }
        }
        pos + 1
    }

    /// Opens a text and searches it.
    fn text(&mut self, pos: usize, from: usize, mark: u8) -> usize {
        if self.level >= DEEPEST_TEXT || !self.source.solvent() {
            return pos + 1;
        }
        let mut end = exact::text_end(&self.source, from, mark);
        while mark == b'\'' && end.is_some_and(|end| !matches!(self.source.bytes[end - 1], b'}' | b']')) {
            end = end.and_then(|end| exact::text_end(&self.source, end + 1, mark));
        }
        let to = end.unwrap_or(self.source.bytes.len());
        let mut notes = Notes::default();
        let quote = if mark == b'"' { Quote::Double } else { Quote::Single };
        let inside = decode(&self.source.bytes[from..to], quote, &mut notes);
        self.source.pay(to - from);
        let Some(inside) = inside else { return pos + 1 };
        let Some(mut find) = self.nested(&inside) else { return pos + 1 };
        find.end = to;
        // Without its closing mark the text was cut, unless it had no opening one either.
        find.closed &= end.is_some() || from == pos;
        self.open_end = !find.closed;
        self.offer(find, pos);
        to + 1
    }

    fn nested(&mut self, text: &str) -> Option<Find> {
        let outcome = search(text.as_bytes(), self.schema, self.level + 1, self.source.fuel());
        self.steps += outcome.steps;
        self.source.pay(usize::try_from(outcome.steps).unwrap_or(usize::MAX));
        let mut find = outcome.find?;
        find.closed &= !outcome.open_end;
        find.notes.add(Repair::InText);
        Some(find)
    }

    fn offer(&mut self, mut find: Find, from: usize) {
        find.cue = self.cue(from);
        self.passed = find.end;
        find.said = self.said.contains(&(find.end.saturating_sub(1)));
        self.best = better(self.best.take(), Some(find));
    }
}
