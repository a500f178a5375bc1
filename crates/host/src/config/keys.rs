//! Every setting there is: its name, what it may hold, what it is without anybody's doing.
//!
//! The parser, the environment names, `trimtab config` and the table in the guide are all read off
//! this list; what a setting means for the rest of the program is said in `resolve.rs`.

use trimtab_engine::flow::intent;
use trimtab_world::models::Dialect;
use trimtab_world::tools::edits;

/// One setting: its name, its values, and what it does.
#[derive(Debug)]
pub struct SettingKey {
    /// Its name in the file, with dots.
    pub path: &'static str,
    /// What it may hold.
    pub kind: SettingKind,
    /// What it holds when nobody sets it, as TOML.
    pub default: &'static str,
    /// What it is for.
    pub help: &'static str,
}

/// What a setting may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    Text,
    Choice(&'static [&'static str]),
    /// A whole number within bounds.
    Int(i64, i64),
    /// A number within bounds.
    Float(f64, f64),
    /// Yes or no.
    Bool,
    /// Whole numbers within bounds, each with a name of its own; in the environment `NAME=NUMBER`, with a comma
    /// between them.
    Numbers(i64, i64),
    /// Texts, each with a name of its own; in the environment `NAME=TEXT`, with a semicolon between them.
    Texts,
    /// HTTP headers with their values; in the environment as [`SettingKind::Texts`].
    Headers,
    /// Fields of a JSON body; in the environment a JSON object.
    Fields,
    /// Any number of texts; in the environment with a comma between them.
    List,
    /// Any number of phrases that begin the work; in the environment with a comma between them.
    Phrases,
    /// Any number of beginnings of commands, each perhaps with examples.
    Rules,
}

impl SettingKind {
    /// What it takes, as the end of a sentence.
    pub fn takes(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Choice(choices) => {
                format!("one of {}", choices.iter().map(|one| shown(one)).collect::<Vec<_>>().join(", "))
            }
            Self::Int(least, most) => format!("a whole number from {least} to {most}"),
            Self::Float(least, most) => format!("a number from {least} to {most}"),
            Self::Bool => "true or false".to_owned(),
            Self::Numbers(least, most) => format!("names with whole numbers from {least} to {most}"),
            Self::Texts => "names with texts".to_owned(),
            Self::Headers => {
                "names of HTTP headers with texts; Content-Type, Host and their like cannot be set".to_owned()
            }
            Self::Fields => "a table of fields; in the environment a JSON object".to_owned(),
            Self::List => "a list of texts".to_owned(),
            Self::Phrases => {
                let most = intent::LONGEST_TRIGGER;
                format!("a list of phrases: a few words each, without marks or quotes, at most {most} bytes")
            }
            Self::Rules => "a list of beginnings of commands".to_owned(),
        }
    }
}

/// A choice in a sentence, where none has to be seen as well.
fn shown(choice: &'static str) -> &'static str {
    if choice.is_empty() { "\"\"" } else { choice }
}

const fn key(path: &'static str, kind: SettingKind, default: &'static str, help: &'static str) -> SettingKey {
    SettingKey { path, kind, default, help }
}

/// The settings, in the order in which they are shown.
pub const KEYS: &[SettingKey] = &[
    key(
        "model",
        SettingKind::Text,
        "\"\"",
        "The model that works: PROVIDER/NAME. Empty: the first provider with a key.",
    ),
    key("models.fast", SettingKind::Text, "\"\"", "For small work behind the scenes. Empty: `model`."),
    key(
        "models.fallback",
        SettingKind::Text,
        "\"\"",
        "Takes over when the model is overloaded or rate-limited after all retries. Empty: none.",
    ),
    key("models.vision", SettingKind::Text, "\"\"", "For requests with pictures. Empty: `model`."),
    key(
        "models.image",
        SettingKind::Text,
        "\"\"",
        "For making pictures. Empty: the current one of xai or openai, whichever has a key; else none are made.",
    ),
    key(
        "answer.protocol",
        SettingKind::Choice(&["auto", "native_tools", "structured_json", "edit_blocks"]),
        "\"auto\"",
        "How a model says what it wants done: native_tools calls tools, structured_json holds the whole answer in one JSON \
         object, edit_blocks writes files and replacements in fenced blocks. auto decides by the model and its server, \
         and changes when the model cannot work that way.",
    ),
    key(
        "search.provider",
        SettingKind::Choice(&["", "brave", "searxng", "exa", "tavily"]),
        "\"\"",
        "The service behind the tool web_search. Empty: models cannot search the web.",
    ),
    key("search.url", SettingKind::Text, "\"\"", "Its address. Empty: the service's own; searxng needs one."),
    key(
        "search.api_key_env",
        SettingKind::Text,
        "\"\"",
        "The environment variable that holds its key. Empty: BRAVE_API_KEY, EXA_API_KEY or TAVILY_API_KEY.",
    ),
    key(
        "image.batch",
        SettingKind::Choice(&["distinct", "same_prompt"]),
        "\"distinct\"",
        "Several pictures: distinct gives each a prompt and a call of its own, same_prompt makes variants of one.",
    ),
    key(
        "image.price_usd",
        SettingKind::Float(0.0, 100.0),
        "0.07",
        "Dollars for one picture, where models.toml says nothing of the model.",
    ),
    key(
        "image.detect",
        SettingKind::Bool,
        "true",
        "Words like \"draw\" or \"create an image\" ask for pictures. false: only `trimtab images make` does.",
    ),
    key(
        "temperature",
        SettingKind::Float(-1.0, 2.0),
        "-1.0",
        "How freely a model may choose its words, 0 to 2. Below 0: as its provider sees fit.",
    ),
    key(
        "effort",
        SettingKind::Choice(&["auto", "off", "minimal", "low", "medium", "high", "max"]),
        "\"auto\"",
        "How much a model thinks before it answers. auto: as limits.thinking_tokens and the provider have it.",
    ),
    key(
        "record",
        SettingKind::Text,
        "\"\"",
        "Write every exchange with a model to this file, to be played by replay/FILE.",
    ),
    key(
        "apply.auto",
        SettingKind::Bool,
        "true",
        "The master switch: false asks about everything, whatever apply.files and apply.commands say.",
    ),
    key(
        "apply.files",
        SettingKind::Choice(&["auto", "ask"]),
        "\"auto\"",
        "Changes of files: auto applies them at once (they can be undone), ask asks first. Unset, models that the catalog does not know ask.",
    ),
    key(
        "apply.confirm_deletes",
        SettingKind::Bool,
        "true",
        "Ask before a file is deleted. false: as apply.files says, but never one that the model has not read.",
    ),
    key(
        "apply.commands",
        SettingKind::Choice(&["ask", "auto"]),
        "\"ask\"",
        "Commands: auto runs by itself what commands.allow names and is known to be safe.",
    ),
    key(
        "apply.tasks",
        SettingKind::Choice(&["ask", "auto"]),
        "\"ask\"",
        "Changes of your tasks by the assistant: auto applies them at once (they can be undone), but never a delete.",
    ),
    key(
        "history.keep_days",
        SettingKind::Int(0, 36_500),
        "90",
        "Days for which a change can be taken back; what it says is kept for ever. 0: for ever.",
    ),
    key(
        "history.max_mb",
        SettingKind::Int(0, 1_000_000),
        "2048",
        "Megabytes that old contents of files may take; the oldest go first, and you are told. 0: any.",
    ),
    key(
        "commands.allow",
        SettingKind::Rules,
        "[]",
        "Beginnings of commands that may run by themselves. Empty: the built-in list.",
    ),
    key("commands.ask", SettingKind::Rules, "[]", "Beginnings of commands that are always asked about."),
    key("commands.deny", SettingKind::Rules, "[]", "Beginnings of commands that are refused."),
    key(
        "commands.match",
        SettingKind::Choice(&["safe_prefix", "plain_prefix"]),
        "\"safe_prefix\"",
        "How commands.allow is read: with flags known to be safe only, or with any that neither delete nor leave the folder.",
    ),
    key(
        "commands.timeout_s",
        SettingKind::Int(1, 86_400),
        "30",
        "Seconds that a command may take. Then it is ended, or you are asked, if you are there.",
    ),
    key(
        "commands.timeouts",
        SettingKind::Numbers(1, 604_800),
        "{}",
        "The same for commands that begin so: `\"cargo test\" = 600`. The longest beginning counts.",
    ),
    key(
        "commands.longest_s",
        SettingKind::Int(1, 604_800),
        "600",
        "Seconds that a model may ask for at most, if not more are set for the command.",
    ),
    key(
        "commands.memory_mb",
        SettingKind::Int(0, 1 << 30),
        "0",
        "Address space of each process of a command. 0: no limit.",
    ),
    key("commands.processes", SettingKind::Int(0, 1 << 22), "4096", "Processes of a command at a time. 0: no limit."),
    key(
        "commands.cpu_s",
        SettingKind::Int(0, 1 << 30),
        "0",
        "Processor seconds of each process of a command. 0: no limit.",
    ),
    key(
        "commands.file_mb",
        SettingKind::Int(0, 1 << 30),
        "16384",
        "Size of a file that a command writes. 0: no limit.",
    ),
    key(
        "commands.sandbox",
        SettingKind::Choice(&["workspace", "read-only", "off"]),
        "\"workspace\"",
        "Where commands may write: in the folder, nowhere, or anywhere.",
    ),
    key(
        "history.snapshot_files",
        SettingKind::Int(0, 1_000_000),
        "50000",
        "Files of the folder that are noted before a command, so that what it does to them can be undone. 0: none.",
    ),
    key(
        "history.snapshot_mb",
        SettingKind::Int(0, 65_536),
        "64",
        "Megabytes of new or changed files that are kept before a command, and after it. 0: none.",
    ),
    key(
        "output.thinking",
        SettingKind::Choice(&["folded", "shown"]),
        "\"folded\"",
        "How the thinking of a model is shown: folded into one line, or whole.",
    ),
    key(
        "output.archive",
        SettingKind::Bool,
        "true",
        "Outputs of commands that are not shown whole are stored, as ref:KEY. false: they are simply cut.",
    ),
    key(
        "output.archive_mb",
        SettingKind::Int(1, 256),
        "2",
        "How much of one output is stored; of a longer one the beginning and the end.",
    ),
    key(
        "permissions.dialog",
        SettingKind::Choice(&["auto", "full", "compact"]),
        "\"auto\"",
        "The answers about a command: four, three short ones, or (auto) the short ones for commands of an answer.",
    ),
    key("permissions.remember_deletes", SettingKind::Bool, "false", "Whether a rule may cover commands that delete."),
    key("folders.trusted", SettingKind::List, "[]", "Folders that are trusted without being asked about."),
    key("copilot.name", SettingKind::Text, "\"Trimtab\"", "What the assistant is called in questions."),
    key(
        "copilot.synthesis",
        SettingKind::Choice(&["model", "list"]),
        "\"model\"",
        "How the work of tools is summed up: in the model's own words, or as a list of results.",
    ),
    key(
        "copilot.flow",
        SettingKind::Choice(&["", "complex", "simple", "conversation"]),
        "\"\"",
        "One of the documented ways to work together; sets those of the following that nobody sets.",
    ),
    key(
        "copilot.intelligent_routing",
        SettingKind::Choice(&["off", "minimal", "aggressive"]),
        "\"off\"",
        "Whether the fast model looks at a task first: only where rules cannot place it, preferring action, or asking \
         about whatever is ambiguous.",
    ),
    key(
        "copilot.unsure_below",
        SettingKind::Float(0.0, 1.0),
        "0.45",
        "Where the fast model is less sure than this, you are asked what is meant. 0: never for that reason.",
    ),
    key(
        "copilot.sure_above",
        SettingKind::Float(0.0, 1.0),
        "0.70",
        "Where the fast model is surer than this, it is believed; below, a question that names nothing here is answered \
         in words.",
    ),
    key(
        "copilot.no_tools_below",
        SettingKind::Float(0.0, 1.0),
        "0.25",
        "Where the fast model thinks tools less likely to be needed than this, words will do. 0: never for that reason.",
    ),
    key(
        "copilot.approval_mode",
        SettingKind::Choice(&["none", "before_step", "after_step", "both"]),
        "\"none\"",
        "Where the steps of a plan stop for a person.",
    ),
    key("copilot.enable_planning", SettingKind::Bool, "true", "Tasks that look like much work are planned first."),
    key("copilot.plan_approval", SettingKind::Bool, "true", "A plan waits for a person before anything is done."),
    key("copilot.auto_approve_simple", SettingKind::Bool, "true", "A simple task needs no approval before it runs."),
    key(
        "copilot.conversational",
        SettingKind::Bool,
        "false",
        "Talk first; nothing is carried out until a person says so.",
    ),
    key(
        "copilot.allow_execution_transition",
        SettingKind::Bool,
        "true",
        "Words such as \"go ahead\" end a conversation and begin the work.",
    ),
    key(
        "copilot.triggers",
        SettingKind::Phrases,
        "[\"implement\", \"build\", \"create it\", \"do it\", \"go ahead\", \"make it\"]",
        "The words that do, unless they are asked or taken back. Empty: none do, only `trimtab control implement`.",
    ),
    key("copilot.pause_enabled", SettingKind::Bool, "true", "The work can be paused between its steps."),
    key(
        "copilot.pace",
        SettingKind::Choice(&["autonomous", "incremental", "single"]),
        "\"autonomous\"",
        "How much is done before a person says \"continue\": all of it, one or two steps, or a single round of tools.",
    ),
    key(
        "copilot.auto_continue",
        SettingKind::Bool,
        "false",
        "\"continue\" is said by itself while steps are open and each turn completes one.",
    ),
    key(
        "repair.max_attempts",
        SettingKind::Int(0, 5),
        "1",
        "How often models.fast is asked to repair an answer that the rules cannot read wholly. 0: never.",
    ),
    key(
        "truncation.on_max_tokens",
        SettingKind::Choice(&["ask", "stop", "auto_continue"]),
        "\"ask\"",
        "A reply cut off at the output limit: ask where something of it would have acted, stop, or let the model go on.",
    ),
    key(
        "truncation.allow_recovered_changes",
        SettingKind::Bool,
        "false",
        "Whether whole changes of an answer that was cut off may be applied, each after a question of its own.",
    ),
    key(
        "truncation.heuristics",
        SettingKind::Choice(&["normal", "strict"]),
        "\"normal\"",
        "Signs of a cut in a text count only where the model did not say that it was done (normal), or always (strict).",
    ),
    key(
        "diff.noop",
        SettingKind::Choice(&["classify", "block", "skip"]),
        "\"classify\"",
        "A diff without effect: skipped if it is there already and blocked if it fits nowhere, always blocked, or skipped.",
    ),
    key(
        "tui.theme",
        SettingKind::Choice(&["auto", "dark", "light", "ansi", "plain"]),
        "\"auto\"",
        "Colours of the terminal UI: as the terminal says, for a dark or light one, its own sixteen, or none.",
    ),
    key(
        "tui.status",
        SettingKind::List,
        "[]",
        "What the line at the bottom of the terminal UI shows, in this order: mode, model, effort, folder, branch, \
         autonomy, context, tokens, cached, speed, cost, session. Empty: all of it, as far as there is room.",
    ),
    key(
        "tui.plain",
        SettingKind::Bool,
        "false",
        "Plain lines instead of a screen that is drawn over, for screen readers and for terminals that cannot.",
    ),
    key(
        "keys",
        SettingKind::Texts,
        "{}",
        "Keys of the terminal UI by what they do: `history = \"ctrl-t, f3\"`. Its help (`?`) lists the names.",
    ),
    key(
        "message.while_running",
        SettingKind::Choice(&["steer", "queue", "replace"]),
        "\"steer\"",
        "A new message while a request of its session runs: steer passes its words on to that request, queue waits for \
         its end, replace cancels it.",
    ),
    key(
        "context.files",
        SettingKind::List,
        "[]",
        "Files of the folder that every request takes as instructions, beside AGENTS.md and CLAUDE.md: \
         `[\"docs/style.md\"]`. A project adds its own.",
    ),
    key(
        "context.handoff_at",
        SettingKind::Float(0.1, 1.0),
        "0.85",
        "The part of the model's window, or of a session's document, from which on you are asked how to go on.",
    ),
    key(
        "context.strategy",
        SettingKind::Choice(&["both", "compress", "ask"]),
        "\"both\"",
        "What happens there: older turns are summed up and you are asked if that is not enough; only the one; only \
         the other.",
    ),
    key(
        "context.session_mb",
        SettingKind::Int(0, 1_000_000),
        "64",
        "Megabytes of conversation that a session's document may hold. 0: any.",
    ),
    key(
        "context.input_tokens",
        SettingKind::Int(0, 10_000_000),
        "0",
        "Tokens of one message that are sent as they are; a longer one is stored whole, and its head and tail are sent. \
         0: half of the model's window. Above 256 KB a message is always stored.",
    ),
    key(
        "tasks.timezone",
        SettingKind::Text,
        "\"\"",
        "The time zone of your days, like Europe/Berlin. Empty: the machine's.",
    ),
    key(
        "tasks.warn_deletes",
        SettingKind::Int(0, 1_000_000),
        "20",
        "Deletes of tasks at once above which you are asked again.",
    ),
    key(
        "tasks.warn_updates",
        SettingKind::Int(0, 1_000_000),
        "50",
        "Tasks changed at once above which you are asked again.",
    ),
    key(
        "tasks.keys",
        SettingKind::Int(1, 100_000),
        "1000",
        "Idempotency keys of changes of tasks that are remembered at most.",
    ),
    key(
        "server.heartbeat_s",
        SettingKind::Int(1, 600),
        "10",
        "Seconds after which a stream of the server says that it lives. Less, where something on the way cuts it sooner.",
    ),
    key(
        "memory.ingest",
        SettingKind::Choice(&["durable", "all", "off"]),
        "\"durable\"",
        "Which of your words later sessions are told: lasting ones (\"My name is …\", \"we use tabs\"), all, or none.",
    ),
    key(
        "memory.recall_bytes",
        SettingKind::Int(0, 16_384),
        "2048",
        "Bytes of what is remembered that a model is told at most. 0: none.",
    ),
    key(
        "assistant.auto_mode",
        SettingKind::Bool,
        "true",
        "Whether `trimtab ask` finds out by itself what is wanted: words, changes, or an answer first. false: it plans.",
    ),
    key(
        "assistant.clarify_below",
        SettingKind::Float(0.0, 1.0),
        "0.45",
        "Below this confidence of the router, you are asked which tasks you mean.",
    ),
    key(
        "assistant.plan_above",
        SettingKind::Float(0.0, 1.0),
        "0.7",
        "Above it, changes are planned; in between, the answer is in words unless tasks or days are named.",
    ),
    key(
        "assistant.keyword_rules",
        SettingKind::Bool,
        "true",
        "Whether plain words such as \"delete\" or \"why\" lean that decision.",
    ),
    key(
        "assistant.suggest_changes",
        SettingKind::Bool,
        "true",
        "Whether an answer in words may offer to make the changes.",
    ),
    key("assistant.max_operations", SettingKind::Int(1, 100), "8", "Operations that one plan may have."),
    key("assistant.max_options", SettingKind::Int(1, 20), "7", "Tasks to choose from that a question offers at first."),
    key(
        "assistant.inline_options",
        SettingKind::Bool,
        "false",
        "Whether the options stand in the text of a question too, for clients that show nothing else.",
    ),
    key(
        "assistant.strict_schema",
        SettingKind::Bool,
        "true",
        "Whether a provider holds the model to the schema of operations, where it can. false: to JSON alone.",
    ),
    key(
        "assistant.remember_scope_min",
        SettingKind::Int(0, 1_440),
        "10",
        "Minutes for which tasks that you have confirmed to mean are what a short request means. 0: never.",
    ),
    key(
        "assistant.audit_raw",
        SettingKind::Choice(&["truncated", "off", "full"]),
        "\"truncated\"",
        "How much of a model's words about tasks the audit keeps: the first 4 kB, nothing, or 16 kB.",
    ),
    key("limits.steps", SettingKind::Int(1, 10_000), "25", "Model calls of one request at most."),
    key("limits.jobs", SettingKind::Int(1, 1_000), "10", "Requests that run at once; the rest wait in order."),
    key("limits.max_output_tokens", SettingKind::Int(1, 10_000_000), "16384", "Tokens of one reply at most."),
    key(
        "limits.thinking_tokens",
        SettingKind::Int(0, 1_000_000),
        "0",
        "Tokens that a model which can think may think before it speaks.",
    ),
    key(
        "limits.budget_usd",
        SettingKind::Float(0.0, 1e9),
        "0.0",
        "Dollars that a session may cost. 0: as much as it takes.",
    ),
    key(
        "limits.api_timeout_s",
        SettingKind::Int(1, 86_400),
        "300",
        "Seconds of silence after which a call is given up.",
    ),
    key(
        "limits.cache_s",
        SettingKind::Int(0, 31_536_000),
        "0",
        "Seconds for which the reply to exactly the same prompt is used again. 0: never.",
    ),
    key("limits.retries", SettingKind::Int(0, 100), "5", "How often a failed call is tried again."),
];

/// How a provider may speak, by the name of its kind. `openai` is two dialects: its `api` says which.
pub(super) const KINDS: &[(&str, Dialect)] = &[
    ("anthropic", Dialect::Anthropic),
    ("openai", Dialect::OpenAi),
    ("gemini", Dialect::Gemini),
    ("ollama", Dialect::Ollama),
    ("replay", Dialect::Replay),
];

/// Their names alone.
const KIND_NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].0;
        at += 1;
    }
    names
};

/// What can be set for each provider, under `providers.NAME`.
pub const PROVIDER_KEYS: &[SettingKey] = &[
    key("kind", SettingKind::Choice(&KIND_NAMES), "\"openai\"", "The dialect it speaks."),
    key(
        "api",
        SettingKind::Choice(&["auto", "chat", "responses"]),
        "\"auto\"",
        "Which of OpenAI's two interfaces; auto: responses at api.openai.com, chat elsewhere.",
    ),
    key("base_url", SettingKind::Text, "\"\"", "Where it is."),
    key("api_key_env", SettingKind::Text, "\"\"", "The environment variable that holds its key. Empty: it needs none."),
    key(
        "headers",
        SettingKind::Headers,
        "{}",
        "HTTP headers for every request. `$NAME` in a value is the value of an environment variable.",
    ),
    key("query", SettingKind::Texts, "{}", "Query parameters for every request, with `$NAME` as in headers."),
    key(
        "body",
        SettingKind::Fields,
        "{}",
        "Fields that are merged into the body of every model call, with `$NAME` as in headers.",
    ),
];

/// Other names under which settings are known: documented elsewhere, and accepted here.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("autoApply", "apply.auto"),
    ("autoApplyFiles", "apply.files"),
    ("autoApplyCli", "apply.commands"),
    ("cliWhitelist", "commands.allow"),
    ("maxOutputTokens", "limits.max_output_tokens"),
    ("apiTimeout", "limits.api_timeout_s"),
    ("modelVision", "models.vision"),
    ("modelImageCreate", "models.image"),
    ("cli.match", "commands.match"),
];

/// The setting that another name means. A name may stand in a section called `grok`.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("grok.").unwrap_or(name);
    ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, path)| *path)
}

/// The environment name of another name: `TRIMTAB_AUTO_APPLY_CLI` for `autoApplyCli`.
pub(super) fn alias_variable(alias: &str) -> String {
    let mut name = String::from("TRIMTAB_");
    for c in alias.chars() {
        match c {
            '.' => name.push('_'),
            c if c.is_ascii_uppercase() => name.extend(['_', c]),
            c => name.push(c.to_ascii_uppercase()),
        }
    }
    name
}

/// The environment name of a setting.
pub fn env_name(path: &str) -> String {
    format!("TRIMTAB_{}", path.replace('.', "_").to_uppercase())
}

/// Looks a path up; `providers.NAME.FIELD` is found under its field.
pub fn find(path: &str) -> Option<&'static SettingKey> {
    if let Some((name, field)) = path.strip_prefix("providers.").and_then(|rest| rest.split_once('.')) {
        return PROVIDER_KEYS.iter().find(|key| key.path == field).filter(|_| is_provider_name(name));
    }
    KEYS.iter().find(|key| key.path == path)
}

fn is_provider_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The known name most like a mistaken one, if any is like it.
pub(super) fn nearest(path: &str) -> Option<String> {
    let mut known: Vec<String> = KEYS.iter().map(|key| key.path.to_owned()).collect();
    if let Some((name, _)) = path.strip_prefix("providers.").and_then(|rest| rest.split_once('.')) {
        known.extend(PROVIDER_KEYS.iter().map(|key| format!("providers.{name}.{}", key.path)));
    }
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    known
        .into_iter()
        .map(|name| {
            let whole = edits(path, &name);
            // `max_output_tokens` at the top level means the one under `limits`.
            let tail = edits(&last(path), &last(&name));
            let tail = if tail <= last(&name).len() / 3 { tail + 1 } else { usize::MAX };
            (whole.min(tail), name)
        })
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .map(|(_, name)| name)
}

/// Of some names, the one that was probably meant.
pub fn nearest_of<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let near = names.iter().map(|name| (edits(given, name), *name)).min()?;
    (near.0 <= 1 + near.1.len() / 3).then_some(near.1)
}

/// The variable that was probably meant by one that sets nothing: a letter or two are wrong, or the section is missing.
pub fn variable_meant(given: &str) -> Option<String> {
    let tail = given.strip_prefix("TRIMTAB")?;
    let names = || KEYS.iter().map(|key| env_name(key.path));
    let near = || names().map(|name| (edits(given, &name), name)).min().filter(|(distance, _)| *distance <= 2);
    names().find(|name| tail.len() > 4 && name.ends_with(tail)).or_else(|| Some(near()?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistaken_name_finds_the_one_that_was_meant() {
        assert_eq!(nearest("limits.retrys").as_deref(), Some("limits.retries"));
        assert_eq!(nearest("modle").as_deref(), Some("model"));
        assert_eq!(nearest("max_output_tokens").as_deref(), Some("limits.max_output_tokens"));
        assert_eq!(nearest("providers.x.baseurl").as_deref(), Some("providers.x.base_url"));
        assert_eq!(nearest("completely.different.thing"), None);
    }

    #[test]
    fn environment_names_are_distinct() {
        let names: std::collections::BTreeSet<_> = KEYS.iter().map(|key| env_name(key.path)).collect();
        assert_eq!(names.len(), KEYS.len());
        assert_eq!(env_name("limits.api_timeout_s"), "TRIMTAB_LIMITS_API_TIMEOUT_S");
    }
}
