//! A source text and places in it.

use std::sync::Arc;

/// A byte range in a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The empty range at `at`.
    pub fn at(at: usize) -> Self {
        Span { start: at, end: at }
    }

    pub fn to(self, end: Span) -> Self {
        Span {
            start: self.start,
            end: end.end,
        }
    }
}

/// One file's text with its name as the user gave it; knows where its lines begin.
#[derive(Debug)]
pub struct Source {
    pub name: String,
    pub text: String,
    lines: Vec<usize>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        let lines = std::iter::once(0)
            .chain(
                text.bytes()
                    .enumerate()
                    .filter(|(_, b)| *b == b'\n')
                    .map(|(i, _)| i + 1),
            )
            .collect();
        Arc::new(Source {
            name: name.into(),
            text,
            lines,
        })
    }

    /// The property's name: the file's stem.
    pub fn stem(&self) -> String {
        std::path::Path::new(&self.name)
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .filter(|s| !s.is_empty())
            .unwrap_or_else(|| "property".into())
    }

    /// Line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset).max(1)
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let start = self.lines[line - 1];
        let end = offset.min(self.text.len());
        let column = self
            .text
            .get(start..end)
            .map_or(end - start, |s| s.chars().count())
            + 1;
        (line, column)
    }

    /// Offset of the first byte of a line counted from 1.
    pub fn line_start(&self, line: usize) -> usize {
        self.lines
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let s = Source::new("dir/queue.prop", "ab\nçd\n");
        assert_eq!(s.place(0), (1, 1));
        assert_eq!(s.place(2), (1, 3));
        assert_eq!(s.place(3), (2, 1));
        assert_eq!(s.place(5), (2, 2));
        assert_eq!(s.place(7), (3, 1));
        assert_eq!(s.stem(), "queue");
    }
}
