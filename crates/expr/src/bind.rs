//! From [`Ast`] to typed [`Node`]s: names get places, operators get C's or Rust's conversions.

use crate::ast::{Ast, Binary, TypeName, Unary};
use crate::bases::{base_part, derives_virtually, member_of_base, whole_object};
use crate::builtin;
use crate::concrete::Still;
use crate::dollar::{history_number, register};
use crate::error::EvalError;
use crate::eval::eval;
use crate::flags::{EFLAGS, MXCSR};
use crate::ir::{At, Node, Op};
use crate::known::{self, count_node, within};
use crate::lookup::Lookup;
use crate::nodes::{
    bad, base_offset, base_shift, constant, decay, deref, element_size, follow_reference, is_bool,
    is_number, is_pointer, offset, smart,
};
use crate::operators::{binary_symbol, is_class, unary_symbol};
use crate::overloads::choose;
use crate::rust_literals;
use crate::rust_slices::bytes_of_string;
use crate::scope::Scope;
use crate::value::Value;
use crate::variants;
use verde_symbols::{Encoding, Kind, Language, Type};

/// Gives every name of an expression its meaning in a scope. The result stays valid as long as the
/// modules are loaded; locals mean the selected frame's function.
pub fn bind(ast: &Ast, scope: &dyn Scope) -> Result<Node, EvalError> {
    Binder {
        lookup: Lookup::new(scope),
        language: scope.language(),
    }
    .node(ast)
}

/// The type an [`Ast::Type`] or an expression has.
pub fn type_of(ast: &Ast, scope: &dyn Scope) -> Result<Type, EvalError> {
    match ast {
        Ast::Type(name) => Lookup::new(scope).type_name(name),
        other => {
            let node = bind(other, scope)?;
            let plain = node.ty.strip();
            // An array whose length is known only while the program runs has it now.
            if matches!(plain.kind(), Kind::Array(..))
                && (plain.size().is_none() || is_counted(&node))
                && let Ok(value) = eval(&node, &mut Still::of(scope))
            {
                return Ok(value.ty);
            }
            Ok(node.ty)
        }
    }
}

/// An array whose length the expression says, as a value that is still to be computed.
fn is_counted(node: &Node) -> bool {
    matches!(node.op, Op::Slice(..) | Op::Repeat(..))
}

pub(crate) struct Binder<'a> {
    pub(crate) lookup: Lookup<'a>,
    pub(crate) language: Language,
}

impl Binder<'_> {
    pub(crate) fn node(&self, ast: &Ast) -> Result<Node, EvalError> {
        match ast {
            Ast::Integer(value, suffix, decimal) => self.integer(*value, suffix, *decimal),
            Ast::Float(value, suffix) => {
                Ok(constant(Value::float(self.float_type(suffix), *value)))
            }
            Ast::Char(code) => Ok(constant(Value::integer(
                self.char_type(),
                i128::from(*code),
            ))),
            Ast::Text(bytes) => Ok(self.text(bytes)),
            Ast::Bytes(text) => Ok(rust_literals::bytes(text)),
            Ast::WideChar(code, mark) => Ok(constant(Value::integer(
                builtin::wide(*mark),
                i128::from(*code),
            ))),
            Ast::WideText(bytes, mark) => Ok(wide_text(bytes, *mark)),
            Ast::Name(name) => self.name(name),
            Ast::In(place, name) => self.in_place(place, name),
            Ast::Dollar(name) => self.dollar(name),
            Ast::Unary(operator, operand) => self.unary(*operator, operand),
            Ast::Binary(operator, left, right) => self.binary(*operator, left, right),
            Ast::Assign(operator, left, right) => self.assign(*operator, left, right),
            Ast::Choose(condition, yes, no) => self.choose(condition, yes, no),
            Ast::Cast(ty, operand) => self.cast(ty, operand),
            Ast::DynamicCast(ty, operand) => self.dynamic_cast(ty, operand),
            Ast::At(ty, address) => self.at(ty, address),
            Ast::SizeOf(operand) => self.size_of_value(self.node(operand)?),
            Ast::SizeOfType(name) => self.size_of(&self.lookup.type_name(name)?),
            Ast::Type(name) => bad(format!(
                "Attempt to use a type ({}) as an expression",
                name.name
            )),
            Ast::Member(base, name, arrow) => self.member(base, name, *arrow),
            Ast::MemberPointer(object, pointer) => self.through_member_pointer(object, pointer),
            Ast::Tuple(parts) => self.tuple(parts),
            Ast::List(parts) => self.list(parts),
            Ast::Filled(element, count) => self.filled(element, count),
            Ast::Index(base, index) => self.index(base, index),
            Ast::Slice(base, low, high) => self.slice(base, low.as_deref(), high.as_deref()),
            Ast::Call(function, arguments) => self.call(function, arguments),
        }
    }

    /// The operand as a value: references are followed.
    pub(crate) fn value(&self, ast: &Ast) -> Result<Node, EvalError> {
        Ok(follow_reference(self.node(ast)?))
    }

    /// The operand of an operator: arrays and functions are pointers there.
    pub(crate) fn operand(&self, ast: &Ast) -> Result<Node, EvalError> {
        Ok(decay(self.value(ast)?))
    }

    fn integer(&self, value: u128, suffix: &str, decimal: bool) -> Result<Node, EvalError> {
        if let Some(ty) = builtin::rust_type(suffix) {
            return Ok(constant(Value::integer(ty, value as i128)));
        }
        let unsigned = suffix.contains('u');
        let long = suffix.contains('l');
        let fits = |bits: u32, signed: bool| value >> (bits - u32::from(signed)) == 0;
        let ty = if self.language == Language::Rust {
            match fits(32, true) {
                true => builtin::rust_type("i32"),
                false => builtin::rust_type("i64"),
            }
            .unwrap_or_else(builtin::long)
        } else if !long && !unsigned && fits(32, true) {
            builtin::int()
        } else if !long && fits(32, false) && (unsigned || !decimal) {
            Type::base("unsigned int", Encoding::Unsigned, 4)
        } else if !unsigned && fits(64, true) {
            builtin::long()
        } else if fits(64, false) {
            builtin::unsigned_long()
        } else {
            return Err(EvalError::TooLarge);
        };
        Ok(constant(Value::integer(ty, value as i128)))
    }

    fn float_type(&self, suffix: &str) -> Type {
        match suffix {
            "f" => Type::base("float", Encoding::Float, 4),
            "l" => Type::base("long double", Encoding::Float, 16),
            "f32" | "f64" => builtin::rust_type(suffix).unwrap_or_else(Type::void),
            _ => Type::base_in("double", Encoding::Float, 8, self.language),
        }
    }

    fn char_type(&self) -> Type {
        match self.language {
            Language::Rust => builtin::rust_type("char").unwrap_or_else(builtin::char),
            _ => builtin::char(),
        }
    }

    fn text(&self, bytes: &[u8]) -> Node {
        let mut bytes = bytes.to_vec();
        bytes.push(0);
        constant(Value::of(
            builtin::char().array_of(bytes.len() as u64),
            bytes,
        ))
    }

    fn name(&self, name: &str) -> Result<Node, EvalError> {
        let truth = |value| constant(Value::integer(builtin::truth(self.language), value));
        let found = self.lookup.name(name);
        match (self.language, name) {
            (Language::C | Language::Asm, _) => found,
            (_, "true") => Ok(truth(1)),
            (_, "false") => Ok(truth(0)),
            (Language::Cpp, "nullptr") => {
                Ok(constant(Value::integer(Type::void().pointer_to(), 0)))
            }
            _ => match found {
                Err(EvalError::UnknownName(unknown)) => {
                    let member = match self.language {
                        Language::Rust => self.unit_variant(name)?,
                        _ => self.member_of_class(name)?,
                    };
                    member.ok_or(EvalError::UnknownName(unknown))
                }
                found => found,
            },
        }
    }

    fn in_place(&self, place: &str, name: &str) -> Result<Node, EvalError> {
        if let Some(node) = self.lookup.global(name, Some(place)) {
            return Ok(node);
        }
        if let Some(node) = self.lookup.variable_of_function(place, name) {
            return Ok(node);
        }
        bad(format!("No symbol \"{name}\" in \"{place}\"."))
    }

    fn dollar(&self, name: &str) -> Result<Node, EvalError> {
        let scope = self.lookup.scope;
        if let Some(number) = history_number(name) {
            let ty = scope.history(number).map_or_else(Type::void, |v| v.ty);
            return Ok(Node::new(ty, Op::History(number)));
        }
        if let Some((number, offset, size, ty)) = register(name) {
            return Ok(Node::new(ty, Op::Register(number, offset, size)));
        }
        let ty = scope.convenience(name).map_or_else(Type::void, |v| v.ty);
        Ok(Node::new(ty, Op::Convenience(name.to_owned())))
    }

    fn unary(&self, operator: Unary, operand: &Ast) -> Result<Node, EvalError> {
        match operator {
            Unary::Address => return self.address_of(operand),
            Unary::Deref => {
                let whole = self.node(operand)?;
                let is_reference = is_reference(&whole.ty);
                let node = decay(follow_reference(whole));
                // A number is taken for an address, but not one that a reference leads to.
                if is_reference && node.ty.is_integral() {
                    return bad("Attempt to take contents of a non-pointer value.");
                }
                return match self.dereferenced(&node)? {
                    Some(target) => Ok(target),
                    None => deref(node),
                };
            }
            Unary::PreIncrement
            | Unary::PreDecrement
            | Unary::PostIncrement
            | Unary::PostDecrement => {
                return self.step(operator, operand);
            }
            _ => {}
        }
        let node = self.operand(operand)?;
        if let Some(called) = self.operator(unary_symbol(operator), std::slice::from_ref(&node))? {
            return Ok(called);
        }
        if operator == Unary::Not {
            if self.language == Language::Rust && !is_bool(&node.ty) && node.ty.is_integral() {
                // The bits of the number itself.
                let ty = node.ty.strip();
                return Ok(Node::new(ty, Op::Complement(node.boxed())));
            }
            return Ok(Node::new(
                builtin::truth(self.language),
                Op::Not(node.boxed()),
            ));
        }
        if !is_number(&node.ty) {
            return bad("Argument to arithmetic operation not a number or boolean.");
        }
        let ty = self.promoted(&node.ty);
        Ok(match operator {
            Unary::Minus => Node::new(ty, Op::Negate(node.boxed())),
            Unary::Complement if node.ty.is_float() => {
                return bad("Argument to complement operation not an integer, boolean.");
            }
            Unary::Complement => Node::new(ty, Op::Complement(node.boxed())),
            _ => Node::new(ty, Op::Convert(node.boxed())),
        })
    }

    pub(crate) fn address(&self, node: Node) -> Result<Node, EvalError> {
        // The address of a reference is that of what it refers to.
        let node = follow_reference(node);
        // A borrowed slice of Rust's: how long it is is part of it.
        if let Op::Slice(..) = node.op {
            return Ok(node);
        }
        if let Op::Deref(inner) = node.op {
            return Ok(Node::new(node.ty.pointer_to(), Op::Reinterpret(inner)));
        }
        Ok(Node::new(node.ty.pointer_to(), Op::Address(node.boxed())))
    }

    fn step(&self, operator: Unary, operand: &Ast) -> Result<Node, EvalError> {
        let up = matches!(operator, Unary::PreIncrement | Unary::PostIncrement);
        let left = self.value(operand)?;
        if let Some(called) = self.step_operator(operator, &left)? {
            return Ok(called);
        }
        let one = constant(Value::integer(builtin::int(), 1));
        let what = if up { Binary::Add } else { Binary::Sub };
        let sum = self.combine(what, decay(left.clone()), one)?;
        let ty = left.ty.clone();
        Ok(match operator {
            Unary::PreIncrement | Unary::PreDecrement => {
                Node::new(ty, Op::Assign(left.boxed(), sum.boxed()))
            }
            _ => Node::new(ty, Op::PostAdd(left.boxed(), sum.boxed())),
        })
    }

    fn binary(&self, operator: Binary, left: &Ast, right: &Ast) -> Result<Node, EvalError> {
        match operator {
            Binary::Comma => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                return Ok(Node::new(
                    right.ty.clone(),
                    Op::Comma(left.boxed(), right.boxed()),
                ));
            }
            Binary::Repeat => return self.repeat(left, right),
            Binary::LogicalAnd | Binary::LogicalOr => {
                let (left, right) = (self.operand(left)?.boxed(), self.operand(right)?.boxed());
                let op = match operator {
                    Binary::LogicalAnd => Op::And(left, right),
                    _ => Op::Or(left, right),
                };
                return Ok(Node::new(builtin::truth(self.language), op));
            }
            _ => {}
        }
        if let Some(node) = self.variant_test(operator, left, right)? {
            return Ok(node);
        }
        let operands = [self.operand(left)?, self.operand(right)?];
        if operands.iter().any(Node::is_written_array) {
            return bad("An array that is written down cannot be calculated with or compared.");
        }
        if let Some(node) = known::texts(operator, &operands, self.language) {
            return Ok(node);
        }
        if let Some(node) = self.binary_operator(operator, &operands)? {
            return Ok(node);
        }
        if operands.iter().any(is_class) {
            // No other operator would do: nothing near is proposed.
            let symbol = binary_symbol(operator);
            return bad(format!(
                "No symbol \"operator{symbol}\" in current context."
            ));
        }
        let [left, right] = operands;
        self.combine(operator, left, right)
    }

    fn repeat(&self, left: &Ast, right: &Ast) -> Result<Node, EvalError> {
        let (left, count) = (self.value(left)?, self.operand(right)?);
        let number = match &count.op {
            Op::Constant(value) => Some(value.to_integer()?),
            _ => None,
        };
        let known = number.map(|n| u64::try_from(n).unwrap_or(0));
        if known == Some(0) {
            return bad("Invalid number 0 of repetitions.");
        }
        let ty = left.ty.array_of(known.unwrap_or(1));
        Ok(Node::new(ty, Op::Repeat(left.boxed(), count.boxed())))
    }

    fn combine(&self, operator: Binary, left: Node, right: Node) -> Result<Node, EvalError> {
        use Binary::*;
        let compares = matches!(operator, Eq | Ne | Lt | Gt | Le | Ge);
        let (pl, pr) = (is_pointer(&left.ty), is_pointer(&right.ty));
        if compares {
            if (pl || is_number(&left.ty)) && (pr || is_number(&right.ty)) {
                let common = match pl || pr {
                    true => builtin::unsigned_long(),
                    false => self.common(&left.ty, &right.ty),
                };
                let op = Op::Compare(operator, left.boxed(), right.boxed(), common);
                return Ok(Node::new(builtin::truth(self.language), op));
            }
            return bad("Argument to comparison operation not integer, boolean, pointer or float.");
        }
        match (operator, pl, pr) {
            (Add, true, false) if right.ty.is_integral() => return Ok(offset(left, right, 1)),
            (Add, false, true) if left.ty.is_integral() => return Ok(offset(right, left, 1)),
            (Sub, true, false) if right.ty.is_integral() => return Ok(offset(left, right, -1)),
            (Sub, true, true) => {
                let (a, b) = (element_size(&left.ty), element_size(&right.ty));
                if a != b {
                    return bad("First argument of `-' is a pointer and second argument is neither\nan integer nor a pointer of the same type.".replace('\n', " "));
                }
                let op = Op::Distance(left.boxed(), right.boxed(), a);
                return Ok(Node::new(builtin::long(), op));
            }
            _ => {}
        }
        // gdb lets pointers take part in other arithmetic as numbers.
        let plain = |node: Node| match is_pointer(&node.ty) {
            true => Node::new(builtin::long(), Op::Convert(node.boxed())),
            false => node,
        };
        let (left, right) = (plain(left), plain(right));
        if !is_number(&left.ty) || !is_number(&right.ty) {
            return bad("Argument to arithmetic operation not a number or boolean.");
        }
        let whole = matches!(operator, Rem | Shl | Shr | And | Or | Xor);
        if whole && (left.ty.is_float() || right.ty.is_float()) {
            return bad("Integer only operation on floating-point values.");
        }
        let ty = match operator {
            Shl | Shr => self.promoted(&left.ty),
            _ => self.common(&left.ty, &right.ty),
        };
        let ty = match operator {
            And | Or | Xor
                if is_bool(&left.ty) && is_bool(&right.ty) && self.language != Language::C =>
            {
                builtin::truth(self.language)
            }
            _ => ty,
        };
        let op = Op::Arithmetic(operator, left.boxed(), right.boxed(), ty.clone());
        Ok(Node::new(ty, op))
    }

    /// C's integer promotions, also for Rust: as in gdb, nothing overflows that fits an int, and
    /// sums are wider still (see [`Binder::common`]). Flags that were calculated with are a number.
    pub(crate) fn promoted(&self, ty: &Type) -> Type {
        let plain = ty.strip();
        if matches!(plain.name(), Some(EFLAGS | MXCSR)) {
            let of_rust = (self.language == Language::Rust).then(|| builtin::rust_type("i32"));
            return of_rust.flatten().unwrap_or_else(builtin::int);
        }
        if plain.is_float() || (self.language == Language::Rust && plain.size() >= Some(4)) {
            return plain;
        }
        let size = plain.size().unwrap_or(4);
        if size < 4 || (size == 4 && !plain.is_unsigned()) || is_bool(&plain) {
            return builtin::int();
        }
        match plain.kind() {
            Kind::Enum if size == 4 => Type::base("unsigned int", Encoding::Unsigned, 4),
            Kind::Enum => builtin::long(),
            _ => plain,
        }
    }

    /// The type both operands are converted to. For Rust's that is the widest of its kind, as in
    /// gdb: a debugger has no checks of overflow, and a number that wrapped would mislead.
    fn common(&self, left: &Type, right: &Type) -> Type {
        let (left, right) = (self.promoted(left), self.promoted(right));
        let is_rust = self.language == Language::Rust;
        if is_rust && (left.is_float() || right.is_float()) {
            return Type::base_in("double", Encoding::Float, 8, self.language);
        }
        match (left.is_float(), right.is_float()) {
            (true, false) => return left,
            (false, true) => return right,
            (true, true) => {
                return if right.size() > left.size() {
                    right
                } else {
                    left
                };
            }
            _ => {}
        }
        let (sl, sr) = (left.size(), right.size());
        let (unsigned, size) = match sl.cmp(&sr) {
            std::cmp::Ordering::Greater => (left.is_unsigned(), sl),
            std::cmp::Ordering::Less => (right.is_unsigned(), sr),
            _ => (left.is_unsigned() || right.is_unsigned(), sl),
        };
        match (size, unsigned) {
            (Some(4), false) if !is_rust => builtin::int(),
            (Some(4), true) if !is_rust => Type::base("unsigned int", Encoding::Unsigned, 4),
            (Some(16), _) if is_rust => {
                let name = if unsigned { "u128" } else { "i128" };
                builtin::rust_type(name).unwrap_or_else(builtin::long)
            }
            (Some(16), false) => Type::base("__int128", Encoding::Signed, 16),
            (Some(16), true) => Type::base("unsigned __int128", Encoding::Unsigned, 16),
            (_, false) => builtin::long(),
            (_, true) => builtin::unsigned_long(),
        }
    }

    fn assign(&self, operator: Option<Binary>, left: &Ast, right: &Ast) -> Result<Node, EvalError> {
        let target = self.value(left)?;
        let source = match operator {
            Some(operator) => {
                let operands = [target.clone(), self.operand(right)?];
                let symbol = format!("{}=", binary_symbol(operator));
                if let Some(called) = self.operator(&symbol, &operands)? {
                    return Ok(called);
                }
                let [left, right] = operands;
                self.combine(operator, decay(left), right)?
            }
            None => {
                let source = self.value(right)?;
                // A literal has to be put into the program before a pointer can lead to it.
                match (is_pointer(&target.ty), &source.op) {
                    (true, Op::Constant(_)) => decay(source),
                    (false, Op::Constant(text)) if matches!(right, Ast::Text(_)) => {
                        filled_up(text, &target.ty)?.map_or(source, constant)
                    }
                    _ => source,
                }
            }
        };
        // A convenience variable takes the type of what it is given.
        let ty = match target.op {
            Op::Convenience(_) => source.ty.clone(),
            _ => target.ty.clone(),
        };
        Ok(Node::new(ty, Op::Assign(target.boxed(), source.boxed())))
    }

    fn choose(&self, condition: &Ast, yes: &Ast, no: &Ast) -> Result<Node, EvalError> {
        let condition = self.operand(condition)?.boxed();
        let (yes, no) = (self.value(yes)?, self.value(no)?);
        let ty = match is_number(&yes.ty) && is_number(&no.ty) {
            true => self.common(&yes.ty, &no.ty),
            false => yes.ty.clone(),
        };
        let fit = |node: Node| match is_number(&node.ty) && is_number(&ty) {
            true => Node::new(ty.clone(), Op::Convert(node.boxed())),
            false => node,
        };
        let op = Op::Choose(condition, fit(yes).boxed(), fit(no).boxed());
        Ok(Node::new(ty.clone(), op))
    }

    fn cast(&self, name: &TypeName, operand: &Ast) -> Result<Node, EvalError> {
        let ty = self.lookup.type_name(name)?;
        if let Ast::Name(symbol) = operand {
            // A linker's symbol has no type but the one it is cast to.
            if let Err(EvalError::UnknownSymbolType(_)) = self.lookup.name(symbol)
                && let Some(at) = self.lookup.data_symbol(symbol)
            {
                return Ok(Node::new(ty, Op::Symbol(at, None)));
            }
        }
        if let Ast::Call(function, arguments) = operand {
            let called = self.call_as(function, arguments, Some(&ty))?;
            return match called.ty == ty {
                true => Ok(called),
                false => self.convert(called, ty),
            };
        }
        self.convert(self.node(operand)?, ty)
    }

    pub(crate) fn convert(&self, node: Node, ty: Type) -> Result<Node, EvalError> {
        let to = ty.strip();
        if let Kind::Reference(_) | Kind::RvalueReference(_) = to.kind() {
            let target = to.target().unwrap_or_else(Type::void);
            return Ok(Node::new(
                target,
                Op::Reinterpret(follow_reference(node).boxed()),
            ));
        }
        let node = follow_reference(node);
        let scalar = |t: &Type| is_number(t) || is_pointer(t);
        if scalar(&to) {
            let node = decay(node);
            if !scalar(&node.ty) {
                if node.ty.strip().size() == to.size() && to.is_integral() {
                    return Ok(Node::new(ty, Op::Reinterpret(node.boxed())));
                }
                return bad("Invalid cast.");
            }
            if let Some(shift) = base_shift(&node.ty, &to) {
                let number = constant(Value::integer(builtin::long(), shift.into()));
                let moved = Op::Offset(node.boxed(), number.boxed(), 1);
                return Ok(Node::new(ty, moved));
            }
            if let Some(moved) = self.to_virtual(&node, &ty)? {
                return Ok(moved);
            }
            return Ok(Node::new(ty, Op::Convert(node.boxed())));
        }
        if matches!(to.kind(), Kind::Void) {
            let nothing = constant(Value::of(Type::void(), Vec::new()));
            return Ok(Node::new(ty, Op::Comma(node.boxed(), nothing.boxed())));
        }
        if to == node.ty.strip() || to.size() == node.ty.size() {
            return Ok(Node::new(ty, Op::Reinterpret(node.boxed())));
        }
        // A derived object seen as its base.
        if let (Kind::Record(_), Some(offset)) = (to.kind(), base_offset(&node.ty.strip(), &to, 0))
        {
            return Ok(Node::new(ty, Op::Member(node.boxed(), offset, None)));
        }
        bad("Invalid cast.")
    }

    /// A pointer cast between a class and a virtual base of it.
    fn to_virtual(&self, node: &Node, ty: &Type) -> Result<Option<Node>, EvalError> {
        let class = |t: &Type| {
            let target = t.strip().target()?.strip();
            matches!(target.kind(), Kind::Record(_)).then_some(target)
        };
        let (Some(from), Some(to)) = (class(&node.ty), class(ty)) else {
            return Ok(None);
        };
        if derives_virtually(&from, &to) {
            let Some(part) = base_part(&deref(node.clone())?, &to) else {
                return Ok(None);
            };
            let part = self.address(part)?;
            return Ok(Some(Node::new(ty.clone(), Op::Reinterpret(part.boxed()))));
        }
        if derives_virtually(&to, &from) {
            return whole_object(node.clone(), ty.clone()).map(Some);
        }
        Ok(None)
    }

    fn at(&self, name: &TypeName, address: &Ast) -> Result<Node, EvalError> {
        let ty = self.lookup.type_name(name)?;
        let address = self.operand(address)?;
        let pointer = Node::new(ty.pointer_to(), Op::Convert(address.boxed()));
        Ok(Node::new(ty, Op::Deref(pointer.boxed())))
    }

    /// An array whose length is known only while the program runs is asked then.
    fn size_of_value(&self, node: Node) -> Result<Node, EvalError> {
        match node.ty.strip().kind() {
            Kind::Array(..) if node.ty.size().is_none() || is_counted(&node) => Ok(Node::new(
                builtin::unsigned_long(),
                Op::SizeOf(node.boxed()),
            )),
            _ => self.size_of(&node.ty),
        }
    }

    fn size_of(&self, ty: &Type) -> Result<Node, EvalError> {
        let plain = ty.strip();
        let target = match plain.kind() {
            Kind::Reference(_) | Kind::RvalueReference(_) => plain.target(),
            _ => None,
        };
        // GNU C: void and functions have size 1.
        let size = target.unwrap_or(plain).size().unwrap_or(1);
        Ok(constant(Value::integer(
            builtin::unsigned_long(),
            size.into(),
        )))
    }

    fn member(&self, base: &Ast, name: &str, arrow: bool) -> Result<Node, EvalError> {
        let mut node = self.value(base)?;
        // gdb takes `.` and `->` for each other, and Rust dereferences by itself.
        let mut arrow = arrow;
        for _ in 0..8 {
            let plain = node.ty.strip();
            match plain.kind() {
                Kind::Pointer(_) => {
                    node = follow_reference(deref(node)?);
                    arrow = false;
                }
                // `u->x`, and Rust's automatic dereference.
                Kind::Record(_) if arrow || plain.find_member(name).is_none() => {
                    let target = self.pointed_to(&node, arrow)?;
                    match target.or_else(|| inside_cell(&node)) {
                        Some(target) => node = target,
                        None => break,
                    }
                    arrow = false;
                }
                _ => break,
            }
        }
        let plain = node.ty.strip();
        let class = plain.definition().unwrap_or(plain);
        if !matches!(class.kind(), Kind::Record(_)) {
            return bad(format!(
                "Attempt to extract a component of a value that is not a structure{}.",
                pointer_note(&node)
            ));
        }
        let simple = name.rsplit("::").next().unwrap_or(name);
        if let Some(member) = class.find_member(simple) {
            if member.is_static {
                return self.static_member(&member, name);
            }
            let op = Op::Member(node.boxed(), member.offset, member.bits);
            return Ok(Node::new(member.ty, op));
        }
        if let Some((part, member)) = member_of_base(&node, simple).filter(|m| !m.1.is_static) {
            let op = Op::Member(part.boxed(), member.offset, member.bits);
            return Ok(Node::new(member.ty, op));
        }
        if let Some(field) = variants::field(&node, &class, simple, self.lookup.scope) {
            return Ok(field);
        }
        Err(EvalError::NoMember(
            simple.trim_start_matches("__").to_owned(),
        ))
    }

    pub(crate) fn static_member(
        &self,
        member: &verde_symbols::Member,
        name: &str,
    ) -> Result<Node, EvalError> {
        let die = member
            .die
            .ok_or_else(|| EvalError::NoMember(name.to_owned()))?;
        for loaded in self.lookup.modules() {
            if let Some(variable) = loaded.module.static_member(die)
                && Some(variable.name.as_str()) == member.name.as_deref()
            {
                return Ok(self.lookup.variable_node(loaded, variable));
            }
        }
        bad(format!("static field {name} has been optimized out"))
    }

    fn index(&self, base: &Ast, index: &Ast) -> Result<Node, EvalError> {
        let (base, index) = (self.indexable(base)?, self.operand(index)?);
        if matches!(base.ty.strip().kind(), Kind::Record(_)) {
            return self.subscript(base, index);
        }
        if !index.ty.is_integral() {
            return bad("Argument to subscript not an integer.");
        }
        let plain = base.ty.strip();
        match plain.kind() {
            Kind::Array(_, count) => {
                let element = plain.target().unwrap_or_else(Type::void);
                let index = match (self.language, count) {
                    _ if is_counted(&base) => index,
                    (Language::Rust, Some(count)) => within(index, count_node(*count)),
                    _ => index,
                };
                Ok(Node::new(element, Op::Element(base.boxed(), index.boxed())))
            }
            Kind::Vector(..) => {
                let element = plain.target().unwrap_or_else(Type::void);
                Ok(Node::new(element, Op::Element(base.boxed(), index.boxed())))
            }
            Kind::Pointer(_) => deref(offset(base, index, 1)),
            _ => self.subscript(base, index),
        }
    }

    /// An element of a container or of what has an operator for it.
    pub(crate) fn subscript(&self, base: Node, index: Node) -> Result<Node, EvalError> {
        if let Some(item) = known::item(&base, &index) {
            return Ok(item);
        }
        let known = crate::containers::data_pointer(&base.ty.strip()).is_some();
        if known && index.ty.is_integral() {
            // Slices and vectors: through their pointer.
            let data = self.sequence(&base)?;
            let index = match known::length(&base) {
                Some(length) => within(index, length),
                None => index,
            };
            return deref(offset(data, index, 1));
        }
        // `std::unique_ptr<int[]>`
        let is_owner = base.ty.strip().name().is_some_and(|n| n.contains("[]"));
        if is_owner
            && index.ty.is_integral()
            && let Some(pointer) = known::pointer_of(&base)
        {
            return deref(offset(pointer, index, 1));
        }
        let operands = [base, index];
        if let Some(node) = self.operator("[]", &operands)? {
            return Ok(node);
        }
        let [base, index] = operands;
        if index.ty.is_integral() {
            self.sequence(&base)
        } else {
            bad("Argument to subscript not an integer.")
        }
    }

    /// What an index applies to: in Rust what a reference refers to.
    fn indexable(&self, base: &Ast) -> Result<Node, EvalError> {
        let node = self.value(base)?;
        let plain = node.ty.strip();
        if self.language == Language::Rust && is_pointer(&plain) {
            let target = plain.target().unwrap_or_else(Type::void).strip();
            let sequence = crate::containers::data_pointer(&target).is_some();
            if sequence || matches!(target.kind(), Kind::Array(..)) {
                return deref(node);
            }
        }
        if self.language == Language::Rust
            && crate::containers::shape(&plain).is_none()
            && let Some(target) = smart(&node)
        {
            return Ok(target);
        }
        Ok(node)
    }

    /// The pointer inside a Rust slice or vector, or a C++ vector.
    pub(crate) fn sequence(&self, base: &Node) -> Result<Node, EvalError> {
        let plain = base.ty.strip();
        let found = crate::containers::data_pointer(&plain);
        let Some((offset, element)) = found else {
            let name = crate::type_text::name_of(&base.ty);
            return bad(format!("cannot subscript something of type `{name}'"));
        };
        let pointer = element.pointer_to();
        Ok(Node::new(
            pointer,
            Op::Member(base.clone().boxed(), offset, None),
        ))
    }

    fn slice(&self, base: &Ast, low: Option<&Ast>, high: Option<&Ast>) -> Result<Node, EvalError> {
        let base = self.indexable(base)?;
        let plain = base.ty.strip();
        let (base, length) = match plain.kind() {
            Kind::Array(..) | Kind::Pointer(_) => (base, None),
            _ => {
                let length = known::length(&base);
                (self.sequence(&bytes_of_string(base))?, length)
            }
        };
        let element = base.ty.strip().target().unwrap_or_else(Type::void);
        let bound = |ast: Option<&Ast>| ast.map(|a| self.operand(a).map(Node::boxed)).transpose();
        let high = bound(high)?.or(length.map(Node::boxed));
        let op = Op::Slice(base.boxed(), bound(low)?, high);
        Ok(Node::new(element.array_of(1), op))
    }

    fn call(&self, function: &Ast, arguments: &[Ast]) -> Result<Node, EvalError> {
        self.call_as(function, arguments, None)
    }

    /// A call; `assumed` is what a function returns whose result nothing describes.
    fn call_as(
        &self,
        function: &Ast,
        arguments: &[Ast],
        assumed: Option<&Type>,
    ) -> Result<Node, EvalError> {
        let values = arguments.iter().map(|a| self.value(a));
        let values: Vec<Node> = values.collect::<Result<_, _>>()?;
        let mut bound = Vec::new();
        let callee = match function {
            Ast::Dollar(name) if known::is_function(name) => return known::function(name, values),
            Ast::Member(object, name, arrow) => {
                let object = self.value(object)?;
                if let Some(answer) = self.known_method(&object, name, &values, *arrow)? {
                    return Ok(answer);
                }
                match self.method(object, name, &values, *arrow)? {
                    Some((callee, this)) => {
                        bound.extend(this);
                        callee
                    }
                    None => self.value(function)?,
                }
            }
            Ast::MemberPointer(object, pointer) => {
                let (callee, this) = self.member_function(object, pointer)?;
                bound.push(this);
                callee
            }
            Ast::Name(name) => match self.own_method(name, &values)? {
                Some((callee, this)) => {
                    bound.extend(this);
                    callee
                }
                None => self.named_function(name, function, &values)?,
            },
            other => self.value(other)?,
        };
        let label = match function {
            Ast::Name(name) => name.as_str(),
            _ => "function",
        };
        if self.language == Language::Rust
            && leads_to_record(&callee.ty)
            && let Some(called) = self.closure_call(&callee, &values)?
        {
            return Ok(called);
        }
        if matches!(callee.ty.strip().kind(), Kind::Record(_)) {
            let operands: Vec<Node> = std::iter::once(callee).chain(values).collect();
            return match self.operator("()", &operands)? {
                Some(node) => Ok(node),
                None => bad("Invalid data type for function to be called."),
            };
        }
        bound.extend(values);
        // `((int (*)(int))f)(1)` says what it returns.
        let said = match function {
            Ast::Cast(..) => result_of(&callee.ty),
            _ => None,
        };
        let assumed = said.or_else(|| assumed.cloned());
        self.invoke(callee, bound, label, assumed)
    }

    /// A call with all its arguments, the object first if there is one; `assumed` as in a call
    /// by name.
    pub(crate) fn invoke(
        &self,
        callee: Node,
        bound: Vec<Node>,
        label: &str,
        assumed: Option<Type>,
    ) -> Result<Node, EvalError> {
        let plain = callee.ty.strip();
        let (ty, callee) = match plain.kind() {
            Kind::Pointer(_) => {
                let target = plain.target().unwrap_or_else(Type::void).strip();
                (target, callee)
            }
            _ => (plain.clone(), decay(callee)),
        };
        let Kind::Function(result, parameters, variadic, prototyped) = ty.kind() else {
            return bad("Invalid data type for function to be called.");
        };
        let declared = ty.follow(result);
        let unknown = matches!(declared.strip().kind(), Kind::Unspecified);
        let result = match ty.die().is_none() || unknown {
            true => assumed.ok_or_else(|| EvalError::UnknownResult(label.to_owned()))?,
            false => declared,
        };
        if bound.len() < parameters.len() {
            return bad("Too few arguments in function call.");
        }
        if *prototyped && !variadic && bound.len() > parameters.len() {
            return bad("Too many arguments in function call.");
        }
        let mut converted = Vec::new();
        for (i, node) in bound.into_iter().enumerate() {
            converted.push(match parameters.get(i) {
                Some(link) => self.argument(node, ty.follow(link))?,
                None => self.variable_argument(node),
            });
        }
        let op = Op::Call(callee.boxed(), converted, ty.language());
        Ok(Node::new(result, op))
    }

    /// What a call by name means: a function of the scopes around or of the arguments' scopes.
    fn named_function(
        &self,
        name: &str,
        function: &Ast,
        arguments: &[Node],
    ) -> Result<Node, EvalError> {
        let found = match self.value(function) {
            Err(EvalError::UnknownName(unknown)) => {
                let found = self.by_arguments(name, arguments);
                found.ok_or(EvalError::UnknownName(unknown))?
            }
            other => other?,
        };
        self.overloaded(name, found, arguments)
    }

    /// The function of a name that takes these arguments; `found` is any of them.
    fn overloaded(&self, name: &str, found: Node, arguments: &[Node]) -> Result<Node, EvalError> {
        let Some(at) = found.op.function_at() else {
            return Ok(found);
        };
        let candidates = self.lookup.overloads(name, at);
        match candidates.len() {
            0 | 1 => Ok(found),
            _ => choose(name, candidates, arguments, |n| (n.ty.strip(), 0)),
        }
    }
}

/// Whether it is a record, or a pointer that leads to one.
fn leads_to_record(ty: &Type) -> bool {
    let plain = ty.strip();
    match plain.kind() {
        Kind::Pointer(_) => plain.target().is_some_and(|t| leads_to_record(&t)),
        kind => matches!(kind, Kind::Record(_)),
    }
}

/// Text as the contents of an array that has room for more, as an initializer gives it.
fn filled_up(text: &Value, array: &Type) -> Result<Option<Value>, EvalError> {
    let plain = array.strip();
    let Kind::Array(element, ..) = plain.kind() else {
        return Ok(None);
    };
    let mut bytes = text.bytes()?.to_vec();
    let room = plain.size().and_then(|n| usize::try_from(n).ok());
    match room.filter(|room| *room > bytes.len() && plain.follow(element).size() == Some(1)) {
        Some(room) => {
            bytes.resize(room, 0);
            Ok(Some(Value::of(array.clone(), bytes)))
        }
        None => Ok(None),
    }
}

/// What a pointer to a function lets it return.
fn result_of(pointer: &Type) -> Option<Type> {
    let function = pointer.strip().target()?.strip();
    match function.kind() {
        Kind::Function(result, ..) => Some(function.follow(result)),
        _ => None,
    }
}

fn is_reference(ty: &Type) -> bool {
    matches!(
        ty.strip().kind(),
        Kind::Reference(_) | Kind::RvalueReference(_)
    )
}

/// Text of wide characters, with the terminator.
fn wide_text(bytes: &[u8], mark: char) -> Node {
    let text = String::from_utf8_lossy(bytes);
    let ty = builtin::wide(mark);
    let mut units = Vec::new();
    for c in text.chars().chain(['\0']) {
        match ty.size() {
            Some(2) => {
                let pair = c.encode_utf16(&mut [0; 2]).to_vec();
                units.extend(pair.iter().flat_map(|u| u.to_le_bytes()));
            }
            _ => units.extend(u32::from(c).to_le_bytes()),
        }
    }
    let count = units.len() as u64 / ty.size().unwrap_or(4);
    constant(Value::of(ty.array_of(count), units))
}

/// What a Rust cell has inside: values are shown without the library's wrapping of it.
fn inside_cell(node: &Node) -> Option<Node> {
    let class = node.ty.strip();
    let name = class.qualified_name()?;
    if !name.starts_with("core::cell::UnsafeCell<") {
        return None;
    }
    let value = class.find_member("value")?;
    let op = Op::Member(node.clone().boxed(), value.offset, None);
    Some(Node::new(value.ty, op))
}

fn pointer_note(node: &Node) -> &'static str {
    match node.ty.strip().kind() {
        Kind::Pointer(_) => " pointer",
        _ => "",
    }
}

impl Op {
    /// The function a symbol node names.
    pub(crate) fn function_at(&self) -> Option<&At> {
        match self {
            Op::Symbol(at, Some(_)) => Some(at),
            _ => None,
        }
    }
}
