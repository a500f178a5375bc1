//! Who is let in to `trimtab serve`, and from where.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::served::{Ask, Line, Sent, Served};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

/// Logs a browser in: its cookie.
fn cookie(served: &Served) -> String {
    let path = served.login.split(served.host()).nth(1).expect("a path").to_owned();
    let entered = served.ask_without_token("GET", &path).header("Sec-Fetch-Site", "none").send();
    assert_eq!(entered.status, 303, "{}", entered.text());
    let set = entered.header("set-cookie").expect("a cookie");
    set.split(';').next().expect("a value").to_owned()
}

/// Every operation of the description, with a path that names nothing.
fn operations(served: &Served) -> Vec<(String, String)> {
    let description = served.get("/api/openapi.json");
    let paths = description["paths"].as_object().expect("paths");
    let mut all = Vec::new();
    for (path, methods) in paths {
        let path = path
            .replace("{id}", "nothing")
            .replace("{key}", "nothing")
            .replace("{proposal}", "nothing")
            .replace("{command}", "b1");
        assert!(!path.contains('{'), "{path}");
        all.extend(methods.as_object().expect("methods").keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    all
}

#[test]
fn only_requests_of_the_same_origin_with_credentials_pass_on_every_route() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let cookie = cookie(&served);
    let own = served.host().to_owned();
    let bare = "127.0.0.1".to_owned();
    let hosts = [(own.as_str(), true), ("evil.example", false), (bare.as_str(), false)];
    let bearer = format!("Bearer {}", served.token);
    let wrong = format!("{}0", bearer);
    let unknown = format!("{}=tt_0", cookie.split('=').next().expect("a name"));
    let mut line = Line::to(&served);
    let mut let_in = 0;
    for (method, path) in operations(&served) {
        let changes = method != "GET";
        for (host, is_own) in hosts {
            let same = format!("http://{host}");
            let secure = format!("https://{host}");
            let origins = [
                (None, true),
                (Some(same.as_str()), true),
                (Some("http://evil.example"), false),
                (Some("null"), false),
                (Some(secure.as_str()), false),
            ];
            for (origin, origin_is_same) in origins {
                for (site, site_is_same) in [
                    (None, true),
                    (Some("same-origin"), true),
                    (Some("same-site"), false),
                    (Some("cross-site"), false),
                    (Some("none"), false),
                ] {
                    for (kind, is_json) in [
                        (Some("application/json"), true),
                        (Some("application/x-www-form-urlencoded"), false),
                        (Some("text/plain"), false),
                        (None, !changes),
                    ] {
                        for (name, value, lets_in) in [
                            ("Cookie", cookie.as_str(), true),
                            ("Cookie", unknown.as_str(), false),
                            ("Authorization", bearer.as_str(), true),
                            ("Authorization", wrong.as_str(), false),
                            ("X-Nothing", "", false),
                        ] {
                            let mut ask = served.ask_without_token(&method, &path).instead("Host", Some(host));
                            ask = ask
                                .instead("Origin", origin)
                                .instead("Sec-Fetch-Site", site)
                                .instead("Content-Type", kind);
                            ask = ask.header(name, value);
                            if changes {
                                ask = ask.body("{\"folder\":\"/nowhere\"}");
                            }
                            let says = origin.is_some() || site.is_some();
                            let expected = if !is_own {
                                421
                            } else if !origin_is_same || !site_is_same {
                                403
                            } else if !lets_in {
                                401
                            } else if name == "Cookie" && changes && !says {
                                403
                            } else if !is_json && (changes || kind.is_some()) {
                                // Without a body there is nothing to describe, and a GET has none.
                                if changes { 415 } else { 0 }
                            } else {
                                0
                            };
                            let answer = line.send(&ask);
                            let of_access = [401, 403, 415, 421].contains(&answer.status);
                            let told = if of_access { answer.status } else { 0 };
                            assert_eq!(told, expected, "{ask:?}: {}", answer.text());
                            assert!(answer.status < 500, "{ask:?}: {}", answer.text());
                            if told == 0 {
                                let_in += 1;
                            } else {
                                assert!(answer.json()["error"]["message"].is_string(), "{}", answer.text());
                            }
                            assert_eq!(answer.header("x-frame-options").as_deref(), Some("DENY"));
                            assert!(answer.header("access-control-allow-origin").is_none());
                        }
                    }
                }
            }
        }
    }
    assert!(let_in > 0);
    assert_eq!(served.get("/api/sessions")["sessions"], json!([]), "nothing was written");
}

#[test]
fn what_other_pages_can_make_a_browser_send_reads_and_writes_nothing() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let cookie = cookie(&served);
    let browser = |method: &str, path: &str| served.ask_without_token(method, path).header("Cookie", &cookie);
    let form = browser("POST", "/api/sessions")
        .header("Origin", "http://evil.example")
        .header("Sec-Fetch-Site", "cross-site")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("folder=/tmp");
    let text =
        browser("POST", "/api/sessions").header("Origin", "null").header("Content-Type", "text/plain").body("{}");
    let rebound = browser("GET", "/api/sessions").instead("Host", Some("rebound.example"));
    let image =
        browser("GET", "/api/sessions").header("Sec-Fetch-Site", "cross-site").header("Sec-Fetch-Dest", "image");
    let source = browser("GET", "/api/sessions/x/events").header("Origin", "http://evil.example");
    let neighbour = browser("GET", "/api/sessions").header("Sec-Fetch-Site", "same-site");
    let preflight = served
        .ask_without_token("OPTIONS", "/api/sessions")
        .header("Origin", "http://evil.example")
        .header("Access-Control-Request-Method", "POST");
    for ask in [form, text, rebound, image, source, neighbour, preflight] {
        let answer = ask.send();
        assert!([403, 421].contains(&answer.status), "{ask:?} {}", answer.text());
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    let framed = browser("GET", "/").header("Sec-Fetch-Site", "same-origin").header("Sec-Fetch-Dest", "iframe").send();
    assert_eq!(framed.status, 403);
    let twice = browser("GET", "/api/sessions").header("Host", "evil.example").send();
    assert_eq!(twice.status, 400, "{}", twice.text());
    assert_eq!(served.get("/api/sessions")["sessions"], json!([]));
    let page = browser("GET", "/").header("Sec-Fetch-Site", "none").send();
    assert_eq!(page.status, 200, "{}", page.text());
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY")]
    {
        assert_eq!(page.header(name).as_deref(), Some(value));
    }
}

#[test]
fn a_link_logs_one_browser_in_once_and_leads_away_from_its_address() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let path = served.login.split(served.host()).nth(1).expect("a path").to_owned();
    // A page that prefetches or embeds the link must not use it up.
    let elsewhere = served.ask_without_token("GET", &path).header("Sec-Fetch-Site", "cross-site").send();
    assert_eq!(elsewhere.status, 403);
    let entered = served.ask_without_token("GET", &path).header("Sec-Fetch-Site", "none").send();
    assert_eq!((entered.status, entered.header("location").as_deref()), (303, Some("/")));
    let set = entered.header("set-cookie").expect("a cookie");
    assert!(set.contains("; HttpOnly; SameSite=Strict; Max-Age="), "{set}");
    let again = served.ask_without_token("GET", &path).send();
    assert_eq!(again.status, 401);
    assert!(again.text().contains("trimtab token login"), "{}", again.text());
    let cookie = set.split(';').next().expect("a value");
    let listed = served.ask_without_token("GET", "/api/sessions").header("Cookie", cookie).send();
    assert_eq!(listed.status, 200);
    // The secret of the link is no token, and the cookie's is not the link's.
    let secret = path.split('=').nth(1).expect("a secret");
    assert!(!set.contains(secret));
    let as_token = served.ask_without_token("GET", "/api/sessions").header("Authorization", format!("Bearer {secret}"));
    assert_eq!(as_token.send().status, 401);
    // Another link for another browser.
    let link = program.run(&["token", "login"]);
    assert_eq!(link.code, Some(0), "{}", link.stderr);
    let path = link.stdout.trim().split(served.host()).nth(1).expect("the server's address").to_owned();
    assert_eq!(served.ask_without_token("GET", &path).send().status, 303);
    let without = served.ask_without_token("GET", "/").header("Sec-Fetch-Site", "none").send();
    assert_eq!(without.status, 401);
    assert!(without.header("content-type").expect("a type").starts_with("text/html"));
}

#[test]
fn a_person_who_is_not_logged_in_can_paste_a_link_into_the_page() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let page = served.ask_without_token("GET", "/").header("Sec-Fetch-Site", "none").send();
    assert_eq!(page.status, 401);
    assert!(page.text().contains("<form method=\"post\" action=\"/login\">"), "{}", page.text());
    let style = served.ask_without_token("GET", "/login.css").send();
    assert_eq!((style.status, style.header("content-type").as_deref()), (200, Some("text/css; charset=utf-8")));
    let origin = format!("http://{}", served.host());
    let posts = |origin: &str, form: String| {
        let asked = served.ask_without_token("POST", "/login").header("Origin", origin);
        asked.header("Content-Type", "application/x-www-form-urlencoded").body(form).send()
    };
    let form = format!("token={}", served.login.replace(':', "%3A").replace('/', "%2F").replace('=', "%3D"));
    // A page elsewhere can send a form, too: it would log the browser in where its author wants.
    assert_eq!(posts("http://elsewhere.example", form.clone()).status, 403);
    let entered = posts(&origin, form.clone());
    assert_eq!((entered.status, entered.header("location").as_deref()), (303, Some("/")));
    let cookie =
        entered.header("set-cookie").and_then(|set| set.split(';').next().map(str::to_owned)).expect("a cookie");
    assert_eq!(served.ask_without_token("GET", "/api/sessions").header("Cookie", cookie).send().status, 200);
    // Once only, and what is no link is refused in words.
    for form in [form, "token=".to_owned(), "x".repeat(10_000), format!("token={}", served.token)] {
        let refused = posts(&origin, form);
        assert!(matches!(refused.status, 401 | 413) && refused.header("set-cookie").is_none(), "{}", refused.text());
    }
}

#[test]
fn a_token_is_shown_once_kept_as_a_hash_and_worthless_when_revoked() {
    let program = program();
    let served = Served::start(&program, "first", &[]);
    assert_eq!(served.ask("GET", "/api/jobs").send().status, 200);
    let listed = program.run(&["token", "list", "--json"]);
    assert!(listed.stdout.contains("\"first\"") && !listed.stdout.contains(&served.token), "{}", listed.stdout);
    let taken = program.run(&["token", "add", "first"]);
    assert_eq!(taken.code, Some(2), "{}", taken.stderr);
    for file in std::fs::read_dir(program.home()).expect("a folder").flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let secret = served.token.as_bytes();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{:?}", file.path());
    }
    let session = served.session();
    let mut stream = served.watch(&session, None);
    stream.until("session.opened");
    assert_eq!(program.run(&["token", "revoke", "first"]).code, Some(0));
    let refused = served.ask("GET", "/api/jobs").send();
    assert_eq!((refused.status, refused.code().as_str()), (401, "unauthorized"));
    assert_eq!(refused.header("www-authenticate").as_deref(), Some("Bearer"));
    // A stream that is open ends with the next heartbeat.
    let mut last = None;
    while let Some(sent) = stream.next_sent() {
        last = Some(sent);
    }
    assert_eq!(last, Some(Sent::Comment("the token was revoked".into())));
    assert_eq!(program.run(&["token", "revoke", "first"]).code, Some(1));
}

#[test]
fn beyond_this_machine_it_listens_only_with_tls_or_when_told_to() {
    let program = program();
    let refused = program.run(&["serve", "--addr", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("--tls-cert") && refused.stderr.contains("--allow-remote"), "{}", refused.stderr);
    let told = program.spawn(&["serve", "--addr", "0.0.0.0:0", "--allow-remote"]);
    told.wait_for_line("/login?token=");
}

#[test]
fn a_data_folder_has_one_server_and_it_is_named() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let second = program.run(&["serve", "--addr", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains(&served.url), "{}", second.stderr);
    drop(served);
    assert_eq!(program.run(&["token", "login"]).code, Some(1));
    Served::start(&program, "again", &[]);
}

#[test]
fn no_command_talks_to_the_server_wherever_it_listens() {
    let program = program();
    let decision = |line: &str| {
        let checked = program.run(&["check-command", line]).stdout;
        serde_json::from_str::<Value>(&checked).expect("JSON")["decision"].clone()
    };
    let served = Served::start(&program, "test", &[]);
    let there = format!("curl http://{}/api/sessions", served.host());
    assert_eq!(decision(&there), "deny", "{there}");
    drop(served);
    assert_eq!(decision(&there), "ask", "somebody else may listen there now");
}

#[test]
fn a_name_that_a_route_does_not_know_is_refused_on_every_route() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    assert_eq!(served.post("/api/todos", &json!({"title": "Pay rent"})).status, 201);
    let description = served.get("/api/openapi.json");
    let mut refused = 0;
    for (path, methods) in description["paths"].as_object().expect("paths") {
        // Their documented shapes come with clients that send more than is read.
        if path.starts_with("/api/assistant/") || path.starts_with("/api/llm/") {
            continue;
        }
        let id = if path.starts_with("/api/todos") { "1" } else { session.as_str() };
        let path = path
            .replace("{id}", id)
            .replace("{key}", "nothing")
            .replace("{proposal}", "nothing")
            .replace("{command}", "b1");
        for (method, operation) in methods.as_object().expect("methods") {
            let asked = operation["parameters"].as_array().into_iter().flatten().filter(|one| one["in"] == "query");
            let needed = asked.clone().filter(|one| one["required"] == true);
            let needed: String =
                needed.map(|one| format!("{}={session}&", one["name"].as_str().expect("a name"))).collect();
            let answer = if asked.count() > 0 {
                served.ask(&method.to_uppercase(), &format!("{path}?{needed}nonsense=1")).send()
            } else if operation["requestBody"].is_object() {
                let mut body = operation["requestBody"]["content"]["application/json"]["example"].clone();
                body["nonsense"] = json!(1);
                served.ask(&method.to_uppercase(), &path).json(&body).send()
            } else {
                continue;
            };
            assert!([400, 422].contains(&answer.status), "{method} {path}: {} {}", answer.status, answer.text());
            assert!(answer.text().contains("nonsense"), "{method} {path}: {}", answer.text());
            refused += 1;
        }
    }
    assert!(refused > 25, "{refused}");
}

#[test]
fn requests_are_bounded() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let large = format!("{{\"folder\":\"{}\"}}", "x".repeat(2 * 1024 * 1024));
    let answer = served.ask("POST", "/api/sessions").header("Content-Type", "application/json").body(large).send();
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"));
    let head = served.ask("GET", "/api/jobs").header("X-Long", "y".repeat(128 * 1024)).send();
    assert_eq!(head.status, 431);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let answer = served.ask("POST", "/api/sessions").header("Content-Type", "application/json").body(deep).send();
    assert!([400, 422].contains(&answer.status), "{}", answer.text());
    let session = served.session();
    let streams: Vec<_> = (0..64).map(|_| served.watch(&session, None)).collect();
    assert!(streams.iter().all(|stream| stream.head.status == 200));
    let more = served.ask("GET", &format!("/api/sessions/{session}/events")).send();
    assert_eq!((more.status, more.code().as_str()), (429, "limit"));
    drop(streams);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while served.watch(&session, None).head.status != 200 {
        assert!(std::time::Instant::now() < until, "a stream that was closed still counts");
    }
}

#[test]
fn with_a_certificate_it_speaks_tls_and_nothing_else() {
    let program = program();
    let folder = program.project();
    let path = |name: &str| folder.join(name).display().to_string();
    let mut openssl = std::process::Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]);
    openssl.args(["-keyout", &path("key.pem"), "-out", &path("cert.pem")]).stderr(std::process::Stdio::null());
    assert!(openssl.status().expect("openssl runs").success());
    let wrong =
        program.run(&["serve", "--addr", "127.0.0.1:0", "--tls-cert", &path("key.pem"), "--tls-key", &path("key.pem")]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let served = Served::start(&program, "test", &["--tls-cert", &path("cert.pem"), "--tls-key", &path("key.pem")]);
    assert!(served.url.starts_with("https://"), "{}", served.url);
    let ask: Ask = served.ask("GET", "/api/jobs").header("Origin", served.url.clone());
    let mut client = std::process::Command::new("openssl");
    client.args(["s_client", "-quiet", "-verify_quiet", "-CAfile", &path("cert.pem"), "-verify_return_error"]);
    client.args(["-connect", served.host()]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut client = client.stderr(std::process::Stdio::null()).spawn().expect("openssl runs");
    std::io::Write::write_all(&mut client.stdin.as_mut().expect("a pipe"), ask.bytes().as_slice()).expect("is sent");
    let said = client.wait_with_output().expect("an answer");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let body: Value = serde_json::from_str(said.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
    assert_eq!(body, json!({"jobs": []}));
}
