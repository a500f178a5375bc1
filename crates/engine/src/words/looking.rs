//! Detects requests that only ask to look. They must be certain: words that could ask for a change do not count, nor
//! do words in an unknown language.

/// What a request to look begins with.
const LOOKING: &str = "\
list, show, read, explain, describe, summarize, summarise, tell me, what, what's, whats, why, who, whose, which, where, \
when, how does, how do, how is, how are, how many, how much, how long, how big, is there, are there, is it, is this, \
does, do we, do you, has, have, find, search, look, look at, look into, look up, look for, count, print, display, view, \
inspect, examine, review, analyze, analyse, compare, define, clarify, open, call list_files, call read_file, \
call search, use list_files, use read_file, use search, give me an overview, give me a summary, walk me through";

/// Words that can come before it.
const LEADS: &str = "\
please, pls, can you, could you, would you, will you, i want you to, i would like you to, i'd like you to, now, then, \
first, ok, okay, so, just, quickly, hey, hi, hello, thanks, let's, lets, help me";

/// Words that may ask for a change, wherever they stand.
const CHANGING: &str = "\
add, adds, adding, adapt, adjust, append, apply, build, bump, change, changes, clean, cleanup, commit, complete, \
configure, convert, copy, correct, create, creates, creating, cut, debug, delete, deploy, disable, document, download, \
draft, drop, edit, enable, erase, execute, export, extend, extract, fill, finish, fix, fixes, fixing, follow, format, \
generate, handle, implement, import, improve, include, init, inline, insert, install, integrate, introduce, make, merge, \
migrate, modify, move, optimize, optimise, organize, output, overwrite, patch, port, prepare, produce, put, refactor, \
regenerate, remove, rename, repair, replace, reset, resolve, restore, revert, rewrite, run, save, scaffold, set, setup, \
simplify, solve, sort, split, start, store, swap, switch, tidy, todo, translate, trim, turn, update, upgrade, write, \
writes, writing, record, note, continue, proceed, start, work, ensure, fixme, correctly, file it, do it, do that, do so, \
do this, do what, do the, go ahead, go on, carry out, instead";

/// Bytes that are scanned; a longer request asks for more than a look.
const MOST_SCANNED: usize = 2_000;

/// Whether a request asks to look, and for nothing else.
pub(crate) fn only_looks(text: &str) -> bool {
    if text.len() > MOST_SCANNED || text.contains("```") {
        return false;
    }
    let plain: String = text.to_lowercase().replace('\u{2019}', "'");
    let words: Vec<&str> = plain
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '-' | '/' | '.')))
        .map(|word| word.trim_matches(['.', '\'', '-']))
        .filter(|word| !word.is_empty())
        .collect();
    begins_with_a_look(&words) && !phrases(CHANGING).any(|phrase| words.windows(phrase.len()).any(|at| at == phrase))
}

fn begins_with_a_look(words: &[&str]) -> bool {
    let mut rest = words;
    while let Some(lead) = phrases(LEADS).filter(|lead| rest.starts_with(lead)).max_by_key(Vec::len) {
        rest = &rest[lead.len()..];
    }
    phrases(LOOKING).any(|look| rest.starts_with(&look))
}

fn phrases(list: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    list.split(", ").map(|phrase| phrase.split(' ').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_asks_for_nothing_else_only_looks() {
        for look in [
            "Call list_files now.",
            "List the files of this folder, then read the shortest one and tell me what it says.",
            "What does greet.py print?",
            "please explain how the router works",
            "Show me the failing test",
            "How many lines has main.rs?",
            "Could you summarize README.md?",
            "Where is update_user defined?",
        ] {
            assert!(only_looks(look), "{look}");
        }
        for more in [
            "Add a function farewell(name) to greet.py",
            "Read the spec and implement it",
            "List the files and write them to FILES.md",
            "Explain the bug, then fix it",
            "How do I add a flag? Do it in main.rs",
            "Yes, go ahead",
            "greet.py is broken",
            "Show me how it looks and do what the todo says",
            "What is missing here? Create it.",
            "Erkl\u{e4}re mir den Code",
            "Make it faster",
            "",
        ] {
            assert!(!only_looks(more), "{more}");
        }
    }
}
