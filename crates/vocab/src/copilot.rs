//! How much of the work a person wants to see before it happens, and what a task looks like before it
//! is begun.

use serde::{Deserialize, Serialize};

/// How the user and the copilot share the work. Every field is a setting under `copilot`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Copilot {
    /// Whether a task is looked at by the fast model before it is begun.
    pub intelligent_routing: Routing,
    /// Where the fast model is less sure than this, the person is asked; 0 to 1.
    pub unsure_below: f64,
    /// Where the fast model is surer than this, it is believed; 0 to 1.
    pub sure_above: f64,
    /// Where tools are less likely to be needed than this, words will do; 0 to 1.
    pub no_tools_below: f64,
    /// Where the steps of a plan wait for the user.
    pub approval_mode: ApprovalMode,
    /// Whether a task that looks like much work is planned first.
    pub enable_planning: bool,
    /// Whether a plan waits for approval.
    pub plan_approval: bool,
    /// Whether a simple task needs no approval before it runs.
    pub auto_approve_simple: bool,
    /// Whether Trimtab only talks until the user asks it to start the work.
    pub conversational: bool,
    /// Whether words such as "go ahead" switch from conversation to execution.
    pub allow_execution_transition: bool,
    /// The words that do.
    pub triggers: Vec<String>,
    /// Whether the work can be paused between its steps.
    pub pause_enabled: bool,
    /// How much a request does before it waits for "continue".
    pub pace: Pace,
    /// Whether Trimtab continues automatically.
    pub auto_continue: bool,
}

impl Default for Copilot {
    fn default() -> Self {
        Self {
            intelligent_routing: Routing::Off,
            unsure_below: border::UNSURE,
            sure_above: border::SURE,
            no_tools_below: border::TOOL_NEED,
            approval_mode: ApprovalMode::None,
            enable_planning: true,
            plan_approval: true,
            auto_approve_simple: true,
            conversational: false,
            allow_execution_transition: true,
            triggers: TRIGGERS.map(str::to_owned).to_vec(),
            pause_enabled: true,
            pace: Pace::Autonomous,
            auto_continue: false,
        }
    }
}

/// The words that begin the work, as documented, unless others are set.
pub const TRIGGERS: [&str; 6] = ["implement", "build", "create it", "do it", "go ahead", "make it"];

impl Copilot {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a task is looked at before it is begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// Only where the rules cannot place it.
    #[default]
    Off,
    /// Prefer action. Ask only if the work cannot start without an answer.
    Minimal,
    /// Ask about everything that is ambiguous.
    Aggressive,
}

/// Where the steps of a plan wait for the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Nowhere.
    #[default]
    None,
    BeforeStep,
    AfterStep,
    /// Before and after each.
    Both,
}

impl ApprovalMode {
    /// Whether a person is asked before a step.
    pub fn before(self) -> bool {
        matches!(self, Self::BeforeStep | Self::Both)
    }

    /// Whether a person is asked after a step.
    pub fn after(self) -> bool {
        matches!(self, Self::AfterStep | Self::Both)
    }
}

/// How much a request does before it waits for "continue".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    #[default]
    Autonomous,
    /// One or two steps.
    Incremental,
    /// One round of tools.
    Single,
}

/// What a task looks like before it is begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Analysis {
    /// About how many steps it takes.
    pub steps: u32,
    /// About how many files it touches.
    pub files: u32,
    /// What it is about: frontend, backend, config, docs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
    /// The missing information: purpose, inputs, outputs, or constraints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What to ask the person, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// How likely it is that tools are needed, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_need: Option<f64>,
}

/// A question to the user, with options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Question {
    /// Names it within its checkpoint.
    pub id: String,
    /// The question.
    pub text: String,
    /// Answers to choose from; words are always possible too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choosable>,
    /// Whether several options can be selected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
}

/// An answer to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Choosable {
    /// Names it within its question.
    pub id: String,
    /// The label.
    pub title: String,
    /// When it is planned for, if it is a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<String>,
}

/// Where a simple task ends and a complex one begins, and, unless others are set, where a guess ends and
/// knowledge begins.
pub mod border {
    /// Below this, the person is asked.
    pub const UNSURE: f64 = 0.45;
    /// Above this, the model is believed.
    pub const SURE: f64 = 0.70;
    /// Below this need for tools, words will do.
    pub const TOOL_NEED: f64 = 0.25;
    /// A task below this is simple, if it takes few steps.
    pub const COMPLEXITY: u8 = 30;
    /// So many steps, files or concerns make it complex.
    pub const MANY: usize = 3;
}

impl Analysis {
    /// Whether it is worth a plan: any of the documented signs is enough.
    pub fn is_complex(&self, complexity: u8) -> bool {
        let many = border::MANY;
        complexity >= border::COMPLEXITY
            || self.steps as usize >= many
            || self.files as usize >= many
            || self.concerns.len() >= many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sign_alone_makes_a_task_complex() {
        let simple =
            Analysis { steps: 2, files: 2, concerns: vec!["docs".into(), "config".into()], ..Analysis::default() };
        assert!(!simple.is_complex(29));
        assert!(simple.is_complex(30));
        assert!(Analysis { steps: 3, ..simple.clone() }.is_complex(0));
        assert!(Analysis { files: 3, ..simple.clone() }.is_complex(0));
        let concerns = ["frontend", "backend", "docs"].map(str::to_owned).to_vec();
        assert!(Analysis { concerns, ..simple }.is_complex(0));
    }

    #[test]
    fn settings_of_before_there_were_borders_and_triggers_mean_the_documented_ones() {
        let old: Copilot = serde_json::from_str(r#"{"intelligent_routing":"minimal"}"#).expect("an old record");
        assert_eq!(old, Copilot { intelligent_routing: Routing::Minimal, ..Copilot::default() });
        assert_eq!((old.unsure_below, old.sure_above, old.no_tools_below), (0.45, 0.70, 0.25));
        assert_eq!(old.triggers, TRIGGERS);
    }

    #[test]
    fn approval_modes_say_where_a_person_is_asked() {
        let asked = |mode: ApprovalMode| (mode.before(), mode.after());
        assert_eq!(asked(ApprovalMode::None), (false, false));
        assert_eq!(asked(ApprovalMode::BeforeStep), (true, false));
        assert_eq!(asked(ApprovalMode::AfterStep), (false, true));
        assert_eq!(asked(ApprovalMode::Both), (true, true));
    }
}
