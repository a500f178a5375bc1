//! Properties: what is applied is what was meant, nothing else moves, and nothing panics.

use super::*;
use proptest::prelude::*;

/// One step of a script over the lines of a file.
#[derive(Debug, Clone)]
enum Step {
    Keep,
    Remove,
    Insert(String),
}

/// A diff with `context` lines around each change and the header of each hunk from `number`, and
/// the lines afterwards.
fn script(lines: &[String], steps: &[Step], context: usize, number: impl Fn(usize) -> String) -> (String, Vec<String>) {
    let mut ops: Vec<(char, String)> = Vec::new();
    let mut steps = steps.iter();
    for line in lines {
        let mut step = steps.next();
        while let Some(Step::Insert(text)) = step {
            ops.push(('+', text.clone()));
            step = steps.next();
        }
        ops.push((if matches!(step, Some(Step::Remove)) { '-' } else { ' ' }, line.clone()));
    }
    let near = |at: usize| {
        let range = at.saturating_sub(context)..(at + context + 1).min(ops.len());
        ops[range].iter().any(|op| op.0 != ' ')
    };
    let (mut diff, mut old, mut inside) = (String::new(), 0, false);
    for (at, (mark, text)) in ops.iter().enumerate() {
        if near(at) {
            if !inside {
                diff += &number(old + 1);
            }
            diff += &format!("{mark}{text}\n");
        }
        inside = near(at);
        old += usize::from(*mark != '+');
    }
    (diff, ops.into_iter().filter(|op| op.0 != '-').map(|op| op.1).collect())
}

fn steps(texts: &'static str) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => Just(Step::Keep),
        1 => Just(Step::Remove),
        1 => texts.prop_map(Step::Insert),
    ];
    prop::collection::vec(step, 0..30)
}

fn joined(lines: &[String], ending: &str, newline: bool) -> Vec<u8> {
    let mut text = lines.join(ending);
    if newline && !lines.is_empty() {
        text += ending;
    }
    text.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// Few different lines, so that places repeat: the diff applies as meant or not at all.
    #[test]
    fn a_diff_gives_what_was_meant_or_is_refused(
        lines in prop::collection::vec("[ab]{0,2} ?", 1..25), steps in steps("[abc]{0,2} ?"),
        context in 0usize..4, numbered in any::<bool>(), crlf in any::<bool>(), newline in any::<bool>(),
    ) {
        let number = |at: usize| if numbered { format!("@@ -{at} +{at} @@\n") } else { "@@ -90000,3 +1,9 @@\n".into() };
        let (text, after) = script(&lines, &steps, context, number);
        let ending = if crlf { "\r\n" } else { "\n" };
        let before = joined(&lines, ending, newline);
        // A last line that is empty and has no end is no line, so such files are not what they seem.
        prop_assume!(newline || lines.last().is_some_and(|line| !line.is_empty()));
        prop_assume!(newline || after.last().is_some_and(|line| !line.is_empty()));
        // A file of one line without an end does not show a style.
        prop_assume!(newline || !crlf || lines.len() > 1);
        if let Ok(got) = apply(&diff(&text), Some(&before)) {
            prop_assert_eq!(got, NewContent::Write(joined(&after, ending, newline)), "{}", text);
        }
    }

    /// Lines that are all different: wrong numbers are no reason to refuse.
    #[test]
    fn a_diff_of_distinct_lines_applies_whatever_its_numbers_say(
        count in 4usize..30, steps in steps("new [a-z]{3,6}"), context in 1usize..4, off in 0usize..9,
    ) {
        let lines: Vec<String> = (0..count).map(|n| format!("line {n}")).collect();
        let (text, after) = script(&lines, &steps, context, |at| format!("@@ -{} +{},7 @@\n", at + off, at));
        prop_assume!(after != lines);
        prop_assert_eq!(apply(&diff(&text), Some(&joined(&lines, "\n", true))), Ok(NewContent::Write(joined(&after, "\n", true))));
    }

    /// Lines of every style around a change keep every byte.
    #[test]
    fn bytes_outside_of_the_change_stay(
        lines in prop::collection::vec(("[ab\t ]{0,3}[\u{e9}x]?[ \t]{0,2}", any::<bool>()), 1..20),
        at in any::<prop::sample::Index>(), latin in any::<bool>(), as_block in any::<bool>(),
    ) {
        let raw: Vec<Vec<u8>> = lines.iter().map(|(text, crlf)| {
            let text: Vec<u8> = if latin { text.chars().map(|c| c as u8).collect() } else { text.clone().into_bytes() };
            [&text[..], if *crlf { &b"\r\n"[..] } else { &b"\n"[..] }].concat()
        }).collect();
        let at = at.index(raw.len());
        let old = lines[at].0.trim_end();
        let edit = if as_block { blocks(&[(old, "QQ")]) } else { diff(&format!("@@ -{} +1 @@\n-{old}\n+QQ\n", at + 1)) };
        if let Ok(NewContent::Write(got)) = apply(&edit, Some(&raw.concat())) {
            // Only one line may differ, and its end is what it was.
            let fits = (0..raw.len()).any(|at| {
                let (head, tail) = (raw[..at].concat(), raw[at + 1..].concat());
                let ending = if raw[at].ends_with(b"\r\n") { &b"QQ\r\n"[..] } else { &b"QQ\n"[..] };
                got.starts_with(&head) && got.ends_with(&tail) && got[head.len()..got.len() - tail.len()].ends_with(ending)
            });
            prop_assert!(fits, "{:?}", got);
        }
    }

    /// Nested code whose diff has another indentation style: re-indented as meant, or refused.
    #[test]
    fn other_indentation_gives_what_was_meant_or_is_refused(
        turns in prop::collection::vec(0usize..4, 3..14), added in prop::collection::vec(0usize..4, 1..4),
        at in any::<prop::sample::Index>(), context in 0usize..3, remove in any::<bool>(), offset in -1isize..2,
        tabs in any::<bool>(), other in prop::sample::select(vec!["\t", "  ", "    "]), wide in any::<bool>(),
    ) {
        let unit = if tabs { "\t" } else if wide { "    " } else { "  " };
        // Blanks of another width are another indentation, not an offset: not for us to read.
        if unit != other && unit != "\t" && other != "\t" {
            return Ok(());
        }
        // A line goes at most one level deeper than the one before.
        let mut level = 0;
        let mut levels = |turns: &[usize], from: usize| -> Vec<usize> {
            level = from;
            turns.iter().map(|turn| { level = (level + 2).saturating_sub(*turn + 1); level }).collect()
        };
        let file = levels(&turns, 0);
        let at = at.index(file.len());
        let new = levels(&added, if remove && at > 0 { file[at - 1] } else { file[at] });
        let line = |unit: &str, level: usize, offset: isize, name: String| -> Option<String> {
            Some(format!("{}{name}", unit.repeat(level.checked_add_signed(offset)?)))
        };
        let before: Vec<String> = file.iter().enumerate().filter_map(|(n, level)| line(unit, *level, 0, format!("l{n}"))).collect();
        let mut after = before.clone();
        let place = if remove { at..at + 1 } else { at + 1..at + 1 };
        after.splice(place, new.iter().enumerate().filter_map(|(n, level)| line(unit, *level, 0, format!("n{n}"))));
        let mut text = String::from("@@\n");
        let marked = |mark: char, level: usize, name: String| Some(format!("{mark}{}\n", line(other, level, offset, name)?));
        let first = at.saturating_sub(context);
        for (n, level) in file.iter().enumerate().take(at + context + 1).skip(first) {
            let Some(old) = marked(if remove && n == at { '-' } else { ' ' }, *level, format!("l{n}")) else { return Ok(()) };
            text += &old;
            for (n, level) in new.iter().enumerate().filter(|_| n == at) {
                let Some(new) = marked('+', *level, format!("n{n}")) else { return Ok(()) };
                text += &new;
            }
        }
        // Nor does a file without any indentation show whether it would have tabs.
        let style_known = unit == other || file.iter().any(|level| *level > 0);
        // A context of nothing but top-level lines shows no difference: the added lines are as given.
        let shows = text.lines().any(|line| !line.starts_with('+') && line[1..].starts_with([' ', '\t'])) || offset != 0;
        let shows = shows && style_known;
        if let Ok(got) = apply(&diff(&text), Some(&joined(&before, "\n", true))) {
            prop_assert!(!shows || got == NewContent::Write(joined(&after, "\n", true)), "{text}\n{:?}\n{got:?}", after);
        }
    }

    #[test]
    fn nothing_panics(
        file in prop::collection::vec(prop::sample::select(FRAGMENTS.to_vec()), 0..20),
        edit in prop::collection::vec(prop::sample::select(FRAGMENTS.to_vec()), 0..30),
        replace in prop::collection::vec(prop::sample::select(FRAGMENTS.to_vec()), 0..10),
        noise in any::<Vec<u8>>(), words in any::<String>(), there in any::<bool>(),
    ) {
        let (file, text, replace) = (file.concat(), edit.concat(), replace.concat());
        for before in [file.as_bytes(), &noise] {
            let before = there.then_some(before);
            for edit in [diff(&text), diff(&words), blocks(&[(&text, &replace)]), blocks(&[(&words, &text)]), whole(&text), whole(&words)] {
                let _ = apply(&edit, before);
            }
        }
    }
}

/// Pieces that diffs are made of, and pieces that break them.
const FRAGMENTS: &[&str] = &[
    "\n",
    "\r\n",
    "@@",
    "@@ -1,2 +1,3 @@",
    "@@ -0,0 +1 @@",
    "@@ -4294967295,0 +4294967295,0 @@",
    "--- a/src/x.rs",
    "+++ b/src/x.rs",
    "--- /dev/null",
    "+++ /dev/null",
    "diff --git a/src/x.rs b/src/x.rs",
    "\\ No newline at end of file",
    "+",
    "-",
    " ",
    "\t",
    "a",
    "b",
    "+a\n",
    "-a\n",
    " a\n",
    "+b\n",
    "-b\n",
    " b\n",
    "\n",
    "...",
    "// ...",
    "```",
    "é",
    "\u{feff}",
    "\u{2028}",
    "\"",
    "\\",
    "new file mode",
    "Index: ",
    "====",
    "    a\n",
    "\ta\n",
    "+    b\n",
    "*** Update File: ",
    "-- \n2.0\n",
];
