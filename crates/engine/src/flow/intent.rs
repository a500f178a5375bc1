//! Detects whether a message asks to implement what was discussed. A list of triggers has the phrases, by default the
//! documented ones. The context decides: a question, a "not yet", or a thought about how it could be done is not a
//! request.

use std::cmp::Reverse;

/// Words before a request that do not change it.
const FILLERS: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "yup",
    "ok",
    "okay",
    "sure",
    "great",
    "good",
    "perfect",
    "fine",
    "alright",
    "right",
    "cool",
    "nice",
    "thanks",
    "so",
    "now",
    "then",
    "please",
    "just",
    "well",
    "and",
    "also",
    "awesome",
    "excellent",
    "absolutely",
    "exactly",
    "agreed",
    "definitely",
    "lovely",
    "super",
    "wonderful",
    "kindly",
    "finally",
    "all",
    "sounds",
    "looks",
    "that",
    "works",
    "let's",
    "lets",
    "time",
    "to",
];

/// Phrases that introduce a request.
const LEADS: &[&str] = &[
    "let us",
    "i want you to",
    "i'd like you to",
    "i would like you to",
    "i need you to",
    "you should",
    "please do",
    "it's time to",
    "ready to",
    "we're ready to",
    "i want to",
    "we want to",
    "go on and",
    "go and",
];

/// Phrases that give permission; before anything but `go ahead`, they describe a possibility.
const LETTING: &[&str] = &["you can", "you may", "we can", "i think you can", "feel free to"];

/// Words that negate a request.
const NEGATIONS: &[&str] = &[
    "don't",
    "dont",
    "not",
    "never",
    "no",
    "without",
    "wait",
    "hold",
    "stop",
    "can't",
    "cannot",
    "won't",
    "shouldn't",
    "wouldn't",
    "couldn't",
    "nothing",
    "neither",
    "nor",
    "isn't",
    "doesn't",
    "didn't",
    "avoid",
    "refrain",
    "instead",
    "later",
    "tomorrow",
];

/// Words that make what follows a condition.
const CONDITIONS: &[&str] = &[
    "if", "when", "whenever", "once", "unless", "until", "before", "after", "while", "because", "suppose", "assuming",
];

/// Beginnings of questions, also where the mark is missing.
const QUESTIONS: &[&str] = &[
    "how", "what", "why", "when", "where", "which", "who", "should", "shall", "do", "does", "did", "is", "are", "can",
    "could", "would", "will", "may", "might", "am", "has", "have",
];

/// Words after `build` that make it a thing.
const THINGS: &[&str] = &[
    "time",
    "times",
    "system",
    "systems",
    "fails",
    "failed",
    "failing",
    "failure",
    "error",
    "errors",
    "is",
    "was",
    "script",
    "scripts",
    "step",
    "steps",
    "tool",
    "tools",
    "broke",
    "broken",
    "server",
    "number",
    "log",
    "logs",
    "cache",
    "output",
    "process",
    "pipeline",
    "pipelines",
    "takes",
    "and",
    "or",
];

/// What may follow `do it` and `make it`; anything else says how, which is talk.
const ENDS: &[&str] = &[
    "now",
    "please",
    "then",
    "so",
    "happen",
    "real",
    "for",
    "today",
    "right",
    "asap",
    "already",
    "like",
    "that",
    "this",
    "as",
    "exactly",
    "immediately",
    "all",
    "work",
    "yourself",
];

/// Verbs that ask for words.
const TALK: &[&str] = &[
    "tell",
    "explain",
    "describe",
    "show",
    "ask",
    "summarize",
    "summarise",
    "say",
    "list",
    "compare",
    "outline",
    "elaborate",
    "discuss",
    "clarify",
    "suggest",
    "recommend",
    "give",
    "remind",
    "read",
    "continue",
    "with",
    "talk",
];

/// What `go ahead with …` may be about.
const WORK: &[&str] = &["it", "that", "this", "the", "implementation", "your", "implementing", "building", "coding"];

/// A trigger as written, and its words as they are matched.
struct Trigger<'t> {
    written: &'t str,
    words: Vec<String>,
}

/// Whether a phrase can be a trigger: it must be recognized at least when it stands alone.
pub fn can_trigger(phrase: &str) -> bool {
    phrase.len() <= LONGEST_TRIGGER && to_implement(phrase, &[phrase]).is_some()
}

/// Bytes of a trigger at most.
pub const LONGEST_TRIGGER: usize = 100;

/// The trigger in a text, if it is a request.
pub fn to_implement<'t>(words: &str, triggers: &'t [impl AsRef<str>]) -> Option<&'t str> {
    let triggers: Vec<Trigger<'t>> = triggers.iter().filter_map(|trigger| read(trigger.as_ref())).collect();
    let words = plain(words);
    let mut negated = false;
    for sentence in sentences(&words) {
        let asks = sentence.ends_with('?');
        let clauses: Vec<Vec<&str>> = sentence
            .split([',', ':', '—', '–', '(', ')', '.', '!', '?', ';'])
            .flat_map(|clause| clause.split(" but "))
            .map(|clause| clause.split_whitespace().collect::<Vec<_>>())
            .filter(|clause| !clause.is_empty())
            .collect();
        for (at, clause) in clauses.iter().enumerate() {
            // "Don't, whatever happens, build it": a negation alone is about what follows.
            negated |= clause.iter().all(|word| matches!(*word, "please" | "don't" | "never" | "not" | "do" | "no"))
                && clause.iter().any(|word| matches!(*word, "don't" | "never" | "not"));
            let next = clauses.get(at + 1).and_then(|next| next.first()).copied();
            if let Some(trigger) = imperative(clause, asks, next, &triggers).filter(|_| !negated) {
                return Some(trigger);
            }
        }
        negated = false;
    }
    None
}

fn read(written: &str) -> Option<Trigger<'_>> {
    let words: Vec<String> = plain(written).split_whitespace().map(str::to_owned).collect();
    // Quotations are left out, and marks alone are not words.
    let is_said = |word: &String| word.contains(char::is_alphanumeric);
    (!words.is_empty() && words.iter().all(is_said)).then_some(Trigger { written, words })
}

/// Lower case, plain quotes, without what is quoted or code.
fn plain(words: &str) -> String {
    const LONGEST: usize = 4_000;
    let words = &words[..words.floor_char_boundary(LONGEST)];
    let words = words
        .to_lowercase()
        .replace(['’', '‘'], "'")
        .replace("thank you", "thanks")
        .replace(['“', '”', '«', '»'], "\"");
    let mut text = String::with_capacity(words.len());
    let mut inside = None;
    for c in words.chars() {
        match inside {
            Some(end) if c == end => inside = None,
            Some(_) => {}
            None if c == '"' || c == '`' => {
                inside = Some(c);
                text.push_str(" … ");
            }
            None => text.push(c),
        }
    }
    text
}

/// Sentences with their marks.
fn sentences(words: &str) -> impl Iterator<Item = &str> {
    words.split_inclusive(['\n', '.', '!', '?', ';']).map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// The trigger of one clause, if it is a request.
fn imperative<'t>(clause: &[&str], asks: bool, next: Option<&str>, triggers: &[Trigger<'t>]) -> Option<&'t str> {
    let rest = without_fillers(clause);
    let polite = matches!(rest, ["can" | "could" | "would" | "will", "you", ..]);
    let insists = clause.iter().any(|word| matches!(*word, "please" | "now"));
    // "Can you build it?" may be a question about ability; with a please it is a request.
    let (clause, asks) = if polite && insists { (&rest[2..], false) } else { (clause, asks) };
    if asks {
        return None;
    }
    // The first counts, and of those that begin there the longest.
    let (trigger, at) = triggers
        .iter()
        .filter_map(|trigger| Some((trigger, find(clause, trigger)?)))
        .min_by_key(|(trigger, at)| (*at, Reverse(trigger.words.len())))?;
    let (before, after) = (without_fillers(&clause[..at]), &clause[at + trigger.words.len()..]);
    let said = trigger.words.join(" ");
    let has = |list: &[&str], words: &[&str]| words.iter().any(|word| list.contains(word));
    if has(NEGATIONS, before) || has(NEGATIONS, after) || has(CONDITIONS, before) || is_question(before) {
        return None;
    }
    if !(leads(before, LEADS) || (matches!(said.as_str(), "go ahead" | "do it") && leads(before, LETTING))) {
        return None;
    }
    let follows = after.first().copied();
    let fits = match said.as_str() {
        "build" => follows.is_none_or(|word| !THINGS.contains(&word)),
        "do it" | "make it" => follows.is_none_or(|word| ENDS.contains(&word)),
        "go ahead" => match after {
            [] => next.is_none_or(|word| !TALK.contains(&word)),
            ["and", verb, ..] => !TALK.contains(verb),
            ["with", what, ..] => WORK.contains(what),
            [word, ..] => !TALK.contains(word),
        },
        _ => true,
    };
    fits.then_some(trigger.written)
}

fn without_fillers<'a, 'w>(clause: &'a [&'w str]) -> &'a [&'w str] {
    let start = clause.iter().position(|word| !FILLERS.contains(word)).unwrap_or(clause.len());
    &clause[start..]
}

/// The position of a trigger's words in a clause.
fn find(clause: &[&str], trigger: &Trigger<'_>) -> Option<usize> {
    clause.windows(trigger.words.len()).position(|words| words == trigger.words.as_slice())
}

fn is_question(before: &[&str]) -> bool {
    before.first().is_some_and(|first| QUESTIONS.contains(first))
}

/// Whether a request can follow these words: none, or one of these phrases.
fn leads(before: &[&str], beginnings: &[&str]) -> bool {
    let text = before.join(" ");
    let rest = beginnings.iter().find_map(|lead| text.strip_prefix(lead)).unwrap_or(&text);
    rest.split_whitespace().all(|word| FILLERS.contains(&word) || matches!(word, "go" | "ahead"))
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::TRIGGERS;

    use super::*;

    /// Each of these begins the work.
    const WISHES: &[&str] = &[
        "implement",
        "Implement it",
        "Yes, implement it",
        "please implement this now",
        "OK, do it",
        "ok do it.",
        "do it",
        "Do it now!",
        "let's do it",
        "Yes please, go ahead",
        "go ahead",
        "GO AHEAD",
        "Go ahead and build it",
        "go ahead with the implementation",
        "Sounds good, go ahead.",
        "Looks good. Build it!",
        "build it",
        "Build the login page",
        "Great, now build me that parser",
        "create it",
        "Perfect, create it please",
        "make it",
        "make it so",
        "Make it happen",
        "Let's build it",
        "Let us build this",
        "I want you to implement it",
        "I'd like you to build that now",
        "You can go ahead",
        "you may go ahead now",
        "Could you please implement it?",
        "Can you build it now?",
        "JWT tokens. Then implement it",
        "Don't wait, go ahead",
        "If that is clear, go ahead",
        "That works, but use Postgres. Go ahead!",
        "go ahead if you are ready",
        "All right: do it",
        "Thank you, do it like that",
        "alright\ngo ahead",
        "go ahead, but don't touch the UI",
        "Yes — implement it",
        "Thank you! You can do it now",
        "I’d like you to implement it",
    ];

    /// None of these does.
    const TALK_ONLY: &[&str] = &[
        "don't build it yet",
        "Don’t build it yet.",
        "do not implement anything",
        "how would you build it?",
        "How would you build it",
        "should we implement it?",
        "Should I go ahead?",
        "can you build it in Rust?",
        "What would it take to implement this?",
        "the build fails on my machine",
        "Build times are too long",
        "build errors everywhere",
        "We could build it with Postgres",
        "They implement OAuth in a library",
        "I built it last year",
        "The implementation should be small",
        "before you implement it, tell me the cost",
        "If we build it like that, it will be slow",
        "When you build it, think of Windows",
        "make it simpler",
        "Make it two columns wide",
        "let's do it with Redis instead",
        "wait, do not go ahead",
        "hold on before you go ahead",
        "not yet, I will say \"go ahead\" later",
        "When I say `go ahead`, start",
        "go ahead and explain that again",
        "go ahead, tell me more",
        "never implement it without asking me",
        "Don't, whatever happens, build it",
        "Why not build it in Go?",
        "who will implement it",
        "Is it hard to create it?",
        "I am not sure we should build it",
        "OAuth with Google and GitHub",
        "JWT tokens",
        "rebuild the index",
        "an implementer would know",
        "I can't do it",
        "let's implement it tomorrow",
        "does it build?",
        "nothing to implement here",
        "you can build it with make",
        "We can implement it in C",
        "",
        "…",
    ];

    #[test]
    fn a_wish_to_begin_is_told_from_talk_about_it() {
        assert!(WISHES.len() + TALK_ONLY.len() >= 60);
        let missed: Vec<_> = WISHES.iter().filter(|words| to_implement(words, &TRIGGERS).is_none()).collect();
        let mistaken: Vec<_> = TALK_ONLY.iter().filter(|words| to_implement(words, &TRIGGERS).is_some()).collect();
        assert!(missed.is_empty() && mistaken.is_empty(), "missed {missed:?}, mistaken {mistaken:?}");
    }

    #[test]
    fn each_documented_word_begins_the_work_by_itself_in_any_case() {
        for trigger in TRIGGERS {
            assert_eq!(to_implement(trigger, &TRIGGERS), Some(trigger));
            assert_eq!(to_implement(&format!("Yes, {}!", trigger.to_uppercase()), &TRIGGERS), Some(trigger));
        }
    }

    #[test]
    fn a_phrase_of_ones_own_begins_the_work_as_the_documented_ones_do() {
        let own = ["Ship it", "los geht’s", "let's go", "make it", "make it so"];
        let heard = |words: &str| to_implement(words, &own);
        assert_eq!(heard("ship it"), Some("Ship it"));
        assert_eq!(heard("Looks good, please SHIP IT now!"), Some("Ship it"));
        assert_eq!(heard("I want you to ship it"), Some("Ship it"));
        assert_eq!(heard("Super, los geht's!"), Some("los geht’s"));
        assert_eq!(heard("OK, let’s go."), Some("let's go"), "its words may be words that change nothing elsewhere");
        assert_eq!(heard("Make it so"), Some("make it so"), "the longest");
        for talk in [
            "don't ship it",
            "Do not ship it yet",
            "ship it tomorrow",
            "Should we ship it?",
            "how would you ship it",
            "Can you ship it?",
            "if you ship it, tell them",
            "We could ship it with Docker",
            "say \"ship it\" when you are done",
            "reship it",
            "go ahead",
            "implement it",
        ] {
            assert_eq!(heard(talk), None, "{talk}");
        }
        assert_eq!(to_implement("go ahead", &[] as &[&str]), None, "without phrases nothing is heard");
    }

    #[test]
    fn a_phrase_that_could_never_be_heard_is_told() {
        for good in TRIGGERS.iter().chain(&["ship it", "Let's go", "no more talk", "weiter", "始めて"]) {
            assert!(can_trigger(good), "{good}");
        }
        for bad in
            ["", "  ", "…?", "ship it?", "yes, ship it", "a. b", "`ship`", "never", "now but later", &"é".repeat(51)]
        {
            assert!(!can_trigger(bad), "{bad}");
        }
    }

    #[test]
    fn long_and_odd_texts_are_read_in_bounded_time() {
        assert_eq!(to_implement(&"go ahead? ".repeat(100_000), &TRIGGERS), None);
        assert_eq!(to_implement(&"\"".repeat(9_999), &TRIGGERS), None);
        assert_eq!(to_implement(&"é".repeat(9_999), &TRIGGERS), None);
    }
}
