//! Every setting: its name, its type, and its default.
//!
//! The parser, the environment names, `trimtab config`, and the table in the guide are all derived from this list.
//! `resolve.rs` interprets the values.

use trimtab_engine::flow::intent;
use trimtab_vocab::format;
use trimtab_world::models::Dialect;
use trimtab_world::tools::edits;

use crate::mcp::is_server_name;

/// One setting: its name, its values, and what it does.
#[derive(Debug)]
pub struct SettingKey {
    /// Its name in the file, with dots.
    pub path: &'static str,
    /// Its type.
    pub kind: SettingKind,
    /// The default, as TOML.
    pub default: &'static str,
    /// Its purpose, in one sentence.
    pub help: &'static str,
}

/// The type of a setting.
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
    /// Whole numbers within bounds by name; in the environment `NAME=NUMBER`, separated by commas.
    Numbers(i64, i64),
    /// Strings by name; in the environment `NAME=TEXT`, separated by semicolons.
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
    /// The expected value, as the end of a sentence.
    pub fn takes(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Choice(choices) => format::choices(&choices.iter().map(|one| shown(one)).collect::<Vec<_>>()),
            Self::Int(least, most) => format!("a whole number from {least} to {most}"),
            Self::Float(least, most) => format!("a number from {least} to {most}"),
            Self::Bool => "true or false".to_owned(),
            Self::Numbers(least, most) => format!("a table of whole numbers from {least} to {most}"),
            Self::Texts => "a table of strings".to_owned(),
            Self::Headers => {
                "a table of HTTP headers with string values (Content-Type, Host, and similar headers cannot be set)"
                    .to_owned()
            }
            Self::Fields => "a table of fields (in the environment: a JSON object)".to_owned(),
            Self::List => "a list of strings".to_owned(),
            Self::Phrases => {
                let most = intent::LONGEST_TRIGGER;
                format!("a list of short phrases without punctuation, at most {most} bytes each")
            }
            Self::Rules => "a list of command prefixes".to_owned(),
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
    key("model", SettingKind::Text, "\"\"", "Default model, as PROVIDER/NAME. Empty: the first provider with a key."),
    key(
        "models.fast",
        SettingKind::Text,
        "\"\"",
        "Model for small background work, such as titles and summaries. Empty: `model`.",
    ),
    key(
        "models.fallback",
        SettingKind::Text,
        "\"\"",
        "Model that takes over if the model is still overloaded or rate-limited after all retries. Empty: none.",
    ),
    key("subtasks.parallel", SettingKind::Int(1, 64), "4", "Maximum number of workers that run at the same time."),
    key(
        "subtasks.offer",
        SettingKind::Choice(&["ask", "off", "auto"]),
        "\"ask\"",
        "When a plan or a model suggests sub-tasks: ask you (ask), never use them (off), or start them within `subtasks.auto_usd` (auto).",
    ),
    key(
        "subtasks.auto_usd",
        SettingKind::Float(0.0, 1_000_000.0),
        "1.0",
        "Estimated cost in US dollars up to which sub-tasks start without asking, if `subtasks.offer` or `--approve auto` allows it.",
    ),
    key(
        "subtasks.build_folders",
        SettingKind::Choice(&["clone", "share", "none"]),
        "\"clone\"",
        "How a worker's copy gets `node_modules`, `.venv`, and `vendor`: cloned if the file system can share contents, otherwise linked read-only (clone), always linked read-only (share), or not at all (none).",
    ),
    key("subtasks.simple", SettingKind::Text, "\"\"", "Model for simple sub-tasks. Empty: `models.fast`."),
    key("subtasks.reasoning", SettingKind::Text, "\"\"", "Model for sub-tasks that need reasoning. Empty: `model`."),
    key("subtasks.review", SettingKind::Text, "\"\"", "Model for sub-tasks that review. Empty: `model`."),
    key("models.vision", SettingKind::Text, "\"\"", "Model for requests with images. Empty: `model`."),
    key(
        "models.image",
        SettingKind::Text,
        "\"\"",
        "Model that generates images. Empty: the current image model of xai or openai, if its key is set.",
    ),
    key(
        "answer.protocol",
        SettingKind::Choice(&["auto", "native_tools", "structured_json", "edit_blocks"]),
        "\"auto\"",
        "How a model requests actions: native_tools calls tools, structured_json answers with one JSON object, \
         edit_blocks writes files in fenced blocks. auto chooses by the model and its server, and changes if that \
         fails.",
    ),
    key(
        "search.provider",
        SettingKind::Choice(&["", "brave", "searxng", "exa", "tavily"]),
        "\"\"",
        "Service for the tool web_search. Empty: models cannot search the web.",
    ),
    key(
        "search.url",
        SettingKind::Text,
        "\"\"",
        "Address of the search service. Empty: its default. searxng needs one.",
    ),
    key(
        "search.api_key_env",
        SettingKind::Text,
        "\"\"",
        "Environment variable with the key of the search service. Empty: BRAVE_API_KEY, EXA_API_KEY, or \
         TAVILY_API_KEY.",
    ),
    key(
        "image.batch",
        SettingKind::Choice(&["distinct", "same_prompt"]),
        "\"distinct\"",
        "For several images: write one prompt per image (distinct), or make variants of one prompt (same_prompt).",
    ),
    key(
        "image.price_usd",
        SettingKind::Float(0.0, 100.0),
        "0.07",
        "Price of one image in US dollars if models.toml does not list the model.",
    ),
    key(
        "image.detect",
        SettingKind::Bool,
        "true",
        "Whether words such as \"draw\" or \"create an image\" request an image. false: only `trimtab images make` does.",
    ),
    key(
        "temperature",
        SettingKind::Float(-1.0, 2.0),
        "-1.0",
        "Sampling temperature, 0 to 2. Below 0: the provider's default.",
    ),
    key(
        "effort",
        SettingKind::Choice(&["auto", "off", "minimal", "low", "medium", "high", "max"]),
        "\"auto\"",
        "How much a model thinks before it answers. auto: limits.thinking_tokens, or the provider's default.",
    ),
    key(
        "record",
        SettingKind::Text,
        "\"\"",
        "Record every exchange with a model in this file. Play it with the model replay/FILE.",
    ),
    key(
        "store.url",
        SettingKind::Text,
        "\"\"",
        "Where sessions are kept: postgres://USER:PASSWORD@HOST/DATABASE for a PostgreSQL server that several machines \
         share. Empty: SQLite in the data folder.",
    ),
    key(
        "autonomy",
        SettingKind::Choice(&["careful", "standard", "trusting"]),
        "\"standard\"",
        "Level that sessions begin with. careful: ask before edits and all commands. standard: follow apply.files \
         and apply.commands. trusting: also run commands in the sandbox if undo covers them.",
    ),
    key(
        "apply.auto",
        SettingKind::Bool,
        "true",
        "Master switch: false asks about everything and overrides apply.files and apply.commands.",
    ),
    key(
        "apply.files",
        SettingKind::Choice(&["auto", "ask"]),
        "\"auto\"",
        "Edits: apply them at once, because you can undo them (auto), or ask first (ask). If you do not set this, edits by models outside the catalog ask first.",
    ),
    key(
        "apply.confirm_deletes",
        SettingKind::Bool,
        "true",
        "Ask before a file is deleted. false: follow apply.files, but always ask about files that the model has not \
         read.",
    ),
    key(
        "apply.commands",
        SettingKind::Choice(&["ask", "auto"]),
        "\"ask\"",
        "Commands: run only read-only commands automatically (ask), or also the other commands in commands.allow (auto).",
    ),
    key(
        "checks.mode",
        SettingKind::Choice(&["off", "ask", "on"]),
        "\"ask\"",
        "Checks after edits. off: run none. ask: treat a check like a command of the model, which usually asks first. on: run them in the sandbox without asking, and find checks by files such as Cargo.toml if none are listed.",
    ),
    key(
        "checks.commands",
        SettingKind::List,
        "[]",
        "Commands that run after each batch of edits, such as \"cargo check -q\". Their results go to the model. Empty: those of the folder.",
    ),
    key(
        "apply.tasks",
        SettingKind::Choice(&["ask", "auto"]),
        "\"ask\"",
        "Task changes by the assistant: auto applies them at once (you can undo them), except deletes.",
    ),
    key("history.keep_days", SettingKind::Int(0, 36_500), "90", "Days for which a change can be undone. 0: no limit."),
    key(
        "history.max_mb",
        SettingKind::Int(0, 1_000_000),
        "2048",
        "Disk space for undo in megabytes. The oldest changes expire first. 0: no limit.",
    ),
    key(
        "commands.allow",
        SettingKind::Rules,
        "[]",
        "Prefixes of commands that are known to be safe. Read-only commands run automatically, the others only with apply.commands = \"auto\". Empty: the built-in list.",
    ),
    key("commands.ask", SettingKind::Rules, "[]", "Prefixes of commands that always ask."),
    key("commands.deny", SettingKind::Rules, "[]", "Prefixes of commands that are denied."),
    key(
        "commands.match",
        SettingKind::Choice(&["safe_prefix", "plain_prefix"]),
        "\"safe_prefix\"",
        "How commands.allow matches: only with flags that are known to be safe (safe_prefix), or with any flags that neither delete nor leave the folder (plain_prefix).",
    ),
    key(
        "commands.timeout_s",
        SettingKind::Int(1, 86_400),
        "120",
        "Time limit of a command in seconds. At the limit, Trimtab asks you what to do. Scripts stop the command.",
    ),
    key(
        "commands.timeouts",
        SettingKind::Numbers(1, 604_800),
        "{}",
        "Timeouts in seconds for commands with a prefix: `\"cargo test\" = 600`. The longest prefix wins.",
    ),
    key(
        "commands.longest_s",
        SettingKind::Int(1, 604_800),
        "600",
        "Longest timeout in seconds that a model can ask for.",
    ),
    key(
        "commands.memory_mb",
        SettingKind::Int(0, 1 << 30),
        "0",
        "Maximum address space of each process of a command, in megabytes. 0: no limit.",
    ),
    key(
        "commands.processes",
        SettingKind::Int(0, 1 << 22),
        "4096",
        "Maximum number of processes of a command. 0: no limit.",
    ),
    key(
        "commands.cpu_s",
        SettingKind::Int(0, 1 << 30),
        "0",
        "Maximum CPU time of each process of a command, in seconds. 0: no limit.",
    ),
    key(
        "commands.file_mb",
        SettingKind::Int(0, 1 << 30),
        "16384",
        "Maximum size of a file that a command writes, in megabytes. 0: no limit.",
    ),
    key(
        "commands.sandbox",
        SettingKind::Choice(&["workspace", "read-only", "off"]),
        "\"workspace\"",
        "Where commands can write: only in the folder (workspace), nowhere (read-only), or anywhere (off).",
    ),
    key(
        "commands.network",
        SettingKind::Choice(&["off", "ask", "on"]),
        "\"ask\"",
        "Hosts that sandboxed commands can reach: none (off), hosts that you allow (ask), or all public hosts (on).",
    ),
    key(
        "history.snapshot_files",
        SettingKind::Int(0, 1_000_000),
        "50000",
        "Maximum number of files in the snapshot before a command, for undo. 0: no snapshot.",
    ),
    key(
        "history.snapshot_mb",
        SettingKind::Int(0, 65_536),
        "64",
        "Maximum size of the new or changed files in a snapshot, in megabytes. 0: no snapshot.",
    ),
    key(
        "output.thinking",
        SettingKind::Choice(&["folded", "shown"]),
        "\"folded\"",
        "How the thinking of a model is shown: in one line (folded), or in full (shown).",
    ),
    key(
        "output.archive",
        SettingKind::Bool,
        "true",
        "Store command output that is not shown completely, as ref:KEY. false: discard the rest.",
    ),
    key(
        "output.archive_mb",
        SettingKind::Int(1, 256),
        "2",
        "Maximum size of a stored output, in megabytes. Trimtab keeps the beginning and the end.",
    ),
    key(
        "permissions.dialog",
        SettingKind::Choice(&["auto", "full", "compact"]),
        "\"auto\"",
        "Answers to a command prompt: four (full), three (compact), or three only for commands that a reply suggests (auto).",
    ),
    key("permissions.remember_deletes", SettingKind::Bool, "false", "Let rules cover commands that delete files."),
    key("folders.trusted", SettingKind::List, "[]", "Folders that are trusted without asking."),
    key("copilot.name", SettingKind::Text, "\"Trimtab\"", "Name of the assistant in questions."),
    key(
        "copilot.synthesis",
        SettingKind::Choice(&["model", "list"]),
        "\"model\"",
        "How tool results are summarized: in the model's words (model), or as a list (list).",
    ),
    key(
        "copilot.flow",
        SettingKind::Choice(&["", "complex", "simple", "conversation"]),
        "\"\"",
        "Preset for the other copilot settings that you do not set.",
    ),
    key(
        "copilot.intelligent_routing",
        SettingKind::Choice(&["off", "minimal", "aggressive"]),
        "\"off\"",
        "How the fast model routes requests that fixed rules cannot route: not at all (off), with a preference to act (minimal), or with a question if anything is ambiguous (aggressive).",
    ),
    key(
        "copilot.unsure_below",
        SettingKind::Float(0.0, 1.0),
        "0.45",
        "Below this confidence of the fast model, Trimtab asks what you mean. 0: never.",
    ),
    key(
        "copilot.sure_above",
        SettingKind::Float(0.0, 1.0),
        "0.70",
        "Above this confidence, Trimtab follows the fast model. Below it, Trimtab answers in text if the question \
         does not mention anything in the folder.",
    ),
    key(
        "copilot.no_tools_below",
        SettingKind::Float(0.0, 1.0),
        "0.25",
        "Below this probability that tools are needed, Trimtab answers in text. 0: never.",
    ),
    key(
        "copilot.approval_mode",
        SettingKind::Choice(&["none", "before_step", "after_step", "both"]),
        "\"none\"",
        "When Trimtab asks about a step of a plan: never (none), before the step (before_step), after it (after_step), or both (both).",
    ),
    key("copilot.enable_planning", SettingKind::Bool, "true", "Plan large tasks first."),
    key("copilot.plan_approval", SettingKind::Bool, "true", "Ask for approval of a plan before it runs."),
    key("copilot.auto_approve_simple", SettingKind::Bool, "true", "Run simple tasks without approval."),
    key(
        "copilot.conversational",
        SettingKind::Bool,
        "false",
        "Discuss first, and act only on a phrase such as \"go ahead\".",
    ),
    key(
        "copilot.allow_execution_transition",
        SettingKind::Bool,
        "true",
        "Let phrases such as \"go ahead\" switch from discussion to work.",
    ),
    key(
        "copilot.triggers",
        SettingKind::Phrases,
        "[\"implement\", \"build\", \"create it\", \"do it\", \"go ahead\", \"make it\"]",
        "Phrases that start the work. Empty: only `trimtab control implement` does.",
    ),
    key("copilot.pause_enabled", SettingKind::Bool, "true", "Allow pausing between steps."),
    key(
        "copilot.pace",
        SettingKind::Choice(&["autonomous", "incremental", "single"]),
        "\"autonomous\"",
        "How much Trimtab does before it waits for \"continue\": everything (autonomous), one or two steps (incremental), or one round of tool calls (single).",
    ),
    key(
        "copilot.auto_continue",
        SettingKind::Bool,
        "false",
        "Continue automatically while steps are open and each turn completes one.",
    ),
    key(
        "repair.max_attempts",
        SettingKind::Int(0, 5),
        "1",
        "How often models.fast tries to repair a damaged answer. 0: never.",
    ),
    key(
        "truncation.on_max_tokens",
        SettingKind::Choice(&["ask", "stop", "auto_continue"]),
        "\"ask\"",
        "If a reply reaches the output limit: ask you if the reply would have acted (ask), stop (stop), or continue automatically (auto_continue).",
    ),
    key(
        "truncation.allow_recovered_changes",
        SettingKind::Bool,
        "false",
        "Let complete changes of a truncated answer be applied, each after approval.",
    ),
    key(
        "truncation.heuristics",
        SettingKind::Choice(&["normal", "strict"]),
        "\"normal\"",
        "When a text that looks truncated counts as truncated: only if the model did not finish (normal), or \
         always (strict).",
    ),
    key(
        "diff.noop",
        SettingKind::Choice(&["classify", "block", "skip"]),
        "\"classify\"",
        "A diff without effect: skip it if it is already applied, and block it if it fits nowhere (classify), always block it (block), or always skip it (skip).",
    ),
    key(
        "tui.theme",
        SettingKind::Choice(&["auto", "dark", "light", "ansi", "plain"]),
        "\"auto\"",
        "Colors of the terminal UI: as the terminal reports (auto), for a dark or light terminal (dark, light), the 16 ANSI colors (ansi), or none (plain).",
    ),
    key(
        "tui.status",
        SettingKind::List,
        "[]",
        "Entries of the status line, in this order: mode, autonomy, model, effort, folder, branch, context, \
         tokens, cached, speed, cost, session. Empty: all that fit.",
    ),
    key(
        "tui.status_command",
        SettingKind::Text,
        "\"\"",
        "Your own program for the status line. It reads JSON from standard input and prints one line. Empty: the entries of `tui.status`.",
    ),
    key(
        "tui.plain",
        SettingKind::Bool,
        "false",
        "Print plain lines instead of a full-screen UI, for screen readers and simple terminals.",
    ),
    key(
        "tui.notify",
        SettingKind::Choice(&["auto", "osc9", "osc777", "bell", "off"]),
        "\"auto\"",
        "How the terminal notifies you if its window is not focused: the kind that it supports (auto), a message (osc9, osc777), the bell alone (bell), or not (off).",
    ),
    key("tui.vim", SettingKind::Bool, "false", "Edit messages in the terminal UI with Vim keys."),
    key(
        "tui.mouse",
        SettingKind::Bool,
        "false",
        "Scroll full-screen views of the terminal UI with the mouse wheel. Hold Shift to select text there.",
    ),
    key(
        "keys",
        SettingKind::Texts,
        "{}",
        "Keys of the terminal UI: `history = \"ctrl-t, f3\"`. The guide (`docs/guide/terminal.md`) lists the names.",
    ),
    key(
        "message.while_running",
        SettingKind::Choice(&["steer", "queue", "replace"]),
        "\"steer\"",
        "A new message while a request runs: send it to the request (steer), send it after the request (queue), or cancel the request (replace).",
    ),
    key(
        "context.files",
        SettingKind::List,
        "[]",
        "Instruction files for every request, besides AGENTS.md and CLAUDE.md: `[\"docs/style.md\"]`. A project \
         adds its own.",
    ),
    key(
        "context.handoff_at",
        SettingKind::Float(0.1, 1.0),
        "0.85",
        "Share of the context window above which Trimtab applies context.strategy.",
    ),
    key(
        "context.strategy",
        SettingKind::Choice(&["both", "compress", "ask"]),
        "\"both\"",
        "What Trimtab does above context.handoff_at: summarize older messages (compress), ask you how to continue (ask), or summarize first and ask if that is not enough (both).",
    ),
    key(
        "context.session_mb",
        SettingKind::Int(0, 1_000_000),
        "64",
        "Maximum size of a session in megabytes. 0: no limit.",
    ),
    key(
        "context.input_tokens",
        SettingKind::Int(0, 10_000_000),
        "0",
        "Longest message in tokens that is sent unchanged. Trimtab stores a longer one and sends its beginning \
         and end. 0: half of the context window. Above 256 KB, a message is always stored.",
    ),
    key("tasks.timezone", SettingKind::Text, "\"\"", "Your time zone, such as Europe/Berlin. Empty: the system's."),
    key(
        "tasks.warn_deletes",
        SettingKind::Int(0, 1_000_000),
        "20",
        "Number of deleted tasks above which Trimtab asks again.",
    ),
    key(
        "tasks.warn_updates",
        SettingKind::Int(0, 1_000_000),
        "50",
        "Number of changed tasks above which Trimtab asks again.",
    ),
    key(
        "tasks.keys",
        SettingKind::Int(1, 100_000),
        "1000",
        "Number of idempotency keys of task changes that are remembered.",
    ),
    key(
        "server.heartbeat_s",
        SettingKind::Int(1, 600),
        "10",
        "Seconds between heartbeats of a server stream. Use less if a proxy closes idle connections.",
    ),
    key(
        "memory.ingest",
        SettingKind::Choice(&["durable", "all", "off"]),
        "\"durable\"",
        "Which of your messages later sessions remember: lasting facts such as \"we use tabs\" (durable), all (all), or none (off).",
    ),
    key(
        "memory.recall_bytes",
        SettingKind::Int(0, 16_384),
        "2048",
        "Maximum size of memory in a prompt, in bytes. 0: none.",
    ),
    key(
        "assistant.auto_mode",
        SettingKind::Bool,
        "true",
        "Let `trimtab ask` choose between an answer, changes, and a question. false: always propose changes.",
    ),
    key(
        "assistant.clarify_below",
        SettingKind::Float(0.0, 1.0),
        "0.45",
        "Below this confidence, the assistant asks which tasks you mean.",
    ),
    key(
        "assistant.plan_above",
        SettingKind::Float(0.0, 1.0),
        "0.7",
        "Above this confidence, the assistant proposes changes. In between, it answers in text, unless you name \
         tasks or days.",
    ),
    key(
        "assistant.keyword_rules",
        SettingKind::Bool,
        "true",
        "Let words such as \"delete\" or \"why\" influence the confidence.",
    ),
    key("assistant.suggest_changes", SettingKind::Bool, "true", "Let a text answer offer to make changes."),
    key("assistant.max_operations", SettingKind::Int(1, 100), "8", "Maximum number of operations in one proposal."),
    key("assistant.max_options", SettingKind::Int(1, 20), "7", "Number of tasks that a question offers first."),
    key(
        "assistant.inline_options",
        SettingKind::Bool,
        "false",
        "Repeat the options in the text of a question, for clients that show only text.",
    ),
    key(
        "assistant.strict_schema",
        SettingKind::Bool,
        "true",
        "Let the provider enforce the schema of operations, if it can. false: only JSON.",
    ),
    key(
        "assistant.remember_scope_min",
        SettingKind::Int(0, 1_440),
        "10",
        "Minutes for which a short request refers to the tasks that you confirmed. 0: never.",
    ),
    key(
        "assistant.audit_raw",
        SettingKind::Choice(&["truncated", "off", "full"]),
        "\"truncated\"",
        "How much of the model's text the audit trail keeps: the first 4 KB (truncated), nothing (off), or the first 16 KB (full).",
    ),
    key("limits.steps", SettingKind::Int(1, 10_000), "25", "Maximum number of model calls per request."),
    key(
        "limits.jobs",
        SettingKind::Int(1, 1_000),
        "10",
        "Maximum number of requests that run at once. Others wait in order.",
    ),
    key("limits.max_output_tokens", SettingKind::Int(1, 10_000_000), "16384", "Maximum number of tokens in one reply."),
    key(
        "limits.thinking_tokens",
        SettingKind::Int(0, 1_000_000),
        "0",
        "Maximum number of thinking tokens before an answer, if effort is auto. 0: the provider's default.",
    ),
    key(
        "limits.budget_usd",
        SettingKind::Float(0.0, 1e9),
        "0.0",
        "Cost limit of a session in US dollars. 0: no limit.",
    ),
    key(
        "limits.api_timeout_s",
        SettingKind::Int(1, 86_400),
        "300",
        "Seconds without data after which a model call is stopped and retried.",
    ),
    key(
        "limits.cache_s",
        SettingKind::Int(0, 31_536_000),
        "0",
        "Seconds for which the reply to an identical prompt is reused. 0: never.",
    ),
    key("limits.retries", SettingKind::Int(0, 100), "5", "Maximum number of retries of a failed model call."),
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
    key("kind", SettingKind::Choice(&KIND_NAMES), "\"openai\"", "API of the provider."),
    key(
        "api",
        SettingKind::Choice(&["auto", "chat", "responses"]),
        "\"auto\"",
        "Which OpenAI API to use: Responses at api.openai.com and Chat Completions elsewhere (auto), always Chat Completions (chat), or always Responses (responses).",
    ),
    key("base_url", SettingKind::Text, "\"\"", "Address of the provider."),
    key("api_key_env", SettingKind::Text, "\"\"", "Environment variable with the API key. Empty: no key."),
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

/// What can be set for each MCP server, under `mcp.NAME`.
pub const SERVER_KEYS: &[SettingKey] = &[
    key("command", SettingKind::List, "[]", "Program and arguments of a server that runs on this machine."),
    key("env", SettingKind::List, "[]", "Names of environment variables that the server gets."),
    key("url", SettingKind::Text, "\"\"", "Address of an HTTP server."),
    key("headers", SettingKind::Headers, "{}", "HTTP headers for every request, with `$NAME` for a variable."),
    key("enabled", SettingKind::Bool, "true", "Whether the server is used."),
    key(
        "trust_annotations",
        SettingKind::Bool,
        "false",
        "Whether tools that the server marks as read-only run without asking.",
    ),
    key(
        "client_id",
        SettingKind::Text,
        "\"\"",
        "ID of a client that you registered with the authorization server of the server.",
    ),
    key("client_secret", SettingKind::Text, "\"\"", "Secret of that client, as `$NAME` of an environment variable."),
    key("scopes", SettingKind::List, "[]", "Scopes that a login asks for instead of the server's choice."),
    key(
        "callback_port",
        SettingKind::Int(0, 65_535),
        "0",
        "Port on 127.0.0.1 that the browser returns to after a login.",
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

/// The setting for another name. The name may be in a section called `grok`.
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
    if let Some((name, field)) = path.strip_prefix("mcp.").and_then(|rest| rest.split_once('.')) {
        return SERVER_KEYS.iter().find(|key| key.path == field).filter(|_| is_server_name(name));
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
    if let Some((name, _)) = path.strip_prefix("mcp.").and_then(|rest| rest.split_once('.')) {
        known.extend(SERVER_KEYS.iter().map(|key| format!("mcp.{name}.{}", key.path)));
    }
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    known
        .into_iter()
        .map(|name| {
            let whole = edits(path, &name);
            // `max_output_tokens` at the top level means the one under `limits`.
            let tail = edits(&last(path), &last(&name));
            let tail = if tail <= last(&name).len() / 3 { tail + 1 } else { usize::MAX };
            // Of two that are equally near, the one that is meant as a whole: `modle` is `model`, and not `checks.mode`.
            (whole.min(tail), tail < whole, name)
        })
        .min()
        .filter(|(distance, _, name)| *distance <= 1 + name.len() / 3)
        .map(|(_, _, name)| name)
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
