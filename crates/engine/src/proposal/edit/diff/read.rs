//! Reading a diff: its headers for what it is about, its bodies for hunks.

use super::super::header::{self, Name};
use super::super::hunk::{Hunk, HunkLine, Op};
use super::super::lines::{Ending, Line, is_blank, shown};
use super::super::{Refusal, RefusalKind};

/// A diff of one file.
#[derive(Debug)]
pub(super) struct Diff<'t> {
    pub(super) hunks: Vec<Hunk<'t>>,
    /// It says that the file is new.
    pub(super) creates: bool,
    /// It says that the file goes.
    pub(super) deletes: bool,
    /// Its old side names the file.
    pub(super) old_named: bool,
    /// How lines end if there is no file to tell.
    pub(super) style: Ending,
}

/// Reads the diff of `path`; refuses what is about other files, or is no diff.
pub(super) fn read<'t>(path: &str, lines: &[Line<'t>]) -> Result<Diff<'t>, Refusal> {
    let mut reader = Reader {
        path,
        lines,
        hunks: Vec::new(),
        open: None,
        headed: false,
        last_header: 0,
        names: Names::default(),
        content: [false; 2],
        around: [false; 2],
    };
    reader.last_header =
        (0..lines.len()).rfind(|at| reader.is_pair(*at) || reader.starts(*at, "diff --git ")).unwrap_or(0);
    let headless = !(0..lines.len()).any(|at| {
        reader.is_pair(at) || ["@@", "diff --git ", "*** Update File:"].iter().any(|mark| reader.starts(at, mark))
    });
    if headless {
        // Nothing but marked lines: they are one hunk. Text before them would be taken for context
        // and not be found, which is as it should be.
        reader.open = Some(Hunk { has_markers: true, ..Hunk::default() });
    }
    let mut at = 0;
    while at < lines.len() {
        at += reader.line(at)?;
    }
    reader.close()?;
    if reader.hunks.is_empty() && !reader.headed || (headless && !reader.hunks.iter().any(Hunk::changes)) {
        let reason = "The diff has no lines that begin with + or -, so it says nothing that could be changed.";
        return Err(Refusal::new(RefusalKind::Malformed, reason));
    }
    reader.names.check(path)?;
    // As GNU patch does: if the headers end with CRLF as well, the diff was converted on its way.
    let style = match (reader.content, reader.around) {
        ([false, true], [true, false]) => Ending::CrLf,
        _ => Ending::Lf,
    };
    let Names { creates, deletes, old_named, .. } = reader.names;
    Ok(Diff { hunks: reader.hunks, creates, deletes, old_named, style })
}

/// What headers say about files.
#[derive(Debug, Default)]
struct Names {
    creates: bool,
    deletes: bool,
    old_named: bool,
    ours: bool,
    others: Vec<String>,
    moved: bool,
}

impl Names {
    fn pair(&mut self, path: &str, old: Option<Name>, new: Option<Name>) {
        self.creates |= old == Some(Name::Nothing);
        self.deletes |= new == Some(Name::Nothing);
        if let Some(Name::Path(new)) = &new {
            if header::means(new, path) { self.ours = true } else { self.others.push(new.clone()) }
        }
        if let Some(Name::Path(old)) = &old {
            if header::old_means(old, path) {
                self.old_named = true;
                self.ours |= new.is_none() || self.deletes;
            } else {
                self.moved |= matches!(&new, Some(Name::Path(new)) if header::means(new, path));
                self.others.push(old.clone());
            }
        }
    }

    fn check(&self, path: &str) -> Result<(), Refusal> {
        self.others.iter().try_for_each(|other| {
            let other = shown(other.as_bytes());
            let (kind, reason) = if self.moved {
                (
                    RefusalKind::OtherPath,
                    format!("The diff takes {other} for the old text of {path}; an edit cannot move a file."),
                )
            } else if self.ours {
                (
                    RefusalKind::SeveralFiles,
                    format!("The diff is about {other} as well as {path}. Give one edit for each file."),
                )
            } else {
                (RefusalKind::OtherPath, format!("The edit is for {path}, but its diff is about {other}."))
            };
            Err(Refusal::new(kind, reason))
        })?;
        if self.creates && self.deletes {
            let reason = format!("The diff both creates and deletes {path}.");
            return Err(Refusal::new(RefusalKind::Malformed, reason));
        }
        Ok(())
    }
}

struct Reader<'l, 't> {
    path: &'l str,
    lines: &'l [Line<'t>],
    hunks: Vec<Hunk<'t>>,
    open: Option<Hunk<'t>>,
    /// A header was seen, so that lines before the next hunk are about the file.
    headed: bool,
    /// Where the last header is. Marked lines before it may be the message of a commit.
    last_header: usize,
    names: Names,
    /// Whether lines of the file end with LF and with CRLF, and whether lines around them do.
    content: [bool; 2],
    around: [bool; 2],
}

impl<'t> Reader<'_, 't> {
    /// The text of a line; the diff is a string, cut at ASCII, so it always has one.
    fn text(&self, at: usize) -> &'t str {
        self.lines.get(at).and_then(|line| std::str::from_utf8(line.text).ok()).unwrap_or("")
    }

    fn starts(&self, at: usize, mark: &str) -> bool {
        self.text(at).starts_with(mark)
    }

    /// Reads the line at `at` and says how many lines were read.
    fn line(&mut self, at: usize) -> Result<usize, Refusal> {
        let text = self.text(at);
        if let Some(count) = self.header(at)? {
            for line in at..(at + count).min(self.lines.len()) {
                note(&mut self.around, self.lines[line].ending);
            }
            return Ok(count);
        }
        if self.open.is_none() {
            let marked = matches!(text.as_bytes().first(), Some(b'+' | b'-' | b' '));
            if !self.headed {
                // Words before the diff. A marked line there would be a change that gets lost.
                if matches!(text.as_bytes().first(), Some(b'+' | b'-')) && at >= self.last_header {
                    let reason = format!("The diff has a change before its first @@ line: {}", shown(text.as_bytes()));
                    return Err(Refusal::new(RefusalKind::Malformed, reason));
                }
                return Ok(1);
            }
            if !marked {
                return Ok(1);
            }
            self.open = Some(Hunk { has_markers: true, ..Hunk::default() });
        }
        note(&mut self.content, self.lines[at].ending);
        self.content(self.lines[at].text);
        Ok(1)
    }

    fn is_pair(&self, at: usize) -> bool {
        self.starts(at, "--- ") && self.starts(at + 1, "+++ ")
    }

    /// Reads a header if there is one, and says how many lines it has.
    fn header(&mut self, at: usize) -> Result<Option<usize>, Refusal> {
        let text = self.text(at);
        if text.starts_with("@@") {
            self.close()?;
            self.open = Some(self.hunk_header(text)?);
            return Ok(Some(1));
        }
        if self.is_pair(at) && !self.pair_is_content(at) {
            self.close()?;
            let names = (header::name(&text[4..]), header::name(&self.text(at + 1)[4..]));
            self.names.pair(self.path, Some(names.0), Some(names.1));
            self.headed = true;
            return Ok(Some(2));
        }
        let in_hunk = self.open.is_some();
        if !in_hunk && self.starts(at + 1, "@@") && (text.starts_with("--- ") || text.starts_with("+++ ")) {
            let name = Some(header::name(&text[4..]));
            let (old, new) = if text.starts_with('-') { (name, None) } else { (None, name) };
            self.names.pair(self.path, old, new);
            self.headed = true;
            return Ok(Some(1));
        }
        if let Some(rest) = text.strip_prefix("diff --git ") {
            self.close()?;
            self.headed = true;
            if header::git_means(rest, self.path) {
                self.names.ours = true;
            } else {
                self.names.others.push(rest.trim().to_owned());
            }
            return Ok(Some(1));
        }
        if let Some(rest) = text.strip_prefix("Index: ")
            && self.starts(at + 1, "=====")
        {
            self.close()?;
            self.headed = true;
            self.names.pair(self.path, None, Some(header::name(rest)));
            return Ok(Some(2));
        }
        if let Some(rest) = text.strip_prefix("*** ") {
            return self.star_header(rest);
        }
        if in_hunk { Ok(None) } else { self.mode_line(text) }
    }

    /// Whether `--- x` and `+++ y` within a hunk are lines of the file (`-- x`, `++ y`): they are
    /// unless a hunk follows, and even then if the counts say so.
    fn pair_is_content(&self, at: usize) -> bool {
        let Some(hunk) = &self.open else { return false };
        if !self.starts(at + 2, "@@") {
            return true;
        }
        let counts = hunk.numbers.map(|numbers| (numbers.old_count, numbers.new_count));
        counts == Some((Some(hunk.old_len() + 1), Some(hunk.new_side().count() + 1)))
    }

    fn hunk_header(&self, text: &str) -> Result<Hunk<'t>, Refusal> {
        if text.starts_with("@@@") {
            let reason = "The diff is a combined one, of a merge. Give one against the present text of the file.";
            return Err(Refusal::new(RefusalKind::Malformed, reason));
        }
        if header::section(text).starts_with(['+', '-']) {
            let reason =
                format!("A changed line stands on the @@ line: {}. Put it on its own.", shown(text.as_bytes()));
            return Err(Refusal::new(RefusalKind::RunTogether, reason));
        }
        Ok(Hunk { numbers: header::numbers(text), has_markers: true, ..Hunk::default() })
    }

    /// The headers of another kind of patch that models know.
    fn star_header(&mut self, rest: &str) -> Result<Option<usize>, Refusal> {
        if let Some(name) = rest.strip_prefix("Update File:") {
            self.close()?;
            self.headed = true;
            self.names.pair(self.path, None, Some(header::name(name.trim())));
        } else if rest.starts_with("Add File:") || rest.starts_with("Delete File:") || rest.starts_with("Move to:") {
            let reason = "The diff creates, deletes or moves a file in another notation than that of a unified diff.";
            return Err(Refusal::new(RefusalKind::Malformed, reason));
        } else if rest.starts_with("Begin Patch") || rest.starts_with("End Patch") {
            self.close()?;
        } else if !rest.starts_with("End of File") {
            return Ok(None);
        }
        Ok(Some(1))
    }

    /// Lines between `diff --git` and the first hunk. Modes are no text and so not ours to change.
    fn mode_line(&mut self, text: &str) -> Result<Option<usize>, Refusal> {
        if !self.headed {
            return Ok(None);
        }
        if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
            let reason = "The diff is of a binary file, which cannot be edited by lines.";
            return Err(Refusal::new(RefusalKind::Malformed, reason));
        }
        let moved = ["rename from ", "rename to ", "copy from ", "copy to "];
        if let Some(name) = moved.iter().find_map(|mark| text.strip_prefix(mark)) {
            if !header::means(name, self.path) {
                self.names.moved = true;
                self.names.others.push(name.to_owned());
            }
            return Ok(Some(1));
        }
        self.names.creates |= text.starts_with("new file mode");
        self.names.deletes |= text.starts_with("deleted file mode");
        Ok(None)
    }

    /// Takes a line of a hunk.
    fn content(&mut self, raw: &'t [u8]) {
        let shows_diffs = self.path.ends_with(".diff") || self.path.ends_with(".patch");
        let Some(hunk) = &mut self.open else { return };
        let (op, text, unmarked) = match raw {
            [b'\\', b' ', ..] => {
                end_without_newline(hunk);
                return;
            }
            [b'+', text @ ..] => (Op::Add, text, None),
            [b'-', text @ ..] => (Op::Remove, text, None),
            [b' ', text @ ..] => (Op::Keep, text, Some(raw)),
            [] => (Op::Keep, raw, None),
            _ => {
                hunk.markers_missing = true;
                (Op::Keep, raw, None)
            }
        };
        if !shows_diffs && text.starts_with(b"\\ No newline at end of file") {
            end_without_newline(hunk);
            return;
        }
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        hunk.lines.push(HunkLine { unmarked, ..HunkLine::new(op, text) });
    }

    /// Ends the hunk that is open.
    fn close(&mut self) -> Result<(), Refusal> {
        let Some(mut hunk) = self.open.take() else { return Ok(()) };
        let counts = hunk.numbers.and_then(|numbers| Some((numbers.old_count?, numbers.new_count?)));
        // Empty lines at the end may be context, or just the end of the text. As context they are
        // never written, so they only matter for the place, and then only if the counts vouch for them.
        let (mut old, mut new) = (hunk.old_len(), hunk.new_side().count());
        while counts != Some((old, new))
            && hunk
                .lines
                .last()
                .is_some_and(|line| line.op == Op::Keep && line.text.is_empty() && line.unmarked.is_none())
        {
            hunk.lines.pop();
            (old, new) = (old - 1, new - 1);
        }
        if hunk.lines.is_empty() {
            return Ok(());
        }
        if let Some((said_old, said_new)) = counts.filter(|_| hunk.markers_missing)
            && ((said_old < old && said_new == new) || (said_old == old && said_new < new))
        {
            let line =
                hunk.lines.iter().find(|line| line.op == Op::Keep && line.unmarked.is_none() && !is_blank(line.text));
            let reason = format!(
                "A line of the diff has no +, - or blank in front, and its counts say that it is not context: {}",
                shown(line.map_or(b"", |line| line.text))
            );
            return Err(Refusal::new(RefusalKind::Malformed, reason));
        }
        self.hunks.push(hunk);
        Ok(())
    }
}

/// The line before the marker is the last of its side, and has no end.
fn end_without_newline(hunk: &mut Hunk<'_>) {
    if let Some(line) = hunk.lines.last_mut() {
        line.no_newline = true;
    }
}

fn note(seen: &mut [bool; 2], ending: Ending) {
    match ending {
        Ending::Lf => seen[0] = true,
        Ending::CrLf => seen[1] = true,
        Ending::None => {}
    }
}
