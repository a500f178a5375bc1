//! What came of operations: checked, tried on copies, applied.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{Operation, Task, TaskId};
use crate::ChangeSetId;

/// A proposed operation: a readable one, or the text that was sent instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Proposed {
    /// A well-formed operation. It can still be rejected.
    Read(Box<Operation>),
    /// It has not; kept unchanged.
    Unread(Map<String, Value>),
}

impl Proposed {
    /// The operation, if it is one.
    pub fn operation(&self) -> Option<&Operation> {
        match self {
            Self::Read(operation) => Some(operation),
            Self::Unread(_) => None,
        }
    }
}

/// Read back, it says exactly what was written: a condition that is not understood must not be left out, because
/// without it an operation that was refused would look like one on every task.
impl<'de> Deserialize<'de> for Proposed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::Object(Map::deserialize(deserializer)?);
        let read = Operation::deserialize(&written).ok();
        let is_all = |operation: &Operation| serde_json::to_value(operation).is_ok_and(|all| all == written);
        match (read.filter(is_all), written) {
            (Some(operation), _) => Ok(operation.into()),
            (None, Value::Object(fields)) => Ok(Self::Unread(fields)),
            (None, _) => Err(serde::de::Error::custom("an operation is an object")),
        }
    }
}

impl From<Operation> for Proposed {
    fn from(operation: Operation) -> Self {
        Self::Read(Box::new(operation))
    }
}

/// An operation with its errors. Each error is a code for programs and, after a colon, the expected value:
/// `invalid_priority: use low, medium or high`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Annotated {
    /// The operation, in its normal form.
    pub op: Proposed,
    /// The errors. Empty: the operation can be applied.
    pub errors: Vec<String>,
}

impl Annotated {
    /// The operation, if nothing is wrong about it.
    pub fn valid(&self) -> Option<&Operation> {
        self.op.operation().filter(|_| self.errors.is_empty())
    }
}

/// What a check of a whole proposal found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Validation {
    /// `invalid_body`, `missing_operations` or `invalid_operations`; nothing: all may be applied.
    pub errors: Vec<String>,
    /// The operations with their errors.
    pub results: Vec<Annotated>,
}

/// How many tasks operations touch, by what they do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskCounts {
    /// Made.
    pub created: u64,
    /// Changed.
    pub updated: u64,
    /// Removed.
    pub deleted: u64,
    /// Number of tasks marked as done or not done.
    pub completed: u64,
}

/// The result of one applied operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperationResult {
    /// Whether it was done.
    pub ok: bool,
    /// The operation.
    pub op: Proposed,
    /// The task as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<Task>,
    /// How many tasks a bulk operation touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expanded_ids: Option<Vec<TaskId>>,
    /// Why it was not done: `not_found`, `not_repeating`, `invalid_op`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The result of applied operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The result of each operation.
    pub results: Vec<OperationResult>,
    /// The result of all operations.
    pub summary: TaskCounts,
    /// The change set that undoes all of it. None if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_set: Option<ChangeSetId>,
}

/// One task as a change set found and left it. None: it was not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskWrite {
    /// Its number.
    pub id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Task>,
    /// After the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Task>,
}

/// What operations would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DryRun {
    /// What each would do.
    pub results: Vec<Previewed>,
    /// What the operations would do.
    pub summary: TaskCounts,
    /// The warnings that the user must confirm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What one operation would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Previewed {
    /// The operation, in its normal form.
    pub op: Proposed,
    /// Whether it can be applied.
    pub valid: bool,
    /// Why not.
    pub errors: Vec<String>,
    /// What it would make of the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
}

/// A task before and after an operation; of a bulk operation, how many it would touch and some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Task>,
    /// After the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Task>,
    /// How many a bulk operation would touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Ten of them at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_ids: Option<Vec<TaskId>>,
}

/// Above these numbers, the user must confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskLimits {
    pub deletes: u64,
    /// Tasks that bulk updates change.
    pub updates: u64,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self { deletes: 20, updates: 50 }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_that_was_refused_is_read_back_with_all_that_it_said() {
        for op in [
            json!({"op": "bulk_delete", "where": {"status": "done"}}),
            json!({"op": "update", "id": 3, "due": "friday", "title": "x"}),
            json!({"op": "fly"}),
            json!({"title": "no name"}),
        ] {
            let read: Proposed = serde_json::from_value(op.clone()).expect("reads");
            assert_eq!((read.operation(), json!(read)), (None, op));
        }
        for op in [
            json!({"op": "bulk_delete", "where": {"priority": "low"}}),
            json!({"op": "update", "id": 3, "scheduledFor": null}),
            json!({"op": "create", "title": "x", "recurrence": {"type": "daily", "until": null}}),
        ] {
            let read: Proposed = serde_json::from_value(op.clone()).expect("reads");
            assert_eq!((read.operation().is_some(), json!(read)), (true, op));
        }
        assert!(serde_json::from_value::<Proposed>(json!(7)).is_err());
    }
}
