//! An answer as a row of tokens, which damage can be done to one at a time.

use serde_json::{Map, Value};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Close,
    Comma,
    Colon,
    Key,
    Text,
    Word,
    Gap,
}

/// One token and where in the answer it stands.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The text itself, for names and texts.
    pub(super) plain: String,
    /// How many brackets are open around it.
    pub(super) depth: usize,
    /// The field of the root that it belongs to, and which of its elements.
    pub(super) field: String,
    pub(super) item: Option<usize>,
    /// The field of the element, for names and texts.
    pub(super) name: String,
}

/// How an answer is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Tight,
    Spaced,
    Pretty,
}

pub(super) fn tokens(answer: &Value, layout: Layout) -> Vec<Token> {
    let mut writer =
        Writer { layout, out: Vec::new(), depth: 0, field: String::new(), item: None, name: String::new() };
    writer.value(answer);
    writer.out
}

struct Writer {
    layout: Layout,
    out: Vec<Token>,
    depth: usize,
    field: String,
    item: Option<usize>,
    name: String,
}

impl Writer {
    fn push(&mut self, kind: Kind, text: impl Into<String>, plain: &str) {
        self.out.push(Token {
            kind,
            text: text.into(),
            plain: plain.to_owned(),
            depth: self.depth,
            field: self.field.clone(),
            item: self.item,
            name: self.name.clone(),
        });
    }

    fn gap(&mut self, line: bool) {
        match self.layout {
            Layout::Tight => {}
            Layout::Spaced if line => {}
            Layout::Spaced => self.push(Kind::Gap, " ", ""),
            Layout::Pretty if line => {
                let text = format!("\n{}", "  ".repeat(self.depth));
                self.push(Kind::Gap, text, "");
            }
            Layout::Pretty => self.push(Kind::Gap, " ", ""),
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => self.object(map),
            Value::Array(items) => {
                self.push(Kind::Open, "[", "");
                self.depth += 1;
                for (at, item) in items.iter().enumerate() {
                    if self.depth == 2 {
                        self.item = Some(at);
                    }
                    self.gap(true);
                    self.value(item);
                    if self.depth == 2 {
                        self.item = None;
                    }
                    if at + 1 < items.len() {
                        self.comma();
                    }
                }
                self.depth -= 1;
                if !items.is_empty() {
                    self.gap(true);
                }
                self.push(Kind::Close, "]", "");
            }
            Value::String(text) => self.push(Kind::Text, quoted(text), text),
            other => self.push(Kind::Word, other.to_string(), ""),
        }
    }

    fn object(&mut self, map: &Map<String, Value>) {
        self.push(Kind::Open, "{", "");
        self.depth += 1;
        for (at, (name, value)) in map.iter().enumerate() {
            if self.depth == 1 {
                self.field.clone_from(name);
            }
            self.name.clone_from(name);
            self.gap(true);
            self.push(Kind::Key, quoted(name), name);
            self.push(Kind::Colon, ":", "");
            self.gap(false);
            self.value(value);
            if self.depth == 1 {
                self.field.clear();
            }
            if at + 1 < map.len() {
                self.comma();
            }
        }
        self.depth -= 1;
        self.gap(true);
        self.push(Kind::Close, "}", "");
    }

    fn comma(&mut self) {
        self.push(Kind::Comma, ",", "");
        if self.layout == Layout::Spaced {
            self.push(Kind::Gap, " ", "");
        }
    }
}

/// A text as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

pub(super) fn join(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect()
}
