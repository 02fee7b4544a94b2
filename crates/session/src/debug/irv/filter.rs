//! Choosing slices by what is true of them: `state:sink N>3 queue=0x55d0`.

use crate::json::{Json, Object};
use verde_monitor::{Host, Slices, SlotRef};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Equal,
    Differs,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    State(String),
    /// A binding or a name of the environment.
    Named(String, Test, String),
    /// Anywhere in what is shown of the slice.
    Text(String),
}

/// Terms that must all hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    terms: Vec<Term>,
}

const TESTS: [(&str, Test); 7] = [
    ("==", Test::Equal),
    ("!=", Test::Differs),
    ("<=", Test::LessOrEqual),
    (">=", Test::GreaterOrEqual),
    ("=", Test::Equal),
    ("<", Test::Less),
    (">", Test::Greater),
];

impl Filter {
    /// Everything that can be written is a filter; a word that is no test is looked for as text.
    pub fn parse(text: &str) -> Filter {
        Filter {
            terms: text.split_whitespace().map(term).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a slice fits.
    pub fn fits(&self, slices: &Slices, slice: SlotRef, host: &mut dyn Host) -> bool {
        if self.is_empty() {
            return true;
        }
        let property = slices.property();
        let state = &property.state(slices.state(slice)).name;
        let bindings = Object::of(&slices.bindings(slice));
        let mut env = None;
        self.terms.iter().all(|term| match term {
            Term::State(wanted) => state == wanted,
            Term::Named(name, test, value) => {
                let bound = bindings.0.iter().find(|(n, _)| n == name);
                let known = match bound {
                    Some((_, known)) => Some(known),
                    None => {
                        let env =
                            env.get_or_insert_with(|| super::host::env_object(slices, slice, host));
                        env.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
                    }
                };
                known.is_some_and(|known| holds(known, *test, value))
            }
            Term::Text(text) => {
                let env = env.get_or_insert_with(|| super::host::env_object(slices, slice, host));
                state.contains(text)
                    || bindings.to_string().contains(text)
                    || env.to_string().contains(text)
            }
        })
    }
}

fn term(word: &str) -> Term {
    if let Some(state) = word.strip_prefix("state:") {
        return Term::State(state.to_owned());
    }
    for (sign, test) in TESTS {
        if let Some((name, value)) = word.split_once(sign)
            && !name.is_empty()
            && !value.is_empty()
            && !name.contains(['<', '>', '!', '='])
        {
            return match (name, test) {
                ("state", Test::Equal) => Term::State(value.to_owned()),
                _ => Term::Named(name.to_owned(), test, value.to_owned()),
            };
        }
    }
    Term::Text(word.to_owned())
}

fn holds(known: &Json, test: Test, wanted: &str) -> bool {
    let order = match (number(known), written(wanted)) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        _ => {
            let text = match known {
                Json::Str(text) => text.clone(),
                other => other.to_string(),
            };
            text.as_str().partial_cmp(wanted.trim_matches('"'))
        }
    };
    let Some(order) = order else {
        return false;
    };
    match test {
        Test::Equal => order.is_eq(),
        Test::Differs => order.is_ne(),
        Test::Less => order.is_lt(),
        Test::LessOrEqual => order.is_le(),
        Test::Greater => order.is_gt(),
        Test::GreaterOrEqual => order.is_ge(),
    }
}

/// Integers exactly, as far as 128 bits go; other numbers as they are.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    fn partial_cmp(&self, other: &Number) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.partial_cmp(b),
            (a, b) => a.float().partial_cmp(&b.float()),
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Integer(i) => i as f64,
            Number::Float(f) => f,
        }
    }
}

fn number(value: &Json) -> Option<Number> {
    Some(match value {
        Json::Int(i) => Number::Integer((*i).into()),
        Json::UInt(u) => Number::Integer((*u).into()),
        Json::Float(f) => Number::Float(*f),
        Json::Bool(b) => Number::Integer((*b).into()),
        _ => return None,
    })
}

fn written(text: &str) -> Option<Number> {
    match text {
        "True" | "true" => return Some(Number::Integer(1)),
        "False" | "false" => return Some(Number::Integer(0)),
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return i128::from_str_radix(digits, 16).ok().map(Number::Integer);
    }
    let integer = text.parse().ok().map(Number::Integer);
    integer.or_else(|| text.parse().ok().map(Number::Float))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_terms() {
        let f = Filter::parse("state:sink N>=3 queue=0x55 wild");
        assert_eq!(
            f.terms,
            [
                Term::State("sink".into()),
                Term::Named("N".into(), Test::GreaterOrEqual, "3".into()),
                Term::Named("queue".into(), Test::Equal, "0x55".into()),
                Term::Text("wild".into()),
            ]
        );
    }

    #[test]
    fn numbers_compare_as_numbers() {
        assert!(holds(&Json::Int(10), Test::Greater, "9"));
        assert!(holds(&Json::UInt(0x55d0), Test::Equal, "0x55d0"));
        assert!(holds(&Json::Float(0.5), Test::Less, "1"));
        assert!(holds(&Json::Str("abc".into()), Test::Equal, "abc"));
        assert!(!holds(&Json::Int(10), Test::Less, "9"));
    }
}
