//! A block's text as Python sees it: without the common indentation, with a
//! map back to the places in its file.

use crate::ast::RawBlock;
use crate::source::{Source, Span};

/// Python text with the place in the file of each of its lines.
#[derive(Clone, Debug, Default)]
pub struct PyText {
    pub text: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    /// Where the line begins in `text`.
    at: usize,
    /// Where its first kept byte is in the file.
    source: usize,
    /// Bytes put in front of it that the file does not have.
    added: usize,
    /// Column (in bytes) of `source` in its line of the file.
    column: usize,
    /// The file's line, from 1.
    number: usize,
}

impl PyText {
    /// Adds a line: `added` bytes of indentation that the file does not have,
    /// then `kept`, which stands at `start` in the file.
    pub fn push_line(&mut self, source: &Source, start: usize, added: usize, kept: &str) {
        let number = source.line(start);
        self.lines.push(Line {
            at: self.text.len(),
            source: start,
            added,
            column: start - source.line_start(number),
            number,
        });
        self.text.extend(std::iter::repeat_n(' ', added));
        self.text.push_str(kept);
        self.text.push('\n');
    }

    /// The file's line of each line, from 1.
    pub fn line_numbers(&self) -> Vec<u32> {
        self.lines.iter().map(|l| l.number as u32).collect()
    }

    /// What must be added to a byte column of each line to get the file's column.
    pub fn column_shifts(&self) -> Vec<i32> {
        self.lines
            .iter()
            .map(|l| l.column as i32 - l.added as i32)
            .collect()
    }

    /// The file's offset of an offset in `text`.
    pub fn to_source(&self, offset: usize) -> usize {
        let i = self
            .lines
            .partition_point(|l| l.at <= offset)
            .saturating_sub(1);
        match self.lines.get(i) {
            Some(l) => l.source + offset.saturating_sub(l.at + l.added),
            None => 0,
        }
    }

    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(
            self.to_source(start),
            self.to_source(end).max(self.to_source(start)),
        )
    }
}

/// The ways to read a block's indentation. The text after `{` has none of its
/// own: the lines below it either go on at its level or, when it ends in a
/// colon, belong to the suite that it opens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    SameLevel,
    Suite,
}

pub fn dedent(source: &Source, raw: &RawBlock, reading: Reading) -> PyText {
    let inner = &source.text[raw.span.start..raw.span.end];
    // (offset in file, line text without its newline, starts a logical line)
    let mut physical = Vec::new();
    let mut at = raw.span.start;
    for piece in inner.split_inclusive('\n') {
        let line = piece.strip_suffix('\n').unwrap_or(piece);
        physical.push((at, line, raw.logical.binary_search(&at).is_ok()));
        at += piece.len();
    }
    let blank = |l: &str| l.trim().is_empty();
    let lead = physical.iter().take_while(|(_, l, _)| blank(l)).count();
    let common = physical
        .iter()
        .skip(lead.max(1))
        .filter(|(_, l, logical)| *logical && !blank(l) && !l.trim_start().starts_with('#'))
        .map(|(_, l, _)| indentation(l))
        .reduce(common_prefix)
        .unwrap_or("");
    let mut out = PyText::default();
    for (i, (at, line, logical)) in physical.iter().enumerate().skip(lead) {
        let (kept, added) = if i == 0 {
            (line.trim_start(), 0)
        } else if !logical {
            (*line, 0)
        } else {
            let kept = line
                .strip_prefix(common)
                .unwrap_or_else(|| line.trim_start());
            (kept, usize::from(lead == 0 && reading == Reading::Suite))
        };
        let cut = line.len() - kept.len();
        out.push_line(source, at + cut, added, kept);
    }
    out.text.truncate(out.text.trim_end().len());
    out
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn common_prefix<'a>(a: &'a str, b: &'a str) -> &'a str {
    let n = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    &a[..n]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan;

    fn read(block: &str, reading: Reading) -> PyText {
        let file = format!("x\n{{{block}}}");
        let source = Source::new("t.prop", file);
        let scanned = scan::block_end(&source.text, 3).unwrap();
        let raw = RawBlock {
            span: Span::new(3, scanned.end),
            logical: scanned.logical,
        };
        let t = dedent(&source, &raw, reading);
        for (i, c) in t
            .text
            .char_indices()
            .filter(|(_, c)| c.is_ascii_alphanumeric())
        {
            assert_eq!(
                source.text.as_bytes()[t.to_source(i)],
                c as u8,
                "{block:?} at {i}"
            );
        }
        t
    }

    #[test]
    fn common_indentation_goes() {
        let t = read(
            "\n\t\tN = 0\n\t\tif N:\n\t\t\tM = 1\n\t",
            Reading::SameLevel,
        );
        assert_eq!(t.text, "N = 0\nif N:\n\tM = 1");
        assert_eq!(t.line_numbers(), [3, 4, 5, 6]);
        assert_eq!(
            read(" N = 0; M = 0 ", Reading::SameLevel).text,
            "N = 0; M = 0"
        );
    }

    #[test]
    fn code_after_the_brace_is_at_the_level_of_the_rest() {
        let t = read(
            " if x == 0: return None\n      return x > 5 ",
            Reading::SameLevel,
        );
        assert_eq!(t.text, "if x == 0: return None\nreturn x > 5");
        let t = read(" if x:\n      a = 1\n      b = 2 ", Reading::Suite);
        assert_eq!(t.text, "if x:\n a = 1\n b = 2");
    }

    #[test]
    fn strings_and_comments_do_not_count() {
        let t = read(
            "\n    a = '''x\n y'''\n# low\n    b = 1\n",
            Reading::SameLevel,
        );
        assert_eq!(t.text, "a = '''x\n y'''\n# low\nb = 1");
    }
}
