//! Suggested next steps, read from the end of an answer.
//!
//! A structured answer has a field for them; a model that works with tools is asked for a short list under a heading.
//! Anything that does not look exactly like that list is part of the answer.

use trimtab_vocab::NextStep;

/// The model's instruction.
pub(crate) const RULE: &str = "\n- If there is something sensible to do next, end with a line \"Next steps:\" and one to three list items, each \
a request that the user could send as it is.";

/// Offers that are kept.
const MOST: usize = 5;
/// Characters of one offer; a longer one is an explanation, not a request.
const LONGEST: usize = 300;

/// What the end of an answer offers.
pub(crate) fn offers(words: &str) -> Vec<NextStep> {
    let Some(list) = list(words) else { return Vec::new() };
    let offers: Option<Vec<NextStep>> = list.lines().filter(|line| !line.trim().is_empty()).map(offer).collect();
    offers.unwrap_or_default().into_iter().take(MOST).collect()
}

/// The text after the last heading of that name, outside of code.
fn list(words: &str) -> Option<&str> {
    let (mut inside, mut at, mut found) = (false, 0, None);
    for line in words.split_inclusive('\n') {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            inside = !inside;
        }
        if !inside && is_heading(line) {
            found = Some(&words[at + line.len()..]);
        }
        at += line.len();
    }
    found
}

fn is_heading(line: &str) -> bool {
    let name = line.trim().trim_matches(['#', '*', '_', ':', ' ']);
    ["next steps", "next step", "possible next steps", "suggested next steps"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// One item of the list, if the line is one.
fn offer(line: &str) -> Option<NextStep> {
    let line = line.trim();
    let item = line.strip_prefix(['-', '*', '•']).or_else(|| {
        let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(['.', ')'])).flatten()
    })?;
    let text = item.strip_prefix([' ', '\t'])?.trim().replace("**", "");
    let is_fit = !text.is_empty() && text.chars().count() <= LONGEST && !text.chars().any(char::is_control);
    is_fit.then(|| NextStep { html: escaped(&text), input_text: text })
}

/// The text as HTML that shows exactly this text.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            _ => html.push(letter),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &str) -> Vec<String> {
        offers(words).into_iter().map(|offer| offer.input_text).collect()
    }

    #[test]
    fn the_list_at_the_end_is_what_could_come_next() {
        for heading in ["Next steps:", "**Next steps:**", "## Next Steps", "**Suggested next steps**:"] {
            let words = format!("It is done.\n\n{heading}\n\n- Add a test\n2. Write **it** down\n");
            assert_eq!(texts(&words), ["Add a test", "Write it down"], "{heading}");
        }
    }

    #[test]
    fn what_is_not_exactly_such_a_list_offers_nothing() {
        for words in [
            "It is done.",
            "Done.\nNext steps:\n",
            "Done.\nNext steps:\nYou could add a test.",
            "Done.\nNext steps:\n- Add a test\n\nAll of this takes a while.",
            "Done.\n```\nNext steps:\n- Add a test\n```",
            "Done.\nNext steps are clear:\n- Add a test",
            "Done.\nNext steps:\n-x",
            "Done.\nNext steps:\n2 apples",
        ] {
            assert_eq!(texts(words), Vec::<String>::new(), "{words}");
        }
        let long = format!("Done.\nNext steps:\n- {}", "x".repeat(LONGEST + 1));
        assert_eq!(texts(&long), Vec::<String>::new());
    }

    #[test]
    fn an_offer_is_shown_as_the_text_that_it_is() {
        let offers = offers("Done.\nNext steps:\n- Use <b> & \"quotes\"");
        assert_eq!(offers[0].html, "Use &lt;b&gt; &amp; &quot;quotes&quot;");
        assert_eq!(offers[0].input_text, "Use <b> & \"quotes\"");
    }

    #[test]
    fn more_offers_than_anybody_reads_are_left_out() {
        let words = format!("Done.\nNext steps:\n{}", "- Again\n".repeat(9));
        assert_eq!(offers(&words).len(), MOST);
    }
}
