//! A review as SARIF 2.1.0, the format that code scanning reads.

use serde_json::{Value, json};
use trimtab_host::ReviewSubject;
use trimtab_vocab::{CheckedFindings, FindingSeverity, ReviewFinding, UnreviewedFile};

use super::report::reason;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The report. A finding outside the diff is a note of the run instead of a result, so that it is not lost.
pub(super) fn document(
    subject: &ReviewSubject,
    summary: &str,
    checked: &CheckedFindings,
    left_out: &[UnreviewedFile],
) -> Value {
    let results: Vec<Value> = checked.findings.iter().map(|finding| result(subject, finding)).collect();
    let outside = checked.not_in_diff.iter().map(|finding| {
        let ReviewFinding { file, line, severity, title, body } = finding;
        notification(&format!("Not in the diff: {file}:{line}: {}: {title}\n\n{body}", severity.name()))
    });
    let unseen = left_out
        .iter()
        .map(|unseen| notification(&format!("Not reviewed: {} ({}).", unseen.file, reason(unseen.reason))));
    let notes: Vec<Value> = std::iter::once(notification(summary)).chain(outside).chain(unseen).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Trimtab",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": FindingSeverity::ALL.map(rule),
            }},
            "automationDetails": {"id": "trimtab-review/"},
            "invocations": [{"executionSuccessful": true, "toolExecutionNotifications": notes}],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }]
    })
}

fn notification(text: &str) -> Value {
    json!({"level": "note", "message": {"text": text}})
}

fn rule_id(severity: FindingSeverity) -> String {
    format!("review/{}", severity.name())
}

fn level(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Critical | FindingSeverity::High => "error",
        FindingSeverity::Medium => "warning",
        FindingSeverity::Low => "note",
    }
}

fn rule(severity: FindingSeverity) -> Value {
    let help = match severity {
        FindingSeverity::Critical => "Lost data, a security hole, or a build that fails.",
        FindingSeverity::High => "Wrong in ordinary use.",
        FindingSeverity::Medium => "Wrong in unusual cases.",
        FindingSeverity::Low => "Worth a remark.",
    };
    json!({
        "id": rule_id(severity),
        "shortDescription": {"text": format!("Review finding: {}", severity.name())},
        "fullDescription": {"text": help},
        "help": {"text": help},
        "defaultConfiguration": {"level": level(severity)},
    })
}

fn result(subject: &ReviewSubject, finding: &ReviewFinding) -> Value {
    let ReviewFinding { file, line, severity, title, body } = finding;
    let text = if body.trim().is_empty() { title.clone() } else { format!("{title}\n\n{body}") };
    let mut place = json!({"artifactLocation": {"uri": uri(&format!("{}{file}", subject.prefix))}});
    // The lines of a deleted file are not there any more.
    if !subject.is_about_deleted(finding) {
        place["region"] = json!({"startLine": (*line).max(1)});
    }
    json!({
        "ruleId": rule_id(*severity),
        "ruleIndex": FindingSeverity::ALL.iter().position(|known| known == severity),
        "level": level(*severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "properties": {"severity": severity.name(), "line": line},
    })
}

/// A path as a relative reference: a first part with a colon would be a scheme, and everything unusual is escaped.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::UnreviewedReason;

    use super::*;

    #[test]
    fn a_report_has_what_the_standard_requires_and_loses_nothing() {
        let diff = "--- a/src/sp ät.rs\n+++ b/src/sp ät.rs\n@@ -1 +1 @@\n-a\n+b\n--- a/old.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        let subject = ReviewSubject { prefix: "sub/".into(), ..ReviewSubject::from_text(diff).expect("a diff") };
        let finding = |file: &str, severity| ReviewFinding {
            file: file.into(),
            line: 1,
            severity,
            title: "It fails".into(),
            body: "Always.".into(),
        };
        let checked = CheckedFindings {
            findings: vec![finding("src/sp ät.rs", FindingSeverity::Critical), finding("old.rs", FindingSeverity::Low)],
            not_in_diff: vec![finding("elsewhere.rs", FindingSeverity::High)],
        };
        let left_out = [UnreviewedFile { file: "logo.png".into(), reason: UnreviewedReason::NoText }];
        let report = document(&subject, "Summary.", &checked, &left_out);
        assert_eq!(report["version"], "2.1.0");
        let run = &report["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "Trimtab");
        let results = run["results"].as_array().expect("results");
        assert_eq!(results.len(), 2);
        for (result, (level, uri)) in results.iter().zip([("error", "sub/src/sp%20%C3%A4t.rs"), ("note", "sub/old.rs")])
        {
            assert_eq!(result["level"], level);
            assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], uri);
            assert_eq!(result["message"]["text"], "It fails\n\nAlways.");
            let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        }
        assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
        assert_eq!(results[1]["locations"][0]["physicalLocation"].get("region"), None);
        let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
        for part in
            ["Summary.", "Not in the diff: elsewhere.rs:1: high: It fails", "Not reviewed: logo.png (not text)."]
        {
            assert!(notes.contains(part), "{notes}");
        }
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    }
}
