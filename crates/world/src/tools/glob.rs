//! Finds files by name.

use std::path::Path;

use globset::{GlobBuilder, GlobSet};
use trimtab_vocab::ReadResult;
use trimtab_vocab::event::ToolStatus;

use super::walk::{Hidden, walk};
use super::{Going, ReadRefusal, ReadScope, on_one_line, seen};

/// Paths that are shown.
const MOST: usize = 500;
/// Paths that are counted.
const MOST_COUNTED: usize = 100_000;
/// No name that people give to files needs a longer pattern.
const LONGEST_PATTERN: usize = 1_000;

/// A pattern for paths. Without `/` it matches file names in any folder, with `/` paths relative to the searched
/// folder.
#[derive(Debug)]
pub(super) struct Pattern {
    matcher: GlobSet,
    by_name: bool,
    excludes: bool,
    /// Its paths are relative to the root, not to the searched folder.
    from_root: bool,
    /// Whether it names something that begins with a dot.
    pub(super) hidden: Hidden,
}

impl Pattern {
    pub(super) fn parse(place: &ReadScope, given: &str) -> Result<Self, ReadRefusal> {
        let (text, excludes) = match given.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (given, false),
        };
        let (mut text, from_root) = if text.starts_with('/') {
            let inside = place.within(Path::new(text)).ok_or_else(|| place.outside(given))?;
            (inside.to_string_lossy().into_owned(), true)
        } else {
            (text.strip_prefix("./").unwrap_or(text).to_owned(), false)
        };
        if text.split('/').any(|part| part == "..") {
            return Err(place.outside(given));
        }
        if text.len() > LONGEST_PATTERN {
            return Err(ReadRefusal(format!("The pattern for names is longer than {LONGEST_PATTERN} bytes.")));
        }
        if text.is_empty() {
            return Err(ReadRefusal::new("The pattern is empty. `**/*.rs` finds all files that end with .rs."));
        }
        // A folder means what is in it.
        if text.ends_with('/') {
            text.push_str("**");
        }
        let by_name = !from_root && !text.contains('/');
        let bad = |error: globset::Error| {
            let text = on_one_line(given);
            ReadRefusal(format!("`{text}` is not a pattern for names: {}. Write `[[]` for a bracket.", error.kind()))
        };
        let glob = GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build().map_err(bad)?;
        // As a set of one: a single glob panics when it stands for too much.
        let matcher = GlobSet::builder().add(glob).build().map_err(bad)?;
        let has_dot = text.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        let hidden = if has_dot { Hidden::Everywhere } else { Hidden::AtTheTop };
        Ok(Self { matcher, by_name, excludes, from_root, hidden })
    }

    /// Whether a path that was met on the way from `start` fits.
    pub(super) fn fits(&self, place: &ReadScope, start: &Path, path: &Path) -> bool {
        let is_match = if self.by_name {
            path.file_name().is_some_and(|name| self.matcher.is_match(name))
        } else {
            let base = if self.from_root { place.root() } else { start };
            self.matcher.is_match(path.strip_prefix(base).unwrap_or(path))
        };
        is_match != self.excludes
    }
}

/// Paths that fit a pattern, in the order of their names.
pub(super) fn glob(place: &ReadScope, pattern: &str, path: &str, going: &Going) -> Result<ReadResult, ReadRefusal> {
    going.on()?;
    let top = place.find(path, going)?;
    if !top.real.is_dir() {
        let shown = on_one_line(&top.shown);
        return Err(ReadRefusal(format!("`{shown}` is not a folder. Name the folder to look in, or leave it out.")));
    }
    let fitting = Pattern::parse(place, pattern)?;
    let start = if fitting.from_root { place.root() } else { &top.real };
    let mut walked = walk(place, start, fitting.hidden, None, going);
    let (mut lines, mut all) = (Vec::new(), 0);
    while all < MOST_COUNTED
        && let Some(entry) = walked.next()?
    {
        let is_file = match entry.kind() {
            kind if kind.is_symlink() => leads_to_file(place, entry.path()),
            kind => kind.is_file(),
        };
        if is_file && fitting.fits(place, start, entry.path()) {
            all += 1;
            if lines.len() < MOST {
                lines.push(on_one_line(&place.shown(entry.path())));
            }
        }
    }
    if all == 0 {
        lines.push(nothing(place, &start.join(pattern), pattern, &top.shown));
    }
    if all > MOST {
        let all = if all == MOST_COUNTED { format!("more than {all}") } else { all.to_string() };
        lines.push(format!("[{MOST} of {all} files are shown. Narrow the pattern, or name a folder.]"));
    }
    lines.extend(walked.note());
    Ok(seen(if all > MOST { ToolStatus::Partial } else { ToolStatus::Ok }, lines.join("\n")))
}

fn nothing(place: &ReadScope, whole: &Path, pattern: &str, shown: &str) -> String {
    let (pattern, shown) = (on_one_line(pattern), on_one_line(shown));
    let folder = whole.canonicalize().is_ok_and(|path| path.starts_with(place.root()) && path.is_dir());
    let hint = if folder {
        format!("It is a folder; `{}/**` finds what is in it.", pattern.trim_end_matches('/'))
    } else {
        "Ignored and hidden files are left out.".to_owned()
    };
    format!("No file fits `{pattern}` in `{shown}`. {hint}")
}

/// Whether a link can be read: its end is a file in the folder.
fn leads_to_file(place: &ReadScope, link: &Path) -> bool {
    link.canonicalize().is_ok_and(|real| real.starts_with(place.root()) && real.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_without_a_slash_is_for_names_and_one_with_it_for_paths() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = ReadScope::open(folder.path()).expect("the folder");
        let start = place.root().to_owned();
        let fits = |pattern: &str, path: &str| {
            Pattern::parse(&place, pattern).expect("a pattern").fits(&place, &start, &start.join(path))
        };
        let absolute = format!("{}/src/*.rs", start.display());
        for (pattern, path) in [
            ("*.rs", "main.rs"),
            ("*.rs", "src/deep/main.rs"),
            ("src/*.rs", "src/main.rs"),
            ("./src/*.rs", "src/main.rs"),
            ("**/*.rs", "main.rs"),
            ("src/**", "src/deep/main.rs"),
            ("src/", "src/deep/main.rs"),
            ("*.{rs,toml}", "a/Cargo.toml"),
            ("src/**/main.rs", "src/main.rs"),
            ("!*.md", "a/b.rs"),
            (&absolute, "src/main.rs"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/*.rs", "src/deep/main.rs"),
            ("src/*.rs", "other/src/main.rs"),
            ("*.rs", "main.RS"),
            ("!*.md", "a/b.md"),
            (&absolute, "main.rs"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_that_leaves_the_folder_or_means_nothing_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = ReadScope::open(folder.path()).expect("the folder");
        let refused = |pattern: &str| Pattern::parse(&place, pattern).expect_err(pattern).0;
        assert!(refused("../*.rs").contains("outside the folder"));
        assert!(refused("/etc/*").contains("outside the folder"));
        assert!(refused("a/[").contains("not a pattern"));
        assert!(refused("").contains("empty"));
        assert!(refused(&"x".repeat(2_000)).contains("longer than"));
        assert!(refused(&"{".repeat(400)).contains("not a pattern"));
        // Whatever it makes of this one, it must not panic.
        let nested = format!("{}x{}", "{a,".repeat(300), "}".repeat(300));
        let _ = Pattern::parse(&place, &nested);
    }
}
