//! What is shown in a terminal is what the browser shows: both are held to one list of cases.

use std::collections::BTreeMap;

use trimtab_vocab::visible::Visible;

type Way = fn(&str) -> Visible;

#[test]
fn texts_lines_and_commands_are_spelled_as_in_the_browser() {
    let cases: BTreeMap<String, Vec<(String, String)>> =
        serde_json::from_str(include_str!("visible.json")).expect("cases");
    let ways: [(&str, Way); 3] = [("text", Visible::text), ("line", Visible::line), ("command", Visible::command)];
    for (name, way) in ways {
        for (text, seen) in &cases[name] {
            assert_eq!(way(text).as_str(), seen, "{name}: {text:?}");
        }
    }
}
