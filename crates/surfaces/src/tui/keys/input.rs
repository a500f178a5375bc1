//! Events of the terminal as the rest of the UI knows them. Only this file knows who reads them.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event, KeyCode, KeyEvent,
    KeyEventKind, KeyModifiers, KeyboardEnhancementFlags, MouseEventKind, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::execute;

/// Something that came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key was pressed.
    Key(Chord),
    /// A text was pasted, or a file was dropped.
    Paste(String),
    /// The terminal has another size now.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// The person looks at this terminal, or at something else.
    Focus(bool),
    /// The wheel was turned by so many notches; up is below zero.
    Wheel(i16),
}

/// A key with what was held while it was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chord {
    /// The key. Of a letter with Ctrl or Alt, the small one.
    pub key: Key,
    /// Ctrl was held.
    pub ctrl: bool,
    /// Alt was held.
    pub alt: bool,
    /// Shift was held; never for characters that say so themselves.
    pub shift: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Insert,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// Keys with names, as settings and help write them.
const NAMES: &[(&str, Key)] = &[
    ("enter", Key::Enter),
    ("esc", Key::Esc),
    ("tab", Key::Tab),
    ("space", Key::Char(' ')),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("insert", Key::Insert),
    ("left", Key::Left),
    ("right", Key::Right),
    ("up", Key::Up),
    ("down", Key::Down),
    ("home", Key::Home),
    ("end", Key::End),
    ("pageup", Key::PageUp),
    ("pagedown", Key::PageDown),
];

impl Key {
    /// The names of those that have one.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

impl Chord {
    /// A key by itself.
    pub fn plain(key: Key) -> Self {
        Self { key, ctrl: false, alt: false, shift: false }
    }

    /// The character that it types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.key {
            Key::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// The same key in one spelling: terminals differ in how they tell of Shift, and some control characters
    /// reach us as Ctrl with a digit.
    fn spelled(mut self) -> Self {
        if let Key::Char(c) = self.key {
            let is_held = self.ctrl || self.alt;
            self.shift = is_held && (c.is_uppercase() || (self.shift && c.is_alphabetic()));
            let c = match c {
                '4' if self.ctrl => '\\',
                '5' if self.ctrl => ']',
                '6' if self.ctrl => '^',
                '7' if self.ctrl => '_',
                c if is_held => c.to_lowercase().next().unwrap_or(c),
                c => c,
            };
            self.key = Key::Char(c);
        }
        self
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (is_held, name) in [(self.ctrl, "ctrl-"), (self.alt, "alt-"), (self.shift, "shift-")] {
            f.write_str(if is_held { name } else { "" })?;
        }
        match (self.key, NAMES.iter().find(|(_, key)| *key == self.key)) {
            (_, Some((name, _))) => f.write_str(name),
            (Key::F(number), _) => write!(f, "f{number}"),
            (Key::Char(c), _) => write!(f, "{c}"),
            (key, _) => write!(f, "{key:?}"),
        }
    }
}

/// A text that names no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoKey;

impl FromStr for Chord {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let mut chord = Self::plain(Key::Esc);
        let mut rest = text.trim();
        loop {
            let small = rest.to_ascii_lowercase();
            let name = ["ctrl-", "alt-", "shift-"].into_iter().find(|name| small.starts_with(name));
            let (name, held) = match name {
                Some(name @ "ctrl-") => (name, &mut chord.ctrl),
                Some(name @ "alt-") => (name, &mut chord.alt),
                Some(name) => (name, &mut chord.shift),
                None => break,
            };
            if std::mem::replace(held, true) {
                return Err(NoKey);
            }
            rest = &rest[name.len()..];
        }
        let small = rest.to_ascii_lowercase();
        let mut letters = rest.chars();
        chord.key = match (letters.next(), letters.next()) {
            (Some(c), None) if !c.is_control() && !c.is_whitespace() => Key::Char(c),
            (Some('f' | 'F'), Some(_)) => match small[1..].parse() {
                Ok(number @ 1..=24) => Key::F(number),
                _ => return Err(NoKey),
            },
            _ => NAMES.iter().find(|(name, _)| *name == small).ok_or(NoKey)?.1,
        };
        if let (Key::Char(c), true, false, false) = (chord.key, chord.shift, chord.ctrl, chord.alt) {
            // Shift with a letter is the capital one.
            chord.key = Key::Char(c.to_uppercase().next().unwrap_or(c));
        }
        Ok(chord.spelled())
    }
}

impl TerminalInput {
    /// What an event of the terminal means here; most of those that the UI has no use for mean nothing.
    pub fn from_event(event: Event) -> Option<Self> {
        match event {
            Event::Key(key) => chord(key).map(Self::Key),
            Event::Paste(text) => Some(Self::Paste(text)),
            Event::Resize(width, height) => Some(Self::Resize { width, height }),
            Event::FocusGained => Some(Self::Focus(true)),
            Event::FocusLost => Some(Self::Focus(false)),
            Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => Some(Self::Wheel(-1)),
                MouseEventKind::ScrollDown => Some(Self::Wheel(1)),
                _ => None,
            },
        }
    }
}

fn chord(event: KeyEvent) -> Option<Chord> {
    let unknown = KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META;
    if event.kind == KeyEventKind::Release || event.modifiers.intersects(unknown) {
        return None;
    }
    let has = |modifier| event.modifiers.contains(modifier);
    let (ctrl, alt, mut shift) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT), has(KeyModifiers::SHIFT));
    let key = match event.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => {
            shift = true;
            Key::Tab
        }
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Insert => Key::Insert,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::F(number) => Key::F(number),
        _ => return None,
    };
    Some(Chord { key, ctrl, alt, shift }.spelled())
}

/// Asks the terminal to tell pastes from typing, when it is looked at, and keys exactly. One that cannot do
/// one of these ignores it, and the UI does without.
pub fn begin(out: &mut impl Write) -> io::Result<()> {
    let exactly = PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES);
    execute!(out, EnableBracketedPaste, EnableFocusChange, exactly)
}

/// Takes back what [`begin`] asked for; what runs next in the terminal did not ask for it.
pub fn end(out: &mut impl Write) -> io::Result<()> {
    execute!(out, PopKeyboardEnhancementFlags, DisableFocusChange, DisableBracketedPaste)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<TerminalInput> {
        TerminalInput::from_event(Event::Key(KeyEvent::new(code, modifiers)))
    }

    fn named(text: &str) -> Option<TerminalInput> {
        Some(TerminalInput::Key(text.parse().expect("a key")))
    }

    #[test]
    fn the_same_key_is_the_same_chord_however_a_terminal_tells_of_it() {
        let (ctrl, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::NONE), named("shift-tab"));
        assert_eq!(key(KeyCode::Tab, shift), named("shift-tab"));
        assert_eq!(key(KeyCode::Char('A'), shift), named("A"));
        assert_eq!(key(KeyCode::Char('A'), KeyModifiers::NONE), named("shift-a"));
        assert_eq!(key(KeyCode::Char('?'), shift), named("?"));
        assert_eq!(key(KeyCode::Char('7'), ctrl), named("ctrl-_"));
        assert_eq!(key(KeyCode::Char('X'), ctrl | shift), named("ctrl-shift-x"));
        assert_eq!(key(KeyCode::Char('<'), alt | shift), named("alt-<"));
        assert_eq!(key(KeyCode::Enter, shift), named("shift-enter"));
        assert_eq!(key(KeyCode::Char('v'), KeyModifiers::SUPER), None);
        assert_eq!(key(KeyCode::CapsLock, KeyModifiers::NONE), None);
    }

    #[test]
    fn letting_a_key_go_is_no_key_press() {
        let event = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(TerminalInput::from_event(Event::Key(event)), None);
    }

    #[test]
    fn a_text_that_names_no_key_is_refused() {
        for bad in ["", "ctrl-", "ctrl-ctrl-x", "hyper-x", "f0", "f25", "enterr", "ab", "\u{1}"] {
            assert_eq!(bad.parse::<Chord>(), Err(NoKey), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_chord_is_read_as_it_is_written(c in any::<char>(), ctrl: bool, alt: bool, shift: bool, at in 0..NAMES.len()) {
            let typed = Chord { key: Key::Char(c), ctrl, alt, shift }.spelled();
            if !c.is_control() && !c.is_whitespace() {
                prop_assert_eq!(typed.to_string().parse(), Ok(typed));
            }
            let special = Chord { key: NAMES[at].1, ctrl, alt, shift }.spelled();
            prop_assert_eq!(special.to_string().parse(), Ok(special));
        }
    }
}
