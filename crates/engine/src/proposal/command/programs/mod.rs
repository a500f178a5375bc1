//! Tables of programs: which flags and operands are safe. One table per family.
//!
//! *Safe* means: it is read-only, or it changes only what is documented (the folder's own files, by copying, moving,
//! and building), it ends, and it starts nothing that its arguments name.

mod build;
mod check;
mod files;
mod git;
mod language;
mod node;
mod perilous;
mod readers;
mod shell;

pub(super) use git::SHOW_ONLY;
pub(super) use shell::builds_by_script;

use trimtab_vocab::wording::CommandReason;

use super::flags::{FlagValue, Flags, SortedArguments, number, plain_word};
use super::paths::{argument_stays, names_no_secret, readable, resolve, stays, writable};
use super::word::{among, shown};
use trimtab_vocab::CommandClass;

/// The tables' finding about a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableFinding {
    /// Known to be safe.
    Safe,
    /// Not known to be safe. A rule that says exactly this command may still vouch for it.
    Unsafe(CommandReason),
    /// Asks each time, regardless of the rules: it deletes, or its words do not show what it runs.
    Never(CommandReason),
}

/// The kind of a program's operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operands {
    /// There must not be any.
    None,
    /// Texts that go nowhere.
    Text,
    /// Files that are read.
    Read,
    /// Files that are written or made.
    Write,
    /// Files that are copied or moved, the last one being the place they go to.
    Into,
    /// A pattern first (unless a flag gives it), then files that are read.
    Search,
    /// Revisions or files of a repository.
    Revisions,
    /// Plain words for a program that we do not know: names of scripts, targets or tests.
    Words,
}

/// A check that a row cannot express: the reason why these arguments are not known to be safe.
type Check = fn(&SortedArguments<'_>) -> Result<(), CommandReason>;

/// A program, or one subcommand of it, with what may be used of it.
pub(super) struct KnownProgram {
    names: &'static [&'static str],
    /// The subcommands that this row is for; empty for a program without.
    subs: &'static [&'static str],
    flags: Flags,
    operands: Operands,
    /// What the row alone cannot say.
    check: Option<Check>,
}

/// All rows that go by flags and operands, with the class of what they allow.
fn rows() -> impl Iterator<Item = (CommandClass, &'static KnownProgram)> {
    let read = readers::ROWS.iter().chain(git::ROWS).map(|row| (CommandClass::Read, row));
    let check = files::ROWS
        .iter()
        .chain(node::ROWS)
        .chain(build::ROWS)
        .chain(git::RECORDS)
        .map(|row| (CommandClass::Check, row));
    read.chain(check)
}

/// Flags behind `--` that go to the folder's own program or script, and that runners of tests have in common.
const PASSED: &str = "--watch=false --watchAll=false --no-watch --run --ci --coverage --silent --verbose --bail --quiet \
    --help -h --version --runInBand --passWithNoTests --color --no-color";

/// Wrappers around wrappers, more than anyone writes.
const DEEPEST: usize = 6;

/// Judges one command, its words known, by the program's own table. The user's rule covers `ruled` of the words, and
/// none if the rule is one of ours; `layer` counts the wrappers around the command.
pub(super) fn judge(argv: &[String], folder: &str, ruled: usize, layer: usize) -> TableFinding {
    if layer > DEEPEST {
        return TableFinding::Never(CommandReason::TooManyCommands);
    }
    let Some(program) = argv.first() else { return TableFinding::Unsafe(CommandReason::NoCommand) };
    let name = super::wrap::base_name(program);
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    if shell::is_harmless(&words, folder) || language::only_prints(program, &argv[1..], folder) {
        return TableFinding::Safe;
    }
    if check::ROWS.iter().any(|row| is_row(CommandClass::Check, row, argv, folder)) || check::runs_script(argv, folder)
    {
        return TableFinding::Safe;
    }
    if program == "xargs" {
        return readers::xargs(&argv[1..], folder).map_or_else(TableFinding::Never, |()| TableFinding::Safe);
    }
    if matches!(program.as_str(), "tar" | "unzip") && only_looks(argv, folder) {
        return TableFinding::Safe;
    }
    if let Some(called) = check::as_called(argv)
        && let TableFinding::Safe = judge(&called, folder, 0, layer + 1)
    {
        return TableFinding::Safe;
    }
    if let Some(Err(reason)) = language::prints(program, &argv[1..], folder) {
        return TableFinding::Unsafe(reason);
    }
    if let Some(finding) = perilous::judge(&name, argv, folder, layer) {
        return finding;
    }
    if program.contains('/') {
        // The tables are about the programs of the system, not about a file that happens to have such a name.
        return unknown(argv, folder, ruled).map_or_else(TableFinding::Unsafe, |()| TableFinding::Safe);
    }
    if name == "find" {
        return readers::find(&argv[1..], folder);
    }
    let mut known = false;
    for (class, row) in rows().filter(|(_, row)| row.names.contains(&name.as_str())) {
        known = true;
        let args = match row.subs {
            [] => &argv[1..],
            subs => match argv.get(1) {
                Some(sub) if subs.contains(&sub.as_str()) => &argv[2..],
                _ => continue,
            },
        };
        let called = argv[..argv.len() - args.len()].join(" ");
        return by_row(class, row, &called, args, folder).map_or_else(TableFinding::Unsafe, |()| TableFinding::Safe);
    }
    if known {
        let sub = argv.get(1).map_or("without a subcommand", String::as_str);
        return TableFinding::Unsafe(CommandReason::UnsafeSubcommand(name, shown(sub)));
    }
    if super::wrap::code_flags(&name).is_some() {
        return TableFinding::Unsafe(CommandReason::ArbitraryCode(name));
    }
    unknown(argv, folder, ruled).map_or_else(TableFinding::Unsafe, |()| TableFinding::Safe)
}

/// Whether a command is used as a row has it.
fn is_row(class: CommandClass, row: &KnownProgram, argv: &[String], folder: &str) -> bool {
    let [program, args @ ..] = argv else { return false };
    let args = match (row.subs, args) {
        ([], args) => args,
        (subs, [sub, args @ ..]) if subs.contains(&sub.as_str()) => args,
        _ => return false,
    };
    row.names.contains(&program.as_str()) && by_row(class, row, program, args, folder).is_ok()
}

/// The words that name a program as its table does: with its subcommand, and with the script where the subcommand runs
/// one. Only for tables that decide alone on what a rule for these words covers; not for interpreters, for programs
/// that copy and move files, for records of a repository, and for a question about version or help.
pub(super) fn safe_prefix(argv: &[String], folder: &str) -> Option<String> {
    let program = argv.first()?;
    let runs_code = super::wrap::code_flags(program).is_some() || super::wrap::is_shell(program);
    let is_help = |word: &String| matches!(word.as_str(), "--help" | "-h" | "--version" | "-V");
    if runs_code || argv.iter().any(is_help) {
        return None;
    }
    // A rule for one of these programs covers any plain words behind it, so only those that take files have a prefix.
    let checks = check::ROWS.iter().filter(|row| matches!(row.operands, Operands::Read | Operands::None));
    let looks = readers::ROWS.iter().chain(git::ROWS).map(|row| (CommandClass::Read, row));
    let builds = node::ROWS.iter().chain(build::ROWS).chain(checks).map(|row| (CommandClass::Check, row));
    let (_, row) = looks.chain(builds).find(|(class, row)| is_row(*class, row, argv, folder))?;
    let sub = argv.get(1).filter(|_| !row.subs.is_empty());
    let runs_script = sub.is_some_and(|sub| matches!(sub.as_str(), "run" | "run-script")) && program != "cargo";
    let words = match (sub, runs_script) {
        (None, _) => 1,
        (Some(_), false) => 2,
        (Some(_), true) => argv.get(2).filter(|script| plain_word(script)).map(|_| 3)?,
    };
    // A rule vouches for its very words, whatever the table says, so that they must be safe alone: `git stash` is not.
    let stem = &argv[..words];
    (judge(stem, folder, 0, 0) == TableFinding::Safe).then(|| stem.join(" "))
}

/// Whether a command, its words known, only looks: a program that looks, used as its table has it. None of these reads
/// commands from standard input.
pub(super) fn only_looks(argv: &[String], folder: &str) -> bool {
    let [program, args @ ..] = argv else { return false };
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match program.as_str() {
        "find" => return readers::find(args, folder) == TableFinding::Safe,
        "xargs" => return readers::xargs(args, folder).is_ok(),
        _ => {}
    }
    shell::only_looks(&words, folder)
        || language::only_prints(program, args, folder)
        || readers::ROWS.iter().chain(git::ROWS).any(|row| is_row(CommandClass::Read, row, argv, folder))
}

/// Whether a program is read-only with any arguments.
pub(super) fn looks_at_anything(program: &str) -> bool {
    readers::looks_at_anything(program)
}

/// Copies and moves. Into the folder itself only single files go: with a tree, what it holds would be spread over
/// the folder, and that could be a repository's settings.
fn into(used: &SortedArguments<'_>, folder: &str) -> Result<(), CommandReason> {
    const TREES: &[&str] = &["r", "R", "a", "T", "recursive", "archive", "no-target-directory", "parents"];
    let Some((last, sources)) = used.operands.split_last() else { return Ok(()) };
    sources.iter().try_for_each(|path| writable(path, folder))?;
    if used.has(&["t", "target-directory"]) {
        return writable(last, folder);
    }
    let here = resolve(last, folder) == resolve(folder, "/") && stays(last, folder).is_ok();
    if here && !used.has(TREES) && sources.iter().all(|path| !path.ends_with(['/', '.'])) {
        return Ok(());
    }
    writable(last, folder)
}

/// A program without a table. Its rule covers the words it names; what follows may be plain words that stay in
/// the folder, but no flag: none is known to be safe.
fn unknown(argv: &[String], folder: &str, ruled: usize) -> Result<(), CommandReason> {
    stays_or_name(&argv[0], folder)?;
    if ruled == 0 {
        return Err(CommandReason::UnsafeUse(shown(&argv[0])));
    }
    for (at, arg) in argv.iter().enumerate().skip(1) {
        argument_stays(arg, folder)?;
        if at >= ruled && !plain_word(arg) {
            return Err(CommandReason::UnsafeFor(shown(arg), shown(&argv[0])));
        }
    }
    Ok(())
}

/// A program's name, or a path to one that stays in the folder.
pub(super) fn stays_or_name(program: &str, folder: &str) -> Result<(), CommandReason> {
    if program.contains('/') { stays(program, folder) } else { Ok(()) }
}

fn by_row(
    class: CommandClass,
    row: &KnownProgram,
    name: &str,
    args: &[String],
    folder: &str,
) -> Result<(), CommandReason> {
    let used = row.flags.sort(name, args)?;
    for (flag, value, given) in &used.flags {
        let Some(given) = given else { continue };
        match value {
            FlagValue::Path => readable(given, folder)?,
            FlagValue::Out => writable(given, folder)?,
            FlagValue::Text | FlagValue::Maybe => names_no_secret(given)?,
            FlagValue::Plain if !plain_word(given) => {
                return Err(CommandReason::UnsafeValue(shown(given), (*flag).into()));
            }
            FlagValue::Number if !number(given) => {
                return Err(CommandReason::NotANumber(shown(given), (*flag).into()));
            }
            _ => {}
        }
    }
    // Many programs that build and check take further arguments from a file that is named like this.
    let listed = used.operands.iter().copied().chain(used.flags.iter().filter_map(|flag| flag.2));
    if let Some(list) = listed.filter(|_| class == CommandClass::Check).find(|word| word.starts_with('@')) {
        return Err(CommandReason::ArgumentFile(shown(list)));
    }
    let mut operands = used.operands.as_slice();
    match row.operands {
        Operands::Text => {}
        Operands::None => {
            if let Some(operand) = operands.first() {
                return Err(CommandReason::UnsafeFor(shown(operand), name.into()));
            }
        }
        Operands::Read => operands.iter().try_for_each(|path| readable(path, folder))?,
        Operands::Write => operands.iter().try_for_each(|path| writable(path, folder))?,
        Operands::Into => into(&used, folder)?,
        Operands::Search => {
            if !used.has(&["e", "f", "regexp", "file"]) {
                operands = operands.get(1..).unwrap_or_default();
            }
            operands.iter().try_for_each(|path| readable(path, folder))?;
        }
        Operands::Revisions => operands.iter().try_for_each(|operand| {
            // `HEAD:path` names a path as well; `a..b` does not.
            operand.split(':').filter(|piece| !piece.is_empty()).try_for_each(|piece| readable(piece, folder))
        })?,
        Operands::Words => {
            for operand in operands {
                argument_stays(operand, folder)?;
                let is_passed = used.passed.contains(operand) && among(PASSED, operand);
                if !plain_word(operand) && !is_passed {
                    return Err(CommandReason::UnsafeFor(shown(operand), name.into()));
                }
            }
        }
    }
    row.check.map_or(Ok(()), |check| check(&used))
}
