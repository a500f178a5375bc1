//! Several commands of one answer. They run one after the other, and the model checks each result.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// Commands that run one at a time. The model checks each result before the next one starts. The log records
/// this, the panel shows it, and the engine decides by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Series {
    /// The current state.
    pub state: SeriesState,
    /// Number of commands, including commands that the model adds.
    pub total: u32,
    /// How many have ended.
    pub done: u32,
    /// How many of them succeeded.
    pub ok: u32,
    /// How many of them failed.
    pub failed: u32,
    /// How many of them did not run: they were refused or skipped.
    #[serde(skip_serializing_if = "is_none_skipped")]
    pub skipped: u32,
    /// The share that has ended, in per cent.
    pub percent: u32,
    /// The results, in order.
    pub results: Vec<SeriesResult>,
    /// The command that is running or waits for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<SeriesCommand>,
    /// The commands that have not run yet, in order.
    pub remaining: Vec<String>,
    /// The user approved the series: commands that are known to be safe run without another prompt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agreed: bool,
    /// The user wants a prompt for each command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// They come from an answer that had to be repaired, so they run as at the standard level of autonomy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mended: bool,
}

/// The state of a series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeriesState {
    /// It waits for approval.
    #[default]
    Offered,
    /// A command runs, or the next one can start.
    Running,
    /// The model has the last result and decides how to continue.
    Judging,
    /// The model asked to stop, or its decision is not clear.
    Paused,
    /// All commands have ended.
    Done,
    /// The user skipped the rest.
    Left,
    /// A state of a newer version.
    #[serde(other)]
    Unknown,
}

/// A command of a series that has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesCommand {
    pub call: CallId,
    /// The command line.
    pub command: String,
}

/// The result of a command of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SeriesResult {
    /// The command line that ran.
    pub command: String,
    /// It succeeded.
    pub ok: bool,
    /// It did not run, because it was refused or skipped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// The beginning of its output.
    pub preview: String,
}

fn is_none_skipped(skipped: &u32) -> bool {
    *skipped == 0
}

/// Characters of a command in a list of several.
const SHORT: usize = 60;

impl Series {
    /// The commands of an answer, none of which has run.
    pub fn new(commands: Vec<String>) -> Self {
        let total = count(commands.len());
        Self { total, remaining: commands, ..Self::default() }
    }

    /// One more has ended.
    #[must_use]
    pub fn with(mut self, result: SeriesResult) -> Self {
        self.current = None;
        self.results.push(result);
        self.counted()
    }

    /// These run next, before what remains.
    #[must_use]
    pub fn first(mut self, commands: Vec<String>) -> Self {
        self.remaining.splice(0..0, commands);
        self.counted()
    }

    /// The next one is begun under this name.
    #[must_use]
    pub fn begun(mut self, call: CallId) -> Self {
        if !self.remaining.is_empty() {
            self.current = Some(SeriesCommand { call, command: self.remaining.remove(0) });
        }
        self.counted()
    }

    /// Only these are still to run, by their numbers from 1 among those that remain; the others come back.
    #[must_use]
    pub fn only(mut self, numbers: &[usize]) -> (Self, Vec<String>) {
        let all = std::mem::take(&mut self.remaining).into_iter().enumerate();
        let (kept, left): (Vec<_>, Vec<_>) = all.partition(|(at, _)| numbers.contains(&(at + 1)));
        let commands = |part: Vec<(usize, String)>| part.into_iter().map(|(_, command)| command).collect();
        self.remaining = commands(kept);
        (self.counted(), commands(left))
    }

    fn counted(mut self) -> Self {
        self.done = count(self.results.len());
        self.ok = count(self.results.iter().filter(|result| result.ok).count());
        self.skipped = count(self.results.iter().filter(|result| result.skipped).count());
        self.failed = self.done - self.ok - self.skipped;
        self.total = self.done + count(self.remaining.len()) + u32::from(self.current.is_some());
        self.percent = (self.done * 100).checked_div(self.total).unwrap_or(100);
        self
    }

    /// The documented block of lines about the last command that ended; `output` stands for what it wrote.
    pub fn progress(&self, output: &str) -> String {
        let Some(last) = self.results.last() else { return String::new() };
        let mark = match last {
            SeriesResult { ok: true, .. } => "✓",
            SeriesResult { skipped: true, .. } => "–",
            _ => "✗",
        };
        let output = Some(output.trim_end()).filter(|output| !output.is_empty()).unwrap_or("(no output)");
        let Self { done, total, ok, failed, .. } = self;
        let skipped = if self.skipped > 0 { format!(", – {} skipped", self.skipped) } else { String::new() };
        let remaining = match self.remaining.is_empty() {
            true => "(none)".to_owned(),
            false => self.remaining.iter().map(|command| short(command)).collect::<Vec<_>>().join(", "),
        };
        format!(
            "Command {done}/{total} {mark}\n`{}`\nOutput: {output}\nProgress: ✓ {ok} succeeded, ✗ {failed} failed{skipped}\nRemaining: {remaining}",
            last.command
        )
    }

    /// The remaining commands in one line; empty if there are none.
    pub fn next_line(&self) -> String {
        let quoted: Vec<String> = self.remaining.iter().map(|command| format!("`{command}`")).collect();
        if quoted.is_empty() { String::new() } else { format!("Next: {}", quoted.join(", ")) }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A command in a list of several.
fn short(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    if line.chars().count() <= SHORT && line.len() == command.len() {
        return line.to_owned();
    }
    line.chars().take(SHORT - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(command: &str, ok: bool) -> SeriesResult {
        SeriesResult { command: command.into(), ok, ..SeriesResult::default() }
    }

    fn call() -> CallId {
        CallId::nth(1)
    }

    #[test]
    fn the_progress_block_is_the_documented_one() {
        let series = Series::new(["mkdir -p app/assets", "curl a", "curl b"].map(String::from).to_vec());
        let first = series.begun(call()).with(result("mkdir -p app/assets", true));
        assert_eq!(
            first.progress(""),
            "Command 1/3 ✓\n`mkdir -p app/assets`\nOutput: (no output)\nProgress: ✓ 1 succeeded, ✗ 0 failed\nRemaining: curl a, curl b"
        );
        let second = first.begun(call()).with(result("curl a", false));
        assert_eq!(
            second.progress("curl: (6) Could not resolve host\n"),
            "Command 2/3 ✗\n`curl a`\nOutput: curl: (6) Could not resolve host\nProgress: ✓ 1 succeeded, ✗ 1 failed\nRemaining: curl b"
        );
        let last = second.begun(call()).with(result("curl b", true));
        assert!(last.progress("HTTP 200 OK").ends_with("Progress: ✓ 2 succeeded, ✗ 1 failed\nRemaining: (none)"));
        assert_eq!((last.done, last.ok, last.failed, last.percent), (3, 2, 1, 100));
    }

    #[test]
    fn the_panel_counts_what_has_ended_and_what_is_put_in_between() {
        let commands: Vec<String> = (1..=8).map(|n| format!("echo {n}")).collect();
        let mut series = Series::new(commands);
        for n in 1..=4 {
            series = series.begun(call()).with(result(&format!("echo {n}"), n != 4));
        }
        assert_eq!((series.ok, series.failed, series.done, series.total, series.percent), (3, 1, 4, 8, 50));
        assert_eq!(series.next_line(), "Next: `echo 5`, `echo 6`, `echo 7`, `echo 8`");
        let fixed = series.first(vec!["echo four".into()]);
        assert_eq!((fixed.done, fixed.total, fixed.percent), (4, 9, 44));
        let running = fixed.begun(call());
        assert_eq!((running.done, running.total), (4, 9), "what runs has not ended");
    }

    #[test]
    fn a_part_of_the_commands_can_be_all_that_runs() {
        let series = Series::new(["a", "b", "c"].map(String::from).to_vec());
        let (kept, left) = series.only(&[3, 1, 7]);
        assert_eq!((kept.remaining, kept.total), (vec!["a".to_owned(), "c".into()], 2));
        assert_eq!(left, ["b"]);
    }

    #[test]
    fn long_and_many_lined_commands_are_short_in_the_list() {
        let series = Series::new(vec!["a".into(), "x".repeat(500), "one\ntwo".into()]);
        let block = series.begun(call()).with(result("a", true)).progress("");
        let rest = block.lines().last().expect("a line");
        assert!(rest.starts_with("Remaining: xxx") && rest.ends_with("…, one…"), "{rest}");
        assert!(rest.chars().count() < 100);
    }
}
