//! Which of the parsed objects fit the schema, and which fits best.

use serde_json::Value;

use super::super::exact::Parsed;
use super::super::repair::{Notes, Repair};
use super::super::schema::{Object, Schema};
use super::super::shape::Shaper;
use super::super::tree::{Members, Node};
use super::beginnings::Cue;
use super::{DEEPEST_TEXT, JsonSearch};

/// Something that fits the schema.
#[derive(Debug, Clone)]
pub(in super::super) struct Find {
    pub(in super::super) value: Value,
    pub(in super::super) notes: Notes,
    pub(in super::super) lost: Vec<String>,
    pub(in super::super) elided: bool,
    pub(in super::super) closed: bool,
    /// It, or what it was wrapped in, says that it was cut.
    pub(in super::super) says_cut: bool,
    /// Where it ends in the outermost text.
    pub(in super::super) end: usize,
    pub(super) filled: usize,
    placeholder: bool,
    pub(super) implied: bool,
    pub(super) said: bool,
    pub(super) cue: Cue,
}

impl JsonSearch<'_> {
    /// The best fit in what was read.
    pub(super) fn find(&mut self, parsed: &Parsed, implied: bool) -> Option<Find> {
        self.exact = parsed.exact;
        let mut find = self.walk(&parsed.node, false)?;
        let mut notes = parsed.notes.clone();
        notes.extend(&find.notes);
        find.notes = notes;
        find.closed &= parsed.closed;
        find.elided |= parsed.elided;
        find.placeholder |= parsed.elided;
        find.implied = implied;
        find.end = parsed.end;
        Some(find)
    }

    fn walk(&mut self, node: &Node, wrapped: bool) -> Option<Find> {
        match node {
            Node::List(items) => {
                let own = match self.schema {
                    Schema::List(_) => self.shape(node, wrapped),
                    _ => None,
                };
                own.or_else(|| {
                    let mut best = None;
                    for item in items {
                        best = better(best, self.walk(item, wrapped));
                    }
                    best
                })
            }
            Node::Object(members) => {
                let own = self.shape(node, wrapped);
                let claims = members.named.iter().any(|(name, _)| self.base.find(name).is_some());
                let inner = self.inside(members, claims);
                let says_cut = members.named.iter().any(|(name, node)| says_cut(name, node));
                let mut find = match (own, inner) {
                    (Some(own), Some(inner)) if inner.tier() > own.tier() => inner,
                    (Some(own), _) => own,
                    (None, inner) => inner?,
                };
                find.says_cut |= says_cut;
                Some(find)
            }
            _ => None,
        }
    }

    /// What the unknown members of an object wrap.
    ///
    /// Texts are opened only if the object has no field of the schema itself: in one that has, they
    /// are its own.
    fn inside(&mut self, members: &Members, claims: bool) -> Option<Find> {
        let mut best = None;
        // What looks like an element of an answer is the rest of one: the text of a file in it is not an answer.
        let element =
            |object: &Object| members.named.iter().filter(|(name, _)| object.find(name).is_some()).count() > 1;
        let claims = claims || self.base.fields.iter().filter_map(|field| field.schema.object()).any(element);
        for (name, node) in &members.named {
            if self.base.find(name).is_some() {
                continue;
            }
            let find = match node {
                Node::Text(_) if claims => None,
                Node::Text(text) => self.in_text(name, text),
                node => self.walk(node, true),
            };
            best = better(best, find);
        }
        best
    }

    fn in_text(&mut self, name: &str, text: &str) -> Option<Find> {
        const WRAPS: &[&str] =
            &["answer", "response", "content", "text", "message", "output", "arguments", "result", "reply"];
        let start = text.trim_start();
        // Only a wrapper that was read exactly can be trusted to be one by what it holds.
        let begins = ["{", "[", "<", "```", "\"{", "\"\\"].iter().any(|mark| start.starts_with(mark));
        let whole = begins && self.exact;
        let wraps = WRAPS.iter().any(|known| known.eq_ignore_ascii_case(name));
        // After something with a name of the schema, this may be what is left of that.
        if self.seen || self.level >= DEEPEST_TEXT || !(whole || wraps) || !text.contains('{') {
            return None;
        }
        self.nested(text)
    }

    fn shape(&mut self, node: &Node, wrapped: bool) -> Option<Find> {
        let mut shaper = Shaper::default();
        let value = match (self.schema, node) {
            (Schema::Object(object), Node::Object(members)) => Value::Object(shaper.root(members, object)),
            (Schema::List(_), node) => shaper.value(node, self.schema, "")?,
            _ => return None,
        };
        let filled = match &value {
            Value::Object(map) if map.is_empty() => return None,
            Value::Object(map) => map.values().filter(|value| is_filled(value)).count(),
            Value::Array(items) if items.is_empty() => return None,
            Value::Array(items) => items.len(),
            _ => return None,
        };
        if wrapped {
            shaper.notes.add(Repair::Wrapper);
        }
        Some(Find {
            value,
            filled,
            placeholder: shaper.placeholders > 0,
            notes: shaper.notes,
            lost: shaper.lost,
            elided: false,
            closed: true,
            says_cut: false,
            end: 0,
            implied: false,
            said: false,
            cue: Cue::None,
        })
    }
}

impl Find {
    /// One matching field may be a coincidence; two are not.
    fn tier(&self) -> usize {
        self.filled.min(2)
    }

    fn rank(&self) -> impl Ord + use<> {
        (!self.implied, !self.placeholder, self.said, self.cue, self.tier(), self.closed)
    }
}

/// Of two that fit alike it is the later one: drafts come before answers.
pub(super) fn better(one: Option<Find>, other: Option<Find>) -> Option<Find> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.rank() >= one.rank() { other } else { one }),
        (one, other) => one.or(other),
    }
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Providers say in the object around an answer why it ended.
fn says_cut(name: &str, node: &Node) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "");
    match node {
        Node::Truth(true) => matches!(name.as_str(), "truncated" | "incomplete" | "cutoff"),
        Node::Text(reason) => {
            matches!(name.as_str(), "finishreason" | "stopreason" | "donereason" | "status")
                && matches!(
                    reason.to_ascii_lowercase().as_str(),
                    "length" | "max_tokens" | "max_output_tokens" | "incomplete" | "truncated"
                )
        }
        _ => false,
    }
}
