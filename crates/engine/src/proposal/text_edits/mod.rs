//! File changes that a reply contains as text: whole files, diffs, and search blocks in fences. What is certain
//! becomes an edit; the rest is reported with the reason. Models with the protocol `edit_blocks` change files this
//! way.
//!
//! A path is certain if the fence names it (`python hello.py`), the line before it does (`**hello.py**`), its first
//! line does in a comment, or it is the only file that the request names. A text is certain if its fence is closed,
//! it has no placeholder for omitted text, and it is not a part of the existing file.

mod blocks;
mod path;

use std::ops::Range;

use super::edit::{Edit, has_placeholder};
use super::fences::{ReplyFence, fences, without_thoughts};

/// The known file names when a reply is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NamedPaths<'t> {
    /// The files that the request names, literally.
    pub named: &'t [String],
    /// The folder that the work is in. Models write its whole path before a file's name.
    pub folder: Option<&'t str>,
}

/// How much of a file a model has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownFile {
    Whole(String),
    /// Its beginning: writing it again from that would lose the rest.
    Part,
}

/// The changes in a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextEdits {
    /// The certain ones, in order.
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
    /// It has a placeholder for omitted text.
    Elided,
    /// It has less than the file has: it may be a part of it.
    Part,
    /// A search block that cannot be read.
    Damaged,
}

/// Bytes of a reply in which edits are looked for.
const LONGEST: usize = 4 * 1024 * 1024;

/// The changes in the text of a reply. `shown` returns how much of a file the model has seen.
pub fn read(reply: &str, names: NamedPaths<'_>, shown: impl Fn(&str) -> Option<ShownFile>) -> TextEdits {
    if reply.len() > LONGEST {
        return TextEdits::default();
    }
    let text = without_thoughts(reply);
    let fences = path::heading_fences(&text, fences(&text), names);
    let mut read = TextEdits::default();
    blocks::outside(&text, &fences, names, &mut read);
    let alone = fences.iter().filter(|fence| is_code(fence)).count() == 1;
    for (at, fence) in fences.iter().enumerate() {
        let from = at.checked_sub(1).map_or(0, |before| fences[before].range.end);
        fenced(&text, fence, from, FileContext { names, shown: &shown, alone }, &mut read);
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

/// Whether a fence may contain a file even if only its language says so.
fn is_code(fence: &ReplyFence<'_>) -> bool {
    !NOT_FILES.contains(&fence.language().to_ascii_lowercase().as_str()) && !fence.body.trim().is_empty()
}

/// What is known about files when a fence is read.
struct FileContext<'c> {
    names: NamedPaths<'c>,
    shown: &'c dyn Fn(&str) -> Option<ShownFile>,
    /// The fence is the only one with code in it.
    alone: bool,
}

/// Reads one fence. `from`: where the text before it begins that may name its file.
fn fenced(text: &str, fence: &ReplyFence<'_>, from: usize, files: FileContext<'_>, read: &mut TextEdits) {
    let FileContext { names, shown, alone } = files;
    if fence.body.trim().is_empty() {
        return;
    }
    let before = text[from.min(fence.range.start)..fence.range.start].trim_end();
    let path = path::of_fence(fence, before, names);
    let within = if path.is_none() { path::named_within(fence, names) } else { None };
    let (fence, path) = match &within {
        Some((inner, path)) => (inner, Some(path::FencePath { path: path.clone(), is_plain: true })),
        None => (fence, path),
    };
    let stated = path.as_ref().map(|found| found.path.clone());
    if blocks::is_block(&fence.body) {
        return match fence.is_closed {
            true => blocks::fenced(fence, stated, names, read),
            false => read.leave(stated, Uncertainty::Cut),
        };
    }
    if is_diff(fence) {
        return match path::of_diff(&fence.body).or(stated).or_else(|| names.only()) {
            path if !fence.is_closed => read.leave(path, Uncertainty::Cut),
            None => read.leave(None, Uncertainty::NoPath),
            Some(path) => {
                let edit = Edit::UnifiedDiff { path, diff: fence.body.to_string() };
                read.push(edit, fence.range.clone());
            }
        };
    }
    let is_code = is_code(fence);
    let by_request = || {
        let path = names.only().filter(|path| alone && is_code && path::fits(fence.language(), path))?;
        Some(path::FencePath { path, is_plain: false })
    };
    let Some(path::FencePath { path, is_plain }) = path.or_else(by_request) else {
        if is_code && fence.body.lines().count() > 1 {
            read.leave(None, if fence.is_closed { Uncertainty::NoPath } else { Uncertainty::Cut });
        }
        return;
    };
    let is_known = shown(&path).is_some();
    let path = names.without_example(path, is_known);
    // A fence around the name alone shows the name.
    if names.path(fence.body.trim()).as_deref() == Some(path.as_str()) {
        return;
    }
    let lacks_something = match shown(&path) {
        Some(ShownFile::Whole(known)) if is_plain => is_part(&fence.body, &known),
        // What only seems to be the file has to look like it.
        Some(ShownFile::Whole(known)) => !keeps_half(&fence.body, &known),
        Some(ShownFile::Part) => true,
        None => false,
    };
    if !fence.is_closed {
        read.leave(Some(path), Uncertainty::Cut);
    } else if has_placeholder(&path, &fence.body) {
        read.leave(Some(path), Uncertainty::Elided);
    } else if lacks_something || is_followed_by_another(&text[fence.range.end..]) {
        read.leave(Some(path), Uncertainty::Part);
    } else {
        read.push(Edit::WholeFile { path, content: fence.body.to_string() }, fence.range.clone());
    }
}

/// Whether the words behind a fence say that it shows what is to be replaced by the next one.
fn is_followed_by_another(after: &str) -> bool {
    const LEADS: [&str; 10] =
        ["to:", "to this", "with:", "with this", "into:", "by:", "becomes", "should be", "should become", "after:"];
    let after = after.trim_start().trim_start_matches(['*', '#', '_', ' ']);
    let lead = after[..after.floor_char_boundary(20)].to_lowercase();
    LEADS.iter().any(|word| lead.starts_with(word)) && after.contains("```")
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

/// Whether at least half of the lines of a file are in a text.
fn keeps_half(content: &str, known: &str) -> bool {
    let is_said = |line: &&str| !line.trim().is_empty();
    let kept = known.lines().filter(is_said).filter(|line| content.lines().any(|other| other.trim() == line.trim()));
    kept.count() * 2 >= known.lines().filter(is_said).count()
}

/// Whether a text has too little of what a file has to be the whole of it: it is shorter, and most of the file's lines
/// are not in it.
fn is_part(content: &str, known: &str) -> bool {
    let lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    if lines(known) < 3 || lines(content) >= lines(known) {
        return false;
    }
    !keeps_half(content, known)
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
