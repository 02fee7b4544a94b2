//! The calling convention: where arguments are at a function's first instruction and where its
//! result is when it returns.
//!
//! C and C++ follow the System V ABI. Rust's own convention is not written down; what rustc does on
//! x86-64 is: a scalar or a pair of scalars go to registers one by one, other aggregates of at most
//! two words go to integer registers, everything larger is passed by address.

use crate::addr::FileAddr;
use crate::error::LocationError;
use crate::functions::Function;
use crate::location::{Env, Place};
use crate::module::Module;
use crate::registers::RSP;
use crate::types::{Encoding, Kind, RecordKind, Type};
use crate::units::{DieId, Language};
use crate::variables::Variable;

/// Integer argument registers in order, by DWARF number: rdi rsi rdx rcx r8 r9.
pub const INTEGER: [u16; 6] = [5, 4, 1, 2, 8, 9];
/// DWARF number of `xmm0`.
pub const XMM0: u16 = 17;
const RAX: u16 = 0;
const RDX: u16 = 1;
const ST0: u16 = 33;

/// Where an argument is at the very entry, or a result at the return. Made once, read at every hit.
#[derive(Clone, Debug, PartialEq)]
pub enum AbiPlace {
    /// Parts in registers: DWARF number, offset in the value, bytes.
    Registers(Vec<(u16, u64, u64)>),
    /// On the stack, bytes above the stack pointer at the entry.
    Stack(u64),
    /// Somewhere in memory; its address is in a register.
    ByAddress(u16),
    /// Somewhere in memory; its address is on the stack, bytes above the stack pointer.
    ByAddressOnStack(u64),
    /// Known by the compiler.
    Constant(Vec<u8>),
    /// No bytes at all.
    Empty,
}

/// An argument of a function at its entry.
#[derive(Clone, Debug)]
pub struct EntryArgument {
    /// The parameter's name, type and general location.
    pub variable: Variable,
    /// Its location list speaks of the first instruction.
    listed: bool,
    /// Where the calling convention puts it; `None` where the compiler made its own convention.
    place: Option<AbiPlace>,
}

impl EntryArgument {
    /// Where it is in a thread that stands at the function's first instruction.
    pub fn locate(&self, env: &Env, entry: FileAddr) -> Result<Place, LocationError> {
        if !self.listed {
            let place = self.place.as_ref().ok_or(LocationError::OptimizedOut)?;
            return place.locate(env);
        }
        let described = self.variable.place(env, Some(entry))?;
        // GCC lists what holds later at the same address: memory of the function's own frame, to
        // which nothing has been stored yet. And it lists only the parts the body uses: where it
        // agrees with the convention, the rest is there as well.
        let partial = matches!(&described, Place::Pieces(p) if p.iter().any(|p| p.place.is_none()));
        let sp = env.registers.and_then(|r| r.sp()).unwrap_or(0);
        let unborn = in_own_frame(&described, sp);
        let wanted = self.place.as_ref().filter(|_| partial || unborn);
        match wanted.map(|p| p.locate(env)) {
            Some(Ok(whole)) if unborn || agree(&described, &whole) => Ok(whole),
            _ => Ok(described),
        }
    }
}

/// Whether any part lies below the stack pointer of the entry.
fn in_own_frame(place: &Place, sp: u64) -> bool {
    match place {
        Place::Memory(addr) => *addr < sp && sp - *addr < 1 << 24,
        Place::Pieces(pieces) => {
            let mut places = pieces.iter().filter_map(|p| p.place.as_ref());
            places.any(|p| in_own_frame(p, sp))
        }
        _ => false,
    }
}

/// Whether the parts that a description has are where the whole has them.
fn agree(described: &Place, whole: &Place) -> bool {
    let registers = |place: &Place| match place {
        Place::Register(n) => vec![*n],
        Place::Pieces(pieces) => pieces
            .iter()
            .filter_map(|p| match p.place {
                Some(Place::Register(n)) => Some(n),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let whole = registers(whole);
    let described = registers(described);
    !described.is_empty() && described.iter().all(|n| whole.contains(n))
}

impl AbiPlace {
    /// The place in terms of a thread's registers.
    pub fn locate(&self, env: &Env) -> Result<Place, LocationError> {
        let registers = env.registers.ok_or(LocationError::NoFrame)?;
        let get = |n: u16| registers.get(n).ok_or(LocationError::NoRegister(n));
        Ok(match self {
            AbiPlace::Registers(parts) => match parts.as_slice() {
                [(register, 0, _)] => Place::Register(*register),
                parts => Place::Pieces(pieces(parts)),
            },
            AbiPlace::Stack(offset) => Place::Memory(get(RSP)?.wrapping_add(*offset)),
            AbiPlace::ByAddress(register) => Place::Memory(get(*register)?),
            AbiPlace::ByAddressOnStack(offset) => {
                let at = get(RSP)?.wrapping_add(*offset);
                Place::Memory(env.memory.read_u64(at)?)
            }
            AbiPlace::Constant(bytes) => Place::Bytes(bytes.clone()),
            AbiPlace::Empty => Place::Bytes(Vec::new()),
        })
    }
}

fn pieces(parts: &[(u16, u64, u64)]) -> Vec<crate::location::Piece> {
    let mut out = Vec::new();
    let mut at = 0;
    for &(register, offset, size) in parts {
        if offset > at {
            // Padding between two parts: any bytes do.
            out.push(crate::location::Piece {
                bits: Some((offset - at) * 8),
                skip: 0,
                place: Some(Place::Bytes(Vec::new())),
            });
        }
        out.push(crate::location::Piece {
            bits: Some(size * 8),
            skip: 0,
            place: Some(Place::Register(register)),
        });
        at = offset + size;
    }
    out.push(crate::location::Piece {
        bits: None,
        skip: 0,
        place: Some(Place::Bytes(Vec::new())),
    });
    out
}

/// Where the i-th integer argument is, for functions nobody describes.
pub fn integer_argument(index: usize) -> AbiPlace {
    match INTEGER.get(index) {
        Some(&register) => AbiPlace::Registers(vec![(register, 0, 8)]),
        None => AbiPlace::Stack(8 + 8 * (index - INTEGER.len()) as u64),
    }
}

/// Where the i-th floating-point argument is, for functions nobody describes.
pub fn float_argument(index: usize) -> Option<AbiPlace> {
    let index = u16::try_from(index).ok().filter(|&i| i < 8)?;
    Some(AbiPlace::Registers(vec![(XMM0 + index, 0, 8)]))
}

impl Module {
    /// The arguments of a function as they are at its first instruction.
    pub fn entry_arguments(&self, function: &Function) -> Vec<EntryArgument> {
        let Some(die) = function.die else {
            return Vec::new();
        };
        let mut parameters = self.parameters(die);
        parameters.retain(|v| !v.name.is_empty());
        let mut state = Assign::default();
        let result = self.return_type(function);
        if result.is_some_and(|t| is_returned_by_address(&t, function.language)) {
            state.integers = 1;
        }
        let assigned: Vec<Option<AbiPlace>> = parameters
            .iter()
            .map(|v| state.argument(&v.ty, function.language))
            .collect();
        let own_convention = self.has_own_convention(function, &parameters);
        let choose = |(variable, abi): (Variable, Option<AbiPlace>)| {
            let place = match variable.constant_bytes() {
                Some(bytes) => Some(AbiPlace::Constant(bytes)),
                None => abi.filter(|_| !own_convention),
            };
            EntryArgument {
                listed: variable.listed_at(function.entry),
                variable,
                place,
            }
        };
        parameters.into_iter().zip(assigned).map(choose).collect()
    }

    /// Whether the optimiser may have changed how the function is called: GCC marks such clones in
    /// their names; LLVM changes any local function, and its location lists say all there is.
    fn has_own_convention(&self, function: &Function, parameters: &[Variable]) -> bool {
        let clone = self.symbol_at(function.entry).is_some_and(|(symbol, _)| {
            let marks = [".isra.", ".constprop.", ".part."];
            marks.iter().any(|m| symbol.name.contains(m))
        });
        let unit = function.die.and_then(|id| self.unit_of(id));
        let llvm = unit.is_some_and(|u| u.producer.is_some_and(|p| p.contains("clang ")));
        let local = function.language == Language::Rust || !self.is_external(function);
        // Unoptimised code keeps every parameter in one place.
        clone || (llvm && local && !parameters.iter().all(Variable::has_one_place))
    }

    /// Where a function's result is just after it returned; `None` when it has none.
    pub fn return_place(&self, function: &Function) -> Option<(Type, AbiPlace)> {
        let ty = self.return_type(function)?;
        let place = return_place(&ty, function.language)?;
        Some((ty, place))
    }
}

/// Where arguments of these types go when a function is called; `by_address` when its result is
/// written where the first integer register points. `None` for a type that cannot be passed.
pub fn argument_places(
    types: &[Type],
    language: Language,
    by_address: bool,
) -> Vec<Option<AbiPlace>> {
    let mut state = Assign {
        integers: usize::from(by_address),
        ..Assign::default()
    };
    types.iter().map(|t| state.argument(t, language)).collect()
}

/// Whether a result of this type is written to memory that the caller provides.
pub fn is_returned_in_memory(ty: &Type, language: Language) -> bool {
    is_returned_by_address(ty, language)
}

/// Where a result of a type is just after the return.
pub fn return_place(ty: &Type, language: Language) -> Option<AbiPlace> {
    if matches!(ty.strip().kind(), Kind::Void) {
        return None;
    }
    if is_returned_by_address(ty, language) {
        return Some(AbiPlace::ByAddress(RAX));
    }
    let size = ty.size()?;
    if size == 0 {
        return Some(AbiPlace::Empty);
    }
    let parts = match language {
        Language::Rust => rust_parts(ty)?,
        _ => match classify(ty)? {
            Classes::X87 => return Some(AbiPlace::Registers(vec![(ST0, 0, size.min(10))])),
            Classes::Eightbytes(classes) => eightbytes(&classes, size),
        },
    };
    let (mut integers, mut floats) = ([RAX, RDX].into_iter(), XMM0..XMM0 + 2);
    let mut out = Vec::new();
    for (class, offset, size) in parts {
        let register = match class {
            Class::Integer => integers.next()?,
            Class::Sse => floats.next()?,
        };
        out.push((register, offset, size));
    }
    Some(AbiPlace::Registers(out))
}

fn is_returned_by_address(ty: &Type, language: Language) -> bool {
    if matches!(ty.strip().kind(), Kind::Void) {
        return false;
    }
    match language {
        Language::Rust => rust_parts(ty).is_none(),
        _ => is_by_reference(ty) || classify(ty).is_none(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Integer,
    Sse,
}

/// What the classification of the ABI gives for a value that is not in memory.
enum Classes {
    Eightbytes(Vec<Class>),
    X87,
}

/// Registers used so far.
#[derive(Default)]
struct Assign {
    integers: usize,
    floats: u16,
    stack: u64,
}

impl Assign {
    fn argument(&mut self, ty: &Type, language: Language) -> Option<AbiPlace> {
        let size = ty.size()?;
        if language == Language::Rust {
            return self.rust_argument(ty, size);
        }
        if is_by_reference(ty) {
            return Some(self.by_address());
        }
        if size == 0 {
            return Some(AbiPlace::Empty);
        }
        match classify(ty) {
            Some(Classes::Eightbytes(classes)) => {
                let parts = eightbytes(&classes, size);
                Some(
                    self.in_registers(&parts)
                        .unwrap_or_else(|| self.on_stack(ty, size)),
                )
            }
            _ => Some(self.on_stack(ty, size)),
        }
    }

    fn rust_argument(&mut self, ty: &Type, size: u64) -> Option<AbiPlace> {
        if size == 0 {
            return Some(AbiPlace::Empty);
        }
        let Some(parts) = rust_parts(ty) else {
            return Some(self.by_address());
        };
        // Rust passes the parts of a pair as separate arguments; one may be on the stack.
        match self.in_registers(&parts) {
            Some(place) => Some(place),
            None if parts.len() == 1 => Some(self.on_stack(ty, size)),
            None => None,
        }
    }

    fn by_address(&mut self) -> AbiPlace {
        match INTEGER.get(self.integers) {
            Some(&register) => {
                self.integers += 1;
                AbiPlace::ByAddress(register)
            }
            None => {
                self.stack += 8;
                AbiPlace::ByAddressOnStack(self.stack)
            }
        }
    }

    /// All parts in registers, or none: the ABI does not split an argument.
    fn in_registers(&mut self, parts: &[(Class, u64, u64)]) -> Option<AbiPlace> {
        let (mut integers, mut floats) = (self.integers, self.floats);
        let mut out = Vec::new();
        for &(class, offset, size) in parts {
            let register = match class {
                Class::Integer => {
                    integers += 1;
                    *INTEGER.get(integers - 1)?
                }
                Class::Sse if floats < 8 => {
                    floats += 1;
                    XMM0 + floats - 1
                }
                Class::Sse => return None,
            };
            out.push((register, offset, size));
        }
        (self.integers, self.floats) = (integers, floats);
        Some(AbiPlace::Registers(out))
    }

    fn on_stack(&mut self, ty: &Type, size: u64) -> AbiPlace {
        let align = alignment(ty, &[]).clamp(8, 64);
        // At the entry the return address lies at the stack pointer.
        let at = self.stack.next_multiple_of(align);
        self.stack = at + size.next_multiple_of(8);
        AbiPlace::Stack(at + 8)
    }
}

fn eightbytes(classes: &[Class], size: u64) -> Vec<(Class, u64, u64)> {
    let part = |(i, &class): (usize, &Class)| {
        let offset = 8 * i as u64;
        let whole_vector = class == Class::Sse && classes.len() == 1 && size > 8;
        let bytes = if whole_vector {
            size
        } else {
            (size - offset).min(8)
        };
        (class, offset, bytes)
    };
    classes.iter().enumerate().map(part).collect()
}

/// The System V classification; `None` for memory.
fn classify(ty: &Type) -> Option<Classes> {
    let ty = ty.strip();
    let size = ty.size()?;
    if let Kind::Base(Encoding::Float) = ty.kind()
        && size > 8
    {
        return (size == 16).then_some(if is_quad(&ty) {
            Classes::Eightbytes(vec![Class::Sse])
        } else {
            Classes::X87
        });
    }
    if let Kind::Vector(..) = ty.kind() {
        return (size <= 16).then(|| Classes::Eightbytes(vec![Class::Sse]));
    }
    if size == 0 || size > 16 {
        return None;
    }
    let mut classes = vec![None; size.div_ceil(8) as usize];
    merge(&ty, 0, &mut classes, &[])?;
    let classes = classes.into_iter().map(|c| c.unwrap_or(Class::Sse));
    Some(Classes::Eightbytes(classes.collect()))
}

/// The types around the inside of a type; `None` when it contains itself, as only a corrupt file's does.
fn enter(ty: &Type, outer: &[DieId]) -> Option<Vec<DieId>> {
    let die = ty.die();
    if die.is_some_and(|d| outer.contains(&d)) {
        return None;
    }
    Some(outer.iter().copied().chain(die).collect())
}

fn is_quad(ty: &Type) -> bool {
    ty.name().is_some_and(|n| n.contains("128"))
}

/// Adds a type's fields to the classes of the eightbytes they lie in; `None` for memory.
fn merge(ty: &Type, at: u64, classes: &mut [Option<Class>], outer: &[DieId]) -> Option<()> {
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
            for member in ty.members().iter().filter(|m| !m.is_static) {
                if member.is_virtual {
                    return None;
                }
                match member.bits {
                    Some((bit, width)) => {
                        let slots = (at * 8).checked_add(bit)?;
                        let first = slots / 8;
                        let last = slots.checked_add(width.max(1) - 1)? / 8;
                        let mut fields = [first, last].into_iter();
                        fields.try_for_each(|byte| {
                            let entry = classes.get_mut((byte / 8) as usize)?;
                            *entry = Some(Class::Integer);
                            Some(())
                        })?;
                    }
                    None => merge(&member.ty, at.checked_add(member.offset)?, classes, &inner)?,
                }
            }
            Some(())
        }
        Kind::Void | Kind::Unspecified if size == 0 => Some(()),
        _ => put(at, size, Class::Integer),
    }
}

fn alignment(ty: &Type, outer: &[DieId]) -> u64 {
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
        Kind::Record(_) => {
            let members = ty.members();
            let own = members.iter().filter(|m| !m.is_static);
            own.map(|m| alignment(&m.ty, &inner)).max().unwrap_or(1)
        }
        _ => ty.size().unwrap_or(1).clamp(1, 16),
    }
}

/// Whether C++ passes a class by address because copying it is more than copying bytes.
fn is_by_reference(ty: &Type) -> bool {
    is_by_reference_within(ty, &[])
}

fn is_by_reference_within(ty: &Type, outer: &[DieId]) -> bool {
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
    ty.methods()
        .iter()
        .any(|m| m.is_virtual || (m.name == destructor && !m.is_artificial))
        || ty
            .members()
            .iter()
            .any(|m| !m.is_static && is_by_reference_within(&m.ty, &inner))
}

/// The scalars rustc passes one by one; `None` when the value is passed by address.
fn rust_parts(ty: &Type) -> Option<Vec<(Class, u64, u64)>> {
    let size = ty.size()?;
    if size == 0 {
        return Some(Vec::new());
    }
    let mut leaves = Vec::new();
    let scalar = leaves_of(ty, 0, &mut leaves, &[]).is_some();
    leaves.sort_by_key(|l: &(Class, u64, u64)| l.1);
    leaves.dedup();
    if scalar && (leaves.len() == 1 || leaves.len() == 2) {
        let disjoint = leaves.len() == 1 || leaves[0].1 + leaves[0].2 <= leaves[1].1;
        let whole = leaves.len() == 2 || leaves[0].2 == size;
        if disjoint && whole && leaves.iter().all(|l| l.2 <= 8) {
            return Some(leaves);
        }
    }
    if size > 16 {
        return None;
    }
    Some(eightbytes(
        &vec![Class::Integer; size.div_ceil(8) as usize],
        size,
    ))
}

/// The scalars in a type; `None` when it has arrays or overlaps of different shapes.
fn leaves_of(ty: &Type, at: u64, out: &mut Vec<(Class, u64, u64)>, outer: &[DieId]) -> Option<()> {
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
