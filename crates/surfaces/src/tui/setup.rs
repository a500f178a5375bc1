//! The first start, when no model is set up: a key, a model on this machine, or a look around without either.
//!
//! It stores nothing itself: what a person chose is a [`SetupChoice`].

use std::fmt;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::keys::{KeyAction, KeyMap, TerminalInput};
use super::picker::{self, Picker, PickerItem};
use super::text::wrapped;
use super::theme::{StyleName, Theme};

/// Providers whose key can be given here: name, what people call it, and where a key comes from.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("anthropic", "Anthropic", "console.anthropic.com"),
    ("openai", "OpenAI", "platform.openai.com"),
    ("gemini", "Google Gemini", "aistudio.google.com/apikey"),
    ("xai", "xAI", "console.x.ai"),
    ("openrouter", "OpenRouter", "openrouter.ai/keys"),
];
/// Where the choice of a model on this machine stands.
const LOCAL: usize = PROVIDERS.len();
/// Longer texts are no keys.
const LONGEST: usize = 1_000;

/// A key that never shows.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// The key itself, for whoever stores it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupChoice {
    /// Nothing yet.
    Moved,
    /// Store this key of this provider, and tell [`SetupDialog::failed`] if that cannot be done.
    Key { provider: &'static str, key: Secret },
    /// Look whether a model runs on this machine, and tell [`SetupDialog::failed`] if none does.
    Local,
    /// Use the model of a server at this address, and tell [`SetupDialog::failed`] if there is none.
    Address(String),
    /// Show the demo.
    Demo,
    /// Not now.
    Closed,
}

/// Where a person is.
#[derive(Debug, Clone)]
enum SetupPage {
    Choice,
    Key { provider: usize, key: Secret },
    Address { typed: String },
}

/// The set-up.
#[derive(Debug, Clone)]
pub struct SetupDialog {
    choices: Picker,
    step: SetupPage,
    /// Where keys are kept, as a person names it.
    place: String,
    /// What went wrong with the last choice.
    problem: String,
    /// A model is there already, and the person wants another.
    again: bool,
    /// A key is being checked.
    is_checking: bool,
}

impl SetupDialog {
    /// At its beginning; `place` is the file that keys are kept in.
    pub fn new(place: impl Into<String>) -> Self {
        let mut choices = Picker::new("", "");
        let keys = PROVIDERS.iter().map(|(_, name, site)| (format!("API key for {name}"), format!("from {site}")));
        let rest = [
            ("A model on this machine", "llama.cpp, Ollama, LM Studio, or vLLM; no key"),
            ("Address of a server", "for example 127.0.0.1:8080"),
            ("The demo", "no key, no network; the model is a recording"),
        ];
        let all = keys.chain(rest.map(|(name, note)| (name.to_owned(), note.to_owned())));
        let numbered = all.enumerate().map(|(at, (name, note))| PickerItem::noted(format!("{}. {name}", at + 1), note));
        choices.set_items(Arc::new(numbered.collect()));
        Self {
            choices,
            step: SetupPage::Choice,
            place: place.into(),
            problem: String::new(),
            again: false,
            is_checking: false,
        }
    }

    /// With a model that was found on this machine, which Enter then chooses; empty: none was.
    pub fn with_found(mut self, found: &str) -> Self {
        if !found.is_empty() {
            let mut items = self.choices.items().to_vec();
            items[LOCAL] =
                PickerItem::noted(format!("{}. A model on this machine", LOCAL + 1), format!("found {found}"));
            self.choices.set_items(Arc::new(items));
            for _ in 0..LOCAL {
                self.choices.act(KeyAction::Down);
            }
        }
        self
    }

    /// For somebody who has worked with a model already.
    pub fn again(place: impl Into<String>) -> Self {
        Self { again: true, ..Self::new(place) }
    }

    /// The choice came to nothing; the person may make another.
    pub fn failed(&mut self, problem: impl Into<String>) {
        self.problem = problem.into();
        self.is_checking = false;
        // Nobody sees where a hidden key is wrong, so it is pasted again.
        if let SetupPage::Key { key, .. } = &mut self.step {
            key.0.clear();
        }
    }

    /// Takes an input in.
    pub fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> SetupChoice {
        match &mut self.step {
            SetupPage::Choice => self.choose(input, keys),
            SetupPage::Key { .. } => self.write(input, keys),
            SetupPage::Address { .. } => self.write_address(input, keys),
        }
    }

    fn choose(&mut self, input: &TerminalInput, keys: &KeyMap) -> SetupChoice {
        let TerminalInput::Key(chord) = input else { return SetupChoice::Moved };
        let digit = chord.typed().and_then(|c| c.to_digit(10)).and_then(|digit| (digit as usize).checked_sub(1));
        let outcome = match (digit, keys.action(*chord)) {
            (Some(at), _) if at < self.choices.items().len() => picker::PickerOutcome::Picked(at),
            (_, Some(action)) => self.choices.act(action),
            _ => picker::PickerOutcome::Passed,
        };
        match outcome {
            picker::PickerOutcome::Picked(at) => {
                self.problem.clear();
                match at.checked_sub(PROVIDERS.len()) {
                    None => {
                        self.step = SetupPage::Key { provider: at, key: Secret::default() };
                        SetupChoice::Moved
                    }
                    Some(0) => SetupChoice::Local,
                    Some(1) => {
                        self.step = SetupPage::Address { typed: String::new() };
                        SetupChoice::Moved
                    }
                    Some(_) => SetupChoice::Demo,
                }
            }
            picker::PickerOutcome::Closed => SetupChoice::Closed,
            picker::PickerOutcome::Moved | picker::PickerOutcome::Passed => SetupChoice::Moved,
        }
    }

    fn write(&mut self, input: &TerminalInput, keys: &KeyMap) -> SetupChoice {
        let SetupPage::Key { provider, key } = &mut self.step else { return SetupChoice::Moved };
        let action = match input {
            TerminalInput::Paste(text) => {
                add(key, text);
                return SetupChoice::Moved;
            }
            TerminalInput::Key(chord) => match chord.typed() {
                Some(c) => {
                    add(key, c.encode_utf8(&mut [0; 4]));
                    return SetupChoice::Moved;
                }
                None => keys.action(*chord),
            },
            _ => return SetupChoice::Moved,
        };
        match action {
            Some(KeyAction::Backspace) => {
                key.0.pop();
            }
            Some(KeyAction::KillToStart) => key.0.clear(),
            Some(KeyAction::Send) if key.0.len() < 8 => self.problem = "That is too short for a key.".to_owned(),
            Some(KeyAction::Send) if self.is_checking => {}
            Some(KeyAction::Send) => {
                self.problem.clear();
                self.is_checking = true;
                return SetupChoice::Key { provider: PROVIDERS[*provider].0, key: key.clone() };
            }
            Some(KeyAction::Interrupt | KeyAction::Quit) => {
                self.problem.clear();
                self.is_checking = false;
                self.step = SetupPage::Choice;
            }
            _ => {}
        }
        SetupChoice::Moved
    }

    fn write_address(&mut self, input: &TerminalInput, keys: &KeyMap) -> SetupChoice {
        let SetupPage::Address { typed } = &mut self.step else { return SetupChoice::Moved };
        let action = match input {
            TerminalInput::Paste(text) => {
                add_text(typed, text);
                return SetupChoice::Moved;
            }
            TerminalInput::Key(chord) => match chord.typed() {
                Some(c) => {
                    add_text(typed, c.encode_utf8(&mut [0; 4]));
                    return SetupChoice::Moved;
                }
                None => keys.action(*chord),
            },
            _ => return SetupChoice::Moved,
        };
        match action {
            Some(KeyAction::Backspace) => {
                typed.pop();
            }
            Some(KeyAction::KillToStart) => typed.clear(),
            Some(KeyAction::Send) if !typed.is_empty() => {
                self.problem.clear();
                return SetupChoice::Address(typed.clone());
            }
            Some(KeyAction::Interrupt | KeyAction::Quit) => {
                self.problem.clear();
                self.step = SetupPage::Choice;
            }
            _ => {}
        }
        SetupChoice::Moved
    }

    /// Draws it, and tells where the cursor is.
    pub fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return None;
        }
        let mut page = SetupRows { area, buf, row: area.y };
        let (heading, question) = match self.again {
            false => ("Welcome to Trimtab.", "Choose a model to work with."),
            true => ("Set-up", "Which model do you want to use?"),
        };
        page.write(heading, theme.style(StyleName::Heading));
        page.write(question, theme.style(StyleName::Text));
        page.gap();
        match &self.step {
            SetupPage::Choice => {
                let rest = page.rest();
                let room = self.choices.height(rest.height.saturating_sub(3));
                self.choices.draw(Rect { height: room.min(rest.height), ..rest }, page.buf, theme);
                page.row += room;
                page.gap();
                page.problem(&self.problem, theme);
                page.write("enter or a number to choose · esc not now", theme.style(StyleName::Dim));
                None
            }
            SetupPage::Address { typed } => {
                page.write("Type the address of a model server.", theme.style(StyleName::Text));
                let cursor = page.write(&format!("› {typed}"), theme.style(StyleName::Accent));
                page.gap();
                page.problem(&self.problem, theme);
                page.write("Trimtab saves it in your settings.", theme.style(StyleName::Dim));
                page.write("enter use · esc back", theme.style(StyleName::Dim));
                cursor
            }
            SetupPage::Key { provider, key } => {
                let (_, name, site) = PROVIDERS[*provider];
                page.write(&format!("Paste your API key for {name}. Get one at {site}."), theme.style(StyleName::Text));
                let shown = "•".repeat(key.0.chars().count().min(usize::from(area.width.saturating_sub(3))));
                let cursor = page.write(&format!("› {shown}"), theme.style(StyleName::Accent));
                page.gap();
                page.problem(&self.problem, theme);
                let place = format!("Trimtab saves it in {}, which only you can read.", self.place);
                page.write(&place, theme.style(StyleName::Dim));
                let hint = if self.is_checking { "Checking the key…" } else { "enter check and save · esc back" };
                page.write(hint, theme.style(StyleName::Dim));
                cursor
            }
        }
    }
}

/// Adds what of a text can be part of a key.
fn add(key: &mut Secret, text: &str) {
    add_text(&mut key.0, text);
}

fn add_text(typed: &mut String, text: &str) {
    let room = LONGEST.saturating_sub(typed.len());
    typed.extend(text.chars().filter(char::is_ascii_graphic).take(room));
}

/// Rows, from top to bottom, as far as there is room.
struct SetupRows<'b> {
    area: Rect,
    buf: &'b mut Buffer,
    row: u16,
}

impl SetupRows<'_> {
    fn rest(&self) -> Rect {
        let row = self.row.min(self.area.bottom());
        Rect { y: row, height: self.area.bottom() - row, ..self.area }
    }

    fn gap(&mut self) {
        self.row = self.row.saturating_add(1);
    }

    /// Writes a row; returns where it ends.
    fn write(&mut self, text: &str, style: Style) -> Option<Position> {
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let (x, y) = self.buf.set_stringn(rest.x, rest.y, text, usize::from(rest.width), style);
        self.gap();
        Some(Position { x: x.min(rest.right() - 1), y })
    }

    fn problem(&mut self, problem: &str, theme: &Theme) {
        if !problem.is_empty() {
            let words = crate::diff::visible(problem.as_bytes());
            let width = usize::from(self.area.width);
            for row in wrapped(&words, Style::default(), width) {
                self.write(&row.to_string(), theme.style(StyleName::Bad));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Palette;

    fn press(setup: &mut SetupDialog, keys: &[&str]) -> SetupChoice {
        let map = KeyMap::default();
        let inputs = keys.iter().map(|key| TerminalInput::Key(key.parse().expect("a key")));
        inputs.map(|input| setup.input(&input, &map)).last().expect("a key")
    }

    fn drawn(setup: &mut SetupDialog, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        setup.draw(area, &mut buf, &Theme::new(Palette::Plain));
        let row = |y| (0..width).map(|x| buf[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    #[test]
    fn the_first_start_offers_what_there_is() {
        let mut setup = SetupDialog::new("~/.config/trimtab/keys.toml");
        insta::assert_snapshot!(drawn(&mut setup, 90, 14), @"
        Welcome to Trimtab.
        Choose a model to work with.

        › 1. API key for Anthropic      from console.anthropic.com
          2. API key for OpenAI         from platform.openai.com
          3. API key for Google Gemini  from aistudio.google.com/apikey
          4. API key for xAI            from console.x.ai
          5. API key for OpenRouter     from openrouter.ai/keys
          6. A model on this machine    llama.cpp, Ollama, LM Studio, or vLLM; no key
          7. Address of a server        for example 127.0.0.1:8080
          8. The demo                   no key, no network; the model is a recording

        enter or a number to choose · esc not now
        ");
        assert_eq!(press(&mut setup, &["6"]), SetupChoice::Local);
        setup.failed("Ollama does not answer.");
        assert!(drawn(&mut setup, 80, 13).contains("Ollama does not answer."));
        assert_eq!(press(&mut setup, &["up", "enter"]), SetupChoice::Demo);
        assert_eq!(press(&mut setup, &["esc"]), SetupChoice::Closed);
    }

    #[test]
    fn a_found_model_is_one_key_away_and_an_address_can_be_typed() {
        let found = "llama.cpp at http://127.0.0.1:8080/v1 (llamacpp/qwen)";
        let mut setup = SetupDialog::new("x").with_found(found);
        let screen = drawn(&mut setup, 100, 13);
        let line = screen.lines().find(|line| line.starts_with("› 6. A model on this machine"));
        assert!(line.is_some_and(|line| line.ends_with(&format!("found {found}"))), "{screen}");
        assert_eq!(press(&mut setup, &["enter"]), SetupChoice::Local);
        press(&mut setup, &["7", "8", "0", "8", "1", "backspace", "0"]);
        assert!(drawn(&mut setup, 80, 9).contains("› 8080"));
        assert_eq!(press(&mut setup, &["enter"]), SetupChoice::Address("8080".into()));
        setup.failed("No model server answers at http://127.0.0.1:8080.");
        assert!(drawn(&mut setup, 80, 9).contains("No model server answers"));
        press(&mut setup, &["esc"]);
        assert!(drawn(&mut setup, 80, 13).contains("API key for Anthropic"));
    }

    #[test]
    fn a_key_is_never_shown() {
        let mut setup = SetupDialog::new("~/.config/trimtab/keys.toml");
        press(&mut setup, &["down", "enter"]);
        let map = KeyMap::default();
        setup.input(&TerminalInput::Paste(" sk-secret-123\n".into()), &map);
        let screen = drawn(&mut setup, 80, 9);
        insta::assert_snapshot!(screen, @"
        Welcome to Trimtab.
        Choose a model to work with.

        Paste your API key for OpenAI. Get one at platform.openai.com.
        › •••••••••••••

        Trimtab saves it in ~/.config/trimtab/keys.toml, which only you can read.
        enter check and save · esc back
        ");
        assert!(!format!("{setup:?}").contains("secret"));
        let SetupChoice::Key { provider, key } = press(&mut setup, &["enter"]) else { panic!("no key") };
        assert_eq!((provider, key.expose()), ("openai", "sk-secret-123"));
    }

    #[test]
    fn what_is_no_key_is_not_taken_and_there_is_a_way_back() {
        let mut setup = SetupDialog::new("x");
        press(&mut setup, &["1", "a", "?", "1"]);
        assert_eq!(press(&mut setup, &["enter"]), SetupChoice::Moved);
        assert!(drawn(&mut setup, 80, 9).contains("too short"));
        assert_eq!(press(&mut setup, &["esc"]), SetupChoice::Moved);
        assert!(drawn(&mut setup, 80, 12).contains("API key for Anthropic"));
        assert!(drawn(&mut SetupDialog::again("x"), 80, 12).starts_with("Set-up\n"), "somebody who was here before");
        for (width, height) in (0..20).flat_map(|width| (0..12).map(move |height| (width, height))) {
            let area = Rect::new(0, 0, width, height);
            setup.draw(area, &mut Buffer::empty(area), &Theme::new(Palette::Plain));
        }
    }
}
