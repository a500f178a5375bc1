//! Whether words ask for what was talked about to be carried out. The documented list names the words; what
//! surrounds them decides: a question, a "not yet", a thought about how it could be done are no wish.

/// The words, as documented.
pub const TRIGGERS: [&str; 6] = ["implement", "build", "create it", "do it", "go ahead", "make it"];

/// Words that may stand before a wish and change nothing about it.
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

/// Beginnings after which a wish stands.
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

/// Beginnings that let somebody; before other words than `go ahead` they say what is possible.
const LETTING: &[&str] = &["you can", "you may", "we can", "i think you can", "feel free to"];

/// Words that take a wish back.
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

/// The trigger in these words, if they are a wish.
pub fn to_implement(words: &str) -> Option<&'static str> {
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
            // "Don't, whatever happens, build it": a refusal that stands alone is about what follows.
            negated |= clause.iter().all(|word| matches!(*word, "please" | "don't" | "never" | "not" | "do" | "no"))
                && clause.iter().any(|word| matches!(*word, "don't" | "never" | "not"));
            let next = clauses.get(at + 1).and_then(|next| next.first()).copied();
            if let Some(trigger) = wish(clause, asks, next).filter(|_| !negated) {
                return Some(trigger);
            }
        }
        negated = false;
    }
    None
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

/// The trigger of one clause, if it is a wish.
fn wish(clause: &[&str], asks: bool, next: Option<&str>) -> Option<&'static str> {
    let clause = without_fillers(clause);
    let polite = matches!(clause, ["can" | "could" | "would" | "will", "you", ..]);
    let insists = clause.iter().any(|word| matches!(*word, "please" | "now"));
    // "Can you build it?" may be a question about ability; with a please it is none.
    let (clause, asks) = if polite && insists { (without_fillers(&clause[2..]), false) } else { (clause, asks) };
    if asks {
        return None;
    }
    let (trigger, at) =
        TRIGGERS.iter().filter_map(|trigger| Some((*trigger, find(clause, trigger)?))).min_by_key(|it| it.1)?;
    let (before, after) = clause.split_at(at);
    let after = &after[trigger.split(' ').count()..];
    let has = |list: &[&str], words: &[&str]| words.iter().any(|word| list.contains(word));
    if has(NEGATIONS, clause) || has(CONDITIONS, before) || is_question(before) {
        return None;
    }
    if !(leads(before, LEADS) || (matches!(trigger, "go ahead" | "do it") && leads(before, LETTING))) {
        return None;
    }
    let follows = after.first().copied();
    let fits = match trigger {
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
    fits.then_some(trigger)
}

fn without_fillers<'a, 'w>(clause: &'a [&'w str]) -> &'a [&'w str] {
    let start = clause.iter().position(|word| !FILLERS.contains(word)).unwrap_or(clause.len());
    &clause[start..]
}

/// Where a trigger's words stand in a clause.
fn find(clause: &[&str], trigger: &str) -> Option<usize> {
    let wanted: Vec<&str> = trigger.split(' ').collect();
    clause.windows(wanted.len()).position(|words| words == wanted.as_slice())
}

fn is_question(before: &[&str]) -> bool {
    before.first().is_some_and(|first| QUESTIONS.contains(first))
}

/// Whether a wish may follow these words: none at all, or one of these beginnings.
fn leads(before: &[&str], beginnings: &[&str]) -> bool {
    let text = before.join(" ");
    let rest = beginnings.iter().find_map(|lead| text.strip_prefix(lead)).unwrap_or(&text);
    rest.split_whitespace().all(|word| FILLERS.contains(&word) || matches!(word, "go" | "ahead"))
}

#[cfg(test)]
mod tests {
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
        let missed: Vec<_> = WISHES.iter().filter(|words| to_implement(words).is_none()).collect();
        let mistaken: Vec<_> = TALK_ONLY.iter().filter(|words| to_implement(words).is_some()).collect();
        assert!(missed.is_empty() && mistaken.is_empty(), "missed {missed:?}, mistaken {mistaken:?}");
    }

    #[test]
    fn each_documented_word_begins_the_work_by_itself_in_any_case() {
        for trigger in TRIGGERS {
            assert_eq!(to_implement(trigger), Some(trigger));
            assert_eq!(to_implement(&format!("Yes, {}!", trigger.to_uppercase())), Some(trigger));
        }
    }

    #[test]
    fn long_and_odd_texts_are_read_in_bounded_time() {
        assert_eq!(to_implement(&"go ahead? ".repeat(100_000)), None);
        assert_eq!(to_implement(&"\"".repeat(9_999)), None);
        assert_eq!(to_implement(&"é".repeat(9_999)), None);
    }
}
