//! The summary that replaces older turns at the beginning of a conversation.
//!
//! There is one, and its size is a share of the window. Each new one replaces the previous one and carries over what
//! fits: its text, shortened from the beginning, and its names, dropping the ones that were not used again. What is
//! left out stays in the stored source, which begins with the previous summary.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use trimtab_vocab::{Message, ModelFacts, Part, Role};

use super::prompt;
use crate::flow;
use crate::fragment;
use crate::record::names::SUMMARY;
use crate::record::{Compressing, Session};
use crate::tokens::{self, estimate};

/// Tokens of a summary at least, even in a small window.
const LEAST: u64 = 400;
/// Tokens of a summary at most.
const MOST: u64 = 12_000;

/// The heading of text that was shortened without a model.
const SHORTENED: &str = "(The first words of each message:)";
const LAST: &str = "Its last messages, shortened:";
const EARLIER: &str = "Earlier, shortened:";
const NAMES: &str = "Names and numbers in it, word for word:";
const OPEN: &str = "Open steps:";
const CURRENT: &str = "The current request, word for word:";
const SOURCE: &str = "Source archived at ref:";
/// The parts of a summary behind its words, in order.
const HEADINGS: [&str; 6] = [LAST, EARLIER, NAMES, OPEN, CURRENT, SOURCE];

/// Tokens of a summary, all of it.
pub(super) fn most(facts: &ModelFacts) -> u64 {
    (facts.window / 8).clamp(LEAST, MOST)
}

/// A summary in two parts: what may be cut if the window is full, and the end, which is always sent. It has the
/// current request, and the source in which to find what was cut.
pub(super) fn split_end(text: &str) -> (&str, &str) {
    let end = |heading: &str| text.find(&format!("\n\n{heading}"));
    match text.starts_with(SUMMARY) {
        true => text.split_at(end(CURRENT).or_else(|| end(SOURCE)).unwrap_or(text.len())),
        false => (text, ""),
    }
}

/// The parts that a summary carries over to the next one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SummaryBlock {
    words: String,
    earlier: String,
    /// Those that were used last, first.
    names: Vec<String>,
}

impl SummaryBlock {
    /// The summary at the beginning of the conversation. Sessions of 0.1 have several.
    pub(super) fn standing(session: &Session) -> Self {
        let mut blocks =
            session.conversation()[..session.summaries()].iter().map(|message| Self::parse(&message.text()));
        let Some(mut block) = blocks.next() else { return Self::default() };
        for later in blocks {
            let earlier = [block.earlier, block.words, later.earlier];
            let known: BTreeSet<&String> = later.names.iter().collect();
            let older: Vec<String> = block.names.into_iter().filter(|name| !known.contains(name)).collect();
            block = Self { words: later.words, earlier: joined(&earlier), names: [later.names, older].concat() };
        }
        block
    }

    fn parse(text: &str) -> Self {
        let text = text.strip_prefix(SUMMARY).unwrap_or(text);
        let start = |heading: &str| text.find(&format!("\n\n{heading}"));
        let end_of = |from: usize| {
            let ends = HEADINGS.iter().filter_map(|heading| start(heading)).filter(|end| *end >= from);
            ends.min().unwrap_or(text.len())
        };
        let section = |heading: &str| {
            let from = start(heading)? + 2 + heading.len();
            Some(text[from..end_of(from)].trim())
        };
        let names = section(NAMES).unwrap_or_default();
        Self {
            words: text[..end_of(0)].trim().to_owned(),
            earlier: section(EARLIER).unwrap_or_default().to_owned(),
            names: names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        }
    }

    /// The words, where no model has summed them up yet.
    pub(super) fn digest(&self) -> Option<&str> {
        self.words.strip_prefix(SHORTENED).map(str::trim)
    }

    /// The summary after more messages: `words` is the model's summary of them, and of what was only shortened
    /// before.
    fn followed_by(self, words: Option<&str>, messages: &[Arc<Message>], most: u64) -> Self {
        let before = self.digest().map(str::to_owned);
        let words = words.map(clean).filter(|words| !words.is_empty());
        match (words, before) {
            (Some(words), Some(_)) => Self { words: tokens::head(&words, most).to_owned(), ..self },
            (Some(words), None) => {
                let earlier = joined(&[self.earlier, self.words]);
                Self { words: tokens::head(&words, most).to_owned(), earlier, names: self.names }
            }
            (None, before) => {
                let room = most.saturating_sub(estimate(SHORTENED) + 1);
                let lines = joined(&[before.clone().unwrap_or_default(), digest(messages, room)]);
                let words = format!("{SHORTENED}\n{}", last_lines(&lines, room));
                let earlier = if before.is_some() { self.earlier } else { joined(&[self.earlier, self.words]) };
                Self { words, earlier, names: self.names }
            }
        }
    }
}

/// The summary as sent in the conversation. `words`: a model's summary of its source, if there is one.
pub(super) fn text(session: &Session, compressing: &Compressing, words: Option<&str>) -> String {
    let from = session.summaries();
    let to = (from + compressing.messages).min(session.conversation().len());
    let part = &session.conversation()[from..to];
    let facts = session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let most = most(&facts);
    let block = SummaryBlock::standing(session).followed_by(words, part, most * 3 / 8);
    let mut end = String::new();
    let open: Vec<&str> =
        session.todos().iter().filter(|todo| !todo.completed).map(|todo| todo.text.as_str()).collect();
    if !open.is_empty() {
        let _ = write!(end, "\n{OPEN}\n{}\n", tokens::head(&format!("- {}", open.join("\n- ")), most / 12));
    }
    if let Some(active) = session.active() {
        let _ = write!(end, "\n{CURRENT} {}\n", tokens::head(active.request.words(), most / 6));
        let running = active.flow.running();
        if let Some(step) = running.and_then(|step| flow::execute::told(&active.flow, step)) {
            let _ = write!(end, "\n{}\n", tokens::head(&step, most / 4));
        }
    }
    let _ = write!(end, "\n{SOURCE}{}", compressing.source);
    let mut text = format!("{SUMMARY}\n{}\n", block.words);
    let headings = estimate(NAMES) + estimate(EARLIER) + estimate(LAST) + 12;
    let mut left = most.saturating_sub(estimate(&text) + estimate(&end) + headings);
    let names = kept_names(part, &block.names, left.min(most / 4)).join(", ");
    left = left.saturating_sub(estimate(&names));
    let earlier = last_lines(&block.earlier, left);
    left = left.saturating_sub(estimate(earlier));
    // Few words leave room for more of the source, so that each summary is about as large as the first.
    let last = if block.digest().is_none() { digest(part, left) } else { String::new() };
    for (heading, lines) in [(LAST, last.as_str()), (EARLIER, earlier)] {
        if !lines.is_empty() {
            let _ = write!(text, "\n{heading}\n{lines}\n");
        }
    }
    if !names.is_empty() {
        let _ = write!(text, "\n{NAMES} {names}\n");
    }
    text + &end
}

/// Texts one after the other, without those that are empty.
fn joined(texts: &[String]) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// A model's words without lines that look like ours, which would be read as such later.
fn clean(words: &str) -> String {
    let is_ours = |line: &&str| {
        let line = line.trim_start();
        line.starts_with(SUMMARY)
            || line.starts_with(SHORTENED)
            || HEADINGS.iter().any(|heading| line.starts_with(heading))
    };
    let lines: Vec<&str> = words.lines().filter(|line| !is_ours(line)).collect();
    lines.join("\n").trim().to_owned()
}

/// The end of a text, from a line's beginning where the lines are not too long.
fn last_lines(text: &str, most: u64) -> &str {
    let tail = tokens::tail(text, most);
    if tail.len() == text.len() {
        return text;
    }
    tail.find('\n').filter(|end| *end < tail.len() / 2).map_or(tail, |end| &tail[end + 1..])
}

/// The first words of each message, or of the last ones if not all fit.
fn digest(messages: &[Arc<Message>], most: u64) -> String {
    let bytes = usize::try_from(most).unwrap_or(usize::MAX).clamp(120, 600);
    let mut lines = Vec::new();
    let mut left = most;
    for line in messages.iter().rev().flat_map(|message| first_words(message, bytes).into_iter().rev()) {
        let size = estimate(&line) + 1;
        if size > left {
            break;
        }
        left -= size;
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}

/// A line for each part of a message. Tools say how they are called and how their result begins.
fn first_words(message: &Message, bytes: usize) -> Vec<String> {
    let who = match message.role {
        Role::User => "USER",
        Role::Assistant => "ASSISTANT",
    };
    let cut = |text: &str, bytes: usize| {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if line.len() + word.len() >= bytes {
                line.push_str(" ...");
                break;
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
        line
    };
    let line = |part: &Part| match part {
        Part::Text { text } if fragment::is_note(text) || text.starts_with(super::reflection::NOTE) => None,
        Part::Text { text } => Some(format!("{who}: {}", cut(text, bytes))),
        Part::Image { image, .. } => Some(format!("{who} shows an image: ref:{image}")),
        Part::ToolUse(call) => Some(format!("{who} uses {} {}", call.name, cut(&call.input.to_string(), bytes / 3))),
        Part::ToolResult(result) => Some(format!("RESULT: {}", cut(&result.content, bytes / 3))),
        Part::Thinking { .. } | Part::RedactedThinking { .. } => None,
    };
    message.parts.iter().filter_map(line).collect()
}

/// The names and numbers that a summary keeps: half of the room is for those of its source, the rest for those of the
/// previous summary. A name that is used again is in the source, so unused names are dropped first.
fn kept_names(messages: &[Arc<Message>], carried: &[String], most: u64) -> Vec<String> {
    let found = telling_words(messages);
    let mut left = most;
    let mut kept: Vec<&String> = Vec::new();
    let mut known: BTreeSet<&String> = BTreeSet::new();
    for (names, reserved) in [(&found[..], most / 2), (carried, 0), (&found[..], 0)] {
        for name in names {
            let size = estimate(name) + 1;
            if known.contains(name) {
                continue;
            }
            if left < size + reserved {
                break;
            }
            left -= size;
            known.insert(name);
            kept.push(name);
        }
    }
    kept.into_iter().cloned().collect()
}

/// What a summary must not lose: file names, identifiers, numbers, addresses. First from users and models, then from
/// tool calls, then from tool results; the newest first in each.
fn telling_words(messages: &[Arc<Message>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    for rank in 0..3 {
        for part in messages.iter().rev().flat_map(|message| &message.parts) {
            let text = match (rank, part) {
                (0, Part::Text { text }) if !text.starts_with(super::reflection::NOTE) && !fragment::is_note(text) => {
                    text.clone()
                }
                (1, Part::ToolUse(call)) => call.input.to_string(),
                (2, Part::ToolResult(result)) => result.content.clone(),
                _ => continue,
            };
            found.extend(names(&text).filter(|name| known.insert((*name).to_owned())).map(str::to_owned));
        }
    }
    found
}

/// The words of a text that are more than words.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let splits = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | ','
                    | ';'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '|'
                    | '\\'
                    | '='
                    | '“'
                    | '”'
                    | '’'
            )
    };
    text.split(splits)
        .map(|token| token.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '#' | '…' | '-' | '—')))
        .filter(|token| is_telling(token))
}

fn is_telling(token: &str) -> bool {
    if token.len() < 2 && !token.chars().any(|c| c.is_ascii_digit()) || token.len() > 200 {
        return false;
    }
    let mut last = ' ';
    let mut camel = false;
    for c in token.chars() {
        camel |= c.is_uppercase() && (last.is_lowercase() || last.is_ascii_digit());
        last = c;
    }
    let has_letters = token.chars().any(char::is_alphabetic);
    let extension = token.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric())
    });
    token.chars().any(|c| c.is_ascii_digit())
        || (has_letters && (camel || extension || token.contains('_') || token.contains("::")))
        || (token.contains('/') && has_letters)
        || (token.len() > 2 && token.contains('-') && token.chars().any(char::is_uppercase))
        || (token.len() > 1
            && token.chars().all(|c| c.is_ascii_uppercase() || c == '-')
            && token.chars().any(|c| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_told_from_words() {
        let text = "Please fix `parse_header` in src/http/head.rs (line 42), see HttpError::BadHead and issue ABC-7. \
                    It took 1.5 s with FOO_BAR=3; thanks, then run ./go.sh at https://x.org/a?b=1.";
        let found: Vec<&str> = names(text).collect();
        for wanted in
            ["parse_header", "src/http/head.rs", "42", "HttpError::BadHead", "ABC-7", "1.5", "FOO_BAR", "3", "/go.sh"]
        {
            assert!(found.iter().any(|token| token.contains(wanted)), "{wanted}: {found:?}");
        }
        for word in ["Please", "fix", "see", "thanks", "It"] {
            assert!(!found.contains(&word), "{word}: {found:?}");
        }
    }
}
