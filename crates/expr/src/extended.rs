//! Arithmetic with the 64 bits of mantissa that `long double` has, rounded as the x87 does.
//! What is not finite is left to the numbers of 64 bits, which know the same rules.

use crate::ast::Binary;
use crate::error::EvalError;
use crate::value::Value;
use std::cmp::Ordering;
use verde_symbols::Type;

/// `mantissa * 2^exponent`.
#[derive(Clone, Copy)]
struct Number {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

const BIAS: i32 = 16383;
const SPECIAL: i32 = 0x7fff;

/// Whether a type is `long double`.
pub(crate) fn is_extended(ty: &Type) -> bool {
    let ty = ty.strip();
    ty.is_float() && ty.size() == Some(16) && !ty.is_quad()
}

/// The result of an operation as a `long double`; `None` where that is not for this arithmetic.
pub(crate) fn combined(
    operator: Binary,
    left: &Value,
    right: &Value,
) -> Result<Option<Vec<u8>>, EvalError> {
    let (Some(a), Some(b)) = (rounded(left)?, rounded(right)?) else {
        return Ok(None);
    };
    let result = match operator {
        Binary::Add => sum(a, b),
        Binary::Sub => sum(a, b.negated()),
        Binary::Mul => Number {
            negative: a.negative != b.negative,
            mantissa: a.mantissa * b.mantissa,
            exponent: a.exponent + b.exponent,
        },
        Binary::Div if b.mantissa != 0 => quotient(a, b),
        _ => return Ok(None),
    };
    Ok(Some(result.to_bytes()))
}

/// The order of two numbers as `long double`.
pub(crate) fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, EvalError> {
    let (Some(a), Some(b)) = (rounded(left)?, rounded(right)?) else {
        return Ok(left.to_float()?.partial_cmp(&right.to_float()?));
    };
    let difference = sum(a, b.negated());
    Ok(Some(match (difference.mantissa, difference.negative) {
        (0, _) => Ordering::Equal,
        (_, true) => Ordering::Less,
        (_, false) => Ordering::Greater,
    }))
}

/// A number as a `long double`; `None` when it is not finite.
pub(crate) fn converted(value: &Value) -> Result<Option<Vec<u8>>, EvalError> {
    Ok(Number::of(value)?.map(|n| n.to_bytes()))
}

/// A number with no more bits than the format has, all at the lower end.
fn rounded(value: &Value) -> Result<Option<Number>, EvalError> {
    let bytes = converted(value)?;
    Ok(bytes.and_then(|b| Number::from_bytes(&b)).map(|n| {
        let unused = (n.mantissa as u64).leading_zeros().min(63);
        Number {
            mantissa: n.mantissa << unused,
            exponent: n.exponent - unused as i32,
            ..n
        }
    }))
}

/// Both have their highest bit in the same place, or are zero.
fn sum(a: Number, b: Number) -> Number {
    let zero = |n: &Number| n.mantissa == 0;
    if zero(&a) || zero(&b) {
        return match (zero(&a), zero(&b)) {
            (true, true) => Number {
                negative: a.negative && b.negative,
                ..a
            },
            (true, false) => b,
            _ => a,
        };
    }
    let (large, small) = match a.exponent >= b.exponent {
        true => (a, b),
        false => (b, a),
    };
    const ROOM: u32 = 62;
    let behind = large.exponent.abs_diff(small.exponent);
    let shifted = small.mantissa << ROOM;
    // What falls off at the end counts as a last bit that is set.
    let moved = match behind {
        0..=127 => shifted >> behind | u128::from(shifted >> behind << behind != shifted),
        _ => 1,
    };
    let whole = large.mantissa << ROOM;
    let (mantissa, negative) = match large.negative == small.negative {
        true => (whole + moved, large.negative),
        false if whole >= moved => (whole - moved, large.negative && whole != moved),
        false => (moved - whole, small.negative),
    };
    Number {
        negative,
        mantissa,
        exponent: large.exponent - ROOM as i32,
    }
}

fn quotient(a: Number, b: Number) -> Number {
    let high = (a.mantissa << 64) / b.mantissa;
    let rest = (a.mantissa << 64) % b.mantissa;
    // More bits than the format has, and one for what is left.
    let (low, left) = ((rest << 8) / b.mantissa, (rest << 8) % b.mantissa);
    Number {
        negative: a.negative != b.negative,
        mantissa: high << 8 | low | u128::from(left != 0),
        exponent: a.exponent - b.exponent - 72,
    }
}

impl Number {
    fn of(value: &Value) -> Result<Option<Number>, EvalError> {
        if is_extended(&value.ty) {
            return Ok(Number::from_bytes(value.bytes()?));
        }
        if value.ty.is_float() {
            let number = value.to_float()?;
            let bits = number.to_bits();
            let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
            let leading = u64::from(exponent != 0) << 52;
            return Ok(number.is_finite().then_some(Number {
                negative: number.is_sign_negative(),
                mantissa: (leading | fraction).into(),
                exponent: exponent.max(1) - 1075,
            }));
        }
        let number = value.to_integer()?;
        let negative = number < 0 && !value.ty.is_unsigned();
        Ok(Some(Number {
            negative,
            mantissa: match negative {
                true => number.unsigned_abs(),
                false => number as u128,
            },
            exponent: 0,
        }))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Number> {
        let mantissa = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let top = u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?);
        let exponent = i32::from(top & 0x7fff);
        (exponent != SPECIAL).then_some(Number {
            negative: top & 0x8000 != 0,
            mantissa: mantissa.into(),
            exponent: exponent.max(1) - BIAS - 63,
        })
    }

    fn negated(self) -> Number {
        Number {
            negative: !self.negative,
            ..self
        }
    }

    /// The nearest number of the format, the even one of two.
    fn to_bytes(self) -> Vec<u8> {
        let bits = 128 - self.mantissa.leading_zeros() as i32;
        // How many go; a number that is too small for the exponent loses more.
        let lost = (bits - 64).max(1 - BIAS - 63 - self.exponent);
        let (mut mantissa, mut exponent) = match lost {
            1.. => (halves(self.mantissa, lost), self.exponent + lost),
            _ => (self.mantissa << -lost, self.exponent + lost),
        };
        if mantissa >> 64 != 0 {
            (mantissa, exponent) = (mantissa >> 1, exponent + 1);
        }
        let is_normal = mantissa >> 63 != 0;
        let biased = if is_normal { exponent + BIAS + 63 } else { 0 };
        let (mantissa, biased) = match biased >= SPECIAL {
            true => (1 << 63, SPECIAL),
            false => (mantissa as u64, biased),
        };
        let sign = u16::from(self.negative) << 15;
        let mut bytes = mantissa.to_le_bytes().to_vec();
        bytes.extend((biased as u16 | sign).to_le_bytes());
        bytes.resize(16, 0);
        bytes
    }
}

/// Without so many bits at the end, rounded.
fn halves(mantissa: u128, lost: i32) -> u128 {
    if lost > 127 {
        return 0;
    }
    let kept = mantissa >> lost;
    let (rest, half) = (mantissa - (kept << lost), 1u128 << (lost - 1));
    match rest.cmp(&half) {
        Ordering::Greater => kept + 1,
        Ordering::Equal => kept + (kept & 1),
        Ordering::Less => kept,
    }
}
