//! Styled lines as a terminal takes them: as many colours as it has, fit for its background.
//!
//! Colour never says anything alone: added and removed lines have their signs in every palette.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::Duration;

use terminal_colorsaurus::{QueryOptions, ThemeMode, theme_mode};

use super::output::no_colour;
use crate::diff::{Line, Role, Style, Token};

/// How long a terminal may take to say what its background is. One that never does is found out at once.
const PATIENCE: Duration = Duration::from_millis(300);
const PLAIN: &str = "\u{1b}[0m";
/// Fills the rest of the line with the colour in force.
const FILL: &str = "\u{1b}[K";

/// The colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Palette {
    /// None.
    Plain,
    /// The sixteen that every terminal has, whatever they look like there. Also where the background is
    /// unknown: these are readable on any.
    Sixteen,
    /// A table of 256.
    Many(Background),
    /// Any.
    Full(Background),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Background {
    Dark,
    Light,
}

impl Palette {
    /// Of the terminal that this stream is, if it is one.
    pub(super) fn of(stream: &impl IsTerminal) -> Self {
        if !stream.is_terminal() || no_colour() {
            return Self::Plain;
        }
        let name = |key: &str| std::env::var(key).unwrap_or_default();
        let chosen = Self::named(&name("TERM"), &name("COLORTERM"), &name("COLORFGBG"));
        chosen.unwrap_or_else(|make| asked().map_or(Self::Sixteen, make))
    }

    /// By what the environment says; where it does not say the background, what to make of that.
    fn named(term: &str, colours: &str, background: &str) -> Result<Self, fn(Background) -> Self> {
        let make: fn(Background) -> Self = match (term, colours) {
            ("dumb", _) => return Ok(Self::Plain),
            (_, "truecolor" | "24bit") => Self::Full,
            (term, _) if term.ends_with("-direct") => Self::Full,
            (term, _) if term.contains("256") => Self::Many,
            _ => return Ok(Self::Sixteen),
        };
        // `foreground;background`, as numbers of the sixteen colours.
        match background.rsplit(';').next().and_then(|number| number.parse::<u8>().ok()) {
            Some(0..=6 | 8) => Ok(make(Background::Dark)),
            Some(7 | 9..=15) => Ok(make(Background::Light)),
            _ => Err(make),
        }
    }

    /// The lines as text, each with its end.
    pub(super) fn paint(self, lines: &[Line]) -> String {
        let mut text = String::new();
        for line in lines {
            let mut last = String::new();
            for span in &line.spans {
                let code = self.code(span.style);
                if code != last {
                    if !last.is_empty() {
                        text += PLAIN;
                    }
                    if !code.is_empty() {
                        text += &format!("\u{1b}[{code}m");
                    }
                    last = code;
                }
                text += &span.text;
            }
            let role = line.spans.last().map(|span| span.style.role);
            let is_filled = matches!(self, Self::Many(_) | Self::Full(_))
                && matches!(role, Some(Role::Added | Role::AddedWord | Role::Removed | Role::RemovedWord));
            if is_filled {
                // The line is its own colour to the edge; a word that ends it is not.
                let base =
                    if matches!(role, Some(Role::Added | Role::AddedWord)) { Role::Added } else { Role::Removed };
                let code = self.code(Style { role: base, token: Token::Text });
                text += &format!("{PLAIN}\u{1b}[{code}m{FILL}");
            }
            if !last.is_empty() {
                text += PLAIN;
            }
            text.push('\n');
        }
        text
    }

    /// The numbers that switch a style on.
    fn code(self, style: Style) -> String {
        let (ground, letters) = match self {
            Self::Plain => return String::new(),
            Self::Sixteen => return sixteen(style).to_owned(),
            Self::Many(ground) => (ground, many(style.token, ground).map(|n| format!("38;5;{n}"))),
            Self::Full(ground) => (ground, full(style.token, ground).map(|(r, g, b)| format!("38;2;{r};{g};{b}"))),
        };
        let is_full = matches!(self, Self::Full(_));
        let behind = match (style.role, ground) {
            (Role::Added, Background::Dark) => Some((22, (16, 46, 30))),
            (Role::AddedWord, Background::Dark) => Some((28, (30, 100, 58))),
            (Role::Removed, Background::Dark) => Some((52, (58, 22, 26))),
            (Role::RemovedWord, Background::Dark) => Some((88, (130, 40, 48))),
            (Role::Added, Background::Light) => Some((194, (221, 246, 228))),
            (Role::AddedWord, Background::Light) => Some((157, (155, 228, 175))),
            (Role::Removed, Background::Light) => Some((224, (254, 228, 228))),
            (Role::RemovedWord, Background::Light) => Some((217, (250, 180, 180))),
            (Role::Same, _) => None,
            _ => return sixteen(style).to_owned(),
        };
        let behind = behind.map(|(number, (r, g, b))| match is_full {
            true => format!("48;2;{r};{g};{b}"),
            false => format!("48;5;{number}"),
        });
        let strong = (style.token == Token::Heading).then(|| "1".to_owned());
        [behind, letters, strong].into_iter().flatten().collect::<Vec<_>>().join(";")
    }
}

/// What the terminal itself says of its background. It is asked once, before anybody is asked anything.
fn asked() -> Option<Background> {
    static SAID: OnceLock<Option<Background>> = OnceLock::new();
    *SAID.get_or_init(|| {
        if !io::stdin().is_terminal() {
            return None;
        }
        let mut options = QueryOptions::default();
        options.timeout = PATIENCE;
        match theme_mode(options) {
            Ok(ThemeMode::Dark) => Some(Background::Dark),
            Ok(ThemeMode::Light) => Some(Background::Light),
            Err(_) => None,
        }
    })
}

fn sixteen(style: Style) -> &'static str {
    match (style.role, style.token) {
        (Role::Title, _) => "1",
        (Role::Hunk, _) => "36",
        (Role::Frame | Role::Note, _) => "2",
        (Role::Mark, _) => "30;43",
        (Role::Added | Role::More, _) => "32",
        (Role::AddedWord, _) => "30;42",
        (Role::Removed | Role::Less, _) => "31",
        (Role::RemovedWord, _) => "30;41",
        (Role::Same, Token::Keyword) => "35",
        (Role::Same, Token::String | Token::Constant) => "36",
        (Role::Same, Token::Comment) => "2",
        (Role::Same, Token::Heading) => "1",
        (Role::Same, _) => "",
    }
}

fn many(token: Token, ground: Background) -> Option<u8> {
    let (dark, light) = match token {
        Token::Text | Token::Heading => return None,
        Token::Keyword => (111, 25),
        Token::Name => (222, 94),
        Token::Type => (80, 23),
        Token::String => (180, 130),
        Token::Constant => (183, 91),
        Token::Comment => (248, 241),
    };
    Some(if ground == Background::Dark { dark } else { light })
}

fn full(token: Token, ground: Background) -> Option<(u8, u8, u8)> {
    let (dark, light) = match token {
        Token::Text | Token::Heading => return None,
        Token::Keyword => ((127, 179, 255), (11, 79, 179)),
        Token::Name => ((240, 213, 138), (110, 74, 0)),
        Token::Type => ((111, 217, 200), (0, 98, 86)),
        Token::String => ((232, 185, 138), (146, 56, 0)),
        Token::Constant => ((205, 172, 255), (106, 43, 176)),
        Token::Comment => ((158, 168, 180), (88, 96, 105)),
    };
    Some(if ground == Background::Dark { dark } else { light })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(parts: &[(&str, Role)]) -> Line {
        let mut line = Line::default();
        parts.iter().for_each(|(text, role)| line.add(*text, *role));
        line
    }

    #[test]
    fn the_environment_chooses_the_colours() {
        let chosen = |term: &str, colours: &str, ground: &str| {
            Palette::named(term, colours, ground).map_err(|make| make(Background::Dark))
        };
        assert_eq!(chosen("dumb", "truecolor", ""), Ok(Palette::Plain));
        assert_eq!(chosen("xterm", "", "15;0"), Ok(Palette::Sixteen));
        assert_eq!(chosen("xterm-256color", "", "15;0"), Ok(Palette::Many(Background::Dark)));
        assert_eq!(chosen("xterm-256color", "truecolor", "0;15"), Ok(Palette::Full(Background::Light)));
        assert_eq!(chosen("tmux-256color", "", ""), Err(Palette::Many(Background::Dark)), "it has to be asked");
    }

    #[test]
    fn every_palette_keeps_the_text_and_its_signs() {
        let drawn = [
            line(&[("1   ", Role::Frame), ("- ", Role::Removed), ("a", Role::RemovedWord)]),
            line(&[("  1 ", Role::Frame), ("+ ", Role::Added), ("b", Role::AddedWord), (";", Role::Added)]),
        ];
        let grounds = [Background::Dark, Background::Light];
        let palettes = grounds.iter().flat_map(|ground| [Palette::Many(*ground), Palette::Full(*ground)]);
        for palette in palettes.chain([Palette::Plain, Palette::Sixteen]) {
            let text = palette.paint(&drawn);
            let bare: Vec<&str> =
                text.split('\u{1b}').map(|part| part.split_once(['m', 'K']).map_or(part, |two| two.1)).collect();
            let bare = if palette == Palette::Plain { text.clone() } else { bare.concat() };
            assert_eq!(bare, "1   - a\n  1 + b;\n", "{palette:?} {text:?}");
            assert!(text.lines().all(|line| palette == Palette::Plain || line.ends_with(PLAIN)), "{text:?}");
        }
    }
}
