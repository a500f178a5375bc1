//! Programs in fences, line by line.

use ratatui::style::Style;
use ratatui::text::Span;

use super::lay::{self, StyledRun};
use crate::diff::SyntaxToken;
use crate::diff::syntax::HighlightedProgram;
use crate::tui::theme::{StyleName, Theme};

/// A fence that is open.
#[derive(Debug, Clone)]
pub(super) struct CodeFence {
    sign: char,
    count: usize,
    indent: usize,
    is_diff: bool,
    program: Option<HighlightedProgram>,
}

impl CodeFence {
    /// A fence, if a line begins one; its blanks before it are counted.
    pub(super) fn begun(line: &str, indent: usize, theme: &Theme) -> Option<Self> {
        let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let count = line.chars().take_while(|c| *c == sign).count();
        let info = line[count..].trim();
        if count < 3 || (sign == '`' && info.contains('`')) {
            return None;
        }
        let language = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
        let is_diff = matches!(language, "diff" | "patch");
        let program = (theme.has_colours() && !is_diff).then(|| HighlightedProgram::named(language));
        Some(Self { sign, count, indent, is_diff, program })
    }

    /// Whether a line ends it.
    pub(super) fn is_end(&self, line: &str) -> bool {
        let bare = line.trim_start_matches(' ');
        let count = bare.chars().take_while(|c| *c == self.sign).count();
        line.len() - bare.len() < 4 && count >= self.count && bare[count..].trim().is_empty()
    }

    /// Whether a line may still become its end.
    pub(super) fn may_end(&self, line: &str) -> bool {
        let bare = line.trim();
        !bare.is_empty() && bare.chars().all(|c| c == self.sign)
    }

    /// The next line of the program, in so many columns.
    pub(super) fn line(&mut self, line: &str, width: usize, theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let blanks = line.bytes().take_while(|byte| *byte == b' ').count().min(self.indent);
        let line = &line[blanks..];
        let plain = theme.token(SyntaxToken::Text);
        if self.is_diff {
            let style = match line.chars().next() {
                Some('+') => theme.style(StyleName::Good),
                Some('-') => theme.style(StyleName::Bad),
                Some('@') => theme.style(StyleName::Code),
                _ => plain,
            };
            return lay::letters(&[StyledRun::new(line, style)], width);
        }
        let parts = self.program.as_mut().map(|program| program.line(&format!("{line}\n"))).unwrap_or_default();
        let (mut runs, mut at) = (Vec::new(), 0);
        for (part, token) in parts {
            let (start, end) = (part.start.min(line.len()), part.end.min(line.len()));
            add(&mut runs, &line[at..start], plain);
            add(&mut runs, &line[start..end], theme.token(token));
            at = end;
        }
        add(&mut runs, &line[at..], plain);
        lay::letters(&runs, width)
    }
}

fn add(runs: &mut Vec<StyledRun>, text: &str, style: Style) {
    if !text.is_empty() {
        runs.push(StyledRun::new(text, style));
    }
}
