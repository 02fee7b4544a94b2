//! Types every program has, whether its debug information names them or not.

use verde_symbols::{Encoding, Language, Type};

pub(crate) fn int() -> Type {
    Type::base("int", Encoding::Signed, 4)
}

pub(crate) fn long() -> Type {
    Type::base("long", Encoding::Signed, 8)
}

pub(crate) fn unsigned_long() -> Type {
    Type::base("unsigned long", Encoding::Unsigned, 8)
}

pub(crate) fn char() -> Type {
    Type::base("char", Encoding::SignedChar, 1)
}

/// The characters of a literal with a mark before it.
pub(crate) fn wide(mark: char) -> Type {
    match mark {
        'u' => Type::base("char16_t", Encoding::Utf, 2),
        'U' => Type::base("char32_t", Encoding::Utf, 4),
        _ => Type::base("wchar_t", Encoding::Signed, 4),
    }
}

/// The type of comparisons.
pub(crate) fn truth(language: Language) -> Type {
    match language {
        Language::C | Language::Asm => int(),
        _ => Type::base_in("bool", Encoding::Bool, 1, language),
    }
}

/// C's and gdb's names of base types.
pub(crate) fn c_type(name: &str) -> Option<Type> {
    use Encoding::*;
    let (encoding, size) = match name {
        "void" => return Some(Type::void()),
        "char" | "signed char" => (SignedChar, 1),
        "unsigned char" => (UnsignedChar, 1),
        "short" => (Signed, 2),
        "unsigned short" => (Unsigned, 2),
        "int" => (Signed, 4),
        "unsigned int" => (Unsigned, 4),
        "long" | "long long" => (Signed, 8),
        "unsigned long" | "unsigned long long" => (Unsigned, 8),
        "float" => (Float, 4),
        "double" => (Float, 8),
        "long double" => (Float, 16),
        "_Bool" | "bool" => (Bool, 1),
        "__int128" => (Signed, 16),
        "unsigned __int128" => (Unsigned, 16),
        _ => return None,
    };
    Some(Type::base(name, encoding, size))
}

/// A byte of Rust's that is part of a text: not DWARF's `u8`, which is a number.
pub(crate) fn byte_of_text() -> Type {
    Type::base_in("u8", Encoding::UnsignedChar, 1, Language::Rust)
}

/// Rust's primitive types.
pub(crate) fn rust_type(name: &str) -> Option<Type> {
    use Encoding::*;
    let (encoding, size) = match name {
        "bool" => (Bool, 1),
        "char" => (Utf, 4),
        "i8" => (Signed, 1),
        "i16" => (Signed, 2),
        "i32" => (Signed, 4),
        "i64" | "isize" => (Signed, 8),
        "i128" => (Signed, 16),
        "u8" => (Unsigned, 1),
        "u16" => (Unsigned, 2),
        "u32" => (Unsigned, 4),
        "u64" | "usize" => (Unsigned, 8),
        "u128" => (Unsigned, 16),
        "f32" => (Float, 4),
        "f64" => (Float, 8),
        _ => return None,
    };
    Some(Type::base_in(name, encoding, size, Language::Rust))
}
