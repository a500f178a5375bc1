//! A change for people: colours where there is a terminal, and within changed lines the words that
//! changed.

use std::io::IsTerminal;

use similar::{ChangeTag, TextDiff};

use super::output::{calm, no_colour};

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const CYAN: &str = "\u{1b}[36m";
const BOLD: &str = "\u{1b}[1m";
const STRONG: &str = "\u{1b}[7m";
const PLAIN: &str = "\u{1b}[0m";

/// A unified diff, painted.
pub(super) struct Painted;

impl Painted {
    /// As standard output takes it: plain where it is no terminal.
    pub(super) fn for_output(diff: &str) -> String {
        if std::io::stdout().is_terminal() && !no_colour() { paint(diff) } else { calm(diff).into_owned() }
    }

    /// As standard error takes it.
    pub(super) fn for_notes(diff: &str) -> String {
        if std::io::stderr().is_terminal() && !no_colour() { paint(diff) } else { calm(diff).into_owned() }
    }
}

/// Lines of a side that stand together.
fn run<'a>(lines: &[&'a str], from: usize, sign: char) -> Vec<&'a str> {
    lines[from..].iter().take_while(|line| line.starts_with(sign)).copied().collect()
}

fn paint(diff: &str) -> String {
    let lines: Vec<&str> = diff.lines().collect();
    let mut painted = String::with_capacity(diff.len() * 2);
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with("--- ") || line.starts_with("+++ ") {
            painted += &format!("{BOLD}{}{PLAIN}\n", calm(line));
        } else if line.starts_with("@@") {
            painted += &format!("{CYAN}{}{PLAIN}\n", calm(line));
        } else if line.starts_with('-') {
            let old = run(&lines, at, '-');
            let new = run(&lines, at + old.len(), '+');
            at += old.len() + new.len();
            pairs(&old, &new, &mut painted);
            continue;
        } else if line.starts_with('+') {
            painted += &format!("{GREEN}{}{PLAIN}\n", calm(line));
        } else {
            painted += &format!("{}\n", calm(line));
        }
        at += 1;
    }
    painted
}

/// Old and new lines; where they stand one for one, the words that differ stand out.
fn pairs(old: &[&str], new: &[&str], painted: &mut String) {
    let matched = old.len() == new.len() && old.len() <= 100;
    let mut news = String::new();
    for (at, line) in old.iter().enumerate() {
        match matched.then(|| new[at]) {
            Some(other) if line.len() < 2_000 && other.len() < 2_000 => {
                let (before, after) = words(&line[1..], &other[1..]);
                *painted += &format!("{RED}-{before}{PLAIN}\n");
                news += &format!("{GREEN}+{after}{PLAIN}\n");
            }
            _ => *painted += &format!("{RED}{}{PLAIN}\n", calm(line)),
        }
    }
    if news.is_empty() {
        new.iter().for_each(|line| news += &format!("{GREEN}{}{PLAIN}\n", calm(line)));
    } else if matched {
        for line in new.iter().skip(news.lines().count()) {
            news += &format!("{GREEN}{}{PLAIN}\n", calm(line));
        }
    }
    *painted += &news;
}

fn words(old: &str, new: &str) -> (String, String) {
    let diff = TextDiff::from_words(old, new);
    let (mut before, mut after) = (String::new(), String::new());
    for change in diff.iter_all_changes() {
        let word = calm(change.value()).into_owned();
        match change.tag() {
            ChangeTag::Equal => {
                before += &word;
                after += &word;
            }
            ChangeTag::Delete => before += &format!("{STRONG}{word}{PLAIN}{RED}"),
            ChangeTag::Insert => after += &format!("{STRONG}{word}{PLAIN}{GREEN}"),
        }
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_changed_stand_out_and_nothing_gets_lost() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-let a = 1;\n-b\n+let a = 2;\n+c\n d\n";
        let painted = paint(diff);
        assert!(painted.contains(&format!("{STRONG}1;{PLAIN}")), "{painted:?}");
        let mut plain = painted;
        for colour in [RED, GREEN, CYAN, BOLD, STRONG, PLAIN] {
            plain = plain.replace(colour, "");
        }
        assert_eq!(plain, diff);
    }

    #[test]
    fn uneven_sides_are_shown_whole() {
        let diff = "-a\n-b\n+c\n";
        let mut plain = paint(diff);
        for colour in [RED, GREEN, PLAIN] {
            plain = plain.replace(colour, "");
        }
        assert_eq!(plain, diff);
    }
}
