//! What the provider was asked.

use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which connection it came over, counted from 0.
    pub connection: usize,
    /// `POST` and the like.
    pub method: String,
    /// With its query.
    pub path: String,
    /// In the order and spelling they came.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub raw: Bytes,
    /// The body as JSON; null when it is none.
    pub body: Value,
    /// Bytes of the body, also when they are not kept.
    pub size: usize,
    /// When its first bytes were there.
    pub arrived: Instant,
}

impl Request {
    /// The value of the first header with this name, however it is spelled.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// The head of a request, if it is one; the body follows it.
pub(super) fn parse_head(connection: usize, head: &[u8]) -> Option<Request> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers = lines
        .filter(|line| !line.is_empty())
        .map(|line| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned())))
        .collect::<Option<_>>()?;
    Some(Request {
        connection,
        method,
        path,
        headers,
        raw: Bytes::new(),
        body: Value::Null,
        size: 0,
        arrived: Instant::now(),
    })
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
