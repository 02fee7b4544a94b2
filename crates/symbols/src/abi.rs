//! The calling convention: where arguments are at a function's first instruction and where its
//! result is when it returns.
//!
//! C and C++ follow the System V ABI. Rust's own convention is not written down; what rustc does on
//! x86-64 is: a scalar or a pair of scalars go to registers one by one, other aggregates of at most
//! two words go to integer registers, everything larger is passed by address.

use crate::addr::FileAddr;
use crate::classify::{
    Class, Classes, alignment, classify, eightbytes, is_by_reference, is_wide_integer, rust_parts,
};
use crate::error::LocationError;
use crate::functions::Function;
use crate::location::{Env, Place};
use crate::module::Module;
use crate::registers::RSP;
use crate::types::{Kind, Type};
use crate::units::{Language, R};
use crate::variables::Variable;
use gimli::Expression;
use gimli::constants as dw;

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
    /// Parts that are passed as arguments of their own: where each is, offset in the value, bytes.
    Split(Vec<(AbiPlace, u64, u64)>),
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
    /// In a register or on the stack: the file does not tell.
    Unknown,
}

/// An argument of a function at its entry.
#[derive(Clone, Debug)]
pub struct EntryArgument {
    /// The parameter's name, type and general location.
    pub variable: Variable,
    /// What its location says of the moment before the first instruction.
    first: Option<Expression<R>>,
    /// It is the same in all calls, so nobody need pass it.
    is_constant: bool,
    /// Where the calling convention puts it; `None` where the compiler made its own convention.
    place: Option<AbiPlace>,
}

impl EntryArgument {
    /// Where it is in a thread that stands at the function's first instruction.
    ///
    /// The convention is asked first: a location list speaks of what holds once the statements are
    /// done that need no instruction (`x = y`, `p += 3` that is folded into a later address), or of
    /// the function's own frame, to which nothing has been stored yet, or only of the parts that
    /// the body uses.
    pub fn locate(&self, env: &Env, entry: FileAddr) -> Result<Place, LocationError> {
        match (&self.place, self.first) {
            (Some(AbiPlace::Unknown), Some(first)) => self.variable.place_by(first, env, entry),
            (Some(place), _) if !self.is_constant => place.locate(env),
            (_, Some(first)) => self.variable.place_by(first, env, entry),
            (_, None) => Err(LocationError::OptimizedOut),
        }
    }

    /// It is not passed, and only the place of the call may tell what it would be.
    pub fn is_callers(&self) -> bool {
        let first = self.first.filter(|_| self.place.is_none());
        first.is_some_and(|e| self.variable.is_callers(e))
    }
}

impl AbiPlace {
    /// The place in terms of a thread's registers.
    pub fn locate(&self, env: &Env) -> Result<Place, LocationError> {
        let registers = env.registers.ok_or(LocationError::NoFrame)?;
        let get = |n: u16| registers.get(n).ok_or(LocationError::NoRegister(n));
        Ok(match self {
            AbiPlace::Registers(parts) => match parts.as_slice() {
                [(register, 0, _)] => Place::Register(*register),
                parts => {
                    let part = |&(r, offset, size): &_| (Place::Register(r), offset, size);
                    Place::Pieces(pieces(parts.iter().map(part)))
                }
            },
            AbiPlace::Split(parts) => {
                let part =
                    |(p, offset, size): &(AbiPlace, _, _)| Ok((p.locate(env)?, *offset, *size));
                let parts: Vec<_> = parts
                    .iter()
                    .map(part)
                    .collect::<Result<_, LocationError>>()?;
                Place::Pieces(pieces(parts))
            }
            AbiPlace::Stack(offset) => Place::Memory(get(RSP)?.wrapping_add(*offset)),
            AbiPlace::ByAddress(register) => Place::Memory(get(*register)?),
            AbiPlace::ByAddressOnStack(offset) => {
                let at = get(RSP)?.wrapping_add(*offset);
                Place::Memory(env.memory.read_u64(at)?)
            }
            AbiPlace::Constant(bytes) => Place::Bytes(bytes.clone()),
            AbiPlace::Empty => Place::Bytes(Vec::new()),
            AbiPlace::Unknown => return Err(LocationError::UnknownConvention),
        })
    }
}

fn pieces(parts: impl IntoIterator<Item = (Place, u64, u64)>) -> Vec<crate::location::Piece> {
    let mut out = Vec::new();
    let mut at = 0;
    for (place, offset, size) in parts {
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
            place: Some(place),
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
    /// The arguments of a function as they are at its first instruction, those without a name
    /// among them.
    pub fn entry_arguments(&self, function: &Function) -> Vec<EntryArgument> {
        let Some(die) = function.die else {
            return Vec::new();
        };
        let mut parameters = self.parameters(die);
        parameters.retain(|v| is_passed(&v.name, function));
        // A function of Rust is run for it.
        let convention = self.convention(function);
        let mut state = Assign::default();
        if let Some(result) = self.return_type(function) {
            match return_place(&result, convention) {
                Some(AbiPlace::ByAddress(_)) => state.integers = 1,
                // Its address may be the first argument, before all others.
                Some(AbiPlace::Unknown) => state.known = Known::Nothing,
                _ => {}
            }
        }
        let (integers, floats) = self.environment(function, &parameters, state.integers > 0);
        state.integers += integers;
        state.floats += floats;
        let assigned: Vec<Option<AbiPlace>> = parameters
            .iter()
            .map(|v| state.argument(&v.ty, convention))
            .collect();
        let own_convention = self.has_own_convention(function, convention, &parameters, &assigned);
        let choose = |(variable, abi): (Variable, Option<AbiPlace>)| {
            let place = match variable.constant_bytes() {
                Some(bytes) => Some(AbiPlace::Constant(bytes)),
                None => abi.filter(|_| !own_convention),
            };
            EntryArgument {
                first: variable.first_expression(function.entry, own_convention),
                is_constant: variable.has_one_place() && variable.listed_at(function.entry),
                variable,
                place,
            }
        };
        parameters.into_iter().zip(assigned).map(choose).collect()
    }

    /// Whether the optimiser may have changed how the function is called: GCC marks such clones in
    /// their names; LLVM changes any local function, and its location lists say all there is.
    fn has_own_convention(
        &self,
        function: &Function,
        convention: Language,
        parameters: &[Variable],
        assigned: &[Option<AbiPlace>],
    ) -> bool {
        let marks = [".isra.", ".constprop.", ".part."];
        let clone = self.is_marked(function, &marks);
        let unit = function.die.and_then(|id| self.unit_of(id));
        let llvm = unit.is_some_and(|u| u.producer.is_some_and(|p| p.contains("clang ")));
        let local = convention == Language::Rust || !self.is_external(function);
        // Unoptimised code keeps every parameter in one place; of what is passed by address it
        // lists where the address is.
        let is_kept = |(v, abi): (&Variable, &Option<AbiPlace>)| match abi {
            Some(AbiPlace::ByAddress(_) | AbiPlace::ByAddressOnStack(_)) => {
                v.has_one_place() || v.is_behind_pointer()
            }
            _ => v.has_one_place(),
        };
        clone
            || self.is_called_otherwise(function)
            || (llvm && local && !parameters.iter().zip(assigned).all(is_kept))
    }

    /// Whether the debug information says that the function is not called by the convention: LLVM
    /// marks those of which it took parameters away.
    fn is_called_otherwise(&self, function: &Function) -> bool {
        let die = function.die.zip(self.info());
        let entry = die.and_then(|(id, info)| info.die(id));
        let convention = entry.and_then(|(_, e)| e.attr_value(dw::DW_AT_calling_convention));
        let nocall = gimli::AttributeValue::CallingConvention(dw::DW_CC_nocall);
        convention.is_some_and(|c| c == nocall)
    }

    /// Whether a function's code is only a part of it, which the rest of it calls: the optimiser
    /// copies the beginning to the callers and leaves the other part where it was.
    pub fn is_split_off(&self, function: &Function) -> bool {
        self.is_marked(function, &[".part.", ".cold"])
    }

    /// Whether a function's code is what goes on with a coroutine, or ends it: its frame is the
    /// only argument, and the call of the coroutine is another function. GCC has one function for
    /// both, and one that destroys; LLVM has three.
    pub fn is_resumption(&self, function: &Function) -> bool {
        self.is_marked(function, &[".actor", ".resume", ".destroy", ".cleanup"])
    }

    /// Whether a function is the form of a destructor that frees the object as well, by the C++
    /// ABI. It calls the other form, or has it in itself.
    pub fn is_deleting(&self, function: &Function) -> bool {
        let symbol = self.symbol_at(function.entry);
        symbol.is_some_and(|(symbol, _)| {
            symbol.name.starts_with("_Z") && symbol.name.contains("D0Ev")
        })
    }

    /// Whether a function's code is a clone that GCC marks so in its name.
    fn is_marked(&self, function: &Function, marks: &[&str]) -> bool {
        let symbol = self.symbol_at(function.entry);
        let suffix = symbol.map_or("", |(symbol, _)| clone_suffix(symbol.name));
        marks.iter().any(|m| suffix.contains(m))
    }

    /// Where a function's result is just after it returned; `None` when it has none.
    pub fn return_place(&self, function: &Function) -> Option<(Type, AbiPlace)> {
        let ty = self.return_type(function)?;
        let place = return_place(&ty, self.convention(function))?;
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
    argument_places_behind(types, language, (usize::from(by_address), 0))
}

/// The same behind something else that has used so many integer and vector registers.
pub(crate) fn argument_places_behind(
    types: &[Type],
    language: Language,
    (integers, floats): (usize, u16),
) -> Vec<Option<AbiPlace>> {
    let mut state = Assign {
        integers,
        floats,
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
            Classes::ComplexX87 => {
                let parts = vec![(ST0, 0, 10), (ST0 + 1, size / 2, 10)];
                return Some(AbiPlace::Registers(parts));
            }
            Classes::Unknown => return Some(AbiPlace::Unknown),
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

/// Registers used so far.
#[derive(Default)]
struct Assign {
    integers: usize,
    floats: u16,
    stack: u64,
    /// An argument of a size that nobody knows went somewhere: where the next ones are is not known.
    is_lost: bool,
    known: Known,
}

/// Of which registers it is known what has gone there before, in spite of vectors that are in
/// registers or in memory.
#[derive(Default, PartialEq)]
enum Known {
    #[default]
    All,
    Integers,
    Nothing,
}

impl Assign {
    fn argument(&mut self, ty: &Type, language: Language) -> Option<AbiPlace> {
        let place = self.assigned(ty, language)?;
        let is_integer = |&(register, ..): &(u16, u64, u64)| INTEGER.contains(&register);
        let is_known = match (&self.known, &place) {
            (_, AbiPlace::Empty) | (Known::All, _) => true,
            (Known::Integers, AbiPlace::Registers(parts)) => parts.iter().all(is_integer),
            (Known::Integers, AbiPlace::ByAddress(_)) => true,
            _ => false,
        };
        Some(if is_known { place } else { AbiPlace::Unknown })
    }

    fn assigned(&mut self, ty: &Type, language: Language) -> Option<AbiPlace> {
        // No honest argument is larger than a stack.
        let size = match ty.strip().kind() {
            // `std::nullptr_t` is passed as a pointer.
            Kind::Unspecified => Some(8),
            _ => ty.size().filter(|&s| s < 1 << 32),
        };
        self.is_lost |= size.is_none();
        let size = size.filter(|_| !self.is_lost)?;
        if language == Language::Rust {
            return self.rust_argument(ty, size);
        }
        if is_by_reference(ty) {
            return Some(self.by_address());
        }
        if size == 0 {
            return Some(AbiPlace::Empty);
        }
        let classes = match ty.strip().kind() {
            Kind::Unspecified => Some(Classes::Eightbytes(vec![Some(Class::Integer)])),
            _ => classify(ty),
        };
        match classes {
            Some(Classes::Eightbytes(classes)) => {
                let parts = eightbytes(&classes, size);
                Some(
                    self.in_registers(&parts)
                        .unwrap_or_else(|| self.on_stack(ty, size)),
                )
            }
            Some(Classes::Unknown) => {
                if self.known == Known::All {
                    self.known = Known::Integers;
                }
                Some(AbiPlace::Unknown)
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
        Some(match self.in_registers(&parts) {
            Some(place) => place,
            None if parts.len() == 1 || is_wide_integer(ty) => self.on_stack(ty, size),
            None => self.split(&parts),
        })
    }

    /// Rust passes the parts of a pair as separate arguments: one may be on the stack.
    fn split(&mut self, parts: &[(Class, u64, u64)]) -> AbiPlace {
        let part = |&(class, offset, size): &(Class, u64, u64)| {
            let register = self.in_registers(&[(class, 0, size)]);
            let place = register.unwrap_or_else(|| AbiPlace::Stack(self.word_on_stack()));
            (place, offset, size)
        };
        AbiPlace::Split(parts.iter().map(part).collect())
    }

    fn by_address(&mut self) -> AbiPlace {
        match INTEGER.get(self.integers) {
            Some(&register) => {
                self.integers += 1;
                AbiPlace::ByAddress(register)
            }
            None => AbiPlace::ByAddressOnStack(self.word_on_stack()),
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

    fn word_on_stack(&mut self) -> u64 {
        self.stack += 8;
        self.stack
    }

    fn on_stack(&mut self, ty: &Type, size: u64) -> AbiPlace {
        let align = alignment(ty, &[]).clamp(8, 64);
        // At the entry the return address lies at the stack pointer.
        let at = self.stack.next_multiple_of(align);
        self.stack = at + size.next_multiple_of(8);
        AbiPlace::Stack(at + 8)
    }
}

/// Whether a parameter is more than a word of GCC's about the forms of constructors and
/// destructors: where to find virtual bases is told to the forms for a part of an object alone.
fn is_passed(name: &str, function: &Function) -> bool {
    let linkage = function.linkage_name.as_deref().unwrap_or_default();
    match name {
        "__in_chrg" => false,
        "__vtt_parm" => ["C2E", "C2I", "D2E"]
            .iter()
            .any(|form| linkage.contains(form)),
        _ => true,
    }
}

/// What a compiler has put behind the name of a function for a copy of it: `.part.0`. Paths in
/// rustc's names have dots of their own before the hash.
fn clone_suffix(name: &str) -> &str {
    const HASH: &str = "17h";
    const REST: usize = HASH.len() + 17;
    let is_hashed = |at: &usize| name.as_bytes().get(at + REST - 1) == Some(&b'E');
    let hash = name.rfind(HASH).filter(is_hashed);
    let end = hash.map_or(0, |at| at + REST);
    let behind = name.get(end..).unwrap_or_default();
    behind.find('.').map_or("", |dot| &behind[dot..])
}

#[cfg(test)]
mod tests {
    use super::clone_suffix;

    #[test]
    fn what_is_behind_a_name() {
        assert_eq!(clone_suffix("f"), "");
        assert_eq!(clone_suffix("f.part.0"), ".part.0");
        assert_eq!(clone_suffix("_Z1fi.constprop.0.cold"), ".constprop.0.cold");
        let rust = "_ZN54_$LT$a..part..P$u20$as$u20$a..Shape$GT$4area17h0123456789abcdefE";
        assert_eq!(clone_suffix(rust), "");
        assert_eq!(clone_suffix(&format!("{rust}.llvm.77")), ".llvm.77");
        assert_eq!(clone_suffix("x17h\u{e9}"), "");
    }
}
