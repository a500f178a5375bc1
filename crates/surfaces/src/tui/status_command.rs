//! The user's own program for the status line: it reads what is known as JSON and prints the line.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use trimtab_host::terminal_text;

/// How long the program may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest time between two runs: figures change with every reply.
const PAUSE: Duration = Duration::from_millis(300);
/// Bytes of its output that are read.
const LONGEST: u64 = 4096;

/// The program, and what it has printed.
#[derive(Debug, Clone, Default)]
pub(super) struct StatusCommand {
    /// What it was last given.
    given: Option<String>,
    is_running: bool,
    shown: Option<String>,
}

/// How the program is started.
#[derive(Debug, Clone)]
pub(super) struct StatusProgram {
    pub(super) command: String,
    /// Not the folder of the session: what is relative there could be code that nobody trusts.
    pub(super) directory: PathBuf,
}

impl StatusCommand {
    /// What the program is to be given now, if it is not what it was given before.
    pub(super) fn due(&mut self, known: String) -> Option<String> {
        if self.is_running || self.given.as_ref() == Some(&known) {
            return None;
        }
        self.is_running = true;
        self.given = Some(known.clone());
        Some(known)
    }

    /// It has printed this line, or why there is none.
    pub(super) fn ended(&mut self, line: String) {
        self.is_running = false;
        self.shown = Some(line);
    }

    /// The line; none before the program has ended once.
    pub(super) fn line(&self) -> Option<&str> {
        self.shown.as_deref()
    }
}

impl StatusProgram {
    /// Runs it once: the first line that it prints, without colors, or what went wrong.
    pub(super) async fn run(&self, known: &str) -> String {
        let line = match timeout(TIMEOUT, self.output(known)).await {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => format!("tui.status_command failed: {error}"),
            Err(_) => format!("tui.status_command took longer than {} s", TIMEOUT.as_secs()),
        };
        tokio::time::sleep(PAUSE).await;
        line
    }

    async fn output(&self, known: &str) -> Result<String, String> {
        let mut child = tokio::process::Command::new("sh")
            .arg("-c")
            .arg(&self.command)
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let give = async {
            if let Some(mut stdin) = stdin {
                // A program may print without reading.
                let _ = stdin.write_all(known.as_bytes()).await;
            }
        };
        let take = async {
            let mut bytes = Vec::new();
            if let Some(stdout) = stdout {
                stdout.take(LONGEST).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(bytes)
        };
        let ((), bytes) = tokio::join!(give, take);
        let bytes = bytes?;
        let ended = child.wait().await.map_err(|error| error.to_string())?;
        // One that prints more than is read ends because nobody reads on.
        let is_cut = bytes.len() as u64 == LONGEST;
        if !ended.success() && !is_cut {
            return Err(ended.code().map_or_else(|| "it was killed".to_owned(), |code| format!("exit code {code}")));
        }
        let text = terminal_text(&String::from_utf8_lossy(&bytes));
        Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str) -> StatusProgram {
        StatusProgram { command: command.to_owned(), directory: std::env::temp_dir() }
    }

    #[tokio::test]
    async fn the_first_line_is_shown_without_colors() {
        let script = r#"printf '\n\033[1;32mmodel %s\033[0m\nmore\n' "$(cat | tr -dc a-z)""#;
        assert_eq!(program(script).run("{\"model\": 1}").await, "model model");
        assert_eq!(program("echo without reading").run(&"x".repeat(1 << 20)).await, "without reading");
        assert_eq!(program("yes").run("{}").await, "y");
        assert_eq!(program("echo a; exit 3").run("{}").await, "tui.status_command failed: exit code 3");
    }

    #[test]
    fn it_runs_only_for_news_and_once_at_a_time() {
        let mut status = StatusCommand::default();
        assert_eq!(status.due("1".into()).as_deref(), Some("1"));
        assert_eq!(status.due("2".into()), None, "it runs");
        status.ended("one".into());
        assert_eq!(status.line(), Some("one"));
        assert_eq!(status.due("1".into()), None, "nothing is new");
        assert_eq!(status.due("2".into()).as_deref(), Some("2"));
    }
}
