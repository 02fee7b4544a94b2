//! One line of a trace: a JSON object that describes an event.

use crate::fast_line;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::SmallVec;
use std::borrow::Cow;
use verde_monitor::Arg;
use verde_property::ir::Types;
use verde_property::{Kind, ParamSpec, When, declared_types};

/// The name of the line, of kind `process`, that tells of an exec.
pub const EXEC: &str = "exec";

/// The name of the last line, of kind `process`, of a run that was ended before the program was.
pub const CUT: &str = "cut";

/// The scope of a line about `f` in a trace where `::f` has lines of its own.
pub const ANY_SCOPE: &str = "any";

/// An event as written, with the defaults filled in.
pub struct TraceEvent<'a> {
    pub n: Option<u64>,
    pub kind: Kind,
    pub when: When,
    pub name: &'a str,
    pub args: Args<'a>,
    pub tid: Option<u64>,
    pub time: Option<u64>,
    pub loc: Option<&'a str>,
    /// The event is that of the name in any scope, and none of the global name.
    pub any_scope: bool,
}

/// Values by the text of their parameter.
#[derive(Default)]
pub struct Args<'a>(pub(crate) SmallVec<[(&'a str, Arg<'a>); 4]>);

impl<'a> Args<'a> {
    #[inline]
    pub fn get(&self, key: &str) -> Option<Arg<'a>> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }

    /// The value of a parameter: its own for that type, if there is one. Numbers that JSON has no
    /// word for are written as text, and are text only where the parameter is one.
    #[inline]
    pub fn declared(&self, text: &str, ty: Option<&str>) -> Option<Arg<'a>> {
        let value = self.written(text, ty)?;
        let Arg::Str(word) = value else {
            return Some(value);
        };
        let number = match word {
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            "nan" => f64::NAN,
            _ => return Some(value),
        };
        let may_be_float = ty.is_none_or(|ty| declared_types(ty).has(Types::FLOAT));
        Some(if may_be_float {
            Arg::Float(number)
        } else {
            value
        })
    }

    #[inline]
    fn written(&self, text: &str, ty: Option<&str>) -> Option<Arg<'a>> {
        let own = ty.and_then(|ty| {
            let length = text.len() + TYPED.len() + ty.len();
            let mut long = self.0.iter().filter(|(k, _)| k.len() == length);
            long.find(|(k, _)| {
                let rest = k.strip_prefix(text).and_then(|r| r.strip_prefix(TYPED));
                rest == Some(ty)
            })
        });
        own.map(|(_, v)| *v).or_else(|| self.get(text))
    }
}

/// Between a parameter and its type in a key.
const TYPED: &str = " : ";

/// The key of a parameter's value that only one of several declared types has.
pub fn typed_key(text: &str, ty: &str) -> String {
    format!("{text}{TYPED}{ty}")
}

/// Which of an event's parameters has its text alone for a key, of those that have the text of the
/// i-th: the one without a type, or the first.
pub fn plain_one(params: &[ParamSpec], i: usize) -> usize {
    let same = |p: &ParamSpec| p.text == params[i].text;
    let untyped = params.iter().position(|p| same(p) && p.ty.is_none());
    untyped
        .or_else(|| params.iter().position(same))
        .unwrap_or(i)
}

/// The key of the i-th parameter among an event's.
pub fn key_of(params: &[ParamSpec], i: usize) -> String {
    let param = &params[i];
    match &param.ty {
        Some(ty) if plain_one(params, i) != i => typed_key(&param.text, ty),
        _ => param.text.clone(),
    }
}

/// Strings of a line that had to be unescaped.
pub type Strings = typed_arena::Arena<String>;

/// A line's fields before the defaults.
#[derive(Default)]
pub struct Fields<'a> {
    pub n: Option<u64>,
    pub kind: Option<&'a str>,
    pub when: Option<&'a str>,
    pub event: &'a str,
    pub args: Args<'a>,
    pub tid: Option<u64>,
    pub time: Option<u64>,
    pub loc: Option<&'a str>,
    pub scope: Option<&'a str>,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("argument `{0}`: {1}")]
    Argument(String, String),
    #[error("{}", place_in_line(.0))]
    Json(#[from] serde_json::Error),
    #[error(
        "unknown kind `{0}`: one of call, write, read, update, syscall, signal, line, thread, process, unwound"
    )]
    Kind(String),
    #[error("`when` is `{0}`: it must be `before` or `after`")]
    When(String),
    #[error("`scope` is `{0}`: it can only be `any`")]
    Scope(String),
}

/// The line is known; its text is a single line to the JSON reader.
fn place_in_line(e: &serde_json::Error) -> String {
    e.to_string().replace(" at line 1 column ", " at column ")
}

pub fn parse<'a>(line: &'a [u8], strings: &'a Strings) -> Result<TraceEvent<'a>, TraceError> {
    let fields = match std::str::from_utf8(line).ok().and_then(fast_line::parse) {
        Some(f) => f,
        // Whatever is unusual, and every error.
        None => general(line, strings)?,
    };
    let kind = match fields.kind {
        None => Kind::Call,
        Some(k) => Kind::from_word(k).ok_or_else(|| TraceError::Kind(k.to_string()))?,
    };
    let when = match fields.when {
        None => kind.default_when(),
        Some("before") => When::Before,
        Some("after") => When::After,
        Some(other) => return Err(TraceError::When(other.to_string())),
    };
    let any_scope = match fields.scope {
        None => false,
        Some(ANY_SCOPE) => true,
        Some(other) => return Err(TraceError::Scope(other.to_string())),
    };
    Ok(TraceEvent {
        n: fields.n,
        kind,
        when,
        name: fields.event,
        args: fields.args,
        tid: fields.tid,
        time: fields.time,
        loc: fields.loc,
        any_scope,
    })
}

/// The line as serde_json reads it.
#[derive(Deserialize)]
struct General<'a> {
    #[serde(default)]
    n: Option<u64>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    when: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    args: Pairs<'a>,
    #[serde(default)]
    tid: Option<u64>,
    #[serde(default)]
    time: Option<u64>,
    #[serde(borrow, default)]
    loc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    scope: Option<Cow<'a, str>>,
}

#[derive(Default)]
struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

pub fn general<'a>(line: &'a [u8], strings: &'a Strings) -> Result<Fields<'a>, TraceError> {
    let g: General<'a> = serde_json::from_slice(line)?;
    let keep = |c: Cow<'a, str>| -> &'a str {
        match c {
            Cow::Borrowed(s) => s,
            Cow::Owned(s) => strings.alloc(s),
        }
    };
    let mut args = Args::default();
    for (key, raw) in g.args.0 {
        let value =
            value(raw.get(), strings).map_err(|e| TraceError::Argument(key.to_string(), e))?;
        args.0.push((keep(key), value));
    }
    Ok(Fields {
        n: g.n,
        kind: g.kind.map(keep),
        when: g.when.map(keep),
        event: keep(g.event),
        args,
        tid: g.tid,
        time: g.time,
        loc: g.loc.map(keep),
        scope: g.scope.map(keep),
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object with the event's parameters")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<'de>, M::Error> {
                let mut out = Vec::new();
                while let Some(key) = map.next_key::<Cow<str>>()? {
                    out.push((key, map.next_value()?));
                }
                Ok(Pairs(out))
            }
        }
        d.deserialize_map(V)
    }
}

/// The value of valid JSON text.
fn value<'a>(text: &'a str, strings: &'a Strings) -> Result<Arg<'a>, String> {
    Ok(match text.as_bytes()[0] {
        b'n' => Arg::None,
        b't' => Arg::Bool(true),
        b'f' => Arg::Bool(false),
        // As it is: members stay in the order of the program, and numbers are exact.
        b'{' | b'[' => Arg::Json(text),
        b'"' => match serde_json::from_str(text).map_err(|e| e.to_string())? {
            Cow::Borrowed(s) => Arg::Str(s),
            Cow::Owned(s) => Arg::Str(strings.alloc(s)),
        },
        _ if text.contains(['.', 'e', 'E']) => {
            Arg::Float(text.parse().map_err(|_| "not a number".to_string())?)
        }
        _ => match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(i), _) => Arg::Int(i),
            (_, Ok(u)) => Arg::UInt(u),
            // Python knows what to do with it.
            _ => Arg::Json(text),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fast reader gives the same as serde_json, or nothing.
    #[test]
    fn fast_lines_are_the_same() {
        let show = |f: &Fields| {
            let args: Vec<String> = f.args.0.iter().map(|(k, v)| format!("{k}={v:?}")).collect();
            format!(
                "{:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {args:?}",
                f.n, f.kind, f.when, f.event, f.tid, f.time, f.loc, f.scope
            )
        };
        let mut seed = 3u64;
        let mut random = move |n: usize| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        let parts = [
            "{",
            "}",
            "\"event\"",
            "\"args\"",
            ":",
            ",",
            "\"f\"",
            "\"kind\"",
            "\"call\"",
            "\"n\"",
            "1",
            "-7",
            "0",
            "01",
            "1.5",
            "null",
            "true",
            "\"caf\u{e9}\"",
            "\"a\\n\"",
            " ",
            "[1]",
            "{\"x\":1}",
            "\"tid\"",
            "\"loc\"",
            "\"scope\"",
            "\"q\"",
            "18446744073709551615",
            "9223372036854775808",
            "-9223372036854775808",
            "\u{1}",
            "\"",
        ];
        let good = [
            r#"{"event":"f","args":{"q":1,"x":-2,"s":"t","b":true,"z":null}}"#,
            r#"{"n":7,"tid":4242,"kind":"call","when":"before","event":"queue_push","args":{"queue":93824992231072,"prod_id":3},"loc":"queue.c:41","time":1843220}"#,
            r#" { "event" : "f" , "args" : { } } "#,
        ];
        let mut quick = 0;
        for round in 0..60_000 {
            let mut line = good[random(good.len())].to_string();
            for _ in 0..random(3) {
                // Cut, repeat or replace a piece somewhere.
                let mut at = random(line.len() + 1);
                while !line.is_char_boundary(at) {
                    at -= 1;
                }
                match random(3) {
                    0 => line.insert_str(at, parts[random(parts.len())]),
                    1 => line.truncate(at.max(1)),
                    _ => {
                        let rest = line.split_off(at);
                        let keep = rest
                            .char_indices()
                            .nth(1 + random(6))
                            .map_or("", |(i, _)| &rest[i..]);
                        line.push_str(parts[random(parts.len())]);
                        line.push_str(keep);
                    }
                }
            }
            let strings = Strings::with_capacity(0);
            let slow = general(line.as_bytes(), &strings);
            if let Some(f) = crate::fast_line::parse(&line) {
                quick += 1;
                let slow = slow.unwrap_or_else(|e| panic!("{round}: {line}: {e}"));
                assert_eq!(show(&f), show(&slow), "{line}");
            }
        }
        assert!(quick > 10_000, "{quick}");
    }

    #[test]
    fn defaults_and_values() {
        let line = br#"{"event":"f","args":{"q":18446744073709551615,"x":-1,"s":"a\"b","t":"\u00e9","o":{"a":[1]},"z":null,"r":1.5}}"#;
        let strings = Strings::new();
        let e = parse(line, &strings).unwrap();
        assert_eq!((e.kind, e.when, e.n), (Kind::Call, When::Before, None));
        assert_eq!(e.args.get("q"), Some(Arg::UInt(u64::MAX)));
        assert_eq!(e.args.get("x"), Some(Arg::Int(-1)));
        assert_eq!(e.args.get("s"), Some(Arg::Str("a\"b")));
        assert_eq!(e.args.get("t"), Some(Arg::Str("é")));
        assert_eq!(e.args.get("o"), Some(Arg::Json(r#"{"a":[1]}"#)));
        let wide =
            br#"{"event":"f","args":{"x":123456789012345678901234567890,"o":{"b": 1, "a":2}}}"#;
        let e2 = parse(wide, &strings).unwrap();
        assert_eq!(
            e2.args.get("x"),
            Some(Arg::Json("123456789012345678901234567890"))
        );
        assert_eq!(e2.args.get("o"), Some(Arg::Json(r#"{"b": 1, "a":2}"#)));
        assert_eq!(e.args.get("z"), Some(Arg::None));
        assert_eq!(e.args.get("r"), Some(Arg::Float(1.5)));
        assert_eq!(e.args.get("y"), None);
        assert_eq!(
            parse(br#"{"kind":"write","event":"v"}"#, &strings)
                .unwrap()
                .when,
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
            r#"{"event":"f","n":-1}"#,
            r#"{"event":"f","n":"1"}"#,
            r#"{"event":"f","kind":"jump"}"#,
            r#"{"event":"f","when":"during"}"#,
            r#"{"event":"f"} x"#,
            "\u{0}\u{1}",
        ] {
            assert!(parse(line.as_bytes(), &Strings::new()).is_err(), "{line}");
        }
        let deep = format!(r#"{{"event":"f","args":{{"x":{}}}}}"#, "[".repeat(100_000));
        assert!(parse(deep.as_bytes(), &Strings::new()).is_err());
    }
}
