//! Floating-point numbers as C's `%g` writes them, the 80-bit format of the x87 and IEEE's of 128 bits.

/// Numbers of 128 bits are shown, and not calculated with.
pub(crate) const UNSUPPORTED_QUAD: &str = "unsupported _Float128";

/// The number in 4, 8, 10 or 16 bytes.
pub(crate) fn from_bytes(bytes: &[u8]) -> f64 {
    match bytes.len() {
        4 => f32::from_le_bytes(bytes.try_into().unwrap_or_default()).into(),
        8 => f64::from_le_bytes(bytes.try_into().unwrap_or_default()),
        10.. => Extended::from_bytes(bytes).to_f64(),
        _ => f64::NAN,
    }
}

/// gdb's text for the number: as many digits as tell it apart, in `%g` form.
pub fn format_float(bytes: &[u8]) -> String {
    match bytes.len() {
        4 => {
            let value = f32::from_le_bytes(bytes.try_into().unwrap_or_default());
            let bits = value.to_bits();
            special(
                value.is_nan(),
                value.is_infinite(),
                bits >> 31 != 0,
                (bits & 0x7f_ffff).into(),
            )
            .unwrap_or_else(|| general(value.into(), 9))
        }
        8 => {
            let value = f64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let bits = value.to_bits();
            let mantissa = bits & 0xf_ffff_ffff_ffff;
            special(
                value.is_nan(),
                value.is_infinite(),
                bits >> 63 != 0,
                mantissa,
            )
            .unwrap_or_else(|| general(value, 17))
        }
        10.. => Extended::from_bytes(bytes).format(),
        n => format!("<invalid float value of {n} bytes>"),
    }
}

/// The same of IEEE's format of 128 bits.
pub(crate) fn format_quad(bytes: &[u8]) -> String {
    let bits = u128::from_le_bytes(bytes.try_into().unwrap_or_default());
    let (negative, exponent) = (bits >> 127 != 0, (bits >> 112 & 0x7fff) as i32);
    let fraction = bits & ((1 << 112) - 1);
    let sign = if negative { "-" } else { "" };
    match (exponent, fraction) {
        (0x7fff, 0) => format!("{sign}inf"),
        (0x7fff, _) => format!("{sign}nan({fraction:#x})"),
        (0, 0) => format!("{sign}0"),
        _ => {
            let leading = if exponent == 0 { 0 } else { 1 << 112 };
            let scale = exponent.max(1) - 16383 - 112;
            let (figures, exponent) = decimal(leading | fraction, scale, 36);
            assemble(negative, &figures, exponent, 36)
        }
    }
}

/// What is in a register of the x87, in gdb's words: those that only such a register can hold
/// among them.
pub fn x87_text(bytes: &[u8]) -> String {
    let number = Extended::from_bytes(bytes);
    let (whole, fraction) = (number.mantissa >> 63 != 0, number.mantissa << 1 >> 1);
    let value = || {
        let text = number.finite(19);
        let sign = if number.negative { "" } else { "+" };
        format!(" {:<27}", format!("{sign}{text}"))
    };
    const QUIET: u64 = 1 << 62;
    match (number.exponent, whole) {
        (0x7fff, true) if fraction == 0 => {
            format!(" {}Inf", if number.negative { '-' } else { '+' })
        }
        (0x7fff, true) if number.negative && fraction == QUIET => {
            " Real Indefinite (QNaN)".to_owned()
        }
        (0x7fff, true) if fraction & QUIET != 0 => " QNaN".to_owned(),
        (0x7fff, true) => " SNaN".to_owned(),
        (0, true) => value() + " Pseudo-denormal",
        (0, false) if fraction != 0 => value() + " Denormal",
        (0, false) | (_, true) => value(),
        _ => " Unsupported".to_owned(),
    }
}

fn special(nan: bool, infinite: bool, negative: bool, mantissa: u64) -> Option<String> {
    let sign = if negative { "-" } else { "" };
    if nan {
        return Some(format!("{sign}nan({mantissa:#x})"));
    }
    infinite.then(|| format!("{sign}inf"))
}

/// `%.{digits}g`.
pub(crate) fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let negative = mantissa.starts_with('-');
    let figures: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    assemble(negative, &figures, exponent, digits)
}

/// Puts figures `d.ddd` times ten to the exponent in the shorter of the two forms of `%g`.
fn assemble(negative: bool, figures: &str, exponent: i32, digits: usize) -> String {
    let sign = if negative { "-" } else { "" };
    if exponent < -4 || exponent >= digits as i32 {
        let (first, rest) = figures.split_at(1);
        let rest = rest.trim_end_matches('0');
        let point = if rest.is_empty() { "" } else { "." };
        let e = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{e}{:02}", exponent.abs());
    }
    if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return format!("{sign}0.{zeros}{}", figures.trim_end_matches('0'));
    }
    let (whole, fraction) = figures.split_at((exponent as usize + 1).min(figures.len()));
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// The x87 format: sign, 15 bits of exponent, 64 bits of mantissa with its leading one.
struct Extended {
    negative: bool,
    exponent: i32,
    mantissa: u64,
}

impl Extended {
    fn from_bytes(bytes: &[u8]) -> Extended {
        let mantissa = bytes.get(..8).and_then(|b| b.try_into().ok());
        let top = bytes.get(8..10).and_then(|b| b.try_into().ok());
        let top = u16::from_le_bytes(top.unwrap_or_default());
        Extended {
            negative: top & 0x8000 != 0,
            exponent: i32::from(top & 0x7fff),
            mantissa: u64::from_le_bytes(mantissa.unwrap_or_default()),
        }
    }

    fn to_f64(&self) -> f64 {
        let sign = if self.negative { -1.0 } else { 1.0 };
        if self.exponent == 0x7fff {
            let infinite = self.mantissa << 1 == 0;
            return if infinite {
                sign * f64::INFINITY
            } else {
                f64::NAN
            };
        }
        let scale = self.exponent.max(1) - 16383 - 63;
        // In two steps: one power of two may be out of range where the product is not.
        let half = scale / 2;
        sign * self.mantissa as f64 * 2f64.powi(half) * 2f64.powi(scale - half)
    }

    fn format(&self) -> String {
        if self.exponent == 0x7fff {
            let fraction = self.mantissa << 1 >> 1;
            return special(fraction != 0, fraction == 0, self.negative, self.mantissa)
                .unwrap_or_default();
        }
        self.finite(21)
    }

    /// `%.{digits}Lg`.
    fn finite(&self, digits: usize) -> String {
        if self.mantissa == 0 {
            return if self.negative { "-0" } else { "0" }.to_owned();
        }
        let scale = self.exponent.max(1) - 16383 - 63;
        let (figures, exponent) = decimal(self.mantissa.into(), scale, digits);
        assemble(self.negative, &figures, exponent, digits)
    }
}

/// `mantissa * 2^scale` as `digits` decimal figures and the exponent of the first.
fn decimal(mantissa: u128, scale: i32, digits: usize) -> (String, i32) {
    // As a whole number: times ten to a power that keeps enough figures before the point.
    let mut number = Big::from(mantissa);
    let mut shifted = 0i32;
    if scale >= 0 {
        number.shift_left(scale as u32);
    } else {
        let wanted = digits as i32 + 2;
        let bits = 128 - mantissa.leading_zeros() as i32;
        let have = (f64::from(bits + scale) * std::f64::consts::LOG10_2) as i32;
        shifted = (wanted - have).max(0) + 20;
        for _ in 0..shifted {
            number.multiply(10);
        }
        number.shift_right(scale.unsigned_abs());
    }
    let mut figures = number.to_decimal();
    let mut exponent = figures.len() as i32 - 1 - shifted;
    if figures.len() > digits {
        let round_up = figures.as_bytes()[digits] >= b'5';
        figures.truncate(digits);
        if round_up {
            let mut all: Vec<u8> = figures.into_bytes();
            let mut at = digits;
            loop {
                if at == 0 {
                    all.insert(0, b'1');
                    all.pop();
                    exponent += 1;
                    break;
                }
                at -= 1;
                if all[at] == b'9' {
                    all[at] = b'0';
                } else {
                    all[at] += 1;
                    break;
                }
            }
            figures = String::from_utf8_lossy(&all).into_owned();
        }
    }
    (figures, exponent)
}

/// Just enough of a big number to print one.
struct Big(Vec<u32>);

impl Big {
    fn from(value: u128) -> Big {
        Big((0..4).map(|i| (value >> (32 * i)) as u32).collect())
    }

    fn multiply(&mut self, by: u32) {
        let mut carry = 0u64;
        for word in &mut self.0 {
            let product = u64::from(*word) * u64::from(by) + carry;
            *word = product as u32;
            carry = product >> 32;
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
    }

    fn shift_left(&mut self, bits: u32) {
        for _ in 0..bits / 16 {
            self.multiply(1 << 16);
        }
        self.multiply(1 << (bits % 16));
    }

    fn shift_right(&mut self, bits: u32) {
        let words = (bits / 32) as usize;
        self.0.drain(..words.min(self.0.len()));
        let bits = bits % 32;
        if bits > 0 {
            let mut carry = 0;
            for word in self.0.iter_mut().rev() {
                let next = *word << (32 - bits);
                *word = *word >> bits | carry;
                carry = next;
            }
        }
    }

    fn to_decimal(&self) -> String {
        let mut words = self.0.clone();
        let mut groups = Vec::new();
        while words.iter().any(|&w| w != 0) {
            let mut rest = 0u64;
            for word in words.iter_mut().rev() {
                let value = rest << 32 | u64::from(*word);
                *word = (value / 1_000_000_000) as u32;
                rest = value % 1_000_000_000;
            }
            while words.last() == Some(&0) {
                words.pop();
            }
            groups.push(rest);
        }
        let mut out = String::new();
        for (i, group) in groups.iter().rev().enumerate() {
            let text = if i == 0 {
                group.to_string()
            } else {
                format!("{group:09}")
            };
            out.push_str(&text);
        }
        if out.is_empty() { "0".to_owned() } else { out }
    }
}

/// An x87 number from a double, in the 16 bytes of a `long double`.
pub(crate) fn to_extended(value: f64) -> Vec<u8> {
    let mut out = vec![0; 16];
    let bits = value.to_bits();
    let sign = (bits >> 63) as u16;
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & 0xf_ffff_ffff_ffff;
    let (exponent, mantissa) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, f) => {
            let shift = f.leading_zeros();
            (16383 - 1022 + 11 - shift as i32, f << shift)
        }
        (0x7ff, f) => (0x7fff, 1 << 63 | f << 11),
        (e, f) => (e - 1023 + 16383, 1 << 63 | f << 11),
    };
    out[..8].copy_from_slice(&u64::to_le_bytes(mantissa));
    out[8..10].copy_from_slice(&(sign << 15 | exponent as u16).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_read_as_printf_writes_them() {
        for (value, text) in [
            (0.1, "0.10000000000000001"),
            (1e100, "1e+100"),
            (-3.25, "-3.25"),
            (100000.0, "100000"),
            (1e-5, "1.0000000000000001e-05"),
            (123456789.0, "123456789"),
            (1e17, "1e+17"),
            (0.0, "0"),
            (-0.0, "-0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(format_float(&f64::to_le_bytes(value)), text);
        }
        assert_eq!(format_float(&0.1f32.to_le_bytes()), "0.100000001");
    }

    #[test]
    fn extended_numbers_keep_their_figures() {
        for (value, text) in [
            (1.5, "1.5"),
            (-0.25, "-0.25"),
            (1e100, "1.0000000000000000159e+100"),
        ] {
            assert_eq!(format_float(&to_extended(value)), text);
            assert_eq!(from_bytes(&to_extended(value)), value);
        }
    }
}
