//! Open files that the host inherited from its parent, and that are not meant for a command.
//!
//! Files that this program opens are closed on exec; files that its parent left open are not. Closing a file by its
//! number needs `unsafe`, because the number might be in use. A shell can do it, so a supervisor that finds such
//! files restarts itself through a shell.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;

/// An argument of a supervisor that has been through the shell already.
const CLEAN: &str = "clean";

/// Comes back when there is nothing to close, or no way to.
pub(super) fn close() {
    let own: Vec<OsString> = std::env::args_os().skip(2).collect();
    if is_clean(&own) {
        return;
    }
    let inherited = inherited();
    // Only bash understands numbers of two digits.
    let shells: &[&str] =
        if inherited.iter().all(|number| *number < 10) { &["/bin/sh"] } else { &["/bin/bash", "/usr/bin/bash"] };
    let Some(shell) = shells.iter().find(|shell| std::path::Path::new(shell).exists()) else { return };
    let (false, Ok(program)) = (inherited.is_empty(), std::env::current_exe()) else { return };
    if !program.exists() {
        return;
    }
    let closing: Vec<String> = inherited.iter().map(|number| format!("{number}<&-")).collect();
    let script = format!("exec {}; exec \"$0\" \"$@\"", closing.join(" "));
    #[expect(clippy::disallowed_methods, reason = "it is this program that is started")]
    let mut command = std::process::Command::new(shell);
    // If this fails, the command inherits some extra files, which is no reason not to run it.
    let _ = command.arg("-c").arg(script).arg(program).args([super::SUPERVISE, CLEAN]).args(own).exec();
}

/// Whether a supervisor with these arguments has been through the shell. Only the first one tells: a server's own command
/// line may have the same word in it.
fn is_clean(own: &[OsString]) -> bool {
    own.first().is_some_and(|argument| argument == CLEAN)
}

/// The numbers of open files that a started program would inherit, apart from the three it is to have.
#[cfg(target_os = "linux")]
fn inherited() -> Vec<u32> {
    let mut inherited = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).unwrap_or(0);
        if number > 2 && flags & rustix::fs::OFlags::CLOEXEC.bits() == 0 {
            inherited.push(number);
        }
    }
    inherited
}

#[cfg(not(target_os = "linux"))]
fn inherited() -> Vec<u32> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_servers_command_line_says_nothing_about_open_files() {
        let own = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(is_clean(&own(&["clean", "server", "--", "make"])));
        assert!(!is_clean(&own(&["server", "--", "make", "clean"])) && !is_clean(&[]));
    }
}
