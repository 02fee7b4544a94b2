//! `printf` and `output`: values in a text of the user's.

use super::Debugger;
use super::commands::Reply;
use super::data::split_format;
use super::failure::{Result, failure};
use std::io::Write;
use std::iter::Peekable;
use std::str::CharIndices;
use verde_expr::{PrintOptions, Value, print_value};
use verde_symbols::{Kind, Memory};

/// Text of a C string that is shown; a missing end must not fill the terminal.
const LONGEST: usize = 1 << 16;

/// The size of a wide character.
const WIDE: usize = 4;

/// A piece of a format.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    /// Flags and width, then the letter.
    Value(Spec),
}

#[derive(Debug, Default, PartialEq)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    /// A positive number begins with a space.
    space: bool,
    alternate: bool,
    /// With `l` or its like: 64 bits, wide characters.
    long: bool,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

impl Spec {
    /// Pads what was made of a value.
    fn pad(&self, text: String, numeric: bool) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if missing == 0 {
            return text;
        }
        if self.left {
            return text + &" ".repeat(missing);
        }
        if self.zero && numeric {
            let digits = text.trim_start_matches(['-', '+']);
            let sign = &text[..text.len() - digits.len()];
            return format!("{sign}{}{digits}", "0".repeat(missing));
        }
        " ".repeat(missing) + &text
    }

    /// A number with the sign that was asked for.
    fn signed(&self, text: String) -> String {
        match text.starts_with('-') {
            false if self.plus => format!("+{text}"),
            false if self.space => format!(" {text}"),
            _ => text,
        }
    }

    /// A number as C writes it.
    fn float(&self, number: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = match self.letter.to_ascii_lowercase() {
            _ if number.is_nan() && number.is_sign_negative() => "-nan".to_owned(),
            _ if !number.is_finite() => number.to_string().to_lowercase(),
            'f' => format!("{number:.precision$}"),
            'e' => exponent(format!("{number:.precision$e}")),
            _ => self.shorter(number, precision.max(1)),
        };
        match self.letter.is_ascii_uppercase() {
            true => text.to_uppercase(),
            false => text,
        }
    }

    /// `%g`: so many digits, with an exponent where the number is far from them.
    fn shorter(&self, number: f64, digits: usize) -> String {
        let with_power = format!("{number:.*e}", digits - 1);
        let power = with_power.split_once('e').and_then(|(_, p)| p.parse().ok());
        let power: i64 = power.unwrap_or(0);
        let whole = |text: &str| match text.contains('.') && !self.alternate {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text.to_owned(),
        };
        match usize::try_from(digits as i64 - 1 - power) {
            Ok(decimals) if power >= -4 => whole(&format!("{number:.decimals$}")),
            _ => match with_power.split_once('e') {
                Some((mantissa, power)) => exponent(format!("{}e{power}", whole(mantissa))),
                None => with_power,
            },
        }
    }
}

/// What a backslash and the characters after it stand for.
fn escape(chars: &mut Peekable<CharIndices>) -> Option<char> {
    let (_, first) = chars.next()?;
    if let Some(digit) = first.to_digit(8) {
        let mut code = digit;
        for _ in 0..2 {
            let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(8)) else {
                break;
            };
            code = code * 8 + digit;
            chars.next();
        }
        return char::from_u32(code);
    }
    Some(match first {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        'e' => '\u{1b}',
        other => other,
    })
}

/// A text with what its backslashes stand for.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        match c {
            '\\' => out.extend(escape(&mut chars)),
            c => out.push(c),
        }
    }
    out
}

/// Reads `"FORMAT"`; the rest of the line follows.
fn quoted(text: &str) -> Result<(String, &str)> {
    let bad = || super::Failure("Bad format string".to_owned());
    let inner = text.strip_prefix('"').ok_or_else(bad)?;
    let mut out = String::new();
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((out, inner[at + 1..].trim_start())),
            '\\' => out.push(escape(&mut chars).ok_or_else(bad)?),
            c => out.push(c),
        }
    }
    Err(bad())
}

fn pieces(format: &str) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    let mut text = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut spec = Spec::default();
        let mut after_point = false;
        loop {
            let Some(c) = chars.next() else {
                return failure("Bad format string, missing letter after '%'");
            };
            match c {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                '0' if spec.width == 0 && !after_point => spec.zero = true,
                '0'..='9' => {
                    let digit = c as usize - '0' as usize;
                    let number = match after_point {
                        true => spec.precision.get_or_insert(0),
                        false => &mut spec.width,
                    };
                    *number = (*number * 10 + digit).min(1000);
                }
                '.' => {
                    after_point = true;
                    spec.precision = Some(0);
                }
                'l' | 'z' | 'j' | 't' | 'q' => spec.long = true,
                'L' => {}
                '%' => {
                    text.push('%');
                    break;
                }
                'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 's' | 'p' | 'f' | 'g' | 'e' | 'G'
                | 'E' => {
                    spec.letter = c;
                    out.push(Piece::Text(std::mem::take(&mut text)));
                    out.push(Piece::Value(spec));
                    break;
                }
                other => {
                    return failure(format!("Unrecognized format specifier '{other}' in printf"));
                }
            }
        }
    }
    out.push(Piece::Text(text));
    Ok(out)
}

/// Splits expressions at the commas that are in no bracket and no quote.
pub(super) fn expressions(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth -= 1,
            (',', None) if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out
}

/// A format and as many expressions as it takes.
fn parsed(args: &str) -> Result<(Vec<Piece>, Vec<&str>)> {
    let (format, rest) = quoted(args)?;
    let pieces = pieces(&format)?;
    let given = match rest.strip_prefix(',') {
        Some(rest) => expressions(rest),
        None if rest.is_empty() => Vec::new(),
        None => return failure("Invalid argument syntax"),
    };
    let wanted = pieces.iter().filter(|p| matches!(p, Piece::Value(_)));
    match wanted.count() == given.len() {
        true => Ok((pieces, given)),
        false => failure("Wrong number of arguments for specified format-string"),
    }
}

/// Whether `printf` understands these arguments, whatever the expressions mean.
pub(super) fn check(args: &str) -> Result<()> {
    parsed(args).map(drop)
}

impl Debugger {
    pub(super) fn echo(&mut self, args: &str) -> Result<()> {
        write!(self.out, "{}", unescaped(args))?;
        self.out.flush()?;
        Ok(())
    }

    pub(super) fn printf(&mut self, args: &str) -> Result<()> {
        let text = self.printed(args)?;
        write!(self.out, "{text}")?;
        Ok(())
    }

    /// `eval "FORMAT", EXPRESSION...`: runs what `printf` would print.
    pub(super) fn eval(&mut self, args: &str) -> Result<()> {
        let line = self.printed(args)?;
        if self.execute(&line)? == Reply::Quit {
            return failure("eval cannot end the session: quit does.");
        }
        Ok(())
    }

    /// What `printf` prints.
    fn printed(&mut self, args: &str) -> Result<String> {
        let (pieces, given) = parsed(args)?;
        let mut given = given.into_iter();
        let mut text = String::new();
        for piece in &pieces {
            match (piece, piece_argument(piece, &mut given)) {
                (Piece::Value(spec), Some(expression)) => {
                    let value = self.evaluate(expression)?;
                    text.push_str(&self.formatted(spec, &value)?);
                }
                (Piece::Text(plain), _) => text.push_str(plain),
                (Piece::Value(_), None) => {}
            }
        }
        Ok(text)
    }

    fn formatted(&mut self, spec: &Spec, value: &Value) -> Result<String> {
        // What C passes has the size of an int at least.
        let width = match spec.long {
            true => 64,
            false => value.ty.size().unwrap_or(8).clamp(4, 8) * 8,
        };
        let unsigned = |v: i128| (v as u64) & (u64::MAX >> (64 - width));
        Ok(match spec.letter {
            's' => spec.pad(self.string_of(spec, value)?, false),
            'c' => {
                let code = unsigned(value.to_integer()?) as u32;
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                spec.pad(c.to_string(), false)
            }
            'f' | 'g' | 'e' | 'G' | 'E' => {
                let number = match value.to_float() {
                    Ok(number) => number,
                    Err(_) => value.to_integer()? as f64,
                };
                spec.pad(spec.signed(spec.float(number)), true)
            }
            letter => {
                let number = match value.to_integer() {
                    Ok(number) => number,
                    Err(_) => value.to_float()? as i128,
                };
                let text = match letter {
                    'd' | 'i' => spec.signed(number.to_string()),
                    'u' => unsigned(number).to_string(),
                    'p' if number == 0 => "(nil)".to_owned(),
                    'p' => format!("{:#x}", unsigned(number)),
                    'o' => format!("{:o}", unsigned(number)),
                    'x' if spec.alternate => format!("{:#x}", unsigned(number)),
                    'X' => format!("{:X}", unsigned(number)),
                    _ => format!("{:x}", unsigned(number)),
                };
                spec.pad(text, true)
            }
        })
    }

    fn string_of(&mut self, spec: &Spec, value: &Value) -> Result<String> {
        let at = match value.ty.strip().kind() {
            Kind::Pointer(_) => Some(value.to_address()?),
            Kind::Array(..) => value.address(),
            _ => None,
        };
        let limit = spec.precision.unwrap_or(LONGEST);
        let here = self.here();
        let size = if spec.long { WIDE } else { 1 };
        let Some(mut at) = at else {
            if let (Kind::Array(..), Ok(bytes)) = (value.ty.strip().kind(), value.bytes()) {
                let units = bytes.chunks_exact(size).take(limit);
                let ended = units.take_while(|unit| unit.iter().any(|b| *b != 0));
                return Ok(text_of(
                    &ended.flatten().copied().collect::<Vec<u8>>(),
                    size,
                ));
            }
            return Ok(print_value(value, &here, &PrintOptions::default())?);
        };
        let mut bytes = Vec::new();
        let mut unit = [0; WIDE];
        let unit = &mut unit[..size];
        while bytes.len() < limit.saturating_mul(size)
            && here.read(at, unit).is_ok()
            && unit.iter().any(|b| *b != 0)
        {
            bytes.extend_from_slice(unit);
            at = at.wrapping_add(size as u64);
        }
        Ok(text_of(&bytes, size))
    }

    /// `output[/FORMAT] EXPRESSION`: a value alone, without number and newline.
    pub(super) fn output(&mut self, args: &str) -> Result<()> {
        let (letters, text) = split_format(args);
        let options = self.print_options(letters)?;
        let mut here = self.here();
        let value = verde_expr::evaluate(text, &mut here)?;
        let shown = print_value(&value, &here, &options)?;
        write!(self.out, "{shown}")?;
        Ok(())
    }
}

fn piece_argument<'a>(piece: &Piece, given: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    match piece {
        Piece::Value(_) => given.next(),
        Piece::Text(_) => None,
    }
}

/// C writes at least two digits of an exponent, with its sign.
fn exponent(text: String) -> String {
    match text.split_once('e') {
        Some((digits, power)) => {
            let (sign, power) = match power.strip_prefix('-') {
                Some(power) => ('-', power),
                None => ('+', power),
            };
            format!("{digits}e{sign}{power:0>2}")
        }
        None => text,
    }
}

/// Characters of one byte or wide ones.
fn text_of(bytes: &[u8], size: usize) -> String {
    if size == 1 {
        return escaped(&String::from_utf8_lossy(bytes));
    }
    let wide = bytes.as_chunks::<WIDE>().0.iter().map(|unit| {
        let code = u32::from_le_bytes(*unit);
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    });
    escaped(&wide.collect::<String>())
}

/// Text of the program must not command the terminal.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_taken_apart() -> Result<()> {
        let (format, rest) = quoted(r#""a %-5d %s\n", x, y"#)?;
        assert_eq!(format, "a %-5d %s\n");
        assert_eq!(rest, ", x, y");
        assert_eq!(
            expressions(" f(a, b), \"c,d\", t[1]"),
            ["f(a, b)", "\"c,d\"", "t[1]"]
        );
        let spec = |letter, width, left| {
            Piece::Value(Spec {
                letter,
                width,
                left,
                ..Spec::default()
            })
        };
        let text = |t: &str| Piece::Text(t.to_owned());
        let wanted = vec![
            text("a "),
            spec('d', 5, true),
            text(" "),
            spec('s', 0, false),
            text("\n"),
        ];
        assert_eq!(pieces(&format)?, wanted);
        assert!(pieces("%y").is_err() && pieces("%").is_err());
        Ok(())
    }

    #[test]
    fn padding_goes_where_c_puts_it() {
        let spec = |zero, left| Spec {
            zero,
            left,
            width: 5,
            ..Spec::default()
        };
        assert_eq!(spec(true, false).pad("-42".into(), true), "-0042");
        assert_eq!(spec(false, true).pad("42".into(), true), "42   ");
        assert_eq!(spec(false, false).pad("42".into(), true), "   42");
        assert_eq!(exponent("1.5e-7".into()), "1.5e-07");
    }
}
