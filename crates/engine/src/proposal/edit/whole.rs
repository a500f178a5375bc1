//! The whole text of a file at once.
//!
//! Byte order mark and line ends are the file's, as with every edit. The edit decides whether the text ends with a
//! newline, because it gives the text to its very end.

use std::borrow::Cow;
use std::collections::HashMap;

use super::hunk::{HunkLine, Op};
use super::lines::{self, LineEnding, TextLines, split, without_bom};
use super::splice::written;
use super::{EditRefusal, NewContent, RefusalKind, elision};

pub(super) fn apply(path: &str, content: &str, before: Option<&[u8]>) -> Result<NewContent, EditRefusal> {
    let old = TextLines::split(before.unwrap_or_default());
    let new = split(without_bom(content).as_bytes());
    let added: Vec<HunkLine<'_>> = new.iter().map(|line| HunkLine::new(Op::Add, line.text)).collect();
    elision::refuse(path, "The new text", &added, old.lines.iter().map(|line| line.text))?;
    let Some(before) = before else {
        return Ok(NewContent::Write(content.as_bytes().to_vec()));
    };
    lines::readable(path, before, false)?;
    lines::writable(path, before, new.iter().map(|line| line.text))?;
    if before.is_empty() {
        return changed(path, before, content.as_bytes().to_vec());
    }
    let newline = new.last().is_some_and(|line| line.ending != LineEnding::None);
    let out = match old.dominant() {
        // A file of one line without an end shows no style, so the edit's own stays.
        None => new.iter().map(|line| (Cow::Borrowed(line.text), line.ending)).collect(),
        Some(style) => {
            let endings = WholeEndings::new(&old, &new, style);
            new.iter().enumerate().map(|(at, line)| (Cow::Borrowed(line.text), endings.at(at, line.text))).collect()
        }
    };
    let style = old.dominant().unwrap_or(LineEnding::Lf);
    changed(path, before, written(old.bom, out, newline, style))
}

fn changed(path: &str, before: &[u8], after: Vec<u8>) -> Result<NewContent, EditRefusal> {
    if after == before {
        let reason = format!("The edit changes nothing: {path} has this text already.");
        return Err(EditRefusal::new(RefusalKind::NoChange, reason));
    }
    Ok(NewContent::Write(after))
}

/// The line ends of a new text for a file that may mix them: a line that stays keeps its own.
struct WholeEndings<'f, 'a> {
    old: &'f TextLines<'a>,
    style: LineEnding,
    head: usize,
    /// Where the lines that both texts end with begin, in the new text and in the old one.
    tail: (usize, usize),
    /// The end of each line that ends alike wherever it occurs.
    known: HashMap<&'a [u8], Option<LineEnding>>,
}

impl<'f, 'a> WholeEndings<'f, 'a> {
    fn new(old: &'f TextLines<'a>, new: &[lines::TextLine<'_>], style: LineEnding) -> Self {
        let head = old.lines.iter().zip(new).take_while(|(a, b)| a.text == b.text).count();
        let same = |(a, b): &(&lines::TextLine<'_>, &lines::TextLine<'_>)| a.text == b.text;
        let tail = old.lines[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
        let mut known = HashMap::new();
        for line in &old.lines {
            let ending = known.entry(line.text).or_insert(Some(line.ending));
            if *ending != Some(line.ending) {
                *ending = None;
            }
        }
        WholeEndings { old, style, head, tail: (new.len() - tail, old.lines.len() - tail), known }
    }

    fn at(&self, at: usize, text: &[u8]) -> LineEnding {
        let same_line = match at {
            at if at < self.head => self.old.lines.get(at),
            at if at >= self.tail.0 => self.old.lines.get(self.tail.1 + at - self.tail.0),
            _ => None,
        };
        let ending = same_line.map(|line| line.ending).or_else(|| self.known.get(text).copied().flatten());
        ending.filter(|ending| *ending != LineEnding::None).unwrap_or(self.style)
    }
}
