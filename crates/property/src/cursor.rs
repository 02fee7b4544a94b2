//! Reads words and symbols off a text; shared by the two languages.

use crate::ast::{Name, RawBlock};
use crate::diag::{Diagnostic, Diagnostics, nearest};
use crate::scan;
use crate::source::Span;

/// The error is already among the diagnostics.
#[derive(Debug)]
pub struct Reported;
pub type Parsed<T> = Result<T, Reported>;

pub struct Cursor<'a> {
    pub text: &'a str,
    pub pos: usize,
    /// End of the last thing consumed, without the white space after it.
    last: usize,
    pub found: Diagnostics,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Cursor {
            text,
            pos: 0,
            last: 0,
            found: Diagnostics::default(),
        }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    pub fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    pub fn bump(&mut self, n: usize) {
        self.pos += n;
        self.last = self.pos;
    }

    /// From `start` to the end of what was consumed last.
    pub fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.last.max(start))
    }

    /// Skips white space and comments. A `/*` without end is reported once.
    pub fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.pos += blank;
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.pos += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inner) = rest.strip_prefix("/*") {
                match inner.find("*/") {
                    Some(k) => self.pos += k + 4,
                    None => {
                        let at = self.pos;
                        self.found.push(
                            Diagnostic::error(
                                "unclosed-comment",
                                Span::new(at, at + 2),
                                "comment is not closed",
                            )
                            .hint("end it with `*/`"),
                        );
                        self.pos = self.text.len();
                    }
                }
            } else {
                return;
            }
        }
    }

    pub fn at_end(&mut self) -> bool {
        self.skip_space();
        self.pos >= self.text.len()
    }

    /// The identifier at the cursor, or "".
    pub fn peek_word(&mut self) -> &'a str {
        self.skip_space();
        word_at(self.rest())
    }

    pub fn word(&mut self, word: &str) -> bool {
        let hit = self.peek_word() == word;
        if hit {
            self.bump(word.len());
        }
        hit
    }

    pub fn looking_at(&mut self, symbol: &str) -> bool {
        self.skip_space();
        self.rest().starts_with(symbol)
    }

    pub fn symbol(&mut self, symbol: &str) -> bool {
        let hit = self.looking_at(symbol);
        if hit {
            self.bump(symbol.len());
        }
        hit
    }

    /// The span of the word or character at the cursor, for an error there.
    pub fn here(&mut self) -> Span {
        let n = self.peek_word().len();
        let n = if n > 0 {
            n
        } else {
            self.rest().chars().next().map_or(0, char::len_utf8)
        };
        Span::new(self.pos, self.pos + n)
    }

    /// What stands at the cursor, for "found ...".
    pub fn found_text(&mut self) -> String {
        let here = self.here();
        match &self.text[here.start..here.end] {
            "" => "the end of the file".into(),
            t => format!("`{}`", t.escape_debug()),
        }
    }

    pub fn expected<T>(&mut self, what: &str, hint: impl Into<String>) -> Parsed<T> {
        let found = self.found_text();
        let span = self.here();
        self.found.push(
            Diagnostic::error("syntax", span, format!("expected {what}, found {found}"))
                .label(format!("expected {what}"))
                .hint(hint),
        );
        Err(Reported)
    }

    /// A mistyped one of `words`: reported and read as the one that was meant,
    /// so that the next mistake is found where it is.
    pub fn slip(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let word = self.peek_word();
        // With parentheses it is a name of the user's.
        if word.is_empty() || self.rest()[word.len()..].trim_start().starts_with('(') {
            return None;
        }
        let meant = nearest(word, words.iter().copied())?;
        let _: Parsed<()> =
            self.expected(&format!("`{meant}`"), format!("did you mean `{meant}`?"));
        self.bump(word.len());
        Some(meant)
    }

    /// The word, or a slip of it.
    pub fn word_or_slip(&mut self, word: &'static str) -> bool {
        self.word(word) || self.slip(&[word]).is_some()
    }

    pub fn name(&mut self, what: &str, hint: &str) -> Parsed<Name> {
        let word = self.peek_word();
        if word.is_empty() {
            return self.expected(what, hint);
        }
        let start = self.pos;
        self.bump(word.len());
        Ok(Name {
            text: word.to_string(),
            span: Span::new(start, self.pos),
        })
    }

    /// A `{ Python }` block, if one stands here.
    pub fn block(&mut self) -> Parsed<Option<RawBlock>> {
        if !self.looking_at("{") {
            return Ok(None);
        }
        let open = self.pos;
        match scan::block_end(self.text, open + 1) {
            Ok(scanned) => {
                self.bump(scanned.end + 1 - open);
                Ok(Some(RawBlock {
                    span: Span::new(open + 1, scanned.end),
                    logical: scanned.logical,
                }))
            }
            Err(e) => {
                self.found.push(
                    Diagnostic::error("python-block", Span::new(e.at, e.at + 1), e.message)
                        .label("here")
                        .other(Span::new(open, open + 1), "the block begins here")
                        .hint(e.hint),
                );
                // Go on after the brace, so that the next keyword is found.
                self.bump(1);
                Err(Reported)
            }
        }
    }

    /// After an error: moves to the next of the keywords, over whole blocks.
    pub fn skip_to(&mut self, keywords: &[&str]) {
        while !self.at_end() {
            let word = self.peek_word();
            if keywords.contains(&word) {
                return;
            }
            if !word.is_empty() {
                self.bump(word.len());
            } else {
                let n = self.rest().chars().next().map_or(1, char::len_utf8);
                self.bump(n);
            }
        }
    }
}

pub fn word_at(text: &str) -> &str {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return "";
    }
    let n = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..n]
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
