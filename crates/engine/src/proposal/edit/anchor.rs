//! The hints of a hunk about its place: the anchor line behind `@@`, and the end of the file.
//!
//! An anchor is binding. It never makes lines match that do not, but it excludes matches before it, and of several it
//! prefers the one in the block that the anchor opens.

use std::cell::Cell;
use std::ops::Range;

use super::hunk::PatchHunk;
use super::lines::{is_blank, shown, split_indent, trim_end};
use super::occur::LineMatch;
use super::place::Finder;
use super::{EditRefusal, RefusalKind};

/// Lines that are looked at in search of anchors, for all hunks of a file together.
const MOST_LINES: usize = 20_000_000;

/// How much looking is left.
#[derive(Debug)]
pub(super) struct Budget(Cell<usize>);

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(MOST_LINES))
    }
}

impl Budget {
    fn pay(&self, lines: usize) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(lines));
        left >= lines
    }
}

/// Where the anchors of a hunk stand.
struct AnchorPosition {
    /// For each anchor, outermost first, its lines.
    lines: Vec<Vec<usize>>,
    /// The first line of the innermost one that has the outer ones before it.
    first: usize,
}

impl Finder<'_> {
    /// Of the places at which the old side fits, those that agree with what the hunk says about its place.
    pub(super) fn bound(&self, name: &str, hunk: &PatchHunk<'_>, places: &[usize]) -> Result<Vec<usize>, EditRefusal> {
        let mut places = places.to_vec();
        if places.is_empty() {
            return Ok(places);
        }
        if hunk.at_end {
            let fits = places[0];
            places.retain(|place| self.texts()[place + hunk.old_len()..].iter().all(|line| is_blank(line)));
            if places.is_empty() {
                let why = format!("says `*** End of File`, but its lines are at line {}, before the end", fits + 1);
                return Err(self.contradiction(name, &why));
            }
        }
        let Some(anchored) = self.anchored(name, hunk)? else { return Ok(places) };
        let begins_with = |place: usize| {
            let last = anchored.lines.last().map(Vec::as_slice).unwrap_or_default();
            let reach = if hunk.anchor_is_heading { hunk.old_len() } else { 1 };
            let from = last.partition_point(|line| *line < place.max(anchored.first));
            last.get(from).is_some_and(|line| *line < place + reach)
        };
        let after: Vec<usize> =
            places.iter().copied().filter(|place| *place > anchored.first || begins_with(*place)).collect();
        let named = hunk.named().filter(|named| places.contains(named));
        if after.is_empty() || named.is_some_and(|named| !after.contains(&named)) {
            let fits = named.unwrap_or(places[0]) + 1;
            let anchor = shown(hunk.anchors.last().copied().unwrap_or_default());
            let why = format!("is for the lines after {anchor} (line {}), but fits at line {fits}", anchored.first + 1);
            return Err(self.contradiction(name, &why));
        }
        if after.len() == 1 || named.is_some() {
            return Ok(after);
        }
        let blocks = self.blocks(&anchored);
        let inside: Vec<usize> = after
            .iter()
            .copied()
            .filter(|place| begins_with(*place) || blocks.iter().any(|block| block.contains(place)))
            .collect();
        let next = |place: &usize| {
            let last = anchored.lines.last().map(Vec::as_slice).unwrap_or_default();
            place.checked_sub(1).is_some_and(|line| line >= anchored.first && last.binary_search(&line).is_ok())
        };
        Ok(match inside.is_empty() {
            false => inside,
            true if after.iter().filter(|place| next(place)).count() == 1 => after.into_iter().filter(next).collect(),
            true => after,
        })
    }

    /// The line after which a hunk without an old side goes, if its anchor is unambiguous: it occurs once, and no
    /// block begins there whose first or last line could be meant.
    pub(super) fn after_anchor(&self, name: &str, hunk: &PatchHunk<'_>) -> Result<Option<usize>, EditRefusal> {
        let Some(anchored) = self.anchored(name, hunk)? else { return Ok(None) };
        let after = |line: &&usize| **line >= anchored.first;
        let lines: Vec<usize> = anchored.lines.last().into_iter().flatten().filter(after).copied().collect();
        let [line] = lines[..] else { return Ok(None) };
        let is_plain = self.block(line).is_empty() && !hunk.anchor_is_heading;
        Ok(is_plain.then_some(line + 1))
    }

    fn contradiction(&self, name: &str, why: &str) -> EditRefusal {
        let reason = format!("{name} {why} of {}. Give lines from the place that is meant.", self.path());
        EditRefusal::new(RefusalKind::Contradiction, reason)
    }

    /// Where the anchors stand; none if there is nothing to be held to.
    fn anchored(&self, name: &str, hunk: &PatchHunk<'_>) -> Result<Option<AnchorPosition>, EditRefusal> {
        let mut anchored = AnchorPosition { lines: Vec::with_capacity(hunk.anchors.len()), first: 0 };
        let mut from = 0;
        for anchor in &hunk.anchors {
            let lines = self.anchor_lines(anchor);
            let Some(first) = lines.get(lines.partition_point(|line| *line < from)).copied() else {
                if hunk.anchor_is_heading {
                    return Ok(None);
                }
                let order = if lines.is_empty() { "" } else { " after the anchor before it" };
                let reason = format!(
                    "{name} has the anchor {}, which is not in {}{order}. Give a whole line of the file behind @@, or \
                     none.",
                    shown(anchor),
                    self.path()
                );
                return Err(EditRefusal::new(RefusalKind::NotFound, reason));
            };
            anchored.lines.push(lines);
            anchored.first = first;
            from = first + 1;
        }
        Ok((!anchored.lines.is_empty()).then_some(anchored))
    }

    /// The lines that an anchor matches: exactly, or else as a prefix that ends at a word.
    fn anchor_lines(&self, anchor: &[u8]) -> Vec<usize> {
        for view in [LineMatch::TrailingBlanks, LineMatch::Indentation] {
            let lines = self.index(view).places(&[anchor]);
            if !lines.is_empty() {
                return lines;
            }
        }
        let anchor = split_indent(trim_end(anchor)).1;
        if !self.budget.pay(self.texts().len()) {
            return Vec::new();
        }
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let begins = |line: &[u8]| {
            let rest = split_indent(line).1.strip_prefix(anchor);
            rest.is_some_and(|rest| !(anchor.last().is_some_and(goes_on) && rest.first().is_some_and(goes_on)))
        };
        self.texts().iter().enumerate().filter(|(_, line)| begins(line)).map(|(at, _)| at).collect()
    }

    /// The blocks that the innermost anchors open, each within a block of the anchor around it.
    fn blocks(&self, anchored: &AnchorPosition) -> Vec<Range<usize>> {
        let whole = 0..self.texts().len();
        anchored.lines.iter().fold(vec![whole], |around, lines| {
            // Blocks come in order, so that one pass over both is enough.
            let mut around = around.into_iter().peekable();
            let mut inside = Vec::new();
            for line in lines {
                while around.next_if(|block| block.end <= *line).is_some() {}
                if around.peek().is_some_and(|block| block.contains(line)) {
                    let block = self.block(*line);
                    if !block.is_empty() {
                        inside.push(block);
                    }
                }
            }
            inside
        })
    }

    /// The lines after `line` that are indented more than it is.
    fn block(&self, line: usize) -> Range<usize> {
        let texts = self.texts();
        let depth = |line: &[u8]| split_indent(line).0.len();
        let own = texts.get(line).map_or(0, |line| depth(line));
        let start = line + 1;
        // A brace may open the block on its own line, and the end of a parameter list belongs to its head.
        let is_head = |line: &[u8]| depth(line) == own && matches!(line.get(own), Some(b'{' | b')' | b']'));
        let ends = |line: &[u8]| !is_blank(line) && depth(line) <= own && !is_head(line);
        let end = (start..texts.len()).find(|at| ends(texts[*at])).unwrap_or(texts.len());
        let has_lines = texts[start.min(end)..end].iter().any(|line| !is_blank(line));
        if self.budget.pay(end.saturating_sub(start)) && has_lines { start..end } else { start..start }
    }
}
