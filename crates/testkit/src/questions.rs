//! What must hold of every question that is opened, in a scenario as in a simulation: surfaces that know no more of a
//! question than the roles of its answers can then show it, and answer it.

use std::collections::BTreeSet;

use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::event::{CheckpointFact, CheckpointKind};

/// Says what is wrong with a question.
pub fn check(fact: &CheckpointFact) -> Result<(), String> {
    let CheckpointFact::Opened { checkpoint, kind, choices, ask, .. } = fact else { return Ok(()) };
    let wrong = |what: &str| Err(format!("{checkpoint} {what}: {ask:?} {choices:?}"));
    let has = |role: ChoiceRole| choices.iter().any(|choice| choice.role == role);
    let decides = |choice: &Choice| {
        use ChoiceRole::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        matches!(choice.role, AllowOnce | AllowAlways | RejectOnce | RejectAlways)
    };
    let ids: BTreeSet<&str> = choices.iter().map(|choice| choice.id.as_str()).collect();
    let numbers: BTreeSet<u8> = choices.iter().filter_map(|choice| choice.number).collect();
    if choices.is_empty() || ids.len() < choices.len() || numbers.len() < choices.len() {
        return wrong("has answers that cannot be told apart");
    }
    if matches!(ask, Ask::Other(_)) || ask.kind() != *kind {
        return wrong("is no kind of question");
    }
    match kind {
        CheckpointKind::Permission | CheckpointKind::Unknown => {
            let allows = has(ChoiceRole::AllowOnce) || has(ChoiceRole::AllowAlways);
            if !(allows && has(ChoiceRole::RejectOnce)) {
                return wrong("can not be allowed or not be rejected");
            }
            if choices.iter().any(|choice| !decides(choice) && choice.role != ChoiceRole::Dismiss) {
                return wrong("has an answer that neither allows nor rejects");
            }
        }
        _ if choices.iter().any(decides) => return wrong("permits nothing, and has an answer that allows or rejects"),
        _ => {}
    }
    let in_words = choices.iter().filter(|choice| choice.text == ChoiceText::Required).count();
    if *kind == CheckpointKind::Clarification && in_words != 1 {
        return wrong("is not answered by words alone");
    }
    let lasts = |choice: &Choice| choice.role == ChoiceRole::AllowAlways || choice.role == ChoiceRole::RejectAlways;
    if ask.permission().is_some() && choices.iter().any(|choice| lasts(choice) != choice.confirm) {
        return wrong("has an answer that makes a rule without a second step");
    }
    Ok(())
}
