//! Rules are prefixes of words: `git status` covers `git status -s` and never `git statusx`.

use super::read::read;

/// The first rule that the words begin with.
pub(super) fn matching<'r>(rules: &'r [String], argv: &[&str]) -> Option<&'r str> {
    rules.iter().find(|rule| covers(rule, argv)).map(String::as_str)
}

/// The rule that says exactly these words, if there is one.
pub(super) fn exact<'r>(rules: &'r [String], argv: &[&str]) -> Option<&'r str> {
    rules.iter().find(|rule| covers(rule, argv) && length(rule) == argv.len()).map(String::as_str)
}

/// How many words of this rule the words begin with; none if they do not.
pub(super) fn begins(rule: &str, argv: &[&str]) -> Option<usize> {
    covers(rule, argv).then(|| length(rule))
}

fn covers(rule: &str, argv: &[&str]) -> bool {
    // An empty rule would be a prefix of everything.
    if is_plain(rule) {
        let mut words = rule.split_ascii_whitespace();
        let mut count = 0;
        let same = words.by_ref().zip(argv).all(|(word, arg)| {
            count += 1;
            word == *arg
        });
        return same && count > 0 && count == rule.split_ascii_whitespace().count();
    }
    words(rule).is_some_and(|words| {
        !words.is_empty() && words.len() <= argv.len() && words.iter().zip(argv).all(|(word, arg)| word == arg)
    })
}

fn length(rule: &str) -> usize {
    if is_plain(rule) { rule.split_ascii_whitespace().count() } else { words(rule).map_or(0, |words| words.len()) }
}

/// Whether a rule means its words as they stand. Most do, and then nothing needs to be read or kept.
fn is_plain(rule: &str) -> bool {
    rule.bytes().all(|b| b.is_ascii_alphanumeric() || b == b' ' || b"_-./:@+=,".contains(&b))
}

/// The words of a rule with quotes. One that a shell would change matches nothing.
fn words(rule: &str) -> Option<Vec<String>> {
    let reading = read(rule, "", "");
    match (reading.trouble, reading.parts.as_slice()) {
        (None, [part]) => Some(part.words.iter().map(|word| word.text.clone()).collect()),
        _ => None,
    }
}
