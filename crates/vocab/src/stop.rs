//! Why a model stopped talking.

use serde::{Deserialize, Serialize};

/// The reason a reply ended, as the provider gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    /// A filter withheld the content.
    ContentFiltered,
    /// The model finished what it had to say.
    EndTurn,
    /// A guardrail stepped in.
    GuardrailIntervened,
    /// The output limit cut the reply: it is truncated.
    MaxTokens,
    /// A stop sequence was produced.
    StopSequence,
    /// The model waits for tool results; the turn continues.
    ToolUse,
    /// A reason that this version does not know, kept unchanged.
    Other(String),
}

impl StopReason {
    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ContentFiltered => "content_filtered",
            Self::EndTurn => "end_turn",
            Self::GuardrailIntervened => "guardrail_intervened",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for StopReason {
    fn from(name: String) -> Self {
        match name.as_str() {
            "content_filtered" => Self::ContentFiltered,
            "end_turn" => Self::EndTurn,
            "guardrail_intervened" => Self::GuardrailIntervened,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "tool_use" => Self::ToolUse,
            _ => Self::Other(name),
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> String {
        reason.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_six_documented_reasons_and_any_other_survive_the_wire() {
        let names = ["content_filtered", "end_turn", "guardrail_intervened", "max_tokens", "stop_sequence", "tool_use"];
        for name in names {
            let reason: StopReason = serde_json::from_value(name.into()).expect("parses");
            assert!(!matches!(reason, StopReason::Other(_)), "{name} has no variant");
            assert_eq!(serde_json::to_value(&reason).expect("writes"), name);
        }
        let odd: StopReason = serde_json::from_value("pause_turn".into()).expect("parses");
        assert_eq!(odd, StopReason::Other("pause_turn".into()));
        assert_eq!(serde_json::to_value(&odd).expect("writes"), "pause_turn");
    }
}
