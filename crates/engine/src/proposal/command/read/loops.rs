//! Loops over known words, or over the files that a glob matches: their commands are checked once for each value, so
//! that what is checked is what runs.

use trimtab_vocab::wording::CommandReason;

use super::super::word::{Word, WordFill, among};
use super::{CommandDraft, ShellReader};

/// A loop and the values that its variable takes.
#[derive(Debug)]
pub(super) struct Loop {
    name: String,
    values: Vec<Word>,
}

/// Mark the variable of a loop in a word: private characters, which never occur in a checked line.
const PLACES: char = '\u{F0000}';
/// Loops in one line, and commands that they unroll to, at most.
const MOST_LOOPS: usize = 8;
const MOST_COMMANDS: usize = 64;

/// Variables that mean something to a shell, also in small letters.
const SPECIAL: &str = "path fpath cdpath manpath mailpath module_path argv status prompt psvar watch options signals histchars \
    pipestatus commands functions aliases history fignore term home user shell cwd ifs env";

pub(super) fn is_place(c: char) -> bool {
    (PLACES..PLACES_END).contains(&c)
}

const PLACES_END: char = '\u{F0008}';

/// Whether a shell leaves such a word alone, without quotes around it.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./@+,:%".contains(&b))
}

impl ShellReader {
    /// Takes `NAME in WORD…` behind a `for`. False if its values cannot be bounded.
    pub(super) fn begin_loop(&mut self, draft: &CommandDraft) -> bool {
        let [name, word_in, values @ ..] = draft.words.as_slice() else {
            self.trouble(CommandReason::ForWithoutValues);
            return false;
        };
        let named = name.bare
            && name.text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
            && !name.text.starts_with(|c: char| c.is_ascii_digit())
            && !among(SPECIAL, &name.text);
        let bounded = |word: &Word| word.known || word.fill == WordFill::Glob;
        if !named || word_in.text != "in" || draft.redirected || values.is_empty() || !values.iter().all(bounded) {
            self.trouble(CommandReason::ForUnknownValues);
            return false;
        }
        if self.loops.len() >= MOST_LOOPS || values.len() > MOST_COMMANDS {
            self.trouble(CommandReason::LoopTooLarge);
            return false;
        }
        self.loops.push(Loop { name: name.text.clone(), values: values.to_vec() });
        true
    }

    /// Puts the variable of a loop into a word, if it is one.
    pub(super) fn loop_variable(&mut self, name: &str, word: &mut Word, in_quotes: bool) -> bool {
        let Some(at) = self.loops.iter().rposition(|each| each.name == name) else { return false };
        let plain = |value: &Word| value.known && is_plain(&value.text);
        if !in_quotes && !self.loops[at].values.iter().all(plain) {
            self.trouble(CommandReason::UnquotedVariable(name.into()));
        }
        word.text.extend(u32::try_from(at).ok().and_then(|at| char::from_u32(u32::from(PLACES) + at)));
        true
    }

    /// The words of a command, once for each value of the loops that it uses.
    pub(super) fn unrolled(&mut self, words: Vec<Word>) -> Vec<Vec<Word>> {
        let mut all = vec![words];
        for at in (0..self.loops.len()).rev() {
            let Some(place) = u32::try_from(at).ok().and_then(|at| char::from_u32(u32::from(PLACES) + at)) else {
                break;
            };
            if !all.iter().flatten().any(|word| word.text.contains(place)) {
                continue;
            }
            let values = self.loops[at].values.clone();
            if all.len() * values.len() > MOST_COMMANDS {
                self.trouble(CommandReason::LoopTooLarge);
                break;
            }
            if all.iter().flatten().any(|word| word.text.contains(place) && !word.text.starts_with(place))
                && values.iter().any(|value| !value.known)
            {
                self.trouble(CommandReason::GlobBehindText);
            }
            all = values.iter().flat_map(|value| all.iter().map(move |words| filled(words, place, value))).collect();
        }
        all
    }
}

fn filled(words: &[Word], place: char, value: &Word) -> Vec<Word> {
    let fill = |word: &Word| match word.text.contains(place) {
        true => Word {
            text: word.text.replace(place, &value.text),
            known: word.known && value.known,
            pattern: word.pattern || value.pattern,
            fill: if value.known { word.fill } else { value.fill },
            bare: false,
        },
        false => word.clone(),
    };
    words.iter().map(fill).collect()
}
