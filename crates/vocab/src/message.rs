//! The conversation as a model sees it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RefKey;

/// Stands in the conversation where a person stopped a running request.
pub const INTERRUPT_USER: &str = "[Request interrupted by user]";
/// Opens the result of a tool use that a person stopped.
pub const INTERRUPT_TOOL: &str = "[Request interrupted by user for tool use]";
/// Tells the model what an interrupted tool use means.
pub const INTERRUPT_EXPLANATION: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, and everything that answers the model: tool results are user messages.
    User,
    /// The model.
    Assistant,
}

/// One turn of the conversation. The system prompt is not a message: each call builds it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The parts of the message, in order.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// Plain text or Markdown.
        text: String,
    },
    /// The model's own reasoning, sent back unchanged where a provider asks for it.
    Thinking {
        /// The reasoning, possibly summarised by the provider.
        text: String,
        /// The provider's proof that the text is its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The dialect that the proof belongs to; others have no use for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Encrypted reasoning that the provider wants to get back.
    RedactedThinking {
        /// Opaque bytes in the provider's encoding.
        data: String,
        /// The dialect that they belong to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An image. Its bytes are stored under the name.
    Image {
        /// Where it is stored, in base64.
        image: RefKey,
        /// `image/png` and the like.
        #[serde(rename = "mediaType")]
        media_type: String,
    },
    /// The model asks for a tool.
    ToolUse(ToolCall),
    /// What the tool returned.
    ToolResult(ToolResult),
}

/// A model requests a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The provider's id, which the result must repeat.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments; see [`ToolCall::broken`] for arguments that are not JSON.
    pub input: Value,
    /// The raw arguments, if they are not a JSON object. Such a call is never run: its
    /// result is an error that lets the model try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// The result of one tool use. As a [`Part`] it reads
/// `{"type":"tool_result","tool_use_id":…,"content":…}`, with `is_error` only when it is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The id of the tool use that is answered.
    pub tool_use_id: String,
    /// What the model reads.
    pub content: String,
    /// Present and true when the tool failed or was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl ToolResult {
    /// The tool did what it was asked.
    pub fn success(id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_use_id: id.into(), content: content.into(), is_error: None }
    }

    /// The tool failed, or was refused.
    pub fn error(id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_use_id: id.into(), content: content.into(), is_error: Some(true) }
    }

    /// It waits for the user's answer while the conversation continues. Part of the log's format, never changed.
    pub fn pending(id: impl Into<String>) -> Self {
        Self::error(id, "[This tool use waits for the user's answer. It was not run.]")
    }

    /// A result that comes after the conversation went on, as text. Part of the log's format, never changed.
    pub fn late(&self) -> String {
        format!("[Result of the tool use {} that waited]\n{}", self.tool_use_id, self.content)
    }

    /// The user stopped it and will say how to continue.
    pub fn interrupt(id: impl Into<String>) -> Self {
        Self::error(id, format!("{INTERRUPT_TOOL}\n\n{INTERRUPT_EXPLANATION}"))
    }
}

impl Message {
    /// Words of the person.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::Text { text: text.into() }] }
    }

    /// Words of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, parts: vec![Part::Text { text: text.into() }] }
    }

    /// The text parts, joined; everything else is left out.
    pub fn text(&self) -> String {
        let mut joined = String::new();
        for part in &self.parts {
            if let Part::Text { text } = part {
                joined.push_str(text);
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(result: ToolResult) -> String {
        serde_json::to_string(&Part::ToolResult(result)).expect("writes")
    }

    #[test]
    fn a_success_result_has_no_is_error() {
        insta::assert_snapshot!(wire(ToolResult::success("t1", "done")), @r#"{"type":"tool_result","tool_use_id":"t1","content":"done"}"#);
    }

    #[test]
    fn an_error_result_says_so() {
        insta::assert_snapshot!(wire(ToolResult::error("t1", "no")), @r#"{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}"#);
    }

    #[test]
    fn an_interrupt_result_is_the_documented_text_to_the_byte() {
        insta::assert_snapshot!(wire(ToolResult::interrupt("t1")), @r#"{"type":"tool_result","tool_use_id":"t1","content":"[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.","is_error":true}"#);
    }

    #[test]
    fn the_interrupt_texts_are_the_documented_ones() {
        assert_eq!(INTERRUPT_USER, "[Request interrupted by user]");
        assert_eq!(INTERRUPT_TOOL, "[Request interrupted by user for tool use]");
        assert!(!INTERRUPT_EXPLANATION.contains("  "), "single spaces at the joins");
    }

    #[test]
    fn text_joins_the_words_and_skips_the_rest() {
        let message = Message {
            role: Role::Assistant,
            parts: vec![
                Part::Thinking { text: "hm".into(), signature: None, by: None },
                Part::Text { text: "a".into() },
                Part::ToolUse(ToolCall { id: "1".into(), name: "x".into(), input: Value::Null, broken: None }),
                Part::Text { text: "b".into() },
            ],
        };
        assert_eq!(message.text(), "ab");
    }
}
