//! Search services: a query in, addresses with short excerpts out.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use serde_json::{Value, json};
use trimtab_vocab::{Fault, ProblemKind, Retry};

use super::RequestExtras;
use super::http::{self, ApiKey, Outgoing, RequestBody, fault, printable};

/// Results per search.
const RESULTS: usize = 10;
/// Characters of a title, and of the words about a page.
const LONGEST_TITLE: usize = 200;
const LONGEST_WORDS: usize = 600;
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(20);

/// Whom to ask.
#[derive(Debug, Clone)]
pub struct SearchService {
    pub kind: SearchKind,
    /// Its address.
    pub url: String,
    /// The environment variable that holds its key, if it needs one.
    pub key_env: Option<String>,
    pub key: Option<SecretString>,
}

/// How a search service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    Brave,
    SearXng,
    Exa,
    Tavily,
}

impl SearchKind {
    /// The name of each in the settings, its address, and the variable that holds its key.
    pub const ALL: [(&'static str, Self, &'static str, &'static str); 4] = [
        ("brave", Self::Brave, "https://api.search.brave.com", "BRAVE_API_KEY"),
        ("searxng", Self::SearXng, "", ""),
        ("exa", Self::Exa, "https://api.exa.ai", "EXA_API_KEY"),
        ("tavily", Self::Tavily, "https://api.tavily.com", "TAVILY_API_KEY"),
    ];
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchHit {
    pub(crate) title: String,
    pub(crate) url: String,
    /// A few words of the page, as the service chose them.
    pub(crate) words: String,
}

impl SearchService {
    pub(crate) async fn search(&self, query: &str) -> Result<Vec<SearchHit>, Fault> {
        if let (Some(variable), None) = (&self.key_env, &self.key) {
            let message = format!("There is no key for the search service: {variable} is not set.");
            return Err(fault(ProblemKind::NoKey, message, Retry::Never));
        }
        let answer = http::fetch(self.outgoing(query)?, PATIENCE, LARGEST_ANSWER).await?;
        let place = if self.kind == SearchKind::Brave { "/web/results" } else { "/results" };
        match answer.pointer(place).and_then(Value::as_array) {
            Some(results) => Ok(results.iter().filter_map(hit).take(RESULTS).collect()),
            // Brave leaves the list out where nothing was found.
            None if self.kind == SearchKind::Brave && answer.is_object() => Ok(Vec::new()),
            None => Err(fault(ProblemKind::Protocol, "The search service's answer has no results.", Retry::Never)),
        }
    }

    fn outgoing(&self, query: &str) -> Result<Outgoing, Fault> {
        let base = self.url.trim_end_matches('/');
        let (path, parameters) = match self.kind {
            SearchKind::Brave => {
                ("/res/v1/web/search", vec![("q", query), ("count", "10"), ("text_decorations", "false")])
            }
            SearchKind::SearXng => ("/search", vec![("q", query), ("format", "json")]),
            SearchKind::Exa | SearchKind::Tavily => ("/search", Vec::new()),
        };
        let mut url = Url::parse(&format!("{base}{path}")).map_err(|_| {
            fault(ProblemKind::Settings, "The address of the search service is not a URL (search.url).", Retry::Never)
        })?;
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        let body = match self.kind {
            SearchKind::Brave | SearchKind::SearXng => RequestBody::Nothing,
            SearchKind::Exa => {
                let contents = json!({"text": {"maxCharacters": LONGEST_WORDS}});
                RequestBody::json(&json!({"query": query, "numResults": RESULTS, "contents": contents}))?
            }
            SearchKind::Tavily => RequestBody::json(&json!({"query": query, "max_results": RESULTS}))?,
        };
        let key = self.key.clone().map(|key| match self.kind {
            SearchKind::Brave => ApiKey::Header("x-subscription-token", key),
            SearchKind::Exa => ApiKey::Header("x-api-key", key),
            SearchKind::SearXng | SearchKind::Tavily => ApiKey::Bearer(key),
        });
        let headers = vec![("accept", "application/json".to_owned())];
        Ok(Outgoing { url: url.into(), headers, key, body, extras: Arc::<RequestExtras>::default() })
    }
}

/// A result, if it has a web address. Title and excerpt are untrusted text.
fn hit(result: &Value) -> Option<SearchHit> {
    let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let url = Url::parse(text("url")).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let words = ["description", "content", "text"].into_iter().map(text).find(|words| !words.is_empty());
    Some(SearchHit {
        title: printable(text("title"), LONGEST_TITLE),
        url: printable(url.as_str(), 1_000),
        words: printable(words.unwrap_or_default(), LONGEST_WORDS),
    })
}
