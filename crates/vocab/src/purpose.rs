//! What a model is called for.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a model is called for. The record has its name; a call for the turn itself has none there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Purpose {
    /// The turn itself: the next reply of the conversation.
    #[default]
    Turn,
    /// Write down what a conversation has agreed on. The reply is part of the conversation.
    Requirements,
    /// Find the path of a request.
    Route,
    /// Sum up the older part of the conversation.
    Summary,
    /// Repair the form of a damaged answer.
    Repair,
    /// Write the prompts of pictures.
    ImagePrompts,
    /// Break a request down into sub-tasks.
    Subtasks,
    /// Bring two changes of one file together.
    Merge,
    /// A call of the assistant for the user's tasks.
    Ask(AskPurpose),
    /// A purpose of a newer version, kept by name and treated like a turn.
    Other(String),
}

/// What the assistant for the user's tasks calls a model for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskPurpose {
    /// Find the path of the request.
    Route,
    /// Answer in text.
    Chat,
    /// Propose operations on tasks.
    Propose,
    /// Repair operations that cannot be applied.
    Repair,
    /// Sum up the operations for the user.
    Summary,
}

/// Every purpose that the record names.
const NAMES: &[(&str, Purpose)] = &[
    ("requirements", Purpose::Requirements),
    ("route", Purpose::Route),
    ("summary", Purpose::Summary),
    ("repair", Purpose::Repair),
    ("image.prompts", Purpose::ImagePrompts),
    ("subtasks", Purpose::Subtasks),
    ("merge", Purpose::Merge),
    ("ask.route", Purpose::Ask(AskPurpose::Route)),
    ("ask.chat", Purpose::Ask(AskPurpose::Chat)),
    ("ask.propose", Purpose::Ask(AskPurpose::Propose)),
    ("ask.repair", Purpose::Ask(AskPurpose::Repair)),
    ("ask.summary", Purpose::Ask(AskPurpose::Summary)),
];

impl Purpose {
    /// Its name in the record.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Turn => None,
            Self::Other(name) => Some(name),
            known => NAMES.iter().find(|(_, purpose)| purpose == known).map(|(name, _)| *name),
        }
    }

    /// Whether the call is for the turn itself.
    pub fn is_turn(&self) -> bool {
        *self == Self::Turn
    }

    /// Whether the reply becomes part of the conversation. The replies of all other calls are only used.
    pub fn is_conversation(&self) -> bool {
        matches!(self, Self::Turn | Self::Requirements | Self::Other(_))
    }
}

impl From<Option<String>> for Purpose {
    fn from(name: Option<String>) -> Self {
        let Some(name) = name else { return Self::Turn };
        match NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, purpose)) => purpose.clone(),
            None => Self::Other(name),
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("turn"))
    }
}

impl Serialize for Purpose {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Purpose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_reads_its_own_name_and_no_name_is_lost() {
        for (name, purpose) in NAMES {
            assert_eq!(purpose.name(), Some(*name));
            assert_eq!(Purpose::from(Some((*name).to_owned())), *purpose);
        }
        for text in [r#""later""#, r#""ask.route""#, "null"] {
            let purpose: Purpose = serde_json::from_str(text).expect("read");
            assert_eq!(serde_json::to_string(&purpose).expect("written"), text);
        }
    }
}
