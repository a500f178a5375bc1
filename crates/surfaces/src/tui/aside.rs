//! Programs of the person's own that have the terminal for a while: an editor, a command, the shell.

use std::io::{self, Read, Seek, Write};
use std::process::Stdio;

use rustix::process::{Signal, getpid, kill_process};

use super::own_terminal;
use super::shell_output::{ShellOutput, WENT_WELL};
use crate::output::{Ink, StdStream};

/// The largest text that is taken back from an editor.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Lets a person write in their editor; nothing, if it was not left well.
pub(super) async fn edit(text: String) -> Option<String> {
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|set| !set.trim().is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let mut file = tempfile::Builder::new().prefix("trimtab-").suffix(".md").tempfile().ok()?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).ok()?;
    let path = file.path().to_str()?.replace('\'', "'\\''");
    // The editor may be a command with arguments, so a shell reads it.
    run(&format!("{editor} '{path}'")).await.ok().filter(|ended| *ended)?;
    // Editors that replace the file leave the handle with the old one.
    let mut written = match std::fs::File::open(file.path()) {
        Ok(written) => written,
        Err(_) => file.reopen().ok()?,
    };
    written.rewind().ok()?;
    let mut edited = String::new();
    written.take(LARGEST).read_to_string(&mut edited).ok()?;
    Some(edited)
}

/// Runs a command of the person's own. It is theirs as it would be in their shell: nobody judges it. The model sees what
/// it writes with the next message.
pub(super) async fn shell(command: &str) -> ShellOutput {
    tell(&format!("\n$ {command}"));
    let (shell, text) = (user_shell(), command.to_owned());
    let ran = tokio::task::spawn_blocking(move || own_terminal::run(&shell, &text)).await;
    let (end, written) = match ran.map_err(io::Error::other).flatten() {
        Ok(ran) => (format!("exit code {}", ran.code), ran.written),
        Err(error) => (format!("did not start: {error}"), String::new()),
    };
    if end != WENT_WELL {
        // What it wrote may end in the middle of a row.
        let gap = if written.is_empty() || written.ends_with('\n') { "" } else { "\n" };
        tell(&format!("{gap}({end})"));
    }
    ShellOutput::new(command, end, &written)
}

fn user_shell() -> String {
    std::env::var("SHELL").ok().filter(|shell| !shell.is_empty()).unwrap_or_else(|| "sh".to_owned())
}

fn tell(line: &str) {
    let _ = StdStream::Out.write(&Ink::text(&format!("{line}\n")));
}

async fn run(command: &str) -> io::Result<bool> {
    let mut child = tokio::process::Command::new(user_shell())
        .arg("-c")
        .arg(command)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()?;
    Ok(child.wait().await?.success())
}

/// Goes to the background, as the shell's job control does it, until the person comes back.
pub(super) fn suspend() {
    let _ = kill_process(getpid(), Signal::TSTP);
}
