//! Commands: which run automatically, which ask, and which are denied.
//!
//! A line runs automatically only if the exact words of each part are known, each part begins with an allowed prefix,
//! uses only flags and operands that the program's table knows to be safe, and stays in the folder. It is refused
//! only for what no request needs. Everything else asks, and the reason names the part.
//!
//! `strange` checks the characters of a line, `read` splits it into parts and words, `refuse` looks for what is
//! refused, `rules` matches prefixes, and `programs` knows flags and operands.

mod defaults;
mod deletes;
mod flags;
mod held;
mod open;
mod own;
mod paths;
mod programs;
mod read;
mod refuse;
mod rules;
mod strange;
mod wipe;
mod word;
mod wrap;

pub use defaults::{default_allow, usual_allow};
pub use deletes::deletes;
pub use held::unheld;
pub use trimtab_vocab::visible::spelled as visible;

use trimtab_vocab::wording::CommandReason;

use serde::Serialize;

use programs::TableFinding;
use read::{CommandLine, Join, SimpleCommand};
use trimtab_vocab::CommandClass;
pub use trimtab_vocab::checkpoint::CommandDecision;
use word::{WordFill, shown};

/// The decision on a line, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandVerdict {
    /// What happens.
    pub decision: CommandDecision,
    /// Why, in a sentence that names the part.
    pub reason: CommandReason,
    /// The rule that decided: the allowed prefixes, or what refused it.
    pub rule: Option<String>,
    /// Its class, if it runs without a question.
    #[serde(skip)]
    pub class: CommandClass,
    /// The exact words of each part, when they are known.
    #[serde(skip)]
    pub argv: Option<Vec<Vec<String>>>,
    /// The words of each part as they were judged: a glob stands as paths that it could become.
    #[serde(skip)]
    pub words: Vec<Vec<String>>,
    /// Files that each of these parts reads through a `<`, without naming them as arguments.
    #[serde(skip)]
    pub reads: Vec<Vec<String>>,
    /// The words to run without a shell: there is one part, and nothing in it is the shell's business.
    #[serde(skip)]
    pub direct: Option<Vec<String>>,
    /// The line that runs instead without approval: no glob in it becomes an option.
    #[serde(skip)]
    pub rewritten: Option<String>,
    /// The globs that the shell expands, each with the folder that it is expanded in.
    #[serde(skip)]
    pub globs: Vec<(String, String)>,
    /// The folders that git is started in; none if it is not started.
    #[serde(skip)]
    pub git_folders: Vec<String>,
}

/// The policy for a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Prefixes that may run automatically, as far as the programs' tables allow.
    pub allow: Vec<String>,
    /// Whether that list is the default: then read-only programs and the usual checks run as well.
    pub usual: bool,
    /// Prefixes that always ask.
    pub ask: Vec<String>,
    /// Prefixes that are refused.
    pub deny: Vec<String>,
    /// The folder that commands run in and stay in: an absolute path.
    pub folder: String,
    /// The user's home: an absolute path.
    pub home: String,
    /// The product's own settings and data: absolute paths. A `.trimtab` anywhere is its own in any case.
    pub own: Vec<String>,
    /// The ports that the product listens on.
    pub ports: Vec<u16>,
    /// Whether commands run in the sandbox. Outside it, nothing runs automatically.
    pub sandboxed: bool,
    /// Whether a rule vouches for flags and operands that no table knows to be safe. It changes nothing about the
    /// reading of a line: each part must match, its words must be known, it must stay in the folder, and what is
    /// never safe or deletes still asks.
    pub plain: bool,
}

impl Policy {
    /// The documented defaults for a folder.
    pub fn new(folder: impl Into<String>, home: impl Into<String>) -> Self {
        let home = home.into();
        let usual = [".config", ".local/share", ".local/state", "Library/Application Support"];
        Self {
            allow: default_allow().iter().map(|prefix| (*prefix).to_owned()).collect(),
            usual: true,
            ask: Vec::new(),
            deny: Vec::new(),
            folder: folder.into(),
            own: usual.iter().map(|place| paths::resolve(&format!("{place}/trimtab"), &home)).collect(),
            home,
            ports: vec![7420],
            sandboxed: true,
            plain: false,
        }
    }

    /// The same with a list from the settings, which replaces the default.
    #[must_use]
    pub fn only(self, allow: Vec<String>) -> Self {
        Self { allow, usual: false, ..self }
    }
}

/// Longer lines ask, because no user reads them completely.
const LONGEST: usize = 16 * 1024;
/// Longer ones are not even looked at for a refusal.
const LONGEST_COMMAND: usize = 64 * 1024;
/// Builtins that only a shell can run.
const ONLY_IN_SHELL: &[&str] = &[
    "cd", "pushd", "popd", "export", "unset", "set", "shopt", "alias", "unalias", "source", ".", "eval", "exec",
    "trap", "type", "command", "builtin", "read", "local", "declare", "typeset", "readonly", "let", "jobs", "wait",
    "fg", "bg", "disown", "umask", "ulimit", "hash", "history", "return", "exit", "shift", "getopts", ":",
];

/// Decides on a command line.
pub fn judge(line: &str, policy: &Policy) -> CommandVerdict {
    let ask = |reason: CommandReason| CommandVerdict {
        decision: CommandDecision::Ask,
        reason,
        rule: None,
        class: CommandClass::Check,
        argv: None,
        words: Vec::new(),
        reads: Vec::new(),
        direct: None,
        rewritten: None,
        globs: Vec::new(),
        git_folders: Vec::new(),
    };
    if line.len() > LONGEST_COMMAND {
        return ask(CommandReason::TooLong(LONGEST_COMMAND));
    }
    let reading = read::read(line, &policy.home, &policy.folder);
    if let Some(refusal) = refuse::refusal(line, &reading.parts, policy) {
        return CommandVerdict { decision: CommandDecision::Deny, rule: Some(refusal.rule), ..ask(refusal.reason) };
    }
    if line.len() > LONGEST {
        return ask(CommandReason::TooLong(LONGEST));
    }
    if let Some(reason) = strange::strange(line).or_else(|| reading.trouble.clone()) {
        return ask(reason);
    }
    if reading.parts.is_empty() {
        return ask(CommandReason::NoCommand);
    }
    // Nothing was in trouble, so every word is known or bounded; should that ever be untrue, it asks.
    let mut words = reading.parts.iter().flat_map(|part| &part.words);
    if words.any(|word| !word.known && (word.fill == WordFill::None || reading.open.is_none())) {
        return ask(CommandReason::UnknownArgument);
    }
    let parts: Vec<Vec<String>> = reading.parts.iter().map(open::sample).collect();
    let read = |part: &SimpleCommand| {
        let targets = part.redirects.iter().filter(|redirect| !redirect.writes);
        targets.map(|redirect| redirect.target.text.clone()).collect()
    };
    let places = places(&parts, &reading.parts, policy);
    let git_folders = git_folders(&parts, &places);
    let globs = open::globs(&reading.parts, &places);
    let direct = direct(&reading, &parts);
    let reads = reading.parts.iter().map(read).collect();
    let argv = reading.open.is_none().then(|| parts.clone());
    let known = CommandVerdict {
        argv,
        words: parts.clone(),
        reads,
        direct,
        git_folders,
        globs,
        ..ask(CommandReason::SandboxOff)
    };
    if !policy.sandboxed {
        return known;
    }
    let mut used: Vec<&str> = Vec::new();
    let mut class = CommandClass::Read;
    for ((argv, part), place) in parts.iter().zip(&reading.parts).zip(&places) {
        match allowed(argv, part, place, policy) {
            Ok(rule) if !used.contains(&rule) => used.push(rule),
            Ok(_) => {}
            Err((reason, rule)) => return CommandVerdict { reason: reason.for_line(line), rule, ..known },
        }
        if !only_reads(argv, place, policy) {
            class = CommandClass::Check;
        }
    }
    if let Some(reason) = open::reason(&reading, &parts, class) {
        return CommandVerdict { reason, ..known };
    }
    let rule = used.join(", ");
    let known = CommandVerdict { class, rewritten: reading.rewritten, ..known };
    CommandVerdict {
        decision: CommandDecision::Auto,
        reason: CommandReason::AllowedBy(shown(&rule)),
        rule: Some(rule),
        ..known
    }
}

/// Where each part runs. Should a `cd` fail, that is further up: what stays below here stays in the folder, too.
fn places(argv: &[Vec<String>], parts: &[SimpleCommand], policy: &Policy) -> Vec<String> {
    let mut place = policy.folder.clone();
    let mut places = Vec::with_capacity(parts.len());
    for (argv, part) in argv.iter().zip(parts) {
        places.push(place.clone());
        // What is changed inside of a substitution ends with it, but its paths were judged from there.
        if let [cd, to] = argv.as_slice()
            && cd == "cd"
            && part.depth == 0
        {
            place = paths::resolve(to, &place);
        }
    }
    places
}

/// The folders that git may be started in: also behind `timeout 60`, and a file of that name does no harm.
fn git_folders(argv: &[Vec<String>], places: &[String]) -> Vec<String> {
    if !argv.iter().flatten().any(|word| word == "git") {
        return Vec::new();
    }
    // Where a `cd` fails, the next part runs further up.
    let mut folders = places.to_vec();
    folders.sort();
    folders.dedup();
    folders
}

/// Whether a part, its words known, only looks.
fn only_reads(argv: &[String], place: &str, policy: &Policy) -> bool {
    let whole = without_show(argv);
    programs::only_looks(if policy.usual { without_limit(&whole) } else { &whole }, place)
}

/// Whether a line is known to change no file: each part is a program that only looks, used as its table has it,
/// whether or not it may run without a question. When in doubt, it may change some.
pub fn only_looks(line: &str, policy: &Policy) -> bool {
    if line.len() > LONGEST || strange::strange(line).is_some() {
        return false;
    }
    let reading = read::read(line, &policy.home, &policy.folder);
    let known =
        |part: &SimpleCommand| part.words.iter().all(|word| word.known) && part.redirects.iter().all(|to| !to.writes);
    if reading.trouble.is_some() || reading.parts.is_empty() || !reading.parts.iter().all(known) {
        return false;
    }
    let parts: Vec<Vec<String>> = reading.parts.iter().map(open::sample).collect();
    let places = places(&parts, &reading.parts, policy);
    parts.iter().zip(&places).all(|(argv, place)| only_reads(argv, place, policy))
}

/// The words that a rule for every safe use of this line's program begins with: the program, and the subcommand that a
/// table is for. None if a part of the line is not used as its table has it, if the parts differ, or if the words do not
/// say what runs.
pub fn safe_prefix(line: &str, policy: &Policy) -> Option<String> {
    if line.len() > LONGEST || strange::strange(line).is_some() {
        return None;
    }
    let reading = read::read(line, &policy.home, &policy.folder);
    let is_plain = |part: &SimpleCommand| {
        part.words.iter().all(|word| word.known) && part.redirects.is_empty() && !part.redirected
    };
    let is_known = reading.trouble.is_none() && reading.open.is_none() && reading.rewritten.is_none();
    if !is_known || !reading.parts.iter().all(is_plain) {
        return None;
    }
    let parts: Vec<Vec<String>> = reading.parts.iter().map(open::sample).collect();
    let places = places(&parts, &reading.parts, policy);
    let mut stems = parts.iter().zip(&places).map(|(argv, place)| programs::safe_prefix(argv, place));
    let first = stems.next()??;
    stems.all(|stem| stem.as_ref() == Some(&first)).then_some(first)
}

/// How many words of a rule the words of a command begin with; none if they do not.
pub(crate) fn begins(rule: &str, argv: &[&str]) -> Option<usize> {
    rules::begins(rule, argv)
}

/// A git command that shows differences without external programs that a repository names, and without looking into
/// submodules, which have their own settings.
pub(crate) fn shown_by_git(mut argv: Vec<String>) -> Vec<String> {
    let shown = argv.iter().skip(1).take_while(|word| word.starts_with('-')).count() + 1;
    let flags: &[&str] = match argv.get(shown).map(String::as_str) {
        Some("diff" | "log" | "show") => &["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"],
        Some("status") => &["--ignore-submodules=dirty"],
        _ => &[],
    };
    argv.splice((shown + 1).min(argv.len())..(shown + 1).min(argv.len()), flags.iter().map(|flag| (*flag).to_owned()));
    argv
}

/// The words to run without a shell.
fn direct(reading: &CommandLine, argv: &[Vec<String>]) -> Option<Vec<String>> {
    if reading.in_shell || reading.rewritten.is_some() {
        return None;
    }
    match (reading.parts.as_slice(), argv) {
        ([part], [argv]) if !part.redirected && !ONLY_IN_SHELL.contains(&argv.first()?.as_str()) => Some(argv.clone()),
        _ => None,
    }
}

/// The rule that allows one part in this place, or the reason why it asks with the rule.
fn allowed<'p>(
    argv: &[String],
    part: &SimpleCommand,
    place: &str,
    policy: &'p Policy,
) -> Result<&'p str, (CommandReason, Option<String>)> {
    let whole = without_show(argv);
    let argv = if policy.usual { without_limit(&whole) } else { &whole };
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let called = shown(&words.join(" "));
    let asked = |words: &[&str]| rules::matching(&policy.ask, words);
    if let Some(rule) = asked(&words).or_else(|| asked(&whole.iter().map(String::as_str).collect::<Vec<_>>())) {
        return Err((CommandReason::RuleAsks(shown(rule)).within(called), Some(rule.to_owned())));
    }
    for redirect in &part.redirects {
        let target = &redirect.target;
        paths::readable(&target.text, place)
            .map_err(|reason| (reason.within(format!("< {}", target.shown())), None))?;
    }
    let Some(rule) = rules::matching(&policy.allow, &words) else {
        return match defaults::usual(&words).filter(|_| policy.usual) {
            Some(rule) => match programs::judge(argv, place, 0, 0) {
                TableFinding::Safe => Ok(rule),
                TableFinding::Never(reason) | TableFinding::Unsafe(reason) => Err((reason.within(called), None)),
            },
            None => Err((unlisted(&called, argv, place), None)),
        };
    };
    let exact = rules::exact(&policy.allow, &words);
    // Its input from a pipe or a file is unknown.
    let fed = part.join == Join::Pipe || !part.redirects.is_empty();
    // The longest covering rule says how many words the user has vouched for.
    let ruled = (1..=words.len()).rev().find(|n| rules::exact(&policy.allow, &words[..*n]).is_some()).unwrap_or(1);
    match programs::judge(argv, place, ruled, 0) {
        TableFinding::Safe => Ok(rule),
        TableFinding::Never(reason) => Err((reason.within(called), None)),
        TableFinding::Unsafe(reason) => match exact {
            // The user has read exactly these words and allowed them; the documents have only named prefixes.
            _ if policy.plain && !fed && !deletes(&words.join(" ")) && vouched(argv, place) => Ok(rule),
            Some(exact) if !default_allow().contains(&exact) && !fed && vouched(argv, place) => Ok(exact),
            _ => Err((reason.within(called), None)),
        },
    }
}

/// Why a command asks that no rule names: what is known of it, or that it is not on the list.
fn unlisted(called: &str, argv: &[String], place: &str) -> CommandReason {
    let sub = argv.get(1).map_or("", String::as_str);
    match argv.first().map(String::as_str) {
        Some("git") if word::among("push pull fetch clone ls-remote", sub) => {
            CommandReason::GitNeedsNetwork(sub.into()).within(called)
        }
        Some("git")
            if word::among("add commit checkout switch merge rebase reset restore stash cherry-pick revert", sub) =>
        {
            CommandReason::GitChanges(sub.into()).within(called)
        }
        _ => match programs::judge(argv, place, 0, 0) {
            TableFinding::Never(reason) => reason.within(called),
            _ => CommandReason::NotOnAllowlist(called.into()),
        },
    }
}

/// A command without the `timeout` before it, which does not affect the check.
fn without_limit(argv: &[String]) -> &[String] {
    let seconds = |text: &str| {
        let digits = text.trim_end_matches(['s', 'm']);
        !digits.is_empty() && digits.len() + 1 >= text.len() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    match argv {
        [timeout, limit, inner @ ..] if timeout == "timeout" && seconds(limit) && !inner.is_empty() => inner,
        argv => argv,
    }
}

/// Whether a command that only its rule vouches for at least stays in the folder.
fn vouched(argv: &[String], folder: &str) -> bool {
    programs::stays_or_name(&argv[0], folder).is_ok()
        && argv[1..].iter().all(|arg| paths::argument_stays(arg, folder).is_ok())
}

/// The words without options that only change how `git` shows things, so that rules need not name them.
fn without_show(argv: &[String]) -> Vec<String> {
    let show = |arg: &&String| programs::SHOW_ONLY.contains(&arg.as_str());
    match argv {
        [git, rest @ ..] if git == "git" => {
            let skipped = rest.iter().take_while(show).count();
            std::iter::once(git).chain(&rest[skipped..]).cloned().collect()
        }
        argv => argv.to_vec(),
    }
}
