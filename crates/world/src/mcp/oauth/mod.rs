//! Logins at MCP servers over HTTP, by OAuth 2.1: which authorization server a server names, a client there, the user's
//! consent in a browser, and tokens that are kept and refreshed.
//!
//! Every word of the server and of its authorization server is foreign: documents are bounded, redirects are not
//! followed, addresses must be `https` (or this machine, for a server on this machine), and a token goes only to the
//! address that it was issued for.

mod callback;
mod challenge;
mod documents;
mod login;
mod stored;
mod tokens;

pub use documents::{AuthorizationServer, ProtectedServer};
pub use login::{LoginCode, OAuthClient, PendingLogin};
pub use stored::{LoginFile, StoredLogin};

pub(super) use challenge::AuthChallenge;
pub(super) use stored::NoToken;

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use super::plain;
use crate::models::{http_client, is_loopback};

/// How long one answer of an authorization server may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of a document, and of an address.
const LARGEST_DOCUMENT: usize = 64 * 1024;
const LONGEST_ADDRESS: usize = 2_048;
/// Bytes of a token or a secret.
const LONGEST_TOKEN: usize = 16 * 1024;
/// Bytes of a client's ID.
const LONGEST_ID: usize = 2_048;
/// Bytes of an error's text that are shown.
const LONGEST_ERROR: usize = 300;
/// Scopes of one login.
const MOST_SCOPES: usize = 64;

/// An address that may be used for a login: `https`, or `http` on this machine if the server is there as well.
fn checked(text: &str, is_local: bool) -> Result<Url, String> {
    let shown = || plain(text, 200).replace('\n', " ");
    if text.len() > LONGEST_ADDRESS {
        return Err("An address of the login is too long.".to_owned());
    }
    let url = Url::parse(text).map_err(|_| format!("The address {} of the login is not valid.", shown()))?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    match (url.scheme(), is_loopback(&url)) {
        _ if !is_plain || url.host_str().is_none() => {
            Err(format!("The address {} of the login is not valid.", shown()))
        }
        ("https", false) => Ok(url),
        ("https" | "http", true) if is_local => Ok(url),
        (_, true) => Err(format!("The server names {} for the login, which is on this machine.", origin(&url))),
        _ => Err(format!("The login needs https, and {} does not use it.", origin(&url))),
    }
}

/// Scheme, host, and port, in letters that pass for nothing else.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The address of a server that tokens can be issued for.
fn server_address(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|_| "The address of the server is not valid.".to_owned())?;
    let mut parsed = checked(url.split('#').next().unwrap_or_default(), is_loopback(&parsed))?;
    parsed.set_fragment(None);
    Ok(parsed)
}

/// A document, unless there is none at this address.
async fn document<T: DeserializeOwned>(url: &Url) -> Result<Option<T>, String> {
    let client = http_client(url.as_str()).map_err(|fault| fault.problem.message)?;
    let request = client.get(url.clone()).header("Accept", "application/json");
    let (status, body) = answered(request, url).await?;
    match status {
        status if status.is_success() => serde_json::from_slice(&body)
            .map(Some)
            .map_err(|_| format!("The login data at {} is not valid.", shown(url))),
        status if status.is_server_error() => Err(format!("{} answered with HTTP {status}.", shown(url))),
        // A redirect as well: what another address says does not count.
        _ => Ok(None),
    }
}

/// Sends a request, and reads a bounded answer.
async fn answered(request: RequestBuilder, url: &Url) -> Result<(StatusCode, Vec<u8>), String> {
    let failed = |error: reqwest::Error| {
        let what = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
        format!("{} {what}.", origin(url))
    };
    let whole = async {
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        Ok((status, bounded_body(response).await.map_err(|why| format!("{} {why}.", origin(url)))?))
    };
    match tokio::time::timeout(PATIENCE, whole).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("{} did not answer within {} s.", origin(url), PATIENCE.as_secs())),
    }
}

async fn bounded_body(response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|_| "closed the connection".to_owned())?);
        if body.len() > LARGEST_DOCUMENT {
            return Err(format!("sent more than {LARGEST_DOCUMENT} bytes"));
        }
    }
    Ok(body)
}

/// An address without its query, which may hold a key.
fn shown(url: &Url) -> String {
    format!("{}{}", origin(url), url.path())
}

/// A text of an authorization server in one line.
fn foreign(text: &str) -> String {
    plain(text, LONGEST_ERROR).replace(['\n', '\t'], " ")
}

/// The scopes in a text; those that no scope can be called are left out.
fn scopes_in(text: &str) -> Vec<String> {
    let is_scope =
        |word: &&str| word.len() <= 256 && word.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
    text.split(' ').filter(|word| !word.is_empty()).filter(is_scope).take(MOST_SCOPES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_with_tls_or_on_this_machine_are_used() {
        assert!(checked("https://auth.example.org/a?b=c", false).is_ok());
        assert!(checked("http://127.0.0.1:8000/token", true).is_ok());
        assert!(checked("http://localhost:8000/token", true).is_ok());
        for (text, is_local) in [
            ("http://auth.example.org/", false),
            ("http://auth.example.org/", true),
            ("http://127.0.0.1/", false),
            ("https://127.0.0.1/", false),
            ("https://user:secret@example.org/", false),
            ("https://example.org/#part", false),
            ("file:///etc/passwd", true),
            ("javascript:alert(1)", true),
            ("nonsense", true),
            (&format!("https://example.org/{}", "a".repeat(3_000)), false),
        ] {
            assert!(checked(text, is_local).is_err(), "{text}");
        }
        let refused = checked("ssh://a\u{1b}[2Jb", false).expect_err("refused");
        assert!(!refused.contains('\u{1b}'), "{refused}");
        let lookalike = checked("https://ехаmple.org/", false).expect("valid");
        assert!(origin(&lookalike).starts_with("https://xn--"), "{}", origin(&lookalike));
    }

    #[test]
    fn scopes_are_words_of_the_protocol() {
        assert_eq!(scopes_in("a:read  b.write \u{1b}[2J \"x\" c"), ["a:read", "b.write", "c"]);
        assert_eq!(scopes_in(&"x ".repeat(1_000)).len(), MOST_SCOPES);
    }
}
