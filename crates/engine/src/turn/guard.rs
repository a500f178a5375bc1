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

/// Bytes of a command's output that a model sees.
pub(crate) const FOR_MODELS: usize = 3 * 1024;
/// Bytes of a command's output that the user sees.
pub(crate) const FOR_PEOPLE: usize = 5 * 1024;

/// What is shown of an output: all of it, or as much of its head and its tail as fits into `limit` with a
/// mark that says how much is left out and where the whole is. It is cut between lines, if they are not
/// too long. `total` counts what was not even passed on.
pub(crate) fn preview(text: &str, total: u64, limit: usize, key: Option<&RefKey>) -> String {
    let whole = total.max(text.len() as u64);
    if whole == text.len() as u64 && text.len() <= limit {
        return text.to_owned();
    }
    let saved = key.map(|key| format!("\n[Full result saved as ref:{key}]")).unwrap_or_default();
    let mark = |left_out: u64| format!("\n[... {left_out} of {whole} bytes left out ...]\n");
    let room = limit.saturating_sub(saved.len() + mark(whole).len());
    // The end matters most, because it shows how something ended.
    let head = &text[..text.floor_char_boundary((room / 3).min(text.len()))];
    let head = head.rfind('\n').filter(|end| *end > head.len() / 2).map_or(head, |end| &head[..end]);
    let from = text.ceil_char_boundary(text.len().saturating_sub(room - room / 3)).max(head.len());
    let tail = &text[from..];
    let tail = tail.find('\n').filter(|end| *end < tail.len() / 2).map_or(tail, |end| &tail[end + 1..]);
    let left_out = whole - (head.len() + tail.len()) as u64;
    format!("{head}{}{}{saved}", mark(left_out), if saved.is_empty() { tail } else { tail.trim_end_matches('\n') })
}

/// Whether a text is a preview of one that is stored already.
pub(crate) fn is_archived(text: &str) -> bool {
    ["result", "input", "output"].iter().any(|what| text.contains(&format!("[Full {what} saved as ref:")))
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
    fn a_preview_of_an_output_fits_is_cut_between_lines_and_counts_what_is_missing() {
        let key: RefKey = "output-r1-c1t1".parse().expect("a key");
        let text: String = (1..=2_000).map(|n| format!("line {n}\n")).collect();
        for limit in [300, FOR_MODELS, FOR_PEOPLE] {
            let shown = preview(&text, 0, limit, Some(&key));
            assert!(shown.len() <= limit && shown.len() > limit / 2, "{} of {limit}", shown.len());
            assert!(shown.starts_with("line 1\n") && shown.contains("\nline 2000\n"), "{shown}");
            let lines = shown.lines().filter(|line| line.starts_with("line "));
            let kept: usize = lines.clone().map(|line| line.len() + 1).sum();
            assert!(lines.clone().all(|line| text.contains(&format!("{line}\n"))), "whole lines only: {shown}");
            let missing = format!("[... {} of {} bytes left out ...]", text.len() - kept + 1, text.len());
            assert!(shown.contains(&missing), "{missing}: {shown}");
            assert!(shown.ends_with("[Full result saved as ref:output-r1-c1t1]") && is_archived(&shown));
        }
        assert_eq!(preview("short\n", 0, FOR_MODELS, None), "short\n");
        let plain = preview(&text, 0, FOR_MODELS, None);
        assert!(plain.len() <= FOR_MODELS && plain.ends_with("line 2000\n") && !plain.contains("ref:"));
        let crabs = "🦀".repeat(3_000);
        assert!(preview(&crabs, 10_000_000_000, FOR_MODELS, None).contains(" of 10000000000 bytes left out"));
    }

    #[test]
    fn a_small_window_sees_less_of_each_result() {
        let facts = |window| ModelFacts { window, ..ModelFacts::default() };
        assert_eq!(limit(&facts(200_000)), LIMIT);
        assert_eq!(limit(&facts(8_192)), 3_072);
        assert_eq!(limit(&facts(1_000)), LEAST);
    }
}
