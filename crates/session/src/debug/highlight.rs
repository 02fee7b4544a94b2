//! Source of C, C++ and Rust taken apart for colours: keywords, texts,
//! numbers, comments. One line at a time; a comment may go on in the next.

use super::style::{Style, Token};

/// Words of all three languages: a C program that calls a variable `fn` has a
/// coloured variable.
const KEYWORDS: &[&str] = &[
    "alignas",
    "as",
    "async",
    "auto",
    "await",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "crate",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "fn",
    "for",
    "friend",
    "goto",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "namespace",
    "new",
    "nullptr",
    "operator",
    "private",
    "protected",
    "pub",
    "public",
    "ref",
    "register",
    "return",
    "self",
    "Self",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typename",
    "union",
    "unsafe",
    "unsigned",
    "use",
    "using",
    "virtual",
    "void",
    "volatile",
    "where",
    "while",
];

/// Takes a line apart; whether a comment is open before it and after it.
pub(super) fn tokens(line: &str, mut in_comment: bool) -> (Vec<(Token, &str)>, bool) {
    let mut out: Vec<(Token, &str)> = Vec::new();
    let mut rest = line;
    if !in_comment && line.trim_start().starts_with('#') && !line.trim_start().starts_with("#[") {
        return (vec![(Token::Keyword, line)], false);
    }
    while !rest.is_empty() {
        let (token, length) = if in_comment {
            let end = rest.find("*/").map(|at| at + 2);
            in_comment = end.is_none();
            (Token::Comment, end.unwrap_or(rest.len()))
        } else if rest.starts_with("//") {
            (Token::Comment, rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let end = inside.find("*/").map(|at| at + 4);
            in_comment = end.is_none();
            (Token::Comment, end.unwrap_or(rest.len()))
        } else {
            next(rest)
        };
        let (text, after) = rest.split_at(length);
        out.push((token, text));
        rest = after;
    }
    (out, in_comment)
}

/// The first piece of a text that is not empty and no comment.
fn next(text: &str) -> (Token, usize) {
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return (Token::Plain, 0);
    };
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let length = |keep: &dyn Fn(char) -> bool| text.find(|c| !keep(c)).unwrap_or(text.len());
    if first == '"' {
        return (Token::Text, quoted(text, '"'));
    }
    if first == '\'' {
        // A lifetime of Rust has no end.
        let is_text = match chars.next() {
            Some('\\') => true,
            Some(_) => chars.next() == Some('\''),
            None => false,
        };
        return match is_text {
            true => (Token::Text, quoted(text, '\'')),
            false => (Token::Plain, 1),
        };
    }
    if first.is_ascii_digit() {
        return (Token::Number, length(&|c| word(c) || c == '.'));
    }
    if word(first) {
        let end = length(&word);
        let is_keyword = KEYWORDS.contains(&&text[..end]);
        return (
            if is_keyword {
                Token::Keyword
            } else {
                Token::Plain
            },
            end,
        );
    }
    let end = length(&|c| !word(c) && !matches!(c, '"' | '\'' | '/'));
    (Token::Plain, end.max(first.len_utf8()))
}

/// The length of a text in quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// A line with colours.
pub(super) fn paint(style: Style, line: &str, in_comment: bool) -> String {
    let (pieces, _) = tokens(line, in_comment);
    let painted = pieces
        .into_iter()
        .map(|(token, text)| style.token(token, text));
    painted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, kind: Token) -> Vec<&str> {
        let (all, _) = tokens(line, false);
        let fitting = all.into_iter().filter(|(t, _)| *t == kind);
        fitting.map(|(_, text)| text).collect()
    }

    #[test]
    fn pieces_of_the_languages() {
        let line = "  if (x > 0x10 && c == '\\'') puts(\"a // b\"); // see \"c\"";
        assert_eq!(of(line, Token::Keyword), ["if"]);
        assert_eq!(of(line, Token::Number), ["0x10"]);
        assert_eq!(of(line, Token::Text), ["'\\''", "\"a // b\""]);
        assert_eq!(of(line, Token::Comment), ["// see \"c\""]);
        let line = "fn f<'a>(x: &'a str) -> char { 'x' }";
        assert_eq!(of(line, Token::Keyword), ["fn", "char"]);
        assert_eq!(of(line, Token::Text), ["'x'"]);
        assert_eq!(
            of("#include <stdio.h>", Token::Keyword),
            ["#include <stdio.h>"]
        );
        assert!(of("#[derive(Debug)]", Token::Keyword).is_empty());
    }

    #[test]
    fn comments_go_on_and_nothing_is_lost() {
        let (_, open) = tokens("int a; /* first", false);
        assert!(open);
        let (pieces, open) = tokens("last */ int b;", true);
        assert!(!open);
        assert_eq!(pieces[0], (Token::Comment, "last */"));
        for line in [
            "",
            "é \"ü",
            "a/b",
            "'",
            "/",
            "\\",
            "x = 'ab",
            "\u{1f600}'\u{1f600}'",
        ] {
            let (pieces, _) = tokens(line, false);
            let text: String = pieces.iter().map(|p| p.1).collect();
            assert_eq!(text, line);
        }
    }
}
