//! Command lines made by dice from the flags that the installed programs list in their own help and manual pages, with
//! values that have fooled tables before, and a tree with canaries to run them in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use trimtab_engine::proposal::command::Policy;
use trimtab_engine::proposal::command::{CommandDecision, CommandVerdict, default_allow, judge, usual_allow};
use trimtab_vocab::CommandClass;

use crate::dice::Dice;

/// Programs that no allowlist names, or that run only their version: their lines must not pass for read-only ones.
const OTHERS: &str = "zsh bash sh git bat batcat make env ps";

/// Subcommands of git besides those of the allowlists.
const GIT: &str = "archive bundle notes submodule diff-files diff-index ls-remote";

/// Operands and values: plain ones, so that many lines pass, and such as programs differ on.
const VALUES: &[&str] = &[
    "src",
    "a.txt",
    "src/main.rs",
    "b.txt",
    "x",
    "1",
    "2",
    "5",
    ".",
    "HEAD",
    "main",
    "'.'",
    "'1p'",
    "'{print $1}'",
    "needle",
    "archive.tar",
    "json",
    "+%s",
    "list",
    "show",
    "-",
    "--",
    "-o",
    "-osrc/main.rs",
    "--output=src/main.rs",
    "-Oout",
    "out",
    ".env",
    "'.e*'",
    "'*.pem'",
    "@args",
    "../up",
    "/etc/passwd",
    "a.txt:1",
    "HEAD:.env",
    "1,2:.env",
    "'w out'",
    "'s/a/b/w out'",
    "'1e id'",
    "'{print > \"out\"}'",
    "'5{p;q}'",
    "'%G?'",
    "'%-GK'",
    "user.name",
    "{}",
    "*",
    "src/*",
    "*.txt",
    "./-*",
    "'a b'",
    "--files0-from=a.txt",
    "-Tsrc",
    "--compress-program=./x",
    "--to-command=./x",
    "-exec",
    "-delete",
    "-fprintf",
    "-print",
    "-name",
    "'*.rs'",
    "-type",
    "f",
    "+",
    "';'",
    "signature",
    "format:x",
    "key",
    "never",
    "rw",
    "=src",
    "0",
    "99999999",
    "0-",
    "1,2",
    ".git/config",
    "./.env",
    "src/../.env",
    "':(top)*'",
    "stash@{0}",
    "HEAD~0",
    "{1..3}",
    "\"$HOME\"",
    "-r",
    "-R",
    "--",
    "'needle|x'",
    "'.*'",
    "@file",
];

/// What the files with secrets hold: one letter, which is still found when a program folds, cuts or reverses it.
const CANARY: &str = "QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ";

/// How the canary looks in what programs print, without white space and in lower case: as it is, in base 64 and 32,
/// and as hexadecimal, octal and decimal numbers, which are long enough not to stand in a hash by chance.
const FORMS: &[&str] = &[
    "qqq",
    "uvfruvfr",
    "kfivcukr",
    "51515151515151",
    "050521050521",
    "121121121121",
    "20817208172081",
    "81818181818181",
];

/// A program, or a subcommand of git, with its flags.
struct Known {
    name: String,
    flags: Vec<String>,
}

/// Generates command lines.
pub struct CommandLines {
    known: Vec<Known>,
    /// Programs of the tables that are not installed, so that nothing is known about them.
    pub missing: Vec<String>,
    /// Programs whose manual page is not installed, so that their flags come from their help alone.
    pub without_manual: Vec<String>,
}

/// A line that would run without a question and only reads.
#[derive(Debug, Clone)]
pub struct ReadLine {
    pub line: String,
    /// What the policy says about it.
    pub verdict: CommandVerdict,
}

impl ReadLine {
    /// A line that runs as it stands, whatever the policy says about it.
    pub fn unjudged(line: &str, policy: &Policy) -> Self {
        let verdict = CommandVerdict { direct: None, rewritten: None, ..judge(line, policy) };
        Self { line: line.to_owned(), verdict }
    }

    /// Whether it may come upon files that it does not name, which only the fence hides.
    pub fn finds_files(&self) -> bool {
        ["*", "?", "[", "find", "grep", "rg", "xargs", "$(", "diff", "git", "du", "for ", "fd", "tree"]
            .iter()
            .any(|part| self.line.contains(part))
    }

    /// The words that run where nothing is fenced.
    pub fn argv(&self) -> Vec<String> {
        let script = || self.verdict.rewritten.clone().unwrap_or_else(|| self.line.clone());
        self.verdict.direct.clone().unwrap_or_else(|| vec!["bash".into(), "-c".into(), script()])
    }
}

impl CommandLines {
    /// Asks the installed programs for their flags.
    pub fn from_installed() -> Self {
        let rules: Vec<&str> = default_allow().iter().copied().chain(usual_allow()).collect();
        let first = |rule: &&str| rule.split(' ').next().unwrap_or_default().to_owned();
        let programs: BTreeSet<String> = rules.iter().map(first).chain(OTHERS.split(' ').map(str::to_owned)).collect();
        let subs = rules.iter().filter_map(|rule| rule.strip_prefix("git ")).filter_map(|sub| sub.split(' ').next());
        let subs: BTreeSet<&str> = subs.chain(GIT.split(' ')).collect();
        let mut lines = Self { known: Vec::new(), missing: Vec::new(), without_manual: Vec::new() };
        for name in programs {
            if is_installed(&name) {
                lines.learn(name.clone(), &name, &[&name, "--help"]);
            } else {
                lines.missing.push(name);
            }
        }
        for sub in subs {
            lines.learn(format!("git {sub}"), &format!("git-{sub}"), &["git", sub, "-h"]);
        }
        lines
    }

    fn learn(&mut self, name: String, page: &str, help: &[&str]) {
        let manual = manual(page);
        if manual.is_empty() {
            self.without_manual.push(name.clone());
        }
        let mut flags = flags(&(printed(help) + "\n" + &manual));
        // Every letter, since help texts leave some out.
        flags.extend(('a'..='z').chain('A'..='Z').map(|letter| format!("-{letter}")));
        self.known.push(Known { name, flags: flags.into_iter().collect() });
    }

    /// Lines that the policy takes for read-only ones, without end.
    pub fn read_only(&self, seed: u64, policy: Policy) -> ReadLines<'_> {
        ReadLines { lines: self, dice: Dice::new(seed), policy, turns: (0..self.known.len()).collect(), at: 0 }
    }

    fn line(&self, dice: &mut Dice, known: &Known) -> String {
        let one = words(dice, known);
        let other = dice.pick(&self.known).map(|other| words(dice, other)).unwrap_or_default();
        match dice.below(16) {
            0 => format!("{one} | {other}"),
            1 => format!("find . -name '*' -exec {one} {{}} +"),
            2 => format!("find src -type f | xargs {one}"),
            3 => format!("for f in * src/*; do {one} \"$f\"; done"),
            4 => format!("{one} $(git ls-files)"),
            5 => format!("cd src && {one}"),
            6 => format!("echo 'touch RAN' | {one}"),
            7 => format!("{one} < x.sh"),
            8 => format!("{other} | {one}"),
            9 => format!("CI=1 {one}; {other}"),
            _ => one,
        }
    }
}

/// Read-only lines by turns: each program as often as any other, also one of whose lines few pass.
pub struct ReadLines<'a> {
    lines: &'a CommandLines,
    dice: Dice,
    policy: Policy,
    /// The programs that are still tried.
    turns: Vec<usize>,
    at: usize,
}

/// Lines of one program that are made before the next one has its turn.
const TRIES: usize = 60;

impl Iterator for ReadLines<'_> {
    type Item = ReadLine;

    fn next(&mut self) -> Option<ReadLine> {
        while !self.turns.is_empty() {
            self.at %= self.turns.len();
            let known = &self.lines.known[self.turns[self.at]];
            let found = (0..TRIES).find_map(|_| {
                let line = self.lines.line(&mut self.dice, known);
                let verdict = judge(&line, &self.policy);
                let reads = verdict.decision == CommandDecision::Auto && verdict.class == CommandClass::Read;
                reads.then_some(ReadLine { line, verdict })
            });
            if found.is_some() {
                self.at += 1;
                return found;
            }
            // None of so many lines only reads, so that hardly any ever will.
            self.turns.remove(self.at);
        }
        None
    }
}

fn words(dice: &mut Dice, known: &Known) -> String {
    let mut line = known.name.clone();
    for _ in 0..dice.below(4) {
        let flag = dice.pick(&known.flags).map_or("-a", String::as_str).to_owned();
        let value = dice.pick(VALUES).copied().unwrap_or("x");
        line.push(' ');
        line += &match dice.below(8) {
            0 => format!("{flag}={value}"),
            1 => format!("{flag} {value}"),
            2 if !flag.starts_with("--") => {
                // A cluster, with whatever stands behind it.
                let other = dice.pick(&known.flags).and_then(|flag| flag.chars().find(|c| *c != '-'));
                format!("{flag}{} {value}", other.unwrap_or('a'))
            }
            3 => format!("{flag}{value}"),
            4 => value.to_owned(),
            _ => flag,
        };
    }
    for _ in 0..dice.below(3) {
        line.push(' ');
        line += dice.pick(VALUES).copied().unwrap_or("x");
    }
    line
}

/// Whether a program, or a builtin of the shell, is here.
pub fn is_installed(program: &str) -> bool {
    let found = Command::new("bash").args(["-c", "command -v -- \"$1\"", "bash", program]).output();
    found.is_ok_and(|done| done.status.success())
}

fn printed(command: &[&str]) -> String {
    // Some programs write settings into the home when they are asked for help.
    let Ok(home) = tempfile::tempdir() else { return String::new() };
    let mut help = Command::new("timeout");
    help.arg("10").args(command).stdin(Stdio::null()).env("LC_ALL", "C").env("PAGER", "cat").env("HOME", home.path());
    let done = help.output().map(|done| [done.stdout, done.stderr].concat()).unwrap_or_default();
    String::from_utf8_lossy(&done).into_owned()
}

/// The source of a manual page, its dashes spelled as they are shown; empty if it is not installed.
fn manual(page: &str) -> String {
    let pages = std::env::var("TRIMTAB_MANUALS").unwrap_or_else(|_| "/usr/share/man".to_owned());
    let section = |section: char| format!("{pages}/man{section}/{page}.{section}.gz");
    let found = ['1', '8'].map(section).into_iter().find(|path| Path::new(path).exists());
    let text = found.map(|path| printed(&["gzip", "-dc", &path])).unwrap_or_default();
    ["\\fB", "\\fI", "\\fR", "\\fP", "\\f1", "\\f2", "\\f3", "\\&"]
        .iter()
        .fold(text.replace("\\-", "-"), |text, mark| text.replace(mark, " "))
        .replace("- ", "-")
}

/// The flags that a text names.
fn flags(text: &str) -> BTreeSet<String> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '|' | '(' | ')' | '"' | '/' | '{'))
        .filter(|word| word.starts_with('-') && word.len() > 1)
        .map(|word| word.split(ends).next().unwrap_or_default().to_owned())
        .filter(|flag| flag.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphanumeric()) && flag.len() < 30)
        .collect()
}

/// A folder with a repository, secrets, and names that look like options. The home is next to it, with more secrets.
pub fn tree_with_canaries(root: &Path, home: &Path) {
    for folder in [root.join("src/keys"), root.join("a:b"), home.join(".ssh")] {
        fs::create_dir_all(folder).expect("a folder");
    }
    // A certificate is no secret, so that the fence looks into such files for a key.
    let secret = format!("-----BEGIN PRIVATE KEY-----\n{CANARY}\n");
    let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file");
    for (name, text) in [
        ("a.txt", "needle 1\nb 2\na 3\n"),
        ("b.txt", "x\n"),
        ("src/main.rs", "fn main() {}\n"),
        (".env", &secret),
        ("src/.env.local", &secret),
        ("src/keys/id_ed25519", &secret),
        ("server.pem", &secret),
        ("-osrc", "x\n"),
        ("--output=src", "x\n"),
        ("-delete", "x\n"),
        ("args", "-osrc/main.rs\n"),
        ("x.sh", "touch RAN\n"),
        ("x.json", "{\"a\": 1}\n"),
    ] {
        write(root.join(name), text);
    }
    write(home.join(".netrc"), &secret);
    write(home.join(".ssh/id_rsa"), &secret);
    let script = "git init -q --template= -b main . && git add -- a.txt src/main.rs && git -c user.name=a -c user.email=a@b commit -qm one && \
        tar cf archive.tar a.txt && gzip -k a.txt && git status > /dev/null; true";
    Command::new("bash").args(["-c", script]).current_dir(root).env("HOME", home).output().expect("bash");
}

/// What of the secrets a text shows: the canary in one of its forms, or the hash of a file that holds it.
pub fn shown_secret(text: &str, hashes: &[String]) -> Option<String> {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
    FORMS.iter().copied().chain(hashes.iter().map(String::as_str)).find(|form| dense.contains(form)).map(str::to_owned)
}

/// The hashes of a file that programs which are judged to only look can print.
pub fn hashes(file: &Path) -> Vec<String> {
    let programs = ["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"];
    let name = file.to_string_lossy();
    let first = |program: &&str| printed(&[program, &name]).split_whitespace().next().map(str::to_owned);
    programs.iter().filter_map(first).filter(|hash| hash.len() >= 32).collect()
}
