//! A struct with more fields than a person can keep in mind is several ideas in one: its fields are grouped.

#![allow(clippy::unwrap_used, reason = "a test may fail there")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: &[&str] = &["vocab", "engine", "world", "host", "surfaces", "testkit"];

const MOST_FIELDS: usize = 20;

/// Structs that are as large as they are for a reason.
const LARGE: &[(&str, &str)] =
    &[("Tally", "a list of counters without any other meaning, which are added and printed one by one")];

#[test]
fn no_struct_has_more_than_twenty_fields() {
    let mut sizes = BTreeMap::new();
    for file in CRATES.iter().flat_map(|name| sources(&crates().join(name).join("src"))) {
        let place = file.strip_prefix(crates()).unwrap().display().to_string();
        for (name, fields) in structs(&fs::read_to_string(&file).unwrap()) {
            sizes.insert((name, place.clone()), fields);
        }
    }
    assert!(sizes.len() > 600, "only {} structs were found: the reader of sources is wrong", sizes.len());
    let is_known = |name: &str| LARGE.iter().any(|(known, _)| *known == name);
    let large: Vec<String> = sizes
        .iter()
        .filter(|((name, _), fields)| **fields > MOST_FIELDS && !is_known(name))
        .map(|((name, place), fields)| format!("{name} has {fields}: {place}"))
        .collect();
    assert!(large.is_empty(), "more than {MOST_FIELDS} fields:\n{}", large.join("\n"));
    for (known, _) in LARGE {
        let is_large = sizes.iter().any(|((name, _), fields)| name == known && *fields > MOST_FIELDS);
        assert!(is_large, "{known} is not large: take it off the list");
    }
}

#[test]
fn fields_are_counted_and_nothing_else_is() {
    let text = "pub struct Alpha {\n    /// pub not: this\n    pub one: u8,\n    #[serde(default)]\n    \
                pub(super) two: BTreeMap<String, Vec<u8>>,\n    r#type: u8,\n}\n\nstruct Beta;\npub struct Gamma(u8);\n\
                impl Alpha {\n    one: u8,\n}\nmod inner {\n    struct Delta<'a>\n    where\n        T: Copy,\n    {\n        \
                one: &'a T,\n    }\n}\nstruct Epsilon { one: u8, two: u8 }\n";
    let found: Vec<_> = structs(text).into_iter().map(|(name, fields)| format!("{name} {fields}")).collect();
    assert_eq!(found, ["Alpha 3", "Delta 1"]);
}

/// The structs of a file that have a field on each line, with how many. Shorter ones fit a line.
fn structs(text: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let (indent, words) = line.split_at(line.len() - line.trim_start().len());
        let words = without_visibility(words);
        if let Some(rest) = words.strip_prefix("struct ") {
            let is_open = !rest.ends_with(';') && !rest.ends_with('}');
            open = is_open.then(|| indent.to_owned());
            let name = rest.split(|character: char| !character.is_alphanumeric() && character != '_').next();
            found.extend(name.filter(|_| is_open).map(|name| (name.to_owned(), 0)));
        } else if let Some(outer) = &open {
            let is_field =
                indent.len() == outer.len() + 4 && words.split_once(": ").is_some_and(|(name, _)| is_name(name));
            if is_field && let Some((_, fields)) = found.last_mut() {
                *fields += 1;
            }
            if indent == outer && words.starts_with('}') {
                open = None;
            }
        }
    }
    found
}

fn without_visibility(words: &str) -> &str {
    let Some(rest) = words.strip_prefix("pub") else { return words };
    let inner = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
    inner.map_or(rest, |(_, rest)| rest).trim_start()
}

fn is_name(word: &str) -> bool {
    let word = word.strip_prefix("r#").unwrap_or(word);
    word.starts_with(|first: char| first.is_lowercase() || first == '_')
        && word.chars().all(|character| character.is_alphanumeric() || character == '_')
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}
