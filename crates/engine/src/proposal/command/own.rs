//! Trimtab's own resources: its settings, rules, log, secrets, port, and program.

use trimtab_vocab::wording::CommandReason;

use super::Policy;
use super::paths::{resolve, within_any_case};
use super::refuse::{CommandRefusal, RunPlace};
use super::wipe::is_disk;
use super::word::{Word, among, shown};

/// The folder in a project that holds its rules and settings.
const IN_FOLDER: &str = ".trimtab";

/// Whether a path is one of the product's own.
pub(super) fn is_own(path: &str, policy: &Policy) -> bool {
    let folder = resolve(&policy.folder, "/");
    let inside = folder != "/" && within_any_case(path, &folder);
    // Where the folder itself lies says nothing about what is in it: the demonstration lives in our data.
    let told = if inside { path.get(folder.len()..).unwrap_or(path) } else { path };
    told.split('/').any(|name| name.eq_ignore_ascii_case(IN_FOLDER))
        || policy.own.iter().filter(|own| !own.is_empty()).any(|own| {
            let own = resolve(own, "/");
            within_any_case(path, &own) && !(inside && within_any_case(&folder, &own))
        })
}

/// Whether a path holds one of them, so that it goes when the path goes.
fn holds_own(path: &str, policy: &Policy) -> bool {
    policy.own.iter().any(|own| !own.is_empty() && within_any_case(&resolve(own, "/"), path))
}

fn refused(what: &str) -> CommandRefusal {
    CommandRefusal::new("own-files", CommandReason::OwnFiles(shown(what)))
}

/// A redirection into what is ours, onto a disk, or to our port.
pub(super) fn redirected(target: &Word, writes: bool, place: &RunPlace) -> Option<CommandRefusal> {
    if let Some(address) = target.text.strip_prefix("/dev/tcp/").or_else(|| target.text.strip_prefix("/dev/udp/"))
        && let Some((host, port)) = address.split_once('/')
        && is_here(host)
        && place.policy.ports.iter().any(|own| own.to_string() == port)
    {
        return Some(at_port(&target.text));
    }
    let path = place.path(&target.text)?;
    if !writes {
        return None;
    }
    if is_disk(&path) {
        return Some(CommandRefusal::new("wipe", CommandReason::OverwritesDisk(shown(&path))));
    }
    is_own(&path, place.policy).then(|| refused(&target.text))
}

/// Programs for which every operand is changed.
const CHANGES: &str = "rm grm srm rmdir unlink shred mv ln link tee touch mkdir truncate chmod chown chgrp chattr setfacl patch ed \
    ex vi vim nvim nano pico emacs micro sponge mkfifo mknod rimraf trash fallocate split csplit ldapmodify \
    xattr";
/// Programs for which the last operand is.
const COPIES: &[&str] = &["cp", "gcp", "install", "rsync", "scp", "ditto"];
const GIT_CHANGES: &[&str] = &["checkout", "restore", "rm", "mv", "clean", "apply"];

/// A command that changes what is ours.
pub(super) fn changed(name: &str, words: &[Word], place: &RunPlace) -> Option<CommandRefusal> {
    let rest = &words[1..];
    let ours = |text: &str| place.path(text).is_some_and(|path| is_own(&path, place.policy));
    let any_ours = |words: &[Word]| {
        words
            .iter()
            .find(|word| ours(&word.text) || (word.pattern && covers(word, place)))
            .map(|word| refused(&word.text))
    };
    let flagged = |names: &[&str]| rest.iter().any(|word| names.iter().any(|name| word.text.starts_with(name)));
    // In any program, the word after `-o` or `--output=` gets written.
    let output = rest.iter().enumerate().find_map(|(at, word)| {
        let text = word.text.as_str();
        let value = match text {
            "-o" | "-O" | "--output" | "--out" | "--outfile" | "--output-document" | "--log-file" => {
                rest.get(at + 1)?.text.as_str()
            }
            _ => text
                .split_once('=')
                .filter(|(flag, _)| flag.starts_with("--out") || *flag == "of")
                .map(|(_, value)| value)
                .or_else(|| text.strip_prefix("-o"))?,
        };
        ours(value).then(|| refused(value))
    });
    if output.is_some() {
        return output;
    }
    match name {
        name if among(CHANGES, name) => any_ours(rest).or_else(|| {
            // Trees that hold what is ours go with it; the target of a move is not moved.
            let recursive = |word: &Word| word.text.starts_with('-') && word.text.contains(['r', 'R']);
            let into = rest.iter().any(|word| matches!(word.text.as_str(), "-t" | "--target-directory"));
            let trees = match name {
                "mv" if into => &[],
                "mv" => &rest[..rest.len().saturating_sub(1)],
                "rm" if rest.iter().any(recursive) => rest,
                _ => &[],
            };
            let holds = |word: &&Word| place.path(&word.text).is_some_and(|path| holds_own(&path, place.policy));
            trees
                .iter()
                .filter(|word| !word.text.starts_with('-') && !word.pattern)
                .find(holds)
                .map(|word| refused(&word.text))
        }),
        name if COPIES.contains(&name) => any_ours(&rest[rest.len().saturating_sub(1)..]).or_else(|| {
            let at = rest.iter().position(|word| word.text == "-t")?;
            any_ours(rest.get(at + 1..at + 2)?)
        }),
        "sed" | "gsed" | "perl" | "ruby" | "yq" => {
            if flagged(&["-i", "--in-place", "-pi", "-ni"]) {
                any_ours(rest)
            } else {
                None
            }
        }
        "awk" | "gawk" => {
            if flagged(&["inplace"]) {
                any_ours(rest)
            } else {
                None
            }
        }
        "prettier" | "black" | "rustfmt" | "gofmt" => {
            if flagged(&["--write", "-w"]) {
                any_ours(rest)
            } else {
                None
            }
        }
        "git" => rest.iter().any(|word| GIT_CHANGES.contains(&word.text.as_str())).then(|| any_ours(rest)).flatten(),
        "find" | "gfind" => {
            if flagged(&["-delete"]) {
                any_ours(rest)
            } else {
                None
            }
        }
        "tar" | "unzip" | "bsdtar" => rest
            .iter()
            .position(|word| matches!(word.text.as_str(), "-C" | "-d"))
            .and_then(|at| any_ours(rest.get(at + 1..at + 2)?)),
        "sqlite3" | "sqlite" => {
            let sql = rest.iter().map(|word| word.text.to_lowercase()).collect::<Vec<_>>().join(" ");
            let alters = [
                "update", "delete", "insert", "drop", "alter", "replace", "create", "vacuum", "pragma", ".restore",
                ".import",
            ];
            if alters.iter().any(|word| sql.contains(word)) { any_ours(rest) } else { None }
        }
        _ => None,
    }
}

/// Whether a pattern's own text can grow into one of our paths, for the plain case of one `*` at its end.
fn covers(word: &Word, place: &RunPlace) -> bool {
    let Some(start) = word.text.strip_suffix('*').filter(|start| !start.contains(['*', '?', '['])) else {
        return false;
    };
    let (above, last) = start.rsplit_once('/').unwrap_or((".", start));
    let Some(above) = place.path(if above.is_empty() { "/" } else { above }) else { return false };
    let names_it =
        |own: &str| own.rsplit_once('/').is_some_and(|(folder, name)| folder == above && name.starts_with(last));
    let in_folder = above == resolve(&place.policy.folder, "/") && last.starts_with('.') && last.len() > 1;
    (in_folder && IN_FOLDER.starts_with(last)) || (!last.is_empty() && place.policy.own.iter().any(|own| names_it(own)))
}

/// Whether a host name is this machine.
fn is_here(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_lowercase();
    matches!(
        host.as_str(),
        "localhost"
            | "::1"
            | "::"
            | "0.0.0.0"
            | "0"
            | "ip6-localhost"
            | "localhost.localdomain"
            | "2130706433"
            | "0x7f000001"
            | "0x7f.1"
            | "017700000001"
            | "0:0:0:0:0:0:0:1"
    ) || host.ends_with(".localhost")
        || host
            .rsplit(':')
            .next()
            .is_some_and(|v4| v4.starts_with("127.") || v4.starts_with("0177.") || v4.starts_with("0x7f."))
        || host == "127"
}

fn at_port(what: &str) -> CommandRefusal {
    CommandRefusal::new("own-port", CommandReason::OwnPort(shown(what)))
}

/// Whether a text is an address on one of our ports: `host:port`, with or without a scheme, user and path.
fn names_port(text: &str, policy: &Policy) -> bool {
    let address = text.split_once("://").map_or(text, |(_, rest)| rest);
    let address = address.split(['/', '?', '#']).next().unwrap_or_default();
    let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    // `socat TCP:localhost:7420` has words before the host.
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let host = if host.starts_with('[') { host } else { host.rsplit(':').next().unwrap_or(host) };
    let port = port.split(',').next().unwrap_or(port);
    is_here(host) && policy.ports.iter().any(|own| port.parse() == Ok(*own))
}

/// Programs whose arguments are texts to them, not addresses.
const TEXTS: &str = "echo printf grep egrep fgrep rg ag ack sed awk gawk jq git cat ls test [ export tee find cargo true false : \
    expr basename dirname cut tr seq gh";

/// A command that talks to our port.
pub(super) fn addressed(name: &str, words: &[Word], policy: &Policy) -> Option<CommandRefusal> {
    let rest = &words[1..];
    let talks = name != "git"
        || rest
            .iter()
            .any(|word| matches!(word.text.as_str(), "clone" | "fetch" | "pull" | "push" | "ls-remote" | "remote"));
    if among(TEXTS, name) && (name != "git" || !talks) {
        return None;
    }
    for (at, word) in rest.iter().enumerate() {
        let text = word.text.as_str();
        let value = text.split_once('=').filter(|(flag, _)| flag.starts_with('-')).map_or(text, |(_, value)| value);
        if names_port(value, policy) {
            return Some(at_port(value));
        }
        let port = |text: &str| policy.ports.iter().any(|own| text.parse() == Ok(*own));
        let apart = matches!(name, "nc" | "ncat" | "netcat" | "telnet" | "socat" | "nmap");
        if apart && is_here(text) && rest[at + 1..].iter().any(|word| port(&word.text)) {
            return Some(at_port(text));
        }
        let short = matches!(name, "http" | "https" | "xh" | "xhs")
            && text.strip_prefix(':').is_some_and(|rest| port(rest.split('/').next().unwrap_or(rest)));
        if short {
            return Some(at_port(text));
        }
    }
    None
}

/// Our own program, asked to answer in the user's place or to lose what it knows.
pub(super) fn ourselves(name: &str, words: &[Word]) -> Option<CommandRefusal> {
    if name != "trimtab" {
        return None;
    }
    let rest: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
    let answers = rest.contains(&"answer");
    let deletes = rest.contains(&"sessions") && rest.contains(&"delete");
    let only_explains = rest.first() == Some(&"check-command");
    let raises = |word: &&str| word.starts_with("--autonomy") && !only_explains;
    let approves = rest.iter().any(|word| word.starts_with("--approve") || *word == "--trust" || raises(word));
    // A rule or setting that the command itself adds would allow anything that follows.
    let verb = |of: &[&str]| rest.iter().any(|word| of.contains(word));
    let alters = (rest.contains(&"rules") && verb(&["add", "remove"]))
        || rest.contains(&"trust")
        || (rest.contains(&"control") && rest.contains(&"autonomy"))
        || (rest.contains(&"token") && verb(&["add", "login", "revoke"]))
        || (rest.contains(&"mcp") && verb(&["add", "remove", "enable", "disable", "login", "logout", "import"]))
        || (rest.contains(&"hooks") && verb(&["enable", "disable"]))
        || (rest.contains(&"import") && !rest.contains(&"--dry-run"))
        || (rest.contains(&"memory") && verb(&["add", "edit", "delete"]))
        || (rest.contains(&"config") && verb(&["set", "unset", "add", "remove", "edit", "reset"]));
    if alters {
        return Some(CommandRefusal::new("own-settings", CommandReason::OwnSettings));
    }
    // As a command of the user's, it starts servers and calls their tools without a question; and whoever talks to it as an
    // editor or as a browser answers its questions.
    let calls = (rest.contains(&"mcp") && verb(&["call", "tools", "doctor", "serve"]))
        || matches!(rest.first(), Some(&("acp" | "serve")));
    (answers || deletes || approves || calls).then(|| CommandRefusal::new("own-answers", CommandReason::OwnAnswers))
}

/// A program text that names what is ours and has the means to change it.
pub(super) fn code(code: &str, literals: &[String], place: &RunPlace) -> Option<CommandRefusal> {
    const WRITES: &[&str] = &[
        "write", "'w", "\"w", "'a'", "\"a\"", "unlink", "remove", "rmtree", "rename", "rmSync", "append", "delete",
        "> ", "truncate", "copy", "system", "exec",
    ];
    if let Some(literal) = literals.iter().find(|literal| names_port(literal, place.policy)) {
        return Some(at_port(literal));
    }
    let numbered = |port: &u16| code.contains(&port.to_string()) && literals.iter().any(|literal| is_here(literal));
    if place.policy.ports.iter().any(numbered) {
        return Some(at_port("localhost"));
    }
    if !WRITES.iter().any(|call| code.contains(call)) {
        return None;
    }
    let home = resolve(&place.policy.home, "/");
    literals
        .iter()
        .find(|literal| {
            let text = literal.strip_prefix('~').map_or_else(|| (*literal).clone(), |rest| format!("{home}{rest}"));
            !text.contains(' ') && place.path(&text).is_some_and(|path| is_own(&path, place.policy))
        })
        .map(|literal| refused(literal))
}
