//! Rust's values and types as text.

use crate::arithmetic::bit_field;
use crate::containers;
use crate::float::format_float;
use crate::format::Format;
use crate::print::{PrintOptions, Printer, missing};
use crate::text::{Width, character, string};
use crate::type_text::name_of;
use crate::value::{Data, Value, extend};
use verde_symbols::{Encoding, Kind, Member, RecordKind, Type, Variant};

impl Printer<'_> {
    pub(crate) fn rust_top(&self, value: &Value) -> String {
        let plain = value.ty.strip();
        if let (Kind::Pointer(_), Ok(bytes)) = (plain.kind(), value.bytes())
            && self.options.format.is_none()
        {
            let addr = extend(bytes, false) as u64;
            let target = plain.target().unwrap_or_else(Type::void);
            // gdb calls references and boxes what they are in memory.
            let name = match target.strip().kind() {
                Kind::Function(..) => name_of(&value.ty),
                _ => format!("*mut {}", name_of(&target)),
            };
            let is_code = matches!(target.strip().kind(), Kind::Function(..));
            return format!("({name}) {}", self.address(addr, is_code));
        }
        self.value(value, 0, true)
    }

    pub(crate) fn rust_value(&self, value: &Value, depth: usize) -> String {
        if let Data::Missing(why) = &value.data {
            return missing(why);
        }
        if depth > self.options.depth {
            return "{...}".to_owned();
        }
        let plain = value.ty.strip();
        match plain.kind() {
            Kind::Record(_) => self.nested(&plain, || self.rust_record(value, &plain, depth)),
            Kind::Array(_, count) => self.rust_array(value, &plain, count.unwrap_or(0), depth),
            Kind::Enum => self.rust_c_enum(value, &plain),
            Kind::Void => "()".to_owned(),
            Kind::Function(..) => {
                let addr = value.address().unwrap_or(0);
                format!("{{{}}} {}", name_of(&value.ty), self.address(addr, true))
            }
            _ => self.rust_scalar(value, &plain),
        }
    }

    fn rust_record(&self, value: &Value, plain: &Type, depth: usize) -> String {
        if matches!(plain.kind(), Kind::Record(RecordKind::Union)) {
            return self.rust_struct(value, plain, depth);
        }
        let raw = self.options.format == Some(Format::Raw);
        if self.options.pretty && !raw {
            let found = containers::pretty(value, &self.memory(), self.options.elements);
            if let Some(pretty) = found {
                return self.pretty(&pretty, depth);
            }
        }
        match plain.variant_part().is_some() {
            true => self.rust_enum(value, plain, depth),
            false => self.rust_struct(value, plain, depth),
        }
    }

    fn rust_scalar(&self, value: &Value, plain: &Type) -> String {
        let bytes = match value.bytes() {
            Ok(bytes) => bytes,
            Err(e) => return format!("<error: {e}>"),
        };
        if plain.size() == Some(0) {
            return "()".to_owned();
        }
        if let Some(format) = self
            .options
            .format
            .filter(|f| *f != Format::Raw && *f != Format::Str)
        {
            return crate::format::scalar(bytes, plain, format, self.scope);
        }
        match plain.kind() {
            Kind::Base(Encoding::Bool) => match extend(bytes, false) {
                0 => "false".to_owned(),
                1 => "true".to_owned(),
                n => n.to_string(),
            },
            Kind::Base(Encoding::Utf) => {
                format!("{} {}", extend(bytes, false), character(bytes, Width::Four))
            }
            Kind::Base(Encoding::Float) => format_float(bytes),
            Kind::Base(Encoding::Signed | Encoding::SignedChar) => extend(bytes, true).to_string(),
            Kind::Base(_) => (extend(bytes, false) as u128).to_string(),
            _ => {
                let target = plain.target().unwrap_or_else(Type::void);
                let is_code = matches!(target.strip().kind(), Kind::Function(..));
                self.address(extend(bytes, false) as u64, is_code)
            }
        }
    }

    fn rust_array(&self, value: &Value, plain: &Type, count: u64, depth: usize) -> String {
        let element = plain.target().unwrap_or_else(Type::void);
        let size = element.size().unwrap_or(0);
        // No type of the program's is such a byte: the expression wrote it as text.
        if let (Kind::Base(Encoding::UnsignedChar), None, Ok(bytes)) =
            (element.kind(), self.options.format, value.bytes())
        {
            let PrintOptions {
                elements, repeats, ..
            } = self.options;
            return format!(
                "b{}",
                string(bytes, Width::Byte, *elements, *repeats, false)
            );
        }
        let mut out = Vec::new();
        let mut at = 0;
        let mut printed = 0;
        while at < count && printed < self.options.elements {
            let get = |i: u64| value.part(element.clone(), i.wrapping_mul(size), &self.memory());
            let first = get(at);
            let mut run = 1;
            while at + run < count && run < 1 << 20 && get(at + run).data == first.data {
                run += 1;
            }
            let text = self.rust_value(&first, depth + 1);
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
        let dots = if at < count { "..." } else { "" };
        format!("[{}{dots}]", out.join(", "))
    }

    fn rust_c_enum(&self, value: &Value, plain: &Type) -> String {
        let Ok(bytes) = value.bytes() else {
            return "<optimized out>".to_owned();
        };
        let number = extend(bytes, !plain.is_unsigned());
        let found = plain.enumerators().into_iter().find(|e| e.value == number);
        match (found, plain.qualified_name()) {
            (Some(e), Some(scope)) => format!("{scope}::{}", e.name),
            (Some(e), None) => e.name,
            (None, _) => number.to_string(),
        }
    }

    fn rust_enum(&self, value: &Value, plain: &Type, depth: usize) -> String {
        let name = plain.qualified_name().unwrap_or_default();
        let Some(variant) = active_variant(value, plain, &self.memory()) else {
            return format!("{name}::<unknown variant>");
        };
        let member = &variant.member;
        let inner = value.part(member.ty.clone(), member.offset, &self.memory());
        let label = member
            .name
            .clone()
            .or_else(|| inner.ty.name().map(str::to_owned));
        let fields = fields_of(&inner.ty.strip());
        let parts = self.rust_fields(&inner, &fields, depth);
        let path = format!("{name}::{}", label.unwrap_or_default());
        match (fields.is_empty(), is_tuple(&fields)) {
            (true, _) => path,
            (_, true) => format!("{path}({})", parts.join(", ")),
            (_, false) => self.block(&format!("{path}{{"), &parts, "}", depth),
        }
    }

    fn rust_struct(&self, value: &Value, plain: &Type, depth: usize) -> String {
        let fields = fields_of(plain);
        let name = plain.qualified_name().unwrap_or_default();
        let name = if plain.name().is_some_and(|n| n.starts_with('(')) {
            String::new()
        } else {
            name
        };
        let parts = self.rust_fields(value, &fields, depth);
        match (fields.is_empty(), is_tuple(&fields)) {
            (true, _) if name.is_empty() => "()".to_owned(),
            (true, _) => name,
            (_, true) if name.is_empty() => self.block("(", &parts, ")", depth),
            (_, true) => self.block(&format!("{name} ("), &parts, ")", depth),
            (_, false) => self.block(&format!("{name} {{"), &parts, "}", depth),
        }
    }

    fn rust_fields(&self, value: &Value, fields: &[Member], depth: usize) -> Vec<String> {
        let tuple = is_tuple(fields);
        let text = |m: &Member| {
            let inner = match m.bits {
                Some(bits) => bit_field(value, m.ty.clone(), bits, &self.memory()),
                None => value.part(m.ty.clone(), m.offset, &self.memory()),
            };
            let text = self.rust_value(&inner, depth + 1);
            match (&m.name, tuple) {
                (Some(name), false) => format!("{name}: {text}"),
                _ => text,
            }
        };
        fields.iter().map(text).collect()
    }
}

fn fields_of(ty: &Type) -> Vec<Member> {
    let mut members = ty.members();
    members.retain(|m| !m.is_static && !m.is_artificial);
    members
}

/// Fields named `__0`, `__1` are those of a tuple.
fn is_tuple(fields: &[Member]) -> bool {
    let positional = |m: &Member| {
        let name = m.name.as_deref().unwrap_or("");
        name.strip_prefix("__")
            .is_some_and(|n| n.parse::<u32>().is_ok())
    };
    !fields.is_empty() && fields.iter().all(positional)
}

/// The variant a Rust enum holds now.
pub(crate) fn active_variant(
    value: &Value,
    ty: &Type,
    memory: &dyn verde_symbols::Memory,
) -> Option<Variant> {
    let part = ty.variant_part()?;
    let Some(discriminant) = &part.discriminant else {
        return part.variants.into_iter().next();
    };
    let tag = value.part(discriminant.ty.clone(), discriminant.offset, memory);
    let bytes = tag.bytes().ok()?;
    let size = bytes.len().min(16);
    let found = part.variants.iter().find(|v| {
        v.value
            .is_some_and(|wanted| wanted.to_le_bytes()[..size] == bytes[..size])
    });
    let default = || part.variants.iter().find(|v| v.value.is_none());
    found.or_else(default).cloned()
}

/// `ptype` of a Rust struct or enum.
pub(crate) fn type_body(ty: &Type) -> String {
    let name = ty.qualified_name().unwrap_or_default();
    if let Some(part) = ty.variant_part() {
        let mut out = format!("enum {name} {{\n");
        for variant in part.variants {
            let fields = fields_of(&variant.member.ty.strip());
            let label = variant.member.name.unwrap_or_default();
            let list = |named: bool| {
                let text = |m: &Member| match named {
                    true => format!("{}: {}", m.name.as_deref().unwrap_or(""), name_of(&m.ty)),
                    false => name_of(&m.ty),
                };
                fields.iter().map(text).collect::<Vec<_>>().join(", ")
            };
            let body = match (fields.is_empty(), is_tuple(&fields)) {
                (true, _) => String::new(),
                (_, true) => format!("({})", list(false)),
                (_, false) => format!("{{{}}}", list(true)),
            };
            out.push_str(&format!("    {label}{body},\n"));
        }
        return out + "}";
    }
    let fields = fields_of(ty);
    if ty.name().is_some_and(|n| n.starts_with('(')) {
        return name;
    }
    let word = match ty.kind() {
        Kind::Record(RecordKind::Union) => "union",
        _ => "struct",
    };
    let mut out = format!("{word} {name} {{\n");
    if is_tuple(&fields) {
        out = format!("struct {name} (\n");
        for m in &fields {
            out.push_str(&format!("    {},\n", name_of(&m.ty)));
        }
        return out + ")";
    }
    for m in &fields {
        out.push_str(&format!(
            "    {}: {},\n",
            m.name.as_deref().unwrap_or(""),
            name_of(&m.ty)
        ));
    }
    out + "}"
}

/// An enum without fields, written out.
pub(crate) fn enum_body(ty: &Type) -> String {
    let names = ty.enumerators().into_iter();
    let lines: String = names.map(|e| format!("    {},\n", e.name)).collect();
    format!(
        "enum {} {{\n{lines}}}",
        ty.qualified_name().unwrap_or_default()
    )
}
