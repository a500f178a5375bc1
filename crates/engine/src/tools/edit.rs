//! Tools that change files. Each change is a proposal until it is approved.

use serde::Deserialize;

use super::{BuiltInTool, FILES, ToolAction, arguments};
use crate::proposal::ProposedChange;
use crate::proposal::edit::{Edit, SearchReplace};

pub(super) const EDIT: BuiltInTool = BuiltInTool {
    name: "edit_file",
    description: "Replace lines of a file. Each search must be whole lines that occur exactly once, as in the file and without the line numbers that read_file shows; a part of one line is accepted if it has at least 8 characters and occurs once. Blocks apply in order, all or none.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"blocks":{"type":"array","items":{"type":"object","properties":{"search":{"type":"string"},"replace":{"type":"string"}},"required":["search","replace"]}}},"required":["path","blocks"]}"#,
    read_only: false,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct EditFileArguments {
            path: String,
            blocks: Vec<SearchReplace>,
        }
        let EditFileArguments { path, blocks } = arguments(input)?;
        if blocks.is_empty() {
            return Err("edit_file needs at least one block with search and replace.".to_owned());
        }
        Ok(ToolAction::Change(ProposedChange::Edit(Edit::SearchReplace { path, blocks })))
    },
};

pub(super) const DIFF: BuiltInTool = BuiltInTool {
    name: "apply_diff",
    description: "Change files by a unified diff or a Codex patch (*** Begin Patch), all or none; path is one of its files. Context lines must be exact; line numbers may be wrong; text after @@ must be a line of the file above the hunk.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"diff":{"type":"string"}},"required":["path","diff"]}"#,
    read_only: false,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct ApplyDiffArguments {
            path: String,
            diff: String,
        }
        let ApplyDiffArguments { path, diff } = arguments(input)?;
        Ok(ToolAction::Change(ProposedChange::Edit(Edit::UnifiedDiff { path, diff })))
    },
};

pub(super) const WRITE: BuiltInTool = BuiltInTool {
    name: "write_file",
    description: "Create a file, or replace the complete content of a file that you have read.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
    read_only: false,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct WriteFileArguments {
            path: String,
            content: String,
        }
        let WriteFileArguments { path, content } = arguments(input)?;
        Ok(ToolAction::Change(ProposedChange::Edit(Edit::WholeFile { path, content })))
    },
};

pub(super) const DELETE: BuiltInTool = BuiltInTool {
    name: "delete_file",
    description: "Delete a file. Asks the user first.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
    read_only: false,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct DeleteFileArguments {
            path: String,
        }
        let DeleteFileArguments { path } = arguments(input)?;
        Ok(ToolAction::Change(ProposedChange::Delete { path }))
    },
};

pub(super) const MOVE: BuiltInTool = BuiltInTool {
    name: "move_file",
    description: "Move or rename a file. The new path must not exist yet.",
    schema: r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}},"required":["from","to"]}"#,
    read_only: false,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct MoveFileArguments {
            from: String,
            to: String,
        }
        let MoveFileArguments { from, to } = arguments(input)?;
        Ok(ToolAction::Change(ProposedChange::Move { from, to }))
    },
};
