//! The log outlives the program: records of every released version must still mean what they meant.
//!
//! `old_records/VERSION.jsonl` has at least one record of every type that the version added. Files of released
//! versions never change. A new version adds its own file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trimtab_vocab::event::KNOWN_TYPES;
use trimtab_vocab::{Event, Fact};

fn corpus() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_records");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    // By version, not by name: 0.10.0 comes after 0.9.0.
    files.sort_by_key(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').map(|part| part.parse::<u32>().expect("a version")).collect::<Vec<_>>()
    });
    assert!(!files.is_empty());
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a file"))).collect()
}

/// Everything in `old` is in `new`: fields may be added, never lost or changed. A field that is
/// absent now may have been null or empty.
fn is_kept(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old.iter().all(|(name, value)| match new.get(name) {
            Some(now) => is_kept(value, now),
            None => value.is_null() || value.as_array().is_some_and(Vec::is_empty),
        }),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_kept(old, new))
        }
        (old, new) => old == new,
    }
}

#[test]
fn every_old_record_is_read_and_written_without_loss() {
    for (path, text) in corpus() {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(!matches!(event.fact, Fact::Other(_)), "{place}: the type is no longer known");
            let old: Value = serde_json::from_str(line).expect("JSON");
            let new = serde_json::to_value(&event).expect("writes");
            assert!(is_kept(&old, &new), "{place}:\n{old}\nbecame\n{new}");
        }
    }
}

#[test]
fn the_files_together_have_every_type_there_is() {
    let seen: BTreeSet<String> = corpus()
        .iter()
        .flat_map(|(_, text)| text.lines())
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().expect("a type").to_owned())
        .collect();
    let missing: Vec<_> = KNOWN_TYPES.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty(), "no record of {missing:?}");
}
