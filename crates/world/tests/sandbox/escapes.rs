//! Ways out of the sandbox, tried for real. What a command's text says is not looked at here: each runs as
//! if a person had approved it, and only the fences are in its way.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Child;

use trimtab_vocab::Sandbox::Workspace;
use trimtab_world::sandbox::Outcome;

use crate::scene::{Scene, text, wait};

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

/// The world around one attempt: secrets, listeners and another process.
struct World {
    scene: Scene,
    before: Vec<String>,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    named: UnixListener,
    other: Child,
    name: String,
}

impl World {
    fn new(number: usize) -> Self {
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
        let name = format!("trimtab-escape-{}-{number}", std::process::id());
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
        let other = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        let before = outside(&scene);
        Self { scene, before, tcp, udp, path, named, other, name }
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
        ]
        .into_iter()
        .fold(script.to_owned(), |script, (what, with)| script.replace(what, &with))
    }

    /// What of it has got out, if anything has.
    fn escaped(&mut self, outcome: &Outcome) -> Option<String> {
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
            || self.named.accept().is_ok();
        if spoken {
            return Some("a listener was spoken to".into());
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

fn nothing_gets_out() {
    let fences = wait(trimtab_world::sandbox::probe(&Scene::new().setup));
    let stray = Scene::new();
    fs::write(stray.at("data/db"), "SECRET\n").unwrap();
    let stray = fs::File::open(stray.at("data/db")).unwrap();
    rustix::io::fcntl_setfd(&stray, rustix::io::FdFlags::empty()).unwrap();
    let shared = std::process::Command::new("python3")
        .args(["-c", &format!("import ctypes; ctypes.CDLL(None).shmget({SHARED}, 4096, 0o1600)")])
        .status();
    let mut worlds = Vec::new();
    let mut out = Vec::new();
    let attempts = attempts();
    assert!(attempts.len() >= 60, "{} attempts", attempts.len());
    for (number, attempt) in attempts.iter().enumerate() {
        // Signals are kept inside by the kernel alone, since Linux 6.12.
        if attempt.how == "kill" && !fences.programs.holds() {
            continue;
        }
        let mut world = World::new(number);
        let script = world.filled(attempt.script);
        let argv = match script.strip_prefix("py ") {
            Some(script) => ["python3", "-c", script],
            None => ["sh", "-c", script.as_str()],
        };
        world.scene.timeout = 20;
        let outcome = world.scene.run(&argv, Workspace);
        if let Some(how) = world.escaped(&outcome) {
            out.push(format!("{} ({}): {how}", attempt.name, attempt.script));
        }
        if outcome.timed_out {
            out.push(format!("{} took too long", attempt.name));
        }
        worlds.push((attempt.name, world));
    }
    // Whoever comes late must not get out either.
    std::thread::sleep(std::time::Duration::from_secs(2));
    for (name, world) in &worlds {
        out.extend(world.is_changed().map(|how| format!("{name}, later: {how}")));
    }
    if shared.is_ok() {
        let _ = std::process::Command::new("ipcrm").args(["-M", &SHARED.to_string()]).status();
    }
    assert!(out.is_empty(), "{} of {} got out:\n{}", out.len(), attempts.len(), out.join("\n"));
    println!("  {} attempts", attempts.len());
}
