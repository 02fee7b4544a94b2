//! Which of several functions of one name a call means: that with the best conversions of its
//! arguments, as C++ chooses.

use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, base_offset, decay, is_bool};
use crate::type_text::name_of;
use verde_symbols::{Encoding, Kind, Link, Type};

/// How deep pointers may nest before a file is taken for corrupt.
const DEEPEST: usize = 16;

/// How far an argument is from a parameter, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    Exact,
    Promotion,
    Conversion,
    /// What a debugger lets pass where a compiler would not: a number as an address.
    Lenient,
}

/// The one of several signatures that fits the arguments best. `of` gives a candidate's function
/// type and how many of its parameters come before the arguments.
pub(crate) fn choose<T>(
    name: &str,
    candidates: Vec<T>,
    arguments: &[Node],
    of: impl Fn(&T) -> (Type, usize),
) -> Result<T, EvalError> {
    let ranked: Vec<(T, Vec<Rank>)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let (ty, skip) = of(&candidate);
            Some((candidate, ranks(&ty, skip, arguments)?))
        })
        .collect();
    let beats = |a: &[Rank], b: &[Rank]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    let best = ranked
        .iter()
        .position(|(_, own)| ranked.iter().all(|(_, o)| own == o || beats(own, o)));
    let Some(best) = best.filter(|&i| is_alone(&ranked, i, &of)) else {
        let names: Vec<String> = ranked.iter().map(|(c, _)| shown(name, &of(c))).collect();
        return match names.is_empty() {
            true => bad(format!(
                "Cannot resolve function {name} to any overloaded instance"
            )),
            false => bad(format!(
                "The call of {name} is ambiguous between {}; cast the arguments",
                names.join(" and ")
            )),
        };
    };
    match ranked.into_iter().nth(best) {
        Some((candidate, _)) => Ok(candidate),
        None => bad(format!("Cannot resolve function {name}")),
    }
}

/// Whether a function takes these arguments.
pub(crate) fn takes(ty: &Type, arguments: &[Node]) -> bool {
    ranks(ty, 0, arguments).is_some()
}

/// Whether no other candidate is as good, but for the same signature once more.
fn is_alone<T>(ranked: &[(T, Vec<Rank>)], best: usize, of: &impl Fn(&T) -> (Type, usize)) -> bool {
    let signature = |i: usize| {
        let (ty, skip) = of(&ranked[i].0);
        parameters(&ty, skip)
    };
    let own = signature(best);
    (0..ranked.len())
        .filter(|&i| ranked[i].1 == ranked[best].1)
        .all(|i| {
            let other = signature(i);
            own.len() == other.len() && own.iter().zip(&other).all(|(a, b)| same(a, b, 0))
        })
}

fn shown(name: &str, (ty, skip): &(Type, usize)) -> String {
    let names: Vec<String> = parameters(ty, *skip).iter().map(name_of).collect();
    format!("{name}({})", names.join(", "))
}

fn parameters(ty: &Type, skip: usize) -> Vec<Type> {
    match ty.kind() {
        Kind::Function(_, links, ..) => links.iter().skip(skip).map(|l| ty.follow(l)).collect(),
        _ => Vec::new(),
    }
}

/// How far each argument is from its parameter; `None` when they do not fit.
fn ranks(ty: &Type, skip: usize, arguments: &[Node]) -> Option<Vec<Rank>> {
    let Kind::Function(_, links, variadic, _) = ty.kind() else {
        return None;
    };
    let links: &[Link] = links.get(skip..)?;
    if arguments.len() < links.len() || (arguments.len() > links.len() && !variadic) {
        return None;
    }
    let rank = |(i, argument): (usize, &Node)| match links.get(i) {
        Some(link) => rank(argument, &ty.follow(link)),
        None => Some(Rank::Lenient),
    };
    arguments.iter().enumerate().map(rank).collect()
}

fn rank(argument: &Node, parameter: &Type) -> Option<Rank> {
    let mut to = parameter.strip();
    let by_reference = matches!(to.kind(), Kind::Reference(_) | Kind::RvalueReference(_));
    if matches!(to.kind(), Kind::RvalueReference(_)) && argument.is_object() {
        // The function may take what is in it, and nobody said that it may.
        return None;
    }
    if by_reference {
        to = to.target()?.strip();
    }
    let from = match to.kind() {
        Kind::Array(..) => argument.ty.strip(),
        _ => decay(argument.clone()).ty.strip(),
    };
    if same(&from, &to, 0) {
        return Some(Rank::Exact);
    }
    let number = |t: &Type| t.is_integral() || t.is_float();
    match (from.kind(), to.kind()) {
        (Kind::Record(_), Kind::Record(_)) => base_offset(&from, &to, 0).map(|_| Rank::Conversion),
        (Kind::Pointer(_), Kind::Pointer(_)) => pointer_rank(&from, &to),
        (Kind::Pointer(_), _) if is_bool(&to) => Some(Rank::Conversion),
        (_, Kind::Pointer(_)) if from.is_integral() => Some(match is_null(argument) {
            true => Rank::Conversion,
            false => Rank::Lenient,
        }),
        // No number becomes an enumerator by itself.
        (_, Kind::Enum) => None,
        (Kind::Enum, _) if from.is_scoped_enum() => None,
        _ if number(&from) && number(&to) => Some(match promotes(&from, &to) {
            true => Rank::Promotion,
            false => Rank::Conversion,
        }),
        _ => None,
    }
}

fn pointer_rank(from: &Type, to: &Type) -> Option<Rank> {
    let (from, to) = (from.target()?.strip(), to.target()?.strip());
    match (from.kind(), to.kind()) {
        (_, Kind::Void) => Some(Rank::Conversion),
        (Kind::Record(_), Kind::Record(_)) => base_offset(&from, &to, 0).map(|_| Rank::Conversion),
        // The null pointer's type here.
        (Kind::Void, _) => Some(Rank::Conversion),
        _ => None,
    }
}

fn is_null(node: &Node) -> bool {
    matches!(&node.op, Op::Constant(value) if value.to_integer() == Ok(0))
}

/// Whether a number becomes another without losing anything, as C++ prefers.
fn promotes(from: &Type, to: &Type) -> bool {
    let is_int = canonical(to) == "int";
    match (from.is_float(), to.is_float()) {
        (true, true) => from.size() == Some(4) && to.size() == Some(8),
        (false, false) if is_int => {
            let small = from.size().is_some_and(|s| s < 4);
            small || is_bool(from) || matches!(from.kind(), Kind::Enum)
        }
        _ => false,
    }
}

/// Whether two types are one, whatever their qualifiers: of the program's own or made by the expression.
pub(crate) fn same(a: &Type, b: &Type, depth: usize) -> bool {
    let (a, b) = (a.strip(), b.strip());
    if a == b {
        return true;
    }
    if depth > DEEPEST {
        return false;
    }
    let inner = |a: &Type, b: &Type| match (a.target(), b.target()) {
        (Some(a), Some(b)) => same(&a, &b, depth + 1),
        (a, b) => a.is_none() && b.is_none(),
    };
    match (a.kind(), b.kind()) {
        (Kind::Base(x), Kind::Base(y)) => {
            let characters = |e: &Encoding| {
                matches!(
                    e,
                    Encoding::SignedChar | Encoding::UnsignedChar | Encoding::Utf
                )
            };
            a.size() == b.size() && characters(x) == characters(y) && canonical(&a) == canonical(&b)
        }
        (Kind::Pointer(_), Kind::Pointer(_))
        | (Kind::Reference(_), Kind::Reference(_))
        | (Kind::RvalueReference(_), Kind::RvalueReference(_)) => inner(&a, &b),
        (Kind::Array(_, n), Kind::Array(_, m)) => n == m && inner(&a, &b),
        (Kind::Record(_), Kind::Record(_)) | (Kind::Enum, Kind::Enum) => {
            a.qualified_name().is_some() && a.qualified_name() == b.qualified_name()
        }
        (Kind::Void, Kind::Void) => true,
        _ => false,
    }
}

/// One spelling of a number's type: `long unsigned int` is `unsigned long`.
fn canonical(ty: &Type) -> String {
    let plain = ty.strip();
    let name = plain.name().unwrap_or_default();
    let is_char = name.split(' ').any(|w| w == "char");
    let mut words: Vec<&str> = name
        .split(' ')
        .filter(|w| *w != "int" && (is_char || *w != "signed"))
        .collect();
    words.sort_unstable();
    match words.is_empty() {
        true => "int".to_owned(),
        false => words.join(" "),
    }
}
