//! A model's text as a plain line: without tags, fences, and line ends.

/// The replacement for an empty answer.
pub(super) const OKAY: &str = "Okay.";
/// Bytes that an answer may have.
const LONGEST: usize = 32 * 1024;

/// The text for the user; empty if there is none.
pub(super) fn cleaned(words: &str) -> String {
    let words = &words[..words.floor_char_boundary(LONGEST)];
    let words = without_fences(&without_tags(words));
    let lines = words.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The text without reasoning and without tags around the answer. If reasoning never ends, only its tag is removed.
pub(super) fn without_tags(words: &str) -> String {
    let mut rest = words;
    let mut said = String::with_capacity(words.len());
    while let Some((before, after)) = rest.split_once("<think>") {
        // Looked for once: where none follows, none follows later either.
        let Some((_, later)) = after.split_once("</think>") else { break };
        said.push_str(before);
        rest = later;
    }
    said.push_str(rest);
    if let Some((_, inside)) = said.split_once("<response>") {
        said = inside.split_once("</response>").map_or(inside, |(inside, _)| inside).to_owned();
    }
    ["<think>", "</think>", "<response>", "</response>"].iter().fold(said, |said, tag| said.replace(tag, ""))
}

/// Without code between fences; a fence that never ends hides nothing.
fn without_fences(words: &str) -> String {
    const FENCE: &str = "```";
    let mut rest = words;
    let mut kept = String::with_capacity(words.len());
    while let Some((before, after)) = rest.split_once(FENCE) {
        let Some((_, later)) = after.split_once(FENCE) else { break };
        kept.push_str(before);
        rest = later;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_plain_line() {
        for (words, wanted) in [
            ("Fine.", "Fine."),
            ("  Two\r\nlines\n\nhere ", "Two lines here"),
            ("<think>hm\nhm</think><response>Yes.</response>", "Yes."),
            ("<think>hm</think>Yes.", "Yes."),
            ("<response>Yes.", "Yes."),
            ("<think>never ends", "never ends"),
            ("Yes.</response>", "Yes."),
            ("Here:\n```json\n{\"a\":1}\n```\nDone.", "Here: Done."),
            ("```js\nx()\n```", ""),
            ("It ends in ``` somehow", "It ends in ``` somehow"),
            ("", ""),
            ("\n \n", ""),
        ] {
            assert_eq!(cleaned(words), wanted, "{words:?}");
        }
    }

    #[test]
    fn a_hostile_answer_costs_linear_work() {
        for piece in ["<think>", "```", "<response>", "</think>"] {
            cleaned(&piece.repeat(100_000));
        }
    }
}
