//! Variables: parameters, locals in their scopes, globals, statics, thread-locals.

use crate::addr::FileAddr;
use crate::error::LocationError;
use crate::first_moment;
use crate::functions::{Function, blocks_at, code_at, origin};
use crate::index::EntryKind;
use crate::location::{Env, Evaluator, Place};
use crate::module::Module;
use crate::names::{base_name, split_path};
use crate::outlook::Outlook;
use crate::paths::Step;
use crate::type_read::{child_id, children, constant, is_set, offset_of};
use crate::types::Type;
use crate::units::{DieId, Entry, Info, R, Unit, Value};
use gimli::Expression;
use gimli::constants as dw;
use std::sync::Arc;

/// A variable of the program, with the knowledge of where it is at which pc.
#[derive(Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// A parameter of its function.
    pub is_parameter: bool,
    /// Made by the compiler (`this`, `__for_range`).
    pub is_artificial: bool,
    /// The line of its declaration, 0 when unknown.
    pub line: u32,
    /// Its DIE.
    pub die: DieId,
    info: Arc<Info>,
    unit: Arc<Unit>,
    location: Option<Value>,
    constant: Option<Value>,
    frame_base: Option<Value>,
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Variable({}: {:?})", self.name, self.ty)
    }
}

impl Variable {
    /// Where it is when the program is at `pc` (which locals need and globals do not).
    pub fn place(&self, env: &Env, pc: Option<FileAddr>) -> Result<Place, LocationError> {
        if let Some(value) = self.constant {
            return self.constant_place(value);
        }
        let location = self.location.ok_or(LocationError::OptimizedOut)?;
        self.evaluator(env, pc).place(location)
    }

    /// Whether the compiler says that nothing was stored in it yet.
    pub fn is_uninitialized(&self, env: &Env, pc: Option<FileAddr>) -> bool {
        let evaluator = self.evaluator(env, pc);
        self.location.is_some_and(|l| evaluator.is_uninitialized(l))
    }

    fn evaluator<'a>(&'a self, env: &'a Env<'a>, pc: Option<FileAddr>) -> Evaluator<'a> {
        Evaluator {
            info: &self.info,
            unit: &self.unit,
            env,
            frame_base: self.frame_base,
            pc: pc.map(|p| p.0),
        }
    }

    /// How many pointers lead to it from where its function keeps them, if one expression says so.
    pub fn pointers_followed(&self) -> Option<usize> {
        let mut operations = self
            .location?
            .exprloc_value()?
            .operations(self.unit.unit.encoding());
        let mut followed = 0;
        while let Some(operation) = operations.next().ok()? {
            followed += usize::from(matches!(operation, gimli::Operation::Deref { .. }));
        }
        Some(followed)
    }

    /// Its type, with the bounds of a variable-length array as they are now.
    pub fn type_at(&self, env: &Env, pc: Option<FileAddr>) -> Type {
        let evaluator = self.evaluator(env, pc);
        let bound = |value: Value| match value.exprloc_value() {
            Some(expression) => match evaluator.evaluate(expression, None, 0).ok()? {
                Place::Memory(number) => Some(number),
                Place::Bytes(bytes) => Some(word(&bytes)),
                other => Some(word(&other.read(env, 8).ok()?)),
            },
            // The bound is kept in a variable the compiler made.
            None => {
                let id = self.info.follow(&self.unit, Some(value))?;
                let (unit, entry) = self.info.die(id)?;
                let variable = read_variable_named(&self.info, &unit, &entry, self.frame_base)?;
                let size = variable.ty.size().unwrap_or(8).min(8) as usize;
                let place = variable.place(env, pc).ok()?;
                Some(word(&place.read(env, size).ok()?))
            }
        };
        self.ty.with_bounds(&bound)
    }

    /// The variable that it pointed to before the compiler did without the pointer, and bytes into it.
    pub fn implied_target(&self, place: &Place) -> Option<(Variable, u64)> {
        let Place::ImplicitPointer { target, offset } = place else {
            return None;
        };
        let (unit, entry) = self.info.die(*target)?;
        let variable = read_variable_named(&self.info, &unit, &entry, self.frame_base)?;
        Some((variable, u64::try_from(*offset).ok()?))
    }

    fn constant_place(&self, value: Value) -> Result<Place, LocationError> {
        if let gimli::AttributeValue::Block(bytes) = value {
            return Ok(Place::Bytes(bytes.slice().to_vec()));
        }
        if let Some(text) = self.unit.string(Some(value)) {
            return Ok(Place::Bytes([text.as_bytes(), &[0]].concat()));
        }
        let number = constant(value).ok_or(LocationError::OptimizedOut)?;
        Ok(Place::Bytes(number.to_le_bytes().to_vec()))
    }

    /// Whether the debug information says where it is at this very address: by a list, or by an
    /// expression that no prologue has to make true.
    pub(crate) fn listed_at(&self, pc: FileAddr) -> bool {
        let Some(location) = self.location else {
            return false;
        };
        if let Some(expression) = location.exprloc_value() {
            return self.holds_everywhere(expression);
        }
        let lists = self.unit.dwarf.attr_locations(&self.unit.unit, location);
        let Ok(Some(mut list)) = lists else {
            return false;
        };
        while let Ok(Some(entry)) = list.next() {
            if entry.range.begin <= pc.0 && pc.0 < entry.range.end {
                return true;
            }
        }
        false
    }

    /// Whether an expression needs neither the frame nor registers, as that of an argument which
    /// is the same in all calls.
    fn holds_everywhere(&self, expression: gimli::Expression<R>) -> bool {
        use gimli::Operation as O;
        let mut operations = expression.operations(self.unit.unit.encoding());
        while let Ok(Some(operation)) = operations.next() {
            match operation {
                O::Address { .. }
                | O::AddressIndex { .. }
                | O::ConstantIndex { .. }
                | O::UnsignedConstant { .. }
                | O::SignedConstant { .. }
                | O::PlusConstant { .. }
                | O::ImplicitValue { .. }
                | O::ImplicitPointer { .. }
                | O::StackValue => {}
                _ => return false,
            }
        }
        true
    }

    /// Where the debug information has it before the first instruction has run and any statement
    /// is done. A parameter that is in one register throughout is there from the beginning, if
    /// `in_register` says that nothing else is known of where it comes from.
    pub(crate) fn first_expression(
        &self,
        entry: FileAddr,
        in_register: bool,
    ) -> Option<Expression<R>> {
        let location = self.location?;
        let Some(expression) = location.exprloc_value() else {
            return first_moment::expression(&self.unit, self.die.offset, location, entry.0);
        };
        let mut operations = expression.operations(self.unit.unit.encoding());
        let is_register = matches!(
            (operations.next(), operations.next()),
            (Ok(Some(gimli::Operation::Register { .. })), Ok(None))
        );
        let holds = self.holds_everywhere(expression) || (in_register && is_register);
        holds.then_some(expression)
    }

    /// Where an expression of its own leads.
    pub(crate) fn place_by(
        &self,
        expression: Expression<R>,
        env: &Env,
        pc: FileAddr,
    ) -> Result<Place, LocationError> {
        let evaluator = Evaluator {
            info: &self.info,
            unit: &self.unit,
            env,
            frame_base: self.frame_base,
            pc: Some(pc.0),
        };
        evaluator.evaluate(expression, None, 0)
    }

    /// Whether an expression of its own asks what the caller would have passed.
    pub(crate) fn is_callers(&self, expression: Expression<R>) -> bool {
        first_moment::is_callers(&self.unit, expression)
    }

    /// Whether it is in one place from the beginning to the end of its scope.
    pub(crate) fn has_one_place(&self) -> bool {
        self.location.is_some_and(|l| l.exprloc_value().is_some())
    }

    /// Whether it is in memory that a pointer leads to where its location list begins: in a
    /// register, or in the frame to which unoptimised code has copied it.
    pub(crate) fn is_behind_pointer(&self) -> bool {
        use gimli::Operation::{Deref, FrameOffset, RegisterOffset};
        let location = self.location.filter(|l| l.exprloc_value().is_none());
        let lists = location.map(|l| self.unit.dwarf.attr_locations(&self.unit.unit, l));
        let Some(Ok(Some(mut lists))) = lists else {
            return false;
        };
        let Ok(Some(first)) = lists.next() else {
            return false;
        };
        let mut operations = first.data.operations(self.unit.unit.encoding());
        match (operations.next(), operations.next()) {
            (Ok(Some(RegisterOffset { offset: 0, .. })), Ok(None)) => true,
            (Ok(Some(RegisterOffset { .. } | FrameOffset { .. })), Ok(Some(Deref { .. }))) => {
                matches!(operations.next(), Ok(None))
            }
            _ => false,
        }
    }

    /// The value itself, when the compiler knows it.
    pub(crate) fn constant_bytes(&self) -> Option<Vec<u8>> {
        match self.constant_place(self.constant?) {
            Ok(Place::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it is declared in a file of this name.
    pub fn is_in_file(&self, name: &str) -> bool {
        let entry = self.unit.entry(self.die.offset);
        let index = entry.and_then(|e| match e.attr_value(dw::DW_AT_decl_file)? {
            gimli::AttributeValue::FileIndex(i) => Some(i),
            other => other.udata_value(),
        });
        let file = index.and_then(|i| self.unit.file(i));
        file.is_some_and(|f| crate::lines::file_matches(&f, name))
    }

    /// Whether it is in static storage, so that its place needs no frame.
    pub fn is_static(&self) -> bool {
        let expression = self.location.and_then(|l| l.exprloc_value());
        let first = expression.and_then(|e| {
            let mut operations = e.operations(self.unit.unit.encoding());
            operations.next().ok().flatten()
        });
        matches!(
            first,
            Some(gimli::Operation::Address { .. } | gimli::Operation::AddressIndex { .. })
        )
    }

    /// Whether the linker left it out: its address is none then.
    fn is_discarded(&self) -> bool {
        let unit = &self.unit;
        let expression = self.location.and_then(|l| l.exprloc_value());
        let first = expression.map(|e| e.operations(unit.unit.encoding()).next());
        let address = match first {
            Some(Ok(Some(gimli::Operation::Address { address }))) => address,
            Some(Ok(Some(gimli::Operation::AddressIndex { index }))) => {
                match unit.dwarf.address(&unit.unit, index) {
                    Ok(address) => address,
                    Err(_) => return false,
                }
            }
            _ => return false,
        };
        address <= 1 || address >= u64::MAX - 1
    }

    /// The name that the linker knows it by.
    pub fn linkage_name(&self) -> &str {
        let entry = self.unit.entry(self.die.offset);
        let written = entry.and_then(|e| e.attr_value(dw::DW_AT_linkage_name));
        self.unit.string(written).unwrap_or(&self.name)
    }

    /// Whether each thread has one of its own, in no frame.
    pub fn is_thread_local(&self) -> bool {
        let Some(expression) = self.location.and_then(|l| l.exprloc_value()) else {
            return false;
        };
        let mut operations = expression.operations(self.unit.unit.encoding());
        while let Ok(Some(operation)) = operations.next() {
            if matches!(operation, gimli::Operation::TLS) {
                return true;
            }
        }
        false
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = bytes.len().min(8);
    word[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(word)
}

/// A variable that may have no name.
fn read_variable_named(
    info: &Arc<Info>,
    unit: &Arc<Unit>,
    entry: &Entry,
    frame_base: Option<Value>,
) -> Option<Variable> {
    read_variable(info, unit, entry, frame_base).or_else(|| {
        let id = info.follow(unit, entry.attr_value(dw::DW_AT_type))?;
        Some(Variable {
            name: String::new(),
            ty: Type::from_die(info, id),
            is_parameter: false,
            is_artificial: true,
            line: 0,
            die: child_id(unit, entry),
            info: info.clone(),
            unit: unit.clone(),
            location: entry.attr_value(dw::DW_AT_location),
            constant: None,
            frame_base,
        })
    })
}

/// Blocks without code within such blocks; deeper ones are a corrupt file's.
const DEEPEST: usize = 64;

/// Variables of one block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The variables in the order of their declaration.
    pub variables: Vec<Variable>,
}

impl Module {
    /// Variables visible at an address in a frame (a function or an inlined call), innermost block
    /// first. The last block holds the parameters.
    pub fn blocks(&self, frame: DieId, addr: FileAddr) -> Vec<Block> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let Some(unit) = info.unit(frame.unit) else {
            return Vec::new();
        };
        let base = code_at(&unit, addr).and_then(|f| frame_base(info, &unit, f));
        let mut out: Vec<Block> = Vec::new();
        let inner = blocks_at(&unit, frame.offset, addr.0, false);
        for block in inner.iter().rev() {
            let variables = variables_in(info, &unit, offset_of(block), base);
            out.push(Block { variables });
        }
        let variables = variables_in(info, &unit, frame.offset, base);
        out.push(Block { variables });
        out
    }

    /// Parameters of a function or an inlined call, in order.
    pub fn parameters(&self, frame: DieId) -> Vec<Variable> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let Some(unit) = info.unit(frame.unit) else {
            return Vec::new();
        };
        let base = frame_base(info, &unit, frame.offset).or_else(|| {
            // An inlined call lives in the frame of the function around it.
            let (begin, _) = unit.ranges(&unit.entry(frame.offset)?).first().copied()?;
            frame_base(info, &unit, code_at(&unit, FileAddr(begin))?)
        });
        let mut all = variables_in(info, &unit, frame.offset, base);
        all.retain(|v| v.is_parameter);
        all
    }

    /// Whether the debug information says what a function takes, be it nothing. With lines only
    /// (`-g1`) it says of no function what it takes and of no type what it is.
    pub fn tells_parameters(&self, function: &Function) -> bool {
        let die = function.die.zip(self.info());
        let Some((id, info)) = die else {
            return false;
        };
        let Some((unit, entry)) = info.die(id) else {
            return false;
        };
        let has = |name| entry.attr_value(name).is_some();
        if has(dw::DW_AT_type) || has(dw::DW_AT_prototyped) || has(dw::DW_AT_abstract_origin) {
            return true;
        }
        let is_parameter = |c: &Entry| c.tag() == dw::DW_TAG_formal_parameter;
        let is_type = |c: &Entry| c.tag() == dw::DW_TAG_base_type;
        children(&unit, id.offset).iter().any(is_parameter)
            || children(&unit, unit.unit.header.root_offset().0 as u32)
                .iter()
                .any(is_type)
    }

    /// Whether a function takes variable arguments.
    pub fn is_variadic(&self, function: &Function) -> bool {
        let Some((unit, _)) = function.die.and_then(|id| self.info()?.die(id)) else {
            return false;
        };
        let offset = function.die.map_or(0, |d| d.offset);
        let mut inside = children(&unit, offset).into_iter();
        inside.any(|c| c.tag() == dw::DW_TAG_unspecified_parameters)
    }

    /// Global and static variables that a path means, with how far they are: the nearest first, and
    /// of those the ones of the unit around `near`.
    pub fn globals(
        &self,
        path: &str,
        near: Option<FileAddr>,
        from: &Outlook,
    ) -> Vec<(usize, Variable)> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let global = Outlook::global();
        let from = match path.starts_with("::") {
            true => &global,
            false => from,
        };
        let wanted = split_path(path.trim_start_matches("::"));
        let Some(last) = wanted.last() else {
            return Vec::new();
        };
        let near = near.and_then(|a| self.unit_at(a)).map(|u| u.index);
        let mut found = Vec::new();
        for named in info.index().find(info, base_name(last)) {
            if named.entry.kind != EntryKind::Variable || named.name != *last {
                continue;
            }
            let steps: Vec<&Step> = named.scopes.iter().collect();
            let Some(rank) = from.rank(&wanted, named.name, &steps) else {
                continue;
            };
            let id = named.entry.id();
            if let Some(variable) = self.variable(id) {
                found.push((Some(id.unit) != near, rank, variable));
            }
        }
        if found.is_empty() {
            return self.rust_thread_locals(&wanted, from);
        }
        found.sort_by_key(|(far, rank, v)| (*rank, *far, v.die));
        found.into_iter().map(|(_, rank, v)| (rank, v)).collect()
    }

    /// What the file says about a variable of C that it takes from another one.
    pub fn extern_type(&self, name: &str) -> Option<Type> {
        let info = self.info()?;
        let mut all = info.index().find(info, name).into_iter();
        all.find_map(|named| {
            let is_meant = named.entry.kind == EntryKind::Extern && named.name == name;
            if !is_meant || !named.scopes.is_empty() {
                return None;
            }
            let (unit, entry) = info.die(named.entry.id())?;
            let ty = info.follow(&unit, entry.attr_value(dw::DW_AT_type))?;
            Some(Type::from_die(info, ty))
        })
    }

    /// A variable by its DIE.
    pub fn variable(&self, id: DieId) -> Option<Variable> {
        let info = self.info()?;
        let (unit, entry) = info.die(id)?;
        read_variable(info, &unit, &entry, None).filter(|v| !v.is_discarded())
    }

    /// The definition of a static member that its class declares.
    pub fn static_member(&self, member: DieId) -> Option<Variable> {
        let info = self.info()?;
        let direct = self.variable(member)?;
        if direct.location.is_some() || direct.constant.is_some() {
            return Some(direct);
        }
        let name = direct.name.clone();
        let found = info.index().find(info, base_name(&name)).into_iter();
        found
            .filter(|n| n.entry.kind == EntryKind::Variable)
            .filter(|n| crate::paths::whole_declaration(info, n.entry.id()) == member)
            .find_map(|n| self.variable(n.entry.id()))
    }

    /// Constants of enumerations that a path means: how far they are, their types and values.
    pub fn enumerators(&self, path: &str, from: &Outlook) -> Vec<(usize, Type, i128)> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let wanted = split_path(path.trim_start_matches("::"));
        let Some(last) = wanted.last() else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for named in info.index().find(info, last) {
            if named.entry.kind != EntryKind::Enumerator {
                continue;
            }
            let Some((unit, entry)) = info.die(named.entry.id()) else {
                continue;
            };
            let Some(parent) = parent_enum(&unit, named.entry.id().offset) else {
                continue;
            };
            let id = DieId {
                unit: unit.index,
                offset: parent,
            };
            let ty = Type::from_die(info, id);
            // `RED`, `color::RED` and, for a scoped one, only the latter.
            let all: Vec<&Step> = named.scopes.iter().collect();
            let around = match all.split_last() {
                Some((_, outer)) if ty.name().is_some() && !ty.is_scoped_enum() => outer,
                _ => &all[..],
            };
            let rank = |scopes: &[&Step]| from.rank(&wanted, named.name, scopes);
            let Some(rank) = rank(around).or_else(|| rank(&all)) else {
                continue;
            };
            let value = entry.attr_value(dw::DW_AT_const_value).and_then(constant);
            if let Some(value) = value {
                out.push((rank, ty, value));
            }
        }
        out.sort_by_key(|(rank, ..)| *rank);
        out
    }

    /// Types that a path means, the nearest first, and of those the ones of the unit around `near`.
    pub fn types(&self, path: &str, near: Option<FileAddr>, from: &Outlook) -> Vec<Type> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let near = near.and_then(|a| self.unit_at(a)).map(|u| u.index);
        let mut ids = crate::index::types_named(info, path, from);
        ids.sort_by_key(|(rank, id)| (*rank, Some(id.unit) != near));
        let types = ids.into_iter().map(|(_, id)| Type::from_die(info, id));
        types.collect()
    }

    /// Types declared inside the function or blocks around an address.
    pub fn local_types(&self, frame: DieId, addr: FileAddr, name: &str) -> Vec<Type> {
        let Some((info, unit)) = self.info().and_then(|i| Some((i, i.unit(frame.unit)?))) else {
            return Vec::new();
        };
        let inner = blocks_at(&unit, frame.offset, addr.0, false);
        let mut offsets: Vec<u32> = inner.iter().map(offset_of).collect();
        offsets.insert(0, frame.offset);
        let mut out = Vec::new();
        for offset in offsets.into_iter().rev() {
            for child in children(&unit, offset) {
                let is_type = matches!(
                    child.tag(),
                    dw::DW_TAG_structure_type
                        | dw::DW_TAG_class_type
                        | dw::DW_TAG_union_type
                        | dw::DW_TAG_enumeration_type
                        | dw::DW_TAG_typedef
                );
                if is_type && unit.string(child.attr_value(dw::DW_AT_name)) == Some(name) {
                    out.push(Type::from_die(info, child_id(&unit, &child)));
                }
            }
        }
        out
    }
}

fn parent_enum(unit: &Unit, offset: u32) -> Option<u32> {
    let scopes = unit.scopes();
    let before = scopes.partition_point(|s| s.start < offset);
    let around = scopes[..before].iter().rev().find(|s| offset < s.end);
    around.map(|s| s.start)
}

fn frame_base(info: &Info, unit: &Arc<Unit>, function: u32) -> Option<Value> {
    let entry = unit.entry(function)?;
    entry.attr_value(dw::DW_AT_frame_base).or_else(|| {
        let (_, entry) = origin(info, unit, &entry)?;
        entry.attr_value(dw::DW_AT_frame_base)
    })
}

fn is_variable(entry: &Entry) -> bool {
    matches!(
        entry.tag(),
        dw::DW_TAG_formal_parameter | dw::DW_TAG_variable | dw::DW_TAG_constant
    )
}

/// Variables declared directly in a function or block. Those of the abstract instance that this
/// copy no longer mentions are there too: they were optimised out.
fn variables_in(
    info: &Arc<Info>,
    unit: &Arc<Unit>,
    offset: u32,
    base: Option<Value>,
) -> Vec<Variable> {
    let inside = children(unit, offset);
    let mut out = Vec::new();
    for child in &inside {
        declared_by(info, unit, child, base, 0, &mut out);
    }
    let block = unit.entry(offset);
    let from = block.and_then(|b| info.follow(unit, b.attr_value(dw::DW_AT_abstract_origin)));
    if let Some((id, home)) = from.and_then(|id| Some((id, info.unit(id.unit)?))) {
        let mentioned: Vec<DieId> = inside
            .iter()
            .filter_map(|c| outermost_origin(info, unit, c))
            .collect();
        let mut missing: Vec<Variable> = Vec::new();
        for child in children(&home, id.offset) {
            if !mentioned.contains(&child_id(&home, &child)) {
                declared_by(info, &home, &child, base, 0, &mut missing);
            }
        }
        // An array whose length is not constant may be there without saying what it is a copy of.
        missing.retain(|m| !out.iter().any(|v| v.name == m.name && v.line == m.line));
        out.extend(missing);
        order_parameters(info, &home, id.offset, &mut out);
    }
    out
}

/// What a child of a function or block declares there: itself, or what is in a block without code.
/// Of such a block only the names are left, and nothing says where they would be seen.
fn declared_by(
    info: &Arc<Info>,
    unit: &Arc<Unit>,
    child: &Entry,
    base: Option<Value>,
    depth: usize,
    out: &mut Vec<Variable>,
) {
    if is_variable(child) {
        out.extend(read_variable(info, unit, child, base));
    } else if child.tag() == dw::DW_TAG_lexical_block && !says_where(child) && depth < DEEPEST {
        for inner in children(unit, offset_of(child)) {
            declared_by(info, unit, &inner, base, depth + 1, out);
        }
    }
}

/// Whether a block says where its code is.
fn says_where(block: &Entry) -> bool {
    let attributes = [dw::DW_AT_ranges, dw::DW_AT_low_pc, dw::DW_AT_high_pc];
    attributes.iter().any(|a| block.attr_value(*a).is_some())
}

/// What a DIE of a copy is a copy of, through copies of copies.
fn outermost_origin(info: &Info, unit: &Unit, entry: &Entry) -> Option<DieId> {
    let mut found = info.follow(unit, entry.attr_value(dw::DW_AT_abstract_origin))?;
    for _ in 0..4 {
        let Some((unit, entry)) = info.die(found) else {
            break;
        };
        match info.follow(&unit, entry.attr_value(dw::DW_AT_abstract_origin)) {
            Some(next) => found = next,
            None => break,
        }
    }
    Some(found)
}

/// Puts parameters first and in the order of the abstract instance.
fn order_parameters(info: &Info, home: &Unit, abstract_offset: u32, variables: &mut [Variable]) {
    let order: Vec<DieId> = children(home, abstract_offset)
        .iter()
        .map(|c| child_id(home, c))
        .collect();
    let position = |v: &Variable| {
        let copied = info.die(v.die);
        let from = copied.and_then(|(u, e)| outermost_origin(info, &u, &e));
        let from = from.unwrap_or(v.die);
        order.iter().position(|id| *id == from)
    };
    variables.sort_by_cached_key(|v| match v.is_parameter {
        true => position(v).unwrap_or(order.len()),
        false => usize::MAX,
    });
}

fn read_variable(
    info: &Arc<Info>,
    unit: &Arc<Unit>,
    entry: &Entry,
    frame_base: Option<Value>,
) -> Option<Variable> {
    let chain = origins(info, unit, entry);
    let attr = |name| {
        chain
            .iter()
            .find_map(|(u, e)| Some((u, e.attr_value(name)?)))
    };
    // An external declaration inside a function is the global of that name.
    if is_set(entry.attr_value(dw::DW_AT_declaration)) && entry.tag() == dw::DW_TAG_variable {
        let has_value = attr(dw::DW_AT_const_value).is_some();
        if !has_value && entry.attr_value(dw::DW_AT_location).is_none() && is_local_extern(entry) {
            return None;
        }
    }
    let name = match attr(dw::DW_AT_name) {
        Some((unit, name)) => unit.string(Some(name))?.to_owned(),
        // C++ does not ask for a name, and it is passed nevertheless.
        None if entry.tag() == dw::DW_TAG_formal_parameter => String::new(),
        None => return None,
    };
    let ty = attr(dw::DW_AT_type).and_then(|(u, v)| info.follow(u, Some(v)));
    let ty = ty.map_or_else(Type::void, |id| Type::from_die(info, id));
    let line = attr(dw::DW_AT_decl_line).and_then(|(_, v)| v.udata_value());
    Some(Variable {
        name,
        ty,
        is_parameter: entry.tag() == dw::DW_TAG_formal_parameter,
        is_artificial: attr(dw::DW_AT_artificial).is_some(),
        line: line.and_then(|l| u32::try_from(l).ok()).unwrap_or(0),
        die: child_id(unit, entry),
        info: info.clone(),
        unit: unit.clone(),
        location: entry.attr_value(dw::DW_AT_location),
        constant: attr(dw::DW_AT_const_value).map(|(_, v)| v),
        frame_base,
    })
}

fn is_local_extern(entry: &Entry) -> bool {
    is_set(entry.attr_value(dw::DW_AT_external))
        && entry.attr_value(dw::DW_AT_data_member_location).is_none()
        && entry.attr_value(dw::DW_AT_accessibility).is_none()
        && entry.depth() > 1
}

/// The DIE and what it refers to, nearest first.
fn origins(info: &Info, unit: &Arc<Unit>, entry: &Entry) -> Vec<(Arc<Unit>, Entry)> {
    let mut chain = vec![(unit.clone(), entry.clone())];
    for _ in 0..4 {
        let next = chain.last().and_then(|(u, e)| origin(info, u, e));
        match next {
            Some(next) => chain.push(next),
            None => break,
        }
    }
    chain
}
