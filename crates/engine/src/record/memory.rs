//! What a session remembers beside its conversation: enough for a handoff, no matter how often the conversation was
//! summarized.

use std::collections::VecDeque;

use trimtab_vocab::event::{
    AnswerFact, BugFact, CommandFact, ContextFact, ModelFact, ReplyFact, RequestFact, SessionFact, ToolFact,
};
use trimtab_vocab::{BackgroundEnd, BackgroundEndReason, Fact, RequestId};

/// Pairs of words that are kept.
const PAIRS: usize = 3;
/// Bytes of a message that are kept.
const WORDS: usize = 2 * 1024;
/// Troubles that are kept, of each sort.
const TROUBLES: usize = 10;
/// Bytes of a trouble that are kept.
const TROUBLE: usize = 300;
/// Files that are kept.
const FILES: usize = 200;

/// What a session remembers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// How many requests were answered.
    pub exchanges: u64,
    /// The last pairs, oldest first.
    pub pairs: VecDeque<RememberedExchange>,
    /// The text of the last answer, or of the last summary of the conversation.
    pub summary: String,
    /// Files that requests named and that were read for them, in the order of their first use.
    pub referenced: Vec<String>,
    /// What went wrong lately: which sort, and what.
    pub troubles: VecDeque<(String, String)>,
    /// Commands that failed lately, and how.
    pub failed_commands: VecDeque<(String, String)>,
    /// Bytes of all messages and results; summarized ones count too, because they are stored.
    pub stored: u64,
    /// The call that is being made is behind the scenes.
    aside: bool,
}

/// A request and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedExchange {
    request: RequestId,
    /// The user's words.
    pub user: String,
    /// The answer, or the last words on the way to it.
    pub answer: Option<String>,
}

impl Memory {
    pub(super) fn fold(&mut self, request: Option<&RequestId>, fact: &Fact) {
        match (fact, request) {
            (Fact::Request(RequestFact::Received { text, .. }), Some(id)) => {
                self.stored += text.len() as u64;
                push(
                    &mut self.pairs,
                    RememberedExchange { request: id.clone(), user: cut(text, WORDS), answer: None },
                    PAIRS,
                );
            }
            (Fact::Session(SessionFact::Inherited { text, referenced, .. }), _) => {
                self.stored += text.len() as u64;
                self.referenced.clone_from(referenced);
            }
            (Fact::Model(ModelFact::Called { purpose, .. }), _) => self.aside = !purpose.is_turn(),
            (Fact::Reply(_), _) if self.aside => {}
            (Fact::Reply(ReplyFact::Saved { message, partial: false, .. }), Some(id)) => {
                let words = message.text();
                self.stored += words.len() as u64;
                self.answer(id, &words);
            }
            (Fact::Answer(AnswerFact { answer }), Some(id)) => {
                self.exchanges += 1;
                if !answer.summary.trim().is_empty() {
                    self.summary = cut(&answer.summary, WORDS);
                    self.answer(id, &answer.summary);
                }
            }
            (Fact::Tool(ToolFact::Finished { preview, .. }), _) => self.stored += preview.len() as u64,
            (Fact::Context(ContextFact::Compressed { summary, .. } | ContextFact::Edited { summary, .. }), _) => {
                self.summary = cut(words_of(summary), WORDS);
            }
            (Fact::Context(ContextFact::Loaded { files, .. }), _) => {
                self.stored += files.iter().map(|file| file.text.len() as u64).sum::<u64>();
                for file in files {
                    if self.referenced.len() < FILES && !self.referenced.contains(&file.path) {
                        self.referenced.push(file.path.clone());
                    }
                }
            }
            (Fact::Bug(BugFact { kind, message, .. }), _) => {
                push(&mut self.troubles, (kind.clone(), cut(message, TROUBLE)), TROUBLES);
            }
            (Fact::Command(CommandFact::Finished { command, exit_code, timed_out, preview, background, .. }), _)
                if (*timed_out || *exit_code != Some(0)) && !is_stopped(background.as_ref()) =>
            {
                let why = failure(*exit_code, *timed_out, preview);
                push(&mut self.failed_commands, (cut(command, TROUBLE), cut(&why, TROUBLE)), TROUBLES);
            }
            _ => {}
        }
    }

    fn answer(&mut self, request: &RequestId, words: &str) {
        let pair = self.pairs.iter_mut().rev().find(|pair| pair.request == *request);
        if let Some(pair) = pair.filter(|_| !words.trim().is_empty()) {
            pair.answer = Some(cut(words, WORDS));
        }
    }
}

/// Whether it was a background command that did not end on its own.
fn is_stopped(background: Option<&BackgroundEnd>) -> bool {
    background.is_some_and(|ended| ended.why != BackgroundEndReason::Exited)
}

/// Why a command failed, in a line: the last that it said, which is where programs say it.
fn failure(exit_code: Option<i32>, timed_out: bool, preview: &str) -> String {
    if timed_out {
        return "timed out".to_owned();
    }
    let said = preview.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('['));
    match (said, exit_code) {
        (Some(said), _) => said.to_owned(),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "was ended by a signal".to_owned(),
    }
}

/// The model's own words in a summary of the conversation. What was put around them is about this session's
/// store, which no other session can read.
fn words_of(summary: &str) -> &str {
    let words = summary.strip_prefix(super::names::SUMMARY).unwrap_or(summary);
    let ends = [
        "\n\nIts last messages, shortened:",
        "\n\nEarlier, shortened:",
        "\n\nNames and numbers in it, ",
        "\n\nOpen steps:",
        "\n\nThe current request, ",
        "\n\nSource archived at ",
    ];
    let end = ends.iter().filter_map(|end| words.find(end)).min().unwrap_or(words.len());
    words[..end].trim()
}

fn push<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(item);
}

/// The beginning of a text, if it is long.
fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}
