//! Finds a run of lines in a file, in linear time even for repetitive files.

use std::borrow::Cow;
use std::collections::HashMap;

use super::lines::{split_indent, trim_end};

/// What of a line counts when lines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineMatch {
    /// Every byte.
    Exact,
    /// All but white space at the end.
    TrailingBlanks,
    /// All but white space at the end and indentation.
    Indentation,
    /// The words: a run of blanks with or without tabs counts as one blank.
    Tabs,
}

impl LineMatch {
    /// The part of the line that counts.
    pub(super) fn comparable<'a>(self, line: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            LineMatch::Exact => Cow::Borrowed(line),
            LineMatch::TrailingBlanks => Cow::Borrowed(trim_end(line)),
            LineMatch::Indentation => Cow::Borrowed(split_indent(trim_end(line)).1),
            LineMatch::Tabs => collapse(split_indent(trim_end(line)).1),
        }
    }
}

fn collapse(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\t') && !text.windows(2).any(|pair| pair == b"  ") {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b' ' | b'\t' if out.last() == Some(&b' ') => {}
            b' ' | b'\t' => out.push(b' '),
            other => out.push(*other),
        }
    }
    Cow::Owned(out)
}

/// The lines of a file under one view, each as a number: equal numbers, equal lines.
pub(super) struct Index<'a> {
    view: LineMatch,
    numbers: HashMap<Cow<'a, [u8]>, u32>,
    lines: Vec<u32>,
    /// The places of all lines, sorted by number, and where those of each number begin.
    places: Vec<usize>,
    begins: Vec<usize>,
}

/// The number of a line that the file does not have.
const UNKNOWN: u32 = u32::MAX;

impl<'a> Index<'a> {
    pub(super) fn new(view: LineMatch, file: &[&'a [u8]]) -> Self {
        let mut numbers = HashMap::new();
        let mut lines = Vec::with_capacity(file.len());
        for line in file {
            let next = u32::try_from(numbers.len()).unwrap_or(UNKNOWN - 1);
            lines.push(*numbers.entry(view.comparable(line)).or_insert(next));
        }
        let mut begins = vec![0; numbers.len() + 1];
        for line in &lines {
            begins[*line as usize + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let mut places = vec![0; lines.len()];
        let mut next = begins.clone();
        for (at, line) in lines.iter().enumerate() {
            places[next[*line as usize]] = at;
            next[*line as usize] += 1;
        }
        Index { view, numbers, lines, places, begins }
    }

    /// Where a line stands, first place first.
    fn places_of(&self, number: u32) -> &[usize] {
        let at = number as usize;
        match (self.begins.get(at), self.begins.get(at.saturating_add(1))) {
            (Some(from), Some(to)) => &self.places[*from..*to],
            _ => &[],
        }
    }

    fn number(&self, line: &[u8]) -> u32 {
        self.numbers.get(&*self.view.comparable(line)).copied().unwrap_or(UNKNOWN)
    }

    /// All places at which `wanted` begins, overlapping ones too. Where its rarest line is rare, the
    /// places of that are tried, so that many hunks do not each walk the file; else the file is walked
    /// once (Knuth, Morris and Pratt), since trying could take forever where lines repeat.
    pub(super) fn places(&self, wanted: &[&[u8]]) -> Vec<usize> {
        let wanted: Vec<u32> = wanted.iter().map(|line| self.number(line)).collect();
        if wanted.is_empty() || wanted.len() > self.lines.len() || wanted.contains(&UNKNOWN) {
            return Vec::new();
        }
        let rarest = wanted.iter().enumerate().map(|(at, line)| (at, self.places_of(*line)));
        if let Some((anchor, places)) = rarest.min_by_key(|(_, places)| places.len())
            && places.len().saturating_mul(wanted.len()) <= self.lines.len().max(64)
        {
            let starts = places.iter().filter_map(|place| place.checked_sub(anchor));
            return starts.filter(|start| self.lines[*start..].starts_with(&wanted)).collect();
        }
        let border = borders(&wanted);
        let mut places = Vec::new();
        let mut matched = 0;
        for (at, line) in self.lines.iter().enumerate() {
            while matched > 0 && (matched == wanted.len() || wanted[matched] != *line) {
                matched = border[matched - 1];
            }
            if wanted[matched] == *line {
                matched += 1;
            }
            if matched == wanted.len() {
                places.push(at + 1 - wanted.len());
            }
        }
        places
    }
}

/// For each prefix, the length of its longest proper border.
fn borders(wanted: &[u32]) -> Vec<usize> {
    let mut border = vec![0; wanted.len()];
    let mut matched = 0;
    for at in 1..wanted.len() {
        while matched > 0 && wanted[matched] != wanted[at] {
            matched = border[matched - 1];
        }
        if wanted[matched] == wanted[at] {
            matched += 1;
        }
        border[at] = matched;
    }
    border
}

/// All places at which each line is one of its alternatives, ignoring trailing white space if `view` says so. Starts
/// from the rarest line; `None` if that takes too long.
pub(super) fn places_of_alternatives(
    view: LineMatch,
    file: &[&[u8]],
    wanted: &[(&[u8], Option<&[u8]>)],
) -> Option<Vec<usize>> {
    const MOST_STEPS: usize = 4_000_000;
    let index = Index::new(view, file);
    let wanted: Vec<(u32, u32)> = wanted
        .iter()
        .map(|(line, other)| (index.number(line), other.map_or(UNKNOWN, |other| index.number(other))))
        .collect();
    let count = |number: u32| index.places_of(number).len();
    let Some((anchor, (one, other))) =
        wanted.iter().copied().enumerate().min_by_key(|(_, (one, other))| count(*one) + count(*other))
    else {
        return Some(Vec::new());
    };
    let mut steps = 0;
    let mut places = Vec::new();
    for (at, line) in index.lines.iter().enumerate() {
        if (*line != one && *line != other) || at < anchor || at - anchor + wanted.len() > file.len() {
            continue;
        }
        let start = at - anchor;
        let fits = wanted.iter().zip(&index.lines[start..]).all(|((one, other), line)| {
            steps += 1;
            line == one || line == other
        });
        if fits {
            places.push(start);
        }
        if steps > MOST_STEPS {
            return None;
        }
    }
    Some(places)
}
