//! Values: a type, bytes or the reason there are none, and where they came from.

use crate::arithmetic::{bit_field, complex_parts};
use crate::containers::virtual_base_offset;
use crate::error::EvalError;
use crate::float::UNSUPPORTED_QUAD;
use crate::nodes::bad;
use crate::padding::padded;
use verde_symbols::{Encoding, Kind, LocationError, Member, Memory, Place, Type};

/// Values above this are read piece by piece, never as a whole.
pub(crate) const WHOLE: u64 = 8 << 20;

/// The contents of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Read already.
    Bytes(Vec<u8>),
    /// Read as far as the compiler has kept it: for each byte whether it is known. Only of types
    /// that have parts.
    Partly(Vec<u8>, Vec<bool>),
    /// In memory, not read yet: large values, and functions, which are never read.
    Memory(u64),
    /// Not there, and why.
    Missing(LocationError),
}

/// Where a value can be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Lvalue {
    /// In memory.
    Memory(u64),
    /// In a register, some bytes into it.
    Register(u16, u64),
    /// A convenience variable.
    Convenience(String),
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    /// Its contents.
    pub data: Data,
    /// Where it can be written, if anywhere.
    pub lvalue: Option<Lvalue>,
    /// For a bit-field: first bit and width in the bytes at the lvalue.
    pub bits: Option<(u64, u64)>,
    /// The compiler says that nothing was stored there yet.
    pub is_uninitialized: bool,
}

impl Value {
    /// A value that is nowhere.
    pub fn of(ty: Type, bytes: Vec<u8>) -> Value {
        Value {
            ty,
            data: Data::Bytes(bytes),
            lvalue: None,
            bits: None,
            is_uninitialized: false,
        }
    }

    /// A value that cannot be had.
    pub fn missing(ty: Type, why: LocationError) -> Value {
        Value {
            ty,
            data: Data::Missing(why),
            lvalue: None,
            bits: None,
            is_uninitialized: false,
        }
    }

    /// An integer.
    pub fn integer(ty: Type, value: i128) -> Value {
        let size = ty.size().unwrap_or(4).min(16) as usize;
        Value::of(ty, value.to_le_bytes()[..size].to_vec())
    }

    /// A floating-point number.
    pub fn float(ty: Type, value: f64) -> Value {
        let bytes = match ty.size() {
            Some(4) => (value as f32).to_le_bytes().to_vec(),
            Some(16) => crate::float::to_extended(value),
            _ => value.to_le_bytes().to_vec(),
        };
        Value::of(ty, bytes)
    }

    /// The value in memory at an address; small ones are read at once.
    pub fn at(ty: Type, addr: u64, memory: &dyn Memory) -> Value {
        let size = ty.size().unwrap_or(0);
        let is_function = matches!(ty.strip().kind(), Kind::Function(..));
        let data = if size > WHOLE || is_function {
            Data::Memory(addr)
        } else {
            let mut bytes = vec![0; size as usize];
            match memory.read(addr, &mut bytes) {
                Ok(()) => Data::Bytes(bytes),
                // The first byte that fails is of no interest in a value; its start is.
                Err(LocationError::Memory(_)) => Data::Missing(LocationError::Memory(addr)),
                Err(why) => Data::Missing(why),
            }
        };
        Value {
            ty,
            data,
            lvalue: Some(Lvalue::Memory(addr)),
            bits: None,
            is_uninitialized: false,
        }
    }

    /// The value at a place of a frame.
    pub fn at_place(ty: Type, place: &Place, env: &verde_symbols::Env) -> Value {
        let size = ty.size().unwrap_or(0);
        match place {
            Place::Memory(addr) => Value::at(ty, *addr, env.memory),
            _ if size > WHOLE => Value::missing(ty, LocationError::OptimizedOut),
            other => {
                let lvalue = match other {
                    Place::Register(number) => Some(Lvalue::Register(*number, 0)),
                    _ => None,
                };
                let place = padded(other, &ty);
                let data = match place.read(env, size as usize) {
                    Ok(bytes) => Data::Bytes(bytes),
                    Err(why) => match place.read_partly(env, size as usize) {
                        Some((bytes, known)) if has_parts(&ty) => Data::Partly(bytes, known),
                        _ => Data::Missing(why),
                    },
                };
                Value {
                    ty,
                    data,
                    lvalue,
                    bits: None,
                    is_uninitialized: false,
                }
            }
        }
    }

    /// The address, for a value in memory.
    pub fn address(&self) -> Option<u64> {
        match (&self.lvalue, &self.data) {
            (Some(Lvalue::Memory(addr)), _) if self.bits.is_none() => Some(*addr),
            (None, Data::Memory(addr)) => Some(*addr),
            _ => None,
        }
    }

    /// The bytes, or why there are none.
    pub fn bytes(&self) -> Result<&[u8], EvalError> {
        match &self.data {
            Data::Bytes(bytes) => Ok(bytes),
            Data::Partly(..) => Err(LocationError::OptimizedOut.into()),
            Data::Memory(_) => Err(EvalError::TooMuch(self.ty.size().unwrap_or(0))),
            Data::Missing(why) => Err(why.clone().into()),
        }
    }

    /// A member that is part of the object; `None` for a virtual base that nobody can find.
    pub fn member(&self, member: &Member, memory: &dyn Memory) -> Option<Value> {
        let ty = member.ty.clone();
        Some(match member.bits {
            Some(bits) => bit_field(self, ty, bits, memory),
            None if member.is_virtual => {
                let offset = virtual_base_offset(self, member, memory)?;
                self.part(ty, offset, memory)
            }
            None => self.part(ty, member.offset, memory),
        })
    }

    /// Part of this value: `size` bytes from `offset`, seen as another type.
    pub fn part(&self, ty: Type, offset: u64, memory: &dyn Memory) -> Value {
        let size = ty.size().unwrap_or(0) as usize;
        let lvalue = match &self.lvalue {
            Some(Lvalue::Memory(a)) => Some(Lvalue::Memory(a.wrapping_add(offset))),
            Some(Lvalue::Register(n, o)) => Some(Lvalue::Register(*n, o.wrapping_add(offset))),
            _ => None,
        };
        let data = match &self.data {
            Data::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(size);
                match bytes.get(start..end) {
                    Some(part) => Data::Bytes(part.to_vec()),
                    // Past the end (a flexible array member): in memory after the rest.
                    None => match &lvalue {
                        Some(Lvalue::Memory(addr)) => return Value::at(ty, *addr, memory),
                        _ => Data::Missing(LocationError::OptimizedOut),
                    },
                }
            }
            Data::Partly(bytes, known) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let range = start..start.saturating_add(size);
                match (bytes.get(range.clone()), known.get(range)) {
                    (Some(part), Some(known)) if known.iter().all(|k| *k) => {
                        Data::Bytes(part.to_vec())
                    }
                    (Some(part), Some(known)) if has_parts(&ty) => {
                        Data::Partly(part.to_vec(), known.to_vec())
                    }
                    _ => Data::Missing(LocationError::OptimizedOut),
                }
            }
            Data::Memory(addr) => return Value::at(ty, addr.wrapping_add(offset), memory),
            Data::Missing(LocationError::Memory(_)) => match &lvalue {
                Some(Lvalue::Memory(addr)) => return Value::at(ty, *addr, memory),
                _ => self.data.clone(),
            },
            Data::Missing(why) => Data::Missing(why.clone()),
        };
        Value {
            ty,
            data,
            lvalue,
            bits: None,
            is_uninitialized: false,
        }
    }

    /// The integer in it: integers, characters, booleans, enumerations, pointers, addresses of
    /// arrays and functions.
    pub fn to_integer(&self) -> Result<i128, EvalError> {
        let ty = self.ty.strip();
        match ty.kind() {
            Kind::Array(..) | Kind::Function(..) => {
                self.address().map(i128::from).ok_or(EvalError::NoAddress)
            }
            Kind::Base(Encoding::Float) => Ok(self.to_float()? as i128),
            Kind::Record(_) | Kind::Void | Kind::Unspecified | Kind::Vector(..) => Err(
                EvalError::BadType("Value can't be converted to integer.".into()),
            ),
            _ => {
                let bytes = self.bytes()?;
                if bytes.len() > 16 {
                    return Err(EvalError::BadType(
                        "Value can't be converted to integer.".into(),
                    ));
                }
                Ok(extend(bytes, !ty.is_unsigned()))
            }
        }
    }

    /// The address in a pointer or of an array or function.
    pub fn to_address(&self) -> Result<u64, EvalError> {
        Ok(self.to_integer()? as u64)
    }

    /// The number in it, as floating point.
    pub fn to_float(&self) -> Result<f64, EvalError> {
        if let Some([real, _]) = complex_parts(self)? {
            return real.to_float();
        }
        if !self.ty.is_float() {
            let number = self.to_integer()?;
            return Ok(match self.ty.is_unsigned() {
                true => number as u128 as f64,
                false => number as f64,
            });
        }
        if self.ty.strip().is_quad() {
            return bad(UNSUPPORTED_QUAD);
        }
        let bytes = self.bytes()?;
        Ok(crate::float::from_bytes(bytes))
    }

    /// Whether it counts as true.
    pub fn to_bool(&self) -> Result<bool, EvalError> {
        if self.ty.is_float() {
            return Ok(self.to_float()? != 0.0);
        }
        Ok(self.to_integer()? != 0)
    }
}

/// Whether parts of a value are of interest without the others.
fn has_parts(ty: &Type) -> bool {
    let ty = ty.strip();
    matches!(ty.kind(), Kind::Record(_) | Kind::Array(..)) && ty.variant_part().is_none()
}

/// Little-endian bytes as a number.
pub(crate) fn extend(bytes: &[u8], signed: bool) -> i128 {
    let negative = signed && bytes.last().is_some_and(|b| b & 0x80 != 0);
    let mut word = [if negative { 0xff } else { 0 }; 16];
    let len = bytes.len().min(16);
    word[..len].copy_from_slice(&bytes[..len]);
    i128::from_le_bytes(word)
}
