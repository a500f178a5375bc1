//! Shell builtins that are harmless in some of their uses. Their other uses are perilous, so this table only allows;
//! otherwise, the next table decides.

use super::super::defaults::asks_version;
use super::super::paths::{readable, stays};
use super::super::word::among;
use trimtab_vocab::sensitive_paths::decides_what_runs;

/// Targets of builds and checks. What they do is the folder's own business, as with `npm run`; others may do more
/// than build, and ask.
pub(super) const TARGETS: &str = "all test tests check lint build compile classes assemble unit unit-test unit-tests test-unit \
    integration integration-test test-integration typecheck type-check types fmt-check format-check check-format vet doc docs \
    coverage cov help verify package validate test-compile ci clippy pytest mypy ruff";

/// Whether these words do no harm: they only look, or start the folder's own build.
pub(super) fn is_harmless(argv: &[&str], folder: &str) -> bool {
    only_looks(argv, folder) || builds_by_script(argv)
}

/// Whether these words only look or say something.
pub(super) fn only_looks(argv: &[&str], folder: &str) -> bool {
    match argv {
        ["cd", to] => enters(to, folder),
        ["printf", rest @ ..] => prints(rest),
        ["test", rest @ ..] | ["[", rest @ .., "]"] => tests(rest, folder),
        ["command", "-v" | "-V", names @ ..] => !names.is_empty() && names.iter().all(|name| is_name(name)),
        // It reads the source and says whether it could be run.
        ["php", "-l", file] => !file.starts_with('-') && readable(file, folder).is_ok(),
        words => asks_version(words),
    }
}

/// The script by which a folder brings its build program along, with usual targets.
pub(in super::super) fn builds_by_script(words: &[&str]) -> bool {
    let [script, targets @ ..] = words else { return false };
    let flag = |word: &str| among("-q --quiet -B -o --offline --no-daemon --info --stacktrace", word);
    matches!(*script, "./gradlew" | "./mvnw")
        && !targets.is_empty()
        && targets.iter().all(|target| among(TARGETS, target) || flag(target))
}

fn is_name(text: &str) -> bool {
    !text.starts_with('-') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.+".contains(&b))
}

/// A folder below, and none that other programs take their orders from: names are looked at from here on only.
fn enters(to: &str, folder: &str) -> bool {
    !to.is_empty()
        && !to.starts_with('-')
        && to != "/dev/null"
        && readable(to, folder).is_ok()
        && stays(to, folder).is_ok()
        && !to.split('/').any(decides_what_runs)
}

/// A format and its values. Numbers are arithmetic to some shells, so that only plain ones pass; `%n` would set a
/// variable.
fn prints(words: &[&str]) -> bool {
    let Some((format, values)) = words.split_first() else { return false };
    let plain = |text: &&str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let mut pieces = format.replace("%%", "").split('%').skip(1).map(str::to_owned).collect::<Vec<_>>().into_iter();
    !format.starts_with('-')
        && pieces.all(|piece| match piece.trim_start_matches(|c: char| c.is_ascii_digit() || "-+. 0#".contains(c)) {
            rest if rest.starts_with(['s', 'b', 'c']) => true,
            rest if rest.starts_with(['d', 'i', 'u', 'o', 'x', 'X', 'f', 'F', 'e', 'g']) => values.iter().all(plain),
            _ => false,
        })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// One question about a file or a text; `-v` and the comparisons of numbers may be arithmetic.
fn tests(words: &[&str], folder: &str) -> bool {
    match words {
        ["!", rest @ ..] if rest.len() > 1 => tests(rest, folder),
        ["-e" | "-f" | "-d" | "-s" | "-r" | "-w" | "-x" | "-L" | "-h", path] => stays(path, folder).is_ok(),
        ["-n" | "-z", _] => true,
        // Whole numbers as they stand; anything else is arithmetic to some shells.
        [left, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge", right] => {
            [left, right].iter().all(|text| is_number(text))
        }
        [left, "=" | "==" | "!=", right] => !left.starts_with(['-', '(', '!']) && !right.starts_with(['-', ')']),
        _ => false,
    }
}
