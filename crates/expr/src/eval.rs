//! Evaluation of bound expressions.

use crate::arithmetic::{arithmetic, bit_field, compare, convert, in_bits, negated};
use crate::concrete::Still;
use crate::dynamic::part_of_object;
use crate::error::EvalError;
use crate::ir::{Home, Node, Op, OrElse};
use crate::scope::{Call, Scope, env};
use crate::value::{Data, Lvalue, Value, extend};
use crate::variants::active_field;
use verde_symbols::{
    AbiPlace, DieId, INTEGER_ARGUMENTS, Kind, Language, LocationError, Memory, Module, Place, Type,
    XMM0, argument_places, is_returned_in_memory, return_place,
};

/// The value of a bound expression. A variable that is not there gives a value that says why; an
/// operation on it fails.
pub fn eval(node: &Node, scope: &mut dyn Scope) -> Result<Value, EvalError> {
    Evaluator { scope }.value(node)
}

pub(crate) struct Evaluator<'a> {
    pub scope: &'a mut dyn Scope,
}

/// The memory of a scope: trait objects do not turn into their supertraits by themselves here.
struct ScopeMemory<'a>(&'a dyn Scope);

impl Memory for ScopeMemory<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        self.0.read(addr, buf)
    }
}

/// A variable's value in a scope.
pub(crate) fn variable_value(
    scope: &dyn Scope,
    module: &Module,
    variable: &verde_symbols::Variable,
) -> Value {
    let memory = ScopeMemory(scope);
    let env = env(scope, &memory, module);
    let pc = scope.frame().and_then(|f| f.file_addr());
    let ty = variable.type_at(&env, pc);
    match variable.place(&env, pc) {
        Ok(place) => Value {
            is_uninitialized: variable.is_uninitialized(&env, pc),
            ..Value::at_place(ty, &place, &env)
        },
        Err(why) => Value::missing(ty, why),
    }
}

/// Where a variable is in a scope, if that is in memory.
fn memory_place(
    scope: &dyn Scope,
    module: &Module,
    variable: &verde_symbols::Variable,
) -> Option<u64> {
    let memory = ScopeMemory(scope);
    let env = env(scope, &memory, module);
    let pc = scope.frame().and_then(|f| f.file_addr());
    match variable.place(&env, pc) {
        Ok(Place::Memory(addr)) => Some(addr),
        _ => None,
    }
}

/// A parameter's value at its function's entry.
pub(crate) fn argument_value(
    scope: &dyn Scope,
    module: &Module,
    argument: &verde_symbols::EntryArgument,
    entry: verde_symbols::FileAddr,
) -> Value {
    let memory = ScopeMemory(scope);
    let env = env(scope, &memory, module);
    let ty = argument.variable.ty.clone();
    match argument.locate(&env, entry) {
        Ok(place) => Value::at_place(ty, &place, &env),
        Err(why) => Value::missing(ty, why),
    }
}

/// A function's result, in the registers it returned with.
pub fn returned_value(
    ty: &Type,
    language: Language,
    registers: &verde_symbols::Registers,
    memory: &dyn Memory,
) -> Option<Value> {
    let place = return_place(ty, language)?;
    let env = verde_symbols::Env {
        memory,
        registers: Some(registers),
        cfa: None,
        bias: 0,
        tls: None,
        entry: None,
    };
    Some(match place.locate(&env) {
        Ok(place) => Value::at_place(ty.clone(), &place, &env),
        Err(why) => Value::missing(ty.clone(), why),
    })
}

/// Whether a function is meant that chooses its code as the program runs, by its name or by a
/// cast of it.
fn is_indirect(callee: &Node) -> bool {
    match &callee.op {
        Op::Symbol(_, Some(function)) => function.is_ifunc,
        Op::Address(of) | Op::Convert(of) | Op::Reinterpret(of) => is_indirect(of),
        _ => false,
    }
}

/// An array whose length its type does not say.
fn is_unbounded(ty: &Type) -> bool {
    let plain = ty.strip();
    matches!(plain.kind(), Kind::Array(..)) && plain.size().is_none()
}

impl Evaluator<'_> {
    fn memory(&self) -> ScopeMemory<'_> {
        ScopeMemory(&*self.scope)
    }

    pub(crate) fn value(&mut self, node: &Node) -> Result<Value, EvalError> {
        match &node.op {
            Op::Constant(value) => Ok(value.clone()),
            Op::Variable(variable, home) => Ok(variable_value(&*self.scope, &home.0, variable)),
            Op::Elsewhere(variable, home, function) => {
                let there = self.elsewhere(home, *function)?;
                let mut value = variable_value(&there, &home.0, variable);
                // A register of that frame is not the one that a write would reach.
                value.lvalue = value.lvalue.filter(|l| matches!(l, Lvalue::Memory(_)));
                Ok(value)
            }
            Op::Argument(argument, home, entry) => {
                Ok(argument_value(&*self.scope, &home.0, argument, *entry))
            }
            Op::Symbol(at, _) => {
                let addr = at.addr.at(self.bias(&at.module));
                Ok(Value::at(node.ty.clone(), addr, &self.memory()))
            }
            Op::Register(number, offset, size) => self.register(node, *number, *offset, *size),
            Op::Convenience(name) => Ok(match self.scope.convenience(name) {
                Some(mut value) => {
                    value.lvalue = Some(Lvalue::Convenience(name.clone()));
                    value
                }
                None => Value {
                    lvalue: Some(Lvalue::Convenience(name.clone())),
                    ..Value::of(Type::void(), Vec::new())
                },
            }),
            Op::History(number) => match self.scope.history(*number) {
                Some(value) => Ok(value),
                None if *number > 0 => Err(EvalError::Program(format!(
                    "History has not yet reached ${number}."
                ))),
                None => Ok(Value::of(Type::void(), Vec::new())),
            },
            Op::Deref(pointer) if is_unbounded(&node.ty) => {
                let pointer = self.value(pointer)?;
                let ty = pointer.ty.strip().target();
                let ty = ty.unwrap_or_else(|| node.ty.clone());
                Ok(Value::at(ty, pointer.to_address()?, &self.memory()))
            }
            Op::Deref(pointer) => match self.pointer(pointer) {
                Ok(addr) => Ok(Value::at(node.ty.clone(), addr, &self.memory())),
                Err(why) => match self.implied(pointer) {
                    Some((target, into)) => Ok(target.part(node.ty.clone(), into, &self.memory())),
                    None => Err(why),
                },
            },
            Op::Address(of) => self.address(node, of),
            Op::Member(base, offset, bits) => self.member(node, base, *offset, *bits),
            Op::Active(object, name) => {
                let object = self.value(object)?;
                active_field(&object, name, &node.ty, &self.memory())
            }
            Op::Known(known, parts) => {
                let mut values = Vec::new();
                for part in parts {
                    values.push(self.value(part)?);
                }
                known.answer(&node.ty, &values, &self.memory())
            }
            Op::Within(index, length) => {
                let index = self.value(index)?;
                let (at, length) = (index.to_integer()?, self.value(length)?.to_integer()?);
                match (0..length).contains(&at) {
                    true => Ok(index),
                    false => Err(EvalError::OutOfRange(at, length)),
                }
            }
            Op::Temporary(of) => self.temporary(node, of),
            Op::Borrowed(of) => self.borrowed_array(node, of),
            Op::SizeOf(of) => {
                let size = self.value(of)?.ty.size().unwrap_or(1);
                Ok(Value::integer(node.ty.clone(), size.into()))
            }
            Op::Element(base, index) => {
                if let Some(addr) = self.locate(node)? {
                    return Ok(Value::at(node.ty.clone(), addr, &self.memory()));
                }
                let base = self.value(base)?;
                let index = self.value(index)?.to_integer()?;
                // The value knows bounds that the expression's type may not.
                let element = base.ty.strip().target().unwrap_or_else(|| node.ty.clone());
                self.element(&element, &base, index)
            }
            Op::Repeat(base, count) => self.repeat(node, base, count),
            Op::Slice(base, low, high) => self.slice(node, base, low.as_deref(), high.as_deref()),
            Op::Negate(operand) => {
                let value = self.value(operand)?;
                if node.ty.is_float() {
                    let number = convert(&value, &node.ty)?;
                    return Ok(Value::of(node.ty.clone(), negated(&number)?));
                }
                Ok(Value::integer(
                    node.ty.clone(),
                    value.to_integer()?.wrapping_neg(),
                ))
            }
            Op::Not(operand) => {
                let truth = !self.value(operand)?.to_bool()?;
                Ok(Value::integer(node.ty.clone(), truth.into()))
            }
            Op::Complement(operand) => {
                let value = self.value(operand)?.to_integer()?;
                Ok(Value::integer(node.ty.clone(), !value))
            }
            Op::Arithmetic(operator, left, right, common) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                arithmetic(*operator, &left, &right, common)
            }
            Op::Compare(operator, left, right, common) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let truth = compare(*operator, &left, &right, common)?;
                Ok(Value::integer(node.ty.clone(), truth.into()))
            }
            Op::Offset(pointer, index, size) => {
                let base = self.value(pointer)?.to_address()?;
                let index = self.value(index)?.to_integer()? as i64;
                let addr = base.wrapping_add(index.wrapping_mul(*size) as u64);
                Ok(Value::integer(node.ty.clone(), addr.into()))
            }
            Op::Distance(left, right, size) => {
                let left = self.value(left)?.to_address()?;
                let right = self.value(right)?.to_address()?;
                let bytes = left.wrapping_sub(right) as i64;
                Ok(Value::integer(
                    node.ty.clone(),
                    (bytes / (*size).max(1)).into(),
                ))
            }
            Op::And(left, right) => {
                let truth = self.value(left)?.to_bool()? && self.value(right)?.to_bool()?;
                Ok(Value::integer(node.ty.clone(), truth.into()))
            }
            Op::Or(left, right) => {
                let truth = self.value(left)?.to_bool()? || self.value(right)?.to_bool()?;
                Ok(Value::integer(node.ty.clone(), truth.into()))
            }
            Op::Choose(condition, yes, no) => match self.value(condition)?.to_bool()? {
                true => self.value(yes),
                false => self.value(no),
            },
            Op::Comma(left, right) => {
                self.value(left)?;
                self.value(right)
            }
            Op::Convert(operand) => {
                let value = self.value(operand)?;
                convert(&value, &node.ty)
            }
            Op::Dynamic(pointer, otherwise) => {
                let pointer = self.value(pointer)?;
                let part = part_of_object(&pointer, &node.ty, &mut *self.scope)?;
                match (part, otherwise) {
                    (None, OrElse::Failure) => {
                        Err(EvalError::BadType("dynamic_cast failed".to_owned()))
                    }
                    (part, _) => Ok(part.unwrap_or_else(|| Value::integer(node.ty.clone(), 0))),
                }
            }
            Op::Reinterpret(operand) => {
                let value = self.value(operand)?;
                Ok(value.part(node.ty.clone(), 0, &self.memory()))
            }
            Op::Assign(left, right) => {
                let right = self.value(right)?;
                let target = self.value(left)?;
                self.assign(&target, &right)
            }
            Op::PostAdd(left, sum) => {
                let sum = self.value(sum)?;
                let target = self.value(left)?;
                self.assign(&target, &sum)?;
                Ok(Value {
                    lvalue: None,
                    ..target
                })
            }
            Op::Call(function, arguments, language) => {
                self.call(node, function, arguments, *language)
            }
        }
    }

    /// The address of what a node stands for, without reading it: `p->items[3].id` reads one pointer
    /// and four bytes, however large the items are.
    pub fn locate(&mut self, node: &Node) -> Result<Option<u64>, EvalError> {
        Ok(match &node.op {
            Op::Variable(variable, home) => memory_place(&*self.scope, &home.0, variable),
            Op::Elsewhere(variable, home, function) => {
                memory_place(&self.elsewhere(home, *function)?, &home.0, variable)
            }
            Op::Symbol(at, _) => Some(at.addr.at(self.bias(&at.module))),
            Op::Deref(pointer) => match self.pointer(pointer) {
                Err(_) if self.implied(pointer).is_some() => None,
                addr => Some(addr?),
            },
            Op::Member(base, offset, None) => {
                self.locate(base)?.map(|addr| addr.wrapping_add(*offset))
            }
            Op::Active(..) | Op::Known(..) => self.value(node)?.address(),
            // Rows of an array whose bounds are known only at run time have none of their own here.
            Op::Element(base, index)
                if matches!(base.ty.strip().kind(), Kind::Array(..))
                    && node.ty.size().is_some() =>
            {
                let Some(start) = self.locate(base)? else {
                    return Ok(None);
                };
                let index = self.value(index)?.to_integer()?;
                let size = node.ty.size().unwrap_or(1) as i128;
                Some(start.wrapping_add(index.wrapping_mul(size) as u64))
            }
            _ => None,
        })
    }

    /// What a pointer points to that the compiler did without, and bytes into it.
    fn implied(&self, pointer: &Node) -> Option<(Value, u64)> {
        let (variable, home, entry) = match &pointer.op {
            Op::Variable(variable, home) => (variable, home, None),
            Op::Argument(argument, home, entry) => {
                (&argument.variable, home, Some((argument, *entry)))
            }
            _ => return None,
        };
        let memory = self.memory();
        let env = env(&*self.scope, &memory, &home.0);
        let place = match entry {
            Some((argument, entry)) => argument.locate(&env, entry),
            None => {
                let pc = self.scope.frame().and_then(|f| f.file_addr());
                variable.place(&env, pc)
            }
        };
        let (target, into) = variable.implied_target(&place.ok()?)?;
        Some((variable_value(&*self.scope, &home.0, &target), into))
    }

    /// The scope of a function's frame.
    fn elsewhere(&self, home: &Home, function: DieId) -> Result<Still<'_>, EvalError> {
        if let Some(frame) = self.scope.frame_of(function) {
            return Ok(Still::in_frame(&*self.scope, frame));
        }
        if self.scope.frame().is_none() {
            return Err(LocationError::NoFrame.into());
        }
        let name = home.0.path_of(function).unwrap_or_default();
        Err(EvalError::BadType(format!(
            "No frame is currently executing in block {name}."
        )))
    }

    fn bias(&self, module: &Module) -> u64 {
        let mut modules = self.scope.modules().iter();
        let found = modules.find(|l| std::ptr::eq(&*l.module, module));
        found.map_or(0, |l| l.bias)
    }

    fn register(
        &self,
        node: &Node,
        number: u16,
        offset: u64,
        size: u64,
    ) -> Result<Value, EvalError> {
        let frame = self.scope.frame();
        let frame = frame.ok_or(EvalError::NoProcess("No registers."))?;
        let data = match frame.frame.registers.bytes(number) {
            Some(bytes) => {
                let end = (offset + size).min(bytes.len() as u64) as usize;
                Data::Bytes(bytes[offset as usize..end].to_vec())
            }
            None => Data::Missing(LocationError::NoRegister(number)),
        };
        Ok(Value {
            ty: node.ty.clone(),
            data,
            lvalue: Some(Lvalue::Register(number, offset)),
            bits: None,
            is_uninitialized: false,
        })
    }

    fn pointer(&mut self, node: &Node) -> Result<u64, EvalError> {
        let value = self.value(node)?;
        match value.ty.strip().kind() {
            // A reference is read as the pointer it is.
            Kind::Reference(_) | Kind::RvalueReference(_) => {
                Ok(extend(value.bytes()?, false) as u64)
            }
            _ => value.to_address(),
        }
    }

    /// The address to call. An indirect function is asked which of its variants runs here.
    fn callee(&mut self, node: &Node) -> Result<u64, EvalError> {
        let addr = self.pointer(node)?;
        if !is_indirect(node) {
            return Ok(addr);
        }
        let resolver = Call {
            function: addr,
            ..Call::default()
        };
        let registers = self.scope.call(&resolver)?;
        registers
            .get(0)
            .ok_or(EvalError::NoProcess("No registers."))
    }

    fn address(&mut self, node: &Node, of: &Node) -> Result<Value, EvalError> {
        if let Some(at) = of.op.function_at() {
            let addr = at.addr.at(self.bias(&at.module));
            return Ok(Value::integer(node.ty.clone(), addr.into()));
        }
        if let Some(addr) = self.locate(of)? {
            // Of an array whose length is known only while the program runs the value knows it.
            let ty = match is_unbounded(&of.ty) {
                true => self.value(of)?.ty.pointer_to(),
                false => node.ty.clone(),
            };
            return Ok(Value::integer(ty, addr.into()));
        }
        let value = self.value(of)?;
        if let Some(addr) = value.address() {
            return Ok(Value::integer(node.ty.clone(), addr.into()));
        }
        // Text has to be put into the program before it has an address. Rust borrows every value.
        let is_text = matches!(value.ty.strip().kind(), Kind::Array(..));
        let has_place = is_text || self.scope.language() == Language::Rust;
        let is_own = matches!(of.op, Op::Constant(_) | Op::Known(..)) && has_place;
        if let (true, Data::Bytes(bytes)) = (is_own, &value.data) {
            let addr = self.put(bytes)?;
            return Ok(Value::integer(node.ty.clone(), addr.into()));
        }
        Err(match (&value.lvalue, &value.data) {
            (Some(Lvalue::Register(..)), _) => EvalError::InRegister,
            (_, Data::Missing(why)) => why.clone().into(),
            _ => EvalError::NoAddress,
        })
    }

    /// The address of an argument that is passed by reference.
    fn temporary(&mut self, node: &Node, of: &Node) -> Result<Value, EvalError> {
        if let Some(addr) = self.locate(of)? {
            return Ok(Value::integer(node.ty.clone(), addr.into()));
        }
        let value = self.value(of)?;
        // What a function changed in a copy of an object would be lost.
        let is_record = matches!(value.ty.strip().kind(), Kind::Record(_));
        if let (Some(Lvalue::Register(..)), true) = (&value.lvalue, is_record) {
            return Err(EvalError::InRegister);
        }
        let addr = match value.address() {
            Some(addr) => addr,
            None => {
                let bytes = value.bytes()?.to_vec();
                self.put(&bytes)?
            }
        };
        Ok(Value::integer(node.ty.clone(), addr.into()))
    }

    /// Puts bytes into the program: their address.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<u64, EvalError> {
        let addr = self.scope.allocate(bytes.len().max(1) as u64)?;
        self.scope.write(addr, bytes)?;
        Ok(addr)
    }

    fn member(
        &mut self,
        node: &Node,
        base: &Node,
        offset: u64,
        bits: Option<(u64, u64)>,
    ) -> Result<Value, EvalError> {
        if let Some(addr) = self.locate(base)? {
            let Some(bits) = bits else {
                let addr = addr.wrapping_add(offset);
                return Ok(Value::at(node.ty.clone(), addr, &self.memory()));
            };
            let unread = Value {
                ty: base.ty.clone(),
                data: Data::Memory(addr),
                lvalue: Some(Lvalue::Memory(addr)),
                bits: None,
                is_uninitialized: false,
            };
            return Ok(bit_field(&unread, node.ty.clone(), bits, &self.memory()));
        }
        let base = self.value(base)?;
        match bits {
            None => Ok(base.part(node.ty.clone(), offset, &self.memory())),
            Some(bits) => Ok(bit_field(&base, node.ty.clone(), bits, &self.memory())),
        }
    }

    fn element(&self, ty: &Type, base: &Value, index: i128) -> Result<Value, EvalError> {
        let size = ty.size().unwrap_or(1) as i128;
        let offset = index.wrapping_mul(size);
        // Outside a value in memory lies more memory, as in C.
        if let Some(addr) = base.address() {
            let inside = offset >= 0 && offset + size <= base.ty.size().unwrap_or(0) as i128;
            if !inside || !matches!(base.data, Data::Bytes(_)) {
                let addr = addr.wrapping_add(offset as u64);
                return Ok(Value::at(ty.clone(), addr, &self.memory()));
            }
        }
        let offset = u64::try_from(offset);
        let offset =
            offset.map_err(|_| EvalError::BadType(format!("no such vector element: {index}")))?;
        if let Data::Bytes(bytes) = &base.data
            && offset.saturating_add(size as u64) > bytes.len() as u64
        {
            return Err(EvalError::BadType(format!(
                "no such vector element: {index}"
            )));
        }
        Ok(base.part(ty.clone(), offset, &self.memory()))
    }

    fn repeat(&mut self, node: &Node, base: &Node, count: &Node) -> Result<Value, EvalError> {
        let base = self.value(base)?;
        let count = self.value(count)?.to_integer()?;
        if count <= 0 {
            return Err(EvalError::BadType(format!(
                "Invalid number {count} of repetitions."
            )));
        }
        let addr = base.address().ok_or(EvalError::BadType(
            "Only values in memory can be extended with '@'.".into(),
        ))?;
        let element = node.ty.target().unwrap_or_else(Type::void);
        let ty = element.array_of(u64::try_from(count).unwrap_or(1));
        Ok(Value::at(ty, addr, &self.memory()))
    }

    fn slice(
        &mut self,
        node: &Node,
        base: &Node,
        low: Option<&Node>,
        high: Option<&Node>,
    ) -> Result<Value, EvalError> {
        let value = self.value(base)?;
        let plain = value.ty.strip();
        let element = node.ty.target().unwrap_or_else(Type::void);
        let bound = |this: &mut Self, node: Option<&Node>| {
            node.map(|n| this.value(n)?.to_integer()).transpose()
        };
        let low = bound(self, low)?.unwrap_or(0);
        let end = match plain.kind() {
            Kind::Array(_, count) => count.map(i128::from),
            _ => None,
        };
        let high = bound(self, high)?.or(end);
        let high = high.ok_or(EvalError::BadType(
            "a range of a pointer needs an end".into(),
        ))?;
        let count = high.saturating_sub(low).max(0);
        let ty = element.array_of(u64::try_from(count).unwrap_or(0));
        let start = value.to_address()?;
        let step = element.size().unwrap_or(1) as i128;
        let addr = start.wrapping_add(low.wrapping_mul(step) as u64);
        Ok(Value::at(ty, addr, &self.memory()))
    }

    fn assign(&mut self, target: &Value, source: &Value) -> Result<Value, EvalError> {
        if let Some(Lvalue::Convenience(name)) = &target.lvalue {
            let mut value = source.clone();
            value.lvalue = None;
            self.scope.set_convenience(name, value.clone());
            return Ok(value);
        }
        let plain = target.ty.strip();
        let value = match plain.kind() {
            Kind::Record(_) | Kind::Array(..) | Kind::Vector(..) => {
                if source.ty.size() != target.ty.size() || is_strange_to(source, &plain) {
                    return Err(EvalError::BadType(
                        "Incompatible types in assignment.".into(),
                    ));
                }
                source.clone()
            }
            _ => convert(source, &target.ty)?,
        };
        let mut bytes = value.bytes()?.to_vec();
        if let Some((bit, width)) = target.bits {
            return self.assign_bits(target, &value, bit, width);
        }
        match &target.lvalue {
            Some(Lvalue::Memory(addr)) => {
                self.scope.write(*addr, &bytes)?;
                Ok(Value::at(target.ty.clone(), *addr, &self.memory()))
            }
            Some(Lvalue::Register(number, offset)) => {
                let whole = self
                    .scope
                    .frame()
                    .and_then(|f| f.frame.registers.bytes(*number));
                let mut whole = whole.ok_or(EvalError::NotLvalue)?;
                let start = *offset as usize;
                // Writing the low half of a register clears the rest, as the machine does.
                if bytes.len() == 4 && start == 0 && whole.len() == 8 {
                    bytes.resize(8, 0);
                }
                let end = start + bytes.len();
                let slot = whole.get_mut(start..end).ok_or(EvalError::NotLvalue)?;
                slot.copy_from_slice(&bytes);
                self.scope.write_register(*number, &whole)?;
                Ok(Value {
                    data: value.data,
                    ..target.clone()
                })
            }
            _ => Err(EvalError::NotLvalue),
        }
    }

    fn assign_bits(
        &mut self,
        target: &Value,
        value: &Value,
        bit: u64,
        width: u64,
    ) -> Result<Value, EvalError> {
        let Some(Lvalue::Memory(addr)) = target.lvalue else {
            return Err(EvalError::NotLvalue);
        };
        let number = value.to_integer()?;
        let width = width.min(126);
        let start = addr.wrapping_add(bit / 8);
        let shift = bit % 8;
        let mut bytes = vec![0; (shift + width).div_ceil(8) as usize];
        self.scope.read(start, &mut bytes)?;
        for i in 0..width {
            let at = shift + i;
            let mask = 1u8 << (at % 8);
            let slot = &mut bytes[(at / 8) as usize];
            match number >> i & 1 {
                1 => *slot |= mask,
                _ => *slot &= !mask,
            }
        }
        self.scope.write(start, &bytes)?;
        let kept = in_bits(number, width, &target.ty);
        Ok(Value::integer(target.ty.clone(), kept))
    }

    fn call(
        &mut self,
        node: &Node,
        function: &Node,
        arguments: &[Node],
        language: Language,
    ) -> Result<Value, EvalError> {
        let function = self.callee(function)?;
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument)?);
        }
        let types: Vec<Type> = values.iter().map(|v| v.ty.clone()).collect();
        let in_memory = is_returned_in_memory(&node.ty, language);
        if return_place(&node.ty, language) == Some(AbiPlace::Unknown) {
            let why = LocationError::UnknownConvention;
            return Err(EvalError::BadType(format!(
                "cannot call this function: {why}"
            )));
        }
        let mut call = Call {
            function,
            ..Call::default()
        };
        let result = match in_memory {
            true => Some(self.scope.allocate(node.ty.size().unwrap_or(8))?),
            false => None,
        };
        call.integers.extend(result);
        let places = argument_places(&types, language, in_memory);
        for (value, place) in values.iter().zip(places) {
            let place =
                place.ok_or_else(|| EvalError::BadType("cannot pass this argument".into()))?;
            self.pass(&mut call, value, &place)?;
        }
        let registers = self.scope.call(&call)?;
        if matches!(node.ty.strip().kind(), Kind::Void) {
            return Ok(Value::of(Type::void(), Vec::new()));
        }
        let memory = self.memory();
        // Optimised Rust does not return the address again.
        if let Some(at) = result {
            return Ok(Value::at(node.ty.clone(), at, &memory));
        }
        let mut value = returned_value(&node.ty, language, &registers, &memory)
            .ok_or_else(|| EvalError::BadType("cannot read this result".into()))?;
        value.lvalue = value.lvalue.filter(|l| matches!(l, Lvalue::Memory(_)));
        Ok(value)
    }

    fn pass(&mut self, call: &mut Call, value: &Value, place: &AbiPlace) -> Result<(), EvalError> {
        let part = |bytes: &[u8], offset: u64, size: u64| {
            let start = (offset as usize).min(bytes.len());
            let end = (start + size as usize).min(bytes.len());
            bytes[start..end].to_vec()
        };
        match place {
            AbiPlace::Registers(parts) => {
                let bytes = value.bytes()?.to_vec();
                for &(register, offset, size) in parts {
                    let part = part(&bytes, offset, size);
                    if register >= XMM0 {
                        let mut word = [0; 16];
                        let place = word.get_mut(..part.len());
                        let wide = || EvalError::BadType("cannot pass this vector".into());
                        place.ok_or_else(wide)?.copy_from_slice(&part);
                        call.floats.push(word);
                    } else {
                        // Small integers are passed extended; clang relies on it.
                        let signed = parts.len() == 1 && !value.ty.is_unsigned();
                        call.integers.push(extend(&part, signed) as u64);
                    }
                }
            }
            AbiPlace::Split(parts) => {
                let bytes = value.bytes()?.to_vec();
                for (place, offset, size) in parts {
                    let part = Value::of(Type::void(), part(&bytes, *offset, *size));
                    self.pass(call, &part, place)?;
                }
            }
            AbiPlace::Stack(offset) => {
                let start = (offset - 8) as usize;
                let bytes = value.bytes()?;
                let end = start + bytes.len().next_multiple_of(8);
                call.stack.resize(call.stack.len().max(end), 0);
                call.stack[start..start + bytes.len()].copy_from_slice(bytes);
            }
            AbiPlace::ByAddress(_) | AbiPlace::ByAddressOnStack(_) => {
                let addr = match value.address() {
                    Some(addr) => addr,
                    None => {
                        let bytes = value.bytes()?.to_vec();
                        self.put(&bytes)?
                    }
                };
                match call.integers.len() < INTEGER_ARGUMENTS.len() {
                    true => call.integers.push(addr),
                    false => call.stack.extend_from_slice(&addr.to_le_bytes()),
                }
            }
            AbiPlace::Unknown => {
                let why = LocationError::UnknownConvention;
                return Err(EvalError::BadType(format!(
                    "cannot pass this argument: {why}"
                )));
            }
            AbiPlace::Constant(_) | AbiPlace::Empty => {}
        }
        Ok(())
    }
}

/// The place a value is at, for those who watch it.
pub fn place_of(value: &Value) -> Option<Place> {
    match value.lvalue.as_ref()? {
        Lvalue::Memory(addr) => Some(Place::Memory(*addr)),
        Lvalue::Register(number, _) => Some(Place::Register(*number)),
        Lvalue::Convenience(_) => None,
    }
}

/// Whether Rust would not have a value in the place of one of another type. C's bytes are anybody's.
fn is_strange_to(source: &Value, target: &Type) -> bool {
    let ty = source.ty.strip();
    let same = match (ty.kind(), target.kind()) {
        (Kind::Record(_), Kind::Record(_)) => ty.qualified_name() == target.qualified_name(),
        (Kind::Array(..), Kind::Array(..)) => true,
        _ => false,
    };
    target.language() == Language::Rust && !same
}
