//! Words to a request: the gate that nothing said gets past unrecorded.

use trimtab_vocab::event::{RequestFact, Stage, StageFact};
use trimtab_vocab::{RefKey, Request};

use crate::Effect;
use crate::step::Step;

/// Words above this many bytes are stored whole and sent as head and tail.
pub const INLINE_LIMIT: usize = 256 * 1024;
const HEAD: usize = 24 * 1024;
const TAIL: usize = 8 * 1024;

pub(crate) fn take_in(step: &mut Step<'_>, request: Request) {
    if step.session.knows(&request.id) {
        return;
    }
    let was_idle = step.session.is_idle();
    let Request { id, mut text, mut refs, images, mode, settings } = request;
    if text.len() > INLINE_LIMIT {
        let key = RefKey::input_of(&id);
        let preview = sandwich(&text, &key);
        step.keep(key.clone(), std::mem::replace(&mut text, preview));
        refs.push(key);
    }
    step.say(Some(&id), RequestFact::Received { text, refs, images, mode, settings });
    step.say(
        Some(&id),
        StageFact { stage: Stage::Intake, label: "Analyzing request & architecting strategy...".into() },
    );
    if was_idle {
        step.ask(Effect::Admit { request: id });
    }
}

/// Head, a line that says what is missing and where it is, tail.
fn sandwich(text: &str, key: &RefKey) -> String {
    let head = &text[..text.floor_char_boundary(HEAD)];
    let tail = &text[text.ceil_char_boundary(text.len() - TAIL)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}\n[Full input saved as ref:{key}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_never_splits_a_character() {
        let key = RefKey::input_of(&"r1".parse().expect("id"));
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "🦀".repeat(80_000));
            let preview = sandwich(&text, &key);
            assert!(preview.len() < HEAD + TAIL + 200);
            assert!(preview.ends_with("[Full input saved as ref:input-r1]"));
        }
    }
}
