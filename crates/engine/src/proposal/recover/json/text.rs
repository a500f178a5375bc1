//! Unescapes the text between two quotation marks.

use super::repair::{Notes, Repair};
use super::source::Quote;

/// Decodes the inside of a string. `None`: its value cannot be known.
pub(super) fn decode(inside: &[u8], quote: Quote, notes: &mut Notes) -> Option<String> {
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    let mut seen = SeenText::default();
    while let Some(at) = rest.iter().position(|b| *b == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let len = escape(rest, quote, &mut out, &mut seen)?;
        rest = &rest[len..];
    }
    out.extend_from_slice(rest);
    // A text with an unknown escape was not escaped at all where it names a Windows path, and then
    // its known escapes are letters of the path: neither reading is certain.
    if seen.unknown && seen.letters && names_a_drive(inside) {
        return None;
    }
    if seen.unknown {
        notes.add(Repair::UnknownEscape);
    }
    if inside.iter().any(|b| *b < b' ') {
        notes.add(Repair::RawControl);
    }
    String::from_utf8(out).ok()
}

#[derive(Default)]
struct SeenText {
    unknown: bool,
    letters: bool,
}

/// Reads what follows a backslash and says how long it is.
fn escape(rest: &[u8], quote: Quote, out: &mut Vec<u8>, seen: &mut SeenText) -> Option<usize> {
    let Some(&sign) = rest.first() else {
        out.push(b'\\');
        seen.unknown = true;
        return Some(0);
    };
    let plain = match sign {
        b'"' | b'\\' | b'/' => Some(sign),
        b'n' => Some(b'\n'),
        b't' => Some(b'\t'),
        b'r' => Some(b'\r'),
        b'b' => Some(8),
        b'f' => Some(12),
        _ => None,
    };
    if let Some(byte) = plain {
        seen.letters |= sign.is_ascii_alphabetic();
        out.push(byte);
        return Some(1);
    }
    if sign == b'\'' || (sign == b'`' && quote == Quote::Back) {
        // In marks of the same kind this is how the mark is written, and says nothing about other escapes.
        seen.unknown |= !matches!((sign, quote), (b'\'', Quote::Single) | (b'`', Quote::Back));
        out.push(sign);
        return Some(1);
    }
    if sign == b'u'
        && let Some(unit) = unit(&rest[1..])
    {
        return unicode(unit, rest, out);
    }
    // Python's own escapes in Python's own quotation marks, and an escaped mark that was made curly
    // afterwards: it is known that they meant something else, but not surely what.
    if (quote == Quote::Single && matches!(sign, b'x' | b'U' | b'N')) || (quote == Quote::Curly && sign == 0xe2) {
        return None;
    }
    seen.unknown = true;
    out.push(b'\\');
    Some(0)
}

/// Four hexadecimal digits.
fn unit(rest: &[u8]) -> Option<u16> {
    let digits = rest.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// One `\u`, or a surrogate pair. A lone surrogate is not a character, and is not replaced by one.
fn unicode(first: u16, rest: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut buffer = [0; 4];
    if let Some(c) = char::from_u32(u32::from(first)) {
        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        return Some(5);
    }
    let second = rest.get(5..7).filter(|mark| *mark == b"\\u").and_then(|_| unit(&rest[7..]))?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    Some(11)
}

fn names_a_drive(inside: &[u8]) -> bool {
    let starts_word = |at: usize| at == 0 || !inside[at - 1].is_ascii_alphanumeric();
    inside
        .windows(3)
        .enumerate()
        .any(|(at, w)| w[0].is_ascii_alphabetic() && w[1] == b':' && w[2] == b'\\' && starts_word(at))
}
