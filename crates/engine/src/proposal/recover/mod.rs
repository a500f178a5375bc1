//! Recovers damaged answers: certain parts are returned exactly, and the rest is left out.
//!
//! [`recover`] reads a model's structured answer from any bytes. It invents no field and reports every repair. It
//! reports when an answer was cut, and then none of its file changes may be applied, because a cut change cannot be
//! told from a complete one. The work is linear in the input, and the stack does not grow with it.
//!
//! [`mod@json`] does not know answers and reads other schemas as well.

mod answer;
pub mod json;
#[cfg(test)]
mod tests;
pub mod verify_repair;

use serde_json::{Map, Value, json};
use trimtab_vocab::{Answer, StopReason};

/// What is known from the transport or the provider about the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyStop {
    /// The model finished.
    Complete,
    /// The output limit cut it.
    MaxTokens,
    /// The connection ended before the reply did.
    Cut,
    /// Nothing is known.
    #[default]
    Unknown,
}

impl From<&StopReason> for ReplyStop {
    fn from(reason: &StopReason) -> Self {
        match reason {
            StopReason::MaxTokens => Self::MaxTokens,
            StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse => Self::Complete,
            StopReason::ContentFiltered | StopReason::GuardrailIntervened => Self::Cut,
            StopReason::Other(_) => Self::Unknown,
        }
    }
}

/// An answer, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recovered {
    pub answer: Answer,
    /// The literal answer: only the fields that were there.
    pub said: Map<String, Value>,
    /// Whether there is one. Without one the text itself is the reply.
    pub found: bool,
    /// It ended before it was whole.
    pub truncated: bool,
    /// No file change of it may be applied: it was cut, or a change of the set could not be read.
    pub blocked: bool,
    /// Fields in which something was there that could not be kept.
    pub lost: Vec<String>,
    /// The model left something out with dots, which cannot be restored.
    pub elided: bool,
    /// Its next steps were plain texts, as they once were.
    pub plain_steps: bool,
    /// The repairs that were needed.
    pub repairs: Vec<String>,
    /// A model repaired it, or the rules had to guess where a text of it ends.
    pub is_guessed: bool,
}

impl Recovered {
    /// As `trimtab recover` prints it.
    pub fn report(&self) -> Value {
        json!({
            "answer": self.said,
            "truncated": self.truncated,
            "blocked": self.blocked,
            "repairs": self.repairs,
        })
    }
}

/// Reads an answer out of any bytes.
pub fn recover(bytes: &[u8], stop: ReplyStop) -> Recovered {
    counted(bytes, stop).0
}

/// Whether a reply that changes files is suspiciously short, if the user has chosen the strict setting.
///
/// It is a documented sign of truncation, but not sufficient: a complete answer that deletes one file is shorter, and
/// its last bracket proves it complete.
pub fn suspiciously_short(bytes: &[u8], answer: &Answer) -> bool {
    const SHORT: usize = 200;
    !answer.file_changes.is_empty() && String::from_utf8_lossy(bytes).trim().chars().count() < SHORT
}

fn counted(bytes: &[u8], stop: ReplyStop) -> (Recovered, u64) {
    let wide = from_utf16(bytes);
    let bytes = wide.as_deref().unwrap_or(bytes);
    let stopped = matches!(stop, ReplyStop::MaxTokens | ReplyStop::Cut);
    let (reading, steps) = json::read_bytes(bytes, &answer::SCHEMA);
    let reading = match reading {
        Ok(reading) => reading,
        Err(nothing) => {
            let truncated = stopped || nothing.truncated;
            return (Recovered { truncated, blocked: truncated, ..Recovered::default() }, steps);
        }
    };
    let truncated = stopped
        || reading.truncated
        || answer::summary_says_cut(&reading.value)
        || answer::tail_says_cut(bytes.get(reading.end..).unwrap_or_default());
    // One change that could not be read refuses the set, as one that cannot be applied does.
    let lost_change = reading.lost.iter().any(|field| field == "fileChanges");
    let answer = serde_json::from_value(reading.value.clone()).unwrap_or_default();
    let said = match reading.value {
        Value::Object(said) => said,
        _ => Map::new(),
    };
    let recovered = Recovered {
        answer,
        found: !said.is_empty(),
        said,
        truncated,
        blocked: truncated || lost_change || reading.elided,
        lost: reading.lost,
        elided: reading.elided,
        plain_steps: reading.repairs.contains(&json::Repair::Plain { field: "nextSteps".into() }),
        repairs: reading.repairs.iter().map(ToString::to_string).collect(),
        is_guessed: reading.repairs.iter().any(json::Repair::is_guess),
    };
    (recovered, steps)
}

/// Decodes UTF-16 if there is a byte order mark. A broken pair becomes invalid bytes, so that its string is left out
/// like any other invalid one.
fn from_utf16(bytes: &[u8]) -> Option<Vec<u8>> {
    let read: fn([u8; 2]) -> u16 = match bytes.get(..2)? {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    let mut out = Vec::with_capacity(bytes.len());
    for c in char::decode_utf16(units) {
        match c {
            Ok(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(_) => out.push(0xff),
        }
    }
    Some(out)
}
