//! `git`: the read-only subcommands. What its configuration makes it run (a monitor, a text converter, an external
//! diff) cannot be seen in the words; the sandbox handles that, and no flag here adds to it.

use trimtab_vocab::wording::CommandReason;

use super::super::flags::{FlagStyle, Flags, SortedArguments};
use super::super::word::shown;
use super::{Check, KnownProgram, Operands};

const fn row(
    sub: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    check: Option<Check>,
) -> KnownProgram {
    KnownProgram { names: &["git"], subs: sub, flags: Flags { style: FlagStyle::Alone, short, long }, operands, check }
}

/// Options before the subcommand that change nothing but the show. They are left out before rules are matched.
pub(in super::super) const SHOW_ONLY: &[&str] = &["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// Flags of `diff` and `log`, which share most of them. Not `--ext-diff`, `--textconv`, `--output` and `--no-index`, and not
/// `--text` and `--binary`, which show what the fence keeps git from showing: files that usually hold secrets.
const DIFF: &str = "patch no-patch unified=+ raw patch-with-raw indent-heuristic minimal patience histogram diff-algorithm= \
    anchored= stat? compact-summary numstat shortstat dirstat? summary patch-with-stat name-only name-status \
    color? no-color color-moved? color-words? word-diff? word-diff-regex=/ no-renames find-renames? \
    find-copies? full-index abbrev? diff-filter= pickaxe-all pickaxe-regex relative? no-relative \
    ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines \
    inter-hunk-context=+ function-context exit-code quiet no-ext-diff no-textconv src-prefix= \
    dst-prefix= no-prefix cached staged merge-base check stat-width=+ stat-count=+ base ours theirs cc no-merges \
    merges first-parent oneline graph all decorate? no-decorate max-count=+ skip=+ since= after= until= before= \
    author=/ committer=/ grep=/ all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp \
    branches? tags? remotes? glob= follow reverse date-order author-date-order topo-order pretty? format? \
    abbrev-commit no-abbrev-commit date= relative-date parents children left-right cherry-pick cherry-mark \
    simplify-by-decoration full-history walk-reflogs boundary source log-size show-pulls reflog count no-walk? \
    notes? no-notes min-parents=+ max-parents=+ no-expand-tabs";
const DIFF_SHORT: &str = "#puU+sM?C?B?l+S/G/O@RbwWzn+iEFPgqcmtX?";

pub(super) const ROWS: &[KnownProgram] = &[
    row(
        &["status"],
        "sbvzu?",
        "short branch show-stash porcelain? long verbose untracked-files? ignored? column? \
            no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
        Operands::Revisions,
        None,
    ),
    row(&["diff"], DIFF_SHORT, DIFF, Operands::Revisions, Some(no_signature)),
    row(&["log", "show"], "#puU+sM?C?B?l+S/G/O@RbwWzn+iEFPgqcmtX?L:", DIFF, Operands::Revisions, Some(no_signature)),
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
        "iln?",
        "list sort= format= contains? merged? points-at= column?",
        Operands::Revisions,
        Some(lists_tags),
    ),
    row(
        &["ls-files"],
        "cdmoiskuztvfx/X@",
        "cached deleted modified others ignored stage exclude-standard exclude=/ full-name error-unmatch \
            abbrev? eol deduplicate",
        Operands::Revisions,
        None,
    ),
    row(&["ls-tree"], "drtlz", "long name-only name-status full-name full-tree abbrev?", Operands::Revisions, None),
    row(
        &["shortlog"],
        "#snecw?",
        "summary numbered email all since= until= no-merges group= author=/ format?",
        Operands::Revisions,
        Some(no_signature),
    ),
    row(&["whatchanged", "diff-tree"], DIFF_SHORT, DIFF, Operands::Revisions, Some(no_signature)),
    row(&["reflog"], DIFF_SHORT, DIFF, Operands::Revisions, Some(shows_log)),
    row(
        &["stash"],
        "#pu",
        "stat name-only name-status oneline patch include-untracked",
        Operands::Revisions,
        Some(only_shows),
    ),
    row(&["worktree"], "vz", "porcelain verbose", Operands::Revisions, Some(only_shows)),
    row(
        &["show-ref"],
        "dsqh",
        "heads tags branches head dereference hash? abbrev? verify quiet",
        Operands::Revisions,
        None,
    ),
    row(
        &["for-each-ref"],
        "",
        "count=+ sort= format= points-at= merged? no-merged? contains? no-contains? ignore-case",
        Operands::Revisions,
        Some(no_signature),
    ),
    row(&["check-ignore"], "qvn", "quiet verbose non-matching no-index", Operands::Revisions, None),
    row(&["config"], "", "get=%", Operands::Text, Some(plain_setting)),
    row(
        &["rev-parse"],
        "",
        "short? abbrev-ref? show-toplevel is-inside-work-tree verify symbolic-full-name show-prefix git-dir \
            show-cdup quiet is-inside-git-dir git-common-dir",
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
        "L:lstewM?C?cfn",
        "date= show-email show-name show-number porcelain line-porcelain color-lines abbrev=+ root incremental",
        Operands::Revisions,
        None,
    ),
    row(
        &["describe"],
        "",
        "tags all always long abbrev=+ match= exclude= contains exact-match",
        Operands::Revisions,
        None,
    ),
    // An address with a password is not shown: the fence hides settings that hold one.
    row(&["remote"], "v", "verbose", Operands::None, None),
    row(
        &["merge-base", "name-rev", "cat-file", "count-objects"],
        "ptsvH",
        "all is-ancestor octopus tags",
        Operands::Revisions,
        None,
    ),
    KnownProgram {
        // Not `-O`, which opens a pager, and not `-a`: see above.
        names: &["git"],
        subs: &["grep"],
        flags: Flags {
            style: FlagStyle::Alone,
            short: "iIwvhHEGPFnlLcoqpWe/f@A+B+C+m+#",
            long: "cached untracked ignore-case word-regexp invert-match line-number column files-with-matches \
                name-only count color? no-color break heading show-function function-context and or not \
                all-match quiet extended-regexp perl-regexp fixed-strings only-matching max-depth=+ context=+ \
                after-context=+ before-context=+ no-textconv",
        },
        operands: Operands::Search,
        check: None,
    },
];

/// Subcommands that record what is there, with flags that lose nothing and skip no check. No allowlist of ours names
/// them: they count for the user's own rule.
pub(super) const RECORDS: &[KnownProgram] = &[
    // Not `-f`, which adds what is ignored.
    row(&["add"], "Auvn", "all update verbose dry-run no-all intent-to-add", Operands::Revisions, None),
    KnownProgram {
        // Not `--amend`, `--no-verify` and `-F`.
        names: &["git"],
        subs: &["commit"],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "am/qvs",
            long: "all message=/ quiet verbose signoff no-edit allow-empty dry-run",
        },
        operands: Operands::Revisions,
        check: None,
    },
];

/// Subcommands that look have others next to them that do not.
fn only_shows(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.first() {
        Some(&("list" | "show")) => Ok(()),
        Some(operand) => Err(CommandReason::NotReadOnly(shown(operand))),
        None => Err(CommandReason::UnknownReadOnly),
    }
}

/// The same, and without a subcommand it shows, too.
fn shows_log(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    no_signature(used)?;
    if used.operands.is_empty() { Ok(()) } else { only_shows(used) }
}

/// Settings that are not private; other values in the configuration may be secrets.
fn plain_setting(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let plain = |name: &str| matches!(name, "user.name" | "user.email" | "init.defaultBranch" | "core.autocrlf");
    let named: Vec<&str> = used.flags.iter().filter_map(|flag| flag.2).chain(used.operands.iter().copied()).collect();
    match named.as_slice() {
        [name] if plain(name) => Ok(()),
        // A second word would be the new value.
        [_, ..] if used.flags.is_empty() && used.operands.len() > 1 => Err(CommandReason::ChangesConfiguration),
        _ => Err(CommandReason::ConfigurationSecrets),
    }
}

/// A format may ask for signatures, and a configured program would check them.
fn no_signature(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let asks = used.flags.iter().any(|(name, _, given)| {
        let Some(given) = given else { return false };
        matches!(*name, "pretty" | "format" | "sort" | "group")
            && (asks_signature(given) || (matches!(*name, "pretty" | "format") && !spelled(given)))
    });
    if asks { Err(CommandReason::SignatureFormat) } else { Ok(()) }
}

/// Whether a format shows something of a signature: `%G?`, `%+GK`, `%(signature)`, and the sort key of that name.
fn asks_signature(format: &str) -> bool {
    format.contains("signature")
        || format.split('%').skip(1).any(|item| item.trim_start_matches(['-', '+', ' ', '%']).starts_with('G'))
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
fn lists_branches(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    no_signature(used)?;
    if used.operands.is_empty() || used.has(&["list", "contains", "no-contains", "merged", "no-merged", "points-at"]) {
        return Ok(());
    }
    Err(CommandReason::CreatesBranch)
}

fn lists_tags(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    no_signature(used)?;
    if used.operands.is_empty() || used.has(&["l", "list", "contains", "merged", "points-at"]) {
        return Ok(());
    }
    Err(CommandReason::CreatesTag)
}
