//! What can be derived from the text of a request without a model.
//!
//! Rules may choose a conversation if nothing could be changed anyway, and they may notice how the user wants to
//! work. They never decide that a task is clear.

use crate::pictures::count;
use crate::proposal::file_names::{is_language_name, is_named_without_extension};

/// The signals in the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestSignals {
    /// A greeting or thanks, and nothing else.
    pub(crate) small_talk: bool,
    /// They ask something.
    pub(crate) question: bool,
    /// They ask for something to be done.
    pub(crate) change: bool,
    /// They speak of what is here: files, code, this folder.
    pub(crate) here: bool,
    /// They ask about an idea, which needs nothing of the folder.
    pub(crate) concept: bool,
    /// They ask for words: a poem, a joke, three names.
    pub(crate) prose: bool,
    /// They ask for a picture.
    pub(crate) picture: bool,
    /// They ask for a plan before anything is done.
    pub(crate) plan: bool,
    /// They want to talk before anything is done.
    pub(crate) talk: bool,
    /// What they ask for may take something away.
    pub(crate) destroys: bool,
}

/// Words of greetings and thanks, which need no tools.
const SMALL_TALK: &str = "\
hello, hi, hey, hi there, hello there, good morning, good afternoon, good evening, good night, thanks, \
thank you, thanks a lot, thank you very much, many thanks, thx, cheers, great, nice, cool, perfect, \
awesome, well done, good job, nice work, bye, goodbye, see you, how are you, how are you doing, what's up, \
who are you, what can you do, what are you";

/// Verbs that ask for something to be done when a sentence begins with them.
const DOING: &str = "\
add, adapt, adjust, annotate, append, apply, bench, benchmark, build, bump, change, check, clean, commit, \
compile, complete, configure, convert, copy, correct, create, cut, debug, declare, delete, deploy, disable, \
document, download, drop, edit, enable, ensure, erase, execute, export, expose, extend, extract, fetch, \
finish, fix, format, generate, get, give, group, handle, hook, implement, import, improve, include, \
increase, init, initialize, inline, insert, install, integrate, introduce, investigate, kill, lint, lower, \
make, mark, merge, migrate, modify, move, mock, open, optimize, optimise, organize, package, patch, polish, \
port, prepare, profile, publish, purge, push, put, raise, rebase, recreate, reduce, refactor, regenerate, \
release, remove, rename, reorder, repair, replace, reproduce, reset, resolve, restore, restructure, revert, \
rewrite, rollback, run, save, scaffold, set, setup, simplify, sort, speed, split, squash, start, stop, \
store, support, swap, switch, sync, test, tidy, translate, trim, try, turn, tweak, undo, uninstall, unify, \
update, upgrade, use, validate, verify, wipe, wire, wrap, write";

/// Of these, the ones that take something away.
const DESTROYING: &str = "\
delete, remove, drop, erase, wipe, purge, reset, clean, uninstall, overwrite, truncate, rm";

/// Phrases that can precede such a verb in a request.
const WISHES: &str = "\
please, pls, kindly, can you, could you, would you, will you, can we, could we, you should, you must, \
i want you to, i need you to, i'd like you to, i would like you to, i want to, i need to, i'd like to, \
we need to, we should, we must, let's, lets, let us, help me, help me to, now, then, next, also, ok, okay, \
yes, and, first, finally, just, quickly, carefully, go and, try to, make sure to, don't forget to, \
remember to, time to, go ahead and, todo:, task:, so, alright";

/// What a question begins with.
const ASKING: &str = "\
what, what's, whats, why, how, when, who, whose, which, where, is, are, was, were, does, do, did, should, \
would, could, can, may, might, has, have, will, am, explain, describe, tell me, define, compare, summarize, \
summarise, clarify, elaborate";

/// What a question about an idea begins with.
const IDEAS: &str = "\
what is a, what is an, what is the difference, what's the difference, what are the differences, what's a, \
what's an, what are, what does, what is, what's, why is, why are, why do, why does, how does, how do, \
explain what, explain how, explain why, explain the, explain, describe what, describe how, define, \
who invented, who is, who was, when was, when should, when would, compare, tell me about, is it true that, \
is there a difference, what would be the, how would";

/// Texts that are answered, not written to a file, unless a file is named.
const PROSE: &str = "\
essay, poem, story, haiku, limerick, sonnet, song, ode, joke, jokes, riddle, riddles, tale, fairy tale, rhyme, \
anecdote, toast, speech, slogan, slogans, pun, puns, fable";

/// What asks for a text.
const TELLING: &str = "write, write me, compose, tell, tell me, invent, make up, recite, give me";

/// What asks for a few of something.
const NAMING: &str = "name, name me, suggest, suggest me, recommend, recommend me, list";

const COUNTS: &str = "a few, some, two, three, four, five, six, seven, eight, nine, ten, a dozen, several";

/// Words that make it a request for work on files.
const OF_WORK: &str = "\
this, these, here, our, my, file, files, folder, code, repo, repository, project, function, functions, class, test, \
tests, module, script, page, readme, docs, changelog, commit, commits, branch, user story, user stories, ticket, \
issue, bug, bugs, api, endpoint, endpoints, component, dependency, dependencies, save, markdown, html, json, todo, todos";

/// Those of them that people say of their own life as well.
const OF_PEOPLE: [&str; 5] = ["this", "these", "here", "our", "my"];

/// What speaks of what is here.
const HERE: &str = "\
this, these, here, our, my, mine, the file, the files, the code, the repo, the repository, the project, \
the folder, the directory, the tests, the test, the build, the function, the class, the module, the method, \
the api, the app, the script, the readme, the docs, the config, the server, the database, the branch, \
the commit, the diff, the error, the bug, the log, the logs, the output, the failing, the last, \
the current, codebase, it, that, them, we, us, above, todo, todos, ci, pipeline";

const DRAWING: &str = "\
draw, paint, sketch, illustrate, generate, create, make, design, render, produce";

/// A picture in a page and the image of a container are work on files.
const OF_FILES: &str = "\
docker, dockerfile, container, component, components, upload, resize, img, css, html, svg, class, field, endpoint, \
column, button, buttons, table, diagram, graph, chart, code, test, tests, function, library, package, loader, picker";

/// What is drawn without a pencil.
const IDIOMS: &str = "\
conclusion, conclusions, attention, line, lines, distinction, comparison, parallel, parallels, inference, \
inferences, inspiration, lesson, lessons, lots, straws, blank, breath, salary, contract, agreement, crowd, fire, \
experience, boundary, boundaries, box, rectangle, polygon, canvas, call, calls, frame, text, cursor";

/// Phrases with "draw" that do not ask for an image: "draw up", "draw on", "draw from".
const DRAWN_FROM: &str = "draw up, draw on, draw upon, draw from, draw out, draw near, draw back, draw down, draw in";

/// What a file is named after that a picture only takes its subject from.
const SUBJECT: [&str; 8] =
    ["based on", "from", "using", "according to", "inspired by", "described in", "see", "after reading"];

const PLANNING: &str = "\
make a plan, create a plan, write a plan, draft a plan, give me a plan, show me a plan, propose a plan, \
plan how, plan the, plan a, plan out, plan for, plan before, plan first, come up with a plan, \
outline a plan, outline the steps, what would be your plan, don't change anything yet, \
do not change anything yet, without changing anything, before you change anything, \
before changing anything, only plan, just plan, don't implement yet, do not implement yet, \
don't build it yet, don't write code yet, don't code yet";

const TALKING: &str = "\
let's discuss, lets discuss, let's talk, lets talk, let's brainstorm, lets brainstorm, brainstorm, \
i want to discuss, i'd like to discuss, what do you think, your opinion, just talk, thinking about, \
i'm wondering, i am wondering, talk me through, talk through";

/// Bytes that are scanned, because a request is at the beginning.
const MOST_SCANNED: usize = 4_000;

/// Scans the text. Code in fences is ignored.
pub(crate) fn read(text: &str) -> RequestSignals {
    let text = &text[..text.floor_char_boundary(MOST_SCANNED)];
    let plain = plain(text);
    let all = plain.trim();
    let bare = all.trim_end_matches(['!', '.', '?', ' ', ',']);
    if listed(SMALL_TALK).any(|words| words == bare) {
        return RequestSignals { small_talk: true, ..RequestSignals::default() };
    }
    let sentences: Vec<&str> = sentences(all).collect();
    let asks = |sentence: &str| sentence.ends_with('?') || listed(ASKING).any(|word| begins(sentence, word));
    let phrase = sentences.iter().copied().filter_map(wished).next();
    let question = sentences.iter().any(|sentence| asks(sentence));
    let talk = has(all, TALKING);
    let picture = is_picture(all);
    let names_a_path = names_a_path(text);
    let here = names_a_path || has(all, HERE) || text.contains("```");
    let concept = question
        && phrase.is_none()
        && !here
        && sentences.iter().any(|sentence| listed(IDEAS).any(|idea| begins(sentence, idea)));
    let prose = !names_a_path
        && !text.contains("```")
        && !has(all, OF_WORK)
        && sentences.first().is_some_and(|first| is_prose(first));
    RequestSignals {
        small_talk: false,
        prose,
        question,
        change: phrase.is_some() && !picture,
        here,
        concept,
        picture,
        plan: has(all, PLANNING) || sentences.iter().any(|sentence| begins(sentence, "plan")),
        talk,
        destroys: sentences
            .iter()
            .copied()
            .filter_map(wished)
            .any(|verb| listed(DESTROYING).any(|known| known == verb)),
    }
}

/// Whether a sentence asks for a text of some kind, or for a few of something.
fn is_prose(sentence: &str) -> bool {
    let phrase = after_lead(sentence);
    let after = |leads: &'static str| {
        let lead = listed(leads).filter(|lead| begins(phrase, lead)).max_by_key(|lead| lead.len())?;
        Some(phrase[lead.len()..].trim_start())
    };
    // "a short story about", not "a script that tells a story".
    let kind = |rest: &str| rest.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
    let is_text = after(TELLING).is_some_and(|rest| {
        let kind = kind(rest);
        let end = [" about ", " of ", " for ", " that ", " which ", " on ", " to "]
            .iter()
            .filter_map(|word| kind.find(word))
            .min();
        has(&kind[..end.unwrap_or(kind.len())], PROSE)
    });
    let is_few = after(NAMING).is_some_and(|rest| {
        listed(COUNTS).any(|count| begins(rest, count)) || rest.starts_with(|c: char| c.is_ascii_digit())
    });
    is_text || is_few
}

/// The verb of a sentence that asks for something to be done.
fn wished(sentence: &str) -> Option<&str> {
    let rest = after_lead(sentence);
    let verb = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // "How do I …" and "should we …" are questions; only a verb at the start is a request.
    listed(DOING).chain(listed(DESTROYING)).any(|known| known == verb).then_some(verb)
}

/// A sentence without the phrases that introduce a request.
pub(super) fn after_lead(sentence: &str) -> &str {
    let mut rest = sentence.trim_start_matches(['-', '*', '•', '>', '#', '(', '"', ' ']);
    rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['.', ')', ' ']);
    for _ in 0..6 {
        let before = rest;
        rest = rest.trim_start_matches([',', ' ', ':', ';']);
        if let Some(lead) = listed(WISHES).filter(|lead| begins(rest, lead)).max_by_key(|lead| lead.len()) {
            rest = rest[lead.len()..].trim_start_matches([',', ' ', ':']);
        }
        if rest == before {
            break;
        }
    }
    rest
}

/// Whether words ask for a picture, in any of their sentences. A file that they name makes it work on files, unless the
/// picture is only to be about that file. What asks for something else first is work, too.
fn is_picture(all: &str) -> bool {
    if has(all, OF_FILES) || names_a_path(&without_subjects(all)) {
        return false;
    }
    if asks_for_picture(all) {
        return true;
    }
    let mut later = sentences(all).skip_while(|sentence| is_statement(sentence));
    let is_work = listed(OF_WORK).filter(|word| !OF_PEOPLE.contains(word)).any(|word| contains_word(all, word));
    // After a statement, a verb alone may be about what the statement describes.
    !is_work && later.next().is_some_and(|sentence| names_picture(sentence) && asks_for_picture(sentence))
}

/// Whether a sentence neither asks for anything nor about anything.
fn is_statement(sentence: &str) -> bool {
    let is_drawn = listed(DRAWING).any(|verb| begins(after_lead(sentence), verb));
    let is_question = sentence.ends_with('?') || listed(ASKING).any(|word| begins(sentence, word));
    !is_drawn && !is_question && wished(sentence).is_none()
}

/// Whether a sentence names a picture, or draws something that it introduces: "draw a fox", not "draw the shape".
fn names_picture(sentence: &str) -> bool {
    let phrase = after_lead(sentence);
    let mut words = phrase.split(|c: char| !c.is_alphanumeric());
    ["draw a", "draw an", "draw me", "paint a", "sketch a"].iter().any(|lead| begins(phrase, lead))
        || words.any(count::is_noun)
        || contains_word(phrase, "artwork")
}

/// Whether words begin with a verb that makes a picture, and name what is made as one, or only draw.
fn asks_for_picture(all: &str) -> bool {
    let phrase = after_lead(after_subject(after_lead(all)));
    let Some(verb) = listed(DRAWING).find(|verb| begins(phrase, verb)) else { return false };
    if has(phrase, DRAWN_FROM) {
        return false;
    }
    let first = sentences(phrase).next().unwrap_or(phrase);
    let mut words =
        first[verb.len()..].split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty());
    let only_draws =
        verb == "draw" || ["paint a", "paint me", "sketch a", "sketch me"].iter().any(|so| begins(phrase, so));
    if only_draws {
        return !words.take(5).any(|word| listed(IDIOMS).any(|idiom| idiom == word));
    }
    // "create 4 very simple app icons": the noun comes soon, or it is about something else.
    let found = words.by_ref().take(7).take_while(|word| !is_of_something(word)).any(count::is_noun);
    let next = words.next();
    found && next.is_none_or(|word| listed(FOLLOWS).any(|known| known == word) || count::is_noun(word))
        || listed("artwork, pixel art, banner image").any(|noun| contains_word(first, noun))
}

/// A request without an introduction that names its source: "Based on the README, draw …".
fn after_subject(phrase: &str) -> &str {
    match phrase.split_once(',') {
        Some((subject, rest)) if SUBJECT.iter().any(|lead| begins(subject, lead)) => {
            if contains_word(subject, "readme") || names_a_path(subject) { rest } else { phrase }
        }
        _ => phrase,
    }
}

/// What may follow the noun without making it a part of something else: "an image of", not "an image tag".
const FOLLOWS: &str = "\
of, for, that, with, showing, which, where, in, on, at, from, as, to, and, or, called, named, based, using, \
inspired, depicting, about, like, idea, ideas, variant, variants, version, versions, option, options, design, \
designs, concept, concepts, draft, drafts, set, sets, please, featuring, made, made-up, without, by, the, a, an";

/// Words that introduce a purpose or subject: "create a script for icons" makes no icon.
fn is_of_something(word: &&str) -> bool {
    matches!(*word, "for" | "of" | "that" | "which" | "to" | "with" | "from" | "in" | "so" | "and" | "where")
}

/// The text without the files that a picture is to be about.
fn without_subjects(text: &str) -> String {
    let mut rest = text.to_owned();
    for lead in SUBJECT {
        while let Some(at) = rest.find(&format!("{lead} ")) {
            let from = at + lead.len() + 1;
            let tail = rest[from..].trim_start_matches("the ").trim_start_matches("our ").trim_start_matches("my ");
            let end = tail.find(char::is_whitespace).unwrap_or(tail.len());
            rest = format!("{}{}", &rest[..at], &tail[end..]);
        }
    }
    rest
}

/// Whether a word looks like a file or folder of the project.
pub(super) fn names_a_path(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| {
            matches!(c, ',' | ';' | ':' | '?' | '!' | '(' | ')' | '"' | '\'' | '`' | '“' | '”')
        });
        let word = word.trim_end_matches('.');
        if word.contains("://") {
            return false;
        }
        if word.starts_with('@') && word.len() > 1 || word.starts_with("./") || word.starts_with("../") {
            return true;
        }
        let last = word.rsplit('/').next().unwrap_or_default();
        let has_extension = last.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty()
                && (1..=if last.starts_with('.') { 10 } else { 5 }).contains(&extension.len())
                && extension.chars().all(|c| c.is_ascii_alphanumeric())
                && extension.chars().any(|c| c.is_ascii_alphabetic())
                && !matches!(word, "e.g" | "i.e" | "a.m" | "p.m")
                && !is_language_name(word)
        });
        has_extension
            || is_named_without_extension(last)
            || word.contains('/') && word.len() > 3 && word.chars().filter(|c| *c == '/').count() >= 2
    })
}

pub(super) fn has(text: &str, phrases: &'static str) -> bool {
    listed(phrases).any(|phrase| contains_word(text, phrase))
}

/// The entries of a list above.
pub(super) fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

/// Whether a text begins with words, and not in the middle of one.
pub(super) fn begins(text: &str, words: &str) -> bool {
    text.strip_prefix(words)
        .is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '\''))
}

/// Whether a text contains words as whole words.
pub(super) fn contains_word(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric()) && begins(&text[at..], words)
    })
}

/// The text in small letters, without code in fences.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            plain.push_str(line);
            plain.push('\n');
        }
    }
    plain.to_lowercase().replace('’', "'")
}

/// The sentences of a text, with the sign that ends each.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |pair: (char, Option<char>)| match pair {
        ('\n' | ';', _) => true,
        ('.' | '!' | '?', next) => next.is_none_or(char::is_whitespace),
        _ => false,
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.char_indices().peekable();
        let mut cut = rest.len();
        while let Some((at, c)) = chars.next() {
            if ends((c, chars.peek().map(|(_, next)| *next))) {
                cut = at + c.len_utf8();
                break;
            }
        }
        let (sentence, later) = rest.split_at(cut);
        rest = later;
        (!sentence.is_empty() || !later.is_empty()).then_some(sentence.trim())
    })
    .filter(|sentence| !sentence.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_a_few_names_are_words_alone_unless_work_is_named() {
        for (words, wanted) in [
            ("Name three colours, only the names.", true),
            ("Name 5 rivers in Europe", true),
            ("Write an essay about anchors", true),
            ("Please write me a short story about a creature who loved stories", true),
            ("Tell me a joke", true),
            ("Suggest a few names for a cat", true),
            ("List three planets", true),
            ("Write an essay about anchors to essay.md", false),
            ("Write a story about the sea and save it", false),
            ("Write a user story for the login", false),
            ("Write a script that tells a story", false),
            ("Write a test for the parser", false),
            ("List the functions", false),
            ("Name three functions that are too long", false),
            ("Write tests", false),
        ] {
            assert_eq!(read(words).prose, wanted, "{words}");
        }
    }

    /// The documented phrases, each by itself: at the beginning, in the middle of a request, and after an introduction.
    macro_rules! picture_phrases {
        ($($name:ident: $phrase:literal,)*) => {$(
            #[test]
            fn $name() {
                for words in [
                    format!("{} of a fox", $phrase),
                    format!("My shop is called Crumb. Please {} of a loaf.", $phrase),
                    format!("We open in May.\nOur colors are red and gold.\n{} of a ship!", $phrase),
                ] {
                    assert!(read(&words).picture, "{words}");
                }
            }
        )*};
    }

    picture_phrases! {
        create_an_image_asks_for_a_picture: "create an image",
        generate_an_image_asks_for_a_picture: "generate an image",
        make_an_image_asks_for_a_picture: "make an image",
        draw_asks_for_a_picture: "draw a portrait",
        create_a_picture_asks_for_a_picture: "create a picture",
        generate_a_picture_asks_for_a_picture: "generate a picture",
        create_icon_asks_for_a_picture: "create icon",
        create_icons_asks_for_a_picture: "create icons",
        generate_icon_asks_for_a_picture: "generate icon",
        generate_icons_asks_for_a_picture: "generate icons",
        create_logo_asks_for_a_picture: "create logo",
        create_illustration_asks_for_a_picture: "create illustration",
        generate_artwork_asks_for_a_picture: "generate artwork",
        design_an_image_asks_for_a_picture: "design an image",
        produce_an_image_asks_for_a_picture: "produce an image",
    }

    #[test]
    fn a_later_sentence_asks_for_a_picture_only_where_nothing_else_is_asked() {
        for (words, wanted) in [
            ("My shop is called Crumb. Create a logo for it.", true),
            ("It opens in May. Draw a fox", true),
            ("Fix the typo. Then create a logo", false),
            ("Why is it slow? Draw a conclusion", false),
            ("The canvas stays empty. Draw the shape again", false),
            ("I read the report. Draw a conclusion", false),
            ("The tests fail. Create an image of the result", false),
            ("My page is index.html. Create a logo for it", false),
        ] {
            assert_eq!(read(words).picture, wanted, "{words}");
        }
    }

    #[test]
    fn a_picture_may_be_asked_for_after_what_it_is_to_be_about() {
        for (words, wanted) in [
            ("Based on the README, create 4 icon ideas for the app", true),
            ("Using README.md, please draw a logo", true),
            ("Inspired by docs/story/begin.md, draw a ship", true),
            ("Based on the README, create a test for the parser", false),
            ("Using pillow, create an image of the sales", false),
            ("Based on the README, what is an icon?", false),
        ] {
            assert_eq!(read(words).picture, wanted, "{words}");
        }
    }
}
