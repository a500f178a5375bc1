//! The audit trail, which is append-only.
//!
//! Each entry is one line of JSON with the BLAKE3 hash of the line before it, so no line can be changed, removed, or
//! inserted later without breaking every line after it. An exported trail can be verified with any tool that has
//! BLAKE3 and the key (`audit_key.rs`). A copy of the last hash elsewhere shows later whether anything before it was
//! touched.

use serde_json::{Map, Value, json};
use trimtab_vocab::{RequestId, SessionId, Time};

use super::audit_key::{self, AuditKey};

/// The text that a line may hold in one field; the rest is counted, not kept.
const LONGEST_FIELD: usize = 16 * 1024;
/// The bytes of a whole line.
const LONGEST_LINE: usize = 256 * 1024;

/// An entry for the trail.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuditEntry {
    /// What happened, by its documented name.
    pub action: String,
    pub session: Option<SessionId>,
    pub request: Option<RequestId>,
    /// The fields of the action.
    pub fields: Map<String, Value>,
}

impl AuditEntry {
    /// An entry; `fields` is an object, anything else counts as none.
    pub fn new(action: impl Into<String>, fields: Value) -> Self {
        let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
        Self { action: action.into(), session: None, request: None, fields }
    }

    /// Says where it happened.
    #[must_use]
    pub fn about(mut self, session: Option<SessionId>, request: Option<RequestId>) -> Self {
        (self.session, self.request) = (session, request);
        self
    }

    /// The line that comes after the one with the hash `prev`.
    pub fn line(&self, n: u64, time: Time, prev: &str) -> String {
        let mut fields = self.fields.clone();
        for value in fields.values_mut() {
            shorten(value);
        }
        let whole = self.written(n, time, prev, fields);
        if whole.len() <= LONGEST_LINE {
            return whole;
        }
        let bytes = json!({"omittedBytes": whole.len()});
        let Value::Object(instead) = bytes else { return whole };
        self.written(n, time, prev, instead)
    }

    fn written(&self, n: u64, time: Time, prev: &str, fields: Map<String, Value>) -> String {
        let mut line = Map::new();
        line.insert("n".into(), n.into());
        line.insert("time".into(), json!(time));
        line.insert("action".into(), self.action.as_str().into());
        line.extend(self.session.as_ref().map(|session| ("session".to_owned(), json!(session))));
        line.extend(self.request.as_ref().map(|request| ("request".to_owned(), json!(request))));
        for (name, value) in fields {
            // What every line has cannot be said otherwise by a field.
            if !line.contains_key(&name) && name != "prev" {
                line.insert(name, value);
            }
        }
        line.insert("prev".into(), prev.into());
        Value::Object(line).to_string()
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_FIELD => {
            let more = text.len() - text.floor_char_boundary(LONGEST_FIELD);
            text.truncate(text.floor_char_boundary(LONGEST_FIELD));
            *text += &format!("… ({more} bytes more)");
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// A line as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// Its number, from 1.
    pub n: u64,
    pub line: String,
    /// The hash that was kept beside it.
    pub hash: String,
}

/// What the first line names as its predecessor.
pub(crate) const BEFORE_THE_FIRST: &str = "";

/// Follows the lines from the first and says what does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditCheck {
    /// Lines so far.
    pub lines: u64,
    /// The hash of the last one.
    pub head: String,
    /// What does not fit, the first few.
    pub broken: Vec<String>,
    key: Option<AuditKey>,
    lacks_key: bool,
}

/// The hash of a line; with the key, if there is one and it is used for that line.
pub(super) fn hash_of(line: &str, n: u64, key: Option<AuditKey>) -> String {
    match key.filter(|key| key.covers(n)) {
        Some(key) => key.hash(line),
        None => super::hash(line.as_bytes()),
    }
}

impl AuditCheck {
    /// A check of a trail that is chained with this key.
    pub fn with(key: Option<AuditKey>) -> Self {
        Self { key, ..Self::default() }
    }

    /// The next line.
    pub fn observe(&mut self, line: &AuditLine) {
        let hash = hash_of(&line.line, line.n, self.key);
        let has_key = self.key.is_some_and(|key| key.covers(line.n));
        if audit_key::is_keyed(&line.hash) && !has_key && !self.lacks_key {
            self.lacks_key = true;
            self.complain(format!("line {} was written with another key; audit.key was removed or replaced", line.n));
        }
        let object: Value = serde_json::from_str(&line.line).unwrap_or_default();
        if line.n != self.lines + 1 || object["n"] != json!(line.n) {
            self.complain(format!("after line {} comes line {}", self.lines, line.n));
        } else if object["prev"] != json!(self.head) {
            self.complain(format!("line {} was changed, or the one before it", line.n));
        } else if hash != line.hash {
            self.complain(format!("line {} was changed", line.n));
        }
        self.lines = line.n;
        self.head = hash;
    }

    /// The end of the trail, with the number of lines that were ever written.
    pub fn end(&mut self, written: u64) {
        if self.lines != written {
            self.complain(format!("{written} lines were written, and the last one is line {}", self.lines));
        }
    }

    fn complain(&mut self, what: String) {
        const FIRST_FEW: usize = 20;
        if self.broken.len() < FIRST_FEW {
            self.broken.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(count: u64) -> Vec<AuditLine> {
        let mut prev = BEFORE_THE_FIRST.to_owned();
        let line = |n: u64| {
            let entry = AuditEntry::new("apply", json!({"op": "create", "n": 99, "result": "ok"}));
            let line = entry.line(n, Time::from_millis(0), &prev);
            prev = super::super::hash(line.as_bytes());
            AuditLine { n, hash: prev.clone(), line }
        };
        (1..=count).map(line).collect()
    }

    fn complaints(lines: &[AuditLine], written: u64) -> Vec<String> {
        let mut check = AuditCheck::default();
        lines.iter().for_each(|line| check.observe(line));
        check.end(written);
        check.broken
    }

    #[test]
    fn a_line_names_its_place_and_its_predecessor_whatever_its_fields_say() {
        let lines = chain(2);
        assert_eq!(
            lines[0].line,
            r#"{"n":1,"time":"1970-01-01T00:00:00.000Z","action":"apply","op":"create","result":"ok","prev":""}"#
        );
        assert!(lines[1].line.ends_with(&format!(r#""prev":"{}"}}"#, lines[0].hash)));
        assert_eq!(complaints(&lines, 2), Vec::<String>::new());
    }

    #[test]
    fn no_line_can_be_changed_removed_added_or_moved() {
        let whole = chain(5);
        for at in 0..5 {
            let mut changed = whole.clone();
            changed[at].line = changed[at].line.replace("create", "delete");
            assert!(!complaints(&changed, 5).is_empty(), "changed {at}");
            changed[at].hash = super::super::hash(changed[at].line.as_bytes());
            // With its hash too: the next line tells. After the last there is none, so its hash is noted elsewhere.
            assert_eq!(complaints(&changed, 5).is_empty(), at == 4, "changed with its hash {at}");
            let mut removed = whole.clone();
            removed.remove(at);
            assert!(!complaints(&removed, 5).is_empty(), "removed {at}");
            let mut doubled = whole.clone();
            doubled.insert(at, whole[at].clone());
            assert!(!complaints(&doubled, 5).is_empty(), "doubled {at}");
            let mut moved = whole.clone();
            moved.swap(at, (at + 1) % 5);
            assert!(!complaints(&moved, 5).is_empty(), "moved {at}");
        }
    }

    #[test]
    fn a_line_is_bounded_whatever_it_is_told() {
        let long = "é".repeat(100_000);
        let entry = AuditEntry::new("x", json!({"raw": long, "deep": [{"a": long}]}));
        let line = entry.line(1, Time::from_millis(0), "");
        assert!(line.len() < 2 * LONGEST_FIELD + 400 && line.contains("bytes more"), "{}", line.len());
        let entry = AuditEntry::new("x", json!({"many": vec!["y".repeat(10_000); 1000]}));
        assert!(entry.line(1, Time::from_millis(0), "").len() < 200);
    }
}
