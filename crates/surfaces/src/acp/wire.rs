//! JSON-RPC by lines: the kinds of messages. Every line is hostile until it
//! is parsed, and a line that cannot be parsed is answered with an error.

use std::collections::BTreeMap;

use agent_client_protocol_schema::rpc::RequestId;
use agent_client_protocol_schema::v1::Error;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Bytes of a line at most: a prompt may bring images, each in base64, and a text up to the limit of a request.
pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The parameters of a message, not parsed yet.
pub(super) type RawParams = Option<Box<RawValue>>;

/// A message of the client.
#[derive(Debug)]
pub(super) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: RawParams,
    },
    Notification {
        method: String,
        params: RawParams,
    },
    /// The answer to a request of ours.
    Response {
        id: RequestId,
        answer: Result<Box<RawValue>, Error>,
    },
}

/// A message that cannot be read, with the error that answers it.
#[derive(Debug)]
pub(super) struct BrokenMessage {
    /// Null, where it cannot be read either.
    pub(super) id: RequestId,
    pub(super) error: Box<Error>,
}

impl BrokenMessage {
    /// A line beyond the limit.
    pub(super) fn too_long() -> Self {
        let limit = LONGEST_LINE / (1024 * 1024);
        let error = invalid(format!("The message is larger than the limit of {limit} MB."));
        Self { id: RequestId::Null, error: Box::new(error) }
    }
}

/// What a line says, or the error that answers it.
pub(super) fn parse(line: &[u8]) -> Result<Incoming, BrokenMessage> {
    let unknown = |error: Error| BrokenMessage { id: RequestId::Null, error: Box::new(error) };
    let text = std::str::from_utf8(line).map_err(|_| unknown(parse_error("The line is not valid UTF-8.")))?;
    if text.starts_with('[') {
        return Err(unknown(invalid("Batches are not supported. Send one message per line.")));
    }
    if !text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok() {
        return Err(unknown(invalid("The message is not a JSON object.")));
    }
    // A map of unparsed fields: an ID can be read even where another field is wrong.
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)
        .map_err(|error| unknown(parse_error(&format!("The line is not valid JSON: {error}."))))?;
    let id = match fields.remove("id") {
        None => None,
        Some(raw) => Some(
            serde_json::from_str::<RequestId>(raw.get())
                .map_err(|_| unknown(invalid("The ID is not a string, an integer, or null.")))?,
        ),
    };
    let wrong =
        |what: &str| BrokenMessage { id: id.clone().unwrap_or(RequestId::Null), error: Box::new(invalid(what)) };
    let version = fields.remove("jsonrpc");
    if version.is_none_or(|version| serde_json::from_str::<String>(version.get()).ok().as_deref() != Some("2.0")) {
        return Err(wrong("The message is not JSON-RPC 2.0: expected \"jsonrpc\": \"2.0\"."));
    }
    if let Some(method) = fields.remove("method") {
        let method: String = serde_json::from_str(method.get()).map_err(|_| wrong("The method is not a string."))?;
        let params = fields.remove("params").filter(|params| params.get() != "null");
        return Ok(match id {
            Some(id) => Incoming::Request { id, method, params },
            None => Incoming::Notification { method, params },
        });
    }
    let Some(id) = id.clone() else { return Err(wrong("The message has no method and no ID.")) };
    // A response, in whatever form: its ID is one of ours, so it is never answered.
    let error = fields.remove("error").filter(|error| error.get() != "null");
    let answer = match (fields.remove("result"), error) {
        (Some(result), None) => Ok(result),
        (_, Some(error)) => Err(serde_json::from_str(error.get()).unwrap_or_else(|_| Error::internal_error())),
        (None, None) => Err(Error::internal_error()),
    };
    Ok(Incoming::Response { id, answer })
}

/// The parameters of a message in their type.
pub(super) fn params<T: DeserializeOwned>(raw: RawParams) -> Result<T, Error> {
    let text = raw.as_deref().map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| bad_params(format!("Invalid parameters: {error}.")))
}

fn with_message(mut error: Error, message: impl Into<String>) -> Error {
    error.message = message.into();
    error
}

fn parse_error(message: &str) -> Error {
    with_message(Error::parse_error(), message)
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    with_message(Error::invalid_request(), message)
}

pub(super) fn bad_params(message: impl Into<String>) -> Error {
    with_message(Error::invalid_params(), message)
}

pub(super) fn unknown_method(method: &str) -> Error {
    with_message(Error::method_not_found(), format!("Unknown method {}.", method.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded_lines::{InputLine, LineReader};

    async fn lines(text: &[u8], limit: usize) -> Vec<String> {
        let mut reader = LineReader::new(text, limit);
        let mut all = Vec::new();
        while let Some(line) = reader.next().await.expect("reads") {
            all.push(match line {
                InputLine::Text(line) => String::from_utf8_lossy(line).into_owned(),
                InputLine::TooLong => "too long".to_owned(),
            });
        }
        all
    }

    #[tokio::test]
    async fn a_long_line_is_dropped_and_the_next_one_is_read() {
        let text = [b"{}\r\n\n  \n".as_slice(), &[b'x'; 40], b"\nabc\n", &[b'y'; 30]].concat();
        assert_eq!(lines(&text, 20).await, ["{}", "too long", "abc", "too long"]);
        assert_eq!(lines(b"one\ntwo", 20).await, ["one", "two"], "the last line needs no end");
        assert_eq!(lines(b"12345\n123456\n", 5).await, ["12345", "too long"]);
    }

    fn code(line: &str) -> (String, i32) {
        let BrokenMessage { id, error } = parse(line.as_bytes()).expect_err("an error");
        (id.to_string(), error.code.into())
    }

    #[test]
    fn each_broken_line_has_its_error_and_its_id_where_that_is_readable() {
        assert_eq!(code("{"), ("null".into(), -32700));
        assert_eq!(code("nonsense"), ("null".into(), -32700));
        assert_eq!(code("7"), ("null".into(), -32600));
        assert_eq!(code("[]"), ("null".into(), -32600));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#), ("null".into(), -32600));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":5,"method":7}"#), ("5".into(), -32600));
        assert_eq!(code(r#"{"jsonrpc":"1.0","id":"a","method":"x"}"#), ("a".into(), -32600));
        assert_eq!(code(r#"{"id":5,"method":"x"}"#), ("5".into(), -32600));
        assert_eq!(code(r#"{"jsonrpc":"2.0"}"#), ("null".into(), -32600));
        let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}}}"#, "[".repeat(100_000));
        assert_eq!(code(&deep), ("null".into(), -32700));
        let garbage = parse(b"\xff").expect_err("an error");
        assert_eq!(i32::from(garbage.error.code), -32700);
    }

    #[test]
    fn messages_are_told_apart() {
        let kind = |line: &str| match parse(line.as_bytes()).expect("a message") {
            Incoming::Request { id, method, .. } => format!("request {id} {method}"),
            Incoming::Notification { method, .. } => format!("notification {method}"),
            Incoming::Response { id, answer } => format!("response {id} {}", answer.is_ok()),
        };
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#), "request 1 x");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), "request null x");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"x","extra":1}"#), "notification x");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"a","result":null}"#), "response a true");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"a","error":"odd"}"#), "response a false");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":5}"#), "response 5 false");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":5,"result":1,"error":{}}"#), "response 5 false");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":5,"result":{},"error":null}"#), "response 5 true");
    }
}
