//! The laws of a merge, and merges whose outcome is known because of how they were made.

use proptest::prelude::*;

use super::*;

fn merged(base: &str, left: &str, right: &str) -> Result<String, Vec<Clash>> {
    let merged = merge(base.as_bytes(), left.as_bytes(), right.as_bytes(), Prefer::Neither);
    merged.map(|bytes| String::from_utf8(bytes).expect("a text"))
}

#[test]
fn changes_in_different_places_come_together() {
    assert_eq!(merged("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\nf\n").unwrap(), "A\nb\nc\nd\nE\nf\n");
    assert_eq!(merged("a\nb\nc\n", "b\nc\n", "a\nb\n").unwrap(), "b\n");
}

#[test]
fn changes_of_the_same_lines_clash_and_are_shown() {
    let clashes = merged("1\n2\n3\n", "1\nmine\n3\n", "1\ntheirs\n3\n").unwrap_err();
    let (base, ours, theirs) = (b"2\n".to_vec(), b"mine\n".to_vec(), b"theirs\n".to_vec());
    assert_eq!(clashes, [Clash::Lines { left: 1..2, base, ours, theirs }]);
}

#[test]
fn changes_without_an_untouched_line_between_them_clash() {
    assert!(merged("1\n2\n3\n4\n", "1\nX\n3\n4\n", "1\n2\nY\n4\n").is_err());
    assert!(merged("1\n2\n", "0\n1\n2\n", "2\n").is_err());
    assert_eq!(merged("1\n2\n3\n", "X\n2\n3\n", "1\n2\nY\n").unwrap(), "X\n2\nY\n");
}

#[test]
fn the_same_change_on_both_sides_is_made_once() {
    assert_eq!(merged("1\n2\n3\n4\n5\n", "1\nX\n3\n4\n5\n", "1\nX\n3\n4\nY\n").unwrap(), "1\nX\n3\n4\nY\n");
}

#[test]
fn line_ends_marks_and_missing_ends_are_kept() {
    let base = "\u{feff}a\r\nb\r\nc\nd\r\ne";
    let left = "\u{feff}a\r\nB\r\nc\nd\r\ne";
    let right = "\u{feff}a\r\nb\r\nc\nd\r\nE";
    assert_eq!(merged(base, left, right).unwrap(), "\u{feff}a\r\nB\r\nc\nd\r\nE");
}

#[test]
fn what_is_no_text_is_merged_only_without_taking_it_apart() {
    let all = |base: &[u8], left: &[u8], right: &[u8]| merge(base, left, right, Prefer::Neither);
    assert_eq!(all(b"\0a", b"\0b", b"\0a").unwrap(), b"\0b");
    assert_eq!(all(b"\0a", b"\0b", b"\0b").unwrap(), b"\0b");
    assert_eq!(all(b"\0a\n\n\n", b"\0b\n\n\n", b"\0a\n\nc\n"), Err(vec![Clash::NoText]));
    assert_eq!(all(b"\xff\nx\ny\n", b"\xff\nX\ny\n", b"\xfe\nx\ny\n"), Err(vec![Clash::NoText]));
    assert_eq!(merge(b"\0", b"1", b"2", Prefer::Right).unwrap(), b"2");
}

#[test]
fn a_preferred_side_wins_only_where_both_clash() {
    let (base, left, right) = (b"1\n2\n3\n4\n5\n", b"1\nL\n3\n4\n5\n", b"1\nR\n3\n4\nR\n");
    assert_eq!(merge(base, left, right, Prefer::Left).unwrap(), b"1\nL\n3\n4\nR\n");
    assert_eq!(merge(base, left, right, Prefer::Right).unwrap(), b"1\nR\n3\n4\nR\n");
}

#[test]
fn hunks_are_counted_as_people_see_them_and_can_be_left_out() {
    let lines = |edit: &dyn Fn(usize) -> Option<&'static str>| -> String {
        (0..30).map(|n| edit(n).map_or(format!("{n}\n"), str::to_owned)).collect()
    };
    let before = lines(&|_| None);
    // The second and the third are six lines apart and are shown together.
    let after = lines(&|n| match n {
        2 => Some("two\n"),
        15 => Some(""),
        21 => Some("21\nmore\n"),
        _ => None,
    });
    assert_eq!(hunks(before.as_bytes(), after.as_bytes()).len(), 2);
    let first_only = without(before.as_bytes(), after.as_bytes(), &[2]).unwrap();
    assert_eq!(String::from_utf8(first_only).unwrap(), lines(&|n| (n == 2).then_some("two\n")));
    assert_eq!(without(before.as_bytes(), after.as_bytes(), &[1, 2]).unwrap(), before.as_bytes());
    assert_eq!(without(before.as_bytes(), after.as_bytes(), &[]).unwrap(), after.as_bytes());
    assert_eq!(without(before.as_bytes(), after.as_bytes(), &[3]), Err(3));
}

/// Texts of few different lines, where alignment is hardest.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![Just("a\n"), Just("b\n"), Just("c\r\n"), Just("\n"), Just("}\n"), Just("d\n"), Just("e\n")];
    (proptest::collection::vec(line, 0..24), any::<bool>())
        .prop_map(|(lines, open)| lines.concat() + if open { "end" } else { "" })
}

fn count(text: &str, line: &str) -> i64 {
    text.split_inclusive('\n').filter(|one| *one == line).count() as i64
}

/// A text of lines that differ, with line ends of both kinds, and perhaps without the last one.
fn numbered(lines: &[(u32, bool)], ends: bool) -> Vec<u8> {
    let line = |(number, crlf): &(u32, bool)| format!("line {number}{}", if *crlf { "\r\n" } else { "\n" });
    let text: String = lines.iter().map(line).collect();
    let text = if ends { text.as_str() } else { text.trim_end_matches(['\r', '\n']) };
    text.as_bytes().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn some_hunks_and_then_the_others_are_all_of_them(
        crlf in proptest::collection::vec(any::<bool>(), 1..120),
        edits in proptest::collection::vec((0..3u8, 0..120usize), 1..12),
        ends in any::<[bool; 2]>(),
        dice in any::<u64>(),
    ) {
        let lines: Vec<(u32, bool)> = (0..).zip(crlf).collect();
        let mut changed = lines.clone();
        for (fresh, (kind, at)) in (1_000..).zip(edits) {
            let at = at % (changed.len() + 1);
            match kind {
                0 => changed.insert(at, (fresh, false)),
                1 if at < changed.len() => drop(changed.remove(at)),
                _ if at < changed.len() => changed[at].0 = fresh,
                _ => changed.push((fresh, true)),
            }
        }
        let (before, after) = (numbered(&lines, ends[0]), numbered(&changed, ends[1]));
        let all: Vec<u32> = (1..=hunks(&before, &after).len() as u32).collect();
        let (some, others): (Vec<u32>, Vec<u32>) = all.iter().partition(|number| dice >> (*number % 64) & 1 == 1);
        prop_assert_eq!(&without(&before, &after, &all).unwrap(), &before);
        // What has some of them is brought together with what has the others.
        let (first, second) = (without(&before, &after, &others).unwrap(), without(&before, &after, &some).unwrap());
        prop_assert_eq!(hunks(&before, &first).len(), some.len());
        prop_assert_eq!(merge(&before, &first, &second, Prefer::Neither).unwrap(), after.clone());
        // Or the others are what is left to do, one after the other.
        let mut now = first;
        for left in (0..others.len() as u32).rev() {
            let rest: Vec<u32> = (2..=left + 1).collect();
            prop_assert_eq!(hunks(&now, &after).len() as u32, left + 1);
            now = without(&now, &after, &rest).unwrap();
        }
        prop_assert_eq!(now, after);
    }

    #[test]
    fn who_changes_nothing_takes_the_other_side(base in text(), side in text()) {
        prop_assert_eq!(merged(&base, &base, &side).unwrap(), side.clone());
        prop_assert_eq!(merged(&base, &side, &base).unwrap(), side.clone());
        prop_assert_eq!(merged(&base, &side, &side).unwrap(), side);
    }

    #[test]
    fn sides_can_be_swapped(base in text(), left in text(), right in text()) {
        let (one, other) = (merged(&base, &left, &right), merged(&base, &right, &left));
        prop_assert_eq!(one.clone().ok(), other.clone().ok());
        prop_assert_eq!(one.err().map(|all| all.len()), other.err().map(|all| all.len()));
    }

    /// A line that a side has brought in is there as often as it brought it, and nothing is made up.
    #[test]
    fn no_line_is_lost_or_made_up(base in text(), left in text(), right in text()) {
        if let Ok(whole) = merged(&base, &left, &right) {
            let all = [&base, &left, &right, &whole].map(|text| text.split_inclusive('\n'));
            for line in all.into_iter().flatten() {
                let [b, l, r, m] = [&base, &left, &right, &whole].map(|text| count(text, line));
                if b == 0 {
                    prop_assert!((l.max(r)..=l + r).contains(&m), "{:?}: {} of {} and {}", line, m, l, r);
                }
                prop_assert!(m <= b + l + r);
            }
        }
    }

    /// Both sides change blocks of their own, with an untouched line between any two: the outcome is known.
    #[test]
    fn changes_apart_are_all_made(blocks in proptest::collection::vec((0..3u8, 0..3usize, 1..4usize), 1..40)) {
        let (mut base, mut left, mut right, mut whole) = (String::new(), String::new(), String::new(), String::new());
        for (at, (who, new, kept)) in blocks.into_iter().enumerate() {
            let old = format!("old {at}\n");
            let new: String = (0..new).map(|n| format!("new {at} {n}\n")).collect();
            base += &old;
            left += if who == 1 { &new } else { &old };
            right += if who == 2 { &new } else { &old };
            whole += if who == 0 { &old } else { &new };
            for n in 0..kept {
                for text in [&mut base, &mut left, &mut right, &mut whole] {
                    *text += &format!("kept {at} {n}\n");
                }
            }
        }
        prop_assert_eq!(merged(&base, &left, &right).unwrap(), whole);
    }

    #[test]
    fn left_out_hunks_and_the_rest_make_up_the_whole(before in text(), after in text()) {
        let all: Vec<u32> = (1..=hunks(before.as_bytes(), after.as_bytes()).len() as u32).collect();
        prop_assert_eq!(&without(before.as_bytes(), after.as_bytes(), &all).unwrap(), before.as_bytes());
        prop_assert_eq!(&without(before.as_bytes(), after.as_bytes(), &[]).unwrap(), after.as_bytes());
    }

    #[test]
    fn bytes_of_any_kind_never_break_it(base in any::<Vec<u8>>(), left in any::<Vec<u8>>(), right in any::<Vec<u8>>()) {
        let _ = merge(&base, &left, &right, Prefer::Neither);
    }
}

/// The same cases for `git merge-file`, if it is there: `cargo test -p trimtab-engine git_agrees -- --ignored`.
#[test]
#[ignore = "needs git"]
#[allow(clippy::disallowed_types, reason = "the peer is another program")]
fn git_agrees() {
    use std::fmt::Write as _;
    let folder = std::env::temp_dir().join(format!("trimtab-merge-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut seed = 7_u64;
    let mut roll = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut clean, mut clashed) = (0, 0);
    for case in 0..3_000 {
        let lines = 1 + roll(40);
        let mut base = String::new();
        (0..lines).for_each(|n| writeln!(base, "line {n}").unwrap());
        let edit = |text: &str, name: &str, roll: &mut dyn FnMut(u64) -> u64| -> String {
            text.split_inclusive('\n')
                .map(|line| match roll(24) {
                    0 => String::new(),
                    1 => format!("{name} {line}"),
                    2 => format!("{line}{name} more\n"),
                    3 => line.to_uppercase(),
                    _ => line.to_owned(),
                })
                .collect()
        };
        let (left, right) = (edit(&base, "left", &mut roll), edit(&base, "right", &mut roll));
        for (name, text) in [("base", &base), ("left", &left), ("right", &right)] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let git = std::process::Command::new("git")
            .args(["merge-file", "-p", "left", "base", "right"])
            .current_dir(&folder)
            .output()
            .expect("git");
        let ours = merged(&base, &left, &right);
        let theirs = git.status.success().then(|| String::from_utf8(git.stdout).unwrap());
        assert_eq!(ours.as_ref().ok(), theirs.as_ref(), "case {case}\n{base}--\n{left}--\n{right}");
        *(if ours.is_ok() { &mut clean } else { &mut clashed }) += 1;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{clean} clean, {clashed} clashed, all as git says");
}
