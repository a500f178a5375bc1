//! Hunks that contradict themselves: their counts do not match the body, and the body shows why.

use super::super::hunk::PatchHunk;
use super::super::lines::shown;
use super::super::{EditRefusal, RefusalKind};

/// Refuses a hunk with wrong counts in which a line break has become a plain `n`: `-oldn+new`. Wrong counts alone are
/// no reason, because models count badly, and neither is `n+`, which is ordinary code.
pub(super) fn refuse(hunk: &PatchHunk<'_>, said: (usize, usize), has: (usize, usize)) -> Result<(), EditRefusal> {
    if said == has {
        return Ok(());
    }
    let marks =
        |mark: &[u8; 2]| hunk.lines.iter().flat_map(|line| line.text.windows(2)).filter(|two| two == mark).count();
    let (removed, added) = (marks(b"n-"), marks(b"n+"));
    let neither = said.0 != has.0 && said.1 != has.1;
    let explained = said == (has.0 + removed, has.1 + added);
    if removed + added == 0 || !(neither || explained) {
        return Ok(());
    }
    let is_damaged = |text: &[u8]| text.windows(2).any(|two| two == b"n+" || two == b"n-");
    let line = hunk.lines.iter().find(|line| is_damaged(line.text)).map_or(&b""[..], |line| line.text);
    let reason = format!(
        "The @@ line says {} old and {} new lines, the hunk has {} and {}, and a line break seems to be lost in {}. Put \
         each line on its own.",
        said.0,
        said.1,
        has.0,
        has.1,
        shown(line)
    );
    Err(EditRefusal::new(RefusalKind::RunTogether, reason))
}
