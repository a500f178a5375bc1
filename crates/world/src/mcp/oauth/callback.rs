//! The address on this machine that the browser is sent to after the user's consent.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::{LoginCode, foreign};

/// The path of the address.
const PATH: &str = "/callback";
/// Bytes of a request's head, and how long it may take.
const LARGEST_HEAD: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time.
const MOST_CONNECTIONS: usize = 16;

/// What must come back.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) state: String,
    pub(super) issuer: String,
    /// The authorization server says that it names itself, so a missing name is a forgery.
    pub(super) names_itself: bool,
}

/// Listens on this machine only.
#[derive(Debug)]
pub(super) struct CallbackListener {
    listener: TcpListener,
    pub(super) address: String,
}

impl CallbackListener {
    /// `port` 0: any that is free.
    pub(super) async fn open(port: u16) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("Cannot listen on 127.0.0.1:{port} for the login: {error}.");
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// Waits for the browser. A request that does not belong to this login ends nothing.
    pub(super) async fn wait(&self, expected: &Expected) -> Result<LoginCode, String> {
        let (sender, mut codes) = mpsc::channel(1);
        let connections = std::sync::Arc::new(tokio::sync::Semaphore::new(MOST_CONNECTIONS));
        loop {
            tokio::select! {
                Some(code) = codes.recv() => return code,
                accepted = self.listener.accept() => {
                    let (Ok((stream, _)), Ok(permit)) = (accepted, std::sync::Arc::clone(&connections).try_acquire_owned()) else {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        continue;
                    };
                    let (sender, expected) = (sender.clone(), expected.clone());
                    tokio::spawn(async move {
                        if let Some(code) = attend(stream, &expected).await {
                            // Somebody may have got another answer first.
                            let _ = sender.try_send(code);
                        }
                        drop(permit);
                    });
                }
            }
        }
    }
}

/// Reads one request, and answers it. The result of the login, if the request is about this one.
async fn attend(mut stream: TcpStream, expected: &Expected) -> Option<Result<LoginCode, String>> {
    let target = tokio::time::timeout(PATIENCE, read_target(&mut stream)).await.ok().flatten();
    let code = target.as_deref().and_then(|target| target.strip_prefix(PATH)).and_then(|rest| match rest {
        "" => None,
        rest => read_code(rest.strip_prefix('?')?, expected),
    });
    let (status, text) = match &code {
        Some(Ok(_)) => ("200 OK", "You can close this page and go back to Trimtab."),
        Some(Err(_)) => ("200 OK", "The login failed. Trimtab says why."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let body = format!("<!doctype html><meta charset=utf-8><title>Trimtab</title><p>{text}</p>\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nContent-Security-Policy: \
         default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // The browser may have gone; the code counts nevertheless.
    let _ = tokio::time::timeout(PATIENCE, stream.write_all(answer.as_bytes())).await;
    let _ = stream.shutdown().await;
    code
}

/// The target of a GET request.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    loop {
        let mut piece = [0; 2_048];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&piece[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&head) {
            Ok(httparse::Status::Complete(_)) => {
                return request.path.filter(|_| request.method == Some("GET")).map(str::to_owned);
            }
            Ok(httparse::Status::Partial) if head.len() <= LARGEST_HEAD => {}
            _ => return None,
        }
    }
}

/// What the authorization server says by way of the browser; nothing if it is not about this login.
pub(super) fn read_code(query: &str, expected: &Expected) -> Option<Result<LoginCode, String>> {
    let whole = Url::parse(&format!("http://127.0.0.1/?{query}")).ok()?;
    let mut fields: HashMap<String, String> = HashMap::new();
    for (name, value) in whole.query_pairs() {
        // Twice the same: nobody knows which one counts.
        if fields.insert(name.into_owned(), value.into_owned()).is_some() {
            return None;
        }
    }
    // Only who has read the address of this login knows the state.
    if fields.get("state") != Some(&expected.state) {
        return None;
    }
    let is_issuer = |named: &String| named.trim_end_matches('/') == expected.issuer.trim_end_matches('/');
    let is_meant = fields.get("iss").map_or(!expected.names_itself, is_issuer);
    if !is_meant {
        return Some(Err("The answer comes from another authorization server.".to_owned()));
    }
    match (fields.remove("code"), fields.get("error")) {
        (Some(code), None) if !code.is_empty() && code.len() <= super::LONGEST_TOKEN => {
            Some(Ok(LoginCode(code.into())))
        }
        (_, Some(error)) => {
            let about = fields.get("error_description").map(|text| format!(": {}", foreign(text))).unwrap_or_default();
            Some(Err(format!("The authorization server refused: {}{about}.", foreign(error))))
        }
        _ => Some(Err("The authorization server sent no code.".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    fn read(query: &str, names_itself: bool) -> Option<Result<String, String>> {
        let expected = Expected { state: "s1".into(), issuer: "https://a.example".into(), names_itself };
        read_code(query, &expected).map(|read| read.map(|code| code.0.expose_secret().to_owned()))
    }

    #[test]
    fn only_an_answer_to_this_login_counts() {
        assert_eq!(read("code=c%201&state=s1", false), Some(Ok("c 1".into())));
        assert_eq!(read("code=c&state=s1&iss=https%3A%2F%2Fa.example%2F", true), Some(Ok("c".into())));
        for foreign in ["code=c", "code=c&state=s2", "code=c&state=s1&state=s2", "error=x&state=", ""] {
            assert_eq!(read(foreign, false), None, "{foreign}");
        }
        for wrong in
            ["state=s1", "code=&state=s1", "code=c&error=denied&state=s1", "code=c&state=s1&iss=https://b.example"]
        {
            assert!(matches!(read(wrong, false), Some(Err(_))), "{wrong}");
        }
        assert!(matches!(read("code=c&state=s1", true), Some(Err(_))), "it says that it names itself");
        let refused = read("error=denied&error_description=%1b[2Jno%0athanks&state=s1", false).expect("ours");
        assert_eq!(refused, Err("The authorization server refused: denied: [2Jno thanks.".into()));
    }
}
