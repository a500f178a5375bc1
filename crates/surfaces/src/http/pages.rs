//! What a browser sees: the login page, and the browser's program that is built into the binary.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use super::Shared;
use super::failure::Failure;

/// Where a link for logging in leads.
pub(super) const LOGIN: &str = "/login";

/// The browser's program, as `web/` builds it. A build without it has a page that says how to use the API.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct WebFiles;

/// Exchanges the secret of the link for a cookie, and leads away from the address that has it.
pub(super) async fn log_in(State(server): State<Shared>, request: Request) -> Response {
    // A look at the link must not use it up, whoever looks.
    if request.method() != Method::GET {
        let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method", "A login link is opened with GET.");
        return ([(header::ALLOW, "GET")], refused(&failure)).into_response();
    }
    let asked = request.uri().query().unwrap_or_default();
    let secret = asked.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
    let entered = match server.client.admin().log_in(secret).await {
        Ok(entered) => entered,
        Err(problem) => return refused(&problem.into()),
    };
    let Some((cookie, seconds)) = entered else {
        return refused(
            &Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", "This link was already used, or has expired.")
                .hint("Create another one on the server: trimtab token login"),
        );
    };
    let secure = if server.names.is_secure() { "; Secure" } else { "" };
    let name = &server.names.cookie;
    let cookie = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie.as_str()), (header::LOCATION, "/")]).into_response()
}

/// A page of the browser's program. Addresses that are no file of it are its own to understand.
pub(super) async fn page(request: Request) -> Response {
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) || path.starts_with("/api") {
        return Failure::not_found("There is no such route.")
            .hint("GET /api/openapi.json describes all routes.")
            .into_response();
    }
    let name = path.trim_start_matches('/');
    if let Some(file) = embedded(name, request.headers()) {
        return file;
    }
    let is_file = name.rsplit('/').next().is_some_and(|last| last.contains('.'));
    match embedded("index.html", request.headers()) {
        _ if is_file => refused(&Failure::not_found("There is no such file.")),
        Some(file) => file,
        None => html(StatusCode::OK, "Trimtab is running", PLACEHOLDER),
    }
}

/// Whether a browser accepts Brotli. Only built files are compressed, which hold no secrets.
fn accepts_brotli(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("br") && !parts.any(|weight| weight.replace(' ', "") == "q=0")
    })
}

/// A built file, compressed if there is a compressed copy and the browser accepts it.
fn embedded(name: &str, headers: &HeaderMap) -> Option<Response> {
    let file = WebFiles::get(name)?;
    let copy = if accepts_brotli(headers) { WebFiles::get(&format!("{name}.br")) } else { None };
    let is_compressed = copy.is_some();
    let mut response = built_file(name, copy.unwrap_or(file));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_compressed {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    Some(response)
}

fn built_file(name: &str, file: rust_embed::EmbeddedFile) -> Response {
    let kind = match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    // Names of built files have their hash in them; the page that names them has not.
    let kept = if name.starts_with("assets/") { "private, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = Response::new(Body::from(file.data.into_owned()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    response
}

const PLACEHOLDER: &str = "<p>You are logged in. This build has no browser interface; the API is at \
    <a href=\"/api/openapi.json\">/api/openapi.json</a>.</p>\
    <p>Programs use a token: <code>trimtab token add NAME</code>, then \
    <code>Authorization: Bearer …</code>.</p>";

/// Says to a person why they are not let in.
pub(super) fn refused(failure: &Failure) -> Response {
    let hint = failure.hint_text().map(|hint| format!("<p>{}</p>", escaped(hint))).unwrap_or_default();
    let help = match failure.status() {
        StatusCode::UNAUTHORIZED => {
            "<p>Open the link that <code>trimtab serve</code> printed, or make another one with \
             <code>trimtab token login</code>.</p>"
        }
        _ => "",
    };
    html(failure.status(), "Trimtab", &format!("<p>{}</p>{hint}{help}", escaped(failure.message())))
}

fn html(status: StatusCode, title: &str, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"></head><body><h1>{title}</h1>{body}</body></html>\n"
    );
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_is_sent_only_to_those_that_accept_it() {
        for (accepted, is_accepted) in [
            ("gzip, br", true),
            ("br;q=0.5", true),
            ("gzip", false),
            ("br; q=0", false),
            ("brotli", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(accepts_brotli(&headers), is_accepted, "{accepted}");
        }
        assert!(!accepts_brotli(&HeaderMap::new()));
    }
}
