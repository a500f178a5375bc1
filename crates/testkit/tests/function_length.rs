//! A function fits on two screens: one that is longer holds more than one idea.

#![allow(clippy::unwrap_used, reason = "a test may fail there")]

use std::fs;

use trimtab_testkit::sources::{root, shipped, without_tests};

const LONGEST: usize = 100;

const RUST: &[&str] = &[
    "crates/vocab/src",
    "crates/engine/src",
    "crates/world/src",
    "crates/host/src",
    "crates/surfaces/src",
    "crates/testkit/src",
    "bench",
    "fuzz",
];

/// Functions that may be longer, as `file: name`, and why.
const EXCEPTIONS: &[(&str, &str)] = &[];

#[test]
fn no_function_is_longer_than_a_hundred_lines() {
    let rust = RUST.iter().flat_map(|folder| shipped(folder, &[".rs"]));
    let mut read = 0;
    let mut long = Vec::new();
    for file in rust.chain(shipped("web/src", &[".ts", ".svelte"])) {
        let text = fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(root()).unwrap().display().to_string();
        for (name, lines) in functions(without_tests(&text)) {
            read += 1;
            if lines > LONGEST {
                long.push((format!("{place}: {name}"), lines));
            }
        }
    }
    assert!(read > 5_000, "only {read} functions were found: the reader of sources is wrong");
    let excepted = |function: &str| EXCEPTIONS.iter().any(|(known, _)| *known == function);
    let too_long: Vec<String> = long
        .iter()
        .filter(|(function, _)| !excepted(function))
        .map(|(function, lines)| format!("{function} has {lines} lines"))
        .collect();
    assert!(too_long.is_empty(), "split by idea:\n{}", too_long.join("\n"));
    for (known, _) in EXCEPTIONS {
        assert!(long.iter().any(|(function, _)| function == known), "{known} is short now: take it off the list");
    }
}

#[test]
fn functions_are_counted_from_their_name_to_their_last_brace() {
    let rust = "impl A {\n    pub(crate) async fn alpha(\n        &self,\n    ) {\n        if b {\n        }\n    }\n\n    fn \
                beta();\n}\nconst fn gamma() {}\n// fn delta() {\n";
    assert_eq!(functions(rust).collect::<Vec<_>>(), [("alpha", 6), ("beta", 1), ("gamma", 1)]);
    let script = "export async function alpha() {\n  b()\n}\n  const beta = (c) => {\n  }\n  const gamma = d(e)\n";
    assert_eq!(functions(script).collect::<Vec<_>>(), [("alpha", 3), ("beta", 2)]);
}

/// The functions of a formatted file with their lines: each ends at the first brace that stands as far in as it does.
fn functions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(move |at| {
        let name = declared(lines[at])?;
        let indent = lines[at].len() - lines[at].trim_start().len();
        let is_last = |line: &&str| {
            line.len() - line.trim_start().len() == indent
                && (line.trim_start().starts_with('}') || line.ends_with(';'))
        };
        let whole = lines[at].ends_with(['}', ';']);
        let more = if whole { 0 } else { lines[at + 1..].iter().position(is_last).map_or(0, |end| end + 1) };
        Some((name, more + 1))
    })
}

/// The name of the function that a line of Rust or TypeScript declares.
fn declared(line: &str) -> Option<&str> {
    let words = line.trim_start();
    if words.starts_with("//") || words.starts_with('*') {
        return None;
    }
    let rest = match words.split_once("fn ").or_else(|| words.split_once("function ")) {
        Some((before, rest)) if before.chars().all(|c| c.is_alphanumeric() || " _()\"".contains(c)) => rest,
        _ if words.ends_with("=> {") => words.trim_start_matches("export ").strip_prefix("const ")?,
        _ => return None,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (end > 0).then(|| &rest[..end])
}
