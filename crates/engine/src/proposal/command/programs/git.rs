//! `git`: the subcommands that only look. What its configuration makes it run (a monitor, a text converter, an
//! external diff) cannot be seen in the words; the sandbox answers for that, and no flag here asks for more of it.

use super::super::flags::{Flags, Style, Used};
use super::{Check, Operands, Program};

const fn row(
    sub: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    check: Option<Check>,
) -> Program {
    Program { names: &["git"], subs: sub, flags: Flags { style: Style::Gnu, short, long }, operands, check }
}

/// Options before the subcommand that change nothing but the show. They are left out before rules are matched.
pub(in super::super) const SHOW_ONLY: &[&str] = &["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// Flags of `diff` and `log`, which share most of them. Not `--ext-diff`, `--textconv`, `--output` and `--no-index`.
const DIFF: &str = "patch no-patch unified=+ raw patch-with-raw indent-heuristic minimal patience histogram diff-algorithm= \
    anchored= stat? compact-summary numstat shortstat dirstat? summary patch-with-stat name-only name-status \
    submodule? color? no-color color-moved? color-words? word-diff? word-diff-regex= no-renames find-renames? \
    find-copies? full-index binary abbrev? diff-filter= pickaxe-all pickaxe-regex relative? no-relative text \
    ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines \
    inter-hunk-context=+ function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? src-prefix= \
    dst-prefix= no-prefix cached staged merge-base check stat-width=+ stat-count=+ base ours theirs cc no-merges \
    merges first-parent oneline graph all decorate? no-decorate max-count=+ skip=+ since= after= until= before= \
    author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp \
    branches? tags? remotes? glob= follow reverse date-order author-date-order topo-order pretty? format= \
    abbrev-commit no-abbrev-commit date= relative-date parents children left-right cherry-pick cherry-mark \
    simplify-by-decoration full-history walk-reflogs boundary source log-size show-pulls reflog count no-walk? \
    notes? no-notes min-parents=+ max-parents=+ no-expand-tabs";
const DIFF_SHORT: &str = "#puU+sM?C?B?l+S:G:O@RabwWzn+iEFPgqcmtX?";

pub(super) const ROWS: &[Program] = &[
    row(
        &["status"],
        "sbvzu?",
        "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? \
            no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
        Operands::Revisions,
        None,
    ),
    row(&["diff"], DIFF_SHORT, DIFF, Operands::Revisions, Some(no_signature)),
    row(&["log", "show"], "#puU+sM?C?B?l+S:G:O@RabwWzn+iEFPgqcmtX?L:", DIFF, Operands::Revisions, Some(no_signature)),
    row(
        &["branch"],
        "avrqi",
        "all remotes list show-current verbose contains? no-contains? merged? no-merged? points-at= sort= \
            format= color? no-color column? no-column abbrev? no-abbrev ignore-case",
        Operands::Revisions,
        Some(lists_branches),
    ),
    row(
        &["tag"],
        "il",
        "list sort= format= contains? merged? points-at= column?",
        Operands::Revisions,
        Some(lists_tags),
    ),
    row(
        &["ls-files"],
        "cdmoiskuztvfx:X@",
        "cached deleted modified others ignored stage exclude-standard exclude= full-name error-unmatch \
            abbrev? eol deduplicate",
        Operands::Revisions,
        None,
    ),
    row(&["ls-tree"], "drtlz", "long name-only name-status full-name full-tree abbrev?", Operands::Revisions, None),
    row(
        &["rev-parse"],
        "",
        "short? abbrev-ref? show-toplevel is-inside-work-tree verify symbolic-full-name show-prefix git-dir \
            show-cdup",
        Operands::Revisions,
        None,
    ),
    row(
        &["rev-list"],
        "#n+",
        "count all max-count=+ since= until= left-right no-merges first-parent",
        Operands::Revisions,
        None,
    ),
    row(
        &["blame"],
        "L:lstewMC",
        "date= show-email show-name show-number porcelain line-porcelain",
        Operands::Revisions,
        None,
    ),
    row(
        &["describe"],
        "",
        "tags all always long abbrev= dirty? match= exclude= contains exact-match",
        Operands::Revisions,
        None,
    ),
    row(&["remote"], "v", "verbose", Operands::None, None),
    row(
        &["merge-base", "name-rev", "cat-file", "count-objects"],
        "ptsvH",
        "all is-ancestor octopus tags",
        Operands::Revisions,
        None,
    ),
    Program {
        // Not `-O`, which opens a pager of its own choice.
        names: &["git"],
        subs: &["grep"],
        flags: Flags {
            style: Style::Gnu,
            short: "aiIwvhHEGPFnlLcoqpWe:f@A+B+C+m+#",
            long: "cached untracked ignore-case word-regexp invert-match line-number column files-with-matches \
                name-only count color? no-color break heading show-function function-context and or not \
                all-match quiet extended-regexp perl-regexp fixed-strings only-matching max-depth=+ context=+ \
                after-context=+ before-context=+ no-textconv text",
        },
        operands: Operands::Search,
        check: None,
    },
];

/// A format may ask for signatures, and a configured program would check them.
fn no_signature(used: &Used<'_>) -> Result<(), String> {
    let asks = used.flags.iter().any(|(name, _, given)| {
        matches!(*name, "pretty" | "format") && given.is_some_and(|format| format.contains("%G") || !spelled(format))
    });
    if asks {
        Err("the format starts a program that checks signatures, or is one from the configuration".to_owned())
    } else {
        Ok(())
    }
}

/// Whether a format is spelled out here and not named after an entry of the configuration.
fn spelled(format: &str) -> bool {
    format.contains(['%', ':'])
        || matches!(
            format,
            "" | "oneline" | "short" | "medium" | "full" | "fuller" | "reference" | "email" | "raw" | "mboxrd"
        )
}

/// A name alone would make a branch.
fn lists_branches(used: &Used<'_>) -> Result<(), String> {
    if used.operands.is_empty() || used.has(&["list", "contains", "no-contains", "merged", "no-merged", "points-at"]) {
        return Ok(());
    }
    Err("a name makes a new branch".to_owned())
}

fn lists_tags(used: &Used<'_>) -> Result<(), String> {
    if used.operands.is_empty() || used.has(&["l", "list", "contains", "merged", "points-at"]) {
        return Ok(());
    }
    Err("a name makes a new tag".to_owned())
}
