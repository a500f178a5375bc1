//! Programs that run other programs: what they would run, so that a wrapper cannot bypass a refusal.

use super::paths::resolve;
use super::word::{Word, among};

/// What a wrapper would run.
#[derive(Debug)]
pub(super) enum WrappedCommand {
    /// Another command, its words known.
    Argv(Vec<Word>),
    /// A text that a shell will read.
    Script(String),
    /// A program for an interpreter that is not a shell.
    Code(String),
}

/// Runs its operands as a command after its own flags: name, flags with a value, number of own operands.
struct Wrapper(&'static str, &'static str, usize);

const WRAPPERS: &[Wrapper] = &[
    Wrapper("sudo", "ugpCrtThDRU", 0),
    Wrapper("doas", "uC", 0),
    Wrapper("pkexec", "u", 0),
    Wrapper("runuser", "ug", 0),
    Wrapper("env", "uCS", 0),
    Wrapper("nohup", "", 0),
    Wrapper("setsid", "", 0),
    Wrapper("timeout", "sk", 1),
    Wrapper("gtimeout", "sk", 1),
    Wrapper("nice", "n", 0),
    Wrapper("ionice", "cn", 0),
    Wrapper("chrt", "", 1),
    Wrapper("taskset", "", 1),
    Wrapper("stdbuf", "ioe", 0),
    Wrapper("unbuffer", "", 0),
    Wrapper("time", "of", 0),
    Wrapper("command", "", 0),
    Wrapper("builtin", "", 0),
    Wrapper("exec", "a", 0),
    Wrapper("xargs", "adEIJLnPsS", 0),
    Wrapper("parallel", "jIaSN", 0),
    Wrapper("watch", "nq", 0),
    Wrapper("busybox", "", 0),
    Wrapper("toybox", "", 0),
    Wrapper("chroot", "", 1),
    Wrapper("unshare", "", 0),
    Wrapper("nsenter", "t", 0),
    Wrapper("fakeroot", "", 0),
    Wrapper("proot", "rbw", 0),
    Wrapper("bwrap", "", 0),
    Wrapper("flock", "wE", 1),
    Wrapper("strace", "eopsPE", 0),
    Wrapper("ltrace", "eop", 0),
    Wrapper("catchsegv", "", 0),
    Wrapper("caffeinate", "tw", 0),
    Wrapper("arch", "", 0),
    Wrapper("systemd-run", "pu", 0),
    Wrapper("noglob", "", 0),
    Wrapper("nocorrect", "", 0),
    Wrapper("npx", "pc", 0),
    Wrapper("bunx", "", 0),
    Wrapper("pnpx", "", 0),
];

/// Long flags of these wrappers whose value is the next word.
const LONG_WITH_VALUE: &str = "--user --group --host --chdir --unset --signal --kill-after --adjustment --max-args \
    --max-procs --max-lines --delimiter --arg-file --prompt --role --type --class --classdata --split-string --replace";

/// Programs with a word between them and the command they run.
const RUNNERS: &[(&str, &[&str])] = &[
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("uv", &["run"]),
    ("hatch", &["run"]),
    ("bundle", &["exec"]),
    ("mise", &["exec", "x"]),
    ("rustup", &["run"]),
];

/// Shells that take a text with `-c`, or a script, or standard input.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(
        program,
        "sh" | "bash" | "zsh" | "dash" | "ash" | "ksh" | "mksh" | "fish" | "rbash" | "csh" | "tcsh" | "su" | "script"
    )
}

/// Interpreters that take a program text on the command line, with the flags for it.
pub(super) fn code_flags(program: &str) -> Option<&'static [&'static str]> {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match stem {
        "python" | "pypy" | "ipython" => Some(&["-c"]),
        "node" | "nodejs" | "bun" => Some(&["-e", "--eval", "-p", "--print", "-pe"]),
        "deno" => Some(&["eval"]),
        "perl" | "ruby" => Some(&["-e", "-E", "-ne", "-pe", "-pie", "-i.bak"]),
        "php" => Some(&["-r"]),
        "lua" | "luajit" | "rscript" | "osascript" | "groovy" | "julia" | "elixir" | "ghc" | "scala" | "guile" => {
            Some(&["-e"])
        }
        "pwsh" | "powershell" => Some(&["-c", "-Command", "-command"]),
        "awk" | "gawk" | "mawk" | "nawk" => Some(&[]),
        _ => None,
    }
}

/// The last part of a program's path, in lower case: some file systems do not mind case.
pub(super) fn base_name(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default().to_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

/// Everything that this command would run in turn, one layer down.
pub(super) fn inner(words: &[Word], folder: &str) -> Vec<WrappedCommand> {
    let Some(first) = words.first() else { return Vec::new() };
    let name = base_name(&first.text);
    let rest = &words[1..];
    let mut found = Vec::new();
    if let Some(Wrapper(_, with_value, own)) = WRAPPERS.iter().find(|Wrapper(wrapper, ..)| *wrapper == name) {
        wrapped(rest, with_value, *own, &mut found);
    }
    if let Some((_, subs)) = RUNNERS.iter().find(|(runner, _)| *runner == name)
        && rest.first().is_some_and(|word| subs.contains(&word.text.as_str()))
    {
        wrapped(&rest[1..], "", 0, &mut found);
    }
    match name.as_str() {
        shell if is_shell(shell) => {
            let flag = rest.iter().position(|word| {
                word.text == "--command"
                    || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c'))
            });
            found.extend(flag.and_then(|at| rest.get(at + 1)).map(|word| WrappedCommand::Script(word.text.clone())));
        }
        "eval" | "ssh" => found.push(WrappedCommand::Script(joined(rest))),
        "trap" => found.extend(rest.first().map(|word| WrappedCommand::Script(word.text.clone()))),
        "alias" => {
            found.extend(
                rest.iter().filter_map(|word| Some(WrappedCommand::Script(word.text.split_once('=')?.1.to_owned()))),
            );
        }
        "git" => found.extend(
            rest.iter().filter_map(|word| Some(WrappedCommand::Script(word.text.split_once("=!")?.1.to_owned()))),
        ),
        "find" | "gfind" | "fd" | "fdfind" => executed(rest, folder, &mut found),
        "tar" | "gtar" | "bsdtar" => found.extend(rest.iter().filter_map(|word| {
            let (_, script) = word.text.split_once("=exec=").or_else(|| word.text.split_once("--to-command="))?;
            Some(WrappedCommand::Script(script.to_owned()))
        })),
        "watch" | "tmux" | "screen" | "nix-shell" | "entr" => found.extend(
            rest.iter().filter(|word| word.text.contains(' ')).map(|word| WrappedCommand::Script(word.text.clone())),
        ),
        _ => {}
    }
    if let Some(flags) = code_flags(&name) {
        let code = match rest.iter().position(|word| flags.contains(&word.text.as_str())) {
            Some(at) => rest.get(at + 1),
            None if flags.is_empty() => rest.iter().find(|word| !word.text.starts_with('-')),
            None => None,
        };
        found.extend(code.map(|word| WrappedCommand::Code(word.text.clone())));
    }
    found
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Passes over a wrapper's own flags, settings and operands.
fn wrapped(words: &[Word], with_value: &str, own: usize, found: &mut Vec<WrappedCommand>) {
    let mut at = 0;
    let mut left = own;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            continue;
        }
        // `env -S 'text'` and `flock file -c 'text'` read the text as a shell would.
        if let Some(script) =
            text.strip_prefix("--split-string=").or_else(|| text.strip_prefix("-S").filter(|s| !s.is_empty()))
        {
            found.push(WrappedCommand::Script(script.to_owned()));
        }
        if matches!(text, "-S" | "-c" | "--command" | "--split-string")
            && let Some(script) = words.get(at + 1)
        {
            found.push(WrappedCommand::Script(script.text.clone()));
        }
        if text.starts_with('-') && text.len() > 1 {
            let takes = if text.starts_with("--") {
                among(LONG_WITH_VALUE, text)
            } else {
                text.chars().last().is_some_and(|last| with_value.contains(last))
            };
            at += 1 + usize::from(takes);
        } else if word.assignment().is_some() {
            at += 1;
        } else if left > 0 {
            left -= 1;
            at += 1;
        } else {
            break;
        }
    }
    if at < words.len() {
        found.push(WrappedCommand::Argv(words[at..].to_vec()));
    }
}

/// What `find … -exec` runs, with the place it starts from in the place of `{}`.
fn executed(words: &[Word], folder: &str, found: &mut Vec<WrappedCommand>) {
    let start = words.iter().find(|word| !word.text.starts_with('-')).map_or(".", |word| word.text.as_str());
    // No real path is longer, and a long one many times over would cost more than it tells.
    let start = if start.len() > 4096 { "\u{FFFC}" } else { start };
    // With a filter, `{}` is something below the start and not the start itself.
    let filtered = super::wipe::filters(words);
    // The user decides about the folder's own files.
    let at_home = resolve(start, folder) == resolve(folder, "/");
    let place =
        if filtered || at_home { format!("{}/\u{FFFC}", start.trim_end_matches('/')) } else { resolve(start, folder) };
    let mut at = 0;
    while at < words.len() {
        if matches!(
            words[at].text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
        ) {
            let end = words[at..]
                .iter()
                .position(|word| matches!(word.text.as_str(), ";" | "+"))
                .map_or(words.len(), |n| at + n);
            let argv =
                words[at + 1..end].iter().map(|word| Word { text: word.text.replace("{}", &place), ..word.clone() });
            found.push(WrappedCommand::Argv(argv.collect()));
            at = end;
        }
        at += 1;
    }
}
