//! Builds and tests with Cargo, Go, and Python. The folder's own code may run, as documented; flags that add another
//! program or configuration ask.

use trimtab_vocab::wording::CommandReason;

use super::super::flags::{FlagStyle, Flags, SortedArguments};
use super::super::word::shown;
use super::node::says_something;
use super::{Check, KnownProgram, Operands};

const CARGO_SHORT: &str = "p%qvrj%F:h";
const CARGO: &str = "release workspace all package=% exclude=% lib bins bin=% test=% tests example=% examples bench=% benches \
    all-targets features= all-features no-default-features profile=% jobs=% keep-going no-run no-fail-fast doc \
    quiet verbose color=% message-format=% locked offline frozen ignore-rust-version manifest-path=@ target=% \
    future-incompat-report timings help";

const fn cargo(
    subs: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    check: Option<Check>,
) -> KnownProgram {
    KnownProgram { names: &["cargo"], subs, flags: Flags { style: FlagStyle::Gnu, short, long }, operands, check }
}

const GO: &str = "v race cover covermode=% run= skip= count=% short timeout=% bench= benchmem benchtime=% json tags=% failfast \
    parallel=% p=% vet=% n a x list= cpu=% mod=% trimpath buildvcs? shuffle=% msan asan";

pub(super) const ROWS: &[KnownProgram] = &[
    cargo(&["build", "check", "b", "c"], CARGO_SHORT, CARGO, Operands::None, None),
    cargo(&["clippy"], CARGO_SHORT, CARGO, Operands::Text, Some(lints)),
    cargo(
        &["doc"],
        CARGO_SHORT,
        "release workspace all package=% exclude=% lib bins bin=% no-deps document-private-items features= \
            all-features no-default-features quiet verbose color=% locked offline frozen jobs=%",
        Operands::None,
        None,
    ),
    cargo(
        &["nextest"],
        "p%qvrj%F:E:",
        "release workspace all package=% exclude=% lib bins bin=% test=% tests all-targets features= all-features \
            no-default-features no-run no-fail-fast nocapture no-capture retries=+ quiet verbose color=% locked \
            offline frozen profile=% run-ignored=%",
        Operands::Words,
        Some(runs_or_lists),
    ),
    cargo(&["test", "t", "bench"], CARGO_SHORT, CARGO, Operands::Text, Some(harness)),
    cargo(&["run", "r"], CARGO_SHORT, CARGO, Operands::Words, None),
    cargo(&["fmt"], "vqp%", "check all package=% quiet verbose", Operands::Text, Some(formats)),
    cargo(
        &["tree", "metadata"],
        "p%e%i%d",
        "package=% edges=% invert=% duplicates depth=% no-deps format-version=% workspace all-features \
            offline locked",
        Operands::None,
        None,
    ),
    KnownProgram {
        names: &["go"],
        subs: &["build", "vet", "list", "fmt"],
        flags: Flags {
            style: FlagStyle::OneDashFirst,
            short: "",
            long: "o=> v race tags=% n a x p=% mod=% trimpath buildvcs? json m deps f= e",
        },
        operands: Operands::Words,
        check: Some(local_package),
    },
    KnownProgram {
        names: &["go"],
        subs: &["test"],
        flags: Flags { style: FlagStyle::OneDash, short: "", long: GO },
        operands: Operands::Words,
        check: Some(local_package),
    },
    KnownProgram {
        names: &["go"],
        subs: &["run"],
        flags: Flags { style: FlagStyle::OneDashFirst, short: "", long: "v race tags=% n a x p=% mod=% trimpath" },
        operands: Operands::Words,
        check: Some(local_main),
    },
    KnownProgram { names: &["go"], subs: &["mod"], flags: Flags::NONE, operands: Operands::Words, check: Some(tidies) },
    KnownProgram { names: &["go"], subs: &["version"], flags: Flags::NONE, operands: Operands::None, check: None },
    KnownProgram {
        names: &["python", "python3", "python2"],
        subs: &[],
        flags: Flags { style: FlagStyle::Separate, short: "Vh", long: "version help" },
        operands: Operands::None,
        check: Some(says_something),
    },
    KnownProgram {
        names: &["pip", "pip3"],
        subs: &["list", "freeze", "check", "show"],
        flags: Flags { style: FlagStyle::Gnu, short: "", long: "format=% local" },
        operands: Operands::Words,
        check: None,
    },
    KnownProgram {
        names: &["pip", "pip3"],
        subs: &["--version", "-V"],
        flags: Flags::NONE,
        operands: Operands::None,
        check: None,
    },
    // An installation goes outside the folder, and building it runs unknown code.
    KnownProgram {
        names: &["pip", "pip3"],
        subs: &["install"],
        flags: Flags { style: FlagStyle::Gnu, short: "h", long: "help" },
        operands: Operands::None,
        check: Some(only_helps),
    },
    // Nothing that these do with an address is known to be safe.
    KnownProgram {
        names: &["curl", "wget"],
        subs: &[],
        flags: Flags { style: FlagStyle::Gnu, short: "Vh", long: "version help" },
        operands: Operands::None,
        check: Some(only_helps),
    },
];

/// Behind `--` stand flags of the test harness; before it, one name of a test.
fn harness(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    const SAFE: Flags = Flags {
        style: FlagStyle::Separate,
        short: "q",
        long: "nocapture no-capture show-output test-threads=% ignored include-ignored exact skip= list quiet \
                color=% format=% help",
    };
    let passed: Vec<String> = used.passed.iter().map(|arg| (*arg).to_owned()).collect();
    SAFE.sort("the test harness", &passed).map(|_| ())
}

/// Behind `--` stand lints to be strict about; other flags of the compiler may name a linker.
fn lints(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_:-".contains(&b))
    };
    let mut passed = used.passed.iter();
    let wrong = |flag: &str| Err(CommandReason::UnsafeFor(shown(flag), "cargo clippy".into()));
    if used.operands.len() > used.passed.len() {
        return wrong(used.operands[0]);
    }
    while let Some(flag) = passed.next() {
        let glued = ["-D", "-W", "-A", "-F"].iter().find_map(|level| flag.strip_prefix(level));
        let lint = match (glued, *flag) {
            (Some(""), _) | (_, "--deny" | "--warn" | "--allow" | "--forbid") => passed.next().copied(),
            (glued, _) => glued,
        };
        if !lint.is_some_and(name) {
            return wrong(flag);
        }
    }
    Ok(())
}

fn runs_or_lists(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.first() {
        Some(&("run" | "list")) if used.passed.is_empty() => Ok(()),
        _ => Err(CommandReason::MoreThanTests),
    }
}

/// Formatting changes sources of the folder, which undo brings back. Other options after `--` may name files elsewhere.
fn formats(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.as_slice() {
        [] => Ok(()),
        operands if operands == used.passed && used.passed == ["--check"] => Ok(()),
        _ => Err(CommandReason::UnsafeArguments),
    }
}

fn tidies(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.as_slice() {
        ["tidy" | "verify" | "graph"] => Ok(()),
        _ => Err(CommandReason::MayLeaveFolder),
    }
}

fn only_helps(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    if used.has(&["version", "help", "V", "h"]) && used.operands.is_empty() {
        return Ok(());
    }
    Err(CommandReason::NeedsNetwork)
}

fn local_package(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.iter().find(|operand| operand.contains('@')) {
        Some(operand) => Err(CommandReason::Downloaded(shown(operand))),
        None => Ok(()),
    }
}

/// What `go run` is given must be in the folder: `.`, `./cmd/x` or `main.go`.
fn local_main(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.first() {
        Some(operand) if operand.starts_with('.') || operand.ends_with(".go") => Ok(()),
        Some(operand) => Err(CommandReason::MaybeDownloaded(shown(operand))),
        None => Err(CommandReason::NoPackage),
    }
}
