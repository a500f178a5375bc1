//! Where an object may begin.

use std::collections::VecDeque;

use super::super::follow::begins;
use super::super::source::NameStyle;
use super::JsonSearch;

/// What an opening bracket promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// A name of the schema comes next, perhaps through wrappers.
    Known,
    /// Some JSON.
    Other,
    Nothing,
}

/// Brackets that were looked through because each is around the next. A text of wrappers alone asks at each of
/// them, and would otherwise read the names of the next ones again.
#[derive(Debug, Default)]
pub(super) struct Wrappers {
    /// Where each begins, and whether it is an object.
    passed: VecDeque<(usize, bool)>,
    /// What the last one is around.
    next: usize,
}

impl Wrappers {
    /// Only what begins at this place, or nothing.
    fn begin_at(&mut self, pos: usize) {
        while self.passed.front().is_some_and(|(at, _)| *at < pos) {
            self.passed.pop_front();
        }
        if self.passed.front().is_some_and(|(at, _)| *at > pos) {
            self.passed.clear();
        }
    }

    fn push(&mut self, pos: usize, object: bool, next: usize) {
        self.passed.push_back((pos, object));
        self.next = next;
    }

    fn next(&self) -> Option<usize> {
        (!self.passed.is_empty()).then_some(self.next)
    }

    fn has_object(&self) -> bool {
        self.passed.iter().any(|(_, object)| *object)
    }

    fn len(&self) -> usize {
        self.passed.len()
    }
}

/// How the preceding text introduces the object. Later is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cue {
    /// An example, a template, a draft.
    Decoy,
    /// Nothing.
    None,
    /// The last word.
    Final,
}

const DECOYS: &[&str] =
    &["example", "e.g.", "for instance", "format", "schema", "template", "draft", "placeholder", "such as"];
const FINALS: &[&str] = &["final", "correct", "revised", "instead", "actual answer", "real answer"];

impl JsonSearch<'_> {
    pub(super) fn line_begins(&self, pos: usize) -> bool {
        self.source.bytes[..pos].iter().rev().take(64).take_while(|b| **b != b'\n').all(u8::is_ascii_whitespace)
    }

    /// A text that is a value in some object that could not be read: what is in it is text.
    pub(super) fn is_member(&self, pos: usize) -> bool {
        let mut before = self.source.bytes[..pos].iter().rev().take(64).filter(|b| !b.is_ascii_whitespace());
        match before.next() {
            Some(b':') => matches!(before.next(), Some(b'"' | b'\'')),
            Some(b',' | b'[') => true,
            _ => false,
        }
    }

    /// `{\"name\"`: an object in a text, whose own marks may be gone.
    pub(super) fn is_escaped(&self, pos: usize) -> bool {
        let next = self.past_escaped_space(pos + 1);
        let next = if matches!(self.source.at(next), Some(b'{')) { self.past_escaped_space(next + 1) } else { next };
        self.source.starts(next, b"\\\"")
    }

    fn past_escaped_space(&self, mut pos: usize) -> usize {
        for _ in 0..32 {
            match self.source.at(pos) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => pos += 1,
                Some(b'\\') if matches!(self.source.at(pos + 1), Some(b'n' | b't' | b'r')) => pos += 2,
                _ => break,
            }
        }
        pos
    }

    pub(super) fn opens_text(&self, pos: usize, mark: u8) -> bool {
        let next = self.past_escaped_space(pos + 1);
        match self.source.at(next) {
            // A text in a text begins with an escaped mark.
            Some(b'\\') if mark == b'"' => {
                let slashes = self.source.bytes[next..].iter().take(16).take_while(|b| **b == b'\\').count();
                self.source.at(next + slashes) == Some(b'"')
                    && matches!(self.source.at(next + slashes + 1), Some(b'{' | b'['))
            }
            Some(b'{' | b'[') if mark == b'"' => self.is_escaped(next),
            // A text of Python's: its marks are free inside, its backslashes are doubled.
            Some(b'{') => next == pos + 1 && self.source.at(self.past_escaped_space(next + 1)) == Some(b'"'),
            Some(b'`') if mark == b'"' => {
                self.source.starts(next, b"```json\\n") || self.source.starts(next, b"```\\n")
            }
            _ => false,
        }
    }

    pub(super) fn promise(&mut self, pos: usize) -> Promise {
        // So many brackets are more than are looked through below; said at once, a text of nothing else is quick.
        if self.source.starts(pos, b"[[[[[[[[[") {
            return Promise::Nothing;
        }
        let whole = self.start == pos;
        let mut promise = Promise::Nothing;
        let mut pos = pos;
        self.wrappers.begin_at(pos);
        if let Some(next) = self.wrappers.next() {
            promise = if self.wrappers.has_object() { Promise::Other } else { promise };
            pos = next;
        }
        for _ in self.wrappers.len()..8 {
            let mut next = self.source.skip(pos + 1);
            if self.source.at(next) == Some(b',') {
                next = self.source.skip(next + 1);
            }
            if self.source.at(pos) == Some(b'[') {
                if !matches!(self.source.at(next), Some(b'{' | b'[')) {
                    return promise;
                }
                self.wrappers.push(pos, false, next);
                pos = next;
                continue;
            }
            let Some(name) = self.source.name(next) else {
                let ends = self.source.skip(next + 1) >= self.source.bytes.len();
                if whole && ends && self.source.at(next) != Some(b'}') {
                    return Promise::Known;
                }
                return self.name_near(next).unwrap_or(match self.source.at(next) {
                    Some(b'"') => Promise::Other,
                    _ => promise,
                });
            };
            if !name.colon && whole && self.source.skip(name.next) == self.source.bytes.len() {
                return Promise::Known;
            }
            let quoted = !matches!(name.style, NameStyle::Bare | NameStyle::HalfQuoted);
            if let Some((at, _)) = self.base.find(name.text)
                && (name.colon || quoted)
            {
                let sure = quoted || whole || begins(&self.source, &self.base.fields[at].schema, name.next);
                return if sure { Promise::Known } else { promise };
            }
            if !name.colon || !quoted {
                return self.name_near(next).unwrap_or(promise);
            }
            promise = Promise::Other;
            let value = self.source.skip(name.next);
            if !matches!(self.source.at(value), Some(b'{' | b'[')) {
                return promise;
            }
            self.wrappers.push(pos, true, value);
            pos = value;
        }
        promise
    }

    /// A name of the schema with something stray before it.
    fn name_near(&self, from: usize) -> Option<Promise> {
        let rest = self.source.bytes.get(from..)?;
        let mark =
            rest.iter().take(16).take_while(|b| !matches!(b, b'{' | b'}' | b'[' | b'\\')).position(|b| *b == b'"')?;
        let name = self.source.name(from + mark).filter(|name| name.colon && name.style == NameStyle::Proper)?;
        self.base.find(name.text).map(|_| Promise::Known)
    }

    /// What the words right before something say of it.
    pub(super) fn cue(&self, pos: usize) -> Cue {
        const FAR: usize = 120;
        let before = &self.source.bytes[self.passed.min(pos).max(pos.saturating_sub(FAR))..pos];
        if !before.iter().any(u8::is_ascii_alphabetic) {
            return Cue::None;
        }
        let words = String::from_utf8_lossy(before).to_lowercase();
        let last = |cues: &[&str]| cues.iter().filter_map(|cue| words.rfind(cue)).max();
        match (last(DECOYS), last(FINALS)) {
            (None, None) => Cue::None,
            (decoy, last) if last > decoy => Cue::Final,
            _ => Cue::Decoy,
        }
    }
}
