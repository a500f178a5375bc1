//! Styled lines as a terminal takes them: as many colours as it has, fit for its background.
//!
//! Colour never says anything alone: added and removed lines have their signs in every palette.

use crate::diff::{DiffLine, DiffRole, DiffStyle, SyntaxToken};
use crate::output::Ink;
pub(super) use crate::palette::Palette;
use crate::palette::{Background, full, many};

const PLAIN: &str = "\u{1b}[0m";
/// Fills the rest of the line with the colour in force.
const FILL: &str = "\u{1b}[K";

impl Palette {
    /// The lines as text, each with its end.
    pub(super) fn paint(self, lines: &[DiffLine]) -> Ink {
        let mut text = Ink::default();
        for line in lines {
            let mut last = String::new();
            for span in &line.spans {
                let code = self.code(span.style);
                if code != last {
                    if !last.is_empty() {
                        text.control(PLAIN);
                    }
                    if !code.is_empty() {
                        text.style(&code);
                    }
                    last = code;
                }
                text.add(&span.text);
            }
            let role = line.spans.last().map(|span| span.style.role);
            let is_filled = matches!(self, Self::Many(_) | Self::Full(_))
                && matches!(
                    role,
                    Some(DiffRole::Added | DiffRole::AddedWord | DiffRole::Removed | DiffRole::RemovedWord)
                );
            if is_filled {
                // The line is its own colour to the edge; a word that ends it is not.
                let base = if matches!(role, Some(DiffRole::Added | DiffRole::AddedWord)) {
                    DiffRole::Added
                } else {
                    DiffRole::Removed
                };
                let code = self.code(DiffStyle { role: base, token: SyntaxToken::Text });
                text.control(PLAIN);
                text.style(&code);
                text.control(FILL);
            }
            if !last.is_empty() {
                text.control(PLAIN);
            }
            text.control("\n");
        }
        text
    }

    /// The numbers that switch a style on.
    fn code(self, style: DiffStyle) -> String {
        let (ground, letters) = match self {
            Self::Plain => return String::new(),
            Self::Sixteen => return sixteen(style).to_owned(),
            Self::Many(ground) => (ground, many(style.token, ground).map(|n| format!("38;5;{n}"))),
            Self::Full(ground) => (ground, full(style.token, ground).map(|(r, g, b)| format!("38;2;{r};{g};{b}"))),
        };
        let is_full = matches!(self, Self::Full(_));
        let behind = match (style.role, ground) {
            (DiffRole::Added, Background::Dark) => Some((22, (16, 46, 30))),
            (DiffRole::AddedWord, Background::Dark) => Some((28, (30, 100, 58))),
            (DiffRole::Removed, Background::Dark) => Some((52, (58, 22, 26))),
            (DiffRole::RemovedWord, Background::Dark) => Some((88, (130, 40, 48))),
            (DiffRole::Added, Background::Light) => Some((194, (221, 246, 228))),
            (DiffRole::AddedWord, Background::Light) => Some((157, (155, 228, 175))),
            (DiffRole::Removed, Background::Light) => Some((224, (254, 228, 228))),
            (DiffRole::RemovedWord, Background::Light) => Some((217, (250, 180, 180))),
            (DiffRole::Same, _) => None,
            _ => return sixteen(style).to_owned(),
        };
        let behind = behind.map(|(number, (r, g, b))| match is_full {
            true => format!("48;2;{r};{g};{b}"),
            false => format!("48;5;{number}"),
        });
        let strong = (style.token == SyntaxToken::Heading).then(|| "1".to_owned());
        [behind, letters, strong].into_iter().flatten().collect::<Vec<_>>().join(";")
    }
}

fn sixteen(style: DiffStyle) -> &'static str {
    match (style.role, style.token) {
        (DiffRole::Title, _) => "1",
        (DiffRole::Hunk, _) => "36",
        (DiffRole::Frame | DiffRole::Note, _) => "2",
        (DiffRole::Mark, _) => "30;43",
        (DiffRole::Added | DiffRole::More, _) => "32",
        (DiffRole::AddedWord, _) => "30;42",
        (DiffRole::Removed | DiffRole::Less, _) => "31",
        (DiffRole::RemovedWord, _) => "30;41",
        (DiffRole::Same, SyntaxToken::Keyword) => "35",
        (DiffRole::Same, SyntaxToken::String | SyntaxToken::Constant) => "36",
        (DiffRole::Same, SyntaxToken::Comment) => "2",
        (DiffRole::Same, SyntaxToken::Heading) => "1",
        (DiffRole::Same, _) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(parts: &[(&str, DiffRole)]) -> DiffLine {
        let mut line = DiffLine::default();
        parts.iter().for_each(|(text, role)| line.add(*text, *role));
        line
    }

    #[test]
    fn every_palette_keeps_the_text_and_its_signs() {
        let drawn = [
            line(&[("1   ", DiffRole::Frame), ("- ", DiffRole::Removed), ("a", DiffRole::RemovedWord)]),
            line(&[
                ("  1 ", DiffRole::Frame),
                ("+ ", DiffRole::Added),
                ("b", DiffRole::AddedWord),
                (";", DiffRole::Added),
            ]),
        ];
        let grounds = [Background::Dark, Background::Light];
        let palettes = grounds.iter().flat_map(|ground| [Palette::Many(*ground), Palette::Full(*ground)]);
        for palette in palettes.chain([Palette::Plain, Palette::Sixteen]) {
            let text = palette.paint(&drawn);
            let text = text.as_str();
            let bare: Vec<&str> =
                text.split('\u{1b}').map(|part| part.split_once(['m', 'K']).map_or(part, |two| two.1)).collect();
            let bare = if palette == Palette::Plain { text.to_owned() } else { bare.concat() };
            assert_eq!(bare, "1   - a\n  1 + b;\n", "{palette:?} {text:?}");
            assert!(text.lines().all(|line| palette == Palette::Plain || line.ends_with(PLAIN)), "{text:?}");
        }
    }
}
