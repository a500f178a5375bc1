//! Compares two states of a file: blocks of lines, hunks with context, and counts.
//!
//! The same two states always give the same hunks, on every machine and under any load: users and scripts name a hunk
//! by its number (`PATH:K`, from 1, in the order of the file), so no clock cuts the comparison short. Lines end with
//! `\n` only, and the blocks are those of `git diff`, so that the counts equal `git diff --numstat`.

use std::collections::HashMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Unchanged lines that a hunk shows around its changes.
pub const CONTEXT: usize = 3;
/// How far a file is searched for a zero byte, which no text has.
const BINARY_PREFIX: usize = 8_000;

/// Lines that were replaced by others. One side may be empty, never both. Lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedBlock {
    /// The lines that went.
    pub before: Range<usize>,
    /// The lines that came.
    pub after: Range<usize>,
}

/// Blocks that stand close together, with the unchanged lines around them. Lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// The part of the earlier state that it covers.
    pub before: Range<usize>,
    /// The part of the later state that it covers.
    pub after: Range<usize>,
    /// What changed within, in order.
    pub blocks: Vec<ChangedBlock>,
}

impl DiffHunk {
    /// As patches write it: `@@ -1,3 +1,4 @@`.
    pub fn header(&self) -> String {
        let side = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => format!("{}", range.start + 1),
            lines => format!("{},{lines}", range.start + 1),
        };
        format!("@@ -{} +{} @@", side(&self.before), side(&self.after))
    }
}

/// How many lines a change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineStats {
    /// Lines that are new, those of `modified` among them.
    pub added: u64,
    /// Lines that went, those of `modified` among them.
    pub removed: u64,
    /// Lines that were replaced rather than only added or removed: of each block, as many as it has on
    /// both sides.
    pub modified: u64,
}

impl LineStats {
    pub fn count(blocks: &[ChangedBlock]) -> Self {
        let mut stats = Self::default();
        for block in blocks {
            stats.removed += block.before.len() as u64;
            stats.added += block.after.len() as u64;
            stats.modified += block.before.len().min(block.after.len()) as u64;
        }
        stats
    }
}

/// The lines of a file with their ends, the last one perhaps without.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Whether bytes are binary, by the rule of `git`.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PREFIX)].contains(&0)
}

/// The blocks in which two texts differ, in order.
pub fn blocks(before: &[u8], after: &[u8]) -> Vec<ChangedBlock> {
    if before == after {
        return Vec::new();
    }
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|one| ChangedBlock { before: range(one.before), after: range(one.after) }).collect()
}

/// The hunks in which two texts differ, in order; the first is number 1.
pub fn hunks(before: &[u8], after: &[u8]) -> Vec<DiffHunk> {
    let last = lines(before).len();
    hunks_of(blocks(before, after), last, CONTEXT)
}

/// Blocks put together to hunks with so much context; `last`: how many lines the earlier state has.
pub fn hunks_of(blocks: Vec<ChangedBlock>, last: usize, context: usize) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    for block in blocks {
        let above = block.before.start.min(context);
        let below = (last - block.before.end).min(context);
        let before = block.before.start - above..block.before.end + below;
        // Where the context reaches into the block before, this one joins its hunk, and only the end counts.
        let after = block.after.start.saturating_sub(above)..block.after.end + below;
        match hunks.last_mut() {
            Some(hunk) if before.start <= hunk.before.end => {
                hunk.before.end = before.end;
                hunk.after.end = after.end;
                hunk.blocks.push(block);
            }
            _ => hunks.push(DiffHunk { before, after, blocks: vec![block] }),
        }
    }
    hunks
}

/// The change as a patch with its counts. An absent state means no file. Binary files have no lines to count.
pub fn patch(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> (String, LineStats) {
    let name = |there: bool, prefix: &str| if there { format!("{prefix}/{path}") } else { "/dev/null".to_owned() };
    let (from, to) = (name(before.is_some(), "a"), name(after.is_some(), "b"));
    let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
    if is_binary(old) || is_binary(new) {
        let same = old == new && before.is_some() == after.is_some();
        return (
            if same { String::new() } else { format!("Binary files {from} and {to} differ\n") },
            LineStats::default(),
        );
    }
    let (before, after) = (lines(old), lines(new));
    let blocks = blocks(old, new);
    let stats = LineStats::count(&blocks);
    if blocks.is_empty() {
        return (String::new(), stats);
    }
    let mut text = format!("--- {from}\n+++ {to}\n");
    for hunk in hunks_of(blocks, before.len(), CONTEXT) {
        text += &hunk.header();
        text.push('\n');
        let mut at = hunk.before.start;
        for block in &hunk.blocks {
            put(&mut text, ' ', &before[at..block.before.start]);
            put(&mut text, '-', &before[block.before.clone()]);
            put(&mut text, '+', &after[block.after.clone()]);
            at = block.before.end;
        }
        put(&mut text, ' ', &before[at..hunk.before.end]);
    }
    (text, stats)
}

fn put(text: &mut String, sign: char, lines: &[&[u8]]) {
    for line in lines {
        text.push(sign);
        *text += &String::from_utf8_lossy(line);
        if !line.ends_with(b"\n") {
            *text += "\n\\ No newline at end of file\n";
        }
    }
}

/// Lines of a file that must be lost before it is asked about.
const HANDFUL: usize = 5;

/// How many lines of a text are lost in a new one, of how many, if that is most of it and the text becomes much shorter.
/// One that is rewritten at about its old length, as a translation is, drops nothing. Blank lines and indentation do not
/// count.
pub fn dropped(before: &[u8], after: &[u8]) -> Option<(usize, usize)> {
    fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
        text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
    }
    let mut there: HashMap<&[u8], usize> = HashMap::new();
    lines(after).for_each(|line| *there.entry(line).or_default() += 1);
    let (old, new) = (lines(before).count(), there.values().sum::<usize>());
    let mut lost = 0;
    for line in lines(before) {
        match there.get_mut(line) {
            Some(left) if *left > 0 => *left -= 1,
            _ => lost += 1,
        }
    }
    let is_most = lost >= HANDFUL && lost * 2 > old && new * 4 < old * 3;
    is_most.then_some((lost, old))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(range: Range<usize>) -> String {
        range.map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn changes_close_together_are_one_hunk_and_others_have_numbers_of_their_own() {
        let before = numbered(1..40);
        let apart = |gap: usize| {
            let after = before.replace("line 10\n", "ten\n").replace(&format!("line {}\n", 11 + gap), "other\n");
            hunks(before.as_bytes(), after.as_bytes()).len()
        };
        assert_eq!([apart(0), apart(6), apart(7), apart(20)], [1, 1, 2, 2]);
    }

    #[test]
    fn a_replaced_block_counts_as_modified_as_far_as_both_sides_reach() {
        let of = |before: &str, after: &str| {
            let stats = LineStats::count(&blocks(before.as_bytes(), after.as_bytes()));
            (stats.added, stats.removed, stats.modified)
        };
        assert_eq!(of("a\nb\nc\n", "a\nB\nB2\nc\n"), (2, 1, 1));
        assert_eq!(of("a\nb\nc\n", "a\nc\nd\n"), (1, 1, 0), "a line gone here and one come there is no line modified");
        assert_eq!(of("", "a\nb"), (2, 0, 0));
        assert_eq!(of("a\nb", "a\nb\n"), (1, 1, 1), "the end of the last line is part of it");
        assert_eq!(of("a\r\nb\r\n", "a\nb\n"), (2, 2, 2));
    }

    #[test]
    fn a_patch_is_as_others_write_it() {
        let (text, _) = patch("x", Some(b"1\n2\n3\n4\n5"), Some(b"1\n2\n3\nfour\n5\n"));
        insta::assert_snapshot!(text, @r"
        --- a/x
        +++ b/x
        @@ -1,5 +1,5 @@
         1
         2
         3
        -4
        -5
        \ No newline at end of file
        +four
        +5
        ");
        insta::assert_snapshot!(patch("new", None, Some(b"a\n")).0, @"
        --- /dev/null
        +++ b/new
        @@ -0,0 +1 @@
        +a
        ");
        insta::assert_snapshot!(patch("gone", Some(b"a\nb\n"), None).0, @"
        --- a/gone
        +++ /dev/null
        @@ -1,2 +0,0 @@
        -a
        -b
        ");
        assert_eq!(patch("b", Some(b"\0"), Some(b"\0\n")).0, "Binary files a/b and b/b differ\n");
        assert_eq!(patch("b", Some(b"same"), Some(b"same")), (String::new(), LineStats::default()));
    }

    proptest! {
        #[test]
        fn hunks_and_what_lies_between_them_give_back_the_later_state(
            before in proptest::collection::vec("[abc]?\r?", 0..60),
            after in proptest::collection::vec("[abc]?\r?", 0..60),
            ends in any::<[bool; 2]>(),
        ) {
            let text = |lines: &[String], end: bool| lines.join("\n") + if end { "\n" } else { "" };
            let (before, after) = (text(&before, ends[0]), text(&after, ends[1]));
            let (old, new) = (lines(before.as_bytes()), lines(after.as_bytes()));
            let (mut built, mut at, mut there) = (Vec::new(), 0, 0);
            for hunk in hunks(before.as_bytes(), after.as_bytes()) {
                prop_assert!(hunk.before.start >= at && hunk.after.start >= there, "hunks are in order");
                for block in &hunk.blocks {
                    prop_assert!(!block.before.is_empty() || !block.after.is_empty());
                    built.extend_from_slice(&old[at..block.before.start]);
                    built.extend_from_slice(&new[block.after.clone()]);
                    at = block.before.end;
                }
                built.extend_from_slice(&old[at..hunk.before.end]);
                at = hunk.before.end;
                there = hunk.after.end;
            }
            built.extend_from_slice(&old[at..]);
            prop_assert_eq!(built, new);
        }
    }

    #[test]
    fn a_text_is_dropped_where_most_of_it_is_gone_and_little_comes_in_its_place() {
        let program = "import sys\n\ndef greet(name):\n    return \"Hello, \" + name\n\nif __name__ == \"__main__\":\n    print(greet(sys.argv[1]))\n    sys.exit(0)\n";
        let of = |after: &str| dropped(program.as_bytes(), after.as_bytes());
        assert_eq!(of("The greet function was added with a 'Goodbye, ' prefix."), Some((6, 6)));
        assert_eq!(of("This is a new greet.py file.\n"), Some((6, 6)));
        assert_eq!(of(""), Some((6, 6)));
        assert_eq!(of(program), None);
        assert_eq!(of(&format!("{program}\ndef farewell(name):\n    return name\n")), None);
        assert_eq!(of(&program.replace('"', "'")), None, "other quotation marks");
        assert_eq!(of(&program.replace("    ", "\t")), None, "other indentation");
        let translated: String = numbered(0..6).replace("line", "Zeile");
        assert_eq!(of(&translated), None, "another text of the same length");
        assert_eq!(dropped(b"a\nb\nc\nd\n", b"x\n"), None, "too little to be worth a question");
        assert_eq!(dropped(numbered(0..100).as_bytes(), numbered(0..51).as_bytes()), None, "half of it stays");
        assert_eq!(dropped(numbered(0..100).as_bytes(), numbered(0..49).as_bytes()), Some((51, 100)));
        assert_eq!(dropped(b"}\n}\n}\n}\n}\n}\n", b"}\n"), Some((5, 6)), "each line counts for itself");
    }
}
