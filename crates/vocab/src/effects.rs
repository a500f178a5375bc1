//! What a command did to the files of its folder, as far as it was seen.

use serde::{Deserialize, Serialize};

use crate::FileWrite;

/// The limits of the snapshot before a command, which makes its changes visible and undoable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotLimits {
    /// Maximum number of files. A folder with more gets no snapshot.
    pub files: u32,
    /// Bytes of files that are newly kept, at most.
    pub bytes: u64,
    /// The command runs without approval: it starts only if undo covers everything that it can change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// What a command did to files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FileEffects {
    /// What can be undone: both states of each file are stored.
    pub writes: Vec<FileWrite>,
    /// The change of each that is shown, for people: a unified diff. As many as `writes`; empty: it is not shown.
    pub diffs: Vec<String>,
    /// What changed and cannot be undone, the first of them.
    pub unkept: Vec<Unkept>,
    /// How many more changed and cannot be undone.
    pub more: u64,
    /// Nothing was noted, and why.
    pub unobserved: Option<Unobserved>,
}

impl FileEffects {
    /// Nothing could be seen.
    pub fn unobserved(why: Unobserved) -> Self {
        Self { unobserved: Some(why), ..Self::default() }
    }
}

/// A file that changed and cannot be put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unkept {
    /// Relative to the folder.
    pub path: String,
    /// Why it was not kept.
    pub why: WhyUnkept,
}

/// Why a file was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhyUnkept {
    /// It is larger than a file that is kept.
    Large,
    /// The snapshot reached its size limit.
    Full,
    /// It could not be read.
    Unreadable,
    /// Its name is not valid text.
    Name,
    /// The name suggests keys or passwords, which are never copied.
    Secret,
    /// It might have existed before, hidden by ignore rules that have changed since.
    Ignored,
    /// It has another name, a hard link, outside of the folder.
    Linked,
    /// A build makes it again.
    Rebuildable,
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

impl WhyUnkept {
    /// The reason in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Large => "too large to store",
            Self::Full => "above the limit of a snapshot",
            Self::Unreadable => "cannot be read",
            Self::Name => "its name is not valid text",
            Self::Secret => "secrets are not copied",
            Self::Ignored => "was ignored before",
            Self::Linked => "has a hard link outside the folder",
            Self::Rebuildable => "rebuilt by the next build",
            Self::Unknown => "not kept",
        }
    }
}

/// Why the file changes of a command are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unobserved {
    /// The folder has more files than are noted.
    TooManyFiles,
    /// The folder could not be gone through.
    Unreadable,
    /// Going through the folder timed out.
    TooSlow,
    /// The program ended before it had noted how the files were.
    NotNoted,
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

impl Unobserved {
    /// The reason in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::TooManyFiles => "the folder has more files than history.snapshot_files",
            Self::Unreadable => "the folder could not be scanned",
            Self::TooSlow => "scanning the folder timed out",
            Self::NotNoted => "there was no snapshot before it started",
            Self::Unknown => "for a reason of a newer version",
        }
    }
}
