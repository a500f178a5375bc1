//! Detects whether a request asks for an action: a change of files, or a command. Only clear cases count, because a
//! request that asked for an action and ends without one is reported as not done. Requests for texts ("write a
//! summary of README.md") and for code without a place ("create a function that …") ask for an answer.

use super::words::{self, after_lead, contains_word, listed, names_a_path, plain, sentences};

/// The actions that a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AskedDeeds {
    /// That files change.
    pub(crate) change: bool,
    /// That something is run.
    pub(crate) run: bool,
}

impl AskedDeeds {
    pub(crate) fn any(self) -> bool {
        self.change || self.run
    }
}

/// Verbs that make something. What they make has to have a place: a file, or the project.
const MAKING: &str = "\
create, write, make, generate, add, implement, scaffold, put, save, store, copy, export, init, initialize, introduce, \
insert, append, include, set up, setup, convert, port, define, declare";

/// Verbs that change what is there.
const CHANGING: &str = "\
adapt, adjust, annotate, apply, bump, change, clean, cleanup, comment, complete, configure, correct, cut, delete, \
disable, document, drop, edit, enable, erase, expose, extend, fill, finish, fix, format, handle, hardcode, improve, \
increase, decrease, inline, integrate, lower, merge, migrate, mock, modify, move, optimize, optimise, organize, \
overwrite, patch, polish, raise, recreate, reduce, refactor, regenerate, remove, rename, reorder, repair, replace, \
resolve, restore, restructure, revert, rewrite, set, simplify, sort, split, swap, switch, tidy, trim, tweak, unify, \
uncomment, update, upgrade, wipe, wire, wrap";

/// Verbs that run something.
const RUNNING: &str = "\
run, execute, install, uninstall, commit, push, compile, build, lint, deploy, start, launch, benchmark, rebase, stash, \
pull, checkout, rerun, re-run";

/// What is run without a file's name.
const RUNNABLE: &str = "\
the test, the tests, tests, all tests, test suite, the build, the project, the linter, the script, the program, \
the app, the application, the server, the command, this command, the benchmark, the benchmarks, the migration, \
the migrations, the formatter, the dependencies, dependencies, my changes, the changes, these changes, everything, \
git, npm, npx, yarn, pnpm, cargo, make, pytest, python, python3, node, go test, pip, docker, bash";

/// What the user has in a project, with the words that say that it is there.
const THINGS: &str = "\
function, method, class, module, test, tests, script, file, files, folder, directory, flag, option, endpoint, route, \
handler, config, configuration, setting, settings, dependency, dependencies, import, imports, variable, constant, bug, \
typo, typos, warning, warnings, readme, changelog, license, gitignore, dockerfile, makefile, code, codebase, project, \
repo, repository, component, button, migration, schema, struct, enum, field, parser, cli, docs, documentation, \
comments, docstring, docstrings, logging, port, version, build, error handling, package, workspace, app";

/// Words before a thing that say which one it is.
const DEFINITE: &str =
    "the, this, these, that, those, our, my, all, every, each, any, its, unused, failing, broken, old";

/// Kinds of text. A verb that makes one asks for an answer, unless a target file is named.
const WORDY: &str = "\
summary, summaries, list, explanation, overview, description, comparison, review, report, poem, haiku, essay, story, \
table, outline, question, questions, names, ideas, joke, email, letter, message, answer, sentence, paragraph, analysis, \
notes, example, examples, snippet, regex, query, song, limerick, plan, proposal, suggestion, suggestions, review, \
feedback, argument, speech, tweet, post, slogan, title, steps, guide, tutorial, sense, sure, recipe";

/// Phrases that ask for text only, anywhere in the request.
const ONLY_WORDS: &str = "\
how would, how do i, how can i, how to, show me how, tell me how, explain how, don't change, do not change, \
without changing, don't edit, do not edit, don't write, do not write, don't modify, do not modify, don't run, \
do not run, just tell, only tell, just show, just explain, only explain, in your answer, in the chat, just answer, \
only answer, answer only, what would, give me an example, give an example, for example how, hypothetically, \
don't touch, do not touch, no changes, suggest, propose, pretend, show me, show it, list them, into words, in words, \
in simple words, as a table, in ascii, diagram, pseudo code, pseudocode, and explain, me through, me in on, comment on, \
run through, line by line, start with, move on, which is, my understanding, my confusion, sample request, test plan";

/// Whether the words say that nothing is to be done.
pub(crate) fn wants_only_words(text: &str) -> bool {
    words::has(&plain(&text[..text.floor_char_boundary(4_000)]), ONLY_WORDS)
}

/// Whether every change that the words ask for is one of something that is there already.
pub(crate) fn only_mends(text: &str) -> bool {
    let plain = plain(&text[..text.floor_char_boundary(4_000)]);
    let makes = |phrase: &str| verb_of(phrase, MAKING).is_some();
    let mut phrases =
        sentences(&plain).map(after_lead).flat_map(|phrase| std::iter::once(phrase).chain(further(phrase)));
    deeds(text).change && !phrases.any(makes)
}

/// Verbs whose object may be a new file.
const MAKING_FILES: &str = "create, write, make, generate, scaffold, add, save";

/// Words behind which a file is named for another reason than that it is to be made.
const ABOUT: &str = "\
of, for, about, to, in, into, from, on, that, which, with, so, by, using, like, if, when, where, but, unless, as, based, \
via, not, instead, without, before, after, next, beside, who, whose, containing, importing, reading, while, since";

/// Verbs that leave no file as it was that is their object. One that is to be fixed or checked may be right already.
const CHANGING_FILES: &str = "change, delete, edit, erase, modify, move, overwrite, rename, rewrite, update";

/// Words that introduce a description of the file just named: "b.txt with the text beta".
const DESCRIBING: &str = "with, that, which, containing, where, for, whose";

/// The files that the words ask for one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AskedFiles {
    /// To be made: "create a.py and b.py that use c.py" asks for two.
    pub(crate) made: Vec<String>,
    /// To be changed: "update a.py and b.py to use c.py" asks for two.
    pub(crate) changed: Vec<String>,
}

/// Those of the named files that the words ask to be made or changed.
pub(crate) fn asked_files(text: &str, named: &[String]) -> AskedFiles {
    let plain = plain(&text[..text.floor_char_boundary(4_000)]);
    let mut asked = AskedFiles::default();
    for sentence in sentences(&plain) {
        let phrase = after_lead(sentence);
        for phrase in std::iter::once(phrase).chain(further(phrase)) {
            let (rest, files) = match verb_of(phrase, MAKING_FILES) {
                Some(rest) => (rest, &mut asked.made),
                None => match verb_of(phrase, CHANGING_FILES) {
                    Some(rest) => (rest, &mut asked.changed),
                    None => continue,
                },
            };
            let found = objects(rest, named).into_iter().chain(described(rest, named));
            for file in found {
                if !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
    }
    asked
}

/// The named file that a word is.
fn file_of<'n>(word: &str, named: &'n [String]) -> Option<&'n String> {
    let word = word.trim_matches(['`', '"', '\'', ',', ':', ';', '!']).trim_end_matches('.');
    named.iter().find(|file| file.to_lowercase() == word)
}

/// The files that a verb is about: those before the first word that says what they are for.
fn objects<'n>(rest: &str, named: &'n [String]) -> Vec<&'n String> {
    let is_other = |word: &str| {
        word.starts_with('(')
            || [ABOUT, MAKING, CHANGING, RUNNING].iter().any(|list| listed(list).any(|other| other == word))
    };
    let words = rest.split_whitespace().take_while(|word| !is_other(word.trim_matches([',', ':'])));
    words.filter_map(|word| file_of(word, named)).collect()
}

/// The further files of a verb that have a description each: "a.txt with the text alpha and b.txt with the text beta". In
/// "main.py that reads a.csv and b.csv with pandas", the second is what the first one reads.
fn described<'n>(rest: &str, named: &'n [String]) -> Vec<&'n String> {
    let mut found = Vec::new();
    if objects(rest, named).is_empty() {
        return found;
    }
    let mut joints: Vec<(usize, &str)> = rest.match_indices(" and ").chain(rest.match_indices(", ")).collect();
    joints.sort_unstable();
    for (at, joint) in joints {
        let is_list = rest[..at].split_whitespace().next_back().is_some_and(|word| file_of(word, named).is_some());
        let mut words = rest[at + joint.len()..].split_whitespace().skip_while(|word| {
            matches!(*word, "and" | "a" | "an" | "the" | "another" | "second" | "third" | "file" | "called" | "named")
        });
        let file = words.next().and_then(|word| file_of(word, named));
        let is_described = words.next().is_some_and(|next| listed(DESCRIBING).any(|word| word == next));
        found.extend(file.filter(|_| is_described && !is_list));
    }
    found
}

/// Whether the text is about a file and says neither that it is to be changed nor that it is only to be read.
pub(crate) fn is_unclear_about_a_file(text: &str) -> bool {
    let signals = words::read(text);
    let plain = plain(&text[..text.floor_char_boundary(4_000)]);
    let is_other = signals.small_talk || signals.question || signals.picture || signals.talk || signals.plan;
    let has_verb = |sentence: &str| {
        let phrase = after_lead(sentence);
        [MAKING, CHANGING, RUNNING].iter().any(|verbs| verb_of(phrase, verbs).is_some())
    };
    names_a_path(&plain) && !is_other && !words::has(&plain, ONLY_WORDS) && !sentences(&plain).any(has_verb)
}

/// What the words ask for.
pub(crate) fn deeds(text: &str) -> AskedDeeds {
    let signals = words::read(text);
    let plain = plain(&text[..text.floor_char_boundary(4_000)]);
    if signals.small_talk || signals.picture || signals.talk || signals.plan || words::has(&plain, ONLY_WORDS) {
        return AskedDeeds::default();
    }
    // Code that stands in the request is to be spoken about, unless a file is named as well.
    let quotes_code = text.contains("```");
    let mut asked = AskedDeeds::default();
    for sentence in sentences(&plain) {
        // A question wants an answer, unless it is a polite request.
        let is_polite =
            ["can you", "could you", "would you", "will you", "please"].iter().any(|lead| sentence.contains(lead));
        if sentence.ends_with('?') && !is_polite {
            continue;
        }
        let phrase = after_lead(sentence);
        for phrase in std::iter::once(phrase).chain(further(phrase)) {
            let place = names_a_path(sentence) || (names_a_path(&plain) && refers_back(phrase));
            asked.change |= asks_change(phrase, place, quotes_code);
            asked.run |= asks_run(phrase, place);
        }
    }
    asked
}

/// The other requests in a sentence: "add a flag and run the tests".
fn further(phrase: &str) -> impl Iterator<Item = &str> {
    [" and ", ", then ", " then ", ", "].into_iter().flat_map(move |joint| phrase.split(joint).skip(1)).map(after_lead)
}

/// Whether words speak of something that was named before.
fn refers_back(phrase: &str) -> bool {
    ["it", "there", "them", "this", "that", "its"].iter().any(|word| contains_word(phrase, word))
}

fn asks_change(phrase: &str, has_place: bool, quotes_code: bool) -> bool {
    let makes = verb_of(phrase, MAKING);
    let Some(rest) = makes.or_else(|| verb_of(phrase, CHANGING)) else { return false };
    let object = object(rest);
    let is_wordy = object.iter().any(|word| listed(WORDY).any(|wordy| wordy == *word));
    // Words that are made go into the answer; words that are changed are where they stand.
    if is_wordy && (makes.is_some() || !has_place) {
        return goes_into_a_file(rest);
    }
    if has_place {
        return true;
    }
    if quotes_code {
        return false;
    }
    let is_thing = |word: &str| listed(THINGS).any(|thing| thing == word);
    match makes {
        // A file needs no other place than its name.
        Some(_) => {
            object
                .iter()
                .any(|word| matches!(*word, "file" | "files" | "folder" | "directory" | "readme" | "changelog"))
                || ["to the project", "to this project", "to the codebase", "to our", "in this project", "in this repo"]
                    .iter()
                    .any(|place| contains_word(rest, place))
        }
        None => {
            object.windows(2).any(|pair| listed(DEFINITE).any(|word| word == pair[0]) && is_thing(pair[1]))
                || object.windows(3).any(|three| listed(DEFINITE).any(|word| word == three[0]) && is_thing(three[2]))
        }
    }
}

fn asks_run(phrase: &str, has_place: bool) -> bool {
    let Some(rest) = verb_of(phrase, RUNNING) else { return false };
    if rest.starts_with(['`', '"']) || words::has(rest, RUNNABLE) {
        return true;
    }
    let verb = phrase.split(' ').next().unwrap_or_default();
    has_place || (matches!(verb, "commit" | "push") && rest.len() < 60)
}

/// What follows the verb, if the words begin with one of these.
fn verb_of<'t>(phrase: &'t str, verbs: &'static str) -> Option<&'t str> {
    listed(verbs)
        .filter(|verb| words::begins(phrase, verb))
        .max_by_key(|verb| verb.len())
        .map(|verb| phrase[verb.len()..].trim())
}

/// The words that name what a verb is about: as far as the first that says where, what for or how.
fn object(rest: &str) -> Vec<&str> {
    let ends = |word: &&str| {
        !matches!(
            *word,
            "of" | "for" | "about" | "to" | "in" | "into" | "from" | "on" | "that" | "which" | "with" | "so" | "by"
        )
    };
    rest.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.' | '?' | '!' | ':'))
        .filter(|word| !word.is_empty())
        .take(8)
        .take_while(|word| ends(word))
        .collect()
}

/// Whether a target file for a text is named: "write a summary to NOTES.md".
fn goes_into_a_file(rest: &str) -> bool {
    ["to ", "into ", "as ", "called ", "named "].iter().any(|lead| {
        rest.match_indices(lead).any(|(at, _)| {
            let begins = at == 0 || rest[..at].ends_with(' ');
            begins && rest[at + lead.len()..].split_whitespace().next().is_some_and(names_a_path)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_ask_for_a_change_are_told_from_words_that_ask_for_an_answer() {
        for words in [
            "Create hello.py that prints hello",
            "create a file hello.py with a main function",
            "Please add a function farewell(name) to greet.py",
            "Add a function farewell(name) to greet.py.",
            "Can you fix the typo in README.md?",
            "Fix the failing test",
            "fix the bug in src/a.rs",
            "Change the port in config.json to 8080",
            "Rename the function add to sum in math.py",
            "Delete old.txt",
            "Remove the unused imports",
            "Write a summary of a.md to summary.md",
            "In greet.py, replace Hello with Hi. Then update it.",
            "I want you to refactor this code",
            "Update the version in Cargo.toml and run the tests",
            "Create a file called notes.txt",
            "Create a .gitignore that ignores *.log",
            "Change the title of index.html to Shop",
            "Update the description in package.json",
        ] {
            assert!(deeds(words).change, "{words}");
        }
        for words in [
            "What does greet.py do?",
            "Explain how to fix the bug in a.rs",
            "Write a haiku about rust",
            "Write a summary of README.md",
            "Create a list of the functions in main.py",
            "Create a function that reverses a string",
            "How would you fix a.py?",
            "Review src/a.rs",
            "Name three colours, only the names.",
            "Fix this sentence: me go home",
            "Fix this code:\n```python\nprint 1\n```",
            "Hello",
            "thanks!",
            "Make a plan for the refactoring",
            "Suggest a change to a.py",
            "Don't change anything; update me on the state of a.py",
            "List the files of this folder, then read the shortest one and tell me what it says.",
            "Call list_files now.",
            "Run the tests",
            "Set a good example",
            "Make sense of the log in a.log",
        ] {
            assert!(!deeds(words).change, "{words}");
        }
    }

    #[test]
    fn files_that_are_to_be_made_are_told_from_files_that_are_only_named() {
        let made = |text: &str| asked_files(text, &crate::words::references(text).files).made;
        for (words, files) in [
            ("Create a .gitignore that ignores *.log", vec![".gitignore"]),
            ("create a.py and B.py, which import c.py", vec!["a.py", "B.py"]),
            ("Please write `total.py` that reads users.csv", vec!["total.py"]),
            ("Fix a.py and create a file called notes.txt.", vec!["notes.txt"]),
            ("Create hello.py.", vec!["hello.py"]),
            ("Create a.py, then fix b.py", vec!["a.py"]),
            ("Add a function subtract to calc.py", vec![]),
            ("Write a test for a.py", vec![]),
            ("Fix the bug in parser.py", vec![]),
            ("Make a.py faster", vec!["a.py"]),
            ("Create two files: a.txt with the text alpha and b.txt with the text beta", vec!["a.txt", "b.txt"]),
            (
                "Create a.py with a function f, b.py with g and a file c.py that calls both",
                vec!["a.py", "b.py", "c.py"],
            ),
            ("Write main.py that reads a.csv and b.csv with pandas", vec!["main.py"]),
            ("Create main.py that prints hello and b.csv", vec!["main.py"]),
        ] {
            assert_eq!(made(words), files, "{words}");
        }
    }

    #[test]
    fn files_that_are_to_be_changed_are_told_from_files_that_may_stay() {
        let changed = |text: &str| asked_files(text, &crate::words::references(text).files).changed;
        for (words, files) in [
            ("Update a.py and b.py to use c.py", vec!["a.py", "b.py"]),
            ("Rename total in prices.py to sum, and change main.py so that it works", vec!["main.py"]),
            ("Delete old.txt and notes/older.txt.", vec!["old.txt", "notes/older.txt"]),
            ("Rename a.py to b.py", vec!["a.py"]),
            ("Change the port in config.json to 8080", vec![]),
            ("Fix a.py and b.py", vec![]),
            ("Update the imports of a.py, b.py is fine", vec![]),
        ] {
            assert_eq!(changed(words), files, "{words}");
        }
    }

    #[test]
    fn a_repair_needs_something_that_is_there() {
        assert!(only_mends("Fix the bug in parser.py"));
        for words in ["Create parser.py", "Add a flag to parser.py and fix the tests", "What does parser.py do?"] {
            assert!(!only_mends(words), "{words}");
        }
    }

    #[test]
    fn words_that_ask_for_a_command_are_told_from_others() {
        for words in [
            "Run the tests",
            "run `cargo test`",
            "Please execute main.py",
            "Fix the bug in a.rs and run the tests",
            "commit my changes",
            "Install the dependencies",
            "Build the project",
        ] {
            assert!(deeds(words).run, "{words}");
        }
        for words in
            ["How do I run the tests?", "Start with an explanation", "What would run first?", "Build me a story"]
        {
            assert!(!deeds(words).run, "{words}");
        }
    }
}
