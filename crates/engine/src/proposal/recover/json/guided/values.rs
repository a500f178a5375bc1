//! Strings and words in the guided reader.

use super::super::exact::node;
use super::super::follow::{PlaceFit, follow, outer_name};
use super::super::quotes::{EndFoundBy, TextEnd, text_end};
use super::super::repair::Repair;
use super::super::schema::{Care, Schema};
use super::super::source::{Quote, literal};
use super::super::text::decode;
use super::super::tree::{FrameKind, Node};
use super::{Guided, GuidedExpected};

impl Guided<'_, '_> {
    pub(super) fn text(&mut self, quote: Quote, opening: usize) {
        if quote != Quote::Double {
            self.notes.add(Repair::OtherQuotes);
        }
        let care = care(self.stack.slot());
        let misplaced = self.misplaced();
        let mut whole = Some(String::new());
        let (mut quote, mut from) = (quote, self.pos + opening);
        loop {
            let triple = self.triple(from, quote);
            let (from_inside, end) = match triple {
                Some((inside, end)) => (inside, end),
                None => (from, text_end(self.source, &self.stack.frames, from, quote, care)),
            };
            let part = decode(&self.source.bytes[from_inside..end.to.max(from_inside)], quote, &mut self.notes);
            whole = whole.zip(part).map(|(whole, part)| whole + &part);
            self.pos = end.next;
            if end.marks {
                self.notes.add(Repair::InnerQuote);
            }
            match end.how {
                EndFoundBy::Mark => {}
                EndFoundBy::LastMark if !self.marks && !end.marks => {}
                EndFoundBy::Missing => self.notes.add(Repair::MissingQuote),
                EndFoundBy::Doubtful | EndFoundBy::LastMark => {
                    whole = None;
                    self.doubt();
                }
                EndFoundBy::Cut | EndFoundBy::Restart => {
                    self.stack.cut_in_text();
                    self.over = true;
                    return;
                }
            }
            self.marks |= end.marks;
            match self.joined() {
                Some((next, len)) if end.how == EndFoundBy::Mark => {
                    self.notes.add(Repair::Joined);
                    (quote, from) = (next, self.pos + len);
                }
                _ => break,
            }
        }
        if misplaced {
            self.doubt();
            whole = None;
        }
        self.add(whole.map_or(Node::Hole, Node::Text));
    }

    /// A string after an object of a list, without a comma: it was a member of that object, not an element. The
    /// description of a command must not become a command.
    fn misplaced(&self) -> bool {
        let comma = self.source.bytes[..self.pos].iter().rev().take(64).find(|b| !b.is_ascii_whitespace());
        comma != Some(&b',')
            && self.stack.top().is_some_and(|frame| {
                matches!(frame.kind, FrameKind::List(item) if item.object().is_some())
                    && matches!(frame.items.last(), Some(Node::Object(_)))
            })
    }

    /// Moves past a `+` that joins another text to this one.
    fn joined(&mut self) -> Option<(Quote, usize)> {
        let plus = self.source.skip(self.pos);
        if self.source.at(plus) != Some(b'+') {
            return None;
        }
        let next = self.source.skip(plus + 1);
        let quote = self.source.quote(next)?;
        self.pos = next;
        Some(quote)
    }

    /// A text in three marks, as Python has it, if it is closed by three where it may end.
    fn triple(&self, from: usize, quote: Quote) -> Option<(usize, TextEnd)> {
        let mark: &[u8] = match quote {
            Quote::Double => b"\"\"\"",
            Quote::Single => b"'''",
            _ => return None,
        };
        if !self.source.starts(from - 1, mark) || !self.source.solvent() {
            return None;
        }
        let inside = from + 2;
        let mut pos = inside;
        let mut how = EndFoundBy::Mark;
        while pos < self.source.bytes.len() {
            if self.source.bytes[pos] == b'\\' {
                pos += 2;
                continue;
            }
            let here = self.source.bytes[pos] == mark[0];
            if here && !self.source.starts(pos, mark) && self.names_due(pos) {
                // Right behind the three marks they were an empty text with a mark too many. Later it may be the
                // file's own JSON, or not.
                if self.source.bytes[inside..pos].trim_ascii() == b"," {
                    break;
                }
                how = EndFoundBy::Doubtful;
            }
            if self.source.starts(pos, mark) && follow(self.source, &self.stack.frames, pos + 3) > PlaceFit::Outer {
                self.source.count(pos - from);
                return Some((inside, TextEnd { to: pos, next: pos + 3, how, marks: false }));
            }
            pos += 1;
        }
        self.source.count(self.source.bytes.len() - from);
        self.source.pay(self.source.bytes.len() - from);
        None
    }

    /// A name that is due, after a comma: a text that holds it has ended before.
    fn names_due(&self, pos: usize) -> bool {
        let comma = self.source.bytes[..pos].iter().rev().take(16).find(|b| !b.is_ascii_whitespace());
        comma == Some(&b',')
            && self
                .source
                .name(pos)
                .is_some_and(|name| name.colon && outer_name(self.source, &self.stack.frames, name.text, name.next))
    }

    /// A value without quotation marks.
    pub(super) fn word(&mut self) {
        let end = self.source.word_end(self.pos);
        let text = matches!(self.stack.slot(), Schema::Text(_));
        if let Some((word, proper)) = literal(&self.source.bytes[self.pos..end])
            && ((self.token_follows(end) && !text) || follow(self.source, &self.stack.frames, end) > PlaceFit::No)
        {
            if end == self.source.bytes.len() {
                self.over = true;
                self.pos = end;
                return;
            }
            if !proper {
                self.notes.add(Repair::ForeignLiteral);
            }
            self.pos = end;
            return self.add(node(word));
        }
        let object = self.stack.top().is_some_and(|frame| frame.is_object());
        if text && object {
            return self.bare_text();
        }
        if object {
            self.stack.add(Node::Hole);
        }
        self.want = GuidedExpected::After;
        self.stray();
    }

    fn token_follows(&self, end: usize) -> bool {
        let next = self.source.skip(end);
        self.source.at(next).is_none_or(|byte| matches!(byte, b',' | b';' | b'}' | b']'))
            || self.source.frame_ends(next)
    }

    /// A comma and the name of another field of this object, whose value has no quotes either: a string without
    /// quotes ends before it. `command: ls, description: list` is not one command.
    fn field_follows(&self, pos: usize) -> bool {
        let name = self.source.name(self.source.skip(pos + 1)).filter(|_| self.source.at(pos) == Some(b','));
        let due = name.filter(|name| name.colon).and_then(|name| self.stack.top()?.unseen(name.text));
        matches!(due, Some(Schema::Text(_)))
    }

    /// A text without its opening mark, or without both.
    fn bare_text(&mut self) {
        const LONGEST: usize = 4096;
        let from = self.pos;
        let bytes = self.source.bytes;
        let mut marks = false;
        let mut pos = from;
        let end = loop {
            let Some(byte) = self.source.at(pos).filter(|_| pos - from < LONGEST) else { break None };
            if byte == b'\\' {
                pos += 2;
                continue;
            }
            if let Some((_, len)) = self.source.quote(pos).filter(|(mark, _)| *mark == Quote::Double) {
                if follow(self.source, &self.stack.frames, pos + len) > PlaceFit::Outer {
                    break Some((pos, pos + len, Repair::MissingQuote));
                }
                marks = true;
            } else if matches!(byte, b'\n' | b',' | b'}')
                && (follow(self.source, &self.stack.frames, pos) == PlaceFit::Strong || self.field_follows(pos))
            {
                break Some((pos, pos, Repair::BareText));
            }
            pos += 1;
        };
        self.source.count(pos - from);
        let Some((to, next, repair)) = end else {
            self.source.pay(pos - from);
            self.over = pos >= bytes.len();
            self.pos = pos;
            self.doubt();
            return self.hole();
        };
        let inside = &bytes[from..to];
        // Blanks at either end may belong to the text or not.
        let usual = !self.gap.comment && self.habit.map_or(self.gap.blanks < 2, |habit| habit == self.gap.blanks);
        let ragged = repair == Repair::BareText
            && (inside.last().is_some_and(u8::is_ascii_whitespace)
                || inside.iter().any(|b| matches!(b, b'{' | b'}' | b'[' | b']' | b'\\')));
        // An escaped mark in the place of the opening one: the text may be in marks that were escaped.
        let escaped = inside.first() == Some(&b'\\');
        let plain = usual && !ragged && !marks && !escaped && !inside.contains(&b'\n');
        let text = if plain { decode(inside, Quote::Double, &mut self.notes) } else { None };
        if text.is_none() {
            self.doubt();
        }
        self.notes.add(repair);
        self.pos = next;
        self.add(text.map_or(Node::Hole, Node::Text));
    }
}

/// How much a doubt weighs in a text at this place.
fn care(slot: &Schema) -> Care {
    match slot {
        Schema::Text(care) => *care,
        Schema::Object(object) => {
            let field = object.plain.first().and_then(|name| object.find(name));
            field.map_or(Care::Verbatim, |(at, _)| match object.fields[at].schema {
                Schema::Text(care) => care,
                _ => Care::Verbatim,
            })
        }
        _ => Care::Verbatim,
    }
}
