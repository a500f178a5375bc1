//! A doc comment says something that the name does not, or is absent. What is public for others is explained at its
//! type; its fields and variants are where their names do not suffice.

#![allow(clippy::unwrap_used, reason = "a test may fail there")]

use std::fs;

use trimtab_testkit::sources::{root, shipped, without_tests};

const CRATES: &[&str] = &["vocab", "engine", "world", "host", "surfaces", "testkit"];

/// Words that say nothing about the item below them.
const EMPTY: &str = "the a an its it this that these those which what why how who whom where when one ones is are was \
                     were be of by for in to on at from with as them they their all each both so many much itself such \
                     some any here there names";

/// A longer comment is taken to say something.
const SHORT: usize = 3;

#[test]
fn no_doc_comment_only_repeats_the_name_below_it() {
    let (mut read, mut fillers) = (0, Vec::new());
    each_item(CRATES, |place, comment, item| {
        read += 1;
        if let [line] = comment
            && is_filler(line, item)
        {
            fillers.push(format!("{place}: /// {line}"));
        }
    });
    assert!(read > 3_000, "only {read} comments were found: the reader of sources is wrong");
    assert!(fillers.is_empty(), "say more, or nothing:\n{}", fillers.join("\n"));
}

#[test]
fn every_public_type_is_explained() {
    let mut bare = Vec::new();
    each_item(&CRATES[..4], |place, comment, item| {
        let is_type = ["pub struct ", "pub enum ", "pub trait "].iter().any(|word| item.starts_with(word));
        if is_type && !item.contains('$') && comment.is_empty() {
            bare.push(format!("{place}: {item}"));
        }
    });
    assert!(bare.is_empty(), "what are these for?\n{}", bare.join("\n"));
}

#[test]
fn fillers_are_told_from_short_explanations() {
    for (comment, item) in [
        ("Which one.", "call: CallId,"),
        ("The name.", "pub name: String,"),
        ("Its steps.", "pub(crate) steps: Vec<PlanStep>,"),
        ("By which call.", "call: CallId,"),
        ("They are asked.", "Ask,"),
    ] {
        assert!(is_filler(comment, item), "{comment} {item}");
    }
    for (comment, item) in [
        ("Milliseconds it took.", "took_ms: u64,"),
        ("`provider/name`.", "model: String,"),
        ("0 to 1.", "progress: f64,"),
        ("The name of the tool that runs.", "name: String,"),
    ] {
        assert!(!is_filler(comment, item), "{comment} {item}");
    }
}

/// Calls `see` for each declaration of the crates with its place and its doc comment, which may be empty.
fn each_item(crates: &[&str], mut see: impl FnMut(&str, &[&str], &str)) {
    for file in crates.iter().flat_map(|name| shipped(&format!("crates/{name}/src"), &[".rs"])) {
        let text = fs::read_to_string(&file).unwrap();
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        let mut comment = Vec::new();
        let mut in_attribute = false;
        for (number, line) in (1..).zip(without_tests(&text).lines()) {
            let line = line.trim();
            if in_attribute || line.starts_with("#[") {
                in_attribute = !line.ends_with(']');
            } else if let Some(words) = line.strip_prefix("///") {
                comment.push(words.trim());
            } else if !line.is_empty() {
                see(&format!("{path}:{number}"), &comment, line);
                comment.clear();
            }
        }
    }
}

fn is_filler(comment: &str, item: &str) -> bool {
    let is_short = comment.split_whitespace().count() <= SHORT;
    // Code, links and numbers say something; so does help, which has no full stop.
    if !is_short || !comment.ends_with('.') || comment.contains(|c: char| c == '`' || c == '[' || c.is_ascii_digit()) {
        return false;
    }
    let item = item.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
    let names: Vec<String> = item.split(|c: char| !c.is_alphanumeric()).flat_map(parts).collect();
    let mut words = comment.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.all(|word| {
        let word = word.to_lowercase();
        EMPTY.split_whitespace().any(|empty| empty == word) || names.contains(&stem(&word))
    })
}

/// The words of a name in camel case, without their endings.
fn parts(name: &str) -> Vec<String> {
    let starts = name.char_indices().filter(|(at, c)| *at > 0 && c.is_uppercase()).map(|(at, _)| at);
    let bounds: Vec<usize> = [0].into_iter().chain(starts).chain([name.len()]).collect();
    bounds.windows(2).map(|bound| stem(&name[bound[0]..bound[1]].to_lowercase())).collect()
}

fn stem(word: &str) -> String {
    let ending =
        ["ies", "es", "s", "ing", "ed", "d", "e", "y"].into_iter().find_map(|ending| word.strip_suffix(ending));
    ending.filter(|stem| stem.len() >= 3).unwrap_or(word).to_owned()
}
