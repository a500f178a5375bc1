//! Search blocks: the text to find between one pair of markers, its replacement between the next.

use super::super::edit::{Edit, SearchReplace};
use super::super::fences::ReplyFence;
use super::{NamedPaths, TextEdits, Uncertainty};

/// Whether a line is a mark: at least five of its sign, and its word, if it has one.
fn is_mark(line: &str, sign: char, word: &str) -> bool {
    let line = line.trim_end();
    let count = line.chars().take_while(|c| *c == sign).count();
    count >= 5 && line[count..].trim().eq_ignore_ascii_case(word)
}

fn is_search(line: &str) -> bool {
    is_mark(line, '<', "SEARCH") || is_mark(line, '<', "ORIGINAL")
}

fn is_replace(line: &str) -> bool {
    is_mark(line, '>', "REPLACE") || is_mark(line, '>', "UPDATED")
}

/// Whether a text has a search block.
pub(super) fn is_block(text: &str) -> bool {
    text.lines().any(is_search)
}

/// The blocks of a text, each with the file that the line before it names; none if one of them is damaged.
fn blocks_in(text: &str, names: NamedPaths<'_>) -> Option<Vec<(Option<String>, SearchReplace)>> {
    enum Side {
        Outside,
        Search,
        Replace,
    }
    let mut found = Vec::new();
    let (mut side, mut path, mut search, mut replace) = (Side::Outside, None, String::new(), String::new());
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        match side {
            Side::Outside if is_search(bare) => side = Side::Search,
            Side::Outside if bare.trim().is_empty() => {}
            Side::Outside => {
                let name = bare.trim().trim_matches(['*', '`', '#', ' ', ':']);
                path = names.path(name);
                if path.is_none() && (is_replace(bare) || is_mark(bare, '=', "")) {
                    return None;
                }
            }
            Side::Search if is_mark(bare, '=', "") => side = Side::Replace,
            Side::Search | Side::Replace if is_search(bare) => return None,
            Side::Search if is_replace(bare) => return None,
            Side::Search => search.push_str(line),
            Side::Replace if is_replace(bare) => {
                let block =
                    SearchReplace { search: std::mem::take(&mut search), replace: std::mem::take(&mut replace) };
                found.push((path.clone(), block));
                side = Side::Outside;
            }
            Side::Replace => replace.push_str(line),
        }
    }
    matches!(side, Side::Outside).then_some(found)
}

/// The blocks of a fence.
pub(super) fn fenced(fence: &ReplyFence<'_>, path: Option<String>, names: NamedPaths<'_>, read: &mut TextEdits) {
    let path = path.or_else(|| names.only());
    let Some(blocks) = blocks_in(&fence.body, names) else {
        return read.leave(path, Uncertainty::Damaged);
    };
    place(blocks, path, fence.range.clone(), read);
}

/// Blocks outside of fences.
pub(super) fn outside(text: &str, fences: &[ReplyFence<'_>], names: NamedPaths<'_>, read: &mut TextEdits) {
    let mut at = 0;
    let pieces = fences.iter().map(|fence| fence.range.clone()).chain(std::iter::once(text.len()..text.len()));
    for fence in pieces {
        let (start, piece) = (at, &text[at..fence.start]);
        at = fence.end;
        let lines = || piece.split_inclusive('\n');
        let Some(first) = lines().position(is_search) else { continue };
        // The line before the first mark may name the file.
        let skipped: usize = lines().take(first.saturating_sub(1)).map(str::len).sum();
        let last = lines().enumerate().filter(|(_, line)| is_replace(line)).map(|(number, _)| number + 1).last();
        let end: usize = lines().take(last.unwrap_or(usize::MAX)).map(str::len).sum();
        match blocks_in(piece.get(skipped..end).unwrap_or_default(), names) {
            Some(blocks) => place(blocks, names.only(), start + skipped..start + end, read),
            None => read.leave(names.only(), Uncertainty::Damaged),
        }
    }
}

fn place(
    blocks: Vec<(Option<String>, SearchReplace)>,
    fallback: Option<String>,
    range: std::ops::Range<usize>,
    read: &mut TextEdits,
) {
    let mut path = fallback;
    for (own, block) in blocks {
        path = own.or(path);
        let Some(path) = path.clone() else {
            read.leave(None, Uncertainty::NoPath);
            continue;
        };
        let edit = match block.search.trim().is_empty() {
            // A replacement without a search text is a new file; an existing one is not replaced.
            true => Edit::UnifiedDiff { diff: new_file(&path, &block.replace), path },
            false => Edit::SearchReplace { path, blocks: vec![block] },
        };
        read.push(edit, range.clone());
    }
}

fn new_file(path: &str, text: &str) -> String {
    let count = text.lines().count();
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{lines}")
}
