//! Values in pieces: the compiler says nothing of bytes between members, which nobody can miss.

use verde_symbols::{Kind, Piece, Place, Type};

/// How deep types may nest, and how many elements are looked at, before all bytes count.
const DEEPEST: usize = 16;
const MOST: u64 = 64;

/// The place with any bytes where a type has only padding.
pub(crate) fn padded(place: &Place, ty: &Type) -> Place {
    let Place::Pieces(pieces) = place else {
        return place.clone();
    };
    let total = ty.size().unwrap_or(0).saturating_mul(8);
    let any = |bits: Option<u64>| Piece {
        bits,
        skip: 0,
        place: Some(Place::Bytes(Vec::new())),
    };
    let mut out = Vec::new();
    let mut at = 0u64;
    for piece in pieces {
        let end = piece.bits.map_or(total, |b| at.saturating_add(b));
        let padding = piece.place.is_none() && !holds(ty, 0, (at, end.min(total)), 0);
        out.push(match padding {
            true => any(piece.bits),
            false => piece.clone(),
        });
        at = end;
    }
    if at < total && !holds(ty, 0, (at, total), 0) {
        out.push(any(None));
    }
    Place::Pieces(out)
}

/// Whether a type that begins at a bit has a value in any of the bits from .. to.
fn holds(ty: &Type, start: u64, (from, to): (u64, u64), depth: usize) -> bool {
    let ty = ty.strip();
    let size = ty.size().unwrap_or(0).saturating_mul(8);
    let meets = |start: u64, size: u64| start < to && from < start.saturating_add(size);
    if !meets(start, size) {
        return false;
    }
    if depth > DEEPEST {
        return true;
    }
    match ty.kind() {
        // Rust's variants are not among the members.
        Kind::Record(_) if ty.variant_part().is_none() => ty
            .members()
            .iter()
            .filter(|m| !m.is_static)
            .any(|m| match m.bits {
                Some((bit, width)) => meets(start.saturating_add(bit), width),
                None => {
                    let inner = start.saturating_add(m.offset.saturating_mul(8));
                    m.is_virtual || holds(&m.ty, inner, (from, to), depth + 1)
                }
            }),
        Kind::Array(_, Some(count)) if *count <= MOST => {
            let element = ty.target().unwrap_or_else(Type::void);
            let step = element.size().unwrap_or(0).saturating_mul(8);
            (0..*count).any(|i| {
                let inner = start.saturating_add(i.saturating_mul(step));
                holds(&element, inner, (from, to), depth + 1)
            })
        }
        _ => true,
    }
}
