use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A server that answers each path with bytes, then waits for so long before it closes.
async fn serve(answers: impl Fn(&str) -> Vec<(Vec<u8>, Duration)> + Send + 'static) -> (u16, Heard) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let head = request(&mut stream).await;
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            log.lock().expect("a lock").push(head);
            let pieces = answers(&path);
            tokio::spawn(async move {
                for (bytes, pause) in pieces {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    (port, heard)
}

type Heard = Arc<std::sync::Mutex<Vec<String>>>;

async fn request(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<(Vec<u8>, Duration)> {
    let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    vec![(bytes, Duration::ZERO)]
}

fn redirect(to: &str) -> Vec<(Vec<u8>, Duration)> {
    answer("302 Found", &format!("location: {to}\r\ncontent-length: 0\r\n"), "")
}

fn web(limits: FetchLimits) -> WebClient {
    WebClient::new(limits, NameLookup::System).expect("a client")
}

#[tokio::test]
async fn a_page_is_fetched_as_text_and_nothing_personal_is_sent() {
    let (port, heard) = serve(|_| {
        answer("200 OK", "content-type: text/html\r\nset-cookie: a=b\r\n", "<title>Hi</title><h1>One</h1><p>Two</p>")
    })
    .await;
    let web = web(LIMITS);
    let url = format!("http://127.0.0.1:{port}/a#part");
    let first = web.fetch(&url).await;
    assert_eq!(first, web.fetch(&url).await);
    assert_eq!(first.status, ToolStatus::Ok);
    assert_eq!(first.text, format!("Address: http://127.0.0.1:{port}/a#part\nTitle: Hi\n\n# One\n\nTwo"));
    for head in heard.lock().expect("a lock").iter() {
        let lower = head.to_ascii_lowercase();
        assert!(lower.starts_with("get /a http/1.1"), "{head}");
        assert!(lower.contains(&format!("user-agent: trimtab/{}", env!("CARGO_PKG_VERSION"))), "{head}");
        assert!(!lower.contains("cookie") && !lower.contains("authorization") && !lower.contains("referer"), "{head}");
    }
}

#[tokio::test]
async fn redirects_are_followed_on_the_host_and_reported_elsewhere() {
    let (port, heard) = serve(|path| match path {
        "/start" => redirect("/next?x=1"),
        "/next?x=1" => answer("200 OK", "content-type: text/plain\r\n", "there"),
        "/away" => redirect("https://other.example/page"),
        "/port" => redirect("http://127.0.0.1:1/"),
        "/name" => redirect("//user:secret@127.0.0.1/"),
        "/file" => redirect("file:///etc/passwd"),
        "/meta" => redirect("http://169.254.169.254/latest"),
        _ => redirect(path),
    })
    .await;
    let web = web(LIMITS);
    let said = async |path: &str| {
        let seen = web.fetch(&format!("http://127.0.0.1:{port}{path}")).await;
        (seen.status, seen.text.replace(&port.to_string(), "PORT"))
    };
    assert_eq!(said("/start").await, (ToolStatus::Ok, "Address: http://127.0.0.1:PORT/next?x=1\n\nthere".to_owned()));
    insta::assert_snapshot!(said("/away").await.1, @"http://127.0.0.1:PORT/away redirects to https://other.example/page : fetch that address to continue.");
    assert_eq!(said("/away").await.0, ToolStatus::Partial);
    insta::assert_snapshot!(said("/port").await.1, @"http://127.0.0.1:PORT/port redirects to http://127.0.0.1:1/ : fetch that address to continue.");
    insta::assert_snapshot!(said("/name").await.1, @"http://127.0.0.1:PORT/name redirects to an address that is not fetched. The URL contains a user name or password. Remove it: credentials are never sent.");
    insta::assert_snapshot!(said("/file").await.1, @"http://127.0.0.1:PORT/file redirects to an address that is not fetched. Only http and https addresses are fetched, not file.");
    insta::assert_snapshot!(said("/meta").await.1, @"169.254.169.254 is or resolves to a link-local address, where cloud machines get their credentials. It is never fetched.");
    heard.lock().expect("a lock").clear();
    let (status, text) = said("/round").await;
    assert_eq!(status, ToolStatus::Error);
    assert!(text.contains("more than 5 times"), "{text}");
    assert_eq!(heard.lock().expect("a lock").len(), 6);
}

#[test]
fn a_redirect_to_encryption_stays_and_the_way_back_does_not() {
    let same = |from: &str, to: &str| is_same_host(&address(from).expect("from"), &address(to).expect("to"));
    assert!(same("http://a.org/x", "https://a.org/y"));
    assert!(same("https://a.org/x", "https://A.org:443/y"));
    assert!(!same("https://a.org/", "http://a.org/"));
    assert!(!same("https://a.org/", "https://www.a.org/"));
    assert!(!same("http://a.org:8080/", "https://a.org/"));
}

#[tokio::test]
async fn a_page_that_is_too_large_or_too_slow_is_shown_as_far_as_it_came() {
    let limits =
        FetchLimits { body: 1_000, text: 800, total: Duration::from_secs(2), idle: Duration::from_millis(300) };
    let (port, _) = serve(move |path| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec();
        let long = Duration::from_secs(30);
        match path {
            "/large" => answer("200 OK", "content-type: text/plain\r\n", "q".repeat(100_000)),
            "/long" => answer("200 OK", "content-type: text/plain\r\n", "q".repeat(1_000)),
            "/stalled" => vec![([head, b"begun".to_vec()].concat(), long)],
            "/silent" => vec![(head, long)],
            "/dripping" => {
                let drops = (0..100).map(|_| (b"drop ".to_vec(), Duration::from_millis(100)));
                std::iter::once((head, Duration::ZERO)).chain(drops).collect()
            }
            "/cut" => answer("200 OK", "content-type: text/plain\r\ncontent-length: 10\r\n", "five"),
            _ => vec![(Vec::new(), long)],
        }
    })
    .await;
    let web = web(limits);
    let said = async |path: &str| {
        let seen = web.fetch(&format!("http://127.0.0.1:{port}{path}")).await;
        (seen.status, seen.text)
    };
    let (status, text) = said("/large").await;
    assert_eq!((status, text.matches('q').count()), (ToolStatus::Partial, 800));
    assert!(
        text.ends_with(
            "[800 B of 1000 B of text are shown.]\n[The page is incomplete: the page is larger than 1000 B.]"
        )
    );
    let (status, text) = said("/long").await;
    assert_eq!((status, text.matches('q').count()), (ToolStatus::Partial, 800));
    assert!(text.ends_with("[800 B of 1000 B of text are shown.]"), "{text}");
    let (status, text) = said("/stalled").await;
    assert_eq!(status, ToolStatus::Partial);
    assert!(text.contains("\n\nbegun\n[The page is incomplete: no data arrived"), "{text}");
    let (status, text) = said("/silent").await;
    assert_eq!(status, ToolStatus::Error);
    assert!(text.contains("sent nothing"), "{text}");
    let start = Instant::now();
    let (status, text) = said("/dripping").await;
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert_eq!(status, ToolStatus::Partial);
    assert!(text.contains("drop drop") && text.contains("did not load within 2 s"), "{text}");
    let (status, text) = said("/cut").await;
    assert_eq!(status, ToolStatus::Partial);
    assert!(text.contains("five") && text.contains("the connection broke"), "{text}");
    let (status, text) = said("/never").await;
    assert_eq!(status, ToolStatus::Error);
    assert!(text.contains("did not answer"), "{text}");
}

#[tokio::test]
async fn what_is_no_text_is_refused_with_its_type_and_size() {
    let (port, _) = serve(|path| match path {
        "/pdf" => answer("200 OK", "content-type: application/pdf\r\ncontent-length: 1200000\r\n", "%PDF"),
        "/none" => answer("200 OK", "content-length: 4\r\n", "a\0bc"),
        "/bare" => answer("200 OK", "content-length: 4\r\n", "bare"),
        "/json" => answer("200 OK", "content-type: application/json\r\n", r#"{"a": [1]}"#),
        "/empty" => answer("200 OK", "content-type: text/html\r\n", "<script>app()</script>"),
        _ => answer("404 Not Found", "content-type: text/html\r\n", "<title>x</title><h1>Nothing</h1><p>here</p>"),
    })
    .await;
    let web = web(LIMITS);
    let said = async |path: &str| {
        let seen = web.fetch(&format!("http://localhost:{port}{path}")).await;
        format!("{:?}: {}", seen.status, seen.text.replace(&port.to_string(), "PORT"))
    };
    insta::assert_snapshot!(said("/pdf").await, @"Error: http://localhost:PORT/pdf is application/pdf (1.1 MB), not text. It is not shown.");
    insta::assert_snapshot!(said("/none").await, @"Error: http://localhost:PORT/none has no content type and is not text. It is not shown.");
    insta::assert_snapshot!(said("/bare").await, @"
    Ok: Address: http://localhost:PORT/bare

    bare
    ");
    insta::assert_snapshot!(said("/json").await, @r#"
    Ok: Address: http://localhost:PORT/json

    {"a": [1]}
    "#);
    insta::assert_snapshot!(said("/empty").await, @"
    Ok: Address: http://localhost:PORT/empty

    (The page has no text. It may need a browser to show itself.)
    ");
    insta::assert_snapshot!(said("/missing").await, @"Error: http://localhost:PORT/missing answered HTTP 404 Not Found. It says: # Nothing  here");
}

#[tokio::test]
async fn a_name_that_leads_to_metadata_or_to_this_machine_is_refused() {
    let (port, heard) = serve(|_| answer("200 OK", "content-type: text/plain\r\n", "secret")).await;
    let metadata = Ipv4Addr::new(169, 254, 169, 254);
    let known: HashMap<String, Vec<IpAddr>> = HashMap::from([
        ("metadata.example".to_owned(), vec![metadata.into()]),
        ("mixed.example".to_owned(), vec![Ipv4Addr::new(192, 0, 2, 1).into(), metadata.into()]),
        ("rebound.example".to_owned(), vec![Ipv4Addr::LOCALHOST.into()]),
        ("app.localhost".to_owned(), vec![Ipv4Addr::LOCALHOST.into()]),
    ]);
    let web = WebClient::new(LIMITS, NameLookup::Known(Arc::new(known))).expect("a client");
    for name in ["metadata.example", "mixed.example", "rebound.example"] {
        let url = Url::parse(&format!("http://{name}:{port}/")).expect("an address");
        let seen = web.fetch(url.as_str()).await;
        assert_eq!(seen.status, ToolStatus::Error);
        assert!(seen.text.starts_with(name) && seen.text.contains("resolves to"), "{}", seen.text);
        // Also when only the resolver of the connection learns of it.
        let error = web.here.get(url).send().await.expect_err("refused");
        assert!(guard::refused(&error).is_some_and(|why| why.starts_with(name)), "{error:?}");
    }
    assert_eq!(*heard.lock().expect("a lock"), [""; 0]);
    let seen = web.fetch(&format!("http://app.localhost:{port}/")).await;
    assert!(seen.text.ends_with("secret"), "{}", seen.text);
}

#[tokio::test]
async fn what_is_not_fetched_is_said_in_a_sentence() {
    let web = web(LIMITS);
    let said = async |url: &str| {
        let seen = web.fetch(url).await;
        assert_eq!(seen.status, ToolStatus::Error);
        seen.text
    };
    insta::assert_snapshot!(said("example.com/page").await, @"`example.com/page` is not a URL (relative URL without a base). Write the complete URL, such as https://example.com/page.");
    insta::assert_snapshot!(said("file:///etc/passwd").await, @"Only http and https addresses are fetched, not file.");
    insta::assert_snapshot!(said("https://me:secret@example.com/").await, @"The URL contains a user name or password. Remove it: credentials are never sent.");
    insta::assert_snapshot!(said("http://169.254.169.254/latest/meta-data/").await, @"169.254.169.254 is or resolves to a link-local address, where cloud machines get their credentials. It is never fetched.");
    insta::assert_snapshot!(said("http://127.0.0.1:1/").await, @"http://127.0.0.1:1/ cannot be fetched: Connection refused. Check the address; the machine may also be offline.");
}
