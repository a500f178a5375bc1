//! The engine's modules import in one direction. `ORDER` is the whole of it, and `ARCHITECTURE.md` shows the same list.

#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module imports only what stands before it.
const ORDER: &[&str] = &[
    "tokens",
    "runaway",
    "proposal",
    "tools",
    "fragment",
    "record",
    "terminal",
    "tasks",
    "merge",
    "input",
    "output",
    "transition",
    "memory",
    "workers",
    "finish",
    "questions",
    "calls",
    "flow",
    "words",
    "permit",
    "acceptance",
    "agents",
    "hooks",
    "pictures",
    "subtasks",
    "route",
    "assistant",
    "handoff",
    "history",
    "turn",
    "intake",
    "step",
];

fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut sources = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let (inner, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
        folders.extend(inner);
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
            let name = file.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
            sources.insert(name, std::fs::read_to_string(file).expect("a text"));
        }
    }
    sources
}

fn is_test(file: &str) -> bool {
    file.ends_with("tests.rs") || file.contains("/tests/")
}

/// The code without comments and without the tests at its end.
fn code(source: &str) -> String {
    let lines = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let tests = code.match_indices("#[cfg(test)]").map(|(at, _)| at);
    let ends =
        tests.filter(|at| code[*at..].lines().take(4).any(|line| line.starts_with("mod ") && line.ends_with('{')));
    let end = ends.min().unwrap_or(code.len());
    code[..end].to_owned()
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The first name of each path in `{…}`, or of the one path.
fn first_names(text: &str) -> Vec<String> {
    let Some(inside) = text.strip_prefix('{') else { return vec![word(text).to_owned()] };
    let (mut depth, mut names, mut begins) = (1, Vec::new(), true);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => begins = true,
            c if begins && depth == 1 && !c.is_whitespace() => {
                names.push(word(&inside[at..]).to_owned());
                begins = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Names below the root of the crate that a file uses: after `crate::`, and after as many `super::` as lead there.
fn root_names(file: &str, code: &str) -> BTreeSet<String> {
    let depth = file.trim_end_matches("/mod.rs").split('/').count();
    let climb = "super::".repeat(depth);
    let begins =
        |at: usize| code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
    let paths = ["crate::", climb.as_str()].map(|prefix| {
        code.match_indices(prefix).filter(|(at, _)| begins(*at)).map(move |(at, _)| &code[at + prefix.len()..])
    });
    paths.into_iter().flatten().flat_map(first_names).collect()
}

/// Modules by the names that `lib.rs` exports from them.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for path in code(lib).split("pub use ").skip(1) {
        let (path, _) = path.split_once(';').expect("an end");
        let module = word(path).to_owned();
        let names = path.split(['{', '}', ',', ':']).map(|name| name.rsplit(" as ").next().unwrap_or(name).trim());
        exports.extend(names.filter(|name| !name.is_empty()).map(|name| (name.to_owned(), module.clone())));
    }
    exports
}

/// Each import of a module by another one, with the file that has it.
fn imports(sources: &BTreeMap<String, String>, order: &[&str]) -> BTreeSet<(String, String, String)> {
    let exports = exports(&sources["lib.rs"]);
    let mut imports = BTreeSet::new();
    for (file, source) in sources.iter().filter(|(file, _)| *file != "lib.rs" && !is_test(file)) {
        let module = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        for name in root_names(file, &code(source)) {
            let imported = if order.contains(&name.as_str()) { Some(&name) } else { exports.get(&name) };
            if let Some(imported) = imported.filter(|imported| *imported != module) {
                imports.insert((module.to_owned(), imported.clone(), file.clone()));
            }
        }
    }
    imports
}

fn against(sources: &BTreeMap<String, String>, order: &[&str]) -> Vec<String> {
    let place = |module: &str| order.iter().position(|known| *known == module);
    let wrong = |(module, imported, _): &&(String, String, String)| place(module) <= place(imported);
    let imports = imports(sources, order);
    imports.iter().filter(wrong).map(|(module, imported, file)| format!("{module} -> {imported} ({file})")).collect()
}

#[test]
fn no_module_imports_against_the_order() {
    let sources = sources();
    let declared = code(&sources["lib.rs"]);
    let declared: BTreeSet<&str> = declared
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(declared, ORDER.iter().copied().collect(), "every module has its place in the order");
    assert!(imports(&sources, ORDER).len() > 100, "imports are found");
    assert_eq!(against(&sources, ORDER), Vec::<String>::new());
}

#[test]
fn an_import_against_the_order_is_found() {
    let lib = "mod low;\nmod high;\npub use high::{Thing, other as named};\n";
    let found = |file: &str, text: &str| {
        let sources = [("lib.rs", lib), (file, text)].map(|(file, text)| (file.to_owned(), text.to_owned()));
        against(&sources.into(), &["low", "high"]).len()
    };
    for text in [
        "use crate::high;",
        "use crate::high::Thing;",
        "use crate::{low::{self, x}, high::{y}};",
        "use crate::Thing;",
        "fn f() { crate::named() }",
    ] {
        assert_eq!(found("low.rs", text), 1, "{text}");
        assert_eq!(found("low/inner/mod.rs", text), 1, "{text}");
        assert_eq!(found("high.rs", text), 0, "{text}");
    }
    assert_eq!(found("low.rs", "use super::high;"), 1);
    assert_eq!(found("low/mod.rs", "use super::{high};"), 1);
    assert_eq!(found("low/inner.rs", "use super::super::high;"), 1);
    assert_eq!(
        found("low/inner.rs", "use super::high; // crate::high\n#[cfg(test)]\nmod tests {\nuse crate::high;\n}"),
        0
    );
}

#[test]
fn the_architecture_shows_the_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let order = ORDER.join(" ← ");
    assert!(page.contains(&order), "ARCHITECTURE.md does not have: {order}");
}

/// Sentences for models belong to the rooms, and their facts carry them; only those of 0.1 are kept beside the fold.
#[test]
fn record_writes_no_sentences_for_models() {
    let sources = sources();
    let of_record = sources.iter().filter(|(file, _)| file.starts_with("record/") && *file != "record/legacy.rs");
    let wrong: Vec<String> = of_record
        .flat_map(|(file, source)| code(source).lines().map(|line| format!("{file}: {line}")).collect::<Vec<_>>())
        .filter(|line| line.contains("\"[") && !line.contains("[CONVERSATION SUMMARY]"))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}
