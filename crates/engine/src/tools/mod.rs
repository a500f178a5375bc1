//! The tools that a model can call, and the parser of their calls into a [`ToolAction`].
//!
//! The registry has definitions as owned data: the description for the model, and how the tool is treated. Nothing
//! else in the engine depends on a tool's name. Built-in tools are declared one file each, with the description
//! beside the parser of the arguments; the world performs them.

mod action;
mod ask_user;
mod background;
mod delegate;
mod edit;
mod fetch;
mod plan;
mod read;
mod read_ref;
mod run_command;
mod search;
mod server;
mod set_steps;
pub(crate) mod text_calls;
mod use_skill;
mod web_search;

pub(crate) use action::{BackgroundStart, ToolAction};
pub(crate) use delegate::{DELEGATE_NAME, SHARED_TOOLS};
pub(crate) use fetch::{host_of, interrogating, remark};
pub(crate) use server::{FIND_TOOL, ServerAction, USE_TOOL, find as find_server_tools};
pub(crate) use use_skill::USE_SKILL;
pub(crate) use web_search::WEB_SEARCH;

use std::sync::{Arc, LazyLock, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use trimtab_vocab::event::OfferedTools;
use trimtab_vocab::{ListedServer, ServerTool, ToolCall, ToolSpec};

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
/// Tools of MCP servers.
const SERVERS: &str = "mcp";

/// A tool: its description for models, and how it is treated.
#[derive(Debug, Clone)]
pub(crate) struct ToolDefinition {
    /// Its name, its description and the JSON schema of its arguments.
    pub(crate) spec: Arc<ToolSpec>,
    /// Whether it changes nothing.
    pub(crate) read_only: bool,
    /// The group it belongs to, which requests and pills choose by. None: it touches nothing, and is in all of them.
    pub(crate) category: Option<String>,
    /// Computed when they are first needed: a conversation needs none of them.
    figures: OnceLock<SpecFigures>,
    source: ToolSource,
}

/// What follows from the spec of a tool.
#[derive(Debug, Clone, Copy)]
struct SpecFigures {
    /// Its tokens, about.
    tokens: u64,
    hash: blake3::Hash,
}

/// Who performs a tool.
#[derive(Debug, Clone)]
enum ToolSource {
    BuiltIn,
    Server {
        server: String,
        /// The folder names the server.
        is_project: bool,
        tool: Arc<ServerTool>,
    },
}

impl ToolDefinition {
    fn new(spec: ToolSpec, read_only: bool, category: Option<String>) -> Self {
        Self { spec: Arc::new(spec), read_only, category, figures: OnceLock::new(), source: ToolSource::BuiltIn }
    }

    fn figures(&self) -> SpecFigures {
        *self.figures.get_or_init(|| {
            let spec = &self.spec;
            let schema = spec.input_schema.to_string();
            let tokens = tokens_of(spec, &schema);
            let text = [&spec.name, &spec.description, &schema].map(String::as_str).join("\n");
            SpecFigures { tokens, hash: blake3::hash(text.as_bytes()) }
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Whether a request that needs these groups is offered it.
    pub(crate) fn is_needed(&self, categories: &[String]) -> bool {
        match &self.category {
            // Whether a request has workers or servers is decided elsewhere.
            Some(category) => [FILES, SUBTASKS, SERVERS].contains(&category.as_str()) || categories.contains(category),
            None => true,
        }
    }
}

/// Tokens of a tool in a prompt, about.
fn tokens_of(spec: &ToolSpec, schema: &str) -> u64 {
    estimate(&spec.description) + schema.len() as u64 / 3
}

/// All tools that there are.
#[derive(Debug)]
pub(crate) struct ToolRegistry {
    tools: Vec<ToolDefinition>,
    /// The tools of servers are found with a tool instead of being in the prompt.
    is_deferred: bool,
}

impl PartialEq for ToolRegistry {
    fn eq(&self, other: &Self) -> bool {
        let hashes = |registry: &Self| registry.tools.iter().map(|tool| tool.figures().hash).collect::<Vec<_>>();
        self.is_deferred == other.is_deferred && hashes(self) == hashes(other)
    }
}

impl ToolRegistry {
    /// The tools of the program itself.
    fn built_in() -> Self {
        Self { tools: BUILT_IN.iter().map(BuiltInTool::definition).collect(), is_deferred: false }
    }

    /// The same with the tools of servers.
    pub(crate) fn with_servers(servers: &[ListedServer], is_deferred: bool) -> Self {
        let mut registry = Self::built_in();
        registry.tools.extend(server::definitions(servers));
        Self { is_deferred, ..registry }
    }

    /// The built-in tools, then those of the servers by name.
    pub(crate) fn definitions(&self) -> &[ToolDefinition] {
        &self.tools
    }

    /// How many tools of servers there are, and their tokens, about.
    pub(crate) fn server_weight(&self) -> (usize, u64) {
        let of_servers = self.tools.iter().filter(|tool| matches!(tool.source, ToolSource::Server { .. }));
        of_servers.fold((0, 0), |(count, tokens), tool| (count + 1, tokens + tool.figures().tokens))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The offered tools, always in the same order, and the same for work and for planning: the prompt's beginning
    /// stays the same, byte for byte, so that providers can cache it.
    pub(crate) fn offered(&self, offer: ToolOffer) -> impl Iterator<Item = &ToolDefinition> {
        let is_offered = move |tool: &&ToolDefinition| match &tool.source {
            ToolSource::Server { .. } => !self.is_deferred,
            ToolSource::BuiltIn => self.is_deferred || ![FIND_TOOL, USE_TOOL].contains(&tool.name()),
        };
        self.tools.iter().filter(move |_| offer != ToolOffer::Nothing).filter(is_offered)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        // Only sessions with skills offer this one.
        self.offered(ToolOffer::Everything).map(ToolDefinition::name).filter(|name| *name != USE_SKILL).collect()
    }

    /// Tokens of the tools that a prompt offers, about.
    pub(crate) fn weight(&self, offered: &[Arc<ToolSpec>]) -> u64 {
        let tokens = |spec: &Arc<ToolSpec>| match self.get(&spec.name) {
            Some(tool) => tool.figures().tokens,
            None => tokens_of(spec, &spec.input_schema.to_string()),
        };
        offered.iter().map(tokens).sum()
    }

    /// The tools that a prompt offers, as they are recorded.
    pub(crate) fn record_of(&self, offered: &[Arc<ToolSpec>]) -> OfferedTools {
        if offered.is_empty() {
            return OfferedTools::default();
        }
        let mut hash = blake3::Hasher::new();
        for tool in offered.iter().filter_map(|spec| self.get(&spec.name)) {
            hash.update(tool.figures().hash.as_bytes());
        }
        let names = offered.iter().map(|spec| spec.name.clone()).collect();
        OfferedTools { names, hash: hash.finalize().to_hex()[..32].to_owned() }
    }

    /// Parses a call. The error helps the model to do better.
    pub(crate) fn read(&self, call: &ToolCall) -> Result<ToolAction, String> {
        let name = &call.name;
        let Some(tool) = self.get(name) else {
            return Err(format!("There is no tool named {name}. The tools are: {}.", self.names().join(", ")));
        };
        if call.broken.is_some() {
            return Err(format!(
                "The arguments of {name} are not a JSON object. Nothing was done. Send them again, complete."
            ));
        }
        let none = Value::Object(serde_json::Map::new());
        let input = if call.input.is_null() { &none } else { &call.input };
        self.action_of(tool, input)
            .map_err(|reason| format!("{name} was not run: {reason} Its schema: {}", tool.spec.input_schema))
    }

    fn action_of(&self, tool: &ToolDefinition, input: &Value) -> Result<ToolAction, String> {
        if let Some(action) = server::action(tool, input) {
            return action;
        }
        if tool.name() == USE_TOOL {
            let server::UseToolArguments { name, input } = arguments(input)?;
            let input = if input.is_null() { Value::Object(serde_json::Map::new()) } else { input };
            let found = self.get(&name).and_then(|tool| server::action(tool, &input));
            return found
                .unwrap_or_else(|| Err(format!("no MCP server has a tool named {name}; find_tool finds them.")));
        }
        let reader = BUILT_IN.iter().find(|known| known.name == tool.name());
        reader.map_or_else(|| Err("it cannot be read.".to_owned()), |reader| (reader.read)(input))
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
    background::READ_OUTPUT,
    background::STOP_COMMAND,
    fetch::FETCH,
    web_search::SEARCH_WEB,
    set_steps::STEPS,
    ask_user::ASK,
    read_ref::READ_REF,
    plan::PROPOSE,
    delegate::DELEGATE,
    delegate::READ_SHARED,
    delegate::WRITE_SHARED,
    server::FIND,
    server::USE,
    use_skill::SKILL,
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
                .filter(|tool| tool.name() != USE_SKILL)
                .filter(|tool| ![Some(SUBTASKS), Some(SERVERS)].contains(&tool.category.as_deref()))
                .map(|tool| &tool.spec)
                .map(|spec| spec.name.len() + spec.description.len() + spec.input_schema.to_string().len())
                .sum::<usize>()
        };
        assert!(size(ToolOffer::Everything) < 6_200, "{}", size(ToolOffer::Everything));
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
            ("read_output", json!({"id": "b1", "since": 100})),
            ("stop_command", json!({"id": "b1"})),
            ("fetch_url", json!({"url": "https://example.org/x"})),
            ("web_search", json!({"query": "trim tab"})),
            ("set_steps", json!({"steps": [{"text": "a", "completed": true}, "b"]})),
            ("ask_user", json!({"question": "Which?", "options": ["a", "b"]})),
            ("read_ref", json!({"key": "ref:result-r1-c1t1"})),
            ("propose_plan", json!({"steps": [{"title": "a", "dependsOn": []}]})),
            ("delegate", json!({"tasks": [{"instruction": "a", "files": ["b"], "depends_on": []}]})),
            ("read_shared", json!({})),
            ("write_shared", json!({"key": "a", "value": 1})),
            ("find_tool", json!({"query": "issues"})),
            ("use_skill", json!({"name": "pdf"})),
        ] {
            read(name, input, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(BUILT_IN.len(), 24, "a new tool belongs into this test; use_tool is below");
    }

    fn listed(names: &[&str]) -> Vec<ListedServer> {
        let tool = |name: &&str| ServerTool {
            name: (*name).to_owned(),
            description: format!("Does {name}."),
            input_schema: json!({"type": "object"}),
            read_only: false,
            destructive: false,
        };
        let tools = Some(names.iter().map(tool).collect());
        vec![ListedServer { name: "github".into(), tools, ..ListedServer::default() }]
    }

    #[test]
    fn tools_of_servers_join_the_registry_and_are_called_by_name() {
        let registry = ToolRegistry::with_servers(&listed(&["list_issues", "create_issue"]), false);
        let offered: Vec<&str> = registry.offered(ToolOffer::Everything).map(ToolDefinition::name).collect();
        let built_in = super::registry().offered(ToolOffer::Everything).count();
        assert_eq!(offered[built_in..], ["mcp__github__create_issue", "mcp__github__list_issues"], "in a stable order");
        let call = |name: &str, input: Value| {
            registry.read(&ToolCall { id: "1".into(), name: name.into(), input, broken: None })
        };
        let Ok(ToolAction::CallServer(action)) = call("mcp__github__create_issue", json!({"title": "a"})) else {
            panic!("a call of the server");
        };
        assert_eq!((action.title().as_str(), action.input["title"].as_str()), ("github: create_issue", Some("a")));
        assert!(call("mcp__github__create_issue", json!([1])).is_err());
        assert!(call("mcp__github__delete_all", json!({})).is_err());
    }

    #[test]
    fn many_tools_are_found_and_used_instead_of_offered() {
        let registry = ToolRegistry::with_servers(&listed(&["list_issues", "create_issue"]), true);
        let offered: Vec<&str> = registry.offered(ToolOffer::Everything).map(ToolDefinition::name).collect();
        assert!(["find_tool", "use_tool"].iter().all(|name| offered.contains(name)), "{offered:?}");
        assert!(!offered.iter().any(|name| name.starts_with("mcp__")));
        let found = find_server_tools(registry.definitions(), "create issues");
        assert!(found.find("create_issue") < found.find("list_issues"), "{found}");
        let call =
            |input: Value| registry.read(&ToolCall { id: "1".into(), name: "use_tool".into(), input, broken: None });
        assert!(matches!(call(json!({"name": "mcp__github__create_issue"})), Ok(ToolAction::CallServer(_))));
        assert!(call(json!({"name": "read_file", "input": {"path": "a"}})).is_err(), "only tools of servers");
    }
}
