//! Who is let in, and from where.
//!
//! A page of another origin can make a browser send requests here, with the browser's cookies. So a
//! request is judged by more than its credentials: the name that the server is called by must be one
//! of its own (a foreign name that resolves to this machine is somebody else's page), and where the
//! browser says that a request comes from, that must be the server's own origin. These checks are
//! made on every route, before anything is read or looked up. See `docs/decisions/0022-access.md`.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::failure::Failure;
use super::listen::{ConnectionSlot, PeerAddress};
use super::{files, pages};

/// The cookie of a browser that has logged in, before the port: cookies know no ports, and two servers on one machine
/// must not log each other's browsers out.
pub(super) const COOKIE: &str = "trimtab_";

/// A request must be read and answered in this time; streams only have to begin.
const PATIENCE: Duration = Duration::from_secs(90);

/// The same where the answer is what a model has to say, and models are slow.
const LONG_PATIENCE: Duration = Duration::from_secs(900);
/// Routes of that sort.
const SLOW: [&str; 1] = ["/api/assistant/message"];

/// Nothing from elsewhere, nothing inline, no frames but previews; HTML only from the page's own templates and its sanitizer. The
/// policy `trimtab-worker` names one script, the service worker.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; worker-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify trimtab-worker";

/// What the server calls itself.
#[derive(Debug)]
pub(super) struct ServerNames {
    /// What may stand in `Host`.
    hosts: BTreeSet<String>,
    /// `http` or `https`.
    scheme: &'static str,
    /// The name of its cookie.
    pub(super) cookie: String,
}

impl ServerNames {
    /// The names of a server at this port; on the port of its scheme a name may stand alone.
    pub(super) fn new(names: &[String], port: u16, secure: bool) -> Self {
        let usual = if secure { 443 } else { 80 };
        let mut hosts = BTreeSet::new();
        for name in names {
            let name = name.to_ascii_lowercase();
            if port == usual {
                hosts.insert(name.clone());
            }
            hosts.insert(format!("{name}:{port}"));
        }
        Self { hosts, scheme: if secure { "https" } else { "http" }, cookie: format!("{COOKIE}{port}") }
    }

    pub(super) fn is_secure(&self) -> bool {
        self.scheme == "https"
    }
}

/// Who asks, once that is known. Only [`guard`] makes one.
#[derive(Debug, Clone)]
pub(super) struct Authenticated {
    /// The token's name, for limits and records.
    pub(super) name: String,
    /// What was shown; streams show it again from time to time.
    pub(super) secret: String,
    /// The request comes from this machine, as far as can be told.
    pub(super) is_local: bool,
}

/// Stands before every route.
pub(super) async fn guard(State(server): State<Shared>, mut request: Request, next: Next) -> Response {
    let is_api = request.uri().path() == "/api" || request.uri().path().starts_with("/api/");
    let patience = if SLOW.contains(&request.uri().path()) { LONG_PATIENCE } else { PATIENCE };
    let answered = async {
        check_origin(&server.names, &request, is_api)?;
        if [pages::LOGIN, pages::LOGIN_STYLE].contains(&request.uri().path()) {
            return Ok(next.run(request).await);
        }
        let shown = shown(&server.names.cookie, request.headers());
        let found = match &shown {
            Some((secret, _)) => server.client.admin().find_token(secret).await.map_err(Failure::from)?,
            None => None,
        };
        let (Some(row), Some((secret, by_cookie))) = (found, shown) else {
            return Err(Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", "This needs credentials.").hint(
                "Programs send `Authorization: Bearer …` with a token from `trimtab token add NAME`; a browser logs \
                 in once with the link that `trimtab serve` or `trimtab token login` prints.",
            ));
        };
        if by_cookie {
            check_cookie_use(&request)?;
        }
        check_body(&request)?;
        if let Some(place) = request.extensions().get::<ConnectionSlot>() {
            place.keep();
        }
        let is_local = is_local(&request);
        request.extensions_mut().insert(Authenticated { name: row.name, secret, is_local });
        if is_api {
            server.profile.refresh(&server.client).await;
        }
        Ok(next.run(request).await)
    };
    let mut response = match tokio::time::timeout(patience, answered).await {
        Ok(Ok(response)) => response,
        Ok(Err(failure)) if is_api => failure.into_response(),
        Ok(Err(failure)) => pages::refused(&failure),
        Err(_) => Failure::new(StatusCode::REQUEST_TIMEOUT, "timeout", "The request timed out.")
            .hint("Its work may still be running.")
            .into_response(),
    };
    let framed = response.extensions().get::<FramePolicy>().copied();
    secure(response.headers_mut(), is_api, framed);
    response
}

/// Headers that a proxy adds.
const OF_PROXIES: [&str; 5] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/// Whether a request comes from this machine: from a loopback address, to a loopback name, and through no proxy that
/// says so. A tunnel such as `ssh -L` looks the same, and whoever opens one can use the machine anyway.
fn is_local(request: &Request) -> bool {
    let is_near = request.extensions().get::<PeerAddress>().is_some_and(|PeerAddress(peer)| peer.is_loopback());
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
    let is_named = name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback);
    is_near && is_named && !OF_PROXIES.iter().any(|name| request.headers().contains_key(*name))
}

/// Where the request comes from, and what it calls the server.
fn check_origin(names: &ServerNames, request: &Request, is_api: bool) -> Result<(), Failure> {
    let headers = request.headers();
    let host = only(headers, &header::HOST)?.map(str::to_ascii_lowercase);
    let Some(host) = host.filter(|host| names.hosts.contains(host)) else {
        return Err(Failure::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host",
            "The Host header does not match a known name of the server.",
        )
        .hint("Use the address that `trimtab serve` printed, or start it with --host NAME."));
    };
    if request.uri().authority().is_some_and(|named| !named.as_str().eq_ignore_ascii_case(&host)) {
        return Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, "host", "The request names two hosts."));
    }
    let elsewhere =
        || Failure::new(StatusCode::FORBIDDEN, "origin", "The request comes from another page than the server's own.");
    if let Some(origin) = only(headers, &header::ORIGIN)?
        && !origin.eq_ignore_ascii_case(&format!("{}://{host}", names.scheme))
    {
        return Err(elsewhere());
    }
    let site = only(headers, &HeaderName::from_static("sec-fetch-site"))?;
    let is_ours = match site {
        None | Some("same-origin") => true,
        // An address that a person has typed or opened; a page cannot cause that.
        Some("none") => !is_api && request.method() == Method::GET,
        Some(_) => false,
    };
    if !is_ours {
        return Err(elsewhere().hint("Type or paste the address into the address bar."));
    }
    let dest = only(headers, &HeaderName::from_static("sec-fetch-dest"))?;
    // A preview is a separate page, with a policy under which it can do nothing.
    let is_preview = request.uri().path() == files::PREVIEW && dest == Some("iframe");
    let is_inside = dest.is_some_and(|dest| ["iframe", "frame", "embed", "object", "fencedframe"].contains(&dest));
    if is_inside && !is_preview {
        return Err(elsewhere().hint("The server's pages are not shown inside others."));
    }
    Ok(())
}

/// A header that may be there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Failure> {
    let wrong = || Failure::new(StatusCode::BAD_REQUEST, "header", format!("The header {name} cannot be read."));
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(wrong());
    }
    first.map(|value| value.to_str().map_err(|_| wrong())).transpose()
}

/// The secret that is shown, and whether a browser shows it. A header beats a cookie.
fn shown(cookie: &str, headers: &HeaderMap) -> Option<(String, bool)> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| (secret.trim().to_owned(), false));
    }
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut named = pairs.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    named.find(|(name, _)| *name == cookie).map(|(_, secret)| (secret.to_owned(), true))
}

/// A browser says where a request that changes something comes from; one that does not is none, or too old.
fn check_cookie_use(request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    let says = headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !says {
        return Err(Failure::new(StatusCode::FORBIDDEN, "origin", "A cookie alone does not allow changes.")
            .hint("Programs use a token: `trimtab token add NAME`."));
    }
    Ok(())
}

/// What is sent is JSON: forms and plain text are what other pages can send.
fn check_body(request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    let is_empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length.as_bytes() == b"0")
        && !headers.contains_key(header::TRANSFER_ENCODING);
    let is_json = match only(headers, &header::CONTENT_TYPE)? {
        None => is_empty,
        Some(named) => {
            let kind = named.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        }
    };
    // A method without a body needs none to be described.
    if is_json || (is_empty && matches!(*request.method(), Method::GET | Method::HEAD)) {
        return Ok(());
    }
    Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", "The body must be JSON.")
        .hint("Send `Content-Type: application/json`."))
}

/// The policy of an answer that the page shows in a frame, instead of [`POLICY`].
#[derive(Debug, Clone, Copy)]
pub(super) struct FramePolicy(pub(super) &'static str);

/// What browsers are told of every answer.
fn secure(headers: &mut HeaderMap, is_api: bool, framed: Option<FramePolicy>) {
    let (policy, frames) = framed.map_or((POLICY, "DENY"), |FramePolicy(policy)| (policy, "SAMEORIGIN"));
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_FRAME_OPTIONS, frames),
        (HeaderName::from_static("x-dns-prefetch-control"), "off"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let is_stream = headers.get(header::CACHE_CONTROL).is_some_and(|value| value == "no-cache");
    if is_api && !is_stream || !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_request_is_local_by_its_address_its_host_and_the_absence_of_proxies() {
        let is_local = |peer: &str, host: &str, more: Option<&str>| {
            let mut request = axum::http::Request::builder().header(header::HOST, host);
            if let Some(name) = more {
                request = request.header(name, "10.0.0.7");
            }
            let mut request: Request = request.body(Body::empty()).expect("a request");
            request.extensions_mut().insert(PeerAddress(peer.parse().expect("an address")));
            is_local(&request)
        };
        for (peer, host) in [("127.0.0.1", "127.0.0.1:7420"), ("::1", "[::1]:7420"), ("127.0.0.1", "localhost:7420")] {
            assert!(is_local(peer, host, None), "{peer} {host}");
            assert!(!is_local(peer, host, Some("x-forwarded-for")), "{peer} {host}");
            assert!(!is_local(peer, host, Some("forwarded")), "{peer} {host}");
        }
        assert!(!is_local("10.0.0.7", "127.0.0.1:7420", None));
        assert!(!is_local("127.0.0.1", "box.example:7420", None), "a proxy that keeps the name");
        assert!(!is_local("127.0.0.1", "127.0.0.1.example:7420", None));
        let bare: Request = Request::new(Body::empty());
        assert!(!super::is_local(&bare), "an unknown peer is far away");
    }
}
