//! Sentences for people stand in the catalog (`crates/vocab/src/wording/`) and nowhere in the engine; those of the
//! permission prompt stand in one file of the whole program.

#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use Addressee::{Log, Model, Owner};

/// Who reads the sentences of a file that has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addressee {
    /// A model: prompts, descriptions of tools, results of calls.
    Model,
    /// Nobody anew: the sentences of old logs.
    Log,
    /// Who wrote a workflow or a list of tasks: what is wrong with it. They could move into the catalog.
    Owner,
}

/// Files that may have sentences, and how many. It may only shrink: a person's sentence is named, not composed.
const EXCEPTIONS: &[(&str, usize, Addressee)] = &[
    ("agents.rs", 1, Model),
    ("assistant/prompt/chat.rs", 2, Model),
    ("assistant/prompt/mod.rs", 1, Model),
    ("assistant/prompt/propose.rs", 1, Model),
    ("assistant/prompt/summary.rs", 2, Model),
    ("flow/clarify.rs", 1, Model),
    ("flow/conversation.rs", 1, Model),
    ("flow/execute.rs", 4, Model),
    ("flow/pace.rs", 1, Model),
    ("flow/plan.rs", 2, Model),
    ("flow/task_answer.rs", 1, Model),
    ("fragment.rs", 1, Model),
    ("history.rs", 3, Model),
    ("memory/mod.rs", 1, Model),
    ("pictures/prompts.rs", 1, Model),
    ("proposal/edit/anchor.rs", 2, Model),
    ("proposal/edit/block.rs", 5, Model),
    ("proposal/edit/diff/damage.rs", 1, Model),
    ("proposal/edit/diff/mod.rs", 7, Model),
    ("proposal/edit/diff/names.rs", 4, Model),
    ("proposal/edit/diff/read.rs", 6, Model),
    ("proposal/edit/diff/wrapping.rs", 1, Model),
    ("proposal/edit/elision.rs", 1, Model),
    ("proposal/edit/joined.rs", 1, Model),
    ("proposal/edit/lines.rs", 2, Model),
    ("proposal/edit/mod.rs", 1, Model),
    ("proposal/edit/nearest.rs", 3, Model),
    ("proposal/edit/part.rs", 3, Model),
    ("proposal/edit/place.rs", 7, Model),
    ("proposal/edit/splice.rs", 1, Model),
    ("proposal/edit/whole.rs", 1, Model),
    ("proposal/plan.rs", 1, Model),
    ("proposal/review/prompt.rs", 8, Model),
    ("record/legacy.rs", 14, Log),
    ("route/classify.rs", 1, Model),
    ("step.rs", 2, Model),
    ("tasks/trial.rs", 3, Owner),
    ("terminal.rs", 1, Model),
    ("subtasks/merging.rs", 1, Model),
    ("subtasks/planning.rs", 3, Model),
    ("subtasks/running.rs", 1, Model),
    ("subtasks/plan.rs", 2, Model),
    ("tools/delegate.rs", 5, Model),
    ("tools/ask_user.rs", 2, Model),
    ("tools/edit.rs", 5, Model),
    ("tools/fetch.rs", 1, Model),
    ("tools/mod.rs", 2, Model),
    ("tools/plan.rs", 1, Model),
    ("tools/read.rs", 4, Model),
    ("tools/read_ref.rs", 1, Model),
    ("tools/background.rs", 2, Model),
    ("tools/run_command.rs", 2, Model),
    ("tools/use_skill.rs", 1, Model),
    ("tools/server.rs", 5, Model),
    ("tools/set_steps.rs", 2, Model),
    ("tools/web_search.rs", 1, Model),
    ("turn/agents.rs", 2, Model),
    ("turn/answer_schema.rs", 1, Model),
    ("turn/batch/asking.rs", 1, Model),
    ("turn/batch/call.rs", 11, Model),
    ("turn/background.rs", 11, Model),
    ("turn/batch/ended.rs", 3, Model),
    ("turn/instructions.rs", 1, Model),
    ("turn/skills.rs", 11, Model),
    ("turn/batch/mod.rs", 2, Model),
    ("turn/batch/stopping.rs", 2, Model),
    ("turn/blocks.rs", 6, Model),
    ("turn/choosing.rs", 1, Model),
    ("turn/claims/mod.rs", 10, Model),
    ("turn/context.rs", 2, Model),
    ("turn/ending.rs", 2, Model),
    ("turn/learning.rs", 1, Model),
    ("turn/mod.rs", 4, Model),
    ("turn/outcome.rs", 4, Model),
    ("turn/outside.rs", 3, Model),
    ("turn/prompt.rs", 9, Model),
    ("turn/series/mod.rs", 4, Model),
    ("turn/structured.rs", 3, Model),
    ("turn/title.rs", 1, Model),
    ("turn/watched.rs", 2, Model),
    ("words/pill.rs", 6, Owner),
];

fn sources(root: &Path, ends: &[&str]) -> BTreeMap<String, String> {
    let mut folders = vec![root.to_owned()];
    let mut sources = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let entries = entries.map(|entry| entry.expect("an entry").path());
        let (inner, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
        folders.extend(inner.into_iter().filter(|folder| !folder.ends_with("tests")));
        for file in files {
            let name = file.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            let is_test = name.ends_with("tests.rs") || name.contains(".test.");
            if !is_test && ends.iter().any(|end| name.ends_with(end)) {
                sources.insert(name, std::fs::read_to_string(file).expect("a text"));
            }
        }
    }
    sources
}

/// The code without comments, and without the tests at its end.
fn code(source: &str) -> String {
    let end = source.find("#[cfg(test)]\nmod ").filter(|at| !source[*at..].contains("\nmod tests;"));
    let lines = source[..end.unwrap_or(source.len())].lines();
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The texts between quotation marks.
fn literals(code: &str) -> Vec<String> {
    let (mut found, mut chars) = (Vec::new(), code.chars().peekable());
    while let Some(c) = chars.next() {
        if c == '\'' {
            // A character, or a lifetime.
            let next = chars.next();
            if next == Some('\\') {
                chars.next();
                chars.next();
            } else if chars.peek() == Some(&'\'') {
                chars.next();
            }
        }
        if c != '"' {
            continue;
        }
        let mut text = String::new();
        while let Some(c) = chars.next().filter(|c| *c != '"') {
            match (c, chars.peek()) {
                ('\\', Some('\n')) => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                ('\\', _) => text.extend(chars.next()),
                _ => text.push(c),
            }
        }
        found.push(text);
    }
    found
}

/// A capital, several words, and an end.
fn is_sentence(text: &str) -> bool {
    let text = text.trim();
    let begins =
        text.trim_start_matches(['[', '“', '⚠', '🚫', ' ']).starts_with(|c: char| c.is_uppercase() || c == '{');
    let ends = text.trim_end_matches([']', '”']).ends_with(['.', '?', '!', '…']);
    begins && ends && text.split(' ').filter(|word| word.chars().filter(|c| c.is_lowercase()).count() > 1).count() > 1
}

#[test]
fn no_decision_composes_a_sentence_for_a_person() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    for (file, source) in sources(&root, &[".rs"]) {
        let sentences: Vec<String> = literals(&code(&source)).into_iter().filter(|text| is_sentence(text)).collect();
        if !sentences.is_empty() {
            found.insert(file, sentences);
        }
    }
    assert!(found.len() > 10, "the sources are read");
    let allowed = |file: &str| EXCEPTIONS.iter().find(|(name, ..)| *name == file).map_or(0, |(_, count, _)| *count);
    let too_many: Vec<String> = found
        .iter()
        .filter(|(file, sentences)| sentences.len() > allowed(file))
        .map(|(file, sentences)| {
            format!("{file} has {}, {} are allowed: {sentences:#?}", sentences.len(), allowed(file))
        })
        .collect();
    assert!(too_many.is_empty(), "What a person reads belongs into crates/vocab/src/wording/. {}", too_many.join("\n"));
    for (file, count, _) in EXCEPTIONS {
        let now = found.get(*file).map_or(0, Vec::len);
        assert_eq!(now, *count, "{file} has fewer sentences now: lower its number here");
    }
}

/// What is certain about the words of a literal: its longest piece between two values.
fn certain(text: &str) -> &str {
    let pieces = text.split('{').flat_map(|piece| piece.rsplit('}').take(1));
    pieces.max_by_key(|piece| piece.len()).unwrap_or_default().trim()
}

/// The first words of each piece between two values: enough to recognize a sentence by, so not to be copied either.
fn beginnings(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split('{').flat_map(|piece| piece.rsplit('}').take(1));
    pieces.filter_map(|piece| {
        let words: Vec<&str> = piece.split_whitespace().take(5).collect();
        (words.len() == 5).then(|| words.join(" "))
    })
}

#[test]
fn the_words_of_the_permission_prompt_stand_in_one_file() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let catalog = "crates/vocab/src/wording/permission.rs";
    let words = std::fs::read_to_string(workspace.join(catalog)).expect("the catalog");
    let words = literals(&code(&words));
    let whole = words.iter().map(|text| certain(text).to_owned()).filter(|text| text.len() > 12);
    let telling: BTreeSet<String> = whole.chain(words.iter().flat_map(|text| beginnings(text))).collect();
    let is_read = telling.contains("Blocked by the user's rule");
    assert!(telling.len() > 40 && is_read, "the catalog is read: {telling:?}");
    let mut elsewhere = Vec::new();
    for folder in [
        "crates/engine/src",
        "crates/host/src",
        "crates/surfaces/src",
        "crates/world/src",
        "crates/vocab/src",
        "web/src",
    ] {
        for (file, source) in sources(&workspace.join(folder), &[".rs", ".ts", ".svelte"]) {
            let file = format!("{folder}/{file}");
            // The catalog of other words, and the sentences of old logs.
            if file == catalog || file.ends_with("record/legacy.rs") {
                continue;
            }
            let texts = if file.ends_with(".rs") { literals(&code(&source)).join("\n") } else { source };
            let found = telling.iter().filter(|text| texts.contains(text.as_str()));
            elsewhere.extend(found.map(|text| format!("{file}: {text}")));
        }
    }
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}

#[test]
fn what_a_sentence_is() {
    assert!(is_sentence("There is no such change.") && is_sentence("[The user left {} out.]"));
    assert!(!is_sentence("no such change") && !is_sentence("Go on") && !is_sentence("run_command"));
    assert_eq!(literals(r#"f('"', "a \"b\"", 'x', "c")"#), ["a \"b\"", "c"]);
}
