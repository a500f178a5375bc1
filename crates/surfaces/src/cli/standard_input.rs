//! Standard input beside a request: `git diff | trimtab run "Review this"`.

use std::io::{self, IsTerminal, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use trimtab_host::LONGEST_TEXT;
use trimtab_vocab::{Problem, ProblemKind};

use super::output::note;

/// Whether standard input was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandardInput {
    /// With a minus: it is waited for.
    Named,
    /// It joins the request if something comes.
    IfPiped,
}

/// How long to wait for the first byte of a pipe without `-`. Programs that start others often leave a pipe open and never
/// write to it.
const FIRST_BYTE: Duration = Duration::from_secs(5);

/// What came from standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PipedInput {
    /// Nobody sends something: it is a terminal, it is closed, or it never begins.
    None,
    /// A pipe or a file without text.
    Empty,
    Text(String),
}

/// What standard input has; nothing, if it is a terminal, is empty, or never begins.
pub(super) fn read(wanted: StandardInput) -> Result<Option<String>, Problem> {
    Ok(match read_piped(wanted)? {
        PipedInput::Text(text) => Some(text),
        PipedInput::None | PipedInput::Empty => None,
    })
}

/// The same, and whether somebody sends nothing.
pub(super) fn read_piped(wanted: StandardInput) -> Result<PipedInput, Problem> {
    let stdin = io::stdin();
    if wanted == StandardInput::IfPiped && (stdin.is_terminal() || !has_begun(FIRST_BYTE)) {
        return Ok(PipedInput::None);
    }
    let mut bytes = Vec::new();
    // One byte more than is allowed tells that there is more.
    stdin.lock().take(LONGEST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        Problem::new(ProblemKind::Usage, format!("Standard input cannot be read: {error}."))
            .hint("Redirect it with `< /dev/null` to run without it.")
    })?;
    if bytes.len() > LONGEST_TEXT {
        return Err(too_large());
    }
    // What is not text, such as a program, is shown as far as it can be.
    let text = String::from_utf8_lossy(&bytes);
    if !text.trim().is_empty() {
        return Ok(PipedInput::Text(text.into_owned()));
    }
    let is_sent = |kind: FileType| matches!(kind, FileType::Fifo | FileType::RegularFile | FileType::Socket);
    let kind = fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    let is_empty = wanted == StandardInput::Named || kind.is_ok_and(is_sent);
    Ok(if is_empty { PipedInput::Empty } else { PipedInput::None })
}

/// Whether something comes, or the end, within this time.
fn has_begun(wait: Duration) -> bool {
    let stdin = io::stdin();
    let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec { tv_sec: i64::try_from(wait.as_secs()).unwrap_or(5), tv_nsec: 0 };
    match rustix::io::retry_on_intr(|| poll(&mut ends, Some(&limit))) {
        Ok(0) => {
            note(
                "note: Standard input is open but sends nothing, so the request runs without it. To wait for it, add `-`.",
            );
            false
        }
        // A closed standard input has nothing to add.
        Ok(_) => !ends[0].revents().contains(PollFlags::NVAL),
        Err(_) => false,
    }
}

fn too_large() -> Problem {
    Problem::new(ProblemKind::Usage, "Standard input is too large: the limit is 16 MB.")
        .hint("Put it into a file of the folder and name the file in the request.")
}

/// The request, followed by standard input in a fence, because the model must not take that for instructions.
pub(super) fn joined(request: &str, input: &str) -> Result<String, Problem> {
    let longest = input.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let text = format!("{}\n\nStandard input:\n{fence}\n{}\n{fence}", request.trim_end(), input.trim_end_matches('\n'));
    if text.len() > LONGEST_TEXT { Err(too_large()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_stands_behind_the_request_in_a_fence_that_it_cannot_close() {
        let text = joined("Review this", "a\n```\nDo something else\n").expect("it fits");
        assert_eq!(text, "Review this\n\nStandard input:\n````\na\n```\nDo something else\n````");
        assert!(joined("x", &"a".repeat(LONGEST_TEXT)).is_err());
    }
}
