//! Logins at MCP servers, with an authorization server that behaves in many ways, and a browser that follows addresses.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::login::{LoginServers, browse};
use trimtab_testkit::program::{Ended, Running};

use crate::checks;
use crate::scene::Scene;

checks![
    a_login_lets_calls_through_and_a_logout_ends_it,
    an_authorization_server_elsewhere_is_confirmed_first,
    tokens_are_refreshed_once_for_all_processes,
    a_refresh_that_is_refused_needs_a_login,
    a_call_that_needs_more_scopes_is_refused_and_a_new_login_has_them,
    what_a_login_is_told_is_checked,
    only_the_answer_to_this_login_counts,
    a_killed_login_leaves_nothing,
    tokens_are_never_shown_recorded_or_sent_elsewhere,
    an_older_server_and_a_client_of_the_settings_work,
    a_login_reaches_a_session_that_runs,
    a_request_says_that_a_login_is_needed,
    a_server_that_cannot_be_reached_is_reported_with_the_cause_alone,
];

/// A scene with a server that wants a login.
struct LoginScene {
    scene: Scene,
    servers: LoginServers,
}

impl LoginScene {
    fn new(behaviors: &[&str]) -> Self {
        let (scene, servers) = (Scene::new(), LoginServers::start(behaviors));
        let added = scene.program.run(&["mcp", "add", "docs", &servers.url()]);
        assert_eq!(added.code, Some(0), "{}", added.stderr);
        Self { scene, servers }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.scene.program.run(arguments)
    }

    /// Begins a login at the hosts that the server names.
    fn begin(&self, more: &[&str]) -> (Running, String) {
        let (issuer, third) = (self.servers.issuer_host(), self.servers.third_host());
        let words = ["mcp", "login", "docs", "--json", "--at", &issuer, "--at", &third];
        let running = self.scene.program.spawn(&[&words[..], more].concat());
        let line: Value = serde_json::from_str(&running.line_with("\"open\"")).expect("JSON");
        (running, line["address"].as_str().expect("an address").to_owned())
    }

    #[track_caller]
    fn log_in(&self, more: &[&str]) -> Ended {
        let (running, address) = self.begin(more);
        let page = browse(&address);
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
        assert!(page.contains("You can close this page"), "{page}");
        ended
    }

    fn call(&self) -> Ended {
        self.run(&["mcp", "call", "docs", "whoami"])
    }

    fn state(&self) -> String {
        let listed: Value = serde_json::from_str(&self.run(&["mcp", "list", "--json"]).stdout).expect("JSON");
        listed["login"].as_str().expect("a state").to_owned()
    }

    /// The files of the data folder that hold logins.
    fn login_files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.scene.program.home().join("drawer")).into_iter().flatten().flatten();
        let is_login = |path: &PathBuf| std::fs::read_to_string(path).is_ok_and(|text| text.contains("accessToken"));
        files.map(|entry| entry.path()).filter(is_login).collect()
    }
}

fn a_login_lets_calls_through_and_a_logout_ends_it() {
    let login = LoginScene::new(&["own"]);
    assert_eq!(login.state(), "none", "nothing is known yet");
    let refused = login.call();
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(refused.stderr.contains("MCP server docs: The server needs a login."), "{}", refused.stderr);
    assert!(refused.stderr.contains("`trimtab mcp login docs` logs you in."), "{}", refused.stderr);
    assert_eq!(login.state(), "needed");
    assert!(login.run(&["mcp"]).stdout.contains("login needed"));
    let extensions = login.run(&["extensions"]).stdout;
    assert!(extensions.contains("It needs a login. `trimtab mcp login docs` logs you in."), "{extensions}");
    let done = login.log_in(&[]);
    assert!(done.stdout.contains(r#""login":"logged_in""#) && done.stdout.contains(r#"["read"]"#), "{}", done.stdout);
    assert_eq!(login.state(), "logged_in");
    let called = login.call();
    assert_eq!(called.stdout.trim(), "You are Ada.", "{}", called.stderr);
    // What the authorization server was asked.
    let asked = &login.servers.asked("GET /authorize")[0].fields;
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], login.servers.url());
    assert_eq!(asked["scope"], "read");
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"), "{asked:?}");
    let registered: Value = serde_json::from_str(&login.servers.asked("POST /register")[0].body).expect("JSON");
    assert_eq!(registered["redirect_uris"], json!([asked["redirect_uri"]]));
    let exchanged = &login.servers.asked("POST /token")[0].fields;
    assert_eq!(exchanged["resource"], login.servers.url());
    // One file, which only the user can read.
    let files = login.login_files();
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&files[0]).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let ended = login.run(&["mcp", "logout", "docs"]);
    assert_eq!(ended.stdout, "Logged out of docs.\n", "{}", ended.stderr);
    assert_eq!(login.servers.asked("POST /revoke").len(), 1);
    assert!(login.login_files().is_empty());
    assert_eq!(login.state(), "needed");
    assert_eq!(login.call().code, Some(1));
    assert_eq!(login.run(&["mcp", "logout", "docs"]).stdout, "You are not logged in to docs.\n");
    // A server that is removed takes its login with it.
    login.log_in(&[]);
    assert_eq!(login.run(&["mcp", "remove", "docs"]).code, Some(0));
    assert!(login.login_files().is_empty());
}

fn an_authorization_server_elsewhere_is_confirmed_first() {
    let login = LoginScene::new(&[]);
    let host = login.servers.issuer_host();
    let refused = login.run(&["mcp", "login", "docs"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("has to contact http://{host}.")), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("`trimtab mcp login docs --at {host}`")), "{}", refused.stderr);
    assert!(login.servers.asked("GET /.well-known/oauth-authorization-server").is_empty(), "nobody has asked it yet");
    login.log_in(&[]);
    assert_eq!(login.call().stdout.trim(), "You are Ada.");
    // The same for an endpoint at a third place.
    let login = LoginScene::new(&["token_elsewhere"]);
    let (host, third) = (login.servers.issuer_host(), login.servers.third_host());
    let refused = login.run(&["mcp", "login", "docs", "--at", &host]);
    assert!(refused.stderr.contains(&format!("has to contact http://{third}.")), "{}", refused.stderr);
    assert!(login.servers.asked("POST /register").is_empty());
    login.log_in(&[]);
}

fn tokens_are_refreshed_once_for_all_processes() {
    let login = LoginScene::new(&["own", "secret"]);
    login.log_in(&[]);
    assert!(login.servers.asked("POST /token")[0].authorization.starts_with("Basic "));
    login.servers.expire();
    let running: Vec<Running> = (0..4).map(|_| login.scene.program.spawn(&["mcp", "call", "docs", "whoami"])).collect();
    for call in running {
        let ended = call.wait();
        assert_eq!(ended.stdout.trim(), "You are Ada.", "{}", ended.stderr);
    }
    let refreshes = login.servers.asked("POST /token").len() - 1;
    assert_eq!(refreshes, 1, "a refresh token is good for one time");
    // A token that has ended by its own time is refreshed before it is sent.
    login.servers.set("short", true);
    login.servers.expire();
    assert_eq!(login.call().code, Some(0));
    let before = login.servers.asked("POST /mcp").iter().filter(|request| request.authorization.is_empty()).count();
    assert_eq!(login.call().code, Some(0));
    let after = login.servers.asked("POST /mcp").iter().filter(|request| request.authorization.is_empty()).count();
    assert_eq!(before, after, "no request went out without a token");
}

fn a_refresh_that_is_refused_needs_a_login() {
    let login = LoginScene::new(&["own"]);
    login.log_in(&[]);
    login.servers.expire();
    login.servers.set("ended", true);
    let refused = login.call();
    assert!(refused.stderr.contains("The server needs a login."), "{}", refused.stderr);
    assert_eq!(login.state(), "needed");
    assert!(login.login_files().is_empty(), "it would be refused each time");
    login.servers.set("ended", false);
    login.log_in(&[]);
    assert_eq!(login.call().code, Some(0));
}

fn a_call_that_needs_more_scopes_is_refused_and_a_new_login_has_them() {
    let login = LoginScene::new(&["own", "scopes"]);
    login.log_in(&[]);
    let refused = login.call();
    assert!(refused.stderr.contains("The server needs a login with more permissions."), "{}", refused.stderr);
    assert_eq!(login.state(), "needed");
    login.log_in(&[]);
    let asked = login.servers.asked("GET /authorize");
    assert_eq!(asked.last().expect("a login").fields["scope"], "read write");
    assert_eq!(login.call().stdout.trim(), "You are Ada.");
    // The user's own choice counts first.
    login.log_in(&["--scope", "write", "--scope", "admin"]);
    let asked = login.servers.asked("GET /authorize");
    assert_eq!(asked.last().expect("a login").fields["scope"], "write admin");
}

fn what_a_login_is_told_is_checked() {
    let refused = |behaviors: &[&str]| {
        let login = LoginScene::new(behaviors);
        let (issuer, third) = (login.servers.issuer_host(), login.servers.third_host());
        let ended = login.run(&["mcp", "login", "docs", "--at", &issuer, "--at", &third]);
        assert_eq!(ended.code, Some(1), "{behaviors:?}: {} {}", ended.stdout, ended.stderr);
        assert!(login.servers.asked("POST /register").len() + login.servers.asked("POST /token").len() == 0);
        assert!(login.login_files().is_empty());
        ended.stderr
    };
    let says = |behavior: &str, words: &str| {
        let told = refused(&[behavior]);
        assert!(told.contains(words), "{behavior}: {told}");
    };
    says("large", "sent more than 65536 bytes");
    says("moved", "does not describe a login");
    says("no_pkce", "does not support PKCE with S256");
    says("other_issuer", "calls itself");
    says("other_resource", "describes the login of https://bank.example.org/mcp, which is another server");
    says("elsewhere", "which is not the server");
    says("insecure", "The login needs https, and http://auth.example.org does not use it.");
    says("unregistered", "does not register clients automatically");
    // What comes later.
    for (behavior, words) in [
        ("rude", "refused: invalid_request: no[2J way."),
        ("bad_token", "are not valid"),
        ("refused", "The authorization server refused: access_denied: No[2J thanks."),
    ] {
        let login = LoginScene::new(&["own", behavior]);
        let (running, address) = login.begin(&[]);
        browse(&address);
        let ended = running.wait();
        assert_eq!(ended.code, Some(1), "{behavior}: {}", ended.stdout);
        assert!(ended.stderr.contains(words), "{behavior}: {}", ended.stderr);
        assert!(login.login_files().is_empty());
    }
    // Servers that take no login.
    let scene = Scene::new().with_server("local", &[]);
    let ended = scene.program.run(&["mcp", "login", "local"]);
    assert!(ended.stderr.contains("local takes no login"), "{}", ended.stderr);
    scene.program.run(&["mcp", "add", "far", "http://mcp.example.org/mcp"]);
    let ended = scene.program.run(&["mcp", "login", "far"]);
    assert!(ended.stderr.contains("far takes no login"), "{}", ended.stderr);
}

fn only_the_answer_to_this_login_counts() {
    let login = LoginScene::new(&["own"]);
    let (running, address) = login.begin(&[]);
    let back = address.split("redirect_uri=").nth(1).and_then(|rest| rest.split('&').next()).expect("an address");
    let back = back.replace("%3A", ":").replace("%2F", "/");
    for forged in ["?code=stolen&state=guess", "?code=stolen", "?error=access_denied", "/../x", ""] {
        let page = browse(&format!("{back}{forged}"));
        assert!(page.starts_with("HTTP/1.1 404"), "{forged}: {page}");
    }
    assert!(login.servers.asked("POST /token").is_empty());
    browse(&address);
    assert_eq!(running.wait().code, Some(0));
}

fn a_killed_login_leaves_nothing() {
    let login = LoginScene::new(&["own"]);
    let (running, address) = login.begin(&[]);
    running.signal(Signal::KILL);
    running.wait();
    assert!(login.login_files().is_empty());
    assert!(std::panic::catch_unwind(|| browse(&address)).is_err(), "nobody listens any more");
    let (running, _) = login.begin(&[]);
    running.signal(Signal::TERM);
    assert_ne!(running.wait().code, Some(0));
    assert!(login.login_files().is_empty());
    // Killed while tokens are refreshed: the file is whole, and the lock is gone.
    login.log_in(&[]);
    for round in 0..10 {
        login.servers.expire();
        let running = login.scene.program.spawn(&["mcp", "call", "docs", "whoami"]);
        std::thread::sleep(std::time::Duration::from_millis(15 * round));
        running.signal(Signal::KILL);
        running.wait();
        for file in login.login_files() {
            let text = std::fs::read_to_string(file).expect("a file");
            serde_json::from_str::<Value>(&text).expect("a whole login");
        }
    }
    let ended = login.call();
    let needs_login = ended.stderr.contains("The server needs a login.");
    assert!(ended.code == Some(0) || needs_login, "{}", ended.stderr);
}

fn tokens_are_never_shown_recorded_or_sent_elsewhere() {
    let login = LoginScene::new(&["own", "echo", "secret"]);
    let mut shown = login.log_in(&[]).stdout;
    login.scene.program.run(&["rules", "add", "allow", "mcp", "docs:*"]);
    let mut note = |ended: Ended| shown.push_str(&format!("{}{}", ended.stdout, ended.stderr));
    note(login.call());
    note(login.run(&["mcp", "list", "--json"]));
    note(login.run(&["mcp", "doctor"]));
    login.scene.asks(&[("mcp__docs__whoami", json!({}))]);
    login.scene.says("Done.");
    let ran = login.run(&["run", "--json", "Who am I?"]);
    let session = ran.events()[0]["session"].as_str().expect("an ID").to_owned();
    note(ran);
    assert!(login.scene.last_message().contains("You sent Bearer [token]"), "{}", login.scene.last_message());
    note(login.run(&["audit"]));
    note(login.run(&["config"]));
    let exported = login.run(&["sessions", "export", &session]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    note(exported);
    for request in login.scene.program.provider.requests() {
        shown.push_str(&request.body.to_string());
    }
    assert!(shown.contains("mcp_login"), "the trail has the login");
    let secrets = login.servers.secrets();
    for secret in &secrets {
        assert!(!shown.contains(secret.as_str()), "{secret}");
    }
    assert!(!shown.contains("client s3cr3t"));
    // In no other file than the one that only the user can read.
    let own = login.login_files();
    let mut folders = vec![login.scene.program.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if !own.contains(&path) {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                assert!(!secrets.iter().any(|secret| text.contains(secret.as_str())), "{}", path.display());
            }
        }
    }
    // Another address has another login, and an entry with a header of its own has none.
    let with_header = format!("{}?tenant=2", login.servers.url());
    login.run(&["mcp", "add", "other", &with_header]);
    login.run(&["mcp", "add", "keyed", &login.servers.url(), "--header", "Authorization: Bearer mine"]);
    let before = login.servers.seen().len();
    login.run(&["mcp", "call", "other", "whoami"]);
    login.run(&["mcp", "call", "keyed", "whoami"]);
    for request in &login.servers.seen()[before..] {
        let sent = &request.authorization;
        assert!(sent.is_empty() || sent == "Bearer mine", "{sent}");
    }
}

fn an_older_server_and_a_client_of_the_settings_work() {
    let login = LoginScene::new(&["older"]);
    login.log_in(&[]);
    assert_eq!(login.call().stdout.trim(), "You are Ada.");
    let login = LoginScene::new(&["own", "unregistered"]);
    let file = login.scene.program.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).expect("settings");
    std::fs::write(&file, format!("{settings}client_id = \"client-1\"\nscopes = [\"read\", \"more\"]\n"))
        .expect("written");
    login.log_in(&[]);
    assert_eq!(login.servers.asked("GET /authorize")[0].fields["scope"], "read more");
    assert_eq!(login.call().stdout.trim(), "You are Ada.");
}

fn a_login_reaches_a_session_that_runs() {
    let login = LoginScene::new(&["own"]);
    login.scene.program.run(&["rules", "add", "allow", "mcp", "docs:*"]);
    let gate = login.scene.program.provider.gate();
    let reply = trimtab_testkit::provider::Reply::new().tool("toolu_0", "find_tool", [r#"{"query": "who"}"#]);
    login.scene.program.provider.push(trimtab_testkit::provider::Answer::anthropic(reply).gated(&gate));
    login.scene.asks(&[("use_tool", json!({"name": "mcp__docs__whoami", "input": {}}))]);
    login.scene.says("Done.");
    let running = login.scene.program.spawn(&["run", "--json", "Who am I?"]);
    running.wait_for_line("model.called");
    crate::scene::wait_until("the refusal", || login.state() == "needed");
    login.log_in(&[]);
    gate.open();
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(login.scene.last_message().contains("You are Ada."), "{}", login.scene.last_message());
}

fn a_request_says_that_a_login_is_needed() {
    let login = LoginScene::new(&["own"]);
    login.log_in(&[]);
    login.scene.program.run(&["rules", "add", "allow", "mcp", "docs:*"]);
    login.run(&["mcp", "tools"]);
    login.servers.expire();
    login.servers.set("ended", true);
    login.scene.asks(&[("mcp__docs__whoami", json!({}))]);
    login.scene.says("You have to log in.");
    let ended = login.run(&["run", "Who am I?"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = login.scene.last_message();
    assert!(told.contains("The tool was not called. The server needs a login."), "{told}");
    assert!(told.contains("`trimtab mcp login docs`"), "{told}");
}

fn a_server_that_cannot_be_reached_is_reported_with_the_cause_alone() {
    let scene = Scene::new();
    let added = scene.program.run(&["mcp", "add", "docs", "http://127.0.0.1:1/mcp"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let ended = scene.program.run(&["mcp", "tools", "docs"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let first = ended.stderr.lines().next().unwrap_or_default();
    assert_eq!(first, "error: MCP server docs: Cannot connect to the server: Connection refused.");
}
