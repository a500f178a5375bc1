//! Finds the one place where a hunk fits.
//!
//! Looser comparisons are tried only when stricter ones find nothing: every byte, then all but trailing white space,
//! then all but a uniform difference in indentation, then tabs inside lines. If a comparison finds several places,
//! the line number may choose one of them; no looser comparison follows.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::anchor::Budget;
use super::gaps::{self, Packed};
use super::hunk::{Op, PatchHunk};
use super::indent::Reindent;
use super::lines::{TextLines, is_blank, shown, split_indent, trim_end};
use super::occur::{Index, LineMatch, places_of_alternatives};
use super::{EditRefusal, RefusalKind, joined, nearest};

/// The place of a hunk, and what it adds there.
#[derive(Debug)]
pub(super) struct Placed<'t> {
    /// The first line of the old side.
    pub(super) start: usize,
    /// The added lines, in the file's style.
    pub(super) added: Vec<Vec<u8>>,
    /// The hunk with the file's blank lines.
    pub(super) aligned: Option<PatchHunk<'t>>,
}

/// Finds places in one file.
pub(super) struct Finder<'f> {
    path: &'f str,
    texts: Vec<&'f [u8]>,
    lacks_final_newline: bool,
    /// The edit names this file as the old one, so that line 0 means its top and not a new file.
    pub(super) old_file_named: bool,
    indexes: [OnceCell<Index<'f>>; 4],
    packed: OnceCell<Packed<'f>>,
    pub(super) budget: Budget,
}

/// Comparing candidates under the looser views takes no more steps than this in all.
const MOST_STEPS: usize = 2_000_000;
/// How many places a refusal lists, and how many are therefore looked for at most.
const MOST_PLACES: usize = 6;

impl<'f> Finder<'f> {
    pub(super) fn new(path: &'f str, file: &TextLines<'f>) -> Self {
        Finder {
            path,
            texts: file.texts(),
            lacks_final_newline: !file.lines.is_empty() && !file.ends_with_newline(),
            old_file_named: false,
            indexes: Default::default(),
            packed: OnceCell::new(),
            budget: Budget::default(),
        }
    }

    pub(super) fn index(&self, view: LineMatch) -> &Index<'f> {
        self.indexes[view as usize].get_or_init(|| Index::new(view, &self.texts))
    }

    pub(super) fn path(&self) -> &'f str {
        self.path
    }

    pub(super) fn texts(&self) -> &[&'f [u8]] {
        &self.texts
    }

    /// The place for `hunk`, called `name` in refusals. `shift` is by how many lines the hunks
    /// before it lengthen the file.
    pub(super) fn place<'t>(&self, name: &str, hunk: &PatchHunk<'t>, shift: isize) -> Result<Placed<'t>, EditRefusal> {
        let old: Vec<&[u8]> = hunk.old().map(|line| line.text).collect();
        if old.is_empty() {
            let start = self.insertion(name, hunk, shift)?;
            return self.verbatim(name, hunk, start);
        }
        let views = [LineMatch::Exact, LineMatch::TrailingBlanks];
        for view in views {
            let places = if hunk.markers_missing {
                self.without_markers(name, view, hunk)?
            } else {
                self.index(view).places(&old)
            };
            if let Some(start) = self.choose(name, hunk, &places)? {
                if view != LineMatch::Exact && hunk.changes() {
                    self.refuse_if_done(name, hunk, start)?;
                }
                return self.verbatim(name, hunk, start);
            }
        }
        if hunk.markers_missing {
            return Err(self.not_found(name, hunk, &old));
        }
        let markers_left_out = if hunk.lines.iter().any(|line| line.unmarked.is_some()) {
            self.without_markers(name, LineMatch::TrailingBlanks, hunk)?
        } else {
            Vec::new()
        };
        for view in [LineMatch::Indentation, LineMatch::Tabs] {
            let places = self.uniform(name, view, hunk, &old)?;
            if places.is_empty() {
                continue;
            }
            if !markers_left_out.is_empty() {
                let reason = format!(
                    "{name} can be read in two ways: with other indentation than {} has, or with context lines that \
                     lack the blank in front. Give every context line its blank, and the lines as they are in the file.",
                    self.path
                );
                return Err(EditRefusal::new(RefusalKind::Ambiguous, reason));
            }
            let Some(start) = self.choose(name, hunk, &places)? else { continue };
            self.refuse_if_done(name, hunk, start)?;
            return self.restyled(name, hunk, start, &old);
        }
        match self.choose(name, hunk, &markers_left_out)? {
            Some(start) => self.verbatim(name, hunk, start),
            None => self.over_blank_lines(name, hunk)?.ok_or_else(|| self.not_found(name, hunk, &old)),
        }
    }

    /// The place of a hunk whose context has other blank lines than the file, if there is only one.
    fn over_blank_lines<'t>(&self, name: &str, hunk: &PatchHunk<'t>) -> Result<Option<Placed<'t>>, EditRefusal> {
        let packed = self.packed.get_or_init(|| Packed::new(&self.texts));
        let [lines] = packed.places(hunk)[..] else { return Ok(None) };
        let Some((aligned, start)) = gaps::aligned(hunk, lines, &self.texts) else { return Ok(None) };
        self.bound(name, &aligned, &[start])?;
        let placed = self.verbatim(name, &aligned, start)?;
        Ok(Some(Placed { aligned: Some(aligned), ..placed }))
    }

    /// Where a hunk without an old side goes: only a line number, an anchor or the end of the file can say.
    fn insertion(&self, name: &str, hunk: &PatchHunk<'_>, shift: isize) -> Result<usize, EditRefusal> {
        if self.texts.is_empty() {
            return Ok(0);
        }
        let anchored = self.after_anchor(name, hunk)?;
        if hunk.at_end || (hunk.appends && hunk.anchors.is_empty() && hunk.numbers.is_none()) {
            return Ok(self.texts.len());
        }
        if let Some(start) = anchored {
            return Ok(start);
        }
        let after = hunk.numbers.filter(|numbers| numbers.old_count == Some(0)).and_then(|numbers| {
            let agrees = numbers
                .new
                .is_none_or(|new| new == numbers.old + 1 || Some(new) == (numbers.old + 1).checked_add_signed(shift));
            let meant = numbers.old > 0 || self.old_file_named;
            (agrees && meant && numbers.old <= self.texts.len()).then_some(numbers.old)
        });
        after.ok_or_else(|| {
            let reason = format!(
                "{name} adds lines but has no line of {} that would say where. Add the lines before and after it as \
                 context, or give the place as `@@ -N,0 +N+1,count @@` (after line N of {}).",
                self.path,
                self.texts.len()
            );
            EditRefusal::new(RefusalKind::EmptySearch, reason)
        })
    }

    /// One of the places that fit, if there are any: the only one, or the one that the line number
    /// names, or the one at the end if the old side says that it ends the file.
    fn choose(&self, name: &str, hunk: &PatchHunk<'_>, places: &[usize]) -> Result<Option<usize>, EditRefusal> {
        let places = &self.bound(name, hunk, places)?[..];
        if let [] | [_] = places {
            return Ok(places.first().copied());
        }
        if !hunk.changes() {
            return Ok(places.first().copied());
        }
        if let Some(named) = hunk.named().filter(|named| places.contains(named)) {
            return Ok(Some(named));
        }
        let at_end = self.texts.len() - hunk.old_len();
        let says_end = self.lacks_final_newline && hunk.old().last().is_some_and(|line| line.no_newline);
        if says_end && places.contains(&at_end) {
            return Ok(Some(at_end));
        }
        let mut listed: Vec<String> =
            places.iter().take(MOST_PLACES - 1).map(|place| (place + 1).to_string()).collect();
        let last = match places.len().cmp(&MOST_PLACES) {
            std::cmp::Ordering::Less => listed.pop().unwrap_or_default(),
            _ => "more".to_owned(),
        };
        let how =
            if hunk.has_markers { "add more context, or the right line number" } else { "add more lines around it" };
        let reason = format!("{name} fits at lines {} and {last} of {}: {how}.", listed.join(", "), self.path);
        Err(EditRefusal::new(RefusalKind::Ambiguous, reason))
    }

    /// Places where context lines fit with or without their first blank. What is written does not
    /// depend on which of the two it is, since context is never written.
    fn without_markers(&self, name: &str, view: LineMatch, hunk: &PatchHunk<'_>) -> Result<Vec<usize>, EditRefusal> {
        let wanted: Vec<_> = hunk.old().map(|line| (line.text, line.unmarked)).collect();
        places_of_alternatives(view, &self.texts, &wanted).ok_or_else(|| self.too_repetitive(name))
    }

    /// Places where the lines fit under a loose view and differ in a way that is uniform.
    fn uniform(
        &self,
        name: &str,
        view: LineMatch,
        hunk: &PatchHunk<'_>,
        old: &[&[u8]],
    ) -> Result<Vec<usize>, EditRefusal> {
        let mut places = self.index(view).places(old);
        if let Some(at) = hunk.named().and_then(|named| places.iter().position(|place| *place == named)) {
            places.swap(0, at);
        }
        let removes = hunk.lines.iter().any(|line| line.op == Op::Remove && !is_blank(line.text));
        let mut fits = Vec::new();
        let mut steps = 0;
        for start in places {
            steps += old.len();
            if steps > MOST_STEPS {
                return Err(self.too_repetitive(name));
            }
            let Some(indent) = Reindent::between(&self.indents(old, start)) else { continue };
            let marker_in_doubt = hunk.has_markers && !removes && indent.is_one_blank();
            let inside =
                view != LineMatch::Tabs || self.pairs(old, start).all(|(edit, file)| only_tabs_differ(edit, file));
            if !marker_in_doubt && inside {
                fits.push(start);
                // Where an anchor chooses, all places have to be known.
                let is_enough = fits.len() >= MOST_PLACES && hunk.anchors.is_empty() && !hunk.at_end;
                if is_enough || hunk.named() == Some(start) {
                    break;
                }
            }
        }
        fits.sort_unstable();
        Ok(fits)
    }

    fn pairs<'o>(&self, old: &[&'o [u8]], start: usize) -> impl Iterator<Item = (&'o [u8], &'f [u8])> {
        old.iter().copied().zip(self.texts[start..].iter().copied()).filter(|(edit, _)| !is_blank(edit))
    }

    fn indents<'o>(&self, old: &[&'o [u8]], start: usize) -> Vec<(&'o [u8], &'o [u8])>
    where
        'f: 'o,
    {
        self.pairs(old, start).map(|(edit, file)| (split_indent(edit).0, split_indent(file).0)).collect()
    }

    /// The added lines as written.
    fn verbatim<'t>(&self, name: &str, hunk: &PatchHunk<'t>, start: usize) -> Result<Placed<'t>, EditRefusal> {
        self.refuse_if_repeated(name, hunk, start)?;
        joined::refuse_added(name, hunk, &self.texts, start)?;
        Ok(Placed { start, added: hunk.added().map(<[u8]>::to_vec).collect(), aligned: None })
    }

    /// The added lines in the file's indentation, if that is certain for each of them.
    fn restyled<'t>(
        &self,
        name: &str,
        hunk: &PatchHunk<'t>,
        start: usize,
        old: &[&[u8]],
    ) -> Result<Placed<'t>, EditRefusal> {
        let indents = self.indents(old, start);
        let unsure = |line: &[u8]| {
            let reason = format!(
                "{name} fits at line {} of {}, but its indentation is not the file's, and it is not certain which one \
                 this added line should have: {}. Give the lines with the indentation that they have in the file.",
                start + 1,
                self.path,
                shown(line)
            );
            EditRefusal::new(RefusalKind::Indentation, reason)
        };
        let Some(mut indent) = Reindent::between(&indents) else { return Err(unsure(b"")) };
        indent.settle(
            hunk.added().filter(|line| !is_blank(line)).map(|line| split_indent(line).0),
            self.texts.iter().filter(|line| !is_blank(line)).map(|line| split_indent(line).0),
        );
        if let Some(line) = in_doubt(hunk) {
            return Err(unsure(line));
        }
        let runs = SpaceRuns::between(self.pairs(old, start));
        let mut added = Vec::new();
        for line in hunk.added() {
            let (own, rest) = split_indent(line);
            if is_blank(line) {
                added.push(line.to_vec());
                continue;
            }
            let mut whole = indent.map(own).ok_or_else(|| unsure(line))?;
            whole.extend(runs.map(rest).ok_or_else(|| unsure(line))?);
            added.push(whole);
        }
        joined::refuse_added(name, hunk, &self.texts, start)?;
        Ok(Placed { start, added, aligned: None })
    }

    /// Refuses if the lines at the place are the new side to the byte, although the old side fits
    /// them too, white space apart: then the edit is about white space, and is done.
    fn refuse_if_done(&self, name: &str, hunk: &PatchHunk<'_>, start: usize) -> Result<(), EditRefusal> {
        let mut new = hunk.new_side().map(|line| line.text);
        let mut here = self.texts[start..].iter();
        let mut some = false;
        let done = new.all(|line| {
            some = true;
            here.next() == Some(&line)
        });
        if done && some { Err(self.done(name, start)) } else { Ok(()) }
    }

    /// Refuses an addition at the edge of its context if the same lines are there: it was applied before. Lines
    /// without a letter or digit do not count, because a brace may be repeated.
    fn refuse_if_repeated(&self, name: &str, hunk: &PatchHunk<'_>, start: usize) -> Result<(), EditRefusal> {
        let only_adds = hunk.changes() && hunk.lines.iter().all(|line| line.op != Op::Remove);
        let telling = hunk.added().any(|line| line.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80));
        if !only_adds || !telling {
            return Ok(());
        }
        let lead = hunk.lines.iter().take_while(|line| line.op == Op::Add).count();
        let stands_at = |from: usize| {
            let mut here = self.texts[from..].iter();
            hunk.new_side().all(|line| here.next().is_some_and(|file| trim_end(file) == trim_end(line.text)))
        };
        let before = start.checked_sub(lead).filter(|_| lead > 0);
        match [Some(start), before].into_iter().flatten().find(|from| stands_at(*from)) {
            Some(from) => Err(self.done(name, from)),
            None => Ok(()),
        }
    }

    fn done(&self, name: &str, start: usize) -> EditRefusal {
        let reason = format!("{name} is already applied: {} has its new lines at line {}.", self.path, start + 1);
        EditRefusal::new(RefusalKind::AlreadyApplied, reason)
    }

    fn too_repetitive(&self, name: &str) -> EditRefusal {
        let reason = format!(
            "{name} could be at too many places of {} to compare them all. Add lines around it that are only there.",
            self.path
        );
        EditRefusal::new(RefusalKind::Ambiguous, reason)
    }

    fn not_found(&self, name: &str, hunk: &PatchHunk<'_>, old: &[&[u8]]) -> EditRefusal {
        if let Some(refusal) = joined::in_removed(name, hunk, self) {
            return refusal;
        }
        let new: Vec<&[u8]> = hunk.new_side().map(|line| line.text).collect();
        if hunk.changes()
            && new.iter().any(|line| !is_blank(line))
            && let Some(start) = self.index(LineMatch::TrailingBlanks).places(&new).first()
        {
            let reason = format!(
                "{name} may be applied already: its old lines are not in {}, but its new ones are, at line {}.",
                self.path,
                start + 1
            );
            return EditRefusal::new(RefusalKind::AlreadyApplied, reason);
        }
        EditRefusal::new(RefusalKind::NotFound, nearest::explain(name, self.path, old, self))
    }
}

/// The first added line, if it is indented otherwise than the first line that it replaces and no
/// context shows how the two belong together. It may then have the file's own indentation, which
/// another mapping would spoil.
fn in_doubt<'t>(hunk: &PatchHunk<'t>) -> Option<&'t [u8]> {
    if hunk.lines.iter().any(|line| line.op == Op::Keep && !is_blank(line.text)) {
        return None;
    }
    let first_old = hunk.old().find(|line| !is_blank(line.text))?.text;
    let first = hunk.added().find(|line| !is_blank(line))?;
    (split_indent(first).0 != split_indent(first_old).0).then_some(first)
}

/// Whether two lines differ only in that blanks of one are tabs of the other.
fn only_tabs_differ(edit: &[u8], file: &[u8]) -> bool {
    let (edit, file) = (pieces(edit), pieces(file));
    edit.len() == file.len()
        && edit.iter().zip(&file).all(|(edit, file)| edit == file || edit.contains(&b'\t') != file.contains(&b'\t'))
}

/// A line behind its indentation, cut where white space begins and ends.
fn pieces(line: &[u8]) -> Vec<&[u8]> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    split_indent(trim_end(line)).1.chunk_by(|a, b| blank(a) == blank(b)).collect()
}

/// How white space inside lines of the edit becomes the file's.
struct SpaceRuns<'e, 'f>(HashMap<&'e [u8], Option<&'f [u8]>>);

impl<'e, 'f> SpaceRuns<'e, 'f> {
    fn between(pairs: impl Iterator<Item = (&'e [u8], &'f [u8])>) -> Self {
        let mut runs: HashMap<&'e [u8], Option<&'f [u8]>> = HashMap::new();
        for (edit, file) in pairs {
            for (edit, file) in pieces(edit).into_iter().zip(pieces(file)) {
                let known = runs.entry(edit).or_insert(Some(file));
                if *known != Some(file) {
                    *known = None;
                }
            }
        }
        SpaceRuns(runs)
    }

    /// The text with the file's white space; `None` if a run of it is unknown or ambiguous. If no tabs differ, the
    /// text stays unchanged.
    fn map(&self, text: &[u8]) -> Option<Vec<u8>> {
        if self.0.iter().all(|(edit, file)| Some(*edit) == *file) {
            return Some(text.to_vec());
        }
        let end = trim_end(text).len();
        let mut out = Vec::with_capacity(text.len());
        for piece in pieces(text) {
            let is_space = piece.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
            match self.0.get(piece) {
                _ if !is_space => out.extend_from_slice(piece),
                Some(file) => out.extend_from_slice((*file)?),
                None if piece == b" " => out.extend_from_slice(piece),
                None => return None,
            }
        }
        out.extend_from_slice(&text[end..]);
        Some(out)
    }
}
