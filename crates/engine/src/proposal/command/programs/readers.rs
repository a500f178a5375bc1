//! Read-only programs for files, texts, and the machine.

use trimtab_vocab::wording::CommandReason;

use super::super::flags::{FlagStyle, Flags, SortedArguments};
use super::super::paths::readable;
use super::super::word::{among, shown};
use super::{KnownProgram, Operands, TableFinding};

pub(super) const fn row(
    name: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
) -> KnownProgram {
    KnownProgram { names: name, subs: &[], flags: Flags { style: FlagStyle::Gnu, short, long }, operands, check: None }
}

pub(super) const ROWS: &[KnownProgram] = &[
    row(
        &["ls"],
        "aAbBcCdfFgGhHiI%klLmnNopqQrRsStT+uUvw+xXZ1",
        "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type \
            format= full-time group-directories-first no-group human-readable si dereference-command-line hide=/ \
            hyperlink? indicator-style= inode ignore=/ kibibytes dereference numeric-uid-gid literal \
            hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= \
            time-style= tabsize=+ width=+ context zero version help",
        Operands::Read,
    ),
    row(&["pwd"], "LP", "logical physical version help", Operands::None),
    row(
        &["cat"],
        "AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting version help",
        Operands::Read,
    ),
    row(&["tac"], "br", "before regex", Operands::Read),
    row(&["head"], "#n+c+qvz", "lines=+ bytes=+ quiet silent verbose zero-terminated version help", Operands::Read),
    // `-f`, `-F` and `--follow` never end.
    row(&["tail"], "#n+c+qvz", "lines=+ bytes=+ quiet silent verbose zero-terminated version help", Operands::Read),
    row(
        &["grep", "egrep", "fgrep"],
        "#EFGPe/f@iyvwxcLlm+oqsbHhnTuUZzA+B+C+aD%d%rRI",
        "extended-regexp fixed-strings basic-regexp perl-regexp regexp=/ file=@ ignore-case no-ignore-case \
            invert-match word-regexp line-regexp count color? colour? files-without-match files-with-matches \
            max-count=+ only-matching quiet silent no-messages byte-offset with-filename no-filename label= \
            line-number initial-tab null null-data after-context=+ before-context=+ context=+ text binary-files= \
            devices=% directories=% exclude=/ exclude-from=@ exclude-dir=/ include= recursive dereference-recursive \
            line-buffered binary version help",
        Operands::Search,
    ),
    KnownProgram {
        // Not `--pre`, `--search-zip` and `--hostname-bin`, which start programs, nor `-L` and `-u`, which go far.
        names: &["rg"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "A+B+C+ce/f@Fg:hHiIlm+nNopqsSt%T%uUvVwxd+M+r/aP.0",
            long: "after-context=+ before-context=+ context=+ count count-matches regexp=/ file=@ fixed-strings glob= \
                iglob= hidden ignore-case files-with-matches files-without-match max-count=+ line-number \
                no-line-number only-matching quiet case-sensitive smart-case type= type-not= type-list multiline \
                invert-match word-regexp line-regexp max-depth=+ max-columns=+ replace=/ text pcre2 json files \
                stats trim vimgrep column color= heading no-heading sort= sortr= no-config no-filename \
                with-filename null max-filesize= no-messages no-ignore no-ignore-vcs unrestricted passthru \
                version help",
        },
        operands: Operands::Search,
        check: Some(rg_lists),
    },
    KnownProgram {
        names: &["echo", "true", "false", ":"],
        subs: &[],
        flags: Flags::TEXTS,
        operands: Operands::Text,
        check: None,
    },
    row(&["wc"], "clmwL", "bytes chars lines max-line-length words total= version help", Operands::Read),
    row(
        &["sort"],
        // Not `-o`, `-T`, `--compress-program` and `--files0-from`.
        "bcCdfghik:MnRrst:uVz",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort \
            ignore-nonprinting month-sort numeric-sort random-sort reverse sort= version-sort check? key= merge \
            stable field-separator= unique zero-terminated version help",
        Operands::Read,
    ),
    KnownProgram {
        // A second operand would be written.
        names: &["uniq"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "cdDf:is:uw:z",
            long: "count repeated ignore-case unique skip-fields= skip-chars= check-chars=",
        },
        operands: Operands::Read,
        check: Some(at_most_one),
    },
    row(
        &["cut"],
        "b:c:d:f:nsz",
        "bytes= characters= delimiter= fields= only-delimited complement output-delimiter=",
        Operands::Read,
    ),
    row(&["tr"], "cCdst", "complement delete squeeze-repeats truncate-set1", Operands::Text),
    row(
        &["nl"],
        "b:d:f:h:i+l+n%ps:v+w+",
        "body-numbering= number-format=% number-separator= number-width=+",
        Operands::Read,
    ),
    row(&["rev"], "", "", Operands::Read),
    row(&["fold"], "bsw+", "bytes spaces width=+", Operands::Read),
    row(&["expand", "unexpand"], "it+", "initial tabs=+", Operands::Read),
    row(&["fmt"], "csuw+", "width=+", Operands::Read),
    row(&["column"], "tns:c+xo:N:R:", "table separator= output-separator= fillrows", Operands::Read),
    row(&["paste"], "d:sz", "delimiters= serial zero-terminated", Operands::Read),
    row(&["comm"], "123z", "check-order nocheck-order output-delimiter= total zero-terminated", Operands::Read),
    row(&["join"], "it:1+2+j+a+v+o:e:", "ignore-case header", Operands::Read),
    row(&["basename", "dirname"], "azs:", "multiple suffix= zero", Operands::Text),
    row(
        &["realpath", "readlink"],
        "femnqsvzLP",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent strip no-symlinks logical \
            physical relative-to=@ relative-base=@ zero",
        Operands::Read,
    ),
    row(&["stat"], "Lc:ft", "dereference format= printf= terse file-system", Operands::Read),
    // Not `-f`, `-m`, and `-C`, which read and write other files, nor `-z`, which unpacks.
    row(&["file"], "bihLk", "brief mime mime-type mime-encoding no-dereference", Operands::Read),
    row(
        &["od"],
        "A%t%cdxobN+j+vw?",
        "address-radix=% format=% read-bytes=+ skip-bytes=+ output-duplicates",
        Operands::Read,
    ),
    row(&["hexdump"], "Cbcdoxvn+s+", "canonical length=+ skip=+ no-squeezing", Operands::Read),
    KnownProgram {
        // A second operand would be written, and `-r` would write it backwards.
        names: &["xxd"],
        subs: &[],
        flags: Flags { style: FlagStyle::Separate, short: "pubic+g+l+s+", long: "" },
        operands: Operands::Read,
        check: Some(at_most_one),
    },
    row(
        &["du"],
        "abcd+hkmsSPx",
        "all bytes total max-depth=+ human-readable summarize exclude=/ apparent-size si separate-dirs",
        Operands::Read,
    ),
    row(&["df"], "ahHiklPTx:t:", "all human-readable inodes local total print-type", Operands::Read),
    row(
        &["diff"],
        "abBcdEiNpqrstTuU+wyC+I/x/W+",
        "brief unified? context? side-by-side recursive new-file ignore-case ignore-all-space \
            ignore-blank-lines color? stat exclude=/ width= report-identical-files strip-trailing-cr \
            ignore-space-change ignore-trailing-space minimal text suppress-common-lines",
        Operands::Read,
    ),
    row(&["cmp"], "bi:ln:s", "print-bytes verbose silent quiet", Operands::Read),
    row(
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum"],
        "btz",
        "binary text tag zero",
        Operands::Read,
    ),
    KnownProgram {
        names: &["tree"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::NextWord,
            short: "adfL+I/P:hpsugDFCnrtvxiASqNJ",
            long: "noreport dirsfirst gitignore filelimit=+ prune du si matchdirs ignore-case",
        },
        operands: Operands::Read,
        check: None,
    },
    KnownProgram {
        // An operand, as well as `-s`, would set the clock.
        names: &["date"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "uRI?d:r@",
            long: "utc universal rfc-email rfc-3339= iso-8601? date= reference=@",
        },
        operands: Operands::Text,
        check: Some(only_formats),
    },
    row(&["which", "type"], "a", "all", Operands::Text),
    row(&["whoami", "nproc", "arch", "tty", "logname", "groups"], "", "all", Operands::None),
    row(&["strings"], "an+t%", "all bytes=+ radix=%", Operands::Read),
    row(&["base64", "base32"], "diw+", "decode ignore-garbage wrap=+", Operands::Read),
    row(&["zcat", "bzcat", "xzcat"], "", "", Operands::Read),
    KnownProgram {
        // `host:file` would be fetched from that host by another program.
        names: &["tar"],
        subs: &[],
        flags: Flags { style: FlagStyle::Gnu, short: "tvf@zjJ", long: "list verbose file=@ gzip bzip2 xz" },
        operands: Operands::Text,
        check: Some(lists_archive),
    },
    KnownProgram {
        names: &["unzip"],
        subs: &[],
        flags: Flags { style: FlagStyle::Separate, short: "lv", long: "" },
        operands: Operands::Read,
        check: Some(lists_archive),
    },
    row(&["free"], "bkmght", "human mega giga total", Operands::None),
    row(&["uptime"], "ps", "pretty since", Operands::None),
    row(&["uname"], "asnrvmpio", "all", Operands::None),
    // Its other flags ask a name server.
    row(&["hostname"], "s", "short", Operands::None),
    row(&["id"], "ugGnr", "", Operands::None),
    row(&["seq"], "s:w", "", Operands::Text),
    KnownProgram {
        // Its language can show the environment and read other files.
        names: &["jq"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "rcnesSjaCM",
            long: "raw-output compact-output null-input exit-status slurp sort-keys tab indent=+ color-output \
                monochrome-output",
        },
        operands: Operands::Search,
        check: Some(only_filters),
    },
    KnownProgram {
        // Not `-x`, `-X` and `-l`, which start programs, nor `-L` and what names another place.
        names: &["fd", "fdfind"],
        subs: &[],
        flags: Flags {
            style: FlagStyle::Gnu,
            short: "HIsigFpae:t%d+E/01u",
            long: "hidden no-ignore case-sensitive ignore-case glob fixed-strings full-path absolute-path extension= \
                type=% max-depth=+ min-depth=+ exclude=/ print0 max-results=+ size= changed-within= changed-before= \
                unrestricted color=%",
        },
        operands: Operands::Search,
        check: None,
    },
    // Their expressions are checked word by word elsewhere.
    row(&["test", "["], "", "", Operands::None),
];

fn lists_archive(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    if used.flags.iter().any(|(_, _, given)| given.is_some_and(|file| file.contains(':'))) {
        return Err(CommandReason::RemoteArchive);
    }
    if used.has(&["t", "l", "list"]) { Ok(()) } else { Err(CommandReason::MoreThanListing) }
}

fn rg_lists(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    // With `--files` the first operand is a place to look in and not a pattern.
    if used.has(&["files", "type-list"])
        && used.operands.iter().any(|path| path.starts_with(['/', '~']) || path.contains(".."))
    {
        return Err(CommandReason::ListsOutside);
    }
    Ok(())
}

fn only_filters(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    let filter = used.operands.first().map(|filter| filter.to_lowercase()).unwrap_or_default();
    match ["env", "input", "import", "include", "repeat", "while", "until", "recurse(", "def "]
        .iter()
        .find(|word| filter.contains(**word))
    {
        Some(word) => Err(CommandReason::OpenFilter((*word).into())),
        None => Ok(()),
    }
}

pub(super) fn at_most_one(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    if used.operands.len() > 1 { Err(CommandReason::OutputFile) } else { Ok(()) }
}

fn only_formats(used: &SortedArguments<'_>) -> Result<(), CommandReason> {
    match used.operands.iter().find(|operand| !operand.starts_with('+')) {
        Some(operand) => Err(CommandReason::SetsClock(shown(operand))),
        None => Ok(()),
    }
}

/// Predicates of `find` without a value.
const FIND_FLAGS: &str = "-empty -depth -d -prune -print -print0 -ls -o -or -a -and -not ! ( ) , -true -false -readable -writable \
    -executable -quit -daystart -xdev -mount -nouser -nogroup -noleaf -warn -nowarn -H -P -version --version \
    -help --help";
/// Predicates whose value is a text or a number.
const FIND_TEXTS: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -xtype -size \
    -mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -printf \
    -fstype -used -newermt -newerct -newerat";
/// Predicates whose value is a file that is read.
const FIND_PATHS: &str = "-newer -anewer -cnewer -samefile";

/// Programs that are read-only with any arguments, so that unknown words may follow.
const WHATEVER: &str = "cat head tail wc grep egrep fgrep ls stat du basename dirname realpath readlink cut nl od echo \
    strings md5sum sha1sum sha256sum";

/// Whether a program is read-only with any arguments.
pub(super) fn looks_at_anything(program: &str) -> bool {
    among(WHATEVER, program)
}

/// Whether a command only looks at the files that `find` puts in the place of `{}`: any number of paths, none of which
/// begins with `-`.
fn looks_at_found(command: &[&str], folder: &str) -> bool {
    let whole = |word: &&&str| **word != "{}" && word.contains("{}");
    if command.iter().any(|word| whole(&word)) {
        return false;
    }
    let found = ["./found", "./found too", "./found as well"];
    let words = command.iter().flat_map(|word| if *word == "{}" { &found[..] } else { std::slice::from_ref(word) });
    let argv: Vec<String> = words.map(|word| (*word).to_owned()).collect();
    argv.first().is_some_and(|name| name != "find") && super::only_looks(&argv, folder)
}

/// `xargs` with a program that is read-only with any input. Without a program it is `echo`.
pub(super) fn xargs(args: &[String], folder: &str) -> Result<(), CommandReason> {
    const OWN: Flags = Flags { style: FlagStyle::Gnu, short: "0rtn+L+P+I:", long: "null no-run-if-empty max-args=+" };
    let mut at = 0;
    while args.get(at).is_some_and(|arg| arg.starts_with('-')) {
        // Only a complete flag, or one with its value in the next word, so that the command is found reliably.
        let takes_next = matches!(args[at].as_str(), "-n" | "-L" | "-P" | "-I" | "--max-args");
        at += 1 + usize::from(takes_next);
    }
    let (own, command) = args.split_at(at.min(args.len()));
    OWN.sort("xargs", own)?;
    let Some(program) = command.first() else { return Ok(()) };
    if looks_at_anything(program) && super::only_looks(command, folder) {
        return Ok(());
    }
    Err(CommandReason::XargsRuns(shown(program)))
}

/// `find` has its own language: places first, then an expression.
pub(super) fn find(args: &[String], folder: &str) -> TableFinding {
    let mut begun = false;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if among(FIND_FLAGS, arg) {
            begun |= !matches!(arg, "-H" | "-P");
            continue;
        }
        let texts = among(FIND_TEXTS, arg);
        if texts || among(FIND_PATHS, arg) {
            begun = true;
            let Some(value) = args.next() else { return TableFinding::Unsafe(CommandReason::MissingValue(arg.into())) };
            if let Some(reason) = (!texts).then(|| readable(value, folder).err()).flatten() {
                return TableFinding::Unsafe(reason);
            }
            continue;
        }
        if arg == "-delete" {
            return TableFinding::Never(CommandReason::FindDeletes);
        }
        if matches!(arg, "-exec" | "-execdir") {
            let command: Vec<&str> = args.by_ref().take_while(|word| !matches!(*word, ";" | "+")).collect();
            if !looks_at_found(&command, folder) {
                return TableFinding::Never(CommandReason::FindRuns(arg.into(), shown(&command.join(" "))));
            }
            begun = true;
            continue;
        }
        if matches!(arg, "-ok" | "-okdir") {
            return TableFinding::Never(CommandReason::FindRunsEach(arg.into()));
        }
        if arg.starts_with('-') || begun {
            return TableFinding::Unsafe(CommandReason::UnsafeFor(shown(arg), "find".into()));
        }
        if let Err(reason) = readable(arg, folder) {
            return TableFinding::Unsafe(reason);
        }
    }
    TableFinding::Safe
}
