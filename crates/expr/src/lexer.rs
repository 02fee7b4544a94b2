//! Words of an expression.

use crate::error::EvalError;

/// A word, and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub at: usize,
    pub end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A number and its suffix; decimal or not.
    Integer(u128, String, bool),
    Float(f64, String),
    Char(u32),
    Text(Vec<u8>),
    /// `b"x"`, of Rust.
    Bytes(Vec<u8>),
    /// `L'x'`: a character and the mark before it.
    WideChar(u32, char),
    /// `L"x"`
    WideText(Vec<u8>, char),
    /// A symbol in quotes: `'file.c'`, `'ns::f(int)'`.
    Quoted(String),
    Name(String),
    /// `$rip`, `$x`, `$1`, `$`, `$$`, `$$2`, without the first dollar.
    Dollar(String),
    Symbol(&'static str),
}

const SYMBOLS: [&str; 47] = [
    "<<=", ">>=", "..=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "..", "+", "-", "*", "/", "%", "&", "|",
    "^", "~", "!", "<", ">", "=", "?", ":", ",", ".", "(", ")", "[", "]", "@",
];

/// Words an expression may have: a tree of them is walked on the stack.
const MAX_TOKENS: usize = 500;

/// The words of a text; Rust's numbers and bytes are written otherwise than C's.
pub(crate) fn tokens(text: &str, is_rust: bool) -> Result<Vec<Token>, EvalError> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let rest = &text[at..];
        // After a value a dot starts a member, also before a digit.
        let after_value = out.last().is_some_and(|t: &Token| {
            matches!(
                t.kind,
                TokenKind::Name(_) | TokenKind::Dollar(_) | TokenKind::Symbol(")" | "]")
            )
        });
        let (kind, len) = match c == '.' && after_value && !rest.starts_with("..") {
            true => (TokenKind::Symbol("."), 1),
            false => word(rest, is_rust)?,
        };
        out.push(Token {
            kind,
            at,
            end: at + len,
        });
        at += len;
        if out.len() > MAX_TOKENS {
            return Err(EvalError::BadType("expression too long".into()));
        }
    }
    Ok(out)
}

fn word(rest: &str, is_rust: bool) -> Result<(TokenKind, usize), EvalError> {
    let syntax = || EvalError::Syntax(rest.to_owned());
    let first = rest.chars().next().ok_or_else(syntax)?;
    let next = rest[first.len_utf8()..].chars().next();
    if first.is_ascii_digit() || (first == '.' && next.is_some_and(|c| c.is_ascii_digit())) {
        return number(rest, is_rust);
    }
    if first == '$' {
        let len = 1 + rest[1..]
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(rest.len() - 1);
        return Ok((TokenKind::Dollar(rest[1..len].to_owned()), len));
    }
    if matches!(first, 'L' | 'u' | 'U') && matches!(next, Some('"' | '\'')) {
        return Ok(match word(&rest[1..], is_rust)? {
            (TokenKind::Text(bytes), len) => (TokenKind::WideText(bytes, first), len + 1),
            (TokenKind::Char(code), len) => (TokenKind::WideChar(code, first), len + 1),
            _ => return Err(syntax()),
        });
    }
    if is_rust
        && first == 'b'
        && next == Some('\'')
        && let (TokenKind::Char(code), len) = quoted(&rest[1..])?
    {
        return Ok((
            TokenKind::Integer(code.into(), "u8".to_owned(), true),
            len + 1,
        ));
    }
    if is_rust && let Some(found) = rust_text(rest)? {
        return Ok(found);
    }
    if first.is_alphabetic() || first == '_' {
        let len = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        return Ok((TokenKind::Name(rest[..len].to_owned()), len));
    }
    match first {
        '"' => {
            let (bytes, len) = text_literal(rest)?;
            return Ok((TokenKind::Text(bytes), len));
        }
        '\'' => return quoted(rest),
        ';' if is_rust => return Ok((TokenKind::Symbol(";"), 1)),
        '{' => return Ok((TokenKind::Symbol("{"), 1)),
        '}' => return Ok((TokenKind::Symbol("}"), 1)),
        _ => {}
    }
    let symbol = SYMBOLS.iter().find(|s| rest.starts_with(**s));
    symbol
        .map(|s| (TokenKind::Symbol(s), s.len()))
        .ok_or_else(syntax)
}

fn number(rest: &str, is_rust: bool) -> Result<(TokenKind, usize), EvalError> {
    let lower = rest.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            let len = digits
                .find(|c: char| !(c.is_digit(radix) || c == '_'))
                .unwrap_or(digits.len());
            return integer(rest, &digits[..len], prefix.len() + len, radix);
        }
    }
    let len = digits_len(rest);
    let mut end = len;
    let mut is_float = false;
    let after = &rest[end..];
    // `1..3` is a range and `x.0.1` a member.
    if after.starts_with('.')
        && !after[1..].starts_with(|c: char| c == '.' || c.is_alphabetic() || c == '_')
    {
        is_float = true;
        end += 1 + digits_len(&after[1..]);
    }
    if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let digits = digits_len(&exponent[sign..]);
        if digits > 0 {
            is_float = true;
            end += 1 + sign + digits;
        }
    }
    if is_float {
        let plain: String = rest[..end].chars().filter(|c| *c != '_').collect();
        let value = plain
            .parse()
            .map_err(|_| EvalError::Syntax(rest.to_owned()))?;
        let (suffix, len) = suffix(&rest[end..]);
        return Ok((TokenKind::Float(value, suffix), end + len));
    }
    // A leading zero is one of C's ways to write eight for the base.
    let octal = len > 1 && rest.starts_with('0') && !is_rust;
    if octal && rest[..len].contains(['8', '9']) {
        return Err(EvalError::BadType(format!(
            "Invalid number \"{}\".",
            &rest[..len]
        )));
    }
    integer(rest, &rest[..len], len, if octal { 8 } else { 10 })
}

fn digits_len(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_digit() || c == '_'))
        .unwrap_or(text.len())
}

fn suffix(rest: &str) -> (String, usize) {
    let len = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    (rest[..len].to_ascii_lowercase(), len)
}

fn integer(
    rest: &str,
    digits: &str,
    len: usize,
    radix: u32,
) -> Result<(TokenKind, usize), EvalError> {
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    if plain.is_empty() {
        return Err(EvalError::Syntax(rest.to_owned()));
    }
    let value = u128::from_str_radix(&plain, radix).map_err(|_| EvalError::TooLarge)?;
    let (suffix, more) = suffix(&rest[len..]);
    let known = ["", "u", "l", "ul", "lu", "ll", "ull", "llu"];
    let rust = [
        "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    ];
    if suffix == "f32" || suffix == "f64" {
        return Ok((TokenKind::Float(value as f64, suffix), len + more));
    }
    if !known.contains(&suffix.as_str()) && !rust.contains(&suffix.as_str()) {
        return Err(EvalError::BadType(format!(
            "Invalid number \"{}\".",
            &rest[..len + more]
        )));
    }
    Ok((TokenKind::Integer(value, suffix, radix == 10), len + more))
}

/// One character of a literal, with its escapes; `None` at the end.
fn escaped(chars: &mut std::iter::Peekable<std::str::CharIndices>) -> Option<Result<u32, u8>> {
    let (_, c) = chars.next()?;
    if c != '\\' {
        return Some(Ok(c as u32));
    }
    let (_, c) = chars.next()?;
    let simple = match c {
        'n' => 10,
        't' => 9,
        'r' => 13,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'e' => 27,
        'x' => {
            let mut value = 0u32;
            while let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(16)) {
                value = value << 4 | digit;
                chars.next();
            }
            return Some(Err(value as u8));
        }
        'u' => {
            let mut value = 0u32;
            let braced = chars.next_if(|(_, c)| *c == '{').is_some();
            while let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(16)) {
                value = value.wrapping_shl(4) | digit;
                chars.next();
            }
            if braced {
                chars.next_if(|(_, c)| *c == '}');
            }
            value
        }
        '0'..='7' => {
            let mut value = c.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                if let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(8)) {
                    value = value << 3 | digit;
                    chars.next();
                }
            }
            return Some(Err(value as u8));
        }
        other => other as u32,
    };
    Some(Ok(simple))
}

fn text_literal(rest: &str) -> Result<(Vec<u8>, usize), EvalError> {
    let mut chars = rest.char_indices().peekable();
    chars.next();
    let mut out = Vec::new();
    loop {
        match chars.peek() {
            Some((at, '"')) => return Ok((out, at + 1)),
            None => {
                return Err(EvalError::BadType(
                    "Unterminated string in expression.".into(),
                ));
            }
            _ => {}
        }
        match escaped(&mut chars) {
            Some(Err(byte)) => out.push(byte),
            Some(Ok(code)) => {
                let c = char::from_u32(code).unwrap_or('\u{fffd}');
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => {
                return Err(EvalError::BadType(
                    "Unterminated string in expression.".into(),
                ));
            }
        }
    }
}

/// `b"x"`, `r"x"`, `r#"x"#` and `br"x"`.
fn rust_text(rest: &str) -> Result<Option<(TokenKind, usize)>, EvalError> {
    let kind = |bytes: Vec<u8>| match rest.starts_with('b') {
        true => TokenKind::Bytes(bytes),
        false => TokenKind::Text(bytes),
    };
    let marks = rest.len() - rest.trim_start_matches('b').len();
    let unmarked = &rest[marks.min(1)..];
    let Some(raw) = unmarked.strip_prefix('r') else {
        if marks != 1 || !unmarked.starts_with('"') {
            return Ok(None);
        }
        let (bytes, len) = text_literal(unmarked)?;
        return Ok(Some((kind(bytes), 1 + len)));
    };
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let Some(text) = raw[hashes..].strip_prefix('"') else {
        return Ok(None);
    };
    let end = format!("\"{}", "#".repeat(hashes));
    let Some(len) = text.find(&end) else {
        return Err(EvalError::BadType(
            "Unterminated string in expression.".into(),
        ));
    };
    let whole = rest.len() - text.len() + len + end.len();
    Ok(Some((kind(text[..len].into()), whole)))
}

/// A character, or a symbol in quotes.
fn quoted(rest: &str) -> Result<(TokenKind, usize), EvalError> {
    let mut chars = rest.char_indices().peekable();
    chars.next();
    if let Some(value) = escaped(&mut chars)
        && let Some((at, '\'')) = chars.next()
    {
        let code = match value {
            Ok(code) => code,
            Err(byte) => byte.into(),
        };
        return Ok((TokenKind::Char(code), at + 1));
    }
    match rest[1..].find('\'') {
        Some(0) => Err(EvalError::BadType("Empty character constant.".into())),
        Some(len) => Ok((TokenKind::Quoted(rest[1..1 + len].to_owned()), len + 2)),
        None => Err(EvalError::BadType("Unmatched single quote.".into())),
    }
}
