//! Detects file names in text. A request, a reply, and the line above a block of code name files with different
//! certainty, so each has its own rule; the common parts are here.

use trimtab_vocab::sensitive_paths;

/// Files that everybody knows by a name without an extension.
const BARE_NAMES: &[&str] =
    &["Makefile", "Dockerfile", "Justfile", "Procfile", "Gemfile", "Rakefile", "Vagrantfile", "Containerfile"];

/// Files whose names are also words of a sentence: "update the README" may mean `README.md`.
const TITLES: &[&str] = &["LICENSE", "README"];

/// Whether a name that stands alone is one without an extension. In small letters it is a language: ` ```makefile `.
pub(crate) fn is_bare_name(name: &str) -> bool {
    BARE_NAMES.contains(&name) || TITLES.contains(&name)
}

/// Whether a word of a sentence is a name without an extension: `.gitignore`, `Makefile`. Those with secrets are not
/// named in passing.
pub(crate) fn is_named_without_extension(name: &str) -> bool {
    const ENDS: [&str; 5] = ["ignore", "rc", "config", "attributes", "keep"];
    let is_hidden = name.strip_prefix('.').is_some_and(|rest| {
        let ends = |end: &&str| rest.ends_with(*end) && rest.len() > end.len();
        rest.chars().all(|c| c.is_ascii_lowercase()) && ENDS.iter().any(ends)
    });
    let is_known = BARE_NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    is_known || (is_hidden && !sensitive_paths::has_secret(name))
}

/// Whether a name has an extension: a few letters behind a dot that are not only digits. Versions have none, and names of
/// languages and frameworks only look so.
pub(crate) fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.chars().any(char::is_alphanumeric)
            && (1..=8).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.chars().any(|c| c.is_ascii_alphabetic())
            && !is_language_name(name)
    })
}

/// Whether a name has an extension that files have, and is not `logging.info` or `example.com`.
pub(crate) fn has_known_extension(name: &str) -> bool {
    const EXTENSIONS: &str = " py pyi rs js mjs cjs jsx ts tsx mts json jsonc yaml yml toml ini cfg conf env html htm css scss \
        md markdown txt c h cpp cc hpp cs java kt go rb php swift sql xml svg lua sh bash vue svelte csv lock rst ipynb dart \
        ex exs erl hs ml scala pl r jl zig nix tf proto graphql gradle properties ";
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && !extension.is_empty() && EXTENSIONS.split_whitespace().any(|known| known == extension)
    })
}

/// Languages and frameworks whose names look like files.
pub(crate) fn is_language_name(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "node.js" | "vue.js" | "next.js" | "asp.net" | "three.js" | "d3.js")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_words_languages_and_versions() {
        for name in ["a.py", "main.test.ts", "Cargo.toml", "my-notes.txt"] {
            assert!(has_extension(name), "{name}");
        }
        for name in ["v1.2", "3.14", "node.js", "ASP.NET", "Makefile", ".py", "end."] {
            assert!(!has_extension(name), "{name}");
        }
        assert!(is_bare_name("Makefile") && is_bare_name("README") && !is_bare_name("makefile"));
        assert!(is_named_without_extension("makefile") && is_named_without_extension(".dockerignore"));
        assert!(!is_named_without_extension("README") && !is_named_without_extension(".netrc"));
        assert!(has_known_extension("a.py") && !has_known_extension("example.com") && !has_known_extension("py"));
    }
}
