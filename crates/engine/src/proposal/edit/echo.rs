//! Detects examples from our prompts, and placeholders for a text, sent back as the text of a file. Small models do
//! this; written to a file, they would replace a program by its description.

use super::{Edit, EditRefusal, RefusalKind, SearchReplace};

/// What the examples in our prompts hold in place of a text. A test reads the prompts, so that an example cannot be
/// added without its words being here.
const EXAMPLES: [&str; 5] =
    ["the whole new file", "a unified diff", "what you say to the user", "what it comes to", "\u{2026}"];

/// Other placeholders for the text of a file.
const STAND_INS: [&str; 14] = [
    "...",
    "your code here",
    "your content here",
    "code goes here",
    "content goes here",
    "insert code here",
    "insert content here",
    "file content here",
    "file contents here",
    "the whole file",
    "whole new file",
    "the full file content",
    "the complete file content",
    "the new file content",
];

/// Placeholders in brackets: `<content>`, `{file_content}`.
const IN_BRACKETS: [&str; 12] = [
    "content",
    "contents",
    "code",
    "text",
    "file",
    "file content",
    "file contents",
    "new content",
    "new file content",
    "path",
    "file path",
    "filename",
];

/// Whether a text is only a placeholder.
pub fn is_placeholder(text: &str) -> bool {
    const LONGEST: usize = 80;
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return false;
    }
    let bare =
        text.trim_start_matches("<!--").trim_end_matches("-->").trim_start_matches(['#', '/', '*', ';', '%', ' ']);
    let bare = bare.trim_end_matches(['*', '/', ' ']).trim_matches(['"', '\'', '`', '(', ')']).trim();
    let plain = bare.to_lowercase().replace(['_', '-'], " ");
    let is_listed = |words: &str| EXAMPLES.contains(&words) || STAND_INS.contains(&words);
    let inside = |open: char, close: char| plain.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let brackets = [('<', '>'), ('[', ']'), ('{', '}')];
    is_listed(plain.trim_end_matches(['.', '!']))
        || is_listed(&plain)
        || brackets.iter().filter_map(|(open, close)| inside(*open, *close)).any(|inner| {
            let inner = inner.trim().trim_matches(['{', '}']).trim();
            is_listed(inner) || IN_BRACKETS.contains(&inner)
        })
}

/// Refuses an edit whose text or path is only a placeholder.
pub(super) fn refuse(edit: &Edit) -> Result<(), EditRefusal> {
    let (path, texts): (&str, Vec<&str>) = match edit {
        Edit::WholeFile { path, content } => (path, vec![content]),
        Edit::UnifiedDiff { path, diff } => (path, vec![diff]),
        Edit::SearchReplace { path, blocks } => {
            // Dots may be the body of a function; `elision` judges them.
            let is_dots = |text: &str| matches!(text, "..." | "\u{2026}");
            let is_new =
                |block: &&SearchReplace| !is_dots(block.replace.trim()) && !block.search.contains(block.replace.trim());
            (path, blocks.iter().filter(is_new).map(|block| block.replace.as_str()).collect())
        }
    };
    if is_placeholder(path) {
        let reason = format!("`{}` is not the path of a file. Name the file to change.", path.trim());
        return Err(EditRefusal::new(RefusalKind::Placeholder, reason));
    }
    match texts.into_iter().find(|text| is_placeholder(text)) {
        None => Ok(()),
        Some(text) => {
            let reason = format!(
                "`{}` only stands for the text of the file. Send the real text: every line that {path} shall have, or a \
                 diff or search and replace blocks with the real lines.",
                text.trim()
            );
            Err(EditRefusal::new(RefusalKind::Placeholder, reason))
        }
    }
}
