//! The network of a session: its commands reach each other, and hosts outside only through the proxy.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use trimtab_vocab::CommandClass::{Check, Read};
use trimtab_vocab::Sandbox::Workspace;
use trimtab_vocab::{HostOutcome, HostPolicy, NetworkAccess};
use trimtab_world::network::{CommandAccess, NetworkProxy};
use trimtab_world::sandbox::{
    CommandNetwork, CommandOutcome, CommandReport, NetworkHolder, SUPERVISE, SandboxSetup, run,
};

use crate::scene::{Scene, nobody, processes_with, text, unique_sleep, wait_for_processes};

crate::checks![
    commands_of_a_session_reach_each_others_ports_and_those_of_no_other_session,
    a_host_is_reached_only_with_a_rule_that_names_it,
    no_way_leads_around_the_proxy,
    commands_that_only_read_have_no_network_at_all,
    a_supervisor_that_waited_enters_the_network,
    a_holder_that_was_killed_is_replaced,
    nothing_is_left_when_the_host_is_killed,
    nothing_is_left_whoever_is_killed_and_whenever,
];

/// The argument that makes the test a program that runs a command in the network of a session.
pub(crate) const NETWORKED_HOST: &str = "__networked_host";

/// A scene with a runtime in which the proxies of its sessions run.
struct Networked {
    scene: Scene,
    runtime: tokio::runtime::Handle,
    holder: NetworkHolder,
}

/// The network of one session.
struct Session<'n> {
    of: &'n Networked,
    network: Arc<trimtab_world::sandbox::SessionNetwork>,
    proxy: NetworkProxy,
}

impl Networked {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        // It ends with the test.
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        let mut scene = Scene { automatic: Some(Check), timeout: 180, ..Scene::new() };
        let holder = NetworkHolder::default();
        scene.setup.networks = Some(holder.clone());
        Self { scene, runtime: handle, holder }
    }

    fn session(&self) -> Session<'_> {
        let _inside = self.runtime.enter();
        let (network, listener) = self.holder.open(&self.scene.setup.launcher).unwrap();
        Session { of: self, network: Arc::new(network), proxy: NetworkProxy::start(listener).unwrap() }
    }
}

impl Session<'_> {
    fn admit(&self, allowed: &[&str]) -> CommandAccess {
        let allowed = allowed.iter().map(|pattern| (*pattern).to_owned()).collect();
        self.proxy.admit(HostPolicy { access: NetworkAccess::Ask, allowed, ..HostPolicy::default() }).unwrap()
    }

    fn setup(&self, access: &CommandAccess) -> SandboxSetup {
        let network = CommandNetwork { network: Arc::clone(&self.network), variables: access.variables() };
        SandboxSetup { network: Some(network), ..self.of.scene.setup.clone() }
    }

    fn run(&self, script: &str, access: &CommandAccess) -> CommandOutcome {
        let plan = self.of.scene.plan(&["sh", "-c", script], Workspace);
        let setup = self.setup(access);
        self.of.runtime.block_on(run(&plan, &setup, |_| {}, std::future::pending(), nobody()))
    }

    fn sh(&self, script: &str, allowed: &[&str]) -> (String, Vec<(String, HostOutcome)>) {
        let access = self.admit(allowed);
        let outcome = self.run(script, &access);
        let hosts = access.attempts().into_iter().map(|attempt| (attempt.host, attempt.outcome)).collect();
        let fences = outcome.fences.clone();
        assert!(fences.is_some_and(|fences| fences.session_network), "{:?} {}", outcome.not_started, text(&outcome));
        (text(&outcome), hosts)
    }

    /// Starts a server in the background until the sender is dropped, and waits until it says that it is ready.
    fn serve(&self, script: &'static str) -> (oneshot::Sender<()>, std::thread::JoinHandle<()>) {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let access = self.admit(&[]);
        let (plan, setup) = (self.of.scene.plan(&["python3", "-u", "-c", script], Workspace), self.setup(&access));
        let handle = self.of.runtime.clone();
        let serving = std::thread::spawn(move || {
            let _access = access;
            let tell = |told: CommandReport<'_>| {
                if let CommandReport::Output(bytes) = told {
                    let _ = ready.send(String::from_utf8_lossy(bytes).into_owned());
                }
            };
            let until = async {
                let _ = stopped.await;
            };
            handle.block_on(run(&plan, &setup, tell, until, nobody()));
        });
        let said = is_ready.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(said.starts_with("ready"), "{said}");
        (stop, serving)
    }
}

const SERVER: &str = "
import http.server, threading
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'page')
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 5173), H)
print('ready'); s.serve_forever()
";

fn commands_of_a_session_reach_each_others_ports_and_those_of_no_other_session() {
    let networked = Networked::new();
    let (one, two) = (networked.session(), networked.session());
    let (stop, serving) = one.serve(SERVER);
    let curl = "curl -sS --max-time 5 http://localhost:5173/";
    let (said, hosts) = one.sh(curl, &[]);
    assert_eq!((said.as_str(), hosts.as_slice()), ("page", &[][..]));
    let (said, _) = two.sh(curl, &[]);
    assert!(said.contains("refused") || said.contains("connect"), "{said}");
    assert!(std::net::TcpStream::connect("127.0.0.1:5173").is_err(), "it is not in the user's network");
    drop(stop);
    serving.join().unwrap();
    let (said, _) = one.sh(curl, &[]);
    assert!(!said.contains("page"), "{said}");
}

/// A host of the test, outside of every sandbox: an address of the loopback device that variables do not exempt from the
/// proxy. It writes down what reaches it, by whichever way.
struct Outside {
    port: u16,
    port6: u16,
    udp: u16,
    udp6: u16,
    arrived: Arc<Mutex<Vec<String>>>,
    abstract_name: String,
}

impl Outside {
    fn start() -> Self {
        let arrived = Arc::default();
        let port = Self::listen("127.0.0.2:0", &arrived);
        let (port6, udp6) = (Self::listen("[::1]:0", &arrived), Self::receive("[::1]:0", &arrived));
        let udp = Self::receive("127.0.0.2:0", &arrived);
        let abstract_name = format!("trimtab-outside-{}-{port}", std::process::id());
        let address = |name: &str| std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        Self::accept(UnixListener::bind_addr(&address(&abstract_name)).unwrap(), &arrived);
        let datagrams = format!("{abstract_name}-datagram");
        Self::take(UnixDatagram::bind_addr(&address(&datagrams)).unwrap(), &arrived);
        Self { port, port6, udp, udp6, arrived, abstract_name }
    }

    /// Sockets in the file system, for streams and for datagrams.
    fn add_sockets(&self, stream: &Path, datagram: &Path) {
        Self::accept(UnixListener::bind(stream).unwrap(), &self.arrived);
        Self::take(UnixDatagram::bind(datagram).unwrap(), &self.arrived);
    }

    fn note(arrived: &Mutex<Vec<String>>, bytes: &[u8]) {
        arrived.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
    }

    fn listen(at: &str, arrived: &Arc<Mutex<Vec<String>>>) -> u16 {
        let listener = TcpListener::bind(at).unwrap();
        let port = listener.local_addr().unwrap().port();
        let arrived = Arc::clone(arrived);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let arrived = Arc::clone(&arrived);
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
                    let mut bytes = vec![0; 4096];
                    let count = stream.read(&mut bytes).unwrap_or(0);
                    Self::note(&arrived, &bytes[..count]);
                    let _ =
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside");
                });
            }
        });
        port
    }

    fn receive(at: &str, arrived: &Arc<Mutex<Vec<String>>>) -> u16 {
        let datagrams = UdpSocket::bind(at).unwrap();
        let port = datagrams.local_addr().unwrap().port();
        let arrived = Arc::clone(arrived);
        std::thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((count, _)) = datagrams.recv_from(&mut bytes) {
                Self::note(&arrived, &bytes[..count]);
            }
        });
        port
    }

    fn accept(listener: UnixListener, arrived: &Arc<Mutex<Vec<String>>>) {
        let arrived = Arc::clone(arrived);
        std::thread::spawn(move || {
            for _stream in listener.incoming().flatten() {
                Self::note(&arrived, b"a socket without a network");
            }
        });
    }

    fn take(socket: UnixDatagram, arrived: &Arc<Mutex<Vec<String>>>) {
        let arrived = Arc::clone(arrived);
        std::thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok(count) = socket.recv(&mut bytes) {
                Self::note(&arrived, &bytes[..count]);
            }
        });
    }

    fn arrived(&self) -> Vec<String> {
        self.arrived.lock().unwrap().clone()
    }
}

fn a_host_is_reached_only_with_a_rule_that_names_it() {
    let networked = Networked::new();
    let (session, outside) = (networked.session(), Outside::start());
    let curl = format!("curl -sS --max-time 10 http://127.0.0.2:{}/x", outside.port);
    let (said, hosts) = session.sh(&curl, &[]);
    assert!(said.contains("no rule allows"), "{said}");
    assert_eq!(hosts, [("127.0.0.2".to_owned(), HostOutcome::NoRule)]);
    assert!(outside.arrived().is_empty());
    let (said, hosts) = session.sh(&curl, &["127.0.0.2"]);
    assert_eq!((said.as_str(), hosts), ("outside", vec![("127.0.0.2".to_owned(), HostOutcome::Reached)]));
    assert!(outside.arrived()[0].starts_with("GET /x HTTP/1.1\r\n"));
    let (said, hosts) = session.sh(&curl, &["*", "127.0.0.3", "127.0.0.2:1"]);
    assert!(said.contains("not a public address"), "{said}");
    assert_eq!(hosts, [("127.0.0.2".to_owned(), HostOutcome::NotPublic)]);
    assert_eq!(outside.arrived().len(), 1);
}

/// The attempts, one in each row of a table. They may print anything: what counts is what arrives outside.
const ATTEMPTS: &str = include_str!("network_attempts.py");

/// The fewest attempts that there must be.
const FEWEST_ATTEMPTS: usize = 350;

/// Another command of the session, without a rule, that does what it is told.
const RELAY: &str = "
import base64, os, socket, threading, urllib.parse
proxy = urllib.parse.urlparse(os.environ['http_proxy'])
auth = base64.b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode()
def serve(c):
    words = c.recv(4096).decode().split()
    try:
        if words[0] == 'hello': c.sendall(b'hello')
        if words[0] == 'direct': socket.create_connection((words[1], int(words[2])), 2).sendall(b'relayed')
        if words[0] == 'listen': s = socket.socket(); s.bind((words[1], int(words[2]))); s.listen()
        if words[0] == 'proxy':
            u = f'{words[1]}:{words[2]}'
            s = socket.create_connection((proxy.hostname, proxy.port), 2)
            s.sendall(f'GET http://{u}/{words[-1]} HTTP/1.1\\r\\nHost: {u}\\r\\nProxy-Authorization: Basic {auth}\\r\\n\\r\\n'.encode())
            s.recv(4096)
    except OSError: pass
    c.sendall(b'.'); c.close()
s = socket.socket(); s.bind(('127.0.0.1', 5174)); s.listen(); print('ready')
while True: threading.Thread(target=serve, args=(s.accept()[0],)).start()
";

/// A host that is allowed, and that answers with a redirect to one that is not. Returns its address, and what it receives.
fn granted_host(target: u16) -> (String, Arc<Mutex<Vec<String>>>) {
    let granted = TcpListener::bind("127.0.0.3:0").unwrap();
    let at = format!("127.0.0.3:{}", granted.local_addr().unwrap().port());
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&received);
    let answer = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:{target}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    std::thread::spawn(move || {
        for mut stream in granted.incoming().flatten() {
            let (noted, answer) = (Arc::clone(&noted), answer.clone());
            std::thread::spawn(move || {
                let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
                let (mut all, mut bytes) = (Vec::new(), vec![0; 65536]);
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    all.extend_from_slice(&bytes[..count]);
                    // What follows a request is waited for.
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(150)));
                }
                Outside::note(&noted, &all);
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    (at, received)
}

fn no_way_leads_around_the_proxy() {
    let networked = Networked::new();
    let (session, outside) = (networked.session(), Outside::start());
    let (at, received) = granted_host(outside.port);
    let other_port = Outside::listen("127.0.0.3:0", &outside.arrived);
    let socket = networked.scene.at("outside.sock");
    outside.add_sockets(&socket, &networked.scene.at("outside.datagram"));
    outside.add_sockets(&networked.scene.at("in/outside.sock"), &networked.scene.at("in/outside.datagram"));
    let ended = session.admit(&["*"]).variables()[0].1.clone();
    let ended = ended.trim_start_matches("http://trimtab:").split('@').next().unwrap().to_owned();
    let (_stop, _relaying) = session.serve(RELAY);
    std::fs::write(networked.scene.at("in/attempts.py"), ATTEMPTS).unwrap();
    let Outside { port, port6, udp, udp6, abstract_name, .. } = &outside;
    let facts = serde_json::json!({
        "port": port, "port6": port6, "udp": udp, "udp6": udp6, "abstract": abstract_name, "socket": socket,
        "granted": at, "other_port": other_port, "ended": ended, "relay": 5174,
    });
    let (said, hosts) = session.sh(&format!("python3 attempts.py '{facts}'; sleep 0.5"), &[&at]);
    let tried: usize = said.lines().find_map(|line| line.strip_prefix("tried ")?.parse().ok()).unwrap_or(0);
    assert!(said.contains("controls True") && said.contains("still serves True"), "{said}");
    assert!(tried >= FEWEST_ATTEMPTS && !said.contains("BROKEN"), "{said}");
    assert!(!said.contains("OPENED"), "{said}");
    // What was started to run later has ended with the command.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(outside.arrived().is_empty(), "something got out: {:?} {hosts:?}", outside.arrived());
    let received = received.lock().unwrap().clone();
    assert!(!received.iter().any(|one| one.contains("evil.example")), "for another host: {received:?}");
    let (said, hosts) = session.sh(&format!("curl -sSL --max-time 10 http://{at}/"), &[&at]);
    assert!(said.contains("no rule allows"), "{said}");
    assert_eq!(hosts.last(), Some(&("127.0.0.2".to_owned(), HostOutcome::NoRule)));
    assert!(outside.arrived().is_empty(), "a redirect is another host");
}

fn commands_that_only_read_have_no_network_at_all() {
    let mut networked = Networked::new();
    networked.scene.automatic = Some(Read);
    let session = networked.session();
    let access = session.admit(&["127.0.0.2"]);
    let port = session.proxy.port();
    let script = format!("env | grep -i proxy; curl -sS --max-time 2 http://127.0.0.1:{port}/");
    let outcome = session.run(&script, &access);
    assert!(
        !text(&outcome).contains("407") && !text(&outcome).to_lowercase().contains("_proxy="),
        "{}",
        text(&outcome)
    );
    assert!(outcome.fences.is_some_and(|fences| !fences.session_network));
}

fn a_supervisor_that_waited_enters_the_network() {
    let networked = Networked::new();
    let session = networked.session();
    for _ in 0..4 {
        let (said, _) = session.sh("echo $http_proxy; ls /proc/net/dev", &[]);
        assert!(said.starts_with("http://trimtab:"), "{said}");
        let start = Instant::now();
        while !networked.scene.setup.ready.as_ref().unwrap().is_waiting() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn a_holder_that_was_killed_is_replaced() {
    let networked = Networked::new();
    let session = networked.session();
    for pid in own_holders() {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let start = Instant::now();
    while session.network.is_held() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!session.network.is_held());
    // A command that still names it starts, without a network.
    let access = session.admit(&[]);
    let outcome = session.run("echo started", &access);
    assert_eq!(text(&outcome), "started\n", "{:?}", outcome.not_started);
    assert!(outcome.fences.is_some_and(|fences| !fences.session_network));
    let (said, _) = networked.session().sh("echo again", &[]);
    assert_eq!(said, "again\n");
}

/// The holders that this process has started.
fn own_holders() -> Vec<u32> {
    let own = format!("PPid:\t{}", std::process::id());
    let is_own = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == own)
    };
    processes_with("networks").into_iter().filter(is_own).collect()
}

/// Runs a script in the network of a session until it is killed, and prints its holder first.
pub(crate) fn networked_host() -> ExitCode {
    let networked = Networked::new();
    let session = networked.session();
    println!("{}", own_holders().first().unwrap());
    let script = std::env::args().nth(2).unwrap();
    session.sh(&script, &[]);
    ExitCode::SUCCESS
}

fn nothing_is_left_when_the_host_is_killed() {
    for _ in 0..5 {
        let sleep = unique_sleep();
        let script = format!("python3 -m http.server 5173 >/dev/null 2>&1 & sleep {sleep}");
        let mut host = std::process::Command::new(std::env::current_exe().unwrap())
            .args([NETWORKED_HOST, &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(host.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let holder: u32 = line.trim().parse().unwrap();
        wait_for_processes(&sleep, 1);
        host.kill().unwrap();
        host.wait().unwrap();
        wait_for_processes(&sleep, 0);
        let start = Instant::now();
        let is_there = || {
            let line = std::fs::read(format!("/proc/{holder}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|part| part == b"networks")
        };
        while is_there() {
            assert!(start.elapsed() < Duration::from_secs(20), "the holder {holder} is left");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A process as it is told apart from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Seen {
    pid: u32,
    started: String,
    network: Option<PathBuf>,
}

impl Seen {
    fn of(pid: u32) -> Option<(Self, u32)> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let network = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let is_zombie = fields[0] == "Z";
        (!is_zombie).then(|| (Self { pid, started: fields[19].to_owned(), network }, fields[1].parse().unwrap()))
    }

    fn everyone() -> Vec<(Self, u32)> {
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        numbers.filter_map(|entry| Self::of(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// A process and all that it has started.
    fn family(pid: u32) -> Vec<Self> {
        let everyone = Self::everyone();
        let mut family: Vec<Self> =
            everyone.iter().filter(|(one, _)| one.pid == pid).map(|(one, _)| one.clone()).collect();
        let mut at = 0;
        while let Some(parent) = family.get(at).map(|one| one.pid) {
            family.extend(everyone.iter().filter(|(_, above)| *above == parent).map(|(one, _)| one.clone()));
            at += 1;
        }
        family
    }

    fn is_there(&self) -> bool {
        Self::of(self.pid).is_some_and(|(now, _)| now.started == self.started)
    }

    fn is_called(&self, part: &str) -> bool {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == part.as_bytes())
    }
}

/// Who is killed: by an argument of its command line; nothing: the host.
const VICTIMS: [Option<&str>; 4] = [None, Some("networks"), Some("fence"), Some(SUPERVISE)];

fn nothing_is_left_whoever_is_killed_and_whenever() {
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
    let mounts_before = mounts();
    for victim in VICTIMS {
        // While it starts, while the network is made, while the command starts, and while it runs.
        for moment in [Some(1), Some(8), Some(25), Some(60), Some(120), Some(300), Some(700), None] {
            let sleep = unique_sleep();
            let script = format!("python3 -m http.server 5173 >/dev/null 2>&1 & sleep {sleep}");
            let mut host = std::process::Command::new(std::env::current_exe().unwrap())
                .args([NETWORKED_HOST, &script])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            match moment {
                Some(moment) => std::thread::sleep(Duration::from_millis(moment)),
                None => drop(wait_for_processes(&sleep, 1)),
            }
            let mut family = Seen::family(host.id());
            let is_meant = |one: &&Seen| victim.is_some_and(|part| one.is_called(part));
            let is_anyone = victim.is_none() || family.iter().any(|one| is_meant(&one));
            assert!(moment.is_some() || is_anyone, "{victim:?} is not in {family:?}");
            for one in family.iter().filter(is_meant) {
                let pid = rustix::process::Pid::from_raw(i32::try_from(one.pid).unwrap()).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            if victim.is_some() {
                std::thread::sleep(Duration::from_millis(50));
                family.extend(Seen::family(host.id()));
            }
            host.kill().unwrap();
            host.wait().unwrap();
            let networks: HashSet<PathBuf> =
                family.iter().filter_map(|one| one.network.clone()).filter(|network| *network != own).collect();
            let left = || -> Vec<Seen> {
                let everyone = Seen::everyone().into_iter().map(|(one, _)| one);
                let in_network = |one: &Seen| one.network.as_ref().is_some_and(|network| networks.contains(network));
                everyone
                    .filter(|one| in_network(one) || family.iter().any(|known| known == one && known.is_there()))
                    .collect()
            };
            let start = Instant::now();
            while !left().is_empty() || !processes_with(&sleep).is_empty() {
                let late = start.elapsed() > Duration::from_secs(30);
                assert!(!late, "{victim:?} killed after {moment:?} ms leaves {:?}", left());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
    assert_eq!(mounts(), mounts_before);
}
