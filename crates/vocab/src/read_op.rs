//! Looking: what can be asked of the world that changes nothing.

use serde::{Deserialize, Serialize};

use crate::event::ToolStatus;

/// A file of a folder that is read as instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionFile {
    /// As it is named, relative to the folder.
    pub path: String,
    /// The hash of its bytes: BLAKE3, in hex.
    pub hash: String,
    /// What it says.
    pub text: String,
    /// It is the user's own, and not a folder's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// Something to look at. Paths are relative to the session's folder, or absolute within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum ReadOp {
    /// Lines of a file, or a picture.
    Read {
        /// The file.
        path: String,
        /// The first line, from 1; absent: the first.
        #[serde(default)]
        offset: Option<u64>,
        /// How many lines; absent: as many as fit.
        #[serde(default)]
        limit: Option<u64>,
    },
    /// What is in a folder.
    List {
        /// The folder.
        path: String,
        /// How many levels down, from 1.
        depth: u32,
    },
    /// Files by name.
    Glob {
        /// `src/**/*.rs` and the like.
        pattern: String,
        /// The folder to look in.
        path: String,
    },
    /// Lines by content.
    Search {
        /// A regular expression.
        pattern: String,
        /// The file or folder to look in.
        path: String,
        /// Only files with such names.
        #[serde(default)]
        glob: Option<String>,
        /// Whether upper and lower case count as the same.
        #[serde(default)]
        ignore_case: bool,
        /// Lines to show around each match.
        #[serde(default)]
        context: u32,
    },
    /// A page of the web.
    Fetch {
        /// Its address.
        url: String,
    },
    /// Pages that a search service finds.
    WebSearch {
        /// What is looked for.
        query: String,
    },
}

impl ReadOp {
    /// The file or folder that it looks at; none: it looks at the web.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path, .. } | Self::List { path, .. } | Self::Glob { path, .. } | Self::Search { path, .. } => {
                Some(path)
            }
            Self::Fetch { .. } | Self::WebSearch { .. } => None,
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    /// How it went: ok, partial when there is more to see, or error.
    pub status: ToolStatus,
    /// What the model reads.
    pub text: String,
    /// Pictures, each with its media type and its bytes in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<(String, String)>,
    /// Files whose content was seen, as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileMark>,
}

/// A file as it was when it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMark {
    /// Relative to the session's folder, `/` between its parts.
    pub path: String,
    /// The hash of its bytes: BLAKE3, in hex.
    pub hash: String,
}
