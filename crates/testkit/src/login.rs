//! An MCP server over HTTP that wants a login, and its authorization server. Both can lie in many ways.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// What one of the servers was asked.
#[derive(Debug, Clone, Default)]
pub struct LoginRequest {
    /// Method and path, such as `POST /token`.
    pub what: String,
    /// The fields of its query and of its form.
    pub fields: BTreeMap<String, String>,
    pub authorization: String,
    pub body: String,
}

/// A server with a login. Behaviors:
///
/// - `own`: the server is its own authorization server. `older`: it also describes nothing.
/// - `large`, `moved`, `no_pkce`, `other_issuer`, `other_resource`, `elsewhere`, `insecure`: its documents are too large,
///   redirect to another place, lack PKCE, name another issuer or another resource, are at another place, or name an
///   address without TLS.
/// - `token_elsewhere`: the token endpoint is at a third place. `unregistered`: it registers no clients.
/// - `secret`: clients get a secret. `short`: tokens end at once. `bad_token`: tokens are of another type.
/// - `rude`: errors have characters that steer a terminal. `refused`: it refuses the user's consent.
/// - `echo`: results repeat the token. `ended`: refresh tokens are refused. `scopes`: calls want the scope `write`.
pub struct LoginServers {
    state: Arc<ServerState>,
}

struct ServerState {
    behaviors: Mutex<BTreeSet<String>>,
    server: String,
    issuer: String,
    third: String,
    seen: Mutex<Vec<LoginRequest>>,
    /// The challenge of each code.
    codes: Mutex<BTreeMap<String, String>>,
    /// The scopes of each access token that is good.
    tokens: Mutex<BTreeMap<String, String>>,
    /// Refresh tokens that are good. Each is so for one time.
    refreshes: Mutex<BTreeMap<String, String>>,
    issued: Mutex<usize>,
}

fn locked<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoginServers {
    /// # Panics
    /// When there are no ports.
    pub fn start(behaviors: &[&str]) -> Self {
        let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        let at = |listener: &TcpListener| format!("http://{}", listener.local_addr().expect("an address"));
        let is_own = behaviors.contains(&"own") || behaviors.contains(&"older");
        let state = Arc::new(ServerState {
            behaviors: Mutex::new(behaviors.iter().map(|&behavior| behavior.to_owned()).collect()),
            server: at(&listeners[0]),
            issuer: at(&listeners[usize::from(!is_own)]),
            third: at(&listeners[2]),
            seen: Mutex::default(),
            codes: Mutex::default(),
            tokens: Mutex::default(),
            refreshes: Mutex::default(),
            issued: Mutex::default(),
        });
        for listener in listeners {
            let state = Arc::clone(&state);
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let state = Arc::clone(&state);
                    std::thread::spawn(move || attend(stream, &state));
                }
            });
        }
        Self { state }
    }

    /// The address of the MCP server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.state.server)
    }

    /// The host of the authorization server.
    pub fn issuer_host(&self) -> String {
        self.state.issuer.trim_start_matches("http://").to_owned()
    }

    pub fn third_host(&self) -> String {
        self.state.third.trim_start_matches("http://").to_owned()
    }

    /// Behaves so from now on as well, or no longer.
    pub fn set(&self, behavior: &str, is_on: bool) {
        match is_on {
            true => locked(&self.state.behaviors).insert(behavior.to_owned()),
            false => locked(&self.state.behaviors).remove(behavior),
        };
    }

    /// What was asked, in order.
    pub fn seen(&self) -> Vec<LoginRequest> {
        locked(&self.state.seen).clone()
    }

    /// The requests of one kind, such as `POST /token`.
    pub fn asked(&self, what: &str) -> Vec<LoginRequest> {
        self.seen().into_iter().filter(|request| request.what == what).collect()
    }

    /// All tokens, codes, and secrets that were ever given out.
    pub fn secrets(&self) -> Vec<String> {
        let issued = *locked(&self.state.issued);
        ["access", "refresh", "code"].iter().flat_map(|kind| (1..=issued).map(move |n| secret(kind, n))).collect()
    }

    /// Takes all access tokens back.
    pub fn expire(&self) {
        locked(&self.state.tokens).clear();
    }
}

/// Follows an address as a browser does: to the authorization server, and from there to where it leads. The text of the
/// last page.
///
/// # Panics
/// When a server does not answer.
pub fn browse(address: &str) -> String {
    let mut address = address.to_owned();
    for _ in 0..5 {
        let rest = address.strip_prefix("http://").expect("an address of this machine").to_owned();
        let (host, path) = rest.split_once('/').expect("a path");
        let mut stream = TcpStream::connect(host).expect("a server");
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("an answer");
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
        };
        match page.lines().find_map(header) {
            Some(next) => address = next,
            None => return page,
        }
    }
    panic!("too many redirects");
}

fn secret(kind: &str, number: usize) -> String {
    format!("{kind}-s3cr3t-{number}-0123456789abcdef")
}

fn attend(stream: TcpStream, state: &ServerState) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|count| *count > 0)?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut request, mut host) = (0, LoginRequest::default(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => request.authorization = value.trim().to_owned(),
            "host" => host = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    request.what = format!("{method} {path}");
    let form = if request.body.starts_with('{') { "" } else { &request.body };
    request.fields = fields(query).into_iter().chain(fields(form)).collect();
    locked(&state.seen).push(request.clone());
    let at = format!("http://{host}");
    let answer = answer(state, &at, &request);
    let mut stream = stream;
    stream.write_all(answer.as_bytes()).ok()
}

fn fields(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    };
    text.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn respond(status: &str, headers: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
}

fn document(value: &Value) -> String {
    respond("200 OK", "", "application/json", &value.to_string())
}

fn answer(state: &ServerState, at: &str, request: &LoginRequest) -> String {
    let is = |behavior: &str| locked(&state.behaviors).contains(behavior);
    let is_issuer = at == state.issuer;
    match request.what.as_str() {
        "GET /.well-known/oauth-protected-resource/mcp" if at == state.server && !is("older") => {
            let resource = match is("other_resource") {
                true => "https://bank.example.org/mcp".to_owned(),
                false => format!("{}/mcp", state.server),
            };
            let issuer = if is("insecure") { "http://auth.example.org".to_owned() } else { state.issuer.clone() };
            document(&json!({
                "resource": resource, "authorization_servers": [issuer], "scopes_supported": ["read"],
            }))
        }
        "GET /.well-known/oauth-authorization-server" if is_issuer && !is("older") => issuer_document(state, &is),
        "POST /register" if is_issuer => {
            let mut client = json!({"client_id": "client-1", "redirect_uris": []});
            if is("secret") {
                client["client_secret"] = json!("client s3cr3t/1");
            }
            respond("201 Created", "", "application/json", &client.to_string())
        }
        "GET /authorize" if is_issuer => authorize(state, request, is("refused")),
        "POST /token" if is_issuer || at == state.third => exchange(state, request, &is),
        "POST /revoke" if is_issuer => {
            locked(&state.refreshes).remove(&request.fields["token"]);
            document(&json!({}))
        }
        "POST /mcp" if at == state.server => call(state, request, &is),
        _ => respond("404 Not Found", "", "text/plain", ""),
    }
}

fn issuer_document(state: &ServerState, is: &dyn Fn(&str) -> bool) -> String {
    if is("moved") {
        let place = format!("Location: {}/.well-known/oauth-authorization-server\r\n", state.third);
        return respond("302 Found", &place, "text/plain", "");
    }
    let issuer = if is("other_issuer") { state.third.clone() } else { state.issuer.clone() };
    let token = if is("token_elsewhere") { &state.third } else { &state.issuer };
    let mut described = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{}/authorize", state.issuer),
        "token_endpoint": format!("{token}/token"),
        "revocation_endpoint": format!("{}/revoke", state.issuer),
        "registration_endpoint": format!("{}/register", state.issuer),
        "code_challenge_methods_supported": if is("no_pkce") { json!(["plain"]) } else { json!(["S256"]) },
        "token_endpoint_auth_methods_supported": if is("secret") { json!(["client_secret_basic"]) } else { json!(["none"]) },
        "authorization_response_iss_parameter_supported": true,
    });
    if is("unregistered") {
        described["registration_endpoint"] = Value::Null;
    }
    if is("large") {
        described["padding"] = json!("x".repeat(1 << 20));
    }
    document(&described)
}

fn authorize(state: &ServerState, request: &LoginRequest, is_refused: bool) -> String {
    let field = |name: &str| request.fields.get(name).cloned().unwrap_or_default();
    let back = format!("{}?state={}&iss={}", field("redirect_uri"), encoded(&field("state")), encoded(&state.issuer));
    if is_refused {
        let place = format!("Location: {back}&error=access_denied&error_description=No%1B%5B2J%0Athanks\r\n");
        return respond("302 Found", &place, "text/plain", "");
    }
    let code = issue(state, "code");
    let known = format!("{} {}", field("code_challenge"), field("scope"));
    locked(&state.codes).insert(code.clone(), known);
    respond("302 Found", &format!("Location: {back}&code={code}\r\n"), "text/plain", "")
}

fn issue(state: &ServerState, kind: &str) -> String {
    let mut issued = locked(&state.issued);
    *issued += 1;
    secret(kind, *issued)
}

fn exchange(state: &ServerState, request: &LoginRequest, is: &dyn Fn(&str) -> bool) -> String {
    let field = |name: &str| request.fields.get(name).cloned().unwrap_or_default();
    let refuse = |error: &str| {
        let about = if is("rude") { "no\u{1b}[2J\u{202e} way" } else { "no" };
        let body = json!({"error": error, "error_description": about});
        respond("400 Bad Request", "", "application/json", &body.to_string())
    };
    let is_known = match is("secret") {
        true => request.authorization.starts_with("Basic "),
        false => field("client_id") == "client-1",
    };
    let is_meant = field("resource") == format!("{}/mcp", state.server);
    if !is_known || !is_meant || is("rude") {
        return refuse("invalid_request");
    }
    let scopes = match field("grant_type").as_str() {
        "authorization_code" => {
            // A code is good for one time.
            let Some(known) = locked(&state.codes).remove(&field("code")) else { return refuse("invalid_grant") };
            let (challenge, scopes) = known.split_once(' ').unwrap_or((&known, ""));
            let digest = ring::digest::digest(&ring::digest::SHA256, field("code_verifier").as_bytes());
            if URL_SAFE_NO_PAD.encode(digest) != challenge {
                return refuse("invalid_grant");
            }
            scopes.to_owned()
        }
        "refresh_token" if !is("ended") => match locked(&state.refreshes).remove(&field("refresh_token")) {
            Some(scopes) => scopes,
            None => return refuse("invalid_grant"),
        },
        _ => return refuse("invalid_grant"),
    };
    let (access, refresh) = (issue(state, "access"), issue(state, "refresh"));
    locked(&state.tokens).insert(access.clone(), scopes.clone());
    locked(&state.refreshes).insert(refresh.clone(), scopes.clone());
    document(&json!({
        "access_token": access, "refresh_token": refresh, "scope": scopes,
        "token_type": if is("bad_token") { "mac" } else { "Bearer" },
        "expires_in": if is("short") { 1 } else { 3_600 },
    }))
}

/// A message of the MCP protocol.
fn call(state: &ServerState, request: &LoginRequest, is: &dyn Fn(&str) -> bool) -> String {
    let token = request.authorization.strip_prefix("Bearer ").unwrap_or_default();
    let scopes = locked(&state.tokens).get(token).cloned();
    let metadata = if is("elsewhere") { &state.third } else { &state.server };
    let metadata = format!("resource_metadata=\"{metadata}/.well-known/oauth-protected-resource/mcp\"");
    let Some(scopes) = scopes else {
        let challenge = match is("older") {
            true => "WWW-Authenticate: Bearer\r\n".to_owned(),
            false => format!("WWW-Authenticate: Bearer {metadata}\r\n"),
        };
        return respond("401 Unauthorized", &challenge, "text/plain", "");
    };
    let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let result = |result: Value| document(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => result(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        })),
        "tools/list" => result(json!({"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]})),
        "tools/call" if is("scopes") && !scopes.split(' ').any(|scope| scope == "write") => {
            let challenge =
                format!("WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"write\", {metadata}\r\n");
            respond("403 Forbidden", &challenge, "text/plain", "")
        }
        "tools/call" => {
            let text =
                if is("echo") { format!("You sent {}", request.authorization) } else { "You are Ada.".to_owned() };
            result(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ if message["id"].is_null() => respond("202 Accepted", "", "text/plain", ""),
        _ => document(&json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})),
    }
}
