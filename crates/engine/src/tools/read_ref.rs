//! Reads stored texts that were too large to send.

use serde::Deserialize;
use trimtab_vocab::RefKey;

use super::{BuiltInTool, ToolAction, arguments, number};

pub(super) const READ_REF: BuiltInTool = BuiltInTool {
    name: "read_ref",
    description: "Read a stored text by its ref:KEY, in parts. Continue with offset.",
    schema: r#"{"type":"object","properties":{"key":{"type":"string"},"offset":{"type":"integer","description":"first byte"}},"required":["key"]}"#,
    read_only: true,
    category: None,
    read: |input| {
        #[derive(Deserialize)]
        struct ReadRefArguments {
            key: String,
            #[serde(default, deserialize_with = "number")]
            offset: Option<u64>,
        }
        let ReadRefArguments { key, offset } = arguments(input)?;
        let key: RefKey =
            key.trim().trim_start_matches("ref:").parse().map_err(|_| format!("`{key}` is not a ref."))?;
        Ok(ToolAction::Stored { key, offset: usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX) })
    },
};
