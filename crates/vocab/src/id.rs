//! Ids as newtypes, so that a call can never be handed where a session belongs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that cannot be an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    /// What the id was meant to name, as a person would say it.
    pub what: &'static str,
    /// The text that was refused.
    pub text: String,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {} id", self.text.escape_debug(), self.what)
    }
}

impl std::error::Error for BadId {}

/// Ids end up in file names, URLs and terminal output: letters, digits and `-_.` are enough.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 96
        && !text.starts_with(['-', '.'])
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}$")))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                if is_plain(&text) { Ok(Self(text)) } else { Err(BadId { what: $what, text }) }
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// One conversation with its log.
    SessionId, "session";
    /// ID of a request.
    RequestId, "request";
    /// One call of a model or a tool; unique within its session.
    CallId, "call";
    /// ID of a question, an approval prompt, or a plan that waits for an answer.
    CheckpointId, "checkpoint";
    /// Changes that a model would like to make.
    ProposalId, "proposal";
    /// Changes that were made together.
    ChangeSetId, "change set";
    /// A further document of a session.
    ExtensionId, "extension";
    /// A place in the gallery of a session's images.
    ImageId, "picture";
    /// A wait that the engine asked for.
    TimerId, "timer";
    /// ID of a memory.
    MemoryId, "memory";
    /// A background command of a session.
    BackgroundId, "background command";
    /// Key of a stored text, written as `ref:KEY`.
    RefKey, "ref";
}

impl CallId {
    /// The `n`th call of a session. Derived, not random: replay must reach the same ids.
    pub fn nth(n: u64) -> Self {
        Self(format!("c{n}"))
    }
}

impl CallId {
    /// The move of a session's change history; there is one at a time.
    pub fn history() -> Self {
        Self("history".into())
    }

    /// The `n`th run of a hook in a session, from 1.
    pub fn hook(n: u64) -> Self {
        Self(format!("h{n}"))
    }

    /// The `n`th tool that the reply to a model call asks for, from 1.
    pub fn tool(of: &CallId, n: usize) -> Self {
        Self(format!("{of}t{n}"))
    }
}

impl BackgroundId {
    /// The `n`th background command of a session, from 1.
    pub fn nth(n: usize) -> Self {
        Self(format!("b{n}"))
    }
}

/// How the sessions of workers begin.
const WORKER: &str = "s-w";

impl SessionId {
    /// The session that the `n`th handoff of this one makes. Derived, not random: replay must reach the same
    /// ids. Not built from the parent's name, which would grow with each generation.
    #[must_use]
    pub fn child_of(parent: &SessionId, n: u32) -> Self {
        // FNV-1a; whoever could choose ids could as well make the session.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let bytes = [parent.0.as_bytes(), &n.to_be_bytes()].concat();
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix);
        Self(format!("s-h{hash:016x}"))
    }

    /// The session of the `n`th worker that this one starts. Derived like a child's.
    #[must_use]
    pub fn worker_of(parent: &SessionId, n: u32) -> Self {
        let child = Self::child_of(parent, n);
        Self(child.0.replacen("s-h", WORKER, 1))
    }

    /// Whether it is the session of a worker.
    pub fn is_worker(&self) -> bool {
        self.0.starts_with(WORKER)
    }
}

impl ExtensionId {
    /// The `n`th further document of a session, from 1.
    pub fn nth(session: &SessionId, n: u32) -> Self {
        Self(format!("{session}-e{n}"))
    }
}

impl ProposalId {
    /// What a tool call would change.
    pub fn for_call(request: &RequestId, call: &CallId) -> Self {
        Self(format!("{request}-p-{call}"))
    }
}

impl ChangeSetId {
    /// What a tool call changed.
    pub fn for_call(request: &RequestId, call: &CallId) -> Self {
        Self(format!("{request}-x-{call}"))
    }

    /// Which set of a session that takes back a part of another one it is, if it is one.
    pub fn undo_number(&self) -> Option<u64> {
        self.0.rsplit_once("-u")?.1.parse().ok()
    }

    /// The `n`th set of a session that takes back a part of another one. However often parts of parts are
    /// taken back, the name stays short.
    pub fn undo_of(set: &ChangeSetId, n: u64) -> Self {
        let root = match set.0.rsplit_once("-u") {
            Some((root, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => root,
            _ => &set.0,
        };
        Self(format!("{root}-u{n}"))
    }
}

impl RequestId {
    /// The request of a worker.
    pub fn of_worker(worker: &SessionId) -> Self {
        Self(format!("r-{worker}"))
    }
}

impl CheckpointId {
    /// The `n`th checkpoint of a request. Known across sessions, so that a person can answer with it.
    pub fn nth(request: &RequestId, n: u32) -> Self {
        Self(format!("{request}-k{n}"))
    }
}

impl MemoryId {
    /// The `n`th lasting thing that was said with a request, from 1.
    pub fn nth(request: &RequestId, n: usize) -> Self {
        Self(format!("{request}-m{n}"))
    }
}

impl ImageId {
    /// The `n`th picture of a call that ended then. Derived, not random: replay must reach the same ids.
    pub fn at(millis: i64, request: &RequestId, call: &CallId, n: usize) -> Self {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = format!("{request} {call} {n}").bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        Self(format!("img-{}-{:06x}", millis.max(0), (hash ^ (hash >> 32)) & 0xff_ffff))
    }
}

impl TimerId {
    /// The timer that the `n`th call waits for before it is tried again.
    pub fn before_call(n: u64) -> Self {
        Self(format!("t{n}"))
    }
}

impl RefKey {
    /// The key under which the input of a request is archived when it is too large to send.
    pub fn input_of(request: &RequestId) -> Self {
        Self(format!("input-{request}"))
    }

    /// Whether it names what a person said.
    pub fn is_input(&self) -> bool {
        self.0.starts_with("input-")
    }

    /// The key under which that is archived which a pill made of a request, when it is too large to send.
    pub fn pill_of(request: &RequestId) -> Self {
        Self(format!("pill-{request}"))
    }

    /// The key of what tells a message that is sent again from another one.
    pub fn print_of(request: &RequestId) -> Self {
        Self(format!("print-{request}"))
    }

    /// The key of the `n`th picture of a request.
    pub fn image_of(request: &RequestId, n: usize) -> Self {
        Self(format!("image-{request}-{n}"))
    }

    /// The key of the bytes of the `n`th picture that a call has made.
    pub fn picture_of(request: &RequestId, call: &CallId, n: usize) -> Self {
        Self(format!("picture-{request}-{call}-{n}"))
    }

    /// Whether it names the bytes of a picture that was made.
    pub fn is_picture(&self) -> bool {
        self.0.starts_with("picture-")
    }

    /// The key of what the workers of a session share.
    pub fn shared_by(session: &SessionId) -> Self {
        Self(format!("shared-{session}"))
    }

    /// The key of a tool's result that is too large to send.
    pub fn result_of(request: &RequestId, call: &CallId) -> Self {
        Self(format!("result-{request}-{call}"))
    }

    /// The key of all that a command wrote.
    pub fn output_of(request: &RequestId, call: &CallId) -> Self {
        Self(format!("output-{request}-{call}"))
    }

    /// Whether it names what a command wrote: bytes, which may be no text.
    pub fn is_output(&self) -> bool {
        self.0.starts_with("output-")
    }

    /// The key of the `n`th picture that a tool saw.
    pub fn seen_by(request: &RequestId, call: &CallId, n: usize) -> Self {
        Self(format!("seen-{request}-{call}-{n}"))
    }

    /// The key of what a request's steps have come to so far.
    pub fn ledger_of(request: &RequestId) -> Self {
        Self(format!("run_step_ledger-{request}"))
    }

    /// The key of the `n`th part of a conversation that was made a summary.
    pub fn context_of(request: &RequestId, n: u32) -> Self {
        Self(format!("context-{request}-{n}"))
    }

    /// The key of the texts that the `n`th call of a session was sent parts of, because its window is full.
    pub fn clipped_of(request: &RequestId, call: u64) -> Self {
        Self(format!("clipped-{request}-{call}"))
    }

    /// The key of a file's bytes, which a session has read or written.
    pub fn file_of(session: &SessionId, hash: &str) -> Self {
        Self(format!("file-{session}-{}", Self::short(hash)))
    }

    /// As much of a file's hash as its key has.
    pub fn short(hash: &str) -> &str {
        &hash[..hash.floor_char_boundary(32)]
    }

    /// The key of what a change set made of the files, as a unified diff.
    pub fn diff_of(change_set: &ChangeSetId) -> Self {
        Self(format!("diff-{change_set}"))
    }

    /// The key of how the files of a session's folder were before its last command.
    pub fn snapshot_of(session: &SessionId) -> Self {
        Self(format!("snapshot-{session}"))
    }

    /// The key of which command that was.
    pub fn watched_in(session: &SessionId) -> Self {
        Self(format!("watched-{session}"))
    }

    /// The key of how the files of a folder were before a background command, which outlasts other commands.
    pub fn background_snapshot_of(session: &SessionId, call: &CallId) -> Self {
        Self(format!("background-snapshot-{session}-{call}"))
    }

    /// The key of the last write before it that any session had announced; empty once its end is recorded.
    pub fn background_note_of(session: &SessionId, call: &CallId) -> Self {
        Self(format!("background-note-{session}-{call}"))
    }

    /// The key of the raw text of a model's reply.
    pub fn reply_of(session: &SessionId, call: &CallId) -> Self {
        Self(format!("reply-{session}-{call}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_refused_when_it_could_be_a_path_or_an_option() {
        for bad in ["", "../x", "a/b", "a b", "-rf", ".hidden", "é", "a\n", &"x".repeat(97)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
        assert_eq!("s01-a_b.c".parse::<SessionId>().map(String::from), Ok("s01-a_b.c".into()));
    }

    #[test]
    fn a_bad_id_on_the_wire_names_what_was_meant() {
        let error = serde_json::from_str::<RequestId>("\"a b\"").expect_err("refused");
        assert!(error.to_string().contains("`a b` is not a request id"), "{error}");
    }
}
