//! How much changed, in a line per file.

use trimtab_host::compare::LineStats;
use unicode_width::UnicodeWidthStr;

use super::{DiffLine, DiffRole};
use trimtab_vocab::format;

/// Boxes of the bar.
pub(super) const BAR: u64 = 10;

/// `+45 −12`, as git counts: a changed line is one that goes and one that comes.
pub fn counted(stats: LineStats) -> String {
    format!("+{} \u{2212}{}", stats.added, stats.removed)
}

/// `+45 −12` in the colours of a change.
pub(crate) fn counts(line: &mut DiffLine, stats: LineStats) {
    line.add(format!("+{}", stats.added), DiffRole::More);
    line.add(" ", DiffRole::Frame);
    line.add(format!("\u{2212}{}", stats.removed), DiffRole::Less);
}

/// A small bar: of its boxes, what was added and what was removed.
pub(crate) fn bar(line: &mut DiffLine, stats: LineStats, most: u64) {
    let all = stats.added + stats.removed;
    if all == 0 {
        return;
    }
    // A change, however small, has a box; the largest has all of them.
    let boxes = (all * BAR).div_ceil(most.max(all)).clamp(1, BAR);
    let mut plus = (stats.added * boxes + all / 2) / all;
    if boxes > 1 {
        plus = plus.clamp(u64::from(stats.added > 0), boxes - u64::from(stats.removed > 0));
    }
    line.add("+".repeat(plus as usize), DiffRole::More);
    line.add("-".repeat((boxes - plus) as usize), DiffRole::Less);
}

/// A line per file with its counts and a bar, and the total below.
pub fn stat(files: &[(String, LineStats)]) -> Vec<DiffLine> {
    let names: Vec<String> = files.iter().map(|(path, _)| super::visible(path.as_bytes())).collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0).min(80);
    let most = files.iter().map(|(_, one)| one.added + one.removed).max().unwrap_or(0).max(BAR);
    let numbers = files.iter().map(|(_, one)| counted(*one).width()).max().unwrap_or(0);
    let mut total = LineStats::default();
    let mut lines = Vec::new();
    for (name, (_, one)) in names.iter().zip(files) {
        total.added += one.added;
        total.removed += one.removed;
        let mut line = DiffLine::default();
        line.add(format!("{name}{}", " ".repeat(widest.saturating_sub(name.width()) + 2)), DiffRole::Same);
        counts(&mut line, *one);
        if one.added + one.removed > 0 {
            line.add(" ".repeat(numbers - counted(*one).width() + 2), DiffRole::Frame);
            bar(&mut line, *one, most);
        }
        lines.push(line);
    }
    let mut line = DiffLine::default();
    line.add(format!("{}  ", format::plural(files.len(), "file")), DiffRole::Title);
    counts(&mut line, total);
    lines.push(line);
    lines
}
