//! Words that are known only after the shell has expanded them, but bounded: globs, and the output of a command. Only
//! a read-only line may have them.

use trimtab_vocab::wording::CommandReason;

use super::paths::names_no_secret;
use super::programs;
use super::read::{CommandLine, Join, SimpleCommand};
use super::word::{UNKNOWN, Word, WordFill, among, shown};
use trimtab_vocab::CommandClass;

/// The words of a part as they are judged: a glob as several paths that it could become.
pub(super) fn sample(part: &SimpleCommand) -> Vec<String> {
    let words = part.words.iter().flat_map(|word| match word.fill {
        WordFill::Glob => {
            let start = if word.text.starts_with(['*', '?', '[']) { "./" } else { "" };
            let path = format!("{start}{}", matched(&word.text));
            vec![path.clone(), format!("{path}2"), format!("{path}3")]
        }
        WordFill::Output | WordFill::Variable => vec![word.text.replace(UNKNOWN, "x")],
        WordFill::None => vec![word.text.clone()],
    });
    words.collect()
}

/// A path that a glob matches.
fn matched(glob: &str) -> String {
    let mut path = String::new();
    let mut in_brackets = false;
    for c in glob.chars() {
        match c {
            '[' => in_brackets = true,
            ']' => {
                in_brackets = false;
                path.push('x');
            }
            _ if in_brackets => {}
            '*' | '?' => path.push('x'),
            c => path.push(c),
        }
    }
    path
}

/// The globs of a line, with the folder that each is expanded in.
pub(super) fn globs(parts: &[SimpleCommand], places: &[String]) -> Vec<(String, String)> {
    let of = |(part, place): (&SimpleCommand, &String)| {
        let words: Vec<&Word> = part.words.iter().filter(|word| word.fill == WordFill::Glob).collect();
        words.into_iter().map(|word| (place.clone(), word.text.clone())).collect::<Vec<_>>()
    };
    parts.iter().zip(places).flat_map(of).collect()
}

/// Why a line asks whose parts are all allowed: it has words that are not known, and may do more than look with them.
pub(super) fn reason(reading: &CommandLine, argv: &[Vec<String>], class: CommandClass) -> Option<CommandReason> {
    let is_inside = |at: &usize| reading.parts[*at].depth > 0;
    let carries = |at: usize| carries_names(argv, at, |at| reading.parts[at].join == Join::Pipe);
    for (at, words) in argv.iter().enumerate().filter(|(_, words)| words.first().is_some_and(|name| name == "xargs")) {
        let is_fed = at > 0 && reading.parts[at].join == Join::Pipe && !(0..argv.len()).any(|at| is_inside(&at));
        if !is_fed || !carries(at - 1) {
            return Some(CommandReason::UnknownInput(shown(&words.join(" "))));
        }
    }
    let open = reading.open.clone()?;
    if class != CommandClass::Read {
        return Some(open);
    }
    let mut names_wanted = false;
    for (part, argv) in reading.parts.iter().zip(argv) {
        for word in part.words.iter().filter(|word| !word.known) {
            if let Err(reason) = names_no_secret(&word.text) {
                return Some(reason);
            }
            let program = argv.first().map_or("", String::as_str);
            match word.fill {
                WordFill::Glob => {}
                WordFill::Output if program == "echo" => {}
                WordFill::Output if programs::looks_at_anything(program) => names_wanted = true,
                WordFill::Variable if program == "echo" => {}
                _ => return Some(open),
            }
        }
    }
    // The output becomes file names, so it must consist of names, not of free text.
    let ends = |at: &usize| reading.parts.get(at + 1).is_none_or(|next| next.join != Join::Pipe || next.depth == 0);
    if names_wanted && !(0..argv.len()).filter(is_inside).filter(ends).all(carries) {
        return Some(open);
    }
    None
}

/// Whether the part `at` prints names of files: it lists them, or it passes on lines of a part that does.
fn carries_names(argv: &[Vec<String>], mut at: usize, fed: impl Fn(usize) -> bool) -> bool {
    while !lists_names(&argv[at]) {
        if at == 0 || !fed(at) || !passes_lines(&argv[at]) {
            return false;
        }
        at -= 1;
    }
    true
}

/// Whether a command prints names of files and nothing else.
fn lists_names(argv: &[String]) -> bool {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let short = |letter: char| {
        words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter))
    };
    let long = |names: &str| words.iter().any(|word| among(names, word));
    match words.as_slice() {
        ["find", ..] => !long("-printf -exec -execdir -ls"),
        ["git", "ls-files", ..] => !long("-s --stage --eol"),
        // `git show` also prints the commit message, which is untrusted text.
        ["git", "diff", ..] => long("--name-only") && !long("-p --patch --stat"),
        ["git", "grep", ..] | ["rg" | "grep" | "egrep" | "fgrep", ..] => {
            long("-l -rl -lr -ril -rli -rlE -rlF --files-with-matches --name-only --files")
        }
        ["fd" | "fdfind", ..] => true,
        ["ls", ..] => !short('l') && !short('s') && !short('i'),
        _ => false,
    }
}

/// Whether a filter passes on whole lines of its input and reads nothing else.
fn passes_lines(argv: &[String]) -> bool {
    let operands = argv.iter().skip(1).filter(|word| !word.starts_with('-')).count();
    match argv.first().map(String::as_str) {
        Some("grep" | "egrep" | "fgrep") => {
            operands <= 1 && !argv.iter().any(|word| word.starts_with("-o") || word.starts_with("-f"))
        }
        Some("sort" | "uniq") => operands == 0,
        Some("head" | "tail") => {
            argv.iter().skip(1).all(|word| word.starts_with('-') || word.bytes().all(|b| b.is_ascii_digit()))
        }
        _ => false,
    }
}
