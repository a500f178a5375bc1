//! What a reply claims: that something was done, that it cannot be done, or that nothing had to be done.

use crate::proposal::file_names::{has_known_extension, is_named_without_extension};

/// The claims of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClaimedDeeds {
    /// Files that it says to have changed.
    pub(super) files: Vec<String>,
    /// It says to have run something.
    pub(super) ran: bool,
}

/// Verbs in the past that report a change of files.
const CHANGED: &[&str] = &[
    "created",
    "added",
    "updated",
    "changed",
    "modified",
    "written",
    "wrote",
    "edited",
    "fixed",
    "renamed",
    "deleted",
    "removed",
    "replaced",
    "refactored",
    "implemented",
    "saved",
    "moved",
    "inserted",
    "appended",
    "rewritten",
    "rewrote",
];
/// Deeds that run something.
const RAN: &[&str] = &["ran", "run", "executed", "installed", "committed", "tested", "built", "compiled"];
/// The subject before such a verb.
const DOERS: &[&str] =
    &["i", "i've", "i have", "we", "we've", "we have", "has been", "have been", "was", "were", "is now", "are now"];
/// What says the same of a file: "hello.py is created".
const STATES: &[&str] = &["is", "are"];
/// Words that can come between the two.
const BETWEEN: &[&str] = &["now", "also", "successfully", "just", "already", "then"];
/// Words that make a sentence no report.
const UNREAL: &[&str] = &[
    "not",
    "n't",
    "cannot",
    "could",
    "would",
    "should",
    "might",
    "may",
    "if",
    "once",
    "when",
    "after",
    "before",
    "will",
    "to be",
    "can",
    "unless",
    "until",
    "need",
    "needs",
    "must",
    "previously",
    "earlier",
    "last time",
    "example",
];
/// Bytes of a reply that are scanned.
const SCANNED: usize = 32 * 1024;

/// The words of a reply outside of code, in small letters, sentence by sentence.
fn sentences(words: &str) -> Vec<String> {
    let words = &words[..words.floor_char_boundary(SCANNED)];
    let mut plain = String::new();
    let mut fenced = false;
    for line in words.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced {
            plain.push_str(line);
            plain.push('\n');
        }
    }
    let plain = plain.to_lowercase().replace('’', "'").replace(['*', '✅'], "");
    let mut found = Vec::new();
    let mut rest = plain.as_str();
    while !rest.is_empty() {
        let ends = |(at, c): (usize, char)| {
            let next = rest[at + c.len_utf8()..].chars().next();
            (c == '\n' || (matches!(c, '.' | '!' | '?' | ';') && next.is_none_or(char::is_whitespace)))
                .then_some(at + c.len_utf8())
        };
        let end = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        let sentence = rest[..end].trim();
        if !sentence.is_empty() {
            found.push(sentence.to_owned());
        }
        rest = &rest[end..];
    }
    found
}

fn has_word(sentence: &str, word: &str) -> bool {
    sentence.match_indices(word).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let after = sentence[at + word.len()..].chars().next();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '\'' || word.starts_with('n'))
            && after.is_none_or(|c| !c.is_alphanumeric() && c != '\'')
    })
}

/// The words of a sentence, without what stands around them.
fn bare_words(sentence: &str) -> Vec<&str> {
    sentence
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')'))
        .map(|word| {
            let name = word.trim_start_matches(['`', '"', '\'']).trim_end_matches(['`', '"', '\'', '.', '!', '?', ';']);
            match is_named_without_extension(name) {
                true => name,
                false => {
                    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '/').trim_end_matches('/')
                }
            }
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether a sentence reports one of these deeds: "I have now created", "was successfully updated", "Created".
fn reports(sentence: &str, deeds: &[&str]) -> bool {
    reported_at(&bare_words(sentence), sentence, deeds, DOERS).is_some()
}

/// Which word of a sentence reports one of these deeds.
fn reported_at(words: &[&str], sentence: &str, deeds: &[&str], doers: &[&str]) -> Option<usize> {
    if sentence.ends_with('?') {
        return None;
    }
    words.iter().enumerate().find_map(|(at, word)| {
        if !deeds.contains(word) {
            return None;
        }
        let said_before = words[..at].join(" ");
        if UNREAL.iter().any(|word| has_word(&said_before, word)) {
            return None;
        }
        let before: Vec<&str> = words[..at].iter().copied().filter(|word| !BETWEEN.contains(word)).collect();
        let lead = before.iter().rev().take(2).rev().copied().collect::<Vec<_>>().join(" ");
        // "Created hello.py." is a report as well; "run" alone at the beginning is advice.
        let is_report = (before.is_empty() && *word != "run")
            || doers.iter().any(|doer| lead == *doer || lead.ends_with(&format!(" {doer}")));
        is_report.then_some(at)
    })
}

/// Whether a word is a file, and not `logging.info` or `example.com`.
pub(in crate::turn) fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    is_named_without_extension(name) || has_known_extension(name)
}

/// The file that a sentence reports as changed: the first one after the verb, or the last one before it in "hello.py
/// was created".
fn object_of(sentence: &str) -> Option<String> {
    let words = bare_words(sentence);
    let at = [DOERS, STATES].iter().find_map(|doers| reported_at(&words, sentence, CHANGED, doers))?;
    let behind = words[at..].iter().find(|word| is_file(word));
    let file = behind.or_else(|| words[..at].iter().rev().find(|word| is_file(word)))?;
    Some((*file).to_owned())
}

/// What a reply claims to have been done.
pub(super) fn claims(words: &str) -> ClaimedDeeds {
    let mut claimed = ClaimedDeeds::default();
    for sentence in sentences(words) {
        let file = object_of(&sentence).filter(|path| !claimed.files.contains(path));
        claimed.files.extend(file);
        let names_a_run =
            ["`", "test", "command", "script", "build", "program"].iter().any(|what| sentence.contains(what));
        claimed.ran |= names_a_run && reports(&sentence, RAN);
    }
    claimed
}

/// Whether a reply reports any action, with or without a file's name.
pub(super) fn reports_a_deed(words: &str) -> bool {
    let sentences = sentences(words);
    sentences.iter().any(|sentence| reports(sentence, CHANGED) || reports(sentence, RAN))
        || words.to_uppercase().contains("✅ GOAL ACHIEVED")
}

/// Signs that a reply says why something was not or cannot be done. Advice has other words: "use + instead of -" and "the
/// test failed because of line 3" leave the work to the user.
const REFUSALS: &[&str] = &[
    "can't",
    "cannot",
    "can not",
    "unable to",
    "not able to",
    "couldn't",
    "could not",
    "i won't",
    "i will not",
    "don't have access",
    "do not have access",
    "don't have permission",
    "there is no ",
    "there's no ",
    "there are no ",
    "doesn't exist",
    "does not exist",
    "no such",
    "isn't possible",
    "not possible",
    "i need more",
    "i need to know",
    "please provide",
    "please specify",
    "please clarify",
    "not allowed",
    "was refused",
    "was denied",
    "were denied",
    "declined",
    "you skipped",
    "you denied",
    "i did not",
    "i didn't",
    "i have not",
    "i haven't",
    "not changed",
    "nothing was",
    "no changes were made",
    "not sure",
    "you asked me not",
    "gave up",
    "give up",
    "i'm sorry",
    "i am sorry",
    "i stopped",
];

/// Whether a reply says that, or why, something was not done. "There are no files to change" is not a reason.
pub(super) fn refuses(words: &str) -> bool {
    let is_reason = |sentence: &String| {
        let denies = ["there is no ", "there are no ", "there's no "].iter().any(|start| sentence.starts_with(start));
        let a_need = ["to change", "to be changed", "needed", "necessary", "required"];
        let names_a_file = bare_words(sentence).into_iter().any(is_file);
        !(denies && !names_a_file && a_need.iter().any(|end| sentence.contains(end)))
    };
    let mut sentences = sentences(words);
    sentences.retain(is_reason);
    sentences.iter().any(|sentence| REFUSALS.iter().any(|sign| sentence.contains(sign)))
}

/// Whether a reply ends by asking the user.
pub(super) fn asks_back(words: &str) -> bool {
    !words.contains("```") && words.trim_end().trim_end_matches(['*', '_', '"', ')']).ends_with('?')
}

/// Signs that nothing had to be done.
const IN_PLACE: &[&str] = &[
    "already",
    "nothing has to",
    "nothing needs to",
    "no change is needed",
    "no changes are needed",
    "no change needed",
    "no changes needed",
    "no changes were needed",
    "no change was needed",
    "no changes are necessary",
    "no changes necessary",
    "no changes required",
    "no changes are required",
    "nothing to change",
    "nothing to fix",
    "nothing to do",
    "nothing to remove",
    "nothing to add",
    "nothing to update",
    "nothing to commit",
    "up to date",
    "no need to change",
    "all tests pass",
    "as it should be",
    "unchanged",
];

/// Whether a reply says that everything is as wanted.
pub(super) fn finds_in_place(words: &str) -> bool {
    sentences(words).iter().any(|sentence| IN_PLACE.iter().any(|sign| sentence.contains(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_deeds_are_told_from_advice_and_plans() {
        for words in [
            "I have created hello.py.",
            "I've successfully updated `src/main.rs` to use it.",
            "The file hello.py has been created.",
            "hello.py was updated.",
            "Created `hello.py` with a main function.",
            "✅ Updated config.json",
            "The .gitignore file has been created.",
            "I have created a `.gitignore`.",
            "The .gitignore file is created.",
            "hello.py is now updated.",
        ] {
            assert_eq!(claims(words).files.len(), 1, "{words}");
        }
        for words in [
            "You can create hello.py with this code.",
            "I would have created hello.py.",
            "I have not created hello.py.",
            "Once you have created hello.py, run it.",
            "Should I have created hello.py?",
            "hello.py is where it happens.",
            "To fix this, hello.py should be updated.",
            "```\nI have created hello.py.\n```",
        ] {
            assert_eq!(claims(words), ClaimedDeeds::default(), "{words}");
        }
        assert!(claims("I ran the tests and they pass.").ran);
        assert!(claims("I have executed `cargo test`.").ran);
        assert!(!claims("Run the tests with `cargo test`.").ran);
        assert!(!claims("You should have run the tests.").ran);
        for (words, file) in [
            ("I updated main.py to import the helper from utils.py.", "main.py"),
            ("I've added `logging.info` calls to main.py.", "main.py"),
            ("The old test in tests/test_a.py was removed.", "tests/test_a.py"),
            ("I updated /home/u/p/hello.py.", "/home/u/p/hello.py"),
        ] {
            assert_eq!(claims(words).files, [file], "{words}");
        }
        assert!(reports_a_deed("✅ GOAL ACHIEVED") && reports_a_deed("I've added the function."));
        assert!(!reports_a_deed("Here is the function."));
    }

    #[test]
    fn a_reason_a_question_and_something_in_place_are_heard() {
        assert!(refuses("I cannot do that: there is no such file."));
        assert!(!refuses("Here is the file you wanted."));
        assert!(!refuses("Use `+` instead of `-`."));
        assert!(!refuses("The test failed because of line 3; change it."));
        assert!(asks_back("Which of the two files do you mean?"));
        assert!(!asks_back("```python\nx\n```\nShall I write it?"));
        assert!(finds_in_place("The function is already there; nothing to do."));
        assert!(!finds_in_place("Here is the function."));
    }
}
