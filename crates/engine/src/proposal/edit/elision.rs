//! Detects placeholders for text that a model left out ("... existing code ..."). Written to a file, they would
//! replace the code that they stand for.
//!
//! A line counts only if it is nothing but a placeholder, or if a comment behind code says explicitly that something
//! was left out: `...` is also Python's empty body, a spread, a range.

use std::collections::HashSet;

use super::hunk::{HunkLine, Op};
use super::lines::{shown, trim_end};
use super::{EditRefusal, RefusalKind};

/// Refuses added placeholder lines, unless the old text has the same line.
pub(super) fn refuse<'t>(
    path: &str,
    name: &str,
    lines: &[HunkLine<'t>],
    old: impl Iterator<Item = &'t [u8]>,
) -> Result<(), EditRefusal> {
    let mut old = Some(old);
    let mut known: HashSet<&[u8]> = HashSet::new();
    let mut before: &[u8] = b"";
    let mut lines = lines.iter().filter(|line| line.op != Op::Remove).peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or(&b""[..], |line| line.text);
        if line.op == Op::Add && is_placeholder(path, line.text, before, next) {
            if let Some(old) = old.take() {
                known.extend(old.map(|line| line.trim_ascii()));
            }
            if !known.contains(line.text.trim_ascii()) {
                let reason = format!(
                    "{name} leaves text out: {} stands for lines that would be lost. Write them all, or change less.",
                    shown(line.text)
                );
                return Err(EditRefusal::new(RefusalKind::Placeholder, reason));
            }
        }
        if !trim_end(line.text).is_empty() {
            before = line.text;
        }
    }
    Ok(())
}

/// Whether a text has a placeholder line for omitted ones.
pub(super) fn is_in(path: &str, text: &str) -> bool {
    let mut before = "";
    let mut lines = text.lines().peekable();
    std::iter::from_fn(|| lines.next().map(|line| (line, lines.peek().copied().unwrap_or_default()))).any(
        |(line, next)| {
            let found = is_placeholder(path, line.as_bytes(), before.as_bytes(), next.as_bytes());
            if !line.trim_end().is_empty() {
                before = line;
            }
            found
        },
    )
}

/// Longer lines are not placeholders.
const LONGEST: usize = 200;

/// Dots of a placeholder at most; more are a line, or a row of a drawing.
const MOST_DOTS: usize = 6;

fn is_placeholder(path: &str, line: &[u8], before: &[u8], next: &[u8]) -> bool {
    if line.len() > 4 * LONGEST {
        return false;
    }
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let line = line.trim();
    if line.len() > LONGEST || !line.chars().any(|c| c == '.' || c == '…' || c.is_alphabetic()) {
        return false;
    }
    if is_ellipsis(line) {
        // Rows of dots below each other are a drawing or a table. Three dots are an ellipsis, however often they come.
        let is_row = line.len() > 3 && [before, next].iter().any(|other| other.trim_ascii() == line.as_bytes());
        if line.starts_with('.') && (is_row || line.len() > MOST_DOTS) {
            return false;
        }
        return !is_language(path, line, String::from_utf8_lossy(before).trim());
    }
    let prose = path.ends_with(".md") || path.ends_with(".markdown");
    match comment(line) {
        Some((inner, Dress::Comment)) if !(prose && line.starts_with('#')) => says_elision(inner),
        Some((inner, _)) => stands_alone(inner),
        None => starts_with_ellipsis(line) && stands_alone(line) || elided_behind_code(line),
    }
}

/// The delimiters around a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dress {
    /// Marks that make it a comment.
    Comment,
    /// Marks that code and prose have too.
    Marks,
}

/// Whether a text that may be code or prose leaves something out. A word right behind the dots is a
/// spread (`...rest`), and a single word may be a name.
fn stands_alone(inner: &str) -> bool {
    let text = inner.trim();
    if is_ellipsis(text) {
        return true;
    }
    let behind = text.trim_start_matches(['.', '…']);
    let spread = starts_with_ellipsis(text) && behind.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let words = behind.split_whitespace().count();
    let dots = text.contains("...") || text.contains('…');
    let enough = if dots && !spread { 1 } else { 3 - usize::from(dots) };
    words >= enough
        && !text.contains(['=', '{', '}', ';'])
        && says_elision(text)
        && (!spread || leaves_out(&words_of(text)))
}

fn is_ellipsis(text: &str) -> bool {
    (text.len() >= 3 && text.chars().all(|c| c == '.')) || (!text.is_empty() && text.chars().all(|c| c == '…'))
}

fn starts_with_ellipsis(text: &str) -> bool {
    text.starts_with("...") || text.starts_with('…')
}

/// Whether a bare `...` means something in the language of the file.
fn is_language(path: &str, line: &str, before: &str) -> bool {
    let kind = path.rsplit_once('.').map_or("", |(_, kind)| kind).to_ascii_lowercase();
    if line != "..." {
        return false;
    }
    match kind.as_str() {
        // The body of a function, class or protocol, perhaps behind its documentation.
        "py" | "pyi" | "pyx" => {
            let code = before.split(" #").next().unwrap_or_default().trim_end();
            code.ends_with(':') || code.ends_with("\"\"\"") || code.ends_with("'''")
        }
        // The end of a document.
        "yaml" | "yml" => true,
        // The rest of the arguments.
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "lua" => before.ends_with(','),
        _ => false,
    }
}

/// What is inside a line that is a comment, or in brackets, from end to end.
fn comment(line: &str) -> Option<(&str, Dress)> {
    const AROUND: [(&str, &str); 8] = [
        ("{/*", "*/}"),
        ("/*", "*/"),
        ("<!--", "-->"),
        ("{{!--", "--}}"),
        ("{#", "#}"),
        ("<%#", "%>"),
        ("(*", "*)"),
        ("{-", "-}"),
    ];
    const BRACKETS: [(&str, &str); 4] = [("[", "]"), ("(", ")"), ("<", ">"), ("*", "*")];
    const BEFORE: [&str; 8] = ["<!--", "/*", "//", "--", ";", "%", "REM ", "rem "];
    let between = |pairs: &[(&str, &str)]| {
        let inner = pairs.iter().find_map(|(open, close)| line.strip_prefix(open)?.strip_suffix(close));
        inner.map(|inner| inner.trim().trim_matches('*').trim())
    };
    if let Some(inner) = between(&AROUND) {
        return Some((inner, Dress::Comment));
    }
    if let Some(inner) = BEFORE.iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some((inner.trim_start_matches(['/', '-', ';', '%', '*', '!']).trim(), Dress::Comment));
    }
    if let Some(inner) = between(&BRACKETS) {
        return Some((inner, Dress::Marks));
    }
    if let Some(inner) = line.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return is_ellipsis(inner.trim()).then_some((inner.trim(), Dress::Marks));
    }
    let hashes = line.trim_start_matches('#');
    if hashes.len() < line.len() {
        // `#rest` may be an identifier of a style sheet, `#region` an instruction to a compiler.
        let dress = if hashes.starts_with(char::is_alphabetic) { Dress::Marks } else { Dress::Comment };
        return Some((hashes.trim(), dress));
    }
    line.strip_prefix('*').map(|inner| (inner.trim(), Dress::Marks))
}

/// Words of which placeholders are made.
const WORDS: &str = " a above additional all and any are as before below between block body brevity cases change \
    changed changes class clarity classes code component config configuration content contents continue continued \
    continues current data declarations definition definitions details document earlier elided else elsewhere end entries etc \
    everything exactly existing fields file following for from function functions go goes handlers here html \
    implementation implementations import imports in intact is it items its keep keeping kept leave left line lines logic \
    markup method methods module more needed no not of omitted original other others otherwise page part parts preceding \
    preserve preserved previous previously properties props remain remainder remaining remains removed rest routes rules \
    same script section sections settings setup shown skipped snip snipped state stay stays still stuff styles subsequent \
    template test tests text that the their there these this those to truncated types unaltered unchanged unmodified \
    untouched up variables was were with your ";

/// The words of a text, in small letters.
fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether all words are typical for placeholders.
fn are_common(words: &[String]) -> bool {
    words.iter().all(|word| WORDS.contains(&format!(" {word} ")))
}

/// Whether the words say outright that something was left out or stays.
fn leaves_out(words: &[String]) -> bool {
    const ALONE: [&str; 9] =
        ["unchanged", "unmodified", "untouched", "unaltered", "omitted", "snip", "snipped", "elided", "brevity"];
    const PHRASES: [&str; 29] = [
        "existing code",
        "existing implementation",
        "existing logic",
        "existing content",
        "same as before",
        "same as above",
        "same as original",
        "same as the original",
        "remains the same",
        "remain the same",
        "stays the same",
        "stay the same",
        "keep existing",
        "keep the existing",
        "keep the rest",
        "keep your existing",
        "no changes",
        "rest of the code",
        "rest of code",
        "rest of the file",
        "rest of file",
        "rest of your code",
        "rest of the function",
        "rest of the class",
        "rest of the method",
        "rest of the component",
        "rest of the implementation",
        "rest of the module",
        "rest of this file",
    ];
    let text = format!(" {} ", words.join(" "));
    words.iter().any(|word| ALONE.contains(&word.as_str()))
        || PHRASES.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

/// Whether a comment says that something was left out.
fn says_elision(inner: &str) -> bool {
    const HINTS: [&str; 16] = [
        "rest",
        "existing",
        "remaining",
        "remainder",
        "other",
        "others",
        "previous",
        "same",
        "more",
        "original",
        "keep",
        "code",
        "truncated",
        "skipped",
        "above",
        "below",
    ];
    let inner = inner.trim();
    if is_ellipsis(inner) {
        return true;
    }
    let words = words_of(inner);
    if words.is_empty() || words.len() > 14 {
        return false;
    }
    let first = starts_with_ellipsis(inner);
    let last = inner.ends_with("...") || inner.ends_with('…');
    let dots = first || last || inner.contains("...") || inner.contains('…');
    let (common, out) = (are_common(&words), leaves_out(&words));
    (common && out)
        || (first && last && words.len() <= 10)
        || (first && out)
        || (dots && common && words.iter().any(|word| HINTS.contains(&word.as_str())))
}

/// A comment behind code that begins with an ellipsis and says that something was left out:
/// `foo() { /* ... existing code ... */ }`. Not within quotes, where it is text about placeholders.
fn elided_behind_code(line: &str) -> bool {
    ["//", "/*", "#", "<!--"].iter().any(|mark| {
        let Some((code, rest)) = line.split_once(mark) else { return false };
        let quoted = ['"', '\'', '`'].iter().any(|quote| code.matches(*quote).count() % 2 == 1);
        let inner = ["*/", "-->"].iter().fold(rest, |rest, close| rest.split(close).next().unwrap_or(rest)).trim();
        !quoted && !code.is_empty() && starts_with_ellipsis(inner) && !is_ellipsis(inner) && says_elision(inner)
    })
}
