//! The parsed tree, and the stack that builds it.

use super::schema::{Object, Schema};

/// Deeper than any answer, shallow enough for every walk over the tree.
pub(super) const DEEPEST: usize = 64;

/// A value as it was read, before it is fitted to a schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Truth(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Members),
    /// Something was there, and what it was is not certain.
    Hole,
}

/// The members of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Members {
    pub(super) named: Vec<(String, Node)>,
    /// Where one member ends and the next begins is not certain.
    pub(super) doubtful: bool,
}

/// A list or an object that is still open.
pub(super) struct JsonFrame<'s> {
    pub(super) kind: FrameKind<'s>,
    /// A thing of the schema, worthless unless whole; not the root and not a wrapper of it.
    pub(super) element: bool,
    pub(super) doubtful: bool,
    /// Its author left something out of it.
    pub(super) elided: bool,
    pub(super) key: Option<PendingKey>,
    pub(super) named: Vec<(String, Node)>,
    pub(super) items: Vec<Node>,
    /// Which of the known fields have come, by their place.
    seen: u64,
}

/// The content of a frame.
#[derive(Clone, Copy)]
pub(super) enum FrameKind<'s> {
    Object(&'s Object),
    List(&'s Schema),
}

/// A name that waits for its value.
pub(super) struct PendingKey {
    pub(super) name: String,
    pub(super) field: Option<usize>,
}

impl<'s> JsonFrame<'s> {
    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, FrameKind::Object(_))
    }

    /// A known field of this object that has not come yet.
    pub(super) fn unseen(&self, name: &str) -> Option<&'s Schema> {
        let FrameKind::Object(object) = self.kind else { return None };
        let (at, _) = object.find(name)?;
        (!self.has(at)).then(|| &object.fields[at].schema)
    }

    /// Whether a name is known here, come or not.
    pub(super) fn knows(&self, name: &str) -> bool {
        matches!(self.kind, FrameKind::Object(object) if object.find(name).is_some())
    }

    /// Whether this is a thing that is only of use whole, and whole already.
    pub(super) fn is_complete(&self) -> bool {
        let FrameKind::Object(object) = self.kind else { return false };
        let come = |name: &String| object.find(name).is_some_and(|(at, _)| self.has(at));
        object.whole && object.needs.iter().all(|one_of| one_of.iter().any(come))
    }

    fn has(&self, field: usize) -> bool {
        field < 64 && self.seen & (1 << field) != 0
    }
}

/// The open lists and objects, outermost first.
pub(super) struct Stack<'s> {
    pub(super) frames: Vec<JsonFrame<'s>>,
    root: &'s Schema,
    base: &'s Object,
    any: &'s Schema,
    done: Option<Node>,
}

impl<'s> Stack<'s> {
    pub(super) fn new(root: &'s Schema, base: &'s Object) -> Self {
        Self { frames: Vec::new(), root, base, any: &Schema::Any, done: None }
    }

    pub(super) fn top(&self) -> Option<&JsonFrame<'s>> {
        self.frames.last()
    }

    pub(super) fn top_mut(&mut self) -> Option<&mut JsonFrame<'s>> {
        self.frames.last_mut()
    }

    /// What the schema expects at this place.
    pub(super) fn slot(&self) -> &'s Schema {
        match self.frames.last() {
            None => self.root,
            Some(frame) => match frame.kind {
                FrameKind::List(item) => item,
                FrameKind::Object(object) => {
                    let field = frame.key.as_ref().and_then(|key| key.field);
                    field.map_or(self.any, |at| &object.fields[at].schema)
                }
            },
        }
    }

    pub(super) fn open_object(&mut self) {
        // Where no object is due it may be a wrapper, and the names in it may be the root's.
        let due = match self.root {
            Schema::Object(_) if self.frames.is_empty() => None,
            _ => self.slot().object(),
        };
        self.push(FrameKind::Object(due.unwrap_or(self.base)), due.is_some());
    }

    pub(super) fn open_list(&mut self) {
        let item = match self.slot() {
            Schema::List(item) => item.as_ref(),
            _ => self.any,
        };
        self.push(FrameKind::List(item), false);
    }

    fn push(&mut self, kind: FrameKind<'s>, element: bool) {
        self.frames.push(JsonFrame {
            kind,
            element,
            doubtful: false,
            elided: false,
            key: None,
            named: Vec::new(),
            items: Vec::new(),
            seen: 0,
        });
    }

    /// Names the value to come.
    pub(super) fn name(&mut self, name: &str) {
        let Some(frame) = self.frames.last_mut() else { return };
        let FrameKind::Object(object) = frame.kind else { return };
        let field = object.find(name).map(|(at, _)| at);
        if let Some(at) = field.filter(|at| *at < 64) {
            frame.seen |= 1 << at;
        }
        frame.key = Some(PendingKey { name: name.to_owned(), field });
    }

    /// Puts a finished value in its place.
    pub(super) fn add(&mut self, node: Node) {
        match self.frames.last_mut() {
            None => self.done = Some(node),
            Some(frame) => match frame.kind {
                FrameKind::List(_) => frame.items.push(node),
                FrameKind::Object(_) => {
                    if let Some(key) = frame.key.take() {
                        frame.named.push((key.name, node));
                    }
                }
            },
        }
    }

    /// Closes the innermost frame.
    pub(super) fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.add(finished(frame));
        }
    }

    /// Opens the last member of the innermost object as a list again, if it is one or is a single
    /// object in the place of one.
    pub(super) fn reopen_list(&mut self) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        let FrameKind::Object(object) = frame.kind else { return false };
        let Some((name, node)) = frame.named.pop() else { return false };
        let field = object.find(&name).map(|(at, _)| at);
        let item = match field.map(|at| &object.fields[at].schema) {
            Some(Schema::List(item)) => item.as_ref(),
            _ => {
                frame.named.push((name, node));
                return false;
            }
        };
        let items = match node {
            Node::List(items) => items,
            other => vec![other],
        };
        frame.key = Some(PendingKey { name, field });
        self.push(FrameKind::List(item), false);
        if let Some(list) = self.frames.last_mut() {
            list.items = items;
        }
        true
    }

    /// Whether the last object of the innermost list has no member of this name, and so may have lost it. It is
    /// doubtful then.
    pub(super) fn last_lacks(&mut self, name: &str) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        let FrameKind::List(item) = frame.kind else { return false };
        let (Some(object), Some(Node::Object(last))) = (item.object(), frame.items.last_mut()) else { return false };
        let place = object.find(name).map(|(at, _)| at);
        let lacks = last.named.iter().all(|(known, _)| object.find(known).map(|(at, _)| at) != place);
        last.doubtful |= lacks;
        lacks
    }

    /// What the last member of the innermost object may be a list of.
    pub(super) fn last_list(&self) -> Option<&'s Object> {
        let frame = self.frames.last()?;
        let FrameKind::Object(object) = frame.kind else { return None };
        let (at, _) = object.find(&frame.named.last()?.0)?;
        matches!(object.fields[at].schema, Schema::List(_)).then(|| object.fields[at].schema.object())?
    }

    /// The text ended inside a text that follows objects in a list. A list of both is unlikely; more
    /// likely a mark was not escaped in the last of them, and its end was none.
    pub(super) fn cut_in_text(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && matches!(frame.kind, FrameKind::List(item) if item.object().is_some())
            && matches!(frame.items.last(), Some(Node::Object(_)))
        {
            frame.items.pop();
        }
    }

    /// The text ended here. What is whole is kept, and what holds whole things; an element that was
    /// still open is not.
    pub(super) fn cut(mut self) -> Node {
        while let Some(mut frame) = self.frames.pop() {
            frame.elided = true;
            if !frame.element {
                self.add(finished(frame));
            } else if let Some(outer) = self.frames.last_mut() {
                outer.key = None;
            }
        }
        self.done.unwrap_or(Node::Hole)
    }

    /// The root, once it is closed.
    pub(super) fn done(&mut self) -> Option<Node> {
        if self.frames.is_empty() { self.done.take() } else { None }
    }
}

fn finished(frame: JsonFrame<'_>) -> Node {
    match frame.kind {
        // It was not said that there is nothing, it was not said what there is.
        FrameKind::List(_) if frame.elided && frame.items.is_empty() => Node::Null,
        FrameKind::List(_) => Node::List(frame.items),
        FrameKind::Object(_) => Node::Object(Members { named: frame.named, doubtful: frame.doubtful }),
    }
}
