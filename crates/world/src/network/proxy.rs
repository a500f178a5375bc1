//! The proxy of one session: accepts, checks, connects, and copies.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use trimtab_vocab::wording::ProxyRefusal;
use trimtab_vocab::{HostAttempt, HostOutcome, HostPolicy, HostVerdict, plain_host};

use super::hello::{FirstBytes, LONGEST_HELLO, read_first};
use super::request::{
    Asked, BadRequest, BodyLength, Chunks, HostPort, LONGEST_HEAD, ProxyRequest, head_end, read_head, read_socks,
    socks_reply,
};

/// Connections of a session at a time. More wait.
const MOST_CONNECTIONS: usize = 256;
/// Hosts of one command that are listed.
const MOST_ATTEMPTS: usize = 64;
/// How long a program may take to say what it wants,
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// how long a name server,
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);
/// and how long one address of a host may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Addresses of a host that are tried.
const MOST_ADDRESSES: usize = 8;

/// The first byte of SOCKS5.
const SOCKS: u8 = 5;

/// Who knows where names lead.
#[derive(Debug, Clone)]
enum Resolver {
    System,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests know where every name leads"))]
    Known(Arc<HashMap<String, Vec<IpAddr>>>),
}

/// The proxy of a session. It ends when this is dropped.
#[derive(Debug)]
pub struct NetworkProxy {
    state: Arc<ProxyState>,
    port: u16,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct ProxyState {
    /// The commands that run, by their password.
    commands: Mutex<HashMap<String, Arc<ProxyAdmission>>>,
    resolver: Resolver,
}

/// What a command may reach and what it has tried.
#[derive(Debug)]
struct ProxyAdmission {
    policy: HostPolicy,
    attempts: Mutex<Vec<HostAttempt>>,
    /// Closed when the command has ended, and its connections with it.
    runs: watch::Receiver<()>,
}

/// The access of one command. Its connections end when this is dropped.
#[derive(Debug)]
pub struct CommandAccess {
    state: Arc<ProxyState>,
    token: String,
    port: u16,
    admission: Arc<ProxyAdmission>,
    _runs: watch::Sender<()>,
}

impl Drop for NetworkProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Drop for CommandAccess {
    fn drop(&mut self) {
        lock(&self.state.commands).remove(&self.token);
    }
}

impl NetworkProxy {
    /// Serves what comes to this socket, which is in the network of a session. Must be called in a runtime.
    pub fn start(listener: std::net::TcpListener) -> io::Result<Self> {
        Self::start_with(listener, Resolver::System)
    }

    fn start_with(listener: std::net::TcpListener, resolver: Resolver) -> io::Result<Self> {
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let state = Arc::new(ProxyState { commands: Mutex::default(), resolver });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state))).abort_handle();
        Ok(Self { state, port, accepting })
    }

    /// The port that it listens on, in the network of the session.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lets a command use it. Fails if there is no randomness for its password.
    pub fn admit(&self, policy: HostPolicy) -> Option<CommandAccess> {
        let (one, two) = (getrandom::u64().ok()?, getrandom::u64().ok()?);
        let token = format!("{one:016x}{two:016x}");
        let (sender, runs) = watch::channel(());
        let admission = Arc::new(ProxyAdmission { policy, attempts: Mutex::default(), runs });
        lock(&self.state.commands).insert(token.clone(), Arc::clone(&admission));
        Some(CommandAccess { state: Arc::clone(&self.state), token, port: self.port, admission, _runs: sender })
    }
}

impl CommandAccess {
    /// The hosts that the command has tried, in order.
    pub fn attempts(&self) -> Vec<HostAttempt> {
        lock(&self.admission.attempts).clone()
    }

    /// Variables that lead programs to the proxy. What runs in the session itself is reached directly.
    pub fn variables(&self) -> Vec<(String, String)> {
        const TO_PROXY: [&str; 12] = [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
            // Their own settings would count before the variables above.
            "npm_config_proxy",
            "npm_config_https_proxy",
            "YARN_HTTP_PROXY",
            "YARN_HTTPS_PROXY",
            "PIP_PROXY",
            "CARGO_HTTP_PROXY",
        ];
        const DIRECT: [&str; 3] = ["no_proxy", "NO_PROXY", "npm_config_noproxy"];
        let proxy = format!("http://trimtab:{}@127.0.0.1:{}", self.token, self.port);
        let to_proxy = TO_PROXY.iter().map(|name| ((*name).to_owned(), proxy.clone()));
        let direct = DIRECT.iter().map(|name| ((*name).to_owned(), "localhost,127.0.0.1,::1".to_owned()));
        let (address, port) = ("127.0.0.1", self.port);
        let properties =
            ["http", "https"].map(|scheme| format!("-D{scheme}.proxyHost={address} -D{scheme}.proxyPort={port}"));
        let jvm = format!("{} -Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]", properties.join(" "));
        // Node obeys the variables only if it is told to, and programs of the JVM have properties instead.
        let others = [("NODE_USE_ENV_PROXY", "1"), ("MAVEN_OPTS", &jvm), ("GRADLE_OPTS", &jvm)];
        let others = others.map(|(name, value)| (name.to_owned(), value.to_owned()));
        to_proxy.chain(direct).chain(others).collect()
    }
}

impl ProxyAdmission {
    fn note(&self, to: &HostPort, outcome: HostOutcome, address: Option<IpAddr>) {
        let address = address.map(|address| address.to_string());
        let attempt = HostAttempt { host: plain_host(&to.host), port: to.port, outcome, address };
        let mut attempts = lock(&self.attempts);
        if attempts.len() < MOST_ATTEMPTS && !attempts.contains(&attempt) {
            attempts.push(attempt);
        }
    }
}

impl ProxyState {
    /// The command that has this password. Some programs, such as those of the JVM, send none: they belong to the only
    /// command that runs. Beside another one, nobody could say whose they are.
    fn admission(&self, token: Option<&str>) -> Option<Arc<ProxyAdmission>> {
        let commands = lock(&self.commands);
        match token {
            Some(token) => commands.get(token).cloned(),
            None => commands.values().next().filter(|_| commands.len() == 1).cloned(),
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<ProxyState>) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    let _ = serve(stream, &state).await;
                    drop(slot);
                });
            }
            // Too many open files, or a connection that is gone already.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// How a program speaks to the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyDialect {
    Http,
    Socks,
}

async fn serve(mut client: TcpStream, state: &ProxyState) -> io::Result<()> {
    let _ = client.set_nodelay(true);
    let read = timeout(HEAD_TIMEOUT, read_request(&mut client)).await;
    let Some((dialect, asked, early)) = read.ok().flatten() else { return Ok(()) };
    let token = match &asked {
        Ok(asked) => asked.token.clone(),
        Err(BadRequest::Mismatch(_, token)) => token.clone(),
        Err(BadRequest::Malformed) => None,
    };
    let admission = state.admission(token.as_deref());
    let (asked, admission) = match (asked, admission) {
        (Ok(asked), Some(admission)) => (asked, admission),
        (Ok(_), None) => return refuse(&mut client, dialect, 407, &ProxyRefusal::NoPassword).await,
        (Err(BadRequest::Mismatch(to, _)), admission) => {
            admission.into_iter().for_each(|admission| admission.note(&to, HostOutcome::Mismatch, None));
            let refusal = ProxyRefusal::OtherHost(plain_host(&to.host));
            return refuse(&mut client, dialect, 400, &refusal).await;
        }
        (Err(BadRequest::Malformed), _) => return refuse(&mut client, dialect, 400, &ProxyRefusal::Malformed).await,
    };
    let mut runs = admission.runs.clone();
    tokio::select! {
        biased;
        // Only its end is ever reported.
        _ = runs.changed() => Ok(()),
        done = carry(client, dialect, asked.request, early, &admission, &state.resolver) => done,
    }
}

/// What a program asks for, and what it has sent besides.
async fn read_request(client: &mut TcpStream) -> Option<(ProxyDialect, Result<Asked, BadRequest>, Vec<u8>)> {
    let first = client.read_u8().await.ok()?;
    if first == SOCKS {
        let asked = read_socks(client).await?;
        return Some((ProxyDialect::Socks, Ok(asked), Vec::new()));
    }
    let mut head = vec![first];
    let end = loop {
        if let Some(end) = head_end(&head) {
            break end;
        }
        if head.len() > LONGEST_HEAD || client.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    };
    let early = head.split_off(end);
    Some((ProxyDialect::Http, read_head(&head), early))
}

async fn carry(
    mut client: TcpStream,
    dialect: ProxyDialect,
    request: ProxyRequest,
    early: Vec<u8>,
    admission: &ProxyAdmission,
    resolver: &Resolver,
) -> io::Result<()> {
    let (ProxyRequest::Tunnel(to) | ProxyRequest::Forward { to, .. }) = &request;
    let host = match connect(to, admission, resolver).await {
        Ok(host) => host,
        Err((outcome, address, refusal)) => {
            admission.note(to, outcome, address);
            let code = if outcome == HostOutcome::Failed { 502 } else { 403 };
            return refuse(&mut client, dialect, code, &refusal).await;
        }
    };
    match request {
        ProxyRequest::Tunnel(to) => {
            match dialect {
                ProxyDialect::Http => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
                ProxyDialect::Socks => client.write_all(&socks_reply(0)).await?,
            }
            tunnel(client, host, early, &to, admission).await;
            Ok(())
        }
        ProxyRequest::Forward { to, head, body } => {
            admission.note(&to, HostOutcome::Reached, None);
            forward(client, host, &head, early, body).await
        }
    }
}

type RefusedAttempt = (HostOutcome, Option<IpAddr>, ProxyRefusal);

/// Connects to a host, at an address that was checked: the name is looked up once.
async fn connect(to: &HostPort, admission: &ProxyAdmission, resolver: &Resolver) -> Result<TcpStream, RefusedAttempt> {
    let host = plain_host(&to.host);
    match admission.policy.judge(&host, to.port) {
        HostVerdict::Allowed => {}
        HostVerdict::Denied(_) => return Err((HostOutcome::Denied, None, ProxyRefusal::Denied(host))),
        HostVerdict::Unruled => return Err((HostOutcome::NoRule, None, ProxyRefusal::NoRule(host))),
    }
    let found = timeout(LOOKUP_TIMEOUT, resolver.look_up(&host)).await.ok().and_then(Result::ok).unwrap_or_default();
    let failed = || (HostOutcome::Failed, None, ProxyRefusal::Unreachable(host.clone()));
    let first = *found.first().ok_or_else(failed)?;
    let admitted: Vec<IpAddr> =
        found.into_iter().filter(|address| admission.policy.admits(*address, to.port)).take(MOST_ADDRESSES).collect();
    if admitted.is_empty() {
        let refusal = ProxyRefusal::NotPublic(host, first.to_string());
        return Err((HostOutcome::NotPublic, Some(first), refusal));
    }
    for address in admitted {
        let address = SocketAddr::new(address, to.port);
        if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(failed())
}

impl Resolver {
    async fn look_up(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        match self {
            Self::System => Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()),
            Self::Known(known) => known.get(host).cloned().ok_or_else(|| io::Error::other("no such name")),
        }
    }
}

/// Copies both ways once the first bytes of the program are checked.
async fn tunnel(mut client: TcpStream, mut host: TcpStream, early: Vec<u8>, to: &HostPort, admission: &ProxyAdmission) {
    let Some(first) = checked_bytes(&mut client, &mut host, early, to, admission).await else {
        return admission.note(to, HostOutcome::Mismatch, None);
    };
    admission.note(to, HostOutcome::Reached, None);
    if host.write_all(&first).await.is_ok() {
        let _ = tokio::io::copy_bidirectional(&mut client, &mut host).await;
    }
}

/// The first bytes of the program, unless they ask for another host. A host that speaks first is heard meanwhile.
async fn checked_bytes(
    client: &mut TcpStream,
    host: &mut TcpStream,
    mut early: Vec<u8>,
    to: &HostPort,
    admission: &ProxyAdmission,
) -> Option<Vec<u8>> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_host, _) = host.split();
    let mut buffer = vec![0; 8 * 1024];
    let mut is_heard_out = false;
    loop {
        match read_first(&early) {
            FirstBytes::Incomplete if early.len() <= LONGEST_HELLO => {}
            FirstBytes::Hello(Some(name)) if plain_host(&name) != plain_host(&to.host) => return None,
            FirstBytes::Broken | FirstBytes::Incomplete => return None,
            FirstBytes::Hello(_) | FirstBytes::NotTls => return Some(early),
        }
        tokio::select! {
            // What ends before it can be told is sent as it is: a host cannot make a name of it either.
            count = from_client.read_buf(&mut early) => if !matches!(count, Ok(1..)) { return Some(early) },
            // A host that says no more still receives, so what it receives is still checked.
            count = from_host.read(&mut buffer), if !is_heard_out => {
                admission.note(to, HostOutcome::Reached, None);
                let Ok(count @ 1..) = count else {
                    is_heard_out = true;
                    continue;
                };
                if to_client.write_all(&buffer[..count]).await.is_err() {
                    return Some(Vec::new());
                }
            }
        }
    }
}

/// Sends one request and its body, and copies the answer. What follows the body is not sent.
async fn forward(
    mut client: TcpStream,
    mut host: TcpStream,
    head: &[u8],
    early: Vec<u8>,
    body: BodyLength,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_host, mut to_host) = host.split();
    let send = async {
        to_host.write_all(head).await?;
        send_body(&mut from_client, &mut to_host, early, body).await?;
        // The answer may still come.
        std::future::pending::<io::Result<()>>().await
    };
    let answer = async {
        let mut buffer = vec![0; 16 * 1024];
        while let count @ 1.. = from_host.read(&mut buffer).await? {
            to_client.write_all(&buffer[..count]).await?;
        }
        to_client.shutdown().await
    };
    tokio::select! {
        sent = send => sent,
        answered = answer => answered,
    }
}

async fn send_body(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut piece: Vec<u8>,
    body: BodyLength,
) -> io::Result<()> {
    let mut left = match body {
        BodyLength::Bytes(length) => length,
        BodyLength::Chunked => u64::MAX,
    };
    let mut chunks = (body == BodyLength::Chunked).then(Chunks::default);
    loop {
        let fits = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let (count, is_over) = match &mut chunks {
            Some(chunks) => chunks.take(&piece).ok_or(io::ErrorKind::InvalidData)?,
            None => (fits, fits as u64 == left),
        };
        to.write_all(&piece[..count]).await?;
        if is_over {
            return to.flush().await;
        }
        left = left.saturating_sub(count as u64);
        piece.resize(16 * 1024, 0);
        let count = from.read(&mut piece).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        piece.truncate(count);
    }
}

/// Says no, and why.
async fn refuse(client: &mut TcpStream, dialect: ProxyDialect, code: u16, refusal: &ProxyRefusal) -> io::Result<()> {
    if dialect == ProxyDialect::Socks {
        client.write_all(&socks_reply(if code == 502 { 4 } else { 2 })).await?;
        return client.shutdown().await;
    }
    let (reason, more) = match code {
        407 => ("Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"trimtab\"\r\n"),
        403 => ("Blocked by Trimtab", ""),
        502 => ("Bad Gateway", ""),
        _ => ("Bad Request", ""),
    };
    let body = format!("{refusal}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {code} {reason}\r\n{more}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(body.as_bytes()).await?;
    client.shutdown().await
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
