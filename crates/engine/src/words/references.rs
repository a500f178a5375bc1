//! The files, pages, and resources that a request's text names. Only the world knows whether a file exists.

use trimtab_vocab::{NamedResource, Request};

use crate::proposal::file_names;

/// What words name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Files, as they were written.
    pub files: Vec<String>,
    /// Pages.
    pub urls: Vec<NamedUrl>,
    /// Resources of MCP servers: `@SERVER:URI`.
    pub resources: Vec<NamedResource>,
    /// At least one file is named with an `@`.
    pub is_explicit: bool,
    /// Files that are named with an `@` and are hardly anything else: `@alice` and `@property` are not files, and
    /// `@src/main.rs` is.
    pub marked: Vec<String>,
}

/// A page that words name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedUrl {
    /// Its address.
    pub url: String,
    /// It is named with an `@`: the user wants it loaded.
    pub is_explicit: bool,
}

/// Files and pages that are loaded, because a paste with hundreds of paths does not ask to load them.
const MOST: usize = 20;
/// Bytes of a request that are searched: a request is short, a paste is not.
const SEARCHED: usize = 16 * 1024;

/// Finds what words name: `@path`, paths, and addresses.
pub fn references(text: &str) -> References {
    let mut found = References::default();
    let text = &text[..text.floor_char_boundary(SEARCHED)];
    for word in words(text) {
        let (word, marked) = match word.strip_prefix('@') {
            Some(rest) => (rest, true),
            None => (word.as_str(), false),
        };
        if word.starts_with("http://") || word.starts_with("https://") {
            let named = NamedUrl { url: word.to_owned(), is_explicit: marked };
            if found.urls.len() < MOST && !found.urls.iter().any(|known| known.url == named.url) {
                found.urls.push(named);
            }
        } else if let Some(named) = NamedResource::read(word).filter(|_| marked) {
            if found.resources.len() < MOST && !found.resources.contains(&named) {
                found.resources.push(named);
            }
        } else if (marked && !word.is_empty() && !word.contains('@')) || is_path(word) {
            found.is_explicit |= marked;
            if found.files.len() < MOST && !found.files.iter().any(|known| known == word) {
                found.files.push(word.to_owned());
            }
            if marked
                && found.marked.len() < MOST
                && is_marked_path(word)
                && !found.marked.iter().any(|known| known == word)
            {
                found.marked.push(word.to_owned());
            }
        }
    }
    found
}

/// What the words of a request name. Only what the user wrote loads a page or a resource, or asks for a file: a text that is
/// quoted, and one that came along, may be anybody's. Files of the folder that such a text names are known all the same.
pub(crate) fn references_of(request: &Request) -> References {
    let (typed, added) = request.typed_and_added();
    let (own, quoted) = without_quotes(typed);
    let mut found = references(&own);
    for file in references(&quoted).files.into_iter().chain(references(added).files) {
        if found.files.len() < MOST && !found.files.contains(&file) {
            found.files.push(file);
        }
    }
    found
}

/// The agents that the user calls in a request.
pub(crate) fn agents_of(request: &Request) -> Vec<String> {
    agents(&without_quotes(request.typed_and_added().0).0)
}

/// A text without its fenced blocks, and the blocks. Surfaces put attached files between fences.
fn without_quotes(text: &str) -> (String, String) {
    let (mut own, mut quoted) = (String::new(), String::new());
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let plain = line.trim();
        let sign = plain.chars().next().filter(|sign| matches!(sign, '`' | '~'));
        let run = |sign: char| plain.chars().take_while(|c| *c == sign).count();
        match (fence, sign) {
            (None, Some(sign)) if run(sign) >= 3 && !(sign == '`' && plain[run(sign)..].contains(sign)) => {
                fence = Some((sign, run(sign)));
            }
            (Some((open, length)), Some(sign)) if sign == open && run(sign) >= length && run(sign) == plain.len() => {
                fence = None;
            }
            (None, _) => own.push_str(line),
            (Some(_), _) => quoted.push_str(line),
        }
    }
    (own, quoted)
}

/// The agents that words call, each once: `@agent-NAME`, as other programs write it. A file of this name can be mentioned
/// as `@./agent-NAME`.
fn agents(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(SEARCHED)];
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':');
    let mut names: Vec<String> = Vec::new();
    for word in words(text) {
        let Some(name) = word.strip_prefix("@agent-") else { continue };
        if !name.is_empty() && name.chars().all(is_plain) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names.truncate(MOST);
    names
}

/// The words of a text, without what surrounds them in prose. `@"with spaces"` is one word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        if let Some(quoted) = rest.strip_prefix("@\"")
            && let Some(end) = quoted.find('"')
        {
            words.push(format!("@{}", &quoted[..end]));
            rest = &quoted[end + 1..];
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = rest[..end]
            .trim_start_matches(['(', '[', '{', '<', '"', '\'', '`', '“', '‘'])
            .trim_end_matches([')', ']', '}', '>', '"', '\'', '`', '”', '’', ',', ';', ':', '!', '?', '.']);
        if !word.is_empty() {
            words.push(word.to_owned());
        }
        rest = &rest[end..];
    }
    words
}

/// Whether a word looks like a path: it has folders, or a name and an extension of letters. Numbers,
/// versions, abbreviations and options do not.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '~');
    if word.len() > 300 || !word.chars().all(plain) || word.starts_with('-') || word.contains("//") {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    // "e.g" and "i.e" are not files.
    let is_abbreviation = name.len() == 3 && name.as_bytes()[1] == b'.';
    let has_extension = file_names::has_extension(name) && !is_abbreviation;
    has_extension
        || file_names::is_named_without_extension(name)
        || (word.contains('/') && name.chars().any(char::is_alphabetic) && word.matches('/').count() >= 1 && {
            // "and/or" and "he/she" are words; a path of two plain words has to prove itself by more.
            word.starts_with(['.', '/', '~']) || word.matches('/').count() >= 2 || word.contains(['_', '.'])
        })
}

/// Whether a word after an `@` looks like a path. Names of people and packages (`@ada.lovelace`, `@types/node`) and
/// decorators (`@pytest.fixture`) have dots and strokes as well, but seldom the short end of a file's name.
fn is_marked_path(word: &str) -> bool {
    let joined = word.replace(' ', "_");
    let short_end = joined.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4);
    is_path(&joined) && (joined.contains('/') || short_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Vec<String>, Vec<String>) {
        let References { files, urls, .. } = references(text);
        (files, urls.into_iter().map(|named| named.url).collect())
    }

    #[test]
    fn names_without_an_extension_are_files_where_everybody_knows_them() {
        assert_eq!(found("Create a .gitignore and a Dockerfile for .NET").0, [".gitignore", "Dockerfile"]);
        assert_eq!(found("Why does .button have .html, .env and .netrc?").0, Vec::<String>::new());
    }

    #[test]
    fn agents_are_called_by_their_own_mark_only() {
        let text = "Let @agent-reviewer, (@agent-project:docs) and @agent-reviewer. look at it";
        assert_eq!(agents(text), ["reviewer", "project:docs"]);
        for text in
            ["@agent- x", "agent-reviewer", "@./agent-reviewer", "@agent-notes.md", "me@agent-x", "@agent-Größe"]
        {
            assert_eq!(agents(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn only_what_the_user_wrote_calls_and_loads() {
        let marks = "@agent-reviewer @https://x.y/z @docs:file:///a.md @src/a.rs";
        let request = |text: &str, typed_bytes: Option<u64>| {
            let settings = trimtab_vocab::RunSettings { typed_bytes, ..trimtab_vocab::RunSettings::default() };
            Request::new("r1".parse().expect("an id"), text, settings)
        };
        let own = request(&format!("Look:\n```rust\nlet x;\n```\n{marks}"), None);
        assert_eq!(agents_of(&own), ["reviewer"]);
        let found = references_of(&own);
        assert_eq!((found.urls.len(), found.resources.len(), found.is_explicit), (1, 1, true));
        let after = format!("Review this\n\nStandard input:\n{marks}");
        let fenced = format!("Review this\n\n````\n```\n{marks}\n````");
        for (text, typed) in [(after.as_str(), Some(11)), (marks, Some(0)), (&fenced, None), ("~~~\n@agent-x", None)] {
            let request = request(text, typed);
            assert_eq!(agents_of(&request), Vec::<String>::new(), "{text}");
            let found = references_of(&request);
            assert!(found.urls.is_empty() && found.resources.is_empty() && !found.is_explicit, "{found:?}");
            assert!(found.marked.is_empty(), "{found:?}");
        }
        assert_eq!(references_of(&request(&after, Some(11))).files, ["agent-reviewer", "src/a.rs"]);
    }

    #[test]
    fn files_and_addresses_are_found_in_words() {
        let (files, urls) = found("fix src/a.rs using https://x.y/z");
        assert_eq!((files, urls), (vec!["src/a.rs".to_owned()], vec!["https://x.y/z".to_owned()]));
        let (files, _) = found("See `lib/b.ts`, (main.py) and @Makefile; also @\"my notes.txt\".");
        assert_eq!(files, ["lib/b.ts", "main.py", "Makefile", "my notes.txt"]);
        assert!(references("look at @Makefile").is_explicit);
        assert!(!references("look at src/a.rs").is_explicit);
    }

    #[test]
    fn prose_is_not_taken_for_paths() {
        for text in [
            "e.g. and/or he/she v1.2.3 3.14 10:30 --flag x@y.org What? 1/2 TCP/IP",
            "Nothing here, i.e. no file.",
            "@ alone",
        ] {
            assert_eq!(found(text), (vec![], vec![]), "{text}");
        }
    }

    #[test]
    fn what_an_at_sign_marks_is_a_file_only_if_it_looks_like_one() {
        let text = "@src/nope.rs @\"my notes.txt\" @../a/b @Makefile @alice @property @pytest.fixture @types/node \
                    @app.get(\"/users\") ada@example.org @Override, src/plain.rs @src/nope.rs";
        assert_eq!(references(text).marked, ["src/nope.rs", "my notes.txt", "../a/b"]);
    }

    #[test]
    fn resources_of_servers_are_named_with_an_at_sign() {
        let found =
            references("Compare @docs:file:///a.md, (@db:table://users) and @\"docs:file:///b c.md\" docs:file:///d");
        let labels: Vec<String> = found.resources.iter().map(NamedResource::label).collect();
        assert_eq!(labels, ["docs:file:///a.md", "db:table://users", "docs:file:///b c.md"]);
        assert!(found.files.is_empty() && found.marked.is_empty(), "{found:?}");
    }

    #[test]
    fn a_paste_full_of_paths_names_only_so_many() {
        let text: String = (0..500).map(|n| format!("src/file{n}.rs ")).collect();
        assert_eq!(references(&text).files.len(), MOST);
    }
}
