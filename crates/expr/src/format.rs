//! Formats of `print/F` and `x/NFU`.

use crate::error::EvalError;
use crate::float::{format_float, format_quad};
use crate::print::{PrintOptions, Printer, symbol_text};
use crate::scope::Scope;
use crate::text::{Width, character};
use crate::value::extend;
use verde_symbols::{Encoding, Kind, Type};

/// A letter after the slash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `x`
    Hex,
    /// `d`
    Decimal,
    /// `u`
    Unsigned,
    /// `o`
    Octal,
    /// `t`
    Binary,
    /// `z`: hexadecimal with leading zeros.
    Padded,
    /// `c`
    Char,
    /// `f`
    Float,
    /// `a`
    Address,
    /// `s`
    Str,
    /// `i`: instructions, for `x` only.
    Instruction,
    /// `r`: without pretty printing.
    Raw,
}

impl Format {
    /// The format a letter stands for.
    pub fn from_letter(letter: char) -> Option<Format> {
        Some(match letter {
            'x' => Format::Hex,
            'd' => Format::Decimal,
            'u' => Format::Unsigned,
            'o' => Format::Octal,
            't' => Format::Binary,
            'z' => Format::Padded,
            'c' => Format::Char,
            'f' => Format::Float,
            'a' => Format::Address,
            's' => Format::Str,
            'i' => Format::Instruction,
            'r' => Format::Raw,
            _ => return None,
        })
    }
}

/// One scalar in a format. Integer formats show a float's bits, as gdb does.
pub(crate) fn scalar(bytes: &[u8], ty: &Type, format: Format, scope: &dyn Scope) -> String {
    let bits = bytes.len() as u64 * 8;
    let unsigned = extend(bytes, false) as u128;
    let signed = extend(bytes, true);
    let is_float = matches!(ty.kind(), Kind::Base(Encoding::Float));
    match format {
        Format::Hex => format!("{unsigned:#x}"),
        Format::Decimal => signed.to_string(),
        Format::Unsigned => unsigned.to_string(),
        Format::Octal if unsigned == 0 => "0".to_owned(),
        Format::Octal => format!("0{unsigned:o}"),
        Format::Binary => format!("{unsigned:b}"),
        Format::Padded => format!("0x{unsigned:0w$x}", w = (bits.div_ceil(4)) as usize),
        Format::Char => {
            let low = [unsigned as u8];
            let number = match ty.is_unsigned() {
                true => i128::from(low[0]),
                false => i128::from(low[0] as i8),
            };
            format!("{number} {}", character(&low, Width::Byte))
        }
        Format::Float if is_float && ty.is_quad() => format_quad(bytes),
        Format::Float if is_float || matches!(bytes.len(), 4 | 8 | 16) => format_float(bytes),
        Format::Float => match ty.is_unsigned() {
            true => unsigned.to_string(),
            false => signed.to_string(),
        },
        Format::Address => {
            let addr = unsigned as u64;
            match symbol_text(scope, addr, true) {
                Some(symbol) => format!("{addr:#x} {symbol}"),
                None => format!("{addr:#x}"),
            }
        }
        Format::Str | Format::Instruction | Format::Raw => signed.to_string(),
    }
}

/// What `x` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Examine {
    /// How many.
    pub count: u64,
    /// How.
    pub format: Format,
    /// Bytes each.
    pub size: u64,
}

impl Examine {
    /// Reads `NFU` on top of what was used last: letters in any order, a number first.
    pub fn parse(text: &str, last: Examine) -> Result<Examine, EvalError> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let mut out = Examine { count: 1, ..last };
        if digits > 0 {
            out.count = text[..digits].parse().map_err(|_| EvalError::TooLarge)?;
        }
        let mut size = None;
        let mut format = None;
        for letter in text[digits..].chars() {
            match letter {
                'b' => size = Some(1),
                'h' => size = Some(2),
                'w' => size = Some(4),
                'g' => size = Some(8),
                other => match Format::from_letter(other) {
                    Some(f) => format = Some(f),
                    None => {
                        return Err(EvalError::BadType(format!(
                            "Undefined output format \"{other}\"."
                        )));
                    }
                },
            }
        }
        out.format = match (format, last.format) {
            (Some(format), _) => format,
            // Instructions have no size.
            (None, Format::Instruction) if size.is_some() => Format::Hex,
            (None, last) => last,
        };
        out.size = match (size, out.format) {
            (Some(size), _) => size,
            (None, Format::Address) => 8,
            (None, Format::Char | Format::Str) if format.is_some() => 1,
            (None, Format::Float) if last.size < 4 || format.is_some() => 8,
            (None, _) => last.size,
        };
        Ok(out)
    }
}

/// The lines `x` prints from an address on, and the address after them. Instructions are the caller's.
pub fn examine(
    scope: &dyn Scope,
    start: u64,
    what: Examine,
    options: &PrintOptions,
) -> (Vec<String>, u64) {
    let mut lines = Vec::new();
    let mut at = start;
    let label = |addr: u64| {
        let symbol = symbol_text(scope, addr, true);
        format!(
            "{addr:#x}{}:\t",
            symbol.map_or(String::new(), |s| format!(" {s}"))
        )
    };
    let printer = Printer::new(scope, options);
    if what.format == Format::Str {
        let width = Width::of(what.size);
        let mark = match width {
            Width::Byte => "",
            Width::Two => "u",
            Width::Four => "U",
        };
        for _ in 0..what.count {
            let text = printer.string_at(at, width, None);
            lines.push(format!("{}{mark}{text}", label(at)));
            let read = crate::print::read_string(&printer.memory(), at, width, options.elements);
            let end = width.bytes() as u64;
            match read {
                Ok((bytes, more)) => at += bytes.len() as u64 + end * u64::from(!more),
                Err(_) => break,
            }
        }
        return (lines, at);
    }
    let per_line = match (what.format, what.size) {
        (Format::Address, _) => 2,
        (Format::Binary, 1) => 8,
        (Format::Binary, 2) => 8,
        (Format::Binary, 4) => 4,
        (Format::Binary, _) => 2,
        (Format::Char, _) => 8,
        (_, 1) => 8,
        (_, 2) => 8,
        (_, 4) => 4,
        _ => 2,
    };
    let mut left = what.count;
    while left > 0 {
        let mut line = label(at);
        for column in 0..per_line.min(left) {
            let mut bytes = vec![0; what.size as usize];
            if scope.read(at, &mut bytes).is_err() {
                lines.push(format!(
                    "{}Cannot access memory at address {at:#x}",
                    line.trim_end_matches('\t').to_owned() + "\t"
                ));
                return (lines, at);
            }
            if column > 0 {
                line.push('\t');
            }
            line.push_str(&item(&bytes, what, scope));
            at = at.wrapping_add(what.size);
        }
        left -= per_line.min(left);
        lines.push(line);
    }
    (lines, at)
}

fn item(bytes: &[u8], what: Examine, scope: &dyn Scope) -> String {
    match what.format {
        Format::Float if bytes.len() >= 4 => format_float(bytes),
        Format::Hex | Format::Padded => {
            let value = extend(bytes, false) as u128;
            format!("0x{value:0w$x}", w = bytes.len() * 2)
        }
        Format::Binary => {
            let value = extend(bytes, false) as u128;
            format!("{value:0w$b}", w = bytes.len() * 8)
        }
        format => {
            let ty = Type::base("int", Encoding::Signed, bytes.len() as u64);
            scalar(bytes, &ty, format, scope)
        }
    }
}
