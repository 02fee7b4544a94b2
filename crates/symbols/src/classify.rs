//! Which registers a type is passed in: the classification of the System V ABI, and rustc's own.

use crate::types::{Encoding, Kind, Member, Method, RecordKind, Type};
use crate::units::{DieId, Language};

/// Bytes of the vector registers.
const ZMM: u64 = 64;
const YMM: u64 = 32;
const XMM: u64 = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Integer,
    Sse,
}

/// What the classification of the ABI gives for a value that is not in memory.
pub(crate) enum Classes {
    /// Of each whether it is in a register: what has nothing in it but empty classes is not passed.
    Eightbytes(Vec<Option<Class>>),
    X87,
    ComplexX87,
    /// In a register or in memory: that depends on what the function was compiled for, which the
    /// file does not tell.
    Unknown,
}

pub(crate) fn eightbytes(classes: &[Option<Class>], size: u64) -> Vec<(Class, u64, u64)> {
    let part = |(i, class): (usize, &Option<Class>)| {
        let class = (*class)?;
        let offset = 8 * i as u64;
        let whole_vector = class == Class::Sse && classes.len() == 1 && size > 8;
        let bytes = if whole_vector {
            size
        } else {
            (size - offset).min(8)
        };
        Some((class, offset, bytes))
    };
    classes.iter().enumerate().filter_map(part).collect()
}

/// The System V classification; `None` for memory.
pub(crate) fn classify(ty: &Type) -> Option<Classes> {
    let ty = ty.strip();
    let size = ty.size()?;
    if let Kind::Base(Encoding::ComplexFloat) = ty.kind()
        && size > 16
    {
        return (size == 32 && !ty.is_quad()).then_some(Classes::ComplexX87);
    }
    if let Some(sole) = sole_wide(&ty, 0) {
        return match sole.kind() {
            Kind::Vector(..) => vector(&sole, size),
            _ if size != 16 => None,
            _ if sole.is_quad() => Some(Classes::Eightbytes(vec![Some(Class::Sse)])),
            _ => Some(Classes::X87),
        };
    }
    if size == 0 || size > 16 {
        return None;
    }
    let mut classes = vec![None; size.div_ceil(8) as usize];
    merge(&ty, 0, &mut classes, &[])?;
    Some(Classes::Eightbytes(classes))
}

/// The whole of a vector is in one register, of AVX where the code is for that; without it the
/// larger ones are in memory. A function may be for another processor than its unit is.
fn vector(ty: &Type, size: u64) -> Option<Classes> {
    let most = if ty.is_for_avx() { YMM } else { XMM };
    match size {
        _ if size <= most => Some(Classes::Eightbytes(vec![Some(Class::Sse)])),
        _ if size <= ZMM => Some(Classes::Unknown),
        _ => None,
    }
}

/// The vector or the long number that a type is, or that is all that a structure has.
fn sole_wide(ty: &Type, depth: usize) -> Option<Type> {
    let ty = ty.strip();
    let is_wide = match ty.kind() {
        Kind::Vector(..) => true,
        Kind::Base(Encoding::Float) => ty.size() > Some(8),
        _ => false,
    };
    if is_wide {
        return Some(ty);
    }
    if !matches!(
        ty.kind(),
        Kind::Record(RecordKind::Struct | RecordKind::Class)
    ) || depth > 16
    {
        return None;
    }
    let members = ty.members();
    let mut own = members.iter().filter(|m| !m.is_static);
    match (own.next(), own.next()) {
        (Some(member), None) if !member.is_virtual && member.ty.size() == ty.size() => {
            sole_wide(&member.ty, depth + 1)
        }
        _ => None,
    }
}

/// The types around the inside of a type; `None` when it contains itself, as only a corrupt file's does.
pub(crate) fn enter(ty: &Type, outer: &[DieId]) -> Option<Vec<DieId>> {
    let die = ty.die();
    if die.is_some_and(|d| outer.contains(&d)) {
        return None;
    }
    Some(outer.iter().copied().chain(die).collect())
}

/// Adds a type's fields to the classes of the eightbytes they lie in; `None` for memory.
pub(crate) fn merge(
    ty: &Type,
    at: u64,
    classes: &mut [Option<Class>],
    outer: &[DieId],
) -> Option<()> {
    let ty = ty.strip();
    let size = ty.size()?;
    let inner = enter(&ty, outer)?;
    if at.checked_add(size)? > 16 {
        return None;
    }
    let mut put = |from: u64, bytes: u64, class: Class| {
        for slot in from / 8..=(from + bytes.max(1) - 1) / 8 {
            let entry = classes.get_mut(slot as usize)?;
            // Integer wins over SSE.
            if *entry != Some(Class::Integer) {
                *entry = Some(class);
            }
        }
        Some(())
    };
    match ty.kind() {
        Kind::Base(Encoding::Float) if size > 8 => None,
        Kind::Base(Encoding::Float | Encoding::ComplexFloat) if size <= 16 => {
            put(at, size, Class::Sse)
        }
        Kind::Vector(..) => put(at, size, Class::Sse),
        Kind::Array(_, Some(count)) => {
            let element = ty.target()?;
            let step = element.size()?;
            for i in 0..(*count).min(16) {
                merge(
                    &element,
                    at.checked_add(i.checked_mul(step)?)?,
                    classes,
                    &inner,
                )?;
            }
            Some(())
        }
        Kind::Record(_) => {
            let members = ty.members();
            let mut own = members.iter().filter(|m| !m.is_static);
            own.try_for_each(|m| merge_member(m, at, classes, &inner))?;
            let Some(part) = ty.variant_part() else {
                return Some(());
            };
            let mut variants = part.variants.iter().map(|v| &v.member);
            let mut choice = part.discriminant.iter();
            choice.try_for_each(|m| merge_member(m, at, classes, &inner))?;
            variants.try_for_each(|m| merge_member(m, at, classes, &inner))
        }
        Kind::Void | Kind::Unspecified if size == 0 => Some(()),
        _ => put(at, size, Class::Integer),
    }
}

/// The same of a member of what is at `at`.
fn merge_member(
    member: &Member,
    at: u64,
    classes: &mut [Option<Class>],
    outer: &[DieId],
) -> Option<()> {
    if member.is_virtual {
        return None;
    }
    let Some((bit, width)) = member.bits else {
        let start = at.checked_add(member.offset)?;
        // What is packed so that it is not aligned is passed in memory.
        if !start.is_multiple_of(alignment(&member.ty, outer).max(1)) {
            return None;
        }
        return merge(&member.ty, start, classes, outer);
    };
    let slots = (at * 8).checked_add(bit)?;
    let first = slots / 8;
    let last = slots.checked_add(width.max(1) - 1)? / 8;
    let mut fields = [first, last].into_iter();
    fields.try_for_each(|byte| {
        let entry = classes.get_mut((byte / 8) as usize)?;
        *entry = Some(Class::Integer);
        Some(())
    })
}

pub(crate) fn alignment(ty: &Type, outer: &[DieId]) -> u64 {
    if let Some(align) = ty.stated_align() {
        return align;
    }
    let ty = ty.strip();
    let Some(inner) = enter(&ty, outer) else {
        return 8;
    };
    if let Some(align) = ty.stated_align() {
        return align;
    }
    match ty.kind() {
        Kind::Array(..) => ty.target().map_or(1, |t| alignment(&t, &inner)),
        Kind::Vector(..) => ty.size().unwrap_or(1).clamp(1, 64),
        Kind::Record(_) => {
            let members = ty.members();
            let own = members.iter().filter(|m| !m.is_static);
            own.map(|m| alignment(&m.ty, &inner)).max().unwrap_or(1)
        }
        _ => ty.size().unwrap_or(1).clamp(1, 16),
    }
}

/// Whether C++ passes a class by address because copying it is more than copying bytes.
pub(crate) fn is_by_reference(ty: &Type) -> bool {
    is_by_reference_within(ty, &[])
}

pub(crate) fn is_by_reference_within(ty: &Type, outer: &[DieId]) -> bool {
    let ty = ty.strip();
    if ty.language() != Language::Cpp || !matches!(ty.kind(), Kind::Record(_)) {
        return false;
    }
    if let Some(by_reference) = ty.stated_convention() {
        return by_reference;
    }
    let (Some(name), Some(inner)) = (ty.name().map(crate::names::base_name), enter(&ty, outer))
    else {
        return false;
    };
    let destructor = format!("~{name}");
    let methods = ty.methods();
    let copies: Vec<&Method> = methods
        .iter()
        .filter(|m| m.name == name && copies(m, &ty))
        .collect();
    // What the compiler makes is as trivial as the members are.
    let is_own = |m: &Method| !m.is_artificial && !m.is_defaulted && !m.is_deleted;
    methods
        .iter()
        .any(|m| m.is_virtual || (m.name == destructor && is_own(m)))
        || copies.iter().any(|m| is_own(m))
        || (!copies.is_empty() && copies.iter().all(|m| m.is_deleted))
        || ty
            .members()
            .iter()
            .any(|m| !m.is_static && is_by_reference_within(&m.ty, &inner))
}

/// Whether a constructor of a class copies or moves.
fn copies(constructor: &Method, class: &Type) -> bool {
    let Kind::Function(_, parameters, ..) = constructor.ty.kind() else {
        return false;
    };
    let [_, from] = parameters.as_slice() else {
        return false;
    };
    let from = constructor.ty.follow(from).strip();
    let is_reference = matches!(from.kind(), Kind::Reference(_) | Kind::RvalueReference(_));
    is_reference
        && from
            .target()
            .is_some_and(|t| t.strip().die() == class.die())
}

/// The scalars rustc passes one by one; `None` when the value is passed by address.
pub(crate) fn rust_parts(ty: &Type) -> Option<Vec<(Class, u64, u64)>> {
    let size = ty.size()?;
    if size == 0 {
        return Some(Vec::new());
    }
    let scalars = scalars(ty);
    if let Some(leaves) = scalars.filter(|l| l.len() == 1 || l.len() == 2) {
        let disjoint = leaves.len() == 1 || leaves[0].1.saturating_add(leaves[0].2) <= leaves[1].1;
        let whole = leaves.len() == 2 || leaves[0].2 == size;
        if disjoint && whole && leaves.iter().all(|l| l.2 <= 8) {
            return Some(leaves);
        }
    }
    // What has more parts is one integer if a register holds it.
    if size > 8 && !is_wide_integer(ty) {
        return None;
    }
    Some(eightbytes(
        &vec![Some(Class::Integer); size.div_ceil(8) as usize],
        size,
    ))
}

/// Whether a value of Rust's is one integer of two words, which is not passed in two places.
pub(crate) fn is_wide_integer(ty: &Type) -> bool {
    let only = scalars(ty).filter(|l| l.len() == 1);
    only.is_some_and(|l| (9..=16).contains(&l[0].2) && Some(l[0].2) == ty.size())
}

/// The scalars in a type in their order; `None` as of [`leaves_of`].
fn scalars(ty: &Type) -> Option<Vec<(Class, u64, u64)>> {
    let mut leaves = Vec::new();
    leaves_of(ty, 0, &mut leaves, &[])?;
    leaves.sort_by_key(|l: &(Class, u64, u64)| l.1);
    leaves.dedup();
    Some(leaves)
}

/// The scalars in a type; `None` when it has arrays or overlaps of different shapes.
pub(crate) fn leaves_of(
    ty: &Type,
    at: u64,
    out: &mut Vec<(Class, u64, u64)>,
    outer: &[DieId],
) -> Option<()> {
    let ty = ty.strip();
    let size = ty.size()?;
    if size == 0 {
        return Some(());
    }
    let inside = enter(&ty, outer)?;
    if out.len() > 8 {
        return None;
    }
    match ty.kind() {
        Kind::Base(Encoding::Float) => out.push((Class::Sse, at, size)),
        Kind::Record(RecordKind::Union) | Kind::Array(..) | Kind::Vector(..) => return None,
        Kind::Record(_) => {
            for member in ty.members().iter().filter(|m| !m.is_static) {
                leaves_of(&member.ty, at.checked_add(member.offset)?, out, &inside)?;
            }
            if let Some(part) = ty.variant_part() {
                if let Some(discriminant) = &part.discriminant {
                    let start = at.checked_add(discriminant.offset)?;
                    leaves_of(&discriminant.ty, start, out, &inside)?;
                }
                for variant in &part.variants {
                    let mut inner = Vec::new();
                    let start = at.checked_add(variant.member.offset)?;
                    leaves_of(&variant.member.ty, start, &mut inner, &inside)?;
                    for leaf in inner {
                        let same_place = out.iter().any(|l| l.1 == leaf.1);
                        if !same_place {
                            out.push(leaf);
                        } else if !out.contains(&leaf) {
                            return None;
                        }
                    }
                }
            }
        }
        _ => out.push((Class::Integer, at, size)),
    }
    Some(())
}
