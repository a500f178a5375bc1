//! Tells somebody who looks elsewhere that something waits for them or has ended.

use trimtab_vocab::Visible;

/// How the terminal is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum NotifyBy {
    /// Only with the bell.
    Bell,
    /// With a message of one text, and the bell for terminals that do not know it.
    #[default]
    Osc9,
    /// With a message of a title and a text.
    Osc777,
    Nothing,
}

impl NotifyBy {
    /// What `tui.notify` means in a terminal with these variables.
    pub(super) fn named(name: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        match name {
            "off" => Self::Nothing,
            "bell" => Self::Bell,
            "osc9" => Self::Osc9,
            "osc777" => Self::Osc777,
            // These show the second kind only.
            _ if variable("TERM").is_some_and(|term| term.starts_with("foot") || term.starts_with("rxvt")) => {
                Self::Osc777
            }
            _ if variable("VTE_VERSION").is_some() => Self::Osc777,
            _ => Self::Osc9,
        }
    }

    /// What is written to the terminal.
    pub(super) fn bytes(self, text: &str) -> String {
        // A semicolon would end the text of the second kind.
        let clean = |c: &char| !c.is_control() && *c != ';';
        let text: String = Visible::line(text).as_str().chars().filter(clean).take(120).collect();
        match self {
            Self::Nothing => String::new(),
            Self::Bell => "\u{7}".to_owned(),
            Self::Osc9 => format!("\u{1b}]9;trimtab: {text}\u{7}\u{7}"),
            Self::Osc777 => format!("\u{1b}]777;notify;trimtab;{text}\u{7}\u{7}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_in_the_way_that_it_knows_or_that_was_chosen() {
        let none = |_: &str| None;
        let foot = |name: &str| (name == "TERM").then(|| "foot-extra".to_owned());
        let vte = |name: &str| (name == "VTE_VERSION").then(|| "7600".to_owned());
        assert_eq!(NotifyBy::named("auto", none), NotifyBy::Osc9);
        assert_eq!(NotifyBy::named("auto", foot), NotifyBy::Osc777);
        assert_eq!(NotifyBy::named("auto", vte), NotifyBy::Osc777);
        assert_eq!(NotifyBy::named("bell", vte), NotifyBy::Bell);
        assert_eq!(NotifyBy::named("off", none).bytes("x"), "");
    }

    #[test]
    fn foreign_text_ends_no_sequence() {
        let told = NotifyBy::Osc777.bytes("Run `a; b`?\u{7}\u{1b}]0;x");
        assert_eq!(told.matches('\u{7}').count(), 2, "{told:?}");
        assert_eq!(told.matches('\u{1b}').count(), 1, "{told:?}");
        assert_eq!(told.matches(';').count(), 3, "{told:?}");
    }
}
