//! Tags around an answer: reasoning, and markers of the answer.

use std::cell::Cell;

use super::source::JsonSource;

/// Beginning and end of what is thought and not said, in lower case.
const THOUGHT: &[(&[u8], &[u8])] = &[
    (b"<think", b"</think"),
    (b"<thinking", b"</thinking"),
    (b"<thought", b"</thought"),
    (b"<reasoning", b"</reasoning"),
    (b"<reflection", b"</reflection"),
    (b"<scratchpad", b"</scratchpad"),
    (b"[think]", b"[/think]"),
    ("\u{25c1}think\u{25b7}".as_bytes(), "\u{25c1}/think\u{25b7}".as_bytes()),
    (b"<|begin_of_thought|>", b"<|end_of_thought|>"),
    (b"<|channel|>analysis", b"<|channel|>final"),
];

/// Start and end tags of an answer.
const SAID: &[(&[u8], &[u8])] = &[
    (b"<response", b"</response"),
    (b"<answer", b"</answer"),
    (b"<final_answer", b"</final_answer"),
    (b"<final", b"</final"),
    (b"<output", b"</output"),
];

/// A tag and what it means for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyTag {
    /// A thought, over at this place.
    Thought(usize),
    /// A thought that never ends.
    Endless,
    /// The end of a thought whose beginning was not seen.
    ThoughtEnds(usize),
    /// The answer continues from the first place to the second.
    Said(usize, usize),
}

/// Finds tags, and remembers the ends it has looked for.
pub(super) struct Tags {
    ends: Vec<Cell<(usize, usize)>>,
}

impl Tags {
    pub(super) fn new() -> Self {
        // One more than there are pairs: the last remembers where something is said.
        Self { ends: (0..=THOUGHT.len() + SAID.len()).map(|_| Cell::new((1, 0))).collect() }
    }

    /// The tag at this place.
    pub(super) fn at(&self, source: &JsonSource<'_>, pos: usize) -> Option<ReplyTag> {
        if !matches!(source.at(pos)?, b'<' | b'[' | 0xe2)
            || pos.checked_sub(1).and_then(|at| source.at(at)) == Some(b'`')
        {
            return None;
        }
        // Of the tags in square brackets all begin alike; a text of many brackets is not compared with each.
        if source.at(pos) == Some(b'[') && !matches!(source.at(pos + 1), Some(b't' | b'T' | b'/')) {
            return None;
        }
        source.count(1);
        for (at, (open, close)) in THOUGHT.iter().enumerate() {
            if is_tag(source, pos, close) {
                return Some(ReplyTag::ThoughtEnds(tag_end(source, pos, close)));
            }
            if is_tag(source, pos, open) {
                return self.thought(source, pos, at);
            }
        }
        let (at, (open, _)) = SAID.iter().enumerate().find(|(_, (open, _))| is_tag(source, pos, open))?;
        let from = tag_end(source, pos, open);
        Some(ReplyTag::Said(from, self.end(source, THOUGHT.len() + at, from).unwrap_or(source.bytes.len())))
    }

    fn thought(&self, source: &JsonSource<'_>, pos: usize, at: usize) -> Option<ReplyTag> {
        let (_, close) = THOUGHT[at];
        if let Some(end) = self.end(source, at, pos + 1) {
            return Some(ReplyTag::Thought(tag_end(source, end, close)));
        }
        // The answer ends the reasoning, even without a closing tag.
        if let Some(said) = self.opening(source, pos + 1) {
            return Some(ReplyTag::Thought(said));
        }
        // In the middle of a line it is talk about tags.
        let line = source.bytes[..pos].iter().rev().take_while(|b| **b != b'\n').take(64).all(u8::is_ascii_whitespace);
        line.then_some(ReplyTag::Endless)
    }

    /// Where the tag that ends one of the pairs stands.
    fn end(&self, source: &JsonSource<'_>, pair: usize, from: usize) -> Option<usize> {
        let close = THOUGHT.iter().chain(SAID).nth(pair)?.1;
        find(source, &self.ends[pair], from, close)
    }

    fn opening(&self, source: &JsonSource<'_>, from: usize) -> Option<usize> {
        find(source, &self.ends[THOUGHT.len() + SAID.len()], from, SAID[0].0)
    }
}

fn is_tag(source: &JsonSource<'_>, pos: usize, tag: &[u8]) -> bool {
    let Some(here) = source.bytes.get(pos..pos + tag.len()) else { return false };
    here.eq_ignore_ascii_case(tag)
        && (!tag[tag.len() - 1].is_ascii_alphabetic()
            || !source.at(pos + tag.len()).is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// After a tag and the bracket that ends it.
fn tag_end(source: &JsonSource<'_>, pos: usize, tag: &[u8]) -> usize {
    let from = pos + tag.len();
    if !tag.ends_with(b"k") && !tag.starts_with(b"<") || tag.ends_with(b"|>") {
        return from;
    }
    let rest = source.bytes.get(from..).unwrap_or_default();
    match rest.iter().take(128).position(|b| matches!(b, b'>' | b'\n' | b'<' | b'{')) {
        Some(at) if rest[at] == b'>' => from + at + 1,
        _ => from,
    }
}

fn find(source: &JsonSource<'_>, cache: &Cell<(usize, usize)>, from: usize, tag: &[u8]) -> Option<usize> {
    let (asked, found) = cache.get();
    let found = if asked <= from && from <= found {
        found
    } else {
        let found = (from..source.bytes.len()).find(|pos| is_tag(source, *pos, tag)).unwrap_or(source.bytes.len());
        source.count(found - from.min(found));
        cache.set((from, found));
        found
    };
    (found < source.bytes.len()).then_some(found)
}
