//! The title of a session, found by the fast model in parallel with the work. If no fast model is set, the title is
//! the beginning of the first request, because a title is not worth an expensive call.

use trimtab_vocab::event::{SessionFact, UsageFact};
use trimtab_vocab::{Prompt, RequestId, Usage};

use crate::Effect;
use crate::fragment::{self, Fragment};
use crate::transition::Transition;

const TITLE_SYSTEM_PROMPT: &str = "Write a title of three to six words for this conversation. Answer with the title only: one line, no quotes, no period.";

/// Bytes of the request that the name is found from.
const WORDS: usize = 2_000;
/// Characters of a name at most.
const LONGEST: usize = 60;

/// Asks for a title, if the session has none and a fast model is set.
pub(super) fn ask(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let settings = &active.request.settings;
    if settings.models.fast_model.is_empty() || step.session.title().is_some() || step.session.conversation().len() > 1
    {
        return;
    }
    let words = active.request.words();
    let prompt = Prompt {
        model: settings.models.fast_model.clone(),
        max_output_tokens: 32,
        temperature: Some(0.0),
        ..fragment::prompt(&[
            Fragment::stable("title", TITLE_SYSTEM_PROMPT, WORDS),
            Fragment::request(words.to_owned(), WORDS),
        ])
    };
    let request = active.request.id.clone();
    step.request(Effect::Title { request, prompt: Box::new(prompt) });
}

/// The user renamed the session, which overrides every other title.
pub(crate) fn renamed(step: &mut Transition<'_>, title: String) {
    if !title.is_empty() {
        step.emit(None, SessionFact::Titled { title, by: Some("user".into()) });
    }
}

/// A name was found.
pub(crate) fn titled(step: &mut Transition<'_>, _: &RequestId, title: &str, model: String, usage: Usage) {
    let line = title.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_matches(['"', '\'', '`', '*', '#', '.', ' ', '“', '”']);
    let title: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    // The user may have given it a name meanwhile, which stays. What the call cost, it cost.
    if !title.is_empty() && step.session.title().is_none() {
        step.emit(None, SessionFact::Titled { title, by: None });
    }
    step.emit(
        None,
        UsageFact { model, usage, context_tokens: None, context_window: None, unfinished: false, worker: None },
    );
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::{Fact, ModelSettings, Request, RunSettings};

    use super::*;
    use crate::record::Session;
    use crate::{Input, Output, step};

    /// A session whose first request was just admitted, and its effects.
    fn begun(name: Option<&str>) -> (Session, Vec<Effect>) {
        let mut session = Session::default();
        let id: RequestId = "r1".parse().expect("an id");
        let settings = RunSettings {
            models: ModelSettings { model: "m/dear".into(), fast_model: "m/fast".into(), ..ModelSettings::default() },
            trust: trimtab_vocab::FolderTrust::WHOLE,
            ..RunSettings::default()
        };
        step(&mut session, Input::Opened { folder: "/p".into() });
        if let Some(name) = name {
            step(&mut session, Input::Renamed { title: name.into() });
        }
        step(&mut session, Input::Said { request: Box::new(Request::new(id.clone(), "tidy up", settings)) });
        let outputs = step(&mut session, Input::Admitted { request: id });
        let effect = |output| match output {
            Output::Effect(effect) => Some(effect),
            _ => None,
        };
        (session, outputs.into_iter().filter_map(effect).collect())
    }

    fn found(session: &mut Session, title: &str) -> Vec<Output> {
        let request = "r1".parse().expect("an id");
        step(session, Input::Titled { request, title: title.into(), model: "m/fast".into(), usage: Usage::default() })
    }

    #[test]
    fn a_session_without_a_name_gets_one_while_the_work_goes_on() {
        let (mut session, effects) = begun(None);
        assert!(
            effects.iter().any(|effect| matches!(effect, Effect::Title { prompt, .. } if prompt.model == "m/fast"))
        );
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Load { .. })), "nothing waits for it");
        found(&mut session, "\n\"Tidying up.\"\nor so");
        assert_eq!(session.title(), Some("Tidying up"));
    }

    #[test]
    fn a_name_that_a_person_gave_stays() {
        let (session, effects) = begun(Some("My boat"));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Title { .. })), "nobody is asked");
        assert_eq!(session.title(), Some("My boat"));
        let (mut session, _) = begun(None);
        step(&mut session, Input::Renamed { title: "My boat".into() });
        let late = found(&mut session, "Another name");
        assert_eq!(session.title(), Some("My boat"), "given while the model thought");
        let paid = |output: &Output| matches!(output, Output::Event { fact: Fact::Usage(_), .. });
        assert!(late.iter().any(paid), "what the call cost, it cost");
    }
}
