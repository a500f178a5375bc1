//! The colours that a terminal has, as it says itself.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::Duration;

use terminal_colorsaurus::{QueryOptions, ThemeMode, theme_mode};

use crate::diff::SyntaxToken;
use crate::output::StdStream;

/// How long a terminal may take to say what its background is. One that never does is found out at once.
const PATIENCE: Duration = Duration::from_millis(300);

/// The colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// None.
    Plain,
    /// The sixteen that every terminal has, whatever they look like there. Also where the background is
    /// unknown: these are readable on any.
    Sixteen,
    /// A table of 256.
    Many(Background),
    Full(Background),
}

/// What a terminal writes upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Something dark.
    Dark,
    /// Something light.
    Light,
}

impl Palette {
    /// Of the terminal that this stream is, if it is one.
    pub fn for_stream(stream: StdStream) -> Self {
        if !stream.is_terminal() || no_colour() {
            return Self::Plain;
        }
        let name = |key: &str| std::env::var(key).unwrap_or_default();
        let chosen = Self::named(&name("TERM"), &name("COLORTERM"), &name("COLORFGBG"));
        chosen.unwrap_or_else(|make| asked().map_or(Self::Sixteen, make))
    }

    /// Of the terminal that this stream is, for a theme: whoever names a background knows the terminal better than it does.
    pub fn for_theme(stream: StdStream, theme: &str) -> Self {
        let ground = match theme {
            "dark" => Background::Dark,
            "light" => Background::Light,
            _ => return Self::for_stream(stream),
        };
        if !stream.is_terminal() || no_colour() {
            return Self::Plain;
        }
        let name = |key: &str| std::env::var(key).unwrap_or_default();
        Self::on_ground(&name("TERM"), &name("COLORTERM"), ground)
    }

    fn on_ground(term: &str, colours: &str, ground: Background) -> Self {
        Self::named(term, colours, "").unwrap_or_else(|make| make(ground))
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
}

/// Whether colours are unwelcome.
pub(crate) fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
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

/// The colour of a kind of word, of 256.
pub(crate) fn many(token: SyntaxToken, ground: Background) -> Option<u8> {
    let (dark, light) = match token {
        SyntaxToken::Text | SyntaxToken::Heading => return None,
        SyntaxToken::Keyword => (111, 25),
        SyntaxToken::Name => (222, 94),
        SyntaxToken::Type => (80, 23),
        SyntaxToken::String => (180, 130),
        SyntaxToken::Constant => (183, 91),
        SyntaxToken::Comment => (248, 241),
    };
    Some(if ground == Background::Dark { dark } else { light })
}

/// The colour of a kind of word.
pub(crate) fn full(token: SyntaxToken, ground: Background) -> Option<(u8, u8, u8)> {
    let (dark, light) = match token {
        SyntaxToken::Text | SyntaxToken::Heading => return None,
        SyntaxToken::Keyword => ((127, 179, 255), (11, 79, 179)),
        SyntaxToken::Name => ((240, 213, 138), (110, 74, 0)),
        SyntaxToken::Type => ((111, 217, 200), (0, 98, 86)),
        SyntaxToken::String => ((232, 185, 138), (146, 56, 0)),
        SyntaxToken::Constant => ((205, 172, 255), (106, 43, 176)),
        SyntaxToken::Comment => ((158, 168, 180), (88, 96, 105)),
    };
    Some(if ground == Background::Dark { dark } else { light })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_background_needs_no_answer_of_the_terminal() {
        let dark = |term, colours| Palette::on_ground(term, colours, Background::Dark);
        assert_eq!(dark("tmux-256color", "truecolor"), Palette::Full(Background::Dark));
        assert_eq!(dark("tmux-256color", ""), Palette::Many(Background::Dark));
        assert_eq!(dark("vt100", ""), Palette::Sixteen);
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
}
