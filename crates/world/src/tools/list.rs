//! Lists a folder.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use trimtab_vocab::ReadResult;
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::format::size;

use super::walk::{Hidden, walk};
use super::{Going, ReadRefusal, ReadScope, on_one_line, seen};
use crate::workspace::WalkEntry;

/// Entries that are shown.
const MOST: usize = 500;
/// Entries that are counted.
const MOST_COUNTED: usize = 20_000;
/// No tree that is worth showing is deeper.
const DEEPEST: u32 = 20;

/// A tree, level by level until it is full: what lies near says more than all of the first branch.
pub(super) fn list(place: &ReadScope, path: &str, depth: u32, going: &Going) -> Result<ReadResult, ReadRefusal> {
    going.on()?;
    let top = place.find(path, going)?;
    if !top.real.is_dir() {
        let shown = on_one_line(&top.shown);
        return Err(ReadRefusal(format!("`{shown}` is not a folder. Use `read_file` to see what is in a file.")));
    }
    // Surely a folder by now, so an error here is one of permissions.
    top.real.read_dir().map_err(|error| super::place::unreadable(&top.shown, &error))?;
    let depth = depth.clamp(1, DEEPEST);
    let (mut entries, mut note) = (Vec::new(), None);
    for level in 1..=depth as usize {
        let mut walked = walk(place, &top.real, Hidden::AtTheTop, Some(level), going);
        let mut at_this_level = Vec::new();
        while at_this_level.len() <= MOST_COUNTED
            && let Some(entry) = walked.next()?
        {
            if entry.depth() == level {
                at_this_level.push(entry);
            }
        }
        note = walked.note();
        let is_last = at_this_level.is_empty();
        entries.extend(at_this_level);
        if is_last || entries.len() > MOST {
            break;
        }
    }
    entries.sort_by(|one, other| one.path().cmp(other.path()));
    let (text, shown) = draw(&entries, going)?;
    let mut lines = vec![format!("{}/", on_one_line(&top.shown).trim_end_matches('/'))];
    if entries.is_empty() {
        lines.push("  (nothing, or nothing but ignored and hidden files)".to_owned());
    }
    lines.extend(text);
    let is_full = shown < entries.len();
    if is_full {
        let all = match entries.len() {
            more if more > MOST_COUNTED => format!("more than {MOST_COUNTED}"),
            all => all.to_string(),
        };
        lines.push(format!(
            "[{shown} of {all} entries are shown, and none that lie deeper; … marks folders with more. \
             List one of them, or use `find_files`.]"
        ));
    }
    lines.extend(note);
    Ok(seen(if is_full { ToolStatus::Partial } else { ToolStatus::Ok }, lines.join("\n")))
}

/// The lines of the tree, and how many entries they show.
fn draw(entries: &[WalkEntry], going: &Going) -> Result<(Vec<String>, usize), ReadRefusal> {
    let mut by_level: Vec<usize> = (0..entries.len()).collect();
    by_level.sort_by_key(|at| entries[*at].depth());
    let chosen: HashSet<usize> = by_level.into_iter().take(MOST).collect();
    let left_out = (0..entries.len()).filter(|at| !chosen.contains(at));
    let unfinished: HashSet<PathBuf> =
        left_out.filter_map(|at| entries[at].path().parent().map(Path::to_owned)).collect();
    let mut lines = Vec::new();
    for (at, entry) in entries.iter().enumerate().filter(|(at, _)| chosen.contains(at)) {
        if at % 64 == 0 {
            going.on()?;
        }
        let indent = "  ".repeat(entry.depth());
        let name = on_one_line(&entry.file_name().to_string_lossy());
        let kind = entry.kind();
        let rest = if kind.is_dir() {
            if unfinished.contains(entry.path()) { "/ …".to_owned() } else { "/".to_owned() }
        } else if kind.is_symlink() {
            let target = entry.path().read_link().unwrap_or_default();
            format!(" -> {}", on_one_line(&target.to_string_lossy()))
        } else {
            match entry.metadata() {
                Ok(facts) if facts.is_file() => format!("  {}", size(facts.len())),
                Ok(_) => "  (not a regular file)".to_owned(),
                Err(_) => String::new(),
            }
        };
        lines.push(format!("{indent}{name}{rest}"));
    }
    Ok((lines, chosen.len()))
}
