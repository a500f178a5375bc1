//! Maps each effort level to each model: one table, from the providers' documentation.
//!
//! A level that a model does not have becomes the nearest one. A model without levels is sent nothing, and the user
//! is told.

use trimtab_vocab::{Effort, Prompt};

use super::openai::{ModelName, ServerKind};

/// The words of a family for off, minimal, low, medium, high and max.
type Levels = [&'static str; 6];

const CLASSIC: Levels = ["low", "low", "low", "medium", "high", "high"];
const GPT_5: Levels = ["minimal", "minimal", "low", "medium", "high", "high"];
const GPT_5_PRO: Levels = ["high"; 6];
const GPT_5_1: Levels = ["none", "low", "low", "medium", "high", "high"];
const GPT_5_2: Levels = ["none", "low", "low", "medium", "high", "xhigh"];
const GPT_5_2_CODEX: Levels = ["low", "low", "low", "medium", "high", "xhigh"];
const GPT_5_2_PRO: Levels = ["medium", "medium", "medium", "medium", "high", "xhigh"];
const TWO_WORDS: Levels = ["low", "low", "low", "high", "high", "high"];
const GEMINI_FLASH: Levels = ["none", "low", "low", "medium", "high", "high"];
const GEMINI_3_PRO: Levels = ["low", "low", "low", "high", "high", "high"];
const GEMINI_3_FLASH: Levels = ["minimal", "minimal", "low", "medium", "high", "high"];
/// DeepSeek has a separate switch that turns thinking off.
const DEEPSEEK: Levels = ["", "low", "low", "medium", "high", "max"];
/// OpenRouter translates these for each model.
const OPENROUTER: Levels = ["none", "minimal", "low", "medium", "high", "xhigh"];

/// The requested effort: a level, or the one that a number of tokens corresponds to.
pub(super) fn level(prompt: &Prompt) -> Option<Effort> {
    prompt.effort.or(Effort::from_tokens(prompt.thinking_tokens))
}

/// The thinking budget in tokens, for models that take a number.
pub(super) fn tokens(prompt: &Prompt) -> u32 {
    prompt.effort.map_or(prompt.thinking_tokens, Effort::tokens)
}

/// The words that a model takes in OpenAI's APIs, by its name; none: it takes none.
fn levels(name: ModelName<'_>) -> Option<Levels> {
    let is = |part: &str| name.has(part);
    if let Some(version) = name.gpt() {
        return match version {
            _ if is("chat") => None,
            (0..=4, _) => None,
            (5, 0) if is("pro") => Some(GPT_5_PRO),
            (5, 0) if is("codex") => Some(CLASSIC),
            (5, 0) => Some(GPT_5),
            (5, 1) if is("max") => Some(GPT_5_2_CODEX),
            (5, 1) if is("codex") => Some(CLASSIC),
            (5, 1) => Some(GPT_5_1),
            _ if is("pro") => Some(GPT_5_2_PRO),
            _ if is("codex") => Some(GPT_5_2_CODEX),
            _ => Some(GPT_5_2),
        };
    }
    if name.is_one_of(&["o1-mini", "o1-preview"]) {
        return None;
    }
    if name.is_one_of(&["grok-3-mini"]) {
        return Some(TWO_WORDS);
    }
    if name.is_one_of(&["gemini-2.5-flash", "gemini-2.5-flash-lite"]) {
        return Some(GEMINI_FLASH);
    }
    let classic = ["gpt-oss", "grok-4.3", "grok-4.5", "grok-4.7", "gemini-2.5", "gemini-3", "gemini-3.1"];
    (name.is_o_series() || name.is_one_of(&classic)).then_some(CLASSIC)
}

fn word(levels: Levels, level: Effort) -> &'static str {
    levels[level as usize]
}

/// The word for Chat Completions, where the model takes one.
pub(super) fn chat_word(server: ServerKind, name: ModelName<'_>, prompt: &Prompt) -> Option<&'static str> {
    if server == ServerKind::OpenRouter {
        return None;
    }
    // These refuse tools in this API unless thinking is off.
    if name.thinks_or_acts() && !prompt.tools.is_empty() {
        return Some("none");
    }
    let levels = if server == ServerKind::DeepSeek { Some(DEEPSEEK) } else { levels(name) };
    Some(word(levels?, level(prompt)?)).filter(|word| !word.is_empty())
}

/// The word for OpenRouter, which takes a number of tokens as well.
pub(super) fn openrouter_word(prompt: &Prompt) -> Option<&'static str> {
    prompt.effort.map(|level| word(OPENROUTER, level))
}

/// The word for the Responses API. An unknown model is sent the requested level.
pub(super) fn responses_word(name: ModelName<'_>, prompt: &Prompt) -> Option<&'static str> {
    Some(word(levels(name).unwrap_or(CLASSIC), level(prompt)?))
}

/// The word in the prompt of an open model: gpt-oss.
pub(super) fn open_word(level: Effort) -> &'static str {
    word(CLASSIC, level)
}

/// The level of thinking that Gemini takes in its own API, from the third generation on.
pub(super) fn gemini_word(name: ModelName<'_>, version: (u32, u32), level: Effort) -> &'static str {
    let levels = match version {
        (3, 0) if name.has("pro") => GEMINI_3_PRO,
        // 3.7 Flash and its successors no longer have `minimal`.
        (3, 0..=5) if name.has("flash") => GEMINI_3_FLASH,
        _ => CLASSIC,
    };
    word(levels, level)
}

/// The form for Claude, by generation and family. `(4, 8)` is 4.8.
pub(super) fn claude(generation: (u32, u32), model: &str, prompt: &Prompt) -> ClaudeEffort {
    let wanted = level(prompt);
    let is = |family: &str| model.contains(family);
    if generation < (4, 6) {
        return match prompt.effort {
            Some(_) if (1, 0) < generation && generation < (3, 7) => ClaudeEffort::Unsupported,
            _ => ClaudeEffort::Budget(tokens(prompt)),
        };
    }
    let Some(level) = wanted else { return ClaudeEffort::Unsaid };
    if level == Effort::Off {
        return match generation {
            // These think only on request.
            (4, _) => ClaudeEffort::Unsaid,
            (5, 0) if is("opus") || is("sonnet") || is("haiku") => ClaudeEffort::Disabled,
            _ if is("haiku") => ClaudeEffort::Disabled,
            _ if is("sonnet") => ClaudeEffort::BetweenTools,
            _ => ClaudeEffort::Word("low"),
        };
    }
    let most = if generation > (4, 6) || is("opus") { "max" } else { "high" };
    ClaudeEffort::Word(word(["low", "low", "low", "medium", "high", most], level))
}

/// How Claude is sent the effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaudeEffort {
    Unsaid,
    Unsupported,
    /// A number of tokens; 0: none.
    Budget(u32),
    Word(&'static str),
    Disabled,
    /// No thinking before the reply, only notes between tools.
    BetweenTools,
}

/// What the user should know about the level that they chose, if it does not hold as it is.
pub(super) fn note(prompt: &Prompt, model: &str, took: Took) -> Option<String> {
    let level = prompt.effort?;
    match took {
        Took::AsItIs => None,
        Took::Nothing => Some(format!(
            "{model} has no setting for effort, so effort = \"{}\" was not sent. Remove the setting, or choose another model.",
            level.name()
        )),
        Took::Least(word) => Some(format!("{model} cannot turn thinking off. Using \"{word}\" instead.")),
        Took::Nearest(word) => Some(format!("{model} has no effort \"{}\". Using \"{word}\" instead.", level.name())),
    }
}

/// What became of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    AsItIs,
    /// The model takes none.
    Nothing,
    /// It cannot be off; this is the least that the model has.
    Least(&'static str),
    /// The model does not have it; this is the nearest that it has.
    Nearest(&'static str),
}

impl Took {
    /// What became of a level that was sent as a word, or not.
    pub(super) fn from_word(prompt: &Prompt, word: Option<&'static str>) -> Self {
        match word {
            None => Self::Nothing,
            Some(word) if prompt.effort == Some(Effort::Off) && word != "none" => Self::Least(word),
            Some(_) => Self::AsItIs,
        }
    }

    /// The level that Gemini uses for this word. The highest is always `high`.
    pub(super) fn from_gemini(level: Effort, word: &'static str) -> Self {
        match level {
            Effort::Off => Self::Least(word),
            Effort::Max => Self::AsItIs,
            _ if word == level.name() => Self::AsItIs,
            _ => Self::Nearest(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_is_told_in_the_words_that_it_documents() {
        let prompt = |level| Prompt { effort: Some(level), ..Prompt::default() };
        for (model, words) in [
            ("o3", CLASSIC),
            ("gpt-5-mini", GPT_5),
            ("gpt-5-codex", CLASSIC),
            ("gpt-5-pro", GPT_5_PRO),
            ("gpt-5.1", GPT_5_1),
            ("gpt-5.1-codex-max", GPT_5_2_CODEX),
            ("gpt-5.4", GPT_5_2),
            ("gpt-5.3-codex", GPT_5_2_CODEX),
            ("openai/gpt-oss-20b", CLASSIC),
            ("grok-3-mini", TWO_WORDS),
            ("gemini-2.5-flash", GEMINI_FLASH),
            ("gemini-2.5-pro", CLASSIC),
        ] {
            let told = Effort::ALL.map(|level| responses_word(ModelName::new(model), &prompt(level)));
            assert_eq!(told, words.map(Some), "{model}");
            let told = Effort::ALL.map(|level| chat_word(ServerKind::Other, ModelName::new(model), &prompt(level)));
            assert_eq!(told, words.map(Some), "{model}");
        }
        for model in ["gpt-4o", "gpt-5-chat-latest", "o1-mini", "grok-4", "qwen3", "mistral-large"] {
            assert_eq!(chat_word(ServerKind::Other, ModelName::new(model), &prompt(Effort::High)), None, "{model}");
        }
    }

    #[test]
    fn gemini_is_told_a_level_that_it_has() {
        for (model, version, words) in [
            ("gemini-3-pro-preview", (3, 0), GEMINI_3_PRO),
            ("gemini-3.1-pro-preview", (3, 1), CLASSIC),
            ("gemini-3-flash-preview", (3, 0), GEMINI_3_FLASH),
            ("gemini-3.1-flash-lite", (3, 1), GEMINI_3_FLASH),
            ("gemini-3.5-flash", (3, 5), GEMINI_3_FLASH),
            ("gemini-3.8-flash", (3, 8), CLASSIC),
            ("gemini-4-argon", (4, 0), CLASSIC),
        ] {
            let told = Effort::ALL.map(|level| gemini_word(ModelName::new(model), version, level));
            assert_eq!(told, words, "{model}");
        }
        let medium = Prompt { effort: Some(Effort::Medium), ..Prompt::default() };
        let told = note(&medium, "gemini-3-pro", Took::from_gemini(Effort::Medium, "high")).expect("a note");
        assert_eq!(told, "gemini-3-pro has no effort \"medium\". Using \"high\" instead.");
        assert_eq!(Took::from_gemini(Effort::Max, "high"), Took::AsItIs);
        assert_eq!(Took::from_gemini(Effort::Low, "low"), Took::AsItIs);
        assert_eq!(Took::from_gemini(Effort::Off, "minimal"), Took::Least("minimal"));
    }

    #[test]
    fn claude_is_told_by_its_generation() {
        let told =
            |generation, model, level| claude(generation, model, &Prompt { effort: Some(level), ..Prompt::default() });
        use ClaudeEffort::{BetweenTools, Budget, Disabled, Unsaid, Unsupported, Word};
        for (generation, model, off, low, max) in [
            ((3, 5), "claude-3-5-sonnet", Unsupported, Unsupported, Unsupported),
            ((3, 7), "claude-3-7-sonnet", Budget(0), Budget(4_096), Budget(60_000)),
            ((4, 5), "claude-haiku-4-5", Budget(0), Budget(4_096), Budget(60_000)),
            ((4, 6), "claude-sonnet-4-6", Unsaid, Word("low"), Word("high")),
            ((4, 6), "claude-opus-4-6", Unsaid, Word("low"), Word("max")),
            ((5, 0), "claude-opus-5", Disabled, Word("low"), Word("max")),
            ((5, 0), "claude-fable-5", Word("low"), Word("low"), Word("max")),
            ((5, 5), "claude-opus-5-5", Word("low"), Word("low"), Word("max")),
            ((5, 5), "claude-sonnet-5-5", BetweenTools, Word("low"), Word("max")),
            ((5, 5), "claude-haiku-5-5", Disabled, Word("low"), Word("max")),
        ] {
            let all = [Effort::Off, Effort::Low, Effort::Max].map(|level| told(generation, model, level));
            assert_eq!(all, [off, low, max], "{model}");
        }
        let tokens = Prompt { thinking_tokens: 2_000, ..Prompt::default() };
        assert_eq!(claude((4, 5), "claude-haiku-4-5", &tokens), Budget(2_000));
        assert_eq!(claude((4, 8), "claude-opus-4-8", &tokens), Word("low"));
        assert_eq!(claude((4, 8), "claude-opus-4-8", &Prompt::default()), Unsaid);
    }

    #[test]
    fn a_level_that_does_not_hold_is_told() {
        let off = Prompt { effort: Some(Effort::Off), ..Prompt::default() };
        assert_eq!(note(&off, "gpt-5.2", Took::from_word(&off, Some("none"))), None);
        let told = note(&off, "o3", Took::from_word(&off, Some("low"))).expect("a note");
        assert_eq!(told, "o3 cannot turn thinking off. Using \"low\" instead.");
        assert!(note(&off, "gpt-4o", Took::from_word(&off, None)).expect("a note").contains("was not sent"));
        assert_eq!(note(&Prompt::default(), "gpt-4o", Took::Nothing), None);
    }
}
