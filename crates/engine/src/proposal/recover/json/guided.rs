//! The guided reader: reads damaged text by the names and types of the schema.
//!
//! It never fails and always advances. Where one sensible reading exists, it takes that and reports it; otherwise,
//! the value becomes a hole, and the object around it doubtful.

mod values;

use super::exact::Parsed;
use super::follow::{PlaceFit, begins, follow, outer_name, prose_begins};
use super::repair::{Notes, Repair};
use super::schema::{Object, Schema};
use super::source::{JsonName, JsonSource, NameStyle};
use super::tree::{DEEPEST, FrameKind, Node, Stack};

/// Reads from an opening bracket, or from a first name if `implied`.
pub(super) fn read(source: &JsonSource<'_>, root: &Schema, base: &Object, start: usize, implied: bool) -> Parsed {
    let mut stack = Stack::new(root, base);
    let mut notes = Notes::default();
    let mut want = GuidedExpected::Value;
    if implied {
        stack.open_object();
        notes.add(Repair::MissingBracket);
        want = GuidedExpected::Name;
    }
    let mut reader = Guided {
        source,
        stack,
        notes,
        want,
        pos: start,
        marks: false,
        elided: false,
        astray: false,
        adrift: false,
        token: start,
        first_doubt: None,
        gap: Gap::default(),
        habit: None,
        over: false,
    };
    while !reader.over {
        reader.step();
        if let Some(node) = reader.stack.done() {
            let Guided { pos, elided, first_doubt: doubt, notes, .. } = reader;
            return Parsed { node, end: pos, closed: true, elided, exact: false, doubt, notes };
        }
    }
    let Guided { stack, pos, elided, first_doubt: doubt, notes, .. } = reader;
    Parsed { node: stack.cut(), end: pos, closed: false, elided, exact: false, doubt, notes }
}

#[derive(Clone, Copy)]
enum GuidedExpected {
    Name,
    Value,
    After,
}

struct Guided<'a, 't> {
    source: &'a JsonSource<'t>,
    stack: Stack<'a>,
    notes: Notes,
    want: GuidedExpected,
    pos: usize,
    /// A text with unescaped marks was met: a last mark at the end of the input is not trusted.
    marks: bool,
    elided: bool,
    /// After something doubtful the reader may be inside what it takes for structure. Nothing is
    /// believed until a name of the schema stands where one is due.
    astray: bool,
    /// Astray, with missing closing brackets: recovery is not possible.
    adrift: bool,
    /// Where the token begins that is being read.
    token: usize,
    first_doubt: Option<usize>,
    /// What came before the value: a comment, or blanks.
    gap: Gap,
    /// How many blanks the author puts there.
    habit: Option<usize>,
    over: bool,
}

#[derive(Clone, Copy, Default)]
struct Gap {
    comment: bool,
    blanks: usize,
}

impl Guided<'_, '_> {
    fn step(&mut self) {
        let (pos, comment) = self.source.gap(self.pos);
        if comment {
            self.notes.add(Repair::Comment);
        }
        self.gap = Gap { comment, blanks: pos - self.pos };
        self.pos = pos;
        self.token = pos;
        let Some(byte) = self.source.at(pos) else {
            self.over = true;
            return;
        };
        let value = matches!(self.want, GuidedExpected::Value);
        if self.source.frame_ends(pos) && !(value && byte == b'`')
            || !value && prose_begins(self.source, &self.stack.frames, pos)
        {
            self.over = true;
            return;
        }
        if !matches!(self.want, GuidedExpected::Value)
            && let Some(len) = self.source.dots(pos)
        {
            self.elide(len);
            return;
        }
        match self.want {
            GuidedExpected::Name => self.name(byte),
            GuidedExpected::Value => self.value(byte),
            GuidedExpected::After => self.after(byte),
        }
    }

    fn name(&mut self, byte: u8) {
        match byte {
            b'}' | b']' => return self.closing(byte),
            b',' | b';' => {
                self.notes.add(Repair::ExtraComma);
                self.pos += 1;
                return;
            }
            b'{' => return self.object_for_name(),
            _ => {}
        }
        let Some(mut name) = self.source.name(self.pos) else { return self.stray() };
        self.pass_marks(&mut name);
        let top = self.stack.top();
        let known = top.is_some_and(|frame| frame.knows(name.text));
        if !known && name.colon && top.is_some_and(|frame| frame.element) && self.name_of_outer(&name) {
            return;
        }
        if !name.colon {
            if self.source.skip(name.next) == self.source.bytes.len() {
                self.pos = self.source.bytes.len();
                return;
            }
            let due = self.stack.top().and_then(|frame| frame.unseen(name.text));
            let starts = due.is_some_and(|schema| begins(self.source, schema, name.next));
            if !starts || name.style == NameStyle::HalfQuoted {
                return self.stray();
            }
            self.notes.add(Repair::MissingColon);
        }
        match name.style {
            NameStyle::Proper => {}
            NameStyle::OtherQuotes => self.notes.add(Repair::OtherQuotes),
            NameStyle::Bare => self.notes.add(Repair::BareKey),
            NameStyle::HalfQuoted => self.notes.add(Repair::MissingQuote),
        }
        if known && name.colon && self.stack.top().is_some_and(|frame| !frame.element) {
            self.astray = self.adrift;
        }
        self.stack.name(name.text);
        self.pos = name.next;
        self.want = GuidedExpected::Value;
    }

    /// Passes over marks too many between a name and its colon, which would otherwise begin a text there.
    fn pass_marks(&mut self, name: &mut JsonName<'_>) {
        let rest = self.source.bytes.get(name.next..).unwrap_or_default();
        let marks = rest.iter().take(3).take_while(|b| **b == b'"').count();
        let colon = self.source.skip(name.next + marks);
        if !name.colon && name.style == NameStyle::Proper && marks > 0 && self.source.at(colon) == Some(b':') {
            self.notes.add(Repair::StrayText);
            (name.colon, name.next) = (true, colon + 1);
        }
    }

    /// A name that is due further out: the brackets between are missing.
    fn name_of_outer(&mut self, name: &JsonName<'_>) -> bool {
        let frames = &self.stack.frames;
        let Some(depth) = frames.len().checked_sub(1) else { return false };
        if !outer_name(self.source, &frames[..depth], name.text, name.next) {
            return false;
        }
        while self.stack.top().is_some_and(|frame| frame.unseen(name.text).is_none()) {
            self.stack.close();
        }
        self.adrift |= self.astray;
        self.notes.add(Repair::MissingBracket);
        self.want = GuidedExpected::Name;
        true
    }

    /// An object begins where a name is due.
    fn object_for_name(&mut self) {
        let first = self.source.name(self.source.skip(self.pos + 1)).filter(|name| name.colon);
        let Some(first) = first else { return self.stray() };
        // Doubled, as templates have it.
        if self.stack.top().is_some_and(|frame| frame.named.is_empty() && frame.knows(first.text)) {
            self.notes.add(Repair::ExtraBracket);
            self.pos += 1;
            return;
        }
        let names = |object: Option<&Object>| object.is_some_and(|object| object.find(first.text).is_some());
        if names(self.stack.last_list()) && self.stack.reopen_list() {
            self.notes.add(Repair::MissingBracket);
            self.want = GuidedExpected::Value;
            return;
        }
        let depth = self.stack.frames.len();
        if depth >= 2
            && let FrameKind::List(item) = self.stack.frames[depth - 2].kind
            && names(item.object())
        {
            // Where the name is still due here, the bracket may as well be one too many.
            if self.stack.top().is_some_and(|frame| frame.unseen(first.text).is_some()) {
                self.doubt();
            }
            self.stack.close();
            self.notes.add(Repair::MissingBracket);
            self.want = GuidedExpected::Value;
            return;
        }
        if self.begins_again(first.text) {
            self.over = true;
            return;
        }
        self.notes.add(Repair::ExtraBracket);
        self.pos += 1;
    }

    /// A name of the root that is not valid here: the model started over. When astray, this may as well be text,
    /// unless it begins a line.
    fn begins_again(&self, name: &str) -> bool {
        let before = self.source.bytes[..self.pos].iter().rev().take(64).find(|b| !matches!(b, b' ' | b'\t'));
        let root = self.stack.frames.iter().find(|frame| frame.is_object());
        root.is_some_and(|frame| frame.knows(name)) && (!self.astray || before == Some(&b'\n'))
    }

    fn value(&mut self, byte: u8) {
        let list = self.stack.top().is_some_and(|frame| !frame.is_object());
        if self.source.quote(self.pos).is_some() && !list {
            self.habit = self.habit.or(Some(self.gap.blanks));
        }
        if (list && self.name_in_list()) || (!list && self.name_for_list()) {
            return;
        }
        match byte {
            b'{' | b'[' if self.stack.frames.len() >= DEEPEST => {
                self.stack.add(Node::Hole);
                match self.source.skip_deep(self.pos) {
                    Some(end) => self.pos = end,
                    None => self.pos = self.source.bytes.len(),
                }
                self.want = GuidedExpected::After;
            }
            b'{' => self.open_object(),
            b'[' => {
                self.stack.open_list();
                self.pos += 1;
            }
            b'}' | b']' if list => {
                if self.source.bytes[..self.pos].iter().rev().take(64).find(|b| !b.is_ascii_whitespace()) == Some(&b',')
                {
                    self.notes.add(Repair::ExtraComma);
                }
                self.closing(byte);
            }
            b',' if list => {
                self.notes.add(Repair::ExtraComma);
                self.pos += 1;
            }
            b'}' | b']' | b',' | b';' => self.hole(),
            b':' => {
                self.notes.add(Repair::StrayText);
                self.doubt();
                self.pos += 1;
            }
            _ => {
                if let Some(len) = self.source.dots(self.pos) {
                    if !list {
                        self.hole();
                    }
                    return self.elide(len);
                }
                match self.source.quote(self.pos) {
                    Some((quote, len)) => self.text(quote, len),
                    None => self.word(),
                }
            }
        }
    }

    fn open_object(&mut self) {
        let due = self.stack.slot().object();
        let first = self.source.name(self.source.skip(self.pos + 1)).filter(|name| name.colon);
        if let (Some(due), Some(first)) = (due, first)
            && !self.stack.frames.is_empty()
            && due.find(first.text).is_none()
            && self.begins_again(first.text)
        {
            self.over = true;
            return;
        }
        if due
            .zip(self.source.name(self.source.skip(self.pos + 1)))
            .is_some_and(|(due, name)| due.find(name.text).is_some())
        {
            self.astray = self.adrift;
        }
        self.stack.open_object();
        self.doubt_if_astray();
        self.pos += 1;
        self.want = GuidedExpected::Name;
    }

    fn doubt_if_astray(&mut self) {
        if self.astray {
            self.doubt();
        }
    }

    /// A name in a list: the bracket of its object or of the list is missing.
    fn name_in_list(&mut self) -> bool {
        let Some(name) = self.source.name(self.pos).filter(|name| name.colon) else { return false };
        if self.stack.slot().object().is_some_and(|object| object.find(name.text).is_some()) {
            // It may belong to the object before it, if that one has no such name and was closed too early.
            if self.stack.last_lacks(name.text) {
                self.doubt();
            }
            self.stack.open_object();
            self.doubt_if_astray();
            self.notes.add(Repair::MissingBracket);
            self.want = GuidedExpected::Name;
            return true;
        }
        self.name_of_outer(&name)
    }

    /// A name where an object or a list of such is due: the brackets before it are missing.
    fn name_for_list(&mut self) -> bool {
        let Some(name) = self.source.name(self.pos).filter(|name| name.colon) else { return false };
        let slot = self.stack.slot();
        if self.stack.frames.is_empty() || slot.object().is_none_or(|object| object.find(name.text).is_none()) {
            return false;
        }
        if matches!(slot, Schema::List(_)) {
            self.stack.open_list();
        }
        self.stack.open_object();
        self.doubt_if_astray();
        self.notes.add(Repair::MissingBracket);
        self.want = GuidedExpected::Name;
        true
    }

    fn after(&mut self, byte: u8) {
        let object = self.stack.top().is_some_and(|frame| frame.is_object());
        let next = if object { GuidedExpected::Name } else { GuidedExpected::Value };
        match byte {
            b',' | b';' => {
                self.pos += 1;
                self.want = next;
                let (pos, _) = self.source.gap(self.pos);
                if matches!(self.source.at(pos), Some(b'}')) && object {
                    self.notes.add(Repair::ExtraComma);
                }
            }
            b'}' | b']' => self.closing(byte),
            b'{' if object => {
                self.notes.add(Repair::MissingComma);
                self.object_for_name();
            }
            _ => {
                let named = self.source.name(self.pos).is_some_and(|name| name.colon);
                let begins =
                    named || (!object && (matches!(byte, b'{' | b'[') || self.source.quote(self.pos).is_some()));
                if !begins {
                    return self.stray();
                }
                self.notes.add(Repair::MissingComma);
                self.want = next;
            }
        }
    }

    /// A closing bracket, which may be missing others before it, be one too many or the wrong one.
    fn closing(&mut self, byte: u8) {
        let frames = &self.stack.frames;
        let depth = frames.len();
        let object = byte == b'}';
        let fit = |left: usize| follow(self.source, &frames[..left], self.pos + 1);
        let matching = frames.iter().rposition(|frame| frame.is_object() == object);
        let (close, repair) = match matching {
            Some(at) if at + 1 == depth => {
                // What follows a change that is whole belongs to another whose beginning is lost.
                let stays = !frames[at].is_complete() && fit(depth) == PlaceFit::Strong && fit(at) < PlaceFit::Strong;
                if stays { (0, Some(Repair::ExtraBracket)) } else { (1, None) }
            }
            _ => {
                let outer = matching.map(|at| (fit(at), depth - at, Repair::MissingBracket));
                let wrong = Some((fit(depth - 1), 1, Repair::WrongBracket));
                let extra = Some((fit(depth), 0, Repair::ExtraBracket));
                let ways: Vec<_> = [outer, wrong, extra].into_iter().flatten().collect();
                let best = ways.iter().map(|(fit, ..)| *fit).max().unwrap_or(PlaceFit::No);
                let chosen = ways.into_iter().find(|(fit, ..)| *fit == best);
                chosen.map_or((0, Some(Repair::ExtraBracket)), |(_, close, repair)| (close, Some(repair)))
            }
        };
        if let Some(repair) = repair {
            self.notes.add(repair);
        }
        for _ in 0..close {
            self.stack.close();
        }
        self.pos += 1;
        self.want = GuidedExpected::After;
    }

    fn elide(&mut self, len: usize) {
        self.notes.add(Repair::Elided);
        self.elided = true;
        if let Some(frame) = self.stack.top_mut() {
            frame.elided = true;
            frame.doubtful |= frame.element;
        }
        self.pos += len;
        self.want = GuidedExpected::After;
    }

    /// What is open is not certain, as its end is not, and neither is what comes next.
    fn doubt(&mut self) {
        self.astray = true;
        self.first_doubt = self.first_doubt.or(Some(self.token));
        for frame in self.stack.frames.iter_mut() {
            frame.doubtful |= frame.element;
        }
    }

    fn hole(&mut self) {
        self.stack.add(Node::Hole);
        self.want = GuidedExpected::After;
    }

    /// Puts a value in its place, if it can be believed.
    fn add(&mut self, node: Node) {
        self.stack.add(if self.astray { Node::Hole } else { node });
        self.want = GuidedExpected::After;
    }

    /// Text between tokens. It is passed over to the next sign that may mean something.
    fn stray(&mut self) {
        self.notes.add(Repair::StrayText);
        self.doubt();
        let from = self.pos;
        self.pos += 1;
        while let Some(byte) = self.source.at(self.pos) {
            let sign = matches!(byte, b',' | b';' | b'}' | b']' | b'{' | b'[' | b'\n' | b' ');
            if sign || self.source.quote(self.pos).is_some() || self.source.frame_ends(self.pos) {
                break;
            }
            self.pos += 1;
        }
        self.source.count(self.pos - from);
    }
}
