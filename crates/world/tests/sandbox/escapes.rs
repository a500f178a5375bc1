//! Ways out of the sandbox, tried for real. What a command's text says is not looked at here: each runs as
//! if a person had approved it, and only the fences are in its way.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Stdio};

use trimtab_vocab::Sandbox::{self, ReadOnly, Workspace};
use trimtab_world::sandbox::CommandOutcome;

use crate::scene::{Scene, text, wait};
use crate::terminals::Theirs;

crate::checks![nothing_gets_out];

/// One attempt.
struct Attempt {
    how: &'static str,
    name: &'static str,
    script: &'static str,
}

fn attempts() -> Vec<Attempt> {
    let lines = include_str!("escapes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &'static str| {
        let (how, rest) = line.split_once(' ').unwrap();
        let (name, script) = rest.split_once(": ").unwrap();
        assert!(["write", "read", "reach", "kill", "say"].contains(&how), "{line}");
        Attempt { how, name, script }
    };
    // Calls by their number are those of one machine.
    lines.map(read).filter(|one| cfg!(target_arch = "x86_64") || !one.script.contains("l.syscall(")).collect()
}

/// Everything that must stay as it is, with a stamp of each.
fn outside(scene: &Scene) -> Vec<String> {
    let mut found = Vec::new();
    let mut ahead = vec![scene.at("home"), scene.at("data"), scene.at("in/.git/hooks"), scene.at("in/.git/config")];
    for entry in fs::read_dir(scene.base.path()).unwrap() {
        found.push(entry.unwrap().path().display().to_string());
    }
    ahead.push(scene.at("in/.trimtab"));
    while let Some(path) = ahead.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let content = if meta.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let times = (meta.mtime(), meta.mtime_nsec(), meta.nlink());
        found.push(format!("{} {:o} {} {times:?} {content:?}", path.display(), meta.mode(), meta.uid()));
        ahead.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    found.sort();
    found
}

/// The world around one attempt: secrets, listeners, another process and another terminal.
struct World {
    scene: Scene,
    before: Vec<String>,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    named: UnixListener,
    /// Like the one that takes what programs say to the system's log.
    log: UnixDatagram,
    terminal: Theirs,
    other: Child,
    name: String,
}

impl World {
    fn new(number: usize, sandbox: Sandbox) -> Self {
        let mut scene = Scene::new();
        for path in ["home/.ssh/id", "home/.netrc", "home/.aws/credentials", "data/db"] {
            fs::write(scene.at(path), "SECRET\n").unwrap();
        }
        fs::create_dir_all(scene.at("in/.git/hooks")).unwrap();
        fs::write(scene.at("in/.git/config"), "[core]\n\trepositoryformatversion = 0\n").unwrap();
        fs::write(scene.at("in/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for folder in ["in/.git/objects", "in/.git/refs"] {
            fs::create_dir_all(scene.at(folder)).unwrap();
        }
        for name in ["GITHUB_TOKEN", "OPENAI_API_KEY", "TRIMTAB_PASSWORD"] {
            scene.setup.environment.push((name.into(), "SECRET".into()));
        }
        let name = format!("trimtab-escape-{}-{number}-{sandbox:?}", std::process::id());
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = UnixListener::bind(scene.at("agent")).unwrap();
        let named = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for result in [tcp.set_nonblocking(true), udp.set_nonblocking(true)] {
            result.unwrap();
        }
        for listener in [&path, &named] {
            listener.set_nonblocking(true).unwrap();
        }
        let log = UnixDatagram::bind(scene.at("log")).unwrap();
        log.set_nonblocking(true).unwrap();
        let terminal = Theirs::new();
        // It has what a person's other programs have: secrets in its environment and open, and its terminal.
        let open = fs::File::open(scene.at("data/db")).unwrap();
        let shown = Stdio::from(terminal.end.try_clone().unwrap());
        let mut other = std::process::Command::new("sleep");
        let other = other.arg("300").env("PASSWORD", "SECRET").stdin(open).stdout(shown).spawn().unwrap();
        let before = outside(&scene);
        Self { scene, before, tcp, udp, path, named, log, terminal, other, name }
    }

    fn filled(&self, script: &str) -> String {
        let path = |name: &str| self.scene.at(name).display().to_string();
        let port = |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
        [
            ("{out}", self.scene.base.path().display().to_string()),
            ("{home}", path("home")),
            ("{data}", path("data")),
            ("{port}", port(self.tcp.local_addr())),
            ("{udp}", port(self.udp.local_addr())),
            ("{pid}", self.other.id().to_string()),
            ("{abstract}", self.name.clone()),
            ("{name}", self.name.clone()),
            ("{shm}", SHARED.to_string()),
            ("{tty}", self.terminal.name.clone()),
        ]
        .into_iter()
        .fold(script.to_owned(), |script, (what, with)| script.replace(what, &with))
    }

    /// What of it has got out, if anything has.
    fn escaped(&mut self, outcome: &CommandOutcome) -> Option<String> {
        let said = text(outcome);
        if let Some(why) = &outcome.not_started {
            return Some(format!("it was not tried: {why}"));
        }
        if outcome.lost {
            return Some("the supervisor is gone".into());
        }
        if let Some(word) = ["SECRET", "ESCAPED"].into_iter().find(|word| said.lines().any(|line| line.contains(word)))
        {
            return Some(format!("{word} in: {said}"));
        }
        let spoken = self.tcp.accept().is_ok()
            || self.udp.recv(&mut [0; 8]).is_ok()
            || self.path.accept().is_ok()
            || self.named.accept().is_ok()
            || self.log.recv(&mut [0; 8]).is_ok();
        if spoken {
            return Some("a listener was spoken to".into());
        }
        if self.terminal.is_touched() {
            return Some("another terminal was touched".into());
        }
        let state = fs::read_to_string(format!("/proc/{}/stat", self.other.id())).unwrap_or_default();
        if !state.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S") || rest.starts_with(" R")) {
            return Some(format!("the other process: {state}"));
        }
        self.is_changed()
    }

    fn is_changed(&self) -> Option<String> {
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            if Path::new(place).join(&self.name).exists() {
                return Some(format!("{place} was written to"));
            }
        }
        let after = outside(&self.scene);
        let differ = |a: &[String], b: &[String]| a.iter().filter(|one| !b.contains(one)).cloned().collect::<Vec<_>>();
        let (gone, new) = (differ(&self.before, &after), differ(&after, &self.before));
        (self.before != after).then(|| format!("gone: {gone:#?} new: {new:#?}"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.other.kill();
        let _ = self.other.wait();
    }
}

/// The number of a piece of memory that somebody outside shares.
const SHARED: u32 = 0x7472_696d;

/// How many are tried at the same time.
const AT_ONCE: usize = 4;

/// How the names of those begin that have a terminal of their own.
const AT_A_TERMINAL: &str = "from a terminal,";

fn nothing_gets_out() {
    let fences = wait(trimtab_world::sandbox::probe(&Scene::new().setup));
    let stray = Scene::new();
    fs::write(stray.at("data/db"), "SECRET\n").unwrap();
    let stray = fs::File::open(stray.at("data/db")).unwrap();
    rustix::io::fcntl_setfd(&stray, rustix::io::FdFlags::empty()).unwrap();
    let shared = std::process::Command::new("python3")
        .args(["-c", &format!("import ctypes; ctypes.CDLL(None).shmget({SHARED}, 4096, 0o1600)")])
        .status();
    let attempts = attempts();
    assert!(attempts.len() >= 60, "{} attempts", attempts.len());
    // Signals are kept inside by the kernel alone, since Linux 6.12.
    let tried = attempts.iter().enumerate().filter(|(_, attempt)| attempt.how != "kill" || fences.programs.holds());
    let tried: Vec<_> = tried.flat_map(|(n, attempt)| [(n, attempt, Workspace), (n, attempt, ReadOnly)]).collect();
    let shares = tried.chunks(tried.len().div_ceil(AT_ONCE));
    let (mut worlds, mut out) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let all: Vec<_> = shares.map(|share| scope.spawn(|| share.iter().map(each).collect::<Vec<_>>())).collect();
        for (world, got_out) in all.into_iter().flat_map(|share| share.join().unwrap()) {
            worlds.push(world);
            out.extend(got_out);
        }
    });
    // Whoever comes late must not get out either.
    std::thread::sleep(std::time::Duration::from_secs(2));
    for (name, world) in &worlds {
        out.extend(world.is_changed().map(|how| format!("{name}, later: {how}")));
    }
    let tried = worlds.len();
    if shared.is_ok() {
        let _ = std::process::Command::new("ipcrm").args(["-M", &SHARED.to_string()]).status();
    }
    assert!(out.is_empty(), "{} of {tried} got out:\n{}", out.len(), out.join("\n"));
    println!("  {} attempts, {tried} times", attempts.len());
}

/// One attempt, and what of it has got out.
fn each((number, attempt, sandbox): &(usize, &Attempt, Sandbox)) -> ((&'static str, World), Vec<String>) {
    let mut world = World::new(*number, *sandbox);
    let script = world.filled(attempt.script);
    let argv = match script.strip_prefix("py ") {
        Some(script) => ["python3", "-c", script],
        None => ["sh", "-c", script.as_str()],
    };
    world.scene.timeout = 20;
    world.scene.terminal = attempt.name.starts_with(AT_A_TERMINAL);
    let outcome = world.scene.run(&argv, *sandbox);
    let escaped = world.escaped(&outcome).map(|how| format!("{} ({}): {how}", attempt.name, attempt.script));
    let late = outcome.timed_out.then(|| format!("{} timed out", attempt.name));
    ((attempt.name, world), escaped.into_iter().chain(late).collect())
}
