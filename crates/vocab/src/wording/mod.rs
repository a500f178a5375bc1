//! The catalog: every sentence that a decision puts before a person. Decisions name what they mean with an enum and its
//! data; the words stand beside the name, here and nowhere else.
//!
//! It is in this crate and not among the surfaces because facts carry these sentences: what the person was asked is
//! part of the log and of the wire. See `docs/decisions/0075-one-catalog.md`.

mod command;
mod network;
mod notice;
pub mod permission;
mod problem;
mod question;

pub use command::CommandReason;
pub use network::{NetworkNote, ProxyRefusal};
pub use notice::{Notice, Objection, StageLabel};
pub use permission::{PermissionLabel, PermissionReason, PermissionTitle, Refusal, RuleCoverage};
pub use problem::{OwnWords, ProblemText};
pub use question::{
    AnswerLabel, BreakdownNote, ContextFillWords, InstructionsState, ObstacleText, QuestionTitle, StrategyNote,
    SubtaskSummary,
};

/// An enum and its sentences, one row each. A field is named in the sentence.
macro_rules! sentences {
    ($(#[$about:meta])* pub enum $name:ident {
        $($variant:ident $(($($field:ident: $type:ty),+))? => $text:literal),+ $(,)?
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "each has its sentence beside it")]
        pub enum $name {
            $($variant $(($($type),+))?,)+
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant $(($($field),+))? => write!(f, $text),)+
                }
            }
        }

        impl From<$name> for String {
            fn from(named: $name) -> Self {
                named.to_string()
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}
use sentences;
