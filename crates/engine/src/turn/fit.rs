//! The last check before a prompt is sent: what the model cannot accept is left out, and the prompt never exceeds the
//! window. The conversation itself stays complete.

use std::sync::Arc;

use trimtab_vocab::{Message, ModelFacts, Part, Prompt};

use super::learning::unseen_picture;
use super::summary;
use crate::record::weight_of;
use crate::tokens::estimate;
use crate::tools;

/// Tokens that are always left for the reply, in the smallest window too.
const SHORTEST_REPLY: u64 = 128;
/// Bytes that are kept of the head and of the tail of a text that is cut, at least.
const SHORTEST_EXCERPT: usize = 200;

/// Makes a prompt one that the model can take. `used`: tokens that it has, about.
pub(super) fn fit(prompt: &mut Prompt, facts: &ModelFacts, used: u64) {
    if facts.blind {
        leave_out_pictures(prompt);
    }
    if !facts.tools {
        tell_of_tools(prompt);
    }
    let reply = u64::from(prompt.max_output_tokens).min(facts.window / 4).max(SHORTEST_REPLY);
    let room = facts.window.saturating_sub(reply);
    let used = if used > room { used.saturating_sub(shorten(prompt, used - room, room)) } else { used };
    // The guess may be low by an eighth.
    let left = facts.window.saturating_sub(used + used / 8).max(SHORTEST_REPLY);
    prompt.max_output_tokens = prompt.max_output_tokens.min(u32::try_from(left).unwrap_or(u32::MAX));
    prompt.thinking_tokens = match prompt.thinking_tokens {
        thinking if thinking >= prompt.max_output_tokens => prompt.max_output_tokens / 2,
        thinking => thinking,
    };
}

fn leave_out_pictures(prompt: &mut Prompt) {
    let is_picture = |part: &Part| matches!(part, Part::Image { .. });
    for message in &mut prompt.messages {
        if message.parts.iter().any(is_picture) {
            let parts = message.parts.iter().map(|part| if is_picture(part) { unseen_picture() } else { part.clone() });
            *message = Arc::new(Message { role: message.role, parts: parts.collect() });
        }
    }
}

/// Calls and results of earlier turns in words, for a model that is offered no tools: templates without them fail at such
/// messages.
fn tell_of_tools(prompt: &mut Prompt) {
    let is_of_tools = |part: &Part| matches!(part, Part::ToolUse(_) | Part::ToolResult(_));
    let in_words = |part: &Part| match part {
        Part::ToolUse(call) => Part::Text { text: format!("[{} {}]", call.name, call.input) },
        Part::ToolResult(result) => Part::Text { text: format!("[Result]\n{}", result.content) },
        part => part.clone(),
    };
    for message in &mut prompt.messages {
        if message.parts.iter().any(is_of_tools) {
            let parts = message.parts.iter().map(in_words).collect();
            *message = Arc::new(Message { role: message.role, parts });
        }
    }
}

/// Cuts the middle out of the largest texts until `excess` tokens are gone; how many are.
fn shorten(prompt: &mut Prompt, excess: u64, room: u64) -> u64 {
    let fixed = estimate(&prompt.system) + tools::registry().weight(&prompt.tools);
    let before: u64 = prompt.messages.iter().map(|message| weight_of(message)).sum();
    let wanted = before.saturating_sub(excess).min(room.saturating_sub(fixed));
    // Halve the longest text that may have any length, until it fits: few are much longer than the rest.
    let mut longest = prompt.messages.iter().flat_map(|message| message.parts.iter().map(length)).max().unwrap_or(0);
    let mut after = before;
    while after > wanted && longest > SHORTEST_EXCERPT * 2 {
        longest = longest * 3 / 4;
        for message in &mut prompt.messages {
            if message.parts.iter().any(|part| length(part) > longest) {
                let parts = message.parts.iter().map(|part| cut(part, longest)).collect();
                *message = Arc::new(Message { role: message.role, parts });
            }
        }
        after = prompt.messages.iter().map(|message| weight_of(message)).sum();
    }
    before.saturating_sub(after)
}

fn length(part: &Part) -> usize {
    match part {
        Part::Text { text } => summary::split_end(text).0.len(),
        Part::ToolResult(result) => result.content.len(),
        _ => 0,
    }
}

fn cut(part: &Part, longest: usize) -> Part {
    if length(part) <= longest {
        return part.clone();
    }
    match part {
        Part::Text { text } => {
            let (beginning, end) = summary::split_end(text);
            Part::Text { text: excerpt(beginning, longest) + end }
        }
        Part::ToolResult(result) => {
            let mut result = result.clone();
            result.content = excerpt(&result.content, longest);
            Part::ToolResult(result)
        }
        part => part.clone(),
    }
}

/// The head and the tail of a text. A mark of an earlier cut is cut with the rest.
fn excerpt(text: &str, longest: usize) -> String {
    let half = (longest / 2).max(SHORTEST_EXCERPT);
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len().saturating_sub(half)));
    if head >= tail {
        return text.to_owned();
    }
    format!("{}\n[... left out, because it does not fit your window ...]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_vocab::{ImageRef, RefKey, Role};

    fn prompt(texts: &[&str]) -> Prompt {
        let messages = texts.iter().map(|text| Arc::new(Message::user(*text))).collect();
        Prompt { messages, max_output_tokens: 16_384, ..Prompt::default() }
    }

    fn tokens(prompt: &Prompt) -> u64 {
        prompt.messages.iter().map(|message| weight_of(message)).sum()
    }

    #[test]
    fn a_prompt_never_has_more_tokens_than_the_window() {
        let long = "The quick brown fox reads src/main.rs at line 42.\n".repeat(2_000);
        for window in [1_024, 2_048, 4_096, 8_192, 32_768] {
            let mut sent = prompt(&["Summarize this.", &long, "And this is the question."]);
            let used = tokens(&sent);
            let facts = ModelFacts { window, ..ModelFacts::default() };
            fit(&mut sent, &facts, used);
            let left = tokens(&sent);
            assert!(left + u64::from(sent.max_output_tokens) <= window, "{window}: {left}");
            assert!(left > window / 3, "{window}: {left} is less than there is room for");
            assert_eq!(sent.messages[0].text(), "Summarize this.");
            assert_eq!(sent.messages[2].text(), "And this is the question.");
        }
    }

    #[test]
    fn the_request_that_a_summary_ends_with_is_sent_in_any_window() {
        let end = "\n\nThe current request, word for word: fix the parser\n\nSource archived at ref:context-r1-1";
        let summary = format!("[CONVERSATION SUMMARY]\n{}{end}", "It read src/main.rs and found nothing. ".repeat(200));
        for window in [1_024, 2_048] {
            let mut sent = prompt(&[&summary, "Continue."]);
            let used = tokens(&sent);
            fit(&mut sent, &ModelFacts { window, ..ModelFacts::default() }, used);
            let text = sent.messages[0].text();
            assert!(text.len() < summary.len() && text.ends_with(end), "{window}: {text}");
        }
    }

    #[test]
    fn a_prompt_that_fits_is_sent_unchanged_with_what_is_left_for_the_reply() {
        let mut sent = prompt(&["Hello"]);
        fit(&mut sent, &ModelFacts { window: 200_000, ..ModelFacts::default() }, 1_000);
        assert_eq!((sent.messages[0].text().as_str(), sent.max_output_tokens), ("Hello", 16_384));
        fit(&mut sent, &ModelFacts { window: 8_192, ..ModelFacts::default() }, 4_000);
        assert_eq!(sent.max_output_tokens, 8_192 - 4_500);
    }

    #[test]
    fn pictures_are_left_out_only_where_the_model_is_known_to_be_blind() {
        let key = RefKey::image_of(&"r1".parse().expect("an id"), 0);
        let ImageRef { key, media_type } = ImageRef { key, media_type: "image/png".into() };
        let parts = vec![Part::Text { text: "What is this?".into() }, Part::Image { image: key, media_type }];
        let seen = Prompt { messages: vec![Arc::new(Message { role: Role::User, parts })], ..prompt(&[]) };
        let has_picture = |facts: ModelFacts| {
            let mut sent = seen.clone();
            fit(&mut sent, &facts, 10);
            sent.messages[0].parts.iter().any(|part| matches!(part, Part::Image { .. }))
        };
        assert!(has_picture(ModelFacts::default()), "nobody knows whether it sees");
        assert!(!has_picture(ModelFacts { blind: true, ..ModelFacts::default() }));
    }
}
