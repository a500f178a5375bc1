//! Reads a unified diff of git or another program. The reading is tolerant: what is not part of a file's change is
//! skipped, and a hunk has only the lines that are there, whatever its header promises.

use std::borrow::Cow;

/// The files of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewDiff {
    pub files: Vec<ReviewFile>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewFile {
    /// Its path after the change; of a deleted file, before it.
    pub path: String,
    /// Its path before the change, if it was another one.
    pub old_path: Option<String>,
    pub change: ReviewedChange,
    pub hunks: Vec<ReviewHunk>,
    /// The diff says that it changed and does not show how: it is binary, or a merge of several versions.
    pub is_hidden: bool,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewedChange {
    #[default]
    Changed,
    Added,
    Deleted,
}

/// Lines of a file that changed, and lines around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewHunk {
    /// The number of its first line before the change, and after it.
    pub old_start: u64,
    pub new_start: u64,
    /// The function or section that it is in, if the diff says so.
    pub heading: String,
    pub lines: Vec<ReviewLine>,
}

/// A line of a hunk, without its sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewLine {
    Same(String),
    Added(String),
    Removed(String),
}

impl ReviewHunk {
    /// How many of its lines there are before the change, and after it.
    fn counts(&self) -> (u64, u64) {
        self.lines.iter().fold((0, 0), |(old, new), line| match line {
            ReviewLine::Same(_) => (old + 1, new + 1),
            ReviewLine::Added(_) => (old, new + 1),
            ReviewLine::Removed(_) => (old + 1, new),
        })
    }

    /// Whether a line number is among its lines: those after the change, or those before it.
    pub(super) fn has_line(&self, line: u64, before: bool) -> bool {
        let (old, new) = self.counts();
        let (start, count) = if before { (self.old_start, old) } else { (self.new_start, new) };
        match count {
            // Lines were only removed, after the line that the header names.
            0 => line == start || line == start.saturating_add(1),
            count => line >= start && line - start < count,
        }
    }
}

impl ReviewFile {
    /// A file that is new with this text.
    pub fn added(path: String, text: &str) -> Self {
        let lines: Vec<ReviewLine> = text.lines().map(|line| ReviewLine::Added(line.to_owned())).collect();
        let hunk = ReviewHunk { old_start: 0, new_start: 1, heading: String::new(), lines };
        let hunks = if hunk.lines.is_empty() { Vec::new() } else { vec![hunk] };
        Self { path: shown_path(path), old_path: None, change: ReviewedChange::Added, hunks, is_hidden: false }
    }

    /// Whether a line is in one of its hunks.
    pub(super) fn has_line(&self, line: u64) -> bool {
        self.hunks.iter().any(|hunk| hunk.has_line(line, self.change == ReviewedChange::Deleted))
    }
}

impl ReviewDiff {
    /// Reads a diff. A text that is none has no files.
    pub fn parse(text: &str) -> Self {
        let mut parser = DiffParser::default();
        text.split('\n').for_each(|line| parser.line(line));
        parser.finish_file();
        Self { files: parser.files }
    }

    pub(super) fn file(&self, path: &str) -> Option<&ReviewFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

const NO_FILE: &str = "/dev/null";

#[derive(Default)]
struct DiffParser {
    files: Vec<ReviewFile>,
    file: Option<FileHeader>,
    /// Lines that the current hunk still has before and after the change, according to its header.
    left: (u64, u64),
}

/// A file while its header and hunks are read.
#[derive(Default)]
struct FileHeader {
    /// The rest of the line `diff --git`.
    git_names: Option<String>,
    old: Option<String>,
    new: Option<String>,
    moved_from: Option<String>,
    moved_to: Option<String>,
    change: ReviewedChange,
    is_hidden: bool,
    hunks: Vec<ReviewHunk>,
}

impl DiffParser {
    fn line(&mut self, line: &str) {
        if self.left != (0, 0) && self.hunk_line(line) {
            return;
        }
        self.left = (0, 0);
        let head = line.strip_suffix('\r').unwrap_or(line);
        if let Some(names) = head.strip_prefix("diff --git ") {
            self.begin(FileHeader { git_names: Some(names.to_owned()), ..FileHeader::default() });
        } else if let Some(path) = head.strip_prefix("diff --cc ").or_else(|| head.strip_prefix("diff --combined ")) {
            let moved_to = Some(unquoted(path).into_owned());
            self.begin(FileHeader { moved_to, is_hidden: true, ..FileHeader::default() });
        } else if let Some(name) = head.strip_prefix("--- ") {
            // Without git, this is how a file begins.
            if self.file.as_ref().is_none_or(|file| file.old.is_some() || !file.hunks.is_empty()) {
                self.begin(FileHeader::default());
            }
            self.set(|file| file.old = Some(header_name(name)));
        } else if let Some(name) = head.strip_prefix("+++ ") {
            self.set(|file| file.new = Some(header_name(name)));
        } else if let Some(rest) = head.strip_prefix("@@ -") {
            self.hunk(rest);
        } else {
            self.extended(head);
        }
    }

    /// A line of git's own header.
    fn extended(&mut self, head: &str) {
        let moved = |prefix: [&str; 2]| {
            prefix.iter().find_map(|prefix| head.strip_prefix(prefix)).map(|name| unquoted(name).into_owned())
        };
        if let Some(name) = moved(["rename from ", "copy from "]) {
            self.set(|file| file.moved_from = Some(name));
        } else if let Some(name) = moved(["rename to ", "copy to "]) {
            self.set(|file| file.moved_to = Some(name));
        } else if head.starts_with("new file mode ") {
            self.set(|file| file.change = ReviewedChange::Added);
        } else if head.starts_with("deleted file mode ") {
            self.set(|file| file.change = ReviewedChange::Deleted);
        } else if head == "GIT binary patch" || (head.starts_with("Binary files ") && head.ends_with(" differ")) {
            self.set(|file| file.is_hidden = true);
        }
    }

    /// Takes a line of the current hunk; `false` if it is none.
    fn hunk_line(&mut self, line: &str) -> bool {
        let Some(hunk) = self.file.as_mut().and_then(|file| file.hunks.last_mut()) else { return false };
        let (old, new) = &mut self.left;
        let text = || line.get(1..).unwrap_or_default().to_owned();
        match line.as_bytes().first() {
            // Some programs drop the blank of an empty line.
            Some(b' ') | None => {
                (*old, *new) = (old.saturating_sub(1), new.saturating_sub(1));
                hunk.lines.push(ReviewLine::Same(text()));
            }
            Some(b'+') => {
                *new = new.saturating_sub(1);
                hunk.lines.push(ReviewLine::Added(text()));
            }
            Some(b'-') => {
                *old = old.saturating_sub(1);
                hunk.lines.push(ReviewLine::Removed(text()));
            }
            // There is no newline at the end of the file.
            Some(b'\\') => {}
            Some(_) => return false,
        }
        true
    }

    /// `1,7 +1,9 @@ fn main()`
    fn hunk(&mut self, rest: &str) {
        let read = || {
            let (old, rest) = rest.split_once(" +")?;
            let (new, heading) = rest.split_once(" @@")?;
            Some((span(old)?, span(new)?, heading.trim()))
        };
        let (Some(file), Some(((old_start, old), (new_start, new), heading))) = (self.file.as_mut(), read()) else {
            return;
        };
        file.hunks.push(ReviewHunk { old_start, new_start, heading: heading.to_owned(), lines: Vec::new() });
        self.left = (old, new);
    }

    fn set(&mut self, change: impl FnOnce(&mut FileHeader)) {
        // What stands after a hunk belongs to no file any more.
        if let Some(file) = self.file.as_mut().filter(|file| file.hunks.is_empty()) {
            change(file);
        }
    }

    fn begin(&mut self, file: FileHeader) {
        self.finish_file();
        self.file = Some(file);
    }

    fn finish_file(&mut self) {
        self.left = (0, 0);
        self.files.extend(self.file.take().and_then(FileHeader::finish));
    }
}

impl FileHeader {
    fn finish(self) -> Option<ReviewFile> {
        let Self { git_names, old, new, moved_from, moved_to, mut change, is_hidden, hunks } = self;
        let is_file = |name: &String| name != NO_FILE;
        // Without git, a file is two names and at least one hunk: text that only looks like it is none.
        if git_names.is_none() && !is_hidden && (old.is_none() || new.is_none() || hunks.is_empty()) {
            return None;
        }
        change = match (&old, &new) {
            (Some(old), _) if !is_file(old) => ReviewedChange::Added,
            (_, Some(new)) if !is_file(new) => ReviewedChange::Deleted,
            _ => change,
        };
        let (old, new) = without_prefixes(old.filter(is_file), new.filter(is_file));
        let path = new.or(moved_to).or_else(|| old.clone()).or_else(|| git_name(&git_names?))?;
        let old_path = moved_from.or(old).filter(|old| *old != path);
        Some(ReviewFile { path: shown_path(path), old_path: old_path.map(shown_path), change, hunks, is_hidden })
    }
}

/// A name of a header: quoted, or up to a tab that a date may follow.
fn header_name(name: &str) -> String {
    match name.starts_with('"') {
        true => unquoted(name).into_owned(),
        false => name.split('\t').next().unwrap_or_default().to_owned(),
    }
}

/// `12,3` or `12`.
fn span(text: &str) -> Option<(u64, u64)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// The names without `a/` and `b/`, or what else git is set to write there.
fn without_prefixes(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let prefix = |name: &Option<String>| match name.as_deref().map(str::as_bytes) {
        Some([letter @ (b'a' | b'b' | b'c' | b'i' | b'o' | b'w'), b'/', _, ..]) => Some(Some(*letter)),
        Some(_) => None,
        None => Some(None),
    };
    match (prefix(&old), prefix(&new)) {
        (Some(one), Some(two)) if one != two => {
            (old.map(|name| name[2..].to_owned()), new.map(|name| name[2..].to_owned()))
        }
        _ => (old, new),
    }
}

/// The name of a file whose line `diff --git a/NAME b/NAME` is all there is.
fn git_name(names: &str) -> Option<String> {
    let (old, new) = match names.starts_with('"') {
        true => names.rfind(" \"").map(|end| (&names[..end], &names[end + 1..]))?,
        false => {
            let middle = names.len() / 2;
            (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?)
        }
    };
    let whole = |name: &str| Some(unquoted(name).into_owned());
    let (old, new) = without_prefixes(whole(old), whole(new));
    new.filter(|new| old.as_ref() == Some(new))
}

/// A path that git has put into quotes, because it has unusual characters.
fn unquoted(name: &str) -> Cow<'_, str> {
    let Some(inner) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return name.into() };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some(escaped) = rest.next() else { break };
        bytes.push(match escaped {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'0'..=b'7' => {
                let digits = [Some(escaped), rest.next(), rest.next()];
                digits.into_iter().flatten().fold(0_u8, |sum, digit| sum.wrapping_mul(8).wrapping_add(digit & 7))
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// A path on one line: it stands in a heading.
fn shown_path(path: String) -> String {
    if path.contains(char::is_control) { path.escape_debug().to_string() } else { path }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
