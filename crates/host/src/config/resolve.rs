//! Resolves raw settings into a [`Profile`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use toml::Value;
use trimtab_vocab::visible::is_hidden;
use trimtab_vocab::{
    AnswerProtocol, AnswerStyle, Applying, AutoMode, Autonomy, AutonomySettings, CheckMode, CheckSettings,
    CommandSettings, ContextSettings, Copilot, Dialog, Effort, FileSettings, ImageSettings, Machine, MemorySettings,
    ModelFacts, ModelSettings, NetworkAccess, Noop, OnMaxTokens, Problem, ProblemKind, Recovery, RunSettings, Sandbox,
    SnapshotSettings, SubtaskSettings, TaskKind, TaskLimits, WhileRunning, WorkerModel,
};
use trimtab_world::models::{Dialect, Provider, Registry, SearchKind, SearchService};
use trimtab_world::store::hash;

use super::catalog::{self, Catalog};
use super::extras;
use super::key_ring;
use super::keys::KINDS;
use super::raw::{Origin, RawSettings};
use super::rules;
use crate::checks::CheckEntries;
use crate::mcp::{LoginSettings, ServerEntry, UserServer};

/// The settings in force.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Where the user's file is, whether or not it exists.
    pub file: PathBuf,
    /// Where everything is kept.
    pub data: PathBuf,
    /// The model, if one is set or follows from the available keys.
    pub model: Option<String>,
    /// Who does what; each falls back to `model`.
    pub roles: Roles,
    /// How freely a model may choose its words.
    pub temperature: Option<f64>,
    /// Bounds.
    pub limits: RequestLimits,
    /// What is known about models.
    pub catalog: Catalog,
    /// Who serves models.
    pub providers: BTreeMap<String, Provider>,
    /// Where exchanges are recorded.
    pub record: Option<PathBuf>,
    /// What may be done without asking, and how.
    pub hands: PermissionSettings,
    /// Which steps the user wants to see before they happen.
    pub copilot: Copilot,
    /// What happens when a conversation grows too large.
    pub context: ContextSettings,
    /// How pictures are made; its `model` is that of `roles`.
    pub image: ImageSettings,
    /// The user's own tasks.
    pub tasks: TaskSettings,
    /// The interval of keep-alive comments in a stream of the server.
    pub heartbeat: Duration,
    /// Which of the user's words later sessions remember.
    pub memory: MemorySettings,
    /// What a new message does while a request of its session runs.
    pub while_running: WhileRunning,
    /// How the terminal UI looks and which keys it has.
    pub tui: TuiSettings,
    pub external: ExternalTools,
    pub(super) raw: RawSettings,
}

/// Tools of others that the user has set up.
#[derive(Debug, Clone, Default)]
pub struct ExternalTools {
    /// The search service, if there is one.
    pub search: Option<SearchService>,
    /// MCP servers.
    pub servers: Vec<ServerEntry>,
    /// Commands that run after edits.
    pub checks: CheckEntries,
}

/// The look and the keys of the terminal UI; the surface interprets them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TuiSettings {
    /// The name of the theme.
    pub theme: String,
    /// The fields of the status line; empty: as many as fit.
    pub status: Vec<String>,
    /// The user's own program for the status line; empty: there is none.
    pub status_command: String,
    /// Plain lines instead of a screen that is drawn over.
    pub plain: bool,
    /// What models think is shown whole, in plain lines as well.
    pub shows_thinking: bool,
    /// Messages are edited with the keys of Vim.
    pub vim: bool,
    /// The wheel of the mouse scrolls views.
    pub mouse: bool,
    /// How the terminal notifies a user whose window is not focused.
    pub notify: String,
    /// Keys by the name of what they do.
    pub keys: BTreeMap<String, String>,
}

/// Models for special work; absent: `model` does it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// Small work behind the scenes.
    pub fast: Option<String>,
    /// Who takes over from a model that is overloaded.
    pub fallback: Option<String>,
    /// Requests with pictures.
    pub vision: Option<String>,
    /// Making pictures.
    pub image: Option<String>,
}

/// What may be done without asking, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionSettings {
    /// The level of autonomy, if the user has set one.
    pub autonomy: Option<Autonomy>,
    /// The level that the project allows at most.
    pub autonomy_limit: Option<Autonomy>,
    /// Changes of files.
    pub files: Applying,
    /// The user has set that, and does not only leave it at its default.
    pub files_chosen: bool,
    /// Deletions are asked about.
    pub confirm_deletes: bool,
    /// The user has set that.
    pub confirm_chosen: bool,
    /// Commands that are known to be safe.
    pub commands: Applying,
    /// The user or the project has set that.
    pub commands_chosen: bool,
    /// What is known of commands by how they begin.
    pub lists: CommandLists,
    /// Which answers a question about a command offers.
    pub dialog: Dialog,
    /// Whether rules can allow commands that delete files.
    pub remember_deletes: bool,
    /// How long commands may take.
    pub times: CommandTimes,
    /// What one command may use.
    pub limits: trimtab_world::sandbox::CommandLimits,
    /// Outputs that are not shown whole are stored.
    pub archive_output: bool,
    /// How commands are fenced in.
    pub sandbox: Sandbox,
    /// Hosts that sandboxed commands can reach.
    pub network: NetworkAccess,
    /// Folders that are trusted.
    pub trusted: Vec<String>,
    /// The name of the assistant, how it summarizes its work, and how damaged answers are handled.
    pub style: AnswerStyle,
    /// The machine as commands meet it.
    pub machine: Machine,
}

/// What is known of commands by how they begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLists {
    /// Beginnings of commands that are known to be safe; absent: the built-in list.
    pub allow: Option<Vec<String>>,
    /// Beginnings of commands that are always asked about.
    pub ask: Vec<String>,
    /// Beginnings of commands that are refused.
    pub deny: Vec<String>,
    /// An allowed beginning vouches for flags that are not known to be safe, too.
    pub plain_prefix: bool,
}

/// How long commands may take, in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTimes {
    /// Timeout of a command in seconds.
    pub timeout_s: u64,
    /// Timeouts in seconds for commands that begin with these texts.
    pub timeouts: BTreeMap<String, u64>,
    /// What a model may ask for.
    pub longest_s: u64,
}

/// The settings for the user's tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSettings {
    /// What an assistant may do without asking. It never deletes.
    pub applying: Applying,
    /// The name of the time zone; empty: the machine's.
    pub timezone: String,
    /// Above these, the user must confirm.
    pub limits: TaskLimits,
    /// How many idempotency keys are remembered.
    pub keys: u32,
    /// How requests about them are answered.
    pub auto_mode: AutoMode,
}

/// How long, and how much, old contents of files are kept for undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeping {
    /// Days; 0: no limit.
    pub days: u32,
    /// Megabytes; 0: any.
    pub megabytes: u32,
}

/// Bounds of every request, and of what it leaves behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestLimits {
    /// Model calls of one request.
    pub steps: u32,
    /// The user has set that, and does not only leave it at its default.
    pub steps_chosen: bool,
    /// Requests at once.
    pub jobs: u32,
    /// Tokens of one reply.
    pub max_output_tokens: u32,
    /// Tokens of thinking before a reply.
    pub thinking_tokens: u32,
    /// How much a model thinks; absent: as `thinking_tokens` and the provider have it.
    pub effort: Option<Effort>,
    /// Dollars of a session.
    pub budget_usd: Option<f64>,
    /// Silence of a call.
    pub api_timeout: Duration,
    /// Tries after the first.
    pub retries: u32,
    /// How long a reply is used again.
    pub cache_s: u64,
    /// Files that are noted before a command.
    pub snapshot_files: u32,
    /// Megabytes of them that are newly kept.
    pub snapshot_mb: u32,
    /// How long old contents of files are kept.
    pub keeping: Keeping,
}

/// One setting as `trimtab config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub path: String,
    /// Its value, as TOML.
    pub value: String,
    /// Where it comes from.
    pub origin: String,
}

/// The documented ways to work together, and what each sets.
const FLOWS: &[(&str, &[(&str, &str)])] = &[
    (
        "complex",
        &[
            ("copilot.intelligent_routing", "\"aggressive\""),
            ("copilot.approval_mode", "\"both\""),
            ("copilot.enable_planning", "true"),
            ("copilot.plan_approval", "true"),
        ],
    ),
    (
        "simple",
        &[
            ("copilot.intelligent_routing", "\"minimal\""),
            ("copilot.approval_mode", "\"after_step\""),
            ("copilot.enable_planning", "false"),
            ("copilot.auto_approve_simple", "true"),
        ],
    ),
    (
        "conversation",
        &[
            ("copilot.conversational", "true"),
            ("copilot.allow_execution_transition", "true"),
            ("copilot.pause_enabled", "true"),
        ],
    ),
];

impl Profile {
    pub(super) fn resolve(
        mut raw: RawSettings,
        file: PathBuf,
        data: PathBuf,
        catalog: Catalog,
        keys: &BTreeMap<String, String>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, Problem> {
        let flow = text(&raw, "copilot.flow");
        if let Some((_, values)) = FLOWS.iter().find(|(name, _)| *name == flow) {
            raw.fill(values, &format!("copilot.flow = \"{flow}\""));
        }
        let providers = resolve_providers(&raw, keys, variables);
        let model = Some(text(&raw, "model")).filter(|name| !name.is_empty()).or_else(|| first_with_key(&providers));
        let record = Some(text(&raw, "record")).filter(|name| !name.is_empty()).map(PathBuf::from);
        check_store_url(&raw)?;
        let limits = request_limits(&raw);
        let is_auto = yes(&raw, "apply.auto");
        let applying = |path: &str| if text(&raw, path) == "ask" || !is_auto { Applying::Ask } else { Applying::Auto };
        let hands = permissions(&raw, applying, machine(&file, &data, variables));
        let timezone = text(&raw, "tasks.timezone");
        let task_limits = TaskLimits {
            deletes: number(&raw, "tasks.warn_deletes").into(),
            updates: number(&raw, "tasks.warn_updates").into(),
        };
        let tasks = TaskSettings {
            applying: applying("apply.tasks"),
            timezone: timezone.clone(),
            limits: task_limits,
            keys: number(&raw, "tasks.keys"),
            auto_mode: AutoMode { timezone, limits: task_limits, ..section(&raw, "assistant.")? },
        };
        let role = |path: &str| Some(text(&raw, path)).filter(|name| !name.is_empty());
        let roles = Roles {
            fast: role("models.fast"),
            fallback: role("models.fallback"),
            vision: role("models.vision"),
            image: role("models.image"),
        };
        let temperature = Some(float(&raw, "temperature")).filter(|temperature| *temperature >= 0.0);
        let copilot = section(&raw, "copilot.")?;
        let context = section(&raw, "context.")?;
        let memory = section(&raw, "memory.")?;
        let heartbeat = Duration::from_secs(number(&raw, "server.heartbeat_s").into());
        let image = section(&raw, "image.")?;
        let while_running = match text(&raw, "message.while_running").as_str() {
            "queue" => WhileRunning::Queue,
            "replace" => WhileRunning::Replace,
            _ => WhileRunning::Steer,
        };
        let tui = TuiSettings {
            theme: text(&raw, "tui.theme"),
            status: list(&raw, "tui.status"),
            status_command: text(&raw, "tui.status_command"),
            plain: yes(&raw, "tui.plain"),
            shows_thinking: text(&raw, "output.thinking") == "shown",
            vim: yes(&raw, "tui.vim"),
            mouse: yes(&raw, "tui.mouse"),
            notify: text(&raw, "tui.notify"),
            keys: texts(&raw, "keys"),
        };
        let external = ExternalTools {
            search: search_service(&raw, variables),
            servers: user_servers(&raw, variables)?,
            checks: checks(&raw, variables),
        };
        Ok(Self {
            file,
            data,
            model,
            roles,
            temperature,
            limits,
            catalog,
            providers,
            record,
            hands,
            copilot,
            context,
            image,
            tasks,
            heartbeat,
            memory,
            while_running,
            tui,
            external,
            raw,
        })
    }

    /// The model that requests call, or what to do when none is set up.
    pub fn ready_model(&self) -> Result<String, Problem> {
        self.run_settings().map(|settings| settings.models.model)
    }

    /// Whether a model can be called by this name, as far as the settings tell: its provider is known and set up.
    ///
    /// # Errors
    /// What is missing.
    pub fn check_model(&self, model: &str) -> Result<(), Problem> {
        trimtab_world::models::ModelRegistry::find(&self.registry(), model).map(drop)
    }

    /// What steers a request, for [`crate::Client::compose`] alone: it knows nothing of the folder.
    pub(crate) fn run_settings(&self) -> Result<RunSettings, Problem> {
        let Some(model) = self.model.clone() else {
            return Err(Problem::new(ProblemKind::NoKey, "No model is set up.").hint(format!(
                "Set a key ({}), start a model server on this machine (llama.cpp, Ollama, LM Studio, or vLLM), or set `model = \"PROVIDER/NAME\"` in the settings. `trimtab demo` needs no model.",
                super::key_variables()
            )));
        };
        let facts = self.facts(&model);
        let vision_model = self.roles.vision.clone().unwrap_or_default();
        let vision_facts = self.roles.vision.as_ref().map(|model| self.facts(model));
        if let (Some(budget), None) = (self.limits.budget_usd, facts.prices) {
            return Err(Problem::new(
                ProblemKind::Settings,
                format!("Cannot enforce the budget of ${budget}: the prices of {model} are not known."),
            )
            .hint(format!(
                "Set `prices = {{ input = …, output = … }}` under [\"{model}\"] in {}, or remove the budget.",
                self.file.with_file_name("models.toml").display()
            )));
        }
        Ok(RunSettings {
            models: ModelSettings {
                model,
                facts,
                vision_model,
                vision_facts,
                max_steps: self.limits.steps,
                steps_chosen: self.limits.steps_chosen,
                max_output_tokens: self.limits.max_output_tokens,
                retries: self.limits.retries,
                temperature: self.temperature,
                thinking_tokens: self.limits.thinking_tokens,
                effort: self.limits.effort,
                budget_usd: self.limits.budget_usd,
                fast_model: self.roles.fast.clone().unwrap_or_default(),
                fast_facts: self.roles.fast.as_ref().map(|model| self.catalog.facts(model)),
                fallback_model: self.roles.fallback.clone().unwrap_or_default(),
                fallback_facts: self.roles.fallback.as_ref().map(|model| self.facts(model)),
                cache_s: self.limits.cache_s,
            },
            files: FileSettings {
                apply: self.hands.files,
                confirm_deletes: self.hands.confirm_deletes,
                apply_chosen: self.hands.files_chosen,
                confirm_chosen: self.hands.confirm_chosen,
            },
            style: self.hands.style.clone(),
            copilot: self.copilot.clone(),
            snapshot: SnapshotSettings { files: self.limits.snapshot_files, mb: self.limits.snapshot_mb },
            context: self.context.clone(),
            auto_mode: self.tasks.auto_mode.clone(),
            memory: self.memory,
            image: self.image_settings(),
            web_search: self.search_name(),
            subtasks: SubtaskSettings { models: self.worker_models(), ..section(&self.raw, "subtasks.")? },
            ..self.command_settings()
        })
    }

    /// What commands are judged by. It needs no model.
    pub(crate) fn command_settings(&self) -> RunSettings {
        RunSettings {
            commands: CommandSettings {
                apply: self.hands.commands,
                apply_chosen: self.hands.commands_chosen,
                allowed: self.hands.lists.allow.clone(),
                asked: self.hands.lists.ask.clone(),
                denied: self.hands.lists.deny.clone(),
                plain_prefix: self.hands.lists.plain_prefix,
                timeout_s: self.hands.times.timeout_s,
                timeouts: self.hands.times.timeouts.clone(),
                longest_s: self.hands.times.longest_s,
                archive_output: self.hands.archive_output,
                dialog: self.hands.dialog,
                remember_deletes: self.hands.remember_deletes,
                sandbox: self.hands.sandbox,
                network: self.hands.network,
                // They are read for each request, because a folder names some of them.
                checks: CheckSettings::default(),
            },
            autonomy: AutonomySettings { level: self.hands.autonomy, limit: self.hands.autonomy_limit },
            machine: Machine { ports: self.own_ports(), ..self.hands.machine.clone() },
            ..RunSettings::default()
        }
    }

    /// The facts about a model, with its protocol.
    pub fn facts(&self, model: &str) -> ModelFacts {
        let facts = self.catalog.facts(model);
        match self.chosen_protocol() {
            Some(AnswerProtocol::StructuredJson) => ModelFacts { tools: false, protocol: None, ..facts },
            Some(protocol) => facts.with_protocol(protocol),
            None => facts,
        }
    }

    /// How models work, where the user has decided that.
    pub(crate) fn chosen_protocol(&self) -> Option<AnswerProtocol> {
        AnswerProtocol::from_name(&text(&self.raw, "answer.protocol"))
    }

    /// The name of the service that searches the web, and where it is if that is not its usual place.
    fn search_name(&self) -> String {
        if self.external.search.is_none() {
            return String::new();
        }
        let (name, url) = (text(&self.raw, "search.provider"), text(&self.raw, "search.url"));
        if url.is_empty() { name } else { format!("{name} ({})", without_password(&url)) }
    }

    /// Where a server of this data folder listens just now: no command of a model may talk to it.
    pub(crate) fn own_ports(&self) -> Vec<u16> {
        let port = |url: String| url.rsplit(':').next()?.parse().ok();
        crate::running_server(&self.data).and_then(port).into_iter().collect()
    }

    /// The models of workers that are set.
    fn worker_models(&self) -> BTreeMap<TaskKind, WorkerModel> {
        let set = |(kind, name): (TaskKind, &str)| {
            let model = text(&self.raw, name);
            (!model.is_empty()).then(|| (kind, WorkerModel { facts: self.facts(&model), model }))
        };
        let kinds = [
            (TaskKind::Simple, "subtasks.simple"),
            (TaskKind::Reasoning, "subtasks.reasoning"),
            (TaskKind::Review, "subtasks.review"),
        ];
        kinds.into_iter().filter_map(set).collect()
    }

    /// How pictures are made. Without a model that is set for it, the first provider with a key that makes some.
    fn image_settings(&self) -> ImageSettings {
        let has_key = |name: &&str| self.providers.get(*name).is_some_and(|provider| provider.key.is_some());
        let found = ["xai", "openai"].into_iter().find(has_key).and_then(catalog::picture_model);
        let model = self.roles.image.clone().or(found).unwrap_or_default();
        let price_usd = self.catalog.picture_price(&model).unwrap_or(self.image.price_usd);
        ImageSettings { model, price_usd, ..self.image.clone() }
    }

    /// Whether the settings trust a folder: it is listed, or in a listed one.
    pub(crate) fn trusts(&self, folder: &str) -> bool {
        let home = &self.hands.machine.home;
        self.hands.trusted.iter().any(|trusted| {
            let trusted = match trusted.strip_prefix('~') {
                Some(rest) if !home.is_empty() => PathBuf::from(format!("{home}{rest}")),
                _ => PathBuf::from(trusted),
            };
            trusted.is_absolute() && std::path::Path::new(folder).starts_with(trusted)
        })
    }

    /// Whether a provider could be asked as things are: it has its key, or needs none and lists models.
    pub fn is_set_up(&self, provider: &str) -> bool {
        self.providers.get(provider).is_some_and(|provider| {
            provider.dialect != Dialect::Replay && (provider.key.is_some() || provider.key_env.is_none())
        })
    }

    /// The models these settings give.
    pub fn registry(&self) -> Registry {
        Registry { providers: self.providers.clone(), idle: self.limits.api_timeout, record: self.record.clone() }
    }

    /// Environment variables that look like settings and set nothing.
    pub fn stray_variables(&self) -> &[String] {
        &self.raw.stray
    }

    /// Where the name of the model was set; none if it is a default or was chosen later.
    pub(crate) fn model_origin(&self) -> Option<String> {
        let (value, origin) = self.raw.get("model")?;
        let is_set = *origin != Origin::Default && value.as_str() == self.model.as_deref();
        is_set.then(|| origin.to_string())
    }

    /// The address of the server where sessions are kept. None: they are in the data folder.
    pub fn store_url(&self) -> Option<String> {
        Some(text(&self.raw, "store.url")).filter(|url| !url.is_empty())
    }

    /// Every setting with its value and origin.
    pub fn shown(&self) -> Vec<Shown> {
        let show = |(path, value, origin): (&str, &Value, &Origin)| Shown {
            path: path.to_owned(),
            value: without_password(&extras::shown(path, value).to_string()),
            origin: origin.to_string(),
        };
        let (providers, rest): (Vec<_>, Vec<_>) =
            self.raw.iter().map(show).partition(|shown| shown.path.starts_with("providers."));
        rest.into_iter().chain(providers).collect()
    }
}

fn check_store_url(raw: &RawSettings) -> Result<(), Problem> {
    let url = text(raw, "store.url");
    if url.is_empty() || url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(());
    }
    let origin = raw.get("store.url").map_or_else(String::new, |(_, origin)| format!(" ({origin})"));
    // The value is not shown, because it may hold a password.
    Err(Problem::new(ProblemKind::Settings, format!("Invalid value for store.url{origin}."))
        .hint("Expected postgres://USER:PASSWORD@HOST/DATABASE, or nothing for SQLite in the data folder."))
}

/// A text whose addresses show no name and password: `https://user:pw@host/` becomes `https://…@host/`.
pub fn without_password(text: &str) -> String {
    let Some((before, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#', '"', '\'']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{before}://…{}", &rest[at..]),
        None => text.to_owned(),
    }
}

fn resolve_providers(
    raw: &RawSettings,
    keys: &BTreeMap<String, String>,
    variables: &BTreeMap<String, String>,
) -> BTreeMap<String, Provider> {
    let mut providers = BTreeMap::new();
    for (path, ..) in raw.iter() {
        let Some((name, _)) = path.strip_prefix("providers.").and_then(|rest| rest.split_once('.')) else { continue };
        if providers.contains_key(name) {
            continue;
        }
        let field = |field: &str| text(raw, &format!("providers.{name}.{field}"));
        let base_url = field("base_url");
        let kind = field("kind");
        let known = KINDS.iter().find(|(name, _)| *name == kind).map(|(_, dialect)| *dialect);
        let responds = match field("api").as_str() {
            "responses" => true,
            "chat" => false,
            _ => base_url.starts_with("https://api.openai.com/"),
        };
        let dialect = match known.unwrap_or(Dialect::OpenAi) {
            Dialect::OpenAi if responds => Dialect::Responses,
            dialect => dialect,
        };
        // A variable that is set to nothing says nothing.
        let is_set = |name: &str| variables.get(name).filter(|key| !key.trim().is_empty());
        let mut extras = extras::resolve(raw, name, variables);
        let mut key_env = Some(field("api_key_env")).filter(|name| !name.is_empty());
        if let Some((first, other)) = super::OTHER_KEYS.iter().find(|(first, _)| key_env.as_deref() == Some(*first)) {
            extras.variables.extend([(*first).to_owned(), (*other).to_owned()]);
            if is_set(first).is_none() && is_set(other).is_some() {
                key_env = Some((*other).to_owned());
            }
        }
        let set = key_env.as_deref().and_then(is_set);
        let named = set.or_else(|| keys.get(name)).cloned();
        let key = named.or_else(|| key_env.as_ref().and_then(|_| key_ring::find(name)));
        let key = key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        let provider = Provider { dialect, base_url, key: key.map(Into::into), key_env, extras: Arc::new(extras) };
        providers.insert(name.to_owned(), provider);
    }
    providers
}

/// The service that searches the web, if one is set.
fn search_service(raw: &RawSettings, variables: &BTreeMap<String, String>) -> Option<SearchService> {
    let (name, url, variable) =
        (text(raw, "search.provider"), text(raw, "search.url"), text(raw, "search.api_key_env"));
    let (_, kind, usual_url, usual_key) = SearchKind::ALL.into_iter().find(|(known, ..)| *known == name)?;
    let url = if url.is_empty() { usual_url.to_owned() } else { url };
    let variable = if variable.is_empty() { usual_key.to_owned() } else { variable };
    let key_env = Some(variable).filter(|name| !name.is_empty());
    let key = key_env.as_ref().and_then(|name| variables.get(name)).map(|key| key.trim().to_owned());
    let key = key.filter(|key| !key.is_empty()).map(Into::into);
    Some(SearchService { kind, url, key_env, key })
}

/// The user's MCP servers.
fn user_servers(raw: &RawSettings, variables: &BTreeMap<String, String>) -> Result<Vec<ServerEntry>, Problem> {
    let named = raw.iter().filter_map(|(path, ..)| path.strip_prefix("mcp.")?.split_once('.').map(|(name, _)| name));
    let names: BTreeSet<&str> = named.collect();
    let entry = |name: &&str| {
        let path = |field: &str| format!("mcp.{name}.{field}");
        let is_unset = |field: &str| raw.get(&path(field)).is_none();
        let server = UserServer {
            command: list(raw, &path("command")),
            url: text(raw, &path("url")),
            env: list(raw, &path("env")),
            headers: texts(raw, &path("headers")),
            is_enabled: is_unset("enabled") || yes(raw, &path("enabled")),
            trusts_annotations: yes(raw, &path("trust_annotations")),
            login: LoginSettings {
                client_id: text(raw, &path("client_id")),
                client_secret: None,
                scopes: list(raw, &path("scopes")),
                callback_port: u16::try_from(number(raw, &path("callback_port"))).unwrap_or_default(),
            },
            client_secret: text(raw, &path("client_secret")),
        };
        let is_web = server.url.starts_with("https://") || server.url.starts_with("http://");
        let wrong = |message: String| Problem::new(ProblemKind::Settings, message);
        match (server.command.is_empty(), server.url.is_empty()) {
            (true, true) | (false, false) => Err(wrong(format!(
                "The MCP server {name} needs either a command or a url."
            ))
            .hint(format!("Set mcp.{name}.command to a program with its arguments, or mcp.{name}.url to an address."))),
            (true, false) if !is_web => {
                Err(wrong(format!("Invalid value \"{}\" for mcp.{name}.url.", without_password(&server.url)))
                    .hint("Expected an address that begins with https:// or http://."))
            }
            _ => Ok(server.entry(name, variables)),
        }
    };
    names.iter().map(entry).collect()
}

fn first_with_key(providers: &BTreeMap<String, Provider>) -> Option<String> {
    let has_key = |name: &&&str| providers.get(**name).is_some_and(|provider| provider.key.is_some());
    super::KEY_PROVIDERS.iter().find(has_key).and_then(|name| super::default_model(name))
}

/// What commands must leave alone, and the shell that reads them.
fn machine(file: &Path, data: &Path, variables: &BTreeMap<String, String>) -> Machine {
    let folders = variables.get("PATH").map(String::as_str).unwrap_or_default();
    // Models write for bash. A plain shell is used if there is no bash.
    let has_bash = std::env::split_paths(folders).any(|folder| folder.join("bash").is_file());
    // Folders of sessions have no links in their paths. Commands may name our own either way.
    let own = [file.parent().unwrap_or(file), data].map(|path| [path.to_owned(), without_links(path)]);
    let own: BTreeSet<String> = own.iter().flatten().map(|path| path.display().to_string()).collect();
    let home = variables.get("HOME").filter(|home| !home.is_empty());
    Machine {
        shell: if has_bash { "bash".into() } else { "sh".into() },
        home: home.map(|home| without_links(Path::new(home)).display().to_string()).unwrap_or_default(),
        own: own.into_iter().collect(),
        ports: Vec::new(),
        workers: workers_folder(data, variables).unwrap_or_default(),
    }
}

/// Where workers get their copies of a folder: with what can be made again, and not with our own data, which commands
/// cannot see. Each data folder has its own place, because copies whose session is not known are removed.
fn workers_folder(data: &Path, variables: &BTreeMap<String, String>) -> Option<String> {
    let set = |name: &str| variables.get(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let of_data = hash(without_links(data).as_os_str().as_encoded_bytes());
    Some(without_links(&cache).join("trimtab/workers").join(of_data.get(..12)?).display().to_string())
}

/// A path with its links resolved, as far as it exists.
fn without_links(path: &Path) -> PathBuf {
    let real = |above: &Path| {
        let (real, rest) = (above.canonicalize().ok()?, path.strip_prefix(above).ok()?);
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    };
    path.ancestors().filter(|above| !above.as_os_str().is_empty()).find_map(real).unwrap_or_else(|| path.to_owned())
}

/// The settings of some sections have the names of the fields they set. Each was checked for its kind; one that
/// still does not fit is named, since what the user has set must not become something else without a word.
fn section<T: DeserializeOwned>(raw: &RawSettings, prefix: &str) -> Result<T, Problem> {
    let fields = raw.iter().filter_map(|(path, value, _)| Some((path.strip_prefix(prefix)?.to_owned(), value.clone())));
    let fields: toml::Table = fields.collect();
    let misfit = |error: toml::de::Error| {
        let alone = |(path, value, origin): (&str, &Value, &Origin)| {
            let field = toml::Table::from_iter([(path.strip_prefix(prefix)?.to_owned(), value.clone())]);
            let set = || format!("Invalid value {value} for {path} ({origin}): {}", error.message());
            Value::Table(field).try_into::<T>().is_err().then(set)
        };
        let what = raw.iter().find_map(alone).unwrap_or_else(|| format!("[{prefix}]: {}", error.message()));
        Problem::new(ProblemKind::Settings, what).hint("Remove the setting to use its default.")
    };
    Value::Table(fields).try_into().map_err(misfit)
}

fn request_limits(raw: &RawSettings) -> RequestLimits {
    RequestLimits {
        steps: number(raw, "limits.steps"),
        steps_chosen: is_chosen(raw, "limits.steps"),
        jobs: number(raw, "limits.jobs"),
        max_output_tokens: number(raw, "limits.max_output_tokens"),
        thinking_tokens: number(raw, "limits.thinking_tokens"),
        effort: Effort::named(&text(raw, "effort")),
        budget_usd: Some(float(raw, "limits.budget_usd")).filter(|budget| *budget > 0.0),
        api_timeout: Duration::from_secs(number(raw, "limits.api_timeout_s").into()),
        retries: number(raw, "limits.retries"),
        cache_s: number(raw, "limits.cache_s").into(),
        snapshot_files: number(raw, "history.snapshot_files"),
        snapshot_mb: number(raw, "history.snapshot_mb"),
        keeping: Keeping { days: number(raw, "history.keep_days"), megabytes: number(raw, "history.max_mb") },
    }
}

fn permissions(raw: &RawSettings, applying: impl Fn(&str) -> Applying, machine: Machine) -> PermissionSettings {
    let is_chosen = |path: &str| is_chosen(raw, path);
    PermissionSettings {
        autonomy: Autonomy::named(&text(raw, "autonomy")).filter(|_| is_chosen("autonomy")),
        autonomy_limit: None,
        files: applying("apply.files"),
        files_chosen: is_chosen("apply.files") || is_chosen("apply.auto"),
        confirm_deletes: yes(raw, "apply.confirm_deletes"),
        confirm_chosen: is_chosen("apply.confirm_deletes"),
        commands: applying("apply.commands"),
        // `apply.auto = true` is not a word about commands, which ask by default.
        commands_chosen: is_chosen("apply.commands") || !yes(raw, "apply.auto"),
        lists: CommandLists {
            allow: Some(beginnings(raw, "commands.allow")).filter(|allow| !allow.is_empty()),
            ask: beginnings(raw, "commands.ask"),
            deny: beginnings(raw, "commands.deny"),
            plain_prefix: text(raw, "commands.match") == "plain_prefix",
        },
        dialog: match text(raw, "permissions.dialog").as_str() {
            "full" => Dialog::Full,
            "compact" => Dialog::Compact,
            _ => Dialog::Auto,
        },
        remember_deletes: yes(raw, "permissions.remember_deletes"),
        times: CommandTimes {
            timeout_s: number(raw, "commands.timeout_s").into(),
            timeouts: numbers(raw, "commands.timeouts"),
            longest_s: number(raw, "commands.longest_s").into(),
        },
        limits: trimtab_world::sandbox::CommandLimits {
            memory: limit(raw, "commands.memory_mb", 1 << 20),
            file_size: limit(raw, "commands.file_mb", 1 << 20),
            processes: limit(raw, "commands.processes", 1),
            cpu_s: limit(raw, "commands.cpu_s", 1),
            output: usize::try_from(number(raw, "output.archive_mb")).unwrap_or(1) << 20,
        },
        archive_output: yes(raw, "output.archive"),
        network: match text(raw, "commands.network").as_str() {
            "off" => NetworkAccess::Off,
            "on" => NetworkAccess::On,
            _ => NetworkAccess::Ask,
        },
        sandbox: match text(raw, "commands.sandbox").as_str() {
            "read-only" => Sandbox::ReadOnly,
            "off" => Sandbox::Off,
            _ => Sandbox::Workspace,
        },
        trusted: list(raw, "folders.trusted"),
        style: AnswerStyle {
            assistant: name_in_questions(&text(raw, "copilot.name")),
            synthesis_list: text(raw, "copilot.synthesis") == "list",
            recovery: recovery(raw),
            answer_schema: None,
        },
        machine,
    }
}

/// The name of the assistant is a part of the answers to an approval prompt, so it must not be able to look like another one.
fn name_in_questions(name: &str) -> String {
    const LONGEST: usize = 40;
    let is_shown = |c: &char| !c.is_control() && !is_hidden(*c);
    let plain: String = name.lines().next().unwrap_or_default().chars().filter(is_shown).take(LONGEST).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain.is_empty() { AnswerStyle::default().assistant } else { plain }
}

/// What runs after edits. The master switch counts for checks as well.
fn checks(raw: &RawSettings, variables: &BTreeMap<String, String>) -> CheckEntries {
    let mode = CheckMode::named(&text(raw, "checks.mode")).unwrap_or_default();
    let folders = variables.get("PATH").map(String::as_str).unwrap_or_default();
    CheckEntries {
        mode: if yes(raw, "apply.auto") { mode } else { mode.asked() },
        own: list(raw, "checks.commands"),
        proposed: Vec::new(),
        programs: std::env::split_paths(folders).filter(|folder| folder.is_absolute()).collect(),
    }
}

/// Whether somebody has set it, and does not only leave it at its default.
fn is_chosen(raw: &RawSettings, path: &str) -> bool {
    raw.get(path).is_some_and(|(_, origin)| *origin != Origin::Default)
}

fn recovery(raw: &RawSettings) -> Recovery {
    Recovery {
        repairs: number(raw, "repair.max_attempts"),
        on_max_tokens: match text(raw, "truncation.on_max_tokens").as_str() {
            "stop" => OnMaxTokens::Stop,
            "auto_continue" => OnMaxTokens::AutoContinue,
            _ => OnMaxTokens::Ask,
        },
        allow_recovered_changes: yes(raw, "truncation.allow_recovered_changes"),
        strict_heuristics: text(raw, "truncation.heuristics") == "strict",
        noop: match text(raw, "diff.noop").as_str() {
            "block" => Noop::Block,
            "skip" => Noop::Skip,
            _ => Noop::Classify,
        },
    }
}

/// The beginnings that a list of rules names. It was read once, so nothing is wrong with it.
fn beginnings(raw: &RawSettings, path: &str) -> Vec<String> {
    raw.get(path).and_then(|(value, origin)| rules::read(path, value, origin).ok()).unwrap_or_default()
}

fn yes(raw: &RawSettings, path: &str) -> bool {
    raw.get(path).and_then(|(value, _)| value.as_bool()).unwrap_or_default()
}

fn list(raw: &RawSettings, path: &str) -> Vec<String> {
    let items = raw.get(path).and_then(|(value, _)| value.as_array()).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn texts(raw: &RawSettings, path: &str) -> BTreeMap<String, String> {
    let table = raw.get(path).and_then(|(value, _)| value.as_table());
    let pairs =
        table.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    pairs.collect()
}

/// Numbers by their names.
fn numbers(raw: &RawSettings, path: &str) -> BTreeMap<String, u64> {
    let table = raw.get(path).and_then(|(value, _)| value.as_table()).into_iter().flatten();
    table.filter_map(|(name, value)| Some((name.clone(), u64::try_from(value.as_integer()?).ok()?))).collect()
}

/// A limit that is not there when it is 0.
fn limit(raw: &RawSettings, path: &str, unit: u64) -> Option<u64> {
    Some(u64::from(number(raw, path)).saturating_mul(unit)).filter(|limit| *limit > 0)
}

fn text(raw: &RawSettings, path: &str) -> String {
    raw.get(path).and_then(|(value, _)| value.as_str()).unwrap_or_default().to_owned()
}

fn float(raw: &RawSettings, path: &str) -> f64 {
    let value = raw.get(path).map(|(value, _)| value);
    value.and_then(|value| value.as_float().or(value.as_integer().map(|n| n as f64))).unwrap_or_default()
}

fn number(raw: &RawSettings, path: &str) -> u32 {
    let value = raw.get(path).and_then(|(value, _)| value.as_integer()).unwrap_or_default();
    u32::try_from(value).unwrap_or(u32::MAX)
}
