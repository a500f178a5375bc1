//! Changes of files as the terminal UI draws them.

use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::diff::LoadedDiff;
use crate::diff::{DiffRole, DiffView, HunkHeads, Layout, draw};
use trimtab_vocab::format;

/// The rows of several changed files, at most `most` of them; `rest` says where the others are.
pub(super) fn rows(
    files: &[LoadedDiff],
    width: usize,
    layout: Option<Layout>,
    theme: &Theme,
    most: usize,
    rest: &str,
) -> Vec<Line<'static>> {
    let layout = DiffView::layout_for(width, layout);
    let mut rows: Vec<Line<'static>> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            rows.push(Line::default());
        }
        let left = most.saturating_sub(rows.len());
        if left == 0 {
            let more = format::plural(files.len() - at, "more file");
            let mut line = crate::diff::DiffLine::default();
            line.add(format!("… {more}. {rest}"), DiffRole::Note);
            rows.push(styled(&line, theme, 0));
            break;
        }
        let heads = HunkHeads::Signs;
        let view =
            DiffView { width, layout, syntax: true, most_lines: left, rest: rest.to_owned(), heads, fills: true };
        rows.extend(draw(&file.change(), &view).iter().map(|line| styled(line, theme, 0)));
    }
    rows
}

/// The first rows of a change, under the line of the tool that made it.
pub(super) fn glimpse(files: &[LoadedDiff], width: usize, theme: &Theme, most: usize) -> Vec<Line<'static>> {
    let rest = "ctrl-o shows all of it.";
    let mut drawn = rows(files, width.saturating_sub(2), Some(Layout::Inline), theme, most, rest);
    if files.len() == 1 && drawn.len() > 1 {
        // The line above names the file already.
        drawn.remove(0);
    }
    for row in &mut drawn {
        row.spans.insert(0, Span::raw("  "));
    }
    drawn
}

fn styled(line: &crate::diff::DiffLine, theme: &Theme, indent: usize) -> Line<'static> {
    let spans = line.spans.iter().map(|span| Span::styled(span.text.clone(), theme.diff(span.style)));
    let blank = (indent > 0).then(|| Span::raw(" ".repeat(indent)));
    Line::from(blank.into_iter().chain(spans).collect::<Vec<_>>())
}

/// A row of a change, and which hunk it belongs to.
#[derive(Debug, Clone)]
pub(super) struct DiffRow {
    pub(super) line: Line<'static>,
    pub(super) path: String,
    /// The hunk, counted over all files from 0.
    pub(super) hunk: Option<usize>,
    /// Its number within the file, from 1.
    pub(super) number: u32,
    /// It is the first row of its hunk.
    pub(super) is_head: bool,
}

/// All rows of several changed files, hunk by hunk.
pub(super) fn hunks(files: &[LoadedDiff], width: usize, theme: &Theme) -> Vec<DiffRow> {
    let layout = DiffView::layout_for(width, None);
    let mut rows = Vec::new();
    let mut hunk = 0;
    for file in files {
        let change = file.change();
        let (most_lines, rest, heads) = (usize::MAX, String::new(), HunkHeads::Places);
        let view = DiffView { width, layout, syntax: true, most_lines, rest, heads, fills: true };
        let mut number = 0;
        for line in draw(&change, &view) {
            let is_head = line.spans.first().is_some_and(|span| span.style.role == DiffRole::Hunk);
            if is_head {
                (hunk, number) = (hunk + 1, number + 1);
            }
            let (path, within) = (change.path.to_owned(), (number > 0).then(|| hunk - 1));
            rows.push(DiffRow { line: styled(&line, theme, 0), path, hunk: within, number, is_head });
        }
    }
    rows
}
