//! A tolerant JSON reader for any schema: answers, task operations, tool arguments.
//!
//! Two readers take turns. `exact` reads what has one reading; where it stops, `guided` starts again and lets the
//! schema decide. `search` finds where to begin and chooses between several candidates, and `shape` fits the result
//! to the schema.

mod exact;
mod follow;
mod guided;
mod quotes;
mod repair;
mod schema;
mod search;
mod shape;
mod source;
mod tags;
mod text;
mod tree;

use serde_json::Value;

pub use repair::{NOT_CERTAIN, Repair};
pub use schema::{Care, Object, Schema};

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonReading {
    /// It, with the names of the schema, and nothing that is not certain.
    pub value: Value,
    pub repairs: Vec<Repair>,
    /// It ended before it was whole.
    pub truncated: bool,
    /// Its author left something out with dots.
    pub elided: bool,
    /// Fields of the root in which something was there that could not be kept.
    pub lost: Vec<String>,
    /// Where in the text it ends.
    pub end: usize,
}

/// There is nothing in the text that fits the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The text ends with something open that might have become it.
    pub truncated: bool,
}

/// Reads the thing that fits the schema best out of a text, the last of several.
pub fn read(text: &str, schema: &Schema) -> Result<JsonReading, NotFound> {
    read_bytes(text.as_bytes(), schema).0
}

/// Answers are shorter than this.
const LONG: usize = 32 * 1024;

/// Reads from any bytes; a text that is not UTF-8 is left out. The second says how much work it was.
pub(super) fn read_bytes(bytes: &[u8], schema: &Schema) -> (Result<JsonReading, NotFound>, u64) {
    // A constant number of passes over the text; fewer over one that is longer than answers are.
    let fuel = bytes.len().min(LONG) * 8 + bytes.len().saturating_sub(LONG) * 2 + 4096;
    let outcome = search::search(bytes, schema, 0, fuel);
    let reading = match outcome.find {
        None => Err(NotFound { truncated: outcome.open_end }),
        Some(find) => Ok(JsonReading {
            value: find.value,
            repairs: find.notes.repairs,
            truncated: !find.closed || outcome.open_end || find.says_cut,
            elided: find.elided,
            lost: find.lost,
            end: find.end,
        }),
    };
    (reading, outcome.steps)
}
