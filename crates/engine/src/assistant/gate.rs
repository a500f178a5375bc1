//! Turns the router's verdict into one decision: its confidence comes first, then what the text names.

use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::{AutoMode, Entities, Where};

use super::scope;
use crate::route::RequestSignals;

/// Above this, a question that names nothing is only a question, regardless of the router.
const VERY_SURE: f64 = 0.85;

/// What is decided on.
pub(super) struct Case {
    pub(super) decision: RouteDecision,
    pub(super) confidence: f64,
    pub(super) entities: Entities,
    pub(super) filter: Where,
    pub(super) words: RequestSignals,
    /// It answers a question of ours.
    pub(super) answers: bool,
    /// There is something that could be asked: a question of the router's, or tasks to choose from.
    pub(super) askable: bool,
    /// What would be asked was asked already.
    pub(super) asked: bool,
}

/// The decision, and why.
pub(super) fn decide(case: &Case, settings: &AutoMode) -> (RouteDecision, &'static str) {
    use RouteDecision::{Chat, Clarify, Plan};
    let Case { decision, confidence, entities, filter, words, answers, askable, asked } = case;
    let strong = *answers || scope::is_strong(entities, filter);
    let only_asks = words.question && !words.change && !words.destroys;
    let destroys = settings.keyword_rules && words.destroys;
    let unsure = *confidence < settings.clarify_below;
    let sure = *confidence > settings.plan_above;
    match decision {
        _ if (unsure || *decision == Clarify) && *asked => (Plan, "it was asked already"),
        _ if unsure => (Clarify, "it is not clear enough"),
        Clarify if *askable => (Clarify, "it is not clear which tasks or days are meant"),
        Clarify => (Plan, "there is nothing to ask"),
        Chat if destroys => (Plan, "the request asks for a change"),
        Chat if !sure && strong && !only_asks => (Plan, "it is clear which tasks are meant"),
        Chat => (Chat, "words will do"),
        _ if sure && *confidence > VERY_SURE && only_asks && entities.is_empty() && filter.is_everything() => {
            (Chat, "it is a question, and no task is named")
        }
        _ if sure => (Plan, "changes are wanted"),
        _ if settings.keyword_rules && only_asks => (Chat, "it is a question"),
        _ if strong || destroys => (Plan, "it is clear which tasks are meant"),
        _ => (Chat, "it is not clear that changes are wanted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route;

    fn decided(text: &str, decision: RouteDecision, confidence: f64, change: impl Fn(&mut Case)) -> RouteDecision {
        let mut case = Case {
            decision,
            confidence,
            entities: Entities::default(),
            filter: Where::default(),
            words: route::words(text),
            answers: false,
            askable: true,
            asked: false,
        };
        change(&mut case);
        decide(&case, &AutoMode::default()).0
    }

    #[test]
    fn confidence_decides_at_the_documented_borders() {
        use RouteDecision::{Chat, Clarify, Plan};
        let at = |confidence| decided("The dentist", Plan, confidence, |_| {});
        assert_eq!([0.449, 0.45, 0.70, 0.701].map(at), [Clarify, Chat, Chat, Plan]);
        assert_eq!(decided("The dentist", Plan, 0.3, |case| case.askable = false), Clarify, "always");
    }

    #[test]
    fn thresholds_are_settings() {
        let case = Case {
            decision: RouteDecision::Plan,
            confidence: 0.3,
            entities: Entities::default(),
            filter: Where::default(),
            words: RequestSignals::default(),
            answers: false,
            askable: true,
            asked: false,
        };
        let settings = AutoMode { clarify_below: 0.1, plan_above: 0.2, ..AutoMode::default() };
        assert_eq!(decide(&case, &settings).0, RouteDecision::Plan);
    }

    #[test]
    fn what_is_named_makes_a_middling_confidence_do_and_a_question_stays_one() {
        use RouteDecision::{Chat, Plan};
        let today = "2026-11-15".parse().expect("a day");
        let dated = Entities { date: Some(today), ..Entities::default() };
        let many = Where { ids: Some(vec![1, 2]), ..Where::default() };
        let one = Where { ids: Some(vec![1]), ..Where::default() };
        assert_eq!(decided("Mark today done", Plan, 0.6, |case| case.entities = dated.clone()), Plan);
        assert_eq!(decided("Those two", Plan, 0.6, |case| case.filter = many.clone()), Plan);
        assert_eq!(decided("That one", Plan, 0.6, |case| case.filter = one.clone()), Chat);
        assert_eq!(decided("Mark today done", Chat, 0.6, |case| case.entities = dated.clone()), Plan);
        assert_eq!(decided("What is on today?", Plan, 0.6, |case| case.entities = dated.clone()), Chat);
        assert_eq!(decided("all of them", Plan, 0.6, |case| case.answers = true), Plan);
    }

    #[test]
    fn a_very_sure_plan_for_a_question_about_nothing_is_words() {
        use RouteDecision::{Chat, Plan};
        assert_eq!(decided("Why is this so?", Plan, 0.9, |_| {}), Chat);
        assert_eq!(decided("Why is this so?", Plan, 0.8, |_| {}), Plan);
        let named = Entities { text: Some("report".into()), ..Entities::default() };
        assert_eq!(decided("Why is this so?", Plan, 0.9, |case| case.entities = named.clone()), Plan);
    }

    #[test]
    fn plain_words_lean_the_decision_unless_they_must_not() {
        use RouteDecision::{Chat, Plan};
        assert_eq!(decided("Delete all of it", Plan, 0.6, |_| {}), Plan);
        assert_eq!(decided("Delete all of it", Chat, 0.9, |_| {}), Plan);
        let case = Case {
            decision: Plan,
            confidence: 0.6,
            entities: Entities::default(),
            filter: Where::default(),
            words: route::words("Delete all of it"),
            answers: false,
            askable: true,
            asked: false,
        };
        let settings = AutoMode { keyword_rules: false, ..AutoMode::default() };
        assert_eq!(decide(&case, &settings).0, Chat);
    }

    #[test]
    fn a_question_needs_something_to_ask_and_is_not_asked_twice() {
        use RouteDecision::{Clarify, Plan};
        assert_eq!(decided("Move it", Clarify, 0.6, |_| {}), Clarify);
        assert_eq!(decided("Move it", Clarify, 0.6, |case| case.askable = false), Plan);
        assert_eq!(decided("Move it", Clarify, 0.6, |case| case.asked = true), Plan);
        assert_eq!(decided("Move it", Plan, 0.2, |case| case.asked = true), Plan);
    }
}
