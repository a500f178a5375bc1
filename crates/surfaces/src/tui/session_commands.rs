//! Commands that were typed after a slash and that do more than a key does.

use trimtab_vocab::{Control, Mode, WhileRunning};

use super::app::App;
use super::composer::{ComposerDraft, DraftKind};
use super::message::Cmd;
use super::theme::Theme;
use super::transcript::{LineMark, TranscriptEntry};
use super::view::Overlay;
use crate::output::StdStream;
use crate::palette::Palette;
use crate::slash;
use crate::words;

/// The largest text that is put into a clipboard; terminals ignore longer ones.
const MOST_COPIED: usize = 75_000;

impl App {
    /// Sends a request with a fixed text, after the running one if there is one.
    pub(super) fn request_text(&mut self, text: String) {
        let after = self.activity.is_open().then_some(WhileRunning::Queue);
        self.send_message(ComposerDraft::new(text), self.status.mode, after);
    }

    /// Sends a review. The host knows what it is, as it knows pills.
    pub(super) fn request_review(&mut self, what: &str) {
        let after = self.activity.is_open().then_some(WhileRunning::Queue);
        let draft = ComposerDraft { kind: DraftKind::Slash, ..ComposerDraft::new(slash::review(what)) };
        self.send_message(draft, self.status.mode, after);
    }

    /// Sets the mode, or sends one request in it.
    pub(super) fn change_mode(&mut self, mode: Mode, words: String) {
        if words.is_empty() {
            self.status.mode = mode;
            return self.show_hint("The mode applies to the next request.");
        }
        let after = self.activity.is_open().then_some(WhileRunning::Queue);
        self.send_message(ComposerDraft::new(words), mode, after);
    }

    /// Controls the running request, or says that there is none.
    pub(super) fn control(&mut self, control: Control) {
        let needs_request = matches!(control, Control::Pause | Control::Resume | Control::Skip);
        match (&self.session, needs_request && !self.activity.is_open()) {
            (None, _) => self.show_hint(words::NO_SESSION_YET),
            (Some(_), true) => self.show_hint("No request is running."),
            (Some(_), false) => self.emit(Cmd::Control(control)),
        }
    }

    /// Shows what is in force, and what the session has used.
    pub(super) fn show_status(&mut self) {
        let session = self.session.as_ref().map(ToString::to_string);
        let lines = self.status.report(session.as_deref());
        self.transcript.block(lines);
    }

    pub(super) fn take_next_step(&mut self, number: &str) {
        let number = if number.is_empty() { Ok(1) } else { number.parse::<usize>() };
        match number.ok().and_then(|number| number.checked_sub(1)).and_then(|at| self.sticky.take(at)) {
            Some(text) => self.write(&ComposerDraft::new(text)),
            None => self.show_hint("The last answer suggests no such next step."),
        }
    }

    pub(super) fn change_theme(&mut self, name: &str) {
        let name = if name.is_empty() { "auto" } else { name };
        let palette = match name {
            "dark" | "light" => Palette::for_theme(StdStream::Out, name),
            _ => self.launch.palette.unwrap_or(Palette::Sixteen),
        };
        match Theme::named(name, palette) {
            Ok(theme) => {
                self.theme = theme.with_file(&self.launch.theme_file).0;
                self.show_hint(format!("Theme {name}, until you quit. `tui.theme` keeps it."));
            }
            Err(problem) => self.show_hint(format!("{} Expected auto, dark, light, ansi, or plain.", problem.message)),
        }
    }

    /// Copies the last answer, or one of its code blocks by its number.
    pub(super) fn copy(&mut self, which: &str) {
        let Some(answer) = self.transcript.last_answer() else {
            return self.show_hint("There is no answer to copy yet.");
        };
        let block = if which.is_empty() { Ok(None) } else { which.parse().map(Some) };
        // Only numbers select a code block.
        let told = self.copy_part(answer, block.unwrap_or(Some(0)));
        self.show_hint(told);
    }

    /// Copies an answer that the transcript shows, or one of its code blocks.
    pub(super) fn copy_shown(&mut self, entry: usize, block: Option<usize>) {
        let Some(answer) = self.transcript.answer_at(entry) else { return };
        let told = self.copy_part(answer.to_owned(), block);
        if let Some(Overlay::Transcript(view)) = &mut self.view {
            view.tell(told);
        }
    }

    /// Copies a text or one of its code blocks, and says what came of it.
    fn copy_part(&mut self, answer: String, block: Option<usize>) -> String {
        let blocks = code_blocks(&answer);
        let (text, what) = match block {
            None => (answer, "the answer".to_owned()),
            Some(number) if number > 0 && number <= blocks.len() => {
                (blocks[number - 1].clone(), format!("code block {number}"))
            }
            Some(_) => {
                return format!("The answer has {}.", trimtab_vocab::format::plural(blocks.len(), "code block"));
            }
        };
        if text.len() > MOST_COPIED {
            return "The text is too long for the clipboard of a terminal. /export writes it to a file.".to_owned();
        }
        self.emit(Cmd::Copy(text));
        format!("Copied {what}.")
    }

    /// Exports the session.
    pub(super) fn export(&mut self, form: &str) {
        let Some(session) = self.session.clone() else { return self.show_hint(words::NO_SESSION_YET) };
        match form {
            "json" => self.emit(Cmd::Export(session)),
            "" | "md" | "markdown" => {
                let text = self.transcript.markdown();
                self.emit(Cmd::ExportText { session, text });
            }
            _ => self.show_hint("/export writes Markdown, and /export json writes JSON."),
        }
    }

    /// What the window is called: what it works on, and whether it waits for the person.
    pub(super) fn window_title(&self) -> String {
        let sign = match (self.dialogs.len() > 0, self.activity.is_running()) {
            (true, _) => "? ",
            (false, true) => "● ",
            (false, false) => "",
        };
        let folder = self.status.folder.rsplit('/').next().unwrap_or_default();
        let title = match self.status.title() {
            "" => folder,
            title => title,
        };
        format!("{sign}{title} · trimtab")
    }
}

/// The code blocks of a Markdown text, without their fences.
pub(super) fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        match &mut open {
            Some((fence, lines)) => {
                if bare.starts_with(fence.as_str()) && bare.trim_end().chars().all(|c| fence.starts_with(c)) {
                    blocks.push(lines.join("\n"));
                    open = None;
                } else {
                    lines.push(line);
                }
            }
            None => {
                let fence: String = bare.chars().take_while(|c| *c == '`').collect();
                let tildes: String = bare.chars().take_while(|c| *c == '~').collect();
                let fence = if fence.is_empty() { tildes } else { fence };
                if fence.len() >= 3 {
                    open = Some((fence, Vec::new()));
                }
            }
        }
    }
    blocks
}

impl super::transcript::Transcript {
    /// The model's last text.
    pub(super) fn last_answer(&self) -> Option<String> {
        (0..self.entries().len()).rev().find_map(|at| self.answer_at(at)).map(str::to_owned)
    }

    /// The model's text, if an entry is one.
    pub(super) fn answer_at(&self, at: usize) -> Option<&str> {
        match self.entries().get(at)? {
            TranscriptEntry::Reply(reply) => Some(reply.text.trim()).filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    /// The conversation as Markdown.
    pub(super) fn markdown(&mut self) -> String {
        let mut text = String::from("# Session\n");
        let theme = Theme::new(Palette::Plain);
        for at in 0..self.entries().len() {
            let part = match &self.entries()[at] {
                TranscriptEntry::Said { text, .. } => {
                    let quoted: Vec<String> = text.trim().lines().map(|line| format!("> {line}")).collect();
                    format!("## Request\n\n{}", quoted.join("\n"))
                }
                TranscriptEntry::Reply(reply) => reply.text.trim().to_owned(),
                TranscriptEntry::Note { mark: LineMark::Quiet, .. } => continue,
                _ => {
                    let rows: Vec<String> = self.whole(at, 120, &theme).iter().map(|row| row.to_string()).collect();
                    let body = rows.join("\n");
                    let ticks = body.lines().map(|line| line.trim().chars().take_while(|c| *c == '`').count()).max();
                    let fence = "`".repeat(ticks.unwrap_or(0).max(2) + 1);
                    format!("{fence}text\n{}\n{fence}", body.trim_matches('\n'))
                }
            };
            if !part.trim().is_empty() {
                text.push_str(&format!("\n{part}\n"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_are_copied_without_fences_and_indentation_of_the_screen() {
        let text =
            "Do this:\n\n```rust\nfn a() {\n    b();\n}\n```\n\nThen:\n~~~~\n```\nx\n```\n~~~~\nand ```not``` this";
        assert_eq!(code_blocks(text), ["fn a() {\n    b();\n}", "```\nx\n```"]);
    }
}
