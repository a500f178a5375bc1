//! Commands inside words: substitutions and arithmetic. Their parts join the parts of the line.

use trimtab_vocab::wording::CommandReason;

use super::super::word::UNKNOWN;
use super::{DEEPEST, ShellReader, read_with};

impl ShellReader {
    /// `$((…))` and `((…))`, up to where their brackets close.
    pub(super) fn arithmetic(&mut self) {
        let from = self.at;
        let mut open = 2;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
        if open > 0 {
            self.trouble(CommandReason::UnclosedBracket);
        }
        // It may contain substitutions, and `$((ls) )` is not arithmetic: so it is read as commands, too.
        let inside: String = self.chars[from..self.at].iter().collect();
        self.aside(&inside);
    }

    /// Reads a text for its parts alone.
    fn aside(&mut self, text: &str) {
        if self.nesting < DEEPEST {
            let mut inner = read_with(text, self.vars.clone(), self.nesting + 1);
            self.parts.append(&mut inner.parts);
        } else {
            self.trouble = Some(CommandReason::NestedTooDeeply);
        }
    }

    /// The inside of `$(…)`, `<(…)` or `>(…)`, after its opening. Returns the text if it is a plain `pwd`.
    pub(super) fn substitution(&mut self) -> String {
        self.open(CommandReason::Substitution);
        self.in_shell = true;
        let from = self.at;
        if self.nesting >= DEEPEST {
            self.trouble = Some(CommandReason::NestedTooDeeply);
            self.at = self.chars.len();
            return UNKNOWN.to_string();
        }
        self.depth = self.depth.saturating_add(1);
        self.list(true);
        self.depth = self.depth.saturating_sub(1);
        let inside: String = self.chars[from..self.at].iter().collect();
        self.value_of(inside.trim_end_matches(')'))
    }

    pub(super) fn backticks(&mut self) -> String {
        self.trouble(CommandReason::Substitution);
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.peek(0) {
                None => {
                    self.trouble(CommandReason::UnclosedQuote);
                    break;
                }
                Some('`') => {
                    self.at += 1;
                    break;
                }
                Some('\\') if matches!(self.peek(1), Some('`' | '\\' | '$')) => {
                    inside.extend(self.peek(1));
                    self.at += 2;
                }
                Some(c) => {
                    inside.push(c);
                    self.at += 1;
                }
            }
        }
        self.aside(&inside);
        self.value_of(&inside)
    }

    /// What a substitution will give, where that is plain enough to see through a disguise.
    fn value_of(&self, inside: &str) -> String {
        match inside.trim() {
            "pwd" => self.vars.get("PWD").cloned().unwrap_or_default(),
            inside => match inside.strip_prefix("echo ").or_else(|| inside.strip_prefix("printf ")) {
                Some(text) if text.len() < 200 && !text.contains(['$', '`']) => text.replace(['\'', '"'], ""),
                _ => UNKNOWN.to_string(),
            },
        }
    }
}
