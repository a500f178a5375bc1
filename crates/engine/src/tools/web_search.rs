//! Web search.

use serde::Deserialize;

use super::{BuiltInTool, ToolAction, WEB, arguments};

/// The name by which settings and rules know it.
pub(crate) const WEB_SEARCH: &str = "web_search";
/// Characters of a question.
const LONGEST: usize = 400;

pub(super) const SEARCH_WEB: BuiltInTool = BuiltInTool {
    name: WEB_SEARCH,
    description: "Search the web for pages. Asks the user first.",
    schema: r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#,
    // The query leaves the machine, so it is not read-only.
    read_only: false,
    category: Some(WEB),
    read: |input| {
        #[derive(Deserialize)]
        struct WebSearchArguments {
            query: String,
        }
        let WebSearchArguments { query } = arguments(input)?;
        let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
        match query.chars().count() {
            0 => Err("the query is empty.".to_owned()),
            1..=LONGEST => Ok(ToolAction::SearchWeb { query }),
            _ => Err(format!("the query is longer than {LONGEST} characters.")),
        }
    },
};
