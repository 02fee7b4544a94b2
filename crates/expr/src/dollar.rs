//! Names that start with a dollar: registers and the history.

use crate::builtin;
use crate::flags::{EFLAGS, MXCSR};
use verde_symbols::{CONTROL, CONTROL_NAMES, Encoding, REGISTER_NAMES, RIP, RecordKind, Type};

/// `$`, `$$`, `$$2`, `$3`.
pub(crate) fn history_number(name: &str) -> Option<i64> {
    match name {
        "" => Some(0),
        "$" => Some(-1),
        _ => match name.strip_prefix('$') {
            Some(back) => back.parse::<i64>().ok().map(|n| -n),
            None => name.parse().ok().filter(|n: &i64| *n > 0),
        },
    }
}

/// Segment registers; the first has number 50.
const SEGMENTS: [&str; 6] = ["es", "cs", "ss", "ds", "fs", "gs"];

/// A register: DWARF number, first byte, bytes, type.
pub(crate) fn register(name: &str) -> Option<(u16, u64, u64, Type)> {
    let code = || Type::void().function_returning().pointer_to();
    let data = || Type::void().pointer_to();
    let number = |n: &str| {
        REGISTER_NAMES
            .iter()
            .position(|r| *r == n)
            .map(|i| i as u16)
    };
    match name {
        "pc" | "rip" => return Some((RIP, 0, 8, code())),
        "sp" | "rsp" => return Some((7, 0, 8, data())),
        "fp" | "rbp" => return Some((6, 0, 8, data())),
        "eflags" => return Some((49, 0, 4, Type::base(EFLAGS, Encoding::Signed, 4))),
        "fs_base" => return Some((58, 0, 8, builtin::long())),
        "gs_base" => return Some((59, 0, 8, builtin::long())),
        _ => {}
    }
    if let Some(n) = SEGMENTS.iter().position(|s| *s == name) {
        return Some((
            50 + n as u16,
            0,
            4,
            Type::base("int32_t", Encoding::Signed, 4),
        ));
    }
    if let Some(n) = CONTROL_NAMES.iter().position(|s| *s == name) {
        let ty = match name {
            "mxcsr" => Type::base(MXCSR, Encoding::Signed, 4),
            _ => builtin::int(),
        };
        return Some((CONTROL + n as u16, 0, 4, ty));
    }
    if let Some(n) = number(name) {
        return Some((n, 0, 8, builtin::long()));
    }
    if let Some(index) = name.strip_prefix("xmm").and_then(|n| n.parse::<u16>().ok()) {
        return (index < 16).then(|| (17 + index, 0, 16, vectors()));
    }
    if let Some(index) = name.strip_prefix("ymm").and_then(|n| n.parse::<u16>().ok()) {
        return (index < 16).then(|| (17 + index, 0, 32, wide_vectors()));
    }
    if let Some(index) = name.strip_prefix("st").and_then(|n| n.parse::<u16>().ok()) {
        let ty = Type::base("i387_ext", Encoding::Float, 10);
        return (index < 8).then(|| (33 + index, 0, 10, ty));
    }
    narrow_register(name).map(|(n, offset, size)| {
        let ty = match size {
            4 => builtin::int(),
            2 => Type::base("int16_t", Encoding::Signed, 2),
            _ => Type::base("int8_t", Encoding::Signed, 1),
        };
        (n, offset, size, ty)
    })
}

/// A vector register as gdb shows it: everything that it may hold.
fn vectors() -> Type {
    use Encoding::{Float, Signed, Unsigned};
    let of =
        |name: &str, encoding, size: u64| Type::base(name, encoding, size).vector_of(16 / size);
    let members = [
        ("v4_float", of("float", Float, 4), 0),
        ("v2_double", of("double", Float, 8), 0),
        ("v16_int8", of("int8_t", Signed, 1), 0),
        ("v8_int16", of("int16_t", Signed, 2), 0),
        ("v4_int32", of("int32_t", Signed, 4), 0),
        ("v2_int64", of("int64_t", Signed, 8), 0),
        ("uint128", Type::base("uint128_t", Unsigned, 16), 0),
    ];
    Type::record(RecordKind::Union, 16, &members)
}

/// The same of twice the length.
fn wide_vectors() -> Type {
    use Encoding::{Float, Signed};
    let of =
        |name: &str, encoding, size: u64| Type::base(name, encoding, size).vector_of(32 / size);
    let members = [
        ("v8_float", of("float", Float, 4), 0),
        ("v4_double", of("double", Float, 8), 0),
        ("v32_int8", of("int8_t", Signed, 1), 0),
        ("v16_int16", of("int16_t", Signed, 2), 0),
        ("v8_int32", of("int32_t", Signed, 4), 0),
        ("v4_int64", of("int64_t", Signed, 8), 0),
        ("v2_int128", of("int128_t", Signed, 16), 0),
    ];
    Type::record(RecordKind::Union, 32, &members)
}

/// `eax`, `ax`, `al`, `ah`, `r8d`, `sil`.
pub(crate) fn narrow_register(name: &str) -> Option<(u16, u64, u64)> {
    let number = |n: &str| {
        REGISTER_NAMES
            .iter()
            .position(|r| *r == n)
            .map(|i| i as u16)
    };
    if let Some(rest) = name.strip_prefix('e') {
        return Some((number(&format!("r{rest}"))?, 0, 4));
    }
    if name.starts_with('r') {
        let (base, size) = match name.chars().last()? {
            'd' => (&name[..name.len() - 1], 4),
            'w' => (&name[..name.len() - 1], 2),
            'l' | 'b' => (&name[..name.len() - 1], 1),
            _ => return None,
        };
        return Some((number(base)?, 0, size));
    }
    if let Some(n) = number(&format!("r{name}")) {
        return Some((n, 0, 2));
    }
    let base = name.get(..name.len().checked_sub(1)?)?;
    match name.chars().last()? {
        'l' if base.len() == 1 => Some((number(&format!("r{base}x"))?, 0, 1)),
        'l' => Some((number(&format!("r{base}"))?, 0, 1)),
        'h' if base.len() == 1 => Some((number(&format!("r{base}x"))?, 1, 1)),
        _ => None,
    }
}
