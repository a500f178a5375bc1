//! What a hunk is in: the function, the type or the section that begins above it.

/// Lines above a hunk that are looked at.
const REACH: usize = 2_000;
/// Characters of a heading.
const LONGEST: usize = 80;

/// Words that begin a definition in some language.
const DEFINES: [&str; 30] = [
    "fn",
    "def",
    "class",
    "func",
    "function",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "module",
    "interface",
    "type",
    "namespace",
    "package",
    "pub",
    "public",
    "private",
    "protected",
    "static",
    "export",
    "async",
    "sub",
    "proc",
    "object",
    "defmodule",
    "describe",
    "test",
    "it",
    "macro_rules!",
];

/// The line that begins what line `at` is in.
pub(super) fn heading(lines: &[&[u8]], at: usize) -> Option<String> {
    let mut depth = lines.get(at).and_then(|line| indent(line)).unwrap_or(usize::MAX);
    let mut fallback = None;
    for line in lines[..at.min(lines.len())].iter().rev().take(REACH) {
        let Some(now) = indent(line) else { continue };
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        let first = text.split(|c: char| c.is_whitespace() || c == '(' || c == '<').next().unwrap_or_default();
        let is_section = now == 0 && (text.starts_with("# ") || text.starts_with("##") || text.starts_with('['));
        if is_section || (now < depth && DEFINES.contains(&first)) {
            return Some(short(text));
        }
        if now == 0 && fallback.is_none() && text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') {
            fallback = Some(short(text));
        }
        depth = depth.min(now.max(1));
    }
    fallback
}

/// How far a line is indented; an empty one is not.
fn indent(line: &[u8]) -> Option<usize> {
    line.iter().position(|byte| !byte.is_ascii_whitespace())
}

fn short(text: &str) -> String {
    let text = super::visible(text.as_bytes());
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
