//! What the person's own commands wrote. It joins the next message, so that the model sees what the person has seen. A row
//! above the input says so, and a key leaves it out.

use serde::{Deserialize, Serialize};
use trimtab_vocab::format;

use super::composer::{ComposerDraft, DraftKind, DraftPart};

/// Bytes of one output that are kept: its beginning and its end.
const HEAD: usize = 4 * 1024;
const TAIL: usize = 12 * 1024;
/// Outputs that wait for the next message.
const MOST: usize = 5;

/// What stands before an output in a message.
const INTRODUCED: &str = "\n\nI ran this command myself (";

/// A message as the conversation shows it: the outputs in it were on the screen already, and are named in a line each.
pub(super) fn without_outputs(message: &str) -> (&str, Vec<String>) {
    let mut parts = message.split(INTRODUCED);
    let said = parts.next().unwrap_or_default();
    let line = |part: &str| {
        let end = part.split("):").next().unwrap_or_default();
        let command = part.lines().find_map(|line| line.strip_prefix("$ ")).unwrap_or_default();
        format!("with the output of `{command}` ({end}) · ctrl-o")
    };
    (said, parts.map(line).collect())
}

/// How a command of the person's own ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellOutput {
    pub command: String,
    /// `exit code 1`, `signal 2`, or why it did not start.
    pub end: String,
    pub text: String,
}

impl ShellOutput {
    pub(super) fn new(command: &str, end: String, written: &str) -> Self {
        Self { command: command.to_owned(), end, text: plain_text(written) }
    }

    /// As the model reads it.
    fn for_model(&self) -> String {
        let fence = "`".repeat(3.max(longest_fence(&self.text) + 1));
        let text = if self.text.trim().is_empty() { "(no output)" } else { self.text.trim_end() };
        let Self { command, end, .. } = self;
        format!("{INTRODUCED}{end}):\n{fence}\n$ {command}\n{text}\n{fence}")
    }

    /// What it is, with the command cut to so many characters.
    fn line(&self, most: usize) -> String {
        let lines = format::plural(self.text.lines().count(), "line");
        let command = self.command.lines().next().unwrap_or_default();
        let shown: String = command.chars().take(most).collect();
        let more = if command.chars().count() > most { "…" } else { "" };
        format!("`{shown}{more}` ({}, {lines})", self.end)
    }
}

fn longest_fence(text: &str) -> usize {
    text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max().unwrap_or(0)
}

/// Outputs that wait for the next message, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellOutputs(Vec<ShellOutput>);

impl ShellOutputs {
    pub(super) fn push(&mut self, output: ShellOutput) {
        self.0.push(output);
        let surplus = self.0.len().saturating_sub(MOST);
        self.0.drain(..surplus);
    }

    pub(super) fn restore(&mut self, kept: Vec<ShellOutput>) {
        kept.into_iter().for_each(|output| self.push(output));
    }

    pub(super) fn kept(&self) -> Vec<ShellOutput> {
        self.0.clone()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Says what joins the next message, and how it is left out.
    pub(super) fn line(&self, key: &str, width: usize) -> Option<String> {
        let last = self.0.last()?;
        let what = match self.0.len() {
            1 => "the output of".to_owned(),
            all => format!("{all} outputs, the last of"),
        };
        let line = |most| format!("with your next message: {what} {} · {key} drops it", last.line(most));
        let most = (width.saturating_sub(line(0).chars().count() + 3)).clamp(8, 60);
        Some(line(most))
    }

    /// A message with the outputs behind it. A workflow is called with its own words alone.
    pub(super) fn add_to(&mut self, mut draft: ComposerDraft) -> ComposerDraft {
        if draft.kind == DraftKind::Message {
            draft.parts.extend(self.0.drain(..).map(|output| DraftPart::Paste(output.for_model())));
        }
        draft
    }
}

/// What a terminal would have left of these bytes, without colors, bounded.
fn plain_text(written: &str) -> String {
    if written.contains("\u{1b}[?1049h") || written.contains("\u{1b}[?47h") {
        return "(an interactive program)".to_owned();
    }
    let text = trimtab_host::terminal_text(written);
    if text.len() <= HEAD + TAIL {
        return text;
    }
    let head = text.floor_char_boundary(HEAD);
    let tail = text.ceil_char_boundary(text.len() - TAIL);
    let left_out = format::plural(text[head..tail].lines().count(), "line");
    format!("{}\n… {left_out} left out …\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_what_a_terminal_would_show() {
        assert_eq!(plain_text("\u{1b}[31mred\u{1b}[0m\r\nnext\r\n"), "red\nnext\n");
        assert_eq!(plain_text("10%\r50%\r100%\r\ndone"), "100%\ndone");
        assert_eq!(plain_text("ab\u{8}c \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}"), "ac link");
        assert_eq!(plain_text("a\u{1b}[?1049hscreen"), "(an interactive program)");
        assert_eq!(plain_text("\u{1b}"), "");
        assert_eq!(plain_text("of dos\r\r\nnext\r\r\n"), "of dos\nnext\n", "a terminal adds a return of its own");
        assert_eq!(plain_text("50%\r"), "50%");
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end() {
        let long: String = (0..10_000).map(|number| format!("line {number}\r\n")).collect();
        let text = plain_text(&long);
        assert!(text.len() < HEAD + TAIL + 100 && text.starts_with("line 0\n") && text.ends_with("line 9999\n"));
        assert!(text.contains("lines left out"));
    }

    #[test]
    fn outputs_join_the_next_message_once_and_no_workflow() {
        let mut outputs = ShellOutputs::default();
        outputs.push(ShellOutput::new("cargo test", "exit code 101".into(), "``` failed\n"));
        let line = outputs.line("ctrl-x", 100).expect("a line");
        assert_eq!(
            line,
            "with your next message: the output of `cargo test` (exit code 101, 1 line) · ctrl-x drops it"
        );
        let workflow = ComposerDraft { kind: DraftKind::Slash, ..ComposerDraft::new("/ship") };
        assert_eq!(outputs.add_to(workflow).text(), "/ship");
        let sent = outputs.add_to(ComposerDraft::new("Fix it"));
        assert_eq!(
            sent.text(),
            "Fix it\n\nI ran this command myself (exit code 101):\n````\n$ cargo test\n``` failed\n````"
        );
        let shown = vec!["with the output of `cargo test` (exit code 101) · ctrl-o".to_owned()];
        assert_eq!(without_outputs(&sent.text()), ("Fix it", shown));
        assert_eq!(sent.line(), "Fix it[Pasted 7 lines #1]");
        assert_eq!(outputs.add_to(ComposerDraft::new("Again")).text(), "Again");
    }
}
