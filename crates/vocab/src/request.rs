//! What a person asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    AssistantRequest, AutoMode, CallId, ChangePart, ChangeSetId, Copilot, ImageId, ImageSettings, MemorySettings,
    Message, ModelFacts, OnConflict, Part, PictureWish, Pill, RefKey, Remembered, RequestId, Role, Rule, Sandbox,
};

/// One thing a person asked for, as the engine takes it in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Names it for good.
    pub id: RequestId,
    /// The person's words; a preview when they were too large to send and `refs` holds them whole.
    pub text: String,
    /// Texts stored beside the conversation that belong to it.
    #[serde(default)]
    pub refs: Vec<RefKey>,
    /// Pictures that belong to it.
    #[serde(default)]
    pub images: Vec<ImageRef>,
    /// Which path the person chose.
    #[serde(default)]
    pub mode: Mode,
    /// What its words are marked with: `#research` and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The workflow that its words call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pill: Option<Box<Pill>>,
    /// It is about the person's tasks, and how it was put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<AssistantRequest>>,
    /// What it wants of the gallery of pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Box<PictureWish>>,
    /// What it does to a request of the session that runs or waits for a person; absent: it waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub while_running: Option<WhileRunning>,
    /// What was in force when it was asked. Part of the record, so that a replay decides alike.
    pub settings: RunSettings,
}

impl Request {
    /// A request with nothing but words.
    pub fn new(id: RequestId, text: impl Into<String>, settings: RunSettings) -> Self {
        Self {
            id,
            text: text.into(),
            refs: Vec::new(),
            images: Vec::new(),
            mode: Mode::Auto,
            tags: Vec::new(),
            pill: None,
            ask: None,
            picture: None,
            while_running: None,
            settings,
        }
    }

    /// The words that the model reads: the person's, or what a pill makes of them.
    pub fn words(&self) -> &str {
        self.pill.as_ref().map_or(self.text.as_str(), |pill| pill.text.as_str())
    }

    /// Its words and pictures, as the conversation has them.
    pub fn message(&self) -> Message {
        let pictures = self
            .images
            .iter()
            .map(|image| Part::Image { image: image.key.clone(), media_type: image.media_type.clone() });
        let parts = pictures.chain([Part::Text { text: self.words().to_owned() }]).collect();
        Message { role: Role::User, parts }
    }
}

/// Which path a person chose for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The router decides.
    #[default]
    Auto,
    /// Words only.
    Chat,
    /// Look and plan; no effects.
    Plan,
    /// Carry out what was talked about.
    Implement,
}

/// What a new message does to a request of its session that runs or waits for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhileRunning {
    /// Its words go to that request, and the model reads them at its next step.
    #[default]
    Steer,
    /// It waits until that request has ended.
    Queue,
    /// That request is cancelled, and this one begins.
    Replace,
}

/// A picture that is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageRef {
    /// Where, in base64.
    #[serde(rename = "ref")]
    pub key: RefKey,
    /// `image/png` and the like.
    pub media_type: String,
}

/// The settings that steer a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunSettings {
    /// `provider/name`.
    pub model: String,
    /// What is known about it.
    pub facts: ModelFacts,
    /// Who is asked instead when there are pictures; empty: the same.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vision_model: String,
    /// What is known about that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision_facts: Option<ModelFacts>,
    /// Model calls at most.
    pub max_steps: u32,
    /// Tokens of one reply at most.
    pub max_output_tokens: u32,
    /// How often a failed call is tried again.
    pub retries: u32,
    /// How freely the model may choose its words; absent: as the provider sees fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens it may think before it speaks.
    pub thinking_tokens: u32,
    /// Dollars that the session may cost; absent: as much as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Who does small work behind the scenes; empty: nobody but the model itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fast_model: String,
    /// What is known about that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_facts: Option<ModelFacts>,
    /// Whether changes of files are asked about.
    pub apply_files: Applying,
    /// Deletions are asked about, whatever is said of changes.
    pub confirm_deletes: bool,
    /// Whether commands that are known to be safe are asked about.
    pub apply_commands: Applying,
    /// Beginnings of commands that may run by themselves; absent: the documented ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_allowed: Option<Vec<String>>,
    /// Beginnings of commands that are always asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands_asked: Vec<String>,
    /// Beginnings of commands that are refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands_denied: Vec<String>,
    /// An allowed beginning vouches for flags and operands that are not known to be safe, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain_prefix: bool,
    /// Seconds a command may take.
    pub command_timeout_s: u64,
    /// The same, for commands that begin so.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub command_timeouts: BTreeMap<String, u64>,
    /// Seconds that a model may ask for at most, beyond what is set for a command.
    pub command_longest_s: u64,
    /// Outputs that are not shown whole are stored whole.
    pub archive_output: bool,
    /// Which answers a question about a command offers.
    #[serde(skip_serializing_if = "is_default")]
    pub dialog: Dialog,
    /// A rule may cover commands that delete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remember_deletes: bool,
    /// How commands are fenced in.
    pub sandbox: Sandbox,
    /// The person trusts the folder, by a flag or a setting.
    pub trusted: bool,
    /// The folder's instructions count only as a person has accepted them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub instructions_bound: bool,
    /// What happens where a person would be asked.
    pub approve: Approve,
    /// Where commands run and what they must leave alone.
    pub machine: Machine,
    /// What the assistant is called.
    pub assistant: String,
    /// How the work of tools is summed up: by the model's own words, or by a list of results.
    pub synthesis_list: bool,
    /// What is done about answers that are damaged, cut off or change nothing.
    #[serde(skip_serializing_if = "Recovery::is_usual")]
    pub recovery: Recovery,
    /// The person's standing decisions; recorded apart, and only when they change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What of earlier sessions the model is told; recorded apart, and only when it changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<Remembered>,
    /// How long-term memory is kept and used.
    #[serde(skip_serializing_if = "MemorySettings::is_default")]
    pub memory: MemorySettings,
    /// Seconds for which the reply to exactly the same prompt is used again; 0: never.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_s: u64,
    /// How much of the work a person wants to see before it happens.
    #[serde(skip_serializing_if = "Copilot::is_default")]
    pub copilot: Copilot,
    /// Files of the folder that are noted before a command at most; 0: what commands do to files is not seen.
    #[serde(skip_serializing_if = "is_zero_small")]
    pub snapshot_files: u32,
    /// Megabytes of them that are newly kept before a command; 0: the same.
    #[serde(skip_serializing_if = "is_zero_small")]
    pub snapshot_mb: u32,
    /// What happens when the conversation grows too large.
    #[serde(skip_serializing_if = "ContextSettings::is_default")]
    pub context: ContextSettings,
    /// How requests about the person's tasks are answered.
    #[serde(skip_serializing_if = "AutoMode::is_default")]
    pub auto_mode: AutoMode,
    /// How pictures are made.
    #[serde(skip_serializing_if = "ImageSettings::is_default")]
    pub image: ImageSettings,
    /// Somebody is there to be asked. Without a person, what would ask ends the run and stays open.
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
            model: String::new(),
            facts: ModelFacts::default(),
            vision_model: String::new(),
            vision_facts: None,
            max_steps: 25,
            max_output_tokens: 16_384,
            retries: 5,
            temperature: None,
            thinking_tokens: 0,
            budget_usd: None,
            fast_model: String::new(),
            fast_facts: None,
            apply_files: Applying::Auto,
            confirm_deletes: true,
            apply_commands: Applying::Ask,
            commands_allowed: None,
            commands_asked: Vec::new(),
            commands_denied: Vec::new(),
            plain_prefix: false,
            command_timeout_s: 30,
            command_timeouts: BTreeMap::new(),
            command_longest_s: 600,
            archive_output: true,
            dialog: Dialog::Auto,
            remember_deletes: false,
            sandbox: Sandbox::Workspace,
            trusted: false,
            instructions_bound: false,
            approve: Approve::Ask,
            machine: Machine::default(),
            assistant: "Trimtab".into(),
            synthesis_list: false,
            recovery: Recovery::default(),
            rules: Vec::new(),
            recalled: Vec::new(),
            memory: MemorySettings::default(),
            cache_s: 0,
            copilot: Copilot::default(),
            snapshot_files: 0,
            snapshot_mb: 0,
            context: ContextSettings::default(),
            auto_mode: AutoMode::default(),
            image: ImageSettings::default(),
            attended: true,
        }
    }
}

/// What the engine cannot know of the machine by itself.
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
}

impl Default for Machine {
    fn default() -> Self {
        Self { shell: "sh".into(), home: String::new(), own: Vec::new(), ports: Vec::new() }
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
    /// The part of a limit from which on a person is asked, 0 to 1.
    pub handoff_at: f64,
    /// What is done there.
    pub strategy: ContextStrategy,
    /// Megabytes of conversation that one document of a session may hold; 0: any.
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

/// What is done when the conversation grows too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextStrategy {
    /// Older turns are summed up; nobody is asked.
    Compress,
    /// A person is asked first.
    Ask,
    /// Older turns are summed up, and a person is asked where that was not enough.
    #[default]
    Both,
}

/// Whether something is done at once.
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

/// What is done about answers that are damaged, cut off or change nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Recovery {
    /// How often a model is asked to repair an answer that the rules could not read wholly.
    pub repairs: u32,
    /// What follows when a reply is cut off at the output limit.
    pub on_max_tokens: OnMaxTokens,
    /// Whether a person may apply the whole changes of an answer that was cut off, one by one.
    pub allow_recovered_changes: bool,
    /// The signs of a cut in a text count even where the model said that it was done.
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
    /// The request ends with what is there.
    Stop,
    /// A person is asked where something of it would have acted.
    #[default]
    Ask,
    /// The model goes on by itself, a few times in a row at most.
    AutoContinue,
}

/// What a diff without effect is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Noop {
    /// Not needed if what it would write is there already, an error if its lines are not.
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

/// What happens where a person would be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Approve {
    #[default]
    Ask,
    /// What may be approved is approved.
    Auto,
    /// It is refused.
    Deny,
}

/// Lists of the settings, which count anew when somebody edits them: which commands may run by themselves, which are asked
/// about and which are refused, and which files are instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Lists {
    /// Whether commands that are known to be safe are asked about.
    pub apply: Applying,
    /// Beginnings of commands that may run by themselves; absent: the documented ones.
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
    /// Seconds that a command may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
}

impl RunSettings {
    /// The lists in force.
    pub fn lists(&self) -> Lists {
        Lists {
            apply: self.apply_commands,
            allow: self.commands_allowed.clone(),
            ask: self.commands_asked.clone(),
            deny: self.commands_denied.clone(),
            files: self.context.files.clone(),
            apply_files: Some(self.apply_files),
            sandbox: Some(self.sandbox),
            timeout_s: Some(self.command_timeout_s),
        }
    }

    /// Puts others in force.
    pub fn relist(&mut self, lists: Lists) {
        let Lists { apply, allow, ask, deny, files, apply_files, sandbox, timeout_s } = lists;
        // These only become stricter: who takes a request over may have other variables set than who made it.
        if apply_files == Some(Applying::Ask) {
            self.apply_files = Applying::Ask;
        }
        self.sandbox = match (self.sandbox, sandbox.unwrap_or(self.sandbox)) {
            (Sandbox::ReadOnly, _) | (_, Sandbox::ReadOnly) => Sandbox::ReadOnly,
            (Sandbox::Off, Sandbox::Off) => Sandbox::Off,
            _ => Sandbox::Workspace,
        };
        self.command_timeout_s = self.command_timeout_s.min(timeout_s.unwrap_or(u64::MAX));
        self.apply_commands = apply;
        self.commands_allowed = allow;
        self.commands_asked = ask;
        self.commands_denied = deny;
        self.context.files = files;
    }
}

/// What a person may say to a running request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Control {
    /// Stop now; keep what is there.
    Cancel,
    /// Go no further than the end of this step.
    Pause,
    /// Go on.
    Resume,
    /// Leave what is being done now, and go on with the next.
    Skip,
    /// Take these words up at the next step.
    Steer {
        /// The words.
        text: String,
    },
    /// End one tool; the rest goes on.
    StopTool { call: CallId },
    /// Take back so many change sets.
    Rewind {
        steps: u32,
        /// What is done where a person has edited the same lines since.
        #[serde(default, skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
    },
    /// Bring so many forward again.
    Forward {
        steps: u32,
        /// What is done where a person has edited the same lines since.
        #[serde(default, skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
    },
    /// Take back a part of a change set; what that does is a change set of its own.
    UndoPart {
        change_set: ChangeSetId,
        /// Which files of it, or which hunks.
        parts: Vec<ChangePart>,
        /// What is done where the same lines have changed since.
        #[serde(default, skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
    },
    /// Go on under other terms; what is absent stays as it is.
    Adjust {
        /// What happens where a person would be asked.
        #[serde(default)]
        approve: Option<Approve>,
        /// Whether somebody is there to be asked.
        #[serde(default)]
        attended: Option<bool>,
        /// Model calls at most.
        #[serde(default)]
        max_steps: Option<u32>,
        /// The folder is trusted.
        #[serde(default)]
        trusted: Option<bool>,
    },
    /// Put these words in place of the last summary of the conversation.
    EditSummary {
        /// The words.
        text: String,
    },
    /// Put the conversation back in place of its last summary.
    UndoSummary,
    /// The person has applied so many of the operations that were proposed last; 0: they do not want them.
    DecideTasks { applied: u32 },
    /// Choose pictures, or choose them no longer.
    SelectImages {
        images: Vec<ImageId>,
        /// Whether they are chosen from now on.
        selected: bool,
    },
    /// Go on in a new session, which gets what matters of this one.
    Handoff,
    /// Go on in this one, with its whole conversation.
    Extend,
}
