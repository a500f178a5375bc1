//! The header lines of a diff: names, modes, and `@@`.

use super::hunk::Numbers;

/// A name that a diff gives to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiffName {
    /// `/dev/null`: no file.
    Nothing,
    /// A path, as written but for quotes and a time.
    Path(String),
}

/// Parses the name after `--- ` or `+++ `.
pub(super) fn name(text: &str) -> DiffName {
    let text = text.trim_end();
    let path = match text.strip_prefix('"').and_then(|rest| rest.rsplit_once('"')) {
        Some((quoted, _)) => unquoted(quoted),
        None => without_time(text.split('\t').next().unwrap_or(text)).trim().to_owned(),
    };
    if path == "/dev/null" || path == "dev/null" || path.eq_ignore_ascii_case("nul") {
        return DiffName::Nothing;
    }
    DiffName::Path(path)
}

/// A path without a time behind it, for diffs whose tab became blanks: `x.rs  2024-05-01 10:00:00`.
fn without_time(text: &str) -> &str {
    let digits = |text: &str, n: usize| text.len() >= n && text.bytes().take(n).all(|byte| byte.is_ascii_digit());
    let is_date = |text: &str| {
        let mut parts = text.splitn(3, '-');
        matches!((parts.next(), parts.next(), parts.next()),
            (Some(year), Some(month), Some(day)) if year.len() == 4 && digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    let cut = text.match_indices(' ').map(|(at, _)| at).find(|at| is_date(text[*at..].trim_start()));
    cut.map_or(text, |at| &text[..at])
}

/// A path in git's quotes, where bytes beyond ASCII are octal.
fn unquoted(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(next) = rest.next_if(|byte| matches!(byte, b'0'..=b'7')) {
                        value = value * 8 + u32::from(next - b'0');
                    }
                }
                bytes.push(value as u8);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Words for "the old text" and "the new text" in place of a path.
const NO_PATH: [&str; 12] =
    ["a", "b", "old", "new", "original", "modified", "before", "after", "current", "updated", "previous", "file"];

/// Whether a name in a diff means the file at `path`. Prefixes that tools put in front do not count,
/// nor does the folder of an absolute path; any other difference does.
pub(super) fn means(written: &str, path: &str) -> bool {
    if NO_PATH.contains(&written) && !path.rsplit('/').next().is_some_and(|file| NO_PATH.contains(&file)) {
        return true;
    }
    let clean = |text: &str| {
        let text = text.replace('\\', "/");
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        (parts.join("/"), text.starts_with('/') || text.get(1..3) == Some(":/"))
    };
    let (path, path_is_absolute) = clean(path);
    let (written, absolute) = clean(written);
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|front| front.is_empty() || front.ends_with('/'))
    };
    let same = |written: &str| {
        written == path || (absolute && ends(written, &path)) || (path_is_absolute && ends(&path, written))
    };
    let bare =
        ["a/", "b/", "i/", "w/", "c/", "o/", "old/", "new/"].iter().find_map(|front| written.strip_prefix(front));
    same(&written) || bare.is_some_and(same)
}

/// Like [`means`], for the old side, where a copy of the file may stand: `x.rs.orig`.
pub(super) fn old_means(written: &str, path: &str) -> bool {
    let copy = [".orig", ".old", ".bak", "~"].iter().find_map(|end| written.strip_suffix(end));
    means(written, path) || copy.is_some_and(|original| means(original, path))
}

/// Whether `diff --git` is about `path`, both times.
pub(super) fn git_means(rest: &str, path: &str) -> bool {
    let rest = rest.trim();
    // Names may have blanks, so each is tried as the border between the two.
    let tries = rest.match_indices(' ').take(64);
    let pairs = tries.map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let is = |text: &str| match name(text) {
        DiffName::Path(written) => means(&written, path),
        DiffName::Nothing => true,
    };
    rest.is_empty() || is(rest) || { pairs }.any(|(old, new)| is(old) && is(new))
}

/// The path of `diff --git a/P b/P`, if both names are the same.
pub(super) fn git_path(rest: &str) -> Option<String> {
    let rest = rest.trim();
    let pairs = rest.match_indices(' ').take(64).map(|(at, _)| (name(&rest[..at]), name(&rest[at + 1..])));
    let mut same = pairs.filter_map(|pair| match pair {
        (DiffName::Path(old), DiffName::Path(new)) => {
            let (old, new) = (old.strip_prefix("a/")?.to_owned(), new.strip_prefix("b/")?.to_owned());
            (old == new).then_some(old)
        }
        _ => None,
    });
    same.next()
}

/// The text behind `@@` that says after which line the hunk lies. Numbers that went wrong and dots are no such text.
pub(super) fn anchor(line: &str) -> Option<&str> {
    let text = line.strip_prefix("@@")?.trim();
    let text = text.strip_suffix("@@").unwrap_or(text).trim();
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_number = |word: &str, mark: char| {
        word.strip_prefix(mark).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || ",.?_XxYyNn*".contains(c))
        })
    };
    let is_numbers = is_number(first, '-') && (second.is_empty() || is_number(second, '+'));
    let says_nothing = text.chars().all(|c| matches!(c, '.' | '…' | '*' | '-' | '+' | ',' | ' '));
    (!is_numbers && !says_nothing).then_some(text)
}

/// Parses the numbers of an `@@` line, and ignores the rest.
pub(super) fn numbers(line: &str) -> Option<Numbers> {
    let mut words = line.trim_start_matches('@').split("@@").next()?.split_whitespace();
    let (old, old_count) = range(words.next()?.strip_prefix('-')?)?;
    let new = words.next().and_then(|word| range(word.strip_prefix('+')?));
    Some(Numbers { old, old_count, new: new.map(|new| new.0), new_count: new.and_then(|new| new.1) })
}

fn range(text: &str) -> Option<(usize, Option<usize>)> {
    let number = |text: &str| text.parse::<u32>().ok().and_then(|number| usize::try_from(number).ok());
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count))),
        None => Some((number(text)?, None)),
    }
}

/// The text after the numbers of an `@@` line.
pub(super) fn section(line: &str) -> &str {
    let rest = line.trim_start_matches('@');
    match rest.split_once("@@") {
        Some((_, section)) => section.trim(),
        None => "",
    }
}
