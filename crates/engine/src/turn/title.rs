//! A name for the session, found by the fast model beside the work. Without one that is set for such
//! work, the first words of the first request are the name: a name is not worth a call of a dear model.

use std::sync::Arc;

use trimtab_vocab::event::{SessionFact, UsageFact};
use trimtab_vocab::{Message, Prompt, RequestId, Usage};

use crate::Effect;
use crate::step::Step;

const TITLE_SYSTEM_PROMPT: &str = "Give this conversation a name of three to six words that says what it is about. \
Answer with the name alone: one line, no quotes, no full stop.";

/// Bytes of the request that the name is found from.
const WORDS: usize = 2_000;
/// Characters of a name at most.
const LONGEST: usize = 60;

/// Asks for a name, if the session has none and somebody is there for such work.
pub(super) fn ask(step: &mut Step<'_>) {
    let Some(active) = step.session.active() else { return };
    let settings = &active.request.settings;
    if settings.fast_model.is_empty() || step.session.title().is_some() || step.session.conversation().len() > 1 {
        return;
    }
    let words = active.request.words();
    let prompt = Prompt {
        model: settings.fast_model.clone(),
        system: TITLE_SYSTEM_PROMPT.into(),
        messages: vec![Arc::new(Message::user(&words[..words.floor_char_boundary(WORDS)]))],
        max_output_tokens: 32,
        temperature: Some(0.0),
        ..Prompt::default()
    };
    let request = active.request.id.clone();
    step.ask(Effect::Title { request, prompt: Box::new(prompt) });
}

/// A person gave it a name: whatever else it is called, or is about to be.
pub(crate) fn renamed(step: &mut Step<'_>, title: String) {
    if !title.is_empty() {
        step.say(None, SessionFact::Titled { title, by: Some("user".into()) });
    }
}

/// A name was found.
pub(crate) fn titled(step: &mut Step<'_>, _: &RequestId, title: &str, model: String, usage: Usage) {
    let line = title.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_matches(['"', '\'', '`', '*', '#', '.', ' ', '“', '”']);
    let title: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    // A person may have given it a name meanwhile, which stays. What the call cost, it cost.
    if !title.is_empty() && step.session.title().is_none() {
        step.say(None, SessionFact::Titled { title, by: None });
    }
    step.say(None, UsageFact { model, usage, context_tokens: None, context_window: None });
}
