//! One line of a trace: a JSON object that describes an event.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use verde_monitor::Arg;
use verde_property::{Kind, When};

/// An event as written, with the defaults filled in.
pub struct TraceEvent<'a> {
    pub n: Option<u64>,
    pub kind: Kind,
    pub when: When,
    pub name: Cow<'a, str>,
    pub args: Args<'a>,
    pub tid: Option<u64>,
    pub time: Option<u64>,
    pub loc: Option<Cow<'a, str>>,
}

pub struct Args<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// A value that may own what it had to unescape.
pub enum Value<'a> {
    Plain(Arg<'a>),
    Text(String),
}

impl Value<'_> {
    pub fn arg(&self) -> Arg<'_> {
        match self {
            Value::Plain(a) => *a,
            Value::Text(t) => Arg::Str(t),
        }
    }
}

impl Args<'_> {
    pub fn get(&self, key: &str) -> Option<Arg<'_>> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.arg())
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    n: Option<u64>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    when: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default = "no_args")]
    args: Args<'a>,
    #[serde(default)]
    tid: Option<u64>,
    #[serde(default)]
    time: Option<u64>,
    #[serde(borrow, default)]
    loc: Option<Cow<'a, str>>,
}

fn no_args<'a>() -> Args<'a> {
    Args(Vec::new())
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "unknown kind `{0}`: one of call, write, read, update, syscall, signal, line, thread, process, unwound"
    )]
    Kind(String),
    #[error("`when` is `{0}`: it must be `before` or `after`")]
    When(String),
}

pub fn parse(line: &[u8]) -> Result<TraceEvent<'_>, TraceError> {
    let raw: Raw = serde_json::from_slice(line)?;
    let kind = match &raw.kind {
        None => Kind::Call,
        Some(k) => Kind::from_word(k).ok_or_else(|| TraceError::Kind(k.to_string()))?,
    };
    let when = match raw.when.as_deref() {
        None => kind.default_when(),
        Some("before") => When::Before,
        Some("after") => When::After,
        Some(other) => return Err(TraceError::When(other.to_string())),
    };
    Ok(TraceEvent {
        n: raw.n,
        kind,
        when,
        name: raw.event,
        args: raw.args,
        tid: raw.tid,
        time: raw.time,
        loc: raw.loc,
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Args<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Args<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object with the event's parameters")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Args<'de>, M::Error> {
                let mut out = Vec::with_capacity(4);
                while let Some(Key(key)) = map.next_key()? {
                    let raw: &'de RawValue = map.next_value()?;
                    let value = value(raw.get())
                        .map_err(|e| de::Error::custom(format!("argument `{key}`: {e}")))?;
                    out.push((key, value));
                }
                Ok(Args(out))
            }
        }
        d.deserialize_map(V)
    }
}

/// A key, borrowed from the line when it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a parameter's name")
            }

            fn visit_borrowed_str<E>(self, s: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(s)))
            }

            fn visit_str<E>(self, s: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(s.to_string())))
            }
        }
        d.deserialize_str(V)
    }
}

/// The value of valid JSON text.
fn value(text: &str) -> Result<Value<'_>, String> {
    let plain = match text.as_bytes()[0] {
        b'n' => Arg::None,
        b't' => Arg::Bool(true),
        b'f' => Arg::Bool(false),
        b'{' | b'[' => Arg::Json(text),
        b'"' => {
            let inner = &text[1..text.len() - 1];
            if inner.contains('\\') {
                let owned: String = serde_json::from_str(text).map_err(|e| e.to_string())?;
                return Ok(Value::Text(owned));
            }
            Arg::Str(inner)
        }
        _ if text.contains(['.', 'e', 'E']) => {
            Arg::Float(text.parse().map_err(|_| "not a number".to_string())?)
        }
        _ => match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(i), _) => Arg::Int(i),
            (_, Ok(u)) => Arg::UInt(u),
            _ => return Err(format!("{text} has more than 64 bits")),
        },
    };
    Ok(Value::Plain(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_values() {
        let line = br#"{"event":"f","args":{"q":18446744073709551615,"x":-1,"s":"a\"b","t":"\u00e9","o":{"a":[1]},"z":null,"r":1.5}}"#;
        let e = parse(line).unwrap();
        assert_eq!((e.kind, e.when, e.n), (Kind::Call, When::Before, None));
        assert_eq!(e.args.get("q"), Some(Arg::UInt(u64::MAX)));
        assert_eq!(e.args.get("x"), Some(Arg::Int(-1)));
        assert_eq!(e.args.get("s"), Some(Arg::Str("a\"b")));
        assert_eq!(e.args.get("t"), Some(Arg::Str("é")));
        assert_eq!(e.args.get("o"), Some(Arg::Json(r#"{"a":[1]}"#)));
        assert_eq!(e.args.get("z"), Some(Arg::None));
        assert_eq!(e.args.get("r"), Some(Arg::Float(1.5)));
        assert_eq!(e.args.get("y"), None);
        assert_eq!(
            parse(br#"{"kind":"write","event":"v"}"#).unwrap().when,
            When::After
        );
    }

    #[test]
    fn wrong_lines_are_errors() {
        for line in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"event":5}"#,
            r#"{"event":"f","args":[1]}"#,
            r#"{"event":"f","args":{"x":123456789012345678901234567890}}"#,
            r#"{"event":"f","n":-1}"#,
            r#"{"event":"f","n":"1"}"#,
            r#"{"event":"f","kind":"jump"}"#,
            r#"{"event":"f","when":"during"}"#,
            r#"{"event":"f"} x"#,
            "\u{0}\u{1}",
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
        let deep = format!(r#"{{"event":"f","args":{{"x":{}}}}}"#, "[".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
    }
}
