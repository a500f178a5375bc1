//! The cursor over the text: gaps, names, quotation marks, words.
//!
//! Lookahead is bounded, or cached, so that the readers stay linear. Steps are counted for the tests that check this.

use std::cell::Cell;

/// A text and what was learnt about it.
pub(super) struct JsonSource<'t> {
    pub(super) bytes: &'t [u8],
    steps: Cell<u64>,
    fuel: Cell<usize>,
    line_end: Cell<(usize, usize)>,
    comment_end: Cell<(usize, usize)>,
    /// Names that were read of late, by their place: several ask for the same one in a row.
    names: [Cell<(usize, Option<JsonName<'t>>)>; NAMES],
}

/// How many names are remembered.
const NAMES: usize = 16;

/// The longest name that is taken for one.
const LONGEST_NAME: usize = 64;

/// The kind of a quotation mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    Back,
    Curly,
    CurlySingle,
}

/// A name, literally.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonName<'t> {
    pub(super) text: &'t str,
    /// After the name and its colon, if there is one.
    pub(super) next: usize,
    pub(super) colon: bool,
    pub(super) style: NameStyle,
}

/// How a name was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameStyle {
    Proper,
    OtherQuotes,
    Bare,
    HalfQuoted,
}

impl<'t> JsonSource<'t> {
    /// `fuel`: how much work may prove useless.
    pub(super) fn new(bytes: &'t [u8], fuel: usize) -> Self {
        let none = || Cell::new((1, 0));
        let names = std::array::from_fn(|_| Cell::new((usize::MAX, None)));
        Self { bytes, steps: Cell::new(0), fuel: Cell::new(fuel), line_end: none(), comment_end: none(), names }
    }

    pub(super) fn count(&self, steps: usize) {
        self.steps.set(self.steps.get() + steps as u64);
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Pays for work that came to nothing. False: the means are spent.
    pub(super) fn pay(&self, steps: usize) -> bool {
        let left = self.fuel.get();
        self.fuel.set(left.saturating_sub(steps));
        left > 0
    }

    pub(super) fn solvent(&self) -> bool {
        self.fuel.get() > 0
    }

    pub(super) fn fuel(&self) -> usize {
        self.fuel.get()
    }

    pub(super) fn at(&self, pos: usize) -> Option<u8> {
        self.bytes.get(pos).copied()
    }

    pub(super) fn starts(&self, pos: usize, with: &[u8]) -> bool {
        self.bytes.get(pos..).is_some_and(|rest| rest.starts_with(with))
    }

    /// After white space and comments; the second says whether a comment was among them.
    pub(super) fn gap(&self, mut pos: usize) -> (usize, bool) {
        let from = pos;
        let mut comment = false;
        loop {
            pos += self.blank(pos);
            let Some(byte) = self.at(pos) else { break };
            let end = match byte {
                b'/' if self.at(pos + 1) == Some(b'/') => self.line_end(pos),
                b'/' if self.at(pos + 1) == Some(b'*') => match self.comment_end(pos + 2) {
                    Some(end) => end,
                    None => break,
                },
                b'#' if self.hash_comment(pos) => self.line_end(pos),
                _ => break,
            };
            // A comment to the end of the text would hide everything that disproves it.
            if end == self.bytes.len() && !self.bytes.ends_with(b"*/") {
                break;
            }
            comment = true;
            pos = end;
        }
        self.count(pos - from + 1);
        (pos, comment)
    }

    /// Where white space and comments end.
    pub(super) fn skip(&self, pos: usize) -> usize {
        self.gap(pos).0
    }

    fn blank(&self, from: usize) -> usize {
        let mut pos = from;
        while let Some(byte) = self.at(pos) {
            pos += match byte {
                0..=b' ' | 0x7f => 1,
                // Invalid bytes between tokens.
                0x80..=0xc1 | 0xf5.. => 1,
                0xc2..=0xf4 if let Some(len) = self.wide_blank(pos) => len,
                // A comma or a colon as Chinese and Japanese write it. Between tokens it can only mean the sign of
                // JSON, and a sign that is missing is found by what stands around it.
                0xef if self.starts(pos, "\u{ff0c}".as_bytes()) || self.starts(pos, "\u{ff1a}".as_bytes()) => 3,
                _ => break,
            };
        }
        pos - from
    }

    /// The length of non-ASCII white space or of an invisible character.
    fn wide_blank(&self, pos: usize) -> Option<usize> {
        let rest = &self.bytes[pos..self.bytes.len().min(pos + 4)];
        // The bytes behind the first sign may be of no text.
        let first = rest.utf8_chunks().next()?.valid().chars().next()?;
        let unseen = matches!(first, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
        (first.is_whitespace() || unseen).then(|| first.len_utf8())
    }

    fn hash_comment(&self, pos: usize) -> bool {
        pos == 0 || self.bytes[pos - 1].is_ascii_whitespace() || matches!(self.bytes[pos - 1], b',' | b'{' | b'[')
    }

    fn line_end(&self, from: usize) -> usize {
        self.cached(&self.line_end, from, |rest| rest.iter().position(|b| *b == b'\n'))
    }

    fn comment_end(&self, from: usize) -> Option<usize> {
        let end = self.cached(&self.comment_end, from, |rest| rest.windows(2).position(|two| two == b"*/"));
        (end < self.bytes.len()).then_some(end + 2)
    }

    /// The first place at or after `from` where `find` matches, or the end. The last result is cached, so each byte
    /// is checked once as long as queries move forward.
    fn cached(&self, cache: &Cell<(usize, usize)>, from: usize, find: impl Fn(&[u8]) -> Option<usize>) -> usize {
        let (asked, found) = cache.get();
        if asked <= from && from <= found {
            return found;
        }
        let rest = self.bytes.get(from..).unwrap_or_default();
        let found = find(rest).map_or(self.bytes.len(), |at| from + at);
        self.count(found - from.min(found));
        cache.set((from, found));
        found
    }

    /// A quotation mark and its length.
    pub(super) fn quote(&self, pos: usize) -> Option<(Quote, usize)> {
        match self.at(pos)? {
            b'"' => Some((Quote::Double, 1)),
            b'\'' => Some((Quote::Single, 1)),
            b'`' if !self.starts(pos, b"```") => Some((Quote::Back, 1)),
            0xe2 if self.at(pos + 1) == Some(0x80) => match self.at(pos + 2)? {
                0x9c..=0x9f => Some((Quote::Curly, 3)),
                0x98 | 0x99 => Some((Quote::CurlySingle, 3)),
                _ => None,
            },
            0xef if self.starts(pos, "\u{ff02}".as_bytes()) => Some((Quote::Curly, 3)),
            _ => None,
        }
    }

    /// A name at this place, with any quotes or bare.
    pub(super) fn name(&self, pos: usize) -> Option<JsonName<'t>> {
        let known = &self.names[pos % NAMES];
        let (at, name) = known.get();
        if at == pos {
            return name;
        }
        let name = self.read_name(pos);
        known.set((pos, name));
        name
    }

    fn read_name(&self, pos: usize) -> Option<JsonName<'t>> {
        let (quote, opening) = match self.quote(pos) {
            Some((quote, len)) => (Some(quote), len),
            None => (None, 0),
        };
        let start = pos + opening;
        let mut end = start;
        let name_byte = |b: u8| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'_' | b'$' | b'-')
                || (quote.is_some() && matches!(b, b' ' | b'.' | b'/' | b'@'))
        };
        while end - start < LONGEST_NAME && self.at(end).is_some_and(name_byte) {
            end += 1;
        }
        self.count(end - pos + 1);
        if end == start || (quote.is_none() && self.bytes[start].is_ascii_digit()) {
            return None;
        }
        let text = std::str::from_utf8(&self.bytes[start..end]).ok()?.trim();
        let closing = self.quote(end).filter(|(q, _)| *q != Quote::Back || quote == Some(Quote::Back));
        let after = end + closing.map_or(0, |(_, len)| len);
        let style = match (quote, closing) {
            (Some(Quote::Double), Some((Quote::Double, _))) => NameStyle::Proper,
            (Some(_), Some(_)) => NameStyle::OtherQuotes,
            (None, None) => NameStyle::Bare,
            _ => NameStyle::HalfQuoted,
        };
        let colon_at = self.skip(after);
        let colon = match self.at(colon_at) {
            Some(b':') => 1,
            Some(b'=') if self.at(colon_at + 1) == Some(b'>') => 2,
            Some(b'=') if style == NameStyle::Bare => 1,
            _ => 0,
        };
        let next = if colon > 0 { colon_at + colon } else { after };
        Some(JsonName { text, next, colon: colon > 0, style })
    }

    /// Where a run of letters, digits and number signs ends.
    pub(super) fn word_end(&self, pos: usize) -> usize {
        let rest = self.bytes.get(pos..).unwrap_or_default();
        let len = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-' | b'.')));
        let len = len.unwrap_or(rest.len());
        self.count(len + 1);
        pos + len
    }

    /// The length of dots that say "and so on".
    pub(super) fn dots(&self, pos: usize) -> Option<usize> {
        if self.starts(pos, b"...") {
            let more = self.bytes[pos + 3..].iter().take(8).take_while(|b| **b == b'.').count();
            return Some(3 + more);
        }
        self.starts(pos, "\u{2026}".as_bytes()).then_some(3)
    }

    /// Between tokens, a fence or a closing tag that ends its line ends what was begun.
    pub(super) fn frame_ends(&self, pos: usize) -> bool {
        let rest = self.bytes.get(pos..).unwrap_or_default();
        let len = match rest {
            [b'`', b'`', b'`', ..] | [b'~', b'~', b'~', ..] => {
                Some(rest.iter().take(8).take_while(|b| **b == rest[0]).count())
            }
            [b'<', b'/' | b'|', ..] => rest.iter().take(64).position(|b| *b == b'>').map(|at| at + 1),
            _ => None,
        };
        len.is_some_and(|len| match &rest[len..] {
            [] => true,
            [b'<', b'/' | b'|', ..] => rest[0] == b'<',
            [next, ..] => next.is_ascii_whitespace(),
        })
    }

    /// Past a bracketed thing that is nested too deeply to be kept, or the end of the text.
    pub(super) fn skip_deep(&self, from: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut in_text = false;
        let mut pos = from;
        while let Some(byte) = self.at(pos) {
            match byte {
                b'\\' if in_text => pos += 1,
                b'"' => in_text = !in_text,
                b'{' | b'[' if !in_text => depth += 1,
                b'}' | b']' if !in_text => {
                    depth -= 1;
                    if depth == 0 {
                        self.count(pos - from);
                        return Some(pos + 1);
                    }
                }
                _ => {}
            }
            pos += 1;
        }
        self.count(self.bytes.len() - from);
        None
    }
}

/// The meaning of a bare word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Truth(bool),
    Number(String),
}

/// Reads a word as a literal; the second says whether JSON writes it so.
pub(super) fn literal(word: &[u8]) -> Option<(Literal, bool)> {
    let word = std::str::from_utf8(word).ok()?;
    let read = match word {
        "null" => (Literal::Null, true),
        "true" => (Literal::Truth(true), true),
        "false" => (Literal::Truth(false), true),
        "True" | "TRUE" => (Literal::Truth(true), false),
        "False" | "FALSE" => (Literal::Truth(false), false),
        "None" | "Null" | "NULL" | "nil" | "undefined" | "NaN" | "Infinity" | "-Infinity" => (Literal::Null, false),
        number => {
            let proper = serde_json::from_str::<serde_json::Number>(number).is_ok();
            let loose = number.strip_prefix('+').unwrap_or(number);
            let loose = loose.strip_suffix('.').unwrap_or(loose);
            if !proper && !loose.starts_with(|c: char| c.is_ascii_digit()) && !loose.starts_with("-") {
                return None;
            }
            if !proper && serde_json::from_str::<serde_json::Number>(loose).is_err() {
                return None;
            }
            (Literal::Number(if proper { number } else { loose }.to_owned()), proper)
        }
    };
    Some(read)
}

impl Quote {
    /// Whether a mark of the other kind can end what this one began.
    pub(super) fn closed_by(self, other: Quote) -> bool {
        self == other
    }
}
