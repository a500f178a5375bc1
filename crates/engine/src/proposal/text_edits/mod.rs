//! Changes of files that a reply holds as text: whole files, diffs and search blocks in fences. What is certain becomes
//! an edit; what is not is said to be left, with the reason. Nothing here knows a session: for models that are told to
//! answer so, this is the way in which they change files.
//!
//! A path is certain if the fence names it (`python hello.py`), the line before it does (`**hello.py**`), its first line
//! does in a comment, or it is the only file that the request names. A text is certain if its fence has an end, nothing
//! in it stands for text that was left out, and it is not a part of the file that is there.

mod blocks;
mod path;

use std::ops::Range;

use super::edit::{Edit, has_placeholder};
use super::fences::{ReplyFence, fences, without_thoughts};

/// A file that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFile<'t> {
    /// As it is named.
    pub path: &'t str,
    /// What it holds now, as far as that is known.
    pub text: Option<&'t str>,
}

/// What a reply wants changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextEdits {
    /// What is certain, in order.
    pub edits: Vec<Edit>,
    /// The places in the reply that these were read from, with the marks of their fences.
    pub ranges: Vec<Range<usize>>,
    /// What may have been meant as a change and is not certain.
    pub unplaced: Vec<UnplacedBlock>,
}

/// A block of code that is not certain to be a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnplacedBlock {
    /// The file that it seems to be about.
    pub path: Option<String>,
    pub why: Uncertainty,
}

/// Why a block is not taken for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncertainty {
    /// Nothing says which file it is.
    NoPath,
    /// It has no end.
    Cut,
    /// Something in it stands for text that was left out.
    Elided,
    /// It has less than the file has: it may be a part of it.
    Part,
    /// A search block that cannot be read.
    Damaged,
}

/// Bytes of a reply in which edits are looked for.
const LONGEST: usize = 4 * 1024 * 1024;

/// The changes that a reply holds as text. `named` are the files that its request names.
pub fn read(reply: &str, named: &[NamedFile<'_>]) -> TextEdits {
    if reply.len() > LONGEST {
        return TextEdits::default();
    }
    let text = without_thoughts(reply);
    let fences = fences(&text);
    let mut read = TextEdits::default();
    blocks::outside(&text, &fences, named, &mut read);
    let alone = fences.iter().filter(|fence| is_code(fence)).count() == 1;
    for (at, fence) in fences.iter().enumerate() {
        let from = at.checked_sub(1).map_or(0, |before| fences[before].range.end);
        fenced(&text, fence, from, named, alone, &mut read);
    }
    let mut placed: Vec<(Edit, Range<usize>)> = read.edits.drain(..).zip(read.ranges.drain(..)).collect();
    placed.sort_by_key(|(_, range)| range.start);
    for (edit, range) in placed {
        add(&mut read.edits, edit);
        read.ranges.push(range);
    }
    read.ranges.dedup();
    read
}

impl TextEdits {
    fn push(&mut self, edit: Edit, range: Range<usize>) {
        self.edits.push(edit);
        self.ranges.push(range);
    }

    fn leave(&mut self, path: Option<String>, why: Uncertainty) {
        self.unplaced.push(UnplacedBlock { path, why });
    }
}

/// Info strings of what is shown or typed, and not a file's text.
const NOT_FILES: &[&str] = &[
    "sh",
    "bash",
    "shell",
    "zsh",
    "fish",
    "console",
    "terminal",
    "shell-session",
    "shellsession",
    "powershell",
    "ps1",
    "cmd",
    "bat",
    "output",
    "log",
    "tool_code",
    "tool_call",
    "plaintext",
    "text",
    "txt",
    "mermaid",
    "http",
];

/// Whether a fence may hold a file's text even if only its language says so.
fn is_code(fence: &ReplyFence<'_>) -> bool {
    !NOT_FILES.contains(&fence.language().to_ascii_lowercase().as_str()) && !fence.body.trim().is_empty()
}

/// Reads one fence. `from`: where the text before it begins that may name its file.
fn fenced(text: &str, fence: &ReplyFence<'_>, from: usize, named: &[NamedFile<'_>], alone: bool, read: &mut TextEdits) {
    if fence.body.trim().is_empty() {
        return;
    }
    let before = text[from.min(fence.range.start)..fence.range.start].trim_end();
    let path = path::of_fence(fence, before, named);
    if blocks::is_block(fence.body) {
        return match fence.is_closed {
            true => blocks::fenced(fence, path, named, read),
            false => read.leave(path, Uncertainty::Cut),
        };
    }
    if is_diff(fence) {
        return match path::of_diff(fence.body).or(path).or_else(|| only(named)) {
            path if !fence.is_closed => read.leave(path, Uncertainty::Cut),
            None => read.leave(None, Uncertainty::NoPath),
            Some(path) => {
                let edit = Edit::UnifiedDiff { path, diff: fence.body.to_owned() };
                read.push(edit, fence.range.clone());
            }
        };
    }
    let is_code = is_code(fence);
    let by_request = || only(named).filter(|path| alone && is_code && path::fits(fence.language(), path));
    let Some(path) = path.or_else(by_request) else {
        if is_code && fence.body.lines().count() > 1 {
            read.leave(None, if fence.is_closed { Uncertainty::NoPath } else { Uncertainty::Cut });
        }
        return;
    };
    let known = named.iter().find(|file| file.path == path).and_then(|file| file.text);
    if !fence.is_closed {
        read.leave(Some(path), Uncertainty::Cut);
    } else if has_placeholder(&path, fence.body) {
        read.leave(Some(path), Uncertainty::Elided);
    } else if known.is_some_and(|known| is_part(fence.body, known)) {
        read.leave(Some(path), Uncertainty::Part);
    } else {
        read.push(Edit::WholeFile { path, content: fence.body.to_owned() }, fence.range.clone());
    }
}

/// The only file that a request names.
fn only(named: &[NamedFile<'_>]) -> Option<String> {
    match named {
        [file] => Some(file.path.to_owned()),
        _ => None,
    }
}

fn is_diff(fence: &ReplyFence<'_>) -> bool {
    if matches!(fence.language().to_ascii_lowercase().as_str(), "diff" | "patch" | "udiff") {
        return true;
    }
    let mut lines = fence.body.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    first.starts_with("diff --git ")
        || first.starts_with("*** Begin Patch")
        || (first.starts_with("--- ") && lines.next().is_some_and(|second| second.starts_with("+++ ")))
}

/// Whether a text has too little of what a file has to be the whole of it: it is shorter, and most of the file's lines
/// are not in it.
fn is_part(content: &str, known: &str) -> bool {
    let lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    if lines(known) < 3 || lines(content) >= lines(known) {
        return false;
    }
    let kept = known.lines().filter(|line| !line.trim().is_empty());
    let kept = kept.filter(|line| content.lines().any(|other| other.trim() == line.trim())).count();
    kept * 2 < lines(known)
}

/// Puts an edit behind the others. Search blocks of one file become one edit: they are applied together, or not at all.
/// Of a whole file that was sent twice, the last counts.
fn add(edits: &mut Vec<Edit>, next: Edit) {
    let earlier = edits.iter_mut().find(|before| before.path() == next.path());
    match (earlier, next) {
        (Some(Edit::SearchReplace { blocks, .. }), Edit::SearchReplace { blocks: more, .. }) => blocks.extend(more),
        (Some(before @ Edit::WholeFile { .. }), next @ Edit::WholeFile { .. }) => *before = next,
        (_, next) => edits.push(next),
    }
}

#[cfg(test)]
mod tests;
