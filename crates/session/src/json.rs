//! Values of reports.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use verde_monitor::{Arg, Cell, Field, Host, Tag};

#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Str(String),
    Raw(Box<RawValue>),
}

impl Json {
    /// JSON text of a structure or of a Python value.
    pub fn raw(text: &str) -> Json {
        RawValue::from_string(text.to_string())
            .map_or_else(|_| Json::Str(text.to_string()), Json::Raw)
    }

    pub fn of_arg(a: Arg) -> Json {
        match a {
            Arg::None => Json::Null,
            Arg::Bool(b) => Json::Bool(b),
            Arg::Int(i) => Json::Int(i),
            Arg::UInt(u) => Json::UInt(u),
            Arg::Float(f) => Json::Float(f),
            Arg::Str(t) => Json::Str(t.to_string()),
            Arg::Json(t) => Json::raw(t),
        }
    }

    /// A value that the history kept; a structure that was cut there is text.
    pub fn of_field(f: &Field) -> Json {
        match f {
            Field::None => Json::Null,
            Field::Bool(b) => Json::Bool(*b),
            Field::Int(i) => Json::Int(*i),
            Field::UInt(u) => Json::UInt(*u),
            Field::Float(f) => Json::Float(*f),
            Field::Str(t) => Json::Str(t.clone()),
            Field::Json(t) => Json::raw(t),
        }
    }

    /// A value of an environment; nothing for a name that was never assigned.
    pub fn of_cell(c: Cell, host: &mut dyn Host) -> Option<Json> {
        match c.tag {
            Tag::Other => Some(Json::raw(&host.json(c))),
            _ => Json::of_plain(c),
        }
    }

    /// The same of a value that is not Python's own.
    pub fn of_plain(c: Cell) -> Option<Json> {
        Some(match c.tag {
            Tag::Unset | Tag::Other => return None,
            Tag::None | Tag::Text | Tag::Json => Json::Null,
            Tag::Bool => Json::Bool(c.bits != 0),
            Tag::Int => Json::Int(c.bits as i64),
            Tag::UInt => Json::UInt(c.bits),
            Tag::Float => Json::Float(f64::from_bits(c.bits)),
        })
    }

    /// For code of monitors: it knows the numbers that JSON has no word for.
    pub(crate) fn for_code(&self) -> Value {
        match self {
            Json::Float(f) if !f.is_finite() => json!({ "$float": self.to_string() }),
            _ => serde_json::to_value(self).unwrap_or_default(),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => s.serialize_unit(),
            Json::Bool(b) => s.serialize_bool(*b),
            Json::Int(i) => s.serialize_i64(*i),
            Json::UInt(u) => s.serialize_u64(*u),
            Json::Float(f) if f.is_finite() => s.serialize_f64(*f),
            // JSON has no word for these.
            Json::Float(f) => {
                let mut text = String::new();
                verde_monitor::num::float_text(*f, &mut text);
                s.serialize_str(&text)
            }
            Json::Str(t) => s.serialize_str(t),
            Json::Raw(r) => r.serialize(s),
        }
    }
}

/// As the user would write it.
impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Json::Null => f.write_str("None"),
            Json::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            Json::Int(i) => show_int(f, *i as i128),
            Json::UInt(u) => show_int(f, *u as i128),
            Json::Float(x) => {
                let mut text = String::new();
                verde_monitor::num::float_text(*x, &mut text);
                f.write_str(&text)
            }
            Json::Str(t) => write!(f, "{t:?}"),
            Json::Raw(r) => f.write_str(r.get()),
        }
    }
}

/// What looks like an address is shown as one.
fn show_int(f: &mut std::fmt::Formatter<'_>, i: i128) -> std::fmt::Result {
    if i >= 1 << 32 {
        write!(f, "{i:#x}")
    } else {
        write!(f, "{i}")
    }
}

/// Named values in order; a JSON object.
#[derive(Clone, Debug, Default)]
pub struct Object(pub Vec<(String, Json)>);

impl Object {
    pub fn of(named: &[(&str, Arg)]) -> Object {
        Object(
            named
                .iter()
                .map(|(n, v)| (n.to_string(), Json::of_arg(*v)))
                .collect(),
        )
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut m = s.serialize_map(Some(self.0.len()))?;
        for (k, v) in &self.0 {
            m.serialize_entry(k, v)?;
        }
        m.end()
    }
}

/// `queue = 0x55d0c0de, n = 3`.
impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (k, v)) in self.0.iter().enumerate() {
            let sep = if i > 0 { ", " } else { "" };
            write!(f, "{sep}{k} = {v}")?;
        }
        Ok(())
    }
}
