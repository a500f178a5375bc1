//! The output of a command, kept within bounds.

use std::collections::VecDeque;

/// The beginning and the end of an output; what lies between is only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    keep: usize,
    total: u64,
}

/// Bytes that are kept of the beginning, and as many of the end.
const KEEP: usize = 1024 * 1024;

impl Default for Collected {
    fn default() -> Self {
        Self::keeping(KEEP)
    }
}

impl Collected {
    /// Keeps `keep` bytes of the beginning, and as many of the end.
    pub fn keeping(keep: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), keep, total: 0 }
    }

    /// Takes in the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.keep - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.keep)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.keep);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Bytes that came, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes between the beginning and the end that are not kept.
    pub fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The kept output. If anything was dropped, a line in its place says how much.
    pub fn bytes(&self) -> Vec<u8> {
        let mut all = self.head.clone();
        if self.dropped() > 0 {
            all.extend_from_slice(format!("\n[… {} bytes left out …]\n", self.dropped()).as_bytes());
        }
        all.extend(&self.tail);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_however_the_bytes_arrive() {
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for chunk in [1, 7, 10, 11, 33, 1000] {
            let mut collected = Collected::keeping(10);
            all.chunks(chunk).for_each(|bytes| collected.push(bytes));
            assert_eq!((collected.total(), collected.dropped()), (1000, 980));
            let kept = collected.bytes();
            assert!(kept.starts_with(&all[..10]) && kept.ends_with(&all[990..]));
        }
    }

    #[test]
    fn nothing_is_left_out_while_there_is_room() {
        let mut collected = Collected::keeping(4);
        collected.push(b"abcdefg");
        collected.push(b"h");
        assert_eq!(collected.bytes(), b"abcdefgh");
    }
}
