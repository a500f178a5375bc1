//! An answer to choose: what it is for, whether text goes with it, and the keys that choose it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::Rule;

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// What a program sends.
    pub id: String,
    /// The label that the user sees.
    pub label: String,
    /// The number that chooses it on every surface. It belongs to the answer, not to its position, so that it
    /// does not move when another answer is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u8>,
    /// The letter that chooses it on every surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<char>,
    /// It makes a rule, so it takes a second, visible step that shows the rule.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub confirm: bool,
    /// Whether text goes with it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<ChoiceText>", skip_serializing_if = "Option::is_none"))]
    pub text: ChoiceText,
    /// What choosing it means.
    #[cfg_attr(feature = "schema", schemars(with = "Option<ChoiceRole>", skip_serializing_if = "Option::is_none"))]
    pub role: ChoiceRole,
    /// The rule that it adds, where the choices of a question add different ones. Otherwise the question names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// What that rule covers, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covers: Option<String>,
    /// The answer that it is a form of. A surface that shows the rule in a second step offers it there.
    #[serde(rename = "variantOf", skip_serializing_if = "Option::is_none")]
    pub variant_of: Option<String>,
}

/// Whether text goes with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChoiceText {
    /// Text would be lost.
    No,
    /// The answer can have a text.
    Optional,
    /// The answer is refused without it.
    Required,
}

/// What choosing an answer means, for surfaces that cannot know every question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChoiceRole {
    /// Allow it this time.
    AllowOnce,
    /// Allow it from now on.
    AllowAlways,
    /// Do not allow it this time.
    RejectOnce,
    /// Do not allow it, now or later.
    RejectAlways,
    /// Continue as proposed.
    Primary,
    /// Continue differently, without approving anything.
    Secondary,
    /// Leave it, or stop.
    Dismiss,
}

impl ChoiceRole {
    /// Whether what is asked about happens, so that the user must have seen all of it.
    pub fn consents(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways | Self::Primary => true,
            Self::RejectOnce | Self::RejectAlways | Self::Secondary | Self::Dismiss => false,
        }
    }
}

impl Choice {
    /// An answer without a fixed key. Its role and its text are the usual ones of its id.
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        let id = id.into();
        let (role, text) = usual(&id);
        let label = label.into();
        Self {
            id,
            label,
            number: None,
            key: None,
            confirm: false,
            text,
            role,
            rule: None,
            covers: None,
            variant_of: None,
        }
    }

    /// The same with another role than the usual one of its id.
    pub fn with_role(self, role: ChoiceRole) -> Self {
        Self { role, ..self }
    }

    /// The same with another need for text than the usual one of its id.
    pub fn with_text(self, text: ChoiceText) -> Self {
        Self { text, ..self }
    }
}

/// The role of an answer and its need for text where nothing else is said: every id that this version offers. Logs of
/// version 0.1 have neither, and are read by this table. Where an id is not in it, the user sees all of what is asked
/// about before they choose it.
fn usual(id: &str) -> (ChoiceRole, ChoiceText) {
    use ChoiceRole::{AllowAlways, AllowOnce, Dismiss, Primary, RejectAlways, RejectOnce, Secondary};
    use ChoiceText::{No, Optional, Required};
    match id {
        "allow" => (AllowOnce, Optional),
        "outside" | "widen" | "again" => (AllowOnce, No),
        "always" => (AllowAlways, Optional),
        "always_prefix" | "always_everywhere" | "always_prefix_everywhere" => (AllowAlways, No),
        "trust" | "use" => (AllowAlways, No),
        "wait" | "reject" => (RejectOnce, Optional),
        "no" | "skip" | "decline" => (RejectOnce, No),
        "never" => (RejectAlways, Optional),
        "submit" => (Primary, Required),
        "satisfied" | "unlimited" | "background" | "subtasks" => (Primary, No),
        "tell" | "other" | "modify" | "needs_changes" => (Secondary, Required),
        "replan" => (Secondary, Optional),
        "start_over" => (Secondary, No),
        "stop" | "end" | "cancel" | "talk" => (Dismiss, No),
        _ => (Primary, Optional),
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct WrittenChoice {
            id: String,
            label: String,
            #[serde(default)]
            number: Option<u8>,
            #[serde(default)]
            key: Option<char>,
            #[serde(default)]
            confirm: bool,
            #[serde(default)]
            text: Value,
            #[serde(default)]
            role: Value,
            #[serde(default)]
            rule: Value,
            #[serde(default)]
            covers: Option<String>,
            #[serde(default, rename = "variantOf")]
            variant_of: Option<String>,
        }
        let written = WrittenChoice::deserialize(deserializer)?;
        let WrittenChoice { id, label, number, key, confirm, text, role, rule, covers, variant_of } = written;
        let choice = Self::new(id, label);
        // A value of a newer version is no reason to lose the question.
        Ok(Self {
            number,
            key,
            confirm: confirm || matches!(choice.id.as_str(), "always" | "never"),
            text: ChoiceText::deserialize(text).unwrap_or(choice.text),
            role: ChoiceRole::deserialize(role).unwrap_or(choice.role),
            rule: Rule::deserialize(rule).ok(),
            covers,
            variant_of,
            ..choice
        })
    }
}

/// Reads the answers of a question. The first questions were recorded without numbers and letters.
pub(crate) fn read_choices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Choice>, D::Error> {
    let mut choices = Vec::<Choice>::deserialize(deserializer)?;
    let is_permission = choices.iter().any(|choice| choice.id == "allow");
    for (choice, position) in choices.iter_mut().zip(1u8..) {
        let (number, key) = match choice.id.as_str() {
            _ if !is_permission => (position, None),
            "allow" => (1, Some('y')),
            "always" => (2, Some('a')),
            "wait" | "skip" => (3, Some('n')),
            "never" => (4, None),
            _ => (position, None),
        };
        if choice.number.is_none() {
            choice.number = Some(number);
            choice.key = choice.key.or(key);
        }
    }
    Ok(choices)
}
