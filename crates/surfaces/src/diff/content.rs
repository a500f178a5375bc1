//! One line of content, styled and wrapped.

use std::ops::Range;

use super::syntax::SyntaxToken;
use super::visible::cells;
use super::words::{self, ChangedWords};
use super::{DiffRole, DiffStyle, LineSpan};
use trimtab_vocab::format;

/// Bytes of a line that are drawn; of a longer one, the part around its first change.
const LONGEST: usize = 3_000;
/// Bytes before the first change of such a line that are drawn.
const LEAD: usize = 120;
/// Columns that content gets at least, however narrow the screen.
const NARROWEST: usize = 20;

/// Which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffSide {
    Before,
    After,
}

/// A line and how it looks.
pub(super) struct StyledLine<'a> {
    /// Without its end.
    pub(super) text: &'a [u8],
    pub(super) kinds: &'a [(Range<usize>, SyntaxToken)],
    /// The parts that changed.
    pub(super) changed: &'a [Range<usize>],
    /// What the line is, and what the parts that changed are.
    pub(super) base: DiffRole,
    pub(super) word: DiffRole,
    /// It ends with a newline.
    pub(super) ends: bool,
}

impl StyledLine<'_> {
    /// Rows of at most `room` columns; at least one.
    pub(super) fn rows(&self, room: usize) -> Vec<Vec<LineSpan>> {
        let room = room.max(NARROWEST);
        let part = window(self.text, self.changed.first().map_or(0, |first| first.start));
        let mut rows = ContentRows { rows: vec![Vec::new()], column: 0, room };
        rows.left_out(part.start);
        let (mut kinds, mut changed) = (self.kinds.iter().peekable(), self.changed.iter().peekable());
        for cell in cells(&self.text[part.clone()], part.start) {
            while kinds.next_if(|(range, _)| range.end <= cell.at).is_some() {}
            while changed.next_if(|range| range.end <= cell.at).is_some() {}
            let is_word = changed.peek().is_some_and(|range| range.start <= cell.at);
            let role = match (cell.is_mark, is_word) {
                (true, _) => DiffRole::Mark,
                (false, true) => self.word,
                (false, false) => self.base,
            };
            let token =
                kinds.peek().filter(|(range, _)| range.start <= cell.at).map_or(SyntaxToken::Text, |(_, token)| *token);
            rows.put(&cell.text, cell.width, DiffStyle { role, token });
        }
        rows.left_out(self.text.len() - part.end);
        rows.rows
    }
}

struct ContentRows {
    rows: Vec<Vec<LineSpan>>,
    column: usize,
    room: usize,
}

impl ContentRows {
    fn put(&mut self, text: &str, width: usize, style: DiffStyle) {
        if self.column + width > self.room && self.column > 0 {
            self.rows.push(Vec::new());
            self.column = 0;
        }
        self.column += width;
        let Some(row) = self.rows.last_mut() else { return };
        match row.last_mut() {
            Some(last) if last.style == style => last.text += text,
            _ => row.push(LineSpan { text: text.to_owned(), style }),
        }
    }

    fn left_out(&mut self, bytes: usize) {
        if bytes > 0 {
            let style = DiffStyle { role: DiffRole::Note, token: SyntaxToken::Text };
            let text = format!("… {} bytes …", format::number(bytes));
            self.put(&text, text.chars().count(), style);
        }
    }
}

/// The part of a line that is drawn, if its first change is at `first`.
fn window(text: &[u8], first: usize) -> Range<usize> {
    if text.len() <= LONGEST {
        return 0..text.len();
    }
    let from = whole(text, first.min(text.len()).saturating_sub(LEAD));
    from..whole(text, (from + LONGEST).min(text.len()))
}

/// The beginning of the character that a place is in.
fn whole(text: &[u8], mut place: usize) -> usize {
    while place > 0 && text.get(place).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
        place -= 1;
    }
    place
}

/// So much of a line as tells whether it is like another.
pub(super) fn clip(line: &[u8]) -> &[u8] {
    &line[..whole(line, line.len().min(LONGEST))]
}

/// What changed between two lines; `None`: everything.
pub(super) fn changed(before: &[u8], after: &[u8]) -> Option<ChangedWords> {
    if before.len() <= LONGEST && after.len() <= LONGEST {
        return words::changed(std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?);
    }
    // Of lines too long to be drawn whole, only the part that is drawn is compared by words.
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (window(before, same), window(after, same));
    let inner = std::str::from_utf8(&before[old.clone()])
        .ok()
        .zip(std::str::from_utf8(&after[new.clone()]).ok())
        .and_then(|(a, b)| words::changed(a, b));
    let moved = |ranges: Vec<Range<usize>>, by: usize| -> Vec<Range<usize>> {
        ranges.into_iter().map(|range| range.start + by..range.end + by).collect()
    };
    Some(match inner {
        Some(inner) => ChangedWords { before: moved(inner.before, old.start), after: moved(inner.after, new.start) },
        None => {
            let rest = |line: &[u8]| std::iter::once(same..line.len()).collect();
            ChangedWords { before: rest(before), after: rest(after) }
        }
    })
}
