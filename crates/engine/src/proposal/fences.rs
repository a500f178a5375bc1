//! The parts of a reply that count as said, and its code fences.

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

/// The same text with everything that is reasoning replaced by spaces, so that places in it stay the same. Reasoning
/// that never ends reaches to the end; a closing tag without an opening one ends reasoning that began before the reply.
pub(crate) fn without_thoughts(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut blank = |range: Range<usize>| {
        bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    for (open, close) in THOUGHTS {
        let mut at = 0;
        if let Some(end) = text.find(close)
            && text[..end].find(open).is_none()
            && close.starts_with(['<', '[', '\u{25c1}'])
            && *close != "<|end|>"
        {
            at = end + close.len();
            blank(0..at);
        }
        while let Some(start) = text[at..].find(open).map(|start| at + start) {
            at = text[start..].find(close).map_or(text.len(), |end| start + end + close.len());
            blank(start..at);
        }
    }
    // Only whole characters were replaced, because every tag and every text between two tags is whole.
    String::from_utf8(bytes).unwrap_or_default()
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplyFence<'t> {
    /// What stands behind the opening marks.
    pub(crate) info: &'t str,
    /// The lines between the marks, each with its end.
    pub(crate) body: &'t str,
    /// From the opening marks to the end of the closing line.
    pub(crate) range: Range<usize>,
    /// Whether it has an end. One without may lack any part of its text.
    pub(crate) is_closed: bool,
}

impl<'t> ReplyFence<'t> {
    /// The last line before it that says something.
    pub(crate) fn line_before(&self, text: &'t str) -> &'t str {
        let before = text[..self.range.start].trim_end();
        before.rsplit('\n').next().unwrap_or_default().trim()
    }

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

/// The fences of a text, in order. Inside of one, marks with an info string open another one, whose end is not that of
/// the first: models write documents with code in them so.
pub(crate) fn fences(text: &str) -> Vec<ReplyFence<'_>> {
    struct OpenFence<'t> {
        mark: char,
        count: usize,
        info: &'t str,
        start: usize,
        body: usize,
        inner: usize,
    }
    let mut found = Vec::new();
    let mut open: Option<OpenFence<'_>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some((mark, count, info)) = marks(line.trim_end_matches(['\n', '\r'])) else { continue };
        match &mut open {
            None => open = Some(OpenFence { mark, count, info, start, body: end, inner: 0 }),
            Some(fence) if mark != fence.mark || count < fence.count => {}
            Some(fence) if !info.is_empty() => fence.inner += 1,
            Some(fence) if fence.inner > 0 => fence.inner -= 1,
            Some(_) => {
                let fence = open.take().expect("it is open");
                let (info, body) = (fence.info, &text[fence.body..start]);
                found.push(ReplyFence { info, body, range: fence.start..end, is_closed: true });
            }
        }
    }
    if let Some(fence) = open {
        let (info, body) = (fence.info, &text[fence.body..]);
        found.push(ReplyFence { info, body, range: fence.start..text.len(), is_closed: false });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((found[0].info, found[0].body, found[0].is_closed), ("python hello.py", "print(1)\n", true));
        assert_eq!((found[0].language(), found[0].line_before(text)), ("python", "One:"));
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
