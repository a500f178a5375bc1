//! A word of a command line: its text, and whether the program will get exactly that.

/// Marks a part of a word that only the shell knows. It does not occur in paths or flags.
pub(super) const UNKNOWN: char = '\u{FFFC}';

/// The bounded expansion of a word that only the shell knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WordFill {
    /// It cannot be bounded.
    #[default]
    None,
    /// Paths in the folder that match a glob, none of which begins with `-`.
    Glob,
    /// What a command prints, as any number of words.
    Output,
    /// The value of a variable that holds nothing secret, as any number of words.
    Variable,
}

/// A word after quoting is resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text; where it is not known, the best guess.
    pub(super) text: String,
    /// Whether the program is certain to get exactly this text.
    pub(super) known: bool,
    /// Whether no character of it was quoted or escaped: only such a word can be a control word.
    pub(super) bare: bool,
    /// Whether it holds an unquoted pattern such as `*`.
    pub(super) pattern: bool,
    /// What an unknown word can become.
    pub(super) fill: WordFill,
}

impl Word {
    /// A word that is known because it comes from a program's argument and not from the shell.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), known: true, ..Self::default() }
    }

    /// The word for a sentence, cut to a readable length.
    pub(super) fn shown(&self) -> String {
        shown(&self.text)
    }

    /// `NAME=value` or `NAME+=value`, as a shell would take it before a command.
    pub(super) fn assignment(&self) -> Option<(String, String)> {
        let (name, value) = self.text.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let named = name
            .bytes()
            .enumerate()
            .all(|(at, b)| b == b'_' || b.is_ascii_alphabetic() || (at > 0 && b.is_ascii_digit()));
        (named && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    }
}

/// A text for a sentence: short, and without characters that could disturb the screen it is shown on.
pub(super) fn shown(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(60)
        .map(|c| {
            if c == UNKNOWN {
                '…'
            } else if c.is_control() || trimtab_vocab::visible::deceives(c) {
                '\u{FFFD}'
            } else {
                c
            }
        })
        .collect();
    if text.chars().nth(60).is_some() {
        out.push('…');
    }
    out
}

/// Whether a table, written as words with blanks between them, holds a word.
pub(super) fn among(table: &str, word: &str) -> bool {
    table.split_ascii_whitespace().any(|entry| entry == word)
}
