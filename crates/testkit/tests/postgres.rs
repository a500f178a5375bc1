//! What only a server on the network can do to a store: broken connections at chosen moments, a crash of the server,
//! processes that fall silent, and refusals.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trimtab_testkit::postgres::PostgresServer;
use trimtab_vocab::event::{BannerFact, Level};
use trimtab_vocab::{Event, SessionId, Time};
use trimtab_world::clock::SystemClock;
use trimtab_world::store::{
    AuditCheck, AuditEntry, Claim, Commit, Lease, NewInput, PostgresStore, SessionRow, Store, StoreError,
};

/// When the proxy breaks a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The server never hears the words.
    Before,
    /// The server has answered, and the answer is lost.
    After,
}

/// Stands between a store and its server.
struct Proxy {
    port: u16,
    state: Arc<ProxyState>,
}

#[derive(Default)]
struct ProxyState {
    /// Connections that send this text are cut then, so many times.
    plan: Mutex<Option<(&'static str, Cut)>>,
    cuts: AtomicU32,
    closed: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let state = Arc::new(ProxyState::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.closed.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let both = [near.try_clone().expect("a copy"), far.try_clone().expect("a copy")];
                shared.open.lock().unwrap_or_else(PoisonError::into_inner).extend(both);
                let lost = Arc::new(AtomicBool::new(false));
                let copies = (near.try_clone().expect("a copy"), far.try_clone().expect("a copy"));
                let (there, back) = (Arc::clone(&shared), Arc::clone(&lost));
                std::thread::spawn(move || pass_on(near, far, &there, &lost));
                std::thread::spawn(move || pass_back(copies.1, copies.0, &back));
            }
        });
        Self { port, state }
    }

    /// Cuts the next connection that sends this text.
    fn cut(&self, text: &'static str, cut: Cut) {
        *self.state.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some((text, cut));
    }

    fn cuts(&self) -> u32 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Breaks all connections, and lets no new one through.
    fn close(&self) {
        self.state.closed.store(true, Ordering::SeqCst);
        self.cut_all();
    }

    fn reopen(&self) {
        self.state.closed.store(false, Ordering::SeqCst);
    }

    fn cut_all(&self) {
        for stream in self.state.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass_on(mut near: TcpStream, mut far: TcpStream, state: &ProxyState, lost: &AtomicBool) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = near.read(&mut buffer) {
        let part = &buffer[..length];
        let planned = {
            let mut plan = state.plan.lock().unwrap_or_else(PoisonError::into_inner);
            plan.take_if(|(text, _)| part.windows(text.len()).any(|window| window == text.as_bytes()))
        };
        match planned {
            Some((_, Cut::Before)) => {
                state.cuts.fetch_add(1, Ordering::SeqCst);
                let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
                return;
            }
            Some((_, Cut::After)) => {
                state.cuts.fetch_add(1, Ordering::SeqCst);
                // Whoever passes the answer back drops it and ends both.
                lost.store(true, Ordering::SeqCst);
            }
            None => {}
        }
        if far.write_all(part).is_err() {
            break;
        }
    }
    let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
}

fn pass_back(mut far: TcpStream, mut near: TcpStream, lost: &AtomicBool) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = far.read(&mut buffer) {
        if lost.load(Ordering::SeqCst) || near.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
}

fn session() -> SessionId {
    "s1".parse().expect("an id")
}

fn input(payload: &str) -> NewInput {
    NewInput { payload: payload.into(), ..NewInput::default() }
}

fn event(seq: u64) -> Event {
    let fact = BannerFact { level: Level::Info, text: format!("fact {seq}") }.into();
    Event { seq: Some(seq), time: Time::from_millis(0), session: session(), request: None, fact }
}

fn try_open(url: &str) -> Result<PostgresStore, StoreError> {
    let folder = tempfile::tempdir().expect("a folder");
    PostgresStore::open(url, folder.path(), Arc::new(SystemClock))
}

fn open(url: &str) -> PostgresStore {
    try_open(url).expect("opens")
}

async fn owned(store: &PostgresStore) -> Lease {
    use trimtab_world::store::LeaseStore;
    match store.claim(&session()).await.expect("answers") {
        Claim::Granted(lease) => lease,
        Claim::Held { by } => panic!("it is held by {by}"),
    }
}

async fn payloads(store: &dyn Store) -> Vec<String> {
    store.inbox(&session()).await.expect("read").into_iter().map(|row| row.payload).collect()
}

async fn make(store: &dyn Store) {
    let row = SessionRow::new(session(), "/a".into(), String::new(), Time::from_millis(0));
    store.create_session(row, Vec::new()).await.expect("made");
}

#[tokio::test]
async fn a_connection_that_breaks_at_any_moment_loses_nothing_and_doubles_nothing() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = Proxy::start(server.port());
    // Without TLS, so that the proxy can read along.
    let url = format!("{}&sslmode=disable", server.schema_at(proxy.port));
    let store = open(&url);
    make(&store).await;
    let lease = owned(&store).await;
    let mut expected = Vec::new();
    // At the beginning, in the middle, and at both sides of the end.
    let moments = ["BEGIN", "inbox", "COMMIT"];
    for (round, (text, cut)) in
        moments.iter().flat_map(|text| [(*text, Cut::Before), (*text, Cut::After)]).enumerate().collect::<Vec<_>>()
    {
        let cuts = proxy.cuts();
        proxy.cut(text, cut);
        let payload = format!("{round} {text} {cut:?}");
        // A statement goes over the wire with its words only before the connection knows it.
        if text == "inbox" {
            proxy.cut_all();
            proxy.cut(text, cut);
        }
        store_trait(&store).enqueue(&session(), input(&payload)).await.expect("taken");
        assert_eq!(proxy.cuts(), cuts + 1, "{payload}: the connection was cut");
        expected.push(payload);
        assert_eq!(payloads(&store).await, expected);
    }
    for (seq, cut) in [(1, Cut::Before), (2, Cut::After)] {
        proxy.cut("COMMIT", cut);
        let entry = AuditEntry::new("test", serde_json::json!({"seq": seq}));
        let commit = Commit { events: vec![event(seq)], audit: vec![entry], ..Commit::default() };
        store_trait(&store).commit(&lease, commit).await.expect("durable");
    }
    assert_eq!(store_trait(&store).events(&session(), 0, 10).await.expect("read"), [event(1), event(2)]);
    let mut check = AuditCheck::with(store_trait(&store).audit_key());
    let lines = store_trait(&store).audit_lines(0, 10).await.expect("read");
    lines.iter().for_each(|line| check.observe(line));
    check.end(store_trait(&store).audit_written().await.expect("read"));
    assert_eq!((check.broken, lines.len()), (Vec::new(), 2));
}

fn store_trait(store: &PostgresStore) -> &dyn Store {
    store
}

#[tokio::test]
async fn a_lost_notification_is_no_lost_event() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = Proxy::start(server.port());
    let url = server.schema_at(proxy.port);
    let far = open(&url);
    make(&far).await;
    let near = open(&url.replace(&format!(":{}/", proxy.port), &format!(":{}/", server.port())));
    let far = store_trait(&far);
    let mut since = far.changed(None).await.expect("answers");
    while let Ok(next) = tokio::time::timeout(Duration::from_millis(300), far.changed(Some(since))).await {
        since = next.expect("news");
    }
    proxy.close();
    // Nobody hears of this.
    store_trait(&near).enqueue(&session(), input("1")).await.expect("taken");
    tokio::time::sleep(Duration::from_millis(300)).await;
    proxy.reopen();
    let next = tokio::time::timeout(Duration::from_secs(20), far.changed(Some(since))).await;
    assert_ne!(next.expect("in time").expect("news"), since);
    assert_eq!(payloads(far).await, ["1"]);
}

#[tokio::test]
async fn whoever_falls_silent_is_replaced_and_can_write_nothing_any_more() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = Proxy::start(server.port());
    let url = server.schema_at(proxy.port);
    let (silent, other) =
        (open(&url), open(&url.replace(&format!(":{}/", proxy.port), &format!(":{}/", server.port()))));
    make(&other).await;
    let lease = owned(&silent).await;
    let other = store_trait(&other);
    assert!(matches!(other.claim(&session()).await, Ok(Claim::Held { .. })), "it lives");
    proxy.close();
    let began = Instant::now();
    let next = loop {
        if let Claim::Granted(lease) = other.claim(&session()).await.expect("answers") {
            break lease;
        }
        // A heartbeat is 5 seconds at most; two of them, and a machine with other things to do.
        assert!(began.elapsed() < Duration::from_secs(60), "nobody takes over");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    eprintln!("taken over after {:?}", began.elapsed());
    proxy.reopen();
    assert!(next.token() > lease.token());
    let late = Commit { events: vec![event(1)], ..Commit::default() };
    assert_eq!(store_trait(&silent).commit(&lease, late).await, Err(StoreError::LeaseLost));
    assert_eq!(store_trait(&silent).is_run(&session()).await, Ok(true), "the other one runs it");
    assert_eq!(other.last_seq(&session()).await, Ok(0));
}

#[tokio::test]
async fn a_crash_of_the_server_loses_nothing_that_was_acknowledged() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.schema();
    let (one, two) = (open(&url), open(&url));
    make(&one).await;
    let lease = owned(&one).await;
    let one = Arc::new(one);
    let writer = Arc::clone(&one);
    let writes = tokio::spawn(async move {
        for n in 0..60 {
            store_trait(&writer).enqueue(&session(), input(&n.to_string())).await.expect("taken");
            let commit = Commit { events: vec![event(n + 1)], relaxed_durability: true, ..Commit::default() };
            store_trait(&writer).commit(&lease, commit).await.expect("durable");
        }
    });
    let crashes = tokio::task::spawn_blocking(move || {
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(150));
            server.crash();
            server.restart();
        }
        server
    });
    writes.await.expect("all are written");
    let server = crashes.await.expect("it is there again");
    let expected: Vec<String> = (0..60).map(|n| n.to_string()).collect();
    assert_eq!(payloads(&two).await, expected);
    assert_eq!(store_trait(&two).last_seq(&session()).await, Ok(60));
    assert!(matches!(store_trait(&two).claim(&session()).await, Ok(Claim::Held { .. })), "a restart frees nothing");
    assert_eq!(store_trait(&two).check().await, Ok(Vec::new()));
    drop((one, two));
    drop(server);
}

#[test]
fn a_server_that_refuses_is_explained() {
    let Some(server) = PostgresServer::shared() else { return };
    server.sql("", "DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD 'right'");
    let port = server.port();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let refused = |url: String, words: &str| {
        let error = try_open(&url).err().unwrap_or_else(|| panic!("{url} is accepted"));
        let problem = error.problem(std::path::Path::new("/data"));
        assert!(problem.message.contains(words), "{}", problem.message);
        assert!(problem.hint.is_some_and(|hint| hint.len() > 10));
        assert!(!problem.message.contains("wrong"), "a password is never shown");
    };
    refused(
        format!("postgres://ann@127.0.0.1:{free}/postgres"),
        &format!("Cannot reach PostgreSQL at 127.0.0.1:{free}"),
    );
    refused(format!("postgres://ann:wrong@127.0.0.1:{port}/postgres"), "rejected the password of user ann");
    refused(format!("postgres://trimtab@127.0.0.1:{port}/nothing"), "has no such database");
    refused(format!("postgres://nobody@127.0.0.1:{port}/postgres"), "does not let user nobody in");
    refused(format!("postgres://trimtab@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert=/none"), "/none");
    refused(format!("postgres://trimtab@127.0.0.1:{port}/postgres?options=-csearch_path%3Dnone"), "no schema");
}

#[test]
fn tls_is_checked_as_sslmode_says() {
    let Some(server) = PostgresServer::shared() else { return };
    let certificate = server.folder().join("server.crt");
    if !certificate.exists() {
        eprintln!("SKIPPED: openssl is not installed");
        return;
    }
    let schema = server.schema();
    let url = |host: &str, mode: &str| format!("{}&sslmode={mode}", schema.replace("127.0.0.1", host));
    let root = format!("&sslrootcert={}", certificate.display());
    let encrypted = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                     WHERE s.ssl AND a.application_name = 'trimtab'";
    for good in
        [url("127.0.0.1", "require"), url("127.0.0.1", "verify-ca") + &root, url("localhost", "verify-full") + &root]
    {
        let store = try_open(&good).unwrap_or_else(|error| panic!("{good}: {error}"));
        assert_ne!(server.sql("", encrypted), "0", "{good}");
        drop(store);
    }
    for bad in [url("127.0.0.1", "verify-full") + &root, url("localhost", "verify-full")] {
        let error = try_open(&bad).err().unwrap_or_else(|| panic!("{bad} is accepted"));
        assert!(error.to_string().contains("TLS"), "{bad}: {error}");
    }
}

#[test]
fn a_newer_format_is_left_alone_also_by_those_who_have_it_open() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.schema();
    let store = open(&url);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        make(&store).await;
        server.sql(&url, "UPDATE trimtab_format SET version = 999");
        assert!(matches!(store_trait(&store).claim(&session()).await, Err(StoreError::Newer { found: 999, .. })));
    });
    assert!(matches!(try_open(&url), Err(StoreError::Newer { found: 999, .. })));
}
