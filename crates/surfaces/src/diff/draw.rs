//! Draws one file's change, inline or side by side.

use trimtab_host::compare::{self, ChangedBlock, DiffHunk, LineStats};

use super::content::{DiffSide, StyledLine};
use super::heading::heading;
use super::stat::{BAR, bar, counts};
use super::syntax::{SyntaxToken, Tokens};
use super::words::{self, ChangedWords};
use super::{DiffFile, DiffLine, DiffRole, DiffView, HunkHeads, Layout, visible};
use trimtab_vocab::format;
use unicode_width::UnicodeWidthStr;

const NO_NEWLINE: &str = "\\ No newline at end of file";
/// The kind of file within a mode, and what it is for a symbolic link.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// The lines that show a change, its title first.
pub fn draw(change: &DiffFile<'_>, view: &DiffView) -> Vec<DiffLine> {
    let before = change.before.map_or(&[][..], |state| state.bytes);
    let after = change.after.map_or(&[][..], |state| state.bytes);
    let is_binary = compare::is_binary(before) || compare::is_binary(after);
    let blocks = if is_binary { Vec::new() } else { compare::blocks(before, after) };
    let mut lines = vec![title(change, LineStats::count(&blocks), view.heads == HunkHeads::Names)];
    lines.extend(notes(change, before, after, is_binary).into_iter().map(|text| {
        let mut line = DiffLine::default();
        line.add(format!("  {text}"), DiffRole::Note);
        line
    }));
    if !blocks.is_empty() { Sheet::new(change, before, after, view, lines).draw(blocks) } else { lines }
}

fn title(change: &DiffFile<'_>, stats: LineStats, with_bar: bool) -> DiffLine {
    let mut line = DiffLine::default();
    if let Some(from) = change.from {
        line.add(format!("{} → ", visible(from.as_bytes())), DiffRole::Title);
    }
    line.add(visible(change.path.as_bytes()), DiffRole::Title);
    if stats != LineStats::default() {
        line.add("  ", DiffRole::Frame);
        counts(&mut line, stats);
        if with_bar {
            line.add("  ", DiffRole::Frame);
            bar(&mut line, stats, BAR);
        }
    }
    line
}

/// What cannot be seen in lines of content.
fn notes(change: &DiffFile<'_>, before: &[u8], after: &[u8], is_binary: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match (change.before, change.after) {
        (None, Some(state)) => {
            let what = if state.bytes.is_empty() { "new file, empty" } else { "new file" };
            let runs = if state.mode & 0o111 != 0 { ", executable" } else { "" };
            notes.push(format!("{what}{runs}"));
        }
        (Some(_), None) => notes.push("deleted".to_owned()),
        (Some(old), Some(new)) if old.mode != new.mode => {
            notes.push(format!("mode {:o} → {:o}", old.mode & 0o7777, new.mode & 0o7777));
        }
        _ => {}
    }
    if change.from.is_some() {
        notes.push(if before == after { "moved, content unchanged" } else { "moved" }.to_owned());
    }
    for (word, state) in [("was", change.before), ("is", change.after)] {
        if let Some(state) = state.filter(|state| state.mode & KIND == LINK) {
            notes.push(format!("{word} a symbolic link to {}", visible(state.bytes)));
        }
    }
    if is_binary {
        notes.push(match (change.before, change.after) {
            (Some(_), Some(_)) if before == after => "binary, content unchanged".to_owned(),
            (Some(_), Some(_)) => {
                format!("binary, {} → {} bytes", format::number(before.len()), format::number(after.len()))
            }
            _ => format!("binary, {} bytes", format::number(before.len().max(after.len()))),
        });
    } else if let (Some(old), Some(new)) = (line_ends(before), line_ends(after))
        && old != new
    {
        notes.push(format!("line endings {old} → {new}"));
    }
    notes
}

fn line_ends(text: &[u8]) -> Option<&'static str> {
    let all = text.iter().filter(|byte| **byte == b'\n').count();
    let wide = text.windows(2).filter(|two| two == b"\r\n").count();
    match (all, wide) {
        (0, _) => None,
        (_, 0) => Some("LF"),
        (all, wide) if all == wide => Some("CRLF"),
        _ => Some("mixed"),
    }
}

/// Lines of a block that belong together on one row: places in the states, and what changed within.
type LinePair = (Option<usize>, Option<usize>, Option<ChangedWords>);
type Kinds = Vec<Vec<(std::ops::Range<usize>, SyntaxToken)>>;

struct Sheet<'a> {
    path: String,
    view: &'a DiffView,
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    tokens: Option<[Tokens; 2]>,
    /// Digits of the largest line number.
    digits: usize,
    /// Every line ends with CR and LF, so that saying it tells nothing.
    hide_cr: bool,
    lines: Vec<DiffLine>,
}

impl<'a> Sheet<'a> {
    fn new(change: &DiffFile<'_>, before: &'a [u8], after: &'a [u8], view: &'a DiffView, lines: Vec<DiffLine>) -> Self {
        let tokens = view.syntax.then(|| {
            let old = Tokens::for_file(change.from.unwrap_or(change.path), before);
            [old, Tokens::for_file(change.path, after)]
        });
        let ends = [line_ends(before), line_ends(after)];
        let (before, after) = (compare::lines(before), compare::lines(after));
        let digits = before.len().max(after.len()).to_string().len();
        let hide_cr = ends.iter().flatten().all(|ends| *ends == "CRLF");
        Self { path: visible(change.path.as_bytes()), view, before, after, tokens, digits, hide_cr, lines }
    }

    fn draw(mut self, blocks: Vec<ChangedBlock>) -> Vec<DiffLine> {
        let hunks = compare::hunks_of(blocks, self.before.len(), compare::CONTEXT);
        let mut at = 0;
        for (place, hunk) in hunks.iter().enumerate() {
            self.skipped(hunk.before.start - at);
            at = hunk.before.end;
            self.head(place + 1, hunks.len(), hunk);
            let kinds = self.kinds(hunk);
            let full = !self.hunk(hunk, &kinds);
            if full || (self.is_full() && place + 1 < hunks.len()) {
                self.left_out(&hunks);
                return self.lines;
            }
        }
        self.skipped(self.before.len() - at);
        self.lines
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= self.view.most_lines
    }

    fn note(&mut self, text: String) {
        let mut line = DiffLine::default();
        line.add(text, DiffRole::Note);
        self.lines.push(line);
    }

    fn skipped(&mut self, lines: usize) {
        if lines > 0 && self.view.heads != HunkHeads::Signs {
            self.note(format!("  … {} …", format::plural(lines, "unchanged line")));
        }
    }

    /// Says how many changed lines are not drawn, and where they are; in rows that fit.
    fn left_out(&mut self, hunks: &[DiffHunk]) {
        let of = |block: &ChangedBlock| block.before.len() + block.after.len();
        let all: usize = hunks.iter().flat_map(|hunk| &hunk.blocks).map(of).sum();
        let has =
            |line: &DiffLine, roles: [DiffRole; 2]| line.spans.iter().any(|span| roles.contains(&span.style.role));
        let drawn = |line: &DiffLine| {
            usize::from(has(line, [DiffRole::Added, DiffRole::AddedWord]))
                + usize::from(has(line, [DiffRole::Removed, DiffRole::RemovedWord]))
        };
        let shown: usize = self.lines.iter().map(drawn).sum();
        let what = match all.saturating_sub(shown) {
            0 => "  … the rest is unchanged.".to_owned(),
            more => format!("  … {}.", format::plural(more, "more changed line")),
        };
        let rest = self.view.rest.clone();
        match what.chars().count() + 1 + rest.chars().count() <= self.view.width {
            true => self.note(format!("{what} {rest}").trim_end().to_owned()),
            false => [what, format!("    {rest}")].into_iter().for_each(|line| self.note(line)),
        }
    }

    fn head(&mut self, number: usize, all: usize, hunk: &DiffHunk) {
        let mut line = DiffLine::default();
        match self.view.heads {
            HunkHeads::Names => line.add(format!("@@ {}:{number} @@", self.path), DiffRole::Hunk),
            HunkHeads::Places => {
                let first = hunk.blocks.first().map_or(hunk.after.start, |block| block.after.start) + 1;
                line.add(format!("hunk {number} of {all} · line {first}"), DiffRole::Hunk);
            }
            HunkHeads::Signs if number == 1 => return,
            HunkHeads::Signs => line.add(format!("{:>width$}", "⋮", width = self.digits), DiffRole::Frame),
        }
        let place = hunk.blocks.first().map_or(hunk.after.start, |block| block.after.start);
        let found = heading(&self.after, place.min(self.after.len())).filter(|found| {
            // What stands in the hunk itself need not be said twice.
            let shown = &self.after[hunk.after.start..place.max(hunk.after.start)];
            !shown.iter().any(|line| visible(line.trim_ascii()).starts_with(found.trim_end_matches('…')))
        });
        if let Some(found) = found {
            line.add(format!(" {found}"), DiffRole::Frame);
        }
        self.lines.push(line);
    }

    fn kinds(&mut self, hunk: &DiffHunk) -> [Kinds; 2] {
        match &mut self.tokens {
            Some([old, new]) => {
                [old.lines(&self.before, hunk.before.clone()), new.lines(&self.after, hunk.after.clone())]
            }
            None => [vec![Vec::new(); hunk.before.len()], vec![Vec::new(); hunk.after.len()]],
        }
    }

    /// Draws a hunk; `false`: it is cut, because there is no room for more.
    fn hunk(&mut self, hunk: &DiffHunk, kinds: &[Kinds; 2]) -> bool {
        let (mut at, mut there) = (hunk.before.start, hunk.after.start);
        for block in &hunk.blocks {
            let same = (at..block.before.start).zip(there..block.after.start);
            if !self.same(same, hunk, kinds) {
                return false;
            }
            let pairs = self.pairs(block);
            let drawn = match self.view.layout {
                Layout::Inline => self.one_below_the_other(pairs, hunk, kinds),
                Layout::SideBySide => self.next_to_each_other(&pairs, hunk, kinds),
            };
            if !drawn {
                return false;
            }
            (at, there) = (block.before.end, block.after.end);
        }
        self.same((at..hunk.before.end).zip(there..hunk.after.end), hunk, kinds)
    }

    fn same(&mut self, places: impl Iterator<Item = (usize, usize)>, hunk: &DiffHunk, kinds: &[Kinds; 2]) -> bool {
        for (old, new) in places {
            if self.is_full() {
                return false;
            }
            let content = self.content(DiffSide::Before, old, hunk, kinds, None, DiffRole::Same, DiffRole::Same);
            match self.view.layout {
                Layout::Inline => self.inline(Some(old), Some(new), ' ', DiffRole::Same, content),
                Layout::SideBySide => {
                    let right = self.content(DiffSide::After, new, hunk, kinds, None, DiffRole::Same, DiffRole::Same);
                    self.side(Some((old, ' ', DiffRole::Same, content)), Some((new, ' ', DiffRole::Same, right)));
                }
            }
        }
        true
    }

    /// Which lines of a block have become which.
    fn pairs(&self, block: &ChangedBlock) -> Vec<LinePair> {
        let text = |line: &'a [u8]| std::str::from_utf8(super::content::clip(line)).unwrap_or_default();
        let old: Vec<&str> = self.before[block.before.clone()].iter().map(|line| text(line)).collect();
        let new: Vec<&str> = self.after[block.after.clone()].iter().map(|line| text(line)).collect();
        let mut rows = Vec::new();
        let (mut at, mut there) = (0, 0);
        let loose = |rows: &mut Vec<LinePair>, from: (usize, usize), to: (usize, usize)| {
            for step in 0..(to.0 - from.0).max(to.1 - from.1) {
                let place =
                    |from: usize, to: usize, start: usize| Some(start + from + step).filter(|_| from + step < to);
                let old = place(from.0, to.0, block.before.start);
                rows.push((old, place(from.1, to.1, block.after.start), None));
            }
        };
        for (a, b) in words::matched(&old, &new) {
            loose(&mut rows, (at, there), (a, b));
            (at, there) = (a + 1, b + 1);
            let (a, b) = (block.before.start + a, block.after.start + b);
            // Words are found only in lines that are drawn.
            let changed = if rows.len() < self.view.most_lines { self.changed(a, b) } else { None };
            rows.push((Some(a), Some(b), changed));
        }
        loose(&mut rows, (at, there), (old.len(), new.len()));
        rows
    }

    fn changed(&self, old: usize, new: usize) -> Option<ChangedWords> {
        super::content::changed(self.text(DiffSide::Before, old), self.text(DiffSide::After, new))
    }

    /// A line without its end, as far as that need not be seen.
    fn text(&self, side: DiffSide, place: usize) -> &'a [u8] {
        let line = match side {
            DiffSide::Before => self.before[place],
            DiffSide::After => self.after[place],
        };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if self.hide_cr { line.strip_suffix(b"\r").unwrap_or(line) } else { line }
    }

    #[expect(clippy::too_many_arguments, reason = "a line, its place and its looks; a struct would be used once")]
    fn content<'k>(
        &self,
        side: DiffSide,
        place: usize,
        hunk: &DiffHunk,
        kinds: &'k [Kinds; 2],
        changed: Option<&'k [std::ops::Range<usize>]>,
        base: DiffRole,
        word: DiffRole,
    ) -> StyledLine<'k>
    where
        'a: 'k,
    {
        let (kinds, lines) = match side {
            DiffSide::Before => (&kinds[0][place - hunk.before.start], &self.before),
            DiffSide::After => (&kinds[1][place - hunk.after.start], &self.after),
        };
        let ends = lines[place].ends_with(b"\n");
        StyledLine { text: self.text(side, place), kinds, changed: changed.unwrap_or_default(), base, word, ends }
    }

    fn one_below_the_other(&mut self, pairs: Vec<LinePair>, hunk: &DiffHunk, kinds: &[Kinds; 2]) -> bool {
        for (old, _, changed) in &pairs {
            let Some(old) = *old else { continue };
            if self.is_full() {
                return false;
            }
            let parts = changed.as_ref().map(|changed| changed.before.as_slice());
            let content =
                self.content(DiffSide::Before, old, hunk, kinds, parts, DiffRole::Removed, DiffRole::RemovedWord);
            self.inline(Some(old), None, '-', DiffRole::Removed, content);
        }
        for (_, new, changed) in &pairs {
            let Some(new) = *new else { continue };
            if self.is_full() {
                return false;
            }
            let parts = changed.as_ref().map(|changed| changed.after.as_slice());
            let content = self.content(DiffSide::After, new, hunk, kinds, parts, DiffRole::Added, DiffRole::AddedWord);
            self.inline(None, Some(new), '+', DiffRole::Added, content);
        }
        true
    }

    fn next_to_each_other(&mut self, pairs: &[LinePair], hunk: &DiffHunk, kinds: &[Kinds; 2]) -> bool {
        for (old, new, changed) in pairs {
            if self.is_full() {
                return false;
            }
            let (gone, come) = (changed.as_ref().map(|one| &*one.before), changed.as_ref().map(|one| &*one.after));
            let left = old.map(|old| {
                let content =
                    self.content(DiffSide::Before, old, hunk, kinds, gone, DiffRole::Removed, DiffRole::RemovedWord);
                (old, '-', DiffRole::Removed, content)
            });
            let right = new.map(|new| {
                let content =
                    self.content(DiffSide::After, new, hunk, kinds, come, DiffRole::Added, DiffRole::AddedWord);
                (new, '+', DiffRole::Added, content)
            });
            self.side(left, right);
        }
        true
    }

    fn number(&self, place: Option<usize>) -> String {
        let text = place.map(|place| (place + 1).to_string()).unwrap_or_default();
        format!("{text:>width$}", width = self.digits)
    }

    fn inline(&mut self, old: Option<usize>, new: Option<usize>, sign: char, role: DiffRole, content: StyledLine<'_>) {
        let room = self.view.width.saturating_sub(2 * self.digits + 4);
        for (row, spans) in content.rows(room).into_iter().enumerate() {
            let mut line = DiffLine::default();
            let shown = |place: Option<usize>| self.number(place.filter(|_| row == 0));
            line.add(format!("{} {} ", shown(old), shown(new)), DiffRole::Frame);
            line.add(format!("{sign} "), role);
            let used: usize = spans.iter().map(|span| span.text.width()).sum();
            spans.into_iter().for_each(|span| line.push(span.text, span.style));
            self.fill(&mut line, room.saturating_sub(used), role);
            self.lines.push(line);
        }
        if !content.ends {
            let gutter = " ".repeat(2 * self.digits + 2);
            self.note(format!("{gutter}{NO_NEWLINE}"));
        }
    }

    /// Carries the ground of a changed line on to the edge.
    fn fill(&self, line: &mut DiffLine, rest: usize, role: DiffRole) {
        if self.view.fills && role != DiffRole::Same {
            line.add(" ".repeat(rest), role);
        }
    }

    fn side(&mut self, left: Option<SideCell<'_>>, right: Option<SideCell<'_>>) {
        let half = (self.view.width.saturating_sub(3)) / 2;
        let room = half.saturating_sub(self.digits + 3);
        let rows = |cell: &Option<SideCell<'_>>| {
            cell.as_ref().map(|(_, _, _, content)| content.rows(room)).unwrap_or_default()
        };
        let (lefts, rights) = (rows(&left), rows(&right));
        for row in 0..lefts.len().max(rights.len()) {
            let mut line = DiffLine::default();
            let mut used = 0;
            if let (Some((place, sign, role, _)), Some(spans)) = (&left, lefts.get(row)) {
                line.add(format!("{} ", self.number(Some(*place).filter(|_| row == 0))), DiffRole::Frame);
                line.add(format!("{sign} "), *role);
                used = self.digits + 3;
                for span in spans {
                    used += span.text.width();
                    line.push(span.text.clone(), span.style);
                }
                line.add(" ".repeat(half.saturating_sub(used)), *role);
                used = used.max(half);
            }
            line.add(format!("{} │ ", " ".repeat(half.saturating_sub(used))), DiffRole::Frame);
            if let (Some((place, sign, role, _)), Some(spans)) = (&right, rights.get(row)) {
                line.add(format!("{} ", self.number(Some(*place).filter(|_| row == 0))), DiffRole::Frame);
                line.add(format!("{sign} "), *role);
                let used: usize = spans.iter().map(|span| span.text.width()).sum();
                spans.iter().for_each(|span| line.push(span.text.clone(), span.style));
                self.fill(&mut line, room.saturating_sub(used), *role);
            }
            self.lines.push(line);
        }
        let open = |cell: &Option<SideCell<'_>>| cell.as_ref().is_some_and(|(_, _, _, content)| !content.ends);
        if open(&left) || open(&right) {
            let text = |is_open: bool| if is_open { NO_NEWLINE } else { "" };
            let shown = format!("{:<half$} │ {}", text(open(&left)), text(open(&right)));
            self.note(shown.trim_end().to_owned());
        }
    }
}

/// A line of one side: its place, its sign and what they look like, its content.
type SideCell<'k> = (usize, char, DiffRole, StyledLine<'k>);
