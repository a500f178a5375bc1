//! The settings that steer a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AutoMode, Autonomy, AutonomySettings, CheckSettings, Copilot, Effort, ImageSettings, ListedHook, MemorySettings,
    ModelFacts, NetworkAccess, Remembered, Rule, Sandbox, SubtaskSettings, TaskKind,
};

// Grouped here, and flat in what is recorded and sent: the order of the groups and of their fields is the order of the
// record. Clients see the flat form only, so their description does not say this.
/// The settings that steer a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunSettings {
    /// Which models are called, and what their calls may take.
    #[serde(flatten)]
    pub models: ModelSettings,
    /// When changes of files are asked about.
    #[serde(flatten)]
    pub files: FileSettings,
    /// Which commands run, and how.
    #[serde(flatten)]
    pub commands: CommandSettings,
    /// How much is done without a question.
    #[serde(flatten)]
    pub autonomy: AutonomySettings,
    /// Whether the folder is trusted, and how far.
    #[serde(flatten)]
    pub trust: FolderTrust,
    /// How approval prompts are handled.
    pub approve: Approve,
    /// Where commands run and what they must leave alone.
    pub machine: Machine,
    /// How answers are worded, and handled where they are damaged.
    #[serde(flatten)]
    pub style: AnswerStyle,
    /// What is read when the request starts.
    #[serde(flatten)]
    pub known: KnownAtStart,
    /// How long-term memory is kept and used.
    #[serde(skip_serializing_if = "MemorySettings::is_default")]
    pub memory: MemorySettings,
    /// Which parts of the work the user wants to approve first.
    #[serde(skip_serializing_if = "Copilot::is_default")]
    pub copilot: Copilot,
    /// What is noted of the folder before a command.
    #[serde(flatten)]
    pub snapshot: SnapshotSettings,
    /// What happens when the conversation grows too large.
    #[serde(skip_serializing_if = "ContextSettings::is_default")]
    pub context: ContextSettings,
    /// How requests about the person's tasks are answered.
    #[serde(skip_serializing_if = "AutoMode::is_default")]
    pub auto_mode: AutoMode,
    /// How images are generated.
    #[serde(skip_serializing_if = "ImageSettings::is_default")]
    pub image: ImageSettings,
    /// How requests are broken down.
    #[serde(skip_serializing_if = "SubtaskSettings::is_default")]
    pub subtasks: SubtaskSettings,
    /// The service that searches the web; empty: there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub web_search: String,
    /// Bytes at the beginning of the text that the user wrote. The rest, such as standard input, is data: an `@` in it
    /// loads and calls nothing. Absent: the user wrote all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed_bytes: Option<u64>,
    /// A person can answer. Without one, a question ends the run and stays pending.
    pub attended: bool,
}

fn is_zero_small(n: &u32) -> bool {
    *n == 0
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_default(dialog: &Dialog) -> bool {
    *dialog == Dialog::default()
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            models: ModelSettings::default(),
            files: FileSettings::default(),
            commands: CommandSettings::default(),
            autonomy: AutonomySettings::default(),
            trust: FolderTrust::default(),
            approve: Approve::Ask,
            machine: Machine::default(),
            style: AnswerStyle::default(),
            known: KnownAtStart::default(),
            memory: MemorySettings::default(),
            copilot: Copilot::default(),
            snapshot: SnapshotSettings::default(),
            context: ContextSettings::default(),
            auto_mode: AutoMode::default(),
            image: ImageSettings::default(),
            subtasks: SubtaskSettings::default(),
            web_search: String::new(),
            typed_bytes: None,
            attended: true,
        }
    }
}

/// What is read when a request starts, and not when it is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct KnownAtStart {
    /// The person's standing decisions; recorded apart, and only when they change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The hooks that run at fixed points of its work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<ListedHook>,
    /// What the model sees of earlier sessions; recorded separately, and only if it changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<Remembered>,
}

/// Whether the folder is trusted, and how far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FolderTrust {
    /// The person trusts the folder, by a flag or a setting.
    pub trusted: bool,
    /// The folder's instructions are used only in the version that the user accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub instructions_bound: bool,
}

impl FolderTrust {
    /// The folder is trusted, with its instructions.
    pub const WHOLE: Self = Self { trusted: true, instructions_bound: false };
}

/// Which models are called, and what their calls may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// `provider/name`.
    pub model: String,
    /// The known facts about the model.
    pub facts: ModelFacts,
    /// The model for requests with images. Empty: the same model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vision_model: String,
    /// The known facts about that model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision_facts: Option<ModelFacts>,
    /// Model calls at most.
    pub max_steps: u32,
    /// The user has set `maxSteps` and does not only leave it at its default, so no level of autonomy exceeds it.
    #[serde(rename = "maxStepsChosen", skip_serializing_if = "std::ops::Not::not")]
    pub steps_chosen: bool,
    /// Tokens of one reply at most.
    pub max_output_tokens: u32,
    /// How often a failed call is tried again.
    pub retries: u32,
    /// Sampling temperature. Absent: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum number of thinking tokens.
    pub thinking_tokens: u32,
    /// How much the model thinks. Absent: `thinking_tokens`, or the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Budget of the session in US dollars. Absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// The model for background work; empty: the model itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fast_model: String,
    /// The known facts about that model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_facts: Option<ModelFacts>,
    /// The model that takes over if the model is still overloaded after all retries; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fallback_model: String,
    /// The known facts about that model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_facts: Option<ModelFacts>,
    /// Seconds for which the reply to exactly the same prompt is used again; 0: never.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_s: u64,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            model: String::new(),
            facts: ModelFacts::default(),
            vision_model: String::new(),
            vision_facts: None,
            max_steps: 25,
            steps_chosen: false,
            max_output_tokens: 16_384,
            retries: 5,
            temperature: None,
            thinking_tokens: 0,
            effort: None,
            budget_usd: None,
            fast_model: String::new(),
            fast_facts: None,
            fallback_model: String::new(),
            fallback_facts: None,
            cache_s: 0,
        }
    }
}

/// When changes of files are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FileSettings {
    /// Whether changes of files are asked about.
    #[serde(rename = "applyFiles")]
    pub apply: Applying,
    /// Deletions ask, even if edits do not.
    pub confirm_deletes: bool,
    /// The user has set `applyFiles` and does not only leave it at its default, so it also counts for models that the
    /// catalog does not know.
    #[serde(rename = "applyFilesChosen", skip_serializing_if = "std::ops::Not::not")]
    pub apply_chosen: bool,
    /// The same for `confirmDeletes`: chosen, it counts at every level of autonomy.
    #[serde(rename = "confirmDeletesChosen", skip_serializing_if = "std::ops::Not::not")]
    pub confirm_chosen: bool,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self { apply: Applying::Auto, confirm_deletes: true, apply_chosen: false, confirm_chosen: false }
    }
}

/// Which commands run, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CommandSettings {
    /// Whether commands that are known to be safe are asked about.
    #[serde(rename = "applyCommands")]
    pub apply: Applying,
    /// The user has set `applyCommands` and does not only leave it at its default, so it counts at every level of
    /// autonomy if it asks.
    #[serde(rename = "applyCommandsChosen", skip_serializing_if = "std::ops::Not::not")]
    pub apply_chosen: bool,
    /// Prefixes of commands that can run automatically. Absent: the documented ones.
    #[serde(rename = "commandsAllowed", skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// Beginnings of commands that are always asked about.
    #[serde(rename = "commandsAsked", skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Beginnings of commands that are refused.
    #[serde(rename = "commandsDenied", skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// An allowed beginning vouches for flags and operands that are not known to be safe, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain_prefix: bool,
    /// Timeout of a command in seconds.
    #[serde(rename = "commandTimeoutS")]
    pub timeout_s: u64,
    /// Timeouts in seconds for commands that begin with these texts.
    #[serde(rename = "commandTimeouts", skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts: BTreeMap<String, u64>,
    /// Longest timeout in seconds that a model can request for a command.
    #[serde(rename = "commandLongestS")]
    pub longest_s: u64,
    /// Outputs that are not shown whole are stored whole.
    pub archive_output: bool,
    /// Which answers a question about a command offers.
    #[serde(skip_serializing_if = "is_default")]
    pub dialog: Dialog,
    /// Whether rules can allow commands that delete files.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remember_deletes: bool,
    /// How commands are fenced in.
    pub sandbox: Sandbox,
    /// Whether sandboxed commands can reach hosts.
    #[serde(rename = "commandsNetwork", skip_serializing_if = "NetworkAccess::is_off")]
    pub network: NetworkAccess,
    /// What runs after edits.
    #[serde(skip_serializing_if = "CheckSettings::is_default")]
    pub checks: CheckSettings,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            apply: Applying::Ask,
            apply_chosen: false,
            allowed: None,
            asked: Vec::new(),
            denied: Vec::new(),
            plain_prefix: false,
            timeout_s: 120,
            timeouts: BTreeMap::new(),
            longest_s: 600,
            archive_output: true,
            dialog: Dialog::Auto,
            remember_deletes: false,
            sandbox: Sandbox::Workspace,
            network: NetworkAccess::Off,
            checks: CheckSettings::default(),
        }
    }
}

/// How answers are worded, and handled where they are damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AnswerStyle {
    /// What the assistant is called.
    pub assistant: String,
    /// How tool results are summarized: in the model's words, or as a list of results.
    pub synthesis_list: bool,
    /// The JSON Schema for the answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
    /// How to handle answers that are damaged, truncated, or without effect.
    #[serde(skip_serializing_if = "Recovery::is_usual")]
    pub recovery: Recovery,
}

impl Default for AnswerStyle {
    fn default() -> Self {
        let (assistant, recovery) = ("Trimtab".into(), Recovery::default());
        Self { assistant, synthesis_list: false, answer_schema: None, recovery }
    }
}

/// What is noted of the folder before a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SnapshotSettings {
    /// Files of the folder that are noted before a command at most; 0: what commands do to files is not seen.
    #[serde(rename = "snapshotFiles", skip_serializing_if = "is_zero_small")]
    pub files: u32,
    /// Megabytes of them that are newly kept before a command; 0: the same.
    #[serde(rename = "snapshotMb", skip_serializing_if = "is_zero_small")]
    pub mb: u32,
}

/// Facts about the machine that the engine cannot find out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Machine {
    /// The shell that runs command lines.
    pub shell: String,
    /// The user's home folder.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Folders and files of the program itself: settings, data, secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// Ports that it listens at, beside the usual one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Where workers get their copies of a folder; empty: there is no place for them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workers: String,
}

impl Default for Machine {
    fn default() -> Self {
        Self { shell: "sh".into(), home: String::new(), own: Vec::new(), ports: Vec::new(), workers: String::new() }
    }
}

/// What happens when the conversation grows too large. Every field is a setting under `context`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ContextSettings {
    /// Files of the folder that are read as instructions, beside the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The share of a limit, from 0 to 1, at which Trimtab asks the user.
    pub handoff_at: f64,
    /// What happens at that point.
    pub strategy: ContextStrategy,
    /// Maximum size of a session's conversation in megabytes. 0: no limit.
    pub session_mb: u32,
    /// Tokens of one message that are sent as they are; 0: half of the model's window.
    pub input_tokens: u32,
}

impl Default for ContextSettings {
    fn default() -> Self {
        let (handoff_at, strategy) = (0.85, ContextStrategy::Both);
        Self { files: Vec::new(), handoff_at, strategy, session_mb: 64, input_tokens: 0 }
    }
}

impl ContextSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens when the conversation becomes too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextStrategy {
    /// Older turns are summarized without asking.
    Compress,
    /// A person is asked first.
    Ask,
    /// Trimtab summarizes older turns, and asks if that is not enough.
    #[default]
    Both,
}

/// Whether an action runs automatically or asks first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Applying {
    /// It is done.
    #[default]
    Auto,
    /// A person is asked first.
    Ask,
}

/// How to handle answers that are damaged, truncated, or without effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Recovery {
    /// How often a model is asked to repair an answer that the rules could not read wholly.
    pub repairs: u32,
    /// What follows when a reply is cut off at the output limit.
    pub on_max_tokens: OnMaxTokens,
    /// Whether the user can apply the complete changes of a truncated answer one by one.
    pub allow_recovered_changes: bool,
    /// Treat an answer that looks truncated as truncated, even if the model reported that it was complete.
    pub strict_heuristics: bool,
    /// What a diff without effect is.
    pub noop: Noop,
}

impl Recovery {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// What follows when a reply is cut off at the output limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnMaxTokens {
    /// End the request with the partial answer.
    Stop,
    /// Ask the user if the answer contains actions.
    #[default]
    Ask,
    /// The model continues automatically, at most a few times in a row.
    AutoContinue,
}

/// What a diff without effect is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Noop {
    /// Skip the edit if its result is already in the file. Report an error if its lines are missing.
    #[default]
    Classify,
    /// An error.
    Block,
    /// Not needed.
    Skip,
}

/// Which answers a question about a command offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Dialog {
    /// The short ones for commands of an answer, the full ones for tools.
    #[default]
    Auto,
    /// Allow, always allow, wait, never.
    Full,
    /// Run once, add and run, skip.
    Compact,
}

/// How approval prompts are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Approve {
    #[default]
    Ask,
    /// Approve everything that the policy allows to be auto-approved.
    Auto,
    /// It is refused.
    Deny,
}

/// Lists of the settings, which apply as soon as they are edited: commands that run automatically, ask, or are
/// denied,
/// and instruction files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Lists {
    /// Whether commands that are known to be safe are asked about.
    pub apply: Applying,
    /// Prefixes of commands that can run automatically. Absent: the documented ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Beginnings of commands that are always asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Beginnings of commands that are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Files of the folder that are read as instructions, beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether changes of files are asked about. This and what follows count only where they are stricter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply_files: Option<Applying>,
    /// How commands are fenced in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Timeout of a command in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// The level of autonomy that the project allows at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_limit: Option<Autonomy>,
    /// The user has set `apply`, so it counts at every level of autonomy if it asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apply_chosen: bool,
}

/// Model calls that a request may make at the level *trusting*, if nobody has set another limit.
const TRUSTED_STEPS: u32 = 100;

impl RunSettings {
    /// The level of autonomy in force, where this one was chosen in the session.
    pub fn autonomy_under(&self, chosen: Option<Autonomy>) -> Autonomy {
        chosen.or(self.autonomy.level).unwrap_or_default().within(self.autonomy.limit)
    }

    /// Model calls that a request may make at a level without a question. Only a limit that nobody has set is raised.
    pub fn steps_at(&self, level: Autonomy) -> u32 {
        let is_raised = level == Autonomy::Trusting && !self.models.steps_chosen;
        self.models.max_steps.max(if is_raised { TRUSTED_STEPS } else { 0 })
    }

    /// Who works on a kind of sub-task, and what is known about them.
    pub fn worker_model(&self, kind: TaskKind) -> (String, ModelFacts) {
        let models = &self.models;
        if let Some(set) = self.subtasks.models.get(&kind) {
            return (set.model.clone(), set.facts);
        }
        match kind {
            TaskKind::Simple if !models.fast_model.is_empty() => {
                (models.fast_model.clone(), models.fast_facts.unwrap_or_default())
            }
            _ => (models.model.clone(), models.facts),
        }
    }

    /// The models that sub-tasks can use, each once.
    pub fn worker_models(&self) -> Vec<(String, ModelFacts)> {
        let kinds = [TaskKind::Simple, TaskKind::Reasoning, TaskKind::Review];
        let own = (self.models.model.clone(), self.models.facts);
        let mut known: Vec<(String, ModelFacts)> = Vec::new();
        let of_agents = self.subtasks.agent_models.iter().map(|known| (known.model.clone(), known.facts));
        for (name, facts) in kinds.into_iter().map(|kind| self.worker_model(kind)).chain([own]).chain(of_agents) {
            if !known.iter().any(|(other, _)| *other == name) {
                known.push((name, facts));
            }
        }
        known
    }

    /// The lists in force.
    pub fn lists(&self) -> Lists {
        Lists {
            apply: self.commands.apply,
            allow: self.commands.allowed.clone(),
            ask: self.commands.asked.clone(),
            deny: self.commands.denied.clone(),
            files: self.context.files.clone(),
            apply_files: Some(self.files.apply),
            sandbox: Some(self.commands.sandbox),
            timeout_s: Some(self.commands.timeout_s),
            autonomy_limit: self.autonomy.limit,
            apply_chosen: self.commands.apply_chosen,
        }
    }

    /// Puts others in force.
    pub fn relist(&mut self, lists: Lists) {
        let Lists { apply, allow, ask, deny, files, apply_files, sandbox, timeout_s, autonomy_limit, apply_chosen } =
            lists;
        // These only become stricter: who takes a request over may have other variables set than who made it.
        if apply_files == Some(Applying::Ask) {
            self.files.apply = Applying::Ask;
        }
        self.commands.sandbox = match (self.commands.sandbox, sandbox.unwrap_or(self.commands.sandbox)) {
            (Sandbox::ReadOnly, _) | (_, Sandbox::ReadOnly) => Sandbox::ReadOnly,
            (Sandbox::Off, Sandbox::Off) => Sandbox::Off,
            _ => Sandbox::Workspace,
        };
        self.commands.timeout_s = self.commands.timeout_s.min(timeout_s.unwrap_or(u64::MAX));
        self.autonomy.limit = match (self.autonomy.limit, autonomy_limit) {
            (Some(before), Some(after)) => Some(before.min(after)),
            (before, after) => before.or(after),
        };
        self.commands.apply = apply;
        self.commands.apply_chosen = apply_chosen;
        self.commands.allowed = allow;
        self.commands.asked = ask;
        self.commands.denied = deny;
        self.context.files = files;
    }
}
