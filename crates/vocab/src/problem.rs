//! What went wrong, in a form that helps.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An error as a user meets it: what happened, what it means, what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Which sort of problem it is, for programs.
    pub kind: ProblemKind,
    /// What happened and what it means.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Available models with the most similar names, as `provider/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The command or request itself is wrong.
    Usage,
    /// A setting is wrong or unknown.
    Settings,
    /// A named item does not exist.
    NotFound,
    /// No key for the provider.
    NoKey,
    /// The provider refused the key.
    Auth,
    /// The provider refused the request.
    Refused,
    /// It refused it because the model cannot use tools, or its server was not set up for them.
    NoTools,
    /// The provider asks to wait.
    RateLimited,
    /// The provider is overloaded or failing.
    Overloaded,
    /// The server is still loading the model.
    Loading,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The provider timed out.
    Stalled,
    /// What the provider sent cannot be understood.
    Protocol,
    /// The reply was interrupted.
    Truncated,
    /// The model repeated itself without end, and the reply was stopped.
    Repetition,
    /// The program ended while the call was under way.
    Interrupted,
    /// The data folder cannot be used.
    Store,
    /// Another process holds a lock.
    Busy,
    /// A limit was reached.
    Limit,
    /// The request asked for an action, and the model did not take it.
    NotDone,
    /// A bug in Trimtab. The hint names where to report it.
    Internal,
    /// A kind from a newer version.
    #[serde(other)]
    Unknown,
}

impl Problem {
    /// A problem without a hint; add one with [`Problem::hint`] wherever there is something to do.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, nearest: Vec::new() }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_newer_version_is_read_as_unknown() {
        let problem: Problem = serde_json::from_str(r#"{"kind":"solar_flare","message":"hot"}"#).expect("parses");
        assert_eq!(problem.kind, ProblemKind::Unknown);
        assert_eq!(problem.hint, None);
    }
}
