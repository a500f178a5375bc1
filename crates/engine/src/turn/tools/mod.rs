//! The tools a model may ask for: one file each, with the words that the model reads beside the
//! reading of its arguments. What a tool does is the world's; here its wish becomes an [`Errand`].

mod ask_user;
mod edit;
mod fetch;
mod plan;
mod read;
mod read_ref;
mod run_command;
mod set_steps;

pub(crate) use fetch::{host_of, interrogating, remark};

use std::sync::{Arc, LazyLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use trimtab_vocab::{Plan, ReadOp, RefKey, Todo, ToolSpec};

use crate::ProposedChange;
use crate::tokens::estimate;

/// What a tool call comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolAction {
    /// See something of the folder.
    Look(ReadOp),
    /// See a page of the web.
    Fetch {
        /// Its address.
        url: String,
        /// Whose page it is.
        host: String,
    },
    /// Read a stored text.
    Stored {
        /// Its name.
        key: RefKey,
        /// The first byte to show.
        offset: usize,
    },
    /// Change a file.
    Change(ProposedChange),
    /// Run a command.
    Run {
        /// The command line.
        command: String,
        /// Seconds it may take; absent: as set.
        timeout_s: Option<u64>,
        /// Why it should run outside of the sandbox; absent: it should not.
        outside: Option<String>,
        /// Whether it needs a terminal.
        terminal: bool,
    },
    /// Keep the list of steps.
    Steps(Vec<Todo>),
    /// Say what would be done, step by step.
    Plan(Plan),
    /// Ask the person.
    Ask {
        /// What.
        question: String,
        /// Answers to choose from.
        options: Vec<String>,
    },
}

impl ToolAction {
    /// Whether it must be alone: it changes something, or waits for a person.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Self::Change(_) | Self::Run { .. } | Self::Ask { .. } => true,
            Self::Look(_) | Self::Fetch { .. } | Self::Stored { .. } | Self::Steps(_) | Self::Plan(_) => false,
        }
    }

    /// Whether it reads the folder, or works in it.
    pub(crate) fn touches_the_folder(&self) -> bool {
        match self {
            Self::Look(_) | Self::Change(_) | Self::Run { .. } => true,
            Self::Fetch { .. } | Self::Stored { .. } | Self::Steps(_) | Self::Plan(_) | Self::Ask { .. } => false,
        }
    }

    /// Of those that run side by side, the quick ones begin first.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Steps(_) | Self::Plan(_) | Self::Stored { .. } => 0,
            Self::Look(ReadOp::Read { .. }) => 1,
            Self::Look(ReadOp::Search { .. }) => 3,
            Self::Look(_) => 2,
            _ => 4,
        }
    }
}

/// Which tools may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolOffer {
    /// None: the turn is a conversation.
    Nothing,
    /// Those that change nothing.
    Looking,
    /// All.
    Everything,
}

/// A tool: its words, and the reading of its arguments.
struct ToolDefinition {
    name: &'static str,
    /// What it is for, and when to use it.
    about: &'static str,
    /// The JSON schema of its arguments.
    schema: &'static str,
    /// Whether it changes nothing.
    looks: bool,
    read: fn(Value) -> Result<ToolAction, String>,
}

const TOOLS: &[ToolDefinition] = &[
    read::READ,
    read::LIST,
    read::FIND,
    read::SEARCH,
    edit::EDIT,
    edit::DIFF,
    edit::WRITE,
    edit::DELETE,
    edit::MOVE,
    run_command::RUN,
    fetch::FETCH,
    set_steps::STEPS,
    ask_user::ASK,
    read_ref::READ_REF,
    plan::PROPOSE,
];

/// The tools as a model is told of them. Made once, and the same for work and for planning: the prompt's beginning
/// stays the same, byte for byte, so that providers can cache it.
pub(crate) fn specs(offer: ToolOffer) -> &'static [Arc<ToolSpec>] {
    static ALL: LazyLock<Vec<Arc<ToolSpec>>> = LazyLock::new(made);
    match offer {
        ToolOffer::Nothing => &[],
        ToolOffer::Looking | ToolOffer::Everything => &ALL,
    }
}

/// Tokens of the tools that are offered, about. They are among few sets, so each is weighed once.
pub(crate) fn weight(offered: &[Arc<ToolSpec>]) -> u64 {
    static ALL: LazyLock<u64> = LazyLock::new(|| weigh(specs(ToolOffer::Everything)));
    match offered.len() {
        0 => 0,
        all if all == specs(ToolOffer::Everything).len() => *ALL,
        _ => weigh(offered),
    }
}

fn weigh(tools: &[Arc<ToolSpec>]) -> u64 {
    let one = |tool: &Arc<ToolSpec>| estimate(&tool.description) + tool.input_schema.to_string().len() as u64 / 3;
    tools.iter().map(one).sum()
}

fn made() -> Vec<Arc<ToolSpec>> {
    let spec = |tool: &ToolDefinition| {
        Arc::new(ToolSpec {
            name: tool.name.into(),
            description: tool.about.into(),
            input_schema: serde_json::from_str(tool.schema).expect("schemas are JSON; a test reads them all"),
        })
    };
    TOOLS.iter().map(spec).collect()
}

/// Reads a call. What is wrong with it is said in words that let the model do better.
pub(crate) fn read(name: &str, input: &Value, broken: Option<&str>) -> Result<ToolAction, String> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        return Err(format!("There is no tool called {name}. There are: {}.", known.join(", ")));
    };
    if broken.is_some() {
        return Err(format!(
            "The arguments of {name} are not a JSON object; nothing was done. Send them again, whole."
        ));
    }
    let input = if input.is_null() { Value::Object(serde_json::Map::new()) } else { input.clone() };
    (tool.read)(input).map_err(|reason| format!("{name} was not run: {reason} Its schema: {}", tool.schema))
}

/// What the tools are called.
pub(crate) fn names() -> Vec<&'static str> {
    TOOLS.iter().map(|tool| tool.name).collect()
}

/// The group that a tool belongs to; none for those that every work needs.
pub(crate) fn category(name: &str) -> Option<&'static str> {
    match name {
        "run_command" => Some("commands"),
        "fetch_url" => Some("web"),
        _ => None,
    }
}

/// Whether a tool changes nothing.
pub(crate) fn only_looks(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name && tool.looks)
}

/// Arguments of one shape. Numbers that came as texts are read as numbers: weak models write them so.
fn arguments<T: DeserializeOwned>(input: Value) -> Result<T, String> {
    serde_json::from_value(input).map_err(|error| format!("{error}."))
}

/// A number, also when it came as a text.
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    use serde::Deserialize;
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenNumber {
        Number(f64),
        Text(String),
        Nothing(()),
    }
    let bad = || serde::de::Error::custom("expected a whole number");
    match WrittenNumber::deserialize(deserializer)? {
        WrittenNumber::Number(n) if n >= 0.0 && n.fract() == 0.0 => Ok(Some(n as u64)),
        WrittenNumber::Number(_) => Err(bad()),
        WrittenNumber::Text(text) if text.trim().is_empty() => Ok(None),
        WrittenNumber::Text(text) => text.trim().parse().map(Some).map_err(|_| bad()),
        WrittenNumber::Nothing(()) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_schema_is_json_and_the_tools_are_small() {
        let size = |offer: ToolOffer| {
            specs(offer)
                .iter()
                .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len())
                .sum::<usize>()
        };
        assert!(size(ToolOffer::Everything) < 6_200, "{}", size(ToolOffer::Everything));
        assert!(specs(ToolOffer::Nothing).is_empty());
    }

    #[test]
    fn a_wrong_call_is_answered_with_what_would_be_right() {
        let wrong = read("read_file", &json!({"file": "a"}), None).expect_err("refused");
        assert!(wrong.contains("missing field `path`") && wrong.contains("\"offset\""), "{wrong}");
        assert!(read("destroy", &json!({}), None).expect_err("refused").contains("There is no tool called destroy"));
        assert!(read("read_file", &Value::Null, Some("{\"pa")).expect_err("refused").contains("not a JSON object"));
    }

    #[test]
    fn numbers_may_come_as_texts_and_left_out_fields_as_null() {
        let read = |input| read("read_file", &input, None).expect("read");
        let wanted = ToolAction::Look(ReadOp::Read { path: "a".into(), offset: Some(7), limit: None });
        assert_eq!(read(json!({"path": "a", "offset": "7", "limit": null})), wanted);
        assert_eq!(read(json!({"path": "a", "offset": 7.0})), wanted);
    }

    #[test]
    fn every_tool_reads_its_own_documented_arguments() {
        for (name, input) in [
            ("read_file", json!({"path": "a"})),
            ("list_files", json!({})),
            ("find_files", json!({"pattern": "*.rs"})),
            ("search", json!({"pattern": "x"})),
            ("edit_file", json!({"path": "a", "blocks": [{"search": "a", "replace": "b"}]})),
            ("apply_diff", json!({"path": "a", "diff": "@@"})),
            ("write_file", json!({"path": "a", "content": ""})),
            ("delete_file", json!({"path": "a"})),
            ("move_file", json!({"from": "a", "to": "b"})),
            ("run_command", json!({"command": "ls"})),
            ("fetch_url", json!({"url": "https://example.org/x"})),
            ("set_steps", json!({"steps": [{"text": "a", "completed": true}, "b"]})),
            ("ask_user", json!({"question": "Which?", "options": ["a", "b"]})),
            ("read_ref", json!({"key": "ref:result-r1-c1t1"})),
            ("propose_plan", json!({"steps": [{"title": "a", "dependsOn": []}]})),
        ] {
            read(name, &input, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(TOOLS.len(), 15, "a new tool belongs into this test");
    }
}
