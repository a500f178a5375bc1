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
/// The style of the login page, which is shown to people who are not logged in.
pub(super) const LOGIN_STYLE: &str = "/login.css";
/// A form with a link in it. What is longer is something else.
const LONGEST_FORM: usize = 4096;

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
    exchange(&server, secret, "This link was already used, or has expired.").await
}

/// The form of the login page: a link or its secret, pasted or typed on another device.
pub(super) async fn log_in_by_form(State(server): State<Shared>, body: Body) -> Response {
    let Ok(bytes) = axum::body::to_bytes(body, LONGEST_FORM).await else {
        return refused(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "This is not a login link."));
    };
    let form = String::from_utf8_lossy(&bytes);
    exchange(&server, secret_in(&form), "This link or code is unknown, was already used, or has expired.").await
}

/// The secret in a form. It has no character that forms write differently, so that the link around it is not decoded.
fn secret_in(form: &str) -> &str {
    let from = form.rfind("tt_").map_or("", |at| &form[at..]);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    &from[..from.find(|c| !is_part(c)).unwrap_or(from.len())]
}

async fn exchange(server: &Shared, secret: &str, unknown: &str) -> Response {
    let entered = match server.client.admin().log_in(secret).await {
        Ok(entered) => entered,
        Err(problem) => return refused(&problem.into()),
    };
    let Some((cookie, seconds)) = entered else {
        return refused(
            &Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", unknown)
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
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
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

const LOGIN_FORM: &str = "<p>Open the link that <code>trimtab serve</code> printed, or create one with \
    <code>trimtab token login</code> and paste it here.</p>\
    <form method=\"post\" action=\"/login\"><label for=\"token\">Login link</label>\
    <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"off\" required autofocus>\
    <button>Log in</button></form>";

/// The style of the pages that the server itself writes. It holds nothing that is not public.
pub(super) async fn login_style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

const STYLE: &str = ":root{color-scheme:light dark}\
    body{max-width:26rem;margin:15vh auto 0;padding:0 1.25rem;font:1rem/1.5 system-ui,sans-serif;\
    background:light-dark(#fff,#14181b);color:light-dark(#161b1e,#e9eef0)}\
    h1{font-size:1.5rem}code{font-size:.9em}form{display:grid;gap:.5rem;margin-top:1.5rem}label{font-weight:600}\
    input,button{font:inherit;min-height:44px;padding:0 .75rem;border-radius:8px;box-sizing:border-box;width:100%}\
    input{border:1px solid light-dark(#8a979f,#6b7a84);background:light-dark(#fff,#0f1316);color:inherit}\
    button{border:0;background:light-dark(#0f766e,#4fc3b8);color:light-dark(#fff,#06231f);font-weight:600}\
    :focus-visible{outline:3px solid light-dark(#0b66d0,#79b8ff);outline-offset:2px}\n";

/// Says to a person why they are not let in.
pub(super) fn refused(failure: &Failure) -> Response {
    let help = match (failure.status(), failure.hint_text()) {
        // The form says what to do. The hint is for programs.
        (StatusCode::UNAUTHORIZED, _) => LOGIN_FORM.to_owned(),
        (_, Some(hint)) => format!("<p>{}</p>", escaped(hint)),
        (_, None) => String::new(),
    };
    html(failure.status(), "Trimtab", &format!("<p>{}</p>{help}", escaped(failure.message())))
}

fn html(status: StatusCode, title: &str, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"stylesheet\" href=\"{LOGIN_STYLE}\"></head>\
         <body><main><h1>{title}</h1>{body}</main></body></html>\n"
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
    fn a_form_may_hold_a_link_or_its_secret() {
        for (form, secret) in [
            ("token=tt_Ab1_-z", "tt_Ab1_-z"),
            ("token=http%3A%2F%2F127.0.0.1%3A7420%2Flogin%3Ftoken%3Dtt_Ab1", "tt_Ab1"),
            ("token=tt_Ab1+%0D%0A", "tt_Ab1"),
            ("token=", ""),
            ("", ""),
        ] {
            assert_eq!(secret_in(form), secret, "{form}");
        }
    }

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
