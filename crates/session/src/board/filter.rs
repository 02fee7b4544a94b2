//! The filter of a table of slices: `state:sink N>3 queue=0x55..`.
//!
//! Terms are joined by "and"; `!` in front of one negates it. A word alone is
//! looked for in states and values. `..` at the end of a value means "begins
//! with".

use crate::json::Json;
use std::fmt::Write as _;
use verde_monitor::{Cell, Host, Slices, SlotRef, Tag};
use verde_property::{Property, StateId, Verdict};

/// A slice that is no longer there, as it was.
pub struct Past {
    pub state: StateId,
    /// By the places of the names; nothing for one that has no value.
    pub keys: Vec<Option<Json>>,
    pub env: Vec<Option<Json>>,
}

impl Past {
    pub fn of(slices: &Slices, r: SlotRef, host: &mut dyn Host) -> Past {
        let property = slices.property();
        let key = slices.key(r);
        let mut keys = vec![None; property.slice_on.len()];
        for i in slices.mask(r).iter() {
            keys[i] = Some(Json::of_arg(slices.value(key.cell(i))));
        }
        let env = (0..property.env.len()).map(|i| Json::of_cell(slices.env(r, i), host));
        Past {
            state: slices.state(r),
            keys,
            env: env.collect(),
        }
    }
}

pub struct Filter {
    terms: Vec<(bool, Term)>,
}

enum Term {
    /// By state: whether it passes.
    State(Vec<bool>),
    Compare(Field, Op, Wanted),
    /// In lower case, and whether a state has it.
    Word(String, Vec<bool>),
}

/// A part of the slice, or a variable of its environment.
#[derive(Clone, Copy)]
pub enum Field {
    Key(usize),
    Env(usize),
}

impl Field {
    pub fn find(name: &str, property: &Property) -> Option<Field> {
        let key = property.slice_on.iter().position(|n| n == name);
        let env = || property.env.iter().position(|n| n == name);
        key.map(Field::Key).or_else(|| env().map(Field::Env))
    }

    pub fn cell(self, slices: &Slices, r: SlotRef) -> Cell {
        match self {
            Field::Key(i) => slices.key(r).cell(i),
            Field::Env(i) => slices.env(r, i),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
}

enum Wanted {
    Int(i128),
    Float(f64),
    Prefix(String),
    Text(String),
}

const OPS: &[(&str, Op)] = &[
    ("!=", Op::Different),
    (">=", Op::AtLeast),
    ("<=", Op::AtMost),
    ("==", Op::Equal),
    ("=", Op::Equal),
    (">", Op::More),
    ("<", Op::Less),
];

impl Filter {
    /// Reads a filter for the slices of a property; the error is for the user.
    pub fn parse(text: &str, property: &Property) -> Result<Filter, String> {
        let words = joined(text);
        let terms = words.iter().map(|w| match w.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => Ok((true, Term::parse(rest, property)?)),
            _ => Ok((false, Term::parse(w, property)?)),
        });
        Ok(Filter {
            terms: terms.collect::<Result<_, String>>()?,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a slice passes. `text` is a buffer that is reused.
    pub fn passes(
        &self,
        slices: &Slices,
        r: SlotRef,
        host: &mut dyn Host,
        text: &mut String,
    ) -> bool {
        self.terms
            .iter()
            .all(|(negated, term)| term.passes(slices, r, host, text) != *negated)
    }

    /// Whether a slice passes that is no longer there.
    pub fn passes_past(&self, past: &Past) -> bool {
        let mut text = String::new();
        let mut all = self.terms.iter();
        all.all(|(negated, term)| term.passes_past(past, &mut text) != *negated)
    }
}

/// The words of a filter; a comparison is one, also with white space around its sign.
fn joined(text: &str) -> Vec<String> {
    const SIGNS: [char; 3] = ['=', '<', '>'];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let begins = word.starts_with(SIGNS) || word.starts_with("!=");
        match words.last_mut() {
            Some(last) if begins || last.ends_with(SIGNS) => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

impl Term {
    fn parse(word: &str, property: &Property) -> Result<Term, String> {
        match word.split_once(':') {
            Some((what, name)) if what.eq_ignore_ascii_case("state") => {
                return by_state(name, property);
            }
            Some((what, verdict)) if what.eq_ignore_ascii_case("verdict") => {
                return by_verdict(verdict, property);
            }
            _ => {}
        }
        if !word.chars().any(char::is_alphanumeric) {
            return Err(format!(
                "{word}: a word, NAME=VALUE or state:NAME is expected"
            ));
        }
        let found = OPS.iter().filter_map(|(sign, op)| {
            let at = word.find(sign).filter(|at| *at > 0)?;
            Some((at, *sign, *op))
        });
        // The leftmost sign; of those that begin there the longest, which stand first.
        let Some((at, sign, op)) = found.min_by_key(|(at, ..)| *at) else {
            let word = word.to_ascii_lowercase();
            let states = property.states.iter();
            let fits = states.map(|s| s.name.to_ascii_lowercase().contains(&word));
            let fits = fits.collect();
            return Ok(Term::Word(word, fits));
        };
        let (name, value) = (&word[..at], &word[at + sign.len()..]);
        if name == "state" && matches!(op, Op::Equal) {
            return by_state(value, property);
        }
        let field = match Field::find(name, property) {
            Some(field) => field,
            None => {
                let known: Vec<&str> = property
                    .slice_on
                    .iter()
                    .chain(&property.env)
                    .map(String::as_str)
                    .collect();
                return Err(format!(
                    "nothing is called {name} here; there is {}",
                    match known.is_empty() {
                        true => "only state:NAME".to_owned(),
                        false => known.join(", "),
                    }
                ));
            }
        };
        if value.is_empty() {
            return Err(format!("{word}: a value is missing"));
        }
        Ok(Term::Compare(field, op, Wanted::parse(value)))
    }

    fn passes(&self, slices: &Slices, r: SlotRef, host: &mut dyn Host, text: &mut String) -> bool {
        match self {
            Term::State(fits) => fits[slices.state(r).index()],
            Term::Compare(field, op, wanted) => {
                let cell = field.cell(slices, r);
                compare(slices, cell, *op, wanted, host, text)
            }
            Term::Word(word, states) => {
                if states[slices.state(r).index()] {
                    return true;
                }
                let property = slices.property();
                let key = slices.key(r);
                let keys = slices.mask(r).iter().map(|i| key.cell(i));
                let env = (0..property.env.len()).map(|i| slices.env(r, i));
                keys.chain(env).any(|cell| {
                    show(slices, cell, host, text);
                    text.make_ascii_lowercase();
                    text.contains(word.as_str())
                })
            }
        }
    }
}

impl Term {
    fn passes_past(&self, past: &Past, text: &mut String) -> bool {
        match self {
            Term::State(fits) => fits[past.state.index()],
            Term::Compare(field, op, wanted) => {
                let value = match field {
                    Field::Key(i) => &past.keys[*i],
                    Field::Env(i) => &past.env[*i],
                };
                let Some(value) = value else {
                    return *op == Op::Different;
                };
                let int = match value {
                    Json::Int(i) => Some(i128::from(*i)),
                    Json::UInt(u) => Some(i128::from(*u)),
                    Json::Bool(b) => Some(i128::from(*b)),
                    _ => None,
                };
                let float = match value {
                    Json::Float(f) => Some(*f),
                    _ => int.map(|i| i as f64),
                };
                judge((int, float), *op, wanted, text, |text| {
                    write_value(value, text)
                })
            }
            Term::Word(word, states) => {
                let mut values = past.keys.iter().chain(&past.env).flatten();
                states[past.state.index()]
                    || values.any(|value| {
                        write_value(value, text);
                        text.make_ascii_lowercase();
                        text.contains(word.as_str())
                    })
            }
        }
    }
}

fn by_verdict(verdict: &str, property: &Property) -> Result<Term, String> {
    let states = property.states.iter();
    let fits = states.map(|s| s.verdict.word() == verdict);
    if ![
        Verdict::True,
        Verdict::False,
        Verdict::CurrentlyTrue,
        Verdict::CurrentlyFalse,
    ]
    .iter()
    .any(|v| v.word() == verdict)
    {
        return Err("verdicts are true, false, currently-true and currently-false".into());
    }
    Ok(Term::State(fits.collect()))
}

fn by_state(name: &str, property: &Property) -> Result<Term, String> {
    if name.is_empty() {
        let states = property.states.iter().map(|s| s.name.as_str());
        let states: Vec<&str> = states.collect();
        return Err(format!("which state? there is {}", states.join(", ")));
    }
    let fits: Vec<bool> = match name.strip_suffix("..") {
        Some(prefix) => {
            let states = property.states.iter();
            states.map(|s| s.name.starts_with(prefix)).collect()
        }
        None => property.states.iter().map(|s| s.name == name).collect(),
    };
    if fits.contains(&true) {
        return Ok(Term::State(fits));
    }
    // A name that is still being typed.
    let states = property.states.iter();
    let fits: Vec<bool> = states.map(|s| s.name.starts_with(name)).collect();
    match fits.contains(&true) {
        true => Ok(Term::State(fits)),
        false => Err(format!("there is no state {name}")),
    }
}

impl Wanted {
    fn parse(text: &str) -> Wanted {
        if let Some(prefix) = text.strip_suffix("..") {
            return Wanted::Prefix(prefix.to_owned());
        }
        if let Some(i) = integer(text) {
            return Wanted::Int(i);
        }
        match text.parse::<f64>() {
            Ok(f) => Wanted::Float(f),
            Err(_) => Wanted::Text(text.trim_matches(['"', '\'']).to_owned()),
        }
    }
}

pub fn integer(text: &str) -> Option<i128> {
    let (minus, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    Some(if minus { -value } else { value })
}

fn compare(
    slices: &Slices,
    cell: Cell,
    op: Op,
    wanted: &Wanted,
    host: &mut dyn Host,
    text: &mut String,
) -> bool {
    if cell.tag == Tag::Unset {
        return op == Op::Different;
    }
    judge(number(cell), op, wanted, text, |text| {
        show(slices, cell, host, text);
    })
}

/// A value as an integer and as a number, if it is one.
pub fn number(cell: Cell) -> (Option<i128>, Option<f64>) {
    let int = match cell.tag {
        Tag::Int => Some(i128::from(cell.bits as i64)),
        Tag::UInt | Tag::Bool => Some(i128::from(cell.bits)),
        _ => None,
    };
    let float = match cell.tag {
        Tag::Float => Some(f64::from_bits(cell.bits)),
        _ => int.map(|i| i as f64),
    };
    (int, float)
}

/// Compares a value, as a number if it is one, with what is wanted. `show` writes it.
fn judge(
    (int, float): (Option<i128>, Option<f64>),
    op: Op,
    wanted: &Wanted,
    text: &mut String,
    mut show: impl FnMut(&mut String),
) -> bool {
    use std::cmp::Ordering::*;
    let order = match (wanted, int, float) {
        (Wanted::Int(w), Some(i), _) => Some(i.cmp(w)),
        (Wanted::Int(w), None, Some(f)) => f.partial_cmp(&(*w as f64)),
        (Wanted::Float(w), _, Some(f)) => f.partial_cmp(w),
        (Wanted::Prefix(prefix), ..) => {
            show(text);
            let mut begins = text.trim_matches('"').starts_with(prefix.as_str());
            if let (false, Some(i)) = (begins, int) {
                text.clear();
                // Writing to a string does not fail.
                let _ = write!(text, "{i:#x}");
                begins = text.starts_with(prefix.as_str());
            }
            return match op {
                Op::Equal => begins,
                Op::Different => !begins,
                _ => false,
            };
        }
        (Wanted::Text(w), ..) => {
            show(text);
            Some(text.trim_matches('"').cmp(w.as_str()))
        }
        _ => None,
    };
    match (op, order) {
        (Op::Different, None) => true,
        (_, None) => false,
        (Op::Equal, Some(o)) => o == Equal,
        (Op::Different, Some(o)) => o != Equal,
        (Op::Less, Some(o)) => o == Less,
        (Op::AtMost, Some(o)) => o != Greater,
        (Op::More, Some(o)) => o == Greater,
        (Op::AtLeast, Some(o)) => o != Less,
    }
}

/// A value as people write it.
pub fn show(slices: &Slices, cell: Cell, host: &mut dyn Host, text: &mut String) {
    let value = match cell.tag {
        Tag::Text | Tag::Json => Some(Json::of_arg(slices.value(cell))),
        _ => Json::of_cell(cell, host),
    };
    match value {
        Some(value) => write_value(&value, text),
        None => text.clear(),
    }
}

fn write_value(value: &Json, text: &mut String) {
    text.clear();
    // Writing to a string does not fail.
    let _ = write!(text, "{value}");
}

/// A state by its name.
pub fn state_named(property: &Property, name: &str) -> Option<StateId> {
    let index = property.states.iter().position(|s| s.name == name)?;
    u16::try_from(index).ok().map(StateId)
}
