//! Finds the end of a Python block without parsing Python: brackets, comments,
//! every string form, f-strings nested in f-strings, format specs.

use crate::limits;

/// Why the end of a block was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanError {
    pub at: usize,
    pub message: &'static str,
    pub hint: &'static str,
}

/// What the scanner learned about a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// Offset of the closing `}`.
    pub end: usize,
    /// Offsets of the first byte of each line that starts a logical line: not
    /// inside a string or a bracket and not continued by a backslash. The text
    /// just after `{` counts as the first.
    pub logical: Vec<usize>,
}

/// `start` is just after the opening `{`.
pub fn block_end(text: &str, start: usize) -> Result<Scanned, ScanError> {
    let mut s = Scanner {
        bytes: text.as_bytes(),
        logical: vec![start],
    };
    let end = s.code(start, false, 0)?;
    if end - start > limits::BLOCK {
        return Err(ScanError {
            at: start,
            message: "Python block is too long",
            hint: "a block may have 64 KiB; move helpers into a functions file",
        });
    }
    Ok(Scanned {
        end,
        logical: s.logical,
    })
}

struct Scanner<'a> {
    bytes: &'a [u8],
    logical: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Prefix {
    /// f- or t-string: `{` opens a replacement field.
    fields: bool,
    raw: bool,
}

impl Scanner<'_> {
    /// Scans code up to the `}` that closes it. `field`: inside a replacement
    /// field, where `:` at depth 0 begins a format spec and `!=`/`!r` may stand.
    fn code(&mut self, mut i: usize, field: bool, depth: usize) -> Result<usize, ScanError> {
        if depth > limits::NESTING {
            return Err(too_deep(i));
        }
        let mut open: Vec<(u8, usize)> = Vec::new();
        while let Some(&c) = self.bytes.get(i) {
            match c {
                b'#' => {
                    while self.bytes.get(i).is_some_and(|&c| c != b'\n') {
                        i += 1;
                    }
                }
                b'\'' | b'"' => i = self.string(i, self.prefix(i), depth)?,
                b'\\' if self.bytes.get(i + 1) == Some(&b'\n') => i += 2,
                b'\\'
                    if self.bytes.get(i + 1) == Some(&b'\r')
                        && self.bytes.get(i + 2) == Some(&b'\n') =>
                {
                    i += 3
                }
                b'\n' => {
                    i += 1;
                    if open.is_empty() && !field {
                        self.logical.push(i);
                    }
                }
                b':' if field && open.is_empty() => i = self.format_spec(i + 1, depth)?,
                b'(' | b'[' | b'{' => {
                    if open.len() + depth >= limits::NESTING {
                        return Err(too_deep(i));
                    }
                    open.push((c, i));
                    i += 1;
                }
                b')' | b']' | b'}' => {
                    match open.pop() {
                        None if c == b'}' => return Ok(i),
                        None => {
                            return Err(ScanError {
                                at: i,
                                message: "closing bracket without an opening one",
                                hint: "remove it, or open it inside this block",
                            });
                        }
                        Some((o, at)) if closes(o) != c => {
                            return Err(ScanError {
                                at,
                                message: "bracket is not closed",
                                hint: "close it before the end of the block",
                            });
                        }
                        Some(_) => {}
                    }
                    i += 1;
                }
                _ => i += 1,
            }
        }
        Err(ScanError {
            at: open.last().map_or(i, |(_, at)| *at),
            message: "the file ends inside a Python block",
            hint: "close the block with `}`",
        })
    }

    /// After the `:` of a replacement field; stops at its `}`, which it leaves.
    fn format_spec(&mut self, mut i: usize, depth: usize) -> Result<usize, ScanError> {
        while let Some(&c) = self.bytes.get(i) {
            match c {
                b'}' => return Ok(i),
                b'{' => i = self.code(i + 1, true, depth + 1)? + 1,
                _ => i += 1,
            }
        }
        Ok(i)
    }

    /// Letters right before a quote that make it a string prefix.
    fn prefix(&self, quote: usize) -> Prefix {
        let plain = Prefix {
            fields: false,
            raw: false,
        };
        let mut start = quote;
        while start > 0 && quote - start < 2 && self.bytes[start - 1].is_ascii_alphabetic() {
            start -= 1;
        }
        let before = start.checked_sub(1).map(|k| self.bytes[k]);
        if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80) {
            return plain;
        }
        let p = self.bytes[start..quote].to_ascii_lowercase();
        match &p[..] {
            b"f" | b"t" => Prefix {
                fields: true,
                raw: false,
            },
            b"rf" | b"fr" | b"rt" | b"tr" => Prefix {
                fields: true,
                raw: true,
            },
            b"r" | b"rb" | b"br" => Prefix {
                fields: false,
                raw: true,
            },
            _ => plain,
        }
    }

    /// From the opening quote to just after the closing one.
    fn string(&mut self, quote: usize, prefix: Prefix, depth: usize) -> Result<usize, ScanError> {
        let c = self.bytes[quote];
        let triple = self.bytes[quote..].starts_with(&[c, c, c]);
        let width = if triple { 3 } else { 1 };
        let not_closed = ScanError {
            at: quote,
            message: "string is not closed",
            hint: "end the string before the end of its line, or use triple quotes",
        };
        let mut i = quote + width;
        while let Some(&x) = self.bytes.get(i) {
            match x {
                // In an f-string a backslash does not hide a replacement field.
                b'\\' if prefix.fields && matches!(self.bytes.get(i + 1), Some(b'{' | b'}')) => {
                    i += 1
                }
                b'\\' if prefix.fields && !prefix.raw && self.bytes[i + 1..].starts_with(b"N{") => {
                    while self.bytes.get(i).is_some_and(|&c| c != b'}') {
                        i += 1;
                    }
                    i += 1;
                }
                b'\\' => i += 2,
                b'\n' if !triple => return Err(not_closed),
                _ if x == c && (!triple || self.bytes[i..].starts_with(&[c, c, c])) => {
                    return Ok(i + width);
                }
                b'{' if prefix.fields => {
                    i = if self.bytes.get(i + 1) == Some(&b'{') {
                        i + 2
                    } else {
                        self.code(i + 1, true, depth + 1)? + 1
                    }
                }
                _ => i += 1,
            }
        }
        Err(not_closed)
    }
}

fn closes(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

fn too_deep(at: usize) -> ScanError {
    ScanError {
        at,
        message: "brackets are nested too deeply",
        hint: "a block may nest 200 brackets; move the code into a functions file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Result<usize, &'static str> {
        block_end(text, 0).map(|s| s.end).map_err(|e| e.message)
    }

    #[test]
    fn finds_the_brace_that_closes() {
        for body in [
            "",
            "N = 0",
            "d = {'a': {1}}",
            "s = '}'",
            "s = \"\\\"}\"",
            "s = '''a\n}'''",
            "# } not this one\nx = 1\n",
            "x = f\"{d['a']:#x} }}\"",
            "x = f'{a!r:>{width}}'",
            "x = f'{ {1: 2}[1] }'",
            "x = f\"{f'{1}'}\"",
            "x = f'{x:{y}}' + '}'",
            "x = rf'\\{x}'",
            "x = f'\\N{DIGIT ONE}{y}'",
            "x = f'''{\n x # }\n}'''",
            "x = b'}' + r'\\}'",
            "x = \"a\\\n}\"",
            "elf = 1; s = 'x'",
        ] {
            assert_eq!(end(&format!("{body}}} rest")), Ok(body.len()), "{body}");
        }
    }

    #[test]
    fn explains_what_is_open() {
        assert_eq!(end("x = (1 }"), Err("bracket is not closed"));
        assert_eq!(
            end("x = 1)}"),
            Err("closing bracket without an opening one")
        );
        assert_eq!(end("x = 'a}\n}"), Err("string is not closed"));
        assert_eq!(end("x = 1"), Err("the file ends inside a Python block"));
        assert_eq!(
            end(&"(".repeat(100_000)),
            Err("brackets are nested too deeply")
        );
        assert_eq!(
            end(&"f'{".repeat(100_000)),
            Err("brackets are nested too deeply")
        );
    }

    #[test]
    fn knows_logical_lines() {
        let text = " a = (1,\n2)\n b = '''x\ny'''\n c = 1 + \\\n2\n d = 1}";
        let starts: Vec<&str> = block_end(text, 0)
            .unwrap()
            .logical
            .iter()
            .map(|&i| text[i..].trim_start().split(' ').next().unwrap())
            .collect();
        assert_eq!(starts, ["a", "b", "c", "d"]);
    }
}
