//! The output guard: a large text is stored whole first, and the model sees its head and its tail.

use trimtab_vocab::{ModelFacts, RefKey};

/// Bytes of one result that a model sees at most.
const LIMIT: usize = 32 * 1024;
/// Bytes it sees at least, however small its window.
const LEAST: usize = 2 * 1024;

/// How many bytes of one result a model with this window should see: an eighth of it, within bounds.
pub(crate) fn limit(facts: &ModelFacts) -> usize {
    let eighth = usize::try_from(facts.window / 8).unwrap_or(usize::MAX).saturating_mul(3);
    eighth.clamp(LEAST, LIMIT)
}

/// Head, a line that says what is missing, tail, and where the whole is.
pub(crate) fn sandwich(text: &str, limit: usize, what: &str, key: &RefKey) -> String {
    let (head, tail) = (limit / 4 * 3, limit / 4);
    let head = &text[..text.floor_char_boundary(head)];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(tail)).max(head.len())..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}\n[Full {what} saved as ref:{key}]")
}

/// Whether a text is a preview of one that is stored already.
pub(crate) fn is_archived(text: &str) -> bool {
    text.contains("[Full result saved as ref:") || text.contains("[Full input saved as ref:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_never_splits_a_character_and_names_its_source() {
        let key = RefKey::input_of(&"r1".parse().expect("id"));
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "🦀".repeat(80_000));
            let preview = sandwich(&text, LIMIT, "input", &key);
            assert!(preview.len() < LIMIT + 200);
            assert!(preview.ends_with("[Full input saved as ref:input-r1]"));
            assert!(is_archived(&preview));
        }
    }

    #[test]
    fn a_small_window_sees_less_of_each_result() {
        let facts = |window| ModelFacts { window, ..ModelFacts::default() };
        assert_eq!(limit(&facts(200_000)), LIMIT);
        assert_eq!(limit(&facts(8_192)), 3_072);
        assert_eq!(limit(&facts(1_000)), LEAST);
    }
}
