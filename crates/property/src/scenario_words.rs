//! The paper's keyword form of scenario actions, turned into the Python of the
//! other form: `v := checkpoint` becomes `v = checkpoint()`.
//!
//! Statements are separated by `;` or new lines. What belongs to a `then`,
//! `else` or `while` stands on its line or on lines indented deeper than the
//! `if` or `while` itself.

use crate::block::PyText;
use crate::cursor::{Cursor, Parsed, word_at};
use crate::diag::Diagnostic;
use crate::limits;
use crate::source::{Source, Span};

pub struct Words<'c, 'a> {
    source: &'c Source,
    c: &'c mut Cursor<'a>,
    out: PyText,
}

/// Whether a word, with what follows it, begins a statement (and is not a name in a trigger).
pub fn begins_statement(word: &str, after: &str) -> bool {
    after.trim_start().starts_with(":=")
        || after.starts_with("-checkpoint")
        || matches!(
            word,
            "if" | "while"
                | "setWatchpoint"
                | "unsetWatchpoint"
                | "setBreakpoint"
                | "unsetBreakpoint"
                | "stop"
                | "print"
        )
}

impl<'c, 'a> Words<'c, 'a> {
    pub fn new(source: &'c Source, c: &'c mut Cursor<'a>) -> Self {
        Words {
            source,
            c,
            out: PyText::default(),
        }
    }

    /// Statements up to the next reaction or the end of the file.
    pub fn statements(mut self) -> Parsed<PyText> {
        let before = self.c.pos;
        self.sequence(0, None)?;
        if self.c.pos == before {
            return self.c.expected(
                "code",
                "give a Python block in braces, or statements such as `v := checkpoint` and `setWatchpoint x rw`",
            );
        }
        self.out.text.truncate(self.out.text.trim_end().len());
        Ok(self.out)
    }

    fn column(&self, at: usize) -> usize {
        at - self.source.line_start(self.source.line(at))
    }

    fn emit(&mut self, at: usize, depth: usize, text: &str) {
        let source = self.source;
        self.out.push_line(source, at, depth * 4, text);
    }

    /// `owner`: the `if` or `while` this belongs to, by its offset, and the end of its own line.
    fn sequence(&mut self, depth: usize, owner: Option<(usize, usize)>) -> Parsed<()> {
        if depth > limits::PARAMETER_DEPTH {
            return self
                .c
                .expected("simpler code", "statements may nest 16 deep");
        }
        loop {
            while self.c.symbol(";") {}
            if self.c.at_end() || matches!(self.c.peek_word(), "on" | "else") {
                return Ok(());
            }
            let at = self.c.pos;
            if let Some((head, line)) = owner
                && self.source.line(at) != line
                && self.column(at) <= self.column(head)
            {
                return Ok(());
            }
            self.statement(depth)?;
        }
    }

    fn statement(&mut self, depth: usize) -> Parsed<()> {
        let at = self.c.pos;
        let word = self.c.peek_word();
        if self.c.rest().starts_with("restore-checkpoint") {
            self.c.bump("restore-checkpoint".len());
            let (e, _) = self.expression("a checkpoint", &[])?;
            self.emit(at, depth, &format!("restore_checkpoint({e})"));
            return Ok(());
        }
        match word {
            "if" | "while" => {
                self.c.bump(word.len());
                let (test, _) = self.expression("a condition", &["then", "do"])?;
                if !self.c.word("then") && !self.c.word("do") {
                    return self
                        .c
                        .expected("`then`", "write `if n = 2 then ... else ...`");
                }
                self.emit(at, depth, &format!("{word} {test}:"));
                self.branch(at, depth)?;
                self.c.skip_space();
                let other = self.c.pos;
                let ours = self.source.line(other) == self.source.line(at)
                    || self.column(other) >= self.column(at);
                if self.c.peek_word() == "else" && ours {
                    self.c.word("else");
                    self.emit(other, depth, "else:");
                    self.branch(at, depth)?;
                }
            }
            "setWatchpoint" => {
                self.c.bump(word.len());
                let (text, span) = self.expression("what to watch", &[])?;
                let (what, mode) = match text.rsplit_once(char::is_whitespace) {
                    Some((what, mode @ ("r" | "w" | "rw"))) => (what.trim(), mode),
                    _ => {
                        self.c.found.push(
                            Diagnostic::error(
                                "syntax",
                                span,
                                "expected `r`, `w` or `rw` at the end",
                            )
                            .hint("write `setWatchpoint q->size rw`"),
                        );
                        return Err(crate::cursor::Reported);
                    }
                };
                self.emit(
                    at,
                    depth,
                    &format!("set_watchpoint({}, {mode:?})", quote(what)),
                );
            }
            "unsetWatchpoint" | "setBreakpoint" | "unsetBreakpoint" => {
                self.c.bump(word.len());
                let (what, _) = self.expression("a place", &[])?;
                let function = match word {
                    "unsetWatchpoint" => "unset_watchpoint",
                    "setBreakpoint" => "set_breakpoint",
                    _ => "unset_breakpoint",
                };
                self.emit(at, depth, &format!("{function}({})", quote(&what)));
            }
            "stop" => {
                self.c.bump(word.len());
                if self.c.rest().starts_with("()") {
                    self.c.bump(2);
                }
                self.emit(at, depth, "stop()");
            }
            "print" => {
                self.c.bump(word.len());
                let (e, _) = self.expression("what to print", &[])?;
                let call = match is_enclosed(&e) {
                    true => format!("print{e}"),
                    false => format!("print({e})"),
                };
                self.emit(at, depth, &call);
            }
            _ => {
                let name = self.c.name(
                    "a statement",
                    "statements are `v := e`, `v := checkpoint`, `if e then ... else ...`, `restore-checkpoint v`, \
                     `setWatchpoint w rw`, `setBreakpoint b`, `stop` and `print e`",
                )?;
                if !self.c.symbol(":=") {
                    return self.c.expected("`:=`", "assign with `v := e`");
                }
                let (value, _) = self.expression("a value", &[])?;
                let value = if value == "checkpoint" {
                    "checkpoint()".into()
                } else {
                    value
                };
                self.emit(at, depth, &format!("{} = {value}", name.text));
            }
        }
        Ok(())
    }

    fn branch(&mut self, head: usize, depth: usize) -> Parsed<()> {
        let line = self.source.line(self.c.pos);
        let before = self.out.text.len();
        self.sequence(depth + 1, Some((head, line)))?;
        if self.out.text.len() == before {
            self.emit(head, depth + 1, "pass");
        }
        Ok(())
    }

    /// Text up to the end of the line, a `;` or a stop word, with `=` read as equality.
    fn expression(&mut self, what: &str, stops: &[&str]) -> Parsed<(String, Span)> {
        let rest = self.c.rest();
        let skip = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.c.pos += skip;
        let start = self.c.pos;
        let rest = self.c.rest();
        let mut out = String::new();
        let mut i = 0;
        while let Some(ch) = rest[i..].chars().next() {
            let word = word_at(&rest[i..]);
            if stops.contains(&word) || matches!(word, "else" | "then") {
                break;
            }
            if !word.is_empty() {
                out.push_str(word);
                i += word.len();
                continue;
            }
            match ch {
                '\n' | ';' | '#' => break,
                '"' | '\'' => {
                    let literal = quoted(&rest[i..]);
                    out.push_str(literal);
                    i += literal.len();
                    continue;
                }
                '=' => {
                    // `=` is the paper's equality; `==`, `<=`, `>=`, `!=` stay.
                    let double = rest[i + 1..].starts_with('=');
                    let part = matches!(rest[..i].chars().next_back(), Some('<' | '>' | '!'));
                    out.push_str(if double || !part { "==" } else { "=" });
                    i += if double { 2 } else { 1 };
                    continue;
                }
                _ => out.push(ch),
            }
            i += ch.len_utf8();
        }
        let text = out.trim().to_string();
        if text.is_empty() {
            return self.c.expected(what, "the statement is not complete");
        }
        self.c.bump(i);
        Ok((text, Span::new(start, start + rest[..i].trim_end().len())))
    }
}

/// `(a, "b")`: one pair of brackets around it all.
fn is_enclosed(text: &str) -> bool {
    let mut depth = 0_u32;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' | '\'' => quoted(rest).len(),
            _ => c.len_utf8(),
        };
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        rest = &rest[length..];
        if depth == 0 {
            return c == ')' && rest.is_empty();
        }
    }
    false
}

/// The text in quotes that something begins with, up to the end of the line where nothing closes it.
fn quoted(text: &str) -> &str {
    let quote = text.chars().next();
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return &text[..i],
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if Some(c) == quote => return &text[..=i],
            _ => {}
        }
    }
    text
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_of_brackets() {
        for text in ["(a)", "(a, \"b)\")", r#"("\")", x)"#, "((a) + (b))"] {
            assert!(is_enclosed(text), "{text}");
        }
        for text in ["", "a", "(a) + (b)", "f(a)", "\"(a)\"", r#"("\"), x"#] {
            assert!(!is_enclosed(text), "{text}");
        }
    }

    #[test]
    fn texts_in_quotes() {
        for (text, literal) in [
            ("\"a\" + b", "\"a\""),
            (r#""a\"b" c"#, r#""a\"b""#),
            (r#"'\\' c'"#, r#"'\\'"#),
            ("'a\nb'", "'a"),
            ("'a", "'a"),
        ] {
            assert_eq!(quoted(text), literal, "{text}");
        }
    }
}
