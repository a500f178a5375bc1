//! Fetches a web page.
//!
//! The caller has asked about the host, so only that host is contacted: a redirect to another one is reported, not
//! followed. Nothing that identifies the user is sent: no cookies, no credentials.

mod body;
mod guard;

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use tokio::time::Instant;
use trimtab_vocab::ReadResult;
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::format::size;

use self::body::BodyForm;
use self::guard::{AddressGuard, NameLookup};
use super::{ReadRefusal, seen};
use crate::models::{causes, printable};

/// Redirects that are followed.
const MOST_REDIRECTS: usize = 5;
/// As much of an error page as is worth showing.
const LONGEST_ERROR: usize = 1_000;

/// The limits of a fetch.
#[derive(Debug, Clone, Copy)]
struct FetchLimits {
    /// Bytes of its body, unpacked.
    body: usize,
    /// Bytes of text that are shown.
    text: usize,
    /// The limit for the whole fetch.
    total: Duration,
    /// The limit between two chunks.
    idle: Duration,
}

const LIMITS: FetchLimits =
    FetchLimits { body: 2_000_000, text: 100_000, total: Duration::from_secs(20), idle: Duration::from_secs(10) };

/// Fetches a page.
pub(super) async fn fetch(url: &str) -> ReadResult {
    static WEB: OnceLock<WebClient> = OnceLock::new();
    let web = match WEB.get() {
        Some(web) => web,
        None => match WebClient::new(LIMITS, NameLookup::System) {
            Ok(web) => WEB.get_or_init(|| web),
            Err(refusal) => return refusal.into(),
        },
    };
    web.fetch(url).await
}

/// What a picture may take.
const PICTURE_LIMITS: FetchLimits =
    FetchLimits { body: 32_000_000, text: 0, total: Duration::from_secs(120), idle: Duration::from_secs(30) };

/// The address of an image that was generated for the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PictureAddress<'a> {
    /// The address, as a provider gave it.
    pub(crate) url: &'a str,
    /// Local and unencrypted addresses are allowed, because the server that gave the address is local, too.
    pub(crate) near: bool,
}

/// Why a picture was not fetched.
#[derive(Debug)]
pub(crate) struct NotFetched {
    /// A sentence for the user.
    pub(crate) sentence: String,
    /// Another try may do better.
    pub(crate) may_pass: bool,
}

/// Fetches a picture: its bytes whole, or nothing. What they are is for the caller to see.
pub(crate) async fn fetch_picture(at: PictureAddress<'_>) -> Result<Vec<u8>, NotFetched> {
    static PICTURES: OnceLock<WebClient> = OnceLock::new();
    let never = |ReadRefusal(sentence): ReadRefusal| NotFetched { sentence, may_pass: false };
    let web = match PICTURES.get() {
        Some(web) => web,
        None => {
            let web = WebClient::new(PICTURE_LIMITS, NameLookup::System).map_err(never)?;
            PICTURES.get_or_init(|| web)
        }
    };
    let url = address(at.url).map_err(never)?;
    if !at.near {
        let host = url.host_str().unwrap_or_default();
        if url.scheme() != "https" || guard::is_near(host) {
            let sentence = format!("{} is not fetched: the address is local or not encrypted.", short(url.as_str()));
            return Err(NotFetched { sentence, may_pass: false });
        }
    }
    match tokio::time::timeout(web.limits.total, web.whole(&url)).await {
        Ok(done) => done,
        Err(_) => {
            let sentence = format!("{} did not load within {} s.", short(at.url), web.limits.total.as_secs());
            Err(NotFetched { sentence, may_pass: true })
        }
    }
}

/// The way out: one client for this machine, one that takes the proxy of the environment for others.
struct WebClient {
    here: Client,
    elsewhere: Client,
    guard: AddressGuard,
    limits: FetchLimits,
}

impl WebClient {
    fn new(limits: FetchLimits, names: NameLookup) -> Result<Self, ReadRefusal> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let guard = AddressGuard::new(names);
        let builder = || {
            Client::builder()
                .user_agent(concat!("trimtab/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                // A connection that is kept would be used again without asking where its name leads now.
                .pool_max_idle_per_host(0)
                .connect_timeout(limits.idle)
                .read_timeout(limits.idle)
                .dns_resolver(guard.clone())
        };
        // A machine without certificates can still look at its own pages.
        let build = |builder: &dyn Fn() -> reqwest::ClientBuilder| {
            builder().build().or_else(|_| builder().tls_certs_only([]).build()).map_err(|error| {
                ReadRefusal(format!("Pages cannot be fetched: the HTTP client does not start ({}).", causes(&error)))
            })
        };
        let here = build(&|| builder().no_proxy())?;
        Ok(Self { here, elsewhere: build(&builder)?, guard, limits })
    }

    async fn fetch(&self, url: &str) -> ReadResult {
        let deadline = Instant::now() + self.limits.total;
        match tokio::time::timeout_at(deadline, self.follow(url, deadline)).await {
            Ok(result) => result.unwrap_or_else(ReadResult::from),
            Err(_) => {
                ReadRefusal(format!("{} did not answer within {} s.", short(url), self.limits.total.as_secs())).into()
            }
        }
    }

    /// Goes from redirect to redirect as long as they stay on the host.
    async fn follow(&self, asked: &str, deadline: Instant) -> Result<ReadResult, ReadRefusal> {
        let mut url = address(asked)?;
        for _ in 0..=MOST_REDIRECTS {
            let response = self.get(&url).await?;
            let status = response.status();
            let location = response.headers().get(LOCATION).and_then(|to| std::str::from_utf8(to.as_bytes()).ok());
            let Some(location) = location.filter(|_| status.is_redirection() && status.as_u16() != 304) else {
                return self.show(&url, response, deadline).await;
            };
            let next = url.join(location).map_err(|_| {
                ReadRefusal(format!(
                    "{} redirects to `{}`, which is not a valid address.",
                    short(url.as_str()),
                    short(location)
                ))
            })?;
            let next = address(next.as_str()).map_err(|ReadRefusal(why)| {
                ReadRefusal(format!("{} redirects to an address that is not fetched. {why}", short(url.as_str())))
            })?;
            if !is_same_host(&url, &next) {
                guard::check_literal(&next)?;
                let text = format!(
                    "{asked} redirects to {next} : fetch that address to continue.",
                    asked = short(url.as_str())
                );
                return Ok(seen(ToolStatus::Partial, text));
            }
            url = next;
        }
        Err(ReadRefusal(format!("{} redirects more than {MOST_REDIRECTS} times.", short(asked))))
    }

    async fn get(&self, url: &Url) -> Result<Response, ReadRefusal> {
        let is_here = self.guard.check(url).await?;
        let client = if is_here { &self.here } else { &self.elsewhere };
        let request = client
            .get(url.clone())
            .header(ACCEPT, "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1");
        let response = request.send().await.map_err(|error| {
            let host = url.host_str().unwrap_or("the server");
            match guard::refused(&error) {
                Some(why) => ReadRefusal(why),
                None if error.is_timeout() => {
                    ReadRefusal(format!("{host} did not answer within {} s.", self.limits.idle.as_secs()))
                }
                None => ReadRefusal(format!(
                    "{} cannot be fetched: {}. Check the address; the machine may also be offline.",
                    short(url.as_str()),
                    causes(&error)
                )),
            }
        })?;
        // The resolver has checked the name, but this is where the connection really went. This machine is allowed,
        // because a proxy may run here.
        if let Some(remote) = response.remote_addr() {
            guard::allow_at_all(url.host_str().unwrap_or_default(), remote.ip()).map_err(ReadRefusal)?;
        }
        Ok(response)
    }

    /// The body of one answer, whole. Redirects are not followed: the address was the provider's whole answer.
    async fn whole(&self, url: &Url) -> Result<Vec<u8>, NotFetched> {
        let started = Instant::now();
        let response = self.get(url).await.map_err(|ReadRefusal(sentence)| NotFetched { sentence, may_pass: true })?;
        let status = response.status();
        if !status.is_success() {
            let may_pass = status.is_server_error() || matches!(status.as_u16(), 404 | 408 | 425 | 429);
            let sentence = format!("{} answered HTTP {status}.", short(url.as_str()));
            return Err(NotFetched { sentence, may_pass });
        }
        if let Some(length) = response.content_length().filter(|length| *length > self.limits.body as u64) {
            let sentence = format!(
                "{} has {}. The limit is {}.",
                short(url.as_str()),
                size(length),
                size(self.limits.body as u64)
            );
            return Err(NotFetched { sentence, may_pass: false });
        }
        let (bytes, broken) = self.body(response, started + self.limits.total).await;
        match broken {
            None => Ok(bytes),
            Some(why) => {
                let may_pass = bytes.len() < self.limits.body;
                Err(NotFetched { sentence: format!("{} is incomplete: {why}.", short(url.as_str())), may_pass })
            }
        }
    }

    async fn show(&self, url: &Url, response: Response, deadline: Instant) -> Result<ReadResult, ReadRefusal> {
        let status = response.status();
        let given =
            response.headers().get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        let length = response.content_length();
        let form = BodyForm::from_content_type(given.as_deref());
        if status.is_success() && form == BodyForm::Other {
            let size = length.map_or("unknown size".to_owned(), size);
            let given = printable(given.as_deref().unwrap_or("no type"), 80);
            let sentence = format!("{} is {given} ({size}), not text. It is not shown.", short(url.as_str()));
            return Err(ReadRefusal(sentence));
        }
        let (bytes, broken) = self.body(response, deadline).await;
        if !status.is_success() {
            let words = if form == BodyForm::Other { String::new() } else { text(form, given, bytes).await?.1 };
            let words = printable(&words, LONGEST_ERROR);
            let said = if words.is_empty() { String::new() } else { format!(" It says: {words}") };
            return Err(ReadRefusal(format!("{} answered HTTP {status}.{said}", short(url.as_str()))));
        }
        let form = form.or_by_content(&bytes);
        if form == BodyForm::Other {
            return Err(ReadRefusal(format!(
                "{} has no content type and is not text. It is not shown.",
                short(url.as_str())
            )));
        }
        if let (Some(why), true) = (&broken, bytes.is_empty()) {
            return Err(ReadRefusal(format!("{} sent nothing: {why}.", short(url.as_str()))));
        }
        let (title, text) = text(form, given, bytes).await?;
        let (shown, is_cut) = body::cut(&text, self.limits.text);
        let mut page = format!("Address: {url}\n");
        if let Some(title) = title {
            page.push_str(&format!("Title: {}\n", printable(&title, 300)));
        }
        page.push('\n');
        page.push_str(if text.trim().is_empty() {
            "(The page has no text. It may need a browser to show itself.)"
        } else {
            shown
        });
        if is_cut {
            let (part, all) = (size(shown.len() as u64), size(text.len() as u64));
            page.push_str(&format!("\n[{part} of {all} of text are shown.]"));
        }
        if let Some(why) = &broken {
            page.push_str(&format!("\n[The page is incomplete: {why}.]"));
        }
        let is_part = is_cut || broken.is_some();
        Ok(seen(if is_part { ToolStatus::Partial } else { ToolStatus::Ok }, page))
    }

    /// The body as far as it comes, and why it is not whole.
    async fn body(&self, response: Response, deadline: Instant) -> (Vec<u8>, Option<String>) {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        // A moment before the end of all, so that what has come can still be shown.
        let deadline = deadline - self.limits.total / 20;
        loop {
            match tokio::time::timeout_at(deadline, chunks.next()).await {
                Ok(None) => return (body, None),
                Ok(Some(Ok(chunk))) => {
                    let room = self.limits.body - body.len();
                    body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                    if chunk.len() > room {
                        return (body, Some(format!("the page is larger than {}", size(self.limits.body as u64))));
                    }
                }
                Ok(Some(Err(error))) if error.is_timeout() => {
                    let idle = self.limits.idle.as_secs();
                    return (body, Some(format!("no data arrived for {idle} s")));
                }
                Ok(Some(Err(error))) => return (body, Some(format!("the connection broke ({})", causes(&error)))),
                Err(_) => {
                    let total = self.limits.total.as_secs();
                    return (body, Some(format!("the rest did not load within {total} s")));
                }
            }
        }
    }
}

/// The title and the text, extracted on a thread that blocks no one.
async fn text(form: BodyForm, given: Option<String>, bytes: Vec<u8>) -> Result<(Option<String>, String), ReadRefusal> {
    let work = tokio::task::spawn_blocking(move || body::read(form, given.as_deref(), &bytes));
    work.await
        .map_err(|_| ReadRefusal::new("The page was fetched, but could not be read because of an internal error."))
}

/// An address that may be fetched.
fn address(text: &str) -> Result<Url, ReadRefusal> {
    let url = Url::parse(text.trim()).map_err(|error| {
        ReadRefusal(format!(
            "`{}` is not a URL ({error}). Write the complete URL, such as https://example.com/page.",
            short(text)
        ))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ReadRefusal(format!("Only http and https addresses are fetched, not {}.", short(url.scheme()))));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ReadRefusal::new(
            "The URL contains a user name or password. Remove it: credentials are never sent.",
        ));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(ReadRefusal(format!("`{}` has no host.", short(text))));
    }
    Ok(url)
}

/// Whether a redirect stays with whom the caller has asked about. Another port is another server; from
/// plain to encrypted on the usual ports is the same one, and the way back is not taken.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let ports = |url: &Url| url.port_or_known_default();
    let is_upgrade =
        (from.scheme(), to.scheme()) == ("http", "https") && (ports(from), ports(to)) == (Some(80), Some(443));
    let is_same = from.scheme() == to.scheme() && ports(from) == ports(to);
    from.host_str() == to.host_str() && (is_same || is_upgrade)
}

/// An address in a sentence.
fn short(text: &str) -> String {
    printable(text, 300)
}

#[cfg(test)]
mod tests;
