//! What any surface of a terminal says in the same words, and breaks in the same way.

mod asked;
pub(crate) mod effects;
pub(crate) mod elapsed;
mod wrap;

use std::borrow::Cow;

use trimtab_vocab::visible::visible;
use trimtab_vocab::{ImageFact, Time};

pub(crate) use asked::{asked, details, questions};
pub(crate) use wrap::wrap;

/// What an extension means.
pub(crate) const EXTENDED: &str = "The session is extended: its whole conversation goes on with it, for as long as that \
                                   fits the model's window. What was summed up stays readable (trimtab ref).";

/// A tool call in one line.
pub(crate) fn tool_line(name: &str, input: &serde_json::Value) -> String {
    let main = ["command", "path", "pattern", "url", "from", "question", "key"];
    let what = main.iter().find_map(|field| input.get(*field)?.as_str());
    let what = what.map(|what| what.lines().next().unwrap_or_default().to_owned()).unwrap_or_default();
    let mut line = format!("{name} {what}");
    if line.chars().count() > 160 {
        line = line.chars().take(159).collect();
        line.push('…');
    }
    line.trim_end().to_owned()
}

/// What is told of pictures while a request runs.
pub(crate) fn of_picture(fact: &ImageFact) -> Option<String> {
    match fact {
        ImageFact::Made { image, key, media_type, bytes, cost_usd, original_prompt, .. } => {
            let (size, prompt) = (bytes.div_ceil(1_000), one_line(original_prompt));
            Some(format!("  made {image} (ref:{key}, {media_type}, {size} kB, ${cost_usd:.2}): {prompt}"))
        }
        ImageFact::Failed { error, retry_in_ms: Some(wait), .. } => {
            Some(format!("  {} Trying again in {:.1} s.", sentence(&error.message), *wait as f64 / 1_000.0))
        }
        ImageFact::Failed { image: Some(image), error, .. } => Some(format!("  not made: {image}: {error}")),
        _ => None,
    }
}

/// A text without line ends and needless blanks.
pub(crate) fn one_line(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a next step sends, as it is shown and as it is sent: one line, so that nothing of it can be out of sight.
pub(crate) fn step_text(input: &str) -> String {
    one_line(&visible(input))
}

/// A text as one word of a shell that no program takes for an option.
pub(crate) fn quoted(text: &str) -> String {
    let dashes = if text.starts_with('-') { "-- " } else { "" };
    format!("{dashes}'{}'", text.replace('\'', "'\\''"))
}

/// Words of others as a sentence, so that another one may follow.
pub(crate) fn sentence(text: &str) -> Cow<'_, str> {
    let ends = text.trim_end().ends_with(['.', '!', '?', '…']);
    if ends { Cow::Borrowed(text) } else { Cow::Owned(format!("{}.", text.trim_end())) }
}

/// How a call failed, as a sentence; what failed the same way just before is not told at length again.
pub(crate) fn failed(before: &mut String, message: &str) -> String {
    if before == message {
        return "Failed again in the same way.".to_owned();
    }
    message.clone_into(before);
    sentence(message).into_owned()
}

/// Text from elsewhere, fit for a terminal: control characters could move the cursor, change the
/// title or worse.
pub(crate) fn calm(text: &str) -> Cow<'_, str> {
    visible(text)
}

/// How long ago something was, in a word or two.
pub(crate) fn age(then: Time, now: Time) -> String {
    let seconds = (now.millis() - then.millis()).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..172_800 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(calm("a\u{1b}]0;x\u{7}b"), "a⟨U+001B⟩]0;x⟨U+0007⟩b");
        assert_eq!(calm("two\n\tlines é 🦀"), "two\n\tlines é 🦀");
        assert_eq!(calm("x\u{202e}txt.exe"), "x⟨U+202E⟩txt.exe");
    }

    #[test]
    fn what_fails_in_the_same_way_is_told_at_length_once() {
        let mut before = String::new();
        assert_eq!(failed(&mut before, "No connection"), "No connection.");
        assert_eq!(failed(&mut before, "No connection"), "Failed again in the same way.");
        assert_eq!(failed(&mut before, "It broke."), "It broke.");
    }

    #[test]
    fn ages_are_short() {
        let at = |seconds: i64| age(Time::from_millis(0), Time::from_millis(seconds * 1_000));
        assert_eq!([at(5), at(90), at(7_200), at(400_000)], ["5s ago", "1m ago", "2h ago", "4d ago"]);
        assert_eq!(age(Time::from_millis(9_000), Time::from_millis(0)), "0s ago");
    }
}
