//! Characters that make a line look different from what it is.

use trimtab_vocab::wording::CommandReason;

use trimtab_vocab::visible::{deceives, is_look_alike};

use super::word::shown;

/// Says what is strange about the characters of a line, if anything.
///
/// A user who approves a line approves what they see. Accented letters, other scripts and pictures are
/// welcome in file names and texts; what cannot be seen, what turns the reading direction, and what looks
/// like a space, a dash, a quote or a letter of another script is not.
pub(super) fn strange(line: &str) -> Option<CommandReason> {
    for c in line.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            return Some(CommandReason::ControlCharacter(u32::from(c)));
        }
        if deceives(c) {
            return Some(CommandReason::DeceptiveCharacter(u32::from(c)));
        }
    }
    line.split(|c: char| !c.is_alphabetic())
        .find(|run| run.chars().any(|c| c.is_ascii_alphabetic()) && run.chars().any(is_look_alike))
        .map(|run| CommandReason::MixedAlphabets(shown(run)))
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::visible::spelled as visible;

    use super::*;

    #[test]
    fn whatever_asks_for_its_characters_does_not_look_plain() {
        for line in ["ls\u{2028}rm", "c\u{0430}t", "x\u{301}", "\u{1d5ba}", "ls \u{ff0d}la"] {
            assert!(strange(line).is_some() && visible(line) != line, "{line:?}");
        }
    }
}
