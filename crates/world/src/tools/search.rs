//! Searches the content of files.

use std::io::{self, Read};
use std::path::Path;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use trimtab_vocab::ReadResult;
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::format::plural;
use trimtab_vocab::sensitive_paths::has_secret;

use super::glob::Pattern;
use super::place::unreadable;
use super::read::LARGEST_WHOLE;
use super::walk::{Hidden, walk};
use super::{Going, ReadRefusal, ReadScope, Watched, on_one_line, seen};

/// Matches that are shown.
const MOST_MATCHES: usize = 200;
/// Bytes of the result.
const MOST_BYTES: usize = 32 * 1024;
/// Characters of a line that are shown.
const LONGEST_LINE: usize = 300;
/// Characters before a match that is far to the right.
const BEFORE_MATCH: usize = 60;
/// More lines around a match are better read.
const MOST_CONTEXT: u32 = 20;
/// When the result is full, matches are still counted in this many bytes of files.
const MOST_COUNTED: u64 = 64 * 1024 * 1024;
/// The size limit of a compiled pattern: a small one can become huge.
const LARGEST_REGEX: usize = 10 * 1024 * 1024;

pub(super) struct Sought<'a> {
    pub(super) pattern: &'a str,
    pub(super) glob: Option<&'a str>,
    pub(super) ignore_case: bool,
    pub(super) context: u32,
}

/// Searches a file or a folder, file after file in the order of their names.
pub(super) fn search(
    place: &ReadScope,
    path: &str,
    sought: &Sought<'_>,
    going: &Going,
) -> Result<ReadResult, ReadRefusal> {
    going.on()?;
    if sought.pattern.is_empty() {
        return Err(ReadRefusal::new("The pattern is empty. Give a pattern to search for."));
    }
    let top = place.find(path, going)?.named_openly(place)?;
    let names = sought.glob.filter(|glob| !glob.is_empty()).map(|glob| Pattern::parse(place, glob)).transpose()?;
    let (matcher, fault) = match matcher(sought, false) {
        Ok(matcher) => (matcher, None),
        // Not a regular expression, so perhaps it is meant as it stands: `foo(` is what one types.
        Err(fault) => (matcher(sought, true).map_err(|_| bad_pattern(&fault))?, Some(fault)),
    };
    let mut page = SearchPage::new(place, &matcher, going);
    let mut searcher = searcher(sought.context);
    let mut note = None;
    if top.real.is_dir() {
        let hidden = names.as_ref().map_or(Hidden::AtTheTop, |names| names.hidden);
        let mut walked = walk(place, &top.real, hidden, None, going);
        let mut secrets = 0;
        while !page.is_over()
            && let Some(entry) = walked.next()?
        {
            let is_file = entry.kind().is_file();
            // Lines of such a file are shown only if it is named, because the user may refuse that.
            let below = entry.path().strip_prefix(&top.real).unwrap_or(entry.path());
            if is_file && has_secret(&below.to_string_lossy()) {
                secrets += 1;
                continue;
            }
            if is_file && names.as_ref().is_none_or(|names| names.fits(place, &top.real, entry.path())) {
                // A file that vanished or cannot be read does not end the search.
                walked.missed += usize::from(page.search(&mut searcher, entry.path()).is_err());
                going.on()?;
            }
        }
        let left_out = (secrets > 0).then(|| {
            format!(
                "[{} that may hold keys or passwords left out; each can be searched by its own path.]",
                plural(secrets, "file")
            )
        });
        note = [walked.note(), left_out].into_iter().flatten().reduce(|one, other| format!("{one}\n{other}"));
    } else if let Err(error) = page.search(&mut searcher, &top.real) {
        return Err(unreadable(&top.shown, &error));
    }
    if let Some(fault) = &fault
        && page.matches == 0
    {
        return Err(bad_pattern(fault));
    }
    let literal =
        fault.map(|_| "[The pattern is not a valid regular expression, so it was searched as plain text.]".to_owned());
    Ok(page.finish(&top.shown, literal.into_iter().chain(note)))
}

fn matcher(sought: &Sought<'_>, literally: bool) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(sought.ignore_case)
        .fixed_strings(literally)
        // The searcher hands over many lines at once; `^` and `$` are meant for each.
        .multi_line(true)
        .crlf(true)
        .size_limit(LARGEST_REGEX)
        .dfa_size_limit(LARGEST_REGEX)
        .build(sought.pattern)
}

fn bad_pattern(fault: &grep_regex::Error) -> ReadRefusal {
    let said = fault.to_string();
    // The last line of several says what is wrong; the others draw an arrow.
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it cannot be read").trim();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let hint = if said.contains("look-around") || said.contains("backreferences") {
        "Look-around and back-references are not available; search for less and pick from the matches."
    } else if said.contains("size limit") {
        "It is too complex; use fewer and smaller repetitions."
    } else if said.contains("\\n") {
        "Lines are searched one by one; search for a part that is on one line, with context to see the next."
    } else {
        "Put a backslash before each of ( ) [ ] { } . * + ? | ^ $ that is meant literally."
    };
    ReadRefusal(format!(
        "The pattern cannot be used as a regular expression: {}. {hint}",
        on_one_line(said.trim_end_matches('.'))
    ))
}

fn searcher(context: u32) -> Searcher {
    let context = context.min(MOST_CONTEXT) as usize;
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .multi_line(false)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

/// What has been found so far.
struct SearchPage<'a> {
    place: &'a ReadScope,
    matcher: &'a RegexMatcher,
    going: &'a Going,
    text: String,
    matches: usize,
    is_full: bool,
    /// Matches that are not shown, the files they are in, and the bytes it took to count them.
    more: usize,
    more_files: usize,
    counted: u64,
    too_large: usize,
}

impl<'a> SearchPage<'a> {
    fn new(place: &'a ReadScope, matcher: &'a RegexMatcher, going: &'a Going) -> Self {
        Self {
            place,
            matcher,
            going,
            text: String::new(),
            matches: 0,
            is_full: false,
            more: 0,
            more_files: 0,
            counted: 0,
            too_large: 0,
        }
    }

    /// Whether counting has ended, too.
    fn is_over(&self) -> bool {
        self.counted >= MOST_COUNTED
    }

    fn search(&mut self, searcher: &mut Searcher, path: &Path) -> io::Result<()> {
        let file = self.place.open_file(path)?;
        let length = file.metadata()?.len();
        if length > LARGEST_WHOLE as u64 {
            self.too_large += 1;
            return Ok(());
        }
        let was_full = self.is_full;
        let shown = on_one_line(&self.place.shown(path));
        let before = (self.text.len(), self.matches, self.more, self.is_full);
        let mut hits = Hits { shown: &shown, page: self, is_binary: false };
        let reader = Watched(file.take(LARGEST_WHOLE as u64), hits.page.going);
        let result = searcher.search_reader(hits.page.matcher, reader, &mut hits);
        if hits.is_binary || result.is_err() {
            self.text.truncate(before.0);
            (self.matches, self.more, self.is_full) = (before.1, before.2, before.3);
        }
        self.more_files += usize::from(self.more > before.2);
        if was_full {
            self.counted += length.max(1_024);
        }
        result
    }

    fn finish(self, shown: &str, notes: impl Iterator<Item = String>) -> ReadResult {
        let mut lines = Vec::new();
        if self.matches == 0 {
            lines.push(format!(
                "No line matches in `{}`. Ignored, hidden and binary files are left out.",
                on_one_line(shown)
            ));
        } else {
            lines.push(self.text.trim_end_matches('\n').to_owned());
        }
        lines.extend(notes);
        if self.too_large > 0 {
            let largest = LARGEST_WHOLE >> 20;
            lines.push(format!("[{} larger than {largest} MB left out.]", plural(self.too_large, "file")));
        }
        if self.more > 0 {
            let at_least = if self.is_over() { "at least " } else { "" };
            lines.push(format!(
                "[{at_least}{} in {} not shown. Narrow the pattern, the folder or the names of files.]",
                plural(self.more, "more match"),
                plural(self.more_files, "file")
            ));
        } else if self.is_full {
            lines.push("[Some lines around the matches did not fit.]".to_owned());
        }
        seen(if self.is_full { ToolStatus::Partial } else { ToolStatus::Ok }, lines.join("\n"))
    }

    /// A line of the page, if it fits.
    fn push(&mut self, line: &str) -> bool {
        if self.text.len() + line.len() + 1 > MOST_BYTES {
            self.is_full = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }
}

/// The matches of one file, on their way to the page.
struct Hits<'a, 'b> {
    shown: &'a str,
    page: &'a mut SearchPage<'b>,
    is_binary: bool,
}

impl Sink for Hits<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let page = &mut *self.page;
        page.is_full |= page.matches == MOST_MATCHES;
        if !page.is_full {
            let at = page.matcher.find(found.bytes()).ok().flatten().map_or(0, |at| at.start());
            let line = line(self.shown, ':', found.line_number(), found.bytes(), at);
            if page.push(&line) {
                page.matches += 1;
                return Ok(true);
            }
        }
        page.more += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if !self.page.is_full {
            let line = line(self.shown, '-', context.line_number(), context.bytes(), 0);
            self.page.push(&line);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !self.page.is_full {
            self.page.push("--");
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// `path:line:text`, or with `-` for a line that is only near a match.
fn line(path: &str, mark: char, number: Option<u64>, bytes: &[u8], match_at: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\n', '\r']);
    // Where the match begins, in characters. Invalid bytes count as one each, which is close enough to bring it into
    // view.
    let before = String::from_utf8_lossy(&bytes[..match_at.min(bytes.len())]).chars().count();
    let skipped = if before + BEFORE_MATCH > LONGEST_LINE { before.saturating_sub(BEFORE_MATCH) } else { 0 };
    let mut rest = text.chars().skip(skipped);
    let shown: String =
        rest.by_ref().take(LONGEST_LINE).map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
    let (left, right) = (if skipped > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
    format!("{path}{mark}{}{mark}{left}{shown}{right}", number.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_its_match() {
        let text = format!("{}needle{}", "a".repeat(5_000), "b".repeat(5_000));
        let shown = line("x", ':', Some(7), text.as_bytes(), 5_000);
        assert_eq!(shown, format!("x:7:…{}needle{}…", "a".repeat(60), "b".repeat(234)));
        assert_eq!(line("x", '-', Some(8), b"short\r\n", 0), "x-8-short");
        assert_eq!(line("x", ':', Some(1), "ä\u{1b}[2J\n".as_bytes(), 0), "x:1:ä [2J");
    }

    #[test]
    fn what_is_wrong_with_a_pattern_is_said_in_one_line_with_a_way_out() {
        let said = |pattern: &str| {
            let sought = Sought { pattern, glob: None, ignore_case: false, context: 0 };
            bad_pattern(&matcher(&sought, false).expect_err(pattern)).0
        };
        insta::assert_snapshot!(said("foo("), @"The pattern cannot be used as a regular expression: unclosed group. Put a backslash before each of ( ) [ ] { } . * + ? | ^ $ that is meant literally.");
        insta::assert_snapshot!(said("(?=a)b"), @"The pattern cannot be used as a regular expression: look-around, including look-ahead and look-behind, is not supported. Look-around and back-references are not available; search for less and pick from the matches.");
        insta::assert_snapshot!(said("a\\nb"), @r#"The pattern cannot be used as a regular expression: the literal "\n" is not allowed in a regex. Lines are searched one by one; search for a part that is on one line, with context to see the next."#);
        insta::assert_snapshot!(said("\\w{1000}{1000}"), @"The pattern cannot be used as a regular expression: compiled regex exceeds size limit of 10485760. It is too complex; use fewer and smaller repetitions.");
    }
}
