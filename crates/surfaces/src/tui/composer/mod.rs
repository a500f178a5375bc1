//! Where a person writes: many lines, chips for what they paste, lists for what they can mean, and a way back to
//! what they wrote before.
//!
//! The composer acts on nothing. What should happen is an [`ComposerOutcome`]; lists to choose from are given to it.

pub(crate) mod chip;
mod complete;
mod draw;
mod edit;
mod files;
mod history;
pub mod keep;
mod paste;
pub(crate) mod text;
mod vim;
mod wrap;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trimtab_vocab::{CheckpointId, RequestId};

pub use chip::{ComposerDraft, DraftKind, DraftPart};
pub use complete::CompletionSource;
pub use files::files;

use super::keys::{Chord, KeyAction, KeyMap, TerminalInput};
use super::picker::{self, Picker, PickerItem};
use super::shell_output::ShellOutput;
use crate::slash;
use chip::Chips;
use edit::Editor;
use history::DraftHistory;
use wrap::WrappedRow;

/// Bytes that stand in the composer as text; what does not fit becomes a chip. So a key press never has much to do.
const MOST_TEXT: usize = 64_000;
/// Drafts that are put away.
const MOST_STASHED: usize = 20;

/// What came of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComposerOutcome {
    /// It means nothing here; the action, if the key has one, is for whoever comes next.
    Passed(Option<KeyAction>),
    /// Something else is drawn now; the draft is the same.
    Moved,
    /// The draft is another one, to be kept (see [`Composer::kept`]).
    Changed,
    /// Say this, or steer what runs with it. The composer is empty now, and the history has it.
    Send(ComposerDraft),
    /// Say this when what runs has ended. The same holds.
    Queue(ComposerDraft),
    /// Open this text in an editor and tell [`Composer::edited`] what became of it.
    Editor(String),
}

/// What of a composer outlives the process.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct SavedComposer {
    /// What was being written.
    pub draft: ComposerDraft,
    /// What was put away, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stash: Vec<ComposerDraft>,
    /// Words that were being written as an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<HalfAnswer>,
    /// What was sent and is not known to have arrived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sending: Vec<Sending>,
    /// What the person's own commands wrote, for the next message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<ShellOutput>,
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sending {
    /// Its name: whether it has arrived, the list of requests tells.
    pub request: RequestId,
    /// What was said.
    pub draft: ComposerDraft,
}

/// An answer to a question that was not given yet.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HalfAnswer {
    /// The question.
    pub checkpoint: CheckpointId,
    /// The chosen answer.
    pub choice: String,
    /// The words with it so far.
    pub text: String,
    /// They are a note to the model, not a part of the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_note: bool,
}

/// A list that is open at a word.
#[derive(Debug, Clone)]
struct Completing {
    source: CompletionSource,
    word: Range<usize>,
    picker: Picker,
}

#[derive(Debug, Clone)]
pub struct Composer {
    editor: Editor,
    /// What is written. Only a key makes it other than a message.
    kind: DraftKind,
    /// Only messages can be written.
    is_plain: bool,
    chips: Chips,
    history: DraftHistory,
    stash: Vec<ComposerDraft>,
    lists: BTreeMap<CompletionSource, Arc<Vec<PickerItem>>>,
    completing: Option<Completing>,
    /// Where a word begins whose list was closed.
    closed: Option<usize>,
    cmd: Option<CompletionSource>,
    searching: Option<Picker>,
    /// The chip that is open in an editor, if it is not the whole text.
    opened: Option<char>,
    folder: PathBuf,
    is_file: fn(&Path) -> bool,
    hint: &'static str,
    /// Columns for the text when it was last drawn.
    width: usize,
    /// The column that going up and down aims at.
    goal: Option<usize>,
    top: usize,
    wrapped: Option<(u64, usize, Vec<WrappedRow>)>,
    /// Vim's keys, if the person wants them.
    vim: Option<vim::VimState>,
}

impl Composer {
    /// An empty one; pictures are looked for from the folder on.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            editor: Editor::default(),
            kind: DraftKind::Message,
            is_plain: false,
            chips: Chips::default(),
            history: DraftHistory::default(),
            stash: Vec::new(),
            lists: BTreeMap::new(),
            completing: None,
            closed: None,
            cmd: None,
            searching: None,
            opened: None,
            folder: folder.into(),
            is_file: Path::is_file,
            hint: "",
            width: 80,
            goal: None,
            top: 0,
            wrapped: None,
            vim: None,
        }
    }

    /// One in which every key that types is text.
    pub fn for_words() -> Self {
        Self { is_plain: true, ..Self::new(".") }
    }

    /// What is said while nothing is written.
    pub fn set_hint(&mut self, hint: &'static str) {
        self.hint = hint;
    }

    /// What was said before, the oldest first.
    pub fn set_history(&mut self, said: Vec<ComposerDraft>) {
        self.history.set(said);
    }

    /// Gives a list to choose from. Items are named without the sign that calls the list; a folder among files
    /// ends with a slash.
    pub fn offer(&mut self, source: CompletionSource, items: Arc<Vec<PickerItem>>) {
        if let Some(open) = self.completing.as_mut().filter(|open| open.source == source) {
            open.picker.set_items(Arc::clone(&items));
        }
        self.lists.insert(source, items);
    }

    /// The list that was opened since this was last asked: now would be the time to look whether it is still right.
    pub fn take_wish(&mut self) -> Option<CompletionSource> {
        self.cmd.take()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.editor.text().is_empty() && self.kind == DraftKind::Message
    }

    /// Whether a list or a search is open, so that Esc is for the composer.
    pub fn is_open(&self) -> bool {
        self.searching.is_some() || self.completing.is_some()
    }

    /// What is written.
    pub fn draft(&self) -> ComposerDraft {
        ComposerDraft { kind: self.kind, ..self.chips.draft(self.editor.text()) }
    }

    /// Puts something else into the composer; it can be undone.
    pub fn set_draft(&mut self, draft: &ComposerDraft) {
        let text = self.fitted(draft);
        self.editor.replace(0..self.editor.text().len(), &text);
        self.kind = draft.kind;
        self.after_change();
    }

    /// What has to outlive the process.
    pub fn kept(&self) -> SavedComposer {
        SavedComposer { draft: self.draft(), stash: self.stash.clone(), ..SavedComposer::default() }
    }

    /// Goes on with what an earlier process left.
    pub fn restore(&mut self, kept: SavedComposer) {
        let text = self.fitted(&kept.draft);
        self.kind = kept.draft.kind;
        self.editor.reset(text);
        self.stash = kept.stash;
        self.stash.truncate(MOST_STASHED);
    }

    /// Puts something into the input; where something stands already, it is put away for later.
    pub fn give_back(&mut self, draft: &ComposerDraft) {
        match self.is_empty() {
            true => self.set_draft(draft),
            false => {
                self.stash.push(draft.clone());
                let surplus = self.stash.len().saturating_sub(MOST_STASHED);
                self.stash.drain(..surplus);
            }
        }
    }

    /// Puts what is written away for later, if something is.
    pub fn set_aside(&mut self) {
        if !self.is_empty() {
            self.put_away();
        }
    }

    /// Closes the list that is open at the cursor. It stays closed for this word.
    pub fn close_list(&mut self) {
        self.closed = self.completing.take().map(|open| open.word.start).or(self.closed);
    }

    /// Empties it; this can be undone.
    pub fn clear(&mut self) -> ComposerOutcome {
        self.editor.replace(0..self.editor.text().len(), "");
        self.kind = DraftKind::Message;
        self.after_change()
    }

    /// A draft as text, with a chip for what would be too long.
    fn fitted(&mut self, draft: &ComposerDraft) -> String {
        let text = self.chips.text(draft);
        match text.len() > MOST_TEXT {
            false => text,
            true => self.chips.add(DraftPart::Paste(draft.text())).map(String::from).unwrap_or_default(),
        }
    }

    /// Takes an input in.
    pub fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ComposerOutcome {
        if matches!(input, TerminalInput::Resize { .. } | TerminalInput::Focus(_)) {
            return ComposerOutcome::Passed(None);
        }
        if let Some(picker) = &mut self.searching {
            let outcome = picker.input(input, keys);
            return self.searched(outcome);
        }
        match input {
            TerminalInput::Key(chord) => self.key(*chord, keys),
            TerminalInput::Paste(text) => self.paste(text),
            TerminalInput::Resize { .. } | TerminalInput::Focus(_) | TerminalInput::Wheel(_) => {
                ComposerOutcome::Passed(None)
            }
        }
    }

    fn key(&mut self, chord: Chord, keys: &KeyMap) -> ComposerOutcome {
        if self.completing.is_none() {
            let outcome = match (keys.action(chord), chord.typed()) {
                (Some(KeyAction::Interrupt), None) => self.vim_escape(),
                (_, Some(c)) => self.vim_letter(c),
                _ => None,
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
        match (keys.action(chord), chord.typed()) {
            // A key that types something does something else only while nothing is written.
            (Some(action), Some(_)) if self.is_empty() => self.act(action),
            (_, Some(c)) => self.type_char(c),
            (Some(action), None) => self.act(action),
            (None, None) => ComposerOutcome::Passed(None),
        }
    }

    fn type_char(&mut self, c: char) -> ComposerOutcome {
        // The first key says what is written; whatever else begins like this is a message.
        match c {
            _ if self.is_plain => {}
            '!' if self.is_empty() => {
                self.kind = DraftKind::Shell;
                return self.after_change();
            }
            '/' if self.is_empty() => self.kind = DraftKind::Slash,
            _ => {}
        }
        match chip::is_chip(c) {
            true => return self.paste(c.encode_utf8(&mut [0; 4])),
            false => self.editor.write(c.encode_utf8(&mut [0; 4])),
        }
        self.after_change()
    }

    /// Takes a paste in.
    pub fn paste(&mut self, text: &str) -> ComposerOutcome {
        if let Some(paths) = paste::pictures(text, &self.folder, self.is_file) {
            for path in paths {
                self.add_image(path);
            }
            return self.after_change();
        }
        let text = paste::with_line_ends(text);
        if text.is_empty() {
            return ComposerOutcome::Moved;
        }
        let is_long = paste::is_long(&text) || self.editor.text().len() + text.len() > MOST_TEXT;
        let at = self.editor.cursor();
        match if is_long { self.chips.add(DraftPart::Paste(text.clone())) } else { None } {
            Some(chip) => self.editor.replace(at..at, chip.encode_utf8(&mut [0; 4])),
            None => self.editor.replace(at..at, &text.replace(chip::is_chip, "\u{fffd}")),
        }
        self.after_change()
    }

    /// Adds a picture at the cursor.
    pub fn add_image(&mut self, path: PathBuf) {
        if let Some(chip) = self.chips.add(DraftPart::Image(path)) {
            let at = self.editor.cursor();
            self.editor.replace(at..at, &format!("{chip} "));
            self.after_change();
        }
    }

    /// Does what an action says.
    pub fn act(&mut self, action: KeyAction) -> ComposerOutcome {
        if let Some(outcome) = self.complete(action) {
            return outcome;
        }
        if !matches!(action, KeyAction::Up | KeyAction::Down) {
            self.goal = None;
        }
        match action {
            KeyAction::Send if self.editor.text()[..self.editor.cursor()].ends_with('\\') => {
                let at = self.editor.cursor();
                self.editor.replace(at - 1..at, "\n");
                self.after_change()
            }
            KeyAction::Send | KeyAction::Queue => self.send(action),
            KeyAction::Backspace | KeyAction::Interrupt
                if self.kind == DraftKind::Shell && self.editor.text().is_empty() =>
            {
                self.clear()
            }
            KeyAction::Up | KeyAction::Down => self.go_by_row(action == KeyAction::Up),
            KeyAction::Quit if !self.is_empty() => self.clear(),
            KeyAction::Leave if !self.is_empty() => self.edit(KeyAction::Delete),
            KeyAction::History => self.search(),
            KeyAction::Stash => self.put_away(),
            KeyAction::Editor => ComposerOutcome::Editor(self.chips.labelled(self.editor.text())),
            KeyAction::Open => self.open(),
            action => self.edit(action),
        }
    }

    fn edit(&mut self, action: KeyAction) -> ComposerOutcome {
        match self.editor.act(action) {
            None => ComposerOutcome::Passed(Some(action)),
            Some(true) => self.after_change(),
            Some(false) => {
                self.look_for_word();
                ComposerOutcome::Moved
            }
        }
    }

    fn after_change(&mut self) -> ComposerOutcome {
        if self.kind == DraftKind::Slash && !self.editor.text().starts_with('/') {
            self.kind = DraftKind::Message;
        }
        self.history.leave();
        self.goal = None;
        self.look_for_word();
        ComposerOutcome::Changed
    }

    fn send(&mut self, action: KeyAction) -> ComposerOutcome {
        let draft = self.draft();
        if draft.is_empty() {
            return ComposerOutcome::Moved;
        }
        if draft.kind == DraftKind::Shell && draft.has_paste() {
            // A command is read before it runs: what was pasted into it stands there as text first.
            return self.unfold();
        }
        self.history.add(draft.clone());
        self.vim = self.vim.map(|_| vim::VimState::default());
        self.editor.reset(String::new());
        self.kind = DraftKind::Message;
        let held: Vec<String> = self.editor.held().map(str::to_owned).collect();
        self.chips.keep(held.iter().map(String::as_str));
        (self.completing, self.closed, self.goal) = (None, None, None);
        if action == KeyAction::Queue { ComposerOutcome::Queue(draft) } else { ComposerOutcome::Send(draft) }
    }

    fn put_away(&mut self) -> ComposerOutcome {
        if self.is_empty() {
            let Some(draft) = self.stash.pop() else { return ComposerOutcome::Moved };
            self.set_draft(&draft);
            return ComposerOutcome::Changed;
        }
        self.stash.push(self.draft());
        if self.stash.len() > MOST_STASHED {
            self.stash.remove(0);
        }
        self.clear()
    }

    /// How many drafts are put away.
    pub fn stashed(&self) -> usize {
        self.stash.len()
    }

    /// Opens the paste beside the cursor: short ones as text, long ones in an editor.
    fn open(&mut self) -> ComposerOutcome {
        let (text, at) = (self.editor.text(), self.editor.cursor());
        let before = text[..at].chars().next_back().map(|c| (c, at - c.len_utf8()..at));
        let after = text[at..].chars().next().map(|c| (c, at..at + c.len_utf8()));
        // The one beside the cursor, else the first one.
        let first = text
            .char_indices()
            .find(|(_, c)| matches!(self.chips.get(*c), Some(chip) if matches!(chip.part, DraftPart::Paste(_))));
        let first = first.map(|(from, c)| (c, from..from + c.len_utf8()));
        let found = [before, after, first].into_iter().flatten().find_map(|(c, part)| match &self.chips.get(c)?.part {
            DraftPart::Paste(paste) => Some((c, part, paste.clone())),
            _ => None,
        });
        let Some((chip, part, paste)) = found else { return ComposerOutcome::Moved };
        if text.len() + paste.len() > MOST_TEXT || paste.contains(chip::is_chip) {
            self.opened = Some(chip);
            return ComposerOutcome::Editor(paste);
        }
        self.editor.replace(part, &paste);
        self.after_change()
    }

    /// Puts every paste as text where its label stands.
    fn unfold(&mut self) -> ComposerOutcome {
        let text = self.draft().text().replace(chip::is_chip, "\u{fffd}");
        self.editor.replace(0..self.editor.text().len(), &text);
        self.after_change()
    }

    /// What became of the text in the editor; `None`: nothing.
    pub fn edited(&mut self, text: Option<String>) -> ComposerOutcome {
        let opened = self.opened.take();
        let Some(text) = text else { return ComposerOutcome::Moved };
        let text = paste::with_line_ends(&text);
        match opened {
            Some(chip) => self.chips.set(chip, text),
            None => {
                // An editor ends its last line; a person did not write that end.
                let text = text.strip_suffix('\n').unwrap_or(&text);
                let mut text = match text.contains(chip::is_chip) {
                    true => text.replace(chip::is_chip, "\u{fffd}"),
                    false => text.to_owned(),
                };
                text = self.chips.unlabelled(&text, self.editor.text());
                if text.len() > MOST_TEXT {
                    let whole = self.chips.draft(&text).text();
                    text = self.chips.add(DraftPart::Paste(whole)).map(String::from).unwrap_or_default();
                }
                self.editor.replace(0..self.editor.text().len(), &text);
            }
        }
        self.after_change()
    }
}

/// Lists and searches.
impl Composer {
    /// Opens, narrows or closes the list for the word at the cursor.
    fn look_for_word(&mut self) {
        let found = match self.kind {
            DraftKind::Shell => None,
            kind => complete::word(self.editor.text(), self.editor.cursor(), kind == DraftKind::Slash),
        };
        let Some((source, word)) = found else {
            (self.completing, self.closed) = (None, None);
            return;
        };
        if self.closed == Some(word.start) {
            return;
        }
        self.closed = None;
        let query = self.editor.text()[word.start + 1..word.end].trim_start_matches('"').to_owned();
        match self.completing.as_mut().filter(|open| open.source == source && open.word.start == word.start) {
            Some(open) => {
                open.word = word;
                open.picker.set_query(&query);
            }
            None => {
                let mut picker = Picker::new("", source.empty());
                picker.set_items(self.lists.get(&source).cloned().unwrap_or_default());
                picker.set_query(&query);
                self.completing = Some(Completing { source, word, picker });
                self.cmd = Some(source);
            }
        }
    }

    /// What an action does to an open list; `None`: nothing, it is for the text.
    fn complete(&mut self, action: KeyAction) -> Option<ComposerOutcome> {
        let open = self.completing.as_mut()?;
        if action == KeyAction::Interrupt {
            self.closed = Some(open.word.start);
            self.completing = None;
            return Some(ComposerOutcome::Moved);
        }
        let is_for_list = matches!(
            action,
            KeyAction::Send
                | KeyAction::Queue
                | KeyAction::Up
                | KeyAction::Down
                | KeyAction::PageUp
                | KeyAction::PageDown
        );
        if !is_for_list || open.picker.found() == 0 {
            return None;
        }
        match open.picker.act(action) {
            picker::PickerOutcome::Picked(at) => {
                let item = open.picker.items().get(at)?.text.clone();
                let (source, word) = (open.source, open.word.clone());
                let is_whole = self.editor.text()[word.start + 1..word.end] == item;
                if is_whole && action == KeyAction::Send {
                    // It is written out already: Enter means what it says.
                    self.completing = None;
                    return None;
                }
                let sign = source.sign();
                // A name with blanks would end at the first of them.
                let written = match (item.contains(char::is_whitespace), item.ends_with('/')) {
                    (true, _) => format!("{sign}\"{item}\" "),
                    (false, true) => format!("{sign}{item}"),
                    (false, false) => format!("{sign}{item} "),
                };
                self.editor.replace(word, &written);
                let changed = self.after_change();
                // Nothing can follow it, so Enter means what was chosen; Tab only writes it out.
                let is_said = action == KeyAction::Send
                    && source == CompletionSource::Commands
                    && slash::is_plain(self.editor.text());
                Some(if is_said { self.send(action) } else { changed })
            }
            _ => Some(ComposerOutcome::Moved),
        }
    }

    fn search(&mut self) -> ComposerOutcome {
        let mut picker = Picker::new("History:", "There are no earlier messages yet.");
        let lines = self.history.distinct().into_iter().map(|draft| PickerItem::new(draft.line()));
        picker.set_items(Arc::new(lines.collect()));
        self.searching = Some(picker);
        ComposerOutcome::Moved
    }

    fn searched(&mut self, outcome: picker::PickerOutcome) -> ComposerOutcome {
        match outcome {
            picker::PickerOutcome::Picked(at) => {
                self.searching = None;
                let found = self.history.distinct().get(at).map(|draft| (*draft).clone());
                let Some(draft) = found else { return ComposerOutcome::Moved };
                self.set_draft(&draft);
                ComposerOutcome::Changed
            }
            picker::PickerOutcome::Closed => {
                self.searching = None;
                ComposerOutcome::Moved
            }
            picker::PickerOutcome::Moved | picker::PickerOutcome::Passed => ComposerOutcome::Moved,
        }
    }
}

/// Rows of the screen.
impl Composer {
    fn rows(&mut self) -> &[WrappedRow] {
        let (version, width) = (self.editor.version(), self.width);
        if !matches!(&self.wrapped, Some((of, at, _)) if (*of, *at) == (version, width)) {
            let rows = wrap::rows(self.editor.text(), &self.chips, width);
            self.wrapped = Some((version, width, rows));
        }
        self.wrapped.as_ref().map_or(&[], |(_, _, rows)| rows)
    }

    /// Goes a row up or down; from the first or last one, through what was said before.
    fn go_by_row(&mut self, up: bool) -> ComposerOutcome {
        let (cursor, width) = (self.editor.cursor(), self.width);
        let rows = self.rows().to_vec();
        let row = wrap::row_of(&rows, cursor);
        let next = if up { row.checked_sub(1) } else { Some(row + 1).filter(|next| *next < rows.len()) };
        let text = self.editor.text();
        if let Some(next) = next {
            let goal = self.goal.unwrap_or_else(|| wrap::column_of(text, &self.chips, width, rows[row], cursor));
            let at = wrap::place_at(text, &self.chips, width, &rows, next, goal);
            self.editor.move_cursor(at);
            self.goal = Some(goal);
            self.look_for_word();
            return ComposerOutcome::Moved;
        }
        let now = self.draft();
        let found = if up { self.history.older(|| now) } else { self.history.newer() };
        let Some(draft) = found else {
            // Nowhere to go: to the very start or end, as far as there is a way.
            let goal = if up { 0 } else { text.len() };
            self.editor.move_cursor(goal);
            return ComposerOutcome::Moved;
        };
        let text = self.fitted(&draft);
        self.editor.replace(0..self.editor.text().len(), &text);
        self.kind = draft.kind;
        (self.goal, self.completing, self.closed) = (None, None, None);
        // A list must not open over what was said before; it would take the next key.
        self.closed = complete::word(self.editor.text(), self.editor.cursor(), true).map(|(_, word)| word.start);
        ComposerOutcome::Changed
    }
}

#[cfg(test)]
mod tests;
