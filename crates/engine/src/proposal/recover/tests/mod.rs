//! Damaged answers as models write them, and as an adversary would.

mod around;
mod brackets;
mod cut;
mod damage;
mod examined;
mod kinds;
mod linear;
mod other_schemas;
mod plain;
mod properties;
mod quotes;
mod several;

use serde_json::{Value, json};

use super::{Recovered, ReplyStop, recover};

/// Checks a table of inputs, and shows every row that fails.
fn table(rows: &[(&str, &str, Value)], fits: impl Fn(&Recovered) -> bool) {
    let mut wrong = Vec::new();
    for (name, input, want) in rows {
        let got = recover(input.as_bytes(), ReplyStop::Unknown);
        if Value::Object(got.said.clone()) != *want || !fits(&got) {
            wrong.push(format!(
                "{name}\n    input: {input}\n    want: {want}\n    got:  {}",
                serde_json::to_string(&got.report()).expect("prints")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows are wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Read whole: nothing cut, nothing blocked.
fn whole(rows: &[(&str, &str, Value)]) {
    table(rows, |got| got.found && !got.truncated && !got.blocked);
}

/// Read whole, and something was mended.
fn mended(rows: &[(&str, &str, Value)]) {
    table(rows, |got| got.found && !got.truncated && !got.blocked && !got.repairs.is_empty());
}

/// Read as far as it goes: cut, and therefore blocked.
fn cut(rows: &[(&str, &str, Value)]) {
    table(rows, |got| got.truncated && got.blocked);
}

/// No answer, and none made up.
fn nothing(rows: &[(&str, &str)]) {
    let rows: Vec<_> = rows.iter().map(|(name, input)| (*name, *input, json!({}))).collect();
    table(&rows, |got| !got.found && got.answer == trimtab_vocab::Answer::default());
}
