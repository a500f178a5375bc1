//! Damaged answers: what our reader and others make of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use serde_json::{Map, Value};
use trimtab_engine::proposal::recover::{ReplyStop, recover};

use super::damage::{Case, cases};
use super::score::{Score, score};

/// Answers written by hand: what the generator does not think of.
const BY_HAND: &str = include_str!("../../corpus/answers.jsonl");

/// All cases, generated and written.
pub(super) fn all() -> Vec<Case> {
    let mut all = cases();
    all.extend(BY_HAND.lines().filter(|line| !line.is_empty()).map(|line| {
        let case: Value = serde_json::from_str(line).expect("a line of answers.jsonl is JSON");
        let bytes = match case["base64"].as_str() {
            Some(coded) => base64::engine::general_purpose::STANDARD.decode(coded).expect("its bytes are base64"),
            None => case["text"].as_str().unwrap_or_default().as_bytes().to_vec(),
        };
        let due = case["answer"].clone();
        // What may come back as well, where the rules leave it open.
        let full = case.get("may").cloned().unwrap_or_else(|| due.clone());
        Case {
            kind: format!("by hand: {}", case["kind"].as_str().unwrap_or("other")),
            bytes,
            full,
            due,
            truncated: case["truncated"].as_bool(),
            blocked: case["blocked"].as_bool(),
        }
    }));
    all
}

#[derive(Default)]
struct Row {
    cases: usize,
    exact: usize,
    due: usize,
    kept: usize,
    wrong: usize,
    flags: usize,
}

/// How one reader did on the cases, and what it got wrong.
#[derive(Default)]
pub(super) struct Sheet {
    rows: BTreeMap<String, Row>,
    /// One line for each mistake.
    pub(super) mistakes: Vec<String>,
}

impl Sheet {
    pub(super) fn add(&mut self, case: &Case, said: &Map<String, Value>, flags: Option<(bool, bool)>) {
        let Score { due, kept, wrong } = score(&case.full, &case.due, said);
        // By-hand cases have a kind each; one row for all of them keeps the table short.
        let name = if case.kind.starts_with("by hand") { "by hand" } else { &case.kind };
        let row = self.rows.entry(name.to_owned()).or_default();
        row.cases += 1;
        row.due += due;
        row.kept += kept;
        row.wrong += usize::from(!wrong.is_empty());
        let bad_flags = flags.is_some_and(|(truncated, blocked)| {
            case.truncated.is_some_and(|due| due != truncated) || case.blocked.is_some_and(|due| due != blocked)
        });
        row.flags += usize::from(bad_flags);
        row.exact += usize::from(kept == due && wrong.is_empty() && !bad_flags);
        let text = String::from_utf8_lossy(&case.bytes);
        if !wrong.is_empty() {
            self.mistakes.push(format!("WRONG [{}] {}\n  from {text}", case.kind, wrong.join("\n  ")));
        } else if bad_flags {
            self.mistakes.push(format!(
                "FLAGS [{}] said {flags:?}, due {:?} {:?}\n  from {text}",
                case.kind, case.truncated, case.blocked
            ));
        } else if kept < due {
            self.mistakes.push(format!(
                "LOST [{}] {kept} of {due}\n  said {}\n  from {text}",
                case.kind,
                Value::Object(said.clone())
            ));
        }
    }

    /// Totals: cases, restored exactly, texts and elements due and kept, wrong ones, wrong flags.
    fn total(&self, hostile: bool) -> Row {
        let mut total = Row::default();
        for (_, row) in self.rows.iter().filter(|(kind, _)| kind.starts_with("hostile") == hostile) {
            total.cases += row.cases;
            total.exact += row.exact;
            total.due += row.due;
            total.kept += row.kept;
            total.wrong += row.wrong;
            total.flags += row.flags;
        }
        total
    }

    /// One line of totals.
    pub(super) fn line(&self, who: &str, flags: bool) -> String {
        let (fair, hostile) = (self.total(false), self.total(true));
        let told = if flags { fair.flags.to_string() } else { "-".to_owned() };
        format!(
            "{who:<34} {:>5} of {:>4} exact ({:.1} %), {:>5} of {:>5} fields ({:.1} %), WRONG {:>3}, flags {told}; hostile {:>4}, WRONG {}",
            fair.exact,
            fair.cases,
            percent(fair.exact, fair.cases),
            fair.kept,
            fair.due,
            percent(fair.kept, fair.due),
            fair.wrong,
            hostile.cases,
            hostile.wrong
        )
    }

    /// The table by kinds.
    pub(super) fn table(&self) -> String {
        let mut out = format!(
            "{:<42} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
            "kind of damage", "cases", "exact", "lost", "WRONG", "flags"
        );
        for (kind, row) in &self.rows {
            let _ = writeln!(
                out,
                "{kind:<42} {:>6} {:>6} {:>6} {:>6} {:>6}",
                row.cases,
                row.exact,
                row.due - row.kept,
                row.wrong,
                row.flags
            );
        }
        out
    }
}

pub(super) fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Our own reader on the cases.
pub(super) fn ours(cases: &[Case]) -> Sheet {
    let mut sheet = Sheet::default();
    for case in cases {
        let read = recover(&case.bytes, ReplyStop::Unknown);
        sheet.add(case, &read.said, Some((read.truncated, read.blocked)));
    }
    sheet
}
