//! The schema of an answer, and the signs in an answer that it was cut.

use std::sync::LazyLock;

use serde_json::Value;

use super::json::{Object, Schema};

/// What a model is asked to answer with.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let code = Object::new()
        .field("language", Schema::words())
        .field("code", Schema::verbatim())
        .needs(&["code"])
        .plain(&["code"]);
    let section = Object::new()
        .field("heading", Schema::words())
        .field("content", Schema::words())
        .field("codeBlocks", Schema::list(code))
        .needs(&["heading", "content", "codeBlocks"])
        .plain(&["content"]);
    let todo = Object::new()
        .field("text", Schema::words())
        .field("completed", Schema::Truth)
        .needs(&["text"])
        .plain(&["text"]);
    // A change that lost a part would be another change.
    let change = Object::new()
        .field("path", Schema::verbatim())
        .field("content", Schema::verbatim())
        .field("diff", Schema::verbatim())
        .field("delete", Schema::Truth)
        .needs(&["path"])
        .needs(&["content", "diff", "delete"])
        .whole();
    let command = Object::new()
        .field("command", Schema::verbatim())
        .field("description", Schema::words())
        .needs(&["command"])
        .plain(&["command"]);
    let step = Object::new()
        .field("html", Schema::words())
        .field("inputText", Schema::words())
        .needs(&["html", "inputText"])
        .plain(&["html", "inputText"]);
    Schema::Object(
        Object::new()
            .field("summary", Schema::words())
            .field("sections", Schema::list(section))
            .field("todos", Schema::list(todo))
            .field("fileChanges", Schema::list(change))
            .field("commands", Schema::list(command))
            .field("nextSteps", Schema::list(step)),
    )
});

/// A documented sign: the summary speaks of truncation.
pub(super) fn summary_says_cut(answer: &Value) -> bool {
    let summary = answer.get("summary").and_then(Value::as_str).unwrap_or_default();
    summary.to_lowercase().contains("truncated")
}

/// Text after an answer that says that it continues, or would have.
///
/// Whole phrases only, because an answer may be followed by talk about truncated log files.
pub(super) fn tail_says_cut(tail: &[u8]) -> bool {
    const LONGEST: usize = 4096;
    const PHRASES: &[&str] = &[
        "[truncated",
        "(truncated",
        "<truncated",
        "...truncated",
        "... truncated",
        "\u{2026}truncated",
        "\u{2026} truncated",
        "response truncated",
        "response was truncated",
        "output truncated",
        "output was truncated",
        "answer truncated",
        "answer was truncated",
        "was cut off",
        "got cut off",
        "been cut off",
        "[cut off",
        "max_tokens",
        "token limit",
        "length limit",
        "maximum length",
        "to be continued",
        "[continued",
    ];
    let tail = &tail[..tail.len().min(LONGEST)];
    let words = String::from_utf8_lossy(tail).to_lowercase();
    PHRASES.iter().any(|phrase| words.contains(phrase))
}
