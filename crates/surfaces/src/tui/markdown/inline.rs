//! What stands within a paragraph: emphasis, code, links.
//!
//! The text is given to the parser as a heading of one line, so that nothing in it can begin a block: blocks are
//! found elsewhere, line by line.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};

use super::clean::without_wild;
use super::lay::{BREAK, StyledRun};
use crate::tui::theme::{StyleName, Theme};

/// Keeps the parser from taking signs at the end for those of a heading.
const END: char = '\u{2}';

/// The runs of a text; line ends are blanks already, or [`BREAK`].
pub(super) fn runs(text: &str, theme: &Theme, base: Style) -> Vec<StyledRun> {
    let mut runs = InlineRuns { runs: Vec::new(), theme, styles: vec![base], links: Vec::new() };
    let source = format!("# {}{END}", text.trim());
    for event in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH) {
        runs.take(event);
    }
    runs.runs
}

struct InlineRuns<'t> {
    runs: Vec<StyledRun>,
    theme: &'t Theme,
    styles: Vec<Style>,
    /// Links that are open: their address, and where their text begins.
    links: Vec<(String, usize)>,
}

impl InlineRuns<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Strong) => self.open(StyleName::Strong),
            Event::Start(Tag::Emphasis) => self.open(StyleName::Emphasis),
            Event::Start(Tag::Strikethrough) => self.open(StyleName::Struck),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.open(StyleName::Link);
                self.links.push((dest_url.into_string(), self.runs.len()));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                self.close();
                self.address();
            }
            Event::End(TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough) => self.close(),
            Event::Text(text) => self.add(&text, self.style()),
            Event::Code(text) => {
                let style = self.style().patch(self.theme.style(StyleName::Code));
                self.add(&text.replace(BREAK, " "), style);
            }
            Event::InlineHtml(text) | Event::Html(text) => {
                let style = self.style().patch(self.theme.style(StyleName::Dim));
                self.add(&text, style);
            }
            Event::SoftBreak => self.add(" ", self.style()),
            Event::HardBreak => self.add(BREAK.encode_utf8(&mut [0; 4]), self.style()),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn open(&mut self, name: StyleName) {
        self.styles.push(self.style().patch(self.theme.style(name)));
    }

    fn close(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    /// The address of a link, if its text does not say it.
    fn address(&mut self) {
        let Some((address, from)) = self.links.pop() else { return };
        let address = without_wild(&address).into_owned();
        let text: String = self.runs[from.min(self.runs.len())..].iter().map(|run| run.text.as_str()).collect();
        let bare = |text: &str| {
            let text = text.trim().trim_end_matches('/');
            let ends = ["https://", "http://", "mailto:"];
            ends.iter().find_map(|begin| text.strip_prefix(begin)).unwrap_or(text).to_owned()
        };
        if address.is_empty() || bare(&address) == bare(&text) {
            return;
        }
        let style = self.style().patch(self.theme.style(StyleName::Dim)).remove_modifier(Modifier::UNDERLINED);
        let gap = if text.is_empty() { "" } else { " " };
        self.add(&format!("{gap}({address})"), style);
    }

    fn add(&mut self, text: &str, style: Style) {
        // Control characters that were written as entities are gone; the two of our own mean what they mean.
        let parts: Vec<_> = text.split(BREAK).map(without_wild).collect();
        let text = parts.join(BREAK.encode_utf8(&mut [0; 4]));
        match self.runs.last_mut() {
            Some(last) if last.style == style => last.text += &text,
            _ if text.is_empty() => {}
            _ => self.runs.push(StyledRun::new(text, style)),
        }
    }
}

/// Closes what is open at the end of a text that still grows, so that it looks as it will: emphasis, code and
/// links do not show their signs first.
pub(super) fn closed(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    if text.matches('`').count() % 2 == 1 {
        match text.strip_suffix('`') {
            Some(rest) => text = rest.to_owned(),
            None => text.push('`'),
        }
        return text;
    }
    if let Some(open) = text.rfind("](").filter(|open| !text[*open..].contains(')')) {
        text.truncate(open + 2);
        text.push(')');
    }
    for sign in ["**", "~~"] {
        if text.matches(sign).count() % 2 == 1 {
            match text.strip_suffix(sign) {
                Some(rest) => text = rest.trim_end().to_owned(),
                None => {
                    text.truncate(text.trim_end_matches(['*', '~']).len());
                    text += sign;
                }
            }
        }
    }
    let bare = text.trim_end_matches(['*', '_', '~']);
    if text[bare.len()..].len() == 1 && (bare.is_empty() || bare.ends_with(' ')) {
        text.truncate(bare.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::palette::Palette;

    fn plain(text: &str) -> String {
        runs(text, &Theme::new(Palette::Plain), Style::default()).into_iter().map(|run| run.text).collect()
    }

    fn bold(text: &str) -> String {
        let runs = runs(text, &Theme::new(Palette::Plain), Style::default());
        runs.into_iter().filter(|run| run.style.add_modifier.contains(Modifier::BOLD)).map(|run| run.text).collect()
    }

    #[test]
    fn signs_become_styles() {
        assert_eq!(plain("a **b** _c_ ~~d~~ `e *f*` \\*g\\*"), "a b c d e *f* *g*");
        assert_eq!(bold("a **b _c_** d"), "b c");
        assert_eq!(plain("5 * 3 * 2 snake_case_name ##"), "5 * 3 * 2 snake_case_name ##");
        assert_eq!(
            plain("- no list, # no heading, 1. no number, > no quote"),
            "- no list, # no heading, 1. no number, > no quote"
        );
        assert_eq!(plain("<b>x</b> &amp; &lt;"), "<b>x</b> & <");
    }

    #[test]
    fn links_tell_where_they_lead_unless_they_say_it() {
        assert_eq!(plain("[here](https://evil.example/x)"), "here (https://evil.example/x)");
        assert_eq!(
            plain("[https://bank.example](https://evil.example)"),
            "https://bank.example (https://evil.example)"
        );
        assert_eq!(plain("<https://a.example/>"), "https://a.example/");
        assert_eq!(plain("[a.example](https://a.example/)"), "a.example");
        assert_eq!(plain("![plan](plan.png)"), "plan (plan.png)");
    }

    #[test]
    fn control_characters_written_as_entities_are_gone() {
        assert_eq!(plain("a&#27;[31mb&#x202e;c [x](&#27;y)"), "a[31mbc x (y)");
    }

    #[test]
    fn what_still_grows_looks_as_it_will() {
        for (text, looks) in [
            ("a **bo", "a bo"),
            ("a **", "a"),
            ("a **bo*", "a bo"),
            ("run `ls", "run ls"),
            ("run `", "run"),
            ("see [docs](https://exa", "see docs"),
            ("a *", "a"),
            ("done.", "done."),
        ] {
            assert_eq!(plain(&closed(text)).trim_end(), looks, "{text}");
        }
        assert_eq!(bold(&closed("a **bo")), "bo");
    }

    proptest! {
        #[test]
        fn no_text_steers_or_panics(text in "(.|[*_`\\[\\]()<>&#;~!\\\\]|&#27;|&#1;){0,60}") {
            let shown = plain(&text) + &plain(&closed(&text));
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != BREAK), "{shown:?}");
        }
    }
}
