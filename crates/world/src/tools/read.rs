//! Reads lines of a file, or an image.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::format::{plural, size};
use trimtab_vocab::{FileMark, ReadResult};

use super::place::{FoundPath, unreadable};
use super::window::{LONGEST_LINE, Window};
use super::{Going, ReadRefusal, ReadScope, Watched, on_one_line, picture, seen};

/// A file of at most this size is read whole, so that its lines can be counted and its hash taken.
pub(super) const LARGEST_WHOLE: usize = 16 * 1024 * 1024;
/// Of a larger one, this much tells text from other things.
const HEAD: usize = 64 * 1024;
/// How far a line is searched in an endless file.
const FARTHEST: u64 = 4 << 30;
/// Bytes of one line that are enough for all that is shown of it.
const LONGEST_KEPT: usize = 4 * (LONGEST_LINE + 1);

/// Reads a file.
pub(super) fn read(
    place: &ReadScope,
    path: &str,
    offset: Option<u64>,
    limit: Option<u64>,
    going: &Going,
) -> Result<ReadResult, ReadRefusal> {
    going.on()?;
    let found = place.find(path, going)?.named_openly(place)?;
    if found.real.is_dir() {
        return Err(ReadRefusal(format!(
            "`{}` is a folder. Use `list_files` to see what is in it.",
            on_one_line(&found.shown)
        )));
    }
    let cannot = |error: io::Error| unreadable(&found.shown, &error);
    let file = place.open_file(&found.real).map_err(cannot)?;
    let length = file.metadata().map_err(cannot)?.len();
    let most = if length > LARGEST_WHOLE as u64 { HEAD } else { LARGEST_WHOLE };
    let mut file = Watched(file, going);
    let mut head = Vec::new();
    file.by_ref().take(most as u64 + 1).read_to_end(&mut head).map_err(cannot)?;
    let is_whole = head.len() <= most;
    let bytes = if is_whole { head.len() as u64 } else { length.max(head.len() as u64) };
    if let Some(kind) = picture::kind(&head) {
        return picture::show(&found.shown, kind, &head, bytes)
            .map(|seen| ReadResult { files: marks(place, &found, &head), ..seen });
    }
    let is_wide = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    if let Some(kind) = not_text(&head).filter(|_| !is_wide) {
        let shown = on_one_line(&found.shown);
        return Err(ReadRefusal(format!("`{shown}` is {kind} of {} and cannot be shown as text.", size(bytes))));
    }
    let mut window = Window::new(offset, limit);
    if is_whole {
        let (status, text) = whole(&found, &head, window)?;
        return Ok(ReadResult { files: marks(place, &found, &head), ..seen(status, text) });
    }
    if is_wide {
        let shown = on_one_line(&found.shown);
        return Err(ReadRefusal(format!("`{shown}` is UTF-16 and {}: too large to be decoded.", size(bytes))));
    }
    let more = stream(&mut window, BufReader::new(head.as_slice().chain(file)), &found)?;
    let (status, text) = window.finish(&format!("a file of {}", size(bytes)), more);
    Ok(seen(status, text))
}

/// Shows a text that is not saved yet, as if it were the file.
pub(super) fn read_unsaved(
    place: &ReadScope,
    path: &str,
    bytes: &[u8],
    mut window: Window,
    going: &Going,
) -> Result<ReadResult, ReadRefusal> {
    going.on()?;
    let found = place.find(path, going)?.named_openly(place)?;
    window.note("This is the text in the user's editor, which is not saved yet.");
    let (status, text) = whole(&found, bytes, window)?;
    Ok(ReadResult { files: marks(place, &found, bytes), ..seen(status, text) })
}

/// The file as it was, under the name it was asked for by and, if that is a link, its own.
fn marks(place: &ReadScope, found: &FoundPath, bytes: &[u8]) -> Vec<FileMark> {
    let hash = blake3::hash(bytes).to_hex().to_string();
    let mut paths = vec![found.shown.clone(), place.shown(&found.real)];
    paths.dedup();
    paths.into_iter().map(|path| FileMark { path, hash: hash.clone() }).collect()
}

/// Lines of a file that has been read whole.
fn whole(found: &FoundPath, bytes: &[u8], mut window: Window) -> Result<(ToolStatus, String), ReadRefusal> {
    if bytes.is_empty() {
        return Ok((ToolStatus::Ok, "The file is empty.".to_owned()));
    }
    let (text, note) = decode(bytes);
    let lines = text.matches('\n').count() as u64 + u64::from(!text.ends_with('\n'));
    if window.first() > lines {
        return Err(beyond(found, window.first(), &format!("has {}", plural(lines as usize, "line"))));
    }
    let mut ends_crlf = false;
    let mut rest = text.split_inclusive('\n').skip(usize::try_from(window.first() - 1).unwrap_or(usize::MAX));
    let more = loop {
        let Some(line) = rest.next() else { break false };
        let (line, is_crlf) = without_end(line);
        if !window.push(line) {
            break true;
        }
        ends_crlf |= is_crlf;
    };
    if let Some(note) = note {
        window.note(note);
    }
    if ends_crlf {
        window.note("Lines end with CR LF.");
    }
    Ok(window.finish(&plural(lines as usize, "line"), more))
}

/// Lines of a file that is too large to be read whole. Whether more follow.
fn stream(window: &mut Window, mut file: impl BufRead, found: &FoundPath) -> Result<bool, ReadRefusal> {
    let cannot = |error: io::Error| unreadable(&found.shown, &error);
    let (mut number, mut passed, mut is_between) = (1_u64, 0_u64, true);
    let mut line = Vec::new();
    loop {
        let chunk = file.fill_buf().map_err(cannot)?;
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        let used = end.map_or(chunk.len(), |end| end + 1);
        let is_shown = number >= window.first();
        if is_shown {
            let room = LONGEST_KEPT - line.len();
            line.extend_from_slice(&chunk[..used.min(room)]);
        }
        file.consume(used);
        passed += used as u64;
        is_between = end.is_some();
        if is_shown && line.len() == LONGEST_KEPT && !is_between {
            // Pushed before its end, which may be gigabytes away.
            window.push(&line_text(&line));
            if !window.has_room() || !skip_line(&mut file).map_err(cannot)? {
                return Ok(true);
            }
            is_between = true;
        } else if is_shown && is_between {
            window.push(&line_text(&line));
            if !window.has_room() {
                return Ok(!file.fill_buf().map_err(cannot)?.is_empty());
            }
        }
        if is_between {
            line.clear();
            number += 1;
        }
        if passed > FARTHEST && number < window.first() {
            let far = format!("has only {number} lines in its first {}, and no more is looked at", size(FARTHEST));
            return Err(beyond(found, window.first(), &far));
        }
    }
    let lines = number - u64::from(is_between);
    if lines < window.first() {
        return Err(beyond(found, window.first(), &format!("has {lines} lines")));
    }
    Ok(!line.is_empty() && !window.push(&line_text(&line)))
}

/// Passes over the rest of a line. Whether it ends.
fn skip_line(file: &mut impl BufRead) -> io::Result<bool> {
    let mut passed = 0;
    while passed < FARTHEST {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            return Ok(true);
        }
        let end = memchr::memchr(b'\n', chunk);
        let used = end.map_or(chunk.len(), |end| end + 1);
        file.consume(used);
        passed += used as u64;
        if end.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn beyond(found: &FoundPath, first: u64, has: &str) -> ReadRefusal {
    ReadRefusal(format!(
        "`{}` {has}; there is no line {first}. Read it with a smaller offset.",
        on_one_line(&found.shown)
    ))
}

fn without_end(line: &str) -> (&str, bool) {
    let line = line.strip_suffix('\n').unwrap_or(line);
    match line.strip_suffix('\r') {
        Some(line) => (line, true),
        None => (line, false),
    }
}

/// One line of a stream; its last character may be cut in two.
fn line_text(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(text) => text.into(),
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(&line[..error.valid_up_to()]),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(line).0,
    }
}

/// The text of a file, and a note about its encoding. Bytes that are not UTF-8 are decoded as Windows-1252, as
/// browsers do: every byte is a character, and most are right.
fn decode(bytes: &[u8]) -> (Cow<'_, str>, Option<&'static str>) {
    match bytes {
        [0xff, 0xfe, rest @ ..] => {
            (UTF_16LE.decode_without_bom_handling(rest).0, Some("The file is UTF-16, little end first."))
        }
        [0xfe, 0xff, rest @ ..] => {
            (UTF_16BE.decode_without_bom_handling(rest).0, Some("The file is UTF-16, big end first."))
        }
        _ => {
            let (plain, note) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
                Some(plain) => (plain, Some("The file begins with a byte order mark.")),
                None => (bytes, None),
            };
            match UTF_8.decode_without_bom_handling_and_without_replacement(plain) {
                Some(text) => (text, note),
                None => {
                    let text = WINDOWS_1252.decode_without_bom_handling(plain).0;
                    (text, Some("The file is not UTF-8. It is shown as Latin-1; some characters may be wrong."))
                }
            }
        }
    }
}

/// What a file is that is not text.
fn not_text(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x7fELF", "a program (ELF)"),
        (b"MZ\x90", "a program (Windows)"),
        (b"\xcf\xfa\xed\xfe", "a program (macOS)"),
        (b"\0asm", "a WebAssembly module"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive (or an Office document)"),
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"BZh", "bzip2-compressed data"),
        (b"\xfd7zXZ", "xz-compressed data"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"OggS", "an Ogg file"),
        (b"ID3", "an MP3 file"),
        (b"fLaC", "a FLAC file"),
        (b"wOF2", "a font"),
        (b"wOFF", "a font"),
        (b"\xca\xfe\xba\xbe", "a Java class or a program (macOS)"),
    ];
    let has_nul = memchr::memchr(0, &bytes[..bytes.len().min(HEAD)]).is_some();
    let kind = KINDS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, kind)| *kind);
    match kind {
        // Letters alone may also begin a text.
        Some(kind)
            if has_nul || std::str::from_utf8(&bytes[..bytes.len().min(HEAD)]).is_err() || kind.contains("PDF") =>
        {
            Some(kind)
        }
        _ => has_nul.then_some("a binary file"),
    }
}
