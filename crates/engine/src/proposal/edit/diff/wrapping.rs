//! Text around a diff that is not part of it: fences, prose, the signature of a mail.

use super::super::lines::{TextLine, is_blank, trim_end};
use super::super::{EditRefusal, RefusalKind};
use super::read::STAR_HEADERS;

/// Whether a line can only be the beginning of a diff or of a hunk.
pub(super) fn begins_diff(line: &[u8]) -> bool {
    let marks = ["@@", "diff --git ", "--- ", "+++ "];
    marks.iter().chain(&STAR_HEADERS).any(|mark| line.starts_with(mark.as_bytes()))
}

fn fence(line: &[u8]) -> Option<&'static [u8]> {
    [&b"```"[..], b"~~~"].into_iter().find(|fence| line.starts_with(fence))
}

/// The lines within a code fence, if there is one before the diff begins, and without a signature.
pub(super) fn unwrapped<'l, 't>(lines: &'l [TextLine<'t>]) -> Result<&'l [TextLine<'t>], EditRefusal> {
    let open = lines.iter().position(|line| fence(line.text).is_some() || begins_diff(line.text));
    let inside = match open.and_then(|at| fence(lines[at].text).map(|fence| (at, fence))) {
        Some((at, fence)) => {
            let body = &lines[at + 1..];
            let close = body.iter().position(|line| trim_end(line.text) == fence).unwrap_or(body.len());
            let rest = body.get(close + 1..).unwrap_or_default();
            let goes_on = |line: &TextLine<'_>| {
                begins_diff(line.text) || line.text.starts_with(fence) || matches!(line.text.first(), Some(b'+' | b'-'))
            };
            if rest.iter().any(goes_on) {
                let reason = "The diff continues after the end of its code fence. Give it without a fence.";
                return Err(EditRefusal::new(RefusalKind::Malformed, reason));
            }
            &body[..close]
        }
        None => without_dangling_fence(lines),
    };
    Ok(without_signature(inside))
}

/// A fence that closes without having been opened. As context it would say nothing about what is
/// written, only about where; leaving it out can make a place doubtful, but never a wrong one right.
fn without_dangling_fence<'l, 't>(lines: &'l [TextLine<'t>]) -> &'l [TextLine<'t>] {
    match lines.iter().rposition(|line| !is_blank(line.text)) {
        Some(last) if trim_end(lines[last].text) == b"```" => &lines[..last],
        _ => lines,
    }
}

/// `git format-patch` ends a mail with `-- ` and its version; the first would remove a line.
fn without_signature<'l, 't>(lines: &'l [TextLine<'t>]) -> &'l [TextLine<'t>] {
    let Some(last) = lines.iter().rposition(|line| !is_blank(line.text)) else { return lines };
    let is_version = lines[last].text.first().is_some_and(u8::is_ascii_digit)
        && lines[last].text.iter().all(|byte| byte.is_ascii_alphanumeric() || b".-() ".contains(byte));
    match last.checked_sub(1) {
        Some(dashes) if is_version && trim_end(lines[dashes].text) == b"--" => &lines[..dashes],
        _ => lines,
    }
}
