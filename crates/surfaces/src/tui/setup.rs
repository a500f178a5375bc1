//! The first start, when no model is set up: a key, a model on this machine, or a look around without either.
//!
//! It stores nothing itself: what a person chose is an [`Outcome`].

use std::fmt;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::keys::{Action, Input, KeyMap};
use super::picker::{self, Item, Picker};
use super::text::wrapped;
use super::theme::{Name, Theme};

/// Providers whose key can be given here: name, what people call it, and where a key comes from.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("anthropic", "Anthropic", "console.anthropic.com"),
    ("openai", "OpenAI", "platform.openai.com"),
    ("xai", "xAI", "console.x.ai"),
    ("openrouter", "OpenRouter", "openrouter.ai/keys"),
];
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
pub enum Outcome {
    /// Nothing yet.
    Moved,
    /// Store this key of this provider, and tell [`Setup::failed`] if that cannot be done.
    Key {
        /// The provider.
        provider: &'static str,
        /// Its key.
        key: Secret,
    },
    /// Look whether a model runs on this machine, and tell [`Setup::failed`] if none does.
    Local,
    /// Show the demo.
    Demo,
    /// Not now.
    Closed,
}

/// Where a person is.
#[derive(Debug, Clone)]
enum Step {
    Choice,
    Key { provider: usize, key: Secret },
}

/// The set-up.
#[derive(Debug, Clone)]
pub struct Setup {
    choices: Picker,
    step: Step,
    /// Where keys are kept, as a person names it.
    place: String,
    /// What went wrong with the last choice.
    problem: String,
    /// A model is there already, and the person wants another.
    again: bool,
}

impl Setup {
    /// At its beginning; `place` is the file that keys are kept in.
    pub fn new(place: impl Into<String>) -> Self {
        let mut choices = Picker::new("", "");
        let keys = PROVIDERS.iter().map(|(_, name, site)| (format!("A key of {name}"), format!("from {site}")));
        let rest = [
            ("A model on this machine", "start Ollama first; nothing leaves the machine"),
            ("The demo", "no key, no network; the model is a recording"),
        ];
        let all = keys.chain(rest.map(|(name, note)| (name.to_owned(), note.to_owned())));
        let numbered = all.enumerate().map(|(at, (name, note))| Item::noted(format!("{}. {name}", at + 1), note));
        choices.set_items(Arc::new(numbered.collect()));
        Self { choices, step: Step::Choice, place: place.into(), problem: String::new(), again: false }
    }

    /// For somebody who has worked with a model already.
    pub fn again(place: impl Into<String>) -> Self {
        Self { again: true, ..Self::new(place) }
    }

    /// The choice came to nothing; the person may make another.
    pub fn failed(&mut self, problem: impl Into<String>) {
        self.problem = problem.into();
    }

    /// Takes an input in.
    pub fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        match &mut self.step {
            Step::Choice => self.choose(input, keys),
            Step::Key { .. } => self.write(input, keys),
        }
    }

    fn choose(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        let Input::Key(chord) = input else { return Outcome::Moved };
        let digit = chord.typed().and_then(|c| c.to_digit(10)).and_then(|digit| (digit as usize).checked_sub(1));
        let outcome = match (digit, keys.action(*chord)) {
            (Some(at), _) if at < self.choices.items().len() => picker::Outcome::Picked(at),
            (_, Some(action)) => self.choices.act(action),
            _ => picker::Outcome::Passed,
        };
        match outcome {
            picker::Outcome::Picked(at) => {
                self.problem.clear();
                match at.checked_sub(PROVIDERS.len()) {
                    None => {
                        self.step = Step::Key { provider: at, key: Secret::default() };
                        Outcome::Moved
                    }
                    Some(0) => Outcome::Local,
                    Some(_) => Outcome::Demo,
                }
            }
            picker::Outcome::Closed => Outcome::Closed,
            picker::Outcome::Moved | picker::Outcome::Passed => Outcome::Moved,
        }
    }

    fn write(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        let Step::Key { provider, key } = &mut self.step else { return Outcome::Moved };
        let action = match input {
            Input::Paste(text) => {
                add(key, text);
                return Outcome::Moved;
            }
            Input::Key(chord) => match chord.typed() {
                Some(c) => {
                    add(key, c.encode_utf8(&mut [0; 4]));
                    return Outcome::Moved;
                }
                None => keys.action(*chord),
            },
            _ => return Outcome::Moved,
        };
        match action {
            Some(Action::Backspace) => {
                key.0.pop();
            }
            Some(Action::KillToStart) => key.0.clear(),
            Some(Action::Send) if key.0.len() < 8 => self.problem = "That is too short for a key.".to_owned(),
            Some(Action::Send) => {
                self.problem.clear();
                return Outcome::Key { provider: PROVIDERS[*provider].0, key: key.clone() };
            }
            Some(Action::Interrupt | Action::Quit) => {
                self.problem.clear();
                self.step = Step::Choice;
            }
            _ => {}
        }
        Outcome::Moved
    }

    /// Draws it, and tells where the cursor is.
    pub fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return None;
        }
        let mut page = Page { area, buf, row: area.y };
        let (heading, question) = match self.again {
            false => ("Welcome to Trimtab.", "It needs a model to work with. Which one would you like?"),
            true => ("Set-up", "With which model would you like to work?"),
        };
        page.say(heading, theme.style(Name::Heading));
        page.say(question, theme.style(Name::Text));
        page.gap();
        match &self.step {
            Step::Choice => {
                let rest = page.rest();
                let room = self.choices.height(rest.height.saturating_sub(3));
                self.choices.draw(Rect { height: room.min(rest.height), ..rest }, page.buf, theme);
                page.row += room;
                page.gap();
                page.problem(&self.problem, theme);
                page.say("enter or a number chooses · esc: later", theme.style(Name::Dim));
                None
            }
            Step::Key { provider, key } => {
                let (_, name, site) = PROVIDERS[*provider];
                page.say(&format!("Paste your key of {name}. You get one at {site}."), theme.style(Name::Text));
                let shown = "•".repeat(key.0.chars().count().min(usize::from(area.width.saturating_sub(3))));
                let cursor = page.say(&format!("› {shown}"), theme.style(Name::Accent));
                page.gap();
                page.problem(&self.problem, theme);
                let place = format!("It is kept in {}, which only you can read.", self.place);
                page.say(&place, theme.style(Name::Dim));
                page.say("enter keeps it · esc: back", theme.style(Name::Dim));
                cursor
            }
        }
    }
}

/// Adds what of a text can be part of a key.
fn add(key: &mut Secret, text: &str) {
    let room = LONGEST.saturating_sub(key.0.len());
    key.0.extend(text.chars().filter(char::is_ascii_graphic).take(room));
}

/// Rows, from top to bottom, as far as there is room.
struct Page<'b> {
    area: Rect,
    buf: &'b mut Buffer,
    row: u16,
}

impl Page<'_> {
    fn rest(&self) -> Rect {
        let row = self.row.min(self.area.bottom());
        Rect { y: row, height: self.area.bottom() - row, ..self.area }
    }

    fn gap(&mut self) {
        self.row = self.row.saturating_add(1);
    }

    /// Writes a row; returns where it ends.
    fn say(&mut self, text: &str, style: Style) -> Option<Position> {
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
                self.say(&row.to_string(), theme.style(Name::Bad));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Palette;

    fn press(setup: &mut Setup, keys: &[&str]) -> Outcome {
        let map = KeyMap::default();
        let inputs = keys.iter().map(|key| Input::Key(key.parse().expect("a key")));
        inputs.map(|input| setup.input(&input, &map)).last().expect("a key")
    }

    fn drawn(setup: &mut Setup, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        setup.draw(area, &mut buf, &Theme::new(Palette::Plain));
        let row = |y| (0..width).map(|x| buf[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    #[test]
    fn the_first_start_offers_what_there_is() {
        let mut setup = Setup::new("~/.config/trimtab/keys.toml");
        insta::assert_snapshot!(drawn(&mut setup, 80, 12), @"
        Welcome to Trimtab.
        It needs a model to work with. Which one would you like?

        › 1. A key of Anthropic       from console.anthropic.com
          2. A key of OpenAI          from platform.openai.com
          3. A key of xAI             from console.x.ai
          4. A key of OpenRouter      from openrouter.ai/keys
          5. A model on this machine  start Ollama first; nothing leaves the machine
          6. The demo                 no key, no network; the model is a recording

        enter or a number chooses · esc: later
        ");
        assert_eq!(press(&mut setup, &["5"]), Outcome::Local);
        setup.failed("Ollama does not answer.");
        assert!(drawn(&mut setup, 80, 12).contains("Ollama does not answer."));
        assert_eq!(press(&mut setup, &["up", "enter"]), Outcome::Demo);
        assert_eq!(press(&mut setup, &["esc"]), Outcome::Closed);
    }

    #[test]
    fn a_key_is_never_shown() {
        let mut setup = Setup::new("~/.config/trimtab/keys.toml");
        press(&mut setup, &["down", "enter"]);
        let map = KeyMap::default();
        setup.input(&Input::Paste(" sk-secret-123\n".into()), &map);
        let screen = drawn(&mut setup, 80, 9);
        insta::assert_snapshot!(screen, @"
        Welcome to Trimtab.
        It needs a model to work with. Which one would you like?

        Paste your key of OpenAI. You get one at platform.openai.com.
        › •••••••••••••

        It is kept in ~/.config/trimtab/keys.toml, which only you can read.
        enter keeps it · esc: back
        ");
        assert!(!format!("{setup:?}").contains("secret"));
        let Outcome::Key { provider, key } = press(&mut setup, &["enter"]) else { panic!("no key") };
        assert_eq!((provider, key.expose()), ("openai", "sk-secret-123"));
    }

    #[test]
    fn what_is_no_key_is_not_taken_and_there_is_a_way_back() {
        let mut setup = Setup::new("x");
        press(&mut setup, &["1", "a", "?", "1"]);
        assert_eq!(press(&mut setup, &["enter"]), Outcome::Moved);
        assert!(drawn(&mut setup, 80, 9).contains("too short"));
        assert_eq!(press(&mut setup, &["esc"]), Outcome::Moved);
        assert!(drawn(&mut setup, 80, 12).contains("A key of Anthropic"));
        assert!(drawn(&mut Setup::again("x"), 80, 12).starts_with("Set-up\n"), "somebody who was here before");
        for (width, height) in (0..20).flat_map(|width| (0..12).map(move |height| (width, height))) {
            let area = Rect::new(0, 0, width, height);
            setup.draw(area, &mut Buffer::empty(area), &Theme::new(Palette::Plain));
        }
    }
}
