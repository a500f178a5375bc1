//! Styles by what they are for. Panes and widgets name a style; which colours it has is decided here, for the
//! colours that the terminal has and the background it writes upon. Colour never says anything alone.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use trimtab_vocab::{Problem, ProblemKind};

use crate::diff::{self, DiffRole, SyntaxToken};
use crate::palette::{self, Background, Palette};

/// What something on the screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StyleName {
    /// Plain text.
    Text,
    /// Less important than the text around it.
    Dim,
    /// More important.
    Strong,
    /// Stressed.
    Emphasis,
    /// No longer so.
    Struck,
    Heading,
    /// A piece of a program within text, a path, a command.
    Code,
    /// A link, or what can be opened.
    Link,
    /// What somebody else said.
    Quote,
    /// The sign of a list item, a rule, the border of a table or a pane.
    Frame,
    /// The border of the pane that has the keyboard.
    Focus,
    /// The title of a pane.
    Title,
    /// What belongs to the product: the prompt, the mode, a spinner.
    Accent,
    /// What a person said.
    Person,
    /// Something that stands for more: a paste, a picture, a tag.
    Chip,
    /// The chosen line of a list.
    Selected,
    /// The letters that a search found.
    Match,
    /// It went well.
    Good,
    /// It needs a look.
    Warning,
    /// It went wrong.
    Bad,
    /// Key names in hints.
    Key,
}

/// The names of styles in the theme file, in their order.
const NAMES: [(&str, StyleName); 21] = [
    ("text", StyleName::Text),
    ("dim", StyleName::Dim),
    ("strong", StyleName::Strong),
    ("emphasis", StyleName::Emphasis),
    ("struck", StyleName::Struck),
    ("heading", StyleName::Heading),
    ("code", StyleName::Code),
    ("link", StyleName::Link),
    ("quote", StyleName::Quote),
    ("frame", StyleName::Frame),
    ("focus", StyleName::Focus),
    ("title", StyleName::Title),
    ("accent", StyleName::Accent),
    ("person", StyleName::Person),
    ("chip", StyleName::Chip),
    ("selected", StyleName::Selected),
    ("match", StyleName::Match),
    ("good", StyleName::Good),
    ("warning", StyleName::Warning),
    ("bad", StyleName::Bad),
    ("key", StyleName::Key),
];

/// The file beside the settings in which a person chooses colors.
pub const THEME_FILE: &str = "theme.toml";

/// The styles in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    palette: Palette,
    /// What the theme file says, by the order of [`NAMES`].
    own: Option<&'static OwnStyles>,
}

type OwnStyles = [Option<Style>; NAMES.len()];

/// A colour for dark and for light grounds, and of the sixteen.
struct Shade(u32, u32, Color);

const GREY: Shade = Shade(0x9ea8b4, 0x586069, Color::DarkGray);
const BLUE: Shade = Shade(0x7fb3ff, 0x0b4fb3, Color::Blue);
const TEAL: Shade = Shade(0x6fd9c8, 0x006256, Color::Cyan);
const GREEN: Shade = Shade(0x7bd88f, 0x116329, Color::Green);
const YELLOW: Shade = Shade(0xf0d58a, 0x7a5200, Color::Yellow);
const RED: Shade = Shade(0xff8f8f, 0xa40e26, Color::Red);
const VIOLET: Shade = Shade(0xcdacff, 0x6a2bb0, Color::Magenta);
const BAR: Shade = Shade(0x2a3442, 0xdde7f3, Color::Reset);

impl Theme {
    pub fn new(palette: Palette) -> Self {
        Self { palette, own: None }
    }

    /// With the colors of the theme file: `accent = "#7fb3ff bold"`, `selected = "white on blue"`. What is wrong in it is
    /// left out and reported. A terminal without so many colors shows the nearest one.
    pub fn with_file(mut self, file: &BTreeMap<String, String>) -> (Self, Vec<Problem>) {
        let (mut own, mut wrong): (OwnStyles, _) = ([None; NAMES.len()], Vec::new());
        for (name, text) in file {
            let Some(at) = NAMES.iter().position(|(known, _)| known == name) else {
                let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                let problem = Problem::new(ProblemKind::Settings, format!("{THEME_FILE}: unknown style {name}."));
                wrong.push(match trimtab_host::config::nearest_of(name, &names) {
                    Some(meant) => problem.hint(format!("Did you mean {meant}?")),
                    None => problem.hint(format!("The styles are: {}.", names.join(", "))),
                });
                continue;
            };
            match self.read_style(text) {
                Some(style) => own[at] = Some(style),
                None => wrong.push(
                    Problem::new(ProblemKind::Settings, format!("{THEME_FILE}: {name} = \"{text}\" is not a style."))
                        .hint("Write a color, for example \"#7fb3ff\", \"blue\", or \"bold #fff on #004\"."),
                ),
            }
        }
        // A theme is copied with every row that is drawn, so its styles are not a part of it. They stay for the life of
        // the program, because a person chooses them once, or a few times with `/theme`.
        if own.iter().any(Option::is_some) {
            self.own = Some(Box::leak(Box::new(own)));
        }
        (self, wrong)
    }

    /// A style as the theme file writes it.
    fn read_style(&self, text: &str) -> Option<Style> {
        let (mut style, mut is_behind, mut is_said) = (Style::default(), false, false);
        for word in text.split_whitespace() {
            let modifier = match word {
                "bold" => Some(Modifier::BOLD),
                "dim" => Some(Modifier::DIM),
                "italic" => Some(Modifier::ITALIC),
                "underlined" => Some(Modifier::UNDERLINED),
                "reversed" => Some(Modifier::REVERSED),
                _ => None,
            };
            match (word, modifier) {
                ("on", _) => {
                    is_behind = true;
                    continue;
                }
                (_, Some(modifier)) => style = style.add_modifier(modifier),
                (word, None) => {
                    let colour = self.read_colour(word)?;
                    style = match (colour, std::mem::take(&mut is_behind)) {
                        (None, _) => style,
                        (Some(colour), true) => style.bg(colour),
                        (Some(colour), false) => style.fg(colour),
                    };
                }
            }
            is_said = true;
        }
        (is_said && !is_behind).then_some(style)
    }

    /// A color as this terminal can show it; the inner absence: it has none.
    fn read_colour(&self, word: &str) -> Option<Option<Color>> {
        let short = |digits: &str| digits.chars().flat_map(|digit| [digit, digit]).collect::<String>();
        let rgb = match word.strip_prefix('#') {
            Some(digits) if digits.len() == 3 => Some(u32::from_str_radix(&short(digits), 16).ok()?),
            Some(digits) if digits.len() == 6 => Some(u32::from_str_radix(digits, 16).ok()?),
            Some(_) => return None,
            None => None,
        };
        Some(match (rgb, self.palette) {
            (_, Palette::Plain) => {
                if rgb.is_none() {
                    word.parse::<Color>().ok()?;
                }
                None
            }
            (Some(rgb), Palette::Full(_)) => Some(Color::from_u32(rgb)),
            (Some(rgb), Palette::Many(_)) => Some(Color::Indexed(nearest(rgb))),
            // The sixteen colors are the terminal's own, so none of them is the nearest.
            (Some(_), Palette::Sixteen) => None,
            (None, _) => Some(word.parse().ok()?),
        })
    }

    /// As the setting `tui.theme` wants it, on a terminal with these colours: `auto`, `dark`, `light`, `ansi`
    /// (the sixteen colours of the terminal's own theme) or `plain`.
    pub fn named(setting: &str, found: Palette) -> Result<Self, Problem> {
        let on = |ground| match found {
            Palette::Plain => Palette::Plain,
            Palette::Many(_) => Palette::Many(ground),
            // Whoever names a ground knows the terminal better than its variables do.
            Palette::Full(_) => Palette::Full(ground),
            Palette::Sixteen => Palette::Sixteen,
        };
        let palette = match setting {
            "auto" => found,
            "dark" => on(Background::Dark),
            "light" => on(Background::Light),
            "ansi" if found == Palette::Plain => Palette::Plain,
            "ansi" => Palette::Sixteen,
            "plain" => Palette::Plain,
            _ => {
                return Err(Problem::new(ProblemKind::Settings, format!("Unknown theme {setting}."))
                    .hint("Expected auto, dark, light, ansi, or plain."));
            }
        };
        Ok(Self::new(palette))
    }

    /// Whether there are any colours.
    pub fn has_colours(&self) -> bool {
        self.palette != Palette::Plain
    }

    /// The style of something.
    pub fn style(&self, name: StyleName) -> Style {
        if let Some(own) = self.own.and_then(|own| own.get(name as usize).copied().flatten()) {
            return own;
        }
        let plain = Style::default();
        let add = |modifier| plain.add_modifier(modifier);
        match name {
            StyleName::Text => plain,
            StyleName::Dim => self.grey(),
            StyleName::Strong | StyleName::Title => add(Modifier::BOLD),
            StyleName::Emphasis => add(Modifier::ITALIC),
            StyleName::Struck => add(Modifier::CROSSED_OUT),
            StyleName::Heading => self.letters(BLUE).add_modifier(Modifier::BOLD),
            StyleName::Code => self.letters(TEAL),
            StyleName::Link => self.letters(BLUE).add_modifier(Modifier::UNDERLINED),
            StyleName::Quote => self.grey().add_modifier(Modifier::ITALIC),
            StyleName::Frame => self.grey(),
            StyleName::Focus | StyleName::Accent => self.letters(BLUE),
            StyleName::Person => self.letters(GREEN),
            StyleName::Chip => self.letters(VIOLET),
            StyleName::Selected => match self.palette {
                Palette::Plain | Palette::Sixteen => add(Modifier::REVERSED),
                _ => plain.bg(self.colour(BAR)).add_modifier(Modifier::BOLD),
            },
            StyleName::Match => self.letters(YELLOW).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            StyleName::Good => self.letters(GREEN),
            StyleName::Warning => self.letters(YELLOW),
            StyleName::Bad => self.letters(RED),
            StyleName::Key => self.letters(TEAL).add_modifier(Modifier::BOLD),
        }
    }

    /// The style of a kind of word of a programming language.
    pub fn token(&self, token: SyntaxToken) -> Style {
        let strong = if token == SyntaxToken::Heading { Modifier::BOLD } else { Modifier::empty() };
        let letters = match self.palette {
            Palette::Plain => None,
            Palette::Sixteen => match token {
                SyntaxToken::Keyword => Some(Color::Magenta),
                SyntaxToken::String | SyntaxToken::Constant => Some(Color::Cyan),
                SyntaxToken::Comment => Some(Color::DarkGray),
                _ => None,
            },
            Palette::Many(ground) => palette::many(token, ground).map(Color::Indexed),
            Palette::Full(ground) => palette::full(token, ground).map(|(r, g, b)| Color::Rgb(r, g, b)),
        };
        let style = Style::default().add_modifier(strong);
        letters.map_or(style, |colour| style.fg(colour))
    }

    /// The style of a part of a drawn change.
    pub fn diff(&self, style: diff::DiffStyle) -> Style {
        match style.role {
            DiffRole::Same => self.token(style.token),
            DiffRole::Title => self.style(StyleName::Title),
            DiffRole::Hunk => self.style(StyleName::Code),
            DiffRole::Frame | DiffRole::Note => self.style(StyleName::Dim),
            DiffRole::More => self.style(StyleName::Good),
            DiffRole::Less => self.style(StyleName::Bad),
            DiffRole::Mark => self.style(StyleName::Warning).add_modifier(Modifier::REVERSED),
            DiffRole::Added | DiffRole::AddedWord | DiffRole::Removed | DiffRole::RemovedWord => self.changed(style),
        }
    }

    fn changed(&self, style: diff::DiffStyle) -> Style {
        let is_added = matches!(style.role, DiffRole::Added | DiffRole::AddedWord);
        let is_word = matches!(style.role, DiffRole::AddedWord | DiffRole::RemovedWord);
        let behind = match (is_added, is_word) {
            (true, false) => Shade(0x102e1e, 0xddf6e4, Color::Reset),
            (true, true) => Shade(0x1e643a, 0x9be4af, Color::Reset),
            (false, false) => Shade(0x3a161a, 0xfee4e4, Color::Reset),
            (false, true) => Shade(0x822830, 0xfab4b4, Color::Reset),
        };
        match self.palette {
            Palette::Plain if is_word => Style::default().add_modifier(Modifier::UNDERLINED),
            Palette::Plain => Style::default(),
            Palette::Sixteen => {
                let letters = Style::default().fg(if is_added { Color::Green } else { Color::Red });
                if is_word { letters.add_modifier(Modifier::REVERSED) } else { letters }
            }
            Palette::Many(_) | Palette::Full(_) => self.token(style.token).bg(self.colour(behind)),
        }
    }

    fn grey(&self) -> Style {
        match self.palette {
            // Dim letters are readable wherever plain ones are; grey ones are not.
            Palette::Plain | Palette::Sixteen => Style::default().add_modifier(Modifier::DIM),
            _ => self.letters(GREY),
        }
    }

    fn letters(&self, shade: Shade) -> Style {
        match self.palette {
            Palette::Plain => Style::default(),
            _ => Style::default().fg(self.colour(shade)),
        }
    }

    fn colour(&self, Shade(dark, light, ansi): Shade) -> Color {
        let of = |ground| if ground == Background::Dark { dark } else { light };
        match self.palette {
            Palette::Plain => Color::Reset,
            Palette::Sixteen => ansi,
            Palette::Many(ground) => Color::Indexed(nearest(of(ground))),
            Palette::Full(ground) => Color::from_u32(of(ground)),
        }
    }
}

/// The one of 256 colours that is most like this one: from the cube of six steps each, or of the greys.
fn nearest(rgb: u32) -> u8 {
    const STEPS: [i32; 6] = [0, 95, 135, 175, 215, 255];
    let parts = [(rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255].map(|part| part as i32);
    let far = |other: [i32; 3]| parts.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<i32>();
    let cube = parts.map(|part| (0..6_usize).min_by_key(|at| (STEPS[*at] - part).abs()).unwrap_or(0));
    let [r, g, b] = cube;
    let in_cube = (far(cube.map(|at| STEPS[at])), 16 + 36 * r + 6 * g + b);
    let greys = (0..24_usize).map(|at| (far([8 + 10 * at as i32; 3]), 232 + at));
    greys.chain([in_cube]).min().map_or(7, |(_, at)| at as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUNDS: [Background; 2] = [Background::Dark, Background::Light];

    #[test]
    fn without_colours_there_are_none_in_any_style() {
        let theme = Theme::new(Palette::Plain);
        let names = [
            StyleName::Dim,
            StyleName::Heading,
            StyleName::Code,
            StyleName::Link,
            StyleName::Selected,
            StyleName::Match,
            StyleName::Bad,
        ];
        for style in names.map(|name| theme.style(name)) {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_ne!(theme.style(StyleName::Selected), theme.style(StyleName::Text), "what is chosen still stands out");
        let added = diff::DiffStyle { role: DiffRole::Added, token: SyntaxToken::Keyword };
        assert_eq!(theme.diff(added).bg, None);
    }

    #[test]
    fn a_terminal_never_gets_colours_that_it_does_not_have() {
        for ground in GROUNDS {
            let many = Theme::new(Palette::Many(ground));
            let colours = [
                many.style(StyleName::Heading).fg,
                many.style(StyleName::Selected).bg,
                many.token(SyntaxToken::Keyword).fg,
            ];
            assert!(colours.iter().all(|colour| matches!(colour, Some(Color::Indexed(_)))), "{colours:?}");
        }
        let sixteen = Theme::new(Palette::Sixteen);
        assert_eq!(sixteen.style(StyleName::Bad).fg, Some(Color::Red));
        assert_eq!(sixteen.diff(diff::DiffStyle { role: DiffRole::Removed, token: SyntaxToken::Text }).bg, None);
    }

    #[test]
    fn the_setting_chooses_among_what_the_terminal_can() {
        let named = |setting: &str, found| Theme::named(setting, found).map(|theme| theme.palette);
        let dark = Palette::Full(Background::Dark);
        assert_eq!(named("auto", dark), Ok(dark));
        assert_eq!(named("light", dark), Ok(Palette::Full(Background::Light)));
        assert_eq!(named("ansi", dark), Ok(Palette::Sixteen));
        assert_eq!(named("plain", dark), Ok(Palette::Plain));
        assert_eq!(named("dark", Palette::Plain), Ok(Palette::Plain), "NO_COLOR wins");
        assert!(named("neon", dark).is_err());
    }

    #[test]
    fn letters_can_be_read_on_their_ground() {
        let light = |colour: u32| {
            let part = |shift: u32| {
                let c = f64::from((colour >> shift) & 255) / 255.0;
                if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
        };
        let contrast = |a: u32, b: u32| {
            let (a, b) = (light(a), light(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for Shade(dark, bright, _) in [GREY, BLUE, TEAL, GREEN, YELLOW, RED, VIOLET] {
            assert!(contrast(dark, 0x1e1e1e) >= 4.5, "{dark:06x}");
            assert!(contrast(bright, 0xffffff) >= 4.5, "{bright:06x}");
            assert!(contrast(bright, BAR.1) >= 4.5 && contrast(dark, BAR.0) >= 4.5, "{bright:06x}");
        }
    }

    #[test]
    fn a_theme_file_changes_single_styles_and_reports_what_is_wrong() {
        for (at, (_, name)) in NAMES.iter().enumerate() {
            assert_eq!(*name as usize, at, "the names are in the order of the styles");
        }
        let file = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let entries = file(&[
            ("accent", "#102030 bold"),
            ("selected", "white on #fff"),
            ("acent", "red"),
            ("bad", "on"),
            ("good", "grün"),
        ]);
        let (theme, wrong) = Theme::new(Palette::Full(Background::Dark)).with_file(&entries);
        let accent = theme.style(StyleName::Accent);
        assert_eq!((accent.fg, accent.add_modifier), (Some(Color::Rgb(16, 32, 48)), Modifier::BOLD));
        assert_eq!(theme.style(StyleName::Selected).bg, Some(Color::Rgb(255, 255, 255)));
        let messages: Vec<&str> = wrong.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "theme.toml: unknown style acent.",
                "theme.toml: bad = \"on\" is not a style.",
                "theme.toml: good = \"grün\" is not a style.",
            ]
        );
        assert_eq!(wrong[0].hint.as_deref(), Some("Did you mean accent?"));
        let (plain, _) = Theme::new(Palette::Plain).with_file(&entries);
        assert_eq!(plain.style(StyleName::Accent).fg, None, "no color where there is none");
        assert_eq!(theme.style(StyleName::Bad), Theme::new(Palette::Full(Background::Dark)).style(StyleName::Bad));
    }

    #[test]
    fn the_nearest_colour_of_the_table_is_found() {
        assert_eq!([nearest(0x000000), nearest(0xffffff), nearest(0xff0000), nearest(0x808080)], [16, 231, 196, 244]);
    }
}
