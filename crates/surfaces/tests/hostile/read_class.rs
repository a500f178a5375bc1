//! The promise of the read class: what is judged to only read changes no byte, opens no socket and shows no secret,
//! run for real against the installed programs. Each line runs without any fence, so that the tables alone are tested.
//! One that comes upon a secret without naming it, such as a recursive search, then runs in a session of the real
//! binary, whose read fence must have hidden the secret.
//!
//! `TRIMTAB_LINES=50000 TRIMTAB_SEED=7 cargo test -p trimtab-surfaces --test hostile read_class:: -- --nocapture` takes
//! that many, from that seed.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use trimtab_testkit::command_lines::{
    CommandLines, Policy, ReadLine, hashes, is_installed, shown_secret, tree_with_canaries,
};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

/// Lines that a session runs in one go.
const AT_ONCE: usize = 100;

/// A folder with canaries in which lines run without a fence.
struct Unfenced {
    place: PathBuf,
    hashes: Vec<String>,
    before: Contents,
    traced: bool,
}

/// What a line did.
enum Harm {
    None,
    /// It came upon a secret that it had not named, and only a fence hides that.
    UnlessFenced,
    Done(String),
}

/// How the names of files with secrets end in a trace.
const SECRETS: &[&str] = &[".env\"", ".pem\"", ".env.local\"", "id_ed25519\"", "id_rsa\"", ".netrc\""];

type Contents = BTreeMap<PathBuf, (u32, i64, Vec<u8>)>;

impl Unfenced {
    fn new(name: &str) -> Self {
        let place = std::env::temp_dir().join(format!("trimtab-{name}-{}", std::process::id()));
        let traced = Command::new("strace").args(["-qq", "true"]).output().is_ok_and(|done| done.status.success());
        let mut tree = Self { place, hashes: Vec::new(), before: Contents::new(), traced };
        tree.build();
        tree
    }

    fn root(&self) -> PathBuf {
        self.place.join("work")
    }

    fn home(&self) -> PathBuf {
        self.place.join("home")
    }

    fn policy(&self) -> Policy {
        Policy::new(self.root().display().to_string(), self.home().display().to_string())
    }

    fn build(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
        tree_with_canaries(&self.root(), &self.home());
        self.hashes = hashes(&self.root().join(".env"));
        self.before = Contents::new();
        contents(&self.place, &mut self.before);
    }

    /// Runs a line; what it did that it must not do.
    fn violation(&mut self, line: &ReadLine) -> Harm {
        let done = self.run(line);
        let trace = fs::read_to_string(self.place.join("trace")).unwrap_or_default();
        let _ = fs::remove_file(self.place.join("trace"));
        let mut after = Contents::new();
        contents(&self.place, &mut after);
        if after != self.before {
            let changed: Vec<_> = after.iter().filter(|(path, now)| self.before.get(*path) != Some(*now)).collect();
            let changed: Vec<_> = changed.into_iter().map(|(path, _)| path.clone()).collect();
            self.build();
            return Harm::Done(format!("it changed {changed:?}"));
        }
        let socket = trace.lines().find(|call| call.contains("AF_INET") || call.contains("AF_NETLINK"));
        if let Some(call) = socket {
            return Harm::Done(format!("it opened a socket: {call}"));
        }
        let is_secret = |call: &&str| SECRETS.iter().any(|name| call.contains(name)) && !call.contains(" = -1");
        let opened = trace.lines().find(is_secret).map(str::to_owned);
        match opened.or_else(|| shown_secret(&done, &self.hashes)) {
            Some(_) if line.finds_files() => Harm::UnlessFenced,
            Some(how) => Harm::Done(format!("it read a secret: {how}")),
            None if !self.traced && line.finds_files() => Harm::UnlessFenced,
            None => Harm::None,
        }
    }

    fn run(&self, line: &ReadLine) -> String {
        let mut words: Vec<String> = ["timeout", "5"].map(String::from).to_vec();
        if self.traced {
            let options = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=network,openat,open,creat", "-o"];
            words.extend(options.map(String::from));
            words.push(self.place.join("trace").display().to_string());
        }
        words.extend(line.argv());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.root()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.home());
        // With no toolchain in its home, rustup writes settings there before it answers.
        let toolchains = std::env::home_dir().unwrap_or_default().join(".rustup");
        command.env("RUSTUP_HOME", std::env::var_os("RUSTUP_HOME").unwrap_or(toolchains.into()));
        command.env("LC_ALL", "C.UTF-8").env("GIT_OPTIONAL_LOCKS", "0").env("PAGER", "cat").env("GIT_PAGER", "cat");
        let done = command.stdin(Stdio::null()).output().expect("it starts");
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    }
}

impl Drop for Unfenced {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// Every file with its mode, time of change and contents.
fn contents(folder: &Path, all: &mut Contents) {
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

/// Runs lines in the read fence of one session: what its model was sent of a secret, and how many lines ran.
fn shown_in_fence(lines: &[ReadLine]) -> (Vec<String>, usize) {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let home = program.project().parent().expect("a folder").to_owned();
    tree_with_canaries(&program.project(), &home);
    let hashes = hashes(&program.project().join(".env"));
    let calls = lines.iter().enumerate().fold(Reply::new(), |reply, (at, line)| {
        reply.tool(format!("toolu_{at}"), "run_command", [json!({"command": line.line}).to_string()])
    });
    program.provider.push(Answer::anthropic(calls));
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "deny", "go"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let started = ended.events().iter().filter(|event| event["type"] == "command.started").count();
    let results = program.provider.requests().last().map(|request| request.body["messages"].clone());
    let results = results.iter().flat_map(|messages| messages.as_array()).flatten();
    let results = results.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let secret = |result: &serde_json::Value| {
        let at: usize = result["tool_use_id"].as_str()?.strip_prefix("toolu_")?.parse().ok()?;
        let form = shown_secret(&texts(&result["content"]), &hashes)?;
        Some(format!("{}: it shows a secret in its fence: {form}", lines[at].line))
    };
    (results.filter_map(secret).collect(), started)
}

/// All texts of a value.
fn texts(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items.iter().map(texts).collect(),
        serde_json::Value::Object(fields) => fields.values().map(texts).collect(),
        _ => String::new(),
    }
}

/// What went wrong with so many lines, and how many ran in a fence.
fn check(lines: &CommandLines, seed: u64, wanted: usize) -> (Vec<String>, usize) {
    let mut tree = Unfenced::new(&format!("read-{seed}"));
    let (mut wrong, mut fenced, mut ran_fenced) = (Vec::new(), Vec::new(), 0);
    for line in lines.read_only(seed, tree.policy()).take(wanted) {
        match tree.violation(&line) {
            Harm::Done(what) => wrong.push(format!("{}: {what}", line.line)),
            Harm::UnlessFenced => fenced.push(line),
            Harm::None => {}
        }
    }
    for lines in fenced.chunks(AT_ONCE) {
        let (shown, ran) = shown_in_fence(lines);
        wrong.extend(shown);
        ran_fenced += ran;
    }
    (wrong, ran_fenced)
}

#[test]
fn a_read_only_command_never_changes_a_byte_opens_a_socket_or_shows_a_secret() {
    if !["bash", "timeout", "git", "gzip"].iter().all(|name| is_installed(name)) {
        return println!("Skipped: bash, timeout, git or gzip is missing.");
    }
    let (seed, wanted) = Dice::seed_and_lines(4_000);
    let lines = CommandLines::from_installed();
    println!("Not installed, so not tested: {}", lines.missing.join(", "));
    println!("Without a manual page, so tested with the flags of their help only: {}", lines.without_manual.join(", "));
    let (wrong, fenced) = std::thread::scope(|scope| {
        let (lines, halves) = (&lines, [seed, seed.rotate_left(17) | 1]);
        let threads = halves.map(|seed| scope.spawn(move || check(lines, seed, wanted.div_ceil(2))));
        threads.into_iter().fold((Vec::new(), 0), |(mut all, count), thread| {
            let (wrong, fenced) = thread.join().expect("it ends");
            all.extend(wrong);
            (all, count + fenced)
        })
    });
    println!(
        "{wanted} read-only lines ran without a fence, {fenced} that met a secret ran again in the read fence; seed {seed}."
    );
    assert!(wrong.is_empty(), "{} lines (seed {seed}):\n{}", wrong.len(), wrong.join("\n"));
}

/// A check that could not fail would be worth nothing.
#[test]
fn harm_is_noticed() {
    let mut tree = Unfenced::new("harm");
    let policy = tree.policy();
    let mut harm = |line: &str| match tree.violation(&ReadLine::unjudged(line, &policy)) {
        Harm::Done(what) => what,
        Harm::UnlessFenced => "unless fenced".to_owned(),
        Harm::None => "none".to_owned(),
    };
    assert_eq!(harm("cat a.txt"), "none");
    assert_eq!(harm("grep -r Q ."), "unless fenced");
    for line in ["cat .env", "base64 .env", "od -c src/.env.local", "rev server.pem", "xxd ~/.netrc"] {
        assert!(harm(line).contains("secret"), "{line}: {}", harm(line));
    }
    for line in ["sort -osrc/main.rs a.txt", "touch ~/x", "chmod 600 a.txt"] {
        let what = harm(line);
        assert!(what.contains("changed"), "{line}: {what}");
    }
    let what = harm("exec 3<>/dev/tcp/127.0.0.1/9");
    assert!(!tree.traced || what.contains("socket"), "{what}");
    for line in ["cat .env", "base64 .env", "base32 .env", "od .env", "od -c .env", "od -b .env", "xxd .env"]
        .into_iter()
        .chain(["od -d .env", "rev .env", "fold -w 5 .env", "md5sum .env", "tr A-Z a-z < .env", "hexdump .env"])
    {
        let shown = tree.run(&ReadLine::unjudged(line, &policy));
        assert!(shown_secret(&shown, &tree.hashes).is_some(), "{line}: {shown}");
    }
}
