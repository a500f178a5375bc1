//! Fits what was read to the schema: corrects names, converts types, and leaves out doubtful values.

use serde_json::{Map, Value};

use super::exact;
use super::repair::{Notes, Repair};
use super::schema::{Object, Schema};
use super::source::JsonSource;
use super::tree::{Members, Node};

/// Fits nodes to a schema and keeps account of what was lost on the way.
#[derive(Default)]
pub(super) struct Shaper {
    pub(super) notes: Notes,
    /// Fields of the root in which something could not be kept.
    pub(super) lost: Vec<String>,
    /// Values that only hold the place of one.
    pub(super) placeholders: usize,
    within: Option<String>,
    level: usize,
}

impl Shaper {
    /// The root: each field independently of the others.
    pub(super) fn root(&mut self, members: &Members, object: &Object) -> Map<String, Value> {
        self.fields(members, object, None).0
    }

    /// One value. `None`: absent, or not certain.
    pub(super) fn value(&mut self, node: &Node, schema: &Schema, path: &str) -> Option<Value> {
        let value = match (schema, node) {
            (_, Node::Null) => return None,
            (Schema::Any, node) => any(node),
            (Schema::Text(_), Node::Text(text)) => {
                self.placeholders += usize::from(is_placeholder(text));
                Some(Value::from(text.as_str()))
            }
            (Schema::Text(_), Node::Number(number)) => self.converted(path, Value::from(number.as_str())),
            (Schema::Truth, Node::Truth(truth)) => Some(Value::Bool(*truth)),
            (Schema::Truth, Node::Text(word) | Node::Number(word)) => {
                truth(word).and_then(|truth| self.converted(path, Value::Bool(truth)))
            }
            (Schema::Number, Node::Number(number)) => serde_json::from_str(number).ok().map(Value::Number),
            (Schema::Number, Node::Text(text)) => {
                serde_json::from_str(text.trim()).ok().and_then(|number| self.converted(path, Value::Number(number)))
            }
            (Schema::List(item), Node::List(items)) => {
                let kept: Vec<Value> = items.iter().filter_map(|node| self.value(node, item, path)).collect();
                if kept.is_empty() && !items.is_empty() {
                    return None;
                }
                Some(Value::Array(kept))
            }
            (Schema::List(item), node) => self.single(node, schema, item, path),
            (Schema::Object(object), Node::Object(members)) => self.element(members, object, path),
            (Schema::Object(object), Node::Text(text)) => self.plain(text, object, path),
            _ => None,
        };
        if value.is_none() {
            self.lose(path);
        }
        value
    }

    fn converted(&mut self, path: &str, value: Value) -> Option<Value> {
        self.notes.add(Repair::Converted { field: path.to_owned() });
        Some(value)
    }

    fn lose(&mut self, path: &str) {
        self.notes.add(Repair::LeftOut { field: path.to_owned() });
        let root = self.within.clone().unwrap_or_else(|| path.to_owned());
        if !self.lost.contains(&root) {
            self.lost.push(root);
        }
    }

    /// One thing where a list is due, or a list written as a text.
    fn single(&mut self, node: &Node, list: &Schema, item: &Schema, path: &str) -> Option<Value> {
        if let Node::Text(text) = node {
            if text.trim_start().starts_with(['[', '{']) {
                return self.in_text(text, list, path);
            }
            // Several lines may be several things.
            if text.contains('\n') {
                return None;
            }
        }
        let one = self.value(node, item, path)?;
        self.notes.add(Repair::Single { field: path.to_owned() });
        Some(Value::Array(vec![one]))
    }

    fn in_text(&mut self, text: &str, list: &Schema, path: &str) -> Option<Value> {
        const DEEPEST: usize = 3;
        if self.level >= DEEPEST {
            return None;
        }
        let source = JsonSource::new(text.as_bytes(), text.len());
        let none = Object::new();
        let base = list.object().unwrap_or(&none);
        let start = source.skip(0);
        let read = exact::read(&source, list, base, start, false).ok().filter(|read| read.closed)?;
        if source.skip(read.end) != text.len() {
            return None;
        }
        self.notes.add(Repair::InText);
        self.notes.extend(&read.notes);
        self.level += 1;
        let value = self.value(&read.node, list, path);
        self.level -= 1;
        value
    }

    fn plain(&mut self, text: &str, object: &Object, path: &str) -> Option<Value> {
        // An empty string has no meaning here.
        if object.plain.is_empty() || text.trim().is_empty() {
            return None;
        }
        self.placeholders += usize::from(is_placeholder(text));
        self.notes.add(Repair::Plain { field: path.to_owned() });
        let fields = object.plain.iter().map(|name| (name.clone(), Value::from(text)));
        Some(Value::Object(fields.collect()))
    }

    /// A thing of the schema: whole enough to be of use, or not shown.
    fn element(&mut self, members: &Members, object: &Object, path: &str) -> Option<Value> {
        if members.doubtful {
            return None;
        }
        let (map, broken) = self.fields(members, object, Some(path));
        let met = object.needs.iter().all(|one_of| one_of.iter().any(|name| map.contains_key(name)));
        (met && !(broken && object.whole)).then_some(Value::Object(map))
    }

    /// The known fields, and whether one of them was lost.
    fn fields(&mut self, members: &Members, object: &Object, path: Option<&str>) -> (Map<String, Value>, bool) {
        let mut map = Map::new();
        let mut broken = vec![false; object.fields.len()];
        for (name, node) in &members.named {
            let Some((at, own)) = object.find(name) else { continue };
            let field = &object.fields[at];
            if matches!(node, Node::Null) {
                continue;
            }
            let full = path.map_or_else(|| field.name.clone(), |path| format!("{path}.{}", field.name));
            if path.is_none() {
                self.within = Some(field.name.clone());
            }
            if !own {
                self.notes.add(Repair::Renamed { from: name.clone(), to: full.clone() });
            }
            let value = self.value(node, &field.schema, &full);
            match (value, map.get(&field.name)) {
                (None, _) => broken[at] = true,
                (Some(value), None) => {
                    map.insert(field.name.clone(), value);
                }
                // Said twice, differently: neither is certain.
                (Some(value), Some(before)) if value != *before => {
                    broken[at] = true;
                    self.lose(&full);
                }
                _ => {}
            }
        }
        for (field, _) in object.fields.iter().zip(&broken).filter(|(_, broken)| **broken) {
            map.shift_remove(&field.name);
        }
        if path.is_none() {
            self.within = None;
        }
        (map, broken.contains(&true))
    }
}

fn is_placeholder(text: &str) -> bool {
    matches!(text.trim(), "..." | "\u{2026}")
}

fn truth(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A value without a schema; a hole in it is a hole in all of it.
fn any(node: &Node) -> Option<Value> {
    Some(match node {
        Node::Null => Value::Null,
        Node::Truth(truth) => Value::Bool(*truth),
        Node::Number(number) => serde_json::from_str(number).ok().map(Value::Number)?,
        Node::Text(text) => Value::from(text.as_str()),
        Node::List(items) => Value::Array(items.iter().map(any).collect::<Option<_>>()?),
        Node::Object(members) if members.doubtful => return None,
        Node::Object(members) => {
            let named = members.named.iter().map(|(name, node)| Some((name.clone(), any(node)?)));
            Value::Object(named.collect::<Option<_>>()?)
        }
        Node::Hole => return None,
    })
}
