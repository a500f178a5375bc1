//! Texts about the file changes of a command.

use trimtab_vocab::event::{ByCommand, ChangedFile};
use trimtab_vocab::format;

use super::sanitize;

/// Files that a line names.
const NAMED: usize = 5;

/// How a shell undoes what a command did to files.
pub(crate) const UNDO_IN_SHELL: &str = "; `trimtab rewind` undoes the changes";

/// What is said after a command: `2 files changed by this command (a, b)`, and how it is undone.
pub(crate) fn after(files: &[ChangedFile], by: &ByCommand, undo: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    if !names.is_empty() {
        let changed = format::plural(names.len(), "file");
        let rest = if names.len() > NAMED { ", …" } else { "" };
        let shown = names[..names.len().min(NAMED)].join(", ");
        let late = if by.late { ", or by others at the same time" } else { "" };
        lines.push(format!("  {changed} changed by this command{late} ({}{rest}){undo}", sanitize(&shown)));
    }
    lines.extend(alongside(by).map(|line| format!("  {line}")));
    lines.extend(unkept(by).map(|line| format!("  {line}")));
    lines
}

/// `may include changes by b1, which ran in the background`
pub(crate) fn alongside(by: &ByCommand) -> Option<String> {
    let ids: Vec<&str> = by.alongside.iter().map(|id| id.as_str()).collect();
    (!ids.is_empty()).then(|| format!("may include changes by {}, which ran in the background", ids.join(", ")))
}

/// `also changed 3 files that cannot be undone: big.bin (too large to store), …`
pub(crate) fn unkept(by: &ByCommand) -> Option<String> {
    let all = by.unkept.len() as u64 + by.more;
    if all == 0 {
        return None;
    }
    let named: Vec<String> =
        by.unkept.iter().take(NAMED).map(|file| format!("{} ({})", file.path, file.why.words())).collect();
    let rest = if all > named.len() as u64 { ", …" } else { "" };
    Some(format!(
        "also changed {} that cannot be undone: {}{rest}",
        format::plural(all, "file"),
        sanitize(&named.join(", "))
    ))
}
