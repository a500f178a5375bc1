//! Checks a program's flags against the ones that are known to be safe.
//!
//! The tables are allowlists: a flag that a newer version adds asks. So does an abbreviated long option, because its
//! meaning depends on all options of the installed version.

use trimtab_vocab::wording::CommandReason;

use super::word::{among, shown};

/// How a program reads its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagStyle {
    /// `getopt`: `-abc` is three flags, `-n5` and `--name=value` carry values.
    Gnu,
    /// The same, but every letter of a cluster is a flag, and values come from the next word: `tree -aL 2`.
    NextWord,
    /// A letter with a value stands alone (`-U5`, `-n 5`); only letters without one form a cluster.
    Alone,
    /// One flag per argument, `-x` or `--name`; `=value` or the next argument.
    Separate,
    /// `-name` and `--name` are the same, as in Go.
    OneDash,
    /// The same, and the first operand ends the flags: the rest belongs to another program.
    OneDashFirst,
    /// Any text, also with a dash.
    Texts,
}

/// Constraints on the value of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagValue {
    /// The flag takes none.
    None,
    /// Only as `--name=value`, and a text as below.
    Maybe,
    /// A text that does not name a file with secrets: it may be a file name or a glob.
    Text,
    /// A pattern for the contents of files, or a text that is printed. It never names a file.
    Pattern,
    /// A single plain word or number.
    Plain,
    /// A number. Where versions of a program differ on whether a value follows, a path cannot pass for one.
    Number,
    /// A path that is read.
    Path,
    /// A path that is written.
    Out,
}

/// The safe flags of a program.
///
/// In `short`, each letter may be followed by `:` (text), `/` (pattern), `%` (plain word), `+` (number), `@` (path
/// read), `>` (path written) or `?` (text, glued on); a `#` allows `-20`. In `long`, names end in the same signs with
/// `=` before them (`include=`, `file=@`) and `?` for a value that only `=` can give.
///
/// Whatever a row says, a value that stands as its own word cannot begin with `-`, because programs differ on whether
/// they take such a word for the value; and no row can allow a flag of [`NEVER`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) style: FlagStyle,
    pub(super) short: &'static str,
    pub(super) long: &'static str,
}

/// Flags that name an output, a configuration, a plugin, or a program, in any program.
const NEVER: &str = "output output-file out outfile out-file log-file config config-file rcfile plugin plugins \
    load-plugins init-hook pre exec exec-batch compress-program to-command checkpoint-action eval require import preload \
    ext-diff textconv open-files-in-pager files0-from magic-file compile hostname-bin search-zip upload-pack \
    receive-pack";

#[derive(Debug, Default)]
pub(super) struct SortedArguments<'a> {
    pub(super) flags: Vec<(&'a str, FlagValue, Option<&'a str>)>,
    pub(super) operands: Vec<&'a str>,
    /// What stood behind `--`; also among the operands.
    pub(super) passed: Vec<&'a str>,
}

impl SortedArguments<'_> {
    /// Whether one of these flags was used. Names are without dashes.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|(name, ..)| names.contains(name))
    }
}

impl Flags {
    /// No flag at all.
    pub(super) const NONE: Self = Self { style: FlagStyle::Gnu, short: "", long: "" };
    /// Nothing is a flag.
    pub(super) const TEXTS: Self = Self { style: FlagStyle::Texts, short: "", long: "" };

    fn short_of(&self, letter: char) -> Option<FlagValue> {
        let mut signs = self.short.chars().peekable();
        while let Some(sign) = signs.next() {
            let value = signs.peek().copied().and_then(value_of);
            if value.is_some() {
                signs.next();
            }
            if sign == letter && sign != '#' {
                return Some(value.unwrap_or(FlagValue::None));
            }
        }
        None
    }

    fn long_of(&self, name: &str) -> Option<FlagValue> {
        if among(NEVER, name) {
            return None;
        }
        self.long.split_ascii_whitespace().find_map(|known| {
            let rest = known.strip_prefix(name)?;
            match rest {
                "" => Some(FlagValue::None),
                "?" => Some(FlagValue::Maybe),
                "=" => Some(FlagValue::Text),
                "=/" => Some(FlagValue::Pattern),
                "=%" => Some(FlagValue::Plain),
                "=+" => Some(FlagValue::Number),
                "=@" => Some(FlagValue::Path),
                "=>" => Some(FlagValue::Out),
                _ => None,
            }
        })
    }

    /// Sorts `args` into flags and operands; an error names the first flag that is not known to be safe.
    pub(super) fn sort<'a>(&self, program: &str, args: &'a [String]) -> Result<SortedArguments<'a>, CommandReason> {
        let unsafe_flag = |flag: &str| CommandReason::UnsafeFor(shown(flag), program.into());
        let mut used = SortedArguments::default();
        if self.style == FlagStyle::Texts {
            used.operands = args.iter().map(String::as_str).collect();
            return Ok(used);
        }
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            if arg == "--" {
                used.passed = args.by_ref().collect();
                used.operands.extend(&used.passed);
                break;
            }
            if arg == "-" || !arg.starts_with('-') {
                used.operands.push(arg);
                if self.style == FlagStyle::OneDashFirst {
                    used.operands.extend(args);
                    break;
                }
                continue;
            }
            let one_dash = matches!(self.style, FlagStyle::OneDash | FlagStyle::OneDashFirst) && !arg.starts_with("--");
            if let Some(long) = arg.strip_prefix("--").or_else(|| one_dash.then(|| &arg[1..])) {
                let (name, given) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let value = self.long_of(name).ok_or_else(|| unsafe_flag(arg))?;
                let given = match (value, given) {
                    (FlagValue::None, Some(_)) => return Err(unsafe_flag(arg)),
                    (FlagValue::None | FlagValue::Maybe, given) => given,
                    (_, Some(given)) => Some(given),
                    (_, None) => Some(next_word(arg, &mut args)?),
                };
                used.flags.push((name, value, given));
                continue;
            }
            if self.short.contains('#') && arg[1..].bytes().all(|b| b.is_ascii_digit()) {
                used.flags.push(("#", FlagValue::None, None));
                continue;
            }
            let mut rest = &arg[1..];
            while let Some(letter) = rest.chars().next() {
                let (name, after) = rest.split_at(letter.len_utf8());
                let value = self.short_of(letter).ok_or_else(|| unsafe_flag(arg))?;
                let (is_first, is_last) = (rest.len() + 1 == arg.len(), after.is_empty());
                let splits_alike = match self.style {
                    FlagStyle::Separate => is_first && is_last,
                    FlagStyle::NextWord => value == FlagValue::None || is_last,
                    FlagStyle::Alone => value == FlagValue::None || is_first,
                    _ => true,
                };
                if !splits_alike {
                    return Err(unsafe_flag(arg));
                }
                rest = after;
                let given = match value {
                    FlagValue::None => None,
                    FlagValue::Maybe => Some(std::mem::take(&mut rest)),
                    _ if !rest.is_empty() => Some(std::mem::take(&mut rest)),
                    _ => Some(next_word(arg, &mut args)?),
                };
                used.flags.push((name, value, given));
            }
        }
        Ok(used)
    }
}

/// The value of a flag that stands as its own word.
fn next_word<'a>(flag: &str, args: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, CommandReason> {
    match args.next() {
        Some(value) if value.starts_with('-') => Err(CommandReason::MaybeAnotherOption(shown(value), shown(flag))),
        Some(value) => Ok(value),
        None => Err(CommandReason::MissingValue(shown(flag))),
    }
}

fn value_of(sign: char) -> Option<FlagValue> {
    match sign {
        ':' => Some(FlagValue::Text),
        '/' => Some(FlagValue::Pattern),
        '%' => Some(FlagValue::Plain),
        '+' => Some(FlagValue::Number),
        '@' => Some(FlagValue::Path),
        '>' => Some(FlagValue::Out),
        '?' => Some(FlagValue::Maybe),
        _ => None,
    }
}

/// Whether a text is one word without anything that a program could read more into.
pub(super) fn plain_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b',' | b':' | b'+' | b'/' | b' '))
        && !text.split('/').any(|part| part == "..")
        && !text.starts_with('/')
}

/// Whether a text is a number, with the signs and units that `head` and its kin take.
pub(super) fn number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']).trim_end_matches(|c: char| c.is_ascii_alphabetic());
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && text.len() < 24
}
