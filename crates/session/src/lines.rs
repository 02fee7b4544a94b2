//! Reads a trace line by line in bounded memory.

use std::io::{self, BufRead};

/// Longest line, in bytes.
const LONGEST: usize = 16 << 20;

/// One line of the trace.
pub enum Line {
    /// A whole line is in the buffer; its newline was there.
    Whole,
    /// The last line, without a newline.
    Last,
    TooLong,
    End,
}

/// The first whole line of what a reader has at hand, without its newline.
pub fn at_hand(available: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b'\n', available)?;
    (end <= LONGEST).then(|| &available[..end])
}

/// Reads the next line into `buffer`, without its newline.
pub fn next_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Line> {
    buffer.clear();
    loop {
        let available = match reader.fill_buf() {
            Ok(a) => a,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if available.is_empty() {
            return Ok(if buffer.is_empty() {
                Line::End
            } else {
                Line::Last
            });
        }
        let newline = memchr::memchr(b'\n', available);
        let n = newline.unwrap_or(available.len());
        if buffer.len() + n > LONGEST {
            return Ok(Line::TooLong);
        }
        buffer.extend_from_slice(&available[..n]);
        reader.consume(n + usize::from(newline.is_some()));
        if newline.is_some() {
            return Ok(Line::Whole);
        }
    }
}
