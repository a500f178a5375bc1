//! A port of a session's network that the user opened for a browser on this machine.
//!
//! Commands of a session listen in a network that nothing outside reaches. A forward listens on the loopback device of the
//! machine instead, and copies each connection to one port of that network. It leads in, and never out.
//!
//! A browser sends the cookies of a name to all ports of that name, and the server may be hostile. So a forward answers
//! to one name of this machine only, which is not the one that Trimtab's own page has. A server that leads the browser to
//! the other name, or a foreign name that resolves to this machine, gets nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::ReadHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use trimtab_vocab::LoopbackName;

use crate::sandbox::SessionNetwork;

/// Connections at a time. More wait.
const MOST_CONNECTIONS: usize = 64;
/// How long a server may take to accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Bytes at the beginning of a connection that are looked at.
const LONGEST_HEAD: usize = 64 * 1024;
/// Attempts to find a number that is free in both kinds of addresses.
const ATTEMPTS: usize = 8;

/// An open forward. It ends when this is dropped, and its connections with it.
#[derive(Debug)]
pub struct PortForward {
    port: u16,
    local: u16,
    name: Arc<AnsweredName>,
    accepting: Vec<AbortHandle>,
}

impl Drop for PortForward {
    fn drop(&mut self) {
        self.accepting.iter().for_each(AbortHandle::abort);
    }
}

impl PortForward {
    /// Listens on the same port of this machine, or on another one if that is taken.
    pub async fn start(network: Arc<SessionNetwork>, port: u16, name: LoopbackName) -> io::Result<Self> {
        let mut bound = bind(port).await;
        for _ in 0..ATTEMPTS {
            if bound.is_ok() {
                break;
            }
            bound = bind(0).await;
        }
        let (local, listeners) = bound?;
        let name = Arc::new(AnsweredName::new(name));
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let accepting = |listener| {
            let way = ForwardedWay { network: Arc::clone(&network), port, local, name: Arc::clone(&name) };
            tokio::spawn(accept(listener, way, Arc::clone(&places))).abort_handle()
        };
        let accepting = listeners.into_iter().map(accepting).collect();
        Ok(Self { port, local, name, accepting })
    }

    /// The port in the network of the session.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of this machine.
    pub fn local(&self) -> u16 {
        self.local
    }

    /// The name that it answers to.
    pub fn name(&self) -> LoopbackName {
        self.name.get()
    }

    /// Answers to another name from the next connection on, and to the one before no more.
    pub fn rename(&self, name: LoopbackName) {
        self.name.set(name);
    }
}

#[derive(Debug)]
struct AnsweredName(AtomicBool);

impl AnsweredName {
    fn new(name: LoopbackName) -> Self {
        Self(AtomicBool::new(name == LoopbackName::Address))
    }

    fn get(&self) -> LoopbackName {
        if self.0.load(Ordering::Relaxed) { LoopbackName::Address } else { LoopbackName::Localhost }
    }

    fn set(&self, name: LoopbackName) {
        self.0.store(name == LoopbackName::Address, Ordering::Relaxed);
    }
}

/// Listens on a port in both kinds of addresses: `localhost` can mean either, and a browser must not reach another
/// server at the same number.
async fn bind(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let local = first.local_addr()?.port();
    match TcpListener::bind((IpAddr::from(Ipv6Addr::LOCALHOST), local)).await {
        Ok(second) => Ok((local, vec![first, second])),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // This machine has only the other kind.
        Err(_) => Ok((local, vec![first])),
    }
}

/// Where connections go.
#[derive(Debug, Clone)]
struct ForwardedWay {
    network: Arc<SessionNetwork>,
    port: u16,
    local: u16,
    name: Arc<AnsweredName>,
}

async fn accept(listener: TcpListener, way: ForwardedWay, places: Arc<Semaphore>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((ours, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let way = way.clone();
        connections.spawn(async move {
            // A server that does not answer closes the connection, as it would without a forward.
            if let Some(theirs) = connect(&way.network, way.port).await {
                let _ = copy(ours, theirs, way.name.get(), way.local).await;
            }
            drop(place);
        });
    }
}

/// Copies a connection both ways. The server gets nothing before the beginning of what the browser says was looked at; what
/// the server says first, as some do, is passed on.
async fn copy(mut ours: TcpStream, mut theirs: TcpStream, name: LoopbackName, local: u16) -> io::Result<()> {
    let verdict = {
        let (mut our_reader, mut our_writer) = ours.split();
        let (mut their_reader, mut their_writer) = theirs.split();
        let inwards = async {
            let mut head = Vec::new();
            let verdict = read_head(&mut our_reader, &mut head, name).await?;
            if verdict == HeadVerdict::Passes {
                their_writer.write_all(&head).await?;
                tokio::io::copy(&mut our_reader, &mut their_writer).await?;
                their_writer.shutdown().await?;
            }
            Ok::<HeadVerdict, io::Error>(verdict)
        };
        let outwards = async {
            tokio::io::copy(&mut their_reader, &mut our_writer).await?;
            our_writer.shutdown().await
        };
        let (mut inwards, mut outwards) = (std::pin::pin!(inwards), std::pin::pin!(outwards));
        tokio::select! {
            verdict = &mut inwards => {
                let verdict = verdict?;
                if verdict == HeadVerdict::Passes {
                    outwards.await?;
                }
                verdict
            }
            done = &mut outwards => {
                done?;
                inwards.await?
            }
        }
    };
    if verdict == HeadVerdict::OtherName {
        let text = format!("Trimtab opened this port as http://{}:{local}. Use that address.\n", name.as_str());
        let length = text.len();
        let answer = format!(
            "HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        );
        ours.write_all(answer.as_bytes()).await?;
        ours.shutdown().await?;
    }
    Ok(())
}

/// What the beginning of a connection says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadVerdict {
    Passes,
    /// It calls this machine by another name than the one that the port was opened under.
    OtherName,
    /// The same, in a protocol in which it cannot be told so.
    OtherNameInTls,
    /// More must be read.
    Unfinished,
}

async fn read_head(from: &mut ReadHalf<'_>, head: &mut Vec<u8>, name: LoopbackName) -> io::Result<HeadVerdict> {
    loop {
        if from.read_buf(head).await? == 0 {
            return Ok(HeadVerdict::Passes);
        }
        match judge(head, name) {
            HeadVerdict::Unfinished if head.len() > LONGEST_HEAD => return Ok(HeadVerdict::OtherName),
            HeadVerdict::Unfinished => {}
            verdict => return Ok(verdict),
        }
    }
}

/// Judges the first request of a connection. A browser uses a connection for one name only. Protocols that no browser
/// speaks pass: they know no cookies.
fn judge(head: &[u8], name: LoopbackName) -> HeadVerdict {
    if head.first() == Some(&0x16) {
        return judge_tls(head, name);
    }
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    match head.iter().position(|b| !is_token(b)) {
        None => return HeadVerdict::Unfinished,
        Some(end) if end == 0 || head[end] != b' ' => return HeadVerdict::Passes,
        Some(_) => {}
    }
    let mut lines = head.split_inclusive(|b| *b == b'\n').map(|line| (line, line.trim_ascii()));
    let Some((first, request)) = lines.next().filter(|(line, _)| line.ends_with(b"\n")) else {
        return HeadVerdict::Unfinished;
    };
    let is_http = first.windows(8).any(|part| part == b" HTTP/1.");
    if !is_http {
        return HeadVerdict::Passes;
    }
    let target = request.split(|b| *b == b' ').nth(1);
    let mut is_own = target.is_some_and(|target| matches!(target.first(), Some(b'/' | b'*')));
    for (whole, line) in lines {
        if !whole.ends_with(b"\n") {
            break;
        }
        if line.is_empty() {
            return if is_own { HeadVerdict::Passes } else { HeadVerdict::OtherName };
        }
        let mut parts = line.splitn(2, |b| *b == b':');
        if parts.next().is_some_and(|field| field.eq_ignore_ascii_case(b"host")) {
            is_own &= parts.next().is_some_and(|host| is_named(host.trim_ascii(), name));
        }
    }
    HeadVerdict::Unfinished
}

/// Whether a `Host` has this name, with any port.
fn is_named(host: &[u8], name: LoopbackName) -> bool {
    let host = host.split(|b| *b == b':').next().unwrap_or_default();
    host.eq_ignore_ascii_case(name.as_str().as_bytes())
}

/// `localhost` as TLS names a server.
const LOCALHOST: &[u8] = b"\0\0\x09localhost";

/// The first record of TLS has the name of the server in plain, unless that is an address.
fn judge_tls(head: &[u8], name: LoopbackName) -> HeadVerdict {
    let Some(length) = head.get(3..5) else { return HeadVerdict::Unfinished };
    let Some(record) = head.get(5..5 + usize::from(u16::from_be_bytes([length[0], length[1]]))) else {
        return HeadVerdict::Unfinished;
    };
    let is_localhost = record.windows(LOCALHOST.len()).any(|part| part.eq_ignore_ascii_case(LOCALHOST));
    let is_own = is_localhost == (name == LoopbackName::Localhost);
    if is_own { HeadVerdict::Passes } else { HeadVerdict::OtherNameInTls }
}

/// Connects to the port. Some servers listen on only one kind of address.
async fn connect(network: &Arc<SessionNetwork>, port: u16) -> Option<TcpStream> {
    for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))] {
        let network = Arc::clone(network);
        let made = tokio::task::spawn_blocking(move || network.socket(address.is_ipv6())).await;
        let Ok(Ok(socket)) = made else { continue };
        if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, tcp_socket(socket).connect(address)).await {
            return Some(stream);
        }
    }
    None
}

fn tcp_socket(socket: OwnedFd) -> TcpSocket {
    TcpSocket::from_std_stream(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(host: &str) -> Vec<u8> {
        format!("GET / HTTP/1.1\r\nAccept: */*\r\nHOST:  {host}\r\n\r\n").into_bytes()
    }

    #[test]
    fn a_browser_reaches_a_server_under_one_name_only() {
        let (localhost, address) = (LoopbackName::Localhost, LoopbackName::Address);
        for (host, name, expected) in [
            ("localhost:5173", localhost, HeadVerdict::Passes),
            ("LocalHost", localhost, HeadVerdict::Passes),
            ("127.0.0.1:5173", localhost, HeadVerdict::OtherName),
            ("[::1]:5173", localhost, HeadVerdict::OtherName),
            ("evil.example:5173", localhost, HeadVerdict::OtherName),
            ("localhost.evil.example", localhost, HeadVerdict::OtherName),
            ("", localhost, HeadVerdict::OtherName),
            ("127.0.0.1:5173", address, HeadVerdict::Passes),
            ("localhost:5173", address, HeadVerdict::OtherName),
        ] {
            let request = get(host);
            assert_eq!(judge(&request, name), expected, "{host}");
            for end in 1..request.len() {
                assert_eq!(judge(&request[..end], name), HeadVerdict::Unfinished, "{host} {end}");
            }
        }
        let two = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n";
        assert_eq!(judge(two, localhost), HeadVerdict::OtherName);
        let whole = b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(judge(whole, localhost), HeadVerdict::OtherName);
    }

    #[test]
    fn protocols_that_no_browser_speaks_pass() {
        for head in [&b"\0\0\0\x08\x04\xd2\x16\x2f"[..], b"PING\r\n", b"SSH-2.0-x y\r\n", b"*1\r\n", b"{\"a\": 1}"] {
            assert_eq!(judge(head, LoopbackName::Localhost), HeadVerdict::Passes, "{head:?}");
        }
        // Without a name it is not a browser.
        assert_eq!(judge(b"GET / HTTP/1.0\r\n\r\n", LoopbackName::Localhost), HeadVerdict::Passes);
    }

    #[test]
    fn the_name_in_tls_counts_as_well() {
        let hello = |name: &[u8]| {
            let length = u16::try_from(name.len() + 3).expect("short").to_be_bytes();
            let size = u16::try_from(name.len()).expect("short").to_be_bytes();
            [&[0x16, 3, 1][..], &length, &[0], &size, name].concat()
        };
        let (localhost, address) = (LoopbackName::Localhost, LoopbackName::Address);
        assert_eq!(judge(&hello(b"localhost"), localhost), HeadVerdict::Passes);
        assert_eq!(judge(&hello(b"evil.example"), localhost), HeadVerdict::OtherNameInTls);
        assert_eq!(judge(&hello(b"localhost"), address), HeadVerdict::OtherNameInTls);
        assert_eq!(judge(&hello(b""), address), HeadVerdict::Passes);
        assert_eq!(judge(&hello(b"localhost")[..9], localhost), HeadVerdict::Unfinished);
    }

    #[tokio::test]
    async fn a_number_that_another_server_has_in_either_kind_of_address_is_not_taken() {
        let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else { return };
        let taken = other.local_addr().expect("an address").port();
        assert!(bind(taken).await.is_err());
        drop(other);
        let (port, listeners) = bind(taken).await.expect("free");
        assert_eq!((port, listeners.len()), (taken, 2));
    }
}
