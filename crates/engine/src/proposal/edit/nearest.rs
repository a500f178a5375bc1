//! Explains why an old side was not found: the most similar place, and the differences.

use std::collections::HashMap;

use super::lines::{is_blank, shown, split_indent, trim_end};
use super::occur::LineMatch;
use super::place::Finder;

/// Lines of the edit that may vote for a place, and lines of the file that each may vote with.
const MOST_VOTERS: usize = 400;
const MOST_VOTES: usize = 40;
/// Lines of the file that a line without a twin is compared with.
const MOST_COMPARED: usize = 20_000;
/// Differences that are shown.
const MOST_SHOWN: usize = 3;

/// A sentence or three about an old side that `finder`'s file does not have.
pub(super) fn explain(name: &str, path: &str, old: &[&[u8]], finder: &Finder<'_>) -> String {
    let file = finder.texts();
    if file.is_empty() {
        return format!("{name} does not fit: {path} is empty.");
    }
    let Some(start) = by_votes(old, file).or_else(|| by_likeness(old, file)) else {
        return format!(
            "{name} does not fit: none of its lines is in {path}, which has {} lines. Read the file again.",
            file.len()
        );
    };
    let mut differences = Vec::new();
    let mut count = 0;
    for (at, line) in old.iter().enumerate() {
        let here = usize::try_from(start + at as isize).ok().and_then(|at| file.get(at));
        if here.is_some_and(|here| trim_end(here) == trim_end(line)) {
            continue;
        }
        count += 1;
        if differences.len() < MOST_SHOWN {
            differences.push(match here {
                Some(here) if LineMatch::Indentation.comparable(here) == LineMatch::Indentation.comparable(line) => {
                    format!(
                        "line {} is indented as {} and not as {}",
                        start + at as isize + 1,
                        shown(split_indent(here).0),
                        shown(split_indent(line).0)
                    )
                }
                Some(here) => format!("line {} is {} and not {}", start + at as isize + 1, shown(here), shown(line)),
                None => format!("there is no line for {}", shown(line)),
            });
        }
    }
    if count > differences.len() {
        differences.push(format!("and {} more lines differ", count - differences.len()));
    }
    format!(
        "{name} does not occur in {path}. The nearest place is line {}, where {} of {} lines agree: {}.",
        start.max(0) + 1,
        old.len() - count,
        old.len(),
        differences.join("; ")
    )
}

/// The place that most lines of the old side speak for.
fn by_votes(old: &[&[u8]], file: &[&[u8]]) -> Option<isize> {
    let mut lines: HashMap<_, Vec<usize>> = HashMap::new();
    for line in old.iter().filter(|line| !is_blank(line)).take(MOST_VOTERS) {
        lines.entry(LineMatch::Indentation.comparable(line)).or_default();
    }
    for (at, line) in file.iter().enumerate() {
        if let Some(places) = lines.get_mut(&LineMatch::Indentation.comparable(line))
            && places.len() < MOST_VOTES
        {
            places.push(at);
        }
    }
    let mut votes: HashMap<isize, usize> = HashMap::new();
    for (at, line) in old.iter().enumerate().take(MOST_VOTERS) {
        for place in lines.get(&LineMatch::Indentation.comparable(line)).into_iter().flatten() {
            *votes.entry(*place as isize - at as isize).or_default() += 1;
        }
    }
    votes.into_iter().max_by_key(|(start, votes)| (*votes, -*start)).map(|(start, _)| start)
}

/// The line that begins and ends most like the first line of the old side, if it does at all.
fn by_likeness(old: &[&[u8]], file: &[&[u8]]) -> Option<isize> {
    let (at, line) = old.iter().enumerate().find(|(_, line)| !is_blank(line))?;
    let line = trimmed(line);
    let likeness = |other: &[u8]| {
        let other = trimmed(other);
        let head = line.iter().zip(other).take_while(|(a, b)| a == b).count();
        let tail = line[head..].iter().rev().zip(other[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        (head + tail, std::cmp::Reverse(other.len()))
    };
    let compared = file.iter().enumerate().take(MOST_COMPARED);
    let (place, (alike, _)) =
        compared.map(|(at, line)| (at, likeness(line))).max_by_key(|(at, like)| (*like, std::cmp::Reverse(*at)))?;
    (alike * 2 > line.len()).then_some(place as isize - at as isize)
}

/// The words of a line, or as much of them as is worth comparing.
fn trimmed(line: &[u8]) -> &[u8] {
    let words = split_indent(trim_end(line)).1;
    &words[..words.len().min(200)]
}
