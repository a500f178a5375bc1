//! JavaScript package managers and tools. Scripts of the folder run by name, as documented; a line that would
//! download code asks.

use trimtab_vocab::wording::CommandReason;

use super::super::flags::{FlagStyle, Flags, SortedArguments};
use super::super::word::{among, shown};
use super::shell::TARGETS;
use super::{Check, KnownProgram, Operands};

const QUIET: &str = "silent quiet verbose if-present workspaces workspace=% no-color color loglevel=% version help";
/// Without `-w`, which takes no value here.
const RUN: &str = "silent if-present color no-color help";
const INSTALL: &str = "silent quiet verbose no-audit no-fund ignore-scripts prefer-offline offline legacy-peer-deps frozen-lockfile \
    no-frozen-lockfile immutable no-progress production omit=% include=% dry-run workspaces no-optional no-save \
    package-lock-only lockfile-only loglevel=% non-interactive help";

const fn row(
    name: &'static [&'static str],
    subs: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    check: Option<Check>,
) -> KnownProgram {
    KnownProgram { names: name, subs, flags: Flags { style: FlagStyle::Separate, short, long }, operands, check }
}

pub(super) const ROWS: &[KnownProgram] = &[
    row(&["npm"], &["run", "run-script"], "sw%", QUIET, Operands::Words, Some(own_script)),
    // Where there is no such script, these run a program of that name.
    row(&["pnpm", "yarn"], &["run", "run-script"], "s", RUN, Operands::Words, Some(usual_script)),
    row(
        &["npm", "pnpm", "yarn"],
        &["test", "build", "start", "lint", "typecheck", "type-check"],
        "sw%",
        QUIET,
        Operands::Words,
        None,
    ),
    // With the name of a package, `install` and `add` run code that is not in the folder yet.
    row(&["npm", "pnpm", "yarn"], &["install", "ci"], "s", INSTALL, Operands::None, None),
    row(&["npm", "pnpm", "yarn"], &["ls", "list", "why"], "", "depth=% all json long parseable", Operands::Words, None),
    row(&["yarn", "pnpm"], &["add"], "", "help", Operands::None, Some(names_package)),
    KnownProgram {
        // Not `--outDir` and its kin, `--build`, `--init` and `--watch`: they write elsewhere or do not end.
        names: &["tsc"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::OneDash,
            short: "",
            long: "noEmit noemit p=@ project=@ pretty strict skipLibCheck target=% t=% module=% m=% lib=% jsx=% \
                esModuleInterop version v help h all listFiles listFilesOnly showConfig traceResolution \
                diagnostics extendedDiagnostics noEmitOnError allowJs checkJs resolveJsonModule \
                moduleResolution=% noUnusedLocals noUnusedParameters noImplicitAny noImplicitReturns \
                strictNullChecks isolatedModules explainFiles noErrorTruncation removeComments declaration \
                sourceMap types=% allowSyntheticDefaultImports experimentalDecorators \
                forceConsistentCasingInFileNames incremental",
        },
        operands: Operands::Write,
        check: None,
    },
    KnownProgram {
        names: &["eslint"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "hvq",
            long: "quiet max-warnings=% ext= color no-color version help no-warn-ignored fix no-fix format=% cache",
        },
        operands: Operands::Read,
        check: Some(shows_as_usual),
    },
    KnownProgram {
        names: &["prettier"],
        subs: &[],
        flags: Flags { style: FlagStyle::Gnu, short: "clw", long: "check list-different write version help no-color" },
        operands: Operands::Read,
        check: None,
    },
    KnownProgram {
        names: &["jest", "vitest"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Separate,
            short: "t/i",
            long: "verbose silent bail ci coverage runInBand testNamePattern=/ passWithNoTests reporter=% \
                watchAll=% watch=% version help",
        },
        operands: Operands::Words,
        check: Some(shows_as_usual),
    },
    KnownProgram {
        // It reads a flag that it does not know as if it took no value.
        names: &["mocha"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Separate,
            short: "bg/t+",
            long: "bail grep=/ timeout=+ recursive parallel reporter=% check-leaks version help",
        },
        operands: Operands::Words,
        check: Some(shows_as_usual),
    },
    row(&["node", "nodejs", "deno", "bun"], &[], "vh", "version help", Operands::None, Some(says_something)),
];

/// The name of another way to show results is a program, and a watch does not end.
pub(super) fn shows_as_usual(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let odd = |flag: &&(&str, _, Option<&str>)| match (flag.0, flag.2) {
        ("format" | "reporter" | "f", Some(name)) => !matches!(
            name,
            "json" | "stylish" | "compact" | "verbose" | "dot" | "default" | "spec" | "documentation" | "progress"
        ),
        ("watch" | "watchAll", Some(value)) => value != "false",
        _ => false,
    };
    match used.flags.iter().find(odd) {
        Some((name, ..)) => Err(CommandReason::UnsafeFlagValue((*name).into())),
        None => Ok(()),
    }
}

/// `npm run env` shows the environment, keys and all.
fn own_script(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.first() {
        Some(script @ &"env") => Err(CommandReason::PrintsEnvironment((*script).into())),
        Some(script) if script.contains('/') => Err(CommandReason::NotAScript(shown(script))),
        _ => Ok(()),
    }
}

/// Only a script whose name says that it builds or checks: `yarn run rimraf` is a program and not a script.
fn usual_script(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let usual = |name: &str| among(TARGETS, name) || among("start dev serve preview", name);
    match used.operands.first() {
        // `test:unit` is a kind of `test`.
        Some(script) if usual(script.split(':').next().unwrap_or_default()) && !script.contains('/') => Ok(()),
        Some(script) => Err(CommandReason::AnyInstalledProgram(shown(script))),
        None => Ok(()),
    }
}

fn names_package(_: &SortedArguments<'_>) -> Result<(), CommandReason> {
    Err(CommandReason::InstallsPackage)
}

/// Without an operand and a flag, an interpreter runs what it is fed.
pub(super) fn says_something(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    if used.flags.is_empty() { Err(CommandReason::RunsInput) } else { Ok(()) }
}
