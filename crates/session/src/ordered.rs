//! JSON whose members keep their order.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

/// What `serde_json::Value` is, but for objects: that one sorts them.
pub enum Ordered {
    Plain(Value),
    List(Vec<Ordered>),
    Members(Vec<(String, Ordered)>),
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Ordered, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Ordered;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E: Error>(self) -> Result<Ordered, E> {
                Ok(Ordered::Plain(Value::Null))
            }

            fn visit_bool<E: Error>(self, b: bool) -> Result<Ordered, E> {
                Ok(Ordered::Plain(b.into()))
            }

            fn visit_i64<E: Error>(self, i: i64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(i.into()))
            }

            fn visit_u64<E: Error>(self, u: u64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(u.into()))
            }

            fn visit_f64<E: Error>(self, f: f64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(f.into()))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Ordered, E> {
                Ok(Ordered::Plain(text.into()))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Ordered, S::Error> {
                let mut out = Vec::new();
                while let Some(element) = list.next_element()? {
                    out.push(element);
                }
                Ok(Ordered::List(out))
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Ordered, M::Error> {
                let mut out = Vec::new();
                while let Some(member) = map.next_entry()? {
                    out.push(member);
                }
                Ok(Ordered::Members(out))
            }
        }
        d.deserialize_any(V)
    }
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Ordered::Plain(value) => value.serialize(s),
            Ordered::List(elements) => s.collect_seq(elements),
            Ordered::Members(members) => s.collect_map(members.iter().map(|(k, v)| (k, v))),
        }
    }
}
