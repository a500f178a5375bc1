//! The size limit of a message. A larger one is stored first; the model gets its head, its tail, and the name for
//! reading the rest.

use trimtab_vocab::{RefKey, Request};

use crate::calls::model;
use crate::proposal::review::InputBudget;
use crate::tokens::estimate;
use crate::transition::Transition;
use crate::turn::guard;

/// Words above this many bytes are never sent whole, however large the window.
pub const INLINE_LIMIT: usize = 256 * 1024;
/// Bytes of larger words that are sent at most.
const PREVIEW: usize = 32 * 1024;

/// Tokens that are sent of any message by default, regardless of the window.
const LEAST: u64 = 512;

/// Tokens of one message that are sent: as many as is set, or half of what the model can read at once.
fn limit(request: &Request) -> u64 {
    match request.settings.context.input_tokens {
        0 => (model(request).1.window / 2).max(LEAST),
        tokens => tokens.into(),
    }
}

/// How much of a message is sent as it is.
pub fn input_budget(request: &Request) -> InputBudget {
    InputBudget { bytes: INLINE_LIMIT, tokens: limit(request) }
}

/// Whether words are stored and only their head and tail are sent.
pub(super) fn is_too_large(request: &Request, words: &str) -> bool {
    let limit = limit(request);
    // A token is hardly ever less than a byte, so that most words need not be looked at.
    words.len() > INLINE_LIMIT || (words.len() as u64 > limit && estimate(words) > limit)
}

/// Stores what is too large of a request: its words, and what a pill makes of them.
pub(super) fn pass(step: &mut Transition<'_>, request: &mut Request) {
    let typed = if request.pill.is_some() {
        // The model reads what the pill makes of it.
        request.text.len() > INLINE_LIMIT
    } else {
        is_too_large(request, &request.text)
    };
    let expanded = request.pill.as_ref().is_some_and(|pill| is_too_large(request, &pill.text));
    if typed {
        let key = RefKey::input_of(&request.id);
        let preview = shortened(request, &request.text, &key);
        step.store(key.clone(), std::mem::replace(&mut request.text, preview));
        request.refs.push(key);
    }
    if expanded && let Some(mut pill) = request.pill.take() {
        let key = RefKey::pill_of(&request.id);
        let preview = shortened(request, &pill.text, &key);
        step.store(key.clone(), std::mem::replace(&mut pill.text, preview));
        request.refs.push(key);
        request.pill = Some(pill);
    }
}

/// Head and tail: as many bytes as are about half of the tokens that may be sent, and no more than half of the words.
fn shortened(request: &Request, words: &str, key: &RefKey) -> String {
    let bytes = usize::try_from(limit(request).saturating_mul(3) / 2).unwrap_or(usize::MAX);
    guard::sandwich(words, bytes.min(PREVIEW).min(words.len() / 2), "input", key)
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::{ContextSettings, Mode, ModelFacts, ModelSettings, Pill, RunSettings};

    use super::*;
    use crate::record::Session;
    use crate::{Input, Output};

    fn request(text: &str, window: u64, input_tokens: u32) -> Request {
        let facts = ModelFacts { window, ..ModelFacts::default() };
        let context = ContextSettings { input_tokens, ..ContextSettings::default() };
        let models = ModelSettings { facts, ..ModelSettings::default() };
        Request::new("r1".parse().expect("an id"), text, RunSettings { models, context, ..RunSettings::default() })
    }

    /// What is sent of a text, and what is stored of it.
    fn sent(text: &str, window: u64, input_tokens: u32) -> (String, Option<String>) {
        let mut session = Session::default();
        crate::step(&mut session, Input::Opened { folder: "/p".into() });
        let said = Input::Said { request: Box::new(request(text, window, input_tokens)) };
        let outputs = crate::step(&mut session, said);
        let stored = outputs.into_iter().find_map(|output| match output {
            Output::Keep { key, text } if key.as_str() == "input-r1" => Some(text),
            _ => None,
        });
        (session.active().expect("it is worked on").request.text.clone(), stored)
    }

    #[test]
    fn a_message_above_half_of_the_window_is_stored_whole_and_sent_as_head_and_tail() {
        let words = "One two three four five. ".repeat(400);
        let tokens = estimate(&words);
        let (whole, stored) = sent(&words, tokens * 2, 0);
        assert_eq!((whole.as_str(), stored), (words.as_str(), None), "what just fits is sent");
        let (short, stored) = sent(&words, tokens * 2 - 2, 0);
        assert_eq!(stored.as_deref(), Some(words.as_str()));
        assert!(
            short.starts_with("One two") && short.ends_with("five. \n[Full input saved as ref:input-r1]"),
            "{short}"
        );
        assert!(estimate(&short) < tokens * 3 / 4, "{}", estimate(&short));
    }

    #[test]
    fn the_limit_can_be_set_and_holds_for_every_script() {
        for words in
            ["a b c d ".repeat(20), "今日はとても良い天気ですね。".repeat(9), "🦀".repeat(70), "{[(!)]}".repeat(30)]
        {
            let tokens = u32::try_from(estimate(&words)).expect("a few");
            assert_eq!(sent(&words, 200_000, tokens).1, None, "{words}");
            let (short, stored) = sent(&words, 200_000, tokens - 1);
            assert_eq!(stored.as_deref(), Some(words.as_str()));
            let shown = short.find("\n[... ").expect("a mark of what is left out");
            assert!(shown <= words.len() / 2 && short.contains("ref:input-r1"), "{short}");
        }
    }

    #[test]
    fn what_a_pill_makes_of_the_words_is_stored_and_the_words_stay() {
        let text = "Review every line of this. ".repeat(20);
        let pill = Pill {
            name: "review".into(),
            from: "review.md".into(),
            text: text.clone(),
            mode: Mode::Auto,
            categories: Vec::new(),
            tools: Vec::new(),
            skill: None,
        };
        let mut session = Session::default();
        crate::step(&mut session, Input::Opened { folder: "/p".into() });
        let request = Request { pill: Some(Box::new(pill)), ..request("/review", 200_000, 40) };
        let outputs = crate::step(&mut session, Input::Said { request: Box::new(request) });
        let stored = |output: &Output| matches!(output, Output::Keep { key, text: kept } if key.as_str() == "pill-r1" && *kept == text);
        assert!(outputs.iter().any(stored));
        let request = &session.active().expect("it is worked on").request;
        assert_eq!(request.text, "/review");
        assert!(request.words().len() < text.len() && request.words().contains("ref:pill-r1"), "{}", request.words());
        assert!(request.refs.iter().all(|key| !key.is_input()));
    }

    #[test]
    fn what_no_window_should_hold_is_stored_whatever_is_set() {
        let words = "x".repeat(INLINE_LIMIT + 1);
        assert!(sent(&words, 10_000_000, 1_000_000).1.is_some());
        assert_eq!(sent(&words[1..], 10_000_000, 1_000_000).1, None);
        assert_eq!(sent("", 0, 1), (String::new(), None));
        assert_eq!(sent(&"one two ".repeat(200), 0, 0).1, None, "a window of nothing is none");
    }
}
