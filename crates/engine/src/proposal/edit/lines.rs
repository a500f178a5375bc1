//! A file as lines with their line ends, so that untouched lines keep every byte.

use super::{EditRefusal, RefusalKind};

/// The mark that some editors put in front of UTF-8 text.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnding {
    /// With the text itself: only the last line can.
    None,
    Lf,
    CrLf,
}

impl LineEnding {
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            LineEnding::None => b"",
            LineEnding::Lf => b"\n",
            LineEnding::CrLf => b"\r\n",
        }
    }
}

/// One line: what is in it, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextLine<'a> {
    pub(super) text: &'a [u8],
    pub(super) ending: LineEnding,
}

/// A text split into lines, its byte order mark set aside.
#[derive(Debug)]
pub(super) struct TextLines<'a> {
    pub(super) bom: bool,
    pub(super) lines: Vec<TextLine<'a>>,
}

impl<'a> TextLines<'a> {
    pub(super) fn split(bytes: &'a [u8]) -> Self {
        let (bom, rest) = match bytes.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        TextLines { bom, lines: split(rest) }
    }

    /// The style of most lines; `None` if no line has an end. A tie goes to the first line's.
    pub(super) fn dominant(&self) -> Option<LineEnding> {
        let crlf = self.lines.iter().filter(|line| line.ending == LineEnding::CrLf).count();
        let lf = self.lines.iter().filter(|line| line.ending == LineEnding::Lf).count();
        match crlf.cmp(&lf) {
            _ if crlf + lf == 0 => None,
            std::cmp::Ordering::Greater => Some(LineEnding::CrLf),
            std::cmp::Ordering::Less => Some(LineEnding::Lf),
            std::cmp::Ordering::Equal => self.lines.first().map(|line| line.ending),
        }
    }

    /// Whether the last line has an end.
    pub(super) fn ends_with_newline(&self) -> bool {
        self.lines.last().is_some_and(|line| line.ending != LineEnding::None)
    }

    /// The lines without their ends.
    pub(super) fn texts(&self) -> Vec<&'a [u8]> {
        self.lines.iter().map(|line| line.text).collect()
    }
}

/// Splits at LF; a CR right before it belongs to the line end. A lone CR is part of the line: such files are
/// obsolete, and splitting there would change line numbers.
pub(super) fn split(bytes: &[u8]) -> Vec<TextLine<'_>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|raw| match raw {
            [text @ .., b'\r', b'\n'] => TextLine { text, ending: LineEnding::CrLf },
            [text @ .., b'\n'] => TextLine { text, ending: LineEnding::Lf },
            text => TextLine { text, ending: LineEnding::None },
        })
        .collect()
}

/// The byte order mark, as bytes to write.
pub(super) fn bom(present: bool) -> &'static [u8] {
    if present { BOM } else { b"" }
}

/// The text without a byte order mark in front.
pub(super) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// White space that may differ at the end of a line. A CR is there because `\r\r\n` happens where a
/// text went through two careless tools.
fn is_blank_byte(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// The line without white space at its end.
pub(super) fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !is_blank_byte(byte)).map_or(0, |last| last + 1);
    &line[..end]
}

/// The blanks and tabs that a line begins with, and the rest.
pub(super) fn split_indent(line: &[u8]) -> (&[u8], &[u8]) {
    let at = line.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    line.split_at(at)
}

/// Whether the line has nothing but white space.
pub(super) fn is_blank(line: &[u8]) -> bool {
    trim_end(line).is_empty()
}

/// A line as a refusal shows it: short, readable, and without escapes for the terminal.
pub(super) fn shown(line: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST * 4)]);
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .map(|c| match c {
            '\t' => '→',
            c if c.is_control() => '�',
            c => c,
        })
        .collect();
    if text.chars().count() > LONGEST || line.len() > LONGEST * 4 {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Refuses a file that cannot be edited as text: the edit is UTF-8 and has lines, so a file in UTF-16
/// would be damaged by any kind of edit, and one with NUL bytes by one that looks for lines.
pub(super) fn readable(path: &str, bytes: &[u8], by_lines: bool) -> Result<(), EditRefusal> {
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        let reason = format!("{path} is in UTF-16, which edits cannot be applied to. Convert it to UTF-8 first.");
        return Err(EditRefusal::new(RefusalKind::Encoding, reason));
    }
    if by_lines && bytes.contains(&0) {
        let reason = format!("{path} is a binary file (it has NUL bytes), so no lines in it can be found or replaced.");
        return Err(EditRefusal::new(RefusalKind::Encoding, reason));
    }
    Ok(())
}

/// Refuses to put UTF-8 beyond ASCII into a file in another encoding, where it would be garbage.
pub(super) fn writable<'t>(
    path: &str,
    bytes: &[u8],
    added: impl IntoIterator<Item = &'t [u8]>,
) -> Result<(), EditRefusal> {
    if std::str::from_utf8(bytes).is_ok() {
        return Ok(());
    }
    match added.into_iter().find(|line| !line.is_ascii()) {
        None => Ok(()),
        Some(line) => Err(EditRefusal::new(
            RefusalKind::Encoding,
            format!(
                "{path} is not UTF-8, so only ASCII text can be added to it without damage; this line is not ASCII: {}",
                shown(line)
            ),
        )),
    }
}
