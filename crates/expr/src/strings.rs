//! Strings of the program as text of ours.

use crate::containers::{Pretty, pretty};
use crate::text::Width;
use crate::value::{Data, Value};
use verde_symbols::{Encoding, Kind, Memory, Type};

/// The text that a value is: a C string by its pointer or array, `std::string`, `String`, `&str`.
/// At most `limit` bytes of it.
pub fn text_of(value: &Value, memory: &dyn Memory, limit: usize) -> Option<String> {
    let ty = value.ty.strip();
    let bytes = match ty.kind() {
        Kind::Pointer(_) if is_character(&ty.target()?.strip()) => {
            c_string(memory, value.to_address().ok()?, limit)?
        }
        Kind::Array(..) if is_character(&ty.target()?.strip()) => {
            let Data::Bytes(bytes) = &value.data else {
                return None;
            };
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            bytes[..end.min(limit)].to_vec()
        }
        Kind::Reference(_) | Kind::RvalueReference(_) => {
            let target = Value::at(ty.target()?, value.to_address().ok()?, memory);
            return text_of(&target, memory, limit);
        }
        // No type is known: it says itself that it is a string.
        Kind::Base(Encoding::Unsigned | Encoding::Signed) if ty.size() == Some(8) => {
            c_string(memory, value.to_address().ok()?, limit)?
        }
        Kind::Pointer(_) if matches!(ty.target()?.strip().kind(), Kind::Void) => {
            c_string(memory, value.to_address().ok()?, limit)?
        }
        Kind::Pointer(_) => {
            let target = Value::at(ty.target()?, value.to_address().ok()?, memory);
            return match target.ty.strip().kind() {
                Kind::Record(_) => text_of(&target, memory, limit),
                _ => None,
            };
        }
        _ => match pretty(value, memory, limit)? {
            Pretty::Text(bytes, Width::Byte, _) => bytes,
            _ => return None,
        },
    };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn is_character(ty: &Type) -> bool {
    matches!(
        ty.kind(),
        Kind::Base(Encoding::SignedChar | Encoding::UnsignedChar)
    ) && ty.size() == Some(1)
        || (ty.size() == Some(1) && matches!(ty.name(), Some("u8" | "i8")))
}

/// Up to the first zero byte; `None` where no memory is.
fn c_string(memory: &dyn Memory, at: u64, limit: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = at;
    while out.len() < limit {
        // Not across a page: the next one may not be there.
        let room = 4096 - (at & 4095);
        let mut buf = vec![0; (room as usize).min(limit - out.len())];
        if memory.read(at, &mut buf).is_err() {
            return (!out.is_empty()).then_some(out);
        }
        if let Some(end) = buf.iter().position(|b| *b == 0) {
            out.extend_from_slice(&buf[..end]);
            return Some(out);
        }
        at += buf.len() as u64;
        out.append(&mut buf);
    }
    Some(out)
}
