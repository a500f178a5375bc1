//! Checks and tests of a folder's own code, in Python and other languages, and bundlers. They run as `cargo test`
//! does; flags that fix code, write reports elsewhere, or name a plugin or a configuration ask.
//!
//! These rows only allow. Other uses are checked as usual: a user who allows `make` means all its targets.

use trimtab_vocab::wording::CommandReason;

use super::super::flags::{FlagStyle, Flags, SortedArguments, plain_word};
use super::super::paths::{argument_stays, readable};
use super::super::word::{among, shown};
use super::node::shows_as_usual;
use super::shell::TARGETS;
use super::{Check, KnownProgram, Operands};

const fn row(
    name: &'static [&'static str],
    subs: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    check: Option<Check>,
) -> KnownProgram {
    KnownProgram { names: name, subs, flags: Flags { style: FlagStyle::Gnu, short, long }, operands, check }
}

pub(super) const ROWS: &[KnownProgram] = &[
    // Not `-p`, `-c`, `-o`, `-W`, `--rootdir` and the flags that write reports.
    row(
        &["pytest", "py.test"],
        &[],
        "vqxslk/m/r/n%",
        "verbose quiet exitfirst maxfail=% tb=% collect-only co last-failed lf failed-first ff new-first nf stepwise \
            sw durations=% no-header no-summary color=% capture=% disable-warnings strict-markers setup-show \
            fixtures markers ignore=@ deselect=/ cov? cov-report=% no-cov timeout=% version help",
        Operands::Read,
        Some(reports_here),
    ),
    row(&["unittest"], &[], "vqfcbk:s@p:t@", "verbose quiet failfast catch buffer", Operands::Words, None),
    // Not `--config`, `--output-file`, `--add-noqa` and `--watch`.
    row(
        &["ruff"],
        &["check"],
        "qve",
        "fix no-fix select= ignore= extend-select= extend-ignore= output-format=% statistics quiet verbose exit-zero \
            target-version=% line-length=+ preview diff no-cache exclude= extend-exclude= show-files",
        Operands::Read,
        None,
    ),
    row(
        &["ruff"],
        &["format"],
        "qv",
        "check diff quiet verbose target-version=% line-length=+ preview no-cache exclude=",
        Operands::Read,
        None,
    ),
    row(
        &["black"],
        &[],
        "qvSl+t%",
        "check diff quiet verbose color no-color line-length=+ target-version=% skip-string-normalization fast safe \
            include= exclude= extend-exclude= workers=+",
        Operands::Read,
        None,
    ),
    row(&["isort"], &[], "cqvl+", "check check-only diff profile=% line-length=+ quiet verbose", Operands::Read, None),
    // Not `--install-types`, `--config-file`, `--python-executable` and the reports.
    row(
        &["mypy"],
        &[],
        "vp%m%",
        "strict ignore-missing-imports no-error-summary show-error-codes show-error-context pretty no-pretty \
            no-color-output check-untyped-defs namespace-packages explicit-package-bases follow-imports=% \
            python-version=% exclude= disallow-untyped-defs disallow-untyped-calls disallow-incomplete-defs \
            warn-unused-ignores warn-return-any warn-unreachable no-incremental no-implicit-optional package=% \
            module=% verbose",
        Operands::Read,
        None,
    ),
    row(
        &["flake8"],
        &[],
        "qv",
        "max-line-length=+ select= ignore= extend-ignore= extend-select= count statistics show-source exclude= \
            extend-exclude= max-complexity=+ quiet verbose",
        Operands::Read,
        None,
    ),
    row(&["pylint"], &[], "Er%", "disable= enable= errors-only reports=% score=% jobs=+", Operands::Read, None),
    KnownProgram {
        names: &["gofmt"],
        subs: &[],
        flags: Flags { style: FlagStyle::OneDash, short: "", long: "l d s e w" },
        operands: Operands::Read,
        check: Some(lists_or_compares),
    },
    KnownProgram {
        names: &["go"],
        subs: &["env"],
        flags: Flags { style: FlagStyle::OneDash, short: "", long: "json" },
        operands: Operands::Words,
        check: Some(plain_settings),
    },
    row(&["chmod"], &[], "v", "verbose", Operands::Write, Some(makes_executable)),
    row(&["venv"], &[], "", "without-pip system-site-packages", Operands::Write, Some(super::readers::at_most_one)),
    row(&["golangci-lint"], &["run"], "v", "verbose timeout=% fast", Operands::Read, None),
    // Not `-f`, `--eval`, `-I` and settings of variables.
    row(
        &["make"],
        &[],
        "j?kniBsC@",
        "jobs? keep-going dry-run just-print silent quiet always-make directory=@",
        Operands::Words,
        Some(builds_first),
    ),
    row(&["cmake"], &["--build"], "j?v", "target=% config=% parallel? verbose", Operands::Read, Some(builds_target)),
    row(
        &["ctest"],
        &[],
        "VNj+R:E:L:",
        "verbose output-on-failure test-dir=@ parallel=+ tests-regex= exclude-regex= show-only",
        Operands::None,
        None,
    ),
    KnownProgram {
        names: &["mvn"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Separate,
            short: "qBoeV",
            long: "quiet batch-mode offline errors no-transfer-progress",
        },
        operands: Operands::Words,
        check: Some(builds),
    },
    KnownProgram {
        names: &["gradle"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Separate,
            short: "qiw",
            long: "quiet info warn offline no-daemon continue stacktrace",
        },
        operands: Operands::Words,
        check: Some(builds),
    },
    row(&["rspec"], &[], "f%e/", "format=% fail-fast example=/ color no-color", Operands::Read, Some(shows_as_usual)),
    row(&["mix"], &["test", "compile"], "", "trace stale failed cover warnings-as-errors", Operands::Read, None),
    KnownProgram {
        names: &["swift"],
        subs: &["build", "test"],
        flags: Flags { style: FlagStyle::Separate, short: "vc%", long: "verbose configuration=% filter= parallel" },
        operands: Operands::None,
        check: None,
    },
    KnownProgram {
        // A property (`-p:`) may name a program.
        names: &["dotnet"],
        subs: &["build", "test"],
        flags: Flags {
            style: FlagStyle::Separate,
            short: "c%v%",
            long: "nologo no-restore no-build configuration=% verbosity=% filter=",
        },
        operands: Operands::Read,
        check: None,
    },
];

/// Whether a script of the folder is run by its interpreter, as `cargo run` runs a program of the folder. Its
/// arguments stay in the folder, and no flag comes before it.
pub(super) fn runs_script(argv: &[String], folder: &str) -> bool {
    let [interpreter, script, args @ ..] = argv else { return false };
    let ends = match interpreter.as_str() {
        "python" | "python3" => &[".py"][..],
        "node" | "nodejs" => &[".js", ".mjs", ".cjs"],
        _ => return false,
    };
    // `python -m json.tool file` reads one file; a second one would be written.
    if let ("python" | "python3", "-m", [module, file]) = (interpreter.as_str(), script.as_str(), args)
        && module == "json.tool"
    {
        return !file.starts_with('-') && readable(file, folder).is_ok();
    }
    plain_word(script)
        && ends.iter().any(|end| script.ends_with(end))
        && readable(script, folder).is_ok()
        && args.iter().all(|arg| is_plain(arg, folder))
}

/// Whether an argument of the folder's own program is a plain word or option that stays in the folder.
fn is_plain(arg: &str, folder: &str) -> bool {
    let value = arg.trim_start_matches('-').replacen('=', " ", 1);
    plain_word(&value) && arg.len() - arg.trim_start_matches('-').len() <= 2 && argument_stays(arg, folder).is_ok()
}

/// Checks that Python runs as modules.
const MODULES: &str = "pytest unittest ruff black isort mypy flake8 pylint";
/// Programs of JavaScript that a folder brings along.
const BROUGHT: &str = "tsc eslint prettier jest vitest mocha";

/// The arguments of a check that another program starts, as if it were called directly. Tools that the folder does
/// not contain would be downloaded, but the sandbox has no network.
pub(super) fn as_called(argv: &[String]) -> Option<Vec<String>> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    if let Some(argv) = in_packages(&words) {
        return Some(argv);
    }
    let skipped = match words.as_slice() {
        ["python" | "python3", "-m", module, ..] if among(MODULES, module) || *module == "venv" => 2,
        // Without a word behind it, it installs.
        ["yarn"] => return Some(vec!["yarn".to_owned(), "install".to_owned()]),
        ["poetry" | "pipenv" | "uv", "run", module, ..] if *module != "unittest" && among(MODULES, module) => 2,
        ["poetry" | "pipenv" | "uv", "run", "python" | "python3", "-m", ..] => 2,
        ["npx", "--no-install" | "--no", "vitest", "run", ..] | ["pnpm", "exec", "vitest", "run", ..] => 2,
        ["npx" | "yarn" | "pnpm", "vitest", "run", ..] => 1,
        [.., "vitest"] | [_, "vitest", ..] | [_, _, "vitest", ..] => return None,
        ["npx", "--no-install" | "--no", program, ..] | ["pnpm", "exec", program, ..] if among(BROUGHT, program) => 2,
        ["npx" | "yarn" | "pnpm", program, ..] if among(BROUGHT, program) => 1,
        ["bundle", "exec", "rspec", ..] => 2,
        _ => return None,
    };
    Some(argv[skipped..].to_vec())
}

/// The words without the packages of the folder that a script is run in.
fn in_packages(words: &[&str]) -> Option<Vec<String>> {
    let (manager, rest) = match words {
        [manager @ "pnpm", "-r" | "--recursive", rest @ ..] => (manager, rest),
        [manager @ "pnpm", "--filter" | "-F", package, rest @ ..] if is_package(package) => (manager, rest),
        [manager @ "yarn", "workspace", package, rest @ ..] if is_package(package) => (manager, rest),
        _ => return None,
    };
    // A path would lead to other folders.
    fn is_package(name: &str) -> bool {
        let name = name.strip_prefix('@').unwrap_or(name);
        plain_word(name) && !name.starts_with('.')
    }
    let is_script = matches!(rest.first(), Some(&("test" | "build" | "lint" | "run")));
    is_script.then(|| std::iter::once(manager).chain(rest).map(|word| (*word).to_owned()).collect())
}

/// A report goes to the screen, or to its usual place in the folder.
fn reports_here(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let elsewhere = |flag: &&(&str, _, Option<&str>)| {
        flag.0 == "cov-report" && !flag.2.is_some_and(|kind| among("term term-missing xml html json lcov", kind))
    };
    match used.flags.iter().find(elsewhere) {
        Some((_, _, kind)) => Err(CommandReason::ReportAnywhere(shown(kind.unwrap_or_default()))),
        None => Ok(()),
    }
}

/// Makes a file executable, which undo reverts. Any other mode may remove needed permissions.
fn makes_executable(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let is_mode = |mode: &&str| matches!(*mode, "+x" | "a+x" | "u+x" | "ug+x" | "ugo+x");
    match used.operands.split_first() {
        Some((mode, files)) if is_mode(mode) && !files.is_empty() => Ok(()),
        _ => Err(CommandReason::MoreThanExecutable),
    }
}

/// Without any of these, `gofmt` prints the sources, which is not a check.
fn lists_or_compares(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    if used.has(&["l", "d", "w"]) { Ok(()) } else { Err(CommandReason::PrintsSources) }
}

/// Addresses of proxies may hold a password.
fn plain_settings(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    const PLAIN: &str = "GOPATH GOROOT GOVERSION GOOS GOARCH GOMOD GOWORK GOBIN GOCACHE GOMODCACHE CGO_ENABLED";
    match used.operands.iter().find(|name| !among(PLAIN, name)) {
        Some(name) => Err(CommandReason::MayContainSecret(shown(name))),
        None if used.operands.is_empty() => Err(CommandReason::OutputSecrets),
        None => Ok(()),
    }
}

fn builds_target(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let unusual =
        |flag: &&(&str, _, Option<&str>)| flag.0 == "target" && !flag.2.is_some_and(|name| among(TARGETS, name));
    match used.flags.iter().find(unusual) {
        Some((_, _, name)) => Err(CommandReason::MoreThanBuild(shown(name.unwrap_or_default()))),
        // `--target` takes several words, so that one behind the folder would be another target.
        None if used.operands.len() > 1 => Err(CommandReason::AnotherTarget(shown(used.operands[1]))),
        None if used.passed.is_empty() => Ok(()),
        None => Err(CommandReason::UnsafePassedOptions),
    }
}

/// Without a target `make` builds what the folder has first, which is the build.
fn builds_first(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let number = |target: &&str| target.bytes().all(|b| b.is_ascii_digit());
    if used.operands.iter().all(number) { Ok(()) } else { builds(used) }
}

/// The targets are named and usual ones: `make deploy` does more than build.
fn builds(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let number = |target: &str| target.bytes().all(|b| b.is_ascii_digit());
    let mut targets = used.operands.iter().filter(|target| !number(target)).peekable();
    if targets.peek().is_none() {
        return Err(CommandReason::UnknownTarget);
    }
    match targets.find(|target| !among(TARGETS, target)) {
        Some(target) => Err(CommandReason::MoreThanBuildAndCheck(shown(target))),
        None => Ok(()),
    }
}
