//! The schema of a reader: the names and types that decide how damage is read.
//!
//! It is built at run time, because a tool describes its own arguments. It is not a validator: it has names, types,
//! and required fields only.

/// The kind of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Schema {
    /// Anything. An object in this place may be a wrapper.
    Any,
    Text(Care),
    /// True or false.
    Truth,
    Number,
    /// A list of one kind.
    List(Box<Schema>),
    /// An object with named fields.
    Object(Object),
}

/// How much a doubt about a text weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Words for the user: a lone quotation mark in them may be an inch.
    Words,
    /// A command, a path, code: a lone quotation mark in it means that it was misread.
    Verbatim,
}

/// The fields of an object, and what it is worthless without.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    pub(super) fields: Vec<SchemaField>,
    pub(super) needs: Vec<Vec<String>>,
    pub(super) plain: Vec<String>,
    pub(super) whole: bool,
    /// The letters with which names of its fields begin, a bit for each.
    initials: u32,
}

/// A named field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SchemaField {
    pub(super) name: String,
    pub(super) also: Vec<String>,
    pub(super) schema: Schema,
}

impl Schema {
    /// Words for the user.
    pub fn words() -> Self {
        Self::Text(Care::Words)
    }

    /// A text that counts to the last sign.
    pub fn verbatim() -> Self {
        Self::Text(Care::Verbatim)
    }

    /// A list of objects.
    pub fn list(of: Object) -> Self {
        Self::List(Box::new(Self::Object(of)))
    }

    /// The object that a value of this kind is, or is a list of.
    pub(super) fn object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            Self::List(item) => match item.as_ref() {
                Self::Object(object) => Some(object),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Object {
    /// An object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn field(self, name: &str, schema: Schema) -> Self {
        self.field_or(name, &[], schema)
    }

    /// With a field that goes by other names as well.
    pub fn field_or(mut self, name: &str, also: &[&str], schema: Schema) -> Self {
        self.initials |= also.iter().copied().chain([name]).map(initial).fold(0, |all, one| all | one);
        self.fields.push(SchemaField { name: name.to_owned(), also: owned(also), schema });
        self
    }

    /// Worthless unless one of these fields is there.
    pub fn needs(mut self, one_of: &[&str]) -> Self {
        self.needs.push(owned(one_of));
        self
    }

    /// A plain string in its place means these fields.
    pub fn plain(mut self, fields: &[&str]) -> Self {
        self.plain = owned(fields);
        self
    }

    /// If one field cannot be read, none is shown.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// The place of a field by its name, and whether it was written in its own way.
    ///
    /// Case, underscores, hyphens and spaces may differ; a different word is a different field.
    pub(super) fn find(&self, name: &str) -> Option<(usize, bool)> {
        // Most names differ in their first letter, and this is asked at every bracket of a hostile text.
        if self.initials & initial(name) == 0 {
            return None;
        }
        if let Some(at) = self.fields.iter().position(|field| field.name == name) {
            return Some((at, true));
        }
        let same = |known: &String| loosely_equal(known, name);
        let at = self.fields.iter().position(|field| same(&field.name) || field.also.iter().any(same))?;
        Some((at, false))
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Equal but for case and for signs between words.
fn loosely_equal(known: &str, given: &str) -> bool {
    letters(known).eq(letters(given))
}

/// The bit of the first letter.
fn initial(name: &str) -> u32 {
    letters(name).next().map_or(1, |letter| 1 << (letter % 32))
}

fn letters(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|b| !matches!(b, b'_' | b'-' | b' ')).map(|b| b.to_ascii_lowercase())
}
