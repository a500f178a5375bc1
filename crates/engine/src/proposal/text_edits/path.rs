//! The file that a block of code belongs to.

use std::borrow::Cow;

use super::super::fences::ReplyFence;
use super::super::file_names;
use super::NamedPaths;

/// A file that a fence is about.
pub(super) struct FencePath {
    pub(super) path: String,
    /// Nothing but its name is there: a sentence may introduce a part of a file, or something about it.
    pub(super) is_plain: bool,
}

/// The file that a fence says it is: in its info string, in the line before it, or in its first line.
pub(super) fn of_fence(fence: &ReplyFence<'_>, before: &str, names: NamedPaths<'_>) -> Option<FencePath> {
    let line = before.rsplit('\n').next().unwrap_or_default();
    // A command is shown below a file's name more often than a script.
    let is_shell = matches!(fence.language(), "sh" | "bash" | "shell" | "zsh" | "console");
    let is_script = |path: &String| !is_shell || path.ends_with(".sh");
    let plain = |path: String| FencePath { path, is_plain: true };
    of_info(fence.info, names)
        .map(plain)
        .or_else(|| of_line(line, names).filter(|found| is_script(&found.path)))
        .or_else(|| of_comment(fence.body.lines().next().unwrap_or_default(), names).filter(is_script).map(plain))
}

/// `python hello.py`, `hello.py`, `python:hello.py`, `python title="hello.py"`, `python {file=hello.py}`.
fn of_info(info: &str, names: NamedPaths<'_>) -> Option<String> {
    let info = info.trim().trim_matches(['{', '}']);
    for key in ["title=", "file=", "filename=", "path=", "filepath=", "name="] {
        if let Some(at) = info.find(key) {
            let value = &info[at + key.len()..];
            let value = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
                _ => value.split([' ', ',', '}']).next().unwrap_or_default(),
            };
            return names.path(value);
        }
    }
    let words: Vec<&str> = info.split_whitespace().collect();
    let candidate = match words.as_slice() {
        [one] => one.split_once(':').map_or(*one, |(_, path)| path),
        [_, path] => path,
        _ => return None,
    };
    names.path(candidate)
}

/// A line that names a file and says nothing else: `hello.py`, **hello.py**, ### hello.py, File: `hello.py`, 1. hello.py:.
/// One that says more names it only in marks of code: "Here is the new `hello.py`:".
fn of_line(line: &str, names: NamedPaths<'_>) -> Option<FencePath> {
    let line = line.trim();
    if line.is_empty() || line.len() > 200 {
        return None;
    }
    let bare = line.trim_start_matches(['#', '*', '-', '>', ' ', '`']);
    let number = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let bare = match number.strip_prefix(['.', ')']) {
        Some(rest) if number.len() < bare.len() => rest.trim_start_matches([' ', '*', '`']),
        _ => bare,
    };
    let lower = bare.to_lowercase();
    let label = [
        "file name:",
        "filename:",
        "file path:",
        "filepath:",
        "file:",
        "path:",
        "create file",
        "new file:",
        "new file",
        "file",
    ]
    .into_iter()
    .find(|label| lower.starts_with(label));
    let bare = label.map_or(bare, |label| bare.get(label.len()..).unwrap_or_default());
    let bare = bare.trim_matches([' ', '*', '`', ':', '"', '\'', '(', ')']).trim_end_matches('.');
    let bare = bare.strip_suffix("(new)").unwrap_or(bare).trim_end_matches([' ', '*', '`', ':']);
    if let Some(path) = names.path(bare) {
        return Some(FencePath { path, is_plain: true });
    }
    // The last span of code of a sentence that ends with a colon.
    let sentence = line.strip_suffix(':').or_else(|| line.strip_suffix(":**"))?;
    let mut spans = sentence.split('`').skip(1).step_by(2).filter_map(|span| names.path(span));
    let path = spans.next()?;
    let is_only = spans.all(|other| other == path);
    // It shows how something is run, or a part of the file, or how the file is now.
    let says_otherwise = [
        "run ", "execute", "output", "test it", "usage", "command", "change ", "find ", "replace", "from ", "old ",
        "before", "current", "in `", "line", "part of", "at the", "section", "snippet", "add ", "append", "insert",
        "for `", "use:",
    ];
    let lower = line.to_lowercase();
    (is_only && !says_otherwise.iter().any(|word| lower.contains(word))).then_some(FencePath { path, is_plain: false })
}

/// `# hello.py`, `// src/a.rs`, `<!-- index.html -->`, `/* a.css */`, `-- a.sql`, `# File: hello.py`.
fn of_comment(line: &str, names: NamedPaths<'_>) -> Option<String> {
    let line = line.trim();
    let inner = ["<!--", "/*", "//", "--", "#", ";;", "%"].iter().find_map(|mark| line.strip_prefix(mark))?;
    let inner = inner.trim().trim_end_matches("-->").trim_end_matches("*/").trim();
    let lower = inner.to_lowercase();
    let label =
        ["file name:", "filename:", "filepath:", "file:", "path:"].iter().find(|label| lower.starts_with(**label));
    let inner = label.map_or(inner, |label| inner.get(label.len()..).unwrap_or_default()).trim();
    names.path(inner)
}

/// The file that a diff changes, by its own header.
pub(super) fn of_diff(diff: &str) -> Option<String> {
    let name = |line: &str, lead: &str| {
        let name = line.strip_prefix(lead)?.split('\t').next().unwrap_or_default().trim();
        let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
        (!name.is_empty() && name != "/dev/null").then(|| name.to_owned())
    };
    let of = |line: &str| {
        let patch = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
        patch.iter().find_map(|lead| name(line, lead)).or_else(|| name(line, "+++ "))
    };
    diff.lines().find_map(of).or_else(|| diff.lines().find_map(|line| name(line, "--- ")))
}

/// The folder of the examples that models are trained on. They write it before the names of real files.
const EXAMPLE_FOLDER: &str = "path/to/";

impl NamedPaths<'_> {
    /// The only file that the request names.
    pub(super) fn only(&self) -> Option<String> {
        match self.named {
            [file] => Some(file.clone()),
            _ => None,
        }
    }

    /// A word as a path inside of the folder, if it is one.
    pub(super) fn path(&self, word: &str) -> Option<String> {
        let path = self.relative(word);
        (self.named.iter().any(|file| file == path) || is_path(path)).then(|| path.to_owned())
    }

    /// A path without what models put before it: `./` and the folder itself.
    fn relative<'w>(&self, word: &'w str) -> &'w str {
        let word = word.trim();
        if self.named.iter().any(|file| file == word) {
            return word;
        }
        let inside = |folder: &str| word.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/');
        self.folder.and_then(inside).unwrap_or(word).trim_start_matches("./")
    }

    /// A path without the folder of an example, unless it is known with it.
    pub(super) fn without_example(&self, path: String, is_known: bool) -> String {
        match path.strip_prefix(EXAMPLE_FOLDER) {
            Some(rest) if !is_known && !rest.is_empty() && !self.named.contains(&path) => rest.to_owned(),
            _ => path,
        }
    }
}

/// Whether a word looks like a path inside of a folder.
fn is_path(word: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '[' | ']');
    if word.is_empty() || word.len() > 200 || !word.chars().all(fits) || word.starts_with(['-', '/']) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let is_hidden = name.starts_with('.') && name.len() > 2 && !name.contains("..");
    file_names::is_bare_name(name) || is_hidden || file_names::has_extension(name)
}

/// The fences of a reply, each with the file's name where it belongs: small models put the name into a fence of its own,
/// and the text behind it.
///
/// ````text
/// ```
/// a.py
/// ```
/// the text of a.py
/// ```
/// ````
///
/// Read by the letter, the text stands outside and the last marks open a fence that has no end. Where every fence but
/// that one holds a path and nothing else, the texts between are the files.
pub(super) fn heading_fences<'t>(
    text: &'t str,
    fences: Vec<ReplyFence<'t>>,
    names: NamedPaths<'_>,
) -> Vec<ReplyFence<'t>> {
    let is_heading = |fence: &ReplyFence<'_>| {
        let name = fence.body.trim();
        let path = names.path(name).filter(|path| names.named.is_empty() || names.named.contains(path));
        fence.is_closed && fence.info.is_empty() && path.is_some() && !name.contains(char::is_whitespace)
    };
    let is_end = |fence: &ReplyFence<'_>| !fence.is_closed && fence.body.trim().is_empty() && fence.info.is_empty();
    let (end, headings) = match fences.split_last() {
        Some((end, headings)) if !headings.is_empty() && is_end(end) && headings.iter().all(is_heading) => {
            (end, headings)
        }
        _ => return fences,
    };
    let ends = headings.iter().skip(1).chain([end]);
    let file = |(heading, next): (&ReplyFence<'t>, &ReplyFence<'t>)| ReplyFence {
        // The heading's own line is the name, whose place in the text is where its line begins.
        info: text[heading.range.clone()].lines().nth(1).unwrap_or_default().trim(),
        body: text[heading.range.end..next.range.start].into(),
        range: heading.range.start..if next.is_closed { next.range.start } else { next.range.end },
        is_closed: true,
    };
    headings.iter().zip(ends).map(file).collect()
}

/// A fence that names its file in its first line, and that file. Only a file that the request names is one: the first
/// line of a list of files is not.
pub(super) fn named_within<'t>(fence: &ReplyFence<'t>, names: NamedPaths<'_>) -> Option<(ReplyFence<'t>, String)> {
    let Cow::Borrowed(body) = fence.body else { return None };
    let (name, text) = body.split_once('\n')?;
    let path = names.path(name).filter(|path| names.named.contains(path) && fits(fence.language(), path))?;
    let is_list = text.lines().all(|line| line.trim().is_empty() || names.path(line).is_some());
    (!is_list).then(|| (ReplyFence { body: text.into(), ..fence.clone() }, path))
}

/// Info strings, and the extensions of the files that they are for.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("python", &["py", "pyi"]),
    ("py", &["py"]),
    ("rust", &["rs"]),
    ("rs", &["rs"]),
    ("javascript", &["js", "mjs", "cjs", "jsx"]),
    ("js", &["js", "mjs", "cjs", "jsx"]),
    ("jsx", &["jsx", "js", "tsx"]),
    ("typescript", &["ts", "tsx", "mts"]),
    ("ts", &["ts", "tsx", "mts"]),
    ("tsx", &["tsx"]),
    ("json", &["json", "jsonc"]),
    ("yaml", &["yaml", "yml"]),
    ("yml", &["yaml", "yml"]),
    ("toml", &["toml"]),
    ("ini", &["ini", "cfg", "conf", "env", "properties"]),
    ("conf", &["conf", "cfg"]),
    ("properties", &["properties", "env", "cfg"]),
    ("env", &["env"]),
    ("html", &["html", "htm", "vue", "svelte"]),
    ("css", &["css", "scss"]),
    ("markdown", &["md", "markdown"]),
    ("md", &["md", "markdown"]),
    ("c", &["c", "h"]),
    ("cpp", &["cpp", "cc", "cxx", "hpp", "h"]),
    ("c++", &["cpp", "cc", "cxx", "hpp", "h"]),
    ("csharp", &["cs"]),
    ("java", &["java"]),
    ("kotlin", &["kt", "kts"]),
    ("go", &["go"]),
    ("ruby", &["rb"]),
    ("php", &["php"]),
    ("swift", &["swift"]),
    ("sql", &["sql"]),
    ("xml", &["xml", "svg"]),
    ("lua", &["lua"]),
    ("dockerfile", &["dockerfile"]),
    ("makefile", &["mk"]),
];

/// Whether a file of this name is written in this language. Without a language anything fits.
pub(super) fn fits(language: &str, path: &str) -> bool {
    let language = language.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let extension = name.rsplit_once('.').map_or(name.as_str(), |(_, extension)| extension);
    match LANGUAGES.iter().find(|(known, _)| *known == language) {
        Some((_, extensions)) => extensions.contains(&extension) || name == language,
        None => language.is_empty() || language == extension,
    }
}
