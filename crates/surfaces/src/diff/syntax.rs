//! Colours of languages: what kind of word each part of a line is.
//!
//! The grammars are unpacked when the first line is read, so whoever draws without colours pays nothing.
//! Kinds are few, and a surface gives them colours of its own: no theme of somebody else decides whether a
//! text can be read on a person's background.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Lines above a hunk from which its colours are found, where the file is too long to begin at its top.
const RUN_UP: usize = 200;
/// Longer lines are not read: they are data, and the grammars take their time.
const LONGEST: usize = 2_000;
/// Bytes of one state that are read at most.
const MOST_BYTES: usize = 256_000;

/// What kind of word something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyntaxToken {
    /// Nothing special.
    #[default]
    Text,
    /// A word of the language, or an operator of it.
    Keyword,
    /// The name of a function, a type or a tag where it is made.
    Name,
    Type,
    /// A text in quotes.
    String,
    /// A number or another constant.
    Constant,
    /// A remark.
    Comment,
    /// A heading or another part of a document that stands out.
    Heading,
}

/// The kinds of words of one file, read hunk by hunk.
pub(super) struct Tokens {
    syntax: Option<&'static SyntaxReference>,
    left: usize,
}

fn grammars() -> &'static SyntaxSet {
    static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
    GRAMMARS.get_or_init(two_face::syntax::extra_newlines)
}

fn beginnings() -> &'static [(Scope, SyntaxToken)] {
    static BEGINNINGS: OnceLock<Vec<(Scope, SyntaxToken)>> = OnceLock::new();
    BEGINNINGS.get_or_init(|| {
        // The longest beginning that fits comes first.
        let named = [
            ("comment", SyntaxToken::Comment),
            ("string", SyntaxToken::String),
            ("constant.character.escape", SyntaxToken::Constant),
            ("constant", SyntaxToken::Constant),
            ("keyword.operator", SyntaxToken::Text),
            ("keyword", SyntaxToken::Keyword),
            ("storage.type.numeric", SyntaxToken::Constant),
            ("storage", SyntaxToken::Keyword),
            ("entity.name.tag", SyntaxToken::Keyword),
            ("entity.name.section", SyntaxToken::Heading),
            ("markup.heading", SyntaxToken::Heading),
            ("markup.raw", SyntaxToken::String),
            ("entity.name.type", SyntaxToken::Type),
            ("entity.name.class", SyntaxToken::Type),
            ("entity.name.struct", SyntaxToken::Type),
            ("entity.name.enum", SyntaxToken::Type),
            ("entity.name", SyntaxToken::Name),
            ("entity.other.attribute-name", SyntaxToken::Name),
            ("support.type", SyntaxToken::Type),
            ("support.class", SyntaxToken::Type),
            ("support.function", SyntaxToken::Name),
            ("variable.function", SyntaxToken::Name),
            ("meta.mapping.key", SyntaxToken::Name),
        ];
        named.iter().filter_map(|(scope, token)| Some((Scope::new(scope).ok()?, *token))).collect()
    })
}

fn token_of(stack: &ScopeStack) -> SyntaxToken {
    let of = |scope: &Scope| beginnings().iter().find(|(begin, _)| begin.is_prefix_of(*scope)).map(|(_, token)| *token);
    stack.as_slice().iter().rev().find_map(of).unwrap_or_default()
}

impl Tokens {
    /// For a file of this name and beginning.
    pub(super) fn for_file(path: &str, first: &[u8]) -> Self {
        let set = grammars();
        let path = Path::new(path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let by_first = || set.find_syntax_by_first_line(std::str::from_utf8(first).ok()?.get(..200.min(first.len()))?);
        let syntax = set
            .find_syntax_by_extension(name)
            .or_else(|| set.find_syntax_by_extension(ending))
            .or_else(|| set.find_syntax_by_extension(&ending.to_lowercase()))
            .or_else(by_first)
            .filter(|syntax| syntax.name != "Plain Text");
        Self { syntax, left: MOST_BYTES }
    }

    /// The kinds of words in these lines of a file, for each line the parts that are something special.
    pub(super) fn lines(&mut self, all: &[&[u8]], wanted: Range<usize>) -> Vec<Vec<(Range<usize>, SyntaxToken)>> {
        let mut found = vec![Vec::new(); wanted.len()];
        let Some(syntax) = self.syntax else { return found };
        let from = if wanted.end <= 2 * RUN_UP { 0 } else { wanted.start.saturating_sub(RUN_UP) };
        let mut reader = SyntaxReader::new(syntax);
        for (at, line) in all.iter().enumerate().take(wanted.end).skip(from) {
            if line.len() > self.left.min(LONGEST) {
                break;
            }
            self.left -= line.len();
            // A line that is no text tells nothing about those below it.
            let Ok(text) = std::str::from_utf8(line) else { break };
            let Some(parts) = reader.line(text) else { break };
            if at >= wanted.start {
                found[at - wanted.start] = parts;
            }
        }
        found
    }
}

/// Reads a text line by line.
#[derive(Debug, Clone)]
struct SyntaxReader {
    state: ParseState,
    stack: ScopeStack,
}

impl SyntaxReader {
    fn new(syntax: &SyntaxReference) -> Self {
        Self { state: ParseState::new(syntax), stack: ScopeStack::new() }
    }

    /// The parts of a line that are something special; `None` if the grammar gives up, and then for good.
    fn line(&mut self, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
        let steps = self.state.parse_line(text, grammars()).ok()?;
        let mut parts: Vec<(Range<usize>, SyntaxToken)> = Vec::new();
        let mut begin = 0;
        for (end, step) in steps.iter().map(|(end, step)| (*end, Some(step))).chain([(text.len(), None)]) {
            let token = token_of(&self.stack);
            if end > begin && token != SyntaxToken::Text {
                match parts.last_mut() {
                    Some((last, same)) if last.end == begin && *same == token => last.end = end,
                    _ => parts.push((begin..end, token)),
                }
            }
            begin = end;
            if step.is_some_and(|step| self.stack.apply(step).is_err()) {
                return None;
            }
        }
        Some(parts)
    }
}

/// The kinds of words of a program that comes line by line, in a language that is named.
#[derive(Debug, Clone)]
pub(crate) struct HighlightedProgram {
    reader: Option<SyntaxReader>,
    left: usize,
}

impl HighlightedProgram {
    /// In the language that people call so; one that nobody knows has no special words.
    pub(crate) fn named(language: &str) -> Self {
        let syntax = (!language.is_empty()).then(|| grammars().find_syntax_by_token(language)).flatten();
        let reader = syntax.filter(|syntax| syntax.name != "Plain Text").map(SyntaxReader::new);
        Self { reader, left: MOST_BYTES }
    }

    /// The parts of the next line, with its end, that are something special.
    pub(crate) fn line(&mut self, text: &str) -> Vec<(Range<usize>, SyntaxToken)> {
        if text.len() > self.left.min(LONGEST) {
            self.reader = None;
        }
        self.left = self.left.saturating_sub(text.len());
        match self.reader.as_mut().map(|reader| reader.line(text)) {
            Some(Some(parts)) => parts,
            Some(None) => {
                self.reader = None;
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

/// Unpacks the grammars, which takes a moment, before somebody waits for them.
pub(crate) fn warm() {
    grammars();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(path: &str, text: &str) -> Vec<(String, SyntaxToken)> {
        let lines: Vec<&[u8]> = text.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
        let found = Tokens::for_file(path, lines[0]).lines(&lines, 0..lines.len());
        let named = |(line, parts): (&&[u8], &Vec<(Range<usize>, SyntaxToken)>)| {
            let text = String::from_utf8_lossy(line).into_owned();
            parts.iter().map(|(range, token)| (text[range.clone()].trim().to_owned(), *token)).collect::<Vec<_>>()
        };
        lines.iter().zip(&found).flat_map(named).collect()
    }

    #[test]
    fn words_of_many_languages_have_their_kinds() {
        let has = |path: &str, text: &str, word: &str, token: SyntaxToken| {
            let kinds = kinds(path, text);
            assert!(kinds.contains(&(word.to_owned(), token)), "{path}: {kinds:?}");
        };
        has("a.rs", "// why\nfn go() { let x = \"s\"; }\n", "// why", SyntaxToken::Comment);
        has("a.rs", "fn go() {}\n", "fn", SyntaxToken::Keyword);
        has("a.ts", "const x: number = 1;\n", "const", SyntaxToken::Keyword);
        has("a.py", "def go():\n    return 12\n", "12", SyntaxToken::Constant);
        has("Cargo.toml", "[package]\nname = \"x\"\n", "\"x\"", SyntaxToken::String);
        has("Dockerfile", "FROM debian\n", "FROM", SyntaxToken::Keyword);
        has("script", "#!/bin/sh\nif true; then echo; fi\n", "if", SyntaxToken::Keyword);
        assert_eq!(kinds("a.unknown", "fn go() {}\n"), []);
    }
}
