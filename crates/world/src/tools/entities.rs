//! HTML character references.

use std::collections::HashMap;
use std::sync::LazyLock;

use encoding_rs::WINDOWS_1252;

/// The longest name that is known, with `&` and `;`.
const LONGEST: usize = 18;

/// The character of a reference that begins with `&`, and its length in bytes. None if the `&` is literal. Looks at a
/// few bytes only, so that a page of nothing but `&` is fast.
pub(super) fn decode(text: &str) -> Option<(char, usize)> {
    let bytes = &text.as_bytes()[..text.len().min(LONGEST)];
    if bytes.get(1) == Some(&b'#') {
        return number(bytes);
    }
    let end = 1 + bytes[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = &text[1..end];
    if bytes.get(end) == Some(&b';') {
        return named(name).map(|c| (c, end + 1));
    }
    // Old pages leave the semicolon out; anything but these may be part of an address.
    let is_old = matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp" | "copy" | "reg");
    is_old.then(|| named(name)).flatten().map(|c| (c, end))
}

fn number(bytes: &[u8]) -> Option<(char, usize)> {
    let (radix, start) = if matches!(bytes.get(2), Some(b'x' | b'X')) { (16, 3) } else { (10, 2) };
    let digits = bytes.get(start..)?.iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
    if digits == 0 {
        return None;
    }
    let end = start + digits;
    let code = bytes[start..end].iter().fold(0_u32, |code, byte| {
        let digit = char::from(*byte).to_digit(radix).unwrap_or(0);
        code.saturating_mul(radix).saturating_add(digit)
    });
    let c = match code {
        // Meant as windows-1252, and taken so by every browser.
        0x80..=0x9f => WINDOWS_1252.decode_without_bom_handling(&[code as u8]).0.chars().next(),
        0 => None,
        _ => char::from_u32(code),
    };
    Some((c.unwrap_or(char::REPLACEMENT_CHARACTER), end + usize::from(bytes.get(end) == Some(&b';'))))
}

/// Those that are met in running text; there are two thousand more, for formulas.
fn named(name: &str) -> Option<char> {
    /// In the order of their codes, from U+00A0 on, without a gap.
    const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn \
        sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc \
        Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute \
        Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml \
        aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde \
        ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";
    const OTHERS: &[(&str, char)] = &[
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("AMP", '&'),
        ("LT", '<'),
        ("GT", '>'),
        ("ndash", '–'),
        ("mdash", '—'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("sbquo", '‚'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("bdquo", '„'),
        ("lsaquo", '‹'),
        ("rsaquo", '›'),
        ("hellip", '…'),
        ("bull", '•'),
        ("dagger", '†'),
        ("permil", '‰'),
        ("prime", '′'),
        ("euro", '€'),
        ("trade", '™'),
        ("larr", '←'),
        ("uarr", '↑'),
        ("rarr", '→'),
        ("darr", '↓'),
        ("harr", '↔'),
        ("rArr", '⇒'),
        ("minus", '−'),
        ("infin", '∞'),
        ("asymp", '≈'),
        ("ne", '≠'),
        ("le", '≤'),
        ("ge", '≥'),
        ("sum", '∑'),
        ("radic", '√'),
        ("ensp", ' '),
        ("emsp", ' '),
        ("thinsp", ' '),
        ("hairsp", ' '),
        ("zwj", '\u{200d}'),
        ("zwnj", '\u{200c}'),
        ("ZeroWidthSpace", '\u{200b}'),
        ("check", '✓'),
        ("star", '☆'),
        ("alpha", 'α'),
        ("beta", 'β'),
        ("gamma", 'γ'),
        ("delta", 'δ'),
        ("lambda", 'λ'),
        ("mu", 'μ'),
        ("pi", 'π'),
        ("sigma", 'σ'),
        ("omega", 'ω'),
        ("Delta", 'Δ'),
        ("Omega", 'Ω'),
        ("OElig", 'Œ'),
        ("oelig", 'œ'),
        ("Scaron", 'Š'),
        ("scaron", 'š'),
        ("lbrace", '{'),
        ("rbrace", '}'),
        ("lbrack", '['),
        ("rbrack", ']'),
        ("lpar", '('),
        ("rpar", ')'),
        ("num", '#'),
        ("colon", ':'),
        ("comma", ','),
        ("period", '.'),
        ("sol", '/'),
        ("bsol", '\\'),
        ("lowbar", '_'),
        ("grave", '`'),
        ("ast", '*'),
        ("equals", '='),
        ("dollar", '$'),
        ("percnt", '%'),
        ("commat", '@'),
        ("vert", '|'),
        ("verbar", '|'),
        ("NewLine", '\n'),
        ("Tab", '\t'),
    ];
    static ALL: LazyLock<HashMap<&str, char>> =
        LazyLock::new(|| LATIN.split_ascii_whitespace().zip('\u{a0}'..).chain(OTHERS.iter().copied()).collect());
    ALL.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_become_characters() {
        for (text, c, length) in [
            ("&amp;", '&', 5),
            ("&yuml;x", 'ÿ', 6),
            ("&szlig;", 'ß', 7),
            ("&#65;", 'A', 5),
            ("&#x1F600;", '😀', 9),
            ("&#65 ", 'A', 4),
            ("&amp x", '&', 4),
            ("&#146;", '’', 6),
            ("&#0;", '\u{fffd}', 4),
            ("&#xD800;", '\u{fffd}', 8),
        ] {
            assert_eq!(decode(text), Some((c, length)), "{text}");
        }
    }

    #[test]
    fn what_is_no_name_stays_as_it_is() {
        for text in ["&", "& x", "&nosuch;", "&#;", "&#x;", "&copy_id=1", "&hellip", "&ä;", "&aaaaaaaaaaaaaaaaaaaaa;"]
        {
            let expected = (text == "&copy_id=1").then_some(('©', 5));
            assert_eq!(decode(text), expected, "{text}");
        }
    }
}
