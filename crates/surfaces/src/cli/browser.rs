//! The user's own browser, where they ask for it.

use super::output::note;

/// Shows an address in the person's browser. That there is none is told, and no failure.
pub(super) fn open(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    #[expect(clippy::disallowed_methods, reason = "the person asked for their own browser, by its own opener")]
    let started = std::process::Command::new(opener)
        .arg(url)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if started.is_err() {
        note(&format!("note: Cannot open a browser ({opener} is missing). Open the link yourself."));
    }
}
