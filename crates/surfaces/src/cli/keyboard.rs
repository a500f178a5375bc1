//! Lines from the terminal. Reading one cannot be given up, so they are read elsewhere, for the whole life of the
//! program: whoever waits gets the next, and Ctrl-C is heard meanwhile.

use std::io;
use std::sync::OnceLock;

use tokio::sync::{Mutex, mpsc};

/// The next line; none at the end of input.
pub(super) async fn line() -> Option<String> {
    static LINES: OnceLock<Mutex<mpsc::Receiver<String>>> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in io::stdin().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Mutex::new(lines)
    });
    lines.lock().await.recv().await
}
