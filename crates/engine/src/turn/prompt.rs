//! What the model is sent. Everything it sees is a fragment with a cap.

use trimtab_vocab::Prompt;

use crate::record::Session;

/// For turns in words, without tools.
pub const AGENT_CHAT_SYSTEM_PROMPT: &str = "You are Trimtab, a copilot for people who work with files, commands and tasks. \
This turn is a conversation: you have no tools and cannot see or change anything. \
Answer directly and briefly, in Markdown where it helps. \
Say when you are not sure, and what you would need to know.";

pub(super) fn build(session: &Session) -> Option<Prompt> {
    let active = session.active()?;
    Some(Prompt {
        model: active.request.settings.model.clone(),
        system: AGENT_CHAT_SYSTEM_PROMPT.to_owned(),
        messages: session.conversation().to_vec(),
        max_output_tokens: active.request.settings.max_output_tokens,
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
