//! The proxy with real sockets on the loopback device.

use base64::Engine as _;
use trimtab_vocab::NetworkAccess;

use super::super::hello::tests::hello;
use super::*;

/// A host that answers every connection with what it has received until the first empty line, or until `patience`.
struct Upstream {
    port: u16,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Upstream {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let at = {
                    let mut kept = lock(&kept);
                    kept.push(Vec::new());
                    kept.len() - 1
                };
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut buffer = [0; 4096];
                    while let Ok(Ok(count @ 1..)) = timeout(Duration::from_millis(200), stream.read(&mut buffer)).await
                    {
                        lock(&kept)[at].extend_from_slice(&buffer[..count]);
                    }
                    let _ =
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").await;
                });
            }
        });
        Self { port, seen }
    }

    fn seen(&self) -> Vec<String> {
        lock(&self.seen).iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

fn policy(allowed: &[&str]) -> HostPolicy {
    let allowed = allowed.iter().map(|pattern| (*pattern).to_owned()).collect();
    HostPolicy { access: NetworkAccess::Ask, allowed, ..HostPolicy::default() }
}

fn proxy(names: &[(&str, &str)]) -> NetworkProxy {
    let known = names.iter().map(|(name, address)| {
        ((*name).to_owned(), address.split(' ').map(|address| address.parse().expect("an address")).collect())
    });
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    NetworkProxy::start_with(listener, Resolver::Known(Arc::new(known.collect()))).expect("a proxy")
}

fn authorization(access: &CommandAccess) -> String {
    let coded = base64::engine::general_purpose::STANDARD.encode(format!("trimtab:{}", access.token));
    format!("Proxy-Authorization: Basic {coded}\r\n")
}

/// Sends this to the proxy and reads until the end.
async fn talk(proxy: &NetworkProxy, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.expect("the proxy");
    stream.write_all(bytes).await.expect("it listens");
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get(proxy: &NetworkProxy, access: &CommandAccess, host: &str) -> String {
    let head = format!("GET http://{host}/x HTTP/1.1\r\nHost: {host}\r\n{}\r\n", authorization(access));
    talk(proxy, head.as_bytes()).await
}

fn outcomes(access: &CommandAccess) -> Vec<(String, HostOutcome)> {
    access.attempts().into_iter().map(|attempt| (attempt.host, attempt.outcome)).collect()
}

#[tokio::test]
async fn a_host_is_reached_only_with_a_rule_and_only_by_the_command_that_has_it() {
    let upstream = Upstream::start().await;
    let proxy = proxy(&[]);
    let (with, without) = (proxy.admit(policy(&["127.0.0.1"])).expect("one"), proxy.admit(policy(&[])).expect("two"));
    let host = format!("127.0.0.1:{}", upstream.port);
    assert!(get(&proxy, &with, &host).await.ends_with("ok"));
    let refused = get(&proxy, &without, &host).await;
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("no rule allows"), "{refused}");
    let unknown = talk(&proxy, format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await;
    assert!(unknown.starts_with("HTTP/1.1 407 "), "{unknown}");
    assert_eq!(outcomes(&with), [("127.0.0.1".to_owned(), HostOutcome::Reached)]);
    assert_eq!(outcomes(&without), [("127.0.0.1".to_owned(), HostOutcome::NoRule)]);
    assert_eq!(upstream.seen().len(), 1);
    // What a command was allowed ends with it.
    let head = format!("GET http://{host}/x HTTP/1.1\r\nHost: {host}\r\n{}\r\n", authorization(&with));
    drop(with);
    assert!(talk(&proxy, head.as_bytes()).await.starts_with("HTTP/1.1 407 "));
}

#[tokio::test]
async fn a_program_that_sends_no_password_belongs_to_the_only_command() {
    let upstream = Upstream::start().await;
    let proxy = proxy(&[]);
    let host = format!("127.0.0.1:{}", upstream.port);
    let plain = format!("GET http://{host}/x HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert!(talk(&proxy, plain.as_bytes()).await.starts_with("HTTP/1.1 407 "), "there is no command");
    let one = proxy.admit(policy(&["127.0.0.1"])).expect("one");
    assert!(talk(&proxy, plain.as_bytes()).await.ends_with("ok"));
    assert_eq!(outcomes(&one), [("127.0.0.1".to_owned(), HostOutcome::Reached)]);
    // It has the rules of that command, and a wrong password is not none.
    let other = "GET http://127.0.0.2/x HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n";
    assert!(talk(&proxy, other.as_bytes()).await.starts_with("HTTP/1.1 403 "));
    let wrong = plain.replace("\r\n\r\n", "\r\nProxy-Authorization: Basic dHJpbXRhYjp4\r\n\r\n");
    assert!(talk(&proxy, wrong.as_bytes()).await.starts_with("HTTP/1.1 407 "));
    // Beside a second command, it could be of either one.
    let two = proxy.admit(policy(&["127.0.0.1"])).expect("two");
    assert!(talk(&proxy, plain.as_bytes()).await.starts_with("HTTP/1.1 407 "));
    drop(one);
    assert!(talk(&proxy, plain.as_bytes()).await.ends_with("ok"));
    assert_eq!(outcomes(&two), [("127.0.0.1".to_owned(), HostOutcome::Reached)]);
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_needs_a_rule_for_the_address() {
    let upstream = Upstream::start().await;
    let proxy =
        proxy(&[("evil.org", "127.0.0.1"), ("both.org", "10.9.9.9 127.0.0.1"), ("meta.org", "169.254.169.254")]);
    let access = proxy.admit(policy(&["evil.org", "both.org", "meta.org", "gone.org"])).expect("one");
    for host in ["evil.org", "both.org", "meta.org"] {
        let answer = get(&proxy, &access, &format!("{host}:{}", upstream.port)).await;
        assert!(answer.contains("not a public address"), "{answer}");
    }
    assert!(get(&proxy, &access, "gone.org").await.starts_with("HTTP/1.1 502 "));
    assert_eq!(access.attempts()[0].missing_rule(), Some(format!("127.0.0.1:{}", upstream.port)));
    assert!(upstream.seen().is_empty());
    let both = proxy.admit(policy(&["both.org", "127.0.0.1"])).expect("one");
    assert!(
        get(&proxy, &both, &format!("both.org:{}", upstream.port)).await.ends_with("ok"),
        "the admitted one of two"
    );
}

#[tokio::test]
async fn a_tunnel_carries_only_the_host_that_it_was_opened_for() {
    let upstream = Upstream::start().await;
    let proxy = proxy(&[("good.org", "127.0.0.1")]);
    let access = proxy.admit(policy(&["good.org", "127.0.0.1"])).expect("one");
    let connect =
        format!("CONNECT good.org:{} HTTP/1.1\r\nHost: good.org\r\n{}\r\n", upstream.port, authorization(&access));
    let tunnel = |first: Vec<u8>| [connect.clone().into_bytes(), first].concat();
    let evil = talk(&proxy, &tunnel(hello(Some("evil.org")))).await;
    assert_eq!(evil, "HTTP/1.1 200 Connection established\r\n\r\n");
    assert!(upstream.seen().iter().all(String::is_empty), "nothing was sent: {:?}", upstream.seen());
    assert_eq!(outcomes(&access), [("good.org".to_owned(), HostOutcome::Mismatch)]);
    for first in [hello(Some("GOOD.org")), hello(None), b"SSH-2.0-x\r\n".to_vec()] {
        assert!(talk(&proxy, &tunnel(first)).await.ends_with("ok"));
    }
    let broken = talk(&proxy, &tunnel(vec![0x16, 3, 1, 0, 2, 1, 0, 0x17, 3, 3, 0, 1, 0])).await;
    assert!(!broken.ends_with("ok"), "{broken}");
}

#[tokio::test]
async fn what_follows_a_request_goes_nowhere() {
    let upstream = Upstream::start().await;
    let proxy = proxy(&[]);
    let access = proxy.admit(policy(&["127.0.0.1"])).expect("one");
    let (host, auth) = (format!("127.0.0.1:{}", upstream.port), authorization(&access));
    let second = "GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n";
    for (more, body) in
        [("Content-Length: 3\r\n", "abc"), ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"), ("", "")]
    {
        let head = format!("POST http://{host}/x HTTP/1.1\r\nHost: {host}\r\n{auth}{more}\r\n{body}{second}");
        assert!(talk(&proxy, head.as_bytes()).await.ends_with("ok"));
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), 3);
    for seen in &seen {
        assert!(
            seen.starts_with("POST /x HTTP/1.1\r\n") && !seen.contains("evil") && !seen.contains("Proxy-"),
            "{seen}"
        );
    }
    let other = format!("GET http://{host}/ HTTP/1.1\r\nHost: evil.org\r\n{auth}\r\n");
    assert!(talk(&proxy, other.as_bytes()).await.starts_with("HTTP/1.1 400 "));
    assert!(outcomes(&access).contains(&("127.0.0.1".to_owned(), HostOutcome::Mismatch)));
}

#[tokio::test]
async fn socks_connects_by_the_same_rules() {
    let upstream = Upstream::start().await;
    let proxy = proxy(&[("good.org", "127.0.0.1")]);
    let access = proxy.admit(policy(&["good.org", "127.0.0.1"])).expect("one");
    let port = upstream.port.to_be_bytes();
    let ask = |token: &str, host: &str, command: u8| {
        let text = |text: &str| [&[u8::try_from(text.len()).expect("short")][..], text.as_bytes()].concat();
        [&[5, 1, 2, 1][..], &text("trimtab"), &text(token), &[5, command, 0, 3], &text(host), &port].concat()
    };
    let good = talk(&proxy, &[ask(&access.token, "good.org", 1), b"hello".to_vec()].concat()).await;
    assert!(good.ends_with("ok"), "{good:?}");
    assert_eq!(upstream.seen(), ["hello"]);
    for (token, host, command) in
        [("x", "good.org", 1), (&*access.token, "evil.org", 1), (&*access.token, "good.org", 2)]
    {
        let answer = talk(&proxy, &ask(token, host, command)).await;
        assert!(!answer.ends_with("ok") && !answer.as_bytes().ends_with(&socks_reply(0)), "{answer:?}");
    }
    assert!(talk(&proxy, &[5, 1, 0]).await.len() <= 2 + 4, "no connection without a password");
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn connections_end_with_the_command_and_hosts_are_listed_within_bounds() {
    let upstream = Upstream::start().await;
    let proxy = proxy(&[]);
    let access = proxy.admit(policy(&["127.0.0.1"])).expect("one");
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.expect("the proxy");
    let connect = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\nHost: x\r\n{}\r\n", upstream.port, authorization(&access));
    stream.write_all(connect.as_bytes()).await.expect("it listens");
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).await.expect("an answer");
    for number in 0..200 {
        let _ = get(&proxy, &access, &format!("h{number}.org")).await;
    }
    assert_eq!(access.attempts().len(), MOST_ATTEMPTS);
    drop(access);
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection outlives the command");
}
