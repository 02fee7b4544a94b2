//! Python's numbers as far as 64 bits go: exact, or [`Wide`] so that the caller
//! can fall back before anything is stored.

use crate::cell::{Cell, Tag};
use std::cmp::Ordering;
use verde_property::ir::{BinOp, CmpOp, Const};

/// A value of the typed subset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    None,
    Bool(bool),
    Int(i64),
    /// 2^63 and above.
    UInt(u64),
    Float(f64),
}

/// Why an operation has no value here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The exact result needs more than 64 bits, or rounding that only Python does.
    Wide,
    /// Operands that do not go together (`None < 1`).
    Type,
    ZeroDivision(&'static str),
    NegativeShift,
}

impl Num {
    pub fn of_const(c: Const) -> Num {
        match c {
            Const::None => Num::None,
            Const::Bool(b) => Num::Bool(b),
            Const::Int(i) => Num::Int(i),
            Const::UInt(u) => Num::UInt(u),
            Const::Float(f) => Num::Float(f),
        }
    }

    /// `None` for a cell whose value only the host knows, or that is unset.
    pub fn of_cell(c: Cell) -> Option<Num> {
        Some(match c.tag {
            Tag::None => Num::None,
            Tag::Bool => Num::Bool(c.bits != 0),
            Tag::Int => Num::Int(c.bits as i64),
            Tag::UInt => Num::UInt(c.bits),
            Tag::Float => Num::Float(f64::from_bits(c.bits)),
            Tag::Unset | Tag::Text | Tag::Json | Tag::Other => return None,
        })
    }

    pub fn cell(self) -> Cell {
        match self {
            Num::None => Cell::NONE,
            Num::Bool(b) => Cell::bool(b),
            Num::Int(i) => Cell::int(i),
            Num::UInt(u) => Cell::uint(u),
            Num::Float(f) => Cell::float(f),
        }
    }

    pub fn truth(self) -> bool {
        match self {
            Num::None => false,
            Num::Bool(b) => b,
            Num::Int(i) => i != 0,
            Num::UInt(_) => true,
            Num::Float(f) => f != 0.0,
        }
    }

    /// A bool counts as 0 or 1.
    fn whole(self) -> Option<i128> {
        match self {
            Num::Bool(b) => Some(b as i128),
            Num::Int(i) => Some(i as i128),
            Num::UInt(u) => Some(u as i128),
            Num::None | Num::Float(_) => None,
        }
    }

    fn as_float(self) -> Option<f64> {
        match self {
            Num::Float(f) => Some(f),
            other => other.whole().map(|w| w as f64),
        }
    }
}

fn narrow(w: i128) -> Result<Num, Trouble> {
    if let Ok(i) = i64::try_from(w) {
        Ok(Num::Int(i))
    } else if let Ok(u) = u64::try_from(w) {
        Ok(Num::UInt(u))
    } else {
        Err(Trouble::Wide)
    }
}

pub fn negate(v: Num) -> Result<Num, Trouble> {
    match v {
        Num::Float(f) => Ok(Num::Float(-f)),
        v => v.whole().ok_or(Trouble::Type).and_then(|w| narrow(-w)),
    }
}

pub fn plus(v: Num) -> Result<Num, Trouble> {
    match v {
        Num::Float(_) => Ok(v),
        v => v.whole().ok_or(Trouble::Type).and_then(narrow),
    }
}

pub fn invert(v: Num) -> Result<Num, Trouble> {
    v.whole().ok_or(Trouble::Type).and_then(|w| narrow(!w))
}

pub fn binary(op: BinOp, l: Num, r: Num) -> Result<Num, Trouble> {
    if let (Num::Int(a), Num::Int(b)) = (l, r) {
        let quick = match op {
            BinOp::Add => a.checked_add(b),
            BinOp::Sub => a.checked_sub(b),
            BinOp::Mul => a.checked_mul(b),
            _ => None,
        };
        if let Some(v) = quick {
            return Ok(Num::Int(v));
        }
    }
    match op {
        BinOp::And | BinOp::Or | BinOp::Xor => return bitwise(op, l, r),
        BinOp::Shl | BinOp::Shr => return shift(op, l, r),
        _ => {}
    }
    match (l.whole(), r.whole()) {
        (Some(a), Some(b)) => whole(op, a, b),
        _ => match (l.as_float(), r.as_float()) {
            (Some(a), Some(b)) => float(op, a, b),
            _ => Err(Trouble::Type),
        },
    }
}

fn whole(op: BinOp, a: i128, b: i128) -> Result<Num, Trouble> {
    const ZERO: &str = "integer division or modulo by zero";
    match op {
        BinOp::Add => narrow(a + b),
        BinOp::Sub => narrow(a - b),
        BinOp::Mul => a.checked_mul(b).ok_or(Trouble::Wide).and_then(narrow),
        BinOp::Div => {
            if b == 0 {
                return Err(Trouble::ZeroDivision("division by zero"));
            }
            // Python rounds the exact quotient once; that is this quotient
            // whenever both operands are exact floats.
            let exact = |w: i128| w.unsigned_abs() <= 1 << 53;
            if exact(a) && exact(b) {
                Ok(Num::Float(a as f64 / b as f64))
            } else {
                Err(Trouble::Wide)
            }
        }
        BinOp::FloorDiv if b == 0 => Err(Trouble::ZeroDivision(ZERO)),
        BinOp::Mod if b == 0 => Err(Trouble::ZeroDivision("integer modulo by zero")),
        BinOp::FloorDiv => {
            let q = a / b;
            narrow(if a % b != 0 && (a < 0) != (b < 0) {
                q - 1
            } else {
                q
            })
        }
        BinOp::Mod => {
            let m = a % b;
            narrow(if m != 0 && (m < 0) != (b < 0) {
                m + b
            } else {
                m
            })
        }
        BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => Err(Trouble::Type),
    }
}

fn float(op: BinOp, a: f64, b: f64) -> Result<Num, Trouble> {
    Ok(Num::Float(match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div if b == 0.0 => return Err(Trouble::ZeroDivision("float division by zero")),
        BinOp::Div => a / b,
        BinOp::FloorDiv if b == 0.0 => {
            return Err(Trouble::ZeroDivision("float floor division by zero"));
        }
        BinOp::Mod if b == 0.0 => return Err(Trouble::ZeroDivision("float modulo")),
        BinOp::FloorDiv => float_divmod(a, b).0,
        BinOp::Mod => float_divmod(a, b).1,
        BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => return Err(Trouble::Type),
    }))
}

/// Floor division and modulo of floats with Python's signs and rounding.
fn float_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut m = a % b;
    let mut q = (a - m) / b;
    if m != 0.0 {
        if (b < 0.0) != (m < 0.0) {
            m += b;
            q -= 1.0;
        }
    } else {
        m = 0f64.copysign(b);
    }
    let q = if q != 0.0 {
        let down = q.floor();
        if q - down > 0.5 { down + 1.0 } else { down }
    } else {
        0f64.copysign(a / b)
    };
    (q, m)
}

fn bitwise(op: BinOp, l: Num, r: Num) -> Result<Num, Trouble> {
    if let (Num::Bool(a), Num::Bool(b)) = (l, r) {
        return Ok(Num::Bool(match op {
            BinOp::And => a & b,
            BinOp::Or => a | b,
            _ => a ^ b,
        }));
    }
    let (Some(a), Some(b)) = (l.whole(), r.whole()) else {
        return Err(Trouble::Type);
    };
    narrow(match op {
        BinOp::And => a & b,
        BinOp::Or => a | b,
        _ => a ^ b,
    })
}

fn shift(op: BinOp, l: Num, r: Num) -> Result<Num, Trouble> {
    let (Some(a), Some(b)) = (l.whole(), r.whole()) else {
        return Err(Trouble::Type);
    };
    if b < 0 {
        return Err(Trouble::NegativeShift);
    }
    if op == BinOp::Shr {
        return narrow(a >> b.min(127));
    }
    if a == 0 {
        return Ok(Num::Int(0));
    }
    if b > 63 {
        return Err(Trouble::Wide);
    }
    narrow(a << b)
}

#[inline]
pub fn compare(op: CmpOp, l: Num, r: Num) -> Result<bool, Trouble> {
    if let (Num::Int(a), Num::Int(b)) = (l, r) {
        return Ok(holds(op, a.cmp(&b)));
    }
    let order = match (l, r) {
        (Num::None, Num::None) if matches!(op, CmpOp::Eq | CmpOp::Ne) => Some(Ordering::Equal),
        (Num::None, _) | (_, Num::None) => {
            return match op {
                CmpOp::Eq => Ok(false),
                CmpOp::Ne => Ok(true),
                _ => Err(Trouble::Type),
            };
        }
        _ => match (l.whole(), r.whole()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            (Some(a), None) => r.as_float().and_then(|f| whole_with_float(a, f)),
            (None, Some(b)) => l
                .as_float()
                .and_then(|f| whole_with_float(b, f))
                .map(Ordering::reverse),
            (None, None) => match (l.as_float(), r.as_float()) {
                (Some(a), Some(b)) => a.partial_cmp(&b),
                _ => None,
            },
        },
    };
    // Only nan has no order: unequal to everything.
    Ok(order.map_or(op == CmpOp::Ne, |o| holds(op, o)))
}

#[inline]
pub(crate) fn holds(op: CmpOp, o: Ordering) -> bool {
    match op {
        CmpOp::Eq => o.is_eq(),
        CmpOp::Ne => o.is_ne(),
        CmpOp::Lt => o.is_lt(),
        CmpOp::Le => o.is_le(),
        CmpOp::Gt => o.is_gt(),
        CmpOp::Ge => o.is_ge(),
    }
}

/// Exact, as in Python: 2^53 + 1 is not equal to the float 2^53.
fn whole_with_float(a: i128, f: f64) -> Option<Ordering> {
    if f.is_nan() {
        return None;
    }
    if f.abs() >= 1e30 {
        return Some(if f > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    let down = f.floor();
    Some(a.cmp(&(down as i128)).then(if f > down {
        Ordering::Less
    } else {
        Ordering::Equal
    }))
}

/// `str(v)`.
pub fn text(v: Num, out: &mut String) {
    use std::fmt::Write;
    // Writing to a String does not fail.
    let _ = match v {
        Num::None => out.write_str("None"),
        Num::Bool(b) => out.write_str(if b { "True" } else { "False" }),
        Num::Int(i) => write!(out, "{i}"),
        Num::UInt(u) => write!(out, "{u}"),
        Num::Float(f) => {
            float_text(f, out);
            Ok(())
        }
    };
}

/// `repr` of a float: the shortest digits that give it back, exponent from 1e16 on.
pub fn float_text(f: f64, out: &mut String) {
    use std::fmt::Write;
    if f.is_nan() {
        out.push_str("nan");
        return;
    }
    if f.is_infinite() {
        out.push_str(if f > 0.0 { "inf" } else { "-inf" });
        return;
    }
    let scientific = format!("{f:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if f != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{:02}", exponent.abs());
    } else {
        let start = out.len();
        let _ = write!(out, "{f}");
        if !out[start..].contains('.') {
            out.push_str(".0");
        }
    }
}

/// `'%d' % v`.
pub fn decimal(v: Num, out: &mut String) -> Result<(), Trouble> {
    use std::fmt::Write;
    let w = match v {
        Num::Float(f) if f.abs() < 1e30 => f.trunc() as i128,
        Num::Float(_) => return Err(Trouble::Wide),
        v => v.whole().ok_or(Trouble::Type)?,
    };
    let _ = write!(out, "{w}");
    Ok(())
}

/// `'%x' % v`.
pub fn hex(v: Num, out: &mut String) -> Result<(), Trouble> {
    use std::fmt::Write;
    let w = v.whole().ok_or(Trouble::Type)?;
    let sign = if w < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{:x}", w.unsigned_abs());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_floors() {
        let div = |a, b| binary(BinOp::FloorDiv, Num::Int(a), Num::Int(b)).unwrap();
        let rem = |a, b| binary(BinOp::Mod, Num::Int(a), Num::Int(b)).unwrap();
        for (a, b, q, m) in [
            (7, 2, 3, 1),
            (-7, 2, -4, 1),
            (7, -2, -4, -1),
            (-7, -2, 3, -1),
            (6, 3, 2, 0),
        ] {
            assert_eq!(
                (div(a, b), rem(a, b)),
                (Num::Int(q), Num::Int(m)),
                "{a} {b}"
            );
        }
    }

    #[test]
    fn integers_are_exact_or_wide() {
        let big = Num::Int(i64::MAX);
        assert_eq!(binary(BinOp::Add, big, Num::Int(1)), Ok(Num::UInt(1 << 63)));
        assert_eq!(binary(BinOp::Mul, big, big), Err(Trouble::Wide));
        assert_eq!(
            binary(BinOp::Sub, Num::Int(i64::MIN), Num::Int(1)),
            Err(Trouble::Wide)
        );
        assert_eq!(negate(Num::Int(i64::MIN)), Ok(Num::UInt(1 << 63)));
        assert_eq!(
            binary(BinOp::Add, Num::Bool(true), Num::Bool(true)),
            Ok(Num::Int(2))
        );
    }

    #[test]
    fn comparison_with_floats_is_exact() {
        let odd = (1i64 << 53) + 1;
        let even = (1u64 << 53) as f64;
        assert_eq!(
            compare(CmpOp::Eq, Num::Int(odd), Num::Float(even)),
            Ok(false)
        );
        assert_eq!(
            compare(CmpOp::Gt, Num::Int(odd), Num::Float(even)),
            Ok(true)
        );
        assert_eq!(compare(CmpOp::Lt, Num::Int(-1), Num::Float(-0.5)), Ok(true));
        assert_eq!(
            compare(CmpOp::Ne, Num::Float(f64::NAN), Num::Float(f64::NAN)),
            Ok(true)
        );
        assert_eq!(
            compare(CmpOp::Lt, Num::None, Num::Int(1)),
            Err(Trouble::Type)
        );
        assert_eq!(compare(CmpOp::Eq, Num::None, Num::Int(0)), Ok(false));
    }

    #[test]
    fn floats_print_as_in_python() {
        for (f, want) in [
            (0.1, "0.1"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (9999999999999998.0, "9999999999999998.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::INFINITY, "inf"),
        ] {
            let mut s = String::new();
            float_text(f, &mut s);
            assert_eq!(s, want);
        }
    }
}
