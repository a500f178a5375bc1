//! The banners that say how far a request came when its steps are used up. They belong to the limit of steps alone:
//! in the words of any other turn they are taken out.

/// Banners for the progress at the step limit, the best first.
pub(super) const BANNERS: [&str; 3] = ["✅ GOAL ACHIEVED", "⚠ GOAL PARTIALLY ACHIEVED", "GOAL NOT ACHIEVED"];

/// The words of each, without its sign.
const PHRASES: [&str; 3] = ["GOAL ACHIEVED", "GOAL PARTIALLY ACHIEVED", "GOAL NOT ACHIEVED"];
/// Signs that models put before them.
const SIGNS: [char; 5] = ['✅', '⚠', '❌', '🚫', '✔'];
/// What follows a sign and only says how it is drawn.
const DRAWN: char = '\u{fe0f}';
/// Who speaks about a banner quotes it.
const QUOTES: [char; 5] = ['`', '"', '“', '\'', '«'];

/// The text without banners, and its banner. Of several, the lowest counts; a banner that is only mentioned counts if
/// there is no other; without any, nothing was achieved.
pub(super) fn judged(words: &str) -> (String, &'static str) {
    let (rest, said) = read(words);
    let mentioned = || {
        let words = words.to_uppercase();
        (0..PHRASES.len()).rev().find(|which| words.contains(PHRASES[*which]))
    };
    (rest, BANNERS[said.or_else(mentioned).unwrap_or(PHRASES.len() - 1)])
}

/// Words without the banners in them.
pub(super) fn without_banners(words: &str) -> String {
    read(words).0
}

/// The text without banners, and the lowest banner. Text in fences is not a banner.
fn read(words: &str) -> (String, Option<usize>) {
    if !words.to_uppercase().contains("ACHIEVED") {
        return (words.to_owned(), None);
    }
    let (mut lines, mut least, mut fenced) = (Vec::new(), None, false);
    for line in words.lines() {
        fenced ^= line.trim_start().starts_with("```");
        match if fenced { None } else { cut(line) } {
            None => lines.push(line.to_owned()),
            Some((which, rest)) => {
                least = least.max(Some(which));
                lines.extend(Some(rest).filter(|rest| !rest.is_empty()));
            }
        }
    }
    match least {
        Some(_) => (lines.join("\n").trim().to_owned(), least),
        None => (words.to_owned(), None),
    }
}

/// A line without its banner, and which it was.
fn cut(line: &str) -> Option<(usize, String)> {
    let letters = line.trim_matches(|c: char| !c.is_alphanumeric());
    if let Some(which) = PHRASES.iter().position(|phrase| letters.eq_ignore_ascii_case(phrase)) {
        return Some((which, String::new()));
    }
    PHRASES.iter().enumerate().find_map(|(which, phrase)| {
        let at = line.find(phrase)?;
        let (before, after) = (&line[..at], &line[at + phrase.len()..]);
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_word(before.chars().next_back()) || is_word(after.chars().next()) {
            return None;
        }
        let said = before.trim_end().trim_end_matches(DRAWN);
        let signed = said.strip_suffix(SIGNS);
        let lead = signed.unwrap_or(said);
        let begins = !lead.contains(char::is_alphanumeric);
        // A line that begins with it in capitals, followed by a mark, is a headline.
        let heads = begins && after.trim_start_matches('*').starts_with([':', '.', '!', ',', ';', '—', '–', '-', ' ']);
        let heads = heads && (signed.is_some() || !after.trim_start_matches('*').starts_with(' '));
        if lead.ends_with(QUOTES) || !(signed.is_some() || heads) {
            return None;
        }
        let behind =
            |c: char| c.is_whitespace() || matches!(c, ':' | '.' | '!' | ',' | ';' | '—' | '–' | '-' | '*' | '_');
        let rest = match begins {
            true => after.trim_start_matches(behind).trim_end().to_owned(),
            false => {
                format!("{}{}", lead.trim_end().trim_end_matches(['*', '_']).trim_end(), after.trim_end_matches('*'))
            }
        };
        Some((which, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_banner_is_read_off_and_taken_out_of_the_words() {
        for (words, banner, rest) in [
            ("✅ GOAL ACHIEVED\nAll is done.", BANNERS[0], "All is done."),
            ("**⚠ GOAL PARTIALLY ACHIEVED**\n\nHalf.", BANNERS[1], "Half."),
            ("GOAL NOT ACHIEVED\nNo.", BANNERS[2], "No."),
            ("I did things.", BANNERS[2], "I did things."),
            ("✅ GOAL ACHIEVED\n⚠ GOAL PARTIALLY ACHIEVED\nHm.", BANNERS[1], "Hm."),
            (
                "✅ GOAL ACHIEVED: all of it, the first goal not achieved before, too.",
                BANNERS[0],
                "all of it, the first goal not achieved before, too.",
            ),
            ("**⚠️ GOAL PARTIALLY ACHIEVED** — half of it.", BANNERS[1], "half of it."),
            ("❌ GOAL NOT ACHIEVED Nothing works.", BANNERS[2], "Nothing works."),
            ("GOAL ACHIEVED. Done.", BANNERS[0], "Done."),
            ("I would say: Goal partially achieved.", BANNERS[1], "I would say: Goal partially achieved."),
        ] {
            assert_eq!(judged(words), (rest.to_owned(), banner), "{words}");
        }
    }

    #[test]
    fn a_banner_is_taken_out_wherever_it_is_said_and_left_where_it_is_spoken_of() {
        for (words, rest) in [
            ("✅ GOAL ACHIEVED All fine.", "All fine."),
            ("All fine. ✅ GOAL ACHIEVED", "All fine."),
            ("## ✅ GOAL ACHIEVED\r\nAll fine.", "All fine."),
            ("One.\n\n**✅ GOAL ACHIEVED**", "One."),
            ("Half of it: ⚠️ GOAL PARTIALLY ACHIEVED, sorry.", "Half of it:, sorry."),
        ] {
            assert_eq!(without_banners(words), rest, "{words}");
        }
        for words in [
            "The GOAL ACHIEVED banner",
            "- `✅ GOAL ACHIEVED` says that it is done.",
            "It prints \"✅ GOAL ACHIEVED\" at the end.",
            "```\n✅ GOAL ACHIEVED\n```",
            "let x = GOAL_ACHIEVED;",
            "GOAL ACHIEVED is one of three.",
            "We achieved it.  Two spaces  stay.\n",
        ] {
            assert_eq!(without_banners(words), words);
        }
    }
}
