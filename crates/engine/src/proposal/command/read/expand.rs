//! Words with their quotes and expansions: the part of the reader that works inside a word.

use trimtab_vocab::wording::CommandReason;

use super::super::word::{UNKNOWN, Word, WordFill, among};
use super::ShellReader;

/// Flags whose patterns the program reads, with quotes around them or not.
const FOR_THE_PROGRAM: &[&str] = &["--include=", "--exclude=", "--exclude-dir="];

/// An unquoted brace, then a comma or two dots, then a closing brace multiply the word. Which brace closes which is a
/// matter on which even shells differ, so it is not asked.
#[derive(Default)]
struct Braces {
    opened: bool,
    divided: bool,
    multiply: bool,
}

impl Braces {
    fn read(&mut self, c: char, next: Option<char>) {
        match c {
            '{' => self.opened = true,
            '}' => self.multiply |= self.divided,
            ',' => self.divided |= self.opened,
            '.' if next == Some('.') => self.divided |= self.opened,
            _ => {}
        }
    }
}

impl ShellReader {
    /// Reads one word up to a blank or an operator. Usually gives one; `$IFS` splits it, braces multiply it.
    pub(super) fn word(&mut self) -> Vec<Word> {
        let mut done = Vec::new();
        let mut word = Word { known: true, bare: true, ..Word::default() };
        let mut any = false;
        let from = self.at;
        let mut braces = Braces::default();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if !any && self.peek(1) == Some('(') => {
                    self.trouble(CommandReason::Substitution);
                    self.at += 2;
                    self.substitution();
                    word.text.push(UNKNOWN);
                    word.known = false;
                }
                '(' if any && word.pattern => {
                    // An extended pattern such as `@(a|b)`: its inside is not a command.
                    self.trouble(CommandReason::ExtendedPattern);
                    self.at += 1;
                    word.text.push('(');
                }
                '<' | '>' | '(' => break,
                '\\' if self.peek(1) == Some('\n') => {
                    self.at += 2;
                    continue;
                }
                '\\' => {
                    word.bare = false;
                    self.backslash(&mut word);
                }
                '\'' => {
                    word.bare = false;
                    self.at += 1;
                    self.literal(&mut word);
                }
                '"' => {
                    word.bare = false;
                    self.at += 1;
                    self.quoted(&mut word, Some('"'));
                }
                '`' => {
                    word.text.push_str(&self.backticks());
                    word.known = false;
                }
                '$' => {
                    let before = word.text.len();
                    self.dollar(&mut word, false);
                    if &word.text[before..] == " \t\n" {
                        // `$IFS` outside quotes is a blank in disguise.
                        word.text.truncate(before);
                        if any {
                            done.push(std::mem::replace(&mut word, Word { bare: true, ..Word::default() }));
                        }
                        any = false;
                        continue;
                    }
                }
                '~' if word.text.is_empty() && word.bare || word.text.ends_with(['=', ':']) => {
                    self.tilde(&mut word);
                }
                // No file is named like this, and if one were, its name would mean no more than the pattern does.
                '*' | '?' | '[' if FOR_THE_PROGRAM.iter().any(|flag| word.text.starts_with(flag)) => {
                    word.text.push(c);
                    self.at += 1;
                }
                // The command of that name, or a word for it: no bracket closes it.
                '[' if !any && self.peek(1).is_none_or(|c| matches!(c, ' ' | '\t' | '\n')) => {
                    word.text.push(c);
                    self.at += 1;
                }
                '*' | '?' | '[' => {
                    word.text.push(c);
                    word.pattern = true;
                    self.at += 1;
                }
                _ => {
                    braces.read(c, self.peek(1));
                    word.text.push(c);
                    self.at += 1;
                }
            }
            any = true;
        }
        if word.pattern {
            self.glob(&mut word, from, done.is_empty() && !braces.multiply);
        }
        if braces.multiply {
            self.trouble(CommandReason::BraceExpansion);
            word.known = false;
            done.extend(multiply(&word));
        } else if any {
            done.push(word);
        }
        done
    }

    /// A backslash and the character that it takes the meaning from.
    fn backslash(&mut self, word: &mut Word) {
        match self.peek(1) {
            Some(next) => word.text.push(next),
            None => {
                self.trouble(CommandReason::TrailingBackslash);
                word.known = false;
            }
        }
        self.at = (self.at + 2).min(self.chars.len());
    }

    /// `~` where the shell puts a home in its place.
    fn tilde(&mut self, word: &mut Word) {
        self.trouble(CommandReason::TildeExpansion);
        self.at += 1;
        let home = self.vars.get("HOME").cloned().unwrap_or_default();
        // `~name` is the same place for the user whose home has that name.
        let own = home.rsplit('/').next().unwrap_or_default();
        let length = own.chars().count();
        let ends = self.peek(length).is_none_or(|c| matches!(c, '/' | ' ' | '\t' | '\n' | ';' | '&' | '|' | ')'));
        if length > 0 && self.looking_at(own) && ends {
            self.at += length;
        }
        let named = self.peek(0).is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '+' | '-'));
        let home = if named { UNKNOWN.to_string() } else { home };
        word.text.push_str(&home);
        word.known = false;
    }

    /// A word with an unquoted `*`, `?` or `[`. If it is plain enough to be read alike by all shells, it becomes paths in
    /// the folder; one that begins with the wildcard runs as `./*`, so that no file's name is taken for an option.
    fn glob(&mut self, word: &mut Word, from: usize, is_whole: bool) {
        let what = CommandReason::GlobExpansion(word.shown());
        let is_plain = is_whole && word.known && word.bare && plain_glob(&word.text);
        word.known = false;
        if !is_plain {
            return self.trouble(what);
        }
        if word.text.starts_with(['*', '?', '[']) {
            self.edits.push((from, 0, "./"));
        }
        word.fill = WordFill::Glob;
        self.in_shell = true;
        self.open(what);
    }

    /// The inside of `'…'`.
    fn literal(&mut self, word: &mut Word) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.text.push(c);
        }
        self.trouble(CommandReason::UnclosedQuote);
        word.known = false;
    }

    /// The inside of `"…"`, or of a here-document when there is no closing quote to look for.
    pub(super) fn quoted(&mut self, word: &mut Word, close: Option<char>) {
        while let Some(c) = self.peek(0) {
            match c {
                c if Some(c) == close => {
                    self.at += 1;
                    return;
                }
                '\\' => match self.peek(1) {
                    Some('\n') => self.at += 2,
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        word.text.push(next);
                        self.at += 2;
                    }
                    _ => {
                        word.text.push('\\');
                        self.at += 1;
                    }
                },
                '`' => {
                    word.text.push_str(&self.backticks());
                    word.known = false;
                }
                '$' => self.dollar(word, true),
                _ => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        if close.is_some() {
            self.trouble(CommandReason::UnclosedQuote);
            word.known = false;
        }
    }

    /// A `$` and what follows it.
    fn dollar(&mut self, word: &mut Word, in_quotes: bool) {
        self.at += 1;
        match self.peek(0) {
            // Before these a dollar sign is only that, in every shell: `grep 'x$'` without its quotes.
            None | Some(' ' | '\t' | '\n' | '|' | ')') => word.text.push('$'),
            Some('"') if in_quotes => word.text.push('$'),
            Some(';' | '&') if !in_quotes => word.text.push('$'),
            Some('(') if self.peek(1) == Some('(') => {
                self.trouble(CommandReason::ArithmeticExpansion);
                self.at += 2;
                self.arithmetic();
                self.unknown(word);
            }
            Some('(') => {
                self.at += 1;
                let value = self.substitution();
                word.text.push_str(&value);
                word.known = false;
                if word.fill == WordFill::Variable {
                    self.trouble(CommandReason::VariableBesideOutput);
                }
                word.fill = WordFill::Output;
            }
            Some('\'') if !in_quotes => {
                self.trouble(CommandReason::AnsiQuote);
                self.at += 1;
                self.escaped(word);
                word.known = false;
                word.bare = false;
            }
            Some('"') => {
                self.trouble(CommandReason::TranslatedQuote);
                word.known = false;
            }
            Some('{') => {
                self.at += 1;
                self.braced(word, in_quotes);
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                let mut name = String::new();
                while let Some(c) = self.peek(0).filter(|c| *c == '_' || c.is_ascii_alphanumeric()) {
                    name.push(c);
                    self.at += 1;
                }
                if !self.loop_variable(&name, word, in_quotes) {
                    self.variable(&name, word);
                }
            }
            Some(_) => {
                self.trouble(CommandReason::DollarExpansion);
                self.at += 1;
                self.unknown(word);
            }
        }
    }

    /// `${…}` after its opening. Only plain names are guessed; the rest is skipped with care for what it runs.
    fn braced(&mut self, word: &mut Word, in_quotes: bool) {
        let mut name = String::new();
        while let Some(c) = self.peek(0).filter(|c| *c == '_' || c.is_ascii_alphanumeric()) {
            name.push(c);
            self.at += 1;
        }
        if self.peek(0) == Some('}') && self.loop_variable(&name, word, in_quotes) {
            self.at += 1;
            return;
        }
        let plain = matches!(self.peek(0), Some('}' | ':' | '%'));
        let mut open = 1;
        while let Some(c) = self.peek(0) {
            match c {
                '$' if self.peek(1) == Some('(') => {
                    self.at += 2;
                    self.substitution();
                    continue;
                }
                '`' => {
                    self.backticks();
                    continue;
                }
                '\\' => self.at += 1,
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            self.at = (self.at + 1).min(self.chars.len());
            if open == 0 {
                break;
            }
        }
        if open > 0 {
            self.trouble(CommandReason::UnclosedBrace);
        }
        if plain {
            self.trouble(CommandReason::ParameterExpansion);
            self.variable(&name, word);
        } else {
            self.trouble(CommandReason::ParameterExpansion);
            self.unknown(word);
        }
    }

    fn variable(&mut self, name: &str, word: &mut Word) {
        if among(SHOWN, name) && word.fill == WordFill::None && !word.pattern {
            self.open(CommandReason::VariableExpansion(name.into()));
            self.in_shell = true;
            word.fill = WordFill::Variable;
        } else {
            self.trouble(CommandReason::VariableExpansion(name.into()));
        }
        word.known = false;
        match self.vars.get(name) {
            Some(value) if word.text.len() + value.len() < 4096 => word.text.push_str(value),
            None if name == "IFS" => word.text.push_str(" \t\n"),
            _ => word.text.push(UNKNOWN),
        }
    }

    fn unknown(&mut self, word: &mut Word) {
        word.text.push(UNKNOWN);
        word.known = false;
    }

    /// The inside of `$'…'`, decoded so that a command cannot hide in it from a refusal.
    fn escaped(&mut self, word: &mut Word) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\'' => return,
                '\\' => {
                    let Some(next) = self.peek(0) else { break };
                    self.at += 1;
                    let decoded = match next {
                        'n' => Some('\n'),
                        't' => Some('\t'),
                        'x' => self.number(16, 2),
                        'u' => self.number(16, 4),
                        '0'..='7' => {
                            self.at -= 1;
                            self.number(8, 3)
                        }
                        other => Some(other),
                    };
                    word.text.extend(decoded);
                }
                c => word.text.push(c),
            }
        }
        self.trouble(CommandReason::UnclosedQuote);
    }

    fn number(&mut self, base: u32, most: usize) -> Option<char> {
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(base)) else { break };
            value = value * base + digit;
            self.at += 1;
        }
        char::from_u32(value)
    }
}

/// Variables that hold nothing secret.
const SHOWN: &str = "PATH HOME PWD USER SHELL LANG TERM LOGNAME HOSTNAME EDITOR";

/// Whether a glob is plain: no other signs of any shell, no way up, and no match for `..`.
fn plain_glob(text: &str) -> bool {
    let mut in_brackets = false;
    let plain = text.chars().all(|c| match c {
        '[' if !in_brackets => {
            in_brackets = true;
            true
        }
        ']' if in_brackets => {
            in_brackets = false;
            true
        }
        _ if in_brackets => c.is_ascii_alphanumeric() || c == '-',
        _ => c.is_ascii_alphanumeric() || "_-./*?@+,".contains(c),
    });
    let dots = |name: &str| name.starts_with('.') && name.len() > 1 && name.chars().all(|c| ".*?".contains(c));
    plain && !in_brackets && !text.contains("[]") && !text.starts_with('-') && !text.split('/').any(dots)
}

/// What the first brace group of a word makes of it: `/{a,b}` becomes `/a` and `/b`. A guess for refusals only.
fn multiply(word: &Word) -> Vec<Word> {
    let text = &word.text;
    let spread = text.find('{').zip(text.rfind('}')).filter(|(open, close)| open < close).map(|(open, close)| {
        let (head, tail) = (&text[..open], &text[close + 1..]);
        text[open + 1..close].split(',').take(16).map(|middle| format!("{head}{middle}{tail}")).collect::<Vec<_>>()
    });
    let texts = spread.unwrap_or_else(|| vec![text.clone()]);
    texts.into_iter().map(|text| Word { text, ..word.clone() }).collect()
}
