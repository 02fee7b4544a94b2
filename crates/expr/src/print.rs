//! Values as text: C and C++ as gdb prints them, Rust as rust-gdb's users know it.

use crate::containers::{self, Pretty};
use crate::error::EvalError;
use crate::eval::variable_value;
use crate::flags::set_flags;
use crate::float::{format_float, format_quad};
use crate::format::Format;
use crate::member_pointers::{data_text, virtual_text};
use crate::scope::Scope;
use crate::text::{Width, character, string};
use crate::type_text::name_of;
use crate::value::{Data, Value, extend};
use crate::{any, dynamic};
use std::cell::{Cell, RefCell};
use verde_symbols::{
    DieId, Encoding, FileAddr, Kind, Language, LocationError, Member, Memory, RecordKind, Type,
};

/// How much is printed, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintOptions {
    /// Elements of an array and characters of a string before `...`.
    pub elements: usize,
    /// Equal elements that are counted instead of repeated.
    pub repeats: usize,
    /// Nesting before `{...}`.
    pub depth: usize,
    /// Containers by their meaning instead of their layout.
    pub pretty: bool,
    /// Members of records on lines of their own.
    pub lines: bool,
    /// C++ objects as what they are, not only as what the program takes them for.
    pub object: bool,
    /// Elements of arrays on lines of their own.
    pub array_lines: bool,
    /// Elements of arrays with their indices.
    pub indexes: bool,
    /// Pointers and frames with their addresses.
    pub addresses: bool,
    /// Pointers to data with what they point into.
    pub symbols: bool,
    /// Unions that are parts of something.
    pub unions: bool,
    /// Static members of C++ classes.
    pub statics: bool,
    /// What frame lines show of arguments.
    pub frame_arguments: FrameArguments,
    /// `/x` and its like.
    pub format: Option<Format>,
}

/// How much of the arguments the line of a frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameArguments {
    /// Whether there are some.
    Presence,
    /// Their names.
    None,
    /// The values of those without parts.
    Scalars,
    /// All values.
    All,
}

impl FrameArguments {
    /// As `set print frame-arguments` calls it.
    pub fn word(self) -> &'static str {
        match self {
            FrameArguments::Presence => "presence",
            FrameArguments::None => "none",
            FrameArguments::Scalars => "scalars",
            FrameArguments::All => "all",
        }
    }
}

impl PrintOptions {
    /// The same for the line of a frame, which is one.
    pub fn in_frame_lines(&self) -> PrintOptions {
        PrintOptions {
            lines: false,
            array_lines: false,
            ..self.clone()
        }
    }
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions {
            elements: 200,
            repeats: 10,
            depth: 20,
            pretty: true,
            lines: false,
            object: false,
            array_lines: false,
            indexes: false,
            addresses: true,
            symbols: true,
            unions: true,
            statics: true,
            frame_arguments: FrameArguments::Scalars,
            format: None,
        }
    }
}

/// A value as `print` shows it: pointers with their type in front. A value whose memory cannot be
/// read is an error; one that was optimised out says so.
pub fn print_value(
    value: &Value,
    scope: &dyn Scope,
    options: &PrintOptions,
) -> Result<String, EvalError> {
    if let Data::Missing(why) = &value.data
        && !matches!(
            why,
            LocationError::OptimizedOut | LocationError::NoRegister(_)
        )
    {
        return Err(why.clone().into());
    }
    let printer = Printer::new(scope, options);
    let mark = match value.is_uninitialized && options.format.is_none() {
        true => " [uninitialized] ",
        false => "",
    };
    Ok(format!("{mark}{}", printer.top(value)))
}

/// A value as `info locals`, frame lines and members show it.
pub fn print_inner(value: &Value, scope: &dyn Scope, options: &PrintOptions) -> String {
    let printer = Printer::new(scope, options);
    printer.value(value, 0, true)
}

/// A value as a frame line shows it among the arguments: scalars and text, the heading of a
/// container, and `...` for everything else that has parts.
pub fn print_argument(value: &Value, scope: &dyn Scope, options: &PrintOptions) -> String {
    let printer = Printer::new(scope, options);
    let plain = value.ty.strip();
    let whole = match (plain.kind(), value.bytes()) {
        (Kind::Reference(_) | Kind::RvalueReference(_), Ok(bytes)) => {
            let target = plain.target().unwrap_or_else(Type::void);
            Value::at(target, extend(bytes, false) as u64, &printer.memory())
        }
        _ => value.clone(),
    };
    let parts = matches!(whole.ty.strip().kind(), Kind::Record(_) | Kind::Array(..));
    if !parts || matches!(value.data, Data::Missing(_)) {
        return printer.value(value, 0, true);
    }
    let pretty = match options.pretty {
        true => containers::pretty(&whole, &printer.memory(), options.elements),
        false => None,
    };
    let (head, is_empty) = match &pretty {
        Some(
            text @ (Pretty::Text(..)
            | Pretty::Missing(_)
            | Pretty::Prefixed(..)
            | Pretty::Wrapped(..)),
        ) => return printer.pretty(text, 0),
        Some(Pretty::Same(held)) => return print_argument(held, scope, options),
        Some(Pretty::Items(head, items, _)) => (head.as_str(), items.is_empty()),
        Some(Pretty::Pairs(head, pairs, _)) => (head.as_str(), pairs.is_empty()),
        Some(Pretty::Fields(head, fields, _)) => (head.as_str(), fields.is_empty()),
        Some(Pretty::Slice(..)) | None => ("", false),
    };
    match (head, is_empty) {
        ("", _) => "...".to_owned(),
        (head, true) => head.to_owned(),
        (head, false) => format!("{head} = {{...}}"),
    }
}

/// `<symbol+4>` of an address, or nothing.
pub fn symbol_text(scope: &dyn Scope, addr: u64, readable: bool) -> Option<String> {
    for loaded in scope.modules() {
        let at = FileAddr::of(addr, loaded.bias);
        let inside = |s: &verde_symbols::Segment| at.0 >= s.addr.0 && at.0 - s.addr.0 < s.size;
        if !loaded.module.segments().iter().any(inside) {
            continue;
        }
        let (name, into) = loaded.module.linker_name_at(at, readable)?;
        return Some(match into {
            0 => format!("<{name}>"),
            n => format!("<{name}+{n}>"),
        });
    }
    None
}

pub(crate) struct Printer<'a> {
    pub scope: &'a dyn Scope,
    pub options: &'a PrintOptions,
    /// Records being printed: one that contains itself is a corrupt file's.
    outer: RefCell<Vec<DieId>>,
    /// Virtual bases that were printed, by their addresses: an object has each once.
    shared: RefCell<Vec<(DieId, u64)>>,
    /// Values that may still be printed: containers of containers grow without bound.
    left: Cell<usize>,
}

/// Values in one print; far more than anybody reads.
const MAX_VALUES: usize = 100_000;

impl<'a> Printer<'a> {
    pub fn new(scope: &'a dyn Scope, options: &'a PrintOptions) -> Printer<'a> {
        Printer {
            scope,
            options,
            outer: RefCell::default(),
            shared: RefCell::default(),
            left: Cell::new(MAX_VALUES),
        }
    }

    /// Prints the inside of a record, unless it is inside itself.
    pub fn nested(&self, ty: &Type, inside: impl FnOnce() -> String) -> String {
        let Some(die) = ty.die() else {
            return inside();
        };
        if self.outer.borrow().contains(&die) {
            return "{...}".to_owned();
        }
        self.outer.borrow_mut().push(die);
        let text = inside();
        self.outer.borrow_mut().pop();
        text
    }
}

fn on_lines(open: &str, parts: &[String], close: &str, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let lines: Vec<String> = parts.iter().map(|p| format!("{indent}  {p}")).collect();
    format!("{open}\n{}\n{indent}{close}", lines.join(",\n"))
}

/// The program's memory as a scope shows it.
pub(crate) struct View<'a>(pub &'a dyn Scope);

impl Memory for View<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        self.0.read(addr, buf)
    }
}

/// Why a value cannot be shown, in its place.
pub(crate) fn missing(why: &LocationError) -> String {
    match why {
        LocationError::OptimizedOut => "<optimized out>".to_owned(),
        LocationError::NoRegister(_) => "<not saved>".to_owned(),
        other => format!("<error: {other}>"),
    }
}

impl Printer<'_> {
    fn top(&self, value: &Value) -> String {
        if let Data::Missing(why) = &value.data {
            return missing(why);
        }
        if let Data::Partly(_, known) = &value.data
            && !known.contains(&true)
        {
            return missing(&LocationError::OptimizedOut);
        }
        let plain = value.ty.strip();
        if value.ty.language() == Language::Rust || plain.language() == Language::Rust {
            return self.rust_top(value);
        }
        let is_formatted = self.options.format.is_some();
        // A reference says that it is one whatever the form of what it refers to.
        let is_reference = matches!(plain.kind(), Kind::Reference(_) | Kind::RvalueReference(_));
        if is_formatted && !is_reference {
            return self.value(value, 0, true);
        }
        if self.options.object
            && !is_formatted
            && let Some(whole) = dynamic::whole_object(value, self.scope)
        {
            let name = name_of(&whole.ty);
            return format!("({name}) {}", self.value(&whole, 0, true));
        }
        let prefix = match plain.kind() {
            Kind::Pointer(_) => {
                let target = plain.target().unwrap_or_else(Type::void).unqualified();
                let plain_char = (target.name() == Some("char")
                    && matches!(target.kind(), Kind::Base(_)))
                    || !character_mark(&target).is_empty();
                let anonymous = !matches!(value.ty.kind(), Kind::Typedef(_));
                match plain_char && anonymous {
                    true => String::new(),
                    false => format!("({}) ", name_of(&value.ty)),
                }
            }
            Kind::Reference(_) | Kind::RvalueReference(_) => {
                if self.pretty_target(value).is_some() {
                    return self.value(value, 0, true);
                }
                format!("({}) ", name_of(&value.ty))
            }
            _ => String::new(),
        };
        prefix + &self.value(value, 0, true)
    }

    pub fn memory(&self) -> impl Memory + '_ {
        View(self.scope)
    }

    /// One value. `follow` prints what a reference refers to.
    pub fn value(&self, value: &Value, depth: usize, follow: bool) -> String {
        let left = self.left.get();
        if left == 0 {
            return "...".to_owned();
        }
        self.left.set(left - 1);
        let plain = value.ty.strip();
        if let Data::Missing(why) = &value.data {
            return missing(why);
        }
        if plain.language() == Language::Rust {
            return self.rust_value(value, depth);
        }
        if depth > self.options.depth {
            return "{...}".to_owned();
        }
        match plain.kind() {
            Kind::Reference(_) | Kind::RvalueReference(_) => self.reference(value, depth, follow),
            Kind::Array(..) | Kind::Vector(..) => self.array(value, depth),
            Kind::Record(RecordKind::Union) if depth > 0 && !self.options.unions => {
                "{...}".to_owned()
            }
            Kind::Record(_) => self.nested(&plain, || self.record(value, depth)),
            Kind::Function(..) => {
                let addr = value.address().unwrap_or(0);
                format!("{{{}}} {}", name_of(&value.ty), self.address(addr, true))
            }
            Kind::Void => "void".to_owned(),
            _ => self.scalar(value),
        }
    }

    fn reference(&self, value: &Value, depth: usize, follow: bool) -> String {
        let Ok(bytes) = value.bytes() else {
            return "<optimized out>".to_owned();
        };
        let addr = extend(bytes, false) as u64;
        let target = value.ty.strip().target().unwrap_or_else(Type::void);
        if self.pretty_target(value).is_some() && (follow || depth > 0) {
            return self.value(&Value::at(target, addr, &self.memory()), depth, true);
        }
        let at = match self.options.addresses {
            true => format!("@{addr:#x}"),
            false => String::new(),
        };
        if !follow {
            return at;
        }
        let inner = Value::at(target, addr, &self.memory());
        let colon = if at.is_empty() { "" } else { ": " };
        format!("{at}{colon}{}", self.value(&inner, depth, false))
    }

    /// What a reference refers to, when it is shown by its meaning.
    fn pretty_target(&self, value: &Value) -> Option<Pretty> {
        if !self.options.pretty || self.options.format.is_some_and(|f| f == Format::Raw) {
            return None;
        }
        let target = value.ty.strip().target()?;
        let addr = extend(value.bytes().ok()?, false) as u64;
        let inner = Value::at(target, addr, &self.memory());
        containers::pretty(&inner, &self.memory(), self.options.elements)
    }

    fn scalar(&self, value: &Value) -> String {
        let plain = value.ty.strip();
        let bytes = match value.bytes() {
            Ok(bytes) => bytes,
            Err(e) => return format!("<error: {e}>"),
        };
        if let Some(format) = self
            .options
            .format
            .filter(|f| *f != Format::Raw && *f != Format::Str)
        {
            return crate::format::scalar(bytes, &plain, format, self.scope);
        }
        match plain.kind() {
            Kind::Base(encoding) if *encoding != Encoding::Utf && is_marked(&value.ty) => {
                let shown = character(bytes, Width::of(bytes.len() as u64));
                let mark = character_mark(&value.ty);
                format!("{} {mark}{shown}", extend(bytes, !plain.is_unsigned()))
            }
            Kind::Base(encoding) => match set_flags(&plain, extend(bytes, false) as u64) {
                Some(set) => set,
                None => self.base(bytes, &plain, *encoding),
            },
            Kind::Enum => enumeration(bytes, &plain),
            Kind::Pointer(_) => self.pointer(extend(bytes, false) as u64, &plain),
            Kind::MemberPointer(..) => self.member_pointer(bytes, &plain),
            // `nullptr`
            Kind::Unspecified if plain.name() == Some("decltype(nullptr)") => "0".to_owned(),
            _ => format!("{{size {}}}", bytes.len()),
        }
    }

    fn base(&self, bytes: &[u8], ty: &Type, encoding: Encoding) -> String {
        match encoding {
            Encoding::Bool => match extend(bytes, false) {
                0 => "false".to_owned(),
                1 => "true".to_owned(),
                n => n.to_string(),
            },
            Encoding::Signed => extend(bytes, true).to_string(),
            Encoding::Unsigned if ty.name() == Some(CHAR8) => {
                format!("{} {}", extend(bytes, false), character(bytes, Width::Byte))
            }
            Encoding::Unsigned => (extend(bytes, false) as u128).to_string(),
            Encoding::SignedChar => {
                format!("{} {}", extend(bytes, true), character(bytes, Width::Byte))
            }
            Encoding::UnsignedChar => {
                format!("{} {}", extend(bytes, false), character(bytes, Width::Byte))
            }
            Encoding::Utf => {
                let width = Width::of(ty.size().unwrap_or(1));
                let prefix = match width {
                    Width::Byte => "",
                    Width::Two => "u",
                    Width::Four => "U",
                };
                format!(
                    "{} {prefix}{}",
                    extend(bytes, false),
                    character(bytes, width)
                )
            }
            Encoding::Float if ty.is_quad() => format_quad(bytes),
            Encoding::Float => format_float(bytes),
            Encoding::ComplexFloat => {
                let (real, imaginary) = bytes.split_at(bytes.len() / 2);
                let shown = match ty.is_quad() {
                    true => format_quad,
                    false => format_float,
                };
                format!("{} + {}i", shown(real), shown(imaginary))
            }
        }
    }

    pub fn pointer(&self, addr: u64, ty: &Type) -> String {
        let target = ty.target().unwrap_or_else(Type::void);
        let is_code = matches!(target.strip().kind(), Kind::Function(..));
        let mut out = self.address(addr, is_code);
        if let Some(width) = text_width(&target).filter(|_| addr != 0) {
            if !out.is_empty() {
                out.push(' ');
            }
            let text = self.string_at(addr, width, None);
            // What cannot be read has no mark.
            if text.starts_with(['"', '\'']) {
                out.push_str(character_mark(&target));
            }
            out.push_str(&text);
        }
        out
    }

    /// An address with what it points into, as far as they are to be shown.
    pub fn address(&self, addr: u64, is_code: bool) -> String {
        let symbol = match self.options.symbols || is_code {
            true => symbol_text(self.scope, addr, true),
            false => None,
        };
        match (self.options.addresses, symbol) {
            (true, Some(symbol)) => format!("{addr:#x} {symbol}"),
            (true, None) => format!("{addr:#x}"),
            (false, symbol) => symbol.unwrap_or_default(),
        }
    }

    /// The string at an address, as far as it goes.
    pub fn string_at(&self, addr: u64, width: Width, limit: Option<usize>) -> String {
        let limit = limit.unwrap_or(self.options.elements);
        match read_string(&self.memory(), addr, width, limit) {
            Ok((bytes, more)) => string(&bytes, width, limit, self.options.repeats, more),
            Err(why) => missing(&why),
        }
    }

    fn member_pointer(&self, bytes: &[u8], ty: &Type) -> String {
        let target = ty.target().unwrap_or_else(Type::void).strip();
        let class = match ty.kind() {
            Kind::MemberPointer(_, class) => ty.follow(class).strip(),
            _ => Type::void(),
        };
        if matches!(target.kind(), Kind::Function(..)) {
            let code = extend(&bytes[..bytes.len().min(8)], false) as u64;
            if code == 0 {
                return "NULL".to_owned();
            }
            if code & 1 == 1
                && let Some(text) = virtual_text(&class, (code - 1) / 8)
            {
                return text;
            }
            return format!("({}) {}", name_of(ty), self.address(code, true));
        }
        match extend(bytes, true) {
            -1 => "NULL".to_owned(),
            offset => data_text(&class, offset).unwrap_or_else(|| offset.to_string()),
        }
    }

    fn array(&self, value: &Value, depth: usize) -> String {
        let plain = value.ty.strip();
        let element = plain.target().unwrap_or_else(Type::void);
        let size = element.size().unwrap_or(0);
        let count = match plain.kind() {
            Kind::Array(_, Some(count)) => *count,
            Kind::Vector(_, count) => *count,
            // A flexible array: nobody knows how long.
            _ => 0,
        };
        if count == 0 || size == 0 {
            // Of unknown length: shown as what it decays to.
            return match value.address() {
                Some(addr) => self.pointer(addr, &plain),
                None => "{}".to_owned(),
            };
        }
        let textual = text_width(&element);
        let as_text = matches!(self.options.format, None | Some(Format::Str | Format::Raw));
        if let (Some(width), true) = (textual, as_text) {
            let text = self.char_array(value, width, count);
            return format!("{}{text}", character_mark(&element));
        }
        let items = Elements {
            value,
            element,
            size,
            count,
        };
        self.sequence(&items, depth)
    }

    fn char_array(&self, value: &Value, width: Width, count: u64) -> String {
        let limit = self.options.elements;
        let (bytes, cut) = match &value.data {
            Data::Bytes(bytes) => (bytes.clone(), false),
            Data::Memory(addr) => {
                let wanted = (count as usize).min(limit + 1) * width.bytes();
                let mut bytes = vec![0; wanted];
                if let Err(why) = self.scope.read(*addr, &mut bytes) {
                    return missing(&why);
                }
                (bytes, (count as usize) > limit)
            }
            Data::Partly(..) => return missing(&LocationError::OptimizedOut),
            Data::Missing(why) => return missing(why),
        };
        let unit = width.bytes();
        let mut text = &bytes[..];
        // The terminator is not part of the text.
        if !cut && text.len() >= unit && text[text.len() - unit..].iter().all(|b| *b == 0) {
            text = &text[..text.len() - unit];
        }
        // Trailing zeros past the limit do not count as text that was cut.
        let zeros = text
            .rchunks_exact(unit)
            .take_while(|c| c.iter().all(|b| *b == 0));
        let used = text.len() / unit - zeros.count();
        if text.len() / unit > limit && used < limit {
            let shown = string(
                &text[..limit * unit],
                width,
                limit,
                self.options.repeats,
                false,
            );
            return shown + "...";
        }
        string(text, width, limit, self.options.repeats, cut)
    }

    fn sequence(&self, items: &Elements, depth: usize) -> String {
        let memory = self.memory();
        let mut out = Vec::new();
        let mut printed = 0;
        let mut at = 0;
        while at < items.count && printed < self.options.elements {
            let value = items.get(at, &memory);
            let mut run = 1;
            while at + run < items.count && items.same(at, at + run, &memory) {
                run += 1;
                // What is too large to be read at once is read element by element: not for long.
                if run > 20_000 && matches!(items.value.data, Data::Memory(_)) {
                    break;
                }
            }
            let mut text = self.value(&value, depth + 1, false);
            if self.options.indexes {
                text = format!("[{at}] = {text}");
            }
            if run as usize > self.options.repeats {
                out.push(format!("{text} <repeats {run} times>"));
                printed += self.options.repeats;
                at += run;
            } else {
                out.push(text);
                printed += 1;
                at += 1;
            }
        }
        if at < items.count
            && let Some(last) = out.last_mut()
        {
            last.push_str("...");
        }
        match self.options.array_lines {
            true => on_lines("{", &out, "}", depth),
            false => format!("{{{}}}", out.join(", ")),
        }
    }

    fn record(&self, value: &Value, depth: usize) -> String {
        let plain = value.ty.strip();
        let raw = self.options.format == Some(Format::Raw);
        if self.options.pretty
            && !raw
            && let Some(pretty) = any::pretty(value, self.scope)
                .or_else(|| containers::pretty(value, &self.memory(), self.options.elements))
        {
            return self.pretty(&pretty, depth);
        }
        let class = plain.definition().unwrap_or(plain);
        if class.is_declaration() {
            return "<incomplete type>".to_owned();
        }
        let members = class.members();
        if members.is_empty() {
            return "{<No data fields>}".to_owned();
        }
        let mut parts = Vec::new();
        for member in &members {
            if let Some(text) = self.field(value, member, depth) {
                parts.push(text);
            }
        }
        let bases = members.iter().filter(|m| m.is_base).count();
        if self.options.lines
            && bases > 0
            && let Some(first) = parts.get_mut(bases)
        {
            let indent = "  ".repeat(depth + 1);
            *first = format!("members of {}:\n{indent}{first}", name_of(&class));
        }
        // gdb says so when a class has only bases.
        if members.iter().all(|m| m.is_base) {
            parts.push("<No data fields>".to_owned());
        }
        self.block("{", &parts, "}", depth)
    }

    /// The members of something, on one line or on one each.
    pub fn block(&self, open: &str, parts: &[String], close: &str, depth: usize) -> String {
        if !self.options.lines || parts.is_empty() {
            return format!("{open}{}{close}", parts.join(", "));
        }
        on_lines(open, parts, close, depth)
    }

    fn field(&self, value: &Value, member: &Member, depth: usize) -> Option<String> {
        if member.is_static {
            if !self.options.statics {
                return None;
            }
            let text = self.static_field(member, depth);
            return Some(format!("static {} = {text}", member.name.as_deref()?));
        }
        let inner = value.member(member, &self.memory())?;
        if member.is_virtual && self.is_shown(member, &inner) {
            return None;
        }
        let text = self.value(&inner, depth + 1, false);
        Some(match (&member.name, member.is_base) {
            (_, true) => format!("<{}> = {text}", name_of(&member.ty)),
            (Some(name), _) => format!("{name} = {text}"),
            (None, _) => text,
        })
    }

    /// A virtual base belongs to all that inherit from it, and is shown with the first.
    fn is_shown(&self, member: &Member, base: &Value) -> bool {
        let (Some(class), Some(at)) = (member.ty.strip().die(), base.address()) else {
            return false;
        };
        let mut shared = self.shared.borrow_mut();
        let known = shared.contains(&(class, at));
        if !known {
            shared.push((class, at));
        }
        known
    }

    fn static_field(&self, member: &Member, depth: usize) -> String {
        let found = self.scope.modules().iter().find_map(|l| {
            let variable = l.module.static_member(member.die?)?;
            (Some(variable.name.as_str()) == member.name.as_deref()).then_some((l, variable))
        });
        match found {
            Some((loaded, variable)) => {
                let value = variable_value(self.scope, &loaded.module, &variable);
                // A class that holds one of itself would never end.
                if depth > 4 {
                    return "{...}".to_owned();
                }
                self.value(&value, depth + 1, false)
            }
            None => "<optimized out>".to_owned(),
        }
    }

    /// A container by its meaning.
    pub fn pretty(&self, pretty: &Pretty, depth: usize) -> String {
        // What a container leads to may be of the type that holds the container.
        let outer = self.outer.take();
        let text = self.pretty_inside(pretty, depth);
        self.outer.replace(outer);
        text
    }

    fn pretty_inside(&self, pretty: &Pretty, depth: usize) -> String {
        let limit = self.options.elements;
        match pretty {
            Pretty::Text(bytes, width, more) => {
                string(bytes, *width, limit, self.options.repeats, *more)
            }
            Pretty::Missing(why) => missing(why),
            Pretty::Prefixed(text, inner) => format!("{text}{}", self.pretty_inside(inner, depth)),
            Pretty::Same(value) => self.value(value, depth + 1, false),
            Pretty::Wrapped(head, value) => {
                format!("{head} = {{ {} }}", self.value(value, depth + 1, false))
            }
            Pretty::Slice(name, array) => format!("{name} {}", self.value(array, depth + 1, false)),
            Pretty::Items(head, items, more) => {
                let text = |v: &Value| self.value(v, depth + 1, false);
                assemble(head, items.iter().map(text).collect(), *more)
            }
            Pretty::Pairs(head, pairs, more) => {
                let text = |(key, value): &(Value, Value)| {
                    let key = self.value(key, depth + 1, false);
                    format!("[{key}] = {}", self.value(value, depth + 1, false))
                };
                self.parts(head, pairs.iter().map(text).collect(), *more, depth)
            }
            Pretty::Fields(head, fields, more) => {
                let text = |(name, value): &(String, Value)| {
                    format!("{name} = {}", self.value(value, depth + 1, false))
                };
                self.parts(head, fields.iter().map(text).collect(), *more, depth)
            }
        }
    }

    /// The named parts of a container.
    fn parts(&self, head: &str, mut texts: Vec<String>, more: bool, depth: usize) -> String {
        if !self.options.lines || texts.is_empty() {
            return assemble(head, texts, more);
        }
        if more {
            texts.push("...".to_owned());
        }
        let equals = if head.is_empty() { "" } else { " = " };
        self.block(&format!("{head}{equals}{{"), &texts, "}", depth)
    }
}

fn assemble(head: &str, texts: Vec<String>, more: bool) -> String {
    if texts.is_empty() {
        return head.to_owned();
    }
    let dots = if more { "..." } else { "" };
    let equals = if head.is_empty() { "" } else { " = " };
    format!("{head}{equals}{{{}{dots}}}", texts.join(", "))
}

/// Elements of an array value.
struct Elements<'a> {
    value: &'a Value,
    element: Type,
    size: u64,
    count: u64,
}

impl Elements<'_> {
    fn get(&self, index: u64, memory: &dyn Memory) -> Value {
        self.value
            .part(self.element.clone(), index.wrapping_mul(self.size), memory)
    }

    fn same(&self, a: u64, b: u64, memory: &dyn Memory) -> bool {
        if let Data::Bytes(bytes) = &self.value.data {
            let part = |i: u64| bytes.get((i * self.size) as usize..((i + 1) * self.size) as usize);
            return part(a) == part(b);
        }
        self.get(a, memory).data == self.get(b, memory).data
    }
}

/// What a literal of these characters has before it: C++ has types for wide ones, C has names.
pub(crate) fn character_mark(ty: &Type) -> &'static str {
    let mut at = ty.unqualified();
    for _ in 0..8 {
        match at.name() {
            Some("wchar_t") => return "L",
            Some("char16_t") => return "u",
            Some("char32_t") => return "U",
            _ => {}
        }
        match (at.kind(), at.target()) {
            (Kind::Typedef(_), Some(target)) => at = target.unqualified(),
            _ => break,
        }
    }
    ""
}

fn is_marked(ty: &Type) -> bool {
    !character_mark(ty).is_empty()
}

/// C++'s character of UTF-8: compilers describe it as a number.
const CHAR8: &str = "char8_t";

/// The characters of a type that is text.
pub(crate) fn text_width(ty: &Type) -> Option<Width> {
    let is_wide = is_marked(ty);
    let ty = ty.strip();
    match ty.kind() {
        Kind::Base(_) if is_wide => Some(Width::of(ty.size()?)),
        Kind::Base(Encoding::SignedChar | Encoding::UnsignedChar) => Some(Width::Byte),
        Kind::Base(Encoding::Utf) => Some(Width::of(ty.size()?)),
        Kind::Base(_) if ty.name() == Some(CHAR8) => Some(Width::Byte),
        _ => None,
    }
}

/// Characters up to the terminator, at most `limit`; whether there are more.
pub(crate) fn read_string(
    memory: &dyn Memory,
    addr: u64,
    width: Width,
    limit: usize,
) -> Result<(Vec<u8>, bool), LocationError> {
    let unit = width.bytes();
    let mut out = Vec::new();
    let mut at = addr;
    while out.len() < limit * unit {
        // Up to the end of a page at a time: the next may not be there.
        let page = 4096 - (at % 4096) as usize;
        let want = page.min(limit * unit - out.len()).max(unit);
        let mut chunk = vec![0; want];
        if let Err(why) = memory.read(at, &mut chunk) {
            return match out.is_empty() {
                true => Err(why),
                false => Ok((out, true)),
            };
        }
        let end = chunk
            .chunks_exact(unit)
            .position(|c| c.iter().all(|b| *b == 0));
        if let Some(end) = end {
            out.extend_from_slice(&chunk[..end * unit]);
            return Ok((out, false));
        }
        out.extend_from_slice(&chunk);
        at = at.wrapping_add(want as u64);
    }
    let mut next = vec![0; unit];
    let ends = memory.read(at, &mut next).is_ok() && next.iter().all(|b| *b == 0);
    Ok((out, !ends))
}

/// A constant's name with the scopes C++ gives it.
pub(crate) fn enumerator_name(ty: &Type, name: &str) -> String {
    match (ty.language(), ty.qualified_name()) {
        (Language::C, _) | (_, None) => name.to_owned(),
        (_, Some(scope)) if ty.is_scoped_enum() => format!("{scope}::{name}"),
        (_, Some(scope)) => match scope.rsplit_once("::") {
            Some((outer, _)) => format!("{outer}::{name}"),
            None => name.to_owned(),
        },
    }
}

/// The name of an enumeration's value; an OR of names when it is made of flags.
pub(crate) fn enumeration(bytes: &[u8], ty: &Type) -> String {
    let value = extend(bytes, !ty.is_unsigned());
    let list = ty.enumerators();
    let name = |e: &verde_symbols::Enumerator| enumerator_name(ty, &e.name);
    if let Some(found) = list.iter().find(|e| e.value == value) {
        return name(found);
    }
    // Flags have one bit each.
    let is_flags = list
        .iter()
        .all(|e| e.value >= 0 && e.value.count_ones() <= 1);
    if !is_flags {
        return value.to_string();
    }
    let mut rest = value;
    let mut names = Vec::new();
    for e in &list {
        if rest & e.value != 0 {
            rest &= !e.value;
            names.push(name(e));
        }
    }
    match (names.is_empty(), rest) {
        (true, 0) => "0".to_owned(),
        (true, rest) => format!("(unknown: {rest:#x})"),
        (false, 0) => format!("({})", names.join(" | ")),
        (false, rest) => format!("({} | unknown: {rest:#x})", names.join(" | ")),
    }
}
