//! The repairs that were needed to read a text.

use std::fmt;

/// The note about a field that could not be read with certainty.
pub const NOT_CERTAIN: &str = "left out, not certain";

/// One kind of repair. Each is reported once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Between tokens stood a comment.
    Comment,
    /// A comma too many.
    ExtraComma,
    /// A comma too few.
    MissingComma,
    /// A colon too few.
    MissingColon,
    /// Texts in other quotation marks than JSON's.
    OtherQuotes,
    /// Names without quotation marks.
    BareKey,
    /// A text without quotation marks.
    BareText,
    /// A quotation mark is missing.
    MissingQuote,
    /// A quotation mark inside a text was not escaped.
    InnerQuote,
    /// Words such as `True` or `undefined`.
    ForeignLiteral,
    /// A line break or another control character stood raw in a text.
    RawControl,
    /// A backslash before a sign that JSON does not escape.
    UnknownEscape,
    /// Texts joined by `+`.
    Joined,
    /// A closing or opening bracket is missing in the middle.
    MissingBracket,
    /// A bracket too many.
    ExtraBracket,
    /// A bracket of the wrong kind.
    WrongBracket,
    /// Text between the tokens.
    StrayText,
    /// Dots stand where something was left out.
    Elided,
    /// The thing was inside another object.
    Wrapper,
    /// The thing was written as a JSON text.
    InText,
    /// A field by another spelling of its name.
    Renamed {
        /// As it was written.
        from: String,
        /// As it is called.
        to: String,
    },
    /// A value of a kind that had to be converted.
    Converted { field: String },
    /// One thing where a list of such was due.
    Single { field: String },
    /// A plain text where an object was due.
    Plain { field: String },
    /// Something was there that could not be read for certain.
    LeftOut { field: String },
}

impl Repair {
    /// Whether the text has another possible reading, so that a file's text may be wrong: where a string or a list
    /// ends, what was left out, what a word means. Fences, commas, and foreign quotes are certain.
    pub(crate) fn is_guess(&self) -> bool {
        match self {
            Self::BareText
            | Self::MissingQuote
            | Self::InnerQuote
            | Self::Joined
            | Self::MissingBracket
            | Self::WrongBracket
            | Self::StrayText
            | Self::Elided
            | Self::LeftOut { .. } => true,
            Self::Plain { field } => field.starts_with("fileChanges"),
            Self::Comment
            | Self::ExtraComma
            | Self::MissingComma
            | Self::MissingColon
            | Self::OtherQuotes
            | Self::BareKey
            | Self::ForeignLiteral
            | Self::RawControl
            | Self::UnknownEscape
            | Self::ExtraBracket
            | Self::Wrapper
            | Self::InText
            | Self::Renamed { .. }
            | Self::Converted { .. }
            | Self::Single { .. } => false,
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Comment => "comment skipped",
            Self::ExtraComma => "extra comma skipped",
            Self::MissingComma => "missing comma read",
            Self::MissingColon => "missing colon read",
            Self::OtherQuotes => "text in other quotation marks read",
            Self::BareKey => "name without quotation marks read",
            Self::BareText => "text without quotation marks read",
            Self::MissingQuote => "missing quotation mark read",
            Self::InnerQuote => "unescaped quotation mark kept",
            Self::ForeignLiteral => "literal of another language read",
            Self::RawControl => "raw control character kept",
            Self::UnknownEscape => "unknown escape kept",
            Self::Joined => "joined texts put together",
            Self::MissingBracket => "missing bracket read",
            Self::ExtraBracket => "extra bracket skipped",
            Self::WrongBracket => "wrong bracket read as the right one",
            Self::StrayText => "stray text skipped",
            Self::Elided => "something was left out by its author",
            Self::Wrapper => "wrapper opened",
            Self::InText => "text opened",
            Self::Renamed { from, to } => return write!(f, "{to}: was spelt {from}"),
            Self::Converted { field } => return write!(f, "{field}: converted"),
            Self::Single { field } => return write!(f, "{field}: one in place of a list"),
            Self::Plain { field } => return write!(f, "{field}: plain text in place of an object"),
            Self::LeftOut { field } => return write!(f, "{field}: {NOT_CERTAIN}"),
        };
        f.write_str(words)
    }
}

/// The repairs so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    pub(super) repairs: Vec<Repair>,
}

impl Notes {
    /// Far more kinds than a text can need; it bounds what a hostile one can make us keep.
    const MOST: usize = 48;

    pub(super) fn add(&mut self, repair: Repair) {
        if self.repairs.len() < Self::MOST && !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    pub(super) fn extend(&mut self, others: &Notes) {
        for repair in &others.repairs {
            self.add(repair.clone());
        }
    }
}
