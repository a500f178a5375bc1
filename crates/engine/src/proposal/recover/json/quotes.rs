//! Finds the end of a string whose quotation marks cannot be trusted.
//!
//! A mark ends the string if what follows fits the open objects. Marks inside a string come in pairs, so the mark
//! that ends it comes after an even number of them; this works even if the string contains JSON with the same names.
//! If a doubt remains, the string is doubtful and is not returned.

use super::follow::{PlaceFit, begins, follow, outer_name};
use super::schema::Care;
use super::source::{JsonSource, NameStyle, Quote};
use super::tree::{FrameKind, JsonFrame};

/// The end of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TextEnd {
    /// Where its inside ends.
    pub(super) to: usize,
    /// Where reading continues.
    pub(super) next: usize,
    pub(super) how: EndFoundBy,
    /// Whether unescaped marks stood inside.
    pub(super) marks: bool,
}

/// How an end was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndFoundBy {
    /// By a mark, for certain.
    Mark,
    /// By a mark at which the whole input ends.
    LastMark,
    /// The mark is missing, and where it was missing is certain.
    Missing,
    /// Somewhere here; not for certain.
    Doubtful,
    /// It does not: the input ends.
    Cut,
    /// Another try at the whole begins here.
    Restart,
}

/// How far a string is followed once the budget for useless work is spent.
const SHORT_SIGHT: usize = 24;

/// Finds the end of a text that begins at `from`, after its opening mark.
pub(super) fn text_end(
    source: &JsonSource<'_>,
    frames: &[JsonFrame<'_>],
    from: usize,
    quote: Quote,
    care: Care,
) -> TextEnd {
    let mut scan = QuoteScan {
        source,
        frames,
        from,
        quote,
        care,
        inner: 0,
        escaped: 0,
        balance: Balance::default(),
        doubt: false,
        refused: false,
    };
    let limit = if source.solvent() { source.bytes.len() } else { source.bytes.len().min(from + SHORT_SIGHT) };
    let mut pos = from;
    let mut refused = None;
    let mut restart = None;
    while pos < limit {
        let byte = source.bytes[pos];
        match byte {
            b'\\' => {
                scan.escaped += usize::from(source.quote(pos + 1).is_some_and(|(mark, _)| quote.closed_by(mark)));
                pos += 2;
                continue;
            }
            b'{' | b'}' | b'[' | b']' => scan.balance.count(byte),
            _ => {}
        }
        if let Some((mark, len)) = source.quote(pos).filter(|(mark, _)| quote.closed_by(*mark)) {
            match scan.judge(pos, len) {
                QuoteVerdict::End(end) => {
                    source.count(pos - from);
                    return match refused {
                        // It looks like the beginning of a text, so the one refused was the end.
                        Some((at, len)) if scan.opens(pos) => {
                            source.pay(pos - at);
                            TextEnd { to: at, next: at + len, how: EndFoundBy::Doubtful, marks: true }
                        }
                        _ => end,
                    };
                }
                QuoteVerdict::Refused => refused = refused.or(Some((pos, len))),
                QuoteVerdict::Inside if restart.is_none() => {
                    if let Some(brace) = scan.whole_begins(pos) {
                        // The author escapes marks, and here is the beginning of a whole thing with none escaped: it
                        // may be another try, in the middle of a line, and then the end of that is not this end.
                        let slash = brace > 0 && source.at(brace - 1) == Some(b'\\');
                        scan.doubt |= scan.inner == 0 && (scan.escaped > 0 || slash);
                        restart = scan.begins_line(brace).then_some(brace);
                    }
                }
                QuoteVerdict::Inside => {}
            }
            // An apostrophe is not a quotation mark.
            if mark != Quote::Single || !scan.between_letters(pos) {
                scan.inner += 1;
            }
            pos += len;
            continue;
        }
        pos += 1;
    }
    source.count(limit - from.min(limit));
    source.pay(limit - from.min(limit));
    let marks = scan.inner > 0;
    match (refused, restart) {
        (refused, Some(at)) if refused.is_none_or(|(mark, _)| at < mark) => {
            TextEnd { to: at, next: at, how: EndFoundBy::Restart, marks }
        }
        (Some((at, len)), _) => TextEnd { to: at, next: at + len, how: EndFoundBy::Doubtful, marks },
        _ => TextEnd { to: limit, next: source.bytes.len(), how: EndFoundBy::Cut, marks },
    }
}

struct QuoteScan<'a, 't, 's> {
    source: &'a JsonSource<'t>,
    frames: &'a [JsonFrame<'s>],
    from: usize,
    quote: Quote,
    care: Care,
    /// Unescaped marks so far, and escaped ones.
    inner: usize,
    escaped: usize,
    balance: Balance,
    doubt: bool,
    /// A second of a pair was refused before.
    refused: bool,
}

enum QuoteVerdict {
    End(TextEnd),
    /// It would fit, but it is the second of a pair.
    Refused,
    Inside,
}

impl QuoteScan<'_, '_, '_> {
    fn judge(&mut self, pos: usize, len: usize) -> QuoteVerdict {
        let next = pos + len;
        let fit = follow(self.source, self.frames, next);
        let clean = self.inner == 0;
        let joined = clean && self.joined(next);
        let ends = match fit {
            _ if joined => true,
            PlaceFit::Strong if clean || self.quote == Quote::Single => true,
            PlaceFit::No => false,
            _ if clean => true,
            PlaceFit::Outer | PlaceFit::Again => return QuoteVerdict::Refused,
            _ if self.inner.is_multiple_of(2) => true,
            // One of a pair was escaped, the other was not.
            _ if (self.inner + self.escaped).is_multiple_of(2) && !self.refused => true,
            PlaceFit::Strong if self.care == Care::Words && self.balance.is_even() && !self.refused => true,
            _ => {
                self.refused = true;
                return QuoteVerdict::Refused;
            }
        };
        if ends {
            let how = match fit {
                _ if self.doubt || (clean && !joined && self.holds_structure(pos, next)) => EndFoundBy::Doubtful,
                _ if !clean && (self.two_marks(pos, next) || self.doubled(pos)) => EndFoundBy::Doubtful,
                _ if clean && self.took_comma(pos, next) => EndFoundBy::Doubtful,
                PlaceFit::End => EndFoundBy::LastMark,
                _ => EndFoundBy::Mark,
            };
            return QuoteVerdict::End(TextEnd { to: pos, next, how, marks: !clean });
        }
        if self.inner % 2 == 1
            && let Some(at) = self.name_is_due(pos)
        {
            return QuoteVerdict::End(TextEnd { to: at, next: at, how: EndFoundBy::Doubtful, marks: true });
        }
        if clean {
            if let Some(end) = self.mark_is_missing(pos) {
                return QuoteVerdict::End(end);
            }
            let gap = self.source.skip(next);
            if self.name_is_damaged(pos, next, gap) {
                return QuoteVerdict::End(TextEnd { to: pos, next, how: EndFoundBy::Doubtful, marks: false });
            }
            // An empty text where a list or an object begins: it does not belong there.
            if pos == self.from && matches!(self.source.at(gap), Some(b'[' | b'{')) {
                return QuoteVerdict::End(TextEnd { to: pos, next, how: EndFoundBy::Doubtful, marks: false });
            }
            // Signs of structure come next, but none that fits: there is damage, here or there.
            if matches!(self.source.at(gap), Some(b',' | b'}' | b']' | b';')) && !self.quotes_signs(gap) {
                return QuoteVerdict::End(TextEnd { to: pos, next, how: EndFoundBy::Doubtful, marks: false });
            }
            // Two texts side by side may be one text in two parts, or one with two marks in it.
            self.doubt |= gap > next && self.source.quote(gap).is_some_and(|(mark, _)| self.quote.closed_by(mark));
        }
        self.doubt |= self.name_without_colon(pos);
        // An escaped backslash before a mark: it was escaped twice, or it is a backslash.
        self.doubt |= pos > self.from && self.source.at(pos - 1) == Some(b'\\');
        QuoteVerdict::Inside
    }

    /// An expected name is right before the mark or right after an empty string, without one of its own marks.
    fn name_is_damaged(&self, pos: usize, next: usize, gap: usize) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        if pos == self.from {
            return self.source.name(next).is_some_and(|name| name.colon && frame.unseen(name.text).is_some());
        }
        let inside = &self.source.bytes[self.from..pos];
        let word = inside.iter().rev().take(64).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        self.source.at(gap) == Some(b':')
            && std::str::from_utf8(&inside[inside.len() - word..]).is_ok_and(|word| frame.unseen(word).is_some())
            && inside[..inside.len() - word].trim_ascii_end().ends_with(b",")
    }

    /// The text ends with a comma and a bare name follows its mark: the mark may be the one that the name lacks.
    fn took_comma(&self, pos: usize, next: usize) -> bool {
        let comma = self.before(pos).is_some_and(|at| self.source.bytes[at] == b',');
        comma
            && self.source.name(self.source.skip(next)).is_some_and(|name| {
                name.colon && matches!(name.style, NameStyle::Bare | NameStyle::HalfQuoted) && self.knows(name.text)
            })
    }

    /// This mark opens a name that is due, with a text right after it and no colon between: the text before it may
    /// have ended.
    fn name_without_colon(&self, pos: usize) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let name = self.source.name(pos).filter(|name| !name.colon && name.style == NameStyle::Proper);
        name.is_some_and(|name| {
            frame.unseen(name.text).is_some() && self.source.quote(self.source.skip(name.next)).is_some()
        })
    }

    /// Nothing but signs of structure inside, and none after the mark: it may be the opening one.
    fn holds_structure(&self, pos: usize, next: usize) -> bool {
        let inside = &self.source.bytes[self.from..pos];
        if inside.is_empty() || inside.len() > 16 {
            return false;
        }
        let sign = |b: &u8| matches!(b, b',' | b'}' | b']' | b'{' | b'[' | b':' | b';') || b.is_ascii_whitespace();
        let gap = self.source.skip(next);
        let none_after = self.source.at(gap).is_some_and(|b| !matches!(b, b',' | b'}' | b']' | b';' | b'`' | b'<'));
        none_after && inside.iter().all(sign)
    }

    /// The mark stands right behind another and no sign of structure comes: the two may be an empty text that
    /// does not belong there.
    fn two_marks(&self, pos: usize, next: usize) -> bool {
        let mark = |at: usize| self.source.quote(at).is_some_and(|(mark, _)| self.quote.closed_by(mark));
        let signs = self.source.at(self.source.skip(next)).is_none_or(|b| matches!(b, b',' | b'}' | b']' | b';'));
        !signs && pos > self.from && mark(pos - 1) && (pos < 2 || self.source.at(pos - 2) != Some(b'\\'))
    }

    /// The mark that begins or ends the text may have been written twice or three times: right inside stand one or
    /// two more of which no other inside the text is the second.
    fn doubled(&self, pos: usize) -> bool {
        let inside = &self.source.bytes[self.from..pos];
        if self.quote != Quote::Double {
            return false;
        }
        let first = inside.iter().take(4).take_while(|b| **b == b'"').count();
        let last = inside.iter().rev().take(4).take_while(|b| **b == b'"').count();
        let escaped = inside.iter().rev().nth(last) == Some(&b'\\');
        let last = last.saturating_sub(usize::from(escaped));
        let odd = !self.inner.is_multiple_of(2);
        // Beyond blanks, and a comma at the end, the same: the mark of another token got in.
        let begins = inside.trim_ascii_start().first() == Some(&b'"');
        let signs = inside.iter().rev().take(64).take_while(|b| **b == b',' || b.is_ascii_whitespace()).count();
        let mut before = inside.iter().rev().skip(signs);
        let ends = signs > 0 && before.next() == Some(&b'"') && before.next() != Some(&b'\\');
        // `""` with a blank or a sign of code at its side is an empty text in what the author wrote.
        let alone = |b: Option<&u8>| b.is_none_or(|b| b.is_ascii_whitespace() || b"=(,:[{".contains(b));
        (odd && (begins || ends || last == 1))
            || (first == 2 && !alone(inside.get(2)))
            || (last == 2 && (escaped || !alone(inside.iter().rev().nth(2))))
    }

    /// `"a" + "b"`
    fn joined(&self, next: usize) -> bool {
        let plus = self.source.skip(next);
        self.source.at(plus) == Some(b'+') && self.source.quote(self.source.skip(plus + 1)).is_some()
    }

    /// `", "` in a piece of code: the signs stand between two marks, and no name follows.
    fn quotes_signs(&self, from: usize) -> bool {
        let rest = &self.source.bytes[from..];
        let len = rest.iter().take(16).take_while(|b| matches!(b, b',' | b'}' | b']' | b';' | b' ')).count();
        let mark = |at: usize| self.source.quote(at).is_some_and(|(mark, _)| self.quote.closed_by(mark));
        // Two at once are an empty text between tokens.
        mark(from + len)
            && !mark(from + len + 1)
            && self.source.name(from + len).is_none_or(|name| !name.colon && !self.knows(name.text))
    }

    fn knows(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.knows(name))
    }

    fn between_letters(&self, pos: usize) -> bool {
        let letter = |at: Option<u8>| at.is_some_and(|b| b.is_ascii_alphanumeric() || b >= 0x80);
        pos > self.from && letter(self.source.at(pos - 1)) && letter(self.source.at(pos + 1))
    }

    /// This mark, which would be the second of a pair, opens a name that is due: the first was the
    /// end, with something odd after it. Says where that name begins, or the object that it is in.
    fn name_is_due(&self, pos: usize) -> Option<usize> {
        let name = self.source.name(pos).filter(|name| name.colon && name.style == NameStyle::Proper)?;
        let before = self.before(pos)?;
        match self.source.bytes[before] {
            b',' => outer_name(self.source, self.frames, name.text, name.next).then_some(pos),
            b'{' => {
                let comma = self.before(before)?;
                let beside = self.names_item(name.text) && self.source.bytes[comma] == b',';
                beside.then_some(before)
            }
            _ => None,
        }
    }

    /// Whether a name is one of an object in a list that is open.
    fn names_item(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| match frame.kind {
            FrameKind::List(item) => item.object().is_some_and(|object| object.find(name).is_some()),
            FrameKind::Object(_) => false,
        })
    }

    /// This mark opens a name that is due, so the text before it has ended without one.
    fn mark_is_missing(&self, pos: usize) -> Option<TextEnd> {
        let name = self.source.name(pos).filter(|name| name.style != NameStyle::HalfQuoted)?;
        let frame = self.frames.last()?;
        // A long gap is not trimmed at every mark.
        let short = pos - self.from < 64;
        let empty = short && self.source.bytes[self.from..pos].trim_ascii() == b",";
        if empty && name.style == NameStyle::Proper && frame.unseen(name.text).is_some() {
            return Some(TextEnd { to: self.from, next: self.from, how: EndFoundBy::Doubtful, marks: false });
        }
        if !name.colon {
            return None;
        }
        let due = frame.unseen(name.text).is_some_and(|schema| begins(self.source, schema, name.next));
        let before = self.before(pos)?;
        let end = |to, next, how| Some(TextEnd { to, next, how, marks: false });
        match self.source.bytes[before] {
            b',' if due => {
                let last = self.source.bytes[before - 1];
                // Blanks before a comma belong to the string, because they are not written after the mark.
                let sure = before > self.from && !matches!(last, b'\n' | b'\r' | b'\t' | b'"' | b'\\' | b'\'');
                end(before, before, if sure { EndFoundBy::Missing } else { EndFoundBy::Doubtful })
            }
            _ if due && self.source.bytes[before + 1..pos].contains(&b'\n') => end(pos, pos, EndFoundBy::Doubtful),
            // `…}, {"name":` is the next object of a list that is open.
            b'{' if self.names_item(name.text) => {
                let comma = self.before(before).filter(|at| self.source.bytes[*at] == b',')?;
                let at = self.brackets_before(comma)?;
                end(at, at, EndFoundBy::Doubtful)
            }
            // `…}], "name":` is the next field of an object that is open.
            b',' if outer_name(self.source, self.frames, name.text, name.next) => {
                let at = self.brackets_before(before)?;
                end(at, at, EndFoundBy::Doubtful)
            }
            _ => None,
        }
    }

    /// Where the closing brackets right before a place begin, if there are any.
    fn brackets_before(&self, pos: usize) -> Option<usize> {
        let mut first = None;
        let mut at = pos;
        for _ in 0..8 {
            match self.before(at).filter(|at| matches!(self.source.bytes[*at], b'}' | b']')) {
                Some(bracket) => (first, at) = (Some(bracket), bracket),
                None => break,
            }
        }
        first
    }

    /// The last byte before a place that is not white space, inside this text.
    fn before(&self, pos: usize) -> Option<usize> {
        let inside = &self.source.bytes[self.from..pos];
        inside.iter().rposition(|b| !b.is_ascii_whitespace()).map(|at| self.from + at)
    }

    /// Whether a mark stands where a text begins.
    fn opens(&self, pos: usize) -> bool {
        self.before(pos).is_some_and(|at| matches!(self.source.bytes[at], b':' | b',' | b'[' | b'{'))
    }

    /// `{"name":` with a name of the root. Says where the bracket is.
    fn whole_begins(&self, pos: usize) -> Option<usize> {
        let name = self.source.name(pos).filter(|name| name.colon)?;
        self.frames.iter().find(|frame| frame.is_object()).filter(|root| root.knows(name.text))?;
        self.before(pos).filter(|at| self.source.bytes[*at] == b'{')
    }

    /// On a new line it is perhaps the model that began again.
    fn begins_line(&self, brace: usize) -> bool {
        let line = self.source.bytes[self.from..brace].iter().rev().take(64).find(|b| !matches!(b, b' ' | b'\t'));
        line == Some(&b'\n')
    }
}

/// Whether the brackets in a text are even.
#[derive(Default)]
struct Balance {
    braces: i64,
    brackets: i64,
    negative: bool,
}

impl Balance {
    fn count(&mut self, byte: u8) {
        match byte {
            b'{' => self.braces += 1,
            b'}' => self.braces -= 1,
            b'[' => self.brackets += 1,
            _ => self.brackets -= 1,
        }
        self.negative |= self.braces < 0 || self.brackets < 0;
    }

    fn is_even(&self) -> bool {
        !self.negative && self.braces == 0 && self.brackets == 0
    }
}
