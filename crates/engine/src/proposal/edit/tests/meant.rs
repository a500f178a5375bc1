//! Properties of what an edit says beyond its lines: what is applied is what was meant.

use super::*;
use proptest::prelude::*;

/// A file of classes with methods whose lines repeat, and where each line is.
fn classes(bodies: &[Vec<u8>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (n, body) in bodies.iter().enumerate() {
        lines.push(format!("class C{}:", n % 3));
        lines.extend(body.iter().map(|line| format!("    x{line} = 0")));
        lines.push(String::new());
    }
    lines
}

fn text(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// All ways to replace one line `old` by `new`.
fn replaced(lines: &[String], old: &str, new: &str, may: impl Fn(usize) -> bool) -> Vec<Vec<u8>> {
    let places = (0..lines.len()).filter(|at| lines[*at] == old && may(*at));
    places
        .map(|at| {
            let mut lines = lines.to_vec();
            lines[at] = new.to_owned();
            text(&lines)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// With an anchor, the change is after a line that is the anchor, whatever else fits; and if that class has the line
    /// only once and no other class has the anchor's name, it is there.
    #[test]
    fn an_anchored_hunk_lies_after_its_anchor(
        bodies in prop::collection::vec(prop::collection::vec(0u8..3, 0..4), 1..6),
        anchor in 0usize..4, wanted in 0u8..3, heading in any::<bool>(), at_end in any::<bool>(),
    ) {
        let lines = classes(&bodies);
        let name = format!("class C{anchor}:");
        let old = format!("    x{wanted} = 0");
        let at = if heading { "-1,1 +1,1 @@ " } else { "" };
        let end = if at_end { "*** End of File\n" } else { "" };
        let edit = diff(&format!("*** Update File: src/x.rs\n@@ {at}{name}\n-{old}\n+new\n{end}"));
        let first = lines.iter().position(|line| *line == name);
        let got = apply(&edit, Some(&text(&lines)));
        let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(0);
        let may = |at: usize| (heading && first.is_none() || first.is_some_and(|first| first < at)) && (!at_end || at == last);
        if let Ok(NewContent::Write(bytes)) = &got {
            prop_assert!(replaced(&lines, &old, "new", may).contains(bytes), "{edit:?}");
        }
        let owners: Vec<usize> = (0..bodies.len()).filter(|n| n % 3 == anchor).collect();
        if let [owner] = owners[..] && !at_end && !heading && bodies[owner].iter().filter(|line| **line == wanted).count() == 1 {
            let from = lines.iter().position(|line| *line == name).unwrap_or(0);
            let within = |at: usize| at > from && at <= from + bodies[owner].len();
            let meant = replaced(&lines, &old, "new", within).remove(0);
            prop_assert_eq!(got, Ok(NewContent::Write(meant)), "{:?}", edit);
        }
    }

    /// A part of a line is replaced where it is, byte for byte, or not at all.
    #[test]
    fn a_part_of_a_line_gives_what_was_meant_or_is_refused(
        lines in prop::collection::vec("[ab ]{0,14}", 1..6), from in any::<prop::sample::Index>(),
        start in 0usize..6, len in 1usize..12, crlf in any::<bool>(),
    ) {
        let ending = if crlf { "\r\n" } else { "\n" };
        let file = lines.iter().map(|line| format!("{line}{ending}")).collect::<String>();
        let line = &lines[from.index(lines.len())];
        let Some(search) = line.get(start..(start + len).min(line.len())).filter(|part| !part.trim().is_empty()) else { return Ok(()) };
        if let Ok(got) = apply(&blocks(&[(search, "NEW")]), Some(file.as_bytes())) {
            let whole = lines.iter().filter(|line| line.trim() == search.trim()).count();
            let count = (0..file.len()).filter(|at| file[*at..].starts_with(search)).count();
            let once = file.replacen(search, "NEW", 1).into_bytes();
            // A whole line wins over parts; otherwise the text occurs once.
            prop_assert!(whole >= 1 || (count == 1 && search.len() >= 8 && got == NewContent::Write(once)), "{search:?} in {file:?}: {got:?}");
        }
    }

    /// Numbers in front of the lines change nothing.
    #[test]
    fn line_numbers_give_what_the_lines_give_or_are_refused(
        lines in prop::collection::vec("[abc]{1,2}", 2..12), from in any::<prop::sample::Index>(), len in 1usize..4,
        off in 0usize..3, separator in prop::sample::select(vec!["\t", " | ", "→", ": "]),
    ) {
        let from = from.index(lines.len());
        let part = &lines[from..(from + len).min(lines.len())];
        let number = |lines: &[String]| -> String {
            lines.iter().enumerate().map(|(n, line)| format!("{}{separator}{line}\n", from + 1 + off + n)).collect()
        };
        let mut new = part.to_vec();
        new[0] = "NEW".into();
        let got = apply(&blocks(&[(&number(part), &number(&new))]), Some(&text(&lines)));
        let fits: Vec<usize> = (0..=lines.len() - part.len()).filter(|at| lines[*at..].starts_with(part)).collect();
        if let Ok(NewContent::Write(bytes)) = got {
            let at = if fits.len() == 1 { fits[0] } else { from + off };
            prop_assert!(fits.contains(&at));
            let mut after = lines.clone();
            after[at] = "NEW".into();
            prop_assert_eq!(bytes, text(&after));
        } else {
            prop_assert!(fits.len() > 1, "{:?}", got);
        }
    }

    /// Blank lines that come and go in the context: the change is where its lines are, and no blank line of the file moves.
    #[test]
    fn other_blank_lines_give_what_was_meant_or_are_refused(
        lines in prop::collection::vec(prop_oneof![2 => "[abc]", 1 => Just(String::new())], 1..14),
        from in any::<prop::sample::Index>(), len in 1usize..6, change in any::<prop::sample::Index>(),
        noise in prop::collection::vec(0usize..3, 8),
    ) {
        let from = from.index(lines.len());
        let part = &lines[from..(from + len).min(lines.len())];
        let words: Vec<usize> = (0..part.len()).filter(|at| !part[*at].is_empty()).collect();
        prop_assume!(!words.is_empty());
        let changed = words[change.index(words.len())];
        let mut body = String::new();
        for (n, line) in part.iter().enumerate() {
            match line.as_str() {
                "" if noise[n % 8] == 1 => {}
                _ if n == changed => body += &format!("-{line}\n+NEW\n"),
                _ => body += &format!(" {line}\n"),
            }
            if noise[(n + 3) % 8] == 2 {
                body += " \n";
            }
        }
        if let Ok(NewContent::Write(got)) = apply(&diff(&format!("@@\n{body}")), Some(&text(&lines))) {
            // The words around the change, blank lines left out, say which lines it can be.
            let packed: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].is_empty()).collect();
            let wanted: Vec<&String> = words.iter().map(|at| &part[*at]).collect();
            let at_word = words.iter().position(|at| *at == changed).unwrap_or(0);
            let fits = packed.windows(wanted.len()).filter(|places| places.iter().zip(&wanted).all(|(at, word)| lines[*at] == **word));
            let meant: Vec<Vec<u8>> = fits
                .map(|places| {
                    let mut after = lines.clone();
                    after[places[at_word]] = "NEW".into();
                    text(&after)
                })
                .collect();
            prop_assert!(meant.contains(&got), "{body}\n{lines:?}\n{:?}", String::from_utf8_lossy(&got));
        }
    }
}
