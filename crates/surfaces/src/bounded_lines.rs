//! Lines of an input that nobody trusts: none is kept that is longer than a limit.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A buffer that a large message has grown is given back.
const KEPT_CAPACITY: usize = 1024 * 1024;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine<'a> {
    Text(&'a [u8]),
    /// It was longer than the limit and was not kept.
    TooLong,
}

/// Reads lines, none of them longer than a limit.
pub(crate) struct LineReader<R> {
    input: R,
    line: Vec<u8>,
    limit: usize,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self { input, line: Vec::new(), limit }
    }

    /// The next line that is not blank; none at the end of the input.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<InputLine<'_>>> {
        loop {
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
            let (mut is_whole, mut is_too_long) = (false, false);
            while !is_whole {
                let chunk = self.input.fill_buf().await?;
                if chunk.is_empty() {
                    if self.line.is_empty() && !is_too_long {
                        return Ok(None);
                    }
                    break;
                }
                let end = chunk.iter().position(|byte| *byte == b'\n');
                is_whole = end.is_some();
                let taken = end.unwrap_or(chunk.len());
                is_too_long |= self.line.len() + taken > self.limit;
                if is_too_long {
                    self.line.clear();
                } else {
                    self.line.extend_from_slice(&chunk[..taken]);
                }
                self.input.consume(taken + usize::from(is_whole));
            }
            if is_too_long {
                return Ok(Some(InputLine::TooLong));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some(InputLine::Text(self.line.trim_ascii())))
    }
}
