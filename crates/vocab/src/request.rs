//! What a person asks for.

use serde::{Deserialize, Serialize};

use crate::{Message, ModelFacts, Part, RefKey, RequestId, Role};

/// One thing a person asked for, as the engine takes it in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What was in force when it was asked. Part of the record, so that a replay decides alike.
    pub settings: RunSettings,
}

impl Request {
    /// Its words and pictures, as the conversation has them.
    pub fn message(&self) -> Message {
        let pictures = self
            .images
            .iter()
            .map(|image| Part::Image { image: image.key.clone(), media_type: image.media_type.clone() });
        let parts = pictures.chain([Part::Text { text: self.text.clone() }]).collect();
        Message { role: Role::User, parts }
    }
}

/// Which path a person chose for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The router decides.
    #[default]
    Auto,
    /// Words only.
    Chat,
    /// Look and plan; no effects.
    Plan,
}

/// A picture that is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Somebody is there to be asked. Without a person, what would ask ends the run and stays open.
    pub attended: bool,
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
            attended: true,
        }
    }
}

/// What a person may say to a running request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Control {
    /// Stop now; keep what is there.
    Cancel,
}
