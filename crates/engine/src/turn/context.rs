//! Making the conversation fit: before each call it is looked whether the window is nearly full. Then
//! the older part is stored whole, summed up part by part, and replaced by its summary. What a summary
//! must not lose is carried over word for word: names of files, identifiers, numbers, open steps, the
//! request itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use trimtab_vocab::event::{ContextFact, Level, LoadedFile, Stage};
use trimtab_vocab::wording::{Notice, StageLabel};
use trimtab_vocab::{Message, ModelFacts, Part, Prompt, Purpose, RefKey, Role};

use super::{budget, guard, next, prompt};
use crate::calls::fast;
use crate::flow;
use crate::fragment::{self, Fragment};
use crate::record::{Compressing, Session};
use crate::tokens::estimate;
use crate::tools;
use crate::transition::Transition;

pub use crate::record::names::SUMMARY;

const SUMMARY_SYSTEM_PROMPT: &str = "You sum up a part of a conversation between a user and an assistant that works with \
files and commands, so that the work can go on from your summary alone. Say what the user wants, what was decided, what was \
done and found out, what failed and why, and what is open. Keep names of files, identifiers, numbers, commands and errors \
exactly as they are. Leave out greetings and repetitions. Write short plain sentences; no preamble.";

const REDUCE_SYSTEM_PROMPT: &str = "You are given summaries of consecutive parts of one conversation. Make one summary of \
them, in order. Keep names of files, identifiers, numbers, commands and errors exactly as they are. No preamble.";

/// Tokens of one part at most.
const LARGEST_PART: u64 = 24_000;
/// Bytes of what is sent to be summed up, whatever its tokens are.
const CAP: usize = 512 * 1024;
/// Tokens of a summary.
const SUMMARY_TOKENS: u32 = 1_500;

/// The line above the text of a file that a request names.
pub(super) fn heading(path: &str) -> String {
    format!("[Loaded {path}]")
}

/// Files that a request names, as much of them as a quarter of the window holds: the work needs room, too.
pub(super) fn fitting(mut files: Vec<LoadedFile>, facts: &ModelFacts) -> Vec<LoadedFile> {
    const REST: &str = "[... the rest is left out; read it with read_file ...]";
    let mut left = usize::try_from(facts.window / 4).unwrap_or(usize::MAX).saturating_mul(3);
    for LoadedFile { text, .. } in &mut files {
        if text.len() > left {
            let cut = text.floor_char_boundary(left);
            let line = text[..cut].rfind('\n').map(|end| end + 1).filter(|end| *end > cut / 2);
            text.truncate(line.unwrap_or(cut));
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text.push_str(&format!("{end}{REST}"));
        }
        left = left.saturating_sub(text.len());
    }
    files
}

/// Tokens that must stay free for the reply.
fn reserve(facts: &ModelFacts, wanted: u32) -> u64 {
    u64::from(wanted.min(facts.max_output)).min(facts.window / 4)
}

/// How much of the window the next prompt takes, and how much it may take.
pub(super) fn room(session: &Session, turn: &prompt::TurnPrompt, facts: &ModelFacts) -> (u64, u64) {
    let prompt::TurnPrompt { prompt, notes } = turn;
    let tools = tools::registry().weight(&prompt.tools);
    let used = session.conversation_tokens() + session.added_tokens(notes) + estimate(&prompt.system) + tools;
    (used, facts.window.saturating_sub(reserve(facts, prompt.max_output_tokens)))
}

/// Begins to sum up the older part; whether there is one.
pub(super) fn begin(step: &mut Transition<'_>, before: u64) -> bool {
    let Some(active) = step.session.active() else { return false };
    let request = active.request.id.clone();
    let facts = prompt::model(&active.request).1;
    let from = step.session.summaries();
    let to = tail_start(step.session, facts.window / 4);
    if to <= from + 1 {
        return false;
    }
    let source = RefKey::context_of(&request, active.compression.count + 1);
    let archive = transcript(&step.session.conversation()[from..to], false);
    let messages = u32::try_from(to - from).unwrap_or(u32::MAX);
    step.enter(&request, Stage::Compressing, StageLabel::Compressing);
    // Archived first: the fact that mentions the source and the source itself become durable together.
    step.store(source.clone(), archive);
    step.emit(Some(&request), ContextFact::Compressing { messages, before, source });
    call(step);
    true
}

/// Where the part begins that stays as it is: the last messages, as many as fit, from a point where no
/// tool use is parted from its result.
fn tail_start(session: &Session, room: u64) -> usize {
    let messages = session.conversation();
    let mut at = messages.len();
    let mut taken = 0;
    while at > session.summaries() {
        taken += session.weight(at - 1..at);
        if taken > room {
            break;
        }
        at -= 1;
    }
    let holds_results = |message: &Message| message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
    while messages.get(at).is_some_and(|message| holds_results(message)) {
        at += 1;
    }
    // The message that is to be answered stays, however large it is, and so do the tool uses that it is
    // the result of.
    let last = messages.len().saturating_sub(1);
    let parts = |at: usize| messages.get(at).is_some_and(|message| holds_results(message));
    at.min(if parts(last) { last.saturating_sub(1) } else { last })
}

/// Makes the next call that the summary needs, or ends it where all of it is summed up.
pub(super) fn call(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(compressing) = &active.compression.current else { return };
    let parts = parts(step.session, compressing);
    let done = &compressing.parts;
    let (system, words) = match done.len() {
        n if n < parts.len() => (SUMMARY_SYSTEM_PROMPT, parts[n].clone()),
        n if n == parts.len() && n > 1 => (REDUCE_SYSTEM_PROMPT, done.join("\n\n---\n\n")),
        _ => return finish(step),
    };
    let (model, facts) = fast(&active.request);
    let prompt = Prompt {
        model: model.to_owned(),
        max_output_tokens: SUMMARY_TOKENS.min(facts.max_output),
        temperature: Some(0.0),
        ..fragment::prompt(&[Fragment::stable("summary", system, CAP), Fragment::request(words, CAP)])
    };
    if let budget::BudgetVerdict::TooDear(_) = budget::allow(step.session, &prompt) {
        return give_up(step);
    }
    super::send(step, prompt, facts.prices, Purpose::Summary);
}

/// The source in parts that fit whoever sums it up.
fn parts(session: &Session, compressing: &Compressing) -> Vec<String> {
    let facts = session.active().map(|active| fast(&active.request).1).unwrap_or_default();
    let largest = (facts.window / 2).clamp(512, LARGEST_PART);
    let from = session.summaries();
    let to = (from + compressing.messages).min(session.conversation().len());
    let (mut parts, mut part, mut size) = (Vec::new(), String::new(), 0);
    for message in &session.conversation()[from..to] {
        let text = transcript(std::slice::from_ref(message), true);
        for piece in pieces(&text, largest) {
            let weight = estimate(piece);
            if size + weight > largest && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
                size = 0;
            }
            part.push_str(piece);
            size += weight;
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// A text in pieces of at most so many tokens; a token is at least a byte.
fn pieces(text: &str, largest: u64) -> impl Iterator<Item = &str> {
    let bytes = usize::try_from(largest).unwrap_or(usize::MAX).saturating_mul(2);
    let mut rest = text;
    std::iter::from_fn(move || {
        let cut = if rest.len() <= bytes { rest.len() } else { rest.floor_char_boundary(bytes) };
        let (piece, later) = rest.split_at(cut);
        rest = later;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Messages as a text. For a summary, what is stored elsewhere already is only named.
fn transcript(messages: &[Arc<Message>], for_summary: bool) -> String {
    let mut text = String::new();
    for message in messages {
        let who = match message.role {
            Role::User => "USER",
            Role::Assistant => "ASSISTANT",
        };
        for part in &message.parts {
            let _ = match part {
                // Whoever goes on from the summary is told again.
                Part::Text { text: words } if for_summary && fragment::is_note(words) => Ok(()),
                Part::Text { text: words } if for_summary && guard::is_archived(words) => {
                    writeln!(text, "{who}: {}", archived_line(words))
                }
                Part::Text { text: words } => writeln!(text, "{who}: {words}"),
                Part::Thinking { text: words, .. } if !for_summary => writeln!(text, "{who} thinks: {words}"),
                Part::Thinking { .. } | Part::RedactedThinking { .. } => Ok(()),
                Part::Image { image, .. } => writeln!(text, "{who} shows a picture: ref:{image}"),
                Part::ToolUse(call) => writeln!(text, "{who} uses {} {}", call.name, call.input),
                Part::ToolResult(result) if for_summary && guard::is_archived(&result.content) => {
                    writeln!(text, "RESULT: {}", archived_line(&result.content))
                }
                Part::ToolResult(result) => writeln!(text, "RESULT: {}", result.content),
            };
        }
    }
    text
}

fn archived_line(text: &str) -> &str {
    text.lines().rev().find(|line| guard::is_archived(line)).unwrap_or_default()
}

/// Nobody could sum it up: the first words of each message stand for it. The source is stored anyway.
pub(super) fn give_up(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(compressing) = &active.compression.current else { return };
    let request = active.request.id.clone();
    let from = step.session.summaries();
    let to = (from + compressing.messages).min(step.session.conversation().len());
    let mut words = String::from("(No model could sum this up; these are the first words of each message.)\n");
    for message in &step.session.conversation()[from..to] {
        let line = transcript(std::slice::from_ref(message), true);
        let line = line.lines().next().unwrap_or_default();
        let _ = writeln!(words, "{}", &line[..line.floor_char_boundary(160)]);
        if words.len() > 8 * 1024 {
            break;
        }
    }
    step.notify(&request, Level::Warning, Notice::NotSummarized);
    conclude(step, &words);
}

fn finish(step: &mut Transition<'_>) {
    let words = step
        .session
        .active()
        .and_then(|active| active.compression.current.as_ref())
        .and_then(|compressing| compressing.parts.last().cloned())
        .unwrap_or_default();
    if words.trim().is_empty() { give_up(step) } else { conclude(step, words.trim()) }
}

fn conclude(step: &mut Transition<'_>, words: &str) {
    let Some(active) = step.session.active() else { return };
    let Some(compressing) = active.compression.current.clone() else { return };
    let request = active.request.id.clone();
    let summary = summary(step.session, &compressing, words);
    let from = step.session.summaries();
    let gone = step.session.weight(from..from + compressing.messages);
    let after = compressing.before.saturating_sub(gone) + estimate(&summary);
    let (before, source) = (compressing.before, compressing.source);
    step.emit(Some(&request), ContextFact::Compressed { before, after, source, summary });
    next(step);
}

/// The summary as it stands in the conversation.
fn summary(session: &Session, compressing: &Compressing, words: &str) -> String {
    let from = session.summaries();
    let to = (from + compressing.messages).min(session.conversation().len());
    let part = &session.conversation()[from..to];
    let mut text = format!("{SUMMARY}\n{words}\n");
    let facts = session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let most = usize::try_from(facts.window / 2).unwrap_or(usize::MAX).clamp(512, 48 * 1024);
    let kept = verbatim(part, most);
    if !kept.is_empty() {
        let _ = write!(text, "\nNames and numbers in it, word for word: {}\n", kept.join(", "));
    }
    let open: Vec<&str> =
        session.todos().iter().filter(|todo| !todo.completed).map(|todo| todo.text.as_str()).collect();
    if !open.is_empty() {
        let _ = write!(text, "\nOpen steps:\n- {}\n", open.join("\n- "));
    }
    if let Some(active) = session.active() {
        let words = active.request.words();
        let _ =
            write!(text, "\nThe current request, word for word: {}\n", &words[..words.floor_char_boundary(8 * 1024)]);
        let running = active.flow.running();
        if let Some(step) = running.and_then(|step| flow::execute::told(&active.flow, step)) {
            let _ = write!(text, "\n{}\n", &step[..step.floor_char_boundary(8 * 1024)]);
        }
    }
    let _ = write!(text, "\nSource archived at ref:{}", compressing.source);
    text
}

/// A person's own words in a summary's place.
pub(super) fn edited(words: &str, source: &RefKey) -> String {
    format!("{SUMMARY}\n{}\n\nSource archived at ref:{source}", words.trim())
}

/// What a summary must not lose: file names, identifiers, numbers, addresses. Said by people and models
/// first, then asked of tools, then what tools found; the newest first in each, as far as there is room.
fn verbatim(messages: &[Arc<Message>], most: usize) -> Vec<String> {
    let mut kept = Vec::new();
    let mut known = BTreeSet::new();
    let mut left = most;
    for rank in 0..3 {
        for message in messages.iter().rev() {
            for part in &message.parts {
                let text = match (rank, part) {
                    (0, Part::Text { text })
                        if !text.starts_with(super::reflection::NOTE) && !fragment::is_note(text) =>
                    {
                        text.clone()
                    }
                    (1, Part::ToolUse(call)) => call.input.to_string(),
                    (2, Part::ToolResult(result)) => result.content.clone(),
                    _ => continue,
                };
                for token in tokens(&text) {
                    if known.contains(token) {
                        continue;
                    }
                    let Some(rest) = left.checked_sub(token.len() + 2) else { return kept };
                    left = rest;
                    known.insert(token.to_owned());
                    kept.push(token.to_owned());
                }
            }
        }
    }
    kept
}

/// The words of a text that are more than words.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
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
        let found: Vec<&str> = tokens(text).collect();
        for wanted in
            ["parse_header", "src/http/head.rs", "42", "HttpError::BadHead", "ABC-7", "1.5", "FOO_BAR", "3", "/go.sh"]
        {
            assert!(found.iter().any(|token| token.contains(wanted)), "{wanted}: {found:?}");
        }
        for word in ["Please", "fix", "see", "thanks", "It"] {
            assert!(!found.contains(&word), "{word}: {found:?}");
        }
    }

    #[test]
    fn what_is_stored_already_is_named_and_not_summed_up_again() {
        let key = RefKey::input_of(&"r1".parse().expect("an id"));
        let preview = guard::sandwich(&"x".repeat(9_000), 4_096, "result", &key);
        let part = Part::ToolResult(trimtab_vocab::ToolResult::success("t1", preview));
        let message = Arc::new(Message { role: Role::User, parts: vec![part] });
        assert_eq!(transcript(&[Arc::clone(&message)], true), "RESULT: [Full result saved as ref:input-r1]\n");
        assert!(transcript(&[message], false).len() > 4_000, "the archive has what the model saw");
    }

    #[test]
    fn files_that_are_named_leave_room_in_a_small_window() {
        let file = |text: &str| LoadedFile { path: "a".into(), text: text.into(), hash: None };
        let facts = |window| ModelFacts { window, ..ModelFacts::default() };
        let files = vec![file(&"é\n".repeat(500)), file(&"line\n".repeat(1_000)), file("last")];
        let texts = |window| -> Vec<String> {
            fitting(files.clone(), &facts(window)).into_iter().map(|file| file.text).collect()
        };
        assert_eq!(texts(200_000), files.iter().map(|file| file.text.clone()).collect::<Vec<_>>());
        let short = texts(4_096);
        assert_eq!(short[0], files[0].text, "what there is room for is whole");
        assert!(short.concat().len() < 3_072 + 200, "{}", short.concat().len());
        assert!(
            short[1].starts_with("line\nline\n") && short[1].contains("line\n[... the rest is left out"),
            "{}",
            short[1]
        );
        assert!(short[2].starts_with("[... the rest is left out; read it with read_file"), "{}", short[2]);
    }

    #[test]
    fn pieces_join_to_the_whole_and_split_no_character() {
        let text = "é🦀x".repeat(1_000);
        let joined: String = pieces(&text, 100).collect();
        assert_eq!(joined, text);
        assert!(pieces(&text, 100).all(|piece| piece.len() <= 200));
    }
}
