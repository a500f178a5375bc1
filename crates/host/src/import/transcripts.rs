//! Conversations of other programs, read from their own files. These files are hostile until they are parsed: each line,
//! each text, and the whole are bounded, and what cannot be read is left out.

mod claude;
mod codex;

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use serde_json::Value;
use trimtab_vocab::Time;

use super::keys::masked;
use super::{ImportSource, shown};

/// Bytes of a file.
const LARGEST: u64 = 128 * 1024 * 1024;
/// Bytes of a line. Longer ones have images, or results of tools, which are not taken over.
const LONGEST_LINE: u64 = 8 * 1024 * 1024;
/// Bytes of a text.
const LONGEST_TEXT: usize = 64 * 1024;
/// Bytes of all texts.
const LARGEST_TRANSCRIPT: usize = 16 * 1024 * 1024;
/// Messages of the user.
const MOST_EXCHANGES: usize = 1_000;
/// Lines about what the program did, for each message.
const MOST_DEEDS: usize = 200;

/// A conversation of another program: what was said, and which commands and edits it made.
#[derive(Debug, Default)]
pub(super) struct ImportedConversation {
    /// The name that the program gave it.
    pub(super) id: String,
    pub(super) folder: String,
    /// What the program calls it, or the first words of the user.
    pub(super) title: String,
    pub(super) exchanges: Vec<ImportedExchange>,
    /// Exchanges at its beginning that are too many.
    pub(super) left_out: usize,
}

#[derive(Debug, Default)]
pub(super) struct ImportedExchange {
    pub(super) time: Option<Time>,
    /// When the last part of it was written.
    pub(super) ended: Option<Time>,
    pub(super) user: String,
    /// What came before the answer, with lines about commands and edits.
    pub(super) work: String,
    pub(super) answer: String,
    deeds: usize,
}

impl ImportedExchange {
    fn size(&self) -> usize {
        self.user.len() + self.work.len() + self.answer.len()
    }

    /// What was the answer until now was only said on the way.
    fn settle(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        self.add(&answer, "\n\n");
    }

    fn add(&mut self, text: &str, separator: &str) {
        if text.is_empty() || self.work.len() + text.len() > LARGEST_TRANSCRIPT / 4 {
            return;
        }
        if !self.work.is_empty() {
            self.work.push_str(separator);
        }
        self.work.push_str(text);
    }
}

/// What one line of a transcript says.
#[derive(Debug)]
enum ImportedPart {
    User(String),
    Words(String),
    /// A line about a command or an edit.
    Deed(String),
}

impl ImportedConversation {
    /// Adds what a line says, at the time that it names.
    fn add(&mut self, part: ImportedPart, time: Option<Time>) {
        let ended = self.exchanges.last_mut().filter(|_| !matches!(part, ImportedPart::User(_)));
        ended.into_iter().for_each(|last| last.ended = time.or(last.ended));
        match part {
            ImportedPart::User(text) => {
                self.exchanges.push(ImportedExchange { time, user: cleaned(&text), ..ImportedExchange::default() });
            }
            ImportedPart::Words(text) => {
                let Some(last) = self.exchanges.last_mut() else { return };
                last.settle();
                last.answer = cleaned(&text);
            }
            ImportedPart::Deed(text) => {
                let Some(last) = self.exchanges.last_mut().filter(|last| last.deeds < MOST_DEEDS) else { return };
                last.settle();
                last.deeds += 1;
                last.add(&format!("[{}]", shown(&masked(&text))), "\n");
            }
        }
    }

    /// Ends it: the answers are what was said last, and the oldest exchanges of too many are left out.
    fn finish(mut self) -> Self {
        for exchange in &mut self.exchanges {
            if exchange.answer.is_empty() {
                exchange.answer = std::mem::take(&mut exchange.work);
            }
        }
        let (mut size, mut kept) = (0, 0);
        for exchange in self.exchanges.iter().rev().take(MOST_EXCHANGES) {
            size += exchange.size();
            if size > LARGEST_TRANSCRIPT {
                break;
            }
            kept += 1;
        }
        self.left_out = self.exchanges.len() - kept;
        self.exchanges.drain(..self.left_out);
        if self.title.trim().is_empty() {
            self.title = self.exchanges.first().map(|first| first.user.clone()).unwrap_or_default();
        }
        self.title = shown(&masked(&self.title));
        self
    }
}

/// A text without keys and control characters, cut where it is too long.
fn cleaned(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST_TEXT);
    let plain: String = text[..end].chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let mut plain = masked(plain.trim());
    if end < text.len() {
        plain.push_str("\n[The rest of this message was not imported.]");
    }
    plain
}

/// A transcript, or only what its first `bytes` say.
pub(super) fn read_transcript(
    source: ImportSource,
    file: &Path,
    bytes: Option<u64>,
) -> Result<ImportedConversation, String> {
    let problem = |error: std::io::Error| format!("It cannot be read: {error}.");
    let opened = File::open(file).map_err(problem)?;
    let data = opened.metadata().map_err(problem)?;
    if !data.is_file() {
        return Err("It is not a file.".to_owned());
    }
    if data.len() > LARGEST {
        return Err(format!("It is larger than {} MB.", LARGEST / 1024 / 1024));
    }
    let lines = JsonLines(BufReader::new(opened.take(bytes.unwrap_or(LARGEST))));
    Ok(match source {
        ImportSource::Codex => codex::read_rollout(lines),
        _ => claude::read_records(lines),
    })
}

/// The lines of a file that are JSON objects.
struct JsonLines<R>(R);

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = Vec::new();
            let read = self.0.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
            if read == 0 {
                return None;
            }
            if read as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
                self.0.skip_until(b'\n').ok()?;
                continue;
            }
            if let Ok(value @ Value::Object(_)) = serde_json::from_slice(&line) {
                return Some(value);
            }
        }
    }
}

/// The text under a key.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn time(value: &Value) -> Option<Time> {
    text(value, "timestamp").parse().ok()
}

/// The texts of a message: its content is a text, or a list of parts of which those of this type have one.
fn texts(content: &Value, kinds: &[&str]) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let of_kind = |part: &&Value| kinds.contains(&text(part, "type"));
            let all = parts.iter().filter(of_kind).map(|part| text(part, "text"));
            all.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_or_no_object_is_left_out() {
        let long = format!("{{\"a\": \"{}\"}}\n", "x".repeat(LONGEST_LINE as usize));
        let text = format!("{{\"n\": 1}}\n[2]\n{long}not json\n\u{fffd}\n{{\"n\": 3}}");
        let found: Vec<Value> = JsonLines(text.as_bytes()).collect();
        assert_eq!(found, [serde_json::json!({"n": 1}), serde_json::json!({"n": 3})]);
    }

    #[test]
    fn too_many_exchanges_and_too_long_texts_are_cut() {
        let exchange = |all: &mut ImportedConversation, number: usize, answer: &str| {
            all.add(ImportedPart::User(format!("question {number}")), None);
            all.add(ImportedPart::Words(answer.to_owned()), None);
        };
        let mut many = ImportedConversation::default();
        (0..MOST_EXCHANGES + 5).for_each(|number| exchange(&mut many, number, "yes"));
        assert_eq!(many.finish().left_out, 5);
        let mut all = ImportedConversation::default();
        let long = || ImportedExchange { answer: "x".repeat(LONGEST_TEXT), ..ImportedExchange::default() };
        all.exchanges.extend(std::iter::repeat_with(long).take(300));
        exchange(&mut all, 300, &"ä".repeat(LONGEST_TEXT));
        (0..MOST_DEEDS * 2).for_each(|_| all.add(ImportedPart::Deed("Ran: ls".to_owned()), None));
        let all = all.finish();
        let size: usize = all.exchanges.iter().map(ImportedExchange::size).sum();
        assert!(size <= LARGEST_TRANSCRIPT && all.left_out > 5, "{size} {}", all.left_out);
        let last = all.exchanges.last().expect("one");
        assert_eq!(last.user, "question 300");
        assert!(last.answer.contains("was not imported") && last.answer.matches("[Ran: ls]").count() == MOST_DEEDS);
    }
}
