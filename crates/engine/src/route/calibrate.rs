//! Turns a model's classification into one decision: clear words come first, then the model's confidence, then
//! whether tools are needed at all.

use trimtab_vocab::event::{RouteDecision, RouteFact};
use trimtab_vocab::wording::OwnWords;
use trimtab_vocab::{Analysis, Copilot, Question, Routing};

use super::classify::RouteClass;
use super::words::RequestSignals;

/// The question if the model found none.
pub(crate) const DEFAULT_QUESTION: OwnWords = OwnWords::AsksWhatAndHow;

/// The decision.
pub(super) fn decide(verdict: RouteClass, words: RequestSignals, copilot: &Copilot) -> RouteFact {
    let RouteClass { decision, confidence, complexity, categories, reason: said, mut analysis } = verdict;
    let (is_unsure, is_sure) = (confidence < copilot.unsure_below, confidence > copilot.sure_above);
    let eager = copilot.intelligent_routing == Routing::Aggressive;
    let complex = analysis.is_complex(complexity);
    let work = if complex && copilot.enable_planning { RouteDecision::Plan } else { RouteDecision::Direct };
    let asks_for_work = words.change || words.destroys;
    let (decision, why) = match decision {
        // The words say what the model overheard.
        RouteDecision::Chat | RouteDecision::Image if asks_for_work && words.here => {
            (work, "the request asks for work in the folder")
        }
        RouteDecision::Image => (RouteDecision::Image, "the request asks for an image"),
        RouteDecision::Chat if !is_unsure || !asks_for_work => (RouteDecision::Chat, "words will do"),
        _ if is_unsure && eager => (RouteDecision::Clarify, "it is not clear enough"),
        _ if is_unsure => (work, "it is not clear, and action is preferred"),
        RouteDecision::Clarify if eager || is_sure => (RouteDecision::Clarify, "an answer is needed first"),
        _ if eager && !analysis.missing.is_empty() => (RouteDecision::Clarify, "information is missing"),
        _ if !is_sure && words.question && !asks_for_work && !words.here => {
            (RouteDecision::Chat, "it is a question that names nothing in the folder")
        }
        _ if !asks_for_work && !words.here && analysis.tool_need.is_some_and(|need| need < copilot.no_tools_below) => {
            (RouteDecision::Chat, "tools are probably not needed")
        }
        _ if complex && copilot.enable_planning => (RouteDecision::Plan, "it is a large task"),
        _ => (RouteDecision::Direct, "it can be done directly"),
    };
    if decision == RouteDecision::Clarify {
        ask_something(&mut analysis);
    } else {
        analysis.questions.clear();
    }
    let categories = match decision {
        RouteDecision::Chat | RouteDecision::Image => Vec::new(),
        _ => categories,
    };
    let reason = if said.is_empty() { why.to_owned() } else { format!("{why}: {said}") };
    RouteFact {
        decision,
        confidence,
        complexity,
        categories,
        reason,
        entities: None,
        filter: None,
        category: None,
        analysis: Some(analysis),
    }
}

/// A question is asked, or nothing could answer it. Where it is known what is missing, that is asked for.
fn ask_something(analysis: &mut Analysis) {
    if analysis.questions.is_empty() && analysis.missing.is_empty() {
        let text = DEFAULT_QUESTION.into();
        analysis.questions.push(Question { id: "q1".into(), text, ..Question::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::words;

    fn routed(
        text: &str,
        decision: RouteDecision,
        confidence: f64,
        change: impl Fn(&mut RouteClass, &mut Copilot),
    ) -> RouteDecision {
        let mut verdict = RouteClass {
            decision,
            confidence,
            complexity: 10,
            categories: vec!["files".into()],
            reason: String::new(),
            analysis: Analysis { steps: 1, files: 1, ..Analysis::default() },
        };
        let mut copilot = Copilot { intelligent_routing: Routing::Aggressive, ..Copilot::default() };
        change(&mut verdict, &mut copilot);
        decide(verdict, words::read(text), &copilot).decision
    }

    #[test]
    fn confidence_decides_at_the_documented_borders() {
        use RouteDecision::{Chat, Clarify, Direct};
        let question = "Which database is better?";
        let at = |confidence| routed(question, Direct, confidence, |_, _| {});
        assert_eq!([0.449, 0.45, 0.70, 0.701].map(at), [Clarify, Chat, Chat, Direct]);
        let named = |confidence| routed("Rename x in src/a.rs", Direct, confidence, |_, _| {});
        assert_eq!(
            [0.449, 0.45, 0.70, 0.701].map(named),
            [Clarify, Direct, Direct, Direct],
            "what is named comes first"
        );
    }

    #[test]
    fn other_borders_decide_where_they_are_set() {
        use RouteDecision::{Chat, Clarify, Direct};
        let at = |unsure_below: f64, sure_above: f64, confidence: f64| {
            routed("Which database is better?", Direct, confidence, |_, copilot| {
                (copilot.unsure_below, copilot.sure_above) = (unsure_below, sure_above);
            })
        };
        assert_eq!([0.299, 0.3, 0.9, 0.901].map(|it| at(0.3, 0.9, it)), [Clarify, Chat, Chat, Direct]);
        assert_eq!([0.449, 0.45, 0.70, 0.701].map(|it| at(0.3, 0.9, it)), [Chat; 4]);
        assert_eq!([0.599, 0.6, 0.601].map(|it| at(0.6, 0.6, it)), [Clarify, Chat, Direct], "one border for both");
        assert_eq!([0.0, 0.001].map(|it| at(0.0, 0.0, it)), [Chat, Direct], "nobody is asked");
    }

    #[test]
    fn tools_are_left_out_below_the_need_that_is_set() {
        use RouteDecision::{Chat, Direct};
        let at = |border: Option<f64>, need: f64| {
            routed("Tell me something about closures", Direct, 0.95, |verdict, copilot| {
                verdict.analysis.tool_need = Some(need);
                copilot.no_tools_below = border.unwrap_or(copilot.no_tools_below);
            })
        };
        assert_eq!([0.249, 0.25].map(|need| at(None, need)), [Chat, Direct]);
        assert_eq!([0.25, 0.599, 0.6].map(|need| at(Some(0.6), need)), [Chat, Chat, Direct]);
        assert_eq!(at(Some(0.0), 0.0), Direct, "the rule is off");
    }

    #[test]
    fn who_prefers_action_is_asked_only_where_it_is_certain_that_they_must_be() {
        use RouteDecision::{Clarify, Direct};
        let minimal = |confidence: f64, decision| {
            routed("Improve it", decision, confidence, |verdict, copilot| {
                verdict.analysis.missing = vec!["purpose".into()];
                copilot.intelligent_routing = Routing::Minimal;
            })
        };
        assert_eq!([minimal(0.3, Direct), minimal(0.6, Clarify), minimal(0.9, Clarify)], [Direct, Direct, Clarify]);
        let eager = routed("Improve it", Direct, 0.9, |verdict, _| verdict.analysis.missing = vec!["purpose".into()]);
        assert_eq!(eager, Clarify);
    }

    #[test]
    fn much_work_is_planned_unless_plans_are_off() {
        use RouteDecision::{Direct, Plan};
        let work = |planning: bool, complexity: u8, steps: u32| {
            routed("Port the server to async", Direct, 0.9, |verdict, copilot| {
                (verdict.complexity, verdict.analysis.steps, copilot.enable_planning) = (complexity, steps, planning);
            })
        };
        assert_eq!(
            [work(true, 29, 2), work(true, 30, 2), work(true, 0, 3), work(false, 90, 9)],
            [Direct, Plan, Plan, Direct]
        );
    }

    #[test]
    fn work_is_never_taken_for_talk_and_talk_needs_no_tools() {
        use RouteDecision::{Chat, Direct, Image};
        assert_eq!(routed("Delete the old logs in this folder", Chat, 0.99, |_, _| {}), Direct);
        assert_eq!(routed("Add a logo to our header in src/app.html", Image, 0.99, |_, _| {}), Direct);
        let idle = |verdict: &mut RouteClass, _: &mut Copilot| verdict.analysis.tool_need = Some(0.1);
        assert_eq!(routed("Tell me something about closures", Direct, 0.95, idle), Chat);
        assert_eq!(routed("Explain this function", Direct, 0.95, idle), Direct, "what is here must be looked at");
    }

    #[test]
    fn a_clarification_always_asks_something_and_nothing_else_does() {
        let verdict = |decision| RouteClass {
            decision,
            confidence: 0.9,
            complexity: 0,
            categories: Vec::new(),
            reason: "r".into(),
            analysis: Analysis { questions: vec![], ..Analysis::default() },
        };
        let copilot = Copilot { intelligent_routing: Routing::Aggressive, ..Copilot::default() };
        let fact = decide(verdict(RouteDecision::Clarify), RequestSignals::default(), &copilot);
        assert_eq!(fact.analysis.expect("one").questions[0].text, DEFAULT_QUESTION.to_string());
        let mut other = verdict(RouteDecision::Direct);
        other.analysis.questions = vec![Question { text: "Really?".into(), ..Question::default() }];
        assert_eq!(
            decide(other, RequestSignals { here: true, ..RequestSignals::default() }, &copilot)
                .analysis
                .expect("one")
                .questions,
            []
        );
    }
}
