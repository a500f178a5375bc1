//! Standard output and standard error. Nothing else in this crate writes to them; clippy refuses it.
//!
//! Whatever is written is an `Ink`: foreign text that was made visible, and styles of our own around it. So no
//! surface has to remember to clean what a model, a file or a command says.

#![expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]

use std::io::{self, IsTerminal, Write};

use trimtab_vocab::visible::visible;

/// One of the two standard streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl StdStream {
    /// Whether a person reads it directly.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Out => io::stdout().is_terminal(),
            Self::Err => io::stderr().is_terminal(),
        }
    }

    /// How wide the terminal is, if it is one.
    pub(crate) fn columns(self) -> Option<usize> {
        let size = match self {
            Self::Out => terminal_size::terminal_size_of(io::stdout()),
            Self::Err => terminal_size::terminal_size_of(io::stderr()),
        };
        size.map(|(width, _)| usize::from(width.0))
    }

    /// Writes all of it, at once.
    pub(crate) fn write(self, ink: &Ink) -> io::Result<()> {
        self.write_bytes(ink.0.as_bytes())
    }

    /// Writes a text unchanged where no terminal reads it, for programs and files; a terminal shows it visibly.
    pub(crate) fn write_exact(self, text: &str) -> io::Result<()> {
        match self.is_terminal() {
            true => self.write(&Ink::text(text)),
            false => self.write_bytes(text.as_bytes()),
        }
    }

    /// Writes a text unchanged, also to a terminal, because the person asked for exactly that.
    pub(crate) fn write_raw(self, text: &str) -> io::Result<()> {
        self.write_bytes(text.as_bytes())
    }

    fn write_bytes(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Out => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Self::Err => {
                let mut out = io::stderr().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        }
    }
}

/// What may be written to a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ink(String);

impl Ink {
    /// Foreign text, made visible.
    pub(crate) fn text(text: &str) -> Self {
        Self(visible(text).into_owned())
    }

    /// Adds foreign text.
    pub(crate) fn add(&mut self, text: &str) {
        self.0.push_str(&visible(text));
    }

    /// Adds a sequence of our own. It is part of the program, so nothing foreign can be in it.
    pub(crate) fn control(&mut self, sequence: &'static str) {
        self.0.push_str(sequence);
    }

    /// Switches a style on by its numbers.
    pub(crate) fn style(&mut self, numbers: &str) {
        if numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';') {
            self.0.push_str(&format!("\u{1b}[{numbers}m"));
        }
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The terminal itself, for the screen that is drawn.
pub(crate) fn terminal() -> io::Stdout {
    io::stdout()
}

/// Where the program's own log goes: line by line to standard error, made visible.
#[derive(Debug, Default)]
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = StdStream::Err.write(&Ink::text(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
