//! Which key gives which answer, and which rule an answer makes: the same in every terminal surface.

use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole};
use trimtab_vocab::{Rule, RuleVerdict};

/// The number that chooses an answer. It belongs to the answer, so that it does not move when another one is missing.
pub(crate) fn number(choices: &[Choice], at: usize) -> u8 {
    let position = u8::try_from(at + 1).unwrap_or(u8::MAX);
    choices.get(at).and_then(|choice| choice.number).unwrap_or(position)
}

/// The letter that chooses an answer.
pub(crate) fn letter(choices: &[Choice], at: usize) -> Option<char> {
    choices.get(at)?.key
}

/// The answer that a number or a letter chooses.
pub(crate) fn by_key(choices: &[Choice], key: char) -> Option<usize> {
    let of = |at: &usize| match key.to_digit(10) {
        Some(digit) => u32::from(number(choices, *at)) == digit,
        None => letter(choices, *at) == Some(key),
    };
    (0..choices.len()).find(of)
}

/// The answers of a question without the forms of another one, and these forms. A surface with a second step shows them
/// there.
pub(crate) fn without_forms(choices: &[Choice]) -> (Vec<Choice>, Vec<Choice>) {
    choices.iter().cloned().partition(|choice| choice.variant_of.is_none())
}

/// The rule that an answer makes, with another pattern if the person wrote one.
pub(crate) fn rule_text(ask: &Ask, choice: &Choice, pattern: Option<&str>) -> Option<String> {
    let offered = choice.rule.as_ref().or_else(|| ask.rule())?.clone();
    let rule = match choice.role {
        ChoiceRole::RejectAlways => Rule { verdict: RuleVerdict::Deny, ..offered },
        _ => Rule { pattern: pattern.map_or(offered.pattern, str::to_owned), ..offered },
    };
    Some(rule.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_of_a_missing_answer_does_nothing() {
        let keyed = |id: &str, number| Choice { number: Some(number), ..Choice::new(id, id) };
        let some = [keyed("allow", 1), keyed("wait", 3), keyed("never", 4)];
        assert_eq!(by_key(&some, '3').map(|at| some[at].id.as_str()), Some("wait"));
        assert_eq!(by_key(&some, '2'), None);
        let others = [Choice::new("continue", "Continue"), Choice::new("stop", "Stop")];
        assert_eq!((by_key(&others, '2'), by_key(&others, 'y')), (Some(1), None));
    }

    #[test]
    fn the_rule_of_an_answer_is_told_in_words() {
        let ask: Ask = serde_json::from_value(json!({"about": "tool", "call": "c1-1", "rule":
            {"verdict": "allow", "tool": "run_command", "pattern": "make x", "folder": "/p"}}))
        .expect("a question");
        let (always, never) = (Choice::new("always", ""), Choice::new("never", ""));
        assert_eq!(rule_text(&ask, &always, None).as_deref(), Some("allow run_command: make x (in /p)"));
        assert_eq!(rule_text(&ask, &always, Some("make *")).as_deref(), Some("allow run_command: make * (in /p)"));
        assert_eq!(rule_text(&ask, &never, Some("x")).as_deref(), Some("deny run_command: make x (in /p)"));
    }
}
