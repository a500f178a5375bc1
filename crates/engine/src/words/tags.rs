//! The tags in a request's text: `#research`. The text stays unchanged.

use trimtab_vocab::event::RouteDecision;

/// Tags of one request at most, because a paste may be full of them.
const MOST: usize = 16;
/// Characters of a tag at most.
const LONGEST: usize = 40;
/// Words in which tags are looked for, in bytes: a request is short, a paste is not.
const SEARCHED: usize = 16 * 1024;

/// Lines that begin like this in many languages, outside of code fences too.
const DIRECTIVES: &[&str] = &[
    "include",
    "define",
    "undef",
    "ifdef",
    "ifndef",
    "if",
    "elif",
    "else",
    "endif",
    "pragma",
    "import",
    "error",
    "warning",
    "line",
    "region",
    "endregion",
    "nullable",
];

/// Finds the tags in words, each once, in lower case and in the order of the words. Code, addresses, numbers
/// (`#123`), headings, directives (`#include`) and colours (`#fff`) hold none.
pub fn tags(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(SEARCHED)];
    let mut found: Vec<String> = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = start.chars().next().unwrap_or(' ');
        let run = start.chars().take_while(|c| *c == mark).count();
        if matches!(mark, '`' | '~') && run >= 3 {
            fence = match fence {
                // A fence ends with at least as many marks of its kind, and nothing after them.
                Some((open, length)) if open == mark && run >= length && start[run..].trim().is_empty() => None,
                Some(open) => Some(open),
                None => Some((mark, run)),
            };
            continue;
        }
        if fence.is_some() || line.starts_with('\t') || line.starts_with("    ") {
            continue;
        }
        for tag in in_line(line) {
            if found.len() < MOST && !found.contains(&tag) {
                found.push(tag);
            }
        }
    }
    found
}

fn in_line(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = line;
    let mut at_start = true;
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            // Without its end it is a plain character.
            if let Some(end) = code_end(&rest[ticks..], ticks) {
                rest = &rest[ticks + end..];
            } else {
                rest = &rest[ticks..];
            }
            (before, at_start) = ('`', false);
            continue;
        }
        let link = c == '#' && line[..line.len() - rest.len()].ends_with("](");
        let opens = before.is_whitespace() || matches!(before, '(' | '[' | '"' | '\'' | ',' | ';' | '“' | '‘');
        rest = &rest[c.len_utf8()..];
        if c == '#' && opens && !link {
            let name = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
            let after = rest[name.len()..].chars().next().unwrap_or(' ');
            // `#foo/bar`, `#foo(` and `#foo=1` are code or addresses; what ends a clause may follow.
            let closes = after.is_whitespace()
                || matches!(after, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '"' | '\'' | '”' | '’');
            let name = name.trim_end_matches(['-', '_']);
            let directive = at_start && DIRECTIVES.contains(&name);
            if closes && !directive && is_tag(name) {
                found.push(name.to_lowercase());
            }
        }
        at_start &= c.is_whitespace();
        before = c;
    }
    found
}

/// The end of a code span that began with so many ticks: after exactly as many.
fn code_end(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let begin = at + next;
        let run = text[begin..].len() - text[begin..].trim_start_matches('`').len();
        if run == ticks {
            return Some(begin + run);
        }
        at = begin + run;
    }
    None
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}

fn is_tag(name: &str) -> bool {
    let colour = matches!(name.len(), 3 | 4 | 6 | 8) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    // `#bad` and `#face` are words as well as colors; with a digit, or doubled like a color, it is not a tag.
    let looks_made = name.bytes().any(|byte| byte.is_ascii_digit()) || {
        let mut bytes = name.bytes();
        let first = bytes.next();
        bytes.all(|byte| Some(byte) == first)
    };
    name.chars().next().is_some_and(char::is_alphabetic) && name.chars().count() <= LONGEST && !(colour && looks_made)
}

/// The path that a tag selects, if the user has not chosen one, and its tool groups.
pub(crate) fn path(tags: &[String]) -> Option<(&'static str, RouteDecision, Option<&'static [&'static str]>)> {
    tags.iter().find_map(|tag| match tag.as_str() {
        "chat" => Some(("chat", RouteDecision::Chat, None)),
        "plan" => Some(("plan", RouteDecision::Plan, None)),
        // Research needs no commands.
        "research" => Some(("research", RouteDecision::Direct, Some(&["files", "web"][..]))),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_and_code_addresses_numbers_headings_and_colours_are_not() {
        let table: &[(&str, &[&str])] = &[
            ("Look into this #research", &["research"]),
            ("#research look into this", &["research"]),
            ("#a-b and #C_d, (#e) \"#f\". #Größe!", &["a-b", "c_d", "e", "f", "größe"]),
            ("twice #x and #X", &["x"]),
            ("#todo: later", &["todo"]),
            ("one#two and a##b", &[]),
            ("issue #123 and PR #4 and #1st", &[]),
            ("#include <stdio.h>", &[]),
            ("  #define X 1\n#ifdef X", &[]),
            ("what does #include do to it #c", &["include", "c"]),
            ("# Heading\n## Another #real", &["real"]),
            ("colours #fff #FFFFFF #a1b2c3 #00ff00aa #0af", &[]),
            ("words like #bad and #cafe are marks", &["bad", "cafe"]),
            ("see https://x.y/z#part and a/b#c", &[]),
            ("a link [x](#part) [#y](#other)", &["y"]),
            ("#foo/bar #foo(x) #foo=1 #[derive(Debug)] #!shebang", &[]),
            ("`#code` and ``a ` #code`` but `open #real", &["real"]),
            ("```\n#code\n```\n#real", &["real"]),
            ("```c\n#code\n~~~\n#code\n````\n#real", &["real"]),
            ("    #code by indentation\n\t#code too\n#real", &["real"]),
            ("~~~\n#never closed", &[]),
            ("# alone, #- #_ #", &[]),
            ("C# and F# are languages", &[]),
        ];
        for (text, wanted) in table {
            assert_eq!(tags(text), *wanted, "{text:?}");
        }
    }

    #[test]
    fn a_paste_full_of_marks_has_only_so_many_and_takes_no_time() {
        let many: String = (0..100).map(|n| format!("#tag{n}x ")).collect();
        assert_eq!(tags(&many).len(), MOST);
        assert_eq!(tags(&format!("#{}", "a".repeat(LONGEST + 1))), Vec::<String>::new());
        // Each tick begins a span that has no end.
        let ticks: String = (1..180).map(|n| format!("{} ", "`".repeat(n))).collect();
        assert_eq!(tags(&ticks), Vec::<String>::new());
    }
}
