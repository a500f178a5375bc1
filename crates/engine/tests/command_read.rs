//! The promise of the read class: what is judged to only look, run for real and without any fence, changes no byte, opens
//! no socket and opens no file with secrets. Lines are made by dice from the flags that the installed programs list in
//! their own help, with values that have fooled tables before.
//!
//! `TRIMTAB_LINES=50000 cargo test -p trimtab-engine --test command_read -- --nocapture` takes that many.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trimtab_engine::proposal::command::{CommandDecision, CommandVerdict, Policy, judge};
use trimtab_vocab::CommandClass;

/// Dice from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }

    fn of<'a, T: AsRef<str>>(&mut self, choices: &'a [T]) -> &'a str {
        choices[self.below(choices.len())].as_ref()
    }
}

const PROGRAMS: &[&str] = &[
    "ls",
    "cat",
    "tac",
    "head",
    "tail",
    "grep",
    "egrep",
    "wc",
    "sort",
    "uniq",
    "cut",
    "tr",
    "nl",
    "rev",
    "fold",
    "expand",
    "unexpand",
    "fmt",
    "column",
    "paste",
    "comm",
    "join",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "stat",
    "file",
    "od",
    "hexdump",
    "xxd",
    "du",
    "df",
    "diff",
    "cmp",
    "md5sum",
    "sha256sum",
    "b2sum",
    "cksum",
    "tree",
    "date",
    "which",
    "whoami",
    "nproc",
    "arch",
    "tty",
    "free",
    "uptime",
    "uname",
    "hostname",
    "id",
    "groups",
    "logname",
    "seq",
    "jq",
    "fd",
    "rg",
    "strings",
    "base64",
    "base32",
    "zcat",
    "bzcat",
    "xzcat",
    "tar",
    "unzip",
    "sed",
    "awk",
    "find",
    "xargs",
    "printf",
    "test",
    "echo",
    "pwd",
    "cd",
    "zsh",
    "bash",
    "npx",
    "node",
    "python3",
    "git",
    "make",
    "cargo",
    "curl",
];

const GIT: &[&str] = &[
    "status",
    "diff",
    "log",
    "show",
    "branch",
    "tag",
    "ls-files",
    "ls-tree",
    "shortlog",
    "whatchanged",
    "diff-tree",
    "reflog",
    "stash",
    "worktree",
    "show-ref",
    "for-each-ref",
    "check-ignore",
    "config",
    "rev-parse",
    "rev-list",
    "blame",
    "describe",
    "remote",
    "merge-base",
    "name-rev",
    "cat-file",
    "count-objects",
    "grep",
];

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
];

/// Flags that a program lists about itself.
fn flags(program: &str, sub: Option<&str>) -> Vec<String> {
    let mut help = Command::new(program);
    match sub {
        Some(sub) => help.args([sub, "-h"]),
        None => help.arg("--help"),
    };
    let help = help.stdin(Stdio::null()).env("LC_ALL", "C").env("PAGER", "cat").output();
    let text = help.map(|done| [done.stdout, done.stderr].concat()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let mut found: Vec<String> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '|' | '(' | ')'))
        .filter(|word| word.starts_with('-') && word.len() > 1)
        .map(|word| word.split(ends).next().unwrap_or_default().to_owned())
        .filter(|flag| flag.len() > 1 && flag.len() < 30 && flag != "--")
        .collect();
    // Every letter, since help texts leave some out.
    found.extend(('a'..='z').chain('A'..='Z').map(|letter| format!("-{letter}")));
    found.sort();
    found.dedup();
    found
}

struct Known {
    name: String,
    flags: Vec<String>,
}

fn words(dice: &mut Dice, known: &Known) -> String {
    let mut line = known.name.clone();
    for _ in 0..dice.below(4) {
        let flag = dice.of(&known.flags).to_owned();
        line.push(' ');
        match dice.below(8) {
            0 => line.push_str(&format!("{flag}={}", dice.of(VALUES))),
            1 => line.push_str(&format!("{flag} {}", dice.of(VALUES))),
            2 if !flag.starts_with("--") => {
                // A cluster, with whatever stands behind it.
                let other = dice.of(&known.flags).trim_start_matches('-').chars().next().unwrap_or('a');
                line.push_str(&format!("{flag}{other} {}", dice.of(VALUES)));
            }
            3 => line.push_str(&format!("{flag}{}", dice.of(VALUES))),
            4 => line.push_str(dice.of(VALUES)),
            _ => line.push_str(&flag),
        }
    }
    for _ in 0..dice.below(3) {
        line.push(' ');
        line.push_str(dice.of(VALUES));
    }
    line
}

fn line(dice: &mut Dice, known: &[Known]) -> String {
    let at = dice.below(known.len());
    let one = words(dice, &known[at]);
    let at = dice.below(known.len());
    let other = words(dice, &known[at]);
    match dice.below(16) {
        0 => format!("{one} | {other}"),
        1 => format!("find . -name '*' -exec {one} {{}} +"),
        2 => format!("find src -type f | xargs {one}"),
        3 => format!("for f in * src/*; do {one} \"$f\"; done"),
        4 => format!("{one} $(git ls-files)"),
        5 => format!("cd src && {one}"),
        6 => format!("echo 'touch RAN' | {one}"),
        7 => format!("{one} < x.sh"),
        _ => one,
    }
}

/// A tree with a repository, a secret, and names that look like options.
fn tree(place: &Path) -> PathBuf {
    let root = place.join("work");
    fs::create_dir_all(root.join("src")).expect("a folder");
    fs::create_dir_all(root.join("a:b")).expect("a folder");
    fs::create_dir_all(place.join("home")).expect("a folder");
    for (name, text) in [
        ("a.txt", "needle 1\nb 2\na 3\n"),
        ("b.txt", "x\n"),
        ("src/main.rs", "fn main() {}\n"),
        (".env", "TOKEN=canary-4711\n"),
        ("server.pem", "canary-4711\n"),
        ("-osrc", "x\n"),
        ("--output=src", "x\n"),
        ("-delete", "x\n"),
        ("args", "-osrc/main.rs\n"),
        ("x.sh", "touch RAN\n"),
        ("x.json", "{\"a\": 1}\n"),
    ] {
        fs::write(root.join(name), text).expect("a file");
    }
    let script = "git init -q -b main . && git add -- a.txt src && git -c user.name=a -c user.email=a@b commit -qm one && \
        tar cf archive.tar a.txt && git status > /dev/null; true";
    Command::new("bash")
        .args(["-c", script])
        .current_dir(&root)
        .env("HOME", place.join("home"))
        .output()
        .expect("bash");
    root
}

/// Every file with its kind, mode, time of change and contents.
fn contents(folder: &Path, all: &mut BTreeMap<PathBuf, (u32, i64, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("the folder").flatten() {
        let path = entry.path();
        let about = entry.metadata().expect("is there");
        let text = if about.is_file() { fs::read(&path).expect("reads") } else { Vec::new() };
        all.insert(path.clone(), (about.mode(), about.mtime_nsec(), text));
        if about.is_dir() {
            contents(&path, all);
        }
    }
}

fn is_here(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().is_ok_and(|done| done.status.success())
}

/// Runs a line as it would run; what it did that it must not do.
fn violations(root: &Path, line: &str, verdict: &CommandVerdict, traced: bool) -> Option<String> {
    let log = root.parent().expect("a folder").join("trace");
    let script = verdict.rewritten.clone().unwrap_or_else(|| line.to_owned());
    let mut words: Vec<String> = ["timeout", "5"].map(String::from).to_vec();
    if traced {
        let options = ["strace", "-f", "-qq", "-e", "trace=network,openat,open,creat", "-o"].map(String::from);
        words.extend(options);
        words.push(log.display().to_string());
    }
    words.extend(verdict.direct.clone().unwrap_or_else(|| vec!["bash".into(), "-c".into(), script]));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(root).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", root.with_file_name("home")).env("LC_ALL", "C.UTF-8").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("PAGER", "cat").env("GIT_PAGER", "cat").stdin(Stdio::null()).stderr(Stdio::null());
    let done = command.output().expect("it starts");
    let trace = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(&log);
    let socket = trace.lines().find(|call| call.contains("AF_INET") || call.contains("AF_NETLINK"));
    if let Some(call) = socket {
        return Some(format!("it opened a socket: {call}"));
    }
    let is_secret = |call: &&str| (call.contains(".env\"") || call.contains(".pem\"")) && !call.contains(" = -1");
    // A walk through the folder opens whatever is there, and the fence has hidden it before. What is named is not.
    let walks =
        ["*", "?", "find", "grep", "rg", "xargs", "$(", "diff", "git", "du"].iter().any(|part| line.contains(part));
    let opened = trace.lines().find(is_secret).filter(|_| !walks);
    if opened.is_some() || (!walks && String::from_utf8_lossy(&done.stdout).contains("canary-4711")) {
        return Some(format!("it read a secret: {opened:?}"));
    }
    None
}

#[test]
fn what_only_looks_changes_nothing_and_reaches_nobody() {
    let wanted: usize = std::env::var("TRIMTAB_LINES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let seed = std::env::var("TRIMTAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0x5eed_1234_5678_9abc_u64);
    if !is_here("bash") || !is_here("timeout") || !is_here("git") {
        return println!("there is no bash, timeout or git here");
    }
    let traced = Command::new("strace").args(["-qq", "true"]).output().is_ok_and(|done| done.status.success());
    let mut known: Vec<Known> = PROGRAMS
        .iter()
        .filter(|name| is_here(name))
        .map(|name| Known { name: (*name).to_owned(), flags: flags(name, None) })
        .collect();
    for sub in GIT {
        // As often as all others together would be too often.
        known.push(Known { name: format!("git {sub}"), flags: flags("git", Some(sub)) });
    }
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let (known, halves) = (&known, [seed, seed.rotate_left(17) | 1]);
        let threads = halves.map(|seed| scope.spawn(move || half(known, seed, wanted / 2, traced)));
        threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    println!("{wanted} lines that only look were run, traced: {traced}, seed {seed}");
    assert!(wrong.is_empty(), "{} lines (seed {seed}):\n{}", wrong.len(), wrong.join("\n"));
}

/// The tests above are worth nothing if they could not fail.
#[test]
fn harm_is_noticed() {
    let traced = Command::new("strace").args(["-qq", "true"]).output().is_ok_and(|done| done.status.success());
    let place = std::env::temp_dir().join(format!("trimtab-harm-{}", std::process::id()));
    let root = tree(&place);
    let policy = Policy::new(root.display().to_string(), "/home/ada");
    let mut before = BTreeMap::new();
    contents(&root, &mut before);
    let plain = |line: &str| CommandVerdict { direct: None, rewritten: None, ..judge(line, &policy) };
    assert!(violations(&root, "cat .env", &plain("cat .env"), traced).is_some_and(|what| what.contains("secret")));
    assert!(violations(&root, "cat a.txt", &plain("cat a.txt"), traced).is_none());
    if traced {
        let line = "exec 3<>/dev/tcp/127.0.0.1/9";
        assert!(violations(&root, line, &plain(line), traced).is_some_and(|what| what.contains("socket")));
    }
    violations(&root, "sort -osrc/main.rs a.txt", &plain("sort -osrc/main.rs a.txt"), traced);
    let mut after = BTreeMap::new();
    contents(&root, &mut after);
    assert_ne!(before, after);
    let _ = fs::remove_dir_all(&place);
}

fn half(known: &[Known], seed: u64, wanted: usize, traced: bool) -> Vec<String> {
    let place = std::env::temp_dir().join(format!("trimtab-read-{}-{seed}", std::process::id()));
    let (mut dice, mut wrong, mut ran) = (Dice(seed), Vec::new(), 0);
    let mut root = tree(&place);
    let policy = Policy::new(root.display().to_string(), "/home/ada");
    let mut before = BTreeMap::new();
    contents(&root, &mut before);
    while ran < wanted && wrong.len() < 20 {
        let line = line(&mut dice, known);
        let verdict = judge(&line, &policy);
        if verdict.decision != CommandDecision::Auto || verdict.class != CommandClass::Read {
            continue;
        }
        ran += 1;
        if let Some(what) = violations(&root, &line, &verdict, traced) {
            wrong.push(format!("{line}: {what}"));
        }
        let mut after = BTreeMap::new();
        contents(&root, &mut after);
        if after != before {
            let changed: Vec<_> =
                after.iter().filter(|(path, now)| before.get(*path) != Some(*now)).map(|(path, _)| path).collect();
            wrong.push(format!("{line}: it changed {changed:?}"));
            fs::remove_dir_all(&place).expect("is removed");
            root = tree(&place);
            before.clear();
            contents(&root, &mut before);
        }
    }
    let _ = fs::remove_dir_all(&place);
    wrong
}
