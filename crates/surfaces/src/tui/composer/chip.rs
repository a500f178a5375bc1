//! Chips: a paste or a picture that stands in the text as one character.
//!
//! A chip is a character of the private plane that nothing else uses here, so every way to move, delete, cut and
//! undo treats it as the one thing that it is. What it stands for is kept beside the text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The characters that stand for chips.
const FIRST: u32 = 0x10_f000;
const LAST: u32 = 0x10_fffd;

/// Whether a character stands for a chip.
pub(crate) fn is_chip(c: char) -> bool {
    (FIRST..=LAST).contains(&u32::from(c))
}

/// A part of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftPart {
    /// What was written.
    Text(String),
    Paste(String),
    /// A picture in a file.
    Image(PathBuf),
}

/// What a draft is. A person enters the other kinds with a key; text is never a command because of how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftKind {
    /// Words for the model.
    #[default]
    Message,
    /// A command of the person's own: `!` was the first key.
    Shell,
    /// A command of the program, or a pill: `/` was the first key.
    Slash,
}

/// What a person wrote, with what they pasted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "StoredDraft", into = "StoredDraft")]
pub struct ComposerDraft {
    pub kind: DraftKind,
    /// Its parts, in order.
    pub parts: Vec<DraftPart>,
}

/// A draft in a file: a message is a list of parts, as it always was.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredDraft {
    Message(Vec<DraftPart>),
    Other { kind: DraftKind, parts: Vec<DraftPart> },
}

impl From<StoredDraft> for ComposerDraft {
    fn from(written: StoredDraft) -> Self {
        match written {
            StoredDraft::Message(parts) => Self { kind: DraftKind::Message, parts },
            StoredDraft::Other { kind, parts } => Self { kind, parts },
        }
    }
}

impl From<ComposerDraft> for StoredDraft {
    fn from(draft: ComposerDraft) -> Self {
        match draft.kind {
            DraftKind::Message => Self::Message(draft.parts),
            kind => Self::Other { kind, parts: draft.parts },
        }
    }
}

impl ComposerDraft {
    /// A message in plain words, however they begin.
    pub fn new(text: impl Into<String>) -> Self {
        Self { kind: DraftKind::Message, parts: vec![DraftPart::Text(text.into())] }
    }

    /// Whether a part of it stands behind a label.
    pub fn has_paste(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, DraftPart::Paste(_)))
    }

    /// Whether there is nothing to say in it.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, DraftPart::Text(text) if text.trim().is_empty()))
    }

    /// The whole text as it is sent: pastes stand where their chips stood, pictures are named.
    pub fn text(&self) -> String {
        let mut number = 0;
        let mut said = |part: &DraftPart| match part {
            DraftPart::Text(text) | DraftPart::Paste(text) => text.clone(),
            DraftPart::Image(path) => {
                number += 1;
                image_label(number, path)
            }
        };
        self.parts.iter().map(&mut said).collect()
    }

    /// One line for lists: pastes are named, not told.
    pub fn line(&self) -> String {
        let (mut pastes, mut images) = (0, 0);
        let mut said = |part: &DraftPart| match part {
            DraftPart::Text(text) => text.clone(),
            DraftPart::Paste(text) => {
                pastes += 1;
                paste_label(pastes, text)
            }
            DraftPart::Image(path) => {
                images += 1;
                image_label(images, path)
            }
        };
        let sign = if self.kind == DraftKind::Shell { "! " } else { "" };
        let whole: String = std::iter::once(sign.to_owned()).chain(self.parts.iter().map(&mut said)).collect();
        whole.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The pictures, in the order of their numbers in the text.
    pub fn images(&self) -> Vec<&Path> {
        let of = |part: &'_ DraftPart| matches!(part, DraftPart::Image(_));
        self.parts.iter().filter(|part| of(part)).filter_map(DraftPart::path).collect()
    }

    /// The command, if this is one of the person's own.
    pub fn command(&self) -> Option<String> {
        (self.kind == DraftKind::Shell).then(|| self.text().trim().to_owned())
    }
}

impl DraftPart {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Image(path) => Some(path),
            _ => None,
        }
    }
}

fn paste_label(number: usize, text: &str) -> String {
    match text.lines().count() {
        0 | 1 => format!("[Pasted {} characters #{number}]", text.chars().count()),
        lines => format!("[Pasted {lines} lines #{number}]"),
    }
}

fn image_label(number: usize, path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!("[Image #{number} {}]", crate::diff::visible(name.as_bytes()))
}

/// A chip: what it stands for, and how it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chip {
    pub(super) part: DraftPart,
    pub(super) label: String,
}

/// The chips that a text may hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Chips {
    chips: BTreeMap<char, Chip>,
    next: u32,
    pastes: usize,
    images: usize,
}

impl Chips {
    /// A character for something, the same one for the same thing; `None` if there are no more. Four thousand are
    /// kept at a time, and those that nothing holds any more are let go when a draft is sent.
    pub(super) fn add(&mut self, part: DraftPart) -> Option<char> {
        if let Some((chip, _)) = self.chips.iter().find(|(_, chip)| chip.part == part) {
            return Some(*chip);
        }
        let free = (0..=LAST - FIRST).map(|step| FIRST + (self.next + step) % (LAST - FIRST + 1));
        let chip = free.filter_map(char::from_u32).find(|c| !self.chips.contains_key(c))?;
        self.next = u32::from(chip) - FIRST + 1;
        let label = match &part {
            DraftPart::Image(path) => {
                self.images += 1;
                image_label(self.images, path)
            }
            DraftPart::Text(text) | DraftPart::Paste(text) => {
                self.pastes += 1;
                paste_label(self.pastes, text)
            }
        };
        self.chips.insert(chip, Chip { part, label });
        Some(chip)
    }

    pub(super) fn get(&self, c: char) -> Option<&Chip> {
        self.chips.get(&c)
    }

    /// Puts something else behind a character.
    pub(super) fn set(&mut self, c: char, text: String) {
        if let Some(chip) = self.chips.get_mut(&c) {
            let number = chip.label.rsplit('#').next().and_then(|rest| rest.trim_end_matches(']').parse().ok());
            *chip = Chip { label: paste_label(number.unwrap_or(1), &text), part: DraftPart::Paste(text) };
        }
    }

    /// Lets go of those that none of these texts holds, and counts anew when none is left.
    pub(super) fn keep<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        let held: std::collections::BTreeSet<char> =
            texts.flat_map(|text| text.chars().filter(|c| is_chip(*c))).collect();
        self.chips.retain(|c, _| held.contains(c));
        if self.chips.is_empty() {
            (self.pastes, self.images) = (0, 0);
        }
    }

    /// A text with its chips as a draft.
    pub(super) fn draft(&self, text: &str) -> ComposerDraft {
        let (mut parts, mut from) = (Vec::new(), 0);
        for (at, c) in text.char_indices() {
            if let Some(chip) = self.get(c) {
                if from < at {
                    parts.push(DraftPart::Text(text[from..at].to_owned()));
                }
                parts.push(chip.part.clone());
                from = at + c.len_utf8();
            }
        }
        if from < text.len() {
            parts.push(DraftPart::Text(text[from..].to_owned()));
        }
        ComposerDraft { kind: DraftKind::Message, parts }
    }

    /// A draft as a text with chips.
    pub(super) fn text(&mut self, draft: &ComposerDraft) -> String {
        let mut text = String::new();
        for part in &draft.parts {
            match part {
                DraftPart::Text(words) if !words.contains(is_chip) => text += words,
                DraftPart::Text(words) => text.extend(self.add(DraftPart::Paste(words.clone()))),
                part => text.extend(self.add(part.clone())),
            }
        }
        text
    }

    /// A text with the labels of its chips in it, as an editor shows it.
    pub(super) fn labelled(&self, text: &str) -> String {
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c) {
                Some(chip) => whole += &chip.label,
                None => whole.push(c),
            }
        }
        whole
    }

    /// The way back: what still stands there of the labels becomes chips again.
    pub(super) fn unlabelled(&self, text: &str, of: &str) -> String {
        let mut text = text.to_owned();
        for c in of.chars() {
            if let Some(chip) = self.get(c) {
                text = text.replacen(&chip.label, c.encode_utf8(&mut [0; 4]), 1);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_survives_the_way_through_a_text_and_a_file() {
        let draft = ComposerDraft {
            kind: DraftKind::Message,
            parts: vec![
                DraftPart::Text("see ".into()),
                DraftPart::Paste("a\nb".into()),
                DraftPart::Text(" and ".into()),
                DraftPart::Image("/x/shot 1.png".into()),
            ],
        };
        let mut chips = Chips::default();
        let text = chips.text(&draft);
        assert_eq!(chips.labelled(&text), "see [Pasted 2 lines #1] and [Image #1 shot 1.png]");
        assert_eq!(chips.draft(&text), draft);
        let line = serde_json::to_string(&draft).expect("written");
        assert_eq!(serde_json::from_str::<ComposerDraft>(&line).expect("read"), draft);
        assert_eq!(draft.text(), "see a\nb and [Image #1 shot 1.png]");
        assert_eq!(draft.images(), [Path::new("/x/shot 1.png")]);
        assert_eq!(draft.line(), "see [Pasted 2 lines #1] and [Image #1 shot 1.png]");
    }

    #[test]
    fn chips_that_nothing_holds_are_let_go() {
        let mut chips = Chips::default();
        let one = chips.add(DraftPart::Paste("1".into())).expect("room");
        let two = chips.add(DraftPart::Paste("2".into())).expect("room");
        chips.keep([two.to_string().as_str()].into_iter());
        assert_eq!((chips.get(one), chips.get(two).is_some()), (None, true));
        assert_eq!(chips.add(DraftPart::Paste("2".into())), Some(two), "the same paste is the same chip");
        let many = (0..5_000).filter_map(|number| chips.add(DraftPart::Paste(format!("x{number}")))).count();
        assert_eq!(many, (LAST - FIRST) as usize, "then there is no more room, and no harm");
    }

    #[test]
    fn a_text_is_no_command_because_of_how_it_begins() {
        assert_eq!(ComposerDraft::new("!git status").command(), None);
        let typed = ComposerDraft { kind: DraftKind::Shell, ..ComposerDraft::new(" git status ") };
        assert_eq!(typed.command().as_deref(), Some("git status"));
        let line = serde_json::to_string(&typed).expect("written");
        assert_eq!(serde_json::from_str::<ComposerDraft>(&line).expect("read"), typed);
        let old: ComposerDraft = serde_json::from_str(r#"[{"text":"!rm x"}]"#).expect("read");
        assert_eq!(old.command(), None, "an old file says nothing of how it was written");
    }
}
