//! What a server writes to its standard error: the last lines are kept, for people who look for a mistake.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::plain;

const MOST_LINES: usize = 20;
const LONGEST_LINE: usize = 500;
/// Bytes that are read at once.
const PIECE: usize = 8 * 1024;

/// The last lines of a text that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    pub(super) fn get(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn push(&self, line: &[u8]) {
        let line = plain(String::from_utf8_lossy(line).trim_end(), LONGEST_LINE);
        if line.is_empty() {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Reads to the end. A flood costs no more memory than a line.
    pub(super) async fn read(self, mut from: impl AsyncRead + Unpin) {
        let mut line = Vec::new();
        let mut piece = vec![0; PIECE];
        while let Ok(count @ 1..) = from.read(&mut piece).await {
            for byte in &piece[..count] {
                match byte {
                    b'\n' => {
                        self.push(&line);
                        line.clear();
                    }
                    byte if line.len() < 4 * LONGEST_LINE => line.push(*byte),
                    _ => {}
                }
            }
        }
        self.push(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_leaves_its_last_lines() {
        let mut text: String = (0..1_000).map(|number| format!("line {number}\n")).collect();
        text.push_str(&"x".repeat(1 << 20));
        let lines = LastLines::default();
        lines.clone().read(text.as_bytes()).await;
        let lines = lines.get();
        assert_eq!((lines.len(), lines[0].as_str()), (MOST_LINES, "line 981"));
        assert!(lines.last().is_some_and(|last| last.starts_with("xxx") && last.len() <= LONGEST_LINE + 3));
    }
}
