//! Assembles the pieces of a reply.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;
use trimtab_vocab::{Fault, Message, Part, Problem, ProblemKind, Reply, Retry, Role, StopReason, ToolCall, Usage};

use super::ReplyPiece;

/// No honest reply is larger; an endless one must not fill the memory.
const LARGEST_REPLY: usize = 32 * 1024 * 1024;
/// Nor has it more parts, however little they hold.
const MOST_PARTS: usize = 10_000;

/// Warnings are for people, who read no more than these.
const MOST_WARNINGS: usize = 20;
const LONGEST_WARNING: usize = 500;

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub struct Assembly {
    dialect: &'static str,
    drafts: BTreeMap<u32, PartDraft>,
    words: String,
    /// Words that may be nothing but the opening of a fence, which watchers see once more follows.
    held: String,
    bytes: usize,
    usage: Usage,
    stop: Option<StopReason>,
    warnings: Vec<String>,
    ended: bool,
}

#[derive(Debug)]
enum PartDraft {
    Text(String),
    Thinking { text: String, signature: String },
    Redacted(String),
    Tool { id: String, name: String, arguments: String },
}

impl Assembly {
    /// Nothing yet, of a model that speaks this dialect.
    pub fn new(dialect: &'static str) -> Self {
        Self { dialect, ..Self::default() }
    }

    /// Adds a piece, and returns its text for watchers.
    pub fn push(&mut self, piece: ReplyPiece) -> Result<Option<String>, Fault> {
        self.bytes += size(&piece);
        if self.bytes > LARGEST_REPLY {
            return Err(endless("is larger than 32 MB"));
        }
        if self.drafts.len() > MOST_PARTS {
            return Err(endless("has more than 10000 parts"));
        }
        match piece {
            ReplyPiece::Text { block, text } => {
                let is_bare = match self.drafts.entry(block).or_insert_with(|| PartDraft::Text(String::new())) {
                    PartDraft::Text(whole) => {
                        whole.push_str(&text);
                        is_bare_fence(whole)
                    }
                    _ => return Err(mixed(block)),
                };
                self.words.push_str(&text);
                self.held.push_str(&text);
                return Ok((!is_bare).then(|| std::mem::take(&mut self.held)));
            }
            ReplyPiece::Thinking { block, text } => match self.thinking(block) {
                Some((whole, _)) => whole.push_str(&text),
                None => return Err(mixed(block)),
            },
            ReplyPiece::Signature { block, text } => match self.thinking(block) {
                Some((_, whole)) => whole.push_str(&text),
                None => return Err(mixed(block)),
            },
            ReplyPiece::Redacted { block, data } => match self.drafts.entry(block) {
                Entry::Vacant(place) => {
                    place.insert(PartDraft::Redacted(data));
                }
                Entry::Occupied(_) => return Err(mixed(block)),
            },
            ReplyPiece::Tool { block, id, name, arguments } => {
                let empty = || PartDraft::Tool { id: String::new(), name: String::new(), arguments: String::new() };
                match self.drafts.entry(block).or_insert_with(empty) {
                    PartDraft::Tool { id: whole_id, name: whole_name, arguments: whole } => {
                        if let Some(id) = id {
                            *whole_id = id;
                        }
                        if let Some(name) = name {
                            *whole_name = name;
                        }
                        whole.push_str(&arguments);
                    }
                    _ => return Err(mixed(block)),
                }
            }
            ReplyPiece::Usage(usage) => self.usage = usage,
            ReplyPiece::Stop(reason) => self.stop = Some(reason),
            ReplyPiece::Alive | ReplyPiece::Progress(_) => {}
            ReplyPiece::Warning(text) => {
                if self.warnings.len() < MOST_WARNINGS {
                    self.warnings.push(text.chars().take(LONGEST_WARNING).collect());
                }
            }
            ReplyPiece::End => self.ended = true,
        }
        Ok(None)
    }

    fn thinking(&mut self, block: u32) -> Option<(&mut String, &mut String)> {
        let empty = || PartDraft::Thinking { text: String::new(), signature: String::new() };
        match self.drafts.entry(block).or_insert_with(empty) {
            PartDraft::Thinking { text, signature } => Some((text, signature)),
            _ => None,
        }
    }

    /// The text so far, unchanged.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The usage that the provider has reported so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Received bytes, including reasoning and tool calls.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Warnings about the call for the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The message so far. An incomplete tool call is left out, because it must not run. So is the signature of
    /// reasoning that nothing follows yet: the provider would refuse the whole conversation for an incomplete one.
    pub fn partial(&self) -> Message {
        let mut parts: Vec<Part> = self.drafts.values().map(|draft| draft.part(self.dialect)).collect();
        if let Some(Part::Thinking { signature, .. }) = parts.last_mut() {
            *signature = None;
        }
        parts.retain(|part| !matches!(part, Part::ToolUse(_)) && !is_empty(part));
        Message { role: Role::Assistant, parts }
    }

    /// The reply, if the provider said that it was all; otherwise it was cut.
    pub fn finish(self) -> Result<Reply, Fault> {
        if !self.ended {
            let problem = Problem::new(ProblemKind::Truncated, "The provider's reply ended before it was complete.");
            return Err(Fault { problem, retry: Retry::Later { after_ms: None } });
        }
        let mut parts: Vec<Part> =
            self.drafts.values().map(|draft| draft.part(self.dialect)).filter(|part| !is_empty(part)).collect();
        // Some models open a fence for the call that they then make.
        if parts.iter().any(|part| matches!(part, Part::ToolUse(_))) {
            parts.retain(|part| !matches!(part, Part::Text { text } if is_bare_fence(text)));
        }
        if parts.iter().any(|part| matches!(part, Part::ToolUse(call) if call.id.is_empty() || call.name.is_empty())) {
            let problem = Problem::new(ProblemKind::Protocol, "The provider asks for a tool without its name or id.");
            return Err(Fault { problem, retry: Retry::Later { after_ms: None } });
        }
        Ok(Reply { message: Message { role: Role::Assistant, parts }, stop_reason: self.stop, usage: self.usage })
    }
}

impl PartDraft {
    fn part(&self, dialect: &str) -> Part {
        let by = || (!dialect.is_empty()).then(|| dialect.to_owned());
        match self {
            Self::Text(text) => Part::Text { text: text.clone() },
            Self::Thinking { text, signature } => Part::Thinking {
                text: text.clone(),
                signature: (!signature.is_empty()).then(|| signature.clone()),
                by: by(),
            },
            Self::Redacted(data) => Part::RedactedThinking { data: data.clone(), by: by() },
            Self::Tool { id, name, arguments } => {
                let (input, broken) = read_arguments(arguments);
                Part::ToolUse(ToolCall { id: id.clone(), name: name.clone(), input, broken })
            }
        }
    }
}

/// Arguments are a JSON object, or nothing if a tool takes none. Anything else is kept unchanged and never run.
fn read_arguments(text: &str) -> (Value, Option<String>) {
    if text.trim().is_empty() {
        return (Value::Object(serde_json::Map::new()), None);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => (value, None),
        _ => (Value::Null, Some(text.to_owned())),
    }
}

/// Whether a text is nothing but the opening of a fence, or the beginning of one.
fn is_bare_fence(text: &str) -> bool {
    let bare = text.trim();
    let name = bare.trim_start_matches('`');
    let ticks = bare.len() - name.len();
    (ticks == 3 && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+')))
        || ((1..3).contains(&ticks) && name.is_empty())
}

fn is_empty(part: &Part) -> bool {
    match part {
        Part::Text { text } => text.is_empty(),
        Part::Thinking { text, signature, .. } => text.is_empty() && signature.is_none(),
        _ => false,
    }
}

fn size(piece: &ReplyPiece) -> usize {
    match piece {
        ReplyPiece::Text { text, .. } | ReplyPiece::Thinking { text, .. } | ReplyPiece::Signature { text, .. } => {
            text.len()
        }
        ReplyPiece::Redacted { data, .. } => data.len(),
        ReplyPiece::Tool { arguments, .. } => arguments.len() + 64,
        ReplyPiece::Usage(_)
        | ReplyPiece::Stop(_)
        | ReplyPiece::Progress(_)
        | ReplyPiece::Alive
        | ReplyPiece::Warning(_)
        | ReplyPiece::End => 0,
    }
}

fn endless(how: &str) -> Fault {
    let problem = Problem::new(ProblemKind::Protocol, format!("The provider's reply {how}; it was cut off."));
    Fault { problem, retry: Retry::Never }
}

fn mixed(block: u32) -> Fault {
    let problem = Problem::new(
        ProblemKind::Protocol,
        format!("The provider mixed two kinds of content in part {block} of its reply."),
    );
    Fault { problem, retry: Retry::Never }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembled(pieces: Vec<ReplyPiece>) -> Result<Reply, Fault> {
        let mut assembly = Assembly::default();
        for piece in pieces {
            assembly.push(piece)?;
        }
        assembly.finish()
    }

    fn text(block: u32, text: &str) -> ReplyPiece {
        ReplyPiece::Text { block, text: text.into() }
    }

    fn arguments(text: &str) -> ReplyPiece {
        ReplyPiece::Tool { block: 1, id: None, name: None, arguments: text.into() }
    }

    #[test]
    fn parts_stand_in_the_order_of_their_blocks_whatever_the_order_of_their_pieces() {
        let reply = assembled(vec![
            text(2, "b"),
            ReplyPiece::Thinking { block: 0, text: "hm".into() },
            text(1, "a"),
            ReplyPiece::Signature { block: 0, text: "sig".into() },
            text(2, "c"),
            ReplyPiece::End,
        ])
        .expect("complete");
        let part = |text: &str| Part::Text { text: text.into() };
        let thinking = Part::Thinking { text: "hm".into(), signature: Some("sig".into()), by: None };
        assert_eq!(reply.message.parts, [thinking, part("a"), part("bc")]);
    }

    #[test]
    fn a_reply_without_its_end_is_truncated_never_done() {
        let fault = assembled(vec![text(0, "half"), ReplyPiece::Stop(StopReason::EndTurn)]).expect_err("cut");
        assert_eq!(fault.problem.kind, ProblemKind::Truncated);
    }

    #[test]
    fn split_tool_arguments_are_put_together() {
        let start =
            ReplyPiece::Tool { block: 1, id: Some("t1".into()), name: Some("read".into()), arguments: String::new() };
        let reply =
            assembled(vec![start, arguments("{\"pa"), arguments("th\":\"a"), arguments("\"}"), ReplyPiece::End]);
        let input = serde_json::json!({"path": "a"});
        assert_eq!(
            reply.expect("complete").message.parts,
            [Part::ToolUse(ToolCall { id: "t1".into(), name: "read".into(), input, broken: None })]
        );
    }

    #[test]
    fn arguments_that_are_not_an_object_are_kept_as_broken() {
        for bad in ["{\"a\":", "[1]", "7", "null", "{\"a\":1}}"] {
            assert_eq!(read_arguments(bad), (Value::Null, Some(bad.to_owned())));
        }
        assert_eq!(read_arguments(" "), (serde_json::json!({}), None));
    }

    #[test]
    fn an_endless_reply_is_refused_before_it_fills_the_memory() {
        let mut assembly = Assembly::default();
        let chunk = "x".repeat(1 << 20);
        let refused = (0..64).find_map(|_| assembly.push(text(0, &chunk)).err()).expect("refused");
        assert_eq!(refused.problem.kind, ProblemKind::Protocol);
        assert!(assembly.words().len() <= LARGEST_REPLY);
    }

    #[test]
    fn a_reply_of_endless_empty_parts_is_refused_as_well() {
        let mut assembly = Assembly::default();
        let refused = (0..20_000).find_map(|block| assembly.push(text(block, "")).err()).expect("refused");
        assert_eq!(refused.problem.kind, ProblemKind::Protocol);
    }

    #[test]
    fn a_partial_message_has_the_words_but_no_half_tool_use() {
        let mut assembly = Assembly::default();
        assembly.push(text(0, "I will ")).expect("fits");
        assembly.push(arguments("{\"rm")).expect("fits");
        assert_eq!(assembly.partial(), Message::assistant("I will "));
    }

    #[test]
    fn a_partial_message_has_no_proof_that_may_be_half_of_one() {
        let mut assembly = Assembly::default();
        assembly.push(ReplyPiece::Thinking { block: 0, text: "hm".into() }).expect("fits");
        assembly.push(ReplyPiece::Signature { block: 0, text: "si".into() }).expect("fits");
        let thinking = |signature| Part::Thinking { text: "hm".into(), signature, by: None };
        assert_eq!(assembly.partial().parts, [thinking(None)]);
        assembly.push(ReplyPiece::Signature { block: 0, text: "g".into() }).expect("fits");
        assembly.push(text(1, "")).expect("fits");
        assert_eq!(assembly.partial().parts, [thinking(Some("sig".into()))]);
    }

    #[test]
    fn two_kinds_in_one_block_are_refused_and_their_words_are_not_kept() {
        let redacted = ReplyPiece::Redacted { block: 1, data: "x".into() };
        assert!(assembled(vec![text(1, "a"), arguments("{}"), ReplyPiece::End]).is_err());
        assert!(assembled(vec![text(1, "a"), redacted.clone(), ReplyPiece::End]).is_err());
        let mut assembly = Assembly::default();
        assembly.push(redacted).expect("fits");
        assembly.push(text(1, "a")).expect_err("mixed");
        assert_eq!(assembly.words(), "");
    }

    #[test]
    fn a_tool_use_without_its_name_is_refused() {
        let fault = assembled(vec![arguments("{}"), ReplyPiece::End]).expect_err("nameless");
        assert_eq!(fault.problem.kind, ProblemKind::Protocol);
    }
}
