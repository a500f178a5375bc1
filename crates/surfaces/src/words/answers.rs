//! Which key gives which answer, and which rule an answer makes: the same in every terminal surface.

use serde_json::{Map, Value};
use trimtab_vocab::event::Choice;
use trimtab_vocab::{Rule, RuleVerdict};

/// The number that chooses an answer. It belongs to the answer, so that it does not move when another one is missing.
pub(crate) fn number(choices: &[Choice], at: usize) -> u8 {
    let position = u8::try_from(at + 1).unwrap_or(u8::MAX);
    let Some(choice) = choices.get(at) else { return position };
    choice.number.or_else(|| fixed(choices, &choice.id).map(|(number, _)| number)).unwrap_or(position)
}

/// The letter that chooses an answer.
pub(crate) fn letter(choices: &[Choice], at: usize) -> Option<char> {
    let choice = choices.get(at)?;
    choice.key.or_else(|| fixed(choices, &choice.id).and_then(|(_, letter)| letter))
}

/// The keys of the answers to a permission, for questions that were recorded without them.
fn fixed(choices: &[Choice], id: &str) -> Option<(u8, Option<char>)> {
    let is_permission = choices.iter().any(|choice| choice.id == "allow");
    match id {
        _ if !is_permission => None,
        "allow" => Some((1, Some('y'))),
        "always" => Some((2, Some('a'))),
        "wait" | "skip" => Some((3, Some('n'))),
        "never" => Some((4, None)),
        _ => None,
    }
}

/// The answer that a number or a letter chooses.
pub(crate) fn by_key(choices: &[Choice], key: char) -> Option<usize> {
    let of = |at: &usize| match key.to_digit(10) {
        Some(digit) => u32::from(number(choices, *at)) == digit,
        None => letter(choices, *at) == Some(key),
    };
    (0..choices.len()).find(of)
}

/// Whether an answer makes a rule, so that it takes a second step that shows the rule.
pub(crate) fn needs_confirmation(choice: &Choice) -> bool {
    choice.confirm || matches!(choice.id.as_str(), "always" | "never")
}

/// The rule that an answer makes, with another pattern if the person wrote one.
pub(crate) fn rule_text(body: &Map<String, Value>, choice: &str, pattern: Option<&str>) -> Option<String> {
    let offered: Rule = serde_json::from_value(body.get("rule")?.clone()).ok()?;
    let rule = match choice {
        "never" => Rule { verdict: RuleVerdict::Deny, ..offered },
        _ => Rule { pattern: pattern.map_or(offered.pattern, str::to_owned), ..offered },
    };
    Some(rule.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn choices(ids: &[&str]) -> Vec<Choice> {
        ids.iter().map(|id| Choice::new(*id, *id)).collect()
    }

    #[test]
    fn the_number_of_an_answer_does_not_move_when_another_is_missing() {
        let all = choices(&["allow", "always", "wait", "never"]);
        let some = choices(&["allow", "wait", "never"]);
        for id in ["allow", "wait", "never"] {
            let at = |list: &[Choice]| list.iter().position(|choice| choice.id == id).expect("there");
            assert_eq!(number(&all, at(&all)), number(&some, at(&some)), "{id}");
        }
        assert_eq!(by_key(&some, '3').map(|at| some[at].id.as_str()), Some("wait"));
        assert_eq!(by_key(&some, '2'), None, "the number of a missing answer does nothing");
        assert_eq!(by_key(&choices(&["allow", "always", "skip"]), 'n'), Some(2));
        let others = choices(&["continue", "stop"]);
        assert_eq!((by_key(&others, '2'), by_key(&others, 'y')), (Some(1), None));
    }

    #[test]
    fn the_rule_of_an_answer_is_told_in_words() {
        let body = json!({"rule": {"verdict": "allow", "tool": "run_command", "pattern": "make x", "folder": "/p"}});
        let body = body.as_object().expect("an object");
        assert_eq!(rule_text(body, "always", None).as_deref(), Some("allow run_command: make x (in /p)"));
        assert_eq!(rule_text(body, "always", Some("make *")).as_deref(), Some("allow run_command: make * (in /p)"));
        assert_eq!(rule_text(body, "never", Some("x")).as_deref(), Some("deny run_command: make x (in /p)"));
    }
}
