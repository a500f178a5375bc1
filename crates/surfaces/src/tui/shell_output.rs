//! The output of the user's own commands. It joins the next message, so that the model sees what the user has seen. A row
//! above the input says so, and a key leaves it out.

use serde::{Deserialize, Serialize};
use trimtab_vocab::format;

use super::composer::{ComposerDraft, DraftKind, DraftPart};

/// Bytes of one output that are kept: its beginning and its end.
const HEAD: usize = 4 * 1024;
const TAIL: usize = 12 * 1024;
/// Outputs that wait for the next message.
const MOST: usize = 5;
/// How a command ends that went well.
pub(super) const WENT_WELL: &str = "exit code 0";

/// The outputs that were sent with a message. They were on the screen already, so the conversation names each in a line.
/// Known only here and while the program runs: in a log, they are words like all others, and are shown as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentOutputs {
    /// The user's own words, which are before the outputs.
    said: String,
    lines: Vec<String>,
}

impl SentOutputs {
    /// A message without the outputs, and a line for each of them. Nothing if it is not the message that was sent.
    pub(super) fn folded<'a>(&'a self, message: &'a str) -> Option<(&'a str, &'a [String])> {
        message.starts_with(&self.said).then_some((self.said.as_str(), self.lines.as_slice()))
    }
}

/// How a command that the user ran ended, and what it wrote.
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
        format!("\n\nI ran this command myself ({end}):\n{fence}\n$ {command}\n{text}\n{fence}")
    }

    /// What it is, with the command cut to so many characters.
    fn line(&self, most: usize) -> String {
        let lines = format::plural(self.text.lines().count(), "line");
        let command = self.command.lines().next().unwrap_or_default();
        let shown: String = command.chars().take(most).collect();
        let more = if command.chars().count() > most { "…" } else { "" };
        let end = if self.end == WENT_WELL { String::new() } else { format!("{}, ", self.end) };
        format!("`{shown}{more}` ({end}{lines})")
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
            1 => "output of".to_owned(),
            all => format!("{all} outputs, last of"),
        };
        let line = |most| format!("with your next message: {what} {} · {key} drops it", last.line(most));
        let most = (width.saturating_sub(line(0).chars().count() + 3)).clamp(8, 60);
        Some(line(most))
    }

    /// A message with the outputs after it, and which these are. A workflow is called with its own words alone.
    pub(super) fn add_to(&mut self, mut draft: ComposerDraft) -> (ComposerDraft, Option<SentOutputs>) {
        if draft.kind != DraftKind::Message || self.0.is_empty() {
            return (draft, None);
        }
        let line = |ShellOutput { command, end, .. }: &ShellOutput| {
            let command = command.lines().next().unwrap_or_default();
            let end = if end == WENT_WELL { String::new() } else { format!(" ({end})") };
            format!("with the output of `{command}`{end} · ctrl-o")
        };
        let sent = SentOutputs { said: draft.text(), lines: self.0.iter().map(line).collect() };
        draft.parts.extend(self.0.drain(..).map(|output| DraftPart::Paste(output.for_model())));
        (draft, Some(sent))
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
        assert_eq!(line, "with your next message: output of `cargo test` (exit code 101, 1 line) · ctrl-x drops it");
        let workflow = ComposerDraft { kind: DraftKind::Slash, ..ComposerDraft::new("/ship") };
        assert_eq!(outputs.add_to(workflow).0.text(), "/ship");
        let (sent, folded) = outputs.add_to(ComposerDraft::new("Fix it"));
        assert_eq!(
            sent.text(),
            "Fix it\n\nI ran this command myself (exit code 101):\n````\n$ cargo test\n``` failed\n````"
        );
        let (folded, shown) = (folded.expect("outputs"), ["with the output of `cargo test` (exit code 101) · ctrl-o"]);
        let (said, lines) = folded.folded(&sent.text()).map(|(said, lines)| (said.to_owned(), lines.to_vec())).unwrap();
        assert_eq!((said.as_str(), lines), ("Fix it", shown.map(str::to_owned).to_vec()));
        assert_eq!(folded.folded("Something else"), None);
        assert_eq!(sent.line(), "Fix it[Pasted 7 lines #1]");
        assert_eq!(outputs.add_to(ComposerDraft::new("Again")), (ComposerDraft::new("Again"), None));
    }
}
