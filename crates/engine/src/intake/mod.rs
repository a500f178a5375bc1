//! Words to a request: the gate that nothing said gets past unrecorded.

mod references;

use trimtab_vocab::event::{RequestFact, RuleFact, Stage, StageFact};
use trimtab_vocab::{RefKey, Request};

use crate::Effect;
use crate::step::Step;
use crate::turn::{answers, guard};

pub use references::{NamedUrl, References, references};

/// Words above this many bytes are stored whole and sent as head and tail.
pub const INLINE_LIMIT: usize = 256 * 1024;
/// How much of them is sent then.
const PREVIEW: usize = 32 * 1024;

pub(crate) fn take_in(step: &mut Step<'_>, request: Request) {
    if step.session.knows(&request.id) {
        return;
    }
    answers::supersede(step);
    let was_idle = step.session.is_idle();
    let Request { id, mut text, mut refs, images, mode, mut settings } = request;
    // Rules are many and change seldom: they are recorded only when they are not as they were.
    let rules = std::mem::take(&mut settings.rules);
    if rules != step.session.rules() {
        step.say(None, RuleFact::Known { rules });
    }
    if text.len() > INLINE_LIMIT {
        let key = RefKey::input_of(&id);
        let preview = guard::sandwich(&text, PREVIEW, "input", &key);
        step.keep(key.clone(), std::mem::replace(&mut text, preview));
        refs.push(key);
    }
    step.say(Some(&id), RequestFact::Received { text, refs, images, mode, settings: Box::new(settings) });
    step.say(
        Some(&id),
        StageFact { stage: Stage::Intake, label: "Analyzing request & architecting strategy...".into() },
    );
    if was_idle {
        step.ask(Effect::Admit { request: id });
    }
}
