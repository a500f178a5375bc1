//! Type names identify: a name is declared once in the shipping crates, so that a search for it ends at one place.

#![allow(clippy::unwrap_used, reason = "a test may fail there")]

use std::collections::BTreeMap;
use std::fs;

use trimtab_testkit::sources::{root, shipped, without_tests};

const CRATES: &[&str] = &["vocab", "engine", "world", "host", "surfaces"];

/// Names that stand for one idea wherever they are declared, and why.
const SHARED: &[(&str, &str)] = &[];

#[test]
fn every_type_has_a_name_of_its_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in CRATES.iter().flat_map(|name| shipped(&format!("crates/{name}/src"), &[".rs"])) {
        let text = fs::read_to_string(&file).unwrap();
        for name in declared(&text) {
            let place = file.strip_prefix(root()).unwrap().display().to_string();
            places.entry(name.to_owned()).or_default().push(place);
        }
    }
    assert!(places.len() > 800, "only {} types were found: the reader of sources is wrong", places.len());
    let shared = |name: &str| SHARED.iter().any(|(known, _)| *known == name);
    let twice: Vec<String> = places
        .iter()
        .filter(|(name, places)| places.len() > 1 && !shared(name))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(twice.is_empty(), "declared more than once:\n{}", twice.join("\n"));
    for (name, _) in SHARED {
        assert!(
            places.get(*name).is_some_and(|places| places.len() > 1),
            "{name} is declared once: take it off the list"
        );
    }
}

/// Names of version 0.1 that did not say what they name. They do not come back.
const RETIRED: &[&str] = &[
    "About",
    "Active",
    "AssistStand",
    "Behind",
    "Chosen",
    "Deps",
    "Desk",
    "Done",
    "Drawer",
    "Effects",
    "Errand",
    "Errands",
    "Given",
    "HandSettings",
    "Hands",
    "Held",
    "Leg",
    "Look",
    "News",
    "RealHands",
    "Reporter",
    "Seen",
    "Speech",
    "Stand",
    "Step",
    "Survey",
    "Taken",
    "Told",
    "Trouble",
    "Walked",
    "Watch",
    "Way",
    "Wish",
];

/// Files of version 0.1 that were named after a verb or a metaphor.
const RETIRED_FILES: &[&str] = &[
    "crates/engine/src/walk.rs",
    "crates/host/src/asking.rs",
    "crates/host/src/lists.rs",
    "crates/host/src/saying.rs",
    "crates/host/src/space.rs",
    "crates/surfaces/src/http/feed.rs",
    "crates/surfaces/src/http/looks.rs",
    "crates/surfaces/src/http/pieces.rs",
    "crates/surfaces/src/http/take.rs",
    "crates/surfaces/src/http/work.rs",
    "crates/surfaces/src/tui/errand.rs",
    "crates/world/src/strays.rs",
    "web/src/lib/kept.ts",
    "web/src/lib/place.svelte.ts",
    "web/src/lib/reach.ts",
    "web/src/lib/spoken.ts",
    "web/src/parts/Looks.svelte",
];

#[test]
fn retired_names_do_not_come_back() {
    let retired =
        |text: &str| declared(text).filter(|name| RETIRED.contains(name)).map(str::to_owned).collect::<Vec<_>>();
    let mut found = Vec::new();
    for file in CRATES.iter().flat_map(|name| shipped(&format!("crates/{name}/src"), &[".rs"])) {
        let names = retired(&fs::read_to_string(&file).unwrap());
        found.extend(names.into_iter().map(|name| format!("{}: {name}", file.display())));
    }
    found.extend(RETIRED_FILES.iter().filter(|name| root().join(name).exists()).map(|name| (*name).to_owned()));
    assert!(found.is_empty(), "names that the voice of the project replaced:\n{}", found.join("\n"));
    for name in RETIRED {
        assert_eq!(retired(&format!("pub(crate) enum {name} {{\n")), [*name], "the test finds it when it is put back");
    }
}

#[test]
fn declarations_are_found_and_tests_are_not() {
    let text = "pub struct Alpha;\n    enum Beta {}\ntype Gamma = u8;\n    type Output = u8;\n// struct Delta\n\
                #[cfg(test)]\nmod tests {\n    struct Epsilon;\n}\n";
    assert_eq!(declared(text).collect::<Vec<_>>(), ["Alpha", "Beta", "Gamma"]);
}

/// The types that a file declares outside of its tests. Associated types are indented, and are not declarations.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    without_tests(text).lines().filter_map(|line| {
        let words = line.trim_start();
        let words = match words.strip_prefix("pub") {
            Some(rest) => {
                rest.split_once(')').filter(|_| rest.starts_with('(')).map_or(rest, |(_, rest)| rest).trim_start()
            }
            None => words,
        };
        let (kind, rest) = words.split_once(' ')?;
        let is_type = matches!(kind, "struct" | "enum" | "trait") || (kind == "type" && !line.starts_with(' '));
        let name = rest.split(|character: char| !character.is_alphanumeric() && character != '_').next()?;
        (is_type && !name.is_empty()).then_some(name)
    })
}
