//! Parses a diff: headers and hunks.

use super::super::header::{self, DiffName};
use super::super::hunk::{HunkLine, Op, PatchHunk};
use super::super::lines::{LineEnding, TextLine, is_blank, shown};
use super::super::{EditRefusal, RefusalKind};
use super::damage;
use super::names::{self, PatchSection, PatchTarget};

/// The changes of a patch to one file.
#[derive(Debug)]
pub(super) struct FilePatch<'t> {
    pub(super) path: String,
    /// Where the file moves.
    pub(super) to: Option<String>,
    pub(super) hunks: Vec<PatchHunk<'t>>,
    /// It says that the file is new.
    pub(super) creates: bool,
    /// It says that the file goes.
    pub(super) deletes: bool,
    /// The file goes, and the patch does not give its text.
    pub(super) unseen: bool,
    /// Its old side names the file.
    pub(super) old_named: bool,
}

/// The files of a patch, and its line ends if there is no file to tell.
#[derive(Debug)]
pub(super) struct Patch<'t> {
    pub(super) files: Vec<FilePatch<'t>>,
    pub(super) style: LineEnding,
}

/// Marks that only a header of a Codex patch begins with.
pub(super) const STAR_HEADERS: [&str; 4] = ["*** Update File:", "*** Add File:", "*** Delete File:", "*** Begin Patch"];

/// Parses the diff of `path`, which may include other files; refuses anything else.
pub(super) fn read<'t>(path: &str, lines: &[TextLine<'t>]) -> Result<Patch<'t>, EditRefusal> {
    let mut reader = DiffReader {
        path,
        lines,
        sections: Vec::new(),
        current: PatchSection::default(),
        open: None,
        anchors: Vec::new(),
        adding: false,
        last_header: 0,
        content: [false; 2],
        around: [false; 2],
    };
    reader.last_header = (0..lines.len())
        .rfind(|at| reader.is_pair(*at) || reader.starts(*at, "diff --git ") || reader.is_star_header(*at))
        .unwrap_or(0);
    let headless = !(0..lines.len()).any(|at| {
        reader.is_pair(at)
            || reader.is_star_header(at)
            || ["@@", "diff --git "].iter().any(|mark| reader.starts(at, mark))
    });
    if headless {
        // Nothing but marked lines: they are one hunk. Text before them would be taken for context
        // and not be found, which is as it should be.
        reader.open = Some(PatchHunk { has_markers: true, ..PatchHunk::default() });
    }
    let mut at = 0;
    while at < lines.len() {
        at += reader.line(at)?;
    }
    reader.end_section()?;
    let sections = reader.sections;
    let changes = sections.iter().flat_map(|section| &section.hunks).any(PatchHunk::changes);
    if sections.is_empty() || (headless && !changes) {
        let reason = "The diff has no lines that begin with + or -, so it says nothing that could be changed.";
        return Err(EditRefusal::new(RefusalKind::Malformed, reason));
    }
    // As GNU patch does: if the headers end with CRLF as well, the diff was converted on its way.
    let style = match (reader.content, reader.around) {
        ([false, true], [true, false]) => LineEnding::CrLf,
        _ => LineEnding::Lf,
    };
    Ok(Patch { files: files(path, sections)?, style })
}

/// One diff for each file. Several parts about one file are one diff if they only change it.
fn files<'t>(path: &str, sections: Vec<PatchSection<'t>>) -> Result<Vec<FilePatch<'t>>, EditRefusal> {
    let targets = names::targets(path, &sections)?;
    let mut files: Vec<FilePatch<'t>> = Vec::with_capacity(sections.len());
    for (section, PatchTarget { path, to }) in sections.into_iter().zip(targets) {
        let old_named = section.old_named();
        let PatchSection { hunks, creates, deletes, unseen, .. } = section;
        let diff = FilePatch { path, to, hunks, creates, deletes, unseen, old_named };
        let is_same = |name: &str| diff.path == name || diff.to.as_deref() == Some(name);
        match files.iter_mut().find(|known| is_same(&known.path) || known.to.as_deref().is_some_and(is_same)) {
            None => files.push(diff),
            Some(known) if known.is_plain() && diff.is_plain() => {
                known.old_named |= diff.old_named;
                known.hunks.extend(diff.hunks);
            }
            Some(known) => {
                let reason = format!(
                    "The patch has several parts about {} that create, delete or move it. Give one part for each file.",
                    known.path
                );
                return Err(EditRefusal::new(RefusalKind::Malformed, reason));
            }
        }
    }
    Ok(files)
}

impl FilePatch<'_> {
    /// It changes a file and does nothing else with it.
    fn is_plain(&self) -> bool {
        !self.creates && !self.deletes && self.to.is_none()
    }
}

struct DiffReader<'l, 't> {
    path: &'l str,
    lines: &'l [TextLine<'t>],
    /// The files before this one, and this one.
    sections: Vec<PatchSection<'t>>,
    current: PatchSection<'t>,
    open: Option<PatchHunk<'t>>,
    /// Anchors without a body: they belong to the next hunk.
    anchors: Vec<&'t [u8]>,
    /// Within `*** Add File`, where every line is an added one.
    adding: bool,
    /// Where the last header is. Marked lines before it may be the message of a commit.
    last_header: usize,
    /// Whether lines of the file end with LF and with CRLF, and whether lines around them do.
    content: [bool; 2],
    around: [bool; 2],
}

impl<'t> DiffReader<'_, 't> {
    /// The text of a line; the diff is a string, cut at ASCII, so it always has one.
    fn text(&self, at: usize) -> &'t str {
        self.lines.get(at).and_then(|line| std::str::from_utf8(line.text).ok()).unwrap_or("")
    }

    fn starts(&self, at: usize, mark: &str) -> bool {
        self.text(at).starts_with(mark)
    }

    /// Reads the line at `at` and says how many lines were read.
    fn line(&mut self, at: usize) -> Result<usize, EditRefusal> {
        let text = self.text(at);
        if let Some(count) = self.header(at)? {
            for line in at..(at + count).min(self.lines.len()) {
                note(&mut self.around, self.lines[line].ending);
            }
            return Ok(count);
        }
        if self.adding && !text.starts_with('+') && !text.trim().is_empty() {
            let reason =
                format!("A line of a new file has no + in front: {}. Begin every line with +.", shown(text.as_bytes()));
            return Err(EditRefusal::new(RefusalKind::Malformed, reason));
        }
        if self.open.is_none() {
            let marked = matches!(text.as_bytes().first(), Some(b'+' | b'-' | b' '));
            if !self.current.headed {
                // Words before the diff. A marked line there would be a change that gets lost.
                if matches!(text.as_bytes().first(), Some(b'+' | b'-')) && at >= self.last_header {
                    let reason = format!("The diff has a change before its first @@ line: {}", shown(text.as_bytes()));
                    return Err(EditRefusal::new(RefusalKind::Malformed, reason));
                }
                return Ok(1);
            }
            if !marked {
                return Ok(1);
            }
            self.open = Some(self.new_hunk());
        }
        note(&mut self.content, self.lines[at].ending);
        self.content(self.lines[at].text);
        Ok(1)
    }

    fn new_hunk(&mut self) -> PatchHunk<'t> {
        let anchors = std::mem::take(&mut self.anchors);
        PatchHunk { has_markers: true, appends: self.current.literal, anchors, ..PatchHunk::default() }
    }

    /// Ends the part about one file and begins the next.
    fn end_section(&mut self) -> Result<(), EditRefusal> {
        self.close()?;
        self.adding = false;
        self.anchors.clear();
        let section = std::mem::take(&mut self.current);
        if section.headed || !section.hunks.is_empty() {
            self.sections.push(section);
        }
        Ok(())
    }

    /// A header that names files: it begins a part unless the part has only names so far.
    fn name_header(&mut self) -> Result<(), EditRefusal> {
        self.close()?;
        if !self.current.hunks.is_empty() || self.current.literal || !self.current.new.is_empty() {
            self.end_section()?;
        }
        Ok(())
    }

    fn is_star_header(&self, at: usize) -> bool {
        STAR_HEADERS.iter().any(|mark| self.starts(at, mark))
    }

    fn is_pair(&self, at: usize) -> bool {
        self.starts(at, "--- ") && self.starts(at + 1, "+++ ") || self.is_tight_pair(at)
    }

    /// `---a/file` and `+++b/file`, the blank left out, right before a hunk.
    fn is_tight_pair(&self, at: usize) -> bool {
        self.starts(at, "---a/") && self.starts(at + 1, "+++b/") && self.starts(at + 2, "@@")
    }

    /// Reads a header if there is one, and says how many lines it has.
    fn header(&mut self, at: usize) -> Result<Option<usize>, EditRefusal> {
        let text = self.text(at);
        if text.starts_with("@@") {
            self.close()?;
            self.open = Some(self.hunk_header(text)?);
            return Ok(Some(1));
        }
        if self.is_pair(at) && !self.pair_is_content(at) {
            self.name_header()?;
            let [old, new] = [text, self.text(at + 1)].map(|line| Some(header::name(line[3..].trim_start())));
            self.current.pair(old, new);
            return Ok(Some(2));
        }
        let in_hunk = self.open.is_some();
        if !in_hunk && self.starts(at + 1, "@@") && (text.starts_with("--- ") || text.starts_with("+++ ")) {
            let name = Some(header::name(&text[4..]));
            let (old, new) = if text.starts_with('-') { (name, None) } else { (None, name) };
            self.name_header()?;
            self.current.pair(old, new);
            return Ok(Some(1));
        }
        if let Some(rest) = text.strip_prefix("diff --git ") {
            self.end_section()?;
            self.current.headed = true;
            self.current.git = Some(rest.to_owned());
            return Ok(Some(1));
        }
        if let Some(rest) = text.strip_prefix("Index: ")
            && self.starts(at + 1, "=====")
        {
            self.end_section()?;
            self.current.headed = true;
            // The pair that follows repeats it, so it is needed only without one.
            if !self.is_pair(at + 2) {
                self.current.pair(None, Some(header::name(rest)));
            }
            return Ok(Some(2));
        }
        if let Some(rest) = text.strip_prefix("*** ") {
            return self.star_header(rest);
        }
        if in_hunk { Ok(None) } else { self.mode_line(text) }
    }

    /// Whether `--- x` and `+++ y` within a hunk are lines of the file (`-- x`, `++ y`): they are unless a hunk
    /// follows, and even then if the counts say so.
    fn pair_is_content(&self, at: usize) -> bool {
        let Some(hunk) = &self.open else { return false };
        if !self.starts(at + 2, "@@") {
            return true;
        }
        let counts = hunk.numbers.map(|numbers| (numbers.old_count, numbers.new_count));
        counts == Some((Some(hunk.old_len() + 1), Some(hunk.new_side().count() + 1)))
    }

    fn hunk_header(&mut self, text: &'t str) -> Result<PatchHunk<'t>, EditRefusal> {
        if text.starts_with("@@@") {
            let reason = "The diff is a combined one, of a merge. Give one against the present text of the file.";
            return Err(EditRefusal::new(RefusalKind::Malformed, reason));
        }
        let section = header::section(text);
        if section.starts_with(['+', '-']) {
            let reason =
                format!("A changed line stands on the @@ line: {}. Put it on its own.", shown(text.as_bytes()));
            return Err(EditRefusal::new(RefusalKind::RunTogether, reason));
        }
        let mut hunk = self.new_hunk();
        hunk.numbers = header::numbers(text);
        hunk.anchor_is_heading = hunk.numbers.is_some() && hunk.anchors.is_empty();
        let anchor = match hunk.numbers {
            Some(_) => Some(section).filter(|section| !section.is_empty()),
            None => header::anchor(text),
        };
        hunk.anchors.extend(anchor.map(str::as_bytes));
        Ok(hunk)
    }

    /// The headers of a Codex patch.
    fn star_header(&mut self, rest: &str) -> Result<Option<usize>, EditRefusal> {
        let name = |mark: &str| match header::name(rest.strip_prefix(mark)?.trim()) {
            DiffName::Path(name) => Some(name),
            DiffName::Nothing => None,
        };
        let file = ["Update File:", "Add File:", "Delete File:"].iter().find_map(|mark| Some((*mark, name(mark)?)));
        if let Some((mark, name)) = file {
            self.end_section()?;
            self.current.headed = true;
            self.current.literal = true;
            self.current.new.push(name);
            self.current.creates = mark == "Add File:";
            self.adding = self.current.creates;
            self.current.deletes = mark == "Delete File:";
            self.current.unseen = self.current.deletes;
        } else if let Some(to) = name("Move to:").filter(|_| self.current.literal && self.open.is_none()) {
            self.current.from = self.current.new.first().cloned();
            self.current.to = Some(to);
        } else if rest.starts_with("Begin Patch") || rest.starts_with("End Patch") {
            self.end_section()?;
        } else if rest.starts_with("End of File") {
            if let Some(hunk) = &mut self.open {
                hunk.at_end = true;
            }
            self.close()?;
        } else {
            return Ok(None);
        }
        Ok(Some(1))
    }

    /// Lines between `diff --git` and the first hunk. Mode changes are ignored.
    fn mode_line(&mut self, text: &str) -> Result<Option<usize>, EditRefusal> {
        if !self.current.headed {
            return Ok(None);
        }
        if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
            let reason = "The diff is of a binary file, which cannot be edited by lines.";
            return Err(EditRefusal::new(RefusalKind::Malformed, reason));
        }
        let renamed = |mark: &str| {
            text.strip_prefix(mark).map(|name| match header::name(name) {
                DiffName::Path(name) => name,
                DiffName::Nothing => name.to_owned(),
            })
        };
        if let Some(from) = renamed("rename from ") {
            self.current.from = Some(from);
            return Ok(Some(1));
        }
        if let Some(to) = renamed("rename to ") {
            self.current.to = Some(to);
            return Ok(Some(1));
        }
        if let Some(name) = renamed("copy from ").or_else(|| renamed("copy to ")) {
            self.current.copies.push(name);
            return Ok(Some(1));
        }
        self.current.creates |= text.starts_with("new file mode");
        self.current.deletes |= text.starts_with("deleted file mode");
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
    fn close(&mut self) -> Result<(), EditRefusal> {
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
            if !hunk.anchor_is_heading {
                self.anchors = hunk.anchors;
            }
            return Ok(());
        }
        if let Some(said) = counts {
            damage::refuse(&hunk, said, (old, new))?;
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
            return Err(EditRefusal::new(RefusalKind::Malformed, reason));
        }
        self.current.hunks.push(hunk);
        Ok(())
    }
}

/// The line before the marker is the last of its side, and has no end.
fn end_without_newline(hunk: &mut PatchHunk<'_>) {
    if let Some(line) = hunk.lines.last_mut() {
        line.no_newline = true;
    }
}

fn note(seen: &mut [bool; 2], ending: LineEnding) {
    match ending {
        LineEnding::Lf => seen[0] = true,
        LineEnding::CrLf => seen[1] = true,
        LineEnding::None => {}
    }
}
