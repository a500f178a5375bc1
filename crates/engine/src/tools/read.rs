//! Tools that read the folder.

use serde::Deserialize;
use trimtab_vocab::ReadOp;

use super::{BuiltInTool, FILES, ToolAction, arguments, number};

/// The default depth of a list.
const DEPTH: u32 = 2;
/// Lines around a match at most.
const MOST_CONTEXT: u64 = 10;

pub(super) const READ: BuiltInTool = BuiltInTool {
    name: "read_file",
    description: "Read a text file (with line numbers) or an image in the folder. Long files come in parts: continue with offset.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"first line, from 1"},"limit":{"type":"integer","description":"lines"}},"required":["path"]}"#,
    read_only: true,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct ReadFileArguments {
            path: String,
            #[serde(default, deserialize_with = "number")]
            offset: Option<u64>,
            #[serde(default, deserialize_with = "number")]
            limit: Option<u64>,
        }
        let ReadFileArguments { path, offset, limit } = arguments(input)?;
        Ok(ToolAction::Read(ReadOp::Read { path, offset, limit }))
    },
};

pub(super) const LIST: BuiltInTool = BuiltInTool {
    name: "list_files",
    description: "List a folder, without files that the project ignores.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer","description":"levels, default 2"}}}"#,
    read_only: true,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct ListFilesArguments {
            #[serde(default)]
            path: Option<String>,
            #[serde(default, deserialize_with = "number")]
            depth: Option<u64>,
        }
        let ListFilesArguments { path, depth } = arguments(input)?;
        let depth = depth.map_or(DEPTH, |depth| u32::try_from(depth.clamp(1, 20)).unwrap_or(DEPTH));
        Ok(ToolAction::Read(ReadOp::List { path: here(path), depth }))
    },
};

pub(super) const FIND: BuiltInTool = BuiltInTool {
    name: "find_files",
    description: "Find files by name, for example *.rs or src/**/test_*.py.",
    schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"folder to look in"}},"required":["pattern"]}"#,
    read_only: true,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct FindFilesArguments {
            pattern: String,
            #[serde(default)]
            path: Option<String>,
        }
        let FindFilesArguments { pattern, path } = arguments(input)?;
        Ok(ToolAction::Read(ReadOp::Glob { pattern, path: here(path) }))
    },
};

pub(super) const SEARCH: BuiltInTool = BuiltInTool {
    name: "search",
    description: "Find lines by a regular expression. Prefer this to reading whole files.",
    schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"file or folder"},"glob":{"type":"string","description":"only matching files, such as *.ts"},"ignore_case":{"type":"boolean"},"context":{"type":"integer","description":"lines around each match"}},"required":["pattern"]}"#,
    read_only: true,
    category: Some(FILES),
    read: |input| {
        #[derive(Deserialize)]
        struct SearchArguments {
            pattern: String,
            #[serde(default)]
            path: Option<String>,
            #[serde(default)]
            glob: Option<String>,
            #[serde(default)]
            ignore_case: bool,
            #[serde(default, deserialize_with = "number")]
            context: Option<u64>,
        }
        let SearchArguments { pattern, path, glob, ignore_case, context } = arguments(input)?;
        let context = u32::try_from(context.unwrap_or(0).min(MOST_CONTEXT)).unwrap_or(0);
        let glob = glob.filter(|glob| !glob.is_empty());
        Ok(ToolAction::Read(ReadOp::Search { pattern, path: here(path), glob, ignore_case, context }))
    },
};

fn here(path: Option<String>) -> String {
    path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".into())
}
