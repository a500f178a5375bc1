//! What a model found, and whether that is about the diff.

use serde_json::{Value, json};
use trimtab_vocab::{CheckedFindings, FindingSeverity, ReviewAnswer, ReviewFinding};

use super::diff::{ReviewDiff, ReviewFile};

/// The form of the answer. It has no limits on lengths, because not every provider takes them; the answer's own length is
/// limited.
pub fn answer_schema() -> Value {
    let severities = FindingSeverity::ALL.map(FindingSeverity::name);
    json!({
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string"},
                        "line": {"type": "integer"},
                        "severity": {"type": "string", "enum": severities},
                        "title": {"type": "string"},
                        "body": {"type": "string"}
                    },
                    "required": ["file", "line", "severity", "title", "body"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["summary", "findings"],
        "additionalProperties": false
    })
}

/// The answer of a model, which fits the schema; none if it does not.
pub fn read_answer(text: &str) -> Option<ReviewAnswer> {
    serde_json::from_str(text).ok()
}

/// Sorts findings by whether they are about a line of the diff, and by how serious they are.
pub fn check_findings(diff: &ReviewDiff, findings: Vec<ReviewFinding>) -> CheckedFindings {
    let mut checked = CheckedFindings::default();
    for mut finding in findings {
        match named(diff, &finding.file).filter(|file| file.has_line(finding.line)) {
            Some(file) => {
                finding.file.clone_from(&file.path);
                checked.findings.push(finding);
            }
            None => checked.not_in_diff.push(finding),
        }
    }
    let place = |finding: &ReviewFinding| diff.files.iter().position(|file| file.path == finding.file);
    for findings in [&mut checked.findings, &mut checked.not_in_diff] {
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), place(finding), finding.line));
    }
    checked
}

/// The file that a model means. Some put the prefixes of git before it.
fn named<'d>(diff: &'d ReviewDiff, path: &str) -> Option<&'d ReviewFile> {
    let path = path.trim().trim_start_matches("./");
    let without = || path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    diff.file(path).or_else(|| diff.file(without()?))
}

#[cfg(test)]
mod tests {
    use super::super::ReviewDiff;
    use super::*;
    use crate::proposal::json_schema::{schema_errors, schema_objection};

    const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,3 +10,4 @@
 one
-two
+2
+2b
 three
@@ -40,2 +41,0 @@
-gone
-gone too
diff --git a/old.rs b/old.rs
deleted file mode 100644
--- a/old.rs
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
";

    fn at(file: &str, line: u64, severity: FindingSeverity) -> ReviewFinding {
        ReviewFinding { file: file.into(), line, severity, title: format!("{file}:{line}"), body: String::new() }
    }

    #[test]
    fn only_findings_at_lines_of_a_hunk_count() {
        let diff = ReviewDiff::parse(DIFF);
        let is_in = |file: &str, line: u64| {
            let checked = check_findings(&diff, vec![at(file, line, FindingSeverity::Low)]);
            assert_eq!(checked.findings.len() + checked.not_in_diff.len(), 1, "nothing is dropped");
            checked.findings.len() == 1
        };
        for line in [10, 11, 12, 13, 41, 42] {
            assert!(is_in("src/a.rs", line), "{line}");
        }
        for line in [0, 9, 14, 40, 43, u64::MAX] {
            assert!(!is_in("src/a.rs", line), "{line}");
        }
        assert!(is_in("old.rs", 2) && !is_in("old.rs", 3), "a deleted file has its old lines");
        assert!(is_in("b/src/a.rs", 11) && is_in("./src/a.rs", 11) && !is_in("src/b.rs", 11) && !is_in("", 11));
    }

    #[test]
    fn the_most_serious_come_first_and_then_the_order_of_the_diff() {
        let diff = ReviewDiff::parse(DIFF);
        let found = vec![
            at("old.rs", 1, FindingSeverity::High),
            at("src/a.rs", 13, FindingSeverity::High),
            at("src/a.rs", 11, FindingSeverity::High),
            at("src/a.rs", 10, FindingSeverity::Critical),
        ];
        let titles: Vec<String> = check_findings(&diff, found).findings.into_iter().map(|found| found.title).collect();
        assert_eq!(titles, ["src/a.rs:10", "src/a.rs:11", "src/a.rs:13", "old.rs:1"]);
    }

    #[test]
    fn the_schema_can_be_checked_and_is_what_is_read() {
        let schema = answer_schema();
        assert_eq!(schema_objection(&schema), None);
        let answer = json!({"summary": "s", "findings": [
            {"file": "a", "line": 1, "severity": "critical", "title": "t", "body": "b"}]});
        assert!(schema_errors(&schema, &answer).is_empty());
        assert_eq!(
            read_answer(&answer.to_string()).expect("an answer").findings[0].severity,
            FindingSeverity::Critical
        );
        // A line before the first fits the schema and is not read: the review then counts as not done.
        assert_eq!(read_answer(&answer.to_string().replace(":1,", ":-1,")), None);
    }
}
