//! The network of a session: its commands reach each other, and hosts outside only through the proxy.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use trimtab_vocab::CommandClass::{Check, Read};
use trimtab_vocab::Sandbox::Workspace;
use trimtab_vocab::{HostOutcome, HostPolicy, NetworkAccess};
use trimtab_world::network::{CommandAccess, NetworkProxy};
use trimtab_world::sandbox::{CommandNetwork, CommandOutcome, CommandReport, NetworkHolder, SandboxSetup, run};

use crate::scene::{Scene, nobody, processes_with, text, unique_sleep, wait_for_processes};

crate::checks![
    commands_of_a_session_reach_each_others_ports_and_those_of_no_other_session,
    a_host_is_reached_only_with_a_rule_that_names_it,
    no_way_leads_around_the_proxy,
    commands_that_only_read_have_no_network_at_all,
    a_supervisor_that_waited_enters_the_network,
    a_holder_that_was_killed_is_replaced,
    nothing_is_left_when_the_host_is_killed,
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
/// proxy. It counts what reaches it.
struct Outside {
    port: u16,
    udp: u16,
    reached: Arc<AtomicUsize>,
    seen: Arc<Mutex<String>>,
    name: String,
}

impl Outside {
    fn start() -> Self {
        let (reached, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(String::new())));
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (count, text) = (Arc::clone(&reached), Arc::clone(&seen));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let text = Arc::clone(&text);
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
                    let mut bytes = vec![0; 4096];
                    let count = stream.read(&mut bytes).unwrap_or(0);
                    text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
                    let _ =
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside");
                });
            }
        });
        let datagrams = UdpSocket::bind("127.0.0.2:0").unwrap();
        let udp = datagrams.local_addr().unwrap().port();
        let count = Arc::clone(&reached);
        std::thread::spawn(move || {
            while datagrams.recv_from(&mut [0; 64]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let name = format!("trimtab-outside-{}-{port}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        let socket = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
        let count = Arc::clone(&reached);
        std::thread::spawn(move || {
            for _stream in socket.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, udp, reached, seen, name }
    }

    fn reached(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }
}

fn a_host_is_reached_only_with_a_rule_that_names_it() {
    let networked = Networked::new();
    let (session, outside) = (networked.session(), Outside::start());
    let curl = format!("curl -sS --max-time 10 http://127.0.0.2:{}/x", outside.port);
    let (said, hosts) = session.sh(&curl, &[]);
    assert!(said.contains("no rule allows"), "{said}");
    assert_eq!(hosts, [("127.0.0.2".to_owned(), HostOutcome::NoRule)]);
    assert_eq!(outside.reached(), 0);
    let (said, hosts) = session.sh(&curl, &["127.0.0.2"]);
    assert_eq!((said.as_str(), hosts), ("outside", vec![("127.0.0.2".to_owned(), HostOutcome::Reached)]));
    assert!(outside.seen.lock().unwrap().starts_with("GET /x HTTP/1.1\r\n"));
    let (said, hosts) = session.sh(&curl, &["*", "127.0.0.3", "127.0.0.2:1"]);
    assert!(said.contains("not a public address"), "{said}");
    assert_eq!(hosts, [("127.0.0.2".to_owned(), HostOutcome::NotPublic)]);
    assert_eq!(outside.reached(), 1);
}

/// Each line is one attempt. It may print anything: what counts is what reaches the host outside.
const ATTEMPTS: &str = r#"
import base64, os, socket, struct, sys, urllib.parse
host, port, udp, name, granted = '127.0.0.2', int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
proxy = urllib.parse.urlparse(os.environ['http_proxy'])
auth = base64.b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode()
P = (proxy.hostname, proxy.port)
A = f'Proxy-Authorization: Basic {auth}\r\n'
def tcp(to, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(0.6); s.connect(to); s.send(b'x'); return s
def ask(text, more=b''):
    s = socket.create_connection(P, 3); s.settimeout(0.6)
    s.sendall((text if isinstance(text, bytes) else text.encode()) + more)
    out = b''
    try:
        while True:
            got = s.recv(4096)
            if not got: break
            out += got
    except OSError: pass
    return out
def get(authority, more='', path='/'):
    return ask(f'GET http://{authority}{path} HTTP/1.1\r\nHost: {authority}\r\n{A}{more}\r\n')
def connect(authority, after=b'', more=''):
    return ask(f'CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{A}{more}\r\n', after)
def udpsend(to, family=socket.AF_INET):
    socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', to)
def raw(kind):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, kind); s.sendto(b'\x08\0\0\0\0\0\0\0', (host, 0))
def packet():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('lo', 0)); s.send(b'x' * 64)
def socks(dst, command=1, user=None):
    u = (user if user is not None else proxy.password).encode()
    t = lambda b: bytes([len(b)]) + b
    ask(b'\x05\x01\x02\x01' + t(b'x') + t(u) + b'\x05' + bytes([command]) + b'\0\x03' + t(dst.encode()) + struct.pack('>H', port), b'x')
def unix(path, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_UNIX, kind); s.connect(path); s.send(b'x')
def inherited():
    for fd in range(3, 256):
        try: socket.socket(fileno=os.dup(fd)).sendto(b'x', (host, udp))
        except OSError: pass
        try: socket.socket(fileno=os.dup(fd)).connect((host, port))
        except OSError: pass
def setns(pid):
    import ctypes
    fd = os.open(f'/proc/{pid}/ns/net', os.O_RDONLY)
    ctypes.CDLL(None).setns(fd, 0); tcp((host, port))
def unshare():
    import ctypes
    ctypes.CDLL(None).unshare(0x10000000 | 0x40000000); tcp((host, port))
def vsock(): tcp((2, port), 40)
def netlink_route():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0))
    s.send(struct.pack('IHHIIBBBBI', 28, 24, 5, 1, 0, 2, 0, 0, 0, 254)); s.settimeout(0.6); s.recv(512); tcp((host, port))
def mapped(s): s6 = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); s6.settimeout(0.6); s6.connect((s, port, 0, 0))
def noproxy(): os.environ['no_proxy'] = '*'; os.system(f'curl -sS --max-time 3 --noproxy "*" http://{host}:{port}/ >/dev/null 2>&1')
def fork_later():
    if os.fork() == 0:
        os.setsid(); os.system(f'sleep 0.2; curl -sS --max-time 2 http://{host}:{port}/'); os._exit(0)
u = f'{host}:{port}'
attempts = [
 lambda: tcp((host, port)), lambda: tcp(('0.0.0.0', port)), lambda: tcp(('127.0.0.1', port)), lambda: tcp(('127.1', port)),
 lambda: mapped('::ffff:127.0.0.2'), lambda: mapped('::1'), lambda: mapped('::'), lambda: tcp(('localhost', port)),
 lambda: udpsend((host, udp)), lambda: udpsend(('127.255.255.255', udp)), lambda: udpsend(('224.0.0.251', 5353)),
 lambda: udpsend(('::ffff:127.0.0.2', udp, 0, 0), socket.AF_INET6), lambda: udpsend(('8.8.8.8', 53)),
 lambda: raw(1), lambda: raw(255), packet, vsock, netlink_route, unshare, lambda: setns(1), lambda: setns(os.getppid()),
 lambda: unix('\0' + name), lambda: unix('\0' + name, socket.SOCK_DGRAM), lambda: unix('/var/run/docker.sock'), inherited,
 lambda: socket.getaddrinfo('tunnel.example.org', 80), noproxy, fork_later,
 lambda: get(u), lambda: get(f'127.0.0.2.:{port}'), lambda: get(f'0x7f.2:{port}'), lambda: get(f'2130706434:{port}'), lambda: get(f'127.2:{port}'),
 lambda: get(f'0177.0.0.2:{port}'), lambda: get(f'[::ffff:127.0.0.2]:{port}'), lambda: get(f'[::ffff:7f00:2]:{port}'),
 lambda: get(f'[64:ff9b::7f00:2]:{port}'), lambda: get(f'{granted}@{u}'), lambda: get(f'{granted}:80@{u}'), lambda: get(f'{granted}#@{u}'),
 lambda: ask(f'GET http://{granted}/ HTTP/1.1\r\nHost: {u}\r\n{A}\r\n'),
 lambda: ask(f'GET http://{u}/ HTTP/1.1\r\nHost: {granted}\r\n{A}\r\n'),
 lambda: ask(f'GET http://{u}/ HTTP/1.1\r\nHost: {u}\r\n\r\n'),
 lambda: ask(f'GET http://{u}/ HTTP/1.1\r\nHost: {u}\r\nProxy-Authorization: Basic eDp5\r\n\r\n'),
 lambda: ask(f'GET / HTTP/1.1\r\nHost: {u}\r\n{A}\r\n'), lambda: ask(f'GET https://{u}/ HTTP/1.1\r\nHost: {u}\r\n{A}\r\n'),
 lambda: connect(u, b'x'), lambda: connect(f'{granted} {u}', b'x'), lambda: connect(f'{u}\x00{granted}', b'x'),
 lambda: connect(f'{granted}:80\r\nX: {u}', f'CONNECT {u} HTTP/1.1\r\n{A}\r\n'.encode()),
 lambda: connect(f'{granted}:80', f'GET http://{u}/ HTTP/1.1\r\nHost: {u}\r\n{A}\r\n'.encode()),
 lambda: ask(f'POST http://{granted}/ HTTP/1.1\r\nHost: {granted}\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n{A}\r\n0\r\n\r\nGET http://{u}/ HTTP/1.1\r\nHost: {u}\r\n{A}\r\n'),
 lambda: ask(f'GET http://{granted}/ HTTP/1.1\r\nHost: {granted}\r\n{A}\r\nGET http://{u}/ HTTP/1.1\r\nHost: {u}\r\n{A}\r\n'),
 lambda: socks(host), lambda: socks('127.2'), lambda: socks(host, 2), lambda: socks(host, 3), lambda: socks(host, 1, 'x'), lambda: socks(granted + '\0' + host),
 lambda: ask(b'\x04\x01' + struct.pack('>H', port) + bytes([127, 0, 0, 2]) + b'x\0'),
 lambda: ask(b'\x05\x01\0' + b'\x05\x01\0\x01' + bytes([127, 0, 0, 2]) + struct.pack('>H', port), b'x'),
]
socket.setdefaulttimeout(1)
for attempt in attempts:
    try: attempt()
    except Exception: pass
print('tried', len(attempts), flush=True)
"#;

fn no_way_leads_around_the_proxy() {
    let networked = Networked::new();
    let (session, outside) = (networked.session(), Outside::start());
    // A host that is allowed, and that answers with a redirect to the one that is not.
    let granted = TcpListener::bind("127.0.0.3:0").unwrap();
    let at = format!("127.0.0.3:{}", granted.local_addr().unwrap().port());
    let target = outside.port;
    std::thread::spawn(move || {
        for mut stream in granted.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
            let _ = stream.read(&mut [0; 4096]);
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:{target}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    std::fs::write(networked.scene.at("in/attempts.py"), ATTEMPTS).unwrap();
    let script = format!("python3 attempts.py {} {} {} {at}; sleep 0.6", outside.port, outside.udp, outside.name);
    let (said, hosts) = session.sh(&script, &[&at]);
    let tried: usize = said.lines().find_map(|line| line.strip_prefix("tried ")?.parse().ok()).unwrap_or(0);
    assert!(tried >= 60, "{said}");
    assert_eq!(outside.reached(), 0, "something got out: {hosts:?} {}", outside.seen.lock().unwrap());
    let (said, hosts) = session.sh(&format!("curl -sSL --max-time 10 http://{at}/"), &[&at]);
    assert!(said.contains("no rule allows"), "{said}");
    assert_eq!(hosts.last(), Some(&("127.0.0.2".to_owned(), HostOutcome::NoRule)));
    assert_eq!(outside.reached(), 0, "a redirect is another host");
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
