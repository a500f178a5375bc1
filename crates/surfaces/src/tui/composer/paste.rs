//! What a paste is: words, something too long to stand among words, or pictures.

use std::path::{Path, PathBuf};

use super::chip::is_chip;

/// Longer pastes become chips.
const LONG: usize = 1_000;
/// So do those with more lines.
const MANY_LINES: usize = 10;
/// Pictures that can be sent.
const PICTURES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];
/// Files that are dropped at a time.
const MOST_FILES: usize = 20;

/// Line ends as they are written here.
pub(super) fn with_line_ends(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

/// Whether a text is better shown as a chip.
pub(super) fn is_long(text: &str) -> bool {
    text.contains(is_chip)
        || text.trim_end_matches('\n').bytes().filter(|byte| *byte == b'\n').count() >= MANY_LINES
        || text.chars().nth(LONG).is_some()
}

/// The pictures that a paste names, if it names pictures and nothing else: terminals paste the paths of files
/// that are dropped on them, in quotes, with backslashes, as addresses or just so.
pub(super) fn pictures(text: &str, folder: &Path, is_file: fn(&Path) -> bool) -> Option<Vec<PathBuf>> {
    let text = text.trim();
    if text.is_empty() || text.len() > 4_096 * MOST_FILES {
        return None;
    }
    let found = |name: &str| {
        let path = path_of(name)?;
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        let path = if path.is_absolute() { path } else { folder.join(path) };
        (PICTURES.contains(&ending.as_str()) && is_file(&path)).then_some(path)
    };
    let names = words(text).filter(|names| (1..=MOST_FILES).contains(&names.len())).unwrap_or_default();
    let each: Option<Vec<PathBuf>> = names.iter().map(|name| found(name)).collect();
    // Some terminals write blanks as they are.
    each.filter(|paths| !paths.is_empty()).or_else(|| Some(vec![found(text).filter(|_| !text.contains('\n'))?]))
}

/// A path, written plainly or as an address of a file.
fn path_of(name: &str) -> Option<PathBuf> {
    let Some(rest) = name.strip_prefix("file://") else { return Some(PathBuf::from(name)) };
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut letters = rest.bytes();
    while let Some(byte) = letters.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [letters.next()?, letters.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

/// Words as a shell reads them; `None` if a quote is open.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = (Vec::new(), None, None);
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(letters.next()?),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Vec<String>> {
        let is_file = |path: &Path| path.starts_with("/pics") || path.starts_with("/home/u/shots");
        let paths = pictures(text, Path::new("/home/u"), is_file)?;
        Some(paths.iter().map(|path| path.display().to_string()).collect())
    }

    #[test]
    fn paths_of_pictures_are_known_however_a_terminal_writes_them() {
        for text in
            ["/pics/a b.png", "'/pics/a b.png' ", "\"/pics/a b.png\"", "/pics/a\\ b.png", "file:///pics/a%20b.png"]
        {
            assert_eq!(found(text), Some(vec!["/pics/a b.png".to_owned()]), "{text}");
        }
        assert_eq!(found("/pics/a.PNG '/pics/b.webp'").map(|found| found.len()), Some(2));
        assert_eq!(found("shots/x.gif"), Some(vec!["/home/u/shots/x.gif".to_owned()]));
    }

    #[test]
    fn anything_else_stays_text() {
        for text in ["", "/pics/a.txt", "/nowhere/a.png", "see /pics/a.png", "'/pics/a.png", "a.png", "file:///pics/%f"]
        {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn long_pastes_are_told_from_short_ones() {
        assert!(!is_long(&"x".repeat(1_000)) && is_long(&"x".repeat(1_001)));
        assert!(!is_long(&"x\n".repeat(10)) && is_long(&"x\n".repeat(11)));
        assert!(is_long("\u{10f000}"), "a character that chips use becomes one, and so stays what it was");
    }
}
