//! The parts of a reply that are statements, and its code fences.

use std::borrow::Cow;
use std::ops::Range;

/// Opens and closes reasoning that a model writes into its reply.
const THOUGHTS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis", "<|end|>"),
];

/// Pieces of reasoning that are looked for in a reply.
const MOST_THOUGHTS: usize = 64;

/// The same text with everything that is reasoning replaced by spaces, so that places in it stay the same. Reasoning
/// that never ends reaches to the end; a closing tag without an opening one ends reasoning that began before the reply.
/// Tags inside of code are part of the code.
pub(crate) fn without_thoughts(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut blank = |range: Range<usize>| {
        bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    let mut at = before_reply(text);
    blank(0..at);
    for _ in 0..MOST_THOUGHTS {
        let Some((start, end)) = next_thought(text, at) else { break };
        blank(start..end);
        at = end;
    }
    // Only whole characters were replaced, because every tag and every text between two tags is whole.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where reasoning ends that began before the reply; 0 if there is none.
fn before_reply(text: &str) -> usize {
    let code: Vec<Range<usize>> =
        fences(text).into_iter().filter(|fence| fence.is_closed).map(|fence| fence.range).collect();
    let is_code = |at: usize| code.iter().any(|range| range.contains(&at)) || is_quoted(text, at);
    let ends = THOUGHTS.iter().filter(|(_, close)| *close != "<|end|>").filter_map(|(open, close)| {
        let end = text.match_indices(close).map(|(at, _)| at).find(|at| !is_code(*at))?;
        text[..end].find(open).is_none().then_some(end + close.len())
    });
    ends.max().unwrap_or(0)
}

/// The next reasoning outside of code: from its opening tag to behind its closing one.
fn next_thought(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        let tags = THOUGHTS.iter().filter_map(|(open, close)| {
            let mut starts = text[at..].match_indices(open).map(|(start, _)| at + start);
            starts.find(|start| !is_quoted(text, *start)).map(|start| (start, *close))
        });
        let (start, close) = tags.min_by_key(|(start, _)| *start)?;
        match fences(&text[at..]).first().map(|fence| at + fence.range.start..at + fence.range.end) {
            Some(code) if code.start < start => at = code.end.max(at + 1),
            _ => {
                let end = text[start..].find(close).map_or(text.len(), |end| start + end + close.len());
                return Some((start, end));
            }
        }
        if at >= text.len() {
            return None;
        }
    }
}

/// Whether a tag stands behind quotation marks or brackets in its line, as in JSON and in code.
fn is_quoted(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line.contains(['"', '\'', '`', '{', '('])
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplyFence<'t> {
    /// The text after the opening marks.
    pub(crate) info: &'t str,
    /// The lines between the marks, each with its end, and without the indentation of the marks: a fence in a list
    /// is indented as a whole.
    pub(crate) body: Cow<'t, str>,
    /// From the opening marks to the end of the closing line.
    pub(crate) range: Range<usize>,
    /// Whether it has an end. One without may lack any part of its text.
    pub(crate) is_closed: bool,
}

impl<'t> ReplyFence<'t> {
    /// The language, as its info string begins.
    pub(crate) fn language(&self) -> &'t str {
        self.info.split([' ', '\t', ':', ',', '{']).next().unwrap_or_default()
    }
}

/// The marks that a line begins with, and what follows them.
fn marks(line: &str) -> Option<(char, usize, &str)> {
    let rest = line.trim_start_matches(' ');
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = rest.chars().take_while(|c| *c == mark).count();
    let info = rest[count..].trim();
    // A line such as ```code``` is a span of code, not the beginning of a fence.
    (count >= 3 && line.len() - rest.len() <= 12 && !info.contains('`')).then_some((mark, count, info))
}

/// The fences of a text, in order. Inside of one, marks with an info string open a nested one, as models write
/// documents with code.
pub(crate) fn fences(text: &str) -> Vec<ReplyFence<'_>> {
    struct OpenFence<'t> {
        mark: char,
        count: usize,
        info: &'t str,
        start: usize,
        body: usize,
        inner: usize,
        indent: usize,
    }
    let mut found = Vec::new();
    let mut open: Option<OpenFence<'_>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some((mark, count, info)) = marks(line.trim_end_matches(['\n', '\r'])) else { continue };
        match &mut open {
            None => {
                let indent = line.len() - line.trim_start_matches(' ').len();
                open = Some(OpenFence { mark, count, info, start, body: end, inner: 0, indent });
            }
            Some(fence) if mark != fence.mark || count < fence.count => {}
            Some(fence) if !info.is_empty() => fence.inner += 1,
            Some(fence) if fence.inner > 0 => fence.inner -= 1,
            Some(_) => {
                let fence = open.take().expect("it is open");
                let (info, body) = (fence.info, dedented(&text[fence.body..start], fence.indent));
                found.push(ReplyFence { info, body, range: fence.start..end, is_closed: true });
            }
        }
    }
    if let Some(fence) = open {
        let (info, body) = (fence.info, dedented(&text[fence.body..], fence.indent));
        found.push(ReplyFence { info, body, range: fence.start..text.len(), is_closed: false });
    }
    found
}

/// Lines without the spaces that they begin with, up to so many.
fn dedented(body: &str, indent: usize) -> Cow<'_, str> {
    if indent == 0 {
        return Cow::Borrowed(body);
    }
    let line = |line: &'_ str| {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line[spaces.min(indent)..].to_owned()
    };
    Cow::Owned(body.split_inclusive('\n').map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_in_code_are_code() {
        for text in [
            "clean.py\n```python\ns = re.sub(r\"<think>.*?</think>\", \"\", s)\n```\n",
            "a.xml\n```xml\n<reasoning>\n</thought>\n```\nDone.",
            "{\"name\": \"write_file\", \"arguments\": {\"content\": \"a <think> b </think> c\"}}",
        ] {
            assert_eq!(without_thoughts(text), text);
        }
        let text = "<think>\n```\nx\n```\n</think>\na.txt\n```\n<think>\n```\n<think>\nno end";
        assert_eq!(without_thoughts(text).trim(), "a.txt\n```\n<think>\n```");
        assert_eq!(without_thoughts("so\n```\nx\n```\n</think>\nsaid").trim(), "said");
    }

    #[test]
    fn a_fence_in_a_list_is_indented_as_a_whole() {
        let found = fences("1. Create `hello.py`:\n   ```python\n   if x:\n       y()\n\n   ```\n");
        assert_eq!(found[0].body, "if x:\n    y()\n\n");
    }

    #[test]
    fn reasoning_is_blank_and_everything_else_stays_in_its_place() {
        let text = "<think>{\"name\"}</think>\nsaid <thinking>ü";
        let plain = without_thoughts(text);
        assert_eq!(plain.len(), text.len());
        assert_eq!(plain.trim(), "said");
        assert_eq!(without_thoughts("a thought</think>said").trim(), "said");
        assert_eq!(without_thoughts("nothing of it"), "nothing of it");
    }

    #[test]
    fn fences_are_found_with_their_text_and_their_end() {
        let text = "One:\n```python hello.py\nprint(1)\n```\nTwo:\n~~~\nx\n";
        let found = fences(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].info, &*found[0].body, found[0].is_closed), ("python hello.py", "print(1)\n", true));
        assert_eq!(found[0].language(), "python");
        assert!(!found[1].is_closed);
    }

    #[test]
    fn code_in_a_document_does_not_end_the_document() {
        let text = "```markdown\n# A\n```sh\nls\n```\nend\n```\nafter\n";
        let found = fences(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].body, "# A\n```sh\nls\n```\nend\n");
        assert!(fences("```md\na\n```\nb\n```\nc\n").last().is_some_and(|last| !last.is_closed));
        assert!(fences("use ```x``` here\n```y``` too").is_empty());
    }
}
