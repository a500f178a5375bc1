//! The clipboard of the person's desktop, read with the program that the desktop has for it. A terminal passes only
//! text on, so a picture has no other way in.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use trimtab_host::LocalFiles;

/// The largest thing that is taken from it.
const LARGEST: u64 = 20 * 1024 * 1024;
/// Programs that take longer wait for something that does not come.
const PATIENCE: Duration = Duration::from_secs(3);
/// How every picture of this kind begins.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Where a desktop is there, the command that gives a picture and the one that gives text.
const DESKTOPS: [(&str, &[&str], &[&str]); 3] = [
    ("WAYLAND_DISPLAY", &["wl-paste", "--type", "image/png"], &["wl-paste", "--no-newline"]),
    (
        "DISPLAY",
        &["xclip", "-selection", "clipboard", "-t", "image/png", "-o"],
        &["xclip", "-selection", "clipboard", "-o"],
    ),
    ("__CFBundleIdentifier", &["pngpaste", "-"], &["pbpaste"]),
];

/// What is in the clipboard, as a terminal would paste it: text, or the path of a file that has the picture.
pub(super) async fn read(local_files: &LocalFiles) -> Option<String> {
    for (desktop, picture, text) in DESKTOPS {
        if std::env::var_os(desktop).is_none_or(|value| value.is_empty()) {
            continue;
        }
        if let Some(bytes) = output(picture).await.filter(|bytes| bytes.starts_with(PNG)) {
            // The same picture has the same name, however often it is put.
            let path = local_files.put(&picture_name(&bytes), &bytes).ok()?;
            return path.to_str().map(str::to_owned);
        }
        if let Some(bytes) = output(text).await {
            return String::from_utf8(bytes).ok();
        }
    }
    None
}

fn picture_name(bytes: &[u8]) -> String {
    let whole: String = bytes.iter().step_by(1 + bytes.len() / 4_096).map(|byte| char::from(*byte)).collect();
    format!("{}.png", LocalFiles::name("picture", &format!("{} {whole}", bytes.len())))
}

async fn output(command: &[&str]) -> Option<Vec<u8>> {
    let (program, arguments) = command.split_first()?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?.take(LARGEST);
    let mut bytes = Vec::new();
    tokio::time::timeout(PATIENCE, stdout.read_to_end(&mut bytes)).await.ok()?.ok()?;
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await.ok()?.ok()?;
    (ended.success() && !bytes.is_empty()).then_some(bytes)
}
