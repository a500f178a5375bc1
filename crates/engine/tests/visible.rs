//! A command is spelled out for people as the browser spells it: both are held to one list of cases.

use std::collections::BTreeMap;

use trimtab_engine::proposal::command;

#[test]
fn a_command_is_spelled_as_in_the_browser() {
    let cases: BTreeMap<String, Vec<(String, String)>> =
        serde_json::from_str(include_str!("../../vocab/tests/visible.json")).expect("cases");
    for (line, seen) in &cases["command"] {
        assert_eq!(&command::visible(line), seen, "{line:?}");
    }
}
