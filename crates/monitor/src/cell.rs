//! Values: as they come with an event, and as a slice stores them.

/// What a [`Cell`]'s bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tag {
    /// A name that was never assigned.
    Unset = 0,
    None = 1,
    Bool = 2,
    /// A signed 64-bit integer.
    Int = 3,
    /// An integer of 2^63 to 2^64 - 1. -1 and 2^64 - 1 have the same bits and
    /// are different keys, so the tag is part of the value.
    UInt = 4,
    Float = 5,
    /// An interned string; the bits are its number. Only in keys.
    Text = 6,
    /// An interned structure, as JSON text. Only in keys.
    Json = 7,
    /// A value of the [`crate::Host`]; the bits are its handle. Only in environments.
    Other = 8,
}

impl Tag {
    pub fn from_byte(b: u8) -> Tag {
        match b {
            1 => Tag::None,
            2 => Tag::Bool,
            3 => Tag::Int,
            4 => Tag::UInt,
            5 => Tag::Float,
            6 => Tag::Text,
            7 => Tag::Json,
            8 => Tag::Other,
            _ => Tag::Unset,
        }
    }
}

/// A tagged word, as it lies in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Cell {
    pub bits: u64,
    pub tag: Tag,
}

impl Cell {
    pub const UNSET: Cell = Cell {
        bits: 0,
        tag: Tag::Unset,
    };
    pub const NONE: Cell = Cell {
        bits: 0,
        tag: Tag::None,
    };

    pub fn bool(b: bool) -> Cell {
        Cell {
            bits: b as u64,
            tag: Tag::Bool,
        }
    }

    pub fn int(i: i64) -> Cell {
        Cell {
            bits: i as u64,
            tag: Tag::Int,
        }
    }

    pub fn uint(u: u64) -> Cell {
        match i64::try_from(u) {
            Ok(i) => Cell::int(i),
            Err(_) => Cell {
                bits: u,
                tag: Tag::UInt,
            },
        }
    }

    pub fn float(f: f64) -> Cell {
        Cell {
            bits: f.to_bits(),
            tag: Tag::Float,
        }
    }
}

/// A value that comes with an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg<'a> {
    None,
    Bool(bool),
    Int(i64),
    /// Only for 2^63 and above; [`Arg::uint`] chooses.
    UInt(u64),
    Float(f64),
    Str(&'a str),
    /// A structure, as JSON text.
    Json(&'a str),
}

impl Arg<'_> {
    pub fn uint(u: u64) -> Self {
        match i64::try_from(u) {
            Ok(i) => Arg::Int(i),
            Err(_) => Arg::UInt(u),
        }
    }
}
