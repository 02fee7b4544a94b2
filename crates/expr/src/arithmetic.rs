//! Arithmetic, comparison and conversion of scalars.

use crate::ast::Binary;
use crate::error::EvalError;
use crate::extended::{combined, converted, is_extended, order};
use crate::float::UNSUPPORTED_QUAD;
use crate::nodes::bad;
use crate::value::{Data, Value, extend};
use verde_symbols::{Encoding, Kind, LocationError, Memory, Type};

/// A bit-field of a value.
/// What so many bits, at most 126, keep of a number.
pub(crate) fn in_bits(number: i128, width: u64, ty: &Type) -> i128 {
    let kept = number & ((1 << width) - 1);
    let is_negative = width > 0 && kept >> (width - 1) & 1 == 1;
    match is_negative && !ty.is_unsigned() {
        true => kept - (1 << width),
        false => kept,
    }
}

pub(crate) fn bit_field(
    base: &Value,
    ty: Type,
    (bit, width): (u64, u64),
    memory: &dyn Memory,
) -> Value {
    // Wider than any integer: a corrupt file's.
    let width = width.min(126);
    let start = bit / 8;
    let size = (bit % 8 + width).div_ceil(8);
    let bytes = Type::base("bits", Encoding::UnsignedChar, 1).array_of(size);
    let holder = base.part(bytes, start, memory);
    let data = match &holder.data {
        Data::Bytes(bytes) => {
            let raw = extend(bytes, false) >> (bit % 8);
            let number = in_bits(raw, width, &ty);
            let size = ty.size().unwrap_or(4).min(16) as usize;
            Data::Bytes(number.to_le_bytes()[..size].to_vec())
        }
        Data::Partly(..) => Data::Missing(LocationError::OptimizedOut),
        other => other.clone(),
    };
    Value {
        ty,
        data,
        lvalue: base.lvalue.clone(),
        bits: Some((bit, width)),
        is_uninitialized: false,
    }
}

/// A scalar as another scalar type.
pub(crate) fn convert(value: &Value, ty: &Type) -> Result<Value, EvalError> {
    let to = ty.strip();
    match to.kind() {
        Kind::Base(Encoding::Float) if to.is_quad() => match value.ty.strip() == to {
            true => Ok(value.clone()),
            false => bad(UNSUPPORTED_QUAD),
        },
        Kind::Base(Encoding::Float) => {
            let scalar = complex_parts(value)?.map_or_else(|| value.clone(), |[real, _]| real);
            match converted(&scalar)?.filter(|_| is_extended(ty)) {
                Some(bytes) => Ok(Value::of(ty.clone(), bytes)),
                None => Ok(Value::float(ty.clone(), scalar.to_float()?)),
            }
        }
        Kind::Base(Encoding::ComplexFloat) => complex(value, ty),
        Kind::Base(Encoding::Bool) => Ok(Value::integer(ty.clone(), value.to_bool()?.into())),
        Kind::Base(_)
        | Kind::Enum
        | Kind::Pointer(_)
        | Kind::MemberPointer(..)
        | Kind::Reference(_)
        | Kind::RvalueReference(_) => {
            let plain = value.ty.strip();
            let number = match plain.kind() {
                Kind::Reference(_) | Kind::RvalueReference(_) => extend(value.bytes()?, false),
                _ => value.to_integer()?,
            };
            Ok(Value::integer(ty.clone(), number))
        }
        _ if to.size() == value.ty.size() => Ok(Value {
            ty: ty.clone(),
            ..value.clone()
        }),
        _ => Err(EvalError::BadType("Invalid cast.".into())),
    }
}

/// The type of the two parts of a complex number.
fn part_of_complex(ty: &Type) -> Type {
    let name = if ty.is_quad() { "_Float128" } else { "part" };
    Type::base(name, Encoding::Float, ty.size().unwrap_or(0) / 2)
}

/// A number as a complex one: what is real has no imaginary part.
fn complex(value: &Value, ty: &Type) -> Result<Value, EvalError> {
    let part = part_of_complex(&ty.strip());
    let parts = match complex_parts(value)? {
        Some(parts) => parts,
        None => [
            value.clone(),
            Value::integer(Type::base("int", Encoding::Signed, 4), 0),
        ],
    };
    let mut bytes = Vec::new();
    for number in &parts {
        bytes.extend_from_slice(convert(number, &part)?.bytes()?);
    }
    Ok(Value::of(ty.clone(), bytes))
}

/// The real and the imaginary part of a complex number.
pub(crate) fn complex_parts(value: &Value) -> Result<Option<[Value; 2]>, EvalError> {
    let plain = value.ty.strip();
    let Kind::Base(Encoding::ComplexFloat) = plain.kind() else {
        return Ok(None);
    };
    let part = part_of_complex(&plain);
    let bytes = value.bytes()?;
    let (real, imaginary) = bytes.split_at(bytes.len() / 2);
    let of = |bytes: &[u8]| Value::of(part.clone(), bytes.to_vec());
    Ok(Some([of(real), of(imaginary)]))
}

/// The bytes of a floating-point number with the other sign.
pub(crate) fn negated(number: &Value) -> Result<Vec<u8>, EvalError> {
    let mut bytes = number.bytes()?.to_vec();
    // After the sign of an x87's number there is padding.
    let top = match is_extended(&number.ty) {
        true => bytes.get_mut(9),
        false => bytes.last_mut(),
    };
    if let Some(byte) = top {
        *byte ^= 0x80;
    }
    Ok(bytes)
}

/// A number cut to a type's bits.
pub(crate) fn wrap(value: i128, ty: &Type) -> i128 {
    let size = ty.size().unwrap_or(8).min(16) as usize;
    extend(&value.to_le_bytes()[..size], !ty.is_unsigned())
}

pub(crate) fn arithmetic(
    operator: Binary,
    left: &Value,
    right: &Value,
    common: &Type,
) -> Result<Value, EvalError> {
    if common.is_float() {
        if is_extended(common)
            && let Some(bytes) = combined(operator, left, right)?
        {
            return Ok(Value::of(common.clone(), bytes));
        }
        let (a, b) = (left.to_float()?, right.to_float()?);
        let result = match operator {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            _ => {
                return Err(EvalError::BadType(
                    "Integer only operation on floating-point values.".into(),
                ));
            }
        };
        return Ok(Value::float(common.clone(), result));
    }
    let (a, b) = (wrap(left.to_integer()?, common), right.to_integer()?);
    let bits = common.size().unwrap_or(8) * 8;
    // Those of 128 bits without sign look negative here.
    let unsigned = common.is_unsigned();
    let result = match operator {
        Binary::Shl if b < 0 || b >= bits as i128 => 0,
        Binary::Shl => a.wrapping_shl(b as u32),
        Binary::Shr if b < 0 || b >= bits as i128 => {
            if a < 0 && !unsigned {
                -1
            } else {
                0
            }
        }
        Binary::Shr if unsigned => (a as u128 >> b) as i128,
        Binary::Shr => a >> b,
        _ => {
            let b = wrap(b, common);
            match operator {
                Binary::Add => a.wrapping_add(b),
                Binary::Sub => a.wrapping_sub(b),
                Binary::Mul => a.wrapping_mul(b),
                Binary::Div if b == 0 => return Err(EvalError::DivisionByZero),
                Binary::Div if unsigned => (a as u128 / b as u128) as i128,
                Binary::Div => a.wrapping_div(b),
                Binary::Rem if b == 0 => return Err(EvalError::DivisionByZero),
                Binary::Rem if unsigned => (a as u128 % b as u128) as i128,
                Binary::Rem => a.wrapping_rem(b),
                Binary::And => a & b,
                Binary::Or => a | b,
                Binary::Xor => a ^ b,
                _ => return Err(EvalError::BadType("not an arithmetic operation".into())),
            }
        }
    };
    Ok(Value::integer(common.clone(), result))
}

pub(crate) fn compare(
    operator: Binary,
    left: &Value,
    right: &Value,
    common: &Type,
) -> Result<bool, EvalError> {
    use std::cmp::Ordering::*;
    let order = if is_extended(common) {
        order(left, right)?
    } else if common.is_float() {
        left.to_float()?.partial_cmp(&right.to_float()?)
    } else {
        let (a, b) = (
            wrap(left.to_integer()?, common),
            wrap(right.to_integer()?, common),
        );
        Some(match common.is_unsigned() {
            true => (a as u128).cmp(&(b as u128)),
            false => a.cmp(&b),
        })
    };
    Ok(match operator {
        Binary::Eq => order == Some(Equal),
        Binary::Ne => order != Some(Equal),
        Binary::Lt => order == Some(Less),
        Binary::Gt => order == Some(Greater),
        Binary::Le => matches!(order, Some(Less | Equal)),
        _ => matches!(order, Some(Greater | Equal)),
    })
}
