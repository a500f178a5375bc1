//! What a model says, before a dialect puts it on the wire.

use trimtab_vocab::Usage;

/// A reply in pieces, the same for every dialect. Each piece becomes an event of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub(super) parts: Vec<Part>,
    pub(super) stop: Option<String>,
    pub(super) usage: Usage,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(Vec<String>),
    Thinking { pieces: Vec<String>, signature: String },
    Redacted(String),
    Tool { id: String, name: String, input: Vec<String> },
}

impl Reply {
    /// Nothing yet. It costs 25 tokens of input and 15 of output until [`Reply::usage`] says otherwise.
    pub fn new() -> Self {
        let usage = Usage { input_tokens: 25, output_tokens: 15, ..Usage::default() };
        Self { parts: Vec::new(), stop: None, usage }
    }

    /// Adds a part of text, split like this.
    #[must_use]
    pub fn text<S: Into<String>>(self, pieces: impl IntoIterator<Item = S>) -> Self {
        self.part(Part::Text(pieces.into_iter().map(Into::into).collect()))
    }

    /// Adds a part of thinking, split like this, with its signature.
    #[must_use]
    pub fn thinking<S: Into<String>>(self, pieces: impl IntoIterator<Item = S>, signature: impl Into<String>) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        self.part(Part::Thinking { pieces, signature: signature.into() })
    }

    /// Adds a part of thinking that only the provider can read.
    #[must_use]
    pub fn redacted(self, data: impl Into<String>) -> Self {
        self.part(Part::Redacted(data.into()))
    }

    /// Adds a tool use; its input is JSON text, split like this, and need not be valid.
    #[must_use]
    pub fn tool<S: Into<String>>(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl IntoIterator<Item = S>,
    ) -> Self {
        let input = input.into_iter().map(Into::into).collect();
        self.part(Part::Tool { id: id.into(), name: name.into(), input })
    }

    /// Stops for this reason. Unsaid, it is `tool_use` after a tool use and `end_turn` otherwise.
    #[must_use]
    pub fn stop(mut self, reason: impl Into<String>) -> Self {
        self.stop = Some(reason.into());
        self
    }

    /// Costs this.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    pub(super) fn stop_reason(&self) -> &str {
        let tools = self.parts.iter().any(|part| matches!(part, Part::Tool { .. }));
        self.stop.as_deref().unwrap_or(if tools { "tool_use" } else { "end_turn" })
    }

    fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for Reply {
    /// The text in one piece.
    fn from(text: &str) -> Self {
        Self::new().text([text])
    }
}
