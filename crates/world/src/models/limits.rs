//! Detects refusals that are about the model's limits: a full window, or no image support. Few providers have a code
//! for either, so the messages are matched. Each form below is one that a provider documents or sends.

use trimtab_vocab::{Fault, ProblemKind, Retry};

/// The hint for a full window, once nothing more can be left out. A fault with this hint is about the window by its
/// code, regardless of its message.
pub(super) const TOO_LONG: &str =
    "The conversation is too long for this model: start a new session, or choose a model with a larger context window.";
/// What to do about a model that cannot see.
const BLIND: &str = "This model cannot read images. Choose another model with --model, or set models.vision.";

/// Words that say that a prompt does not fit. In lower case.
const FULL: [&str; 21] = [
    // OpenAI, DeepSeek, vLLM, OpenRouter, LM Studio.
    "maximum context length",
    "exceeds the context window",
    "context_length_exceeded",
    "reduce the length of the messages",
    // llama.cpp.
    "exceeds the available context size",
    "exceed_context_size_error",
    // Anthropic.
    "prompt is too long",
    "exceed context limit",
    // Gemini.
    "exceeds the maximum number of tokens allowed",
    // Ollama.
    "exceeds the context length",
    "exceeded max context length",
    // vLLM.
    "is longer than the maximum model length",
    // LM Studio.
    "is loaded with context length of only",
    "reached context length of",
    "greater than the context length",
    // Mistral.
    "too large for model with",
    // xAI.
    "maximum prompt length is",
    // Together, and text-generation-inference.
    "tokens + `max_new_tokens` must be",
    // Bedrock.
    "input is too long for requested model",
    // Cohere.
    "too many tokens",
    // Moonshot.
    "exceeded model token limit",
];

/// Words before the number of tokens that the window holds.
const WINDOW: [&str; 14] = [
    "maximum context length is ",
    "maximum context length of ",
    "available context size (",
    "maximum number of tokens allowed (",
    "maximum model length of ",
    "context length of only ",
    "reached context length of ",
    "greater than the context length (",
    "too large for model with ",
    "maximum prompt length is ",
    "must be <= ",
    "exceeded model token limit: ",
    "tokens > ",
    "context window of ",
];

/// Words before the number of tokens that the prompt had.
const PROMPT: [&str; 11] = [
    "request (",
    "resulted in ",
    "prompt is too long: ",
    "input token count (",
    "prompt contains ",
    "prompt (length ",
    "your request has ",
    "request contains ",
    "exceed context limit: ",
    "you requested about ",
    "you requested ",
];

/// Words that say that a picture cannot be seen. In lower case.
const UNSEEN: [&str; 12] = [
    // llama.cpp.
    "image input is not supported",
    // Ollama.
    "missing data required for image input",
    "does not support image",
    "does not support vision",
    // LM Studio.
    "model does not support images",
    // vLLM.
    "is not a multimodal model",
    "at most 0 image(s)",
    // OpenRouter.
    "support image input",
    // DeepSeek, Groq, and servers whose messages have only words.
    "unknown variant `image_url`",
    "image_url is only supported",
    "content must be a string",
    "images are not supported",
];

/// A fault, with what it says about the model. Without pictures in the prompt, its words say nothing about the model's
/// eyes: "content must be a string" may be about a tool result just as well.
pub(super) fn explain(mut fault: Fault, has_pictures: bool) -> Fault {
    if !matches!(fault.problem.kind, ProblemKind::Refused | ProblemKind::Overloaded) {
        return fault;
    }
    let said = fault.problem.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let is_full = says(&FULL) || fault.problem.hint.as_deref() == Some(TOO_LONG);
    let (retry, hint) = if is_full {
        let (window, prompt) = (number_after(&said, &WINDOW).or_else(|| sum_limit(&said)), prompt_tokens(&said));
        (Retry::Shorter { window, prompt }, TOO_LONG)
    } else if has_pictures && says(&UNSEEN) {
        (Retry::WithoutImages, BLIND)
    } else {
        return fault;
    };
    fault.problem.kind = ProblemKind::Refused;
    fault.problem.message = fault.problem.message.replace("is overloaded or failing", "refused the request");
    fault.problem.hint = Some(hint.into());
    fault.retry = retry;
    fault
}

/// Where the reply is counted with the prompt, the prompt has its own number: `(9000 in the messages, …)`.
fn prompt_tokens(said: &str) -> Option<u64> {
    let own = [" in the messages", " of text input", " input tokens"].iter().find_map(|after| {
        let before = &said[..said.find(after)?];
        let start = before.rfind(|c: char| !c.is_ascii_digit() && c != ',').map_or(0, |at| at + 1);
        number(&before[start..])
    });
    own.or_else(|| number_after(said, &PROMPT))
}

/// `190000 + 20000 > 200000`.
fn sum_limit(said: &str) -> Option<u64> {
    let rest = &said[said.find("exceed context limit: ")?..];
    number(rest[rest.find("> ")? + 2..].trim_start())
}

fn number_after(said: &str, phrases: &[&str]) -> Option<u64> {
    // Our own words may hold the same phrase: "refused the request (HTTP 400)".
    phrases.iter().find_map(|phrase| said.match_indices(phrase).find_map(|(at, _)| number(&said[at + phrase.len()..])))
}

/// The number that a text begins with; its groups may be parted by commas.
fn number(text: &str) -> Option<u64> {
    let digits: String =
        text.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::Problem;

    use super::*;

    fn retry(kind: ProblemKind, said: &str) -> Retry {
        let problem = Problem::new(kind, format!("The provider refused the request (HTTP 400): {said}"));
        explain(Fault { problem, retry: Retry::Never }, true).retry
    }

    #[test]
    fn a_full_window_is_read_from_the_words_of_every_provider() {
        let cases = [
            ("request (2213 tokens) exceeds the available context size (2048 tokens), try increasing it", 2048, 2213),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (9000 in the \
                 messages, 1000 in the completion). Please reduce the length of the messages or completion.",
                8192,
                9000,
            ),
            (
                "This model's maximum context length is 16385 tokens. However, your messages resulted in 20000 tokens.",
                16385,
                20000,
            ),
            ("prompt is too long: 210531 tokens > 200000 maximum", 200_000, 210_531),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or \
                 `max_tokens` and try again",
                200_000,
                190_000,
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                1_048_576,
                1_200_000,
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                32768,
                40000,
            ),
            ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072, 537_812),
            ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
            (
                "This endpoint's maximum context length is 32768 tokens. However, you requested about 40,000 tokens.",
                32768,
                40000,
            ),
        ];
        for (said, window, prompt) in cases {
            let expected = Retry::Shorter { window: Some(window), prompt: Some(prompt) };
            assert_eq!(retry(ProblemKind::Refused, said), expected, "{said}");
        }
        let lm_studio = "Trying to keep the first 6000 tokens when context the overflows. However, the model is loaded \
                         with context length of only 4096 tokens, which is not enough.";
        assert_eq!(retry(ProblemKind::Refused, lm_studio), Retry::Shorter { window: Some(4096), prompt: None });
        for said in [
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "the input length exceeds the context length",
            "Input is too long for requested model.",
        ] {
            assert_eq!(retry(ProblemKind::Refused, said), Retry::Shorter { window: None, prompt: None }, "{said}");
        }
    }

    #[test]
    fn a_blind_model_is_told_from_an_overloaded_server() {
        let said = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
        assert_eq!(retry(ProblemKind::Overloaded, said), Retry::WithoutImages);
        let problem = Problem::new(ProblemKind::Overloaded, format!("The provider is overloaded or failing: {said}"));
        let explained = explain(Fault { problem, retry: Retry::Later { after_ms: None } }, true).problem;
        assert_eq!(explained.kind, ProblemKind::Refused);
        assert!(!explained.message.contains("overloaded"), "{}", explained.message);
    }

    #[test]
    fn a_refusal_of_a_prompt_without_pictures_says_nothing_about_eyes() {
        let problem = Problem::new(ProblemKind::Refused, "messages[3]: content must be a string");
        let fault = Fault { problem, retry: Retry::Never };
        assert_eq!(explain(fault.clone(), false), fault);
        assert_eq!(explain(fault, true).retry, Retry::WithoutImages);
    }

    #[test]
    fn other_refusals_stay_as_they_are() {
        for said in ["model is busy", "max_tokens must be positive", "invalid tool schema", "Loading model"] {
            assert_eq!(retry(ProblemKind::Refused, said), Retry::Never, "{said}");
        }
        assert_eq!(retry(ProblemKind::RateLimited, "too many tokens per minute"), Retry::Never);
    }
}
