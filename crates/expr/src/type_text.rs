//! Types as gdb writes them: `whatis`, `ptype`, casts in front of pointers.

use crate::short_names::{is_known, shortened};
use verde_symbols::{
    DieId, Kind, Language, Member, RecordKind, Type, plain_arguments, plain_c_name,
};

/// The type's name as `whatis` gives it: `struct item *`, `int (*)(int, int)`.
pub fn name_of(ty: &Type) -> String {
    declare(ty, "")
}

/// The type declaring a name: `int (*table[2])(int, int)`.
pub fn declare(ty: &Type, name: &str) -> String {
    declare_with(ty, name, 0, &base_name)
}

const MAX_DEPTH: usize = 64;

/// Builds a declaration from the inside out; `base` names the innermost type.
pub(crate) fn declare_with(
    ty: &Type,
    inner: &str,
    depth: usize,
    base: &dyn Fn(&Type) -> String,
) -> String {
    if depth > MAX_DEPTH {
        return "...".to_owned();
    }
    let target = || ty.target().unwrap_or_else(Type::void);
    let next = |ty: &Type, inner: &str| declare_with(ty, inner, depth + 1, base);
    if let (Language::Rust, Kind::Function(result, parameters, ..)) = (ty.language(), ty.kind()) {
        let one = |p: &verde_symbols::Link| declare_with(&ty.follow(p), "", depth + 16, &base_name);
        let list: Vec<String> = parameters.iter().map(one).collect();
        let result = ty.follow(result);
        let arrow = match result.strip().kind() {
            Kind::Void => String::new(),
            _ => format!(" -> {}", next(&result, "")),
        };
        return join(&format!("fn ({}){arrow}", list.join(", ")), inner);
    }
    if ty.language() == Language::Rust && ty.name().is_some() {
        return join(&base(ty), inner);
    }
    match ty.kind() {
        // Rust's own pointers have names; those inside of slices are the compiler's.
        Kind::Pointer(_)
            if ty.language() == Language::Rust
                && (ty.die().is_some() || matches!(target().kind(), Kind::Function(..))) =>
        {
            join(&format!("*mut {}", name_of(&target())), inner)
        }
        Kind::Pointer(_) => next(&target(), &pointer("*", &target(), inner)),
        Kind::Reference(_) => next(&target(), &pointer("&", &target(), inner)),
        Kind::RvalueReference(_) => next(&target(), &pointer("&&", &target(), inner)),
        Kind::MemberPointer(_, class) => {
            let class = name_of(&ty.follow(class));
            let inner = pointer(&format!("{class}::*"), &target(), inner);
            match target().strip().kind() {
                Kind::Function(..) => method(&target().strip(), &inner, depth + 1, base),
                _ => next(&target(), &inner),
            }
        }
        Kind::Array(_, count) => {
            if ty.language() == Language::Rust {
                let count = count.map_or(String::new(), |n| format!("; {n}"));
                return join(&format!("[{}{count}]", next(&target(), "")), inner);
            }
            let count = count.map_or(String::new(), |n| n.to_string());
            next(&target(), &spaced(inner, &format!("[{count}]")))
        }
        Kind::Vector(_, count) => {
            let attribute = format!(" __attribute__ ((vector_size({count})))");
            join(&(next(&target(), "") + &attribute), inner)
        }
        Kind::Function(_, parameters, variadic, prototyped) => {
            // A corrupt file may let a function take itself: parameters count for more.
            let one =
                |p: &verde_symbols::Link| declare_with(&ty.follow(p), "", depth + 16, &base_name);
            let mut list: Vec<String> = parameters.iter().map(one).collect();
            if *variadic {
                list.push("...".to_owned());
            }
            let cpp = ty.language() == Language::Cpp;
            let text = match list.is_empty() {
                true if *prototyped || cpp => "void".to_owned(),
                _ => list.join(", "),
            };
            next(&target(), &spaced(inner, &format!("({text})")))
        }
        Kind::Const(_) => qualified(ty, "const", inner, depth, base),
        Kind::Volatile(_) => qualified(ty, "volatile", inner, depth, base),
        Kind::OtherQualifier(_, word) => qualified(ty, word, inner, depth, base),
        _ => join(&base(ty), inner),
    }
}

/// A member function's type: gdb lets the object's pointer be constant, as it is in the function.
fn method(ty: &Type, inner: &str, depth: usize, base: &dyn Fn(&Type) -> String) -> String {
    let Kind::Function(result, parameters, variadic, _) = ty.kind() else {
        return declare_with(ty, inner, depth, base);
    };
    let one = |(i, link): (usize, &verde_symbols::Link)| {
        let parameter = ty.follow(link);
        let is_const = matches!(parameter.kind(), Kind::Const(_));
        let parameter = match i == 0 && !is_const {
            true => parameter.constant(),
            false => parameter,
        };
        declare_with(&parameter, "", depth + 16, &base_name)
    };
    let mut list: Vec<String> = parameters.iter().enumerate().map(one).collect();
    if *variadic {
        list.push("...".to_owned());
    }
    let inner = spaced(inner, &format!("({})", list.join(", ")));
    declare_with(&ty.follow(result), &inner, depth + 1, base)
}

/// `const` goes before a plain type and after a pointer's star.
fn qualified(
    ty: &Type,
    word: &str,
    inner: &str,
    depth: usize,
    base: &dyn Fn(&Type) -> String,
) -> String {
    let target = ty.target().unwrap_or_else(Type::void);
    let is_pointer = matches!(
        target.unqualified().kind(),
        Kind::Pointer(_) | Kind::Reference(_) | Kind::RvalueReference(_)
    );
    if is_pointer {
        let inner = match inner.is_empty() {
            true => format!(" {word}"),
            false if inner.trim_start().starts_with(['[', '(']) => {
                format!(" {word}{}", inner.trim_start())
            }
            false => format!(" {word} {}", inner.trim_start()),
        };
        return declare_with(&target, &inner, depth + 1, base);
    }
    // Words of nested qualifiers come in the order gdb prints them: const before volatile.
    let mut words = vec![word];
    let mut at = target;
    loop {
        let word = match at.kind() {
            Kind::Const(_) => "const",
            Kind::Volatile(_) => "volatile",
            Kind::OtherQualifier(_, w) => w,
            _ => break,
        };
        if !words.contains(&word) {
            words.push(word);
        }
        at = at.target().unwrap_or_else(Type::void);
        if words.len() > 4 {
            break;
        }
    }
    words.sort_by_key(|w| match *w {
        "const" => 0,
        "volatile" => 1,
        _ => 2,
    });
    let prefix = words.join(" ");
    let named = |t: &Type| match t == &at {
        true => format!("{prefix} {}", base(t)),
        false => base(t),
    };
    declare_with(&at, inner, depth + 1, &named)
}

fn pointer(star: &str, target: &Type, inner: &str) -> String {
    let inner = match inner.starts_with(" [") || inner.starts_with(" (") {
        true => inner.trim_start(),
        false => inner,
    };
    let text = format!("{star}{inner}");
    match target.unqualified().kind() {
        Kind::Array(..) | Kind::Function(..) => format!("({text})"),
        _ => text,
    }
}

/// Suffixes of functions and arrays follow a space when no name is in front.
fn spaced(inner: &str, suffix: &str) -> String {
    match inner.is_empty() {
        true => format!(" {suffix}"),
        false => format!("{inner}{suffix}"),
    }
}

fn join(base: &str, inner: &str) -> String {
    match inner.is_empty() {
        true => base.to_owned(),
        false => format!("{base} {}", inner.strip_prefix(' ').unwrap_or(inner)),
    }
}

/// The name of a type that is not made of others.
fn base_name(ty: &Type) -> String {
    let name = ty.qualified_name();
    let c = ty.language() == Language::C;
    match ty.kind() {
        Kind::Void => "void".to_owned(),
        Kind::Record(kind) => match name {
            Some(name) if c => format!("{} {name}", keyword(*kind)),
            Some(name) => plain_arguments(&name),
            None => format!("{} {{...}}", keyword(*kind)),
        },
        Kind::Enum => match name {
            Some(name) if c => format!("enum {name}"),
            Some(name) => name,
            None => "enum {...}".to_owned(),
        },
        Kind::Base(_) if ty.language() != Language::Rust => {
            plain_c_name(&name.unwrap_or_default()).to_owned()
        }
        _ => name.unwrap_or_else(|| "<unknown type>".to_owned()),
    }
}

fn keyword(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Struct => "struct",
        RecordKind::Class => "class",
        RecordKind::Union => "union",
    }
}

/// The type's name as `whatis` gives it.
pub fn whatis(ty: &Type) -> String {
    shortened(&name_of(ty))
}

/// `ptype`: typedefs undone, members listed. What C++'s library defines is known by its name.
pub fn ptype(ty: &Type) -> String {
    let ty = undo_typedefs(ty, 0);
    let name = name_of(&ty);
    if is_known(&name) {
        return shortened(&name);
    }
    let body = |t: &Type| body_of(t, 0, &[]);
    shortened(&declare_with(&ty, "", 0, &body))
}

/// Typedefs at the heart of a type replaced by what they name.
pub(crate) fn undo_typedefs(ty: &Type, depth: usize) -> Type {
    if depth > MAX_DEPTH {
        return ty.clone();
    }
    let target = || undo_typedefs(&ty.target().unwrap_or_else(Type::void), depth + 1);
    match ty.kind() {
        Kind::Typedef(_) => target(),
        Kind::Pointer(_) if ty.language() != Language::Rust => target().pointer_to(),
        Kind::Reference(_) => target().reference_to(),
        Kind::Array(_, Some(count)) => target().array_of(*count),
        Kind::Const(_) => target().constant(),
        _ => ty.clone(),
    }
}

/// A type written out. `outer` are the records it is in: one that contains itself is a corrupt file's.
fn body_of(ty: &Type, indent: usize, outer: &[DieId]) -> String {
    match ty.kind() {
        Kind::Record(kind) => {
            if ty.language() == Language::Rust {
                return crate::rust_print::type_body(ty);
            }
            let ty = ty.definition().unwrap_or_else(|| ty.clone());
            record(&ty, *kind, indent, outer)
        }
        Kind::Enum if ty.language() == Language::Rust => crate::rust_print::enum_body(ty),
        Kind::Enum => {
            let name = match ty.qualified_name() {
                Some(name) => format!("{name} "),
                None => String::new(),
            };
            let class = if ty.is_scoped_enum() { "class " } else { "" };
            let under = match ty.language() {
                Language::Cpp => ty
                    .underlying()
                    .map_or(String::new(), |u| format!(": {} ", name_of(&u))),
                _ => String::new(),
            };
            let mut next = 0;
            let mut list = Vec::new();
            for e in ty.enumerators() {
                let name = crate::print::enumerator_name(ty, &e.name);
                list.push(match e.value == next {
                    true => name,
                    false => format!("{name} = {}", e.value),
                });
                next = e.value + 1;
            }
            format!("enum {class}{name}{under}{{{}}}", list.join(", "))
        }
        _ => base_name(ty),
    }
}

/// The name of a record with its keyword.
fn record_name(ty: &Type, kind: RecordKind) -> String {
    let name = ty
        .qualified_name()
        .map_or(String::new(), |n| match ty.language() {
            Language::Cpp => format!("{} ", plain_arguments(&n)),
            _ => format!("{n} "),
        });
    format!("{} {name}", keyword(kind))
}

/// The line that a record begins with.
pub(crate) fn heading(ty: &Type, kind: RecordKind) -> String {
    let members = ty.members();
    let bases: Vec<String> = members
        .iter()
        .filter(|m| m.is_base)
        .map(|m| {
            let access = match (m.access, kind) {
                (1, _) | (0, RecordKind::Struct) => "public ",
                (2, _) => "protected ",
                _ => "private ",
            };
            let virt = if m.is_virtual { "virtual " } else { "" };
            format!("{access}{virt}{}", name_of(&m.ty))
        })
        .collect();
    let bases = match bases.is_empty() {
        true => String::new(),
        false => format!(": {} ", bases.join(", ")),
    };
    format!("{}{bases}{{", record_name(ty, kind))
}

/// Who may use members, where a record says so.
pub(crate) struct Access {
    shown: bool,
    default: u8,
    section: Option<u8>,
}

impl Access {
    /// What members and functions have, one after the other.
    fn among(ty: &Type, kind: RecordKind, all: impl Iterator<Item = u8>) -> Access {
        let default = if kind == RecordKind::Class { 3 } else { 1 };
        let mut all = all.map(|a| if a == 0 { default } else { a });
        // The pointer to the virtual table is nobody's.
        let hides = default == 1 && ty.members().iter().any(is_vptr);
        let differs = hides || all.any(|a| a != default);
        let shown = differs && (ty.language() == Language::Cpp || kind == RecordKind::Class);
        Access {
            shown,
            default,
            section: None,
        }
    }

    pub fn of(ty: &Type, kind: RecordKind, fields: &[&Member]) -> Access {
        Access::among(ty, kind, fields.iter().map(|m| m.access))
    }

    /// The label before the next one, if it needs one.
    pub fn changes(&mut self, access: u8) -> Option<&'static str> {
        let access = if access == 0 { self.default } else { access };
        if !self.shown || self.section.replace(access) == Some(access) {
            return None;
        }
        Some(["public", "public", "protected", "private"][access.min(3) as usize])
    }
}

fn record(ty: &Type, kind: RecordKind, indent: usize, outer: &[DieId]) -> String {
    let pad = " ".repeat(indent);
    if ty.die().is_some_and(|d| outer.contains(&d)) {
        return format!("{}{{...}}", record_name(ty, kind));
    }
    let inner: Vec<DieId> = outer.iter().copied().chain(ty.die()).collect();
    let members = ty.members();
    let mut out = format!("{}\n", heading(ty, kind));
    let fields: Vec<&Member> = members
        .iter()
        .filter(|m| !m.is_base && !is_vptr(m))
        .collect();
    let methods: Vec<_> = ty
        .methods()
        .into_iter()
        .filter(|m| !m.is_artificial)
        .collect();
    if ty.is_declaration() {
        out.push_str(&format!("{pad}    <incomplete type>\n"));
    } else if fields.is_empty() && methods.is_empty() {
        out.push_str(&format!("{pad}    <no data fields>\n"));
    }
    let accesses = fields.iter().map(|m| m.access);
    let accesses = accesses.chain(methods.iter().map(|m| m.access));
    let mut access = Access::among(ty, kind, accesses);
    let label = |out: &mut String, word: Option<&str>| {
        if let Some(word) = word {
            out.push_str(&format!("{pad}  {word}:\n"));
        }
    };
    for member in &fields {
        label(&mut out, access.changes(member.access));
        out.push_str(&format!("{pad}    {}\n", field(member, indent + 4, &inner)));
    }
    if !methods.is_empty() {
        if !fields.is_empty() {
            out.push('\n');
        }
        for method in &methods {
            label(&mut out, access.changes(method.access));
            out.push_str(&format!("{pad}    {}\n", method_text(ty, method)));
        }
    }
    out.push_str(&format!("{pad}}}"));
    out
}

pub(crate) fn is_vptr(member: &Member) -> bool {
    member
        .name
        .as_deref()
        .is_some_and(|n| n.starts_with("_vptr"))
}

/// The innermost type of a member: unnamed ones are written out in place, others are named.
pub(crate) fn field_base(ty: &Type, indent: usize, outer: &[DieId]) -> String {
    match (ty.kind(), ty.name()) {
        (Kind::Record(_) | Kind::Enum, None) => body_of(ty, indent, outer),
        _ => base_name(ty),
    }
}

fn field(member: &Member, indent: usize, outer: &[DieId]) -> String {
    let name = member.name.clone().unwrap_or_default();
    let base = |t: &Type| field_base(t, indent, outer);
    let prefix = if member.is_static { "static " } else { "" };
    let bits = member
        .bits
        .map_or(String::new(), |(_, w)| format!(" : {w}"));
    format!(
        "{prefix}{}{bits};",
        declare_with(&member.ty, &name, 0, &base)
    )
}

/// Whether a name is an operator's that is called like what it returns.
fn is_conversion(name: &str) -> bool {
    let Some(to) = name.strip_prefix("operator ") else {
        return false;
    };
    let word = to.split(['[', ' ']).next().unwrap_or(to);
    !matches!(word, "new" | "delete" | "co_await") && !to.starts_with('"')
}

fn method_text(class: &Type, method: &verde_symbols::MemberFunction) -> String {
    let Kind::Function(result, parameters, variadic, _) = method.ty.kind() else {
        return format!("{};", method.name);
    };
    let skip = usize::from(!method.is_static);
    let mut list: Vec<String> = parameters
        .iter()
        .skip(skip.max(method.hidden))
        .map(|p| name_of(&method.ty.follow(p)))
        .collect();
    if *variadic {
        list.push("...".to_owned());
    }
    let list = match list.is_empty() {
        true => "void".to_owned(),
        false => list.join(", "),
    };
    let base = class
        .name()
        .map_or("", |n| n.split('<').next().unwrap_or(n));
    let is_maker =
        method.name == base || method.name == format!("~{base}") || is_conversion(&method.name);
    let list = if method.name.starts_with('~') {
        String::new()
    } else {
        list
    };
    let this_const = parameters.first().filter(|_| skip == 1).is_some_and(|p| {
        let this = method.ty.follow(p).unqualified();
        this.target()
            .is_some_and(|t| matches!(t.kind(), Kind::Const(_)))
    });
    let suffix = if this_const { " const" } else { "" };
    let prefix = match (method.is_virtual, method.is_static && !is_maker) {
        (true, _) => "virtual ",
        (_, true) => "static ",
        _ => "",
    };
    let call = format!("{}({list})", method.name);
    match is_maker {
        true => format!("{prefix}{call}{suffix};"),
        false => format!(
            "{prefix}{}{suffix};",
            declare(&method.ty.follow(result), &call)
        ),
    }
}
