//! What the provider answers, and how it breaks.

use bytes::Bytes;
use serde_json::Value;

use super::{Gate, Reply, anthropic, gemini, ollama, openai, responses};

/// One answer: a status, headers, a body in chunks, and the way it ends.
///
/// Unless it is told otherwise an answer is complete: its body ends and the connection stays open
/// for the next request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Absent: the chunks are all that is sent.
    pub(super) head: Option<Head>,
    pub(super) chunks: Vec<Bytes>,
    pub(super) end: End,
    pub(super) gate: Option<Gate>,
}

#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) framing: Framing,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Chunked,
    Length,
    Close,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    /// After so many bytes of the body, with a reset.
    Cut(usize),
    /// After so many bytes of the body, with an orderly end of the connection.
    Close(usize),
    /// After so many bytes of the body, without any end.
    Stall(usize),
    /// Never: the body goes on with this, again and again.
    Never(Bytes),
}

impl Answer {
    /// An answer with this status and no body.
    pub fn new(status: u16) -> Self {
        let head = Head { status, headers: Vec::new(), framing: Framing::Chunked };
        Self { head: Some(head), chunks: Vec::new(), end: End::Complete, gate: None }
    }

    /// A reply as Anthropic's Messages API streams it, one chunk per event.
    pub fn anthropic(reply: impl Into<Reply>) -> Self {
        Self::events(anthropic::stream(&reply.into()))
    }

    /// A reply as Chat Completions streams it, one chunk per event.
    pub fn openai(reply: impl Into<Reply>) -> Self {
        Self::events(openai::stream(&reply.into()))
    }

    /// A reply as OpenAI's Responses API streams it, one chunk per event.
    pub fn responses(reply: impl Into<Reply>) -> Self {
        Self::events(responses::stream(&reply.into()))
    }

    /// A reply as Google's Gemini API streams it, one chunk per event.
    pub fn gemini(reply: impl Into<Reply>) -> Self {
        Self::events(gemini::stream(&reply.into()))
    }

    /// A reply as Ollama streams it, one chunk per line.
    pub fn ollama(reply: impl Into<Reply>) -> Self {
        Self::events(ollama::stream(&reply.into())).header("content-type", "application/x-ndjson")
    }

    /// An event stream of these bytes, one chunk per item.
    pub fn events<B: Into<Bytes>>(events: impl IntoIterator<Item = B>) -> Self {
        let mut answer = Self::new(200)
            .header("content-type", "text/event-stream; charset=utf-8")
            .header("cache-control", "no-cache");
        answer.chunks = events.into_iter().map(Into::into).filter(|chunk: &Bytes| !chunk.is_empty()).collect();
        answer
    }

    /// Whether it is a stream, as only calls are answered.
    pub(super) fn is_stream(&self) -> bool {
        let headers = self.head.iter().flat_map(|head| &head.headers);
        let mut kinds = headers.filter(|(name, _)| name == "content-type").map(|(_, kind)| kind);
        kinds.any(|kind| kind.starts_with("text/event-stream") || kind == "application/x-ndjson")
    }

    /// Whether it says that the request failed.
    pub(super) fn is_error(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.status >= 400)
    }

    /// A JSON document.
    pub fn json(status: u16, body: Value) -> Self {
        Self::new(status).header("content-type", "application/json").body(body.to_string())
    }

    /// These bytes in place of an HTTP response, then the end of the connection.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { head: None, ..Self::new(0) }.body(bytes)
    }

    /// The connection is closed without an answer.
    pub fn hang_up() -> Self {
        Self::raw(Bytes::new())
    }

    /// The request is read and never answered, not even with a status.
    pub fn silent() -> Self {
        Self::hang_up().stall_after(0)
    }

    /// Answers with this status.
    ///
    /// # Panics
    /// For a raw answer, which has none.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.head_mut().status = status;
        self
    }

    /// Sets a header; an earlier one of the same name gives way.
    ///
    /// # Panics
    /// For a raw answer, which has none.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, headers) = (name.into(), &mut self.head_mut().headers);
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        headers.push((name, value.into()));
        self
    }

    /// The body in one chunk.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        self.chunks = if bytes.is_empty() { Vec::new() } else { vec![bytes] };
        self
    }

    /// Splits the body anew, into chunks of so many bytes. Characters, lines and events are split
    /// wherever that falls.
    ///
    /// # Panics
    /// For chunks of no bytes.
    #[must_use]
    pub fn chunked(mut self, size: usize) -> Self {
        self.chunks = self.body_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
        self
    }

    /// Announces the length of the body instead of sending it in HTTP chunks.
    ///
    /// # Panics
    /// For a raw answer, which announces nothing.
    #[must_use]
    pub fn with_length(mut self) -> Self {
        self.head_mut().framing = Framing::Length;
        self
    }

    /// Ends the body with the connection instead of in HTTP chunks, so that a cut looks like an end.
    ///
    /// # Panics
    /// For a raw answer, which ends so anyway.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.head_mut().framing = Framing::Close;
        self
    }

    /// Resets the connection after so many bytes of the body, wherever that falls; after the last
    /// byte, the end of the body is not told any more.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.end = End::Cut(bytes);
        self
    }

    /// Closes the connection in good order after so many bytes of the body.
    #[must_use]
    pub fn close_after(mut self, bytes: usize) -> Self {
        self.end = End::Close(bytes);
        self
    }

    /// Falls silent after so many bytes of the body and keeps the connection open.
    #[must_use]
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.end = End::Stall(bytes);
        self
    }

    /// Goes on with this chunk after the body, again and again, until the peer has enough.
    ///
    /// # Panics
    /// For an empty chunk.
    #[must_use]
    pub fn then_forever(mut self, chunk: impl Into<Bytes>) -> Self {
        let chunk = chunk.into();
        assert!(!chunk.is_empty(), "nothing can be sent forever");
        self.end = End::Never(chunk);
        self
    }

    /// Sends each chunk of the body only when the gate releases it. The status and the headers are
    /// not held back.
    #[must_use]
    pub fn gated(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// The bytes of the body, all chunks together.
    pub fn body_bytes(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    fn head_mut(&mut self) -> &mut Head {
        self.head.as_mut().expect("an answer with a head")
    }
}
