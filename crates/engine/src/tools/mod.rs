//! The tools that a model can call, and the parser of their calls into a [`ToolAction`].
//!
//! The registry has definitions as owned data: the description for the model, and how the tool is treated. Nothing
//! else in the engine depends on a tool's name. Built-in tools are declared one file each, with the description
//! beside the parser of the arguments; the world performs them.

mod action;
mod ask_user;
mod delegate;
mod edit;
mod fetch;
mod plan;
mod read;
mod read_ref;
mod run_command;
mod set_steps;
pub(crate) mod text_calls;
mod web_search;

pub(crate) use action::ToolAction;
pub(crate) use delegate::{DELEGATE_NAME, SHARED_TOOLS};
pub(crate) use fetch::{host_of, interrogating, remark};
pub(crate) use web_search::WEB_SEARCH;

use std::sync::{Arc, LazyLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use trimtab_vocab::event::OfferedTools;
use trimtab_vocab::{ToolCall, ToolSpec};

use crate::tokens::estimate;

/// How the result of a call begins that was not made because the model repeats itself.
pub(crate) const REPEATED: &str = "[Not run: this same call had the same result before";

/// Which tools may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolOffer {
    /// None: the turn is a conversation.
    Nothing,
    /// Those that change nothing.
    Looking,
    Everything,
}

/// The group of tools that all work needs.
const FILES: &str = "files";
const COMMANDS: &str = "commands";
const WEB: &str = "web";
/// Work for others, and what workers share.
const SUBTASKS: &str = "subtasks";

/// A tool: its description for models, and how it is treated.
#[derive(Debug, Clone)]
pub(crate) struct ToolDefinition {
    /// Its name, its description and the JSON schema of its arguments.
    pub(crate) spec: Arc<ToolSpec>,
    /// Whether it changes nothing.
    pub(crate) read_only: bool,
    /// The group it belongs to, which requests and pills choose by. None: it touches nothing, and is in all of them.
    pub(crate) category: Option<String>,
    /// Tokens of the spec, about.
    tokens: u64,
    /// The hash of the spec.
    hash: blake3::Hash,
}

impl ToolDefinition {
    fn new(spec: ToolSpec, read_only: bool, category: Option<String>) -> Self {
        let schema = spec.input_schema.to_string();
        let tokens = estimate(&spec.description) + schema.len() as u64 / 3;
        let hash = blake3::hash([&spec.name, &spec.description, &schema].map(String::as_str).join("\n").as_bytes());
        Self { spec: Arc::new(spec), read_only, category, tokens, hash }
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Whether a request that needs these groups is offered it.
    pub(crate) fn is_needed(&self, categories: &[String]) -> bool {
        match &self.category {
            // Whether a request has workers is decided elsewhere.
            Some(category) => category == FILES || category == SUBTASKS || categories.contains(category),
            None => true,
        }
    }
}

/// All tools that there are.
#[derive(Debug)]
pub(crate) struct ToolRegistry {
    tools: Vec<ToolDefinition>,
}

impl ToolRegistry {
    /// The tools of the program itself.
    fn built_in() -> Self {
        Self { tools: BUILT_IN.iter().map(BuiltInTool::definition).collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The offered tools, always in the same order, and the same for work and for planning: the prompt's beginning
    /// stays the same, byte for byte, so that providers can cache it.
    pub(crate) fn offered(&self, offer: ToolOffer) -> impl Iterator<Item = &ToolDefinition> {
        self.tools.iter().filter(move |_| offer != ToolOffer::Nothing)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(ToolDefinition::name).collect()
    }

    /// Tokens of the tools that a prompt offers, about.
    pub(crate) fn weight(&self, offered: &[Arc<ToolSpec>]) -> u64 {
        offered.iter().filter_map(|spec| self.get(&spec.name)).map(|tool| tool.tokens).sum()
    }

    /// The tools that a prompt offers, as they are recorded.
    pub(crate) fn record_of(&self, offered: &[Arc<ToolSpec>]) -> OfferedTools {
        if offered.is_empty() {
            return OfferedTools::default();
        }
        let mut hash = blake3::Hasher::new();
        for tool in offered.iter().filter_map(|spec| self.get(&spec.name)) {
            hash.update(tool.hash.as_bytes());
        }
        let names = offered.iter().map(|spec| spec.name.clone()).collect();
        OfferedTools { names, hash: hash.finalize().to_hex()[..32].to_owned() }
    }

    /// Parses a call. The error helps the model to do better.
    pub(crate) fn read(&self, call: &ToolCall) -> Result<ToolAction, String> {
        let name = &call.name;
        let (Some(tool), Some(reader)) = (self.get(name), BUILT_IN.iter().find(|tool| tool.name == name)) else {
            return Err(format!("There is no tool named {name}. The tools are: {}.", self.names().join(", ")));
        };
        if call.broken.is_some() {
            return Err(format!(
                "The arguments of {name} are not a JSON object. Nothing was done. Send them again, complete."
            ));
        }
        let none = Value::Object(serde_json::Map::new());
        let input = if call.input.is_null() { &none } else { &call.input };
        (reader.read)(input)
            .map_err(|reason| format!("{name} was not run: {reason} Its schema: {}", tool.spec.input_schema))
    }
}

/// The registry. It is made once.
pub(crate) fn registry() -> &'static ToolRegistry {
    static REGISTRY: LazyLock<ToolRegistry> = LazyLock::new(ToolRegistry::built_in);
    &REGISTRY
}

/// How a tool of the program itself is declared.
struct BuiltInTool {
    name: &'static str,
    /// What it is for, and when to use it.
    description: &'static str,
    /// The JSON schema of its arguments.
    schema: &'static str,
    read_only: bool,
    category: Option<&'static str>,
    /// The reading of its arguments.
    read: fn(&Value) -> Result<ToolAction, String>,
}

impl BuiltInTool {
    fn definition(&self) -> ToolDefinition {
        let spec = ToolSpec {
            name: self.name.into(),
            description: self.description.into(),
            input_schema: serde_json::from_str(self.schema).expect("schemas are JSON; a test reads them all"),
        };
        ToolDefinition::new(spec, self.read_only, self.category.map(str::to_owned))
    }
}

/// The built-in tools, in the order of the prompt.
const BUILT_IN: &[BuiltInTool] = &[
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
    web_search::SEARCH_WEB,
    set_steps::STEPS,
    ask_user::ASK,
    read_ref::READ_REF,
    plan::PROPOSE,
    delegate::DELEGATE,
    delegate::READ_SHARED,
    delegate::WRITE_SHARED,
];

/// Arguments of one shape. Numbers that came as texts are read as numbers: weak models write them so.
fn arguments<T: DeserializeOwned>(input: &Value) -> Result<T, String> {
    T::deserialize(input).map_err(|error| format!("{error}."))
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

    use trimtab_vocab::ReadOp;

    use super::*;

    fn read(name: &str, input: Value, broken: Option<&str>) -> Result<ToolAction, String> {
        let broken = broken.map(str::to_owned);
        registry().read(&ToolCall { id: "1".into(), name: name.into(), input, broken })
    }

    #[test]
    fn every_schema_is_json_and_the_tools_are_small() {
        let size = |offer: ToolOffer| {
            registry()
                .offered(offer)
                // Few requests are offered these.
                .filter(|tool| tool.category.as_deref() != Some(SUBTASKS))
                .map(|tool| &tool.spec)
                .map(|spec| spec.name.len() + spec.description.len() + spec.input_schema.to_string().len())
                .sum::<usize>()
        };
        assert!(size(ToolOffer::Everything) < 5_500, "{}", size(ToolOffer::Everything));
        assert_eq!(size(ToolOffer::Looking), size(ToolOffer::Everything), "plan mode voids nothing that is cached");
        assert_eq!(registry().offered(ToolOffer::Nothing).count(), 0);
    }

    #[test]
    fn a_wrong_call_is_answered_with_what_would_be_right() {
        let wrong = read("read_file", json!({"file": "a"}), None).expect_err("refused");
        assert!(wrong.contains("missing field `path`") && wrong.contains("\"offset\""), "{wrong}");
        assert!(read("destroy", json!({}), None).expect_err("refused").contains("There is no tool named destroy"));
        assert!(read("read_file", Value::Null, Some("{\"pa")).expect_err("refused").contains("not a JSON object"));
    }

    #[test]
    fn numbers_may_come_as_texts_and_left_out_fields_as_null() {
        let read = |input| read("read_file", input, None).expect("read");
        let wanted = ToolAction::Read(ReadOp::Read { path: "a".into(), offset: Some(7), limit: None });
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
            ("web_search", json!({"query": "trim tab"})),
            ("set_steps", json!({"steps": [{"text": "a", "completed": true}, "b"]})),
            ("ask_user", json!({"question": "Which?", "options": ["a", "b"]})),
            ("read_ref", json!({"key": "ref:result-r1-c1t1"})),
            ("propose_plan", json!({"steps": [{"title": "a", "dependsOn": []}]})),
            ("delegate", json!({"tasks": [{"instruction": "a", "files": ["b"], "depends_on": []}]})),
            ("read_shared", json!({})),
            ("write_shared", json!({"key": "a", "value": 1})),
        ] {
            read(name, input, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(BUILT_IN.len(), 19, "a new tool belongs into this test");
    }
}
