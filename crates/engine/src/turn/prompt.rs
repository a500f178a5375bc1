//! What the model is sent. Everything it sees is a fragment with a cap.

use trimtab_vocab::{ModelFacts, Prompt, Request};

use crate::record::Session;

/// For turns in words, without tools.
pub const AGENT_CHAT_SYSTEM_PROMPT: &str = "You are Trimtab, a copilot for people who work with files, commands and tasks. \
This turn is a conversation: you have no tools and cannot see or change anything. \
Answer directly and briefly, in Markdown where it helps. \
Say when you are not sure, and what you would need to know.";

/// Who is asked, and what is known about it: a message with pictures goes to whoever can see.
pub(super) fn model(request: &Request) -> (&str, ModelFacts) {
    let settings = &request.settings;
    if request.images.is_empty() || settings.vision_model.is_empty() {
        (&settings.model, settings.facts)
    } else {
        (&settings.vision_model, settings.vision_facts.unwrap_or_default())
    }
}

pub(super) fn build(session: &Session) -> Option<Prompt> {
    let request = &session.active()?.request;
    let (model, facts) = model(request);
    let settings = &request.settings;
    Some(Prompt {
        model: model.to_owned(),
        system: AGENT_CHAT_SYSTEM_PROMPT.to_owned(),
        messages: session.conversation().to_vec(),
        max_output_tokens: settings.max_output_tokens.min(facts.max_output),
        temperature: settings.temperature,
        thinking_tokens: if facts.thinking { settings.thinking_tokens } else { 0 },
        ..Prompt::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_of_a_conversation_is_small() {
        assert!(AGENT_CHAT_SYSTEM_PROMPT.len() < 1_000);
    }
}
