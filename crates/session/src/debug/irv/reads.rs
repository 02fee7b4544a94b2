//! How the parameters of an event are read: worked out once when the event is
//! bound to a place of the program, followed at every hit.

use super::super::here::{Here, Memo};
use super::super::images::Images;
use super::data::words;
use super::declared::{self, converts};
use super::inside;
use super::remains::{Why, remaining};
use super::values::Form;
use std::sync::Arc;
use verde_expr::{EvalError, FrameScope, Node, compile, name_of};
use verde_property::ast::Operand;
use verde_property::ir::Types;
use verde_property::{ParamSpec, When, declared_types};
use verde_symbols::{
    AbiPlace, Encoding, EntryArgument, Env, FileAddr, Frame, Function, FunctionQuery, Kind,
    Language, LocationError, Memory, Module, Place, Registers, Type, is_returned_in_memory,
    return_place,
};

/// From where a parameter's value comes.
#[derive(Clone, Debug)]
pub enum How {
    /// An integer in a general register, by its DWARF number.
    Register {
        number: u16,
        bytes: u8,
        signed: bool,
        boolean: bool,
    },
    /// A floating-point number in a vector register.
    Vector {
        number: u16,
        single: bool,
    },
    /// An expression, bound.
    Node(Box<Node>, Form),
    /// The same, of which the optimiser has left only some members.
    InPart(Box<Node>, Form),
    /// The same, over parameters that are not passed: the place of the call says what they are.
    ByCaller(Box<Node>, Form),
    /// What the function returned.
    Returned(Type, Language, Form),
    /// What it wrote to where its caller wanted the result: the first register at the entry.
    Written(Type, Form),
    /// The value that the event itself brings: of a watched datum, a system call, a status.
    Brought,
    /// A variable of the code where the thread is, whatever that is.
    Here,
    /// What the call of the function that runs began with: it is kept for the event.
    Kept,
    /// What a register held at the entry of the function that runs, as its caller's code tells.
    AtEntry(Box<How>),
    Tid,
    Time,
    Caller,
    /// Nothing that can be read here.
    Unknown,
    /// It can never be read there.
    Removed(Why),
}

/// By which registers, and at which moment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// At the event.
    Now,
    /// At the call's entry; kept until it returns.
    Entry,
    /// At the event, from what the parameters were at the entry.
    FromEntry,
}

#[derive(Clone, Debug)]
pub struct Read {
    pub how: How,
    pub phase: Phase,
}

impl Read {
    pub fn now(how: How) -> Read {
        Read {
            how,
            phase: Phase::Now,
        }
    }

    /// When the process has ended there is only what the event brings.
    pub fn of_end(operand: &Operand) -> Read {
        Read::now(match (pseudo(operand), operand) {
            (Some(how), _) => how,
            (None, Operand::Ret | Operand::Arg(0)) => How::Brought,
            _ => How::Unknown,
        })
    }

    /// Nothing but what the end brings is asked for.
    pub fn is_of_end(param: &ParamSpec) -> bool {
        !matches!(Read::of_end(&param.operand).how, How::Unknown)
    }

    /// Where nothing is known of the code that runs.
    pub fn without_place(operand: &Operand) -> Read {
        Read::now(match (pseudo(operand), operand) {
            (Some(how), _) => how,
            (None, Operand::Ret) => How::Brought,
            _ => How::Unknown,
        })
    }
}

/// A function where it is loaded.
pub struct Callee<'a> {
    pub module: &'a Arc<Module>,
    pub bias: u64,
    pub function: &'a Function,
    pub arguments: Vec<EntryArgument>,
}

impl<'a> Callee<'a> {
    pub fn new(module: &'a Arc<Module>, bias: u64, function: &'a Function) -> Callee<'a> {
        Callee {
            arguments: module.entry_arguments(function),
            module,
            bias,
            function,
        }
    }

    /// The type of a parameter or of the result, as the program declares it.
    fn type_of(&self, operand: &Operand) -> Option<Type> {
        let argument = match operand {
            Operand::Ret => return self.module.return_type(self.function),
            Operand::Entry(inner) => return self.type_of(inner),
            Operand::Arg(i) => self.arguments.get(*i as usize),
            Operand::Path(path) => self.arguments.iter().find(|a| a.variable.name == *path),
            _ => None,
        };
        argument.map(|a| a.variable.ty.clone())
    }

    /// An argument points to characters.
    fn is_text(&self, operand: &Operand) -> bool {
        let ty = self.type_of(operand).map(|ty| ty.strip());
        let pointer = ty.filter(|ty| matches!(ty.kind(), Kind::Pointer(_)));
        let target = pointer.and_then(|ty| ty.target());
        target.is_some_and(|to| is_byte(&to))
    }

    /// An operand is, or is a part of, what a reference of C++ refers to: that is memory.
    fn is_through_reference(&self, operand: &Operand) -> bool {
        let ty = match operand {
            Operand::Path(path) => {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let end = path.find(|c| !is_word(c)).unwrap_or(path.len());
                self.type_of(&Operand::Path(path[..end].to_owned()))
            }
            Operand::Arg(_) => self.type_of(operand),
            _ => None,
        };
        ty.is_some_and(|ty| {
            let ty = ty.strip();
            matches!(ty.kind(), Kind::Reference(_) | Kind::RvalueReference(_))
        })
    }

    /// An argument is a `void *`.
    fn points_to_anything(&self, operand: &Operand) -> bool {
        let ty = self.type_of(operand).map(|ty| ty.strip());
        let pointer = ty.filter(|ty| matches!(ty.kind(), Kind::Pointer(_)));
        let is_void = |to: Type| matches!(to.strip().kind(), Kind::Void);
        pointer.is_some_and(|ty| ty.target().is_none_or(is_void))
    }

    /// Its parameters are known.
    fn is_described(&self) -> bool {
        // An assembler describes where a function is, and nothing of its parameters; nor does a
        // compiler that is asked for lines only.
        self.function.language != Language::Asm && self.module.tells_parameters(self.function)
    }
}

/// Plans the reading of one parameter of a call. The error says what is wrong with it.
pub fn of_call(
    param: &ParamSpec,
    when: When,
    callee: &Callee,
    images: &Images,
    memo: &mut Memo,
) -> Result<Read, String> {
    let form = Form::of(param.ty.as_deref());
    let after = when == When::After;
    if let Some(plain) = pseudo(&param.operand) {
        return Ok(Read::now(plain));
    }
    if callee.is_described() {
        let actual = callee.type_of(&param.operand);
        let here = here(callee, images, memo);
        declared::check(param, actual.as_ref(), callee.module, &here)?;
    }
    if param.operand == Operand::Ret {
        if !after {
            return Err("`ret` exists only in an `after` event".into());
        }
        let how = returned(param, form, callee, images, memo)?;
        let phase = match how {
            How::Written(..) => Phase::FromEntry,
            _ => Phase::Now,
        };
        return Ok(Read { how, phase });
    }
    let operand = operand_of(param);
    let phase = match after {
        false => Phase::Now,
        true if matches!(param.operand, Operand::Entry(_)) => Phase::Entry,
        true if leads_to_memory(operand) || callee.is_through_reference(operand) => {
            Phase::FromEntry
        }
        true => Phase::Entry,
    };
    // The text that the memory holds is read by its address.
    let operand = match operand {
        Operand::Deref(inner) if form == Form::Text && callee.is_text(inner) => inner,
        other => other,
    };
    if let Operand::Arg(i) = operand
        && let Some(how) = undescribed(*i as usize, param.ty.as_deref(), callee)
    {
        return Ok(Read { how, phase });
    }
    if after && let Some(text) = of_result(operand, callee)? {
        follows_no_reference(param, callee)?;
        let node = bind(&text, callee, images, memo)?;
        leads_somewhere(param, &node)?;
        converts(param, &node.ty)?;
        let phase = match writes_result(callee) {
            true => Phase::FromEntry,
            false => Phase::Now,
        };
        let how = How::Node(Box::new(node), form);
        return Ok(Read { how, phase });
    }
    let text = match operand {
        Operand::Arg(i) => match callee.arguments.get(*i as usize) {
            Some(a) if a.variable.name.is_empty() => {
                return nameless(a, param, callee, images, memo).map(|how| Read { how, phase });
            }
            _ => expression(operand, param.ty.as_deref(), callee)?,
        },
        _ => expression(operand, param.ty.as_deref(), callee)?,
    };
    let argument = callee.arguments.iter().find(|a| a.variable.name == text);
    if let Some(argument) = argument
        && let Some(how) = in_register(argument, callee, form)
    {
        converts(param, &argument.variable.ty)?;
        return Ok(Read { how, phase });
    }
    follows_no_reference(param, callee)?;
    let node = bind(&text, callee, images, memo).map_err(|e| match &callee.function.name {
        f if callee.is_described() => format!("{e} (in {f})"),
        f if callee.module.has_inlined(&FunctionQuery::parse(f)) => format!(
            "{e} (the debug information describes {f} only where it is inlined: use `arg 0`, `arg 1`, ...)"
        ),
        f => format!("{e} ({f} has no debug information: use `arg 0`, `arg 1`, ...)"),
    })?;
    leads_somewhere(param, &node)?;
    let node = match callee.is_described().then(|| converts(param, &node.ty)) {
        Some(Err(misfit)) => {
            if let Some(how) = small_whole(&text, param, callee, &node.ty) {
                return Ok(Read { how, phase });
            }
            // The words of an opaque structure, as in a library that says nothing of it.
            let words = first_words(operand, param.ty.as_deref(), callee, &node.ty);
            let text = words.ok_or(misfit)?;
            bind(&text, callee, images, memo)?
        }
        _ => node,
    };
    let node = Box::new(node);
    let how = match is_by_caller(&text, callee) {
        true => How::ByCaller(node, form),
        false => remaining(node, form, &scope_of(callee), images),
    };
    Ok(Read { how, phase })
}

/// `*r` of a reference, whose value is the number that it refers to.
fn follows_no_reference(param: &ParamSpec, callee: &Callee) -> Result<(), String> {
    let Operand::Deref(inner) = operand_of(param) else {
        return Ok(());
    };
    let ty = callee.type_of(inner).map(|ty| ty.strip());
    let number = ty.filter(|ty| {
        let refers = matches!(ty.kind(), Kind::Reference(_) | Kind::RvalueReference(_));
        refers && ty.target().is_some_and(|to| to.strip().is_integral())
    });
    let (text, name) = (&param.text, inner.text());
    match number {
        None => Ok(()),
        Some(_) => Err(format!(
            "`{text}`: `{name}` is a reference: write `{name}` for what it refers to, `&{name}` for its address"
        )),
    }
}

/// `*n` of a small number would read whatever is at that address.
fn leads_somewhere(param: &ParamSpec, node: &Node) -> Result<(), String> {
    if !node.follows_small_number() {
        return Ok(());
    }
    let text = &param.text;
    Err(match operand_of(param) {
        Operand::Deref(inner) => format!("`{text}`: `{}` is no pointer", inner.text()),
        _ => format!("`{text}`: what it is taken of is no pointer"),
    })
}

/// What a parameter is of, whenever it is read.
pub(super) fn operand_of(param: &ParamSpec) -> &Operand {
    match &param.operand {
        Operand::Entry(inner) => inner,
        other => other,
    }
}

/// An expression is about a parameter that the function is not passed.
fn is_by_caller(text: &str, callee: &Callee) -> bool {
    let mut removed = callee.arguments.iter().filter(|a| a.is_callers());
    removed.any(|a| words(text).contains(&a.variable.name.as_str()))
}

/// An argument that has no name in the program: where the calling convention puts it.
fn nameless(
    argument: &EntryArgument,
    param: &ParamSpec,
    callee: &Callee,
    images: &Images,
    memo: &mut Memo,
) -> Result<How, String> {
    let ty = &argument.variable.ty;
    converts(param, ty)?;
    let form = Form::of(param.ty.as_deref());
    if let Some(how) = in_register(argument, callee, form) {
        return Ok(how);
    }
    let place = match located(argument, callee) {
        Some(Place::Register(number @ verde_symbols::XMM0..)) if ty.size() <= Some(8) => {
            return Ok(How::Vector {
                number,
                single: ty.size() == Some(4),
            });
        }
        Some(Place::Register(number)) => INTEGER
            .iter()
            .zip(verde_symbols::INTEGER_ARGUMENTS)
            .find(|(_, n)| *n == number)
            .map(|(name, _)| format!("({}){name}", name_of(ty))),
        // No register was known: the address is the distance from the stack pointer, where the
        // return address is. What is passed by a register's address would be below it.
        Some(Place::Memory(at)) if at >= 8 => Some(format!("*({} *)($rsp + {at})", name_of(ty))),
        _ => None,
    };
    let place = place.ok_or_else(|| {
        let f = &callee.function.name;
        format!("`{}` of {f} has no name and cannot be read", param.text)
    })?;
    let node = bind(&place, callee, images, memo)?;
    Ok(How::Node(Box::new(node), form))
}

/// `*ret`, `ret->member`, `ret.member`: an expression over what the function returned.
fn of_result(operand: &Operand, callee: &Callee) -> Result<Option<String>, String> {
    let rest = match operand {
        Operand::Deref(inner) if **inner == Operand::Ret => None,
        Operand::Path(path) => match path.strip_prefix("ret") {
            Some(rest) if rest.trim_start().starts_with(['.', '-', '[']) => Some(rest),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    // A parameter may have that name.
    if callee.arguments.iter().any(|a| a.variable.name == "ret") {
        return Ok(None);
    }
    let function = callee.function;
    let Some(ty) = callee.module.return_type(function) else {
        return Err(match callee.is_described() {
            true => format!("{} returns nothing", function.name),
            false => format!("{} has no debug information: use `ret`", function.name),
        });
    };
    let name = name_of(&ty);
    let result = match return_place(&ty, callee.module.convention(function)) {
        Some(AbiPlace::ByAddress(_)) if writes_result(callee) => format!("(*({name} *)$rdi)"),
        Some(AbiPlace::ByAddress(_)) => format!("(*({name} *)$rax)"),
        Some(AbiPlace::Registers(parts)) if parts.as_slice() == [(0, 0, 8)] => {
            let plain = ty.strip();
            let target = || {
                plain
                    .target()
                    .map(|to| name_of(&to))
                    .unwrap_or(name.clone())
            };
            match plain.kind() {
                Kind::Reference(_) | Kind::RvalueReference(_) => format!("(*({} *)$rax)", target()),
                // A cast to `&T` or `Box<T>` cannot be written.
                Kind::Pointer(_) if function.language == Language::Rust => {
                    format!("(({} *)$rax)", target())
                }
                _ => format!("(({name})$rax)"),
            }
        }
        _ => {
            return Err(format!(
                "`{}`: only `ret` as a whole can be read",
                operand.text()
            ));
        }
    };
    Ok(Some(match rest {
        Some(rest) => result + rest,
        None => format!("*{result}"),
    }))
}

/// An argument that is a small structure or union, where a number is declared: a transparent
/// union of pointers, a new type around an integer. What is passed is the same.
fn small_whole(name: &str, param: &ParamSpec, callee: &Callee, ty: &Type) -> Option<How> {
    let declared = param.ty.as_deref()?;
    let size = small_size(ty)?;
    let argument = callee.arguments.iter().find(|a| a.variable.name == name)?;
    let number = match located(argument, callee)? {
        Place::Register(number) => number,
        // A whole that is described as its only part.
        Place::Pieces(pieces) => match pieces.as_slice() {
            [piece] if piece.skip == 0 => match piece.place {
                Some(Place::Register(number)) => number,
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    in_word(number, declared, size)
}

/// Bytes of a structure or union that fits into a register.
fn small_size(ty: &Type) -> Option<u8> {
    let ty = ty.strip();
    let size = ty.size().and_then(|s| u8::try_from(s).ok());
    size.filter(|s| (1..=8).contains(s) && matches!(ty.kind(), Kind::Record(_)))
}

/// A number of the declared type in a register that holds a value of `size` bytes.
fn in_word(number: u16, declared: &str, size: u8) -> Option<How> {
    if number >= verde_symbols::XMM0 {
        let how = vector(usize::from(number - verde_symbols::XMM0), Some(declared))?;
        return matches!(how, How::Vector { single, .. } if single == (size == 4)).then_some(how);
    }
    if !declared_types(declared).has(Types::INT) {
        return None;
    }
    let (bytes, signed) = width(Some(declared));
    Some(How::Register {
        number,
        bytes: bytes.min(size),
        signed,
        boolean: false,
    })
}

/// Where an argument is at the entry, if that depends on nothing that runs.
fn located(argument: &EntryArgument, callee: &Callee) -> Option<Place> {
    let registers = Registers {
        general: [Some(0); 17],
        ..Registers::default()
    };
    let env = Env {
        memory: &NoMemory,
        registers: Some(&registers),
        cfa: None,
        bias: callee.bias,
        tls: None,
        entry: None,
    };
    argument.locate(&env, callee.function.entry).ok()
}

/// Bytes and sign of an integer type of C; 64 bits with a sign where none is declared.
pub(super) fn width(declared: Option<&str>) -> (u8, bool) {
    let ty = declared.unwrap_or("long");
    let has = |word: &str| {
        ty.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|w| w == word)
    };
    let unsigned = ty.contains('*') || has("unsigned") || has("size_t") || ty.starts_with('u');
    let bytes = match () {
        () if ty.contains('*') || has("long") || has("size_t") => 8,
        () if has("char") || ty.contains("int8") || has("u8") || has("i8") => 1,
        () if has("short") || ty.contains("int16") || has("u16") || has("i16") => 2,
        () if has("int") || has("unsigned") || ty.contains("int32") || has("mode_t") => 4,
        () if has("u32") || has("i32") => 4,
        () => 8,
    };
    (bytes, !unsigned)
}

/// `*arg 0 : unsigned long` where the argument points to a structure: what its
/// memory begins with.
fn first_words(
    operand: &Operand,
    declared: Option<&str>,
    callee: &Callee,
    ty: &Type,
) -> Option<String> {
    let Operand::Deref(pointer) = operand else {
        return None;
    };
    let word = declared.map(str::trim).filter(|t| is_c_type(t))?;
    let whole = matches!(ty.strip().kind(), Kind::Record(_));
    let pointer = expression(pointer, None, callee).ok()?;
    whole.then(|| format!("*({word} *)({pointer})"))
}

/// A parameter of an event that is no call: an expression at the place, or what the event brings.
pub fn of_place(
    param: &ParamSpec,
    scope: Option<&FrameScope>,
    mut bind: impl FnMut(&str) -> Result<Node, String>,
) -> Result<Read, String> {
    if let Some(plain) = pseudo(&param.operand) {
        return Ok(Read::now(plain));
    }
    if param.operand == Operand::Ret {
        return Ok(Read::now(How::Brought));
    }
    let form = Form::of(param.ty.as_deref());
    let operand = operand_of(param);
    let text = inside::expression(operand, scope)?;
    let node = bind(&text)?;
    leads_somewhere(param, &node)?;
    let node = match operand {
        Operand::Deref(inner) if form == Form::Text && is_byte(&node.ty) => {
            bind(&inside::expression(inner, scope)?)?
        }
        _ => node,
    };
    converts(param, &node.ty)?;
    Ok(Read::now(match param.operand {
        Operand::Entry(_) => inside::at_entry(operand, form, scope),
        _ => How::Node(Box::new(node), form),
    }))
}

/// A text is written for what begins with this: `*p : str`.
fn is_byte(ty: &Type) -> bool {
    let ty = ty.strip();
    matches!(ty.kind(), Kind::Base(_)) && ty.size() == Some(1)
}

fn pseudo(operand: &Operand) -> Option<How> {
    Some(match operand {
        Operand::Tid => How::Tid,
        Operand::Time => How::Time,
        Operand::Caller => How::Caller,
        _ => return None,
    })
}

/// In an `after` event `*p` is what the memory holds now, `p` what was passed.
fn leads_to_memory(operand: &Operand) -> bool {
    match operand {
        Operand::Deref(_) => true,
        Operand::Path(p) => p.contains("->") || p.contains('['),
        Operand::AddressOf(inner) => leads_to_memory(inner),
        _ => false,
    }
}

fn expression(
    operand: &Operand,
    declared: Option<&str>,
    callee: &Callee,
) -> Result<String, String> {
    Ok(match operand {
        Operand::Path(p) => p.clone(),
        Operand::Deref(o) => match (&**o, callee.is_described()) {
            // Nobody says what it points to: what is declared, or a word.
            (Operand::Arg(i), false) => {
                let ty = declared.map(str::trim).filter(|t| is_c_type(t));
                let place = raw_argument(*i as usize, None);
                format!("*({} *)({place})", ty.unwrap_or("unsigned long"))
            }
            (pointer, _) => {
                // Of a pointer to anything only the property says what it points to.
                let ty = declared.map(str::trim).filter(|t| is_c_type(t));
                let ty = ty.filter(|_| callee.points_to_anything(pointer));
                let pointer = expression(pointer, None, callee)?;
                match ty {
                    Some(ty) => format!("*({ty} *)({pointer})"),
                    None => format!("*({pointer})"),
                }
            }
        },
        Operand::AddressOf(o) => format!("&({})", expression(o, None, callee)?),
        Operand::Entry(o) => expression(o, declared, callee)?,
        Operand::Arg(i) => {
            let i = *i as usize;
            if let Some(argument) = callee.arguments.get(i) {
                return Ok(argument.variable.name.clone());
            }
            let fixed = callee.arguments.len();
            if callee.is_described() && !callee.module.is_variadic(callee.function) {
                return Err(format!(
                    "`arg {i}`: {} has {fixed} argument{}",
                    callee.function.name,
                    if fixed == 1 { "" } else { "s" }
                ));
            }
            raw_argument(i, declared)
        }
        other => return Err(format!("`{}` means nothing here", other.text())),
    })
}

const INTEGER: [&str; 6] = ["$rdi", "$rsi", "$rdx", "$rcx", "$r8", "$r9"];

/// The i-th integer argument of a function that nobody describes.
fn raw_argument(i: usize, declared: Option<&str>) -> String {
    let place = match INTEGER.get(i) {
        Some(register) => format!("(unsigned long){register}"),
        None => format!("*(unsigned long *)($rsp + {})", 8 + 8 * (i - INTEGER.len())),
    };
    narrowed(&place, declared)
}

pub(super) fn narrowed(place: &str, declared: Option<&str>) -> String {
    match declared.map(str::trim) {
        // Integers are cast when they have been read, also to types of Rust.
        Some(ty) if matches!(Form::of(Some(ty)), Form::Integer { .. }) => place.to_owned(),
        Some(ty) if is_c_type(ty) => format!("({ty})({place})"),
        _ => place.to_owned(),
    }
}

/// Other words declare a type of Python's, and say nothing about sizes.
fn is_c_type(ty: &str) -> bool {
    Form::of(Some(ty)) != Form::Text && !matches!(ty, "ptr" | "pointer" | "object" | "any")
}

/// `arg i : double` without debug information counts the floating-point registers.
fn undescribed(i: usize, declared: Option<&str>, callee: &Callee) -> Option<How> {
    if callee.is_described() {
        return None;
    }
    vector(i, declared)
}

fn vector(i: usize, declared: Option<&str>) -> Option<How> {
    let single = match declared?.trim() {
        "double" | "f64" => false,
        "float" | "f32" => true,
        _ => return None,
    };
    let index = u16::try_from(i).ok().filter(|i| *i < 8)?;
    Some(How::Vector {
        number: verde_symbols::XMM0 + index,
        single,
    })
}

fn returned(
    param: &ParamSpec,
    form: Form,
    callee: &Callee,
    images: &Images,
    memo: &mut Memo,
) -> Result<How, String> {
    if callee.is_described() {
        let Some(ty) = callee.module.return_type(callee.function) else {
            return Err(format!("{} returns nothing", callee.function.name));
        };
        if let Err(misfit) = converts(param, &ty) {
            return small_result(param, &ty, callee).ok_or(misfit);
        }
        if return_place(&ty, callee.module.convention(callee.function)) == Some(AbiPlace::Unknown) {
            return Ok(How::Removed(Why::Convention));
        }
        return Ok(match writes_result(callee) {
            true => How::Written(ty, form),
            false => How::Returned(ty, callee.module.convention(callee.function), form),
        });
    }
    if let Some(how) = vector(0, param.ty.as_deref()) {
        return Ok(how);
    }
    let text = narrowed("(unsigned long)$rax", param.ty.as_deref());
    let node = bind(&text, callee, images, memo)?;
    Ok(How::Node(Box::new(node), form))
}

/// The function does not return the address to which it wrote its result: optimised Rust, where
/// C and C++ are bound to.
fn writes_result(callee: &Callee) -> bool {
    let language = callee.module.convention(callee.function);
    let ty = callee.module.return_type(callee.function);
    language == Language::Rust && ty.is_some_and(|t| is_returned_in_memory(&t, language))
}

/// As [`small_whole`], of a result.
fn small_result(param: &ParamSpec, ty: &Type, callee: &Callee) -> Option<How> {
    let declared = param.ty.as_deref()?;
    let size = small_size(ty)?;
    match return_place(ty, callee.module.convention(callee.function))? {
        AbiPlace::Registers(parts) => match parts.as_slice() {
            [(number, 0, _)] => in_word(*number, declared, size),
            _ => None,
        },
        _ => None,
    }
}

/// Whether parts of a value may be in vector registers: of a structure that fits into them.
pub(super) fn may_be_in_vectors(ty: &Type) -> bool {
    const LARGEST: u64 = 64;
    let ty = ty.strip();
    matches!(ty.kind(), Kind::Record(_)) && ty.size().is_some_and(|s| s <= LARGEST)
}

/// The scope of a function's first instruction: the function's own, also where what was inlined
/// into it begins with that instruction.
pub fn entry_scope(module: &Arc<Module>, bias: u64, entry: FileAddr) -> FrameScope {
    let source = module.frames_at(entry).pop();
    FrameScope {
        frame: Frame {
            registers: Registers::default(),
            pc: entry.at(bias),
            cfa: None,
            is_exact: true,
            is_signal: false,
            has_jumped: false,
            method: None,
            module: Some((module.clone(), bias)),
        },
        source,
        at_entry: true,
        entry: None,
    }
}

fn scope_of(callee: &Callee) -> FrameScope {
    entry_scope(callee.module, callee.bias, callee.function.entry)
}

/// What is known at a function's entry.
fn here<'a>(callee: &Callee, images: &'a Images, memo: &'a mut Memo) -> Here<'a> {
    Here::of_property(images, Some(scope_of(callee)), memo)
}

fn bind(text: &str, callee: &Callee, images: &Images, memo: &mut Memo) -> Result<Node, String> {
    let here = here(callee, images, memo);
    let node = compile(text, &here).map_err(|e| match &e {
        EvalError::UnknownName(_) if callee.is_described() => format!("{e}{}", names_of(callee)),
        _ => e.to_string(),
    })?;
    if node.has_effects() {
        return Err(format!("`{text}` would change the program"));
    }
    Ok(node)
}

/// What the parameters of a function are called, for one who called one otherwise.
fn names_of(callee: &Callee) -> String {
    let names = callee.arguments.iter().map(|a| a.variable.name.as_str());
    let names: Vec<&str> = names.filter(|n| !n.is_empty()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("  Its parameters: {}", names.join(", ")),
    }
}

/// The common case: a number that the calling convention puts into a register.
pub(super) fn in_register(argument: &EntryArgument, callee: &Callee, form: Form) -> Option<How> {
    let Place::Register(number @ 0..=15) = located(argument, callee)? else {
        return None;
    };
    let ty = argument.variable.ty.strip();
    let plain = match ty.kind() {
        Kind::Base(Encoding::Float | Encoding::ComplexFloat) => false,
        Kind::Base(_) | Kind::Enum | Kind::Pointer(_) => true,
        _ => false,
    };
    let own = u8::try_from(ty.size()?).ok().filter(|b| *b <= 8)?;
    let is_signed = !ty.is_unsigned();
    let (bytes, signed) = match form.of_type(&ty) {
        Form::Plain | Form::Truth => (own, is_signed),
        Form::Integer { bytes, signed } if bytes <= own => (bytes, signed),
        // A wider type has the same number, but for a negative one where it has no sign.
        Form::Integer { signed, .. } if signed || !is_signed => (own, is_signed),
        _ => return None,
    };
    let is_bool = form == Form::Plain && matches!(ty.kind(), Kind::Base(Encoding::Bool));
    plain.then_some(How::Register {
        number,
        bytes,
        signed,
        boolean: form == Form::Truth || is_bool,
    })
}

struct NoMemory;

impl Memory for NoMemory {
    fn read(&self, addr: u64, _: &mut [u8]) -> Result<(), LocationError> {
        Err(LocationError::Memory(addr))
    }
}
